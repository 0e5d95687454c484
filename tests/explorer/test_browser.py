"""The explorer in a real browser: see tests/support/browser.py."""

import json

import numpy as np
import pytest

import extremal as ex

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from extremal.explorer.server import redirect_file, running
from tests.support.browser import DESKTOP, PHONE, chromium, screenshot, until

THREE = "never, 0.5\nonce, 0.3\noften, 0.2"
PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
MATRIX_DATA = "document.getElementById('matrix').dataset"
MESSAGE = "document.getElementById('prior-error').textContent"
MATRIX = """() => {
    const { epsilon, final } = document.getElementById("matrix").dataset;
    const cells = [...document.querySelectorAll("#matrix tbody tr")].map(row => [...row.querySelectorAll("td")]);
    return {
        epsilon: Number(epsilon),
        final: final === "true",
        rows: cells.map(row => row.map(cell => Number(cell.title))),
        shown: cells.map(row => row.map(cell => cell.textContent)),
    };
}"""


@pytest.fixture(scope="module")
def link():
    chromium()
    with running() as found:
        yield found


@pytest.fixture
def page(browser, link):
    context = browser.new_context(viewport=DESKTOP, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    wrong = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    requested = []
    opened.on("request", lambda request: requested.append(request.url))
    opened.goto(link)
    done(opened)
    choose(opened, THREE, 0.6)
    yield opened
    context.close()
    assert wrong == []
    address, _, token = link.partition("#")
    assert [url for url in requested if not url.startswith((address, "data:", "blob:"))] == []
    assert [url for url in requested if "#" not in url and token in url] == []


def choose(page, prior, epsilon):
    """Type a prior and a level, and wait for the result."""
    page.fill("#prior", prior)
    page.fill("#epsilon", repr(float(epsilon)))
    until(page, f"document.querySelectorAll('#matrix tbody tr').length === {len(prior.splitlines())}")
    done(page, epsilon)


def done(page, epsilon=None):
    """Wait until the result for this level is there, and final."""
    at = (
        ""
        if epsilon is None
        else f"&& Math.abs(Number(document.getElementById('matrix').dataset.epsilon) - {epsilon}) < 1e-6"
    )
    until(
        page,
        f"document.getElementById('status').textContent.startsWith('Computed') {at}"
        f" && {MATRIX_DATA}.final === 'true'",
    )


def library_matrix(prior, epsilon, utility=ex.shares):
    """What the library certifies."""
    return ex.certify(prior, ex.design(prior, epsilon, utility).mechanism, epsilon).mechanism.matrix


def test_the_page_shows_everything_at_once(page):
    shown = page.evaluate(MATRIX)
    assert np.array(shown["rows"]) == pytest.approx(library_matrix(PRIOR, 0.6), abs=1e-15)
    assert shown["shown"][0][0] == f"{shown['rows'][0][0]:.3f}"
    assert page.locator("#leakage .bar").count() == len(shown["rows"][0]) == 4
    value, bound = 100 * ex.design(PRIOR, 0.6).value, 100 * ex.design(PRIOR, 0.6).upper_bound
    assert (
        f"{value:.1f} %\nefficiency for shares; at most {np.ceil(10 * bound) / 10:.1f} %"
        in page.inner_text("#tiles")
    )
    assert f"{100 / value:.3g} ×\nas many people as without privacy" in page.inner_text("#tiles")
    page.wait_for_selector("#curve svg path")
    assert page.locator("#curve circle.now").count() == 1
    audit = ex.audit(PRIOR, ex.certify(PRIOR, ex.design(PRIOR, 0.6).mechanism, 0.6))
    first = str(audit).splitlines()[0]
    assert page.inner_text("#risk .lead").lower() == first.lower() + "."
    assert "From 1,000 reports" in page.inner_text("#errors")
    screenshot(page, "three-desktop")


def test_region_edges_are_marked_on_the_slider_where_the_library_has_them(page):
    marks = page.evaluate("[...document.querySelectorAll('#marks i')].map(i => parseFloat(i.style.left))")
    edges = PRIOR.region_edges
    assert marks == pytest.approx((100 * edges[1:-1] / edges[-1]).tolist(), abs=1e-3)


def test_arrow_keys_move_epsilon_across_a_region_edge_and_the_matrix_follows(page):
    edge = PRIOR.region_edges[1]
    choose(page, THREE, round(edge - 0.001, 6))
    assert page.inner_text("#region").startswith("Region 1 of 3: no report can rule out any answer")
    before = page.evaluate(MATRIX)
    assert min(min(row) for row in before["rows"]) > 0
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    until(page, f"Number(document.getElementById('matrix').dataset.epsilon) > {edge}")
    done(page)
    after = page.evaluate(MATRIX)
    assert np.array(after["rows"]) == pytest.approx(library_matrix(PRIOR, after["epsilon"]), abs=1e-15)
    assert min(min(row) for row in after["rows"]) == 0
    assert page.inner_text("#region").startswith("Region 2 of 3")


def test_a_dragged_slider_shows_where_it_passes_and_ends_where_it_stops(page):
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
    last = round(PRIOR.epsilon_max * stopped / 1000, 6)
    done(page, last)
    assert np.array(page.evaluate(MATRIX)["rows"]) == pytest.approx(library_matrix(PRIOR, last), abs=1e-15)


def test_the_edge_buttons_go_to_the_edges_exactly(page):
    page.click("#higher")
    until(page, "document.getElementById('region').textContent.startsWith('Region 3')")
    done(page, PRIOR.region_edges[2])
    shown = page.evaluate(MATRIX)
    assert shown["epsilon"] == PRIOR.region_edges[2]
    assert np.array(shown["rows"]) == pytest.approx(library_matrix(PRIOR, shown["epsilon"]), abs=1e-15)
    page.click("#lower")
    done(page, PRIOR.region_edges[1])


def test_another_utility_gives_another_matrix(page):
    page.select_option("#utility", "total-variation")
    until(page, "document.getElementById('tiles').textContent.includes('total variation')")
    done(page)
    expected = library_matrix(PRIOR, 0.6, ex.utilities.total_variation)
    assert np.array(page.evaluate(MATRIX)["rows"]) == pytest.approx(expected, abs=1e-15)


def test_an_edited_prior_is_shown(page):
    page.fill("#prior", "yes, 1\nno, 3")
    until(page, "document.querySelectorAll('#matrix tbody tr').length === 2")
    done(page)
    expected = library_matrix(ex.Prior({"yes": 0.25, "no": 0.75}), 0.6)
    assert np.array(page.evaluate(MATRIX)["rows"]) == pytest.approx(expected, abs=1e-15)
    assert "counts of 4 answers" in page.inner_text("#prior-words")


def test_a_prior_is_uploaded_from_a_survey_by_column_and_from_json(page, tmp_path):
    path = tmp_path / "survey.csv"
    rows = ["id,answer,town"] + [f"{k},{'abbccc'[k % 6]},{'xy'[k % 2]}{k % 4}" for k in range(60)]
    path.write_text("\n".join(rows), encoding="utf-8")
    page.set_input_files("#upload", path)
    page.wait_for_selector("#column-field:not([hidden])")
    until(
        page,
        "document.querySelectorAll('#matrix tbody tr').length === 3"
        " && document.querySelector('#prior').value.startsWith('a, 10')",
    )
    assert page.input_value("#prior") == "a, 10\nb, 20\nc, 30"
    page.select_option("#column", "town")
    until(page, "document.querySelectorAll('#matrix tbody tr').length === 4")
    assert page.input_value("#prior") == "x0, 15\nx2, 15\ny1, 15\ny3, 15"
    path = tmp_path / "prior.json"
    path.write_text(json.dumps({"a": 0.4, "b": 0.6}), encoding="utf-8")
    page.set_input_files("#upload", path)
    until(page, "document.querySelectorAll('#matrix tbody tr').length === 2")
    assert page.input_value("#prior") == "a, 0.4\nb, 0.6"


def test_a_file_that_is_no_prior_gives_a_message_and_changes_nothing(page, tmp_path):
    said = set()
    for number, content in enumerate((b"\xff\xfe\x00binary", b"", b"only one column\nsame\nsame\n")):
        path = tmp_path / f"junk-{number}.csv"
        path.write_bytes(content)
        page.set_input_files("#upload", path)
        until(page, f"![{json.dumps('')}, ...{json.dumps(sorted(said))}].includes({MESSAGE})")
        said.add(page.evaluate(MESSAGE))
        assert page.input_value("#prior") == THREE
    assert all("must" in message for message in said)


def test_an_invalid_prior_shows_the_library_s_message_and_a_valid_one_takes_it_away(page):
    with pytest.raises(ex.errors.PriorError) as expected:
        ex.Prior({"a": 0.5, "b": 0.2})
    page.fill("#prior", "a, 0.5\nb, 0.2")
    page.wait_for_selector("#prior-error:not([hidden])")
    assert page.inner_text("#prior-error") == str(expected.value)
    assert page.get_attribute("#prior", "aria-invalid") == "true"
    assert page.get_attribute("#prior-error", "role") == "alert"
    screenshot(page, "invalid-desktop")
    page.fill("#prior", "a, 0.5\nb, 0.5")
    page.wait_for_selector("#prior-error", state="hidden")
    done(page)


def test_a_label_that_looks_like_markup_is_shown_as_text(page):
    page.fill("#prior", '<img src=x onerror="document.title=1">, 1\n<b>b</b>, 2')
    until(page, "document.querySelectorAll('#matrix tbody tr').length === 2")
    done(page)
    assert page.locator("#results img, #results b b").count() == 0
    assert page.title() == "extremal explorer"
    assert "<b>b</b>" in page.inner_text("#matrix")


def test_the_mechanism_is_downloaded_and_loads_as_what_was_shown(page, tmp_path):
    shown = page.evaluate(MATRIX)
    with page.expect_download() as waiting:
        page.click("button[data-name='mechanism.json']")
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    loaded = ex.load(path)
    assert loaded.epsilon == 0.6
    assert loaded.prior == PRIOR
    assert loaded.mechanism.matrix.tolist() == shown["rows"]
    assert len(loaded.privatize(["never", "once"] * 10)) == 20


def test_reports_and_figures_are_downloaded(page, tmp_path):
    starts = {
        "report.md": b"# Privacy audit",
        "report.html": b"<!doctype html>",
        "matrix.svg": b"<?xml",
        "tradeoff.png": b"\x89PNG",
    }
    for name, start in starts.items():
        with page.expect_download() as waiting:
            page.click(f"button[data-name='{name}']")
        assert waiting.value.suggested_filename == name
        waiting.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)


