"""The likelihood of reports and its derivatives, in blocks of rows.

A row i has the likelihood L_i = Σ_k a_ik w_ik g_ik: k runs over the combinations of private predictors, a_ik is the
probability of their reports, w_ik = P(k | z_i) and g_ik the likelihood of the outcome with the design row x_ik. Without
private predictors there is a single k, with a = w = 1. With r the weights of the k given the row, the derivatives are

    ∂ log L = Σ_k r_k s_k,    ∂² log L = Σ_k r_k (s_k s_kᵀ + S_k) - (Σ_k r_k s_k)(Σ_k r_k s_k)ᵀ

where s_k and S_k are those of log(w_k g_k). Arrays have one column for each row of the data, as in module families.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._common.types import Floats, Ints
from .families import Discrete, Family, Row, pairs

BLOCK = 1 << 19  # doubles of the largest array of a block: it stays in the processor's cache
FEW = 24  # columns of a design up to which their products are made at once


class Derivatives(NamedTuple):
    """The log-likelihood, its gradient and its Hessian."""

    value: float
    gradient: Floats
    hessian: Floats


class Parts(NamedTuple):
    """What the rows of a block say: the outcome's likelihood for each k, log L (n), the weights r and w (K, n)."""

    outcomes: list[Row]
    log_likelihood: Floats
    given: Floats
    prior: Floats


