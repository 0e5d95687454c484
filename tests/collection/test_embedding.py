"""The pages on embedding and for respondents: their code runs in a browser, their digests are those of the files."""

import dataclasses
import hashlib
import re
import subprocess
from pathlib import Path
from urllib.parse import parse_qs

import pytest

pytest.importorskip("starlette")

from extremal.collection.page import index, page_of
from extremal.collection.server import running
from extremal.collection.store import create_store
from tests.support import phones
from tests.support.browser import Device, until
from tests.support.survey_site import STATIC, certified, kept, serving, survey

DOCS = Path(__file__).parents[2] / "docs"
MECHANISM = certified({"never": 0.5, "once": 0.3, "often": 0.2}, 0.6)


@pytest.fixture(scope="module")
def device(browser):
    made = Device(browser)
    yield made
    made.close()


def block(kind):
    text = (DOCS / "api" / "embedding.md").read_text(encoding="utf-8")
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
            (record,) = kept(page).values()
            assert record == {"digest": MECHANISM.digest, "report": int(reports[0])}
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


PAGE = (DOCS / "respondents.md").read_text(encoding="utf-8")
SURVEY = survey(
    [({"name": "q", "text": "Often?", "kind": "single", "answers": ["never", "once", "often"]}, [MECHANISM])]
)
HONEST = index(SURVEY["/survey.json"])


def compared(folder, pages):
    """What the command on the page for respondents prints for each of these pages."""
    command = re.search(r"<!-- compare -->\n *```sh\n *(.*)\n *```", PAGE)[1]
    assert command.startswith("curl -s https://the-survey.example/ | ")
    for k, text in enumerate(pages):
        (folder / f"{k}.html").write_text(text, encoding="utf-8", newline="")
    command = command.replace("curl -s https://the-survey.example/", 'cat "$k.html"')
    loop = f"k=0; while [ $k -lt {len(pages)} ]; do {command}; k=$((k + 1)); done"
    printed = subprocess.run(
        ["sh", "-c", loop], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    return [line.split()[0] for line in printed.splitlines()]


def test_the_command_for_respondents_prints_the_digest_that_the_page_names(tmp_path):
    """For every survey; for a form that posts to another site with the part that takes it out."""
    other = index("another survey")
    far = index("a third", "https://collect.example.org/reports")
    cut = re.search(r'`\| (sed "s#.*")`', PAGE)[1]
    without = subprocess.run(["sh", "-c", cut], input=far, capture_output=True, text=True, check=True).stdout
    assert without != far
    (printed,) = set(compared(tmp_path, [HONEST, other, without]))
    shown = re.search(
        r"<!-- digests -->\n.*\n.*\n *\| without [^|]*\| `(\w+)` \|\n *<!-- digests:end -->", PAGE
    )[1]
    assert shown == printed, f"write into docs/respondents.md: {printed}"


def test_one_more_script_anywhere_changes_what_the_command_prints(tmp_path):
    (honest,) = compared(tmp_path, [HONEST])
    evil = '<script type="module" src="evil.js"></script>'
    lines = HONEST.splitlines(keepends=True)
    (own,) = [k for k, line in enumerate(lines) if line.startswith('<meta name="survey"')]
    pages = ["".join([*lines[:k], evil, "\n", *lines[k:]]) for k in range(len(lines) + 1)]
    pages += ["".join([*lines[:k], line[:-1], evil, "\n", *lines[k + 1 :]]) for k, line in enumerate(lines)]
    for inside in (
        '"><script src="evil.js"></script><meta content="',
        '" http-equiv="refresh" content="0;url=evil',
        "\r<x>",
    ):
        line = lines[own].replace('">', f'{inside}">')
        pages.append("".join([*lines[:own], line, *lines[own + 1 :]]))
    pages.append(HONEST.replace('<meta name="survey"', '<script>evil()</script><meta name="survey"'))
    pages.append(re.sub(' integrity="[^"]*"', "", HONEST))
    pages.append(HONEST.replace("script-src 'self'", "script-src 'self' https://evil.example"))
    assert honest not in compared(tmp_path, pages)


@pytest.mark.parametrize(
    "name",
    [
        "extremal.js",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("start.js", "words.js", "form.js", "form.css", "survey.json")
        ),
    ],
)
def test_browsers_refuse_files_that_the_page_does_not_name(device, name):
    """Each file with one more blank: what the one digest covers."""
    changed = dict(SURVEY)
    changed[f"/{name}"] = (SURVEY.get(f"/{name}") or (STATIC / name).read_text(encoding="utf-8")) + " "
    with serving(changed) as site:
        site.index = HONEST
        page = device.as_new()
        page.goto(site.address, wait_until="networkidle")
        if name == "form.css":
            page.wait_for_selector("#start:visible")
            assert page.evaluate("document.styleSheets.length") == 0
        else:
            page.wait_for_timeout(100)
            assert page.is_hidden("#start")
        site.restart(SURVEY)
        page.goto(site.address)
        page.wait_for_selector("#start:visible")


@pytest.mark.parametrize("name", ["extremal.js", "words.js"])
def test_a_script_that_was_refused_is_not_loaded_again_for_an_import(device, name):
    """A browser forgets that it has refused a file; the file that imports it comes later here."""
    text = (STATIC / name).read_text(encoding="utf-8")
    with serving({**SURVEY, f"/{name}": f"{text}\nwindow.evil = true;"}) as site:
        site.index = HONEST
        site.free.clear()
        site.held = "form.js"
        page = device.as_new()
        page.goto(site.address, wait_until="commit")
        until(page, "document.getElementById('waiting')?.textContent.includes('did not work')")
        site.held = ""
        site.free.set()
        page.wait_for_timeout(300)
        assert page.evaluate("window.evil") is None
        assert page.is_hidden("#start")


def test_the_page_refuses_mechanisms_that_its_survey_does_not_name(device):
    other = certified({"never": 0.5, "once": 0.3, "often": 0.2}, 0.5)
    with serving({**SURVEY, "/mechanisms/q-0.json": other.to_json()}) as site:
        page = device.as_new()
        page.goto(site.address)
        page.wait_for_selector("#notices .wrong")
        assert "do not fit together" in page.inner_text("#notices")


def test_the_digest_of_a_page_is_what_sha256sum_prints(tmp_path):
    published = phones.published()
    page = page_of(published, "reports")
    with create_store(tmp_path / "survey.db", published) as store, running(store) as (base, _):
        _, _, text = phones.ask(base, "GET", "/")
        assert hashlib.sha256(text.encode()).hexdigest() == page.digest
        for name, content in page.files.items():
            assert phones.ask(base, "GET", f"/{name}")[2] == content
    altered = dataclasses.replace(published, introduction="Other words.")
    assert page_of(altered, "reports").digest != page.digest
