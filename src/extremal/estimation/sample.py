"""Who was asked: weights, strata and clusters.

A person in a cell (a group and a report) adds his weight to the total of that cell. The covariance of the totals is
estimated as if the clusters of a stratum were drawn with replacement,

    B = sum_h n_h / (n_h - 1) sum_c (T_hc - mean_h)(T_hc - mean_h)',

T_hc the totals of cluster c of stratum h. Without clusters each person is one, without strata there is one stratum.
Everything else is linear in the totals to first order, so its covariance is A B A'. R's package `survey` calls this
Taylor linearisation and does the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common import checks
from .._common.types import Floats, Ints
from .._common.words import brief, shorten
from ..errors import OptionError, ValuesError
from ..model.labels import Labels, as_list


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """How people were drawn: with which weights, in which strata, in which clusters. Each a column, or its name.

    Without any of them each person was drawn alone, and all alike.

    Examples
    --------
    >>> SampleDesign(weights="w", clusters="school").names
    ('w', 'school')

    Parameters
    ----------
    weights
        A sampling weight for each person, a number >= 0: shares are those of the population that the weighted people
        stand for (Horvitz-Thompson).
    strata
        Where people were drawn separately. Clusters are nested in strata.
    clusters
        Who was drawn together. Standard errors are those between the clusters of each stratum, as if drawn with
        replacement.
    """

    weights: Any = None
    strata: Any = None
    clusters: Any = None

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            if isinstance(value, str):
                continue
            column: Any = check_weights(value) if name == "weights" else _listed(value, name)
            object.__setattr__(self, name, column)
        sizes = {len(value) for value in self.given.values() if not isinstance(value, str)}
        if len(sizes) > 1:
            said = ", ".join(f"{len(x)} {name}" for name, x in self.given.items() if not isinstance(x, str))
            raise ValuesError("the columns of a sample design must be of one length", given=said)

    @property
    def given(self) -> dict[str, Any]:
        """Those that are given, by name."""
        named = (("weights", self.weights), ("strata", self.strata), ("clusters", self.clusters))
        return {name: value for name, value in named if value is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of columns among them."""
        return tuple(value for value in self.given.values() if isinstance(value, str))

    def at(self, rows: Ints, people: int) -> SampleDesign:
        """The same of some people: it must hold columns, not names.

        Parameters
        ----------
        rows
            Whom to keep, by number.
        people
            How many there are.
        """
        for name, value in self.given.items():
            if isinstance(value, str):
                raise OptionError(
                    "must be a column where reports are columns", parameter=name, given=brief(value)
                )
            checks.length(value, name, people, "person", error=ValuesError)
        return SampleDesign(**{name: [value[k] for k in rows] for name, value in self.given.items()})


def check_sample(sample: Any) -> SampleDesign | None:
    """A sample design that says something, or None."""
    if sample is None:
        return None
    remedy = 'e.g. `ex.SampleDesign(weights="w")`'
    design = checks.instance(sample, "sample", SampleDesign, "a SampleDesign", remedy=remedy)
    return design if design.given else None


def _listed(values: Any, name: str) -> tuple[Any, ...]:
    try:
        return tuple(as_list(values))
    except TypeError:
        raise ValuesError("must be a column, or its name", parameter=name, given=brief(values)) from None


@dataclass(frozen=True, eq=False)
class SurveyDesign:
    """Who was asked with which weight, in which stratum and cluster; None where nobody said."""

    weights: Floats | None  # over the largest one, `unit`, so that no square is out of range
    unit: float
    strata: Ints | None
    strata_labels: Labels
    clusters: Ints | None

    @property
    def words(self) -> str:
        """What it uses, for a sentence."""
        named = [name for name in ("weights", "strata", "clusters") if vars(self)[name] is not None]
        return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


@dataclass(frozen=True, eq=False)
class Totals:
    """Weighted totals of cells, their covariance, and how many clusters and strata are behind them."""

    design: SurveyDesign
    totals: Floats
    squares: Floats  # sums of squared weights
    covariance: Floats
    block_degrees: Ints  # for each block, the clusters minus the strata in which its cells occur
    degrees: int  # all clusters minus all strata

    def of_block(self, block: int, size: int) -> WeightedReports:
        """Of the cells of one block, for example the reports of one group."""
        cells = slice(block * size, (block + 1) * size)
        total = float(self.totals[cells].sum())
        f = self.totals[cells] / total
        A = (np.eye(size) - f[:, None]) / total
        covariance = A @ self.covariance[cells, cells] @ A.T
        kish = total**2 / float(self.squares[cells].sum())
        degrees = int(self.block_degrees[block])
        return WeightedReports(f, covariance, total * self.design.unit, kish, degrees, self.design.words)

    def linear(self, size: int) -> Floats:
        """The matrix that leads from errors of totals to errors of the shares within each block."""
        return shares_within(self.totals, [slice(k, k + size) for k in range(0, len(self.totals), size)])


