"""One column of answers through everything that wraps a keyed draw: pipelines, the command line, functions in SQL.

Like the containers of `tests.support.containers`, for draws with a key alone. Every one gets the answers in the way in
which a user of that tool would give them, beside another question that is not released.
"""

import csv
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import extremal as ex
from tests.support.cli_cases import run
from tests.support.containers import CONTAINERS
from tests.support.joint import Released


def frame_of(answers, draw):
    return pd.DataFrame({"person": list(draw.ids), "other": answers[::-1], draw.column: answers})


def with_key_file(draw, use):
    """What `use` makes of a key file that holds the key."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "secret.key")
        path.touch(0o600)
        path.write_text(draw.key.hex() + "\n")
        return use(path)


def privatizer(certified, draw, path, **how):
    from extremal.sklearn import Privatizer

    return Privatizer({draw.column: certified}, keyed=ex.Keyed(path, "person", draw.occasion), **how)


def of_named_series(c, answers, draw):
    return c.privatize(pd.Series(answers, name=draw.column), keyed=draw.keyed(list(draw.ids))).tolist()


def of_named_polars(c, answers, draw):
    return c.privatize(pl.Series(draw.column, answers), keyed=draw.keyed(list(draw.ids))).to_list()


def of_frame_function(c, answers, draw):
    frame = pl.from_pandas(frame_of(answers, draw))
    return ex.privatize(frame, {draw.column: c}, keyed=draw.keyed("person"))[draw.column].to_list()


def of_sklearn_frame(c, answers, draw):
    frame = frame_of(answers, draw)
    return with_key_file(
        draw, lambda path: privatizer(c, draw, path).fit_transform(frame)[draw.column].tolist()
    )


def of_sklearn_polars(c, answers, draw):
    frame = pl.from_pandas(frame_of(answers, draw))
    return with_key_file(
        draw, lambda path: privatizer(c, draw, path).fit_transform(frame)[draw.column].to_list()
    )


def of_sklearn_array(c, answers, draw):
    array = frame_of(answers, draw).to_numpy(dtype=object)
    names = ["person", "other", draw.column]
    return with_key_file(
        draw, lambda path: privatizer(c, draw, path, columns=names).fit_transform(array)[:, 1].tolist()
    )


def of_column_transformer(c, answers, draw):
    """Positions 0 and 2 of an array, which the transformer sees as 0 and 1, after an imputer and through a pickle."""
    from sklearn.base import clone
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    array = frame_of(answers, draw).to_numpy(dtype=object)

    def use(path):
        made = privatizer(c, draw, path, columns=["person", draw.column])
        steps = make_pipeline(
            SimpleImputer(strategy="most_frequent"), ColumnTransformer([("a", made, [0, 2])])
        )
        fitted = pickle.loads(pickle.dumps(clone(steps).fit(array)))
        return fitted.transform(array)[:, 0].tolist()

    return with_key_file(draw, use)


def of_cross_validation(c, answers, draw):
    """In parts, as folds come."""
    frame = frame_of(answers, draw)

    def use(path):
        parts = [
            privatizer(c, draw, path).fit(frame).transform(frame.iloc[part])[draw.column]
            for part in np.array_split(np.random.default_rng(0).permutation(len(frame)), 3)
        ]
        return pd.concat(parts).sort_index().tolist()

    return with_key_file(draw, use)


def of_command(c, answers, draw):
    def use(path):
        folder = path.parent
        frame_of(answers, draw).to_csv(folder / "s.csv", index=False)
        c.save(folder / "m.json")
        words = ["privatize", folder / "s.csv", "-o", folder / "t.csv", "-m", folder / "m.json"]
        words += ["--column", draw.column, "--key-file", path, "--id-column", "person", "--order", "keep"]
        done = run(*words, *([] if draw.occasion is None else ["--occasion", draw.occasion]))
        assert done.status == 0, done.err
        with (folder / "t.csv").open(newline="") as file:
            return [row[draw.column] for row in csv.DictReader(file)]

    return with_key_file(draw, use)


def of_duckdb(c, answers, draw):
    """A function of one question, in a query that asks for it twice."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        frame = pa.table({"place": range(len(answers)), "person": list(draw.ids), "answer": answers})
        connection.register("people", frame)

        def privatize(values: pa.ChunkedArray, ids: pa.ChunkedArray) -> pa.ChunkedArray:
            return c.privatize(values, keyed=draw.keyed(ids), column=draw.column)

        connection.create_function("privatize", privatize, ["VARCHAR", "VARCHAR"], "VARCHAR", type="arrow")
        query = "SELECT privatize(answer, person), privatize(answer, person) FROM people ORDER BY place"
        rows = connection.sql(query).fetchall()
    assert all(one == two for one, two in rows)
    return [one for one, _ in rows]


PIPELINES = {
    "named pandas Series": of_named_series,
    "named polars Series": of_named_polars,
    "privatize": of_frame_function,
    "scikit-learn on pandas": of_sklearn_frame,
    "scikit-learn on polars": of_sklearn_polars,
    "scikit-learn on an array": of_sklearn_array,
    "ColumnTransformer by positions": of_column_transformer,
    "folds of a cross-validation": of_cross_validation,
    "command line": of_command,
    "DuckDB": of_duckdb,
}


def passed_through(name, certified, answers, draw):
    """The reports of these answers by a container or a pipeline, with what their noise is documented to depend on."""
    made = {**CONTAINERS, **PIPELINES}[name](certified, list(answers), draw)
    how = f"{name} {draw.column} {draw.occasion or ''}".strip()
    return Released(how, certified, tuple(answers), tuple(made), draw.seed(certified))
