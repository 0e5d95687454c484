"""tradeoff(): the best utility against the privacy level, beside randomized response at equal leakage."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.frames import Tabular, html_rows, html_table
from ..._common.threads import one_thread
from ..._common.types import Floats
from ..._common.words import aligned
from ...errors import OptionError
from ...model.levels import check_epsilon
from ...model.mechanism import identity
from ...model.prior import Prior, check_prior
from ...model.prior_set import PriorSet
from ...model.purpose import Purpose, shares
from ...model.utility import Utility
from ...theory.randomized_response import randomized_response_for_pml
from ..design import designed
from ..finish import Design

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEAD = ("epsilon", "best design", "at most possible", "randomized response")


@dataclass(frozen=True, eq=False)
class Tradeoff(Tabular):
    """Curves over epsilon: what is optimal, what is proven impossible to exceed, and what randomized response gives.

    `ceiling` is the utility of releasing X itself.

    Attributes
    ----------
    prior
        How common each answer is.
    utility
        What the designs are for.
    epsilons
        The limits, in nats.
    optimal
        The value of the best design found at each.
    upper_bound
        The bound on it.
    randomized_response
        The value of randomized response at the same leakage.
    methods
        The method used at each.
    ceiling
        The value of releasing the answer itself.
    """

    prior: Prior
    utility: Utility | Purpose = field(repr=False)
    epsilons: Floats
    optimal: Floats
    upper_bound: Floats
    randomized_response: Floats
    methods: tuple[str, ...]
    ceiling: float

    def __len__(self) -> int:
        return len(self.epsilons)

    def __str__(self) -> str:
        return "\n".join([self._title, *aligned(self._cells(), 0)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._title, html_rows(self._cells()))

    @property
    def _title(self) -> str:
        return f"{self._quantity}, {self.prior.size} answers, {self.ceiling:.4g} if the answer itself is sent"

    @property
    def _quantity(self) -> str:
        return (
            "true answers that a report is worth" if isinstance(self.utility, Purpose) else self.utility.name
        )

    def _cells(self) -> list[tuple[str, ...]]:
        columns = (self.epsilons, self.optimal, self.upper_bound, self.randomized_response)
        return [HEAD, *(tuple(f"{x:.4g}" for x in row) for row in zip(*columns, strict=True))]

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with both curves over epsilon, and the utility of releasing X itself.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        from ..._common.plot import draw_tradeoff

        return draw_tradeoff(
            self.epsilons,
            self.optimal,
            self.randomized_response,
            self.ceiling,
            self._quantity,
            axes=axes,
        )

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each point, for tables and files."""
        columns = (self.epsilons, self.optimal, self.upper_bound, self.randomized_response)
        names = ("epsilon", "optimal", "upper_bound", "randomized_response", "method")
        points = zip(*(column.tolist() for column in columns), self.methods, strict=True)
        return [dict(zip(names, point, strict=True)) for point in points]


