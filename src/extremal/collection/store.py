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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import sqlalchemy as sql

from .._common.json import parse_json
from .._common.words import missing
from ..errors import StoreError, SurveyError
from .published import Published
from .schema import (
    WAIT_SECONDS,
    database_url,
    invitations_table,
    keep_private,
    make_engine,
    metadata,
    reports_table,
    shown,
    survey_table,
    waiting_table,
)

HEX = re.compile(r"[0-9a-f]{32}")
FIVE = 5  # no look at the results differs from another one by fewer reports
LARGEST_BATCH = 500  # submissions in one transaction
PART = 10_000  # rows in one statement
PATIENCE = f"lock_timeout = '{WAIT_SECONDS}s'"
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


class Store:
    """A database with reports to one survey. Use it as a context manager, or close it."""

    def __init__(self, engine: sql.Engine, published: Published) -> None:
        self.engine, self.published = engine, published

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def place(self) -> str:
        """The database in words."""
        return shown(self.engine.url)

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
        rows = [{"hash": token_hash(token)} for token in tokens]
        with self._transaction() as connection:
            for k in range(0, count, PART):
                connection.execute(sql.insert(invitations_table), rows[k : k + PART])
        return tokens

    def close(self) -> None:
        """Forget the order in which reports came, and let go of the database."""
        with contextlib.suppress(StoreError):
            self.forget_order()
            if self.engine.dialect.name == "sqlite":
                self._alone("PRAGMA journal_mode=DELETE")  # takes the empty journal away
        self.engine.dispose()

    def finish(self) -> int:
        """Close the survey for good: no new reports, and those that wait move, if they are five. How many there are."""
        with self._transaction() as connection:
            waiting = self._alone_with_waiting(connection)
            if not _is_closed(connection):
                connection.execute(sql.insert(survey_table), [{"name": "closed", "value": "yes"}])
            if len(waiting) >= FIVE:
                self._move(connection, waiting, set(waiting))
        self.forget_order()
        return self.visible()

    def _write(self, batch: list[Submission]) -> list[Verdict]:
        """One transaction."""
        fresh: dict[str, Submission] = {}
        with self._transaction() as connection:
            waiting = self._alone_with_waiting(connection)
            known = waiting | _contents(connection, {s.id for s in batch})
            closed = _is_closed(connection)
            spent: set[str] = set()
            for s in batch if not closed else ():
                if s.id not in known and s.id not in fresh and not (s.invitation and s.invitation in spent):
                    fresh[s.id] = s
                    spent |= {s.invitation} if s.invitation else set()
            allowed = _spend(connection, spent)
            new = {s.id: s.content for s in fresh.values() if s.invitation is None or s.invitation in allowed}
            if new:
                waiting |= new
                moving = max(len(waiting) // FIVE - 1, 0) * FIVE
                self._move(connection, waiting, set(CHANCE.sample(sorted(waiting), moving)))
        refusal = Verdict.CLOSED if closed else Verdict.UNKNOWN_INVITATION
        return [_verdict(s, known | new, refusal) for s in batch]

    def _alone_with_waiting(self, connection: sql.Connection) -> dict[str, str]:
        """The reports that wait, by id; until the transaction ends, no other one writes reports."""
        if self.engine.dialect.name == "postgresql":  # SQLite's transactions that write are alone anyway
            connection.exec_driver_sql("LOCK TABLE waiting IN ACCESS EXCLUSIVE MODE")
        return {row.id: row.content for row in connection.execute(sql.select(waiting_table))}

    def _move(self, connection: sql.Connection, waiting: dict[str, str], moving: set[str]) -> None:
        """Move some of the reports to those that results show; the table of the others is written anew, by key."""
        rows = [{"id": id, "content": waiting[id]} for id in sorted(waiting)]
        # PostgreSQL keeps deleted rows, with the number of their transaction; a table that was truncated is a new file.
        emptied = "TRUNCATE waiting" if self.engine.dialect.name == "postgresql" else "DELETE FROM waiting"
        connection.exec_driver_sql(emptied)
        for table, part in (
            (reports_table, [row for row in rows if row["id"] in moving]),
            (waiting_table, [row for row in rows if row["id"] not in moving]),
        ):
            if part:
                connection.execute(sql.insert(table), part)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sql.Connection]:
        try:
            with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
                if (
                    self.engine.dialect.name == "postgresql"
                ):  # on disk when it returns, whatever the server's habit
                    connection.exec_driver_sql(f"SET LOCAL synchronous_commit = on; SET LOCAL {PATIENCE}")
                yield connection
        except (sql.exc.SQLAlchemyError, OSError) as error:
            raise _failure(self.place, error) from None

    # Reading

    def count(self) -> int:
        """How many people's reports are stored, also of those that wait."""
        with self._reading() as connection:
            return _count(connection, reports_table) + _count(connection, waiting_table)

    def visible(self) -> int:
        """How many people's reports results and exports show."""
        with self._reading() as connection:
            return _count(connection, reports_table)

    def closed(self) -> bool:
        """Whether the survey has ended."""
        with self._reading() as connection:
            return _is_closed(connection)

    def open_invitations(self) -> int:
        """How many invitations were not used yet."""
        with self._reading() as connection:
            return _count(connection, invitations_table)

    def rows(self) -> Iterator[tuple[str, list[Any]]]:
        """Ids and reports that results show, by id; read at one moment, for a part of a batch would tell too much."""
        with self._reading() as connection:
            found = connection.execute(sql.select(reports_table).order_by(reports_table.c.id)).all()
        return ((id, parse_json(content)) for id, content in found)

    def tallies(self) -> Counter[str]:
        """How often each content occurs in the reports that results show."""
        query = sql.select(reports_table.c.content, sql.func.count()).group_by(reports_table.c.content)
        with self._reading() as connection:
            return Counter({content: int(count) for content, count in connection.execute(query)})

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sql.Connection]:
        try:
            with self.engine.connect() as connection:
                yield connection
        except (sql.exc.SQLAlchemyError, OSError) as error:
            raise _failure(self.place, error) from None

    # Forgetting

    def forget_order(self) -> None:
        """Rewrite the tables by key, so that their bytes no longer show in which order rows came."""
        if self.engine.dialect.name == "sqlite":
            self._alone("VACUUM")
            return
        # Rows of PostgreSQL carry the number of the transaction that wrote them: all get the same new one.
        moved = "WITH moved AS (DELETE FROM reports RETURNING id, content) "
        with self._transaction() as connection:
            connection.exec_driver_sql("LOCK TABLE reports IN ACCESS EXCLUSIVE MODE")
            connection.exec_driver_sql(
                moved + "INSERT INTO reports SELECT id, content FROM moved ORDER BY id"
            )
        self._alone("VACUUM FULL reports")
        self.forget_invitations()

    def forget_invitations(self) -> None:
        """Remove what is left of deleted rows; SQLite overwrites them when they are deleted."""
        if self.engine.dialect.name == "postgresql":
            self._alone("VACUUM FULL invitations")

    def _alone(self, command: str) -> None:
        try:
            with self.engine.connect() as connection:
                raw: Any = connection.connection.dbapi_connection
                if self.engine.dialect.name == "postgresql":
                    connection.rollback()
                    raw.autocommit = True
                    try:
                        raw.execute(command)
                    finally:
                        raw.autocommit = False
                else:
                    raw.execute(command)
        except Exception as error:
            raise _failure(self.place, error) from None


