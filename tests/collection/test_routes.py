"""Ways through a survey: questions that depend on answers, sections, languages, back and forth, and field mode."""

import hashlib
import itertools
import json
import re

import pytest

from extremal.collection.wordings import LANGUAGES, catalogue
from tests.support.browser import Device, axe, until
from tests.support.routes import (
    BOTH,
    HAS_JOB,
    HURT,
    PAIN,
    PILLS,
    QUESTIONS,
    VISITS,
    WAYS,
    WENT,
    WORK,
    words_for,
)
from tests.support.survey_site import (
    HOLD_RETRIES,
    ID,
    RETRY,
    STATIC,
    TRACES,
    certified,
    common_report,
    kept,
    randomness,
    serving,
    survey,
    word_for,
)

EACH = survey(QUESTIONS, pages="question", **BOTH)
ALL = survey(QUESTIONS, **BOTH)
CODE = "4711"
FIELD = hashlib.sha256(f"extremal-field\0{ID}\0{CODE}".encode()).hexdigest()


@pytest.fixture(scope="module")
def site():
    with serving(EACH) as found:
        found.languages = ("en", "ar")
        yield found


@pytest.fixture(scope="module")
def device(browser):
    made = Device(browser, viewport={"width": 320, "height": 700}, locale="en")
    yield made
    made.close()


@pytest.fixture
def visit(site, device):
    def opened(files=EACH, script=""):
        assert device.errors == []
        site.restart(files)
        site.open = True
        page = device.as_new(script)
        page.goto(site.address)
        page.wait_for_selector("#start:visible, #notices p")
        return page

    yield opened
    device.context.set_offline(False)
    assert device.errors == []


def on(page):
    page.click("#questions [type=submit]")


def choose(page, question, *answers):
    for answer in answers:
        page.locator(f"#question-{question} label").nth(answer).click()


def asked(page):
    return page.evaluate(
        "[...document.querySelectorAll('fieldset')].filter(f => f.checkVisibility()).map(f => f.id)"
    )


def drawn(page):
    page.click("#draw")
    page.wait_for_selector("#send:visible")
    return json.loads(page.text_content("#body"))["reports"]


def answer_all(page, way, back_and_forth):
    visits, pain, pills = way
    page.click("#start")
    if back_and_forth:  # another way first
        choose(page, 0, 2 - visits)
        on(page)
        page.click("#previous") if asked(page) != ["question-0"] else None
    choose(page, 0, visits)
    on(page)
    if pain is not None:
        choose(page, 1, pain)
        on(page)
    if pills is not None:
        choose(page, 2, *pills)
        on(page)
    choose(page, 3, 0)
    on(page)
    choose(page, 4, 0)
    if back_and_forth:
        page.go_back()
        assert asked(page) == ["question-3"]
        on(page)
    on(page)


@pytest.mark.slow
def test_equal_reports_make_equal_requests_whatever_the_answers_the_language_and_the_way_back(visit, site):
    reports = [common_report(m) for m in (VISITS, PAIN, PILLS, WORK)]
    seen = set()
    for way, lang, back in zip(
        WAYS * 2, itertools.cycle(["en", "ar", "ar"]), itertools.cycle([0, 1]), strict=False
    ):
        page = visit()
        page.select_option("#language", lang)
        page.evaluate(randomness(*words_for(way, reports)))
        answer_all(page, way, back)
        sent = drawn(page)
        assert list(sent.values()) == [*reports[:3], "yes", reports[3]]
        assert page.locator("input").count() == 0
        page.select_option("#language", "en")  # what is on the screen is in its language
        shown = page.evaluate(TRACES)
        page.click("#send")
        page.wait_for_selector("#done:visible")
        seen.add(json.dumps([shown, page.evaluate(TRACES), repr(sorted(site.requests, key=repr))]))
    assert len(seen) == 1


