"""The best mechanism whose leakage envelope is limited: the worst share delta of all reports tells at most so much.

Let an output occur with probability q and have the lifts r, and let c = e^e for the limit e at delta. The largest
P(E|x) of an event with P(E) = delta is min over t of delta t + E[(r_x - t)_+], so the limit says that for every x
there is a threshold t with

    E[(r_x - t)_+] + delta t <= delta c.

For given thresholds that is linear in the probabilities of outputs. A sub-linear utility is then largest on lift
vectors whose elements are 0, t or e^epsilon but for one, so one linear program over finitely many columns gives the
optimum. Which thresholds are best is not a convex question. For all thresholds in [l, u], what stands on the left
is at least

    E[delta clip(r_x, l, u) + (r_x - u)_+],

with equality if l = u, and this is linear, too. So branch and bound over boxes of thresholds proves a bound: the boxes
left at the end cover all thresholds, and each comes with prices that anyone can check.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._common.types import Floats
from ..errors import OptionError, SizeError, SolverError
from ..model.envelope import Corners, check_share
from ..model.mechanism import Mechanism
from ..model.regions import bounded_exp, check_epsilon
from ..theory.pairing import pair_outputs
from .envelope_certificate import EnvelopeCertificate
from .generate import Stats
from .problem import Task
from .result import Design, finished, within_lifts
from .run import run_task

MOST_COLUMNS = 30_000  # of one program
WORK = 600_000  # columns of all programs together
MOST_NODES = 1000
ASCENTS = 6  # thresholds of a solution, a solution for these thresholds, and so on
MARGIN = 1e-8  # of c - 1, kept free so that a certified mechanism keeps the limit exactly
USED = 1e-11  # probabilities of outputs below this are the solver's rounding
NEAR = 1e-12  # what a lift may be off by to count as one within its limits
DEFAULT_TOLERANCE = 1e-3


def check_limits(limits: Any) -> tuple[tuple[float, float], ...]:
    """(delta, epsilon) in increasing order of delta."""
    if not isinstance(limits, Mapping) or not limits:
        raise OptionError(
            "must be limits by share of reports",
            parameter="envelope",
            given=repr(limits)[:60],
            remedy="e.g. {0.1: 0.5}: one report in ten tells at most 0.5 nats",
        )
    for delta in limits:
        if isinstance(delta, bool) or not isinstance(delta, int | float | np.number):
            raise OptionError(
                "must be a number", parameter="delta", given=repr(delta)[:40], remedy="e.g. 0.1"
            )
        check_share(delta)
    return tuple(sorted((float(delta), check_epsilon(level)) for delta, level in limits.items()))


def run_envelope(task: Task, limits: tuple[tuple[float, float], ...]) -> Design:
    """The design for a task under epsilon-PML and limits (delta, epsilon) of the envelope."""
    begin = time.perf_counter()
    # Others say nothing: no P(E|x) is above 1, and no lift above e^epsilon.
    binding = [
        (d, bounded_exp(e)) for d, e in limits if d * bounded_exp(e) < 1 and bounded_exp(e) < task.high
    ]
    if not binding:
        return replace(run_task(task), envelope=limits)
    program = _Program(task, np.array([d for d, _ in binding]), np.array([c for _, c in binding]))
    search = _Search(program, task, begin)
    search.run()
    mechanism = _kept(task, Mechanism(search.best.matrix(), task.prior.labels), binding)
    value = task.utility(task.prior, mechanism)
    stats = Stats(
        search.nodes,
        program.columns,
        search.nodes,
        time.perf_counter() - begin,
        search.interrupted,
        search.stopped,
    )
    made = finished(task, pair_outputs(task.prior, mechanism), value, search.upper, None, stats)
    return replace(made, method="envelope", certificate=search.certificate(), envelope=limits)


def _kept(task: Task, mechanism: Mechanism, limits: list[tuple[float, float]]) -> Mechanism:
    """The mechanism, mixed with its own output distribution if the solver's rounding used up the margin of a limit."""
    corners = Corners.of(task.prior.probabilities, mechanism.matrix)
    factors = [(1 + (c - 1) * (1 - MARGIN), corners.factor(delta)) for delta, c in limits]
    share = max((found - c) / (found - 1) if found > c else 0.0 for c, found in factors)
    if share > 0:
        mean = mechanism.output_distribution(task.prior)
        mixed = (1 - share) * mechanism.matrix + share * mean
        mechanism = Mechanism(mixed, mechanism.inputs, mechanism.outputs)
    return within_lifts(task.prior, mechanism, task.epsilon)


class _Solved(NamedTuple):
    """The optimum of a program: lifts and probabilities of outputs, its value, a bound and what proves it."""

    lifts: Floats
    weights: Floats
    value: float
    bound: float
    prices: Floats
    penalties: Floats

    def matrix(self) -> Floats:
        P = self.lifts.T * self.weights
        return np.asarray(P / P.sum(axis=1, keepdims=True))


