"""Mechanism: a labelled row-stochastic matrix P(y|x), rows are inputs, columns outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._common import checks
from .._common.frames import heat_cell, html_table
from .._common.threads import one_thread_of_numpy
from .._common.types import Axes, Floats
from .._common.words import aligned, shorten
from ..errors import MechanismError, PriorError, SizeError
from .labels import Labels, check_labels
from .prior import Prior, check_prior

ROW_TOLERANCE = 1e-9  # rows given may miss 1 by this much; beyond EXACT they are divided by their sum
EXACT = 1e-12

LARGEST_MATRIX = 200_000_000  # entries: 1.6 GB


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Mechanism:
    """How likely each answer is to turn into each report: a matrix with labelled rows and columns.

    Examples
    --------
    >>> Mechanism([[0.75, 0.25], [0.25, 0.75]]).shape
    (2, 2)

    Parameters
    ----------
    matrix
        P(report | answer): a row for each answer, which sums to 1, and a column for each report.
    inputs
        Labels of the answers; 0, 1, … if None.
    outputs
        Labels of the reports; 0, 1, … if None.
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
        P = _as_matrix(matrix)
        try:
            names = check_labels(range(P.shape[0]) if inputs is None else inputs, P.shape[0], "inputs")
            released = check_labels(range(P.shape[1]) if outputs is None else outputs, P.shape[1], "outputs")
        except PriorError as error:
            raise error.within("mechanism: ", MechanismError) from None
        P = _check_stochastic(P, names)
        P.setflags(write=False)
        object.__setattr__(self, "matrix", P)
        object.__setattr__(self, "inputs", names)
        object.__setattr__(self, "outputs", released)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of inputs, number of outputs)."""
        n, m = self.matrix.shape
        return n, m

    @one_thread_of_numpy
    def then(self, other: Mechanism) -> Mechanism:
        """The mechanism that releases `other` applied to this one's output (post-processing).

        `other` must take this mechanism's outputs as its inputs, in this order. Where either are numbered
        0..M-1 they are matched by position.

        Parameters
        ----------
        other
            The step that takes the reports.
        """
        if check_mechanism(other).shape[0] != self.shape[1]:
            raise MechanismError(
                f"post-processing must take the {self.shape[1]} outputs of this mechanism",
                given=f"one with {other.shape[0]} inputs",
                remedy="give it one row for each output",
            )
        if not _compatible(self.outputs, other.inputs):
            raise MechanismError(
                f"post-processing must take the outputs {shorten(self.outputs)} in this order",
                given=f"inputs {shorten(other.inputs)}",
                remedy="reorder its rows, or build it without inputs=",
            )
        return Mechanism(self.matrix @ other.matrix, self.inputs, other.outputs)

    def compose(self, other: Mechanism) -> Mechanism:
        """The joint release of both mechanisms for the same X, drawn independently; outputs are pairs.

        The leakage of the pair can exceed the sum of the two leakages: evaluate the joint mechanism.

        Parameters
        ----------
        other
            A mechanism for the same answers.
        """
        if not _compatible(self.inputs, check_mechanism(other).inputs):
            raise MechanismError(
                "composed mechanisms must have the same inputs in the same order",
                given=f"{shorten(self.inputs)} and {shorten(other.inputs)}",
                remedy="build both with inputs=prior.labels",
            )
        check_size(self.shape[0], self.shape[1] * other.shape[1])
        joint = np.einsum("ij,ik->ijk", self.matrix, other.matrix).reshape(self.shape[0], -1)
        pairs = [(y, z) for y in self.outputs for z in other.outputs]
        return Mechanism(joint, common_labels(self.inputs, other.inputs), pairs)

    def same_up_to_columns(self, other: Mechanism, tolerance: float = 1e-9) -> bool:
        """Whether the columns are the same in some order (the equivalence of Remark 1).

        Outputs that never occur do not count; labels of outputs neither.

        Parameters
        ----------
        other
            The mechanism to compare with.
        tolerance
            How far entries may be apart.
        """
        from scipy.optimize import linear_sum_assignment  # half a second: not at import
        from scipy.spatial.distance import cdist

        P, Q = self.matrix.T, check_mechanism(other).matrix.T
        P, Q = P[P.max(axis=1) > tolerance], Q[Q.max(axis=1) > tolerance]
        if P.shape != Q.shape:
            return False
        apart = cdist(P, Q, "chebyshev") > tolerance
        return not apart[linear_sum_assignment(apart)].any()

    @one_thread_of_numpy
    def output_distribution(self, prior: Prior) -> Floats:
        """P_Y: how often each output occurs when X follows the prior.

        Parameters
        ----------
        prior
            How common each answer is.
        """
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

    def __reduce__(self) -> tuple[Any, ...]:
        return Mechanism, (self.matrix, self.inputs, self.outputs)  # checked and read-only when unpickled

    def __repr__(self) -> str:
        n, m = self.shape
        title = f"Mechanism({n} inputs, {m} outputs)"
        if max(n, m) > 12:
            return title
        head = ["", *(str(y) for y in self.outputs)]
        rows = [[str(x), *(f"{p:.4f}" for p in row)] for x, row in zip(self.inputs, self.matrix, strict=True)]
        return "\n".join([title, *aligned([head, *rows], 1)])

    def _repr_html_(self) -> str:
        """A table for notebooks, the likelier the darker; the first rows and columns of a large one."""
        most = 20
        n, m = self.shape
        more = "<th>…</th>" if m > most else ""
        head = "".join(f"<th>{escape(str(y))}</th>" for y in self.outputs[:most])
        rows = [f"<tr><th></th>{head}{more}</tr>"]
        for x, row in zip(self.inputs[:most], self.matrix[:most, :most].tolist(), strict=True):
            cells = "".join(heat_cell(p, 1.0) for p in row)
            rows.append(f"<tr><th>{escape(str(x))}</th>{cells}{'<td>…</td>' if more else ''}</tr>")
        if n > most:
            rows.append(f"<tr><td colspan='{min(m, most) + 1 + bool(more)}'>… {n - most} more</td></tr>")
        return html_table(f"Mechanism: {n} inputs (rows), {m} outputs (columns)", rows)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with a heat map of the matrix, rows are inputs.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        from .._common.plot import draw_matrix

        return draw_matrix(self.matrix, self.inputs, self.outputs, "Chance of each report", axes)


def identity(prior: Prior) -> Mechanism:
    """The mechanism that releases the answer itself."""
    check_size(check_prior(prior).size, prior.size)
    return Mechanism(np.eye(prior.size), prior.labels, prior.labels)


def constant(prior: Prior) -> Mechanism:
    """The mechanism with a single output, which says nothing; it carries the most probable label."""
    likely = prior.labels[int(np.argmax(prior.probabilities))]
    return Mechanism(np.ones((prior.size, 1)), prior.labels, [likely])


def check_size(n: int, m: int) -> None:
    """Refuse a matrix of n inputs and m outputs that would not fit into memory."""
    if n * m > LARGEST_MATRIX:
        raise SizeError(
            f"a mechanism must have at most {LARGEST_MATRIX} entries to be held as a matrix",
            given=f"{n} inputs x {m} outputs",
            remedy="merge rare labels",
        )


def check_mechanism(mechanism: Any) -> Mechanism:
    """The mechanism, if it is one."""
    remedy = "pass its .mechanism" if hasattr(mechanism, "mechanism") else "build one: Mechanism(matrix)"
    return checks.instance(
        mechanism, "mechanism", Mechanism, "a Mechanism", remedy=remedy, error=MechanismError
    )


def check_match(prior: Prior, mechanism: Mechanism) -> None:
    """Refuse a prior and a mechanism that do not speak of the same symbols."""
    n = check_mechanism(mechanism).shape[0]
    if check_prior(prior).size != n:
        raise MechanismError(
            "prior and mechanism must have the same number of symbols",
            given=f"{prior.size} and {n}",
            remedy="rows of a mechanism are inputs, transpose it if columns are",
        )
    if not _compatible(prior.labels, mechanism.inputs):
        raise MechanismError(
            "prior and mechanism must have the same labels in the same order",
            given=f"{shorten(prior.labels)} and {shorten(mechanism.inputs)}",
            remedy="build the mechanism with inputs=prior.labels",
        )


def common_labels(one: Labels, other: Labels) -> Labels:
    """Of two compatible tuples of labels the one that is not the default numbers, if either is."""
    return other if _numbered(one) else one


def _numbered(labels: Labels) -> bool:
    return labels == tuple(range(len(labels)))


def _compatible(one: Labels, other: Labels) -> bool:
    """Whether labels are the same, or as many and either are the default numbers.

    The same labels in another order are not: matching them by position would swap rows.
    """
    if one == other:
        return True
    return len(one) == len(other) and (_numbered(one) or _numbered(other)) and set(one) != set(other)


def _as_matrix(matrix: ArrayLike) -> Floats:
    try:
        P = checks.floats(matrix)
    except (TypeError, ValueError, OverflowError):
        raise MechanismError(
            "must be a matrix of numbers with rows of equal length",
            parameter="mechanism",
            given=repr(matrix)[:80],
            remedy="give one row of probabilities for each input",
        ) from None
    if P.ndim != 2 or P.size == 0:
        raise MechanismError(
            "must be a matrix (inputs, outputs)",
            parameter="mechanism",
            given=f"shape {P.shape}",
            remedy="give one row of probabilities for each input",
        )
    return P


def _check_stochastic(P: Floats, inputs: Labels) -> Floats:
    bad = ~np.isfinite(P) | (P < -EXACT)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise MechanismError(
            "must hold probabilities >= 0",
            parameter="mechanism",
            given=f"{P[i, j]:g} in row {i} (input {inputs[i]!r}), column {j}",
            remedy="correct that entry",
        )
    P = np.maximum(P, 0.0)
    sums = P.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > ROW_TOLERANCE:
        raise MechanismError(
            "every row of a mechanism must sum to 1",
            given=f"{sums[worst]:.12g} in row {worst} (input {inputs[worst]!r})",
            remedy=("divide each row by its sum if these are weights, transpose if columns are inputs"),
        )
    off = np.abs(sums - 1) > EXACT
    P[off] /= sums[off, None]
    return P


def pair_outputs(prior: Prior, mechanism: Mechanism) -> Mechanism:
    """The same mechanism with outputs that carry input labels, P[Y = X] as large as column order allows.

    Outputs that never occur are dropped. With at most N outputs each gets its own input label, in the order
    of the inputs; with more they are numbered 0..M-1, and where the inputs are tuples, one label for each of
    several columns, number k stands in every place: ("#k", "#k"), which no answer is mistaken for.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"yes": 0.4, "no": 0.6})
    >>> ex.theory.pair_outputs(prior, ex.Mechanism([[0.2, 0.8], [0.7, 0.3]], ["yes", "no"])).outputs
    ('yes', 'no')

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    check_match(prior, mechanism)
    P = mechanism.matrix[:, mechanism.matrix.max(axis=0) > 0]
    n, m = P.shape
    labels = common_labels(prior.labels, mechanism.inputs)
    if m > n:
        return Mechanism(P, labels, numbered(labels, m))
    inputs, outputs = _best_pairs(prior.probabilities[:, None] * P)
    return Mechanism(P[:, outputs], labels, [labels[i] for i in inputs])


def _best_pairs(joint: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows in their order, and the column of each, with the largest sum; there are no more columns than rows."""
    best = joint.argmax(axis=0)
    if len(np.unique(best)) == len(best):  # each column has the row where it is largest: no sum is larger
        outputs = best.argsort()
        return best[outputs], outputs
    from scipy.optimize import linear_sum_assignment  # half a second: not at import

    inputs, outputs = linear_sum_assignment(joint, maximize=True)
    return inputs, outputs


def numbered(inputs: Labels, count: int) -> list[Any]:
    """Names of so many outputs, too many to carry input labels."""
    widths = {len(label) for label in inputs if isinstance(label, tuple)}
    if len(widths) != 1 or not all(isinstance(label, tuple) for label in inputs):
        return list(range(count))
    (width,) = widths
    return [(f"#{k}",) * width for k in range(count)]
