"""What one report tells: its lift, its leakage in nats, and the doubt about the answer that it leaves.

Definition 1 in its simplified form: l(X→y) = log max_x P(y|x) / P_Y(y). The two operational forms are in
`adversary`. An output that never occurs leaks nothing: its lift is 1 and its leakage 0.

Doubt is the chance that the best guess is wrong: 1 - max_x P(x) without a report, 1 - sum_y max_x P(x, y) with one.
Reports disclose the answers if at most a tenth of the doubt is left. With two equally common answers that is a best
guess which is right with probability 0.95. Of tuples, which stand for several columns, every part is looked at, too: a
column that is copied has no protection, whatever is hidden beside it.

PML bounds how much more likely a report makes an answer; the pointwise maximal cost bounds how much less likely. Local
differential privacy holds exactly where both are bounded. Contraction says how much of the difference between two
groups of people survives in their reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._common import checks
from .._common.threads import one_thread_of_numpy
from .._common.types import Floats
from ..errors import DisclosureError
from .labels import Labels
from .levels import check_epsilon
from .mechanism import BlockMechanism, Mechanism, check_match, check_mechanism, common_labels
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
    return np.asarray(np.where(largest > 0, Q / (prior.probabilities @ Q), 1.0))


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
    return np.asarray(np.where(mean > 0, -np.log(np.where(mean > 0, mean, 1.0)), np.inf)) + 0.0


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


def tail_probability(prior: Prior, mechanism: Mechanism, epsilon: float) -> float:
    """P[l(X→Y) > epsilon]; excesses up to 1e-12 are rounding and do not count.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> ex.measures.tail_probability(prior, mechanism, 0.6 + 1e-9)
    0.0

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    epsilon
        The level to exceed, in nats.
    """
    return leakage_distribution(prior, mechanism).tail(epsilon)


@dataclass(frozen=True, eq=False)
class LeakageDistribution:
    """The leakage as a random variable of Y: its distinct values in increasing order, with probabilities.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> found = ex.measures.leakage_distribution(prior, mechanism)
    >>> round(float(found.probabilities.sum()), 6)
    1.0

    Attributes
    ----------
    values
        The leakages that occur, increasing.
    probabilities
        How often each occurs.
    """

    values: Floats
    probabilities: Floats

    @classmethod
    def of(cls, leakage: Floats, rho: Floats) -> LeakageDistribution:
        """The distribution of outcomes with these leakages and probabilities; those equal up to rounding are one.

        Parameters
        ----------
        leakage
            The leakage of each report.
        rho
            How often each report occurs.
        """
        order = np.argsort(leakage, kind="stable")
        order = order[rho[order] > 0]
        values, mass = leakage[order], rho[order]
        first = np.concatenate(([True], np.diff(values) > ROUNDING))
        probabilities = np.add.reduceat(mass, np.flatnonzero(first))
        return cls(values[first], probabilities / math.fsum(probabilities))

    def tail(self, epsilon: float) -> float:
        """P[l(X→Y) > epsilon]; excesses up to 1e-12 are rounding and do not count.

        Parameters
        ----------
        epsilon
            The level to exceed, in nats.
        """
        return min(math.fsum(self.probabilities[self.values > check_epsilon(epsilon) + ROUNDING]), 1.0)

    def quantile(self, q: float) -> float:
        """The smallest value v with P[l(X→Y) <= v] >= q.

        Parameters
        ----------
        q
            A probability.
        """
        q = checks.number(q, "q", least=0, most=1, remedy="0.95 gives the 95 % quantile")
        k = int(np.searchsorted(np.cumsum(self.probabilities), q - ROUNDING))
        return float(self.values[min(k, len(self.values) - 1)])

    @property
    @one_thread_of_numpy
    def mean(self) -> float:
        """E[l(X→Y)]."""
        return float(self.values @ self.probabilities)


def leakage_distribution(prior: Prior, mechanism: Mechanism) -> LeakageDistribution:
    """The distribution of l(X→Y) when Y is drawn by the mechanism; outcomes equal up to rounding are one.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> found = ex.measures.leakage_distribution(prior, mechanism)
    >>> round(float(found.probabilities.sum()), 6)
    1.0

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    return LeakageDistribution.of(pml(prior, mechanism), mechanism.output_distribution(prior))


def first_largest(leakage: Floats) -> int:
    """The first of the largest; equal up to rounding is equal, so that it is the same on every machine."""
    return int(np.argmax(leakage >= leakage.max() - ROUNDING))


