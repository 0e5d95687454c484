"""The explorer's web server: hands out the page and passes tasks on to worker processes. Nothing is logged.

It listens on this machine only unless told otherwise. A request passes if its Host is localhost or a number, so that no
foreign name can be made to point here; if no other site sent it; and, for everything but the page itself, if it carries
the token of the link that started the page. The page sends the token in a header of its own, not in a cookie: browsers
send cookies to every port of this machine.

Worker processes are started when needed, kept warm, and ended when a task is given up. The pools of libraries do less.
A task of concurrent.futures gives one result at its end, cannot be cancelled once it runs, and if its process is ended,
every other task fails with it. anyio.to_process ends a process with its task, but gives one result, too, and imports
modules of the current folder.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import ipaddress
import json
import logging
import os
import secrets
import socket
import sys
import tempfile
import threading
import webbrowser
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from extremal._common.json import Document, parse_object
from extremal._common.web import RAW_HEADERS, is_loopback, listen, read_body
from extremal.studies.data import ORDER, anes96

from .figures import FILES
from .state import MEASURES, PURPOSES, editor_text

PATIENCE = 0.4  # seconds until a task that was given up must have ended of itself
LONGEST = 1 << 28  # bytes of a message; a file to download is one
END = b'{"type":"end"}'
LOST = b'{"type":"error","kind":"unexpected","message":"the computation ended without a result"}'


class Process:
    """One worker process, to which tasks and from which messages go as lines of JSON, and what it has done lately."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.known: list[str] = []

    @classmethod
    async def start(cls) -> Process:
        """A new process, which warms up by itself."""
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # modules of the current folder must not stand in for those of the library
                "-m",
                "extremal.explorer.worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST,
                start_new_session=True,  # Ctrl-C is for the server, which then ends its processes
                env={**os.environ, "PYTHONPATH": module_path(), "MPLBACKEND": "Agg"},
            )
        )

    async def send(self, document: Document) -> None:
        """Send one task, or that it is given up."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(document).encode() + b"\n")
        await self.process.stdin.drain()

    async def receive(self) -> bytes:
        """The JSON text of the next message; empty if the process is gone."""
        assert self.process.stdout is not None
        return (await self.process.stdout.readline()).rstrip(b"\n")

    async def settle(self) -> bool:
        """Give up the task; whether it came to its end in time."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self.send({"cancel": True})
                while message := await self.receive():
                    if message == END:
                        return True
        except (TimeoutError, OSError):
            pass
        return False

    async def stop(self) -> None:
        """End it at once and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):  # it may just have gone
            self.process.kill()
        await self.process.wait()


def module_path() -> str:
    """PYTHONPATH for a process: this very package first, then what is given, without relative folders.

    An empty entry, which a stray colon leaves behind, is the current folder too.
    """
    root = str(Path(__file__).parents[2])
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([root, *(entry for entry in given if os.path.isabs(entry))])


class Pool:
    """Up to three processes; a task goes to an idle one that has done the like before, if there is one."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(3)
        self.idle: list[Process] = []
        self.all: set[Process] = set()
        self.closed = False

    async def open(self) -> None:
        """Start the first two processes."""
        for _ in range(2):
            self.idle.append(await self._start())

    async def close(self) -> None:
        """End all processes, and start no more."""
        self.closed = True
        await asyncio.gather(*(process.stop() for process in self.all))

    async def run(self, task: Document, key: str) -> AsyncIterator[bytes]:
        """The messages of a task as JSON text. Closing the iterator gives the task up."""
        async with self.free:
            process, done = await self._take(key), False
            try:
                await process.send(task)
                process.known = [key, *[k for k in process.known if k != key]][:4]
                while (message := await process.receive()) and message != END:
                    yield message
                done = message == END
                if not done:
                    yield LOST
            except OSError:
                yield LOST
            finally:
                with anyio.CancelScope(shield=True):
                    await self._release(process, done)

    async def _take(self, key: str) -> Process:
        if not self.idle:
            return await self._start()
        best = next((p for p in self.idle if key in p.known), self.idle[-1])  # the one used last is warm
        self.idle.remove(best)
        return best

    async def _release(self, process: Process, done: bool) -> None:
        """Back among the idle; one that does not stop its task in time is replaced."""
        if done or await process.settle():
            self.idle.append(process)
            return
        await process.stop()
        self.all.discard(process)
        if not self.closed:
            self.idle.insert(0, await self._start())

    async def _start(self) -> Process:
        process = await Process.start()
        self.all.add(process)
        return process


STATIC = Path(__file__).parent / "static"
SCRIPTS = sorted(path.name for path in STATIC.glob("*.js"))
PAGE = {"/": "index.html", "/style.css": "style.css", **{f"/{name}": name for name in SCRIPTS}}
TASKS = ("read", "explore", "wish", "curve", "privatize", "file")
LARGEST_BODY = 8 << 20  # bytes of one request
MOST_TASKS = 8  # at once, those that wait for a process included: their bodies are in memory
READ_SECONDS = 20.0  # until a body must be there


