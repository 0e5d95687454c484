"""Hypothesis profiles, interrupts, and the browser.

Choose a profile with HYPOTHESIS_PROFILE. "quick", the default, and "ci" give the same examples every time.
"""

import os
import signal

import pytest
from hypothesis import settings

from tests.support.browser import started

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=40)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell lets what runs in its background ignore interrupts, and so do the programs that tests start there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def browser():
    """One for the tests of a file. While it runs, other files of the same process could not use asyncio."""
    with started() as found:
        yield found