def test_a_skipped_private_question_sends_a_report_and_an_open_one_nothing(visit):
    page = visit()
    page.click("#start")
    choose(page, 0, 0)
    on(page)
    assert asked(page) == ["question-3"]
    choose(page, 3, 1)
    on(page)
    page.wait_for_selector("#confirm:visible")
    reports = drawn(page)
    assert reports["pain"] in PAIN.mechanism.outputs
    assert reports["pills"] in PILLS.mechanism.outputs
    assert (reports["job"], reports["work"]) == ("no", None)


def test_the_report_of_a_skipped_question_is_drawn_from_not_asked(visit):
    """Of each report the chances under "not asked" are told apart from those of the hidden answer by chosen words."""
    page = visit()
    outputs = PAIN.mechanism.outputs
    row = PAIN.inputs.index("not asked")
    other = PAIN.inputs.index("yes")
    matrix = PAIN.mechanism.matrix
    report = outputs[max(range(len(outputs)), key=lambda y: matrix[row, y] - matrix[other, y])]
    first, last = common_report(VISITS), common_report(PILLS)
    page.evaluate(
        randomness(
            word_for(VISITS, "never", first),
            word_for(PAIN, "not asked", report),
            word_for(PILLS, "not asked", last),
        )
    )
    page.click("#start")
    choose(page, 0, 1)
    on(page)
    choose(page, 1, 0)  # answered, and then not asked after all
    page.click("#previous")
    choose(page, 0, 0)
    on(page)
    choose(page, 3, 1)
    on(page)
    assert drawn(page) == {"visits": first, "pain": report, "pills": last, "job": "no", "work": None}


def test_on_one_page_questions_come_and_go_with_the_answers(visit):
    page = visit(ALL)
    page.click("#start")
    assert asked(page) == ["question-0", "question-3"]
    choose(page, 0, 2)
    assert asked(page) == ["question-0", "question-1", "question-3"]
    choose(page, 1, 0)
    choose(page, 3, 0)
    assert asked(page) == [f"question-{q}" for q in range(5)]
    on(page)
    assert page.inner_text("#missing") == "Please answer question 3."
    choose(page, 0, 0)
    assert asked(page) == ["question-0", "question-3", "question-4"]


def test_answers_stay_while_people_go_back_and_forth_and_change_the_language(visit):
    page = visit()
    page.click("#start")
    choose(page, 0, 1)
    on(page)
    choose(page, 1, 1)
    page.go_back()
    assert page.inner_text("#where") == "Page 1 of 5"
    page.select_option("#language", "ar")
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["ar", "rtl"]
    assert page.title() == "الصحة"
    assert page.inner_text("#question-0 legend").endswith("visits؟")
    checked = "[...document.querySelectorAll('input:checked')].map((i) => `${i.name} ${i.value}`)"
    assert page.evaluate(checked) == ["question-0 1", "question-1 1"]
    page.go_back()
    page.wait_for_selector("#intro:visible")
    page.click("#start")
    assert page.evaluate(checked) == ["question-0 1", "question-1 1"]


def test_declining_sends_and_keeps_nothing(visit, site):
    page = visit()
    page.click("#decline")
    assert "Nothing has been sent" in page.inner_text("#declined")
    page.click("#return")
    answer_all(page, WAYS[1], False)
    assert "Of 100 people who answer this" in page.inner_text("#sendings")
    page.click("#refuse")
    page.wait_for_selector("#declined:visible")
    assert page.locator("input:checked").count() == 0
    assert site.bodies == []
    assert kept(page) == {}


def test_what_each_answer_would_send_is_what_the_mechanism_says(visit):
    page = visit(survey(QUESTIONS[:1]))
    page.click("#start")
    choose(page, 0, 0)
    on(page)
    lines = page.locator("#sendings li").all_inner_texts()
    for line, label, row in zip(lines, VISITS.inputs, VISITS.mechanism.matrix, strict=True):
        assert line.startswith(label)
        found = re.findall(r"(\d+) send “\u2068(.*?)\u2069”", line)
        assert found == [
            (f"{100 * p:.0f}", str(y))
            for y, p in zip(VISITS.mechanism.outputs, row.tolist(), strict=True)
            if p
        ]


