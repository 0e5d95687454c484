"""Languages, conditions, sections and dates of survey.toml, and what follows from them for levels and results."""

import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import extremal as ex
from extremal.collection.designs import check, load_designs
from extremal.collection.page import page_of
from extremal.collection.published import Published
from extremal.collection.results import people_needed, results
from extremal.collection.store import Submission, Verdict, create_store
from extremal.collection.survey import parse_survey
from extremal.collection.wordings import LANGUAGES, catalogue, parse_catalogue, template
from extremal.errors import SurveyError
from extremal.estimation.counts import ReportCounts
from extremal.estimation.differences import ratios
from tests.support.wording import refused

TWO = 'languages = ["en", "ar"]\ntitle = { en = "Health", ar = "الصحة" }\ncollector = { en = "We", ar = "نحن" }\n'
SMOKES = """
[[question]]
name = "smokes"
text = { en = "Do you smoke?", ar = "هل تدخن؟" }
answers = ["yes", "no", "I prefer not to say"]
answer_texts.ar = { yes = "نعم", no = "لا" }
epsilon = 0.7
prior = [0.2, 0.7, 0.1]
"""
QUIT = """
[[question]]
name = "quit"
text = "Have you tried to quit?"
answers = ["yes", "no"]
epsilon = 0.5
prior = [0.6, 0.4]
ask_if = { question = "smokes", answers = ["yes"] }
"""
ONE = 'title = "Health"\n' + SMOKES.replace(
    '{ en = "Do you smoke?", ar = "هل تدخن؟" }', '"Do you smoke?"'
).replace('answer_texts.ar = { yes = "نعم", no = "لا" }\n', "")
JOB = '\n[[question]]\nname = "job"\ntext = "A job?"\nkind = "clear"\nanswers = ["yes", "no"]\n'
WORK = JOB.replace("job", "work").replace("clear", "single") + "epsilon = 0.5\nprior = [0.6, 0.4]\n"


def parsed(text, folder):
    return parse_survey(text, folder / "survey.toml")


def published(text, folder):
    (folder / "survey.toml").write_text(text, encoding="utf-8")
    return check(parsed(text, folder))


# Languages


def test_every_text_has_a_form_in_each_language_and_answers_keep_their_names(tmp_path):
    found, _ = published(TWO + SMOKES, tmp_path)
    (question,) = found.questions
    assert (found.title, found.words["ar"]["title"]) == ("Health", "الصحة")
    assert question.answers == ("yes", "no", "I prefer not to say")
    assert question.words["ar"]["answers"] == ["نعم", "لا", catalogue("ar")["prefer_not"]]
    assert question.mechanisms[0].inputs == question.answers
    page = page_of(found, "reports")
    assert {name for name in page.files if name.startswith("texts/")} == {"texts/en.json", "texts/ar.json"}
    again = Published.from_json(found.to_json())
    assert again.digest == found.digest
    assert json.loads(json.dumps(again.page("reports"))) == json.loads(page.files["survey.json"])


def test_a_translation_changes_the_page_and_no_mechanism(tmp_path):
    first, _ = published(TWO + SMOKES, tmp_path)
    swapped, _ = published(TWO + SMOKES.replace('yes = "نعم", no = "لا"', 'yes = "لا", no = "نعم"'), tmp_path)
    assert [m.digest for q in first.questions for m in q.mechanisms] == [
        m.digest for q in swapped.questions for m in q.mechanisms
    ]
    assert first.digest == swapped.digest  # reports count together
    assert page_of(first, "reports").digest != page_of(swapped, "reports").digest


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (', ar = "الصحة"', "", ("2:", "'ar'")),
        ('ar = "الصحة"', 'ar = "الصحة", sw = "Afya"', ("2:", "'sw'")),
        ('{ en = "Health", ar = "الصحة" }', '"Health"', ("2:", "en, ar")),
        ('ar = "هل تدخن؟"', 'ar = ""', ("7:", "'ar'")),
        (', no = "لا"', "", ("9:", "'no'", "'ar'")),
        ('no = "لا"', 'no = "لا", maybe = "x"', ("9:", "'maybe'")),
        ('no = "لا"', 'no = "نعم"', ("9:", "answer_texts", "'ar'")),
        ('answer_texts.ar = { yes = "نعم", no = "لا" }\n', "", ("5:", "answer_texts", "'ar'")),
        ('["en", "ar"]', '["en", "xx"]', ("1:", "'xx'")),
        ('["en", "ar"]', '["en", "en"]', ("1:", "['en', 'en']")),
        ('["en", "ar"]', '["en", "../x"]', ("1:", "['en', '../x']")),
        (
            '["en", "ar"]',
            '["en", "ar"]\ncatalogues = { sw = "none.json" }',
            ("sw", "none.json"),
        ),
        ('["en", "ar"]', "[]", ("1:", "[]")),
    ],
)
def test_texts_that_are_missing_or_too_much_are_named(tmp_path, before, after, says):
    text = TWO + SMOKES
    assert before in text
    with refused(SurveyError, *says):
        parsed(text.replace(before, after, 1), tmp_path)


