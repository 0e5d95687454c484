"""Several releases about the same people: together they tell no more than is documented, whatever the containers.

Keyed draws and seeded words make every outcome here the same in each run. Had they been random, one comparison would
raise a false alarm with a chance of at most 1e-9. Each weakness of the past is put back, and must be found.
"""

import dataclasses
import re

import numpy as np
import pytest

import extremal as ex
from extremal.certification import file as mechanism_file
from extremal.certification.certify import certify
from extremal.draw import drawing, kernel, keys, sampler
from extremal.draw.sampler import SeededWords
from extremal.draw.texts import LETTERED, Texts
from extremal.errors import InstallationError
from tests.support.containers import CONTAINERS, Draw, release
from tests.support.joint import (
    Released,
    all_findings,
    findings,
    independence,
    leakage_of_pairs,
    neighbours,
    shown_leakage,
)

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
C = certify(PRIOR, ex.theory.randomized_response(PRIOR, 1.0), 1.0)
D = certify(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.5), 0.5)
PAIRS = ex.Prior.product(PRIOR, PRIOR)
KEY, OTHER_KEY = bytes(range(150, 182)), bytes(range(151, 183))
N = 3000
PEOPLE = {
    "digits": tuple(f"{7 * i:05d}" for i in range(N)),
    "mixed": tuple(f"x{i}" if i % 3 == 0 else f"+{i}" if i % 3 == 1 else f"{i:06d}" for i in range(N)),
}
FIRST, SECOND = (
    tuple(np.random.default_rng(seed).choice(PRIOR.labels, N, p=PRIOR.probabilities).tolist())
    for seed in (1, 2)
)
KEYED = Draw(KEY, PEOPLE["digits"])


def other(draw, **changes):
    return dataclasses.replace(draw, **changes)


# --- what holds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", PEOPLE)
def test_one_answer_has_one_report_in_every_container(ids):
    draw = Draw(KEY, PEOPLE[ids])
    assert all_findings([release(container, C, FIRST, draw) for container in CONTAINERS]) == []


@pytest.mark.parametrize("container", CONTAINERS)
def test_keyed_releases_are_independent_unless_everything_is_the_same(container):
    releases = [
        release(container, C, FIRST, KEYED),
        release(container, C, FIRST, other(KEYED, column="second")),
        release(container, C, SECOND, other(KEYED, column="third")),
        release(container, C, FIRST, other(KEYED, occasion=1)),
        release(container, C, SECOND, other(KEYED, occasion=2)),
        release(container, C, SECOND, KEYED),  # some answers changed under the same id
        release(container, D, FIRST, KEYED),
        release(container, C, FIRST, other(KEYED, key=OTHER_KEY)),
    ]
    assert all_findings(releases) == []


def test_fresh_draws_are_independent_of_each_other_and_of_keyed_ones():
    words = SeededWords(7)
    fresh = [release(container, C, FIRST, Draw(source=words)) for container in CONTAINERS]
    keyed = [release("CSV file", C, FIRST, KEYED), release("pandas frame", D, SECOND, KEYED)]
    assert all_findings([*fresh, *keyed]) == []


@pytest.mark.parametrize("draw", [KEYED, Draw(source=SeededWords(8))], ids=["keyed", "fresh"])
@pytest.mark.parametrize("container", ["numpy array", "arrow array", "CSV file", "Parquet file"])
def test_people_in_one_release_have_noise_of_their_own(container, draw):
    made = release(container, C, FIRST, draw)
    for lag in (1, 2, 700, 900):  # next to each other, and in another chunk or row group
        assert findings(*neighbours(made, lag)) == []


def test_pieces_of_the_word_stream_do_not_repeat():
    answers = np.tile(FIRST, 23)[: 2 * sampler.CHUNK]
    made = release("numpy array", C, answers, Draw(source=SeededWords(9)))
    assert findings(*neighbours(made, sampler.CHUNK)) == []


def many(draws, same=False):
    """The releases of many people under two draws: each pair of answers, or each answer twice, is as frequent."""
    secrets = [(a, a) for a in PRIOR.labels] if same else PAIRS.labels
    first, second = (np.array([pair[k] for pair in secrets]).repeat(20_000) for k in (0, 1))
    ids = range(len(first))
    return [
        Released(
            "many",
            C,
            tuple(answers.tolist()),
            tuple(C.privatize(answers, keyed=ex.Keyed(KEY, ids, occasion), column=column).tolist()),
        )
        for answers, (column, occasion) in zip((first, second), draws, strict=True)
    ]


