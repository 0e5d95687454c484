"""Several columns: what the reports of some tell about another, from their joint distribution."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .._common.words import shorten
from ..certification.certified import Released, as_mechanism
from ..errors import MechanismError, PriorError
from ..model.labels import Labels
from ..model.mechanism import Mechanism, check_size
from ..model.prior import Prior, check_prior
from ..model.processing import seen_from
from .audit import Audit, audit


def audit_columns(
    joint: Prior,
    mechanisms: Mapping[Any, Released],
    about: Any = None,
    names: Sequence[Any] | None = None,
) -> Audit:
    """What the reports of some columns, taken together, leak about one column or about the whole record.

    `joint` is a prior on tuples (Prior.joint makes one), `mechanisms` maps a column, or a tuple of columns
    that are drawn together, to its mechanism, and `about` is the column that somebody wants to know; None is
    the whole record. Columns are named by `names`, or by their positions 0, 1, …. Reports of separate columns
    are drawn independently given the record, as privatize does; their outcomes are tuples, in the order
    of `mechanisms`. A column without a mechanism is not released, and may still be leaked about.

    Parameters
    ----------
    joint
        A prior on tuples of answers.
    mechanisms
        The mechanism of each column, or tuple of columns, that is released.
    about
        The column to audit; the whole record if None.
    names
        Names of the columns; their positions if None.
    """
    columns = _columns(joint, names)
    record = record_mechanism(joint, mechanisms, columns)
    if about is None:
        return audit(joint, record)
    return audit(*seen_from(joint, record, _picked(joint, (_place(columns, about, "about"),))))


def record_mechanism(joint: Prior, mechanisms: Mapping[Any, Released], columns: Sequence[Any]) -> Mechanism:
    """The mechanism from whole records to the reports of all released columns."""
    given_as: Any = mechanisms
    if not isinstance(given_as, Mapping) or not given_as:
        raise MechanismError(
            "must map columns to mechanisms",
            parameter="mechanisms",
            given=repr(mechanisms)[:80],
            remedy="e.g. {'income': mechanism}, with names=['age', 'income']",
        )
    matrix = np.ones((joint.size, 1))
    outputs: list[tuple[Hashable, ...]] = [()]
    drawn: set[int] = set()
    for key, given in mechanisms.items():
        mechanism = as_mechanism(given)
        places = tuple(_place(columns, name, "mechanisms") for name in _parts(columns, key))
        if drawn & set(places):
            raise MechanismError(
                "a column must be released once",
                given=f"{key!r} again",
                remedy=("two reports of one column are two releases: give them one mechanism, m.compose(m)"),
            )
        drawn |= set(places)
        part = mechanism.matrix[_rows(joint, mechanism, places, key)]
        check_size(joint.size, matrix.shape[1] * part.shape[1])
        matrix = np.einsum("ij,ik->ijk", matrix, part).reshape(joint.size, -1)
        outputs = [(*done, y) for done in outputs for y in mechanism.outputs]
    flat: list[Hashable] = [y[0] for y in outputs] if len(mechanisms) == 1 else list(outputs)
    return Mechanism(matrix, joint.labels, flat)


def _rows(joint: Prior, mechanism: Mechanism, places: tuple[int, ...], key: Any) -> list[int]:
    """For every record the row of the mechanism that its column takes."""
    row = {x: i for i, x in enumerate(mechanism.inputs)}
    values = list(_picked(joint, places).values())
    unknown = [x for x in dict.fromkeys(values) if x not in row]
    if unknown:
        raise MechanismError(
            f"the mechanism of column {key!r} must take every value that the joint prior has there",
            given=f"none for {shorten(unknown, 5)}",
            remedy=f"its inputs are {shorten(mechanism.inputs, 5)}",
        )
    return [row[x] for x in values]


def _picked(joint: Prior, places: tuple[int, ...]) -> dict[Any, Hashable]:
    """The value of one column, or the tuple of several, for every record, in the order of the prior."""
    return {
        x: x[places[0]] if len(places) == 1 else tuple(x[k] for k in places)  # type: ignore[index]
        for x in joint.labels
    }


def _columns(joint: Prior, names: Sequence[Any] | None) -> Labels:
    labels = check_prior(joint).labels
    width = len(labels[0]) if isinstance(labels[0], tuple) else 0
    if width < 2 or any(not isinstance(x, tuple) or len(x) != width for x in labels):
        raise PriorError(
            "a joint prior must have tuples of equal length as labels",
            given=shorten(labels, 3),
            remedy="make it with Prior.joint(frame, columns)",
        )
    columns = tuple(range(width)) if names is None else tuple(names)
    if len(columns) != width or len(set(columns)) != width:
        raise PriorError(
            f"must be {width} different names, one for each column of the joint prior",
            parameter="names",
            given=shorten(columns),
            remedy="they stand in the order in which Prior.joint got them",
        )
    return columns


def _parts(columns: Sequence[Any], key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) and key not in columns else (key,)


def _place(columns: Sequence[Any], name: Any, what: str) -> int:
    if name not in columns:
        raise PriorError(
            f"{what} must name a column, one of {shorten(columns)}",
            given=f"{name!r}",
            remedy="give names= in the order of the joint prior to use names",
        )
    return columns.index(name)
