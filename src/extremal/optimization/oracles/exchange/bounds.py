"""Upper bounds of the efficiency, with an allowance for every rounding error in them.

For any W and any number m >= tr(WC) of every mechanism, tr(G C^-1) >= s^2 / m, where s is the sum of the singular
values of L'M', H = B'WB = LL', G = M'M. So the efficiency is at most direct * m / s^2.

A bound that needs no lift vectors: what the variances and covariances of lifts can be at most.

The x of a symbol lies in [lower, upper] and has mean 0, so its variance is at most a = -lower * upper, and products
of two such ranges limit each covariance: C_ij >= -min(lower_i lower_j, upper_i upper_j). With d >= 0 for the variances
and S >= 0 for the covariances, W = diag(d) - S, every mechanism has tr(WC) <= a.d + sum(S * limit), and so

    tr(G C^-1) >= 2 tr (G^1/2 H G^1/2)^1/2 - tr(HC),   H = B'WB.

The best W maximises a concave function of (d, S) whose gradient is the C of the relaxed problem.

A bound over the list of all lift vectors: from several weights, the best mixture of them.

For weights W and prices y let m be the largest x'Wx - y.x of all vectors, and s the sum of roots of `bounds`. No
efficiency exceeds direct * m / s^2. Here s is concave and m convex in (W, y), so a pair between two others is at least
as good as the worse of them, and often better than both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...._common.types import Bools, Floats
from ...._native.library import Record, library, reads, record, writes
from ....model.levels import is_uniform
from ...effort import UNLIMITED, Effort
from ...reductions import QuadraticProblem
from ...tuning import FIXED_POINT, MOST_RELAXED, RELAXED, SECTIONS

ULP = 2.0**-52
ALL = 10**9  # more vectors than can be visited
SAME = 1e-12  # of the loss: differences of rounding
GOLDEN = (math.sqrt(5) - 1) / 2
QUEUED = np.dtype([("bound", np.float64), ("place", np.int64)])  # in native.h


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The best W found, over all symbols, and the covariance, over all but the first, of the relaxed problem."""

    W: Floats
    covariance: Floats

    @property
    def d(self) -> Floats:
        """The multipliers of the variances."""
        return np.diagonal(self.W)

    def prices(self, problem: QuadraticProblem) -> Floats:
        """The y with which x'Wx - y.x is largest where every limit that W counts on is met."""
        low, high = problem.lower, problem.upper
        by_low = np.multiply.outer(low, low) <= np.multiply.outer(high, high)
        pairs = np.maximum(-self.W, 0.0)
        np.fill_diagonal(pairs, 0.0)
        slopes = (pairs * by_low) @ -low - (pairs * ~by_low) @ high
        return self.d * (high + low) + 2 * slopes


def limits(problem: QuadraticProblem) -> Floats:
    """What a covariance of two symbols' lifts can be at least, times -1."""
    low, high = problem.lower, problem.upper
    return np.minimum(np.multiply.outer(low, low), np.multiply.outer(high, high))


def relax(problem: QuadraticProblem, rounds: int, effort: Effort = UNLIMITED) -> Relaxation:
    """The W of a good bound: d by its fixed point, then d and S together by so many rounds of a quasi-Newton method.

    With none of these, where symbols are many, a fixed point up to RELAXED is enough.
    """
    a = problem.most_variance
    d, root = fixed_point(problem, a, MOST_RELAXED if rounds else RELAXED, effort)
    d = d * (root / float(a @ d)) ** 2  # the scale of the best bound: that of the variances of real lifts
    W = np.diag(d)
    relaxed = gradient(problem, W)
    assert relaxed is not None
    if rounds > 0 and problem.size > 2 and not effort.pause():
        W = _with_pairs(problem, d, rounds, effort)
        better = gradient(problem, W)
        relaxed = relaxed if better is None else better
    return Relaxation(W, relaxed[1][1:, 1:])


def fixed_point(
    problem: QuadraticProblem, a: Floats, close: float = MOST_RELAXED, effort: Effort = UNLIMITED
) -> tuple[Floats, float]:
    """A good d for variances that are at most a: d <- d C_ii / a; and tr (G^1/2 H G^1/2)^1/2 for H = B' diag(d) B."""
    d, before = 1 / a, 0.0
    relaxed = gradient(problem, np.diag(d))
    assert relaxed is not None
    for _ in range(FIXED_POINT):
        reached = relaxed[0] ** 2 / float(a @ d)  # the bound with d in its best scale
        if reached - before <= close * reached or effort.pause():
            break
        following = gradient(problem, np.diag(d * np.diagonal(relaxed[1]) / a))
        if following is None:
            break
        d, before, relaxed = d * np.diagonal(relaxed[1]) / a, reached, following
    return d, relaxed[0]


