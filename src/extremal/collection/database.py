"""The database of a store: its tables, its version, and connections to SQLite or PostgreSQL.

Five tables that nothing joins: `waiting` and `reports` (a random id made by the respondent's device, the reports, and
the number of the mechanisms that made them; the last few wait, see store.py), `invitations` (hashes of links that were
not used yet; a used one is deleted), `stages` (of a survey that learns its priors) and `survey` (the questionnaire,
whether it is closed, and the version of these tables). No times, no addresses, no order of arrival: keys are random,
and SQLite keeps rows by key alone.

It knows of texts alone, so it stands above all that makes or estimates reports.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._common.files import open_file
from .._common.words import missing
from ..errors import StoreError, SurveyError

SQLITE = b"SQLite format 3\0"  # how a database begins; an empty file is one, too
ADDRESS = re.compile(r"postgres(ql)?(\+\w+)?://")
WAIT_SECONDS = 20  # for another process that writes to the same database
# What databases say where there are no reports.
NO_STORE = ("no such table", "does not exist", "not a database")
PAIRS = "(id TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (id)){by_key}"
# Step k makes version k of a database from version k - 1. Every database goes through all of them, so a step that was
# released stays as it is. Those made before there were versions count as version 0, and have some of these tables.
STEPS = (
    (
        "CREATE TABLE IF NOT EXISTS survey (name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name)){by_key}",
        "CREATE TABLE IF NOT EXISTS reports " + PAIRS,
        "CREATE TABLE IF NOT EXISTS invitations (hash TEXT NOT NULL, PRIMARY KEY (hash)){by_key}",
    ),
    ("CREATE TABLE IF NOT EXISTS waiting " + PAIRS,),
    (
        "ALTER TABLE reports ADD COLUMN mechanism TEXT NOT NULL DEFAULT '1'",
        "ALTER TABLE waiting ADD COLUMN mechanism TEXT NOT NULL DEFAULT '1'",
        "CREATE TABLE stages (number TEXT NOT NULL, mechanism TEXT NOT NULL, files TEXT NOT NULL, "
        "counts TEXT NOT NULL, said TEXT NOT NULL, PRIMARY KEY (number)){by_key}",
    ),
)
MARKED = 3  # from which version on reports name their mechanism


def missing_steps(survey: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """The steps to the present version that a store lacks, by what its survey says."""
    version = int(survey.get("version", 0))
    if version > len(STEPS):
        raise SurveyError("the store was made by a later version of extremal", remedy="install that one")
    return STEPS[version:]


@dataclass(frozen=True)
class Session:
    """One connection, in the hands of one thread. Values stand for question marks."""

    raw: Any
    mark: str

    def run(self, query: str, *values: str) -> Any:
        """Execute a statement; the cursor."""
        text = query.replace("?", self.mark)
        return self.raw.execute(text, values) if values else self.raw.execute(text)

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """All that a query finds, at one moment."""
        return list(self.run(query, *values).fetchall())

    def value(self, query: str, *values: str) -> Any:
        """The first value that a query finds; None if there is none."""
        found = self.rows(query, *values)
        return found[0][0] if found else None

    def insert(self, table: str, rows: Iterable[tuple[str, ...]]) -> None:
        """Add rows, one after the other."""
        given = list(rows)
        if given:
            marks = ", ".join(self.mark for _ in given[0])
            self.raw.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", given)

    def survey(self) -> dict[str, str]:
        """What the table of the survey says; refuses one of a version that is not known yet."""
        found = dict(self.rows("SELECT name, value FROM survey"))
        missing_steps(found)
        return found


class Database(ABC):
    """A database and its connections: those that nobody uses wait, and one that fails is closed."""

    mark: str
    by_key: str  # how rows are kept
    begin: tuple[str, ...]  # a transaction that writes
    alone: tuple[str, ...]  # in one during which nobody else adds reports
    creating: tuple[str, ...]  # in one during which nobody else makes tables
    has_tables: str
    empty_waiting: str
    errors: tuple[type[Exception], ...]

    def __init__(self, place: str) -> None:
        self.place = place  # in words, without a password
        self._idle: list[Any] = []

    @abstractmethod
    def connect(self) -> Any:
        """A new connection, whose commits are on disk when they return."""

    @abstractmethod
    def forget_order(self) -> None:
        """Rewrite the tables by key, so that their bytes no longer show in which order rows came."""

    @abstractmethod
    def forget_invitations(self) -> None:
        """Remove what is left of deleted invitations."""

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """For statements of which each is a transaction of its own; StoreError if the database fails."""
        with self.failing():
            raw = self._ready()
            try:
                yield Session(raw, self.mark)
            except BaseException:
                raw.close()  # which undoes what was not committed
                raise
            self._idle.append(raw)

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """Turns what goes wrong with a database into a StoreError."""
        try:
            yield
        except self.errors as error:
            self.close()  # other connections may have been lost, too
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise StoreError(
                "the database cannot be used now",
                given=f"{self.place}: {said[0][:120]}",
                remedy="check that it is there and has room; what was acknowledged is safe",
            ) from None

    @contextlib.contextmanager
    def transaction(self, first: tuple[str, ...] = ()) -> Iterator[Session]:
        """All or nothing, and on disk when the block ends."""
        with self.session() as session:
            for statement in (*self.begin, *first):
                session.run(statement)
            yield session
            session.run("COMMIT")

    def migrate(self, session: Session) -> None:
        """Bring the tables to the present version, in a transaction that began with `creating`."""
        steps = missing_steps(session.survey() if session.value(self.has_tables) else {})
        for step in steps:
            for statement in step:
                session.run(statement.format(by_key=self.by_key))
        if steps:
            session.run("DELETE FROM survey WHERE name = 'version'")
            session.insert("survey", [("version", str(len(STEPS)))])

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def is_alive(self, raw: Any) -> bool:
        """Whether a connection that has waited still holds."""
        return True

    def _ready(self) -> Any:
        with contextlib.suppress(IndexError):  # another thread may take the last one
            while True:
                raw = self._idle.pop()
                if self.is_alive(raw):
                    return raw
                raw.close()
        return self.connect()


class Sqlite(Database):
    """A file. Only its owner can read it, if `keep_private` made it."""

    mark = "?"
    by_key = " WITHOUT ROWID"
    begin = ("BEGIN IMMEDIATE",)  # nobody else writes
    alone = creating = ()
    has_tables = "SELECT name FROM sqlite_master WHERE name = 'survey'"
    empty_waiting = "DELETE FROM waiting"
    errors = (sqlite3.Error, OSError)

    def connect(self) -> Any:
        raw = sqlite3.connect(
            f"{Path(self.place).as_uri()}?mode=rw",
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        # A rollback journal, not a write-ahead log: a log keeps the order of arrival until it is emptied.
        for name, value in (("journal_mode", "TRUNCATE"), ("synchronous", "FULL"), ("secure_delete", "ON")):
            raw.execute(f"PRAGMA {name}={value}").fetchall()
        return raw

    def forget_order(self) -> None:
        with self.session() as session:
            session.run("VACUUM")
            # Takes the empty journal away; the next connection makes one.
            session.run("PRAGMA journal_mode=DELETE")
        self.close()

    def forget_invitations(self) -> None:
        """Nothing is left: SQLite overwrites what is deleted."""

    def keep_private(self) -> None:
        """Let only its owner read the file, which is made if it is not there; SQLite's own copies follow its mode.

        What is no such file is refused, or left to SQLite to refuse, and keeps its permissions.
        """
        path = self.place
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise SurveyError(f"{path} must be a regular file", remedy="choose another one for the database")
        with open_file(path) as file:
            begin = file.read(len(SQLITE))
        if os.name != "posix" or begin not in (b"", SQLITE):
            return
        for name in (path, *(f"{path}-{kind}" for kind in ("journal", "wal", "shm"))):
            with contextlib.suppress(FileNotFoundError):
                mode = stat.S_IMODE(os.stat(name).st_mode)
                try:
                    if mode & 0o077:
                        os.chmod(name, 0o600)
                except PermissionError:
                    raise SurveyError(
                        f"{name} must be readable by its owner alone",
                        given=f"permissions {mode:03o}, of another user's file",
                        remedy="copy it, or let its owner run this",
                    ) from None


class Postgresql(Database):
    """A server."""

    mark = "%s"
    by_key = ""
    begin = (f"BEGIN; SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = '{WAIT_SECONDS}s'",)
    alone = ("LOCK TABLE waiting IN ACCESS EXCLUSIVE MODE",)
    creating = ("SELECT pg_advisory_xact_lock(7233183901938541)",)  # some number, the same for all stores
    has_tables = "SELECT to_regclass('survey')"
    # A deleted row stays, with the number of its transaction; a table that is truncated is a new file.
    empty_waiting = "TRUNCATE waiting"

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise missing(f"PostgreSQL needs {error.name or error}", "survey") from None
        super().__init__(re.sub(r"//([^:@/]*)[^/]*@", r"//\1@", address).partition("?")[0])
        self.errors = (psycopg.Error, OSError)
        self._address = ADDRESS.sub("postgresql://", address)
        try:
            psycopg.conninfo.conninfo_to_dict(self._address)
        except psycopg.Error:
            raise _no_place(address) from None

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self._address, autocommit=True, connect_timeout=10)

    def is_alive(self, raw: Any) -> bool:
        """Servers are restarted while nobody answers; the next person is not to notice."""
        try:
            raw.execute("SELECT 1")
        except self.errors:
            return False
        return True

    def forget_order(self) -> None:
        # Rows carry the number of the transaction that wrote them: all get the same new one.
        with self.transaction(("LOCK TABLE reports IN ACCESS EXCLUSIVE MODE",)) as session:
            session.run(
                "WITH moved AS (DELETE FROM reports RETURNING id, content, mechanism) "
                "INSERT INTO reports SELECT id, content, mechanism FROM moved ORDER BY id"
            )
        with self.session() as session:
            session.run("VACUUM FULL reports")
        self.forget_invitations()

    def forget_invitations(self) -> None:
        with self.session() as session:
            session.run("VACUUM FULL invitations")


def _no_place(text: str) -> SurveyError:
    return SurveyError(
        "the database must be a file for SQLite or an address like postgresql://user@host/name",
        given=re.sub(r"//.*@", "//…@", text)[:80],
    )


@contextlib.contextmanager
def opened(place: str | os.PathLike[str]) -> Iterator[Database]:
    """A database, closed if the block fails; one without the tables of a store is refused as none."""
    text = os.fspath(place)
    if "://" in text and not ADDRESS.match(text):
        raise _no_place(text)
    database = Postgresql(text) if ADDRESS.match(text) else Sqlite(os.path.abspath(text))
    try:
        yield database
    except BaseException as error:
        database.close()
        if isinstance(error, StoreError) and any(words in str(error) for words in NO_STORE):
            raise SurveyError(
                f"{database.place} is not a store of reports",
                remedy="give the one that a survey was served with",
            ) from None
        raise
