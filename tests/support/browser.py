"""Debian's chromium, driven by Playwright; `tests/conftest.py` starts it once.

Without them the tests are skipped, unless EXTREMAL_REQUIRE_BROWSER=1 (.ci/run sets it). EXTREMAL_SCREENSHOTS=DIR keeps
pictures of the pages there, to look at.
"""

import importlib.util
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

DESKTOP, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}


def chromium():
    """The path of the browser; a skip, or a failure where it is required, if there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None or importlib.util.find_spec("playwright") is None:
        if os.environ.get("EXTREMAL_REQUIRE_BROWSER") == "1":
            pytest.fail("EXTREMAL_REQUIRE_BROWSER=1, but there is no chromium or no playwright")
        pytest.skip("needs chromium and playwright")
    return found


@contextmanager
def started():
    """A browser, until the block ends. There can be one in a process."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def until(page, expression, seconds=60):
    """Wait until an expression holds; the pages' security policy forbids them to do this themselves."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"not true after {seconds} s: {expression}"
        page.wait_for_timeout(10)


def screenshot(page, name):
    folder = os.environ.get("EXTREMAL_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
