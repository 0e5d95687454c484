"""The store of reports: durable, each report once, and nothing that tells who sent which.

**Once.** A submission may be repeated: the same id with the same content is accepted again and counts once. The use of
an invitation and the report that it allows are one transaction, so a used invitation with an id that is not stored is
always a second use.

**Not the newest.** Reports are stored in the table `waiting` first. Results and exports read `reports` alone. A report
that arrives when nine or more wait makes a batch of five of them, or of a larger multiple, drawn at random, move to
`reports`; at least five stay. So two looks at a survey, at whatever questions, differ by no report or by five and more,
and the newest one is as likely as any other of those that waited to be among them. The last five to nine move when the
survey is closed.

**No order.** Whenever something arrives, `waiting` is emptied with all its traces and written anew by key, and rows are
added to `reports` by key, a batch at a time. So what the database holds (tables, numbers of transactions, places of
rows, deleted rows) is a function of the invitations in the order in which they were used, of the batches as sets, and
of the set that waits. As batches are drawn at random, this is the same whoever of those that waited together sent
which of their reports: nobody can tell which of them, six or more once ten people have answered, used an invitation.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .._common.files import open_file
from ..certification.stored import decode_label
from ..errors import OptionError, StoreError, SurveyError, ValuesError
from .database import ADDRESS, SQLITE, Database, Session, Sqlite, missing_steps, opened
from .published import Published

HEX = re.compile(r"[0-9a-f]{32}")
FIVE = 5  # no look at the results differs from another one by fewer reports
LARGEST_BATCH = 500  # submissions in one transaction
CLOSED = "SELECT value FROM survey WHERE name = 'closed'"
CHANCE = secrets.SystemRandom()


class Verdict(Enum):
    """What became of a submission."""

    ACCEPTED = "accepted"
    UNKNOWN_INVITATION = "this invitation is unknown or was used"
    OTHER_CONTENT = "this id holds another report"
    CLOSED = "the survey is closed"


@dataclass(frozen=True)
class Submission:
    """The reports of one person: an id that their device made, the content, and the hash of the invitation."""

    id: str
    content: str
    invitation: str | None = None


def token_hash(token: str) -> str:
    """What the store keeps of an invitation: enough to recognise it, not to make it."""
    return hashlib.sha256(b"extremal-invitation\0" + token.encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class StoredReports:
    """The reports that results show, as they are at one moment: by id, and for each person column by column."""

    published: Published
    rows: list[tuple[str, list[Any]]]
    closed: bool  # then these are all

    def columns(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """Columns by name: reports of private questions, answers in the clear; None where somebody left one out."""
        known = [part.column for part in self.published.parts]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValuesError(
                f"the store must have the question {unknown[0]!r}",
                given=", ".join(known)[:200],
                remedy="name one of these",
            )
        where = {name: known.index(name) for name in names}
        return {
            name: [None if row[k] is None else decode_label(row[k]) for _, row in self.rows]
            for name, k in where.items()
        }

    def check_clear(self, names: Sequence[str]) -> None:
        """Refuse names of private questions where true values are needed: their reports are random."""
        questions = self.published.questions
        private = {part.column for q in questions if q.kind != "clear" for part in q.parts}
        wrong = [name for name in names if name in private]
        if wrong:
            clear = ", ".join(q.name for q in questions if q.kind == "clear")[:200]
            raise OptionError(
                "groups, weights, strata and clusters must come from questions asked in the clear",
                given=f"{wrong[0]!r}, whose reports are random",
                remedy=f"name one of {clear}" if clear else "this survey has none",
            )


class Store:
    """A database with reports to one survey. Use it as a context manager, or close it."""

    def __init__(self, database: Database, published: Published) -> None:
        self.database, self.published = database, published

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def place(self) -> str:
        """The database in words."""
        return self.database.place

    # Writing

    def add(self, submissions: Iterable[Submission]) -> list[Verdict]:
        """The verdicts of submissions, in one transaction for each batch of them; they hold when this returns."""
        given, found = list(submissions), []
        for k in range(0, len(given), LARGEST_BATCH):
            found += self._write(given[k : k + LARGEST_BATCH])
        return found

    def invite(self, count: int) -> list[str]:
        """New single-use invitations; the store keeps their hashes only."""
        tokens = [secrets.token_hex(16) for _ in range(count)]
        with self.database.transaction() as session:
            session.insert("invitations", ((token_hash(token),) for token in tokens))
        return tokens

    def close(self) -> None:
        """Forget the order in which reports came, and let go of the database."""
        with contextlib.suppress(StoreError):
            self.database.forget_order()
        self.database.close()

    def finish(self) -> int:
        """Close the survey for good: no new reports, and those that wait move, if they are five. How many there are."""
        with self._alone() as (session, waiting):
            if session.value(CLOSED) is None:
                session.insert("survey", [("closed", "yes")])
            if len(waiting) >= FIVE:
                self._move(session, waiting, set(waiting))
        self.database.forget_order()
        return self.visible()

    def _write(self, batch: list[Submission]) -> list[Verdict]:
        """One transaction."""
        fresh: dict[str, Submission] = {}
        new: dict[str, str] = {}
        with self._alone() as (session, waiting):
            known = waiting | _contents(session, {s.id for s in batch})
            closed = session.value(CLOSED) is not None
            spent: set[str] = set()
            for s in batch if not closed else ():
                if s.id not in known and s.id not in fresh and not (s.invitation and s.invitation in spent):
                    fresh[s.id] = s
                    spent |= {s.invitation} if s.invitation else set()
            allowed = _spend(session, spent)
            new = {s.id: s.content for s in fresh.values() if s.invitation is None or s.invitation in allowed}
            if new:
                waiting |= new
                moving = max(len(waiting) // FIVE - 1, 0) * FIVE
                self._move(session, waiting, set(CHANCE.sample(sorted(waiting), moving)))
        refusal = Verdict.CLOSED if closed else Verdict.UNKNOWN_INVITATION
        return [_verdict(s, known | new, refusal) for s in batch]

    @contextlib.contextmanager
    def _alone(self) -> Iterator[tuple[Session, dict[str, str]]]:
        """A transaction during which nobody else writes reports, and the reports that wait, by id."""
        with self.database.transaction(self.database.alone) as session:
            yield session, dict(session.rows("SELECT id, content FROM waiting"))

    def _move(self, session: Session, waiting: dict[str, str], moving: set[str]) -> None:
        """Move some of the reports to those that results show; the table of the others is written anew, by key."""
        rows = sorted(waiting.items())
        session.run(self.database.empty_waiting)
        session.insert("reports", (row for row in rows if row[0] in moving))
        session.insert("waiting", (row for row in rows if row[0] not in moving))

    # Reading

    def count(self) -> int:
        """How many people's reports are stored, also of those that wait."""
        return int(self._value("SELECT (SELECT count(*) FROM reports) + (SELECT count(*) FROM waiting)"))

    def visible(self) -> int:
        """How many people's reports results and exports show."""
        return int(self._value("SELECT count(*) FROM reports"))

    def closed(self) -> bool:
        """Whether the survey has ended."""
        return self._value(CLOSED) is not None

    def open_invitations(self) -> int:
        """How many invitations were not used yet."""
        return int(self._value("SELECT count(*) FROM invitations"))

    def reports(self) -> StoredReports:
        """The reports that results show, from one query: a part of a batch would tell too much."""
        with self.database.session() as session:
            closed = session.value(CLOSED) is not None
            found = session.rows("SELECT id, content FROM reports ORDER BY id")
        return StoredReports(
            self.published, [(id, self.published.cells(content)) for id, content in found], closed
        )

    def tallies(self) -> Counter[str]:
        """How often each content occurs in the reports that results show."""
        with self.database.session() as session:
            return Counter(dict(session.rows("SELECT content, count(*) FROM reports GROUP BY content")))

    def _value(self, query: str) -> Any:
        with self.database.session() as session:
            return session.value(query)


