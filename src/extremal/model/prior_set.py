"""PriorSet: a set of priors of which one is the true one.

Every set here is {pi : lower <= pi <= upper, sum pi = 1, ||pi - center||_1 <= radius}: an l1 ball has no bounds but
0 and 1, intervals have the radius 2, which limits nothing. The prior of the set under which a column p is least likely
is found by moving mass from the symbols where p is largest to those where it is smallest, as far as bounds and radius
allow: it depends on p only through the order of its elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._common import checks
from .._common.types import Floats, Ints
from .._common.words import shorten
from ..errors import PriorError
from .evidence import (
    SLACK,
    WHOLE_SIMPLEX,
    Bounds,
    CountedAnswers,
    Evidence,
    around,
    at_most_slack,
    bounds_in_order,
    check_bounds,
    check_order,
)
from .labels import Labels, check_labels
from .prior import Prior, check_prior
from .report_evidence import VALID, CollectedReports, collected, sure_ranges
from .report_sums import within


@dataclass(frozen=True, eq=False, repr=False)
class PriorSet:
    """A convex set of priors with a nominal one inside, under which utility is measured.

    Where a function takes a PriorSet in place of a Prior it promises the worst case over the set. If the set comes
    from a sample it holds the true prior with probability `confidence`, and so does the promise. With `evidence`, such
    as the counts of that sample, the set is computed again from it and refused if it does not follow; without,
    the confidence is a claim of whoever made the set. Build one with from_counts, from_reports, l1_ball,
    intervals or at_least.

    Examples
    --------
    >>> import extremal as ex
    >>> priors = ex.PriorSet.from_counts({"never": 50, "once": 30, "often": 20}, confidence=0.95)
    >>> priors.contains(ex.Prior({"never": 0.45, "once": 0.35, "often": 0.2}))
    True

    Attributes
    ----------
    nominal
        The prior under which utility is measured.
    center
        The centre of the l1 ball.
    lower
        The smallest probability of each answer.
    upper
        The largest probability of each answer.
    radius
        The radius of the l1 ball.
    confidence
        The probability that the set holds the true prior.
    evidence
        What the set was made from, if it was made from data.
    note
        What the maker of the set wrote about it. Nothing of it is proven.
    """

    nominal: Prior
    center: Floats
    lower: Floats
    upper: Floats
    radius: float
    confidence: float
    evidence: Evidence | None = None
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("center", "lower", "upper"):
            values = checks.numbers(getattr(self, name), name, error=PriorError)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        sizes = {len(values) for values in (self.center, self.lower, self.upper)}
        held = sizes == {check_prior(self.nominal).size} and self.contains(self.center)
        if not (held and self.center.min() >= 0 and self.contains(self.nominal)):
            raise PriorError(
                "a prior set must hold its center and its nominal prior",
                given=f"{shorten(self.center.tolist())} and {self.nominal!r}",
                remedy="build one with from_counts, from_reports, l1_ball, intervals or at_least",
            )
        radius = checks.number(
            self.radius,
            "radius",
            least=0,
            most=WHOLE_SIMPLEX,
            remedy="2 already holds every prior",
            error=PriorError,
        )
        object.__setattr__(self, "radius", radius)
        confidence = checks.number(self.confidence, "confidence", above=0, most=1, remedy="0.95 is usual")
        object.__setattr__(self, "confidence", confidence)
        check_order(self.lower, self.upper, self.nominal.labels)
        self._check_evidence()

    def _check_evidence(self) -> None:
        if self.evidence is not None and not self.evidence.holds(self.bounds, self.confidence):
            raise PriorError(
                "a prior set with evidence must be the set that follows from it",
                given=f"another than that {self.evidence.words} with confidence {self.confidence:.6g}",
                remedy="build it with from_counts or from_reports",
            )

    @property
    def bounds(self) -> Bounds:
        """The numbers that say which priors are in the set."""
        return Bounds(self.center, self.lower, self.upper, self.radius)

    @property
    def description(self) -> str:
        """The set in words, made from its numbers."""
        low, high = float(self.lower.min()), float(self.upper.min())
        words = [f"l1 ball of radius {self.radius:.4g}"] if self.radius < WHOLE_SIMPLEX else []
        if high < 1 or float(self.lower.max()) > low:
            words.append("per-symbol intervals" if self.evidence is None else self.evidence.intervals)
        elif low > 0:
            words.append(f"every mass at least {low:.4g}")
        if self.is_point:
            words = ["one prior"]
        return " and ".join(words or ["all priors"]) + (
            "" if self.evidence is None else f" {self.evidence.words}"
        )

    @property
    def assurance(self) -> str:
        """How sure it is that the set holds the true prior, in words; nothing for a set that comes from no sample."""
        if self.confidence == 1:
            return ""
        if self.evidence is None:
            return f"confidence {self.confidence:.6g} as its maker claims"
        return f"confidence {self.confidence:.6g}"

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[Any, float] | ArrayLike,
        confidence: float = 0.95,
        labels: Iterable[Any] | None = None,
        kind: str = "both",
    ) -> PriorSet:
        """All priors near the relative frequencies of a sample: the true one is among them with this confidence.

        A symbol that was never seen stays possible: the nominal prior is then smoothed by half an observation a symbol,
        as far as the set allows.

        Parameters
        ----------
        counts
            How often each label was seen, by label or in order.
        confidence
            The probability over the sample with which the set holds the true prior.
        labels
            Names, if the counts come without.
        kind
            "intervals": simultaneous Clopper-Pearson intervals; "l1": the l1 ball of l1_radius; "both": what lies in
            both, each with half of 1 - confidence, which allows the best designs over all.
        """
        if isinstance(counts, Iterator | ValuesView):
            counts = list(counts)
        prior = Prior.from_counts(counts, pseudocount=0.5, labels=labels)  # checks them, too
        n = np.array(list(counts.values()) if isinstance(counts, Mapping) else counts, dtype=np.float64)
        if np.any(n != np.rint(n)):
            raise PriorError(
                "counts of a sample must be whole numbers",
                given=f"{n[n != np.rint(n)][0]:g}",
                remedy=(
                    "give how often each label was seen: a share says nothing about the size of the sample"
                ),
            )
        total = math.fsum(n)
        if total < 1:
            raise PriorError(
                "must not all be 0: nothing was observed",
                parameter="counts",
                remedy="use PriorSet.at_least(labels, 0)",
            )
        evidence = CountedAnswers(n.tolist(), kind)
        center, lower, upper, radius = evidence.bounds(confidence)
        nominal = Prior(
            center if n.min() > 0 else _smoothed(evidence.bounds(confidence), prior), prior.labels
        )
        return cls(nominal, center, lower, upper, radius, float(confidence), evidence)

    @classmethod
    def from_reports(
        cls,
        certified: Any,
        reports: Any = None,
        confidence: float = 0.95,
        *,
        forged: float = 0.0,
        drift: float = 0.0,
        valid: str = "fixed",
        between: Mapping[Any, tuple[float, float]] | None = None,
    ) -> PriorSet:
        """All priors that reports leave open: that of the people who reported is among them with this confidence.

        Nothing need be known before: the reports of the first people, under a mechanism for all priors, give a set for
        which the mechanism of the next people is designed. The promise to those is epsilon for every prior of the set.
        It holds their shares except with probability 1 - confidence, if these are the shares of the people who
        reported, up to the drift, and if at most the share `forged` of the reports was made up.

        Parameters
        ----------
        certified
            The mechanism that made the reports, or a list of pairs (mechanism, reports) of different people. A later
            mechanism of the list may have been chosen after the earlier reports were seen.
        reports
            A column of reports, a mapping report -> count, or ReportCounts. Each counts for one person.
        confidence
            The probability over the reports with which the set holds the prior.
        forged
            The largest share of the reports that somebody made up at will.
        drift
            How far the shares of the next people may be from those of each pair, as a sum of absolute differences.
        valid
            "fixed": the number of reports was fixed in advance. "always": whoever stopped may have looked all the time.
        between
            Ranges (smallest, largest) of shares that are sure, by label.
        """
        stages = collected(certified, reports)
        names = (certified if reports is not None else certified[0][0]).inputs
        evidence = CollectedReports(
            stages,
            checks.number(forged, "forged", least=0, below=1, remedy="0.01 is 1 %", error=PriorError),
            checks.number(drift, "drift", least=0, most=WHOLE_SIMPLEX, remedy="e.g. 0.05", error=PriorError),
            checks.choice(valid, "valid", VALID, remedy="leave it out for 'fixed'"),
            None if between is None else sure_ranges(between, names),
        )
        level = checks.confidence(confidence)
        bounds = evidence.bounds(level)
        inside = within(Prior.uniform(names).probabilities, bounds.lower, bounds.upper)
        nominal = Prior(_smoothed(bounds, Prior(inside, names)), names)
        return cls(nominal, *bounds, level, evidence)

    @classmethod
    def from_sample_size(
        cls, prior: Prior, observations: float, confidence: float = 0.95, kind: str = "both"
    ) -> PriorSet:
        """The set that a sample of this size would leave open if its frequencies were those of the prior.

        For planning: how much better would a design be if the prior were known from a larger sample?

        Parameters
        ----------
        prior
            The frequencies in the sample.
        observations
            The size of the sample.
        confidence
            The probability with which the set holds the true prior.
        kind
            "both", "intervals" or "l1", as in `from_counts`.
        """
        p = check_prior(prior).probabilities
        n = checks.number(observations, "observations", least=1, remedy="e.g. 1000", error=PriorError)
        lower, upper, radius = around(n * p, confidence, kind)
        return cls(prior, p, np.minimum(lower, p), np.maximum(upper, p), radius, float(confidence))

    @classmethod
    def l1_ball(cls, prior: Prior, radius: float) -> PriorSet:
        """All priors with sum_i |pi_i - prior_i| <= radius.

        Parameters
        ----------
        prior
            The centre, which is also the nominal prior.
        radius
            The largest sum of absolute differences.
        """
        p = check_prior(prior).probabilities
        r = checks.number(radius, "radius", least=0, remedy="2 already holds every prior", error=PriorError)
        return cls(prior, p, np.zeros(len(p)), np.ones(len(p)), min(r, WHOLE_SIMPLEX), 1.0)

    @classmethod
    def intervals(
        cls,
        lower: Mapping[Any, float] | ArrayLike,
        upper: Mapping[Any, float] | ArrayLike,
        labels: Iterable[Any] | None = None,
        nominal: Prior | None = None,
        confidence: float = 1.0,
    ) -> PriorSet:
        """All priors with lower_i <= pi_i <= upper_i for every symbol.

        Without a nominal prior the one that lies equally far from both bounds everywhere is taken. `confidence` is
        the probability with which all intervals hold together, if they come from data.

        Parameters
        ----------
        lower
            The smallest probability of each answer, or a mapping label -> probability.
        upper
            The largest, in the same form.
        labels
            The answers; 0, 1, … if None.
        nominal
            The prior under which utility is measured.
        confidence
            The probability that all intervals hold.
        """
        l, u, labels = bounds_in_order(lower, upper, labels)
        if labels is None and nominal is not None and check_prior(nominal).size == len(l):
            labels = nominal.labels
        names = check_labels(range(len(l)) if labels is None else labels, len(l), "prior set")
        check_bounds(l, u, names)
        if nominal is None:
            width = math.fsum(u) - math.fsum(l)
            share = (1 - math.fsum(l)) / width if width > 0 else 0.0
            nominal = Prior(l + share * (u - l), names)
        p = check_prior(nominal).probabilities
        if len(p) != len(l) or np.any(p < l - SLACK) or np.any(p > u + SLACK):
            raise PriorError(
                "the nominal prior must lie within the intervals",
                given=f"{nominal!r}",
                remedy="widen them, or leave nominal out for one in the middle",
            )
        if nominal.labels == tuple(range(len(l))) and set(names) != set(nominal.labels):
            nominal = Prior(p, names)
        if nominal.labels != names:  # by position the bounds of one symbol would be those of another
            raise PriorError(
                f"the nominal prior must have the labels {shorten(names)} in this order",
                given=shorten(nominal.labels),
                remedy="build it with these labels, or leave labels out",
            )
        center = np.clip(p, l, u)
        return cls(nominal, center, l, u, WHOLE_SIMPLEX, confidence)

    @classmethod
    def at_least(cls, n_or_prior: int | Prior | Iterable[Any], mass: float) -> PriorSet:
        """All priors on n symbols with every mass >= `mass`; with mass 0 all priors: local differential privacy.

        The nominal prior is uniform on n symbols, or on labels given; a Prior is taken as it is.

        Parameters
        ----------
        n_or_prior
            How many answers there are, their labels, or a nominal prior.
        mass
            The smallest probability of each answer.
        """
        prior = n_or_prior if isinstance(n_or_prior, Prior) else Prior.uniform(n_or_prior)
        p = prior.probabilities
        least = float(p.min())
        remedy = "lower it: the nominal prior must belong to the set"
        m = checks.number(mass, "mass", least=0, most=least + SLACK, remedy=remedy, error=PriorError)
        lower = np.full(len(p), min(m, least))
        return cls(prior, p, lower, np.ones(len(p)), WHOLE_SIMPLEX, 1.0)

    @property
    def size(self) -> int:
        """The number N of symbols."""
        return self.nominal.size

    @property
    def labels(self) -> Labels:
        """The labels of the symbols."""
        return self.nominal.labels

    @property
    def delta(self) -> float:
        """The probability that the true prior is not in the set: 1 - confidence."""
        return 1 - self.confidence

    @property
    def is_point(self) -> bool:
        """Whether the nominal prior is the only one in the set."""
        low, high = self.mass_range
        return bool(np.all(low >= high))

    @property
    def mass_range(self) -> tuple[Floats, Floats]:
        """The smallest and the largest mass that each symbol has in the set."""
        up, down = self.upper - self.center, self.center - self.lower
        others_up, others_down = math.fsum(up) - up, math.fsum(down) - down
        most = self.radius / 2
        return (
            self.center - np.minimum(np.minimum(down, others_up), most),
            self.center + np.minimum(np.minimum(up, others_down), most),
        )

    @property
    def epsilon_max(self) -> float:
        """The level at which even full disclosure is allowed for every prior of the set; inf if none is."""
        least = float(self.mass_range[0].min())
        return -math.log(least) if least > 0 else math.inf

    def with_labels(self, labels: Labels) -> PriorSet:
        """The same set for symbols of these names.

        Parameters
        ----------
        labels
            The new labels, in order.
        """
        return replace(self, nominal=Prior(self.nominal.probabilities, labels))

    def contains(self, prior: Prior | ArrayLike) -> bool:
        """Whether a prior lies in the set, up to rounding; masses may be given as numbers, zeros included.

        Parameters
        ----------
        prior
            A prior, or its probabilities.
        """
        p = (
            prior.probabilities
            if isinstance(prior, Prior)
            else checks.numbers(prior, "prior", error=PriorError)
        )
        if len(p) != self.size:
            return False
        below, above = p < self.lower, p > self.upper
        less, more = np.minimum(p, self.center), np.maximum(p, self.center)
        return (
            at_most_slack(p, [-1])
            and at_most_slack(-p, [1])
            and all(map(at_most_slack, zip(self.lower[below], -p[below], strict=True)))
            and all(map(at_most_slack, zip(p[above], -self.upper[above], strict=True)))
            and at_most_slack(more, -less, [-self.radius])
        )

    def worst_priors(self, columns: ArrayLike) -> Floats:
        """For each column of an (N, M) array the masses of the set under which its mean is smallest, as columns.

        Parameters
        ----------
        columns
            An (N, M) array.
        """
        P = np.asarray(columns, dtype=np.float64)
        order = np.argsort(P, axis=0, kind="stable")
        up, down = (self.upper - self.center)[order], (self.center - self.lower)[order]
        given, taken = np.cumsum(up, axis=0), np.cumsum(down[::-1], axis=0)[::-1]
        none = np.zeros((1, P.shape[1]))
        before, above = np.concatenate((none, given[:-1])), np.concatenate((taken[1:], none))
        # Moving helps as long as everything taken lies above everything given.
        moved = np.minimum(np.minimum(given, above).max(axis=0), self.radius / 2)
        # Sums are compared before they are subtracted: what is taken wholly leaves no rounding behind.
        give = np.where(moved >= given, up, np.clip(moved - before, 0.0, up))
        take = np.where(moved >= taken, down, np.clip(moved - above, 0.0, down))
        change = give - take
        worst = np.empty_like(P)
        np.put_along_axis(worst, order, change, axis=0)
        return np.clip(self.center[:, None] + worst, self.lower[:, None], self.upper[:, None])

    def smallest_means(self, columns: ArrayLike) -> Floats:
        """h(p) = min over the set of pi . p, for each column p of an (N, M) array.

        Parameters
        ----------
        columns
            An (N, M) array.
        """
        P = np.asarray(columns, dtype=np.float64)
        return np.asarray((self.worst_priors(P) * P).sum(axis=0))

    def merged(self, block: Ints) -> PriorSet:
        """The set of the distributions of blocks of symbols; `block` numbers the block of each symbol.

        Parameters
        ----------
        block
            The number of the block of each answer.
        """

        def total(x: Floats) -> Floats:
            return np.bincount(block, weights=x).astype(np.float64)

        nominal = total(self.nominal.probabilities)
        return PriorSet(
            Prior(nominal / math.fsum(nominal)),
            total(self.center),
            total(self.lower),
            np.minimum(total(self.upper), 1.0),
            self.radius,
            self.confidence,
        )

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        sure = f", {self.assurance}" if self.assurance else ""
        return f"PriorSet({self.size} labels, {self.description}{sure})"


def _smoothed(bounds: Bounds, toward: Prior) -> Floats:
    """The center, moved so that no answer is impossible, but not out of the set."""
    away = toward.probabilities - bounds.center
    room = np.where(away > 0, bounds.upper - bounds.center, bounds.center - bounds.lower)
    near = np.divide(room, np.abs(away), out=np.ones_like(away), where=away != 0)
    length = float(np.abs(away).sum())
    step = min(1.0, 0.5 * bounds.radius / length if length else 1.0, 0.5 * float(near.min()))
    return bounds.center + step * away
