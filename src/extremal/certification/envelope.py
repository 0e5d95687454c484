"""An independent check of designs with limits of the leakage envelope: that they hold, and that the bound is one.

A limit (delta, e) holds if for every answer x there is a threshold t in [(1 - delta c) / (1 - delta), c], c = e^e, with
E[(r_x - t)_+] + delta t <= delta c, where r are the lifts of a random report. Boxes [l, u] of such thresholds, one for
each limit and answer, come with prices y of the lifts and z >= 0 of the limits. For thresholds in a box and w(r) =
delta clip(r, l, u) + (r - u)_+ the limits make E[w] <= delta c, and E[r] = 1, so that

    utility <= sum(y) + sum(z delta c) + max over lift vectors r of mu(r) - y.r - z.w(r).

w is convex with corners at l and u, and mu is convex, so the maximum is at a lift vector whose elements are 0, l, u or
e^epsilon but for one: these are listed. Boxes cover all thresholds if they do not overlap and fill their volume.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .._common.types import Floats
from ..model.blocks import Blocks
from ..model.envelope import Corners
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.regions import bounded_exp, largest_lift
from ..model.utility import Utility
from .bounds import Bound
from .separable import ULP

EXACT = 1e-12  # of itself, what a factor may be off by
NEAR = 1e-12  # what a lift may be off by to count as one within its limits
Limits = Sequence[tuple[float, float]]


def exceeded(prior: Prior, mechanism: Mechanism, limits: Limits) -> list[str]:
    """The limits that the mechanism does not keep, in words."""
    corners = Corners.of(prior.probabilities, mechanism.matrix)
    found = [(delta, level, math.log(max(corners.factor(delta), 1.0))) for delta, level in limits]
    return [
        f"the worst {delta:g} of reports tells {told:.12g}, more than {level:.12g}"
        for delta, level, told in found
        if not told <= level * (1 + EXACT) + (len(prior) + mechanism.shape[1] + 8) * ULP
    ]


def exact_tables(prior: Prior, weights: Any, bits: int, blocks: Blocks | None = None) -> tuple[Any, Any]:
    """A prior and the matrix of integer weights in fractions: masses (N,), chances (N, M); of blocks, if any."""
    masses = [Fraction(p) for p in prior.probabilities.tolist()]
    if blocks is not None:
        order, bounds = blocks.order.tolist(), blocks.starts.tolist()
        masses = [sum((masses[k] for k in order[i:j]), Fraction(0)) for i, j in itertools.pairwise(bounds)]
    total = sum(masses)
    rows = [[Fraction(w, 1 << bits) for w in row] for row in weights.tolist()]
    return np.array([p / total for p in masses]), np.array(rows)


def exact_factors(
    prior: Prior, weights: Any, bits: int, limits: Limits, blocks: Blocks | None = None
) -> list[Fraction]:
    """max_x P(E|x) / P(E) over the events of each share, of a mechanism in integer weights, exactly."""
    corners = Corners.of(*exact_tables(prior, weights, bits, blocks))
    return [corners.factor(delta) for delta, _ in limits]


def limited_bound(prior: Prior, epsilon: float, utility: Utility, limits: Limits, certificate: Any) -> Bound:
    """What the certificate proves; infinite if its boxes do not cover all thresholds."""
    high = largest_lift(prior.probabilities, epsilon)
    binding = [(d, bounded_exp(e)) for d, e in limits if d * bounded_exp(e) < 1 and bounded_exp(e) < high]
    try:
        low, up, y, z = (
            np.asarray(a, dtype=np.float64)
            for a in (certificate.lows, certificate.highs, certificate.prices, certificate.penalties)
        )
    except (AttributeError, TypeError, ValueError):
        return Bound(math.inf, "nothing: the certificate is no proof for limits")
    shape = (len(low), len(binding), prior.size)
    if low.shape != shape or up.shape != shape or z.shape != shape or y.shape != (len(low), prior.size):
        return Bound(math.inf, "nothing: the certificate has another shape")
    delta, c = (np.array(values)[:, None] for values in zip(*binding, strict=True))
    if not (np.isfinite(y).all() and np.isfinite(z).all() and z.min() >= 0):
        return Bound(math.inf, "nothing: prices must be finite, and those of limits >= 0")
    if not _covered(low, up, (1 - delta * c) / (1 - delta) + 0 * low[0], c + 0 * low[0]):
        return Bound(math.inf, "nothing: the boxes do not cover all thresholds")
    worst = -math.inf
    for l, u, price, penalty in zip(low, up, y, z, strict=True):
        r = _corners(prior.probabilities, np.vstack([l, u]), high)
        w = delta[:, None] * np.clip(r, l[:, None], u[:, None]) + np.maximum(r - u[:, None], 0.0)
        rest = (
            utility.columns(prior, np.ascontiguousarray(r.T)) - r @ price - np.einsum("jkx,jx->k", w, penalty)
        )
        worst = max(worst, math.fsum(price) + math.fsum((penalty * delta * c).ravel()) + float(rest.max()))
    return Bound(worst, f"{len(low)} boxes of thresholds")


def _corners(pi: Floats, ends: Floats, high: float) -> Floats:
    """Lift vectors whose elements are 0, an end of the box or e^epsilon, but for one."""
    marks = [sorted({0.0, high, *(min(e, high) for e in column)}) for column in ends.T.tolist()]
    found = []
    for j in range(len(pi)):
        others = np.array(list(itertools.product(*(m for x, m in enumerate(marks) if x != j))))
        others = others.reshape(-1, len(pi) - 1)
        last = (1 - others @ np.delete(pi, j)) / pi[j]
        fits = (last >= -NEAR) & (last <= high + NEAR)
        found.append(np.insert(others[fits], j, np.clip(last[fits], 0.0, high), axis=1))
    return np.vstack(found)


def _covered(low: Floats, up: Floats, least: Floats, most: Floats) -> bool:
    """Whether boxes fill [least, most]: all within, no two overlap, and their volumes add up, in exact arithmetic."""
    count = len(low)
    flat = [a.reshape(count, -1) for a in (low, up)]
    first, last = least.ravel(), most.ravel()
    if (flat[0] > flat[1]).any() or (flat[0] < first).any() or (flat[1] > last).any():
        return False
    for k in range(count):
        if (
            (np.maximum(flat[0][k], flat[0][k + 1 :]) < np.minimum(flat[1][k], flat[1][k + 1 :]))
            .all(axis=1)
            .any()
        ):
            return False
    sides = [
        [Fraction(b) - Fraction(a) for a, b in zip(*box, strict=True)]
        for box in zip(*(f.tolist() for f in flat), strict=True)
    ]
    whole = [Fraction(b) - Fraction(a) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    return sum(math.prod(side) for side in sides) == math.prod(whole)
