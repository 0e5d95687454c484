"""One function for each method of design(): from a task to a mechanism and what is proven about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._types import Floats, Ints
from ..errors import UtilityError
from ..model.leakage import lift
from ..model.mechanism import Mechanism
from ..model.mechanism import constant as constant_mechanism
from ..model.mechanism import identity as identity_mechanism
from ..model.prior import Prior
from ..model.regions import bounded_exp
from ..model.utility import ExpectedGain, FInformation, Utility
from ..theory import closed_form
from ..theory.arc import ArcColumns, arc_columns
from ..theory.pairing import pair_outputs
from ..theory.polytope import polytope_vertices
from ..theory.reduction import reduce_outputs
from .solver.column_generation import Progress, Solution, better_conditioned, enumerate_program
from .solver.gains import gain_program
from .solver.local_search import heuristic_generation
from .solver.merging import solve_separable
from .solver.pricing import CELLS, FINE_CELLS, Separable

EXCESS = 5e-13  # leakage above epsilon that rounding does not explain


@dataclass(frozen=True)
class Task:
    """What is asked for: lifts between `low` and e^epsilon; `start` may hold lift vectors worth trying, as rows."""

    prior: Prior
    epsilon: float
    utility: Utility
    tolerance: float
    time_limit: float
    low: float = 0.0
    progress: Progress | None = None
    start: Floats | None = None

    @property
    def high(self) -> float:
        """e^epsilon, or less where no lift can be that large."""
        least = float(self.prior.probabilities.min())
        return min(bounded_exp(self.epsilon), (1 - self.low * (1 - least)) / least)

    def mu(self, lifts: Floats) -> Floats:
        """The utility of lift vectors given as rows."""
        return self.utility.columns(self.prior, np.ascontiguousarray(lifts.T))

    def separable(self) -> Separable:
        """The problem as pricing sees it, if the utility is an f-information."""
        if not isinstance(self.utility, FInformation):
            raise UtilityError(f"this needs an f-information, got {self.utility!r}; use method='auto'")
        cells = CELLS if self.tolerance >= 1e-7 else FINE_CELLS
        return Separable(self.prior.probabilities, self.utility.f, self.low, self.high, cells)


@dataclass(frozen=True)
class Outcome:
    """A mechanism, or the columns of an arc mechanism over the symbols in `order`, and what is proven about it."""

    value: float
    upper: float
    dual: Floats | None
    mechanism: Mechanism | None = None
    arcs: ArcColumns | None = None
    order: Ints | None = None
    solution: Solution | None = None


def constant(task: Task) -> Outcome:
    """epsilon = 0: nothing may be told. The only lift vector is 1, so any y with sum(y) = mu(1) is dual feasible."""
    mechanism = constant_mechanism(task.prior)
    value = task.utility(task.prior, mechanism)
    return Outcome(value, value, value * task.prior.probabilities, mechanism)


def identity(task: Task) -> Outcome:
    """epsilon >= epsilon_max: X itself. Lift vectors are all mixtures of e_i/pi_i, so y_i = pi_i mu(e_i/pi_i)."""
    mechanism = identity_mechanism(task.prior)
    dual = task.prior.probabilities * task.mu(np.diag(1 / task.prior.probabilities))
    return _closed(task, mechanism, dual)


def binary(task: Task) -> Outcome:
    """Theorem 2. Two vertices, so y solves two equations."""
    mechanism = closed_form.binary(task.prior, task.epsilon)
    if task.prior.region(task.epsilon) == 1:
        return _closed(task, mechanism, _high_privacy_dual(task))
    vertices = lift(task.prior, mechanism).T
    return _closed(
        task, mechanism, np.asarray(np.linalg.solve(vertices, task.mu(vertices)), dtype=np.float64)
    )


def high_privacy(task: Task) -> Outcome:
    """Theorem 3."""
    return _closed(task, closed_form.high_privacy(task.prior, task.epsilon), _high_privacy_dual(task))


def uniform(task: Task) -> Outcome:
    """Theorem 4. By symmetry y_i = U/N, and every vertex has the same utility."""
    if not task.utility.symmetric:
        raise UtilityError(
            f"Theorem 4 needs a symmetric utility, got {task.utility!r}; use method='auto', or promise it with "
            "Utility(mu, symmetric=True)"
        )
    mechanism = closed_form.uniform(task.prior, task.epsilon)
    value = task.utility(task.prior, mechanism)
    return _closed(task, mechanism, np.full(task.prior.size, value / task.prior.size))


def enumeration(task: Task) -> Outcome:
    """Algorithm 1 and Theorem 5."""
    return _solved(task, enumerate_program(task.prior.probabilities, task.low, task.high, task.mu))


def vertices(task: Task) -> Outcome:
    """The best of all extremal mechanisms (Lemma 1). The dual vector is that of the program over lift vectors."""
    if task.low > 0:
        raise UtilityError('method "vertices" has no lower bound on lifts; use "enumeration"')
    extremal = polytope_vertices(task.prior, task.epsilon)
    values = [math.fsum(task.utility.columns(task.prior, P)) for P in extremal]
    best = extremal[int(np.argmax(values))]
    mechanism = Mechanism(best[:, best.max(axis=0) > 1e-12], task.prior.labels)
    dual = enumerate_program(task.prior.probabilities, task.low, task.high, task.mu).dual
    return _closed(task, mechanism, dual)


def column_generation(task: Task) -> Outcome:
    """Theorem 5 over columns made as they are needed; certified for f-information only."""
    if isinstance(task.utility, FInformation):
        solution = solve_separable(
            task.separable(), task.tolerance, task.time_limit, task.start, task.progress
        )
    else:
        pi = task.prior.probabilities
        solution = heuristic_generation(pi, task.low, task.high, task.mu, task.time_limit)
    return _solved(task, solution)


def gain(task: Task) -> Outcome:
    """One linear program with an output for each decision."""
    if not isinstance(task.utility, ExpectedGain):
        raise UtilityError(
            f'method "gain-program" needs an ExpectedGain, got {task.utility!r}; use method="auto"'
        )
    pi = task.prior.probabilities
    return _solved(task, gain_program(pi, task.utility.gain, task.low, task.high))


def arc(task: Task) -> Outcome:
    """The arc mechanism, symbols on the circle in the caller's order or by decreasing mass, whichever is better.

    For an f-information everything is computed without the matrix, and the analytic bound comes with it.
    """
    pi = task.prior.probabilities
    orders = [np.arange(len(pi)), np.argsort(-pi, kind="stable")]
    made = [(arc_columns(pi[order], task.low, task.high), order) for order in orders]
    if not isinstance(task.utility, FInformation):
        mechanisms = [arc_mechanism(task.prior, columns, order) for columns, order in made]
        best = max(mechanisms, key=lambda mechanism: task.utility(task.prior, mechanism))
        return Outcome(task.utility(task.prior, best), math.inf, None, pair_outputs(task.prior, best))
    f = task.utility.f
    value, k = max((columns.separable_value(f), k) for k, (columns, _) in enumerate(made))
    dual = task.separable().analytic_dual()
    return Outcome(value, max(math.fsum(dual), value), dual, None, *made[k])


def arc_mechanism(prior: Prior, columns: ArcColumns, order: Ints) -> Mechanism:
    """The matrix of arc columns made for the symbols in `order`."""
    Q = columns.matrix()  # refused if it is too large
    P = np.empty_like(Q)
    P[order] = Q
    return Mechanism(P, prior.labels)


def _high_privacy_dual(task: Task) -> Floats:
    """y_j = pi_j (c m - m_j) / (c - 1), m_j the utility of vertex v_j and m its mean: y . v_j = m_j for all of them."""
    c = task.high
    lifts = np.full((task.prior.size, task.prior.size), c)
    np.fill_diagonal(lifts, (1 - c * (1 - task.prior.probabilities)) / task.prior.probabilities)
    gains = task.mu(np.maximum(lifts, 0.0))
    mean = float(task.prior.probabilities @ gains)
    spread = math.expm1(task.epsilon) if c < 1.5 else c - 1
    pi = task.prior.probabilities
    return better_conditioned(np.asarray(pi * (mean + (mean - gains) / spread)), pi, gains)


def _closed(task: Task, mechanism: Mechanism, dual: Floats | None) -> Outcome:
    """A mechanism whose optimality is a theorem; the dual vector shows it to those who do not trust theorems."""
    value = task.utility(task.prior, mechanism)
    upper = value if dual is None else max(math.fsum(dual), value)
    return Outcome(value, upper, dual, pair_outputs(task.prior, mechanism))


def _solved(task: Task, solution: Solution) -> Outcome:
    """The mechanism of a solved program, made exactly feasible, with its value measured again."""
    mechanism = within_lifts(task.prior, solution.mechanism(task.prior.labels), task.epsilon, task.low)
    if mechanism.shape[1] > task.prior.size:
        mechanism = reduce_outputs(task.prior, mechanism, task.utility)
    value = task.utility(task.prior, mechanism)
    upper = max(solution.upper, value)
    return Outcome(value, upper, solution.dual, pair_outputs(task.prior, mechanism), solution=solution)


def within_lifts(prior: Prior, mechanism: Mechanism, epsilon: float, low: float = 0.0) -> Mechanism:
    """The mechanism, mixed with its own output distribution if rounding took a lift out of [low, e^epsilon]."""
    lifts = lift(prior, mechanism)
    top, bottom = float(lifts.max()), float(lifts.min())
    share = 0.0
    if math.log(top) > epsilon + EXCESS:
        share = (top - math.exp(epsilon)) / (top - 1)
    if bottom < low - EXCESS:
        share = max(share, (low - bottom) / (1 - bottom))
    if share == 0.0:
        return mechanism
    mean = mechanism.output_distribution(prior)
    return Mechanism((1 - share) * mechanism.matrix + share * mean, mechanism.inputs, mechanism.outputs)


METHODS: dict[str, Callable[[Task], Outcome]] = {
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
