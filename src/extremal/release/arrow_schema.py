"""The schema of a table whose columns were privatised: what a schema says besides names and types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._common.json import parse_json
from ..draw.columns import Alphabet

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
            about = {key: text for key, text in (old.metadata or {}).items() if key == FIELD_ID}
            fields.append(pyarrow.field(old.name, types[old.name], old.nullable, about or None))
        else:
            fields.append(_bare(old))
    metadata = {}
    described = (schema.metadata or {}).get(b"pandas")
    if described is not None:
        about_pandas = _pandas(described, types, parts)
        if about_pandas is not None:
            metadata[b"pandas"] = about_pandas
    return pyarrow.schema(fields, metadata or None)


def _bare(old: Any) -> Any:
    """The field of a public column, and of what it is made of, without metadata that its type does not need."""
    import pyarrow

    about = {key: text for key, text in (old.metadata or {}).items() if key in (FIELD_ID, *EXTENSION)}
    return pyarrow.field(old.name, _bare_type(old.type), old.nullable, about or None)


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
