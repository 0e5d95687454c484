"""Who may ask the explorer's server, and how much at once.

A request passes if its Host is localhost or a number, so that no foreign name can be made to point here; if no other
site sent it; and, for everything but the page itself, if it carries the token of the link that started the page. The
page sends the token in a header of its own, not in a cookie: browsers send cookies to every port of this machine.
"""

from __future__ import annotations

import hmac
import ipaddress

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from extremal._common.web import RAW_HEADERS

LARGEST_BODY = 8 << 20  # bytes of one request
MOST_TASKS = 8  # at once, those that wait for a process included: their bodies are in memory
READ_SECONDS = 20.0  # until a body must be there


class Guard:
    """Refuses requests that are not from the explorer's own page, and adds the headers that protect it."""

    def __init__(self, app: ASGIApp, host: str, token: str) -> None:
        self.app, self.host, self.token = app, host, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is the page's own."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *RAW_HEADERS]
            await send(message)

        refused = self.refusal(scope)
        answer = self.app if refused is None else JSONResponse({"message": refused[1]}, refused[0])
        await answer(scope, receive, guarded)

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
        if scope["method"] == "POST" and headers.get("content-type") != ["application/json"]:
            return 403, "requests must be JSON"
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


class TaskLimit:
    """Refuses tasks beyond `MOST_TASKS` at once, which bounds the bytes in memory too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.tasks = app, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; a task counts from its first byte until its answer is sent or given up."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        if self.tasks >= MOST_TASKS:
            busy = f"the explorer is busy with {self.tasks} tasks; wait until one has ended"
            await JSONResponse({"message": busy}, 503)(scope, receive, send)
            return
        self.tasks += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.tasks -= 1
