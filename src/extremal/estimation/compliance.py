"""People who do not answer as asked: what shares can then be, and how many such people there are.

Two kinds are told apart.

- A person enters a safe answer, and the device draws a report for it. To the reports this person looks like one for
  whom the answer is true, under every mechanism: how many there are is not identified, but if at most a share tau
  does it, every true share lies between bounds.
- A person gives a safe report and lets no draw decide, where people draw for themselves. Then a group's reports are
  distributed like alpha P_g + tau e_k, alpha the shares of those who comply, times their share. Two groups with
  different mechanisms P_g determine tau if e_k is no mixture of their rows (Clark and Desharnais, 1998). This is the
  likelihood of a mechanism with one more input, so everything that is known about estimates holds for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._common import checks
from .._common.frames import Tabular
from .._common.json import json_text
from .._common.threads import one_thread
from .._common.types import Floats
from .._common.words import aligned, brief
from ..certification.certified import as_estimable
from ..errors import ValuesError
from ..model.labels import Labels
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from .counts import ReportCounts, count_reports, place_finder
from .differences import ratio_table
from .estimate import Method, check_same_answers, check_total, estimate, named_pair, pairs_of, stacked
from .interval_table import IntervalTable
from .likelihood import maximize
from .promise import Promise
from .result import Estimate

NOBODY = "does not comply"
ASSUMED = 0.05  # share of these that intervals are made narrowest for


@dataclass(frozen=True, eq=False, repr=False)
class ShareBounds(Tabular):
    """What true shares can be if up to `share` of all people answer `label` whatever is true for them.

    `lowest` and `highest` are the ends at the estimated shares, `lower` and `upper` have chance in them.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> reports = certified.privatize(
    ...     ["never", "never", "once", "often"] * 50, source=ex.randomness.SeededWords(1)
    ... )
    >>> bounds = ex.compliance.bounds(ex.estimate(certified, reports), "never", 0.1)
    >>> bool((bounds.lowest <= bounds.highest).all())
    True

    Attributes
    ----------
    labels
        The answers.
    label
        The safe answer.
    share
        The largest share of people who give it whatever is true.
    estimates
        The estimated shares if everybody complies.
    lowest
        The smallest share that is possible, at the estimates.
    highest
        The largest.
    lower
        The smallest, with chance included.
    upper
        The largest, with chance included.
    promise
        What the intervals hold with.
    """

    labels: Labels
    label: Any
    share: float
    estimates: Floats
    lowest: Floats
    highest: Floats
    lower: Floats
    upper: Floats
    promise: Promise

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each answer."""
        names = ("estimates", "lowest", "highest", "lower", "upper")
        return [
            {"label": label, **{name: float(getattr(self, name)[k]) for name in names}}
            for k, label in enumerate(self.labels)
        ]

    def to_json(self) -> str:
        """Everything as text."""
        said = {"label": self.label, "share": self.share, "promise": str(self.promise), "rows": self.rows()}
        return json_text(said)

    def __str__(self) -> str:
        head = [" " * 5, "as answered", "  lowest", " highest", "   lower", "   upper"]
        rows = [
            [str(label), *(f"{x:.4f}" for x in figures)] for label, *figures in map(dict.values, self.rows())
        ]
        said = f"if at most {100 * self.share:g}% of all people answer {brief(self.label)} whatever is true for them"
        note = "lowest and highest: at the estimated shares; lower and upper: with chance"
        return "\n".join([said, *aligned([head, *rows], 1), note, str(self.promise)])

    __repr__ = __str__


