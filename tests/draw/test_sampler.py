"""Sampling: table masses equal the weights, the kernel equals plain Python, words are AES, noise is exact.

Statistical tests have a fixed error rate: each rejects honest randomness with probability at most 1e-9, and
there are fewer than 1000 of them, so that this file fails by chance less than once in a million runs. With
seeded words they always pass or always fail.
"""

import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import extremal as ex
from extremal.certification.certify import certify
from extremal.certification.integers import TOTAL
from extremal.draw import sampler as sampling
from extremal.draw.columns import smallest_unsigned, unsigned
from extremal.draw.sampler import (
    Sampler,
    SecureWords,
    SeededWords,
    Words,
    keystream,
)
from extremal.errors import OptionError, SizeError, ValuesError
from extremal.model.mechanism import constant, identity
from tests.support.alias_tables import alias_table, random_weights, report
from tests.support.wording import refused

LEVEL = 1e-9


def sampler_of(weights):
    weights = np.array(weights, dtype=np.uint64)
    n, m = weights.shape
    return Sampler(weights, tuple(range(n)), tuple(range(m)), bytes(32))


def words_of(source, count):
    out = np.empty(count, dtype=np.uint64)
    source.stream(count)(0, out)
    return out


# --- tables
# ---------------------------------------------------------------------------------------------------


def masses(sampler, i):
    """The exact mass of every outcome in row i of the compiled table."""
    b = sampler.b
    size = 1 << (62 - b)
    found = [0] * (1 << b)
    for j, entry in enumerate(sampler.entries[i << b : (i + 1) << b].tolist()):
        threshold, alias = entry >> b, entry & ((1 << b) - 1)
        assert 0 <= threshold < size
        found[j] += threshold
        found[alias] += size - threshold
    return found


@given(seed=st.integers(0, 2**32), n=st.integers(1, 4), m=st.integers(1, 40))
def test_table_masses_equal_the_weights_exactly(seed, n, m):
    weights = random_weights(np.random.default_rng(seed), n, m)
    sampler = sampler_of(weights)
    for i, row in enumerate(weights):
        assert masses(sampler, i) == row + [0] * ((1 << sampler.b) - m)


def test_table_masses_equal_the_weights_of_a_thousand_outcomes():
    rng = np.random.default_rng(5)
    for m in (255, 256, 257, 1000):
        weights = random_weights(rng, 12, m)
        sampler = sampler_of(weights)
        for i, row in enumerate(weights):
            assert masses(sampler, i)[:m] == row


@given(seed=st.integers(0, 2**32), m=st.integers(1, 40))
def test_the_compiled_table_is_the_documented_one(seed, m):
    weights = random_weights(np.random.default_rng(seed), 2, m)
    sampler = sampler_of(weights)
    b = sampler.b
    for i, row in enumerate(weights):
        compiled = sampler.entries[i << b : (i + 1) << b].tolist()
        for j, (entry, (threshold, alias)) in enumerate(zip(compiled, alias_table(row), strict=True)):
            full = (threshold, alias) == (1 << (62 - b), j)
            assert entry == (j if full else (threshold << b) | alias)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("m", [1, 2, 3, 16, 250])
def test_the_kernel_equals_plain_python_on_the_same_words(dtype, m):
    rng = np.random.default_rng(m)
    weights = random_weights(rng, 7, m)
    sampler = sampler_of(weights)
    codes = rng.integers(0, 7, 3000).astype(dtype)
    words = words_of(SeededWords(m), len(codes))
    words[:4] = [0, 2**64 - 1, 2**63, 3]
    # Words just around a threshold of the record's own bucket, where an off-by-one would show.
    tables = [alias_table(row) for row in weights]
    b = sampler.b
    for i in range(4, 1000):
        bucket = int(rng.integers(1 << b))
        threshold = tables[codes[i]][bucket][0] + int(rng.integers(-1, 2))
        rest = min(max(threshold, 0), (1 << (62 - b)) - 1)
        words[i] = (((bucket << (62 - b)) | rest) << 2) | int(rng.integers(4))
    out = np.empty(len(codes), dtype=dtype)

    def fill(start, part):
        part[:] = words[start : start + len(part)]

    assert sampler.draw(codes, np.arange(8, dtype=np.uint32), fill, out)
    expected = [report(tables[c], w) for c, w in zip(codes.tolist(), words.tolist(), strict=True)]
    assert out.tolist() == expected


