"""Upper bounds on the optimum from any dual vector y, for the independent check of a design.

The lift vectors lam of a mechanism, weighted by how often its outputs occur, have the mean 1. So for any y

    U* <= max of mu(lam) - y.(lam - 1) over lift vectors lam.

Written with lam - 1 nothing is lost where epsilon is small: all terms are then as small as U* itself, or its root.

- Expected gain: a continuous knapsack for each decision, solved by sorting.
- f-information: for any theta, mu(lam) - y.(lam - 1) = sum_i g_i(lam_i) with the convex
  g_i(t) = pi_i f(t) - (y_i + theta pi_i) (t - 1). As the others confine lam_i to some [l_i, u_i], it is at most
  sum_i max(g_i(l_i), g_i(u_i)), the chord bound. Where that is not enough: at a vertex every symbol
  but one is full (lam_i = c) or empty (lam_i = low), each falls short of its maximum by a loss >= 0, and
  the maximum is the chord bound minus the smallest total loss of a vertex. That is found by dynamic programming if
  the prior comes from counts, else by meeting in the middle.
- Any other utility: all vertices, up to 20 symbols.

Rounding. What is computed is off by `error`, which is added to the bound. f(t) is taken to be off by a few ulp of
itself, and by as much as f differs at the doubles next to t: that is what an argument rounded before costs, and it
shows an f that loses digits near 1. The same for mu, whose columns are moved by a few ulp. Products count 4 ulp of
themselves, sums one for each term. An error at lam_i counts with the share it has in the mean of lift vectors: the
line from l_i to u_i at 1.

A right dual vector is no more precise than that: it was computed from utilities of vertices and is a vector of doubles.
At a single vertex, not on average, these are off by more: by `dull`. And masses are rounded, so a sum of them is
uncertain by some ulp of itself, and the lift that the others leave to the partial symbol lies in an interval. g is
largest at its ends; the `blur` is what the interval does to one g_i. It is large where f is infinitely steep at 0
(squared Hellinger). So a claim counts as proved if the bound, less error, dull and blur, is no larger.

All of it falls with U* as epsilon falls: if f is smooth, U* is about N epsilon^2 times a constant, and a vertex with
a lift of 1 - epsilon / pi at a symbol of mass pi > epsilon is worth epsilon^2 / pi, known to some ulp. Relatively
that is some ulp / (N pi), less than ulp / epsilon, and the lifts themselves, doubles near 1, are uncertain by
ulp / epsilon of what they differ from 1 by. So 1e-9 of U* can be told down to epsilon of some 1e-6, and a constant
mechanism from the optimum down to 1e-13.

For a set of priors the lift vectors are those that are admissible for every prior of it: the extremal ones are t on a
set S, b on a set R and 0 elsewhere, see `prior_sets`.

- Chords, which bound the maximum over all lift vectors of the nominal prior: it is one of the set.
- Up to 16 symbols all extremal vectors. For an f-information their values follow from sums over the two sets.
- Symbols that are all alike: the sizes of the two sets, at any number of symbols.

The share b / t is a quotient of differences of sums, and what its rounding does to a value is the blur.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._common.types import Floats, Ints
from ..model.levels import bounded_exp, largest_lift
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.utility import NEAR, NEAR_ONE, ExpectedGain, FInformation, Generator, Utility, near_one
from .prior_sets import LISTED, SymbolSets, all_sets, listed_vectors
from .separable import (
    MOST_CELLS,
    ULP,
    ChordBound,
    count_loss,
    counts_of,
    farthest,
    meeting_loss,
    multiplier,
    reachable,
    uncertainty,
)

NOT_CHECKED = f"nothing: over a set of priors bounds are checked up to {LISTED} symbols"
ENUMERABLE = 20  # symbols whose subsets are listed one by one


class Bound(NamedTuple):
    """An upper bound on the optimum, how it was found, and how much of it is rounding, error and blur."""

    value: float
    how: str
    uncertain: float = 0.0


def upper_bound(
    prior: Prior,
    epsilon: float,
    utility: Utility,
    y: Floats,
    low: float,
    claim: float,
    proves: Callable[[Bound], bool],
) -> Bound:
    """A bound on the utility of all mechanisms with lifts in [low, c], the first that proves the claim."""
    pi, c = prior.probabilities, largest_lift(prior.probabilities, epsilon)
    if not low < 1 < c:
        one = np.ones((prior.size, 1))
        mu = utility.columns(prior, one)
        return Bound(float(mu[0]), "the only lift vector there is", float(moved(prior, utility, one, mu)[0]))
    if isinstance(utility, ExpectedGain):
        value, error = _linear_bound(pi, utility.gain, raised(y), low, c)
        how = f"continuous knapsacks, one for each of {len(utility.gain)} decisions"
        return Bound(value + error, how, 2 * error)
    if not isinstance(utility, FInformation):
        if prior.size > ENUMERABLE:
            return Bound(math.inf, f"nothing: this utility cannot be checked beyond {ENUMERABLE} symbols")
        value, error, blur, count = _enumerated_bound(prior, utility, raised(y), low, c)
        return Bound(value + error, f"enumeration of {count} vertices", blur + 2 * error)
    if c - 1 < NEAR and low == 0.0 and utility.f in NEAR_ONE:
        near = _near_one_bound(pi, utility.f, y, math.expm1(epsilon))
        if proves(near):
            return near
    y = raised(y)
    s = ChordBound.of(pi, utility.f, y, low, c)
    uncertain = s.blur + s.dull + 2 * s.error
    chords = Bound(s.chord, "chords", uncertain)
    if proves(chords):
        return chords
    if not math.isfinite(chords.value):
        return Bound(math.inf, "nothing: numbers overflow")
    needed, counts = chords.value - claim + s.error, counts_of(pi)
    if counts is not None and prior.size * counts.sum() * s.room <= MOST_CELLS:
        loss, how = count_loss(s, counts, needed), f"dynamic programming over {counts.sum()} counts"
    else:
        loss, how = meeting_loss(s, needed), "meeting in the middle"
    return Bound(chords.value - loss + s.error, how, uncertain + s.error) if loss > s.error else chords


def raised(y: Floats) -> Floats:
    """A dual vector that outweighs rounding in y.lam for lifts of 1e9: any will do."""
    return y + 64 * ULP * np.abs(y)


def _near_one_bound(pi: Floats, f: Generator, y: Floats, excess: float) -> Bound:
    """The chord bound in lifts less 1, which are no doubles next to 1: nothing is lost however small they are."""
    most = (1 - pi) / pi * (1 + 8 * ULP)
    l, u = np.maximum(-excess * most, -1.0), np.minimum(most, excess * (1 + 4 * ULP))
    at_l, at_u = pi * near_one(f, l), pi * near_one(f, u)
    slope = y + multiplier(pi, l, u, at_l - y * l, at_u - y * u, mean=0.0) * pi
    top = np.maximum(at_l - slope * l, at_u - slope * u)
    off_l, off_u = (
        pi * np.abs(near_one(f, t * (1 - 16 * ULP)) - at / pi)  # what rounding outwards costs
        + 8 * ULP * (np.abs(at) + np.abs(slope * t))
        + np.where(np.abs(t) < NEAR, 0.0, pi * uncertainty(f, 1 + t))
        for at, t in ((at_l, l), (at_u, u))
    )
    error = math.fsum((off_l * u - off_u * l) / (u - l)) + (len(pi) + 8) * ULP * math.fsum(np.abs(top))
    dull = math.fsum(np.maximum(off_l, off_u))
    return Bound(math.fsum(top) + error, "chords", dull + 2 * error)


def moved(prior: Prior, utility: Utility, lam: Floats, mu: Floats) -> Floats:
    """What mu(lam) may be off by: some ulp of itself, and what it differs by where lam is off by a few."""
    i = np.arange(prior.size)[:, None]
    worst = np.zeros_like(mu)
    for signs in (i % 2, i // 2 % 2 if prior.size > 2 else 1 - i % 2):  # neither all up nor all down
        beside = utility.columns(prior, lam * (1 + 8 * ULP * (1 - 2 * signs)))
        worst = np.maximum(worst, np.abs(beside - mu))
    return worst + 4 * ULP * np.abs(mu)


def _linear_bound(pi: Floats, gains: Floats, y: Floats, low: float, c: float) -> tuple[float, float]:
    """The largest pi gain.lam - y.(lam - 1) over lift vectors and rows of gains, and what it is off by."""
    l, u = reachable(pi, low, c)
    reach = farthest(l, u)
    values, errors = [], []
    for gain in gains:
        a = pi * gain - y
        theta = multiplier(pi, l, u, a * (l - 1), a * (u - 1))
        rest = a - theta * pi
        values.append(math.fsum([*(pi * gain), *np.maximum(rest * (l - 1), rest * (u - 1)).tolist()]))
        size = math.fsum(np.abs(pi * gain)) + math.fsum(
            (np.abs(pi * gain) + np.abs(y) + abs(theta) * pi) * reach
        )
        errors.append(16 * ULP * size)
    return max(values), max(errors)


def _enumerated_bound(
    prior: Prior, utility: Utility, y: Floats, low: float, c: float
) -> tuple[float, float, float, int]:
    """The largest mu - y.(lam - 1) of all vertices, what it is off by, its blur; the number of vertices.

    The partial symbol balances the others: pi_j (lam_j - 1) = (1 - low) empty - (c - 1) full, in masses.
    """
    pi, n = prior.probabilities, prior.size
    y = y - math.fsum(y) * pi  # proves the same, and is small where mu is nearly linear
    best, blur, count, off = -math.inf, 0.0, 0, 0.0
    for start in range(0, 1 << n, 1 << 14):
        codes = np.arange(start, min(start + (1 << 14), 1 << n))
        full = (codes[:, None] >> np.arange(n) & 1).astype(bool)
        above = (c - 1) * (full @ pi)[:, None]
        below = (1 - low) * ((~full @ pi)[:, None] - pi)
        noise = (n + 8) * ULP * ((above + np.abs(below)) / pi + c)
        partial = 1 + (below - above) / pi
        S, j = np.nonzero(~full & (partial >= low - noise) & (partial <= c + noise))
        if not len(S):
            continue
        lam, ends, hidden = np.where(full[S], c, low).T, [], []
        for shift in (-noise, noise):
            lam[j, np.arange(len(j))] = np.clip((partial + shift)[S, j], low, c)
            mu = utility.columns(prior, lam)
            ends.append(mu - y @ (lam - 1))
            hidden.append(moved(prior, utility, lam, mu) + (n + 8) * ULP * (np.abs(y) @ np.abs(lam - 1)))
            off = max(off, n * float(np.max(hidden[-1] / lam.sum(axis=0))))
        k, count = int(np.argmax(np.maximum(*ends))), count + len(S)
        if max(ends[0][k], ends[1][k]) > best:
            best = float(max(ends[0][k], ends[1][k]))
            blur = float(abs(ends[0][k] - ends[1][k]) + max(hidden[0][k], hidden[1][k]))
    return (
        best,
        off + (n + 8) * ULP * math.fsum(np.abs(y) * (1 + farthest(*reachable(pi, low, c)))),
        blur,
        count,
    )


def bound_over_set(
    priors: PriorSet, epsilon: float, utility: Utility, y: Floats, proves: Callable[[Bound], bool]
) -> Bound:
    """A bound on the utility of all mechanisms that keep epsilon for every prior of a set."""
    pi, c = priors.nominal.probabilities, bounded_exp(epsilon)
    if epsilon == 0:
        mu = utility.columns(priors.nominal, np.ones((len(pi), 1)))
        return Bound(float(mu[0]), "the only lift vector there is", ULP * len(pi))
    if isinstance(utility, FInformation):
        s = ChordBound.of(pi, utility.f, y, 0.0, largest_lift(pi, epsilon))
        chords = Bound(s.chord, "chords", s.blur + s.dull + 2 * s.error)
        if proves(chords):
            return chords
    y = y - math.fsum(y) * pi  # proves the same, and is small where mu is nearly linear
    if isinstance(utility, FInformation) and _alike(priors):
        return _by_sizes(priors, c, utility)
    if len(pi) > LISTED:
        return Bound(math.inf, NOT_CHECKED)
    if isinstance(utility, FInformation):
        members, sets = all_sets(priors.bounds)
        return _by_sums(len(pi), _SetSums(sets, members @ pi, members @ y, members @ np.abs(y)), c, utility)
    return _by_vectors(priors, c, utility, y)


def _alike(priors: PriorSet) -> bool:
    """Whether neither the set nor its nominal prior changes when symbols are permuted."""
    every = [priors.nominal.probabilities, priors.lower, priors.upper]
    every += [priors.center] if priors.radius < 2 else []
    return all(float(np.ptp(v)) <= 1e-14 * float(v.max()) for v in every)


def _by_sizes(priors: PriorSet, c: float, utility: FInformation) -> Bound:
    """With symbols that are all alike only the sizes of S and R matter, and the best y is the same for all: 0."""
    n = priors.size
    size, zero = np.arange(1.0, n + 1), np.zeros(n)
    lower, upper = float(priors.lower.min()), float(priors.upper.max())
    h = np.maximum(size * lower, 1 - (n - size) * upper)
    sets = SymbolSets(np.maximum(h, size / n - priors.radius / 2), lambda one, many: many >= one)
    return _by_sums(
        n,
        _SetSums(sets, size / n, zero, zero),
        c,
        utility,
        f"sizes of two sets of {n} symbols that are all alike",
    )


@dataclass(frozen=True, eq=False)
class _SetSums:
    """Sets of symbols with their masses, prices, and absolute prices."""

    sets: SymbolSets
    mass: Floats
    price: Floats
    size: Floats

    def parts(self, inner: Ints, outer: Ints) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Masses of S, R and the rest, prices of S and R."""
        S, R = self.mass[inner], self.mass[outer] - self.mass[inner]
        rest = np.where(outer == len(self.mass) - 1, 0.0, np.maximum(self.mass[-1] - self.mass[outer], 0.0))
        return S, np.maximum(R, 0.0), rest, self.price[inner], self.price[outer] - self.price[inner]


