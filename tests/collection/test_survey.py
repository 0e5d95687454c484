"""survey.toml: what it says, what is wrong with it, and the mechanisms that are designed for it once."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys

import pytest

import extremal as ex
from extremal.collection.designs import check, load_designs, same_id
from extremal.collection.survey import parse_survey, read_survey
from extremal.errors import SurveyError
from tests.support.blocks import in_blocks
from tests.support.phones import ONE, SURVEY, folder
from tests.support.wording import facts, refused


def read(tmp_path, text):
    path = tmp_path / "survey.toml"
    path.write_text(text, encoding="utf-8")
    return read_survey(path)


def test_a_survey_says_what_its_file_says(tmp_path):
    survey = read(tmp_path, SURVEY)
    assert (survey.title, survey.width, survey.people, survey.confidence) == ("Health habits", 0.1, 900, 0.95)
    assert (survey.invitation, survey.post, survey.joint, survey.intervals) == (False, None, None, "each")
    assert read(tmp_path, f'intervals = "all"\n{SURVEY}').intervals == "all"
    visits, symptoms, mood, age = survey.questions
    assert visits.prior == ex.Prior([0.5, 0.3, 0.2], ["never", "once", "often"])
    assert symptoms.prior.labels == ("00", "01", "10", "11")
    assert symptoms.prior.probabilities == pytest.approx([0.63, 0.07, 0.27, 0.03])
    assert (mood.answers, mood.scores, mood.purpose) == (("never", "at times", "often"), (0, 1, 3), "mean")
    assert mood.prior == ex.Prior.uniform(["never", "at times", "often"])
    assert (age.private, age.required) == (False, False)


@pytest.mark.parametrize(
    "line",
    [
        "prior = [0.5, 0.3, 0.2]",
        'prior = ["50%", "30%", "20%"]',
        "prior = {never = 0.5, often = 0.2, once = 0.3}",
        'prior = {never = "50%", often = "20%", once = "30%"}',
        'prior = "never=0.5, once=0.3, often=0.2"',
        'counts = "census.csv"',
        "counts = {never = 50, once = 30, often = 20}",
    ],
)
def test_a_prior_can_be_given_in_every_form(tmp_path, line):
    (tmp_path / "census.csv").write_text("answer,count\nnever,500\nonce,300\noften,200\n")
    (question,) = read(tmp_path, ONE.replace("prior = [0.5, 0.3, 0.2]", line)).questions
    assert question.prior.labels == ("never", "once", "often")
    assert question.prior.probabilities == pytest.approx([0.5, 0.3, 0.2], abs=1e-15)


def test_subsets_of_items_can_be_counted(tmp_path):
    (tmp_path / "sets.csv").write_text("set,count\n00,60\n01,10\n10,20\n11,10\n")
    text = ONE.replace("prior = [0.5, 0.3, 0.2]", 'counts = "sets.csv"')
    text = text.replace('answers = ["never", "once", "often"]', 'kind = "several"\nanswers = ["a", "b"]')
    (question,) = read(tmp_path, text).questions
    assert question.prior.labels == ("00", "01", "10", "11")
    assert question.prior.probabilities == pytest.approx([0.6, 0.1, 0.2, 0.1], abs=1e-15)
    assert not question.independent


# What is wrong: a change of the survey, the line that is named, words of the message

PRIOR = "prior = [0.5, 0.3, 0.2]"
WRONG = {
    "not TOML": ("epsilon = 0.7", "epsilon = ", 11, ""),
    "a number with a comma before a comment": ("width = 0.1", "width = 0,1  # wide", 4, "0,1"),
    "a key twice": ("epsilon = 0.7", "epsilon = 0.7\nepsilon = 0.8", 12, ""),
    "an unknown key": ("epsilon = 0.7", "epsilonn = 0.7", 11, "'epsilonn'"),
    "an unknown key of the survey": ('title = "Health habits"', 'titel = "Health"', 1, "'titel'"),
    "no title": ('title = "Health habits"\n', "", None, "nothing"),
    "a number as text": (
        'text = "How often did you see a doctor last year?"',
        "text = 3",
        9,
        "3",
    ),
    "an empty text": ('title = "Health habits"', 'title = " "', 1, ""),
    "a width that is none": ("width = 0.1", "width = 10", 4, "10"),
    "people that are none": ("people = 900", "people = 0.5", 5, "0.5"),
    "intervals of no kind": ("width = 0.1", 'intervals = "both"', 4, "all"),
    "a flag that is none": ("width = 0.1", 'invitation = "yes"', 4, "yes"),
    "an unknown kind": (
        "epsilon = 0.7",
        'kind = "multiple"\nepsilon = 0.7',
        11,
        "multiple",
    ),
    "a name with blanks": ('name = "visits"', 'name = "my visits"', 8, "my visits"),
    "one answer": ('["never", "once", "often"]', '["never"]', 10, "['never']"),
    "answers that are no texts": ('["never", "once", "often"]', "[1, 2, 3]", 10, "[1, 2, 3]"),
    "an answer twice": ('["never", "once", "often"]', '["never", "Never ", "often"]', 10, "Never"),
    "an epsilon of 0": ("epsilon = 0.7", "epsilon = 0", 11, "0"),
    "an epsilon that is text": ("epsilon = 0.7", 'epsilon = "high"', 11, "high"),
    "an epsilon in percent": ("epsilon = 0.7", 'epsilon = "70%"', 11, "70%"),
    "an epsilon that is too large": (
        "epsilon = 0.7",
        "epsilon = 70",
        11,
        "70",
    ),
    "an epsilon that tells all": ("epsilon = 0.7", "epsilon = 1.7", 11, "1.609"),
    "no epsilon": ("epsilon = 0.7\n", "", 11, "prior"),
    "no prior": (PRIOR + "\n", "", 7, "epsilon"),
    "a prior of another length": (PRIOR, "prior = [0.5, 0.5]", 12, "2"),
    "a prior that does not sum to 1": (PRIOR, "prior = [0.5, 0.3, 0.1]", 12, "sum"),
    "percentages that do not sum to 100": (
        PRIOR,
        'prior = ["50%", "30%", "10%"]',
        12,
        "90%",
    ),
    "percentages that rounding does not explain": (
        PRIOR,
        'prior = ["45.0%", "35.0%", "19.0%"]',
        12,
        "99%",
    ),
    "a decimal comma": (PRIOR, 'prior = "never;0,5\\nonce;0,3\\noften;0,2"', 12, "0.5"),
    "a prior with a zero": (PRIOR, "prior = [0.5, 0.5, 0]", 12, "0 for ['often']"),
    "a prior of other answers": (PRIOR, "prior = {never = 0.5, once = 0.3, daily = 0.2}", 12, "'daily'"),
    "a prior that lacks one": (PRIOR, "prior = {never = 0.5, once = 0.5}", 12, "nothing for 'often'"),
    "a prior and counts": (PRIOR, PRIOR + '\ncounts = "census.csv"', 13, "counts"),
    "counts that are not there": (PRIOR, 'counts = "census.csv"', 12, "there is none"),
    "a mechanism with an epsilon": (PRIOR, 'mechanism = "m.json"', 12, "epsilon"),
    "a mean without scores": (PRIOR, PRIOR + '\npurpose = "mean"', 13, "mean"),
    "a private question to skip": (PRIOR, PRIOR + "\nrequired = false", 13, ""),
    "a clear question with a prior": (PRIOR, PRIOR + '\nkind = "clear"', 11, "clear"),
    "an insecure address": ("width = 0.1", 'post = "http://example.org/x"', 4, "http://example.org/x"),
    "a scale without scores": (PRIOR, PRIOR + '\nkind = "scale"', 10, "['never', 'once', 'often']"),
    "a joint prior that is none": (PRIOR, PRIOR + '\n[joint]\ncounts = "cross.csv"', 14, "there is none"),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_error_names_the_file_the_line_and_the_remedy(tmp_path, what):
    old, new, line, words = WRONG[what]
    assert ONE.count(old) == 1
    with pytest.raises(SurveyError) as caught:
        read(tmp_path, ONE.replace(old, new))
    said = str(caught.value)
    assert words in facts(caught.value)
    assert "\n" not in said
    assert len(said) < 500
    where = said.partition(":")[0]
    assert where.startswith("survey.toml")
    assert line is None or re.findall(r"\d+", where) == [str(line)], said


def test_a_decimal_comma_is_answered_with_the_point(tmp_path):
    with pytest.raises(SurveyError) as caught:
        read(tmp_path, ONE.replace("epsilon = 0.7", "epsilon = 0,7"))
    assert caught.value.given == "0,7"
    assert "0.7" in caught.value.remedy


def test_the_line_is_found_behind_texts_of_several_lines(tmp_path):
    text = SURVEY.replace(
        '"We ask about your health."', '"""\nname = "mood"\n[[question]]\nepsilon = 3\n"""\n# epsilon = 9'
    ).replace("epsilon = 1.0", "epsilon = -1.0")
    line = text.splitlines().index("epsilon = -1.0") + 1
    with pytest.raises(SurveyError, match=rf"survey.toml, line {line}: epsilon"):
        read(tmp_path, text)


def test_names_of_questions_differ(tmp_path):
    text = SURVEY.replace('name = "mood"', 'name = "Visits"')
    line = text.splitlines().index('name = "Visits"') + 1
    with pytest.raises(SurveyError, match=f"line {line}: name must differ"):
        read(tmp_path, text)


def test_a_cross_table_is_read_and_checked(tmp_path):
    text = SURVEY + '\n[joint]\ncounts = "cross.csv"\n'
    rows = [
        f"{v},{a},{n}"
        for v, a, n in (("never", "under 40", 5), ("often", "40 and over", 3), ("once", "under 40", 2))
    ]
    (tmp_path / "cross.csv").write_text("visits,age,count\n" + "\n".join(rows) + "\n")
    joint = read(tmp_path, text).joint
    assert joint.questions == ("visits", "age")
    assert dict(zip(joint.prior.labels, joint.prior.probabilities.tolist(), strict=True)) == pytest.approx(
        {("never", "under 40"): 0.5, ("once", "under 40"): 0.2, ("often", "40 and over"): 0.3}
    )
    for bad, words in (
        ("visits,height,count\n", "visits,height,count"),
        (
            "visits,age,count\nnever,under 40,3\nnever,40 and over,2\n",
            "'never' alone",
        ),
        ("visits,age,count\nnever,41,3\n", "never,41,3"),
    ):
        (tmp_path / "cross.csv").write_text(bad)
        with refused(SurveyError, words):
            read(tmp_path, text)


def test_any_text_is_read_or_refused_in_one_line(tmp_path):
    for text in (
        "",
        "[[question]]",
        "question = 3",
        "question = [1]",
        'title = "x"\n[question]\nname = "a"',
        "\0",
        "[" * 5000,
    ):
        with pytest.raises(SurveyError) as caught:
            parse_survey(text, tmp_path / "survey.toml")
        assert "\n" not in str(caught.value)


# Mechanisms


@pytest.fixture
def copied(tmp_path):
    """A survey that has been checked, to change."""
    return shutil.copytree(folder(), tmp_path / "survey") / "survey.toml"


def test_mechanisms_are_designed_once_certified_and_what_the_question_asks_for(copied):
    published = load_designs(read_survey(copied))
    visits, symptoms, mood, age = published.questions
    prior = ex.Prior([0.5, 0.3, 0.2], ["never", "once", "often"])
    (made,) = visits.mechanisms
    assert (made.prior, made.epsilon) == (prior, 0.7)
    assert ex.shares(prior, made.mechanism) == pytest.approx(ex.design(prior, 0.7).value, rel=1e-9)
    (made,) = mood.mechanisms
    best = ex.design(made.prior, 0.7, ex.mean([0, 1, 3]))
    assert ex.mean([0, 1, 3])(made.prior, made.mechanism) == pytest.approx(best.value, rel=1e-6)
    assert symptoms.form == "joint"
    assert age.mechanisms == ()
    before = {path.name: path.read_bytes() for path in copied.parent.iterdir()}
    again, _ = check(read_survey(copied))
    assert again.digest == published.digest
    assert {path.name: path.read_bytes() for path in copied.parent.iterdir()} == before


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text(path.read_text().replace("epsilon = 1.0", "epsilon = 1.1")),
        lambda path: path.write_text(path.read_text().replace("[0.5, 0.3, 0.2]", "[0.4, 0.4, 0.2]")),
        lambda path: path.write_text(path.read_text().replace('"cough", "fever"', '"cough", "fevers"')),
        lambda path: (path.parent / "survey.visits.mechanism.json").unlink(),
        lambda path: shutil.copy(
            path.parent / "survey.mood.mechanism.json", path.parent / "survey.visits.mechanism.json"
        ),
        lambda path: (path.parent / "survey.lock.json").unlink(),
        lambda path: path.write_text(path.read_text().partition('[[question]]\nname = "age"')[0]),
    ],
    ids=["epsilon", "prior", "answers", "missing", "swapped", "no lock", "a question less"],
)
def test_a_survey_that_was_not_checked_as_it_is_now_is_refused_with_the_command_to_run(copied, change):
    change(copied)
    with refused(SurveyError, "survey", "survey.toml"):
        load_designs(read_survey(copied))


def test_a_title_can_be_corrected_without_a_new_design(copied):
    before = load_designs(read_survey(copied)).digest
    copied.write_text(copied.read_text().replace("Health habits", "Habits and health"))
    assert load_designs(read_survey(copied)).digest == before


def test_a_mechanism_that_was_altered_is_refused(copied):
    path = copied.parent / "survey.visits.mechanism.json"
    path.write_text(path.read_text().replace('"epsilon": "0.7"', '"epsilon": "0.6"'))
    with pytest.raises(ex.errors.FormatError, match="altered"):
        load_designs(read_survey(copied))


def test_a_lock_that_is_none_is_refused(copied):
    (copied.parent / "survey.lock.json").write_text("{}")
    with refused(SurveyError, "'format'"):
        load_designs(read_survey(copied))


def forge(copied, name, mechanisms, form=None):
    """Put other mechanisms into the place of a question's, and their digests into the lock file."""
    path = copied.parent / "survey.lock.json"
    lock = json.loads(path.read_text())
    entry = {"form": form, "mechanisms": [m.digest for m in mechanisms]}
    lock["questions"][name] |= entry
    path.write_text(json.dumps(lock))
    for k, mechanism in enumerate(mechanisms, 1):
        mechanism.save(copied.parent / f"survey.{name}{f'.{k}' if form == 'each' else ''}.mechanism.json")


