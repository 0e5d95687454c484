"""The mechanism for every prior of a set with the least error of what is estimated, and a proven bound.

The same mixtures as for one prior, of lift vectors that are admissible for the whole set: all of them where they can be
listed, else by local search, with a bound over the levels of lifts. Efficiency is that under the nominal prior.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from ...._common.types import Floats
from ....errors import SizeError
from ....model.prior_set import PriorSet
from ....model.proof import Certificate
from ...centred import Problem, make_problem
from ...closed_forms.symmetric import alike, arrange, farthest, farthest_bound, symmetric
from ...cone import Cone
from ...estimates import ROUNDS, Solution, check_purpose, in_order
from ...masters.quadratic import Mixture
from ...search import ENOUGH, FEW, PAIR_ROUNDS, arranged, improve, ridged
from ...watch import Progress, Watch
from ..exchange.bounds import efficiency_bound, most_by_entries, most_by_vertices
from ..exchange.oracle import whole
from ..exchange.relaxation import relax
from ..nested.vertices import LARGEST, Sets, robust_vertices
from .bound import LevelBound
from .kernels import herd

MOST = 3**12  # lift vectors to be listed: all of 12 symbols
SWEEPS = 20
PULL = 0.2
STEPS = 4  # of the bound over levels, each time
AIM = 0.5  # of the goal, that bounds of single cells need not be below
SHARE = 5  # the part of the list that is added at once is so many times the number of symbols
STALLS = 4  # rounds without gain, with a bound that is settled, after which to stop
LARGEST_ALIKE = 2000  # symbols
LARGEST_SIZE = 300  # symbols that are not all alike: mixing takes minutes beyond
SMALL_GAIN = 2e-4  # of the efficiency: rounds that bring less are stalled


def robust_tolerance(size: int) -> float:
    """The relative gap that is within reach for so many symbols and a set of priors."""
    return 1e-3 if size <= 12 else 2e-2 if size <= 40 else 5e-2


@dataclass(eq=False)
class RobustColumns:
    """Finds lift vectors less 1 that are admissible for a set of priors, and proves bounds over all of them."""

    problem: Problem
    true: Problem
    cone: Cone
    vertices: Floats | None
    levels: LevelBound
    upper: float
    relaxation: Certificate
    watch: Watch
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
        return self.vertices is None and self.stalls >= STALLS

    def little(self, value: float, upper: float) -> float:
        """A round that gains less has stalled: only then is a bound over levels worth its time."""
        return SMALL_GAIN * value if self.vertices is None else 0.1 * (upper - value)

    def first(self) -> tuple[Floats, Floats]:
        """Vectors to begin with, some of which mix to mean 0."""
        X = self.cone.single()
        return X, np.full(len(X), 1 / len(X))

    def more(self, mixture: Mixture, round_: int, listed: bool) -> Floats:
        """Vectors that would improve a mixture."""
        n = self.problem.size
        own = np.diagonal(mixture.W)
        pull = PULL * np.append(own[0], own)
        starts = self.cone.starts(np.random.default_rng(round_), 2 * n)
        y = np.append(0.0, mixture.y)
        found = herd(self.cone, mixture.inverse, self.problem.loss, y, pull, starts, SWEEPS)
        if self.vertices is None:
            return found
        V = self.vertices[:, 1:]
        reduced = np.einsum("ki,ki->k", V @ mixture.W - mixture.y, V)
        best = np.argsort(-reduced, kind="stable")[: SHARE * n]
        return np.concatenate([found, self.vertices[best]])

    def bound(self, mixture: Mixture, X: Floats, listed: bool) -> tuple[float, Certificate]:
        """The efficiency that no mechanism exceeds, over the list of all vectors or over their levels."""
        if self.vertices is not None:
            W, y = whole(mixture)
            upper = efficiency_bound(self.true, W, most_by_vertices(self.true, W, y, self.vertices))
            return upper, Certificate(W, y, over_set=True)
        levels = self.levels
        if listed:
            self.stalls += levels.settled
            goal, enough = (self.watch.value * (1 + part * self.goal) for part in (AIM, ENOUGH))
            for _ in range(STEPS):
                if levels.settled or levels.upper <= enough or self.watch.over():
                    break
                levels.improve(X, mixture.weights, goal, self.watch)
        if levels.certificate is None or levels.upper >= self.upper:
            return self.upper, self.relaxation
        return levels.upper, levels.certificate


def solve_set(
    priors: PriorSet,
    epsilon: float,
    A: Floats,
    *,
    tolerance: float | None = None,
    rounds: int = ROUNDS,
    time_limit: float = math.inf,
    progress: Progress | None = None,
) -> Solution:
    """The mechanism of largest efficiency under the nominal prior that keeps epsilon for every prior of the set.

    Parameters as those of solve.solve. The level must be > 0 and below that at which everything may be told.
    """
    watch = Watch(time.perf_counter() + time_limit, progress)
    pi, A = check_purpose(priors.nominal.probabilities, A)
    n = priors.size
    order = np.lexsort((-np.diagonal(A), -pi))
    true = make_problem(pi[order], epsilon, A[np.ix_(order, order)])
    problem = ridged(true)
    cone = Cone.of(priors, epsilon, order)
    goal = robust_tolerance(n) if tolerance is None else tolerance
    start, known = None, None
    if n > (LARGEST_ALIKE if symmetric(cone) and alike(true) else LARGEST_SIZE):
        raise SizeError(
            f"designs for a set of priors are for at most {LARGEST_SIZE} labels, or {LARGEST_ALIKE} that are all alike",
            given=n,
            remedy="merge rare labels, or design for the nominal prior",
        )
    if symmetric(cone):
        even = replace(cone, pi=np.full(n, 1 / n))
        if alike(true):
            known = farthest_bound(true, cone)
            start, found = arranged(true, farthest(even), *known, goal, watch)
            if found is not None:
                return in_order(found, true, np.arange(n), order, watch)
        else:  # columns of the set, as good under any prior at small levels: see docs/robust.md
            lifts = 1 + arrange(farthest(even), goal, watch)[0][: FEW * n]
            start = lifts / (lifts @ true.pi)[:, None] - 1
    vertices = None
    if n <= LARGEST and Sets.of(priors, cone.c).pairs <= MOST:
        vertices = robust_vertices(priors, cone.c, MOST)[:, order] - 1
    nominal = relax(problem, PAIR_ROUNDS, watch)
    upper = efficiency_bound(true, nominal.W, most_by_entries(true, nominal.W))
    upper, proof = known or (upper, Certificate(nominal.W))
    levels = LevelBound(problem, true, cone)
    source = RobustColumns(problem, true, cone, vertices, levels, upper, proof, watch, goal)
    found = improve(source, cone.simple(), goal, rounds, watch, start)
    found = replace(found, certificate=found.certificate.with_symbols(order))
    return in_order(found, true, np.arange(n), order, watch)
