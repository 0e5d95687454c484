"""regress(): equal to statsmodels where answers are true, to closed forms where they are not."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import extremal as ex
from tests.support import surveys
from tests.support.lazy import Lazy

sm, smf = Lazy("statsmodels.api"), Lazy("statsmodels.formula.api")
ordinal_model = Lazy("statsmodels.miscmodels.ordinal_model")

N = 600
FORMULA = "y ~ age + C(sex)"


def survey(answers, seed=0):
    """Covariates, and true answers 0 ... answers - 1 that depend on them."""
    generator = np.random.default_rng(seed)
    frame = surveys.covariates(generator, N)
    latent = surveys.predictor(frame) + generator.logistic(size=N)
    edges = np.linspace(-1, 1, answers - 1) if answers > 2 else [0.0]
    frame["y"] = np.digitize(latent, edges)
    return frame


def by_name(result):
    """Coefficients and errors by column, of the model's first part."""
    return {
        (p.answer, p.column): (b, e)
        for p, b, e in zip(result.parameters, result.coefficients, result.standard_errors, strict=True)
        if p.part != "private"
    }


# True answers


@pytest.mark.parametrize("model", ["logit", "probit"])
def test_a_binary_model_of_true_answers_is_that_of_statsmodels(model):
    frame = survey(2)
    kinds = {
        "information": {},
        "robust": {"cov_type": "HC0"},
        "cluster": {"cov_type": "cluster", "cov_kwds": {"groups": frame["village"]}},
    }
    for errors, how in kinds.items():
        expected = getattr(smf, model)(FORMULA, frame).fit(disp=0, tol=1e-12, **how)
        clusters = "village" if errors == "cluster" else None
        r = ex.regress(
            surveys.identity([0, 1]),
            FORMULA,
            frame,
            model=model,
            errors=errors,
            sample=ex.SampleDesign(clusters=clusters),
        )
        for (_, name), (b, e) in by_name(r).items():
            assert b == pytest.approx(expected.params[name], abs=1e-8)
            assert e == pytest.approx(expected.bse[name], abs=1e-8)
    assert r.log_likelihood == pytest.approx(expected.llf, abs=1e-8)
    assert r.aic == pytest.approx(expected.aic, abs=1e-8)
    assert r.bic == pytest.approx(expected.bic, abs=1e-8)


@pytest.mark.parametrize("errors", ["information", "robust", "cluster"])
def test_a_multinomial_model_of_true_answers_is_that_of_statsmodels(errors):
    frame = survey(4)
    how = {
        "information": {},
        "robust": {"cov_type": "HC0"},
        "cluster": {"cov_type": "cluster", "cov_kwds": {"groups": frame["village"]}},
    }[errors]
    expected = smf.mnlogit(FORMULA, frame).fit(disp=0, tol=1e-12, **how)
    clusters = "village" if errors == "cluster" else None
    r = ex.regress(
        surveys.identity(range(4)), FORMULA, frame, errors=errors, sample=ex.SampleDesign(clusters=clusters)
    )
    assert len(r.coefficients) == 9
    bse = np.asarray(expected.bse)
    for (answer, name), (b, e) in by_name(r).items():
        row = list(expected.params.index).index(name)
        assert b == pytest.approx(np.asarray(expected.params)[row, answer - 1], abs=1e-8)
        assert e == pytest.approx(bse[row, answer - 1], abs=1e-8)
    assert r.variance_ratios == pytest.approx(np.ones(9), abs=1e-9)