class _Program:
    """The linear program over lift vectors for a box of thresholds."""

    def __init__(self, task: Task, delta: Floats, c: Floats) -> None:
        self.task, self.pi, self.delta, self.c = task, task.prior.probabilities, delta, c
        self.inner = 1 + (c - 1) * (1 - MARGIN)  # what mechanisms keep; bounds are for c
        self.columns = 0
        size, marks = len(self.pi), 2 * len(delta) + 2
        self.most = size * marks ** (size - 1)
        if self.most > MOST_COLUMNS:
            raise SizeError(
                "designs with limits of the envelope list all lift vectors of a grid and need fewer answers or limits",
                given=f"{size} answers and {len(delta)} limits",
                remedy="merge answers, or keep the limit in the worst case: `design(prior, limit)`",
            )

    def lift_vectors(self, low: Floats, high: Floats) -> Floats:
        """All lift vectors with elements among 0, the ends of the box and e^epsilon, but for one, as rows."""
        pi, most, found = self.pi, self.task.high, []
        ends = np.minimum(np.vstack([low, high, np.zeros(len(pi)), np.full(len(pi), most)]), most)
        marks = [np.unique(ends[:, x]) for x in range(len(pi))]
        for j in range(len(pi)):
            rows = np.meshgrid(*(marks[x] if x != j else np.zeros(1) for x in range(len(pi))), indexing="ij")
            r = np.stack([axis.ravel() for axis in rows], axis=1)
            r[:, j] = (1 - r @ pi) / pi[j]
            r = r[(r[:, j] >= -NEAR) & (r[:, j] <= most + NEAR)]
            r[:, j] = np.clip(r[:, j], 0.0, most)
            found.append(r)
        return np.vstack(found)

    def solve(self, low: Floats, high: Floats) -> _Solved:
        """The optimum for thresholds anywhere in the box; for a single point that of the limits themselves."""
        from scipy.optimize import linprog  # half a second: not at import

        lifts = self.lift_vectors(low, high)
        self.columns += len(lifts)
        gains = self.task.mu(lifts)
        used = self.weigh(lifts, low, high)
        exact = bool((low == high).all())
        right = np.repeat(self.delta * (self.inner if exact else self.c), len(self.pi))
        scale = max(float(np.abs(gains).max()), 1e-300)
        result: Any = linprog(
            -gains / scale,
            A_ub=used.T,
            b_ub=right,
            A_eq=lifts.T,
            b_eq=np.ones(len(self.pi)),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if result.status != 0:  # the constant mechanism keeps all limits
            raise SolverError(f"the program of an envelope ended without an answer: {result.message}")
        y = -np.asarray(result.eqlin.marginals) * scale
        z = np.maximum(-np.asarray(result.ineqlin.marginals) * scale, 0.0)
        y = y + max(float(np.max(gains - lifts @ y - used @ z)), 0.0) * self.pi
        kept = result.x > USED
        return _Solved(
            lifts[kept],
            result.x[kept],
            -result.fun * scale,
            math.fsum(y) + math.fsum(z * right),
            y,
            z.reshape(low.shape),
        )

    def weigh(self, lifts: Floats, low: Floats, high: Floats) -> Floats:
        """delta clip(r, l, u) + (r - u)_+ of every lift vector, for every limit and answer."""
        parts = [
            d * np.clip(lifts, l, u) + np.maximum(lifts - u, 0.0)
            for d, l, u in zip(self.delta, low, high, strict=True)
        ]
        return np.hstack(parts)

    def thresholds(self, solved: _Solved) -> tuple[Floats, Floats]:
        """The best threshold for every limit and answer, and by how much the limit is exceeded even there."""
        shape = (len(self.delta), len(self.pi))
        best, excess = np.empty(shape), np.empty(shape)
        for x in range(len(self.pi)):
            r = solved.lifts[:, x]
            above = np.maximum(r[None, :] - r[:, None], 0.0) @ solved.weights
            for j, (d, c) in enumerate(zip(self.delta, self.c, strict=True)):
                k = int(np.argmin(d * r + above))
                best[j, x], excess[j, x] = r[k], d * r[k] + above[k] - d * c
        return best, excess


class _Search:
    """Branch and bound over boxes of thresholds, the box of the largest bound first."""

    def __init__(self, program: _Program, task: Task, begin: float) -> None:
        self.program, self.task, self.begin = program, task, begin
        # A smaller threshold cannot keep the limit, because E[(r - t)_+] >= 1 - t; nor can one above c.
        self.low, self.high = self._ends(program.c)
        self.bottom, self.top = self._ends(program.inner)
        self.best = program.solve(self.top, self.top)  # no lift above c: the worst case keeps every limit
        self.nodes, self.numbers = 0, count()
        self.interrupted = self.stopped = False
        self.open: list[tuple[float, int, Floats, Floats, _Solved]] = []
        self.closed: list[tuple[Floats, Floats, _Solved]] = []

    def _ends(self, c: Floats) -> tuple[Floats, Floats]:
        least, shape = (1 - self.program.delta * c) / (1 - self.program.delta), np.ones(len(self.program.pi))
        return np.multiply.outer(least, shape), np.multiply.outer(c, shape)

    @property
    def upper(self) -> float:
        """What no mechanism exceeds."""
        open_bound = -self.open[0][0] if self.open else -math.inf
        return max(self.best.value, open_bound, *(solved.bound for _, _, solved in self.closed))

    def run(self) -> None:
        """Search until the bound is close, or the work is done."""
        self._push([self._node(self.low, self.high, None)])
        try:
            for chosen in self._starts():
                self._climb(np.where(chosen, (self.bottom + self.top) / 2, self.top))
            while self.open and not self._finished():
                self.nodes += 1
                # A box leaves the tree when its parts are known, so that an interrupt leaves a whole one.
                parts = self._parts(*self.open[0][2:])
                box = heapq.heappop(self.open)
                if not parts:
                    self.closed.append(box[2:])
                self._push(parts)
                if self.task.progress is not None:
                    self.task.progress(self.best.value, self.upper)
        except KeyboardInterrupt:
            self.interrupted = True

    def _starts(self) -> Iterator[NDArray[np.bool_]]:
        """Sets of answers whose thresholds start lower than those of others: all, or each alone if these are many."""
        size = len(self.program.pi)
        codes = range(1, 1 << size) if size <= 5 else [1 << x for x in range(size)]
        return (np.array([code >> x & 1 for x in range(size)], dtype=np.bool_) for code in codes)

    def _finished(self) -> bool:
        limit = self.task.time_limit
        if limit is not None and math.isfinite(limit) and time.perf_counter() - self.begin > limit:
            self.stopped = True
            return True
        allowed = math.inf if limit == math.inf else min(MOST_NODES, WORK // self.program.most + 1)
        return self.nodes >= allowed or -self.open[0][0] <= self.best.value * (1 + self.task.tolerance)

    def _parts(self, low: Floats, high: Floats, solved: _Solved) -> list[tuple[Floats, Floats, _Solved]]:
        """Two halves of a box; none if its optimum keeps the limits as it is."""
        best, excess = self.program.thresholds(solved)
        best = np.clip(best, low, high)
        worth = np.where(excess > 1e-12, excess, 0.0) * (high - low)
        if self.nodes <= 20 or self.nodes % 20 == 0 or worth.max() <= 0:
            self._climb(best)
        if worth.max() <= 0:
            return []
        k = np.unravel_index(int(np.argmax(worth)), worth.shape)
        room = 0.2 * (high[k] - low[k])
        middle = min(max(best[k], low[k] + room), high[k] - room)
        parts = []
        for a, b in ((low[k], middle), (middle, high[k])):
            l, u = low.copy(), high.copy()
            l[k], u[k] = a, b
            parts.append(self._node(l, u, solved))
        return parts

    def _node(self, low: Floats, high: Floats, parent: _Solved | None) -> tuple[Floats, Floats, _Solved]:
        try:
            solved = self.program.solve(low, high)
        except SolverError:
            if parent is None:
                raise
            solved = parent
        if parent is not None and parent.bound < solved.bound:  # its prices hold in a part of its box
            solved = solved._replace(bound=parent.bound, prices=parent.prices, penalties=parent.penalties)
        return low, high, solved

    def _push(self, parts: list[tuple[Floats, Floats, _Solved]]) -> None:
        for part in parts:
            heapq.heappush(self.open, (-part[2].bound, next(self.numbers), *part))

    def _climb(self, thresholds: Floats) -> None:
        """Better thresholds, from what the best mechanism for some thresholds makes of them."""
        thresholds = np.clip(thresholds, self.bottom, self.top)
        for _ in range(ASCENTS):
            try:
                solved = self.program.solve(thresholds, thresholds)
            except SolverError:  # thresholds that leave next to no room
                return
            if solved.value > self.best.value:
                self.best = solved
            found = np.clip(self.program.thresholds(solved)[0], self.bottom, self.top)
            if np.abs(found - thresholds).max() < 1e-9:
                return
            thresholds = found

    def _leaves(self) -> Iterator[tuple[Floats, Floats, _Solved]]:
        yield from self.closed
        yield from (box[2:] for box in self.open)

    def certificate(self) -> EnvelopeCertificate:
        """What is left of the tree, with its prices."""
        low, high, solved = zip(*self._leaves(), strict=True)
        prices, penalties = [s.prices for s in solved], [s.penalties for s in solved]
        return EnvelopeCertificate(np.array(low), np.array(high), np.array(prices), np.array(penalties))
