"""What data or mechanism cannot tell is said in words, with what was given and what to do."""

import math

import numpy as np
import pytest

import extremal as ex
from extremal.errors import FileError, MechanismError, OptionError, RegressionError, ValuesError
from tests.support import surveys
from tests.support.wording import refused

N = 300
BINARY = surveys.warner(0.8)


def data(**more):
    generator = np.random.default_rng(0)
    frame = surveys.covariates(generator, N)
    frame["x"] = generator.choice(["no", "yes"], N)
    for name, column in more.items():
        frame[name] = column
    return frame


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("x ~ agee", "'agee'"),
        ("y ~ age", "'y'"),
        ("x ~ age +* sex", "formula"),
        ("x age", "formula"),
        ("~ age", "formula"),
        ("x ~ 0", "formula"),
        ("x ~ .", "formula"),
        ("x ~ nothing(age)", "nothing"),
        ("log(x) ~ age", "'log(x)'"),
        ("x ~ age + x", "'x ~ age + x'"),
        ("x ~ sex + log(age - 1000)", "300 rows"),
    ],
)
def test_a_formula_that_makes_no_sense_is_refused(formula, words):
    with refused((OptionError, ValuesError), words):
        ex.regress(BINARY, formula, data())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "linear"}, "model"),
        ({"model": "poisson"}, "answers"),
        ({"errors": "hc3"}, "errors"),
        ({"errors": "cluster"}, "clusters"),
        ({"answers": ["maybe"]}, "answers"),
        ({"predictors": "guess"}, "predictors"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with refused(OptionError, words):
        ex.regress(BINARY, "x ~ age", data(), **options)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.full(N, -1.0), "300 below 0"),
        (np.r_[np.nan, np.nan, np.ones(N - 2)], "2 of 300 missing"),
        (np.zeros(N), "weights"),
        (np.ones(N - 1), "299"),
        (["a"] * N, "300 of 300 missing or not a number"),
        ("sex", "'sex'"),
        ("weight", "'weight'"),
    ],
)
def test_bad_weights_are_refused(weights, words):
    with refused(ValuesError, words):
        ex.regress(BINARY, "x ~ age", data(), sample=ex.SampleDesign(weights=weights))


def test_reports_that_the_mechanism_cannot_make_are_counted():
    with refused(ValuesError, "others in 7 of 300 rows (2 like a label but for case, spaces or type)"):
        ex.regress(BINARY, "x ~ age", data(x=["maybe"] * 5 + ["YES"] * 2 + ["no"] * (N - 7)))
    never = ex.Mechanism([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]], ["a", "b"], ["a", "b", "c"])
    with refused(ValuesError, "x", "'c'", "3 rows"):
        ex.regress(never, "x ~ age", data(x=["c"] * 3 + ["a"] * (N - 3)))


def test_data_without_rows_and_of_no_kind_are_refused(tmp_path):
    with refused(ValuesError, "data"):
        ex.regress(BINARY, "x ~ age", data().iloc[:0])
    with refused(ValuesError, "300 missing in 'age'"):
        ex.regress(BINARY, "x ~ age", data(age=math.nan))
    with refused(ValuesError, "data"):
        ex.regress(BINARY, "x ~ age", 3)
    with refused(ValuesError, "{'x': 1, 'age': 2}"):
        ex.regress(BINARY, "x ~ age", {"x": ["no"], "age": [1, 2]})
    with refused(ValuesError, "data", "got", "unique"):
        ex.regress(BINARY, "x ~ age", data().rename(columns={"sex": "age"}))
    with refused(ValuesError, "'age'", "datetime"):
        ex.regress(BINARY, "x ~ age", data(age=np.datetime64("2020-01-01")))
    with refused(FileError, "data", "nowhere"):
        ex.regress(BINARY, "x ~ age", tmp_path / "nowhere.csv")
    (tmp_path / "a.csv").write_text("x,agee\nno,1\n")
    with refused(ValuesError, "'age'", "agee"):
        ex.regress(BINARY, "x ~ age", tmp_path / "a.csv")


