"""The respondent's page in a real browser: what leaves it, what it keeps, and that one person gives one report."""

import contextlib
import json
import random

import numpy as np
import pytest

from extremal._common.words import factor
from extremal.collection.wordings import catalogue
from tests.support.browser import PHONE, Device, until
from tests.support.survey_site import (
    HOLD_RETRIES,
    ID,
    RETRY,
    TRACES,
    certified,
    common_report,
    kept,
    kept_of,
    randomness,
    serving,
    subsets,
    survey,
    word_for,
)

VISITS = certified({"never": 0.5, "once": 0.3, "often": 0.2}, 0.4)
PILLS = certified(subsets([0.3, 0.2]), 0.5)
DEBTS = [certified({"no": 0.7, "yes": 0.3}, 0.3), certified({"no": 0.6, "yes": 0.4}, 0.3)]
QUESTIONS = [
    (
        {"name": "visits", "text": "How often?", "kind": "single", "answers": ["never", "once", "often"]},
        [VISITS],
    ),
    (
        {"name": "pills", "text": "Which?", "kind": "several", "form": "joint", "answers": ["A", "B"]},
        [PILLS],
    ),
    (
        {
            "name": "debts",
            "text": "For what?",
            "kind": "several",
            "form": "each",
            "independent": True,
            "answers": ["car", "house"],
        },
        DEBTS,
    ),
    ({"name": "age", "text": "Age?", "kind": "clear", "answers": ["young", "old"], "required": False}, []),
]
FILES = survey(QUESTIONS)
ONE = survey(QUESTIONS[:1])


def without_id(questions):
    files = survey(questions)
    document = json.loads(files["/survey.json"])
    del document["id"]
    return {**files, "/survey.json": json.dumps(document)}


FACTS = "the report on one question makes no guess about your answer more than "


@pytest.fixture(scope="module")
def site():
    with serving(FILES) as found:
        yield found


@pytest.fixture(scope="module")
def phone(browser):
    device = Device(browser, viewport=PHONE)
    yield device
    device.close()


@pytest.fixture
def visit(phone, site):
    """Opens the survey on a new device, or in one more tab of the last; tells that nothing failed."""

    def opened(files=FILES, script="", path="", same_device=False):
        site.restart(files)
        if same_device:
            page = phone.context.new_page()
            page.add_init_script(script)
        else:
            assert phone.errors == []
            page = phone.as_new(script)
        page.goto(site.address + path)
        return page

    yield opened
    release(site)
    phone.context.set_offline(False)
    assert phone.errors == []


def hold(site, end):
    """From now on replies to this address wait for release()."""
    site.free.clear()
    site.held = end


def release(site):
    site.held = ""
    site.free.set()


def choose(page, *choices):
    """Tick the numbered choices of each question, by clicks on the labels."""
    for q, chosen in enumerate(choices):
        for i in chosen:
            page.locator(f"#question-{q} label").nth(i).click()


def answer(page, *choices):
    page.click("#start")
    choose(page, *choices)
    page.click("text=Continue")


def arrived(page):
    page.wait_for_selector("#done:visible")
    assert "has arrived" in page.inner_text("#thanks")


def retry(page):
    """Let the page try again now; after how long it would have done so."""
    until(page, "retries.length > 0")
    return page.evaluate(RETRY)


def test_all_that_leaves_or_stays_depends_on_the_answers_only_through_the_reports(visit, site, phone):
    """Equal reports by chosen randomness, every answer of every question: all requests and traces are equal bytes."""
    reports = [common_report(mechanism) for mechanism in (VISITS, PILLS, *DEBTS)]
    seen = set()
    bits = ["00", "01", "10", "11"]
    for k in range(4):
        visits, pills, debts = k % 3, bits[k], bits[(k + 1) % 4]
        words = [
            word_for(VISITS, ["never", "once", "often"][visits], reports[0]),
            word_for(PILLS, pills, reports[1]),
            *(
                word_for(m, "yes" if b == "1" else "no", r)
                for m, b, r in zip(DEBTS, debts, reports[2:], strict=True)
            ),
        ]
        page = visit()
        page.evaluate(randomness(*words))
        page.click("#start")
        ticks = [[i for i in (0, 1) if chosen[i] == "1"] or [2] for chosen in (pills, debts)]
        choose(page, [visits], *ticks, [1])
        page.locator("#questions h2, legend").first.click()  # the focus is nowhere
        answered = page.evaluate(TRACES)
        page.click("text=Continue")
        confirmed = page.evaluate(TRACES)
        page.click("#draw")
        page.wait_for_selector("#send:visible")
        drawn = page.evaluate(TRACES)
        assert page.locator("input").count() == 0
        page.click("#send")
        arrived(page)
        left = sorted(request for request in site.requests if not request[0].startswith("POST"))
        sent = [request for request in site.requests if request[0].startswith("POST")]
        assert json.loads(sent[0][2])["reports"] == {
            "visits": reports[0],
            "pills": reports[1],
            "debts": reports[2:],
            "age": "old",
        }
        assert len(sent) == 1
        assert phone.said == []
        seen.add(json.dumps([answered, confirmed, drawn, page.evaluate(TRACES), repr(left), repr(sent)]))
    assert len(seen) == 1


