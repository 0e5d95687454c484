"""The explorer in a real browser: see tests/support/browser.py."""

import json

import numpy as np
import pytest

import extremal as ex

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from extremal.explorer.server import redirect_file
from tests.support.browser import DESKTOP, PHONE, Device, axe, barriers, chromium, screenshot, until
from tests.support.explorer import running

pytestmark = (
    pytest.mark.slow
)  # a browser for twenty seconds; test_server and test_figures look at what it shows

THREE = "never, 0.5\nonce, 0.3\noften, 0.2"
PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
MATRIX_DATA = "document.getElementById('matrix').dataset"
MATRIX = """() => {
    const { epsilon, final } = document.getElementById("matrix").dataset;
    const rows = [...document.querySelectorAll("#matrix tbody tr")].slice(0, -1);
    return {
        epsilon: Number(epsilon),
        final: final === "true",
        rows: rows.map(row => [...row.querySelectorAll("td")].map(cell => Number(cell.title))),
    };
}"""
RULES = {"light": None, "dark": ["color-contrast"]}  # the schemes differ in colours alone
TERMS = ("edge", "nats", "region", "PML", "prior", "utility", "lift")  # no words for controls


@pytest.fixture(scope="module")
def link():
    chromium()
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def desk(browser):
    found = Device(browser, viewport=DESKTOP)
    found.context.set_default_timeout(60_000)
    yield found
    found.close()


@pytest.fixture
def empty(desk, link):
    """A tab on a new device; nothing fails there, and it asks for nothing from elsewhere."""
    opened = desk.as_new()
    opened.set_viewport_size(DESKTOP)
    opened.emulate_media(color_scheme="light")
    yield opened
    assert desk.errors == []
    address, _, token = link.partition("#")
    assert [url for url in desk.requests if not url.startswith((address, "data:", "blob:", "file:"))] == []
    assert [url for url in desk.requests if "#" not in url and token in url] == []


@pytest.fixture
def page(empty, desk, link):
    """The page, with its first result; it has nothing to complain of."""
    empty.goto(link)
    done(empty)
    yield empty
    assert [message for message in desk.said if message.startswith("error")] == []


OPEN = "document.getElementById('more-answers').open = true"


def answers(count):
    """That the table has so many answers, and a line for how often each report comes out."""
    return f"document.querySelectorAll('#matrix tbody tr').length === {count + 1}"


def choose(page, prior, epsilon):
    """Type a prior and a level, and wait for the result."""
    page.fill("#prior", prior)
    page.fill("#epsilon", repr(float(epsilon)))
    until(page, answers(len(prior.splitlines())))
    done(page, epsilon)


def done(page, epsilon=None):
    """Wait until the result for this level is there, and final."""
    at = "" if epsilon is None else f"&& Math.abs(Number({MATRIX_DATA}.epsilon) - {epsilon}) < 1e-6"
    until(
        page,
        f"document.getElementById('status').textContent.startsWith('Done') {at}"
        f" && !document.getElementById('found').hidden && {MATRIX_DATA}.final === 'true'",
    )


def drawn(page):
    """Wait until the curve is there, whole."""
    until(page, "document.querySelector('#curve:not([aria-busy]) svg path') !== null")


def library_matrix(prior, epsilon, utility=ex.shares):
    """What the library certifies."""
    return ex.certify(prior, ex.design(prior, epsilon, utility).mechanism, epsilon).mechanism.matrix


def assert_matrix(page, prior, utility=ex.shares):
    found = page.evaluate(MATRIX)
    expected = library_matrix(prior, found["epsilon"], utility)
    assert np.array(found["rows"]) == pytest.approx(expected, abs=1e-15)
    return expected