def create_app(token: str, host: str = "127.0.0.1") -> ASGIApp:
    """The application with its own pool of processes; every task needs the token."""
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
        return JSONResponse(
            {"purposes": PURPOSES, "measures": MEASURES, "files": FILES, "example": example()}
        )

    async def task(request: Request) -> Response:
        document = await read_document(request)
        name = request.path_params["task"]
        if document is None or name not in TASKS:
            return JSONResponse({"message": f"a task must be JSON of at most {LARGEST_BODY >> 20} MB"}, 400)
        messages = pool.run({**document, "task": name}, task_key(name, document))
        if name == "file":
            return await as_file(messages, str(document.get("name")))
        return StreamingResponse(as_lines(messages), media_type="application/x-ndjson")

    routes = [Route(path, page) for path in PAGE]
    routes += [Route("/api/options", options), Route("/api/{task}", task, methods=["POST"])]
    return Guard(Starlette(routes=routes, lifespan=lifespan), host, token)


async def read_document(request: Request) -> Document | None:
    """The JSON object of a request, if it is one and not too large."""
    try:
        body = await read_body(request.stream(), LARGEST_BODY, READ_SECONDS)
    except TimeoutError:
        return None
    return None if body is None else parse_object(body)


def task_key(name: str, document: Document) -> str:
    """What tells whether a process has done this before: the prior and the utility, and for designs epsilon."""
    state = document.get("state")
    state = state if isinstance(state, dict) else {}
    parts = ["prior", "kind", "pseudocount", "robust", "utility"] + ([] if name == "curve" else ["epsilon"])
    return json.dumps(["curve" if name == "curve" else "design", *(state.get(part) for part in parts)])


async def as_lines(messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """One message a line."""
    async with contextlib.aclosing(messages) as source:  # type: ignore[type-var]
        async for message in source:
            yield message + b"\n"


async def as_file(messages: AsyncIterator[bytes], name: str) -> Response:
    """The file among the messages as a download, or what went wrong."""
    last: Document = {}
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


def link_of(bound: socket.socket, host: str, token: str) -> str:
    """The address for a browser, with the token after the #, which browsers keep to themselves."""
    named = "127.0.0.1" if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host
    return f"http://{named}:{bound.getsockname()[1]}/#token={token}"


def make_server(host: str, token: str) -> uvicorn.Server:
    """The server of the explorer; every task needs the token."""
    config = uvicorn.Config(
        create_app(token, host),
        log_level="critical",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


@contextmanager
def redirect_file(link: str) -> Iterator[Path]:
    """A file, readable by this user alone, that leads to the link.

    A browser is opened with this file instead of the link: other users can read the arguments of a process.
    """
    with tempfile.TemporaryDirectory(prefix="extremal-") as folder:
        path = Path(folder, "explorer.html")
        path.write_text(
            f'<!doctype html><meta charset="utf-8"><title>extremal explorer</title>'
            f'<meta http-equiv="refresh" content="0;url={link}"><a href="{link}">Open the explorer</a>\n',
            encoding="utf-8",
        )
        yield path


def run(host: str, port: int, open_browser: bool) -> None:
    """Serve until Ctrl-C."""
    bound = listen(host, port, "the explorer")
    token = secrets.token_urlsafe(32)
    link = link_of(bound, host, token)
    print(f"Explorer at {link} (Ctrl-C ends it). Data stays in memory.", flush=True)
    print("The link is the key to this explorer: do not pass it on.", flush=True)
    if not is_loopback(bound.getsockname()[0]):
        print("Other machines can reach this address, and nothing is encrypted on the way.", flush=True)
    # asyncio warns of a process that is gone before it is ended.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as undo:
        undo.enter_context(bound)
        if open_browser:
            path = undo.enter_context(redirect_file(link))
            threading.Timer(0.5, webbrowser.open, [path.as_uri()]).start()
        make_server(host, token).run(sockets=[bound])


# --- who may ask, and how much at once ---------------------------------------------------------------


class Guard:
    """Refuses requests that are not from the explorer's own page, and adds the headers that protect it.

    It also refuses tasks beyond `MOST_TASKS` at once, which bounds the bytes in memory too.
    """

    def __init__(self, app: ASGIApp, host: str, token: str) -> None:
        self.app, self.host, self.token, self.tasks = app, host, token.encode(), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is the page's own; a task counts until its answer is sent or given up."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *RAW_HEADERS]
            await send(message)

        refused = self.refusal(scope)
        if refused is not None:
            await JSONResponse({"message": refused[1]}, refused[0])(scope, receive, guarded)
            return
        task = scope["method"] == "POST"
        self.tasks += task
        try:
            await self.app(scope, receive, guarded)
        finally:
            self.tasks -= task

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status and reason for refusing a request, or None; its body is not read."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not is_own_name(hosts[0], self.host):
            return 403, "the address must be localhost or a number"
        origins = headers.get("origin", [])
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return 403, "requests must come from the explorer's own page"
        if any(site not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
            # Another site may link to the page, but load nothing of it.
            modes = headers.get("sec-fetch-mode", [])
            if scope["method"] != "GET" or scope["path"] != "/" or modes != ["navigate"]:
                return 403, "requests must come from the explorer's own page"
        if scope["path"].startswith("/api/"):
            given = headers.get("x-explorer-token", [])
            if len(given) != 1 or not hmac.compare_digest(given[0].encode("latin-1"), self.token):
                return 401, "this page lacks its key; open the link that the terminal shows"
        if scope["method"] != "POST":
            return None
        if headers.get("content-type") != ["application/json"]:
            return 403, "requests must be JSON"
        if self.tasks >= MOST_TASKS:
            return 503, f"the explorer is busy with {self.tasks} tasks; wait until one has ended"
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
