"""What a regression tells: tests, predictions, effects, tables, pictures."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import extremal as ex
from extremal.errors import OptionError, ValuesError
from tests.support import surveys
from tests.support.lazy import Lazy
from tests.support.wording import refused

smf = Lazy("statsmodels.formula.api")

N = 500
LABELS = ["no", "maybe", "yes"]


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(0)
    made = surveys.covariates(generator, N)
    latent = surveys.predictor(made) + generator.logistic(size=N)
    made["y"] = np.digitize(latent, [-0.7, 0.7])
    made["b"] = (latent > 0).astype(int)
    return made


@pytest.fixture(scope="module")
def private(frame):
    mechanism = surveys.keep(3, 0.7, LABELS)
    reports = surveys.draw(np.random.default_rng(1), mechanism, frame["y"].to_numpy())
    return mechanism, frame.assign(y=np.array(LABELS)[reports])


@pytest.fixture(scope="module")
def result(private):
    return ex.regress(private[0], "y ~ age + C(sex)", private[1])


def test_effects_of_true_answers_are_those_of_statsmodels(frame):
    for model in ("logit", "probit"):
        expected = getattr(smf, model)("b ~ age + I(sex == 'm')", frame).fit(disp=0, tol=1e-12)
        margins = expected.get_margeff(dummy=True)
        r = ex.regress(surveys.identity([0, 1]), "b ~ age + sex", frame, model=model)
        table = r.effects()
        ours = {label: k for k, label in enumerate(table.labels)}
        for name, label in (("age", ("d/d age", 1)), ("I(sex == 'm')[T.True]", ("sex: f → m", 1))):
            k = list(margins.summary_frame().index).index(name)
            assert table.estimates[ours[label]] == pytest.approx(margins.margeff[k], abs=1e-7)
            assert table.standard_errors[ours[label]] == pytest.approx(margins.margeff_se[k], abs=1e-7)


def test_effects_of_a_multinomial_model_are_those_of_statsmodels(frame):
    margins = smf.mnlogit("y ~ age", frame).fit(disp=0, tol=1e-12).get_margeff()
    table = ex.regress(surveys.identity([0, 1, 2]), "y ~ age", frame).effects("age")
    assert table.estimates == pytest.approx(margins.margeff[0], abs=1e-8)
    assert table.standard_errors == pytest.approx(margins.margeff_se[0], abs=1e-7)


def test_tests_of_true_answers_are_those_of_statsmodels(frame):
    identity = surveys.identity([0, 1])
    large, small = (ex.regress(identity, f"b ~ age{more}", frame) for more in (" + C(sex)", ""))
    expected = smf.logit("b ~ age + C(sex)", frame).fit(disp=0, tol=1e-12)
    nested = smf.logit("b ~ age", frame).fit(disp=0, tol=1e-12)
    found = large.likelihood_ratio(small)
    assert found.statistic == pytest.approx(2 * (expected.llf - nested.llf), abs=1e-8)
    assert found.degrees == 1
    assert large.likelihood_ratio("C(sex)").statistic == pytest.approx(found.statistic, abs=1e-8)
    wald = expected.wald_test_terms(scalar=True).table
    for term in ("age", "C(sex)"):
        assert large.wald(term).statistic == pytest.approx(wald.loc[term, "statistic"], abs=1e-7)
        assert large.wald(term).p_value == pytest.approx(wald.loc[term, "pvalue"], abs=1e-9)
    assert large.wald().degrees == 2
    table = large.tests()
    assert [row["term"] for row in table.rows()] == ["age", "C(sex)"]
    assert "LR chi2" in str(table)
    assert list(table.to_frame()["degrees"]) == [1, 1]


def test_tests_that_make_no_sense_are_refused(private, result, frame):
    other = ex.regress(private[0], "y ~ age", private[1].iloc[:-1])
    for wrong in (other, result):
        with refused(OptionError, f"{wrong.rows} rows"):
            result.likelihood_ratio(wrong)
    with refused(OptionError, "term", "'village'"):
        result.likelihood_ratio("village")
    weighted = ex.regress(private[0], "y ~ age", private[1], sample=ex.SampleDesign(weights=np.ones(N)))
    with refused(OptionError, 'errors="robust"'):
        weighted.likelihood_ratio("age")
    assert weighted.tests().rows()[0]["likelihood_ratio"] is None
    with refused(OptionError, "term"):
        result.wald("village")


def numeric_jacobian(result, function):
    """Derivatives of a figure by the coefficients, with the fitted result moved a little."""
    from dataclasses import replace

    step = 3e-5
    columns = []
    for k in range(len(result.coefficients)):
        ends = []
        for sign in (1, -1):
            moved = result.coefficients.copy()
            moved[k] += sign * step
            ends.append(function(replace(result, coefficients=moved)))
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.array(columns).T


@pytest.mark.slow
def test_errors_of_predictions_are_those_of_the_delta_method(private, frame):
    mechanism, data = private
    outcome = {"y": mechanism}
    models = [
        ex.regress(outcome, "y ~ age + C(sex)", data),
        ex.regress(outcome, "y ~ age", data, model="ordinal"),
        ex.regress(outcome, "age ~ y + sex", data),
        ex.regress(outcome, "b ~ y + age", data),
    ]
    for r in models:
        for figure in (lambda x: x.shares(), lambda x: x.effects()):
            J = numeric_jacobian(r, lambda x, f=figure: f(x).estimates)
            expected = np.sqrt(np.diag(J @ r.covariance @ J.T))
            assert figure(r).standard_errors == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_predictions_are_probabilities_that_average_to_the_shares(result, private):
    p = result.predict()
    assert p.shape == (N, 3)
    assert p.sum(axis=1) == pytest.approx(np.ones(N))
    assert result.shares().estimates == pytest.approx(p.mean(axis=0))
    rows = {"age": [40, 60], "sex": ["m", "f"]}
    one = result.predict(rows)
    assert result.shares(rows).estimates == pytest.approx(one.mean(axis=0))
    assert result.shares(pl.DataFrame(rows), at={"age": 40}).estimates[0] == pytest.approx(
        result.predict({"age": [40, 40], "sex": ["m", "f"]})[:, 0].mean()
    )
    with refused(ValuesError, "'sex'"):
        result.predict({"age": [3]})
    with refused(ValuesError, "1 of 2 rows do not"):
        result.predict({"age": [3, None], "sex": ["m", "f"]})
    with refused(ValuesError, "'height'"):
        result.shares(at={"height": 3})
    with refused(OptionError, "'y ~ 1'"):
        ex.regress(private[0], "y ~ 1", private[1]).effects()


def test_effects_of_a_private_predictor_of_a_linear_model_are_its_coefficients(private):
    mechanism, data = private
    r = ex.regress({"y": mechanism}, "age ~ y + sex", data)
    coefficients = {p.column: b for p, b in zip(r.parameters, r.coefficients, strict=True) if p.part == ""}
    effects = {change: b for (change, _), b in zip(r.effects().labels, r.effects().estimates, strict=True)}
    assert effects["y: no → yes"] == pytest.approx(coefficients["y[T.yes]"])
    assert effects["sex: f → m"] == pytest.approx(coefficients["sex[T.m]"])
    assert "private predictors (y)" in " ".join(r.notes())


def test_what_privacy_costs_is_the_ratio_of_variances_in_simulated_surveys(frame):
    """For intercepts and slopes of Warner's design: the spread of estimates from reports and from true answers."""
    mechanism, generator = surveys.warner(0.85, (0, 1)), np.random.default_rng(4)
    n = 4000
    z = generator.integers(0, 2, n)
    p = np.where(z, 0.6, 0.4)
    r = ex.regress(
        mechanism,
        "x ~ z",
        {"x": surveys.draw(generator, mechanism, (generator.random(n) < p).astype(int)), "z": z},
    )
    pi = r.predict({"z": [0, 1]})[:, 1]
    lam = 0.15 + 0.7 * pi
    true, seen = 1 / (pi * (1 - pi)), lam * (1 - lam) / (0.7 * pi * (1 - pi)) ** 2
    groups = np.bincount(z)
    expected = [seen[0] / true[0], (seen / groups).sum() / (true / groups).sum()]
    assert r.variance_ratios == pytest.approx(expected, rel=1e-9)


