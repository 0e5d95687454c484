"""The problem in coordinates that keep precision: lifts less 1, without the most likely symbol.

A mechanism is a mixture of lift vectors lambda = 1 + x with mean 1, so x has mean 0 and pi . x = 0: the most likely
symbol's x follows from the others'. With C the covariance of the other symbols' x under the output distribution, the
estimated shares have the covariance R C^-1 R' per report, R = E - pi 1', where E drops the most likely symbol. So
tr(A Sigma) = tr(G C^-1) with G = R'AR. Small levels lose no digits: x is of the order of epsilon, not near 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._common.types import Floats
from ..model.purpose import direct_loss, explained, square_root


@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """Masses in decreasing order, the largest lift less 1, and the loss as a factor M of A = M'M.

    `loss` is G, `direct` is tr(A (diag pi - pi pi')): the loss of direct answers. An efficiency is direct / loss.
    """

    pi: Floats
    excess: float
    factor: Floats
    loss: Floats
    direct: float

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.pi)

    @property
    def upper(self) -> Floats:
        """The largest x of each symbol."""
        return np.minimum(self.excess, (1 - self.pi) / self.pi)

    @property
    def lower(self) -> Floats:
        """The smallest x of each symbol."""
        return np.maximum(-1.0, -self.excess * (1 - self.pi) / self.pi)

    @property
    def most_variance(self) -> Floats:
        """No symbol's x, which has mean 0, can have a larger variance."""
        return -self.upper * self.lower

    def reduced(self, weights: Floats) -> Floats:
        """B'WB: the quadratic form x'Wx as one of the x without the most likely symbol's."""
        share = self.pi[1:] / self.pi[0]
        inner = weights[1:, 1:] - np.multiply.outer(share, weights[0, 1:])
        return np.asarray(inner - np.multiply.outer(weights[1:, 0] - weights[0, 0] * share, share))


def make_problem(pi: Floats, epsilon: float, A: Floats) -> QuadraticProblem:
    """The problem for masses in decreasing order and A in the same order."""
    return from_excess(pi, min(math.expm1(min(epsilon, 700.0)), float((1 - pi[-1]) / pi[-1])), A)


def from_excess(pi: Floats, excess: float, A: Floats) -> QuadraticProblem:
    """The problem whose largest lift is 1 + excess."""
    factor = square_root(A)
    moved = factor[:, 1:] - (factor @ pi)[:, None]
    return QuadraticProblem(pi, excess, moved, moved.T @ moved, direct_loss(pi, factor))


def efficiency(problem: QuadraticProblem, X: Floats, q: Floats) -> float:
    """The efficiency of the mixture of the rows of X, lift vectors less 1; 0 if it does not identify what matters."""
    return explained((X[:, 1:].T * q) @ X[:, 1:], problem.factor, problem.direct)
