"""Symbols in another order, and those that a purpose does not tell apart merged; and the way back.

Reports about merged symbols estimate anything linear that treats them alike at least as well as reports about the
symbols themselves: averaging the rows of a mechanism over such a group, by the prior, keeps its leakage within
epsilon, and what is left is the information in the model in which the shares within groups are known.

`QuadraticProblem` has coordinates that keep precision: lifts less 1, without the most likely symbol.

A mechanism is a mixture of lift vectors lambda = 1 + x with mean 1, so x has mean 0 and pi . x = 0: the most likely
symbol's x follows from the others'. With C the covariance of the other symbols' x under the output distribution, the
estimated shares have the covariance R C^-1 R' per report, R = E - pi 1', where E drops the most likely symbol. So
tr(A Sigma) = tr(G C^-1) with G = R'AR. Small levels lose no digits: x is of the order of epsilon, not near 1.

`efficiency_bound` allows for every rounding error. For any W and any number m >= tr(WC) of every mechanism,
tr(G C^-1) >= s^2 / m, where s is the sum of the singular values of L'M', H = B'WB = LL', G = M'M. So the efficiency is
at most direct * m / s^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .._common.types import Floats, Ints
from ..errors import OptionError
from ..model.levels import is_uniform
from ..model.purpose import QuadraticProof, direct_loss, explained, square_root
from .generate import Solution, checked_bound

ULP = 2.0**-52
MERGED = 9e-10  # of the largest squared distance from any symbol: what merged symbols may differ by; a check has 1e-9
RIDGE = 1e-6  # of the errors of all shares, added to a loss that does not need all of them


@dataclass(frozen=True, eq=False)
class Symbols:
    """The group of each symbol, and the order of the groups: by falling mass, those of equal mass by falling loss."""

    groups: Ints
    order: Ints

    @classmethod
    def merged(cls, pi: Floats, A: Floats) -> Symbols:
        """Symbols that A does not tell apart are one."""
        groups = merge_alike(A)
        if groups.max() == 0:
            raise OptionError(
                "the purpose must tell some symbols apart",
                given="one that weighs them all alike",
                remedy="use shares",
            )
        first, masses = np.unique(groups, return_index=True)[1], np.bincount(groups, weights=pi)
        return cls(groups, np.lexsort((-np.diagonal(A)[first], -masses)))

    @classmethod
    def sorted(cls, pi: Floats, A: Floats) -> Symbols:
        """Every symbol is a group of its own."""
        return cls(np.arange(len(pi)), np.lexsort((-np.diagonal(A), -pi)))

    @property
    def first(self) -> Ints:
        """The first symbol of each group, in order."""
        return np.unique(self.groups, return_index=True)[1][self.order]

    def apply(self, pi: Floats, epsilon: float, A: Floats) -> QuadraticProblem:
        """The problem of the groups."""
        masses, first = np.bincount(self.groups, weights=pi).astype(np.float64), self.first
        return make_problem(masses[self.order], epsilon, A[np.ix_(first, first)])

    def back(self, found: Solution) -> Solution:
        """What was found for the groups, rows less 1, for the symbols: lift vectors, and the proof."""
        place = np.argsort(self.order)  # of each group among the sorted ones
        proof = found.proof
        assert isinstance(proof, QuadraticProof)
        proof = proof.with_symbols(self.order)

        def pairs(M: Floats | None) -> Floats | None:
            return M if M is None else M[np.ix_(place, place)]

        W = proof.weights
        of_symbols = replace(
            proof,
            weights=W[place] if W.ndim == 1 else W[np.ix_(place, place)],
            prices=None if proof.prices is None else proof.prices[place],
            groups=None if len(self.order) == len(self.groups) else self.groups,
            low=pairs(proof.low),
            away=None if proof.away is None else proof.away[place],
        )
        lifts = (1 + found.lifts)[:, place[self.groups]]
        return replace(found, lifts=lifts, upper=checked_bound(found.upper, found.value), proof=of_symbols)


def ridged(problem: QuadraticProblem) -> QuadraticProblem:
    """The same problem with a loss that needs all shares: a little of the errors of all is added where it does not."""
    G = problem.loss
    values = np.linalg.eigvalsh(G)
    if values[0] > RIDGE * values[-1]:
        return problem
    R = np.eye(problem.size)[:, 1:] - problem.pi[:, None]
    shares = R.T @ R  # G of the errors of all shares
    return replace(problem, loss=G + RIDGE * float(np.trace(G)) / float(np.trace(shares)) * shares)


def merge_alike(A: Floats) -> Ints:
    """The group of each symbol, numbered by first appearance: i and j share one if A (e_i - e_j) is constant."""
    centred, most = A, 0.0
    if np.count_nonzero(A - np.diag(np.diagonal(A))) == 0:
        ignored = np.diagonal(A) == 0
        alike = np.eye(len(A), dtype=np.bool_) | np.multiply.outer(ignored, ignored)
    else:
        centred = A - A.mean(axis=0)
        centred = centred - centred.mean(axis=1, keepdims=True)
        own = np.diagonal(centred)
        both = own[:, None] + own
        # The squared length of A^1/2 (e_i - e_j), as far as that sums to 0.
        squares = both - 2 * centred
        alike = squares <= 1e-13 * both + 1e-15 * own.max()
        most = MERGED * float(squares.max(axis=1).min())
    groups = np.full(len(A), -1, dtype=np.int64)
    count = 0
    for i in range(len(A)):
        if groups[i] < 0:
            others = np.flatnonzero(alike[i] & (groups < 0))
            apart = np.abs(centred[others] - centred[i]).max(axis=1)  # which squares hide
            groups[others[apart <= most]] = count
            groups[i] = count
            count += 1
    return groups


@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """Masses in decreasing order, the largest lift less 1, and the loss as a factor M of A = M'M.

    `loss` is G, `direct` is tr(A (diag pi - pi pi')): the loss of direct answers. An efficiency is direct / loss.
    """

    pi: Floats
    excess: float
    factor: Floats
    loss: Floats
    direct: float

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.pi)

    @property
    def upper(self) -> Floats:
        """The largest x of each symbol."""
        return np.minimum(self.excess, (1 - self.pi) / self.pi)

    @property
    def lower(self) -> Floats:
        """The smallest x of each symbol."""
        return np.maximum(-1.0, -self.excess * (1 - self.pi) / self.pi)

    @property
    def most_variance(self) -> Floats:
        """No symbol's x, which has mean 0, can have a larger variance."""
        return -self.upper * self.lower

    @property
    def alike(self) -> bool:
        """Whether neither the prior nor the loss tells symbols apart."""
        G, n = self.loss, self.size
        own, pair = float(G[0, 0]), float(G[0, -1])
        # G lacks the first symbol: what is the same for all the others may still be about the first alone.
        same = (own - pair) * (np.eye(n - 1) - 1 / n)
        return (n == 2 or bool(np.abs(G - same).max() <= 1e-12 * own)) and is_uniform(self.pi)

    def reduced(self, weights: Floats) -> Floats:
        """B'WB: the quadratic form x'Wx as one of the x without the most likely symbol's."""
        share = self.pi[1:] / self.pi[0]
        inner = weights[1:, 1:] - np.multiply.outer(share, weights[0, 1:])
        return np.asarray(inner - np.multiply.outer(weights[1:, 0] - weights[0, 0] * share, share))


def padded(inner: Floats) -> Floats:
    """A matrix over all symbols, with zeros for the first."""
    whole = np.zeros((len(inner) + 1, len(inner) + 1))
    whole[1:, 1:] = inner
    return whole


def make_problem(pi: Floats, epsilon: float, A: Floats) -> QuadraticProblem:
    """The problem for masses in decreasing order and A in the same order."""
    return from_excess(pi, min(math.expm1(min(epsilon, 700.0)), float((1 - pi[-1]) / pi[-1])), A)


def from_excess(pi: Floats, excess: float, A: Floats) -> QuadraticProblem:
    """The problem whose largest lift is 1 + excess."""
    factor = square_root(A)
    moved = factor[:, 1:] - (factor @ pi)[:, None]
    return QuadraticProblem(pi, excess, moved, moved.T @ moved, direct_loss(pi, factor))


def efficiency(problem: QuadraticProblem, X: Floats, q: Floats) -> float:
    """The efficiency of the mixture of the rows of X, lift vectors less 1; 0 if it does not identify what matters."""
    return explained((X[:, 1:].T * q) @ X[:, 1:], problem.factor, problem.direct)


def telling(pi: Floats, odds: float) -> tuple[Floats, Floats]:
    """Lift vectors less 1 and output distribution of reports that are the truth `odds` times as often as any other."""
    told = 1 + (odds - 1) * pi
    X = np.tile((1 - told)[:, None] / told[:, None], (1, len(pi)))
    np.fill_diagonal(X, (odds - 1) * (1 - pi) / told)
    return X, told / told.sum()


def efficiency_bound(problem: QuadraticProblem, W: Floats, most: float) -> float:
    """The largest efficiency possible if no mechanism has tr(WC) above `most`."""
    H = problem.reduced(W)
    values, vectors = np.linalg.eigh(H)
    L = vectors * np.sqrt(np.maximum(values, 0.0))
    size = problem.size
    share = np.append(1.0, problem.pi[1:] / problem.pi[0])
    rounding = (
        8 * size * ULP * (float(np.sum(L * L)) + float(share @ np.abs(W) @ share) + float(np.abs(W).sum()))
    )
    # tr(LL'C) may exceed tr(HC) by the error of the factors times tr C.
    off = float(np.linalg.norm(L @ L.T - H)) + rounding
    most = most * (1 + 8 * ULP) + off * float(problem.most_variance[1:].sum())
    product = L.T @ problem.factor.T
    sum_of_roots = float(np.linalg.svd(product, compute_uv=False).sum())
    sum_of_roots -= 8 * size * ULP * float(np.linalg.norm(L)) * float(np.linalg.norm(problem.factor))
    if not (sum_of_roots > 0 and math.isfinite(most)):
        return 1.0
    return min(1.0, problem.direct * (1 + 8 * size * ULP) * most / sum_of_roots**2)


def most_by_vertices(
    problem: QuadraticProblem, W: Floats, y: Floats, vertices: Floats, blur: float = 8e-15
) -> float:
    """No mechanism has a larger tr(WC) than the largest x'Wx - y.x of all vertices, as x has mean 0.

    A vertex may be off by `blur`, what rounding does to a mass.
    """
    reached = np.einsum("ki,ki->k", vertices @ W - y, vertices)
    widest = np.abs(vertices).max(axis=0)
    return float(reached.max()) + hidden_by_rounding(problem, W, y, widest, blur)


def hidden_by_rounding(
    problem: QuadraticProblem, W: Floats, y: Floats, widest: Floats, blur: float = 8e-15
) -> float:
    """How much larger x'Wx - y.x of a vertex, with no |x| above `widest`, may be than it was computed to be."""
    widest = np.maximum(widest, 1e-300)
    slope = 2 * np.abs(W) @ widest + np.abs(y)
    return 8 * problem.size * ULP * float(slope @ widest) + blur * float(np.max(slope / problem.pi))
