"""What a design is for: shares, or anything linear in them, each with the squared error to keep small.

A purpose gives a positive semidefinite matrix A for a prior. The loss of a mechanism is tr(A Sigma), where Sigma is
the covariance of the estimated shares per report, and its value is the efficiency: the loss of direct answers, which is
tr(A (diag pi - pi pi')), over that of the reports. An efficiency of 0.25 means: ask four times as many people as
without privacy.

`Proof` is what proves a bound: of a utility a dual vector, of an efficiency a `QuadraticProof`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Union

import numpy as np

from .._common.threads import one_thread_of_numpy
from .._common.types import Floats, Ints
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
