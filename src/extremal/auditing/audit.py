"""audit(): what a mechanism leaks, in numbers; `text` puts it into words, `figures` into what JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._common import checks
from .._common.json import json_text
from .._common.threads import one_thread
from .._common.types import Axes, Floats
from ..certification import proof
from ..certification.certified import Certified, as_mechanism
from ..certification.integers import exact_columns, exact_masses
from ..errors import MechanismError, PriorError
from ..model.adversary import Attribute, worst_attribute
from ..model.blocks import BlockMechanism, Blocks
from ..model.leakage import Doubt, doubt, lift, pml
from ..model.leakage_measures import (
    LeakageDistribution,
    first_largest,
    ldp_epsilon,
    leakage_distribution,
    maximal_leakage,
)
from ..model.mechanism import Mechanism, check_match, common_labels
from ..model.prior import Prior, check_prior
from ..model.prior_set import PriorSet
from ..model.processing import Function, seen_from
from ..model.utility import mutual_information
from . import text as audit_text
from .envelope import Envelope
from .figures import (
    Disclosure,
    Guesses,
    NearCertainty,
    Outcome,
    disclosures,
    figures,
    near_certainty,
    nearly_certain,
    outcomes,
)


@dataclass(frozen=True)
class WorstCase:
    """The attribute that attains the leakage: a bet on one answer, after the report that favours it most.

    Somebody who has to name the answer or equally unlikely alternatives is right with probability `before`;
    after the report with probability `after` = e^epsilon * before. `Audit.worst_attribute()` builds it.
    """

    report: Hashable
    symbol: Hashable
    before: float
    after: float


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What a mechanism leaks, by report; all leakages are in nats.

    `exact` says that leakages were computed from the integers of a certified mechanism: each is then proved
    to be no less than the true one, within a few units in the last place. An infinite figure (ldp_epsilon,
    lip_epsilon, lip_lower where a report has probability 0 for an answer) is None in to_dict().

    Over a `prior_set` leakages are the worst case of every prior in it. All other figures (how often a report comes
    out, what is guessed, what is ruled out) are those of `prior`, the nominal one.

    Of a mechanism in blocks `prior` and `mechanism` are those of the blocks, `answers` is the prior of the single
    answers, and guesses are of single answers: a report leaks as much about an answer as about its block.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> audit = ex.audit(ex.certify(ex.design(prior, 0.6)))
    >>> round(audit.epsilon, 3)
    0.6
    >>> print(audit.to_markdown().splitlines()[0])
    # Privacy audit

    Attributes
    ----------
    prior
        The prior that the figures are for; of a set, the nominal one.
    mechanism
        The mechanism that was audited.
    leakage
        The leakage of each report, in nats.
    exact
        Whether leakages were computed from certified integers.
    certified_epsilon
        The limit that is certified, if there is one.
    prior_set
        The set of priors, if the audit is for one.
    blocks
        The blocks of answers that are treated alike, if there are any.
    answers
        With blocks, the prior of the single answers.
    """

    prior: Prior
    mechanism: Mechanism
    leakage: Floats
    exact: bool
    certified_epsilon: float | None = None
    prior_set: PriorSet | None = None
    blocks: Blocks | None = None
    answers: Prior | None = None

    @property
    def answer_prior(self) -> Prior:
        """The prior of single answers."""
        return self.prior if self.answers is None else self.answers

    @cached_property
    def guesses(self) -> Guesses:
        """The likeliest answer of each row."""
        if self.blocks is None or self.answers is None:
            names = common_labels(self.prior.labels, self.mechanism.inputs)
            return Guesses(self.prior.probabilities, names)
        best = self.blocks.likeliest(self.answers)
        labels = tuple(self.answers.labels[i] for i in best.tolist())
        return Guesses(self.answers.probabilities[best], labels)

    @property
    def epsilon(self) -> float:
        """The smallest epsilon such that the mechanism is epsilon-PML."""
        return float(self.leakage.max())

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Each report with its leakage, the answers that attain it and those it rules out."""
        return outcomes(self.prior, self.mechanism, self.leakage, self.guesses)

    @cached_property
    def disclosures(self) -> tuple[Disclosure, ...]:
        """The events that some report confirms, the least likely first: it rules all other answers out."""
        return disclosures(self.prior, self.mechanism)

    @cached_property
    def near_certainty(self) -> NearCertainty | None:
        """The report that comes closest to giving an answer away, if some make one at least 95% likely."""
        return near_certainty(self.prior, self.mechanism, self.guesses)

    @cached_property
    def distribution(self) -> LeakageDistribution:
        """The leakage as a random variable of the report."""
        if self.prior_set is None:
            return leakage_distribution(self.prior, self.mechanism)
        return LeakageDistribution.of(self.leakage, self.mechanism.output_distribution(self.prior))

    def tail(self, epsilon: float) -> float:
        """P[l(X→Y) > epsilon]: how often a report leaks more than epsilon.

        Parameters
        ----------
        epsilon
            The level to exceed, in nats.
        """
        return self.distribution.tail(epsilon)

    @cached_property
    def envelope(self) -> Envelope:
        """How much the worst share of all reports can tell: envelope(0.01) for one in a hundred, in nats."""
        return Envelope.of(self.prior.probabilities, self.mechanism.matrix)

    @cached_property
    def maximal_leakage(self) -> float:
        """log E[exp l(X→Y)]: the leakage on average over reports."""
        return maximal_leakage(self.mechanism)

    @cached_property
    def mutual_information(self) -> float:
        """I(X;Y)."""
        return mutual_information(self.prior, self.mechanism)

    @cached_property
    def ldp_epsilon(self) -> float:
        """The level of local differential privacy, infinite if a report has probability 0 for an answer."""
        return ldp_epsilon(self.mechanism)

    @cached_property
    def lip_lower(self) -> float:
        """max -log lift: how much less likely a report can make an answer; infinite if that becomes impossible."""
        lowest = float(lift(self.prior, self.mechanism).min())
        return max(-math.log(lowest), 0.0) if lowest > 0 else math.inf

    @property
    def lip_epsilon(self) -> float:
        """The level of local information privacy: the larger of epsilon and its lower side."""
        return max(self.epsilon, self.lip_lower)

    @property
    def prior_guess(self) -> float:
        """The probability of guessing X right without any report."""
        return float(self.answer_prior.probabilities.max())

    @cached_property
    def average_guess(self) -> float:
        """The probability of guessing X right after seeing a report, on average over reports."""
        joint = self.guesses.probabilities[:, None] * self.mechanism.matrix
        return min(math.fsum(joint.max(axis=0)), 1.0)

    @property
    def worst_guess(self) -> float:
        """The probability of guessing X right after the report that helps most."""
        return max(outcome.guess_probability for outcome in self.outcomes if outcome.probability > 0)

    @cached_property
    def doubt(self) -> Doubt:
        """The chance that the best guess is wrong, before and after a report; whether reports disclose the answers."""
        if self.blocks is None or self.answers is None:
            return doubt(self.prior, self.mechanism)
        return doubt(self.answers, BlockMechanism(self.blocks, self.mechanism))

    @property
    def nearly_discloses(self) -> bool:
        """Whether reports are as good as answers: the best guess from one is nearly certain on average."""
        return bool(nearly_certain(self.average_guess, self.prior_guess))

    def guess_bound(self, before: Any) -> float:
        """The largest chance of guessing right after any report, if it was `before` without one.

        min(1, e^epsilon * before), which no observer, no attribute and no report exceeds.

        Parameters
        ----------
        before
            The chance of a right guess without the report.
        """
        chance = checks.number(before, "before", least=0, most=1, remedy="e.g. 0.1")
        return min(1.0, math.exp(self.epsilon) * chance)

    @cached_property
    def worst_case(self) -> WorstCase:
        """The report and the answer that attain epsilon, with the chances before and after.

        Over a set of priors they are those of the nominal prior, and other priors in it come closer to epsilon.
        """
        j = first_largest(np.where(self.mechanism.matrix.max(axis=0) > 0, self.leakage, -1.0))
        ratio = lift(self.prior, self.mechanism)[:, j]
        i = int(np.argmax(ratio))
        before = float(self.guesses.probabilities[i])
        return WorstCase(
            self.mechanism.outputs[j], self.guesses.labels[i], before, min(before * float(ratio[i]), 1.0)
        )

    def worst_attribute(self) -> Attribute:
        """An attribute whose chance of being guessed rises by exactly e^epsilon after the worst report.

        Over a set of priors: by as much as it can under the nominal one.

        It has at least 1 / before values, so of a very rare answer it does not fit into memory (SizeError);
        `worst_case` gives its chances in any case.
        """
        return worst_attribute(self.prior, self.mechanism, self.worst_case.report)

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, strings and lists; None stands for an infinite figure."""
        return figures(self)

    def to_json(self) -> str:
        """to_dict() as JSON text, without NaN or infinities."""
        return json_text(self.to_dict(), indent=2)

    def to_markdown(self) -> str:
        """The audit as a page for readers who are not statisticians."""
        return audit_text.markdown(self)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with the leakage of each report, or of more than 40 reports how often each level is exceeded.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        from .pictures import draw_leakage

        return draw_leakage(self.leakage, self.distribution, self.mechanism.outputs, self.epsilon, axes)

    def __str__(self) -> str:
        return audit_text.short(self)

    def __repr__(self) -> str:
        n, m = self.answer_prior.size, self.mechanism.shape[1]
        return f"Audit({n} inputs, {m} outputs, epsilon={self.epsilon:.6g}{', exact' if self.exact else ''})"

    def _repr_html_(self) -> str:
        return audit_text.page(self)


