"""Parquet: the same file with reports in some columns, a row group at a time.

Nothing of the source but values, names and types is copied. Statistics and dictionaries are of the new data.
How many rows a row group has is decided by the public columns alone: the writer of the source may have
decided by the size in bytes, which depends on the private values.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from ..._common.json import parse_json
from ..._common.words import missing
from ...draw.columns import Alphabet, Column
from ...draw.containers import as_column, take_rows
from ...errors import FileError
from .task import ShuffledTable, Task

FIELD_ID = b"PARQUET:field_id"  # a number by which table formats know a column; says nothing about values
EXTENSION = (b"ARROW:extension:name", b"ARROW:extension:metadata")  # without these the type is lost
LONGEST = 60  # characters of the name of a type or a version
# What pandas writes about a column; anything else is somebody's text.
ABOUT_TYPE = ("num_categories", "ordered", "timezone", "precision", "scale", "encoding")


def released_schema(schema: Any, types: Mapping[str, Any], parts: Mapping[str, Alphabet]) -> Any:
    """The schema with the types of the released columns, and no metadata that may describe their values.

    Metadata of a table is anybody's text: counts, ranges, a list of categories. Of the table's only pandas'
    own description of index and columns is kept, as far as pandas uses it, and what it says of released columns is
    written anew from their types and the number of their outputs. Of other columns only what their types need.
    """
    import pyarrow

    fields = []
    for old in schema:
        if old.name in types:
            fields.append(_bare(old, types[old.name], [FIELD_ID]))
        else:
            fields.append(_bare(old))
    metadata = {}
    described = (schema.metadata or {}).get(b"pandas")
    if described is not None:
        about_pandas = _pandas(described, types, parts)
        if about_pandas is not None:
            metadata[b"pandas"] = about_pandas
    return pyarrow.schema(fields, metadata or None)


def _bare(old: Any, kind: Any = None, kept: Sequence[bytes] = (FIELD_ID, *EXTENSION)) -> Any:
    """The field, and what it is made of, without metadata that its type does not need; or of another type."""
    import pyarrow

    about = {key: text for key, text in (old.metadata or {}).items() if key in kept}
    new = _bare_type(old.type) if kind is None else kind
    return pyarrow.field(old.name, new, old.nullable, about or None)


def _bare_type(kind: Any) -> Any:
    import pyarrow
    import pyarrow.types as of

    if of.is_struct(kind):
        return pyarrow.struct([_bare(kind.field(i)) for i in range(kind.num_fields)])
    if of.is_fixed_size_list(kind):
        return pyarrow.list_(_bare(kind.value_field), kind.list_size)
    if of.is_list(kind):
        return pyarrow.list_(_bare(kind.value_field))
    if of.is_large_list(kind):
        return pyarrow.large_list(_bare(kind.value_field))
    if of.is_map(kind):
        return pyarrow.map_(_bare(kind.key_field), _bare(kind.item_field), kind.keys_sorted)
    return kind


def unordered(kind: Any) -> Any:
    """The type without the claim that its dictionary stands in order: it now stands in the mechanism's."""
    import pyarrow

    if pyarrow.types.is_dictionary(kind) and kind.ordered:
        return pyarrow.dictionary(kind.index_type, kind.value_type)
    return kind


def _pandas(described: bytes, types: Mapping[str, Any], parts: Mapping[str, Alphabet]) -> bytes | None:
    try:
        document = parse_json(described)
        columns = []
        for column in document["columns"]:
            name = column["field_name"]
            if name not in types:
                columns.append(_about(column))
                continue
            new = _pandas_type(types[name], len(parts[name].outputs), str(column["numpy_type"]))
            if new is not None:
                columns.append({**_about(column), **new})
        kept: dict[str, Any] = {
            "index_columns": [_index(entry) for entry in document["index_columns"]],
            "column_indexes": [_about(entry) for entry in document.get("column_indexes", [])],
            "columns": columns,
        }
        for key in ("pandas_version", "creator"):
            if key in document:
                kept[key] = _short(document[key])
        return json.dumps(kept).encode()
    except (ValueError, KeyError, TypeError, AttributeError):  # not what pandas writes, so of no use to it
        return None


def _about(column: Any) -> dict[str, Any]:
    """What pandas says of a column, and nothing that somebody else added."""
    field, about = column["field_name"], column.get("metadata")
    return {
        "name": column["name"] if column["name"] is None else field,
        "field_name": field,
        "pandas_type": _short(column["pandas_type"]),
        "numpy_type": _short(column["numpy_type"]),
        "metadata": about and {key: _short(about[key]) for key in ABOUT_TYPE if key in about},
    }


