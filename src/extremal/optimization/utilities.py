"""The ways to the best mechanism for a utility: for one prior, for a set of priors, and under other notions than PML.

For one prior `WAYS` lists them.

For a set of priors it is Theorem 5's program over the columns of the set. A mechanism satisfies epsilon-PML for every
prior of a set if and only if each of its columns p does: max_i p_i <= e^epsilon h(p), h(p) the smallest mean of p over
the set. h is concave and positively homogeneous, so these columns form a convex cone, and the best mechanism is a
combination of its extreme columns, normalised to mean 1 under the nominal prior. Utility is that under the nominal
prior.

Other notions:

- Local differential privacy: columns are patterns in {1, e^epsilon}^N (staircase mechanisms, Kairouz, Oh and
  Viswanath, 2016).
- Local information privacy: lifts within [e^-epsilon, e^epsilon], the program of Theorem 5 with a lower bound.
- Maximal leakage: sum_y max_x P(y|x) <= e^epsilon. Columns scaled to maximum 1 lie in a cube, so its corners suffice:
  an output is a set of symbols, and there is one row more for the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._common import checks
from .._common.highs import INFINITE, Program
from .._common.types import Floats
from ..errors import SizeError, SolverError, UtilityError
from ..model.blocks import LARGEST_DENSE, BlockMechanism, Blocks
from ..model.leakage import ROUNDING
from ..model.levels import bounded_exp, every_set
from ..model.lift_sets import NOTHING, PriorLifts, SetLifts
from ..model.mechanism import Mechanism, numbered, pair_outputs
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.utility import ExpectedGain, FInformation, Utility
from ..theory.lift_vectors import Arcs, arc_columns
from ..theory.reduction import reduce_outputs
from . import tuning
from .closed_forms import (
    binary,
    binary_over_set,
    constant,
    high_privacy,
    identity,
    tiny,
    uniform,
    uniform_over_set,
)
from .effort import Effort
from .finish import Found
from .generate import Solution
from .masters.linear import Master, enumerate_program, gain_program, listed_program
from .oracles.knapsack.oracle import heuristic_generation, solve_separable
from .oracles.knapsack.separable import Separable
from .oracles.nested.programs import robust_generation
from .problem import Problem
from .set_levels import LARGEST, Sets, robust_vertices


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
    most = tuning.ENUMERATED if isinstance(utility, FInformation) else tuning.ENUMERABLE
    return "enumeration" if prior.size <= most else "column-generation"


def _separable(problem: Problem, effort: Effort) -> Separable:
    """The problem as pricing sees it, for an f-information."""
    assert isinstance(problem.utility, FInformation)
    cells = tuning.CELLS if problem.goal(effort) >= tuning.COARSE else tuning.FINE_CELLS
    return Separable(problem.nominal.probabilities, problem.utility.f, problem.low, problem.lifts.high, cells)


def _enumeration(problem: Problem, effort: Effort) -> Found:
    """Algorithm 1 and Theorem 5."""
    lifts, pi = problem.lifts, problem.nominal.probabilities
    return _solved(problem, enumerate_program(pi, problem.low, lifts.high, problem.mu))


def _column_generation(problem: Problem, effort: Effort) -> Found:
    """Theorem 5 over columns made as they are needed; proven for f-information only."""
    effort.for_size(problem.nominal.size)
    if isinstance(problem.utility, FInformation):
        separable = _separable(problem, effort)
        return _solved(problem, solve_separable(separable, problem.goal(effort), effort))
    pi, high = problem.nominal.probabilities, problem.lifts.high
    return _solved(problem, heuristic_generation(pi, problem.low, high, problem.mu, effort))


def _gain(problem: Problem, effort: Effort) -> Found:
    """One linear program with an output for each decision."""
    remedy = "leave the oracle to `solve`"
    utility = checks.instance(
        problem.utility, "utility", ExpectedGain, "an ExpectedGain", remedy=remedy, error=UtilityError
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
    if len(pi) <= tuning.MEASURED:
        value = utility(prior, made[k].mechanism())
    dual = _separable(problem, effort).analytic_dual()
    return Found("arc", made[k], math.fsum(dual), dual, value=value)


def _solved(problem: Problem, solution: Solution) -> Found:
    """The mechanism of a solved program, made exactly feasible."""
    prior = problem.nominal
    if solution.block is not None:
        return _solved_in_blocks(problem, solution, Blocks(prior.labels, solution.block.astype(np.uint32)))
    mechanism = _reduced(problem, prior, solution)
    return Found("", mechanism, solution.upper, solution.proof, stats=solution.stats)


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
    return Found("", made, solution.upper, solution.proof, stats=solution.stats, value=value)


WAYS: dict[str, Callable[[Problem, Effort], Found]] = {
    "constant": constant,
    "identity": identity,
    "binary": binary,
    "high-privacy": high_privacy,
    "uniform": uniform,
    "enumeration": _enumeration,
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
    listed = priors.size <= LARGEST and Sets.of(priors, lifts.c).pairs <= tuning.LISTED_PAIRS
    return "enumeration" if listed else "column-generation"


def best_over_set(problem: Problem, effort: Effort, lifts: SetLifts) -> Found:
    """The mechanism of largest utility under the nominal prior that satisfies epsilon-PML for the whole set."""
    auto = choose_over_set(problem, lifts)
    if auto in ("constant", "identity"):
        return replace(WAYS[auto](problem, effort), method=f"robust {auto}")
    name = auto if problem.oracle == "auto" else problem.oracle
    if name == "column-generation":
        effort.for_size(lifts.priors.size, tuning.NODES_IN_PROGRAMS)
        solution = robust_generation(problem, lifts, effort)
    else:
        solution = LISTED[name](problem, lifts)
    mechanism = solution.mechanism(problem.nominal.labels)
    assert isinstance(problem.utility, Utility)
    if mechanism.shape[1] > problem.nominal.size:
        mechanism = reduce_outputs(problem.nominal, mechanism, problem.utility)
    mechanism = lifts.repaired(mechanism)
    return Found(f"robust {name}", mechanism, solution.upper, solution.proof, stats=solution.stats)


def _best_of(problem: Problem, lifts: Floats) -> Solution:
    """The optimum over these lift vectors."""
    gains = problem.mu(lifts)
    scale = max(float(np.abs(gains).max()), 1e-300)
    master = Master(problem.nominal.probabilities, 0.0, float(lifts.max()), scale)
    return listed_program(master, lifts, gains, problem.mu)


LISTED: dict[str, Callable[[Problem, SetLifts], Solution]] = {
    "binary": binary_over_set,
    "uniform": uniform_over_set,
    "enumeration": lambda problem, lifts: _best_of(problem, robust_vertices(lifts.priors, lifts.c)),
}

LARGEST_LISTED = 14  # symbols: 2^14 patterns


def largest_under_ldp(problem: Problem, effort: Effort) -> Found:
    """A mechanism of largest utility under epsilon-local differential privacy: P(y|x) <= e^epsilon P(y|x').

    The linear program over all patterns in {1, e^epsilon}^N, up to 14 symbols. Its dual vector proves the bound for
    lift vectors with max <= e^epsilon min.
    """
    prior = _small(problem, "design(PriorSet.at_least(prior, 0), epsilon)")
    if problem.epsilon <= NOTHING:
        return constant(problem, effort)
    # The last one would be constant, too.
    patterns = 1 + (bounded_exp(problem.epsilon) - 1) * every_set(prior.size)[:-1]
    lifts = np.vstack((np.ones(prior.size), patterns / (patterns @ prior.probabilities)[:, None]))
    solution = _best_of(problem, lifts)
    every = SetLifts(PriorSet.at_least(prior, 0.0), problem.epsilon)
    mechanism = every.repaired(solution.mechanism(prior.labels))
    return Found("staircase", mechanism, solution.upper, solution.proof)


def largest_under_maximal_leakage(problem: Problem) -> Found:
    """A mechanism of largest utility with maximal leakage up to epsilon: sum_y max_x P(y|x) <= e^epsilon.

    The linear program over all sets of symbols, up to 14 symbols. No single outcome is bounded by it: its PML can be
    anything up to epsilon_max.
    """
    prior = _small(problem, "design(prior, epsilon), whose maximal leakage is at most epsilon")
    sets, budget = every_set(prior.size), bounded_exp(problem.epsilon)
    gains = problem.mu(sets)
    scale = max(float(np.abs(gains).max()), 1e-300)
    program = Program({"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}, True)
    most = min(budget, float(prior.size))
    rows = np.column_stack((sets, np.ones(len(sets))))  # of each set: its symbols, and what it costs
    right = np.append(np.ones(prior.size), most)
    program.add_rows(np.append(right[:-1], -INFINITE), right, np.zeros((len(right), 0)))
    program.add_columns(gains / scale, np.zeros(len(sets)), np.full(len(sets), INFINITE), rows)
    if (status := program.run()) != "optimal":
        raise SolverError(f"the program for maximal leakage ended with status {status}")
    shares, multipliers = program.solution()
    y, z = multipliers[:-1] * scale, max(float(multipliers[-1]) * scale, 0.0)
    z += max(float(np.max(gains - sets @ y)) - z, 0.0)
    used = shares > 1e-12
    P = sets[used].T * shares[used]
    P = P / P.sum(axis=1, keepdims=True)
    total = float(P.max(axis=0).sum())
    if total > budget * (1 + ROUNDING):
        keep = (budget - 1) / (total - 1)
        P = keep * P + (1 - keep) * (prior.probabilities @ P)
    upper = math.fsum(y) + z * most
    return Found("sets", Mechanism(P, prior.labels), upper)


def _small(problem: Problem, instead: str) -> Prior:
    prior = problem.nominal
    if prior.size > LARGEST_LISTED:
        raise SizeError(
            f"this lists all sets of symbols and needs at most {LARGEST_LISTED} symbols",
            given=prior.size,
            remedy=f"use {instead}",
        )
    return prior
