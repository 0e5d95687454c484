"""Surveys that learn their priors: stages, what the next one is made from, and what its people are promised."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("starlette")

import extremal as ex
from extremal.collection import learning as learning_module
from extremal.collection.guard import parse_submission
from extremal.collection.learning import go_on, learned, next_mechanisms
from extremal.collection.published import Published
from extremal.collection.results import csv_text, results
from extremal.collection.server import Settings, running
from extremal.collection.store import Verdict, create_store, read_store
from extremal.collection.survey import parse_survey
from extremal.errors import ExtremalError, SurveyError
from tests.support.learners import SURVEY, TRUTH, answered, eventually, learning, submissions
from tests.support.phones import ask, post
from tests.support.wording import refused


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    return learning(tmp_path_factory.mktemp("learning"))


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "survey.db")
        return
    cluster = request.getfixturevalue("postgres_cluster")
    yield cluster.url
    cluster.empty()


def test_a_stage_ends_when_it_is_full_and_the_next_one_is_made_from_its_reports(survey, place):
    with create_store(place, survey) as store:
        store.add(submissions(store, survey, 199))
        assert not go_on(store)
        store.add(submissions(store, survey, 4, seed=1))  # three more than the stage has
        assert (store.count(), store.visible()) == (203, 200)
        assert go_on(store)
        assert not go_on(store)
        assert [(s.number, s.mechanism) for s in store.stages] == [(1, "1"), (2, "2")]
        first, second = survey.questions, store.current.questions
        for k, name in enumerate(("smokes", "mood")):
            counts = store.stages[0].counts[name]
            shown = [row[k] for row in (cells for _, cells in store.reports().rows)]
            assert counts == [shown.count(y) for y in first[k].mechanisms[0].outputs]
            assert second[k].mechanisms[0].digest != first[k].mechanisms[0].digest
            made_for = second[k].mechanisms[0].prior_set
            assert made_for.contains(ex.Prior(TRUTH[name]))
            pairs = [(first[k].mechanisms[0], dict(zip(first[k].mechanisms[0].outputs, counts, strict=True)))]
            expected = ex.PriorSet.from_reports(
                pairs, confidence=1 - 0.05 / 4, drift=0.05, between=first[k].between or None
            )
            assert made_for.bounds.same_as(expected.bounds)
        assert second[2].mechanisms == first[2].mechanisms


def test_everybody_counts_in_one_estimate_whatever_page_they_had(survey, place):
    with create_store(place, survey) as store:
        pages = []
        for people in (200, 400, 700):
            pages.append(store.current)
            store.add(submissions(store, store.current, people, seed=people))
            go_on(store)
        assert store.add(submissions(store, pages[0], 10, seed=9)) == [Verdict.ACCEPTED] * 10
        store.finish()
        stored = read_store(place)
        assert (store.count(), len(stored.rows)) == (1310, 1310)
        pairs = []
        for number, page in zip("123", pages, strict=True):
            column = stored.only([number]).columns(["smokes"])["smokes"]
            pairs.append((page.questions[0].mechanisms[0], column))
        assert [len(column) for _, column in pairs] == [210, 400, 700]
        expected = ex.estimate(pairs)
        smokes, mood, visits, age = results(store)["questions"]
        assert [row["share"] for row in smokes["rows"]] == pytest.approx(expected.shares.tolist(), abs=1e-9)
        assert [row["low"] for row in smokes["rows"]] == pytest.approx(expected.lower.tolist(), abs=1e-9)
        assert all(len(q["rows"]) > 1 for q in (mood, visits, age))
        lines = csv_text(stored).splitlines()
        assert lines[0] == "smokes,mood,visits,age,mechanism number"
        assert [line.rpartition(",")[2] for line in lines[1:]].count("1") == 210


def test_the_server_goes_on_to_the_next_stage_and_takes_reports_of_earlier_pages(survey, tmp_path):
    said = []
    with create_store(tmp_path / "s.db", survey) as store:
        settings = Settings("s" * 20, log=said.append)
        with running(store, settings) as (base, _):
            late, *people = answered(survey, 201)
            before = ask(base, "GET", "/survey.json")[2]
            store.add(submissions(store, survey, 199, seed=3))
            assert post(base, people[0]) == (200, {"accepted": True})
            eventually(lambda: said)
            after = json.loads(ask(base, "GET", "/survey.json")[2])
            assert after["digest"] == store.current.digest != survey.digest
            learned = after["together"].pop("learned")
            assert after["together"] == json.loads(before)["together"]
            assert learned == {key: 100 * getattr(survey.learn, key) for key in ("delta", "drift", "forged")}
            assert post(base, late) == (200, {"accepted": True})
            for body in answered(store.current, 2, seed=4):
                assert post(base, body) == (200, {"accepted": True})
            # A phone in the middle of loading the first page gets the rest of that page.
            for q in json.loads(before)["questions"]:
                for address, digest in zip(q["mechanisms"], q["digests"], strict=True):
                    assert json.loads(ask(base, "GET", f"/{address}")[2])["digest"] == digest
        assert store.count() == 203
    assert len(said) == 1
    assert said[0].startswith("stage 2 has begun; SHA-256 of its page: ")


# What a survey may ask for


SURE = 'between = { yes = "1% to 60%" }'
SCALE = 'kind = "scale"\nanswers = {"never" = 0, "at times" = 1, "often" = 3}'


# What to replace by what, the key that is wrong, and its line.
BAD = [
    ("people = 2000\n", "", "people", None),
    ("stages = [200, 600]", "stages = [200, 2600]", "stages", 36),
    ("stages = [200, 600]", "stages = [2000]", "stages", 36),
    ("people = 2000", "people = 2000\nmost_people = 600", "stages", 37),
    ("stages = [200, 600]", "stages = [150, 600]", "stages", 36),
    ("stages = [200, 600]", "stages = [200, 399]", "stages", 36),
    ("stages = [200, 600]", "stages = [200, 1801]", "stages", 36),
    ("stages = [200, 600]", 'stages = "200"', "stages", 36),
    ("stages = [200, 600]", "stages = [200.5]", "stages", 36),
    ("stages = [200, 600]", "stages = []", "stages", 36),
    ("forged = 0\n", "", "forged", 35),
    ("forged = 0\n", "forged = 1\n", "forged", 37),
    ("forged = 0\n", 'forged = 0\ndrift = "much"\n', "drift", 38),
    ("forged = 0\n", "forged = 0\ndelta = 0\n", "delta", 38),
    ("forged = 0\n", "forged = 0\nsteps = 3\n", "'steps'", 38),
    (SURE, 'between = { yes = "0% to 10%", no = "0% to 20%" }', "between", 12),
    (SURE, 'between = { maybe = "0% to 10%" }', "between", 12),
    (SURE, 'between = { yes = "60% to 1%" }', "between", 12),
    (SURE, "between = { yes = 0.1 }", "between", 12),
    (SURE, 'between = { yes = "nan to 1" }', "between", 12),
    (SURE, 'between = "1% to 60%"', "between", 12),
    (SURE, 'between = { yes = "50% to 50%" }', "epsilon", 10),
    ("prior = [0.5, 0.3, 0.2]", 'prior = [0.5, 0.3, 0.2]\nbetween = { never = "0% to 60%" }', "between", 28),
    (SCALE, 'kind = "several"\nanswers = ["a", "b"]', "prior", 20),
    (
        'answers = ["under 40", "40 and over"]',
        'answers = ["a", "b"]\n[joint]\ncounts = "table.csv"',
        "counts",
        35,
    ),
]


@pytest.mark.parametrize(("old", "new", "key", "line"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_learned_is_refused_with_its_key_and_line(tmp_path, old, new, key, line):
    (tmp_path / "table.csv").write_text("smokes,visits,count\nyes,never,3\nno,once,4\n")
    assert SURVEY.count(old) == 1
    text = SURVEY.replace(old, new)
    with pytest.raises(SurveyError) as caught:
        parse_survey(text, tmp_path / "survey.toml")
    where, _, said = caught.value.problem.partition(": ")
    assert where.startswith("survey.toml")
    assert re.findall(r"\d+", where) == ([] if line is None else [str(line)])
    assert key in said.split()


def test_a_table_for_learning_needs_a_question_that_learns(tmp_path):
    text = SURVEY.replace('prior = "learn"\nbetween = { yes = "1% to 60%" }', "prior = [0.2, 0.8]")
    text = text.replace('prior = "learn"', "prior = [0.5, 0.3, 0.2]")
    line = text.splitlines().index("[learn]") + 1
    with pytest.raises(SurveyError, match=rf"survey\.toml, line {line}: learn "):
        parse_survey(text, tmp_path / "survey.toml")


@pytest.mark.parametrize(
    ("people", "stages"),
    [(10_000, (500, 1500, 3500)), (1500, (200, 400, 600)), (700, (200, 400)), (400, (200,))],
)
def test_usual_stages_are_5_15_and_35_percent_but_never_below_200_people(tmp_path, people, stages):
    text = SURVEY.replace("stages = [200, 600]\n", "").replace("people = 2000", f"people = {people}")
    found = parse_survey(text, tmp_path / "survey.toml").learn
    assert (found.stages, found.drift, found.delta) == (stages, 0.05, 0.05)
    with refused(SurveyError, "400", "people = 399"):
        parse_survey(text.replace(f"people = {people}", "people = 399"), tmp_path / "survey.toml")


def test_with_invitations_1_percent_of_reports_may_be_forged_unless_it_says_otherwise(tmp_path):
    text = "invitation = true\n" + SURVEY.replace("forged = 0\n", "")
    assert parse_survey(text, tmp_path / "survey.toml").learn.forged == 0.01


def test_a_store_whose_stages_do_not_fit_the_survey_is_refused(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    create_store(tmp_path / "s.db", learning(tmp_path / "a")).close()
    for name, changed in (
        ("b", SURVEY.replace("[200, 600]", "[200, 700]")),
        ("c", SURVEY.replace("forged = 0", "forged = 0.02")),
    ):
        with refused(SurveyError, "s.db", "[learn]"):
            create_store(tmp_path / "s.db", learning(tmp_path / name, changed))
    # A title may be corrected while people answer.
    corrected = learning(tmp_path / "a", SURVEY.replace("Habits", "Habits, corrected"))
    with create_store(tmp_path / "s.db", corrected) as store:
        assert store.current.title == "Habits, corrected"


# What speaks against reports


def test_where_people_of_two_stages_differ_the_mechanism_for_all_priors_stays_and_the_store_says_so(
    survey, place
):
    with create_store(place, survey) as store:
        first = store.current
        store.add(submissions(store, first, 200))
        go_on(store)
        others = {**TRUTH, "smokes": [0.6, 0.4], "mood": [0.6, 0.3, 0.1]}
        store.add(submissions(store, store.current, 400, seed=1, truth=others))
        go_on(store)
        third = store.current
        assert third.questions[0].mechanisms == first.questions[0].mechanisms
        assert third.questions[1].mechanisms != first.questions[1].mechanisms
        assert store.stages[2].said.startswith("smokes ")
        assert results(store)["stages"][2]["said"] == store.stages[2].said
        assert [stage.mechanism for stage in store.stages] == ["1", "2", "3"]


@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_a_shift_of_20_percent_between_stages_is_noticed_and_none_is_not(survey, shift):
    """Sets of 5,000 reports: a shift of twice that, in l1 distance, is beyond their radius and a drift of 0.05."""
    question, learn = survey.questions[0], survey.learn
    generator, later = np.random.default_rng(7), [0.2 + shift, 0.8 - shift]
    noticed = 0
    for _ in range(20):
        certified, pairs = question.mechanisms[0], []
        for truth in ([0.2, 0.8], later):
            counts = generator.multinomial(5000, truth @ certified.mechanism.matrix)
            pairs.append((certified, dict(zip(certified.outputs, counts.tolist(), strict=True))))
            try:
                certified = learned(question, pairs, learn, survey.level)
            except ExtremalError:
                noticed += 1
    assert noticed == (20 if shift else 0)


def test_all_questions_that_go_back_ask_by_the_mechanisms_of_stage_1_under_their_number(survey, place):
    with create_store(place, survey) as store:
        store.add(submissions(store, survey, 200))
        go_on(store)
        pages = [survey, store.current]
        others = {**TRUTH, "smokes": [0.6, 0.4], "mood": [0.05, 0.05, 0.9]}
        store.add(submissions(store, store.current, 400, seed=1, truth=others))
        go_on(store)
        assert [stage.mechanism for stage in store.stages] == ["1", "2", "1"]
        assert store.current.digest == survey.digest
        assert store.current.together == survey.together
        for page in pages:
            assert store.add(submissions(store, page, 20, seed=2)) == [Verdict.ACCEPTED] * 20
        assert not go_on(store)  # the last stage has no end


def test_reports_that_would_disclose_the_answers_are_not_asked_for(tmp_path):
    """At this level the report on answers that are about as common as these may be the answer itself."""
    text = SURVEY.replace("epsilon = 0.8", "epsilon = 0.95")
    survey = learning(tmp_path, text)
    with create_store(tmp_path / "s.db", survey) as store:
        even = {**TRUTH, "mood": [0.34, 0.33, 0.33]}
        for people in (200, 400):
            store.add(submissions(store, store.current, people, truth=even))
            go_on(store)
        for q in store.current.learned:
            assert not q.mechanisms[0].doubt.disclosed


def test_reports_that_fit_no_shares_end_the_learning_of_their_question(survey):
    """All say what speaks for yes, where yes has a share of at most 60 %: nobody's answers give such reports."""
    question = survey.questions[0]
    certified = question.mechanisms[0]
    wrong = dict.fromkeys(certified.outputs, 0) | {certified.outputs[0]: 20_000}
    other = (6000 * (TRUTH["mood"] @ survey.questions[1].mechanisms[0].mechanism.matrix)).round().astype(int)
    found, said = next_mechanisms([survey], [{"smokes": list(wrong.values()), "mood": other.tolist()}])
    assert found["smokes"] is certified
    assert found["mood"] is not survey.questions[1].mechanisms[0]
    assert said.startswith("smokes ")


