"""Connections whose requests do not end: they are closed, and keep nobody out."""

import contextlib
import json
import socket
import threading
import time

import pytest

pytest.importorskip("starlette")

from extremal._common.web import listen
from extremal.collection import connections
from extremal.collection.connections import MOST_EACH, Gate
from extremal.collection.guard import Bucket, Limits, Proxies, Refusal, neighbourhood
from extremal.collection.server import SILENT_PROXY, UNKNOWN_PROXY, Settings, make_server, running
from extremal.collection.store import create_store
from extremal.errors import OptionError
from tests.support.certificates import certificate
from tests.support.phones import ask, body, post, published

HEAD = b"POST /reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
NOBODY = Proxies(())


@contextlib.contextmanager
def serving(folder, **settings):
    """A running server: its address, its store, and what it logs."""
    log = []
    with (
        create_store(folder / "survey.db", published()) as store,
        running(store, Settings("secret-of-the-test", log=log.append, **settings)) as (base, _),
    ):
        yield base, store, log


def line(base, begin=b"", source="127.0.0.1"):
    """A connection that has sent this much."""
    host, port = base.removeprefix("http://").rstrip("/").split(":")
    made = socket.create_connection((host, int(port)), 30, (source, 0))
    made.sendall(begin)
    return made


@pytest.fixture
def many_files():
    """As many open files as 2,100 connections need here, and their other ends in the server."""
    resource = pytest.importorskip("resource")
    before = soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 5000:
        pytest.skip("the system does not let this process open enough files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 5000), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    "what",
    [
        "nothing",
        "body",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("head", "behind a proxy", "no answer is read")),
    ],
)
def test_2100_requests_that_do_not_end_keep_nobody_out(what, tmp_path, many_files):
    begin = {"nothing": b"", "head": HEAD}.get(what, HEAD + b"Content-Length: 300\r\n\r\n{")
    if what == "no answer is read":
        begin = 300 * b"GET /extremal.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    proxies = Proxies() if what == "behind a proxy" else NOBODY
    with serving(tmp_path, proxies=proxies) as (base, store, log), contextlib.ExitStack() as stack:
        for k in range(2100):
            with contextlib.suppress(OSError):  # the server may have closed it already
                stack.enter_context(line(base, begin))
            if k % 300 == 299:
                assert post(base, body(published(), k))[0] in (200, 429)  # the same address
        other = line(base, HEAD.replace(b"127.0.0.1", b"127.0.0.2"), source="127.0.0.2")
        content = body(published(), 1)
        other.sendall(b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(content) + content)
        assert other.recv(100).startswith(b"HTTP/1.1 200")
        other.close()
        assert store.count() >= 1
        if what in ("nothing", "head", "body"):
            told = sum("oldest connections are closed" in said for said in log)
            # A fast machine has refused most requests with a body before so many of them wait.
            assert told == 1 or (what == "body" and told == 0)
            assert "127.0.0" not in "".join(log)


def test_300_pupils_behind_one_address_pass_on_slow_networks(tmp_path):
    with serving(tmp_path, proxies=NOBODY) as (base, store, log), contextlib.ExitStack() as stack:
        contents = [body(published(), k) for k in range(300)]
        lines = [stack.enter_context(line(base, HEAD)) for _ in contents]
        for one, content in zip(lines, contents, strict=True):
            one.sendall(b"Content-Length: %d\r\n\r\n" % len(content) + content[:20])
        for one, content in zip(lines, contents, strict=True):
            one.sendall(content[20:])
        assert [one.recv(100)[:12] for one in lines] == [b"HTTP/1.1 200"] * 300
        assert store.count() == 300
        assert log == []


