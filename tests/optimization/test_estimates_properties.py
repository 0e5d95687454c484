"""What holds for designs for shares whatever the prior and level: they exist, keep epsilon, and beat simpler ones."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extremal as ex
from extremal.model.purposes import Quadratic

MASSES = st.one_of(st.sampled_from([1.0, 0.5, 1e-9]), st.floats(1e-3, 1))


@st.composite
def questions(draw):
    """A prior with ties, tiny masses or neither, and a level: any, at an edge of a region, or just below the last."""
    masses = draw(st.lists(MASSES, min_size=2, max_size=4).filter(lambda m: max(m) > 1e-3))
    prior = ex.Prior.from_counts(masses)
    edges = [e for e in prior.region_edges if 1e-6 < e < 25]
    last = min(prior.epsilon_max, 25.0)
    levels = [st.floats(1e-3, 5), st.just(last * (1 - 1e-9))] + ([st.sampled_from(edges)] if edges else [])
    return prior, draw(st.one_of(levels))


def exact_leakage_is_within(certified, epsilon):
    pi = [Fraction(float(p)) for p in certified.prior.probabilities]
    rows = [[int(w) for w in row] for row in certified.weights]
    with localcontext() as context:
        context.prec = 60
        most = Fraction(Decimal(epsilon).exp())
    for y in range(len(rows[0])):
        mean = sum(p * row[y] for p, row in zip(pi, rows, strict=True)) / sum(pi)
        if any(row[y] > most * mean for row in rows):
            return False
    return True


@settings(max_examples=20, deadline=None)
@given(questions())
def test_a_design_exists_keeps_epsilon_exactly_and_is_no_worse_than_simpler_ones(question):
    prior, epsilon = question
    found = ex.design(prior, epsilon)
    assert 0 < found.value <= found.upper_bound <= 1
    assert exact_leakage_is_within(ex.certify(found, allow_true_answers=True), epsilon)
    response = ex.theory.randomized_response_for_pml(prior, epsilon)
    assert found.value >= ex.shares(prior, response) * (1 - 1e-9)
    for mechanism in (response, ex.design(prior, epsilon, ex.mutual_information).mechanism):
        assert found.upper_bound >= ex.shares(prior, mechanism) * (1 - 1e-9)
        assert found.value >= ex.shares(prior, mechanism) * (1 - max(found.gap, 1e-9) - 1e-9)


@settings(max_examples=8, deadline=None)
@given(questions(), st.floats(0.5, 1), st.randoms(use_true_random=False))
def test_more_leakage_is_worth_more_and_labels_do_not_matter(question, part, random):
    prior, epsilon = question
    found, less = ex.design(prior, epsilon), ex.design(prior, epsilon * part)
    assert found.upper_bound >= less.value * (1 - 1e-9)
    order = list(range(prior.size))
    random.shuffle(order)
    other = ex.design(ex.Prior(prior.probabilities[order]), epsilon)
    # Next to the last level the order of masses decides, by rounding, whether everything may be told.
    assert other.value == pytest.approx(found.value, rel=2 * max(found.gap, other.gap, 1e-6))


@settings(max_examples=12, deadline=None)
@given(questions(), st.data())
def test_a_design_for_part_of_the_alphabet_is_worth_no_more(question, data):
    """One that reports on some labels alone, the rest as one, at the same leakage is a mechanism for all of them."""
    prior, epsilon = question
    n = prior.size
    told = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n - 1, unique=True))
    place = np.array([told.index(i) if i in told else len(told) for i in range(n)])
    part = ex.design(ex.Prior(np.bincount(place, weights=prior.probabilities)), epsilon)
    mechanism = ex.Mechanism(part.mechanism.matrix[place], prior.labels)
    assert ex.epsilon_pml(prior, mechanism) <= epsilon + 1e-12
    purpose = ex.groups({str(i): [prior.labels[i]] for i in told})
    found = ex.design(prior, epsilon, purpose)
    reached = purpose(prior, mechanism)
    assert found.upper_bound >= reached * (1 - 1e-9)
    assert found.value >= reached * (1 - max(found.gap, 1e-9) - 1e-9)


def test_at_the_edges_of_regions_designs_for_every_purpose_are_monotone_and_do_not_jump():
    prior = ex.Prior([0.6, 0.2, 0.2])
    purposes = [
        ex.shares,
        ex.shares.relative,
        ex.mean([3, 1, 2]),
        ex.groups({"a": [0], "b": [1]}),
        Quadratic(np.diag([1.0, 2.0, 0.5])),
    ]
    for purpose in purposes:
        for edge in prior.region_edges[1:3]:
            below, at, above = (
                ex.design(prior, edge * part, purpose, tolerance=1e-4) for part in (1 - 1e-9, 1, 1 + 1e-9)
            )
            gap = max(below.gap, at.gap, above.gap)
            assert gap <= 1e-4
            assert below.value <= at.upper_bound * (1 + 1e-12)
            assert at.value <= above.upper_bound * (1 + 1e-12)
            assert above.value == pytest.approx(below.value, rel=1e-6 + gap)


@pytest.mark.slow
@pytest.mark.parametrize(("people", "times"), [(300, 2000), (10_000, 400), (1_000_000, 60)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_the_efficiency_is_what_simulation_shows(people, times, epsilon):
    prior = ex.Prior([0.35, 0.25, 0.2, 0.12, 0.08])
    found = ex.design(prior, epsilon)
    certified = ex.certify(found, allow_true_answers=True)
    rng = np.random.default_rng(people)
    errors = []
    for seed in range(times):
        answers = rng.choice(5, people, p=prior.probabilities)
        reports = certified.privatize(answers, source=ex.randomness.SeededWords(seed))
        estimate = ex.estimate(certified, reports, method=ex.Method("inverse", prior=prior))
        errors.append(people * np.sum((estimate.shares - prior.probabilities) ** 2))
    claimed = (1 - np.sum(prior.probabilities**2)) / found.value
    assert abs(np.mean(errors) - claimed) <= 3 * np.std(errors) / math.sqrt(times)
