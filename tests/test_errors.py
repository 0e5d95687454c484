"""Bad input gets a clear error: of the right kind, saying what must hold, what was given and what to do."""

import math
import re

import numpy as np
import pytest

import extremal as ex
from extremal import errors
from extremal.model.counting import count_values
from extremal.model.mechanism import identity
from extremal.theory import adversary, closed_form, majorization
from extremal.theory.enumeration import exact_polytope_vertices

NAN, INF = math.nan, math.inf
FLIP = [[0.75, 0.25], [0.25, 0.75]]
PRIOR = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
PAIR = ex.Prior([0.8, 0.2])


def square(t):
    return (t - 1) ** 2


def mechanism(matrix=FLIP, **labels):
    return ex.Mechanism(matrix, **labels)


CASES = {
    # priors
    "a negative probability": (
        lambda: ex.Prior([1.5, -0.5]),
        errors.PriorError,
        ["prior", "-0.5", "[1]"],
    ),
    "a NaN probability": (lambda: ex.Prior({"a": NAN, "b": 1}), errors.PriorError, ["prior", "nan", "'a'"]),
    "an infinite probability": (lambda: ex.Prior([INF, 1]), errors.PriorError, ["prior", "inf", "[0]"]),
    "a missing probability": (lambda: ex.Prior([None, 1]), errors.PriorError, ["prior", "nan"]),
    "a probability below all reason": (
        lambda: ex.Prior([1e-200, 1.0], labels=["rare", "common"]),
        errors.PriorError,
        ["prior", "1e-200 for ['rare']"],
    ),
    "a masked probability": (
        lambda: ex.Prior(np.ma.array([0.5, 0.25, 0.25], mask=[0, 0, 1])),
        errors.PriorError,
        ["prior", "nan for [2]"],
    ),
    "a set as data": (lambda: ex.Prior.from_data({"a", "b"}), errors.PriorError, ["values"]),
    "a list for a prior": (
        lambda: ex.pml([0.5, 0.5], mechanism()),
        errors.PriorError,
        ["prior", "[0.5, 0.5]"],
    ),
    "an array for a mechanism": (lambda: ex.pml(PAIR, np.eye(2)), errors.MechanismError, ["mechanism"]),
    "an array for post-processing": (lambda: mechanism().then(FLIP), errors.MechanismError, ["mechanism"]),
    "an array for composition": (lambda: mechanism().compose(FLIP), errors.MechanismError, ["mechanism"]),
    "an array for comparison": (
        lambda: mechanism().same_up_to_columns(FLIP),
        errors.MechanismError,
        ["mechanism"],
    ),
    "an array for maximal leakage": (
        lambda: ex.measures.maximal_leakage(FLIP),
        errors.MechanismError,
        ["mechanism"],
    ),
    "an array for LDP": (lambda: ex.measures.ldp_epsilon(FLIP), errors.MechanismError, ["mechanism"]),
    "a list for Theorem 2": (lambda: closed_form.binary([0.5, 0.5], 0.1), errors.PriorError, ["prior"]),
    "a list for Theorem 3": (
        lambda: closed_form.high_privacy([0.5, 0.5], 0.1),
        errors.PriorError,
        ["prior"],
    ),
    "a list for arcs": (lambda: closed_form.arc([0.5, 0.5], 0.1), errors.PriorError, ["prior"]),
    "a list for lift vectors": (
        lambda: ex.theory.extremal_lift_vectors([0.5, 0.5], 1),
        errors.PriorError,
        ["prior"],
    ),
    "a list for the polytope": (
        lambda: ex.theory.polytope_vertices([0.5, 0.5], 1),
        errors.PriorError,
        ["prior"],
    ),
    "a list for randomized response": (
        lambda: ex.theory.randomized_response_for_pml([0.5, 0.5], 1),
        errors.PriorError,
        ["prior"],
    ),
    "a zero probability": (
        lambda: ex.Prior({"single": 1.0, "widowed": 0}),
        errors.PriorError,
        ["prior", "0 for ['widowed']"],
    ),
    "a sum above 1": (lambda: ex.Prior([0.5, 0.6]), errors.PriorError, ["prior", "1.1"]),
    "counts as a prior": (lambda: ex.Prior([10, 7]), errors.PriorError, ["prior", "sum of 17"]),
    "a sum just off 1": (lambda: ex.Prior([0.5, 0.5 + 1e-8]), errors.PriorError, ["prior", "1.00000001"]),
    "one label": (lambda: ex.Prior([1.0]), errors.PriorError, ["1"]),
    "no label": (lambda: ex.Prior([]), errors.PriorError, ["0"]),
    "duplicate labels": (
        lambda: ex.Prior([0.5, 0.25, 0.25], labels=["x", "y", "x"]),
        errors.PriorError,
        ["['x']"],
    ),
    "labels equal as numbers": (
        lambda: ex.Prior([0.5, 0.5], labels=[1, True]),
        errors.PriorError,
        [],
    ),
    "too few labels": (
        lambda: ex.Prior([0.5, 0.5], labels=["x"]),
        errors.PriorError,
        ["1 labels"],
    ),
    "too many labels": (lambda: ex.Prior([0.5, 0.5], labels=range(3)), errors.PriorError, ["3 labels"]),
    "a missing label": (
        lambda: ex.Prior([0.5, 0.5], labels=["x", None]),
        errors.PriorError,
        ["None"],
    ),
    "a NaN label": (lambda: ex.Prior({NAN: 0.5, 1: 0.5}), errors.PriorError, ["nan"]),
    "an unhashable label": (
        lambda: ex.Prior([0.5, 0.5], labels=["x", ["y"]]),
        errors.PriorError,
        ["['y']"],
    ),
    "an unhashable label in a tuple": (
        lambda: ex.Prior([0.5, 0.5], labels=["x", ("y", [])]),
        errors.PriorError,
        ["('y', [])"],
    ),
    "a string of labels": (
        lambda: ex.Prior([0.5, 0.5], labels="ab"),
        errors.PriorError,
        ["'ab'"],
    ),
    "labels without order": (lambda: ex.Prior([0.5, 0.5], labels={"a", "b"}), errors.PriorError, []),
    "a number for labels": (lambda: ex.Prior([0.5, 0.5], labels=2), errors.PriorError, ["2"]),
    "a mapping and labels": (lambda: ex.Prior({"a": 1, "b": 0}, labels="ab"), errors.PriorError, []),
    "text for probabilities": (lambda: ex.Prior(["0.5", "0.5"]), errors.PriorError, ["prior", "'0.5'"]),
    "text among probabilities": (lambda: ex.Prior([0.5, "0.5"]), errors.PriorError, ["prior"]),
    "a text": (lambda: ex.Prior("0.5, 0.5"), errors.PriorError, ["prior"]),
    "complex probabilities": (lambda: ex.Prior(np.array([0.5 + 0j, 0.5])), errors.PriorError, ["prior"]),
    "a matrix for a prior": (lambda: ex.Prior(FLIP), errors.PriorError, ["prior", "0.75"]),
    "a ragged prior": (lambda: ex.Prior([0.5, [0.5]]), errors.PriorError, ["prior"]),
    "a number for a prior": (lambda: ex.Prior(0.5), errors.PriorError, ["prior", "0.5"]),
    "a negative count": (
        lambda: ex.Prior.from_counts({"a": -1, "b": 2}),
        errors.PriorError,
        ["counts", "-1", "'a'"],
    ),
    "a NaN count": (lambda: ex.Prior.from_counts([NAN, 2]), errors.PriorError, ["counts", "nan", "[0]"]),
    "an infinite count": (lambda: ex.Prior.from_counts([INF, 2]), errors.PriorError, ["counts", "inf"]),
    "a zero count": (
        lambda: ex.Prior.from_counts({"a": 0, "b": 2}),
        errors.PriorError,
        ["prior", "0 for ['a']"],
    ),
    "no counts": (lambda: ex.Prior.from_counts([0, 0]), errors.PriorError, ["counts"]),
    "a negative pseudocount": (
        lambda: ex.Prior.from_counts([1, 2], pseudocount=-1),
        errors.PriorError,
        ["pseudocount"],
    ),
    "a NaN pseudocount": (
        lambda: ex.Prior.from_counts([1, 2], pseudocount=NAN),
        errors.PriorError,
        ["pseudocount", "nan"],
    ),
    "a pseudocount in words": (
        lambda: ex.Prior.from_counts([1, 2], pseudocount="1"),
        errors.PriorError,
        ["pseudocount", "'1'"],
    ),
    "no data": (lambda: ex.Prior.from_data([]), errors.PriorError, ["values"]),
    "constant data": (lambda: ex.Prior.from_data("x" for _ in range(3)), errors.PriorError, []),
    "missing data": (
        lambda: ex.Prior.from_data(["a", None, NAN, "b"]),
        errors.PriorError,
        ["2 missing values"],
    ),
    "one string as data": (lambda: ex.Prior.from_data("abc"), errors.PriorError, ["values", "'abc'"]),
    "a mapping as data": (lambda: ex.Prior.from_data({"a": 1, "b": 2}), errors.PriorError, ["values"]),
    "a number as data": (lambda: ex.Prior.from_data(3), errors.PriorError, ["values", "3"]),
    "a table as data": (
        lambda: ex.Prior.from_data(np.array(FLIP)),
        errors.PriorError,
        ["values", "(2, 2)"],
    ),
    "unhashable data": (lambda: count_values([["a"], ["b"]]), errors.PriorError, ["values"]),
    "unknown data": (
        lambda: ex.Prior.from_data(["a", "d"], labels=["a", "b"]),
        errors.PriorError,
        ["values", "'d'"],
    ),
    "an unseen label": (
        lambda: ex.Prior.from_data(["a", "b"], labels=["a", "b", "c"]),
        errors.PriorError,
        ["prior", "0 for ['c']"],
    ),
    "uniform on one label": (lambda: ex.Prior.uniform(1), errors.PriorError, ["1"]),
    "uniform on minus one": (lambda: ex.Prior.uniform(-1), errors.PriorError, ["0"]),
    "uniform on a fraction": (lambda: ex.Prior.uniform(2.5), errors.PriorError, ["2.5"]),
    "uniform on a string": (lambda: ex.Prior.uniform("ab"), errors.PriorError, ["'ab'"]),
    "an unknown label": (lambda: PRIOR.index("d"), errors.PriorError, ["label", "'d'"]),
    # mechanisms
    "a row that does not sum to 1": (
        lambda: mechanism([[0.5, 0.5], [0.5, 0.4]], inputs=["x", "y"]),
        errors.MechanismError,
        ["0.9 in row 1", "'y'"],
    ),
    "a row just off 1": (
        lambda: mechanism([[0.5, 0.5 + 1e-8], [0.5, 0.5]]),
        errors.MechanismError,
        ["row 0"],
    ),
    "a transposed mechanism": (
        lambda: mechanism([[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]]),
        errors.MechanismError,
        ["1.8 in row 1"],
    ),
    "a negative entry": (
        lambda: mechanism([[1.5, -0.5], [0, 1]]),
        errors.MechanismError,
        ["mechanism", "-0.5", "row 0", "column 1"],
    ),
    "a NaN entry": (
        lambda: mechanism([[1, 0], [NAN, 1]]),
        errors.MechanismError,
        ["mechanism", "nan", "row 1", "column 0"],
    ),
    "an infinite entry": (
        lambda: mechanism([[1, 0], [0, INF]]),
        errors.MechanismError,
        ["mechanism", "inf", "row 1"],
    ),
    "a vector": (lambda: mechanism([0.5, 0.5]), errors.MechanismError, ["mechanism", "(2,)"]),
    "a cube": (lambda: mechanism(np.ones((2, 2, 1))), errors.MechanismError, ["mechanism", "(2, 2, 1)"]),
    "an empty matrix": (lambda: mechanism(np.ones((2, 0))), errors.MechanismError, ["mechanism", "(2, 0)"]),
    "ragged rows": (lambda: mechanism([[1], [0.5, 0.5]]), errors.MechanismError, ["mechanism"]),
    "text": (lambda: mechanism([["1", "0"], ["0", "1"]]), errors.MechanismError, ["mechanism"]),
    "too few inputs": (
        lambda: mechanism(inputs=["x"]),
        errors.MechanismError,
        ["1"],
    ),
    "too many outputs": (lambda: mechanism(outputs=range(3)), errors.MechanismError, ["3"]),
    "duplicate outputs": (
        lambda: mechanism(outputs=["x", "x"]),
        errors.MechanismError,
        [],
    ),
    "a missing output": (lambda: mechanism(outputs=["x", None]), errors.MechanismError, []),
    "post-processing of another size": (
        lambda: mechanism().then(mechanism(np.ones((3, 1)))),
        errors.MechanismError,
        ["3 inputs"],
    ),
    "post-processing of other labels": (
        lambda: mechanism(outputs=["x", "y"]).then(mechanism(inputs=["y", "x"])),
        errors.MechanismError,
        ["['y', 'x']"],
    ),
    "composition of other labels": (
        lambda: mechanism(inputs=["x", "y"]).compose(mechanism(inputs=["y", "x"])),
        errors.MechanismError,
        ["['y', 'x']"],
    ),
    "composition of another size": (
        lambda: mechanism().compose(mechanism(np.ones((3, 1)))),
        errors.MechanismError,
        [],
    ),
    "a composition too large": (
        lambda: mechanism(np.full((2, 20_000), 1 / 20_000)).compose(
            mechanism(np.full((2, 20_000), 1 / 20_000))
        ),
        errors.SizeError,
        ["2 inputs", "400000000 outputs"],
    ),
    "an unknown output": (
        lambda: adversary.posterior(PAIR, mechanism(outputs=["x", "y"]), "z"),
        errors.MechanismError,
        ["output", "'z'"],
    ),
    "an output that never occurs": (
        lambda: adversary.posterior(PAIR, mechanism([[0, 1], [0, 1]]), 0),
        errors.MechanismError,
        ["output", "0"],
    ),
    # closed forms
    "Theorem 2 on three symbols": (
        lambda: closed_form.binary(PRIOR, 0.1),
        errors.RegionError,
        ["3"],
    ),
    "Theorem 2 above epsilon_max": (
        lambda: closed_form.binary(PAIR, 2.0),
        errors.RegionError,
        ["2"],
    ),
    "Theorem 3 beyond its region": (
        lambda: closed_form.high_privacy(PRIOR, 0.5),
        errors.RegionError,
        ["0.5"],
    ),
    "Theorem 3 at the edge": (
        lambda: closed_form.high_privacy(PRIOR, -math.log(0.8)),
        errors.RegionError,
        [],
    ),
    "Theorem 4 above log N": (
        lambda: closed_form.uniform(4, 1.5),
        errors.RegionError,
        ["1.5"],
    ),
    "Theorem 4 on another prior": (
        lambda: closed_form.uniform(PRIOR, 0.1),
        errors.RegionError,
        ["0.2 to 0.5"],
    ),
    "Theorem 4 on one symbol": (lambda: closed_form.uniform(1, 0), errors.PriorError, []),
    "Corollary 1 above log N": (
        lambda: closed_form.uniform_mutual_information(4, 2),
        errors.RegionError,
        [],
    ),
    "Corollary 1 on one symbol": (
        lambda: closed_form.uniform_mutual_information(1, 0),
        errors.PriorError,
        [],
    ),
    "epsilon_r from epsilon_max on": (
        lambda: ex.theory.randomized_response_parameter(PAIR, math.log(5)),
        errors.RegionError,
        [],
    ),
    # sizes
    "an identity too large": (lambda: identity(ex.Prior.uniform(20_000)), errors.SizeError, []),
    "Theorem 3 too large": (
        lambda: closed_form.high_privacy(ex.Prior.uniform(20_000), 0),
        errors.SizeError,
        ["20000 inputs"],
    ),
    "Theorem 4 too large": (lambda: closed_form.uniform(20_000, 0), errors.SizeError, ["20000 inputs"]),
    "an arc mechanism too large": (
        lambda: closed_form.arc(ex.Prior.uniform(20_000), 1),
        errors.SizeError,
        ["20000 inputs"],
    ),
    "randomized response too large": (
        lambda: ex.theory.randomized_response(20_000, 1),
        errors.SizeError,
        ["20000 inputs"],
    ),
    "an adversary too large": (
        lambda: adversary.worst_gain(ex.Prior.uniform(20_000)),
        errors.SizeError,
        ["20000"],
    ),
    "an attribute too large": (
        lambda: adversary.worst_attribute(ex.Prior.from_counts([1e-9, 1]), mechanism(np.eye(2)), 0),
        errors.SizeError,
        ["2 inputs"],
    ),
    "lift vectors of 23 symbols": (
        lambda: ex.theory.extremal_lift_vectors(ex.Prior.uniform(23), 0.1),
        errors.SizeError,
        ["23"],
    ),
    "a polytope of 5 symbols": (
        lambda: ex.theory.polytope_vertices(ex.Prior.uniform(5), 0.1),
        errors.SizeError,
        ["5"],
    ),
    "an exact polytope of 5 symbols": (
        lambda: exact_polytope_vertices(["1/5"] * 5, 2),
        errors.SizeError,
        ["5"],
    ),
    "exact masses that do not sum to 1": (
        lambda: exact_polytope_vertices(["1/2", "1/3"], 2),
        errors.PriorError,
        ["masses", "1/3"],
    ),
    "an exact c below 1": (
        lambda: exact_polytope_vertices(["1/2", "1/2"], "1/2"),
        errors.EpsilonError,
        ["1/2"],
    ),
    # utilities
    "a mu that is no function": (lambda: ex.Utility(3), errors.UtilityError, ["mu", "3"]),
    "a mu of another shape": (
        lambda: ex.Utility(lambda prior, P: P.sum(), "mine")(PAIR, mechanism()),
        errors.UtilityError,
        ["()"],
    ),
    "a mu that is not finite": (
        lambda: ex.Utility(lambda prior, P: P[0] * NAN, "mine")(PAIR, mechanism()),
        errors.UtilityError,
        ["nan", "[0.75, 0.25]"],
    ),
    "a mu that is not sub-linear": (
        lambda: ex.utilities.check_sub_linear(PAIR, ex.Utility(lambda prior, P: (P**2).sum(axis=0), "mine")),
        errors.UtilityError,
        ["x = ["],
    ),
    "an f that is not convex": (
        lambda: ex.FInformation(lambda t: np.sqrt(t) - 1),
        errors.UtilityError,
        [],
    ),
    "an f that does not vanish at 1": (
        lambda: ex.FInformation(lambda t: t),
        errors.UtilityError,
        ["f(1) = 1"],
    ),
    "an f that is infinite at 0": (
        lambda: ex.FInformation(lambda t: -np.log(t)),
        errors.UtilityError,
        ["inf at 0"],
    ),
    "an f that is NaN at 0": (
        lambda: ex.FInformation(lambda t: t * np.log(t)),
        errors.UtilityError,
        ["nan at 0"],
    ),
    "an f of single numbers": (
        lambda: ex.FInformation(lambda t: t * math.log(t)),
        errors.UtilityError,
        [],
    ),
    "an f with branches": (
        lambda: ex.FInformation(lambda t: t if t > 1 else 0),
        errors.UtilityError,
        [],
    ),
    "an f of another shape": (lambda: ex.FInformation(lambda t: 0.0), errors.UtilityError, []),
    "a hypothesis that does not sum to 1": (
        lambda: ex.FDivergence(square, [0.5, 0.6], [0.5, 0.5]),
        errors.UtilityError,
        ["p0", "0.6"],
    ),
    "a hypothesis in words": (
        lambda: ex.FDivergence(square, [1, 0], "p"),
        errors.UtilityError,
        ["p1", "'p'"],
    ),
    "hypotheses of different lengths": (
        lambda: ex.FDivergence(square, [1, 0], [0.5, 0.25, 0.25]),
        errors.UtilityError,
        ["p1", "3"],
    ),
    "a hypothesis that excludes the other": (
        lambda: ex.FDivergence(square, [0.5, 0.5], [1, 0]),
        errors.UtilityError,
        ["position 1"],
    ),
    "an infinite growth": (
        lambda: ex.FDivergence(square, [0.5, 0.5], [1, 0], growth=INF),
        errors.UtilityError,
        ["growth", "inf"],
    ),
    "hypotheses on other symbols": (
        lambda: ex.FDivergence(square, [0.5, 0.5], [0.4, 0.6])(PRIOR, mechanism(np.ones((3, 1)))),
        errors.UtilityError,
        ["2"],
    ),
    "a gain on other symbols": (
        lambda: ex.ExpectedGain(np.eye(2))(PRIOR, mechanism(np.ones((3, 1)))),
        errors.UtilityError,
        ["gain", "2"],
    ),
    "a gain that is a vector": (lambda: ex.ExpectedGain([1, 2]), errors.UtilityError, ["gain", "[1, 2]"]),
    "a gain that is not finite": (lambda: ex.ExpectedGain([[1, INF]]), errors.UtilityError, ["gain"]),
    "a negative gain of an adversary": (
        lambda: adversary.GainAdversary([[1, -1]]),
        errors.UtilityError,
        ["gain", "-1"],
    ),
    "a gain of an adversary in words": (
        lambda: adversary.GainAdversary("gain"),
        errors.UtilityError,
        ["'gain'"],
    ),
    "an adversary on other symbols": (
        lambda: adversary.worst_gain(PRIOR).prior_gain(PAIR),
        errors.UtilityError,
        ["gain", "3"],
    ),
    # majorization and quantiles
    "vectors of different lengths": (
        lambda: majorization.majorizes([1], [0.5, 0.5]),
        errors.PriorError,
        ["1 and 2"],
    ),
    "a vector with NaN": (
        lambda: majorization.majorizes([NAN, 1], [0.5, 0.5]),
        errors.PriorError,
        ["vector", "nan"],
    ),
    "a quantile above 1": (
        lambda: ex.measures.leakage_distribution(PAIR, mechanism()).quantile(1.5),
        errors.OptionError,
        ["q", "1.5"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_with_the_parameter_and_what_was_given(case):
    call, kind, fragments = CASES[case]
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    for fragment in fragments:
        assert fragment in f"{caught.value.parameter} {caught.value.given}"
    assert_complete(caught.value)


def test_what_is_wrong_is_said_as_what_must_hold_and_what_to_do_follows():
    """The one place where the words of these errors are looked at."""
    for call, kind, _ in CASES.values():
        with pytest.raises(kind) as caught:
            call()
        message = str(caught.value)
        assert "must" in message or "need" in message, message
        assert "got" in message or "not all be 0" in message or "not be empty" in message, message
        assert len(message.rpartition(";")[2].strip()) > 4, message


BOX = {"lower": [0.1, 0.2], "upper": [0.9, 0.8]}
FIELDS = {
    "labels of a mechanism": lambda: mechanism(inputs=["a", "a"]),
    "outputs of a mechanism": lambda: mechanism(outputs="xy"),
    "labels that no file can hold": lambda: ex.certify(ex.Prior({b"a": 0.5, b"b": 0.5}), mechanism(), 1.0),
    "half a character": lambda: ex.certify(ex.Prior({"\ud800": 0.5, "b": 0.5}), mechanism(), 1.0),
    "no radius": lambda: ex.PriorSet.l1_ball(PRIOR, None),
    "an infinite radius": lambda: ex.PriorSet.l1_ball(PRIOR, INF),
    "a radius in words": lambda: ex.PriorSet.l1_ball(PRIOR, "0.1"),
    "bounds of two kinds": lambda: ex.PriorSet.intervals(BOX["lower"], {"a": 0.9, "b": 0.8}),
    "bounds of two lengths": lambda: ex.PriorSet.intervals([0.1], BOX["upper"]),
    "no name of a file": lambda: ex.load(""),
    "a name that no file can have": lambda: ex.load("a\0b"),
    "a list for a frame": lambda: ex.privatize(["a"], {"x": ex.certify(PAIR, mechanism(), 1.0)}),
    "no mechanisms": lambda: ex.privatize(["a"], {}),
    "a matrix of many lines": lambda: ex.pml(PRIOR, np.eye(3)),
    "no pseudocount": lambda: ex.Prior.from_counts([1, 2], pseudocount=None),
    "an altered file": lambda: ex.Certified.from_json(_with_leakage_of_one()),
}


def _with_leakage_of_one():
    """A file with the right digest whose weights leak more than it says."""
    import json

    from extremal.certification import file as mechanism_file

    made = ex.certify(PAIR, ex.theory.randomized_response_for_pml(PAIR, 0.5), 0.5)
    document = json.loads(made.to_json()) | {"epsilon": "0.25"}
    return mechanism_file.to_text(document)


@pytest.mark.parametrize("case", FIELDS)
def test_what_was_given_and_what_to_do_stay_fields_on_their_way_through_the_library(case):
    with pytest.raises(errors.ExtremalError) as caught:
        FIELDS[case]()
    assert caught.value.given
    assert caught.value.remedy
    assert "got" not in caught.value.problem
    assert "\n" not in str(caught.value)


def assert_complete(error):
    assert error.problem
    assert error.given is not None or error.parameter is not None
    assert error.remedy
    assert len(str(error)) < 400
    assert "np.float64" not in str(error)


LEVELS = [
    -1,
    -1e-300,
    NAN,
    INF,
    -INF,
    "1",
    b"1",
    None,
    [1.0],
    np.array([1.0, 2.0]),
    True,
    1j,
    object(),
    10**400,
]


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: repr(level)[:12])
@pytest.mark.parametrize(
    "call",
    [
        lambda level: PRIOR.region(level),
        lambda level: closed_form.binary(PAIR, level),
        lambda level: closed_form.high_privacy(PRIOR, level),
        lambda level: closed_form.uniform(3, level),
        lambda level: closed_form.uniform_mutual_information(3, level),
        lambda level: closed_form.arc(PRIOR, level),
        lambda level: ex.theory.randomized_response(3, level),
        lambda level: ex.theory.randomized_response_pml(PRIOR, level),
        lambda level: ex.theory.randomized_response_epsilon(PRIOR, level),
        lambda level: ex.theory.randomized_response_parameter(PRIOR, level),
        lambda level: ex.theory.randomized_response_for_pml(PRIOR, level),
        lambda level: ex.theory.extremal_lift_vectors(PRIOR, level),
        lambda level: ex.theory.polytope_vertices(PRIOR, level),
        lambda level: ex.measures.tail_probability(PAIR, mechanism(), level),
    ],
)
def test_a_privacy_level_that_is_none_is_refused_everywhere(call, level):
    with pytest.raises(errors.EpsilonError) as caught:
        call(level)
    assert caught.value.parameter == "epsilon"
    assert_complete(caught.value)


OTHERS = [mechanism(), mechanism(np.eye(4)), mechanism(np.eye(3), inputs=["a", "c", "b"])]


@pytest.mark.parametrize("other", OTHERS, ids=["2 inputs", "4 inputs", "other order"])
@pytest.mark.parametrize(
    "call",
    [
        ex.measures.lift,
        ex.pml,
        ex.epsilon_pml,
        ex.measures.lip_epsilon,
        ex.measures.leakage_distribution,
        lambda prior, m: ex.measures.tail_probability(prior, m, 0.1),
        ex.mutual_information,
        ex.ExpectedGain(np.eye(3)),
        ex.theory.pair_outputs,
        ex.theory.agreement,
        lambda prior, m: ex.theory.reduce_outputs(prior, m, ex.mutual_information),
        lambda prior, m: adversary.posterior(prior, m, 0),
        lambda prior, m: m.output_distribution(prior),
    ],
)
def test_a_mechanism_that_does_not_fit_the_prior_is_refused_everywhere(call, other):
    with pytest.raises(errors.MechanismError) as caught:
        call(PRIOR, other)
    assert_complete(caught.value)
    if other.shape[0] == 3:
        assert caught.value.given == "['a', 'b', 'c'] and ['a', 'c', 'b']"
    else:
        assert caught.value.given == f"3 and {other.shape[0]}"


def test_default_labels_fit_any_prior_and_any_mechanism():
    plain = mechanism(np.eye(3))
    assert ex.epsilon_pml(PRIOR, plain) == pytest.approx(math.log(5))
    assert ex.epsilon_pml(ex.Prior([0.5, 0.3, 0.2]), mechanism(np.eye(3), inputs=["x", "y", "z"])) > 0


def test_every_error_is_an_extremal_error_and_a_value_error_unless_it_is_never_the_callers_fault():
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and kind.__module__ == errors.__name__
        and kind is not errors.ExtremalError
        and not issubclass(kind, Warning)
    ]
    assert all(issubclass(kind, errors.ExtremalError) for kind in kinds)
    never_the_callers_fault = (
        errors.SolverError,
        errors.ProofError,
        errors.StoreError,
        errors.InstallationError,
    )
    for kind in kinds:
        assert issubclass(kind, RuntimeError if kind in never_the_callers_fault else ValueError)
        assert kind.__name__ in errors.__doc__


def test_pandas_missing_values_are_refused_too():
    pandas = pytest.importorskip("pandas")
    for values in (["a", pandas.NA, "b"], [pandas.Timestamp(0), pandas.NaT]):
        with pytest.raises(errors.PriorError, match=r"values.*1 missing value"):
            ex.Prior.from_data(pandas.Series(values))
    with pytest.raises(errors.PriorError, match=r"values.*\(2, 2\)"):
        ex.Prior.from_data(pandas.DataFrame({"a": [1, 2], "b": [3, 4]}))
    with pytest.raises(errors.PriorError, match="NA"):
        ex.Prior([0.5, 0.5], labels=["a", pandas.NA])


def test_what_newcomers_pass_is_refused_with_what_to_write() -> None:
    with pytest.raises(ex.errors.PriorError, match=re.escape("build one: Prior({...})")):
        ex.design({"never": 0.5, "once": 0.5}, 0.6)
    with pytest.raises(ex.errors.MechanismError, match=re.escape("certify it first: ex.certify(design)")):
        ex.estimate(ex.design(ex.Prior([0.6, 0.4]), 0.5), [0, 1])
