"""What learning the prior is worth: the figures of the README and of docs/results.md are those of the benchmark."""

import re
from pathlib import Path

import numpy as np
import pytest

if not (Path(__file__).parents[1] / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not part of the source package", allow_module_level=True)

from benchmarks.constants import changes
from benchmarks.learn import CASES, LEVELS, SETTINGS, survey

from tests.support.root import ROOT

TABLE = {
    row[0]: [float(cell) for cell in row[1:]]
    for row in (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines()
        if re.match(r"\| [^|]+, (0\.7|1\.5) \| [\d.]+ \|( [\d.]+ \|){7}$", line)
    )
}


def test_the_readme_says_what_the_table_does():
    without, learned, _, _, _, forged, _, known = TABLE["party (7), 0.7"]
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"takes {learned / known:.1f} times as many people as knowing the prior" in text
    assert f"If you allow for 1 % of forged reports it takes {forged / known:.1f} times as many" in text
    assert f"without learning {without / known:.1f} times" in text


def test_the_table_is_of_the_cases_of_the_benchmark():
    cases = {f"{name}, {epsilon}" for name, levels in LEVELS.items() for epsilon in levels}
    assert set(TABLE) <= cases
    assert len(TABLE) > 3


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE)
def test_the_table_has_the_figures_of_the_benchmark(row):
    name, _, epsilon = row.rpartition(", ")
    pi = np.array(CASES[name]) / sum(CASES[name])
    for given, shown in zip(SETTINGS.values(), TABLE[row][1:-1], strict=True):
        found = np.mean([survey(pi, float(epsilon), 20_000, seed, **given) for seed in range(8)])
        assert shown == pytest.approx(found, rel=0.02)


@pytest.mark.slow
def test_no_other_constant_is_better_by_a_twentieth():
    found = list(changes(1))
    assert len({name for name, _, _ in found}) == 9
    assert all((each > -0.05).all() for _, _, each in found)
