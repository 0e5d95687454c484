"""<extremal-frame>: a question from another origin, inside a page that is not trusted, in a browser."""

import pytest

from tests.support.browser import PHONE, Device, until
from tests.support.closed import FIXED, Inside, words
from tests.support.survey_site import certified, kept, serving

ANSWERS = ["never", "once", "often"]
MECHANISM = certified(dict(zip(ANSWERS, [0.5, 0.3, 0.2], strict=True)), 0.6)
FORM = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A form</title><main>
<form method="post" action="reports"><input name="age" value="40" aria-label="Age">
<extremal-frame name="drinks" src="{src}" required></extremal-frame><button>Send</button></form></main>
<script type="module" src="/elements.js"></script>"""
ASKED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A private question</title>
<script type="module" src="/elements.js"></script>
<extremal-question hosts="https://example.org {host}" question="drinks" mechanism="/mechanism.json"
text="How often?"></extremal-question>"""
HEARD = """
    window.heard = [];
    addEventListener("message", ({ origin, data }) => heard.push([origin, JSON.stringify(data)]));
    for (const type of ["click", "keydown", "pointerdown", "pointermove", "mouseover", "input", "touchstart"]) {
        addEventListener(type, (event) => event.isTrusted && heard.push([type, event.target.nodeName]), true);
    }
"""


@pytest.fixture(scope="module")
def device(browser):
    made = Device(browser, viewport={**PHONE, "height": 1200})
    yield made
    made.close()


@pytest.fixture
def sites():
    """(the page around, the one that asks)"""
    with serving({}) as around, serving({"/mechanism.json": MECHANISM.to_json()}) as asking:
        around.policy = f"default-src 'self'; frame-src {asking.address}"
        asking.policy = f"default-src 'self'; frame-ancestors {around.address}"
        around.files["/form.html"] = FORM.format(src=f"{asking.address}ask.html")
        asking.files["/ask.html"] = ASKED.format(host=around.address.rstrip("/"))
        yield around, asking


def settled(page):
    """Wait until the frame is as tall as what it shows, and has said so."""
    while page.frames[1].evaluate("innerHeight !== document.documentElement.offsetHeight + 2"):
        page.wait_for_timeout(20)
    until(
        page,
        f"""heard.findLast(([, what]) => what.includes("height"))?.[1]
            .includes(`:${{{page.frames[1].evaluate("innerHeight")}}}}}`)""",
    )


def value(page):
    return page.evaluate("document.querySelector('extremal-frame').value")


@pytest.mark.slow
def test_the_page_around_gets_the_report_and_sees_nothing_of_the_answering(device, sites):
    """Listeners that come first on the page hear no key, tap or movement inside; messages name the report alone."""
    around, asking = sites
    seen = {}
    for report, answer, word in words(MECHANISM):
        page = device.as_new(HEARD + FIXED + f"window.word = '{word}';")
        around.requests.clear()
        page.goto(around.address)
        inside = Inside(page, framed=True)
        inside.press("button", "Go to the answers")
        inside.wait("radio")
        settled(page)
        page.evaluate("heard.length = 0")
        inside.press("radio", answer)
        inside.press("button", "Draw my report")
        until(page, "document.querySelector('extremal-frame').value !== ''")
        page.wait_for_timeout(100)
        assert value(page) == str(report)
        heard = page.evaluate("heard")
        first = next(k for k, (_, what) in enumerate(heard) if '"report"' in what)
        messages = [entry for entry in heard if entry[0] == asking.address.rstrip("/")]
        assert messages[0] == heard[0]
        assert (
            heard[: first + 1] == messages[: first + 1]
        )  # later the frame shrinks away from under the mouse
        with page.expect_navigation():
            page.click("text=Send")
        trace = sorted(messages), sorted(around.requests)
        assert seen.setdefault(report, trace) == trace
        assert around.bodies == [f"age=40&drinks={report}".encode()]
    assert device.errors == []


def test_the_report_is_kept_where_it_is_asked_and_comes_back(device, sites):
    around, _ = sites
    page = device.as_new()
    page.goto(around.address)
    assert not page.evaluate("document.forms[0].checkValidity()")
    Inside(page, framed=True).answer("once")
    until(page, "document.querySelector('extremal-frame').value !== ''")
    first = value(page)
    assert page.evaluate("document.forms[0].checkValidity()")
    assert kept(page) == {}  # of the page around
    page.reload()
    until(page, f"document.querySelector('extremal-frame')?.value === '{first}'")
    Inside(page).says("This private question comes from")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_skipping_is_told(device, sites):
    around, _ = sites
    page = device.as_new()
    page.goto(around.address)
    Inside(page, framed=True).press("button", "Skip this question")
    until(page, "document.querySelector('extremal-frame').skipped")
    assert page.evaluate("document.forms[0].checkValidity()")


def test_a_page_that_is_not_named_gets_no_question(device, sites):
    around, asking = sites
    asking.files["/ask.html"] = ASKED.format(host="https://other.example")
    page = device.as_new()
    page.goto(around.address)
    inside = Inside(page, framed=True)
    inside.says("Loading")
    page.wait_for_timeout(200)
    assert inside.find("button") is None
    page.goto(f"{asking.address}ask.html")  # nor does the page alone
    alone = Inside(page)
    alone.says("Loading")
    page.wait_for_timeout(200)
    assert alone.find("button") is None


def test_messages_of_others_are_not_reports(device, sites):
    """From the page itself, from another frame, and from the frame once it shows another origin."""
    around, asking = sites
    page = device.as_new()
    page.goto(around.address)
    Inside(page, framed=True).wait("button", "Go to the answers")
    page.evaluate(
        """(address) => {
        const other = document.createElement("iframe");
        other.srcdoc = "<script>parent.postMessage({ extremal: 'report', report: 7 }, '*')</script>";
        document.body.append(other);
        for (const origin of [location.origin, "*"]) postMessage({ extremal: "report", report: 7 }, origin);
    }""",
        asking.address,
    )
    page.wait_for_timeout(200)
    assert value(page) == ""


@pytest.mark.parametrize(
    ("src", "says"),
    [
        ("", '"src" is missing'),
        ("/ask.html", "keeps nothing from it"),
        ("data:text/html,hello", "not an address of the web"),
        ("http://[", "not an address of the web"),
    ],
)
def test_a_sentence_stands_where_no_frame_would_protect(device, sites, src, says):
    around, _ = sites
    around.files["/form.html"] = FORM.format(src=src)
    page = device.as_new()
    page.goto(around.address)
    Inside(page).says(says).says("Nothing about it has been sent.")
    assert page.frames[1:] == []
    assert page.evaluate("document.forms[0].checkValidity()")
