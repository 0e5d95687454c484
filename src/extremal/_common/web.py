"""What every server of this package shares: its socket, and the headers that protect its pages."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import AsyncIterable, Iterator
from typing import Any

from ..errors import OptionError

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
BACKLOG = 1024  # connections that wait, also for a server that does not run yet


def listen(host: str, port: int, who: str) -> socket.socket:
    """A socket at this address, if it is free; `who` wants it."""
    with contextlib.ExitStack() as undo:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            bound = undo.enter_context(socket.socket(family, socket.SOCK_STREAM))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(BACKLOG)
        except (OSError, OverflowError) as error:
            raise OptionError(
                f"{who} must have a free address on this machine",
                given=f"{host} port {port}: {error}",
                remedy="choose another port with --port, or --port 0 for any",
            ) from None
        undo.pop_all()
    return bound


@contextlib.contextmanager
def in_background(server: Any, bound: socket.socket) -> Iterator[None]:
    """The uvicorn server runs in a thread, at this socket, until the block ends."""
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(15)
        bound.close()


async def read_body(chunks: AsyncIterable[bytes], largest: int, seconds: float) -> bytes | None:
    """The body of a request, or None if it is too large; a TimeoutError if it is too slow."""
    body = bytearray()
    async with asyncio.timeout(seconds):
        async for chunk in chunks:
            body += chunk
            if len(body) > largest:
                return None
    return bytes(body)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach a numeric address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback
