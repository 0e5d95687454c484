"""Surveys that learn their priors: stages, what the next one is made from, and what its people are promised."""

import json

import pytest

pytest.importorskip("starlette")

import extremal as ex
from extremal.collection.learning import go_on
from extremal.collection.results import csv_text, results
from extremal.collection.server import Settings, running
from extremal.collection.store import Verdict, create_store, read_store
from tests.support.learners import TRUTH, answered, eventually, learning, submissions
from tests.support.phones import ask, post


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    return learning(tmp_path_factory.mktemp("learning"))


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "survey.db")
        return
    cluster = request.getfixturevalue("postgres_cluster")
    yield cluster.url
    cluster.empty()


def test_a_stage_ends_when_it_is_full_and_the_next_one_is_made_from_its_reports(survey, place):
    with create_store(place, survey) as store:
        store.add(submissions(store, survey, 199))
        assert not go_on(store)
        store.add(submissions(store, survey, 4, seed=1))  # three more than the stage has
        assert (store.count(), store.visible()) == (203, 200)
        assert go_on(store)
        assert not go_on(store)
        assert [(s.number, s.mechanism) for s in store.stages] == [(1, "1"), (2, "2")]
        first, second = survey.questions, store.current.questions
        for k, name in enumerate(("smokes", "mood")):
            counts = store.stages[0].counts[name]
            shown = [row[k] for row in (cells for _, cells in store.reports().rows)]
            assert counts == [shown.count(y) for y in first[k].mechanisms[0].outputs]
            assert second[k].mechanisms[0].digest != first[k].mechanisms[0].digest
            made_for = second[k].mechanisms[0].prior_set
            assert made_for.contains(ex.Prior(TRUTH[name]))
            pairs = [(first[k].mechanisms[0], dict(zip(first[k].mechanisms[0].outputs, counts, strict=True)))]
            expected = ex.PriorSet.from_reports(
                pairs, confidence=1 - 0.05 / 4, drift=0.05, between=first[k].between or None
            )
            assert made_for.bounds.same_as(expected.bounds)
        assert second[2].mechanisms == first[2].mechanisms


def test_everybody_counts_in_one_estimate_whatever_page_they_had(survey, place):
    with create_store(place, survey) as store:
        pages = []
        for people in (200, 400, 700):
            pages.append(store.current)
            store.add(submissions(store, store.current, people, seed=people))
            go_on(store)
        assert store.add(submissions(store, pages[0], 10, seed=9)) == [Verdict.ACCEPTED] * 10
        store.finish()
        stored = read_store(place)
        assert (store.count(), len(stored.rows)) == (1310, 1310)
        pairs = []
        for number, page in zip("123", pages, strict=True):
            column = stored.only([number]).columns(["smokes"])["smokes"]
            pairs.append((page.questions[0].mechanisms[0], column))
        assert [len(column) for _, column in pairs] == [210, 400, 700]
        expected = ex.estimate(pairs)
        smokes, mood, visits, age = results(store)["questions"]
        assert [row["share"] for row in smokes["rows"]] == pytest.approx(expected.shares.tolist(), abs=1e-9)
        assert [row["low"] for row in smokes["rows"]] == pytest.approx(expected.lower.tolist(), abs=1e-9)
        assert all(len(q["rows"]) > 1 for q in (mood, visits, age))
        lines = csv_text(stored).splitlines()
        assert lines[0] == "smokes,mood,visits,age,mechanism number"
        assert [line.rpartition(",")[2] for line in lines[1:]].count("1") == 210


def test_the_server_goes_on_to_the_next_stage_and_takes_reports_of_earlier_pages(survey, tmp_path):
    said = []
    with create_store(tmp_path / "s.db", survey) as store:
        settings = Settings("s" * 20, log=said.append)
        with running(store, settings) as (base, _):
            late, *people = answered(survey, 201)
            before = ask(base, "GET", "/survey.json")[2]
            store.add(submissions(store, survey, 199, seed=3))
            assert post(base, people[0]) == (200, {"accepted": True})
            eventually(lambda: said)
            after = json.loads(ask(base, "GET", "/survey.json")[2])
            assert after["digest"] == store.current.digest != survey.digest
            assert after["together"].startswith(json.loads(before)["together"])
            assert "made up" in after["together"]
            assert post(base, late) == (200, {"accepted": True})
            for body in answered(store.current, 2, seed=4):
                assert post(base, body) == (200, {"accepted": True})
            # A phone in the middle of loading the first page gets the rest of that page.
            for q in json.loads(before)["questions"]:
                for address, digest in zip(q["mechanisms"], q["digests"], strict=True):
                    assert json.loads(ask(base, "GET", f"/{address}")[2])["digest"] == digest
        assert store.count() == 203
    assert len(said) == 1
    assert said[0].startswith("stage 2 has begun; SHA-256 of its page: ")