@one_thread
def bounds(found: Estimate, label: Any, share: float) -> ShareBounds:
    """What true shares can be if up to `share` of all people answer `label` whatever is true for them.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> reports = certified.privatize(
    ...     ["never", "never", "once", "often"] * 50, source=ex.randomness.SeededWords(1)
    ... )
    >>> bounds = ex.compliance.bounds(ex.estimate(certified, reports), "never", 0.1)
    >>> bool((bounds.lowest <= bounds.highest).all())
    True

    Parameters
    ----------
    found
        The estimate from the reports, which is about what people answered.
    label
        The answer that feels safe.
    share
        The largest share of all people who may give it without regard to the truth.

    Notes
    -----
    Those who comply and give another answer are counted rightly, so another share is at least its
    estimate and at most larger by `share`; that of the safe answer is at most its estimate. No assumption is made
    about what is true for those who do not comply, so nothing sharper can be said.
    """
    checks.instance(
        found, "found", Estimate, "an Estimate", remedy="make it with estimate(...)", error=ValuesError
    )
    share = checks.number(share, "share", least=0, most=1)
    k = place_finder(found.labels, "label")(label)
    phi = np.clip(found.shares, 0.0, 1.0)
    lowest, highest = phi.copy(), phi + min(share, float(phi[k]))
    lowest[k], highest[k] = max(float(phi[k]) - share, 0.0), phi[k]
    # How many can have moved is limited by the safe answer's share, if its interval holds as well.
    moved = min(share, float(found.upper[k])) if found.intervals == "all" else share
    lower, upper = found.lower.copy(), np.minimum(found.upper + moved, 1.0)
    lower[k], upper[k] = max(float(found.lower[k]) - share, 0.0), found.upper[k]
    return ShareBounds(
        found.labels,
        found.labels[k],
        float(share),
        phi,
        lowest,
        np.minimum(highest, 1.0),
        np.maximum(lower, 0.0),
        upper,
        found.promise,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Compliance:
    """The share of people who give a safe report, or answer, whatever is true for them, and the shares of the others.

    `joint` is the estimate behind it: shares of the answers of those who comply, times their share, and `rate`.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> first, second = (ex.certify(ex.design(prior, level)) for level in (0.5, 0.9))
    >>> answers = ["never", "never", "once", "often"] * 500
    >>> words = ex.randomness.SeededWords(1)
    >>> groups = {name: (c, c.privatize(answers, source=words)) for name, c in [("a", first), ("b", second)]}
    >>> found = ex.compliance.rate(groups, "never", entered="answer")
    >>> found.rate is None or 0 <= found.rate <= 1
    True

    Attributes
    ----------
    joint
        The estimate behind it.
    label
        The safe report or answer.
    entered
        Where it enters: "report" or "answer".
    statistic
        The likelihood ratio of a rate of 0.
    """

    joint: Estimate
    label: Any
    entered: str
    statistic: float  # likelihood ratio of a rate of 0

    @property
    def labels(self) -> Labels:
        """The answers."""
        return self.joint.labels[:-1]

    @property
    def identified(self) -> bool:
        """Whether the reports determine the rate."""
        return bool(self.joint.identified[-1])

    @property
    def rate(self) -> float | None:
        """The estimated share of people who do not comply; None if the reports do not determine it."""
        return float(self.joint.shares[-1]) if self.identified else None

    @property
    def lower(self) -> float:
        """The lower end of the interval of the rate."""
        return float(self.joint.lower[-1])

    @property
    def upper(self) -> float:
        """The upper end of the interval of the rate; if it is not identified, what is possible."""
        return float(self.joint.upper[-1])

    @property
    def p_value(self) -> float | None:
        """Of the hypothesis that everybody complies, by the likelihood ratio; a rate cannot be negative."""
        if not self.identified:
            return None
        return 0.5 * math.erfc(math.sqrt(self.statistic / 2)) if self.statistic > 0 else 1.0

    @cached_property
    def table(self) -> IntervalTable:
        """The shares among those who comply, with ordinary intervals."""
        size = len(self.labels)
        parts = np.eye(size + 1)[:size]
        return ratio_table(
            self.joint,
            f"{size} shares among those who comply, from {self.joint.reports} reports",
            self.labels,
            parts,
            np.tile(parts.sum(axis=0), (size, 1)),
        )

    def __str__(self) -> str:
        what = "report" if self.entered == "report" else "answer"
        if not self.identified:
            return (
                f"how many people give the {what} {brief(self.label)} whatever is true for them is not identified: "
                "they look like people for whom it is true"
                + (
                    ""
                    if self.entered == "answer"
                    else " under these mechanisms; give a second group another one"
                )
                + f". It can be any share up to {self.upper:.3g}; use bounds(estimate, label, share) for what follows"
            )
        said = (
            f"about {100 * (self.rate or 0):.1f}% of people give the {what} {brief(self.label)} whatever is true for "
            f"them (from {100 * self.lower:.1f}% to {100 * self.upper:.1f}%)"
        )
        p = self.p_value
        tested = (
            f"that everybody complies has p = {p:.4f}"
            if p is not None and p >= 1e-4
            else "not everybody complies"
        )
        return "\n".join([said, tested, str(self.table)])

    __repr__ = __str__


@one_thread
def rate(
    groups: Any,
    label: Any,
    *,
    entered: str = "report",
    confidence: float = 0.95,
    intervals: str = "each",
) -> Compliance:
    """How many people give one report, or answer, whatever is true for them, from groups with different mechanisms.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> first, second = (ex.certify(ex.design(prior, level)) for level in (0.5, 0.9))
    >>> answers = ["never", "never", "once", "often"] * 500
    >>> words = ex.randomness.SeededWords(1)
    >>> groups = {name: (c, c.privatize(answers, source=words)) for name, c in [("a", first), ("b", second)]}
    >>> found = ex.compliance.rate(groups, "never", entered="answer")
    >>> found.rate is None or 0 <= found.rate <= 1
    True

    Parameters
    ----------
    groups
        Name of each group -> (mechanism, reports). People must have been assigned to groups at random, so that all
        groups are alike in their answers and in how many comply.
    label
        The report that feels safe, an output of every mechanism; or the answer.
    entered
        "report": people draw for themselves, and some give the safe report instead. "answer": a device draws, and some
        enter a safe answer; that is never identified, and the result says so.
    confidence, intervals
        As in `estimate`.
    """
    checks.mapping(groups, "groups", "name -> (mechanism, reports)")
    checks.choice(entered, "entered", ("report", "answer"))
    pairs = pairs_of(list(groups.values()))
    counts = [count_reports(*pair) for pair in pairs]
    people = np.array([c.total for c in counts], dtype=np.float64)
    check_total(sum(c.total for c in counts))
    matrices = [as_estimable(mechanism) for mechanism, _ in pairs]
    answers = matrices[0].inputs
    inputs, size = [*answers, NOBODY], len(answers)
    others = []  # of everybody, those who do not comply included
    for number, matrix in enumerate(matrices, start=1):
        with named_pair(number):
            check_same_answers(matrix, matrices[0])
        k = place_finder(matrix.outputs if entered == "report" else answers, "label")(label)
        safe = np.eye(matrix.shape[1])[k] if entered == "report" else matrix.matrix[k]
        others.append(Mechanism(np.vstack((matrix.matrix, safe)), inputs, matrix.outputs))
    outputs = [(name, y) for name, matrix in zip(groups, matrices, strict=True) for y in matrix.outputs]
    P = stacked(others, people).matrix
    together = Mechanism(P / P.sum(axis=1, keepdims=True), inputs, outputs)
    seen = np.concatenate([c.counts for c in counts])
    expected = Prior([*np.full(size, (1 - ASSUMED) / size), ASSUMED], inputs)
    reports = ReportCounts(together.outputs, seen)
    joint = estimate(together, reports, confidence, intervals=intervals, method=Method(prior=expected))
    return Compliance(joint, label, entered, _likelihood_ratio(together.matrix, seen, joint.shares))


def _likelihood_ratio(P: Floats, counts: Any, theta: Floats) -> float:
    """Twice the gain in log-likelihood over nobody who does not comply."""
    null = maximize(P[:-1], counts, np.full(len(P) - 1, 1 / (len(P) - 1))).theta
    seen = counts > 0
    with np.errstate(divide="ignore"):
        gain = np.log((theta @ P)[seen]) - np.log((null @ P[:-1])[seen])
    return max(2 * float(counts[seen] @ gain), 0.0)
