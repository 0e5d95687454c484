"""Bounds over a set of priors that see only three levels of a column, for alphabets whose symbols are small.

A lift vector has a smallest lift A, a largest t, and a level T above which mass is taken from it (`pricing`).
f lies below its chords, and as the mean is 1,

    mu(lambda) <= F(A, t)                 F(A, t) = the chord of f over [A, t], at 1,
    mu(lambda) <= F(A, T) + k W           W = sum_i pi_i (lambda_i - T)^+, k = slope over [T, t] - slope over [A, T].

In a cell of (A, T, t) both lie below linear functions, which one linear program each maximises together with
-y . lambda. What this does not see is that symbols are not divisible: the bound is off by what a symbol between two
levels costs. Only for sets with A <= lambda_i, see LiftProgram.floor.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..._types import Floats
from ..solver.budget import Budget
from .pricing import Box, Priced, Pricer, admissible

Interval = tuple[float, float]
Function = Callable[[Floats], Floats]

USELESS = (
    0.02  # cells are small enough when they blur the bound by this part of what it is above the best column
)
TINY = 1e-7  # a step for slopes at a point


class Cells:
    """Branch and bound over cells of (A, T, t) for a separable utility."""

    def __init__(self, pricer: Pricer) -> None:
        self.pricer, self.f = pricer, pricer.f
        priors = pricer.priors
        self.taken = np.minimum(priors.center - priors.lower, pricer.pi)
        self.kept = pricer.pi - self.taken
        # Where no radius is in the way, all that can be taken is taken, and T = A.
        self.sides = ("floor", "top", "level") if pricer.program.limited else ("floor", "top")

    def bound(
        self, y: Floats, threshold: float, most_nodes: int, budget: Budget, enough: float = 1 - 1e-6
    ) -> Priced:
        """Columns of reduced value above threshold and a bound on all.

        Ends when smaller cells cannot help, or when a column has `enough` of what the bound allows.
        """
        pricer, root = self.pricer, self.pricer.program.root()
        found: list[Floats] = []
        waiting = [(-math.inf, 0, replace(root, floor=(0.0, 1.0), level=(0.0, root.top[1])), math.inf)]
        nodes, number, reached = 0, 0, threshold
        while waiting and -waiting[0][0] > threshold and nodes < most_nodes:
            minus_bound, _, box, blur = waiting[0]
            useless = math.isfinite(blur) and blur <= USELESS * (-minus_bound - reached)
            useless |= reached - threshold > enough * (-minus_bound - threshold)
            if useless or (nodes and pricer.program.over(budget)):
                break
            heapq.heappop(waiting)
            nodes += 1
            for half in _halves(box, self.sides):
                lifts, upper, blur = self._cell(half, y)
                if upper == -math.inf:
                    continue
                number += 1
                heapq.heappush(waiting, (max(-upper, minus_bound), number, half, blur))
                column = admissible(pricer.priors, pricer.c, lifts[None])[0]
                value = float(self.f(column) @ pricer.pi - column @ y)
                reached = max(reached, value)
                if value > threshold:
                    found.append(column)
        proven = max(-waiting[0][0], threshold) if waiting else threshold
        return Priced(np.array(found).reshape(len(found), len(y)), proven, nodes)

    def _cell(self, box: Box, y: Floats) -> tuple[Floats, float, float]:
        """A lift vector of a cell, a bound on reduced values, and about how much of it is due to the cell's size."""
        (a, _), (s, t), program = box.floor, box.top, self.pricer.program
        box = replace(box, low=np.maximum(box.low, a))
        base, (by_a, by_t), blur = plane(self.f, box.floor, box.top)
        lifts, bound = program.maximise(box, -y, (by_a, 0.0, by_t))
        best = (lifts, bound + base, blur)
        level = (max(box.level[0], a), min(box.level[1], t))
        if bound == -math.inf or level[0] > level[1]:
            return lifts, -math.inf, 0.0
        if "level" not in self.sides:
            return best
        base, (by_a, by_level), blur = plane(self.f, box.floor, level)
        steep = _slope(self.f, level[1], t, 1) - _slope(self.f, a, level[0], -1)
        if not (math.isfinite(base) and math.isfinite(steep) and t > a):
            return best
        # (lambda - T)^+ is w where mass is taken, and below its chord over the cell elsewhere.
        share = (t - level[0]) / (t - a)
        cost = steep * share * self.kept
        lifts, bound = program.maximise(box, cost - y, (by_a, by_level, 0.0), steep * self.taken)
        if bound + base - a * math.fsum(cost) >= best[1]:
            return best
        blur += (
            steep - max(_slope(self.f, level[0], s, -1) - _slope(self.f, box.floor[1], level[1], 1), 0.0)
        ) / 2
        return lifts, bound + base - a * math.fsum(cost), blur


def plane(f: Function, floor: Interval, top: Interval) -> tuple[float, Interval, float]:
    """base + tilt . (A, t) >= F(A, t) = f(A) + (1 - A) slope(A, t) in a cell, and about how much it is too large."""
    (a, b), (s, t) = floor, top
    values = [float(x) for x in f(np.array([a, b, s, t]))]
    # f <= p + q A for A in the cell, and f <= r + v t: chords.
    q = (values[1] - values[0]) / (b - a) if b > a else 0.0
    v = (values[3] - values[2]) / (t - s) if t > s else 0.0
    p, r = values[0] - q * a, values[2] - v * s
    if s < 1 or s - b <= 0.2 * (t - a):  # slopes of a convex function grow with both ends
        steep, flat = _slope(f, b, max(t, b), 1), _slope(f, a, max(s, a), -1)
        return p + steep, (q - steep, 0.0), (steep - flat) * (1 - a)

    def numerator(A: float, T: float) -> float:
        return (T - 1) * (p + q * A) + (1 - A) * (r + v * T)

    A, T = (a + b) / 2, (s + t) / 2
    value = numerator(A, T) / (T - A)
    by_a = ((T - 1) * q - (r + v * T) + value) / (T - A)
    by_t = ((p + q * A) + (1 - A) * v - value) / (T - A)
    base = value - by_a * A - by_t * T
    # numerator - plane (T - A) is a quadratic function: largest in a corner, but for what its squares add.
    corners = [numerator(x, z) - (base + by_a * x + by_t * z) * (z - x) for x in floor for z in top]
    above = max(corners) + (abs(by_a) * (b - a) ** 2 + abs(by_t) * (t - s) ** 2) / 4
    shift = above / (s - b) if above > 0 else above / (t - a)
    return base + shift, (by_a, by_t), shift - min(min(corners) / (s - b), 0.0)


def _slope(f: Function, low: float, high: float, side: int) -> float:
    """The slope of f between two points, or where they are one, at least (side 1) or at most (side -1) that there."""
    if high - low < TINY:
        low, high = (low, low + TINY) if side > 0 else (high - TINY, high)
        if low < 0:
            return -math.inf
    at_low, at_high = (float(x) for x in f(np.array([low, high])))
    return (at_high - at_low) / (high - low)


def _halves(box: Box, sides: tuple[str, ...]) -> tuple[Box, Box]:
    """The two halves of a cell, along its longest side."""
    side = max(sides, key=lambda name: float(np.diff(getattr(box, name))[0]))
    low, high = getattr(box, side)
    middle = (low + high) / 2
    return _with(box, side, (low, middle)), _with(box, side, (middle, high))


def _with(box: Box, side: str, interval: Interval) -> Box:
    if side == "floor":
        return replace(box, floor=interval)
    return replace(box, top=interval) if side == "top" else replace(box, level=interval)
