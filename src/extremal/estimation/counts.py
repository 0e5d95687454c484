"""How often each output was reported: all that estimation needs of a collection, and all that a stream must keep.

A report is a label, or written like one: 1 and "1" are the same answer, as after a round trip through a text file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.json import parse_json
from .._common.types import Ints
from .._common.words import brief, shorten
from ..certification.certified import Certified, as_estimable
from ..certification.stored import decode_label
from ..draw.columns import Alphabet
from ..draw.containers import as_column
from ..draw.kernel import tally
from ..errors import ExtremalError, MechanismError, OptionError, ValuesError
from ..model.counting import Unknown
from ..model.labels import Labels, as_list, is_hashable, is_missing
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..release.files.csv import finder

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class ReportCounts:
    """Non-negative integer counts, one for each output label; values, so adding makes a new one.

    Examples
    --------
    >>> batches = [["a", "b"], ["b", "b"]]
    >>> counts = ReportCounts(("a", "b"))
    >>> for batch in batches:
    ...     counts = counts.add(batch)
    >>> counts.to_dict()
    {'a': 1, 'b': 3}

    Parameters
    ----------
    outputs
        The labels of the reports.
    counts
        A count for each label; all 0 if None.
    """

    outputs: Labels
    counts: Any = None  # integers; all 0 if not given

    def __post_init__(self) -> None:
        given = np.zeros(len(self.outputs), dtype=np.int64) if self.counts is None else self.counts
        counts = _integers(given, self.outputs)
        counts.setflags(write=False)
        object.__setattr__(self, "outputs", tuple(self.outputs))
        object.__setattr__(self, "counts", counts)

    @property
    def total(self) -> int:
        """The number of reports."""
        return int(self.counts.sum())

    def add(self, reports: Any) -> ReportCounts:
        """These counts and those of one more column of reports, or mapping label -> count.

        Parameters
        ----------
        reports
            A column of reports, or a mapping label -> count.
        """
        return self + _count(self.outputs, reports)

    def merge(self, other: ReportCounts) -> ReportCounts:
        """The counts of both collections; the same as self + other.

        Parameters
        ----------
        other
            Counts of the same labels.
        """
        return self + other

    def __add__(self, other: ReportCounts) -> ReportCounts:
        if not isinstance(other, ReportCounts):
            return NotImplemented
        if other.outputs != self.outputs:
            raise MechanismError(
                "counts that are added must be of the same outputs in the same order",
                given=f"{shorten(self.outputs)} and {shorten(other.outputs)}",
                remedy="count both with the same mechanism",
            )
        return ReportCounts(self.outputs, self.counts + other.counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportCounts):
            return NotImplemented
        return self.outputs == other.outputs and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash((self.outputs, self.counts.tobytes()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{y!r}: {c}" for y, c in zip(self.outputs[:8], self.counts[:8], strict=True))
        more = f", … {len(self.outputs) - 8} more" if len(self.outputs) > 8 else ""
        return f"ReportCounts({self.total} reports: {shown}{more})"

    def to_dict(self) -> dict[Any, int]:
        """label -> count."""
        return dict(zip(self.outputs, self.counts.tolist(), strict=True))


def count_reports(mechanism: Certified | Mechanism, reports: Any) -> ReportCounts:
    """How often each output of the mechanism occurs in a column of reports.

    A list, numpy array, pandas or polars Series or arrow array of output labels; a mapping label -> count, for
    example dict(frame.groupBy("answer").count().collect()) of a Spark frame; or ReportCounts already made.
    """
    outputs = as_estimable(mechanism).outputs
    if isinstance(reports, ReportCounts):
        if reports.outputs != outputs:
            raise MechanismError(
                f"must be counts of the outputs {shorten(outputs)} of the mechanism",
                parameter="reports",
                given=f"counts of {shorten(reports.outputs)}",
                remedy="count them anew: `ReportCounts(mechanism.outputs).add(reports)`",
            )
        return reports
    return _count(outputs, reports)


def reference_prior(mechanism: Certified | Mechanism, prior: Prior | None) -> Prior | None:
    """The prior given, else the one that a certified mechanism was designed for."""
    if not isinstance(mechanism, Certified):
        return prior
    if prior is None:
        return mechanism.prior_between
    blocks = mechanism.grouping
    return prior if blocks is None or prior.labels != blocks.labels else blocks.merged(prior)


def _count(outputs: Labels, reports: Any) -> ReportCounts:
    if isinstance(reports, Set):
        given = f"a set, which holds none twice: {repr(reports)[:60]}"
        remedy = "give a list, or a mapping label -> count"
        raise ValuesError("must be one for each person", parameter="reports", given=given, remedy=remedy)
    if isinstance(reports, Mapping):
        return ReportCounts(outputs, _from_mapping(outputs, reports))
    return ReportCounts(outputs, _from_column(outputs, reports))


def _from_mapping(outputs: Labels, reports: Mapping[Any, Any]) -> list[Any]:
    find = label_finder(outputs)
    counts: list[Any] = [0] * len(outputs)
    unknown = Unknown(outputs)
    taken: dict[int, Any] = {}
    given = _integers(list(reports.values()), tuple(reports)).tolist()
    for label, count in zip(reports, given, strict=True):
        place = find(label)
        if place < 0:
            unknown.add(label, count)
        elif place in taken:
            raise ValuesError(
                "must be one count for each label",
                parameter="reports",
                given=f"{brief(taken[place])} and {brief(label)}",
                remedy="add them up first",
            )
        else:
            taken[place], counts[place] = label, count
    _refuse(unknown, outputs, sum(given))
    return counts


def _refuse(unknown: Unknown, outputs: Labels, total: int) -> None:
    if unknown.rows:
        raise ValuesError(
            f"every report must be one of the output labels {shorten(outputs)}",
            given=unknown.among(total),
            remedy="correct or drop them, or load the mechanism that made these reports",
        )


def _from_column(outputs: Labels, reports: Any) -> Counts:
    """The counts of a column: its codes are counted, then added up by label."""
    values = list(reports) if isinstance(reports, Iterator) else reports
    column = as_column(Alphabet(outputs, outputs), values)
    by_code = tally(column.codes, len(column.rows))
    by_row = np.zeros(len(outputs) + 1, dtype=np.int64)
    np.add.at(by_row, column.rows, by_code)
    if by_row[len(outputs)]:  # values that are no labels may be written like some
        return np.bincount(report_codes(outputs, values), minlength=len(outputs))
    return by_row[: len(outputs)]


def _integers(given: Any, outputs: Labels) -> Counts:
    try:
        raw = np.asarray(given)
    except ValueError:  # lists within the list
        raw = np.array(list(given), dtype=object)
    if raw.shape != (len(outputs),):
        raise ValuesError(
            f"must be one for each of the {len(outputs)} outputs",
            parameter="counts",
            given=f"shape {raw.shape}",
            remedy="give a mapping label -> count to leave out those that did not occur",
        )
    remedy = "give how often each output occurred"
    try:
        numbers = raw.astype(np.float64)
        counts = np.array([int(value) for value in raw.tolist()], dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        problem = "must be whole numbers below 2^63"
        raise ValuesError(problem, parameter="counts", given=repr(given)[:80], remedy=remedy) from None
    # Doubles hold whole numbers up to 2^53 only, so integers are not compared with them.
    bad = (counts < 0) | ((counts != numbers) & (raw.dtype.kind not in "iu"))
    if bad.any():
        k = int(np.argmax(bad))
        said = f"{raw[k]} for {outputs[k]!r} ({int(bad.sum())} such counts)"
        raise ValuesError("must be whole numbers >= 0", parameter="counts", given=said, remedy=remedy)
    total = sum(counts.tolist())
    if total >= 1 << 63:
        problem = "must be fewer than 2^63 reports together"
        raise ValuesError(problem, parameter="counts", given=total, remedy=remedy)
    return counts


def label_finder(labels: Labels) -> Callable[[Any], int]:
    """The place of the label that a value is or is written like; -1 if there is none.

    Where two labels are written alike, like 1 and "1", only equal values count.
    """
    exact = {label: i for i, label in enumerate(labels)}
    texts = {_text(label): i for label, i in exact.items()}
    alike: Callable[[str], int] | None = None
    if len(texts) == len(labels) and not any(isinstance(label, tuple) for label in labels):
        alike = finder(Alphabet(labels, labels))

    def find(value: Any) -> int:
        if not is_hashable(value):
            return -1
        place = exact.get(value, -1)
        if place >= 0 or is_missing(value) or len(texts) < len(labels):
            return place
        text = _text(value)
        place = texts.get(text, -1)
        if place < 0 and alike is not None and isinstance(text, str):
            found = alike(text)
            place = found if found < len(labels) else -1
        if place < 0 and isinstance(text, str) and text[:1] in ("[", "{"):
            place = exact.get(_exported(text), -1)
        return place

    return find


def place_finder(
    labels: Labels, parameter: str, error: type[ExtremalError] = OptionError
) -> Callable[[Any], int]:
    """The place of the label that a value is or is written like; other values are refused."""
    find = label_finder(labels)

    def place_of(value: Any) -> int:
        place = find(value)
        if place < 0:
            raise error(f"must be one of {shorten(labels)}", parameter=parameter, given=brief(value))
        return place

    return place_of


def _exported(text: str) -> Any:
    """The label that an export of a survey writes as JSON: a combination or a number with decimals; None if none."""
    try:
        return decode_label(parse_json(text))
    except ValueError:
        return None


def _text(value: Any) -> Any:
    """How a value is written in a text file; of a combination, each part."""
    if isinstance(value, tuple):
        return tuple(_text(part) for part in value)
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def report_codes(outputs: Labels, reports: Any) -> Ints:
    """For each report the place of its output label."""
    column = as_column(Alphabet(outputs, outputs), reports)
    last = np.array(len(column.rows) - 1, dtype=column.codes.dtype)
    codes: Ints = column.rows[np.minimum(column.codes, last)].astype(np.int64)
    other = np.flatnonzero(codes == len(outputs))
    if len(other):
        codes[other] = _matched(outputs, list(column.values_at(other)), len(codes))
    return codes


def _matched(outputs: Labels, values: list[Any], total: int) -> Ints:
    """Codes of values that are not labels but written like labels; others are refused."""
    find = label_finder(outputs)
    known: dict[Any, int] = {}
    unknown = Unknown(outputs)
    codes = np.empty(len(values), dtype=np.int64)
    for k, value in enumerate(values):
        hashable = is_hashable(value)
        code = known.get(value) if hashable else -1
        if code is None:
            code = known[value] = find(value)
        codes[k] = code
        if code < 0:
            unknown.add(value)
    _refuse(unknown, outputs, total)
    return codes


def factorize(values: Any, what: str) -> tuple[Ints, Labels]:
    """Numbers of the different values of a column, in an order that does not depend on that of the rows."""
    codes: dict[Any, int] = {}
    try:
        listed = [values] if isinstance(values, str | bytes) else as_list(values)
        rows = np.array([codes.setdefault(value, len(codes)) for value in listed], dtype=np.int64)
    except TypeError:
        raise ValuesError(
            "must be a column of text, numbers or truth values", parameter=what, given=brief(values)
        ) from None
    missing = [code for value, code in codes.items() if is_missing(value)]
    if missing:
        count = int(np.isin(rows, missing).sum())
        raise ValuesError(
            "must not be missing",
            parameter=what,
            given=f"{count} of {len(rows)} rows without a value",
            remedy='drop these rows, or name them, e.g. "no answer"',
        )
    try:
        labels = sorted(codes)
    except (TypeError, ValueError, OverflowError):  # not ordered, or an int beyond doubles beside a float
        labels = sorted(codes, key=lambda value: (type(value).__name__, str(value)))
    place = np.empty(len(codes), dtype=np.int64)
    place[[codes[label] for label in labels]] = np.arange(len(codes))
    return place[rows] if len(rows) else rows, tuple(labels)
