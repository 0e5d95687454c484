"""Where lift vectors come from: a list of all where there are few, else local search after what is still missing.

Local search takes one vector after another (`Greedy`): with C the covariance of lifts and W = C^-1 G C^-1, a vector x
lowers the loss tr(G C^-1) by x'Wx for each unit of its weight. So the next vector is a vertex of large x'Wx, and joins
C for those after it.

For hundreds of symbols such vectors need no program for their weights: equal weights are within a few percent of the
best. 3 N vectors lose about 5 %, half as much with every half more. Vectors that come up again, such as those that tell
one likely symbol, weigh more. A last step balances the weights exactly. Where it does not take too long, the best
weights are then found.

Drawn for long, the covariance of such vectors nears the best one. So it proves a bound over the list of all vectors
long before a program over few columns does, whose weights and prices know only these.

Symbols of little mass are not kept apart by the room in a vector. Left alone, x'Wx rises with the square of how many of
them a vector holds, so that some vectors would hold hundreds and most none. This spends variance on how many there
are, which tells one number, instead of on which ones. So their number counts against a vector.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ...._common.types import Floats, Ints
from ...._native.library import Record, library, reads, writes
from ....model.purpose import QuadraticProof
from ....theory.lift_vectors import arc_columns
from ... import tuning
from ...effort import Effort, Why
from ...generate import Search, Solution, generate
from ...masters.quadratic import (
    Mixture,
    QuadraticSearch,
    balance,
    inverse_covariance,
    least_squares,
    mix,
    mixture_of,
)
from ...reductions import QuadraticProblem, efficiency, efficiency_bound, padded
from ...tuning import FEW_OUTPUTS, LARGEST_MIX, NEARLY_ALL, OUTPUTS, REPEATS
from ..listed import Listed, form
from ..mixing import MixingOracle
from .relaxation import Relaxation, most_by_entries, relax


class Greedy:
    """A sequence of vertices that begins with the covariance C, of as much weight as N of them.

    x'Wx - y.x is raised from random vertices by exchanges of mass, in so many sweeps over the symbols. The prices y
    change so that the sum of the vectors stays near 0; `scale` is the least order of what they change by.
    """

    def __init__(
        self, problem: QuadraticProblem, C: Floats, y: Floats, scale: Floats, sweeps: int, seed: int
    ) -> None:
        self._problem, self._sweeps = problem, sweeps
        n, pi = problem.size, problem.pi
        inverse = np.linalg.inv(C)
        own = np.einsum("ij,ji->i", inverse @ problem.loss, inverse)
        mass = np.multiply.outer(pi[1:], pi[1:])
        # Over masses z = pi * x, with zeros for the first symbol.
        self._inverse, self._W = padded(inverse / mass), padded(inverse @ problem.loss @ inverse / mass)
        self._y, self._pull = y / pi, tuning.PULL * np.maximum(scale, np.append(own[0], own)) / pi
        self._total, self._count = np.zeros(n), 0
        self._rng = np.random.default_rng(seed)

    def more(self, count: int, effort: Effort) -> Floats:
        """So many further vertices, as rows; fewer if time is up."""
        problem, n = self._problem, self._problem.size
        batch = max(1, n // tuning.BATCH)
        orders = np.argsort(self._rng.random((count, n)), axis=1)
        X = fill(problem.pi, problem.excess, orders)
        for begin in range(0, count, batch):
            if effort.pause():
                return X[:begin]
            rows = X[begin : begin + batch]
            shrunk = (1 + self._count / n) ** -2  # as C has grown, W has shrunk by its square
            objective = form(problem.pi, problem.excess, self._restrained(), shrunk * self._y)
            climb(objective, shrunk * self._pull, self._total, self._count, self._sweeps, rows)
            self._add(rows * problem.pi)
            self._count += len(rows)
        return X

    def _restrained(self) -> Floats:
        """W less NUMBER times what the number of light symbols is worth.

        A vector has room for many times as many of the lightest symbols as belong to it.
        """
        light = int(np.count_nonzero(np.cumsum(self._problem.pi[::-1]) <= tuning.LIGHT))
        if light < tuning.FEWEST_LIGHT:
            return self._W
        W = self._W.copy()
        own = np.sqrt(np.maximum(np.diagonal(W)[-light:], 0.0))
        W[-light:, -light:] -= tuning.NUMBER / len(own) * np.multiply.outer(own, own)
        return W

    def _add(self, Z: Floats) -> None:
        """C <- C + Z'Z / N in C^-1 and C^-1 G C^-1, by Sherman, Morrison and Woodbury."""
        V, U = Z @ self._inverse, Z @ self._W
        S = np.linalg.solve(np.eye(len(Z)) * self._problem.size + V @ Z.T, V)
        self._W += S.T @ ((U @ Z.T) @ S - U) - U.T @ S
        self._inverse -= V.T @ S


