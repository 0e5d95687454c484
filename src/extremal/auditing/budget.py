"""Budgets: how many releases fit under a total leakage, and how much each of them may leak."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common import checks
from ..certification.certified import Released, as_mechanism
from ..errors import EpsilonError, SizeError
from ..model.leakage import ROUNDING, epsilon_pml, ldp_epsilon
from ..model.mechanism import Mechanism, check_match
from ..model.prior import Prior, check_prior
from ..model.regions import check_epsilon
from ..optimization.design import design, uninterrupted
from .composition import check_releases, repeated_epsilon, same_rows

Family = Callable[[Prior, float], Mechanism]

GRID = 16  # levels tried before the search narrows


@dataclass(frozen=True, eq=False)
class PerRelease:
    """A mechanism that may be released `releases` times: together they leak `total` <= `budget`.

    `epsilon` is what one release leaks.

    Attributes
    ----------
    releases
        How many releases there may be.
    budget
        The limit for all of them, in nats.
    epsilon
        What one release leaks.
    total
        What all of them leak together.
    mechanism
        The mechanism to release with.
    """

    releases: int
    budget: float
    epsilon: float
    total: float
    mechanism: Mechanism


def leakage_limit(prior: Prior, mechanism: Released) -> float:
    """What any number of releases leaks at most: -log of the rarest set of inputs with the same row.

    Inputs with the same row are never told apart, and all others are in the long run. Leakage is about single
    reports, so a report that is as rare as you like counts as much as any other: rows are the same only if all
    entries are, up to the rounding of a row that was divided by its sum (`same_rows`).

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    m = as_mechanism(mechanism)
    check_match(prior, m)
    mass = np.bincount(same_rows(m.matrix), weights=prior.probabilities)
    return max(-math.log(float(mass.min())), 0.0)


def releases_within(prior: Prior, mechanism: Released, epsilon: float) -> float:
    """How many independent reports by this mechanism leak at most epsilon together: a whole number, or inf.

    Exact, from the counts of reports. Every further report can only raise the worst case: some report leaves
    the posterior of the best guess no smaller. So the largest number is found by doubling and halving. It is
    inf where even unlimited releases stay within epsilon, and 0 where a single one does not.

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    epsilon
        The limit for all reports together, in nats.
    """
    m = as_mechanism(mechanism)
    epsilon = check_epsilon(epsilon) + ROUNDING
    single = epsilon_pml(prior, m)
    if single > epsilon:
        return 0
    if leakage_limit(prior, m) <= epsilon:
        return math.inf
    local = ldp_epsilon(m)
    # So many are within epsilon whatever they are, see composition.added_with_ldp.
    within = 1 + (int((epsilon - single) / local) if 0 < local < math.inf else 0)
    beyond: int | None = None
    while beyond is None or beyond - within > 1:
        n = within * 2 if beyond is None else (within + beyond) // 2
        try:
            fits = repeated_epsilon(prior, m, n) <= epsilon
        except SizeError as error:
            raise error.within(f"at least {within} releases are within epsilon, but ", SizeError) from None
        if fits:
            within = n
        else:
            beyond = n
    return within


def epsilon_per_release(
    prior: Prior, releases: int, epsilon: float, family: Family | None = None, *, tolerance: float = 1e-4
) -> PerRelease:
    """A mechanism of which `releases` leak at most epsilon together, for as high a level as a search finds.

    `family(prior, level)` gives the mechanism for a level; by default the optimal one, design(). The total is
    evaluated exactly for the mechanism returned, so the budget is kept. It need not be the highest level that keeps
    it: the total can fall where the level grows. The search tries 16 levels from the top, takes the first that
    fits, and narrows the step above it to `tolerance` * epsilon; a higher level inside a step that fails at its
    upper end is missed. For a family whose total grows with the level there is none.

    Parameters
    ----------
    prior
        How common each answer is.
    releases
        How many releases there will be.
    epsilon
        The limit for all of them together, in nats.
    family
        A function (prior, level) -> mechanism; `design` if None.
    tolerance
        How finely levels are searched, relative to epsilon.
    """
    n, budget = check_releases(releases), check_epsilon(epsilon)
    check_prior(prior)
    tolerance = checks.number(tolerance, "tolerance", above=0, below=1, remedy="e.g. 1e-4")
    make: Family = family if family is not None else _optimal

    def attempt(level: float) -> PerRelease | None:
        mechanism: Any = make(prior, level)
        total = repeated_epsilon(prior, mechanism, n)
        single = epsilon_pml(prior, mechanism)
        return PerRelease(n, budget, single, total, mechanism) if total <= budget + ROUNDING else None

    levels = [budget * k / GRID for k in range(GRID, -1, -1)]
    above = budget
    for level in levels:
        best = attempt(level)
        if best is not None:
            break
        above = level
    if best is None:
        raise EpsilonError(
            "a family must leak nothing at level 0",
            given=f"a mechanism of which {n} releases leak more than {budget:.6g}",
            remedy="give one that grows from 0, such as design()",
        )
    while above - level > tolerance * budget:
        middle = (level + above) / 2
        found = attempt(middle)
        if found is None:
            above = middle
        else:
            level, best = middle, found
    return best


def _optimal(prior: Prior, level: float) -> Mechanism:
    return uninterrupted(design(prior, level)).mechanism
