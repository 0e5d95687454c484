"""The explorer without a browser: how it reads priors, what it computes, and what its server lets through."""

import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pytest

import extremal as ex

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from extremal._web import is_loopback
from extremal.explorer import compute, files, guard, pool, priors, serve, server
from extremal.explorer.guard import LARGEST_BODY, is_own_name
from extremal.explorer.pool import module_path
from extremal.explorer.server import redirect_file, running
from extremal.explorer.worker import Worker, read_frame

THREE = "never, 0.5\nonce, 0.3\noften, 0.2"
PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
SOURCE = str(Path(ex.__file__).parents[1])
STATE = {"prior": THREE, "epsilon": 0.6}


# Priors


@pytest.mark.parametrize(
    "text",
    [
        THREE,
        "never 0.5\nonce 0.3\noften 0.2",
        "never: 50%\nonce: 30%\noften: 20%",
        "never=0.5, once=0.3, often=0.2",
        "never 0.5; once 0.3; often 0.2",
        '"never", 50 %\n"once", 30 %\n"often", 20 %',
        "never\t1/2\nonce\t3/10\noften\t1/5\n\n",
        '{"never": 0.5, "once": 0.3, "often": 0.2}',
        '{"labels": ["never", "once", "often"], "probabilities": [0.5, 0.3, 0.2]}',
        '[{"label": "never", "probability": 0.5}, {"label": "once", "p": 0.3}, {"label": "often", "p": 0.2}]',
        "never, 50\nonce, 30\noften, 20",
    ],
)
def test_a_prior_is_read_in_every_form_that_people_paste(text):
    prior, _ = priors.read_prior(text)
    assert prior.labels == PRIOR.labels
    assert prior.probabilities == pytest.approx(PRIOR.probabilities, abs=1e-15)


@pytest.mark.parametrize("text", ["0.5 0.3 0.2", "0.5, 0.3, 0.2", "0.5\n0.3\n0.2", "[0.5, 0.3, 0.2]"])
def test_numbers_alone_are_a_prior_on_0_1_2(text):
    assert priors.read_prior(text)[0] == ex.Prior([0.5, 0.3, 0.2])


def test_labels_that_are_all_integers_are_integers_and_others_are_text():
    assert priors.read_prior("1, 0.5\n2, 0.5")[0].labels == (1, 2)
    assert priors.read_prior("01, 0.5\n2, 0.5")[0].labels == ("01", "2")


def test_counts_can_be_forced_and_smoothed():
    prior, words = priors.read_prior("a, 0.5\nb, 0", "counts", 1)
    assert prior == ex.Prior.from_counts({"a": 0.5, "b": 0}, pseudocount=1)
    assert "1 added" in words


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("a, 0.5\nb, 0.2", lambda: ex.Prior({"a": 0.5, "b": 0.2})),
        ("a, 1.5\nb, -0.5", lambda: ex.Prior({"a": 1.5, "b": -0.5})),
        ("a, 0.5\na, 0.5", lambda: ex.Prior([0.5, 0.5], ["a", "a"])),
        ("a, 10\nb, 0", lambda: ex.Prior.from_counts({"a": 10, "b": 0})),
        ("a, 1", lambda: ex.Prior({"a": 1})),
        ("a, nan\nb, 0.5", lambda: ex.Prior({"a": float("nan"), "b": 0.5})),
    ],
)
def test_an_invalid_prior_gives_the_library_s_own_message(text, call):
    with pytest.raises(ex.errors.PriorError) as expected:
        call()
    with pytest.raises(ex.errors.PriorError) as found:
        priors.read_prior(text)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "text", ["", "   ", "hello", "a b c\nd", "{", "[1, 2", '{"a": "x"}', "[[1]]", '{"a": NaN}', "\x00\x01"]
)
def test_what_is_no_prior_is_refused_with_a_message(text):
    with pytest.raises(ex.errors.ExtremalError, match=r"must"):
        priors.read_prior(text)


def test_more_answers_than_the_explorer_is_for_are_refused():
    with pytest.raises(ex.errors.SizeError, match="at most 1000"):
        priors.read_prior(" ".join(["0.0001"] * 1001))


def test_an_uploaded_column_of_answers_is_counted():
    text = "id,answer,city\n1,yes,A\n2,no,B\n3,yes,C\n4,,D\n"
    found = priors.read_upload("survey.csv", text)
    assert (found.column, found.columns) == ("answer", ["id", "answer", "city"])
    assert found.text == "no, 1\nyes, 2"
    assert "1 empty" in found.words
    assert priors.read_upload("survey.csv", text, "city").text == "A, 1\nB, 1\nC, 1\nD, 1"


