"""The explorer's web server: hands out the page and passes tasks on to worker processes.

It listens on this machine only unless told otherwise. It answers only requests whose Host is a number or localhost, so
that no foreign name can be made to point here, and that come from its own page: other sites can neither read nor start
anything. Nothing is logged.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import json
import logging
import socket
import threading
import webbrowser
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from extremal.errors import OptionError
from extremal.studies.data import anes96
from extremal.studies.demo.survey import ORDER

from .compute import UTILITIES
from .files import NAMES
from .pool import Pool
from .priors import editor_text

STATIC = Path(__file__).parent / "static"
PAGE = {"/": "index.html", "/style.css": "style.css", "/app.js": "app.js", "/charts.js": "charts.js"}
LARGEST_BODY = 8 << 20  # bytes
TASKS = ("read", "explore", "curve", "privatize", "file")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses requests that do not come from the explorer's own page, and adds the headers that protect it."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is the page's own."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        reason = self.refusal(scope)
        answer = self.app if reason is None else JSONResponse({"message": reason}, 403)
        await answer(scope, receive, guarded)

    def refusal(self, scope: Scope) -> str | None:
        """Why a request is refused, or None."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not is_own_name(hosts[0], self.host):
            return "the address must be localhost or a number"
        origins = headers.get("origin", [])
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return "requests must come from the explorer's own page"
        if any(site not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
            # Another site may link to the page, but load nothing of it.
            modes = headers.get("sec-fetch-mode", [])
            if scope["method"] != "GET" or scope["path"] != "/" or modes != ["navigate"]:
                return "requests must come from the explorer's own page"
        if scope["method"] == "POST" and headers.get("content-type") != ["application/json"]:
            return "requests must be JSON"
        return None


def is_own_name(name: str, host: str) -> bool:
    """Whether a Host header is localhost, a numeric address, or the name that the server was told to listen on."""
    bare = name.rpartition("]")[0].removeprefix("[") if name.startswith("[") else name.partition(":")[0]
    if bare.lower() in ("localhost", host.lower()):
        return True
    try:
        ipaddress.ip_address(bare)
    except ValueError:
        return False
    return True


def create_app(host: str = "127.0.0.1") -> ASGIApp:
    """The application with its own pool of processes."""
    pool = Pool()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await pool.open()
        try:
            yield
        finally:
            await pool.close()

    async def page(request: Request) -> Response:
        return FileResponse(STATIC / PAGE[request.url.path])

    async def options(_: Request) -> Response:
        names = {name: utility.name for name, utility in UTILITIES.items()}
        return JSONResponse({"utilities": names, "files": NAMES, "example": example()})

    async def task(request: Request) -> Response:
        document = await read_document(request)
        name = request.path_params["task"]
        if document is None or name not in TASKS:
            return JSONResponse({"message": f"a task must be JSON of at most {LARGEST_BODY} bytes"}, 400)
        messages = pool.run({**document, "task": name}, task_key(name, document))
        if name == "file":
            return await as_file(messages, str(document.get("name")))
        return StreamingResponse(as_lines(messages), media_type="application/x-ndjson")

    routes = [Route(path, page) for path in PAGE]
    routes += [Route("/api/options", options), Route("/api/{task}", task, methods=["POST"])]
    return Guard(Starlette(routes=routes, lifespan=lifespan), host)


async def read_document(request: Request) -> dict[str, Any] | None:
    """The JSON object of a request, if it is one and not too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            return None
    try:
        document = json.loads(bytes(body))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def task_key(name: str, document: dict[str, Any]) -> str:
    """What tells whether a process has done this before: the prior and the utility, and for designs epsilon."""
    state = document.get("state")
    state = state if isinstance(state, dict) else {}
    parts = ["prior", "kind", "pseudocount", "utility"] + ([] if name == "curve" else ["epsilon"])
    return json.dumps(["curve" if name == "curve" else "design", *(state.get(part) for part in parts)])


async def as_lines(messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """One message a line."""
    async with contextlib.aclosing(messages) as source:  # type: ignore[type-var]
        async for message in source:
            yield message + b"\n"


async def as_file(messages: AsyncIterator[bytes], name: str) -> Response:
    """The file among the messages as a download, or what went wrong."""
    last: dict[str, Any] = {}
    async with contextlib.aclosing(messages) as source:  # type: ignore[type-var]
        async for message in source:
            if not message.startswith(b'{"type":"progress"') and not message.startswith(b'{"type":"points"'):
                last = json.loads(message)
    if last.get("type") != "file":
        return JSONResponse({"message": last.get("message", "nothing was made")}, 400)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(base64.b64decode(last["content"]), media_type=last["media"], headers=headers)


def example() -> str:
    """The survey that ships with the package, as counts for the editor."""
    counts = Counter(anes96()["party"])
    return editor_text(ORDER, [counts[label] for label in ORDER])


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address, if it is free."""
    with contextlib.ExitStack() as undo:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            bound = undo.enter_context(socket.socket(family, socket.SOCK_STREAM))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen()  # so that whoever connects before the server runs waits instead of failing
        except (OSError, OverflowError) as error:
            raise OptionError(
                f"the explorer must have a free address on this machine, got {host} port {port}: {error}; "
                "choose another port, or 0 for any"
            ) from None
        undo.pop_all()
    return bound


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach a numeric address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def address_of(bound: socket.socket, host: str) -> str:
    """The address for a browser."""
    port = bound.getsockname()[1]
    if host in ("0.0.0.0", "::", ""):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _server(host: str) -> uvicorn.Server:
    config = uvicorn.Config(
        create_app(host),
        log_level="critical",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def run(host: str, port: int, open_browser: bool) -> None:
    """Serve until Ctrl-C."""
    bound = listen(host, port)
    address = address_of(bound, host)
    print(f"Explorer at {address} (Ctrl-C ends it). Data stays in memory.", flush=True)
    if not is_loopback(bound.getsockname()[0]):
        print(
            "Whoever can reach this machine can use it: there is no password, and nothing is encrypted.",
            flush=True,
        )
    if open_browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    logging.getLogger("asyncio").setLevel(
        logging.CRITICAL
    )  # it warns of a process that is gone before it is ended
    with contextlib.suppress(KeyboardInterrupt), bound:
        _server(host).run(sockets=[bound])


@contextmanager
def running(host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve from a thread, for tests and notebooks; gives the address and ends with the block."""
    bound = listen(host, port)
    server = _server(host)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        yield address_of(bound, host)
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()
