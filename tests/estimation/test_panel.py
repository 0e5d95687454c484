"""The same people asked twice: McNemar's variance, transitions, weights, and simulated panels."""

import math

import numpy as np
import pytest

import extremal as ex
from extremal.estimation.promise import Promise
from tests.support.wording import refused

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
TRUTH = ex.Mechanism(np.eye(3), PRIOR.labels, PRIOR.labels)
RESPONSE = ex.theory.randomized_response_for_pml(PRIOR, 1.2)
DESIGN = ex.design(PRIOR, 1.0).mechanism
MOVES = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])


def panel(n, rng, mechanisms=(TRUTH, TRUTH)):
    """Reports of both waves of n people whose answers move by MOVES."""
    x = rng.choice(3, n, p=PRIOR.probabilities)
    y = _draw(MOVES, x, rng)
    return [
        np.array(m.outputs, dtype=object)[_draw(m.matrix, z, rng)]
        for m, z in zip(mechanisms, (x, y), strict=True)
    ]


def _draw(P, x, rng):
    return (rng.random(len(x))[:, None] > P.cumsum(axis=1)[x]).sum(axis=1)


def test_of_true_answers_the_change_has_mcnemars_variance_and_transitions_those_of_the_table():
    first, second = panel(900, np.random.default_rng(1))
    found = ex.panels.change((TRUTH, TRUTH), first, second)
    table = np.array([[np.sum((first == a) & (second == b)) for b in PRIOR.labels] for a in PRIOR.labels])
    p = table / 900
    for k in range(3):
        up, down = p[:, k].sum() - p[k, k], p[k].sum() - p[k, k]
        assert found.change.estimates[k] == pytest.approx(up - down)
        assert found.change.standard_errors[k] == pytest.approx(
            math.sqrt((up + down - (up - down) ** 2) / 900)
        )
    rows = table / table.sum(axis=1, keepdims=True)
    assert found.matrix == pytest.approx(rows)
    errors = np.sqrt(rows * (1 - rows) / table.sum(axis=1, keepdims=True))
    assert found.transitions.standard_errors == pytest.approx(errors.ravel())
    assert found.stayed.estimates[0] == pytest.approx(np.trace(p))
    assert found.transitions.labels[1] == "never -> once"
    assert found.first.estimates == pytest.approx(p.sum(axis=1))
    assert found.second.estimates == pytest.approx(p.sum(axis=0))


def test_people_missing_in_a_wave_are_left_out_and_weights_count():
    first, second = panel(300, np.random.default_rng(2))
    whole = ex.panels.change(
        (TRUTH, TRUTH), first[5:], second[5:], sample=ex.SampleDesign(weights=np.arange(1, 296))
    )
    first[:3], second[3:5] = None, None
    found = ex.panels.change(
        (TRUTH, TRUTH), first, second, sample=ex.SampleDesign(weights=[7] * 5 + list(range(1, 296)))
    )
    assert found.dropped == 5
    assert "5 people who reported in one wave only were left out" in str(found)
    assert found.change.estimates == pytest.approx(whole.change.estimates)
    assert found.change.standard_errors == pytest.approx(whole.change.standard_errors)
    exact = ex.panels.change((RESPONSE, RESPONSE), first, second, intervals="all")
    assert exact.change.promise == Promise(0.95, "all", exact=True)


@pytest.mark.parametrize(
    ("mechanisms", "second", "message"),
    [
        ((TRUTH,), ["never"], "mechanisms"),
        ((TRUTH, TRUTH), "never", "'never'"),
        ((TRUTH, TRUTH), ["never", "once"], "1 and 2"),
        ((TRUTH, TRUTH), ["nver"], "others in 1 of 1 rows"),
        ((TRUTH, ex.Mechanism(np.eye(2))), [0], "['never', 'once', 'often'] and [0, 1]"),
    ],
)
def test_waves_that_do_not_fit_are_refused(mechanisms, second, message):
    with refused(ex.errors.ExtremalError, *message.split(" and ")):
        ex.panels.change(mechanisms, ["never"], second)


@pytest.mark.slow
def test_changes_and_transitions_are_covered():
    rng, rounds = np.random.default_rng(4), 1000
    truth = PRIOR.probabilities @ MOVES - PRIOR.probabilities
    changes, moves = np.zeros(3), np.zeros(9)
    for _ in range(rounds):
        found = ex.panels.change((RESPONSE, DESIGN), *panel(4000, rng, (RESPONSE, DESIGN)))
        changes += (found.change.lower <= truth) & (truth <= found.change.upper)
        moves += (found.transitions.lower <= MOVES.ravel()) & (MOVES.ravel() <= found.transitions.upper)
    assert (changes / rounds > 0.93).all()
    assert (changes / rounds < 0.97).all()
    assert 0.93 < moves.mean() / rounds < 0.97


def test_reports_that_share_their_noise_are_refused():
    """The same file twice, or both waves under one occasion: change would seem smaller than it is."""
    rng = np.random.default_rng(3)
    first, second = panel(400, rng, (RESPONSE, RESPONSE))
    ex.panels.change((RESPONSE, RESPONSE), first, second)
    with refused(ex.errors.ValuesError, "400 of 400 that agree"):
        ex.panels.change((RESPONSE, RESPONSE), first, first)
    with refused(ex.errors.ValuesError, "384 of 400 that agree"):
        ex.panels.change((RESPONSE, RESPONSE), first, np.where(rng.random(400) < 0.9, first, second))
