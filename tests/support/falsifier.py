"""A falsifier: does what was written tell more about a secret than epsilon allows?

For every event E and every value x, epsilon-PML demands P(E | x) <= e^epsilon P(E). Half of the runs choose,
for each x, the event that gives it away best, the other half measure it. What is measured is bytes, so that
everything counts: values, order, types, dictionaries, metadata.
"""

import math
from collections import Counter

from scipy import stats


def largest_lift(runs, prior, error=1e-6):
    """A lower bound on the largest P(E | x) / P(E), wrong with probability at most `error`.

    `runs` maps each label x of the prior to what was seen in independent runs with the secret x.
    """
    labels = prior.labels
    level = error / (2 * len(labels) ** 2)
    best = 0.0
    for x in labels:
        event = _telling(x, runs, prior)
        seen = {y: [z in event for z in runs[y][1::2]] for y in labels}
        upper = {y: _upper(sum(hits), len(hits), level) for y, hits in seen.items()}
        lower = _lower(sum(seen[x]), len(seen[x]), level)
        p = float(prior.probabilities[labels.index(x)])
        others = sum(float(q) * upper[y] for y, q in zip(labels, prior.probabilities, strict=True) if y != x)
        best = max(best, lower / (p * lower + others))  # increasing in P(E | x), so its lower bound is taken
    return best


def finds_more_than(epsilon, runs, prior, error=1e-6):
    """Whether a leakage above epsilon is shown, at this rate of false alarms."""
    return largest_lift(runs, prior, error) > math.exp(epsilon) * (1 + 1e-9)


def _telling(x, runs, prior):
    """The outcomes, seen in the first half of the runs, that together speak most clearly for x."""
    counts = {y: Counter(runs[y][::2]) for y in prior.labels}
    n = {y: len(runs[y][::2]) for y in prior.labels}

    def mass(z):
        return sum(
            float(q) * counts[y][z] / n[y] for y, q in zip(prior.labels, prior.probabilities, strict=True)
        )

    ordered = sorted(counts[x], key=lambda z: (-counts[x][z] / n[x] / mass(z), repr(z)))
    best, event, hits, total = 0.0, set(), 0, 0.0
    for k, z in enumerate(ordered):
        hits += counts[x][z]
        total += mass(z)
        score = _lower(hits, n[x], 0.01) / (total + 2 / n[x])
        if score > best:
            best, event = score, set(ordered[: k + 1])
    return event


def _lower(hits, n, level):
    return float(stats.beta.ppf(level, hits, n - hits + 1)) if hits else 0.0


def _upper(hits, n, level):
    return float(stats.beta.ppf(1 - level, hits + 1, n - hits)) if hits < n else 1.0
