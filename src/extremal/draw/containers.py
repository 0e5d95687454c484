"""Columns of any container as codes, and back: pandas, polars, arrow, and whatever else holds labels.

pandas and polars are not imported: a Series can only come from a program that has imported its library.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ValuesError
from .columns import (
    Alphabet,
    Array,
    Column,
    Kept,
    Rows,
    first_exact,
    from_list,
    from_numpy,
    labels_like,
    numpy_codes,
    object_codes,
    rows_of,
    smallest_unsigned,
    unsigned,
)
from .sampler import PIECE, cores

WIDE = ("Int128", "UInt128")  # numpy has none
LARGEST_CATEGORY = 1 << 24  # codes of a polars Categorical that are looked up; larger ones are read as text


def as_column(alphabet: Alphabet, values: Any) -> Column:
    """Any column as codes."""
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas and isinstance(values, pandas.Series):
        return from_pandas(alphabet, values, pandas)
    if polars and isinstance(values, polars.Series):
        return from_polars(alphabet, values, polars)
    if pyarrow and isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return from_arrow(alphabet, values)
    if isinstance(values, np.ndarray):
        return from_numpy(alphabet, values)
    if (
        isinstance(values, str | bytes | Mapping | Set)  # a set has no order and lost who answered the same
        or not isinstance(values, Iterable)
        or hasattr(values, "columns")
    ):
        raise ValuesError(
            "must be one column of labels",
            parameter="values",
            given=type(values).__name__,
            remedy="give a list, an array or a Series, and a single value as [value]",
        )
    return from_list(alphabet, list(values))


def from_pandas(alphabet: Alphabet, values: Any, pandas: Any) -> Column:
    """A Series: codes of a categorical as they are, numbers by table, all else by pandas' own factorize."""
    outcomes = smallest_unsigned(len(alphabet.outputs))
    kept_dtype = None  # pandas would guess another for an array of objects
    if isinstance(values.dtype, pandas.CategoricalDtype):
        codes, rows = unsigned(values.array.codes), rows_of(alphabet, values.cat.categories.tolist())
        dtype = _pandas_categories(alphabet, values.dtype, pandas)
        place = np.asarray(dtype.categories.get_indexer(pandas.Index(list(alphabet.outputs), dtype="object")))
        in_order = np.array_equal(place, np.arange(len(place)))
        narrow = np.min_scalar_type(-len(dtype.categories))
        outcomes = np.dtype(f"u{narrow.itemsize}")

        def build(drawn: Array) -> Any:
            signed = drawn.view(narrow) if in_order else place.astype(narrow)[drawn]
            return pandas.Categorical.from_codes(signed, dtype=dtype)

    elif isinstance(values.dtype, np.dtype):
        array = values.to_numpy()
        codes, rows = numpy_codes(alphabet, array)
        labels = labels_like(alphabet, values.dtype)
        kept_dtype = values.dtype if labels.dtype == values.dtype else None

        def build(drawn: Array) -> Any:
            return labels[drawn]

    else:
        factors, symbols = pandas.factorize(values.array)
        codes, rows = unsigned(factors), rows_of(alphabet, symbols.tolist())
        outputs = list(alphabet.outputs)
        exact = first_exact(outputs, lambda kind: pandas.array(outputs, dtype=kind), [values.dtype])
        symbols_out = pandas.Series(outputs).array if exact is None else exact

        def build(drawn: Array) -> Any:
            return symbols_out.take(drawn.astype(np.intp))

    def rebuild(drawn: Array, kept: Kept) -> Any:
        index = values.index if kept is None else values.index[kept]
        return pandas.Series(build(drawn), index=index, name=values.name, dtype=kept_dtype, copy=False)

    def values_at(where: NDArray[np.intp]) -> Any:
        return values.iloc[where].tolist()

    return Column(codes, rows, values_at, rebuild, outcomes, values.name)


def _pandas_categories(alphabet: Alphabet, dtype: Any, pandas: Any) -> Any:
    """A categorical dtype for the reports that does not depend on the values.

    Categories may be just the values that occurred, in the order in which they did. So they are all labels in their
    own order; an order that was declared over all of them is kept.
    """
    every = alphabet.vocabulary
    given = dtype.categories.tolist()
    if dtype.ordered and set(every) <= set(given):
        known = set(every)
        return pandas.CategoricalDtype([category for category in given if category in known], ordered=True)
    return pandas.CategoricalDtype(every)


