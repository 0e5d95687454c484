"""What the explorer computes and says, without a browser: its figures are those of the library."""

import base64
import json
import math
from collections import Counter

import numpy as np
import pytest

import extremal as ex

pytest.importorskip("starlette")

from extremal.explorer import compute
from extremal.explorer import figures as downloads
from extremal.explorer.server import example
from extremal.explorer.state import MEASURES, PURPOSES, read_state
from extremal.explorer.worker import Worker

THREE = "never, 0.5\nonce, 0.3\noften, 0.2"
PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
STATE = {"prior": THREE, "epsilon": 0.6}
COUNTS = {**STATE, "prior": "never, 500\nonce, 300\noften, 200", "robust": True}


def collect(task, **document):
    """The messages of a task, carried out in this process."""
    messages = []
    Worker(messages.append).run({"task": task, **document})
    assert messages.pop() == {"type": "end"}
    json.dumps(messages, allow_nan=False)
    return messages


def one(messages, kind):
    """The last of a kind: where the machine is busy, a first design comes before the final one."""
    return [message for message in messages if message["type"] == kind][-1]


def shown(**state):
    return one(collect("explore", state={**STATE, **state}), "design")


def error(messages):
    (found,) = (m for m in messages if m["type"] == "error")
    assert found["kind"] != "unexpected"
    return found["message"]


def typical(mechanism, people, prior=PRIOR):
    """Half the width of an ordinary interval, as a root mean square over the answers."""
    return 1.96 * ex.planning.expected_error(prior, mechanism, people).root_mean_square


def test_the_design_shown_is_the_library_s():
    messages = collect("explore", state=STATE)
    found, design = one(messages, "design"), ex.design(PRIOR, 0.6)
    certified = ex.certify(design)
    assert found["final"]
    assert found["mechanism"]["matrix"] == certified.mechanism.matrix.tolist()
    assert found["mechanism"]["outputs"] == list(design.mechanism.outputs)
    assert found["digest"] == certified.digest
    assert one(messages, "prior")["edges"] == PRIOR.region_edges.tolist()


def test_the_limit_is_explained_as_a_factor_and_by_what_can_be_ruled_out():
    found = one(collect("explore", state=STATE), "prior")
    assert "more than 1.83 times as likely" in found["promise"]
    assert "a hunch of 10 % becomes at most 18.3 %" in found["promise"]
    assert found["ruled_out"] == "A report can rule out up to 1 of 3 answers."
    assert one(collect("explore", state={**STATE, "epsilon": 0.1}), "prior")["ruled_out"].startswith(
        "No report can"
    )
    assert (
        one(collect("explore", state={**STATE, "epsilon": 70}), "prior")["promise"]
        == "Such a limit protects nothing: a report can be the true answer."
    )


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ("never, 0.5\nonce", "e.g. “never, 0.5”, one answer a line"),
        ("a, 0.5\nb, 0.2", "use “Numbers are: counts”"),
        ("a, 0\nb, 1", "give counts and add 1 to each"),
        ("a, -1\nb, 2", "“Numbers are: counts”"),
    ],
)
def test_errors_speak_of_the_page_and_not_of_python_or_a_shell(prior, words):
    told = error(collect("explore", state={**STATE, "prior": prior, "kind": "probabilities"}))
    assert words in told
    assert "Prior" not in told
    assert "=" not in told


def test_the_answer_is_a_precision_for_a_number_of_people_beside_randomized_response():
    answer = shown(people=500)["answer"]
    ours, response = ex.design(PRIOR, 0.6).mechanism, ex.theory.randomized_response_for_pml(PRIOR, 0.6)
    half = typical(ours, 500)
    assert answer["headline"] == f"Ask 500 people, get ± {100 * half:.1f} points."
    assert f"± {100 * half:.1f} points" in ex.planning.precision_sentence(
        PRIOR, ours, [500]
    )  # as at the shell
    assert f"gets ± {100 * typical(response, 500):.1f} points" in answer["text"]
    (_, direct), (_, mine), (_, theirs) = answer["needed"]
    assert mine == 500
    assert typical(response, round(theirs)) == pytest.approx(half, rel=1e-3)
    answers = ex.Mechanism(np.eye(3), PRIOR.labels)
    assert typical(answers, round(direct)) == pytest.approx(half, rel=0.02)
    assert f"{theirs / 500:.1f} times as many" in answer["text"]
    plans = [ex.plan((mechanism, PRIOR), people=500).half_widths for mechanism in (ours, response)]
    for row, label, share, *halves in zip(
        answer["rows"], PRIOR.labels, PRIOR.probabilities, *plans, strict=True
    ):
        assert row[0] == label
        assert row[1:] == pytest.approx([share, *halves], rel=1e-9)


