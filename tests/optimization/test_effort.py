"""Effort: why a search ended, in a value and in words, and what lifts its limits."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import extremal as ex
from extremal.optimization import effort, estimates, tuning
from extremal.optimization.effort import Effort, Stats, Why
from extremal.optimization.estimates import best_mixture
from extremal.optimization.oracles.exchange.oracle import make_oracle
from extremal.optimization.oracles.knapsack import oracle as knapsack
from extremal.optimization.oracles.knapsack.separable import Separable
from extremal.optimization.reductions import make_problem
from extremal.optimization.tuning import MUCH_MIXED, SPEED, TRY

TWENTY = ex.Prior.from_counts(1 / np.arange(1, 21))
SIXTEEN = ex.Prior(np.random.default_rng(16).dirichlet(np.ones(16)))
NORM = ex.Utility(lambda prior, columns: np.sqrt((columns**2).sum(axis=0)), "norm")


def interrupt(value, upper):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("why", "design"),
    [
        (Why.KNOWN, lambda: ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.05, ex.mutual_information)),
        (Why.LISTED, lambda: ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.7, ex.mutual_information)),
        (Why.KNOWN, lambda: ex.design(ex.Prior([0.5, 0.5]), 0.7)),
        (Why.REACHED, lambda: ex.design(TWENTY, 0.8)),
        (Why.REACHED, lambda: ex.design(TWENTY, 0.8, ex.mutual_information)),
        (Why.EXHAUSTED, lambda: ex.design(SIXTEEN, 0.8, NORM)),
        (Why.TIME, lambda: ex.design(TWENTY, 0.8, time_limit=0)),
        (Why.TIME, lambda: ex.design(SIXTEEN, 0.8, ex.mutual_information, tolerance=0, time_limit=0)),
        (Why.INTERRUPTED, lambda: ex.design(TWENTY, 0.8, progress=interrupt)),
        (Why.INTERRUPTED, lambda: ex.design(TWENTY, 0.8, ex.mutual_information, progress=interrupt)),
    ],
)
def test_a_design_says_why_its_search_ended(why, design):
    found = design()
    assert found.stats.why is why
    assert why.value in str(found)
    assert found.stats.stopped == (why is Why.TIME)
    assert found.stats.interrupted == (why is Why.INTERRUPTED)


def test_a_time_limit_of_inf_lifts_the_amount_of_work_of_estimates(monkeypatch):
    monkeypatch.setattr(estimates, "ROUNDS", 2)
    prior = ex.Prior.from_counts(1 / np.arange(1, 31))
    limited = ex.design(prior, 1.5, tolerance=1e-3)
    free = ex.design(prior, 1.5, tolerance=1e-3, time_limit=math.inf)
    assert limited.stats.why is Why.WORK
    assert limited.stats.rounds == 2
    assert free.stats.why is Why.REACHED
    assert free.gap <= 1e-3 < limited.gap
    assert ex.check_design(free).ok


def test_a_search_without_limits_ends_where_rounds_gain_next_to_nothing(monkeypatch):
    for name, value in (("ROUNDS", 4), ("GAIN", 1e-2), ("IDLE", 2)):
        monkeypatch.setattr(tuning, name, value)
    found = ex.design(ex.Prior.from_counts(1 / np.arange(1, 31)), 1.5, tolerance=1e-8, time_limit=math.inf)
    assert found.stats.why is Why.EXHAUSTED
    assert found.stats.rounds > 4


def test_a_search_that_costs_much_is_given_up_only_where_work_is_limited():
    """Beyond 40 answers, when many rounds at the rate of the last one would still not reach the goal."""
    prior = ex.Prior.from_counts(1 / np.arange(1, 42))
    problem = make_problem(prior.probabilities, 1.5, np.eye(41))
    for limit, given_up in ((None, True), (60, True), (math.inf, False)):
        oracle = make_oracle(problem, problem, 0, Effort(time_limit=limit), 1e-6, 1e-7)
        oracle._gaps, oracle._work = [0.01, 0.00999], 2 * MUCH_MIXED
        assert oracle.exhausted == given_up


@pytest.mark.slow
def test_nobody_is_told_to_lift_limits_that_are_lifted():
    assert Effort().why is Why.WORK
    assert Effort(time_limit=math.inf).why is Why.EXHAUSTED
    for size, method in ((23, "symmetric"), (201, "equal weights")):
        masses = np.ones(size) if method == "symmetric" else 1 / np.arange(1, size + 1)
        found = best_mixture(
            masses / masses.sum(), 1.0, np.eye(size), 1e-9, Effort(time_limit=math.inf).limited(rounds=1)
        )
        assert found.method == method
        assert found.stats.why is Why.EXHAUSTED


def test_looking_for_first_columns_leaves_half_of_the_time():
    problem = Separable(np.full(300, 1 / 300), ex.mutual_information.f, 0.0, 2.0)
    tried = []

    class Watched(Separable):
        def explore(self, y, tries, free, seed):
            tried.append(tries)
            return np.zeros((0, 300)), np.zeros(0)

    watched = Watched(problem.pi, problem.f, 0.0, 2.0)
    for limit in (None, 0.1):
        knapsack._explored(SimpleNamespace(effort=Effort(time_limit=limit)), watched, None, 10**6, 14, 0)
    assert tried[0] == 10**6
    assert 0 < tried[1] * TRY <= 0.05 * SPEED


def test_a_time_limit_of_inf_lifts_nodes_and_rounds_and_any_other_leaves_them():
    for limit in (None, 5):
        usual = Effort(time_limit=limit).for_size(10)
        assert usual.nodes == effort.NODES + 10 * effort.NODES_FOR_EACH_SYMBOL
        assert usual.limited(rounds=3).rounds == 3
    free = Effort(time_limit=math.inf)
    assert free.for_size(10).nodes == free.limited(rounds=3).rounds == math.inf
    assert not free.over


def test_searches_add_up_and_the_first_that_was_stopped_says_so():
    done = Stats(1, 2, 3, 0.5, Why.EXHAUSTED) + Stats(1, 2, 3, 0.5, Why.REACHED)
    assert done == Stats(2, 4, 6, 1.0, Why.REACHED)
    assert (Stats(why=Why.TIME) + Stats(why=Why.REACHED)).why is Why.TIME
    assert (Stats(why=Why.REACHED) + Stats(why=Why.INTERRUPTED)).why is Why.INTERRUPTED


def test_progress_hears_from_within_a_long_step_now_and_then(monkeypatch):
    clock = iter(np.arange(100) / 10)
    monkeypatch.setattr(effort.time, "perf_counter", lambda: float(next(clock)))
    told = []
    search = Effort(progress=lambda *figures: told.append(figures))
    search.tell(0.1, 0.9)
    for _ in range(10):
        assert not search.pause()
    assert 3 <= len(told) <= 8
    assert set(told) == {(0.1, 0.9)}
