"""The mechanism file: it round-trips bit by bit, whatever is altered is refused, and its page is true.

Run as a program, this file renews the test vectors in docs/file-format.md.
"""

import copy
import hashlib
import hmac
import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extremal as ex
from extremal.certification import file as mechanism_file
from extremal.certification.certified import Certified, load
from extremal.certification.certify import certify
from extremal.certification.proof import column_runs
from extremal.errors import ExtremalError, FileError, FormatError
from extremal.model.mechanism import constant, identity
from extremal.release.ids import id_blocks
from extremal.release.keys import draw_key, keyed_words
from tests.support.aes import aes_256

PAGE = Path(__file__).parents[2] / "docs" / "file-format.md"


def small():
    prior = ex.Prior({"yes": 0.25, "no": 0.75})
    return certify(prior, ex.theory.randomized_response_for_pml(prior, 0.7), 0.7)


def sets_of_priors():
    prior = ex.Prior({"yes": 0.25, "no": 0.5, "naïve": 0.25})
    yield ex.PriorSet.l1_ball(prior, 0.1)
    yield ex.PriorSet.from_counts({"yes": 20, "no": 70, "never": 0}, 0.9)
    yield ex.PriorSet.intervals({"a": 0.1, "b": 0.3, 3: 0.2}, {"a": 0.4, "b": 0.6, 3: 0.35})
    yield ex.PriorSet.at_least(prior, 0.125)
    yield ex.PriorSet.at_least(4, 0)


def cases():
    skewed = ex.Prior.from_counts([1, 10, 100, 1000, 10_000])
    yield small()
    yield certify(skewed, ex.theory.closed_form.arc(skewed, 1.0), 1.0)
    yield certify(skewed, ex.theory.randomized_response_for_pml(skewed, 2.0), 2.0)
    yield certify(skewed, constant(skewed), 0.0)
    yield certify(skewed, identity(skewed), 20.0)
    rare = ex.Prior.from_counts([1e-9, 0.3, 0.7])
    yield certify(rare, ex.theory.closed_form.high_privacy(rare, 1e-10), 1e-10)
    yield certify(rare, identity(rare), rare.epsilon_max)
    for priors in sets_of_priors():
        yield certify(priors, ex.design(priors, 0.5, ex.mutual_information).mechanism, 0.5)


CASES = list(cases())


@pytest.mark.parametrize("c", CASES, ids=repr)
def test_a_saved_mechanism_comes_back_bit_by_bit(c, tmp_path):
    path = tmp_path / "mechanism.json"
    c.save(path)
    back = load(path)
    assert back == c
    assert np.array_equal(back.weights, c.weights)
    assert back.prior.probabilities.tobytes() == c.prior.probabilities.tobytes()
    for name in ("epsilon", "realised_epsilon", "bits", "method", "library", "digest", "inputs", "outputs"):
        assert getattr(back, name) == getattr(c, name)
    assert (back.prior_set is None) == (c.prior_set is None)
    if c.prior_set is not None:
        for name in ("center", "lower", "upper"):
            assert getattr(back.prior_set, name).tobytes() == getattr(c.prior_set, name).tobytes()
        for name in ("radius", "confidence", "description", "labels"):
            assert getattr(back.prior_set, name) == getattr(c.prior_set, name)
    assert back.to_json() == c.to_json() == path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("c", CASES, ids=repr)
def test_a_mechanism_from_a_file_draws_what_it_drew_before(c):
    back = Certified.from_json(c.to_json())
    values = [c.inputs[k % len(c.inputs)] for k in range(100)]
    reports = [x.privatize(values, source=ex.randomness.SeededWords(3)) for x in (c, back)]
    assert reports[0] == reports[1]
    assert back.weights.flags.c_contiguous


scalars = (
    st.text(max_size=4)
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
)
labels = st.recursive(scalars, lambda parts: st.tuples(parts, parts) | st.tuples(parts), max_leaves=4)


def typed(label):
    return (
        (type(label), [typed(part) for part in label])
        if isinstance(label, tuple)
        else (type(label), repr(label + 0.0 if isinstance(label, float) else label))
    )


