"""XLSForms: what becomes of their rows, and that nothing is lost without a word."""

import math
from pathlib import Path

import numpy as np
import pytest

import extremal as ex
from extremal.collection.survey import parse_survey
from extremal.collection.xlsform import Wanted, read_xlsform
from extremal.errors import SurveyError
from tests.support.cli_cases import refuse, run
from tests.support.wording import refused
from tests.support.xlsforms import CHOICES, GARBLED, HEADER, form

openpyxl = pytest.importorskip("openpyxl")


def imported(path, *rows, wanted=None, **more):
    found = read_xlsform(form(path, *rows, **more), wanted or Wanted())
    return found, parse_survey(found.text, Path("survey.toml"))


def test_questions_of_one_choice_are_asked_in_the_clear(tmp_path):
    found, survey = imported(
        tmp_path / "f.xlsx",
        ["note", "hello", 'Welcome to the "study".'],
        ["select_one yn", "married", "Are you married?", "Say so", "yes"],
        [],
        ["select_one sex", "sex", "Are you …?"],
    )
    assert found.left == ()
    assert (survey.title, survey.introduction) == ("Health", 'Welcome to the "study".')
    married, sex = survey.questions
    assert (married.name, married.text, married.help) == ("married", "Are you married?", "Say so")
    assert (married.answers, sex.answers) == (("Yes", "No"), ("Female", "Male"))
    assert (married.required, sex.required) == (True, False)
    assert (found.questions, found.private) == (2, 0)


def test_a_garbled_question_keeps_its_rate(tmp_path, monkeypatch):
    """The mechanism that `survey check` designs records "yes" always, and turns "no" into "yes" at the form's rate."""
    monkeypatch.chdir(tmp_path)
    form(
        "f.xlsx",
        ["select_one yn", "harassed", "Were you harassed?", *[None] * 3, "yes", 0.4, "*"],
        header=GARBLED,
    )
    done = run("survey", "import", "f.xlsx", "-o", "survey.toml", "--share", "harassed=10%")
    assert done.status == 0, done.err
    assert "1 of them private" in done.out
    assert "survey row 2: blocks of 'harassed' are left out" in " ".join(done.out.split())
    assert run("survey", "check", "survey.toml").status == 0
    certified = ex.load("survey.harassed.mechanism.json")
    assert certified.inputs == ("Yes", "No")
    assert np.allclose(certified.mechanism.matrix, [[1, 0], [0.4, 0.6]], atol=1e-5)
    assert certified.epsilon == pytest.approx(-math.log(0.1 + 0.9 * 0.4), abs=1e-6)
    assert certified.epsilon <= -math.log(0.1 + 0.9 * 0.4)


def test_garbling_that_is_not_the_best_at_its_limit_is_said_to_be_so(tmp_path):
    """Where most people say yes, or the rate is so high that the limit is below -log(1 - p)."""
    for share, rate, said in ((0.1, 0.4, 0), (0.1, 0.95, 1), (0.7, 0.4, 1)):
        found, survey = imported(
            tmp_path / "f.xlsx",
            ["select_one yn", "h", "Harassed?", *[None] * 3, "no", rate],
            header=GARBLED,
            wanted=Wanted({"h": [share]}),
        )
        assert len(found.left) == said
        (question,) = survey.questions
        assert question.prior.probabilities == pytest.approx([1 - share, share])
        assert question.epsilon == pytest.approx(-math.log(share + (1 - share) * rate), abs=1e-6)


def test_what_applies_is_asked_privately_with_the_shares_that_are_given(tmp_path):
    rows = ["select_multiple sy", "symptoms", "Which?"], ["select_one yn", "married", "Married?"]
    wanted = Wanted({"symptoms": [0.2, 0.1, 0.3], "married": [0.4, 0.6]}, 0.5)
    found, survey = imported(tmp_path / "f.xlsx", *rows, wanted=wanted)
    assert found.left == ()
    symptoms, married = survey.questions
    assert (symptoms.kind, symptoms.answers, symptoms.epsilon) == ("several", ("Cough", "Fever", "Pain"), 0.5)
    assert symptoms.prior.probabilities[0] == pytest.approx(0.8 * 0.9 * 0.7)
    assert (married.kind, married.prior.probabilities.tolist()) == ("single", [0.4, 0.6])
    found, survey = imported(tmp_path / "f.xlsx", *rows)
    assert [q.name for q in survey.questions] == ["married"]
    assert len(found.left) == 1
    assert "'symptoms'" in found.left[0]


