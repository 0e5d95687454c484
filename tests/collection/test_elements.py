"""<extremal-question> in a browser: what it asks, what the form gets, and what the page around can see."""

import json
import re
from itertools import groupby
from urllib.parse import urlsplit

import numpy as np
import pytest
from scipy import stats

from tests.support.browser import PHONE, Device, axe, until
from tests.support.closed import FIXED, SPY, Inside, words
from tests.support.survey_site import STATIC, certified, kept, serving

pytestmark = pytest.mark.slow  # a browser for half a minute; test_form looks at the page itself

ANSWERS = ["never", "once", "I prefer not to say"]
MECHANISM = certified(dict(zip(ANSWERS, [0.5, 0.3, 0.2], strict=True)), 0.6)
OTHER = certified(dict(zip(ANSWERS, [0.2, 0.3, 0.5], strict=True)), 0.6)
NAME = "drinks at work, 2026"
FILES = {"/mechanism.json": MECHANISM.to_json(), "/other.json": OTHER.to_json()}
FORM = """<!doctype html><html lang="{lang}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>A form</title><main><h1>A form</h1><form method="post" action="reports">
<label>Age <input name="age" value="40"></label>
{question}
<button>Send</button></form></main><script type="module" src="/elements.js"></script>"""
USUAL = {
    "name": "drinks",
    "question": NAME,
    "mechanism": "/mechanism.json",
    "text": "How often did you drink at work?",
}
TEXTS = json.loads((STATIC / "texts.js").read_text(encoding="utf-8").removeprefix("export default "))


def question(tag="extremal-question", **changes):
    given = {**USUAL, **changes}
    said = " ".join(
        f'{name}="{value.replace(chr(34), "&quot;")}"' for name, value in given.items() if value is not None
    )
    return f"<{tag} {said}>This question needs JavaScript.</{tag}>"


def form(lang="en", inside="", **changes):
    return FORM.format(lang=lang, question=inside or question(**changes))


@pytest.fixture
def site():
    with serving({**FILES, "/form.html": form()}) as found:
        found.policy = "default-src 'self'"
        yield found


@pytest.fixture(scope="module")
def device(browser):
    made = Device(browser, viewport=PHONE)
    yield made
    made.close()


@pytest.fixture
def visit(site, device):
    """Opens the form as it is given, on a device that is new unless it is said to stay."""

    def opened(page="", stays=False, script=""):
        site.files["/form.html"] = page or form()
        tab = device.tab if stays else device.as_new(script)
        tab.goto(site.address)
        return tab, Inside(tab)

    yield opened
    assert device.errors == []


def fields(page):
    return dict(page.evaluate("[...new FormData(document.forms[0])]"))


def of(page, what):
    return page.evaluate(f"document.querySelector('extremal-question').{what}")


# ---- What is asked, and what the form gets


def test_the_total_and_the_choice_come_before_the_answers(visit):
    """And beside each answer stands what it would send; nothing is drawn before somebody decided to send it."""
    page, inside = visit(form(collector="The institute", link="/respondents.html", together="4.2"))
    inside.wait("button", "Go to the answers")
    said = inside.text()
    for part in ["1.83 times", "4.2 times", "can rule answers out", "not marked private", "The institute"]:
        assert part in said
    assert inside.find("link", "how to check it")
    assert inside.find("radio") is None
    inside.press("button", "Go to the answers")
    first = inside.wait("radio", "never").description
    chances = [round(100 * x) for x in MECHANISM.mechanism.matrix[0]]
    assert re.findall(r"(\d+) send", first) == [str(x) for x in chances if x]
    assert "decide now" in inside.text()
    assert kept(page) == {}
    assert of(page, "value") == ""


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_form_sends_the_report_and_nothing_else_of_the_question(visit, site, answer):
    page, inside = visit()
    assert fields(page) == {"age": "40"}
    inside.answer(answer)
    inside.says("Chance gave")
    (record,) = kept(page).values()
    assert record == {"digest": MECHANISM.digest, "report": of(page, "report")}
    assert fields(page) == {"age": "40", "drinks": str(record["report"])}
    assert inside.find("radio") is None
    with page.expect_navigation():
        page.click("text=Send")
    assert site.bodies == [f"age=40&drinks={record['report']}".encode()]


