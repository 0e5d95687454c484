"""The store: every report once, nothing lost, nothing that tells who sent which. On SQLite and on PostgreSQL."""

import contextlib
import json
import secrets
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

pytest.importorskip("starlette")

from extremal.collection import database as database_module
from extremal.collection import store as store_module
from extremal.collection.database import STEPS, opened
from extremal.collection.published import Published
from extremal.collection.store import Submission, Verdict, create_store, open_store, read_store, token_hash
from extremal.errors import StoreError, SurveyError
from tests.support.phones import drawn, full_disk, published, stored
from tests.support.wording import refused

ACCEPTED, UNKNOWN, OTHER = Verdict.ACCEPTED, Verdict.UNKNOWN_INVITATION, Verdict.OTHER_CONTENT
CLOSED = Verdict.CLOSED


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "survey.db")
        return
    cluster = request.getfixturevalue("postgres_cluster")
    yield cluster.url
    cluster.empty()


def submission(seed=0, token=None, id=None):
    content = published().content(drawn(published(), seed))
    return Submission(id or secrets.token_hex(16), content, token and token_hash(token))


def test_a_report_is_stored_once_however_often_it_is_sent(place):
    one, two = submission(1), submission(2)
    with create_store(place, published()) as store:
        assert store.add([one, two, one]) == [ACCEPTED] * 3
        assert store.add([one]) == [ACCEPTED]
        assert store.add([replace(one, content=submission(3).content)]) == [OTHER]
        assert store.count() == 2
    with open_store(place) as store:  # by itself: the survey lies in it
        assert store.published.digest == published().digest
        assert stored(store) == {s.id: json.loads(s.content) for s in (one, two)}


def test_a_store_of_another_id_is_refused_and_the_right_one_is_named(place):
    with create_store(place, published()):
        pass
    with pytest.raises(SurveyError, match=f'write id = "{published().id}" into the survey'):
        create_store(place, replace(published(), id="another-survey"))
    with create_store(place, replace(published(), introduction="Other words.")) as store:
        assert store.published.id == published().id


def test_an_invitation_is_good_for_one_report_and_its_repetition(place):
    with create_store(place, published()) as store:
        a, b = store.invite(2)
        first = submission(1, a)
        assert store.add([first, submission(2, a)]) == [ACCEPTED, UNKNOWN]
        assert store.add([first, submission(3, a), submission(4, secrets.token_hex(16))]) == [
            ACCEPTED,
            UNKNOWN,
            UNKNOWN,
        ]
        assert (store.count(), store.open_invitations()) == (1, 1)
        # An id that holds another report: the invitation stays good.
        assert store.add([submission(5, b, id=first.id)]) in ([OTHER], [ACCEPTED])
        assert store.open_invitations() == 1
        assert store.add([submission(6, b)]) == [ACCEPTED]
        assert (store.count(), store.open_invitations()) == (2, 0)


def test_an_invitation_that_came_when_the_survey_was_full_stays_good(place):
    with create_store(place, replace(published(), most_people=2)) as store:
        people = [submission(k, token) for k, token in enumerate(store.invite(4))]
        unknown = submission(9, secrets.token_hex(16))
        assert store.add([unknown, *people]) == [CLOSED, ACCEPTED, ACCEPTED, CLOSED, CLOSED]
        assert (store.count(), store.open_invitations()) == (2, 2)
    with create_store(place, replace(published(), most_people=3)) as store:  # somebody wants one more
        assert store.add(people) == [ACCEPTED, ACCEPTED, ACCEPTED, CLOSED]
        assert (store.count(), store.open_invitations()) == (3, 1)


def test_fifty_uses_of_one_invitation_at_once_through_two_servers_count_once(place):
    with create_store(place, published()) as one, create_store(place, published()) as two:
        (token,) = one.invite(1)
        tries = [submission(k, token) for k in range(50)]
        with ThreadPoolExecutor(8) as pool:
            verdicts = list(pool.map(lambda k: (one, two)[k % 2].add([tries[k]])[0], range(50)))
        assert sorted(v.name for v in verdicts) == ["ACCEPTED"] + ["UNKNOWN_INVITATION"] * 49
        assert one.count() == two.count() == 1


