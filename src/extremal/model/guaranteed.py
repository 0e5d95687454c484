"""Utility that is guaranteed to every answer: the smallest of what the answers get, not their mean under the prior.

For an f-information the answer x gets sum_y P_Y(y) f(lift(x, y)), for mutual information D(P_Y|x || P_Y): how well
reports tell those with this answer from all. For an expected gain it gets sum_y P(y|x) gain[w(y), x], with the
decisions w(y), which may be drawn, under which the smallest is largest. The mean over the prior is the utility
itself, or for a gain no more than it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common.types import Floats
from ..errors import UtilityError
from .leakage import lift
from .mechanism import Mechanism, check_match
from .prior import Prior, check_prior
from .utility import ExpectedGain, FInformation, Utility


@dataclass(frozen=True)
class Guaranteed:
    """The smallest utility of any answer; `per_answer` gives them all.

    Attributes
    ----------
    utility
        An f-information or an expected gain.
    """

    utility: FInformation | ExpectedGain

    @property
    def name(self) -> str:
        """How tables and messages call it."""
        return f"guaranteed {self.utility.name}"

    def __call__(self, prior: Prior, mechanism: Mechanism) -> float:
        """min over answers of what they get."""
        return float(self.per_answer(prior, mechanism).min())

    def per_answer(self, prior: Prior, mechanism: Mechanism) -> Floats:
        """What every answer gets, in the order of the prior.

        Parameters
        ----------
        prior
            How common each answer is.
        mechanism
            The mechanism: a row for each answer, a column for each report.
        """
        check_match(check_prior(prior), mechanism)
        if isinstance(self.utility, FInformation):
            q = mechanism.output_distribution(prior)
            return np.asarray(self.utility.f(lift(prior, mechanism)) @ q[q > 0])
        return _best_decisions(self.utility.gain, mechanism.matrix)

    def columns(self, lifts: Floats) -> Floats:
        """What a report with these lifts adds to every answer, for each decision: (outputs, decisions, N).

        Parameters
        ----------
        lifts
            The lifts of each report, a row each.
        """
        if isinstance(self.utility, FInformation):
            return np.asarray(self.utility.f(lifts))[:, None, :]
        return lifts[:, None, :] * self.utility.gain[None, :, :]

    def weighted(self, prior: Prior, weights: Floats) -> Utility:
        """The mean utility with these weights of the answers, in the place of the prior: never below the smallest.

        Parameters
        ----------
        prior
            How common each answer is.
        weights
            A weight for each answer; they sum to 1.
        """
        pi = prior.probabilities
        if isinstance(self.utility, ExpectedGain):
            return ExpectedGain(self.utility.gain * (weights / pi), f"weighted {self.utility.name}")
        f = self.utility.f

        def mu(prior: Prior, columns: Floats) -> Floats:
            scale = columns.max(axis=0)
            Q = np.divide(columns, scale, out=np.ones_like(columns), where=scale > 0)
            rho = prior.probabilities @ Q
            return np.asarray(scale * rho * (weights @ f(Q / rho)))

        return Utility(mu, f"weighted {self.utility.name}")


def guaranteed(utility: Utility) -> Guaranteed:
    """The utility that a mechanism guarantees to every answer, as something to design for.

    Parameters
    ----------
    utility
        An f-information such as mutual_information, or an ExpectedGain.
    """
    if not isinstance(utility, FInformation | ExpectedGain):
        raise UtilityError(
            "only an f-information or an expected gain says what each answer gets",
            given=repr(utility)[:80],
            remedy="e.g. `guaranteed(ex.mutual_information)`",
        )
    return Guaranteed(utility)


def _best_decisions(gain: Floats, P: Floats) -> Floats:
    """What answers get under the decisions, drawn or not, for which the least of it is largest: a linear program."""
    from scipy.optimize import linprog  # half a second: not at import

    decisions, size = gain.shape
    outputs = P.shape[1]
    if size != len(P):
        raise UtilityError(
            f"must have one column for each of {len(P)} symbols",
            parameter="gain",
            given=size,
            remedy="rows are decisions, transpose it if columns are",
        )
    each = np.einsum("xy,wx->xyw", P, gain).reshape(size, outputs * decisions)
    result: Any = linprog(
        np.append(np.zeros(outputs * decisions), -1.0),
        A_ub=np.hstack([-each, np.ones((size, 1))]),
        b_ub=np.zeros(size),
        A_eq=np.hstack([np.kron(np.eye(outputs), np.ones((1, decisions))), np.zeros((outputs, 1))]),
        b_eq=np.ones(outputs),
        bounds=[*[(0, None)] * (outputs * decisions), (None, None)],
        method="highs",
    )
    policy = np.maximum(result.x[:-1], 0.0).reshape(outputs, decisions)
    policy /= policy.sum(axis=1, keepdims=True)
    return np.asarray(each @ policy.ravel())