def _index(entry: Any) -> Any:
    """A column of the index by its name, or a range."""
    if isinstance(entry, str):
        return entry
    return {"kind": "range", "name": None, **{key: int(entry[key]) for key in ("start", "stop", "step")}}


def _short(value: Any) -> Any:
    """A number or a short text; of the creator its library and version."""
    if isinstance(value, dict):
        return {key: _short(value[key]) for key in ("library", "version") if key in value}
    if value is None or isinstance(value, bool | int) or (isinstance(value, str) and len(value) <= LONGEST):
        return value
    raise ValueError("not what pandas writes")


def _pandas_type(kind: Any, outputs: int, given: str) -> dict[str, Any] | None:
    """What pandas would say of a column of this arrow type; a dtype that was chosen for it is kept."""
    import pyarrow.types as of

    if of.is_dictionary(kind):
        about = {"num_categories": outputs, "ordered": bool(kind.ordered)}
        codes = str(np.min_scalar_type(-outputs))
        return {"pandas_type": "categorical", "numpy_type": codes, "metadata": about}
    if of.is_string(kind) or of.is_large_string(kind):
        text = given if given in ("str", "string") else "object"
        return {"pandas_type": "unicode", "numpy_type": text, "metadata": None}
    if of.is_integer(kind) or of.is_floating(kind) or of.is_boolean(kind):
        name = np.dtype(kind.to_pandas_dtype()).name
        nullable = given.lower().removesuffix("ean") == name  # Int64, Float32, boolean
        return {"pandas_type": name, "numpy_type": given if nullable else name, "metadata": None}
    return None


GROUP_BYTES = 1 << 25  # of a row group in memory
MOST_ROWS = 1 << 20  # in a row group
READ_BUFFER = 1 << 20  # bytes of a column that are read at a time, however large its part of the file
NOTE = b"extremal"