def from_polars(alphabet: Alphabet, values: Any, polars: Any) -> Column:
    """A Series: codes of an Enum or Categorical as they are, text and numbers by table, else value by value."""
    codes, rows = _polars_codes(alphabet, values, polars)
    labels = _polars_labels(alphabet, values.dtype, polars)

    def rebuild(drawn: Array, kept: Kept) -> Any:
        return _polars_gather(labels, drawn, polars).rename(values.name)

    def values_at(where: NDArray[np.intp]) -> Any:
        return values.gather(polars.Series(where)).to_list()

    outcomes = smallest_unsigned(len(alphabet.outputs))
    return Column(codes, rows, values_at, rebuild, outcomes, values.name)


def _polars_gather(labels: Any, drawn: Array, polars: Any) -> Any:
    """labels[drawn]. Codes of categories are gathered by all cores: polars does it with one.

    Not so strings: making one piece of the parts would cost more than it saves.
    """
    if len(drawn) <= PIECE or not isinstance(labels.dtype, polars.Enum | polars.Categorical):
        return labels.gather(polars.Series(drawn))
    step = -(-len(drawn) // cores())
    with ThreadPoolExecutor(cores()) as pool:
        parts = pool.map(
            lambda start: labels.gather(polars.Series(drawn[start : start + step])),
            range(0, len(drawn), step),
        )
        return polars.concat(list(parts), rechunk=True)


def _polars_codes(alphabet: Alphabet, values: Any, polars: Any) -> tuple[Array, Rows]:
    dtype = values.dtype
    if isinstance(dtype, polars.Enum):
        return _physical(values, polars), rows_of(alphabet, dtype.categories.to_list())
    texts = [label for label in alphabet.inputs if isinstance(label, str)]
    if isinstance(dtype, polars.Categorical) and hasattr(polars, "Categories"):
        # Codes mean the same in every Series of this dtype, so the labels' own codes are the dictionary.
        numbers = polars.Series(texts, dtype=dtype).to_physical().to_numpy()
        if len(texts) and numbers.max() < LARGEST_CATEGORY:
            rows = np.full(int(numbers.max()) + 2, len(alphabet.inputs), dtype=np.uint32)
            rows[numbers] = [alphabet.row_of[text] for text in texts]
            return _physical(values, polars), rows
    if isinstance(dtype, polars.Categorical | polars.String):
        known = values.cast(polars.String).cast(polars.Enum(texts), strict=False)  # null if it is no label
        return _physical(known, polars), rows_of(alphabet, texts)
    if dtype == polars.Boolean:
        return _physical(values.cast(polars.UInt8), polars), rows_of(alphabet, [False, True])
    if dtype.is_numeric() and dtype not in [getattr(polars, name, None) for name in WIDE]:
        if values.null_count() == 0:
            return numpy_codes(alphabet, values.to_numpy())
        if dtype.is_integer() or dtype.is_float():
            codes, rows = numpy_codes(alphabet, values.fill_null(0).to_numpy())
            codes = codes.astype(np.result_type(codes, np.uint32))
            codes[values.is_null().to_numpy()] = np.iinfo(codes.dtype).max  # beyond every code
            return codes, rows
    return object_codes(alphabet, values.to_list())


def _physical(values: Any, polars: Any) -> Array:
    codes = values.to_physical()
    if codes.null_count():
        codes = codes.cast(polars.UInt32).fill_null((1 << 32) - 1)
    return np.asarray(codes.to_numpy())


def _polars_labels(alphabet: Alphabet, dtype: Any, polars: Any) -> Any:
    outputs = list(alphabet.outputs)
    choices = [dtype]
    # An Enum of the values that occurred would tell which did: it must list all labels, or is replaced by theirs.
    if isinstance(dtype, polars.Enum) and not {*alphabet.inputs, *outputs} <= set(dtype.categories.to_list()):
        texts = all(isinstance(label, str) for label in alphabet.vocabulary)
        choices = [polars.Enum(alphabet.vocabulary)] if texts else []
    labels = first_exact(
        outputs,
        lambda kind: polars.Series(outputs, dtype=kind, strict=True),
        [*choices, None],
        polars.exceptions.PolarsError,
    )
    return polars.Series(outputs, dtype=polars.Object) if labels is None else labels


def from_arrow(alphabet: Alphabet, values: Any) -> Column:
    """An Array or ChunkedArray: indices of a dictionary as they are, integers by table, else encoded."""
    import pyarrow

    if pyarrow.types.is_run_end_encoded(values.type):
        return _from_runs(alphabet, values)
    chunked = isinstance(values, pyarrow.ChunkedArray)
    codes, rows = _arrow_codes(alphabet, values)
    encoded = pyarrow.types.is_dictionary(values.type)
    labels = _arrow_labels(alphabet, values.type.value_type if encoded else values.type)
    outcomes = smallest_unsigned(len(alphabet.outputs))
    index = None
    if encoded:
        index = np.dtype(values.type.index_type.to_pandas_dtype())
        if np.iinfo(index).max < len(alphabet.outputs) - 1:
            index = outcomes
        outcomes = np.dtype(f"u{index.itemsize}")

    def rebuild(drawn: Array, kept: Kept) -> Any:
        if index is None:
            reports = take(labels, pyarrow.array(drawn))
        else:
            reports = pyarrow.DictionaryArray.from_arrays(
                pyarrow.array(drawn.view(index)), labels, ordered=values.type.ordered, safe=False
            )
        if not chunked:
            return reports
        if kept is not None:
            return pyarrow.chunked_array([reports])
        stops = np.cumsum([0, *map(len, values.chunks)]).tolist()
        parts = [reports.slice(a, b - a) for a, b in pairwise(stops)]
        return pyarrow.chunked_array(parts, type=reports.type)

    def values_at(where: NDArray[np.intp]) -> Any:
        return take(values, pyarrow.array(where)).to_pylist()

    return Column(codes, rows, values_at, rebuild, outcomes)


def _from_runs(alphabet: Alphabet, values: Any) -> Column:
    """A column stored as runs of equal values: decoded, and the reports encoded by their own runs."""
    from pyarrow import compute

    column = from_arrow(alphabet, compute.run_end_decode(values))

    def rebuild(drawn: Array, kept: Kept) -> Any:
        return compute.run_end_encode(column.rebuild(drawn, kept), run_end_type=values.type.run_end_type)

    return replace(column, rebuild=rebuild)


def _arrow_codes(alphabet: Alphabet, values: Any) -> tuple[Array, Rows]:
    import pyarrow

    if isinstance(values, pyarrow.ChunkedArray):
        values = values.unify_dictionaries().combine_chunks()
    if pyarrow.types.is_integer(values.type) and values.null_count == 0:
        return numpy_codes(alphabet, values.to_numpy())
    if not pyarrow.types.is_dictionary(values.type):
        try:
            values = values.dictionary_encode()
        except pyarrow.ArrowNotImplementedError:
            return object_codes(alphabet, values.to_pylist())
    indices = values.indices
    if indices.null_count:
        indices = indices.cast(pyarrow.int64()).fill_null(-1)
    return unsigned(indices.to_numpy()), rows_of(alphabet, values.dictionary.to_pylist())


def _arrow_labels(alphabet: Alphabet, kind: Any) -> Any:
    import pyarrow

    outputs: Sequence[Any] = list(alphabet.outputs)
    labels = first_exact(
        outputs, lambda choice: pyarrow.array(outputs, type=choice), [kind, None], pyarrow.ArrowException
    )
    if labels is None:
        raise ValuesError(
            "an arrow column holds values of one type, but the output labels are of several",
            remedy="rename the outputs of the mechanism, or give the values as a list",
        )
    return labels


def take(values: Any, where: Any) -> Any:
    """These rows of an array or a chunked array, of the same type; arrow itself takes none of views of text."""
    import pyarrow
    from pyarrow import types

    try:
        return values.take(where)
    except pyarrow.ArrowNotImplementedError:
        plain = pyarrow.large_binary() if types.is_binary_view(values.type) else pyarrow.large_string()
        return values.cast(plain).take(where).cast(values.type)


def take_rows(table: Any, where: Any) -> Any:
    """These rows of a table, with the same schema."""
    import pyarrow

    try:
        return table.take(where)
    except pyarrow.ArrowNotImplementedError:
        columns = [take(column, where) for column in table.columns]
        return pyarrow.Table.from_arrays(columns, schema=table.schema)
