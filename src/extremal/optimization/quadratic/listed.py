"""A bound over the list of all lift vectors: from several weights, the best mixture of them.

For weights W and prices y let m be the largest x'Wx - y.x of all vectors, and s the sum of roots of `bounds`. No
efficiency exceeds direct * m / s^2. Here s is concave and m convex in (W, y), so a pair between two others is at least
as good as the worse of them, and often better than both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..._types import Floats
from .bounds import ULP, efficiency_bound, hidden_by_rounding
from .problem import Problem

STEPS = 8  # of the search between two pairs
GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class Proof:
    """Weights and prices, x'Wx - y.x of every vector, what rounding may hide of it, and the bound that follows."""

    W: Floats
    y: Floats
    values: Floats
    hidden: float
    upper: float

    @property
    def most(self) -> float:
        """No vector is worth more."""
        return float(self.values.max()) + self.hidden

    def scaled(self, factor: float) -> Proof:
        """The same proof in other units."""
        return Proof(
            self.W * factor, self.y * factor, self.values * factor, abs(factor) * self.hidden, self.upper
        )


@dataclass(eq=False)
class Listed:
    """All lift vectors less 1 of a problem, and the best proof so far."""

    problem: Problem
    vertices: Floats
    best: Proof | None = None
    _last: tuple[Floats, Floats, Floats] | None = field(default=None, repr=False)  # W, y and what they gave

    def values(self, W: Floats, y: Floats) -> Floats:
        """x'Wx - y.x of every vector; the last ones are remembered."""
        if self._last is None or not (np.array_equal(self._last[0], W) and np.array_equal(self._last[1], y)):
            self._last = (W, y, np.einsum("ki,ki->k", self.vertices @ W - y, self.vertices))
        return self._last[2]

    def join(self, W: Floats, y: Floats) -> Proof:
        """The best proof from these weights and prices and those before."""
        values = self.values(W, y)
        hidden = hidden_by_rounding(self.problem, W, y, self.vertices)
        new = self._proof(W, y, values, hidden)
        self.best = new if self.best is None else self._between(self.best, new)
        return self.best

    def _proof(self, W: Floats, y: Floats, values: Floats, hidden: float) -> Proof:
        """What these prove, in the units in which s = m: where s^2 / m and 2 s - m are the same."""
        most = float(values.max()) + hidden
        upper = efficiency_bound(self.problem, W, most)
        proof = Proof(W, y, values, hidden, upper)
        return proof.scaled(self.problem.direct / (upper * most)) if most > 0 else proof

    def _between(self, a: Proof, b: Proof) -> Proof:
        """The best proof found on the way from one to the other, by golden sections."""
        found = a if a.upper <= b.upper else b

        def at(share: float) -> Proof:
            nonlocal found
            mean = (1 - share) * a.values + share * b.values
            # The two were rounded once, and their sum is rounded again.
            rounded = 8 * ULP * float(np.abs(a.values).max() + np.abs(b.values).max())
            hidden = (1 - share) * a.hidden + share * b.hidden + rounded
            made = self._proof((1 - share) * a.W + share * b.W, (1 - share) * a.y + share * b.y, mean, hidden)
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
