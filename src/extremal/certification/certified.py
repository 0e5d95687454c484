"""Certified mechanisms: integer weights that satisfy epsilon-PML, proved in exact arithmetic when they are built.

What is certified is what is sampled: a row of integers that sums to 2^62, not a row of doubles.
`integer_weights` makes the integers, `proof` decides, and nothing here uses the code that designs mechanisms.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .._common.threads import one_thread
from .._common.words import factor
from ..draw.arrays import Draws, draw_codes, draw_column
from ..draw.keys import Columns, Keyed
from ..draw.sampler import Sampler, Words
from ..errors import CertificationError, ExtremalError, FormatError, MechanismError, PriorError, SizeError
from ..model.blocks import BlockMechanism, Blocks
from ..model.labels import Labels, check_labels
from ..model.leakage import RULED_OUT, Doubt, check_protected, doubt, pml
from ..model.levels import MaximalLeakage, Notion, check_epsilon
from ..model.mechanism import Mechanism, check_match
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.reading import Numbers, read_table
from . import file as mechanism_file
from .proof import is_at_most, log_above
from .stored import encode_label
from .weights import BITS, candidates, checked_weights, exact_masses, largest_exact_lift


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
        _set(self, "library", self.library or _this_library())
        if self.prior_set is not None and not is_nominal(self.prior, self.prior_set):
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
        _set(self, "digest", mechanism_file.digest(self._document()))

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
        stored = mechanism_file.decode(text)
        try:
            prior = Prior(stored.probabilities, stored.inputs)
            if prior.probabilities.tolist() != stored.probabilities:
                raise PriorError("its prior does not sum to 1")
            prior_set = _read_set(prior, stored)
            if stored.bits != BITS:
                raise CertificationError(f"its bits must be {BITS}", given=stored.bits)
            notes = (stored.method, stored.library)
            certified = cls(
                prior, stored.outputs, stored.weights, stored.epsilon, *notes, prior_set, stored.blocks
            )
        except ExtremalError as error:
            raise error.within("mechanism file is refused: ", FormatError) from None
        except (ValueError, OverflowError) as error:
            raise FormatError(f"mechanism file is refused: {error}") from None
        if certified.realised_epsilon != stored.realised_epsilon:
            raise FormatError(
                f"mechanism file is refused: its realised epsilon must be {certified.realised_epsilon!r}",
                given=f"{stored.realised_epsilon!r}",
            )
        return certified

    def to_json(self) -> str:
        """The text of a mechanism file (docs/api/file-format.md)."""
        return mechanism_file.to_text(self._document())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism file, replacing what is there only when it is complete.

        Parameters
        ----------
        path
            The file to write.
        """
        mechanism_file.write_text(path, self.to_json())

    def _document(self) -> mechanism_file.Document:
        return mechanism_file.encode(
            mechanism_file.Stored(
                library=self.library,
                method=self.method,
                epsilon=self.epsilon,
                realised_epsilon=self.realised_epsilon,
                bits=self.bits,
                inputs=self.inputs,
                probabilities=self.prior.probabilities.tolist(),
                prior_set=None if self.prior_set is None else _stored_set(self.prior_set),
                outputs=self.outputs,
                weights=self.weights,
                blocks=self.blocks,
                evidence=None if self.prior_set is None else self.prior_set.evidence,
            )
        )

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


def is_nominal(prior: Prior, priors: PriorSet) -> bool:
    nominal = priors.nominal
    return prior.labels == nominal.labels and np.array_equal(prior.probabilities, nominal.probabilities)


def _stored_set(priors: PriorSet) -> mechanism_file.StoredSet:
    bounds = (priors.center.tolist(), priors.lower.tolist(), priors.upper.tolist())
    words = priors.note or priors.description
    return mechanism_file.StoredSet(*bounds, priors.radius, priors.confidence, words)


