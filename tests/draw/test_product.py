"""Several columns as one symbol: priors on tuples, and one draw for all of them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import extremal as ex
from extremal.certification.certify import certify
from extremal.draw.drawing import Product
from extremal.draw.sampler import SeededWords
from extremal.errors import PriorError, ValuesError
from extremal.model.mechanism import identity
from tests.support.wording import refused

SEX = ex.Prior({"f": 0.5, "m": 0.5})
AGE = ex.Prior({20: 0.25, 40: 0.25, 60: 0.5})
BOTH = ex.Prior.product(SEX, AGE)
FRAME = {"sex": ["f", "m", "f", "m", "f", "f"], "age": [20, 40, 60, 20, 60, 60], "n": [1, 2, 3, 4, 5, 6]}

KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "pandas categories": lambda d: pd.DataFrame(d).astype({"sex": "category", "age": "category"}),
    "polars categories": lambda d: pl.DataFrame(d).with_columns(pl.col("sex").cast(pl.Categorical)),
}


def pairs(frame):
    columns = (frame["sex"], frame["age"])
    return list(zip(*(c.to_pylist() if isinstance(frame, pa.Table) else c for c in columns), strict=True))


def test_the_product_of_priors_is_the_prior_of_independent_attributes():
    assert BOTH.labels == (("f", 20), ("f", 40), ("f", 60), ("m", 20), ("m", 40), ("m", 60))
    assert BOTH.probabilities.tolist() == [0.125, 0.125, 0.25] * 2
    assert ex.Prior.product(SEX, SEX, SEX).size == 8
    assert BOTH.entropy == pytest.approx(SEX.entropy + AGE.entropy)
    for wrong in ((SEX,), (), (SEX, [0.5, 0.5])):
        with pytest.raises(PriorError, match=r"a product must be of at least 2|must be a Prior"):
            ex.Prior.product(*wrong)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_joint_prior_counts_combinations(kind):
    prior = ex.Prior.joint(KINDS[kind](FRAME), ["sex", "age"])
    assert prior.labels == (("f", 20), ("f", 60), ("m", 20), ("m", 40))
    assert prior.probabilities.tolist() == pytest.approx([1 / 6, 1 / 2, 1 / 6, 1 / 6])
    assert all(type(sex) is str and type(age) is int for sex, age in prior.labels)
    assert prior.labels == ex.Prior.from_data(pairs(pd.DataFrame(FRAME))).labels
    whole = ex.Prior.joint(
        KINDS[kind](FRAME), ["sex", "age"], pseudocount=1, labels=[["m", "f"], [20, 40, 60]]
    )
    assert whole.labels == tuple((sex, age) for sex in ("m", "f") for age in (20, 40, 60))
    assert whole.probabilities.tolist() == pytest.approx([2 / 12, 2 / 12, 1 / 12, 2 / 12, 1 / 12, 4 / 12])


def test_a_joint_prior_that_cannot_be_is_refused():
    frame = pd.DataFrame(FRAME)
    for columns in (["sex"], "sex", ["sex", "sex"], ["sex", "size"]):
        with pytest.raises(PriorError, match="at least 2 different columns"):
            ex.Prior.joint(frame, columns)
    with refused(PriorError, "('f', 60)"):
        ex.Prior.joint(frame, ["sex", "age"], labels=[["f", "m"], [20, 40]])
    with refused(PriorError, "labels"):
        ex.Prior.joint(frame, ["sex", "age"], labels=[["f", "m"]])
    for gap in (None, np.nan):
        with refused(PriorError, "2 rows with missing values"):
            ex.Prior.joint(pd.DataFrame({"a": ["x", gap, "y"], "b": [1, 2, gap]}), ["a", "b"])
    with refused(PriorError, "prior"):
        ex.Prior.joint(frame, ["sex", "age"], labels=[["f", "m"], [20, 40, 60]])


@pytest.mark.parametrize("kind", list(KINDS))
def test_columns_drawn_together_get_the_reports_of_their_tuples(kind):
    c = certify(BOTH, ex.theory.randomized_response(BOTH, 1.0), 1.0)
    frame = KINDS[kind]({name: values * 50 for name, values in FRAME.items()})
    reports = ex.privatize(frame, {("sex", "age"): c}, source=SeededWords(3))
    assert type(reports) is type(frame)
    assert pairs(reports) == c.privatize(pairs(frame), source=SeededWords(3))
    assert list(reports["n"]) == list(frame["n"])
    keyed = ex.privatize(frame, {("sex", "age"): c}, keyed=ex.Keyed(bytes(range(32)), range(300)))
    assert pairs(keyed) == c.privatize(
        pairs(frame), keyed=ex.Keyed(bytes(range(32)), range(300)), column=("sex", "age")
    )


def test_the_order_of_the_names_decides_and_not_that_of_the_columns():
    turned = ex.Prior.product(AGE, SEX)
    same = certify(turned, identity(turned), 3.0, allow_true_answers=True)
    frame = pd.DataFrame(FRAME)
    assert ex.privatize(frame, {("age", "sex"): same}, allow_true_answers=True).equals(frame)
    with refused(ValuesError, "6 of 6 rows"):
        ex.privatize(frame, {("sex", "age"): same}, allow_true_answers=True)


def test_a_combination_without_a_label_is_unknown():
    prior = ex.Prior.joint(pd.DataFrame(FRAME), ["sex", "age"])  # nobody is ("f", 40)
    same = certify(prior, identity(prior), 3.0, allow_true_answers=True)
    strange = pd.DataFrame({"sex": ["f", "f", "m", None], "age": [20, 40, 20, 20], "n": [1, 2, 3, 4]})
    with refused(ValuesError, "others in 2 of 4 rows, first in record 2 (1 missing)"):
        ex.privatize(strange, {("sex", "age"): same}, allow_true_answers=True)
    assert ex.privatize(strange, {("sex", "age"): same}, unknown="drop", allow_true_answers=True)[
        "n"
    ].tolist() == [1, 3]
    mapped = ex.privatize(
        strange, {("sex", "age"): same}, unknown_as={("sex", "age"): ("m", 40)}, allow_true_answers=True
    )
    assert pairs(mapped) == [("f", 20), ("m", 40), ("m", 20), ("m", 40)]


@given(seed=st.integers(0, 2**32))
def test_any_set_of_tuples_is_found_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    width, sizes = int(rng.integers(2, 5)), rng.integers(1, 5, 5)
    every = [tuple(int(x) for x in rng.integers(0, sizes[:width])) for _ in range(30)]
    labels = list(dict.fromkeys(every))[: max(2, len(every) // 3)]
    if len(labels) < 2:
        return
    prior = ex.Prior.uniform(labels)
    same = certify(prior, identity(prior), 5.0, allow_true_answers=True)
    names = [f"c{k}" for k in range(width)]
    rows = [*every, (9,) * width]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    expected = [row for row in rows if row in labels]
    assert (
        ex.privatize(frame, {tuple(names): same}, unknown="drop", allow_true_answers=True).rows() == expected
    )


def test_outputs_that_are_no_tuples_cannot_be_split():
    for outputs in (range(6), [("f", 20, 1), *list(BOTH.labels[1:])], ["x", *BOTH.labels[1:]]):
        c = certify(BOTH, ex.Mechanism(np.full((6, 6), 1 / 6), BOTH.labels, list(outputs)), 0.0)
        with pytest.raises(ValuesError, match="outputs that are tuples of 2 labels"):
            Product.of(c.sampler, ["sex", "age"])
    with refused(ValuesError, "['f', 'm']"):
        ex.privatize(
            pd.DataFrame(FRAME),
            {("sex", "age"): certify(SEX, identity(SEX), 1.0, allow_true_answers=True)},
            allow_true_answers=True,
        )


def test_the_joint_reports_follow_the_certified_distribution():
    """Error rate: 6 binomial tails at 1e-9; less than 1e-8 in all."""
    c = certify(BOTH, ex.theory.randomized_response(BOTH, 1.0), 1.0)
    n = 60_000
    frame = pl.DataFrame({"sex": ["m"] * n, "age": [40] * n})
    reports = pairs(ex.privatize(frame, {("sex", "age"): c}))
    for j, y in enumerate(c.outputs):
        p = float(c.weights[BOTH.labels.index(("m", 40)), j]) / 2**62
        count = reports.count(y)
        assert min(stats.binom.cdf(count, n, p), stats.binom.sf(count - 1, n, p)) > 0.5e-9