def test_the_first_question_is_how_common_answers_are_and_some_designs_tell_no_shares(page):
    order = page.evaluate("[...document.querySelectorAll('.controls h2')].map(e => e.innerText)")
    assert [words.split()[0] + words[-1] for words in order] == ["How?", "How?", "What?"]
    assert page.evaluate("document.querySelector('select, input, textarea').id") == "prior"
    assert page.input_value("#utility") == "shares"
    lines = [line.rpartition(", ") for line in page.input_value("#prior").splitlines()]
    survey = ex.Prior.from_counts({label: int(count) for label, _, count in lines})
    half = 196 * ex.planning.expected_error(survey, ex.design(survey, 0.7).mechanism, 1000).root_mean_square
    assert page.inner_text("#headline") == f"Ask 1,000 people, get ± {half:.1f} points."
    assert "it would need" in page.inner_text("#beside")
    assert page.locator("#needed .bar").count() == 3
    page.fill("#people", "4000")
    until(page, "document.getElementById('headline').textContent.startsWith('Ask 4,000 people')")
    done(page)
    assert page.inner_text("#headline") == f"Ask 4,000 people, get ± {half / 2:.1f} points."
    assert "more than 2.02 times as likely" in page.inner_text("#promise")
    assert page.inner_text("#factor") == "× 2.02"
    assert "Every report rules out some answer." in page.inner_text("#open")
    first = page.locator("#controls h2").first
    assert first.inner_text() == "How common is each answer?"
    assert page.locator("#is-example").is_visible()
    page.wait_for_selector("#curve svg path")
    controls = page.inner_text("#controls").lower()
    assert [term for term in TERMS if term.lower() in controls.split()] == []
    page.select_option("#utility", "mutual-information")
    until(page, "document.getElementById('headline').textContent.startsWith('These reports cannot')")
    assert page.locator("#needed .bar").count() == 0
    assert page.is_hidden("#precision-card")
    assert "points" not in page.inner_text("#answer")
    page.click("#fill")
    page.click("#draw")
    page.wait_for_selector("#drawn table")
    assert "cannot be told apart" in page.inner_text("#drawn")
    page.select_option("#utility", "shares")
    choose(page, THREE, 0.6)
    assert_matrix(page, PRIOR)
    page.select_option("#utility", "total-variation")
    until(page, "document.getElementById('method').textContent.includes('Total variation')")
    done(page)
    assert_matrix(page, PRIOR, ex.utilities.total_variation)


def test_the_limit_is_set_by_keys_marks_a_wish_and_a_drag(page):
    choose(page, THREE, round(PRIOR.region_edges[1] - 0.001, 6))
    marks = page.evaluate("[...document.querySelectorAll('#marks i')].map(i => parseFloat(i.style.left))")
    edges = PRIOR.region_edges
    assert marks == pytest.approx((100 * edges[1:-1] / edges[-1]).tolist(), abs=1e-3)
    assert page.inner_text("#ruled-out") == "No report can rule out any answer."
    assert assert_matrix(page, PRIOR).min() > 0
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    until(page, f"Number({MATRIX_DATA}.epsilon) > {edges[1]}")
    done(page)
    assert assert_matrix(page, PRIOR).min() == 0
    assert page.inner_text("#ruled-out") == "A report can rule out up to 1 of 3 answers."
    assert page.get_attribute("#slider", "aria-valuetext") == page.inner_text("#promise")
    page.click("#higher")
    done(page, edges[2])
    page.click("#lower")
    done(page, edges[1])
    page.fill("#people", "800")
    page.fill("#wanted", "4")
    page.click("#wish")
    until(page, "document.getElementById('wish-words').textContent.includes('is enough')")
    until(
        page,
        "/^Ask 800 people, get ± (4.0|3.9) points/.test(document.getElementById('headline').textContent)",
    )
    page.fill("#wanted", "0.1")
    page.click("#wish")
    page.wait_for_selector("#wish-error:not([hidden])")
    stopped = page.evaluate(
        """() => new Promise(resolve => {
            const slider = document.getElementById("slider"), seen = new Set();
            new MutationObserver(() => seen.add(document.getElementById("matrix").dataset.epsilon))
                .observe(document.getElementById("matrix"), { childList: true });
            let moves = 0;
            const timer = setInterval(() => {
                const place = 400 + 2 * (moves++ % 100);
                slider.value = place;
                slider.dispatchEvent(new Event("input", { bubbles: true }));
                if (moves >= 20 && seen.size >= 3) { clearInterval(timer); resolve(place); }
            }, 20);
        })"""
    )
    done(page, round(PRIOR.epsilon_max * stopped / 1000, 6))
    assert_matrix(page, PRIOR)


