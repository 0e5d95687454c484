"""The pages on embedding and for respondents: their code runs in a browser, their digests are those of the files."""

import hashlib
import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.support.browser import Device
from tests.support.survey_site import STATIC, certified, serving

DOCS = Path(__file__).parents[2] / "docs"
MECHANISM = certified({"never": 0.5, "once": 0.3, "often": 0.2}, 0.6)


@pytest.fixture(scope="module")
def device(browser):
    made = Device(browser)
    yield made
    made.close()


def block(kind):
    text = (DOCS / "embedding.md").read_text(encoding="utf-8")
    return re.search(rf"<!-- embedding:{kind} -->\n```{kind}\n(.*?)```", text, re.S)[1]


def test_the_question_of_the_page_works_in_any_form(device):
    """The form submits the report, once drawn the same one, and nothing else."""
    files = {
        "/form.html": f"<!doctype html><title>form</title>{block('html')}",
        "/question.js": block("js"),
        "/mechanism.json": MECHANISM.to_json(),
    }
    with serving(files) as site:
        site.policy = "default-src 'self'"
        page = device.as_new()
        reports = []
        for answer in ["never", "often", "once"]:
            page.goto(site.address)
            page.select_option("#answer", answer)
            with page.expect_navigation():
                page.click("#send:enabled")
            fields = parse_qs(site.bodies[-1].decode(), strict_parsing=True)
            assert list(fields) == ["drinks"]
            reports += fields["drinks"]
            assert page.evaluate("Object.values(localStorage)") == reports[:1]
        assert len(set(reports)) == 1
        assert int(reports[0]) in MECHANISM.mechanism.outputs


def test_a_mechanism_that_breaks_its_promise_leaves_the_button_disabled(device):
    files = {
        "/form.html": f"<!doctype html><title>form</title>{block('html')}",
        "/question.js": block("js"),
        "/mechanism.json": MECHANISM.to_json().replace('"epsilon": "0.6"', '"epsilon": "0.5"'),
    }
    with serving(files) as site:
        site.policy = "default-src 'self'"
        page = device.as_new()
        with page.expect_event("pageerror") as error:
            page.goto(site.address)
        assert "leaks more" in str(error.value)
        assert page.is_disabled("#send")


def test_respondents_find_the_digests_of_what_is_served():
    rows = "".join(
        f"| `{name}` | `{hashlib.sha256((STATIC / name).read_bytes()).hexdigest()}` |\n"
        for name in ("extremal.js", "form.js")
    )
    text = (DOCS / "respondents.md").read_text(encoding="utf-8")
    shown = re.search(r"<!-- digests -->\n[^\n]+\n[^\n]+\n(.*?)<!-- digests:end -->", text, re.S)[1]
    assert shown == rows, f"write into docs/respondents.md:\n{rows}"