def test_a_translated_catalogue_is_used_and_one_without_a_reviewer_makes_the_check_warn(tmp_path):
    sentences = {**json.loads(template("en")), "name": "Kiswahili", "take_part": "Anza"}
    text = (TWO + SMOKES).replace('ar"]', 'ar", "sw"]\ncatalogues = { sw = "sw.json" }')
    text = text.replace('ar = "الصحة"', 'ar = "الصحة", sw = "Afya"').replace(
        'ar = "نحن"', 'ar = "نحن", sw = "Sisi"'
    )
    text = text.replace('ar = "هل تدخن؟"', 'ar = "هل تدخن؟", sw = "Unavuta?"')
    text = text.replace("epsilon", 'answer_texts.sw = { yes = "ndiyo", no = "hapana" }\nepsilon', 1)
    for reviewer, warned in (("no", True), ("Asha M.", False)):
        (tmp_path / "sw.json").write_text(json.dumps({**sentences, "reviewed": reviewer}), encoding="utf-8")
        survey = parsed(text, tmp_path)
        assert any("sw" in said.partition(":")[0] for said in survey.warnings) == warned
        assert survey.texts["sw"]["take_part"] == "Anza"
    found, _ = published(text, tmp_path)
    assert found.page("reports")["texts"]["sw"]["name"] == "Kiswahili"
    assert set(found.page("reports")["texts"]) == {"sw"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda found: found.pop("take_part"), "lacks a text, got take_part"),
        (lambda found: found.update(take_part=" "), "lacks a text, got take_part"),
        (lambda found: found.update(extra="x"), "does not know, got extra"),
        (lambda found: found.update(code="no braces"), r"code must have \{code\}"),
        (lambda found: found.update(direction="up"), "direction"),
        (lambda found: found.update(code=7), "object of texts"),
    ],
)
def test_a_catalogue_that_is_not_whole_is_refused_by_its_key(change, says):
    sentences = json.loads(template("de"))
    change(sentences)
    with pytest.raises(SurveyError, match=says):
        parse_catalogue(json.dumps(sentences), "x.json")
    with pytest.raises(SurveyError, match="must be JSON"):
        parse_catalogue("{", "x.json")


def test_the_packages_own_sentences_can_be_reviewed_and_not_changed(tmp_path):
    """The page brings them, and its fingerprint is the same for all surveys."""
    text = 'catalogues = { en = "en.json" }\n' + ONE
    for change, fine in (({"reviewed": "Ada"}, True), ({"take_part": "Click me"}, False)):
        (tmp_path / "en.json").write_text(json.dumps({**catalogue("en"), **change}), encoding="utf-8")
        if fine:
            assert parsed(text, tmp_path).texts == {}
        else:
            with pytest.raises(SurveyError, match="must leave the sentences in 'en' as they are"):
                parsed(text, tmp_path)


def test_templates_are_whole_catalogues_with_nobody_as_reviewer():
    for lang in LANGUAGES:
        assert parse_catalogue(template(lang), "x.json") == {**catalogue(lang), "reviewed": "no"}


# What the check says