@dataclass(frozen=True, eq=False)
class Emissions:
    """Reports of private columns drawn together: P(report | answer j, predictors k)."""

    codes: Ints  # the report of each row
    table: Floats  # (J, K, outputs): of the outcome; J = 1 if it is not among these columns, K = 1 if they are not


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Rows, their reports and the model: a function of the coefficients.

    `designs` holds one matrix (p, n) for each k. The linear predictors are η = B x with B (D, p) and
    vec(B) = contrast @ coefficients, row by row. `outcome` is the number in the clear, if the outcome is one.
    """

    family: Family
    designs: tuple[Floats, ...]
    contrast: Floats  # (D p, q)
    channels: tuple[Emissions, ...]
    weights: Floats
    outcome: Floats | None
    covariates: Floats  # (c, n): of P(k | z); none where it is fixed
    log_shares: Floats | None  # (K,): P(k), where it is fixed
    corrected: bool = False  # tables of predictors hold corrections, and log L is Σ_k a_k log g_k

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return int(self.contrast.shape[1]) + self.share_size

    @property
    def share_size(self) -> int:
        """The number of coefficients of P(k | z)."""
        return (len(self.designs) - 1) * len(self.covariates)

    @cached_property
    def block(self) -> int:
        """Rows in a block."""
        D, p, K = self.family.predictors, len(self.designs[0]), len(self.designs)
        pairs_of_columns = p * (p + 1) // 2 if p <= FEW else p
        width = max(pairs_of_columns, D * (D + 1) // 2, K * (D + 1), D * p if K > 1 else 1, self.share_size)
        return int(max(256, BLOCK // width))

    def blocks(self) -> Iterator[slice]:
        """The rows, some at a time."""
        n = len(self.weights)
        return (slice(k, min(k + self.block, n)) for k in range(0, n, self.block))

    def coefficients(self, theta: Floats) -> tuple[Floats, Floats]:
        """B (D, p), and the coefficients of P(k | z) (K - 1, c)."""
        q = self.contrast.shape[1]
        B = (self.contrast @ theta[:q]).reshape(self.family.predictors, -1)
        return B, theta[q:].reshape(len(self.designs) - 1, len(self.covariates))

    def seen(self, rows: slice) -> tuple[list[Floats], Floats]:
        """What the outcome's likelihood sees for each k, and the probabilities a (K, n) of the other reports."""
        K = len(self.designs)
        a = np.ones((K, len(self.weights[rows])))
        found: list[Floats] = []
        for channel in self.channels:
            J, own, _ = channel.table.shape
            codes = channel.codes[rows]
            if J == 1:
                a *= channel.table[0].take(codes, axis=1)
            else:
                found = [channel.table[:, k].take(codes, axis=1) for k in range(own)]
        if isinstance(self.family, Discrete):
            return found * K if len(found) == 1 else found, a
        assert self.outcome is not None
        return [self.outcome[rows]] * K, a

    def log_priors(self, rows: slice, gamma: Floats) -> Floats:
        """log P(k | z) for every row, (K, n) or (K, 1)."""
        if self.log_shares is not None:
            return self.log_shares[:, None]
        zeta = np.zeros((len(self.designs), len(self.weights[rows])))
        zeta[1:] = gamma @ self.covariates[:, rows]
        zeta -= zeta.max(axis=0)
        return np.asarray(zeta - np.log(np.exp(zeta).sum(axis=0)))

    def parts(self, rows: slice, B: Floats, gamma: Floats) -> Parts:
        """What some rows say at some coefficients."""
        seen, a = self.seen(rows)
        with np.errstate(all="ignore"):
            found = [self.family.rows(B @ X[:, rows], one) for X, one in zip(self.designs, seen, strict=True)]
            if len(found) == 1:
                one = np.ones((1, 1))
                return Parts(found, found[0].value, one, one)
            if self.corrected:
                return Parts(found, sum((a[k] * row.value for k, row in enumerate(found)), 0.0 * a[0]), a, a)
            prior = self.log_priors(rows, gamma)
            log_h = np.stack([row.value for row in found]) + np.log(a) + prior
            top = log_h.max(axis=0)
            r = np.exp(log_h - top)
            total = r.sum(axis=0)
            return Parts(found, top + np.log(total), r / total, np.exp(prior))

    def value(self, theta: Floats) -> float:
        """The log-likelihood; -inf where the reports are impossible."""
        B, gamma = self.coefficients(theta)
        total = 0.0
        for rows in self.blocks():
            total += float(self.weights[rows] @ self.parts(rows, B, gamma).log_likelihood)
        return total if np.isfinite(total) else -np.inf

    def derivatives(self, theta: Floats) -> Derivatives:
        """The log-likelihood and its derivatives."""
        B, gamma = self.coefficients(theta)
        value, sums = 0.0, _DerivativeSums.empty(self)
        for rows in self.blocks():
            parts = self.parts(rows, B, gamma)
            value += float(self.weights[rows] @ parts.log_likelihood)
            if not np.isfinite(value):
                return Derivatives(-np.inf, np.zeros(self.size), np.zeros((self.size, self.size)))
            sums.add(self, rows, parts)
        return Derivatives(value, *sums.finish(self))

    def scores(self, theta: Floats) -> Iterator[tuple[slice, Floats]]:
        """The gradient of log L of every row (coefficients, n), block by block, without weights."""
        B, gamma = self.coefficients(theta)
        for rows in self.blocks():
            parts = self.parts(rows, B, gamma)
            own = self.contrast.T @ row_scores(self, rows, parts)
            v = (parts.given - parts.prior)[1:]
            yield rows, np.vstack([own, outer(v, self.covariates[:, rows])])


def outer(one: Floats, other: Floats) -> Floats:
    """The products of all rows of two matrices: (d, n) and (p, n) give (d p, n)."""
    return (one[:, None] * other[None]).reshape(-1, other.shape[1])


def row_scores(likelihood: Likelihood, rows: slice, parts: Parts) -> Floats:
    """The gradient of log L of every row in vec(B), (D p, n)."""
    total = outer(parts.outcomes[0].gradient * parts.given[0], likelihood.designs[0][:, rows])
    for k in range(1, len(parts.outcomes)):
        total += outer(parts.outcomes[k].gradient * parts.given[k], likelihood.designs[k][:, rows])
    return total


def weighted_products(weights: Floats, X: Floats) -> Floats:
    """Σ_i weights[k, i] x_i x_iᵀ for every k, (len(weights), p, p)."""
    p = len(X)
    if p > FEW:
        return np.stack([(w * X) @ X.T for w in weights])
    first, second = pairs(p)
    packed = weights @ (X[first] * X[second]).T
    found = np.empty((len(weights), p, p))
    found[:, first, second] = packed
    found[:, second, first] = packed
    return found


