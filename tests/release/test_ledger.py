"""The ledger: a second report of somebody's column is refused, a repetition is not, and no entry gets lost."""

import base64
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import extremal as ex
from extremal._common import files
from extremal.certification.certify import certify
from extremal.draw.keys import id_blocks
from extremal.errors import FileError, KeyingError
from extremal.release import ledger as module
from extremal.release.ledger import Entry, People
from tests.support import wording
from tests.support.aes import aes_256
from tests.support.joint import leakage_of_pairs

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
PRIOR = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})


def response(epsilon):
    return certify(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, epsilon), epsilon)


C, D = response(0.3), response(0.4)


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "key.ledger"


def release(ledger, c=C, ids=range(100), key=KEY, column="answer", occasion=None):
    ids = list(ids)
    frame = pd.DataFrame({"id": ids, column: ["a"] * len(ids)})
    return ex.privatize(frame, {column: c}, keyed=ex.Keyed(key, "id", occasion), ledger=ledger)


def lines(ledger):
    return [json.loads(line) for line in ledger.read_text().splitlines()]


def refused(call):
    with pytest.raises(KeyingError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_entry_says_what_was_released_and_nothing_about_whom(ledger):
    release(ledger, ids=["anna", "bert"], occasion="wave 2")
    (entry,) = lines(ledger)
    sample = np.frombuffer(base64.b64decode(entry.pop("sample")), "<u8")
    answers = np.frombuffer(base64.b64decode(entry.pop("sample_answers")), "<u8")
    assert int(entry.pop("answers"), 16) == int.from_bytes(answers.sum().tobytes(), "big")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry.pop("day"))
    assert re.fullmatch(r"[0-9a-f]{32}", entry.pop("key"))
    assert re.fullmatch(r"[0-9a-f]{32}", entry.pop("ids"))
    assert entry == {
        "ledger": 2,
        "column": "answer",
        "occasion": "wave 2",
        "digest": C.digest,
        "people": 2,
    }
    assert len(sample) == 2
    assert len(answers) == 2
    text = ledger.read_bytes()
    assert KEY not in text
    assert KEY.hex().encode() not in text
    assert b"anna" not in text
    if os.name == "posix":
        assert ledger.stat().st_mode & 0o777 == 0o600


def test_repeating_a_release_is_allowed_and_adds_nothing(ledger):
    first = release(ledger)
    before = ledger.read_bytes()
    again = release(ledger, ids=reversed(range(100)))
    assert first["answer"].tolist() == again["answer"].tolist()[::-1]
    assert ledger.read_bytes() == before
    release(ledger, ids=range(50, 150))  # others join, for the same reports
    assert [entry["people"] for entry in lines(ledger)] == [100, 100]


@pytest.mark.parametrize(
    "second",
    [{"occasion": 2}, {"c": D}, {"c": D, "occasion": 2}, {"ids": range(99, 300), "occasion": 2}],
    ids=["occasion", "mechanism", "both", "one person in common"],
)
def test_a_second_report_is_refused_and_leaves_no_trace(ledger, second):
    release(ledger)
    before = ledger.read_bytes()
    said = refused(lambda: release(ledger, **second))
    assert "'answer'" in said
    assert "ledger=None" in said
    assert ledger.read_bytes() == before
    assert len(release(None, **second)) > 0


@pytest.mark.parametrize(
    "name",
    [
        "Answer",
        " answer",
        "\ufeffanswer",
        "ans\u00adwer",
        "answer\u200b",
        "\uff41nswer",
        "answer\ufe0f",
        "ans\u034fwer",
    ],
)
def test_a_name_that_reads_the_same_is_the_same_question(ledger, name):
    """One file may begin with a byte order mark, and the next one not."""
    release(ledger)
    refused(lambda: release(ledger, column=name))
    release(ledger, column="two words")
    refused(lambda: release(ledger, column="two \u00a0words"))
    release(ledger, column="an swer")


def test_other_people_columns_and_keys_are_no_second_report(ledger):
    release(ledger)
    release(ledger, ids=range(100, 200), occasion=2)
    release(ledger, column="other", c=D)
    release(ledger, key=OTHER_KEY, occasion=2)
    assert len(lines(ledger)) == 4


