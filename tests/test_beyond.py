"""The figures beyond the paper, recomputed by other means than those that drew them."""

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import extremal as ex
from extremal.estimation.contrasts import Channel
from extremal.model.evidence import l1_radius
from extremal.studies.data import ORDER, anes96
from extremal.studies.paper import draw
from tests.support import oracles
from tests.support.solving import design_by

pytest.importorskip("matplotlib")
if not (Path(__file__).parents[1] / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not part of the source package", allow_module_level=True)

from benchmarks.beyond import FIGURES
from benchmarks.beyond import prior as prior_study
from benchmarks.beyond import size as size_study

THREE = ex.Prior([0.5, 0.3, 0.2])


@pytest.fixture(scope="module")
def party():
    return ex.Prior.from_data(anes96()["party"], labels=ORDER)


# Shares of a survey


def test_the_estimate_is_unbiased_with_more_reports_than_answers_too():
    mechanism = ex.design(THREE, 0.6).mechanism
    assert mechanism.shape[1] >= 3
    A = Channel(mechanism.matrix, THREE.probabilities).weights(np.eye(3))
    np.testing.assert_allclose(A @ mechanism.matrix.T, np.eye(3), rtol=0, atol=1e-9)


# The price of not knowing the prior


@pytest.mark.parametrize("n", [100, 10_000])
def test_no_prior_of_the_ball_makes_a_report_leak_more(party, n):
    """The least probable each report can be, by a linear program over the ball."""
    radius, epsilon = l1_radius(party.size, n, 0.95), 0.5
    mechanism = ex.design(ex.PriorSet.l1_ball(party, radius), epsilon, ex.mutual_information).mechanism
    response = prior_study.randomized_response_over(ex.PriorSet.l1_ball(party, radius), epsilon)
    size = party.size
    up_down = np.hstack((np.eye(size), -np.eye(size)))  # pi = center + up - down
    for made in (mechanism, response):
        leaks = []
        for column in made.matrix.T:
            least = linprog(
                column @ up_down,
                A_ub=np.vstack((np.ones(2 * size), -up_down)),
                b_ub=np.append(radius, party.probabilities),
                A_eq=np.append(np.ones(size), -np.ones(size))[None],
                b_eq=[0],
                method="highs",
            ).fun
            leaks.append(math.log(column.max() / (party.probabilities @ column + least)))
        assert max(leaks) == pytest.approx(epsilon, abs=1e-7)


def test_knowing_the_prior_is_the_limit_of_large_samples(party):
    known = ex.design(party, 0.5, ex.mutual_information).value
    near = ex.design(
        ex.PriorSet.l1_ball(party, l1_radius(party.size, 1e12, 0.95)), 0.5, ex.mutual_information
    ).value
    assert near == pytest.approx(known, abs=1e-4)
    assert near <= known


# Neighbouring notions


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
def test_the_lip_curve_is_the_program_over_all_vertices_between_both_bounds(party, epsilon):
    pi, low, high = party.probabilities, math.exp(-epsilon), math.exp(epsilon)
    found = []
    for j in range(len(pi)):
        for others in itertools.product((low, high), repeat=len(pi) - 1):
            v = np.insert(np.array(others), j, 0.0)
            v[j] = (1 - pi @ v) / pi[j]
            if low - 1e-12 <= v[j] <= high + 1e-12:
                found.append(v)
    V = np.array(found)
    program = linprog(
        -ex.mutual_information.columns(party, V.T), A_eq=V.T, b_eq=np.ones(len(pi)), method="highs"
    )
    design = design_by(party, epsilon, ex.mutual_information, oracle="enumeration", notion=ex.LIP.above(low))
    assert design.value == pytest.approx(-program.fun, abs=1e-8)


# The figures and their report


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    return draw(FIGURES, tmp_path_factory.mktemp("everything"))


def table(done, name, ending=""):
    (panel,) = (panel for panel in done.panels if panel.name == name)
    path = done.report.parent / f"{panel.stem}{ending}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}


@pytest.mark.slow
def test_values_for_few_symbols_are_the_optima_of_the_program_over_lift_vectors(everything):
    found = table(everything, "beyond-size")
    rows = zip(found["epsilon"], found["symbols"], found["optimal"], found["upper_bound"], strict=True)
    for epsilon, n, value, bound in rows:
        assert value <= bound + 1e-12
        if n <= 10:
            prior = size_study.zipf(int(n))
            best = oracles.optimum(prior, oracles.largest_lift(prior, epsilon), ex.mutual_information)
            assert value == pytest.approx(best, abs=1e-8)
    assert len(found["optimal"]) == 3 * len(size_study.SIZES)
    assert max(size_study.SIZES) == 1000


@pytest.mark.slow
def test_every_ldp_point_is_a_mechanism_of_that_leakage_and_below_the_pml_curve(everything):
    party = ex.Prior.from_data(anes96()["party"], labels=ORDER)
    ldp, own = table(everything, "beyond-neighbours", "-ldp"), table(everything, "beyond-neighbours")
    for k in range(0, len(ldp["epsilon"]), 15):
        best = prior_study.best_under_ldp(party, float(ldp["ldp_epsilon"][k]))
        assert ldp["ldp"][k] == pytest.approx(best, abs=1e-6)
        assert ldp["epsilon"][k] <= ldp["ldp_epsilon"][k] + 1e-12
        assert ldp["ldp"][k] <= np.interp(
            ldp["epsilon"][k] + 0.05, own["epsilon"], own["pml"], 0, party.entropy
        )


@pytest.mark.slow
def test_every_check_beyond_the_paper_passes(everything):
    assert everything.passed
    assert [panel.name for panel in everything.panels] == list(FIGURES)
