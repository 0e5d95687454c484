"""A bound for a set of priors that needs no list of lift vectors: W = diag(d) - low - high - aa' and prices y.

Lifts take the levels 0, b and t. Squares are exact at these levels, and products of two lifts are at least
l (lambda_i + lambda_j) - l^2 for the least level l (0, or b where no lift is 0) and for the largest, t; `low` and
`high` weigh the two. |a'lambda|^2, a with RANK columns, is at least 2 v.a'lambda - |v|^2, with a v of its own for each
cell of levels. Over all priors at small levels that is what counts: lifts are about 1 + epsilon (1_S - pi(S)),
W = 1 - 11'/N measures how they spread around their mean, which changes with pi(S), and products of two lifts know
nothing of sums.

What is left is linear in the sets S and R, and a knapsack's bound in two levels covers all vectors (`bound`). It
may put a part of a symbol at a level, so cells are split by symbols, too: they form a tree, whose leaves cover all
vectors. The best weights maximise a concave function, up to a; what makes it hard is the largest value over all
vectors, which is taken over the vectors known so far and the relaxed ones of the leaves, smoothed. The tree grows from
step to step: leaves of the largest bounds are split, and what stood for these is forgotten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...._common.types import Floats, Ints
from ...._native.library import library, reads, record, writes
from ....model.purpose import QuadraticProof
from ... import tuning
from ...effort import Effort
from ...reductions import ULP, QuadraticProblem, efficiency_bound
from ...set_levels import SetLevels
from ..exchange.relaxation import fixed_point, gradient

# e^epsilon, above which few symbols have the largest lift, and the mean of lifts does not say enough.
FEW_FIT = math.e
RANK = 8  # columns of a
COLUMNS = 6 + RANK  # of cells
KEPT = 200  # relaxed vectors that a bound returns


@dataclass(eq=False)
class LevelBound:
    """The weights of the best bound so far, to be improved step by step."""

    problem: QuadraticProblem
    true: QuadraticProblem
    cone: SetLevels
    upper: float = math.inf
    proof: QuadraticProof | None = None
    settled: bool = False  # whether another step is not worth it
    _relaxed: Relaxed | None = None  # of leaves, that no known vector stands for
    _leaves: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # that they stand for
    _cells: Floats = field(default_factory=lambda: np.zeros((0, COLUMNS)))
    _z: Floats = field(default_factory=lambda: np.zeros(0))
    _unit: Floats = field(default_factory=lambda: np.zeros(0))
    _scale: float = 1.0
    _idle: int = 0  # steps since one that was worth it

    def improve(self, X: Floats, q: Floats, goal: float, effort: Effort) -> None:
        """One step: the best weights for the vectors known, then a bound over all, which need not be below the goal."""
        true = Relaxed.of(X[q > 0])
        first = self._relaxed is None
        if self._relaxed is None:
            self._begin(X, q)
            self._relaxed = true.chosen(np.arange(0))
        known = true.joined(self._relaxed)
        rounds = (
            tuning.FIRST_ROUNDS * tuning.FIRST_SIZE // max(tuning.FIRST_SIZE, self.problem.size)
            if first
            else tuning.LEVEL_ROUNDS
        )
        for cooling in tuning.COOLING if first else tuning.COOLING[1:]:
            self._z, weights = self._optimised(known, cooling * self._scale, rounds, effort)
        attained = float(_values(weights, true).max()) + weights.base
        target = attained / efficiency_bound(self.true, weights.W, attained) * goal - weights.base
        room = min(len(self._cells) + tuning.CELLS_ADDED, tuning.MOST_CELLS)
        cells, relaxed, leaves = bound(
            self.cone,
            weights,
            target,
            tuning.PRECISION * attained,
            room,
            self._cells,
            max(effort.seconds, 0.0),
        )
        upper = efficiency_bound(self.true, weights.W, most_by_cells(cells, weights, self.cone.top))
        if gradient(self.problem, weights.W) is None:  # W is not definite: proves nothing
            upper = math.inf
        self._idle = 0 if upper < self.upper * (1 - tuning.PRECISION / 3) else self._idle + 1
        self.settled = self._idle >= tuning.LEVEL_PATIENCE
        if upper < self.upper:
            self.upper = upper
            prices = weights.y - 2 * weights.W.sum(axis=1)
            self.proof = QuadraticProof(
                weights.W, prices, over_set=True, low=weights.low, away=weights.a, cells=cells
            )
        # What stood for a cell that was split since does not stand for its halves.
        within = np.flatnonzero(cells[self._leaves, 0] < 0)
        self._cells, self._leaves = cells, np.append(self._leaves[within], leaves)
        self._relaxed = self._relaxed.chosen(within).joined(relaxed)
        if len(self._leaves) > tuning.MOST_KNOWN:
            best = np.argsort(-_values(weights, self._relaxed), kind="stable")[: tuning.MOST_KNOWN]
            self._relaxed, self._leaves = self._relaxed.chosen(best), self._leaves[best]

    def _begin(self, X: Floats, q: Floats) -> None:
        """Start from the d that is best if variances are limited to what the mixture has; scales follow from it."""
        problem, lifts = self.problem, 1 + X
        a = np.maximum(q @ X**2, 1e-300)
        d, root = fixed_point(problem, a)
        d = d * (root / float(a @ d)) ** 2
        weighed = np.sqrt(np.maximum(q, 0.0))
        y = np.linalg.lstsq(lifts * weighed[:, None], lifts**2 @ d * weighed, rcond=None)[0]
        self._scale = float(a @ d)
        own = np.maximum(d, 1e-3 * float(d.max()))
        pairs = np.sqrt(np.multiply.outer(own, own))[np.triu_indices(len(d), 1)]
        self._unit = np.concatenate([own, own, np.repeat(np.sqrt(own), RANK), pairs, pairs])
        others = tuning.OTHERS / math.sqrt(len(d)) if self.cone.c > FEW_FIT else 0.0
        a = others * np.sqrt(own)[:, None] * np.random.default_rng(0).normal(size=(len(d), RANK))
        a[:, 0] = tuning.MEAN_WEIGHT * d / math.sqrt(float(d.sum()))
        self._z = np.concatenate([d, y, a.ravel(), 0 * pairs, 0 * pairs]) / self._unit

    def _optimised(self, known: Relaxed, blur: float, rounds: int, effort: Effort) -> tuple[Floats, Weights]:
        """The best weights with the largest value over the known vectors smoothed by so much."""
        from scipy.optimize import Bounds, minimize

        n, problem, unit = self.problem.size, self.problem, self._unit
        upper = np.triu_indices(n, 1)

        def objective(z: Floats) -> tuple[float, Floats]:
            weights = _weights(problem.pi, z * unit)
            found = gradient(problem, weights.W)
            if found is None:
                return 10 * self._scale, np.zeros_like(z)  # finite, or steps shrink to nothing
            values = _values(weights, known)
            most = float(values.max())
            share = np.exp((values - most) / blur)
            total = float(share.sum())
            share /= total
            C = found[1]
            pair = C[upper] + 1
            along = known.lifts @ weights.a
            by_a = 2 * (C @ weights.a - (share[:, None] * known.lifts).T @ along)
            by_a = by_a - problem.pi @ by_a  # as a is less its part along the prior
            by_low, by_high = (
                pair + float(share @ all_) - (mean[upper[0]] + mean[upper[1]])
                for all_, mean in (
                    (known.low_all, share @ known.low_each),
                    (known.high_all, share @ known.high_each),
                )
            )
            slope = np.concatenate(
                [
                    share @ known.squares - 1 - np.diagonal(C),
                    1 - share @ known.lifts,
                    by_a.ravel(),
                    by_low,
                    by_high,
                ]
            )
            return most + blur * math.log(total) + weights.base - 2 * found[0], slope * unit

        least = np.concatenate([np.full(n, 1e-9), np.full((1 + RANK) * n, -np.inf), np.zeros(n * (n - 1))])

        def look(xk: Floats) -> None:
            if effort.pause():
                raise StopIteration

        found = minimize(
            objective,
            self._z,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(least, np.full(len(unit), np.inf)),
            callback=look,
            options={"maxiter": rounds, "maxfun": 3 * rounds, "maxcor": 30, "ftol": 1e-10},
        )
        return found.x, _weights(problem.pi, found.x * unit)


def most_by_cells(cells: Floats, weights: Weights, top: float) -> float:
    """No admissible mechanism has a larger tr(WC) than the largest bound of leaves says, and what rounding may hide."""
    largest = float(cells[cells[:, 0] < 0, 5].max())
    terms = float(np.abs(weights.W).sum()) * top**2 + float(np.abs(weights.y).sum()) * top
    return largest + weights.base + 16 * len(weights.d) * ULP * (terms + abs(largest))


def _weights(pi: Floats, v: Floats) -> Weights:
    """Weights from one vector of numbers; a without a part along the prior, which no bound depends on."""
    n = len(pi)
    pairs = n * (n - 1) // 2

    def matrix(values: Floats) -> Floats:
        M = np.zeros((n, n))
        M[np.triu_indices(n, 1)] = values / 2
        return M + M.T

    a, low, high = np.split(v[2 * n :], [RANK * n, RANK * n + pairs])
    a = a.reshape(n, RANK)
    return Weights(v[:n], matrix(low), matrix(high), a - np.multiply.outer(pi, a.sum(axis=0)), v[n : 2 * n])


def _values(weights: Weights, known: Relaxed) -> Floats:
    """What the bound says of vectors: an upper bound of lambda'W lambda - y.lambda for each."""
    low, high = weights.low.sum(axis=1), weights.high.sum(axis=1)
    values = known.squares @ weights.d - known.lifts @ weights.y
    values -= np.sum((known.lifts @ weights.a) ** 2, axis=1)
    values += known.low_all * low.sum() - 2 * known.low_each @ low
    values += known.high_all * high.sum() - 2 * known.high_each @ high
    return values