def test_ids_that_are_written_differently_are_the_same_people(ledger):
    release(ledger, ids=["007", "8"])
    refused(lambda: release(ledger, ids=[7, 9], occasion=2))


def test_a_column_released_with_others_is_released(ledger):
    pairs = ex.Prior.product(PRIOR, PRIOR)
    joint = certify(pairs, ex.theory.randomized_response_for_pml(pairs, 0.3), 0.3)
    frame = pd.DataFrame({"id": [1, 2], "x": ["a", "b"], "y": ["a", "c"]})
    how = {"keyed": ex.Keyed(KEY, "id"), "ledger": ledger}
    ex.privatize(frame, {("x", "y"): joint}, **how)
    ex.privatize(frame, {("x", "y"): joint}, **how)
    assert [entry["column"] for entry in lines(ledger)] == [["x", "y"]]
    refused(lambda: ex.privatize(frame, {"y": C}, **how))
    assert len(lines(ledger)) == 1


def test_the_refusal_says_what_two_reports_leak_together(ledger):
    """Of two draws of one mechanism exactly; the oracle goes through all pairs of reports in fractions."""
    release(ledger)
    text = refused(lambda: release(ledger, occasion=2))
    (said,) = re.findall(r"together leak at most ([0-9.]+) nats under its prior, one at most 0\.3", text)
    exact = leakage_of_pairs(C)
    assert exact <= float(said) <= exact + 0.0101
    text = refused(lambda: release(ledger, c=D))
    everything = -np.log(0.2)
    (said,) = re.findall(
        r"cannot be computed without the earlier mechanism, and is at most ([0-9.]+) nats", text
    )
    assert everything <= float(said) <= everything + 0.0101


def test_for_a_set_of_priors_the_worst_of_them_counts(ledger):
    priors = ex.PriorSet.l1_ball(PRIOR, 0.1)
    robust = certify(priors, ex.theory.randomized_response_for_pml(PRIOR, 0.2), 0.5)
    release(ledger, robust)
    text = refused(lambda: release(ledger, robust, occasion=2))
    (said,) = re.findall(r"together leak at most ([0-9.]+) nats", text)
    nominal = certify(PRIOR, robust.mechanism, 0.5)
    for p in ([0.55, 0.25, 0.2], [0.45, 0.3, 0.25], [0.55, 0.3, 0.15], [0.5, 0.3, 0.2]):
        other = certify(ex.Prior(p, PRIOR.labels), nominal.mechanism, 0.5)
        assert leakage_of_pairs(other) <= float(said)


@pytest.mark.parametrize("second", [{"occasion": 2}, {"epsilon": 0.5}], ids=["occasion", "mechanism"])
def test_a_set_of_all_priors_has_no_level_of_everything_and_a_second_report_is_refused_all_the_same(
    ledger, second
):
    everyone = ex.PriorSet.at_least(PRIOR, 0)
    release(ledger, ex.certify(ex.design(everyone, 0.8)))
    said = refused(
        lambda: release(
            ledger,
            ex.certify(ex.design(everyone, second.get("epsilon", 0.8))),
            occasion=second.get("occasion"),
        )
    )
    assert "inf" not in said


def test_a_third_report_is_bounded_without_a_table_of_all(ledger):
    release(ledger)
    ledger.write_text(
        "".join(json.dumps({**lines(ledger)[0], "occasion": o}) + "\n" for o in (None, 2, 3)),
        encoding="utf-8",
    )
    text = refused(lambda: release(ledger, occasion=4))
    (said,) = re.findall(r"4 reports together leak at most ([0-9.]+) nats", text)
    assert float(said) >= min(4 * leakage_of_pairs(C) / 2, -np.log(0.2)) - 0.01


def test_rows_that_were_dropped_are_not_released(ledger):
    frame = pd.DataFrame({"id": [1, 2], "answer": ["a", "?"]})
    how = {"keyed": ex.Keyed(KEY, "id"), "ledger": ledger, "unknown": "drop"}
    ex.privatize(frame, {"answer": C}, **how)
    assert [entry["people"] for entry in lines(ledger)] == [1]
    ex.privatize(frame[1:], {"answer": C}, **{**how, "keyed": ex.Keyed(KEY, "id", 2)})  # nothing was released
    assert len(lines(ledger)) == 1


