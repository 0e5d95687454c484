"""What the page shows, from what was computed: sentences, tables and pictures, as JSON can hold them.

And what it lets a person download: the certified mechanism, the report, the pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import extremal as ex
from extremal._common import checks
from extremal._common.json import Document, finite_or_none
from extremal._common.plot import BLUE, GREY, VERMILION, bars_size, matrix_size, rendered
from extremal._common.types import Axes, Floats
from extremal._common.words import at_least, factor, gaps, lookalikes
from extremal.auditing import pictures
from extremal.auditing import text as audit_text
from extremal.auditing.audit import disclosure
from extremal.auditing.report import CERTAIN, matrix_picture, mechanism_report
from extremal.auditing.text import sentence_case
from extremal.errors import OptionError
from extremal.estimation.promise import FIGURES
from extremal.model.leakage import check_protected
from extremal.model.purpose import Purpose
from extremal.model.purposes import Mean
from extremal.optimization.curves import Tradeoff

from .compute import PASSES, Made, percentages
from .state import Known, State, shown

SHOWN = 900  # entries up to which the page gets the matrix as numbers
MOST_ERRORS = 150  # symbols up to which the precision of each share is computed
MOST_LISTED = 5
SILENT = 1e-9  # nats below which reports say nothing


def prior_figures(state: State, known: Known) -> Document:
    """What was read, and what the limit means: as a factor on chances, and what a report can rule out."""
    prior = known.prior
    region = min(prior.region(state.epsilon), prior.size)
    most = known.given.epsilon_max
    unlimited = state.epsilon >= most
    raised = factor(state.epsilon)
    hunch = min(math.ceil(1000 * 0.1 * math.exp(min(state.epsilon, 50.0)) - 1e-9) / 10, 100.0)
    promise = (
        "Such a limit protects nothing: a report can be the true answer."
        if unlimited
        else f"No guess about a person gets more than {raised} times as likely to be right: a hunch of 10 % "
        f"becomes at most {hunch:g} %."
    )
    ruled_out = (
        f"A report can rule out all answers but one. To protect anything, choose ε below {at_least(most)}."
        if unlimited
        else "No report can rule out any answer."
        if region == 1
        else f"A report can rule out up to {region - 1} of {prior.size} answers."
    )
    read = f"{prior.size} answers, read as {known.words}."
    if known.priors is not None:
        read += " The limit holds for all shares that fit this sample, with confidence 95 %."
    return {
        "labels": [shown(label) for label in prior.labels],
        "probabilities": prior.probabilities.tolist(),
        "size": prior.size,
        "edges": prior.region_edges.tolist(),
        "epsilon_max": prior.epsilon_max,
        "most": factor(prior.epsilon_max),
        "words": read,
        "promise": promise,
        "ruled_out": ruled_out,
    }


def design_figures(state: State, made: Made) -> Document:
    """The answer, the promise beside it, warnings, pictures, and the risk in words."""
    design, certified = made.design, made.certified
    answer = answer_figures(state, made)
    return {
        "final": made.final,
        "epsilon": design.epsilon,
        "alarm": f"No protection: {made.audit.doubt}." if made.audit.doubt.disclosed else "",
        "factor": factor(certified.realised_epsilon),
        "often": f"{sentence_case(audit_text.ruled_out(made.audit))}.",
        "open": audit_text.left_open(made.audit),
        "answer": answer,
        "warnings": warnings(made, answer),
        "mechanism": _mechanism(state, made),
        "method": _method(made),
        "sections": _sections(made.audit),
        "digest": certified.digest,
    }


def answer_figures(state: State, made: Made) -> Document:
    """What so many people tell, and how many randomized response would need for as much."""
    prior, n, utility = made.prior, state.people, made.design.utility
    average = isinstance(utility, Mean)
    purpose = utility if isinstance(utility, Mean) else ex.shares
    efficiency = purpose(prior, made.certified.mechanism)
    if efficiency <= 0:
        return {
            "identified": False,
            "people": n,
            "headline": "These reports cannot tell the shares of all answers apart.",
            "text": "At this limit reports say nothing; allow more."
            if made.audit.epsilon < SILENT
            else "That holds however many people answer. Choose “the share of every answer” under what you want to "
            "know.",
        }
    theirs = purpose(prior, made.response)
    half = pictures.half_width(efficiency, purpose, prior) / math.sqrt(n)
    reach = f"± {half:.2g} for the average" if average else points(half)
    who = "1 person" if n == 1 else f"{n:,} people"
    rows, too_small = _precision(made, n, average)
    return {
        "identified": True,
        "people": n,
        "half": half,
        "headline": f"Ask {who}, get {reach}.",
        "text": _beside(made, n, pictures.half_width(theirs, purpose, prior), theirs, efficiency, average),
        "needed": [
            ["without privacy", n * efficiency],
            ["this design", n],
            ["randomized response", n * efficiency / theirs if theirs > 0 else None],
        ],
        "rows": rows,
        "too_small": too_small,
    }


def points(half: float) -> str:
    """Half the width of an interval for a share, in percentage points; beyond 100 nothing is known."""
    return f"± {100 * half:.1f} points" if half < 1 else "± 100 points"


def _beside(made: Made, n: int, theirs: float, worth: float, efficiency: float, average: bool) -> str:
    what = "The average is" if average else "Each share is"
    said = f"{what} then known to about that precision (95 % intervals, {FIGURES['each']}). "
    if worth <= 0:
        return said + "Randomized response with the same promise cannot tell the shares apart."
    reach = theirs / math.sqrt(n)
    times = efficiency / worth
    told = f"± {reach:.2g}" if average else points(reach)
    more = f"; it would need {n * times:,.0f} people, {times:.1f} times as many" if times >= 1.05 else ""
    return f"{said}Randomized response with the same promise gets {told}{more}."


def _precision(made: Made, n: int, average: bool) -> tuple[list[list[Any]] | None, bool]:
    """Each answer with its share and half widths, ours and randomized response's; whether they say anything at all."""
    prior = made.prior
    if prior.size > MOST_ERRORS or average:
        return None, False
    ours, theirs = (
        ex.plan((mechanism, prior), people=n) for mechanism in (made.certified.mechanism, made.response)
    )
    rows = zip(prior.labels, prior.probabilities.tolist(), ours.half_widths, theirs.half_widths, strict=True)
    return [
        [shown(label), share, finite_or_none(half), finite_or_none(other)]
        for label, share, half, other in rows
    ], ours.too_small


