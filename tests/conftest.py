"""Hypothesis profiles, the number of processes, the order of the files, interrupts, and the browser.

Choose a profile with HYPOTHESIS_PROFILE. "quick", the default, and "ci" give the same examples every time; "ci", which
.ci/run chooses, tries five times as many.
"""

import contextlib
import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.support.browser import started

# On a busy machine even drawing examples takes seconds, and no test depends on seconds.
unhurried = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", max_examples=50, derandomize=True, print_blob=True, **unhurried)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=10)
settings.register_profile("explore", derandomize=False, max_examples=2000, **unhurried)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Hypothesis likes to try the constants of all modules that are loaded. Examples would depend on what ran before.
providers._get_local_constants = lambda: providers._local_constants

# A shell lets what runs in its background ignore interrupts, and so do the programs that tests start there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Modules and collected tests stay. The garbage collector would go through all of them again and again.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One more than there are cores: browsers, servers and processes are waited for half of the time."""
    available = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    return len(available(0)) + 1


# The files that take longest, the longest first. They start first, so that all processes end at about the same time.
# Those that need a browser follow one another, so that they share it.
LONGEST = [
    "collection/test_form.py",
    "collection/test_routes.py",
    "collection/test_once.py",
    "collection/test_learning_commands.py",
    "collection/test_list_page.py",
    "collection/test_served.py",
    "collection/test_embedding.py",
    "collection/test_frames.py",
    "collection/test_draws.py",
    "collection/test_connections.py",
    "cli/test_installed.py",
    "test_docs.py",
    "studies/test_paper.py",
    "optimization/test_design.py",
    "explorer/test_server.py",
    "optimization/test_sets.py",
    "test_benchmarks.py",
    "release/files/test_privatize.py",
    "release/test_joint.py",
    "release/test_arrays.py",
    "studies/test_demo.py",
    "optimization/oracles/exchange/test_equal_weights.py",
    "optimization/oracles/levels/test_oracle.py",
]


def pytest_collection_modifyitems(items):
    rank = {f"tests/{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.nodeid.partition("::")[0], len(rank)))
    in_need.update(item.path for item in items if "browser" in item.fixturenames)


in_need = set()  # the files with tests that need a browser
at_the_end = contextlib.ExitStack()  # ends the browser
running = []  # it, if there is one


@pytest.fixture(scope="module")
def browser():
    """One for all files that need it and follow one another: to start it takes longer than many a test."""
    if not running:
        running.append(at_the_end.enter_context(started()))
    return running[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem):
    """While the browser runs, other files of the same process could not use asyncio."""
    yield
    if nextitem is None or nextitem.path not in in_need:
        running.clear()
        at_the_end.close()
