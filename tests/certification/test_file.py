"""The mechanism file: it round-trips bit by bit, and is written whole or not at all."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.certification import file as mechanism_file
from extremal.certification.certified import Certified, load
from extremal.certification.certify import certify
from extremal.errors import FileError
from extremal.model.mechanism import constant
from tests.support.mechanism_files import CASES, code_of_the_page, small
from tests.support.wording import refused


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
    reports = [
        x.privatize(values, source=ex.randomness.SeededWords(3), allow_true_answers=True) for x in (c, back)
    ]
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
    c = certify(
        ex.Prior.uniform(names), ex.Mechanism(np.eye(len(names)), names, names), 2.0, allow_true_answers=True
    )
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
    c = certify(
        ex.Prior([0.5, 0.5], names), ex.Mechanism(np.eye(2), names, names), 1.0, allow_true_answers=True
    )
    path = tmp_path / "m.json"
    c.save(path)
    assert load(path).inputs == tuple(names)
    assert load(path).digest == c.digest == code_of_the_page()["digest"](json.loads(path.read_text("utf-8")))


def test_one_and_one_are_four_different_labels():
    digests = set()
    for label in (1, 1.0, True, "1"):
        c = certify(ex.Prior([0.5, 0.5], ["x", label]), ex.Mechanism(np.eye(2)), 1.0, allow_true_answers=True)
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
        with refused(FileError, "not a regular file"):
            load(path)
    with refused(FileError, "Is a directory"):
        load(tmp_path)
