"""Mechanisms, files and helpers that the tests of files share."""

import csv
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import extremal as ex
from extremal.certification.certify import certify
from extremal.model.mechanism import identity
from tests.support.wording import refused

WORDS = ex.Prior({"a": 0.5, "b,b": 0.3, 'c"c': 0.2})
C = certify(WORDS, ex.theory.randomized_response(WORDS, 1.0), 1.0)
SAME = certify(WORDS, identity(WORDS), 2.0, allow_true_answers=True)
KEY = bytes(range(32))
FORMATS = ["csv", "parquet"]
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
    else:
        pq.write_table(pa.table(columns), path, row_group_size=row_groups)
    return path


def read(path):
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
        return {name: [row[k] for row in rows] for k, name in enumerate(header)}
    return pq.read_table(path).to_pydict()


def left_behind(folder):
    return [path.name for path in Path(folder).iterdir() if path.name.endswith(".part")]


def one_line(error, message, call):
    with refused(error, *[message] if message else []) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