def test_a_device_gives_one_report_whatever_is_reloaded_and_when(visit, site):
    page = visit(ONE)
    answer(page, [1])
    page.reload()
    page.wait_for_selector("#start:visible")  # nothing was drawn
    assert kept_of(page) is None
    answer(page, [1])
    page.click("#draw")
    page.wait_for_selector("#send:visible")
    first = kept_of(page)["body"]
    for _ in range(2):
        page.reload()
        page.wait_for_selector("#send:visible")
        assert page.text_content("#body") == first
        assert page.locator("input").count() == 0
    site.replies.append((None, None, True))  # stored, and the reply is lost
    page.click("#send")
    until(page, "document.getElementById('progress').textContent.includes('not been confirmed')")
    page.reload()  # it is sent again without a click
    arrived(page)
    page.reload()
    arrived(page)
    assert len(site.bodies) >= 2
    assert {body.decode() for body in site.bodies} == {first}
    assert list(site.stored.values()) == [first.encode()]
    page.click("#forget")
    page.wait_for_selector("#receipt", state="hidden")
    page.reload()
    page.wait_for_selector("#done:visible")
    assert kept(page) == {f"survey {ID}": {"": {"state": "sent"}}}
    assert page.is_hidden("#receipt")


def test_a_crash_between_drawing_and_keeping_has_shown_and_sent_nothing(visit, site):
    """The report is kept before anything else happens to it."""
    page = visit(ONE)
    page.wait_for_selector("#start:visible")
    page.evaluate(
        """() => {
        window.order = [];
        const put = IDBObjectStore.prototype.put, draw = Crypto.prototype.getRandomValues;
        IDBObjectStore.prototype.put = function (...a) {
            order.push(document.getElementById("reports").childElementCount ? "shown" : "keep");
            this.transaction.addEventListener("complete", () => order.push("kept"));
            return put.apply(this, a);
        };
        Crypto.prototype.getRandomValues = function (...a) { order.push("draw"); return draw.apply(this, a); };
        new MutationObserver(() => order.at(-1) === "show" || order.push("show"))
            .observe(document.getElementById("reports"), { childList: true });
        }"""
    )
    answer(page, [2])
    page.click("#draw")
    page.wait_for_selector("#send:visible")
    assert page.evaluate("order") == ["draw", "draw", "keep", "kept", "show"]


def test_a_report_that_cannot_be_kept_is_neither_shown_nor_sent(visit, site):
    """A disk that is full, or a browser that stops keeping things in the middle."""
    page = visit(ONE)
    page.wait_for_selector("#start:visible")
    page.evaluate("() => { IDBObjectStore.prototype.put = function () { this.transaction.abort(); }; }")
    answer(page, [2])
    page.click("#draw")
    page.wait_for_selector("#notices .wrong")
    assert "keeps nothing" in page.inner_text("#notices")
    assert page.text_content("#body") == page.text_content("#reports") == ""
    assert page.locator("input:checked").count() == 0
    assert kept_of(page) is None
    assert site.bodies == []


def test_a_tab_that_crashes_after_the_draw_leaves_the_report(visit, site):
    page = visit(ONE)
    answer(page, [1])
    page.click("#draw")
    page.wait_for_selector("#send:visible")
    first = kept_of(page)
    with contextlib.suppress(Exception):  # nobody is left to reply
        page.goto("chrome://crash")
    page.close()
    again = visit(ONE, same_device=True)
    again.wait_for_selector("#send:visible")
    assert kept_of(again) == first