@pytest.mark.parametrize(
    "text",
    ["label,probability\na,0.25\nb,0.75\n", "a;0.25\nb;0.75", "n,label\n1,a\n3,b\n", "\ufeffa,1\nb,3\n"],
)
def test_an_uploaded_table_of_labels_and_numbers_is_a_prior(text):
    found = priors.read_upload("prior.csv", text)
    prior, _ = priors.read_prior(found.text, found.kind)
    assert prior == ex.Prior({"a": 0.25, "b": 0.75})


def test_an_uploaded_mechanism_file_gives_its_prior():
    text = ex.certify(PRIOR, ex.design(PRIOR, 0.6).mechanism, 0.6).to_json()
    found = priors.read_upload("mechanism.json", text)
    assert priors.read_prior(found.text)[0] == PRIOR


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", ""),
        ("a.csv", "x,x\n1,2\n"),
        ("a.csv", "answer\nyes\nyes\n"),
        ("a.csv", '"open'),
        ("a.csv", "\x00\x01"),
        ("a.json", "not json"),
    ],
)
def test_a_hostile_file_is_refused_with_a_message(name, text):
    with pytest.raises(ex.errors.ExtremalError, match=r"must"):
        priors.read_upload(name, text)


# Figures


def collect(task, **document):
    """The messages of a task, carried out in this process."""
    messages = []
    Worker(messages.append).run({"task": task, **document})
    assert messages.pop() == {"type": "end"}
    json.dumps(messages, allow_nan=False)
    return messages


def one(messages, kind):
    """The last of a kind: where the machine is busy, a first design comes before the final one."""
    return [message for message in messages if message["type"] == kind][-1]


def test_the_design_shown_is_the_library_s():
    messages = collect("explore", state=STATE)
    shown, design = one(messages, "design"), ex.design(PRIOR, 0.6)
    certified = ex.certify(PRIOR, design.mechanism, 0.6)
    assert shown["final"]
    assert shown["matrix"] == certified.mechanism.matrix.tolist()
    assert shown["outputs"] == list(design.mechanism.outputs)
    assert shown["value"] == design.value
    assert shown["leakage"] == ex.audit(PRIOR, certified).leakage.tolist()
    assert shown["efficiency"]
    assert shown["upper_bound"] == design.upper_bound
    assert shown["response"] == ex.shares(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.6))
    assert shown["ceiling"] == pytest.approx(1, abs=1e-12)
    assert shown["digest"] == certified.digest
    assert one(messages, "prior")["edges"] == PRIOR.region_edges.tolist()


def test_the_risk_is_told_in_the_audit_s_words():
    shown = one(collect("explore", state=STATE), "design")
    audit = ex.audit(PRIOR, ex.certify(PRIOR, ex.design(PRIOR, 0.6).mechanism, 0.6))
    told = [line[:1].upper() + line[1:] + "." for line in str(audit).splitlines()]
    assert shown["words"] == told
    page = audit.to_markdown()
    for section in shown["sections"]:
        assert f"## {section['title']}" in page
        assert all(line in page for line in section["text"])


def test_expected_errors_are_the_library_s():
    shown = one(collect("explore", state={**STATE, "reports": 500, "confidence": 0.9}), "errors")
    mechanism = ex.design(PRIOR, 0.6).mechanism
    ours = ex.planning.expected_error(PRIOR, mechanism, 500, 0.9)
    theirs = ex.planning.expected_error(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.6), 500, 0.9)
    assert shown["optimal"]["errors"] == pytest.approx(ours.standard_errors.tolist(), rel=1e-9)
    assert shown["optimal"]["widths"] == pytest.approx(ours.widths.tolist(), rel=1e-9)
    assert shown["response"]["errors"] == pytest.approx(theirs.standard_errors.tolist(), rel=1e-9)


def test_the_curve_gets_more_points_and_ends_as_the_library_s():
    parts = [m for m in collect("curve", state=STATE) if m["type"] == "curve"]
    assert [len(part["epsilons"]) for part in parts] == [5, 9, 17, 33]
    assert [part["final"] for part in parts] == [False, False, False, True]
    last = parts[-1]
    whole = ex.tradeoff(PRIOR, last["epsilons"])
    assert last["optimal"] == pytest.approx(whole.optimal.tolist(), rel=1e-3)
    assert last["response"] == pytest.approx(whole.randomized_response.tolist(), rel=1e-12)
    assert last["epsilons"] == sorted(last["epsilons"])
    assert last["optimal"] == sorted(last["optimal"])


