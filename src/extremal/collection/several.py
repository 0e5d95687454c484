"""Check all that apply: one draw for the whole set of items, or one draw for each item, whichever errs less.

Both leak the same in all: at most epsilon about the set of items. The error is the sum of the variances of the items'
estimated shares, per report.
"""

from __future__ import annotations

import math

import numpy as np

from ..certification.certified import Certified
from ..certification.certify import certify
from ..model.prior import Prior
from ..model.purpose import groups, mean
from ..optimization.design import designed
from .published import Asked
from .sets import item_priors, members, set_leakage
from .survey import Question

MOST_JOINT = 6  # items up to which a mechanism on their subsets is designed: 64 inputs
LOOSE = 0.3  # the distance to the optimum to be proven where there are many subsets; the search ends sooner
STEPS = 30  # of the bisection for dependent items


def choose(question: Question) -> tuple[str, tuple[Certified, ...], float | None]:
    """The form, its mechanisms, and how many times as many people the other form needs, where both are designed."""
    prior, epsilon, items = question.prior, question.epsilon, question.answers
    assert prior is not None
    assert epsilon is not None
    each = _each(prior, epsilon, len(items), question.independent)
    if len(items) > MOST_JOINT:
        return "each", each, None
    error_each = math.fsum(_variance(p.prior, p) for p in each)
    purpose = groups(members(items))
    tolerance = None if len(items) < MOST_JOINT else LOOSE
    made = designed(prior, epsilon, purpose, tolerance=tolerance)
    A = purpose.loss(prior)
    direct = float(np.diagonal(A) @ prior.probabilities - prior.probabilities @ A @ prior.probabilities)
    error_joint = direct / made.value if made.value > 0 else math.inf
    smaller, larger = sorted((error_joint, error_each))
    times = larger / smaller if math.isfinite(larger) else None
    return (
        ("joint", (certify(made, allow_true_answers=True),), times)
        if error_joint <= error_each
        else ("each", each, times)
    )


def reason(asked: Asked, times: float | None) -> str | None:
    """Why a set is drawn in this form, in words."""
    if asked.form == "joint":
        if times is None:
            return None
        return (
            f"{asked.name}: one draw for the whole set of items. One draw for each item leaks as much in all and needs "
            f"{times:.2g} times as many people."
        )
    if asked.form != "each":
        return None
    level = f"{asked.mechanisms[0].epsilon:.3g} nats each"
    items = len(asked.mechanisms)
    if items > MOST_JOINT:
        return (
            f"{asked.name}: {items} items are drawn one by one, {level}; one draw for the whole set would err less, "
            f"but is designed for at most {MOST_JOINT} items."
        )
    told = f"{asked.name}: one draw for each item, {level}."
    if times is None:
        return told
    return f"{told} One draw for the whole set leaks as much and needs {times:.2g} times as many people."


def _each(prior: Prior, epsilon: float, items: int, independent: bool) -> tuple[Certified, ...]:
    """Mechanisms for the items that together leak at most epsilon about the set."""
    if independent:  # leakages of independent items add up
        return _items(prior, epsilon / items * (1 - 1e-12), items)
    low, high = epsilon / items / 64, epsilon
    for _ in range(STEPS):
        middle = (low + high) / 2
        if set_leakage(prior, _items(prior, middle, items)) <= epsilon:
            low = middle
        else:
            high = middle
        if high - low < 1e-4 * low:
            break
    return _items(prior, low, items)


def _items(prior: Prior, level: float, items: int) -> tuple[Certified, ...]:
    made = (designed(p, level, mean([0, 1])) for p in item_priors(prior, items))
    return tuple(certify(one, allow_true_answers=True) for one in made)  # `designs` refuses


def _variance(prior: Prior, certified: Certified) -> float:
    """Of the estimated share of "yes", per report."""
    share = float(prior.probabilities[1])
    value = mean([0, 1])(prior, certified.mechanism)
    return share * (1 - share) / value if value > 0 else math.inf
