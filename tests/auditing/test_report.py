"""The page about one mechanism: what matters first, lists in full, words that need no Python."""

import re

import pytest

import extremal as ex
from extremal.auditing import report
from extremal.auditing.report import Folded, Section, mechanism_report, page
from extremal.auditing.text import Cells
from extremal.studies.data import anes96

PARTIES = ex.Prior.from_data(anes96()["party"])


@pytest.fixture(scope="module")
def made():
    return ex.certify(PARTIES, ex.design(PARTIES, 0.7, ex.mutual_information).mechanism, 0.7)


def test_the_title_is_the_one_given_and_the_short_words_stand_before_the_pictures(made):
    text = mechanism_report(PARTIES, made, title="Which party?")
    assert "<title>Which party?</title>" in text
    first = ", ".join(f"“{label}”" for label in PARTIES.labels[:5])
    assert f"About a question with 7 answers: {first} and 2 more.</p>" in text
    assert text.index("<h1>Which party?") < text.index("<h2>The promise") < text.index("<svg")


def test_what_no_page_shows_becomes_a_dot_but_not_the_spaces_of_figures(made):
    assert "·" not in mechanism_report(PARTIES, made)
    assert "a·b" in mechanism_report(PARTIES, made, title="a\x07b")


def test_every_report_that_rules_out_answers_is_listed_in_full(made):
    found = ex.audit(PARTIES, made).disclosures
    assert len(found) > 1
    text = mechanism_report(PARTIES, made)
    (unfolds,) = re.findall(r"<details>.*?</details>", text, re.DOTALL)
    rows = re.findall(r"<tr><td>.*?</tr>", unfolds)
    for row, disclosure in zip(rows, found, strict=True):
        cells = re.findall(r"<td>(.*?)</td>", row)
        for cell, labels in zip(
            cells, (disclosure.reports, disclosure.excluded, disclosure.possible), strict=False
        ):
            assert cell == ", ".join(f"“{label}”" for label in labels)
    assert not re.search(r"and \d+ more", text.partition("<h2>")[2])


def test_nothing_unfolds_where_the_sentences_say_all():
    prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    assert "<details>" not in mechanism_report(prior, ex.theory.randomized_response(prior, 1.0))


def test_of_many_reports_each_is_listed_as_far_as_the_page_stays_small(monkeypatch):
    prior = ex.Prior.uniform(40)
    mechanism = ex.theory.randomized_response(prior, 1.0)
    rows = mechanism_report(prior, mechanism).partition("<details>")[2].count("<tr><td>")
    assert rows == 40
    monkeypatch.setattr(
        report, "MOST_LISTED", 20
    )  # a report and the one answer that it is about: ten of them
    text = mechanism_report(prior, mechanism)
    assert text.partition("<details>")[2].count("<tr><td>") == 10
    assert "the first 10 of 40" in text


def test_no_python_is_needed_to_read_the_page(made):
    assert not re.search(r"\w+\(\)", re.sub(r"<style>.*?</style>", "", mechanism_report(PARTIES, made)))
    assert not re.search(r"\w+\(\)", ex.audit(PARTIES, made).to_markdown())


def test_a_page_of_an_audit_loads_nothing_else(made):
    curve = ex.tradeoff(PARTIES, [0.1, 0.7], ex.mutual_information)
    for text in (
        mechanism_report(PARTIES, made, curve),
        mechanism_report(ex.PriorSet.l1_ball(PARTIES, 0.1), made.mechanism),
    ):
        assert not re.search(r"<(?:script|link|img|iframe|object|embed|base|source|use|image)\b", text)
        assert not re.search(r"\b(?:src|href|action|data|srcset)\s*=|url\(|@import", text)


def test_what_unfolds_is_never_markup():
    evil = "<script>alert(1)</script>"
    text = page("t", "l", [Section("s", folded=Folded(evil, Cells([evil], [[evil]])))])
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 4  # the table is named by its summary


def test_what_can_become_certain_stands_beside_the_promise(made):
    boxes = re.search(r'<div class="beside">(.*?)</div>', mechanism_report(PARTIES, made), re.DOTALL)[1]
    assert "more than 2.02 times as likely to be right" in boxes
    assert "100\u00a0% <small>of reports rule out some answer" in boxes  # on one line
    assert "·" not in boxes
    soft = mechanism_report(PARTIES, ex.theory.randomized_response(PARTIES, 1.0))
    assert (
        "No report rules out any answer." in re.search(r'<div class="beside">(.*?)</div>', soft, re.DOTALL)[1]
    )


def test_no_chart_has_a_single_bar_and_the_axes_are_not_in_nats(made):
    """Every report of this mechanism is as telling as any other: a sentence says so."""
    text = mechanism_report(PARTIES, made, ex.tradeoff(PARTIES, [0.2, 0.7, 1.5]))
    assert "All 6 reports are equally telling" in text
    assert "no report gives more than × 2.02" in text
    assert "half of all reports can at most double the chance of an answer" in text
    uneven = mechanism_report(PARTIES, ex.theory.randomized_response(PARTIES, 1.0))
    for page_text in (text, uneven):
        for picture in re.findall(r"<svg.*?</svg>", page_text, re.DOTALL):
            assert len(re.findall(r'<rect [^>]*fill="#0072B2"', picture)) != 1
            assert "nats" not in picture


def test_a_page_for_a_set_of_priors_speaks_of_the_set():
    priors = ex.PriorSet.l1_ball(PARTIES, 0.05)
    made = ex.certify(priors, ex.theory.randomized_response(PARTIES, 0.5), 0.6)
    assert "for every prior in the set (l1 ball of radius 0.05)" in mechanism_report(priors, made)
