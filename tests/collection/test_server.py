"""The survey's server without a browser: what it hands out, what it takes, and what it refuses."""

import asyncio
import contextlib
import dataclasses
import gzip
import http.client
import json
import re
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

import extremal as ex

pytest.importorskip("starlette")

from extremal._common.web import listen
from extremal.collection import guard, server
from extremal.collection.guard import LARGEST_BODY, Bucket, Limits, Refusal
from extremal.collection.server import Settings, running
from extremal.collection.store import create_store, open_store
from tests.support.certificates import certificate
from tests.support.phones import ask, body, drawn, folder, full_disk, post, post_many, published, stored

SECRET = "correct-horse-battery-staple"


class Site:
    """A running survey: its address, its store and what it logged."""

    def __init__(self, base, store, log):
        self.base, self.store, self.log = base, store, log


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    log = []
    settings = Settings(SECRET, frozenset({"https://forms.example.org"}), log=log.append)
    place = tmp_path_factory.mktemp("site") / "survey.db"
    with create_store(place, published()) as store, running(store, settings) as (base, _):
        yield Site(base, store, log)


@pytest.fixture(scope="module")
def invited(tmp_path_factory):
    place = tmp_path_factory.mktemp("invited") / "survey.db"
    survey = published("invited")
    with create_store(place, survey) as store, running(store) as (base, _):
        yield Site(base, store, [])


# What it hands out


def test_survey_json_and_the_mechanisms_are_what_the_page_needs(site):
    status, _, text = ask(site.base, "GET", "/survey.json")
    document = json.loads(text)
    assert status == 200
    assert document["digest"] == published().digest
    assert (document["post"], document["invitation"], document["contact"]) == (
        "reports",
        False,
        "Ask us at the desk.",
    )
    kinds = {q["name"]: (q["kind"], q["required"], len(q["mechanisms"])) for q in document["questions"]}
    assert kinds == {
        "visits": ("single", True, 1),
        "symptoms": ("several", True, 1),
        "mood": ("scale", True, 1),
        "age": ("clear", False, 0),
    }
    assert document["questions"][2]["answers"] == ["never", "at times", "often"]
    inputs = []
    for question in document["questions"]:
        for address in question["mechanisms"]:
            status, _, text = ask(site.base, "GET", f"/{address}")
            assert status == 200
            inputs.append(ex.Certified.from_json(text).inputs)
    assert inputs == [("never", "once", "often"), ("00", "01", "10", "11"), ("never", "at times", "often")]


@pytest.mark.parametrize(
    "path", ["/", "/survey.json", "/extremal.js", "/results", "/nothing", "/results.json"]
)
def test_every_answer_carries_the_headers_that_protect_it_and_no_cookie(site, path):
    _, headers, _ = ask(site.base, "GET", path)
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["set-cookie"] is None
    assert headers["server"] is None


def test_results_and_exports_need_the_secret(site):
    post(site.base, body(published(), 1))
    for path in ("/results.json", "/reports.csv"):
        for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": SECRET}):
            assert ask(site.base, "GET", path, **given)[0] == 401
    right = {"authorization": f"Bearer {SECRET}"}
    status, _, text = ask(site.base, "GET", "/results.json", **right)
    document = json.loads(text)
    assert status == 200
    assert document["reports"] == site.store.visible()
    assert document["wanted"] == {"width": 0.1, "people": 900}
    assert [q["name"] for q in document["questions"]] == ["visits", "symptoms", "mood", "age"]
    _, _, text = ask(site.base, "GET", "/reports.csv", **right)
    assert text.splitlines()[0] == "visits,symptoms,mood,age"
    assert len(text.splitlines()) == 1 + site.store.visible()


# What it takes


def test_a_report_that_is_sent_again_counts_once_and_another_under_its_id_is_refused(site):
    before = site.store.count()
    first = body(published(), 1)
    assert post(site.base, first) == (200, {"accepted": True})
    assert post(site.base, first) == (200, {"accepted": True})
    other = json.loads(first) | {"reports": drawn(published(), 2)}
    assert post(site.base, json.dumps(other))[0] == 409
    assert site.store.count() == before + 1


def test_what_the_store_holds_is_what_was_sent(site):
    sent = json.loads(body(published(), 3))
    post(site.base, json.dumps(sent))
    assert stored(site.store)[sent["id"]] == list(sent["reports"].values())


