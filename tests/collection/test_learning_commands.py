"""The commands and the page of a survey that learns its priors."""

import json
from pathlib import Path

import pytest

import extremal as ex

pytest.importorskip("starlette")

from extremal.collection.learning import go_on
from extremal.collection.server import running
from extremal.collection.store import create_store, open_store, read_store
from extremal.errors import ValuesError
from tests.support.browser import PHONE, Device
from tests.support.cli_cases import refuse, run
from tests.support.learners import SURVEY, answered, learning, submissions

SURE = 'between = { yes = "1% to 60%" }\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a survey that was checked."""
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY)
    learning(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """What the check says of the survey."""
    folder = tmp_path_factory.mktemp("checked")
    (folder / "survey.toml").write_text(SURVEY)
    done = run("survey", "check", folder / "survey.toml", "--json")
    assert done.status == 0, done.err
    return json.loads(done.out)


@pytest.mark.slow
def test_the_check_tells_what_learning_costs_and_is_worth(here, facts):
    found = facts["learn"]
    assert facts["epsilon"] == pytest.approx(0.7 + 0.8 + 0.7)  # the largest total, of every stage
    assert found["first_stage_epsilon"] == pytest.approx(0.8, abs=1e-12)
    assert (found["stages"], found["forged"], found["drift"], found["delta"]) == ([200, 600], 0, 0.05, 0.05)
    assert facts["people_needed"]["smokes"] == max(
        case["with_it"] for case in found["cases"] if case["question"] == "smokes"
    )
    assert {case["question"] for case in found["cases"]} == {"smokes", "mood"}
    for case in found["cases"]:
        assert case["times"] > 1
        assert case["with_it"] <= case["without"]
    levels = [row["leaks"] for row in found["if_forged"] if row["question"] == "smokes"]
    assert [row["forged"] for row in found["if_forged"]][:4] == [0, 0.05, 0.1, 0.2]
    assert levels[0] <= 0.7
    assert levels == sorted(levels)
    told = " ".join(run("survey", "check", "survey.toml").out.split())
    assert "Stage 1 leaks at most 0.8 nats about one answer for every prior" in told
    assert found["assumption"] in told
    assert "WARNING: learning does not pay" not in told
    assert "smokes: from stage 2 on, reports can rule answers out" in told
    assert "at least 49% of people give" in told
    assert "at least 44% of people give" in told


@pytest.mark.slow
def test_what_the_check_says_of_stages_is_what_design_and_estimate_say(here, facts):
    """The people without learning, from plan; how many times as many, from the errors of the stages by hand."""
    case = next(
        c for c in facts["learn"]["cases"] if c["question"] == "smokes" and c["shares"] == "equally common"
    )
    first = ex.load("survey.smokes.mechanism.json")
    even = ex.Prior({"yes": 0.5, "no": 0.5})
    assert ex.plan((first.mechanism, even), width=0.2).people == case["without"]
    used, pairs, people = [first], [], [200, 400, 1400]
    for n in people[:2]:
        q = even.probabilities @ used[-1].mechanism.matrix
        pairs.append(
            (used[-1], dict(zip(used[-1].outputs, (n * q).round().astype(int).tolist(), strict=True)))
        )
        told = ex.PriorSet.from_reports(
            pairs, confidence=1 - 0.05 / 4, drift=0.05, between={"yes": (0.01, 0.6)}
        )
        used.append(ex.certify(ex.design(told, 0.7)))

    def information(c):  # of a yes/no question about the share of yes
        rise = c.mechanism.matrix[0] - c.mechanism.matrix[1]
        return float((rise**2 / (even.probabilities @ c.mechanism.matrix)).sum())

    together = sum(n * information(c) for n, c in zip(people, used, strict=True)) / 2000
    assert case["times"] == pytest.approx(together / information(first), rel=1e-3)


@pytest.mark.slow
def test_the_check_warns_where_learning_does_not_pay(here):
    Path("hopeless.toml").write_text(SURVEY.replace("forged = 0", "forged = 0.3"))
    done = run("survey", "check", "hopeless.toml")
    told = " ".join(done.out.split())
    assert done.status == 0
    assert "WARNING: learning does not pay for smokes" in told
    assert "WARNING: learning does not pay for mood" in told


@pytest.mark.slow
def test_the_check_says_what_other_settings_would_cost(here, facts):
    """As it does for a survey that has them."""
    rows = facts["learn"]["other_settings"]
    rows = {row["shares"]: row for row in rows if row["question"] == "mood"}
    assert len(rows) == 5  # delta, drift and forged, but for its own drift and forged
    Path("other.toml").write_text(SURVEY.replace("forged = 0", "forged = 0.05"))
    other = json.loads(run("survey", "check", "other.toml", "--json").out)["learn"]["cases"][-1]
    found = rows["the same, with forged = 0.05"]
    assert other["question"] == "mood"
    assert [found[key] for key in ("times", "with_it")] == [other[key] for key in ("times", "with_it")]


@pytest.mark.parametrize("name", ["reports.sav", "reports.dta"])
def test_files_of_statistics_programs_have_the_reports_of_all_stages(here, name):
    pyreadstat = pytest.importorskip("pyreadstat")
    survey = learning(here)
    with create_store("survey.db", survey) as store:
        for people in (200, 400, 100):
            store.add(submissions(store, store.current, people, seed=people))
            go_on(store)
        store.finish()
        stored = store.reports()
    assert run("survey", "export", "survey.toml", "-o", name).status == 0
    read = pyreadstat.read_sav if name.endswith("sav") else pyreadstat.read_dta
    frame, _ = read(name, apply_value_formats=True)
    assert [f"{number:g}" for number in frame["mechanism_number"]] == stored.numbers
    expected = stored.columns(["smokes", "age"])
    assert [str(value) for value in frame["age"]] == expected["age"]
    assert [str(value) for value in frame["smokes"]] == [str(value) for value in expected["smokes"]]


def saved(survey, people, seed, name):
    paths = []
    for k, body in enumerate(answered(survey, people, seed)):
        paths.append(Path(f"{name}-{k}.json"))
        paths[-1].write_bytes(body)
    return paths


def test_a_form_without_a_server_learns_stage_by_stage(here):
    survey = learning(here)
    files = saved(survey, 200, 0, "one")
    done = run("survey", "learn", "survey.toml", *files[:150], "-o", "form-2")
    assert (done.status, Path("form-2").exists()) == (1, False)
    assert "50" in done.out
    done = run("survey", "learn", "survey.toml", *files, "-o", "form-2")
    assert done.status == 0, done.err
    with open_store("survey.db") as store:
        second = store.current
    page = json.loads(Path("form-2/survey.json").read_text(encoding="utf-8"))
    assert page["digest"] == second.digest != survey.digest
    assert page["together"] == second.together
    for q in page["questions"]:
        for address, digest in zip(q["mechanisms"], q["digests"], strict=True):
            assert json.loads(Path("form-2", address.partition("?")[0]).read_text())["digest"] == digest
    later = [*saved(second, 30, 1, "two"), *saved(survey, 10, 2, "late")]
    assert run("survey", "add", "survey.toml", *later).status == 0
    assert run("survey", "learn", "survey.toml", "-o", "again").status == 0
    assert json.loads(Path("again/survey.json").read_text(encoding="utf-8")) == page
    assert run("survey", "close", "survey.toml").status == 0
    stored = read_store("survey.db")
    assert (len(stored.rows), stored.numbers.count("1")) == (240, 210)


def test_learning_refuses_what_it_cannot_do(here):
    text = SURVEY.partition("[learn]")[0].replace(SURE, "").replace('prior = "learn"', 'prior = "uniform"')
    Path("plain.toml").write_text(text.replace("epsilon = 0.7", "epsilon = 0.6"))
    assert run("survey", "check", "plain.toml").status == 0
    refuse("survey", "learn", "plain.toml", says="learns nothing")
    other = learning_other(here)
    files = saved(other, 1, 0, "other")
    done = run("survey", "learn", "survey.toml", *files)
    assert done.status == 1
    assert "0 added, 0 already there, 1 refused" in done.out
    Path("full").mkdir()
    Path("full/file").touch()
    refuse("survey", "learn", "survey.toml", "-o", "full", says="full")


def learning_other(here):
    folder = here / "elsewhere"
    folder.mkdir()
    return learning(folder, SURVEY.replace("epsilon = 0.7", "epsilon = 0.6"))


def test_estimates_and_exports_pool_over_stages(here):
    survey = learning(here)
    with create_store("survey.db", survey) as store:
        pages = []
        for people in (200, 400, 600):
            pages.append(store.current)
            store.add(submissions(store, store.current, people, seed=people))
            go_on(store)
        store.finish()
        stored = store.reports()
    pairs = [
        (page.questions[0].mechanisms[0], stored.only([number]).columns(["smokes"])["smokes"])
        for number, page in zip("123", pages, strict=True)
    ]
    expected = ex.estimate(pairs)
    found = json.loads(run("estimate", "survey.db", "--question", "smokes", "--json").out)
    rows = found["questions"]["smokes"]["tables"][0]["rows"]
    assert [row["estimate"] for row in rows] == pytest.approx(expected.shares.tolist(), abs=1e-9)
    by = json.loads(run("estimate", "survey.db", "--question", "visits", "--by", "age", "--json").out)
    assert by["reports"] == 1200
    grouped = run("estimate", "survey.db", "--question", "smokes", "--by", "age", "--json")
    assert grouped.status == 0, grouped.err
    done = run("survey", "export", "survey.toml", "-o", "reports.csv")
    assert done.status == 0, done.err
    lines = Path("reports.csv").read_text().splitlines()
    assert len(lines) == 1201
    numbers = [line.rpartition(",")[2] for line in lines[1:]]
    assert [numbers.count(number) for number in "123"] == [200, 400, 600]
    for number, page in zip("23", pages[1:], strict=True):
        assert (
            ex.load(f"survey.smokes.{number}.mechanism.json").digest == page.questions[0].mechanisms[0].digest
        )
    found = json.loads(run("estimate", "survey.db", "--question", "smokes", "--stages", "--json").out)
    alone = [table["rows"][0]["estimate"] for table in found["questions"]["smokes"]["stage_by_stage"]]
    assert alone == pytest.approx([ex.estimate(*pair).shares[0] for pair in pairs], abs=1e-9)
    assert found["questions"]["smokes"]["drift"]["p_value"] == pytest.approx(expected.drift.p_value)
    with pytest.raises(ValuesError) as caught:  # one mechanism alone does not fit reports of several
        ex.estimate(pages[0].questions[0].mechanisms[0], "survey.db", column="smokes")
    assert caught.value.given.startswith("3, ")
    alone = ex.estimate(pages[0].questions[2].mechanisms[0], "survey.db", column="visits")
    assert alone.reports == 1200


@pytest.fixture(scope="module")
def phone(browser):
    found = Device(browser, viewport=PHONE)
    yield found
    found.close()


def answer(page):
    page.click("#start")
    for q in range(4):
        page.locator(f"#question-{q} label").nth(0).click()
    page.click("text=Continue")
    page.click("#draw")


# With 2 everything together may be all but certain.
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [pytest.param("0.8", marks=pytest.mark.slow), "2.0"])
def test_a_phone_that_has_drawn_shows_the_same_whichever_stage_runs(phone, tmp_path, epsilon):
    """It sends the report that it has kept, also after its stage; who answers later reads what that relies on."""
    survey = learning(tmp_path, SURVEY.replace("epsilon = 0.8", f"epsilon = {epsilon}"))
    with create_store(tmp_path / "s.db", survey) as store, running(store) as (address, _):
        page = phone.as_new("")
        page.goto(address)
        answer(page)
        page.wait_for_selector("#report:visible")
        assert "made up" not in page.inner_text("#report")
        store.add(submissions(store, survey, 200))
        page.reload()
        page.wait_for_selector("#report:visible")
        before = [page.inner_text(part) for part in ("#reports", "#together")]
        go_on(store)
        page.reload()
        page.wait_for_selector("#report:visible")
        assert [page.inner_text(part) for part in ("#reports", "#together")] == before
        assert "made up" not in before[1]
        page.click("#send")
        page.wait_for_selector("#done:visible")
        assert store.count() == 201
        other = phone.as_new("")
        other.goto(address)
        other.wait_for_selector("#intro:visible")
        assert "made up" in other.inner_text("#intro")
        answer(other)
        other.wait_for_selector("#report:visible")
        assert "made up" in other.inner_text("#together")
        other.click("#send")
        other.wait_for_selector("#done:visible")
        assert store.count() == 202
    assert phone.errors == []


