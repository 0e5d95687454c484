"""SPSS and Stata files: codes with labels, missing codes, notes, and nothing of the private column but its reports."""

import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

import extremal as ex
from extremal.errors import FileError, ValuesError
from extremal.release.files.source import match_labels, read_counts
from tests.support.file_cases import SAME, WORDS, C, one_line, write_labelled

pyreadstat = pytest.importorskip("pyreadstat")
KINDS = ["sav", "dta"]
LABELS = {"answer": {1: "a", 2: "b,b", 7: 'c"c'}, "sex": {1: "m", 2: "f"}}
TITLES = {"answer": "How often?", "sex": "Sex", "day": "Day"}


def written(path, answers, **changes):
    """A file with everything that these formats say about columns, as the library of ReadStat writes it."""
    n = len(answers)
    code = {label: code for code, label in LABELS["answer"].items()}
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "answer": [code.get(x, x) for x in answers],
            "sex": rng.permutation([1.0, 2.0, math.nan] * n)[:n],
            "age": rng.permutation([25.0, 41.5, 99.0] * n)[:n],
            "name": rng.permutation(["Zoë", "Bo", ""] * n)[:n],
            "day": rng.permutation(13e9 + 86400.0 * np.arange(n)),
        }
    )
    about = {"column_labels": TITLES, "variable_value_labels": LABELS}
    if path.suffix == ".sav":
        about |= {"missing_ranges": {"age": [{"lo": 90, "hi": 99}]}, "variable_measure": {"sex": "nominal"}}
        about |= {"variable_format": {"day": "DATE11"}, "variable_display_width": {"sex": 12}}
        about |= {"file_label": "the file", "note": "seen by nobody"}
    else:
        frame["age"] = ["r" if x == 99 else int(x) for x in frame["age"]]
        about |= {"missing_user_values": {"age": ["r"]}, "variable_format": {"day": "%tc"}}
        about |= {"version": 14, "file_label": "the file"}
    getattr(pyreadstat, f"write_{path.suffix[1:]}")(frame, path, **{**about, **changes})
    return path


def opened(path):
    return getattr(pyreadstat, f"read_{path.suffix[1:]}")(
        path, user_missing=True, disable_datetime_conversion=True
    )


def answers_of(n, seed=0):
    return np.random.default_rng(seed).choice(WORDS.labels, n, p=WORDS.probabilities).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_other_columns_keep_their_values_and_all_that_is_said_about_them(tmp_path, kind):
    source, target = written(tmp_path / f"s.{kind}", answers_of(300)), tmp_path / f"t.{kind}"
    ex.privatize(source, {"answer": C}, target=target)
    (before, said), (after, now) = opened(source), opened(target)
    others = ["sex", "age", "name", "day"]
    pd.testing.assert_frame_equal(before[others], after[others])
    for what in (
        "column_names_to_labels",
        "variable_value_labels",
        "original_variable_types",
        "missing_ranges",
        "missing_user_values",
        "variable_measure",
    ):
        for name in others:
            assert getattr(said, what).get(name) == getattr(now, what).get(name), (what, name)
    assert now.column_names == said.column_names
    assert now.column_names_to_labels["answer"] == "How often?"
    assert now.file_label is None
    assert "nobody" not in str(now.notes)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_the_codes_of_their_labels(tmp_path, kind):
    """The mechanism that keeps answers shows what stands for what, also after rows without an answer are dropped."""
    given = [*answers_of(60), math.nan, *answers_of(60, 1)]
    source, target = written(tmp_path / f"s.{kind}", given), tmp_path / f"t.{kind}"
    one_line(ValuesError, "61", lambda: ex.privatize(source, {"answer": C}, target=target))
    done = ex.privatize(source, {"answer": SAME}, target=target, unknown="drop", allow_true_answers=True)
    assert (done.rows, done.dropped) == (120, 1)
    after, about = opened(target)
    assert [about.variable_value_labels["answer"][code] for code in after["answer"]] == [
        x for x in given if isinstance(x, str)
    ]
    assert about.variable_value_labels["answer"] == LABELS["answer"]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_new_texts_are_reports_too(tmp_path, kind):
    """Numbers stand for themselves; texts that no code had get the next whole numbers."""
    source, target = written(tmp_path / f"s.{kind}", answers_of(200)), tmp_path / f"t.{kind}"
    for outputs, codes in (((0, 1, 2), {0, 1, 2}), (("a", "x", "y"), {1, 2, 3})):
        m = ex.Mechanism(np.full((3, 3), 1 / 3), WORDS.labels, outputs)
        certified = ex.certify(WORDS, m, 0.1)
        ex.privatize(source, {"answer": certified}, target=target, overwrite=True)
        after, about = opened(target)
        assert set(after["answer"]) == codes
        labels = about.variable_value_labels.get("answer", {})
        assert labels == ({1: "a", 2: "x", 3: "y"} if outputs[0] == "a" else {})
        counts = match_labels(read_counts(str(target), "answer"), certified.outputs)
        assert set(counts) == set(outputs)
        assert sum(counts.values()) == 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_mechanism_for_codes_reads_codes(tmp_path, kind):
    prior = ex.Prior({1: 0.5, 2: 0.3, 7: 0.2})
    certified = ex.certify(prior, ex.theory.randomized_response(prior, 1.0), 1.0)
    given = answers_of(200)
    source, target = written(tmp_path / f"s.{kind}", given), tmp_path / f"t.{kind}"
    ex.privatize(source, {"answer": certified}, target=target)
    after, about = opened(target)
    assert set(after["answer"]) == {1, 2, 7}
    assert "answer" not in about.variable_value_labels  # they would name answers