def of_items(*levels):
    priors = [ex.Prior([1 - p, p], ["no", "yes"]) for p in (0.3, 0.1)]
    return [ex.certify(ex.design(p, level)) for p, level in zip(priors, levels, strict=True)]


@pytest.mark.parametrize(
    ("prior", "labels", "epsilon"),
    [
        ([0.5, 0.3, 0.2], ["never", "once", "often"], 0.71),
        ([0.4, 0.4, 0.2], ["never", "once", "often"], 0.7),
        ([0.5, 0.3, 0.2], ["never", "once", "daily"], 0.7),
    ],
    ids=["level", "prior", "answers"],
)
def test_a_lock_is_not_believed_against_the_survey(copied, prior, labels, epsilon):
    forge(copied, "visits", [ex.certify(ex.design(ex.Prior(prior, labels), epsilon))])
    with refused(SurveyError, "survey"):
        load_designs(read_survey(copied))
    check(read_survey(copied))  # designs it anew
    assert (
        load_designs(read_survey(copied)).digest == load_designs(read_survey(folder() / "survey.toml")).digest
    )


def test_items_of_a_lock_are_within_the_level_of_the_set(copied):
    forge(copied, "symptoms", of_items(0.5, 0.49), "each")
    assert load_designs(read_survey(copied)).questions[1].form == "each"
    forge(copied, "symptoms", of_items(0.5, 0.51), "each")
    with refused(SurveyError, "survey"):
        load_designs(read_survey(copied))
    forge(copied, "symptoms", of_items(0.5, 0.49)[:1], None)
    with refused(SurveyError, "survey"):
        load_designs(read_survey(copied))


