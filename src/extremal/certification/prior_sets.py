"""What no mechanism for a set of priors exceeds: the part of the check of designs for estimation that is about sets.

Uses numpy alone. The set is {lower <= pi <= upper, |pi - center|_1 <= radius}, and the least probability of symbols A
over it is h(A) = max(center(A) - radius/2, lower(A), 1 - upper(rest)). Extremal lift vectors are t on a set S, b on a
set R, 0 elsewhere, with mean 1 under the nominal prior and b h(S and R) + (t - b) h(S) >= t / c.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._common.types import Bools, Floats, Ints
from ..model.evidence import Bounds
from ..model.prior_set import PriorSet
from ..model.purpose import QuadraticProof

LISTED = 16  # symbols whose sets are listed
ULP = 2.0**-52
AT_ONCE = 5000  # cells


def most_over_set(
    pi: Floats, c: float, W: Floats, proof: QuadraticProof, priors: PriorSet, problems: list[str]
) -> tuple[Floats, float]:
    """W as it was used, and a number that tr(WC) of no mechanism for the set exceeds."""
    if proof.prices is None:
        return W, _by_symmetry(pi, c, W, priors, problems)
    y = np.asarray(proof.prices, dtype=np.float64)
    bounds = priors.bounds
    if any(v.shape != pi.shape for v in (bounds.center, y)) or not np.isfinite(y).all():
        problems.append("the proof must hold one finite price for each symbol of the set")
        return W, math.inf
    if proof.cells is None:
        if len(pi) > LISTED:
            return W, math.inf
        return W, max(largest_form(lifts - 1, W, y) for lifts in listed_vectors(pi, c, bounds))
    low, a = (np.asarray(v, dtype=np.float64) for v in (proof.low, proof.away))
    if (
        a.ndim != 2
        or len(a) != len(pi)
        or not np.isfinite(a).all()
        or low.shape != W.shape
        or not (low >= 0).all()
        or np.abs(low - low.T).max() > 0
        or np.diagonal(low).any()
    ):
        problems.append("the proof must weigh products of two lifts by numbers >= 0")
        return W, math.inf
    square = a @ a.T
    high = np.maximum(-W - low - square, 0.0)
    np.fill_diagonal(high, 0.0)
    W = np.diag(np.diagonal(W + square)) - low - high - square
    forms = _forms(bounds)
    top = min(c, 1 / float(pi.min()))
    leaves = _leaves(np.asarray(proof.cells, dtype=np.float64), forms, top, a.shape)
    if leaves is None:
        problems.append("the cells of the proof are malformed")
        return W, math.inf
    y = y + 2 * W.sum(axis=1)  # prices of lifts, not of lifts less 1
    parts = _CellForm(np.diagonal(W + square), y, a, low, high)
    largest = max(
        _by_cells(pi, c, parts, form, part) for form, own in zip(forms, leaves, strict=True) for part in own
    )
    terms = float(np.abs(W).sum()) * top**2 + float(np.abs(y).sum()) * top
    rounding = 16 * len(pi) * ULP * (terms + abs(largest))
    return W, largest + float(y.sum() - W.sum()) + rounding


def _by_symmetry(pi: Floats, c: float, W: Floats, priors: PriorSet, problems: list[str]) -> float:
    """The largest |x|^2 times w, for W = w 1, a uniform prior and a set that permutations of symbols do not change.

    Sorted, a lift vector is least likely under one prior of the set, p, which grows as lifts fall: lambda_1 >= ... >=
    lambda_N >= 0 with sum N is admissible where lambda_1 <= c p.lambda. A convex function is largest where all but two
    of these inequalities are equations, so where lambda takes at most two values other than 0.
    """
    n = len(pi)
    center, lower, upper, radius = priors.bounds
    ball = [center] if radius < 2 else []
    w = float(np.diagonal(W).max())
    if (
        any(v.shape != pi.shape or v.max() - v.min() > 1e-13 * v.max() for v in (pi, lower, upper, *ball))
        or np.abs(W - w * np.eye(n)).max() > 0
        or not w > 0
    ):
        problems.append("the proof is for symbols that are all alike")
        return math.inf
    size = np.arange(1, n + 1)
    least = np.maximum(size * lower.min(), 1 - (n - size) * upper.max())
    if ball:
        least = np.maximum(least, size / n - radius / 2)
    p = np.diff(least, prepend=0.0)
    most = 0.0
    for k in size:  # t on k symbols; for each u, b on the next so many
        rest = np.concatenate([[0.0], np.cumsum(p[k:])])
        after = np.arange(n - k + 1)
        # t = c (t p(first k) + b p(the rest)), k t + b after = n, 0 <= b <= t
        left = 1 - c * float(p[:k].sum())
        if left <= 1e-13:
            most = max(most, n * n / k)
        fits = (rest > 0) & (left > -1e-13)
        b_of_t = np.clip(left / np.where(fits, c * rest, 1.0), 0.0, None)
        fits &= b_of_t <= 1 + 1e-13
        t = n / (k + b_of_t * after)
        most = max(most, float(np.max((k + b_of_t**2 * after) * t**2, where=fits, initial=0.0)))
    return w * (most - n) * (1 + 1e-12)


Form = tuple[float, Floats, float, Floats, bool]


def _forms(bounds: Bounds) -> list[Form]:
    """All pairs of linear functions that h of S and R, and h of S, can be; the last ones have all symbols in S or R."""
    center, lower, upper, radius = bounds
    outer: list[tuple[float, Floats]] = []
    if radius < 2:
        outer.append((-radius / 2, center))
    if lower.any():
        outer.append((0.0, lower))
    if (upper < 1).any():
        outer.append((1 - math.fsum(upper), upper))
    inner = list(outer) if lower.any() else [*outer, (0.0, np.zeros(len(lower)))]
    forms = [(*a, *b, False) for a in outer for b in inner]
    return forms + [(1.0, np.zeros(len(lower)), *b, True) for b in inner]


@dataclass(frozen=True, eq=False)
class _Leaves:
    """Cells: ranges of t and of b / t, the levels that each symbol may have (1, 2, 4 for 0, b, t), and multipliers."""

    ranges: Floats
    may: NDArray[np.uint8]
    numbers: Floats  # rho, theta, mode, v and more of it


def _leaves(
    cells: Floats, forms: list[Form], top: float, shape: tuple[int, ...]
) -> list[list[_Leaves]] | None:
    """The leaves of the trees of cells, a tree for each form, in parts; None if they are not trees.

    A cell is (split, first, rho, theta, mode, its bound, v). Split 0 halves its range of t and 1 that of b / t;
    2 + 3 i + level gives symbol i this level in the first half and another one in the second; -1 is a leaf. Halves have
    the numbers `first` and `first` + 1. So the leaves cover all that a tree begins with, whatever the numbers say.
    """
    n, rank = shape
    if cells.ndim != 2 or cells.shape[1] != 6 + rank or len(cells) < len(forms):
        return None
    cells = np.delete(cells, 5, axis=1)  # what was claimed
    if not np.isfinite(cells).all():
        return None
    split, first = (cells[:, k].astype(np.int64) for k in (0, 1))
    ranges = np.zeros((len(cells), 4))
    may, tree = np.zeros((len(cells), n), dtype=np.uint8), np.full(len(cells), -1)
    for number, form in enumerate(forms):
        tree[number], ranges[number] = number, (1.0, top, 0.0, 1.0)
        may[number] = 6 if form[4] else 7
    for k in range(len(cells)):
        if tree[k] < 0:
            return None
        if split[k] < 0:
            continue
        one, other = int(first[k]), int(first[k]) + 1
        if one <= k or other >= len(cells) or tree[one] >= 0 or tree[other] >= 0 or split[k] >= 2 + 3 * n:
            return None
        tree[one] = tree[other] = tree[k]
        ranges[one] = ranges[other] = ranges[k]
        may[one] = may[other] = may[k]
        if split[k] < 2:
            place = 2 * int(split[k])
            ranges[one, place + 1] = ranges[other, place] = (ranges[k, place] + ranges[k, place + 1]) / 2
        else:
            symbol, level = divmod(int(split[k]) - 2, 3)
            may[one, symbol] &= 1 << level
            may[other, symbol] &= 7 - (1 << level)
    if (cells[:, 3] < 0).any() or not np.isin(cells[:, 4], (0, 1, 2)).all():
        return None
    found = []
    for number in range(len(forms)):
        own = np.flatnonzero((tree == number) & (split < 0))
        parts = [own[k : k + AT_ONCE] for k in range(0, len(own), AT_ONCE)]
        found.append([_Leaves(ranges[part], may[part], cells[part, 2:]) for part in parts])
    return found


class _CellForm(NamedTuple):
    """lambda'W lambda - y.lambda: the diagonal d of W + aa', less what products of two lifts at the levels pay."""

    d: Floats
    y: Floats
    a: Floats
    low: Floats
    high: Floats


def _by_cells(pi: Floats, c: float, parts: _CellForm, form: Form, cells: _Leaves) -> float:
    """The largest lambda'W lambda - y.lambda of vectors whose levels lie in the cells, and what rounding may hide.

    Squares are exact at the levels 0, b and t; products of two lifts are at least l (l_i + l_j) - l^2 for l = t and for
    the least level; they are so for l = b, too, where products of 0 and t pay b (t - b), in mode 1 the symbol at 0 and
    in mode 2 that at t. -|a'lambda|^2 is at most |v|^2 - 2 v.a'lambda for any v. For any rho and theta >= 0 the rest is
    a sum over symbols of the best place for each. With tangents in place of what is concave it is convex along t and
    along b / t, so it is largest in a corner.
    """
    d, y, a, low, high = parts
    kA, vA, kB, vB, everywhere = form
    t0, t1, b0, b1 = (cells.ranges[:, k][:, None] for k in range(4))
    rho, theta, mode = (cells.numbers[:, k][:, None] for k in range(3))
    v = cells.numbers[:, 3:]
    along, v_square = v @ a.T, np.sum(v**2, axis=1, keepdims=True)
    v_size = v_square + 2 * np.abs(v) @ np.abs(a).sum(axis=0)[:, None] * t1
    no_S, no_R, not_none = (cells.may & bit == 0 for bit in (4, 2, 1))
    tangent = (mode > 0) | everywhere
    s_low, s_high = low.sum(axis=1), high.sum(axis=1)
    heavy = pi * t0 + (1 - pi) * (b0 * t0 if everywhere else 0.0) > 1 + 1e-12
    tm, bm = (t0 + t1) / 2, (t0 + t1) / 2 * (b0 + b1) / 2
    most = -math.inf
    for t in (t0, t1):
        for ratio in (b0, b1):
            b, product = ratio * t, ratio * tm * (2 * t - tm)  # the latter at most b t, and linear in t
            least = np.where(tangent, b, 0.0)
            price = y + rho * pi + 2 * along
            paid = _square(-2 * s_low, b, bm)
            in_S = _square(d - 2 * s_high, t, tm) - t * price + theta * (b * vA + (t - b) * vB)
            in_S = in_S + np.where(mode == 2, paid, np.where(tangent, -2 * s_low * product, 0.0))
            in_R = _square(np.where(tangent, d - 2 * s_low, d), b, bm) - b * price - 2 * s_high * product
            in_R = in_R + theta * b * vA
            none = np.where(mode == 1, 2 * s_low * b * t + paid, 0.0)
            best = np.maximum(
                np.where(heavy | no_S, -np.inf, in_S),
                np.maximum(np.where(no_R, -np.inf, in_R), np.where(not_none, -np.inf, none)),
            )
            total = best.sum(axis=1, keepdims=True) + rho + theta * (b * kA + (t - b) * kB - t / c)
            total = total + least**2 * s_low.sum() + t**2 * s_high.sum() + v_square
            sizes = np.abs(rho) * (1 + t) + 3 * theta * t + v_size
            total = total + 16 * len(pi) * ULP * sizes
            most = max(most, float(total.max(initial=-math.inf)))
    return most


def _square(a: Floats, v: Floats, middle: Floats) -> Floats:
    """a v^2 where a >= 0, else its tangent in the middle, which lies above it."""
    return np.where(a >= 0, a * v**2, a * middle * (2 * v - middle))


class Nested(NamedTuple):
    """Lift vectors t on one set of symbols and share t on the rest of a larger one: numbers of both sets."""

    inner: Ints  # one for all, or one for each
    outer: Ints
    share: Floats


@dataclass(frozen=True, eq=False)
class SymbolSets:
    """Sets of symbols by number, with the least probability h of each over a set of priors. The last is everything."""

    h: Floats
    holds: Callable[[int, Ints], Bools]  # which of many sets hold one

    def nested(self, c: float) -> Iterator[Nested]:
        """All extremal lift vectors: sets with h >= 1/c alone, others with each larger set that has enough."""
        need = 1 / c
        fits = self.h >= need * (1 - 1e-13)
        outer = np.flatnonzero(fits)
        yield Nested(outer, outer, np.zeros(len(outer)))
        for k in np.flatnonzero(~fits):
            above = outer[self.holds(int(k), outer)]
            share = (need - self.h[k]) / np.maximum(self.h[above] - self.h[k], 1e-300)
            yield Nested(np.array([k]), above, np.clip(share, 0.0, 1.0))


def all_sets(bounds: Bounds) -> tuple[Floats, SymbolSets]:
    """Every set of symbols but the empty one, as rows of zeros and ones."""
    center, lower, upper, radius = bounds
    numbers = np.arange(1, 2 ** len(center))
    members = (numbers[:, None] >> np.arange(len(center)) & 1).astype(np.float64)
    h = np.maximum(
        np.maximum(members @ center - radius / 2, members @ lower), 1 - (math.fsum(upper) - members @ upper)
    )
    return members, SymbolSets(h, lambda one, many: (numbers[many] & numbers[one]) == numbers[one])


def listed_vectors(pi: Floats, c: float, bounds: Bounds) -> Iterator[Floats]:
    """All extremal lift vectors in blocks, one a row."""
    members, sets = all_sets(bounds)
    for inner, outer, share in sets.nested(c):
        lifts = members[inner] + share[:, None] * (members[outer] - members[inner])
        yield lifts / (lifts @ pi)[:, None]


def largest_form(x: Floats, W: Floats, y: Floats) -> float:
    """The largest x'Wx - y.x of these vectors, one a row, and what rounding may have hidden."""
    size = np.abs(x)
    hidden = 1e-15 * len(W) * (np.einsum("ki,ki->k", size @ np.abs(W), size) + size @ np.abs(y))
    return float((np.einsum("ki,ki->k", x @ W, x) - x @ y + hidden).max(initial=-math.inf))
