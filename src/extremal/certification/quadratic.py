"""An independent check of a design for estimation: feasible, epsilon-PML, worth what it says, bounded as it says.

Shares no code with the solver and uses numpy alone. With lift vectors lambda = 1 + x and C the covariance of x over
all symbols, the loss tr(A Sigma) of every mechanism is at least s^2 / m for any W, where m bounds tr(WC) for all
mechanisms and s is the sum of the singular values of W^1/2 A^1/2 on vectors orthogonal to the prior. So the
proof needs no trust: a W, and prices y if m comes from a list of all lift vectors.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from .._common.types import Floats, Ints
from ..model.prior_set import PriorSet
from ..model.purpose import Proof, QuadraticProof
from .claim import Check, error_of_rows, leakage_of, rounding_of
from .prior_sets import largest_form, most_over_set

RELATIVE = 1e-7  # what an efficiency may be off by, relatively
POSITIVE = 64 * 2.0**-52  # below 0, relatively, what eigenvalues of a positive semidefinite matrix may be
MOST_VERTICES = 2_000_000


def check_quadratic(
    probabilities: ArrayLike,
    epsilon: float,
    A: ArrayLike,
    matrix: ArrayLike,
    value: float,
    upper_bound: float,
    proof: Proof | None,
    priors: PriorSet | None = None,
) -> Check:
    """Whether a mechanism has this efficiency under epsilon-PML, and no other a larger one than the bound.

    A proof that is `over_set` is for mechanisms that keep epsilon for all of `priors`, see `prior_sets`. Without a
    proof the bound is 1, what direct answers are worth, or 0 where nothing may be told.
    """
    pi, P, A = (np.asarray(a, dtype=np.float64) for a in (probabilities, matrix, A))
    how = "the efficiency of direct answers" if proof is None else "the proof of the design"
    problems: list[str] = []
    if A.shape != (len(pi), len(pi)) or not np.isfinite(A).all() or not (A == A.T).all():
        problems.append("the purpose has no symmetric finite matrix")
    if P.ndim != 2 or len(P) != len(pi) or not np.isfinite(P).all() or P.min() < 0:
        problems.append("no mechanism for this prior")
    if problems:
        nothing = (math.nan, value, math.inf, upper_bound)
        return Check(math.nan, math.nan, epsilon, *nothing, False, how, tuple(problems))
    row_error = error_of_rows(P, problems)
    q = pi @ P
    P, q = P[:, q > 0], q[q > 0]
    leakage = leakage_of(P / q, epsilon, problems)
    if not _is_positive(pi, A):
        problems.append(
            "the matrix of the purpose is not positive semidefinite, so nothing bounds the efficiency"
        )
    A = _less_most_likely(pi, A)
    found = _efficiency(pi, A, P, q)

    @cache  # it takes as long as all the rest, and few need it
    def noise() -> float:
        return rounding_of(lambda moved: np.array([_efficiency(pi, A, moved, pi @ moved)]), P)

    apart = abs(found - value) - RELATIVE * max(abs(found), abs(value))
    if not (math.isfinite(value) and (apart <= 0 or apart <= noise())):
        problems.append(f"efficiency is {found:.12g}, not {value:.12g}")
    try:
        if isinstance(proof, QuadraticProof):
            bound = _bound(pi, epsilon, A, proof, priors, problems)
        elif proof is None:
            bound = 1.0 if epsilon > 0 else 0.0
        else:
            raise TypeError("a proof of another kind")
    except (ValueError, TypeError, IndexError, AttributeError, np.linalg.LinAlgError):
        problems.append("the proof is malformed")
        bound = math.inf
    if not bound <= upper_bound * (1 + RELATIVE):
        problems.append(f"upper bound {upper_bound:.12g} is not proved: {bound:.12g}")
    if (above := found - bound * (1 + RELATIVE)) > 0 and above > noise():
        problems.append(f"efficiency {found:.12g} exceeds what was proved, {bound:.12g}")
    proved = upper_bound < math.inf and not problems
    told = (found, value, bound, upper_bound, proved, how)
    return Check(row_error, leakage, epsilon, *told, tuple(problems))


def _less_most_likely(pi: Floats, A: Floats) -> Floats:
    """The form that is e'Ae for errors e, which sum to 0, and has nothing of the most likely symbol.

    In A that symbol may stand for a group of nearly all people, whose share 1 - p would lose the digits of a small p.
    """
    k = int(np.argmax(pi))
    return np.asarray(A - A[:, [k]] - A[[k]] + A[k, k])


def _is_positive(pi: Floats, A: Floats) -> bool:
    """Whether e'Ae >= 0 for all errors e that sum to 0, up to what rounding the entries of A does to it."""
    B, rest = _less_most_likely(pi, A), np.sqrt(max(float(A[np.argmax(pi), np.argmax(pi)]), 0.0))
    # |B_ij| <= size_i size_j if A is positive semidefinite.
    size = np.sqrt(np.maximum(np.diagonal(A), 0.0)) + rest
    some = size > 0
    if B[~some].any():
        return False
    scaled = B[np.ix_(some, some)] / size[some] / size[some][:, None]
    return bool(np.isfinite(scaled).all()) and float(
        np.linalg.eigvalsh(scaled).min(initial=0.0)
    ) > -POSITIVE * len(pi)


