"""The names and forms that users write. Each is called as the documentation shows it, and gives what it says."""

import inspect
import math
import types

import numpy as np
import pandas as pd
import pytest

import extremal as ex

PRIOR = ex.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])

VALUES = [
    *["Prior", "PriorSet", "Mechanism", "Certified", "Design", "Estimate", "Regression", "Audit"],
    *["Keyed", "SampleDesign"],
]
PURPOSES = ["shares", "mean", "groups", "mutual_information"]
KINDS = ["Utility", "FInformation", "FDivergence", "ExpectedGain"]
NOTIONS = ["PML", "LDP", "LIP", "MaximalLeakage"]
VERBS = [
    *["design", "tradeoff", "compare", "check_design", "certify", "load", "privatize", "estimate", "regress"],
    *["plan", "audit", "audit_pairs", "pml", "epsilon_pml"],
]
MODULES = ["keys", "measures", "theory", "composition", "errors", "utilities", "datasets"]


@pytest.fixture(scope="module")
def design():
    return ex.design(PRIOR, 0.6, ex.shares, notion=ex.PML, tolerance=None, time_limit=None, progress=None)


@pytest.fixture(scope="module")
def certified(design):
    return ex.certify(design)


@pytest.fixture(scope="module")
def reports(certified):
    return certified.privatize(["a", "b", "c"] * 200)


def has(value, *names):
    return [name for name in names if not hasattr(value, name)] == []


def test_the_top_level_has_about_fifty_names():
    for name in [*VALUES, *PURPOSES, *KINDS, *NOTIONS, *VERBS, *MODULES]:
        assert name in ex.__all__
    assert 45 <= len(ex.__all__) <= 56
    assert all(isinstance(getattr(ex, name), types.ModuleType) for name in MODULES)
    assert all(inspect.isclass(getattr(ex, name)) for name in VALUES + KINDS)


def test_priors_are_made_from_numbers_mappings_counts_and_data():
    assert ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2}) == PRIOR
    assert ex.Prior.uniform(4).probabilities.tolist() == [0.25] * 4
    assert ex.Prior.from_counts({"a": 5, "b": 3, "c": 2}, pseudocount=0) == PRIOR
    assert ex.Prior.from_data(list("aaaaabbbcc")) == PRIOR
    assert has(PRIOR, "probabilities", "labels", "size", "epsilon_max", "entropy", "region_edges", "region")
    assert PRIOR.epsilon_max == pytest.approx(math.log(5))
    assert PRIOR.region(0.1) == 1


def test_sets_of_priors_are_made_from_counts_distances_and_bounds():
    counted = ex.PriorSet.from_counts({"a": 50, "b": 30, "c": 20}, confidence=0.95)
    ball, box = ex.PriorSet.l1_ball(PRIOR, 0.1), ex.PriorSet.intervals([0.1, 0.2], [0.8, 0.9])
    assert counted.contains(PRIOR)
    assert ball.radius == 0.1
    assert box.lower.tolist() == [0.1, 0.2]
    assert ex.PriorSet.at_least(3, 0.1).nominal == ex.Prior.uniform(3)


def test_mechanisms_have_labels_and_are_chained_and_joined():
    m = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=None, outputs=None)
    assert has(m, "matrix", "inputs", "outputs", "shape")
    assert m.then(m).matrix[0, 0] == pytest.approx(0.625)
    assert m.compose(m).shape == (2, 4)


@pytest.mark.parametrize(
    "utility",
    [
        ex.shares,
        ex.shares.relative,
        ex.mean([0, 1, 2]),
        ex.mean({"a": 0, "b": 1, "c": 2}),
        ex.groups({"left": ["a", "b"], "right": ["c"]}),
        ex.mutual_information,
        ex.utilities.chi_squared,
        ex.utilities.hellinger,
        ex.utilities.jensen_shannon,
        ex.utilities.total_variation,
        ex.FInformation(lambda t: (t - 1) ** 2, name="squares"),
        ex.FDivergence(lambda t: (t - 1) ** 2, [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]),
        ex.ExpectedGain(np.eye(3)),
        ex.Utility(lambda prior, columns: (prior.probabilities[:, None] * columns).max(axis=0), name="guess"),
    ],
    ids=lambda utility: utility.name,
)
def test_one_verb_designs_for_every_utility(utility):
    found = ex.design(PRIOR, 0.6, utility)
    assert found.value == pytest.approx(utility(PRIOR, found.mechanism), rel=1e-9)
    assert ex.epsilon_pml(PRIOR, found.mechanism) <= 0.6 + 1e-12


def test_a_design_says_what_it_is_and_is_checked_apart_from_the_solver(design):
    names = ["mechanism", "value", "upper_bound", "gap", "proven", "method", "prior", "prior_set", "epsilon"]
    assert has(design, *names, "utility", "stats")
    assert str(design.stats.why)
    checked = ex.check_design(design)
    assert checked.ok
    assert checked.value == pytest.approx(design.value, rel=1e-9)
    assert checked.upper_bound >= design.value * (1 - 1e-12)


@pytest.mark.parametrize("notion", [ex.PML, ex.LDP, ex.LIP, ex.MaximalLeakage], ids=repr)
def test_other_notions_of_privacy_are_values(notion):
    assert ex.design(PRIOR, 0.4, ex.mutual_information, notion=notion).value > 0