def test_slow_networks_are_waited_for(visit, site):
    hold(site, "survey.json")
    page = visit(ONE)
    assert "Loading the survey" in page.inner_text("main")
    release(site)
    answer(page, [1])
    page.click("#draw")
    hold(site, "reports")
    page.click("#send")
    assert page.inner_text("#progress") == "Sending…"
    assert page.is_hidden("#send")
    page.evaluate("for (let i = 0; i < 9; i++) document.getElementById('send').click()")
    release(site)
    arrived(page)
    assert len(site.bodies) == 1
    assert page.locator("#waiting").count() == 0


def test_offline_then_online_counts_once(visit, site):
    page = visit(ONE)
    page.wait_for_selector("#start:visible")
    page.context.set_offline(True)
    answer(page, [0])
    page.click("#draw")
    page.click("#send")
    until(page, "document.getElementById('progress').textContent.includes('tries again')")
    assert site.bodies == []
    page.context.set_offline(False)
    arrived(page)
    assert len(site.stored) == 1


def test_busy_servers_and_login_pages_of_hotels_are_tried_again(visit, site):
    page = visit(ONE)
    page.evaluate(HOLD_RETRIES)
    answer(page, [0])
    site.replies += [(503, {"error": "full"}, False), (200, ["welcome to our hotel"], False)]
    page.click("#draw")
    page.dblclick("#send")
    assert 500 <= retry(page) <= 1000 <= retry(page) <= 2000  # milliseconds
    arrived(page)
    assert len(site.bodies) == 3
    assert len(set(site.bodies)) == len(site.stored) == 1


def test_refusals_are_shown_and_the_report_is_kept(visit, site):
    page = visit(ONE)
    answer(page, [0])
    site.replies += [(409, {"error": "The survey has changed."}, False)]
    page.click("#draw")
    page.click("#send")
    until(page, "document.getElementById('progress').textContent.includes('The survey has changed.')")
    page.click("#send")
    arrived(page)
    assert len(set(site.bodies)) == 1


def test_a_double_click_neither_draws_twice_nor_sends_unseen(visit, site):
    page = visit(ONE)
    page.evaluate(
        """() => {
        window.draws = 0;
        const draw = Crypto.prototype.getRandomValues;
        Crypto.prototype.getRandomValues = function (a) { window.draws += 1; return draw.call(this, a); };
        }"""
    )
    answer(page, [0])
    page.dblclick("#draw")
    page.wait_for_timeout(100)
    page.wait_for_selector("#send:visible")
    assert page.evaluate("draws") == 2  # the id and one word
    second = (
        "new MouseEvent('click', { detail: 2 })"  # of a double click that began on what stood there before
    )
    page.evaluate(f"document.getElementById('send').dispatchEvent({second})")
    page.wait_for_timeout(100)
    assert site.bodies == []


def test_two_tabs_share_one_report(visit, site):
    first = visit(ONE)
    second = visit(ONE, same_device=True)
    answer(first, [0])
    answer(second, [2])
    first.click("#draw")
    second.wait_for_selector("#send:visible")  # it follows by itself
    assert second.locator("input").count() == 0
    first.click("#send")
    for tab in (first, second):
        tab.wait_for_selector("#done:visible")
    assert len(site.stored) == 1
    assert first.inner_text("#number") == second.inner_text("#number")


def test_a_tab_that_hears_nothing_of_the_other_looks_before_it_draws(visit):
    first = visit(ONE, script="BroadcastChannel.prototype.postMessage = () => {};")
    deaf = "BroadcastChannel.prototype.postMessage = () => {};"
    second = visit(ONE, script=deaf, same_device=True)
    answer(second, [2])
    answer(first, [0])
    first.click("#draw")
    first.wait_for_selector("#send:visible")
    drawn = first.text_content("#body")
    second.click("#draw")
    second.wait_for_selector("#send:visible")
    assert second.text_content("#body") == drawn


