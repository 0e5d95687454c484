"""Where the optimum is known without a search.

For utilities: Theorems 2 to 4 and both ends of the range of epsilon; with a set of priors, two symbols, and symmetric
sets and utilities.

For estimates where all symbols are alike: the best lift vector, and few arrangements of it that treat all pairs alike.
If the nominal prior is uniform, the set of priors does not change when symbols are permuted, and neither does the loss,
then averaging a mechanism over all permutations loses nothing, as tr(G C^-1) is convex in C. Averaged, C is a multiple
of 1 - 11'/N, the multiple is the mean of |x|^2 / (N - 1), and the loss falls as it grows. So the optimum is known:
every lift vector is one of largest |x|^2, in all its arrangements, and the efficiency is |x|^2 / (N (N - 1)).

All N! arrangements are too many outputs. The N shifts of a few of them have the same diagonal and a circulant C; its
loss, in parts of the least possible one, is the mean of its eigenvalues times the mean of their inverses. Exchanges of
two symbols make that small. With m arrangements of k full symbols at least about N / (5 m^2 k^2 (1 - k/N)^2) is left:
pairs occur in whole numbers of outputs, which cannot all be equal unless there is a difference family.

Cyclic difference sets: k residues modulo n whose differences meet every other residue equally often. Their n translates
are the fewest subsets of size k in which all pairs of symbols are balanced. For a uniform prior at e^epsilon = n / k
that is a mechanism with n outputs that no other can beat.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from .._common.types import Floats, Ints
from ..errors import UtilityError
from ..model.leakage import lift
from ..model.levels import rounding
from ..model.lift_sets import SetLifts
from ..model.mechanism import Mechanism
from ..model.mechanism import constant as constant_mechanism
from ..model.mechanism import identity as identity_mechanism
from ..model.purpose import QuadraticProof
from ..model.utility import NEAR, NEAR_ONE, FInformation, Utility, near_one
from ..theory import closed_form
from . import tuning
from .effort import Effort, Stats, Why
from .finish import Found
from .generate import Solution
from .masters.linear import better_conditioned
from .masters.quadratic import distinct, mixture_of
from .problem import Problem
from .reductions import ULP, QuadraticProblem, efficiency_bound
from .set_levels import SetLevels, best_symmetric

Complexes = NDArray[np.complex128]

NONE = 1e-12  # an eigenvalue that vanishes
LESS = 1e-9  # of the loss: steps that gain less are the last
LARGEST_SET = 400  # symbols: the search for a primitive polynomial takes a second there
# Planes over fields whose order is no prime.
PLANES = {
    (21, 5): (3, 6, 7, 12, 14),
    (73, 9): (1, 2, 4, 8, 16, 32, 37, 55, 64),
    (91, 10): (0, 1, 3, 9, 27, 49, 56, 61, 77, 81),
}


def farthest_bound(problem: QuadraticProblem, cone: SetLevels) -> tuple[float, QuadraticProof]:
    """What no mechanism for a symmetric set exceeds under a uniform prior: all lift vectors have the largest |x|^2."""
    x = farthest(cone)
    most = float(x @ x) * (1 + 16 * problem.size * ULP)
    d = np.ones(problem.size)
    return efficiency_bound(problem, np.diag(d), most), QuadraticProof(d, over_set=True)


def fullest(problem: QuadraticProblem) -> Floats:
    """The vertex less 1 of a uniform prior, the only one up to order: full symbols, a partial one, none."""
    n, c = problem.size, 1 + problem.excess
    full = min(int(n / c * (1 + n * ULP)), n)
    lifts = np.zeros(n)
    lifts[:full] = c
    lifts[full : full + 1] = max(n - full * c, 0.0)
    lifts[lifts < 1e-12] = 0.0
    return np.asarray(lifts / lifts.mean() - 1)


def farthest(cone: SetLevels) -> Floats:
    """The lift vector less 1 of largest |x|^2 for a symmetric set and a uniform nominal prior.

    It mixes two nested sets: k symbols, too few to be a column alone, and u symbols that hold them, see `set_levels`.
    """
    n = cone.size
    h = cone.least(np.tril(np.ones((n, n))))
    k, u = np.meshgrid(np.arange(1, n + 1), np.arange(1, n + 1), indexing="ij")
    inner, outer, need = h[:, None], h[None, :], 1 / cone.c
    proper = (k < u) & (inner < need) & (outer >= need)
    single = (k == u) & (inner >= need)
    with np.errstate(divide="ignore", invalid="ignore"):
        b = np.where(proper, (need - inner) / (outer - inner), 0.0)  # in parts of the largest lift
    mean = (k + b * (u - k)) / n
    square = np.where(proper | single, (k + b**2 * (u - k)) / mean**2, -np.inf)
    i, j = np.unravel_index(int(np.argmax(square)), square.shape)
    lifts = np.zeros(n)
    lifts[: j + 1], lifts[: i + 1] = b[i, j], 1.0
    return np.asarray(lifts / lifts.mean() - 1)


def arrange(x: Floats, goal: float, effort: Effort) -> tuple[Floats, float, int]:
    """Shifts of few arrangements of x, one a row; what they lose, relatively; how many numbers were tried."""
    n = len(x)
    rows, lost, tried = np.empty((0, n)), np.inf, 0
    for count in tuning.ARRANGEMENTS:
        enough = (tuning.FEW_ENOUGH if count <= tuning.FEW_OUTPUTS else 1.0) * goal
        if len(rows) and (lost <= enough or count * n * n > tuning.LARGEST_ARRANGED or effort.pause()):
            break
        for seed in range(tuning.TRIES if n <= tuning.TRIED_ONCE_FROM else 1):
            found, loss = _exchanged(x, count, np.random.default_rng((count, seed)))
            if loss < lost:
                rows, lost = found, loss
            if lost <= enough or effort.pause():
                break
        tried += 1
    shifts = (np.arange(n)[:, None] + np.arange(n)) % n
    return rows[:, shifts].reshape(-1, n), lost, tried


def _exchanged(x: Floats, count: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """So many arrangements of x and what their shifts lose, after exchanges of two symbols as long as these help."""
    n = len(x)
    frequencies = np.arange(1, n // 2 + 1)
    times = np.where(2 * frequencies == n, 1.0, 2.0)  # how often an eigenvalue occurs
    waves = np.exp(-2j * np.pi * (np.multiply.outer(np.arange(n), frequencies) % n) / n)
    rows = np.array([rng.permutation(x) for _ in range(count)])
    F = rows @ waves
    power = np.sum(np.abs(F) ** 2, axis=0)
    best, idle, row = _loss(power, times), 0, 0
    mean = float(times @ power) / (n - 1)
    while idle < count and n > 3:
        a, b = _exchanges(rows[row], waves @ (F[row].conj() * times / np.maximum(power, NONE) ** 2))
        step = (rows[row, b] - rows[row, a])[:, None] * (waves[a] - waves[b])
        after = power - np.abs(F[row]) ** 2 + np.abs(F[row] + step) ** 2
        losses = _loss(after, times)
        first = int(np.argmin(losses))
        if losses[first] < best * (1 - LESS):
            best, idle, power = losses[first], 0, after[first]
            F[row] += step[first]
            rows[row, [a[first], b[first]]] = rows[row, [b[first], a[first]]]
        else:
            idle += 1
        row = (row + 1) % count
    return rows, float(best) * mean / (n - 1) - 1


def _exchanges(x: Floats, slopes: Complexes) -> tuple[Ints, Ints]:
    """Pairs of symbols to exchange, the first with the smaller lift: all, or the most promising ones by the slopes."""
    n = len(x)
    most = max(1, tuning.AT_ONCE // (n // 2))
    if n * n // 4 > most:
        order = np.argsort(-slopes.real, kind="stable")  # the loss falls most where the first ones rise
        few = math.isqrt(most)
        up, down = order[x[order] < x.max()][:few], order[x[order] > x.min()][-few:]
        up, down = np.append(up, np.argmin(x)), np.append(down, np.argmax(x))  # so that there is a pair
    else:
        up = down = np.arange(n)
    a, b = np.nonzero(np.less.outer(x[up], x[down]))
    return up[a], down[b]


def _loss(power: Floats, times: Floats) -> Floats:
    """The sum of the inverses of all eigenvalues; infinite where one vanishes."""
    return np.asarray(np.sum(times / np.maximum(power, NONE), axis=-1))


def arranged(
    problem: QuadraticProblem, x: Floats, upper: float, proof: QuadraticProof, goal: float, effort: Effort
) -> tuple[Floats, Solution | None]:
    """Arrangements of the best vector of alike symbols; and the design of equal weights that they are, unless a
    search may find one with fewer outputs: among few symbols that is worth it."""
    rows, lost, tried = arrange(x, 0.98 * goal, effort)
    if problem.size <= tuning.ARRANGED_FROM and (
        lost > goal or len(rows) > tuning.FEW_OUTPUTS * problem.size
    ):
        return rows[: tuning.FEW_OUTPUTS * problem.size], None
    X, q = distinct(rows, np.full(len(rows), 1 / len(rows)))
    why = effort.why if effort.over or lost > goal else Why.REACHED
    found = mixture_of(problem, X, q, upper, proof, "symmetric", Stats(tried, len(X), why=why))
    effort.tell(found.value, upper)
    return rows, found


def difference_set(n: int, k: int) -> Ints | None:
    """A cyclic difference set of k residues modulo n, or None if no construction here gives one."""
    if not 0 < k < n or n > LARGEST_SET or k * (k - 1) % (n - 1):
        return None
    if k in (1, n - 1):
        return np.arange(k)
    found, others = _known(n, k), _known(n, n - k)
    return np.setdiff1d(np.arange(n), others) if found is None and others is not None else found


def _known(n: int, k: int) -> Ints | None:
    if (n, k) in PLANES:
        return np.array(PLANES[n, k])
    if 2 * k + 1 == n and n % 4 == 3 and _is_prime(n):
        return np.unique(np.arange(1, n) ** 2 % n)  # Paley
    for p in filter(_is_prime, range(2, k + 1)):
        for degree in range(3, 12):
            if (p**degree - 1) // (p - 1) == n and (p ** (degree - 1) - 1) // (p - 1) == k:
                return _singer(p, degree, n)
    return None


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % f for f in range(2, int(n**0.5) + 1))


def _singer(p: int, degree: int, n: int) -> Ints | None:
    """Singer: the powers of a primitive element of GF(p^degree) that lie in a hyperplane."""
    order = p**degree - 1
    for lower in itertools.product(range(p), repeat=degree):
        if lower[0] == 0:
            continue
        state = [0] * degree
        # The element 1; multiplying by the root shifts, and the polynomial replaces the top power.
        state[0] = 1
        found = []
        for i in range(order):
            if i and state == [1] + [0] * (degree - 1):
                break
            if state[-1] == 0 and i < n:
                found.append(i)
            top = state[-1]
            state = [(below - top * a) % p for below, a in zip([0, *state[:-1]], lower, strict=True)]
        else:
            return np.array(found)
    return None


def block_design(problem: QuadraticProblem) -> Floats | None:
    """Lift vectors less 1 of the translates of a difference set, for symbols all alike; None if there is none."""
    n = problem.size
    size = n / (1 + problem.excess)
    k = round(size)
    if abs(size - k) > size * rounding(np.log1p(problem.excess)):
        return None
    residues = difference_set(n, k)
    if residues is None:
        return None
    X = np.full((n, n), -1.0)
    X[np.arange(n)[:, None], (residues[None, :] + np.arange(n)[:, None]) % n] = problem.excess
    return X


ROUNDED = 1e-15  # a level that lifts, which are doubles next to 1, can still show


def constant(problem: Problem, effort: Effort) -> Found:
    """epsilon = 0: nothing may be told. The only lift vector is 1, so any y with sum(y) = mu(1) is dual feasible.

    Above 0 an f-information could be larger, by less than doubles can hold: no column adds more than its symbols do at
    the ends of their lifts.
    """
    prior, utility, pi = problem.nominal, problem.utility, problem.nominal.probabilities
    mechanism = constant_mechanism(prior)
    value = utility(prior, mechanism)
    if not (isinstance(utility, FInformation) and problem.epsilon > 0 and problem.low < 1):
        return Found("constant", mechanism, value, value * pi, value=value)
    x = math.expm1(max(problem.epsilon, ROUNDED))
    ends = np.full(len(pi), x), -np.minimum(x * (1 / pi - 1), 1.0)
    upper = value + float(pi @ np.maximum(*(near_one(utility.f, end) for end in ends)))
    return Found("constant", mechanism, upper, upper * pi, value=value, beyond_doubles=True)


def identity(problem: Problem, effort: Effort) -> Found:
    """epsilon >= epsilon_max: the answer itself. Lift vectors are mixtures of e_i/pi_i, so y_i = pi_i mu(e_i/pi_i)."""
    pi = problem.nominal.probabilities
    return Found("identity", identity_mechanism(problem.nominal), proof=pi * problem.mu(np.diag(1 / pi)))


def binary(problem: Problem, effort: Effort) -> Found:
    """Theorem 2. Two vertices, so y solves two equations."""
    mechanism = closed_form.binary(problem.nominal, problem.epsilon)
    if problem.nominal.region(problem.epsilon) == 1:
        return _in_first_region(problem, mechanism)
    vertices = lift(problem.nominal, mechanism).T
    dual = np.asarray(np.linalg.solve(vertices, problem.mu(vertices)), dtype=np.float64)
    return Found("binary", mechanism, proof=dual)


def high_privacy(problem: Problem, effort: Effort) -> Found:
    """Theorem 3."""
    return _in_first_region(problem, closed_form.high_privacy(problem.nominal, problem.epsilon))


def uniform(problem: Problem, effort: Effort) -> Found:
    """Theorem 4. By symmetry y_i = U/N, and every vertex has the same utility."""
    prior, utility = problem.nominal, problem.utility
    if not isinstance(utility, Utility) or not utility.symmetric:
        raise UtilityError(
            "Theorem 4 needs a symmetric utility",
            given=f"{utility!r}",
            remedy="promise it with Utility(mu, symmetric=True)",
        )
    mechanism = closed_form.uniform(prior, problem.epsilon)
    if prior.region(problem.epsilon) == 1 and tiny(problem):
        return _in_first_region(problem, mechanism)
    return Found("uniform", mechanism, proof=np.full(prior.size, utility(prior, mechanism) / prior.size))


def _in_first_region(problem: Problem, mechanism: Mechanism) -> Found:
    """Theorem 3. y_j = pi_j (c m - m_j) / (c - 1), m_j the utility of vertex v_j and m its mean: y . v_j = m_j."""
    c, pi, utility = problem.lifts.high, problem.nominal.probabilities, problem.utility
    # c is what lift vectors are held against.
    spread = math.expm1(problem.epsilon) if tiny(problem) else c - 1
    low = -np.minimum(spread * ((1 - pi) / pi), 1.0)  # of the lift of symbol j in v_j, less 1
    if isinstance(utility, FInformation) and tiny(problem):
        # From lifts less 1: a matrix of doubles says little of an epsilon near 1e-16, and its value as little.
        gains = (1 - pi) * near_one(utility.f, np.full(len(pi), spread)) + pi * near_one(utility.f, low)
    else:
        lifts = np.full((len(pi), len(pi)), c)
        np.fill_diagonal(lifts, 1 + low)
        gains = problem.mu(lifts)
    mean = float(pi @ gains)
    off = mean - gains  # rounding in the mean would be divided by the spread, too
    dual = better_conditioned(pi * (mean + (off - float(pi @ off)) / spread), pi, gains)
    return Found("", mechanism, proof=dual, value=mean if tiny(problem) else None)


def tiny(problem: Problem) -> bool:
    """Whether c is so near 1 that an f-information is summed in lifts less 1."""
    utility = problem.utility
    return isinstance(utility, FInformation) and utility.f in NEAR_ONE and problem.lifts.high - 1 < NEAR


def binary_over_set(problem: Problem, lifts: SetLifts) -> Solution:
    """Two symbols: admissible lift vectors form a segment, and both ends are used. y solves two equations."""
    columns = lifts.admissible(np.diag(1 / lifts.prior.probabilities))
    weights = np.asarray(np.linalg.solve(columns.T, np.ones(2)), dtype=np.float64)
    gains = problem.mu(columns)
    dual = np.asarray(np.linalg.solve(columns, gains), dtype=np.float64)
    return Solution(columns, weights, float(gains @ weights), math.fsum(dual), dual)


def uniform_over_set(problem: Problem, lifts: SetLifts) -> Solution:
    """All cyclic shifts of the best column. y_i = U/N, since no column has a larger utility than U (Theorem 4)."""
    n = lifts.priors.size
    column = lifts.admissible(best_symmetric(lifts.priors, lifts.c, problem.mu)[None])[0]
    shifts = column[(np.arange(n)[:, None] + np.arange(n)) % n]
    value = float(problem.mu(column[None])[0])
    return Solution(shifts, np.full(n, 1 / n), value, value, np.full(n, value / n))
