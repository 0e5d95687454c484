"""The survey that ships with the package; README.md beside this file tells its source and licence."""

from __future__ import annotations

import csv
from importlib.resources import as_file, files

from ...certification.certified import Certified, load

# The answers to `party`, in the order of the scale.
ORDER = [
    "Strong Democrat",
    "Weak Democrat",
    "Independent-Democrat",
    "Independent-Independent",
    "Independent-Republican",
    "Weak Republican",
    "Strong Republican",
]


def anes96() -> dict[str, list[str]]:
    """944 respondents of the American National Election Study of 1996, column by column, values as text.

    Examples
    --------
    >>> import extremal as ex
    >>> survey = ex.datasets.anes96()
    >>> len(survey["party"]), sorted(survey)[:3]
    (944, ['age', 'education', 'income'])
    """
    text = (files(__name__) / "anes96.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return {column: [row[column] for row in rows] for column in rows[0]}


def party_mechanism() -> Certified:
    """The mechanism of the tutorial: for `party`, at epsilon 1. Another computer may find another one, as good."""
    with as_file(files(__name__) / "party.json") as path:
        return load(path)
