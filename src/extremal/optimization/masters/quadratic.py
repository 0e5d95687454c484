"""The best mixture of given lift vectors: a primal-dual interior-point method.

Minimise tr(G C^-1), C = X' diag(q) X, over q >= 0 with sum 1 and X'q = 0; rows of X are lift vectors less 1, without
the most likely symbol. The Hessian is 2 (X C^-1 X') o (X W X'), W = C^-1 G C^-1. The multipliers (y0, y) of the two
constraints price vectors that are not among the rows: x is worth adding where x'Wx > y0 + y.x.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..._common.types import Floats, Ints
from ...errors import SolverError
from ...model.purpose import QuadraticProof
from .. import tuning
from ..effort import UNLIMITED, Effort, Stats, Why
from ..generate import Oracle, Search, Solution, generate
from ..reductions import QuadraticProblem, efficiency, padded

HALVINGS = 30  # of a step that does not help: then it is rounding
PRECISE = 1e-8  # of a mixture that is final
SILENT = 1e-7  # rows that tell less than this part of what the most telling row does are dropped
ROUNDING = 1e-11  # of what weights have to balance


@dataclass(frozen=True, eq=False)
class Mixture:
    """Weights of the rows, what each of them tells, the loss, C^-1, and what prices other rows: W and y.

    A row tells q x'Wx, in parts of the largest: rare rows count by this, not by their weight. Where the answers are
    nearly all alike, a row that is nearly always drawn tells next to nothing but balances the others: it counts by its
    weight.

    `error` is how far the weights are from balance.
    """

    weights: Floats
    told: Floats
    loss: float
    inverse: Floats
    W: Floats
    y: Floats
    error: float

    @property
    def whole(self) -> tuple[Floats, Floats]:
        """W and y over all symbols, with zeros for the first."""
        return padded(self.W), np.append(0.0, self.y)


def mix(X: Floats, G: Floats, tolerance: float, start: Floats, effort: Effort = UNLIMITED) -> Mixture:
    """The mixture of the rows of X of least tr(G C^-1), up to this relative tolerance; weights to start from.

    Some mixture must have mean 0. It takes few steps from weights that are not too small, so these are raised and then
    centred. If time is up, the steps so far count.
    """
    return _newton(X, G, tolerance, centred(X, np.maximum(start, tuning.LEAST_WEIGHT / len(X))), effort)


def balance(X: Floats, q: Floats) -> Floats:
    """The weights nearest to q, relatively, that sum to 1 and balance the rows of X; some may not be positive.

    Rows may come with or without the most likely symbol.
    """
    E = np.column_stack([np.ones(len(X)), X])
    target = np.zeros(E.shape[1])
    target[0] = 1.0
    for _ in range(3):
        q = q * (1 + E @ np.linalg.lstsq((E.T * q) @ E, target - E.T @ q, rcond=None)[0])
        if not q.min() > 0:
            break
    return q


def centred(X: Floats, w: Floats) -> Floats:
    """The weights q that balance the rows of X and make the sum of w log q largest, so that none is small in vain.

    They are w / (1 + X t) for the t that makes the sum of w log(1 + X t) largest, which Newton's method finds.
    LinAlgError if no positive weights balance the rows.
    """
    Z = X / np.abs(X).max(axis=0)
    w = w / w.sum()
    inside = np.ones(len(Z))  # 1 + X t
    for _ in range(tuning.NEWTON_STEPS):
        q = w / inside
        mean = q @ Z
        if np.all(np.abs(mean) <= 1e-9 * (q @ np.abs(Z))):
            return q
        step = least_squares((Z.T * (q / inside)) @ Z, mean)
        along = Z @ step
        far = min(1.0, tuning.NEAREST * _reach(inside, along))
        gain, value = float(mean @ step), float(w @ np.log(inside))
        while float(w @ np.log(inside + far * along)) < value + 1e-4 * far * gain and far > 1e-9:
            far /= 2
        inside = inside + far * along
    raise np.linalg.LinAlgError("no mixture of these rows has mean 0")


def _newton(X: Floats, G: Floats, tolerance: float, q: Floats, effort: Effort) -> Mixture:
    k, n = X.shape
    E = np.hstack([np.ones((k, 1)), X])
    q = q / q.sum()
    scale = float(np.sum(G * inverse_covariance(X, q)))
    G = G / scale
    inverse, W, gain = _priced(X, G, q)
    eta = np.linalg.lstsq(E * q[:, None], gain * q, rcond=None)[0]
    s = 0.3 / k / q
    target = np.zeros(n + 1)
    target[0] = 1.0
    for _ in range(tuning.NEWTON_STEPS):
        if effort.pause():
            break
        mu = float(q @ s) / k
        dual = E @ eta - gain - s
        primal = E.T @ q - target
        worst = max(
            float(np.abs(dual).max()), float(np.abs(primal / np.maximum(np.abs(E).max(axis=0), 1e-300)).max())
        )
        if mu * k <= 0.1 * tolerance and worst <= 0.1 * tolerance:
            break
        H = 2 * (X @ inverse @ X.T) * (X @ W @ X.T)
        H.flat[:: k + 1] += s / q
        aim = 0.1 * mu
        right = -(dual + s - aim / q)
        both = solve_positive(H, np.column_stack([E, right]))
        schur = E.T @ both[:, :-1]
        step_y = least_squares(schur, E.T @ both[:, -1] + primal)
        step_q = both[:, -1] - both[:, :-1] @ step_y
        step_s = aim / q - s - s / q * step_q
        part = q / q.max()  # rare rows tell as much as others only if their prices are as much larger
        before = _length(part * dual, q * s - aim, primal)
        far = min(1.0, tuning.NEAREST * _reach(q, step_q), tuning.NEAREST * _reach(s, step_s))
        for _ in range(HALVINGS):
            new_q, new_s, new_eta = q + far * step_q, s + far * step_s, eta + far * step_y
            with contextlib.suppress(np.linalg.LinAlgError):
                new_inverse, new_W, new_gain = _priced(X, G, new_q)
                residual = E @ new_eta - new_gain - new_s
                after = _length(part * residual, new_q * new_s - aim, E.T @ new_q - target)
                if after <= (1 - 0.01 * far) * before or after < 1e-13:
                    break
            far *= 0.5
        else:  # no step helps: no mixture has mean 0, or this one is as good as rounding allows
            break
        q, s, eta, inverse, W, gain = new_q, new_s, new_eta, new_inverse, new_W, new_gain
    error, most = float(np.abs(E.T @ q - target).max()), float(np.max(q * gain))
    told = np.maximum(q * gain / most, q) if most > 0 else q  # else the rows are beyond what doubles hold
    y = np.asarray(eta[1:] * scale, dtype=np.float64)
    return Mixture(q, told, float(np.sum(G * inverse)) * scale, inverse, W * scale, y, error)


def _priced(X: Floats, G: Floats, q: Floats) -> tuple[Floats, Floats, Floats]:
    """C^-1 of a mixture, W = C^-1 G C^-1, and x'Wx of every row."""
    inverse = inverse_covariance(X, q)
    W = inverse @ G @ inverse
    return inverse, W, np.einsum("ki,ki->k", X @ W, X)