def _read_set(nominal: Prior, stored: mechanism_file.Stored) -> PriorSet | None:
    """The set of priors of a file; its words are made from its numbers, others are kept as a note."""
    if stored.prior_set is None:
        if stored.evidence is not None:
            raise PriorError("there is evidence, but no set of priors that it could be for")
        return None
    center, lower, upper, radius, confidence, words = stored.prior_set
    bounds = (np.array(center), np.array(lower), np.array(upper))
    found = PriorSet(nominal, *bounds, radius, confidence, stored.evidence)
    return found if words == found.description else replace(found, note=words)


def too_leaky(output: Hashable, leakage: float, epsilon: float) -> CertificationError:
    """The refusal of a mechanism of which one outcome leaks more than it may."""
    return CertificationError(
        f"must leak at most epsilon = {epsilon!r}",
        parameter="mechanism",
        given=f"one whose outcome {repr(output)[:60]} leaks {leakage!r} nats",
        remedy="certify it for that level, or design for this one: `design(prior, epsilon)`",
    )


def _this_library() -> str:
    package = __name__.partition(".")[0]  # not imported: a module may not depend on the package it is part of
    return f"{package} {sys.modules[package].__version__}"


def _set(value: Certified, name: str, content: object) -> None:
    object.__setattr__(value, name, content)


# A matrix of doubles exceeds the level it was designed for by rounding: 1e-12 where rows are a little off 1.
# More than this is not rounding and is refused.
ROUNDING = 1e-9


class Designed(Protocol):
    """What a design says of itself; certification imports nothing of the optimization."""

    @property
    def prior(self) -> Prior: ...
    @property
    def prior_set(self) -> PriorSet | None: ...
    @property
    def made(self) -> object: ...
    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def notion(self) -> Notion: ...


@one_thread
def certify(
    prior: Prior | PriorSet | Designed,
    mechanism: Mechanism | BlockMechanism | None = None,
    epsilon: float | None = None,
    *,
    allow_true_answers: bool = False,
) -> Certified:
    """A mechanism as integers that keep epsilon exactly, with the proof that they do.

    certify(design) takes prior (or set of priors), mechanism and epsilon from the design.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> certified.epsilon, ex.epsilon_pml(prior, certified.mechanism) <= 0.6
    (0.6, True)

    Parameters
    ----------
    prior
        A design alone; or how frequent each input is. For a PriorSet epsilon holds for every prior of the set: the
        worst case is computed in exact rationals.
    mechanism
        The matrix to certify. It may leak more than epsilon by rounding (1e-9), no more. Of a mechanism in blocks the
        matrix between blocks is certified, for the exact masses of the blocks.
    epsilon
        The level to certify, in nats.
    allow_true_answers
        Certify even if reports disclose the answers: if, under the (nominal) prior, at most a tenth of the doubt about
        an answer is left when its report is seen. Otherwise DisclosureError is raised.

    Returns
    -------
    Certified
        The mechanism as integers, with its proof.

    Notes
    -----
    Of the ways to make the integers the first that passes the proof is taken, and `method` says which:

    - Rounding alone moves an entry by a few parts in 1e15.
    - Lowering columns on their own support and scaling them until rows sum to 1 keeps every zero. Scaling may change
      a column by up to a millionth of itself; seen were 1e-11 for designs, 3e-8 for other mechanisms.
    - The nearest mechanism with the same zeros, from a linear program, for what cannot be scaled.
    - Where no entry is zero, mixing in just enough of the constant mechanism, about 1e-14 of it.

    Residue becomes zero first: entries that leave an answer a positive share, but less than a millionth, of its
    probability (P(y|x) / P(y) < 1e-6). Others move by about as much as was removed, at most 1e-4 of themselves. If no
    mechanism near by does without it, CertificationError is raised. Only where epsilon itself forbids a zero, at the
    edge of a privacy region or less than a millionth below it, such entries stay, or arise; an audit counts their
    answers as ruled out.
    """
    if not isinstance(prior, Prior | PriorSet) and _is_design(prior):
        return _of_design(prior, mechanism, epsilon, allow_true_answers)
    if mechanism is None or epsilon is None or not isinstance(prior, Prior | PriorSet):
        raise MechanismError(
            "certify takes a design, or a prior, a mechanism and an epsilon",
            given=f"{type(prior).__name__}, {type(mechanism).__name__} and {type(epsilon).__name__}",
            remedy="e.g. `certify(design(prior, 0.5))`",
        )
    epsilon = check_epsilon(epsilon)
    if not isinstance(mechanism, Mechanism | BlockMechanism):
        raise no_mechanism(mechanism, "a Mechanism")
    blocks, full = None, prior
    if isinstance(mechanism, BlockMechanism):
        prior = _between_blocks(prior, mechanism)
        blocks, mechanism = mechanism.blocks, mechanism.between
    nominal = prior.nominal if isinstance(prior, PriorSet) else prior
    _check_fits(prior, nominal, mechanism, epsilon)
    if nominal.labels == tuple(range(len(nominal.labels))):
        nominal = Prior(nominal.probabilities, mechanism.inputs)
    priors = prior.with_labels(nominal.labels) if isinstance(prior, PriorSet) else None
    masses = exact_masses(full, blocks)
    for weights, method in candidates(prior, mechanism.matrix, epsilon):
        exact = weights.astype(np.uint64)
        if is_at_most(largest_exact_lift(masses, exact, blocks), epsilon):
            made = Certified(
                full if blocks is not None and isinstance(full, Prior) else nominal,
                mechanism.outputs,
                exact,
                epsilon,
                method,
                prior_set=priors,
                blocks=None if blocks is None else blocks.numbers,
            )
            check_protected(made.doubt, allow_true_answers)
            return made
    raise CertificationError(
        "has entries that leave an answer less than a millionth of its probability, and without "
        f"them no mechanism near it keeps epsilon = {epsilon!r}",
        parameter="mechanism",
        remedy=(
            f"certify it for a level above {epsilon + RULED_OUT!r}, or set them to zero and design again"
        ),
    )


