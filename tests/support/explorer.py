"""The explorer, served from a thread."""

import secrets
from contextlib import contextmanager

from extremal._common.web import in_background, listen
from extremal.explorer.server import link_of, make_server


@contextmanager
def running():
    """Gives the link, and ends with the block."""
    host, token = "127.0.0.1", secrets.token_urlsafe(32)
    bound = listen(host, 0, "the explorer")
    with in_background(make_server(host, token), bound):
        yield link_of(bound, host, token)
