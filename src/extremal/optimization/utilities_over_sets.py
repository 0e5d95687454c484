"""How the best mechanism for a utility and a set of priors is found: Theorem 5's program over the columns of the set.

A mechanism satisfies epsilon-PML for every prior of a set if and only if each of its columns p does:
max_i p_i <= e^epsilon h(p), h(p) the smallest mean of p over the set. h is concave and positively homogeneous, so
these columns form a convex cone, and the best mechanism is a combination of its extreme columns, normalised to mean 1
under the nominal prior. Utility is that under the nominal prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..model.lift_sets import NOTHING, SetLifts
from ..model.utility import ExpectedGain, Utility
from ..theory.reduction import reduce_outputs
from .closed_forms.utilities import binary_over_set, constant, identity, uniform_over_set
from .effort import IN_PROGRAMS, Effort
from .finish import Found
from .generate import Solution
from .masters.linear import Master, listed_program
from .oracles.nested.generation import robust_generation
from .oracles.nested.vertices import LARGEST, MOST, Sets, robust_vertices
from .problem import Problem


def choose_over_set(problem: Problem, lifts: SetLifts) -> str:
    """The rule in the docstring of design(), for a set of priors."""
    priors, utility = lifts.priors, problem.utility
    if problem.epsilon <= NOTHING:
        return "constant"
    if problem.epsilon >= priors.epsilon_max:
        return "identity"
    if priors.size == 2:
        return "binary"
    if isinstance(utility, Utility) and utility.symmetric and lifts.symmetric:
        return "uniform"
    if isinstance(utility, ExpectedGain):
        return "column-generation"
    listed = priors.size <= LARGEST and Sets.of(priors, lifts.c).pairs <= MOST
    return "enumeration" if listed else "column-generation"


def best_over_set(problem: Problem, effort: Effort, lifts: SetLifts) -> Found:
    """The mechanism of largest utility under the nominal prior that satisfies epsilon-PML for the whole set."""
    auto = choose_over_set(problem, lifts)
    if auto == "constant":
        return replace(constant(problem, effort), method="robust constant")
    if auto == "identity":
        return replace(identity(problem, effort), method="robust identity")
    name = auto if problem.oracle == "auto" else problem.oracle
    solution = (
        _generated(problem, effort, lifts) if name == "column-generation" else LISTED[name](problem, lifts)
    )
    mechanism = solution.mechanism(problem.nominal.labels)
    assert isinstance(problem.utility, Utility)
    if mechanism.shape[1] > problem.nominal.size:
        mechanism = reduce_outputs(problem.nominal, mechanism, problem.utility)
    mechanism = lifts.repaired(mechanism)
    return Found(f"robust {name}", mechanism, solution.upper, solution.dual, stats=solution.stats)


def _enumerated(problem: Problem, lifts: SetLifts) -> Solution:
    """The optimum over all extremal lift vectors of the set."""
    vertices = robust_vertices(lifts.priors, lifts.c)
    gains = problem.mu(vertices)
    scale = max(float(np.abs(gains).max()), 1e-300)
    master = Master(lifts.prior.probabilities, 0.0, float(vertices.max()), scale)
    return listed_program(master, vertices, gains, problem.mu)


def _generated(problem: Problem, effort: Effort, lifts: SetLifts) -> Solution:
    """Columns made as they are needed."""
    return robust_generation(problem, lifts, effort.for_size(lifts.priors.size, IN_PROGRAMS))


LISTED: dict[str, Callable[[Problem, SetLifts], Solution]] = {
    "binary": binary_over_set,
    "uniform": uniform_over_set,
    "enumeration": _enumerated,
}
