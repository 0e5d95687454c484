"""Designs for what will be estimated from the reports: shares, means, groups.

Reports y of a mechanism P have the information matrix J = P diag(P_Y)^-1 P' about the shares pi. The covariance of the
estimated shares is J^-1 - pi pi' per report, and the value of a design is its efficiency: how many direct answers one
report is worth. The search and its proof stand in `quadratic`.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from .._common.types import Floats
from ..errors import OptionError, SizeError
from ..model.mechanism import Mechanism, check_match
from ..model.mechanism import identity as identity_mechanism
from ..model.prior import Prior, check_prior
from ..model.prior_set import PriorSet
from ..model.purpose import Purpose
from ..model.regions import check_epsilon
from ..theory.pairing import pair_outputs
from .bound import blurred, checked_bound
from .estimates import default_tolerance, solve
from .generate import Stats, relative_gap
from .oracles.levels.solve import robust_tolerance, solve_set
from .result import Design, within_lifts
from .sets import within
from .watch import Progress

NOTHING = 1e-13  # levels at which lifts are 1 up to rounding
FINEST = 1e-10  # the smallest gap that doubles can prove
LARGEST = 2000  # labels: beyond, tables of labels by labels and the search grow out of hand
SINGULAR = 1e12  # condition of J from which on shares cannot be told apart


def run_purpose(
    prior: Prior,
    epsilon: float,
    purpose: Purpose,
    tolerance: float | None,
    time_limit: float | None,
    progress: Progress | None = None,
) -> Design:
    """The mechanism of largest efficiency for a purpose under epsilon-PML, with a proven bound."""
    begin = time.perf_counter()
    pi, epsilon = check_prior(prior).probabilities, check_epsilon(epsilon)
    if prior.size > LARGEST:
        raise SizeError(
            f"designs for {purpose.name} are for at most {LARGEST} labels",
            given=prior.size,
            remedy=(
                "use windows, `large.windows(prior, epsilon)`, merge rare labels, or give another utility: "
                "`utility=ex.mutual_information`"
            ),
        )
    A = purpose.loss(prior)
    goal = default_tolerance(prior.size, epsilon) if tolerance is None else tolerance
    if epsilon <= NOTHING:
        nothing = Mechanism(np.ones((prior.size, 1)), prior.labels)
        none = epsilon == 0  # above it something could be told, less than doubles can hold
        return Design(prior, epsilon, purpose, "constant", nothing, 0.0, 0.0 if none else 1.0, None, none)
    limit = math.inf if time_limit is None else time_limit
    tolerance = None if tolerance is None else max(tolerance, FINEST)
    found = solve(pi, epsilon, A, tolerance=tolerance, time_limit=limit, progress=progress)
    mechanism, method = Mechanism(found.matrix, prior.labels), str(found.stats["method"])
    if epsilon >= prior.epsilon_max and np.count_nonzero(found.matrix) == prior.size:
        mechanism, method = identity_mechanism(prior), "identity"
    mechanism = pair_outputs(prior, within_lifts(prior, mechanism, epsilon))
    value = 1.0 if method == "identity" else purpose(prior, mechanism)
    upper = checked_bound(min(found.upper_bound, 1.0), value, blurred(value, epsilon))
    stats = Stats(
        rounds=int(found.stats.get("rounds", 0)),
        columns=int(found.stats.get("columns", 0)),
        seconds=time.perf_counter() - begin,
        interrupted=bool(found.stats["interrupted"]),
        stopped=bool(found.stats["out_of_time"]),
    )
    proven = relative_gap(value, upper) <= goal
    return Design(
        prior,
        epsilon,
        purpose,
        method,
        mechanism,
        value,
        upper,
        None,
        proven,
        stats,
        certificate=found.certificate,
    )


def run_robust_purpose(
    priors: PriorSet,
    epsilon: float,
    purpose: Purpose,
    tolerance: float | None,
    time_limit: float | None,
    progress: Progress | None = None,
) -> Design:
    """The mechanism of largest efficiency under the nominal prior that keeps epsilon for every prior of a set."""
    begin = time.perf_counter()
    nominal, epsilon = priors.nominal, check_epsilon(epsilon)
    if priors.is_point or epsilon <= NOTHING or epsilon >= priors.epsilon_max:
        found = run_purpose(nominal, epsilon, purpose, tolerance, time_limit, progress)
        return replace(found, prior_set=priors)
    limit = math.inf if time_limit is None else time_limit
    goal = robust_tolerance(priors.size) if tolerance is None else max(tolerance, FINEST)
    solved = solve_set(
        priors, epsilon, purpose.loss(nominal), tolerance=goal, time_limit=limit, progress=progress
    )
    mechanism = pair_outputs(nominal, within(priors, epsilon, Mechanism(solved.matrix, nominal.labels)))
    value = purpose(nominal, mechanism)
    upper = checked_bound(min(solved.upper_bound, 1.0), value, blurred(value, epsilon))
    return Design(
        nominal,
        epsilon,
        purpose,
        str(solved.stats["method"]),
        mechanism,
        value,
        upper,
        None,
        relative_gap(value, upper) <= goal,
        Stats(
            rounds=int(solved.stats["rounds"]),
            columns=int(solved.stats["columns"]),
            seconds=time.perf_counter() - begin,
            interrupted=bool(solved.stats["interrupted"]),
            stopped=bool(solved.stats["out_of_time"]),
        ),
        prior_set=priors,
        certificate=solved.certificate,
    )


def information(prior: Prior, mechanism: Mechanism) -> Floats:
    """J = P diag(P_Y)^-1 P': what one report tells about the shares."""
    check_match(prior, mechanism)
    P = mechanism.matrix
    return np.asarray((P / mechanism.output_distribution(prior)) @ P.T)


def standard_error(prior: Prior, mechanism: Mechanism, people: float) -> float:
    """The root mean squared error of a share among so many people, estimated from their reports.

    Averaged over the shares; infinite if they cannot be told apart. For the shares of a population that the people were
    drawn from, chance adds to it: see planning.expected_error().

    Parameters
    ----------
    prior
        How frequent each answer is.
    mechanism
        How reports are drawn.
    people
        How many report.
    """
    number: object = people
    if isinstance(number, bool) or not isinstance(number, int | float | np.number) or not people > 0:
        raise OptionError("must be a number > 0", parameter="people", given=repr(people), remedy="e.g. 1000")
    J = information(prior, mechanism)
    if np.linalg.cond(J) > SINGULAR:
        return math.inf
    squared = max(float(np.trace(np.linalg.inv(J))) - 1, 0.0) / people
    return math.sqrt(squared / prior.size)
