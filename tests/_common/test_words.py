"""Figures as text: bounds that are printed hold, and a factor reads the same everywhere."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal._common.words import apart, at_least, at_most, factor
from extremal.auditing.report import mechanism_report
from extremal.cli import show


@pytest.mark.parametrize(
    ("nats", "text"),
    [
        (0, "1"),
        (math.log(2), "2"),
        (0.3567, "1.43"),
        (0.7, "2.02"),
        (1, "2.72"),
        (0.001, "1.0011"),
        (5, "148.42"),
    ],
)
def test_a_factor_has_two_decimals_rounded_up_and_more_near_1(nats, text):
    assert factor(nats) == text


@pytest.mark.parametrize(
    ("limit", "value", "texts"),
    [
        (0.5, 0.6999999999999844, ("0.5", "0.7")),
        (0.7, 0.700004, ("0.7", "0.700004")),
        (2, 1e9, ("2", "1e+09")),
    ],
)
def test_two_figures_have_equal_digits_and_as_many_as_tell_them_apart(limit, value, texts):
    assert apart(limit, value) == texts


@given(st.floats(0, 300))
def test_a_printed_factor_holds_and_is_not_far_off(nats):
    added = math.expm1(nats)
    printed = float(factor(nats)) - 1
    assert printed >= added * (1 - 1e-9) - 1e-9
    assert printed <= added * 1.11 + 1e-9


def test_factors_beyond_doubles_stay_powers():
    assert factor(1000.0) == "e^1000"


@pytest.mark.parametrize(
    ("value", "above", "below"),
    [
        (0.6, "0.6", "0.6"),
        (1.82211, "1.823", "1.822"),
        (0.99999, "1", "0.9999"),
        (0, "0", "0"),
        (1, "1", "1"),
    ],
)
def test_printed_bounds_are_rounded_so_that_they_hold(value, above, below):
    assert (at_most(value), at_least(value)) == (above, below)


@given(st.floats(1e-6, 1e6))
def test_printed_bounds_hold(value):
    assert float(at_least(value)) * (1 - 1e-11) <= value <= float(at_most(value)) * (1 + 1e-11)
    assert float(at_most(value)) <= value * 1.0011


def test_a_factor_reads_the_same_in_words_on_pages_and_in_tables(capsys):
    prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    audit = ex.audit(ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.3567), 0.3567))
    show.Console().leakage_table(audit)
    table = capsys.readouterr().out
    page = re.sub(
        r"<style>.*?</style>|<svg.*?</svg>", "", mechanism_report(prior, audit.mechanism), flags=re.DOTALL
    )
    for text in (str(audit), audit.to_markdown(), audit._repr_html_(), page, table):
        assert "1.43" in text
        factors = re.sub(r"[\d.]+ %", "", text.replace("0.3567", ""))  # without chances
        assert not re.search(r"\b1\.4[23]\d", factors)