def test_a_rebuilt_element_gives_the_report_that_is_kept(visit, site):
    """Reloads, new elements, clones, moves, resets, other documents: one report for one question and person."""
    page, inside = visit()
    inside.answer("once")
    inside.says("Chance gave")
    first = of(page, "value")
    page.goto(site.address)
    inside.says("already drawn")
    assert of(page, "value") == first
    for change in [
        "const e = document.querySelector('extremal-question'); const c = e.cloneNode(true); e.replaceWith(c);",
        "const e = document.querySelector('extremal-question'); document.forms[0].append(e);",
        "document.forms[0].reset();",
        "const e = document.querySelector('extremal-question'); e.outerHTML = e.outerHTML;",
        "const e = document.querySelector('extremal-question'); e.setAttribute('text', 'Really?');",
        """const e = document.querySelector('extremal-question'); const f = document.createElement('iframe');
           f.srcdoc = '<form></form>'; document.body.append(f);
           f.onload = () => { f.contentDocument.forms[0].append(e); document.forms[0].append(e); };""",
    ]:
        page.evaluate(f"() => {{ {change} }}")
        page.wait_for_timeout(50)
        until(page, f"document.querySelector('extremal-question')?.value === '{first}'")
        assert fields(page)["drinks"] == first
    assert len(kept(page)) == 1


def test_a_host_that_rebuilds_the_element_at_every_event_gets_one_report(visit):
    """Its listeners come first, and take the element away in the middle of the draw."""
    script = """
        addEventListener("click", () => {
            const element = document.querySelector("extremal-question");
            window.rebuilt = (window.rebuilt ?? 0) + 1;
            if (window.meddle) element.replaceWith(element.cloneNode(true));
        }, true);
    """
    page, inside = visit(script=script)
    inside.press("button", "Go to the answers")
    inside.press("radio", "once")
    page.evaluate("window.meddle = true")
    inside.press("button", "Draw my report")
    for _ in range(200):  # the click may have come too late for the element that was taken away
        page.wait_for_timeout(20)
        if inside.find("button", "Go to the answers") or kept(page):
            break
    page.evaluate("window.meddle = false")
    if not kept(page):
        inside.answer("once")
    until(page, "document.querySelector('extremal-question').value !== ''")
    (record,) = kept(page).values()
    assert fields(page)["drinks"] == str(record["report"])


HOLD = """() => new Promise((held) => {
    indexedDB.open("extremal", 1).onsuccess = ({ target: { result: database } }) => {
        const store = database.transaction("kept", "readwrite").objectStore("kept");
        const wait = () => {
            held();
            if (window.released) database.close();
            else store.get("all").onsuccess = wait;
        };
        wait();
    };
})"""  # the browser's store, which a page of the same site can make wait


@pytest.mark.parametrize("when", ["before the answers", "before the draw", "during the draw"])
def test_a_host_that_changes_the_mechanism_gets_no_report_from_one_of_which_nobody_has_read(visit, when):
    page, inside = visit()
    inside.wait("button", "Go to the answers")
    if when != "before the answers":
        inside.press("button", "Go to the answers")
        inside.press("radio", "once")
    page.evaluate(HOLD)
    if when == "during the draw":
        inside.press("button", "Draw my report")
    page.evaluate("document.querySelector('extremal-question').setAttribute('mechanism', '/other.json')")
    page.wait_for_timeout(500)  # for the other mechanism to be there, if it is to come in between
    if when == "before the answers":
        inside.press("button", "Go to the answers")
        assert inside.find("radio") is None
    if when == "before the draw":
        inside.press("radio", "once")
        inside.press("button", "Draw my report")
    page.evaluate("window.released = true")
    inside.wait("button", "Go to the answers")
    page.wait_for_timeout(200)
    assert kept(page) == {}
    assert of(page, "value") == ""


def test_two_elements_with_one_question_give_one_report(visit):
    page, inside = visit(form(inside=question() + question(name="again")))
    inside.answer("never")
    until(page, "[...document.querySelectorAll('extremal-question')].every((e) => e.value !== '')")
    sent = fields(page)
    assert sent["drinks"] == sent["again"]
    assert len(kept(page)) == 1


def test_another_person_gets_another_report_and_is_told_of_the_first(visit):
    page, inside = visit(form(person="17"))
    inside.answer("never")
    inside.says("Chance gave")
    assert "for another person" not in inside.text()
    page, inside = visit(form(person="18"), stays=True)
    inside.says("for another person")
    assert of(page, "value") == ""
    page, inside = visit(form(person="17"), stays=True)
    inside.says("already drawn")


