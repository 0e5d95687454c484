"""Keyed draws: the word of a record is a function of key, occasion, column, mechanism, id and answer.

Running a job again, a retried task or a second action then repeats the report instead of releasing a second
one. The function is HMAC-SHA256 and AES-256 (docs/api/formats.md): without the key its words cannot be told
from random ones; with the key the noise can be removed, so the key is as secret as the data.

Each argument is there because leaving it out leaks. Without the column two questions share one noise, and
wherever their reports differ both are true. Without the answer the same happens to a corrected answer.

An id is one block of 16 bytes, the same in every container. Integers, and text made of an optional sign and ASCII
digits, are integers; other text is text; bytes are bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import string
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from .._common.files import file_name, read_bytes, reason, write_file
from ..errors import FileError, KeyingError
from .columns import Array, Rows, label_rows, shown
from .kernel import Fill, Integers
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
    """The blocks of a whole column of ids, which must be distinct; "007" and 7 are one id."""
    blocks = id_blocks(ids, count)
    first, second = blocks[:, 0], blocks[:, 1]
    if np.all(first[1:] > first[:-1]):  # already in order, as row numbers are
        return blocks
    ordered = np.sort(first)
    if np.all(ordered[1:] != ordered[:-1]):
        return blocks
    order = np.lexsort((first, second))
    first, second = first[order], second[order]
    same = np.flatnonzero((first[1:] == first[:-1]) & (second[1:] == second[:-1]))
    if len(same):
        column = list(_as_column(ids))
        twice = sorted({int(order[i + k]) for i in same[:3] for k in (0, 1)})
        values = dict.fromkeys(shown(column[i]) for i in twice)
        raise _refused("must be distinct", f"{', '.join(values)} more than once", REMEDY)
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


KEY_BYTES = 32
PURPOSE = b"extremal-keyed-draw-2\0"

# What pandas, polars, arrow, DuckDB, Spark, R (V1, X1), Stata (v1), spreadsheets and scikit-learn call columns
# that have no name; of the last also what an encoder or an imputer makes of them, such as x0_yes. Longer numbers,
# as in V241049, are those of variables in codebooks.
INVENTED = re.compile(
    r"Unnamed: [0-9]+(_level_[0-9]+|\.[0-9]+)?|([Cc]olumn_?|col|_c|_|f|\.\.\.)?[0-9]+"
    r"|[VvX][0-9]{1,3}|(.*__)?(missingindicator_)?x[0-9]+([_ ^].*)?",
    re.DOTALL,
)

Columns = str | tuple[str, ...]
"""The column that a report is of, or the columns that are released together as one symbol."""


def check_key(key: Any) -> bytes:
    """The key, if it is 32 bytes that can be random; no message ever shows any of it."""
    problem, remedy = f"must be {KEY_BYTES} bytes", "make one with `keys.write(path)`"
    if not isinstance(key, bytes | bytearray | memoryview):
        given, remedy = f"a {type(key).__name__}", "read one with `keys.read(path)`"
    elif len(secret := bytes(key)) != KEY_BYTES:
        given = f"{len(secret)}"
    # A random key is one of these with a chance below 1e-13.
    elif len(set(secret)) == 1:
        problem, given = "must be random", "the same byte 32 times"
    elif set(secret) <= set(string.printable.encode()):
        problem, given = "must be random", "32 characters of text, which can be guessed"
    else:
        return secret
    raise KeyingError(problem, parameter="key", given=given, remedy=remedy)


def write_key(path: str | os.PathLike[str]) -> bytes:
    """A new secret key, which is also written to a new file that only its owner can read.

    Examples
    --------
    >>> import extremal as ex
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "key")
    >>> len(ex.keys.write(path))
    32

    Parameters
    ----------
    path
        The key file to create.
    """
    key = os.urandom(KEY_BYTES)
    name = file_name(path, "key file", KeyingError)
    if os.path.lexists(name):
        raise KeyingError(
            f"{name} already exists, and key files are never overwritten",
            remedy="use it, or choose another name",
        )
    try:  # on disk before it is used: reports that are out must not outlive the key in a power failure
        write_file(name, f"{key.hex()}\n".encode(), overwrite=False, mode=0o600)
    except FileError as error:
        raise error.within("key file: ", KeyingError) from None
    except OSError as error:
        raise KeyingError(
            "key file must be one that can be written", given=f"{name}: {reason(error)}"
        ) from None
    return key


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The secret key in a file that only its owner can read: 64 hexadecimal digits or 32 raw bytes.

    Examples
    --------
    >>> import extremal as ex
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "key")
    >>> ex.keys.write(path) == ex.keys.read(path)
    True

    Parameters
    ----------
    path
        The key file.
    """
    name = file_name(path, "key file", KeyingError)
    remedy = "make one with `keys.write(path)`"
    content = read_bytes(name, KEY_BYTES * 4, "key file", secret=True, remedy=remedy, error=KeyingError)
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
            remedy=remedy,
        )
    return check_key(key)