@pytest.mark.parametrize("kind", KINDS)
def test_shares_come_from_labels_in_groups_and_with_weights(tmp_path, kind):
    """As from a CSV file with the same reports."""
    source, target = written(tmp_path / f"s.{kind}", answers_of(500)), tmp_path / f"t.{kind}"
    ex.privatize(source, {"answer": C}, target=target)
    after, about = opened(target)
    frame = pd.DataFrame(
        {
            "answer": [about.variable_value_labels["answer"][x] for x in after["answer"]],
            "sex": ["none" if x != x else LABELS["sex"][x] for x in after["sex"]],
            "day": after["day"],
        }
    )
    found = ex.estimate(C, str(target), column="answer", sample=ex.SampleDesign(weights="day"))
    expected = ex.estimate(C, frame, column="answer", sample=ex.SampleDesign(weights="day"))
    assert np.array_equal(found.shares, expected.shares)
    counts = read_counts(str(source), "sex", missing="drop")
    assert counts == frame["sex"][frame["sex"] != "none"].value_counts().to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_models_read_labels_and_numbers(tmp_path, kind):
    """The coefficients from the file are those from the frame that stands in it."""
    n = 800
    source, target = written(tmp_path / f"s.{kind}", answers_of(n)), tmp_path / f"t.{kind}"
    ex.privatize(source, {"answer": C}, target=target)
    after, about = opened(target)
    frame = pd.DataFrame({"answer": [about.variable_value_labels["answer"][x] for x in after["answer"]]})
    frame["sex"] = [None if x != x else LABELS["sex"][x] for x in after["sex"]]
    frame["day"] = (after["day"] - 13e9) / 1e8
    formula = "answer ~ C(sex) + I((day - 13e9) / 1e8)"
    found = ex.regress(C, formula, str(target))
    expected = ex.regress(C, "answer ~ C(sex) + day", frame)
    assert np.allclose(found.coefficients, expected.coefficients, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_codes_for_missing_answers_are_missing(tmp_path, kind):
    source = written(tmp_path / f"s.{kind}", answers_of(300))
    ages = read_counts(str(source), "age", missing="drop")
    assert set(ages) == ({25, 41.5} if kind == "sav" else {25, 41})
    one_line(ValuesError, "105", lambda: read_counts(str(source), "age"))


def note_of(path):
    """What the file says about its reports, as text."""
    if path.suffix == ".sav":
        return " ".join(line.strip() for line in opened(path)[1].notes)
    raw = path.read_bytes()
    start, end = raw.index(b"<characteristics>"), raw.index(b"</characteristics>")
    entry = raw[start:end].split(b"<ch>")[2]
    length, name, key = entry[:4], entry[4:133].rstrip(b"\0"), entry[133:262].rstrip(b"\0")
    assert (key, int.from_bytes(length, "little")) == (b"note1", len(entry) - 4 - len(b"</ch>"))
    return f"{name.decode()}: {entry[262:].split(bytes(1))[0].decode()}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_note_names_mechanism_and_limit(tmp_path, kind):
    source, target = written(tmp_path / f"s.{kind}", answers_of(50)), tmp_path / f"t.{kind}"
    ex.privatize(source, {"answer": C}, target=target, source=ex.randomness.SeededWords(1))
    note = note_of(target)
    assert note.startswith("answer: ")
    assert C.digest in note.replace(" ", "") or C.digest in note
    assert "Epsilon 1." in note
    assert "SeededWords" in note or "experiment" in note  # reports that are not private say so
    if kind == "dta":  # another reader, which goes by the places in the file's map
        table = pd.read_stata(target, convert_categoricals=False)
        assert len(table) == 50
        with pd.io.stata.StataReader(target) as reader:
            assert sorted(tuple(x.values()) for x in reader.value_labels().values()) == sorted(
                tuple(x.values()) for x in LABELS.values()
            )
            assert reader.variable_labels()["answer"] == "How often?"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("labels", "says"),
    [({1: "a", 2: "b,b", 7: "a"}, "1 and 7"), ({1: "a", 2: "7"}, "'7'"), ({1: "a", 2: " a "}, "1 and 2")],
)
def test_labels_that_do_not_tell_values_apart_are_refused(tmp_path, kind, labels, says):
    source = written(
        tmp_path / f"s.{kind}", answers_of(80), variable_value_labels={**LABELS, "answer": labels}
    )
    target = tmp_path / f"t.{kind}"
    one_line(ValuesError, says, lambda: ex.privatize(source, {"answer": C}, target=target))
    one_line(ValuesError, "'answer'", lambda: read_counts(str(source), "answer"))
    assert not target.exists()
    assert read_counts(str(source), "sex", missing="drop")  # other columns are read


