"""The best mechanism by going through all candidates: Algorithm 1 with Theorem 5, and Lemma 1.

The first lists lift vectors. The second lists the vertices of the polytope M_N(epsilon) of all N x N mechanisms that
satisfy epsilon-PML: it has N^2 variables and its vertices explode with N, see `polytope_vertices`. Both are written
without the optimization, which lists, prices and refines in its own way: each is a check of the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .._common.highs import INFINITE, Program
from .._common.threads import one_thread
from .._common.types import Floats
from ..errors import EpsilonError, PriorError, SizeError, SolverError
from ..model.levels import (
    LDP,
    PML,
    MaximalLeakage,
    Notion,
    bounded_exp,
    check_epsilon,
    every_set,
    largest_lift,
    rounding,
)
from ..model.mechanism import Mechanism, constant, pair_outputs
from ..model.prior import Prior, check_prior
from ..model.utility import Utility, check_utility, mutual_information
from .lift_vectors import lift_vertices
from .reduction import reduce_outputs

LARGEST = 4  # symbols: see polytope_vertices

SMALL_LIFT = 1e-6  # larger lifts are real however small the mass


@one_thread
def polytope_vertices(prior: Prior, epsilon: float) -> Floats:
    """All extremal mechanisms: the vertices of M_N(epsilon), shape (V, N, N).

    Practical up to N = 4: at most about 100 vertices in a moment for N = 3, 4 thousand in seconds for N = 4. N = 5 has
    3125 vertices in the first region already and is refused. Found in exact arithmetic, then rounded.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.theory.polytope_vertices(prior, 0.6).shape[0]
    57

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    """
    pi, c = check_prior(prior).probabilities, largest_lift(prior.probabilities, epsilon)
    _check_number(len(pi))
    P = np.array(exact_polytope_vertices(_as_fractions(pi), Fraction(c)), dtype=np.float64)
    # At an edge some elements are 0 only up to rounding: they add nothing to their row nor to their column.
    noise, rho = rounding(np.log(c)), (pi @ P)[:, None, :]
    nothing = np.less_equal(P, noise) & (pi[:, None] * P <= noise * rho) & (SMALL_LIFT * rho >= P)
    P[nothing] = 0.0
    return np.asarray(P / P.sum(axis=2, keepdims=True))


def exact_polytope_vertices(pi: Sequence[Fraction], c: Fraction) -> list[list[list[Fraction]]]:
    """The same for rational masses and a rational c = e^epsilon, without rounding.

    The columns of a mechanism lie in the cone K = {x >= 0 : x <= c (pi . x)} and sum to 1. It is a vertex
    exactly if the faces of K that hold its columns in their interior span independent subspaces. So it is
    enough to go through the sets of faces whose dimensions sum to at most N, and to place their columns in every order.
    """
    pi, c = [Fraction(p) for p in pi], Fraction(c)
    _check_number(len(pi))
    if sum(pi) != 1 or min(pi) <= 0:
        raise PriorError(
            "must be positive fractions that sum to exactly 1",
            parameter="masses",
            given=[str(p) for p in pi],
            remedy="divide each by their sum",
        )
    if c < 1:
        raise EpsilonError(
            "c = e^epsilon must be at least 1",
            given=c,
            remedy="c = 1 releases nothing",
        )
    n = len(pi)
    cone = _Cone(pi, min(c, 1 / min(pi)))
    nothing = [Fraction(0)] * n
    found = []
    for chosen in _sets_of_faces(cone.faces(), n):
        columns = cone.split(chosen)
        if columns is None:
            continue
        for places in itertools.permutations(range(n), len(columns)):
            placed = [nothing] * n
            for place, column in zip(places, columns, strict=True):
                placed[place] = column
            found.append([list(row) for row in zip(*placed, strict=True)])
    return found


def _sets_of_faces(faces: list[_Face], room: int) -> Iterator[list[_Face]]:
    """All non-empty sets of faces whose dimensions sum to at most `room`."""
    for k, face in enumerate(faces):
        if len(face.basis) <= room:
            yield [face]
            for others in _sets_of_faces(faces[k + 1 :], room - len(face.basis)):
                yield [face, *others]


@dataclass(frozen=True)
class _Face:
    """A face of the cone: the constraints it meets with equality, and vectors that span it."""

    active: frozenset[int]
    basis: list[list[int]]


class _Cone:
    """{x >= 0 : x <= c (pi . x)}: its extreme rays are the extremal lift vectors.

    In whole numbers, which take a fraction of the time of fractions: the length of a vector does not matter.
    """

    def __init__(self, pi: list[Fraction], c: Fraction) -> None:
        whole = math.lcm(*(p.denominator for p in pi))
        self.pi, self.n = [int(p * whole) for p in pi], len(pi)
        self.high, self.low = c.numerator, c.denominator * whole  # low x_i <= high (pi . x)

    def active(self, x: Sequence[int]) -> frozenset[int] | None:
        """The constraints x meets with equality: i for x_i = 0, n + i for x_i = c pi . x; None if outside."""
        top = self.high * sum(p * v for p, v in zip(self.pi, x, strict=True))
        if min(x) < 0 or self.low * max(x) > top:
            return None
        return frozenset(k for k, v in enumerate(x) if v == 0) | {
            self.n + k for k, v in enumerate(x) if self.low * v == top
        }

    def faces(self) -> list[_Face]:
        """All faces but {0}."""
        rays = {}
        for j in range(self.n):
            others = [k for k in range(self.n) if k != j]
            for full in itertools.product((False, True), repeat=self.n - 1):
                x = [0] * self.n
                for k in itertools.compress(others, full):
                    x[k] = self.high * self.pi[j]
                x[j] = self.low - self.high * sum(self.pi[k] for k in itertools.compress(others, full))
                active = self.active(x)
                if active is not None:
                    divisor = math.gcd(*x)
                    rays[tuple(v // divisor for v in x)] = active
        # A face is the set of rays that share some constraints: all intersections of the rays' sets.
        shared = set(rays.values())
        while True:
            more = {a & b for a, b in itertools.combinations(shared, 2)} - shared
            if not more:
                break
            shared |= more
        return [
            _Face(active, _independent([list(x) for x, own in rays.items() if active <= own]))
            for active in shared
        ]

    def split(self, chosen: Sequence[_Face]) -> list[list[Fraction]] | None:
        """The vector 1 as a sum of one vector inside each face, if it is one and in one way only."""
        vectors = [vector for face in chosen for vector in face.basis]
        solved = _solve([[*row, 1] for row in zip(*vectors, strict=True)], len(vectors))
        if solved is None:
            return None
        weights, divisor = solved
        columns = []
        for face in chosen:
            own, weights = weights[: len(face.basis)], weights[len(face.basis) :]
            x = [sum(w * v[i] for w, v in zip(own, face.basis, strict=True)) for i in range(self.n)]
            if self.active(x) != face.active:
                return None
            columns.append(x)
        return [[Fraction(v, divisor) for v in x] for x in columns]


def _as_fractions(pi: Floats) -> list[Fraction]:
    """The masses as fractions that sum to exactly 1: the largest takes up the rounding."""
    exact = [Fraction(p) for p in pi.tolist()]
    largest = int(np.argmax(pi))
    exact[largest] += 1 - sum(exact)
    return exact


def _check_number(n: int) -> None:
    if n > LARGEST:
        raise SizeError(
            f"vertex enumeration of M_N(epsilon) needs N <= {LARGEST} to be practical",
            given=n,
            remedy=(
                "`design(prior, epsilon)` uses lift vectors (enumeration up to N = 18) or column generation instead"
            ),
        )


def _independent(vectors: list[list[int]]) -> list[list[int]]:
    """The first vectors of a list that span all of it."""
    basis: list[list[int]] = []
    reduced: list[list[int]] = []
    for vector in vectors:
        rest = list(vector)
        for row in reduced:
            pivot = next(k for k, v in enumerate(row) if v != 0)
            if rest[pivot] != 0:
                rest = [row[pivot] * a - rest[pivot] * b for a, b in zip(rest, row, strict=True)]
        if any(rest):
            reduced.append(rest)
            basis.append(vector)
    return basis


def _solve(rows: list[list[int]], unknowns: int) -> tuple[list[int], int] | None:
    """Whole numbers w and d > 0 such that w / d solves a linear system, rows ending with their right side.

    None unless the solution is unique. Bareiss's elimination: every division leaves no remainder.
    """
    before = 1
    for k in range(unknowns):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        top = rows[k]
        for r, row in enumerate(rows):
            if r != k:
                rows[r] = [(top[k] * x - row[k] * y) // before for x, y in zip(row, top, strict=True)]
        before = top[k]
    if any(row[-1] != 0 for row in rows[unknowns:]):
        return None
    sign = 1 if before > 0 else -1
    return [sign * row[-1] for row in rows[:unknowns]], abs(before)


LARGEST_LISTED = 14  # symbols whose sets are all listed
SMALLEST = (
    1e-5  # distances from 1 of lifts, whose rounding the program must not take for a row it has to meet
)
NOTHING = 1e-12  # distances from 1 that doubles cannot balance
UNUSED = 1e-12  # lift vectors that occur more rarely are rounding


@one_thread
def enumerated(
    prior: Prior, epsilon: float, utility: Utility = mutual_information, notion: Notion = PML
) -> Mechanism:
    """A mechanism of largest utility, by one linear program over all extremal lift vectors (Algorithm 1, Theorem 5).

    Practical up to about 16 answers; under LDP and MaximalLeakage, whose candidates are sets of answers, up to 14.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.mutual_information(prior, ex.theory.enumerated(prior, 0.6)), 3)
    0.423

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    utility
        What is maximised, under Definition 4.
    notion
        What must not exceed epsilon: PML, LDP, LIP or MaximalLeakage.
    """
    pi, c = check_prior(prior).probabilities, bounded_exp(check_epsilon(epsilon))
    lifts, budget = _candidates(pi, c, epsilon, notion), c if notion == MaximalLeakage else math.inf
    gains = check_utility(utility).columns(prior, np.ascontiguousarray(lifts.T))
    if np.abs(lifts - 1).max() <= NOTHING:
        return constant(prior)
    shares = _best_mixture(pi, lifts, gains, budget)
    used = shares > UNUSED
    lifts, shares = lifts[used], shares[used]
    for _ in range(2):  # every answer's mean lift is 1 to the last digits
        shares = shares + np.linalg.lstsq(lifts.T, 1 - shares @ lifts, rcond=None)[0]
    P = np.maximum(lifts.T * shares, 0.0)
    mechanism = Mechanism(P / P.sum(axis=1, keepdims=True), prior.labels)
    if notion != MaximalLeakage:  # whose sum over reports may grow
        mechanism = reduce_outputs(prior, mechanism, utility)
    return pair_outputs(prior, mechanism)


@one_thread
def vertices(prior: Prior, epsilon: float, utility: Utility = mutual_information) -> Mechanism:
    """The best of all extremal mechanisms (Lemma 1), up to 4 answers: see `polytope_vertices`.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.mutual_information(prior, ex.theory.vertices(prior, 0.6)), 3)
    0.423

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    utility
        What is maximised, under Definition 4.
    """
    every = polytope_vertices(prior, epsilon)
    best = max(every, key=lambda P: math.fsum(check_utility(utility).columns(prior, P)))
    return pair_outputs(prior, Mechanism(best[:, best.max(axis=0) > UNUSED], prior.labels))


def _candidates(pi: Floats, c: float, epsilon: float, notion: Notion) -> Floats:
    """The columns that suffice under a notion, scaled to mean 1, one a row."""
    if notion not in (LDP, MaximalLeakage):
        low, least = notion.lower_lift(epsilon), float(pi.min())
        return lift_vertices(pi, low, min(c, (1 - low * (1 - least)) / least))
    if len(pi) > LARGEST_LISTED:
        raise SizeError(
            f"under {notion} all sets of answers are listed, up to {LARGEST_LISTED} answers",
            given=len(pi),
            remedy="merge rare answers",
        )
    columns = every_set(len(pi))
    if notion == LDP:
        columns = 1 + (c - 1) * columns
    return columns / (columns @ pi)[:, None]


def _best_mixture(pi: Floats, lifts: Floats, gains: Floats, budget: float) -> Floats:
    """How often each lift vector occurs: of mean 1, with a mean of the largest lifts within the budget.

    The lift of the likeliest symbol follows from the others: a row for it would contradict them by what rounding does.
    """
    m, n = len(lifts), len(pi) - 1
    spread, scale = max(float(np.abs(lifts - 1).max()), SMALLEST), float(np.abs(gains).max())
    others = np.delete(lifts - 1, int(np.argmax(pi)), axis=1)
    rows = np.column_stack((others / spread, np.ones(m), lifts.max(axis=1)))
    right = np.append(np.zeros(n), (1.0, budget))
    program = Program({"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}, True)
    program.add_rows(np.append(right[:-1], -INFINITE), right, np.zeros((n + 2, 0)))
    program.add_columns(gains / (scale or 1.0), np.zeros(m), np.full(m, INFINITE), rows)
    status = program.run()
    if status != "optimal":
        raise SolverError(f"the program over all lift vectors ended with status {status}")
    return np.maximum(program.solution()[0], 0.0)