# What is sent at the wrong time or to the wrong place


def test_reports_of_other_mechanisms_are_refused_and_those_after_the_end_too(survey, tmp_path):
    (tmp_path / "other").mkdir()
    other = learning(tmp_path / "other", SURVEY.replace("epsilon = 0.7", "epsilon = 0.6"))
    with create_store(tmp_path / "s.db", survey) as store, running(store) as (base, _):
        late, wrong = next(answered(survey, 1)), next(answered(other, 1))
        store.add(submissions(store, survey, 200))
        eventually(lambda: len(store.stages) == 2)
        assert post(base, wrong)[0] == 409
        mixed = json.loads(next(answered(store.current, 1)))
        mixed["reports"]["smokes"] = "neither"
        assert post(base, json.dumps(mixed).encode())[0] == 400
        assert store.count() == 200
        assert post(base, late)[0] == 200
        store.finish()
        for body in (next(answered(survey, 1, seed=3)), next(answered(store.current, 1))):
            assert post(base, body)[0] == 410
        assert post(base, late)[0] == 200  # it is there: the phone may stop
        assert store.count() == 201


def test_a_database_that_is_away_while_the_next_stage_is_made_loses_nothing(survey, tmp_path, monkeypatch):
    said, path, away = [], tmp_path / "s.db", tmp_path / "away.db"
    made = learning_module.next_mechanisms
    tries = []

    def vanishing(*given):
        found = made(*given)
        tries.append(found)
        if len(tries) == 1:
            store.database.close()
            path.rename(away)
        return found

    monkeypatch.setattr(learning_module, "next_mechanisms", vanishing)
    with create_store(path, survey) as store:
        store.add(submissions(store, survey, 200))
        with running(store, Settings("s" * 20, log=said.append)) as (base, _):
            eventually(lambda: tries)
            eventually(lambda: said)
            assert post(base, next(answered(survey, 1)))[0] == 503
            away.rename(path)
            eventually(lambda: len(store.stages) == 2)
            assert post(base, next(answered(survey, 1)))[0] == 200
        assert (store.count(), store.visible()) == (201, 200)
    assert "cannot begin now" in said[0]


