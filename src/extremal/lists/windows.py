"""Windows: reports that are a start and a step, for estimating shares of many answers. Proved when they are built.

What is certified are whole numbers, the weights of the places of an answer. With the largest weight
W, weights of at least A inside the set and B outside of it, and m the exact mass of the lightest answers that fill a
set, every report (step, start) has a lift of at most W / (B + (A - B) m): see `lists.steps`. Under every prior it is
at most W / B, the level of local differential privacy.

One 64-bit word gives the step, another the place of the answer in the set. The step's word knows nothing of the answer:
with a key it is made from the id alone. Of the 2^62 values that the second word can take, every place has a whole
number, its weight; places are cut off one after the other, so no table is needed. The step is the word modulo the
number of steps: equally likely up to one part in 2^35, which matters to no estimate, and not at all to privacy, which
allows any step.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import zlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common import checks
from .._common.json import LARGEST_TEXT, canonical, parse_json
from .._common.types import Ints
from ..certification import file as mechanism_file
from ..certification.integers import TOTAL
from ..certification.proof import Lift, is_at_most, log_above, prior_masses
from ..certification.stored import decimal, decode_label, encode_label
from ..draw import kernel
from ..draw.arrays import Draws
from ..draw.columns import Alphabet, label_rows
from ..draw.containers import as_column
from ..draw.drawing import Randomness
from ..draw.kernel import Fill, Integers
from ..draw.keys import Columns, Keyed
from ..draw.order import warn_if_numbers_ordered
from ..draw.sampler import CHUNK, Words, keystream
from ..errors import CertificationError, EpsilonError, FormatError, ValuesError
from ..model.labels import Labels, check_labels
from ..model.leakage import Doubt, check_protected
from ..model.levels import check_epsilon
from ..model.prior import Prior
from .steps import (
    LARGEST,
    Choice,
    Cosets,
    Progressions,
    Steps,
    Supports,
    best_choice,
    doubt_of_windows,
    is_prime,
    least_held,
    supports,
)

STEP_PURPOSE = b"extremal-window-step-1\0"


def draw_places(windows: Windows, words: Integers) -> Ints:
    """The place of each answer for each word, by the weights of the places: its last two bits are not used."""
    u = words >> np.uint64(2)
    size, inside, extra = windows.size, windows.inside, windows.extra
    first = extra * (inside + 1)
    second = first + (size - extra) * inside
    place = u // np.uint64(inside + 1)
    middle = u >= np.uint64(first)
    place[middle] = np.uint64(extra) + (u[middle] - np.uint64(first)) // np.uint64(max(inside, 1))
    last = u >= np.uint64(second)
    if windows.outside:
        place[last] = np.uint64(size) + (u[last] - np.uint64(second)) // np.uint64(windows.outside)
    return place.astype(np.int64)


def reports_of(windows: Windows, codes: Ints, steps: Integers, words: Integers) -> Ints:
    """step · p + start for each answer's number and two words."""
    layout = windows.layout
    step = (steps % np.uint64(layout.steps)).astype(np.int64)
    start = (codes - layout.numbers(step, draw_places(windows, words))) % layout.prime
    return np.asarray(step * layout.prime + start)


def draw_windows(windows: Windows, codes: Ints, draws: Draws) -> Ints:
    """A report for each number of an answer, with words from a secure source or from a key and ids."""
    kernel.check_drawing(keystream)
    randomness, digest = draws.randomness(), bytes.fromhex(windows.digest)
    blocks = draws.blocks(len(codes))
    steps = _fill(randomness, hashlib.sha256(STEP_PURPOSE + digest).digest(), blocks, np.zeros_like(codes))
    words = _fill(randomness, digest, blocks, codes)
    out = np.empty(len(codes), dtype=np.int64)
    room = np.empty((2, min(CHUNK, len(codes))), dtype=np.uint64)
    for start in range(0, len(codes), CHUNK):
        part = codes[start : start + CHUNK]
        step, word = room[:, : len(part)]
        steps(start, step)
        words(start, word)
        out[start : start + CHUNK] = reports_of(windows, part, step, word)
    return out