@given(st.lists(labels, min_size=2, max_size=6, unique=True))
def test_labels_keep_their_types(names):
    c = certify(ex.Prior.uniform(names), ex.Mechanism(np.eye(len(names)), names, names), 2.0)
    back = Certified.from_json(c.to_json())
    assert [typed(label) for label in back.inputs] == [typed(label) for label in names]
    assert [typed(label) for label in back.outputs] == [typed(label) for label in names]


@pytest.mark.parametrize(
    "names",
    [
        ["caf\u00e9", "cafe\u0301"],  # equal after normalisation, and two different texts
        ["a", "a\u200b"],
        ["\u202eabc", "abc"],
        ["\x00", "\x7f"],
        ["\u2028", "\n"],
        ["", " "],
        ["\U0001f600", "\uffff"],
        ["__proto__", "digest"],
        [(), ((),)],
        [10**30, -(10**30)],
        [5e-324, 1.7976931348623157e308],
    ],
    ids=ascii,
)
def test_odd_labels_stay_as_they_are(names, tmp_path):
    c = certify(ex.Prior([0.5, 0.5], names), ex.Mechanism(np.eye(2), names, names), 1.0)
    path = tmp_path / "m.json"
    c.save(path)
    assert load(path).inputs == tuple(names)
    assert load(path).digest == c.digest == code_of_the_page()["digest"](json.loads(path.read_text("utf-8")))


def test_one_and_one_are_four_different_labels():
    digests = set()
    for label in (1, 1.0, True, "1"):
        c = certify(ex.Prior([0.5, 0.5], ["x", label]), ex.Mechanism(np.eye(2)), 1.0)
        assert type(Certified.from_json(c.to_json()).inputs[1]) is type(label)
        digests.add(c.digest)
    assert len(digests) == 4


@given(seed=st.integers(0, 2**32), n=st.integers(2, 9))
def test_probabilities_come_back_bit_by_bit(seed, n):
    prior = ex.Prior.from_counts(np.random.default_rng(seed).dirichlet(np.full(n, 0.2)) + 1e-12)
    back = Certified.from_json(certify(prior, constant(prior), 0.0).to_json())
    assert back.prior.probabilities.tobytes() == prior.probabilities.tobytes()


def test_a_file_is_small():
    uniform = ex.Prior.uniform(16)
    assert len(certify(uniform, ex.theory.closed_form.uniform(16, 1.0), 1.0).to_json()) < 3000
    large = ex.Prior.from_counts(np.random.default_rng(0).dirichlet(np.ones(200)))
    assert len(certify(large, ex.theory.randomized_response_for_pml(large, 1.0), 1.0).to_json()) < 40_000


# --- nothing altered is read ----------------------------------------------------------------------


def redigest(document):
    """The document with the right digest: damage is then for the other checks to find."""
    document.pop("digest", None)
    document["digest"] = mechanism_file.digest(document)
    return document