@dataclass(frozen=True, eq=False)
class Weights:
    """What a bound weighs lifts with: d for squares, -low and -high for products of two, -aa' for sums, prices y."""

    d: Floats
    low: Floats
    high: Floats
    a: Floats
    y: Floats

    @property
    def W(self) -> Floats:
        """The quadratic form."""
        return np.diag(self.d) - self.low - self.high - self.a @ self.a.T

    @property
    def base(self) -> float:
        """What is added to the largest lambda'W lambda - y.lambda for a bound on tr(WC)."""
        return float(self.y.sum() - self.W.sum())


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Relaxed vectors: lifts and squares, and what a bound weighs with low and high.

    A product of two lifts is at least l (l_i + l_j) - l^2 for a level l. So those of all pairs, weighed by high, are at
    least 2 sum_i high_i high_each_i - high_all sum_i high_i, with sums high_i of the weights of a symbol, l lambda_i as
    `high_each` and l^2 as `high_all`, for the largest level; the same with low and a lower one.
    """

    lifts: Floats
    squares: Floats
    low_each: Floats
    high_each: Floats
    low_all: Floats
    high_all: Floats

    @classmethod
    def of(cls, X: Floats) -> Relaxed:
        """Vectors less 1 as they are."""
        lifts, n = 1 + X, X.shape[1]
        t = lifts.max(axis=1, keepdims=True)
        none, top = lifts <= 1e-12, lifts >= t * (1 - 1e-9)
        b = np.where(none | top, 0.0, lifts).max(axis=1, keepdims=True)
        # b t - b^2 is too much for a product of 0 and t: one of the two symbols pays it.
        paid = b * (t - b) * np.where((none.sum(axis=1) <= top.sum(axis=1))[:, None], none, top)
        worth = 2 * (b * lifts - paid).sum(axis=1, keepdims=True) > n * b**2
        b = np.where(worth, b, 0.0)
        low_each = b * lifts - np.where(worth, paid, 0.0)
        return cls(lifts, lifts**2, low_each, t * lifts, b[:, 0] ** 2, t[:, 0] ** 2)

    def joined(self, other: Relaxed) -> Relaxed:
        """Both."""
        return Relaxed(*(np.concatenate(both) for both in zip(self._parts, other._parts, strict=True)))

    def chosen(self, which: Ints) -> Relaxed:
        """These of them."""
        return Relaxed(*(part[which] for part in self._parts))

    @property
    def _parts(self) -> tuple[Floats, ...]:
        return (self.lifts, self.squares, self.low_each, self.high_each, self.low_all, self.high_all)


def bound(
    cone: SetLevels,
    weights: Weights,
    target: float,
    slack: float,
    most: int,
    before: Floats,
    seconds: float = math.inf,
) -> tuple[Floats, Relaxed, Ints]:
    """A tree of cells (split, first, rho, theta, mode, bound, v) that covers all vectors, and relaxed vectors.

    No vector of a cell has a larger lambda'W lambda - y.lambda than its bound. Ends when no leaf is above `target`,
    when there are `most` cells, or after so many seconds. The relaxed vectors are those of the leaves of largest
    bounds, whose numbers come third. `QuadraticProof` says what the numbers of a cell mean, `slack` how precise they
    need to be. The tree grows from one that was made `before`, perhaps for other weights.
    """
    n = cone.size
    kA, kB, vA, vB, whole = branches(cone)
    k = len(kA)
    if most < k:
        raise ValueError(f"a tree of {k} branches needs as many cells, got {most}")
    cells, found = np.zeros((most, COLUMNS)), np.zeros((KEPT, 4 * n + 2))
    leaves = np.zeros(KEPT + 1, dtype=np.int64)
    cells[: len(before)] = before
    scale = float(np.abs(weights.d).max() + np.abs(weights.y / cone.pi).max())
    low, high = weights.low.sum(axis=1), weights.high.sum(axis=1)
    program = record(
        "program",
        n=n,
        pi=reads(cone.pi, np.float64, n),
        d=reads(weights.d, np.float64, n),
        y=reads(weights.y, np.float64, n),
        low=reads(low, np.float64, n),
        high=reads(high, np.float64, n),
        a=reads(weights.a, np.float64, n, RANK),
        kA=reads(kA, np.float64, k),
        kB=reads(kB, np.float64, k),
        vA=reads(vA, np.float64, k, n),
        vB=reads(vB, np.float64, k, n),
        all=reads(whole, np.float64, k),
        all_low=float(low.sum()),
        all_high=float(high.sum()),
        need=1 / cone.c,
        slack=slack,
        scale=scale,
    )
    growth = record(
        "growth",
        branches=k,
        top=cone.top,
        target=target,
        seconds=min(seconds, 1e9),
        most=most,
        count=len(before),
        kept=KEPT,
        cells=writes(cells, np.float64, most, COLUMNS),
        found=writes(found, np.float64, KEPT, 4 * n + 2),
        leaves=writes(leaves, np.int64, KEPT + 1),
    )
    count = int(library().extremal_bound_levels(program, growth))
    if count < 0:
        raise MemoryError
    kept = int(np.argmax(leaves < 0))
    lifts, squares, low, high, both = np.split(found[:kept], [n, 2 * n, 3 * n, 4 * n], axis=1)
    return cells[:count].copy(), Relaxed(lifts, squares, low, high, both[:, 0], both[:, 1]), leaves[:kept]


def branches(cone: SetLevels) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """What h of S and R, and h of S, may be: constants and slopes of both, and whether R is the rest."""
    n, zero = cone.size, np.zeros(cone.size)
    each = [(-cone.moved, cone.center)] if cone.moved < 1 else []
    each += [(0.0, cone.lower)] if cone.lower.any() else []
    each += [(1 - math.fsum(cone.upper), cone.upper)] if (cone.upper < 1).any() else []
    inner = each if cone.lower.any() else [*each, (0.0, zero)]
    pairs = [(a, b, 0.0) for a in each for b in inner] + [((1.0, zero), b, 1.0) for b in inner]
    return (
        np.array([a[0] for a, _, _ in pairs]),
        np.array([b[0] for _, b, _ in pairs]),
        np.array([a[1] for a, _, _ in pairs]).reshape(-1, n),
        np.array([b[1] for _, b, _ in pairs]).reshape(-1, n),
        np.array([whole for _, _, whole in pairs]),
    )
