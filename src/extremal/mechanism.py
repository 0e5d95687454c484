"""Mechanism: a labelled row-stochastic matrix P(y|x), rows are inputs, columns outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from .errors import MechanismError, PriorError
from .prior import Labels, Prior, check_labels, shorten

Floats = NDArray[np.float64]

ROW_TOLERANCE = 1e-9  # rows given may miss 1 by this much; beyond EXACT they are divided by their sum
EXACT = 1e-12


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Mechanism:
    """A conditional distribution of the release Y given the secret X.

    >>> Mechanism([[0.75, 0.25], [0.25, 0.75]]).shape
    (2, 2)
    """

    matrix: Floats
    inputs: Labels
    outputs: Labels

    def __init__(
        self,
        matrix: ArrayLike,
        inputs: Iterable[Any] | None = None,
        outputs: Iterable[Any] | None = None,
    ) -> None:
        P = _check_matrix(matrix)
        try:
            names = check_labels(range(P.shape[0]) if inputs is None else inputs, P.shape[0], "inputs")
            released = check_labels(range(P.shape[1]) if outputs is None else outputs, P.shape[1], "outputs")
        except PriorError as error:
            raise MechanismError(f"mechanism {error}") from None
        P.setflags(write=False)
        object.__setattr__(self, "matrix", P)
        object.__setattr__(self, "inputs", names)
        object.__setattr__(self, "outputs", released)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of inputs, number of outputs)."""
        n, m = self.matrix.shape
        return n, m

    def then(self, other: Mechanism) -> Mechanism:
        """The mechanism that releases `other` applied to this one's output (post-processing).

        `other` must take this mechanism's outputs as its inputs, in this order; inputs 0..M-1 are matched by position.
        """
        if other.shape[0] != self.shape[1]:
            raise MechanismError(
                f"post-processing must take the {self.shape[1]} outputs of this mechanism, "
                f"got one with {other.shape[0]} inputs"
            )
        if other.inputs not in (self.outputs, tuple(range(self.shape[1]))):
            raise MechanismError(
                f"post-processing must take the outputs {shorten(self.outputs)} in this order, "
                f"got inputs {shorten(other.inputs)}"
            )
        return Mechanism(self.matrix @ other.matrix, self.inputs, other.outputs)

    def compose(self, other: Mechanism) -> Mechanism:
        """The joint release of both mechanisms for the same X, drawn independently; outputs are pairs."""
        if other.inputs != self.inputs:
            raise MechanismError(
                f"composed mechanisms must have the same inputs in the same order, "
                f"got {shorten(self.inputs)} and {shorten(other.inputs)}"
            )
        joint = np.einsum("ij,ik->ijk", self.matrix, other.matrix).reshape(self.shape[0], -1)
        pairs = [(y, z) for y in self.outputs for z in other.outputs]
        return Mechanism(joint, self.inputs, pairs)

    def same_up_to_columns(self, other: Mechanism, tolerance: float = 1e-9) -> bool:
        """Whether the columns are the same in some order (the equivalence of Remark 1).

        Outputs that never occur do not count; labels of outputs neither.
        """
        P, Q = self.matrix.T, other.matrix.T
        P, Q = P[P.max(axis=1) > tolerance], Q[Q.max(axis=1) > tolerance]
        if P.shape != Q.shape:
            return False
        apart = cdist(P, Q, "chebyshev") > tolerance
        return not apart[linear_sum_assignment(apart)].any()

    def output_distribution(self, prior: Prior) -> Floats:
        """P_Y: how often each output occurs when X follows the prior."""
        check_match(prior, self)
        return prior.probabilities @ self.matrix

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mechanism):
            return NotImplemented
        return (
            self.inputs == other.inputs
            and self.outputs == other.outputs
            and np.array_equal(self.matrix, other.matrix)
        )

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, self.matrix.tobytes()))

    def __repr__(self) -> str:
        n, m = self.shape
        if max(n, m) > 12:
            return f"Mechanism({n} inputs, {m} outputs)"
        head = [""] + [str(y) for y in self.outputs]
        rows = [[str(x)] + [f"{p:.4f}" for p in row] for x, row in zip(self.inputs, self.matrix, strict=True)]
        widths = [max(len(row[k]) for row in [head, *rows]) for k in range(m + 1)]
        lines = [
            "  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True)))
            for row in [head, *rows]
        ]
        return "\n".join([f"Mechanism({n} inputs, {m} outputs)", *lines])


def identity(prior: Prior) -> Mechanism:
    """The mechanism that releases X itself."""
    return Mechanism(np.eye(prior.size), prior.labels, prior.labels)


def constant(prior: Prior) -> Mechanism:
    """The mechanism with a single output, which says nothing; it carries the most probable label."""
    likely = prior.labels[int(np.argmax(prior.probabilities))]
    return Mechanism(np.ones((prior.size, 1)), prior.labels, [likely])


def check_match(prior: Prior, mechanism: Mechanism) -> None:
    """Refuse a prior and a mechanism that do not speak of the same symbols."""
    n = mechanism.shape[0]
    if prior.size != n:
        raise MechanismError(
            f"prior and mechanism must have the same number of symbols, got {prior.size} and {n}; "
            "rows of a mechanism are inputs"
        )
    default = tuple(range(n))
    if mechanism.inputs != prior.labels and default not in (mechanism.inputs, prior.labels):
        raise MechanismError(
            f"prior and mechanism must have the same labels in the same order, got {shorten(prior.labels)} "
            f"and {shorten(mechanism.inputs)}; build the mechanism with inputs=prior.labels"
        )


def _check_matrix(matrix: ArrayLike) -> Floats:
    try:
        P = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise MechanismError("mechanism must be a matrix of numbers with rows of equal length") from None
    if P.ndim != 2 or P.size == 0:
        raise MechanismError(f"mechanism must be a matrix (inputs, outputs), got shape {P.shape}")
    bad = ~np.isfinite(P) | (P < -EXACT)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise MechanismError(f"mechanism must hold probabilities >= 0, got {P[i, j]:g} in row {i}, column {j}")
    P = np.maximum(P, 0.0)
    sums = P.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > ROW_TOLERANCE:
        raise MechanismError(
            f"every row of a mechanism must sum to 1, got {sums[worst]:.12g} in row {worst}; "
            "divide each row by its sum if these are weights, transpose if columns are inputs"
        )
    off = np.abs(sums - 1) > EXACT
    P[off] /= sums[off, None]
    return P