def test_levels_and_notions_are_compared():
    assert len(ex.tradeoff(PRIOR, [0.2, 0.4], utility=ex.mutual_information).optimal) == 2
    assert len(ex.compare(PRIOR, 0.5).rows) > 2


def test_designs_mechanisms_and_sets_are_certified_saved_and_loaded(design, certified, tmp_path):
    priors = ex.PriorSet.l1_ball(PRIOR, 0.05)
    assert ex.certify(PRIOR, design.mechanism, 0.6).epsilon == 0.6
    assert ex.certify(priors, ex.design(priors, 0.6).mechanism, 0.6).epsilon == 0.6
    assert has(certified, "weights", "bits", "epsilon", "prior", "mechanism", "digest")
    certified.save(tmp_path / "mechanism.json")
    assert ex.load(tmp_path / "mechanism.json").digest == certified.digest
    with pytest.raises(ex.errors.DisclosureError):
        ex.certify(PRIOR, ex.Mechanism(np.eye(3), PRIOR.labels), 2.0)
    assert ex.certify(PRIOR, ex.Mechanism(np.eye(3), PRIOR.labels), 2.0, allow_true_answers=True).bits >= 0


def test_columns_and_frames_are_privatised(certified):
    assert len(certified.privatize(["a", "b"])) == 2
    frame = pd.DataFrame({"answer": ["a", "b", "c"], "age": [30, 40, 50]})
    private = ex.privatize(frame, {"answer": certified})
    assert private["age"].tolist() == [30, 40, 50]
    assert set(private["answer"]) <= set(certified.mechanism.outputs)


def test_keyed_draws_can_be_repeated(certified, tmp_path):
    ex.keys.write(tmp_path / "key")
    keyed = ex.Keyed(ex.keys.read(tmp_path / "key"), [f"person {i}" for i in range(100)], "first wave")
    answers = ["a", "b"] * 50
    once, again = (certified.privatize(answers, keyed=keyed, column="answer") for _ in range(2))
    assert once == again
    frame = pd.DataFrame({"answer": answers, "person": keyed.ids})
    named = ex.Keyed(tmp_path / "key", "person", "first wave")
    assert ex.privatize(frame, {"answer": certified}, keyed=named)["answer"].tolist() == once


@pytest.mark.parametrize("intervals", ["each", "all"])
def test_shares_are_estimated(certified, reports, intervals):
    found = ex.estimate(certified, reports, confidence=0.95, by=None, intervals=intervals)
    assert has(found, "shares", "lower", "upper", "standard_errors", "labels", "report_shares", "to_frame")
    assert sum(found.shares) == pytest.approx(1)
    assert sum(found.report_shares) == pytest.approx(1)
    assert np.all(found.lower <= found.shares)
    assert len(found.to_frame()) == 3


def test_samples_may_have_weights_strata_and_clusters(certified, reports):
    sample = ex.SampleDesign(
        weights=np.tile([1.0, 2.0], 300), strata=["x", "y"] * 300, clusters=np.arange(600) // 3
    )
    weighted = ex.estimate(certified, reports, sample=sample)
    assert not np.allclose(weighted.shares, ex.estimate(certified, reports).shares)
    assert len(ex.estimate(certified, reports, by=["f", "m"] * 300)) == 2


def test_models_are_fitted_and_collections_planned(certified, reports):
    data = {"answer": list(reports), "age": np.arange(600.0), "sex": ["f", "m"] * 300}
    assert len(ex.regress(certified, "answer ~ age + C(sex)", data).coefficients) == 6
    assert ex.plan(certified, width=0.1).people > ex.plan(certified, width=0.2).people


def test_mechanisms_and_releases_are_audited(certified, design):
    assert ex.audit(certified).epsilon <= 0.6
    assert ex.audit(PRIOR, design.mechanism).epsilon == pytest.approx(ex.epsilon_pml(PRIOR, design.mechanism))
    assert ex.audit_pairs(["a", "b"] * 100, ["x", "y"] * 100, epsilon=0.1).violation


def test_leakage_is_measured_for_priors_and_sets(design):
    assert ex.pml(PRIOR, design.mechanism).max() == ex.epsilon_pml(PRIOR, design.mechanism)
    worst = ex.epsilon_pml(ex.PriorSet.l1_ball(PRIOR, 0.1), design.mechanism)
    assert worst >= ex.epsilon_pml(PRIOR, design.mechanism)
    names = ["maximal_leakage", "ldp_epsilon", "lip_epsilon", "lift", "tail_probability", "envelope"]
    assert has(ex.measures, *names)


def test_what_is_known_without_a_solver_is_in_theory():
    assert has(ex.theory, "closed_form", "polytope_vertices", "majorization", "reduce_outputs", "adversary")
    assert has(ex.theory, "extremal_lift_vectors", "enumerated", "arc", "vertices")
    response = ex.theory.randomized_response(3, 0.5)
    assert ex.measures.ldp_epsilon(response) == pytest.approx(0.5)
    assert ex.theory.randomized_response(PRIOR, 0.5).inputs == PRIOR.labels
    assert ex.epsilon_pml(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.5)) == pytest.approx(0.5)
    optimum = ex.theory.enumerated(PRIOR, 0.6, ex.mutual_information, ex.PML)
    assert ex.mutual_information(PRIOR, optimum) == pytest.approx(
        ex.design(PRIOR, 0.6, ex.mutual_information).value
    )
