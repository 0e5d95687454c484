"""What the waves of a panel leak together when answers may change.

The secret is the path (X_1, ..., X_T) of a person's answers; wave t reports Y_t, drawn from X_t alone. With a joint
distribution of the path the answer is exact: the leakage of one mechanism from paths to tuples of reports. Without one,

    l(path -> y_1..y_T) <= l(X_s -> y_s) + sum over t != s of log max_x P_t(y_t|x) / min_x P_t(y_t|x),

because given any past, P(y_t) is at least min_x P_t(y_t|x). For two waves with known shares in each the worst case over
all joint distributions is known: P(y_1, y_2) = E[a(X_1) b(X_2)] is smallest if large a come with small b.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Floats
from .._common.words import shorten
from ..certification.certified import Released, as_mechanism
from ..errors import MechanismError, OptionError, PriorError, SizeError
from ..model.leakage import epsilon_pml
from ..model.leakage_measures import ldp_epsilon
from ..model.mechanism import Mechanism, check_match
from ..model.prior import Prior, check_prior

MOST_CELLS = 50_000_000  # paths times combinations of reports: 400 MB


@dataclass(frozen=True, eq=False, repr=False)
class PanelLeakage:
    """What reports of several waves leak together, about the whole path and about the answer of each wave.

    `alone` is what each report leaks about its own answer. `worst_case` holds for every joint distribution of the
    answers that has the same shares in each wave; infinity if there is no bound.

    Attributes
    ----------
    alone
        What each report leaks about its own answer.
    path
        What all reports leak about the whole path; None if no joint distribution was given.
    each
        What all reports leak about the answer of each wave.
    worst_case
        A bound for every joint distribution with the same shares; inf if there is none.
    """

    alone: tuple[float, ...]
    path: float | None  # None if no joint distribution was given
    each: tuple[float, ...]
    worst_case: float

    @property
    def epsilon(self) -> float:
        """What holds: the exact leakage of the path if its distribution is known, else the worst case."""
        return self.worst_case if self.path is None else self.path

    def __str__(self) -> str:
        waves = len(self.alone)
        said = [f"{waves} waves, whose reports leak {_listed(self.alone)} nats about their own answers"]
        if self.path is not None:
            said.append(f"together they leak {self.path:.4g} nats about the whole path of answers,")
            said.append(f"and {_listed(self.each)} nats about the answer in each wave")
        bound = f"at most {self.worst_case:.4g} nats" if math.isfinite(self.worst_case) else "without a bound"
        said.append(f"if answers may change in any way that leaves the shares as they are: {bound}")
        return "\n".join(said)

    __repr__ = __str__


def markov(prior: Prior, *transitions: Any) -> Prior:
    """The distribution of paths: the prior of the first wave, then a stochastic matrix for each later one.

    Parameters
    ----------
    prior
        Of the first wave.
    transitions
        For each later wave a matrix, from row to column, in the order of the labels. Paths that cannot occur are left
        out.
    """
    labels = check_prior(prior).labels
    masses: dict[tuple[Any, ...], float] = {
        (label,): p for label, p in zip(labels, prior.probabilities.tolist(), strict=True)
    }
    place = {label: i for i, label in enumerate(labels)}
    for given in transitions:
        T = checks.matrix(given, "transitions", shape=(len(labels), len(labels)), error=PriorError)
        for row in T:
            checks.probabilities(row, "a row of transitions", error=PriorError)
        masses = {
            (*path, label): p * float(T[place[path[-1]], k])
            for path, p in masses.items()
            for k, label in enumerate(labels)
            if T[place[path[-1]], k] > 0
        }
    if not transitions:
        raise PriorError("a path needs at least one transition", given="none")
    return Prior.from_counts(masses)


@one_thread
def leakage(mechanisms: Sequence[Released], answers: Prior | Sequence[Prior]) -> PanelLeakage:
    """What the reports of all waves leak together.

    Parameters
    ----------
    mechanisms
        One for each wave.
    answers
        The joint distribution of the answers, a prior whose labels are tuples, one answer for each wave: see
        `markov`. Or a prior for each wave: then nothing is known about how answers change, and the worst case is what
        holds.
    """
    parts = [as_mechanism(m) for m in mechanisms]
    if len(parts) < 2:
        raise OptionError("a panel has at least 2 waves", given=len(parts))
    if isinstance(answers, Prior):
        marginals = _marginals(answers, parts)
        parts = [_restricted(part, prior) for part, prior in zip(parts, marginals, strict=True)]
        P, path = _path_mechanism(answers, parts)
        each = tuple(_about(answers, P, t, marginals[t]) for t in range(len(parts)))
        exact: float | None = epsilon_pml(answers, path)
    else:
        if not isinstance(answers, list | tuple):
            raise OptionError(
                "must be a prior of paths, or a list with a prior for each wave",
                parameter="answers",
                given=repr(answers)[:60],
            )
        marginals, each, exact = [check_prior(p) for p in answers], (), None
        if len(marginals) != len(parts):
            raise OptionError(
                "must be one prior for each wave",
                parameter="answers",
                given=f"{len(marginals)} for {len(parts)} waves",
            )
    for prior, part in zip(marginals, parts, strict=True):
        check_match(prior, part)
    alone = tuple(epsilon_pml(prior, part) for prior, part in zip(marginals, parts, strict=True))
    return PanelLeakage(alone, exact, each, _worst(marginals, parts, alone))


def _worst(marginals: list[Prior], parts: list[Mechanism], alone: tuple[float, ...]) -> float:
    if len(parts) == 2:
        return _worst_of_two(marginals, parts)
    levels = [ldp_epsilon(part) for part in parts]
    return min(
        alone[s] + math.fsum(level for t, level in enumerate(levels) if t != s) for s in range(len(parts))
    )


def _worst_of_two(marginals: list[Prior], parts: list[Mechanism]) -> float:
    """The largest log of max a max b / min E[a b] over all pairs of reports; the minimum is over all couplings."""
    worst = 0.0
    for a, b in product(parts[0].matrix.T, parts[1].matrix.T):
        if not a.any() or not b.any():
            continue
        least = _opposite(a, marginals[0].probabilities, b, marginals[1].probabilities)
        if least <= 0:
            return math.inf
        worst = max(worst, math.log(float(a.max() * b.max()) / least))
    return worst


def _opposite(a: Floats, p: Floats, b: Floats, q: Floats) -> float:
    """E[a(X) b(Y)] where the largest a come with the smallest b."""
    up, down = np.argsort(a, kind="stable"), np.argsort(-b, kind="stable")
    edges = np.union1d(np.cumsum(p[up])[:-1], np.cumsum(q[down])[:-1])
    edges = np.concatenate(([0.0], edges[(edges > 0) & (edges < 1)], [1.0]))
    middle = (edges[1:] + edges[:-1]) / 2
    one = a[up][np.minimum(np.searchsorted(np.cumsum(p[up]), middle), len(a) - 1)]
    other = b[down][np.minimum(np.searchsorted(np.cumsum(q[down]), middle), len(b) - 1)]
    return float(np.diff(edges) @ (one * other))


def _marginals(answers: Prior, parts: list[Mechanism]) -> list[Prior]:
    """The prior of each wave, in the order of its mechanism's inputs, of those that occur."""
    paths: Any = answers.labels
    if any(not isinstance(path, tuple) or len(path) != len(parts) for path in paths):
        raise PriorError(
            f"labels must be tuples of {len(parts)} answers, one for each wave",
            given=shorten(answers.labels, 3),
        )
    found = []
    for t, part in enumerate(parts):
        masses: dict[Any, float] = dict.fromkeys(part.inputs, 0.0)
        for path, p in zip(paths, answers.probabilities.tolist(), strict=True):
            if path[t] not in masses:
                raise MechanismError(
                    "answers must be inputs of the mechanism of their wave",
                    given=f"{path[t]!r} in wave {t + 1}, of {shorten(part.inputs)}",
                )
            masses[path[t]] += p
        found.append(Prior.from_counts({label: p for label, p in masses.items() if p > 0}))
    return found