WAVES = (("answer", 1), ("answer", 2))
QUESTIONS = (("answer", None), ("second", None))
CORRECTED = (("answer", None), ("answer", None))


@pytest.mark.filterwarnings("ignore::extremal.draw.order.OrderWarning")
def test_two_reports_leak_what_composition_says():
    """A second wave and a second question: the measured leakage stays below the documented one."""
    assert shown_leakage(*many(WAVES, same=True), PRIOR) < leakage_of_pairs(C)
    assert shown_leakage(*many(QUESTIONS), PAIRS) < 2 * C.realised_epsilon


def test_columns_taken_together_share_no_noise_with_single_ones():
    joint = certify(PAIRS, ex.theory.randomized_response(PAIRS, 1.0), 1.0)
    both = tuple(zip(FIRST, SECOND, strict=True))
    draw = other(KEYED, column=("answer", "second"))
    together = Released("both", joint, both, tuple(joint.privatize(list(both), **draw.arguments(draw.ids))))
    for name, answers in (("answer", FIRST), ("second", SECOND), ("answer,second", FIRST)):
        single = release("list", C, answers, other(KEYED, column=name))
        assert findings(together, single) == []
    swapped = tuple((b, a) for a, b in both)
    draw = other(KEYED, column=("second", "answer"))
    turned = joint.privatize(list(swapped), **draw.arguments(draw.ids))
    assert findings(together, Released("turned", joint, swapped, tuple(turned))) == []


# --- what is put back is found ----------------------------------------------------------------------


@pytest.fixture
def unchecked(monkeypatch):
    """The library's own check of keyed words would stop some of these; the falsifier must find them by itself."""
    monkeypatch.setattr(kernel, "check_keyed_words", lambda words: None)


def without(monkeypatch, **fixed):
    """Keyed draws that ignore some of their arguments."""
    names = ("key", "occasion", "column", "digest")

    def draw_key(*arguments):
        given = dict(zip(names, arguments, strict=True))
        return keys.draw_key(**{**given, **fixed})

    monkeypatch.setattr(drawing, "draw_key", draw_key)


