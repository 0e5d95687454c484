"""The schema of a table whose columns were privatised: what a schema says besides names and types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._json import parse_json
from .sampler import Sampler

FIELD_ID = b"PARQUET:field_id"  # a number by which table formats know a column; says nothing about values


def released_schema(schema: Any, types: Mapping[str, Any], parts: Mapping[str, Sampler]) -> Any:
    """The schema with the types of the released columns, and no metadata that may describe their values.

    Metadata of a table is anybody's text: counts, ranges, a list of categories. Of the table's only pandas'
    own description of index and columns is kept, and what it says of released columns is written anew from
    their types and the number of their outputs. Metadata of other columns stay.
    """
    import pyarrow

    fields = []
    for old in schema:
        new = old
        if old.name in types:
            about = {key: text for key, text in (old.metadata or {}).items() if key == FIELD_ID}
            new = pyarrow.field(old.name, types[old.name], old.nullable, about or None)
        fields.append(new)
    metadata = {}
    described = (schema.metadata or {}).get(b"pandas")
    if described is not None:
        about_pandas = _pandas(described, types, parts)
        if about_pandas is not None:
            metadata[b"pandas"] = about_pandas
    return pyarrow.schema(fields, metadata or None)


def unordered(kind: Any) -> Any:
    """The type without the claim that its dictionary stands in order: it now stands in the mechanism's."""
    import pyarrow

    if pyarrow.types.is_dictionary(kind) and kind.ordered:
        return pyarrow.dictionary(kind.index_type, kind.value_type)
    return kind


def _pandas(described: bytes, types: Mapping[str, Any], parts: Mapping[str, Sampler]) -> bytes | None:
    try:
        document = parse_json(described)
        document.pop("attributes", None)  # DataFrame.attrs: anybody's text
        columns = []
        for column in document["columns"]:
            name = column["field_name"]
            if name not in types:
                columns.append(column)
                continue
            new = _pandas_type(types[name], len(parts[name].outputs), str(column["numpy_type"]))
            if new is not None:
                columns.append({"name": column["name"], "field_name": name, **new})
        return json.dumps({**document, "columns": columns}).encode()
    except (ValueError, KeyError, TypeError, AttributeError):  # not what pandas writes, so of no use to it
        return None


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
