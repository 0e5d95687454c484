"""What a design says, and what people get who ask for one that cannot be."""

import math

import numpy as np
import pytest

import extremal as ex
from extremal.errors import EpsilonError, OptionError, PriorError, UtilityError
from extremal.optimization.problem import Problem
from extremal.optimization.utilities import choose
from tests.support.optima import TWO
from tests.support.pricing import families
from tests.support.solving import design_by
from tests.support.wording import refused


def test_the_rule_of_auto_is_that_of_the_docstring():
    def method(prior, epsilon, utility=ex.mutual_information, low=0.0):
        return choose(Problem(prior, epsilon, utility, ex.LIP.above(low)))

    three, eleven = ex.Prior([0.5, 0.3, 0.2]), ex.Prior.from_counts(range(1, 12))
    norm = ex.Utility(lambda prior, P: np.sqrt((P**2).sum(axis=0)), symmetric=True)
    assert method(three, 0) == "constant"
    assert method(three, 9) == "identity"
    assert method(TWO, 0.5) == "binary"
    assert method(three, 0.1) == "high-privacy"
    assert method(ex.Prior.uniform(30), 1.0) == "uniform"
    assert method(ex.Prior.uniform(30), 1.0, norm) == "uniform"
    assert method(three, 0.7, ex.ExpectedGain(np.eye(3))) == "gain-program"
    assert method(three, 0.7) == "enumeration"
    assert method(eleven, 0.7) == "column-generation"
    assert method(eleven, 0.7, norm) == "enumeration"
    assert method(ex.Prior.from_counts(range(1, 16)), 0.7, norm) == "column-generation"
    assert method(TWO, 0.5, low=0.5) == "enumeration"
    assert method(ex.Prior.uniform(30), 1.0, low=0.5) == "column-generation"


def test_a_design_prints_itself():
    prior = ex.Prior({"yes": 0.5, "no": 0.3, "don't <know>": 0.2})
    design = ex.design(prior, 0.7, ex.mutual_information)
    first, second, third = str(design).splitlines()
    assert first.startswith(
        f"mutual information {design.value:.9g} at epsilon = 0.7; at most {design.upper_bound:.9g}"
    )
    assert "(gap " in first
    assert second == "3 answers, 3 reports; a report can rule out up to 2 answers"
    assert third.startswith("method enumeration, ")
    assert "columns in 1 round" in third
    page = design._repr_html_()
    assert page.startswith("<pre>mutual information")
    assert "<table>" in page
    assert "don&#x27;t &lt;know&gt;" in page
    assert "<know>" not in page
    loose = ex.design(ex.Prior(families(30)["Zipf 1"]), 0.7, ex.mutual_information, time_limit=0)
    assert "more than the tolerance" in str(loose)
    assert "matrix" not in repr(design)
    for line in [*str(design).splitlines(), *str(loose).splitlines()]:
        assert len(line) <= 120


def test_above_all_regions_a_design_says_whether_everything_is_told():
    prior = ex.Prior([0.5, 0.3, 0.2])
    designs = (
        ex.design(prior, 5.0, ex.mutual_information),
        ex.design(prior, 5.0, ex.mutual_information, notion=ex.LIP.above(0.5)),
        ex.design(ex.PriorSet.at_least(prior, 0), 5.0, ex.mutual_information),
    )
    lines = [[line for line in str(design).splitlines() if "reports; " in line] for design in designs]
    words = [line.rpartition("; ")[2] for (line,) in lines]
    assert words == [
        "the report may be the answer itself",
        "under LIP.above(0.5)",
        "the limit is above epsilon_max",
    ]