@pytest.mark.parametrize("utility", list(compute.UTILITIES))
@pytest.mark.parametrize("epsilon", [0.0, 0.1, PRIOR.region_edges[1], 1.0, PRIOR.epsilon_max, 5.0])
def test_every_utility_is_shown_at_every_level(utility, epsilon):
    state = {"prior": THREE, "epsilon": float(epsilon), "utility": utility}
    shown = one(collect("explore", state=state), "design")
    assert np.sum(shown["matrix"], axis=1) == pytest.approx(np.ones(3))
    assert shown["realised_epsilon"] <= epsilon + 1e-12
    assert shown["response"] <= shown["value"] + 1e-9


def test_a_first_design_comes_before_the_final_one_where_the_search_takes_longer(monkeypatch):
    monkeypatch.setattr(compute, "PREVIEW", 0.0)
    text = " ".join(map(repr, (np.arange(1, 15) / 105).tolist()))
    designs = [m for m in collect("explore", state={"prior": text, "epsilon": 0.5}) if m["type"] == "design"]
    assert [m["final"] for m in designs] == [False, True]
    assert designs[0]["value"] <= designs[1]["value"] + 1e-9
    best = ex.design(ex.Prior(np.arange(1, 15) / 105), 0.5)
    assert designs[1]["value"] == pytest.approx(best.value, rel=2e-6)


def test_a_large_matrix_comes_as_a_picture():
    state = {"prior": "\n".join(f"{k}, {k + 20}" for k in range(40)), "epsilon": 0.01}
    shown = one(collect("explore", state=state), "design")
    assert shown["shape"] == [40, 40]
    assert "matrix" not in shown


def test_a_sample_is_drawn_from_the_certified_mechanism_and_estimated_back():
    shown = one(collect("privatize", state=STATE, sample="never\nonce\n" * 300), "sample")
    assert shown["count"] == len(shown["reports"]) == 600
    assert set(shown["reports"]) <= set(ex.design(PRIOR, 0.6).mechanism.outputs)
    again = one(collect("privatize", state=STATE, sample="never\nonce\n" * 300), "sample")
    assert again["reports"] != shown["reports"]  # equal with probability below 1e-100
    for row in shown["rows"]:
        assert row["lower"] <= row["estimate"] <= row["upper"]
    assert sum(row["sample"] for row in shown["rows"]) == pytest.approx(1)
    assert {row["reported"] for row in shown["rows"]} == {None}  # reports are numbers, not answers
    named = {**STATE, "utility": "mutual-information"}
    rows = one(collect("privatize", state=named, sample="never\nonce\n" * 300), "sample")["rows"]
    assert sum(row["reported"] for row in rows) == pytest.approx(1)


@pytest.mark.parametrize("sample", ["", "never\nunknown", "x" * 10])
def test_a_sample_with_unknown_answers_gives_the_library_s_message(sample):
    (message,) = (m for m in collect("privatize", state=STATE, sample=sample) if m["type"] == "error")
    assert message["kind"] == "ValuesError"
    assert "must" in message["message"]


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"prior": 3},
        {**STATE, "epsilon": -1},
        {**STATE, "epsilon": "x"},
        {**STATE, "epsilon": True},
        {**STATE, "utility": "x"},
        {**STATE, "kind": "x"},
        {**STATE, "reports": 0},
        {**STATE, "reports": 1.5},
        {**STATE, "confidence": 2.0},
        {**STATE, "pseudocount": -1.0, "kind": "counts"},
    ],
)
def test_a_state_that_makes_no_sense_is_refused_with_a_message(state):
    messages = collect("explore", state=state)
    assert messages[-1]["type"] == "error"
    assert messages[-1]["kind"] != "unexpected"
    assert "must" in messages[-1]["message"]


def test_a_cancelled_search_ends_at_its_next_report_of_progress():
    messages = []
    worker = Worker(messages.append)

    def send(message):
        messages.append(message)
        worker.cancelled.set()

    worker.send = send
    text = " ".join(map(repr, (np.arange(1, 81) / 3240).tolist()))
    worker.run({"task": "explore", "state": {"prior": text, "epsilon": 1.0}})
    assert [m["type"] for m in messages] == ["prior", "working", "cancelled", "end"]


