"""What a design is for: shares, or anything linear in them, each with the squared error to keep small.

A purpose gives a positive semidefinite matrix A for a prior. The loss of a mechanism is tr(A Sigma), where Sigma is
the covariance of the estimated shares per report, and its value is the efficiency: the loss of direct answers over
that of the reports. An efficiency of 0.25 means: ask four times as many people as without privacy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .._common.types import Floats
from ..errors import OptionError
from .efficiency import efficiency_of_rows
from .mechanism import Mechanism, check_match
from .prior import Prior, check_prior


@dataclass(frozen=True)
class Purpose(ABC):
    """Something linear in the shares that is to be estimated; `loss` gives its matrix A for a prior."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How tables and messages call it."""

    @abstractmethod
    def loss(self, prior: Prior) -> Floats:
        """A, in the order of the prior's symbols.

        Parameters
        ----------
        prior
            How common each answer is.
        """

    def __call__(self, prior: Prior, mechanism: Mechanism) -> float:
        """The efficiency of a mechanism: 1 without privacy, 0 if the reports do not identify what is estimated."""
        check_match(check_prior(prior), mechanism)
        P = mechanism.matrix[:, mechanism.matrix.max(axis=0) > 0]
        order = np.argsort(-prior.probabilities, kind="stable")
        A = self.loss(prior)[np.ix_(order, order)]
        return min(1.0, efficiency_of_rows(prior.probabilities[order], P[order], A))


@dataclass(frozen=True)
class Shares(Purpose):
    """A purpose for `design`: the most precise shares, by the sum of squared errors or of squared relative errors."""

    in_proportion: bool = False

    @property
    def name(self) -> str:
        return "relative errors of shares" if self.in_proportion else "shares"

    @property
    def relative(self) -> Shares:
        """The same with every error relative to its share, so that rare symbols count as much as common ones."""
        return Shares(in_proportion=True)

    def loss(self, prior: Prior) -> Floats:
        pi = check_prior(prior).probabilities
        return np.diag(pi**-2.0) if self.in_proportion else np.eye(prior.size)


shares = Shares()


@dataclass(frozen=True)
class Mean(Purpose):
    """The mean of scores: one for each symbol, in the prior's order unless they come with labels."""

    scores: tuple[float, ...]
    labels: tuple[object, ...] | None = None

    @property
    def name(self) -> str:
        return "mean of scores"

    def loss(self, prior: Prior) -> Floats:
        s = np.array(self.scores)
        if self.labels is not None:
            place = {label: i for i, label in enumerate(self.labels)}
            missing = [label for label in check_prior(prior).labels if label not in place]
            if missing:
                raise OptionError(
                    "must cover every label",
                    parameter="scores",
                    given=f"none for {missing[0]!r}",
                    remedy="add it",
                )
            s = s[[place[label] for label in prior.labels]]
        if len(s) != check_prior(prior).size:
            raise OptionError(
                f"must be as many as labels, {prior.size}",
                parameter="scores",
                given=len(s),
                remedy="give one for each",
            )
        s = s - s.min()  # a constant changes no error, and this keeps precision
        s = s - prior.probabilities @ s
        return np.asarray(np.multiply.outer(s, s))


def mean(scores: Mapping[object, float] | Sequence[float]) -> Mean:
    """A purpose for `design`: the most precise mean of scores.

    Parameters
    ----------
    scores
        A number for each label, or numbers in the order of the prior.

    Returns
    -------
    Purpose
        To be given to `design`.
    """
    labels = tuple(scores) if isinstance(scores, Mapping) else None
    try:
        numbers = tuple(float(s) for s in (scores.values() if isinstance(scores, Mapping) else scores))
    except (TypeError, ValueError):
        numbers = ()
    if not np.isfinite(numbers).all() or len(set(numbers)) < 2:
        raise OptionError(
            "must be finite numbers and not all equal",
            parameter="scores",
            given=scores,
            remedy="e.g. {'no': 0, 'yes': 1}",
        )
    return Mean(numbers, labels)


@dataclass(frozen=True)
class Groups(Purpose):
    """The shares of groups of symbols: the sum of their squared errors."""

    members: tuple[tuple[str, tuple[object, ...]], ...]

    @property
    def name(self) -> str:
        return "shares of groups"

    def loss(self, prior: Prior) -> Floats:
        place = {label: i for i, label in enumerate(check_prior(prior).labels)}
        A = np.zeros((prior.size, prior.size))
        for name, labels in self.members:
            unknown = [label for label in labels if label not in place]
            if unknown:
                raise OptionError(
                    "must hold labels of the prior",
                    parameter="groups",
                    given=f"{unknown[0]!r} in {name!r}",
                    remedy="remove it",
                )
            g = np.zeros(prior.size)
            g[[place[label] for label in labels]] = 1.0
            A += np.multiply.outer(g, g)
        return A


def groups(members: Mapping[str, Sequence[object]]) -> Groups:
    """A purpose for `design`: the most precise shares of groups of answers. Answers in no group are the rest.

    Parameters
    ----------
    members
        The labels of each group.

    Returns
    -------
    Purpose
        To be given to `design`.
    """
    try:
        found = {str(k): () if isinstance(v, str) else tuple(v) for k, v in members.items()}
    except (AttributeError, TypeError):
        found = {}
    if not found or not all(found.values()):
        raise OptionError(
            "must name at least one group, each with a list of labels",
            parameter="groups",
            given=members,
            remedy="e.g. {'left': ['a', 'b']}",
        )
    return Groups(tuple(found.items()))


@dataclass(frozen=True, eq=False)
class Quadratic(Purpose):
    """Any positive semidefinite A: the expected value of error' A error is to be small.

    Parameters
    ----------
    matrix
        A, positive semidefinite.
    title
        What it is called in tables.
    """

    matrix: Floats = field(repr=False)
    title: str = "quadratic loss"

    def __init__(self, matrix: ArrayLike, title: str = "quadratic loss") -> None:
        A = np.array(matrix, dtype=np.float64)
        if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.isfinite(A).all():
            raise OptionError(
                "the matrix of a quadratic loss must be square and finite",
                given=f"shape {A.shape}",
            )
        A.flags.writeable = False
        object.__setattr__(self, "matrix", A)
        object.__setattr__(self, "title", title)

    @property
    def name(self) -> str:
        return self.title

    def loss(self, prior: Prior) -> Floats:
        if self.matrix.shape[0] != check_prior(prior).size:
            raise OptionError(
                f"the matrix of a quadratic loss must fit the prior's {prior.size} labels",
                given=f"{self.matrix.shape[0]} rows",
            )
        return self.matrix
