"""Submissions of many respondents in one transaction: all that wait are written together, then all are answered.

Flushing to disk takes milliseconds, whether for one report or for five hundred. While one batch is being written, the
next one gathers.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor

from ..errors import StoreError
from .store import LARGEST_BATCH, Store, Submission, Verdict

MOST_WAITING = 5000  # more are turned away until some are written
IDLE_SECONDS = 5.0  # after which the traces of used invitations are removed

Waiting = tuple[Submission, "asyncio.Future[Verdict]"]


class Inbox:
    """Takes submissions in an event loop and hands them to the store, batch by batch, in one thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._waiting: list[Waiting] = []
        self._arrived = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "extremal-store")

    async def put(self, submission: Submission) -> Verdict:
        """The verdict, when it is on disk; StoreError if it could not be stored."""
        if len(self._waiting) >= MOST_WAITING:
            raise StoreError("too many reports wait to be written", remedy="try again later")
        loop = asyncio.get_running_loop()
        if self._writer is None:
            self._writer = loop.create_task(self._write())
        future: asyncio.Future[Verdict] = loop.create_future()
        self._waiting.append((submission, future))
        self._arrived.set()
        return await future

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        used = False
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS if used else None):
                    await self._arrived.wait()
            except TimeoutError:
                used = False
                with contextlib.suppress(StoreError):
                    await loop.run_in_executor(self._thread, self.store.database.forget_invitations)
                continue
            batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
            if not self._waiting:
                self._arrived.clear()
            try:
                verdicts = await loop.run_in_executor(self._thread, self.store.add, [s for s, _ in batch])
            except Exception as error:
                for _, future in batch:
                    if not future.done():  # whoever asked may have gone
                        future.set_exception(error)
                continue
            used = used or any(s.invitation for s, _ in batch)
            for (_, future), verdict in zip(batch, verdicts, strict=True):
                if not future.done():
                    future.set_result(verdict)