def test_a_survey_that_has_ended_begins_no_stage(survey, place):
    with create_store(place, survey) as store:
        store.add(submissions(store, survey, 200))
        store.finish()
        assert not go_on(store)
        assert [stage.number for stage in store.stages] == [1]


def test_the_next_mechanisms_follow_from_counts_alone(survey):
    """Two servers, or one that was killed and the next, make the same; so does a process that began anew."""
    counts = [{"smokes": [80, 120], "mood": counts_of(survey.questions[1], 200)}]
    found = [next_mechanisms([again], counts)[0] for again in (survey, Published.from_json(survey.to_json()))]
    assert [m.digest for m in found[0].values()] == [m.digest for m in found[1].values()]


def counts_of(question, people):
    certified = question.mechanisms[0]
    return (people * (TRUTH[question.name] @ certified.mechanism.matrix)).round().astype(int).tolist()


def test_a_question_that_few_were_asked_learns_from_those_who_were_and_from_nobody_fewer_than_five(tmp_path):
    """Whoever is not asked after an answer in the clear sends nothing for it: that ends no stage with an error."""
    smokes, age = SURVEY.index('[[question]]\nname = "smokes"'), SURVEY.index('[[question]]\nname = "age"')
    learn = SURVEY.index("[learn]")
    text = (SURVEY[:smokes] + SURVEY[age:learn] + SURVEY[smokes:age] + SURVEY[learn:]).replace(
        "[0.5, 0.3, 0.2]\n", '[0.5, 0.3, 0.2]\nask_if = { question = "age", answers = ["under 40"] }\n'
    )
    condition = 'ask_if = { question = "age", answers = ["under 40"] }\nepsilon = 0.7\nprior = "learn"\n'
    survey = learning(tmp_path, text.replace('epsilon = 0.7\nprior = "learn"\n', condition, 1))
    for asked in (120, 4):
        bodies = [json.loads(body) for body in answered(survey, 200)]
        for k, body in enumerate(bodies):
            body["reports"]["age"] = survey.questions[0].answers[k >= asked]
            if k >= asked:
                body["reports"] |= {"smokes": None, "visits": None}
        with create_store(tmp_path / f"{asked}.db", survey) as store:
            parsed = [parse_submission(store.surveys, json.dumps(body).encode()) for body in bodies]
            assert set(store.add(parsed)) == {Verdict.ACCEPTED}
            assert go_on(store)
            assert store.stages[0].counts["smokes"][-1] == 200 - asked
            first, second = (s.questions[1].mechanisms[0].digest for s in (survey, store.current))
            assert (first == second) == (asked < 5)
            assert ("smokes stays with" in store.stages[1].said) == (asked < 5)
            assert results(store)["questions"][1]["rows"]


