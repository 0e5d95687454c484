"""Lists of thousands of answers on the command line, from a CSV file of answers to shares."""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import extremal as ex
from tests.support.cli_cases import refuse, run

TOWNS = ["Łódź", "مكة", "Lyon", "東京", "O'Fallon, MO"] + [f"Town {k}" for k in range(1, 200)]
COUNTS = [600, 500, 900, 1200, 3] + [2000 // k + 1 for k in range(1, 200)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("towns.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["answer", "count", "also", "group"])
        for k, (town, count) in enumerate(zip(TOWNS, COUNTS, strict=True)):
            rows.writerow(
                [town, count, "Lugdunum|Lione" if town == "Lyon" else "", "big" if k < 5 else "rest"]
            )
    Path("names.txt").write_text("".join(f"{k}\n" for k in range(300)))
    rng = np.random.default_rng(1)
    people = rng.choice(len(TOWNS), size=4000, p=np.array(COUNTS) / sum(COUNTS))
    with open("homes.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerows([["id", "town"], *([k, TOWNS[x]] for k, x in enumerate(people))])
    return people


def designed(*more):
    assert run("design", "--list", "towns.csv", "-e", "2", "-o", "towns.json", *more).status == 0
    return ex.large.load("towns.json")


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_list_goes_from_its_file_to_reports_and_shares(here):
    made = designed()
    assert made.prior.labels == tuple(TOWNS)
    assert made.prior.probabilities == pytest.approx(np.array(COUNTS) / sum(COUNTS))
    assert made == ex.large.windows(made.prior, 2.0)
    how = ["--column", "town", "-m", "towns.json"]
    assert run("privatize", "homes.csv", "-o", "reports.csv", *how).status == 0
    written = rows_of("reports.csv")
    assert [row["id"] for row in written] == [row["id"] for row in rows_of("homes.csv")]
    reports = [int(row["town"]) for row in written]
    assert len(set(reports)) > 1000
    told = run(
        "estimate",
        "reports.csv",
        *how,
        "--top",
        "3",
        "--groups",
        "towns.csv",
        "--group",
        "two=Lyon,東京",
        "--json",
    )
    shares, groups = json.loads(told.out)["tables"]
    expected = ex.large.estimate(made, reports, intervals="all")
    best = np.argsort(-expected.estimates, kind="stable")[:3]  # equal ones in the order of the list
    assert [row["label"] for row in shares["rows"]] == [TOWNS[k] for k in best]
    assert [row["upper"] for row in shares["rows"]] == pytest.approx(expected.upper[best])
    assert shares["intervals"] == "all"
    assert [row["label"] for row in groups["rows"]] == ["big", "rest", "two"]
    assert abs(groups["rows"][0]["estimate"] - np.mean(here < 5)) < 5 * groups["rows"][0]["standard_error"]
    assert run("estimate", "reports.csv", *how, "-o", "shares.csv").status == 0
    assert [row["label"] for row in rows_of("shares.csv")] == TOWNS
    assert len(run("estimate", "reports.csv", *how).out.splitlines()) < 60


def test_a_list_without_counts_keeps_its_limit_under_every_prior(here):
    done = run("design", "--list", "names.txt", "-e", "1", "-o", "names.json", "--json")
    facts = json.loads(done.out)
    assert facts["all_priors"]
    assert facts["realised_epsilon"] == facts["ldp_epsilon"] <= 1.0
    assert ex.large.load("names.json").labels == tuple(map(str, range(300)))
    Path("numbers.csv").write_text(
        "x\n" + "".join(f"{k}\n" for k in np.random.default_rng(2).integers(0, 300, 600))
    )
    assert run("privatize", "numbers.csv", "-o", "r.csv", "-m", "names.json").status == 0
    assert run("estimate", "r.csv", "-m", "names.json", "--top", "5", "-o", "t.csv").status == 0
    assert len(rows_of("t.csv")) == 5


def test_an_audit_says_what_a_report_tells_about_one_answer(here):
    made = designed()
    facts = json.loads(run("audit", "towns.json", "--answer", "Lyon", "--json").out)
    share = 900 / sum(COUNTS)
    assert facts["before"] == pytest.approx(share)
    # By every report: the share of Lyon after it, with its prior.
    p, after = made.prior.probabilities, []
    for step in range(0, made.steps, 7):
        first = made.layout.numbers(step, np.arange(made.size))
        for start in range(made.prime):
            weights = np.full(made.answers, float(made.outside))
            members = (first + start) % made.prime
            weights[members[members < made.answers]] = made.inside
            after.append(p[2] * weights[2] / (p @ weights))
    assert facts["after"][0] <= min(after) + 1e-12
    assert facts["after"][1] >= max(after) - 1e-12
    assert facts["after"][0] > 0.5 * min(after)
    told = run("audit", "towns.json", "--answer", "Lyon").out
    assert "Lyon is the answer of" in told
    assert run("audit", "towns.json", "-e", "1").status == 1
    assert run("audit", "towns.json", "-e", "2.5").status == 0
    assert run("certify", "towns.json", "-o", "again.json").status == 0
    assert Path("again.json").read_bytes() == Path("towns.json").read_bytes()


def test_without_a_prior_a_guess_gains_at_most_the_factor_of_its_odds(here):
    assert run("design", "--list", "names.txt", "-e", "1", "-o", "names.json").status == 0
    told = " ".join(run("audit", "names.json", "--answer", "17").out.split())
    odds = np.exp(ex.large.load("names.json").ldp_epsilon)
    for p in (0.01, 0.1):
        most = 100 * p * odds / (1 - p + p * odds)
        assert (
            f"holds 17 for {100 * p:.0f}% likely before a report holds it for at most {np.ceil(10 * most) / 10:g}%"
            in told
        )


def test_missing_and_unknown_answers_are_refused_dropped_or_counted_as_one(here):
    designed()
    texts = ["id,town", "1,Lyon", "2,", "3,Atlantis", "4,  東京 ", "5,Lyon"]
    Path("few.csv").write_text("\n".join(texts))
    how = ["--column", "town", "-m", "towns.json", "-o", "out.csv", "--json"]
    refuse("privatize", "few.csv", *how, says="first in record 2")
    done = json.loads(run("privatize", "few.csv", *how, "--missing", "drop").out)
    assert (done["rows"], done["dropped"]) == (3, 2)
    assert done["dropped_why"] == {"town": {"missing": 1, "not_in_the_alphabet": 1}}
    assert [row["id"] for row in rows_of("out.csv")] == ["1", "4", "5"]
    done = run("privatize", "few.csv", *how, "--unknown-as", "Lyon", "--overwrite")
    assert json.loads(done.out)["rows"] == 5
    refuse("privatize", "few.csv", *how, "--unknown-as", "Lyons", "--overwrite", says="Lyon")


def test_keyed_reports_repeat_and_a_second_report_is_refused(here):
    designed()
    assert run("key", "secret.key").status == 0
    how = ["--column", "town", "-m", "towns.json", "--key-file", "secret.key", "--id-column", "id"]
    for name in ("one.csv", "two.csv"):
        assert run("privatize", "homes.csv", "-o", name, *how).status == 0
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    made = ex.large.load("towns.json")
    keyed = ex.Keyed(ex.keys.read("secret.key"), list(range(4000)))
    expected = made.privatize([TOWNS[x] for x in here], keyed=keyed, column="town")
    assert [int(row["town"]) for row in rows_of("one.csv")] == expected.tolist()
    refuse(
        "privatize",
        "homes.csv",
        "-o",
        "three.csv",
        *how,
        "--occasion",
        "2",
        says="2 reports together leak at most",
    )
    changed = Path("homes.csv").read_text().replace("Lyon", "Łódź")
    Path("homes.csv").write_text(changed)
    refuse("privatize", "homes.csv", "-o", "three.csv", *how, says="--correction")
    assert run("privatize", "homes.csv", "-o", "three.csv", *how, "--correction").status == 0


def test_sorted_answers_are_refused(here):
    designed()
    Path("sorted.csv").write_text("town\n" + "".join(f"{TOWNS[5 + k // 40]}\n" for k in range(4000)))
    refuse("privatize", "sorted.csv", "-o", "r.csv", "-m", "towns.json", says="--order keep")
    assert run("privatize", "sorted.csv", "-o", "r.csv", "-m", "towns.json", "--order", "keep").status == 0
    refuse("privatize", "sorted.csv", "-o", "s.csv", "-m", "towns.json", "--order", "shuffle", says="--order")


def test_reports_that_nobody_drew_end_with_status_1(here):
    made = designed()
    Path("odd.csv").write_text("town\n" + f"{made.prime + 3}\n" * 3000)
    done = run("estimate", "odd.csv", "-m", "towns.json", "--top", "3")
    assert done.status == 1
    assert "WARNING" in done.out


def test_what_a_list_does_not_know_is_refused(here):
    designed()
    Path("r.csv").write_text("town\n1\n2\n")
    Path("gap.csv").write_text("town,x\n1,1\n,2\n")
    Path("bad.csv").write_text("answer,count\na,1\na,2\n")
    design = ["design", "--list", "towns.csv", "-e", "1"]
    for more, says in (
        (["--prior", "0.5,0.5"], "--prior"),
        (["--counts", "towns.csv"], "--counts"),
        (["--utility", "mean"], "--utility"),
        (["--robust"], "--robust"),
        (["--people", "5"], "--people"),
        (["--labels", "a,b"], "--labels"),
    ):
        refuse(*design, *more, says=says)
    refuse("design", "--list", "bad.csv", "-e", "1", says="bad.csv: every line")
    refuse("design", "--list", "names.txt", "-e", "1", "--pseudocount", "1", says="--pseudocount")
    refuse("design", "--list", "nowhere.csv", "-e", "1", says="nowhere.csv")
    refuse("design", "--list", "towns.csv", "-e", "9", "-o", "x.json", says="--allow-true-answers")
    estimate = ["estimate", "r.csv", "-m", "towns.json"]
    for more, says in (
        (["--by", "town"], "--by"),
        (["--mean"], "--mean"),
        (["--method", "inverse"], "--method"),
        (["--weights", "w"], "--weights"),
        (["--intervals", "always"], "each or all"),
        (["--top", "3", "--intervals", "each"], "leave --intervals out"),
        (["--top", "0"], "from 1"),
        (["--group", "x=Lyons"], "Lyon"),
        (["--groups", "names.txt"], "column group"),
    ):
        refuse(*estimate, *more, says=says)
    refuse("estimate", "gap.csv", "--column", "town", "-m", "towns.json", says="--missing drop")
    assert run("estimate", "gap.csv", "--column", "town", "-m", "towns.json", "--missing", "drop").status == 0
    refuse("estimate", "homes.csv", "--column", "town", "-m", "towns.json", says="whole numbers")
    refuse("audit", "towns.json", "--answer", "Lyons", says="did you mean Lyon?")
    refuse("audit", "towns.json", "--prior", "0.5,0.5", says="--prior")
    refuse("certify", "towns.json", "-e", "1", says="--epsilon")
    refuse("plan", "-m", "towns.json", "--people", "100", says="list")
    prior = ["--prior", "a=0.5,b=0.3,c=0.2", "-e", "0.5"]
    assert run("design", *prior, "-o", "m.json").status == 0
    refuse("audit", "m.json", "--answer", "a", says="--answer")
    refuse("estimate", "r.csv", "-m", "m.json", "--top", "3", says="--top")


def test_the_most_frequent_rows_are_those_with_the_largest_estimates():
    w = ex.large.windows(50, 3.0)
    reports = w.privatize(np.random.default_rng(0).integers(0, 9, 3000), source=ex.randomness.SeededWords(1))
    table = ex.large.estimate(w, reports, intervals="all")
    most = table.most(7)
    expected = Counter(dict(enumerate(table.estimates.tolist()))).most_common(7)
    assert list(zip(most.labels, most.estimates.tolist(), strict=True)) == expected
    assert [most.lower[k] for k in range(7)] == [table.lower[x] for x, _ in expected]
    assert len(table.most(99)) == 50
