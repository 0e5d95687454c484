"""What everything that leaves a survey that learns tells about one person: no more than that person's report.

The next mechanisms, pages, results and exports depend on reports alone. For a survey of five people all reports that
they can send are gone through, and what an attacker then sees is compared at the level of bytes, in exact fractions.
"""

import json
import secrets
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import pytest

pytest.importorskip("starlette")

from extremal.collection.guard import parse_submission
from extremal.collection.learning import go_on
from extremal.collection.page import page_of
from extremal.collection.results import csv_text, people_needed, planned, results
from extremal.collection.store import FIVE, create_store, read_store
from tests.support.learners import SURVEY, answered, learning, submissions

PEOPLE = 5
ONE = SURVEY.partition('[[question]]\nname = "mood"')[0] + "[learn]\nstages = [200]\nforged = 0\n"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A survey of one yes/no question whose first stage has five people: a file may not ask for that few."""
    survey = learning(tmp_path_factory.mktemp("tiny"), ONE)
    return replace(survey, learn=replace(survey.learn, stages=(PEOPLE,)))


def send(store, survey, ids, reports):
    bodies = (
        {"survey": survey.digest, "id": id, "reports": {"smokes": report}}
        for id, report in zip(ids, reports, strict=True)
    )
    store.add([parse_submission(store.surveys, json.dumps(body).encode()) for body in bodies])


def seen(place, survey, ids, reports):
    """All that leaves the store after these reports of stage 1, and after five people of stage 2."""
    with create_store(place, survey) as store:
        send(store, survey, ids[:PEOPLE], reports)
        assert go_on(store)
        looks = [look(store)]
        outputs = store.current.questions[0].mechanisms[0].outputs
        send(store, store.current, ids[PEOPLE:], [outputs[0]] * FIVE)
        looks.append(look(store))
        store.finish()
        looks.append(look(store))
    return json.dumps(looks)


def look(store):
    """The files of the page, results and export, as texts."""
    found = results(store, people_needed(store.published, planned(store)))
    return [page_of(store.current, "reports").files, found, csv_text(read_store(store.place))]


@pytest.mark.slow
def test_what_leaves_after_stage_1_tells_about_one_of_its_people_exactly_what_their_report_tells(
    tiny, tmp_path
):
    question = tiny.questions[0]
    certified = question.mechanisms[0]
    ids = [secrets.token_hex(16) for _ in range(PEOPLE + FIVE)]  # made on devices, before any answer
    outcomes = {}
    for k, reports in enumerate(product(certified.outputs, repeat=PEOPLE)):
        outcomes[reports] = seen(tmp_path / f"{k}.db", tiny, ids, reports)
    assert len(set(outcomes.values())) > PEOPLE  # the attacker sees a lot: who sent what, by id
    again = next(iter(outcomes))
    assert (
        seen(tmp_path / "again.db", tiny, ids, again) == outcomes[again]
    )  # and it is a function of the reports

    weights = certified.weights.tolist()
    rows = {x: [Fraction(w, sum(row)) for w in row] for x, row in zip(certified.inputs, weights, strict=True)}
    for share in (Fraction(1, 100), Fraction(1, 5), Fraction(3, 5)):
        prior = {"yes": share, "no": 1 - share}
        anybody = [sum(prior[x] * rows[x][y] for x in prior) for y in range(len(certified.outputs))]
        about = {x: Counter() for x in prior}  # the probability of each outcome, by the first person's answer
        for reports, outcome in outcomes.items():
            numbers = [certified.outputs.index(y) for y in reports]
            others = Fraction(1)
            for y in numbers[1:]:
                others *= anybody[y]
            for x in prior:
                about[x][outcome] += rows[x][numbers[0]] * others
        total = {o: sum(prior[x] * about[x][o] for x in prior) for o in set(outcomes.values())}
        assert sum(total.values()) == 1
        factor = max(about[x][o] / total[o] for x in prior for o in total)
        alone = max(rows[x][y] / anybody[y] for x in prior for y in range(len(anybody)))
        assert factor == alone
        assert float(factor) <= 2.0137527074704766 * (1 + 1e-12)  # e^0.7


def test_no_two_looks_differ_by_one_to_four_people_also_among_those_of_one_mechanism(tmp_path):
    survey = learning(tmp_path)
    late = list(answered(survey, 30, seed=5))
    with create_store(tmp_path / "s.db", survey) as store:
        store.add(submissions(store, survey, 180))
        looks = [people(store)]
        for k in range(180, 260):
            batch = [answered(store.current, 1, seed=k)] + ([[late.pop()]] if k > 210 and k % 3 == 0 else [])
            store.add([parse_submission(store.surveys, body) for bodies in batch for body in bodies])
            looks.append(people(store))
            if go_on(store):
                made = store.current.questions[0].mechanisms[0].prior_set.evidence.stages[0].counts
                looks.append(looks[-1])
                assert sum(made) == 200 == looks[-1].total()
        store.finish()
        looks.append(people(store))
    assert {number for number, _ in looks[-1]} == {"1", "2"}
    for before, after in combinations(looks, 2):
        assert before <= after
        new = Counter(number for number, _ in (after - before).elements())
        assert all(count >= FIVE for count in new.values())


def people(store):
    """Who is in an export, by the number of their mechanisms."""
    shown = store.reports()
    return Counter(zip(shown.numbers, (id for id, _ in shown.rows), strict=True))


def test_a_database_that_is_copied_says_by_no_byte_when_a_report_came(tmp_path):
    """The same people in another order, and their stages as sets: the same rows."""
    survey = learning(tmp_path)
    given = [parse_submission({"1": survey}, body) for body in answered(survey, 200)]
    rows = []
    for name, order in (("a", given), ("b", given[::-1])):
        with create_store(tmp_path / f"{name}.db", survey) as store:
            store.add(order[:150])
            for one in order[150:]:
                store.add([one])
            go_on(store)
            with store.database.session() as session:
                tables = ("reports", "waiting", "stages")
                rows.append([session.rows(f"SELECT * FROM {table} ORDER BY 1") for table in tables])
    assert rows[0] == rows[1]
    files = [(tmp_path / f"{name}.db").read_bytes() for name in "ab"]
    assert files[0] == files[1]
