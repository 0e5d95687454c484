"""extremal plan, and the sentence with which extremal design ends."""

import json
from pathlib import Path

import pytest

import extremal as ex
from tests.support.cli_cases import run

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
GIVEN = ["--prior", "never=0.5,once=0.3,often=0.2"]


@pytest.fixture
def mechanism(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    certified = ex.certify(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.7), 0.7)
    certified.save("m.json")
    return certified


def flat(text):
    return " ".join(text.split())


def test_plans_are_those_of_the_library(mechanism):
    for options, goal in (
        (["--width", "0.2"], {"width": 0.2}),
        (["--difference", "0.1", "--answer", "often"], {"difference": ex.planning.Effect(0.1, "often")}),
        (["--people", "944"], {"people": 944}),
    ):
        expected = ex.plan(mechanism, **goal)
        facts = json.loads(run("plan", "-m", "m.json", *options, "--json").out)
        assert facts["people"] == expected.people
        assert facts["half_widths"] == pytest.approx(expected.half_widths)
        shown = flat(run("plan", "-m", "m.json", *options).out)
        assert expected.sentence in shown
        assert expected.wanted in shown


def test_a_prior_gets_a_design_or_its_epsilon_and_a_picture(mechanism):
    facts = json.loads(run("plan", *GIVEN, "--epsilon", "0.7", "--width", "0.2", "--json").out)
    assert facts["people"] == ex.plan(PRIOR, epsilon=0.7, width=0.2).people
    facts = json.loads(run("plan", *GIVEN, "--people", "2000", "--difference", "0.2", "--json").out)
    assert facts["epsilon"] == pytest.approx(ex.plan(PRIOR, people=2000, difference=0.2).epsilon)
    done = run("plan", *GIVEN, "--picture", "p.svg")
    assert done.status == 0
    assert "truth" in done.out
    assert Path("p.svg").read_text().lstrip().startswith("<?xml")


def test_the_least_epsilon_for_a_wish_comes_with_its_proof(mechanism):
    expected = ex.planning.least_epsilon(PRIOR, 0.25)
    facts = json.loads(run("plan", *GIVEN, "--efficiency", "0.25", "--json").out)
    assert facts["epsilon"] == pytest.approx(expected.epsilon)
    assert facts["refuted_upper_bound"] < 0.25
    done = run("plan", *GIVEN, "--people", "944", "--half-width", "0.05")
    assert "is not: at most" in flat(done.out)
    assert "With 944 people each share is known to about ± 5.0 points" in flat(done.out)
    done = run("plan", "-m", "m.json", "--efficiency", "0.25")
    assert done.status != 0
    assert "--efficiency must not be combined with --mechanism" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["-m", "m.json"],
            "a plan needs a goal: width, difference or coefficient, or a number of people, got none",
        ),
        (["-m", "m.json"], "e.g. --width 0.05"),
        (GIVEN, "e.g. --people 944 --width 0.2"),
        (["-m", "m.json", "--width", "1e-300"], "1e-300"),
        (["-m", "m.json", "--difference", "1e-300"], "1e+12"),
        (
            ["-m", "m.json", "--width", "0.1", "--people", "9"],
            "--people",
        ),
        (["-m", "m.json", *GIVEN, "--people", "9"], "--mechanism"),
        (["-m", "m.json", "--people", "0"], "--people"),
        (["-m", "m.json", "--people", "9", "--picture", "p.pdf"], ".png or .svg"),
        (["-m", "m.json", "--difference", "0.1", "--answer", "x"], "--answer"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_in_one_line(mechanism, options, message):
    done = run("plan", *options)
    assert (done.status, len(done.error_lines)) == (2, 1)
    assert message in done.err


def test_a_design_says_how_exact_it_is(mechanism):
    made = ex.certify(ex.design(PRIOR, 0.7)).mechanism
    for options, people in (([], (300, 1000, 3000)), (["--people", "944"], (944,))):
        sentence = ex.planning.precision_sentence(PRIOR, made, people)
        assert sentence in flat(run("design", *GIVEN, "-e", "0.7", *options).out)
        facts = json.loads(run("design", *GIVEN, "-e", "0.7", *options, "--json").out)
        assert facts["precision"] == sentence
    assert "next to nothing about single shares" in flat(
        run("design", *GIVEN, "-e", "0.1", "--people", "20").out
    )
    assert "--people must be" in run("design", *GIVEN, "-e", "0.7", "--people", "0").err


def test_a_design_for_the_mean_of_numbers_is_that_of_the_library(mechanism):
    given = ["--prior", "1=0.5,2=0.3,5=0.2", "-e", "0.7"]
    facts = json.loads(run("design", *given, "--utility", "mean", "--json").out)
    prior = ex.Prior({1: 0.5, 2: 0.3, 5: 0.2})
    assert facts["value"] == pytest.approx(ex.design(prior, 0.7, ex.mean([1, 2, 5])).value)
    refused = run("design", *GIVEN, "-e", "0.7", "--utility", "mean")
    assert (refused.status, len(refused.error_lines)) == (2, 1)
    assert "'never', 'once', 'often'" in refused.err