def test_shares_that_cannot_be_told_apart_stand_beside_no_success():
    state = {"prior": example(), "utility": "mutual-information", "epsilon": 0.7}  # 7 answers, 6 reports
    answer = shown(**state)["answer"]
    assert answer["headline"] == "These reports cannot tell the shares of all answers apart."
    assert not {"needed", "rows", "half"} & set(answer)
    assert "points" not in json.dumps(answer)
    rows = one(collect("privatize", state=state, sample="Weak Democrat\nStrong Democrat"), "sample")["rows"]
    assert all(row["estimate"] is None for row in rows if not row["identified"])
    assert shown(epsilon=0.0)["answer"]["text"] == "At this limit reports say nothing; allow more."
    assert not all(row["identified"] for row in rows)


def test_an_average_is_told_in_its_own_unit():
    prior = ex.Prior({0: 0.5, 1: 0.3, 4: 0.2})
    answer = shown(prior="0, 0.5\n1, 0.3\n4, 0.2", utility="mean", people=900)["answer"]
    mechanism = ex.design(prior, 0.6, ex.mean([0, 1, 4])).mechanism
    P, q = mechanism.matrix, prior.probabilities @ mechanism.matrix
    information = (P / q) @ P.T  # of one report about the shares
    variance = np.array([0, 1, 4]) @ np.linalg.pinv(information) @ np.array([0, 1, 4]) - 1.1**2
    assert (
        answer["headline"] == f"Ask 900 people, get ± {1.96 * math.sqrt(variance / 900):.2g} for the average."
    )
    assert "numbers" in error(collect("explore", state={**STATE, "utility": "mean"}))


def test_a_design_for_a_sample_keeps_the_limit_for_all_shares_that_fit_it_and_so_does_randomized_response():
    priors = ex.PriorSet.from_counts({"never": 500, "once": 300, "often": 200}, 0.95)
    worker = Worker([].append)
    made = worker._final(read_state(COUNTS))
    assert ex.epsilon_pml(priors, made.certified.mechanism) <= 0.6 + 1e-9
    assert 0.6 - 1e-6 < ex.epsilon_pml(priors, made.response) <= 0.6
    assert made.certified.prior_set is not None
    found = shown(**COUNTS)
    assert found["answer"]["half"] > shown()["answer"]["half"]
    assert "must be learned from counts" in error(collect("explore", state={**STATE, "robust": True}))
    content = downloads.make_file("report.html", made, None).decode()
    assert "for every prior in the set" in content


def test_two_questions_are_one_secret():
    prior = ex.Prior({("young", 0): 0.3, ("young", 1): 0.1, ("old", 0): 0.2, ("old", 1): 0.4})
    text = "young | 0, 30\nyoung | 1, 10\nold | 0, 20\nold | 1, 40"
    found = shown(prior=text)
    assert found["mechanism"]["inputs"] == ["young | 0", "young | 1", "old | 0", "old | 1"]
    assert found["digest"] == ex.certify(ex.design(prior, 0.6)).digest
    sample = one(
        collect("privatize", state={**STATE, "prior": text}, sample="young | 0\nold | 1\n" * 20), "sample"
    )
    assert sample["count"] == 40