def test_a_release_that_is_refused_leaves_no_entry(ledger):
    frame = pd.DataFrame({"id": [1, 2], "answer": ["a", "?"]})
    with wording.refused(ex.errors.ValuesError, "others in 1 of 2 rows, first in record 2"):
        ex.privatize(frame, {"answer": C}, keyed=ex.Keyed(KEY, "id"), ledger=ledger)
    assert not ledger.exists()


# --- answers --------------------------------------------------------------------------------------

LABELS = np.array(["a", "b", "c"])


def answered(ledger, answers, ids=None, column="answer", c=C, occasion=None, **how):
    frame = pd.DataFrame({"id": range(len(answers)) if ids is None else list(ids), column: list(answers)})
    keyed = ex.Keyed(KEY, "id", occasion)
    return ex.privatize(frame, {column: c}, keyed=keyed, ledger=ledger, **how)[column].tolist()


def other_answers(call):
    with wording.refused(KeyingError, "answers") as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.filterwarnings("ignore::extremal.draw.order.OrderWarning")
def test_another_question_under_the_same_name_is_refused(ledger):
    """Two files with a column `answer`, about different questions: same key, ids and mechanism."""
    rng = np.random.default_rng(1)
    first, second = rng.choice(LABELS, (2, 500))
    answered(ledger, first)
    before = ledger.read_bytes()
    text = other_answers(lambda: answered(ledger, second))
    differ = int(np.count_nonzero(first != second))
    assert f"other answers of {differ} of the 500 people" in text
    assert "another question, give its column another name" in text
    assert "correction=True" in text
    assert ledger.read_bytes() == before
    answered(ledger, second, column="other")
    assert len(lines(ledger)) == 2


@pytest.mark.filterwarnings("ignore::extremal.draw.order.OrderWarning")
def test_one_person_with_another_answer_is_found_and_more_people_are_fine(ledger):
    answers = np.random.default_rng(2).choice(LABELS, 300)
    answered(ledger, answers[:200])
    grown = answered(ledger, answers)
    assert len(lines(ledger)) == 2
    assert answered(None, answers) == grown
    changed = answers.copy()
    changed[250] = LABELS[(list(LABELS).index(answers[250]) + 1) % 3]
    assert "1 of the 300 people" in other_answers(lambda: answered(ledger, changed))
    assert "1 of the 1 people" in other_answers(lambda: answered(ledger, changed[250:251], [250]))
    answered(ledger, np.delete(changed, 250), np.delete(np.arange(300), 250))
    answered(ledger, changed, range(300, 600))  # other people
    answered(ledger, changed, c=D, column="Another")


def test_a_correction_is_released_recorded_and_says_what_both_reports_tell(ledger):
    """The bound is compared with all pairs of answers and reports, in exact fractions."""
    answered(ledger, "abcab")
    weights = C.weights.astype(object)
    exact = max(
        np.log(float(Fraction(int((np.outer(w, v)).max()), int(np.outer(w, v).min()))))
        for w in weights.T
        for v in weights.T
    )
    with pytest.warns(module.CorrectionWarning) as told:
        reports = answered(ledger, "abcaa", correction=True)
    (warning,) = told
    text = str(warning.message)
    assert warning.filename == __file__
    assert "1 of the 5 people" in text
    assert "show that the answer changed" in text
    (said,) = re.findall(r"2 reports together leak at most ([0-9.]+) nats about the answers", text)
    assert exact <= float(said) <= exact + 0.0101
    assert len(lines(ledger)) == 2
    # Both are on record now, and neither tells anything new.
    before = ledger.read_bytes()
    assert answered(ledger, "abcaa") == reports
    answered(ledger, "abcab")
    assert ledger.read_bytes() == before
    with pytest.warns(module.CorrectionWarning, match="3 reports together"):
        answered(ledger, "abcac", correction=True)
    answered(ledger, "abcac")
    answered(ledger, "abcab", correction=True)


def test_a_correction_needs_a_ledger(ledger):
    with wording.refused(KeyingError, "correction", "ledger"):
        answered(None, "ab", correction=True)
    answered(ledger, "ab", correction=True)  # nothing was corrected
    refused(lambda: answered(ledger, "ab", occasion=2, correction=True))