def gradient(problem: QuadraticProblem, W: Floats) -> tuple[float, Floats] | None:
    """tr (G^1/2 H G^1/2)^1/2 and its gradient by W, twice the former's: the C with C H C = G, over all symbols."""
    import scipy.linalg as sl

    try:
        L = np.linalg.cholesky(problem.reduced(W))
    except np.linalg.LinAlgError:
        return None
    values, U = np.linalg.eigh(L.T @ problem.loss @ L)
    roots = np.sqrt(np.maximum(values, 0.0))
    T = sl.solve_triangular(L, U, trans="T", lower=True)
    inner = (T * roots) @ T.T
    share = problem.pi[1:] / problem.pi[0]
    C = np.empty_like(W)
    C[1:, 1:] = inner
    C[0, 1:] = C[1:, 0] = -share @ inner
    C[0, 0] = -share @ C[0, 1:]
    return float(roots.sum()), C


def _with_pairs(problem: QuadraticProblem, d: Floats, rounds: int, effort: Effort) -> Floats:
    """W = diag(d) - S of the largest bound near the best diag(d)."""
    from scipy.optimize import minimize

    n, a, limit = problem.size, problem.most_variance, limits(problem)
    upper = np.triu_indices(n, 1)
    # Multipliers in units in which they are of the order of 1.
    floor = 1e-3 * d.max() * a.max() / a
    own = np.maximum(d, floor)
    unit = np.concatenate([own, np.sqrt(np.multiply.outer(own, own))[upper]])
    cost = np.concatenate([a, limit[upper]])

    def matrix(z: Floats) -> Floats:
        v = z * unit
        W = np.diag(v[:n])
        W[upper] = -v[n:] / 2
        return W + np.triu(W, 1).T

    def objective(z: Floats) -> tuple[float, Floats]:
        found = gradient(problem, matrix(z))
        if found is None:
            return 1e300, np.zeros_like(z)
        slope = np.concatenate([np.diagonal(found[1]) - a, -found[1][upper] - limit[upper]])
        return (cost * unit) @ z - 2 * found[0], -slope * unit

    def look(xk: Floats) -> None:
        if effort.pause():
            raise StopIteration

    start = np.concatenate([d / own, np.zeros(len(cost) - n)])
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        callback=look,
        options={"maxiter": rounds, "maxcor": 20, "ftol": 1e-9},
    )
    return matrix(found.x)


def efficiency_bound(problem: QuadraticProblem, W: Floats, most: float) -> float:
    """The largest efficiency possible if no mechanism has tr(WC) above `most`."""
    H = problem.reduced(W)
    values, vectors = np.linalg.eigh(H)
    L = vectors * np.sqrt(np.maximum(values, 0.0))
    size = problem.size
    share = np.append(1.0, problem.pi[1:] / problem.pi[0])
    rounding = (
        8 * size * ULP * (float(np.sum(L * L)) + float(share @ np.abs(W) @ share) + float(np.abs(W).sum()))
    )
    # tr(LL'C) may exceed tr(HC) by the error of the factors times tr C.
    off = float(np.linalg.norm(L @ L.T - H)) + rounding
    most = most * (1 + 8 * ULP) + off * float(problem.most_variance[1:].sum())
    product = L.T @ problem.factor.T
    sum_of_roots = float(np.linalg.svd(product, compute_uv=False).sum())
    sum_of_roots -= 8 * size * ULP * float(np.linalg.norm(L)) * float(np.linalg.norm(problem.factor))
    if not (sum_of_roots > 0 and math.isfinite(most)):
        return 1.0
    return min(1.0, problem.direct * (1 + 8 * size * ULP) * most / sum_of_roots**2)


