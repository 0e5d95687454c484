"""Mechanisms, files and helpers that the tests of files share."""

import csv
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import extremal as ex
from extremal.certification.certify import certify
from extremal.model.mechanism import identity
from tests.support.wording import refused

WORDS = ex.Prior({"a": 0.5, "b,b": 0.3, 'c"c': 0.2})
C = certify(WORDS, ex.theory.randomized_response(WORDS, 1.0), 1.0)
SAME = certify(WORDS, identity(WORDS), 2.0, allow_true_answers=True)
KEY = bytes(range(32))
FORMATS = ["csv", "parquet"]
ALL = [*FORMATS, "sav", "dta"]
PATH = os.pathsep.join([str(Path(ex.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])


def rows_of(n):
    labels = list(WORDS.labels)
    return {
        "id": list(range(1000, 1000 + n)),
        "answer": random.Random(1).choices(labels, k=n),  # an order that tells nothing
        "note": [f"text, {i}\n" for i in range(n)],
    }


def write(path, columns, row_groups=50):
    if path.suffix == ".csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path, row_group_size=row_groups)
    else:
        write_labelled(path, columns)
    return path


def write_labelled(path, columns, **about):
    """An SPSS or Stata file; answers that are labels of WORDS are codes, others texts."""
    pandas, pyreadstat = map(pytest.importorskip, ("pandas", "pyreadstat"))
    codes = {label: k for k, label in enumerate(WORDS.labels, start=1)}
    columns, labels = dict(columns), {}
    for name, values in columns.items():
        if set(values) & set(codes) and set(values) <= {*codes, None, ""}:
            columns[name] = [codes.get(value) for value in values]
            labels[name] = {code: label for label, code in codes.items()}
    getattr(pyreadstat, f"write_{path.suffix[1:]}")(
        pandas.DataFrame(columns), path, variable_value_labels=labels, **about
    )


def read(path):
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
        return {name: [row[k] for row in rows] for k, name in enumerate(header)}
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pydict()
    pyreadstat = pytest.importorskip("pyreadstat")
    table, about = getattr(pyreadstat, f"read_{path.suffix[1:]}")(path, output_format="dict")
    labels = about.variable_value_labels
    return {name: [labels.get(name, {}).get(x, _whole(x)) for x in values] for name, values in table.items()}


def _whole(value):
    return int(value) if isinstance(value, float) and value.is_integer() else value


def left_behind(folder):
    return [path.name for path in Path(folder).iterdir() if path.name.endswith(".part")]


def one_line(error, message, call):
    with refused(error, *[message] if message else []) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