def create_store(place: str | os.PathLike[str], published: Published) -> Store:
    """The store at a file or address for this survey; new, or one that holds reports to the same questions."""
    with opened(place) as database:
        if isinstance(database, Sqlite):
            with database.failing():
                database.keep_private()
        with database.transaction(database.creating) as session:
            database.migrate(session)
            stored = session.survey()
            if "document" not in stored:
                stored = {
                    "digest": published.digest,
                    "id": published.id or "",
                    "document": published.to_json(),
                }
                session.insert("survey", stored.items())
        if stored["digest"] != published.digest:
            raise SurveyError(
                f"{database.place} holds reports to other questions, answers or mechanisms",
                remedy="choose another database for this version of the survey",
            )
        if stored.get("id", published.id) != published.id:
            raise SurveyError(
                f"{database.place} holds reports under another id: phones that have answered would draw again",
                given=str(published.id),
                remedy=f'write id = "{stored["id"]}" into the survey, or choose another database for another wave',
            )
        return Store(database, published)


def open_store(place: str | os.PathLike[str]) -> Store:
    """A store that exists, with the survey that it holds."""
    return _existing(place, migrate=True)


def read_store(place: str | os.PathLike[str]) -> StoredReports:
    """The reports in a store, which stays as it is."""
    store = _existing(place, migrate=False)
    with contextlib.closing(store.database):
        return store.reports()


def is_store(path: Any) -> bool:
    """Whether a path or an address is that of a store."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    if ADDRESS.match(text):
        return True
    with contextlib.suppress(OSError, ValueError), open_file(text) as file:
        return file.read(len(SQLITE)) == SQLITE
    return False


def _existing(place: str | os.PathLike[str], migrate: bool) -> Store:
    with opened(place) as database:
        if isinstance(database, Sqlite) and not os.path.isfile(database.place):
            raise SurveyError(
                f"there is no store {place}", remedy="give the one that a survey was served with"
            )
        with database.session() as session:
            stored = session.survey()
        if "document" not in stored:
            raise SurveyError(f"{database.place} is not a store of reports", remedy="it holds no survey")
        if migrate and missing_steps(stored):
            with contextlib.suppress(StoreError), database.transaction(database.creating) as session:
                database.migrate(session)  # one that can only be read is read
        return Store(database, Published.from_json(stored["document"]))


def _contents(session: Session, ids: set[str]) -> dict[str, str]:
    """The contents that some ids hold already, of reports that results show."""
    return dict(session.rows(f"SELECT id, content FROM reports WHERE id IN ({_marks(ids)})", *sorted(ids)))


def _spend(session: Session, hashes: set[str]) -> set[str]:
    """Those of the invitations that were open; they are used by this."""
    if not hashes:
        return set()
    query = f"DELETE FROM invitations WHERE hash IN ({_marks(hashes)}) RETURNING hash"
    return {hash for (hash,) in session.rows(query, *sorted(hashes))}


def _marks(values: set[str]) -> str:
    return ", ".join("?" for _ in values)


def _verdict(submission: Submission, known: dict[str, str], refusal: Verdict) -> Verdict:
    if submission.id not in known:
        return refusal
    return Verdict.ACCEPTED if known[submission.id] == submission.content else Verdict.OTHER_CONTENT
