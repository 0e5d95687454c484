"""A bound over the list of all lift vectors: from several weights, the best mixture of them.

For weights W and prices y let m be the largest x'Wx - y.x of all vectors, and s the sum of roots of `bounds`. No
efficiency exceeds direct * m / s^2. Here s is concave and m convex in (W, y), so a pair between two others is at least
as good as the worse of them, and often better than both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._types import Floats, Ints
from .bounds import efficiency_bound, hidden_by_rounding
from .kernels import Vertices, best_vertices
from .problem import Problem

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
    """All lift vectors less 1 of a problem, visited anew each time, and the best proof so far."""

    problem: Problem
    count: int
    best: Proof | None = None

    @classmethod
    def of(cls, problem: Problem, most: int) -> Listed | None:
        """None if there are more vectors than `most`."""
        n = problem.size
        found = best_vertices(problem.pi, problem.excess, np.zeros((n, n)), np.zeros(n), 0, most)
        return None if found is None else cls(problem, found.count)

    def top(self, W: Floats, y: Floats, keep: int) -> Vertices:
        """So many vectors of the largest x'Wx - y.x."""
        found = best_vertices(self.problem.pi, self.problem.excess, W, y, keep, self.count)
        assert found is not None
        return found

    def join(self, W: Floats, y: Floats) -> Proof:
        """The best proof from these weights and prices and those before."""
        new = self._proof(W, y)
        self.best = new if self.best is None else self._between(self.best, new)
        groups = np.unique(self.problem.pi, return_inverse=True)[1]
        if groups.max() + 1 < self.problem.size:
            even = self._proof(*averaged(self.problem.pi, groups, W, y))
            self.best = self._between(self.best, even)
        return self.best

    def _proof(self, W: Floats, y: Floats) -> Proof:
        """What these prove, in the units in which s = m: where s^2 / m and 2 s - m are the same."""
        widest = np.maximum(self.problem.upper, -self.problem.lower)
        most = self.top(W, y, 0).best + 2 * hidden_by_rounding(self.problem, W, y, widest)
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


def averaged(pi: Floats, groups: Ints, W: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Means of weights and prices over symbols of the same mass, which are in one group.

    Where these are alike for the purpose, too, the means prove no less, as m is convex and s concave, and
    mostly much more: what chance there was in them is gone.
    """
    along = pi / np.linalg.norm(
        pi
    )  # that vectors are orthogonal to: what W and y have along it changes nothing
    W = W - np.multiply.outer(along, along @ W)
    W = W - np.multiply.outer(W @ along, along)
    member = (groups == np.arange(groups.max() + 1)[:, None]).astype(np.float64)
    size = member.sum(axis=1)
    own = member @ np.diagonal(W)
    pairs = member @ W @ member.T - np.diag(own)
    means = pairs / np.maximum(np.multiply.outer(size, size) - np.diag(size), 1.0)
    W = means[np.ix_(groups, groups)]
    np.fill_diagonal(W, (own / size)[groups])
    return (W + W.T) / 2, (member @ (y - along * (along @ y)) / size)[groups]
