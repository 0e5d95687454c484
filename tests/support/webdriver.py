"""Firefox and WebKit, driven by the W3C's WebDriver commands without a further package, and Chromium beside them.

Debian's WebKitWebDriver takes the commands over HTTP, and starts WebKit's MiniBrowser on a screen that nobody sees. For
Firefox, geckodriver would translate them to what the browser itself takes on a socket, Marionette: the same commands
under other names. Debian has no geckodriver, so they are sent there directly.

Without a browser its tests are skipped, unless EXTREMAL_REQUIRE_BROWSER=1 (.ci/run sets it). A new site (another port)
finds nothing that another has left, so one browser serves all tests of a file.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.browser import started
from tests.support.ports import free_port

MINI_BROWSERS = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))[-1:]
NEEDS = {
    "chromium": (),  # see `browser`
    "firefox": ("firefox-esr",),
    "webkit": ("WebKitWebDriver", "Xvfb", *map(str, MINI_BROWSERS or ["MiniBrowser"])),
}
# One at a time: the quick tests look at one, `make test-slow` at the others, too.
EACH = ["chromium", *(pytest.param(name, marks=pytest.mark.slow) for name in ("firefox", "webkit"))]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how the W3C names an element in JSON
# An expression, or a function for the arguments, as the body of one.
BODY = "const given = (%s\n); return typeof given === 'function' ? given(...arguments) : given;"
# Firefox keeps its windows wider than a phone; what it shows a page in can be narrower.
NARROW = """const { style } = gBrowser.selectedBrowser;
for (const name of ["width", "min-width", "max-width"]) style.setProperty(name, `${arguments[0]}px`);"""


# What stands around the page, and is hidden, keeps a window wider than a small phone.
SMALL = "* { font-size: 5px; min-width: 0; padding: 0; margin: 0; }"


class WebDriverError(Exception):
    """What a browser says went wrong."""


class ByHttp:
    """The commands of a session over HTTP, as the W3C defines them."""

    def __init__(self, address, capabilities):
        self.address = f"{address}/session"
        made = self("POST", "", {"capabilities": {"alwaysMatch": capabilities}})
        self.address += f"/{made['sessionId']}"

    def __call__(self, method, path, content=None):
        body = None if content is None else json.dumps(content).encode()
        about = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, body, about, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise WebDriverError(error.read().decode()) from None

    def tabs(self):
        return self("GET", "/window/handles")

    def another(self):
        return self("POST", "/window/new", {"type": "tab"})["handle"]

    def switch(self, handle):
        self("POST", "/window", {"handle": handle})

    def close(self):
        self("DELETE", "/window")

    def goto(self, url):
        self("POST", "/url", {"url": url})

    def reload(self):
        self("POST", "/refresh", {})

    def run(self, script, arguments):
        return self("POST", "/execute/sync", {"script": script, "args": arguments})

    def find(self, selector):
        return self("POST", "/elements", {"using": "css selector", "value": selector})

    def click(self, element):
        self("POST", f"/element/{element[ELEMENT]}/click", {})

    def size(self, width, height):
        self("POST", "/window/rect", {"width": width, "height": height})


class ByMarionette:
    """The same on Firefox's own socket: every message is its length, a colon, and JSON."""

    def __init__(self, connection):
        self.connection = connection
        self.number = 0
        self._reply()  # it introduces itself
        self("NewSession", {"capabilities": {"alwaysMatch": {}}})

    def _reply(self):
        size = b""
        while (byte := self.connection.recv(1)) != b":":
            if not byte:
                raise WebDriverError("Firefox has ended")
            size += byte
        content = b""
        while len(content) < int(size):
            content += self.connection.recv(int(size) - len(content))
        return json.loads(content)

    def __call__(self, name, content=None, group="WebDriver"):
        self.number += 1
        message = json.dumps([0, self.number, f"{group}:{name}", content or {}]).encode()
        self.connection.sendall(b"%d:%s" % (len(message), message))
        _, number, error, result = self._reply()
        assert number == self.number
        if error:
            raise WebDriverError(f"{error['error']}: {error['message']}")
        return result["value"] if isinstance(result, dict) and "value" in result else result

    def tabs(self):
        return self("GetWindowHandles")

    def another(self):
        return self("NewWindow", {"type": "tab"})["handle"]

    def switch(self, handle):
        self("SwitchToWindow", {"handle": handle, "focus": True})

    def close(self):
        self("CloseWindow")

    def goto(self, url):
        self("Navigate", {"url": url})

    def reload(self):
        self("Refresh")

    def run(self, script, arguments):
        return self("ExecuteScript", {"script": script, "args": arguments})

    def find(self, selector):
        return self("FindElements", {"using": "css selector", "value": selector})

    def click(self, element):
        self("ElementClick", {"id": element[ELEMENT]})

    def size(self, width, height):
        self("SetWindowRect", {"width": 1000, "height": height})
        self("SetContext", {"value": "chrome"}, "Marionette")
        self.run(NARROW, [width])
        self("SetContext", {"value": "content"}, "Marionette")