def most_by_entries(problem: QuadraticProblem, W: Floats) -> float:
    """No mechanism has a larger tr(WC): every variance and covariance at its limit. W needs a diagonal >= 0."""
    low, high = problem.lower, problem.upper
    d = np.diagonal(W)
    above = np.minimum(np.multiply.outer(high, -low), np.multiply.outer(-low, high))
    pairs = np.where(W > 0, W * above, -W * limits(problem))
    np.fill_diagonal(pairs, np.maximum(d, 0.0) * problem.most_variance)
    return float(pairs.sum()) * (1 + 4 * problem.size * ULP) - max(float(d.min()), 0.0) * _partial(problem)


def _partial(problem: QuadraticProblem) -> float:
    """What the partial symbol, the same in every vertex, keeps the sum of variances from if the prior is uniform.

    It is worth (excess - x)(x - low) less than the chord through the limits of x says: nothing where it is at its
    lower limit itself, as all but one symbol are full at small levels.
    """
    n, excess = problem.size, problem.excess
    if not is_uniform(problem.pi):
        return 0.0
    full = math.floor(n / (1 + excess) * (1 + n * ULP))
    x = n - 1 - full * (1 + excess)
    low = float(problem.lower[0])
    return max(0.0, (excess - x) * (x - low) - 1e-13 * n * (1 + excess) ** 2)


def most_by_vertices(
    problem: QuadraticProblem, W: Floats, y: Floats, vertices: Floats, blur: float = 8e-15
) -> float:
    """No mechanism has a larger tr(WC) than the largest x'Wx - y.x of all vertices, as x has mean 0.

    A vertex may be off by `blur`, what rounding does to a mass.
    """
    reached = np.einsum("ki,ki->k", vertices @ W - y, vertices)
    widest = np.abs(vertices).max(axis=0)
    return float(reached.max()) + hidden_by_rounding(problem, W, y, widest, blur)


def hidden_by_rounding(
    problem: QuadraticProblem, W: Floats, y: Floats, widest: Floats, blur: float = 8e-15
) -> float:
    """How much larger x'Wx - y.x of a vertex, with no |x| above `widest`, may be than it was computed to be."""
    widest = np.maximum(widest, 1e-300)
    slope = 2 * np.abs(W) @ widest + np.abs(y)
    return 8 * problem.size * ULP * float(slope @ widest) + blur * float(np.max(slope / problem.pi))


@dataclass(frozen=True, eq=False)
class PricedBound:
    """Weights and prices, what x'Wx - y.x of no vector exceeds, and the bound that follows."""

    W: Floats
    y: Floats
    most: float
    upper: float


