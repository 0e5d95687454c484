"""Whether reports disclose the answers: how much of the doubt about an answer is left when its report is seen.

Doubt is the chance that the best guess is wrong: 1 - max_x P(x) without a report, 1 - sum_y max_x P(x, y) with one.
Reports disclose the answers if at most a tenth of the doubt is left. With two equally common answers that is a best
guess which is right with probability 0.95. Of tuples, which stand for several columns, every part is looked at, too: a
column that is copied has no protection, whatever is hidden beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._common.types import Floats
from ..errors import DisclosureError
from .blocks import BlockMechanism
from .labels import Labels
from .mechanism import Mechanism, common_labels
from .prior import Prior

LEFT = 0.1  # of the doubt before: where no more is left, the answers are disclosed
ROUNDING = 1e-9  # relative: a mechanism made for exactly that much counts as one


@dataclass(frozen=True)
class Doubt:
    """The chance that the best guess of an answer is wrong, before and after its report; of which part of it."""

    before: float
    after: float
    part: int | None = None  # of a tuple, counted from 0; None for the whole answer

    @property
    def disclosed(self) -> bool:
        """Whether reports tell the answers, fully or nearly."""
        return self.before > 0 and self.after <= LEFT * self.before * (1 + ROUNDING)

    @property
    def fully(self) -> bool:
        """Whether every report tells the answer for certain."""
        return self.disclosed and self.after == 0

    def __str__(self) -> str:
        what = "answer" if self.part is None else f"value of column {self.part + 1}"
        if self.fully:
            return f"every report tells the true {what}"
        right, without = _right(self.after), _right(self.before)
        return f"the best guess of the {what} from its report is right for {right} of people, for {without} without it"


def doubt(prior: Prior, mechanism: Mechanism | BlockMechanism) -> Doubt:
    """The doubt about the answer; about a part of it, if reports disclose that part and not the whole."""
    if isinstance(mechanism, BlockMechanism):
        blocks, between = mechanism.blocks, mechanism.between
        best = prior.probabilities[blocks.likeliest(prior)]
        hidden = math.fsum(prior.probabilities) - math.fsum(best)  # answers that no guess names
        return _doubt(best[:, None] * between.matrix, max(hidden, 0.0))
    labels = common_labels(prior.labels, mechanism.inputs)
    joint = prior.probabilities[:, None] * mechanism.matrix
    whole = _doubt(joint)
    if whole.disclosed:
        return whole
    parts = (_doubt(_of_part(joint, labels, k), part=k) for k in range(_width(labels)))
    return next((found for found in parts if found.disclosed), whole)


def check_protected(found: Doubt, allow_true_answers: bool, name: object = None) -> None:
    """Refuse a mechanism that discloses the answers, unless its user has asked for one that does."""
    if not allow_true_answers and found.disclosed:
        of = f" for {name!r}" if name else ""
        raise DisclosureError(
            f"must not disclose the true answers{of}",
            parameter="mechanism",
            given=f"one that protects nobody: {found}",
            remedy="choose a smaller epsilon, or insist with `allow_true_answers=True`",
        )


def _doubt(joint: Floats, hidden: float = 0.0, part: int | None = None) -> Doubt:
    """From the joint probabilities of answers (rows) and reports, and the mass of answers that no guess names.

    What is not guessed is summed, so nothing cancels.
    """
    shares = joint.sum(axis=1)
    best = joint.argmax(axis=0)
    wrong = joint.copy()
    wrong[best, np.arange(joint.shape[1])] = 0.0
    before = math.fsum([*np.delete(shares, np.argmax(shares)).tolist(), hidden])
    return Doubt(before, math.fsum([*wrong.sum(axis=0).tolist(), hidden]), part)


def _width(labels: Labels) -> int:
    """How many parts labels have: 0 unless all are tuples of one length, at least 2."""
    widths = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    return width if len(widths) == 1 and (width := widths.pop()) > 1 else 0


def _of_part(joint: Floats, labels: Labels, part: int) -> Floats:
    """The joint probabilities of one part of the answers and the reports."""
    numbers: dict[object, int] = {}
    rows = [numbers.setdefault(label[part], len(numbers)) for label in labels if isinstance(label, tuple)]
    merged = np.zeros((len(numbers), joint.shape[1]))
    np.add.at(merged, rows, joint)
    return merged


def _right(wrong: float) -> str:
    """The chance of a right guess in per cent, never rounded to certainty."""
    text = f"{100 * (1 - wrong):.3g}"
    return "more than 99.9%" if text == "100" and wrong > 0 else f"{text}%"