@one_thread
def audit(
    prior: Prior | PriorSet | Certified,
    mechanism: Mechanism | Certified | None = None,
    *,
    attribute: Mechanism | Function | None = None,
) -> Audit:
    """What reports of a mechanism can reveal, one by one and in the worst case.

    audit(certified) takes the prior, or the set of priors, that the mechanism is certified for. With another
    prior the audit says what the mechanism leaks about people who follow that one, and with a set of priors what
    it leaks in the worst case over the set. For a certified mechanism the leakages are those of its integer
    weights, computed exactly and rounded up.

    With an `attribute` of X, a function or mapping of its labels or a channel from them, the audit is about that
    attribute alone, under one prior, and so is its prior. It never leaks more than X itself.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.audit(prior, ex.theory.randomized_response(prior, 1.0)).epsilon, 3)
    0.705

    Parameters
    ----------
    prior
        A certified mechanism alone; or the prior, or set of priors, of the people to protect.
    mechanism
        The mechanism, certified or not.
    attribute
        A function or mapping of the answers, or a channel from them, to audit instead of the answer.

    Returns
    -------
    Audit
        Figures, sentences and pages about what leaks.
    """
    if isinstance(prior, Certified) and mechanism is None:
        return audit(prior.prior_set or prior.prior, prior, attribute=attribute)
    if mechanism is None or isinstance(prior, Certified):
        problem = "audit takes a prior and a mechanism, or a certified mechanism alone"
        given = f"{repr(prior)[:60]} and {repr(mechanism)[:60]}"
        raise MechanismError(problem, given=given, remedy="e.g. audit(prior, mechanism)")
    priors = prior if isinstance(prior, PriorSet) else None
    nominal = check_prior(prior if priors is None else priors.nominal)
    if attribute is not None:
        if priors is not None:
            raise PriorError(
                "an attribute must be audited under one prior",
                given="a set of priors",
                remedy="e.g. audit(priors.nominal, mechanism, attribute=attribute)",
            )
        return audit(*seen_from(nominal, as_mechanism(mechanism), attribute))
    known = nominal if priors is None else priors
    if isinstance(mechanism, Certified) and mechanism.grouping is not None:
        return _audit_blocks(known, mechanism, mechanism.grouping)
    if isinstance(mechanism, Certified):
        check_match(nominal, mechanism.mechanism)
        leakage = _exact_leakage(known, mechanism)
    else:
        leakage = pml(known, mechanism)
    if not np.isfinite(leakage).all():
        report = as_mechanism(mechanism).outputs[int(np.argmax(leakage))]
        raise MechanismError(
            "the leakage over this set of priors is infinite: one of them gives the report "
            f"{repr(report)[:60]} the probability 0",
            remedy="take a smaller set, e.g. PriorSet.at_least(n, mass) with mass > 0",
        )
    level = mechanism.epsilon if isinstance(mechanism, Certified) else None
    return Audit(nominal, as_mechanism(mechanism), leakage, level is not None, level, priors)


