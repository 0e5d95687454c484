"""Worker processes of the explorer: started when needed, kept warm, ended when a task is given up.

The pools of libraries do less. A task of concurrent.futures gives one result at its end, cannot be cancelled once it
runs, and if its process is ended, every other task fails with it. anyio.to_process ends a process with its task, but
gives one result, too, and imports modules of the current folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio

PATIENCE = 0.4  # seconds until a task that was given up must have ended of itself
LONGEST = 1 << 28  # bytes of a message; a file to download is one
END = b'{"type":"end"}'
LOST = b'{"type":"error","kind":"unexpected","message":"the computation ended without a result"}'


class Process:
    """One worker process, to which tasks and from which messages go as lines of JSON, and what it has done lately."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.known: list[str] = []

    @classmethod
    async def start(cls) -> Process:
        """A new process, which warms up by itself."""
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # modules of the current folder must not stand in for those of the library
                "-m",
                "extremal.explorer.worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST,
                start_new_session=True,  # Ctrl-C is for the server, which then ends its processes
                env={**os.environ, "PYTHONPATH": module_path(), "MPLBACKEND": "Agg"},
            )
        )

    async def send(self, document: dict[str, Any]) -> None:
        """Send one task, or that it is given up."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(document).encode() + b"\n")
        await self.process.stdin.drain()

    async def receive(self) -> bytes:
        """The JSON text of the next message; empty if the process is gone."""
        assert self.process.stdout is not None
        return (await self.process.stdout.readline()).rstrip(b"\n")

    async def settle(self) -> bool:
        """Give up the task; whether it came to its end in time."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self.send({"cancel": True})
                while message := await self.receive():
                    if message == END:
                        return True
        except (TimeoutError, OSError):
            pass
        return False

    async def stop(self) -> None:
        """End it at once and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):  # it may just have gone
            self.process.kill()
        await self.process.wait()


def module_path() -> str:
    """PYTHONPATH for a process: this very package first, then what is given, without relative folders.

    An empty entry, which a stray colon leaves behind, is the current folder too.
    """
    root = str(Path(__file__).parents[2])
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([root, *(entry for entry in given if os.path.isabs(entry))])


class Pool:
    """Up to `most` processes; a task goes to an idle one that has done the like before, if there is one."""

    def __init__(self, most: int = 3, warm: int = 2) -> None:
        self.warm = warm
        self.free = asyncio.Semaphore(most)
        self.idle: list[Process] = []
        self.all: set[Process] = set()
        self.closed = False

    async def open(self) -> None:
        """Start the first processes."""
        while len(self.idle) < self.warm:
            self.idle.append(await self._start())

    async def close(self) -> None:
        """End all processes, and start no more."""
        self.closed = True
        await asyncio.gather(*(process.stop() for process in self.all))

    async def run(self, task: dict[str, Any], key: str) -> AsyncIterator[bytes]:
        """The messages of a task as JSON text. Closing the iterator gives the task up."""
        async with self.free:
            process, done = await self._take(key), False
            try:
                await process.send(task)
                process.known = [key, *[k for k in process.known if k != key]][:4]
                while (message := await process.receive()) and message != END:
                    yield message
                done = message == END
                if not done:
                    yield LOST
            except OSError:
                yield LOST
            finally:
                with anyio.CancelScope(shield=True):
                    await self._release(process, done)

    async def _take(self, key: str) -> Process:
        if not self.idle:
            return await self._start()
        best = next((p for p in self.idle if key in p.known), self.idle[-1])  # the one used last is warm
        self.idle.remove(best)
        return best

    async def _release(self, process: Process, done: bool) -> None:
        """Back among the idle; one that does not stop its task in time is replaced."""
        if done or await process.settle():
            self.idle.append(process)
            return
        await process.stop()
        self.all.discard(process)
        if not self.closed:
            self.idle.insert(0, await self._start())

    async def _start(self) -> Process:
        process = await Process.start()
        self.all.add(process)
        return process