def test_a_way_out_of_an_open_question_is_offered_once(visit):
    """Whether the survey names it among the answers or not; answering nothing sends nothing."""
    declines = catalogue("en")["prefer_not"]
    for given in (["young", "old"], ["young", "old", declines]):
        age = {"name": "age", "text": "Age?", "kind": "clear", "answers": given, "required": False}
        page = visit(survey([(age, []), QUESTIONS[0]]))
        page.click("#start")
        assert page.locator("#question-0 label").all_inner_texts() == ["young", "old", declines]
        choose(page, 0, 2)
        choose(page, 1, 0)
        on(page)
        assert drawn(page)["age"] == (given[2] if len(given) > 2 else None)


def test_sections_have_titles_and_pages_and_follow_open_answers(visit):
    sections = [
        {"questions": [3]},
        {"title": "Work", "text": "About your job.", "words": {}, "questions": [4], "ask_if": HAS_JOB},
    ]
    sections[1]["words"] = {"ar": {"title": "عمل"}}
    order = [QUESTIONS[3], ({**QUESTIONS[4][0], "ask_if": None}, QUESTIONS[4][1])]
    sections = [{**part, "questions": [k]} for k, part in enumerate(sections)]
    page = visit(survey(order, sections=sections, **BOTH))
    page.click("#start")
    choose(page, 0, 0)
    on(page)
    assert page.inner_text("#fields .section:not([hidden]) h2") == "Work"
    page.click("#previous")
    choose(page, 0, 1)
    on(page)
    page.wait_for_selector("#confirm:visible")
    assert drawn(page)["work"] is None


# What a dishonest survey could make an honest page tell


def forged(changes, **terms):
    """The survey with other conditions."""
    questions = [({**question, **changes.get(question["name"], {})}, ms) for question, ms in QUESTIONS]
    return survey(questions, **terms)


@pytest.mark.parametrize(
    "files",
    [
        forged({"job": {"ask_if": WENT}}),  # a blank would tell whether somebody went
        forged({"job": {"ask_if": HURT}}),
        forged({"visits": {"ask_if": {"question": "visits", "answers": ["once"]}}}),
        forged({"visits": {"ask_if": HURT}}),
        forged({"pain": {"ask_if": {"question": "nobody", "answers": ["yes"]}}}),
        forged({"pain": {"ask_if": HAS_JOB}}),
        forged({"work": {"ask_if": WENT}}),  # its mechanism knows no "not asked"
        forged({}, sections=[{"questions": [0, 1, 2]}, {"questions": [3, 4], "ask_if": WENT}]),
        forged({}, sections=[{"questions": [0, 1, 2, 3], "ask_if": HAS_JOB}, {"questions": [4]}]),
        survey(
            [
                QUESTIONS[0],
                (
                    {**QUESTIONS[2][0], "ask_if": WENT, "form": "each"},
                    [certified({"yes": 0.2, "no": 0.3, "not asked": 0.5}, 0.4)] * 2,
                ),
            ]
        ),
    ],
)
def test_a_survey_in_which_what_is_left_out_would_tell_a_private_answer_is_not_asked(visit, files):
    page = visit(files)
    page.wait_for_selector("#notices p")
    assert "cannot be trusted" in page.inner_text("#notices")
    assert page.is_hidden("#start")


def test_a_survey_cannot_put_other_sentences_in_place_of_the_pages_own(visit):
    words = {**catalogue("en"), "take_part": "Send everything"}
    page = visit(survey(QUESTIONS, texts={"en": words, "ar": words, "de": words}, **BOTH))
    assert page.inner_text("#start") == "Start"
    page.select_option("#language", "ar")
    assert page.inner_text("#start") == catalogue("ar")["take_part"]
    assert page.locator("#language option").count() == 2


# When a survey is open


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ({"opens": "2999-01-01T00:00:00+00:00"}, "opens on January 1, 2999"),
        ({"closes": "2020-01-01T00:00:00+00:00"}, "closed"),
    ],
)
def test_before_and_after_its_dates_a_survey_asks_nothing(visit, site, terms, sentence):
    page = visit(survey(QUESTIONS[:1], **terms))
    assert sentence in page.inner_text("#notices")
    assert page.is_hidden("#start")


