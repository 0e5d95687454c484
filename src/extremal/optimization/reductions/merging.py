"""Large alphabets: merge small symbols, solve, and spread the solution over them again.

If symbols are merged into blocks that always share one lift, a mechanism for the merged prior is one for the full
prior with the same value (f-information depends on a block only through its mass). So the merged optimum is a lower
bound. It costs nothing in the bound either: a block that can be both full and empty has the same chord as each of its
symbols, so the dual vector of the merged problem, split in proportion to mass, has the same chord bound for the full
problem. What is lost is only how finely columns can be filled, and a block of a tiny mass takes care of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..._common.types import Floats, Ints
from ..effort import Effort
from ..generate import Solution, relative_gap
from ..oracles.knapsack.oracle import chord_generation, column_generation
from ..oracles.knapsack.separable import Lattice, Separable, integer_counts

FROM = 45  # symbols: below, the program itself is fast
LEVELS = (80, 200)  # blocks to merge into, tried in turn
PART = 6  # blocks are at most this part of what a column holds or leaves
WHOLE = 400  # symbols up to which the unmerged program is worth trying
EVEN = 20_000  # equal symbols up to which their exact optimum is the bound: more are too many to check it independently
SPARSE = 60  # symbols that a column holds or leaves, up to which it is sparse


def merge(problem: Separable, blocks: int) -> Ints:
    """The block of each symbol: large symbols alone, small ones together, in about as many blocks as asked for.

    Blocks of the smallest symbols hold a tiny mass and the next ones more and more: columns are filled exactly with
    the small ones. More blocks than asked for come out where columns hold or leave so little that blocks must be small.
    """
    share = (1 - problem.low) / (problem.high - problem.low)
    most = min(min(share, 1 - share) / PART, 1.3 / blocks)
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
        part = effort.part(1 / 3 if problem.size <= WHOLE else 1)
        solution = _spread(problem, merged, block, chord_generation(merged, tolerance, part), tolerance)
        best = solution if best is None else _better(best, solution)
        if best.gap <= tolerance or best.stats.interrupted or effort.over:
            return best
    if best is not None and problem.size > WHOLE:
        return best
    whole = column_generation(problem, tolerance, effort, start if best is None else best.lifts)
    return whole if best is None else _better(best, whole)


def _mergers(problem: Separable) -> Iterator[Ints]:
    """The ways to merge symbols that are worth trying, the coarsest first."""
    last = np.zeros(0, dtype=np.int64)
    for blocks in LEVELS if _worth_merging(problem) else ():
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
    classes = problem.kinds <= problem.size / 4 and (sparse or problem.size <= WHOLE)
    return problem.size >= FROM and not classes


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
    if problem.size > WHOLE:
        return replace(found, block=block)  # a matrix of all symbols may not fit into memory
    return replace(found, lifts=solution.lifts[:, block])


def _better(a: Solution, b: Solution) -> Solution:
    """The larger value with the smaller bound."""
    best = a if a.value > b.value else b
    proof = a if a.upper < b.upper else b
    return replace(best, upper=proof.upper, dual=proof.dual, stats=a.stats + b.stats)
