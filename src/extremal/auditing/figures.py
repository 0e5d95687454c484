"""What single reports say, and an audit as plain figures, which JSON can hold.

A report y rules an answer x out if it leaves it less than a millionth of its probability: P(x|y) / P(x), which is
P(y|x) / P(y), is below 1e-6. Zero is the usual case; what is positive and smaller is rounding, or left by a solver,
and saves nobody. Whatever is common to the answers that stay possible is then as good as certain.

Because 1 = sum_x P(x) lift(x, y) <= P_X(possible answers) e^epsilon + 1e-6, a mechanism of leakage epsilon confirms
no event of prior probability below (1 - 1e-6) e^-epsilon. With zeros in place of 1e-6 that is Lemma 2: in privacy
region k a report excludes at most k - 1 answers at once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.json import finite_or_none
from .._common.types import Bools, Floats
from ..model.labels import Labels
from ..model.leakage import RULED_OUT, lift
from ..model.leakage_measures import chi_squared_contraction, dobrushin, first_largest
from ..model.mechanism import Mechanism, common_labels
from ..model.prior import Prior

if TYPE_CHECKING:
    from .audit import Audit, WorstCase

EQUAL = 1e-12  # lifts that differ by no more than this, relatively, are attained together
NEARLY = 0.95  # the probability from which an answer is nearly certain
DOUBT_LEFT = (
    0.5  # the share of the doubt before that is left then, at most: of 94% and 96%, the report said little
)


@dataclass(frozen=True)
class Outcome:
    """One report: how likely it is, what it leaks, about whom, and whom it excludes.

    `symbols` are the answers whose probability rises by the factor exp(leakage); `guess` is the likeliest
    answer after the report.
    """

    output: Hashable
    probability: float
    leakage: float
    symbols: Labels
    excluded: Labels
    excluded_probability: float
    guess: Hashable
    guess_probability: float


@dataclass(frozen=True)
class Disclosure:
    """An event that some reports confirm: the answer is one of `possible`.

    `probability` is how often such a report comes out, `possible_probability` how likely the event was before.
    `left` is the largest share of its probability that a report leaves to any of the others: 0, or less than 1e-6.
    """

    reports: Labels
    probability: float
    possible: Labels
    possible_probability: float
    excluded: Labels
    left: float


@dataclass(frozen=True)
class NearCertainty:
    """The report that leaves the least doubt about an answer, one of those that make an answer nearly certain.

    `before` and `after` are the probabilities of the answer. `probability` is how often such reports come out.
    """

    report: Hashable
    answer: Hashable
    before: float
    after: float
    probability: float


class Guesses(NamedTuple):
    """The likeliest answer of each row of a mechanism: of a block of answers one, else the answer itself."""

    probabilities: Floats
    labels: Labels


def outcomes(prior: Prior, mechanism: Mechanism, leakage: Floats, guesses: Guesses) -> tuple[Outcome, ...]:
    """Every output with what it says, in the mechanism's order; `leakage` is l(X→y) for each."""
    labels = common_labels(prior.labels, mechanism.inputs)
    pi, ratio = prior.probabilities, lift(prior, mechanism)
    rho = mechanism.output_distribution(prior)
    attained = ratio >= ratio.max(axis=0) * (1 - EQUAL)
    excluded = ruled_out(mechanism, ratio)
    after = guesses.probabilities[:, None] * ratio
    likeliest = after.argmax(axis=0)
    found = []
    for j, output in enumerate(mechanism.outputs):
        best = int(likeliest[j])
        found.append(
            Outcome(
                output,
                float(rho[j]),
                float(leakage[j]),
                _named(labels, attained[:, j]),
                _named(labels, excluded[:, j]),
                float(pi[excluded[:, j]].sum()),
                guesses.labels[best],
                min(float(after[best, j]), 1.0),
            )
        )
    return tuple(found)


