"""Columns as codes, and back: the labels of a column, what every kind is turned into, and lists and numpy arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.words import brief
from ..errors import ValuesError
from ..model.labels import Labels, as_list, is_hashable

Array = NDArray[Any]
Rows = NDArray[np.uint32]
Kept = NDArray[np.bool_] | None

LARGEST_LOOKUP = 1 << 20  # integers looked up in a table; labels further apart are searched for


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The input and the output labels of one column; what is made of them is made once, for they may be a million."""

    inputs: Labels
    outputs: Labels

    @cached_property
    def row_of(self) -> dict[Any, int]:
        """The row of every input label."""
        return {label: i for i, label in enumerate(self.inputs)}

    @property
    def vocabulary(self) -> list[Any]:
        """What a column of reports may hold as a type: all labels, if every report is an answer, else all reports."""
        return list(self.inputs if set(self.outputs) <= set(self.inputs) else self.outputs)

    @cached_property
    def integers(self) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """The labels that are whole numbers, and their rows: of int64 if all fit, else of Python integers."""
        found = {
            int(x): i
            for x, i in self.row_of.items()
            if isinstance(x, int) or (isinstance(x, float) and x.is_integer())
        }
        fits = all(-(1 << 63) <= x < 1 << 63 for x in found)
        numbers = np.array(list(found), dtype=np.int64 if fits else object)
        return numbers, np.array(list(found.values()), dtype=np.uint32)

    @cached_property
    def halves(self) -> list[NDArray[np.uint32]]:
        """The inputs in two halves, by their own order and by that of their labels; 2 for none of them."""
        n = len(self.inputs)
        try:
            order = sorted(range(n), key=self.inputs.__getitem__)  # type: ignore[arg-type]
        except TypeError:
            order = sorted(range(n), key=lambda row: str(self.inputs[row]))
        place = np.arange(n)
        sorted_place = np.empty(n, dtype=np.int64)
        sorted_place[order] = place
        tables = [np.append(2 * where >= n, 2).astype(np.uint32) for where in (place, sorted_place)]
        return tables[:1] if np.array_equal(tables[0], tables[1]) else tables


@dataclass(frozen=True, eq=False)
class Column:
    """A column as codes, and what is needed to name its values and to build one like it."""

    codes: Array  # unsigned
    rows: Rows  # of each code; the last of all codes from there on; N is the row of no label
    values_at: Callable[[NDArray[np.intp]], Iterable[Any]]
    rebuild: Callable[[Array, Kept], Any]  # from outcomes, and which rows were kept
    outcomes: np.dtype[Any]  # unsigned, for the outcomes
    name: Any = None  # what a Series calls itself


def from_list(alphabet: Alphabet, values: list[Any]) -> Column:
    labels = objects(alphabet.outputs)
    return Column(
        *object_codes(alphabet, values),
        lambda where: (values[i] for i in where.tolist()),
        lambda outcomes, kept: labels[outcomes].tolist(),
        smallest_unsigned(len(alphabet.outputs)),
    )


def from_numpy(alphabet: Alphabet, values: Array) -> Column:
    if values.ndim != 1:
        raise ValuesError(
            "must be one column",
            parameter="values",
            given=f"shape {values.shape}",
            remedy="privatise its columns one by one",
        )
    if np.ma.is_masked(values):  # what is masked is missing, though there is a number under the mask
        codes, rows = object_codes(alphabet, values.tolist())
    else:
        codes, rows = numpy_codes(alphabet, np.asarray(values))
    labels = labels_like(alphabet, values.dtype)
    return Column(
        codes,
        rows,
        lambda where: values[where].tolist(),
        lambda outcomes, kept: labels[outcomes],
        smallest_unsigned(len(alphabet.outputs)),
    )


def numpy_codes(alphabet: Alphabet, values: Array) -> tuple[Array, Rows]:
    """Codes of the elements and their rows: a table for integers, a search for floats, else a dictionary."""
    if values.dtype.kind == "b":
        return values.view(np.uint8), rows_of(alphabet, [False, True])
    if values.dtype.kind in "iu":
        return _integer_codes(alphabet, values)
    if values.dtype.kind == "f" and values.dtype.itemsize <= 8:
        numbers = {
            float(label): row
            for label, row in alphabet.row_of.items()
            if isinstance(label, float)  # or a whole number that some double is
            or (isinstance(label, int) and abs(label) < 1 << 1023 and int(float(label)) == label)
        }
        return _search(numbers, values.astype(np.float64), len(alphabet.inputs))
    return object_codes(alphabet, values.tolist())


