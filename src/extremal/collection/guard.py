"""Who may post to a survey's server, what, how much and how often. Nothing about anybody is written down.

Reports come from the survey's own page: a request that a browser sent for another site is refused by its Origin and
Sec-Fetch-Site headers. Limits of rate live in memory: addresses are turned into numbers under a key that only this
process knows, and are forgotten a minute after the last post.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

from .._common.json import parse_json
from .._common.web import read_body
from .._common.words import sentence
from ..errors import OptionError, SurveyError
from .published import Published
from .store import HEX, Submission, token_hash

LARGEST_BODY = 16 << 10  # bytes
READ_SECONDS = 20.0  # until a body must be there
MOST_CLIENTS = 100_000  # remembered at once
FORGET_SECONDS = 60.0
OTHER_VERSION = "It was made for another version of this survey, and is not counted here."


@dataclass(frozen=True)
class Refusal(Exception):
    """A request that is not served: its status and a sentence for a person."""

    status: int
    message: str


def check_origin(headers: Mapping[str, str], origins: frozenset[str]) -> None:
    """Refuse what another site made a browser send. Programs that send no such headers pass."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and (origin in origins or _host_of(origin) == host.lower()):
        return  # a proxy may speak https for us: the scheme is not compared
    site = headers.get("sec-fetch-site")
    if origin is not None or site not in (None, "same-origin", "none"):
        raise Refusal(403, "Reports must come from the survey's own page.")


def _host_of(origin: str) -> str | None:
    """The host and port of an address; None if it has none."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


async def read_report(chunks: AsyncIterable[bytes], headers: Mapping[str, str]) -> bytes:
    """The body of a request, while it is not too large and not too slow."""
    length = headers.get("content-length", "0")
    fits = length.isdecimal() and int(length) <= LARGEST_BODY
    try:
        body = await read_body(chunks, LARGEST_BODY, READ_SECONDS) if fits else None
    except TimeoutError:
        raise Refusal(408, "The report did not arrive in time. Please try again.") from None
    if body is None:
        raise Refusal(413, f"A report has at most {LARGEST_BODY} bytes.")
    return body


def neighbourhood(address: str) -> str:
    """Whom an address stands for: itself, or in IPv6 the network of 2^64 addresses that one household has."""
    ip = _ip(address)
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(ip) >> 64 << 64, 64)))
    return address if ip is None else str(ip)


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address as a number; None if it is none, such as that of a socket with a name."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return (ip.ipv4_mapped or ip) if isinstance(ip, ipaddress.IPv6Address) else ip


@dataclass(frozen=True)
class Proxies:
    """Servers that pass on the requests of others, and may say whose they are: this machine, unless told otherwise."""

    names: tuple[str, ...] = ("127.0.0.0/8", "::1")

    def __post_init__(self) -> None:
        _ = self.networks

    @cached_property
    def networks(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        """The same, to look into."""
        found = []
        for name in self.names:
            try:
                found.append(ipaddress.ip_network(name))
            except ValueError:
                raise OptionError(
                    "a proxy must be an address or a network", given=repr(name)[:60], remedy="e.g. 10.0.0.7"
                ) from None
        return tuple(found)

    def __contains__(self, address: object) -> bool:
        ip = _ip(str(address))
        return ip is not None and any(ip in network for network in self.networks)


@dataclass
class Bucket:
    """So many at once, and so many a second on average."""

    burst: float
    rate: float
    clock: Callable[[], float] = time.monotonic
    left: float = field(init=False)
    at: float = field(init=False)

    def __post_init__(self) -> None:
        self.left, self.at = self.burst, self.clock()

    def take(self) -> bool:
        """Whether one more is allowed."""
        now = self.clock()
        self.left = min(self.burst, self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass
class Limits:
    """At most so many posts, from all and from each address; those of proxies are not counted."""

    everybody: Bucket
    burst: float = 300.0  # a class of pupils behind one address
    rate: float = 10.0
    proxies: Proxies = field(default_factory=Proxies)
    clock: Callable[[], float] = time.monotonic
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _clients: dict[bytes, Bucket] = field(default_factory=dict, repr=False)

    def check(self, address: str | None) -> None:
        """Refuse what is too much."""
        busy = Refusal(429, "Too many reports at once. Please try again in a minute.")
        if address is not None and address not in self.proxies:
            self.forget()
            name = hashlib.blake2b(neighbourhood(address).encode(), key=self._key, digest_size=8).digest()
            client = self._clients.pop(name, None) or Bucket(self.burst, self.rate, self.clock)
            self._clients[name] = client
            if not client.take():
                raise busy
        if not self.everybody.take():
            raise busy

    def forget(self) -> None:
        """Forget who has not posted for a minute: they may post as much as anybody new. And the first of too many."""
        since = self.clock() - FORGET_SECONDS
        while self._clients:
            first = next(iter(self._clients))  # the last to post stand last
            if self._clients[first].at > since and len(self._clients) < MOST_CLIENTS:
                break
            del self._clients[first]


def parse_submission(surveys: Mapping[str, Published], body: bytes) -> Submission:
    """The submission in the body of a request or in a file, if it fits the survey with one of its mechanisms."""
    published = next(iter(surveys.values()))
    try:
        document = parse_json(body, LARGEST_BODY)
    except ValueError:
        raise Refusal(400, "A report must be JSON.") from None
    names = {"survey", "id", "reports"} | ({"token"} if published.invitation else set())
    if not isinstance(document, dict) or document.keys() != names:
        raise Refusal(400, f"A report must have the members {', '.join(sorted(names))}.")
    known = (pair for pair in surveys.items() if pair[1].digest == document["survey"])
    number, published = next(known, (None, published))
    if number is None:
        raise Refusal(409, OTHER_VERSION)
    for name in names & {"id", "token"}:
        if not isinstance(document[name], str) or not HEX.fullmatch(document[name]):
            raise Refusal(400, f"The {name} of a report must be 32 hexadecimal digits.")
    try:
        content = published.content(document["reports"])
    except (SurveyError, ValueError, TypeError) as error:
        raise Refusal(400, sentence(str(error)[:200])) from None
    return Submission(
        document["id"], content, token_hash(document["token"]) if published.invitation else None, number
    )
