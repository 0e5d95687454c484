"""Whether groups of people, or the stages of a survey, have the same shares.

The reports f of each cell, the people of one group and one stage, are looked at in the directions B that their
mechanism lets through: E[B f] = B P' theta. Under a hypothesis cells share their theta, and what generalised least
squares leave of B f is distributed like chi-squared, or with an estimated covariance about like F. What only an
alternative explains is the test of one against the other. So the noise of every mechanism is accounted for, and
mechanisms may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.threads import one_thread
from .._common.types import Floats
from .contrasts import Channel
from .likelihood import maximize
from .sample import Totals, WeightedReports, shares_within

if TYPE_CHECKING:
    from .result import Estimate

NO_TEST = (
    "no test of whether the {} differ: everybody in one reported the same, or there are too few people or clusters to "
    "estimate the variance"
)
KEPT = 1e-10  # of the largest eigenvalue or singular value: others are rounding
UNSEEN = 1e-8  # a difference of scores of standard deviation 1 that is not rounding


@dataclass(frozen=True)
class EqualityTest:
    """A test of the hypothesis that all groups of people, or all stages of a survey, have the same shares.

    `statistic` and `p_value` are None where no test is possible: nothing shows how much the reports vary by chance in
    the directions in which they differ.

    Attributes
    ----------
    statistic
        The statistic; None if no test is possible.
    degrees
        Degrees of freedom, of chi-squared or of F.
    p_value
        The p-value; None if no test is possible.
    name
        "score" or "Wald".
    between
        What is compared: "groups" or "stages".
    """

    statistic: float | None
    degrees: tuple[int, ...]  # of chi-squared, or the two of F
    p_value: float | None
    name: str  # "score" or "Wald"
    between: str

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows."""
        return {
            "test": self.name,
            "between": self.between,
            "statistic": self.statistic,
            "degrees_of_freedom": list(self.degrees),
            "p_value": self.p_value,
        }

    def __str__(self) -> str:
        if self.statistic is None or self.p_value is None:
            return NO_TEST.format(self.between)
        figure = "chi-squared" if len(self.degrees) == 1 else "F"
        degrees = " and ".join(map(str, self.degrees))
        p = f"p = {self.p_value:.4f}" if self.p_value >= 1e-4 else f"p = {self.p_value:.1e}"
        said = (
            f"{self.name} test that all {self.between} have the same shares: {figure} = {self.statistic:.2f}"
        )
        return f"{said} with {degrees} degrees of freedom, {p}"


@one_thread
def equality_test(
    estimates: Sequence[Estimate], totals: Totals | WeightedReports | None, between: str = "groups"
) -> EqualityTest:
    """A score test, or with weights, strata or clusters a Wald test, of groups or of the stages of each group.

    Parameters
    ----------
    estimates
        Of each group of people.
    totals
        Weighted totals of the reports of all groups, if there are weights, strata or clusters.
    between
        "groups": all have the same shares. "stages": those of every group have.
    """
    from scipy.special import chdtrc, fdtrc

    stages = between == "stages"
    cells = _Cells.of(estimates, totals, fitted=stages)
    groups = [cell.group for cell in cells.each]
    left, degrees, unseen = cells.left_by(groups if stages else [0] * len(groups))
    if not stages:
        other, more, _ = cells.left_by(groups)
        left, degrees = left - other, degrees - more
    if totals is None:
        # Without degrees all reports are the same, or the mechanisms tell nothing.
        found = (left, float(chdtrc(degrees, left))) if degrees else (None, None)
        return EqualityTest(found[0], (degrees,), found[1], "score", between)
    rest = max(totals.degrees - degrees + 1, 1)
    if degrees == 0 or unseen:
        return EqualityTest(None, (degrees, rest), None, "Wald", between)
    statistic = max(left, 0.0) * rest / (max(totals.degrees, 1) * degrees)
    return EqualityTest(statistic, (degrees, rest), float(fdtrc(degrees, rest, statistic)), "Wald", between)


@dataclass(frozen=True, eq=False)
class _Cell:
    """What is seen of the people of one group in one stage."""

    group: int
    seen: Floats  # B f - B P' theta at the shares of everybody
    design: Floats  # B P', for changes of shares that sum to 0