def _value(sums: _SetSums, f: Callable[[Floats], Floats], inner: Ints, outer: Ints, share: Floats) -> Floats:
    """mu - y.(lam - 1) of the vectors t on S, share t on R: t is 1 / (mass of S + share mass of R)."""
    S, R, rest, y_S, y_R = sums.parts(inner, outer)
    t = 1 / (S + share * R)
    b, zero = share * t, float(f(np.zeros(1))[0])
    return np.asarray(S * f(t) + R * f(b) + rest * zero - (t * y_S + b * y_R - sums.price[-1]))


def _by_sums(n: int, sums: _SetSums, c: float, utility: FInformation, how: str = "") -> Bound:
    """The largest value of all pairs of nested sets, by sums over the sets."""
    f, count, best = utility.f, 0, []
    for inner, outer, share in sums.sets.nested(c):
        k = int(np.argmax(_value(sums, f, inner, outer, share)))
        best.append((inner[k % len(inner)], outer[k], share[k]))
        count += len(outer)
    inner, outer = (np.array([pair[side] for pair in best], dtype=np.int64) for side in (0, 1))
    share = np.array([pair[2] for pair in best])
    values = _value(sums, f, inner, outer, share)
    S, R, _, _, _ = sums.parts(inner, outer)
    t = 1 / (S + share * R)
    blurred = 4 * (n + 8) * ULP / np.maximum(sums.sets.h[outer] - sums.sets.h[inner], 1e-300)
    beside = [
        np.abs(_value(sums, f, inner, outer, np.clip(share + s * blurred, 0, 1)) - values) for s in (-1, 1)
    ]
    sizes = S * np.abs(f(t)) + R * np.abs(f(share * t)) + t * sums.size[outer] + sums.size[-1]
    error = S * uncertainty(f, t) + R * uncertainty(f, share * t) + (n + 8) * ULP * sizes
    most = int(np.argmax(values + error))
    blur = float(np.maximum(*beside)[most])
    return Bound(
        float((values + error)[most]),
        how or f"enumeration of {count} extremal lift vectors of the set",
        blur + 2 * float(error[most]),
    )


def _by_vectors(priors: PriorSet, c: float, utility: Utility, y: Floats) -> Bound:
    """The same for any utility, at the lift vectors themselves."""
    pi, n = priors.nominal.probabilities, priors.size
    best, error, count = -math.inf, 0.0, 0
    for lifts in listed_vectors(pi, c, priors.bounds):
        columns = lifts.T
        mu = utility.columns(priors.nominal, columns)
        values = mu - y @ (columns - 1)
        k = int(np.argmax(values))
        count += len(lifts)
        if values[k] > best:
            best, at = float(values[k]), columns[:, [k]]
            off = float(moved(priors.nominal, utility, at, mu[[k]])[0])
            error = off + (n + 8) * ULP * float(np.abs(y) @ np.abs(at - 1)[:, 0])
    return Bound(best + error, f"enumeration of {count} extremal lift vectors of the set", 2 * error)
