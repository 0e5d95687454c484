"""Who may draw twice: nobody under one survey id, whatever is served where, in real browsers."""

import itertools
import json

import pytest

from tests.support.browser import PHONE, Device, barriers, until
from tests.support.survey_site import HEADERS, ID, certified, kept, kept_of, serving, survey

ANSWERS = ["never", "once", "often"]
VISITS = {"name": "visits", "text": "How often?", "kind": "single", "answers": ANSWERS}
MECHANISM = certified(dict(zip(ANSWERS, [0.5, 0.3, 0.2], strict=True)), 0.4)
OTHER = certified(dict(zip(ANSWERS, [0.2, 0.3, 0.5], strict=True)), 0.6)
ONE = survey([(VISITS, [MECHANISM])])
ALONE = "BroadcastChannel.prototype.postMessage = () => {};"  # tabs hear nothing of each other
# Counts the draws of all tabs that this script starts in.
COUNTING = """
    window.draws = 0;
    const { getRandomValues } = Crypto.prototype;
    Crypto.prototype.getRandomValues = function (...a) { window.draws += 1; return getRandomValues.apply(this, a); };
"""


@pytest.fixture
def site():
    with serving(ONE) as found:
        yield found


@pytest.fixture
def phone(browser):
    device = Device(browser, viewport=PHONE)
    yield device
    device.close()
    assert device.errors == []


def answer(page, choice=0):
    page.click("#start")
    page.locator("#question-0 label").nth(choice).click()
    page.click("text=Continue")
    page.click("#draw")
    page.wait_for_selector("#send:visible")


def shown(page):
    page.wait_for_selector("#report:visible, #done:visible")
    return page.text_content("#body")


def served(k):
    """What a collector may try: the same survey under another digest, other texts, mechanisms, order and answers."""
    second = {**VISITS, "name": "second", "text": "And before?"}
    return [
        survey([(VISITS, [MECHANISM])], digest="d2" * 32),
        survey(
            [({**VISITS, "text": "Really, how often?"}, [MECHANISM])], title="Another title", digest="d3" * 32
        ),
        survey([(VISITS, [OTHER])], digest="d4" * 32),
        survey([({**VISITS, "name": "again"}, [OTHER])], digest="d5" * 32),
        survey([(second, [MECHANISM]), (VISITS, [OTHER])], digest="d6" * 32),
        survey(
            [({**VISITS, "answers": ["no", "yes"]}, [certified({"no": 0.6, "yes": 0.4}, 0.5)])],
            digest="d7" * 32,
        ),
    ][k]


@pytest.mark.slow
def test_redirects_and_changed_surveys_under_one_id_get_the_same_bytes(site, phone):
    page = phone.as_new(COUNTING)
    page.goto(site.address)
    answer(page)
    first = page.text_content("#body")
    draws = [page.evaluate("draws")]
    sent = []
    for k in range(6):
        site.restart(served(k))
        site.redirects["/"] = f"/s{k}/"
        page.goto(site.address)
        assert f"/s{k}/" in page.url
        assert shown(page) == first
        assert page.locator("input").count() == 0
        draws.append(page.evaluate("draws"))
        site.replies.append((409, {"error": "Another version."}, False))
        page.click("#send")
        until(page, "document.getElementById('progress').textContent.includes('Another version.')")
        sent += site.bodies
    assert draws == [2, 0, 0, 0, 0, 0, 0]  # the id and one report, once
    assert {body.decode() for body in sent} == {first}
    assert len(sent) == 6
    site.restart(ONE)
    page.goto(site.address)
    page.click("#send")
    page.wait_for_selector("#done:visible")
    assert {body.decode() for body in site.bodies} == {first}
    site.restart(served(3))
    page.goto(f"{site.address}s9/")
    page.wait_for_selector("#done:visible")
    assert site.bodies == []


@pytest.mark.parametrize("k", [2, 5])
def test_a_report_of_an_earlier_version_is_shown_without_figures_that_do_not_belong_to_it(site, phone, k):
    page = phone.as_new()
    page.goto(site.address)
    answer(page)
    report = json.loads(page.text_content("#body"))["reports"]["visits"]
    site.restart(served(k))
    page.reload()
    shown(page)
    assert page.inner_text("#reports p") == f"Report, made for an earlier version of this question: {report}"
    assert page.locator("#reports table").count() == 0
    assert "makes no second one" in page.inner_text("#together")


def test_a_text_that_was_corrected_leaves_the_figures(site, phone):
    page = phone.as_new()
    page.goto(site.address)
    answer(page)
    before = page.inner_text("#reports .card p >> nth=1")
    site.restart(served(1))
    page.reload()
    shown(page)
    assert page.inner_text("#reports .card p >> nth=1") == before
    assert page.inner_text("#reports h3") == "Really, how often?"