@pytest.mark.parametrize("name", files.NAMES)
def test_every_file_is_made(name):
    worker = Worker([].append)
    made = worker._final(compute.read_state(STATE))
    curve = ex.tradeoff(PRIOR, [0.1, 0.6, 1.0])
    content = files.make_file(name, made, curve)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!doctype html>", "md": b"# ", "json": b"{"}
    assert content.startswith(starts[name.rpartition(".")[2]])
    if name == "mechanism.json":
        assert ex.Certified.from_json(content.decode()) == made.certified
    if name == "report.md":
        assert content.decode() == made.audit.to_markdown()


# The server


@pytest.fixture(scope="module")
def link():
    with running() as found:
        yield found


def token_of(link):
    return urlparse(link).fragment.removeprefix("token=")


def ask(link, method, path, body=b"", headers=None):
    """A request as the page sends it, token included; a header of None is left out."""
    url = urlparse(link)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    sent = {"X-Explorer-Token": token_of(link), **(headers or {})}
    try:
        connection.request(method, path, body, {k: v for k, v in sent.items() if v is not None})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def post(link, task, document, **headers):
    body = json.dumps(document).encode()
    return ask(link, "POST", f"/api/{task}", body, {"Content-Type": "application/json", **headers})


def opened_task(link, body, length=None):
    """A connection on which a task was sent, or as much of it as there is."""
    url = urlparse(link)
    head = (
        f"POST /api/explore HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
        f"X-Explorer-Token: {token_of(link)}\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n"
    )
    connection = socket.create_connection((url.hostname, url.port), timeout=60)
    connection.sendall(head.encode() + body)
    return connection


def lines(content):
    return [json.loads(line) for line in content.splitlines()]


@pytest.mark.parametrize("path", ["/", "/app.js", "/charts.js", "/style.css"])
def test_the_page_is_served_with_headers_that_protect_it(link, path):
    status, headers, content = ask(link, "GET", path)
    assert status == 200
    assert content
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("path", ["/", "/app.js", "/charts.js", "/style.css"])
def test_the_page_loads_nothing_from_elsewhere(link, path):
    _, _, content = ask(link, "GET", path)
    assert b"//" not in content.replace(b"http://www.w3.org/2000/svg", b"").replace(b"\n//", b"").replace(
        b" // ", b" "
    ).removeprefix(b"//")


def test_a_task_answers_line_by_line(link):
    status, _, content = post(link, "explore", {"state": STATE})
    assert status == 200
    kinds = [message["type"] for message in lines(content)]
    told = [kind for kind in kinds if kind not in ("working", "progress")]
    assert told[0] == "prior"
    assert told[1:] in (
        ["design", "errors"],
        2 * ["design", "errors"],
    )  # a first design, if the machine is busy


def test_an_invalid_prior_is_answered_with_the_library_s_message(link):
    _, _, content = post(link, "explore", {"state": {"prior": "a, 0.5\nb, 0.2"}})
    assert "prior must sum to 1, got a sum of 0.7" in lines(content)[-1]["message"]


def test_the_downloaded_mechanism_is_the_one_shown_and_loads(link, tmp_path):
    shown = one(lines(post(link, "explore", {"state": STATE})[2]), "design")
    status, headers, content = post(link, "file", {"state": STATE, "name": "mechanism.json"})
    assert status == 200
    assert headers["content-disposition"] == 'attachment; filename="mechanism.json"'
    path = tmp_path / "mechanism.json"
    path.write_bytes(content)
    loaded = ex.load(path)
    assert loaded.digest == shown["digest"]
    assert loaded.mechanism.matrix.tolist() == shown["matrix"]
    assert loaded.epsilon == 0.6


@pytest.mark.parametrize("token", [None, "", "x", "token", "é", "0" * 43])
@pytest.mark.parametrize("path", ["/api/explore", "/api/read", "/api/privatize", "/api/file", "/api/nothing"])
def test_without_the_token_of_the_link_nothing_is_done(link, path, token):
    body = json.dumps({"state": STATE, "name": "mechanism.json", "text": THREE, "sample": "never"}).encode()
    given = {"X-Explorer-Token": None if token is None else token.encode()}
    status, _, content = ask(link, "POST", path, body, {"Content-Type": "application/json", **given})
    assert status == 401
    assert "open the link" in json.loads(content)["message"]
    assert ask(link, "GET", "/api/options", headers=given)[0] == 401