def shares_within(totals: Floats, parts: Sequence[slice]) -> Floats:
    """The matrix that leads from errors of totals to errors of the shares within each part, part by part."""
    found = []
    for part in parts:
        total = float(totals[part].sum())
        rows = np.zeros((part.stop - part.start, len(totals)))
        rows[:, part] = (np.eye(len(rows)) - (totals[part] / total)[:, None]) / total
        found.append(rows)
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class WeightedReports:
    """Weighted shares of the reports with their design-based covariance."""

    report_shares: Floats
    covariance: Floats
    total: float  # sum of the weights
    effective: float  # Kish's number of equally weighted people worth as much
    degrees: int  # clusters minus strata
    words: str

    @property
    def totals(self) -> Floats:
        """Totals of the outputs, as parts of the total of all."""
        return self.report_shares


def survey_totals(cells: Ints, blocks: int, size: int, design: SurveyDesign) -> Totals:
    """Weighted totals of `blocks * size` cells, one of which each person is in."""
    n, width = len(cells), blocks * size
    w = np.ones(n) if design.weights is None else design.weights
    strata = np.zeros(n, dtype=np.int64) if design.strata is None else design.strata
    totals = np.asarray(np.bincount(cells, weights=w, minlength=width), dtype=np.float64)
    squares = np.asarray(np.bincount(cells, weights=w * w, minlength=width), dtype=np.float64)
    if design.clusters is None:
        sizes = np.bincount(strata)
        factor = _factors(sizes, design)
        squared = np.bincount(cells, weights=w * w * factor[strata], minlength=width)
        second: Floats = np.diag(np.asarray(squared, dtype=np.float64))
        each = np.bincount(cells // size, minlength=blocks)
    else:
        many = int(design.clusters.max()) + 1
        pairs, units = np.unique(strata * many + design.clusters, return_inverse=True)
        of_unit = pairs // many
        sizes = np.bincount(of_unit)
        factor = _factors(sizes, design)
        second = _between(units, cells, w, width, factor[of_unit])
        each = np.bincount(np.unique(units * blocks + cells // size) % blocks, minlength=blocks)
    by_stratum = np.bincount(strata * width + cells, weights=w, minlength=len(sizes) * width)
    means = by_stratum.reshape(len(sizes), width)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(sizes > 0, factor / sizes, 0.0)
    covariance = second - (means * scale[:, None]).T @ means
    found = np.bincount(np.unique(strata * blocks + cells // size) % blocks, minlength=blocks)
    degrees = int(sizes.sum() - np.count_nonzero(sizes))
    return Totals(design, totals, squares, covariance, each - found, degrees)


def _between(units: Ints, cells: Ints, w: Floats, width: int, factor: Floats) -> Floats:
    """Sum over clusters of factor T T', T the totals of a cluster."""
    from scipy.sparse import coo_array

    T = coo_array((w, (units, cells)), shape=(len(factor), width)).tocsr()
    scaled = T.multiply(np.sqrt(factor)[:, None]).tocsr()
    return np.asarray((scaled.T @ scaled).todense())


def _factors(sizes: Ints, design: SurveyDesign) -> Floats:
    """n_h / (n_h - 1) for every stratum; refuses one with a single cluster, whose variance nobody can tell."""
    if (sizes == 1).any():
        one, several = ("person", "people") if design.clusters is None else ("cluster", "clusters")
        if design.strata is None:
            raise ValuesError(f"a variance needs at least 2 {several}", given="1")
        lonely = [design.strata_labels[k] for k in np.flatnonzero(sizes == 1)]
        raise ValuesError(
            f"every stratum must have at least 2 {several}",
            given=f"one {one} in {shorten(lonely, 5)}",
            remedy="merge it with a similar stratum",
        )
    return np.asarray(sizes / np.maximum(sizes - 1, 1), dtype=np.float64)


def check_weights(values: Any, name: Any = None) -> Floats:
    """The weights as numbers, none missing or negative, not all 0; `name` is that of their column."""
    of = f"in {name!r} " if isinstance(name, str) else ""
    try:
        w = checks.floats(values)
    except (TypeError, ValueError, OverflowError):
        w = np.array([_number(value) for value in as_list(values)], dtype=np.float64)
    bad = ~np.isfinite(w)
    if w.ndim != 1:
        raise ValuesError(f"{of}must be one column", parameter="weights", given=f"shape {w.shape}")
    if bad.any():
        raise ValuesError(
            f"{of}must be a finite number for every person",
            parameter="weights",
            given=f"{int(bad.sum())} of {len(w)} missing or not a number",
            remedy="drop these rows, or give each of them a weight",
        )
    if (w < 0).any():
        given = f"{int((w < 0).sum())} below 0, the least {w.min():g}"
        raise ValuesError(
            f"{of}must not be negative", parameter="weights", given=given, remedy="correct them"
        )
    if not w.any():
        raise ValuesError(f"{of}must not all be 0", parameter="weights", remedy="give weights")
    w.setflags(write=False)
    return w


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
