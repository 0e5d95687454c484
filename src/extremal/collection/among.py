"""Shares among those who were asked, where a private answer decided who was: everybody sent a report."""

from __future__ import annotations

import numpy as np

from .._common.types import Floats
from ..estimation.differences import ratios
from ..estimation.interval_table import IntervalTable
from ..estimation.result import Estimate
from ..model.prior import Prior
from .published import NOT_ASKED, Part


def tables_among_asked(part: Part, found: Estimate) -> list[IntervalTable]:
    """The shares of answers or of items, and the mean of a scale."""
    rows, whole = _sums(part)
    names = tuple(part.groups or [x for x in part.inputs if x != NOT_ASKED])
    shares = ratios(found, f"{len(names)} shares among those asked,", names, rows, whole)
    if part.scores is None:
        return [shares]
    scores = np.array([[part.scores.get(str(x), 0.0) for x in part.inputs]])
    return [shares, ratios(found, "mean of scores among those asked,", ("mean",), scores, whole)]


def targets_among_asked(part: Part, prior: Prior) -> Floats:
    """How the shares among those asked move with those of all answers, to first order."""
    rows, whole = _sums(part)
    asked = float(whole @ prior.probabilities)
    return np.asarray((rows - (rows @ prior.probabilities / asked)[:, None] * whole) / asked)


def _sums(part: Part) -> tuple[Floats, Floats]:
    """Coefficients of each share of all people, and of the share that was asked."""
    inputs = [str(x) for x in part.inputs]
    whole = np.array([x != NOT_ASKED for x in inputs], float)
    groups = part.groups or {str(x): [str(x)] for x in inputs if x != NOT_ASKED}
    return np.array([[float(x in members) for x in inputs] for members in groups.values()]), whole
