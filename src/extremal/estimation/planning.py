"""Before anything is collected: how far off an estimate will be, and how many reports a wanted width takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common import checks
from .._common.json import finite_or_none
from .._common.threads import one_thread
from .._common.types import Floats
from .._common.words import shorten
from ..certification.certified import Certified, as_estimable
from ..errors import MechanismError
from ..model.labels import Labels
from ..model.mechanism import Mechanism, check_match
from ..model.prior import Prior
from ..model.purpose import Purpose, shares
from ..model.utility import Utility
from ..optimization.design import designed
from ..theory.randomized_response import randomized_response_for_pml
from .approximate import ordinary_intervals
from .contrasts import Channel, Scaled, each_symbol, standard_errors
from .intervals import BENTKUS, MOST_COUNTED, Ends, normal_quantile, target_intervals, within_simplex
from .promise import FIGURES, check_kind

MOST_REPORTS = 10**12  # a width that takes more is called out of reach


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedError:
    """What n reports will tell if the inputs follow the prior.

    `standard_errors` are those of the best unbiased estimate (the Cramér-Rao bound, attained for large n), infinite
    for symbols that are not identified. `widths` are of the intervals at the expected counts.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> found = ex.planning.expected_error(prior, mechanism, 1000)
    >>> found.reports
    1000

    Attributes
    ----------
    labels
        The answers.
    reports
        How many reports there are.
    confidence
        The confidence level of the intervals.
    standard_errors
        The standard error of each share; inf where it is not identified.
    widths
        The width of each interval, from end to end.
    intervals
        "each" or "all".
    """

    labels: Labels
    reports: int
    confidence: float
    standard_errors: Floats
    widths: Floats
    intervals: str = "each"

    @property
    def root_mean_square(self) -> float:
        """The root of the expected squared Euclidean distance between estimate and truth, per symbol.

        The truth is the shares in the population that people are drawn from. The shares among the people themselves are
        known more precisely.
        """
        return float(np.sqrt(np.mean(self.standard_errors**2)))

    @property
    def width(self) -> float:
        """Of the widest interval."""
        return float(self.widths.max())

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows as far as the labels are; null for an infinite error."""
        return {
            "reports": self.reports,
            "confidence": self.confidence,
            "intervals": self.intervals,
            "labels": list(self.labels),
            "standard_errors": list(map(finite_or_none, self.standard_errors.tolist())),
            "widths": self.widths.tolist(),
        }

    def __str__(self) -> str:
        root = self.root_mean_square
        said = (
            f"standard error {root:.4g} on average" if math.isfinite(root) else "not everything is identified"
        )
        return (
            f"{self.reports} reports: {said}; {100 * self.confidence:g}% intervals, {FIGURES[self.intervals]}, up to "
            f"{self.width:.4g} wide, {float(np.mean(self.widths)):.4g} on average"
        )

    __repr__ = __str__


@dataclass(frozen=True)
class SampleSizes:
    """Reports needed for the same width at the same leakage; None where no number of reports is enough.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> found = ex.planning.compare_sample_sizes(prior, 0.6, 0.1)
    >>> found.optimal < found.randomized_response
    True

    Attributes
    ----------
    epsilon
        The limit on leakage, in nats.
    width
        The width of each interval.
    confidence
        The confidence level of the intervals.
    optimal
        Reports that the design needs.
    randomized_response
        Reports that randomized response needs.
    intervals
        "each" or "all".
    """

    epsilon: float
    width: float
    confidence: float
    optimal: int | None
    randomized_response: int | None
    intervals: str = "each"

    @property
    def saving(self) -> float | None:
        """How many times as many reports randomized response needs."""
        if self.optimal is None or self.randomized_response is None:
            return None
        return self.randomized_response / self.optimal

    def __str__(self) -> str:
        said = [
            f"{name}: {'no number of reports is enough' if count is None else f'{count} reports'}"
            for name, count in (
                ("optimal mechanism", self.optimal),
                ("randomized response", self.randomized_response),
            )
        ]
        title = (
            f"{100 * self.confidence:g}% intervals at most {self.width:g} wide, {FIGURES[self.intervals]}; no report "
            f"leaks more than {self.epsilon:g} nats"
        )
        return "\n".join([title, *said])


@one_thread
def expected_error(
    prior: Prior,
    mechanism: Certified | Mechanism,
    n: Any,
    confidence: float = 0.95,
    *,
    intervals: str = "each",
) -> ExpectedError:
    """Standard errors and interval widths to expect from n reports if the inputs follow the prior.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> found = ex.planning.expected_error(prior, mechanism, 1000)
    >>> found.reports
    1000

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism, certified or not.
    n
        How many reports there will be.
    confidence
        The confidence level of the intervals.
    intervals
        "each": each by itself, the default as in `estimate`. "all": all together.
    """
    channel, level, kind = _check(prior, mechanism, confidence, intervals)
    n = check_people(n)
    errors = standard_errors(channel, each_symbol(prior.size), float(n))
    widths = _widths(channel, float(n), 1 - level, kind)
    return ExpectedError(prior.labels, n, level, errors, widths, kind)


def check_people(n: Any, what: str = "n") -> int:
    """A number of people, or of reports."""
    return checks.whole(n, what, least=1, most=MOST_COUNTED - 1, remedy="e.g. 1000")