def test_the_check_says_who_cannot_decline_and_what_nobody_reads(tmp_path):
    said = " ".join(parsed(ONE + WORK, tmp_path).warnings)
    assert "work: nobody can decline" in said
    assert "who collects" in said
    assert "respondents" in said
    full = ONE.replace('"Health"', '"Health"\ncollector = "We"\nrespondents = "https://example.org/r"')
    assert parsed(full, tmp_path).warnings == ()


# Conditions


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ONE + QUIT.replace('"smokes"', '"quit"'), ("16:", "ask_if", "quit")),
        (ONE + QUIT.replace('"smokes"', '"work"') + WORK, ("16:", "ask_if", "work")),
        (ONE + QUIT.replace('"smokes"', '"none"'), ("16:", "ask_if", "none")),
        (ONE + QUIT.replace('answers = ["yes"] }', 'answers = ["maybe"] }'), ("16:", "['maybe']")),
        (
            ONE + QUIT.replace('answers = ["yes"] }', 'answers = ["yes", "no", "I prefer not to say"] }'),
            ("16:", "['yes', 'no', 'I prefer not to say']"),
        ),
        (ONE + QUIT.replace("ask_if = {", "ask_if = { else = 1,"), ("16:", "'else': 1")),
        (
            ONE + JOB + 'ask_if = { question = "smokes", answers = ["yes"] }\n',
            ("15:", "ask_if", "smokes"),
        ),
        (
            ONE + QUIT + JOB + 'ask_if = { question = "quit", answers = ["yes"] }\n',  # through another skip
            ("23:", "ask_if", "quit"),
        ),
        (
            ONE
            + WORK
            + 'section = "s"\n[[section]]\nname = "s"\nask_if = { question = "smokes", answers = ["yes"] }\n',
            ("20:", "ask_if", "smokes"),
        ),
        (ONE + QUIT.replace("prior = [0.6, 0.4]", 'prior = "learn"'), ("15:", '"learn"')),
        (
            ONE + QUIT.replace('answers = ["yes", "no"]', 'answers = ["yes", "not asked"]'),
            ("13:", "not asked"),
        ),
        (ONE + QUIT + 'purpose = "mean"\n', ("17:", "mean")),
    ],
)
def test_conditions_that_go_round_forward_or_would_tell_a_private_answer_are_refused(tmp_path, text, says):
    with refused(SurveyError, *says):
        parsed(text, tmp_path)


def test_a_question_after_a_private_answer_has_a_prior_of_answers_and_not_asked(tmp_path):
    found, _ = published(ONE + QUIT, tmp_path)
    quit = found.questions[1]
    assert quit.hides
    assert quit.mechanisms[0].inputs == ("yes", "no", "not asked")
    assert quit.mechanisms[0].prior.probabilities == pytest.approx([0.12, 0.08, 0.8])
    assert not quit.accepts(None)  # a blank would tell


def test_a_question_after_an_open_answer_is_left_out_openly_and_so_is_what_follows(tmp_path):
    text = ONE.replace("[[question]]", JOB.strip() + "\n\n[[question]]", 1)
    text = (
        text.replace("epsilon = 0.7", 'ask_if = { question = "job", answers = ["yes"] }\nepsilon = 0.7')
        + QUIT
    )
    found, _ = published(text, tmp_path)
    _, smokes, quit = found.questions
    assert (smokes.hides, smokes.optional, quit.hides, quit.optional) == (False, True, True, True)
    assert smokes.mechanisms[0].inputs == smokes.answers
    assert smokes.accepts(None)
    assert quit.accepts(None)
    rows = [{"job": "no", "smokes": None, "quit": None}] * 6 + [
        {"job": "yes", "smokes": smokes.mechanisms[0].outputs[k % 2], "quit": quit.mechanisms[0].outputs[0]}
        for k in range(14)
    ]
    with create_store(tmp_path / "s.db", found) as store:
        store.add(Submission(f"{k:032x}", found.content(row)) for k, row in enumerate(rows))
        store.finish()
        shown = results(store)
    assert shown["reports"] == 20
    assert all(question["rows"] for question in shown["questions"])


