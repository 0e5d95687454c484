"""Designs that are interrupted, or run out of time, still hold."""

import itertools
import json
import os
import signal
import time

import numpy as np
import pytest

import extremal as ex
from extremal.auditing.composition import epsilon_per_release
from extremal.estimation.epsilons import least_epsilon, precision
from extremal.optimization import estimates
from extremal.optimization.masters import linear
from tests.support.optima import assert_checked, assert_keeps_its_promises, run
from tests.support.solving import design_by


@pytest.mark.parametrize("size", [16, pytest.param(60, marks=pytest.mark.slow)])
def test_an_interrupt_from_the_callback_leaves_the_best_so_far_with_a_valid_bound(size):
    weights = 1 / np.arange(1, size + 1)
    prior = ex.Prior(weights / weights.sum())
    best = ex.design(prior, 0.7, ex.mutual_information)
    for stop in (1, 3):
        calls = itertools.count(1)

        def interrupt(value, upper, stop=stop, calls=calls):
            if next(calls) == stop:
                raise KeyboardInterrupt

        design = ex.design(prior, 0.7, ex.mutual_information, tolerance=0.0, progress=interrupt)
        assert design.stats.interrupted
        assert "interrupted, this is the best so far" in str(design)
        assert_keeps_its_promises(design)
        assert design.value <= best.upper_bound
        assert design.upper_bound >= best.value
        assert not design.proven
        assert_checked(design)


def test_a_real_interrupt_leaves_the_best_so_far_or_a_clean_exit():
    """SIGINT at several moments of a search without end: before it, and, from the first round on, amid its loops."""
    script = """
        import json, math, os, signal, threading
        import numpy as np
        import extremal as ex
        from extremal.certification.claim import check_claim
        weights = 1 + 0.1 * np.random.default_rng(36).random(36)  # hard: nearly equal masses
        prior = ex.Prior(weights / weights.sum())
        for delay, amid in ((0.0, False), (0.003, False), (0.0, True), (0.003, True), (0.1, True)):
            timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
            def begun(value, upper):
                if not timer.ident:
                    timer.start()
            try:
                if not amid:
                    timer.start()
                design = ex.design(
                    prior, 0.7, ex.mutual_information, tolerance=0.0, time_limit=math.inf, progress=begun
                )
            except KeyboardInterrupt:
                assert not amid
                continue
            print(json.dumps(dict(
                interrupted=design.stats.interrupted,
                certified=design.proven,
                value=design.value,
                upper=design.upper_bound,
                leakage=ex.epsilon_pml(prior, design.mechanism),
                checked=check_claim(prior, 0.7, ex.mutual_information, design).ok,
            )))
    """
    left = [json.loads(line) for line in run(script).splitlines()]
    assert len(left) >= 3
    for outcome in left:
        assert outcome["interrupted"]
        assert not outcome["certified"]
        assert outcome["checked"]
        assert outcome["leakage"] <= 0.7 + 1e-12
        assert max(o["value"] for o in left) <= outcome["upper"]


@pytest.mark.parametrize(
    "series",
    [
        lambda prior: ex.tradeoff(prior, [0.8]),
        lambda prior: ex.sample_tradeoff(prior, 0.8, [100]),
        lambda prior: ex.compare(prior, 0.8, ex.shares),
        lambda prior: least_epsilon(prior, 0.3),
        lambda prior: precision(prior, [0.8]),
        lambda prior: epsilon_per_release(prior, 2, 0.8),
    ],
)
def test_an_interrupt_ends_a_series_of_designs(series, monkeypatch):
    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(estimates, "ListedOracle", interrupt)
    prior = ex.Prior([0.4, 0.3, 0.2, 0.1])
    assert ex.design(prior, 0.8).stats.interrupted
    with pytest.raises(KeyboardInterrupt):
        series(prior)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_an_interrupt_in_this_process_is_clean_too():
    """Whatever the moment: a design that says it was interrupted, a finished one, or KeyboardInterrupt."""
    prior = ex.Prior(np.random.default_rng(1).dirichlet(np.ones(16)))
    best = ex.design(prior, 0.7, ex.mutual_information)
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        for delay in (0.001, 0.005, 0.02):
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                design = ex.design(prior, 0.7, ex.mutual_information, tolerance=1e-12)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                continue
            assert_keeps_its_promises(design)
            # Both are sums in doubles.
            assert design.value <= best.upper_bound * (1 + 1e-14)
            assert design.upper_bound >= best.value * (1 - 1e-14)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("size", [12, 24, 36, 60, 150])
def test_without_any_time_there_still_is_a_design_that_holds(size):
    prior = ex.Prior(np.random.default_rng(size).dirichlet(np.ones(size)))
    design = ex.design(prior, 0.6, ex.mutual_information, time_limit=0)
    assert_keeps_its_promises(design)
    assert design.gap < 0.1
    assert not design.stats.interrupted
    assert_checked(design)


@pytest.mark.parametrize("size", [40, 450])
def test_a_limit_that_ends_the_first_program_leaves_the_arc_mechanism(size, monkeypatch):
    """Beyond 400 symbols in blocks, of which it has more outputs than there are."""
    monkeypatch.setattr(linear, "SOLVED_AT_ONCE", 10)
    prior = ex.Prior(np.random.default_rng(size).dirichlet(np.ones(size)))
    design = ex.design(prior, 0.3, ex.mutual_information, time_limit=0)
    assert design.stats.stopped
    assert design.stats.rounds == 0
    assert ex.epsilon_pml(prior, design.mechanism) <= 0.3 + 1e-12
    assert_checked(design)
    arc = design_by(prior, 0.3, ex.mutual_information, oracle="arc")
    assert 0.8 * arc.value <= design.value <= design.upper_bound <= arc.upper_bound * (1 + 1e-9)
    assert len(set(design.mechanism.outputs)) == design.mechanism.shape[1] > 0


@pytest.mark.timed
def test_time_limits_are_kept():
    weights = 1 + 0.1 * np.random.default_rng(36).random(36)
    prior = ex.Prior(weights / weights.sum())
    ex.design(prior, 0.7, ex.mutual_information, time_limit=0)
    begin = time.process_time()
    ex.design(prior, 0.7, ex.mutual_information, tolerance=0.0, time_limit=0.5)
    assert time.process_time() - begin < 5


def test_a_tolerance_of_zero_ends():
    prior = ex.Prior(np.random.default_rng(2).dirichlet(np.ones(11)))
    design = ex.design(prior, 0.8, ex.mutual_information, tolerance=0.0)
    assert design.method == "column-generation"
    assert design.gap <= 1e-12