class Sample:
    """Vectors found one after another: the different ones, rows of X in the order found, and how often each came up."""

    def __init__(self, size: int) -> None:
        self.X, self.counts = np.empty((0, size)), np.empty(0)
        self._rows: dict[bytes, int] = {}  # of X, by their bytes

    @property
    def total(self) -> int:
        """How many were found."""
        return int(self.counts.sum())

    def add(self, found: Floats) -> None:
        """Further vectors."""
        new: list[Floats] = []
        more: list[float] = self.counts.tolist()
        for x in found:
            place = self._rows.setdefault(x.tobytes(), len(more))
            if place == len(more):
                more.append(0.0)
                new.append(x)
            more[place] += 1
        self.X, self.counts = np.concatenate([self.X, new]) if new else self.X, np.array(more)

    def balanced(self, problem: QuadraticProblem) -> tuple[Floats, float] | None:
        """Weights next to the counts that balance the rows, and their efficiency.

        None if some are not positive.
        """
        if not len(self.X):
            return None
        try:
            q = balance(self.X[:, 1:], self.counts / self.counts.sum())
        except np.linalg.LinAlgError:
            return None
        return (q, efficiency(problem, self.X, q)) if q.min() > 0 else None


def draw(
    problem: QuadraticProblem,
    greedy: Greedy,
    upper: float,
    listed: Listed | None,
    goal: float,
    few: bool,
    effort: Effort,
) -> list[Floats]:
    """Fewest vectors first, then more, up to those whose equal weights come close to the goal or to what many reach.

    With `few` only the fewest. `listed` gets a proof from many more.
    """
    n = problem.size
    sample = Sample(n)
    values: list[tuple[int, float]] = []  # numbers of different vectors, and what these reach

    def drawn(total: int) -> None:
        while sample.total < total and not effort.pause():
            sample.add(greedy.more(min(total - sample.total, n if len(sample.X) else total), effort))

    for each in tuning.FIRST_VECTORS[:1] if few else tuning.FIRST_VECTORS:
        rows = each * n
        if values and (rows**2 * (rows / 3 + 4 * n) > tuning.MIXING or effort.pause()):
            break
        drawn(rows)
        made = sample.balanced(problem)
        values.append((len(sample.X), 0.0 if made is None else made[1]))
        if values[-1][1] * (1 + goal) >= upper:
            break
    X = sample.X
    if listed is not None:
        upper = min(upper, _proven(problem, sample, drawn, listed, goal, effort))
    most = max(value for _, value in values)
    enough = min(upper / (1 + goal), most * (1 - tuning.FIRST_NEAR * goal))
    needed = next(k for k, (_, value) in enumerate(values) if value >= enough)
    return [X[:rows] for rows, _ in values[: needed + 1]]


def _proven(
    problem: QuadraticProblem,
    sample: Sample,
    drawn: Callable[[int], None],
    listed: Listed,
    goal: float,
    effort: Effort,
) -> float:
    """The bound by longer and longer samples: until it is close to what these reach, or no longer moves."""
    n, upper = problem.size, 1.0
    for each in tuning.LONG_SAMPLES:
        if each * n**3 > tuning.DRAWING:
            break
        drawn(each * n)
        if effort.pause():
            break
        try:
            proof = listed.join(*priced(problem, sample.X, sample.counts / sample.counts.sum()))
        except np.linalg.LinAlgError:
            break
        made = sample.balanced(problem)
        before, upper = upper, proof.upper
        if made is not None and upper <= made[1] * (1 + tuning.PROVEN_NEAR * goal):
            break
        if each > tuning.LONG_SAMPLES[1] and before - upper < 0.05 * goal * upper:
            break
    return upper