def test_a_wish_for_points_gives_the_smallest_limit_that_reaches_it():
    found = one(collect("wish", state={**STATE, "people": 800}, points=4), "wish")["epsilon"]
    assert typical(ex.design(PRIOR, found).mechanism, 800) <= 0.04
    assert typical(ex.design(PRIOR, found - 0.005).mechanism, 800) > 0.04
    assert "no epsilon is enough" in error(collect("wish", state={**STATE, "people": 10}, points=0.1))
    assert "shares" in error(collect("wish", state=COUNTS, points=4))
    for points in (0, -1, 100, "x", None, True):
        assert "must" in error(collect("wish", state=STATE, points=points))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"epsilon": 5.0}, "No protection: every report tells the true answer."),
        (
            {"prior": "yes, 0.5\nno, 0.5", "epsilon": 0.69},
            "No protection: the best guess of the answer from its report is right for 99.7% of people, for 50% without "
            "it.",
        ),
    ],
)
def test_true_answers_are_shown_in_red_and_given_only_where_they_are_allowed(state, said):
    assert shown()["alarm"] == ""
    assert shown(**state)["alarm"] == said
    asked = {**STATE, **state}
    sample = {"sample": "yes\nno" if "prior" in state else "once\noften"}
    for task, more in (("privatize", sample), ("file", {"name": "mechanism.json"})):
        refused = error(collect(task, state=asked, **more))
        assert said.removeprefix("No protection: ").rstrip(".") in refused
        assert "“Allow true answers” above" in refused
        (given,) = collect(task, state={**asked, "allow_true_answers": True}, **more)
        assert given["type"] in ("sample", "file")
    page = one(collect("file", state=asked, name="report.html"), "file")  # it says so itself
    assert "This mechanism protects nobody" in base64.b64decode(page["content"]).decode()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"prior": "yes, 9\nno, 1", "epsilon": 2.1}, "Reports are close to the answers themselves"),
        ({"people": 10, "epsilon": 0.05}, "no share can be told from 0"),
        ({"prior": "yes, 5\nYes, 5\nno, 9"}, "“yes” and “Yes”"),
        ({"prior": "yes, 5\nn/a, 5\nno, 9"}, "Treated as an answer: “n/a”"),
    ],
)
def test_the_warnings_of_the_command_line_are_given(state, words):
    assert any(words in text for text in shown(**state)["warnings"])
    assert shown()["warnings"] == []


def test_the_risk_is_told_in_the_audit_s_words():
    found = shown()
    audit = ex.audit(ex.certify(ex.design(PRIOR, 0.6)))
    page = audit.to_markdown()
    assert found["factor"] == "1.83"
    assert all(line in page for line in found["open"])
    for section in found["sections"]:
        assert f"## {section['title']}" in page
        assert all(line in page for line in [*section["text"], *section["more"]])


def test_the_curve_gets_more_points_and_ends_as_the_library_s():
    parts = [m for m in collect("curve", state=STATE) if m["type"] == "curve"]
    assert [len(part["epsilons"]) for part in parts] == [5, 9, 17, 33]
    assert [part["final"] for part in parts] == [False, False, False, True]
    last = parts[-1]
    assert last["unit"] == "points"
    assert last["epsilons"] == sorted(last["epsilons"])
    assert last["optimal"][0] is last["response"][0] is None  # at 0 nothing is known
    for k in (4, 16, 31):
        response = ex.theory.randomized_response_for_pml(PRIOR, last["epsilons"][k])
        assert last["response"][k] / math.sqrt(400) == pytest.approx(100 * typical(response, 400), rel=1e-4)
        best = ex.design(PRIOR, last["epsilons"][k]).mechanism
        assert last["optimal"][k] / math.sqrt(400) == pytest.approx(100 * typical(best, 400), rel=1e-3)
    kept = one(collect("curve", state={**STATE, "utility": "mutual-information"}), "curve")
    assert kept["unit"] == "kept"
    assert kept["optimal"][-1] == pytest.approx(100)


@pytest.mark.parametrize("utility", [name for name in (*PURPOSES, *MEASURES) if name != "mean"])
@pytest.mark.parametrize("epsilon", [0.0, PRIOR.region_edges[1], 5.0])
def test_every_purpose_is_shown_at_every_level(utility, epsilon):
    found = shown(epsilon=float(epsilon), utility=utility)
    matrix = ex.Mechanism(found["mechanism"]["matrix"])
    assert ex.epsilon_pml(ex.Prior(PRIOR.probabilities), matrix) <= epsilon + 1e-12
    assert found["mechanism"]["svg"].startswith("<svg")


