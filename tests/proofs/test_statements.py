"""Theorems of proofs/ in examples: what the library computes, against going through all cases in fractions.

Each is about a theorem that no test elsewhere connects to a function of the library: the page names them.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import extremal as ex
from extremal.certification.certify import certify
from extremal.certification.prior_sets import all_sets
from extremal.certification.proof import column_runs, largest_lift, set_masses
from extremal.model.adversary import Attribute, GainAdversary, posterior
from extremal.model.evidence import Bounds
from tests.support.exact_levels import exp_bounds
from tests.support.mechanism_files import CASES

SEEDS = range(20)


def some_counts(rng, *shape):
    """Whole numbers, zeros among them, but not nothing in a row."""
    counts = rng.integers(0, 6, size=shape)
    counts[..., 0] += 1
    return counts.tolist()


def shares(counts):
    """Row by row, divided by the sum."""
    return [[Fraction(k, sum(row)) for k in row] for row in counts]


def some_case(rng, n=3, m=3):
    """A prior and a mechanism, in fractions and as the library has them."""
    pi = [Fraction(int(k) + 1, 1) for k in rng.integers(0, 8, size=n)]
    pi = [p / sum(pi) for p in pi]
    P = shares(some_counts(rng, n, m))
    return pi, P, ex.Prior([float(p) for p in pi]), mechanism_of(P)


def mechanism_of(P):
    return ex.Mechanism([[float(p) for p in row] for row in P])


def mass(pi, column):
    return sum(p * w for p, w in zip(pi, column, strict=True))


def columns(P):
    return list(zip(*P, strict=True))


def after(pi, column):
    """The posterior, by Bayes' rule."""
    return [p * w / mass(pi, column) for p, w in zip(pi, column, strict=True)]


def lift(pi, column):
    return max(column) / mass(pi, column)


def best(pi, gain):
    """What the best guess gains."""
    return max(mass(pi, column) for column in columns(gain))


# The promise


