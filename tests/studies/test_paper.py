"""The paper's figures, recomputed by other means than those that drew them."""

import csv
import itertools
import math
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import extremal as ex
from extremal.studies.paper import (
    FIGURES,
    SEED,
    choose,
    reproduce,
)
from extremal.studies.paper import figures_2_3 as simulation
from extremal.studies.paper.figures_1_4 import region
from extremal.studies.paper.panel import write_csv
from extremal.theory import closed_form
from tests.support import oracles
from tests.support.wording import refused

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    return reproduce(tmp_path_factory.mktemp("paper"))


def table(done, name, ending=""):
    (panel,) = (panel for panel in done.panels if panel.name == name)
    path = done.report.parent / f"{panel.stem}{ending}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}


# Figure 1


@pytest.mark.parametrize(("name", "masses", "last"), [("1a", [1 / 3] * 3, 3), ("1b", [0.5, 0.3, 0.2], 5)])
def test_figure_1_is_what_vertex_enumeration_gives(paper, name, masses, last):
    """At every tenth grid point and the last: a check of the figure itself goes through all of them."""
    found, prior = table(paper, name), ex.Prior(masses)
    assert list(found) == ["exp_epsilon", "optimal", "randomized_response", "entropy"]
    np.testing.assert_allclose(
        found["exp_epsilon"], np.linspace(1, last, 100 * last - 99), rtol=0, atol=1e-12
    )
    for c, value in list(zip(found["exp_epsilon"], found["optimal"], strict=True))[::10]:
        vertices = ex.theory.polytope_vertices(prior, math.log(c))
        best = oracles.polytope_optimum(prior, vertices, ex.mutual_information)
        assert value == pytest.approx(best, abs=1e-9), c


@pytest.mark.parametrize(("name", "masses"), [("1a", [1 / 3] * 3), ("1b", [0.5, 0.3, 0.2])])
def test_figure_1_is_what_the_program_over_lift_vectors_bounds_at_every_grid_point(paper, name, masses):
    found, prior = table(paper, name), ex.Prior(masses)
    for c, value in zip(found["exp_epsilon"], found["optimal"], strict=True):
        bound = oracles.optimum(prior, min(c, 1 / min(masses)), ex.mutual_information)
        assert value == pytest.approx(bound, abs=1e-9), c


@pytest.mark.parametrize(("name", "masses"), [("1a", [1 / 3] * 3), ("1b", [0.5, 0.3, 0.2])])
def test_figure_1_randomized_response_follows_definition_5_and_the_formula_for_epsilon_r(paper, name, masses):
    found = table(paper, name)
    p, least = np.array(masses), min(masses)
    for c, value in list(zip(found["exp_epsilon"], found["randomized_response"], strict=True))[:-1]:
        r = c * (1 - least) / (1 - least * c)  # e^epsilon_r
        P = (np.ones((3, 3)) + (r - 1) * np.eye(3)) / (2 + r)
        rho = p @ P
        assert value == pytest.approx((p[:, None] * P * np.log(P / rho)).sum(), abs=1e-9), c
    entropy = -(p * np.log(p)).sum()
    np.testing.assert_allclose(found["entropy"], entropy, rtol=0, atol=1e-12)
    assert found["randomized_response"][-1] == pytest.approx(entropy, abs=1e-9)


# Figures 2 and 3


def all_counts(n, cells):
    """Every way to put n pairs into cells."""
    if cells == 1:
        yield (n,)
        return
    for k in range(n + 1):
        for rest in all_counts(n - k, cells - 1):
            yield (k, *rest)