def create_store(place: str | os.PathLike[str], published: Published) -> Store:
    """The store at a file or address for this survey; new, or one that holds reports to the same questions."""
    with _opened(database_url(place)) as engine:
        keep_private(engine.url)
        metadata.create_all(engine)
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            stored = _stored_survey(connection)
            if not stored:
                rows = [
                    {"name": "digest", "value": published.digest},
                    {"name": "id", "value": published.id or ""},
                    {"name": "document", "value": published.to_json()},
                ]
                connection.execute(sql.insert(survey_table), rows)
        if stored and stored.get("digest") != published.digest:
            raise SurveyError(
                f"{shown(engine.url)} holds reports to other questions, answers or mechanisms",
                remedy="choose another database for this version of the survey",
            )
        if stored and stored.get("id", published.id) != published.id:
            raise SurveyError(
                f"{shown(engine.url)} holds reports under another id: phones that have answered would draw again",
                given=str(published.id),
                remedy=f'write id = "{stored["id"]}" into the survey, or choose another database for another wave',
            )
        return Store(engine, published)


def open_store(place: str | os.PathLike[str]) -> Store:
    """A store that exists, with the survey that it holds."""
    url = database_url(place)
    if url.drivername == "sqlite" and not os.path.isfile(str(url.database)):
        raise SurveyError(f"there is no store {place}", remedy="give the one that a survey was served with")
    with _opened(url) as engine:
        with engine.connect() as connection:
            stored = _stored_survey(connection)
        if "document" not in stored:
            raise SurveyError(f"{shown(url)} is not a store of reports", remedy="it holds no survey")
        with contextlib.suppress(sql.exc.SQLAlchemyError):  # one that can only be read is read
            waiting_table.create(engine, checkfirst=True)  # a store of an earlier version has none
        return Store(engine, Published.from_json(stored["document"]))