def _integer_codes(alphabet: Alphabet, values: Array) -> tuple[Array, Rows]:
    n = len(alphabet.inputs)
    codes, info = unsigned(values), np.iinfo(values.dtype)
    labels, label_row = alphabet.integers
    possible = np.asarray((labels >= info.min) & (labels <= info.max), dtype=bool)
    numbers, number_row = labels[possible], label_row[possible]
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, -1)
    if high - low >= LARGEST_LOOKUP:
        return _search(dict(zip(numbers.tolist(), number_row.tolist(), strict=True)), values, n)
    rows = np.full(high - low + 2, n, dtype=np.uint32)
    rows[(numbers - low).astype(np.intp)] = number_row
    # Modulo 2^w no two values of the dtype are the same: what is below `low` comes out above `high`.
    return (codes - codes.dtype.type(low % (1 << 8 * codes.itemsize)) if low else codes), rows


def _search(numbers: dict[Any, int], values: Array, n: int) -> tuple[Array, Rows]:
    if not numbers:
        return np.zeros(len(values), dtype=np.uint8), np.array([n], dtype=np.uint32)
    ordered = np.array(sorted(numbers), dtype=values.dtype.newbyteorder("="))
    place = np.searchsorted(ordered, values)
    found = np.append(ordered, ordered[-1])[place] == values
    rows = np.array([*(numbers[number] for number in sorted(numbers)), n], dtype=np.uint32)
    return np.where(found, place, len(ordered)).astype(np.uint32), rows


def object_codes(alphabet: Alphabet, values: list[Any]) -> tuple[Array, Rows]:
    """The row of every value, N for those that are no label; and the rows, which are their own codes."""
    n = len(alphabet.inputs)
    get = alphabet.row_of.get
    dtype = smallest_unsigned(n + 1)
    try:
        codes = np.fromiter(map(get, values, repeat(n)), dtype=dtype, count=len(values))
    except TypeError:  # some value is not hashable, so it is no label
        codes = np.array([get(value, n) if is_hashable(value) else n for value in values], dtype=dtype)
    return codes, np.arange(n + 1, dtype=np.uint32)


def rows_of(alphabet: Alphabet, symbols: Iterable[Any]) -> Rows:
    """The row of every symbol of a dictionary, then the mark for codes beyond it."""
    codes, rows = object_codes(alphabet, list(symbols))
    return np.array([*codes, len(rows) - 1], dtype=np.uint32)


def labels_like(alphabet: Alphabet, dtype: np.dtype[Any]) -> Array:
    """The output labels as an array of this dtype if it holds every one exactly, else of their own."""
    outputs = alphabet.outputs
    if dtype.kind == "U":
        # As wide as the whole alphabet needs: the width that came in may tell the longest of the values.
        texts = [label for label in (*alphabet.inputs, *outputs) if isinstance(label, str)]
        dtype = np.dtype(f"U{max(map(len, texts), default=1)}")
    if dtype.kind in "OV":
        return objects(outputs)
    dtypes = [dtype, None] if len({type(label) for label in outputs}) == 1 else [dtype]
    labels = first_exact(outputs, lambda kind: np.array(outputs, dtype=kind), dtypes)
    return objects(outputs) if labels is None else labels


def first_exact(
    outputs: Iterable[Any], make: Callable[[Any], Any], kinds: Iterable[Any], *refusals: type[Exception]
) -> Any:
    """The labels as the first of these types that holds each as it is; 1, 1.0 and True count as one, "1" does not."""
    known = (TypeError, ValueError, OverflowError, NotImplementedError, Warning)
    errors: tuple[type[Exception], ...] = (*known, *refusals)
    for kind in kinds:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # numbers that would reluctantly be taken for something else
                labels = make(kind)
            if all(bool(a == b) for a, b in zip(as_list(labels), outputs, strict=True)):
                return labels
        except errors:
            continue
    return None


def objects(labels: Iterable[Any]) -> Array:
    """Python values as an array of objects, tuples included."""
    values = list(labels)
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def unsigned(codes: Array) -> Array:
    """The same integers, seen as unsigned: a negative one becomes larger than every code."""
    if codes.dtype.kind not in "iu":
        raise ValuesError(
            "must be integers",
            parameter="codes",
            given=f"an array of {codes.dtype}",
            remedy="for labels use privatize(values)",
        )
    native = codes.astype(codes.dtype.newbyteorder("="), copy=False)
    return native.view(np.dtype(f"u{native.dtype.itemsize}"))


def smallest_unsigned(count: int) -> np.dtype[Any]:
    """The smallest unsigned dtype that can number `count` things."""
    return np.dtype(np.min_scalar_type(max(count - 1, 0)))


def label_rows(codes: Array, rows: Rows) -> Rows:
    """The row of every record, N for those that have none; codes beyond the last have the last one's row."""
    if codes.dtype.itemsize == 8:  # numpy takes by signed integers: the largest codes would be negative
        codes = np.minimum(codes, np.uint64(len(rows) - 1)).astype(np.intp)
    return np.take(rows, codes, mode="clip")


def shown(value: Any) -> str:
    """A value as messages show it: a number of numpy as the number it is, and nothing too long."""
    plain = value.item() if isinstance(value, np.generic) else value
    return str(plain)[:60] if isinstance(plain, np.generic) else brief(plain)  # a longdouble stays one