@dataclass
class _DerivativeSums:
    """Gradient and Hessian as they grow, block by block, in vec(B) and the coefficients of P(k | z)."""

    gradient: Floats  # (D, p)
    packed: Floats  # (pairs, p, p): Σ x xᵀ times the packed Hessian of the predictors
    products: Floats  # (D p, D p): Σ of the rows' gradients times themselves, with several k
    share_gradient: Floats  # (K - 1, c)
    share_packed: Floats  # (pairs, c, c)
    cross: Floats  # (D p, (K - 1) c)

    @classmethod
    def empty(cls, likelihood: Likelihood) -> _DerivativeSums:
        D, p, c = likelihood.family.predictors, len(likelihood.designs[0]), len(likelihood.covariates)
        shared = len(likelihood.designs) - 1
        return cls(
            np.zeros((D, p)),
            np.zeros((D * (D + 1) // 2, p, p)),
            np.zeros((D * p, D * p)),
            np.zeros((shared, c)),
            np.zeros((shared * (shared + 1) // 2, c, c)),
            np.zeros((D * p, shared * c)),
        )

    def add(self, likelihood: Likelihood, rows: slice, parts: Parts) -> None:
        weights = likelihood.weights[rows]
        if len(parts.outcomes) == 1:
            X, row = likelihood.designs[0][:, rows], parts.outcomes[0]
            self.gradient += (weights * row.gradient) @ X.T
            self.packed += weighted_products(weights * row.hessian, X)
            return
        first, second = pairs(likelihood.family.predictors)
        for k, row in enumerate(parts.outcomes):
            X, share, u = likelihood.designs[k][:, rows], weights * parts.given[k], row.gradient
            self.gradient += (share * u) @ X.T
            bend = row.hessian if likelihood.corrected else row.hessian + u[first] * u[second]
            self.packed += weighted_products(share * bend, X)
        if likelihood.corrected:
            return
        G = row_scores(likelihood, rows, parts)
        self.products += (weights * G) @ G.T
        if likelihood.share_size:
            self._add_shares(likelihood, rows, parts, G)

    def _add_shares(self, likelihood: Likelihood, rows: slice, parts: Parts, G: Floats) -> None:
        weights, Z = likelihood.weights[rows], likelihood.covariates[:, rows]
        rho, prior = parts.given[1:], np.broadcast_to(parts.prior, parts.given.shape)[1:]
        v = rho - prior
        self.share_gradient += (weights * v) @ Z.T
        first, second = pairs(len(v))
        curvature = prior[first] * prior[second] - rho[first] * rho[second]
        curvature[first == second] += v
        self.share_packed += weighted_products(weights * curvature, Z)
        c = len(Z)
        for k in range(1, len(parts.outcomes)):
            mixed = outer(parts.outcomes[k].gradient, likelihood.designs[k][:, rows]) - G
            self.cross[:, (k - 1) * c : k * c] += (weights * parts.given[k] * mixed) @ Z.T

    def finish(self, likelihood: Likelihood) -> tuple[Floats, Floats]:
        C = likelihood.contrast
        H = C.T @ (unpacked(self.packed) - self.products) @ C
        cross = C.T @ self.cross
        H = np.block([[H, cross], [cross.T, unpacked(self.share_packed)]])
        return np.concatenate([C.T @ self.gradient.ravel(), self.share_gradient.ravel()]), (H + H.T) / 2


def unpacked(packed: Floats) -> Floats:
    """The symmetric matrix (D p, D p) whose blocks (d, e) and (e, d) are the packed matrices (p, p)."""
    count, p = len(packed), packed.shape[1]
    D = int((np.sqrt(8 * count + 1) - 1) / 2)
    whole = np.zeros((D, p, D, p))
    for one, d, e in zip(packed, *pairs(D), strict=True):
        whole[d, :, e, :] = one
        whole[e, :, d, :] = one.T
    return whole.reshape(D * p, D * p)