@contextlib.contextmanager
def _opened(url: sql.URL) -> Iterator[sql.Engine]:
    """An engine that is let go of if something is wrong with its database."""
    try:
        engine = make_engine(url)
    except ImportError as error:
        raise missing(f"PostgreSQL needs {error.name or error}", "survey") from None
    try:
        yield engine
    except (sql.exc.SQLAlchemyError, OSError) as error:
        engine.dispose()
        if any(words in str(error) for words in ("no such table", "does not exist", "not a database")):
            raise SurveyError(
                f"{shown(url)} is not a store of reports", remedy="give the one that a survey was served with"
            ) from None
        raise _failure(shown(url), error) from None
    except BaseException:
        engine.dispose()
        raise


def _stored_survey(connection: sql.Connection) -> dict[str, str]:
    return {row.name: row.value for row in connection.execute(sql.select(survey_table))}


def _is_closed(connection: sql.Connection) -> bool:
    return bool(connection.scalar(sql.select(survey_table.c.value).where(survey_table.c.name == "closed")))


def _count(connection: sql.Connection, table: sql.Table) -> int:
    return int(connection.scalar(sql.select(sql.func.count()).select_from(table)) or 0)


def _contents(connection: sql.Connection, ids: set[str]) -> dict[str, str]:
    """The contents that some ids hold already, of reports that results show."""
    if not ids:
        return {}
    query = sql.select(reports_table).where(reports_table.c.id.in_(sorted(ids)))
    return {row.id: row.content for row in connection.execute(query)}


def _spend(connection: sql.Connection, hashes: set[str]) -> set[str]:
    """Those of the invitations that were open; they are used by this."""
    if not hashes:
        return set()
    condition = invitations_table.c.hash.in_(sorted(hashes))
    return set(
        connection.scalars(sql.delete(invitations_table).where(condition).returning(invitations_table.c.hash))
    )


def _verdict(submission: Submission, known: dict[str, str], refusal: Verdict) -> Verdict:
    if submission.id not in known:
        return refusal
    return Verdict.ACCEPTED if known[submission.id] == submission.content else Verdict.OTHER_CONTENT


def _failure(place: str, error: BaseException) -> StoreError:
    cause = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
    return StoreError(
        "the database cannot be used now",
        given=f"{place}: {cause[0][:120]}",
        remedy="check that it is there and has room; what was acknowledged is safe",
    )