def test_every_word_of_a_coarse_grid_gives_the_exact_share():
    """Weights that are multiples of 2^50: a grid of 2^12 words stands for all 2^64, so shares are exact."""
    weights = [[1 << 50, 5 << 50, 0, (4096 - 6) << 50], [4096 << 50, 0, 0, 0]]
    sampler = sampler_of(weights)
    grid = (np.arange(4096, dtype=np.uint64) << np.uint64(52)) | np.uint64(0x123456789ABCD)
    for i, row in enumerate(weights):
        out = np.empty(4096, dtype=np.uint8)

        def fill(start, part):
            part[:] = grid[start : start + len(part)]

        sampler.draw(np.full(4096, i, dtype=np.uint8), np.arange(3, dtype=np.uint32), fill, out)
        assert (np.bincount(out, minlength=4) << 50).tolist() == row


def test_codes_without_a_row_are_reported():
    sampler = sampler_of([[TOTAL, 0], [0, TOTAL]])
    out = np.empty(3, dtype=np.uint8)
    fill = SecureWords().stream(3)
    rows = np.array([0, 1, 2], dtype=np.uint32)
    assert sampler.draw(np.array([0, 1, 0], dtype=np.uint8), rows, fill, out)
    assert out.tolist() == [0, 1, 0]
    assert not sampler.draw(np.array([0, 2, 0], dtype=np.uint8), rows, fill, out)
    assert not sampler.draw(np.array([0, 255, 0], dtype=np.uint8), rows, fill, out)
    mapped = np.array([0, 1, 1], dtype=np.uint32)  # the last row is that of every further code
    assert sampler.draw(np.array([0, 255, 0], dtype=np.uint8), mapped, fill, out)
    assert out.tolist() == [0, 1, 0]


def test_pieces_and_threads_change_nothing():
    weights = random_weights(np.random.default_rng(0), 5, 9)
    sampler = sampler_of(weights)
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 5, sampling.PIECE * 2 + 12345).astype(np.uint8)
    whole = np.empty_like(codes)
    rows = np.arange(6, dtype=np.uint32)
    assert sampler.draw(codes, rows, SeededWords(4).stream(len(codes)), whole)
    words = words_of(SeededWords(4), len(codes))
    tables = [alias_table(row) for row in weights]
    for i in [0, 1, sampling.CHUNK - 1, sampling.CHUNK, sampling.PIECE, 2 * sampling.PIECE, len(codes) - 1]:
        assert whole[i] == report(tables[codes[i]], int(words[i]))
    parts = np.empty_like(codes)
    for start in range(0, len(codes), sampling.CHUNK):
        stop = start + sampling.CHUNK

        def fill(first, out, start=start):
            out[:] = words[start + first : start + first + len(out)]

        sampler.draw(codes[start:stop], rows, fill, parts[start:stop])
    assert np.array_equal(whole, parts)


def test_draws_from_several_threads_at_once_are_safe():
    sampler = sampler_of(random_weights(np.random.default_rng(0), 5, 9))
    codes = np.zeros(sampling.PIECE * 3, dtype=np.uint8)
    rows = np.arange(6, dtype=np.uint32)

    def job(seed):
        out = np.empty_like(codes)
        sampler.draw(codes, rows, SeededWords(seed).stream(len(codes)), out)
        return out

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(job, range(4)))
    for seed, out in enumerate(together):
        assert np.array_equal(out, job(seed))


