"""Numbers as answers: rounding that keeps the mean, brackets that bound it, and the whole way from a column."""

import dataclasses
import hashlib
import hmac
import math
import struct
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import extremal as ex
from tests.support.aes import aes_256
from tests.support.wording import refused

GRID = ex.numeric.Grid([0, 500, 1000, 2500, 5000])


def test_a_number_becomes_a_neighbour_with_itself_as_the_mean():
    """Exact fractions: the prior of one number is the distribution of its rounding."""
    for x in (0, 1, 250, 499, 500, 700, 2500, 4999, 5000):
        prior = GRID.prior([x], pseudocount=1e-9)
        shares = [Fraction(p).limit_denominator(10**6) for p in prior.probabilities]
        assert float(sum(p * y for p, y in zip(shares, GRID.labels, strict=True))) == pytest.approx(
            x, abs=0.01
        )
        below, above = max(y for y in GRID.labels if y <= x), min(y for y in GRID.labels if y >= x)
        assert set(GRID.round([x] * 200, seed=1)) <= {below, above}
    values = np.random.default_rng(0).uniform(0, 5000, 20_000)
    rounded = np.array(GRID.round(values, seed=2), dtype=float)
    error = (rounded - values).std() / math.sqrt(len(values))
    assert abs(rounded.mean() - values.mean()) < 4 * error
    assert GRID.labels == (0, 500, 1000, 2500, 5000)
    assert ex.numeric.Grid([0, 0.5]).labels == (0.0, 0.5)


def test_from_a_column_of_numbers_to_their_mean():
    incomes = pd.Series(np.random.default_rng(3).gamma(2.0, 700.0, 4000)).clip(upper=5000)
    prior = GRID.prior(incomes)
    certified = ex.certify(ex.design(prior, 1.5, GRID.purpose))
    reports = certified.privatize(GRID.round(incomes, seed=4), source=ex.randomness.SeededWords(5))
    found = ex.estimate(certified, reports).mean()
    assert found.lower[0] <= incomes.mean() <= found.upper[0]
    assert found.upper[0] - found.lower[0] < 400
    every = ex.estimate(certified, reports, intervals="all").mean()
    assert every.upper[0] - every.lower[0] > found.upper[0] - found.lower[0]