def maximal_leakage(mechanism: Mechanism) -> float:
    """log sum_y max_x P(y|x): the leakage on average over Y; it does not depend on the prior.

    Examples
    --------
    >>> import extremal as ex
    >>> round(ex.measures.maximal_leakage(ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])), 3)  # log 1.5
    0.405

    Parameters
    ----------
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    return max(math.log(math.fsum(check_mechanism(mechanism).matrix.max(axis=0))), 0.0)


def ldp_epsilon(mechanism: Mechanism) -> float:
    """The smallest epsilon of local differential privacy: max of log P(y|x)/P(y|x').

    Infinite if a zero stands beside a positive probability in a column.

    Examples
    --------
    >>> import extremal as ex
    >>> round(ex.measures.ldp_epsilon(ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])), 3)  # log 3
    1.099

    Parameters
    ----------
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    P = check_mechanism(mechanism).matrix
    P = P[:, P.max(axis=0) > 0]
    low, high = P.min(axis=0), P.max(axis=0)
    if np.any(low == 0):
        return math.inf
    return float(np.max(np.log(high) - np.log(low)))


def lip_epsilon(prior: Prior, mechanism: Mechanism) -> float:
    """The smallest epsilon of local information privacy: max |log lift|.

    Infinite if an output excludes an input.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior([0.5, 0.5])
    >>> round(ex.measures.lip_epsilon(prior, ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])), 3)  # log 2
    0.693

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    ratio = lift(prior, mechanism)
    if np.any(ratio == 0):
        return math.inf
    return float(np.abs(np.log(ratio)).max())


def record_leakage(dp_epsilon: float, least: float) -> float:
    """The most that a release leaks about one record of a database, if it is dp_epsilon-differentially private.

    -log(α + (1 - α) exp(-ε₀)), for records that are independent of each other and whose every value has at least the
    probability α = `least`. Randomized response about one record with a value of probability α attains it.

    Examples
    --------
    >>> import extremal as ex
    >>> round(ex.measures.record_leakage(1.0, 0.1), 3)
    0.841

    Parameters
    ----------
    dp_epsilon
        The level of differential privacy of the release.
    least
        The smallest probability of any value of a record.
    """
    level = checks.number(dp_epsilon, "dp_epsilon", least=0, remedy="e.g. 1")
    alpha = checks.number(least, "least", least=0, most=1, remedy="e.g. 0.1")
    return -math.log(alpha + (1 - alpha) * math.exp(-level)) + 0.0


def pointwise_cost(prior: Prior, mechanism: Mechanism) -> Floats:
    """-log min_x P(y|x) / P_Y(y) for every report y: how much less likely y can make an answer, in nats.

    Infinite where y rules an answer out. The level of local differential privacy is finite exactly if the largest
    leakage and the largest cost are, and at most their sum; it is at least the larger of the two.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> ex.measures.pointwise_cost(prior, mechanism).shape == (mechanism.shape[1],)
    True

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    smallest = lift(prior, mechanism).min(axis=0)
    return np.asarray(-np.log(smallest, out=np.full_like(smallest, -np.inf), where=smallest > 0)) + 0.0


def dobrushin(mechanism: Mechanism) -> float:
    """max over x, x' of the total variation between P(·|x) and P(·|x').

    It is the contraction coefficient of total variation: for any two distributions of the answer at distance t,
    their reports are at most dobrushin(mechanism) * t apart, and some pair attains it.

    Examples
    --------
    >>> import extremal as ex
    >>> round(ex.measures.dobrushin(ex.Mechanism([[0.8, 0.2], [0.3, 0.7]])), 3)
    0.5

    Parameters
    ----------
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    from scipy.spatial.distance import pdist

    P = check_mechanism(mechanism).matrix
    return min(float(pdist(P, "cityblock").max(initial=0.0)) / 2, 1.0)


@one_thread_of_numpy
def chi_squared_contraction(prior: Prior, mechanism: Mechanism) -> float:
    """The largest χ²(QP‖πP) / χ²(Q‖π) over all distributions Q ≠ π of the answer.

    It is the square of the maximal correlation between answer and report, and the second eigenvalue of the matrix
    Σ_y sqrt(π_x π_x') P(y|x) P(y|x') / P_Y(y), whose first is 1.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> 0 < ex.measures.chi_squared_contraction(prior, mechanism) < 1
    True

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    """
    check_match(prior, mechanism)
    P = mechanism.matrix[:, mechanism.matrix.max(axis=0) > 0]
    root, largest = np.sqrt(prior.probabilities), P.max(axis=0)
    Q = P / largest  # P_Y may underflow
    scaled = root[:, None] * Q * np.sqrt(largest / (prior.probabilities @ Q))
    scaled = scaled - np.outer(root, root @ scaled)  # the direction with the eigenvalue 1 leaves
    return float(np.clip(np.linalg.norm(scaled, 2) ** 2, 0.0, 1.0))