def test_a_question_can_be_skipped_even_if_the_form_requires_it(visit):
    page, inside = visit(form(required=""))
    inside.wait("button", "Skip")
    assert not page.evaluate("document.forms[0].checkValidity()")
    inside.press("button", "Skip this question")
    inside.says("You have skipped")
    assert page.evaluate("document.forms[0].checkValidity()")
    assert of(page, "skipped")
    assert "drinks" not in fields(page)
    assert kept(page) == {}
    inside.press("button", "Answer it after all")
    inside.answer("never")
    inside.says("Chance gave")
    assert "drinks" in fields(page)


def test_nothing_is_drawn_without_an_answer(visit):
    page, inside = visit()
    inside.press("button", "Go to the answers")
    inside.press("button", "Draw my report")
    inside.says("Please choose an answer")
    assert kept(page) == {}


# ---- In place of the question


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"mechanism": None}, '"mechanism" is missing'),
        ({"question": None}, '"question" is missing'),
        ({"text": None}, '"text" is missing'),
        ({"answers": '{"never": "Nie"}'}, "no text for once"),
        (
            {"answers": json.dumps(dict.fromkeys([*ANSWERS, "often"], "?"))},
            "often, which the mechanism does not know",
        ),
        ({"answers": "{"}, "not JSON"),
        ({"together": "none"}, '"together" must be'),
        ({"mechanism": "/nowhere.json"}, "could not be loaded"),
        ({"mechanism": "/elements.js"}, "it is not JSON"),
        ({"mechanism": "/leaky.json"}, "leaks more"),
    ],
)
def test_a_sentence_stands_where_nothing_can_be_asked(visit, site, changes, says):
    """Also where a host took attributes away: never the plain question, and the form can be sent."""
    site.files["/leaky.json"] = MECHANISM.to_json().replace('"epsilon": "0.6"', '"epsilon": "0.5"')
    page, inside = visit(form(required="", **changes))
    inside.says(says).says("Nothing about it has been sent.")
    assert inside.find("radio") is None
    assert "drinks" not in fields(page)
    assert page.evaluate("document.forms[0].checkValidity()")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("Object.defineProperty(window, 'isSecureContext', { value: false });", "did not come over https"),
        ("Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined });", "too old"),
        ("IDBFactory.prototype.open = () => { throw new Error(); };", "keeps nothing for this page"),
    ],
)
def test_a_browser_that_cannot_draw_or_keep_shows_a_sentence(visit, script, says):
    page, inside = visit(script=script)
    inside.says(says)
    assert inside.find("radio") is None
    assert "drinks" not in fields(page)


def test_a_page_that_came_over_http_asks_nothing(site, device):
    """From another machine than this one, of which browsers make an exception."""
    page = device.as_new()

    def answer(route):
        path = urlsplit(route.request.url).path
        content = site.files.get(path) or (STATIC / path[1:]).read_text(encoding="utf-8")
        kind = "text/javascript" if path.endswith(".js") else "text/html"
        route.fulfill(body=content, content_type=f"{kind}; charset=utf-8")

    page.route("http://forms.example/**", answer)
    page.goto("http://forms.example/form.html")
    assert not page.evaluate("isSecureContext")
    inside = Inside(page).says("did not come over https").says("Nothing about it has been sent.")
    assert inside.find("radio") is None
    assert fields(page) == {"age": "40"}
    page.unroute("http://forms.example/**")


def test_without_javascript_stands_what_the_page_wrote(site, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.address)
    assert page.inner_text("extremal-question") == "This question needs JavaScript."
    with page.expect_navigation():
        page.click("text=Send")
    assert site.bodies == [b"age=40"]
    context.close()


def test_a_report_from_another_mechanism_is_not_sent_and_none_is_drawn(visit):
    page, inside = visit()
    inside.answer("never")
    inside.says("Chance gave")
    page, inside = visit(form(mechanism="/other.json"), stays=True)
    inside.says("earlier version")
    assert "drinks" not in fields(page)
    assert len(kept(page)) == 1


def test_a_lost_connection_can_be_tried_again(visit, site):
    held = site.files.pop("/mechanism.json")
    _, inside = visit()
    inside.says("could not be loaded")
    site.files["/mechanism.json"] = held
    inside.press("button", "Try again")
    inside.wait("button", "Go to the answers")


# ---- What the page around can see


def by_mouse(page, inside, answer):
    inside.press("radio", answer)


def by_keyboard(page, inside, answer):
    """From the fieldset, which has the focus, to the answer and back to the first button."""
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    for _ in range(ANSWERS.index(answer)):
        page.keyboard.press("ArrowDown")