@pytest.mark.parametrize(
    "begin",
    [
        HEAD,
        *(
            pytest.param(x, marks=pytest.mark.slow)
            for x in (b"", b"POST", HEAD + b"Content-Length: 9\r\n\r\n{")
        ),
    ],
)
def test_a_request_that_takes_too_long_ends_although_a_byte_comes_now_and_then(begin, tmp_path, monkeypatch):
    for name in ("HEAD_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(connections, name, 0.5)
    with serving(tmp_path) as (base, _, _), line(base, begin) as one:
        ended = threading.Event()

        def drip():
            with contextlib.suppress(OSError):
                while not ended.is_set():
                    if begin:
                        one.sendall(b" ")
                    time.sleep(0.05)

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            with contextlib.suppress(ConnectionError):
                while one.recv(
                    1000
                ):  # blocks, and fails the test after 30 seconds, unless the server ends it
                    pass
        finally:
            ended.set()
            dripping.join()


def test_an_encryption_that_does_not_begin_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    bound = listen("127.0.0.1", 0, "the survey")
    with create_store(tmp_path / "survey.db", published()) as store:
        made = make_server(store, Settings("secret-of-the-test", log=lambda _: None), certificate(tmp_path))
        thread = threading.Thread(target=made.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        try:
            with line(f"http://127.0.0.1:{bound.getsockname()[1]}/") as one:
                assert one.recv(1000) == b""
        finally:
            made.should_exit = True
            thread.join(15)
            bound.close()
    assert made.gate.lines == {}


def test_a_gate_closes_the_oldest_of_whoever_has_most_and_never_one_that_is_answered():
    now, closed, told = [0.0], [], []

    class Connection:
        def __init__(self, peer):
            self.peer = peer

        def fileno(self):
            return 3

        def shutdown(self, _):
            closed.append(self.peer)

    gate = Gate(NOBODY, told.append, most=6, each=4, clock=lambda: now[0])

    def arrive(host, *ports):
        for port in ports:
            gate.arrive((host, port), Connection((host, port)))

    arrive("192.0.2.1", 1, 2, 3)
    gate.step(("192.0.2.1", 1), "answer", 100)
    arrive("192.0.2.1", 4, 5)
    assert (closed, told) == ([], [])
    arrive("192.0.2.1", 6)
    assert closed == [("192.0.2.1", 2)]
    assert len(told) == 1
    arrive("192.0.2.9", 1, 2, 3)  # six in all, then whoever has most gives way
    assert closed[1:] == [("192.0.2.1", 3), ("192.0.2.1", 4)]
    now[0] = 50.0
    gate.sweep()
    assert list(gate.lines) == [("192.0.2.1", 1)]
    now[0] = 101.0
    gate.sweep()
    assert gate.lines == {}
    assert gate._waiting == {}


def test_addresses_that_one_household_can_choose_from_are_one():
    assert (
        neighbourhood("2001:db8:1:2::1")
        == neighbourhood("2001:db8:1:2:ffff::9")
        != neighbourhood("2001:db8:1:3::1")
    )
    assert neighbourhood("::ffff:192.0.2.1") == neighbourhood("192.0.2.1") != neighbourhood("192.0.2.2")
    limits = Limits(Bucket(100, 0), burst=2, rate=0)
    limits.check("2001:db8::1")
    limits.check("2001:db8::2")
    with pytest.raises(Refusal):
        limits.check("2001:db8::3")


def test_proxies_are_believed_only_if_they_are_known(tmp_path, monkeypatch):
    """Through a known proxy each respondent has limits of their own; others cannot choose their address."""
    counted = []
    monkeypatch.setattr(Limits, "check", lambda self, address: counted.append(address))
    for name, proxies in (("known", Proxies(("127.0.0.0/8",))), ("unknown", NOBODY)):
        (tmp_path / name).mkdir()
        with serving(tmp_path / name, proxies=proxies) as (base, _, _):
            assert post(base, body(published(), 1), x_forwarded_for="203.0.113.9, 192.0.2.7")[0] == 200
    assert counted == ["192.0.2.7", "127.0.0.1"]


def test_a_proxy_that_hides_all_addresses_is_named_once(tmp_path):
    (tmp_path / "a").mkdir()
    with serving(tmp_path / "a") as (base, _, log):
        ask(base, "GET", "/", host="localhost:8600")
        ask(base, "GET", "/", host="[::1]:8600")
        assert log == []
        for _ in range(3):
            ask(base, "GET", "/", host="survey.example.org")
        assert log == [SILENT_PROXY]
    (tmp_path / "b").mkdir()
    with serving(tmp_path / "b", proxies=NOBODY) as (base, _, log):
        ask(base, "GET", "/", host="survey.example.org")
        for _ in range(3):
            ask(base, "GET", "/", host="survey.example.org", x_forwarded_for="192.0.2.7")
        assert log == [UNKNOWN_PROXY]


def test_a_proxy_is_an_address_or_a_network():
    for good in ("10.0.0.7", "10.0.0.0/8", "::1", "2001:db8::/32"):
        assert good.partition("/")[0] in Proxies((good,))
    assert "::ffff:10.1.2.3" in Proxies(("10.0.0.0/8",))
    assert "not an address" not in Proxies()
    for bad in ("*", "", "proxy.example.org", "10.0.0.7:80"):
        with pytest.raises(OptionError):
            Proxies((bad,))


def test_results_are_not_kept_out_either(tmp_path):
    with serving(tmp_path) as (base, _, _):
        with line(base, HEAD):
            answer = ask(base, "GET", "/results.json", authorization="Bearer secret-of-the-test")
        assert json.loads(answer[2])["reports"] == 0
    assert MOST_EACH > 300
