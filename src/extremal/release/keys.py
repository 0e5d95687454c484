"""Keyed draws: the word of a record is a function of (secret key, record id, column, mechanism digest).

Running a job again, a retried task or a second action then repeats the report instead of releasing a second
one. The function is HMAC-SHA256 and AES-256 (docs/file-format.md): without the key its words cannot be told
from random ones; with the key the noise can be removed, so the key is as secret as the data.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import file_name, reason
from ..errors import KeyingError
from ..model.prior import shorten
from .sampler import Fill, Integers

KEY_BYTES = 32
PURPOSE = b"extremal-keyed-draw-1\0"

# The last byte of an id's block: ids of different types are different blocks.
INTEGER, TEXT, BYTES = 0, 1, 2


def check_key(key: Any) -> bytes:
    """The key, if it is 32 bytes; no message ever shows any of it."""
    if not isinstance(key, bytes | bytearray | memoryview):
        raise KeyingError(
            f"key must be {KEY_BYTES} bytes, got a {type(key).__name__}; read one with read_key(path)"
        )
    if len(bytes(key)) != KEY_BYTES:
        raise KeyingError(
            f"key must be {KEY_BYTES} bytes, got {len(bytes(key))}; make one with write_key(path)"
        )
    return bytes(key)


def write_key(path: str | os.PathLike[str]) -> bytes:
    """A fresh secret key, also in a new file that only its owner can read: 64 hexadecimal digits."""
    key = os.urandom(KEY_BYTES)
    name = file_name(path, "key file", KeyingError)
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(key.hex() + "\n")
        except OSError:
            os.unlink(name)  # half a key is none
            raise
    except FileExistsError:
        raise KeyingError(
            f"a key file is never overwritten, and there is one: {name}; use it, or choose another name"
        ) from None
    except OSError as error:
        raise KeyingError(
            f"key file must be one that can be written, got {name}: {reason(error)}; "
            "choose a name in a folder that exists and is yours"
        ) from None
    return key


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file of 64 hexadecimal digits or 32 raw bytes that nobody but its owner can read."""
    name = file_name(path, "key file", KeyingError)
    try:
        with open(name, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise KeyingError(f"key file must be a regular file: {name}")
            if os.name == "posix" and mode & 0o077:
                raise KeyingError(
                    f"key file must be readable by its owner alone, got permissions {mode & 0o777:03o}; "
                    f"run: chmod 600 {name}"
                )
            content = file.read(KEY_BYTES * 4)
    except OSError as error:
        raise KeyingError(
            f"key file must be one that can be read, got {name}: {reason(error)}; "
            "make one with write_key(path)"
        ) from None
    if len(content) == KEY_BYTES:
        return content
    try:
        key = bytes.fromhex(content.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise KeyingError(
            f"key file must hold {KEY_BYTES} raw bytes or {2 * KEY_BYTES} hexadecimal digits, "
            f"got {len(content)} other bytes: {name}; make one with write_key(path)"
        )
    return key


def keyed_words(key: bytes, column: str, digest: bytes, blocks: Integers) -> Fill:
    """The words of the records whose id blocks are given, for one column and one mechanism.

    subkey = HMAC-SHA256(key, "extremal-keyed-draw-1\\0" || digest || column in UTF-8);
    word = the first 8 bytes, little-endian, of AES-256 under the subkey of the id's block.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    subkey = hmac.new(check_key(key), PURPOSE + digest + _utf8(column, "column"), hashlib.sha256).digest()
    # ECB is the plain block function: every block is a different id, and what comes out is used as a random
    # number.
    cipher = Cipher(algorithms.AES(subkey), modes.ECB())

    def fill(start: int, out: Integers) -> None:
        part = np.ascontiguousarray(blocks[start : start + len(out)])
        encrypted = np.empty(2 * len(out) + 2, dtype="<u8")  # the library wants room for one more block
        cipher.encryptor().update_into(part.view(np.uint8).reshape(-1).data, encrypted.view(np.uint8).data)
        out[:] = encrypted[: 2 * len(out) : 2]

    return fill


def id_blocks(ids: Any, count: int) -> Integers:
    """The 16-byte block of every record id, as (count, 2) little-endian 64-bit words.

    An integer is its 120-bit two's complement, little-endian, then a byte 0. A string is the first 15 bytes
    of the SHA-256 of its UTF-8 form, then a byte 1; bytes the same, then a byte 2.
    """
    column = _as_column(ids)
    if len(column) != count:
        raise KeyingError(f"ids must be one for each of the {count} records, got {len(column)}")
    if isinstance(column, np.ndarray):
        blocks = np.zeros((count, 2), dtype="<u8")
        if column.dtype.kind == "u":
            blocks[:, 0] = column
        else:
            blocks[:, 0] = column.astype(np.int64).view(np.uint64)
            blocks[column < 0, 1] = (1 << 56) - 1
        return blocks
    return np.frombuffer(b"".join(map(_block, column)), dtype="<u8").reshape(count, 2)


def check_distinct(blocks: Integers, ids: Any) -> None:
    """Refuse ids that occur twice: records with the same word are linkable."""
    first, second = blocks[:, 0], blocks[:, 1]
    if np.all(first[1:] > first[:-1]):  # already in order, as row numbers are
        return
    ordered = np.sort(first)
    distinct = bool(np.all(ordered[1:] != ordered[:-1]))
    if not distinct:
        order = np.lexsort((first, second))
        first, second = first[order], second[order]
        distinct = bool(np.all((first[1:] != first[:-1]) | (second[1:] != second[:-1])))
    if not distinct:
        column = _as_column(ids)
        counts = Counter(column.tolist() if isinstance(column, np.ndarray) else column)
        twice = [
            name.item() if isinstance(name, np.generic) else name
            for name, times in counts.items()
            if times > 1
        ]
        raise KeyingError(
            f"ids must be distinct, got {shorten(twice, 3)} more than once: records with one id get the same "
            'noise and can be linked; give each its own, or repeated_ids="allow" if one person answered twice'
        )


def _block(record: Any) -> bytes:
    if isinstance(record, np.generic):
        record = record.item()
    if isinstance(record, str):
        return hashlib.sha256(_utf8(record, "ids")).digest()[:15] + bytes([TEXT])
    if isinstance(record, int) and not isinstance(record, bool):
        try:
            return record.to_bytes(15, "little", signed=True) + bytes([INTEGER])
        except OverflowError:
            raise KeyingError(
                f"integer ids must be below 2^119, got {repr(record)[:60]}; use strings"
            ) from None
    if isinstance(record, bytes):
        return hashlib.sha256(record).digest()[:15] + bytes([BYTES])
    raise KeyingError(
        f"ids must be integers, strings or bytes, got {repr(record)[:60]} of type {type(record).__name__}; "
        "a missing or fractional id names no record"
    )


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise KeyingError(
            f"{what} must be text that UTF-8 can hold, got {text[:60]!a}: a lone surrogate is half a character"
        ) from None


def _as_column(ids: Any) -> NDArray[Any] | list[Any]:
    """An integer array, or a list of Python values."""
    if isinstance(ids, str | bytes) or not hasattr(ids, "__iter__"):
        raise KeyingError(
            f"ids must be a column with one id for each record, got {type(ids).__name__}; give a list"
        )
    if isinstance(ids, range):
        return np.arange(ids.start, ids.stop, ids.step)
    if not hasattr(ids, "__array__"):
        return list(ids)
    if np.ma.is_masked(ids):
        raise KeyingError("ids must not be missing, got a masked array; every record needs an id")
    try:
        array = np.asarray(ids)  # numpy, pandas, polars, arrow
    except Exception:  # a type of theirs that numpy lacks; whichever error their library raises
        return list(ids)
    if array.ndim != 1 or array.dtype.kind not in "iuOUST":
        raise KeyingError(
            f"ids must be a column of integers, strings or bytes, got {array.dtype} of shape {array.shape}; "
            "integers with missing ones among them become fractions: every record needs an id"
        )
    return array if array.dtype.kind in "iu" else list(array.tolist())
