"""The ledger: which columns of which people were released under a key, so that nobody reports twice unnoticed.

A keyed draw repeats itself only for the same mechanism, column, occasion and answer. Releasing the same column again
under another mechanism or occasion, or with another answer, is a second report about the same people. One line of
JSON a release is kept in a file, and a release that would be such a second report is refused. docs/api/formats.md
describes the lines.
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
import re
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._common.files import file_name, reason, sync_folder
from .._common.json import parse_json
from ..certification.certified import Certified
from ..draw.columns import Column, Kept
from ..draw.kernel import Integers
from ..draw.keys import Columns, draw_key, keyed_words
from ..errors import KeyingError
from ..lists.windows import Windows
from ..model.leakage import epsilon_pml
from ..model.leakage_measures import ldp_epsilon

try:
    import fcntl
except ImportError:  # no such thing on Windows
    fcntl = None  # type: ignore[assignment]

MOST_PEOPLE = (
    1 << 16
)  # ids of a release that are kept, as keyed hashes: all of them up to here, then a sample
LARGEST_JOINT = 1_000_000  # entries of the matrix of two reports
VERSION = 2
WITHOUT_ANSWERS = 1  # the version of lines that do not know them
# What Unicode says may be ignored where it cannot be shown, besides its category Cf.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
ANSWERS_PURPOSE = b"extremal-ledger-answers-1\0"


class CorrectionWarning(UserWarning):
    """Corrected answers were released, and the reports before and after tell more than one report may."""


def fingerprint(key: bytes) -> str:
    """A name for the key, from which nothing about the key can be computed."""
    return hmac.new(key, b"extremal-key-fingerprint-1\0", hashlib.sha256).hexdigest()[:32]


class People:
    """The ids and answers of a release: how many, a hash of the set, and those with the smallest keyed hashes.

    Nothing depends on the order of the ids, and memory does not grow with their number. Two releases of at most
    MOST_PEOPLE people each share someone if and only if their samples do. `subkeys` has one secret a claim.
    """

    def __init__(self, key: bytes, subkeys: Sequence[bytes] = ()) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        secret = hmac.new(key, b"extremal-ledger-ids-1\0", hashlib.sha256).digest()
        self._cipher = Cipher(algorithms.AES(secret), modes.ECB())
        self._subkeys = subkeys
        self._sums = np.zeros(2 + len(subkeys), dtype=np.uint64)
        self.count = 0
        # A column a person: the hash of the id, and for each claim that of id and answer.
        self._sample: Integers = np.empty((1 + len(subkeys), 0), dtype=np.uint64)

    def add(self, blocks: Integers, columns: Sequence[Column] = (), kept: Kept = None) -> None:
        """Count the people with these id blocks, which are distinct, and with these answers among those kept."""
        hashes = np.frombuffer(self._cipher.encryptor().update(np.ascontiguousarray(blocks).tobytes()), "<u8")
        ids = hashes.reshape(-1, 2).T.astype(np.uint64)
        answers = np.empty((len(self._subkeys), len(blocks)), dtype=np.uint64)
        for subkey, column, words in zip(self._subkeys, columns, answers, strict=True):
            codes = column.codes if kept is None else column.codes[kept]
            keyed_words(subkey, blocks, codes, column.rows)(0, words)
        self._sums += np.concatenate([ids, answers]).sum(axis=1, dtype=np.uint64)  # modulo 2^64, in any order
        self.count += len(blocks)
        smallest = np.concatenate([self._sample, np.concatenate([ids[:1], answers])], axis=1)
        if smallest.shape[1] > MOST_PEOPLE:
            smallest = smallest[:, np.argpartition(smallest[0], MOST_PEOPLE)[:MOST_PEOPLE]]
        self._sample = smallest

    @property
    def sample(self) -> Integers:
        """The smallest of the keyed hashes of the ids, in increasing order; below, those of id and answer by claim."""
        return self._sample[:, np.argsort(self._sample[0])]

    @property
    def digest(self) -> str:
        """A hash of the set of ids; only who has the key can compute it."""
        return self._sums[:2].astype("<u8").tobytes().hex()

    def answered(self, claim: int) -> str:
        """A hash of the set of ids with their answers."""
        return self._sums[2 + claim :][:1].astype("<u8").tobytes().hex()


@dataclass(frozen=True, eq=False)
class LedgerColumn:
    """One column, or several as one symbol, that is to be released with a mechanism."""

    column: Columns
    certified: Certified | Windows


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
    claims: Sequence[LedgerColumn] = ()
    correction: bool = False  # whether answers may differ from those of an earlier release
    notes: list[str] = field(default_factory=list)  # what corrected answers tell

    def __post_init__(self) -> None:
        self._file: Any = None
        self._undo: int | None = None  # the length to go back to, once something was written
        self._people: People | None = None
        if self.path is not None:
            digests = [bytes.fromhex(claim.certified.digest) for claim in self.claims]
            secrets = (
                draw_key(self.key, self.occasion, claim.column, digest, ANSWERS_PURPOSE)
                for claim, digest in zip(self.claims, digests, strict=True)
            )
            self._people = People(self.key, list(secrets))

    def add(self, blocks: Integers, columns: Sequence[Column], kept: Kept) -> None:
        """Count people whose reports will be published; a column for each claim, of which these rows were kept."""
        if self._people is not None:
            self._people.add(blocks, columns, kept)

    def commit(self) -> None:
        """Write the entry, if this release is no second report of anybody's column."""
        if self.path is None or self._people is None or not self._people.count:
            return
        try:
            self._file = _open(self.path)
            earlier, length = _read(self._file, self.path)
            ids, *answers = self._people.sample
            lines = [self._line(k, self._people) for k in range(len(self.claims))]
            for claim, line, told in zip(self.claims, lines, answers, strict=True):
                _refuse_second(claim, line, earlier, ids)
                found = _changed(line, earlier, ids, told)
                if found is not None:
                    self._told(claim, found)
            known = [_same(line) for line in earlier]
            new = [line for line in lines if _same(line) not in known]
            if os.name == "posix":
                os.fchmod(self._file.fileno(), 0o600)
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
            if kind is not None and issubclass(kind, Exception) and self._undo is not None:
                with contextlib.suppress(OSError):
                    self._file.truncate(self._undo)
            self._file.close()  # and unlocks it

    def _told(self, claim: LedgerColumn, changed: Changed) -> None:
        """Refuse changed answers, or say what they tell if they are corrections."""
        bound = up(changed.reports * _ldp(claim.certified))  # under any prior
        leak = f"leak at most {bound} nats" if bound < math.inf else "can leak everything"
        tells = "reports that differ show that the answer changed, and "
        tells += f"{changed.reports} reports together {leak} about the answers"
        column = repr(claim.column if isinstance(claim.column, str) else tuple(claim.column))
        if not self.correction:
            raise KeyingError(
                f"column {column} must hold the answers that it had",
                given=f"other answers of {changed}",
                remedy="if it is another question, give its column another name; if answers were corrected, use "
                f"`correction=True`: {tells}",
            )
        self.notes.append(f"Column {column} has other answers of {changed}: {tells}.")

    def _line(self, claim: int, people: People) -> dict[str, Any]:
        sample = people.sample
        return {
            "ledger": VERSION,
            "day": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "key": fingerprint(self.key),
            "column": self.claims[claim].column,
            "occasion": self.occasion,
            "digest": self.claims[claim].certified.digest,
            "people": people.count,
            "ids": people.digest,
            "answers": people.answered(claim),
            "sample": _encoded(sample[0]),
            "sample_answers": _encoded(sample[1 + claim]),
        }