@dataclass(eq=False)
class Listed:
    """All lift vectors less 1 of a problem, visited anew each time, and the best proof so far.

    Of vectors that differ by exchanges of symbols that are `alike` one is visited; proofs do not tell these apart.
    """

    problem: QuadraticProblem
    count: int
    alike: Bools  # each symbol and the next one
    few: bool  # whether all vectors can be visited, exchanges of alike symbols included
    best: PricedBound | None = None

    @classmethod
    def of(cls, problem: QuadraticProblem, most: int) -> Listed | None:
        """None if there are more vectors than `most`."""
        n, same = problem.size, alike(problem)
        W, y = np.zeros((n, n)), np.zeros(n)
        found = best_vertices(problem.pi, problem.excess, W, y, 0, most, same)
        if found is None:
            return None
        every = best_vertices(problem.pi, problem.excess, W, y, 0, most) if same.any() else found
        return cls(problem, found.count, same, every is not None)

    def top(self, W: Floats, y: Floats, keep: int) -> Floats:
        """So many vectors of the largest x'Wx - y.x; there must be `few` in all."""
        found = best_vertices(self.problem.pi, self.problem.excess, W, y, keep, ALL)
        assert found is not None
        return found.rows

    def join(self, W: Floats, y: Floats) -> PricedBound:
        """The best proof from these weights and prices and those before."""
        new = self._proof(*self.averaged(W, y))
        self.best = new if self.best is None else self._between(self.best, new)
        return self.best

    def averaged(self, W: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Means over symbols that are alike.

        They prove no less, as m is convex and s concave, and mostly much more: what chance there was in them is gone.
        """
        if not self.alike.any():
            return W, y
        groups = np.cumsum(np.append(False, ~self.alike[:-1]))
        member = (groups == np.arange(groups[-1] + 1)[:, None]).astype(np.float64)
        size = member.sum(axis=1)
        own = member @ np.diagonal(W)
        means = (member @ W @ member.T - np.diag(own)) / np.maximum(
            np.multiply.outer(size, size) - np.diag(size), 1
        )
        even = ((means + means.T) / 2)[np.ix_(groups, groups)]
        np.fill_diagonal(even, (own / size)[groups])
        return even, (member @ y / size)[groups]

    def _proof(self, W: Floats, y: Floats) -> PricedBound:
        """What these prove, in the units in which s = m: where s^2 / m and 2 s - m are the same."""
        widest = np.maximum(self.problem.upper, -self.problem.lower)
        found = best_vertices(self.problem.pi, self.problem.excess, W, y, 0, ALL, self.alike)
        assert found is not None
        most = found.best + 2 * hidden_by_rounding(self.problem, W, y, widest)
        upper = efficiency_bound(self.problem, W, most)
        if not 0 < most < math.inf:
            return PricedBound(W, y, most, upper)
        unit = self.problem.direct / (upper * most)
        return PricedBound(unit * W, unit * y, unit * most, upper)

    def _between(self, a: PricedBound, b: PricedBound) -> PricedBound:
        """The best proof found on the way from one to the other, by golden sections."""
        found = a if a.upper <= b.upper else b

        def at(share: float) -> PricedBound:
            nonlocal found
            made = self._proof((1 - share) * a.W + share * b.W, (1 - share) * a.y + share * b.y)
            found = made if made.upper < found.upper else found
            return made

        low, high = 0.0, 1.0
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left, at_right = at(left), at(right)
        for _ in range(SECTIONS - 2):
            if at_left.upper <= at_right.upper:
                high, right, at_right = right, left, at_left
                left = high - GOLDEN * (high - low)
                at_left = at(left)
            else:
                low, left, at_left = left, right, at_right
                right = low + GOLDEN * (high - low)
                at_right = at(right)
        return found


def alike(problem: QuadraticProblem) -> Bools:
    """Of each symbol whether neither the prior nor the loss tell it from the next one; never of the first."""
    G, n = problem.loss, problem.size
    same = np.zeros(n, dtype=np.bool_)
    least = SAME * float(np.abs(G).max())
    for i in range(n - 2):  # of G, which is without the first symbol
        if problem.pi[i + 1] == problem.pi[i + 2]:
            others = np.delete(np.arange(n - 1), (i, i + 1))
            apart = max(
                abs(G[i, i] - G[i + 1, i + 1]), np.abs(G[i, others] - G[i + 1, others]).max(initial=0.0)
            )
            same[i + 1] = apart <= least
    return same


def form(pi: Floats, excess: float, W: Floats, y: Floats) -> Record:
    """x'Wx - y.x over {-1 <= x <= excess, pi . x = 0}; W must be symmetric."""
    n = len(pi)
    if n == 0:
        raise ValueError("there must be symbols")
    return record(
        "form",
        n=n,
        pi=reads(pi, np.float64, n),
        excess=excess,
        W=reads(W, np.float64, n, n),
        y=reads(y, np.float64, n),
    )


@dataclass(frozen=True, eq=False)
class Vertices:
    """How many vertices there are, the largest x'Wx - y.x of them, and those of the largest values, best first."""

    count: int
    best: float
    rows: Floats


def best_vertices(
    pi: Floats, excess: float, W: Floats, y: Floats, keep: int, most: int, alike: Bools | None = None
) -> Vertices | None:
    """The `keep` best vertices of {-1 <= x <= excess, pi . x = 0}, or None if there are more than `most` in all.

    None too if that takes going through more sets than that. `pi` must be in decreasing order, W symmetric.
    `alike` says of each symbol that neither pi, W nor y tell it from the next one: then one of all vertices that differ
    by exchanges of such symbols counts.
    """
    n = len(pi)
    same = np.zeros(n, dtype=np.bool_) if alike is None else alike
    best, heap, X = np.empty(1), np.empty(keep, QUEUED), np.empty((keep, n))
    count = int(
        library().extremal_best_vertices(
            form(pi, excess, W, y),
            reads(same, np.bool_, n),
            most,
            keep,
            writes(best, np.float64, 1),
            writes(heap, QUEUED, keep),
            writes(X, np.float64, keep, n),
        )
    )
    if count < 0:
        raise MemoryError
    order = np.argsort(heap["bound"][:count], kind="stable")
    return Vertices(count, float(best[0]), X[heap["place"][order]]) if count <= most else None