@pytest.mark.parametrize("answers", [["yes"], ["yes", "I prefer not to say"]])
def test_what_both_reports_tell_together_is_what_enumeration_gives(tmp_path, answers):
    text = ONE + QUIT.replace('answers = ["yes"] }', f"answers = {json.dumps(answers)} }}")
    found, said = published(text, tmp_path)
    first, second = (q.mechanisms[0] for q in found.questions)
    mass = {
        (a, b): p * (share if a in answers else 1.0)
        for a, p in zip(first.inputs, [0.2, 0.7, 0.1], strict=True)
        for b, share in ({"yes": 0.6, "no": 0.4} if a in answers else {"not asked": 1.0}).items()
    }
    P, Q = first.mechanism.matrix, second.mechanism.matrix
    chance = {x: np.outer(P[first.inputs.index(x[0])], Q[second.inputs.index(x[1])]).ravel() for x in mass}
    total = sum(mass[x] * chance[x] for x in mass)
    largest = max(float(np.max(chance[x] / np.where(total > 0, total, np.inf))) for x in mass)
    assert said.epsilon == pytest.approx(math.log(largest), abs=1e-9)
    assert said.epsilon > max(first.epsilon, second.epsilon)
    assert found.together == {"epsilon": said.epsilon, "conditions": []}


@pytest.mark.parametrize("prior", ["mechanism", "learn"])
def test_a_total_that_depends_on_an_unknown_prior_is_not_stated(tmp_path, prior):
    """One prior of many would give a level that the others exceed."""
    for name, labels, priors in (
        ("first", ["yes", "no", "I prefer not to say"], ex.PriorSet.intervals),
        ("second", ["yes", "no", "not asked"], None),
    ):
        known = (
            ex.Prior([0.1, 0.4, 0.5], labels) if priors is None else priors([0.01] * 3, [0.98] * 3, labels)
        )
        ex.certify(ex.design(known, 0.4)).save(tmp_path / f"{name}.json")
    first = 'mechanism = "first.json"' if prior == "mechanism" else 'epsilon = 0.4\nprior = "learn"'
    text = ONE.replace("epsilon = 0.7\nprior = [0.2, 0.7, 0.1]", first)
    text += QUIT.replace("epsilon = 0.5\nprior = [0.6, 0.4]", 'mechanism = "second.json"')
    text = "people = 2000\n" + text + ("[learn]\nforged = 0\n" if prior == "learn" else "")
    with pytest.raises(SurveyError, match="one prior each"):
        published(text, tmp_path)


def test_a_cross_table_has_both_questions_of_which_one_decides_about_the_other(tmp_path):
    """As if independent, the total would be too small: what somebody was not asked follows from their answer."""
    rows = ["yes,yes,20", "yes,no,10", "no,yes,40", "no,no,50", "I prefer not to say,yes,10"]
    (tmp_path / "cross.csv").write_text("\n".join(["smokes,work,count", *rows]), encoding="utf-8")
    text = ONE + WORK + QUIT + '[joint]\ncounts = "cross.csv"\n'
    with pytest.raises(SurveyError, match="must have quit, too"):
        published(text, tmp_path)


def test_reports_of_people_who_were_chosen_otherwise_are_not_counted_together(tmp_path):
    text = ONE + JOB + QUIT.replace("smokes", "job")
    condition = 'ask_if = { question = "job", answers = ["yes"] }\n'
    section = '[[section]]\nname = "s"\n' + condition
    others = [
        text.replace(condition, condition.replace("yes", "no")),
        text.replace(condition, ""),
        text.replace(condition, 'section = "s"\n') + section,
        text.replace(condition, 'section = "s"\n') + section.replace("yes", "no"),
    ]
    digests = [published(one, tmp_path)[0].digest for one in (text, *others)]
    assert len(set(digests)) == len(digests)


