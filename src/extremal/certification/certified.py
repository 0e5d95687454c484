"""Certified mechanisms: integer weights that satisfy epsilon-PML, proved in exact arithmetic when they are built.

What is certified is what is sampled: a row of integers that sums to 2^62, not a row of doubles.
`certify` and `weights` make the integers, `proof` decides, and nothing here uses the code that designs mechanisms.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.words import factor
from ..draw.arrays import Draws, draw_codes, draw_column
from ..draw.keys import Columns, Keyed
from ..draw.sampler import Sampler, Words
from ..errors import CertificationError, MechanismError, PriorError
from ..model.blocks import BlockMechanism, Blocks
from ..model.labels import Labels, check_labels
from ..model.leakage import Doubt, check_protected, doubt
from ..model.levels import check_epsilon
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.reading import Numbers, read_table
from . import file as mechanism_file
from .integers import BITS, checked_weights, exact_masses, largest_exact_lift
from .proof import is_at_most, log_above
from .stored import encode_label


@dataclass(frozen=True, eq=False, repr=False)
class Certified:
    """A mechanism as integers that keep epsilon exactly; building one does the proof.

    With `blocks`, the block of each input, `weights` have one row for each block: large alphabets need no matrix of
    all inputs.

    With a `prior_set` they satisfy it for every prior of the set, and `prior` is the nominal one. `weights` are
    (N, M) unsigned integers, every row sums to 2**bits. `realised_epsilon` is a double proved to be no less than
    the true leakage, within a few units in the last place. `digest` names labels, prior (or set of priors),
    epsilon and weights, and nothing else: keyed draws depend on it, and two mechanisms with one digest are
    equal, whichever release certified them. `method` and `library` are notes.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> certified.realised_epsilon <= 0.6
    True
    >>> ex.Certified.from_json(certified.to_json()) == certified
    True

    Parameters
    ----------
    prior
        How common each answer is; of a set, the nominal prior.
    outputs
        The labels of the reports.
    weights
        An (N, M) array of unsigned integers; each row sums to 2**bits.
    epsilon
        The limit to prove, in nats.
    method
        A note on how the integers were made.
    library
        A note on the release that made them.
    prior_set
        The set of priors for which the limit is proved, if there is one.
    blocks
        The block of each answer, if answers are treated alike in blocks. Weights then have a row for each block.
    """

    prior: Prior
    outputs: Labels
    weights: NDArray[np.uint64]
    epsilon: float
    method: str = "given"
    library: str = ""
    prior_set: PriorSet | None = None
    blocks: NDArray[np.uint32] | None = None
    bits: int = field(default=BITS, init=False)
    realised_epsilon: float = field(init=False)
    digest: str = field(init=False)

    def __init_subclass__(cls) -> None:
        raise TypeError("only certified mechanisms draw; make one with certify(prior, mechanism, epsilon)")

    def __post_init__(self) -> None:
        _set(self, "epsilon", check_epsilon(self.epsilon))
        grouping = self.grouping
        if grouping is not None:
            _set(self, "blocks", grouping.numbers)
            if self.prior_set is not None:
                raise CertificationError(
                    "must be left out for a set of priors",
                    parameter="blocks",
                    remedy="give a mechanism with its matrix",
                )
        rows = self.prior.size if grouping is None else grouping.count
        _set(self, "weights", checked_weights(self.weights, rows))
        try:
            _set(self, "outputs", check_labels(self.outputs, self.weights.shape[1], "outputs"))
            for label in (*self.prior.labels, *self.outputs):
                encode_label(label)
        except PriorError as error:
            raise error.within("mechanism: ", MechanismError) from None
        # Not imported: a module may not depend on the package it is part of.
        package = __name__.partition(".")[0]
        _set(self, "library", self.library or f"{package} {sys.modules[package].__version__}")
        if self.prior_set is not None and self.prior != self.prior_set.nominal:
            raise CertificationError(
                "must be the nominal prior of prior_set",
                parameter="prior",
                given="another",
                remedy="pass prior_set.nominal",
            )
        masses = exact_masses(self.prior_set or self.prior, grouping)
        lift = largest_exact_lift(masses, self.weights, grouping)
        _set(self, "realised_epsilon", log_above(lift))
        if not is_at_most(lift, self.epsilon):
            raise too_leaky(self.outputs[lift.output], self.realised_epsilon, self.epsilon)
        _set(self, "digest", mechanism_file.digest(mechanism_file.encode(self)))

    @property
    def inputs(self) -> Labels:
        """The labels of the rows: those of the prior."""
        return self.prior.labels

    @cached_property
    def mechanism(self) -> Mechanism:
        """The matrix of the integers, rounded to doubles; what is sampled is the integers.

        With blocks it is the matrix of all inputs, refused if that is too large; `between` is small.
        """
        return self.made if isinstance(self.made, Mechanism) else self.made.dense()

    @property
    def made(self) -> Mechanism | BlockMechanism:
        """The mechanism, in blocks if it has any: never a large matrix."""
        return self.between if self.grouping is None else BlockMechanism(self.grouping, self.between)

    @cached_property
    def between(self) -> Mechanism:
        """With blocks the mechanism between them, the blocks being its inputs; else the mechanism itself."""
        names = self.inputs if self.grouping is None else self.grouping.names
        return Mechanism(np.ldexp(self.weights.astype(np.float64), -self.bits), names, self.outputs)

    @cached_property
    def prior_between(self) -> Prior:
        """With blocks the prior of the blocks, else the prior itself."""
        return self.prior if self.grouping is None else self.grouping.merged(self.prior)

    @cached_property
    def doubt(self) -> Doubt:
        """How much of the doubt about an answer is left after its report, under the prior."""
        return doubt(self.prior, self.made)

    @cached_property
    def grouping(self) -> Blocks | None:
        """The blocks with their names and their order, if there are any."""
        return None if self.blocks is None else Blocks(self.prior.labels, self.blocks)

    @cached_property
    def sampler(self) -> Sampler:
        """The tables that reports are drawn from."""
        return Sampler(self.weights, self.inputs, self.outputs, bytes.fromhex(self.digest), self.blocks)

    def to_draw(self, allow_true_answers: bool, name: object = None) -> Sampler:
        """The sampler for a release of the column with this name, if reports do not disclose the answers.

        Parameters
        ----------
        allow_true_answers
            Draw all the same.
        name
            The column, for the message.
        """
        check_protected(self.doubt, allow_true_answers, name)
        if self.sampler.weights is not self.weights or self.sampler.blocks is not self.blocks:
            raise CertificationError(
                "must draw from its own tables", parameter="mechanism", given="others", remedy="load it again"
            )
        return self.sampler

    def privatize(
        self,
        values: Any,
        *,
        keyed: Keyed | None = None,
        column: Columns | None = None,
        unknown: str = "refuse",
        unknown_as: Hashable = None,
        source: Words | None = None,
        allow_true_answers: bool = False,
    ) -> Any:
        """Reports for these answers, as a column of the same kind: one exact, independent draw for each record.

        Lists, numpy arrays, pandas and polars Series, arrow arrays. With `keyed` the report is a function of key,
        occasion, column, digest, id and answer: repeating a job repeats its reports. `column`, which must not be
        empty, defaults to the name of a Series; of values that are tuples it is the tuple of the columns' names.

        A value that is not an input label, or is missing, is refused; unknown="drop" drops its row,
        unknown_as=label treats it as that label of the alphabet. `source` replaces the operating system's
        randomness in experiments.

        Parameters
        ----------
        values
            The answers: a list, numpy array, pandas or polars Series, or arrow array.
        keyed
            A secret key, an id for each record and an occasion, for reports that can be repeated.
        column
            With a key: the name of the column; that of a Series if None.
        unknown
            "refuse" answers that are not in the mechanism, or "drop" them.
        unknown_as
            The answer that unknown and missing ones are treated as.
        source
            Where randomness comes from; secure words if None.
        allow_true_answers
            Draw even if reports disclose the answers, fully or nearly, and so protect nobody; refused otherwise.
        """
        sampler = self.to_draw(allow_true_answers)
        return draw_column(sampler, values, Draws(keyed, column, source), unknown, unknown_as)

    def privatize_codes(
        self,
        codes: NDArray[Any],
        *,
        keyed: Keyed | None = None,
        column: Columns | None = None,
        source: Words | None = None,
        allow_true_answers: bool = False,
    ) -> NDArray[Any]:
        """Reports for answers that are given as numbers of rows, as numbers of columns: the fast path.

        Any integer dtype; the same dtype comes back if it can number every output, else the smallest unsigned
        one.

        Parameters
        ----------
        codes
            The number of each answer among the inputs, as integers.
        keyed
            A secret key, an id for each record and an occasion, for reports that can be repeated.
        column
            With a key: the name of the column.
        source
            Where randomness comes from; secure words if None.
        allow_true_answers
            Draw even if reports disclose the answers, fully or nearly.
        """
        return draw_codes(self.to_draw(allow_true_answers), codes, Draws(keyed, column, source))

    @classmethod
    def from_json(cls, text: str) -> Certified:
        """The certified mechanism in this text, proved again.

        Parameters
        ----------
        text
            The content of a mechanism file.
        """
        return mechanism_file.decode(text, cls)

    def to_json(self) -> str:
        """The text of a mechanism file (docs/api/file-format.md)."""
        return mechanism_file.to_text(mechanism_file.encode(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism file, replacing what is there only when it is complete.

        Parameters
        ----------
        path
            The file to write.
        """
        mechanism_file.write_text(path, self.to_json())

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Certified) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[object, ...]:  # proved again when unpickled; tables are rebuilt, not sent
        notes = (self.method, self.library)
        where = (self.prior_set, self.blocks)
        return Certified, (self.prior, self.outputs, self.weights, self.epsilon, *notes, *where)

    def __repr__(self) -> str:
        rows, m = self.weights.shape
        blocks = "" if self.blocks is None else f" in {rows} blocks"
        known = "" if self.prior_set is None else f"{self.prior_set.description}, "
        return (
            f"Certified({self.prior.size} inputs{blocks}, {m} outputs, {known}epsilon={self.epsilon:.6g}, "
            f"realised_epsilon={self.realised_epsilon:.6g}, digest={self.digest[:12]})"
        )

    def _repr_html_(self) -> str:
        """What is proven, in words, and the mechanism; not that of a large alphabet."""
        held = "this prior" if self.prior_set is None else "every prior of its set"
        said = (
            f"Certified for {held}: no report makes a guess more than {factor(self.realised_epsilon)} times as likely "
            f"to be right (ε = {self.epsilon:.6g}). Digest {self.digest[:12]}."
        )
        return f"<p>{said}</p>{self.mechanism._repr_html_() if self.blocks is None else ''}"