def test_an_invitation_lets_one_of_fifty_requests_at_once_through(invited):
    survey = published("invited")
    (token,) = invited.store.invite(1)
    with ThreadPoolExecutor(25) as pool:
        tries = [pool.submit(post, invited.base, body(survey, k, token=token)) for k in range(50)]
    statuses = sorted(t.result()[0] for t in tries)
    assert statuses == [200] + [403] * 49
    assert (invited.store.count(), invited.store.open_invitations()) == (1, 0)
    assert post(invited.base, body(survey, token=secrets.token_hex(16)))[0] == 403
    assert post(invited.base, body(survey))[0] == 400  # without any


def test_a_page_of_another_site_posts_if_the_researcher_allows_it(site):
    allowed = {"origin": "https://forms.example.org", "sec_fetch_site": "cross-site"}
    asks = {"access_control_request_method": "POST", "access_control_request_headers": "content-type"}
    status, headers, _ = ask(site.base, "OPTIONS", "/reports", **allowed, **asks)
    assert (status, headers["access-control-allow-origin"]) == (200, "https://forms.example.org")
    assert (headers["access-control-allow-methods"], headers["access-control-max-age"]) == ("POST", "600")
    assert "content-type" in headers["access-control-allow-headers"].lower()
    status, headers, _ = ask(
        site.base, "POST", "/reports", body(published(), 4), content_type="application/json", **allowed
    )
    assert (status, headers["access-control-allow-origin"]) == (200, "https://forms.example.org")
    other = ask(site.base, "OPTIONS", "/reports", origin="https://evil.example.org", **asks)
    assert other[0] == 400
    assert other[1]["access-control-allow-origin"] is None


# What it refuses


def changed(**changes):
    return lambda: body(published(), 0, **changes)


def with_reports(change):
    """A body whose reports were changed."""
    reports = drawn(published(), 0)
    change(reports)
    return changed(reports=reports)


REFUSED = {
    "not JSON": (lambda: b"visits=3", 400),
    "not an object": (lambda: b"[]", 400),
    "empty": (lambda: b"", 400),
    "a name twice": (lambda: b'{"id": "a", "id": "b"}', 400),
    "NaN": (lambda: body(published()).replace(b'"reports": {', b'"x": NaN, "reports": {'), 400),
    "deep": (lambda: b"[" * 8000, 400),
    "bytes that are not UTF-8": (lambda: b"\xff" * 100, 400),
    "another survey": (changed(survey="0" * 64), 409),
    "a short id": (changed(id="abc"), 400),
    "an id in capitals": (changed(id="A" * 32), 400),
    "an id that is a number": (changed(id=12), 400),
    "a token that nobody asked for": (changed(token="0" * 32), 400),
    "a member too many": (changed(answer="never"), 400),
    "reports that are a list": (changed(reports=[1, 2, 3, None]), 400),
    "an unknown label": (with_reports(lambda r: r.update(visits=99)), 400),
    "a label as text": (with_reports(lambda r: r.update(visits="1")), 400),
    "a label as a float": (with_reports(lambda r: r.update(visits=1.0)), 400),
    "a label as a truth value": (with_reports(lambda r: r.update(visits=True)), 400),
    "a label in a list": (with_reports(lambda r: r.update(visits=[1])), 400),
    "the answer itself": (with_reports(lambda r: r.update(visits="never")), 400),
    "no answer to a private question": (with_reports(lambda r: r.update(visits=None)), 400),
    "an answer in the clear that there is not": (with_reports(lambda r: r.update(age="41")), 400),
    "a question too few": (with_reports(lambda r: r.pop("age")), 400),
    "a question too many": (with_reports(lambda r: r.update(name="me")), 400),
    "another order": (with_reports(lambda r: r.update(visits=r.pop("visits"))), 400),
    "too large": (lambda: b" " * (LARGEST_BODY + 1), 413),
}


@pytest.mark.parametrize("what", REFUSED)
def test_malformed_and_forged_reports_are_refused_with_one_line_and_nothing_stored(site, what):
    make, expected = REFUSED[what]
    before, logged = site.store.count(), len(site.log)
    status, answer = post(site.base, make())
    assert (status, list(answer)) == (expected, ["error"])
    assert len(site.log) == logged + 1
    assert "\n" not in site.log[-1]
    assert len(site.log[-1]) < 400
    assert "127.0.0.1" not in site.log[-1]
    assert not re.search(r"[0-9a-f]{32}", site.log[-1])
    assert site.store.count() == before