@dataclass(frozen=True, eq=False)
class _Cells:
    """All cells with people; without a covariance each is in units of its own standard deviations."""

    each: list[_Cell]
    covariance: Floats | None

    @classmethod
    def of(
        cls, estimates: Sequence[Estimate], totals: Totals | WeightedReports | None, fitted: bool
    ) -> _Cells:
        """With variances at the fitted shares of everybody, or at the shares of everybody's reports."""
        first, groups = estimates[0], len(estimates)
        ends = np.cumsum([len(stage.counts) for stage in first.stages]).tolist()
        parts = list(map(slice, [0, *ends], ends))
        reports = np.array([e.counts.counts for e in estimates], dtype=np.float64)
        if totals is not None:
            reports = totals.totals.reshape(groups, ends[-1])
        n = float(sum(e.reports for e in estimates))
        everybody = reports.sum(axis=0) / reports.sum()
        theta = _everybody(first, parts, everybody * n)
        changes = np.concatenate((np.eye(len(theta) - 1), -np.ones((1, len(theta) - 1))))
        cells, directions, places = [], [], []
        for group, e in enumerate(estimates):
            for stage, own in zip(e.stages, parts, strict=True):
                if not reports[group, own].any():
                    continue
                channel = Channel(stage.channel.P, theta)
                B, f = _directions(channel), reports[group, own] / reports[group, own].sum()
                if totals is None:
                    q = channel.outputs if fitted else everybody[own] / everybody[own].sum()
                    spread = (B * q) @ B.T - np.multiply.outer(B @ q, B @ q)
                    B = _whitening(spread / stage.people)[0] @ B
                design = B @ channel.P.T
                cells.append(_Cell(group, B @ f - design @ theta, design @ changes))
                directions.append(B)
                places.append(slice(group * ends[-1] + own.start, group * ends[-1] + own.stop))
        if totals is None:
            return cls(cells, None)
        from scipy.linalg import block_diag

        D = block_diag(*directions) @ shares_within(totals.totals, places)
        return cls(cells, D @ totals.covariance @ D.T)

    def left_by(self, shared: list[int]) -> tuple[float, int, bool]:
        """The weighted square of what is left if cells of the same number have the same shares, and its degrees.

        Also whether there are differences where the estimated variance is 0: those have no place in the square, however
        large they are.
        """
        numbers = np.array(shared)
        if self.covariance is None:
            found = []
            for number in np.unique(numbers):
                own = [self.each[k] for k in np.flatnonzero(numbers == number)]
                y, X = np.concatenate([c.seen for c in own]), np.concatenate([c.design for c in own])
                square, rank = _left(y, X)
                found.append((square, len(y) - rank))
            return sum(square for square, _ in found), sum(rank for _, rank in found), False
        y = np.concatenate([cell.seen for cell in self.each])
        chosen = np.eye(numbers.max() + 1)[numbers]
        X = np.concatenate(
            [np.kron(row[None], cell.design) for row, cell in zip(chosen, self.each, strict=True)]
        )
        whiten, flat = _whitening(self.covariance)
        square, rank = _left(whiten @ y, whiten @ X)
        unseen, _ = _left(flat @ y, flat @ X)
        return square, len(whiten) - rank, unseen > UNSEEN * UNSEEN


def _whitening(covariance: Floats) -> tuple[Floats, Floats]:
    """What makes the covariance the identity, and the directions in which there is no variance."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > KEPT * max(float(values.max(initial=0.0)), 1e-300)
    return (vectors[:, kept] / np.sqrt(values[kept])).T, vectors[:, ~kept].T


def _left(y: Floats, X: Floats) -> tuple[float, int]:
    """The least square of y - X b, and the rank of X."""
    if not X.size:
        return float(y @ y), 0
    b, _, rank, _ = np.linalg.lstsq(X, y, rcond=KEPT)
    off = y - X @ b
    return float(off @ off), int(rank)


def _everybody(first: Estimate, parts: list[slice], counts: Floats) -> Floats:
    """The shares that all people have together, off the boundary."""
    n, known = counts.sum(), first.prior.probabilities
    matrices = [
        stage.channel.P * (counts[own].sum() / n) for stage, own in zip(first.stages, parts, strict=True)
    ]
    theta = maximize(np.concatenate(matrices, axis=1), counts, known).theta * n + known
    return np.asarray(theta / theta.sum())


def _directions(channel: Channel) -> Floats:
    """Weights of the outputs that span what reports tell about shares."""
    V = channel.svd[2]
    B = np.zeros((len(V), channel.P.shape[1]))
    B[:, channel.possible] = V / np.sqrt(channel.outputs[channel.possible])
    return B
