"""Designs for hundreds of symbols, and searches that end early: valid whenever that happens."""

import itertools
import math

import numpy as np
import pytest

import extremal as ex
from extremal.certification.quadratic import check_quadratic
from extremal.model.purpose import shares
from extremal.optimization import effort
from extremal.optimization.oracles.exchange.oracle import make_oracle
from extremal.optimization.reductions import make_problem
from extremal.optimization.tuning import EQUAL_WEIGHTS_FROM
from tests.support.solving import mixture

SIZE = EQUAL_WEIGHTS_FROM + 10


def prior_of(kind):
    masses = {
        "zipf": 1 / np.arange(1, SIZE + 1),
        "geometric": 0.92 ** np.arange(SIZE),
    }
    return ex.Prior.from_counts(masses[kind])


def checked(prior, epsilon, found):
    A = np.eye(prior.size)
    proof = check_quadratic(
        prior.probabilities, epsilon, A, found.matrix, found.value, found.upper, found.proof
    )
    assert proof.ok, proof.problems
    return found


@pytest.mark.parametrize(
    ("kind", "epsilon"), [("zipf", 0.3), pytest.param("geometric", 3.0, marks=pytest.mark.slow)]
)
def test_hundreds_of_symbols_have_designs_within_a_tenth_of_the_bound(kind, epsilon):
    prior = prior_of(kind)
    found = checked(prior, epsilon, mixture(prior.probabilities, epsilon, np.eye(SIZE)))
    if kind != "zipf":  # the same again
        again = mixture(prior.probabilities, epsilon, np.eye(SIZE))
        np.testing.assert_array_equal(found.matrix, again.matrix)
    assert found.gap <= 0.1
    assert len(found.weights) <= (4 if epsilon < 3 else 9) * SIZE
    assert shares(prior, ex.Mechanism(found.matrix, prior.labels)) == pytest.approx(found.value, rel=1e-9)
    # Cells are zero, full, or one partial symbol in each output.
    inside = (found.lifts > 0) & (found.lifts < math.exp(epsilon) * (1 - 1e-12))
    assert inside.sum(axis=1).max() <= 1


@pytest.mark.parametrize("size", [8, 25, SIZE])
def test_an_interrupt_at_any_time_leaves_a_valid_design(size):
    prior = ex.Prior.from_counts(1 / np.arange(1, size + 1))
    response = shares(prior, ex.theory.randomized_response_for_pml(prior, 0.8))
    for calls in (0, 1, 4):
        count = itertools.count()

        def stop(value, upper, count=count, calls=calls):
            if next(count) == calls:
                raise KeyboardInterrupt

        found = ex.design(prior, 0.8, progress=stop)
        assert found.stats.interrupted == (next(count) > calls)
        assert "interrupted" in str(found) or not found.stats.interrupted
        assert response * (1 - 1e-9) <= found.value <= found.upper_bound <= 1
        assert ex.check_design(found).ok


@pytest.mark.parametrize("size", [25, SIZE])
def test_a_time_limit_is_looked_at_inside_every_step(size, monkeypatch):
    """Time stands still but for `left` looks at the clock."""
    prior = ex.Prior.from_counts(1 / np.arange(1, size + 1))
    for left in (0, 3, 30):
        looks = itertools.count()
        monkeypatch.setattr(
            effort.time, "perf_counter", lambda looks=looks, left=left: float(next(looks) > left)
        )
        found = mixture(prior.probabilities, 0.8, np.eye(size), time_limit=0.5)
        monkeypatch.undo()
        assert next(looks) <= left + 60  # a step that is under way ends soon
        assert found.stats.stopped
        checked(prior, 0.8, found)


def test_light_symbols_are_spread_over_all_vectors():
    """Each is full in one vector of e^epsilon, so all of them are about size / e^epsilon in each."""
    masses = 0.9 ** np.arange(300)
    problem = make_problem(masses / masses.sum(), 3.0, np.eye(300))
    oracle = make_oracle(problem, problem, 0, effort.UNLIMITED)
    greedy = oracle.greedy(oracle.relaxed.covariance, oracle.relaxed.prices(problem), 0)
    light = greedy.more(1200, effort.UNLIMITED)[600:, 100:] > 0
    assert light.mean() == pytest.approx(math.exp(-3), rel=0.2)
    numbers = light.sum(axis=1)
    assert numbers.std() <= 2 * math.sqrt(numbers.mean())