HEADERS = {
    "a form": ({"content_type": "text/plain"}, 415),
    "no type": ({"content_type": ""}, 415),
    "another site": ({"origin": "https://evil.example.org"}, 403),
    "no site": ({"origin": "null"}, 403),
    "an origin that is no address": ({"origin": "http://["}, 403),
    "a browser for another site": ({"sec_fetch_site": "cross-site"}, 403),
    "a sister site": ({"sec_fetch_site": "same-site"}, 403),
}


@pytest.mark.parametrize("what", HEADERS)
def test_requests_that_are_not_from_the_page_are_refused(site, what):
    headers, expected = HEADERS[what]
    before, logged = site.store.count(), len(site.log)
    assert post(site.base, body(published(), 0), **headers)[0] == expected
    assert (site.store.count(), len(site.log)) == (before, logged + 1)


def test_a_body_that_grows_too_large_while_it_comes_is_cut_off(site):
    before = site.store.count()
    host, port = site.base.removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        line.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
        answer = b""
        with contextlib.suppress(OSError):
            for _ in range(5):
                line.sendall(chunk)
        with contextlib.suppress(OSError):
            answer = line.recv(4096)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in answer.lower()
    assert site.store.count() == before


def test_a_body_that_does_not_come_is_given_up(site, monkeypatch):
    monkeypatch.setattr(guard, "READ_SECONDS", 0.05)
    host, port = site.base.removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(
            b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n"
        )
        assert line.recv(4096).startswith(b"HTTP/1.1 408")


def test_no_line_of_the_log_holds_an_invitation_that_somebody_may_still_use(site):
    """Mail programs and people turn links into other addresses."""
    token, logged = secrets.token_hex(16), len(site.log)
    for path in (
        "/%23",
        "/",
        "/x/",
        "/%2523",
        "/survey.json/%23",
        "/reports%23",
        "/mechanisms/",
        "/?",
        "/?a=%23",
    ):
        ask(site.base, "GET", path + token)
        ask(site.base, "POST", path + token, body(published(), 0), content_type="application/json")
    ask(site.base, token.upper(), "/reports")
    post(site.base, json.dumps({"survey": token}))
    post(site.base, json.dumps({"token": token}))
    post(site.base, body(published(), 0, token=token))
    post(site.base, body(published(), 0, **{token: token}))
    assert len(site.log) >= logged + 12
    assert not [line for line in site.log if token[:8].lower() in line.lower()]


def test_a_closed_survey_takes_no_more_reports_and_says_so(tmp_path):
    with create_store(tmp_path / "survey.db", published()) as store, running(store) as (base, secret):
        first = [body(published(), k) for k in range(7)]
        assert {post(base, content)[0] for content in first} == {200}
        right = {"authorization": f"Bearer {secret}"}
        assert json.loads(ask(base, "GET", "/results.json", **right)[2])["reports"] == 0
        assert store.finish() == 7
        document = json.loads(ask(base, "GET", "/results.json", **right)[2])
        assert (document["reports"], document["closed"]) == (7, True)
        assert len(ask(base, "GET", "/reports.csv", **right)[2].splitlines()) == 8
        assert post(base, body(published(), 9)) == (410, {"error": "This survey has ended."})
        assert post(base, first[3])[0] == 200  # sent again: it is there


def test_a_survey_that_has_not_begun_or_has_ended_takes_no_report_and_says_so(tmp_path):
    now = datetime.now(UTC)
    yesterday, tomorrow = ((now + timedelta(days=days)).isoformat() for days in (-1, 1))
    cases = [({"opens": tomorrow}, 403), ({"closes": yesterday}, 410), ({"most_people": 2}, 410)]
    for k, (terms, status) in enumerate(cases):
        survey = dataclasses.replace(published(), **terms)
        with create_store(tmp_path / f"{k}.db", survey) as store, running(store) as (base, _):
            taken = [post(base, body(survey, seed))[0] for seed in range(3)]
            assert taken[-1] == status
            assert store.count() == taken.count(200) == (2 if "most_people" in terms else 0)
            assert json.loads(ask(base, "GET", "/open.json")[2]) == {"open": False}
    survey = dataclasses.replace(published(), opens=yesterday, closes=tomorrow, most_people=2)
    with create_store(tmp_path / "open.db", survey) as store, running(store) as (base, _):
        assert json.loads(ask(base, "GET", "/open.json")[2]) == {"open": True}
        assert post(base, body(survey))[0] == 200


