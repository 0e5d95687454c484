"""What a design is for: shares, or anything linear in them, each with the squared error to keep small.

A purpose gives a positive semidefinite matrix A for a prior. The loss of a mechanism is tr(A Sigma), where Sigma is
the covariance of the estimated shares per report, and its value is the efficiency: the loss of direct answers, which is
tr(A (diag pi - pi pi')), over that of the reports. An efficiency of 0.25 means: ask four times as many people as
without privacy.

And what proves a bound: of an efficiency, or of a utility.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

import numpy as np
from numpy.typing import ArrayLike

from .._common import checks
from .._common.threads import one_thread_of_numpy
from .._common.types import Floats, Ints
from ..errors import OptionError
from .mechanism import Mechanism, check_match
from .prior import Prior, check_prior


@dataclass(frozen=True)
class Purpose(ABC):
    """Something linear in the shares that is to be estimated; `loss` gives its matrix A for a prior.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> isinstance(ex.shares, ex.utilities.Purpose)
    True
    """

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
    """A purpose for `design`: the most precise shares, by the sum of squared errors or of squared relative errors.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> identity = ex.Mechanism([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> round(ex.shares(ex.Prior([0.5, 0.3, 0.2]), identity), 6)  # the answers themselves
    1.0
    >>> round(ex.design(prior, 0.6, ex.shares).value, 3)
    0.274
    """

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
            checks.cover(place, "scores", check_prior(prior).labels)
            s = s[[place[label] for label in prior.labels]]
        checks.length(s, "scores", check_prior(prior).size, "label")
        s = _moderate(s)
        s = _moderate(s - s.min())  # a constant changes no error, and this keeps precision
        s = s - prior.probabilities @ s
        return np.asarray(np.multiply.outer(s, s))


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


def square_root(A: Floats) -> Floats:
    """M with A = M'M; exact where A is diagonal."""
    diagonal = np.diagonal(A)
    if np.count_nonzero(A - np.diag(diagonal)) == 0:
        return np.diag(np.sqrt(diagonal))
    values, vectors = np.linalg.eigh(A)
    kept = values > len(A) * 1e-15 * values[-1]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)


def direct_loss(pi: Floats, factor: Floats) -> float:
    """tr(A (diag pi - pi pi')), A = M'M with M the factor."""
    spread = factor - (factor @ pi)[:, None]
    return float(np.sum(spread * spread * pi))


@one_thread_of_numpy
def efficiency_of_rows(pi: Floats, P: Floats, A: Floats) -> float:
    """The efficiency of a mechanism's rows P, the most likely symbol first.

    Rows are compared with the first one, which loses no digits: a lift less 1 does where one symbol is nearly certain.
    """
    factor = square_root(A)
    Z = (P[1:] - P[0]) / np.sqrt(pi @ P)
    return explained(Z @ Z.T, factor[:, 1:] - factor[:, :1], direct_loss(pi, factor))


def explained(C: Floats, factor: Floats, direct: float) -> float:
    """direct / tr(M C^-1 M'), M the factor; 0 if that needs what C does not tell."""
    own = np.diagonal(C)
    scale = 1 / np.sqrt(np.where(own > 0, own, 1.0))
    values, vectors = np.linalg.eigh(C * np.multiply.outer(scale, scale))
    squares = np.sum(((factor * scale) @ vectors) ** 2, axis=0)
    known = values > (len(C) + 1) * 1e-14
    if float(squares[~known].sum()) > 1e-12 * float(squares.sum()):
        return 0.0
    return direct / float(np.sum(squares[known] / values[known]))


Proof = Union[Floats, "QuadraticProof"]  # of a utility, the dual vector; of an efficiency, weights


@dataclass(frozen=True, eq=False)
class QuadraticProof:
    """W, as a vector where it is diagonal, and prices y where the proof is over all lift vectors.

    Without prices every variance and covariance is at its limit. With `groups` the proof is for the symbols merged into
    these groups, which the purpose does not tell apart; W and y are then over the groups.

    `over_set`: the lift vectors are those that are admissible for every prior of the set, else those for the nominal
    one. Without prices the symbols are all alike. With `cells` the proof needs no list of vectors: they are trees of
    cells whose leaves cover all vectors, one for each form that the constraint of the set can have. A row is (split,
    first, rho, theta, mode, bound, v). A cell is a range of the largest lift t, one of the middle lift in parts of t,
    and the levels that symbols may have. Split 0 halves the first range, 1 the second; 2 + 3 i + level gives symbol i
    this level (0, 1 for the middle, 2 for t) in one half and not in the other; -1 is a leaf. The halves are the rows
    `first` and `first` + 1. `low` is the part of -W that counts on products with a lower level; aa' with a = `away`,
    of a few columns, is another part; v has a number for each of these. See optimization/oracles/levels/bound.py.
    """

    weights: Floats
    prices: Floats | None = None
    groups: Ints | None = None
    over_set: bool = False
    low: Floats | None = None
    away: Floats | None = None
    cells: Floats | None = None

    def with_symbols(self, order: Ints) -> QuadraticProof:
        """With cells that are split by symbol order[i] where it was i; all else is as it is."""
        if self.cells is None:
            return self
        cells = self.cells.copy()
        symbols = np.flatnonzero(cells[:, 0] >= 2)
        which, level = np.divmod(cells[symbols, 0].astype(np.int64) - 2, 3)
        cells[symbols, 0] = 2 + 3 * order[which] + level
        return replace(self, cells=cells)


class AnyDesign:
    """What `design` returns: by this type it is known to those who must not know how it is found."""