def test_the_token_is_long_new_each_time_and_no_part_of_what_the_server_sees(link):
    with running() as other:
        assert token_of(other) != token_of(link)
        assert post(other, "explore", {"state": STATE}, **{"X-Explorer-Token": token_of(link)})[0] == 401
    assert len(token_of(link)) >= 43  # 256 bits
    assert urlparse(link).path == "/"
    assert urlparse(link).query == ""


def test_a_token_in_the_address_or_a_cookie_does_not_count(link):
    """Other sites can make a browser send both."""
    token = token_of(link)
    body = json.dumps({"state": STATE}).encode()
    headers = {"Content-Type": "application/json", "X-Explorer-Token": None, "Cookie": f"token={token}"}
    assert ask(link, "POST", f"/api/explore?token={token}", body, headers)[0] == 401


def test_a_browser_is_opened_with_a_file_that_only_this_user_can_read(link):
    """The arguments of a process, unlike this file, are open to every user of the machine."""
    with redirect_file(link) as path:
        assert f'url={link}"' in path.read_text(encoding="utf-8")
        assert path.parent.stat().st_mode & 0o077 == 0
        assert token_of(link) not in path.as_uri()
    assert not path.parent.exists()


def status_of(connection):
    return int(connection.recv(4096).split()[1])


def test_tasks_beyond_the_limit_are_refused_and_accepted_again_when_others_are_given_up(link):
    unfinished = [opened_task(link, b"{", 100) for _ in range(guard.MOST_TASKS)]
    try:
        wait_for(lambda: post(link, "shell", {})[0] == 503)
        status, _, content = post(link, "explore", {"state": STATE})
        assert status == 503
        assert "busy" in json.loads(content)["message"]
        assert ask(link, "GET", "/")[0] == 200
    finally:
        for connection in unfinished:
            connection.close()
    wait_for(lambda: post(link, "shell", {})[0] == 400)
    assert lines(post(link, "explore", {"state": STATE})[2])[-1]["type"] == "errors"


def test_a_body_that_does_not_arrive_is_given_up(monkeypatch):
    monkeypatch.setattr(guard, "READ_SECONDS", 0.05)
    with running() as link, opened_task(link, b"{", 100) as connection:
        assert status_of(connection) == 400


def test_requests_without_the_token_do_not_count_towards_the_limit(link):
    url = urlparse(link)
    head = f"POST /api/explore HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Length: 100\r\n\r\n"
    strangers = [socket.create_connection((url.hostname, url.port), timeout=60) for _ in range(20)]
    try:
        for connection in strangers:
            connection.sendall(head.encode())
            assert status_of(connection) == 401
        assert lines(post(link, "explore", {"state": STATE})[2])[-1]["type"] == "errors"
    finally:
        for connection in strangers:
            connection.close()


