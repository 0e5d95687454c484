"""Designs for hundreds of symbols: lift vectors that need no program for their weights.

Each vector is chosen where those before leave the estimates worst (`herding.py`), so that equal weights are within a
few percent of the best: 3 N vectors lose about 5 %, half as much with every half more. Vectors that come up again,
such as those that tell one likely symbol, weigh more. A last step balances the weights exactly. Where it does not take
too long, the best weights are then found.
"""

from __future__ import annotations

import contextlib

import numpy as np

from ...._common.types import Floats
from ...centred import efficiency
from ...found import Found
from ...masters.quadratic import balance, mix
from ...watch import Watch
from .herding import Sample
from .oracle import Source

OUTPUTS = (3, 4, 5, 6, 9)  # for each symbol, tried until the goal is reached
CLOSE = 0.99  # of the goal: the rest is for rounding, and for what takes leakage to epsilon
FEW = 4  # for each symbol: up to so many the best weights are found
LARGEST_MIX = 2e10  # outputs^2 * symbols: beyond, finding the best weights takes minutes
REPEATS = 30  # vectors for each symbol, from which on those that come up again end the search


def spread(source: Source, simple: tuple[Floats, Floats], goal: float, watch: Watch) -> Found:
    """Vectors of nearly equal weights, as few as reach the goal; `simple` is what is left if time is up before."""
    true, n = source.true, source.true.size
    watch.upper = source.upper
    best, value, curve, name = simple, efficiency(true, *simple), [], "randomized response"
    sample, total = Sample(n), 0
    try:
        herd = source.herd(source.relaxed.covariance, source.relaxed.prices(source.problem), 0)
        for each in OUTPUTS:
            while len(sample.X) < each * n and total < REPEATS * n and not watch.over():
                sample.add(herd.more(n // 2, watch))
                total = sample.total
            X = sample.X
            made = sample.balanced(true) if len(X) else None
            if made is not None and made[1] > value:
                best, value, name = (X, made[0]), made[1], "herding"
                watch.value = value
                curve.append((len(X), watch.upper / value - 1))
            reached = watch.upper / value - 1 <= CLOSE * goal
            if (
                len(curve)
                and (reached or each == FEW)
                and len(X) ** 2 * n <= LARGEST_MIX
                and not watch.over()
            ):
                best, value = _mixed(source, best, value, goal, watch)
                curve[-1] = (len(X), watch.upper / value - 1)
            watch.value = value
            watch.tell()
            if reached or watch.upper / value - 1 <= CLOSE * goal or watch.over() or total >= REPEATS * n:
                break
    except KeyboardInterrupt:
        watch.interrupted = True
    stats = {"method": name, "rounds": len(curve), "columns": total, "curve": curve}
    return Found(*best, watch.upper, source.relaxation, stats)


def _mixed(
    source: Source, best: tuple[Floats, Floats], value: float, goal: float, watch: Watch
) -> tuple[tuple[Floats, Floats], float]:
    """The best weights of the same rows, unless that fails."""
    X, q = best
    with contextlib.suppress(np.linalg.LinAlgError):
        q = balance(X[:, 1:], mix(X[:, 1:], source.problem.loss, goal / 10, q, watch).weights)
        reached = efficiency(source.true, X, q) if q.min() > 0 else 0.0
        if reached > value:
            return (X, q), reached
    return best, value
