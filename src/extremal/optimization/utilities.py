"""How the best mechanism for a utility is found, in each way that there is for one prior."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import UtilityError
from ..model.blocks import LARGEST_DENSE, BlockMechanism, Blocks
from ..model.lift_sets import NOTHING, PriorLifts
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.utility import ExpectedGain, FInformation, Utility
from ..theory.arc import arc_columns
from ..theory.pairing import numbered, pair_outputs
from ..theory.polytope import polytope_vertices
from ..theory.reduction import reduce_outputs
from .closed_forms.utilities import binary, constant, high_privacy, identity, tiny, uniform
from .effort import Effort
from .finish import Found
from .generate import Solution
from .masters.gains import gain_program
from .masters.linear import enumerate_program
from .oracles.knapsack.local_search import heuristic_generation
from .oracles.knapsack.separable import CELLS, FINE_CELLS, Separable
from .problem import Problem
from .reductions.merging import solve_separable
from .result import Arcs

MEASURED = 1000  # symbols whose arc mechanism is made to measure its value: small levels need every digit
COARSE = 1e-7  # tolerances from which on a coarse table of f is enough
ENUMERATED = 10  # symbols up to which all vertices are listed for an f-information
ENUMERABLE = 14  # and for other utilities


def choose(problem: Problem) -> str:
    """The rule in the docstring of design()."""
    prior, utility, low = problem.nominal, problem.utility, problem.low
    if problem.epsilon == 0 or low == 1:
        return "constant"
    if low == 0:
        region = prior.region(problem.epsilon)
        if region > prior.size:
            return "identity"
        if prior.size == 2:
            return "binary"
        if region == 1:
            return "high-privacy"
        large = prior.size > LARGEST_DENSE and isinstance(utility, FInformation)
        if prior.is_uniform and isinstance(utility, Utility) and utility.symmetric and not large:
            return "uniform"
    if isinstance(utility, ExpectedGain):
        return "gain-program"
    most = ENUMERATED if isinstance(utility, FInformation) else ENUMERABLE
    return "enumeration" if prior.size <= most else "column-generation"


def _separable(problem: Problem, effort: Effort) -> Separable:
    """The problem as pricing sees it, if the utility is an f-information."""
    utility, lifts = problem.utility, problem.lifts
    if not isinstance(utility, FInformation) or not isinstance(lifts, PriorLifts):
        raise UtilityError(
            "this needs an f-information and one prior",
            given=f"{utility!r}",
            remedy="`utility=ex.mutual_information` is one",
        )
    cells = CELLS if problem.goal(effort) >= COARSE else FINE_CELLS
    return Separable(problem.nominal.probabilities, utility.f, lifts.low, lifts.high, cells)


def _enumeration(problem: Problem, effort: Effort) -> Found:
    """Algorithm 1 and Theorem 5."""
    lifts, pi = problem.lifts, problem.nominal.probabilities
    return _solved(problem, enumerate_program(pi, problem.low, lifts.high, problem.mu))


def _vertices(problem: Problem, effort: Effort) -> Found:
    """The best of all extremal mechanisms (Lemma 1). The dual vector is that of the program over lift vectors."""
    prior, utility = problem.nominal, problem.utility
    assert isinstance(utility, Utility)
    extremal = polytope_vertices(prior, problem.epsilon)
    values = [math.fsum(utility.columns(prior, P)) for P in extremal]
    best = extremal[int(np.argmax(values))]
    mechanism = Mechanism(best[:, best.max(axis=0) > 1e-12], prior.labels)
    program = enumerate_program(prior.probabilities, problem.low, problem.lifts.high, problem.mu)
    return Found("vertices", mechanism, dual=program.dual)


def _column_generation(problem: Problem, effort: Effort) -> Found:
    """Theorem 5 over columns made as they are needed; proven for f-information only."""
    effort.for_size(problem.nominal.size)
    if isinstance(problem.utility, FInformation):
        separable = _separable(problem, effort)
        return _solved(problem, solve_separable(separable, problem.goal(effort), effort, problem.start))
    pi, high = problem.nominal.probabilities, problem.lifts.high
    return _solved(problem, heuristic_generation(pi, problem.low, high, problem.mu, effort))


def _gain(problem: Problem, effort: Effort) -> Found:
    """One linear program with an output for each decision."""
    utility = problem.utility
    if not isinstance(utility, ExpectedGain):
        raise UtilityError(
            "the gain program needs an ExpectedGain",
            given=f"{utility!r}",
            remedy="leave the oracle to `solve`",
        )
    high = problem.lifts.high
    return _solved(problem, gain_program(problem.nominal.probabilities, utility.gain, problem.low, high))


def arc(problem: Problem, effort: Effort) -> Found:
    """The arc mechanism, symbols on the circle in the caller's order or by decreasing mass, whichever is better.

    For an f-information everything is computed without the matrix, and the analytic bound comes with it.
    """
    prior, utility, low, high = problem.nominal, problem.utility, problem.low, problem.lifts.high
    pi = prior.probabilities
    orders = [np.arange(len(pi)), np.argsort(-pi, kind="stable")]
    made = [Arcs(prior, arc_columns(pi[order], low, high), order) for order in orders]
    if not isinstance(utility, FInformation):
        mechanisms = [arcs.mechanism() for arcs in made]
        best = max(mechanisms, key=lambda mechanism: utility(prior, mechanism))
        return Found("arc", best, math.inf)
    value, k = max((arcs.columns.separable_value(utility.f), k) for k, arcs in enumerate(made))
    if len(pi) <= MEASURED:
        value = utility(prior, made[k].mechanism())
    dual = _separable(problem, effort).analytic_dual()
    return Found("arc", made[k], math.fsum(dual), dual, value=value)


def _solved(problem: Problem, solution: Solution) -> Found:
    """The mechanism of a solved program, made exactly feasible."""
    prior = problem.nominal
    if solution.block is not None:
        return _solved_in_blocks(problem, solution, Blocks(prior.labels, solution.block.astype(np.uint32)))
    mechanism = _reduced(problem, prior, solution)
    return Found("", mechanism, solution.upper, solution.dual, stats=solution.stats)


def _reduced(problem: Problem, prior: Prior, solution: Solution) -> Mechanism:
    """With at most as many outputs as inputs, unless time was up before the first program was solved."""
    lifts = PriorLifts(prior, problem.epsilon, problem.low)
    mechanism = lifts.repaired(solution.mechanism(prior.labels))
    hurried = solution.stats.stopped and solution.stats.rounds == 0
    if mechanism.shape[1] <= prior.size or hurried:
        return mechanism
    assert isinstance(problem.utility, Utility)
    return reduce_outputs(prior, mechanism, problem.utility)


def _solved_in_blocks(problem: Problem, solution: Solution, blocks: Blocks) -> Found:
    """The same for symbols merged into blocks: an f-information depends on a block through its mass alone.

    Reports carry the label of the likeliest symbol of the block that they are paired with.
    """
    whole, prior = problem.nominal, blocks.merged(problem.nominal)
    between = _reduced(problem, prior, solution)
    value = problem.utility(prior, between)
    paired = pair_outputs(prior, between)
    place = {name: whole.labels[i] for name, i in zip(blocks.names, blocks.likeliest(whole), strict=True)}
    many = between.shape[1] > blocks.count
    names = numbered(whole.labels, between.shape[1]) if many else [place[k] for k in paired.outputs]
    named = BlockMechanism(blocks, Mechanism(paired.matrix, paired.inputs, names))
    made = named if whole.size > LARGEST_DENSE else named.dense()
    return Found("", made, solution.upper, solution.dual, stats=solution.stats, value=value)


WAYS: dict[str, Callable[[Problem, Effort], Found]] = {
    "constant": constant,
    "identity": identity,
    "binary": binary,
    "high-privacy": high_privacy,
    "uniform": uniform,
    "enumeration": _enumeration,
    "vertices": _vertices,
    "column-generation": _column_generation,
    "gain-program": _gain,
    "arc": arc,
}


def best_for_utility(problem: Problem, effort: Effort, way: str) -> Found:
    """What this way finds; without a difference between lifts there is the constant mechanism alone."""
    assert isinstance(problem.lifts, PriorLifts)
    from_excess = way in ("binary", "high-privacy", "uniform") and tiny(problem)
    settled = problem.lifts.settled(NOTHING / 10 if from_excess else NOTHING)
    return replace(WAYS["constant" if settled else way](problem, effort), method=way)
