"""A table, a compiled loop or a keystream that is not what it must be is noticed before anything is drawn."""

from types import SimpleNamespace

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from extremal.draw import drawing, kernel
from extremal.draw import sampler as sampling
from extremal.draw.keys import id_blocks
from extremal.draw.sampler import Sampler, SecureWords
from extremal.errors import InstallationError
from tests.support import wording
from tests.support.alias_tables import alias_table, random_weights, report

ROWS = np.array([0, 1, 2], dtype=np.uint32)


def a_sampler():
    weights = np.array([[3 << 60, 1 << 60], [1 << 60, 3 << 60]], dtype=np.uint64)
    return Sampler(weights, ("a", "b"), ("a", "b"), bytes(32))


def refused(sampler, match):
    """Whether drawing is refused, and nothing written."""
    out = np.full(100, 77, dtype=np.uint8)
    with pytest.raises(InstallationError, match=match):
        sampler.draw(np.zeros(100, dtype=np.uint8), ROWS, SecureWords().stream(100), out)
    return bool((out == 77).all())


def test_an_honest_installation_draws():
    out = np.full(100, 77, dtype=np.uint8)
    assert a_sampler().draw(np.zeros(100, dtype=np.uint8), ROWS, SecureWords().stream(100), out)
    assert set(out.tolist()) <= {0, 1}


def test_a_table_that_returns_the_truth_is_noticed():
    sampler = a_sampler()
    true = Sampler(
        np.array([[1 << 62, 0], [0, 1 << 62]], dtype=np.uint64), sampler.inputs, sampler.outputs, bytes(32)
    )
    sampler.__dict__["entries"] = true.entries
    assert refused(sampler, "do not hold the certified weights")


@given(seed=st.integers(0, 2**32), m=st.integers(1, 40), data=st.data())
def test_every_changed_bit_of_a_table_is_noticed(seed, m, data):
    """Unless the bit says nothing: where the alias is the bucket itself, the threshold is without effect."""
    weights = np.array(random_weights(np.random.default_rng(seed), 3, m), dtype=np.uint64)
    sampler = Sampler(weights, tuple(range(3)), tuple(range(m)), bytes(32))
    b, entries = sampler.b, sampler.entries.copy()
    kernel.check_tables(weights, b, entries)
    spot = data.draw(st.integers(0, (3 << b) - 1))
    bit = data.draw(st.integers(0, 63))
    changed = entries.copy()
    changed[spot] ^= np.uint64(1 << bit)
    own = spot & ((1 << b) - 1)
    if bit >= b and bit < 62 and int(entries[spot]) & ((1 << b) - 1) == own:
        kernel.check_tables(weights, b, changed)
    else:
        with pytest.raises(InstallationError, match="nothing was drawn"):
            kernel.check_tables(weights, b, changed)


def test_a_compiled_loop_that_draws_something_else_is_noticed(monkeypatch):
    genuine = kernel.drawing

    def truthful(codes, rows, entries, b, out):
        def with_words(words):
            step = genuine(codes, rows, entries, b, out)(words)

            def copy(first, count):
                found = step(first, count)
                out[first : first + count] = codes[first : first + count]
                return found

            return copy

        return with_words

    monkeypatch.setattr(kernel, "drawing", truthful)
    assert refused(a_sampler(), "draws wrong outcomes")


def test_a_compiled_loop_that_finds_a_row_for_every_code_is_noticed(monkeypatch):
    genuine = kernel.drawing

    def careless(*arguments):
        return lambda words: lambda first, count: genuine(*arguments)(words)(first, count) or True

    monkeypatch.setattr(kernel, "drawing", careless)
    assert refused(a_sampler(), "draws wrong outcomes")


def test_a_builder_of_other_tables_is_noticed(monkeypatch):
    genuine = kernel.build

    def careless(weights, b, entries):
        genuine(weights, b, entries)
        entries[1] ^= np.uint64(1 << 40)

    monkeypatch.setattr(kernel, "build", careless)
    assert refused(a_sampler(), "do not hold the certified weights")


@pytest.mark.parametrize("word", [0, 2**64 - 1, 0x123456789ABCDEF])
def test_a_keystream_that_is_not_aes_is_noticed(monkeypatch, word):
    def constant(key):
        def fill(start, out):
            out[:] = word

        return fill

    monkeypatch.setattr(sampling, "keystream", constant)
    assert refused(a_sampler(), "not AES-256")


def test_a_keystream_in_the_wrong_byte_order_is_noticed(monkeypatch):
    genuine = sampling.keystream

    def swapped(key):
        fill = genuine(key)

        def other(start, out):
            fill(start, out)
            out.byteswap(inplace=True)

        return other

    monkeypatch.setattr(sampling, "keystream", swapped)
    assert refused(a_sampler(), "not AES-256")


def test_keyed_words_that_ignore_the_answer_are_noticed(monkeypatch):
    genuine = drawing.keyed_words
    monkeypatch.setattr(
        drawing, "keyed_words", lambda key, blocks, codes, rows: genuine(key, blocks, 0 * codes, rows)
    )
    randomness = drawing.Randomness(key=bytes(range(32)), column="q")
    release = SimpleNamespace(sampler=a_sampler())
    with wording.refused(InstallationError, "AES-256"):
        randomness.fill(release, id_blocks([1, 2], 2), np.zeros(2, dtype=np.uint8), ROWS)


def test_the_known_words_are_two_encryptions():
    encryptor = Cipher(algorithms.AES(kernel.BLOCK_KEY), modes.ECB()).encryptor()
    first = encryptor.update(kernel.ID_BLOCK)
    assert first.hex() == "8ea2b7ca516745bfeafc49904b496089"  # FIPS 197, C.3
    again = [encryptor.update(bytes([first[0] ^ row]) + first[1:])[:8] for row in (0, 2)]
    assert b"".join(again) == kernel.KEYED_WORDS


def test_the_known_outcomes_are_those_of_plain_python():
    plain = [alias_table(kernel.WEIGHTS[row]) for row in (2, 0, 1)]
    words = [(i + 1) * kernel.WORD_STEP % 2**64 for i in range(61)]
    assert "".join(str(report(plain[i % 3], word)) for i, word in enumerate(words)) == kernel.OUTCOMES


def test_checks_are_made_once(monkeypatch):
    sampler = a_sampler()
    out = np.empty(1, dtype=np.uint8)
    one = np.zeros(1, dtype=np.uint8)
    sampler.draw(one, ROWS, SecureWords().stream(1), out)
    monkeypatch.setattr(kernel, "check_tables", None)
    sampler.draw(one, ROWS, SecureWords().stream(1), out)