@dataclass(frozen=True, eq=False, repr=False)
class Keyed:
    """Draws that can be repeated: a report is a function of key, occasion, column, mechanism, id and answer.

    Doing a job again then repeats its reports. Give every question a column name of its own, for good.

    Examples
    --------
    >>> import extremal as ex
    >>> ex.Keyed("secret.key", ids="person", occasion=2)
    Keyed(ids='person', occasion=2)

    Parameters
    ----------
    key
        32 secret bytes, from `extremal.keys.read(path)`; or the path of a key file, which is read when reports are
        drawn.
    ids
        Who is who: one id for each record, each once, as integers, text or bytes. Of a frame or file also the name of
        the column that holds them.
    occasion
        A wave, as text or an integer. Another occasion draws new reports of the same people, which tell more.
    """

    key: bytes | str | os.PathLike[str]
    ids: Any
    occasion: int | str | None = None

    def __post_init__(self) -> None:
        path = isinstance(self.key, str | os.PathLike)
        object.__setattr__(
            self, "key", file_name(self.key, "key", KeyingError) if path else check_key(self.key)
        )
        object.__setattr__(self, "occasion", check_occasion(self.occasion))
        if self.ids is None:
            raise KeyingError("a key must come with ids", given="a key alone", remedy="give `ids=`")

    @property
    def secret(self) -> bytes:
        """The key itself."""
        return self.key if isinstance(self.key, bytes) else read_key(self.key)

    def __repr__(self) -> str:  # neither the key nor a list of people
        ids = repr(self.ids) if isinstance(self.ids, str) else type(self.ids).__name__
        return f"Keyed(ids={ids}{'' if self.occasion is None else f', occasion={self.occasion!r}'})"


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
        utf8(name, "column")
    return tuple(names) if isinstance(column, tuple) else names[0]


def check_given_name(column: Any) -> Columns:
    """The name of a column of a frame or file, if somebody chose it for what the column is about."""
    name = check_columns_name(column)
    for one in name if isinstance(name, tuple) else (name,):
        if INVENTED.fullmatch(one):
            raise KeyingError(
                "a keyed draw needs a column that is named after its question",
                given=f"{one!r}, a name that libraries give to the columns of arrays and files without names: under it "
                "two questions would share their noise",
                remedy="rename the column",
            )
    return name


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
    number = written_integer(plain, "occasion")
    if number is not None:
        return number
    utf8(str(plain), "occasion")
    return str(plain)


def draw_key(
    key: bytes, occasion: int | str | None, column: Columns, digest: bytes, purpose: bytes = PURPOSE
) -> bytes:
    """The secret of one column, occasion and mechanism: HMAC-SHA256 of these fields, each with its length."""
    when = check_occasion(occasion)
    name = check_columns_name(column)
    fields = [
        b"" if when is None else b"text " + when.encode() if isinstance(when, str) else b"integer %d" % when,
        digest,
        b"columns" if isinstance(name, tuple) else b"column",
        *(one.encode() for one in (name if isinstance(name, tuple) else (name,))),
    ]
    message = purpose + b"".join(len(field).to_bytes(8, "little") + field for field in fields)
    return hmac.new(check_key(key), message, hashlib.sha256).digest()


def keyed_words(subkey: bytes, blocks: Integers, codes: Array, rows: Rows | None) -> Fill:
    """The words of records with these id blocks and codes; `rows` gives the input row of each code, if codes are none.

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
        answers = codes[start : start + count]
        chain[: 2 * count : 2] ^= answers if rows is None else label_rows(answers, rows)
        encryptor.update_into(chain[: 2 * count].view(np.uint8).data, chain.view(np.uint8).data)  # in place
        out[:] = chain[: 2 * count : 2]

    return fill