def _encoded(hashes: Integers) -> str:
    return base64.b64encode(hashes.astype("<u8").tobytes()).decode()


def ledger_path(ledger: Any, key: bytes | None, correction: bool = False) -> str | None:
    """The name of the ledger, which only keyed releases have."""
    if ledger is None:
        if correction:
            raise KeyingError(
                "must come with a ledger",
                parameter="correction",
                given="it alone: nothing knows the answers before",
                remedy="give `ledger=path` as well",
            )
        return None
    if key is None:
        raise KeyingError(
            "a ledger must come with a key",
            given="a ledger alone",
            remedy="give `keyed=ex.Keyed(key, ids)` as well",
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
            entries.append(_entry(parse_json(line)))
        except (ValueError, KeyError, TypeError):
            raise _damaged(path, number) from None
    return entries, len(whole)


def _entry(line: Any) -> dict[str, Any]:
    """What a line holds, if it is of the kinds that this module writes; what is left out would be forgotten."""
    version, column, occasion = line["ledger"], line["column"], line["occasion"]
    answers = ["answers"] if version == VERSION else []
    together = isinstance(column, list) and len(column) > 1 and all(isinstance(name, str) for name in column)
    samples = {
        name: np.frombuffer(base64.b64decode(line[name], validate=True), "<u8").astype(np.uint64)
        for name in ["sample", *(f"sample_{name}" for name in answers)]
    }
    if (
        type(version) is not int
        or version not in (WITHOUT_ANSWERS, VERSION)
        or not all(isinstance(line[name], str) for name in ("day", "key", "digest", "ids", *answers))
        or not (isinstance(column, str) or together)
        or not (occasion is None or type(occasion) in (int, str))
        or len({len(sample) for sample in samples.values()}) > 1
    ):
        raise ValueError("another kind of entry")
    return {**line, **samples}


def _damaged(path: str, line: int) -> KeyingError:
    return KeyingError(
        "must hold one entry a line",
        parameter="ledger",
        given=f"something else in line {line} of {path}",
        remedy="restore it, or choose another with `ledger=path`",
    )


def _names(line: dict[str, Any]) -> set[str]:
    """The columns of a release; names that differ in case, blanks, invisible marks or the form of a letter are one."""
    names = [line["column"]] if isinstance(line["column"], str) else line["column"]
    return set(map(_plain, names))


def _plain(name: str) -> str:
    """A name as people read it: a byte order mark, say, is part of it in one file and not in the other."""
    text = INVISIBLE.sub("", unicodedata.normalize("NFKC", name))
    seen = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(seen.split()).casefold()


def _draw(line: dict[str, Any]) -> tuple[Any, ...]:
    """What makes the reports repeat themselves."""
    column = line["column"]
    return column if isinstance(column, str) else tuple(column), line["digest"], line["occasion"]


def _same(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["key"], _draw(line), line["ids"], line.get("answers")


@dataclass(frozen=True)
class Changed:
    """How many people of how many have other answers than on some day before, and how many reports they have now."""

    people: int
    shared: int
    day: str
    reports: int

    def __str__(self) -> str:
        some = f"{self.people} of the {self.shared} people" if self.people else "some people"
        return f"{some} who are in the release of {self.day}, too"


def _changed(
    line: dict[str, Any], earlier: list[dict[str, Any]], sample: Integers, answers: Integers
) -> Changed | None:
    """Who has another answer now than in all releases before that would have drawn the same; None for nobody."""
    alike = [
        old
        for old in earlier
        if old["ledger"] == VERSION and old["key"] == line["key"] and _draw(old) == _draw(line)
    ]
    seen, repeated = np.zeros(len(sample), dtype=bool), np.zeros(len(sample), dtype=bool)
    for old in alike:
        _, here, there = np.intersect1d(sample, old["sample"], return_indices=True)
        seen[here] = True
        repeated[here] |= answers[here] == old["sample_answers"][there]
    changed = seen & ~repeated
    if changed.any():
        others = [old for old in alike if np.isin(sample[changed], old["sample"]).any()]
    else:  # of more people than the sample holds, the same ones with other answers
        others = [old for old in alike if old["ids"] == line["ids"]]
        if line["answers"] in [old["answers"] for old in others]:
            others = []
    if not others:
        return None
    reports = 1 + len({old["answers"] for old in others})
    return Changed(int(changed.sum()), int(seen.sum()), others[-1]["day"], reports)


def _refuse_second(
    claim: LedgerColumn, line: dict[str, Any], earlier: list[dict[str, Any]], sample: Integers
) -> None:
    """Refuse a release of a column of which someone has another report."""
    found = [
        old
        for old in earlier
        if old["key"] == line["key"]
        and _names(old) & _names(line)
        and _draw(old) != _draw(line)
        and np.isin(old["sample"], sample).any()
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
        f"{line['people']} people have a report of {old['day']} under {other}",
        remedy=(
            f"{_together(claim.certified, len(found) + 1, known)}; repeat that release to "
            "get the same reports, name another question's column otherwise, or accept a second report: `ledger=None`"
        ),
    )


def _together(certified: Certified | Windows, reports: int, known: bool) -> str:
    """What the reports leak together, as far as the mechanism in hand tells."""
    priors = certified.prior if isinstance(certified, Windows) else certified.prior_set or certified.prior
    everything = math.inf if priors is None else up(priors.epsilon_max)
    if not known:
        most = f"is at most {everything} nats, which is" if everything < math.inf else "can be"
        return (
            f"what both leak together cannot be computed without the earlier mechanism, and {most} everything"
        )
    bound = min(up(_leakage(certified, reports)), everything)
    return f"{reports} reports together leak at most {bound} nats under its prior, one at most {up(certified.epsilon)}"


def _leakage(certified: Certified | Windows, reports: int) -> float:
    """What independent reports of one answer leak: of two exactly, if their matrix is not too large.

    Else a bound without looking at the reports jointly: the first leaks epsilon, each other its LDP level.
    """
    if isinstance(certified, Certified) and reports == 2:
        n, m = certified.weights.shape
        if n * m * m <= LARGEST_JOINT:
            one = certified.between
            return epsilon_pml(certified.prior_set or certified.prior_between, one.compose(one))
    return certified.epsilon + (reports - 1) * _ldp(certified)


def _ldp(certified: Certified | Windows) -> float:
    return certified.ldp_epsilon if isinstance(certified, Windows) else ldp_epsilon(certified.between)


def up(nats: float) -> float:
    """Two digits after the point, rounded up: a bound that is printed must hold."""
    return math.ceil(nats * 100 - 1e-9) / 100 if math.isfinite(nats) else nats