def test_a_survey_whose_server_takes_no_more_reports_asks_nothing_but_shows_a_report(visit, site):
    page = visit(survey(QUESTIONS[:1]))
    page.click("#start")
    choose(page, 0, 0)
    on(page)
    drawn(page)
    site.open = False
    page.reload()
    page.wait_for_selector("#send:visible")
    page.evaluate("indexedDB.deleteDatabase('extremal')")
    page.reload()
    page.wait_for_selector("#notices p")
    assert "closed" in page.inner_text("#notices")


@pytest.mark.slow
def test_reports_wait_for_a_random_part_of_the_time_to_hold(visit, site):
    waits = []
    for _ in range(3):
        page = visit(survey(QUESTIONS[:1], hold=180))
        page.evaluate(HOLD_RETRIES.replace("5000", "500000"))
        page.click("#start")
        choose(page, 0, 0)
        on(page)
        drawn(page)
        page.click("#send")
        until(page, "retries.length > 0")
        assert site.bodies == []
        assert catalogue("en")["holding"].format(minutes=3) in page.inner_text("#progress")
        waits.append(page.evaluate("retries.at(-1)[1]"))
    assert all(0 < wait <= 180_000 for wait in waits)
    assert len(set(waits)) == 3
    page.evaluate("Date.now = () => 1e15")
    page.evaluate(RETRY)
    page.wait_for_selector("#done:visible")
    assert len(site.bodies) == 1


# Field mode


def field(page, code=CODE):
    page.click("#interviewers summary")
    page.fill("#code", code)
    page.click("#interviewers [class=quiet]")


def one_person(page, way=WAYS[1]):
    answer_all(page, way, False)
    body = drawn(page)
    page.click("#send")
    page.wait_for_selector("#done:visible")
    return body


@pytest.mark.slow
def test_field_mode_needs_the_code_and_forgets_each_person(visit, site, device):
    page = visit(survey(QUESTIONS, pages="question", field=FIELD, **BOTH))
    page.wait_for_selector("#interviewers summary")
    field(page, "0000")
    until(page, "document.getElementById('notices').textContent.includes('not the code')")
    assert kept(page) == {}
    page.fill("#code", CODE)
    page.click("#interviewers [class=quiet]")
    until(page, "document.getElementById('field').checkVisibility()")
    device.context.set_offline(True)
    bodies = []
    for k in range(6):
        page.select_option("#language", ["en", "ar"][k % 2])
        bodies.append(one_person(page, WAYS[k % 5]))
        ((name, state),) = kept(page).items()
        assert name == f"field {ID}"
        assert state["current"] is None
        assert len(state["queue"]) == k + 1
        assert page.text_content("#body") == page.text_content("#reports") == ""
        page.click("#next")
        page.wait_for_selector("#start:visible")
        assert page.evaluate("document.documentElement.lang") == "en"
        assert page.locator("input:checked").count() == 0
    assert site.bodies == []
    waiting = [json.loads(body)["reports"] for body in state["queue"]]
    assert sorted(map(json.dumps, waiting)) == sorted(map(json.dumps, bodies))
    assert "6" in page.inner_text("#waiting-reports")
    device.context.set_offline(False)
    page.reload()
    page.wait_for_selector("#intro:visible")
    if not page.is_visible("#send-all"):
        page.click("#field summary")
    page.click("#send-all")
    page.wait_for_selector("#field-off")
    assert len(site.stored) == 6
    page.click("#field-off")
    page.wait_for_selector("#interviewers summary")
    assert kept(page) == {}


