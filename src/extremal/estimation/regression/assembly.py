"""Rows, reports and columns of a regression, ready for the likelihood; equal rows are one, with their weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from ..._common.types import Floats, Ints
from .columns import equal_rows
from .families import Discrete, Family, Gaussian
from .likelihood import Channel, Problem
from .structure import Parameter, coordinates, factor, structure


@dataclass(frozen=True, eq=False)
class Assembly:
    """Everything that decides a fit: the model, the designs for each combination k, the reports, the weights.

    `names` are those of the columns of the designs; a column without a name has no coefficient of its own.
    `squares` are sums of squared weights, where equal rows were made one.
    """

    family: Family
    answers: tuple[Any, ...]
    names: tuple[str, ...]
    terms: Mapping[str, Sequence[int]]
    designs: tuple[Floats, ...]
    channels: tuple[Channel, ...]
    weights: Floats
    squares: Floats
    clusters: Ints | None
    outcome: Floats | None
    configurations: tuple[tuple[Any, ...], ...]  # labels of the private predictors
    covariates: Floats | None
    covariate_names: tuple[str, ...]
    log_shares: Floats | None
    corrections: tuple[Floats, ...] | None = None  # for each channel, what takes the place of its table
    corrected: bool = False
    empty: frozenset[int] = frozenset()  # answers of an ordinal model that have share 0

    def grouped(self) -> Assembly:
        """The same with equal rows as one."""
        arrays = [*self.designs, *(channel.codes for channel in self.channels)]
        extra = (self.covariates, self.outcome, self.clusters)
        arrays += [a for a in extra if a is not None]
        found = equal_rows(arrays)
        if found is None:
            return self
        first, group = found
        return replace(
            self,
            designs=tuple(X[first] for X in self.designs),
            channels=tuple(Channel(c.codes[first], c.table) for c in self.channels),
            weights=np.bincount(group, self.weights).astype(np.float64),
            squares=np.bincount(group, self.squares).astype(np.float64),
            clusters=None if self.clusters is None else self.clusters[first],
            outcome=None if self.outcome is None else self.outcome[first],
            covariates=None if self.covariates is None else self.covariates[first],
        )

    def without(self, term: str) -> Assembly:
        """The nested model that leaves a term out; the model of private predictors stays as it is."""
        gone = set(self.terms[term])
        kept = [k for k in range(len(self.names)) if k not in gone]
        places = {k: place for place, k in enumerate(kept)}
        terms = {name: [places[k] for k in where] for name, where in self.terms.items() if name != term}
        return replace(
            self,
            names=tuple(self.names[k] for k in kept),
            terms=terms,
            designs=tuple(np.ascontiguousarray(X[:, kept]) for X in self.designs),
        )

    def problem(self) -> Prepared:
        """The likelihood in coordinates that suit Newton's method."""
        assembly = _with_constant(self) if isinstance(self.family, Gaussian) else self
        R = factor(assembly.designs, assembly.names)
        ones = _constant(assembly.designs, R)
        made = structure(assembly.family, assembly.names, assembly.answers, ones, assembly.empty)
        at = coordinates(assembly.designs, R, made.contrast @ made.merged)
        back, covariates = made.merged @ at.back, None
        parameters = made.parameters
        if assembly.covariates is not None:
            S = factor([assembly.covariates], assembly.covariate_names)
            inverse = scipy.linalg.solve_triangular(S, np.eye(len(S)))
            covariates = np.ascontiguousarray((assembly.covariates @ inverse).T)
            others = len(assembly.configurations) - 1
            back = scipy.linalg.block_diag(back, np.kron(np.eye(others), inverse))
            parameters += tuple(
                Parameter("private", _single(labels), name)
                for labels in assembly.configurations[1:]
                for name in assembly.covariate_names
            )
        channels = assembly.channels
        if assembly.corrected and assembly.corrections is not None:
            tables = zip(channels, assembly.corrections, strict=True)
            channels = tuple(Channel(c.codes, table) for c, table in tables)
        problem = Problem(
            assembly.family,
            at.designs,
            at.contrast,
            channels,
            assembly.weights,
            assembly.outcome,
            covariates,
            assembly.log_shares,
            assembly.corrected,
        )
        return Prepared(problem, back, parameters, made.contrast, assembly)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())


@dataclass(frozen=True, eq=False)
class Prepared:
    """A likelihood in orthonormal coordinates; coefficients = back @ coordinates, vec(B) = contrast @ those of B."""

    problem: Problem
    back: Floats
    parameters: tuple[Parameter, ...]
    contrast: Floats
    assembly: Assembly


def _single(labels: tuple[Any, ...]) -> Any:
    return labels[0] if len(labels) == 1 else labels


def _with_constant(assembly: Assembly) -> Assembly:
    """The same with a column of ones that has no name, unless the columns make a constant already."""
    R = factor(assembly.designs, assembly.names)
    ones = _constant(assembly.designs, R)
    if all(np.abs(X @ ones - 1).max(initial=0.0) < 1e-6 for X in assembly.designs):
        return assembly
    wider = tuple(np.hstack([X, np.ones((len(X), 1))]) for X in assembly.designs)
    return replace(assembly, designs=wider, names=(*assembly.names, ""))


def _constant(designs: Sequence[Floats], R: Floats) -> Floats:
    """The coefficients with which the columns come closest to 1 in every row."""
    rows = sum(len(X) for X in designs)
    sums = sum((X.sum(axis=0) for X in designs), np.zeros(len(R))) / rows
    inner = scipy.linalg.solve_triangular(R, sums, trans="T")
    return np.asarray(scipy.linalg.solve_triangular(R, inner))


def typical(assembly: Assembly) -> Floats:
    """The shares of the answers, whatever the covariates, or mean and standard deviation of a number."""
    weights = assembly.weights
    if not isinstance(assembly.family, Discrete):
        y = assembly.outcome
        assert y is not None
        mean = float(weights @ y / weights.sum())
        spread = float(np.sqrt(weights @ (y - mean) ** 2 / weights.sum()))
        return np.array([mean, max(spread, 1e-8 * abs(mean), 1e-300)])
    channel = next(c for c in assembly.channels if c.table.shape[0] > 1)
    joint = shares_of(channel, weights)
    shares = joint.sum(axis=1)
    return np.asarray(0.95 * shares + 0.05 / len(shares))


def shares_of(channel: Channel, weights: Floats, rounds: int = 200) -> Floats:
    """Shares (J, K) of the combinations from reports alone, near the most likely ones, by EM from equal shares."""
    J, K, M = channel.table.shape
    P = channel.table.reshape(-1, M)
    counts = np.bincount(channel.codes, weights, minlength=M)
    theta = np.full(len(P), 1 / len(P))
    for _ in range(rounds):
        q = theta @ P
        ratio = np.divide(counts, q, out=np.zeros(M), where=q > 0)
        theta = theta * (P @ ratio) / counts.sum()
    return theta.reshape(J, K)
