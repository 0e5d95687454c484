"""Rows, reports and columns of a regression, ready for the likelihood; equal rows are one, with their weight.

How coefficients enter the linear predictors: vec(B) = C θ, the identity for most models; an ordinal model has one slope
for all thresholds, a Gaussian one a constant log standard deviation. Newton's method is at ease in other coordinates:
columns of the design are made orthonormal (X = X̃ R), and so are those of (I ⊗ R) C, so that a coordinate of 1 moves
the linear predictors by about 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg

from ..._common.types import Floats, Ints
from ..._common.words import brief
from ...errors import RegressionError
from .families import Discrete, Family, Gaussian, Ordinal
from .likelihood import Emissions, Likelihood

COLLINEAR = 1e-9  # of a column of length 1: what is left of it beside the others
ROWS = 1 << 14  # of a block of the factorisation
ROUNDS = 200  # of EM


@dataclass(frozen=True, eq=False)
class Parameter:
    """A coefficient: what it is of (an answer, a threshold, a private column), and its column of the design."""

    part: str
    answer: Any
    column: str

    def __str__(self) -> str:
        return self.column if self.answer is None else f"{self.column} ({_brief(self.answer)})"


def _brief(label: Any) -> str:
    """A label in a name."""
    return label if isinstance(label, str) and len(label) <= 30 else brief(label)


@dataclass(frozen=True, eq=False)
class Structure:
    """The matrix C (D p, q) and the names of its columns.

    `merged` (q, fewer) makes coefficients of those that are free: thresholds that coincide are one.
    """

    contrast: Floats
    parameters: tuple[Parameter, ...]
    merged: Floats


def structure(
    family: Family, names: Sequence[str], answers: Sequence[Any], ones: Floats, empty: frozenset[int]
) -> Structure:
    """The coefficients of a model with these columns of the design; `ones` makes a constant of them: X ones = 1.

    `empty` are answers of an ordinal model that have share 0, so that the thresholds beside them coincide.
    """
    p, D = len(names), family.predictors
    if isinstance(family, Gaussian):
        used = [k for k, name in enumerate(names) if name]
        C = np.zeros((2 * p, len(used) + 1))
        C[used, range(len(used))] = 1.0
        C[p:, -1] = ones
        coefficients = (Parameter("", None, names[k]) for k in used)
        parameters = (*coefficients, Parameter("scale", None, "log standard deviation"))
    elif isinstance(family, Ordinal):
        slopes = [k for k in range(p) if names[k] != "Intercept"]
        constant = names.index("Intercept")
        C = np.zeros((D * p, len(slopes) + D))
        for d in range(D):
            C[[d * p + k for k in slopes], range(len(slopes))] = -1.0
            C[d * p + constant, len(slopes) + d] = 1.0
        edges = [f"{_brief(a)} | {_brief(b)}" for a, b in pairwise(answers)]
        parameters = (
            *(Parameter("", None, names[k]) for k in slopes),
            *(Parameter("threshold", None, edge) for edge in edges),
        )
        group = np.cumsum([0, *(d not in empty for d in range(1, D))])
        merged = np.zeros((D, int(group[-1]) + 1))
        merged[range(D), group] = 1.0
        return Structure(C, parameters, scipy.linalg.block_diag(np.eye(len(slopes)), merged))
    else:
        of = answers[1:] if isinstance(family, Discrete) else [None]
        C, parameters = np.eye(D * p), tuple(Parameter("", a, name) for a in of for name in names)
    return Structure(C, parameters, np.eye(len(parameters)))


def factor(designs: Sequence[Floats], names: Sequence[str]) -> Floats:
    """R, upper triangular, such that the columns of all designs together times R⁻¹ are orthonormal on average.

    Collinear columns are refused by name.
    """
    p = designs[0].shape[1]
    R = np.zeros((0, p))
    for X in designs:
        for k in range(0, len(X), ROWS):
            R = np.asarray(np.linalg.qr(np.vstack([R, X[k : k + ROWS]]), mode="r"))
    if len(R) < p:
        R = np.vstack([R, np.zeros((p - len(R), p))])
    lengths = np.sqrt((R * R).sum(axis=0))
    if (lengths == 0).any():
        name = names[int(np.argmin(lengths))]
        raise RegressionError(
            f"the column {name} is 0 in every row: it is a level or a combination that nobody has",
            remedy="drop the term, or merge levels",
        )
    _, small, order = scipy.linalg.qr(R / lengths, pivoting=True, mode="economic")
    rank = int((np.abs(np.diag(small)) > COLLINEAR).sum())
    if rank < p:
        raise _collinear(small, order, rank, lengths, names)
    return np.asarray(R / np.sqrt(sum(len(X) for X in designs)))


def _collinear(
    small: Floats, order: Any, rank: int, lengths: Floats, names: Sequence[str]
) -> RegressionError:
    combination = scipy.linalg.solve_triangular(small[:rank, :rank], small[:rank, rank])
    others = [names[order[k]] or "a constant" for k in np.flatnonzero(np.abs(combination) > 1e-6)]
    shown = ", ".join(others[:6]) + (f" and {len(others) - 6} more" if len(others) > 6 else "")
    return RegressionError(
        f"columns are collinear: {names[order[rank]] or 'a constant'} is a combination of {shown}",
        remedy="drop one of them",
    )


def _inverse(R: Floats) -> Floats:
    """Of an upper triangular matrix."""
    return scipy.linalg.solve_triangular(R, np.eye(len(R)))


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
    channels: tuple[Emissions, ...]
    weights: Floats
    squares: Floats
    clusters: Ints | None
    outcome: Floats | None
    configurations: tuple[tuple[Any, ...], ...]  # labels of the private predictors
    covariates: Floats  # none where the shares of private predictors are fixed
    covariate_names: tuple[str, ...]
    log_shares: Floats | None
    corrections: tuple[Floats, ...] | None = None  # for each channel, what takes the place of its table
    corrected: bool = False
    empty: frozenset[int] = frozenset()  # answers of an ordinal model that have share 0

    def grouped(self) -> Assembly:
        """The same with equal rows as one."""
        arrays = [*self.designs, *(channel.codes for channel in self.channels), self.covariates]
        arrays += [a for a in (self.outcome, self.clusters) if a is not None]
        found = equal_rows(arrays)
        if found is None:
            return self
        first, group = found
        return replace(
            self,
            designs=tuple(X[first] for X in self.designs),
            channels=tuple(Emissions(c.codes[first], c.table) for c in self.channels),
            weights=np.bincount(group, self.weights).astype(np.float64),
            squares=np.bincount(group, self.squares).astype(np.float64),
            clusters=None if self.clusters is None else self.clusters[first],
            outcome=None if self.outcome is None else self.outcome[first],
            covariates=self.covariates[first],
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

    def prepared(self) -> Prepared:
        """The likelihood in coordinates that suit Newton's method."""
        assembly = _with_constant(self) if isinstance(self.family, Gaussian) else self
        R = factor(assembly.designs, assembly.names)
        ones = _constant(assembly.designs, R)
        made = structure(assembly.family, assembly.names, assembly.answers, ones, assembly.empty)
        C = made.contrast @ made.merged
        contrast, small = np.linalg.qr(np.concatenate([R @ part for part in np.split(C, len(C) // len(R))]))
        back, inverse = made.merged @ _inverse(small), _inverse(R)
        designs = tuple(np.ascontiguousarray((X @ inverse).T) for X in assembly.designs)
        covariates, parameters = assembly.covariates.T, made.parameters
        if len(covariates):
            inverse = _inverse(factor([assembly.covariates], assembly.covariate_names))
            covariates = np.ascontiguousarray((assembly.covariates @ inverse).T)
            others = len(assembly.configurations) - 1
            back = scipy.linalg.block_diag(back, np.kron(np.eye(others), inverse))
            parameters += tuple(
                Parameter("private", labels[0] if len(labels) == 1 else labels, name)
                for labels in assembly.configurations[1:]
                for name in assembly.covariate_names
            )
        channels = assembly.channels
        if assembly.corrected and assembly.corrections is not None:
            tables = zip(channels, assembly.corrections, strict=True)
            channels = tuple(Emissions(c.codes, table) for c, table in tables)
        likelihood = Likelihood(
            assembly.family,
            designs,
            contrast,
            channels,
            assembly.weights,
            assembly.outcome,
            covariates,
            assembly.log_shares,
            assembly.corrected,
        )
        return Prepared(likelihood, back, parameters, made.contrast, assembly)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())


@dataclass(frozen=True, eq=False)
class Prepared:
    """A likelihood in orthonormal coordinates; coefficients = back @ coordinates, vec(B) = contrast @ those of B."""

    likelihood: Likelihood
    back: Floats
    parameters: tuple[Parameter, ...]
    contrast: Floats
    assembly: Assembly


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
    return scipy.linalg.solve_triangular(R, inner)


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


def shares_of(channel: Emissions, weights: Floats) -> Floats:
    """Shares (J, K) of the combinations from reports alone, near the most likely ones, by EM from equal shares."""
    J, K, M = channel.table.shape
    P = channel.table.reshape(-1, M)
    counts = np.bincount(channel.codes, weights, minlength=M)
    theta = np.full(len(P), 1 / len(P))
    for _ in range(ROUNDS):
        q = theta @ P
        ratio = np.divide(counts, q, out=np.zeros(M), where=q > 0)
        theta = theta * (P @ ratio) / counts.sum()
    return theta.reshape(J, K)


def equal_rows(arrays: Sequence[Any]) -> tuple[Ints, Ints] | None:
    """First row of each group of equal rows, and the group of every row; None if few rows are equal.

    Rows are compared through a 64-bit hash, and then in full.
    """
    n = len(arrays[0])
    parts = [np.ascontiguousarray(a).reshape(n, -1).view(np.uint64) for a in arrays]
    key = np.zeros(n, dtype=np.uint64)
    for part in parts:
        for k in range(part.shape[1]):
            key ^= part[:, k] + np.uint64(0x9E3779B97F4A7C15) + (key << np.uint64(6)) + (key >> np.uint64(2))
            key *= np.uint64(0xFF51AFD7ED558CCD)
            key ^= key >> np.uint64(33)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    if 2 * len(first) > n:
        return None
    for part in parts:
        if any(not np.array_equal(part[first[group], k], part[:, k]) for k in range(part.shape[1])):
            return None
    return first.astype(np.int64), group.astype(np.int64)
