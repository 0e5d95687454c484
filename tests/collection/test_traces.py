"""What a copy of the database tells, taken at any moment: nothing that links a report to an invitation or a moment."""

import os
import random
import secrets
import threading
from collections import Counter
from itertools import combinations

import pytest

pytest.importorskip("starlette")
pytest.importorskip("psycopg")

import psycopg

from extremal.collection import store as store_module
from extremal.collection.results import csv_text, results
from extremal.collection.store import FIVE, Submission, Verdict, create_store, read_store, token_hash
from extremal.errors import SurveyError
from tests.support.phones import drawn, published, stored
from tests.support.wording import refused


def content(seed):
    return published().content(drawn(published(), seed))


@pytest.fixture
def postgres(postgres_cluster):
    """The address of an empty database, and a connection that sees every byte of its tables."""
    with psycopg.connect(postgres_cluster.url, autocommit=True) as spy:
        if not rows(spy, "SELECT FROM pg_available_extensions WHERE name = 'pageinspect'"):
            pytest.skip("PostgreSQL has no pageinspect")
        spy.execute("CREATE EXTENSION IF NOT EXISTS pageinspect")
        yield postgres_cluster.url, spy
    postgres_cluster.empty()


def rows(spy, query):
    return spy.execute(query).fetchall()


ITEMS = """
SELECT lp, coalesce(t_xmin::text, '0')::bigint, coalesce(t_xmax::text, '0')::bigint, t_infomask, t_data
FROM generate_series(0, pg_relation_size('{0}') / 8192 - 1) AS page,
     heap_page_items(get_raw_page('{0}', page::int)) ORDER BY page, lp
"""


def items(spy, table):
    """Rows of a table as they lie in the file, also deleted ones: ((place, flags), xmin, xmax, bytes)."""
    return [
        ((place, flags), xmin, xmax, bytes(data or b""))
        for place, xmin, xmax, flags, data in rows(spy, ITEMS.format(table))
    ]


def answered(store, contents, swap=lambda k: k, ids=None):
    """People come one after the other, each with an invitation; `swap` says who brings which report."""
    ids = ids or [f"{k:032x}" for k in range(len(contents))]
    tokens = [f"{random.Random(k).getrandbits(128):032x}" for k in range(len(contents))]
    with store.database.transaction() as session:
        session.insert("invitations", [(token_hash(token),) for token in tokens])
    for k, token in enumerate(tokens):
        one = Submission(ids[swap(k)], contents[swap(k)], token_hash(token))
        assert store.add([one]) == [Verdict.ACCEPTED]


# Who of those that waited together sent which report changes no byte: the claim of store.py, exactly.