def test_of_reports_that_rule_answers_out_the_correction_can_tell_everything(ledger):
    sharp = certify(PRIOR, ex.design(PRIOR, 1.2).mechanism, 1.2)
    assert (sharp.weights == 0).any()
    answered(ledger, "abc", c=sharp)
    assert "can leak everything" in other_answers(lambda: answered(ledger, "acb", c=sharp))


def test_answers_are_compared_as_they_are_drawn(ledger):
    """Missing values that count as a label have that label's report; rows that were dropped have none."""
    how = {"unknown_as": {"answer": "c"}}
    answered(ledger, ["a", None, "b"], **how)
    answered(ledger, ["a", "c", "b"])
    other_answers(lambda: answered(ledger, ["a", "b", "b"]))
    answered(ledger, ["?", "c", "b"], unknown="drop")
    other_answers(lambda: answered(ledger, ["?", "c", "a"], unknown="drop"))


def test_answers_of_columns_that_are_drawn_together_are_compared(ledger):
    pairs = ex.Prior.product(PRIOR, PRIOR)
    joint = certify(pairs, ex.theory.randomized_response_for_pml(pairs, 0.3), 0.3)
    how = {"keyed": ex.Keyed(KEY, "id"), "ledger": ledger}
    frame = pd.DataFrame({"id": [1, 2], "x": ["a", "b"], "y": ["a", "c"], "z": ["a", "b"]})
    ex.privatize(frame, {("x", "y"): joint, "z": C}, **how)
    assert "column ('x', 'y')" in other_answers(
        lambda: ex.privatize(frame.assign(y=["b", "c"]), {("x", "y"): joint, "z": C}, **how)
    )
    assert "column 'z'" in other_answers(
        lambda: ex.privatize(frame.assign(z=["a", "a"]), {("x", "y"): joint, "z": C}, **how)
    )
    ex.privatize(frame[::-1], {"z": C, ("x", "y"): joint}, **how)
    assert len(lines(ledger)) == 2


@pytest.mark.filterwarnings("ignore::extremal.draw.order.OrderWarning")
def test_of_more_people_than_the_sample_the_same_ones_are_compared_exactly(ledger, monkeypatch):
    monkeypatch.setattr(module, "MOST_PEOPLE", 20)
    answers = np.random.default_rng(3).choice(LABELS, 500)
    answered(ledger, answers)
    answered(ledger, answers)
    for person in range(0, 500, 50):
        changed = answers.copy()
        changed[person] = "a" if changed[person] != "a" else "b"
        other_answers(lambda changed=changed: answered(ledger, changed))
    with pytest.warns(module.CorrectionWarning):
        answered(ledger, changed, correction=True)
    answered(ledger, changed)
    answered(ledger, answers)
    assert len(lines(ledger)) == 2


def test_the_hashes_of_answers_are_those_of_the_documented_words(ledger):
    """Computed here with AES in plain Python from the page on the format."""
    answered(ledger, ["b"], ids=[7], occasion="w")
    (entry,) = lines(ledger)
    message = b"extremal-ledger-answers-1\0"
    for part in [b"text w", bytes.fromhex(C.digest), b"column", b"answer"]:
        message += len(part).to_bytes(8, "little") + part
    subkey = hmac.new(KEY, message, hashlib.sha256).digest()
    chained = aes_256(subkey, (7).to_bytes(16, "little"))
    chained = bytes(a ^ b for a, b in zip(chained, (1).to_bytes(16, "little"), strict=True))
    expected = aes_256(subkey, chained)[:8]
    assert base64.b64decode(entry["sample_answers"]) == expected
    assert entry["answers"] == expected.hex()


def test_a_ledger_of_version_1_opens_and_learns_answers_from_then_on(ledger):
    """A line of the version before, as it was written then; nothing is known about its answers."""
    answered(ledger, "abc")
    (line,) = lines(ledger)
    old = {k: v for k, v in line.items() if k not in ("answers", "sample_answers")} | {"ledger": 1}
    ledger.write_text(json.dumps(old) + "\n")
    refused(lambda: answered(ledger, "abc", occasion=2))
    answered(ledger, "abb")
    assert [entry["ledger"] for entry in lines(ledger)] == [1, 2]
    answered(ledger, "abb")
    assert len(lines(ledger)) == 2
    other_answers(lambda: answered(ledger, "abc"))