@pytest.mark.slow
def test_the_queue_of_field_mode_is_in_random_order(visit):
    """Eight people in a row: that the order of arrival stays has a chance of one in 40,320."""
    page = visit(survey(QUESTIONS[:1], field=FIELD))
    page.wait_for_selector("#interviewers summary")
    field(page)
    until(page, "document.getElementById('field').checkVisibility()")
    order = []
    for _ in range(8):
        page.click("#start")
        choose(page, 0, 0)
        on(page)
        drawn(page)
        order.append(json.loads(page.text_content("#body"))["id"])
        page.click("#send")
        page.wait_for_selector("#done:visible")
        page.click("#next")
    (state,) = kept(page).values()
    queue = [json.loads(body)["id"] for body in state["queue"]]
    assert sorted(queue) == sorted(order)
    assert queue != order


def test_a_reload_in_field_mode_finds_the_report_of_the_person_who_answers_and_refusals_wait(visit, site):
    page = visit(survey(QUESTIONS[:1], field=FIELD))
    page.wait_for_selector("#interviewers summary")
    field(page)
    until(page, "document.getElementById('field').checkVisibility()")
    page.click("#start")
    choose(page, 0, 0)
    on(page)
    first = drawn(page)
    page.reload()
    page.wait_for_selector("#send:visible")
    assert json.loads(page.text_content("#body"))["reports"] == first
    page.click("#send")
    page.wait_for_selector("#done:visible")
    site.replies.append((409, {"error": "Another version."}, False))
    page.click("#send-all")
    until(page, "document.getElementById('notices').textContent.includes('Another version')")
    assert len(kept(page)[f"field {ID}"]["queue"]) == 1


# Catalogues


def test_every_sentence_of_the_page_has_a_use_and_none_is_lacking():
    code = "".join(
        (STATIC / name).read_text("utf-8")
        for name in ("form.js", "field.js", "words.js", "form.html", "extremal-list.js")
    )
    called = set(re.findall(r'say\("(\w+)"', code)) | set(re.findall(r'data-text="(\w+)"', code))
    assert called <= set(catalogue("en"))
    composed = {"if_questions", "if_items", "if_learned"}
    used = set(re.findall(r'"(\w+)"', code)) | composed | {"name", "direction", "reviewed"}
    assert set(catalogue("en")) <= used


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_catalogue_says_the_same_with_the_same_figures(lang):
    english, other = catalogue("en"), catalogue(lang)
    assert other.keys() == english.keys()
    for key, sentence in other.items():
        assert sentence.strip()
        assert sorted(re.findall(r"\{\w+\}", sentence)) == sorted(re.findall(r"\{\w+\}", english[key])), key


# Whom the page keeps out


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
def test_nobody_is_kept_out_in_any_language_and_state(visit, site, lang):
    """axe, and nothing wider than a small phone."""
    texts = {
        name: {"text": f"{name}?", "answers": question["answers"]}
        for question, _ in QUESTIONS
        for name in [question["name"]]
    }
    questions = [
        ({**question, "words": {lang: texts[question["name"]]}}, mechanisms)
        for question, mechanisms in QUESTIONS
    ]
    site.languages = (lang, "en" if lang != "en" else "de")
    try:
        page = visit(survey(questions, pages="question", field=FIELD, respondents="https://example.org/"))

        def fine():
            assert axe(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") == 320

        page.select_option("#language", lang)
        assert page.evaluate("document.documentElement.dir") == catalogue(lang)["direction"]
        fine()
        page.click("#decline")
        fine()
        page.click("#return")
        page.click("#start")
        on(page)
        fine()
        choose(page, 0, 1)
        on(page)
        fine()
        choose(page, 1, 1)
        on(page)
        choose(page, 3, 1)
        on(page)
        page.wait_for_selector("#confirm:visible")
        fine()
        drawn(page)
        fine()
        site.replies.append((409, {"error": "Another version."}, False))
        page.click("#send")
        until(page, "document.getElementById('progress').textContent.includes('Another')")
        fine()
        page.click("#send")
        page.wait_for_selector("#done:visible")
        fine()
        page.evaluate("indexedDB.deleteDatabase('extremal')")
        page.reload()
        page.wait_for_selector("#interviewers summary")
        page.select_option("#language", lang)
        field(page)
        until(page, "document.getElementById('field').checkVisibility()")
        fine()
    finally:
        site.languages = ("en", "ar")
