"""From the data to what a fit needs: private columns and how likely their reports are, rows, the outcome, designs.

Rows of different people under different mechanisms are read as rows under one (`pooled`).

Given how many rows each pair has, several mechanisms are like one that draws the pair first, whatever the answers are,
and then a report: what that one has beside the others is a factor of the likelihood that no coefficient changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..._common import checks
from ..._common.types import Bools, Floats, Ints
from ..._common.words import shorten
from ...certification.certified import as_estimable
from ...draw.columns import objects
from ...draw.drawing import labels_at
from ...errors import MechanismError, OptionError, ValuesError
from ...model.labels import Labels, as_list
from ...model.mechanism import Mechanism
from ...model.prior import Prior
from ..counts import reference_prior
from ..estimate import check_same_answers, named_pair, stacked
from ..sample import check_weights
from . import columns, families
from .columns import ModelMatrix, Parsed, labelled, parse
from .families import Family, Gaussian
from .likelihood import Emissions


@dataclass(frozen=True, eq=False)
class PrivateColumns:
    """Columns whose reports were drawn together, and the mechanism that drew them."""

    names: tuple[str, ...]
    mechanism: Mechanism
    prior: Prior | None

    def inputs(self, name: str) -> Labels:
        """The labels of one of the columns."""
        k = self.names.index(name)
        labels = self.mechanism.inputs
        return labels if len(self.names) == 1 else labels_at(labels, k)

    def codes(self, frame: Any) -> Ints:
        """The number of the output of each row; -1 where a report is missing."""
        outputs, shown = self.mechanism.outputs, " and ".join(self.names)
        column = frame[self.names[0]]
        if len(self.names) > 1:
            there = ~np.any([columns.missing(frame[name]) for name in self.names], axis=0)
            rows = zip(*(as_list(frame[name]) for name in self.names), strict=True)
            column = objects(row if whole else None for row, whole in zip(rows, there, strict=True))
        found = columns.codes(column, outputs, shown)
        possible = self.mechanism.matrix.max(axis=0) > 0
        wrong = (found >= 0) & ~possible[found]
        if wrong.any():
            label = outputs[int(found[wrong][0])]
            raise ValuesError(
                "holds reports that the mechanism never makes",
                parameter=shown,
                given=f"{label!r} and the like in {int(wrong.sum())} rows",
                remedy="load the mechanism that made these reports",
            )
        return found


def private_columns(given: Any, parsed: Parsed) -> tuple[PrivateColumns, ...]:
    """The mechanisms by column; a single one is that of the outcome."""
    if not isinstance(given, Mapping):
        if not parsed.plain:
            raise OptionError(
                "the outcome of a formula must be the private column as it stands",
                given=repr(parsed.outcome)[:60],
                remedy="name it alone, or give a mapping column -> mechanism",
            )
        given = {parsed.outcome: given}
    found = []
    for key, mechanism in given.items():
        names = tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)
        matrix = as_estimable(mechanism)
        widths = {len(x) if isinstance(x, tuple) else 1 for x in (*matrix.inputs, *matrix.outputs)}
        if len(names) > 1 and widths != {len(names)}:
            raise MechanismError(
                f"the mechanism for {' and '.join(names)} must have labels that are tuples of {len(names)}",
                given=shorten(matrix.inputs, 3),
                remedy="give each column its own mechanism",
            )
        found.append(PrivateColumns(names, matrix, reference_prior(mechanism, None)))
    all_names = [name for private in found for name in private.names]
    if len(set(all_names)) < len(all_names):
        raise OptionError("each private column must have one mechanism", given=shorten(all_names))
    for name in all_names:
        if name not in parsed.used:
            raise OptionError(
                f"the formula must use every private column, but not {name!r}",
                given=repr(parsed.text)[:80],
                remedy="leave its mechanism out",
            )
        if name in parsed.outcome_columns and (not parsed.plain or name in parsed.columns):
            raise OptionError(
                "a private outcome must stand alone before the ~",
                given=repr(parsed.text)[:80],
                remedy="design for the answers that the model is about",
            )
    if not found:
        raise OptionError("regress must have at least one private column", remedy="give column -> mechanism")
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations k of the labels of private predictors; one empty one if there are none."""

    names: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    each: Mapping[str, Labels]  # private predictor -> its labels

    @classmethod
    def of(cls, found: Sequence[PrivateColumns], outcome: str) -> Combinations:
        each: dict[str, Labels] = {}
        parts: list[list[tuple[Any, ...]]] = []
        for private in found:
            own = [k for k, name in enumerate(private.names) if name != outcome]
            if own:
                each |= {private.names[k]: private.inputs(private.names[k]) for k in own}
                parts.append(list(dict.fromkeys(_at(x, own, private) for x in private.mechanism.inputs)))
        labels = tuple(tuple(x for part in chosen for x in part) for chosen in product(*parts))
        return cls(tuple(each), labels, each)

    def filled(self, frame: Any, labels: Sequence[Any]) -> Any:
        """The frame with one label of each private predictor in every row."""
        places = {
            name: np.full(len(frame), known.index(label))
            for (name, known), label in zip(self.each.items(), labels, strict=True)
        }
        return frame.assign(**{name: labelled(self.each[name], own) for name, own in places.items()})

    def own(self, private: PrivateColumns) -> list[int]:
        """Which of the columns are predictors."""
        return [k for k, name in enumerate(private.names) if name in self.names]

    def inputs(self, private: PrivateColumns, answers: Labels) -> Ints:
        """The row of the mechanism for each answer of the outcome and each combination, as far as it knows them."""
        own = self.own(private)
        place = {x: i for i, x in enumerate(private.mechanism.inputs)}
        rows = []
        for answer in answers if len(own) < len(private.names) else (None,):
            for labels in self.labels if own else self.labels[:1]:
                known = dict(zip(self.names, labels, strict=True))
                whole = tuple(known.get(name, answer) for name in private.names)
                row = place.get(whole if len(whole) > 1 else whole[0])
                if row is None:
                    raise MechanismError(
                        "a mechanism that holds the outcome must know all combinations of labels",
                        given=f"none for {whole!r:.80}",
                        remedy="design it for the product of the columns: `Prior.product(...)`",
                    )
                rows.append(row)
        return np.reshape(rows, (-1, len(self.labels) if own else 1))

    def log_prior(self, found: Sequence[PrivateColumns]) -> Floats:
        """log P(k) as the mechanisms' priors have it, columns of different mechanisms independent."""
        total = np.zeros(len(self.labels))
        for private in found:
            own = self.own(private)
            if not own:
                continue
            if private.prior is None:
                raise OptionError(
                    'predictors="prior" needs mechanisms that were certified for a prior',
                    given=f"a plain mechanism for {' and '.join(private.names)}",
                    remedy='leave it out, or `predictors="shares"`',
                )
            mass: dict[Any, float] = {}
            for x, p in zip(private.prior.labels, private.prior.probabilities.tolist(), strict=True):
                key = _at(x, own, private)
                mass[key] = mass.get(key, 0.0) + p
            where = [self.names.index(private.names[k]) for k in own]
            with np.errstate(divide="ignore"):
                total += np.log([mass[tuple(labels[w] for w in where)] for labels in self.labels])
        return total