def altered():
    """Documents that claim something false, each with a matching digest."""
    document = json.loads(small().to_json())
    weight = document["weights"][0][0][0]

    def change(path, value):
        changed = copy.deepcopy(document)
        place = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        return redigest(changed)

    yield "a lower epsilon", change(["epsilon"], "0.5")
    yield "a lower realised epsilon", change(["realised_epsilon"], "0.69")
    yield "a higher realised epsilon", change(["realised_epsilon"], "0.7000000001")
    yield "an infinite epsilon", change(["epsilon"], "inf")
    yield "no number", change(["epsilon"], "nan")
    yield "a number for a string", change(["epsilon"], 0.7)
    yield "another notation", change(["epsilon"], "7e-1")
    yield "white space", change(["epsilon"], " 0.7")
    yield "other bits", change(["bits"], 61)
    yield "bits as a float", change(["bits"], 62.0)
    yield "bits as a boolean", change(["bits"], True)
    yield "another format", change(["format"], "extremal")
    yield "another version", change(["version"], 1)
    yield "a boolean version", change(["version"], True)
    yield "a float version", change(["version"], 2.0)
    yield "another prior", change(["prior"], ["0.3", "0.7"])
    yield "a prior of zero", change(["prior"], ["0.0", "1.0"])
    yield "a negative prior", change(["prior"], ["-0.25", "1.25"])
    yield "a prior of sum 2", change(["prior"], ["1.25", "0.75"])
    yield "a prior that is not normalised", change(["prior"], ["0.25", "0.7500000001"])
    yield "a short prior", change(["prior"], ["1.0"])
    yield "one input", change(["inputs"], ["yes"])
    yield "equal inputs", change(["inputs"], ["yes", "yes"])
    yield "a missing label", change(["inputs"], ["yes", None])
    yield "labels equal as numbers", change(["outputs"], [1, True])
    yield "a label out of bounds", change(["outputs"], [2**60, "no"])
    yield "a nested label too deep", change(["outputs"], [[[[[[[[[["x"]]]]]]]]], "no"])
    yield "a label of another kind", change(["outputs"], [{"date": "2024-01-01"}, "no"])
    yield "a label that is no float", change(["outputs"], [{"float": "nan"}, "no"])
    yield "a label in another notation", change(["outputs"], [{"float": "1.50"}, "no"])
    yield "a small integer as a string", change(["outputs"], [{"int": "1"}, "no"])
    yield "an empty column", change(["weights", 0], [])
    yield "a missing column", change(["weights"], document["weights"][:1])
    yield "one unit more", change(["weights", 0, 0, 0], str(int(weight) + 1))
    yield "a huge weight", change(["weights", 0, 0, 0], str(2**63))
    yield "a negative weight", change(["weights", 0, 0, 0], f"-{weight}")
    yield "a weight as a number", change(["weights", 0, 0, 0], int(weight))
    yield "a weight with underscores", change(["weights", 0, 0, 0], f"{weight[0]}_{weight[1:]}")
    yield "a leading zero", change(["weights", 0, 0, 0], f"0{weight}")
    yield "a weight of zero", change(["weights", 0], [["0", "0-1"]])
    yield "a row that is not there", change(["weights", 0, 0, 1], "2")
    yield "a negative row", change(["weights", 0, 0, 1], "-1")
    yield "rows backwards", change(["weights", 0, 0, 1], "1-0")
    yield "a row twice", change(["weights", 0, 0, 1], "0,0")
    yield "a range of one", change(["weights", 0, 0, 1], "0-0")
    yield "no rows", change(["weights", 0, 0, 1], "")
    yield "rows as a number", change(["weights", 0, 0, 1], 0)
    yield "a triple", change(["weights", 0, 0], [weight, "0", "1"])
    yield "a string for a pair", change(["weights", 0], ["10"])
    yield "columns as an object", change(["weights"], {"0": [], "1": []})
    yield "inputs as a string", change(["inputs"], "ab")
    yield "a number for a library", change(["library"], 3)
    yield "null for a method", change(["method"], None)
    yield "one member more", change(["extra"], 1)
    fewer = copy.deepcopy(document)
    del fewer["method"]
    yield "one member less", redigest(fewer)
    swapped = copy.deepcopy(document)
    swapped["weights"].reverse()
    swapped["prior"].reverse()
    yield "columns and prior swapped", redigest(swapped)


@pytest.mark.parametrize(("what", "document"), list(altered()), ids=lambda x: x if isinstance(x, str) else "")
def test_a_false_claim_is_refused_even_with_a_matching_digest(what, document):
    with pytest.raises(FormatError) as caught:
        Certified.from_json(json.dumps(document))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_only_truth_is_left_when_digests_match():
    """Changes that leave a true statement are read as what they are: a higher epsilon, other names."""
    document = json.loads(small().to_json())
    document["epsilon"] = "0.8"
    document["outputs"] = ["maybe", "never"]
    c = Certified.from_json(json.dumps(redigest(document)))
    assert (c.epsilon, c.outputs) == (0.8, ("maybe", "never"))
    assert c.digest != small().digest