@pytest.mark.parametrize("share", [0.1, 0.03])
def test_forged_reports_that_all_come_from_those_few_who_were_asked_are_allowed_for(tmp_path, share):
    """Whoever forges a report answers in the clear what leads to the question: so all forged reports are on it."""
    age, learn = SURVEY.index('[[question]]\nname = "age"'), SURVEY.index("[learn]")
    smokes = SURVEY.index('[[question]]\nname = "smokes"'), SURVEY.index('[[question]]\nname = "mood"')
    rule = 'ask_if = { question = "age", answers = ["under 40"] }\nepsilon'
    text = SURVEY[: smokes[0]] + SURVEY[age:learn] + SURVEY[slice(*smokes)].replace("epsilon", rule)
    survey = learning(tmp_path, text + "[learn]\nstages = [500]\nforged = 0.05\ndrift = 0\n")
    assert survey.learn.forged == 0.05
    smokes = survey.questions[1]
    (first,), truth = smokes.mechanisms, np.array([0.1, 0.9])
    forged, asked = 25, round(share * 475)
    honest = np.round(asked * (truth @ first.mechanism.matrix)).astype(int)
    honest[np.argmax(first.mechanism.matrix[0])] += forged  # what speaks most for the rare answer
    counts = [*honest.tolist(), 500 - int(honest.sum())]
    found, said = next_mechanisms([survey], [{"smokes": counts}])
    prior = ex.Prior(truth, smokes.answers)
    assert ex.epsilon_pml(prior, found["smokes"].mechanism) <= 0.7 * (1 + 1e-12)
    evidence = found["smokes"].prior_set.evidence
    if said:
        assert found["smokes"] is first
    else:
        assert evidence.forged * sum(counts[:-1]) == pytest.approx(forged)
