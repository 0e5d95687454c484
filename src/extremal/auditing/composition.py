"""Several releases about the same X: what they leak together.

What is true, with l the leakage and P_X the prior:

- Releases drawn independently given X are one mechanism, whose outputs are tuples. Its leakage is the answer.
- l(X→y1, y2) <= l(X→y1) + l'(X→y2), where l' is the leakage under the posterior after y1 (`posterior`).
- Adding leakages under the *original* prior is no bound. Uniform on {1, 2, 3, 4}: "X is in {1, 2, 3}" and
  "X is in {3, 4}" leak log 4/3 and log 2, together they leak log 4, which is more than log 8/3. Releasing
  twice through one mechanism of leakage epsilon can leak more than 2 epsilon too.
- The same report seen twice leaks at most twice as much as once.
- The leakage of one release plus the local-differential-privacy levels of all others is a bound; so is, on
  average over reports, the sum of maximal leakages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Floats, Ints
from .._common.words import shorten
from ..certification.certified import Released, as_mechanism
from ..errors import EpsilonError, MechanismError, SizeError
from ..model.labels import Labels
from ..model.leakage import ROUNDING, epsilon_pml
from ..model.leakage_measures import LeakageDistribution, first_largest, ldp_epsilon
from ..model.levels import check_epsilon
from ..model.mechanism import Mechanism, check_match, check_size
from ..model.prior import Prior, check_prior
from ..optimization.design import designed

LARGEST_TYPES = 20_000_000  # entries of the table of counts times inputs: 160 MB
MOST_TUPLES = 3_000_000  # combinations of reports of a joint release: each is a label, some 20 seconds
MOST_RELEASES = 1_000_000  # the reports that attain the leakage are listed
ULP = 2.0**-52


@dataclass(frozen=True, eq=False)
class Composition:
    """What several releases about the same X leak together, exactly.

    `epsilons` are their leakages one by one, `epsilon` that of all reports together, and `worst` the reports
    that attain it. `without_evaluation` is the bound that holds without looking at them jointly.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> both = ex.composition.compose_releases(prior, mechanism, mechanism)
    >>> round(both.epsilon, 3)
    1.452

    Attributes
    ----------
    prior
        How common each answer is.
    epsilons
        The leakage of each release.
    epsilon
        The leakage of all together.
    worst
        The reports that attain it.
    distribution
        The distribution of the leakage.
    without_evaluation
        A bound that needs no joint evaluation.
    """

    prior: Prior
    epsilons: tuple[float, ...]
    epsilon: float
    worst: Labels
    distribution: LeakageDistribution
    without_evaluation: float

    @property
    def added(self) -> float:
        """The sum of the leakages one by one, which in general is no bound: see `added_is_bound`."""
        return math.fsum(self.epsilons)

    @property
    def added_is_bound(self) -> bool:
        """Whether the releases together leak no more than the sum of their leakages."""
        return self.epsilon <= self.added + ROUNDING

    def __str__(self) -> str:
        return (
            f"{len(self.epsilons)} releases leak at most {self.epsilon:.6g} nats together, attained by the reports "
            f"{shorten(self.worst)}; their leakages add up to {self.added:.6g}"
            + ("" if self.added_is_bound else ": leakages under one prior must not be added")
        )


@one_thread
def joint_release(*mechanisms: Released) -> Mechanism:
    """The mechanism that releases all of these for the same X, drawn independently; outputs are flat tuples.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> ex.composition.joint_release(mechanism, mechanism).shape == (3, mechanism.shape[1] ** 2)
    True

    Parameters
    ----------
    *mechanisms
        The mechanisms, one for each release.
    """
    parts = _parts(mechanisms)
    first, outcomes = parts[0], math.prod(m.shape[1] for m in parts)
    check_size(first.shape[0], outcomes)  # now, not after minutes of making those of the first few
    if outcomes > MOST_TUPLES:
        raise SizeError(
            f"a joint release must have at most {MOST_TUPLES} combinations of reports",
            given=f"{outcomes} of {len(parts)} releases",
            remedy="evaluate repeated ones with repeat_release(...), or use the bound added_with_ldp(...)",
        )
    joint = Mechanism(first.matrix, first.inputs, [(y,) for y in first.outputs])
    for other in parts[1:]:
        pair = joint.compose(other)
        joint = Mechanism(pair.matrix, pair.inputs, [(*y, z) for y, z in pair.outputs])  # type: ignore[misc,has-type]
    return joint


def _parts(mechanisms: Sequence[Released]) -> list[Mechanism]:
    if not mechanisms:
        raise MechanismError("there must be at least one mechanism", given="none")
    return [as_mechanism(m) for m in mechanisms]


@one_thread
def compose_releases(prior: Prior, *mechanisms: Released) -> Composition:
    """What releases by all these mechanisms about the same X leak together, from their joint mechanism.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> both = ex.composition.compose_releases(prior, mechanism, mechanism)
    >>> round(both.epsilon, 3)
    1.452

    Parameters
    ----------
    prior
        How common each answer is.
    *mechanisms
        The mechanisms, one for each release.
    """
    joint = joint_release(*mechanisms)
    rho = joint.output_distribution(prior)
    parts = [as_mechanism(m) for m in mechanisms]
    leakage = _joint_leakage(prior, parts)
    worst = first_largest(leakage)
    outcome: Any = joint.outputs[worst]
    leakage = np.maximum(leakage, 0.0)
    return Composition(
        prior,
        tuple(epsilon_pml(prior, m) for m in parts),
        float(leakage[worst]),
        outcome,
        LeakageDistribution.of(leakage, rho),
        added_with_ldp(prior, *parts),
    )


def _joint_leakage(prior: Prior, parts: list[Mechanism]) -> Floats:
    """The leakage of every combination of reports, -1 where it cannot occur.

    Columns are divided by their largest elements first, which changes no lift: a product of small probabilities
    may vanish in doubles, and what leaks most may be rare.
    """
    Q = np.ones((prior.size, 1))
    for m in parts:
        largest = m.matrix.max(axis=0)
        scaled = np.divide(m.matrix, largest, out=np.zeros_like(m.matrix), where=largest > 0)
        Q = np.einsum("ij,ik->ijk", Q, scaled).reshape(prior.size, -1)
    most, mean = Q.max(axis=0), prior.probabilities @ Q
    occurs = mean > 0
    ratio = np.divide(most, mean, out=np.ones_like(most), where=occurs)
    return np.where(occurs, np.log(np.maximum(ratio, 1.0)), -1.0)


@one_thread
def repeat_release(prior: Prior, mechanism: Released, releases: int) -> Composition:
    """What `releases` independent reports by one mechanism about the same X leak together.

    Only how often each report came counts, not the order, and outputs with proportional columns say the
    same: C(n + M - 1, M - 1) tables of counts for M outputs that differ, not M^n sequences.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior([0.5, 0.3, 0.2])
    >>> response = ex.theory.randomized_response(prior, 0.2)
    >>> round(ex.composition.repeat_release(prior, response, 3).epsilon, 3)
    0.448

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    releases
        How many reports are drawn.
    """
    m, n = as_mechanism(mechanism), check_releases(releases)
    counts, leakage, log_mass, columns = _types(prior, m, n)
    worst = first_largest(leakage)
    reports = [m.outputs[j] for j, k in zip(columns, counts[worst].tolist(), strict=True) for _ in range(k)]
    single = epsilon_pml(prior, m)
    return Composition(
        prior,
        (single,) * n,
        float(leakage[worst]),
        tuple(reports),
        LeakageDistribution.of(leakage, np.exp(log_mass)),
        min(single + (n - 1) * ldp_epsilon(m) if n > 1 else single, prior.epsilon_max),
    )


def repeated_epsilon(prior: Prior, mechanism: Released, releases: int) -> float:
    """The leakage of the worst series of `releases` independent reports about the same X."""
    return float(_types(prior, as_mechanism(mechanism), check_releases(releases))[1].max())


def added_with_ldp(prior: Prior, *mechanisms: Released) -> float:
    """A bound on the joint leakage that needs no joint evaluation: one PML level plus the others' LDP levels.

    P(y|x) / P(y|z) <= e^LDP whatever the distribution of X has become, so each further release adds at most
    its level of local differential privacy; the best choice of the first is taken. Never above epsilon_max.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior([0.5, 0.3, 0.2])
    >>> response = ex.theory.randomized_response(prior, 0.5)
    >>> round(ex.composition.added_with_ldp(prior, response, response), 3)
    0.878

    Parameters
    ----------
    prior
        How common each answer is.
    *mechanisms
        The mechanisms, one for each release.
    """
    parts = _parts(mechanisms)
    local = [ldp_epsilon(m) for m in parts]
    sums = [epsilon_pml(prior, m) + sum(local[:i] + local[i + 1 :]) for i, m in enumerate(parts)]
    return min(*sums, prior.epsilon_max)


def _types(prior: Prior, mechanism: Mechanism, n: int) -> tuple[NDArray[np.int32], Floats, Floats, list[int]]:
    """(counts, leakage, log probability) for every table of counts of n reports, and the columns counted."""
    columns, log_P = _distinct_columns(prior, mechanism)
    size = math.comb(n + len(columns) - 1, len(columns) - 1)
    if n > MOST_RELEASES:
        raise SizeError(
            f"must be at most {MOST_RELEASES} to be evaluated",
            parameter="releases",
            given=n,
            remedy="as their number grows the leakage tends to leakage_limit(prior, mechanism)",
        )
    if size * max(prior.size, len(columns)) > LARGEST_TYPES:
        raise SizeError(
            f"{n} releases must have at most {LARGEST_TYPES} counts x inputs to be evaluated",
            given=f"{size} tables of counts for {prior.size} inputs",
            remedy="merge outputs, or use the bound added_with_ldp(...)",
        )
    counts = _compositions(n, len(columns))
    excluded = np.isneginf(log_P)
    likelihood = counts @ np.where(excluded, 0.0, log_P).T
    likelihood[(counts > 0).astype(np.float64) @ excluded.T.astype(np.float64) > 0] = -np.inf
    best = likelihood.max(axis=1)
    possible = np.isfinite(best)
    counts, likelihood, best = counts[possible], likelihood[possible], best[possible]
    log_marginal = best + np.log(np.exp(likelihood - best[:, None]) @ prior.probabilities)
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    arrangements = factorials[n] - factorials[counts].sum(axis=1)
    return counts, np.maximum(best - log_marginal, 0.0), arrangements + log_marginal, columns


def _distinct_columns(prior: Prior, mechanism: Mechanism) -> tuple[list[int], Floats]:
    """One column for each set of proportional ones, and log P(any of the set | x), shape (N, sets)."""
    occurs = np.flatnonzero(mechanism.matrix.max(axis=0) > 0)
    P = mechanism.matrix[:, occurs]
    group = same_rows((P / P.max(axis=0)).T)
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    merged = np.zeros((prior.size, len(first)))
    np.add.at(merged.T, group, P.T)
    order = np.argsort(first)  # as they stand in the mechanism
    with np.errstate(divide="ignore"):
        return occurs[first[order]].tolist(), np.log(merged[:, order])


def same_rows(P: Floats) -> Ints:
    """A number for every row of numbers >= 0, shared by rows that differ by rounding alone.

    Rows that should be equal are weights divided by their sum, or columns divided by their largest entry. For k
    entries a sum is off by half an ulp for each of its log2(k) + 8 additions (numpy adds up to eight numbers one
    by one, then in pairs), the division by half an ulp, the weights before it by an ulp, and a second division by
    another: (log2(k) + 12) / 2 ulp for each row, twice that between two. Zeros do not differ at all. What rounding
    hides is as small: the logarithms of the likelihoods of n reports under two such rows differ by n times that,
    less than 1e-8 nats for a million reports.
    """
    allowed = (math.log2(P.shape[1]) + 12) * ULP
    # Positive weights: the sums of equal rows differ by no more than their entries do, so they are neighbours.
    weights = np.random.default_rng(0).uniform(1, 2, P.shape[1])
    sums = P @ weights
    order = np.argsort(sums, kind="stable")
    near = np.diff(sums[order], prepend=-np.inf) <= (allowed + P.shape[1] * ULP) * sums[order]
    group = np.empty(len(P), dtype=np.int64)
    count = 0
    known: list[tuple[int, int]] = []  # groups among the neighbours: number, one of its rows
    for i, close in zip(order.tolist(), near.tolist(), strict=True):
        if not close:
            known = []
        for number, row in known:
            if np.all(np.abs(P[i] - P[row]) <= allowed * np.minimum(P[i], P[row])):
                group[i] = number
                break
        else:
            group[i] = count
            known.append((count, i))
            count += 1
    return group


def _compositions(n: int, parts: int) -> NDArray[np.int32]:
    """All ways to write n as an ordered sum of `parts` counts >= 0, as rows."""
    rows, left = np.zeros((1, 0), dtype=np.int32), np.array([n])
    for _ in range(parts - 1):
        repeats = left + 1
        source = np.repeat(np.arange(len(left)), repeats)
        value = np.arange(len(source)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        rows = np.column_stack((rows[source], value.astype(np.int32)))
        left = left[source] - value
    return np.column_stack((rows, left.astype(np.int32)))


def check_releases(releases: Any) -> int:
    """The number of releases, if it is a whole number >= 1."""
    return checks.whole(releases, "releases", least=1, remedy="give how many reports are drawn")


Family = Callable[[Prior, float], Mechanism]

GRID = 16  # levels tried before the search narrows


@dataclass(frozen=True, eq=False)
class PerRelease:
    """A mechanism that may be released `releases` times: together they leak `total` <= `budget`.

    `epsilon` is what one release leaks.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior([0.5, 0.3, 0.2])
    >>> found = ex.composition.epsilon_per_release(prior, 2, 1.0)
    >>> found.total <= 1.0
    True

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

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> round(ex.composition.leakage_limit(prior, mechanism), 3)
    1.609

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

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior([0.5, 0.3, 0.2])
    >>> response = ex.theory.randomized_response(prior, 0.2)
    >>> ex.composition.releases_within(prior, response, 0.6)
    4

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

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior([0.5, 0.3, 0.2])
    >>> found = ex.composition.epsilon_per_release(prior, 2, 1.0)
    >>> found.total <= 1.0
    True

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
    make: Family = family or (lambda prior, level: designed(prior, level).mechanism)

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