def priced(problem: QuadraticProblem, X: Floats, q: Floats) -> tuple[Floats, Floats]:
    """W = C^-1 G C^-1 of a mixture and the y for which x'Wx - y.x of its rows is most nearly equal."""
    V = X[:, 1:]
    inverse = inverse_covariance(V, q)
    W = inverse @ problem.loss @ inverse
    E = np.column_stack([np.ones(len(V)), V])
    gain = np.einsum("ki,ki->k", V @ W, V)
    return padded(W), np.append(0.0, least_squares((E.T * q) @ E, E.T @ (q * gain))[1:])


def climb(objective: Record, pull: Floats, total: Floats, first: int, sweeps: int, X: Floats) -> None:
    """Move every row of X to a vertex of larger z'Wz - y.z, z = pi * x, in place, by exchanges of mass.

    `objective` is a `form` in z. `total` is the sum of rows so far and grows; `pull` times it is added to the prices y.
    The search for the first row begins at symbol `first`.
    """
    n, rows = objective.n, len(X)
    failed = library().extremal_climb(
        objective,
        reads(pull, np.float64, n),
        writes(total, np.float64, n),
        first % n,
        sweeps,
        rows,
        writes(X, np.float64, rows, n),
    )
    if failed:
        raise MemoryError


def fill(pi: Floats, excess: float, orders: Ints) -> Floats:
    """For each order the vertex whose symbols are full in this order as far as the mass reaches."""
    n, rows = len(pi), len(orders)
    X = np.empty((rows, n))
    failed = library().extremal_fill(
        n,
        rows,
        reads(pi, np.float64, n),
        excess,
        reads(orders, np.int64, rows, n),
        writes(X, np.float64, rows, n),
    )
    if failed:
        raise ValueError("an order must hold numbers of symbols")
    return X