@pytest.mark.parametrize(("model", "distribution"), [("ordinal", "logit"), ("ordinal-probit", "probit")])
def test_an_ordinal_model_of_true_answers_is_that_of_statsmodels(model, distribution):
    frame = survey(4)
    X = np.column_stack([frame["age"] / 10, frame["sex"] == "m"]).astype(float)
    compared = ordinal_model.OrderedModel(frame["y"].to_numpy(), X, distr=distribution)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compared.fit(method="bfgs", disp=0, maxiter=500, gtol=1e-9)
        V = np.linalg.inv(-compared.hessian(found.params))  # in threshold 1 and logs of increments
    r = ex.regress(
        surveys.identity(range(4)), "y ~ age10 + C(sex)", frame.assign(age10=frame["age"] / 10), model=model
    )
    a, b, first, *logs = found.params
    thresholds = np.cumsum([first, *np.exp(logs)])
    assert r.coefficients == pytest.approx([a, b, *thresholds], abs=1e-6)
    jacobian = np.zeros((5, 5))
    jacobian[:2, :2], jacobian[2:, 2] = np.eye(2), 1
    for k, increment in enumerate(np.exp(logs)):
        jacobian[3 + k :, 3 + k] = increment
    assert r.standard_errors == pytest.approx(np.sqrt(np.diag(jacobian @ V @ jacobian.T)), abs=1e-6)


@pytest.mark.parametrize("errors", ["information", "robust"])
@pytest.mark.parametrize("model", ["gaussian", "poisson", "logit"])
def test_a_true_private_predictor_gives_the_generalised_linear_model_of_statsmodels(model, errors):
    frame = survey(3)
    generator = np.random.default_rng(5)
    eta = 0.5 + 0.02 * (frame["age"] - 50) + np.array([0.0, 0.4, -0.3])[frame["y"]]
    frame["outcome"] = {
        "gaussian": eta + generator.normal(size=N),
        "poisson": generator.poisson(np.exp(eta)),
        "logit": (generator.random(N) < 1 / (1 + np.exp(-eta))).astype(int),
    }[model]
    family = {"gaussian": sm.families.Gaussian, "poisson": sm.families.Poisson, "logit": sm.families.Binomial}
    formula = "outcome ~ age + C(y)"
    how = {"cov_type": "HC0"} if errors == "robust" else {}
    expected = smf.glm(formula, frame, family=family[model]()).fit(tol=1e-14, **how)
    for predictors in ("covariates", "shares"):
        r = ex.regress(
            {"y": surveys.identity([0, 1, 2])},
            formula,
            frame,
            model=model,
            predictors=predictors,
            errors=errors,
        )
        names = [name for _, name in by_name(r)]
        for name, (b, e) in zip(names, by_name(r).values(), strict=True):
            if name in expected.params:
                assert b == pytest.approx(expected.params[name], abs=1e-7)
                assert e == pytest.approx(expected.bse[name], abs=1e-7)
        assert sum(name in expected.params for name in names) == 4


def test_a_gaussian_model_without_an_intercept_is_least_squares():
    frame = survey(3)
    frame["outcome"] = frame["age"] * 0.1 + frame["y"] + np.random.default_rng(2).normal(size=N)
    for formula in ("outcome ~ 0 + age + y", "outcome ~ 0 + age + C(y)"):
        expected = smf.ols(formula, frame).fit()
        r = ex.regress({"y": surveys.identity([0, 1, 2])}, formula, frame, predictors="shares")
        found = [b for (_, name), (b, _) in by_name(r).items() if "deviation" not in name]
        errors = [e for (_, name), (_, e) in by_name(r).items() if "deviation" not in name]
        assert sorted(found) == pytest.approx(sorted(expected.params), abs=1e-8)
        assert sorted(errors) == pytest.approx(sorted(expected.bse), abs=1e-8)


def test_frequency_weights_are_rows_that_occur_as_often():
    frame = survey(2)
    frame["w"] = np.random.default_rng(3).integers(0, 4, N)
    mechanism = surveys.keep(2, 0.7)
    weighted = ex.regress(
        mechanism, FORMULA, frame, sample=ex.SampleDesign(weights="w"), errors="information"
    )
    repeated = ex.regress(mechanism, FORMULA, frame.loc[frame.index.repeat(frame["w"])])
    assert weighted.coefficients == pytest.approx(repeated.coefficients, abs=1e-9)
    assert weighted.covariance == pytest.approx(repeated.covariance, abs=1e-9)