def _restricted(part: Mechanism, prior: Prior) -> Mechanism:
    """The mechanism on the answers that occur in its wave."""
    place = {label: i for i, label in enumerate(part.inputs)}
    return Mechanism(part.matrix[[place[label] for label in prior.labels]], prior.labels, part.outputs)


def _path_mechanism(answers: Prior, parts: list[Mechanism]) -> tuple[Floats, Mechanism]:
    outcomes = math.prod(part.shape[1] for part in parts)
    if outcomes * answers.size > MOST_CELLS:
        raise SizeError(
            f"paths times combinations of reports must be at most {MOST_CELLS}",
            given=outcomes * answers.size,
            remedy="give a prior for each wave, for the worst case",
        )
    P = np.ones((answers.size, 1))
    paths: Any = answers.labels
    for t, part in enumerate(parts):
        place = {label: i for i, label in enumerate(part.inputs)}
        rows = part.matrix[[place[path[t]] for path in paths]]
        P = (P[:, :, None] * rows[:, None, :]).reshape(answers.size, -1)
    return P, Mechanism(P / P.sum(axis=1, keepdims=True), answers.labels)


def _about(answers: Prior, P: Floats, wave: int, marginal: Prior) -> float:
    """What all reports leak about the answer of one wave."""
    paths: Any = answers.labels
    place = {label: i for i, label in enumerate(marginal.labels)}
    sums = np.zeros((marginal.size, P.shape[1]))
    np.add.at(sums, [place[path[wave]] for path in paths], P * answers.probabilities[:, None])
    rows = sums / marginal.probabilities[:, None]
    return epsilon_pml(marginal, Mechanism(rows / rows.sum(axis=1, keepdims=True), marginal.labels))


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)
