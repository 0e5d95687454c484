"""What reports say about the shares of all sets of answers at once: the priors that they do not refute.

Under a prior pi a report of mechanism k has the distribution pi P_k. For any positive function g of the report,

    prod_j g(Y_j) / (pi . P_k g)

has mean 1 if pi is the prior, whatever else is true of it, also if g and the mechanism were chosen after earlier
reports were seen. So it exceeds 1/delta with probability at most delta (Markov; at any time at all: Ville). Where the
number of reports was fixed it exceeds k/delta no more often, for the k <= 1 of `passing`. For each set A of answers,
g = exp(r a) is taken, a(y) the score whose mean is pi(A). The logarithm of pi . P_k g is concave, so its tangent makes
what is not refuted a half-space, and all half-spaces together a polytope. It is described by the least share of every
set of answers in it: around the center that suits these best, half of an l1 radius bounds by how much the share of any
set of answers is less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._common.highs import Program
from .._common.types import Floats, Ints
from .evidence import WHOLE_SIMPLEX
from .levels import every_set

TOGETHER = 10  # answers up to which the half-spaces of all sets of answers are taken together
LISTED = 14  # and up to which all sets are looked at; beyond, single answers and the sum of all errors
# The variance of a score in a stage, as a part of that in the stage before: guessed before both.
STRENGTH = 0.75
LOOKS = 10  # sizes of bets for reports that are looked at all the time: one for each fourfold number of them
FEWEST = 100.0  # reports for which the first of them is best
MIXED = 1e-3  # of everybody is taken to give some answer at random: scores for answers that nobody expects
STEEPEST = 30.0  # what a report may at most change the logarithm of a bet by
LEAST = 1e-300  # by which scores differ: they are divided by it
RIDGE = 1e-6  # of an observation of the expected prior: scores exist where reports do not determine a share
NARROWED = 4  # times that the ranges of shares are made narrower by one another
SECTIONS = 40  # of the golden section: the best multiplier to eight digits
STEPS_AWAY = 4.0  # times the multiplier that would be right if all answers of a set weighed the same
BERRY_ESSEEN = 0.4748  # the constant C, for sums of independent terms of one distribution
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # the least allowed


@dataclass(frozen=True, eq=False)
class Stage:
    """Reports of different people under one mechanism: how often each came in."""

    matrix: Floats  # row: answer, column: report
    expected: Floats  # the prior for which scores have the least variance
    counts: Floats

    @property
    def reports(self) -> float:
        """How many."""
        return math.fsum(self.counts)

    def scores(self, sets: Floats) -> tuple[Floats, Floats]:
        """Scores of every report whose means are the shares of these sets of answers, and their variances."""
        P = self.matrix
        pi = (1 - MIXED) * self.expected + MIXED / len(P)
        q = pi @ P
        ratio = np.divide(P, q, out=np.zeros_like(P), where=q > 0)
        inverse = np.linalg.inv(ratio @ P.T + RIDGE * np.diag(1 / pi))
        a = sets @ inverse @ ratio
        return a, np.maximum((a * a) @ q - (a @ q) ** 2, 1e-12)

    def estimate(self) -> Floats:
        """Shares that may be negative, and sum to 1."""
        return self.scores(np.eye(len(self.expected)))[0] @ self.counts / self.reports


@dataclass(frozen=True, eq=False)
class Told:
    """What reports tell: the range of every share, and the least share of sets of answers or the sum of all errors."""

    lower: Floats
    upper: Floats
    sets: Floats | None = None
    least: Floats | None = None
    estimate: Floats | None = None
    allowance: float = WHOLE_SIMPLEX

    @property
    def possible(self) -> bool:
        """Whether any shares are left."""
        whole = self.least is None or bool(np.all(self.least <= 1))
        return (
            whole
            and math.fsum(self.lower) <= 1 <= math.fsum(self.upper)
            and bool(np.all(self.lower <= self.upper))
        )

    def center(self, lower: Floats, upper: Floats) -> Floats:
        """Shares between bounds around which the radius is small: the least one, up to rounding."""
        if self.sets is not None and self.least is not None:
            return within(_center(self.sets, self.least, lower, upper), lower, upper)
        return within((lower + upper) / 2 if self.estimate is None else self.estimate, lower, upper)

    def radius(self, center: Floats) -> float:
        """No possible shares are further away from the center."""
        if self.sets is not None and self.least is not None:
            return min(2 * float(np.max(self.sets @ center - self.least)), WHOLE_SIMPLEX)
        moved = 0.0 if self.estimate is None else float(np.abs(center - self.estimate).sum())
        return min(self.allowance + moved, WHOLE_SIMPLEX)


@dataclass(frozen=True, eq=False)
class Sums:
    """All reports, and what is assumed of them.

    `forged` is the largest share of them that was made up, `always` whether they are looked at all the time, and not
    at a number fixed in advance. The next people's shares, of which all is said, lie within [lower, upper], and are at
    most `drift` away from those of each stage, in l1 distance.
    """

    stages: tuple[Stage, ...]
    forged: float
    always: bool
    lower: Floats
    upper: Floats
    drift: float = 0.0

    @property
    def size(self) -> int:
        """The number of answers."""
        return len(self.lower)

    def told(self, error: float) -> Told:
        """What holds of the shares with probability at least 1 - error; by linear programs, if there are not too many.

        Up to LISTED answers from the shares of all sets of answers. Beyond, from single shares and the sum of all
        errors of the last stage: what is expected of it, and McDiarmid's inequality. A report moves the estimate by a
        part of `reach`, and so does a forged one. Reports that are looked at all the time have no such radius.
        """
        n = self.size
        if n <= LISTED:
            sets = every_set(n)[:-1]
            polytope = self._polytope(sets, error)
            single = 2 ** np.arange(n) - 1
            others = len(sets) - 1 - single
            ends = np.concatenate((single, others))
            least = _least(polytope, sets) if n <= TOGETHER else _alone(polytope, sets, ends)
            return Told(least[single], 1 - least[others], sets, least)
        sets = np.concatenate((np.eye(n), 1 - np.eye(n)))
        least = _least(self._polytope(sets, error if self.always else error / 2), sets)
        lower, upper = least[:n], 1 - least[n:]
        if self.always:
            return Told(lower, upper)
        stage = self.stages[-1]
        a, _ = stage.scores(np.eye(n))
        off = float(np.abs(a @ stage.matrix.T - np.eye(n)).sum(axis=0).max())
        spread = np.sqrt(((a * a) @ stage.matrix.T).max(axis=1) / stage.reports)
        reach = max(float(np.abs(a - column[:, None]).sum(axis=0).max()) for column in a.T)
        forged = min(self.forged * math.fsum(s.reports for s in self.stages) / stage.reports, 1.0)
        chance = reach * math.sqrt(math.log(2 / error) / 2 / stage.reports)
        allowance = off + math.fsum(spread) + chance + forged * reach + self.drift
        return Told(lower, upper, estimate=stage.estimate(), allowance=allowance)

    def _polytope(self, sets: Floats, error: float) -> tuple[Floats, Floats]:
        """Normals and offsets of half-spaces {normal . shares >= offset} that all hold the prior but for the error."""
        looks = LOOKS if self.always else 1
        limit = math.log(len(sets) * looks / error)
        scored = [stage.scores(sets) for stage in self.stages]
        around = within(self.stages[-1].estimate(), np.full(self.size, 1e-6), np.ones(self.size))
        total = math.fsum(stage.reports for stage in self.stages)
        normals, offsets = [], []
        for look in range(looks):
            # Sizes of bets must not depend on reports, nor on how many there are if that was not fixed in advance.
            if self.always:
                information = FEWEST * 4.0**look / scored[0][1]
            else:
                parts = (stage.reports / STRENGTH**k for k, stage in enumerate(self.stages))
                information = math.fsum(parts) / scored[0][1]
            rate = np.sqrt(2 * limit / information)
            value, slope, level = np.zeros(len(sets)), np.zeros(sets.shape), np.full(len(sets), -limit)
            lost, moved = np.zeros(len(sets)), np.zeros(len(sets))
            for stage, (a, v) in zip(self.stages, scored, strict=True):
                steepest = STEEPEST / np.maximum(np.ptp(a, axis=1), LEAST)  # a report may tell nothing
                bet = np.minimum(rate / v, steepest)[:, None] * a
                bet -= bet.max(axis=1, keepdims=True)  # g is at most 1
                means = np.expm1(bet) @ stage.matrix.T  # of g - 1, by answer
                at = means @ around
                value += stage.reports * np.log1p(at)
                own = stage.reports * means / (1 + at[:, None])  # less what is the same for all shares
                slope += own
                moved += self.drift / 2 * np.ptp(own, axis=1)
                level += bet @ stage.counts
                lost = np.maximum(lost, -np.log1p(means.min(axis=1)))
            # A forged report has a g of at most 1; an honest one in its place has the mean of some answer at least.
            level -= self.forged * total * lost
            if not self.always:  # the bets of the last stage are those that the loop ends with
                honest = max(self.stages[-1].reports - self.forged * total, 0.0)
                level -= np.log(passing(self.stages[-1].matrix, bet, honest))
            normals.append(slope)
            offsets.append(level - value + slope @ around - moved)
        scale = np.maximum(np.abs(np.concatenate(normals)).max(axis=1), 1.0)
        ends = np.concatenate((np.eye(self.size), -np.eye(self.size)))
        return (
            np.concatenate((np.concatenate(normals) / scale[:, None], ends)),
            np.concatenate((np.concatenate(offsets) / scale, self.lower, -self.upper)),
        )


def passing(matrix: Floats, bet: Floats, reports: float) -> Floats:
    """A bound k on the mean of exp(c - X) [X >= c] for every c: what a sum X that reaches c exceeds it by.

    X sums log g, a row of `bet`, over `reports` that are drawn in proportion to (pi P)(y) g(y), for any prior pi. That
    is how a product of factors f = g / (pi . P g) distorts chances, so P(prod f >= e^c) = E[e^-X [X >= c]] <= k e^-c
    with X less a constant; reports before the last stage, given what they were, are part of c. X is a sum of
    independent terms of range R; let s be its standard deviation. It lies in [c, c + u] with probability at most
    u / (s (2 pi)^1/2) + 2 C R / s (Berry and Esseen, C by Shevtsova, 2011). The mean of that over exponential u is k.
    Of a mixture of answers the variance is at least the least of theirs.
    """
    g = np.exp(bet)
    total = g @ matrix.T
    mean, square = (g * bet) @ matrix.T / total, (g * bet * bet) @ matrix.T / total
    s = np.sqrt(np.maximum(reports * (square - mean * mean).min(axis=1), LEAST))
    bound = (1 / math.sqrt(2 * math.pi) + 2 * BERRY_ESSEEN * np.ptp(bet, axis=1)) / s
    return np.asarray(np.minimum(bound, 1.0))


def _least(polytope: tuple[Floats, Floats], sets: Floats) -> Floats:
    """A lower bound on the share of every set of answers over a polytope, inf if it is empty.

    By the dual of the linear program, in which only the bounds of rows change from set to set: any solution of it is a
    proof, and what rounding leaves of it is made up for.
    """
    normals, offsets = polytope
    rows = sets.shape[1]
    matrix = np.concatenate((normals, np.ones((1, rows)), -np.ones((1, rows))))
    costs = np.append(offsets, (1.0, -1.0))
    program = Program(EXACT, maximise=True)
    free = np.full(rows, -np.inf)
    program.add_rows(free, sets[0], np.zeros((rows, 0)))
    program.add_columns(costs, np.zeros(len(costs)), np.full(len(costs), np.inf), matrix)
    found = np.zeros(len(sets))
    for k, inside in enumerate(sets):
        program.change_rows(free, inside)
        if program.run() != "optimal":
            return np.full(len(sets), np.inf)
        y = np.maximum(program.solution()[0], 0.0)
        excess = max(float(np.max(y @ matrix - inside)), 0.0)
        found[k] = float(costs @ y) - excess
    return np.maximum(found, 0.0)


def _alone(polytope: tuple[Floats, Floats], sets: Floats, single: Ints) -> Floats:
    """The same by the half-space of each set of answers and the ranges of all shares, which come from `single` sets."""
    n = sets.shape[1]
    normals, offsets = polytope
    lower, upper = offsets[-2 * n : -n], -offsets[-n:]
    least = np.zeros(len(sets))
    for k in range(0, len(normals) - 2 * n, len(sets)):  # one block for each size of bets
        G, r = normals[k : k + len(sets)], offsets[k : k + len(sets)]
        for _ in range(NARROWED):
            found = _by_ranges(G[single], r[single], sets[single], lower, upper)
            lower, upper = np.maximum(lower, found[:n]), np.minimum(upper, 1 - found[n:])
        least = np.maximum(least, _by_ranges(G, r, sets, lower, upper))
    return least


def _by_ranges(G: Floats, r: Floats, sets: Floats, lower: Floats, upper: Floats) -> Floats:
    """A lower bound on the share of every set of answers, if shares lie in their ranges and G shares >= r.

    For any y >= 0 it is y r + min (set - y G) shares over all shares in their ranges, which a sort gives. That is
    concave in y: the golden section comes near the best.
    """

    def value(y: Floats) -> Floats:
        cost = sets - y[:, None] * G
        order = np.argsort(cost, axis=1)
        room = (upper - lower)[order]
        given = np.clip(1 - lower.sum() - (np.cumsum(room, axis=1) - room), 0.0, room)
        return np.asarray(
            y * r + cost @ lower + (np.take_along_axis(cost, order, axis=1) * given).sum(axis=1)
        )

    low = np.zeros(len(sets))
    slope = np.abs(
        (sets * G).sum(axis=1) / sets.sum(axis=1) - ((1 - sets) * G).sum(axis=1) / (1 - sets).sum(axis=1)
    )
    high = STEPS_AWAY / np.maximum(slope, 1e-9)
    best = np.maximum(value(low), value(high))
    golden = (math.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = value(a), value(b)
    for _ in range(SECTIONS):
        best = np.maximum(best, np.maximum(at_a, at_b))
        left = at_a > at_b
        high, low = np.where(left, b, high), np.where(left, low, a)
        a, b = high - golden * (high - low), low + golden * (high - low)
        at_a, at_b = value(a), value(b)
    return np.maximum(best, 0.0)


def _center(sets: Floats, least: Floats, lower: Floats, upper: Floats) -> Floats:
    """The shares between the bounds for which the largest sets @ shares - least is smallest."""
    n = sets.shape[1]
    program = Program(EXACT)
    program.add_columns(
        np.append(np.zeros(n), 1.0), np.append(lower, 0.0), np.append(upper, 1.0), np.zeros((n + 1, 0))
    )
    rows = np.hstack((sets, -np.ones((len(sets), 1))))
    program.add_rows(np.full(len(sets), -np.inf), least, rows)
    program.add_rows(np.ones(1), np.ones(1), np.append(np.ones(n), 0.0)[None])
    program.run()
    return program.solution()[0][:n]


def within(shares: Floats, lower: Floats, upper: Floats) -> Floats:
    """The nearest shares between bounds that sum to 1."""
    low, high = float(np.min(lower - shares)), float(np.max(upper - shares))
    for _ in range(200):
        middle = (low + high) / 2
        if np.clip(shares + middle, lower, upper).sum() < 1:
            low = middle
        else:
            high = middle
    found = np.clip(shares + high, lower, upper)
    free = (found > lower) & (found < upper)
    if free.any():
        found[np.flatnonzero(free)[0]] += 1 - math.fsum(found)
    return np.clip(found, lower, upper)