def test_nothing_of_a_prior_or_a_sample_reaches_the_address_or_the_browser_s_memory(page, tmp_path):
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
    assert page.input_value("#sample") == ""
    assert "secretly" not in page.content()
    assert "secretly" not in page.input_value("#prior")


def tasks_of(page):
    """The names of the tasks that a page asks for, from now on."""
    found = []
    page.on("request", lambda request: found.append(request.url) if request.method == "POST" else None)
    return found


def test_a_link_without_the_token_computes_nothing_until_a_person_asks(page, link):
    address, asked = link.partition("#")[0], tasks_of(page)
    page.goto("about:blank")
    page.goto(f"{address}#prior=a,1%0Ab,2&epsilon=3")
    page.wait_for_selector("#begin:not([hidden])")
    assert page.input_value("#prior").startswith("Strong Democrat")
    assert asked == []
    assert page.inner_text("#status") == "Nothing is computed yet."
    page.click("#begin")
    done(page, 0.7)
    assert page.is_hidden("#begin")
    assert asked


def test_a_window_without_the_token_can_do_nothing_and_says_what_to_do(browser, link):
    page = browser.new_page()
    asked = tasks_of(page)
    page.goto(link.partition("#")[0])
    until(page, "document.getElementById('status').textContent.includes('open the link')")
    assert page.is_disabled("#slider")
    assert page.is_disabled("#prior")
    assert asked == []
    page.goto(link)  # only what stands after the # differs, so the browser does not load the page anew
    page.wait_for_selector("#begin:not([hidden])")
    assert "token" not in page.url
    page.click("#begin")
    done(page)
    page.close()


