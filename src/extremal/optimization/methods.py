"""One function for each method of design(): from a task to a mechanism and what is proven about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import UtilityError
from ..model.blocks import LARGEST_DENSE, BlockMechanism, Blocks
from ..model.leakage import lift
from ..model.mechanism import Mechanism
from ..model.mechanism import constant as constant_mechanism
from ..model.mechanism import identity as identity_mechanism
from ..model.utility import NEAR, NEAR_ONE, ExpectedGain, FInformation, near_one
from ..theory import closed_form
from ..theory.arc import arc_columns
from ..theory.pairing import numbered, pair_outputs
from ..theory.polytope import polytope_vertices
from ..theory.reduction import reduce_outputs
from .generate import Solution, better_conditioned, enumerate_program
from .masters.gains import gain_program
from .oracles.knapsack.local_search import heuristic_generation
from .problem import Task
from .reductions.merging import solve_separable
from .result import Arcs, Design, finished, measured, within_lifts

ROUNDED = 1e-15  # a level that lifts, which are doubles next to 1, can still show
MEASURED = 1000  # symbols whose arc mechanism is made to measure its value: small levels need every digit


def constant(task: Task) -> Design:
    """epsilon = 0: nothing may be told. The only lift vector is 1, so any y with sum(y) = mu(1) is dual feasible.

    Above 0 an f-information could be larger, by less than doubles can hold: no column adds more than its symbols do at
    the ends of their lifts.
    """
    mechanism = constant_mechanism(task.prior)
    value = task.utility(task.prior, mechanism)
    if isinstance(task.utility, FInformation) and task.epsilon > 0 and task.low < 1:
        pi, x = task.prior.probabilities, max(task.epsilon, ROUNDED)
        ends = np.full(len(pi), math.expm1(x)), -np.minimum(math.expm1(x) * (1 / pi - 1), 1.0)
        upper = float(pi @ np.maximum(*(near_one(task.utility.f, end) for end in ends)))
        found = finished(task, mechanism, value, value + upper, (value + upper) * pi)
        return replace(found, upper_bound=value + upper, proven=False)
    return finished(task, mechanism, value, value, value * task.prior.probabilities)


def identity(task: Task) -> Design:
    """epsilon >= epsilon_max: X itself. Lift vectors are all mixtures of e_i/pi_i, so y_i = pi_i mu(e_i/pi_i)."""
    mechanism = identity_mechanism(task.prior)
    dual = task.prior.probabilities * task.mu(np.diag(1 / task.prior.probabilities))
    return measured(task, mechanism, None, dual)


def binary(task: Task) -> Design:
    """Theorem 2. Two vertices, so y solves two equations."""
    mechanism = closed_form.binary(task.prior, task.epsilon)
    if task.prior.region(task.epsilon) == 1:
        return _in_first_region(task, mechanism)
    vertices = lift(task.prior, mechanism).T
    dual = np.asarray(np.linalg.solve(vertices, task.mu(vertices)), dtype=np.float64)
    return measured(task, mechanism, None, dual)


def high_privacy(task: Task) -> Design:
    """Theorem 3."""
    return _in_first_region(task, closed_form.high_privacy(task.prior, task.epsilon))


def uniform(task: Task) -> Design:
    """Theorem 4. By symmetry y_i = U/N, and every vertex has the same utility."""
    if not task.utility.symmetric:
        raise UtilityError(
            "Theorem 4 needs a symmetric utility",
            given=f"{task.utility!r}",
            remedy="promise it with Utility(mu, symmetric=True)",
        )
    mechanism = closed_form.uniform(task.prior, task.epsilon)
    if task.prior.region(task.epsilon) == 1 and tiny(task):
        return _in_first_region(task, mechanism)
    value = task.utility(task.prior, mechanism)
    return measured(task, mechanism, None, np.full(task.prior.size, value / task.prior.size))


def enumeration(task: Task) -> Design:
    """Algorithm 1 and Theorem 5."""
    return _solved(task, enumerate_program(task.prior.probabilities, task.low, task.high, task.mu))


def vertices(task: Task) -> Design:
    """The best of all extremal mechanisms (Lemma 1). The dual vector is that of the program over lift vectors."""
    if task.low > 0:
        raise UtilityError(
            "the vertices of the polytope are for PML",
            given=f"lifts from {task.low:.6g} on",
            remedy="`theory.enumerated` knows other notions",
        )
    extremal = polytope_vertices(task.prior, task.epsilon)
    values = [math.fsum(task.utility.columns(task.prior, P)) for P in extremal]
    best = extremal[int(np.argmax(values))]
    mechanism = Mechanism(best[:, best.max(axis=0) > 1e-12], task.prior.labels)
    dual = enumerate_program(task.prior.probabilities, task.low, task.high, task.mu).dual
    return measured(task, mechanism, None, dual)


def column_generation(task: Task) -> Design:
    """Theorem 5 over columns made as they are needed; proven for f-information only."""
    if isinstance(task.utility, FInformation):
        return _solved(
            task,
            solve_separable(task.separable(), task.tolerance, task.budget(), task.start, task.progress),
        )
    pi = task.prior.probabilities
    return _solved(
        task,
        heuristic_generation(pi, task.low, task.high, task.mu, task.budget(), progress=task.progress),
    )


def gain(task: Task) -> Design:
    """One linear program with an output for each decision."""
    if not isinstance(task.utility, ExpectedGain):
        raise UtilityError(
            "the gain program needs an ExpectedGain",
            given=f"{task.utility!r}",
            remedy="leave the oracle to `solve`",
        )
    pi = task.prior.probabilities
    return _solved(task, gain_program(pi, task.utility.gain, task.low, task.high))


def arc(task: Task) -> Design:
    """The arc mechanism, symbols on the circle in the caller's order or by decreasing mass, whichever is better.

    For an f-information everything is computed without the matrix, and the analytic bound comes with it.
    """
    pi = task.prior.probabilities
    orders = [np.arange(len(pi)), np.argsort(-pi, kind="stable")]
    made = [(arc_columns(pi[order], task.low, task.high), order) for order in orders]
    if not isinstance(task.utility, FInformation):
        mechanisms = [Arcs(task.prior, *arcs).mechanism() for arcs in made]
        best = max(mechanisms, key=lambda mechanism: task.utility(task.prior, mechanism))
        return measured(task, best, math.inf, None)
    f = task.utility.f
    value, k = max((columns.separable_value(f), k) for k, (columns, _) in enumerate(made))
    if len(pi) <= MEASURED:
        value = task.utility(task.prior, Arcs(task.prior, *made[k]).mechanism())
    dual = task.separable().analytic_dual()
    return finished(task, Arcs(task.prior, *made[k]), value, math.fsum(dual), dual)


def _in_first_region(task: Task, mechanism: Mechanism) -> Design:
    """Theorem 3. y_j = pi_j (c m - m_j) / (c - 1), m_j the utility of vertex v_j and m its mean: y . v_j = m_j."""
    c, pi = task.high, task.prior.probabilities
    spread = math.expm1(task.epsilon) if tiny(task) else c - 1  # c is what lift vectors are held against
    low = -np.minimum(spread * ((1 - pi) / pi), 1.0)  # of the lift of symbol j in v_j, less 1
    if isinstance(task.utility, FInformation) and tiny(task):
        # From lifts less 1: a matrix of doubles says little of an epsilon near 1e-16, and its value as little.
        f = task.utility.f
        gains = (1 - pi) * near_one(f, np.full(len(pi), spread)) + pi * near_one(f, low)
    else:
        lifts = np.full((len(pi), len(pi)), c)
        np.fill_diagonal(lifts, 1 + low)
        gains = task.mu(lifts)
    mean = float(pi @ gains)
    off = mean - gains
    dual = np.asarray(
        pi * (mean + (off - float(pi @ off)) / spread)
    )  # rounding in the mean would be divided, too
    dual = better_conditioned(dual, pi, gains)
    if tiny(task):
        return finished(task, pair_outputs(task.prior, mechanism), mean, math.fsum(dual), dual)
    return measured(task, mechanism, None, dual)


def tiny(task: Task) -> bool:
    """Whether c is so near 1 that an f-information is summed in lifts less 1."""
    return isinstance(task.utility, FInformation) and task.utility.f in NEAR_ONE and task.high - 1 < NEAR


def _solved(task: Task, solution: Solution) -> Design:
    """The mechanism of a solved program, made exactly feasible, with its value measured again."""
    if solution.block is not None:
        return _solved_in_blocks(task, solution, Blocks(task.prior.labels, solution.block.astype(np.uint32)))
    mechanism = within_lifts(task.prior, solution.mechanism(task.prior.labels), task.epsilon, task.low)
    if mechanism.shape[1] > task.prior.size and not _hurried(solution):
        mechanism = reduce_outputs(task.prior, mechanism, task.utility)
    return measured(task, mechanism, solution.upper, solution.dual, solution.stats)


def _hurried(solution: Solution) -> bool:
    """Whether time was up before the first program was solved: then nothing that takes long may follow."""
    return solution.stats.stopped and solution.stats.rounds == 0


def _solved_in_blocks(task: Task, solution: Solution, blocks: Blocks) -> Design:
    """The same for symbols merged into blocks: an f-information depends on a block through its mass alone.

    Reports carry the label of the likeliest symbol of the block that they are paired with.
    """
    prior = blocks.merged(task.prior)
    between = within_lifts(prior, solution.mechanism(prior.labels), task.epsilon, task.low)
    if between.shape[1] > blocks.count and not _hurried(solution):
        between = reduce_outputs(prior, between, task.utility)
    value = task.utility(prior, between)
    paired = pair_outputs(prior, between)
    place = {
        name: task.prior.labels[i] for name, i in zip(blocks.names, blocks.likeliest(task.prior), strict=True)
    }
    many = between.shape[1] > blocks.count
    names = numbered(task.prior.labels, between.shape[1]) if many else [place[k] for k in paired.outputs]
    named = Mechanism(paired.matrix, paired.inputs, names)
    made = BlockMechanism(blocks, named)
    found = finished(task, made, value, solution.upper, solution.dual, solution.stats)
    return found if task.prior.size > LARGEST_DENSE else replace(found, made=made.dense())


METHODS: dict[str, Callable[[Task], Design]] = {
    "constant": constant,
    "identity": identity,
    "binary": binary,
    "high-privacy": high_privacy,
    "uniform": uniform,
    "enumeration": enumeration,
    "vertices": vertices,
    "column-generation": column_generation,
    "gain-program": gain,
    "arc": arc,
}
