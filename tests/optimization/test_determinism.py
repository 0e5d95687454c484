"""The same question has the same answer, bit for bit, whatever the clock and the load."""

import subprocess
import sys
import time

import numpy as np
import pytest

import extremal as ex
from extremal.optimization.effort import Effort
from extremal.optimization.masters.linear import Master
from extremal.optimization.oracles.knapsack.oracle import column_generation
from extremal.optimization.oracles.knapsack.separable import Separable

CASES = """
import numpy as np
import extremal as ex
from extremal.optimization.effort import Effort
from extremal.optimization.problem import Problem
from extremal.optimization.design import solve

def zipf(n):
    return 1 / np.arange(1, n + 1) / (1 / np.arange(1, n + 1)).sum()

norm = ex.Utility(lambda prior, columns: np.sqrt((columns**2).sum(axis=0)))
ball = ex.PriorSet.l1_ball(ex.Prior(zipf(4)), 0.1)
CASES = [
    lambda: ex.design(ex.Prior(zipf(16)), 0.8, ex.mutual_information, tolerance=1e-9),
    lambda: ex.design(ex.Prior(zipf(25)), 1.0, ex.mutual_information),
    lambda: ex.design(ex.Prior(zipf(60)), 1.0, ex.mutual_information),
    lambda: ex.design(ex.Prior(zipf(16)), 0.8, norm),
    lambda: solve(Problem(ball, 0.8, ex.mutual_information, oracle="column-generation"), Effort(1e-3)),
    lambda: solve(Problem(ex.PriorSet.from_counts([50, 30, 12, 8]), 1.0, norm, oracle="column-generation")),
    lambda: ex.design(ex.Prior(zipf(16)), 0.8),
    lambda: ex.design(ex.Prior(zipf(30)), 1.0),
    lambda: ex.design(ball, 0.8),
]
"""


# Digests of the mechanisms and bounds.
PROGRAM = (
    CASES
    + """
import hashlib
for case in CASES:
    made = case()
    numbers = made.mechanism.matrix.tobytes() + np.float64(made.upper_bound).tobytes()
    print(made.method, hashlib.sha256(numbers).hexdigest(), made.stats.stopped)
"""
)


FAST_CLOCK = """
import itertools, time
ticks = itertools.count()
# Every look at a clock finds that an hour has passed.
for name in ("perf_counter", "monotonic", "time", "process_time"):
    setattr(time, name, lambda: 3600.0 * next(ticks))
"""


@pytest.mark.slow
def test_a_clock_that_races_changes_no_design(capsys):
    command = [sys.executable, "-c", FAST_CLOCK + PROGRAM]
    racing = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    exec(PROGRAM, {})
    quiet = capsys.readouterr().out.splitlines()
    assert len(quiet) == 9
    assert quiet == racing
    assert all(line.endswith("False") for line in quiet)


def test_a_design_stopped_by_the_time_limit_says_so():
    prior = ex.Prior(1 / np.arange(1, 61) / (1 / np.arange(1, 61)).sum())
    stopped = ex.design(prior, 3.0, ex.mutual_information, time_limit=0)
    assert stopped.stats.stopped
    assert "stopped by the time limit" in str(stopped)
    free = ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.7, ex.mutual_information, time_limit=0)
    assert not free.stats.stopped  # there was no search to stop
    assert free.proven


def test_a_part_of_an_effort_counts_for_the_whole():
    whole = Effort(nodes=100)
    part = whole.part(0.5)
    part.spend(50)
    assert part.over
    assert not whole.over
    assert whole.left == 50
    part.stop()
    assert whole.over
    assert whole.stopped


def test_without_a_time_limit_nobody_looks_at_the_clock(monkeypatch):
    def forbidden():
        pytest.fail("the clock was asked")

    monkeypatch.setattr(time, "perf_counter", forbidden)
    budget = Effort().for_size(10)
    assert not budget.over
    assert not budget.part(0.5).over


@pytest.mark.parametrize("nodes", [1e6, 1e7])
def test_an_effort_that_ends_amid_a_round_leaves_the_last_solution(nodes):
    """Columns that came in after the last program have no weights."""
    weights = 1 + 0.1 * np.random.default_rng(36).random(36)
    problem = Separable(weights / weights.sum(), ex.mutual_information.f, 0.0, 2.0)
    late = column_generation(problem, 0.0, Effort(nodes=nodes))
    assert late.value <= late.upper
    np.testing.assert_allclose(late.weights @ late.lifts, 1, atol=1e-12)
    master = Master(np.full(2, 0.5), 0.0, 2.0, 1.0)
    master.add(np.diag([2.0, 2.0]), np.ones(2))
    solution = master.solve()
    master.add(np.ones((1, 2)), np.zeros(1))
    assert len(master.used(solution.weights)[0]) == 2
