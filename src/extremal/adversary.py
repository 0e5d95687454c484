"""The two operational forms of Definition 1, as adversaries one can hold in hand.

l(X→y) is the largest gain ratio of any adversary. Each function here builds one who attains it, so that the
simplified formula in `leakage` is checked by construction: no adversary does better, this one does as well.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .errors import MechanismError
from .leakage import lift
from .mechanism import Mechanism
from .prior import Prior, shorten

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GainAdversary:
    """One who guesses X and is paid gain[x, guess]."""

    gain: Floats

    def prior_gain(self, prior: Prior) -> float:
        """Expected gain of the best blind guess."""
        return float((prior.probabilities @ self.gain).max())

    def posterior_gain(self, prior: Prior, mechanism: Mechanism, output: Hashable) -> float:
        """Expected gain of the best guess after seeing the output."""
        return float((posterior(prior, mechanism, output) @ self.gain).max())

    def leakage(self, prior: Prior, mechanism: Mechanism, output: Hashable) -> float:
        """log of how much the output raises the expected gain: at most l(X→output)."""
        return math.log(self.posterior_gain(prior, mechanism, output) / self.prior_gain(prior))


@dataclass(frozen=True)
class Attribute:
    """A randomised function U of X, channel[x, u] = P(u|x), that somebody wants to guess."""

    channel: Floats

    def prior_guess(self, prior: Prior) -> float:
        """Probability that the best blind guess of U is right."""
        return float((prior.probabilities @ self.channel).max())

    def posterior_guess(self, prior: Prior, mechanism: Mechanism, output: Hashable) -> float:
        """Probability that the best guess of U after seeing the output is right."""
        return float((posterior(prior, mechanism, output) @ self.channel).max())

    def leakage(self, prior: Prior, mechanism: Mechanism, output: Hashable) -> float:
        """log of how much the output raises the probability of a right guess: at most l(X→output)."""
        return math.log(self.posterior_guess(prior, mechanism, output) / self.prior_guess(prior))


def posterior(prior: Prior, mechanism: Mechanism, output: Hashable) -> Floats:
    """P(x|y) over all x, for one output y that can occur."""
    column = _column(mechanism, output)
    weights = prior.probabilities * lift(prior, mechanism)[:, column]
    if mechanism.matrix[:, column].max() == 0:
        raise MechanismError(f"output {output!r} never occurs, so there is nothing to infer from it")
    return np.asarray(weights / weights.sum())


def worst_gain(prior: Prior) -> GainAdversary:
    """The adversary who attains l(X→y) for every output at once: paid 1/P_X(x) for guessing x right.

    A blind guess earns exactly 1 whatever it is, and the best guess after y earns max_x P(x|y)/P_X(x).
    """
    return GainAdversary(np.diag(1 / prior.probabilities))


def worst_attribute(prior: Prior, mechanism: Mechanism, output: Hashable) -> Attribute:
    """An attribute of X whose guessing probability rises by exactly the factor exp l(X→output).

    Let x* have the largest lift. U keeps x* whole and splits every other x evenly into parts no likelier than x*.
    Then P_X(x*) is the best blind guess, and P(x*|y) = exp(l) P_X(x*) that after seeing y.
    """
    star = int(np.argmax(lift(prior, mechanism)[:, _column(mechanism, output)]))
    pi = prior.probabilities
    # A part may exceed P_X(x*) by rounding when the ratio is a whole number, hence the ceiling with slack.
    parts = np.maximum(np.ceil(pi / pi[star] * (1 - 1e-12)), 1).astype(int)
    channel = np.zeros((prior.size, int(parts.sum())))
    ends = np.cumsum(parts)
    for i, (end, count) in enumerate(zip(ends, parts, strict=True)):
        channel[i, end - count : end] = 1 / count
    return Attribute(channel)


def _column(mechanism: Mechanism, output: Hashable) -> int:
    try:
        return mechanism.outputs.index(output)
    except ValueError:
        raise MechanismError(
            f"no output {output!r} in this mechanism; its outputs are {shorten(mechanism.outputs)}"
        ) from None