def test_fewer_rows_than_coefficients_are_refused():
    with refused(RegressionError, "2"):
        ex.regress(BINARY, "x ~ age + sex", data().iloc[[0, 1]])
    four = surveys.keep(4, 0.7)
    with refused(RegressionError, "5"):
        ex.regress(four, "x ~ age", {"x": [0, 1, 2, 3, 0], "age": [1, 2, 3, 4, 5]})


def test_collinear_columns_are_named():
    frame = data()
    frame["born"] = 1996 - frame["age"]
    with pytest.raises(RegressionError, match=r"collinear: .*born|collinear: .*age"):
        ex.regress(BINARY, "x ~ age + born", frame)
    frame["one"] = 1.0
    with pytest.raises(
        RegressionError, match=r"collinear: (one|Intercept) is a combination of (one|Intercept);"
    ):
        ex.regress(BINARY, "x ~ age + one", frame)
    frame["sex"] = frame["sex"].astype("category").cat.set_categories(["f", "m", "x"])
    with pytest.raises(RegressionError, match=r"sex\[T.x\] is 0 in every row: it is a level"):
        ex.regress(BINARY, "x ~ sex", frame)


def test_separation_is_named_with_the_coefficients_that_run_off():
    frame = data()
    frame["x"] = np.where(frame["age"] > 50, "yes", "no")
    with refused(RegressionError, "the model"):
        ex.regress(surveys.identity(["no", "yes"]), "x ~ age", frame)


def test_an_empty_cell_is_named():
    frame = data()
    frame.loc[frame["sex"] == "m", "x"] = "no"  # among 150 men not one report of 20 % false ones
    with refused(RegressionError, "the model"):
        ex.regress(BINARY, "x ~ sex", frame)
    three = surveys.identity(["a", "b", "c"])
    with refused(RegressionError, "the model", "(c)"):
        ex.regress(three, "x ~ age", data(x=["a", "b"] * (N // 2)))


def test_reports_beyond_the_range_of_the_mechanism_are_named():
    """Fewer "yes" than false ones alone would give: the share is 0, its logit has no value."""
    with refused(RegressionError, "the model"):
        ex.regress(BINARY, "x ~ 1", {"x": ["yes"] * 30 + ["no"] * 270})


def test_a_mechanism_that_merges_answers_is_refused():
    twins = ex.Mechanism([[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]], ["a", "b", "c"], ["y", "n"])
    with refused(MechanismError, "the mechanism", "rank 2 for 3 answers"):
        ex.regress(twins, "x ~ age", data(x=["y", "n"] * (N // 2)))
    with refused(MechanismError, "the mechanism"):
        ex.regress({"x": twins}, "age ~ x", data(x=["y", "n"] * (N // 2)))


def test_a_model_that_the_information_does_not_identify_is_refused():
    """A fair coin tells nothing: every coefficient is as likely as any other."""
    coin = ex.Mechanism([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], ["a", "b", "c"], ["y", "n"])
    with refused(RegressionError, "the model"):
        ex.regress(coin, "x ~ age", data(x=["y", "n"] * (N // 2)), model="ordinal")


@pytest.mark.parametrize(
    ("mechanisms", "formula", "words"),
    [
        ({}, "x ~ age", ""),
        ({"sex": BINARY}, "x ~ age", "'sex'"),
        ({"x": BINARY, ("x", "sex"): BINARY}, "x ~ sex", "2"),
        ({"x": "mechanism.json"}, "x ~ age", "'mechanism.json'"),
    ],
)
def test_mechanisms_that_do_not_fit_the_formula_are_refused(mechanisms, formula, words):
    with refused((OptionError, MechanismError), words):
        ex.regress(mechanisms, formula, data())


def test_outcomes_in_the_clear_that_do_not_fit_the_model_are_refused():
    with refused(OptionError, "model", "answers"):
        ex.regress({"x": BINARY}, "age ~ x", data(), model="logit")
    with refused(ValuesError, ">= 0"):
        ex.regress({"x": BINARY}, "age ~ x", data(age=-1.5), model="poisson")
    with refused(ValuesError, "text"):
        ex.regress({"x": BINARY}, "sex ~ x", data(), model="gaussian")
    with refused(OptionError, "prior"):
        ex.regress({"x": BINARY}, "age ~ x", data(), predictors="prior")