def plug_in(counts):
    """The mutual information of counts by its definition, one cell at a time."""
    n, total = sum(map(sum, counts)), 0.0
    for i, row in enumerate(counts):
        for j, f in enumerate(row):
            if f:
                column = sum(other[j] for other in counts)
                total += f / n * math.log(n * f / (sum(counts[i]) * column))
    return total


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_exact_mean_of_the_empirical_information_is_that_of_all_samples(n):
    joint = np.array([[0.4, 0.15], [0.05, 0.4]])
    mean = 0.0
    for counts in all_counts(n, 4):
        chance = math.factorial(n)
        for k, p in zip(counts, joint.ravel(), strict=True):
            chance *= p**k / math.factorial(k)
        mean += chance * plug_in([counts[:2], counts[2:]])
    assert simulation.expected_mutual_information(joint, n) == pytest.approx(mean, abs=1e-12)


def test_empirical_information_and_correlation_are_those_of_the_sequences():
    rng = np.random.default_rng(1)
    x = rng.integers(3, size=200)
    y = np.where(rng.random(200) < 0.5, x, rng.integers(3, size=200))
    counts = np.zeros((3, 3), dtype=int)
    np.add.at(counts, (x, y), 1)
    assert simulation.mutual_information(counts) == pytest.approx(plug_in(counts.tolist()), abs=1e-12)
    assert simulation.correlation(counts) == pytest.approx(np.corrcoef(x + 1, y + 1)[0, 1], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [simulation.INFORMATION, simulation.CORRELATION], ids=["I", "r"])
@pytest.mark.parametrize("make", [simulation.binary_experiment, simulation.five_experiment])
def test_reports_drawn_one_by_one_have_the_exact_means_and_deviations(make, measure):
    """Other draws than those of the figures: each of 1000 secrets on its own, 600 times, at the last level."""
    e, rng, runs = make(0), np.random.default_rng(7), 600
    for P in e.matrices[:, -1]:
        n = len(P)
        x = rng.choice(n, p=e.prior.probabilities, size=(runs, simulation.SAMPLES))
        y = (rng.random((runs, simulation.SAMPLES, 1)) > np.cumsum(P, axis=1)[x]).sum(axis=2)
        pairs = np.minimum(y, n - 1) + n * x + n * n * np.arange(runs)[:, None]
        counts = np.bincount(pairs.ravel(), minlength=runs * n * n).reshape(runs, n, n)
        values = measure.of(counts)
        joint = e.prior.probabilities[:, None] * P
        sd = float(measure.deviation(joint))
        assert (
            abs(values.mean() - measure.mean(joint)) <= 4.5 * sd / math.sqrt(runs) + abs(values.mean()) / 1000
        )
        assert values.std(ddof=1) == pytest.approx(sd, rel=0.15)


@pytest.mark.parametrize("name", ["2a", "2b", "3a", "3b"])
def test_the_means_of_figures_2_and_3_lie_within_monte_carlo_error_of_the_exact_values(paper, name):
    found = table(paper, name)
    prior = ex.Prior([0.55, 0.45] if name[1] == "a" else [0.3, 0.2, 0.2, 0.2, 0.1])
    design = closed_form.binary if name[1] == "a" else closed_form.high_privacy
    measure = simulation.INFORMATION if name[0] == "2" else simulation.CORRELATION
    step, count = (0.005, 160) if name[1] == "a" else (0.0005, 211)
    np.testing.assert_allclose(found["epsilon"], step * np.arange(count), rtol=0, atol=1e-12)
    best = np.array([design(prior, epsilon).matrix for epsilon in found["epsilon"]])
    if name == "3b":
        best = best[:, :, ::-1]  # what the figure finds by trying every order
    response = np.array([ex.theory.randomized_response(prior, r).matrix for r in found["epsilon_r"]])
    z = []
    for who, P in (("optimal", best), ("randomized_response", response)):
        joint = prior.probabilities[:, None] * P
        exact, deviation = measure.mean(joint), measure.deviation(joint)
        np.testing.assert_allclose(found[f"{who}_exact"], exact, rtol=0, atol=1e-9)
        mean = np.mean([found[f"{who}_run_{r}"] for r in range(1, 11)], axis=0)
        np.testing.assert_allclose(found[f"{who}_mean"], mean, rtol=0, atol=1e-12)
        z.append((mean - exact) / (deviation / math.sqrt(10)))
    assert np.mean(np.abs(z) < 2) > 0.9
    assert np.max(np.abs(z)) < (8 if name[0] == "2" else 5)  # 10 chi-squared draws have a long tail
    assert np.std(z) == pytest.approx(1, abs=0.25)


