"""A bound over the list of all lift vectors: from several weights, the best mixture of them.

For weights W and prices y let m be the largest x'Wx - y.x of all vectors, and s the sum of roots of `bounds`. No
efficiency exceeds direct * m / s^2. Here s is concave and m convex in (W, y), so a pair between two others is at least
as good as the worse of them, and often better than both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...._common.types import Bools, Floats
from ...centred import QuadraticProblem
from .bounds import efficiency_bound, hidden_by_rounding
from .kernels import best_vertices

ALL = 10**9  # more vectors than can be visited
SAME = 1e-12  # of the loss: differences of rounding
STEPS = 8  # of the search between two pairs
GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class Proof:
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
    best: Proof | None = None

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

    def join(self, W: Floats, y: Floats) -> Proof:
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

    def _proof(self, W: Floats, y: Floats) -> Proof:
        """What these prove, in the units in which s = m: where s^2 / m and 2 s - m are the same."""
        widest = np.maximum(self.problem.upper, -self.problem.lower)
        found = best_vertices(self.problem.pi, self.problem.excess, W, y, 0, ALL, self.alike)
        assert found is not None
        most = found.best + 2 * hidden_by_rounding(self.problem, W, y, widest)
        upper = efficiency_bound(self.problem, W, most)
        if not 0 < most < math.inf:
            return Proof(W, y, most, upper)
        unit = self.problem.direct / (upper * most)
        return Proof(unit * W, unit * y, unit * most, upper)

    def _between(self, a: Proof, b: Proof) -> Proof:
        """The best proof found on the way from one to the other, by golden sections."""
        found = a if a.upper <= b.upper else b

        def at(share: float) -> Proof:
            nonlocal found
            made = self._proof((1 - share) * a.W + share * b.W, (1 - share) * a.y + share * b.y)
            found = made if made.upper < found.upper else found
            return made

        low, high = 0.0, 1.0
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left, at_right = at(left), at(right)
        for _ in range(STEPS - 2):
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