class Tab:
    """A tab of a browser that takes WebDriver commands."""

    def __init__(self, session, handle):
        self.session, self.handle = session, handle

    def _here(self):
        self.session.switch(self.handle)
        return self.session

    def goto(self, url):
        self._here().goto(url)

    def reload(self):
        self._here().reload()

    def evaluate(self, text, *arguments):
        return self._here().run(BODY % text, list(arguments))

    def click(self, selector, place=0):
        session = self._here()
        session.click(session.find(selector)[place])

    def size(self, width, height=844):
        self._here().size(width, height)

    def another(self):
        return Tab(self.session, self._here().another())

    def close(self):
        self._here().close()


class PlaywrightTab:
    """The same for a page of Chromium."""

    def __init__(self, page):
        self.page = page

    def goto(self, url):
        self.page.goto(url)

    def reload(self):
        self.page.reload()

    def evaluate(self, text, *arguments):
        return self.page.evaluate(f"(given) => (function () {{ {BODY % text} }})(...given)", list(arguments))

    def click(self, selector, place=0):
        self.page.locator(selector).nth(place).click()

    def size(self, width, height=844):
        self.page.set_viewport_size({"width": width, "height": height})

    def another(self):
        return PlaywrightTab(self.page.context.new_page())

    def close(self):
        self.page.close()


def until(tab, text, *arguments, seconds=60):
    """Wait until an expression holds in a tab."""
    end = time.monotonic() + seconds
    while not tab.evaluate(text, *arguments):
        assert time.monotonic() < end, f"not true after {seconds} s: {text}"
        time.sleep(0.04)


def wait(found, process, seconds=120):
    """What found() gives as soon as it gives something; an error if the program has ended before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            if value := found():
                return value
        time.sleep(0.05)
    raise WebDriverError(f"{process.args[0]} does not answer")


@contextlib.contextmanager
def program(*command, **options):
    """A program that runs until the block ends."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet, **options) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def firefox():
    with TemporaryDirectory(prefix="extremal-firefox-") as home:
        Path(home, "user.js").write_text('user_pref("marionette.port", 0);\n', encoding="utf-8")
        options = (
            "--headless",
            "--no-remote",
            "--marionette",
            "--remote-allow-system-access",
            "--profile",
            home,
        )
        with program("firefox-esr", *options, env={**os.environ, "HOME": home}) as process:
            port = wait(lambda: int(Path(home, "MarionetteActivePort").read_text("ascii")), process)
            with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
                session = ByMarionette(connection)
                yield Tab(session, session.tabs()[0])


@contextlib.contextmanager
def webkit():
    reading, writing = os.pipe()
    screen = ("-screen", "0", "1400x1000x24", "-nolisten", "tcp")
    with (
        program("Xvfb", "-displayfd", str(writing), *screen, pass_fds=[writing]),
        TemporaryDirectory() as home,
    ):
        os.close(writing)
        with os.fdopen(reading) as numbers:
            display = numbers.readline().strip()
        style = Path(home, ".config", "gtk-3.0", "gtk.css")
        style.parent.mkdir(parents=True)
        style.write_text(SMALL, encoding="utf-8")
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        surroundings = {**os.environ, "DISPLAY": f":{display}", "HOME": home}
        with program("WebKitWebDriver", "-p", str(port), env=surroundings) as process:
            wait(lambda: urllib.request.urlopen(f"{address}/status").status == 200, process)
            options = {"binary": str(MINI_BROWSERS[0]), "args": ["--automation", "--full-screen"]}
            session = ByHttp(address, {"webkitgtk:browserOptions": options})
            yield Tab(session, session.tabs()[0])
            session("DELETE", "")


@contextlib.contextmanager
def chromium():
    with started() as browser:
        yield PlaywrightTab(browser.new_context().new_page())


@contextlib.contextmanager
def opened(name):
    """The first tab of a browser that has just been started: "chromium", "firefox" or "webkit"."""
    lacking = [tool for tool in NEEDS[name] if not shutil.which(tool)]
    if lacking and os.environ.get("EXTREMAL_REQUIRE_BROWSER") == "1":
        pytest.fail(f"EXTREMAL_REQUIRE_BROWSER=1, but there is no {' and no '.join(lacking)}")
    if lacking:
        pytest.skip(f"needs {' and '.join(lacking)}")
    with {"chromium": chromium, "firefox": firefox, "webkit": webkit}[name]() as tab:
        yield tab