def test_the_order_of_outputs_in_figure_3_is_the_most_correlated_of_all():
    prior = ex.Prior([0.3, 0.2, 0.2, 0.2, 0.1])
    P = closed_form.high_privacy(prior, 0.1).matrix
    chosen = simulation.most_correlated(prior, P)
    x = np.arange(5)

    def correlation(Q):
        joint = prior.probabilities[:, None] * Q
        px, py = joint.sum(axis=1), joint.sum(axis=0)
        cov = x @ joint @ x - (px @ x) * (py @ x)
        return cov / math.sqrt((px @ x**2 - (px @ x) ** 2) * (py @ x**2 - (py @ x) ** 2))

    every = [correlation(P[:, order]) for order in itertools.permutations(range(5))]
    assert correlation(chosen) == pytest.approx(max(every), abs=1e-12)
    assert ex.Mechanism(chosen).same_up_to_columns(ex.Mechanism(P), 1e-15)


# Figure 4


@pytest.mark.parametrize(("name", "p"), [("4a", Fraction(1, 2)), ("4b", Fraction(4, 5))])
def test_the_optimal_points_of_figure_4_are_theorem_2(paper, name, p):
    found = table(paper, name)
    points = np.column_stack((found["p_11"], found["p_21"]))
    best = points[found["optimal"] == 1]
    theorem = closed_form.binary_matrix([p, 1 - p], Fraction(3, 2)).T  # columns, in exact fractions
    assert len(best) == 2
    for column in theorem:
        assert (
            min(max(abs(Fraction(x) - y) for x, y in zip(point, column, strict=True)) for point in best)
            < 1e-15
        )
    top = max(found["mutual_information"])
    assert (found["optimal"] == (found["mutual_information"] > top - 1e-12)).all()
    grid = table(paper, name, "-contours")
    inside = [
        max(a, b) <= 1.5 * (float(p) * a + float(1 - p) * b)
        and max(1 - a, 1 - b) <= 1.5 * (float(p) * (1 - a) + float(1 - p) * (1 - b))
        for a, b in zip(grid["p_11"], grid["p_21"], strict=True)
    ]
    assert grid["mutual_information"][inside].max() <= top + 1e-12


@pytest.mark.parametrize("p", [0.5, 0.55, 0.8, 0.97])
@pytest.mark.parametrize("c", [1.01, 1.5, 1.9])
def test_the_region_of_figure_4_has_the_vertices_of_the_polytope(p, c):
    vertices = ex.theory.polytope_vertices(ex.Prior([p, 1 - p]), math.log(c))[:, :, 0]
    corners = region(p, c)
    apart = np.abs(vertices[:, None] - corners[None]).max(axis=2)
    assert len(vertices) == len(corners)
    assert apart.min(axis=0).max() <= 1e-9
    assert apart.min(axis=1).max() <= 1e-9


# All of it


def test_every_check_passes_and_every_figure_has_its_files(paper):
    done, names = paper, list(FIGURES)
    assert [check for check in done.checks if check.passed is False] == []
    assert done.passed
    assert [panel.name for panel in done.panels] == names
    folder = done.report.parent
    assert {path.name for path in folder.iterdir()} == {path.name for path in done.files}
    for panel in done.panels:
        wanted = {f"{panel.stem}{ending}.csv" for ending in panel.tables}
        if panel.draw is not None:
            wanted |= {f"{panel.stem}.png", f"{panel.stem}.svg"}
        assert wanted <= {path.name for path in done.files}