@one_thread
def tradeoff(
    prior: Prior,
    epsilons: Iterable[float],
    utility: Utility | Purpose = shares,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tradeoff:
    """The best value at each epsilon, in the order given, beside randomized response.

    A mechanism that is good at a lower epsilon stays admissible, so the curve never falls: where a search ends early,
    the best value at a lower epsilon is taken over.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.tradeoff(prior, [0.3, 0.6, 0.9]).optimal.round(3).tolist()
    [0.103, 0.274, 0.47]

    Parameters
    ----------
    prior
        How common each answer is.
    epsilons
        The limits on leakage, in nats.
    utility
        What the mechanism is for: a purpose such as `shares`, or a utility.
    tolerance
        How close to the optimum each design must be proven to be, relative to its value.
    time_limit
        Seconds for each design; None for no limit.
    progress
        A function that is called with (points done, points).

    Returns
    -------
    Tradeoff
        The curves, to print, plot or tabulate.
    """
    given: Any = epsilons
    if (
        isinstance(given, str | bytes)
        or not isinstance(given, Iterable)
        or getattr(given, "shape", None) == ()
    ):
        raise OptionError(
            "must be several levels",
            parameter="epsilons",
            given=repr(epsilons)[:60],
            remedy="one level is a list of one: [0.5]",
        )
    levels = np.array([check_epsilon(e) for e in epsilons])
    count = len(levels)
    optimal, upper, response = np.zeros(count), np.zeros(count), np.zeros(count)
    methods = [""] * count
    best = -np.inf
    for done, k in enumerate(np.argsort(levels, kind="stable"), start=1):
        design = designed(prior, levels[k], utility, tolerance=tolerance, time_limit=time_limit)
        methods[k] = design.method
        best = max(best, design.value)
        optimal[k], upper[k] = best, max(design.upper_bound, best)
        response[k] = utility(prior, randomized_response_for_pml(prior, levels[k]))
        if progress is not None:
            progress(done, count)
    ceiling = utility(prior, identity(prior))
    return Tradeoff(prior, utility, levels, optimal, upper, response, tuple(methods), ceiling)


@dataclass(frozen=True, eq=False)
class SampleTradeoff(Tabular):
    """The best value for every prior that a sample leaves open, by the size of the sample.

    `known` is the value if the prior were known. Values are those under `prior`.

    Attributes
    ----------
    prior
        How common each answer is.
    utility
        What the designs are for.
    epsilon
        The limit on leakage, in nats.
    confidence
        The probability that a set holds the true prior.
    observations
        The sizes of the samples.
    optimal
        The value of the best design found, by size.
    upper_bound
        The bound on it, by size.
    known
        The value if the prior were known.
    """

    prior: Prior
    utility: Utility | Purpose = field(repr=False)
    epsilon: float
    confidence: float
    observations: Floats
    optimal: Floats
    upper_bound: Floats
    known: float

    def __len__(self) -> int:
        return len(self.observations)

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each size, for tables and files."""
        return [
            {
                "observations": float(n),
                "optimal": float(v),
                "upper_bound": float(u),
                "of_known": float(v) / self.known if self.known else 1.0,
            }
            for n, v, u in zip(self.observations, self.optimal, self.upper_bound, strict=True)
        ]


@one_thread
def sample_tradeoff(
    prior: Prior,
    epsilon: float,
    observations: Iterable[float],
    utility: Utility | Purpose = shares,
    *,
    confidence: float = 0.95,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SampleTradeoff:
    """The value of designs that keep epsilon for every prior that a sample of a given size leaves open.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.sample_tradeoff(prior, 0.6, [100, 1000]).optimal.round(3).tolist()
    [0.168, 0.229]

    Parameters
    ----------
    prior
        What the frequencies in the sample are taken to be; values are measured under it.
    epsilon
        The limit on leakage, in nats.
    observations
        Sizes of the sample.
    utility
        What the designs are for.
    confidence
        With which the set of a sample holds the true prior.
    tolerance, time_limit
        As for design(), each time.
    progress
        Called with (sizes done, sizes).

    Returns
    -------
    SampleTradeoff
        The curve, to print or tabulate.
    """
    check_prior(prior)
    given: Any = observations
    try:
        sizes = np.array([] if isinstance(given, str | bytes) else list(given), dtype=np.float64)
    except (TypeError, ValueError):
        sizes = np.zeros(0)
    if sizes.ndim != 1 or len(sizes) == 0 or not (np.isfinite(sizes).all() and sizes.min() >= 1):
        raise OptionError(
            "must be sizes of samples, from 1 on",
            parameter="observations",
            given=repr(observations)[:60],
            remedy="e.g. [100, 1000]",
        )
    level = check_epsilon(epsilon)

    def best(given: Prior | PriorSet) -> Design:
        return designed(given, level, utility, tolerance=tolerance, time_limit=time_limit)

    known = best(prior)
    optimal, upper = np.zeros(len(sizes)), np.zeros(len(sizes))
    for k, n in enumerate(sizes):
        found = best(PriorSet.from_sample_size(prior, float(n), confidence))
        optimal[k], upper[k] = found.value, found.upper_bound
        if progress is not None:
            progress(k + 1, len(sizes))
    return SampleTradeoff(prior, utility, level, float(confidence), sizes, optimal, upper, known.value)
