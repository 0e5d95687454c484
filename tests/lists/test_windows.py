"""Windows: what leaves a device, the step and the start together, enumerated in fractions."""

from __future__ import annotations

import base64
import json
import math
import zlib
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import extremal as ex
from extremal.certification.integers import TOTAL
from extremal.draw.order import OrderWarning
from extremal.errors import (
    CertificationError,
    DisclosureError,
    EpsilonError,
    FormatError,
    KeyingError,
    OptionError,
    PriorError,
    ValuesError,
)
from extremal.estimation import windows as counting
from extremal.lists import steps as leakage
from extremal.lists import steps as theory
from extremal.lists import windows as packing
from extremal.lists.steps import Choice, Cosets, Progressions, next_prime
from extremal.lists.windows import _proved, draw_places, reports_of
from extremal.randomness import SeededWords
from tests.support.windows import weight
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


def generator(p):
    """The least number with p - 1 different powers, by making them."""
    return next(g for g in range(1, p) if len({pow(g, k, p) for k in range(p - 1)}) == p - 1)


def laid_out(w, step):
    """The number at each place of a step, as the page on the file format says."""
    p, e, g = w.prime, w.steps, generator(w.prime)
    order = (p - 1) // e
    return [pow(g, step + c + e * t, p) for c in range(e) for t in range(order)] + [0]


def joint(w):
    """P(step, start | x) for every report and every answer, from the integers alone."""
    table = {}
    for step in range(w.steps):
        place = {number: j for j, number in enumerate(laid_out(w, step))}
        for start in range(w.prime):
            places = [place[(x - start) % w.prime] for x in range(w.answers)]
            table[step, start] = [Fraction(weight(w, j), TOTAL * w.steps) for j in places]
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
    first = np.array([laid_out(w, step)[: w.size] for step in range(w.steps)])
    numbers = (np.arange(w.prime)[:, None, None] + first) % w.prime
    held = (numbers < w.answers).any(axis=2)
    least = float(mass[numbers].sum(axis=2)[held].min())
    leaked = math.log(w.inside / (w.outside + (w.inside - w.outside) * least))
    assert leaked - 1e-9 <= w.realised_epsilon <= leaked + 0.5


@pytest.mark.parametrize(("answers", "epsilon"), CASES)
def test_estimates_are_unbiased(answers, epsilon):
    """The mean over every report, with its probability, of the estimate that a single report gives is the truth."""
    w = ex.large.windows(answers, epsilon)
    table = joint(w)
    numbers = np.array([step * w.prime + start for step, start in table])
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
    w = ex.large.windows(answers, epsilon)
    ends = np.cumsum([weight(w, j) for j in range(w.layout.prime)], dtype=object)
    assert ends[-1] == TOTAL
    for j, end in enumerate(ends):
        if weight(w, j):
            words = np.array([4 * (end - weight(w, j)), 4 * (end - 1) + 3], dtype=np.uint64)
            assert draw_places(w, words).tolist() == [j, j]


