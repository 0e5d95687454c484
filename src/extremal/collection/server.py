"""The survey's web server: hands out the questionnaire, takes reports, and shows results to the researcher.

It listens on this machine only unless told otherwise, keeps no access log and sets no cookies. A refused request leaves
one line in the log, without its body and its address.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hmac
import json
import logging
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from .._common.web import RAW_HEADERS, in_background, listen
from ..errors import StoreError
from .connections import AT_ONCE, MOST_CONNECTIONS, Gate, Listener, protocol, room_for_connections
from .guard import (
    OTHER_VERSION,
    Bucket,
    Limits,
    Proxies,
    Refusal,
    check_origin,
    parse_submission,
    read_report,
)
from .learning import go_on
from .page import STATIC, page_of
from .published import Published
from .results import csv_text, people_needed, planned, results
from .store import LARGEST_BATCH, Store, Submission, Verdict

MEDIA = {".js": "text/javascript", ".css": "text/css", ".json": "application/json"}
REFUSALS = {
    Verdict.UNKNOWN_INVITATION: (403, "This invitation is unknown or was used already."),
    Verdict.OTHER_CONTENT: (409, "Another report was sent under this number."),
    Verdict.CLOSED: (410, "This survey has ended."),
}
# The rest of a body that was refused is not read: the connection ends with the answer.
BESIDE = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},
    413: {"Connection": "close"},
    503: {"Retry-After": "5"},
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
UNKNOWN_PROXY = (
    "a proxy passes on requests of others, which all come from one address to this server, with one limit for all. "
    "If it is yours, name it with --proxy"
)
SILENT_PROXY = (
    "a proxy does not say whose requests it passes on, so limits for each address do not work. "
    "Make it send X-Forwarded-For"
)
RATE = 3000.0  # posts a second from everybody
MOST_WAITING = 5000  # more are turned away until some are written
IDLE_SECONDS = 5.0  # after which the traces of used invitations are removed

Log = Callable[[str], None]
Waiting = tuple[Submission, "asyncio.Future[Verdict]"]


@dataclass(frozen=True)
class Settings:
    """How a server is to behave."""

    secret: str  # of the researcher
    origins: frozenset[str] = frozenset()  # other sites whose pages may post
    rate: float = RATE
    proxies: Proxies = field(default_factory=Proxies)  # believed when they say whose request it is
    log: Log = lambda line: print(line, flush=True)


def create_app(store: Store, settings: Settings, limits: Limits) -> ASGIApp:
    """The application for a store and its survey."""
    site, figures, inbox, looks = Site(store), Figures(store), Inbox(store), Bucket(5.0, 1.0)

    async def file(request: Request) -> Response:
        path = request.url.path
        return packed(request, site.text(path, request.url.query), MEDIA.get(Path(path).suffix, "text/html"))

    async def is_open(request: Request) -> Response:
        return JSONResponse({"open": await asyncio.to_thread(store.takes_reports)})

    async def submission_in(body: bytes) -> Submission:
        try:
            return parse_submission(store.surveys, body)
        except Refusal as refusal:
            if refusal.message != OTHER_VERSION or store.published.learn is None or not looks.take():
                raise
            await asyncio.to_thread(store.refresh)  # another server may have begun a stage
            return parse_submission(store.surveys, body)

    async def post(request: Request) -> Response:
        headers = request.headers
        check_origin(headers, settings.origins)
        limits.check(request.client.host if request.client else None)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "A report must be sent as application/json.")
        if store.published.early(datetime.now(UTC)):
            raise Refusal(403, "This survey has not begun.")
        submission = await submission_in(await read_report(request.stream(), headers))
        verdict = await inbox.put(submission)
        if verdict is not Verdict.ACCEPTED:
            raise Refusal(*REFUSALS[verdict])
        return Response(b'{"accepted":true}', media_type="application/json")

    async def results_json(request: Request) -> Response:
        check_secret(request, settings.secret)
        return Response(await asyncio.to_thread(figures.text), media_type="application/json")

    async def reports_csv(request: Request) -> Response:
        check_secret(request, settings.secret)
        text = await asyncio.to_thread(lambda: csv_text(store.reports()))
        headers = {"Content-Disposition": 'attachment; filename="reports.csv"'}
        return Response(text, media_type="text/csv", headers=headers)

    routes = [
        Route("/reports", post, methods=["POST"]),
        *(Route(path, file) for path in site.paths),
        Route("/open.json", is_open),
        Route("/results.json", results_json),
        Route("/reports.csv", reports_csv),
    ]
    refused = Refused(settings.log, frozenset(route.path for route in routes))
    app = Starlette(
        routes=routes, exception_handlers=dict.fromkeys((Refusal, StoreError, HTTPException), refused)
    )
    if settings.origins:
        allowed: Any = {"allow_methods": ["POST"], "allow_headers": ["content-type"]}
        app.add_middleware(CORSMiddleware, allow_origins=sorted(settings.origins), **allowed)
    return protected(app)


def check_secret(request: Request, secret: str) -> None:
    """Refuse whoever is not the researcher."""
    given = request.headers.get("authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {secret}".encode()):
        raise Refusal(401, "Results need the secret that the terminal shows.")


def packed(request: Request, text: str, kind: str) -> Response:
    """A text, compressed for browsers that take it so."""
    headers = {"Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(text, media_type=kind, headers=headers)
    return Response(_compressed(text), media_type=kind, headers=headers | {"Content-Encoding": "gzip"})


@lru_cache(64)
def _compressed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def protected(app: ASGIApp) -> ASGIApp:
    """The application with the protecting headers in every answer."""

    async def passed(scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *RAW_HEADERS]
            await send(message)

        await app(scope, receive, guarded)

    return passed


@dataclass(frozen=True)
class Refused:
    """Makes an answer of a refusal, and logs it in words of our own.

    A path may hold a whole invitation that a mail program has put into it, so only known ones are logged.
    """

    log: Log
    paths: frozenset[str]

    async def __call__(self, request: Request, error: Exception) -> Response:
        """The answer."""
        status, said = 503, "The report could not be stored now. Please try again later."
        logged = f": {error}"
        if isinstance(error, Refusal):
            status, said, logged = error.status, error.message, f": {error.message}"
        elif isinstance(error, HTTPException):
            status, said, logged = error.status_code, "There is nothing here.", ""
        method = request.method if request.method in METHODS else "?"
        path = request.url.path if request.url.path in self.paths else "another path"
        self.log(f"refused {status} {method} {path}{logged}")
        return JSONResponse({"error": said}, status, BESIDE.get(status))


class Site:
    """The files that the server hands out, with the page of the stage that runs.

    A file of an earlier stage is found by the query that the page of that stage has: its index.html goes with no other.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.shown = store, ""
        self.files = {
            f"/{name}": (STATIC / name).read_text("utf-8") for name in ("results.js", "results.css")
        }
        self.files["/results"] = (STATIC / "results.html").read_text("utf-8")
        self._turn()
        self.paths = tuple(self.files)
        for survey in store.surveys.values():
            self._keep(survey)

    def text(self, path: str, query: str) -> str:
        """The file at an address."""
        if self.shown != self.store.current.digest:
            self._turn()
        return self.files.get(f"{path}?{query}", self.files[path])

    def _turn(self) -> None:
        current = self.store.current
        files = page_of(current, "reports").files
        self.files |= {f"/{name}": text for name, text in files.items()}
        self.files["/"] = self.files["/index.html"]
        self._keep(current)
        self.shown = current.digest

    def _keep(self, survey: Published) -> None:
        if survey.learn is None:
            return
        for address, text in page_of(survey, "reports").earlier().items():
            self.files[f"/{address}"] = text