def test_sampling_weights_give_the_sandwich_of_statsmodels():
    frame = survey(2)
    weights = np.random.default_rng(3).uniform(0.2, 3, N)
    weights *= N / weights.sum()
    r = ex.regress(surveys.identity([0, 1]), FORMULA, frame, sample=ex.SampleDesign(weights=17 * weights))
    X = np.column_stack([np.ones(N), frame["age"], frame["sex"] == "m"]).astype(float)
    fitted = sm.GLM(frame["y"], X, family=sm.families.Binomial(), freq_weights=weights).fit(tol=1e-14)
    assert r.coefficients == pytest.approx(fitted.params.to_numpy(), abs=1e-8)
    residual = (weights * (frame["y"] - fitted.predict())).to_numpy()
    meat = (X * residual[:, None]).T @ (X * residual[:, None])
    bread = np.asarray(fitted.cov_params())
    assert r.covariance == pytest.approx(bread @ meat @ bread, abs=1e-8)
    assert r.errors == "robust"


# Closed forms


@pytest.mark.parametrize(
    ("mechanism", "slope", "offset"),
    [
        (surveys.warner(0.7), 0.4, 0.3),
        (surveys.forced(0.75, 0.6), 0.75, 0.15),
        (surveys.unrelated(0.7, 0.25), 0.7, 0.3 * 0.25),
        (surveys.crosswise(0.2), -0.6, 0.8),
    ],
    ids=["warner", "forced", "unrelated", "crosswise"],
)
@pytest.mark.parametrize("model", ["logit", "probit"])
def test_intercepts_are_the_estimators_of_the_textbooks(mechanism, slope, offset, model):
    """P(second report) = offset + slope π, so π̂ = (λ̂ - offset) / slope with variance λ(1 - λ) / (n slope²)."""
    n, hits = 900, 400
    reports = [mechanism.outputs[1]] * hits + [mechanism.outputs[0]] * (n - hits)
    r = ex.regress(mechanism, "a ~ 1", {"a": reports}, model=model)
    lam = hits / n
    table = r.shares()
    assert table.estimates[1] == pytest.approx((lam - offset) / slope, abs=1e-9)
    assert table.standard_errors[1] == pytest.approx(np.sqrt(lam * (1 - lam) / n) / abs(slope), abs=1e-9)
    pi = (lam - offset) / slope
    assert r.variance_ratios == pytest.approx([lam * (1 - lam) / slope**2 / (pi * (1 - pi))], rel=1e-9)


def test_intercepts_of_several_answers_are_the_inverse_of_the_mechanism():
    mechanism = surveys.keep(3, 0.5, ["a", "b", "c"])
    counts = np.array([420, 300, 280])
    reports = np.repeat(["a", "b", "c"], counts)
    inverse = np.linalg.inv(mechanism.matrix.T)
    q = counts / 1000
    V = inverse @ (np.diag(q) - np.outer(q, q)) @ inverse.T / 1000
    for model in ("multinomial", "ordinal", "ordinal-probit"):
        table = ex.regress(mechanism, "x ~ 1", {"x": reports}, model=model).shares()
        assert table.estimates == pytest.approx(inverse @ q, abs=1e-9)
        assert table.standard_errors == pytest.approx(np.sqrt(np.diag(V)), abs=1e-9)


@pytest.mark.parametrize("model", ["ordinal", pytest.param("ordinal-probit", marks=pytest.mark.slow)])
def test_an_answer_of_an_ordinal_model_may_have_share_0(model):
    """Fewer reports of it than false ones alone: the shares are those of the maximum on the simplex."""
    mechanism = surveys.keep(3, 0.6, ["lo", "mid", "hi"])
    counts = {"lo": 500, "mid": 100, "hi": 400}
    r = ex.regress(mechanism, "x ~ 1", {"x": np.repeat(list(counts), list(counts.values()))}, model=model)
    assert r.shares().estimates == pytest.approx(ex.estimate(mechanism, counts).shares, abs=1e-7)
    assert r.empty == ("mid",)
    assert r.coefficients[0] == r.coefficients[1]
    assert "nobody's true answer is 'mid'" in " ".join(r.notes())
    assert np.isfinite(r.standard_errors).all()


