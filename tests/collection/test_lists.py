"""Questions with thousands of answers: from survey.toml and its CSV file to reports, results and files."""

import csv
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("starlette")

import extremal as ex
from extremal._common.json import canonical
from extremal.certification.integers import TOTAL
from extremal.collection.designs import check, load_designs
from extremal.collection.lists import MOST_LISTED
from extremal.collection.page import page_of
from extremal.collection.published import Published
from extremal.collection.rehearsal import simulated
from extremal.collection.results import people_needed, results, too_few
from extremal.collection.store import Submission, create_store
from extremal.collection.survey import read_survey
from extremal.errors import SurveyError
from extremal.lists.windows import unpack
from tests.support.cli_cases import refuse, run
from tests.support.windows import weight
from tests.support.wording import refused

TOWNS = ["Łódź", "مكة", "Lyon", "東京", "I prefer not to say", *(f"Town {k}" for k in range(1, 200))]
COUNTS = [600, 500, 900, 1200, 100, *(2000 // k + 1 for k in range(1, 200))]
FILE = "answer,count,also,group\n" + "".join(
    f"{town},{count},{'Lugdunum|Lione' if town == 'Lyon' else ''},{'big' if k < 4 else 'rest'}\n"
    for k, (town, count) in enumerate(zip(TOWNS, COUNTS, strict=True))
)
SURVEY = """
title = "Homes"
id = "homes-2026"
width = 0.1
people = 4000
[[question]]
name = "town"
text = "Where do you live?"
kind = "list"
answers_file = "towns.csv"
epsilon = 2
[[question]]
name = "smokes"
text = "Do you smoke?"
answers = ["yes", "no"]
prior = [0.2, 0.8]
epsilon = 0.5
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.toml").write_text(SURVEY, encoding="utf-8")
    (tmp_path / "towns.csv").write_text(FILE, encoding="utf-8")
    return tmp_path


def read(text, here):
    (here / "survey.toml").write_text(text, encoding="utf-8")
    return read_survey("survey.toml")


def filled(published, people=3000, seed=1):
    """The store survey.db with reports of people whose towns are as common as expected."""
    generator = np.random.default_rng(seed)
    towns = generator.choice(len(TOWNS), people, p=np.array(COUNTS) / sum(COUNTS))
    town, smokes = published.questions
    sent = {
        "town": town.windows.privatize([TOWNS[k] for k in towns]).tolist(),
        "smokes": smokes.mechanisms[0].privatize(
            generator.choice(["yes", "no"], people, p=[0.2, 0.8]).tolist()
        ),
    }
    rows = [dict(zip(sent, row, strict=True)) for row in zip(*sent.values(), strict=True)]
    with create_store("survey.db", published) as store:
        store.add(Submission(f"{k:032x}", published.content(row)) for k, row in enumerate(rows))
        store.finish()
        shown = results(store)
    return sent["town"], shown


def test_a_list_is_designed_once_and_kept_until_what_it_depends_on_changes(here):
    survey = read_survey("survey.toml")
    published, _ = check(survey)
    town = published.questions[0]
    assert town.answers == tuple(TOWNS)
    assert town.windows == ex.large.windows(ex.Prior.from_counts(COUNTS, labels=TOWNS), 2.0)
    assert load_designs(survey).questions[0].windows == town.windows
    written = (here / "survey.town.mechanism.json").read_bytes()
    check(survey)
    assert (here / "survey.town.mechanism.json").read_bytes() == written
    assert Published.from_json(published.to_json()).digest == published.digest
    assert Published.from_json(published.to_json()).questions[0].also[2] == ("Lugdunum", "Lione")
    (here / "towns.csv").write_text(FILE.replace("Lyon,900", "Lyon,901"), encoding="utf-8")
    with refused(SurveyError, "town"):
        load_designs(read_survey("survey.toml"))
    lock = json.loads((here / "survey.lock.json").read_text())
    (here / "survey.town.mechanism.json").write_text(ex.large.windows(TOWNS, 2.0).to_json())
    lock["questions"]["town"]["mechanisms"] = [ex.large.windows(TOWNS, 2.0).digest]
    (here / "survey.lock.json").write_text(json.dumps(lock))
    (here / "towns.csv").write_text(FILE, encoding="utf-8")
    with refused(SurveyError, "town"):  # whatever the lock file says
        load_designs(read_survey("survey.toml"))


def test_without_counts_the_limit_holds_for_every_prior(here):
    (here / "towns.csv").write_text("answer\n" + "".join(f"{town}\n" for town in TOWNS), encoding="utf-8")
    published, findings = check(read_survey("survey.toml"))
    assert published.questions[0].windows.prior is None
    assert findings.leakages[0].own == published.questions[0].windows.ldp_epsilon <= 2
    assert load_designs(read_survey("survey.toml")).digest == published.digest
    assert people_needed(published)["town"] > 100
    filled(published)


def test_the_page_carries_each_answer_once_and_other_spellings_compressed(here):
    published, _ = check(read_survey("survey.toml"))
    files = page_of(published, "reports").files
    question = json.loads(files["survey.json"])["questions"][0]
    assert question["answers"] == []
    assert unpack(question["also"])[2] == ["Lugdunum", "Lione"]
    assert "Lyon" not in files["survey.json"]
    assert unpack(json.loads(files["mechanisms/town.json"])["labels"]) == TOWNS
    assert "extremal-list.js" in files
    del files
    single, _ = check(
        read(SURVEY[: SURVEY.index('name = "town"')] + SURVEY[SURVEY.index('name = "smokes"') :], here)
    )
    assert "extremal-list.js" not in page_of(single, "reports").files


def test_only_numbers_of_reports_are_stored(here):
    published, _ = check(read_survey("survey.toml"))
    town = published.questions[0]
    reports = town.windows.reports
    for value in (0, reports - 1):
        assert town.accepts(value)
    for value in (-1, reports, 1.0, "1", None, True, [1], "Lyon"):
        assert not town.accepts(value)
    longest = published.content(
        {"town": reports - 1, "smokes": published.questions[1].mechanisms[0].outputs[-1]}
    )
    assert len(longest) < published.largest_body


def test_results_show_the_most_frequent_answers_and_groups(here):
    published, _ = check(read_survey("survey.toml"))
    reports, shown = filled(published)
    town = shown["questions"][0]
    expected = ex.large.estimate(published.questions[0].windows, reports, intervals="all").most(20)
    groups = ex.large.estimate_groups(
        published.questions[0].windows, reports, {"big": TOWNS[:4], "rest": TOWNS[4:]}
    )
    assert [row["label"] for row in town["rows"]] == [*expected.labels, "big", "rest"]
    assert [row["high"] for row in town["rows"][:20]] == pytest.approx(expected.upper)
    assert [row["share"] for row in town["rows"][20:]] == pytest.approx(groups.estimates)
    assert town["promise"].endswith("all rows together; of groups: about 95% for each row by itself.")
    assert town["needed"] > 0
    told = json.loads(run("estimate", "survey.db", "--top", "3", "--json").out)
    (top, grouped) = told["questions"]["town"]["tables"]
    assert [row["label"] for row in top["rows"]] == list(expected.labels[:3])
    assert [row["label"] for row in grouped["rows"]] == ["big", "rest"]
    refuse("estimate", "survey.db", "--by", "smokes", says="must")
    assert run("survey", "export", "survey.toml", "-o", "reports.csv").status == 0
    with open("reports.csv", newline="") as file:
        assert sorted(int(row["town"]) for row in csv.DictReader(file)) == sorted(reports)
    again = run(
        "estimate",
        "reports.csv",
        "--column",
        "town",
        "-m",
        "survey.town.mechanism.json",
        "--top",
        "3",
        "--json",
    )
    assert [row["label"] for row in json.loads(again.out)["tables"][0]["rows"]] == list(expected.labels[:3])


def test_nothing_is_shown_where_nobody_answered(here):
    published, _ = check(read_survey("survey.toml"))
    with create_store("survey.db", published) as store:
        assert results(store)["questions"][0]["rows"] == []


def test_a_rehearsal_asks_lists_too(here):
    published, _ = check(read_survey("survey.toml"))
    sent = [
        json.loads(one.content)[0]
        for one in simulated(published, published, "1", 800, np.random.default_rng(0))
    ]
    best = ex.large.estimate(published.questions[0].windows, sent, [TOWNS[3], "Town 1", "Town 150"])
    assert best.estimates[1] > best.estimates[2]


def test_too_few_people_are_pointed_out(here):
    published, _ = check(read_survey("survey.toml"))
    assert too_few(published, people_needed(published)) == []
    few, _ = check(read(SURVEY.replace("people = 4000", "people = 9"), here))
    assert "WARNING: 9 people are too few to say anything about town" in too_few(few, people_needed(few))[0]
    # The interval of the most common answer is about as wide as it was to be.
    windows, n = published.questions[0].windows, people_needed(published)["town"]
    widths = []
    for seed in range(20):
        x = np.random.default_rng(seed).choice(len(TOWNS), n, p=np.array(COUNTS) / sum(COUNTS))
        y = windows.privatize([TOWNS[k] for k in x], source=ex.randomness.SeededWords(seed))
        found = ex.large.estimate(windows, y, ["Town 1"])
        widths.append(found.upper[0] - found.lower[0])
    assert np.mean(widths) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('answers_file = "towns.csv"', ""), "answers_file"),
        (('answers_file = "towns.csv"', 'answers_file = "none.csv"'), "none.csv"),
        (('answers_file = "towns.csv"', 'answers_file = "twice.csv"'), "twice.csv"),
        (('answers_file = "towns.csv"', 'answers_file = "long.csv"'), "200"),
        (('answers_file = "towns.csv"', 'answers_file = "many.csv"'), str(MOST_LISTED)),
        (('answers_file = "towns.csv"', 'answers_file = "zero.csv"'), "write pseudocount = 1"),
        (('answers_file = "towns.csv"', 'answers_file = "signs.csv"'), "a letter or a digit"),
        (('answers_file = "towns.csv"', 'answers_file = "case.csv"'), "'Rome Sud' and 'rome sud'"),
        (("epsilon = 2", "epsilon = 9"), "disclose"),
        (("epsilon = 2", ""), "epsilon"),
        (("epsilon = 2", 'epsilon = 2\nprior = "uniform"'), "prior"),
        (("epsilon = 2", 'epsilon = 2\nanswers = ["a", "b"]'), "answers"),
        (("epsilon = 2", "epsilon = 2\nrequired = true"), "required"),
        (("epsilon = 0.5", 'epsilon = 0.5\nask_if = {question = "town", answers = ["Lyon"]}'), "ask_if"),
    ],
)
def test_what_no_list_can_be_is_refused_by_its_line(here, change, says):
    (here / "twice.csv").write_text("answer\na\nb\na\n")
    (here / "long.csv").write_text("answer\n" + "a" * 201 + "\nb\n")
    (here / "many.csv").write_text("answer\n" + "".join(f"{k}\n" for k in range(MOST_LISTED + 1)))
    (here / "case.csv").write_text("answer\nRome Sud\nLyon\nrome  sud\n")
    (here / "zero.csv").write_text("answer,count\na,0\nb,1\n")
    (here / "signs.csv").write_text(
        "answer,also\n½,\n+,plus\n東,\n—,\n"
    )  # nobody can search for the last one
    with pytest.raises(SurveyError) as caught:
        check(read(SURVEY.replace(*change, 1), here))
    assert says in str(caught.value)
    assert "survey.toml, line" in str(caught.value)


def test_a_list_is_not_asked_after_a_private_answer(here):
    later = SURVEY.split("[[question]]")
    swapped = "[[question]]".join(
        [later[0], later[2], later[1] + 'ask_if = {question = "smokes", answers = ["yes"]}\n']
    )
    with refused(SurveyError, "smokes"):
        read(swapped, here)
    clear = swapped.replace("prior = [0.2, 0.8]\nepsilon = 0.5", 'kind = "clear"\nrequired = true')
    assert read(clear, here).questions[1].optional


# What leaves about one person, as bytes: two lists and a table together


def small(here):
    """Two lists, one under its prior and one under every prior, and a question with a table."""
    (here / "one.csv").write_text("answer,count\na,5\nb,3\nc,2\nd,2\ne,1\n")
    (here / "two.csv").write_text("answer\nw\nx\ny\n")
    question = '[[question]]\nname = "{0}"\ntext = "{0}?"\n{1}\n'
    parts = [
        question.format("one", 'kind = "list"\nanswers_file = "one.csv"\nepsilon = 0.7'),
        question.format("two", 'kind = "list"\nanswers_file = "two.csv"\nepsilon = 0.5'),
        question.format("three", 'answers = ["yes", "no"]\nprior = [0.2, 0.8]\nepsilon = 0.2'),
    ]
    published, findings = check(read('title = "T"\n' + "".join(parts), here))
    laws = [law_of(q) for q in published.questions]
    priors = [[5, 3, 2, 2, 1], [1, 2, 3], [1, 4]]
    return published, findings, laws, [[Fraction(n, sum(p)) for n in p] for p in priors]


def law_of(question):
    """For every answer the reports and their exact chances."""
    if question.windows is None:
        (m,) = question.mechanisms
        return [
            {y: Fraction(int(w), TOTAL) for y, w in zip(m.outputs, row, strict=True) if w}
            for row in m.weights
        ]
    w = question.windows
    y = np.arange(w.reports)
    step, start = np.divmod(y, w.prime)
    found = []
    for x in range(w.answers):
        places = w.layout.places(step, (x - start) % w.prime).tolist()
        law = {
            k: Fraction(weight(w, j), TOTAL * w.layout.steps) for k, j in zip(y.tolist(), places, strict=True)
        }
        found.append({k: p for k, p in law.items() if p})
    return found


def leakage(published, laws, prior, secret):
    """Of the bytes that leave about a part of the answers; `prior` has the mass of each record."""
    sizes = [range(len(law)) for law in laws]
    names = [q.name for q in published.questions]
    given = {}
    for record in itertools.product(*sizes):
        if not prior(record):
            continue
        sent = given.setdefault(secret(record), {})
        for reports in itertools.product(*(law[x].items() for law, x in zip(laws, record, strict=True))):
            body = canonical({"reports": dict(zip(names, [y for y, _ in reports], strict=True))})
            chance = prior(record) * math.prod(p for _, p in reports)
            sent[body] = sent.get(body, 0) + chance
    mass = {s: sum(sent.values()) for s, sent in given.items()}
    total = {}
    for sent in given.values():
        for body, chance in sent.items():
            total[body] = total.get(body, 0) + chance
    return max(
        math.log(chance / mass[s] / total[body]) for s, sent in given.items() for body, chance in sent.items()
    )


def test_reports_on_two_lists_and_a_table_tell_together_what_the_check_says(here):
    published, findings, laws, priors = small(here)

    def independent(record):
        return math.prod(prior[x] for prior, x in zip(priors, record, strict=True))

    everything = leakage(published, laws, independent, lambda record: record)
    assert everything <= findings.epsilon + 1e-9
    assert everything > 0.5 * findings.epsilon
    for k, each in enumerate(findings.leakages):
        assert leakage(published, laws, independent, lambda record, k=k: record[k]) <= each.own + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_answers_that_depend_on_each_other_tell_at_most_what_the_warning_says(here, seed):
    published, findings, laws, priors = small(here)
    (warning,) = (text for text in findings.warnings if text.startswith("Levels are added"))
    told = dict(part.split(" ") for part in warning[warning.index(": ") + 2 :].split(". Give")[0].split(", "))
    # The answer to "two" and "three" is decided by that to "one", but for a few people.
    rng = np.random.default_rng(seed)
    decided = [(int(rng.integers(3)), int(rng.integers(2))) for _ in range(5)]

    def dependent(record):
        other = Fraction(1, 20) * math.prod(prior[x] for prior, x in zip(priors[1:], record[1:], strict=True))
        return priors[0][record[0]] * (Fraction(19, 20) * (decided[record[0]] == record[1:]) + other)

    about = leakage(published, laws, dependent, lambda record: record[0])
    assert findings.leakages[0].own < about <= float(told["one"]) * 1.01