def test_what_people_read_is_computed_and_not_taken_from_the_lock(copied):
    expected = load_designs(read_survey(copied)).together
    path = copied.parent / "survey.lock.json"
    lock = json.loads(path.read_text())
    assert "together" not in lock
    path.write_text(json.dumps({**lock, "together": "Nothing is given away."}))
    assert load_designs(read_survey(copied)).together == expected


@pytest.mark.parametrize(
    "entry",
    [[], None, {"times": "all"}, {"form": "other"}, {"mechanisms": None}, {"made_for": 1}, {"lack": "form"}],
    ids=str,
)
def test_a_broken_entry_of_a_lock_is_refused(copied, entry):
    path = copied.parent / "survey.lock.json"
    lock = json.loads(path.read_text())
    if entry == {"lack": "form"}:
        del lock["questions"]["visits"]["form"]
    elif isinstance(entry, dict):
        lock["questions"]["visits"] |= entry
    else:
        lock["questions"]["visits"] = entry
    path.write_text(json.dumps(lock))
    for read_lock in (load_designs, check):
        with refused(SurveyError, "'visits'"):
            read_lock(read_survey(copied))


def test_a_question_takes_a_mechanism_from_a_file(tmp_path):
    prior = ex.Prior([0.5, 0.3, 0.2], ["often", "once", "never"])  # in any order
    ex.certify(ex.design(prior, 0.9)).save(tmp_path / "mine.json")
    text = ONE.replace("epsilon = 0.7\n", "").replace(PRIOR, 'mechanism = "mine.json"')
    published, findings = check(read(tmp_path, text))
    assert published.questions[0].mechanisms == (ex.load(tmp_path / "mine.json"),)
    assert findings.epsilon == pytest.approx(0.9)
    assert not list(tmp_path.glob("survey.visits*"))
    assert load_designs(read(tmp_path, text)).digest == published.digest
    blocks = in_blocks(prior, [0, 1, 1], [[0.6, 0.4], [0.5, 0.5]])
    ex.certify(prior, blocks, 0.9).save(tmp_path / "mine.json")
    with refused(SurveyError, "one in blocks"):
        check(read(tmp_path, text))
    other = ex.Prior([0.5, 0.5], ["yes", "no"])
    ex.certify(ex.design(other, 0.5)).save(tmp_path / "mine.json")
    with refused(SurveyError, "yes, no"):
        check(read(tmp_path, text))