def test_one_report_sent_to_two_servers_at_once_counts_once(place):
    with create_store(place, published()) as one, create_store(place, published()) as two:
        tokens = one.invite(10)
        for k, token in enumerate(tokens):
            same = submission(k, token)
            with ThreadPoolExecutor(4) as pool:
                verdicts = list(pool.map(lambda n, s=same: (one, two)[n % 2].add([s])[0], range(4)))
            assert verdicts == [ACCEPTED] * 4
        assert (one.count(), one.open_invitations()) == (10, 0)


def test_rows_come_by_id(place, monkeypatch):
    monkeypatch.setattr(store_module, "LARGEST_BATCH", 5)
    with create_store(place, published()) as store:
        given = [submission(k) for k in range(30)]
        assert store.add(given) == [ACCEPTED] * 30
        assert store.finish() == 30
        assert [id for id, _ in store.reports().rows] == sorted(s.id for s in given)


def test_an_export_while_reports_move_shows_whole_batches(place):
    with create_store(place, published()) as store:
        store.add(submission(k) for k in range(40))
        exported = iter(store.reports().rows)
        begun = [next(exported)]
        for k in range(10):
            store.add(submission(100 * (k + 1) + j) for j in range(5))
        assert store.visible() == 85
        assert len(begun) + len(list(exported)) == 35


def test_a_store_of_another_survey_is_refused(place):
    create_store(place, published()).close()
    asked = published().questions
    other = replace(published(), questions=(replace(asked[0], text="Another question?"), *asked[1:]))
    with pytest.raises(SurveyError, match="other questions"):
        create_store(place, other)
    # A title may be corrected while people answer.
    create_store(place, replace(published(), title="Corrected")).close()


def test_what_is_no_store_is_refused_in_one_line(tmp_path):
    (tmp_path / "text.db").write_text("no database " * 200)
    sqlite3.connect(tmp_path / "empty.db").close()
    for name in ("missing.db", "text.db", "empty.db"):
        with pytest.raises(SurveyError) as caught:
            open_store(tmp_path / name)
        assert "\n" not in str(caught.value)
    with refused(SurveyError, "mysql://…@host/name"):
        open_store("mysql://me:secret@host/name")
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://me:secret@127.0.0.1:1/name")
    assert "secret" not in str(caught.value)


def test_the_survey_in_a_store_is_what_was_published():
    again = Published.from_json(published().to_json())
    assert again.digest == published().digest
    assert again.to_json() == published().to_json()
    with pytest.raises(SurveyError):
        Published.from_json('{"format": "other"}')


# Stores of earlier versions


def made_by_hand(place, tables, rows):
    """A database with these tables and rows, by the drivers alone."""
    if place.startswith("postgresql"):
        import psycopg

        connection, mark, end = psycopg.connect(place), "%s", ""
    else:
        connection, mark, end = sqlite3.connect(place), "?", " WITHOUT ROWID"
    with contextlib.closing(connection):
        for name, (first, *others) in tables.items():
            columns = ", ".join(f"{column} TEXT NOT NULL" for column in (first, *others))
            connection.execute(f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({first})){end}")
        for name, values in rows.items():
            marks = ", ".join(mark for _ in tables[name])
            connection.cursor().executemany(f"INSERT INTO {name} VALUES ({marks})", values)
        connection.commit()


FIRST = {"survey": ("name", "value"), "reports": ("id", "content"), "invitations": ("hash",)}
SECOND = {**FIRST, "waiting": ("id", "content")}


def test_a_store_of_the_first_version_opens_takes_reports_and_closes(place):
    """It has no table of reports that wait: all of its reports have been shown. Nor has it an id."""
    old = [submission(k) for k in range(7)]
    survey = [("digest", published().digest), ("document", published().to_json())]
    made_by_hand(place, FIRST, {"survey": survey, "reports": [(s.id, s.content) for s in old]})
    assert len(read_store(place).rows) == 7
    with open_store(place) as store:
        assert (store.count(), store.visible(), store.closed()) == (7, 7, False)
    with create_store(place, published()) as store:
        assert store.add(old) == [ACCEPTED] * 7
        assert store.add([submission(k) for k in range(6)]) == [ACCEPTED] * 6
        assert (store.count(), store.visible()) == (13, 7)
        assert store.finish() == 13
    assert len(read_store(place).rows) == 13


