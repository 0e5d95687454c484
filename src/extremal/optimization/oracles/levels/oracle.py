"""The mechanism for every prior of a set with the least error of what is estimated, and a proven bound.

The same mixtures as for one prior, of lift vectors that are admissible for the whole set: all of them where they can be
listed, else by local search, with a bound over the levels of lifts. Efficiency is that under the nominal prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...._common.types import Floats, Ints
from ...._native.library import library, reads, record, writes
from ....errors import SizeError
from ....model.lift_sets import SetLifts
from ....model.purpose import QuadraticProof
from ... import tuning
from ...closed_forms import arrange, arranged, farthest, farthest_bound
from ...effort import Effort
from ...generate import Solution
from ...masters.quadratic import Mixture, QuadraticSearch, search_mixtures
from ...reductions import QuadraticProblem, Symbols, efficiency_bound, most_by_vertices, padded, ridged
from ...set_levels import LARGEST, SetLevels, Sets, robust_vertices
from ..exchange.relaxation import most_by_entries, relax
from ..mixing import MixingOracle
from .bound import LevelBound

LARGEST_ALIKE = 2000  # symbols
LARGEST_SIZE = 300  # symbols that are not all alike: mixing takes minutes beyond


@dataclass(eq=False)
class LevelsOracle(MixingOracle):
    """Finds lift vectors less 1 that are admissible for a set of priors, and proves bounds over all of them."""

    problem: QuadraticProblem
    true: QuadraticProblem
    cone: SetLevels
    vertices: Floats | None
    levels: LevelBound | None  # where vectors are not listed
    effort: Effort
    goal: float
    stalls: int = 0

    @property
    def name(self) -> str:
        """How lift vectors are found."""
        return "robust local search" if self.vertices is None else "robust enumeration"

    @property
    def short(self) -> bool:
        """Whether the bound is worth taking in every round."""
        return self.vertices is not None

    @property
    def exhausted(self) -> bool:
        """Whether neither the bound nor the mixture has got better for some rounds."""
        return self.vertices is None and self.stalls >= tuning.STALLS

    def little(self, value: float, upper: float) -> float:
        """A round that gains less has stalled: only then is a bound over levels worth its time."""
        return tuning.SMALL_GAIN * value if self.vertices is None else 0.1 * (upper - value)

    def first(self) -> tuple[Floats, Floats]:
        """Vectors to begin with, some of which mix to mean 0."""
        X = self.cone.single()
        return X, np.full(len(X), 1 / len(X))

    def more(self, mixture: Mixture, round_: int, thorough: bool) -> Floats:
        """Vectors that would improve a mixture."""
        n = self.problem.size
        own = np.diagonal(mixture.W)
        pull = tuning.PULL * np.append(own[0], own)
        starts = self.cone.starts(np.random.default_rng(round_), 2 * n)
        y = np.append(0.0, mixture.y)
        found = herd(self.cone, mixture.inverse, self.problem.loss, y, pull, starts, tuning.SWEEPS)
        if self.vertices is None:
            return found
        V = self.vertices[:, 1:]
        reduced = np.einsum("ki,ki->k", V @ mixture.W - mixture.y, V)
        best = np.argsort(-reduced, kind="stable")[: tuning.LIST_SHARE * n]
        return np.concatenate([found, self.vertices[best]])

    def prove(self, search: QuadraticSearch, mixture: Mixture, thorough: bool) -> None:
        """Over the list of all vectors or over their levels."""
        levels = self.levels
        if self.vertices is not None:
            W, y = mixture.whole
            upper = efficiency_bound(self.true, W, most_by_vertices(self.true, W, y, self.vertices))
            search.offer(upper, QuadraticProof(W, y, over_set=True))
        if levels is None:
            return
        if thorough:
            self.stalls += levels.settled
            goal, enough = (
                search.value * (1 + part * self.goal) for part in (tuning.LEVEL_AIM, tuning.ENOUGH)
            )
            for _ in range(tuning.LEVEL_STEPS):
                if levels.settled or levels.upper <= enough or self.effort.pause():
                    break
                levels.improve(search.rows, mixture.weights, goal, self.effort)
        if levels.proof is not None:
            search.offer(levels.upper, levels.proof)


def over_set(lifts: SetLifts, A: Floats, goal: float, effort: Effort) -> Solution:
    """The mechanism of largest efficiency under the nominal prior that keeps epsilon for every prior of the set.

    The level must be > 0 and below that at which everything may be told.
    """
    priors, pi, n = lifts.priors, lifts.prior.probabilities, lifts.priors.size
    symbols = Symbols.sorted(pi, A)
    true = symbols.apply(pi, lifts.epsilon, A)
    problem = ridged(true)
    cone = SetLevels.of(priors, lifts.c, symbols.order)
    even = cone.symmetric
    if n > (LARGEST_ALIKE if even and true.alike else LARGEST_SIZE):
        raise SizeError(
            f"designs for a set of priors are for at most {LARGEST_SIZE} labels, or {LARGEST_ALIKE} that are all alike",
            given=n,
            remedy="merge rare labels, or design for the nominal prior",
        )
    start, known = None, None
    if even and true.alike:
        known = farthest_bound(true, cone)
        x = farthest(replace(cone, pi=np.full(n, 1 / n)))
        start, found = arranged(true, x, *known, goal, effort)
        if found is not None:
            return symbols.back(found)
    elif even:  # columns of the set, as good under any prior at small levels: see docs/mathematics.md
        shifts = arrange(farthest(replace(cone, pi=np.full(n, 1 / n))), goal, effort)[0]
        rows = 1 + shifts[: tuning.FEW_OUTPUTS * n]
        start = rows / (rows @ true.pi)[:, None] - 1
    vertices = None
    if n <= LARGEST and Sets.of(priors, cone.c).pairs <= tuning.LISTED_LEVELS:
        vertices = robust_vertices(priors, cone.c, tuning.LISTED_LEVELS)[:, symbols.order] - 1
    nominal = relax(problem, tuning.PAIR_ROUNDS, effort)
    upper = efficiency_bound(true, nominal.W, most_by_entries(true, nominal.W))
    upper, proof = known or (upper, QuadraticProof(nominal.W))
    search = QuadraticSearch(
        effort=effort,
        aim=tuning.ENOUGH * goal,
        upper=upper,
        problem=problem,
        true=true,
        goal=goal,
        proof=proof,
        simple=cone.simple(),
    )
    levels = None if vertices is not None else LevelBound(problem, true, cone)
    oracle = LevelsOracle(problem, true, cone, vertices, levels, effort, goal)
    return symbols.back(search_mixtures(search, oracle, start))


def herd(
    cone: SetLevels, inverse: Floats, loss: Floats, y: Floats, pull: Floats, levels: Ints, sweeps: int
) -> Floats:
    """Vectors less 1 to which moving single symbols leads from these levels, as x'Wx - y.x rises.

    As in the exchange oracle's `Greedy`, W = C^-1 G C^-1, and every vector found adds 1/N of itself to C for those
    after it.
    """
    n, count = cone.size, len(levels)
    whole, W, X = padded(inverse), padded(inverse @ loss @ inverse), np.zeros((count, n))
    form = record(
        "herd",
        inverse=writes(whole, np.float64, n, n),
        W=writes(W, np.float64, n, n),
        y=reads(y, np.float64, n),
        pull=reads(pull, np.float64, n),
        weight=1 / n,
    )
    moving = np.array(levels, dtype=np.int64, order="C")
    failed = library().extremal_herd_levels(
        cone.compiled,
        form,
        count,
        sweeps,
        writes(moving, np.int64, count, n),
        writes(X, np.float64, count, n),
    )
    if failed:
        raise MemoryError
    return np.asarray(X[np.abs(X).max(axis=1) > 0])
