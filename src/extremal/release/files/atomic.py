"""A file that stands under its name when it is complete, and not before.

Where the system can (O_TMPFILE), it has no name at all until then, so a job that is killed leaves nothing.
Elsewhere it stands beside the target under another name, and the next job for the same target removes what a
killed one left.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..._common.files import open_file, sync_folder
from ...errors import FileError

try:
    import fcntl
except ImportError:  # no such thing on Windows
    fcntl = None  # type: ignore[assignment]

BINARY = getattr(os, "O_BINARY", 0)
ACL = "system.posix_acl_access"


def readers_of(path: str) -> tuple[int, int]:
    """Who may read a file: its mode and its group."""
    state = os.stat(path)
    mode = stat.S_IMODE(state.st_mode)
    with contextlib.suppress(OSError, AttributeError):
        if ACL in os.listxattr(path):  # then the bits of the group are those of a mask, not its own
            mode &= ~0o070
    return mode, state.st_gid


@contextlib.contextmanager
def new_file(
    target: str | os.PathLike[str], overwrite: bool, mode: int, group: int | None = None
) -> Iterator[BinaryIO]:
    """A file to write to, which gets the name of the target, and is safe on disk, when the block ends well.

    Until then only its owner can read it; in the end those can whom the mode, for this group, and the umask allow.
    """
    path = Path(target)
    _sweep(path)
    part, file, allowed = _create(path, mode & 0o666 | 0o600)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":
                _open_to_readers(file.fileno(), allowed, group)
                _publish(file.fileno(), part, path, overwrite)  # while it is locked
        if os.name != "posix":
            _publish(-1, part, path, overwrite)  # Windows does not rename an open file
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _create(path: Path, mode: int) -> tuple[Path | None, BinaryIO, int]:
    """A new file in the folder of the path, without a name or locked, and the mode that it may have."""
    handle = _nameless(path, mode)
    if handle is not None:
        return None, os.fdopen(handle, "wb"), _close_to_readers(handle)
    while True:
        part = _beside(path)
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode)
        except OSError as error:
            raise FileError(
                "must be in a folder that can be written to",
                parameter="target",
                given=f"{path}: {error.strerror}",
            ) from None
        allowed = _close_to_readers(handle)
        file = os.fdopen(handle, "wb")
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        if part.exists():
            return part, file, allowed
        file.close()  # another job took it for something left behind before it was locked


def _nameless(path: Path, mode: int) -> int | None:
    """A file without a name that can be given one; None where there is no such thing."""
    kind = getattr(os, "O_TMPFILE", None)
    if kind is None:
        return None
    try:
        trial = os.open(path.parent, kind | os.O_WRONLY, 0o600)
        try:
            name = _beside(path)
            _name(trial, name)  # some systems make such files and do not let them be named
            name.unlink()
        finally:
            os.close(trial)
        return os.open(path.parent, kind | os.O_WRONLY, mode)
    except OSError:
        return None


def _name(handle: int, path: Path) -> None:
    """Give a file without a name this one; fails if there is such a file."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:  # only with a folder does Python follow the link, which must be followed here
        os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")


def _close_to_readers(handle: int) -> int:
    """The mode that the system gave the file, which no reader has from now on."""
    allowed = stat.S_IMODE(os.fstat(handle).st_mode)
    if os.name == "posix":
        os.fchmod(handle, 0o600)
    return allowed


def _open_to_readers(handle: int, allowed: int, group: int | None) -> None:
    """Let those read the file whom its mode allows; those of another group only what it allows everybody."""
    with contextlib.suppress(OSError, AttributeError):  # rules of the folder for named users
        os.removexattr(handle, ACL)
    if group is not None and os.fstat(handle).st_gid != group:
        try:
            os.fchown(handle, -1, group)
        except OSError:  # not allowed
            common = allowed >> 3 & allowed & 0o007
            allowed = allowed & 0o700 | common << 3 | common
    os.fchmod(handle, allowed)


def _publish(handle: int, part: Path | None, path: Path, overwrite: bool) -> None:
    """Give the file its name; without overwriting, only if nobody took that name in the meantime."""
    if overwrite:
        ready = part
        if ready is None:
            ready = _beside(path)
            _name(handle, ready)
        try:
            os.replace(ready, path)
        except OSError:
            ready.unlink(missing_ok=True)
            raise
    else:
        try:  # unlike a renaming, this fails if the target is there
            if part is None:
                _name(handle, path)
            else:
                os.link(part, path)
        except FileExistsError:
            raise FileError(
                f"{path} was created by something else in the meantime",
                remedy="choose another name",
            ) from None
        except OSError:  # a file system without links
            if part is None:
                raise
            os.rename(part, path)
    with contextlib.suppress(
        OSError
    ):  # of a folder that cannot be read; the file has its name, so this is no failure
        sync_folder(path.parent)


def _sweep(path: Path) -> None:
    if fcntl is None:
        return
    for left in path.parent.glob(f".{_literal(path.name)}.{'[0-9a-f]' * 16}.part"):
        # Whatever else has such a name is not ours: a pipe would keep this waiting, a link leads elsewhere.
        with contextlib.suppress(OSError), open_file(str(left), follow=False) as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if its job is alive
            left.unlink()


def _literal(name: str) -> str:
    """A pattern that matches this name alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
