"""The leakage envelope: how much the worst share δ of all reports can tell.

An event of the report is whatever an observer may decide to call remarkable: some reports always, others with a
chance of their own. Among the events E with P(E) = δ, let L_x(δ) be the largest P(E|x). Then

    ε(δ) = log max_x L_x(δ) / δ

bounds how much more likely any answer becomes once an event of probability δ has happened. ε(δ) falls from the
worst-case leakage, as δ goes to 0, to 0 at δ = 1. Whatever is done to the reports afterwards, the envelope of the
result is no higher, because every event of the result is an event of the report.

For one answer the best event takes the reports in the order of their lift until their probabilities add up to δ.
So L_x is concave and piecewise linear, and exact where the probabilities are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Axes
from ..certification.certified import Certified
from ..certification.proof import Lift, log_above
from ..model.mechanism import Mechanism, check_match, check_mechanism
from ..model.prior import Prior, check_prior


@dataclass(frozen=True, eq=False)
class Envelope:
    """L_x of every answer by its corners: after k reports P(E) = report_shares[x, k] and P(E|x) = chances[x, k].

    The corners are doubles, or fractions where the mechanism is given in integers.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> envelope = ex.measures.envelope(prior, mechanism)
    >>> round(envelope(0.1), 3) if callable(envelope) else None
    0.6

    Attributes
    ----------
    report_shares
        P(E) after k reports, for each answer.
    chances
        P(E | answer) after k reports.
    """

    report_shares: NDArray[Any]
    chances: NDArray[Any]

    @classmethod
    def of(cls, probabilities: NDArray[Any], matrix: NDArray[Any]) -> Self:
        """The envelope of a prior (N,) and a mechanism (N, M), in doubles or in fractions (dtype object).

        Parameters
        ----------
        probabilities
            The prior, (N,).
        matrix
            The mechanism, (N, M).
        """
        occurring = matrix.max(axis=0) > 0
        P = matrix[:, occurring]
        Q = P / P.max(axis=0)  # in doubles, probabilities @ P may underflow
        order = np.argsort(-(Q / (probabilities @ Q)), axis=1, kind="stable")
        rho = probabilities @ P
        shares = np.cumsum(rho[order], axis=1)
        chances = np.cumsum(np.take_along_axis(P, order, axis=1), axis=1)
        nothing = np.zeros((len(P), 1), dtype=P.dtype) + 0 * P[:, :1]
        return cls(np.hstack([nothing, shares]), np.hstack([nothing, chances]))

    def factor(self, delta: float | Fraction) -> Any:
        """max_x L_x(δ) / δ: how much more likely an event of probability δ makes an answer, at most.

        A fraction if the corners are.

        Parameters
        ----------
        delta
            The share of all reports, between 0 and 1.
        """
        checks.number(delta, "delta", above=0, most=1, remedy="e.g. 0.01")
        share = Fraction(delta) if self.report_shares.dtype == object else delta
        return max(self._largest(x, share) for x in range(len(self.report_shares))) / share

    def _largest(self, x: int, delta: Any) -> Any:
        """L_x(δ)."""
        shares, chances = self.report_shares[x], self.chances[x]
        k = int(np.searchsorted(shares, delta))  # the first corner at or behind δ
        if k == len(shares):
            return chances[-1]  # rounding: all shares add up to a hair below δ = 1
        if k == 0 or shares[k] == delta:
            return chances[k]
        slope = (chances[k] - chances[k - 1]) / (shares[k] - shares[k - 1])
        return chances[k - 1] + slope * (delta - shares[k - 1])

    def __call__(self, delta: float | Fraction) -> float:
        """ε(δ) in nats; from fractions rounded up, so that it is a bound."""
        factor = self.factor(delta)
        if isinstance(factor, Fraction):
            return log_above(Lift(factor.numerator, factor.denominator, 0))
        return max(math.log(factor), 0.0)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with ε(δ) over the share δ of reports, from one in a thousand to all.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        from .._common.plot import BLUE, given_axes

        axes = given_axes(axes)
        shares = np.geomspace(1e-3, 1, 200)
        axes.plot(shares, [self(float(min(share, 1.0))) for share in shares], color=BLUE)
        axes.set_xscale("log")
        axes.set_xlabel("share of the most telling reports")
        axes.set_ylabel("leakage in nats, at most")
        axes.set_ylim(bottom=0)
        return axes


@one_thread
def envelope(prior: Prior | Certified, mechanism: Mechanism | None = None) -> Envelope:
    """How much the worst share δ of all reports can tell: `envelope(prior, mechanism)(0.01)` for one in a hundred.

    envelope(certified) is exact: its corners are fractions, from the integers that reports are drawn from and the
    prior (of a set of priors, the nominal one) as the certificate reads it.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> envelope = ex.measures.envelope(prior, mechanism)
    >>> round(envelope(0.1), 3) if callable(envelope) else None
    0.6

    Parameters
    ----------
    prior
        How common each answer is; or a certified mechanism alone.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    if isinstance(prior, Certified):
        return Envelope.of(*_exact_tables(prior))
    known, found = check_prior(prior), check_mechanism(mechanism)
    check_match(known, found)
    return Envelope.of(known.probabilities, found.matrix)


def _exact_tables(certified: Certified) -> tuple[NDArray[Any], NDArray[Any]]:
    """Prior and mechanism in fractions: masses (N,), chances (N, M); of blocks, if there are any."""
    masses = [Fraction(p) for p in certified.prior.probabilities.tolist()]
    if certified.grouping is not None:
        order, bounds = certified.grouping.order.tolist(), certified.grouping.starts.tolist()
        masses = [sum((masses[k] for k in order[i:j]), Fraction(0)) for i, j in pairwise(bounds)]
    total = sum(masses)
    rows = [[Fraction(w, 1 << certified.bits) for w in row] for row in certified.weights.tolist()]
    return np.array([p / total for p in masses]), np.array(rows)
