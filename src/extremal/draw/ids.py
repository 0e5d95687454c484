"""The ids of records, as keyed draws take them: one block of 16 bytes each, the same in every container.

Integers, and text made of an optional sign and ASCII digits, are integers; other text is text; bytes are bytes.
"""

from __future__ import annotations

import hashlib
import re
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from ..errors import KeyingError
from .columns import shown
from .sampler import Integers
from .texts import LETTERED, OTHER, Places, Texts

# The last byte of an id's block: ids of different types are different blocks.
INTEGER, TEXT, BYTES, LARGE = 0, 1, 2, 3
LONGEST_INTEGER = 600  # digits: Python reads no longer ones in every configuration
KINDS = "must be integers, text or bytes"
WRITTEN_INTEGER = re.compile(r"[+-]?[0-9]+")
WRITTEN_FRACTION = re.compile(
    r"\s*[+-]?[0-9]+\.0+\s*"
)  # of an integer, as tables with missing integers are written

REMEDY = (
    "a second report tells more than one; give every record an id of its own, and every wave an occasion "
    "of its own: `occasion=2`"
)


def id_blocks(ids: Any, count: int) -> Integers:
    """The 16-byte block of every record id, as (count, 2) little-endian 64-bit words.

    One rule for every container (docs/api/formats.md): integers, and text made of an optional sign and ASCII
    digits, are integers; other text is text; bytes are bytes; anything else names no record and is refused.
    """
    column = _as_column(ids)
    checks.length(column, "ids", count, "record", error=KeyingError)
    if isinstance(column, np.ndarray):
        return _integer_blocks(column)
    if isinstance(column, list):
        if set(map(type, column)) != {str}:
            return _blocks_one_by_one(column)
        try:
            column = Texts.of(column)
        except UnicodeEncodeError:  # some text is none that UTF-8 can hold
            return _blocks_one_by_one(column)
    return _text_blocks(column)


def distinct_blocks(ids: Any, count: int) -> Integers:
    """The blocks of a whole column of ids, which must be distinct."""
    blocks = id_blocks(ids, count)
    check_distinct(blocks, ids)
    return blocks


def id_block(record: Any) -> bytes:
    """The 16-byte block of one id."""
    if isinstance(record, np.generic):
        record = record.item()
    if isinstance(record, int | str) and not isinstance(record, bool) and record != "":
        number = written_integer(record, "ids")
        if isinstance(record, str) and WRITTEN_FRACTION.fullmatch(record):
            raise _refused(
                "must not be whole numbers that are written as fractions",
                f"{record[:60]!r}: some readers make the number of it, others take it for text",
                "write the number without its point, or a letter before it",
            )
        if number is None:
            return hashlib.sha256(utf8(record, "ids")).digest()[:15] + bytes([TEXT])
        try:
            return number.to_bytes(15, "little", signed=True) + bytes([INTEGER])
        except OverflowError:
            return hashlib.sha256(b"%d" % number).digest()[:15] + bytes([LARGE])
    if isinstance(record, bytes) and record:
        return hashlib.sha256(record).digest()[:15] + bytes([BYTES])
    given = f"{repr(record)[:60]} of type {type(record).__name__}"
    raise _refused(KINDS, given, "an id that is missing, empty or a fraction names no record")


def _refused(problem: str, given: str, remedy: str) -> KeyingError:
    return KeyingError(problem, parameter="ids", given=given, remedy=remedy)


def check_distinct(blocks: Integers, ids: Any) -> None:
    """Refuse ids that occur twice; "007" and 7 are one id."""
    first, second = blocks[:, 0], blocks[:, 1]
    if np.all(first[1:] > first[:-1]):  # already in order, as row numbers are
        return
    ordered = np.sort(first)
    if np.all(ordered[1:] != ordered[:-1]):
        return
    order = np.lexsort((first, second))
    first, second = first[order], second[order]
    same = np.flatnonzero((first[1:] == first[:-1]) & (second[1:] == second[:-1]))
    if len(same):
        column = list(_as_column(ids))
        twice = sorted({int(order[i + k]) for i in same[:3] for k in (0, 1)})
        values = dict.fromkeys(shown(column[i]) for i in twice)
        raise _refused("must be distinct", f"{', '.join(values)} more than once", REMEDY)


