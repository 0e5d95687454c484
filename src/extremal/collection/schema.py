"""The tables of a store, and how its database is opened.

Four tables that nothing joins: `waiting` and `reports` (a random id made by the respondent's device, and the reports;
the last few wait, see store.py), `invitations` (hashes of links that were not used yet; a used one is deleted) and
`survey` (the questionnaire itself, and whether it is closed). No times, no addresses, no order of arrival: keys are
random, and SQLite keeps rows by key alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from typing import Any

import sqlalchemy as sql

from .._common.files import open_file
from ..errors import SurveyError

SQLITE = b"SQLite format 3\0"  # how a database begins; an empty file is one, too
WAIT_SECONDS = 20  # for another process that writes to the same database

metadata = sql.MetaData()
survey_table = sql.Table(
    "survey",
    metadata,
    sql.Column("name", sql.Text, primary_key=True),
    sql.Column("value", sql.Text, nullable=False),
    sqlite_with_rowid=False,
)
reports_table = sql.Table(
    "reports",
    metadata,
    sql.Column("id", sql.Text, primary_key=True),
    sql.Column("content", sql.Text, nullable=False),
    sqlite_with_rowid=False,
)
waiting_table = sql.Table(
    "waiting",
    metadata,
    sql.Column("id", sql.Text, primary_key=True),
    sql.Column("content", sql.Text, nullable=False),
    sqlite_with_rowid=False,
)
invitations_table = sql.Table(
    "invitations", metadata, sql.Column("hash", sql.Text, primary_key=True), sqlite_with_rowid=False
)


def database_url(place: str | os.PathLike[str]) -> sql.URL:
    """The URL of a database: as given, or that of an SQLite file."""
    text = os.fspath(place)
    if re.match(r"postgres(ql)?(\+\w+)?://", text):
        try:
            return sql.make_url(text).set(drivername="postgresql+psycopg")
        except (sql.exc.ArgumentError, ValueError):
            pass
    elif "://" not in text:
        return sql.URL.create("sqlite", database=os.path.abspath(text))
    raise SurveyError(
        "the database must be a file for SQLite or an address like postgresql://user@host/name",
        given=re.sub(r"//[^@/]*@", "//…@", text)[:80],
    )


def shown(url: sql.URL) -> str:
    """The database in words, without a password."""
    return str(url.database) if url.drivername == "sqlite" else url.render_as_string(hide_password=True)


def keep_private(url: sql.URL) -> None:
    """Let only its owner read an SQLite file, which is made if it is not there; SQLite's own copies follow its mode.

    What is no such file is refused, or left to SQLite to refuse, and keeps its permissions.
    """
    if url.drivername != "sqlite" or os.name != "posix":
        return
    path = str(url.database)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise SurveyError(f"{path} must be a regular file", remedy="choose another one for the database")
    with open_file(path) as file:
        begin = file.read(len(SQLITE))
    if begin not in (b"", SQLITE):
        return
    for name in (path, *(f"{path}-{kind}" for kind in ("journal", "wal", "shm"))):
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(os.stat(name).st_mode)
            if mode & 0o077:
                try:
                    os.chmod(name, 0o600)
                except PermissionError:
                    raise SurveyError(
                        f"{name} must be readable by its owner alone",
                        given=f"permissions {mode:03o}, of another user's file",
                        remedy="copy it, or let its owner run this",
                    ) from None


def make_engine(url: sql.URL) -> sql.Engine:
    """An engine whose commits are on disk when they return."""
    if url.drivername != "sqlite":
        return sql.create_engine(url, pool_pre_ping=True, pool_size=4, connect_args={"connect_timeout": 10})
    engine = sql.create_engine(url, connect_args={"timeout": WAIT_SECONDS})

    def settings(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not where the driver guesses
        # A rollback journal, not a write-ahead log: a log keeps the order of arrival until it is emptied.
        for name, value in (("journal_mode", "TRUNCATE"), ("synchronous", "FULL"), ("secure_delete", "ON")):
            connection.execute(f"PRAGMA {name}={value}")

    def begin(connection: sql.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    sql.event.listen(engine, "connect", settings)
    sql.event.listen(engine, "begin", begin)
    return engine
