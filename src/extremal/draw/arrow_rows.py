"""Rows of arrow columns and tables. Views of text and bytes can be neither taken from nor filtered by arrow."""

from __future__ import annotations

from typing import Any


def take(values: Any, where: Any) -> Any:
    """These rows of an array or a chunked array, of the same type."""
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
