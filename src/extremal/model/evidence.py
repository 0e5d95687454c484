"""The numbers of a set of priors, and what they were made from, so that whoever reads it can make it again.

Every kind of evidence gives the set for a confidence: `bounds`. Without evidence a confidence is a claim. What a sample
says about the prior it was drawn from holds for every prior and every size of the sample, if observations are
independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .._common import checks
from .._common.types import Floats
from .._common.words import shorten
from ..errors import PriorError
from .labels import Labels

KINDS = ("both", "intervals", "l1")
WHOLE_SIMPLEX = 2.0  # no two distributions are further apart
SLACK = 2.0**-39  # how far outside of a set rounding may put a prior that belongs to it; exact in sums
ROUNDING = 1e-9  # of a bound: the intervals are widened by as much, because of how they are computed


class Bounds(NamedTuple):
    """A set of priors: how far each mass, and all together, may be from the center."""

    center: Floats
    lower: Floats
    upper: Floats
    radius: float

    def same_as(self, other: Bounds) -> bool:
        """Whether both sets are the same, up to the rounding of two machines."""
        if len(self.center) != len(other.center):
            return False
        mine, theirs = (np.concatenate((*b[:3], [b.radius])) for b in (self, other))
        return bool(np.allclose(mine, theirs, rtol=ROUNDING, atol=ROUNDING**2))


def bounds_in_order(
    lower: Mapping[Any, float] | ArrayLike,
    upper: Mapping[Any, float] | ArrayLike,
    labels: Iterable[Any] | None,
) -> tuple[Floats, Floats, Iterable[Any] | None]:
    """Both bounds as vectors in one order, and the labels in that order if there are any."""
    if isinstance(lower, Mapping) != isinstance(upper, Mapping):
        raise PriorError(
            "lower and upper must both be mappings or both be lists",
            given="one of each",
            remedy="give two mappings with equal keys, or two lists",
        )
    if isinstance(lower, Mapping) and isinstance(upper, Mapping):
        if labels is not None or set(lower) != set(upper):
            raise PriorError(
                "lower and upper must name the same labels once",
                given=f"{shorten(list(lower))} and {shorten(list(upper))}",
                remedy="give two mappings with equal keys, and no labels",
            )
        labels, upper, lower = list(lower), [upper[x] for x in lower], list(lower.values())
    l = checks.numbers(lower, "lower", error=PriorError)
    return l, checks.numbers(upper, "upper", size=len(l), error=PriorError), labels


def at_most_slack(*terms: Iterable[float]) -> bool:
    """Whether the exact sum of doubles is at most SLACK: rounding a sum to the nearest double keeps its sign."""
    return math.fsum(chain(*terms, (-SLACK,))) <= 0


def check_order(l: Floats, u: Floats, names: Labels) -> None:
    """Refuse bounds that are no interval of probabilities."""
    bad = ~((l >= 0) & (l <= u) & (u <= 1))
    if bad.any():
        k = int(np.argmax(bad))
        raise PriorError(
            "intervals must satisfy 0 <= lower <= upper <= 1",
            given=f"[{l[k]:g}, {u[k]:g}] for {names[k]!r}",
            remedy="swap or clip them",
        )


def check_bounds(l: Floats, u: Floats, names: Labels) -> None:
    """Refuse bounds between which no prior lies."""
    check_order(l, u, names)
    if math.fsum(l) > 1 + SLACK or math.fsum(u) < 1 - SLACK:
        raise PriorError(
            "some prior must lie within the intervals",
            given=(
                f"lower bounds that sum to {math.fsum(l):.6g} and upper bounds that sum to {math.fsum(u):.6g}"
            ),
            remedy="widen them until 1 lies between",
        )


class Evidence(Protocol):
    """From what a set of priors was made; another kind is another class with these members."""

    @property
    def words(self) -> str:
        """Where the set lies, after its shape: "around the frequencies of 944 observations"."""
        ...

    @property
    def intervals(self) -> str:
        """What the intervals of single answers are called."""
        ...

    def bounds(self, confidence: float) -> Bounds:
        """The set that holds the true prior with this confidence."""
        ...

    def holds(self, bounds: Bounds, confidence: float) -> bool:
        """Whether a set holds the true prior with this confidence: it is the one that follows, or a larger one."""
        ...


@dataclass(frozen=True)
class CountedAnswers:
    """How often each answer occurred in a sample of independent answers, and the method: see `PriorSet.from_counts`."""

    counts: tuple[int, ...]
    method: str

    def __init__(self, counts: Sequence[float], method: str) -> None:
        object.__setattr__(self, "counts", tuple(int(n) for n in counts))
        object.__setattr__(self, "method", method)

    @property
    def words(self) -> str:
        """Where the set lies."""
        return f"around the frequencies of {sum(self.counts)} observations"

    @property
    def intervals(self) -> str:
        """What the intervals are called."""
        return "Clopper-Pearson intervals"

    def bounds(self, confidence: float) -> Bounds:
        """The set, from l1 radius and Clopper-Pearson intervals."""
        n = np.array(self.counts, dtype=np.float64)
        total = math.fsum(n)
        if len(n) < 2 or total < 1:
            raise PriorError("must not all be 0: nothing was observed", parameter="counts")
        return Bounds(n / total, *around(n, confidence, self.method))

    def holds(self, bounds: Bounds, confidence: float) -> bool:
        """Whether it is the set that follows."""
        return self.bounds(confidence).same_as(bounds)


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