def test_an_export_of_several_mechanisms_is_not_taken_for_the_reports_of_one(here):
    """Each would be read as the other's: shares come out wrong, and sets that are learned miss the truth."""
    pytest.importorskip("pyreadstat")
    survey = learning(here)
    with create_store("survey.db", survey) as store:
        store.add(submissions(store, survey, 200))
        go_on(store)
        store.add(submissions(store, store.current, 100, seed=1))
    for name in ("all.csv", "all.sav"):
        assert run("survey", "export", "survey.toml", "-o", name).status == 0
    smokes = ("--column", "smokes", "-m", "survey.smokes.mechanism.json")
    for given in (
        ("estimate", "all.csv", *smokes),
        ("estimate", "all.sav", *smokes),
        ("estimate", "all.csv", *smokes, "--by", "age"),
        ("design", "--from-reports", "all.csv", *smokes, "-e", "0.7"),
        ("regress", "all.csv", "smokes ~ age", "-m", "survey.smokes.mechanism.json"),
    ):
        refuse(*given, says="must come from one mechanism, got 2 different values")
    mechanism = "survey.visits.mechanism.json"
    assert run("estimate", "all.csv", "--column", "visits", "-m", mechanism).status == 0
    header, *rows = Path("all.csv").read_text().splitlines(keepends=True)
    Path("first.csv").write_text(header + "".join(row for row in rows if row.endswith(",1\n")))
    assert run("estimate", "first.csv", *smokes).status == 0
    Path("link.csv").symlink_to("first.csv")
    refuse("estimate", "first.csv", "link.csv", *smokes, *smokes[2:], says="first.csv twice")