def _efficiency(pi: Floats, A: Floats, P: Floats, q: Floats) -> float:
    """tr(A (diag pi - pi pi')) / tr(A (J^-1 - pi pi')); what J does not identify must not matter to A.

    Lifts less 1 have the mean 0 under the prior, so those of all symbols but the most likely one say everything. Their
    covariance is scaled to a unit diagonal: lifts of rare symbols may be larger by many orders of magnitude.
    """
    others = np.arange(len(pi)) != np.argmax(pi)
    # Lifts less 1 from differences: P / q - 1 would lose digits where q is nearly a row.
    apart = P[others] - P[~others]
    X = (apart - pi[others] @ apart) / q
    spread = np.sqrt(np.sum(X * X * q, axis=1))
    scale = np.where(spread > 0, spread, 1.0)
    Z = X / scale[:, None]
    values, vectors = np.linalg.eigh((Z * q) @ Z.T)
    # An error of the others' shares is one of the most likely symbol's, too: they sum to 0.
    known, along = np.eye(len(pi))[:, others], vectors / scale[:, None]
    errors = (known - pi[:, None]) @ along
    losses = np.sum(errors * (A @ errors), axis=0)
    kept = values > 1e-13 * len(pi)
    # Each against what it would be if nothing of it cancelled: scales differ, so that another's loss is no measure.
    large = (known + pi[:, None]) @ np.abs(along)
    sizes = np.sum(large * (np.abs(A) @ large), axis=0)
    if np.any(losses[~kept] > 1e-9 * sizes[~kept]):
        return 0.0
    loss = float(np.sum(losses[kept] / values[kept]))
    return _direct(pi, A) / loss if loss > 0 else 0.0


def _direct(pi: Floats, A: Floats) -> float:
    """tr(A (diag pi - pi pi')), as a sum of squares: nearly certain answers leave next to nothing of a difference."""
    errors = np.eye(len(pi)) - pi[:, None]
    return float(np.sum(errors * (A @ errors), axis=0) @ pi)


def _bound(
    pi: Floats,
    epsilon: float,
    A: Floats,
    proof: QuadraticProof,
    priors: PriorSet | None,
    problems: list[str],
) -> float:
    """The upper bound that a proof proves."""
    if proof.groups is not None:
        groups = np.asarray(proof.groups, dtype=np.int64)
        first = np.unique(groups, return_index=True)[1]
        representative = first[groups]
        h = np.eye(len(pi)) - np.eye(len(pi))[representative]  # e_i less the first of its group
        change = h @ A
        if np.abs(change - change.mean(axis=1, keepdims=True)).max() > 1e-9 * np.abs(A).max():
            problems.append("the proof merges symbols that the purpose tells apart")
            return math.inf
        pi, A = np.asarray(np.bincount(groups, weights=pi), dtype=np.float64), A[np.ix_(first, first)]
    n = len(pi)
    W = np.asarray(proof.weights, dtype=np.float64)
    W = np.diag(W) if W.ndim == 1 else W
    if W.shape != (n, n) or not np.isfinite(W).all() or np.abs(W - W.T).max() > 1e-9 * np.abs(W).max():
        problems.append(f"the proof must hold {n} weights or a symmetric matrix of them")
        return math.inf
    W = (W + W.T) / 2
    excess = min(math.expm1(min(epsilon, 700.0)), float((1 / pi - 1).max()))
    if proof.over_set:
        if priors is None or proof.groups is not None:
            problems.append("the proof is for a set of priors")
            return math.inf
        W, most = most_over_set(pi, math.exp(min(epsilon, 700.0)), W, proof, priors, problems)
    elif proof.prices is None:
        most = _by_entries(pi, excess, W)
    else:
        # Lift vectors less 1 are orthogonal to the prior. What W and y have along it proves nothing, and if it were
        # large it would drown the rest in rounding.
        off = np.eye(n) - np.multiply.outer(pi, pi) / float(pi @ pi)
        prices = np.asarray(proof.prices, dtype=np.float64)
        alike = _alike(pi, W, prices)
        W = off @ W @ off
        y = off @ prices
        if not (np.isfinite(W).all() and np.isfinite(y).all()):
            problems.append("the proof must hold finite numbers")
            return math.inf
        most = _by_vertices(pi, excess, (W + W.T) / 2, y, alike)
    return min(1.0, _from_sum(pi, A, W, most))


