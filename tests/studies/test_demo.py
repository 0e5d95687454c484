"""The demo and its report: the figures are those of the library, the page needs nothing but itself."""

import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import extremal as ex
from extremal.auditing.report import Section, mechanism_report, page
from extremal.auditing.text import Cells
from extremal.studies.data import ORDER, anes96
from extremal.studies.demo.report import comparison, make, summary
from extremal.studies.demo.run import INFORMATION, RESPONSE, SHARES, covered
from tests.support.cli_cases import environment, run

FILES = {
    "answers.csv",
    "mechanism.json",
    "information.json",
    "randomized-response.json",
    "private.csv",
    "estimates.json",
    "audit.md",
    "audit.json",
    "tradeoff.csv",
    "report.html",
    "survey.toml",
    "survey.lock.json",
    "survey.db",
}
VOID = {"meta", "br", "img", "hr"}


class Page(HTMLParser):
    """Refuses tags that do not nest, and collects the text and everything that would be fetched."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.fetched, self.titles = [], "", [], 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.fetched += [v for k, v in attributes if k in ("src", "href", "data", "srcset")]
        self.fetched += ["script"] if tag == "script" else []
        self.titles += tag == "title"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """In a folder where an earlier run has left its files."""
    folder = tmp_path_factory.mktemp("demo")
    for name in FILES:
        (folder / name).write_text("of an earlier run")
    return make(folder, seed=3)


def test_the_demo_leaves_all_files_and_says_where(demo):
    done, report = demo
    assert [path for path in done.folder.iterdir() if path.read_bytes() == b"of an earlier run"] == []
    assert {path.name for path in done.folder.iterdir()} == FILES
    assert {*done.files, str(report)} == {str(done.folder / name) for name in FILES}


def test_every_mechanism_of_the_demo_is_certified_at_the_same_leakage(demo):
    done, _ = demo
    for name in ("mechanism.json", "information.json", "randomized-response.json"):
        c = ex.load(done.folder / name)
        assert c.epsilon == 0.7
        assert ex.epsilon_pml(c.prior, c.mechanism) == pytest.approx(0.7, abs=1e-9)


def test_the_prior_and_the_reports_are_those_of_the_survey(demo):
    done, _ = demo
    counts = Counter(anes96()["party"])
    assert done.prior.labels == tuple(ORDER)
    assert [round(944 * p) for p in done.prior.probabilities] == [counts[label] for label in ORDER]
    with (done.folder / "private.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["respondent"] for row in rows] == [str(i + 1) for i in range(944)]
    assert list(rows[0]) == ["respondent", "party"]  # other columns would tell about the answer
    reports = Counter(int(row["party"]) for row in rows)
    way = done.ways[SHARES]
    assert way.estimate.report_shares * 944 == pytest.approx([reports[y] for y in way.certified.outputs])


def test_estimates_follow_from_the_files_alone(demo):
    done, _ = demo
    c = ex.load(done.folder / "mechanism.json")
    with (done.folder / "private.csv").open(newline="") as file:
        expected = ex.estimate(c, [int(row["party"]) for row in csv.DictReader(file)])
    stored = json.loads((done.folder / "estimates.json").read_text())
    for row, known in zip(stored["rows"], expected.to_dict()["rows"], strict=True):
        assert row == pytest.approx(known, abs=1e-12)
    truth = done.prior.probabilities
    inside = ((expected.lower <= truth) & (truth <= expected.upper)).sum()
    assert covered(done.ways[SHARES].estimate, truth) == inside >= 5  # of 7; fewer has probability 0.4 %


def test_the_phones_answer_through_the_server_and_the_report_shows_what_arrived(demo):
    done, report = demo
    collection = done.collection
    assert collection.people == collection.estimate.reports == 300
    assert sum(collection.truth) == pytest.approx(1)
    c = ex.load(done.folder / "mechanism.json")
    again = ex.estimate(c, str(done.folder / "survey.db"), column="party")
    assert again.shares == pytest.approx(collection.estimate.shares, abs=1e-12)
    assert covered(collection.estimate, collection.truth) == 7  # with this seed; the level is 95 %
    assert "Collected from 300 phones" in report.read_text(encoding="utf-8")


def test_without_the_packages_for_surveys_the_demo_says_so_and_goes_on(demo, monkeypatch, tmp_path):
    from extremal.studies.demo import run
    from extremal.studies.demo.report import phones_section

    monkeypatch.setattr(run, "available", lambda: False)
    with run.collecting(tmp_path, [], None) as arriving:
        assert arriving() is None
    assert list(tmp_path.iterdir()) == []
    assert phones_section(None).text == [run.MISSING]


def test_a_small_test_from_outside_is_not_said_to_prove_anything(demo):
    done, _ = demo
    assert not done.outside.violation
    assert summary(done)[-1] == (
        "A test on 944 pairs found nothing that contradicts 0.7 (so small a test detects only gross violations)."
    )
    strict = replace(done, outside=ex.audit_pairs(list("ab") * 400, list("ab") * 400, epsilon=0.1))
    assert "VIOLATION" in summary(strict)[-1]


def test_the_figures_of_the_comparison_are_those_of_textbook_formulas(demo):
    """The error by the information matrix, computed here; randomized response by its closed form."""
    done, _ = demo
    pi = done.prior.probabilities
    for name in (SHARES, RESPONSE):
        P = done.ways[name].certified.mechanism.matrix
        J = P @ np.diag(1 / (pi @ P)) @ P.T
        squares = np.diag(np.linalg.inv(J)) - pi**2  # of people drawn from a population with these shares
        error = math.sqrt(squares.mean() / 944)
        assert done.ways[name].expected.root_mean_square == pytest.approx(error, rel=1e-9)
    ratio = done.ways[RESPONSE].expected.root_mean_square / done.ways[SHARES].expected.root_mean_square
    assert done.saving == pytest.approx(ratio**2)
    assert done.saving > 5
    assert done.ways[INFORMATION].information == pytest.approx(
        ex.design(done.prior, 0.7, ex.mutual_information).value, abs=1e-9
    )
    head, rows = comparison(done)
    assert all(len(row) == len(head) for row in rows)


def test_the_report_is_one_file_with_pictures_that_fetches_nothing(demo):
    done, report = demo
    text = report.read_text(encoding="utf-8")
    found = Page(text)
    assert found.fetched == []
    assert text.count("<svg") == 2 * text.count("<figure>") == 12  # once for a desk, once for a phone
    assert found.titles >= 12  # of the page, and for those who do not see the pictures
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg|www\.electionstudies)", text)
    assert f"{done.saving:.1f} times as many people" in " ".join(found.text.split())
    assert "nan" not in found.text.split()
    for label in ORDER:
        assert label in found.text


@pytest.mark.slow
def test_the_demo_repeats_itself_in_the_same_folder(demo, tmp_path):
    folder = shutil.copytree(demo[0].folder, tmp_path / "here")
    done = run("demo", "--output", folder, "--epsilon", 1.1, "--json")
    assert done.err == ""
    assert json.loads(done.out)["epsilon"] == 1.1
    assert set(os.listdir(folder)) == FILES
    assert ex.load(folder / "mechanism.json").epsilon == 1.1


def test_the_demo_tells_where_to_look(demo, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "extremal.studies.demo.report.make", lambda *wish, progress: asked.append(wish) or demo
    )
    done = run("demo", "--output", "here")
    assert asked == [("here", 0.7)]
    assert done.status == 0, done.err
    assert done.err == ""
    assert str(demo[0].folder / "report.html") in done.out
    said = " ".join(done.out.split())
    assert "The prior was counted from answers.csv, so mechanism.json contains the exact shares." in said
    assert "it may be larger" not in said
    assert "\x1b" not in done.out
    done = run("demo", "--output", "there", "--epsilon", 1.1, "--json")
    assert asked[1:] == [("there", 1.1)]
    assert done.err == ""
    assert json.loads(done.out)["epsilon"] == demo[0].epsilon


@pytest.mark.slow
@pytest.mark.timed
def test_the_demo_takes_less_than_30_seconds(tmp_path):
    env = environment()
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "extremal", "demo", "--output", str(tmp_path / "d")], env=env, check=True
    )
    assert time.perf_counter() - begin < 30


# Pages and pictures in general


def test_text_of_a_page_is_never_markup():
    evil = "<script>alert(1)</script>"
    text = page(evil, evil, [Section(evil, [evil], [], Cells([evil], [[evil]]), after=[evil])], evil)
    assert "<script" not in text
    Page(text)
    prior = ex.Prior({evil: 0.5, "b\x1b": 0.3, "&": 0.2})
    made = ex.design(prior, 0.5, ex.mutual_information).mechanism
    text = mechanism_report(prior, made, ex.tradeoff(prior, [0.1, 0.5], ex.mutual_information), evil)
    assert "<script" not in text
    assert "\x1b" not in text
    Page(text)


def test_a_report_on_any_mechanism_says_what_it_leaks():
    prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    certified = ex.certify(prior, ex.design(prior, 0.6, ex.mutual_information).mechanism, 0.6)
    text = Page(mechanism_report(prior, certified)).text
    assert certified.digest in text
    assert "1.83 times" in text
    constant = ex.theory.closed_form.high_privacy(prior, 0.0)
    assert "It tells nothing about the answer." in Page(mechanism_report(prior, constant)).text
    big = ex.Prior.uniform(120)
    text = Page(mechanism_report(big, ex.theory.randomized_response(big, 1.0))).text
    assert "The 24 most common of 120 answers" in text


def test_nothing_of_the_demo_is_left_behind(demo):
    assert not [path for path in Path(demo[0].folder).iterdir() if path.name.startswith(".")]
