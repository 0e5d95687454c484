"""plan(): closed forms where they exist, and simulated surveys that reach what was planned."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

import extremal as ex
from extremal.estimation.contrasts import Channel
from extremal.estimation.plan_result import coefficient_variance
from tests.support.wording import refused

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
DESIGN = ex.design(PRIOR, 0.8)
WARNER = ex.Mechanism([[0.8, 0.2], [0.2, 0.8]], inputs=["yes", "no"], outputs=["yes", "no"])
FEW = ex.Prior({"yes": 0.3, "no": 0.7})


def test_people_for_a_difference_follow_the_textbook_for_warners_design():
    """n = (z + z)^2 (V1 + V2) / d^2 with V = q (1 - q) / (2p - 1)^2, q the probability of a "yes"."""
    z = norm.ppf(0.975) + norm.ppf(0.9)
    q = [0.2 + 0.6 * share for share in (0.3, 0.42)]
    variance = sum(x * (1 - x) for x in q) / 0.36
    found = ex.plan((WARNER, FEW), difference=ex.planning.Effect(0.12, "yes", 0.9))
    assert found.people == math.ceil(z * z * variance / 0.12**2)
    assert found.groups == 2
    assert found.detectable == pytest.approx(
        replace(ex.plan((WARNER, FEW), people=found.total), power=0.9).detectable, abs=1e-3
    )
    assert "in each of two groups find a difference of 12 points in the share of 'yes'" in str(found)


def test_the_information_about_a_coefficient_is_the_integral_over_the_covariate():
    """Warner's design: the report is yes with a probability in which the slope is damped."""
    channel = Channel(WARNER.matrix, FEW.probabilities)
    beta = 0.7

    z = np.linspace(-9, 9, 20_001)  # the rule of trapezia is exact for what vanishes with all its derivatives
    density = norm.pdf(z) * (z[1] - z[0])

    def share(b):
        return float(density @ expit(b + beta * z))

    low, high = -5.0, 5.0
    for _ in range(60):
        low, high = ((low + high) / 2, high) if share((low + high) / 2) < 0.3 else (low, (low + high) / 2)

    def moment(k):
        p = expit(low + beta * z)
        q = 0.2 + 0.6 * p
        return float(density @ (z**k * (0.6 * p * (1 - p)) ** 2 / (q * (1 - q))))

    determinant = moment(0) * moment(2) - moment(1) ** 2
    assert coefficient_variance(channel, 0, beta) == pytest.approx(moment(0) / determinant, rel=1e-6)


@pytest.mark.parametrize("intervals", ["all", "each"])
def test_people_for_a_width_are_enough_and_one_fewer_is_not(intervals):
    n = ex.plan(DESIGN, width=0.12, intervals=intervals).people

    def widest(people):
        """Of the intervals at the counts that are expected, which need not be whole."""
        return ex.plan(DESIGN, people=people, intervals=intervals).widths.max()

    assert widest(n) <= 0.12 < widest(n - 1)
    if intervals == "each":  # Wilson's interval is a little narrower than that of 1.96 standard errors
        assert ex.plan(DESIGN, people=n).half_widths.max() * 2 == pytest.approx(0.12, rel=0.01)
    assert ex.planning.sample_size(PRIOR, DESIGN.mechanism, 0.12, intervals=intervals) == n


def test_epsilon_for_a_number_of_people_reaches_the_goal_and_less_does_not():
    found = ex.plan(PRIOR, people=1500, width=0.1, intervals="each")
    assert ex.plan(PRIOR, epsilon=found.epsilon, width=0.1, intervals="each").people <= 1500
    assert ex.plan(PRIOR, epsilon=found.epsilon * 0.99, width=0.1, intervals="each").people > 1500
    assert found.design.epsilon == found.epsilon
    assert f"1,500 people and epsilon = {found.epsilon:.3g} are expected to make" in str(found)
    with refused(ex.errors.EpsilonError, "100 people where"):
        ex.plan(PRIOR, people=100, width=0.05)


def test_a_plan_for_people_says_how_exact_they_are_and_warns_if_they_are_too_few():
    found = ex.plan(DESIGN, people=944)
    errors = ex.planning.expected_error(PRIOR, DESIGN.mechanism, 944).standard_errors
    assert found.half_widths == pytest.approx(1.959964 * errors, rel=1e-6)
    points = 100 * 1.959964 * math.sqrt(np.mean(errors**2))
    assert found.sentence.startswith(f"With 944 people each share is known to about ± {points:.1f} points (")
    assert not found.too_small
    assert "too small to say anything" in str(ex.plan(ex.design(PRIOR, 0.1), people=50))
    assert json.loads(found.to_json())["people"] == 944
    blind = ex.Mechanism([[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]], inputs=PRIOR.labels)
    assert "cannot tell all shares apart" in ex.plan((blind, PRIOR), people=100).sentence


