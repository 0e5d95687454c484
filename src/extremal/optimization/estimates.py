"""How the mechanism with the least error of what is estimated is found, and a proven bound.

Reports y of a mechanism P have the information matrix J = P diag(P_Y)^-1 P' about the shares pi. The covariance of the
estimated shares is J^-1 - pi pi' per report, and the value of a design is its efficiency: how many direct answers one
report is worth.

The best mixture of lift vectors is known for simplices, and for uniform priors with difference sets. Else an oracle
finds vectors and a bound over all: `exchange`, for few symbols `listed` before it, or `levels` for a set of priors.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .._common import checks
from .._common.types import Floats
from ..errors import OptionError, SizeError
from ..model.levels import region, rounding
from ..model.lift_sets import PriorLifts, SetLifts
from ..model.mechanism import Mechanism
from ..model.mechanism import identity as identity_mechanism
from ..model.purpose import Purpose, QuadraticProof
from .closed_forms import arranged, block_design, fullest
from .effort import Effort, Why
from .finish import Found
from .generate import NO_SEARCH, Solution
from .masters.quadratic import QuadraticSearch, exactly_balanced, mixture_of, search_mixtures
from .oracles.exchange.oracle import ExchangeOracle, equal_weights, make_oracle
from .oracles.exchange.relaxation import most_by_entries
from .oracles.levels.oracle import over_set
from .oracles.listed import ListedOracle
from .problem import FINEST, Problem, usual_gap
from .reductions import (
    ULP,
    QuadraticProblem,
    Symbols,
    efficiency_bound,
    from_excess,
    most_by_vertices,
    padded,
    ridged,
    telling,
)
from .tuning import ENOUGH, EQUAL_WEIGHTS_FROM, LISTED, PAIR_ROUNDS, ROUNDS

NOTHING = 1e-13  # levels at which lifts are 1 up to rounding
LARGEST = 2000  # labels: beyond, tables of labels by labels and the search grow out of hand


def best_for_estimates(problem: Problem, effort: Effort) -> Found:
    """The mechanism of largest efficiency under the nominal prior that keeps epsilon."""
    prior, epsilon, purpose, lifts = problem.nominal, problem.epsilon, problem.utility, problem.lifts
    assert isinstance(purpose, Purpose)
    over_many = isinstance(lifts, SetLifts) and epsilon < lifts.priors.epsilon_max
    if prior.size > LARGEST and not over_many:
        raise SizeError(
            f"designs for {purpose.name} are for at most {LARGEST} labels",
            given=prior.size,
            remedy=(
                "use windows, `large.windows(prior, epsilon)`, merge rare labels, or give another utility: "
                "`utility=ex.mutual_information`"
            ),
        )
    if epsilon <= NOTHING:
        nothing = Mechanism(np.ones((prior.size, 1)), prior.labels)
        # Above 0 something could be told, less than doubles can hold.
        return Found("constant", nothing, 0.0 if epsilon == 0 else 1.0, value=0.0)
    effort.limited(rounds=ROUNDS)
    A = checked_loss(purpose.loss(prior), prior.size)
    if isinstance(lifts, SetLifts) and over_many:
        found = over_set(lifts, A, problem.goal(effort), effort)
    else:
        lifts, goal = PriorLifts(prior, epsilon), None
        if effort.tolerance is not None:
            goal = max(effort.tolerance, FINEST)
            checks.number(goal, "tolerance", below=1, remedy="0.01 proves one percent")
        found = best_mixture(prior.probabilities, epsilon, A, goal, effort)
        if epsilon >= prior.epsilon_max and np.count_nonzero(found.matrix) == prior.size:
            told = identity_mechanism(prior)
            return Found("identity", told, found.upper, found.proof, found.stats, 1.0)
    mechanism = lifts.repaired(found.mechanism(prior.labels))
    return Found(found.method, mechanism, found.upper, found.proof, found.stats)


def best_mixture(pi: Floats, epsilon: float, A: Floats, goal: float | None, effort: Effort) -> Solution:
    """The mixture of lift vectors of largest efficiency tr(A (diag pi - pi pi')) / tr(A Sigma), Sigma = J^-1 - pi pi'.

    A is positive semidefinite; the identity weighs the errors of all shares equally. `goal` is the relative gap to stop
    at; None for what is within reach for the number of symbols.
    """
    symbols = Symbols.merged(pi, A)
    problem = symbols.apply(pi, epsilon, A)
    if region(problem.pi, epsilon) > problem.size:
        sorted_A = A[np.ix_(symbols.first, symbols.first)]
        problem = from_excess(problem.pi, float((1 - problem.pi[-1]) / problem.pi[-1]), sorted_A)
    goal = usual_gap(problem.size, epsilon) if goal is None else goal
    return symbols.back(known_mixture(problem) or _searched(problem, goal, effort))


def _searched(true: QuadraticProblem, goal: float, effort: Effort) -> Solution:
    """Column generation, or for many symbols vectors of equal weights, whose best weights take too long to find.

    It begins with randomized response, which is also what is left if time is up before the first mixture. Few symbols
    have all vectors mixed at once; columns are generated only where that misses the goal, as it does where masses are
    too different.
    """
    simple, start = randomized_response(true), None
    if true.alike and effort.rounds > 0:
        start, found = arranged(true, fullest(true), *_even_bound(true), goal, effort)
        if found is not None:
            return found
    proof = QuadraticProof(1 / true.most_variance)
    known = mixture_of(true, *simple, math.inf, proof, "randomized response", NO_SEARCH)
    problem, many = ridged(true), true.size > EQUAL_WEIGHTS_FROM
    try:
        effort.tell(known.value, 1.0)
        if true.size <= LISTED:
            known = _mixed(known, problem, true, goal, effort, ListedOracle(true, simple), start)
            if known.gap <= goal or effort.over or effort.rounds == 0:
                return known
        oracle = make_oracle(problem, true, 0 if many else PAIR_ROUNDS, effort, goal, ENOUGH * goal)
    except KeyboardInterrupt:
        effort.interrupted = True
        return replace(known, upper=min(known.upper, 1.0), stats=replace(known.stats, why=Why.INTERRUPTED))
    if many and effort.rounds > 0:
        return equal_weights(oracle, simple, goal)
    return _mixed(known, problem, true, goal, effort, oracle, start)


def _mixed(
    known: Solution,
    problem: QuadraticProblem,
    true: QuadraticProblem,
    goal: float,
    effort: Effort,
    oracle: ListedOracle | ExchangeOracle,
    start: Floats | None,
) -> Solution:
    """The best mixture of the vectors of an oracle, or what is known if that is better."""
    search = QuadraticSearch(
        effort=effort,
        aim=ENOUGH * goal,
        upper=oracle.upper,
        problem=problem,
        true=true,
        goal=goal,
        proof=oracle.proof,
        simple=(known.lifts, known.weights),
    )
    assert isinstance(known.proof, QuadraticProof)
    search.offer(known.upper, known.proof)
    found = search_mixtures(search, oracle, start)
    name = known.method if found.lifts is known.lifts else found.method
    stats = found.stats if known.stats is NO_SEARCH else known.stats + found.stats
    return replace(found, method=name, stats=stats)


def checked_loss(A: Floats, size: int) -> Floats:
    """A, if it is a symmetric positive semidefinite matrix."""
    matrix = checks.matrix(A, "A", shape=(size, size))
    scale = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > 1e-12 * scale:
        raise OptionError("A must be symmetric", remedy="use (A + A.T) / 2")
    matrix = (matrix + matrix.T) / 2
    diagonal = np.count_nonzero(matrix - np.diag(np.diagonal(matrix))) == 0
    least = float(np.diagonal(matrix).min()) if diagonal else float(np.linalg.eigvalsh(matrix)[0])
    if least < -1e-10 * scale:
        raise OptionError(
            "A must be positive semidefinite",
            given=f"an eigenvalue of {least:.3g}",
            remedy="e.g. M.T @ M is",
        )
    return matrix


def known_mixture(problem: QuadraticProblem) -> Solution | None:
    """The optimum where it is known without a search."""
    known = simplex(problem)
    if known is not None:
        X, q = known[0], exactly_balanced(*known)
        V = X[:, 1:]
        inverse = np.linalg.inv((V.T * q) @ V)
        W = padded(inverse @ problem.loss @ inverse)
        # The y with x'Wx - y.x equal for all rows, of which there are as many as symbols.
        right = np.einsum("ki,ki->k", X @ W, X)
        y = np.append(0.0, np.linalg.solve(np.column_stack([np.ones(len(X)), V]), right)[1:])
        blur = 4 * problem.size * ULP * float(np.max(np.abs(X) @ problem.pi))
        upper = efficiency_bound(problem, W, most_by_vertices(problem, W, y, X, blur))
        return mixture_of(problem, X, q, upper, QuadraticProof(W, y), "simplex", NO_SEARCH)
    blocks = block_design(problem) if problem.alike else None
    if blocks is None:
        return None
    q = np.full(problem.size, 1 / problem.size)
    return mixture_of(problem, blocks, q, *_even_bound(problem), "block design", NO_SEARCH)


def _even_bound(problem: QuadraticProblem) -> tuple[float, QuadraticProof]:
    """By the variances of all symbols alike."""
    d = np.ones(problem.size)
    return efficiency_bound(problem, np.diag(d), most_by_entries(problem, np.diag(d))), QuadraticProof(d)


def simplex(problem: QuadraticProblem) -> tuple[Floats, Floats] | None:
    """All lift vectors less 1 where there are as many as symbols, and the only mixture of them that has mean 0.

    Below the first region edge one symbol is partial and the others full (Theorem 3); at the largest level of all one
    symbol is told and the others are ruled out; and of two symbols one is as likely or as unlikely as it may be.
    """
    pi, excess, n = problem.pi, problem.excess, problem.size
    least = pi[-1]
    lower = np.where(pi * (1 + problem.lower) <= rounding(0), -1.0, problem.lower)
    if n == 2:
        low, high = lower[1], problem.upper[1]
        ends = np.array([low, high])
        return np.column_stack([-ends * pi[1] / pi[0], ends]), np.array([high, -low]) / (high - low)
    if excess * (1 - least) <= least:
        X = np.full((n, n), excess)
        np.fill_diagonal(X, lower)
        return X, pi
    if excess >= (1 - least) / least:
        X = np.full((n, n), -1.0)
        np.fill_diagonal(X, (1 - pi) / pi)
        return X, pi
    return None


def randomized_response(problem: QuadraticProblem) -> tuple[Floats, Floats]:
    """Lift vectors less 1 and output distribution of randomized response at this level, to be found at once."""
    least, most = problem.pi[-1], 1 + problem.excess  # the least likely symbol's lift is the largest
    return telling(problem.pi, most * (1 - least) / (1 - least * most))