def _is_design(thing: object) -> TypeGuard[Designed]:
    return {"prior", "prior_set", "made", "mechanism", "epsilon", "notion"} <= set(dir(thing))


def _of_design(design: Designed, mechanism: object, epsilon: object, allow_true_answers: bool) -> Certified:
    """The mechanism of a design."""
    if mechanism is not None or epsilon is not None:
        raise MechanismError(
            "a design brings its own mechanism and epsilon",
            remedy="give it alone, `certify(design)`, or give a prior, a mechanism and an epsilon",
        )
    if design.notion == MaximalLeakage:
        raise CertificationError(
            "a design for maximal leakage bounds no single report",
            remedy="certify its PML: `certify(prior, mechanism, epsilon)`",
        )
    made = design.made if isinstance(design.made, Mechanism | BlockMechanism) else design.mechanism
    priors = design.prior_set or design.prior
    return certify(priors, made, design.epsilon, allow_true_answers=allow_true_answers)


def _between_blocks(prior: Prior | PriorSet, mechanism: BlockMechanism) -> Prior:
    """The prior of the blocks."""
    blocks = mechanism.blocks
    if isinstance(prior, PriorSet) or prior.labels != blocks.labels:
        raise MechanismError(
            "a mechanism in blocks must come with the prior that its labels are of",
            given=repr(prior)[:60],
            remedy="pass design.prior",
        )
    if blocks.count == 1:
        raise MechanismError(
            "a mechanism with one block treats all labels alike: its reports say nothing",
            remedy="use one with at least 2 blocks",
        )
    return blocks.merged(prior)


def _check_fits(prior: Prior | PriorSet, nominal: Prior, mechanism: Mechanism, epsilon: float) -> None:
    """Refuse a mechanism of other labels, of too many entries, or that leaks more than rounding explains."""
    check_match(nominal, mechanism)
    n, m = mechanism.shape
    if n * m > mechanism_file.LARGEST_TABLE:
        raise SizeError(
            f"a certified mechanism must have at most {mechanism_file.LARGEST_TABLE} weights",
            given=f"{n} inputs x {m} outputs",
            remedy="merge rare labels or reduce the outputs: `theory.reduce_outputs(...)`",
        )
    leakage = pml(prior, mechanism)
    worst = int(np.argmax(leakage))
    if leakage[worst] > epsilon + ROUNDING:
        raise too_leaky(mechanism.outputs[worst], float(leakage[worst]), epsilon)