def _fill(randomness: Randomness, digest: bytes, blocks: Integers | None, codes: Ints) -> Fill:
    if randomness.key is None:
        return randomness.source.stream(len(codes))
    rows = codes.astype(np.uint32)
    return randomness.keyed(digest, blocks, np.arange(len(rows), dtype=np.uint64), rows)


def answer_numbers(alphabet: Any, answers: int, values: Any) -> Ints:
    """The number of every answer: its place among the labels, or itself where there are no labels."""
    if alphabet is not None:
        column = as_column(alphabet, values)
        numbers = label_rows(column.codes, column.rows).astype(np.int64)
        wrong = np.flatnonzero(numbers == answers)
    else:
        raw = np.asarray(values)
        if raw.ndim != 1 or (raw.dtype.kind not in "iu" and len(raw)) or np.ma.is_masked(values):
            raise ValuesError(
                f"must be one column of whole numbers below {answers}",
                parameter="values",
                given=f"shape {raw.shape} of {raw.dtype}",
                remedy="number the answers, or make the windows from a prior with labels",
            )
        wrong = np.flatnonzero((raw < 0) | (raw >= answers))
        numbers = raw.astype(np.int64)
    if len(wrong):
        raise ValuesError(
            "every value must be one of the answers",
            given=f"others in {len(wrong)} of {len(numbers)} rows, first in record {wrong[0] + 1}",
            remedy="correct them, or leave these rows out",
        )
    warn_if_numbers_ordered(numbers, answers)
    return numbers


FORMAT = "extremal-windows"
VERSION = 2  # the first version had no steps: see `lists.steps`
MEMBERS = ("format", "version", "epsilon", "answers", "labels", "prior", "prime", "size", "inside", "outside")
PURPOSE = b"extremal-windows-digest-1\0"
SHORT = 2.0**-50  # of the odds, that they are lowered by until the proof holds
TRIES = 60
FIRST_LARGEST = 1 << 29  # answers, in files of the first version
MOST_ODDS = 2.0**60  # larger ones leave no weight for the places outside of the set


