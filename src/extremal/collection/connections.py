"""Which connections to a server stay open: a request that does not end must not keep others out.

A connection is closed when a step takes too long: its encryption and the head of a request, the body, the answer.
Where one address has too many connections that wait for the rest of a request, or for a request, or where there are
too many in all, the oldest of them is closed: honest ones are done in milliseconds, and browsers open a new one.
Addresses are kept while a connection lasts.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from .._common.web import BACKLOG
from .guard import Proxies, neighbourhood

HEAD_SECONDS = 15.0  # to encrypt and to send the head of a request; also to be idle
BODY_SECONDS = 25.0  # longer than guard.READ_SECONDS, after which the application answers 408
ANSWER_SECONDS = 120.0  # for the store, and for a slow network to take the answer
MOST_CONNECTIONS = 2000
MOST_EACH = 500  # unfinished requests from one address: a school has fewer
AT_ONCE = 100  # taken in one turn of the event loop, in which none that is to be closed is closed yet
SPARE_FILES = 300  # for those, for the database, and whatever else is open

Peer = tuple[Any, ...]
CROWDED = (
    "one address keeps too many requests unfinished, and its oldest connections are closed. "
    "If it is a proxy of yours, name it with --proxy"
)


@dataclass
class Connection:
    """One connection: how it is closed, whose it is, and until when the present step may take."""

    connection: Any
    who: str | None  # None: a proxy, which speaks for many
    step: str
    deadline: float


@dataclass
class Gate:
    """All connections of a server, oldest first."""

    proxies: Proxies
    tell: Callable[[str], None]
    most: int = MOST_CONNECTIONS
    each: int = MOST_EACH
    clock: Callable[[], float] = time.monotonic
    lines: dict[Peer, Connection] = field(default_factory=dict)
    _waiting: dict[str | None, dict[Peer, None]] = field(default_factory=dict)

    def arrive(self, peer: Peer, connection: Any) -> None:
        """A new connection; makes room for it."""
        self.leave(peer)
        who = None if peer[0] in self.proxies else neighbourhood(peer[0])
        if who is not None and len(self._waiting.get(who, ())) >= self.each:
            self.tell(CROWDED)
            self._close_oldest(who)
        elif len(self.lines) >= self.most:
            self.make_room()
        self.lines[peer] = Connection(connection, who, "", 0.0)
        self.step(peer, "head", HEAD_SECONDS)

    def step(self, peer: Peer, step: str, seconds: float) -> None:
        """A connection has come to a step; being slow within one gives no more time."""
        line = self.lines.get(peer)
        if line is None or line.step == step:
            return
        line.step, line.deadline = step, self.clock() + seconds
        mine = self._waiting.setdefault(line.who, {})
        mine.pop(peer, None)
        if step != "answer":
            mine[peer] = None

    def leave(self, peer: Peer) -> None:
        """A connection has ended."""
        line = self.lines.pop(peer, None)
        if line is not None:
            mine = self._waiting.get(line.who, {})
            mine.pop(peer, None)
            if not mine:
                self._waiting.pop(line.who, None)

    def make_room(self) -> None:
        """Close the oldest connection of whoever has most that wait."""
        if any(self._waiting.values()):
            self._close_oldest(max(self._waiting, key=lambda who: len(self._waiting[who])))

    def sweep(self) -> None:
        """Close what has taken too long, and forget what has ended by itself."""
        now = self.clock()
        for peer, line in list(self.lines.items()):
            if line.deadline <= now or line.connection.fileno() == -1:
                self._close(peer)

    def _close_oldest(self, who: str | None) -> None:
        self._close(next(iter(self._waiting[who])))

    def _close(self, peer: Peer) -> None:
        line = self.lines[peer]
        self.leave(peer)
        with contextlib.suppress(OSError):
            line.connection.shutdown(socket.SHUT_RDWR)  # the event loop sees its end, and closes it


class Listener(socket.socket):
    """A socket that listens, and reports each connection to the gate before it is encrypted."""

    gate: Gate

    @classmethod
    def of(cls, bound: socket.socket, gate: Gate) -> Listener:
        """The same socket, with a gate."""
        made = cls(bound.family, bound.type, bound.proto, fileno=bound.dup().detach())
        made.gate = gate
        return made

    def listen(self, backlog: int = BACKLOG) -> None:
        """Listen; how many may wait in the kernel is not how many are taken at once."""
        super().listen(BACKLOG)

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection."""
        try:
            connection, peer = super().accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self.gate.make_room()
            raise
        self.gate.arrive(peer, connection)
        return connection, peer


def protocol(gate: Gate) -> type[H11Protocol]:
    """The protocol of a server with this gate."""

    class Watched(H11Protocol):  # type: ignore[misc]
        """Tells the gate how far the request of a connection is."""

        peer: Peer = ()

        def connection_made(self, transport: Any) -> None:
            self.peer = transport.get_extra_info("peername") or ()
            if self.peer and self.peer not in gate.lines:  # where accept() is not called, as on Windows
                gate.arrive(self.peer, transport.get_extra_info("socket"))
            super().connection_made(transport)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            # A request before the answer to the last one: no browser sends it, and who reads none would hold us up.
            if self.flow.read_paused and not self.cycle.more_body:
                self.transport.abort()
            else:
                self._tell()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._tell()

        def connection_lost(self, exc: Exception | None) -> None:
            gate.leave(self.peer)
            super().connection_lost(exc)

        def _tell(self) -> None:
            if self.cycle is None or self.cycle.response_complete:
                gate.step(self.peer, "head", HEAD_SECONDS)
            elif self.cycle.more_body:
                gate.step(self.peer, "body", BODY_SECONDS)
            else:
                gate.step(self.peer, "answer", ANSWER_SECONDS)

    return Watched


def room_for_connections() -> int:
    """How many connections the system lets this process have, up to what a server wants; its limit is raised."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST_CONNECTIONS
    wanted = MOST_CONNECTIONS + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(min(wanted, soft) - SPARE_FILES, 20)