def test_the_file_that_opens_the_browser_leads_to_the_page(browser, link):
    page = browser.new_page()
    with redirect_file(link) as path:
        page.goto(path.as_uri())
        page.wait_for_url(link.partition("#")[0])
        done(page)
    page.close()


def test_a_sample_is_privatised_and_its_reports_are_saved(page, tmp_path):
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
    assert "perhaps" in page.inner_text("#sample-error")


def test_a_large_prior_shows_progress_can_be_cancelled_and_leaves_the_page_usable(page):
    weights = "\n".join(f"{k}, {(37 * k) % 101 + 20}" for k in range(200))
    page.fill("#epsilon", "1.5")
    page.fill("#prior", weights)
    page.wait_for_selector("#cancel:not([hidden])")
    until(page, "document.getElementById('status').textContent.startsWith('Computing')")
    assert page.is_visible("#progress")
    page.evaluate("window.ticks = 0; setInterval(() => { window.ticks += 1; }, 20)")
    until(page, "window.ticks > 10")  # the page does not hang while the search goes on
    assert page.is_visible("#progress")
    screenshot(page, "progress-desktop")
    page.click("#cancel")
    until(page, "document.getElementById('status').textContent.startsWith('Cancelled')")
    assert page.is_hidden("#progress")
    page.click("#small")
    page.fill("#epsilon", "0.6")
    until(page, "document.querySelectorAll('#matrix tbody tr').length === 3")
    done(page, 0.6)


