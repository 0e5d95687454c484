"""What the page shows, from what it asks: pure functions of a state, results as JSON can hold them."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import extremal as ex
from extremal._json import finite_or_none
from extremal.auditing import text as audit_text
from extremal.auditing.figures import plain
from extremal.optimization.quadratic.purposes import Purpose
from extremal.optimization.tradeoff import Tradeoff

from .priors import read_prior

UTILITIES: dict[str, ex.Utility | Purpose] = {
    "shares": ex.shares,
    "mutual-information": ex.mutual_information,
    "total-variation": ex.utilities.total_variation,
    "chi-squared": ex.utilities.chi_squared,
    "hellinger": ex.utilities.hellinger,
    "jensen-shannon": ex.utilities.jensen_shannon,
}
PREVIEW = 0.1  # seconds for a first answer, where the search takes longer
PREVIEWED = 60  # symbols up to which there is one: beyond, a single round takes longer
SHOWN = 900  # entries up to which the page gets the matrix as numbers; beyond, as a picture
MOST_ERRORS = 150  # symbols up to which expected errors are computed
MOST_SAMPLE = 10_000  # answers of a pasted sample
MOST_DRAWN = 200  # of them shown one by one
QUICK = 12  # symbols up to which a point of the curve needs no limit
CURVE_TOLERANCE = 1e-4
PASSES = (5, 9, 17, 33)  # points of the curve: each pass fills in between those of the last

Figures = dict[str, Any]
Progress = Callable[[float, float], None]


@dataclass(frozen=True)
class State:
    """Everything that the page lets a person choose."""

    prior: str
    kind: str = "auto"
    pseudocount: float = 0.0
    epsilon: float = 0.5
    utility: str = "shares"
    reports: int = 1000
    confidence: float = 0.95


@dataclass(frozen=True, eq=False)
class Made:
    """A design with its certified mechanism and audit; `final` unless the search may still improve it."""

    design: ex.Design
    certified: ex.Certified
    audit: ex.Audit
    final: bool


def read_state(document: Any) -> State:
    """The state in a JSON document, if every member has its type."""
    if not isinstance(document, dict):
        raise ex.errors.OptionError("a state must be an object")
    known: dict[str, Any] = {}
    for name, kind in State.__annotations__.items():
        if name not in document:
            continue
        value, types = document[name], {"str": (str,), "float": (int, float), "int": (int,)}[kind]
        if isinstance(value, bool) or not isinstance(value, types):
            raise ex.errors.OptionError(
                f"{name} must be {'text' if kind == 'str' else 'a number'}, got {value!r:.60}"
            )
        known[name] = float(value) if kind == "float" else value
    if "prior" not in known:
        raise ex.errors.OptionError("a state must have a prior")
    state = State(**known)
    if state.utility not in UTILITIES:
        raise ex.errors.OptionError(
            f"utility must be one of {', '.join(UTILITIES)}, got {state.utility!r:.60}"
        )
    return state


def prior_figures(prior: ex.Prior, words: str) -> Figures:
    """The prior as the page needs it: bars, and the edges of the privacy regions for the slider."""
    return {
        "labels": [plain(label) for label in prior.labels],
        "probabilities": prior.probabilities.tolist(),
        "size": prior.size,
        "edges": prior.region_edges.tolist(),
        "epsilon_max": prior.epsilon_max,
        "entropy": prior.entropy,
        "words": words,
    }


def prior_of(state: State) -> tuple[ex.Prior, str]:
    """The prior of a state, and how it was read."""
    return read_prior(state.prior, state.kind, state.pseudocount)


def first_design(state: State, prior: ex.Prior) -> Made | None:
    """A certified design within about a tenth of a second, or None where not even a first round is that short."""
    if prior.size > PREVIEWED and prior.region(state.epsilon) <= prior.size:
        return None
    return _made(ex.design(prior, state.epsilon, UTILITIES[state.utility], time_limit=PREVIEW))


def final_design(state: State, prior: ex.Prior, progress: Progress) -> Made:
    """The design that the library gives, certified; `progress` may raise to give up."""
    made = _made(ex.design(prior, state.epsilon, UTILITIES[state.utility], progress=progress))
    return Made(made.design, made.certified, made.audit, True)


def _made(design: ex.Design) -> Made:
    certified = ex.certify(design.prior, design.mechanism, design.epsilon)
    return Made(design, certified, ex.audit(design.prior, certified), not design.stats.stopped)


def design_figures(made: Made) -> Figures:
    """The matrix, the leakage of each report, what the design is worth, and the risk in words."""
    design, certified = made.design, made.certified
    prior, matrix = certified.prior, certified.mechanism.matrix
    response = ex.theory.randomized_response_for_pml(prior, design.epsilon)
    figures = made.audit.to_dict()
    ceiling = design.utility(prior, ex.Mechanism(np.eye(prior.size), prior.labels))
    return {
        "final": made.final,
        "epsilon": design.epsilon,
        "region": design.region,
        "inputs": [plain(label) for label in certified.inputs],
        "outputs": [plain(label) for label in certified.outputs],
        **_matrix(matrix),
        "leakage": made.audit.leakage.tolist(),
        "report_probabilities": certified.mechanism.output_distribution(prior).tolist(),
        "realised_epsilon": certified.realised_epsilon,
        "factor": math.exp(certified.realised_epsilon),
        "utility": design.utility.name,
        "efficiency": isinstance(
            design.utility, Purpose
        ),  # the value is how many direct answers a report is worth
        "value": design.value,
        "upper_bound": finite_or_none(design.upper_bound),
        "gap": finite_or_none(design.gap),
        "ceiling": ceiling,
        "response": design.utility(prior, response),
        "method": design.method,
        "seconds": design.stats.seconds,
        "agreement": ex.theory.agreement(prior, certified.mechanism),
        "response_agreement": ex.theory.agreement(prior, response),
        "digest": certified.digest,
        "words": [line[:1].upper() + line[1:] + "." for line in audit_text.short(figures).splitlines()],
        "sections": _sections(figures),
    }


def _matrix(matrix: NDArray[np.float64]) -> Figures:
    if matrix.size <= SHOWN:
        return {"matrix": matrix.tolist()}
    levels = np.rint(255 * matrix).astype(np.uint8)
    return {"image": base64.b64encode(levels.tobytes()).decode(), "shape": list(matrix.shape)}


def _sections(figures: Figures) -> list[Figures]:
    """The audit's paragraphs and lists; its tables are left to the report."""
    found = []
    for title, lines in audit_text.sections(figures):
        told = [part for line in lines if not line.startswith("|") for part in line.split("\n") if part]
        if told and title != "The reports":
            found.append({"title": title, "text": [line.removeprefix("- ") for line in told]})
    return found