class Learner:
    """Begins the next stage when one is full, in a thread of its own; every server of a survey has one."""

    def __init__(self, store: Store, log: Log) -> None:
        self.store, self.log = store, log
        self._thread = ThreadPoolExecutor(1, "extremal-learner")
        self._looking: Future[None] | None = None

    def tick(self, counter: int) -> None:
        """Look whether there is something to do: once a second, and at once if this server has filled a stage."""
        if self.store.published.learn is None or (counter % 10 and not self.store.filled):
            return
        if self._looking is None or self._looking.done():
            self._looking = self._thread.submit(self._look)

    def end(self) -> None:
        """Wait until nothing is being done."""
        self._thread.shutdown()

    def _look(self) -> None:
        try:
            before = len(self.store.stages)
            learned = go_on(self.store)
        except Exception as error:  # a database is away; all is as before, and the next look tries again
            self.log(f"the next stage cannot begin now: {error}")
            return
        if learned or len(self.store.stages) != before:
            stage, digest = self.store.stages[-1], page_of(self.store.current, "reports").digest
            self.log(f"stage {stage.number} has begun; SHA-256 of its page: {digest}. {stage.said}".rstrip())


class Server(uvicorn.Server):  # type: ignore[misc]
    """A server whose connections pass a gate."""

    def __init__(self, config: uvicorn.Config, gate: Gate, limits: Limits, learner: Learner) -> None:
        super().__init__(config)
        self.gate, self.limits, self.learner = gate, limits, learner

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve on these sockets until told to end."""
        try:
            await super().serve([Listener.of(bound, self.gate) for bound in sockets or ()])
        finally:
            self.learner.end()

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second."""
        if counter % 10 == 0:
            self.gate.sweep()
            self.limits.forget()
        self.learner.tick(counter)
        return bool(await super().on_tick(counter))