def _from_sum(pi: Floats, A: Floats, W: Floats, most: float) -> float:
    """direct * m / s^2."""
    n = len(pi)
    unit = pi / np.linalg.norm(pi)
    Q = np.linalg.qr(np.column_stack([unit, np.eye(n)]))[0][:, 1:n]  # orthonormal, orthogonal to the prior
    R = Q - np.multiply.outer(pi, Q.sum(axis=0))
    inner, vectors = np.linalg.eigh(Q.T @ W @ Q)
    if inner[0] < -1e-12 * max(inner[-1], 0.0) or inner[-1] <= 0:
        return math.inf
    root = vectors * np.sqrt(np.maximum(inner, 0.0))
    values, outer = np.linalg.eigh(A)
    half = (outer * np.sqrt(np.maximum(values, 0.0))).T @ R
    s = float(np.linalg.svd(root.T @ half.T, compute_uv=False).sum())
    return _direct(pi, A) * most / s**2 if s > 0 else math.inf


def _by_entries(pi: Floats, excess: float, W: Floats) -> float:
    """Every variance and covariance at its limit: products of two ranges that both contain 0 have no other mean."""
    high = np.minimum(excess, 1 / pi - 1)
    low = np.maximum(-1.0, -excess * (1 / pi - 1))
    total = float(np.sum(np.maximum(np.diagonal(W), 0.0) * -low * high))
    for i in range(len(pi)):
        for_row = np.where(
            W[i] > 0,
            W[i] * np.minimum(high[i] * -low, -low[i] * high),
            -W[i] * np.minimum(low[i] * low, high[i] * high),
        )
        total += float(for_row.sum() - for_row[i])
    if pi.max() - pi.min() <= 1e-14 * pi.max() and np.diagonal(W).min() > 0:
        # All symbols alike: every vertex has the same partial symbol, which falls short of its chord.
        n, c = len(pi), 1 + excess
        x = c * (n / c - math.floor(n / c + 1e-12)) - 1
        short = (excess - x) * (x - float(low[0])) - 1e-12 * n * c * c
        total -= float(np.diagonal(W).min()) * max(short, 0.0)
    return total


def _alike(pi: Floats, W: Floats, y: Floats) -> Ints:
    """For each symbol one that neither pi, W nor y tell from it, the last such one before it; -1 if there is none."""
    found = np.full(len(pi), -1)
    for j in range(1, len(pi)):
        for i in np.flatnonzero((pi[:j] == pi[j]) & (y[:j] == y[j]) & (np.diagonal(W)[:j] == W[j, j]))[::-1]:
            others = np.delete(np.arange(len(pi)), (i, j))
            if np.array_equal(W[i, others], W[j, others]):
                found[j] = i
                break
    return found


def _by_vertices(pi: Floats, excess: float, W: Floats, y: Floats, alike: Ints) -> float:
    """The largest x'Wx - y.x of all vertices, listed by growing sets of full symbols, or of empty ones if fewer.

    Of symbols that are alike those before the others are the first to be chosen, then partial: a vertex in which they
    are not has the value of one in which they are.
    """
    n = len(pi)
    order = np.argsort(pi, kind="stable")
    chosen, other = (excess, -1.0) if excess >= 1 else (-1.0, excess)
    capacity = abs(other) / (1 + excess)
    noise = 4e-15 * capacity
    best, listed, visited = -math.inf, 0, 0
    sets, mass, last = np.zeros((1, n), dtype=np.bool_), np.zeros(1), np.full(1, -1)
    while len(sets):
        room = capacity - mass
        exact = room <= noise
        best = max(best, largest_form(np.where(sets[exact], chosen, other), W, y))
        for j in range(n):
            first = sets[:, alike[j]] if alike[j] >= 0 else True  # those alike before it are chosen
            open_ = ~exact & ~sets[:, j] & first & (pi[j] > room + noise)
            x = np.where(sets[open_], chosen, other)
            x[:, j] = 0.0
            x[:, j] = -(x @ pi) / pi[j]
            best = max(best, largest_form(x, W, y))
            listed += len(x)
        visited += len(sets)
        if max(listed, visited) > MOST_VERTICES:
            return math.inf
        grown = []
        for k in range(n):
            first = sets[:, alike[order[k]]] if alike[order[k]] >= 0 else True
            fits = ~exact & (last < k) & first & (pi[order[k]] <= room + noise)
            more = sets[fits]
            more[:, order[k]] = True
            grown.append((more, mass[fits] + pi[order[k]], np.full(len(more), k)))
        sets, mass, last = (np.concatenate(part) for part in zip(*grown, strict=True))
    return best
