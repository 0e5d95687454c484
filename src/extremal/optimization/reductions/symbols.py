"""Symbols in another order, and those that a purpose does not tell apart merged; and the way back.

Reports about merged symbols estimate anything linear that treats them alike at least as well as reports about the
symbols themselves: averaging the rows of a mechanism over such a group, by the prior, keeps its leakage within
epsilon, and what is left is the information in the model in which the shares within groups are known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._common.types import Floats, Ints
from ...errors import OptionError
from ..centred import QuadraticProblem, make_problem
from ..finish import checked_bound
from ..generate import Solution

RIDGE = 1e-6  # of the errors of all shares, added to a loss that does not need all of them


@dataclass(frozen=True, eq=False)
class Symbols:
    """The group of each symbol, and the order of the groups: the most likely first, then that of the largest loss."""

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
        """All of them."""
        return cls(np.arange(len(pi)), np.lexsort((-np.diagonal(A), -pi)))

    @property
    def first(self) -> Ints:
        """The first symbol of each group, in order."""
        return np.unique(self.groups, return_index=True)[1][self.order]

    def apply(self, pi: Floats, epsilon: float, A: Floats) -> QuadraticProblem:
        """The problem of the groups."""
        masses, first = np.bincount(self.groups, weights=pi).astype(np.float64), self.first
        return make_problem(masses[self.order], epsilon, A[np.ix_(first, first)])

    def rows(self, lifts: Floats, problem: QuadraticProblem) -> Floats:
        """Lift vectors of the symbols as rows less 1 of the groups, as far as they fit the problem."""
        X = np.atleast_2d(np.asarray(lifts, dtype=np.float64))[:, self.first] - 1
        fits = (X.min(axis=1) >= -1) & (X.max(axis=1) <= problem.excess) & (np.abs(X @ problem.pi) < 1e-9)
        return np.asarray(X[fits])

    def back(self, found: Solution) -> Solution:
        """What was found for the groups, rows less 1, for the symbols: lift vectors, and the proof."""
        place = np.argsort(self.order)  # of each group among the sorted ones
        proof = found.certificate
        assert proof is not None
        proof = proof.with_symbols(self.order)

        def pairs(M: Floats | None) -> Floats | None:
            return M if M is None else M[np.ix_(place, place)]

        W = proof.weights
        certificate = replace(
            proof,
            weights=W[place] if W.ndim == 1 else W[np.ix_(place, place)],
            prices=None if proof.prices is None else proof.prices[place],
            groups=None if len(self.order) == len(self.groups) else self.groups,
            low=pairs(proof.low),
            away=None if proof.away is None else proof.away[place],
        )
        lifts = (1 + found.lifts)[:, place[self.groups]]
        return replace(
            found, lifts=lifts, upper=checked_bound(found.upper, found.value), certificate=certificate
        )


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
    if np.count_nonzero(A - np.diag(np.diagonal(A))) == 0:
        ignored = np.diagonal(A) == 0
        alike = np.eye(len(A), dtype=np.bool_) | np.multiply.outer(ignored, ignored)
    else:
        centred = A - A.mean(axis=0)
        centred = centred - centred.mean(axis=1, keepdims=True)
        own = np.diagonal(centred)
        both = own[:, None] + own
        # The squared length of A^1/2 (e_i - e_j), as far as that sums to 0.
        alike = both - 2 * centred <= 1e-13 * both + 1e-15 * own.max()
    groups = np.full(len(A), -1, dtype=np.int64)
    count = 0
    for i in range(len(A)):
        if groups[i] < 0:
            groups[alike[i] & (groups < 0)] = count
            groups[i] = count
            count += 1
    return groups