def test_reports_come_out_as_often_as_they_should():
    w = ex.large.windows(SKEWED, 1.3)
    table = joint(w)
    n = 60_000
    for x, label in ((0, "a"), (5, "f")):
        seen = np.bincount(w.privatize([label] * n, source=SeededWords(x)), minlength=w.prime * w.steps)
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
    assert np.mean((one - 3) % w.prime == (other - 44) % w.prime) < 3 / w.prime  # nor do the places agree
    assert (one == w.privatize(np.full(3000, 3), column="q", **draws)).all()
    again = w.privatize(np.full(3000, 3), column="r", **draws)
    assert abs(np.mean(again // w.prime == one // w.prime) - 1 / w.steps) < 0.05
    with pytest.raises(KeyingError):
        w.privatize([1, 2], keyed=ex.Keyed(bytes(range(32)), [1, 1]), column="q")


def test_whoever_chooses_the_step_by_the_answer_is_found_out():
    prior = ex.Prior.uniform(5)
    w = ex.large.windows(prior, 0.5)
    x = np.random.default_rng(0).integers(0, 5, 20_000)
    y = w.privatize(x, source=SeededWords(7))
    assert not ex.audit_pairs(x, y, epsilon=0.5, prior=prior).violation
    cheated = np.where(x == 0, y % w.prime, y)  # always the step 0
    assert ex.audit_pairs(x, cheated, epsilon=0.5, prior=prior).violation
    assert not ex.audit_pairs(
        x, y % w.prime, epsilon=0.5, prior=prior
    ).violation  # the start alone would not show it


def test_the_file_and_the_page_are_enough_to_draw():
    """By the words of the page on the file format, without the library's drawing."""
    for w in (ex.large.windows(SKEWED, 1.3), ex.large.windows(23, 2.0)):
        d = json.loads(w.to_json())
        p, size, inside, outside = d["prime"], d["size"], int(d["inside"]), int(d["outside"])
        e, g = d["steps"], generator(p)
        extra = 2**62 - size * inside - (p - size) * outside
        weights = [inside + (j < extra) if j < size else outside for j in range(p)]
        steps, words = (np.random.default_rng(k).integers(0, 2**64, 50, dtype=np.uint64) for k in (1, 2))
        for x in (0, w.answers - 1):
            expected = []
            for u, v in zip(steps.tolist(), words.tolist(), strict=True):
                step, left, j = u % e, v >> 2, 0
                while left >= weights[j]:
                    left, j = left - weights[j], j + 1
                c, t = divmod(j, (p - 1) // e)
                number = 0 if j == p - 1 else pow(g, step + c + e * t, p)
                expected.append(step * p + (x - number) % p)
            assert reports_of(w, np.full(50, x), steps, words).tolist() == expected


def test_the_error_is_that_of_subset_selection():
    """4 e^eps / (e^eps - 1)^2 for each share in the limit of many answers (Ye and Barg), which nobody improves on."""
    w = ex.large.windows(22_000, 5.0)
    assert w.squared_error == pytest.approx(4 * math.exp(5) / (math.exp(5) - 1) ** 2, rel=1e-2)
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
            {"version": 1},
            {"version": 3},
            {"steps": w.steps + 1},
            {"steps": None},
        ):
            with pytest.raises(FormatError):
                ex.large.Windows.from_json(json.dumps(document | change))
    with refused(CertificationError, "windows"):
        ex.large.Windows(None, 5, 0.1, 5, 1, TOTAL // 2, TOTAL // 8, 4)


def test_labels_need_no_prior(tmp_path, monkeypatch):
    towns = ["Łódź", "مكة", "O'Fallon", 7, ("a", 1), "\u2028"]
    w = ex.large.windows(towns, 1.0)
    assert w.labels == tuple(towns)
    w.save(tmp_path / "w.json")
    assert ex.large.load(tmp_path / "w.json") == w
    y = w.privatize(towns * 300, source=SeededWords(1))
    assert (w.digest == ex.large.windows(6, 1.0).digest) is False
    assert (y == ex.large.windows(6, 1.0).privatize(list(range(6)) * 300, source=SeededWords(1))).all()
    assert ex.large.estimate(w, y, ["مكة"]).estimates[0] == ex.large.estimate(w, y).estimates[1]
    document = json.loads(w.to_json())
    monkeypatch.setattr(packing, "LARGEST_TEXT", 1 << 16)  # as if these were 268 million characters
    bomb = base64.b64encode(zlib.compress(b" " * (packing.LARGEST_TEXT + 1))).decode()
    for labels in (towns[:4], None, document["labels"][:-8], document["labels"] + "AAAA", "é", bomb, 1):
        with pytest.raises(FormatError):
            ex.large.Windows.from_json(json.dumps(document | {"labels": labels}))
    with pytest.raises(PriorError):
        ex.large.windows(["a", "a"], 1.0)


def test_what_is_no_answer_no_report_or_no_level_is_refused():
    w = ex.large.windows(100, 1.0)
    for values in ([100], [-1], ["a"], np.zeros((2, 2), dtype=int), [0.5]):
        with pytest.raises(ValuesError):
            w.privatize(values)
    with refused(ValuesError, "first in record 2"):
        ex.large.windows(SKEWED, 1.0).privatize(["a", "z"])
    for reports in ([], [-1], [w.prime * w.steps], ["x"], [1.5]):
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


def test_reports_of_another_list_are_noticed_by_their_steps_and_no_others_are():
    small, large = ex.large.windows(60, 1.0), ex.large.windows(300, 1.0)
    mine, other = (w.privatize(np.arange(60).repeat(20) % 7, source=SeededWords(1)) for w in (large, small))
    assert other.max() < large.prime  # all would be of the first step
    for reports in (other, np.concatenate([mine, other])):
        assert ex.large.estimate(large, reports).warning
        assert ex.large.estimate(large, reports, [3]).warning
    for w in (small, large, ex.large.windows(2, 0.5), ex.large.windows(2000, 7.0)):
        for n in (1, 2, 3, 30, 3000):
            answers = np.random.default_rng(n).integers(0, w.answers, n)
            assert not ex.large.estimate(w, w.privatize(answers, source=SeededWords(n))).warning


def test_an_error_shows_the_reports_that_are_none():
    w = ex.large.windows(60, 1.0)
    for wrong in (w.reports, -1):
        with refused(ValuesError, str(wrong)):
            ex.large.estimate(w, [1, 2, 3, 4, wrong])


def test_groups_add_up():
    w = ex.large.windows(40, 1.0)
    x = np.random.default_rng(0).integers(0, 20, 4000)
    y = w.privatize(x, source=SeededWords(0))
    shares = ex.large.estimate(w, y, intervals="each")
    groups = ex.large.estimate_groups(w, y, {"low": range(20), "high": range(20, 40)})
    # The shares of all codes add up to 1, those of codes that are no answer are 0: each group gives back its part.
    spare = 1 - shares.estimates.sum()
    expected = [part.sum() + spare / 2 for part in (shares.estimates[:20], shares.estimates[20:])]
    assert groups.estimates == pytest.approx(expected)
    assert sum(groups.estimates) == pytest.approx(1)
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
    assert w.doubt.disclosed == told
    assert w.doubt.before == pytest.approx(float(before))
    assert told == ((answers, epsilon) in TOLD)
    if told or w.size == 1:
        assert w.doubt.after == pytest.approx(float(after), rel=1e-9, abs=1e-17)
    else:
        assert w.doubt.after <= float(after) + 1e-12  # a bound, where that is enough
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
        w = ex.large.Windows(prior, 5, 20.0, 5, size, inside, outside, 4)
        before, after = wrong_guesses(w)
        found = [
            leakage._wrong(prior.probabilities, w.layout, step, size, inside / TOTAL, outside / TOTAL)
            for step in range(4)
        ]
        assert np.mean(found) == pytest.approx(float(after), rel=1e-9, abs=1e-15)
        assert w.doubt.disclosed == (after <= before / 10)


def test_of_many_answers_some_steps_are_enough(monkeypatch):
    masses = 1 / np.arange(1, 305.0) ** 3
    shares, layout, inside = masses / masses.sum(), Cosets(307, 306), 0.33
    outside = (1 - 3 * inside) / (307 - 3)
    monkeypatch.setattr(leakage, "CELLS", 100 * 307 * math.log(307))
    assert len(set(leakage._steps(layout, 3))) == 100
    every = [leakage._wrong(shares, layout, step, 3, inside, outside) for step in range(306)]
    found = leakage.doubt_of_windows(shares, len(shares), layout, 3, inside, outside)
    assert found.disclosed
    assert abs(found.after - np.mean(every)) < 3 * np.std(every) / math.sqrt(100)  # as by chance


@pytest.mark.parametrize(
    "epsilon", [pytest.param(0.01, marks=pytest.mark.slow), 1.0, pytest.param(7.0, marks=pytest.mark.slow)]
)
def test_a_search_in_two_steps_finds_the_best_size_of_sets(epsilon, monkeypatch):
    """All sizes at once would take much memory for many millions of answers."""
    rare = ex.Prior(np.arange(1, 20_004) / np.arange(1, 20_004).sum())
    every = [ex.large.windows(answers, epsilon) for answers in (20_003, ex.Prior.uniform(20_003), rare)]
    monkeypatch.setattr(theory, "MOST_SIZES", 500)
    for best in every:
        found = ex.large.windows(best.prior or best.answers, epsilon)
        assert found.squared_error == pytest.approx(best.squared_error, rel=1e-6)


def test_masked_numbers_are_refused():
    with pytest.raises(ValuesError):
        ex.large.windows(100, 1.0).privatize(np.ma.masked_equal([1, 2], 2))


OLD = (
    '{"format": "extremal-windows", "version": 1, "epsilon": "1.3", "answers": 6, "labels": ["a", "b", "c", "d", "e", '
    '"f"], "prior": ["0.4", "0.3", "0.12", "0.1", "0.05", "0.03"], "prime": 7, "size": 2, "inside": '
    '"1418908764726875872", "outside": "354773697794727232", "digest": '
    '"ce268b3a87965065c13264d4ed47bb6fdd268e97b995f6d45b3279b01ebe7fba"}'
)


def test_files_of_the_first_version_draw_and_estimate_as_they_did():
    """Reports and estimates of the release that wrote the file."""
    w = ex.large.Windows.from_json(OLD)
    assert json.loads(w.to_json()) == json.loads(OLD)
    keyed = ex.Keyed(bytes(range(32)), list(range(12)))
    y = w.privatize(list("abcdef") * 2, keyed=keyed, column="q")
    assert y.tolist() == [26, 31, 29, 40, 41, 4, 4, 9, 38, 24, 36, 7]
    expected = [0.049991259, 0.049991259, 0.266678321, 0.049991259, 0.266678321, 0.483365383]
    assert ex.large.estimate(w, y).estimates == pytest.approx(expected, abs=1e-8)
    groups = ex.large.estimate_groups(w, y, {"x": ["a", "b"]})
    assert groups.estimates == pytest.approx([sum(expected[:2]) + (1 - sum(expected)) / 3], abs=1e-8)


@pytest.mark.parametrize(
    ("prime", "steps"), [(2, 1), (3, 1), (3, 2), (7, 3), (13, 4), (31, 6), (31, 30), (37, 9)]
)
def test_every_two_numbers_are_in_the_same_number_of_sets(prime, steps):
    layout = Cosets(prime, steps)
    for cosets in range(1, steps):
        size = cosets * (prime - 1) // steps
        together = np.zeros((prime, prime), dtype=int)
        for step, start in product(range(steps), range(prime)):
            members = (layout.numbers(step, np.arange(size)) + start) % prime
            together[np.ix_(members, members)] += 1
        assert (together[~np.eye(prime, dtype=bool)] == steps * size * (size - 1) // (prime - 1)).all()
        assert (np.diagonal(together) == steps * size).all()


@pytest.mark.parametrize("layout", [Cosets(31, 6), Cosets(31, 30), Progressions(31)])
def test_a_place_holds_one_number_and_a_number_has_one_place(layout):
    for step in range(layout.steps):
        numbers = layout.numbers(step, np.arange(31))
        assert sorted(numbers.tolist()) == list(range(31))
        assert layout.places(step, numbers).tolist() == list(range(31))


@pytest.mark.parametrize(
    ("layout", "size"), [(Cosets(61, 4), 30), (Cosets(61, 60), 7), (Progressions(61), 11), (Cosets(2, 1), 1)]
)
@pytest.mark.parametrize("cost", [0.0, math.inf])
@pytest.mark.parametrize("uneven", [False, True])
def test_all_ways_of_counting_agree_with_sets(layout, size, cost, uneven, monkeypatch):
    """Whatever is faster on this machine: convolutions, members of sets, places of answers; in pieces or at once.

    Whether steps have equally many reports, or one has nearly all and most have none.
    """
    monkeypatch.setattr(counting, "CONVOLVED", cost)
    monkeypatch.setattr(counting, "CELLS", 100)
    rng = np.random.default_rng(size)
    starts, steps = rng.integers(0, layout.prime, 500), rng.integers(0, layout.steps, 500)
    if uneven:
        steps = np.where(rng.random(500) < 0.99, layout.steps - 1, steps)
    sets = [
        {(s + int(x)) % layout.prime for x in layout.numbers(i, np.arange(size))}
        for s, i in zip(starts.tolist(), steps.tolist(), strict=True)
    ]
    expected = [sum(z in s for s in sets) for z in range(layout.prime)]
    group = set(range(0, layout.prime, 3))
    member = np.array([float(z in group) for z in range(layout.prime)])
    reports = counting.Reports(layout, size, starts, steps)
    for grouped in (0, math.inf):
        monkeypatch.setattr(counting, "GROUPED", grouped)
        assert reports.held().tolist() == expected
        few = np.arange(min(3, size))
        assert reports.held(few).tolist() == expected[: len(few)]
        assert reports.members_held(member).tolist() == [len(s & group) for s in sets]


@pytest.mark.parametrize(("answers", "epsilon"), [(2000, 0.3), (2000, 3.0), (22_000, 5.0), (50_000, 7.0)])
def test_few_steps_cost_hardly_any_error(answers, epsilon):
    """Against sets of the best size with all steps of the next prime; a convolution for each step is affordable."""
    w = ex.large.windows(answers, epsilon)
    prime = next_prime(answers)
    odds, sizes = math.exp(epsilon), np.arange(1, prime)
    own = odds * sizes / (odds * sizes + prime - sizes)
    other = (sizes - own) / (prime - 1)
    best = ((own * (1 - own) + (answers - 1) * other * (1 - other)) / (own - other) ** 2)[own > other].min()
    own, other = w.supports
    mine = (own * (1 - own) + (answers - 1) * other * (1 - other)) / (own - other) ** 2
    assert mine <= 1.006 * best
    assert w.steps <= 2 * math.exp(epsilon) + 4


@pytest.mark.parametrize(("answers", "epsilon"), [(97, 1.0), (197, 3.0)])
def test_no_group_errs_more_than_with_all_steps(answers, epsilon):
    """Bias included, from every report with its probability; each report tells its share of the mean by itself."""
    few = ex.large.windows(answers, epsilon)
    prime = next_prime(answers)
    size = theory._best_size(None, answers, prime, epsilon)
    every = _proved(None, None, answers, epsilon, Choice(prime, prime - 1, size, math.exp(epsilon)))
    assert few.steps < 25 < every.steps
    flat = np.full(answers, 0.5 / answers)
    one, some = flat.copy(), flat.copy()
    one[7] += 0.5
    some[3:13] += 0.05
    first = few.layout.numbers(0, np.arange(few.size))
    groups = {
        "one": [7],
        "run": range(2, 22),
        "common": range(3, 13),
        "third": range(0, answers, 3),
        "set": [x for x in first.tolist() if x < answers],
        "most": range(9, answers),
    }
    errors = []
    for w in (few, every):
        y = np.arange(w.prime * w.steps)
        step, start = np.divmod(y, w.prime)
        held = np.array([w.layout.places(step, (x - start) % w.prime) < w.size for x in range(answers)])
        told = []
        for labels in groups.values():
            kinds = held[list(labels)].sum(axis=0), w.size - held.sum(axis=0)
            single = {}
            for k, kind in enumerate(zip(*map(np.ndarray.tolist, kinds), strict=True)):
                if kind not in single:
                    single[kind] = ex.large.estimate_groups(w, [k], {"g": labels}).estimates[0]
            told.append([single[kind] for kind in zip(*map(np.ndarray.tolist, kinds), strict=True)])
        chance = np.where(held, w.inside, w.outside) / TOTAL / w.steps
        for share in (2 * flat, one, some):
            truth = [share[list(labels)].sum() for labels in groups.values()]
            p = share @ chance
            assert np.array(told) @ p == pytest.approx(truth, abs=1e-9)
            errors.append((np.array(told) - np.array(truth)[:, None]) ** 2 @ p)
    for mine, best in zip(errors[:3], errors[3:], strict=True):
        assert (mine / best).max() <= 1.05


@pytest.mark.slow
@pytest.mark.parametrize("common", ["one", "neighbours", "none"])
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_the_error_is_as_promised_whatever_is_common(common, epsilon):
    """Bias included, of every answer and of groups: one answer at 50 %, ten neighbours at 5 % each, all alike."""
    k, n, times = 1009, 10_000, 60
    share = np.full(k, 1 / k)
    if common != "none":
        share = np.full(k, 0.5 / k)
        share[3 : (4 if common == "one" else 13)] += 0.5 if common == "one" else 0.05
    w = ex.large.windows(k, epsilon)
    rng, errors, grouped = np.random.default_rng(5), np.zeros(k), 0.0
    group = range(2, 40)
    for seed in range(times):
        y = w.privatize(rng.choice(k, n, p=share), source=SeededWords(seed))
        errors += (ex.large.estimate(w, y).estimates - share) ** 2
        found = ex.large.estimate_groups(w, y, {"g": group})
        grouped += ((found.estimates[0] - share[2:40].sum()) / found.standard_errors[0]) ** 2
    own, other = w.supports
    rate = other + (own - other) * share
    ratio = errors / times / (rate * (1 - rate) / n / (own - other) ** 2)
    assert abs(ratio.mean() - 1) < 0.05
    assert ratio.max() < 1 + 6 * math.sqrt(2 / times)  # as far as chance goes
    assert abs(grouped / times - 1) < 5 * math.sqrt(2 / times)


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


@pytest.mark.slow
def test_ten_million_answers_are_counted_and_more_than_two_to_the_24_refused():
    n = 10_000_000
    w = ex.large.windows(n, 2.0)
    x = np.where(np.arange(200_000) % 4 == 0, 7, np.random.default_rng(0).integers(0, n, 200_000))
    rng = np.random.default_rng(1)
    y = w.privatize(rng.permutation(x), source=SeededWords(1))
    found = ex.large.estimate(w, y)
    assert len(found) == n
    assert found.lower[7] <= 0.25 <= found.upper[7]
    assert (
        ex.large.estimate(ex.large.Windows.from_json(w.to_json()), y, [7]).estimates[0] == found.estimates[7]
    )
    with refused(OptionError, "answers"):
        ex.large.windows((1 << 24) + 1, 2.0)
