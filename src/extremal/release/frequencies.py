"""Whether answers look like the prior that a mechanism was made for, and what reports leak if they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..draw.sampler import Sampler

Counts = NDArray[np.int64]

FALSE_ALARM = 1e-4  # the chance that answers which follow the prior are taken for others
EXCESS = 1.1  # times epsilon: less than that is not worth a word


def far_from_prior(certified: Any, counts: Counts) -> str | None:
    """A sentence if the answers cannot have followed the prior, and leak more than epsilon under their own."""
    prior, epsilon = getattr(certified, "prior_between", None), getattr(certified, "epsilon", None)
    masses = getattr(prior, "probabilities", None)
    if masses is None or epsilon is None or not counts.sum() or not _differ(counts, masses):
        return None
    leakage = leakage_under(certified.sampler, counts)
    if leakage <= EXCESS * epsilon:
        return None
    return (
        f"are far from the prior in the mechanism file: under their own frequencies a report leaks up to "
        f"{leakage:.2f} nats, not {epsilon:g}. Design with a prior that fits better, if one is public. This "
        "sentence is about the true answers: to share it would be a release"
    )


def leakage_under(sampler: Sampler, counts: Counts) -> float:
    """The PML of the mechanism, in nats, if answers, or blocks of them, are as frequent as they were counted."""
    there = counts > 0
    weights = sampler.weights[there].astype(np.float64)
    shares = counts[there] / counts.sum()
    average = shares @ weights
    possible = average > 0
    return float(np.log(np.max(weights.max(axis=0)[possible] / average[possible])))


def _differ(counts: Counts, masses: Any) -> bool:
    """Whether some answer is so frequent or so rare as it would be once in FALSE_ALARM, by Chernoff's bound."""
    n = counts.sum()
    share, mass = counts / n, np.asarray(masses, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(share > 0, share * np.log(share / mass), 0.0)
        other = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - mass)), 0.0)
    return bool(np.any(n * (one + other) > np.log(2 * len(mass) / FALSE_ALARM)))
