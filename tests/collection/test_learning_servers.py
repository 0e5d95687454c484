"""Surveys that learn, with the real server in processes of its own: two at once, killed at any moment, under load."""

import asyncio
import http.client
import json
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("starlette")

from extremal.collection.guard import parse_submission
from extremal.collection.server import running
from extremal.collection.store import create_store, open_store
from tests.support.learners import SURVEY, answered, eventually, learning, submissions
from tests.support.phones import ask, post, post_many, stored

SERVE = """
import sys
from extremal._common.web import listen
from extremal.collection.designs import load_designs
from extremal.collection.server import Settings, serve
from extremal.collection.store import create_store
from extremal.collection.survey import read_survey
bound = listen("127.0.0.1", 0, "the survey")
print(bound.getsockname()[1], flush=True)
with create_store(sys.argv[2], load_designs(read_survey(sys.argv[1]))) as store:
    serve(store, bound, Settings("secret-of-the-test"))
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "survey.db")
        return
    cluster = request.getfixturevalue("postgres_cluster")
    yield cluster.url
    cluster.empty()


class Running:
    """A server in a process of its own."""

    def __init__(self, survey, place):
        command = [sys.executable, "-c", SERVE, str(survey), place]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.base = f"http://127.0.0.1:{int(self.process.stdout.readline())}/"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        self.process.stdout.close()


def test_two_servers_of_one_store_go_through_the_same_stages(tmp_path, place):
    survey = learning(tmp_path)
    with create_store(place, survey) as one, create_store(place, survey) as other:
        with running(one) as (first, _), running(other) as (second, _):
            bodies = list(answered(survey, 210))
            for k, body in enumerate(bodies[-20:]):
                assert post((first, second)[k % 2], body)[0] == 200
            one.add(parse_submission(one.surveys, body) for body in bodies[:190])
            eventually(lambda: len(one.stages) == len(other.stages) == 2)
            assert one.current.digest == other.current.digest != survey.digest
            for k, body in enumerate(answered(one.current, 6, seed=1)):
                assert post((first, second)[k % 2], body)[0] == 200
            pages = [json.loads(ask(base, "GET", "/survey.json")[2]) for base in (first, second)]
            assert pages[0] == pages[1]
        assert one.count() == other.count() == 216
        assert sum(one.stages[0].counts["smokes"]) == 200


def test_a_server_that_has_not_heard_of_a_stage_takes_reports_of_it(tmp_path, place):
    """Another server began it a moment ago, and a phone got the page from that one."""
    from extremal.collection.learning import go_on

    survey = learning(tmp_path)
    with create_store(place, survey) as store, create_store(place, survey) as other:
        other.add(submissions(other, survey, 200))
        with running(store) as (base, _):
            go_on(other)
            (body,) = answered(other.current, 1)
            assert post(base, body) == (200, {"accepted": True})


@pytest.mark.parametrize(
    ("seed", "kills"), [(0, 1), *(pytest.param(k, 8, marks=pytest.mark.slow) for k in (1, 2))]
)
def test_kill_9_around_a_change_of_stage_loses_nothing_and_the_next_server_goes_on(
    tmp_path, place, seed, kills
):
    survey, rng = learning(tmp_path), random.Random(seed)
    (tmp_path / "survey.toml").write_text(SURVEY)
    bodies = list(answered(survey, 230, seed=seed))
    acknowledged, lock = set(), threading.Lock()

    def phone(part, base):
        for body in part:
            try:
                status, _ = post(base, body)
            except (OSError, http.client.HTTPException):
                return
            assert status == 200
            with lock:
                acknowledged.add(json.loads(body)["id"])

    for _ in range(kills):  # servers that are killed at a moment around the end of the stage
        server = Running(tmp_path / "survey.toml", place)
        try:
            phones = [threading.Thread(target=phone, args=(bodies[k::4], server.base)) for k in range(4)]
            for thread in phones:
                thread.start()
            time.sleep(rng.uniform(0.2, 2.5))
        finally:
            server.kill()
        for thread in phones:
            thread.join(60)
    with open_store(place) as store:
        there = set(stored(store))
        assert acknowledged <= there
        assert store.count() == len(there)
        before = [(stage.number, stage.counts) for stage in store.stages]
        with running(store) as (base, _):
            assert {post(base, body)[0] for body in bodies} == {200}
            eventually(lambda: len(store.stages) == 2)
        assert store.count() == 230
        assert sum(store.stages[0].counts["smokes"]) == 200
        assert all(dict(before)[number] in (None, store.stages[number - 1].counts) for number in dict(before))


TWELVE = ", ".join(f'"answer {k}"' for k in range(12))


@pytest.mark.timed
def test_a_change_of_stage_takes_under_3_seconds_for_12_answers_under_load_and_refuses_nothing(tmp_path):
    text = SURVEY.partition("[[question]]")[0].replace("people = 2000", "people = 5000") + (
        f'[[question]]\nname = "work"\ntext = "What is your work?"\nanswers = [{TWELVE}]\nepsilon = 1.0\n'
        'prior = "learn"\n[learn]\nstages = [1000]\nforged = 0\n'
    )
    (tmp_path / "survey.toml").write_text(text)
    survey = learning(tmp_path, text)
    truth = {"work": [0.3, 0.2, 0.1, *[0.4 / 9] * 9]}
    server = Running(tmp_path / "survey.toml", str(tmp_path / "s.db"))
    try:
        with create_store(tmp_path / "s.db", survey) as store:
            store.add(submissions(store, survey, 999, truth=truth))
            (last,) = answered(survey, 1, truth=truth)
            begin = time.perf_counter()
            assert post(server.base, last)[0] == 200
            ended = threading.Event()

            def load():
                for k in range(100):
                    if ended.is_set():
                        return
                    asyncio.run(post_many(server.base, list(answered(survey, 40, seed=k, truth=truth)), 16))

            people = threading.Thread(target=load)
            people.start()
            while json.loads(ask(server.base, "GET", "/survey.json")[2])["digest"] == survey.digest:
                assert time.perf_counter() - begin < 60
                time.sleep(0.02)
            seconds = time.perf_counter() - begin
            ended.set()
            people.join(60)
            assert store.count() % 40 == 0
            assert store.count() > 1000
    finally:
        server.kill()
    print(f"{seconds:.2f} s")
    assert seconds < 3
