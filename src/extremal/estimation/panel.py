"""The same people asked twice: how shares and answers changed, from pairs of reports.

Two draws for one person are one draw of the product mechanism, whose inputs are pairs of answers. So the joint
distribution of answers in both waves, and everything linear in it, is estimated like any other shares: the
change of a share is a difference of two sums, with the dependence between the waves accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Floats
from ..certification.certified import Certified, as_estimable
from ..errors import OptionError, ValuesError
from ..model.labels import Labels, as_list, is_missing
from ..model.mechanism import Mechanism, check_size
from ..model.prior import Prior
from .counts import report_codes
from .differences import ratio_table
from .estimate import Method, check_same_answers, estimate
from .interval_table import IntervalTable
from .intervals import lower_limit
from .result import Estimate
from .sample import SampleDesign, check_sample

FALSE_ALARM = 1e-9  # how likely independent draws are taken for dependent ones, at most


@dataclass(frozen=True, eq=False, repr=False)
class Change:
    """What happened between two waves: shares in each, their change, and who moved where.

    `joint` is the estimate of all pairs of answers; `dropped` counts people who reported in one wave only.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"yes": 0.3, "no": 0.7})
    >>> certified = ex.certify(ex.design(prior, 0.5))
    >>> first, second = ["yes", "no", "no"] * 300, ["yes", "yes", "no"] * 300
    >>> words = ex.randomness.SeededWords(1)
    >>> reports = [certified.privatize(wave, source=words) for wave in (first, second)]
    >>> found = ex.panels.change([certified, certified], *reports)
    >>> found.dropped
    0

    Attributes
    ----------
    labels
        The answers.
    joint
        The estimate of all pairs of answers.
    dropped
        How many people reported in one wave only.
    """

    labels: Labels
    joint: Estimate
    dropped: int

    @cached_property
    def first(self) -> IntervalTable:
        """The shares in the first wave."""
        return self.joint.combinations("shares in the first wave", self.labels, self._sums(1.0, 0.0))

    @cached_property
    def second(self) -> IntervalTable:
        """The shares in the second wave."""
        return self.joint.combinations("shares in the second wave", self.labels, self._sums(0.0, 1.0))

    @cached_property
    def change(self) -> IntervalTable:
        """The share of each answer in the second wave minus that in the first."""
        return self.joint.combinations("changes of shares", self.labels, self._sums(-1.0, 1.0))

    @cached_property
    def stayed(self) -> IntervalTable:
        """The share of people whose answer is the same in both waves."""
        target = np.eye(len(self.labels)).ravel()
        return self.joint.combinations("people with the same answer", ("stayed",), target[None])

    @property
    def matrix(self) -> Floats:
        """From row to column: the share of those with an answer first who have another one then; NaN if nobody."""
        theta = self.joint.shares.reshape(len(self.labels), -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(theta / theta.sum(axis=1, keepdims=True))

    @cached_property
    def transitions(self) -> IntervalTable:
        """Each element of the matrix with an ordinary interval; "never -> once" is from never to once."""
        size = len(self.labels)
        title = f"{size * size} transitions from {self.joint.reports} pairs of reports"
        names = tuple(f"{a} -> {b}" for a, b in product(self.labels, self.labels))
        same = np.arange(size * size) // size  # all pairs with the same first answer
        wholes = np.asarray(same[:, None] == same, dtype=np.float64)
        return ratio_table(self.joint, title, names, np.eye(size * size), wholes)

    def __str__(self) -> str:
        lines = [str(self.change), str(self.stayed), str(self.transitions)]
        if self.dropped:
            lines.append(f"{self.dropped} people who reported in one wave only were left out")
        return "\n".join(lines)

    __repr__ = __str__

    def _sums(self, first: float, second: float) -> Floats:
        """For each label the coefficients of all pairs: those with it in the first, and in the second wave."""
        size = len(self.labels)
        one, both = np.eye(size), np.ones(size)
        return np.array([first * np.kron(row, both) + second * np.kron(both, row) for row in one])


@one_thread
def change(
    mechanisms: Any,
    first: Any,
    second: Any,
    confidence: float = 0.95,
    *,
    intervals: str = "each",
    sample: SampleDesign | None = None,
) -> Change:
    """How answers of the same people changed between two waves.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"yes": 0.3, "no": 0.7})
    >>> certified = ex.certify(ex.design(prior, 0.5))
    >>> first, second = ["yes", "no", "no"] * 300, ["yes", "yes", "no"] * 300
    >>> words = ex.randomness.SeededWords(1)
    >>> reports = [certified.privatize(wave, source=words) for wave in (first, second)]
    >>> found = ex.panels.change([certified, certified], *reports)
    >>> found.dropped
    0

    Parameters
    ----------
    mechanisms
        That of the first and that of the second wave, with the same inputs. They may be the same, but the draws must
        have been independent.
    first, second
        The reports of the waves, columns in the same order of people. Who is missing in one of them is left out; the
        result says how many.
    confidence, intervals, sample
        As in `estimate`.
    """
    if not isinstance(mechanisms, tuple | list) or len(mechanisms) != 2:
        raise OptionError(
            "must be those of the two waves", parameter="mechanisms", given=repr(mechanisms)[:60]
        )
    one, two = (as_estimable(m) for m in mechanisms)
    check_same_answers(two, one)
    for wave in (first, second):
        if isinstance(wave, str | bytes) or not hasattr(wave, "__iter__"):
            raise ValuesError("reports of a wave must be a column", given=repr(wave)[:60])
    columns = [as_list(first), as_list(second)]
    remedy = "put an empty value where somebody did not report"
    checks.length(columns[1], "second", len(columns[0]), "person", remedy=remedy, error=ValuesError)
    there = np.array(
        [not (is_missing(a) or is_missing(b)) for a, b in zip(*columns, strict=True)], dtype=bool
    )
    kept = np.flatnonzero(there)
    codes = [
        report_codes(m.outputs, [column[i] for i in kept])
        for m, column in zip((one, two), columns, strict=True)
    ]
    _check_independent(one, two, codes)
    check_size(one.shape[0] * two.shape[0], one.shape[1] * two.shape[1])
    pairs = codes[0] * two.shape[1] + codes[1]
    drawn = check_sample(sample)
    if drawn is not None:
        drawn = drawn.at(kept, len(there))
    # Codes stand for the pairs of labels: no comparison of tuples for each person.
    inputs = list(product(one.inputs, two.inputs))
    numbered = Mechanism(np.kron(one.matrix, two.matrix), inputs)
    marginals = [
        m.prior_between if isinstance(m, Certified) else Prior.uniform(one.inputs) for m in mechanisms
    ]
    expected = np.kron(marginals[0].probabilities, marginals[1].probabilities)
    how = Method(prior=Prior(expected, inputs))
    found = estimate(numbered, pairs, confidence, intervals=intervals, sample=drawn, method=how)
    return Change(one.inputs, found, len(there) - len(kept))


def _check_independent(one: Mechanism, two: Mechanism, codes: list[Any]) -> None:
    """Refuse reports that agree more often than independent draws can, whatever the answers are."""
    n = len(codes[0])
    if one.outputs != two.outputs or n == 0:
        return
    agree = int(np.count_nonzero(codes[0] == codes[1]))
    most = float((one.matrix @ two.matrix.T).max())  # for the answers that make it likeliest
    if lower_limit(np.array([agree]), n, FALSE_ALARM)[0] > most:
        raise ValuesError(
            f"draws of the two waves must be independent: reports can agree in about {most:.0%} of all people",
            given=f"{agree} of {n} that agree",
            remedy="draw the second wave with another occasion, and give the files of two waves",
        )
