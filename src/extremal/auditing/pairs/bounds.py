"""Confidence bounds on lifts from counts: Clopper-Pearson limits whose errors add up to a stated level.

Every function takes the secrets `s` and reports `r` that take part in the tests, as codes, and the events that
were chosen from other pairs, and gives a lower bound on the leakage of each event. All of them hold at once
with probability at least 1 - alpha.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._common.types import Floats, Ints
from ...estimation.intervals import lower_limit, upper_limit
from ...model.prior import Prior
from .data import Event


def bound_estimated(
    s: Ints, r: Ints, chosen: list[Event], reads: NDArray[np.bool_], size: int, alpha: float
) -> Floats:
    """log of the lift with both of its parts bounded: half the error for each.

    Where `reads`, P(x|E) from below over P(x) from above: given how often E happened, the number of times x
    came with it is binomial. Elsewhere P(E|x) from below over P(E) from above, in the same way.
    """
    together, happened = _counts(s, r, chosen)
    wanted = np.array([event.secret for event in chosen], dtype=np.int64)
    occurred = np.bincount(s, minlength=size)[wanted]
    bases = {
        int(w) if a else event.holds.tobytes() for w, a, event in zip(wanted, reads, chosen, strict=True)
    }
    trials = np.where(reads, happened, occurred)
    below = lower_limit(together, np.maximum(trials, 1), alpha / 2 / max(len(chosen), 1))
    above = upper_limit(np.where(reads, occurred, happened), len(s), alpha / 2 / max(len(bases), 1))
    return _log_ratio(below, above)


def better_read(s: Ints, r: Ints, chosen: list[Event], size: int) -> NDArray[np.bool_]:
    """For which events P(x|E) / P(x) has the smaller standard errors, P(E|x) / P(E) for the others.

    Decided by the pairs that choose the tests; relative errors of the two parts are added, as both are
    bounded.
    """
    together, happened = _counts(s, r, chosen)
    occurred = np.bincount(s, minlength=size)[[event.secret for event in chosen]]
    j, k, m, n = (np.maximum(v, 1).astype(np.float64) for v in (together, happened, occurred, len(s)))
    read = np.sqrt((1 - j / k) / j) + np.sqrt((1 - m / n) / m)
    other = np.sqrt((1 - j / m) / j) + np.sqrt((1 - k / n) / k)
    return np.asarray(read <= other)


def bound_drawn(s: Ints, r: Ints, chosen: list[Event], prior: Prior, alpha: float) -> Floats:
    """log of P(x|E) from below over P(x), which is known."""
    together, happened = _counts(s, r, chosen)
    wanted = np.array([event.secret for event in chosen], dtype=np.int64)
    return _log_ratio(
        lower_limit(together, happened, alpha / max(len(chosen), 1)), prior.probabilities[wanted]
    )


def bound_given(s: Ints, r: Ints, chosen: list[Event], prior: Prior, alpha: float) -> Floats:
    """log of P(E|x) from below over P(E) from above, the secrets taken as they are.

    Given the secrets, reports are independent. P(E) = sum_x P(x) P(E|x) is bounded in two ways, each with a
    quarter of the error: secret by secret, and through the number of times E happened at all. That number is
    a sum of independent yes-or-no draws with mean n q, q = sum_x (n_x / n) P(E|x), and P(E) is at most
    max_x P(x) n / n_x times q. By Hoeffding (1956) such a sum falls to k <= n q - 1 no more often than a
    binomial one, so the Clopper-Pearson limit holds for q; all but one draw or all of them say nothing.
    """
    n, pi = np.bincount(s, minlength=prior.size), prior.probabilities
    masks = {event.holds.tobytes(): event for event in chosen}
    share = alpha / 4 / max(len(masks), 1)
    above = {}
    with np.errstate(divide="ignore"):
        ratio = float(np.max(pi * len(s) / n))
    for key, event in masks.items():
        hits = np.bincount(s[event.holds[r]], minlength=prior.size)
        single = pi @ np.where(n > 0, upper_limit(hits, np.maximum(n, 1), share / prior.size), 1.0)
        k = int(hits.sum())
        pooled = 1.0 if k >= len(s) - 1 else ratio * float(upper_limit(k, len(s), share))
        above[key] = min(float(single), pooled, 1.0)
    together, _ = _counts(s, r, chosen)
    wanted = np.array([event.secret for event in chosen], dtype=np.int64)
    below = lower_limit(together, np.maximum(n[wanted], 1), alpha / 2 / max(len(chosen), 1))
    return _log_ratio(below, np.array([above[event.holds.tobytes()] for event in chosen]))


def _counts(s: Ints, r: Ints, chosen: list[Event]) -> tuple[Ints, Ints]:
    """For every event how often it came with its secret, and how often at all."""
    together = np.zeros(len(chosen), dtype=np.int64)
    happened = np.zeros(len(chosen), dtype=np.int64)
    for i, event in enumerate(chosen):
        held = event.holds[r]
        happened[i] = np.count_nonzero(held)
        together[i] = np.count_nonzero(held & (s == event.secret))
    return together, happened


def _log_ratio(below: Floats, above: Floats) -> Floats:
    """log(below / above), and 0 where that shows nothing: a leakage is never negative."""
    ratio = np.divide(below, above, out=np.ones_like(below), where=(below > 0) & (above > 0))
    return np.asarray(np.log(np.maximum(ratio, 1.0)))