def test_a_question_whose_reports_tell_the_answers_is_refused(tmp_path):
    """At epsilon = 1.59, just below the limit that is refused anyway, 99.5% of answers can be read off the reports."""
    for epsilon, near in (("1.59", True), ("1.2", False)):
        survey = read(tmp_path, ONE.replace("epsilon = 0.7\n", f"epsilon = {epsilon}\n"))
        if not near:
            check(survey)
            continue
        with refused(SurveyError) as caught:
            check(survey)
        assert 'kind = "clear"' in str(caught.value)
        assert {path.name for path in tmp_path.iterdir()} == {"survey.toml"}  # nothing was written
    prior = ex.Prior([0.5, 0.3, 0.2], ["often", "once", "never"])
    told = ex.Mechanism([[0, 1, 0], [1, 0, 0], [0, 0, 1]], prior.labels)
    ex.certify(prior, told, 5, allow_true_answers=True).save(tmp_path / "mine.json")
    text = ONE.replace("epsilon = 0.7\n", "").replace(PRIOR, 'mechanism = "mine.json"')
    with refused(SurveyError, "every report tells the true answer"):
        check(read(tmp_path, text))


def test_a_set_of_items_of_which_one_is_told_is_refused(tmp_path):
    """The whole set stays uncertain, as the second item is hidden; the first can be read off every report."""
    subsets = ["00", "01", "10", "11"]
    prior = ex.Prior([0.25] * 4, subsets)
    first = ex.Mechanism([[0.5, 0.5, 0, 0]] * 2 + [[0, 0, 0.5, 0.5]] * 2, subsets, subsets)
    ex.certify(prior, first, 1.0).save(tmp_path / "mine.json")
    text = (
        'title = "T"\n[[question]]\nname = "what"\ntext = "What?"\nkind = "several"\n'
        'answers = ["a", "b"]\nmechanism = "mine.json"\n'
    )
    with refused(SurveyError, "true value of column 1"):
        check(read(tmp_path, text))