def test_brackets_bound_the_mean():
    brackets = ex.numeric.Brackets([0, 500, 1000, 5000])
    assert brackets.labels == ("0 to 500", "500 to 1000", "1000 to 5000")
    values = [0, 499.9, 500, 1000, 4999, 5000]
    answers = brackets.assign(values)
    assert answers == [brackets.labels[k] for k in (0, 0, 1, 2, 2, 2)]
    truth = ex.Mechanism(np.eye(3), brackets.labels, brackets.labels)
    found = brackets.mean(ex.estimate(truth, answers))
    assert found.estimates * 6 == pytest.approx([500 + 3000, 250 * 2 + 750 + 9000, 1000 + 1000 + 15000])
    assert found.estimates[0] <= np.mean(values) <= found.estimates[2]
    opened = ex.numeric.Brackets([-math.inf, 0, 10, math.inf])
    assert opened.labels == ("below 0", "0 to 10", "10 or more")
    assert opened.assign([-5, 3, 99]) == list(opened.labels)
    truth = ex.Mechanism(np.eye(3), opened.labels, opened.labels)
    with refused(ex.errors.OptionError, "edges"):
        opened.mean(ex.estimate(truth, opened.assign([-5, 3, 99])))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ex.numeric.Grid([1]), "points"),
        (lambda: ex.numeric.Grid([2, 1]), "points"),
        (lambda: ex.numeric.Grid([0, math.inf]), "points"),
        (lambda: ex.numeric.Brackets(["a", "b", "c"]), "edges"),
        (lambda: GRID.round([100, 6000]), "1 of 2 beyond"),
        (lambda: GRID.round([100, math.nan]), "1 missing or infinite"),
        (lambda: GRID.round(["100"]), "values"),
        (lambda: ex.numeric.Brackets([0, 1, 2]).assign([3]), "1 of 1 beyond"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with refused(ex.errors.ExtremalError, message):
        make()
    assert GRID.round([6000], clip=True) == [5000]


@pytest.mark.slow
def test_means_of_rounded_numbers_are_covered():
    rng, rounds = np.random.default_rng(6), 2000
    prior = ex.Prior([0.2, 0.3, 0.3, 0.15, 0.05], GRID.labels)
    mechanism = ex.design(prior, 1.0, GRID.purpose).mechanism
    mean, hits = float(np.minimum(rng.gamma(2.0, 700.0, 4_000_000), 5000).mean()), 0
    for k in range(rounds):
        x = np.minimum(rng.gamma(2.0, 700.0, 1000), 5000)
        rows = [GRID.labels.index(y) for y in GRID.round(x, seed=k)]
        y = (rng.random(1000)[:, None] > mechanism.matrix.cumsum(axis=1)[rows]).sum(axis=1)
        counts = np.bincount(y, minlength=mechanism.shape[1]).tolist()
        reports = dict(zip(mechanism.outputs, counts, strict=True))
        found = ex.estimate(mechanism, reports, intervals="each", method=ex.Method(prior=prior)).mean()
        hits += found.lower[0] <= mean <= found.upper[0]
    assert 0.93 < hits / rounds < 0.97


KEY = bytes(range(32))


def test_with_a_key_a_number_keeps_its_point():
    """So a keyed job that runs again repeats its reports; chance alone would change some in each run."""
    incomes = np.random.default_rng(0).uniform(0, 4000, 2000)
    ids = np.arange(2000)
    certified = ex.certify(ex.design(GRID.prior(incomes), 1.0, GRID.purpose))

    def job(order):
        how = {"keyed": ex.Keyed(KEY, ids[order]), "column": "income"}
        return np.array(certified.privatize(GRID.round(incomes[order], **how), **how))

    order = np.random.default_rng(1).permutation(2000)
    assert np.array_equal(job(slice(None))[order], job(order))


def test_keyed_points_follow_the_documented_word():
    """The word is computed here from the page on the format: HMAC, then AES of the id and of the number's bits."""
    points, numbers, ids = [0.0, 500.0, 1000.0], [340.0, -0.0, 999.0, 500.0, 1.5], [1, 2, 3, 4, 5]
    digest = hashlib.sha256(b"extremal-grid-1\0" + struct.pack("<3d", *points)).digest()
    message = b"extremal-keyed-draw-2\0"
    for field in [b"integer 3", digest, b"column", b"income"]:
        message += len(field).to_bytes(8, "little") + field
    subkey = hmac.new(KEY, message, hashlib.sha256).digest()
    expected = []
    for number, record in zip(numbers, ids, strict=True):
        bits = int.from_bytes(struct.pack("<d", number + 0.0), "little")
        chained = aes_256(subkey, record.to_bytes(16, "little"))
        chained = bytes(a ^ b for a, b in zip(chained, bits.to_bytes(16, "little"), strict=True))
        word = int.from_bytes(aes_256(subkey, chained)[:8], "little")
        below = max(k for k in (0, 1) if points[k] <= number)
        up = Fraction(word >> 11, 1 << 53) < Fraction(number - points[below]) / 500
        expected.append(points[below + up])
    grid = ex.numeric.Grid(points)
    assert grid.round(numbers, keyed=ex.Keyed(KEY, ids, 3), column="income") == expected


def test_keyed_points_keep_the_mean_and_depend_on_everything():
    grid, ids = ex.numeric.Grid([0, 1000]), range(20_000)
    numbers = [340.0] * 20_000

    def draw(values=numbers, grid=grid, column="income", **how):
        keyed = dataclasses.replace(ex.Keyed(KEY, ids), **how)
        return np.array(grid.round(values, keyed=keyed, column=column))

    first = draw()
    assert abs(first.mean() - 340) < 5 * np.sqrt(340 * 660 / 20_000)
    others = [
        draw(column="wealth"),
        draw(occasion=2),
        draw(ids=range(1, 20_001)),
        draw(key=bytes(range(1, 33))),
        draw([340.0000001] * 20_000),
        draw(grid=ex.numeric.Grid([0, 1000, 2000])),
    ]
    for other in others:  # independent: equal where both are up or both are down
        assert abs(np.mean(first == other) - (0.34**2 + 0.66**2)) < 5 * 0.5 / np.sqrt(20_000)


def test_keyed_rounding_needs_what_keyed_reports_need():
    wrong = [
        {"keyed": KEY},
        {"keyed": ex.Keyed(KEY, [1, 2])},
        {"keyed": ex.Keyed(KEY, [1, 1]), "column": "income"},
        {"keyed": ex.Keyed(KEY, [1]), "column": "income"},
        {"keyed": ex.Keyed(KEY, [1, 2]), "column": "income", "seed": 1},
    ]
    for how in wrong:
        with pytest.raises(ex.errors.ExtremalError):
            GRID.round([1.0, 2.0], **how)
    named = pd.Series([1.0, 2.0], name="income")
    how = {"keyed": ex.Keyed(KEY, [1, 2])}
    assert GRID.round(named, **how) == GRID.round([1.0, 2.0], column="income", **how)
    with pytest.raises(ex.errors.KeyingError, match="rename"):
        GRID.round(named.rename("x0"), **how)