def test_a_store_from_before_there_were_versions_is_read_as_it_is_and_goes_on(place):
    people = [submission(k) for k in range(14)]
    tokens = [f"{k:032x}" for k in range(3)]
    survey = [("digest", published().digest), ("id", published().id), ("document", published().to_json())]
    made_by_hand(
        place,
        SECOND,
        {
            "survey": survey,
            "reports": [(s.id, s.content) for s in people[:5]],
            "waiting": [(s.id, s.content) for s in people[5:]],
            "invitations": [(token_hash(token),) for token in tokens],
        },
    )
    shown = [str(row) for _, row in read_store(place).rows]
    assert sorted(shown) == sorted(str(json.loads(s.content)) for s in people[:5])
    with opened(place) as database, database.session() as session:
        assert "version" not in session.survey()  # who only reads changes nothing
    database.close()
    with create_store(place, published()) as store:
        assert (store.count(), store.visible(), store.open_invitations()) == (14, 5, 3)
        assert stored(store) == {s.id: json.loads(s.content) for s in people}
        assert store.add([people[7], submission(20, tokens[0]), submission(21, tokens[0])]) == [
            ACCEPTED,
            ACCEPTED,
            UNKNOWN,
        ]
        assert (store.count(), store.visible(), store.open_invitations()) == (15, 10, 2)
    with open_store(place) as store, store.database.session() as session:
        assert session.survey()["version"] == str(len(STEPS))


def test_a_store_of_the_second_version_is_read_as_it_is_and_goes_on(place):
    """Its reports name no mechanism: there was only one."""
    people = [submission(k) for k in range(14)]
    survey = [("digest", published().digest), ("id", published().id), ("document", published().to_json())]
    reports, waiting = ([(s.id, s.content) for s in part] for part in (people[:5], people[5:]))
    rows = {"survey": [*survey, ("version", "2")], "reports": reports, "waiting": waiting}
    made_by_hand(place, SECOND, rows)
    assert len(read_store(place).rows) == 5
    with opened(place) as database, database.session() as session:
        assert session.survey()["version"] == "2"
    database.close()
    with create_store(place, published()) as store:
        assert store.add([people[0], people[9], submission(20)]) == [ACCEPTED] * 3
        assert (store.count(), store.visible()) == (15, 10)
        assert stored(store).keys() > {s.id for s in people}
        assert store.stages == []


def test_a_store_of_a_later_version_is_refused_and_left_alone(place):
    with create_store(place, published()) as store:
        store.add(submission(k) for k in range(20))
    later = str(len(STEPS) + 1)
    with opened(place) as database, database.transaction() as session:
        session.run("UPDATE survey SET value = ? WHERE name = 'version'", later)
    for use in (open_store, read_store, lambda place: create_store(place, published())):
        with pytest.raises(SurveyError, match="later version of extremal"):
            use(place)
    database.close()


def test_new_steps_are_taken_once_by_whoever_opens_a_store_first(place, monkeypatch):
    with create_store(place, published()) as store:
        store.add(submission(k) for k in range(20))
    new = (
        "CREATE TABLE later (number TEXT NOT NULL, PRIMARY KEY (number)){by_key}",
        "ALTER TABLE reports ADD later TEXT",
    )
    monkeypatch.setattr(database_module, "STEPS", (*STEPS, new))
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_store(place), range(4)))
    for store in stores:
        assert store.count() == 20
        with store.database.session() as session:
            assert session.survey()["version"] == str(len(STEPS) + 1)
            assert session.rows("SELECT number FROM later") == []
        store.database.close()
    if place.startswith("postgresql"):
        with stores[0].database.transaction() as session:
            session.run("DROP TABLE later")
        stores[0].database.close()


def test_servers_that_make_a_store_in_the_same_moment_make_one(place):
    survey, moment = published(), threading.Barrier(4)

    def made(_):
        moment.wait()
        return create_store(place, survey)

    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(made, range(4)))
    assert [store.add([submission(k)]) for k, store in enumerate(stores)] == [[ACCEPTED]] * 4
    assert {store.count() for store in stores} == {4}
    for store in stores:
        store.close()


# What the bytes tell


