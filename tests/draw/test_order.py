"""The order of records: what is found is exact, what is random raises no alarm."""

import itertools
import random
import warnings
from collections import Counter
from math import comb, log

import numpy as np
import pandas as pd
import pytest

import extremal as ex
from extremal.certification.certify import certify
from extremal.draw import order
from extremal.draw.order import FALSE_ALARM, OrderWarning, Runs, Watch, _at_distance
from extremal.release.job import Terms, plan
from tests.support.wording import refused

PRIOR = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
C = certify(PRIOR, ex.theory.randomized_response(PRIOR, 1.0), 1.0)
MANY = ex.Prior.uniform(300)
BIG = certify(MANY, ex.theory.randomized_response(MANY, 1.0), 1.0)


def ordered(certified, rows, pieces=1):
    one = Watch.of(plan({"x": certified}, Terms())[0].releases[0])
    for part in np.array_split(np.asarray(rows, dtype=np.uint32), pieces):
        one.add(part)
    return one.ordered()


@pytest.mark.parametrize(("a", "b"), [(1, 6), (3, 4), (5, 5), (2, 9), (7, 2)])
def test_the_chance_of_so_few_or_so_many_runs_bounds_the_exact_one(a, b):
    """Against all arrangements, one by one."""
    found = Counter()
    for places in itertools.combinations(range(a + b), a):
        found[sum(i - 1 not in places for i in places)] += 1
    for u in found:
        runs = Runs(np.array([a, b]), np.array([u, min(u, b)]))
        fewer = log(sum(n for v, n in found.items() if v <= u) / comb(a + b, a))
        more = log(sum(n for v, n in found.items() if v >= u) / comb(a + b, a))
        assert runs.log_chance(both=False)[0] >= fewer - 1e-9 or runs.log_chance(both=False)[0] == 0
        assert runs.log_chance(both=True)[0] >= min(fewer, more) - 1e-9


@pytest.mark.parametrize(
    "rows",
    [
        [0] * 30 + [1] * 30,
        [0] * 500 + [1] * 300 + [2] * 200,
        [2] * 20 + [0, 1] * 100 + [2] * 20,
        [row for _ in range(40) for row in [0] * 5 + [1] * 3 + [2] * 2],  # sorted piece by piece
        [0, 1] * 200,
        [0, 1, 2] * 200,
    ],
)
@pytest.mark.parametrize("pieces", [1, 7])
def test_sorted_clustered_and_alternating_records_are_found(rows, pieces):
    assert ordered(C, rows, pieces)


def test_a_sorted_column_of_many_rare_answers_is_found():
    assert ordered(BIG, range(300))
    assert ordered(BIG, sorted(random.Random(1).choices(range(300), k=600)))
    labels = [str(k) for k in range(300)]
    texts = ex.Prior.uniform(labels)
    by_text = certify(texts, ex.theory.randomized_response(texts, 1.0), 1.0)
    assert ordered(by_text, sorted(range(300), key=lambda k: labels[k]))


BLOCK = random.Random(7).choices(range(3), k=900)
PERIODS = {
    "no no yes yes": [0, 0, 1, 1] * 50,
    "three by three": [0, 0, 0, 1, 1, 1, 2, 2, 2] * 20,
    "every 50th": [int(k % 50 == 49) for k in range(3000)],
    "sorted in groups of five": [row for k in range(200) for row in [0, 0, (k * 7 % 3), 2, 2]],
    "a long block again and again": BLOCK * 4,
    "nine of ten as position says": [
        row if random.Random(k).random() < 0.9 else k * 31 % 3 for k, row in enumerate(BLOCK[:60] * 40)
    ],
    "random first, then periodic": BLOCK + [0, 0, 1, 1] * 250,
}


@pytest.mark.parametrize("rows", PERIODS.values(), ids=PERIODS)
@pytest.mark.parametrize("pieces", [1, 7])
def test_orders_that_repeat_themselves_are_found(rows, pieces):
    """Who knows the order knows answers from their places, however noisy the reports are."""
    assert ordered(C, rows, pieces)
    shuffled = list(rows)
    random.Random(1).shuffle(shuffled)
    assert not ordered(C, shuffled, pieces)


def test_a_block_of_many_answers_again_and_again_is_found():
    block = random.Random(2).choices(range(300), k=500)
    assert ordered(BIG, block * 6)