def written_integer(value: int | str, what: str) -> int | None:
    """The integer that an id or occasion is or is written as; None for other text."""
    if isinstance(value, str):
        if not WRITTEN_INTEGER.fullmatch(value):
            if WRITTEN_INTEGER.fullmatch(value.strip()):
                raise KeyingError(
                    f"{what} must not have spaces around a number",
                    given=f"{value[:60]!r}: some readers drop them, others take it for text",
                    remedy="remove them",
                )
            return None
        if len(value) <= LONGEST_INTEGER:
            return int(value)
    elif abs(value) < 10**LONGEST_INTEGER:
        return int(value)
    problem = f"{what} must have at most {LONGEST_INTEGER} digits"
    raise KeyingError(problem, given="a longer number", remedy="shorten it")


def _blocks_one_by_one(column: list[Any]) -> Integers:
    return np.frombuffer(b"".join(map(id_block, column)), dtype="<u8").reshape(len(column), 2)


def _integer_blocks(numbers: NDArray[Any]) -> Integers:
    """120 bits of two's complement, then the byte of the type, which is 0."""
    blocks = np.zeros((len(numbers), 2), dtype="<u8")
    if numbers.dtype.kind == "u":
        blocks[:, 0] = numbers
    else:
        blocks[:, 0] = numbers.astype(np.int64).view(np.uint64)
        blocks[numbers < 0, 1] = (1 << 56) - 1
    return blocks


def _text_blocks(texts: Texts) -> Integers:
    """The blocks of texts: short integers all at once, others by what they can be."""
    numbers, kinds = texts.integers()
    blocks = _integer_blocks(numbers)
    lettered, other = kinds == LETTERED, kinds == OTHER  # letters are in no integer, not even with spaces
    sha256, end = hashlib.sha256, bytes([TEXT])
    words = b"".join([sha256(piece).digest()[:15] + end for piece in texts[lettered].pieces()])
    blocks[lettered] = np.frombuffer(words, dtype="<u8").reshape(-1, 2)
    blocks[other] = _blocks_one_by_one(list(texts[other]))
    return blocks


def utf8(text: Any, what: str) -> bytes:
    """The text as UTF-8, if it can be; `what` is what it is called."""
    try:
        return bytes(text.encode())
    except UnicodeEncodeError:
        raise KeyingError(
            f"{what} must be text that UTF-8 can hold",
            given=f"{text[:60]!a}: a lone surrogate is half a character",
        ) from None


def _as_column(ids: Any) -> Any:
    """An integer array, texts, or a list of Python values."""
    if isinstance(ids, str | bytes) or not hasattr(ids, "__iter__"):
        raise _refused("must be a column with one id for each record", type(ids).__name__, "give a list")
    if isinstance(ids, range):
        return np.arange(ids.start, ids.stop, ids.step)
    if isinstance(ids, Texts):
        return ids
    pyarrow = sys.modules.get("pyarrow")  # its arrays come from a program that has imported it
    if pyarrow and isinstance(ids, pyarrow.Array | pyarrow.ChunkedArray):
        texts = _texts_of_arrow(ids, pyarrow)
        if texts is not None:
            return texts
    if not hasattr(ids, "__array__"):
        return list(ids)
    if np.ma.is_masked(ids):
        raise _refused("must not be missing", "a masked array", "every record needs an id")
    try:
        array = np.asarray(ids)  # numpy, pandas, polars, arrow
    except Exception:  # a type of theirs that numpy lacks; whichever error their library raises
        return list(ids)
    if array.ndim != 1 or array.dtype.kind not in "iuOUST":
        remedy = "integers with missing ones among them become fractions: every record needs an id"
        raise _refused(KINDS, f"{array.dtype} of shape {array.shape}", remedy)
    return array if array.dtype.kind in "iu" else list(array.tolist())


def _texts_of_arrow(ids: Any, pyarrow: Any) -> Texts | None:
    """The texts of an arrow column of text without gaps; nothing is copied."""
    whole = ids.combine_chunks() if isinstance(ids, pyarrow.ChunkedArray) else ids
    of = pyarrow.types
    if whole.null_count or not (of.is_string(whole.type) or of.is_large_string(whole.type)):
        return None
    if not len(whole):
        return Texts.of([])
    _, offsets, block = whole.buffers()
    width = np.int32 if of.is_string(whole.type) else np.int64
    edges: Places = np.frombuffer(offsets, dtype=width).astype(np.int64)
    edges = edges[whole.offset : whole.offset + len(whole) + 1]
    return Texts(b"" if block is None else memoryview(block), edges[:-1], edges[1:])