def test_another_id_draws_again_and_the_page_says_so_before_it_asks(site, phone):
    page = phone.as_new()
    page.goto(site.address)
    assert page.inner_text("#notices") == ""
    answer(page)
    site.restart(survey([(VISITS, [MECHANISM])], id="another-survey"))
    page.reload()
    page.wait_for_selector("#start:visible")
    assert "answered another survey at this address" in page.inner_text("#notices")
    answer(page)
    assert set(kept(page)) == {f"survey {ID}", "survey another-survey"}


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_tabs_that_draw_in_the_same_moment_draw_once(site, phone, rounds):
    """Several processes of the browser, all told to click at one moment of the clock, over and over."""
    phone.as_new().close()
    phone.context.add_init_script(ALONE + COUNTING)
    tabs = [phone.context.new_page() for _ in range(3)]
    for k in range(rounds):
        site.restart(survey([(VISITS, [MECHANISM])], id=f"survey-number-{k}"))
        for tab, choice in zip(tabs, itertools.cycle(range(3)), strict=False):
            tab.goto(site.address)
            tab.click("#start")
            tab.locator("#question-0 label").nth(choice).click()
            tab.click("text=Continue")
        moment = tabs[0].evaluate("Date.now() + 150")
        for tab in tabs:
            tab.evaluate(
                "(moment) => { setTimeout(() => document.getElementById('draw').click(), moment - Date.now()); }",
                moment,
            )
        bodies = {shown(tab) for tab in tabs}
        assert len(bodies) == 1
        assert sorted(tab.evaluate("draws") for tab in tabs) == [0, 0, 2]


def test_invitations_that_come_and_go_do_not_make_one_person_draw_again(site, phone):
    """Only somebody who says that they are another person gets another report."""
    invited = survey([(VISITS, [MECHANISM])], invitation=True)
    one, two = "ab" * 16, "cd" * 16
    site.restart(invited)
    page = phone.as_new(ALONE + COUNTING)
    late = phone.context.new_page()  # has loaded the page before anything was drawn
    late.goto(f"{site.address}#{two}")
    late.click("#start")
    late.locator("#question-0 label").nth(1).click()
    late.click("text=Continue")
    page.goto(f"{site.address}#{one}")
    answer(page)
    first = page.text_content("#body")
    late.click("#draw")
    late.wait_for_selector("#other:visible")
    assert barriers(late) == []
    site.redirects["/"] = f"/s1/#{two}"
    page.goto("about:blank")
    page.goto(site.address)
    page.wait_for_selector("#other:visible")
    assert page.evaluate("draws") == 0
    assert page.is_hidden("#start")
    site.restart(ONE)
    page.goto(f"{site.address}s2/")
    assert shown(page) == first
    assert kept_of(page, one)["body"] == first
    assert set(kept(page)[f"survey {ID}"]) == {one}


def test_in_a_sandbox_where_nothing_is_kept_nothing_is_asked(site, phone, monkeypatch):
    monkeypatch.setitem(HEADERS, "Access-Control-Allow-Origin", "*")  # or the sandbox has no scripts at all
    site.policy += "; sandbox allow-scripts allow-forms"
    page = phone.as_new()
    page.goto(site.address)
    page.wait_for_selector("#notices .wrong")
    assert "keeps nothing" in page.inner_text("#notices")
    assert page.is_hidden("#start")


def test_inside_another_page_which_can_watch_it_and_splits_what_is_kept_nothing_is_asked(site, phone):
    site.policy = ""
    site.files |= {"/around.html": '<!doctype html><iframe src="/"></iframe>'}
    page = phone.as_new()
    page.goto(f"{site.address}around.html")
    inside = page.frame_locator("iframe")
    inside.locator("#notices .wrong").wait_for()
    assert "inside another page" in inside.locator("#notices").inner_text()
    assert inside.locator("#start").is_hidden()


def test_a_page_that_did_not_come_over_https_draws_nothing(site, phone):
    """The name of another machine, over http, in a real browser: an insecure context."""
    page = phone.as_new()

    def forward(route):
        address = route.request.url.replace("http://survey.example.org/", site.address)
        route.fulfill(response=route.fetch(url=address))

    page.route("http://survey.example.org/**", forward)
    page.goto("http://survey.example.org/")
    page.wait_for_selector("#notices .wrong")
    assert "did not come over https" in page.inner_text("#notices")
    assert page.is_hidden("#start")
    assert page.is_hidden("#check")
    said = page.evaluate(
        """async (text) => {
            const { load } = await import("/extremal.js");
            try { await load(text).verify(); return "verified"; } catch (error) { return error.message; }
        }""",
        MECHANISM.to_json(),
    )
    assert "https" in said
    assert site.bodies == []


# drawOnce, in forms of one's own

ONCE = """async ([text, answer, name]) => {
    const { load } = await import("/extremal.js");
    const mechanism = load(text);
    await mechanism.verify();
    const once = () => mechanism.drawOnce(answer, name).catch((error) => error.message);
    return [...await Promise.all(Array.from({ length: 20 }, once)), await once()];
}"""


def test_a_form_of_ones_own_draws_once_under_one_name_of_a_site(site, phone):
    page = phone.as_new()
    found = set()
    for k in range(3):
        page.goto(f"{site.address}s{k}/")
        found |= set(page.evaluate(ONCE, [MECHANISM.to_json(), ANSWERS[k], "visits"]))
    (report,) = found
    assert report in MECHANISM.mechanism.outputs
    said = set(page.evaluate(ONCE, [OTHER.to_json(), "never", "visits"]))
    assert said == {
        "This browser keeps a report from an earlier version of this question, and makes no second one."
    }
    assert kept(page)["question visits"] == {"digest": MECHANISM.digest, "report": report}
    page.evaluate(ONCE, [MECHANISM.to_json(), "never", "visits, second wave"])
    assert {"question visits", "question visits, second wave"} == set(kept(page))


def test_a_form_of_ones_own_draws_nothing_where_nothing_is_kept(site, phone):
    page = phone.as_new(COUNTING + "Object.defineProperty(window, 'indexedDB', { value: undefined });")
    page.goto(site.address)
    (said,) = set(page.evaluate(ONCE, [MECHANISM.to_json(), "never", "visits"]))
    assert "keeps nothing" in said
    assert page.evaluate("draws") == 0
