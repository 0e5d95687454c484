"""What single reports say: the leakage of each outcome, and what becomes certain when it is seen.

A report y leaves the answers with P(y|x) > 0 possible and excludes all others. Whatever is common to the
possible answers is then certain. Because l(X→y) >= -log P_X(possible answers), a mechanism of leakage epsilon
confirms no event of prior probability below e^-epsilon, and in privacy region k it excludes at most k - 1
answers at once (Lemma 2).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..model.leakage import lift
from ..model.mechanism import Mechanism, common_labels
from ..model.prior import Labels, Prior

EQUAL = 1e-12  # lifts that differ by no more than this, relatively, are attained together


@dataclass(frozen=True)
class Outcome:
    """One report: how likely it is, what it leaks, about whom, and whom it excludes.

    `symbols` are the answers whose probability rises by the factor exp(leakage); `guess` is the likeliest
    answer after the report.
    """

    output: Hashable
    probability: float
    leakage: float
    symbols: Labels
    excluded: Labels
    excluded_probability: float
    guess: Hashable
    guess_probability: float


@dataclass(frozen=True)
class Disclosure:
    """An event that some reports confirm with certainty: the answer is one of `possible`.

    `probability` is how often such a report comes out, `possible_probability` how likely the event was before.
    """

    reports: Labels
    probability: float
    possible: Labels
    possible_probability: float
    excluded: Labels


def outcomes(prior: Prior, mechanism: Mechanism, leakage: Floats) -> tuple[Outcome, ...]:
    """Every output with what it says, in the mechanism's order; `leakage` is l(X→y) for each."""
    labels = common_labels(prior.labels, mechanism.inputs)
    pi, ratio = prior.probabilities, lift(prior, mechanism)
    rho = mechanism.output_distribution(prior)
    attained = ratio >= ratio.max(axis=0) * (1 - EQUAL)
    excluded = excludes(mechanism)
    after = pi[:, None] * ratio
    likeliest = after.argmax(axis=0)
    found = []
    for j, output in enumerate(mechanism.outputs):
        best = int(likeliest[j])
        found.append(
            Outcome(
                output,
                float(rho[j]),
                float(leakage[j]),
                _named(labels, attained[:, j]),
                _named(labels, excluded[:, j]),
                float(pi[excluded[:, j]].sum()),
                labels[best],
                min(float(after[best, j]), 1.0),
            )
        )
    return tuple(found)


def disclosures(prior: Prior, mechanism: Mechanism) -> tuple[Disclosure, ...]:
    """The events that reports confirm with certainty, the least likely first; none if nothing is excluded."""
    labels = common_labels(prior.labels, mechanism.inputs)
    rho = mechanism.output_distribution(prior)
    excluded = excludes(mechanism)
    reports: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(excluded.any(axis=0)).tolist():
        reports.setdefault(excluded[:, j].tobytes(), []).append(j)
    found = []
    for columns in reports.values():
        out = excluded[:, columns[0]]
        found.append(
            Disclosure(
                tuple(mechanism.outputs[j] for j in columns),
                float(rho[columns].sum()),
                _named(labels, ~out),
                float(prior.probabilities[~out].sum()),
                _named(labels, out),
            )
        )
    return tuple(sorted(found, key=lambda d: d.possible_probability))


def excludes(mechanism: Mechanism) -> NDArray[np.bool_]:
    """Which inputs (rows) each output (columns) excludes; an output that never occurs excludes none."""
    P = mechanism.matrix
    return np.asarray((P == 0) & (P.max(axis=0) > 0))


def _named(labels: Labels, where: NDArray[np.bool_]) -> Labels:
    return tuple(labels[i] for i in np.flatnonzero(where).tolist())