def test_outputs_carry_the_labels_they_agree_with_most_often():
    prior = ex.Prior({"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1})
    design = ex.design(prior, 1.0, ex.mutual_information)
    assert set(design.mechanism.outputs) <= {"a", "b", "c", "d"}
    shuffled = ex.Mechanism(design.mechanism.matrix, prior.labels)
    assert ex.theory.agreement(prior, design.mechanism) == ex.theory.agreement(
        prior, ex.theory.pair_outputs(prior, shuffled)
    )


def test_the_same_question_has_the_same_answer():
    prior = ex.Prior(families(40)["Zipf 1"])
    one, other = (ex.design(prior, 1.0, ex.mutual_information) for _ in range(2))
    assert one.mechanism == other.mechanism
    assert one.upper_bound == other.upper_bound


def test_the_order_of_symbols_does_not_matter():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(13))
    order = rng.permutation(13)
    one, other = (ex.design(ex.Prior(q), 0.8, ex.mutual_information, tolerance=1e-9) for q in (p, p[order]))
    assert one.value == pytest.approx(other.value, rel=2e-9)


# Errors a person can act on

THREE = ex.Prior([0.5, 0.3, 0.2])


@pytest.mark.parametrize(
    ("change", "error", "parts"),
    [
        ({"prior": [0.5, 0.5]}, PriorError, ["must be a Prior", "[0.5, 0.5]", "build one"]),
        ({"epsilon": -1}, EpsilonError, ["epsilon", ">= 0", "-1"]),
        ({"epsilon": math.nan}, EpsilonError, ["epsilon", "nan"]),
        ({"epsilon": "0.5"}, EpsilonError, ["number", "'0.5'"]),
        ({"utility": max}, UtilityError, ["must be a Utility", "max", "Utility(mu)"]),
        ({"utility": "mutual information"}, UtilityError, ["must be a Utility", "'mutual information'"]),
        ({"utility": ex.ExpectedGain(np.eye(4))}, UtilityError, ["each of 3 symbols", "got 4"]),
        (
            {"utility": ex.FDivergence(lambda t: (t - 1) ** 2, [1, 0], [0.5, 0.5])},
            UtilityError,
            ["each of 3", "got 2"],
        ),
        ({"tolerance": -1e-9}, ValueError, ["tolerance", ">= 0", "-1e-09"]),
        ({"tolerance": math.nan}, ValueError, ["tolerance", "nan"]),
        ({"tolerance": math.inf}, ValueError, ["tolerance", "inf"]),
        ({"time_limit": -1}, ValueError, ["time_limit", ">= 0", "-1", "math.inf"]),
        ({"time_limit": math.nan}, ValueError, ["time_limit", "nan"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_questions_that_make_no_sense_are_refused(change, error, parts):
    question = {"prior": THREE, "epsilon": 0.7, "utility": ex.mutual_information, **change}
    with pytest.raises(error) as caught:
        ex.design(**question)
    for part in parts:
        assert part in str(caught.value)


def test_theorem_4_needs_a_promise_of_symmetry():
    norm = ex.Utility(lambda prior, P: np.sqrt((P**2).sum(axis=0)), "norm")
    with pytest.raises(UtilityError, match="symmetric=True"):
        design_by(ex.Prior.uniform(4), 0.5, norm, oracle="uniform")


@pytest.mark.parametrize(
    "option",
    [{"tolerance": "x"}, {"time_limit": "x"}, {"progress": 5}],
)
def test_an_option_of_a_wrong_type_is_an_option_error(option):
    with pytest.raises(ex.errors.OptionError, match=next(iter(option))):
        ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.6, **option)


@pytest.mark.parametrize("lift", [-0.1, 1.1, math.nan, "0.5", None])
def test_a_lower_bound_on_lifts_is_a_number_between_0_and_1(lift):
    with refused(EpsilonError, "lift"):
        ex.LIP.above(lift)


def test_only_local_information_privacy_has_a_lower_bound_on_lifts():
    with refused(EpsilonError, "LIP"):
        ex.PML.above(0.5)


@pytest.mark.parametrize("notion", ["PML", None, 1])
def test_a_notion_is_one_of_four_values(notion):
    with refused(OptionError, "notion"):
        ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.5, ex.mutual_information, notion=notion)