def test_groups_have_the_estimators_of_each_group_alone():
    mechanism = surveys.warner(0.8)
    frame = {"g": ["a"] * 500 + ["b"] * 400, "x": ["yes"] * 200 + ["no"] * 300 + ["yes"] * 220 + ["no"] * 180}
    r = ex.regress(mechanism, "x ~ C(g)", frame)
    a, b = ((hits / n - 0.2) / 0.6 for hits, n in ((200, 500), (220, 400)))
    odds = [np.log(p / (1 - p)) for p in (a, b)]
    assert r.coefficients == pytest.approx([odds[0], odds[1] - odds[0]], abs=1e-8)
    assert r.effects("g").estimates[1] == pytest.approx(b - a, abs=1e-9)
    # Twice the difference of the binomial log-likelihoods, apart and together.
    parts = [(200, 500), (220, 400), (420, 900)]
    values = [h * np.log(h / n) + (n - h) * np.log(1 - h / n) for h, n in parts]
    test = r.likelihood_ratio("C(g)")
    assert test.statistic == pytest.approx(2 * (values[0] + values[1] - values[2]), abs=1e-7)
    assert test.degrees == 1


# Several private columns


def test_a_joint_mechanism_that_is_a_product_gives_what_two_mechanisms_give():
    frame = survey(2)
    generator = np.random.default_rng(9)
    x = generator.integers(0, 3, N)
    y = (generator.random(N) < 1 / (1 + np.exp(-(x - 1.0)))).astype(int)
    one, two = surveys.keep(2, 0.8, ["n", "y"]), surveys.keep(3, 0.8, ["l", "m", "h"])
    frame["vote"] = np.array(["n", "y"])[surveys.draw(generator, one, y)]
    frame["income"] = np.array(["l", "m", "h"])[surveys.draw(generator, two, x)]
    pairs = [(a, b) for a in one.inputs for b in two.inputs]
    joint = ex.Mechanism(np.kron(one.matrix, two.matrix), pairs, pairs)
    apart = ex.regress({"vote": one, "income": two}, "vote ~ C(income) + age", frame)
    together = ex.regress({("vote", "income"): joint}, "vote ~ C(income) + age", frame)
    assert together.coefficients == pytest.approx(apart.coefficients, abs=1e-7)
    assert together.covariance == pytest.approx(apart.covariance, abs=1e-6)
    assert apart.predictors == "covariates"


def test_the_prior_can_be_taken_as_given():
    prior = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    certified = ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 0.8), 0.8)
    generator = np.random.default_rng(1)
    x = generator.choice(3, 4000, p=prior.probabilities)
    data = {
        "x": np.array(["a", "b", "c"])[surveys.draw(generator, certified.mechanism, x)],
        "y": np.array([1.0, 3.0, -2.0])[x] + generator.normal(size=4000),
    }
    given = ex.regress({"x": certified}, "y ~ 0 + x", data, predictors="prior")
    fitted = ex.regress({"x": certified}, "y ~ 0 + x", data)
    for r in (given, fitted):
        assert np.abs((r.coefficients[:3] - [1, 3, -2]) / r.standard_errors[:3]).max() < 4
    assert len(given.coefficients) == 4
    assert (given.standard_errors[:3] <= fitted.standard_errors[:3]).all()


# What must not matter


def noisy(seed=0):
    frame = survey(3, seed)
    mechanism = surveys.keep(3, 0.6, ["lo", "mid", "hi"])
    reports = surveys.draw(np.random.default_rng(seed), mechanism, frame["y"].to_numpy())
    return mechanism, frame.assign(y=np.array(["lo", "mid", "hi"])[reports])


@pytest.mark.parametrize("model", ["multinomial", "ordinal"])
def test_the_order_of_rows_and_of_columns_of_the_mechanism_does_not_matter(model):
    mechanism, frame = noisy()
    first = ex.regress(mechanism, FORMULA, frame, model=model)
    mixed = frame.sample(frac=1, random_state=1)
    order = [2, 0, 1]
    turned = ex.Mechanism(
        mechanism.matrix[np.ix_([1, 2, 0], order)], ["mid", "hi", "lo"], [mechanism.outputs[k] for k in order]
    )
    again = ex.regress(turned, FORMULA, mixed, model=model, answers=["lo", "mid", "hi"])
    assert again.coefficients == pytest.approx(first.coefficients, abs=1e-7)
    assert again.covariance == pytest.approx(first.covariance, abs=1e-7)
    assert again.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-8)


