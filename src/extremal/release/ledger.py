"""The ledger: which columns of which people were released under a key, so that nobody reports twice unnoticed.

A keyed draw repeats itself only for the same mechanism, column and occasion. Releasing the same column again
under another mechanism or occasion is a second report about the same people. One line of JSON a release is kept
in a file, and a release that would be such a second report is refused. docs/file-format.md describes the lines.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import hmac
import json
import math
import os
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._files import file_name, reason, sync_folder
from .._json import parse_json
from ..errors import KeyingError
from ..model.leakage import epsilon_pml, ldp_epsilon
from .certificate import Certificate
from .keys import Columns
from .sampler import Integers

try:
    import fcntl
except ImportError:  # no such thing on Windows
    fcntl = None  # type: ignore[assignment]

MOST_PEOPLE = (
    1 << 16
)  # ids of a release that are kept, as keyed hashes: all of them up to here, then a sample
LARGEST_JOINT = 1_000_000  # entries of the matrix of two reports
VERSION = 1


def fingerprint(key: bytes) -> str:
    """A name for the key, from which nothing about the key can be computed."""
    return hmac.new(key, b"extremal-key-fingerprint-1\0", hashlib.sha256).hexdigest()[:32]


class People:
    """The ids of a release: how many, a hash of the set, and the smallest of their keyed hashes.

    Nothing depends on the order of the ids, and memory does not grow with their number. Two releases of at most
    MOST_PEOPLE people each share someone if and only if their samples do.
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        secret = hmac.new(key, b"extremal-ledger-ids-1\0", hashlib.sha256).digest()
        self._cipher = Cipher(algorithms.AES(secret), modes.ECB())
        self._sums = np.zeros(2, dtype=np.uint64)
        self.count = 0
        self.sample: Integers = np.empty(0, dtype=np.uint64)

    def add(self, blocks: Integers) -> None:
        """Count the people with these id blocks, which are distinct."""
        hashes = np.frombuffer(self._cipher.encryptor().update(np.ascontiguousarray(blocks).tobytes()), "<u8")
        hashes = hashes.reshape(-1, 2)
        self._sums += hashes.sum(axis=0, dtype=np.uint64)  # modulo 2^64, in any order
        self.count += len(hashes)
        smallest = np.concatenate([self.sample, hashes[:, 0]])
        if len(smallest) > MOST_PEOPLE:
            smallest = np.partition(smallest, MOST_PEOPLE)[:MOST_PEOPLE]
        self.sample = smallest

    @property
    def digest(self) -> str:
        """A hash of the set of ids; only who has the key can compute it."""
        return self._sums.astype("<u8").tobytes().hex()


@dataclass(frozen=True, eq=False)
class Claim:
    """One column, or several as one symbol, that is to be released with a mechanism."""

    column: Columns
    certified: Certificate


