"""Reports out of a store: CSV and Parquet, by their random ids, never with anything about invitations."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from .published import Asked
from .store import Store


def columns(store: Store) -> list[str]:
    """The names of the columns: one a question, one an item where items are drawn one by one."""
    return [name for question in store.published.questions for name in question_columns(question)]


def question_columns(question: Asked) -> list[str]:
    """Those of one question."""
    if question.form == "each":
        return [f"{question.name}: {item}" for item in question.answers]
    return [question.name]


def cells(store: Store) -> Iterator[list[Any]]:
    """The reports of each person, by id: texts and numbers as the mechanism files have them."""
    questions = store.published.questions
    for _, values in store.rows():
        row: list[Any] = []
        for question, value in zip(questions, values, strict=True):
            row += value if question.form == "each" else [value]
        yield [_cell(value) for value in row]


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def csv_text(store: Store) -> str:
    """The reports as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns(store))
    writer.writerows(["" if value is None else value for value in row] for row in cells(store))
    return text.getvalue()


def parquet_bytes(store: Store) -> bytes:
    """The same as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    rows, names = list(cells(store)), columns(store)
    arrays = [pyarrow.array([row[k] for row in rows]) for k in range(len(names))]
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays, names=names), sink)
    return sink.getvalue()