def inverse_covariance(X: Floats, q: Floats) -> Floats:
    """C^-1, by the factor of a matrix scaled to a unit diagonal."""
    C = (X.T * q) @ X
    d = 1 / np.sqrt(np.diagonal(C))
    scale = np.multiply.outer(d, d)
    return solve_positive(C * scale, np.eye(len(C)), lower=False) * scale


def _length(*parts: Floats) -> float:
    """The norm of all the parts together."""
    return math.hypot(*(math.sqrt(part @ part) for part in parts))


def _reach(at: Floats, step: Floats) -> float:
    """How many steps until a component vanishes."""
    falling = step < 0
    return float(np.min(-at[falling] / step[falling])) if falling.any() else math.inf


# Fewer outputs: rows that tell little are dropped and the rest mixed again.


def prune(
    problem: QuadraticProblem, X: Floats, mixture: Mixture, allowed: float, effort: Effort
) -> tuple[Floats, Floats]:
    """Few rows whose best mixture loses no more than allowed, relatively, and their weights."""
    X, q, told = _telling(X, mixture)
    if not effort.pause():
        final = mix(X[:, 1:], problem.loss, PRECISE, q, effort)
        best, part = final.loss, tuning.LARGEST_PART
        if final.error <= PRECISE:  # else time was up
            X, q, told = _telling(X, final)
        while part >= tuning.SMALLEST_PART and not effort.pause():
            count = int((1 - part) * len(q))
            fewer = None if count < problem.size else _largest(problem, X, q, told, count, effort)
            if fewer is None or fewer[1].loss > best * (1 + allowed):
                part /= 2
            else:
                X, q, told = _telling(X[fewer[0]], fewer[1])
    return X, exactly_balanced(X, q)


