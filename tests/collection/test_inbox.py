"""Group commit: all that wait are written together, and whoever goes away takes nobody else along."""

import asyncio
import threading

import pytest

pytest.importorskip("starlette")

from extremal.collection import server as inbox_module
from extremal.collection.server import Inbox
from extremal.collection.store import Submission, Verdict
from extremal.errors import StoreError


class SlowStore:
    """A store whose first transaction takes until it is let go."""

    def __init__(self):
        self.database = self
        self.batches, self.go, self.broken, self.forgotten = [], threading.Event(), False, threading.Event()

    def add(self, batch):
        self.batches.append([s.id for s in batch])
        if len(self.batches) == 1:
            assert self.go.wait(30)
        if self.broken:
            raise StoreError("full")
        return [Verdict.ACCEPTED] * len(batch)

    def forget_invitations(self):
        self.forgotten.set()


async def begun(inbox, names, invitation=None):
    """Submissions that wait, and a moment for each to begin."""
    tasks = [asyncio.ensure_future(inbox.put(Submission(name, "[]", invitation))) for name in names]
    await asyncio.sleep(0)
    return tasks


async def first_is_being_written(store):
    while not store.batches:
        await asyncio.sleep(0.001)


def test_what_arrives_during_one_transaction_is_written_in_the_next():
    async def main():
        store = SlowStore()
        inbox = Inbox(store)
        first = await begun(inbox, "a")
        await first_is_being_written(store)
        rest = await begun(inbox, "bcdef")
        store.go.set()
        assert await asyncio.gather(*first, *rest) == [Verdict.ACCEPTED] * 6
        assert store.batches == [["a"], ["b", "c", "d", "e", "f"]]

    asyncio.run(main())


def test_who_goes_away_or_fails_takes_nobody_along(monkeypatch):
    async def main():
        store = SlowStore()
        inbox = Inbox(store)
        gone, stays = await begun(inbox, "ab")
        await first_is_being_written(store)
        gone.cancel()
        store.broken = True
        store.go.set()
        with pytest.raises(StoreError):
            await stays
        store.broken = False
        (again,) = await begun(inbox, "b")
        assert await again == Verdict.ACCEPTED

    asyncio.run(main())


def test_too_many_that_wait_are_turned_away(monkeypatch):
    monkeypatch.setattr(inbox_module, "MOST_WAITING", 2)

    async def main():
        store = SlowStore()
        inbox = Inbox(store)
        first = await begun(inbox, "a")
        await first_is_being_written(store)
        kept = await begun(inbox, "bc")
        with pytest.raises(StoreError, match="wait"):
            await inbox.put(Submission("d", "[]"))
        store.go.set()
        assert await asyncio.gather(*first, *kept) == [Verdict.ACCEPTED] * 3

    asyncio.run(main())


def test_traces_of_used_invitations_are_removed_when_nobody_comes(monkeypatch):
    monkeypatch.setattr(inbox_module, "IDLE_SECONDS", 0.01)

    async def main():
        store = SlowStore()
        store.go.set()
        inbox = Inbox(store)
        (task,) = await begun(inbox, "a", invitation="hash")
        await task
        assert await asyncio.to_thread(store.forgotten.wait, 30)

    asyncio.run(main())