def test_the_file_of_sqlite_tells_neither_the_order_nor_the_invitations_that_were_used(tmp_path):
    path = tmp_path / "survey.db"
    with create_store(path, published()) as store:
        tokens = store.invite(200)
        used, spared = tokens[:100], tokens[100:]
        for token in used:
            store.add([submission(1, token)])
        while_running = path.read_bytes()
        ids = [id for id, _ in store.reports().rows]
    after = path.read_bytes()
    for content in (while_running, after):
        assert not any(token_hash(token).encode() in content for token in used)
        assert all(token_hash(token).encode() in content for token in spared)
        assert not any(token.encode() in content for token in tokens)
    # A journal is empty after each commit, and there is no write-ahead log.
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith("-wal")] == []
    journal = tmp_path / "survey.db-journal"
    assert not journal.exists() or journal.stat().st_size == 0
    # Rewritten by key: where ids stand on their pages follows from the ids, not from when they came.
    page = 4096
    offsets = [after.index(id.encode()) for id in ids]
    for number in {offset // page for offset in offsets}:
        there = [offset for offset in offsets if offset // page == number]
        assert there in (sorted(there), sorted(there, reverse=True))


# When the database fails


def test_a_full_disk_loses_nothing_and_stores_nothing_by_halves(tmp_path, monkeypatch):
    path = tmp_path / "survey.db"
    with create_store(path, published()) as store:
        kept = [submission(k) for k in range(20)]
        assert store.add(kept) == [ACCEPTED] * 20

        full_disk(store, monkeypatch)
        batch = [submission(k) for k in range(400)]
        with refused(StoreError, "full"):
            store.add(batch)
        assert store.count() == 20
        monkeypatch.undo()
        store.database.close()
        assert store.add(batch + kept) == [ACCEPTED] * 420  # the client tries again
        assert store.count() == 420


def test_files_that_may_not_grow_are_an_error_and_nothing_is_lost(tmp_path):
    """The operating system itself refuses to write, as when the disk is full."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    path = tmp_path / "survey.db"
    with create_store(path, published()) as store:
        kept, batch = [submission(k) for k in range(20)], [submission(k) for k in range(400)]
        assert store.add(kept) == [ACCEPTED] * 20
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 4096, hard))
        try:
            with pytest.raises(StoreError):
                store.add(batch)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert store.count() == 20
        assert store.add(batch) == [ACCEPTED] * 400
        assert store.count() == 420


def test_a_lost_connection_is_an_error_and_the_next_try_counts_once(postgres_cluster):
    store = create_store(postgres_cluster.url, published())
    try:
        first, second = submission(1), submission(2)
        assert store.add([first]) == [ACCEPTED]
        postgres_cluster.stop()
        with pytest.raises(StoreError):
            store.add([second])
        postgres_cluster.start()
        assert store.add([second, first]) == [ACCEPTED] * 2
        assert store.count() == 2
        postgres_cluster.empty()
    finally:
        store.database.close()


def test_nobody_notices_that_a_database_was_restarted_while_nobody_answered(postgres_cluster):
    with create_store(postgres_cluster.url, published()) as store:
        assert store.add([submission(1)]) == [ACCEPTED]
        postgres_cluster.stop()
        postgres_cluster.start()
        assert store.add([submission(2)]) == [ACCEPTED]
        assert store.count() == 2
    postgres_cluster.empty()


def test_a_connection_that_is_lost_in_the_middle_of_a_transaction_stores_nothing(
    postgres_cluster, monkeypatch
):
    store = create_store(postgres_cluster.url, published())
    original = store_module.Store._move

    def cut(self, connection, waiting, moving):
        original(self, connection, waiting, moving)
        postgres_cluster.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )

    try:
        (token,) = store.invite(1)
        one = submission(1, token)
        monkeypatch.setattr(store_module.Store, "_move", cut)
        with pytest.raises(StoreError):
            store.add([one])
        monkeypatch.setattr(store_module.Store, "_move", original)
        assert (store.count(), store.open_invitations()) == (0, 1)
        assert store.add([one]) == [ACCEPTED]
        assert (store.count(), store.open_invitations()) == (1, 0)
        postgres_cluster.empty()
    finally:
        store.database.close()