IGNORED = {
    "column": ({"column": "any"}, {"column": "second"}),
    "occasion": ({"occasion": None}, {"occasion": 2}),
    "key": ({"key": KEY}, {"key": OTHER_KEY}),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", IGNORED)
def test_noise_shared_by_columns_occasions_or_keys_is_found(name, container, monkeypatch, unchecked):
    fixed, changed = IGNORED[name]
    without(monkeypatch, **fixed)
    one, two = (release(container, C, FIRST, draw) for draw in (KEYED, other(KEYED, **changed)))
    assert any(line.startswith("dependent") for line in findings(one, two))


def row_less(subkey, blocks, codes, rows):
    return keys.keyed_words(subkey, blocks, np.zeros_like(codes), np.zeros_like(rows))


@pytest.mark.filterwarnings("ignore::extremal.draw.order.OrderWarning")
@pytest.mark.parametrize("how", [QUESTIONS, CORRECTED], ids=["two questions", "a corrected answer"])
def test_noise_that_knows_neither_column_nor_answer_leaks_more_than_two_epsilons(how, monkeypatch, unchecked):
    """Reports that differ are both true. The falsifier shows the leakage in nats, and not only a dependence."""
    without(monkeypatch, column="any")
    monkeypatch.setattr(drawing, "keyed_words", row_less)
    one, two = many(how)
    people = zip(one.answers, two.answers, one.reports, two.reports, strict=True)
    assert all(y == a and z == b for a, b, y, z in people if y != z)
    assert shown_leakage(one, two, PAIRS) > 2 * C.realised_epsilon
    assert findings(one, two)


@pytest.mark.parametrize("container", CONTAINERS)
def test_noise_shared_by_an_answer_and_its_correction_is_found(container, monkeypatch, unchecked):
    monkeypatch.setattr(drawing, "keyed_words", row_less)
    one, two = release(container, C, FIRST, KEYED), release(container, C, SECOND, KEYED)
    assert any(line.startswith("dependent") for line in findings(one, two))


def test_the_library_itself_stops_words_that_ignore_the_answer(monkeypatch):
    monkeypatch.setattr(drawing, "keyed_words", row_less)
    with pytest.raises(InstallationError):
        release("list", C, FIRST, KEYED)


def certified_again(certified):
    """The same integers from another release of the library, found by another method."""
    return dataclasses.replace(certified, method="another", library="extremal 99")


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_mechanism_certified_again_repeats_its_reports(container):
    one, two = release(container, C, FIRST, KEYED), release(container, certified_again(C), FIRST, KEYED)
    assert findings(one, two) == []


@pytest.mark.parametrize("note", ["method", "library"])
def test_a_digest_of_notes_is_found(note, monkeypatch):
    monkeypatch.setattr(mechanism_file, "DIGESTED", (*mechanism_file.DIGESTED, note))
    same = dataclasses.replace(C)
    one, two = (release("list", c, FIRST, KEYED) for c in (same, certified_again(C)))
    assert any(line.startswith("second draw") for line in findings(one, two))


NEVER = re.compile(r"(?!)")


def all_lettered(texts):
    """As if no text were a number."""
    return np.full(len(texts), LETTERED, dtype=np.uint8)


def test_ids_that_differ_between_files_and_frames_are_found(monkeypatch):
    """Text stays text, as it did: 007 in a CSV file is not the 7 of a frame."""
    monkeypatch.setattr(keys, "WRITTEN_INTEGER", NEVER)
    monkeypatch.setattr(Texts, "integers", lambda texts: (np.zeros(len(texts), int), all_lettered(texts)))
    draw = Draw(KEY, PEOPLE["digits"])
    files, frame = release("CSV file", C, FIRST, draw), release("pandas frame", C, FIRST, draw)
    assert any(line.startswith("second draw") for line in findings(files, frame))


def test_ids_whose_sign_is_read_in_some_containers_are_found(monkeypatch):
    """The fast path for text and the careful one must agree."""
    monkeypatch.setattr(keys, "WRITTEN_INTEGER", re.compile("[0-9]+"))
    monkeypatch.setattr(Texts, "integers", lambda texts: (np.zeros(len(texts), int), all_lettered(texts)))
    numbers = tuple(f"+{i}" for i in range(N))
    files, frame = (release(kind, C, FIRST, Draw(KEY, numbers)) for kind in ("CSV file", "pandas frame"))
    assert any(line.startswith("second draw") for line in findings(files, frame))


def test_a_stream_given_twice_is_found(monkeypatch):
    """Fresh words that are not fresh: every column, or every batch, begins the same stream."""
    monkeypatch.setattr(SeededWords, "stream", lambda self, count: sampler.keystream(bytes(32)))
    words = SeededWords(1)
    one, two = (release(kind, C, FIRST, Draw(source=words)) for kind in ("list", "CSV file"))
    assert any(line.startswith("dependent") for line in findings(one, two))


def test_a_chunk_that_repeats_is_found(monkeypatch):
    def stream(self, count):
        fill = sampler.keystream(bytes(32))
        return lambda start, out: fill(0, out)

    monkeypatch.setattr(SeededWords, "stream", stream)
    answers = np.tile(FIRST, 23)[: 2 * sampler.CHUNK]
    made = release("numpy array", C, answers, Draw(source=SeededWords(9)))
    assert findings(*neighbours(made, sampler.CHUNK))


def test_reports_that_are_moved_to_other_people_are_found():
    """As a container would that keeps rows and ids in different orders."""
    made = release("pandas frame", C, FIRST, KEYED)
    moved = dataclasses.replace(made, how="moved", reports=(*made.reports[1:], made.reports[0]))
    assert any(line.startswith("second draw") for line in findings(made, moved))
    fresh = release("list", C, ("never",) * N, Draw(source=SeededWords(4)))
    assert any(line.startswith("dependent") for line in findings(moved, fresh))


# --- false alarms -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_rate_of_false_alarms_is_no_more_than_promised():
    """At a level of 0.05 that can be counted: of 2,000 pairs of independent releases."""
    generator = np.random.default_rng(5)
    outputs, matrix = np.array(C.outputs), C.mechanism.matrix
    alarms = 0
    for _ in range(2000):
        first, second = (outputs[generator.choice(3, 60, p=matrix[row])] for row in (0, 1))
        chance = independence(first.tolist(), second.tolist(), C, ("never", "once"))
        alarms += chance < 0.05
    assert alarms <= 100  # 0.05 of 2,000; the test is conservative, so the count is far below