def test_another_reference_is_the_same_model():
    mechanism, frame = noisy()
    one = ex.regress(mechanism, FORMULA, frame)
    other = ex.regress(mechanism, FORMULA, frame, answers="hi")
    assert other.answers == ("hi", "lo", "mid")
    assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-8)
    assert other.predict()[:, [1, 2, 0]] == pytest.approx(one.predict(), abs=1e-7)


def test_grouping_equal_rows_does_not_matter(monkeypatch):
    mechanism, frame = noisy()
    frame["old"] = frame["age"] > 50
    for drawn in ({}, {"weights": "village"}, {"clusters": "village"}):
        how = {"sample": ex.SampleDesign(**drawn)}
        grouped = ex.regress(mechanism, "y ~ old + C(sex)", frame, **how)
        assert len(grouped.assembly.weights) < N / 2
        with monkeypatch.context() as patch:
            patch.setattr("extremal.estimation.regression.assembly.equal_rows", lambda arrays: None)
            single = ex.regress(mechanism, "y ~ old + C(sex)", frame, **how)
        assert len(single.assembly.weights) > len(grouped.assembly.weights)
        assert single.coefficients == pytest.approx(grouped.coefficients, abs=1e-8)
        assert single.covariance == pytest.approx(grouped.covariance, abs=1e-8)


def test_units_of_covariates_do_not_matter():
    mechanism, frame = noisy()
    one = ex.regress(mechanism, "y ~ age", frame)
    moved = ex.regress(mechanism, "y ~ born", frame.assign(born=1e6 * (1996 - frame["age"])))
    assert moved.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-7)
    assert moved.z[[1, 3]] == pytest.approx(-one.z[[1, 3]], rel=1e-6)


# What data may be


def test_every_container_gives_the_same(tmp_path: Path):
    mechanism = surveys.keep(3, 0.6, [1, 2, 3])
    frame = survey(3)
    frame["y"] = surveys.draw(np.random.default_rng(0), mechanism, frame["y"].to_numpy()) + 1
    expected = ex.regress(mechanism, FORMULA, frame)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "b.csv", index=False, sep=";")
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "c.parquet")
    containers = [
        pl.DataFrame(frame.to_dict("list")),
        pl.DataFrame(frame.to_dict("list")).with_columns(pl.col("sex").cast(pl.Enum(["f", "m"]))),
        pa.Table.from_pandas(frame),
        {name: frame[name].to_numpy() for name in frame},
        frame.to_dict("list"),
        frame.astype({"y": str, "sex": "category"}),
        frame.astype({"y": float}),
        str(tmp_path / "a.csv"),
        tmp_path / "b.csv",
        tmp_path / "c.parquet",
    ]
    for container in containers:
        found = ex.regress(mechanism, FORMULA, container)
        assert found.coefficients == pytest.approx(expected.coefficients, abs=1e-10)


def test_names_with_spaces_stand_in_backticks():
    mechanism, frame = noisy()
    plain = ex.regress(mechanism, FORMULA, frame)
    renamed = frame.rename(columns={"y": "my answer", "age": "my age"})
    assert ex.regress(mechanism, "`my answer` ~ `my age` + C(sex)", renamed).coefficients == pytest.approx(
        plain.coefficients
    )


def test_rows_with_missing_values_are_dropped_and_counted(tmp_path: Path):
    mechanism, frame = noisy()
    frame.loc[:9, "age"] = np.nan
    frame.loc[5:14, "sex"] = None
    frame.loc[20:22, "y"] = None
    r = ex.regress(mechanism, FORMULA, frame)
    assert r.rows == N - 18
    assert dict(r.dropped) == {"rows": 18, "y": 3, "age": 10, "sex": 10}
    assert "18 rows dropped because values are missing" in r.notes()[0]
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    again = ex.regress(mechanism, FORMULA, tmp_path / "gaps.csv")
    assert again.coefficients == pytest.approx(r.coefficients, abs=1e-12)
    assert isinstance(r.to_frame(), pd.DataFrame)