LEFT = [
    (["start", "start"], "devices"),
    (["integer", "age", "How old?"], "no questions of this type"),
    (["select_one_from_file towns.csv", "town", "Where?"], "no questions of this type"),
    (["note", "later", "Now to your health."], "introduction"),
    (["selectone yn", "typo", "?"], "knows no such type"),
    (["psychic", "mind", "?"], "knows no such type"),
    (["select_one nolist", "nolist", "?"], "0 choices"),
    (["select_one same", "same", "?"], "different labels"),
    (["select_one yn", "then", "?", None, None, "${first} > 3"], "condition"),
    (["select_one yn", "then", "?", None, None, "${first} = 'maybe'"], "names no answer"),
    (["select_one yn", "then", "?", None, None, "${first} = 'yes' and ${first} = 'no'"], "condition"),
    (["select_one yn", "then", "?", None, None, "${nobody} = 'yes'"], "taken over"),
    (["select_one yn", "then", "?", None, None, "${then} = 'yes'"], "taken over"),
    (["select_one sex or_other", "other", "?"], "other"),
    (["select_one yn", "1 odd.name", "?"], "'q1_odd_name'"),
    (["select_one yn", "first", "again?"], "its name"),
    (["select_one yn", "piped", "You said ${first}. Sure?"], "show the answer"),
    (["select_one skip", "skip", "?"], "not asked"),
]


@pytest.mark.parametrize(("row", "says"), LEFT)
def test_what_is_not_taken_over_is_listed_by_its_row(tmp_path, row, says):
    choices = [*CHOICES, ["same", "a", "Same"], ["same", "b", "same"]]
    choices += [["skip", "a", "asked"], ["skip", "b", "not asked"]]
    found, _ = imported(tmp_path / "f.xlsx", ["select_one yn", "first", "First?"], row, choices=choices)
    (line,) = found.left
    assert line.startswith("survey row 3: ")
    assert says in line


def test_choices_that_stand_twice_and_questions_beyond_a_hundred_are_listed(tmp_path):
    rows = [["select_one yn", f"q{k}", "?"] for k in range(102)]
    found, survey = imported(tmp_path / "f.xlsx", *rows, choices=[*CHOICES, ["yn", "yes", "Yes!"]])
    assert (found.questions, survey.questions[0].answers) == (100, ("Yes", "No"))
    assert [line.partition(":")[0] for line in found.left] == [
        f"choices row {len(CHOICES) + 1}",
        "survey row 102",
        "survey row 103",
    ]


@pytest.mark.parametrize(
    ("garbling", "shares"),
    [
        (("yes", 0.4), {}),
        (("yes", 0.4), {"h": [0.1, 0.9]}),
        (("maybe", 0.4), {"h": [0.1]}),
        (("yes", "often"), {"h": [0.1]}),
        (("yes", 0), {"h": [0.1]}),
        (("yes", 1), {"h": [0.1]}),
        ((None, 0.4), {"h": [0.1]}),
    ],
)
def test_garbling_that_says_too_little_is_never_asked_in_the_clear(tmp_path, garbling, shares):
    rows = (
        ["select_one yn", "first", "First?"],
        ["select_one yn", "h", "Harassed?", None, None, None, *garbling],
    )
    path = form(tmp_path / "f.xlsx", *rows, header=GARBLED)
    if shares:
        with refused(SurveyError, "h"):
            read_xlsform(path, Wanted(shares))
        return
    found = read_xlsform(path, Wanted())
    assert 'name = "h"' not in found.text
    assert len(found.left) == 1


