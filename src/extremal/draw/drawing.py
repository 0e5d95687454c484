"""One report a record: of which columns, by which mechanism, with which words.

Everything that the guarantee rests on stands here, once: fresh words for every column and every batch, or words from
the key, the name of the column, the id and the answer; nothing drawn from a value that is no label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import KeyingError, ValuesError
from . import self_check
from .alphabet import Alphabet
from .columns import Array, Column, Kept, Rows, label_rows, shown
from .keys import Columns, check_given_name, check_key, check_occasion, draw_key, keyed_words
from .product import Product
from .sampler import Fill, Integers, Sampler, SecureWords, Words

Read = Callable[[Alphabet, Any], Column]
"""read(alphabet, name) gives the column of this name, which has these labels, as codes."""


@dataclass(frozen=True, eq=False)
class Release:
    """One report a record: of one column, or of several columns as one symbol."""

    names: tuple[Any, ...]
    sampler: Sampler
    product: Product | None = None
    instead: int | None = None  # the row of values that have none

    @property
    def keyed_name(self) -> Columns:
        """The name that enters keyed draws; of several columns the tuple of their names."""
        return check_given_name(self.names[0] if self.product is None else self.names)

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
        if blocks is None:
            raise KeyingError(
                "a keyed draw must have ids",
                given="none",
            )
        column = release.keyed_name if self.column is None else self.column
        subkey = draw_key(self.key, self.occasion, column, release.sampler.digest)
        self_check.check_keyed_words(keyed_words)
        return keyed_words(subkey, blocks, codes, rows)


def choose_randomness(
    key: bytes | None, ids: Any, occasion: Any, source: Words | None, word: str = "ids"
) -> Randomness:
    """Keyed draws if there is a key and ids, else the source; `word` is what the caller calls ids."""
    if key is None and occasion is not None:
        raise KeyingError(
            "an occasion must come with a key",
            given="an occasion alone: without a key every draw is a new one",
            remedy="leave it out, or give `key=keys.read(path)` as well",
        )
    if key is None and ids is not None:
        raise KeyingError(
            "must come with a key",
            parameter=word,
            given="it alone",
            remedy="give `key=keys.read(path)` as well",
        )
    if source is not None and (isinstance(source, type) or not isinstance(source, Words)):
        raise ValuesError(
            "a source of random words must be SecureWords() or SeededWords(seed)",
            given=shown(source),
            remedy="leave it out for secure randomness",
        )
    if key is None:
        return Randomness() if source is None else Randomness(source=source)
    if ids is None:
        raise KeyingError(
            "a key must come with ids",
            given="a key alone",
            remedy=f"give `{word}=`",
        )
    if source is not None:
        raise KeyingError(
            "must come from a key or from a source",
            parameter="draws",
            given="both",
            remedy="leave one out",
        )
    return Randomness(check_key(key), occasion=check_occasion(occasion))
