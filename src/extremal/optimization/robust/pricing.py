"""Pricing over a set of priors: admissible lift vectors of large reduced value mu(lambda) - y . lambda, and bounds.

A column is admissible if max_i lambda_i <= c h(lambda), where h(lambda) = min over the set of pi . lambda. With
D = center - lower, U = upper - center and m = radius / 2, linear programming duality gives

    h(lambda) = max over A <= T of center . lambda - m (T - A) - sum_i U_i (A - lambda_i)^+ - sum_i D_i (lambda_i - T)^+

so that the admissible lift vectors, with nominal . lambda = 1, are the projection of a polytope with a few more
variables, and a linear function is maximised over them by a small linear program. For separable utilities bounds come
from branch and bound: f is replaced by its chords over a box, boxes are split.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..._highs import INFINITE, Program
from ..._types import Floats
from ...errors import SolverError
from ...model.prior_set import PriorSet
from ..solver.budget import ELEMENT, ITERATION, Budget

CALL = 4_000  # nodes that a linear program costs before its first iteration
EXACT = 1e-13  # a column this near to the border of what is admissible is left as it is


def admissible(priors: PriorSet, c: float, lifts: Floats) -> Floats:
    """The columns, given as rows, moved along the line through the constant column 1 to where they just are admissible.

    At 1 + s (lambda - 1) the largest lift is 1 + s (t - 1) and the smallest mean 1 - s (1 - h).
    """
    lifts = np.maximum(lifts, 0.0)
    lifts = lifts / (lifts @ priors.nominal.probabilities)[:, None]
    need = lifts.max(axis=1) - 1 + c * (1 - priors.smallest_means(lifts.T))
    depth = 1 - lifts.min(axis=1)
    moving = (need > 1e-14) & (depth > 1e-14)
    s = np.divide(c - 1, need, out=np.zeros_like(need), where=moving)
    s = np.minimum(s, np.divide(1.0, depth, out=np.zeros_like(depth), where=moving))  # lifts stay >= 0
    s = np.where(np.abs(s - 1) <= EXACT, 1.0, s)[:, None]
    return np.asarray(np.where(s == 1.0, lifts, np.maximum(1 + s * (lifts - 1), 0.0)))


class LiftProgram:
    """max g . lambda over admissible lift vectors within a box, kept warm from call to call."""

    def __init__(self, priors: PriorSet, c: float) -> None:
        from scipy.sparse import csr_array  # a tenth of a second: not at import

        n, pi = priors.size, priors.nominal.probabilities
        self.pi, self.size = pi, n
        self.top = float(min(c, 1 / pi.min()))
        self.limits = np.minimum(self.top, 1 / pi)
        D, U = priors.center - priors.lower, priors.upper - priors.center
        moved = min(priors.radius / 2, math.fsum(D), math.fsum(U))
        self.limited = moved < min(math.fsum(D), math.fsum(U)) - 1e-12  # by the radius
        # Where every symbol can take all that may be moved, everything goes to the smallest lift: A <= lambda_i.
        self.floor = bool(np.all(np.minimum(moved, math.fsum(D) - D) - 1e-15 <= U))
        one, none = np.eye(n), np.zeros((n, n))
        v = np.zeros((n, 0 if self.floor else n))
        column = np.ones((n, 1))
        zero = 0 * column
        budget = [priors.center, -D, np.zeros(0) if self.floor else -U, np.array([-1 / c, moved, -moved])]
        rows = [
            np.concatenate((pi, np.zeros(n + v.shape[1] + 3)))[None],
            np.concatenate(budget)[None],
            np.concatenate((np.zeros(2 * n + v.shape[1]), [0, -1, 1]))[None],
            np.hstack((-one, none, v, column, zero, zero)),
            np.hstack((-one, one, v, zero, zero, column)),
            np.hstack((one, none, v if self.floor else one, zero, -column, zero)),
        ]  # variables: lambda, w >= lambda - T, v >= A - lambda, t, A, T
        matrix = np.vstack(rows)
        self.matrix = csr_array(matrix)
        k, m = matrix.shape
        self.variables = m
        self._program = Program(
            {
                "primal_feasibility_tolerance": 1e-9,
                "dual_feasibility_tolerance": 1e-9,
                "small_matrix_value": 1e-9,
            },
            maximise=True,
        )
        self._program.add_columns(np.zeros(m), np.zeros(m), np.full(m, self.top), np.zeros((m, 0)))
        self._right, high = np.zeros(k), np.full(k, INFINITE)
        self._right[0] = high[0] = 1.0
        self._program.add_rows(self._right, high, matrix)
        self.spent = 0.0  # nodes, see Budget

    def root(self) -> Box:
        """The box that holds every admissible lift vector."""
        high = self.limits
        return Box(np.zeros(self.size), high, (1.0, float(high.max())), (0.0, self.top), (0.0, self.top))

    def maximise(
        self,
        box: Box,
        g: Floats,
        tilt: tuple[float, float, float] = (0.0, 0.0, 0.0),
        excess: Floats | None = None,
    ) -> tuple[Floats, float]:
        """The best lift vector in the box and a bound on g . lambda + tilt . (A, T, t) + excess . w.

        The bound is -inf if the box holds none.

        The bound is proven from the multipliers, whatever the tolerances of the solver: all variables are bounded.
        """
        n, m = self.size, self.variables
        low, high = np.zeros(m), np.full(m, self.top)
        low[:n], high[:n] = box.low, np.minimum(box.high, box.top[1])
        low[m - 3], high[m - 3] = box.top
        low[m - 2], high[m - 2] = box.floor
        low[m - 1], high[m - 1] = box.level
        if np.any(low > high):
            return np.ones(n), -math.inf
        cost = np.zeros(m)
        cost[:n] = g
        cost[m - 2], cost[m - 1], cost[m - 3] = tilt
        if excess is not None:
            cost[n : 2 * n] = excess
            high[n : 2 * n] = max(box.top[1] - box.level[0], 0.0)
        scale = max(float(np.abs(cost).max()), 1e-300)
        self._program.change_costs(cost / scale)
        self._program.change_columns(low, high)
        status = self._run()
        if status != "optimal":
            self._program.forget()
            status = self._run()
        if status == "infeasible":
            return np.ones(n), -math.inf
        if status != "optimal":
            raise SolverError(
                f"a pricing program ended with status {status}",
                remedy="try a slightly different epsilon, or another method",
            )
        variables, multipliers = self._program.solution()
        z = multipliers * scale
        z[1:] = np.minimum(z[1:], 0.0)  # rows say ">= 0", and more of them cannot help
        rest = cost - z @ self.matrix
        bound = math.fsum([float(z @ self._right), *np.maximum(rest * low, rest * high).tolist()])
        return variables[:n], bound

    def over(self, budget: Budget) -> bool:
        """Whether nothing is left of a budget, after what was done since it was last asked."""
        budget.spend(self.spent)
        self.spent = 0.0
        return budget.over

    def _run(self) -> str:
        before = self._program.iterations
        status = self._program.run()
        rows, columns = self._program.shape
        self.spent += CALL + (self._program.iterations - before) * (ITERATION + ELEMENT * (rows + columns))
        return status


@dataclass(frozen=True)
class Box:
    """Bounds on each lift, on the largest of them, t, and on A and T."""

    low: Floats
    high: Floats
    top: tuple[float, float]
    floor: tuple[float, float]
    level: tuple[float, float]


@dataclass(order=True)
class Node:
    """A box with the bound on reduced values in it, as heaps want it, and the vector that attains the relaxation."""

    minus_bound: float
    number: int
    box: Box = field(compare=False)
    lifts: Floats = field(compare=False)
    gaps: Floats = field(compare=False)


@dataclass(frozen=True)
class Priced:
    """Admissible columns found, as rows, and a bound on every reduced value."""

    lifts: Floats
    bound: float
    nodes: int


class Pricer:
    """Branch and bound for a separable utility sum_i pi_i f(lambda_i)."""

    def __init__(self, priors: PriorSet, c: float, f: Callable[[Floats], Floats]) -> None:
        self.priors, self.c, self.f = priors, c, f
        self.pi = priors.nominal.probabilities
        self.program = LiftProgram(priors, c)
        self._count = 0

    def bound(self, y: Floats, threshold: float, most_nodes: int, enough: int, budget: Budget) -> Priced:
        """Columns of reduced value above threshold and a bound on all; ends early when `enough` are found."""
        waiting = [node for node in [self._node(self.program.root(), y)] if node is not None]
        found: list[Floats] = []
        nodes = 0
        while waiting and -waiting[0].minus_bound > threshold and nodes < most_nodes:
            if len(found) >= enough or self.program.over(budget):
                break
            node = heapq.heappop(waiting)
            nodes += 1
            column = admissible(self.priors, self.c, node.lifts[None])[0]
            if self.f(column) @ self.pi - column @ y > threshold:
                found.append(column)
            if node.gaps.sum() <= 1e-15 or not self._split(node, y, waiting):
                heapq.heappush(waiting, node)  # nothing left to split: the bound is attained up to rounding
                break
        bound = max(-waiting[0].minus_bound, threshold) if waiting else threshold
        lifts = np.array(found).reshape(len(found), len(self.pi))
        return Priced(lifts, bound, nodes)

    def _node(self, box: Box, y: Floats) -> Node | None:
        low, high = box.low, np.minimum(box.high, box.top[1])
        width = high - low
        if np.any(width < 0):
            return None
        at_low = self.f(low)
        slope = np.divide(self.f(high) - at_low, width, out=np.zeros_like(width), where=width > 0)
        lifts, bound = self.program.maximise(box, self.pi * slope - y)
        if bound == -math.inf:
            return None
        base = math.fsum(self.pi * (at_low - slope * low))
        inside = np.clip(lifts, low, high)
        gaps = np.maximum(self.pi * (at_low + slope * (inside - low) - self.f(inside)), 0.0)
        self._count += 1
        return Node(-(bound + base), self._count, replace(box, low=low, high=high), lifts, gaps)

    def _split(self, node: Node, y: Floats, waiting: list[Node]) -> bool:
        """Replace a node by its two halves: of the range of one lift, or of the range of the largest."""
        box, i = node.box, int(np.argmax(node.gaps))
        if self._blur(box) > node.gaps[i]:
            middle = sum(box.top) / 2
            halves = [
                replace(box, top=(box.top[0], middle)),
                self._raised(replace(box, top=(middle, box.top[1]))),
            ]
        else:
            if box.high[i] - box.low[i] <= 1e-13:
                return False
            middle = float(np.clip(node.lifts[i], *_inner(float(box.low[i]), float(box.high[i]))))
            below, above = box.high.copy(), box.low.copy()
            below[i], above[i] = middle, middle
            halves = [
                replace(box, high=below),
                replace(box, low=above, top=(max(box.top[0], middle), box.top[1])),
            ]
        for half in halves:
            child = self._node(half, y)
            if child is not None:
                child.minus_bound = max(child.minus_bound, node.minus_bound)
                heapq.heappush(waiting, child)
        return True

    def _blur(self, box: Box) -> float:
        """How far chords may lie above f at the largest lift, because that is known only to lie in an interval."""
        low, high, t = box.low, box.high, box.top[0]
        inside = np.clip(t, low, high)
        share = np.divide(inside - low, high - low, out=np.zeros_like(low), where=high > low)
        chord = (1 - share) * self.f(low) + share * self.f(high)
        return float(self.pi @ (chord - self.f(inside))) / max(t, 1.0)

    def _raised(self, box: Box) -> Box:
        """The box without lifts that are too small when the largest is as large as it must be."""
        if not self.program.floor:
            return box
        least = -self.program.maximise(box, np.zeros(len(self.pi)), (-1.0, 0.0, 0.0))[1]
        if not math.isfinite(least):
            return box
        return replace(box, low=np.maximum(box.low, min(least - 1e-12, 1.0)))


def _inner(low: float, high: float) -> tuple[float, float]:
    """The middle four fifths of an interval: halves should not be slivers."""
    return low + 0.1 * (high - low), high - 0.1 * (high - low)
