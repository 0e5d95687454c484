"""The two operational forms of Definition 1, as adversaries one can hold in hand.

l(X→y) is the largest gain ratio of any adversary. Each function here builds one who attains it, so that the
simplified formula in `leakage` is checked by construction: no adversary does better, this one does as well.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._common import checks
from .._common.threads import one_thread_of_numpy
from .._common.types import Floats
from ..errors import MechanismError, UtilityError
from .leakage import lift
from .mechanism import Mechanism, check_match, check_size
from .prior import Prior, check_prior


@dataclass(frozen=True, init=False, eq=False)
class GainAdversary:
    """One who guesses X and is paid gain[x, guess] >= 0.

    Parameters
    ----------
    gain
        A row for each answer, a column for each guess; no entry is negative.
    """

    gain: Floats

    def __init__(self, gain: ArrayLike) -> None:
        g = checks.matrix(
            gain, "gain", remedy="give numbers, one row a symbol and one column a guess", error=UtilityError
        )
        if np.any(g < 0) or not g.any():
            raise UtilityError(
                "must be >= 0 everywhere and positive somewhere",
                parameter="gain",
                given=f"{g.min():g} to {g.max():g}",
                remedy="shift negative gains up by a constant",
            )
        g.setflags(write=False)
        object.__setattr__(self, "gain", g)

    @one_thread_of_numpy
    def prior_gain(self, prior: Prior) -> float:
        """Expected gain of the best blind guess.

        Parameters
        ----------
        prior
            How common each answer is.
        """
        checks.length(self.gain, "gain", prior.size, "symbol", error=UtilityError)
        return float((prior.probabilities @ self.gain).max())

    @one_thread_of_numpy
    def posterior_gain(self, prior: Prior, mechanism: Mechanism, output: Hashable) -> float:
        """Expected gain of the best guess after seeing the output.

        Parameters
        ----------
        prior
            How common each answer is.
        mechanism
            The mechanism: a row for each answer, a column for each report.
        output
            The label of the report that was seen.
        """
        checks.length(self.gain, "gain", prior.size, "symbol", error=UtilityError)
        return float((posterior(prior, mechanism, output) @ self.gain).max())

    def leakage(self, prior: Prior, mechanism: Mechanism, output: Hashable) -> float:
        """log of how much the output raises the expected gain: at most l(X→output), -inf if to nothing.

        Parameters
        ----------
        prior
            How common each answer is.
        mechanism
            The mechanism: a row for each answer, a column for each report.
        output
            The label of the report that was seen.
        """
        after = self.posterior_gain(prior, mechanism, output)
        return math.log(after / self.prior_gain(prior)) if after > 0 else -math.inf


class Attribute(GainAdversary):
    """A randomised function U of X, channel[x, u] = P(u|x), and somebody who guesses it and is paid 1 if right.

    Their expected gain is the probability of a right guess.

    Parameters
    ----------
    channel
        P(u|x): a row for each answer, a column for each value of the attribute.
    """

    def __init__(self, channel: ArrayLike) -> None:
        super().__init__(Mechanism(channel).matrix)

    @property
    def channel(self) -> Floats:
        """P(u|x)."""
        return self.gain


def posterior(prior: Prior, mechanism: Mechanism, output: Hashable) -> Floats:
    """P(x|y) over all x, for one output y that can occur.

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    output
        The label of the report that was seen.
    """
    check_match(prior, mechanism)
    column = mechanism.matrix[:, _column(mechanism, output)]
    if column.max() == 0:
        raise MechanismError(
            "must be one that can occur",
            parameter="output",
            given=f"{output!r}, which has probability 0 for every input",
            remedy="nothing can be inferred from it",
        )
    weights = prior.probabilities * (column / column.max())
    return np.asarray(weights / weights.sum())


def worst_gain(prior: Prior) -> GainAdversary:
    """The adversary who attains l(X→y) for every output at once: paid 1/P_X(x) for guessing x right.

    A blind guess earns exactly 1 whatever it is, and the best guess after y earns max_x P(x|y)/P_X(x).

    Parameters
    ----------
    prior
        How common each answer is.
    """
    check_size(check_prior(prior).size, prior.size)
    return GainAdversary(np.diag(1 / prior.probabilities))


def worst_attribute(prior: Prior, mechanism: Mechanism, output: Hashable) -> Attribute:
    """An attribute of X whose guessing probability rises by exactly the factor exp l(X→output).

    Let x* have the largest lift. U keeps x* whole and splits every other x evenly into parts no likelier than
    x*. Then P_X(x*) is the best blind guess, and P(x*|y) = exp(l) P_X(x*) that after seeing y.

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    output
        The label of the report that was seen.
    """
    star = int(np.argmax(lift(prior, mechanism)[:, _column(mechanism, output)]))
    pi = prior.probabilities
    # A part may exceed P_X(x*) by rounding when the ratio is a whole number, hence the ceiling with slack.
    parts = np.maximum(np.ceil(pi / pi[star] * (1 - 1e-12)), 1)
    check_size(prior.size, int(parts.sum()))
    owner = np.repeat(np.arange(prior.size), parts.astype(np.int64))
    channel = np.zeros((prior.size, len(owner)))
    channel[owner, np.arange(len(owner))] = 1 / parts[owner]
    return Attribute(channel)


def _column(mechanism: Mechanism, output: Hashable) -> int:
    remedy = "outputs are named by their labels, not by position"
    return checks.label(output, "output", mechanism.outputs, remedy=remedy, error=MechanismError)
