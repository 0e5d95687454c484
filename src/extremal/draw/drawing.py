"""One report a record: of which columns, by which mechanism, with which words; and what is refused.

Everything that the guarantee rests on stands here, once: fresh words for every column and every batch, or words from
the key, the name of the column, the id and the answer; nothing drawn from a value that is no label. Whatever holds the
records, the same ones are dropped from all columns, and a value that is no label refuses the whole.

Several columns can be one symbol: an alphabet of tuples, one column of it for each place in the tuple. Releasing them
together is one draw a record, so its leakage is that of one mechanism. Releasing them one by one is one draw a column.
If the columns depend on each other, what all the reports of a person leak about one column is then more than its own
report does, and is not bounded by the sum either (docs/audit.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from .._common.words import shorten
from ..errors import KeyingError, SizeError, ValuesError
from ..model.counting import Unknown
from ..model.labels import Labels, is_hashable
from . import kernel
from .columns import Alphabet, Array, Column, Kept, Rows, label_rows, shown, smallest_unsigned
from .kernel import Fill, Integers
from .keys import Columns, Keyed, check_given_name, draw_key, keyed_words
from .sampler import Sampler, SecureWords, Words

LARGEST_STEP = 1 << 26  # entries of a table that leads from the first columns to one more
MOST_UNKNOWN = 1_000_000  # rows with unknown values after which a file is not read to its end

Read = Callable[[Alphabet, Any], Column]
"""read(alphabet, name) gives the column of this name, which has these labels, as codes."""


@dataclass(frozen=True, eq=False)
class Product:
    """A mechanism on tuples, seen from the columns that its tuples are made of."""

    sampler: Sampler
    parts: tuple[Alphabet, ...]  # the labels of each column

    @classmethod
    def of(cls, sampler: Sampler, names: Sequence[Any]) -> Product:
        """The product of as many columns as there are names."""
        for what, labels in (("inputs", sampler.inputs), ("outputs", sampler.outputs)):
            wrong = [y for y in labels if not isinstance(y, tuple) or len(y) != len(names)]
            if wrong:
                raise ValuesError(
                    f"a mechanism for the columns {list(names)} must have {what} that are "
                    f"tuples of {len(names)} labels",
                    given=shorten(wrong, 3),
                    remedy="design it for these columns together, with `Prior.joint(...)`",
                )
        places = range(len(names))
        parts = (Alphabet(labels_at(sampler.inputs, k), labels_at(sampler.outputs, k)) for k in places)
        return cls(sampler, tuple(parts))

    @cached_property
    def steps(self) -> list[Rows]:
        """For each column a table: number of the tuple so far, and row of the next label -> number of both.

        Beginnings of labels are numbered in the order of the labels, so the number of a whole tuple is its
        row. The last number stands for what no label begins with.
        """
        steps = []
        numbers: dict[Any, int] = {(): 0}
        for k, part in enumerate(self.parts):
            longer: dict[Any, int] = {}
            for label in self.sampler.inputs:
                longer.setdefault(label[: k + 1], len(longer))  # type: ignore[index]
            width = len(part.inputs) + 1
            if (len(numbers) + 1) * width > LARGEST_STEP:
                raise SizeError(
                    f"columns taken together must have at most {LARGEST_STEP} combinations to look up",
                    given=(len(numbers) + 1) * width,
                    remedy="merge rare labels",
                )
            table = np.full((len(numbers) + 1) * width, len(longer), dtype=np.uint32)
            for label, number in longer.items():
                table[numbers[label[:-1]] * width + part.row_of[label[-1]]] = number
            steps.append(table)
            numbers = longer
        return steps

    @cached_property
    def places(self) -> list[NDArray[np.intp]]:
        """For each column the number of its label in every outcome."""
        found = []
        for k, part in enumerate(self.parts):
            number = {label: j for j, label in enumerate(part.outputs)}
            found.append(np.array([number[y[k]] for y in self.sampler.outputs], dtype=np.intp))  # type: ignore[index]
        return found

    def column(self, columns: Sequence[Column]) -> Column:
        """The columns as one; what is built from its outcomes is a tuple of columns."""
        so_far = np.zeros(len(columns[0].codes), dtype=np.uint32)
        for part, step, column in zip(self.parts, self.steps, columns, strict=True):
            width = len(part.inputs) + 1
            so_far = step[so_far.astype(np.intp) * width + label_rows(column.codes, column.rows)]

        def rebuild(drawn: Array, kept: Kept) -> Any:
            return tuple(
                column.rebuild(place.astype(column.outcomes)[drawn], kept)
                for place, column in zip(self.places, columns, strict=True)
            )

        return Column(
            so_far,
            np.arange(len(self.sampler.inputs) + 1, dtype=np.uint32),
            lambda where: zip(*(column.values_at(where) for column in columns), strict=True),
            rebuild,
            smallest_unsigned(len(self.sampler.outputs)),
        )


def labels_at(labels: Labels, k: int) -> Labels:
    """The different labels at one place of tuples."""
    return tuple(dict.fromkeys(label[k] for label in labels))  # type: ignore[index]


@dataclass(frozen=True, eq=False)
class Release:
    """One report a record: of one column, or of several columns as one symbol."""

    names: tuple[Any, ...]
    sampler: Sampler
    product: Product | None = None
    instead: int | None = None  # the row of values that have none

    @classmethod
    def of(cls, name: Any, sampler: Sampler) -> Release:
        """The release of a column by its name, or of several as one symbol by the tuple of their names."""
        if not isinstance(name, tuple):
            return cls((name,), sampler)
        if len(name) < 2:
            raise ValuesError(
                "columns taken together must be at least 2",
                given=f"{name!r}",
                remedy="name a single one by itself",
            )
        return cls(name, sampler, Product.of(sampler, name))

    def with_unknown_as(self, label: Any) -> Release:
        """The same, where values that are no label count as this one."""
        row_of = self.sampler.alphabet.row_of
        if not is_hashable(label) or label not in row_of:
            of = f" for {self.name!r}" if self.name else ""
            raise ValuesError(
                f"must be one of the input labels {shorten(self.sampler.inputs)}",
                parameter="unknown_as",
                given=f"{shown(label)}{of}",
            )
        return replace(self, instead=row_of[label])

    @property
    def name(self) -> Any:
        """The name of the column, or the tuple of those of several."""
        return self.names[0] if self.product is None else self.names

    @property
    def keyed_name(self) -> Columns:
        """The name that enters keyed draws; of several columns the tuple of their names."""
        return check_given_name(self.name)

    def column(self, read: Read) -> Column:
        if self.product is None:
            column = read(self.sampler.alphabet, self.names[0])
        else:
            parts = zip(self.product.parts, self.names, strict=True)
            column = self.product.column([read(part, name) for part, name in parts])
        if self.instead is None:
            return column
        nobody = len(self.sampler.inputs)
        return replace(column, rows=np.where(column.rows == nobody, np.uint32(self.instead), column.rows))

    def known(self, column: Column) -> Any:
        """Which records have a row."""
        return label_rows(column.codes, column.rows) != len(self.sampler.inputs)

    def draw(
        self, column: Column, randomness: Randomness, blocks: Integers | None, kept: Kept
    ) -> tuple[Any, ...] | None:
        """The columns of the reports, or None if some record has no row; `blocks` are of the records kept."""
        codes = np.ascontiguousarray(column.codes if kept is None else column.codes[kept])
        outcomes = np.empty(len(codes), dtype=column.outcomes)
        fill = randomness.fill(self, blocks, codes, column.rows)
        if not self.sampler.draw(codes, column.rows, fill, outcomes):
            return None
        built = column.rebuild(outcomes, kept)
        return (built,) if self.product is None else built


@dataclass(frozen=True, eq=False)
class Randomness:
    """Where words come from: a secret key and the ids of the records, or a source."""

    key: bytes | None = field(default=None, repr=False)
    source: Words = field(default_factory=SecureWords)
    occasion: int | str | None = None
    column: Columns | None = None  # what a column by itself is called; others have their own names

    @property
    def note(self) -> str | None:
        """What must be said of reports that are not private."""
        return None if self.key is not None or isinstance(self.source, SecureWords) else self.source.note

    def fill(self, release: Release, blocks: Integers | None, codes: Array, rows: Rows) -> Fill:
        if self.key is None:
            return self.source.stream(len(codes))
        named = self if self.column is not None else replace(self, column=release.keyed_name)
        return named.keyed(release.sampler.digest, blocks, codes, rows)

    def keyed(self, digest: bytes, blocks: Integers | None, codes: Array, rows: Rows | None) -> Fill:
        """The words of a key, for a column that has a name."""
        if self.key is None or self.column is None or blocks is None:
            raise KeyingError("a keyed draw must have ids and a column", given="none")
        kernel.check_keyed_words(keyed_words)
        return keyed_words(draw_key(self.key, self.occasion, self.column, digest), blocks, codes, rows)


def choose_randomness(keyed: Keyed | None, source: Words | None) -> Randomness:
    """Keyed draws if there is a key, else the source, and without one secure words."""
    if source is not None and (isinstance(source, type) or not isinstance(source, Words)):
        raise ValuesError(
            "a source of random words must be SecureWords() or SeededWords(seed)",
            given=shown(source),
            remedy="leave it out for secure randomness",
        )
    if keyed is None:
        return Randomness() if source is None else Randomness(source=source)
    remedy = "e.g. `keyed=ex.Keyed(key, ids)`"
    checks.instance(keyed, "keyed", Keyed, "a Keyed", remedy=remedy, error=KeyingError)
    if source is not None:
        raise KeyingError(
            "must come from a key or from a source", parameter="draws", given="both", remedy="leave one out"
        )
    return Randomness(keyed.secret, occasion=keyed.occasion)


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
    observe: Callable[[Sequence[Column], Kept], None] | None = None  # is shown what is drawn from
    record: Callable[[Integers, Sequence[Column], Kept], None] | None = (
        None  # and the people who have reports of it
    )

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
                self.look(columns)
        if self.observe is not None:
            self.observe(columns, kept)
        reports: dict[Any, Any] = {}
        if blocks is not None and kept is not None:
            blocks = blocks[kept]
        for release, column in zip(self.releases, columns, strict=True):
            refused = self.unknown and not self.drop
            built = None if refused else release.draw(column, self.randomness, blocks, kept)
            if built is None:
                self.look(columns)
                return None
            reports.update(zip(release.names, built, strict=True))
        if blocks is not None and self.record is not None:
            self.record(blocks, columns, kept)
        return Drawn(reports, kept)

    def check(self) -> None:
        """Refuse what was unknown, in one line for the first column that has any."""
        for release, unknown in zip(self.releases, self.unknown, strict=False):
            if unknown.rows and not self.drop:
                of, label = ("", "label") if self.alone else (f" of {release.name!r}", "{column: label}")
                seen = f"the first {self.rows}" if self.given_up else f"{self.rows}"
                raise ValuesError(
                    f"every value{of} must be one of the input labels {shorten(release.sampler.inputs)}",
                    given=unknown.among(seen),
                    remedy=(
                        'correct them, drop their rows with `unknown="drop"`, or treat them '
                        f"as a label of the alphabet with `unknown_as={label}`"
                        if unknown.rows < self.rows
                        else "is it the right column, and are they no reports yet?"
                    ),
                )

    def look(self, columns: Sequence[Column]) -> None:
        """Count what is no label in the records that were read last."""
        self.unknown = self.unknown or tuple(Unknown(release.sampler.inputs) for release in self.releases)
        for release, column, unknown in zip(self.releases, columns, self.unknown, strict=True):
            where = np.flatnonzero(~release.known(column))
            if len(where) and unknown.first is None:
                unknown.first = self.rows - len(column.codes) + int(where[0]) + 1
            for value in column.values_at(where):
                unknown.add(value)


def check_releases(releases: Sequence[Release]) -> None:
    """Refuse a column in two places: two draws of one value are two releases."""
    times = Counter(name for release in releases for name in release.names)
    twice = [name for name, count in times.items() if count > 1]
    if twice:
        raise ValuesError(
            "a column must be released once",
            given=f"{twice} in several places: two draws of one value are two releases",
        )


def drops(unknown: str) -> bool:
    """Whether records with a value that is no label are left out, and not refused."""
    return checks.choice(unknown, "unknown", ("refuse", "drop"), error=ValuesError) == "drop"