def test_what_the_page_gets_names_the_lowest_and_highest_score_in_order():
    document = json.loads(json.dumps(load_designs(read_survey(folder() / "survey.toml")).page("reports")))
    assert document["questions"][2]["answers"] == ["never", "at times", "often"]
    assert document["together"] == {
        "epsilon": pytest.approx(2.4, abs=1e-9),
        "conditions": ["questions", "items"],
    }


def test_a_scale_written_from_the_top_keeps_its_order_and_its_prior(tmp_path):
    survey = read(
        tmp_path,
        'title = "T"\n[[question]]\nname = "mood"\ntext = "How are you?"\nkind = "scale"\nepsilon = 0.5\n'
        'answers = {"very well" = 2, "so so" = 1, "badly" = 0}\nprior = [0.7, 0.25, 0.05]\n',
    )
    (question,) = survey.questions
    assert question.answers == ("very well", "so so", "badly")
    assert question.scores == (2.0, 1.0, 0.0)
    published, _ = check(survey)
    (mechanism,) = published.questions[0].mechanisms
    assert (
        ex.epsilon_pml(ex.Prior([0.7, 0.25, 0.05]), ex.Mechanism(mechanism.mechanism.matrix)) <= 0.5 + 1e-12
    )
    other = dataclasses.replace(published.questions[0], scores=(20.0, 1.0, 0.0))
    assert dataclasses.replace(published, questions=(other,)).digest != published.digest