def test_the_page_is_used_by_keyboard_alone(page):
    """Every control has a name, and Tab reaches them in the order in which they stand."""
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, textarea, button")].filter(e => e.offsetParent
            && !(e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim())).map(e => e.id)"""
    )
    assert unnamed == []
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    order = ["slider", "lower", "prior", "kind", "pseudocount", "upload", "utility", "sample", "draw"]
    places = [reached.index(name) for name in order]
    assert places == sorted(places)
    assert page.evaluate("document.getElementById('slider').getAttribute('aria-valuetext')").startswith(
        "0.6 nats"
    )


@pytest.mark.parametrize(
    "size", [DESKTOP, {"width": 1024, "height": 700}, PHONE], ids=["desktop", "laptop", "phone"]
)
def test_the_page_fits_the_screen(browser, link, size):
    page = browser.new_page(viewport=size)
    page.goto(link)  # the survey
    done(page)
    page.wait_for_selector("#curve svg path")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        small = page.evaluate(
            """() => [...document.querySelectorAll("button, select, input")].filter(e => e.offsetParent
                && e.type !== "file" && e.getBoundingClientRect().height < 24).map(e => e.id)"""
        )
        assert small == []
        screenshot(page, f"survey-{size['width']}-{scheme}")
    page.close()


@pytest.mark.timed
def test_small_alphabets_are_answered_at_once(page):
    """From the key to the new matrix, drawn; the bound leaves room for a machine that does other things too."""
    page.fill("#prior", "\n".join(f"{k}, {k + 1}" for k in range(10)))
    until(page, "document.querySelectorAll('#matrix tbody tr').length === 10")
    done(page)
    milliseconds = sorted(measure(page) for _ in range(7))
    assert milliseconds[3] < 300


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("size", [3, 7, 10, 14, 18, 20])
@pytest.mark.parametrize("level", [0.15, 0.4, 0.7])
def test_alphabets_up_to_20_feel_immediate(page, size, level):
    """Median of 9 moves of the slider, each to a level not seen before; run with -s to see the figures."""
    weights = np.random.default_rng(size).dirichlet(np.full(size, 2.0)).round(4) + 0.001
    prior = ex.Prior.from_counts(weights)
    page.fill("#epsilon", repr(round(level * prior.epsilon_max, 4)))
    page.fill("#prior", "\n".join(map(repr, weights.tolist())))
    page.select_option("#kind", "counts")
    until(page, f"document.querySelectorAll('#matrix tbody tr').length === {size}")
    done(page)
    until(page, "document.getElementById('curve-state').hidden")
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
