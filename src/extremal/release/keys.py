"""Keyed draws: the word of a record is a function of key, occasion, column, mechanism, id and answer.

Running a job again, a retried task or a second action then repeats the report instead of releasing a second
one. The function is HMAC-SHA256 and AES-256 (docs/file-format.md): without the key its words cannot be told
from random ones; with the key the noise can be removed, so the key is as secret as the data.

Each argument is there because leaving it out leaks. Without the column two questions share one noise, and
wherever their reports differ both are true. Without the answer the same happens to a corrected answer.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import string
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import file_name, open_file, reason, sync_folder
from ..errors import KeyingError
from .columns import Array, Rows, label_rows, shown
from .sampler import Fill, Integers
from .texts import LETTERED, OTHER, Places, Texts

KEY_BYTES = 32
PURPOSE = b"extremal-keyed-draw-2\0"

# The last byte of an id's block: ids of different types are different blocks.
INTEGER, TEXT, BYTES, LARGE = 0, 1, 2, 3
LONGEST_INTEGER = 600  # digits: Python reads no longer ones in every configuration
WRITTEN_INTEGER = re.compile(r"[+-]?[0-9]+")

Columns = str | tuple[str, ...]
"""The column that a report is of, or the columns that are released together as one symbol."""


def check_key(key: Any) -> bytes:
    """The key, if it is 32 bytes that can be random; no message ever shows any of it."""
    if not isinstance(key, bytes | bytearray | memoryview):
        raise KeyingError(
            f"must be {KEY_BYTES} bytes",
            parameter="key",
            given=f"a {type(key).__name__}",
            remedy="read one with `read_key(path)`",
        )
    secret = bytes(key)
    if len(secret) != KEY_BYTES:
        raise KeyingError(
            f"must be {KEY_BYTES} bytes",
            parameter="key",
            given=len(secret),
            remedy="make one with `write_key(path)`",
        )
    # A random key is one of these with a chance below 1e-13.
    if len(set(secret)) == 1:
        raise KeyingError(
            "must be random",
            parameter="key",
            given="the same byte 32 times",
            remedy="make one with `write_key(path)`",
        )
    if set(secret) <= set(string.printable.encode()):
        raise KeyingError(
            "must be random",
            parameter="key",
            given="32 characters of text, which can be guessed",
            remedy="make one with `write_key(path)`",
        )
    return secret


def write_key(path: str | os.PathLike[str]) -> bytes:
    """A fresh secret key, also in a new file that only its owner can read: 64 hexadecimal digits."""
    key = os.urandom(KEY_BYTES)
    name = file_name(path, "key file", KeyingError)
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(key.hex() + "\n")
                file.flush()
                os.fsync(file.fileno())  # reports that are out must not outlive the key in a power failure
            sync_folder(os.path.dirname(name))
        except OSError:
            os.unlink(name)  # half a key is none
            raise
    except FileExistsError:
        raise KeyingError(
            f"a key file is never overwritten, and there is one: {name}",
            remedy="use it, or choose another name",
        ) from None
    except OSError as error:
        raise KeyingError(
            "key file must be one that can be written",
            given=f"{name}: {reason(error)}",
            remedy="choose a name in a folder that exists and is yours",
        ) from None
    return key


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file of 64 hexadecimal digits or 32 raw bytes that nobody but its owner can read."""
    name = file_name(path, "key file", KeyingError)
    try:
        with open_file(name) as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and mode & 0o077:
                raise KeyingError(
                    "key file must be readable by its owner alone",
                    given=f"permissions {mode & 511:03o}",
                    remedy=f"run: chmod 600 {name}",
                )
            content = file.read(KEY_BYTES * 4)
    except OSError as error:
        raise KeyingError(
            "key file must be one that can be read",
            given=f"{name}: {reason(error)}",
            remedy="make one with `write_key(path)`",
        ) from None
    if len(content) == KEY_BYTES:
        return check_key(content)
    try:
        key = bytes.fromhex(content.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise KeyingError(
            f"key file must hold {KEY_BYTES} raw bytes or {2 * KEY_BYTES} hexadecimal digits",
            given=f"{len(content)} other bytes: {name}",
            remedy="make one with `write_key(path)`",
        )
    return check_key(key)


def check_columns_name(column: Any) -> Columns:
    """The name, if it is a non-empty text; of columns released together a tuple of at least two of them."""
    names = column if isinstance(column, tuple) else (column,)
    if isinstance(column, tuple) and len(column) < 2:
        raise KeyingError(
            "columns taken together must be at least 2",
            given=f"{column!r}",
            remedy="name a single one by itself",
        )
    for name in names:
        if not isinstance(name, str) or not name:
            raise KeyingError(
                "a keyed draw needs the name of its column, a non-empty text",
                given=f"{shown(name)}: under one name two questions would share their noise",
                remedy='give column="..."',
            )
        _utf8(name, "column")
    return tuple(names) if isinstance(column, tuple) else names[0]


def check_occasion(occasion: Any) -> int | str | None:
    """The occasion as it enters draws: none, an integer, or text that is not written like an integer."""
    if occasion is None:
        return None
    plain = occasion.item() if isinstance(occasion, np.generic) else occasion
    if isinstance(plain, bool) or not isinstance(plain, int | str) or plain == "":
        raise KeyingError(
            "must be text or an integer",
            parameter="occasion",
            given=shown(occasion),
            remedy="e.g. a wave: `occasion=2`",
        )
    number = _integer(plain, "occasion")
    if number is not None:
        return number
    _utf8(str(plain), "occasion")
    return str(plain)


def draw_key(key: bytes, occasion: int | str | None, column: Columns, digest: bytes) -> bytes:
    """The secret of one column, occasion and mechanism: HMAC-SHA256 of these fields, each with its length."""
    when = check_occasion(occasion)
    name = check_columns_name(column)
    fields = [
        b"" if when is None else b"text " + when.encode() if isinstance(when, str) else b"integer %d" % when,
        digest,
        *(
            [b"columns", *(n.encode() for n in name)]
            if isinstance(name, tuple)
            else [b"column", name.encode()]
        ),
    ]
    message = PURPOSE + b"".join(len(field).to_bytes(8, "little") + field for field in fields)
    return hmac.new(check_key(key), message, hashlib.sha256).digest()


def keyed_words(subkey: bytes, blocks: Integers, codes: Array, rows: Rows) -> Fill:
    """The words of records with these id blocks and codes; `rows` gives the input row of each code.

    word = the first 8 bytes, little-endian, of AES(AES(id block) xor row block), AES-256 under the subkey:
    CBC-MAC, which for messages of one length is a pseudo-random function if AES is.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    # ECB is the plain block function.
    cipher = Cipher(algorithms.AES(subkey), modes.ECB())

    def fill(start: int, out: Integers) -> None:
        count = len(out)
        part = np.ascontiguousarray(blocks[start : start + count])
        chain = np.empty(2 * count + 2, dtype="<u8")  # the library wants room for one more block
        encryptor = cipher.encryptor()
        encryptor.update_into(part.view(np.uint8).reshape(-1).data, chain.view(np.uint8).data)
        chain[: 2 * count : 2] ^= label_rows(codes[start : start + count], rows)
        encryptor.update_into(chain[: 2 * count].view(np.uint8).data, chain.view(np.uint8).data)  # in place
        out[:] = chain[: 2 * count : 2]

    return fill


def id_blocks(ids: Any, count: int) -> Integers:
    """The 16-byte block of every record id, as (count, 2) little-endian 64-bit words.

    One rule for every container (docs/file-format.md): integers, and text made of an optional sign and ASCII
    digits, are integers; other text is text; bytes are bytes; anything else names no record and is refused.
    """
    column = _as_column(ids)
    if len(column) != count:
        raise KeyingError(
            f"must be one for each of the {count} records",
            parameter="ids",
            given=len(column),
        )
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


def id_block(record: Any) -> bytes:
    """The 16-byte block of one id."""
    if isinstance(record, np.generic):
        record = record.item()
    if isinstance(record, int | str) and not isinstance(record, bool) and record != "":
        number = _integer(record, "ids")
        if number is None:
            return hashlib.sha256(_utf8(record, "ids")).digest()[:15] + bytes([TEXT])
        try:
            return number.to_bytes(15, "little", signed=True) + bytes([INTEGER])
        except OverflowError:
            return hashlib.sha256(b"%d" % number).digest()[:15] + bytes([LARGE])
    if isinstance(record, bytes) and record:
        return hashlib.sha256(record).digest()[:15] + bytes([BYTES])
    raise KeyingError(
        "must be integers, text or bytes",
        parameter="ids",
        given=f"{repr(record)[:60]} of type {type(record).__name__}",
        remedy="an id that is missing, empty or a fraction names no record",
    )


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
        raise KeyingError(
            "must be distinct",
            parameter="ids",
            given=f"{', '.join(values)} more than once",
            remedy=REMEDY,
        )


REMEDY = (
    "a second report tells more than one; give every record an id of its own, and every wave an occasion "
    "of its own: `occasion=2`"
)


def _integer(value: int | str, what: str) -> int | None:
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
    raise KeyingError(
        f"{what} must have at most {LONGEST_INTEGER} digits",
        given="a longer number",
        remedy="shorten it",
    )


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
    lettered, other = (
        kinds == LETTERED,
        kinds == OTHER,
    )  # one with letters is no integer, not even with spaces
    sha256, end = hashlib.sha256, bytes([TEXT])
    words = b"".join([sha256(piece).digest()[:15] + end for piece in texts[lettered].pieces()])
    blocks[lettered] = np.frombuffer(words, dtype="<u8").reshape(-1, 2)
    blocks[other] = _blocks_one_by_one(list(texts[other]))
    return blocks


def _utf8(text: Any, what: str) -> bytes:
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
        raise KeyingError(
            "must be a column with one id for each record",
            parameter="ids",
            given=type(ids).__name__,
            remedy="give a list",
        )
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
        raise KeyingError(
            "must not be missing",
            parameter="ids",
            given="a masked array",
            remedy="every record needs an id",
        )
    try:
        array = np.asarray(ids)  # numpy, pandas, polars, arrow
    except Exception:  # a type of theirs that numpy lacks; whichever error their library raises
        return list(ids)
    if array.ndim != 1 or array.dtype.kind not in "iuOUST":
        raise KeyingError(
            "must be a column of integers, text or bytes",
            parameter="ids",
            given=f"{array.dtype} of shape {array.shape}",
            remedy=("integers with missing ones among them become fractions: every record needs an id"),
        )
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