@dataclass(eq=False)
class Entry:
    """A release on its way into the ledger; without a path there is no ledger and nothing happens.

    `commit` refuses a second report, or writes the entry to disk, before the reports are published. So a process
    that is killed in between leaves an entry without reports, which does not stand in the way of running it again,
    and never reports without an entry. If publishing fails, leaving the `with` block takes the entry back. Other
    processes wait until then.
    """

    path: str | None = None
    key: bytes = field(default=b"", repr=False)
    occasion: int | str | None = None
    claims: Sequence[Claim] = ()

    def __post_init__(self) -> None:
        self._file: Any = None
        self._undo: int | None = None  # the length to go back to, once something was written
        self._people = None if self.path is None else People(self.key)

    def add(self, blocks: Integers) -> None:
        """Count people whose reports will be published."""
        if self._people is not None:
            self._people.add(blocks)

    def commit(self) -> None:
        """Write the entry, if this release is no second report of anybody's column."""
        if self.path is None or self._people is None or not self._people.count:
            return
        try:
            self._file = _open(self.path)
            earlier, length = _read(self._file, self.path)
            lines = [self._line(claim, self._people) for claim in self.claims]
            for claim, line in zip(self.claims, lines, strict=True):
                _refuse_second(claim, line, earlier, self._people)
            known = [_same(line) for line in earlier]
            new = [line for line in lines if _same(line) not in known]
            self._undo = length
            self._file.truncate(length)  # what a killed process left of a line
            self._file.seek(length)
            self._file.write("".join(json.dumps(line) + "\n" for line in new).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
            sync_folder(os.path.dirname(self.path))
        except OSError as error:
            raise KeyingError(
                "must be a file that can be written",
                parameter="ledger",
                given=f"{self.path}: {reason(error)}",
                remedy="choose another with `ledger=path`",
            ) from None

    def __enter__(self) -> Entry:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._file is not None:
            if kind is not None and self._undo is not None:
                with contextlib.suppress(OSError):
                    self._file.truncate(self._undo)
            self._file.close()  # and unlocks it

    def _line(self, claim: Claim, people: People) -> dict[str, Any]:
        return {
            "ledger": VERSION,
            "day": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "key": fingerprint(self.key),
            "column": claim.column,
            "occasion": self.occasion,
            "digest": claim.certified.digest,
            "people": people.count,
            "ids": people.digest,
            "sample": base64.b64encode(np.sort(people.sample).astype("<u8").tobytes()).decode(),
        }


def ledger_path(ledger: Any, key: bytes | None) -> str | None:
    """The name of the ledger, which only keyed releases have."""
    if ledger is None:
        return None
    if key is None:
        raise KeyingError(
            "a ledger must come with a key",
            given="a ledger alone",
            remedy="give `key=keys.read(path)` as well",
        )
    return file_name(ledger, "ledger", KeyingError)


def _open(path: str) -> Any:
    """The ledger, locked until it is closed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise KeyingError(
            "must be a regular file",
            parameter="ledger",
            given=path,
            remedy="choose another with `ledger=path`",
        )
    file = os.fdopen(handle, "r+b")
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
    return file


def _read(file: Any, path: str) -> tuple[list[dict[str, Any]], int]:
    """The entries, and where the last whole line ends."""
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    if not whole and content and not content.startswith(b'{"ledger"'[: len(content)]):
        raise _damaged(path, 1)
    entries = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            entry = parse_json(line)
            if entry["ledger"] != VERSION or not {"key", "column", "digest", "ids"} <= entry.keys():
                raise _damaged(path, number)
            entry["sample"] = np.frombuffer(base64.b64decode(entry["sample"], validate=True), "<u8")
        except (ValueError, KeyError, TypeError):
            raise _damaged(path, number) from None
        entries.append(entry)
    return entries, len(whole)


def _damaged(path: str, line: int) -> KeyingError:
    return KeyingError(
        "must hold one entry a line",
        parameter="ledger",
        given=f"something else in line {line} of {path}",
        remedy="restore it, or choose another with `ledger=path`",
    )


def _names(line: dict[str, Any]) -> set[str]:
    """The columns of a release; names that differ in case, blanks or the form of a letter are one name."""
    names = [line["column"]] if isinstance(line["column"], str) else line["column"]
    return {unicodedata.normalize("NFKC", name).strip().casefold() for name in names}


def _draw(line: dict[str, Any]) -> tuple[Any, ...]:
    """What makes the reports repeat themselves."""
    column = line["column"]
    return column if isinstance(column, str) else tuple(column), line["digest"], line["occasion"]


def _same(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["key"], _draw(line), line["ids"]


def _refuse_second(claim: Claim, line: dict[str, Any], earlier: list[dict[str, Any]], people: People) -> None:
    """Refuse a release of a column of which someone has another report."""
    found = [
        old
        for old in earlier
        if old["key"] == line["key"]
        and _names(old) & _names(line)
        and _draw(old) != _draw(line)
        and np.isin(old["sample"], people.sample).any()
    ]
    if not found:
        return
    old = found[-1]
    if old["digest"] != line["digest"]:
        other = f"another mechanism, {old['digest'][:12]}"
    elif old["occasion"] != line["occasion"]:
        other = f"occasion {old['occasion']!r}" if old["occasion"] is not None else "no occasion"
    else:
        other = "other columns with it"
    known = all(old["digest"] == line["digest"] and _draw(old)[0] == _draw(line)[0] for old in found)
    raise KeyingError(
        f"column {claim.column!r} must be released once for each person, but some of these "
        f"{people.count} people have a report of {old['day']} under {other}",
        remedy=(
            f"{_together(claim.certified, len(found) + 1, known)}; repeat that release to "
            "get the same reports, or accept a second one: `ledger=None`"
        ),
    )


def _together(certified: Certificate, reports: int, known: bool) -> str:
    """What the reports leak together, as far as the mechanism in hand tells."""
    everything = up((certified.prior_set or certified.prior).epsilon_max)
    if not known:
        return (
            "what both leak together cannot be computed without the earlier mechanism, and is at most "
            f"{everything} nats, which is everything"
        )
    bound = min(two_reports(certified) if reports == 2 else _many_reports(certified, reports), everything)
    return f"{reports} reports together leak at most {bound} nats under its prior, one at most {up(certified.epsilon)}"


def two_reports(certified: Certificate) -> float:
    """The leakage of two independent reports of one answer, in nats, rounded up."""
    n, m = certified.weights.shape
    if n * m * m > LARGEST_JOINT:
        return _many_reports(certified, 2)
    one = certified.between
    return up(epsilon_pml(certified.prior_set or certified.prior_between, one.compose(one)))


def _many_reports(certified: Certificate, reports: int) -> float:
    """A bound without looking at the reports jointly: the first leaks epsilon, each other its LDP level."""
    bound = certified.epsilon + (reports - 1) * ldp_epsilon(certified.between)
    return up(bound) if math.isfinite(bound) else math.inf


def up(nats: float) -> float:
    """Two digits after the point, rounded up: a bound that is printed must hold."""
    return math.ceil(nats * 100 - 1e-9) / 100
