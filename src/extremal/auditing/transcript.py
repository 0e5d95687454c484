"""What an observer has seen so far about one X, and releases that are chosen by what was reported before.

Of releases one after the other, the next may depend on what the last one said: the posterior after a report is the
prior of the next release. `Transcript` keeps the exact total.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._common import checks
from .._common.types import Bools, Floats
from .._common.words import shorten
from ..certification.certified import Released, as_mechanism
from ..errors import MechanismError, PriorError
from ..model.labels import Labels
from ..model.leakage import ROUNDING
from ..model.levels import SMALLEST_MASS, check_epsilon
from ..model.mechanism import Mechanism, check_match, check_size, common_labels
from ..model.prior import Prior, check_prior


def posterior(prior: Prior, mechanism: Released, outcome: Hashable) -> Prior:
    """What is known about X after this report: the prior for the next release. Excluded labels are left out.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"yes": 0.1, "no": 0.9})
    >>> mechanism = ex.Mechanism([[1, 0], [0.5, 0.5]], ["yes", "no"], ["yes", "no"])
    >>> after = ex.composition.posterior(prior, mechanism, "yes")
    >>> after.probabilities.round(3).tolist()
    [0.182, 0.818]

    Parameters
    ----------
    prior
        How common each answer is.
    mechanism
        The mechanism: a row for each answer, a column for each report.
    outcome
        The label of the report that was seen.
    """
    m = as_mechanism(mechanism)
    check_match(prior, m)
    labels = common_labels(prior.labels, m.inputs)
    transcript = Transcript.start(Prior(prior.probabilities, labels)).observe(m, outcome)
    return transcript.posterior


def adaptive(first: Released, following: Mapping[Any, Released] | Callable[[Any], Released]) -> Mechanism:
    """The mechanism that releases y1 by `first` and then y2 by the mechanism chosen for y1; outputs are pairs.

    `following` maps (or is a function from) every outcome of `first` to the next mechanism. A next mechanism
    needs no row for an input that its outcome excludes.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> again = ex.composition.adaptive(mechanism, lambda report: mechanism)
    >>> again.shape == (3, mechanism.shape[1] ** 2)
    True

    Parameters
    ----------
    first
        The first mechanism.
    following
        The next mechanism for each report of the first: a mapping or a function.
    """
    m = as_mechanism(first)
    blocks: list[Floats] = []
    outputs: list[tuple[Hashable, Hashable]] = []
    for j, y in enumerate(m.outputs):
        if m.matrix[:, j].max() == 0:
            continue
        try:
            chosen = following[y] if isinstance(following, Mapping) else following(y)
        except KeyError:
            raise MechanismError(
                "an adaptive release must have a mechanism for every outcome of the first",
                given=f"none for {y!r}",
                remedy="add it to the mapping",
            ) from None
        rows = _rows(as_mechanism(chosen), m.inputs, m.matrix[:, j] > 0)
        check_size(m.shape[0], sum(block.shape[1] for block in blocks) + rows.shape[1])
        blocks.append(m.matrix[:, j : j + 1] * rows)
        outputs += [(y, z) for z in as_mechanism(chosen).outputs]
    return Mechanism(np.concatenate(blocks, axis=1), m.inputs, outputs)


@dataclass(frozen=True, eq=False)
class Transcript:
    """What an observer has seen so far about one X, and what it leaked; a new value for every report.

    `log_likelihood` holds log P(all reports so far | x) for every label of the prior, up to a constant that is
    the same for all: the largest is 0, and a label that the reports rule out has -inf. Logarithms, because after
    some hundred reports the probabilities themselves are too small for doubles, and a later report may make
    likely again what seemed out of the question. The leakage of the reports so far is
    log max_x P(reports | x) / P(reports), however the mechanisms were chosen along the way, because the choice
    depends on earlier reports only.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> transcript = ex.composition.Transcript.start(prior)
    >>> transcript.leakage
    0.0

    Attributes
    ----------
    prior
        How common each answer is.
    log_likelihood
        log P(reports so far | answer) up to a constant.
    outcomes
        The reports so far.
    """

    prior: Prior
    log_likelihood: Floats
    outcomes: Labels = ()

    @classmethod
    def start(cls, prior: Prior) -> Transcript:
        """Nothing seen yet.

        Parameters
        ----------
        prior
            How common each answer is.
        """
        return cls(check_prior(prior), np.zeros(prior.size))

    @property
    def knowledge(self) -> Floats:
        """The posterior over the labels of the prior; 0 where it is ruled out, or below the smallest double."""
        weights = self.prior.probabilities * np.exp(self.log_likelihood)
        return np.asarray(weights / weights.sum())

    @property
    def leakage(self) -> float:
        """l(X→all reports so far)."""
        return float(_leakage(self.prior, self.log_likelihood[:, None])[0])

    @property
    def posterior(self) -> Prior:
        """What is known now, as the prior for the next release; labels that are ruled out are left out.

        A mass below 1e-150, the smallest that a prior can hold, is raised to it. That changes no leakage that a
        next mechanism can be designed for: at level epsilon by at most N 1e-150 e^epsilon, relatively.
        """
        kept = np.flatnonzero(self._possible)
        labels = [self.prior.labels[i] for i in kept.tolist()]
        if len(kept) < 2:
            raise PriorError(
                "a posterior must leave at least 2 labels possible",
                given=f"only {labels[0]!r} after the reports {shorten(self.outcomes)}",
                remedy="the secret is known, nothing is left to protect",
            )
        masses = np.maximum(self.knowledge[kept], 2 * SMALLEST_MASS)  # twice: dividing by the sum lowers it
        return Prior(masses / masses.sum(), labels)

    def observe(self, mechanism: Released, outcome: Hashable) -> Transcript:
        """The transcript after one more report, drawn by this mechanism.

        Parameters
        ----------
        mechanism
            The mechanism that drew the report.
        outcome
            The label of the report that was seen.
        """
        m = as_mechanism(mechanism)
        remedy = "outputs are named by their labels, not by position"
        seen = checks.label(outcome, "outcome", m.outputs, remedy=remedy, error=MechanismError)
        column = _rows(m, self.prior.labels, self._possible)[:, seen]
        with np.errstate(divide="ignore"):
            logs = self.log_likelihood + np.log(column)
        largest = float(logs.max())
        if math.isinf(largest):
            raise MechanismError(
                "must be possible after the reports so far",
                parameter="outcome",
                given=f"{outcome!r}, which has probability 0",
                remedy="check that the reports belong to one person",
            )
        return replace(self, log_likelihood=logs - largest, outcomes=(*self.outcomes, outcome))

    def worst_after(self, mechanism: Released) -> float:
        """The largest leakage in total that one more report by this mechanism can lead to.

        Parameters
        ----------
        mechanism
            The mechanism that would draw the next report.
        """
        rows = _rows(as_mechanism(mechanism), self.prior.labels, self._possible)
        with np.errstate(divide="ignore"):
            logs = self.log_likelihood[:, None] + np.log(rows)
        return float(_leakage(self.prior, logs[:, np.isfinite(logs.max(axis=0))]).max())

    def admits(self, mechanism: Released, epsilon: float) -> bool:
        """Whether one more report by this mechanism keeps the total leakage within epsilon, whatever it says.

        Parameters
        ----------
        mechanism
            The mechanism that would draw the next report.
        epsilon
            The limit for all reports together, in nats.
        """
        return self.worst_after(mechanism) <= check_epsilon(epsilon) + ROUNDING

    @property
    def _possible(self) -> Bools:
        return np.isfinite(self.log_likelihood)


def _leakage(prior: Prior, logs: Floats) -> Floats:
    """log max_x P(y|x) / P(y) of every column of log P(y|x) that can occur; a factor for all x changes nothing."""
    largest = logs.max(axis=0)
    mean = prior.probabilities @ np.exp(logs - largest)
    return np.asarray(np.maximum(-np.log(mean), 0.0))


def _rows(mechanism: Mechanism, labels: Labels, needed: Bools) -> Floats:
    """The rows of the mechanism for these labels; zeros where a label is not needed and has none."""
    n = len(labels)
    if mechanism.inputs == labels or (mechanism.shape[0] == n and mechanism.inputs == tuple(range(n))):
        return mechanism.matrix
    row = {label: i for i, label in enumerate(mechanism.inputs)}
    missing = [
        label for label, need in zip(labels, needed.tolist(), strict=True) if need and label not in row
    ]
    if missing:
        raise MechanismError(
            "a next mechanism must take every label that is still possible",
            given=f"none for {shorten(missing, 5)}",
            remedy="build it for the posterior: posterior(prior, mechanism, outcome)",
        )
    known = np.array([row.get(label, -1) for label in labels])
    return np.where((known >= 0)[:, None], mechanism.matrix[known], 0.0)
