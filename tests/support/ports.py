"""Ports for programs that must be told theirs."""

import contextlib
import random
import socket


def free_port():
    """A port that nobody listens at, below those that systems give to outgoing connections."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