@dataclass(eq=False)
class ExchangeOracle(MixingOracle):
    """Finds lift vectors less 1 by local search, and in the list of all where it is short; proves bounds.

    `true` has the loss to be proven, which the problem's may exceed a little; `upper` is what the relaxation proves.
    """

    problem: QuadraticProblem
    true: QuadraticProblem
    relaxed: Relaxation
    upper: float
    listed: Listed | None
    effort: Effort
    goal: float
    aim: float  # a gap so far below the goal leaves room for fewer outputs
    _gaps: list[float] = field(default_factory=list, repr=False)  # after each round
    # The last ones mixed, and those to be mixed next.
    _drawn: list[Floats] = field(default_factory=list, repr=False)
    _work: float = 0.0  # multiplications of one step of the program in each round

    @property
    def name(self) -> str:
        """How lift vectors are found."""
        return "local search" if self.listed is None else "all lift vectors"

    def little(self, value: float, upper: float) -> float:
        """A round that gains less has stalled."""
        return 0.1 * (upper - value)

    def first(self) -> tuple[Floats, Floats]:
        """Vectors to begin with, and weights that balance them."""
        n, y = self.problem.size, self.relaxed.prices(self.problem)
        if self.listed is not None:
            self.listed.join(self.relaxed.W, y)
        greedy = self.greedy(self.relaxed.covariance, y, 0)
        if n > tuning.DRAWN_FROM:
            few = n <= tuning.WIDEST
            self._drawn = draw(self.problem, greedy, self.upper, self.listed, self.goal, few, self.effort)
            searched = self._drawn[0]
        else:
            searched = greedy.more(3 * n, self.effort)
        X, q = _balanced(self.problem)
        return np.concatenate([X, searched]), np.append(q, np.zeros(len(searched)))

    @property
    def short(self) -> bool:
        """Whether the list of all is short enough to go through in every round."""
        return self.listed is not None and self.listed.count <= tuning.SHORT_LIST

    def more(self, mixture: Mixture, round_: int, thorough: bool) -> Floats:
        """Vectors that would improve a mixture; with those of the list of all if it is to be gone through."""
        if len(self._drawn) > 1:
            self._drawn.pop(0)
            return self._drawn[0]
        n = self.problem.size
        C = np.asarray(np.linalg.inv(mixture.inverse), dtype=np.float64)
        every = thorough and self.listed is not None and self.listed.every > 0
        # The best of a long list are much alike: those of a wide search tell more.
        drawn = n > tuning.DRAWN_FROM
        wide = thorough and n <= tuning.WIDEST and (drawn or not every)
        greedy = self.greedy(C, np.append(0.0, mixture.y), round_ + 1)
        found = greedy.more(2 * n * (tuning.WIDE if wide else 1), self.effort)
        if wide:
            found = _best(mixture, found, 4 * n)
        if n > tuning.WIDEST:  # drawn vectors are many, and none of them tells much
            found = np.concatenate([found, *self._drawn])
        if self.listed is None or not every:
            return found
        best = self.listed.top(*mixture.whole, n if drawn else 4 * n)
        return np.concatenate([found, best])

    @property
    def exhausted(self) -> bool:
        """Whether the goal, or below it the aim, is out of reach at the rate of the last round, and all of them have
        taken long. Up to WIDEST symbols the goal is not given up, and without a limit on work neither is."""
        if len(self._gaps) < 2 or self.effort.endless:
            return False
        before, gap = self._gaps[-2:]
        if gap <= self.goal:
            return self._work > tuning.SOME_MIXED and tuning.ROUNDS_TO_AIM * (before - gap) < gap - self.aim
        many = self.problem.size > tuning.WIDEST
        return (
            many
            and self._work > tuning.MUCH_MIXED
            and tuning.ROUNDS_TO_GOAL * (before - gap) < gap - self.goal
        )

    def prove(self, search: QuadraticSearch, mixture: Mixture, thorough: bool) -> None:
        """By the relaxation, or over all vectors by what prices them."""
        n, rows, upper = self.problem.size, len(search.rows), self.upper
        if self.listed is not None:
            best = self.listed.join(*mixture.whole) if thorough else self.listed.best
            if best is not None and best.upper < upper:
                upper = best.upper
                search.offer(upper, QuadraticProof(best.W, best.y))
        self._work += rows**2 * (rows / 3 + 4 * n)
        self._gaps.append(upper * float(np.sum(self.true.loss * mixture.inverse)) / self.true.direct - 1)

    @property
    def proof(self) -> QuadraticProof:
        """What proves `upper`."""
        W, d = self.relaxed.W, self.relaxed.d
        return QuadraticProof(W if np.count_nonzero(W - np.diag(d)) else d)

    def greedy(self, C: Floats, y: Floats, seed: int) -> Greedy:
        """Vertices one after another, which begin with the covariance C and the prices y."""
        sweeps = tuning.SWEEPS if self.problem.size <= tuning.EQUAL_WEIGHTS_FROM else tuning.FEW_SWEEPS
        return Greedy(self.problem, C, y, self.relaxed.d, sweeps, seed)


def make_oracle(
    problem: QuadraticProblem,
    true: QuadraticProblem,
    rounds: int,
    effort: Effort,
    goal: float = 0.01,
    aim: float = 0.007,
) -> ExchangeOracle:
    """Where lift vectors come from, after so many rounds on the bound of the relaxation."""
    listed = Listed.of(true, tuning.VERTICES_LISTED) if problem.size <= tuning.EQUAL_WEIGHTS_FROM else None
    if problem.size <= tuning.DRAWN_FROM and listed is not None and listed.count <= tuning.SHORT_LIST:
        rounds = 0  # going through the list will prove more
    relaxed = relax(problem, rounds, effort)
    upper = efficiency_bound(true, relaxed.W, most_by_entries(true, relaxed.W))
    return ExchangeOracle(problem, true, relaxed, upper, listed, effort, goal, aim)


def _best(mixture: Mixture, X: Floats, count: int) -> Floats:
    """So many of the vectors that would improve a mixture most."""
    V = X[:, 1:]
    gain = np.einsum("ki,ki->k", V @ mixture.W - mixture.y, V)
    return X[np.argsort(-gain, kind="stable")[:count]]


