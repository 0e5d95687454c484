"""A question with thousands of answers on the respondent's device: search, keyboard, screen reader, and what leaves."""

import json

import pytest

import extremal as ex
from extremal.collection.page import index
from extremal.lists.windows import pack
from tests.support.browser import BARRIERS, PHONE, Device, screenshot
from tests.support.survey_site import TRACES, serving, survey

TOWNS = [
    *("Łódź", "مكة المكرمة", "東京", "Lyon", "Nice", "Venice", "O'Fallon, MO", "I prefer not to say"),
    *("Θεσσαλονίκη", "كرمانشاه", "İzmir"),
    *(f"Neustadt {k} an der Donaudampfschifffahrtsstraße" for k in range(90)),
]
ALSO = [["Lodz"], ["Mecca", "Mekka"], ["Tokyo"], ["Lugdunum", "Lione"], ["Nizza"], *([] for _ in TOWNS[5:])]
EVERY = ex.large.windows(TOWNS, 1.0)
PRIOR = ex.large.windows(ex.Prior.from_counts(range(1, len(TOWNS) + 1), labels=TOWNS), 1.5)
LIST = {"kind": "list", "answers": [], "also": pack(ALSO)}
TOWN = ({"name": "town", "text": "Where do you live?", **LIST}, [EVERY])
ONE = survey([TOWN])
OPTIONS = "() => [...document.querySelectorAll('#search-0-list [role=option]')].map((e) => e.textContent)"


@pytest.fixture(scope="module")
def phone(browser):
    device = Device(browser, viewport=PHONE, has_touch=True)
    yield device
    device.close()


@pytest.fixture
def page(phone):
    with serving(ONE) as site:
        page = phone.as_new()
        page.site = site
        page.goto(site.address)
        page.wait_for_selector("#start", state="visible")
        page.click("#start")
        yield page
    assert not phone.errors


def field(page):
    return page.evaluate("""() => {
        const e = document.getElementById("search-0");
        return [e.value, e.getAttribute("aria-expanded"), e.getAttribute("aria-activedescendant")];
    }""")


FOUND = [
    ("lodz", ["Łódź"]),
    ("LIONE", ["Lyon (Lione)"]),
    ("nice", ["Nice", "Venice"]),
    ("مكة", ["مكة المكرمة"]),
    ("ΘΕΣ", ["Θεσσαλονίκη"]),  # which is small as θες
    ("کرمان", ["كرمانشاه"]),  # on a Persian keyboard
    ("izmir", ["İzmir"]),
    ("مكه", ["مكة المكرمة"]),
    ("mekka", ["مكة المكرمة (Mekka)"]),
    ("東", ["東京"]),
    ("mo ofallon", []),
    ("fallon mo", ["O'Fallon, MO"]),
    ("strasse 7 neu", ["Neustadt 7 an der Donaudampfschifffahrtsstraße"]),
]


def test_an_answer_is_found_by_its_words_in_any_script_and_by_other_spellings(page):
    for typed, found in FOUND:
        page.fill("#search-0", "")
        page.type("#search-0", typed)
        options = page.evaluate(OPTIONS)
        assert options[: len(found)] == found, typed
        assert options[-1] == "I prefer not to say"
        assert page.inner_text("[role=status].small") == f"Answers found: {len(options) - 1}"


def test_the_keyboard_is_enough(page):
    page.focus("#search-0")
    page.keyboard.type("neustadt 1")
    assert field(page) == ["neustadt 1", "true", None]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert field(page) == ["neustadt 1", "true", "search-0-1"]
    assert page.evaluate("document.querySelectorAll('[aria-selected]').length") == 1
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")  # round to the last one
    assert page.evaluate("document.querySelector('[aria-selected]').textContent") == "I prefer not to say"
    page.keyboard.press("ArrowDown")
    chosen = page.evaluate("document.querySelector('[aria-selected]').textContent")
    page.keyboard.press("Enter")
    assert field(page) == [chosen, "false", None]
    assert page.is_visible("#questions")  # Enter chose, and did not go on
    page.keyboard.press("Enter")
    page.wait_for_selector("#draw", state="visible")
    page.click("#change")
    assert field(page)[0] == chosen
    page.focus("#search-0")
    page.keyboard.press("Escape")
    assert field(page)[0] == ""
    page.click("#questions > button >> nth=0")
    assert page.inner_text("#missing") == "Please choose an answer."


def test_typing_on_means_another_answer_and_an_answer_written_in_full_is_chosen(page):
    page.type("#search-0", "lyon")
    page.keyboard.press("Tab")
    assert field(page)[0] == "Lyon"
    page.type("#search-0", "s")
    page.keyboard.press("Tab")
    page.click("#questions > button >> nth=0")
    assert page.inner_text("#missing") == "Please choose an answer."
    page.fill("#search-0", "lugdunum")
    page.keyboard.press("Tab")
    assert field(page)[0] == "Lyon"


