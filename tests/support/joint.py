"""A falsifier of joint releases: do two reports about the same people tell more together than they may?

`findings` takes two releases, made by any interface, and compares how often each pair of reports occurs, given the
pair of true answers, with what is documented: noise that is drawn anew is independent, and keyed noise repeats
itself for the same key, occasion, column, mechanism, id and answer. Expected shares come from the certified integers
in exact fractions. The tests are exact binomial ones, so the rate of false alarms is bounded at any size.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from tests.support.falsifier import largest_lift

ERROR = 1e-9  # false alarms of one call of `findings`


@dataclass(frozen=True)
class Released:
    """Reports of one column, person by person, and what their noise is documented to depend on."""

    how: str
    certified: Any
    answers: tuple[Hashable, ...]
    reports: tuple[Hashable, ...]
    seed: Any = None  # besides id and answer; None if the noise was drawn anew

    def among(self, people):
        """The same for some of the people, by their number."""
        answers, reports = tuple(self.answers[i] for i in people), tuple(self.reports[i] for i in people)
        return Released(self.how, self.certified, answers, reports, self.seed)


def promise(certified):
    """What a mechanism is, apart from the digest that the library gives it."""
    prior = tuple(certified.prior.probabilities.tolist())
    return certified.inputs, certified.outputs, prior, certified.epsilon, certified.weights.tobytes()


def findings(first, second, error=ERROR):
    """What is wrong with two releases about the same people, in words; nothing if nothing is found."""
    groups = defaultdict(list)
    for i, pair in enumerate(zip(first.answers, second.answers, strict=True)):
        groups[pair].append(i)
    repeats = first.seed is not None and first.seed == second.seed
    found = []
    for pair, people in sorted(groups.items(), key=repr):
        of = f"{first.how} and {second.how}, answers {pair}"
        y, z = first.among(people).reports, second.among(people).reports
        if repeats and pair[0] == pair[1]:
            changed = sum(a != b for a, b in zip(y, z, strict=True))
            if changed:
                found.append(f"second draw: {of}: {changed} of {len(people)} reports differ")
            continue
        chance = independence(y, z, first.certified, pair, second.certified)
        if chance < error / len(groups):
            found.append(f"dependent: {of}: chance {chance:.1e}")
    return found


def all_findings(releases, error=ERROR):
    """The findings of every two of these releases."""
    pairs = itertools.combinations(releases, 2)
    return [line for first, second in pairs for line in findings(first, second, error)]


def neighbours(released, lag):
    """The same release twice, each person paired with the one `lag` records later: their noise must differ too."""
    people = range(len(released.answers))
    fresh = Released(released.how, released.certified, released.answers, released.reports)
    return fresh.among(people[:-lag]), fresh.among(people[lag:])


def row_shares(certified, value):
    """Output label -> its exact probability for this answer."""
    row = certified.weights[certified.inputs.index(value)].tolist()
    return {y: Fraction(w, 1 << certified.bits) for y, w in zip(certified.outputs, row, strict=True)}


def independence(first, second, certified, values, other=None):
    """A bound on the chance of pairs as far from independent draws, for people who all gave these two answers.

    `first` and `second` are reports in the order of the people; `values` the answer in each; `other` the mechanism
    of the second where it is another. A pair that cannot occur at all gives 0. How often one pair occurs is
    binomial; the bound is the smallest of the tails, times how many there are.
    """
    a, b = row_shares(certified, values[0]), row_shares(other or certified, values[1])
    seen = Counter(zip(first, second, strict=True))
    n = len(first)
    shares = {(y, z): p * q for (y, p), (z, q) in itertools.product(a.items(), b.items()) if p and q}
    if not seen.keys() <= shares.keys():
        return 0.0
    counts, chances = np.array([seen[pair] for pair in shares]), [float(share) for share in shares.values()]
    tails = [stats.binom.cdf(counts, n, chances), stats.binom.sf(counts - 1, n, chances)]
    return min(1.0, 2 * len(shares) * float(np.min(tails)))


def leakage_of_pairs(certified, other=None):
    """The leakage in nats of two independent reports of one answer: the largest over all pairs of reports."""
    prior = [Fraction(p) for p in certified.prior.probabilities.tolist()]
    columns = [list(map(int, column)) for column in certified.weights.T]
    others = [list(map(int, column)) for column in (other or certified).weights.T]
    worst = Fraction(0)
    for one, two in itertools.product(columns, others):
        pair = [u * v for u, v in zip(one, two, strict=True)]
        mass = sum(p * w for p, w in zip(prior, pair, strict=True))
        if mass:
            worst = max(worst, max(pair) * sum(prior) / mass)
    return math.log(worst)


def shown_leakage(first, second, prior, error=ERROR):
    """A lower bound in nats on what two reports tell about the secret, wrong with probability at most `error`.

    The secret is the pair of answers, or the one answer if the prior is of single labels.
    """
    runs = {secret: [] for secret in prior.labels}
    for *secret, y, z in zip(first.answers, second.answers, first.reports, second.reports, strict=True):
        runs[tuple(secret) if tuple(secret) in runs else secret[0]].append((y, z))
    return math.log(largest_lift(runs, prior, error))