def cut(problem: QuadraticProblem, X: Floats, q: Floats, most: int) -> tuple[Floats, Floats] | None:
    """At most so many rows with their best weights, found by dropping those that tell least; None if that fails."""
    X, q, told = _telling(X, mix(X[:, 1:], problem.loss, PRECISE, q))
    part = tuning.CUT
    while len(q) > most:
        count = min(max(most, int((1 - part) * len(q))), len(q) - 1)
        fewer = _largest(problem, X, q, told, count, UNLIMITED)
        if fewer is not None:
            X, q, told = _telling(X[fewer[0]], fewer[1])
        elif count < len(q) - 1:
            part /= 2
        else:
            return None
    return X, exactly_balanced(X, q)


def _telling(X: Floats, mixture: Mixture) -> tuple[Floats, Floats, Floats]:
    """The rows that tell something, their weights, and how much; all rows if those alone cannot be balanced."""
    kept = np.flatnonzero(mixture.told > SILENT)
    if not _balanced(X[kept], balance(X[kept][:, 1:], mixture.weights[kept])):
        kept = np.arange(len(X))
    return X[kept], mixture.weights[kept], mixture.told[kept]


def _largest(
    problem: QuadraticProblem, X: Floats, q: Floats, told: Floats, count: int, effort: Effort
) -> tuple[Ints, Mixture] | None:
    """So many rows that tell most and their best mixture, or None if none has mean 0 or tells enough."""
    kept = np.sort(np.argsort(-told, kind="stable")[:count])
    try:
        fewer = mix(X[kept][:, 1:], problem.loss, PRECISE, q[kept], effort)
    except np.linalg.LinAlgError:
        return None
    return (kept, fewer) if fewer.error <= PRECISE and fewer.weights.min() > 0 else None


def exactly_balanced(X: Floats, q: Floats) -> Floats:
    """Weights next to q that balance the rows of X up to rounding."""
    q = balance(X[:, 1:], q)
    if not _balanced(X, q):
        raise SolverError("no positive weights balance the columns of a design in the last step")
    return q


def _balanced(X: Floats, q: Floats) -> bool:
    """Whether weights are positive, sum to 1 and balance the rows of X, up to rounding."""
    moved = np.abs(q @ X[:, 1:]) <= ROUNDING * (q @ np.abs(X[:, 1:]))
    return bool(q.min() > 0 and abs(q.sum() - 1) <= ROUNDING and moved.all())


# Small linear systems, solved by LAPACK without what scipy does around it: that takes longer than the solving.


