"""What waves leak together: brute force over paths, and the worst case against linear programs."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import extremal as ex
from tests.support.wording import refused

PRIOR = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
LATER = ex.Prior({"a": 0.4, "b": 0.4, "c": 0.2})
RESPONSE = ex.theory.randomized_response_for_pml(PRIOR, 0.8)
OTHER = ex.theory.randomized_response(LATER, 0.7)
MOVES = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])


def by_hand(path, mechanisms, about=None):
    """The largest log of P(y | secret) / P(y), the secret being the path or the answer of one wave."""
    worst = -math.inf
    secrets = {label if about is None else label[about] for label in path.labels}
    for outcome in product(*(range(m.shape[1]) for m in mechanisms)):
        likelihood = [
            math.prod(
                m.matrix[m.inputs.index(x), y] for m, x, y in zip(mechanisms, label, outcome, strict=True)
            )
            for label in path.labels
        ]
        total = float(np.dot(path.probabilities, likelihood))
        for secret in secrets:
            chosen = [k for k, x in enumerate(path.labels) if (x if about is None else x[about]) == secret]
            mass = sum(path.probabilities[k] for k in chosen)
            given = sum(path.probabilities[k] * likelihood[k] for k in chosen) / mass
            if given > 0:
                worst = max(worst, math.log(given / total))
    return worst


def test_leakage_of_a_path_and_of_each_answer_is_that_of_all_paths_one_by_one():
    path = ex.panels.markov(PRIOR, MOVES, MOVES)
    assert ("a", "c", "a") not in path.labels  # a is never followed by c
    mechanisms = [RESPONSE, OTHER, RESPONSE]
    found = ex.panels.leakage(mechanisms, path)
    assert found.path == pytest.approx(by_hand(path, mechanisms), abs=1e-9)
    for wave in range(3):
        assert found.each[wave] == pytest.approx(by_hand(path, mechanisms, wave), abs=1e-9)
    assert found.epsilon == found.path <= found.worst_case
    assert all(one <= all_waves + 1e-12 for one, all_waves in zip(found.alone, found.each, strict=True))


def test_answers_that_never_change_leak_like_repeated_releases():
    path = ex.panels.markov(PRIOR, np.eye(3))
    found = ex.panels.leakage([RESPONSE, RESPONSE], path)
    expected = ex.composition.compose_releases(PRIOR, RESPONSE, RESPONSE).epsilon
    assert found.path == pytest.approx(expected, abs=1e-9)
    assert found.each == pytest.approx([expected] * 2, abs=1e-9)


def test_the_worst_case_of_two_waves_is_the_linear_program_over_all_couplings():
    found = ex.panels.leakage([RESPONSE, OTHER], [PRIOR, LATER])
    rows = np.vstack([np.kron(np.eye(3), np.ones(3)), np.kron(np.ones(3), np.eye(3))])
    shares = np.concatenate([PRIOR.probabilities, LATER.probabilities])
    worst = 0.0
    for a, b in product(RESPONSE.matrix.T, OTHER.matrix.T):
        least = linprog(np.outer(a, b).ravel(), A_eq=rows, b_eq=shares).fun
        worst = max(worst, math.log(a.max() * b.max() / least))
    assert found.worst_case == pytest.approx(worst, abs=1e-9)
    assert found.path is None
    assert found.epsilon == found.worst_case
    rng = np.random.default_rng(0)
    for _ in range(20):  # no joint distribution with these shares leaks more
        joint = rng.dirichlet(np.full(9, 0.3)).reshape(3, 3)
        for _ in range(500):
            joint *= (PRIOR.probabilities / joint.sum(axis=1))[:, None]
            joint *= LATER.probabilities / joint.sum(axis=0)
        masses = {(x, y): joint[i, j] for (i, x), (j, y) in product(enumerate("abc"), enumerate("abc"))}
        masses = {pair: p for pair, p in masses.items() if p > 1e-12}
        assert ex.panels.leakage([RESPONSE, OTHER], ex.Prior.from_counts(masses)).path <= worst + 1e-6


def test_reports_that_rule_answers_out_have_no_bound_for_unknown_changes():
    ruling = ex.design(PRIOR, 0.6).mechanism
    if (ruling.matrix == 0).any():
        found = ex.panels.leakage([ruling, ruling], [PRIOR, PRIOR])
        assert found.worst_case > 2 * 0.6
    shut = ex.Mechanism([[1, 0], [1, 0], [0, 1]], inputs=list("abc"))
    assert math.isinf(ex.panels.leakage([shut, shut], [PRIOR, PRIOR]).worst_case)
    assert "without a bound" in str(ex.panels.leakage([shut, shut], [PRIOR, PRIOR]))


@pytest.mark.parametrize(
    ("mechanisms", "answers", "message"),
    [
        ([RESPONSE], [PRIOR], "1"),
        ([RESPONSE, OTHER], [PRIOR], "answers"),
        ([RESPONSE, OTHER], 3, "answers"),
        ([RESPONSE, OTHER], PRIOR, "'b', 'c'"),
        ([RESPONSE, OTHER], ex.Prior.uniform([("a", "x"), ("b", "a")]), "'wave 2'"),
    ],
)
def test_panels_that_do_not_fit_are_refused(mechanisms, answers, message):
    with refused(ex.errors.ExtremalError, message):
        ex.panels.leakage(mechanisms, answers)


def test_an_answer_that_occurs_in_one_wave_only_is_no_obstacle():
    path = ex.panels.markov(PRIOR, [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
    found = ex.panels.leakage([RESPONSE, OTHER], path)
    assert found.path == pytest.approx(by_hand(path, [RESPONSE, OTHER]), abs=1e-9)
    assert found.each[1] == pytest.approx(by_hand(path, [RESPONSE, OTHER], 1), abs=1e-9)


def test_transitions_must_be_probabilities():
    for wrong in (np.eye(2), np.ones((3, 3)), -np.eye(3), "x"):
        with refused(ex.errors.PriorError, "transitions"):
            ex.panels.markov(PRIOR, wrong)
    with refused(ex.errors.PriorError):
        ex.panels.markov(PRIOR)
