"""Worker processes of the explorer: started when needed, kept warm, ended when a task is given up."""

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


class Process:
    """One worker process and what it has done lately."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.length: int | None = None  # of the frame under way, which giving up must not lose
        self.known: list[str] = []
        self.killed = False

    @classmethod
    async def start(cls) -> Process:
        """A new process, which warms up by itself."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # modules of the current folder must not stand in for those of the library
            "-m",
            "extremal.explorer.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the server, which then ends its processes
            env={**os.environ, "PYTHONPATH": module_path(), "MPLBACKEND": "Agg"},
        )
        return cls(process)

    async def send(self, document: dict[str, Any]) -> None:
        """Send one frame."""
        assert self.process.stdin is not None
        body = json.dumps(document).encode()
        self.process.stdin.write(len(body).to_bytes(8, "big") + body)
        await self.process.stdin.drain()

    async def receive(self) -> bytes:
        """The JSON text of the next frame."""
        assert self.process.stdout is not None
        if self.length is None:
            self.length = int.from_bytes(await self.process.stdout.readexactly(8), "big")
        body = await self.process.stdout.readexactly(self.length)
        self.length = None
        return body

    async def settle(self) -> None:
        """Wait for the end of a task that was given up."""
        while await self.receive() != END:
            pass

    async def stop(self) -> None:
        """End it at once and wait until it is gone."""
        if self.process.returncode is None and not self.killed:
            self.killed = True  # a second signal could meet a process that is gone
            self.process.kill()
        await self.process.wait()


END = b'{"type":"end"}'


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
        self.most, self.warm = most, warm
        self.idle: list[Process] = []
        self.count = 0
        self.free = asyncio.Condition()
        self.all: set[Process] = set()
        self.starting: set[asyncio.Task[None]] = set()
        self.closed = False

    async def open(self) -> None:
        """Start the first process; others follow when it is ready, so that they do not delay it."""
        self._start()

    async def close(self) -> None:
        """End all processes, and start no more."""
        self.closed = True
        while self.starting or self.all:
            for process in list(self.all):
                self.all.discard(process)
                await process.stop()
            if self.starting:
                await asyncio.wait(self.starting)

    async def run(self, task: dict[str, Any], key: str) -> AsyncIterator[bytes]:
        """The messages of a task as JSON text. Closing the iterator gives the task up."""
        process = await self._acquire(key)
        done = False
        try:
            await process.send(task)
            process.known = [key, *[k for k in process.known if k != key]][:4]
            while (message := await process.receive()) != END:
                yield message
            done = True
        except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError):
            yield b'{"type":"error","kind":"unexpected","message":"the computation ended without a result"}'
        finally:
            with anyio.CancelScope(shield=True):
                await self._release(process, done)

    async def _acquire(self, key: str) -> Process:
        async with self.free:
            while not self.idle:
                if self.count < self.most:
                    self._start()
                await self.free.wait()
            best = next((p for p in self.idle if key in p.known), self.idle[-1])  # the one used last is warm
            self.idle.remove(best)
            return best

    async def _release(self, process: Process, done: bool) -> None:
        """Back among the idle; one that does not stop its task in time is replaced."""
        if not done:
            try:
                await process.send({"cancel": True})
                await asyncio.wait_for(process.settle(), PATIENCE)
                done = True
            except (TimeoutError, asyncio.IncompleteReadError, OSError):
                await process.stop()
        if done:
            await self._offer(process)
        else:
            self.all.discard(process)
            self.count -= 1
            if not self.closed:
                self._start()

    def _start(self) -> None:
        self.count += 1
        task = asyncio.create_task(self._warm_up())
        self.starting.add(task)
        task.add_done_callback(self.starting.discard)

    async def _warm_up(self) -> None:
        process = await Process.start()
        if self.closed:
            await process.stop()
            return
        self.all.add(process)
        with contextlib.suppress(
            asyncio.IncompleteReadError
        ):  # who uses one that could not start gets the error
            await process.receive()  # that it is ready
        await self._offer(process)
        if self.count < self.warm and not self.closed:
            self._start()

    async def _offer(self, process: Process) -> None:
        async with self.free:
            self.idle.append(process)
            self.free.notify()
