"""From the data to what a fit needs: rows that have everything, the outcome, and designs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._common.types import Bools, Floats, Ints
from ...errors import OptionError, ValuesError
from ...model.labels import Labels
from . import columns, families
from .families import Family, Gaussian
from .formula import Design, Parsed, check_columns, constant, cycled, parse
from .likelihood import Channel
from .private import Combinations, Release


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that have a value in every column, and how many lack one in which."""

    frame: Any
    weights: Floats
    clusters: Ints | None
    dropped: dict[str, int]
    reports: tuple[Ints, ...]  # of each release


@dataclass(frozen=True, eq=False)
class Outcome:
    """A model's name, the answers in its order (none for numbers), its family; in the clear, the outcome itself."""

    model: str
    answers: tuple[Any, ...]
    family: Family
    channel: Channel | None = None
    number: Floats | None = None


def read_rows(parsed: Parsed, found: Sequence[Release], data: Any, weights: Any, clusters: Any) -> Rows:
    """The rows that have everything: columns, weights, clusters, reports; and how many lack what."""
    import pandas as pd

    private = [name for release in found for name in release.names]
    named = [x for x in (weights, clusters) if isinstance(x, str)]
    wanted = list(dict.fromkeys([*sorted(parsed.outcome_columns), *sorted(parsed.columns), *private, *named]))
    frame = columns.read(data, wanted, private)
    n = len(frame)
    if not n:
        raise ValuesError("must have rows", parameter="data", given="none")
    weight = np.ones(n)
    if weights is not None:
        what = f"weights in {weights!r}" if isinstance(weights, str) else "weights"
        weight = columns.numbers(frame[weights] if isinstance(weights, str) else weights, what, n)
    cluster = frame[clusters] if isinstance(clusters, str) else clusters and pd.Series(list(clusters))
    absent: dict[str, Bools] = {}
    if cluster is not None:
        if len(cluster) != n:
            raise ValuesError("clusters must be one for each row", given=f"{len(cluster)} for {n} rows")
        absent["clusters"] = columns.missing(cluster)
    for name in dict.fromkeys([*sorted(parsed.outcome_columns), *sorted(parsed.columns)]):
        columns.check_kind(frame[name], name)
        absent[name] = columns.missing(frame[name])
    reports = [release.codes(frame) for release in found]
    whole = ~np.any(list(absent.values()), axis=0)
    keep = whole & (weight > 0)
    dropped = {name: int(gone.sum()) for name, gone in absent.items() if gone.any()}
    if not keep.any():
        raise ValuesError(
            "no row has a value in every column of the formula",
            given=", ".join(f"{count} missing in {name!r}" for name, count in dropped.items()),
        )
    if dropped:
        dropped = {"rows": int((~whole).sum()), **dropped}
    groups = None if cluster is None else pd.factorize(pd.Series(cluster)[keep])[0].astype(np.int64)
    kept = frame[keep].reset_index(drop=True)
    return Rows(kept, weight[keep], groups, dropped, tuple(codes[keep] for codes in reports))


def read_outcome(
    parsed: Parsed, found: Sequence[Release], frame: Any, model: str | None, answers: Any
) -> Outcome:
    """The model of the outcome, and the outcome itself where it is in the clear."""
    for release in found:
        if parsed.outcome in release.names:
            labels: Labels = release.inputs(parsed.outcome)
            name = model or families.default_model(len(labels))
            if name not in families.DISCRETE:
                raise OptionError(
                    f"a private outcome must have a model of answers, and {families.TITLES[name]} is not one",
                    given=f"{len(labels)} answers",
                    remedy=f"use one of {', '.join(families.DISCRETE)}",
                )
            return Outcome(
                name, families.ordered(labels, answers, name), families.family_of(name, len(labels))
            )
    column = _evaluated(parsed, frame)
    name = families.model_of_clear(column, model)
    if name not in families.DISCRETE:
        family = families.family_of(name, 0)
        return Outcome(name, (), family, number=_number(column, parsed.outcome, family))
    levels = families.clear_levels(column)
    ordered = families.ordered(levels, answers, name)
    codes = columns.codes(column, ordered, parsed.outcome)
    channel = Channel(codes, np.eye(len(ordered))[:, None])
    return Outcome(name, ordered, families.family_of(name, len(levels)), channel=channel)


def _evaluated(parsed: Parsed, frame: Any) -> Any:
    """An outcome in the clear: a column, or an expression of columns."""
    import pandas as pd

    if parsed.plain:
        return frame[parsed.outcome]
    check_columns(sorted(parsed.outcome_columns), list(frame.columns))
    _, matrix = Design.of(parse(f"{next(iter(parsed.outcome_columns))} ~ 0 + {parsed.outcome}").terms, frame)
    if matrix.shape[1] != 1:
        raise OptionError("the outcome must be one number a row", given=repr(parsed.outcome)[:60])
    return pd.Series(matrix[:, 0])


def _number(column: Any, name: str, family: Family) -> Floats:
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValuesError(f"the outcome {name!r} must be a number for this model", given="text") from None
    if not np.isfinite(values).all():
        raise ValuesError(f"the outcome {name!r} must be finite", given=int((~np.isfinite(values)).sum()))
    if not isinstance(family, Gaussian) and ((values < 0) | (values != np.round(values))).any():
        raise ValuesError(
            f"the outcome {name!r} of a Poisson model must be whole numbers >= 0",
            given=f"others in {int(((values < 0) | (values != np.round(values))).sum())} rows",
        )
    return values + 0.0


def read_designs(
    parsed: Parsed, combinations: Combinations, found: Sequence[Release], frame: Any
) -> tuple[Design, tuple[Floats, ...]]:
    """The design, and its matrix for each combination of private predictors."""
    n = len(frame)
    if not combinations.names:
        design, X = Design.of(parsed.terms, frame)
        return design, (X,)
    known = {
        name: release.inputs(name)
        for release in found
        for name in combinations.names
        if name in release.names
    }
    mixed = frame.copy()
    for name, labels in known.items():  # every label occurs, so that the design knows all of them
        mixed[name] = cycled(labels, n)
    design, _ = Design.of(parsed.terms, mixed)
    return design, tuple(
        design.matrix(with_labels(frame, combinations.names, labels, known)) for labels in combinations.labels
    )


def with_labels(frame: Any, names: Sequence[str], labels: Sequence[Any], known: Mapping[str, Labels]) -> Any:
    """The frame with one label of each private predictor in every row."""
    return frame.assign(
        **{name: constant(label, known[name], len(frame)) for name, label in zip(names, labels, strict=True)}
    )