def error_figures(state: State, made: Made) -> Figures:
    """What an estimate from this many reports can be off by, for the mechanism and for randomized response."""
    prior = made.certified.prior
    if prior.size > MOST_ERRORS:
        return {"reports": state.reports, "skipped": f"expected errors are shown up to {MOST_ERRORS} answers"}
    response = ex.theory.randomized_response_for_pml(prior, made.design.epsilon)
    ours = ex.planning.expected_error(prior, made.certified, state.reports, state.confidence)
    theirs = ex.planning.expected_error(prior, response, state.reports, state.confidence)
    return {
        "reports": state.reports,
        "confidence": ours.confidence,
        "sentence": ex.planning.precision_sentence(
            prior, made.certified.mechanism, [state.reports], state.confidence
        ),
        "labels": [plain(label) for label in prior.labels],
        "probabilities": prior.probabilities.tolist(),
        **{
            name: {
                "errors": [finite_or_none(e) for e in errors.standard_errors.tolist()],
                "widths": errors.widths.tolist(),
                "root_mean_square": finite_or_none(errors.root_mean_square),
            }
            for name, errors in (("optimal", ours), ("response", theirs))
        },
    }


def curve(
    prior: ex.Prior, utility: ex.Utility | Purpose, progress: Callable[[int, int], None]
) -> Iterator[Tradeoff]:
    """The trade-off at ever more levels between 0 and epsilon_max; each is the whole curve so far."""
    limit = None if prior.size <= QUICK else 0.5 if prior.size <= PREVIEWED else 2.0
    tolerance = None if isinstance(utility, Purpose) else CURVE_TOLERANCE
    top, count = prior.epsilon_max, PASSES[-1] - 1
    last: Tradeoff | None = None
    for points in PASSES:
        step = count // (points - 1)
        levels = [top * k / count for k in range(0, count + 1, step) if last is None or k % (2 * step)]
        before = 0 if last is None else len(last)

        def report(done: int, _: int, before: int = before) -> None:
            progress(before + done, PASSES[-1])

        part = ex.tradeoff(prior, levels, utility, tolerance=tolerance, time_limit=limit, progress=report)
        last = part if last is None else _merged(last, part)
        yield last


def _merged(one: Tradeoff, other: Tradeoff) -> Tradeoff:
    """Both curves in one, which never falls: what is possible at a lower level stays possible."""
    order = np.argsort(np.concatenate((one.epsilons, other.epsilons)), kind="stable")

    def joined(name: str) -> Any:
        return np.concatenate((getattr(one, name), getattr(other, name)))[order]

    optimal = np.maximum.accumulate(joined("optimal"))
    return Tradeoff(
        one.prior,
        one.utility,
        joined("epsilons"),
        optimal,
        np.maximum(joined("upper_bound"), optimal),
        joined("randomized_response"),
        tuple(np.array(one.methods + other.methods)[order].tolist()),
        one.ceiling,
    )


def curve_figures(tradeoff: Tradeoff) -> Figures:
    """The points of both curves."""
    return {
        "epsilons": tradeoff.epsilons.tolist(),
        "optimal": tradeoff.optimal.tolist(),
        "response": tradeoff.randomized_response.tolist(),
        "ceiling": tradeoff.ceiling,
        "utility": tradeoff.utility.name,
        "final": len(tradeoff) == PASSES[-1],
    }


def privatize_sample(state: State, made: Made, text: str) -> Figures:
    """One secure draw for each answer of a pasted sample, and what the reports tell about the shares."""
    words = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(words) == 1:
        words = [part.strip() for part in words[0].split(",") if part.strip()]
    if not 0 < len(words) <= MOST_SAMPLE:
        raise ex.errors.ValuesError(
            f"a sample must have between 1 and {MOST_SAMPLE} answers, got {len(words)}; give one a line"
        )
    named = {str(label): label for label in made.certified.inputs}
    values = [named.get(word, word) for word in words]
    reports = made.certified.privatize(values)
    estimate = ex.estimate(made.certified, reports, state.confidence)
    truly, reported = Counter(values), Counter(reports)
    named_reports = set(made.certified.outputs)
    return {
        "count": len(values),
        "answers": [plain(value) for value in values[:MOST_DRAWN]],
        "reports": [plain(report) for report in reports],
        "rows": [
            {
                **row,
                "label": plain(row["label"]),
                "sample": truly[row["label"]] / len(values),
                # Reports of a design for shares are numbers, not answers.
                "reported": reported[row["label"]] / len(values) if row["label"] in named_reports else None,
            }
            for row in estimate.table.rows()
        ],
    }