@one_thread
def sample_size(
    prior: Prior,
    mechanism: Certified | Mechanism,
    width: Any,
    confidence: float = 0.95,
    *,
    intervals: str = "each",
) -> int:
    """The number of reports from which every interval is expected to be at most `width` wide; one fewer is not enough.

    Expected: at the counts that are expected if inputs follow the prior. Chance makes intervals a little wider or
    narrower. The width of intervals that hold all together does not fall steadily with the number of reports, because
    weights are chosen anew for each, so a smaller number may be enough, too. expected_error() tells for any given
    number.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> ex.planning.sample_size(prior, mechanism, 0.1) > 100
    True

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism, certified or not.
    width
        How wide intervals may be, from end to end.
    confidence
        The confidence level of the intervals.
    intervals
        "each": each by itself, the default as in `estimate`. "all": all together, for every number of reports.
    """
    channel, level, kind = _check(prior, mechanism, confidence, intervals)
    width = checks.number(width, "width", above=0, below=1, remedy="e.g. 0.05")
    known = channel.identified(each_symbol(prior.size))
    if not known.all():
        best = _widths(channel, float(MOST_REPORTS), 1 - level, kind)
        if best.max() > width:
            lost = [label for label, good in zip(prior.labels, known, strict=True) if not good]
            raise MechanismError(
                f"the mechanism must identify every share up to a width of {width:g}, but "
                f"of {shorten(lost)} intervals stay up to {best.max():.3g} wide however many "
                "report",
                remedy=(
                    "ask for sums over groups, or use a mechanism of full rank such as "
                    "`theory.randomized_response_for_pml(prior, epsilon)`"
                ),
            )
    return _search(channel, float(width), 1 - level, kind)


@one_thread
def compare_sample_sizes(
    prior: Prior,
    epsilon: float,
    width: float,
    confidence: float = 0.95,
    utility: Utility | Purpose = shares,
    *,
    intervals: str = "each",
) -> SampleSizes:
    """Reports needed by the best mechanism for a purpose and by randomized response that leaks as much.

    By default the purpose is to estimate shares. A design for another utility, such as mutual information, can blur
    answers, which are then not identified.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> found = ex.planning.compare_sample_sizes(prior, 0.6, 0.1)
    >>> found.optimal < found.randomized_response
    True

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    width
        How wide intervals may be, from end to end.
    confidence
        The confidence level of the intervals.
    utility
        What the mechanism is for: a purpose such as `shares`, or a utility.
    intervals
        As in `sample_size`.
    """

    def needed(mechanism: Mechanism) -> int | None:
        try:
            return sample_size(prior, mechanism, width, confidence, intervals=intervals)
        except MechanismError:
            return None

    optimal = needed(designed(prior, epsilon, utility).mechanism)
    response = needed(randomized_response_for_pml(prior, epsilon))
    return SampleSizes(float(epsilon), float(width), float(confidence), optimal, response, intervals)


def _search(channel: Channel, width: float, error: float, kind: str) -> int:
    """A number that is enough where one fewer is not, near where the normal approximation puts it."""
    size = len(channel.expected)
    z = normal_quantile(error / size / 2 / BENTKUS)
    typical = float(standard_errors(channel, each_symbol(size), 1.0).max())
    start = min(2 * z * typical / width, math.sqrt(MOST_REPORTS)) ** 2 if math.isfinite(typical) else 1e4

    def enough(n: int) -> bool:
        return bool(_widths(channel, float(n), error, kind).max() <= width)

    low, high = 0, math.ceil(min(max(start, 10.0), MOST_REPORTS))
    while not enough(high):
        if high >= MOST_REPORTS:
            raise MechanismError(
                f"intervals must be able to shrink to {width:g} with {MOST_REPORTS:g} "
                f"reports, but stay {_widths(channel, float(high), error, kind).max():.3g} wide",
                remedy="the mechanism is too noisy, allow more leakage",
            )
        low, high = high, min(math.ceil(high * 1.25), MOST_REPORTS)
    if low == 0:
        low = int(high / 1.25)
        while low > 0 and enough(low):
            low, high = int(low / 1.25), low
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _widths(channel: Channel, n: float, error: float, kind: str) -> Floats:
    symbols = each_symbol(len(channel.expected))
    bounds = expected_bounds(channel, symbols, n, error, kind)
    if kind == "all":
        bounds = within_simplex(bounds)
    return bounds.upper - bounds.lower


def expected_bounds(channel: Channel, targets: Floats, n: float, error: float, kind: str) -> Ends:
    """The intervals that `estimate` gives for n reports that come as often as expected.

    Parameters
    ----------
    channel
        The mechanism and the shares that are expected.
    targets
        A row of coefficients for each figure.
    n
        How many reports.
    error
        The probability that an interval is wrong, or of "all" that any is.
    kind
        "each" or "all".
    """
    if kind == "all":
        return target_intervals(channel, n * channel.outputs, targets, error)
    scaled = Scaled.of(targets)
    unit, known = scaled.unit, channel.identified(targets)
    lower, upper = np.zeros(len(unit)), unit.max(axis=1)
    if not known.all():  # what is possible
        lower[~known], upper[~known] = target_intervals(
            channel, n * channel.outputs, unit[~known], error, together=False
        )
    known &= upper > 0
    W, sizes = channel.weights(unit[known]), np.full(int(known.sum()), n)
    lower[known], upper[known] = ordinary_intervals(
        channel.P, unit[known], W, channel.expected, channel.outputs, sizes, error
    )
    return Ends(scaled.values(lower), scaled.values(upper))


def _check(prior: Prior, mechanism: Any, confidence: float, intervals: str) -> tuple[Channel, float, str]:
    matrix = as_estimable(mechanism)
    check_match(prior, matrix)
    channel = Channel(matrix.matrix, prior.probabilities)
    return channel, checks.confidence(confidence), check_kind(intervals)