SWAPS = {
    "reversed": lambda k: 9 - k if k < 10 else 23 - k,
    "first and last of those that wait": lambda k: {0: 9, 9: 0, 10: 13, 13: 10}.get(k, k),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_the_file_of_sqlite_is_the_same_whoever_of_those_that_waited_sent_which_report(
    swap, tmp_path, monkeypatch
):
    files = []
    for how in (lambda k: k, SWAPS[swap]):
        monkeypatch.setattr(store_module, "CHANCE", random.Random(5))
        path = tmp_path / f"{len(files)}.db"
        store = create_store(path, published())
        answered(store, [content(k) for k in range(14)], how)
        files.append(path.read_bytes())
        assert (store.visible(), store.count(), store.open_invitations()) == (5, 14, 0)
        store.database.close()
    assert files[0] == files[1]


@pytest.mark.parametrize("swap", SWAPS)
def test_the_tables_of_postgresql_are_the_same_whoever_of_those_that_waited_sent_which_report(
    swap, postgres, postgres_cluster, monkeypatch
):
    url, spy = postgres
    seen = []
    for how in (lambda k: k, SWAPS[swap]):
        monkeypatch.setattr(store_module, "CHANCE", random.Random(5))
        postgres_cluster.empty()
        store = create_store(url, published())
        answered(store, [content(k) for k in range(14)], how)
        tables = {table: items(spy, table) for table in ("reports", "waiting", "invitations")}
        numbers = sorted({x for rows in tables.values() for _, *both, _ in rows for x in both})
        place = {x: k for k, x in enumerate(numbers)}  # numbers of transactions go on from the first round
        seen.append(
            {
                name: [(lp, place[xmin], place[xmax], data) for lp, xmin, xmax, data in rows]
                for name, rows in tables.items()
            }
        )
        assert len({xmin for _, xmin, _, _ in seen[-1]["waiting"]}) == 1
        store.database.close()
    assert seen[0] == seen[1]


# Copies at random moments while people answer: guesses by every trace there is


def by_transaction(spy):
    """Pairs (id of a report, hash of an invitation) that the numbers of transactions suggest."""
    rows = [
        (xmin, place, data[1:33].decode(), table)
        for table in ("reports", "waiting")
        for place, xmin, _, data in items(spy, table)
    ]
    used = [(xmax, place, data[-64:].decode()) for place, _, xmax, data in items(spy, "invitations") if xmax]
    ids = [id for _, _, id, _ in sorted(rows)]
    return list(zip(ids, [hash for _, _, hash in sorted(used)], strict=False))


def copied(path):
    """The bytes of an SQLite file and of the journal beside it."""
    beside = (path, path.with_name(path.name + "-journal"))
    return b"".join(name.read_bytes() for name in beside if name.exists())


def load(store, people, stop):
    """A steady flow of people with invitations; returns who used which."""
    truth = {}
    tokens = store.invite(people)
    random.shuffle(tokens)

    def flow():
        for k, token in enumerate(tokens):
            if stop.is_set():
                return
            id = secrets.token_hex(16)
            truth[id] = token_hash(token)
            assert store.add([Submission(id, content(k), token_hash(token))]) == [Verdict.ACCEPTED]

    return truth, tokens, threading.Thread(target=flow)


def test_no_copy_of_postgresql_under_load_links_reports_to_invitations(postgres):
    url, spy = postgres
    store = create_store(url, published())
    stop = threading.Event()
    truth, _, flow = load(store, 80, stop)
    right = guessed = copies = 0
    flow.start()
    try:
        while flow.is_alive():
            with spy.transaction():  # one moment for all tables
                pairs = by_transaction(spy)
            copies += 1
            if len(pairs) >= 20:
                right += sum(truth.get(id) == hash for id, hash in pairs)
                guessed += len(pairs)
    finally:
        stop.set()
        flow.join(60)
    pairs = by_transaction(spy)
    right += sum(truth.get(id) == hash for id, hash in pairs)
    guessed += len(pairs)
    assert guessed >= 80
    # By chance one in ten: ten wait together, and five of them move. Without the mixing every guess is right.
    assert right <= 0.35 * guessed
    store.database.close()


def test_no_copy_of_sqlite_under_load_holds_an_invitation_that_was_used(tmp_path):
    path = tmp_path / "survey.db"
    store = create_store(path, published())
    stop = threading.Event()
    truth, _, flow = load(store, 80, stop)
    flow.start()
    most = copies = 0
    try:
        while flow.is_alive():
            done = set(stored(store))
            bytes_now = copied(path)
            most = max(most, sum(truth[id].encode() in bytes_now for id in done))
            copies += 1
    finally:
        stop.set()
        flow.join(60)
    assert copies
    assert most <= 1  # that of the transaction at hand, whose journal is emptied when it ends
    store.database.close()


def test_the_log_of_postgresql_holds_both_as_the_threat_model_says(postgres, postgres_cluster):
    """What docs/threat-model.md admits, so that nobody claims more."""
    url, _ = postgres
    store = create_store(url, published())
    answered(store, [content(k) for k in range(3)], ids=[secrets.token_hex(16) for _ in range(3)])
    log = b"".join(
        p.read_bytes() for p in (postgres_cluster.folder / "data" / "pg_wal").iterdir() if p.is_file()
    )
    assert all(id.encode() in log for id in stored(store))
    store.database.close()


# What looks tell, all together


def test_two_looks_at_whatever_questions_differ_by_five_people_or_more(tmp_path):
    survey = published()
    with create_store(tmp_path / "survey.db", survey) as store:
        looks = [looked(store)]
        for k in range(28):
            store.add([Submission(secrets.token_hex(16), content(k))])
            looks.append(looked(store))
        waited = store.count() - store.visible()
        assert FIVE <= waited < 2 * FIVE
        store.finish()
        looks.append(looked(store))
        assert store.add([Submission(secrets.token_hex(16), content(0))]) == [Verdict.CLOSED]
        assert store.finish() == store.count() == 28
    for before, after in combinations(looks, 2):
        assert all(before[question] <= after[question] for question in after)
        (new,) = {
            (after[question] - before[question]).total() for question in after
        }  # the same people everywhere
        assert new == 0 or new >= FIVE


def looked(store):
    """The reports to each question as results, JSON, estimates and exports see them: from one set of people."""
    seen = {}
    counts = store.published.counted(sum(store.tallied().values(), Counter()))
    rows = read_store(store.place).columns([q.name for q in store.published.questions])
    document = results(store, dict.fromkeys(rows))
    lines = csv_text(store.reports()).splitlines()[1:]
    for q in store.published.questions:
        seen[q.name] = Counter(map(repr, rows[q.name]))
        assert counts[q.name] == seen[q.name]
        assert document["reports"] == seen[q.name].total() == len(lines) == store.visible()
    return seen


def test_the_newest_person_is_among_those_that_move_no_more_often_than_others(tmp_path):
    with create_store(tmp_path / "survey.db", published()) as store:
        newest = batches = 0
        for _ in range(60):
            store.add([Submission(secrets.token_hex(16), content(0)) for _ in range(FIVE - 1)])
            before, one = store.visible(), secrets.token_hex(16)
            store.add([Submission(one, content(0))])
            batches += store.visible() > before
            newest += one in {id for id, _ in store.reports().rows}
    # Half of those that wait move: of 59 batches 29.5 with a standard deviation of 3.8.
    assert batches == 59
    assert 8 <= newest <= 51


@pytest.mark.parametrize("people", [0, 1, 4])
def test_fewer_than_five_reports_are_never_shown(people, tmp_path):
    with create_store(tmp_path / "survey.db", published()) as store:
        store.add([Submission(f"{k:032x}", content(k)) for k in range(people)])
        assert store.finish() == 0
        assert looked(store)["visits"] == {}
        assert store.closed()


def test_all_wait_until_ten_have_answered_and_then_five_are_shown(tmp_path):
    with create_store(tmp_path / "survey.db", published()) as store:
        shown = []
        for k in range(26):
            store.add([Submission(f"{k:032x}", content(k))])
            shown.append(store.visible())
    assert shown == [0] * 9 + [5] * 5 + [10] * 5 + [15] * 5 + [20] * 2


# Who may read the files


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_the_files_of_a_store_can_be_read_by_their_owner_alone(tmp_path):
    path = tmp_path / "survey.db"
    before = os.umask(0)
    try:
        with create_store(path, published()) as store:
            store.add([Submission("0" * 32, content(1))])
            assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
        path.chmod(0o644)  # one of an earlier version
        with create_store(path, published()) as store:
            store.add([Submission("1" * 32, content(2))])
            assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_what_is_no_store_keeps_its_permissions(tmp_path):
    folder, pipe, notes = (tmp_path / name for name in ("folder", "pipe", "notes.txt"))
    folder.mkdir()
    os.mkfifo(pipe)
    notes.write_text("not a database, but somebody's notes")
    for path in (folder, pipe, notes):
        path.chmod(0o755)
        with pytest.raises(SurveyError):
            create_store(path, published())
        assert path.stat().st_mode & 0o777 == 0o755
    assert notes.read_text().endswith("notes")


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_store_that_cannot_be_kept_private_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "survey.db"
    create_store(path, published()).close()
    path.chmod(0o640)

    def forbidden(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", forbidden)
    with refused(SurveyError, "permissions 640, of another user's file"):
        create_store(path, published())
