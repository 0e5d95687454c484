"""Designs that hold for every prior of a set: Theorem 5's program over the admissible columns of the set.

A mechanism satisfies epsilon-PML for every prior of a set if and only if each of its columns p does:
max_i p_i <= e^epsilon h(p), h(p) the smallest mean of p over the set. h is concave and positively homogeneous, so
these columns form a convex cone, and the best mechanism is a combination of its extreme columns, normalised to mean 1
under the nominal prior. Utility is that under the nominal prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..model.leakage import pml
from ..model.mechanism import Mechanism
from ..model.prior_set import PriorSet
from ..model.regions import bounded_exp
from ..model.utility import ExpectedGain
from ..theory.reduction import reduce_outputs
from .generate import Solution, listed_program
from .masters.linear import Master
from .methods import constant, identity
from .oracles.nested.generation import robust_generation
from .oracles.nested.lift_program import admissible
from .oracles.nested.vertices import LARGEST, MOST, Sets, best_symmetric, robust_vertices
from .problem import Task
from .result import EXCESS, Design, measured

NOTHING = 1e-14  # lifts this near to 1 are 1


def robust(task: Task, priors: PriorSet, method: str) -> Design:
    """The mechanism of largest utility under the nominal prior that satisfies epsilon-PML for the whole set."""
    c = bounded_exp(task.epsilon)
    if method == "constant":
        return constant(task)
    if method == "identity":
        return identity(task)
    return _solved(task, priors, METHODS[method](task, priors, c))


def choose_robust(task: Task, priors: PriorSet) -> str:
    """The rule in the docstring of design(), for a set of priors."""
    if task.epsilon <= NOTHING:
        return "constant"
    if task.epsilon >= priors.epsilon_max:
        return "identity"
    if priors.size == 2:
        return "binary"
    if task.utility.symmetric and is_symmetric(priors):
        return "uniform"
    if isinstance(task.utility, ExpectedGain):
        return "column-generation"
    c = bounded_exp(task.epsilon)
    listed = priors.size <= LARGEST and Sets.of(priors, c).pairs <= MOST
    return "enumeration" if listed else "column-generation"


def _binary(task: Task, priors: PriorSet, c: float) -> Solution:
    """Two symbols: admissible lift vectors form a segment, and both ends are used. y solves two equations."""
    lifts = admissible(priors, c, np.diag(1 / priors.nominal.probabilities))
    weights = np.asarray(np.linalg.solve(lifts.T, np.ones(2)), dtype=np.float64)
    gains = task.mu(lifts)
    dual = np.asarray(np.linalg.solve(lifts, gains), dtype=np.float64)
    return Solution(lifts, weights, float(gains @ weights), math.fsum(dual), dual)


def is_symmetric(priors: PriorSet) -> bool:
    """Whether the set and its nominal prior do not change when symbols are permuted."""
    vectors = (priors.nominal.probabilities, priors.center, priors.lower, priors.upper)
    return all(float(np.ptp(x)) <= 1e-14 * float(x.max()) for x in vectors)


def _symmetric(task: Task, priors: PriorSet, c: float) -> Solution:
    """All cyclic shifts of the best column. y_i = U/N, since no column has a larger utility than U (Theorem 4)."""
    n = priors.size
    column = admissible(priors, c, best_symmetric(priors, c, task.mu)[None])[0]
    lifts = column[(np.arange(n)[:, None] + np.arange(n)) % n]
    value = float(task.mu(column[None])[0])
    return Solution(lifts, np.full(n, 1 / n), value, value, np.full(n, value / n))


def _enumerated(task: Task, priors: PriorSet, c: float) -> Solution:
    """The optimum over all extremal lift vectors of the set."""
    pi, vertices = priors.nominal.probabilities, robust_vertices(priors, c)
    gains = task.mu(vertices)
    master = Master(pi, 0.0, float(vertices.max()), max(float(np.abs(gains).max()), 1e-300))
    return listed_program(master, vertices, gains, task.mu)


def _solved(task: Task, priors: PriorSet, solution: Solution) -> Design:
    """The mechanism of a solution, made admissible over the whole set, with its value measured again."""
    mechanism = solution.mechanism(task.prior.labels)
    if mechanism.shape[1] > task.prior.size:
        mechanism = reduce_outputs(task.prior, mechanism, task.utility)
    mechanism = within(priors, task.epsilon, mechanism)
    return measured(task, mechanism, solution.upper, solution.dual, solution.stats)


def within(priors: PriorSet, epsilon: float, mechanism: Mechanism) -> Mechanism:
    """The mechanism, mixed with its own output distribution if rounding put its leakage above epsilon."""
    c = bounded_exp(epsilon)
    rho = mechanism.output_distribution(priors.nominal)
    for _ in range(5):
        leakage = pml(priors, mechanism)
        if leakage.max() <= epsilon + EXCESS:
            break
        over = leakage > epsilon
        L = (mechanism.matrix / np.where(rho > 0, rho, 1.0))[:, over]
        # t - c h, which mixing must make up for, without the digits that cancel.
        lack = -L.max(axis=0) * np.expm1(np.maximum(epsilon - leakage[over], -700.0))
        share = float(np.max(lack / (L.max(axis=0) - 1 + c * (1 - priors.smallest_means(L)))))
        P = (1 - share) * mechanism.matrix + share * rho
        mechanism = Mechanism(P, mechanism.inputs, mechanism.outputs)
    return mechanism


METHODS: dict[str, Callable[[Task, PriorSet, float], Solution]] = {
    "binary": _binary,
    "uniform": _symmetric,
    "enumeration": _enumerated,
    "column-generation": robust_generation,
}