def test_what_phones_load_is_packed_for_those_who_take_it_so_whatever_language_they_prefer(site):
    plain = ask(site.base, "GET", "/form.js")
    assert "content-encoding" not in plain[1]
    connection = http.client.HTTPConnection(site.base.removeprefix("http://").rstrip("/"), timeout=30)
    seen = set()
    for language in ("en", "ar"):
        connection.request(
            "GET", "/form.js", headers={"Accept-Encoding": "gzip, br", "Accept-Language": language}
        )
        answer = connection.getresponse()
        packed = answer.read()
        assert answer.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in answer.headers["Vary"]
        seen.add(packed)
    connection.close()
    (packed,) = seen
    assert gzip.decompress(packed).decode() == plain[2]
    assert len(packed) < len(plain[2]) / 2


def test_only_posts_reach_the_store(site):
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        assert ask(site.base, method, "/reports", body(published()))[0] == 405
    assert ask(site.base, "POST", "/survey.json", b"{}")[0] == 405
    for path in (
        "/../survey.toml",
        "/mechanisms/..%2f..%2fsurvey.json",
        "/mechanisms/visits",
        "/static/form.js",
    ):
        assert ask(site.base, "GET", path)[0] == 404


def test_rates_are_limited_without_keeping_addresses():
    now = [0.0]
    bucket = Bucket(2, 1, lambda: now[0])
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    now[0] = 1.5
    assert [bucket.take() for _ in range(2)] == [True, False]
    limits = Limits(Bucket(1000, 1, lambda: now[0]), burst=3, rate=1, clock=lambda: now[0])
    for _ in range(3):
        limits.check("192.0.2.7")
    with pytest.raises(Refusal) as caught:
        limits.check("192.0.2.7")
    assert caught.value.status == 429
    limits.check("192.0.2.8")
    for _ in range(10):
        limits.check("127.0.0.1")  # a proxy
    assert not any(b"192.0.2" in name or "192.0.2" in repr(name) for name in limits._clients)
    assert "192.0.2" not in repr(limits)
    now[0] += 61
    limits.check("192.0.2.9")
    assert len(limits._clients) == 1  # the others have been forgotten
    now[0] += 61
    limits.forget()  # which the server does by itself, too
    assert limits._clients == {}
    everybody = Limits(Bucket(1, 0, lambda: now[0]))
    everybody.check("192.0.2.7")
    with pytest.raises(Refusal):
        everybody.check("192.0.2.9")


def test_of_too_many_addresses_the_first_are_forgotten(monkeypatch):
    monkeypatch.setattr(guard, "MOST_CLIENTS", 3)
    limits = Limits(Bucket(1000, 0), burst=1, rate=0)
    for k in range(5):
        limits.check(f"192.0.2.{k}")
    assert len(limits._clients) == 3
    with pytest.raises(Refusal):
        limits.check("192.0.2.4")
    limits.check("192.0.2.0")


# When the database fails


def test_a_full_disk_is_503_and_the_same_report_is_taken_later(tmp_path, monkeypatch):
    log = []
    with create_store(tmp_path / "survey.db", published()) as store:
        with running(store, Settings(SECRET, log=log.append)) as (base, _):
            full_disk(store, monkeypatch)
            sent, refused = [], None
            while refused is None:
                sent.append(body(published(), len(sent)))
                if post(base, sent[-1])[0] != 200:
                    refused = sent.pop()
            status, headers, text = ask(base, "POST", "/reports", refused, content_type="application/json")
            assert (status, headers["retry-after"]) == (503, "5")
            assert "later" in json.loads(text)["error"]
            assert store.count() == len(sent)
            assert "full" in log[-1]
            monkeypatch.undo()
            store.database.close()
            assert post(base, refused)[0] == 200
        assert set(stored(store)) == {json.loads(s)["id"] for s in [*sent, refused]}


