"""Whatever is altered in a mechanism file is refused."""

import copy
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.certification import file as mechanism_file
from extremal.certification.certified import Certified, load
from extremal.certification.proof import column_runs
from extremal.errors import ExtremalError, FileError, FormatError
from tests.support.examples import up_to
from tests.support.mechanism_files import CASES, redigest, small
from tests.support.wording import refused


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


@pytest.mark.parametrize("which", [0, -4])
def test_every_altered_byte_is_noticed(which):
    """Also of notes, which decide nothing; only white space between members may change."""
    text = CASES[which].to_json()
    document, rng = json.loads(text), random.Random(5)
    assert which == 0 or document["evidence"]["kind"] == "counts"
    for place in range(len(text)):
        other = chr(rng.randrange(32, 127))
        altered = text[:place] + other + text[place + 1 :]
        try:
            same = json.loads(altered) == document
        except ValueError:
            same = False
        if not same:
            with pytest.raises(FormatError):
                Certified.from_json(altered)


@pytest.mark.parametrize("name", ["library", "method", "description"])
def test_an_altered_note_is_noticed_and_after_an_honest_new_digest_is_read_as_a_note(name):
    document = json.loads(CASES[-4].to_json())
    place = document["prior_set"] if name == "description" else document
    place[name] = "all priors whatever"
    with refused(FormatError, "file_digest"):
        Certified.from_json(json.dumps(document))
    noted = Certified.from_json(json.dumps(redigest(document)))
    assert noted.digest == CASES[-4].digest  # so a repeated keyed job repeats its reports
    assert noted.prior_set.description == CASES[-4].prior_set.description
    assert noted.prior_set.note == ("all priors whatever" if name == "description" else "")


@pytest.mark.parametrize("c", CASES, ids=repr)
def test_files_of_today_without_a_digest_of_the_whole_file_are_read(c):
    document = json.loads(c.to_json())
    del document["file_digest"]
    assert Certified.from_json(json.dumps(document)) == c


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
    with refused(FormatError, "100", "bytes"):
        load(path)
    with refused(FormatError, "100"):
        Certified.from_json(small().to_json())


@pytest.mark.parametrize("path", [None, 3, True, "", b"", "a\0b", ["m.json"]])
def test_what_is_no_path_is_refused(path):
    """A number is none: open() takes it for an open file, and would close it."""
    for call in (load, small().save):
        with pytest.raises(FileError) as caught:
            call(path)
        assert caught.value.given


def test_what_the_system_refuses_is_said_in_one_line_with_the_path_that_was_given(tmp_path):
    for path in (tmp_path / "absent.json", tmp_path, tmp_path / ("x" * 300)):
        with pytest.raises(FileError) as error:
            load(path)
        assert error.value.given.startswith(f"{path}: ")
    for path in (tmp_path / "nowhere" / "m.json", tmp_path, tmp_path / ("x" * 300)):
        with pytest.raises(FileError) as error:
            small().save(path)
        assert error.value.given.startswith(f"{path}: ")
        assert ".part" not in str(error.value)
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", [None, 3, b"{}", {"format": "extremal-mechanism"}])
def test_only_text_is_the_text_of_a_file(text):
    with refused(FormatError, type(text).__name__):
        Certified.from_json(text)


def test_a_file_cannot_ask_for_more_memory_than_it_is_worth():
    document = json.loads(small().to_json())
    document["inputs"] = [str(i) for i in range(5000)]
    document["outputs"] = [str(i) for i in range(5000)]
    document["prior"] = ["0.0002"] * 5000
    document["weights"] = [[]] * 5000
    with refused(FormatError, "5000"):
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

    for name in ("file", "integers"):
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


@up_to(400)
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


@up_to(400)
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
    with refused(FormatError, "0.499999999999984"):
        Certified.from_json(json.dumps(redigest(document)))
