"""Optimal mechanisms under neighbouring notions of privacy, and the table that compares them."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.optimize import linprog

import extremal as ex
from tests.support.wording import refused

PRIORS = [ex.Prior([0.7, 0.3]), ex.Prior([0.5, 0.3, 0.2]), ex.Prior([0.4, 0.3, 0.15, 0.1, 0.05])]


def best_matrix(prior, utility, rows, limits, outputs):
    """The largest expected gain of a mechanism with as many outputs as decisions, P(y|x) as the variables.

    `rows` of constraints on the flattened matrix, `limits` on their right-hand side.
    """
    n = prior.size
    gain = (utility.gain * prior.probabilities).T
    result = linprog(
        -gain.ravel(),
        A_ub=rows,
        b_ub=limits,
        A_eq=np.kron(np.eye(n), np.ones(outputs)),
        b_eq=np.ones(n),
        bounds=(0, None),
    )
    assert result.status == 0, result.message
    return -result.fun


@pytest.mark.parametrize("level", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("prior", PRIORS, ids=len)
def test_the_staircase_is_the_best_of_all_private_matrices_for_guessing(prior, level):
    n, guess = prior.size, ex.ExpectedGain(np.eye(prior.size), "guessing")
    rows = []
    for y, (i, j) in itertools.product(range(n), itertools.permutations(range(n), 2)):
        row = np.zeros((n, n))
        row[i, y], row[j, y] = 1, -math.exp(level)
        rows.append(row.ravel())
    found = ex.design(prior, level, guess, notion=ex.LDP)
    assert found.value == pytest.approx(best_matrix(prior, guess, rows, np.zeros(len(rows)), n), abs=1e-9)
    assert ex.measures.ldp_epsilon(found.mechanism) <= level + 1e-12
    assert found.proven


@pytest.mark.parametrize("prior", PRIORS, ids=len)
def test_the_staircase_of_two_or_equal_symbols_is_randomized_response(prior):
    if prior.size == 2:
        found = ex.design(prior, 1.0, ex.mutual_information, notion=ex.LDP)
        assert found.mechanism.same_up_to_columns(ex.theory.randomized_response(prior, 1.0), 1e-9)
    # At a high level, randomized response is optimal for mutual information.
    found = ex.design(prior, 12.0, ex.mutual_information, notion=ex.LDP)
    assert found.value == pytest.approx(
        ex.mutual_information(prior, ex.theory.randomized_response(prior, 12.0)), rel=1e-9
    )


def test_at_a_low_level_the_staircase_of_equal_symbols_is_binary():
    found = ex.design(ex.Prior.uniform(6), 0.05, ex.mutual_information, notion=ex.LDP)
    half = np.array([[1.0] * 3 + [math.exp(0.05)] * 3, [math.exp(0.05)] * 3 + [1.0] * 3]).T / (
        1 + math.exp(0.05)
    )
    assert found.value == pytest.approx(
        ex.mutual_information(ex.Prior.uniform(6), ex.Mechanism(half)), rel=1e-9
    )


@pytest.mark.parametrize("level", [0.1, 0.7, 1.5])
@pytest.mark.parametrize("prior", PRIORS, ids=len)
def test_the_maximal_leakage_design_is_the_best_of_all_matrices_for_guessing(prior, level):
    """Variables P(y|x) and M_y >= P(y|x); more outputs than symbols never help, but one more is allowed."""
    n = prior.size
    gain = np.eye(n)
    pi = prior.probabilities
    m = n
    cost = np.concatenate((-(gain * pi).T.ravel(), np.zeros(m)))
    rows = []
    for i, y in itertools.product(range(n), range(m)):
        row = np.zeros(n * m + m)
        row[i * m + y], row[n * m + y] = 1, -1
        rows.append(row)
    budget = np.concatenate((np.zeros(n * m), np.ones(m)))
    sums = np.hstack((np.kron(np.eye(n), np.ones(m)), np.zeros((n, m))))
    result = linprog(
        cost,
        A_ub=np.vstack((rows, budget)),
        b_ub=np.append(np.zeros(len(rows)), math.exp(level)),
        A_eq=sums,
        b_eq=np.ones(n),
    )
    assert result.status == 0
    found = ex.design(prior, level, ex.ExpectedGain(gain, "guessing"), notion=ex.MaximalLeakage)
    assert found.value == pytest.approx(-result.fun, abs=1e-9)
    assert ex.measures.maximal_leakage(found.mechanism) <= level + 1e-12
    assert found.proven


@pytest.mark.parametrize("level", [0.2, 1.0])
@pytest.mark.parametrize("prior", PRIORS, ids=len)
def test_the_notions_are_nested(prior, level):
    """LDP implies LIP implies PML implies maximal leakage, so the best values are in this order."""
    for utility in (ex.mutual_information, ex.utilities.chi_squared):
        values = [
            ex.design(prior, level, utility, notion=ex.LDP).value,
            ex.design(prior, level, utility, notion=ex.LIP).value,
            ex.design(prior, level, utility).value,
            ex.design(prior, level, utility, notion=ex.MaximalLeakage).value,
        ]
        assert np.all(np.diff(values) >= -1e-9)


def test_the_information_private_design_keeps_both_sides():
    prior = PRIORS[2]
    found = ex.design(prior, 0.6, ex.mutual_information, notion=ex.LIP)
    assert ex.measures.lip_epsilon(prior, found.mechanism) <= 0.6 + 1e-12
    assert found.proven


@pytest.mark.parametrize("prior", PRIORS, ids=len)
@pytest.mark.parametrize("epsilon", [0.25, 0.8])
def test_the_table_compares_at_equal_leakage(prior, epsilon):
    table = ex.compare(prior, epsilon)
    assert [row.name for row in table.rows] == ["PML", "LIP", "LDP", "maximal leakage", "randomized response"]
    for row in table.rows:
        assert row.pml <= epsilon + 1e-12
        assert row.pml == pytest.approx(ex.epsilon_pml(prior, row.mechanism), abs=1e-12)
        assert row.value <= table.row("PML").value + 1e-9
        assert row.maximal_leakage <= row.pml + 1e-12
        noted = any(note.startswith(row.name) for note in table.notes)
        assert noted or row.pml == pytest.approx(epsilon, abs=2e-6)
    assert table.row("LDP").value >= table.row("randomized response").value - 1e-6
    assert table.row("LDP").ldp == pytest.approx(table.row("LDP").level, abs=1e-9)


def test_the_table_prints_and_is_plain_data():
    table = ex.compare(PRIORS[1], 0.5)
    assert str(table).count("\n") == 6 + len(table.notes)
    assert table.to_markdown().splitlines()[0].startswith("| designed for | level | value |")
    data = json.loads(json.dumps(table.to_dict()))
    assert data["rows"][0]["name"] == "PML"
    assert data["rows"][0]["ldp"] is None  # infinite
    assert "<table>" in table._repr_html_()
    with refused(KeyError, "name"):
        table.row("DP")


def test_above_fourteen_symbols_the_table_says_what_it_leaves_out():
    prior = ex.Prior(np.arange(1, 21) / 210)
    table = ex.compare(prior, 0.5, time_limit=1)
    assert [row.name for row in table.rows] == ["PML", "LIP", "randomized response"]
    assert "left out" in str(table)


def test_where_everything_may_be_told_every_notion_tells_nearly_everything():
    prior = PRIORS[1]
    table = ex.compare(prior, prior.epsilon_max)
    assert table.row("PML").value == pytest.approx(prior.entropy)
    assert table.row("LDP").value == pytest.approx(prior.entropy, abs=1e-4)


def test_level_0_tells_nothing():
    for notion in (ex.LDP, ex.LIP, ex.MaximalLeakage):
        assert ex.design(PRIORS[1], 0.0, ex.mutual_information, notion=notion).value == pytest.approx(
            0, abs=1e-12
        )


def test_large_alphabets_and_bad_levels_are_refused():
    with refused(ex.errors.SizeError, "PriorSet.at_least"):
        ex.design(ex.Prior.uniform(15), 1.0, ex.mutual_information, notion=ex.LDP)
    with refused(ex.errors.SizeError, "14"):
        ex.design(ex.Prior.uniform(15), 1.0, ex.mutual_information, notion=ex.MaximalLeakage)
    with pytest.raises(ex.errors.EpsilonError):
        ex.design(PRIORS[0], -1, ex.mutual_information, notion=ex.LDP)
    with pytest.raises(ex.errors.PriorError):
        ex.compare([0.5, 0.5], 1.0)


def test_designs_for_other_notions_do_not_speak_of_regions_of_leakage():
    prior = ex.Prior([0.5, 0.3, 0.2])
    assert "under LDP" in str(ex.design(prior, 0.3, ex.mutual_information, notion=ex.LDP))
    assert "under maximal leakage" in str(
        ex.design(prior, 0.3, ex.mutual_information, notion=ex.MaximalLeakage)
    )
    for design in (
        ex.design(prior, 0.3, ex.mutual_information, notion=notion) for notion in (ex.LDP, ex.MaximalLeakage)
    ):
        assert "region" not in str(design)


def test_no_client_of_local_differential_privacy_beats_the_design_for_shares_at_equal_leakage():
    prior = ex.Prior([0.4, 0.3, 0.2, 0.1])
    for epsilon in (0.2, 0.9):
        table = ex.compare(prior, epsilon, ex.shares)
        assert len(table.rows) == 6
        for row in table.rows[1:]:
            assert row.pml <= epsilon + 1e-9
            assert row.value <= table.rows[0].value
    assert "subset selection" in str(table)
    large = ex.compare(ex.Prior.uniform(13), 1.0, ex.shares)
    assert len(large.rows) == 2
    assert "left out" in large.to_markdown()
