"""Parquet: the same file with reports in some columns, a row group at a time.

Nothing of the source but values, names and types is copied. Statistics and dictionaries are of the new data.
How many rows a row group has is decided by the public columns alone: the writer of the source may have
decided by the size in bytes, which depends on the private values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from ..._common.words import missing
from ...draw.columns import Alphabet, Column
from ...draw.containers import as_column, take_rows
from ...errors import FileError
from ..arrow_schema import released_schema, unordered
from .task import ShuffledTable, Steps, Task, Written

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

    def release(self, sink: BinaryIO, task: Task) -> Written:
        """Write the file with the reports of the task; nothing in it needs to be looked at."""
        import pyarrow

        try:
            return Written([], self._release(sink, task))
        except (pyarrow.ArrowException, UnicodeDecodeError) as error:  # found when values were decoded
            raise _unreadable(self.path, error) from None

    def _release(self, sink: BinaryIO, task: Task) -> list[str]:
        import pyarrow
        from pyarrow import parquet

        job, shuffle = task.job, task.shuffle
        types = {name: released_type(part, self.schema.field(name).type) for name, part in job.parts.items()}
        schema = released_schema(self.schema, types, job.parts)
        if job.randomness.note is not None:
            schema = schema.with_metadata({**(schema.metadata or {}), NOTE: job.randomness.note})
        codecs, encoded = self._encodings(job.private)
        quick = [name for name in job.private if pyarrow.types.is_string(self.schema.field(name).type)]
        rows = self._rows_in_a_group(job.private)
        mixed = ShuffledTable(self.path) if shuffle else None
        steps = {name: Steps() for name in schema.names if shuffle and name not in types}
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
                            for name, one in steps.items():
                                one.add(kept.column(name).to_pylist())
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
        return [name for name, one in steps.items() if one.numbered]

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
