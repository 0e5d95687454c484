"""A file that stands under its name when it is complete, and not before."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import FileError

try:
    import fcntl
except ImportError:  # no such thing on Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def new_file(target: str | os.PathLike[str], overwrite: bool, mode: int) -> Iterator[BinaryIO]:
    """A file to write to, which gets the name of the target, and is safe on disk, when the block ends well.

    It is written beside the target and is no more readable than `mode`, the mode of the source, allows. What
    earlier jobs for the same target left behind when they were killed is removed first; a job that still runs
    holds a lock on its file.
    """
    path = Path(target)
    _sweep(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        handle = os.open(
            part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode & 0o666 | 0o200
        )
    except OSError as error:
        raise FileError(
            f"target must be in a folder that can be written to, got {path}: {error.strerror}"
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            _lock(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        _publish(part, path, overwrite)
    finally:
        part.unlink(missing_ok=True)


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
            if _lock(file.fileno()):
                left.unlink()


def _lock(handle: int) -> bool:
    """Whether this process holds the file now; it lets go when the file is closed, also by being killed."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _literal(name: str) -> str:
    """A pattern that matches this name alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
