"""Surveys with simulated people, and copies of stores."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import extremal as ex

pytest.importorskip("starlette")

from extremal.collection.guard import Refusal, parse_submission
from extremal.collection.published import Published
from extremal.collection.rehearsal import fill, rehearsal, simulated
from extremal.collection.store import FIRST, Submission, create_store, open_store
from extremal.errors import SurveyError
from tests.support.cli_cases import refuse, run
from tests.support.phones import body, drawn, folder, published
from tests.support.wording import refused


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a survey that was checked."""
    monkeypatch.chdir(tmp_path)
    for path in folder().glob("*.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


# Simulated people


def test_results_of_simulated_people_are_marked_and_near_what_the_survey_expects(here, monkeypatch):
    """Nothing stays but what is printed; 4.5 standard errors of about 0.02 on each side."""
    monkeypatch.setenv("TMPDIR", str(here / "temporary"))
    Path("temporary").mkdir()
    before = sorted(path.name for path in here.iterdir())
    done = run("survey", "test", "survey.toml", "--people", "4000", "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert (found["test"], found["people"], found["reports"]) == (True, 4000, 4000)
    assert found["title"].startswith("TEST: ")
    shares = {
        q["name"]: {row["label"]: row["share"] for row in q["rows"]}
        for q in found["questions"]
        if q["text"].startswith("TEST: ")
    }
    assert shares["visits"] == pytest.approx({"never": 0.5, "once": 0.3, "often": 0.2}, abs=0.1)
    assert shares["symptoms"] == pytest.approx({"cough": 0.3, "fever": 0.1}, abs=0.1)
    assert shares["age"] == pytest.approx({"under 40": 0.5, "40 and over": 0.5}, abs=0.04)
    assert sorted(path.name for path in here.iterdir()) == before
    assert list(Path("temporary").iterdir()) == []
    said = run("survey", "test", "survey.toml", "--people", "20").out
    assert "A test with 20 simulated people. Nobody was asked." in said
    assert "TEST: How often did you see a doctor" in said
    refuse("survey", "test", "survey.toml", "--people", "0", says="--people")
    refuse("survey", "test", "nowhere.toml", says="nowhere.toml")


def test_no_store_of_a_survey_takes_what_a_test_sends(tmp_path):
    """Neither does the server's own check, nor `add`, nor the test's store what the survey sends."""
    real, copy = published(), rehearsal(published())
    assert copy.digest != real.digest
    assert copy.id != real.id
    assert rehearsal(real).id != copy.id
    for survey, other in ((real, copy), (copy, real)):
        sent = json.loads(body(other)) | {"reports": drawn(real, 1)}
        with pytest.raises(Refusal):
            parse_submission({FIRST: survey}, json.dumps(sent).encode())
    for name, survey in (("real.db", real), ("test.db", copy)):
        with create_store(tmp_path / name, survey) as store:
            fill(store, 20, np.random.default_rng(1))
    with refused(SurveyError):
        create_store(tmp_path / "real.db", copy)
    with refused(SurveyError):
        create_store(tmp_path / "test.db", real)


def test_a_set_of_items_is_simulated_whole():
    """Reports on items one by one come from one set: with items that go together, their reports do."""
    real = published()
    prior = ex.Prior({"00": 0.5, "11": 0.5 - 1e-9, "01": 5e-10, "10": 5e-10})
    item = ex.certify(ex.design(ex.Prior({"no": 0.5, "yes": 0.5}), 0.6))
    asked = replace(
        real.questions[1],
        form="each",
        mechanisms=(item, item),
        subsets=ex.Prior(prior.probabilities, prior.labels),
    )
    survey = replace(real, questions=(asked,))
    sent = [
        json.loads(s.content)[0] for s in simulated(survey, survey, FIRST, 4000, np.random.default_rng(0))
    ]
    matrix = item.mechanism.matrix
    together = np.mean([matrix[k][:, None] * matrix[k][None, :] for k in (0, 1)], axis=0)
    for j, one in enumerate(item.outputs):
        for k, other in enumerate(item.outputs):
            share = np.mean([row == [one, other] for row in sent])
            assert share == pytest.approx(together[j, k], abs=0.04)


def test_a_survey_that_learns_goes_through_its_stages(tmp_path):
    from tests.support.learners import learning

    with create_store(tmp_path / "test.db", rehearsal(learning(tmp_path))) as store:
        fill(store, 900, np.random.default_rng(2))
        assert [stage.number for stage in store.stages] == [1, 2, 3]
        assert store.count() == 900
        assert all(q.text.startswith("TEST: ") for survey in store.surveys.values() for q in survey.questions)


RULES = """
title = { en = "Health", fr = "Santé" }
languages = ["en", "fr"]
closes = 2020-01-01
most_people = 3

[[question]]
name = "works"
text = { en = "Do you work?", fr = "Travaillez-vous ?" }
kind = "clear"
answers = ["yes", "no"]
answer_texts.fr = { yes = "oui", no = "non" }

[[question]]
name = "drinks"
text = { en = "Do you drink?", fr = "Buvez-vous ?" }
ask_if = { question = "works", answers = ["yes"] }
answers = ["yes", "no"]
answer_texts.fr = { yes = "oui", no = "non" }
epsilon = 0.5
prior = [0.3, 0.7]

[[question]]
name = "quit"
text = { en = "Do you want to stop?", fr = "Voulez-vous arrêter ?" }
ask_if = { question = "drinks", answers = ["yes"] }
answers = ["yes", "no"]
answer_texts.fr = { yes = "oui", no = "non" }
epsilon = 0.5
prior = [0.4, 0.6]

"""


def test_a_rehearsal_is_open_marked_in_every_language_and_asks_whom_the_survey_asks(tmp_path):
    """Who does not work is not asked openly; on "not asked" privately a report is sent like any other."""
    from extremal.collection.designs import check
    from extremal.collection.survey import parse_survey

    survey, _ = check(parse_survey(RULES, tmp_path / "survey.toml"))
    copy = rehearsal(survey)
    assert (copy.closes, copy.most_people) == (None, None)
    assert {said["title"] for said in copy.words.values()} == {"TEST: Health", "TEST: Santé"}
    assert all(said["text"].startswith("TEST: ") for q in copy.questions for said in q.words.values())
    assert copy.questions[0].words["fr"]["answers"] == survey.questions[0].words["fr"]["answers"]
    with create_store(tmp_path / "test.db", copy) as store:
        fill(store, 400, np.random.default_rng(4))
        store.finish()
        with store.database.session() as session:
            stored = [json.loads(content) for (content,) in session.rows("SELECT content FROM reports")]
    assert len(stored) == 400
    for works, drinks, quits in stored:
        assert (drinks is None) == (quits is None) == (works == "no")


def test_the_copy_is_served_and_gone_afterwards(here):
    Path("temporary").mkdir()
    command = [sys.executable, "-m", "extremal", "survey", "test", "survey.toml", "--serve", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(here / "temporary"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        address = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        base = address.partition("#")[0].removesuffix("results")
        with urllib.request.urlopen(f"{base}survey.json") as answer:
            served = json.load(answer)
        assert served["title"].startswith("TEST: ")
        assert all(q["text"].startswith("TEST: ") for q in served["questions"])
        assert served["digest"] != published().digest
        assert list(Path("temporary").iterdir())
        server.send_signal(signal.SIGTERM)
        server.stdout.read()
    assert list(Path("temporary").iterdir()) == []
    assert not Path("survey.db").exists()


# Copies


def content(path):
    """All tables of a store."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as raw:
        names = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: raw.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in names}


def test_a_copy_holds_what_the_store_holds_for_its_owner_alone(here):
    with create_store("survey.db", published()) as store:
        store.add(Submission(f"{k:032x}", published().content(drawn(published(), k))) for k in range(38))
    done = run("survey", "backup", "survey.toml", "-o", "copy.db")
    assert (done.status, done.out.split()[0]) == (0, "38"), done.err
    assert Path("copy.db").stat().st_mode & 0o777 == 0o600
    assert content("copy.db") == content("survey.db")
    first, second = (
        run("estimate", name, "--question", "visits", "--json").out.replace(name, "")
        for name in ("copy.db", "survey.db")
    )
    assert first == second
    refuse("survey", "backup", "survey.toml", "-o", "copy.db", says="--overwrite")
    refuse("survey", "backup", "survey.toml", "-o", "survey.db", "--overwrite", says="must not replace")
    refuse("survey", "backup", "survey.toml", "-o", "-", says="file")
    refuse("survey", "backup", "survey.toml", "-o", "x.db", "--database", "nowhere.db", says="nowhere.db")
    assert run("survey", "backup", "survey.toml", "-o", "copy.db", "--overwrite").status == 0
    with open_store("copy.db") as store:  # goes on like the store
        assert store.count() == 38
        store.add([Submission("f" * 32, published().content(drawn(published(), 99)))])
        assert store.count() == 39


def test_the_bytes_of_a_copy_are_those_of_the_store(here):
    """So what store.py says about a store holds for a copy, deleted rows included, but for three counters."""
    with create_store("invited.db", published("invited")) as store:
        tokens = store.invite(30)
        for k, token in enumerate(tokens[:17]):
            from extremal.collection.store import token_hash

            store.add(
                [
                    Submission(
                        f"{k:032x}",
                        published("invited").content(drawn(published("invited"), k)),
                        token_hash(token),
                    )
                ]
            )
            if k in (3, 16):
                done = run("survey", "backup", "invited.toml", "-o", f"copy{k}.db")
                assert done.status == 0, done.err
                mine, other = (bytearray(Path(name).read_bytes()) for name in (f"copy{k}.db", "invited.db"))
                for at in (*range(24, 28), *range(40, 44), *range(92, 100)):
                    mine[at] = other[at] = 0
                assert mine == other
    used = token_hash(tokens[0])
    assert used.encode() not in Path("copy16.db").read_bytes()
    assert token_hash(tokens[-1]).encode() in Path("copy16.db").read_bytes()


def test_copies_are_whole_while_servers_write(here):
    """Each is the store between two transactions: what was acknowledged before is in it, and no half of a batch."""
    acknowledged, stop = [0], threading.Event()
    survey = published()

    def server():
        with create_store("survey.db", survey) as store:
            for k in range(0, 40_000, 4):
                if stop.is_set():
                    return
                store.add(Submission(f"{j:032x}", survey.content(drawn(survey, j))) for j in range(k, k + 4))
                acknowledged[0] = k + 4
                stop.wait(0.01)  # without a pause others wait for seconds, as beside any busy store

    writing = threading.Thread(target=server)
    with create_store("survey.db", survey):
        writing.start()
        counts = []
        while len(counts) < 3 or counts[-1] == counts[0]:
            before = acknowledged[0]
            done = run("survey", "backup", "survey.toml", "-o", "copy.db", "--overwrite")
            assert done.status == 0, done.err
            held = content("copy.db")
            ids = {int(row[0], 16) for name in ("reports", "waiting") for row in held[name]}
            assert ids == set(range(len(ids)))
            assert len(ids) % 4 == 0
            assert before <= len(ids) <= acknowledged[0] + 4
            counts.append(len(ids))
        stop.set()
        writing.join()


def test_a_store_on_postgresql_says_how_it_is_copied(here, postgres_cluster):
    postgres_cluster.empty()
    with create_store(postgres_cluster.url, published()):
        pass
    refuse(
        "survey", "backup", "survey.toml", "-o", "c.db", "--database", postgres_cluster.url, says="pg_dump"
    )
    assert not Path("c.db").exists()
    postgres_cluster.empty()


def test_published_documents_of_rehearsals_can_be_read_back():
    copy = rehearsal(published())
    assert Published.from_json(copy.to_json()).digest == copy.digest