def test_a_wrong_digest_is_refused():
    text = small().to_json()
    for other in (
        text.replace('"0.7"', '"0.8"'),
        text.replace('"yes"', '"YES"'),
        text.replace('"0.25"', '"0.250000001"'),
    ):
        assert other != text
        with pytest.raises(FormatError, match="altered or damaged"):
            Certified.from_json(other)
    for wrong in ("0" * 64, None, 5, "", small().digest.upper()):
        document = json.loads(text)
        document["digest"] = wrong
        with pytest.raises(FormatError, match="altered or damaged"):
            Certified.from_json(json.dumps(document))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[]",
        "null",
        "5",
        '"extremal-mechanism"',
        "{}",
        '{"format": "extremal-mechanism"}',
        '{"format": "extremal-mechanism", "format": "extremal-mechanism"}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "9" * 10_000,
        '{"format": NaN}',
        "\x00",
    ],
    ids=range(15),
)
def test_what_is_no_mechanism_file_is_refused_in_one_line(text):
    with pytest.raises(FormatError) as caught:
        Certified.from_json(text)
    assert "\n" not in str(caught.value)


def test_a_member_that_occurs_twice_is_refused():
    text = small().to_json()
    twice = text.replace('  "bits": 62,', '  "bits": 62,\n  "bits": 62,')
    with pytest.raises(FormatError, match="twice"):
        Certified.from_json(twice)


def test_bytes_that_are_no_text_and_files_too_large_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="UTF-8"):
        load(path)
    monkeypatch.setattr(mechanism_file, "LARGEST_FILE", 100)
    path.write_text(small().to_json())
    with pytest.raises(FormatError, match="at most 100 bytes"):
        load(path)
    with pytest.raises(FormatError, match="at most 100"):
        Certified.from_json(small().to_json())


@pytest.mark.parametrize("path", [None, 3, True, "", b"", "a\0b", ["m.json"]])
def test_what_is_no_path_is_refused(path):
    """A number is none: open() takes it for an open file, and would close it."""
    for call in (load, small().save):
        with pytest.raises(FileError, match=r"mechanism file must be the name of a file, got .+"):
            call(path)


def test_what_the_system_refuses_is_said_in_one_line_with_the_path_that_was_given(tmp_path):
    for path in (tmp_path / "absent.json", tmp_path, tmp_path / ("x" * 300)):
        with pytest.raises(FileError) as error:
            load(path)
        assert str(error.value).startswith(f"mechanism file must be one that can be read, got {path}: ")
    for path in (tmp_path / "nowhere" / "m.json", tmp_path, tmp_path / ("x" * 300)):
        with pytest.raises(FileError) as error:
            small().save(path)
        assert str(error.value).startswith(f"mechanism file must be one that can be written, got {path}: ")
        assert ".part" not in str(error.value)
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", [None, 3, b"{}", {"format": "extremal-mechanism"}])
def test_only_text_is_the_text_of_a_file(text):
    with pytest.raises(FormatError, match=f"got {type(text).__name__}"):
        Certified.from_json(text)


def test_a_file_cannot_ask_for_more_memory_than_it_is_worth():
    document = json.loads(small().to_json())
    document["inputs"] = [str(i) for i in range(5000)]
    document["outputs"] = [str(i) for i in range(5000)]
    document["prior"] = ["0.0002"] * 5000
    document["weights"] = [[]] * 5000
    with pytest.raises(FormatError, match="5000 inputs x 5000 outputs"):
        Certified.from_json(json.dumps(redigest(document)))


def test_the_work_is_that_of_the_file_not_of_the_table(monkeypatch):
    """A file of 0.26 MB can stand for 16 million weights: what is counted is the runs that proof and encoder see."""
    n = 1024
    column = [[str(2**52), f"0-{n - 1}"]]
    document = json.loads(small().to_json()) | {
        "realised_epsilon": "0.0",
        "inputs": list(range(n)),
        "outputs": list(range(n)),
        "prior": [repr(1 / n)] * n,
        "weights": [column] * n,
    }
    seen = []

    def counted(weights):
        for runs in column_runs(weights):
            seen.append(len(runs))
            yield runs

    for name in ("file", "certified"):
        monkeypatch.setattr(f"extremal.certification.{name}.column_runs", counted)
    c = Certified.from_json(json.dumps(redigest(document)))
    assert c.weights.shape == (n, n)
    assert set(seen) == {1}


