"""The picture of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._common.plot import empty_axes
from ..model.labels import Labels
from ..model.leakage_measures import LeakageDistribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 40  # outputs that are drawn one by one; of more, the tail of the leakage is drawn


def draw_leakage(
    leakage: NDArray[np.float64],
    distribution: LeakageDistribution,
    outputs: Labels,
    epsilon: float,
    axes: Axes | None = None,
) -> Axes:
    """Axes with the leakage of each report as a bar, or of many reports how often a level is exceeded."""
    if axes is None:
        axes = empty_axes()
    if len(outputs) <= MOST_BARS:
        places = np.arange(len(outputs))
        axes.bar(places, leakage, color="tab:blue")
        axes.set_xticks(places, [str(y)[:20] for y in outputs], rotation=45 if len(outputs) > 6 else 0)
        axes.axhline(epsilon, color="tab:red", linestyle="--", label=f"worst report: {epsilon:.4g}")
        axes.set_xlabel("report")
        axes.set_ylabel("leakage in nats")
    else:
        above = 1 - np.cumsum(distribution.probabilities)
        levels = np.concatenate(([0.0], distribution.values))
        axes.step(levels, np.clip(np.concatenate(([1.0], above)), 0, 1), where="post", color="tab:blue")
        axes.axvline(epsilon, color="tab:red", linestyle="--", label=f"worst report: {epsilon:.4g}")
        axes.set_xlabel("level in nats")
        axes.set_ylabel("share of reports that leak more")
    axes.set_title("Pointwise maximal leakage")
    axes.legend()
    return axes