def solve_positive(A: Floats, B: Floats, lower: bool = True) -> Floats:
    """A^-1 B for a symmetric A, of which one triangle is read; LinAlgError unless it is positive definite."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    factor, failed = dpotrf(A, lower=lower, clean=False, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    solution, _ = dpotrs(factor, B, lower=lower)
    return np.asarray(solution)


def least_squares(A: Floats, b: Floats) -> Floats:
    """The shortest x that brings the square matrix A x as near to b as possible."""
    from scipy.linalg.lapack import dgelsy, dgelsy_lwork

    n = len(b)
    cutoff = float(np.finfo(np.float64).eps)
    room = int(dgelsy_lwork(n, n, 1, cutoff)[0])
    _, x, _, _, _ = dgelsy(A, b[:, None], np.zeros((n, 1), dtype=np.int32), cutoff, room)
    return np.asarray(x[:n, 0])


@dataclass(kw_only=True)
class QuadraticSearch(Search):
    """The state of a search over a quadratic master: rows of lifts less 1 and their best mixture.

    `true` has the loss to be proven, which the problem's may exceed a little; `simple` is always there.
    """

    problem: QuadraticProblem
    true: QuadraticProblem
    goal: float
    proof: QuadraticProof
    simple: tuple[Floats, Floats]
    rows: Floats = field(init=False)
    weights: Floats = field(init=False)  # to start from
    mixture: Mixture | None = None  # the last one that counts, of the rows `mixed`
    mixed: Floats = field(init=False)
    tried: int = 0
    most: int = 0  # rows that are kept

    def __post_init__(self) -> None:
        self.effort.value, self.most = (
            efficiency(self.true, *self.simple),
            tuning.FEW_OUTPUTS * self.true.size,
        )

    def begin(self, rows: Floats, weights: Floats, start: Floats | None) -> None:
        """The first rows, some of which mix to mean 0, and others worth trying."""
        if start is not None:
            rows, weights = np.concatenate([rows, start]), np.append(weights, np.zeros(len(start)))
        self.rows, self.weights = distinct(rows, weights)
        self.tried = len(self.rows)

    def solve(self) -> bool:
        """Mix the rows."""
        if self.last or self.effort.pause():
            return False
        try:
            found = mix(self.rows[:, 1:], self.problem.loss, self.goal / 10, self.weights, self.effort)
        except np.linalg.LinAlgError:  # masses too different for doubles: what was found before stands
            return False
        value = self.true.direct / float(np.sum(self.true.loss * found.inverse))
        if found.error > 1e-6 or (self.effort.pause() and value < self.value):
            return False
        self.mixture, self.mixed, self.effort.value = found, self.rows, value
        return True

    def offer(self, upper: float, proof: QuadraticProof) -> None:
        """A bound on the efficiency, and its proof."""
        if upper < self.upper:
            self.upper, self.proof = upper, proof

    def add(self, new: Floats) -> None:
        """Keep the rows that tell most, and add new ones."""
        mixture = self.mixture
        assert mixture is not None
        self.tried += len(new)
        kept = np.sort(np.argsort(-mixture.told, kind="stable")[: self.most])
        kept = kept[mixture.told[kept] > SILENT]
        rows = np.concatenate([self.rows[kept], new])
        self.rows, self.weights = distinct(rows, np.append(mixture.weights[kept], np.zeros(len(new))))

    def pruned(self) -> tuple[Floats, Floats] | None:
        """Few rows and their weights; None if there are none whose weights balance them."""
        if self.mixture is None:
            return None
        gap = self.upper / self.value - 1
        # The gap may grow to the goal for fewer outputs, and a little where it is missed.
        room = max(0.98 * self.goal - gap, 0.2 * (self.goal - gap))
        allowed = room if room > 0 else min(gap / 10, tuning.SPARED)
        with contextlib.suppress(np.linalg.LinAlgError, SolverError):
            return prune(self.problem, self.mixed, self.mixture, allowed, self.effort)
        return None


class VectorOracle(Oracle[QuadraticSearch], Protocol):
    """Where lift vectors less 1 come from, and bounds over all of them."""

    @property
    def name(self) -> str:
        """How lift vectors are found."""

    def first(self) -> tuple[Floats, Floats]:
        """Vectors to begin with, and weights that balance them."""


def search_mixtures(search: QuadraticSearch, oracle: VectorOracle, start: Floats | None = None) -> Solution:
    """Mix the vectors so far and look for better ones, again and again; then drop those that tell little."""
    effort, true = search.effort, search.true
    least = search.value
    try:
        effort.tell(search.value, search.upper)
        search.begin(*oracle.first(), start)
        why = generate(search, oracle)
        made = search.pruned()
    except KeyboardInterrupt:
        effort.interrupted, why = True, Why.INTERRUPTED
        made = search.pruned()
    if effort.interrupted or effort.stopped:
        why = effort.why
    stats, name = search.stats(search.tried, why), oracle.name
    if made is None or efficiency(true, *made) < least:
        made, name = search.simple, "randomized response"
    return mixture_of(true, *made, search.upper, search.proof, name, stats)


def distinct(X: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Equal rows merged."""
    rows, place = np.unique(X, axis=0, return_inverse=True)
    return rows, np.bincount(place.ravel(), weights=weights).astype(np.float64)


def mixture_of(
    problem: QuadraticProblem,
    X: Floats,
    q: Floats,
    upper: float,
    proof: QuadraticProof,
    name: str,
    stats: Stats,
) -> Solution:
    """What was found, for the sorted and merged symbols: lifts are less 1."""
    value = efficiency(problem, X, q)
    return Solution(X, q, value, upper, stats=stats, proof=proof, method=name)
