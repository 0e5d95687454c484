"""Whether windows disclose the answers: how often the best guess from a report is wrong (`model.doubt`).

Given a report the answers of its set have odds of inside : outside over all others, beside their shares. A set of one
tells its answer; larger sets do if one of their answers is much more common than the rest of them.
"""

from __future__ import annotations

import math

import numpy as np

from .._common.types import Floats
from ..model.doubt import Doubt

CELLS = (
    1 << 24
)  # answers that are looked at, over all steps; where that is not enough, over steps spread evenly
GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples spread evenly


def doubt_of_windows(
    shares: Floats | None, answers: int, prime: int, size: int, inside: float, outside: float
) -> Doubt:
    """The doubt before and after a report, for probabilities of places `inside` and `outside` of a set.

    Without shares all answers are equally common. Where the sets hold too many answers for a disclosure, `after` is
    what is left at least.
    """
    if shares is None:
        before = (answers - 1) / answers
        if size == 1:
            return Doubt(before, prime * outside * before)
        return Doubt(before, 1 - max(inside, outside) * prime / answers)
    ordered = np.sort(shares)[::-1]
    before = math.fsum(ordered[1:])
    # An answer is in `size` of the sets of a step, so the commonest ones are guessed at best in all of theirs.
    right = inside * size * math.fsum(ordered[: -(-prime // size)]) + outside * prime * float(ordered[0])
    if size > 1 and not Doubt(before, 1 - right).disclosed:
        return Doubt(before, 1 - right)
    masses = np.zeros(prime)
    masses[:answers] = shares
    wrong = [_wrong(masses[_order(prime, step)], size, inside, outside) for step in _steps(prime, size)]
    return Doubt(before, math.fsum(wrong) / len(wrong))


def _steps(prime: int, size: int) -> list[int]:
    """Steps whose sets are looked at; with sets of one all steps are alike, and a step and its negative always are."""
    half = max((prime - 1) // 2, 1)
    wanted = 1 if size == 1 else min(half, max(CELLS // prime, 1))
    if wanted == half:
        return list(range(1, half + 1))
    return [1 + int(half * (k * GOLDEN % 1)) for k in range(1, wanted + 1)]


def _order(prime: int, step: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The answers by their place along the steps, so that sets are neighbours."""
    return np.arange(prime, dtype=np.int64) * step % prime


def _wrong(masses: Floats, size: int, inside: float, outside: float) -> float:
    """The chance of a wrong guess with sets of `size` neighbours on a circle."""
    circle = np.concatenate([masses, masses[: size - 1]])
    sums = np.concatenate([[0.0], np.cumsum(circle)])
    held = masses if size == 1 else sums[size:] - sums[:-size]
    best = circle
    reach = 1
    while reach < size:  # maxima of twice as many neighbours, as long as there is room
        add = min(reach, size - reach)
        best = np.maximum(best[:-add], best[add:])
        reach += add
    rest = float(masses.sum()) - held
    others = np.maximum(rest, 0.0) * outside + np.maximum(held - best, 0.0) * inside
    # Where none of the set is as likely as the commonest answer outside of it, that one is guessed.
    lost = np.maximum(outside * float(masses.max()) - inside * best, 0.0)
    return float(np.maximum(others - lost, 0.0).sum())