def test_a_lost_connection_to_postgresql_is_503_and_the_retry_counts_once(postgres_cluster):
    survey = published("invited")
    with create_store(postgres_cluster.url, survey) as store, running(store) as (base, _):
        a, b = store.invite(2)
        first, second = body(survey, 1, token=a), body(survey, 2, token=b)
        assert post(base, first)[0] == 200
        postgres_cluster.stop()
        try:
            assert post(base, second)[0] == 503
            assert ask(base, "GET", "/survey.json")[0] == 200
        finally:
            postgres_cluster.start()
        assert [post(base, s)[0] for s in (second, second, first)] == [200] * 3
        assert (store.count(), store.open_invitations()) == (2, 0)
        postgres_cluster.empty()


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


def start(name, place):
    """A server in a process of its own, and its address."""
    command = [sys.executable, "-c", SERVE, str(folder() / f"{name}.toml"), place]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return process, f"http://127.0.0.1:{int(process.stdout.readline())}/"


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_kill_9_under_load_loses_nothing_that_was_acknowledged_and_stores_nothing_twice(
    kind, tmp_path, request
):
    place = str(tmp_path / "survey.db")
    if kind == "postgresql":
        place = request.getfixturevalue("postgres_cluster").url
    survey = published("invited")
    with create_store(place, survey) as store:
        tokens = store.invite(240)
    process, base = start("invited", place)
    bodies = [body(survey, k, token=token) for k, token in enumerate(tokens)]
    acknowledged, counted = [], threading.Lock()

    def phone(part):
        for content in part:
            try:
                status, _ = post(base, content)
            except (OSError, http.client.HTTPException):
                return
            assert status == 200
            with counted:
                acknowledged.append(json.loads(content)["id"])
                if len(acknowledged) == 60:
                    process.send_signal(signal.SIGKILL)

    phones = [threading.Thread(target=phone, args=(bodies[k::8],)) for k in range(8)]
    try:
        for thread in phones:
            thread.start()
        for thread in phones:
            thread.join(120)
    finally:
        process.kill()
        process.wait(30)
        process.stdout.close()
    assert len(acknowledged) >= 60
    with open_store(place) as store, running(store) as (again, _):
        there = set(stored(store))
        assert set(acknowledged) <= there
        assert store.count() == len(there) == 240 - store.open_invitations()
        assert len(there) < 240
        # The phones try again, those that were acknowledged too.
        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(lambda content: post(again, content)[0], bodies))
        assert statuses == [200] * 240
        assert (store.count(), store.open_invitations()) == (240, 0)
        if kind == "postgresql":
            request.getfixturevalue("postgres_cluster").empty()


@pytest.mark.timed
def test_a_thousand_reports_a_second_are_stored_with_every_one_on_disk(tmp_path):
    process, base = start("survey", str(tmp_path / "survey.db"))
    try:
        bodies = [body(published(), k) for k in range(200)]
        asyncio.run(post_many(base, bodies))  # a warm start
        bodies = [body(published(), k) for k in range(200)] + [body(published(), 1) for _ in range(4800)]
        begin = time.perf_counter()
        asyncio.run(post_many(base, bodies))
        seconds = time.perf_counter() - begin
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()
    with open_store(tmp_path / "survey.db") as store:
        assert store.count() == 5200
    assert 5000 / seconds >= 1000


def test_two_servers_on_one_store_count_together(tmp_path):
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(create_store(tmp_path / "survey.db", published())) for _ in range(2)]
        bases = [stack.enter_context(running(store))[0] for store in stores]
        bodies = [body(published(), k) for k in range(40)]
        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(lambda k: post(bases[k % 2], bodies[k // 2])[0], range(80)))
        assert statuses == [200] * 80
        assert [store.count() for store in stores] == [40, 40]


def test_https_with_a_certificate(tmp_path):
    pair = certificate(tmp_path)
    with create_store(tmp_path / "survey.db", published()) as store:
        bound = listen("127.0.0.1", 0, "the survey")
        made = server.make_server(store, Settings(SECRET), pair)
        thread = threading.Thread(target=made.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        try:
            trusted = ssl.create_default_context(cafile=pair.certificate)
            connection = http.client.HTTPSConnection(
                "localhost", bound.getsockname()[1], context=trusted, timeout=30
            )
            origin = f"https://localhost:{bound.getsockname()[1]}"
            headers = {"content-type": "application/json", "origin": origin}
            connection.request("POST", "/reports", body(published(), 1), headers)
            assert connection.getresponse().status == 200
            connection.close()
        finally:
            made.should_exit = True
            thread.join(15)
            bound.close()
