"""What is released from a frame or a file, batch after batch: which columns, and what is refused.

Frames and files differ in how columns are read and written. What they share stands here: the same rows are dropped
from all columns, and a value that is no label refuses the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._common.words import shorten
from ..draw.alphabet import Alphabet
from ..draw.columns import Column, Kept, shown
from ..draw.drawing import Randomness, Read, Release
from ..draw.ids import check_distinct, id_blocks
from ..draw.product import Product
from ..draw.sampler import Integers
from ..errors import ValuesError
from ..model.labels import is_hashable, is_missing
from .certificate import Certificate, sampler_to_draw
from .ledger import Claim, Entry, ledger_path

MOST_NAMES = 200_000  # unknown values that are told apart
MOST_UNKNOWN = 1_000_000  # rows with unknown values after which a file is not read to its end


class Unknown:
    """What was found in a column that is no label."""

    def __init__(self) -> None:
        self.rows = 0
        self.missing = 0
        self.counts: Counter[str] = Counter()

    def add(self, values: Iterable[Any]) -> None:
        for value in values:
            self.rows += 1
            if is_missing(value):
                self.missing += 1
            else:
                name = shown(value)
                if name in self.counts or len(self.counts) < MOST_NAMES:
                    self.counts[name] += 1

    def __str__(self) -> str:
        shown = [f"{name} ({times})" for name, times in self.counts.most_common(5)]
        at_least = "at least " if len(self.counts) == MOST_NAMES else ""
        more = f"{at_least}{len(self.counts) - 5} more values"
        gaps = [f"missing ({self.missing})"] if self.missing else []
        return ", ".join([*shown, *([more] if len(self.counts) > 5 else []), *gaps])


class Drawn(NamedTuple):
    """The reports of a batch: columns by name, and which rows were kept."""

    columns: dict[Any, Any]
    kept: Kept


@dataclass(eq=False)
class Job:
    """Releases from batch after batch of records, and what is known about them so far."""

    releases: tuple[Release, ...]
    randomness: Randomness
    drop: bool
    rows: int = 0
    dropped: int = 0
    unknown: tuple[Unknown, ...] = ()
    given_up: bool = False
    alone: bool = False  # one column by itself, which messages need not name
    entry: Entry = field(default_factory=Entry)  # of the ledger; it counts people whose reports were drawn
    observe: Callable[[Sequence[Column], Kept], None] | None = None  # is shown what is drawn from

    @property
    def private(self) -> list[Any]:
        """The names of the columns that are replaced by reports."""
        return [name for release in self.releases for name in release.names]

    @property
    def parts(self) -> dict[Any, Alphabet]:
        """The labels of each of these columns."""
        named: dict[Any, Alphabet] = {}
        for release in self.releases:
            parts = (release.sampler.alphabet,) if release.product is None else release.product.parts
            named.update(zip(release.names, parts, strict=True))
        return named

    def give_up(self) -> bool:
        """Whether so much is unknown that reading on serves nobody."""
        self.given_up = any(unknown.rows > MOST_UNKNOWN for unknown in self.unknown)
        return self.given_up

    def draw(self, read: Read, count: int, blocks: Integers | None = None) -> Drawn | None:
        """One draw a record in every release; None if something is refused, here or in an earlier batch."""
        columns = [release.column(read) for release in self.releases]
        self.rows += count
        kept: Kept = None
        if self.drop:
            known = np.logical_and.reduce(
                [release.known(column) for release, column in zip(self.releases, columns, strict=True)]
            )
            if not known.all():
                kept = known
                self.dropped += count - int(np.count_nonzero(known))
        if self.observe is not None:
            self.observe(columns, kept)
        reports: dict[Any, Any] = {}
        if blocks is not None and kept is not None:
            blocks = blocks[kept]
        for release, column in zip(self.releases, columns, strict=True):
            built = None if self.unknown else release.draw(column, self.randomness, blocks, kept)
            if built is None:
                self._refuse(columns)
                return None
            reports.update(zip(release.names, built, strict=True))
        if blocks is not None:
            self.entry.add(blocks, columns, kept)
        return Drawn(reports, kept)

    def check(self) -> None:
        """Refuse what was unknown, in one line for the first column that has any."""
        for release, unknown in zip(self.releases, self.unknown, strict=False):
            if unknown.rows:
                name = release.names[0] if release.product is None else release.names
                of, label = ("", "label") if self.alone else (f" of {name!r}", "{column: label}")
                seen = f"the first {self.rows}" if self.given_up else f"{self.rows}"
                raise ValuesError(
                    f"every value{of} must be one of the input labels {shorten(release.sampler.inputs)}",
                    given=f"others in {unknown.rows} of {seen} rows: {unknown}",
                    remedy=(
                        'correct them, drop their rows with `unknown="drop"`, or treat them '
                        f"as a label of the alphabet with `unknown_as={label}`"
                    ),
                )

    def _refuse(self, columns: Sequence[Column]) -> None:
        self.unknown = self.unknown or tuple(Unknown() for _ in self.releases)
        for release, column, unknown in zip(self.releases, columns, self.unknown, strict=True):
            unknown.add(column.values_at(np.flatnonzero(~release.known(column))))


def plan(
    mechanisms: Any,
    unknown: str,
    unknown_as: Any,
    randomness: Randomness,
    alone: bool = False,
    ledger: Any = None,
    correction: bool = False,
    allow_true_answers: bool = False,
) -> Job:
    """The job of releasing these columns, if it is a sensible one."""
    if not isinstance(mechanisms, Mapping) or not mechanisms:
        raise ValuesError(
            "must be given for at least one column, as {column: certified mechanism}",
            parameter="mechanisms",
            given=repr(mechanisms)[:60],
            remedy='e.g. {"answer": ex.certify(design)}',
        )
    if unknown not in ("refuse", "drop"):
        raise ValuesError(
            'must be "refuse" or "drop"',
            parameter="unknown",
            given=f"{unknown!r}",
        )
    instead = {} if unknown_as is None else unknown_as
    if not isinstance(instead, Mapping) or not instead.keys() <= mechanisms.keys():
        raise ValuesError(
            f"must give a label for columns among {list(mechanisms)}, as {{column: label}}",
            parameter="unknown_as",
            given=repr(unknown_as)[:60],
        )
    releases = tuple(
        _release(name, certified, instead, allow_true_answers) for name, certified in mechanisms.items()
    )
    twice = [name for name, times in Counter(n for r in releases for n in r.names).items() if times > 1]
    if twice:
        raise ValuesError(
            "a column must be released once",
            given=f"{twice} in several places: two draws of one value are two releases",
        )
    path = ledger_path(ledger, randomness.key, correction)
    entry = Entry()
    if randomness.key is not None and randomness.column is None:
        claims = [Claim(r.keyed_name, c) for r, c in zip(releases, mechanisms.values(), strict=True)]
        entry = Entry(path, randomness.key, randomness.occasion, claims, correction)
    return Job(releases, randomness, unknown == "drop", alone=alone, entry=entry)


def _release(
    name: Any, certified: Certificate, instead: Mapping[Any, Hashable], allow_true_answers: bool
) -> Release:
    sampler = sampler_to_draw(certified, allow_true_answers, name)
    row = None
    if name in instead:
        label = instead[name]
        if not is_hashable(label) or label not in sampler.row_of:
            of = f" for {name!r}" if name else ""
            raise ValuesError(
                f"must be one of the input labels {shorten(sampler.inputs)}",
                parameter="unknown_as",
                given=f"{shown(label)}{of}",
            )
        row = sampler.row_of[label]
    if not isinstance(name, tuple):
        return Release((name,), sampler, None, row)
    if len(name) < 2:
        raise ValuesError(
            "columns taken together must be at least 2",
            given=f"{name!r}",
            remedy="name a single one by itself",
        )
    return Release(name, sampler, Product.of(sampler, name), row)


def check_columns(job: Job, columns: Iterable[Any], what: str, ids: Any = None) -> None:
    """Refuse names that are not columns of the frame or file, and ids that are private."""
    present = list(columns)
    absent = [name for name in [*job.private, *([] if ids is None else [ids])] if name not in present]
    if absent:
        raise ValuesError(
            f"{what} must have the columns {absent}",
            given=shorten(present, 20),
            remedy="correct the name",
        )
    if ids is not None and ids in job.private:
        raise ValuesError(
            "the ids must stand in a column that stays as it is",
            given=f"{ids!r}, which is to be privatised",
        )


def record_blocks(ids: Any, count: int) -> Integers:
    """What keyed draws need of a whole column of ids, which must be distinct."""
    blocks = id_blocks(ids, count)
    check_distinct(blocks, ids)
    return blocks