def test_the_kernel_is_only_given_what_it_can_take():
    sampler = sampler_of([[TOTAL, 0], [0, TOTAL]])
    fill = SecureWords().stream(4)
    rows = np.array([0, 1, 2], dtype=np.uint32)
    codes = np.array([0, 1, 0, 1], dtype=np.uint16)
    out = np.empty(4, dtype=np.uint8)
    shifted = np.frombuffer(b"x" + codes.tobytes(), dtype=np.uint8)[1:].view(np.uint16)
    assert not shifted.flags.aligned
    for given_codes in (codes, np.repeat(codes, 3)[::3], shifted):
        assert sampler.draw(given_codes, rows, fill, out)
        assert out.tolist() == [0, 1, 0, 1]
    for wrong_out, wrong_rows in (
        (out[:3], rows),
        (np.empty(8, np.uint8)[::2], rows),
        (out, rows + np.uint32(1)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 # of several kinds
            sampler.draw(codes, wrong_rows, fill, wrong_out)


def test_tables_too_large_are_refused(monkeypatch):
    monkeypatch.setattr(sampling, "LARGEST_TABLES", 100)
    with refused(SizeError, "5 inputs x 9 outputs"):
        sampler_of(random_weights(np.random.default_rng(0), 5, 9)).entries  # noqa: B018


# --- words
# ----------------------------------------------------------------------------------------------------


def test_the_keystream_is_aes_256_in_counter_mode():
    key = bytes(range(32))
    n = sampling.CHUNK + 100
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(8 * n))
    expected = [int.from_bytes(stream[8 * j : 8 * j + 8], "little") for j in range(n)]
    out = np.empty(n, dtype=np.uint64)
    keystream(key)(0, out)
    assert out.tolist() == expected
    keystream(key)(sampling.CHUNK - 2, out[:102])
    assert out[:102].tolist() == expected[sampling.CHUNK - 2 :]


def test_secure_words_come_from_the_operating_system_anew_each_time(monkeypatch):
    asked = []
    real = os.urandom

    def urandom(n):
        asked.append(n)
        return real(n)

    monkeypatch.setattr(os, "urandom", urandom)
    source = SecureWords()
    assert isinstance(source, Words)
    drawn = np.concatenate([words_of(source, 1000) for _ in range(3)])
    assert asked == [32, 32, 32]
    assert len(np.unique(drawn)) == 3000
    assert source.note.startswith("secure")


def test_seeded_words_repeat_and_say_so():
    assert np.array_equal(words_of(SeededWords(1), 100), words_of(SeededWords(1), 100))
    assert not np.array_equal(words_of(SeededWords(1), 100), words_of(SeededWords(2), 100))
    source = SeededWords(1)
    assert not np.array_equal(words_of(source, 100), words_of(source, 100))  # the next stream
    assert "NOT PRIVATE" in source.note
    assert isinstance(source, Words)
    assert np.array_equal(words_of(SeededWords(np.uint8(1)), 100), words_of(SeededWords(1), 100))


@pytest.mark.parametrize("seed", ["a", "1", -1, 1.0, None, True, [1]])
def test_a_seed_is_a_whole_number(seed):
    with refused(OptionError, "seed"):
        SeededWords(seed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_draws_other_words():
    program = """
import os, sys
import numpy as np
from extremal.draw.sampler import SecureWords
source = SecureWords()
source.stream(1)
for _ in range(3):
    child = os.fork()
    if child == 0:
        out = np.empty(1, dtype=np.uint64)
        source.stream(1)(0, out)
        os.write(1, b"%d\\n" % out[0])
        os._exit(0)
    os.waitpid(child, 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert len(set(done.stdout.split())) == 3


@pytest.mark.parametrize("source", [SecureWords(), SeededWords(7)])
def test_every_bit_of_a_word_is_fair(source):
    n = 1 << 18
    words = words_of(source, n)
    ones = np.unpackbits(words.view(np.uint8).reshape(n, 8), axis=1).sum(axis=0, dtype=np.int64)
    z = np.abs(ones - n / 2) / math.sqrt(n / 4)
    assert z.max() < stats.norm.isf(LEVEL / 2)


# --- distribution
# ---------------------------------------------------------------------------------------------


def goodness_of_fit(counts, weights):
    """A p-value for counts under exact weights: binomial tails of every outcome, times their number."""
    n = int(counts.sum())
    shares = np.array([float(Fraction(w, TOTAL)) for w in weights])
    assert not counts[shares == 0].any()  # zeros never occur, whatever the error rate
    low, high = stats.binom.cdf(counts, n, shares), stats.binom.sf(counts - 1, n, shares)
    return float(2 * len(weights) * np.minimum(low, high).min())


def mechanisms():
    rng = np.random.default_rng(0)
    yield ex.Prior([0.5, 0.5]), ex.theory.randomized_response(2, 1.0), 1.0
    skewed = ex.Prior.from_counts([1, 10, 100, 1000])
    yield skewed, ex.theory.randomized_response_for_pml(skewed, 1.0), 1.0
    yield skewed, ex.theory.closed_form.arc(skewed, 0.4), 0.4
    yield skewed, identity(skewed), 9.0
    yield skewed, constant(skewed), 0.0
    yield ex.Prior.uniform(16), ex.theory.closed_form.uniform(16, 1.3), 1.3
    wide = ex.Prior.from_counts(rng.dirichlet(np.ones(100)))
    yield wide, ex.theory.closed_form.arc(wide, 1.0), 1.0
    large = ex.Prior.from_counts(rng.dirichlet(np.ones(300)))
    yield large, ex.theory.randomized_response_for_pml(large, 4.0), 4.0


@pytest.mark.parametrize("case", range(8))
@pytest.mark.parametrize("secure", [True, False])
def test_reports_follow_the_certified_distribution(case, secure):
    prior, mechanism, epsilon = list(mechanisms())[case]
    c = certify(prior, mechanism, epsilon, allow_true_answers=True)
    n = 400_000
    rng = np.random.default_rng(case)
    for i in rng.permutation(prior.size)[:6].tolist():
        codes = np.full(n, i, dtype=np.uint16)
        out = c.privatize_codes(
            codes, source=None if secure else SeededWords(case * 100 + i), allow_true_answers=True
        )
        counts = np.bincount(out, minlength=len(c.outputs))
        assert goodness_of_fit(counts, c.weights[i].tolist()) > LEVEL


@pytest.mark.parametrize("secure", [True, False])
def test_neighbouring_records_are_independent(secure):
    c = certify(ex.Prior.uniform(4), ex.theory.randomized_response(4, 1.0), 1.0)
    n = 1_000_000
    out = c.privatize_codes(np.zeros(n, dtype=np.uint8), source=None if secure else SeededWords(3)).astype(
        int
    )
    for lag in (1, 2, sampling.CHUNK):
        table = np.bincount(out[:-lag:2] * 4 + out[lag::2][: len(out[:-lag:2])], minlength=16).reshape(4, 4)
        assert stats.chi2_contingency(table, correction=False).pvalue > LEVEL


def test_the_test_of_fit_finds_a_wrong_distribution():
    """Its power: a shift of one percent from one outcome to another is found."""
    c = certify(ex.Prior.uniform(4), ex.theory.randomized_response(4, 1.0), 1.0)
    out = c.privatize_codes(np.zeros(400_000, dtype=np.uint8), source=SeededWords(1))
    wrong = c.weights[0].tolist()
    wrong[0] -= TOTAL // 100
    wrong[1] += TOTAL // 100
    assert goodness_of_fit(np.bincount(out, minlength=4), wrong) < LEVEL


# --- helpers
# --------------------------------------------------------------------------------------------------


def test_codes_are_seen_as_unsigned_integers():
    assert unsigned(np.array([0, -1], dtype=np.int8)).tolist() == [0, 255]
    assert unsigned(np.array([1, 2], dtype=">i4")).tolist() == [1, 2]
    with refused(ValuesError, "codes"):
        unsigned(np.array([0.5]))


@pytest.mark.parametrize(("count", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65537, "u4")])
def test_the_smallest_dtype_numbers_everything(count, dtype):
    assert smallest_unsigned(count) == np.dtype(dtype)


def test_privatising_codes_keeps_the_dtype_where_it_can():
    prior = ex.Prior.uniform(3)
    c = certify(prior, ex.theory.randomized_response(3, 1.0), 1.0)
    for dtype in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"):
        assert c.privatize_codes(np.array([0, 1, 2], dtype=dtype)).dtype == np.dtype(dtype)
    wide = certify(prior, ex.Mechanism(np.full((3, 300), 1 / 300)), 0.0)
    assert wide.privatize_codes(np.array([0, 1], dtype=np.uint8)).dtype == np.uint16
    assert c.privatize_codes(np.array([], dtype=np.uint8)).tolist() == []
    assert len(c.privatize_codes(np.zeros(20, dtype=np.uint8)[::2])) == 10


@pytest.mark.parametrize(
    "wrong",
    [
        *(np.array([0, 3]), np.array([0, -1]), np.array([0.0]), np.array([[0]]), np.array([0], dtype=object)),
        *([0, 1], (0,), None, "01", 1, np.uint8(1), np.ma.array([0, 1], mask=[0, 1])),
    ],
)
def test_codes_that_are_no_row_numbers_are_refused(wrong):
    c = certify(ex.Prior.uniform(3), ex.theory.randomized_response(3, 1.0), 1.0)
    with refused(ValuesError, "codes"):
        c.privatize_codes(wrong)
