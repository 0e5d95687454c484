"""What one report tells: its lift, its leakage in nats, and the doubt about the answer that it leaves.

Definition 1 in its simplified form: l(X→y) = log max_x P(y|x) / P_Y(y). The two operational forms are in
`adversary`. An output that never occurs leaks nothing: its lift is 1 and its leakage 0.

Doubt is the chance that the best guess is wrong: 1 - max_x P(x) without a report, 1 - sum_y max_x P(x, y) with one.
Reports disclose the answers if at most a tenth of the doubt is left. With two equally common answers that is a best
guess which is right with probability 0.95. Of tuples, which stand for several columns, every part is looked at, too: a
column that is copied has no protection, whatever is hidden beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._common.threads import one_thread_of_numpy
from .._common.types import Floats
from ..errors import DisclosureError
from .blocks import BlockMechanism
from .labels import Labels
from .mechanism import Mechanism, check_match, common_labels
from .prior import Prior
from .prior_set import PriorSet

# A leakage may exceed the level it was designed for by rounding alone.
ROUNDING = 1e-12

# A report rules an answer out if it leaves it less than this share of its probability. A share that is positive and
# smaller protects nobody: it comes from a solver or from rounding.
RULED_OUT = 1e-6


@one_thread_of_numpy
def lift(prior: Prior, mechanism: Mechanism) -> Floats:
    """P(y|x) / P_Y(y) for every input (rows) and output (columns).

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> float(ex.measures.lift(prior, mechanism).max().round(3))  # e^0.6
    1.822

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    check_match(prior, mechanism)
    P = mechanism.matrix
    largest = P.max(axis=0)
    Q = np.divide(P, largest, out=np.ones_like(P), where=largest > 0)  # scaled: P_Y may underflow
    return np.where(largest > 0, Q / (prior.probabilities @ Q), 1.0)


def pml(prior: Prior | PriorSet, mechanism: Mechanism) -> Floats:
    """The leakage l(X→y) of each report y, in nats: how much it can help to guess any attribute of the answer X.

    Over a set of priors the worst case for each output: log max_x P(y|x) / min P_Y(y). Infinite where a prior of the
    set gives an output no probability.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.pml(prior, ex.theory.randomized_response(prior, 1.0)).round(3).tolist()
    [0.38, 0.584, 0.705]

    Parameters
    ----------
    prior
        How common each answer is, or a set of priors.
    mechanism
        The mechanism: a row for each answer, a column for each report.

    Returns
    -------
    ndarray
        The leakage of each report, in nats.
    """
    if isinstance(prior, PriorSet):
        return _worst_pml(prior, mechanism)
    return np.asarray(np.log(np.maximum(lift(prior, mechanism).max(axis=0), 1.0)))


def _worst_pml(priors: PriorSet, mechanism: Mechanism) -> Floats:
    check_match(priors.nominal, mechanism)
    P = mechanism.matrix
    largest = P.max(axis=0)
    Q = np.divide(P, largest, out=np.ones_like(P), where=largest > 0)
    mean = np.minimum(priors.smallest_means(Q), 1.0)
    return np.where(mean > 0, -np.log(np.where(mean > 0, mean, 1.0)), np.inf) + 0.0


def epsilon_pml(prior: Prior | PriorSet, mechanism: Mechanism) -> float:
    """The leakage of the worst report, in nats; over a set of priors, under the worst of them.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.epsilon_pml(prior, ex.theory.randomized_response(prior, 1.0)), 3)
    0.705
    >>> round(ex.epsilon_pml(ex.PriorSet.l1_ball(prior, 0.1), ex.theory.randomized_response(prior, 1.0)), 3)
    0.771

    Parameters
    ----------
    prior
        How common each answer is, or a set of priors.
    mechanism
        The mechanism: a row for each answer, a column for each report.

    Returns
    -------
    float
        The leakage of the worst report, in nats.
    """
    return float(pml(prior, mechanism).max())


LEFT = 0.1  # of the doubt before: where no more is left, the answers are disclosed
LEFT_ROUNDING = 1e-9  # relative: a mechanism made for exactly that much counts as one


@dataclass(frozen=True)
class Doubt:
    """The chance that the best guess of an answer is wrong, before and after its report; of which part of it."""

    before: float
    after: float
    part: int | None = None  # of a tuple, counted from 0; None for the whole answer

    @property
    def disclosed(self) -> bool:
        """Whether reports tell the answers, fully or nearly."""
        return self.before > 0 and self.after <= LEFT * self.before * (1 + LEFT_ROUNDING)

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
