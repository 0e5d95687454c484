"""Extremal lift vectors of a set of priors, all of them: mixtures of two nested sets of symbols.

The prior of the set under which a column is least likely depends on the order of its elements only. So among columns
of the same order h is linear: every lift vector is a mixture of indicators 1_S / pi(S) of nested sets S, and it is
admissible if the same mixture of (1 - c h(S)) / pi(S) is at most 0, where h(S) is the smallest probability of S over
the set. One linear constraint: an extremal mixture has at most two terms, one set with h(S) < 1/c and one superset S'
with h(S') >= 1/c. For a single prior S' is S and the partial symbol (Algorithm 1); over all priors only the whole
alphabet has a positive h, and the columns are the patterns {1, e^epsilon}^N of local differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...._common.types import Bools, Floats
from ....errors import SizeError
from ....model.levels import rounding
from ....model.prior_set import PriorSet
from ...effort import Effort
from ...tuning import LISTED_PAIRS, MOVED

LARGEST = 16  # symbols: 2^16 sets


@dataclass(frozen=True)
class Sets:
    """All non-empty sets of symbols, as bits, with mass and excess (1 - c h(S)) / pi(S), and whether it is <= 0."""

    members: Floats
    mass: Floats
    excess: Floats
    fits: Bools
    noise: float

    @classmethod
    def of(cls, priors: PriorSet, c: float) -> Sets:
        """The sets of a set of priors."""
        n = priors.size
        if n > LARGEST:
            raise SizeError(
                f"all sets of symbols are listed up to {LARGEST} symbols",
                given=n,
                remedy="make columns as they are needed",
            )
        members = (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
        mass = members @ priors.nominal.probabilities
        excess = 1 - c * priors.smallest_means(members.T)
        noise = _noise(c)
        return cls(members, mass, excess / mass, excess <= noise, noise)

    @property
    def pairs(self) -> int:
        """How many extremal lift vectors robust_vertices lists at most."""
        above = np.concatenate(([0], self.fits.astype(np.int64)))
        for bit in range(self.members.shape[1]):  # supersets that fit, by symbols
            halves = above.reshape(-1, 2, 1 << bit)
            halves[:, 0] += halves[:, 1]
        return int(above[1:][~self.fits].sum() + self.fits.sum())


def _noise(c: float) -> float:
    """How far 1 - c h(S) may be from 0 by rounding alone."""
    return float(rounding(math.log(c))) * c


def robust_vertices(priors: PriorSet, c: float, most: int = LISTED_PAIRS) -> Floats:
    """All extremal lift vectors of a set of priors, one a row, some of them perhaps not extremal."""
    sets = Sets.of(priors, c)
    if sets.pairs > most:
        raise SizeError(
            f"extremal lift vectors of a set are listed up to {most}",
            given=sets.pairs,
            remedy="make columns as they are needed",
        )
    mass, excess, bits = sets.mass, sets.excess, np.arange(1, len(sets.mass) + 1)
    blocks = [sets.members[sets.fits] / mass[sets.fits, None]]
    below = np.flatnonzero(sets.fits & (excess < -sets.noise))
    for k in np.flatnonzero(~sets.fits):
        above = below[bits[below] & bits[k] == bits[k]]
        share = excess[above] / (excess[above] - excess[k])
        blocks.append(_mixed(sets.members[k] / mass[k], sets.members[above] / mass[above, None], share))
    return np.concatenate(blocks)


def nested_columns(priors: PriorSet, c: float, inner: Bools, outer: Bools) -> Floats:
    """For each pair of nested sets, given as rows, the mixture that is just admissible.

    An inner set that is admissible by itself needs no outer one; an outer set that is not is taken to be everything.
    """
    noise = _noise(c)

    def excess(sets: Floats) -> Floats:
        return np.asarray(1 - c * priors.smallest_means(sets.T))

    large = outer.astype(np.float64)
    large[excess(large) >= -noise] = 1.0
    small, pi = inner.astype(np.float64), priors.nominal.probabilities
    one, other = small / (small @ pi)[:, None], large / (large @ pi)[:, None]
    e, d = excess(small) / (small @ pi), excess(large) / (large @ pi)
    share = np.where(e <= noise, 1.0, d / np.where(e <= noise, -1.0, d - e))[:, None]
    return np.asarray(share * one + (1 - share) * other)


def nested_sets(lifts: Floats) -> tuple[Bools, Bools]:
    """Where each column, given as a row, is largest, and where it is not 0."""
    return lifts >= lifts.max(axis=1, keepdims=True) * (1 - 1e-9), lifts > 1e-9


def climb(
    priors: PriorSet, c: float, reduced: Callable[[Floats], Floats], lifts: Floats, effort: Effort
) -> Floats:
    """The columns reached when single symbols go into either set, or out, wherever that gains most.

    Each takes at most two steps a symbol, and none when nothing is left of the effort.
    """
    inner, outer = nested_sets(lifts)
    n = priors.size
    lifts = nested_columns(priors, c, inner, outer)
    values = reduced(lifts)
    symbol = np.arange(n)
    rising = np.arange(len(lifts))  # those that the last step made better
    for _ in range(2 * n):
        if not len(rising) or effort.over:
            break
        tried = []
        for place in ((True, True), (False, True), (False, False)):
            a, b = (np.repeat(x[rising, None, :], n, axis=1) for x in (inner, outer))
            a[:, symbol, symbol], b[:, symbol, symbol] = place
            tried.append((a, b))
        a, b = (np.concatenate(x, axis=1).reshape(-1, n) for x in zip(*tried, strict=True))
        some = a.any(axis=1)
        moved = np.tile(lifts[0], (len(a), 1))
        moved[some] = nested_columns(priors, c, a[some], b[some])
        effort.spend(MOVED * a.size)
        gains = np.where(some, reduced(moved), -np.inf).reshape(len(rising), -1)
        best = np.argmax(gains, axis=1)
        better = gains[np.arange(len(rising)), best] > values[rising] + 1e-12
        chosen, rising = (np.arange(len(rising)) * 3 * n + best)[better], rising[better]
        inner[rising], outer[rising], lifts[rising] = a[chosen], b[chosen], moved[chosen]
        values[rising] = gains.ravel()[chosen]
    return lifts


def best_symmetric(priors: PriorSet, c: float, mu: Callable[[Floats], Floats]) -> Floats:
    """The column of largest mu over a set that does not change when symbols are permuted, symbols in some order.

    Then only the sizes of the two nested sets matter. `mu` takes columns as rows.
    """
    n = priors.size
    steps = np.tri(n)
    excess = 1 - c * priors.smallest_means(steps.T)
    noise = _noise(c)
    fits = excess <= noise
    lifts = steps * (n / np.arange(1, n + 1))[:, None]
    excess *= n / np.arange(1, n + 1)
    best, value = np.ones(n), -math.inf
    candidates = [lifts[fits]]
    above = fits & (excess < -noise)
    for k in np.flatnonzero(~fits):
        share = excess[above] / (excess[above] - excess[k])
        candidates.append(_mixed(lifts[k], lifts[above], share))
    for columns in candidates:
        gains = mu(columns)
        j = int(np.argmax(gains))
        if gains[j] > value:
            best, value = columns[j], float(gains[j])
    return best


def _mixed(one: Floats, others: Floats, share: Floats) -> Floats:
    """`share` of the first with each of the others."""
    return np.asarray(share[:, None] * one + (1 - share[:, None]) * others)