def test_reports_on_a_set_after_a_private_answer_tell_the_shares_among_those_asked(tmp_path):
    """How common each set is, and "not asked", decides how common reports are: shares must follow from these."""
    text = ONE + QUIT.replace("[0.6, 0.4]", '["30%", "10%"]').replace('"yes", "no"]\n', '"a", "b"]\n')
    text = "width = 0.2\n" + text.replace("epsilon = 0.5\n", 'kind = "several"\nepsilon = 0.9\n')
    found, _ = published(text.replace("0.2, 0.7, 0.1", "0.3, 0.6, 0.1"), tmp_path)
    second = found.questions[1]
    (certified,) = second.mechanisms
    wanted = [[float(x[k : k + 1] == "1") for x in certified.inputs] for k in (0, 1)]
    wanted += [[float(x == "not asked") for x in certified.inputs]]
    channel = certified.mechanism.matrix
    solved, *_ = np.linalg.lstsq(channel, np.transpose(wanted), rcond=None)
    assert np.allclose(channel @ solved, np.transpose(wanted), atol=1e-9)
    assert people_needed(found)["quit"] is not None


@pytest.mark.parametrize("intervals", ["each", "all"])
def test_where_everybody_is_asked_the_ratio_has_the_interval_of_the_share(intervals):
    mechanism = ex.certify(ex.design(ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2}), 0.8, ex.shares))
    reports = ReportCounts(mechanism.outputs, [500, 300, 260, 240, 200, 200][: len(mechanism.outputs)])
    found = ex.estimate(mechanism, reports, intervals=intervals)
    plain = found.group({label: [label] for label in "abc"})
    table = ratios(found, "shares", ("a", "b", "c"), np.eye(3), np.ones(3))
    assert table.estimates == pytest.approx(plain.estimates)
    assert table.lower == pytest.approx(plain.lower, abs=1e-6)
    assert table.upper == pytest.approx(plain.upper, abs=1e-6)
    assert table.standard_errors == pytest.approx(plain.standard_errors)


@pytest.mark.slow
def test_shares_among_those_asked_and_their_intervals_hold_the_truth(tmp_path):
    """400 surveys of 3,000 people: the intervals of the ratio hold as often as they say."""
    from extremal.collection.results import tables_among_asked

    found, _ = published(ONE + QUIT.replace("epsilon = 0.5", "epsilon = 1.5"), tmp_path)
    (part,) = found.questions[1].parts
    truth = np.array([0.1, 0.15, 0.75])
    chances = truth @ part.mechanism.mechanism.matrix
    rng = np.random.default_rng(5)
    holds = 0
    for _ in range(400):
        counts = rng.multinomial(3000, chances)
        reports = ReportCounts(part.mechanism.outputs, counts.tolist())
        (table,) = tables_among_asked(part, ex.estimate(part.mechanism, reports))
        rows = {row["label"]: row for row in table.rows()}
        assert sum(row["estimate"] for row in rows.values()) == pytest.approx(1)
        holds += rows["yes"]["lower"] <= 0.4 <= rows["yes"]["upper"]
    assert holds >= 0.92 * 400  # 95 %, whose standard deviation here is 1.1 %


# Sections, brackets, dates


def test_sections_hold_questions_that_follow_each_other(tmp_path):
    text = (
        ONE
        + JOB
        + WORK
        + 'section = "s"\n[[section]]\nname = "s"\ntitle = "Work"\nask_if = { question = "job", answers = ["yes"] }\n'
    )
    found, _ = published(text, tmp_path)
    assert [(part["title"], part["questions"]) for part in found.sections] == [(None, [0, 1]), ("Work", [2])]
    assert [q.optional for q in found.questions] == [False, False, True]
    for wrong, says in [
        (text.replace('section = "s"', 'section = "t"'), "must be named by a question"),
        (ONE + 'section = "s"\n', "there is none"),
        (
            ONE + 'section = "s"\n' + JOB + WORK + 'section = "s"\n[[section]]\nname = "s"\n',
            "must be named by questions that follow each other",
        ),
    ]:
        with pytest.raises(SurveyError, match=says):
            parsed(wrong, tmp_path)