def test_a_screen_reader_is_told_what_the_field_is_and_what_was_found(page):
    page.type("#search-0", "neustadt")
    role = page.get_by_role("combobox", name="Type to search, then choose an answer", expanded=True)
    assert role.count() == 1
    assert page.get_by_role("listbox", name="Type to search, then choose an answer").count() == 1
    assert page.get_by_role("option").count() == 51  # the first 50, and the one that is always there
    assert "Answers found: 90" in page.inner_text("[role=status].small")
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("option", selected=True).count() == 1
    assert page.get_by_role("group", name="Where do you live?").count() == 1


@pytest.mark.parametrize("width", [320, 390])
def test_the_list_fits_a_phone_and_can_be_read(page, width):
    page.set_viewport_size({"width": width, "height": 760})
    page.type("#search-0", "neustadt")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(BARRIERS) == []
    screenshot(page, f"list-{width}")
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert page.evaluate(BARRIERS) == []
    page.set_viewport_size(PHONE)


def test_a_finger_chooses_and_scrolls(page):
    page.type("#search-0", "neustadt")
    page.tap("[role=option] >> nth=30")
    assert field(page)[0].startswith("Neustadt 30")
    assert page.evaluate("document.activeElement.id") == "search-0"


def test_nothing_is_asked_of_anybody_while_somebody_types(page, phone):
    seen = len(page.site.requests), len(phone.requests)
    for typed in ("ly", "lyon", "zzz", "neustadt"):
        page.fill("#search-0", typed)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    assert (len(page.site.requests), len(phone.requests)) == seen
    assert page.evaluate("""() => {
        const e = document.getElementById("search-0");
        const names = ["autocomplete", "spellcheck", "autocorrect", "autocapitalize", "writingsuggestions", "name"];
        return names.map((name) => e.getAttribute(name));
    }""") == ["off", "false", "off", "none", "false", None]


def test_the_answer_stands_in_no_attribute_storage_or_address_and_is_erased(page):
    page.type("#search-0", "lyon")
    page.keyboard.press("Tab")
    traces = page.evaluate(TRACES)
    assert "yon" not in traces.replace("Lyons", "")
    page.click("#questions > button >> nth=0")
    page.click("#draw")
    page.wait_for_selector("#send", state="visible")
    assert page.evaluate("document.querySelectorAll('input').length") == 0
    assert "yon" not in page.evaluate(TRACES)
    report = json.loads(page.evaluate("document.getElementById('body').textContent"))["reports"]["town"]
    assert 0 <= report < EVERY.reports
    assert "among them in" in page.inner_text("#reports")


def test_the_next_person_finds_nothing_that_was_typed_found_or_chosen(page):
    page.type("#search-0", "lyon")
    page.keyboard.press("Tab")
    page.type("#search-0", "s")
    page.fill("#search-0", "ni")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    assert field(page) == ["", "false", None]
    assert page.evaluate(OPTIONS) == []
    page.click("#questions > button >> nth=0")
    assert page.inner_text("#missing") == "Please choose an answer."


def test_a_choice_stays_when_the_language_changes(phone):
    two = survey([TOWN], languages=["en", "ar"])
    with serving(two) as site:
        site.index = index(two["/survey.json"], languages=("en", "ar"))
        page = phone.as_new()
        page.goto(site.address)
        page.wait_for_selector("#start", state="visible")
        page.click("#start")
        page.fill("#search-0", "lodz")
        page.keyboard.press("Tab")
        page.select_option("#language", "ar")
        assert field(page)[0] == "Łódź"
        assert page.evaluate("document.getElementById('search-0').getAttribute('aria-label')") == (
            "اكتب للبحث، ثم اختر إجابة"
        )
        page.click("#questions > button >> nth=0")
        page.wait_for_selector("#draw", state="visible")


def test_a_file_that_is_not_the_one_the_survey_names_is_refused(phone):
    other = dict(ONE) | {"/mechanisms/town-0.json": PRIOR.to_json()}
    leaky = json.loads(EVERY.to_json()) | {"epsilon": "0.5"}
    for files in (other, dict(ONE) | {"/mechanisms/town-0.json": json.dumps(leaky)}):
        with serving(files) as site:
            page = phone.as_new()
            page.goto(site.address)
            page.wait_for_selector(".notice.wrong")
            assert "cannot be trusted" in page.inner_text("#notices")
            assert not page.is_visible("#start")
