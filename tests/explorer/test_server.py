"""The explorer's server: what it lets through, what it answers, and how its processes end."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pytest

import extremal as ex

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from extremal._common.json import parse_object
from extremal._common.web import is_loopback
from extremal.explorer import serve, server
from extremal.explorer.server import LARGEST_BODY, is_own_name, module_path, redirect_file
from extremal.explorer.worker import Worker
from tests.support.explorer import running
from tests.support.wording import refused

THREE = "never, 0.5\nonce, 0.3\noften, 0.2"
PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
SOURCE = str(Path(ex.__file__).parents[1])
STATE = {"prior": THREE, "epsilon": 0.6}


def one(messages, kind):
    """The last of a kind: where the machine is busy, a first design comes before the final one."""
    return [message for message in messages if message["type"] == kind][-1]


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


@pytest.mark.parametrize("path", sorted(server.PAGE))
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


@pytest.mark.parametrize("path", sorted(server.PAGE))
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
    assert told[1:] in (["design"], 2 * ["design"])  # a first design, if the machine is busy


def test_an_invalid_prior_is_answered_with_the_library_s_message_in_the_page_s_words(link):
    _, _, content = post(link, "explore", {"state": {"prior": "a, 0.5\nb, 0.2"}})
    assert "the shares must sum to 1, got a sum of 0.7" in lines(content)[-1]["message"]


def test_the_downloaded_mechanism_is_the_one_shown_and_loads(link, tmp_path):
    shown = one(lines(post(link, "explore", {"state": STATE})[2]), "design")
    status, headers, content = post(link, "file", {"state": STATE, "name": "mechanism.json"})
    assert status == 200
    assert headers["content-disposition"] == 'attachment; filename="mechanism.json"'
    path = tmp_path / "mechanism.json"
    path.write_bytes(content)
    loaded = ex.load(path)
    assert loaded.digest == shown["digest"]
    assert loaded.mechanism.matrix.tolist() == shown["mechanism"]["matrix"]
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
    unfinished = [opened_task(link, b"{", 100) for _ in range(server.MOST_TASKS)]
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
    assert lines(post(link, "explore", {"state": STATE})[2])[-1]["type"] == "design"


def test_a_body_that_does_not_arrive_is_given_up(monkeypatch):
    monkeypatch.setattr(server, "READ_SECONDS", 0.05)
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
        assert lines(post(link, "explore", {"state": STATE})[2])[-1]["type"] == "design"
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
    assert repr(name) in json.loads(content)["message"]


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

    class WatchedProcess(server.Process):
        async def receive(self):
            heard.append(message := await super().receive())
            return message

    class WatchedPool(server.Pool):
        async def _release(self, process, done):
            await super()._release(process, done)
            released.append(done)

    monkeypatch.setattr(server, "Process", WatchedProcess)
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
        last = lines(post(link, "explore", {"state": STATE})[2])[-1]
        assert last["type"] == "design"
        assert last["final"]


def test_a_process_that_crashes_costs_one_task_and_no_more(monkeypatch):
    """It is killed in the middle of a search, as where memory is short; the next task has another process."""
    pools = []

    class WatchedPool(server.Pool):
        def __init__(self):
            super().__init__()
            pools.append(self)

    monkeypatch.setattr(server, "Pool", WatchedPool)
    text = " ".join(map(repr, (np.arange(1, 201) / 20100).tolist()))
    body = json.dumps({"state": {"prior": text, "epsilon": 2.0}}).encode()
    with running() as link:
        with opened_task(link, body) as connection:
            wait_for(lambda: pools[0].all - set(pools[0].idle))
            (busy,) = pools[0].all - set(pools[0].idle)
            os.kill(busy.process.pid, signal.SIGKILL)
            told = b""
            while b"the computation ended without a result" not in told:
                told += (more := connection.recv(1 << 16))
                assert more, told
        for _ in range(4):
            assert lines(post(link, "explore", {"state": STATE})[2])[-1]["type"] == "design"
        assert busy not in pools[0].all


def test_modules_in_the_current_folder_are_not_run(tmp_path):
    """The worker imports queue, json and others; a file of that name in the folder must not take their place."""
    for name in ("queue", "json", "base64", "numpy", "extremal"):
        (tmp_path / f"{name}.py").write_text("open('seen', 'a').write(__name__)\nraise SystemExit\n")
    with serving(flags=["-P"], cwd=tmp_path) as process:
        try:
            assert lines(post(said_link(process), "explore", {"state": STATE})[2])[-1]["type"] == "design"
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=20)
    assert not (tmp_path / "seen").exists()


@pytest.mark.parametrize(
    "body", [b'{"task": "a", "task": "b"}', b'{"x": 1e999}', b'{"x": NaN}', b"[" * 5000, b"not json", b"[1]"]
)
def test_a_line_that_is_not_strict_json_is_no_task(body):
    assert parse_object(body) is None
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


@contextmanager
def serving(**how):
    """The explorer in a process of its own, which ends with the block, whatever happens there."""
    program = "from extremal.explorer import serve; serve(port=0, open_browser=False)"
    process = subprocess.Popen(
        [sys.executable, *how.pop("flags", []), "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **{"env": {**os.environ, "PYTHONPATH": SOURCE}, **how},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def said_link(process):
    """The link that a server says when it starts; the second line is a warning."""
    first = process.stdout.readline()
    assert "do not pass it on" in process.stdout.readline()
    return next(word for word in first.split() if word.startswith("http://"))


def test_interrupting_it_in_the_middle_of_a_search_is_clean():
    text = " ".join(map(repr, (np.arange(1, 201) / 20100).tolist()))
    body = json.dumps({"state": {"prior": text, "epsilon": 2.0}}).encode()
    with serving() as process, opened_task(said_link(process), body) as connection:
        assert b"200 OK" in connection.recv(4096)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_port_in_use_is_refused_with_a_message():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with refused(ex.errors.OptionError, "port", "--port"):
            serve(port=taken.getsockname()[1], open_browser=False)


def test_it_serves_this_machine_only_until_interrupted_and_leaves_nothing_behind(tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONPATH": SOURCE}
    with serving(cwd=tmp_path, env=environment) as process:
        link = said_link(process)
        assert urlparse(link).hostname == "127.0.0.1"
        assert lines(post(link, "explore", {"state": STATE})[2])[-1]["type"] == "design"
        os.killpg(process.pid, signal.SIGINT)  # to all of its group, as a terminal does
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert (out, err) == ("", "")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        ask(link, "GET", "/")
