"""Purposes beyond shares: the mean of scores, shares of groups, any quadratic loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .._common import checks
from .._common.types import Floats
from ..errors import OptionError
from .prior import Prior, check_prior
from .purpose import Purpose


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
            checks.cover(place, "scores", check_prior(prior).labels)
            s = s[[place[label] for label in prior.labels]]
        checks.length(s, "scores", check_prior(prior).size, "label")
        s = _moderate(s)
        s = _moderate(s - s.min())  # a constant changes no error, and this keeps precision
        s = s - prior.probabilities @ s
        return np.multiply.outer(s, s)


def mean(scores: Mapping[object, float] | Sequence[float]) -> Mean:
    """A purpose for `design`: the most precise mean of scores.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> design = ex.design(prior, 0.6, ex.mean({"never": 0, "once": 1, "often": 5}))
    >>> round(design.value, 3)
    0.217

    Parameters
    ----------
    scores
        A number for each label, or numbers in the order of the prior.

    Returns
    -------
    Purpose
        To be given to `design`.
    """
    labels, values = (tuple(scores), list(scores.values())) if isinstance(scores, Mapping) else (None, scores)
    remedy = "e.g. {'no': 0, 'yes': 1}"
    numbers = tuple(checks.numbers(values, "scores", remedy=remedy).tolist())
    if len(set(numbers)) < 2:
        raise OptionError("must not all be equal", parameter="scores", given=scores, remedy=remedy)
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
        for _, labels in self.members:
            checks.labels(labels, "groups", place)
            g = np.zeros(prior.size)
            g[[place[label] for label in labels]] = 1.0
            A += np.multiply.outer(g, g)
        return A


def groups(members: Mapping[str, Sequence[object]]) -> Groups:
    """A purpose for `design`: the most precise shares of groups of answers. Answers in no group are the rest.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.design(prior, 0.6, ex.groups({"ever": ["once", "often"]})).value, 3)
    0.676

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

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> import numpy as np
    >>> purpose = ex.utilities.Quadratic(np.diag([1.0, 1.0, 4.0]), "often counts more")
    >>> round(ex.design(prior, 0.6, purpose).value, 3)
    0.238

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
        A = checks.matrix(matrix, "matrix", square=True)
        A.flags.writeable = False
        object.__setattr__(self, "matrix", A)
        object.__setattr__(self, "title", title)

    @property
    def name(self) -> str:
        return self.title

    def loss(self, prior: Prior) -> Floats:
        checks.length(self.matrix, "matrix", check_prior(prior).size, "label")
        return _moderate(self.matrix)


def _moderate(values: Floats) -> Floats:
    """The values in another unit if squares of them would be no doubles; an efficiency has no unit."""
    most = float(np.abs(values).max())
    return values / most if most > 0 and not 1e-50 < most < 1e50 else values
