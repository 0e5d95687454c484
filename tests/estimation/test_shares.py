"""One word, one meaning: shares are estimates of answers, report_shares are what reports show."""

import ast
import functools
import inspect
import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import extremal as ex

# Randomized response: 40 % of the reports "yes" are from 0.3 = (0.4 - 0.25) / 0.5 of answers.
HALF = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
REPORTS = ["no"] * 60 + ["yes"] * 40
GROUPS = ["a", "b"] * 50
RAW, TRUE = [0.6, 0.4], [0.7, 0.3]
SOURCE = Path(ex.__file__).parent


@functools.cache
def public_classes():
    """Every class of the library, by its file and name."""
    return [
        (path, node)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]


def names_of(node):
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            yield part.name
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id


@pytest.mark.parametrize("method", ["maximum-likelihood", "inverse"])
def test_shares_are_the_estimate_and_report_shares_what_reports_show(method):
    e = ex.estimate(HALF, REPORTS, method=method)
    assert e.shares == pytest.approx(TRUE, abs=1e-9)
    assert e.report_shares == pytest.approx(RAW, abs=1e-12)
    assert str(e).startswith("2 shares from 100 reports")
    assert [row["estimate"] for row in json.loads(e.to_json())["rows"]] == pytest.approx(TRUE, abs=1e-9)


def test_with_weights_both_are_weighted():
    weights = [1.0] * 60 + [3.0] * 40  # 60 : 120 reports
    e = ex.estimate(HALF, REPORTS, sample=ex.SampleDesign(weights=weights), method="inverse")
    assert e.report_shares == pytest.approx([1 / 3, 2 / 3], abs=1e-12)
    assert e.shares == pytest.approx([1 / 6, 5 / 6], abs=1e-12)


def test_shares_of_groups_are_estimates():
    by = ex.estimate(HALF, REPORTS, by=GROUPS)
    assert by.shares == pytest.approx(np.array([TRUE, TRUE]), abs=1e-9)
    assert str(by).startswith("shares in 2 groups")


def test_nothing_is_called_frequencies():
    assert not [(path.name, node.name) for path, node in public_classes() if "frequencies" in names_of(node)]


def test_whoever_has_report_shares_calls_nothing_else_shares():
    """A class with the raw ones may have the estimated ones too, but only as an estimate does: made by a method."""
    both = {
        node.name for path, node in public_classes() if {"shares", "report_shares"} <= set(names_of(node))
    }
    assert both == {"Estimate"}


def test_parameters_for_raw_shares_are_named_so():
    channel = import_module("extremal.estimation.contrasts").Channel
    assert "report_shares" in inspect.signature(channel.inverse).parameters