def warnings(made: Made, answer: Document) -> list[str]:
    """The warnings of the command line, for this page."""
    told = [] if made.audit.doubt.disclosed else disclosure(made.certified)  # then the page leads with it
    found = [text.removeprefix("WARNING: ") for text in told]
    found = [f"{text[:1].upper()}{text[1:]}." for text in found]
    if answer.get("too_small"):
        found.append(
            "This is too small to say anything: no share can be told from 0. Ask more people, or allow a larger ε."
        )
    alike = lookalikes(made.prior.labels)
    if alike:
        named = "; ".join(" and ".join(f"“{text}”" for text in group) for group in alike[:3])
        found.append(f"These answers differ only in upper and lower case or in spaces: {named}.")
    empty = gaps(made.prior.labels)
    if empty:
        named = ", ".join(f"“{text}”" for text in empty[:MOST_LISTED])
        found.append(f"Treated as an answer: {named}. If it means ‘no answer’, leave the line out.")
    return found


def _mechanism(state: State, made: Made) -> Document:
    """The picture of the report page, and the numbers where they are not too many."""
    matrix = made.certified.mechanism
    draw, caption = matrix_picture(made.audit)
    return {
        "svg": draw(state.width),
        "caption": caption,
        "inputs": [shown(label) for label in matrix.inputs],
        "outputs": [shown(label) for label in matrix.outputs],
        "often": matrix.output_distribution(made.prior).tolist(),
        "matrix": matrix.matrix.tolist() if matrix.matrix.size <= SHOWN else None,
    }


def _method(made: Made) -> str:
    design = made.design
    n, m = made.certified.mechanism.shape
    proof = (
        "no bound on the optimum is known"
        if not math.isfinite(design.upper_bound)
        else "proven optimal"
        if design.gap < 1e-9
        else f"proven to be at most {100 * design.gap:.2g} % below the best possible"
    )
    kept = ""
    if not isinstance(design.utility, Purpose):
        ceiling = design.utility(made.prior, ex.Mechanism(np.eye(made.prior.size), made.prior.labels))
        kept = (
            f" {design.utility.name.capitalize()}: {design.value:.4g}; the answer itself has {ceiling:.4g}."
        )
    ended = design.stats.why.value.partition(";")[0] if made.final else "the search goes on"
    return f"{n} answers, {m} reports; {proof}; {ended}; certified for ε = {design.epsilon:.6g}.{kept}"