def test_precision_falls_with_people_and_epsilon_to_that_of_true_answers():
    found = ex.planning.precision(PRIOR, [0.3, 1.0], people=[100, 400])
    assert found.half_widths[:, 0] == pytest.approx(2 * found.half_widths[:, 1])
    assert (np.diff(found.half_widths, axis=0) < 0).all()
    p = PRIOR.probabilities
    assert found.half_widths[-1, 0] == pytest.approx(
        1.959964 * math.sqrt(np.mean(p * (1 - p)) / 100), rel=1e-6
    )
    assert found.to_frame("polars").shape == (6, 3)
    assert str(found).splitlines()[-1].startswith("  truth")
    assert len(found.plot().lines) == 3


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "width=0.05"),
        ({"width": 0.1, "difference": 0.1}, "several"),
        ({"width": 0.1, "people": 100}, "people\n"),
        ({"people": 1.5}, "people\n"),
        ({"width": 0.1, "intervals": "both"}, "intervals\n"),
        ({"difference": 1.5}, "difference\n"),
        ({"difference": ex.planning.Effect(0.1, "x")}, "answer\n"),
        ({"coefficient": 0}, "coefficient\n"),
        ({"width": 5e-324}, "1e+12"),
        ({"difference": 1e-200}, "1e+12"),  # its square is 0
        ({"coefficient": -1e-200}, "1e+12"),
        ({"width": 0.1, "epsilon": 1.0}, "epsilon\n"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(how, message):
    with refused(ex.errors.ExtremalError, message):
        ex.plan(DESIGN, **how)


def test_a_plan_needs_a_prior():
    with refused(ex.errors.OptionError, "prior"):
        ex.plan(WARNER, people=100)
    with refused(ex.errors.OptionError, "power"):
        ex.planning.Effect(0.1, power=1)
    with refused(ex.errors.OptionError, "people"):
        ex.plan(PRIOR, people=100)


# Simulated surveys


@pytest.mark.slow
def test_the_planned_power_for_a_difference_is_reached():
    plan = ex.plan(DESIGN, difference=ex.planning.Effect(0.1, "often"))
    P, rng = DESIGN.mechanism.matrix, np.random.default_rng(1)
    other = np.array([0.5, 0.3, 0.2]) * 0.7 / 0.8
    other[2] = 0.3
    hits, rounds = 0, 2000
    for _ in range(rounds):
        counts = [rng.multinomial(plan.people, theta @ P) for theta in (PRIOR.probabilities, other)]
        a, b = (
            ex.estimate(
                DESIGN.mechanism, dict(enumerate(c.tolist())), intervals="each", method=ex.Method(prior=PRIOR)
            )
            for c in counts
        )
        found = b.difference(a)
        hits += not found.lower[2] <= 0 <= found.upper[2]
    assert hits / rounds == pytest.approx(0.8, abs=0.03)


@pytest.mark.slow
def test_the_planned_power_for_a_coefficient_is_reached():
    import pandas as pd

    beta = 0.4
    certified = ex.certify(ex.design(FEW, 0.5))
    plan = ex.plan(certified, coefficient=ex.planning.Effect(beta, "yes"))
    rng = np.random.default_rng(2)
    grid = rng.normal(size=200_000)
    low, high = -5.0, 5.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle + beta * grid).mean() < 0.3 else (low, middle)
    hits, rounds = 0, 1000
    for _ in range(rounds):
        z = rng.normal(size=plan.people)
        truth = np.where(rng.random(plan.people) < expit(low + beta * z), "yes", "no")
        rows = np.array([certified.inputs.index(x) for x in truth])
        y = (rng.random(plan.people)[:, None] > certified.mechanism.matrix.cumsum(axis=1)[rows]).sum(axis=1)
        frame = pd.DataFrame({"answer": np.array(certified.outputs)[y], "z": z})
        fit = ex.regress(certified, "answer ~ z", frame)
        hits += fit.p_values[[p.column for p in fit.parameters].index("z")] < 0.05
    assert hits / rounds == pytest.approx(0.8, abs=0.03)
