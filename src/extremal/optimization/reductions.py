"""Large alphabets: merge small symbols, solve, and spread the solution over them again.

If symbols are merged into blocks that always share one lift, a mechanism for the merged prior is one for the full
prior with the same value (f-information depends on a block only through its mass). So the merged optimum is a lower
bound. It costs nothing in the bound either: a block that can be both full and empty has the same chord as each of its
symbols, so the dual vector of the merged problem, split in proportion to mass, has the same chord bound for the full
problem. What is lost is only how finely columns can be filled, and a block of a tiny mass takes care of that.

Symbols in another order, and those that a purpose does not tell apart merged; and the way back.

Reports about merged symbols estimate anything linear that treats them alike at least as well as reports about the
symbols themselves: averaging the rows of a mechanism over such a group, by the prior, keeps its leakage within
epsilon, and what is left is the information in the model in which the shares within groups are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._common.types import Floats, Ints
from ..errors import OptionError
from .effort import Effort
from .finish import checked_bound
from .generate import Solution, relative_gap
from .oracles.knapsack.oracle import chord_generation, column_generation
from .oracles.knapsack.separable import Lattice, Separable, integer_counts
from .problem import QuadraticProblem, make_problem
from .tuning import BLOCK_PART, BLOCKS_TRIED, EVEN, MERGED_FROM, MERGED_ONLY_FROM, SPARSE


def merge(problem: Separable, blocks: int) -> Ints:
    """The block of each symbol: large symbols alone, small ones together, in about as many blocks as asked for.

    Blocks of the smallest symbols hold a tiny mass and the next ones more and more: columns are filled exactly with
    the small ones. More blocks than asked for come out where columns hold or leave so little that blocks must be small.
    """
    share = (1 - problem.low) / (problem.high - problem.low)
    most = min(min(share, 1 - share) / BLOCK_PART, 1.3 / blocks)
    order = np.argsort(problem.pi, kind="stable")
    for growth in (1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0):
        block = _runs(problem.pi[order], most, growth)
        if block[-1] < blocks:
            break
    numbers = np.empty_like(block)
    numbers[order] = block
    return numbers


def _runs(ascending: Floats, most: float, growth: float) -> Ints:
    """Consecutive symbols of about equal total mass, the limit growing from block to block up to `most`."""
    block = np.empty(len(ascending), dtype=np.int64)
    limit, held, number = most / 2**24, 0.0, 0
    for i, p in enumerate(ascending.tolist()):
        if held > 0 and held + p > limit:
            number += 1
            held = 0.0
            limit = min(growth * limit, most)
        block[i] = number
        held += p
    return block


def solve_separable(
    problem: Separable,
    tolerance: float,
    effort: Effort,
    start: Floats | None = None,
) -> Solution:
    """The optimum up to `tolerance` or as near as the effort allows, by column generation on merged symbols first."""
    best: Solution | None = None
    for block in _mergers(problem):
        merged = problem.merged(block)
        part = effort.part(1 / 3 if problem.size <= MERGED_ONLY_FROM else 1)
        solution = _spread(problem, merged, block, chord_generation(merged, tolerance, part), tolerance)
        best = solution if best is None else _better(best, solution)
        if best.gap <= tolerance or best.stats.interrupted or effort.over:
            return best
    if best is not None and problem.size > MERGED_ONLY_FROM:
        return best
    whole = column_generation(problem, tolerance, effort, start if best is None else best.lifts)
    return whole if best is None else _better(best, whole)


def _mergers(problem: Separable) -> Iterator[Ints]:
    """The ways to merge symbols that are worth trying, the coarsest first."""
    last = np.zeros(0, dtype=np.int64)
    for blocks in BLOCKS_TRIED if _worth_merging(problem) else ():
        block = merge(problem, blocks)
        if block.max() + 1 > 0.9 * problem.size or np.array_equal(block, last):
            return
        yield block
        last = block


def _worth_merging(problem: Separable) -> bool:
    """Whether the alphabet is large, and not made of a few classes of equal symbols that the program treats as one.

    Spreading a solution over the symbols of classes takes a while, unless columns hold or leave few symbols.
    """
    share = (1 - problem.low) / (problem.high - problem.low)
    sparse = min(share, 1 - share) * problem.size <= SPARSE
    classes = problem.kinds <= problem.size / 4 and (sparse or problem.size <= MERGED_ONLY_FROM)
    return problem.size >= MERGED_FROM and not classes


def _spread(
    problem: Separable, merged: Separable, block: Ints, solution: Solution, tolerance: float
) -> Solution:
    """A solution of the merged problem as one of the full problem, its bound proven anew by chords."""
    upper, dual = math.inf, problem.analytic_dual()
    for vector in (solution.dual, solution.multipliers):
        if vector is not None:
            y = problem.symmetric(vector[block] * problem.pi / merged.pi[block])
            delta = problem.chord_bound(y)
            if math.fsum(y) + delta < upper:
                upper, dual = math.fsum(y) + delta, y + delta * problem.pi
    counts = None if problem.kinds == 1 else integer_counts(problem.pi)
    if problem.kinds == 1 and problem.size <= EVEN and problem.even_value() < upper:
        upper, dual = problem.even_value(), problem.even_value() * problem.pi
    if counts is not None and relative_gap(solution.value, upper) > tolerance:
        # Whole counts cannot fill a column exactly, which chords do not see. The last y is that of the master program.
        target = max(solution.value * (1 + tolerance / 2) - math.fsum(y), 0.0)
        delta = Lattice(problem, counts).price(y, target, most=2e9).bound
        if math.fsum(y) + delta < upper:
            upper, dual = math.fsum(y) + delta, y + delta * problem.pi
    found = replace(solution, upper=upper, dual=dual)
    if problem.size > MERGED_ONLY_FROM:
        return replace(found, block=block)  # a matrix of all symbols may not fit into memory
    return replace(found, lifts=solution.lifts[:, block])


def _better(a: Solution, b: Solution) -> Solution:
    """The larger value with the smaller bound."""
    best = a if a.value > b.value else b
    proof = a if a.upper < b.upper else b
    return replace(best, upper=proof.upper, dual=proof.dual, stats=a.stats + b.stats)


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