def _sections(audit: ex.Audit) -> list[Document]:
    """The audit's paragraphs; long lists are folded, and its tables are left to the report."""
    found = []
    for title, said in audit_text.sections(audit):
        told = audit_text.told(said)
        if told and title not in ("In short", "The reports"):  # the first is said at the top
            kept = 2 if title == CERTAIN else len(told)
            found.append({"title": title, "text": told[:kept], "more": told[kept:]})
    return found


def curve_figures(tradeoff: Tradeoff) -> Document:
    """Both curves: half widths from one person, to be divided by the root of how many there are, or kept per cent."""
    utility, prior = tradeoff.utility, tradeoff.prior
    purpose = utility if isinstance(utility, Mean) else ex.shares
    kept = not isinstance(utility, Mean) and utility != ex.shares

    def heights(values: Any) -> list[float | None]:
        if kept:
            return [*percentages(tradeoff, values)]
        scale = 1.0 if isinstance(utility, Mean) else 100.0
        return [finite_or_none(scale * pictures.half_width(v, purpose, prior)) for v in values.tolist()]

    return {
        "epsilons": tradeoff.epsilons.tolist(),
        "optimal": heights(tradeoff.optimal),
        "response": heights(tradeoff.randomized_response),
        "unit": "kept" if kept else "average" if isinstance(utility, Mean) else "points",
        "name": utility.name,
        "final": len(tradeoff) == PASSES[-1],
    }


# --- downloads ---------------------------------------------------------------------------------------

FACTORS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)  # marks of an axis
MEDIA = {
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
# The menu: what each file is for, in the words of the page.
FILES = {
    "To use": {"mechanism.json": "Mechanism file, for extremal privatize"},
    "To read": {"report.html": "Report, a page to pass on", "report.md": "Audit, as Markdown"},
    "Pictures": {
        f"{name}.{kind}": f"{title}, {kind.upper()}"
        for name, title in {
            "matrix": "Mechanism",
            "prior": "Answers beforehand",
            "tradeoff": "What a promise costs",
        }.items()
        for kind in ("svg", "png")
    },
}
NAMES = tuple(name for group in FILES.values() for name in group)
WITH_CURVE = ("report.html", "tradeoff.svg", "tradeoff.png")


def make_file(name: str, made: Made, curve: Tradeoff | None, allow_true_answers: bool = False) -> bytes:
    """The content of a file of NAMES; those of WITH_CURVE show the curve, the report only if it is given."""
    certified = made.certified
    if name == "mechanism.json":
        check_protected(certified.doubt, allow_true_answers)
        return certified.to_json().encode()
    if name == "report.md":
        return made.audit.to_markdown().encode()
    if name == "report.html":
        return mechanism_report(certified.prior_set or certified.prior, certified, curve).encode()
    what, _, kind = checks.choice(name, "the file", NAMES).partition(".")
    n, m = certified.mechanism.shape
    sizes = {"matrix": matrix_size(n, m), "prior": bars_size(n)}
    size = sizes.get(what, (5.4, 4.0))
    return rendered(_drawing(what, made, curve), size, [kind])[0]


def _tradeoff_axes(made: Made, curve: Tradeoff, axes: Axes) -> None:
    """What a promise costs: people for shares, else per cent of what the answer itself gives."""
    factors, here = np.exp(curve.epsilons), math.exp(made.design.epsilon)

    def heights(values: Floats) -> list[float]:
        if not pictures.in_people(curve):
            return percentages(curve, values)
        return [pictures.people_for(v, curve.prior) for v in values.tolist()]

    for values, color, dashes, name in (
        (curve.optimal, BLUE, "-", "this design"),
        (curve.randomized_response, VERMILION, "--", "randomized response"),
    ):
        shown = np.array(heights(values))
        axes.plot(
            factors[np.isfinite(shown)], shown[np.isfinite(shown)], label=name, color=color, linestyle=dashes
        )
    axes.axvline(here, color=GREY, linestyle=":", label="your choice")
    axes.set(xscale="log", xlabel="largest factor on any guess", ylabel=pictures.curve_title(curve))
    axes.set_yscale("log" if pictures.in_people(curve) else "linear")
    marks = [f for f in FACTORS if f <= factors.max() * 1.001]
    axes.set_xticks(marks, [f"× {f:g}" for f in marks])
    axes.minorticks_off()
    axes.legend()


def _drawing(what: str, made: Made, curve: Tradeoff | None) -> Callable[[Axes], Any]:
    if what == "matrix":
        return made.design.plot
    if what == "prior":
        return made.prior.plot
    if curve is None:
        raise OptionError("the figure of the trade-off must be given its curve")
    return lambda axes: _tradeoff_axes(made, curve, axes)
