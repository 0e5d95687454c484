"""What a sample says about the prior it was drawn from: distances and intervals that hold with a given confidence.

All hold for every prior and every size of the sample, if observations are independent.
"""

from __future__ import annotations

import math

import numpy as np

from .._common import checks
from .._common.types import Floats

KINDS = ("both", "intervals", "l1")
WHOLE_SIMPLEX = 2.0  # no two distributions are further apart


def around(counts: Floats, confidence: float, kind: str) -> tuple[Floats, Floats, float]:
    """Bounds, and l1 radius around the frequencies, of the set of priors that these counts leave open."""
    checks.choice(kind, "kind", KINDS, remedy="leave it out for 'both'")
    size = len(counts)
    delta = 1 - checks.confidence(confidence)
    if size == 2 and kind == "both":
        kind = "intervals"  # both speak of one number then, and these say it better
    part = 0.5 if kind == "both" else 1.0
    lower, upper, radius = np.zeros(size), np.ones(size), WHOLE_SIMPLEX
    if kind != "intervals":
        radius = l1_radius(size, math.fsum(counts), 1 - part * delta)
    if kind != "l1":
        lower, upper = clopper_pearson(counts, 1 - part * delta)
    return lower, upper, radius


def clopper_pearson(counts: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Intervals that hold the shares of all symbols at once with this confidence, by Bonferroni's inequality."""
    from scipy.special import betaincinv  # a tenth of a second: not at import

    total, size = math.fsum(counts), len(counts)
    # Of two symbols the interval of one is that of the other.
    tail = (1 - checks.confidence(confidence)) / (2 * (size if size > 2 else 1))
    low = betaincinv(np.maximum(counts, 1), total - counts + 1, tail)
    high = betaincinv(counts + 1, np.maximum(total - counts, 1), 1 - tail)
    # Wider by more than the function's rounding, and never without the frequency itself.
    low = np.where(counts > 0, np.minimum(low * (1 - 1e-9), counts / total), 0.0)
    high = np.where(counts < total, np.minimum(np.maximum(high * (1 + 1e-9), counts / total), 1.0), 1.0)
    return np.asarray(low), np.asarray(high)


def l1_radius(symbols: int, observations: float, confidence: float) -> float:
    """The l1 distance between relative frequencies and the true prior is at most this, with this confidence.

    The smaller of two bounds, both valid for every prior on N symbols and n independent observations, delta =
    1 - confidence: sqrt(2 log((2^N - 2)/delta) / n) (Weissman, Ordentlich, Seroussi, Verdu and Weinberger, 2003), and
    sqrt((N - 1)/n) + sqrt(2 log(1/delta) / n), which is the largest mean of the distance plus McDiarmid's bound on how
    far it exceeds its mean (one observation moves it by at most 2/n). The second is smaller from about 100 symbols on.
    """
    delta = 1 - checks.confidence(confidence)
    subsets = symbols * math.log(2) + math.log1p(-(2.0 ** (1 - min(symbols, 1000))))
    union = math.sqrt(2 * (subsets - math.log(delta)) / observations)
    mean = math.sqrt((symbols - 1) / observations) + math.sqrt(-2 * math.log(delta) / observations)
    return min(union, mean, WHOLE_SIMPLEX)
