"""Linear algebra on one thread: on small matrices several mostly wait for each other, and change the last bits."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import ContextDecorator
from typing import Any


class _Own(threading.local):
    """What one thread has: how deep it is inside, and what to restore when it leaves, the last first."""

    depth = 0

    def __init__(self) -> None:
        self.limits: list[Any] = []


class _OneThread(ContextDecorator):
    """Whoever is inside has linear algebra on one thread; after the last has left it is as it was before.

    A with statement or a decorator. MKL, and OpenBLAS where it uses OpenMP, count threads for each caller; OpenBLAS
    else has one number for the whole process, which the first caller sets and the last restores.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0  # calls of all threads
        self._limits: list[Any] = []  # of the whole process, to be restored, the last first
        self._own = _Own()
        self._libraries: tuple[Any, Any] | None = None  # of the whole process, and of each caller
        self._modules = 0  # how many there were when libraries were looked for
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._forked
            )

    def __enter__(self) -> None:
        import scipy.linalg  # noqa: F401  # has a library of its own, which must be loaded to be limited

        self.limit()

    def limit(self) -> None:
        """Limit the libraries that are loaded; every call wants one of __exit__ later."""
        with self._lock:
            if not self._inside:
                _restore(self._limits)  # nothing, unless an interrupt came between two lines below
            new = self._libraries is None or len(sys.modules) != self._modules
            if new:
                self._libraries, self._modules = _find(), len(sys.modules)
            assert self._libraries is not None
            everybody, each = self._libraries
            if new or not self._inside:
                self._limits.append(_limited(everybody))
            if new or not self._own.depth:
                self._own.limits.append(_limited(each))
            self._inside += 1
            self._own.depth += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            self._own.depth -= 1
            if not self._own.depth:
                _restore(self._own.limits)
            if not self._inside:
                _restore(self._limits)

    def _forked(self) -> None:
        """In a child only the thread that forked goes on."""
        self._inside = self._own.depth
        if not self._inside:
            _restore(self._limits)
        self._lock.release()


class _OneThreadOfNumpy(ContextDecorator):
    """The same for what needs numpy alone: scipy's library, which takes a tenth of a second, is not loaded for it."""

    def __enter__(self) -> None:
        one_thread.limit()

    def __exit__(self, *error: object) -> None:
        one_thread.__exit__(*error)


def _find() -> tuple[Any, Any]:
    """The libraries that are loaded: with one number of threads for the process, and with one for each caller."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas")
    shared = [
        library.filepath
        for library in found.lib_controllers
        if library.internal_api in ("openblas", "flexiblas")
        and library.info().get("threading_layer") != "openmp"
    ]
    rest = [library.filepath for library in found.lib_controllers if library.filepath not in shared]
    return found.select(filepath=shared), found.select(filepath=rest)


def _limited(libraries: Any) -> Any:
    from threadpoolctl import OpenBLASController

    # threadpoolctl lets one thread decide about OpenBLAS until it says that it is done; here the lock decides.
    OpenBLASController.clear_controlling_thread(force=True)
    limit = libraries.limit(limits=1)
    OpenBLASController.clear_controlling_thread(force=True)
    return limit


def _restore(limits: list[Any]) -> None:
    from threadpoolctl import OpenBLASController

    while limits:
        OpenBLASController.clear_controlling_thread(force=True)
        limits.pop().restore_original_limits()
        OpenBLASController.clear_controlling_thread(force=True)


one_thread = _OneThread()
one_thread_of_numpy = _OneThreadOfNumpy()
