"""Names of files as callers give them, and what the operating system says about them in one line."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import ExtremalError, FileError


def file_name(path: Any, what: str, refusal: type[ExtremalError], kind: str = "file") -> str:
    """The path as text, if it can be the name of a file; a number is none, though open() would take it."""
    if not isinstance(path, str | bytes | os.PathLike) or not os.fspath(path):
        raise refusal(f"{what} must be the name of a {kind}", given=repr(path)[:60], remedy="give a path")
    name = os.fsdecode(path)
    if "\0" in name:
        raise refusal(
            f"{what} must be the name of a {kind}",
            given=f"one with a null character: {name[:60]!r}",
            remedy="give a path without it",
        )
    return name


def open_file(name: str, follow: bool = True) -> BinaryIO:
    """The file, to read from; an OSError for anything else: a named pipe or a device may never answer or end.

    A symbolic link is the file that it leads to, unless links are not to be followed.
    """
    flags = [
        getattr(os, flag, 0) for flag in ("O_BINARY", "O_NONBLOCK", *(() if follow else ("O_NOFOLLOW",)))
    ]
    handle = os.open(name, os.O_RDONLY | sum(flags))
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    raise OSError(errno.EINVAL, "not a regular file", name)


def read_bytes(
    name: str,
    largest: int,
    what: str,
    *,
    secret: bool = False,
    remedy: str | None = None,
    error: type[ExtremalError] = FileError,
    large: type[ExtremalError] | None = None,
) -> bytes:
    """The content of a file of at most so many bytes; of a secret one, if its owner alone can read it.

    What the system refuses is an `error`, a file that is too large `large`, or the same.
    """
    try:
        with open_file(name) as file:
            mode = os.fstat(file.fileno()).st_mode
            if secret and os.name == "posix" and mode & 0o077:
                raise error(
                    f"{what} must be readable by its owner alone",
                    given=f"permissions {mode & 0o777:03o}",
                    remedy=f"run: chmod 600 {name}",
                )
            raw = file.read(largest + 1)
    except OSError as refused:
        said = f"{name}: {reason(refused)}"
        raise error(f"{what} must be one that can be read", given=said, remedy=remedy) from None
    if len(raw) > largest:
        raise (large or error)(
            f"{what} must have at most {largest} bytes", given=f"more: {name}", remedy=remedy
        )
    return raw


def utf8_text(raw: bytes, name: str, what: str, error: type[ExtremalError] = FileError) -> str:
    """The text that stands in a file in UTF-8; a mark at its beginning is part of it."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        remedy = "is it the right one? Convert it, e.g. with iconv -f cp1252 -t utf-8"
        raise error(f"{what} must be UTF-8 text", given=f"other bytes in {name}", remedy=remedy) from None


def check_target(name: str, overwrite: bool, parameter: str = "target") -> None:
    """Refuse the name of a file that cannot or must not be written, before any work is done."""
    problem, given, remedy = None, name, "choose another name"
    folder = os.path.dirname(name) or "."
    if not name or os.path.isdir(name):
        problem, given = "must be the name of a file", f"a folder: {name}" if name else "''"
    elif os.path.exists(name) and not os.path.isfile(name):
        problem, given = "must be a regular file", f"something else: {name}"
    elif os.path.lexists(name) and not overwrite:
        raise FileError(f"{name} already exists", remedy="use `overwrite=True` to replace it")
    elif not os.path.isdir(folder):
        problem, remedy = "must be in a folder that exists", f"make {folder} first"
    if problem is not None:
        raise FileError(problem, parameter=parameter, given=given, remedy=remedy)


def make_folder(output: str | os.PathLike[str]) -> Path:
    """The folder for the output of a command, made if it is not there."""
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            "must be a folder, or a place for one",
            parameter="output",
            given=f"{str(folder)!r}: {reason(error)}",
            remedy="choose another name",
        ) from None
    return folder


def reason(error: OSError) -> str:
    """Why the operating system refused, without the name of the file, which may be that of a temporary one."""
    return error.strerror or " ".join(str(error).split()) or type(error).__name__


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Put the names in a folder on disk: without this a new file can be gone after a power failure."""
    if os.name == "posix":
        handle = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