def wait_for(holds):
    """Ask until it holds; the timeout only ends a test that fails."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["x", "../../etc/passwd", "mechanism.json\r\nX: y"])
def test_a_file_that_there_is_not_is_refused(link, name):
    status, headers, content = post(link, "file", {"state": STATE, "name": name})
    assert status == 400
    assert "X" not in headers
    assert "must be one of" in json.loads(content)["message"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:8501"},
        {"Host": "localhost.evil.example"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
    ],
)
def test_requests_of_other_sites_are_refused(link, headers):
    status, _, content = post(link, "explore", {"state": STATE}, **headers)
    assert status == 403
    assert b"design" not in content


def test_other_sites_may_link_to_the_page_but_embed_nothing_of_it(link):
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert ask(link, "GET", "/", headers=foreign)[0] == 200
    assert ask(link, "GET", "/app.js", headers=foreign)[0] == 403
    assert (
        ask(link, "GET", "/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"})[0] == 403
    )


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("127.0.0.1:8501", True),
        ("localhost", True),
        ("LOCALHOST:1", True),
        ("[::1]:8501", True),
        ("192.168.1.5:80", True),
        ("example.com", False),
        ("127.0.0.1.nip.io", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_only_localhost_and_numbers_are_own_names(name, own):
    assert is_own_name(name, "127.0.0.1") is own


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b" " * (LARGEST_BODY + 1)])
def test_a_request_that_is_no_task_is_refused(link, body):
    status, _, _ = ask(link, "POST", "/api/explore", body, {"Content-Type": "application/json"})
    assert status == 400


def test_an_unknown_task_or_page_is_refused(link):
    assert post(link, "shell", {})[0] == 400
    assert ask(link, "GET", "/nothing")[0] == 404
    assert ask(link, "GET", "/../server.py")[0] == 404
    assert ask(link, "GET", "/api/explore")[0] == 405


def test_a_task_that_is_given_up_leaves_the_server_free(monkeypatch):
    """The connection is closed in the middle of a search of many seconds, which does not come to its end."""
    heard, released = [], []

    class WatchedProcess(pool.Process):
        async def receive(self):
            heard.append(message := await super().receive())
            return message

    class WatchedPool(pool.Pool):
        async def _release(self, process, done):
            await super()._release(process, done)
            released.append(done)

    monkeypatch.setattr(pool, "Process", WatchedProcess)
    monkeypatch.setattr(server, "Pool", WatchedPool)
    text = " ".join(map(repr, (np.arange(1, 201) / 20100).tolist()))
    body = json.dumps({"state": {"prior": text, "epsilon": 2.0}}).encode()
    with running() as link:
        for times in (1, 2):
            heard.clear()
            with opened_task(link, body) as connection:
                assert b"200 OK" in connection.recv(4096)
                wait_for(lambda: b'{"type":"working"}' in heard)
            wait_for(lambda times=times: len(released) == times)
            assert not any(b'"final":true' in message for message in heard)
        assert released == [False, False]
        last = lines(post(link, "explore", {"state": STATE})[2])[-2:]
        assert [message["type"] for message in last] == ["design", "errors"]
        assert last[0]["final"]


def test_modules_in_the_current_folder_are_not_run(tmp_path):
    """The worker imports queue, json and others; a file of that name in the folder must not take their place."""
    for name in ("queue", "json", "base64", "numpy", "extremal"):
        (tmp_path / f"{name}.py").write_text("open('seen', 'a').write(__name__)\nraise SystemExit\n")
    program = "from extremal.explorer import serve; serve(port=0, open_browser=False)"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE},
        start_new_session=True,
    )
    with process:
        try:
            assert lines(post(said_link(process), "explore", {"state": STATE})[2])[-1]["type"] == "errors"
        finally:
            os.killpg(process.pid, signal.SIGINT)
    assert not (tmp_path / "seen").exists()


@pytest.mark.parametrize(
    "body", [b'{"task": "a", "task": "b"}', b'{"x": 1e999}', b'{"x": NaN}', b"[" * 5000, b"not json", b"[1]"]
)
def test_a_frame_that_is_not_strict_json_is_no_task(body):
    stream = io.BytesIO(len(body).to_bytes(8, "big") + body)
    assert read_frame(stream) == {}
    assert read_frame(stream) is None
    messages = []
    Worker(messages.append).run({})
    assert [m["type"] for m in messages] == ["error", "end"]


def test_the_current_folder_is_not_on_the_module_path_of_a_worker(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", "relative", str(tmp_path), ""]))
    assert module_path().split(os.pathsep) == [SOURCE, str(tmp_path)]
    monkeypatch.delenv("PYTHONPATH")
    assert module_path() == SOURCE


def test_it_says_so_where_others_can_reach_it():
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("192.168.1.5")


def said_link(process):
    """The link that a server says when it starts; the second line is a warning."""
    first = process.stdout.readline()
    assert "do not pass it on" in process.stdout.readline()
    return next(word for word in first.split() if word.startswith("http://"))


def test_interrupting_it_in_the_middle_of_a_search_is_clean():
    program = "from extremal.explorer import serve; serve(port=0, open_browser=False)"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
        start_new_session=True,
    )
    text = " ".join(map(repr, (np.arange(1, 201) / 20100).tolist()))
    body = json.dumps({"state": {"prior": text, "epsilon": 2.0}}).encode()
    with process, opened_task(said_link(process), body) as connection:
        assert b"200 OK" in connection.recv(4096)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_port_in_use_is_refused_with_a_message():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ex.errors.OptionError, match="choose another port"):
            serve(port=taken.getsockname()[1], open_browser=False)


def test_it_serves_this_machine_only_until_interrupted_and_leaves_nothing_behind(tmp_path):
    program = "from extremal.explorer import serve; serve(port=0, open_browser=False)"
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONPATH": SOURCE}
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    )
    with process:
        link = said_link(process)
        assert urlparse(link).hostname == "127.0.0.1"
        assert lines(post(link, "explore", {"state": STATE})[2])[-1]["type"] == "errors"
        os.killpg(process.pid, signal.SIGINT)  # to all of its group, as a terminal does
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert (out, err) == ("", "")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        ask(link, "GET", "/")
