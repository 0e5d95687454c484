"""What proves an upper bound of the efficiency, in the order of the caller's symbols."""

from __future__ import annotations

from dataclasses import dataclass

from ..._types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Certificate:
    """W, as a vector where it is diagonal, and prices y where the proof is over all lift vectors.

    Without prices every variance and covariance is at its limit. With `groups` the proof is for the symbols merged into
    these groups, which the purpose does not tell apart; W and y are then over the groups.

    `over_set`: the lift vectors are those that are admissible for every prior of the set, else those for the nominal
    one. Without prices the symbols are all alike. With `cells` (branch, t0, t1, b0, b1, rho, theta, bound, mode, v) the
    proof needs no list of vectors: cells cover the largest lift t and the middle one, b0 to b1 in parts of t, of all.
    `low` is the part of -W that counts on products with a lower level, and aa' with a = `away` is a part that is a
    square, see cone.bound.
    """

    weights: Floats
    prices: Floats | None = None
    groups: Ints | None = None
    over_set: bool = False
    low: Floats | None = None
    away: Floats | None = None
    cells: Floats | None = None