@pytest.mark.parametrize("choose", [pytest.param(by_mouse, marks=pytest.mark.slow), by_keyboard])
def test_what_the_page_sees_and_what_leaves_depends_on_the_answer_only_through_the_report(
    site, device, choose
):
    """Events, mutations, sizes, states, selection, storage, the form and every byte of all requests."""
    before, after = {}, {}
    for report, answer, word in words(MECHANISM):
        site.restart({**FILES, "/form.html": form(required="")})
        page = device.as_new(SPY + FIXED + f"window.word = '{word}';")
        page.set_viewport_size({"width": 390, "height": 1400})
        page.goto(site.address)
        inside = Inside(page)
        inside.press("button", "Go to the answers")
        inside.wait("radio")
        page.wait_for_timeout(50)
        page.evaluate("seen.length = 0")  # how a page loads differs from time to time
        choose(page, inside, answer)
        assert inside.find("radio", answer).states["checked"] == "true"
        page.wait_for_timeout(150)  # observers of timing tell what they saw a little later
        assert not [entry for entry in page.evaluate("seen") if entry[0] == "inside"]
        before[report, answer] = page.evaluate("[seen, snap()]")
        inside.press("button", "Draw my report")
        inside.says("Chance gave")
        page.wait_for_timeout(50)
        assert of(page, "report") == report
        seen = page.evaluate("[seen, snap()]")
        stored = kept(page)
        with page.expect_navigation():
            page.click("text=Send")
        after[report, answer] = seen, stored, sorted(site.requests)  # modules are asked for at the same time
    assert len(before) > len(MECHANISM.outputs) + 2  # several answers send the same report
    first = next(iter(before.values()))
    for found in before.values():
        assert found == first, "the page can tell answers apart before anything is drawn"
    for _, group in groupby(sorted(after), key=lambda pair: pair[0]):
        same = [after[pair] for pair in group]
        for found in same:
            for part, first in zip(found, same[0], strict=True):
                assert part == first, "the page can tell answers with one report apart"


@pytest.mark.slow
def test_the_time_that_a_draw_takes_does_not_tell_the_answer(visit):
    """From the tap to the event, for two answers that send the same report, in random order; by ranks, at 1e-6."""
    page, inside = visit(script=FIXED)
    both = {}
    for report, answer, word in words(MECHANISM):
        both.setdefault(report, {})[answer] = word
    (first, one), (second, other) = next(list(found.items())[:2] for found in both.values() if len(found) > 1)
    times = {first: [], second: []}
    rng = np.random.default_rng(0)
    page.evaluate(
        """() => {
            addEventListener("pointerup", () => { window.tapped = performance.now(); }, true);
            addEventListener("change", () => { window.took = performance.now() - tapped; });
        }"""
    )
    for k, which in enumerate(rng.permutation([0, 1] * 60)):
        answer, word = ((first, one), (second, other))[which]
        page.evaluate(
            "([k, word]) => { window.word = word; window.took = null; "
            "document.querySelector('extremal-question').setAttribute('question', `q${k}`); }",
            [k, str(word)],
        )
        inside.press("button", "Go to the answers")
        inside.press("radio", answer)
        inside.press("button", "Draw my report")
        until(page, "window.took !== null && document.querySelector('extremal-question').value !== ''")
        times[answer].append(page.evaluate("took"))
    ranks = stats.mannwhitneyu(times[first], times[second])
    assert ranks.pvalue > 1e-6


def test_no_style_of_the_page_reaches_the_state_of_an_answer(visit):
    """Parts are on what does not change with the answer; a page that styles all of them measures nothing."""
    page, inside = visit()
    parts = sorted(
        {p for m in re.findall(r'part: "([\w ]+)"', (STATIC / "elements.js").read_text()) for p in m.split()}
    )
    states = [":checked", ":focus", ":focus-within", ":active", ":has(:checked)", ":hover"]
    rules = [
        f"extremal-question::part({part}){state} {{ padding-bottom: 50px }}"
        for part in parts
        for state in states
    ]
    inside.press("button", "Go to the answers")
    inside.wait("radio")
    page.evaluate(
        """(rules) => { const sheet = new CSSStyleSheet(); document.adoptedStyleSheets = [sheet];
           for (const rule of rules) { try { sheet.insertRule(rule); } catch {} } }""",
        rules,
    )
    heights = []
    for answer in ANSWERS:
        inside.press("radio", answer)
        assert inside.find("radio", answer).states["checked"] == "true"
        heights.append(of(page, "getBoundingClientRect().height"))
    assert len(set(heights)) == 1


