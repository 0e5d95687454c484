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

    @classmethod
    async def start(cls) -> Process:
        """A new process, which warms up by itself."""
        root = str(Path(__file__).parents[2])  # so that it finds this very package
        path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "extremal.explorer.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"},
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

    def kill(self) -> None:
        """End it at once."""
        if self.process.returncode is None:
            self.process.kill()

    async def stop(self) -> None:
        """End it and wait until it is gone."""
        self.kill()
        await self.process.wait()


END = b'{"type":"end"}'


class Pool:
    """Up to `most` processes; a task goes to an idle one that has done the like before, if there is one."""

    def __init__(self, most: int = 3, warm: int = 2) -> None:
        self.most, self.warm = most, warm
        self.idle: list[Process] = []
        self.count = 0
        self.free = asyncio.Condition()
        self.all: set[Process] = set()
        self.starting: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Start the first process; others follow when it is ready, so that they do not delay it."""
        self._start()

    async def close(self) -> None:
        """End all processes."""
        for task in list(self.starting):
            task.cancel()
        await asyncio.gather(*self.starting, return_exceptions=True)
        for process in list(self.all):
            await process.stop()
        self.all.clear()
        self.idle.clear()

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
            self._start()

    def _start(self) -> None:
        self.count += 1
        task = asyncio.create_task(self._warm_up())
        self.starting.add(task)
        task.add_done_callback(self.starting.discard)

    async def _warm_up(self) -> None:
        process = await Process.start()
        self.all.add(process)
        with contextlib.suppress(
            asyncio.IncompleteReadError
        ):  # who uses one that could not start gets the error
            await process.receive()  # that it is ready
        await self._offer(process)
        if self.count < self.warm:
            self._start()

    async def _offer(self, process: Process) -> None:
        async with self.free:
            self.idle.append(process)
            self.free.notify()