@pytest.mark.parametrize("distance", [2, 3, 4])
def test_runs_at_a_distance_are_as_likely_as_runs(distance):
    """Over all arrangements of 4 among 9, one by one."""
    near, far = Counter(), Counter()
    for places in itertools.combinations(range(9), 4):
        codes = np.array([int(i in places) for i in range(9)])
        near[tuple(_at_distance(codes, 2, 1).runs)] += 1
        far[tuple(_at_distance(codes, 2, distance).runs)] += 1
        classes = [codes[r::distance] for r in range(distance)]
        joined = [code for one in classes for code in one]
        runs = [[key for key, _ in itertools.groupby(joined)].count(symbol) for symbol in (0, 1)]
        assert _at_distance(codes, 2, distance).runs.tolist() == runs
    assert near == far


def test_random_orders_raise_alarms_no_more_often_than_they_may(monkeypatch):
    """With a chance of alarms that can be measured; the bound is a union of bounds, so there are fewer."""
    monkeypatch.setattr(order, "FALSE_ALARM", 0.2)
    rng = np.random.default_rng(9)
    samples = [rng.choice(3, int(rng.integers(25, 200)), p=[0.6, 0.3, 0.1]) for _ in range(300)]
    alarms = sum(ordered(C, rows) for rows in samples)
    assert alarms <= 0.2 * 300 + 5 * np.sqrt(0.2 * 0.8 * 300)


@pytest.mark.slow
def test_random_orders_and_files_without_order_raise_no_alarm():
    """Skewed and rare answers included: the chance of one alarm in all of these is below 2e-3."""
    rng = random.Random(5)
    assert FALSE_ALARM * 2000 <= 2e-3
    for k in range(1000):
        n = rng.choice([0, 1, 2, 3, 10, 100, 1000])
        weights = rng.choice([[1, 1, 1], [1000, 1, 0], [98, 1, 1], [0, 0, 1]])
        assert not ordered(C, rng.choices(range(3), weights, k=n), rng.choice([1, 3])), k
        assert not ordered(BIG, rng.choices(range(300), k=n))


def test_values_in_memory_that_are_sorted_warn():
    values = ["a"] * 500 + ["b"] * 500
    for column in (values, np.array(values), pd.Series(values)):
        with pytest.warns(OrderWarning, match="order of the records"):
            C.privatize(column)
    with pytest.warns(OrderWarning, match="'answer'"):
        ex.privatize(pd.DataFrame({"answer": values}), {"answer": C})
    with pytest.warns(OrderWarning):
        C.privatize(
            ["a"] * 200_000 + ["b"] * 200_000
        )  # neither is at both ends of the part that is looked at
    random.Random(0).shuffle(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        C.privatize(values)
        C.privatize(["a", "b"] * 300_000)


def test_codes_that_are_sorted_warn():
    with pytest.warns(OrderWarning, match="order of the records") as caught:
        C.privatize_codes(np.repeat(np.arange(2, dtype=np.int8), 500))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        C.privatize_codes(np.random.default_rng(0).integers(0, 3, 100_000))
        C.privatize_codes(np.zeros(1000, dtype=np.uint8))
        C.privatize_codes(np.tile(np.arange(3), 1000))


def test_a_warning_names_the_line_of_the_caller():
    for call in (
        lambda values: C.privatize(values),
        lambda values: ex.privatize(pd.DataFrame({"answer": values}), {"answer": C}),
        lambda values: ex.privatize(pd.DataFrame({"answer": values}), {"answer": C}),
    ):
        with pytest.warns(OrderWarning) as caught:
            call(["a"] * 500 + ["b"] * 500)
        assert caught[0].filename == __file__


def test_columns_taken_together_are_watched_one_by_one():
    joint = ex.Prior.uniform([(x, y) for x in range(2) for y in range(40)])
    both = certify(joint, ex.theory.randomized_response(joint, 1.0), 1.0)
    one = Watch.of(plan({("x", "y"): both}, Terms())[0].releases[0])
    rng = random.Random(1)
    one.add(np.array([(k // 100) * 40 + rng.randrange(40) for k in range(200)], dtype=np.uint32))
    assert one.ordered()


def test_an_index_that_repeats_a_private_column_is_refused():
    frame = pd.DataFrame({"answer": ["a", "b", "c", "a"], "n": [1, 2, 3, 4]})
    for kept in (frame.set_index("answer", drop=False), frame.set_index(pd.Index(frame["answer"].tolist()))):
        with refused(ex.errors.ValuesError, "index"):
            ex.privatize(kept, {"answer": C})
    with refused(ex.errors.ValuesError, "index"):
        ex.privatize(frame.set_index(["n", "answer"], drop=False), {"answer": C})
    assert ex.privatize(frame.set_index("n"), {"answer": C}).index.tolist() == [1, 2, 3, 4]
