"""A plain installation has no pyarrow: everything works but Parquet files and arrow's own columns."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import extremal as ex
from extremal.certification.certified import load
from tests.support.cli_cases import ANSWERS, write_survey

PATH = os.pathsep.join([str(Path(ex.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
BLOCKED = "import sys; sys.modules['pyarrow'] = None\n"  # importing it is an ImportError


def python(program, *arguments, folder):
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + program, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PATH},
        capture_output=True,
        text=True,
    )


COMMANDS = """
import contextlib, io, json
from extremal.cli import main

done = []
for line in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(line.split())
        except SystemExit as end:
            status = end.code
    done.append((status or 0, out.getvalue(), err.getvalue()))
json.dump(done, sys.stdout)
"""


def commands(lines, folder):
    """Status, output and errors of the commands, one after the other in one process."""
    done = python(COMMANDS, *lines, folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def column_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [row["answer"] for row in csv.DictReader(file)]


def test_the_whole_way_through_csv_files_needs_no_pyarrow(tmp_path):
    write_survey(tmp_path)
    (tmp_path / "earlier.csv").write_text("answer,count\nnever,500\nonce,300\noften,200\n")
    lines = (
        "design --counts earlier.csv --epsilon 0.7 -o design.json",
        "certify design.json -o mechanism.json",
        "key secret.key",
        "privatize survey.csv -o private.csv --column answer -m mechanism.json",
        "privatize survey.csv -o keyed.csv --column answer -m mechanism.json --key-file secret.key --id-column id",
        "privatize survey.csv -o mixed.csv --column answer -m mechanism.json --order shuffle",
        "estimate private.csv --column answer -m mechanism.json --json",
        "audit mechanism.json --json",
    )
    for line, (status, _, errors) in zip(lines, commands(lines, tmp_path), strict=True):
        assert status == 0, (line, errors)
    outputs = {str(label) for label in load(tmp_path / "mechanism.json").outputs}
    for name in ("private.csv", "keyed.csv", "mixed.csv"):
        reports = column_of(tmp_path / name)
        assert len(reports) == len(column_of(tmp_path / "survey.csv"))
        assert set(reports) <= outputs


COLUMNS = """
import numpy, pandas, polars
import extremal as ex
from extremal.certification.certify import certify
from extremal.release.privatize import privatize
texts, numbers = ["x", "yy", "zzz"], [1, 2, 300]
key = bytes(range(7, 39))

def reports(labels, values, ids=None, **options):
    prior = ex.Prior(dict(zip(labels, [0.5, 0.3, 0.2])))
    certified = certify(prior, ex.theory.randomized_response(prior, 1.0), 1.0)
    ids = [f"person {i}" for i in range(len(values))] if ids is None else ids
    return list(certified.privatize(values, keyed=ex.Keyed(key, ids), column="q", **options))

def series(values, dtype):
    return polars.Series("s", values, dtype=dtype)

def same(labels, values, *makers, **options):
    wanted = reports(labels, values, **options)
    for make in makers:
        assert reports(labels, make(values), **options) == wanted, make(values)

words = [texts[i * i % 3] for i in range(50)]
gaps = [None if i % 5 == 0 else word for i, word in enumerate(words)]
make = [pandas.Series, lambda v: pandas.Series(v, dtype=object), lambda v: pandas.Series(v, dtype="category")]
make += [lambda v: pandas.Series(v, dtype="string"), lambda v: series(v, polars.String)]
make += [lambda v: series(v, polars.Categorical), lambda v: series(v, polars.Enum([*texts, "other"]))]
same(texts, words, numpy.array, *make)
same(texts, gaps, *make, unknown="drop")
same(texts, ["other", *words], *make, unknown_as="x")

counts = [numbers[i * i % 3] for i in range(50)]
gaps = [None if i % 5 == 0 else n for i, n in enumerate(counts)]
make = [pandas.Series, lambda v: pandas.Series(v, dtype="Int64"), lambda v: series(v, polars.Int64)]
make += [lambda v: series(v, polars.UInt16), lambda v: series(v, polars.Float64), lambda v: series(v, polars.Int128)]
same(numbers, counts, numpy.array, *make)
same(numbers, gaps, *make, unknown="drop")

truths = [i * i % 3 == 1 for i in range(50)]
gaps = [None if i % 5 == 0 else t for i, t in enumerate(truths)]
same([True, False, "neither"], truths, numpy.array, pandas.Series, lambda v: series(v, polars.Boolean))
same([True, False, "neither"], gaps, lambda v: series(v, polars.Boolean), unknown="drop")

import datetime
days = [datetime.date(2024, 1, d) for d in (1, 2, 3)]
same(["a", "b", "c"], [days[i % 3] for i in range(9)], lambda v: series(v, polars.Date), unknown_as="a")

prior = ex.Prior(dict(zip(texts, [0.5, 0.3, 0.2])))
certified = certify(prior, ex.theory.randomized_response(prior, 1.0), 1.0)
ids = list(range(50))
for frame in (pandas.DataFrame({"q": words, "id": ids}), polars.DataFrame({"q": words, "id": ids})):
    released = privatize(frame, {"q": certified}, keyed=ex.Keyed(key, "id"))
    assert list(released["q"]) == reports(texts, words, ids)
    assert list(released["id"]) == ids
assert sys.modules["pyarrow"] is None
"""


@pytest.mark.slow
def test_columns_of_lists_numpy_pandas_and_polars_need_no_pyarrow(tmp_path):
    done = python(COLUMNS, folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_parquet_file_is_refused_with_what_to_install(tmp_path):
    write_survey(tmp_path)
    table = pyarrow.table({"answer": column_of(tmp_path / "survey.csv")})
    pyarrow.parquet.write_table(table, tmp_path / "survey.parquet")
    prior = ex.Prior(dict(zip(ANSWERS, [0.5, 0.3, 0.2], strict=True)))
    ex.certify(prior, ex.theory.randomized_response(prior, 1.0), 1.0).save(tmp_path / "mechanism.json")
    lines = (
        "privatize survey.parquet -o private.parquet --column answer -m mechanism.json",
        "estimate survey.parquet --column answer -m mechanism.json",
        "design --data survey.parquet --column answer --epsilon 1 -o design.json",
    )
    error = 'error: Parquet files need pyarrow; run pip install ".[parquet]" in the project\'s folder\n'
    assert commands(lines, tmp_path) == [[2, "", error]] * 3
    assert not (tmp_path / "private.parquet").exists()


def test_spark_says_what_to_install(tmp_path):
    done = python("import extremal.release.spark", folder=tmp_path)
    assert done.returncode == 1
    assert 'pip install ".[spark]"' in done.stderr.splitlines()[-1]
