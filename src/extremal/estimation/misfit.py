"""Whether the reports can have been made by the mechanism at all."""

from __future__ import annotations

import math

import numpy as np

from .._common.types import Floats, Ints
from .contrasts import Channel
from .likelihood import maximize

MISFIT = 1e-3  # reports less likely than this under every input distribution are pointed out


def unexplained(probability: float) -> str:
    """The warning that reports do not fit, if that is hardly chance; else nothing."""
    if probability >= MISFIT:
        return ""
    return (
        f"WARNING: no shares explain these reports (probability {probability:.1e} or less); were they made by this "
        "mechanism?"
    )


def misfit(matrix: Floats, counts: Ints, channel: Channel, best: Floats | None = None) -> float:
    """A bound on the probability of reports that fit as badly as these, whatever the true shares are.

    P[KL(shares, probabilities) >= x] <= e^(-nx) (e n x / (k - 1))^(k - 1) for k outputs (Agrawal, 2020). Near 0,
    these reports were not made by this mechanism. Weights play no part: each report is a draw of the mechanism,
    whatever the weight of the person. `best` are the shares of largest likelihood, if they are known.
    """
    theta = maximize(matrix, counts, channel.expected, 0.0).theta if best is None else best
    k = int(channel.possible.sum())
    seen = counts > 0
    q = (theta @ matrix)[seen]
    c = counts[seen].astype(np.float64)
    x = float(c @ np.log(c / counts.sum() / q))
    if k < 2 or x <= k - 1:
        return 1.0
    return math.exp(min(0.0, -x + (k - 1) * (1 + math.log(x / (k - 1)))))
