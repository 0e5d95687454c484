"""The list of all lift vectors, and the best bound over it.

For weights W and prices y let m be the largest x'Wx - y.x of all vectors. No mechanism has a larger tr(WC), as x has
mean 0, and so direct * m / s^2 is a bound, see `reductions`. Here s is concave and m convex in (W, y), so a pair
between two others is at least as good as the worse of them, and often better than both.

Up to LISTED symbols they are few enough to be mixed all at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._common.types import Bools, Floats
from ..._native.library import Record, library, reads, record, writes
from ...model.purpose import QuadraticProof
from ..masters.quadratic import QuadraticSearch
from ..reductions import QuadraticProblem, efficiency_bound, hidden_by_rounding
from ..tuning import SECTIONS

ALL = 10**9  # more vectors than can be visited
SAME = 1e-12  # of the loss: differences of rounding
GOLDEN = (math.sqrt(5) - 1) / 2
QUEUED = np.dtype([("bound", np.float64), ("place", np.int64)])  # in native.h


@dataclass(frozen=True, eq=False)
class PricedBound:
    """Weights and prices, and the bound that follows from them."""

    W: Floats
    y: Floats
    upper: float


@dataclass(eq=False)
class Listed:
    """All lift vectors less 1 of a problem, visited anew each time, and the best proof so far.

    Of vectors that differ by exchanges of symbols that are `alike` one is visited; proofs do not tell these apart.
    """

    problem: QuadraticProblem
    count: int
    alike: Bools  # each symbol and the next one
    every: int  # exchanges of alike symbols included; 0 if these are too many to be visited
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
        return cls(problem, found.count, same, 0 if every is None else every.count)

    def top(self, W: Floats, y: Floats, keep: int) -> Floats:
        """So many vectors of the largest x'Wx - y.x of `every` one."""
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
            return PricedBound(W, y, upper)
        unit = self.problem.direct / (upper * most)
        return PricedBound(unit * W, unit * y, upper)

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


class ListedOracle:
    """All lift vectors less 1, at once, and the bound over them.

    `true` has the loss to be proven; `simple` are vectors and weights that balance them.
    """

    name = "all lift vectors"

    def __init__(self, true: QuadraticProblem, simple: tuple[Floats, Floats]) -> None:
        listed = Listed.of(true, ALL)
        assert listed is not None
        self._listed, self._simple = listed, simple
        d = 1 / true.most_variance
        # With these prices all limits of x are worth the same.
        self._best = listed.join(np.diag(d), d * (true.upper + true.lower))

    @property
    def upper(self) -> float:
        """What is proven so far."""
        return self._best.upper

    @property
    def proof(self) -> QuadraticProof:
        """What proves it."""
        return QuadraticProof(self._best.W, self._best.y)

    def first(self) -> tuple[Floats, Floats]:
        """All vectors, and weights that balance some."""
        X, q = self._simple
        every = self._listed.top(self._best.W, self._best.y, self._listed.every)
        return np.concatenate([X, every]), np.append(q, np.zeros(len(every)))

    def bound(self, search: QuadraticSearch) -> None:
        """By what prices the mixture."""
        assert search.mixture is not None
        self._best = self._listed.join(*search.mixture.whole)
        search.offer(self.upper, self.proof)

    def columns(self, search: QuadraticSearch) -> bool:
        """There are no others."""
        return False