def test_a_file_of_answers_is_a_release_and_two_questions_can_be_one_secret(page, tmp_path):
    path = tmp_path / "survey.csv"
    rows = ["id,answer,town"] + [f"{k},{'abbccc'[k % 6]},{'xy'[k % 2]}" for k in range(60)]
    path.write_text("\n".join(rows), encoding="utf-8")
    page.set_input_files("#upload", path)
    page.wait_for_selector("#counted:not([hidden])")
    assert "counted from survey.csv" in page.inner_text("#counted")
    assert "publishing that file reveals them" in page.inner_text("#counted")
    done(page)
    page.click("#menu summary")
    assert page.inner_text("#menu-counted") == page.inner_text("#counted")
    page.keyboard.press("Escape")
    assert not page.evaluate("document.getElementById('menu').open")
    page.evaluate(OPEN)
    page.select_option("#column", "answer")
    until(page, "document.querySelector('#prior').value === 'a, 10\\nb, 20\\nc, 30'")
    page.select_option("#second", "town")
    until(page, "document.querySelector('#prior').value.startsWith('a | x, 10')")
    until(page, answers(5))
    done(page)
    plain = page.inner_text("#headline")
    page.evaluate(OPEN)
    page.check("#robust")
    until(page, f"document.getElementById('headline').textContent !== {json.dumps(plain)}")
    done(page)
    assert "fit this sample" in page.inner_text("#prior-words")
    page.evaluate(OPEN)
    page.uncheck("#robust")
    page.evaluate(OPEN)
    page.click("#small")
    page.wait_for_selector("#counted", state="hidden")
    done(page)
    path = tmp_path / "prior.json"
    path.write_text(json.dumps({"a": 0.4, "b": 0.6}), encoding="utf-8")
    page.set_input_files("#upload", path)
    until(page, answers(2))
    assert page.input_value("#prior") == "a, 0.4\nb, 0.6"
    assert page.locator("#is-example").is_hidden()
    assert page.is_hidden("#counted")


def test_an_error_hides_the_result_says_why_and_goes_away(page, tmp_path):
    choose(page, THREE, 0.6)
    for content in (b"\xff\xfe\x00binary", b"only one column\nsame\nsame\n"):
        path = tmp_path / "junk.csv"
        path.write_bytes(content)
        page.set_input_files("#upload", [])
        page.set_input_files("#upload", path)
        page.wait_for_selector("#upload-error:not([hidden])")
        assert "must" in page.inner_text("#upload-error")
        assert page.input_value("#prior") == THREE
        page.evaluate(OPEN)
        page.click("#small")
        page.wait_for_selector("#upload-error", state="hidden")
    page.fill("#epsilon", "-1")
    page.wait_for_selector("#epsilon-error:not([hidden])")
    assert page.inner_text("#epsilon-error") == "ε must be 0 or more. The results are for ε = 0.6."
    page.keyboard.press("Tab")
    assert page.input_value("#epsilon") == "0.6"
    assert page.is_hidden("#epsilon-error")
    page.fill("#prior", "a, 0.5\nb, 0.2")
    page.wait_for_selector("#error:not([hidden])")
    assert page.inner_text("#error").startswith("the shares must sum to 1, got a sum of 0.7; ")
    assert [page.inner_text(f"#{name}") for name in ("prior-words", "promise", "ruled-out")] == ["", "", ""]
    assert page.get_attribute("#prior", "aria-invalid") == "true"
    assert page.is_hidden("#found")
    assert axe(page) == []
    screenshot(page, "invalid-desktop")
    page.fill("#prior", '<img src=x onerror="document.title=1">, 1\n<b>b</b>, 2')
    page.wait_for_selector("#error", state="hidden")
    until(page, answers(2))
    done(page)
    assert page.locator("#results img, #results b").count() == 0
    assert page.title() == "extremal explorer"
    assert "<b>b</b>" in page.inner_text("#precision")


@pytest.mark.slow
def test_a_running_search_has_no_result_of_other_choices_under_it_and_can_be_cancelled(page):
    weights = "\n".join(f"{k}, {(37 * k) % 101 + 20}" for k in range(200))
    page.fill("#epsilon", "1.5")
    page.fill("#prior", weights)
    page.wait_for_selector("#cancel:not([hidden])")
    assert page.is_visible("#progress")
    assert page.is_hidden("#found")
    assert axe(page) == []
    page.evaluate("window.ticks = 0; setInterval(() => { window.ticks += 1; }, 20)")
    until(page, "window.ticks > 10")  # the page does not hang while the search goes on
    screenshot(page, "progress-desktop")
    page.click("#cancel")
    until(page, "document.getElementById('status').textContent === 'Cancelled.'")
    assert page.is_hidden("#progress")
    assert page.is_hidden("#found")
    choose(page, THREE, 0.6)
    assert_matrix(page, PRIOR)
    held = []
    page.route("**/api/curve", lambda route: held.append(route))
    choose(page, "a, 0.6\nb, 0.4", 0.3)
    page.wait_for_selector("#curve-state", state="visible")
    assert page.inner_text("#curve-status") == ""  # nothing of the last curve
    choose(page, "a, 0.6\nb, 0.4", 0.4)
    assert page.is_visible("#curve-state")  # a result at another limit does not end it
    held[0].continue_()
    drawn(page)
    assert page.is_hidden("#curve-state")
    assert len(held) == 1
    page.unroute("**/api/curve")


