"""A file that stands under its name when it is complete, and not before."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ...errors import FileError

try:
    import fcntl
except ImportError:  # no such thing on Windows
    fcntl = None  # type: ignore[assignment]

BINARY = getattr(os, "O_BINARY", 0)


@contextlib.contextmanager
def new_file(target: str | os.PathLike[str], overwrite: bool, mode: int) -> Iterator[BinaryIO]:
    """A file to write to, which gets the name of the target, and is safe on disk, when the block ends well.

    It is written beside the target and is no more readable than `mode`, the mode of the source, allows. What
    earlier jobs for the same target left behind when they were killed is removed first; a job that still runs
    holds a lock on its file.
    """
    path = Path(target)
    _sweep(path)
    part, file = _create(path, mode)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:
                _publish(part, path, overwrite)  # while it is locked
        if fcntl is None:
            _publish(part, path, overwrite)  # Windows does not rename an open file
    finally:
        part.unlink(missing_ok=True)


def _create(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """A new file beside the path, locked."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode & 0o666 | 0o600)
        except OSError as error:
            raise FileError(
                f"target must be in a folder that can be written to, got {path}: {error.strerror}"
            ) from None
        file = os.fdopen(handle, "wb")
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        if part.exists():
            return part, file
        file.close()  # another job took it for something left behind before it was locked


def _publish(part: Path, path: Path, overwrite: bool) -> None:
    if overwrite:
        os.replace(part, path)
    else:
        try:
            os.link(part, path)  # unlike a renaming, this fails if somebody made the target in the meantime
        except FileExistsError:
            raise FileError(f"target must not exist, but it does now: {path}; choose another name") from None
        except OSError:  # a file system without links
            os.rename(part, path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _sweep(path: Path) -> None:
    if fcntl is None:
        return
    for left in path.parent.glob(f".{_literal(path.name)}.{'[0-9a-f]' * 16}.part"):
        with contextlib.suppress(OSError), open(left, "rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if its job is alive
            left.unlink()


def _literal(name: str) -> str:
    """A pattern that matches this name alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