def disclosures(prior: Prior, mechanism: Mechanism) -> tuple[Disclosure, ...]:
    """The events that reports confirm, the least likely first; none if nothing is ruled out."""
    labels = common_labels(prior.labels, mechanism.inputs)
    rho = mechanism.output_distribution(prior)
    ratio = lift(prior, mechanism)
    excluded = ruled_out(mechanism, ratio)
    reports: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(excluded.any(axis=0)).tolist():
        reports.setdefault(excluded[:, j].tobytes(), []).append(j)
    found = []
    for columns in reports.values():
        out = excluded[:, columns[0]]
        found.append(
            Disclosure(
                tuple(mechanism.outputs[j] for j in columns),
                float(rho[columns].sum()),
                _named(labels, ~out),
                float(prior.probabilities[~out].sum()),
                _named(labels, out),
                float(ratio[out][:, columns].max()),
            )
        )
    return tuple(sorted(found, key=lambda d: d.possible_probability))


def nearly_certain(after: Any, before: Any) -> Any:
    """Whether a probability of at least 95% leaves at most half of the doubt that there was before."""
    return (after >= NEARLY) & (1 - after <= DOUBT_LEFT * (1 - before))


def near_certainty(prior: Prior, mechanism: Mechanism, guesses: Guesses) -> NearCertainty | None:
    """What comes closest to giving an answer away, if reports make some answer nearly certain.

    They do if the answer is at least 95% likely after the report, and at most half of the doubt about it is left.
    """
    rho = mechanism.output_distribution(prior)
    after = guesses.probabilities[:, None] * lift(prior, mechanism)
    best, reports = after.argmax(axis=0), np.arange(after.shape[1])
    posterior, before = np.minimum(after[best, reports], 1.0), guesses.probabilities[best]
    near = nearly_certain(posterior, before) & (rho > 0)
    if not near.any():
        return None
    j = first_largest(np.where(near, posterior, 0.0))
    return NearCertainty(
        mechanism.outputs[j],
        guesses.labels[int(best[j])],
        float(before[j]),
        float(posterior[j]),
        min(float(rho[near].sum()), 1.0),
    )


def ruled_out(mechanism: Mechanism, ratio: Floats) -> Bools:
    """Which inputs (rows) each output (columns) rules out, from the lifts; none if the output never occurs."""
    return np.asarray((ratio < RULED_OUT) & (mechanism.matrix.max(axis=0) > 0))


def _named(labels: Labels, where: Bools) -> Labels:
    return tuple(labels[i] for i in np.flatnonzero(where).tolist())


BLIND = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)  # chances before, for which the bound is spelled out
QUANTILES = (0.5, 0.9, 0.95, 0.99)
SHARES = (0.001, 0.01, 0.1, 0.5)  # of all reports, for which the envelope is given
MOST_COMPARED = 1 << 30  # differences of probabilities, beyond which the contraction is not worth its time
MOST_LISTED = 20  # labels of a list; the count stands beside it
COUNTS = {name: f"{name.removesuffix('s')}_count" for name in ("reports", "possible", "symbols", "excluded")}


def figures(audit: Audit) -> dict[str, Any]:
    """All figures as plain numbers, strings and lists; None stands for an infinite figure."""
    known = audit.prior_set
    return {
        "inputs": audit.answer_prior.size,
        "blocks": None if audit.blocks is None else audit.blocks.count,
        "outputs": audit.mechanism.shape[1],
        "prior": [
            {"label": plain(x), "probability": p}
            for x, p in zip(
                common_labels(audit.prior.labels, audit.mechanism.inputs),
                audit.prior.probabilities.tolist(),
                strict=True,
            )
        ],
        "prior_set": None
        if known is None
        else {
            "description": known.description,
            "confidence": known.confidence,
            "evidence": known.evidence is not None,
            "note": known.note,
        },
        "exact": audit.exact,
        "certified_epsilon": audit.certified_epsilon,
        "epsilon": audit.epsilon,
        "factor": math.exp(audit.epsilon),
        "epsilon_max": audit.answer_prior.epsilon_max,
        "region": audit.answer_prior.region(audit.epsilon),
        "measures": {
            "maximal_leakage": audit.maximal_leakage,
            "mutual_information": audit.mutual_information,
            "entropy": audit.answer_prior.entropy,
            "ldp_epsilon": finite_or_none(audit.ldp_epsilon),
            "lip_epsilon": finite_or_none(audit.lip_epsilon),
            "lip_lower": finite_or_none(audit.lip_lower),
            **contraction(audit),
        },
        "leakage": leakage(audit),
        "guessing": {
            "bounds": guess_bounds(audit),
            "secret": {
                "before": audit.prior_guess,
                "after_on_average": audit.average_guess,
                "after_worst_report": audit.worst_guess,
            },
        },
        "disclosed": str(audit.doubt) if audit.doubt.disclosed else None,
        "certainty": _certainty(audit),
        "worst_case": _fields(audit.worst_case),
        "outcomes": [_outcome(outcome) for outcome in audit.outcomes],
    }