@pytest.mark.slow
def test_files_come_from_one_menu_the_report_can_be_read_everywhere_and_a_sample_is_drawn(page, tmp_path):
    choose(page, THREE, 0.6)
    shown = page.evaluate(MATRIX)
    starts = {
        "mechanism.json": b"{",
        "report.html": b"<!doctype html>",
        "matrix.svg": b"<?xml",
        "tradeoff.png": b"\x89PNG",
    }
    page.click("#menu summary")
    assert axe(page) == []
    for name, start in starts.items():
        with page.expect_download() as waiting:
            page.click(f"button[data-name='{name}']")
        assert waiting.value.suggested_filename == name
        waiting.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    loaded = ex.load(tmp_path / "mechanism.json")
    assert (loaded.epsilon, loaded.prior) == (0.6, PRIOR)
    assert loaded.mechanism.matrix.tolist() == shown["rows"]
    report = page.context.new_page()
    report.goto((tmp_path / "report.html").as_uri())
    for size in (DESKTOP, PHONE):
        report.set_viewport_size(size)
        for scheme, rules in RULES.items():
            report.emulate_media(color_scheme=scheme)
            assert axe(report, rules) == []
            assert barriers(report) == []
            screenshot(report, f"report-{size['width']}-{scheme}")
    report.set_viewport_size({"width": 700, "height": 1000})
    report.emulate_media(media="print", color_scheme="dark")
    assert report.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert report.evaluate("document.documentElement.scrollWidth") <= 700
    report.close()
    page.bring_to_front()
    page.keyboard.press("Escape")  # the menu
    page.fill("#sample", "never\nonce\noften\n" * 20)
    page.click("#draw")
    page.wait_for_selector("#drawn table")
    assert page.inner_text("#drawn").startswith("60 reports drawn")
    with page.expect_download() as waiting:
        page.click("#save-reports")
    waiting.value.save_as(tmp_path / "reports.csv")
    reports = (tmp_path / "reports.csv").read_text(encoding="utf-8").split()
    assert reports[0] == "report"
    assert len(reports) == 61
    assert set(reports[1:]) <= {'"0"', '"1"', '"2"', '"3"'}
    page.fill("#sample", "never\nperhaps")
    page.click("#draw")
    page.wait_for_selector("#sample-error:not([hidden])")
    assert "record 2" in page.inner_text("#sample-error")
    page.fill("#epsilon", "0.5")
    done(page, 0.5)
    assert page.locator("#drawn table").count() == 0
    assert page.is_disabled("#save-reports")