def _at(label: Any, own: Sequence[int], private: PrivateColumns) -> tuple[Any, ...]:
    return (label,) if len(private.names) == 1 else tuple(label[k] for k in own)


def corrections(P: Floats, codes: Ints) -> Floats:
    """The table (inputs, outputs) of least variance for reports as frequent as these."""
    counts = np.bincount(codes, minlength=P.shape[1]) + 1.0
    scaled = P / (counts / counts.sum())
    return np.linalg.solve(scaled @ P.T, scaled)


def check_rank(private: PrivateColumns, why: str) -> None:
    """Refuse a mechanism that cannot tell its answers apart."""
    P = private.mechanism.matrix
    values = np.linalg.svd(P, compute_uv=False)
    rank = int((values > 1e-10 * values[0]).sum())
    if rank < len(P):
        from ..contrasts import Channel

        groups = Channel(P, np.full(len(P), 1 / len(P))).components()
        named = [[private.mechanism.inputs[i] for i in group] for group in groups]
        raise MechanismError(
            f"cannot tell {shorten(named[0]) if named else 'its answers'} apart, whatever the number of reports: {why}",
            parameter="the mechanism",
            given=f"rank {rank} for {len(P)} answers",
            remedy="merge these answers, or design for shares: `design(prior, epsilon)`",
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that have a value in every column, and how many lack one in which."""

    frame: Any
    weights: Floats
    clusters: Ints | None
    dropped: dict[str, int]
    reports: tuple[Ints, ...]  # of each mechanism


@dataclass(frozen=True, eq=False)
class OutcomeModel:
    """A model's name, the answers in its order (none for numbers), its family; in the clear, the outcome itself."""

    model: str
    answers: tuple[Any, ...]
    family: Family
    channel: Emissions | None = None
    number: Floats | None = None


def read_rows(
    parsed: Parsed, found: Sequence[PrivateColumns], data: Any, weights: Any, clusters: Any
) -> Rows:
    """The rows that have everything: columns, weights, clusters, reports; and how many lack what."""
    import pandas as pd

    reported = [name for private in found for name in private.names]
    named = [x for x in (weights, clusters) if isinstance(x, str)]
    frame = columns.read(data, list(dict.fromkeys([*parsed.used, *reported, *named])), reported)
    n = len(frame)
    if not n:
        raise ValuesError("must have rows", parameter="data", given="none")
    weight = np.ones(n)
    if weights is not None:
        weight = check_weights(frame[weights] if isinstance(weights, str) else weights, weights)
        checks.length(weight, "weights", n, "row", error=ValuesError)
    cluster = frame[clusters] if isinstance(clusters, str) else clusters and pd.Series(list(clusters))
    absent: dict[str, Bools] = {}
    if cluster is not None:
        checks.length(cluster, "clusters", n, "row", error=ValuesError)
        absent["clusters"] = columns.missing(cluster)
    for name in parsed.used:
        columns.check_kind(frame[name], name)
        absent[name] = columns.missing(frame[name])
    reports = [private.codes(frame) for private in found]
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
    parsed: Parsed, found: Sequence[PrivateColumns], frame: Any, model: str | None, answers: Any
) -> OutcomeModel:
    """The model of the outcome, and the outcome itself where it is in the clear."""
    for private in found:
        if parsed.outcome in private.names:
            labels: Labels = private.inputs(parsed.outcome)
            name = model or families.default_model(len(labels))
            if name not in families.DISCRETE:
                raise OptionError(
                    f"a private outcome must have a model of answers, and {families.TITLES[name]} is not one",
                    given=f"{len(labels)} answers",
                    remedy=f"use one of {', '.join(families.DISCRETE)}",
                )
            return OutcomeModel(
                name, families.ordered(labels, answers, name), families.family_of(name, len(labels))
            )
    column = _evaluated(parsed, frame)
    name = families.model_of_clear(column, model)
    if name not in families.DISCRETE:
        family = families.family_of(name, 0)
        return OutcomeModel(name, (), family, number=_number(column, parsed.outcome, family))
    levels = families.clear_levels(column)
    ordered = families.ordered(levels, answers, name)
    codes = columns.codes(column, ordered, parsed.outcome)
    channel = Emissions(codes, np.eye(len(ordered))[:, None])
    return OutcomeModel(name, ordered, families.family_of(name, len(levels)), channel=channel)


