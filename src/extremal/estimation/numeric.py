"""Numbers as answers: points of a grid by unbiased random rounding, or brackets.

A number between two points of a grid becomes one of them at random, with probabilities that keep its mean: 340
between 0 and 1000 becomes 1000 with probability 0.34. So the mean of the rounded answers is that of the numbers, and
any mechanism on the points estimates it without bias. The report is drawn from the point, so what it leaks about the
number is at most what it leaks about the point, whoever knows how the rounding fell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._common import checks
from .._common.types import Floats
from .._common.words import brief
from ..draw.arrays import Draws, rounding_shares
from ..draw.keys import Keyed
from ..errors import OptionError, ValuesError
from ..model.labels import Labels, as_list, is_missing
from ..model.prior import Prior
from ..model.purposes import Mean, mean
from .interval_table import IntervalTable
from .result import Estimate


@dataclass(frozen=True, init=False)
class Grid:
    """Points to which numbers are rounded at random, so that their mean stays.

    Examples
    --------
    >>> import extremal as ex
    >>> grid = ex.numeric.Grid([0, 10, 20])
    >>> len(grid.points)
    3

    Parameters
    ----------
    points
        At least two different numbers. The first and the last are the least and the largest that numbers can be.
    """

    points: tuple[float, ...]

    def __init__(self, points: Iterable[float]) -> None:
        object.__setattr__(self, "points", _increasing(points, "points", 2, finite=True))

    @property
    def labels(self) -> Labels:
        """The points as labels of answers, integers if all of them are whole."""
        whole = all(point.is_integer() for point in self.points)
        return tuple(int(point) if whole else point for point in self.points)

    @property
    def purpose(self) -> Mean:
        """What to design for: the mean of the numbers, `ex.mean` of the points."""
        return mean(dict(zip(self.labels, self.points, strict=True)))

    def round(
        self,
        values: Any,
        *,
        clip: bool = False,
        keyed: Keyed | None = None,
        column: str | None = None,
        seed: int | None = None,
    ) -> list[Any]:
        """For each number the point below or above it, drawn so that its mean is the number.

        If reports of the points are drawn with a key, round with the same `keyed` and column: points that are drawn
        anew can be others, and then so are the reports.

        Parameters
        ----------
        values
            A column of numbers within the grid.
        clip
            Whether numbers beyond the ends become the ends. The mean is then that of the clipped numbers.
        keyed
            A secret key, an id for each number and an occasion: then the point is a function of these, column, grid and
            number.
        column
            With a key: the name of the column; that of a Series if None.
        seed
            To repeat the rounding, for examples; chance decides otherwise.
        """
        x = self._within(values, clip)
        below, share = self._split(x)
        draws = Draws(keyed, column)
        up = rounding_shares(self.points, x, draws, getattr(values, "name", None), seed) < share
        labels = np.array(self.labels, dtype=object)
        return list(labels[below + up])

    def prior(self, values: Any, *, clip: bool = False, pseudocount: float = 0.0) -> Prior:
        """How often each point is expected if numbers are distributed like these: no chance is left in it.

        Parameters
        ----------
        values
            Numbers from an earlier study or a census.
        clip
            As in `round`.
        pseudocount
            Added to the count of each point, for points that nobody is near.
        """
        x = self._within(values, clip)
        below, share = self._split(x)
        size = len(self.points)
        counts = np.bincount(below, weights=1 - share, minlength=size)
        counts = counts + np.bincount(np.minimum(below + 1, size - 1), weights=share, minlength=size)
        return Prior.from_counts(counts, pseudocount, self.labels)

    def _split(self, x: Floats) -> tuple[Any, Floats]:
        """The point below each number, and how far it is on the way to the next."""
        points = np.array(self.points)
        below = np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(points) - 2)
        return below, (x - points[below]) / (points[below + 1] - points[below])

    def _within(self, values: Any, clip: bool) -> Floats:
        x, low, high = _numbers(values), self.points[0], self.points[-1]
        if not clip:
            _check_within(x, low, high, "choose wider points, or `clip=True`")
        return np.clip(x, low, high)


@dataclass(frozen=True, init=False)
class Brackets:
    """Numbers as answers like "500 to 1000": the lower edge belongs to a bracket, the upper one to the next.

    Examples
    --------
    >>> import extremal as ex
    >>> ages = ex.numeric.Brackets([0, 18, 65, 120])
    >>> len(ages.labels)
    3

    Parameters
    ----------
    edges
        Increasing numbers; the first may be minus infinity, the last infinity.
    """

    edges: tuple[float, ...]

    def __init__(self, edges: Iterable[float]) -> None:
        object.__setattr__(self, "edges", _increasing(edges, "edges", 3, finite=False))

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each bracket."""
        return tuple(
            f"below {high:g}"
            if low == -math.inf
            else f"{low:g} or more"
            if high == math.inf
            else f"{low:g} to {high:g}"
            for low, high in pairwise(self.edges)
        )

    def assign(self, values: Any) -> list[str]:
        """The label of the bracket of each number; the last bracket has its upper edge.

        Parameters
        ----------
        values
            The numbers.
        """
        x = _numbers(values)
        remedy = "make the first or the last bracket open: -math.inf, math.inf"
        _check_within(x, self.edges[0], self.edges[-1], remedy)
        place = np.searchsorted(np.array(self.edges), x, side="right") - 1
        return list(np.array(self.labels, dtype=object)[np.minimum(place, len(self.labels) - 1)])

    def mean(self, found: Estimate, confidence: float | None = None) -> IntervalTable:
        """The mean if everybody were at the lower end of their bracket, in its middle, and at the upper end.

        The true mean is between the first and the last; the middle is a guess.

        Parameters
        ----------
        found
            The estimated shares of the brackets.
        confidence
            The confidence level; that of the estimate if None.
        """
        if not (math.isfinite(self.edges[0]) and math.isfinite(self.edges[-1])):
            raise OptionError(
                "must be finite for a mean: an open bracket can hold any number",
                parameter="edges",
                given=f"{self.edges[0]:g} and {self.edges[-1]:g}",
                remedy="give the least and the largest number that is possible",
            )
        if tuple(found.labels) != self.labels:
            raise OptionError("the estimate must be of these brackets", given=brief(found.labels))
        low, high = np.array(self.edges[:-1]), np.array(self.edges[1:])
        targets = np.array([low, (low + high) / 2, high])
        return found.combinations("means", ("lower edges", "middles", "upper edges"), targets, confidence)