@pytest.mark.parametrize("kind", KINDS)
def test_files_with_the_same_reports_are_the_same_bytes(tmp_path, kind):
    """Whatever the answers were, whatever was said of them, and whatever their missing codes and widths are."""
    few = ex.certify(WORDS, ex.theory.randomized_response(WORDS, 0.5), 0.5)
    found = defaultdict(set)
    target = tmp_path / f"t.{kind}"
    for k, label in enumerate(WORDS.labels):
        about = {"variable_format": {"answer": f"F{8 + k}.{k}"}, "variable_measure": {"answer": "scale"}}
        about |= {"missing_ranges": {"answer": [90 + k]}, "variable_display_width": {"answer": 5 + k}}
        about = about if kind == "sav" else {"variable_format": {"answer": f"%{8 + k}.0g"}, "version": 14}
        source = tmp_path / f"s{k}.{kind}"
        write_labelled(source, {"answer": [label, 'c"c', "a"], "n": [3, 1, 2]}, **about)
        for _ in range(25):
            ex.privatize(source, {"answer": few}, target=target, overwrite=True)
            found[tuple(opened(target)[0]["answer"])].add((target.read_bytes(), k))
    assert all(len({content for content, _ in files}) == 1 for files in found.values())
    assert sum(len({k for _, k in files}) > 1 for files in found.values()) > 6  # of 27


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_such_file_is_refused_in_one_line(tmp_path, kind):
    (tmp_path / f"s.{kind}").write_bytes(b"id,answer\n1,a\n")
    one_line(FileError, f"s.{kind}", lambda: read_counts(str(tmp_path / f"s.{kind}"), "answer"))
    source = written(tmp_path / f"good.{kind}", answers_of(9))
    cut = tmp_path / f"cut.{kind}"
    cut.write_bytes(source.read_bytes()[:300])
    one_line(FileError, f"cut.{kind}", lambda: read_counts(str(cut), "answer"))
    one_line(ValuesError, "'nobody'", lambda: read_counts(str(source), "nobody"))
    other = tmp_path / "t.csv"
    one_line(FileError, "t.csv", lambda: ex.privatize(source, {"answer": C}, target=other))