def test_the_report_has_a_verdict_on_every_check_and_its_links_lead_somewhere(paper):
    done = paper
    text = done.report.read_text(encoding="utf-8")
    assert f"Seed {SEED}" in text
    assert "FAIL**" not in text
    verdicts = re.findall(r"^\| (pass|erratum|not run) \|", text, re.MULTILINE)
    assert len(verdicts) == len(done.checks)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (done.report.parent / target).is_file(), target
    for panel in done.panels:
        assert f"## {panel.title}" in text
        assert all(value in text for value in panel.settings.values())


def assert_quoted(page, report, done):
    """The page holds these words, and the report of what was made holds those."""
    text = (Path(__file__).parents[2] / "docs" / "paper.md").read_text(encoding="utf-8")
    assert page in " ".join(text.split())
    assert report in done.report.read_text(encoding="utf-8")


def test_the_page_on_the_reproduction_quotes_what_the_report_prints(paper):
    assert_quoted("−0.105", "-0.1052", paper)


@pytest.mark.slow
def test_runs_are_the_same_bytes_in_another_process_and_under_other_settings_of_matplotlib(paper, tmp_path):
    names = ["3a", "4b"]
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nsavefig.dpi: 30\nsvg.fonttype: none\n")
    environment = os.environ | {"PYTHONHASHSEED": "77", "MATPLOTLIBRC": str(tmp_path / "matplotlibrc")}
    command = [sys.executable, "-m", "extremal", "reproduce", "--output", str(tmp_path / "again")]
    for name in names:
        command += ["--figure", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    again = sorted(path for path in (tmp_path / "again").iterdir() if path.name != "report.md")
    assert len(again) == 2 + 1 + 2 * 2  # two tables and the contours, two pictures twice
    for path in again:
        assert path.read_bytes() == (paper.report.parent / path.name).read_bytes(), path.name


def test_another_seed_draws_other_samples_and_changes_nothing_else(paper):
    same = FIGURES["4a"](SEED + 1).tables[""], table(paper, "4a")
    assert all(np.array_equal(same[0][key], same[1][key]) for key in same[0])
    drawn = FIGURES["3a"](SEED + 1).tables[""], table(paper, "3a")
    assert np.array_equal(drawn[0]["optimal_exact"], drawn[1]["optimal_exact"])
    assert not np.array_equal(drawn[0]["optimal_mean"], drawn[1]["optimal_mean"])


def test_progress_counts_the_figures(tmp_path):
    calls = []
    reproduce(
        tmp_path, ["3a", "examples"], progress=lambda done, total, name: calls.append((done, total, name))
    )
    assert calls == [(0, 2, "3a"), (1, 2, "examples"), (2, 2, "")]


def test_figures_are_chosen_by_name_or_by_number_in_the_papers_order():
    assert choose(["4b", "1"]) == ["1a", "1b", "4b"]
    assert choose("2a") == ["2a"]
    assert choose(None) == list(FIGURES)
    with pytest.raises(ex.errors.OptionError, match="got '5a'"):
        choose(["5a"])
    with refused(ex.errors.OptionError, "figures"):
        choose([])


@pytest.mark.parametrize("seed", [-1, 1.5, True, "7"])
def test_a_seed_that_is_no_whole_number_is_refused(tmp_path, seed):
    with refused(ex.errors.OptionError, "seed", ">= 0", repr(seed)):
        reproduce(tmp_path, ["4a"], seed=seed)


def test_a_table_reads_back_as_the_same_floats(tmp_path):
    values = [0.1, 1 / 3, 5e-324, -0.0, 1e300, 2.0]
    write_csv(tmp_path / "t.csv", {"x": values, "y": np.arange(6)})
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [float(row["x"]) for row in rows] == values
    assert [int(row["y"]) for row in rows] == list(range(6))