@pytest.mark.parametrize("digits", [20, 400, 5000, 100_000])
def test_numbers_of_many_digits_are_refused(digits):
    for path in (["weights", 0, 0, 0], ["weights", 0, 0, 1], ["epsilon"], ["prior", 0], ["outputs", 0]):
        document = json.loads(small().to_json())
        place = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = {"int": "9" * digits} if path[0] == "outputs" and digits > 4300 else "9" * digits
        if path[0] == "outputs" and digits <= 4300:
            continue  # a name like any other
        with pytest.raises(FormatError) as caught:
            Certified.from_json(json.dumps(redigest(document)))
        assert len(str(caught.value)) < 400


def is_valid_or_refused(text):
    """Whatever it is, it is refused, or it is a mechanism that satisfies its own epsilon."""
    try:
        c = Certified.from_json(text)
    except FormatError as error:
        refusal = str(error)
    else:
        refusal = None
    if refusal is not None:
        assert "\n" not in refusal
        return
    assert [sum(row) for row in c.weights.tolist()] == [2**62] * c.prior.size
    assert ex.epsilon_pml(c.prior, c.mechanism) <= c.epsilon + 1e-12
    assert Certified.from_json(c.to_json()) == c


def paths(value, here=()):
    yield here
    if isinstance(value, dict):
        for name, part in value.items():
            yield from paths(part, (*here, name))
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from paths(part, (*here, k))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**63)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["0.7", "0.9", "0-1", "0", "1", str(2**61), str(2**62), "nan", "1e400", "-0.0"]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts, max_size=2),
    max_leaves=5,
)


@settings(max_examples=400)
@given(data=st.data())
def test_a_mutated_document_never_loads_as_valid_unless_it_is(data):
    document = json.loads(data.draw(st.sampled_from(CASES[:4])).to_json())
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(paths(document))))
        if not path:
            continue
        place = document
        for step in path[:-1]:
            place = place[step]
        action = data.draw(st.sampled_from(["replace", "delete", "double", "nudge"]))
        if action == "replace":
            place[path[-1]] = data.draw(json_values)
        elif action == "delete":
            del place[path[-1]]
        elif action == "double" and isinstance(place, list):
            place.insert(path[-1], copy.deepcopy(place[path[-1]]))
        elif action == "nudge" and isinstance(place[path[-1]], str) and place[path[-1]].isdigit():
            place[path[-1]] = str(int(place[path[-1]]) + data.draw(st.integers(-2, 2)))
    if data.draw(st.booleans()):
        try:
            document = redigest(document)
        except (ValueError, KeyError):  # NaN has no canonical form, and a member may be gone
            return
    is_valid_or_refused(json.dumps(document))


@settings(max_examples=400)
@given(data=st.data())
def test_mutated_text_never_loads_as_valid_unless_it_is(data):
    text = data.draw(st.sampled_from(CASES[:4])).to_json()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        new = data.draw(st.sampled_from([*'0123456789"[]{},:-.e \n\\u', "null", "true", "NaN", ""]))
        length = data.draw(st.integers(0, 3))
        text = text[:at] + new + text[at + length :]
        text = text or " "
    is_valid_or_refused(text)


def test_refusals_are_errors_of_this_library():
    assert issubclass(FormatError, ExtremalError)
    assert issubclass(FormatError, ValueError)


# --- writing --------------------------------------------------------------------------------------