def test_columns_that_say_something_and_repeats_are_listed(tmp_path):
    found, survey = imported(
        tmp_path / "f.xlsx",
        ["select_one yn", "first", "First?", None, None, None, ". = 'yes'", "no"],
        ["begin repeat", "kids"],
        ["select_one yn", "boy", "A boy?"],
        ["end repeat"],
        ["begin_group", "g", "G", None, None, "${first} = 'yes'"],
        [None, "a row without a type"],
        ["select_one yn", "last", "Last?"],
        ["end group"],
        header=[*HEADER, "constraint", "read_only"],
    )
    assert [q.name for q in survey.questions] == ["first", "last"]
    assert survey.questions[1].ask_if == {"question": "first", "answers": ["Yes"]}
    assert [line.partition(": ")[0] for line in found.left] == [f"survey row {k}" for k in (2, 3, 4)]
    assert "'constraint'" in found.left[0]


TONGUES = ["label::English (en)", "label::Français (fr)", "label::Kiswahili (sw)", "label::العربية (ar)"]
MARRIED = ["Married?", "Marié ?", "Umeolewa?", "متزوج؟"]


def tongues(path, chosen):
    """A form in four languages; the last one lacks a choice."""
    choices = [["list_name", "name", *TONGUES]]
    choices += [["yn", 1, "Yes", "Oui", "Ndiyo", "نعم"], ["yn", 0, "No", "Non", "Hapana"]]
    return imported(
        path,
        ["select_one yn", "married", *MARRIED],
        header=["type", "name", *TONGUES],
        choices=choices,
        settings=(("default_language", "form_title"), (chosen, "Health")),
    )


@pytest.mark.parametrize(
    ("chosen", "languages"), [("English (en)", ("en", "fr")), ("Français (fr)", ("fr", "en"))]
)
def test_texts_come_in_the_languages_that_are_complete_and_spoken(tmp_path, chosen, languages):
    """The default language comes first and names the answers; what is missing or not spoken is listed."""
    found, survey = tongues(tmp_path / "f.xlsx", chosen)
    assert survey.languages == languages
    (question,) = survey.questions
    texts, answers = {"en": "Married?", "fr": "Marié ?"}, {"en": ("Yes", "No"), "fr": ("Oui", "Non")}
    assert question.answers == answers[languages[0]]
    assert {lang: question.words[lang]["text"] for lang in languages} == texts
    assert tuple(question.words[languages[1]]["answers"]) == answers[languages[1]]
    assert len(found.left) == 2
    assert ["(sw)" in found.left[0], "(ar)" in found.left[1], "missing" in found.left[1]] == [True] * 3


def test_a_default_language_that_the_page_does_not_speak_is_taken_alone(tmp_path):
    found, survey = tongues(tmp_path / "f.xlsx", "Kiswahili (sw)")
    (question,) = survey.questions
    assert (survey.languages, question.text, question.answers) == (("en",), "Umeolewa?", ("Ndiyo", "Hapana"))
    assert "extremal survey texts" in found.left[0]


WHO = [
    ("${sex} = 'f'", ["Female"]),
    ('${sex}="f"', ["Female"]),
    ("selected(${sex}, 'm')", ["Male"]),
    ("${sex} != 'm'", ["Female"]),
    ("${ill} = 'yes' or ${ill} = 'maybe'", ["Yes", "Maybe"]),
    ("selected( ${ill} , 'no' )", ["No"]),
]


@pytest.mark.parametrize(("given", "answers"), WHO)
@pytest.mark.parametrize("inside", [False, True])
def test_a_condition_on_one_earlier_question_is_kept(tmp_path, given, answers, inside):
    """Of the question itself, or of the group that it stands in."""
    choices = [*CHOICES, ["often", "yes", "Yes"], ["often", "no", "No"], ["often", "maybe", "Maybe"]]
    rows = [["select_one yn", "then", "Then?", None, None, None if inside else given]]
    if inside:
        rows = [["begin_group", "g", "G", None, None, given], *rows, ["end_group"]]
        rows += [["select_one yn", "all", "All?"]]
    found, survey = imported(
        tmp_path / "f.xlsx",
        ["select_one sex", "sex", "Sex?"],
        ["select_one often", "ill", "Ill?"],
        *rows,
        choices=choices,
    )
    assert found.left == ()
    name = "sex" if "sex" in given else "ill"
    assert survey.questions[2].ask_if == {"question": name, "answers": answers}
    assert all(q.ask_if is None for q in survey.questions if q.name != "then")


