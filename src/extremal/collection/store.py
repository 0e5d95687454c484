"""The store of reports: durable, each report once, and nothing that tells who sent which.

**Once.** A submission may be repeated: the same id with the same content is accepted again and counts once. The use of
an invitation and the report that it allows are one transaction, so a used invitation with an id that is not stored is
always a second use.

**Not the newest.** Reports are stored in the table `waiting` first. Results and exports read `reports` alone. A report
that arrives when nine or more wait makes a batch of five of them, or of a larger multiple, drawn at random, move to
`reports`; at least five stay. So two looks at a survey, at whatever questions, differ by no report or by five and more,
and the newest one is as likely as any other of those that waited to be among them. The last five to nine move when the
survey is closed.

**Stages.** Where priors are learned, a row of the table `stages` says with which mechanisms each stage asks, and once
it is full, what its reports were. The report that fills a stage and these counts are written in one transaction, in
which all reports of the stage become visible: so what is learned from them is what results show, too. Whoever finds a
full stage without a next one makes that (`learning.py`), and the first who writes it wins. Reports keep the number of
their mechanisms, which is that of the first stage with them. Those of each number wait and move by themselves.

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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from .._common.files import open_file
from .._common.json import canonical, parse_json
from ..certification.certified import Certified
from ..certification.stored import decode_label
from ..errors import OptionError, StoreError, SurveyError, ValuesError
from .database import ADDRESS, MARKED, SQLITE, Database, Session, Sqlite, missing_steps, opened
from .published import Published, mechanisms_of

HEX = re.compile(r"[0-9a-f]{32}")
FIVE = 5  # no look at the results differs from another one by fewer reports
LARGEST_BATCH = 500  # submissions in one transaction
NUMBER = "mechanism number"  # a column of exports where priors are learned; no question has this name
FIRST = "1"  # the number of the mechanisms that a survey begins with
COUNT = "SELECT (SELECT count(*) FROM reports) + (SELECT count(*) FROM waiting)"
CLOSED = "SELECT value FROM survey WHERE name = 'closed'"
CHANCE = secrets.SystemRandom()

Report = tuple[str, str, str]  # an id, what one person sent, and the number of the mechanisms that drew it


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
    mechanism: str = FIRST  # the number of the mechanisms that drew the reports


@dataclass(frozen=True)
class Stage:
    """A stage of a survey that learns: with which mechanisms it asks, and how often each report came, if it is full."""

    number: int
    mechanism: str
    counts: dict[str, list[int]] | None  # by question, in the order of the outputs; then who was not asked
    said: str = ""  # what was not learned, and why


def token_hash(token: str) -> str:
    """What the store keeps of an invitation: enough to recognise it, not to make it."""
    return hashlib.sha256(b"extremal-invitation\0" + token.encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class StoredReports:
    """The reports that results show, as they are at one moment: by id, and for each person column by column."""

    published: Published
    rows: list[tuple[str, list[Any]]]
    closed: bool  # then these are all
    numbers: list[str]  # of the mechanisms that drew each row
    surveys: Mapping[str, Published]  # with the mechanisms of each number

    def only(self, numbers: Sequence[str]) -> StoredReports:
        """Those that the mechanisms of some numbers drew."""
        wanted = list(numbers)
        kept = [k for k, number in enumerate(self.numbers) if number in wanted]
        surveys = {number: self.surveys[number] for number in wanted}
        rows, drew = [self.rows[k] for k in kept], [self.numbers[k] for k in kept]
        return StoredReports(surveys[wanted[0]], rows, self.closed, drew, surveys)

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

    def check_one_mechanism(self, names: Sequence[str]) -> None:
        """Refuse columns that several mechanisms drew, one after the other."""
        drew = {number: self.surveys[number] for number in self.numbers}
        for name in names:
            if len(found := mechanisms_of(drew, name)) > 1:
                raise ValuesError(
                    f"the reports to {name!r} must come from one mechanism here",
                    given=f"{len(found)}, learned one after the other",
                    remedy="extremal estimate STORE gathers them into one estimate",
                )

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
        self.surveys = {FIRST: published}  # with the mechanisms of each number
        self.stages: list[Stage] = []
        self.filled = False  # whether a report that came here has filled a stage since the last look
        self.refresh()

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
            groups = _by_mechanism(waiting).values()
            moving = {id for ids in groups if len(ids) >= FIVE for id in ids}
            if moving:
                self._move(session, waiting, moving)
        self.database.forget_order()
        return self.visible()

    def follow(self, after: int, found: Mapping[str, Certified], said: str) -> None:
        """Begin the stage after a full one with these mechanisms, by question, unless somebody else was first."""
        survey = self.published.with_mechanisms(found)
        self.refresh()
        known = (number for number, other in self.surveys.items() if other.digest == survey.digest)
        mechanism = next(known, str(after + 1))
        files = canonical({name: certified.to_json() for name, certified in found.items()})
        with self.database.transaction(self.database.alone) as session:
            if session.value("SELECT number FROM stages WHERE number = ?", str(after + 1)) is None:
                session.insert("stages", [(str(after + 1), mechanism, files, "", said)])
        self.refresh()

    def _write(self, batch: list[Submission]) -> list[Verdict]:
        """One transaction."""
        fresh: dict[str, Submission] = {}
        new: dict[str, Report] = {}
        with self._alone() as (session, waiting):
            ids = sorted({s.id for s in batch})
            query = f"SELECT id, content, mechanism FROM reports WHERE id IN ({_marks(ids)})"
            known = waiting | {row[0]: row for row in session.rows(query, *ids)}
            room = self._room(session)
            spent: set[str] = set()
            for s in batch if room else ():
                if s.id not in known and s.id not in fresh and not (s.invitation and s.invitation in spent):
                    fresh[s.id] = s
                    spent |= {s.invitation} if s.invitation else set()
            allowed = _spend(session, spent)
            good = [s for s in fresh.values() if s.invitation is None or s.invitation in allowed]
            new = {s.id: (s.id, s.content, s.mechanism) for s in good[:room]}
            session.insert("invitations", ((s.invitation,) for s in good[room:] if s.invitation))  # not used
            if new:
                waiting |= new
                groups = _by_mechanism(waiting)
                moving = {mechanism: max(len(ids) // FIVE - 1, 0) * FIVE for mechanism, ids in groups.items()}
                full = self._full(session, groups)
                moving |= {} if full is None else {full[0].mechanism: full[1]}
                chosen = (CHANCE.sample(sorted(ids), moving[mechanism]) for mechanism, ids in groups.items())
                self._move(session, waiting, {id for ids in chosen for id in ids})
                if full is not None:
                    self._end(session, full[0])
        self.filled = self.filled or bool(new and full)
        refusal = Verdict.CLOSED if len(new) == room else Verdict.UNKNOWN_INVITATION
        stored = known | new
        same = {True: Verdict.ACCEPTED, False: Verdict.OTHER_CONTENT}
        return [same[stored[s.id][1] == s.content] if s.id in stored else refusal for s in batch]

    def _room(self, session: Session) -> int:
        """How many more reports are taken at once."""
        held = timedelta(seconds=self.published.hold)  # a report that was drawn in time may wait so long
        if session.value(CLOSED) is not None or self.published.over(datetime.now(UTC) - held):
            return 0
        most = self.published.most_people
        return LARGEST_BATCH + 1 if most is None else max(most - int(session.value(COUNT)), 0)

    def _full(self, session: Session, groups: Mapping[str, list[str]]) -> tuple[Stage, int] | None:
        """The stage that runs, if its reports are all there, and how many of those that wait make it full."""
        if self.published.learn is None:
            return None
        stages = _stages(session)
        stage, wanted = stages[-1], self._wanted(stages)
        if stage.counts is not None or wanted is None:
            return None
        seen = session.value("SELECT count(*) FROM reports WHERE mechanism = ?", stage.mechanism)
        lacking = max(wanted - int(seen), FIVE)
        return (stage, lacking) if len(groups.get(stage.mechanism, ())) >= lacking else None

    def _wanted(self, stages: Sequence[Stage]) -> int | None:
        """How many reports the mechanisms of the last of these stages take until it is full; None if none is enough."""
        learn = self.published.learn
        if learn is None or learn.people(stages[-1].number) is None:
            return None
        return sum(learn.people(s.number) or 0 for s in stages if s.mechanism == stages[-1].mechanism)

    def _end(self, session: Session, stage: Stage) -> None:
        """Write down how often each report came in a full stage: late ones under the same mechanisms count no more."""
        query = "SELECT content, count(*) FROM reports WHERE mechanism = ? GROUP BY content"
        found = self.published.counted(dict(session.rows(query, stage.mechanism)))
        if stage.mechanism not in self.surveys:
            self._learn_of(session, stage)
        counts = {}
        for q in self.surveys[stage.mechanism].learned:
            left_out = [None] if q.optional else []  # not asked, which everybody may know
            counts[q.name] = [found[q.name][repr(y)] for y in [*q.mechanisms[0].outputs, *left_out]]
            for other in _stages(session):
                if other.mechanism == stage.mechanism and other.counts is not None:
                    counts[q.name] = [
                        n - m for n, m in zip(counts[q.name], other.counts[q.name], strict=True)
                    ]
        session.run("UPDATE stages SET counts = ? WHERE number = ?", canonical(counts), str(stage.number))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[tuple[Session, dict[str, Report]]]:
        """A transaction during which nobody else writes reports, and the reports that wait, by id."""
        with self.database.transaction(self.database.alone) as session:
            yield session, {row[0]: row for row in session.rows("SELECT id, content, mechanism FROM waiting")}

    def _move(self, session: Session, waiting: dict[str, Report], moving: set[str]) -> None:
        """Move some of the reports to those that results show; the table of the others is written anew, by key."""
        rows = sorted(waiting.values())
        session.run(self.database.empty_waiting)
        session.insert("reports", (row for row in rows if row[0] in moving))
        session.insert("waiting", (row for row in rows if row[0] not in moving))

    # Reading

    def refresh(self) -> None:
        """Learn of stages that have begun or ended."""
        if self.published.learn is None:
            return
        with self.database.session() as session:
            self.filled = False
            found = _stages(session)
            for stage in found:
                if stage.mechanism not in self.surveys:
                    self._learn_of(session, stage)
        self.stages = found

    def _learn_of(self, session: Session, stage: Stage) -> None:
        files = parse_json(session.value("SELECT files FROM stages WHERE number = ?", stage.mechanism))
        found = {name: Certified.from_json(text) for name, text in files.items()}
        self.surveys = {**self.surveys, stage.mechanism: self.published.with_mechanisms(found)}

    @property
    def current(self) -> Published:
        """The survey with the mechanisms of the stage that runs."""
        return self.surveys[self.stages[-1].mechanism] if self.stages else self.published

    def count(self) -> int:
        """How many people's reports are stored, also of those that wait."""
        return int(self._value(COUNT))

    def takes_reports(self) -> bool:
        """Whether the survey is open now."""
        with self.database.session() as session:
            now = datetime.now(UTC)
            return not (self.published.early(now) or self.published.over(now)) and self._room(session) > 0

    def visible(self) -> int:
        """How many people's reports results and exports show."""
        return int(self._value("SELECT count(*) FROM reports"))

    def closed(self) -> bool:
        """Whether the survey has ended."""
        return self._value(CLOSED) is not None

    def lacking(self) -> int | None:
        """How many reports the stage that runs still takes to be full; None in the last stage."""
        wanted = self._wanted(self.stages)
        if wanted is None:
            return None
        both = "SELECT mechanism FROM reports UNION ALL SELECT mechanism FROM waiting"
        query = f"SELECT count(*) FROM ({both}) AS m WHERE mechanism = '{self.stages[-1].mechanism}'"
        return max(wanted - int(self._value(query)), 0)

    def open_invitations(self) -> int:
        """How many invitations were not used yet."""
        return int(self._value("SELECT count(*) FROM invitations"))

    def reports(self) -> StoredReports:
        """The reports that results show, from one query: a part of a batch would tell too much."""
        with self.database.session() as session:
            closed = session.value(CLOSED) is not None
            marked = int(session.survey().get("version", 0)) >= MARKED
            mechanism = "mechanism" if marked else f"'{FIRST}'"
            found = session.rows(f"SELECT id, content, {mechanism} FROM reports ORDER BY id")
        rows = [(id, self.published.cells(content)) for id, content, _ in found]
        self.refresh()
        return StoredReports(self.published, rows, closed, [number for *_, number in found], self.surveys)

    def tallied(self) -> dict[str, Counter[str]]:
        """How often each content occurs in the reports that results show, by the number of the mechanisms."""
        found: dict[str, Counter[str]] = {}
        with self.database.session() as session:
            query = "SELECT mechanism, content, count(*) FROM reports GROUP BY mechanism, content"
            for mechanism, content, times in session.rows(query):
                found.setdefault(mechanism, Counter())[content] = times
        self.refresh()
        return found

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
                if published.learn is not None:
                    session.insert("stages", [(FIRST, FIRST, "", "", "")])
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
        if _learning(parse_json(stored["document"])) != _learning(parse_json(published.to_json())):
            raise SurveyError(
                f"{database.place} has stages that do not fit the survey",
                given="another table [learn], or other ranges in between",
                remedy="put them back as they were, or choose another database",
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


def _learning(document: dict[str, Any]) -> list[Any]:
    """What the stages of a survey follow from."""
    return [document.get("learn"), [question.get("between") for question in document["questions"]]]


def _stages(session: Session) -> list[Stage]:
    rows = session.rows("SELECT number, mechanism, counts, said FROM stages")
    found = (
        Stage(int(number), mechanism, parse_json(counts) if counts else None, said)
        for number, mechanism, counts, said in rows
    )
    return sorted(found, key=lambda stage: stage.number)


def _by_mechanism(reports: Mapping[str, Report]) -> dict[str, list[str]]:
    """The ids of reports by the number of the mechanisms that drew them."""
    found: dict[str, list[str]] = {}
    for id, _, mechanism in reports.values():
        found.setdefault(mechanism, []).append(id)
    return found


def _spend(session: Session, hashes: set[str]) -> set[str]:
    """Those of the invitations that were open; they are used by this."""
    if not hashes:
        return set()
    query = f"DELETE FROM invitations WHERE hash IN ({_marks(hashes)}) RETURNING hash"
    return {hash for (hash,) in session.rows(query, *sorted(hashes))}


def _marks(values: Collection[str]) -> str:
    return ", ".join("?" for _ in values)
