"""Designs for hundreds of symbols: lift vectors that need no program for their weights.

Each vector is chosen where those before leave the estimates worst (`greedy.py`), so that equal weights are within a
few percent of the best: 3 N vectors lose about 5 %, half as much with every half more. Vectors that come up again,
such as those that tell one likely symbol, weigh more. A last step balances the weights exactly. Where it does not take
too long, the best weights are then found.
"""

from __future__ import annotations

import contextlib

import numpy as np

from ...._common.types import Floats
from ...effort import Effort, Stats, Why
from ...generate import Solution
from ...masters.quadratic import balance, mix
from ...problem import efficiency
from ...tuning import FEW_OUTPUTS, LARGEST_MIX, NEARLY_ALL, OUTPUTS, REPEATS
from ..mixing import mixture_of
from .greedy import Sample
from .oracle import ExchangeOracle


def equal_weights(
    oracle: ExchangeOracle, simple: tuple[Floats, Floats], goal: float, effort: Effort
) -> Solution:
    """Vectors of nearly equal weights, as few as reach the goal; `simple` is what is left if time is up before."""
    true, n = oracle.true, oracle.true.size
    best, effort.value, effort.upper = simple, efficiency(true, *simple), oracle.upper
    tried, sample, name = 0, Sample(n), "randomized response"

    def reached() -> bool:
        return effort.upper / effort.value - 1 <= NEARLY_ALL * goal

    try:
        greedy = oracle.greedy(oracle.relaxed.covariance, oracle.relaxed.prices(oracle.problem), 0)
        for each in OUTPUTS:
            while len(sample.X) < each * n and sample.total < REPEATS * n and not effort.pause():
                sample.add(greedy.more(n // 2, effort))
            made = sample.balanced(true) if len(sample.X) else None
            if made is not None and made[1] > effort.value:
                best, effort.value, name = (sample.X, made[0]), made[1], "equal weights"
                tried += 1
            worth = reached() or each == FEW_OUTPUTS or (effort.endless and each > FEW_OUTPUTS)
            short = effort.endless or len(sample.X) ** 2 * n <= LARGEST_MIX
            if tried and worth and short and not effort.pause():
                best = _mixed(oracle, best, goal, effort)
            effort.tell(effort.value, effort.upper)
            if reached() or effort.pause() or sample.total >= REPEATS * n:
                break
    except KeyboardInterrupt:
        effort.interrupted = True
    why = effort.why if effort.over or not reached() else Why.REACHED
    stats = Stats(tried, sample.total, why=why)
    return mixture_of(true, *best, effort.upper, oracle.relaxation, name, stats)


def _mixed(
    oracle: ExchangeOracle, best: tuple[Floats, Floats], goal: float, effort: Effort
) -> tuple[Floats, Floats]:
    """The best weights of the same rows, unless that fails."""
    X, q = best
    with contextlib.suppress(np.linalg.LinAlgError):
        q = balance(X[:, 1:], mix(X[:, 1:], oracle.problem.loss, goal / 10, q, effort).weights)
        value = efficiency(oracle.true, X, q) if q.min() > 0 else 0.0
        if value > effort.value:
            effort.value = value
            return X, q
    return best