def test_a_question_in_the_clear_never_depends_on_a_private_one(tmp_path, monkeypatch):
    """It is asked of everybody, and the list says so; a private one depends on it, and on a choice of several."""
    monkeypatch.chdir(tmp_path)
    when = ["${h} = 'yes'", "selected(${symptoms}, '2')"]
    any_of = " or ".join(f"selected(${{symptoms}}, '{k}')" for k in (1, 2, 3))
    rows = [
        ["select_one yn", "h", "Harassed?"],
        ["select_multiple sy", "symptoms", "Which?"],
        ["select_one yn", "open", "Told?", None, None, when[0]],
        ["select_one yn", "hidden", "Reported?", None, None, when[0]],
        ["select_one yn", "other", "Fever?", None, None, when[1]],
        ["select_one yn", "some", "Since May?", None, None, any_of],
    ]
    half = [0.4, 0.6]
    wanted = Wanted(
        {**dict.fromkeys(("h", "hidden", "other", "some"), half), "symptoms": [0.2, 0.3, 0.4]}, 0.3
    )
    found, survey = imported("f.xlsx", *rows, wanted=wanted)
    assert len(found.left) == 1
    assert "survey row 4: the condition of 'open' is left out, and everybody is asked" in found.left[0]
    rules = {q.name: q.ask_if for q in survey.questions}
    assert rules["open"] is None
    assert rules["hidden"] == {"question": "h", "answers": ["Yes"]}
    assert rules["other"] == {"question": "symptoms", "answers": ["Fever"]}
    assert rules["some"] == {"question": "symptoms", "answers": ["Cough", "Fever", "Pain"]}
    assert survey.questions[5].prior.probabilities[-1] == pytest.approx(0.8 * 0.7 * 0.6)  # none: not asked
    assert [q.hides for q in survey.questions] == [False, False, False, True, True, True]
    Path("survey.toml").write_text(found.text, encoding="utf-8")
    assert run("survey", "check", "survey.toml").status == 0
    assert run("survey", "test", "survey.toml", "--people", "50").status == 0


@pytest.mark.parametrize(
    "text", ['a "quoted" \\ back', "tab\tnew\nline", "ctrl \x7f del", "\u2028 größe 😀", "'''"]
)
def test_every_text_of_a_cell_arrives_as_it_is_read(tmp_path, text):
    _, survey = imported(tmp_path / "f.xlsx", ["select_one yn", "q", text])
    assert survey.questions[0].text == " ".join(text.split())


def test_what_is_no_form_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text.xlsx").write_text("type,name,label\n")
    openpyxl.Workbook().save("empty.xlsx")
    form("none.xlsx", ["integer", "age", "How old?"])
    form("good.xlsx", ["select_one yn", "q", "?"])
    cut = Path("good.xlsx").read_bytes()[:2000]
    Path("cut.xlsx").write_bytes(cut)
    for name in ("text.xlsx", "empty.xlsx", "none.xlsx", "cut.xlsx", "nowhere.xlsx"):
        refuse("survey", "import", name, "-o", "s.toml", says=name)
    refuse("survey", "import", "good.xlsx", "-o", "s.toml", "--share", "q", says="--share")
    refuse("survey", "import", "good.xlsx", "-o", "s.toml", "--share", "p=10%", says="p")
    eighty = ("--share", "q=50%,30%", "--epsilon", "0.5")
    refuse("survey", "import", "good.xlsx", "-o", "s.toml", *eighty, says="0.8")
    assert not Path("s.toml").exists()
    assert run("survey", "import", "good.xlsx", "-o", "-").out.startswith("id = ")
    assert run("survey", "import", "good.xlsx", "-o", "s.toml").status == 0
    refuse("survey", "import", "good.xlsx", "-o", "s.toml", says="--overwrite")
