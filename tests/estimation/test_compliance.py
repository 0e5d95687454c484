"""People who do not comply: bounds by enumeration, rates by closed form and simulation."""

import itertools
import json

import numpy as np
import pytest

import extremal as ex
from tests.support.wording import refused

YES = ["yes", "no"]
WARNER = ex.Mechanism([[0.8, 0.2], [0.2, 0.8]], inputs=YES, outputs=YES)
OTHER = ex.Mechanism([[0.35, 0.65], [0.65, 0.35]], inputs=YES, outputs=YES)
PRIOR = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})


def test_bounds_are_the_extremes_over_all_ways_not_to_comply():
    """Whole people: of 20, up to 3 answer "a" whatever is true; every way to change them back is listed."""
    answered, tau = {"a": 10, "b": 6, "c": 4}, 3
    found = ex.compliance.bounds(
        ex.estimate(ex.Mechanism(np.eye(3), *[list("abc")] * 2), answered), "a", tau / 20
    )
    truths = [
        {"a": 10 - moved + back[0], "b": 6 + back[1], "c": 4 + back[2]}
        for moved in range(tau + 1)
        for back in itertools.product(range(tau + 1), repeat=3)
        if sum(back) == moved
    ]
    for k, label in enumerate("abc"):
        assert found.lowest[k] * 20 == pytest.approx(min(t[label] for t in truths))
        assert found.highest[k] * 20 == pytest.approx(max(t[label] for t in truths))
    assert (found.lower <= found.lowest).all()
    assert (found.upper >= found.highest).all()
    assert "if at most 15% of all people answer 'a'" in str(found)
    assert json.loads(found.to_json())["rows"][0]["label"] == "a"
    none = ex.compliance.bounds(ex.estimate(WARNER, {"yes": 500, "no": 500}), "no", 0.0)
    assert none.lowest == pytest.approx(none.highest)


def test_two_mechanisms_identify_the_rate_in_closed_form():
    """lambda_g = (1 - tau) (b_g + (a_g - b_g) theta) for the share of "yes": two equations for two unknowns."""
    theta, tau = 0.4, 0.15
    shares = [(1 - tau) * (m[1, 0] + (m[0, 0] - m[1, 0]) * theta) for m in (WARNER.matrix, OTHER.matrix)]
    counts = [round(share * 10**6) for share in shares]
    groups = {
        name: (mechanism, {"yes": yes, "no": 10**6 - yes})
        for name, mechanism, yes in zip("ab", (WARNER, OTHER), counts, strict=True)
    }
    found = ex.compliance.rate(groups, "no")
    assert found.identified
    assert found.rate == pytest.approx(tau, abs=1e-5)
    assert found.table.estimates == pytest.approx([theta, 1 - theta], abs=1e-5)
    assert found.p_value < 1e-10
    assert "not everybody complies" in str(found)


def test_one_mechanism_or_a_safe_answer_leaves_the_rate_open_and_the_words_say_so():
    reports = {"yes": 400, "no": 600}
    same = ex.compliance.rate({"a": (WARNER, reports), "b": (WARNER, reports)}, "no")
    entered = ex.compliance.rate({"a": (WARNER, reports), "b": (OTHER, reports)}, "no", entered="answer")
    for found in (same, entered):
        assert not found.identified
        assert found.rate is None
        assert found.p_value is None
        assert "is not identified: they look like people for whom it is true" in str(found)
        assert found.lower == pytest.approx(0)
    assert "give a second group another one" in str(same)


@pytest.mark.parametrize(
    ("groups", "label", "message"),
    [
        ({}, "no", "groups"),
        ({"a": WARNER}, "no", "pair 1"),
        ({"a": (WARNER, {"yes": 3})}, "maybe", "['yes', 'no']"),
        ({"a": (WARNER, {"yes": 0})}, "no", "reports"),
        (
            {"a": (WARNER, {"yes": 3}), "b": (ex.Mechanism(np.eye(2)), {0: 2})},
            "no",
            "['yes', 'no'] and [0, 1]",
        ),
    ],
)
def test_groups_that_make_no_sense_are_refused(groups, label, message):
    with refused(ex.errors.ExtremalError, *message.split(" and ")):
        ex.compliance.rate(groups, label)


def test_bounds_are_of_an_estimate_and_a_share_is_a_probability():
    with refused(ex.errors.ValuesError, "3"):
        ex.compliance.bounds(3, "no", 0.1)
    with refused(ex.errors.OptionError, "share", "0 to 1"):
        ex.compliance.bounds(ex.estimate(WARNER, {"yes": 3}), "no", 1.5)


@pytest.mark.slow
def test_rates_and_shares_of_those_who_comply_are_covered():
    rng, hits, rounds = np.random.default_rng(0), np.zeros(2), 2000
    for _ in range(rounds):
        groups = {}
        for name, m in (("a", WARNER), ("b", OTHER)):
            yes = rng.binomial(2000, 0.85 * (m.matrix[1, 0] + (m.matrix[0, 0] - m.matrix[1, 0]) * 0.4))
            groups[name] = (m, {"yes": int(yes), "no": int(2000 - yes)})
        found = ex.compliance.rate(groups, "no")
        hits += [found.lower <= 0.15 <= found.upper, found.table.lower[0] <= 0.4 <= found.table.upper[0]]
    assert (hits / rounds > 0.93).all()
    assert (hits / rounds < 0.97).all()
