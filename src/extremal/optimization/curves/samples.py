"""sample_tradeoff(): the best utility against the size of the sample that the prior is known from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._common.frames import Tabular
from ..._common.threads import one_thread
from ..._common.types import Floats
from ...errors import OptionError
from ...model.prior import Prior, check_prior
from ...model.prior_set import PriorSet
from ...model.purpose import Purpose, shares
from ...model.regions import check_epsilon
from ...model.utility import Utility
from ..design import design, uninterrupted
from ..result import Design


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

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.sample_tradeoff(prior, 0.6, [100, 1000]).optimal.round(3).tolist()
    [0.168, 0.229]
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
        return uninterrupted(design(given, level, utility, tolerance=tolerance, time_limit=time_limit))

    known = best(prior)
    optimal, upper = np.zeros(len(sizes)), np.zeros(len(sizes))
    for k, n in enumerate(sizes):
        found = best(PriorSet.from_sample_size(prior, float(n), confidence))
        optimal[k], upper[k] = found.value, found.upper_bound
        if progress is not None:
            progress(k + 1, len(sizes))
    return SampleTradeoff(prior, utility, level, float(confidence), sizes, optimal, upper, known.value)