# The id


def test_an_id_is_made_once_and_stays_whatever_else_changes(tmp_path):
    made = {check(read(tmp_path, ONE))[0].id}
    (tmp_path / "survey.lock.json").unlink()
    made.add(check(read(tmp_path, ONE.replace("Health habits", "Habits")))[0].id)
    made.add(check(read(tmp_path, ONE.replace("epsilon = 0.7", "epsilon = 0.8")))[0].id)
    made.add(load_designs(read_survey(tmp_path / "survey.toml")).id)
    assert made == {(tmp_path / "survey.id").read_text().strip()}
    (tmp_path / "wave2.toml").write_text(ONE)
    assert check(read_survey(tmp_path / "wave2.toml"))[0].id not in made


def test_an_id_in_the_survey_is_the_one(tmp_path):
    published, _ = check(read(tmp_path, 'id = "health-2026"\n' + ONE))
    assert published.id == published.page("reports")["id"] == "health-2026"
    assert not (tmp_path / "survey.id").exists()


@pytest.mark.parametrize("id", ["short", "a" * 65, "with space", "sl/ash-12", "ünicode-12"])
def test_an_id_that_is_none_is_refused(tmp_path, id):
    with refused(SurveyError, "1:", "8 to 64"):
        read(tmp_path, f'id = "{id}"\n' + ONE)


def test_a_file_that_holds_no_id_is_refused_and_left_alone(tmp_path):
    (tmp_path / "survey.id").write_text("")
    with refused(SurveyError, "survey.id"):
        check(read(tmp_path, ONE))
    assert (tmp_path / "survey.id").read_text() == ""


@pytest.mark.slow
def test_processes_that_make_an_id_in_the_same_moment_make_one(tmp_path):
    read(tmp_path, ONE)
    program = (
        "import sys\n"
        "from extremal.collection.designs import survey_id\n"
        "from extremal.collection.survey import read_survey\n"
        "survey = read_survey('survey.toml')\n"
        "print('ready', flush=True); sys.stdin.readline(); print(survey_id(survey))"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": tmp_path}
    racers = [subprocess.Popen([sys.executable, "-c", program], **pipes) for _ in range(4)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    assert {racer.communicate()[0] for racer in racers} == {(tmp_path / "survey.id").read_text()}
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_a_copy_that_keeps_the_id_is_found(tmp_path):
    survey = read(tmp_path, 'id = "health-2026"\n' + ONE)
    assert same_id(survey) == []
    for name, text in {"broken": "= 3", "other": 'id = "health-2027"', "wave2": 'id = "health-2026"'}.items():
        (tmp_path / f"{name}.toml").write_text(text)
    (said,) = same_id(survey)
    assert said.startswith("wave2.toml has the same id")