Released = Mechanism | Certified  # what reports are drawn with


def as_mechanism(mechanism: object) -> Mechanism:
    """The matrix of a certified mechanism, or the mechanism itself."""
    if isinstance(mechanism, Certified):
        return mechanism.mechanism
    if not isinstance(mechanism, Mechanism):
        raise no_mechanism(mechanism, "a Mechanism or a Certified")
    return mechanism


def no_mechanism(given: object, wanted: str) -> MechanismError:
    """The refusal of something else; a design or a certified mechanism has one, and is none."""
    if "mechanism" in dir(given):
        what = f"a {type(given).__name__}, which has one"
        remedy = "certify it first: `ex.certify(design)`, or pass its .mechanism"
    else:
        what = repr(given)[:80]
        remedy = "load it from its file: load(path), or build one: Mechanism(matrix)"
    return MechanismError(f"must be {wanted}", parameter="mechanism", given=what, remedy=remedy)


def as_estimable(mechanism: object) -> Mechanism:
    """The same, but of a mechanism in blocks the one between blocks: reports tell their shares, and no others."""
    return mechanism.between if isinstance(mechanism, Certified) else as_mechanism(mechanism)


def load(path: str | os.PathLike[str]) -> Certified:
    """The certified mechanism in a file, proved again. A file that claims too much is refused.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ex.certify(ex.design(prior, 0.6)).save(f"{folder}/mechanism.json")
    ...     ex.load(f"{folder}/mechanism.json").epsilon
    0.6

    Parameters
    ----------
    path
        The mechanism file.

    Returns
    -------
    Certified
        The mechanism, with the proof done again.
    """
    return Certified.from_json(mechanism_file.read_text(path))


def read_numbers(text: str) -> Numbers:
    """Labels and numbers as people type, paste and store them; those of a mechanism file once it is proved."""
    if text.lstrip("\ufeff \t\r\n")[:1] == "{" and '"extremal-mechanism"' in text:
        prior = Certified.from_json(text.removeprefix("\ufeff")).prior
        return Numbers(list(prior.labels), prior.probabilities.tolist())
    return read_table(text)


def too_leaky(output: Hashable, leakage: float, epsilon: float) -> CertificationError:
    """The refusal of a mechanism of which one outcome leaks more than it may."""
    return CertificationError(
        f"must leak at most epsilon = {epsilon!r}",
        parameter="mechanism",
        given=f"one whose outcome {repr(output)[:60]} leaks {leakage!r} nats",
        remedy="certify it for that level, or design for this one: `design(prior, epsilon)`",
    )


def _set(value: Certified, name: str, content: object) -> None:
    object.__setattr__(value, name, content)
