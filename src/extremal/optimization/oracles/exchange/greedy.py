"""Lift vectors found one after another, each where those before leave the estimates worst.

With C the covariance of lifts and W = C^-1 G C^-1, a vector x lowers the loss tr(G C^-1) by x'Wx for each unit of its
weight. So the next vector is a vertex of large x'Wx, and joins C for those after it. Equal weights of the vectors are
then close to the best: no program for weights is needed.

Symbols of little mass are not kept apart by the room in a vector. Left alone, x'Wx rises with the square of how many of
them a vector holds, so that some vectors would hold hundreds and most none. This spends variance on how many there
are, which tells one number, instead of on which ones. So their number counts against a vector.

Lift vectors to begin with, and a bound from all that were drawn, where programs for weights take long.

Vectors that are each chosen where those before leave the estimates worst (`greedy.py`) come with equal weights within
percents of the best, and cost next to nothing. Drawn for long, their covariance nears the best one, whatever is to be
done with them: so it proves a bound over the list of all vectors long before a program over few columns does, whose
weights and prices know only these.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...._common.types import Floats, Ints
from ...._native.library import Record, library, reads, writes
from ... import tuning
from ...effort import Effort
from ...masters.quadratic import balance, inverse_covariance, least_squares
from ...reductions import QuadraticProblem, efficiency
from .bounds import Listed, form


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
        self._inverse, self._W = np.zeros((n, n)), np.zeros((n, n))
        self._inverse[1:, 1:] = inverse / mass
        self._W[1:, 1:] = inverse @ problem.loss @ inverse / mass
        self._light = _light(problem)
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
        """W less NUMBER times what the number of light symbols is worth."""
        light = self._light
        if light.stop - light.start < tuning.FEWEST_LIGHT:
            return self._W
        W = self._W.copy()
        own = np.sqrt(np.maximum(np.diagonal(W)[light], 0.0))
        W[light, light] -= tuning.NUMBER / len(own) * np.multiply.outer(own, own)
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

    def balanced(self, problem: QuadraticProblem, most: int | None = None) -> tuple[Floats, float] | None:
        """Weights next to the counts that balance the rows, or the first so many of them, and their efficiency.

        None if some are not positive.
        """
        X, counts = self.X[:most], self.counts[:most]
        try:
            q = balance(X[:, 1:], counts / counts.sum())
        except np.linalg.LinAlgError:
            return None
        return (q, efficiency(problem, X, q)) if q.min() > 0 else None


def _light(problem: QuadraticProblem) -> slice:
    """The lightest symbols: a vector has room for many times as many of them as belong to it."""
    return slice(
        problem.size - int(np.count_nonzero(np.cumsum(problem.pi[::-1]) <= tuning.LIGHT)), problem.size
    )


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
    drawn = _drawer(greedy, sample, effort)
    for each in tuning.FIRST_VECTORS[:1] if few else tuning.FIRST_VECTORS:
        rows = each * n
        if values and (rows**2 * (rows / 3 + 4 * n) > tuning.MIXING or effort.pause()):
            break
        drawn(rows)
        made = sample.balanced(problem) if len(sample.X) else None
        values.append((len(sample.X), 0.0 if made is None else made[1]))
        if values[-1][1] * (1 + goal) >= upper:
            break
    X = sample.X
    if listed is not None:
        upper = min(upper, _proven(problem, sample, drawn, listed, goal, effort))
    most = max(value for _, value in values)
    enough = min(upper / (1 + goal), most * (1 - tuning.FIRST_NEAR * goal))
    needed = next(k for k, (_, value) in enumerate(values) if value >= enough)
    return [np.asarray(X[:rows]) for rows, _ in values[: needed + 1]]


def _drawer(greedy: Greedy, sample: Sample, effort: Effort) -> Callable[[int], None]:
    """Draws until the sample holds so many vectors, or time is up."""

    def drawn(total: int) -> None:
        while sample.total < total and not effort.pause():
            sample.add(
                greedy.more(min(total - sample.total, len(sample.X[0]) if len(sample.X) else total), effort)
            )

    return drawn


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
    W = np.zeros((problem.size, problem.size))
    W[1:, 1:] = inverse @ problem.loss @ inverse
    E = np.column_stack([np.ones(len(V)), V])
    gain = np.einsum("ki,ki->k", V @ W[1:, 1:], V)
    return W, np.append(0.0, least_squares((E.T * q) @ E, E.T @ (q * gain))[1:])


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
