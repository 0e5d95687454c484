"""Mechanisms in blocks, from the design to the audit, beside the same mechanisms with their matrices."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import extremal as ex
from extremal.errors import CertificationError, FormatError, MechanismError, PriorError
from extremal.model.blocks import Blocks
from extremal.randomness import SeededWords
from tests.support.blocks import in_blocks
from tests.support.wording import refused

LARGE = 5000


@pytest.fixture(scope="module")
def large():
    masses = 1 / np.arange(1, LARGE + 1)
    return ex.design(ex.Prior(masses / masses.sum()), 1.0, ex.mutual_information)


@pytest.fixture(scope="module")
def certified(large):
    return ex.certify(large)


def small():
    """Seven symbols in three scattered blocks, and the mechanism that the binary optimum between two of them is."""
    prior = ex.Prior([0.3, 0.05, 0.1, 0.15, 0.2, 0.12, 0.08], labels=list("abcdefg"))
    matrix = [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.4, 0.0, 0.6]]
    made = in_blocks(prior, [0, 2, 1, 0, 1, 2, 1], matrix, ["low", "middle", "high"])
    return prior, made, ex.epsilon_pml(prior, made.dense())


def test_a_mechanism_in_blocks_leaks_what_its_matrix_leaks():
    prior, made, epsilon = small()
    blocks = ex.certify(prior, made, epsilon + 1e-12)
    dense = ex.certify(prior, made.dense(), epsilon + 1e-12)
    assert blocks.weights.shape == (3, 3)
    assert blocks.mechanism.inputs == dense.mechanism.inputs == tuple("abcdefg")
    np.testing.assert_allclose(blocks.mechanism.matrix, dense.mechanism.matrix, atol=1e-14)
    assert blocks.realised_epsilon == pytest.approx(dense.realised_epsilon, abs=1e-14)
    mine, theirs = ex.audit(blocks).to_dict(), ex.audit(dense).to_dict()
    for name in ("epsilon", "epsilon_max", "region", "inputs", "guessing", "measures"):
        assert mine[name] == _close(theirs[name])
    for delta in (0.01, 0.3):
        assert ex.measures.envelope(blocks)(delta) == pytest.approx(
            ex.measures.envelope(dense)(delta), abs=1e-13
        )


def _close(value):
    """The same figures, nested, each within rounding."""
    if isinstance(value, dict):
        return {k: _close(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_close(v) for v in value]
    return pytest.approx(value, abs=1e-12) if isinstance(value, float) else value


def test_the_exact_masses_of_blocks_decide():
    """Read from the file and computed in fractions, without the library: the leakage is the one that is claimed."""
    prior, made, epsilon = small()
    document = json.loads(ex.certify(prior, made, epsilon + 1e-12).to_json())
    masses = [Fraction(float(p)) for p in document["prior"]]
    block = {}
    for number, rows in enumerate(document["blocks"]):
        for part in rows.split(","):
            first, _, last = part.partition("-")
            block |= dict.fromkeys(range(int(first), int(last or first) + 1), number)
    assert sorted(block) == list(range(7))
    lifts = []
    for column in document["weights"]:
        weight = [0] * len(document["blocks"])
        for value, rows in column:
            for part in rows.split(","):
                first, _, last = part.partition("-")
                for b in range(int(first), int(last or first) + 1):
                    weight[b] = int(value)
        mean = sum(masses[x] * weight[block[x]] for x in block) / sum(masses)
        lifts.append(max(weight) / mean)
    top = max(lifts)
    assert math.log(top) == pytest.approx(float(document["realised_epsilon"]), abs=1e-15)
    assert top <= Fraction(math.exp(epsilon + 1e-12)) * (1 + Fraction(1, 10**15))
    with refused(CertificationError, "mechanism", "leaks"):
        ex.certify(prior, made, epsilon - 1e-6)


def test_a_file_without_a_matrix_reads_back_and_refuses_what_is_not_its_own(tmp_path):
    prior, made, epsilon = small()
    c = ex.certify(prior, made, epsilon + 1e-12)
    c.save(tmp_path / "m.json")
    again = ex.load(tmp_path / "m.json")
    assert again == c
    assert again.blocks.tolist() == [0, 2, 1, 0, 1, 2, 1]
    assert pickle.loads(pickle.dumps(c)) == c
    document = json.loads(c.to_json())
    assert document["version"] == 3
    wrong = (
        {"blocks": ["0,3", "2,4,6"]},
        {"blocks": ["0,3", "2,4,6", "1"]},
        {"blocks": ["0,3", "2,4,6", "1,5,5"]},
        {"blocks": ["0,3", "2,4,6", "1,7"]},
        {"blocks": ["0,3", "2,4,6", 5]},
        {"blocks": None},
        {"version": 2},
    )
    for change in wrong:
        with pytest.raises(FormatError):
            ex.Certified.from_json(json.dumps(document | change))


def test_draws_follow_the_block_of_each_symbol():
    prior, made, epsilon = small()
    c, dense = (ex.certify(prior, m, epsilon + 1e-12) for m in (made, made.dense()))
    values = np.array(list("abcdefg") * 300)
    # The same words meet the same thresholds, whichever way the rows are found.
    rows = c.privatize(values, source=SeededWords(1))
    assert rows.tolist() == dense.privatize(values, source=SeededWords(1)).tolist()
    codes = np.arange(7, dtype=np.int8).repeat(100)
    np.random.default_rng(0).shuffle(codes)
    drawn = c.privatize_codes(codes, source=SeededWords(2))
    assert drawn.tolist() == dense.privatize_codes(codes, source=SeededWords(2)).tolist()
    assert not (drawn[(codes == 1) | (codes == 5)] == 1).any()  # a report that this block rules out
    with refused(ex.errors.ValuesError, "codes", "row"):
        c.privatize_codes(np.array([0, 7]))
    key, ids = bytes(range(32)), list(range(len(values)))
    keyed = [c.privatize(values, keyed=ex.Keyed(key, ids), column="x").tolist() for _ in range(2)]
    assert keyed[0] == keyed[1]


def test_shares_of_blocks_are_estimated():
    prior, made, epsilon = small()
    c = ex.certify(prior, made, epsilon + 1e-12)
    truth = prior.probabilities
    reports = np.round(1e6 * truth @ c.mechanism.matrix).astype(int)
    e = ex.estimate(c, dict(zip(c.outputs, reports.tolist(), strict=True)))
    assert e.labels == ("a … d (2)", "c … g (3)", "b … f (2)")
    np.testing.assert_allclose(e.shares, [0.45, 0.38, 0.17], atol=1e-5)
    assert ex.estimate(c, e.counts, method=ex.Method("map", prior=prior, strength=1.0)).shares.shape == (3,)


def test_whoever_asks_about_answers_gets_the_matrix_and_whoever_estimates_the_blocks():
    prior, made, epsilon = small()
    c, dense = (ex.certify(prior, m, epsilon + 1e-12) for m in (made, made.dense()))
    vowel = {x: x in "ae" for x in prior.labels}
    assert ex.audit(c, attribute=vowel).epsilon == pytest.approx(
        ex.audit(dense, attribute=vowel).epsilon, abs=1e-9
    )
    twice = [ex.composition.repeat_release(prior, m, 2).epsilon for m in (c, dense)]
    assert twice[0] == pytest.approx(twice[1], abs=1e-9)
    assert ex.plan(c, width=0.2).labels == ex.estimate(c, {"low": 5, "middle": 3, "high": 9}).labels


def test_names_of_blocks_are_distinct():
    assert Blocks((1, "1 … 3 (2)", 3), [0, 1, 0]).names == ("block 0: 1 … 3 (2)", "block 1: 1 … 3 (2)")
    for numbers in ([0, 2, 0], [0, -1, 1], [0, 1], [0.0, 1.0, 0.0]):
        with pytest.raises(MechanismError, match=r"block|symbols"):
            Blocks((1, 2, 3), numbers)


@pytest.mark.slow
def test_large_designs_go_all_the_way_without_a_matrix(large, certified, tmp_path):
    assert large.proven
    assert ex.check_design(large).ok
    assert "mechanism" not in vars(large)  # nobody needed the matrix
    assert certified.prior.size == LARGE
    assert certified.weights.size < 100_000
    certified.save(tmp_path / "m.json")
    assert ex.load(tmp_path / "m.json") == certified
    x = np.random.default_rng(0).choice(LARGE, size=200_000, p=certified.prior.probabilities)
    y = certified.privatize(x, source=SeededWords(3))
    e = ex.estimate(certified, y)
    shares = np.bincount(certified.blocks[x]) / len(x)
    assert np.all((e.lower <= shares) & (shares <= e.upper))
    a = ex.audit(certified)
    assert a.epsilon == certified.realised_epsilon <= 1.0
    assert a.to_dict()["blocks"] == len(certified.weights)
    assert f"one of {LARGE} in {len(certified.weights)} blocks" in a.to_markdown()
    assert "mechanism" not in vars(certified)
    # What the integers tell about answers is what the design promised.
    np.testing.assert_allclose(certified.between.matrix, large.made.between.matrix, atol=1e-9)


def test_one_block_says_nothing_and_is_refused_as_such():
    prior = ex.Prior([0.5, 0.3, 0.2])
    with pytest.raises(MechanismError, match="one block treats all labels alike"):
        ex.certify(prior, in_blocks(prior, [0, 0, 0], [[1.0]], ["any"]), 1.0)


def test_a_prior_of_other_labels_is_refused(certified):
    other = ex.Prior.uniform([f"x{i}" for i in range(LARGE)])
    with refused(PriorError, "labels"):
        ex.audit(other, certified)
    with refused(MechanismError, "Prior({'x0': 0.0002"):
        ex.certify(other, in_blocks(certified.prior, certified.blocks, certified.between.matrix), 1.0)
    uniform = ex.audit(ex.Prior.uniform(LARGE), certified)
    assert uniform.epsilon > 1.0  # under another prior the same reports leak more