class Inbox:
    """Takes submissions in an event loop and hands them to the store, batch by batch, in one thread.

    Flushing to disk takes milliseconds, whether for one report or for five hundred. While one batch is being written,
    the next one gathers.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._waiting: list[Waiting] = []
        self._arrived = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "extremal-store")

    async def put(self, submission: Submission) -> Verdict:
        """The verdict, when it is on disk; StoreError if it could not be stored."""
        if len(self._waiting) >= MOST_WAITING:
            raise StoreError("too many reports wait to be written", remedy="try again later")
        loop = asyncio.get_running_loop()
        if self._writer is None:
            self._writer = loop.create_task(self._write())
        future: asyncio.Future[Verdict] = loop.create_future()
        self._waiting.append((submission, future))
        self._arrived.set()
        return await future

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        used = False
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS if used else None):
                    await self._arrived.wait()
            except TimeoutError:
                used = False
                with contextlib.suppress(StoreError):
                    await loop.run_in_executor(self._thread, self.store.database.forget_invitations)
                continue
            batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
            if not self._waiting:
                self._arrived.clear()
            try:
                verdicts = await loop.run_in_executor(self._thread, self.store.add, [s for s, _ in batch])
            except Exception as error:
                for _, future in batch:
                    if not future.done():  # whoever asked may have gone
                        future.set_exception(error)
                continue
            used = used or any(s.invitation for s, _ in batch)
            for (_, future), verdict in zip(batch, verdicts, strict=True):
                if not future.done():
                    future.set_result(verdict)


class Figures:
    """The results, computed again when reports have come in since, by one request at a time."""

    def __init__(self, store: Store) -> None:
        self.store, self.lock = store, threading.Lock()
        self.state, self.kept = (-1, False, 0), ""
        self.people: dict[str, int | None] | None = None  # takes a moment, and stays the same in a stage

    def text(self) -> str:
        """results.json."""
        with self.lock:
            state = (self.store.visible(), self.store.closed(), len(self.store.stages))
            if state != self.state:
                if self.people is None or state[2] != self.state[2]:
                    self.people = people_needed(self.store.published, planned(self.store))
                found = results(self.store, self.people)
                self.kept = json.dumps(found, ensure_ascii=False, allow_nan=False)
                self.state = state
            return self.kept


class Peers:
    """Learns from proxies whose requests they pass on, and says once where one hides the addresses of all."""

    def __init__(self, app: ASGIApp, proxies: Proxies, tell: Log) -> None:
        self.app = ProxyHeadersMiddleware(app, list(proxies.names))
        self.proxies, self.tell = proxies, tell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http" and scope["client"] is not None:
            headers = dict(scope["headers"])
            named = b"x-forwarded-for" in headers
            if scope["client"][0] not in self.proxies:
                if named:
                    self.tell(UNKNOWN_PROXY)
            elif not named and not _is_local(headers.get(b"host", b"").decode("latin-1")):
                self.tell(SILENT_PROXY)
        await self.app(scope, receive, send)


def _is_local(host: str) -> bool:
    """Whether the address in a browser is one of this machine: then it needs no proxy."""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    return name in ("", "localhost") or name.strip("[]") in Proxies()


def once(log: Log) -> Log:
    """The log, for sentences that are worth saying only once."""
    told: set[str] = set()

    def tell(line: str) -> None:
        if line not in told:
            told.add(line)
            log(line)

    return tell


@dataclass(frozen=True)
class TlsFiles:
    """Files with a TLS certificate and its key."""

    certificate: str
    key: str


def make_server(store: Store, settings: Settings, tls: TlsFiles | None = None) -> uvicorn.Server:
    """The server, not yet running."""
    secured = {} if tls is None else {"ssl_certfile": tls.certificate, "ssl_keyfile": tls.key}
    tell = once(settings.log)
    gate = Gate(settings.proxies, tell, room_for_connections())
    limits = Limits(Bucket(2 * settings.rate, settings.rate), proxies=settings.proxies)
    learner = Learner(store, tell)
    config = uvicorn.Config(
        Peers(create_app(store, settings, limits), settings.proxies, tell),
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=True,
        http=protocol(gate),
        ws="none",
        proxy_headers=False,  # Peers does that
        lifespan="off",
        limit_concurrency=MOST_CONNECTIONS + 2 * AT_ONCE,  # some of which are closing
        backlog=AT_ONCE,
        timeout_graceful_shutdown=5,
        **secured,
    )
    return Server(config, gate, limits, learner)


def serve(store: Store, bound: socket.socket, settings: Settings, tls: TlsFiles | None = None) -> None:
    """Serve until Ctrl-C or SIGTERM; the caller closes the store."""
    with contextlib.suppress(StoreError):  # another server may be writing
        store.database.forget_order()  # one that was killed could not
    for name in ("asyncio", "psycopg"):  # what goes wrong is told as a refused request
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with contextlib.suppress(KeyboardInterrupt), bound:
        make_server(store, settings, tls).run(sockets=[bound])


@contextmanager
def running(store: Store, settings: Settings | None = None, port: int = 0) -> Iterator[tuple[str, str]]:
    """Serve from a thread, for tests and notebooks: the base address and the secret; ends with the block."""
    chosen = settings or Settings(secrets.token_urlsafe(24), log=lambda line: None)
    bound = listen("127.0.0.1", port, "the survey")
    with in_background(make_server(store, chosen), bound):
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/", chosen.secret