@pytest.mark.parametrize(
    "change", [{"sample_answers": "AAAA"}, {"sample_answers": ""}, {"answers": 5}, {"ledger": 3}]
)
def test_a_line_with_other_answers_than_people_is_damaged(ledger, change):
    answered(ledger, "abc")
    (line,) = lines(ledger)
    ledger.write_text(json.dumps(line | change) + "\n")
    with wording.refused(KeyingError, "ledger"):
        answered(ledger, "abc")


@pytest.mark.parametrize(
    "change",
    [
        {"column": 3},
        {"column": None},
        {"column": []},
        {"column": ["answer"]},
        {"column": ["answer", 1]},
        {"occasion": {}},
        {"occasion": True},
        {"digest": 4},
        {"key": None},
        {"day": 3},
        {"ids": []},
        {"ledger": True},
        {"ledger": 1.0},
        {"sample": 7},
    ],
)
def test_a_line_of_other_kinds_of_values_is_damaged_and_not_passed_over(ledger, change):
    answered(ledger, "abc")
    (line,) = lines(ledger)
    ledger.write_text(json.dumps(line | change) + "\n")
    before = ledger.read_bytes()
    with wording.refused(KeyingError, "ledger"):
        answered(ledger, "abb")
    assert ledger.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="permissions as on posix")
def test_a_ledger_that_others_can_read_is_closed_to_them(ledger):
    answered(ledger, "abc")
    ledger.chmod(0o644)
    answered(ledger, "abc")
    assert ledger.stat().st_mode & 0o777 == 0o600


# --- samples of people ----------------------------------------------------------------------------


def people(*parts, key=KEY):
    found = People(key)
    for part in parts:
        found.add(id_blocks(part, len(part)))
    return found


def test_a_set_of_people_has_one_hash_in_any_order_and_any_parts():
    whole = people(range(1000))
    parts = people(range(500, 1000), range(1, 500), [0])
    assert (whole.count, whole.digest) == (parts.count, parts.digest)
    assert sorted(whole.sample[0]) == sorted(parts.sample[0])
    assert whole.digest != people(range(1001)).digest
    assert whole.digest != people(range(1000), key=OTHER_KEY).digest


def test_a_sample_of_many_is_the_same_however_they_come(monkeypatch):
    monkeypatch.setattr(module, "MOST_PEOPLE", 50)
    whole, parts = people(range(1000)), people(*(range(k, 1000, 10) for k in range(10)))
    assert sorted(whole.sample[0]) == sorted(parts.sample[0])
    assert len(whole.sample[0]) == 50
    small = people(range(30))
    assert len(small.sample[0]) == 30


# --- files and processes --------------------------------------------------------------------------


def survey(folder, n=20):
    path = folder / "survey.csv"
    path.write_text("id,answer\n" + "".join(f"{i},a\n" for i in range(n)), encoding="utf-8")
    return path


def test_files_and_frames_share_a_ledger(tmp_path, ledger):
    source = survey(tmp_path)
    how = {"keyed": ex.Keyed(KEY, "id"), "ledger": ledger}
    ex.privatize(source, {"answer": C}, target=tmp_path / "one.csv", **how)
    release(ledger, ids=range(20))
    assert len(lines(ledger)) == 1
    later = {**how, "keyed": ex.Keyed(KEY, "id", 2)}
    refused(lambda: ex.privatize(source, {"answer": C}, target=tmp_path / "two.csv", **later))
    assert not (tmp_path / "two.csv").exists()
    refused(lambda: release(ledger, ids=[5], c=D))


