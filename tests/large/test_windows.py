"""Windows: what leaves a device, the step and the start together, enumerated in fractions."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import extremal as ex
from extremal.certification.weights import TOTAL
from extremal.draw.order import OrderWarning
from extremal.errors import (
    CertificationError,
    DisclosureError,
    EpsilonError,
    FormatError,
    KeyingError,
    OptionError,
    ValuesError,
)
from extremal.large import leakage
from extremal.large import leakage as theory
from extremal.randomness import SeededWords
from tests.support.wording import refused

SKEWED = ex.Prior([0.4, 0.3, 0.12, 0.1, 0.05, 0.03], labels=list("abcdef"))
CASES = [
    (2, 1.0),
    (5, 0.7),
    (6, 2.0),
    (SKEWED, 0.5),
    (SKEWED, 1.3),
    (ex.Prior.uniform(7), 1.0),
    (ex.Prior.uniform(12), 1.5),
]


def joint(w):
    """P(step, start | x) for every report and every answer, from the integers alone."""
    table = {}
    for step, start in product(range(1, w.prime), range(w.prime)):
        inverse = pow(step, -1, w.prime)
        places = [(x - start) * inverse % w.prime for x in range(w.answers)]
        table[step, start] = [Fraction(w.places.weight(j), TOTAL * (w.prime - 1)) for j in places]
    return table


def exact_prior(w):
    if w.prior is None:
        return [Fraction(1, w.answers)] * w.answers
    masses = [Fraction(p) for p in w.prior.probabilities.tolist()]
    return [p / sum(masses) for p in masses]


@pytest.mark.parametrize(("answers", "epsilon"), CASES)
def test_step_and_start_together_keep_what_is_claimed(answers, epsilon):
    w = ex.large.windows(answers, epsilon)
    table, prior = joint(w), exact_prior(w)
    assert all(sum(row[x] for row in table.values()) == 1 for x in range(w.answers))
    top, ratio = Fraction(1), Fraction(1)
    for row in table.values():
        mean = sum(p * q for p, q in zip(prior, row, strict=True))
        if mean:
            top = max(top, max(row) / mean)
            ratio = math.inf if min(row) == 0 else max(ratio, max(row) / min(row))
    assert math.log(top) <= w.realised_epsilon * (1 + 1e-15) <= epsilon * (1 + 1e-15)
    assert math.log(ratio) == pytest.approx(w.ldp_epsilon, abs=1e-12)
    if w.prior is not None and w.prior.is_uniform and w.prime == w.answers:
        assert math.log(top) == pytest.approx(w.realised_epsilon, abs=1e-12)  # nothing is given away
    if w.prior is None:
        assert w.realised_epsilon == w.ldp_epsilon


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_is_less_than_half_a_nat_above_what_leaks_and_never_below(seed):
    """Over all windows of a prior with few answers, steep or flat."""
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.full(rng.integers(3, 24), rng.choice([0.2, 1.0, 3.0]))) + 1e-6
    w = ex.large.windows(ex.Prior(masses / masses.sum()), rng.uniform(0.1, 2.5))
    mass = np.append(w.prior.probabilities, np.zeros(w.prime - w.answers))
    numbers = (
        np.arange(w.prime)[:, None, None] + np.arange(1, w.prime)[:, None] * np.arange(w.size)
    ) % w.prime
    held = (numbers < w.answers).any(axis=2)
    least = float(mass[numbers].sum(axis=2)[held].min())
    leaked = math.log(w.inside / (w.outside + (w.inside - w.outside) * least))
    assert leaked - 1e-9 <= w.realised_epsilon <= leaked + 0.5


@pytest.mark.parametrize(("answers", "epsilon"), CASES)
def test_estimates_are_unbiased(answers, epsilon):
    """The mean over every report, with its probability, of the estimate that a single report gives is the truth."""
    w = ex.large.windows(answers, epsilon)
    table = joint(w)
    numbers = np.array([(step - 1) * w.prime + start for step, start in table])
    share = np.random.default_rng(1).dirichlet(np.ones(w.answers))
    chance = np.array([[float(q) for q in row] for row in table.values()]) @ share
    single = np.array([ex.large.estimate(w, [y]).estimates for y in numbers])
    np.testing.assert_allclose(chance @ single, share, atol=1e-12)
    own, other = w.supports
    rate = other + (own - other) * share
    np.testing.assert_allclose(
        chance @ (single - share) ** 2, rate * (1 - rate) / (own - other) ** 2, atol=1e-10
    )
    few = [w.labels[0], w.labels[1]]  # by another way: places of answers instead of members of sets
    np.testing.assert_allclose(
        ex.large.estimate(w, numbers, few).estimates, single.mean(axis=0)[:2], atol=1e-12
    )


@pytest.mark.parametrize(("answers", "epsilon"), CASES)
def test_every_place_has_as_many_words_as_it_weighs(answers, epsilon):
    places = ex.large.windows(answers, epsilon).places
    ends = np.cumsum([places.weight(j) for j in range(places.prime)], dtype=object)
    assert ends[-1] == TOTAL
    for j, end in enumerate(ends):
        if places.weight(j):
            words = np.array([4 * (end - places.weight(j)), 4 * (end - 1) + 3], dtype=np.uint64)
            assert places.draw(words).tolist() == [j, j]


def test_reports_come_out_as_often_as_they_should():
    w = ex.large.windows(SKEWED, 1.3)
    table = joint(w)
    n = 60_000
    for x, label in ((0, "a"), (5, "f")):
        seen = np.bincount(w.privatize([label] * n, source=SeededWords(x)), minlength=w.prime * (w.prime - 1))
        expected = n * np.array([float(row[x]) for row in table.values()])
        assert ((seen - expected) ** 2 / np.maximum(expected, 1e-9)).sum() < len(expected) + 6 * math.sqrt(
            2 * len(expected)
        )
        assert not seen[expected == 0].any()


@pytest.mark.filterwarnings("ignore::extremal.draw.order.OrderWarning")
def test_the_step_knows_nothing_of_the_answer():
    """Keyed draws are where it could: the same person's step is the same, whatever the answer is."""
    w = ex.large.windows(50, 1.0)
    draws = {"keyed": ex.Keyed(bytes(range(32)), list(range(3000)))}
    one, other = (w.privatize(np.full(3000, x), column="q", **draws) for x in (3, 44))
    assert (one // w.prime == other // w.prime).all()
    same = np.mean((one - 3) % w.prime == (other - 44) % w.prime)  # nor do the places of two answers agree
    assert same < 3 / w.prime
    assert (one == w.privatize(np.full(3000, 3), column="q", **draws)).all()
    again = w.privatize(np.full(3000, 3), column="r", **draws)
    assert np.mean(again // w.prime == one // w.prime) < 0.1
    with pytest.raises(KeyingError):
        w.privatize([1, 2], keyed=ex.Keyed(bytes(range(32)), [1, 1]), column="q")


def test_whoever_chooses_the_step_by_the_answer_is_found_out():
    prior = ex.Prior.uniform(5)
    w = ex.large.windows(prior, 0.5)
    x = np.random.default_rng(0).integers(0, 5, 20_000)
    y = w.privatize(x, source=SeededWords(7))
    assert not ex.audit_pairs(x, y, epsilon=0.5, prior=prior).violation
    cheated = np.where(x == 0, y % w.prime, y)  # always the step 1
    assert ex.audit_pairs(x, cheated, epsilon=0.5, prior=prior).violation
    assert not ex.audit_pairs(
        x, y % w.prime, epsilon=0.5, prior=prior
    ).violation  # the start alone would not show it


def test_the_file_and_the_page_are_enough_to_draw():
    """By the words of the page on the file format, without the library's drawing."""
    for w in (ex.large.windows(SKEWED, 1.3), ex.large.windows(23, 2.0)):
        d = json.loads(w.to_json())
        p, size, inside, outside = d["prime"], d["size"], int(d["inside"]), int(d["outside"])
        extra = 2**62 - size * inside - (p - size) * outside
        weights = [inside + (j < extra) if j < size else outside for j in range(p)]
        steps, words = (np.random.default_rng(k).integers(0, 2**64, 50, dtype=np.uint64) for k in (1, 2))
        for x in (0, w.answers - 1):
            expected = []
            for u, v in zip(steps.tolist(), words.tolist(), strict=True):
                step, left, j = 1 + u % (p - 1), v >> 2, 0
                while left >= weights[j]:
                    left, j = left - weights[j], j + 1
                expected.append((step - 1) * p + (x - j * step) % p)
            assert w.places.report(np.full(50, x), steps, words).tolist() == expected


def test_the_error_is_that_of_subset_selection():
    """4 e^eps / (e^eps - 1)^2 for each share in the limit of many answers (Ye and Barg), which nobody improves on."""
    w = ex.large.windows(22_000, 5.0)
    assert w.squared_error == pytest.approx(4 * math.exp(5) / (math.exp(5) - 1) ** 2, rel=5e-3)
    prior = ex.Prior(1 / np.arange(1, 22_001) / np.sum(1 / np.arange(1, 22_001)))
    known = ex.large.windows(prior, 5.0)
    assert known.squared_error < w.squared_error
    assert known.realised_epsilon <= 5.0 < known.ldp_epsilon
    assert ex.large.windows(ex.Prior.uniform(22_000), 5.0).squared_error < w.squared_error / 3.5


def test_a_file_says_all_and_is_proved_anew(tmp_path):
    for w in (ex.large.windows(SKEWED, 1.3), ex.large.windows(1000, 2.0)):
        w.save(tmp_path / "w.json")
        assert ex.large.load(tmp_path / "w.json") == w
        document = json.loads(w.to_json())
        for change in (
            {"epsilon": "0.1"},
            {"inside": str(w.inside + 1)},
            {"outside": "0"},
            {"prime": w.prime + 1},
            {"size": w.size + 1},
            {"digest": "0" * 64},
            {"answers": w.answers - 1},
            {"more": 1},
            {"version": 2},
        ):
            with pytest.raises(FormatError):
                ex.large.Windows.from_json(json.dumps(document | change))
    with refused(CertificationError, "windows"):
        ex.large.Windows(None, 5, 0.1, 5, 1, TOTAL // 2, TOTAL // 8)


def test_what_is_no_answer_no_report_or_no_level_is_refused():
    w = ex.large.windows(100, 1.0)
    for values in ([100], [-1], ["a"], np.zeros((2, 2), dtype=int), [0.5]):
        with pytest.raises(ValuesError):
            w.privatize(values)
    with refused(ValuesError, "first 'z'"):
        ex.large.windows(SKEWED, 1.0).privatize(["a", "z"])
    for reports in ([], [-1], [w.prime * (w.prime - 1)], ["x"], [1.5]):
        with pytest.raises(ValuesError):
            ex.large.estimate(w, reports)
    assert ex.large.estimate(w, ["17", "4"], [3]).estimates.shape == (1,)
    with refused(ValuesError, "labels"):
        ex.large.estimate(w, [1], [100])
    for answers in (1, 2.5, 1 << 40):
        with refused(OptionError, "answers"):
            ex.large.windows(answers, 1.0)
    with pytest.raises(EpsilonError):
        ex.large.windows(100, 0.0)
    with pytest.raises(OptionError):
        ex.large.estimate(w, [1], intervals="some")
    with pytest.warns(OrderWarning):
        w.privatize(np.arange(5000) // 50)


def test_groups_add_up():
    w = ex.large.windows(40, 1.0)
    x = np.random.default_rng(0).integers(0, 20, 4000)
    y = w.privatize(x, source=SeededWords(0))
    shares = ex.large.estimate(w, y, intervals="each")
    groups = ex.large.estimate_groups(w, y, {"low": range(20), "high": range(20, 40)})
    assert groups.estimates == pytest.approx([shares.estimates[:20].sum(), shares.estimates[20:].sum()])
    assert np.all((groups.lower <= [1.0, 0.0]) & (groups.upper >= [1.0, 0.0]))
    assert 0.02 < groups.standard_errors[0] < 0.2


@pytest.mark.parametrize("epsilon", [41.5, 50.0, 100.0, 1000.0])
def test_large_limits_give_exact_reports_and_no_error(epsilon):
    w = ex.large.windows(100, epsilon)
    assert w.supports.own > 1 - 1e-15
    assert w.ldp_epsilon <= epsilon


def wrong_guesses(w):
    """The chance that the best guess is wrong, without a report and with one, from every step and start."""
    prior, table = exact_prior(w), joint(w)
    given = [[p * q for p, q in zip(prior, row, strict=True)] for row in table.values()]
    return 1 - max(prior), sum(sum(row) - max(row) for row in given)


TOLD = [(2, 3.0), (5, 6.0), (ex.Prior.uniform(2), 0.7), (ex.Prior.uniform(7), 1.94), (SKEWED, 3.5)]


@pytest.mark.parametrize(("answers", "epsilon"), [*CASES, *TOLD, (SKEWED, 2.5), (5, 3.0)])
def test_windows_disclose_the_answers_where_a_tenth_of_the_doubt_is_left(answers, epsilon, monkeypatch):
    w = ex.large.windows(answers, epsilon)
    before, after = wrong_guesses(w)
    told = after <= before / 10
    assert w._doubt.disclosed == told
    assert w._doubt.before == pytest.approx(float(before))
    assert told == ((answers, epsilon) in TOLD)
    if told or w.size == 1:
        assert w._doubt.after == pytest.approx(float(after), rel=1e-9, abs=1e-17)
    else:
        assert w._doubt.after <= float(after) + 1e-12  # a bound, where that is enough
    some = ["a"] if answers is SKEWED else [0]
    if told:
        with refused(DisclosureError, "mechanism", "protects nobody"):
            w.privatize(some)
        assert "no protection" in repr(w)
    w.privatize(some, allow_true_answers=told)


def test_sets_of_several_disclose_answers_of_which_one_is_much_commoner():
    """Enumerated for sets that no search chooses: of each size, and with odds that leave others possible."""
    for size, outside in product(range(1, 5), (0, TOTAL // 1000)):
        prior = ex.Prior([0.9, 0.0985, 0.0005, 0.0005, 0.0005])
        inside = (TOTAL - outside * (5 - size)) // size
        w = ex.large.Windows(prior, 5, 20.0, 5, size, inside, outside)
        before, after = wrong_guesses(w)
        shares = prior.probabilities
        found = leakage._wrong(shares[leakage._order(5, 1)], size, inside / TOTAL, outside / TOTAL)
        other = leakage._wrong(shares[leakage._order(5, 2)], size, inside / TOTAL, outside / TOTAL)
        assert (found + other) / 2 == pytest.approx(float(after), rel=1e-9, abs=1e-15)
        assert w._doubt.disclosed == (after <= before / 10)


def test_of_many_answers_some_steps_are_enough(monkeypatch):
    """Of 2000 steps a quarter is looked at."""
    monkeypatch.setattr(leakage, "CELLS", 500 * 4001)
    masses = 1 / np.arange(1, 3999.0) ** 3
    shares, prime, inside = masses / masses.sum(), 4001, 0.33
    outside = (1 - 3 * inside) / (prime - 3)
    padded = np.concatenate([shares, np.zeros(prime - len(shares))])
    every = [
        leakage._wrong(padded[leakage._order(prime, step)], 3, inside, outside)
        for step in range(1, (prime + 1) // 2)
    ]
    assert len(leakage._steps(prime, 3)) == 500
    found = leakage.doubt_of_windows(shares, len(shares), prime, 3, inside, outside)
    assert found.disclosed
    assert abs(found.after - np.mean(every)) < 3 * np.std(every) / math.sqrt(500)  # as by chance


@pytest.mark.parametrize(
    "epsilon", [pytest.param(0.01, marks=pytest.mark.slow), 1.0, pytest.param(7.0, marks=pytest.mark.slow)]
)
def test_a_search_in_two_steps_finds_the_best_size_of_sets(epsilon, monkeypatch):
    """All sizes at once would take 14 GB for hundreds of millions of answers."""
    rare = ex.Prior(np.arange(1, 20_004) / np.arange(1, 20_004).sum())
    every = [ex.large.windows(answers, epsilon) for answers in (20_003, ex.Prior.uniform(20_003), rare)]
    monkeypatch.setattr(theory, "MOST_SIZES", 500)
    for best in every:
        found = ex.large.windows(best.prior or best.answers, epsilon)
        assert found.squared_error == pytest.approx(best.squared_error, rel=1e-6)


def test_masked_numbers_are_refused():
    with pytest.raises(ValuesError):
        ex.large.windows(100, 1.0).privatize(np.ma.masked_equal([1, 2], 2))


@pytest.mark.slow
def test_intervals_hold_in_simulations():
    w = ex.large.windows(200, 1.0)
    share = 1 / np.arange(1, 201) / np.sum(1 / np.arange(1, 201))
    rng, misses, alone = np.random.default_rng(0), 0, 0.0
    for k in range(300):
        y = w.privatize(rng.choice(200, 2000, p=share), source=SeededWords(k))
        e = ex.large.estimate(w, y, intervals="all")
        misses += not np.all((e.lower <= share) & (share <= e.upper))
        one = ex.large.estimate(w, y, [0], intervals="each")
        alone += one.lower[0] <= share[0] <= one.upper[0]
    assert misses <= 30
    assert alone / 300 >= 0.92
