"""Scores corrected by the inverse of the mechanism: right where the outcome's model is wrong, and a test of it."""

import json

import numpy as np
import pandas as pd
import pytest

import extremal as ex
from extremal.errors import OptionError
from extremal.estimation.regression.reading import corrections
from extremal.estimation.regression.result import MisfitWarning
from tests.support import surveys
from tests.support.lazy import Lazy
from tests.support.wording import refused

sm, smf = Lazy("statsmodels.api"), Lazy("statsmodels.formula.api")

LABELS = ["a", "b", "c"]
KEEP = surveys.keep(3, 0.6, LABELS)


def survey(n, spread, seed=0):
    """Counts whose variance is more than their mean if `spread` > 0; x depends on z; x is true, r its report."""
    generator = np.random.default_rng(seed)
    z = generator.standard_normal(n)
    x = np.argmax(
        np.array([0.5, 0.0, -0.3])[:, None] + np.outer([0, 0.5, -0.5], z) + generator.gumbel(size=(3, n)),
        axis=0,
    )
    mean = np.exp(0.2 + np.array([0.0, 0.4, -0.4])[x] + 0.3 * z)
    if spread:
        mean *= generator.gamma(1 / spread, spread, n)
    columns = {
        "y": generator.poisson(mean),
        "z": z,
        "x": np.array(LABELS)[x],
        "r": np.array(LABELS)[surveys.draw(generator, KEEP, x)],
    }
    return pd.DataFrame(columns)


def test_corrections_are_unbiased_for_the_true_answer():
    mechanism = ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.8).mechanism
    codes = np.repeat(np.arange(mechanism.shape[1]), 50)
    assert mechanism.matrix @ corrections(mechanism.matrix, codes).T == pytest.approx(np.eye(3), abs=1e-12)


@pytest.mark.parametrize("model", ["poisson", "gaussian"])
def test_corrected_scores_of_true_answers_are_those_of_statsmodels(model):
    data = survey(500, 1.0)
    family = sm.families.Poisson() if model == "poisson" else sm.families.Gaussian()
    expected = smf.glm("y ~ x + z", data, family=family).fit(tol=1e-14, cov_type="HC0")
    found = ex.regress(
        {"x": surveys.identity(LABELS)}, "y ~ x + z", data, model=model, predictors="corrected"
    )
    assert found.coefficients[:4] == pytest.approx(expected.params.to_numpy(), abs=1e-8)
    assert found.standard_errors[:4] == pytest.approx(expected.bse.to_numpy(), abs=1e-8)
    assert found.variance_ratios == pytest.approx(np.ones(len(found.coefficients)), abs=1e-8)
    assert found.errors == "robust"


def test_a_likelihood_that_does_not_fit_is_named_and_correction_is_right():
    """A Poisson model of counts that vary far more: the likelihood takes large counts for signs of x."""
    data = survey(8000, 2.0)
    truth = smf.glm("y ~ x + z", data, family=sm.families.Poisson()).fit().params.to_numpy()
    data["x"] = data["r"]
    with pytest.warns(MisfitWarning, match="does not fit"):
        likely = ex.regress({"x": KEEP}, "y ~ x + z", data, model="poisson", errors="robust")
    corrected = ex.regress({"x": KEEP}, "y ~ x + z", data, model="poisson", predictors="corrected")
    off = np.abs(likely.coefficients[:4] - truth) / likely.standard_errors[:4]
    assert off.max() > 10
    assert (np.abs(corrected.coefficients - truth) / corrected.standard_errors).max() < 3
    assert likely.misfit < 1e-6
    assert likely.notes()[0].startswith("WARNING: the model of the outcome")
    assert "AIC" not in str(corrected)
    assert json.loads(corrected.to_json())["predictors"] == "corrected"
    effects = corrected.effects("x")
    assert len(effects) == 2
    assert np.isfinite(effects.standard_errors).all()


def test_a_wrong_prior_is_named():
    data = survey(6000, 0.0)
    prior = ex.Prior({"a": 0.1, "b": 0.1, "c": 0.8})
    mechanism = ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.8), 0.8)
    codes = np.searchsorted(LABELS, data["x"])
    data["x"] = np.array(LABELS)[surveys.draw(np.random.default_rng(0), mechanism.mechanism, codes)]
    with pytest.warns(MisfitWarning):
        ex.regress({"x": mechanism}, "y ~ x + z", data, model="poisson", predictors="prior")
    twins = ex.certify(prior, ex.Mechanism([[0.7, 0.3], [0.3, 0.7], [0.3, 0.7]], LABELS, ["u", "v"]), 2.0)
    data["x"] = np.array(["u", "v"])[surveys.draw(np.random.default_rng(1), twins.mechanism, codes)]
    merged = ex.regress({"x": twins}, "y ~ z + I(x == 'a')", data, model="poisson", predictors="prior")
    assert merged.misfit is None  # there is no inverse to compare with


def test_a_model_that_fits_raises_no_alarm_and_both_estimate_the_same():
    data = survey(4000, 0.0)
    data["x"] = data["r"]
    likely = ex.regress({"x": KEEP}, "y ~ x + z", data, model="poisson")
    corrected = ex.regress({"x": KEEP}, "y ~ x + z", data, model="poisson", predictors="corrected")
    assert likely.misfit > 1e-3
    assert (np.abs(likely.coefficients[:4] - corrected.coefficients) < 4 * corrected.standard_errors).all()
    assert (likely.standard_errors[:4] < corrected.standard_errors).all()


def test_what_corrected_scores_cannot_do_is_refused():
    data = survey(300, 0.0)
    with refused(OptionError, "errors"):
        ex.regress({"r": KEEP}, "y ~ r", data, predictors="corrected", errors="information")
    pairs = [(a, b) for a in LABELS for b in LABELS]
    joint = ex.Mechanism(np.kron(KEEP.matrix, KEEP.matrix), pairs, pairs)
    with refused(OptionError, "a mechanism for both"):
        ex.regress({("x", "r"): joint}, "x ~ r", data, predictors="corrected")