def _balanced(problem: QuadraticProblem) -> tuple[Floats, Floats]:
    """Lift vectors less 1 of the arc mechanism, and its output distribution, which balances them.

    Beyond HEAVY symbols the lighter ones share lifts in blocks of BLOCK, so that there are not too many vectors; those
    that fill a block in part are no vertices. At levels so low that no vector rules out a block, or so high that none
    could hold the lightest mass, there are no blocks.
    """
    n, excess = problem.size, problem.excess
    blocks = np.append(
        np.arange(min(n, tuning.HEAVY)), tuning.HEAVY + np.arange(max(n - tuning.HEAVY, 0)) // tuning.BLOCK
    )
    mass = np.bincount(blocks, weights=problem.pi).astype(np.float64)
    if n > tuning.HEAVY and not (
        mass[tuning.HEAVY :].max() * (1 + 1 / excess) <= 1 and mass.min() * (1 + excess) <= 1
    ):
        blocks, mass = np.arange(n), problem.pi
    columns = arc_columns(mass, 0.0, 1 + problem.excess)
    X = np.where(columns.high <= columns.lifts().T, problem.excess, -1.0)
    rows = np.arange(len(X))
    full, empty = columns.rest >= columns.high, columns.rest <= 0
    X[rows, columns.partial] = 0.0
    rest = -(X @ mass) / mass[columns.partial]
    X[rows, columns.partial] = np.where(full, problem.excess, np.where(empty, -1.0, rest))
    return X[:, blocks], columns.weights


@dataclass(kw_only=True)
class EvenSearch(Search):
    """The state of a search whose master gives all vectors of a sample about equal weights."""

    relaxation: ExchangeOracle
    best: tuple[Floats, Floats]
    goal: float
    sample: Sample
    name: str = "randomized response"
    each: int = 0  # vectors for each symbol, as far as there are so many

    def __post_init__(self) -> None:
        self.effort.value = efficiency(self.relaxation.true, *self.best)

    def solve(self) -> bool:
        """Balance the vectors, and find their best weights where that is worth its time."""
        true, sample, effort = self.relaxation.true, self.sample, self.effort
        made = sample.balanced(true)
        if made is not None and made[1] > self.value:
            self.best, effort.value, self.name = (sample.X, made[0]), made[1], "equal weights"
        many = self.each == FEW_OUTPUTS or (effort.endless and self.each > FEW_OUTPUTS)
        short = effort.endless or len(sample.X) ** 2 * true.size <= LARGEST_MIX
        if self.name == "equal weights" and (self.closed or many) and short and not effort.pause():
            self._mix()
        return True

    def _mix(self) -> None:
        """The best weights of the same rows, unless that fails."""
        X, q = self.best
        with contextlib.suppress(np.linalg.LinAlgError):
            loss = self.relaxation.problem.loss
            q = balance(X[:, 1:], mix(X[:, 1:], loss, self.goal / 10, q, self.effort).weights)
            value = efficiency(self.relaxation.true, X, q) if q.min() > 0 else 0.0
            if value > self.value:
                self.best, self.effort.value = (X, q), value


@dataclass
class SampleOracle:
    """Longer and longer samples, until vectors come up again and again."""

    greedy: Greedy
    lengths: Iterator[int] = field(default_factory=lambda: iter(OUTPUTS))

    def bound(self, search: EvenSearch) -> None:
        """None beyond what the relaxation proves."""

    def columns(self, search: EvenSearch) -> bool:
        """More vectors; False if there are enough."""
        sample, n = search.sample, search.relaxation.true.size
        search.each = next(self.lengths, 0)
        if not search.each or sample.total >= REPEATS * n:
            return False
        while len(sample.X) < search.each * n and sample.total < REPEATS * n and not search.effort.pause():
            sample.add(self.greedy.more(n // 2, search.effort))
        return True


def equal_weights(oracle: ExchangeOracle, simple: tuple[Floats, Floats], goal: float) -> Solution:
    """Vectors of nearly equal weights, as few as reach the goal; `simple` is what is left if time is up before."""
    search = EvenSearch(
        effort=oracle.effort,
        aim=NEARLY_ALL * goal,
        upper=oracle.upper,
        relaxation=oracle,
        best=simple,
        goal=goal,
        sample=Sample(oracle.true.size),
    )
    greedy = oracle.greedy(oracle.relaxed.covariance, oracle.relaxed.prices(oracle.problem), 0)
    why = generate(search, SampleOracle(greedy))
    why = search.effort.why if why is Why.EXHAUSTED else why  # more vectors would tell more
    stats = search.stats(search.sample.total, why)
    return mixture_of(oracle.true, *search.best, oracle.upper, oracle.proof, search.name, stats)
