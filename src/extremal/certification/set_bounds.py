"""Upper bounds on the optimum over a set of priors from any dual vector y, for the independent check of a design.

As in `bounds`, U* <= max of mu(lam) - y.(lam - 1) over lift vectors lam, here those that are admissible for every prior
of the set: the extremal ones are t on a set S, b on a set R and 0 elsewhere, see `prior_sets`.

- Chords, which bound the maximum over all lift vectors of the nominal prior: it is one of the set.
- Up to 16 symbols all extremal vectors. For an f-information their values follow from sums over the two sets.
- Symbols that are all alike: the sizes of the two sets, at any number of symbols.

What rounding does is counted as in `bounds`: `error` is added to the bound. The share b / t is a quotient of
differences of sums, and what its rounding does to a value is the blur.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._common.types import Floats, Ints
from ..model.prior_set import PriorSet
from ..model.regions import bounded_exp, largest_lift
from ..model.utility import FInformation, Utility
from .bounds import Bound, moved
from .prior_sets import LISTED, Sets, all_sets, listed_vectors
from .separable import ULP, Separable, uncertainty

NOT_CHECKED = f"nothing: over a set of priors bounds are checked up to {LISTED} symbols"


def bound_over_set(
    priors: PriorSet, epsilon: float, utility: Utility, y: Floats, proves: Callable[[Bound], bool]
) -> Bound:
    """A bound on the utility of all mechanisms that keep epsilon for every prior of a set."""
    pi, c = priors.nominal.probabilities, bounded_exp(epsilon)
    if epsilon == 0:
        mu = utility.columns(priors.nominal, np.ones((len(pi), 1)))
        return Bound(float(mu[0]), "the only lift vector there is", ULP * len(pi))
    if isinstance(utility, FInformation):
        s = Separable.of(pi, utility.f, y, 0.0, largest_lift(pi, epsilon))
        chords = Bound(s.chord, "chords", s.blur + s.dull + 2 * s.error)
        if proves(chords):
            return chords
    y = y - math.fsum(y) * pi  # proves the same, and is small where mu is nearly linear
    if isinstance(utility, FInformation) and _alike(priors):
        return _by_sizes(priors, c, utility)
    if len(pi) > LISTED:
        return Bound(math.inf, NOT_CHECKED)
    if isinstance(utility, FInformation):
        members, sets = all_sets(_vectors(priors), priors.radius / 2)
        return _by_sums(len(pi), _Sums(sets, members @ pi, members @ y, members @ np.abs(y)), c, utility)
    return _by_vectors(priors, c, utility, y)


def _vectors(priors: PriorSet) -> list[Floats]:
    return [np.asarray(v, dtype=np.float64) for v in (priors.center, priors.lower, priors.upper)]


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
    sets = Sets(np.maximum(h, size / n - priors.radius / 2), lambda one, many: many >= one)
    return _by_sums(
        n,
        _Sums(sets, size / n, zero, zero),
        c,
        utility,
        f"sizes of two sets of {n} symbols that are all alike",
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sets of symbols with their masses, prices, and absolute prices."""

    sets: Sets
    mass: Floats
    price: Floats
    size: Floats

    def parts(self, inner: Ints, outer: Ints) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Masses of S, R and the rest, prices of S and R."""
        S, R = self.mass[inner], self.mass[outer] - self.mass[inner]
        rest = np.where(outer == len(self.mass) - 1, 0.0, np.maximum(self.mass[-1] - self.mass[outer], 0.0))
        return S, np.maximum(R, 0.0), rest, self.price[inner], self.price[outer] - self.price[inner]


def _value(sums: _Sums, f: Callable[[Floats], Floats], inner: Ints, outer: Ints, share: Floats) -> Floats:
    """mu - y.(lam - 1) of the vectors t on S, share t on R: t is 1 / (mass of S + share mass of R)."""
    S, R, rest, y_S, y_R = sums.parts(inner, outer)
    t = 1 / (S + share * R)
    b, zero = share * t, float(f(np.zeros(1))[0])
    return np.asarray(S * f(t) + R * f(b) + rest * zero - (t * y_S + b * y_R - sums.price[-1]))


def _by_sums(n: int, sums: _Sums, c: float, utility: FInformation, how: str = "") -> Bound:
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
    for lifts in listed_vectors(pi, c, _vectors(priors), priors.radius / 2):
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