@dataclass(frozen=True, eq=False, repr=False)
class Windows:
    """Reports that stand for a set of answers each: a start and a public step. Make them with `large.windows`.

    A report is one whole number, step · prime + start. Its set is `size` numbers modulo `prime`: start + D, where D are
    the first places of the step (`lists.steps`). The step is drawn without a look at the answer.

    Examples
    --------
    >>> import extremal as ex
    >>> list_of_towns = [f"town {k}" for k in range(1000)]
    >>> windows = ex.large.windows(list_of_towns, 2.0)
    >>> windows.epsilon
    2.0

    Attributes
    ----------
    prior
        The prior that the limit holds for; None if it holds for every prior.
    answers
        The number of answers.
    epsilon
        The limit that is proved, in nats: on PML under the prior, or on local differential privacy without one.
    prime
        The modulus: a prime, at least the number of answers.
    size
        The size of the sets.
    inside
        The weight, out of 2^62, of each place in the set.
    outside
        The weight of each other place.
    steps
        How many steps there are; None in files of the first version, whose sets are start, start + step, ….
    names
        The labels of the answers; None if they are numbers, or if a prior names them.
    """

    prior: Prior | None
    answers: int
    epsilon: float
    prime: int
    size: int
    inside: int
    outside: int
    steps: int | None
    names: Labels | None = None
    realised_epsilon: float = field(init=False)
    ldp_epsilon: float = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        _set(self, "epsilon", check_epsilon(self.epsilon))
        self._check_numbers()
        weights = (self.prime, self.size, self.inside, self.outside)
        pml = _lift(*weights, *_lightest(self.prior, self.answers, self.prime, self.size))
        _set(self, "ldp_epsilon", log_above(_lift(*weights, 0, 1)))
        _set(self, "realised_epsilon", log_above(pml))
        if not is_at_most(pml, self.epsilon):
            raise CertificationError(
                f"must leak at most epsilon = {self.epsilon!r}",
                parameter="windows",
                given=f"{self.realised_epsilon!r} nats",
                remedy="make them with `large.windows(prior, epsilon)`",
            )
        _set(self, "digest", _digest(self._document()))

    def _check_numbers(self) -> None:
        numbers = (self.answers, self.prime, self.size, self.inside, self.outside)
        steps, most = (self.steps, LARGEST) if self.steps is not None else (self.prime - 1, FIRST_LARGEST)
        sound = all(type(n) is int for n in (*numbers, steps)) and (
            2 <= self.answers <= self.prime <= 2 * most
            and self.answers <= most
            and 1 <= self.size < self.prime
            and 0 <= self.outside <= self.inside
            and 0 <= self.extra < self.size
            and is_prime(self.prime)
            and 0 < steps < self.prime
            and (self.prime - 1) % steps == 0
            and self.size * steps % (self.prime - 1) == 0
            and (self.prior is None or self.prior.size == self.answers)
            and (self.names is None or (self.prior is None and len(self.names) == self.answers))
        )
        if not sound:
            raise CertificationError(
                "must have a prime of at least the number of answers, sets of whole cosets, and weights that add up "
                "to 2^62",
                parameter="windows",
                given=f"{(*numbers, self.steps)}",
                remedy="make them with `large.windows(prior, epsilon)`",
            )

    @property
    def extra(self) -> int:
        """How many places in the set weigh one more than `inside`, so that all weights add up to 2^62."""
        return TOTAL - self.size * self.inside - (self.prime - self.size) * self.outside

    @property
    def supports(self) -> Supports:
        """With what probability the set of a report holds the true answer, and any other one."""
        inside = TOTAL - (self.prime - self.size) * self.outside
        return supports(self.prime, self.size, inside / TOTAL)

    @property
    def squared_error(self) -> float:
        """n times the variance of the estimated share of an answer that nobody gives, for n people."""
        own, other = self.supports
        return other * (1 - other) / (own - other) ** 2

    @property
    def reports(self) -> int:
        """How many reports there are: 0, 1, … below this number."""
        return self.prime * self.layout.steps

    @property
    def labels(self) -> Any:
        """The answers: their labels, or the range of their numbers."""
        return range(self.answers) if self.alphabet is None else self.alphabet.inputs

    @cached_property
    def doubt(self) -> Doubt:
        """How much reports leave open; without a prior, if all answers are equally common."""
        shares = None if self.prior is None else self.prior.probabilities
        inside = (self.inside * self.size + self.extra) / (self.size * TOTAL)
        return doubt_of_windows(shares, self.answers, self.layout, self.size, inside, self.outside / TOTAL)

    @cached_property
    def layout(self) -> Steps:
        """Which numbers the places of a step are."""
        return Progressions(self.prime) if self.steps is None else Cosets(self.prime, self.steps)

    @cached_property
    def alphabet(self) -> Alphabet | None:
        """The labels, if the answers have any."""
        labels = self.names if self.prior is None else self.prior.labels
        return None if labels is None else Alphabet(labels, labels)

    def privatize(
        self,
        values: Any,
        *,
        keyed: Keyed | None = None,
        column: Columns | None = None,
        source: Words | None = None,
        allow_true_answers: bool = False,
    ) -> NDArray[np.int64]:
        """One whole number a record: the report that leaves the device.

        Parameters
        ----------
        values
            The answers: a list, array or Series of labels, or of numbers where there is no prior.
        keyed
            A secret key, an id for each record and an occasion: repeating a job repeats its reports.
        column
            The name of the column, which keyed draws need.
        source
            Replaces the operating system's randomness in experiments.
        allow_true_answers
            Draw even if reports disclose the answers, fully or nearly; they are refused otherwise.
        """
        check_protected(self.doubt, allow_true_answers)
        codes = answer_numbers(self.alphabet, self.answers, values)
        return draw_windows(self, codes, Draws(keyed, column, source))

    def to_json(self) -> str:
        """The public description, as the text of a file."""
        document = self._document()
        labels = document["labels"]
        packed = labels if self.steps is None or labels is None else pack(labels)
        document |= {"labels": packed, "digest": _digest(document)}
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the public description to a file.

        Parameters
        ----------
        path
            The file; one that is there is replaced when the new one is complete.
        """
        mechanism_file.write_text(path, self.to_json())

    @classmethod
    def from_json(cls, text: str) -> Windows:
        """The windows that a text describes, proved anew.

        Parameters
        ----------
        text
            What `to_json` gave.
        """
        try:
            return _decode(cls, text)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            reason = " ".join(str(error).split())[:200]
            raise FormatError(f"not a file of windows, or damaged: {reason}") from None

    def _document(self) -> dict[str, Any]:
        known, labels = self.prior, None if self.alphabet is None else self.alphabet.inputs
        return {
            "format": FORMAT,
            "version": 1 if self.steps is None else VERSION,
            "epsilon": decimal(self.epsilon),
            "answers": self.answers,
            "labels": None if labels is None else [encode_label(label) for label in labels],
            "prior": None if known is None else [decimal(p) for p in known.probabilities.tolist()],
            "prime": self.prime,
            "size": self.size,
            "inside": str(self.inside),
            "outside": str(self.outside),
        } | ({} if self.steps is None else {"steps": self.steps})

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Windows) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        known = "every prior" if self.prior is None else "its prior"
        return (
            f"Windows({self.answers} answers, sets of {self.size}, epsilon={self.epsilon:.6g} for {known}, "
            f"realised_epsilon={self.realised_epsilon:.6g}, ldp_epsilon={self.ldp_epsilon:.6g})"
            + (f", no protection: {self.doubt}" if self.doubt.disclosed else "")
        )


def windows(answers: Prior | int | Iterable[Hashable], epsilon: float) -> Windows:
    """Reports of a start and a public step, for estimating the shares of many answers.

    Examples
    --------
    >>> import extremal as ex
    >>> list_of_towns = [f"town {k}" for k in range(1000)]
    >>> windows = ex.large.windows(list_of_towns, 2.0)
    >>> windows.epsilon
    2.0

    Parameters
    ----------
    answers
        A prior: the limit is on PML under it, and its labels are the answers. Or the labels of the answers, or their
        number for 0, 1, 2, …: the limit then holds for every prior, which is local differential privacy.
    epsilon
        The limit, in nats.

    Returns
    -------
    Windows
        With the fewest steps that make the expected squared error of all shares at most 0.5 % larger than the best
        size of sets does, proved in integers. Few steps make counting fast.
    """
    example = "e.g. `large.windows(22_000, 5.0)`"
    level = checks.number(epsilon, "epsilon", above=0, remedy=example, error=EpsilonError)
    prior = answers if isinstance(answers, Prior) else None
    names = None
    if prior is None and isinstance(answers, Iterable):
        names = check_labels(answers, None, "answers")
    size = prior.size if prior is not None else answers if names is None else len(names)
    n = checks.whole(size, "answers", least=2, most=LARGEST, remedy=example)
    chosen = best_choice(None if prior is None else prior.probabilities, n, level)
    return _proved(prior, names, n, level, chosen)


def _proved(prior: Prior | None, names: Labels | None, answers: int, level: float, chosen: Choice) -> Windows:
    """With the largest odds, not above the chosen ones, for which the proof holds."""
    prime, steps, size, odds = chosen
    odds = odds if math.isinf(odds) else min(odds, MOST_ODDS)
    lightest = _lightest(prior, answers, prime, size)
    for k in range(TRIES):
        lowered = 1 + (odds - 1) * (1 - SHORT * (2**k - 1)) if k else odds
        outside = 0 if math.isinf(lowered) else int(TOTAL / (lowered * size + prime - size))
        inside = (TOTAL - outside * (prime - size)) // size
        if is_at_most(_lift(prime, size, inside, outside, *lightest), level):
            return Windows(prior, answers, level, prime, size, inside, outside, steps, names)
        if math.isinf(odds):
            odds = 2.0**40  # a set that is allowed to rule all others out, but for rounding
    raise CertificationError(
        "no windows were proved to keep epsilon", given=f"{level!r}", remedy="choose a larger epsilon"
    )


def _lightest(prior: Prior | None, answers: int, prime: int, size: int) -> tuple[int, int]:
    """The exact mass of the rarest answers that fill a set, and of all; nothing, if any prior may be the true one."""
    if prior is None:
        return 0, 1
    masses = prior_masses(np.sort(prior.probabilities).tolist())
    return masses.center[least_held(answers, prime, size)], masses.total


def _lift(prime: int, size: int, inside: int, outside: int, light: int, total: int) -> Lift:
    """The largest lift of a report, if the answers of every set have together at least the mass light / total."""
    largest = inside + (size * inside + (prime - size) * outside < TOTAL)
    return Lift(largest * total, outside * total + (inside - outside) * light, 0)


def load_windows(path: str | os.PathLike[str]) -> Windows:
    """The windows in a file, proved anew.

    Examples
    --------
    >>> import extremal as ex
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "towns.json")
    >>> windows = ex.large.windows([f"town {k}" for k in range(100)], 2.0)
    >>> windows.save(path)
    >>> ex.large.load(path) == windows
    True

    Parameters
    ----------
    path
        A file that `Windows.save` wrote.
    """
    return Windows.from_json(mechanism_file.read_text(path))


def _decode(cls: type[Windows], text: str) -> Windows:
    document = parse_json(text)
    members = {*MEMBERS, "digest"} | (
        {"steps"} if isinstance(document, dict) and document.get("version") == VERSION else set()
    )
    if not isinstance(document, dict) or document.keys() != members:
        raise ValueError(f"it must have the members {sorted(members)}")
    prior, names = None, None
    if isinstance(document["labels"], str) and document["version"] == VERSION:
        document["labels"] = unpack(document["labels"])
    if document["labels"] is not None:
        names = check_labels([decode_label(value) for value in document["labels"]], None, "labels")
    if document["prior"] is not None:
        p = [float(x) for x in document["prior"]]
        prior, names = Prior(p, names), None
        if prior.probabilities.tolist() != p:
            raise ValueError("its prior does not sum to 1")
    numbers = (document["prime"], document["size"], int(document["inside"]), int(document["outside"]))
    level = float(document["epsilon"])
    made = cls(prior, document["answers"], level, *numbers, document.get("steps"), names)
    if made._document() | {"digest": made.digest} != document:
        raise ValueError("its digest does not match its content")
    return made


def pack(labels: list[object]) -> str:
    """Labels as a file holds them: base64 of the deflated JSON list."""
    text = json.dumps(labels, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(packed: str) -> Any:
    """The labels that `pack` packed; a ValueError for anything else, and for more than a file may hold."""
    inflate = zlib.decompressobj()
    try:
        text = inflate.decompress(base64.b64decode(packed, validate=True), LARGEST_TEXT)
    except zlib.error as error:
        raise ValueError(f"its labels cannot be read: {error}") from None
    if not inflate.eof or inflate.unused_data:
        raise ValueError("its labels are cut off, or too many")
    return parse_json(text)


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(PURPOSE + canonical(document).encode()).hexdigest()


def _set(value: Windows, name: str, content: Any) -> None:
    object.__setattr__(value, name, content)
