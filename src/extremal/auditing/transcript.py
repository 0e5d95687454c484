"""Releases one after the other, where the next may depend on what the last one said.

The posterior after a report is the prior of the next release, and leakages taken in this way may be added:
l(X→y1, y2) <= l(X→y1) + l'(X→y2) with l' under the posterior after y1. `Transcript` keeps the exact total.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..certification.certify import Released, as_mechanism
from ..errors import MechanismError, PriorError
from ..model.leakage import ROUNDING
from ..model.mechanism import Mechanism, check_match, check_size, common_labels
from ..model.prior import Labels, Prior, check_prior, shorten
from ..model.regions import check_epsilon


def posterior(prior: Prior, mechanism: Released, outcome: Hashable) -> Prior:
    """What is known about X after this report: the prior for the next release. Excluded labels are left out."""
    m = as_mechanism(mechanism)
    check_match(prior, m)
    labels = common_labels(prior.labels, m.inputs)
    transcript = Transcript.start(Prior(prior.probabilities, labels)).observe(m, outcome)
    return transcript.posterior


def adaptive(first: Released, following: Mapping[Any, Released] | Callable[[Any], Released]) -> Mechanism:
    """The mechanism that releases y1 by `first` and then y2 by the mechanism chosen for y1; outputs are pairs.

    `following` maps (or is a function from) every outcome of `first` to the next mechanism. A next mechanism
    needs no row for an input that its outcome excludes.
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
                f"an adaptive release must have a mechanism for every outcome of the first, got none for {y!r}; "
                "add it to the mapping"
            ) from None
        rows = _rows(as_mechanism(chosen), m.inputs, m.matrix[:, j] > 0)
        check_size(m.shape[0], sum(block.shape[1] for block in blocks) + rows.shape[1])
        blocks.append(m.matrix[:, j : j + 1] * rows)
        outputs += [(y, z) for z in as_mechanism(chosen).outputs]
    return Mechanism(np.concatenate(blocks, axis=1), m.inputs, outputs)


@dataclass(frozen=True, eq=False)
class Transcript:
    """What an observer has seen so far about one X, and what it leaked; a new value for every report.

    `knowledge` is the posterior over the labels of the prior, zeros included. The leakage of the reports so
    far is log max_x knowledge(x) / prior(x), however the mechanisms were chosen along the way, because the
    choice depends on earlier reports only.
    """

    prior: Prior
    knowledge: Floats
    outcomes: Labels = ()

    @classmethod
    def start(cls, prior: Prior) -> Transcript:
        """Nothing seen yet."""
        return cls(check_prior(prior), prior.probabilities)

    @property
    def leakage(self) -> float:
        """l(X→all reports so far)."""
        return max(math.log(float((self.knowledge / self.prior.probabilities).max())), 0.0)

    @property
    def posterior(self) -> Prior:
        """What is known now, as the prior for the next release; labels that are excluded are left out."""
        kept = np.flatnonzero(self.knowledge > 0)
        labels = [self.prior.labels[i] for i in kept.tolist()]
        if len(kept) < 2:
            raise PriorError(
                f"a posterior must leave at least 2 labels possible, got only {labels[0]!r} after the reports "
                f"{shorten(self.outcomes)}; the secret is known, nothing is left to protect"
            )
        return Prior(self.knowledge[kept] / self.knowledge[kept].sum(), labels)

    def observe(self, mechanism: Released, outcome: Hashable) -> Transcript:
        """The transcript after one more report, drawn by this mechanism."""
        m = as_mechanism(mechanism)
        if outcome not in m.outputs:
            raise MechanismError(
                f"outcome must be an output of the mechanism, {shorten(m.outputs)}, got {outcome!r}; "
                "outputs are named by their labels, not by position"
            )
        column = _rows(m, self.prior.labels, self.knowledge > 0)[:, m.outputs.index(outcome)]
        scale = float(column[self.knowledge > 0].max())
        if scale == 0:
            raise MechanismError(
                f"outcome must be possible after the reports so far, got {outcome!r}, which has probability 0; "
                "check that the reports belong to one person"
            )
        weights = self.knowledge * (column / scale)
        return replace(self, knowledge=weights / weights.sum(), outcomes=(*self.outcomes, outcome))

    def worst_after(self, mechanism: Released) -> float:
        """The largest leakage in total that one more report by this mechanism can lead to."""
        rows = _rows(as_mechanism(mechanism), self.prior.labels, self.knowledge > 0)
        weights = self.knowledge[:, None] * rows
        total = weights.sum(axis=0)
        ratio = (weights[:, total > 0] / total[total > 0]) / self.prior.probabilities[:, None]
        return max(math.log(float(ratio.max())), 0.0)

    def admits(self, mechanism: Released, epsilon: float) -> bool:
        """Whether one more report by this mechanism keeps the total leakage within epsilon, whatever it says."""
        return self.worst_after(mechanism) <= check_epsilon(epsilon) + ROUNDING


def _rows(mechanism: Mechanism, labels: Labels, needed: NDArray[np.bool_]) -> Floats:
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
            f"a next mechanism must take every label that is still possible, got none for {shorten(missing, 5)}; "
            "build it for the posterior: posterior(prior, mechanism, outcome)"
        )
    known = np.array([row.get(label, -1) for label in labels])
    return np.asarray(np.where((known >= 0)[:, None], mechanism.matrix[known], 0.0))
