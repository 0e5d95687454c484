"""Which events of probability delta make an answer most likely: the corners of the leakage envelope.

The envelope itself, with its meaning, stands in auditing.envelope.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._common import checks


@dataclass(frozen=True, eq=False)
class Corners:
    """L_x of every answer x: after k reports the event has P(E) = report_shares[x, k], P(E|x) = chances[x, k].

    The corners are doubles, or fractions where the mechanism is given in integers.
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
        check_share(delta)
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


def check_share(delta: Any) -> None:
    """Refuse what is no share of all reports."""
    checks.number(delta, "delta", above=0, most=1, remedy="e.g. 0.01")