def leakage(audit: Audit) -> dict[str, Any]:
    """How leakages are distributed over reports, and what the most telling ones can do."""
    d = audit.distribution
    return {
        "mean": d.mean,
        "quantiles": [{"share": q, "leakage": d.quantile(q)} for q in QUANTILES],
        "envelope": [{"share": d, "leakage": min(audit.envelope(d), audit.epsilon)} for d in SHARES],
        "distribution": [
            {"leakage": v, "probability": p}
            for v, p in zip(d.values.tolist(), d.probabilities.tolist(), strict=True)
        ],
    }


def contraction(audit: Audit) -> dict[str, float | None]:
    """What is left of distances between groups; None where it is not worth its time."""
    n, m = audit.mechanism.shape
    if n * n * m > MOST_COMPARED:
        return {"dobrushin": None, "chi_squared_contraction": None}
    return {
        "dobrushin": dobrushin(audit.mechanism),
        "chi_squared_contraction": chi_squared_contraction(audit.prior, audit.mechanism),
    }


def guess_bounds(audit: Audit) -> list[dict[str, float]]:
    """The largest chances of guessing right after a report, by the chance without one."""
    average = math.exp(audit.maximal_leakage)
    return [
        {"before": p, "after_any_report": audit.guess_bound(p), "after_on_average": min(1.0, average * p)}
        for p in BLIND
    ]


def _certainty(audit: Audit) -> dict[str, Any]:
    prior, near = audit.answer_prior, audit.near_certainty
    return {
        "near_certainty": None if near is None else _fields(near),
        "least_probability_that_can_be_confirmed": math.exp(-audit.epsilon),
        "most_answers_that_can_be_excluded": min(prior.region(audit.epsilon), prior.size) - 1,
        "probability_that_some_answer_is_excluded": excluding(audit),
        "disclosures": [_fields(found) for found in audit.disclosures],
    }


def excluding(audit: Audit) -> float:
    """How likely a report is that rules out some answer; exactly 1 where every report does."""
    found = audit.disclosures
    if sum(len(d.reports) for d in found) == len(audit.mechanism.outputs):
        return 1.0
    return min(math.fsum(d.probability for d in found), 1.0)


def plain(label: Any) -> Any:
    """A label as JSON can hold it: numbers, strings and lists as they are, everything else in words."""
    if isinstance(label, bool | int | str) or (isinstance(label, float) and math.isfinite(label)):
        return label
    if isinstance(label, tuple | list):
        return [plain(part) for part in label]
    return str(label)


def _fields(found: WorstCase | NearCertainty | Outcome | Disclosure) -> dict[str, Any]:
    """Each field by its name; of many labels the first, and how many there are."""
    said: dict[str, Any] = {}
    for name, value in vars(found).items():
        said[name] = plain(value[:MOST_LISTED] if name in COUNTS else value)
        if name in COUNTS:
            said[COUNTS[name]] = len(value)
    return said


def _outcome(outcome: Outcome) -> dict[str, Any]:
    said = _fields(outcome)
    return {"report": said.pop("output"), "factor": math.exp(outcome.leakage), **said}