def test_nothing_of_a_file_or_a_sample_reaches_the_address_or_the_browser_s_memory(page, tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("answer\n" + "secretly\n" * 7 + "openly\n" * 12, encoding="utf-8")
    page.set_input_files("#upload", path)
    until(page, "document.querySelector('#prior').value === 'openly, 12\\nsecretly, 7'")
    done(page)
    page.fill("#sample", "secretly")
    page.click("#draw")
    page.wait_for_selector("#drawn table")
    assert page.url.endswith("/")
    kept = page.evaluate(
        "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state])"
    )
    assert "secretly" not in kept
    page.reload()
    page.wait_for_selector("#begin:not([hidden])")
    assert axe(page) == []
    assert page.input_value("#sample") == ""
    assert "secretly" not in page.content()
    assert "secretly" not in page.input_value("#prior")


def tasks_of(page):
    """The names of the tasks that a page asks for, from now on."""
    found = []
    page.on("request", lambda request: found.append(request.url) if request.method == "POST" else None)
    return found


def test_without_the_token_nothing_is_computed_and_with_it_nothing_until_a_person_asks(empty, link):
    page, address, asked = empty, link.partition("#")[0], tasks_of(empty)
    page.goto(address)
    until(page, "document.getElementById('status').textContent.includes('open the link')")
    assert page.is_disabled("#slider")
    assert page.is_disabled("#prior")
    assert asked == []
    page.goto(link)  # only what stands after the # differs, so the browser does not load the page anew
    page.wait_for_selector("#begin:not([hidden])")
    assert "token" not in page.url
    assert asked == []
    page.click("#begin")
    done(page)
    page.goto("about:blank")
    asked.clear()
    page.goto(f"{address}#prior=a,1%0Ab,2&epsilon=3")  # this window knows the token
    page.wait_for_selector("#begin:not([hidden])")
    assert page.input_value("#prior").startswith("Strong Democrat")
    assert asked == []
    assert page.inner_text("#status") == "Nothing is computed yet."
    page.click("#begin")
    done(page, 0.7)
    assert page.is_hidden("#begin")
    assert asked


def test_the_file_that_opens_the_browser_leads_to_the_page(empty, link):
    with redirect_file(link) as path:
        empty.goto(path.as_uri())
        empty.wait_for_url(link.partition("#")[0])
        done(empty)


def test_the_page_fits_every_screen_and_keeps_axe_s_rules(page):
    page.wait_for_selector("#curve svg path")
    page.click("#matrix summary")
    page.set_viewport_size({"width": 1366, "height": 768})
    assert page.evaluate("document.getElementById('slider').getBoundingClientRect().bottom") <= 768
    screenshot(page, "survey-1366")
    for size in (DESKTOP, {"width": 1024, "height": 700}, PHONE):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        small = page.evaluate(
            """() => [...document.querySelectorAll("button, select, input, summary")].filter(e => e.offsetParent
                && e.type !== "file" && (e.closest("label") ?? e).getBoundingClientRect().height < 24).map(e => e.id)"""
        )
        assert small == []
        for scheme, rules in RULES.items():
            page.emulate_media(color_scheme=scheme)
            screenshot(page, f"survey-{size['width']}-{scheme}")
            if size["width"] != 1024:
                assert axe(page, rules) == []


def test_the_page_is_used_by_keyboard_alone(page):
    """Tab reaches the controls in the order in which they stand; a menu opens and closes by keys."""
    reached = []
    for _ in range(45):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    order = [
        "prior",
        "slider",
        "epsilon",
        "wanted",
        "wish",
        "utility",
        "people",
        "sample",
        "draw",
    ]
    places = [reached.index(name) for name in order]
    assert places == sorted(places)
    page.focus("#menu summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.name") == "mechanism.json"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


@pytest.mark.timed
def test_small_alphabets_are_answered_at_once(page):
    """From the key to the new matrix, drawn; the bound leaves room for a machine that does other things too."""
    page.fill("#prior", "\n".join(f"{k}, {k + 1}" for k in range(10)))
    until(page, answers(10))
    done(page)
    milliseconds = sorted(measure(page) for _ in range(7))
    assert milliseconds[3] < 300


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize(
    ("size", "level"), [(3, 0.4), (7, 0.7), (10, 0.15), (14, 0.15), (18, 0.15), (18, 0.4), (20, 0.4)]
)
def test_alphabets_up_to_20_feel_immediate(page, size, level):
    """Median of 9 moves of the slider, each to a level not seen before; run with -s to see the figures."""
    weights = np.random.default_rng(size).dirichlet(np.full(size, 2.0)).round(4) + 0.001
    prior = ex.Prior.from_counts(weights)
    page.fill("#epsilon", repr(round(level * prior.epsilon_max, 4)))
    page.fill("#prior", "\n".join(map(repr, prior.probabilities.tolist())))
    until(
        page, f"document.querySelectorAll('#precision tbody tr').length === {size}"
    )  # a large matrix has no table
    done(page)
    drawn(page)
    milliseconds = []
    for _ in range(9):
        milliseconds.append(measure(page))
        done(page)
    print(
        f"N = {size:2}, level {level}: median {np.median(milliseconds):.0f} ms, worst {max(milliseconds):.0f} ms"
    )
    assert np.median(milliseconds) < 300


def measure(page):
    """Milliseconds from an arrow key on the slider to the matrix of the new level."""
    return page.evaluate(
        """() => new Promise(resolve => {
            const begin = performance.now();
            new MutationObserver((_, observer) => {
                observer.disconnect();
                requestAnimationFrame(() => resolve(performance.now() - begin));
            }).observe(document.getElementById("matrix"), { childList: true });
            const slider = document.getElementById("slider");
            slider.value = Number(slider.value) + 3;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
        })"""
    )