@pytest.mark.parametrize(
    ("script", "files", "sentence"),
    [
        ("delete window.BigInt;", ONE, "too old"),
        ("delete Crypto.prototype.getRandomValues;", ONE, "too old"),
        ("Object.defineProperty(window, 'crypto', { value: undefined });", ONE, "too old"),
        ("Object.defineProperty(crypto, 'subtle', { value: undefined });", ONE, "too old"),
        ("Object.defineProperty(window, 'indexedDB', { value: undefined });", ONE, "keeps nothing"),
        (
            "IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); };",
            ONE,
            "keeps nothing",
        ),
        ("IDBObjectStore.prototype.put = function () { this.transaction.abort(); };", ONE, "keeps nothing"),
        ("", survey(QUESTIONS[:1], id=None), "It has no id"),
        ("", survey(QUESTIONS[:1], id="../.."), "It has no id"),
        ("", survey(QUESTIONS[:1], id=["12345678"]), "It has no id"),
        ("", without_id(QUESTIONS[:1]), "It has no id"),
        ("", {"/survey.json": "<!doctype html>"}, "check your connection"),
        ("", {**ONE, "/mechanisms/visits-0.json": "{}"}, "cannot be trusted"),
        ("", {**ONE, "/mechanisms/visits-0.json": DEBTS[0].to_json()}, "do not fit together"),
        # Who sends anything at all would have answered "never": there is no input for the others.
        (
            "",
            survey([(QUESTIONS[0][0], [certified({"never": 0.5, "often\0once": 0.5}, 0.4)])]),
            "do not fit together",
        ),
        (
            "",
            {
                **ONE,
                "/mechanisms/visits-0.json": VISITS.to_json().replace('"epsilon": "0.4"', '"epsilon": "0.3"'),
            },
            "leaks more",
        ),
        ("", survey(QUESTIONS[:1], invitation=True), "by invitation"),
    ],
)
def test_where_nothing_can_be_promised_nothing_is_asked(visit, site, script, files, sentence):
    page = visit(files, script=script)
    page.wait_for_selector("#notices p")
    assert sentence in page.inner_text("#notices")
    assert page.is_hidden("#start")
    assert page.locator("input").count() == 0
    assert site.bodies == []


def test_without_javascript_there_is_a_sentence(visit, site):
    page = visit()
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setScriptExecutionDisabled", {"value": True})
    page.goto(site.address)
    text = page.inner_text("main")
    session.detach()
    assert "needs JavaScript" in text
    assert "Loading" not in text


def test_an_invitation_is_sent_with_the_report_and_separates_people(visit, site):
    files = survey(QUESTIONS[:1], invitation=True)
    token = "ab" * 16
    page = visit(files, path=f"#{token}")
    answer(page, [0])
    page.click("#draw")
    page.click("#send")
    arrived(page)
    assert json.loads(site.bodies[0])["token"] == token
    assert [line for line, _, _ in site.requests if token in line] == []
    other = visit(files, path=f"#{'cd' * 16}", same_device=True)
    other.wait_for_selector("#other:visible")
    assert other.is_hidden("#start")
    other.click("#another")
    answer(other, [0])
    other.click("#draw")
    other.click("#send")
    arrived(other)
    assert [json.loads(body)["token"] for body in site.bodies] == ["cd" * 16]
    assert set(kept(other)[f"survey {ID}"]) == {"ab" * 16, "cd" * 16}


def test_a_survey_without_a_server_gives_a_file(visit, site, tmp_path):
    page = visit(survey(QUESTIONS[:1], post=None))
    answer(page, [0])
    page.click("#draw")
    with page.expect_download() as waiting:
        page.click("#send")
    first = kept_of(page)["body"]
    assert waiting.value.path().read_text() == first
    assert waiting.value.suggested_filename == f"report-{json.loads(first)['id'][:8]}.json"
    assert "Ada, ada@example.org" in page.inner_text("#thanks")
    page.reload()
    page.wait_for_selector("#send:visible")
    assert kept_of(page)["body"] == first
    assert site.bodies == []


def test_the_receipt_holds_what_was_sent(visit, site):
    page = visit()
    answer(page, [0], [2], [0, 1], [])
    page.click("#draw")
    page.click("#send")
    arrived(page)
    with page.expect_download() as waiting:
        page.click("#receipt")
    text = waiting.value.path().read_text(encoding="utf-8")
    sent = json.loads(site.bodies[0])
    assert sent["reports"]["age"] is None
    assert f"Your receipt code is {sent['id']}." in text
    assert page.inner_text("#number") == f"Your receipt code is \u2068{sent['id']}\u2069."
    page.click("#look")
    assert page.is_hidden("#done")
    page.click("#back")
    assert page.is_visible("#done")
    assert page.is_hidden("#report")
    for (question, _), report in zip(QUESTIONS, sent["reports"].values(), strict=True):
        line = text.partition(f"{question['text']}\n  ")[2].partition("\n")[0]
        begins = catalogue("en")["chance" if question["kind"] != "clear" else "as_it_is"].partition("{")[0]
        assert line.startswith(begins)  # a bare "yes" would read as if the answer had been sent
        labels = report if isinstance(report, list) else [report]
        assert all(str(label) in line for label in labels if label is not None)