def test_brackets_are_answers_between_numbers(tmp_path):
    text = WORK.replace('answers = ["yes", "no"]', "brackets = [10, 20.5]").replace("[0.6, 0.4]", '"uniform"')
    text = 'title = "T"\n' + text
    (question,) = parsed(text, tmp_path).questions
    assert question.answers == ("under 10", "10 to 20.5", "20.5 or more")
    assert question.brackets == (10.0, 20.5)
    large = parsed(text.replace("20.5", "2500000"), tmp_path).questions[0]
    assert large.answers[-1] == "2500000 or more"
    with_more = text + 'answers = ["I prefer not to say"]\n'
    assert len(parsed(with_more, tmp_path).questions[0].answers) == 4
    for wrong in ("[20, 10]", "[]", '["a"]', "[1, 1]", "7"):
        with pytest.raises(SurveyError, match="brackets must be numbers that rise"):
            parsed(text.replace("[10, 20.5]", wrong), tmp_path)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('opens = "soon"', ("1:", "soon")),
        ("opens = 2026-03-01T08:00:00", ("1:", "datetime.datetime(2026, 3, 1, 8, 0)")),
        ("opens = 2026-03-02\ncloses = 2026-03-01", ("2:", "2026-03-02", "2026-03-01")),
        ('hold = "3"', ("1:", "60", "3")),
        ('hold = "2 h"', ("1:", "60", "2 h")),
        ("most_people = 0", ("most_people", "0")),
        ('pages = "all"', ("1:", "all")),
        ('respondents = "javascript:alert(1)"', ("1:", "javascript:alert(1)")),
        ('field_code = "1"\ninvitation = true', ("1:", "field_code")),
    ],
)
def test_terms_that_make_no_sense_are_refused(tmp_path, line, says):
    with refused(SurveyError, *says):
        parsed(f"{line}\n{ONE}", tmp_path)


def test_dates_and_holds_are_read(tmp_path):
    text = 'opens = 2026-03-01\ncloses = 2026-04-01T08:00:00+02:00\nhold = "3 min"\nmost_people = 7\n' + ONE
    survey = parsed(text, tmp_path)
    assert (survey.opens, survey.hold, survey.most_people) == ("2026-03-01T00:00:00+00:00", 180, 7)
    assert datetime.fromisoformat(survey.closes) == datetime(2026, 4, 1, 6, tzinfo=UTC)


# The store


def test_a_store_takes_as_many_people_as_it_should_and_none_after_the_end(tmp_path):
    found, _ = published("most_people = 7\n" + ONE, tmp_path)
    content = found.content({"smokes": found.questions[0].mechanisms[0].outputs[0]})
    people = [Submission(f"{k:032x}", content) for k in range(9)]
    with create_store(tmp_path / "s.db", found) as store:
        assert store.takes_reports()
        assert store.add(people) == [Verdict.ACCEPTED] * 7 + [Verdict.CLOSED] * 2
        assert not store.takes_reports()
        assert store.add(people[:1]) == [Verdict.ACCEPTED]  # a lost reply
        assert store.count() == 7
    late = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    found, _ = published(f"closes = {late}\n" + ONE, tmp_path)
    with create_store(tmp_path / "late.db", found) as store:
        assert not store.takes_reports()
        assert store.add(people[:1]) == [Verdict.CLOSED]


def test_a_report_that_a_phone_holds_back_over_the_end_is_taken(tmp_path):
    """Otherwise chance, and how long somebody took, would decide about who is counted."""
    end = (datetime.now(UTC) - timedelta(minutes=30)).isoformat(timespec="seconds")
    for hold, verdict in (("1 h", Verdict.ACCEPTED), ("20 min", Verdict.CLOSED)):
        found, _ = published(f'closes = {end}\nhold = "{hold}"\n' + ONE, tmp_path)
        content = found.content({"smokes": found.questions[0].mechanisms[0].outputs[0]})
        with create_store(tmp_path / f"{verdict.name}.db", found) as store:
            assert not store.takes_reports()  # nobody begins any more
            assert store.add([Submission("0" * 32, content)]) == [verdict]


def test_the_same_survey_is_loaded_as_it_was_checked(tmp_path):
    text = TWO + SMOKES
    found, _ = published(text, tmp_path)
    assert load_designs(parsed(text, tmp_path)).to_json() == found.to_json()


def test_the_digest_of_the_field_code_is_what_the_page_compares(tmp_path):
    found, _ = published('id = "12345678"\nfield_code = "1"\n' + ONE, tmp_path)
    assert found.page("reports")["field"] == found.field_code
    assert "field.js" in page_of(found, "reports").files