def test_the_table_holds_what_the_summary_shows(result):
    table = result.to_frame("pandas")
    assert isinstance(table, pd.DataFrame)
    assert isinstance(result.to_frame("polars"), pl.DataFrame)
    assert list(table["answer"]) == ["maybe"] * 3 + ["yes"] * 3
    assert list(table["term"][:3]) == ["Intercept", "age", "C(sex)[T.m]"]
    z = 1.959963984540054
    assert table["lower"].to_numpy() == pytest.approx(table["estimate"] - z * table["standard_error"])
    text = str(result)
    for piece in ("y ~ age + C(sex)", "y = maybe", "y = yes", "multinomial logit", "privacy", "BIC"):
        assert piece in text
    for b in result.coefficients:
        assert f"{b:.4f}" in text
    assert result.table.rows()[1]["p_value"] == pytest.approx(result.p_values[1])
    assert "log odds against 'no'" in " ".join(result.notes())


def test_everything_is_json(result):
    document = json.loads(result.to_json())
    assert document["rows"] == N
    assert document["coefficients"][1]["estimate"] == pytest.approx(result.coefficients[1])
    assert json.loads(result.effects().to_json())["rows"][0]["answer"] == "no"
    assert "<table" in result._repr_html_()
    assert repr(result) == "Regression('y ~ age + C(sex)', multinomial, 500 rows)"


def test_the_picture_has_a_bar_for_every_coefficient_but_the_intercepts(result):
    import matplotlib.pyplot as plt

    axes = result.plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        "age (maybe)",
        "C(sex)[T.m] (maybe)",
        "age (yes)",
        "C(sex)[T.m] (yes)",
    ]
    plt.close(axes.figure)
