"""Hypothesis profiles, interrupts, tests that share a process, and the browser.

Choose a profile with HYPOTHESIS_PROFILE; the default gives the same examples every time.
"""

import os
import signal

import pytest
from hypothesis import settings

from tests.support.browser import started

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell lets what runs in its background ignore interrupts, and so do the programs that tests start there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Tests of one xdist_group have its name at the end of their ids: that is how they get into one process.

    pytest-xdist 3.8 writes it where pytest 9.2 no longer reads it, so that the marks do nothing. Where it arrives,
    nothing is left to do here.
    """
    if not config.getoption("loadgroup", False):
        return
    for item in items:
        group = item.get_closest_marker("xdist_group")
        if group is not None and not item.nodeid.endswith(ending := f"@{group.args[0]}"):
            item._id = item._id.parse(item.nodeid + ending)


@pytest.fixture(scope="module")
def browser():
    """One for the tests of a file. While it runs, other files of the same process could not use asyncio."""
    with started() as found:
        yield found