@dataclass(frozen=True, eq=False)
class ParquetData:
    """A Parquet file to read from."""

    path: str
    state: os.stat_result  # before anything was read
    schema: Any
    metadata: Any

    @classmethod
    def open(cls, path: str) -> ParquetData:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise missing("Parquet files need pyarrow", "parquet") from None
        try:
            state = os.stat(path)
            with parquet.ParquetFile(path) as file:
                data = cls(path, state, file.schema_arrow, file.metadata)
            _ = data.columns  # decoded, or refused
        except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
            raise _unreadable(path, error) from None
        return data

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    @property
    def total(self) -> int:
        """Rows: what progress is counted in."""
        return int(self.metadata.num_rows)

    def ids(self, name: str) -> Iterator[Any]:
        """The column of ids, part by part."""
        for table in self._tables(MOST_ROWS, columns=[name]):
            yield table.column(0)

    def parts(self, names: Sequence[str]) -> Iterator[tuple[list[Any], int]]:
        """Some columns, part by part, and how many rows have been read."""
        done = 0
        for table in self._tables(MOST_ROWS, columns=list(names)):
            done += len(table)
            yield [table.column(name) for name in names], done

    def release(self, sink: BinaryIO, task: Task) -> list[str]:
        """Write the file with the reports of the task; nothing in it needs to be looked at."""
        import pyarrow

        try:
            self._release(sink, task)
        except (pyarrow.ArrowException, UnicodeDecodeError) as error:  # found when values were decoded
            raise _unreadable(self.path, error) from None
        return []

    def _release(self, sink: BinaryIO, task: Task) -> None:
        import pyarrow
        from pyarrow import parquet

        job = task.job
        types = {name: released_type(part, self.schema.field(name).type) for name, part in job.parts.items()}
        schema = released_schema(self.schema, types, job.parts)
        if job.randomness.note is not None:
            schema = schema.with_metadata({**(schema.metadata or {}), NOTE: job.randomness.note})
        codecs, encoded = self._encodings(job.private)
        quick = [name for name in job.private if pyarrow.types.is_string(self.schema.field(name).type)]
        rows = self._rows_in_a_group(job.private)
        mixed = ShuffledTable(self.path) if task.shuffle else None
        public = [name for name in schema.names if name not in types]
        with parquet.ParquetWriter(sink, schema, compression=codecs, use_dictionary=encoded) as writer:
            for table in self._tables(rows, quick):
                drawn = task.draw(_reader(table), len(table), table.column)
                if drawn is not None:
                    kept = table
                    if drawn.kept is not None:
                        kept = take_rows(table, pyarrow.array(np.flatnonzero(drawn.kept)))
                    columns = [
                        drawn.columns[name].cast(types[name]) if name in types else kept.column(name)
                        for name in schema.names
                    ]
                    if len(kept):
                        released = pyarrow.Table.from_arrays(columns, schema=schema).combine_chunks()
                        if mixed is not None:
                            mixed.add(released)
                            for name in public:
                                task.keep(name, kept.column(name).to_pylist())
                        else:
                            writer.write_table(released, len(released))
                        del released
                    del kept, columns
                elif job.give_up():
                    break
                del table, drawn  # before the next one is read: memory holds one table, not two
                task.progress(job.rows)
            if mixed is not None and len(mixed):
                writer.write_table(mixed.table(job.randomness.source), rows)

    def _tables(
        self, rows: int, encoded: list[str] | None = None, columns: list[str] | None = None
    ) -> Iterator[Any]:
        """The file in tables of so many rows, whatever the row groups it is stored in; fewer in the last."""
        import pyarrow

        table, size = [], 0
        for batch in self._batches(rows, encoded, columns):
            table.append(batch)
            size += len(batch)
            if size >= rows:
                whole = pyarrow.Table.from_batches(table)
                table, size = whole.slice(rows).to_batches(), size - rows
                first = whole.slice(0, rows)
                del whole, batch
                yield first
                del first
        if size:
            yield pyarrow.Table.from_batches(table)

    def _batches(self, rows: int, encoded: list[str] | None, columns: list[str] | None) -> Iterator[Any]:
        import pyarrow
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(
                self.path, read_dictionary=encoded, buffer_size=READ_BUFFER, pre_buffer=False
            ) as file:
                # One by one: a reader of many row groups keeps something of each until it is done.
                for group in range(file.num_row_groups):
                    yield from file.iter_batches(rows, row_groups=[group], columns=columns)
        except (pyarrow.ArrowException, OSError) as error:
            raise _unreadable(self.path, error) from None

    def _rows_in_a_group(self, private: list[str]) -> int:
        """As many as fit into GROUP_BYTES, a power of two, judged by the columns that are not private."""
        public = [name for name in self.columns if name not in private]
        width = 16.0 * len(private)
        first = next(self._tables(1024, columns=public), None) if public and self.total else None
        if first is not None:
            stored = sum(
                self.metadata.row_group(g).column(c).total_uncompressed_size
                for g in range(self.metadata.num_row_groups)
                for c in range(self.metadata.num_columns)
                if self._column_of(c) not in private
            )
            width += max(first.nbytes / len(first), stored / self.total)
        return min(MOST_ROWS, max(1024, 1 << int(np.log2(GROUP_BYTES / width))))

    def _encodings(self, private: list[str]) -> tuple[Any, list[str]]:
        """The codec of every column, and the columns stored with a dictionary: private ones always.

        Private columns get the codec of a public one where there is any: a writer may have chosen by size.
        As the first row group has it, of which a record is read first: asked for the codec of a damaged file,
        pyarrow ends the process, while reading such a file is an error.
        """
        codecs: dict[str, str] = {}
        encoded = set(private)
        if next(self._batches(1, None, None), None) is not None:
            group = self.metadata.row_group(0)
            for c in range(group.num_columns):
                column = group.column(c)
                codecs[column.path_in_schema] = column.compression.replace("UNCOMPRESSED", "NONE")
                if any("DICTIONARY" in encoding for encoding in column.encodings):
                    encoded.add(column.path_in_schema)
        public = [codec for path, codec in codecs.items() if path not in private]
        codecs.update({name: public[0] for name in private if public})
        different = set(codecs.values())
        return (codecs if len(different) > 1 else next(iter(different), "SNAPPY")), sorted(encoded)

    def _column_of(self, leaf: int) -> str:
        """The column that a leaf of the schema belongs to."""
        path = str(self.metadata.schema.column(leaf).path)
        return path if path in self.columns else path.partition(".")[0]


def released_type(part: Alphabet, given: Any) -> Any:
    """The arrow type of the reports of a column of this type: it depends on the labels alone."""
    import pyarrow

    column = as_column(part, pyarrow.array([], given))
    return unordered(column.rebuild(np.empty(0, dtype=column.outcomes), None).type)


def _reader(table: Any) -> Callable[[Alphabet, str], Column]:
    return lambda part, name: as_column(part, table.column(name))


def _unreadable(path: str, error: Exception) -> FileError:
    return FileError(
        f"not a Parquet file that can be read: {path}: {' '.join(str(error).split())[:120]}",
        remedy='for a CSV file give `format="csv"`',
    )
