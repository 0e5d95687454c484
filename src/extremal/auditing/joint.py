"""Several columns of one record, or several waves of one panel: what their reports tell, from their joint distribution.

Columns are released one by one, and those that are not may still be leaked about. The record decides: the reports of
all columns are one mechanism from records to tuples of reports.

In a panel the record is the path (X_1, ..., X_T) of a person's answers; wave t reports Y_t, drawn from X_t alone.
Without a joint distribution of the path,

    l(path -> y_1..y_T) <= l(X_s -> y_s) + sum over t != s of log max_x P_t(y_t|x) / min_x P_t(y_t|x),

because given any past, P(y_t) is at least min_x P_t(y_t|x). For two waves with known shares in each the worst case over
all joint distributions is known: P(y_1, y_2) = E[a(X_1) b(X_2)] is smallest if large a come with small b.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
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
from ..model.labels import Labels
from ..model.leakage import epsilon_pml
from ..model.leakage_measures import ldp_epsilon
from ..model.mechanism import Mechanism, check_size
from ..model.prior import Prior, check_prior
from ..model.processing import seen_from
from .audit import Audit, audit

MOST_CELLS = 50_000_000  # paths times combinations of reports: 400 MB


def audit_columns(
    joint: Prior,
    mechanisms: Mapping[Any, Released],
    about: Any = None,
    names: Sequence[Any] | None = None,
) -> Audit:
    """What the reports of some columns, taken together, leak about one column or about the whole record.

    `joint` is a prior on tuples (Prior.joint makes one), `mechanisms` maps a column, or a tuple of columns
    that are drawn together, to its mechanism, and `about` is the column that somebody wants to know; None is
    the whole record. Columns are named by `names`, or by their positions 0, 1, …. Reports of separate columns
    are drawn independently given the record, as privatize does; their outcomes are tuples, in the order
    of `mechanisms`. A column without a mechanism is not released, and may still be leaked about.

    Examples
    --------
    >>> import extremal as ex
    >>> joint = ex.Prior(
    ...     {("yes", "old"): 0.3, ("yes", "young"): 0.1, ("no", "old"): 0.2, ("no", "young"): 0.4}
    ... )
    >>> answer = ex.design(ex.Prior({"yes": 0.4, "no": 0.6}), 0.4).mechanism
    >>> age = ex.Mechanism([[1, 0], [0, 1]], ["old", "young"])
    >>> found = ex.composition.audit_columns(
    ...     joint, {"answer": answer, "age": age}, "answer", ["answer", "age"]
    ... )
    >>> found.epsilon > 0.4  # age tells something about the answer
    True

    Parameters
    ----------
    joint
        A prior on tuples of answers.
    mechanisms
        The mechanism of each column, or tuple of columns, that is released.
    about
        The column to audit; the whole record if None.
    names
        Names of the columns; their positions if None.
    """
    columns = _columns(joint, names)
    record = record_mechanism(joint, mechanisms, columns)
    if about is None:
        return audit(joint, record)
    return audit(*seen_from(joint, record, _picked(joint, (_place(columns, about, "about"),))))


def record_mechanism(joint: Prior, mechanisms: Mapping[Any, Released], columns: Sequence[Any]) -> Mechanism:
    """The mechanism from whole records to the reports of all released columns."""
    checks.mapping(
        mechanisms,
        "mechanisms",
        "from columns to mechanisms",
        remedy="e.g. {'income': mechanism}, with names=['age', 'income']",
        error=MechanismError,
    )
    matrix = _record_matrix(joint, mechanisms, columns)
    each = [as_mechanism(given).outputs for given in mechanisms.values()]
    return Mechanism(matrix, joint.labels, each[0] if len(each) == 1 else list(product(*each)))


def _record_matrix(joint: Prior, mechanisms: Mapping[Any, Released], columns: Sequence[Any]) -> Floats:
    """How likely each combination of reports is for each record."""
    matrix = np.ones((joint.size, 1))
    drawn: set[int] = set()
    for key, given in mechanisms.items():
        mechanism = as_mechanism(given)
        names = key if isinstance(key, tuple) and key not in columns else (key,)
        places = tuple(_place(columns, name, "mechanisms") for name in names)
        if drawn & set(places):
            raise MechanismError(
                "a column must be released once",
                given=f"{key!r} again",
                remedy="two reports of one column are two releases: give them one mechanism, m.compose(m)",
            )
        drawn |= set(places)
        part = mechanism.matrix[_rows(joint, mechanism, places, key)]
        check_size(joint.size, matrix.shape[1] * part.shape[1])
        matrix = np.einsum("ij,ik->ijk", matrix, part).reshape(joint.size, -1)
    return matrix


def _rows(joint: Prior, mechanism: Mechanism, places: tuple[int, ...], key: Any) -> list[int]:
    """For every record the row of the mechanism that its column takes."""
    row = {x: i for i, x in enumerate(mechanism.inputs)}
    values = list(_picked(joint, places).values())
    unknown = [x for x in dict.fromkeys(values) if x not in row]
    if unknown:
        raise MechanismError(
            f"the mechanism of column {key!r} must take every value that the joint prior has there",
            given=f"none for {shorten(unknown, 5)}",
            remedy=f"its inputs are {shorten(mechanism.inputs, 5)}",
        )
    return [row[x] for x in values]


def _picked(joint: Prior, places: tuple[int, ...]) -> dict[Any, Hashable]:
    """The value of one column, or the tuple of several, for every record, in the order of the prior."""
    return {
        x: x[places[0]] if len(places) == 1 else tuple(x[k] for k in places)  # type: ignore[index]
        for x in joint.labels
    }


def _columns(joint: Prior, names: Sequence[Any] | None) -> Labels:
    labels = check_prior(joint).labels
    width = len(labels[0]) if isinstance(labels[0], tuple) else 0
    if width < 2 or any(not isinstance(x, tuple) or len(x) != width for x in labels):
        raise PriorError(
            "a joint prior must have tuples of equal length as labels",
            given=shorten(labels, 3),
            remedy="make it with Prior.joint(frame, columns)",
        )
    columns = tuple(range(width)) if names is None else tuple(names)
    if len(columns) != width or len(set(columns)) != width:
        raise PriorError(
            f"must be {width} different names, one for each column of the joint prior",
            parameter="names",
            given=shorten(columns),
            remedy="they stand in the order in which Prior.joint got them",
        )
    return columns


def _place(columns: Sequence[Any], name: Any, what: str) -> int:
    remedy = "give names= in the order of the joint prior to use names"
    return checks.label(name, what, columns, remedy=remedy, error=PriorError)


@dataclass(frozen=True, eq=False, repr=False)
class PanelLeakage:
    """What reports of several waves leak together, about the whole path and about the answer of each wave.

    `alone` is what each report leaks about its own answer. `worst_case` holds for every joint distribution of the
    answers that has the same shares in each wave; infinity if there is no bound.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"yes": 0.3, "no": 0.7})
    >>> mechanism = ex.design(prior, 0.4).mechanism
    >>> moves = ex.panels.markov(prior, [[0.9, 0.1], [0.1, 0.9]])
    >>> found = ex.panels.leakage([mechanism, mechanism], moves)
    >>> found.path > 0.4
    True

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

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"yes": 0.3, "no": 0.7})
    >>> joint = ex.panels.markov(prior, [[0.9, 0.1], [0.1, 0.9]])
    >>> joint.labels
    (('yes', 'yes'), ('yes', 'no'), ('no', 'yes'), ('no', 'no'))

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

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"yes": 0.3, "no": 0.7})
    >>> mechanism = ex.design(prior, 0.4).mechanism
    >>> moves = ex.panels.markov(prior, [[0.9, 0.1], [0.1, 0.9]])
    >>> found = ex.panels.leakage([mechanism, mechanism], moves)
    >>> found.path > 0.4
    True

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
    path: float | None = None
    each: tuple[float, ...] = ()
    if isinstance(answers, Prior):
        waves = _waves(answers, parts)
        values = [_picked(answers, (t,)) for t in range(len(parts))]
        whole = Mechanism(
            _record_matrix(answers, dict(zip(waves, parts, strict=True)), waves), answers.labels
        )
        path = epsilon_pml(answers, whole)
        each = tuple(epsilon_pml(*seen_from(answers, whole, value)) for value in values)
        own = [
            seen_from(answers, record_mechanism(answers, {wave: part}, waves), value)
            for wave, part, value in zip(waves, parts, values, strict=True)
        ]
    else:
        words = "a prior of paths, or a list with a prior for each wave"
        checks.instance(answers, "answers", (list, tuple), words)
        checks.length(answers, "answers", len(parts), "wave")
        own = list(zip(map(check_prior, answers), parts, strict=True))
    alone = tuple(epsilon_pml(prior, part) for prior, part in own)
    if len(own) == 2:
        return PanelLeakage(alone, path, each, _worst_of_two(*own))
    levels = [ldp_epsilon(part) for _, part in own]
    worst = min(one + math.fsum(levels[:s] + levels[s + 1 :]) for s, one in enumerate(alone))
    return PanelLeakage(alone, path, each, worst)


def _worst_of_two(one: tuple[Prior, Mechanism], other: tuple[Prior, Mechanism]) -> float:
    """The largest log of max a max b / min E[a b] over all pairs of reports; the minimum is over all couplings."""
    worst = 0.0
    for a, b in product(one[1].matrix.T, other[1].matrix.T):
        if not a.any() or not b.any():
            continue
        least = _opposite(a, one[0].probabilities, b, other[0].probabilities)
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


def _waves(answers: Prior, parts: list[Mechanism]) -> list[str]:
    """Names of the waves, if the labels are paths of as many answers."""
    if any(not isinstance(path, tuple) or len(path) != len(parts) for path in answers.labels):
        raise PriorError(
            f"labels must be tuples of {len(parts)} answers, one for each wave",
            given=shorten(answers.labels, 3),
        )
    cells = math.prod(part.shape[1] for part in parts) * answers.size
    if cells > MOST_CELLS:
        raise SizeError(
            f"paths times combinations of reports must be at most {MOST_CELLS}",
            given=cells,
            remedy="give a prior for each wave, for the worst case",
        )
    return [f"wave {t + 1}" for t in range(len(parts))]


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)
