"""Files: their names, what the operating system says about them in one line, and how they are written.

A file stands under its name when it is complete, and not before. Where the system can (O_TMPFILE), it has no name at
all until then, so a job that is killed leaves nothing. Elsewhere it stands beside the target under another name, and
the next job for the same target removes what a killed one left.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import ExtremalError, FileError

try:
    import fcntl
except ImportError:  # no such thing on Windows
    fcntl = None  # type: ignore[assignment]

BINARY = getattr(os, "O_BINARY", 0)
ACL = "system.posix_acl_access"


def file_name(path: Any, what: str, refusal: type[ExtremalError], kind: str = "file") -> str:
    """The path as text, if it can be the name of a file; a number is none, though open() would take it."""
    name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    if not name or "\0" in name:
        remedy = "give a path, without null characters"
        raise refusal(f"{what} must be the name of a {kind}", given=repr(path)[:60], remedy=remedy)
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


def readers_of(path: str) -> tuple[int, int]:
    """Who may read a file: its mode and its group."""
    state = os.stat(path)
    mode = stat.S_IMODE(state.st_mode)
    with contextlib.suppress(OSError, AttributeError):
        if ACL in os.listxattr(path):  # then the bits of the group are those of a mask, not its own
            mode &= ~0o070
    return mode, state.st_gid


def write_file(target: str | os.PathLike[str], content: bytes, overwrite: bool, mode: int) -> None:
    """The content stands under this name, whole; an interruption leaves what was there before."""
    with new_file(target, overwrite, mode) as file:
        file.write(content)


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
                remedy="choose a name in a folder that exists and is yours",
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
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}.part")


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
        finally:
            ready.unlink(missing_ok=True)
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
    with contextlib.suppress(OSError):  # a folder that cannot be read; the file has its name: no failure
        sync_folder(path.parent)


def _sweep(path: Path) -> None:
    if fcntl is None:
        return
    for left in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 16}.part"):
        # Whatever else has such a name is not ours: a pipe would keep this waiting, a link leads elsewhere.
        with contextlib.suppress(OSError), open_file(str(left), follow=False) as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if its job is alive
            left.unlink()