def test_what_a_report_can_tell_is_what_the_library_computes(visit):
    page = visit(ONE)
    answer(page, [random.randrange(3)])
    page.click("#draw")
    page.wait_for_selector("#send:visible")
    report = json.loads(kept_of(page)["body"])["reports"]["visits"]
    column = VISITS.mechanism.matrix[:, VISITS.mechanism.outputs.index(report)]
    joint = column * VISITS.prior.probabilities
    page.click("#reports summary")
    cells = page.locator("#reports tbody td").all_inner_texts()
    expected = [
        f"{100 * p:.0f}%" if p else "ruled out"
        for pair in zip(VISITS.prior.probabilities, joint / joint.sum(), strict=True)
        for p in pair
    ]
    assert cells == expected
    leak = factor(np.log(column.max() / joint.sum()))
    assert f"more than {leak} times as likely" in page.inner_text("#reports")


def test_reports_on_items_add_up_if_items_are_independent_and_else_the_survey_says_what_they_tell(visit):
    condition = "if what you choose is independent from item to item."
    question, mechanisms = QUESTIONS[2]
    page = visit(survey([(question, mechanisms)]))
    answer(page, [0])
    told = page.text_content("#check")
    assert (
        f"Checked just now by this device, in exact arithmetic: {FACTS}1.83 times as likely" in told
    )  # e^0.6
    assert told.endswith(condition)
    page.click("#draw")
    assert page.locator("#reports p").nth(1).inner_text().endswith(condition)

    page = visit(survey([({**question, "independent": False, "level": 1.0}, mechanisms)]))
    answer(page, [0])
    told = page.text_content("#check")
    assert "the survey states: the reports on all items make no guess" in told
    assert "2.72 times as likely" in told  # e
    assert "exact arithmetic" not in told
    page.click("#draw")
    assert "2.72 times as likely" in page.locator("#reports p").nth(1).inner_text()


def test_every_question_that_needs_an_answer_gets_one(visit):
    page = visit()
    answer(page, [], [0])
    assert page.inner_text("#missing") == "Please answer question 1."
    assert page.evaluate("document.activeElement.closest('fieldset').id") == "question-0"
    choose(page, [0], [2], [2, 0])
    checked = "[...document.querySelectorAll('#question-{} input')].map(i => i.checked)"
    assert page.evaluate(checked.format(1)) == [False, False, True]  # none of these: the item is unticked
    assert page.evaluate(checked.format(2)) == [True, False, False]
    page.click("text=Continue")
    page.wait_for_selector("#confirm:visible")
    page.click("#change")
    assert page.evaluate(checked.format(1)) == [False, False, True]
    page.evaluate("dispatchEvent(new Event('pagehide'))")
    assert page.locator("input:checked").count() == 0


def test_the_survey_is_answered_by_keyboard_alone(visit, site):
    page = visit()
    page.wait_for_selector("#start:visible")
    press = page.keyboard.press
    press("Tab"), press("Enter")  # start
    assert page.evaluate("document.activeElement.name") == "question-0"
    press("Space"), press("ArrowDown"), press("Tab")
    press("Space"), press("Tab"), press("Tab"), press("Tab")  # A; B; none
    press("Tab"), press("Tab"), press("Space"), press("Tab")  # none of these debts
    press("Tab")  # past the open question
    assert page.inner_text(":focus") == "Continue"
    press("Enter")
    assert page.inner_text(":focus") == "Do you want to send a report?"
    while page.evaluate("document.activeElement.id") != "draw":
        press("Tab")  # past what each answer would send
    press("Enter")
    page.wait_for_selector("#send:visible")
    assert page.inner_text(":focus") == "This report will be sent"
    for _ in range(5):
        press("Tab")
    assert page.inner_text(":focus") == "Send"
    press("Enter")
    arrived(page)
    assert page.inner_text(":focus") == "Thank you"
    assert json.loads(site.bodies[0])["reports"]["age"] is None