@pytest.mark.parametrize("leave", ["reload", "back", "elsewhere", "reset"])
def test_a_choice_does_not_outlive_the_page(visit, site, leave):
    """Reload, back and forward, an element that is taken out and put back, a reset: nothing is chosen any more."""
    page, inside = visit()
    inside.press("button", "Go to the answers")
    inside.press("radio", "once")
    if leave == "reload":
        page.reload()
    elif leave == "back":
        page.goto(f"{site.address}mechanism.json")
        page.go_back()
    elif leave == "elsewhere":
        page.evaluate(
            "() => { const e = document.querySelector('extremal-question'); e.remove(); document.forms[0].append(e); }"
        )
    else:
        page.evaluate("document.forms[0].reset()")
    inside = Inside(page)
    page.wait_for_timeout(200)
    if inside.find("button", "Go to the answers"):
        inside.press("button", "Go to the answers")
    inside.wait("radio")
    assert all(node.states["checked"] == "false" for node in inside.nodes() if node.role == "radio")
    inside.press("button", "Draw my report")
    inside.says("Please choose an answer")
    assert kept(page) == {}


# ---- For everybody


@pytest.mark.parametrize("lang", sorted(TEXTS))
def test_every_language_is_complete_and_has_its_own_names_and_direction(lang):
    assert TEXTS[lang].keys() == TEXTS["en"].keys()
    for key, sentence in TEXTS[lang].items():
        assert sentence
        assert set(re.findall(r"\{\w+\}", sentence)) == set(re.findall(r"\{\w+\}", TEXTS["en"][key])), key


def test_no_sentence_is_without_a_use_and_none_is_lacking():
    code = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("elements.js", "words.js"))
    said = set(re.findall(r'"(\w+)"', code)) | {"direction"}
    assert set(TEXTS["en"]) - said - {"prefer_not", "reviewed"} == set()
    called = set(re.findall(r'say\("(\w+)"', code)) | set(re.findall(r'(?:Stop|must)\([^;]*?, "(\w+)"', code))
    assert called <= set(TEXTS["en"])


OPEN = """
    const attach = Element.prototype.attachShadow;
    Element.prototype.attachShadow = function (options) { return attach.call(this, { ...options, mode: "open" }); };
"""


@pytest.mark.parametrize(
    "lang", [x if x == "ar" else pytest.param(x, marks=pytest.mark.slow) for x in sorted(TEXTS)]
)
def test_nobody_is_kept_out_in_any_state(visit, lang):
    """axe looks through the shadow roots, which are open in this test alone; nothing is wider than a small phone."""
    names = dict(zip(ANSWERS, ["A", "B", "C"], strict=True))
    page, inside = visit(form(lang, answers=json.dumps(names), link="/r.html", required=""), script=OPEN)
    page.set_viewport_size({"width": 320, "height": 700})
    say = TEXTS[lang]

    def fine():
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert of(page, "shadowRoot.firstElementChild.dir") == say["direction"]

    inside.wait("button", say["start"])
    fine()
    inside.press("button", say["start"])
    inside.wait("radio")
    inside.press("button", say["draw"])
    inside.says(say["choose"])
    fine()
    inside.press("button", say["skip"])
    inside.says(say["skipped"])
    fine()
    inside.press("button", say["unskip"])
    inside.answer("B", say["start"], say["draw"])
    inside.says(say["leave"])
    fine()
    page.evaluate("document.querySelector('extremal-question').removeAttribute('question')")
    inside.says(say["setup"])
    fine()


def test_the_whole_way_goes_by_keyboard_and_the_reader_is_led_on(visit):
    page, inside = visit()
    inside.wait("button", "Go to the answers")
    page.focus("input[name=age]")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    inside.wait("radio")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    inside.says("Chance gave")
    assert page.evaluate("document.activeElement.localName") == "extremal-question"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Send"


def test_the_elements_are_light():
    """With one language; each further one adds little."""
    import gzip

    code = b"".join((STATIC / name).read_bytes() for name in ("extremal.js", "elements.js", "words.js"))
    sizes = {lang: json.dumps(TEXTS[lang], ensure_ascii=False).encode() for lang in TEXTS}
    assert len(code + sizes["en"]) < 50_000
    assert len(gzip.compress(code + sizes["en"])) < 18_000
    assert all(len(gzip.compress(text)) < 4_000 for text in sizes.values())
