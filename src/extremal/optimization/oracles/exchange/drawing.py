"""Lift vectors to begin with, and a bound from all that were drawn, where programs for weights take long.

Vectors that are each chosen where those before leave the estimates worst (`herding.py`) come with equal weights within
percents of the best, and cost next to nothing. Drawn for long, their covariance nears the best one, whatever is to be
done with them: so it proves a bound over the list of all vectors long before a program over few columns does, whose
weights and prices know only these.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...._common.types import Floats
from ...centred import QuadraticProblem
from ...effort import Effort
from ...masters.quadratic import inverse_covariance, least_squares
from .herding import Herd, Sample
from .listed import Listed

FIRST = (3, 4, 6, 8, 12, 16)  # vectors for each symbol, to be mixed one after another until that is enough
NEAR = 0.5  # of the goal: what these may lose against the most
MIXING = 4e9  # multiplications of a step of the program for their weights, at most
LONG = (20, 40, 80, 160, 320)  # vectors for each symbol, of which the covariance proves a bound
DRAWING = 4e8  # vectors times symbols^2, at most
CLOSE = 0.3  # of the goal: a bound so near needs no more of them


def draw(
    problem: QuadraticProblem,
    herd: Herd,
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
    drawn = _drawer(herd, sample, effort)
    for each in FIRST[:1] if few else FIRST:
        rows = each * n
        if values and (rows**2 * (rows / 3 + 4 * n) > MIXING or effort.pause()):
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
    enough = min(upper / (1 + goal), most * (1 - NEAR * goal))
    needed = next(k for k, (_, value) in enumerate(values) if value >= enough)
    return [np.asarray(X[:rows]) for rows, _ in values[: needed + 1]]


def _drawer(herd: Herd, sample: Sample, effort: Effort) -> Callable[[int], None]:
    """Draws until the sample holds so many vectors, or time is up."""

    def drawn(total: int) -> None:
        while sample.total < total and not effort.pause():
            sample.add(
                herd.more(min(total - sample.total, len(sample.X[0]) if len(sample.X) else total), effort)
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
    for each in LONG:
        if each * n**3 > DRAWING:
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
        if made is not None and upper <= made[1] * (1 + CLOSE * goal):
            break
        if each > LONG[1] and before - upper < 0.05 * goal * upper:
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