def _evaluated(parsed: Parsed, frame: Any) -> Any:
    """An outcome in the clear: a column, or an expression of columns."""
    import pandas as pd

    if parsed.plain:
        return frame[parsed.outcome]
    checks.columns(sorted(parsed.outcome_columns), frame.columns, "the data")
    _, matrix = ModelMatrix.of(
        parse(f"{next(iter(parsed.outcome_columns))} ~ 0 + {parsed.outcome}").terms, frame
    )
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
    parsed: Parsed, combinations: Combinations, frame: Any
) -> tuple[ModelMatrix, tuple[Floats, ...]]:
    """The design, and its matrix for each combination of private predictors."""
    # Every label occurs, so that the design knows all of them.
    n = len(frame)
    cycles = {x: labelled(each, np.resize(np.arange(len(each)), n)) for x, each in combinations.each.items()}
    design, X = ModelMatrix.of(parsed.terms, frame.assign(**cycles))
    if not combinations.names:
        return design, (X,)
    return design, tuple(design.matrix(combinations.filled(frame, labels)) for labels in combinations.labels)


def pooled(pairs: Sequence[Any], parsed: Parsed, named: Sequence[str]) -> tuple[dict[str, Mechanism], Any]:
    """One mechanism for each private column, and one frame, in which reports are numbers of its outputs.

    Parameters
    ----------
    pairs
        (mechanism, data), or (column -> mechanism, data).
    parsed
        The formula.
    named
        Columns beside those of the formula: weights and clusters.
    """
    import pandas as pd

    found, frames = [], []
    for number, pair in enumerate(pairs, start=1):
        with named_pair(number):
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise OptionError(
                    "must be a mechanism and its data",
                    remedy="e.g. `regress([(c1, one), (c2, two)], formula)`",
                )
            drawn = private_columns(pair[0], parsed)
            if any(len(private.names) > 1 for private in drawn):
                raise OptionError("columns that were drawn together must have one mechanism for everybody")
            reported = [private.names[0] for private in drawn]
            frame = columns.read(pair[1], list(dict.fromkeys([*parsed.used, *named])), reported)
            codes = {private.names[0]: private.codes(frame) for private in drawn}
            found.append({private.names[0]: private.mechanism for private in drawn})
            frames.append((frame, codes))
    names = list(found[0])
    for number, own in enumerate(found, start=1):
        with named_pair(number):
            if set(own) != set(names):
                raise OptionError(f"must have the private columns {', '.join(names)}", given=", ".join(own))
            for name, matrix in own.items():
                check_same_answers(matrix, found[0][name])
    people = np.array([len(frame) for frame, _ in frames], dtype=np.float64)
    mechanisms = {name: stacked([own[name] for own in found], people) for name in names}
    starts = {name: np.cumsum([0, *(own[name].shape[1] for own in found)]) for name in names}
    numbered = []
    for k, (frame, codes) in enumerate(frames):
        columns_of = {name: own + starts[name][k] for name, own in codes.items()}
        absent = {name: own < 0 for name, own in codes.items()}
        numbered.append(
            frame.assign(
                **{name: pd.arrays.IntegerArray(own, absent[name]) for name, own in columns_of.items()}
            )
        )
    return mechanisms, pd.concat(numbered, ignore_index=True)
