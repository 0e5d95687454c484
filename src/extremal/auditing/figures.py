"""An audit as plain figures, which JSON can hold and words are made from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._common.json import finite_or_none
from ..model.leakage_measures import chi_squared_contraction, dobrushin
from ..model.mechanism import common_labels
from ..model.prior_set import PriorSet
from .disclosure import Disclosure, NearCertainty, Outcome

if TYPE_CHECKING:
    from .audit import Audit, WorstCase

BLIND = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)  # chances before, for which the bound is spelled out
QUANTILES = (0.5, 0.9, 0.95, 0.99)
SHARES = (0.001, 0.01, 0.1, 0.5)  # of all reports, for which the envelope is given
MOST_COMPARED = 1 << 30  # differences of probabilities, beyond which the contraction is not worth its time
MOST_LISTED = 20  # labels of a list; the count stands beside it
COUNTS = {name: f"{name.removesuffix('s')}_count" for name in ("reports", "possible", "symbols", "excluded")}


def figures(audit: Audit) -> dict[str, Any]:
    """All figures as plain numbers, strings and lists; None stands for an infinite figure."""
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
        "prior_set": None if audit.prior_set is None else _prior_set(audit.prior_set),
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
            **_contraction(audit),
        },
        "leakage": _distribution(audit),
        "guessing": _guessing(audit),
        "disclosed": str(audit.doubt) if audit.doubt.disclosed else None,
        "certainty": _certainty(audit),
        "worst_case": _fields(audit.worst_case),
        "outcomes": [_outcome(outcome) for outcome in audit.outcomes],
    }


def _prior_set(priors: PriorSet) -> dict[str, Any]:
    return {
        "description": priors.description,
        "confidence": priors.confidence,
        "evidence": priors.evidence is not None,
        "note": priors.note,
    }


def _distribution(audit: Audit) -> dict[str, Any]:
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


def _contraction(audit: Audit) -> dict[str, float | None]:
    n, m = audit.mechanism.shape
    feasible = n * n * m <= MOST_COMPARED
    return {
        "dobrushin": dobrushin(audit.mechanism) if feasible else None,
        "chi_squared_contraction": chi_squared_contraction(audit.prior, audit.mechanism)
        if feasible
        else None,
    }


def _guessing(audit: Audit) -> dict[str, Any]:
    average = math.exp(audit.maximal_leakage)
    return {
        "bounds": [
            {
                "before": p,
                "after_any_report": audit.guess_bound(p),
                "after_on_average": min(1.0, average * p),
            }
            for p in BLIND
        ],
        "secret": {
            "before": audit.prior_guess,
            "after_on_average": audit.average_guess,
            "after_worst_report": audit.worst_guess,
        },
    }


def _certainty(audit: Audit) -> dict[str, Any]:
    prior, near = audit.answer_prior, audit.near_certainty
    return {
        "near_certainty": None if near is None else _fields(near),
        "least_probability_that_can_be_confirmed": math.exp(-audit.epsilon),
        "most_answers_that_can_be_excluded": min(prior.region(audit.epsilon), prior.size) - 1,
        "probability_that_some_answer_is_excluded": _excluding(audit),
        "disclosures": [_fields(found) for found in audit.disclosures],
    }


def _excluding(audit: Audit) -> float:
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
