"""One column of answers through every container, and its reports in the order of the people.

Ids are given as they are written on paper. Each container gets them as a program would have read them: a list keeps
the text, pandas makes numbers of a column of digits, a CSV file holds the text again.
"""

import io
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import csv as pa_csv
from pyarrow import parquet as pq

import extremal as ex
from tests.support.joint import Released, promise


@dataclass(frozen=True)
class Draw:
    """How the words of a release are drawn."""

    key: bytes | None = None
    ids: tuple[str, ...] | None = None
    column: Any = "answer"
    occasion: Any = None
    source: Any = None
    more: dict[str, Any] = field(default_factory=dict)

    def seed(self, certified):
        return (
            None
            if self.key is None
            else (self.key, self.column, str(self.occasion or ""), promise(certified))
        )

    def keyed(self, ids):
        return None if self.key is None else ex.Keyed(self.key, ids, self.occasion)

    def arguments(self, ids):
        """For a column by itself."""
        column = {} if self.key is None else {"column": self.column}
        return {"keyed": self.keyed(ids), **column, "source": self.source, **self.more}

    def frame_arguments(self):
        return {"keyed": self.keyed("id"), "source": self.source, **self.more}

    def file_arguments(self):
        return {**self.frame_arguments(), "unmarked": "allow", "order": "keep", **self.more}


def text_of(ids, answers, column):
    numbers = ids or [str(i) for i in range(len(answers))]
    lines = [f"{number},{answer}" for number, answer in zip(numbers, answers, strict=True)]
    return "\n".join([f"id,{column}", *lines, ""])


def pandas_ids(draw):
    return None if draw.ids is None else pd.read_csv(io.StringIO("id\n" + "\n".join(draw.ids)))["id"]


def pandas_frame(answers, draw):
    return pd.read_csv(io.StringIO(text_of(draw.ids, answers, draw.column)))


def of_list(c, answers, draw):
    return c.privatize(list(answers), **draw.arguments(draw.ids and list(draw.ids)))


def of_numpy(c, answers, draw):
    ids = None if draw.ids is None else pandas_ids(draw).to_numpy()
    return c.privatize(np.array(answers), **draw.arguments(ids)).tolist()


def of_codes(c, answers, draw):
    rows = np.array([c.inputs.index(answer) for answer in answers], dtype=np.int16)
    return [c.outputs[j] for j in c.privatize_codes(rows, **draw.arguments(pandas_ids(draw)))]


def of_series(c, answers, draw):
    series = pd.Series(answers, name=draw.column, index=range(5, 5 + len(answers)))
    return c.privatize(series, **draw.arguments(pandas_ids(draw))).tolist()


def of_categories(c, answers, draw):
    return list(c.privatize(pd.Series(pd.Categorical(answers)), **draw.arguments(pandas_ids(draw))))


def of_polars(c, answers, draw):
    ids = None if draw.ids is None else pl.Series(draw.ids)
    return c.privatize(pl.Series("other", answers), **draw.arguments(ids)).to_list()


def of_arrow(c, answers, draw):
    chunks = pa.chunked_array([answers[:700], answers[700:]])
    ids = None if draw.ids is None else pa.array(draw.ids)
    return c.privatize(chunks, **draw.arguments(ids)).to_pylist()


def of_dictionary(c, answers, draw):
    ids = None if draw.ids is None else pa.array(draw.ids, pa.large_string())
    return c.privatize(pa.array(answers).dictionary_encode(), **draw.arguments(ids)).to_pylist()


def of_pandas_frame(c, answers, draw):
    return ex.privatize(pandas_frame(answers, draw), {draw.column: c}, **draw.frame_arguments())[
        draw.column
    ].tolist()


def of_polars_frame(c, answers, draw):
    frame = pl.read_csv(text_of(draw.ids, answers, draw.column).encode(), infer_schema_length=None)
    return ex.privatize(frame, {draw.column: c}, **draw.frame_arguments())[draw.column].to_list()


def of_arrow_table(c, answers, draw):
    table = pa_csv.read_csv(io.BytesIO(text_of(draw.ids, answers, draw.column).encode()))
    return ex.privatize(table, {draw.column: c}, **draw.frame_arguments())[draw.column].to_pylist()


def of_csv(c, answers, draw):
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source.csv"), Path(folder, "target.csv")
        source.write_text(text_of(draw.ids, answers, draw.column))
        ex.privatize(source, {draw.column: c}, target=target, **draw.file_arguments())
        return [line.rpartition(",")[2] for line in target.read_text().splitlines()[1:]]


def of_parquet(c, answers, draw):
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source.parquet"), Path(folder, "target.parquet")
        ids = draw.ids or list(range(len(answers)))
        pq.write_table(pa.table({"id": pa.array(ids), draw.column: answers}), source, row_group_size=900)
        ex.privatize(source, {draw.column: c}, target=target, **draw.file_arguments())
        return pq.read_table(target)[draw.column].to_pylist()


CONTAINERS = {
    "list": of_list,
    "numpy array": of_numpy,
    "codes": of_codes,
    "pandas Series": of_series,
    "pandas categories": of_categories,
    "polars Series": of_polars,
    "arrow array": of_arrow,
    "arrow dictionary": of_dictionary,
    "pandas frame": of_pandas_frame,
    "polars frame": of_polars_frame,
    "arrow table": of_arrow_table,
    "CSV file": of_csv,
    "Parquet file": of_parquet,
}


def release(container, certified, answers, draw):
    """The reports of these answers by this container, with what their noise is documented to depend on."""
    reports = CONTAINERS[container](certified, list(answers), draw)
    return Released(
        f"{container} {draw.column} {draw.occasion or ''}".strip(),
        certified,
        tuple(answers),
        tuple(reports),
        draw.seed(certified),
    )