@pytest.mark.parametrize("seed", SEEDS)
def test_an_attribute_is_guessed_as_often_as_going_through_all_cases_says(seed):
    rng = np.random.default_rng(seed)
    pi, P, prior, mechanism = some_case(rng)
    k = shares(some_counts(rng, 3, 4))
    attribute = Attribute([[float(p) for p in row] for row in k])
    for y in range(3):
        cases = {(x, u): pi[x] * k[x][u] * P[x][y] for x in range(3) for u in range(4)}
        if any(cases.values()):
            right = max(sum(cases[x, u] for x in range(3)) for u in range(4)) / sum(cases.values())
            assert attribute.posterior_gain(prior, mechanism, y) == pytest.approx(float(right), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_who_rolls_dice_gains_no_more_than_the_best_guess_and_a_guess_is_a_die(seed):
    rng = np.random.default_rng(seed)
    pi, _, prior, _ = some_case(rng)
    gain = rng.integers(0, 9, size=(3, 4)) + np.eye(3, 4, dtype=int)
    most = GainAdversary(gain).prior_gain(prior)
    each = [mass(pi, column) for column in columns(gain.tolist())]
    for dice in shares(some_counts(rng, 30, 4)):
        assert float(mass(dice, each)) <= most + 1e-12
    assert max(mass(die, each) for die in np.eye(4, dtype=int).tolist()) == pytest.approx(most)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_attribute_that_cuts_answers_into_equal_parts_attains_every_lift(seed):
    """Answer x has the probability n(x) / d: cut into n(x) parts, each part is guessed with 1 / d before."""
    rng = np.random.default_rng(seed)
    n = (rng.integers(1, 7, size=3)).tolist()
    pi, P = [Fraction(k, sum(n)) for k in n], shares(some_counts(rng, 3, 4))
    channel = np.zeros((3, sum(n)))
    for x, (start, stop) in enumerate(itertools.pairwise([0, *itertools.accumulate(n)])):
        channel[x, start:stop] = 1 / n[x]
    prior, mechanism = ex.Prior([float(p) for p in pi]), mechanism_of(P)
    assert Attribute(channel).prior_gain(prior) == pytest.approx(1 / sum(n))
    for y, column in enumerate(columns(P)):
        if any(column):
            expected = math.log(lift(pi, column))
            assert Attribute(channel).leakage(prior, mechanism, y) == pytest.approx(expected, abs=1e-12)


# Sets of priors

GRID = 16  # every number of a set is so many parts of 1


def some_set(rng):
    """Center, lower, upper and half of the radius in parts, and all members on the grid; vertices are among them."""
    center = (rng.multinomial(GRID - 3, [1 / 3] * 3) + 1).tolist()
    lower = [int(rng.integers(0, c + 1)) for c in center]
    upper = [int(rng.integers(c, GRID + 1)) for c in center]
    half = int(rng.integers(0, GRID + 1))
    members = [
        pi
        for pi in itertools.product(*(range(a, b + 1) for a, b in zip(lower, upper, strict=True)))
        if sum(pi) == GRID and sum(abs(a - b) for a, b in zip(pi, center, strict=True)) <= 2 * half
    ]
    return [np.array(part) / GRID for part in (center, lower, upper)], half / GRID, members


@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_probability_of_a_set_of_answers_is_that_of_its_best_member(seed):
    bounds, half, members = some_set(np.random.default_rng(seed))
    rows, sets = all_sets(Bounds(*bounds, 2 * half))
    for row, h in zip(rows.astype(int).tolist(), sets.h.tolist(), strict=True):
        assert h == min(mass(pi, row) for pi in members) / GRID


@pytest.mark.parametrize("seed", SEEDS)
def test_the_largest_lift_over_a_set_is_that_of_its_worst_member(seed):
    """No more is asked for than every prior of the set needs: each answer is possible under its center."""
    rng = np.random.default_rng(seed)
    bounds, half, members = some_set(rng)
    weights = np.array(some_counts(rng, 3, 4), dtype=np.uint64)
    masses = set_masses(*(part.tolist() for part in bounds), 2 * half)
    found = largest_lift(masses, column_runs(weights))
    means = [(max(column), min(mass(pi, column) for pi in members)) for column in weights.T.tolist()]
    if all(mean for most, mean in means if most):
        worst = max(Fraction(most * GRID, mean) for most, mean in means if most)
        assert Fraction(found.numerator, found.denominator) == max(worst, 1)
    else:
        assert found.denominator == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_proved_for_doubles_is_a_set_that_holds_its_center(seed):
    rng = np.random.default_rng(seed)
    center = rng.dirichlet(np.ones(3)).tolist()  # its exact sum is 1 only by chance
    lower, upper = [x * rng.random() for x in center], [x + (1 - x) * rng.random() for x in center]
    masses = set_masses(center, lower, upper, float(rng.uniform(0, 2)))
    assert masses.center[-1] == masses.total
    for sums in (masses.center, masses.up, masses.down):
        assert all(a <= b for a, b in itertools.pairwise(sums))
    share = [Fraction(b - a, masses.total) for a, b in itertools.pairwise(masses.center)]
    down = [Fraction(b - a, masses.total) for a, b in itertools.pairwise(masses.down)]
    up = [Fraction(b - a, masses.total) for a, b in itertools.pairwise(masses.up)]
    assert all(x - d <= Fraction(l) for x, d, l in zip(share, down, lower, strict=True))
    assert all(x + u >= Fraction(h) for x, u, h in zip(share, up, upper, strict=True))
    assert all(d <= x for x, d in zip(share, down, strict=True))


# Processing, mixtures, several reports, adaptive choice


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mechanism_drawn_at_random_leaks_no_more_than_the_worst_whether_or_not_it_is_shown(seed):
    rng = np.random.default_rng(seed)
    pi, P, prior, one = some_case(rng)
    Q = shares(some_counts(rng, 3, 3))
    (t,) = shares([[1, int(rng.integers(1, 9))]])
    mixed = [[t[0] * p + t[1] * q for p, q in zip(*rows, strict=True)] for rows in zip(P, Q, strict=True)]
    shown = [[t[0] * p for p in row] + [t[1] * q for q in other] for row, other in zip(P, Q, strict=True)]
    each = [ex.pml(prior, one), ex.pml(prior, mechanism_of(Q))]
    for leakage, matrix in ((ex.pml(prior, mechanism_of(mixed)), mixed), (np.concatenate(each), shown)):
        exact = [math.log(lift(pi, column)) if any(column) else 0.0 for column in columns(matrix)]
        assert leakage == pytest.approx(exact, abs=1e-12)
    assert (ex.pml(prior, mechanism_of(mixed)) <= np.max(each, axis=0) + 1e-12).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_after_a_second_report_the_prior_is_what_the_first_has_left(seed):
    rng = np.random.default_rng(seed)
    pi, P, prior, one = some_case(rng)
    Q = shares(some_counts(rng, 3, 2))
    both = ex.composition.joint_release(one, mechanism_of(Q))
    for (y, first), (z, second) in itertools.product(enumerate(columns(P)), enumerate(columns(Q))):
        if mass(pi, [p * q for p, q in zip(first, second, strict=True)]):
            twice = [float(p) for p in after(after(pi, first), second)]
            assert posterior(prior, both, (y, z)) == pytest.approx(twice, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_guess_gains_more_after_both_reports_than_the_composition_says(seed):
    rng = np.random.default_rng(seed)
    pi, P, prior, one = some_case(rng)
    Q = shares(some_counts(rng, 3, 2))
    most = math.exp(ex.composition.compose_releases(prior, one, mechanism_of(Q)).epsilon)
    gains = [
        *rng.integers(0, 9, size=(20, 3, 3)).tolist(),
        [[1 / p if x == u else 0 for u in range(3)] for x, p in enumerate(pi)],
    ]
    found = []
    for first, second, gain in itertools.product(columns(P), columns(Q), gains):
        joint = [p * q for p, q in zip(first, second, strict=True)]
        if mass(pi, joint) and best(pi, gain):
            found.append(float(best(after(pi, joint), gain) / best(pi, gain)))
    assert max(found) == pytest.approx(most, rel=1e-11)  # the last gain attains it


@pytest.mark.parametrize("seed", SEEDS)
def test_no_guess_gains_more_after_three_reports_than_the_composition_says(seed):
    rng = np.random.default_rng(seed)
    pi, P, prior, one = some_case(rng)
    Q, S = shares(some_counts(rng, 3, 2)), shares(some_counts(rng, 3, 2))
    together = ex.composition.compose_releases(prior, one, mechanism_of(Q), mechanism_of(S))
    joint = ex.composition.joint_release(one, mechanism_of(Q), mechanism_of(S))
    lists = [
        [math.prod(chances) for chances in zip(*some, strict=True)]
        for some in itertools.product(columns(P), columns(Q), columns(S))
    ]
    assert [sum(row) for row in zip(*lists, strict=True)] == [1, 1, 1]
    np.testing.assert_allclose(joint.matrix, np.array(lists, dtype=float).T, atol=1e-14)
    gains = rng.integers(0, 9, size=(20, 3, 3)).tolist()
    gains.append([[1 / p if x == u else 0 for u in range(3)] for x, p in enumerate(pi)])
    found = [
        float(best(after(pi, column), gain) / best(pi, gain))
        for column, gain in itertools.product(lists, gains)
        if any(column) and best(pi, gain)
    ]
    assert max(found) == pytest.approx(math.exp(together.epsilon), rel=1e-11)  # the last gain attains it


@pytest.fixture(scope="module")
def world():
    """Three people are asked one after another. What is published of the first two decides what the last is asked.

    The first answer through a certified mechanism, and so does the second. From both reports a set of priors follows,
    and a mechanism that is certified for it. One more person answers afterwards, by a mechanism that the last report
    chooses. Returns all that can be chosen, with the exact probabilities of reports.
    """
    prior = ex.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    first = certify(prior, ex.theory.randomized_response_for_pml(prior, 0.7), 0.7)
    chosen = {}
    for seen in itertools.product(first.outputs, repeat=2):
        counts = {label: seen.count(label) for label in first.outputs}
        priors = ex.PriorSet.from_reports(first, counts, confidence=0.3, valid="fixed")
        chosen[seen] = (priors, ex.certify(ex.design(priors, 0.4)))
    later = [
        certify(prior, ex.theory.randomized_response_for_pml(prior, level), level) for level in (0.2, 1.0)
    ]
    return first, chosen, later


def exact_rows(certified):
    return [[Fraction(w, 2**62) for w in row] for row in certified.weights.tolist()]


def published(world, others):
    """The probability of all that is published, (reports before, report, report after), given the answer x."""
    first, chosen, later = world
    P, after_ = exact_rows(first), [exact_rows(certified) for certified in later]
    found = [{}, {}, {}]
    for (j, k, l), chance in others.items():
        for (s, one), (t, other) in itertools.product(enumerate(first.outputs), repeat=2):
            before = chance * P[j][s] * P[k][t]
            rows = exact_rows(chosen[one, other][1])
            for x, y in itertools.product(range(3), range(len(rows[0]))):
                for a, share in enumerate(after_[y % 2][l]):
                    key = ((one, other), y, a)
                    found[x][key] = found[x].get(key, 0) + before * rows[x][y] * share
    return found


def test_all_that_is_published_under_adaptive_choice_keeps_the_level_where_the_set_holds_the_prior(world):
    """By going through everything that can happen: others' answers may depend on each other, but not on mine."""
    rng = np.random.default_rng(5)
    (chances,) = shares([(rng.integers(0, 5, size=27) + 1).tolist()])
    others = dict(zip(itertools.product(range(3), repeat=3), chances, strict=True))
    found = published(world, others)
    assert [sum(said.values()) for said in found] == [1, 1, 1]
    _, chosen, _ = world
    for seen in chosen:  # what comes before does not depend on my answer
        assert len({sum(p for key, p in said.items() if key[0] == seen) for said in found}) == 1
    below, _ = exp_bounds(0.4)
    held = set()
    for numbers in ([5, 3, 2], [8, 1, 1], [1, 1, 8], [98, 1, 1], [1, 98, 1]):
        pi = [Fraction(k, sum(numbers)) for k in numbers]
        gains = [[[1 / p if x == u else 0 for u in range(3)] for x, p in enumerate(pi)]]
        gains += rng.integers(0, 9, size=(5, 3, 4)).tolist()
        for key in found[0]:
            priors, _ = chosen[key[0]]
            holds = priors.contains([float(p) for p in pi])
            column = [said[key] for said in found]
            if holds and any(column):
                learned = after(pi, column)
                assert all(best(learned, gain) <= below * best(pi, gain) for gain in gains)
            held.add(holds)
    assert held == {True, False}


# The checker


@pytest.mark.parametrize("k", range(len(CASES)))
def test_no_guess_gains_more_than_a_loaded_file_says(k, tmp_path):
    CASES[k].save(tmp_path / "mechanism.json")
    loaded = ex.load(tmp_path / "mechanism.json")
    rng = np.random.default_rng(k)
    p = [Fraction(x) for x in loaded.prior.probabilities.tolist()]
    pi = [x / sum(p) for x in p]
    gains = [[[1 / q if x == u else 0 for u in range(len(pi))] for x, q in enumerate(pi)]]
    gains += (rng.integers(0, 9, size=(5, len(pi), 3)) + 1).tolist()
    below, _ = exp_bounds(loaded.epsilon)
    for column in loaded.weights.T.tolist():
        if any(column):
            learned = after(pi, column)
            for gain in gains:
                assert best(learned, gain) <= max(below, 1) * best(pi, gain)