def _audit_blocks(prior: Prior | PriorSet, mechanism: Certified, blocks: Blocks) -> Audit:
    """The audit of a mechanism in blocks."""
    if isinstance(prior, PriorSet) or prior.labels != blocks.labels:
        raise PriorError(
            "a mechanism in blocks must be audited under a prior of its labels",
            given=repr(prior)[:60],
            remedy="e.g. `audit(certified)`, or a Prior with `labels=certified.inputs`",
        )
    return Audit(
        blocks.merged(prior),
        mechanism.between,
        _exact_leakage(prior, mechanism),
        True,
        mechanism.epsilon,
        blocks=blocks,
        answers=prior,
    )


def _exact_leakage(prior: Prior | PriorSet, mechanism: Certified) -> Floats:
    """The leakage of every output, from the integers and rounded up."""
    found = exact_masses(prior, mechanism.grouping)
    return np.array(
        [
            max(proof.log_above(proof.largest_lift(masses, [runs])) for masses in found)
            for runs in exact_columns(mechanism.weights, mechanism.grouping)
        ]
    )


def disclosure(certified: Certified) -> list[str]:
    """That reports disclose the answers; else that epsilon would allow it, or that they come close; where it is so."""
    top = certified.prior.epsilon_max
    if certified.doubt.disclosed or certified.epsilon < top:
        return near_disclosure(audit(certified.prior, certified))
    return [
        f"WARNING: epsilon {certified.epsilon:g} is not below epsilon_max = {top:.4g} of this prior: it rules nothing "
        "out, not even to report the true answer"
    ]


def near_disclosure(made: Audit) -> list[str]:
    """That reports disclose the answers, or come close to them, where they do."""
    if made.doubt.disclosed:
        return [f"WARNING: no protection: {made.doubt}"]
    if not made.nearly_discloses:
        return []
    return [
        "WARNING: reports are close to the answers themselves: the best guess from a report is right with probability "
        f"{audit_text.chance(made.average_guess)}, {audit_text.chance(made.prior_guess)} without one"
    ]
