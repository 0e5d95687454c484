"""least_epsilon(): against closed forms of two answers and against designs at neighbouring levels."""

import math

import numpy as np
import pytest

import extremal as ex
from tests.support.wording import refused

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})


@pytest.mark.parametrize("wanted", [0.05, 0.3, 0.8])
def test_two_uniform_answers_need_the_epsilon_of_warners_design(wanted):
    """Efficiency of Warner's design: (2p - 1)^2; its leakage: log 2p. So epsilon = log(1 + sqrt(efficiency))."""
    found = ex.planning.least_epsilon(ex.Prior([0.5, 0.5]), wanted)
    assert found.lower < math.log1p(math.sqrt(wanted)) <= found.epsilon * (1 + 1e-8)
    assert found.epsilon - found.lower <= 1e-3 * found.epsilon
    assert ex.shares(found.prior, found.certified.mechanism) >= wanted
    assert found.certified.realised_epsilon <= found.epsilon


@pytest.mark.parametrize("utility", [ex.shares, ex.mutual_information, ex.utilities.total_variation])
def test_both_ends_hold_and_the_lower_one_is_checked_without_the_solver(utility):
    wanted = 0.3 * utility(PRIOR, ex.Mechanism(np.eye(3), PRIOR.labels, PRIOR.labels))
    steps = []
    found = ex.planning.least_epsilon(PRIOR, wanted, utility, progress=lambda *b: steps.append(b))
    assert utility(PRIOR, found.certified.mechanism) >= wanted
    assert found.certified.realised_epsilon <= found.epsilon
    assert found.refuted.epsilon == found.lower
    check = ex.check_design(found.refuted)
    assert check.ok
    assert check.upper_bound < wanted
    assert steps[-1] == (found.lower, found.epsilon)
    assert found.epsilon - found.lower <= 1e-3 * found.epsilon


def test_a_loose_proof_widens_the_bounds_and_says_nothing_wrong(monkeypatch):
    from dataclasses import replace

    from extremal.estimation import epsilons as module

    honest = module.designed

    def loose(*args, **kwargs):
        made = honest(*args, **kwargs)
        return replace(made, upper_bound=min(1.2 * made.upper_bound, 1.0))

    def found():
        return module.least_epsilon(PRIOR, 0.25, ex.mutual_information)

    exact = found()
    monkeypatch.setattr(module, "designed", loose)
    wide = found()
    assert wide.lower < exact.lower
    assert wide.epsilon == pytest.approx(exact.epsilon, rel=2e-3)
    at_most = loose(PRIOR, wide.lower * 1.002, ex.mutual_information).upper_bound
    assert wide.refuted.upper_bound < 0.25 <= at_most


def test_a_half_width_is_that_of_the_sentence_of_a_plan():
    found = ex.planning.least_epsilon(PRIOR, people=944, half_width=0.05)
    plan = ex.plan(found.design, people=944)
    assert math.sqrt(np.mean(plan.half_widths**2)) == pytest.approx(0.05, rel=2e-3)
    assert math.sqrt(np.mean(plan.half_widths**2)) <= 0.05
    said = str(found).splitlines()
    assert said[0].startswith("epsilon = 0.6747 is enough")
    assert said[1].startswith("epsilon = 0.674")


def test_a_wish_that_nothing_reaches_or_everything_is_said():
    with refused(ex.errors.EpsilonError, "79.39 wanted where 1 is possible"):
        ex.planning.least_epsilon(PRIOR, people=100, half_width=0.01)
    with refused(ex.errors.EpsilonError, "inf wanted where 1 is possible"):
        ex.planning.least_epsilon(PRIOR, people=100, half_width=1e-200)  # its square is 0
    guess = ex.utilities.ExpectedGain(np.eye(3))
    assert (
        ex.planning.least_epsilon(PRIOR, 0.4, guess).epsilon == 0
    )  # the largest share is guessed right without reports


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"wanted": 0.2, "people": 100},
        {"people": 100},
        {"wanted": 1.5},
        {"wanted": 0.0},
        {"people": 100, "half_width": 2.0},
        {"people": 100, "half_width": 0.1, "utility": ex.mutual_information},
    ],
)
def test_wishes_that_are_none_are_refused(wish):
    with pytest.raises(ex.errors.OptionError):
        ex.planning.least_epsilon(PRIOR, **wish)
