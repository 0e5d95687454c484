"""The npm package inside the survey tools of others, driven in a browser: what the host stores is the report.

SurveyJS and jsPsych are those of npm, in the versions of tests/support/hosts.
"""

import json
import re
import subprocess
from itertools import groupby

import pytest

from tests.support import npm
from tests.support.browser import PHONE, Device, screenshot, until
from tests.support.closed import FIXED, Inside, words
from tests.support.survey_site import STATIC, certified, kept, serving

pytestmark = pytest.mark.slow  # a browser, and packages of others

ANSWERS = ["never", "once", "often"]
MECHANISM = certified(dict(zip(ANSWERS, [0.5, 0.3, 0.2], strict=True)), 0.6)
NAME = "drinks at work, 2026"
# SurveyJS writes styles into the page; its scripts are files of the site.
POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:"
ASKED = {"question": NAME, "mechanism": "/mechanism.json"}
SURVEYJS = {
    "title": "Health",
    "showProgressBar": "top",
    "pages": [
        {
            "elements": [
                {"type": "text", "name": "age", "defaultValue": "40"},
                {
                    "type": "extremal",
                    "name": "drinks",
                    "title": {"default": "How often did you drink at work?", "fr": "Combien de fois ?"},
                    "isRequired": True,
                    **ASKED,
                },
            ]
        },
        {"elements": [{"type": "boolean", "name": "works", "defaultValue": True}]},
    ],
}
# The host's own script: it listens before anything else, saves at every change, and sends all that it has at the end.
SURVEYJS_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Health</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/survey.css"><main id="survey"></main>
<script src="/survey.core.js"></script><script src="/survey-js-ui.js"></script>
<script type="module" src="/host.js"></script>"""
SURVEYJS_HOST = """
import { register } from "/package/surveyjs.js";
register(Survey);
register(Survey); // a host that is loaded twice
const model = new Survey.Model(%s);
const saved = JSON.parse(localStorage.getItem("saved") ?? "{}");
if (saved.data) model.data = saved.data;
model.currentPageNo = saved.page ?? 0;
window.heard = [];
const save = () => localStorage.setItem("saved", JSON.stringify({ data: model.data, page: model.currentPageNo }));
model.onValueChanging.add((_, { name, value }) => heard.push(["changing", name, value ?? null]));
model.onValueChanged.add((_, { name, value }) => { heard.push(["changed", name, value ?? null]); save(); });
model.onCurrentPageChanged.add(save);
model.onComplete.add(({ data, timeSpent }) => {
    localStorage.removeItem("saved");
    fetch("/reports", { method: "POST", body: JSON.stringify({ id: "1", data }) });
});
window.model = model;
SurveyUI.renderSurvey(model, document.getElementById("survey"));
"""
JSPSYCH_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Health</title>
<script src="/jspsych-host.js"></script><script type="module" src="/host.js"></script>"""
JSPSYCH_HOST = """
import ExtremalPlugin from "/package/jspsych.js";
const jsPsych = jsPsychModule.initJsPsych({ on_finish: () => {
    fetch("/reports", { method: "POST", body: JSON.stringify({ id: "1", data: jsPsych.data.get().values() }) });
} });
const question = %s;
const trial = { type: ExtremalPlugin, text: "How often did you drink?", question, mechanism: "/mechanism.json" };
window.jsPsych = jsPsych;
jsPsych.run([{ ...trial, person: "17" }, { ...trial, person: "17", button_label: "Go on" }]);
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package: its archive and its folder."""
    return npm.packed(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def hosts():
    return npm.installed_hosts()


@pytest.fixture(scope="module")
def files(package, hosts):
    """What the site of a host hands out."""
    found = {f"/package/{path.name}": path.read_text(encoding="utf-8") for path in package[1].glob("*.js")}
    for name, path in {
        "survey.core.js": "survey-core/survey.core.min.js",
        "survey.css": "survey-core/survey-core.fontless.min.css",
        "survey-js-ui.js": "survey-js-ui/survey-js-ui.min.js",
        "jspsych-host.js": "jspsych/dist/index.browser.min.js",
    }.items():
        found[f"/{name}"] = (hosts / path).read_text(encoding="utf-8")
    return {**found, "/mechanism.json": MECHANISM.to_json()}


@pytest.fixture(scope="module")
def device(browser):
    made = Device(browser, viewport={**PHONE, "height": 1600})
    yield made
    made.close()


@pytest.fixture
def site(files, device):
    with serving(dict(files)) as found:
        found.policy = POLICY
        yield found
    assert device.errors == []


def surveyjs(site, questions=SURVEYJS):
    site.files |= {"/form.html": SURVEYJS_PAGE, "/host.js": SURVEYJS_HOST % json.dumps(questions)}
    return site.address


def sent(site, page):
    """What the host has stored on its server."""
    for _ in range(500):
        if site.bodies:
            return [json.loads(body)["data"] for body in site.bodies]
        page.wait_for_timeout(20)
    raise AssertionError("nothing was sent")


def finish(page):
    page.click("input[value=Next]")
    page.click("input[value=Complete]")


@pytest.mark.slow
def test_surveyjs_stores_the_report_and_learns_nothing_else(site, device):
    """All that the survey hears, keeps and sends, over every report that an answer can give."""
    found = {}
    for report, answer, word in words(MECHANISM):
        site.restart(site.files)
        page = device.as_new(FIXED + f"window.word = '{word}';")
        page.goto(surveyjs(site))
        inside = Inside(page)
        inside.answer(answer)
        until(page, "model.data.drinks !== undefined")
        told = page.evaluate(
            "[heard, { ...localStorage }, model.data, document.querySelector('main').innerText]"
        )
        finish(page)
        assert sent(site, page) == [{"age": "40", "drinks": report, "works": True}]
        found[report, answer] = told, sorted(site.requests)
    assert len(found) > len(MECHANISM.outputs) + 2  # several answers send the same report
    for report, group in groupby(sorted(found), key=lambda pair: pair[0]):
        told, requests = zip(*(found[pair] for pair in group), strict=True)
        assert all(one == told[0] for one in told)
        assert all(one == requests[0] for one in requests)
        changes = [entry for entry in told[0][0] if entry[1] == "drinks"]
        assert changes == [["changing", "drinks", report], ["changed", "drinks", report]]


def test_surveyjs_rebuilds_the_question_and_gets_the_report_that_is_kept(site, device):
    """Forward and back, another locale, a reload with what the host saved, and a new survey."""
    page = device.as_new()
    page.goto(surveyjs(site))
    inside = Inside(page)
    screenshot(page, "surveyjs-consent")
    inside.press("button", "Go to the answers")
    inside.wait("radio")
    screenshot(page, "surveyjs-answers")
    inside.press("radio", "once")
    inside.press("button", "Draw my report")
    until(page, "model.data.drinks !== undefined")
    screenshot(page, "surveyjs-report")
    first = page.evaluate("model.data.drinks")
    page.click("input[value=Next]")
    assert page.evaluate("document.querySelector('extremal-question')") is None
    page.click("input[value=Previous]")
    inside.says("already drawn")
    page.evaluate("() => { model.locale = 'fr'; }")
    inside.says("déjà")
    page.reload()
    Inside(page).says("already drawn")
    assert page.evaluate("model.data.drinks") == first
    page.evaluate("() => { model.clear(); }")
    until(page, f"model.data.drinks === {json.dumps(first)}")
    assert len(kept(page)) == 1
    finish(page)
    assert sent(site, page) == [{"age": "40", "drinks": first, "works": True}]


def test_surveyjs_goes_on_only_with_a_report_or_when_the_question_is_skipped(site, device):
    page = device.as_new()
    page.goto(surveyjs(site))
    inside = Inside(page)
    inside.wait("button", "Skip")
    page.click("input[value=Next]")
    assert page.evaluate("model.currentPageNo") == 0
    inside.press("button", "Skip this question")
    inside.says("You have skipped")
    finish(page)
    assert sent(site, page) == [{"age": "40", "works": True}]
    assert kept(page) == {}


def test_surveyjs_shows_a_sentence_where_it_lost_the_mechanism(site, device):
    """A host that strips what it does not know: the question's settings are gone, and nothing is asked."""
    lost = json.loads(json.dumps(SURVEYJS))
    for name in ASKED:
        del lost["pages"][0]["elements"][1][name]
    page = device.as_new()
    page.goto(surveyjs(site, lost))
    inside = Inside(page).says("is missing").says("Nothing about it has been sent.")
    assert inside.find("radio") is None


@pytest.mark.parametrize("answer", ANSWERS)
def test_jspsych_stores_the_report_and_no_response_time(site, device, answer):
    """A second trial for the same person gets the report that is kept."""
    site.files |= {"/form.html": JSPSYCH_PAGE, "/host.js": JSPSYCH_HOST % json.dumps(NAME)}
    page = device.as_new()
    page.goto(site.address)
    Inside(page).answer(answer)
    page.get_by_role("button", name="Continue").click()
    Inside(page).says("already drawn")
    screenshot(page, "jspsych-report")
    page.get_by_role("button", name="Go on").click()
    (trials,) = sent(site, page)
    (record,) = kept(page).values()
    for trial in trials:
        assert trial["report"] == record["report"]
        assert trial["skipped"] is False
        own = {"report", "skipped", "trial_type", "trial_index", "plugin_version", "time_elapsed"}
        assert set(trial) <= own
        assert answer not in json.dumps(trial)


def test_jspsych_tells_skipping(site, device):
    site.files |= {"/form.html": JSPSYCH_PAGE, "/host.js": JSPSYCH_HOST % json.dumps(NAME)}
    page = device.as_new()
    page.goto(site.address)
    for label in ("Continue", "Go on"):
        Inside(page).press("button", "Skip this question")
        page.get_by_role("button", name=label).click()
    (trials,) = sent(site, page)
    assert [(trial["report"], trial["skipped"]) for trial in trials] == [(None, True)] * 2


# The documentation


def block(kind, language):
    text = (npm.ROOT / "docs" / "api" / "embedding.md").read_text(encoding="utf-8")
    return re.search(rf"<!-- {kind}:{language} -->\n```{language}\n(.*?)```", text, re.S)[1]


def test_the_page_on_embedding_works_as_it_stands(site, device):
    """Its form, its survey and its trial, beside the files that it names, send the report of the kept record."""
    scripts = {f"/{path.name}": path.read_text(encoding="utf-8") for path in STATIC.glob("*.js")}
    names = {"/survey-core.fontless.min.css": "/survey.css", "/survey.core.min.js": "/survey.core.js"}
    site.files |= scripts | {name: site.files[old] for name, old in names.items()}
    site.files["/survey-js-ui.min.js"] = site.files["/survey-js-ui.js"]
    trial = block("jspsych", "js")
    run = "window.jsPsych = jsPsychModule.initJsPsych(); jsPsych.run([trial]);"
    pages = {
        "form": f'<!doctype html><html lang="en"><title>A form</title>{block("element", "html")}',
        "surveyjs": block("surveyjs", "html"),
        "jspsych": JSPSYCH_PAGE,
    }
    site.files |= {"/survey.js": block("surveyjs", "js"), "/host.js": trial + run}
    for kind, text in pages.items():
        site.restart({**site.files, "/form.html": text})
        page = device.as_new()
        page.goto(site.address)
        Inside(page).answer("often")
        Inside(page).says("Chance gave")
        (record,) = kept(page).values()
        if kind == "form":
            page.click("text=Send")
            expected = f"drinks={record['report']}".encode()
        elif kind == "surveyjs":
            page.click("input[value=Complete]")
            expected = json.dumps({"drinks": record["report"]}, separators=(",", ":")).encode()
        else:
            page.get_by_role("button", name="Continue").click()
            until(page, "jsPsych.data.get().count() === 1")
            stored = page.evaluate("jsPsych.data.get().ignore('time_elapsed').values()[0]")
            assert stored["report"] == record["report"]
            assert "time_elapsed" not in stored
            continue
        for _ in range(500):
            if site.bodies:
                break
            page.wait_for_timeout(20)
        assert set(site.bodies) == {expected}  # this server drops what has no id, and the browser tries again


# The package


def test_the_package_has_the_scripts_as_they_are_their_types_and_no_dependencies(package):
    folder = package[1]
    about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    assert not {"dependencies", "peerDependencies", "scripts", "bin"} & set(about)
    names = {path.name for path in folder.iterdir()}
    for name in names:
        if name.endswith(".js"):
            assert (folder / name).read_bytes() == (STATIC / name).read_bytes()
    entries = [entry for entry in about["exports"].values() if isinstance(entry, dict)]
    assert {entry[key][2:] for entry in entries for key in entry} <= names
    assert names - {"package.json", "README.md", "LICENSE"} == set(about["files"])
    assert {"extremal.js", "extremal-list.js", "elements.js", "jspsych.js", "surveyjs.js"} <= names


@pytest.mark.slow
def test_the_package_is_installed_imported_and_its_types_hold(package, hosts, tmp_path):
    """By Node without a page, as servers render, and by TypeScript, beside the types of jsPsych."""
    (tmp_path / "package.json").write_text('{"type": "module"}')
    done = npm.npm("install", str(package[0]), "--offline", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "use.js").write_text(
        """
        import { readFileSync } from "node:fs";
        import { load } from "extremal";
        import { questionOf, texts } from "extremal/elements";
        import Plugin from "extremal/jspsych";
        import { register } from "extremal/surveyjs";
        const mechanism = load(readFileSync("mechanism.json", "utf8"));
        const { factor } = await mechanism.verify();
        console.log(mechanism.outputs.includes(mechanism.draw("once")), factor, Object.keys(texts).length > 2,
            typeof questionOf, Plugin.info.name, typeof register);
        """
    )
    (tmp_path / "mechanism.json").write_text(MECHANISM.to_json())
    ran = subprocess.run(["node", "use.js"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout.split() == [
        "true",
        "1.8221188003905089",
        "true",
        "function",
        "extremal-question",
        "function",
    ]
    (tmp_path / "use.ts").write_text(
        """
        import { load, type Label } from "extremal";
        import { loadList } from "extremal/list";
        import { questionOf, type ExtremalQuestion } from "extremal/elements";
        import Plugin from "extremal/jspsych";
        import { register } from "extremal/surveyjs";
        const mechanism = load("{}");
        const report: Label = await mechanism.drawOnce("once", "drinks");
        const chances: number[] = mechanism.reveals(report).map(({ chance }) => chance);
        const place: number = (await loadList({})).draw("Lyon");
        const element: ExtremalQuestion = document.createElement("extremal-question");
        element.mechanism = "mechanism.json";
        const other = questionOf({ question: "drinks", text: "How often?", together: 2 });
        const gone: boolean = other.skipped && other.form === null;
        new Plugin({ finishTrial: ({ report }) => console.log(report, chances, place, gone) });
        register({});
        // @ts-expect-error the report is the form's to read
        element.value = "once";
        // @ts-expect-error no such setting
        questionOf({ answer: "once" });
        """
    )
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
    checked = subprocess.run(
        ["node", str(hosts / "typescript" / "bin" / "tsc"), *options, "use.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stdout) == (0, "")