def test_a_first_design_comes_before_the_final_one_where_the_search_takes_longer(monkeypatch):
    monkeypatch.setattr(compute, "PREVIEW", 0.0)
    text = " ".join(map(repr, (np.arange(1, 15) / 105).tolist()))
    designs = [m for m in collect("explore", state={"prior": text, "epsilon": 0.5}) if m["type"] == "design"]
    assert [m["final"] for m in designs] == [False, True]
    assert designs[1]["answer"]["half"] <= designs[0]["answer"]["half"] * (1 + 1e-9)


def test_of_a_large_matrix_the_page_gets_no_numbers():
    found = shown(prior="\n".join(f"{k}, {k + 20}" for k in range(40)), epsilon=0.01)
    assert found["mechanism"]["matrix"] is None
    assert "The 24 most common of 40 answers" in found["mechanism"]["caption"]


def test_a_sample_is_drawn_from_the_certified_mechanism_and_estimated_back():
    found = one(collect("privatize", state=STATE, sample="never\nonce\n" * 300), "sample")
    assert found["count"] == len(found["reports"]) == 600
    assert set(found["reports"]) <= set(ex.design(PRIOR, 0.6).mechanism.outputs)
    again = one(collect("privatize", state=STATE, sample="never\nonce\n" * 300), "sample")
    assert again["reports"] != found["reports"]  # equal with probability below 1e-100
    for row in found["rows"]:
        assert row["lower"] <= row["estimate"] <= row["upper"]
    assert sum(row["sample"] for row in found["rows"]) == pytest.approx(1)
    certified = ex.certify(ex.design(PRIOR, 0.6))
    counts = Counter(found["reports"])
    for kind in ("each", "all"):  # as the ± of the page, each by itself
        expected = ex.estimate(certified, counts, intervals=kind)
        same = [row["upper"] for row in found["rows"]] == pytest.approx(expected.upper.tolist(), abs=1e-9)
        assert same == (kind == "each")
    assert found["promise"] == "Intervals: about 95% for each row by itself."


@pytest.mark.parametrize("sample", ["", "never\nunknown", "x" * 10])
def test_a_sample_with_unknown_answers_gives_the_library_s_message(sample):
    assert error(collect("privatize", state=STATE, sample=sample))


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"prior": 3},
        {**STATE, "epsilon": -1},
        {**STATE, "epsilon": "x"},
        {**STATE, "epsilon": True},
        {**STATE, "robust": 1},
        {**STATE, "kind": "x"},
        {**STATE, "people": 0},
        {**STATE, "people": 1.5},
        {**STATE, "width": 5},
        {**STATE, "pseudocount": -1.0, "kind": "counts"},
    ],
)
def test_a_state_that_makes_no_sense_is_refused_with_a_message(state):
    assert error(collect("explore", state=state))


def test_a_cancelled_search_ends_at_its_next_report_of_progress():
    messages = []
    worker = Worker(messages.append)

    def send(message):
        messages.append(message)
        worker.cancelled.set()

    worker.send = send
    text = " ".join(map(repr, (np.arange(1, 81) / 3240).tolist()))
    worker.run({"task": "explore", "state": {"prior": text, "epsilon": 1.0}})
    assert [m["type"] for m in messages] == ["prior", "working", "cancelled", "end"]


@pytest.fixture(scope="module")
def final():
    """A design and its curve, as a download finds them."""
    return Worker([].append)._final(read_state(STATE)), ex.tradeoff(PRIOR, [0.1, 0.6, 1.0])


@pytest.mark.parametrize("name", downloads.NAMES)
def test_every_file_is_made(name, final):
    made, curve = final
    content = downloads.make_file(name, made, curve)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!doctype html>", "md": b"# ", "json": b"{"}
    assert content.startswith(starts[name.rpartition(".")[2]])
    if name == "mechanism.json":
        assert ex.Certified.from_json(content.decode()) == made.certified
    if name == "report.md":
        assert content.decode() == made.audit.to_markdown()


def test_the_page_says_why_the_search_ended():
    made = ex.design(ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2}), 0.6)
    assert f"; {made.stats.why.value}; certified" in shown()["method"]