def test_an_entry_is_on_disk_before_the_file_has_its_name(tmp_path, ledger, monkeypatch):
    target = tmp_path / "target.csv"
    seen = []
    commit = Entry.commit

    def watch(entry):
        commit(entry)
        seen.append((len(lines(ledger)), target.exists()))

    monkeypatch.setattr(Entry, "commit", watch)
    ex.privatize(survey(tmp_path), {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"), ledger=ledger)
    assert seen == [(1, False)]
    assert target.exists()


def test_an_entry_is_taken_back_if_the_file_cannot_be_published(tmp_path, ledger, monkeypatch):
    release(ledger, column="earlier")
    before = ledger.read_bytes()
    commit = Entry.commit
    target = tmp_path / "target.csv"

    def late(entry):
        commit(entry)
        assert len(lines(ledger)) == 2
        target.write_text("somebody else was first")

    monkeypatch.setattr(Entry, "commit", late)
    with pytest.raises(FileError):
        ex.privatize(survey(tmp_path), {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"), ledger=ledger)
    assert ledger.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="folders are opened as on posix")
def test_a_file_that_was_published_stays_in_the_ledger_though_its_folder_cannot_be_read(
    tmp_path, ledger, monkeypatch
):
    """A drop box lets files in and shows none: its names cannot be put on disk at once."""
    box = tmp_path / "box"
    box.mkdir()
    target, system = box / "target.csv", os.open

    def forbidden(path, flags, *rest, **how):
        if os.path.realpath(path) == os.path.realpath(box):
            raise PermissionError(13, "Permission denied")
        return system(path, flags, *rest, **how)

    monkeypatch.setattr(os, "open", forbidden)
    ex.privatize(survey(tmp_path), {"answer": C}, target=target, keyed=ex.Keyed(KEY, "id"), ledger=ledger)
    assert target.exists()
    assert len(lines(ledger)) == 1


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_interrupt_just_after_publication_takes_no_entry_back(tmp_path, ledger, monkeypatch, overwrite):
    target = tmp_path / "target.csv"
    publish = files._publish

    def interrupted(*how):
        publish(*how)
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_publish", interrupted)
    how = {"keyed": ex.Keyed(KEY, "id"), "ledger": ledger, "overwrite": overwrite}
    with pytest.raises(KeyboardInterrupt):
        ex.privatize(survey(tmp_path), {"answer": C}, target=target, **how)
    assert target.exists()
    assert len(lines(ledger)) == 1


def test_what_a_killed_process_left_of_a_line_is_no_entry(ledger):
    release(ledger)
    whole = ledger.read_bytes()
    for cut in (1, 10, len(whole) - 1):
        ledger.write_bytes(whole + whole[:cut])
        release(ledger, column="another")
        assert [entry["column"] for entry in lines(ledger)] == ["answer", "another"]
        ledger.write_bytes(whole[:cut])
        release(ledger)
        assert lines(ledger) == [json.loads(whole)]


@pytest.mark.parametrize(
    "content", [b"id,answer\n1,a\n", b"{}\n", b"[1]\n", b"not a ledger", b"\n", b"\xff\xfe\n"]
)
def test_something_else_than_a_ledger_is_refused_and_stays_as_it_is(ledger, content):
    ledger.write_bytes(content)
    with wording.refused(KeyingError, "ledger"):
        release(ledger)
    assert ledger.read_bytes() == content


def test_a_ledger_must_be_a_file_that_can_be_written(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere" / "ledger"):
        with wording.refused(KeyingError, "ledger"):
            release(path)
    with wording.refused(KeyingError, "5"):
        release(5)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with wording.refused(KeyingError, "ledger"):
            release(tmp_path / "pipe")


PROGRAM = """
import sys
import pyarrow as pa  # pandas takes longer to start
from extremal.certification.certified import load
from extremal.errors import KeyingError
import extremal as ex
mechanism, ledger, occasion, column = sys.argv[1:]
sys.stdin.readline()  # until all are ready
frame = pa.table({"id": range(50), column: ["a"] * 50})
how = {"keyed": ex.Keyed(bytes(range(32)), "id", occasion), "ledger": ledger}
try:
    ex.privatize(frame, {column: load(mechanism)}, **how)
    print("released")
except KeyingError:
    print("refused")
"""


@pytest.mark.slow
@pytest.mark.skipif(module.fcntl is None, reason="files are locked as on posix")
def test_of_processes_at_the_same_time_one_releases_a_column(tmp_path, ledger):
    mechanism = tmp_path / "m.json"
    C.save(mechanism)
    asked = [(str(k % 3), f"column {k % 2}") for k in range(4)]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(mechanism), str(ledger), *how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for how in asked
    ]
    said = [None] * len(running)
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    for k, process in enumerate(running):
        said[k] = process.communicate()[0].strip()
    for column in ("column 0", "column 1"):
        assert sorted(said[k] for k in range(4) if asked[k][1] == column) == [
            "refused",
            "released",
        ]
    assert sorted(entry["column"] for entry in lines(ledger)) == ["column 0", "column 1"]


def test_without_a_ledger_nothing_is_kept(tmp_path):
    release(None)
    assert list(tmp_path.iterdir()) == []