def test_an_interrupted_save_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    small().save(path)
    before = path.read_bytes()

    def fail(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(mechanism_file.os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        CASES[1].save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_saving_replaces_an_older_file(tmp_path):
    path = tmp_path / "m.json"
    small().save(path)
    CASES[1].save(path)
    assert load(path) == CASES[1]
    assert load(str(path)) == load(os.fsencode(path)) == CASES[1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_a_pipe_or_a_device_is_no_mechanism_file(tmp_path):
    """Nobody writes to the pipe: reading it would wait for ever, and the device would never end."""
    os.mkfifo(tmp_path / "m.json")
    for path in (tmp_path / "m.json", Path("/dev/zero")):
        with pytest.raises(FileError, match="not a regular file"):
            load(path)
    with pytest.raises(FileError, match="Is a directory"):
        load(tmp_path)


# --- the page -------------------------------------------------------------------------------------


def code_of_the_page():
    """The functions on the page, as a reader in another language would write them from it."""
    names = {"hmac": hmac, "hashlib": hashlib, "json": json, "re": re, "aes_256": aes_256}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
        exec(block, names)
    return names


def weights_of(document):
    """Rows of weights, read off the file as the page says."""
    rows = [[0] * len(document["outputs"]) for _ in document["inputs"]]
    for j, column in enumerate(document["weights"]):
        for weight, where in column:
            for part in where.split(","):
                first, _, last = part.partition("-")
                for i in range(int(first), int(last or first) + 1):
                    rows[i][j] = int(weight)
    return rows


KEY = bytes(range(32))
RECORDS = [
    *(
        0,
        1,
        2,
        3,
        -1,
        255,
        2**63,
        -(2**119),
        2**119,
        "007",
        "+1",
        "-0",
        "alice",
        "Zoë",
        "1.0",
        b"1",
        b"\xff\x00",
    ),
]


def vector_mechanism():
    """Made without doubles of its own, so that it never changes with the library."""
    third = 2**62 // 3
    rest = 2**62 - 2 * third
    weights = [
        [rest, third, third, 0],
        [third, rest, third, 0],
        [third, third, rest, 0],
        [2**60, 2**60, 2**60 + 12345, 2**60 - 12345],
    ]
    prior = ex.Prior([0.125, 0.25, 0.125, 0.5], ["red", "green", "blue", "naïve"])
    return Certified(
        prior, ("red", "green", "blue", 7), np.array(weights, dtype=np.uint64), 0.75, "by hand", "vectors"
    )


def vectors():
    c = vector_mechanism()
    for k, record in enumerate(RECORDS):
        column = [("größe", "answer"), "answer", "größe"][k % 3]
        occasion = [None, 2, "spring", "-03"][k // 2 % 4]
        row = k % 4
        (report,) = c.privatize([c.inputs[row]], key=KEY, ids=[record], column=column, occasion=occasion)
        word = np.empty(1, dtype=np.uint64)
        subkey = draw_key(KEY, occasion, column, bytes.fromhex(c.digest))
        keyed_words(subkey, id_blocks([record], 1), np.array([row], np.uint8), np.arange(5, dtype=np.uint32))(
            0, word
        )
        yield record, column, occasion, c.inputs[row], int(word[0]), report


def sections():
    rows = ["| id | column | occasion | value | word | report |", "|---|---|---|---|---|---|"]
    rows += [
        f"| `{r!r}` | `{c!r}` | `{o!r}` | `{v!r}` | `{w:016x}` | `{y!r}` |" for r, c, o, v, w, y in vectors()
    ]
    return {"file": f"```json\n{vector_mechanism().to_json()}```", "table": "\n".join(rows)}


def test_the_page_shows_the_vectors_that_the_library_gives():
    text = PAGE.read_text(encoding="utf-8")
    for name, content in sections().items():
        (shown,) = re.findall(rf"<!-- vectors:{name} -->\n(.*?)\n<!-- vectors:end -->", text, re.S)
        assert shown == content, f"run: python {Path(__file__).name}"


def test_aes_in_plain_python_is_that_of_the_standard():
    """FIPS 197, appendix C.3."""
    block = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert aes_256(bytes(range(32)), block).hex() == "8ea2b7ca516745bfeafc49904b496089"


def test_the_code_on_the_page_gives_the_vectors():
    (text,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    document = json.loads(text)
    page = code_of_the_page()
    tables = [page["table"](row) for row in weights_of(document)]
    assert Certified.from_json(text) == vector_mechanism()
    for record, column, occasion, value, expected, report in vectors():
        row = document["inputs"].index(value)
        word = page["word"](KEY, document["digest"], column, record, row, occasion)
        assert word == expected
        j = page["draw"](tables[row], word)
        assert document["outputs"][j] == report


def test_the_code_on_the_page_verifies_the_digest():
    (text,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    document = json.loads(text)
    claimed = document.pop("digest")
    assert code_of_the_page()["digest"](document) == claimed


def test_the_digest_of_the_vectors_is_this():
    """Written out from the page by hand: a change here redraws every keyed report in the world."""
    text = (
        '{"bits":62,"epsilon":"0.75","inputs":["red","green","blue","naïve"],"outputs":["red","green","blue",7],'
        '"prior":["0.125","0.25","0.125","0.5"],"prior_set":null,"weights":['
        '[["1537228672809129302","0"],["1537228672809129301","1-2"],["1152921504606846976","3"]],'
        '[["1537228672809129302","1"],["1537228672809129301","0,2"],["1152921504606846976","3"]],'
        '[["1537228672809129302","2"],["1537228672809129301","0-1"],["1152921504606859321","3"]],'
        '[["1152921504606834631","3"]]]}'
    )
    expected = hashlib.sha256(b"extremal-mechanism-digest-2\0" + text.encode("utf-8")).hexdigest()
    assert (
        vector_mechanism().digest
        == expected
        == "dd7535419068c1cdbfb6b7e39c5ddd10ff209162a77caa1ba7372605f07e5377"
    )


def test_the_digest_of_a_mechanism_for_a_set_of_priors_is_this():
    """By hand, as above. The description is a note."""
    prior = ex.Prior([0.25, 0.75], ["a", "b"])
    bounds = (prior.probabilities, np.zeros(2), np.ones(2))
    weights = np.array([[2**61, 2**61], [2**60, 3 * 2**60]], dtype=np.uint64)
    text = (
        '{"bits":62,"epsilon":"0.75","inputs":["a","b"],"outputs":["x","y"],"prior":["0.25","0.75"],"prior_set":'
        '{"center":["0.25","0.75"],"confidence":"0.9","lower":["0.0","0.0"],"radius":"0.125","upper":["1.0","1.0"]},'
        '"weights":[[["2305843009213693952","0"],["1152921504606846976","1"]],'
        '[["3458764513820540928","1"],["2305843009213693952","0"]]]}'
    )
    expected = hashlib.sha256(b"extremal-mechanism-digest-2\0" + text.encode("utf-8")).hexdigest()
    for note in ("a ball", "what was known in 2026"):
        priors = ex.PriorSet(prior, *bounds, 0.125, 0.9, note)
        c = Certified(prior, ("x", "y"), weights, 0.75, prior_set=priors)
        assert c.digest == expected == "043f1e515f11cf0de80bfde1bab233ea6e76322108d0131090ccd2c403fc5317"
        assert code_of_the_page()["digest"](json.loads(c.to_json())) == expected
    wider = ex.PriorSet(prior, *bounds, 0.25, 0.9, "a ball")
    assert Certified(prior, ("x", "y"), weights, 0.75, prior_set=wider).digest != expected
    assert Certified(prior, ("x", "y"), weights, 0.75).digest != expected


def set_claims():
    """Sets that are none, or for which the weights leak more; each document with a matching digest."""
    true = json.loads(CASES[-5].to_json())["prior_set"]
    assert true["radius"] == "0.1"
    wide = {"radius": "0.9", "center": ["0.2", "0.5", "0.3"], "upper": ["1.0", "1.0", "0.2"]}
    for name, value in wide.items():
        yield f"another {name}", true | {name: value}
    for value in ("nan", "inf", "-0.1", "2.5", "0.10", "1e400", " 0.1", 0.1, None, ["0.1"]):
        yield f"a radius of {value!r}", true | {"radius": value}
    for value in ("nan", "-0.5", "1.5", "1"):
        yield f"a confidence of {value!r}", true | {"confidence": value}
    yield "no description", true | {"description": None}
    yield "a short center", true | {"center": ["0.5", "0.5"]}
    yield "negative bounds", true | {"lower": ["-1.0", "0.0", "0.0"]}
    yield "bounds without number", true | {"lower": ["nan", "0.0", "0.0"]}
    yield "negative zero", true | {"lower": ["-0.0", "0.0", "0.0"]}
    yield "bounds above 1", true | {"upper": ["1.0", "1.0", "1.5"]}
    yield "bounds that cross", true | {"lower": ["0.0", "0.0", "0.9"]}
    yield "one member more", true | {"extra": 1}
    for change in (5, "set", [], {}, True, {"center": []}):
        yield f"{change!r} for a set", change


@pytest.mark.parametrize(
    ("what", "change"), list(set_claims()), ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_false_set_of_priors_is_refused(what, change):
    document = json.loads(CASES[-5].to_json())
    document["prior_set"] = change
    with pytest.raises(FormatError) as caught:
        Certified.from_json(json.dumps(redigest(document)))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_single_prior_in_place_of_a_set_is_another_claim():
    document = json.loads(CASES[-5].to_json())
    document["prior_set"] = None
    with pytest.raises(FormatError, match="realised epsilon"):
        Certified.from_json(json.dumps(redigest(document)))


def test_notes_do_not_change_the_digest_and_all_else_does():
    """Library and method are notes. A second release of the library must not redraw keyed reports."""
    c = small()
    parts = (c.prior, c.outputs, c.weights, c.epsilon)
    noted = Certified(*parts, "another way", "extremal 99.0")
    assert noted == c
    assert noted.digest == c.digest
    assert Certified.from_json(noted.to_json()).method == "another way"
    swapped = c.weights[:, ::-1]
    others = [
        Certified(ex.Prior([0.25, 0.75], ["yes", "nein"]), c.outputs, c.weights, 0.7),
        Certified(ex.Prior([0.26, 0.74], ["yes", "no"]), c.outputs, c.weights, 0.75),
        Certified(c.prior, c.outputs, c.weights, 0.75),
        Certified(c.prior, ("no", "yes"), c.weights, 0.7),
        Certified(c.prior, c.outputs, swapped, 0.7),
    ]
    assert len({c.digest, *(other.digest for other in others)}) == 6


def test_numbers_that_are_equal_are_written_alike():
    """-0.0 == 0.0 as a label and as a level."""
    a, b = (
        Certified(ex.Prior([0.5, 0.5], [zero, 1.5]), ("same",), np.full((2, 1), 2**62), zero)
        for zero in (0.0, -0.0)
    )
    assert a.digest == b.digest
    assert a.to_json() == b.to_json()
    with pytest.raises(FormatError):
        Certified.from_json(json.dumps(redigest({**json.loads(a.to_json()), "epsilon": "-0.0"})))


@pytest.mark.parametrize("c", CASES[:5], ids=repr)
def test_the_code_on_the_page_draws_what_the_library_draws(c):
    page = code_of_the_page()
    document = json.loads(c.to_json())
    rows = weights_of(document)
    assert rows == c.weights.tolist()
    values = [c.inputs[k % len(c.inputs)] for k in range(200)]
    reports = c.privatize(values, key=KEY, ids=range(200), column="q")
    for k, (value, report) in enumerate(zip(values, reports, strict=True)):
        row = c.inputs.index(value)
        word = page["word"](KEY, c.digest, "q", k, row)
        assert c.outputs[page["draw"](page["table"](rows[row]), word)] == report


def test_the_bounds_on_the_page_are_those_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    assert math.log2(mechanism_file.LARGEST_FILE) == 28
    assert "at most 2²⁸ bytes" in text
    assert math.log2(mechanism_file.LARGEST_TABLE) == 24
    assert "at most 2²⁴ weights" in text
    assert mechanism_file.DEEPEST_LABEL == 8
    for member in (*mechanism_file.MEMBERS, "digest"):
        assert f"| `{member}` |" in text


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    for name, content in sections().items():
        pattern = rf"(<!-- vectors:{name} -->\n).*?(<!-- vectors:end -->)"
        page = re.sub(pattern, lambda m, content=content: m[1] + content + "\n" + m[2], page, flags=re.S)
    PAGE.write_text(page, encoding="utf-8")