def _increasing(values: Iterable[float], what: str, count: int, finite: bool) -> tuple[float, ...]:
    given: Any = values  # whatever it is
    remedy = "e.g. [0, 500, 1000, 2000]"
    x = checks.increasing(
        list(given) if hasattr(given, "__iter__") else given, what, count=count, finite=finite, remedy=remedy
    )
    return tuple(x.tolist())


def _check_within(x: Floats, low: float, high: float, remedy: str) -> None:
    out = int(((x < low) | (x > high)).sum())
    if out:
        problem = f"numbers must be from {low:g} to {high:g}"
        raise ValuesError(problem, given=f"{out} of {len(x)} beyond", remedy=remedy)


def _numbers(values: Any) -> Floats:
    """A column of numbers, none missing."""
    try:
        x = checks.floats(values)
    except (TypeError, ValueError, OverflowError):
        wrong = [is_missing(value) or isinstance(value, str | bytes) for value in as_list(values)]
        raise ValuesError(
            "must be numbers",
            parameter="values",
            given=f"others in {sum(wrong)} of {len(wrong)} rows" if any(wrong) else "others",
            remedy="convert them",
        ) from None
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValuesError(
            "must be one column of finite numbers",
            parameter="values",
            given=f"{int((~np.isfinite(x)).sum())} missing or infinite",
            remedy="drop them, or name them in a question of their own",
        )
    return x
