"""What a full set of reports can give away about one person, all questions together, by exact composition.

Questions whose answers are independent: a product of mechanisms on a product prior, whose leakage is the sum. With a
joint prior: the mechanism from whole records to all reports, evaluated outcome by outcome.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

from ..auditing.columns import record_mechanism
from ..errors import SizeError
from ..model.leakage import epsilon_pml, ldp_epsilon
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.processing import seen_from
from .published import Asked
from .sets import set_mechanism
from .survey import Joint

LARGEST = 1 << 24  # entries of the joint mechanism


@dataclass(frozen=True)
class Leakage:
    """Of one private question: by its own report, and by everything that a person sends."""

    question: str
    own: float
    all: float
    exact: bool


@dataclass(frozen=True)
class Findings:
    """What `survey check` tells: levels in nats, sentences for the researcher, and one for the page."""

    epsilon: float
    exact: bool
    leakages: tuple[Leakage, ...]
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    together: str

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "epsilon": self.epsilon,
            "exact": self.exact,
            "factor": math.exp(self.epsilon),
            "questions": [vars(leakage) for leakage in self.leakages],
            "sentences": list(self.sentences),
            "warnings": list(self.warnings),
            "together": self.together,
        }


def findings(asked: tuple[Asked, ...], joint: Joint | None, notes: list[str]) -> Findings:
    """What the reports to these questions leak about one person."""
    private = [q for q in asked if q.mechanisms]
    clear = [q for q in asked if not q.mechanisms]
    channels = {q.name: channel(q) for q in private}
    own = {q.name: q.level for q in private}
    inside = [q for q in asked if joint is not None and q.name in joint.questions]
    alone = math.fsum(own[q.name] for q in private if q not in inside)
    exact, joint_level = True, 0.0
    about: dict[str, float] = {}
    if joint is not None and any(q.mechanisms for q in inside):
        joint_level, about, exact = _together(joint, inside, channels)
    leakages = []
    for q in private:
        if q.name in about:
            leakages.append(Leakage(q.name, own[q.name], about[q.name], exact))
        else:
            leakages.append(Leakage(q.name, own[q.name], own[q.name], True))
    epsilon = alone + joint_level
    covered = {q.name for q in inside}
    warnings = [
        *(text for q in private for text in _disclosures(q)),
        *(_item_warning(q.name) for q in private if q.independent),
        *_clear_warning([q.name for q in clear if q.name not in covered], [q.name for q in private]),
        *_dependence_warning(private, covered, channels),
    ]
    sentences = [*_sentences(private, epsilon, exact, joint), *notes]
    return Findings(
        epsilon,
        exact,
        tuple(leakages),
        tuple(sentences),
        tuple(warnings),
        _for_people(private, clear, epsilon, covered),
    )


def channel(question: Asked) -> tuple[Prior, Mechanism]:
    """The prior of a private question and the mechanism from its answer to all that is sent for it."""
    if question.subsets is not None:
        return question.subsets, set_mechanism(question.subsets, question.mechanisms)
    (certified,) = question.mechanisms
    return certified.prior, certified.mechanism


def _together(
    joint: Joint, inside: list[Asked], channels: dict[str, tuple[Prior, Mechanism]]
) -> tuple[float, dict[str, float], bool]:
    """The leakage about all private answers of a joint prior, and about each; at most, where it is too large."""
    mechanisms: dict[Any, Mechanism] = {}
    for q in inside:
        mechanisms[q.name] = channels[q.name][1] if q.mechanisms else _open(q)
    names = [q.name for q in inside if q.mechanisms]
    places = [joint.questions.index(name) for name in names]
    try:
        size = reduce(mul, (m.shape[1] for m in mechanisms.values()), joint.prior.size)
        if size > LARGEST:
            raise SizeError("too many combinations")
        record = record_mechanism(joint.prior, mechanisms, joint.questions)
    except SizeError:
        most = {name: _marginal(joint, k).epsilon_max for name, k in zip(names, places, strict=True)}
        return joint.prior.epsilon_max, most, False
    labels: list[Any] = list(joint.prior.labels)
    secret = {x: tuple(x[k] for k in places) for x in labels}
    about = {
        name: epsilon_pml(*seen_from(joint.prior, record, {x: x[k] for x in labels}))
        for name, k in zip(names, places, strict=True)
    }
    return epsilon_pml(*seen_from(joint.prior, record, secret)), about, True


def _open(question: Asked) -> Mechanism:
    """A question in the clear as a mechanism: the answer itself."""
    from ..model.mechanism import identity

    return identity(Prior.uniform(question.answers))


def _marginal(joint: Joint, place: int) -> Prior:
    masses: dict[Any, float] = {}
    labels: list[Any] = list(joint.prior.labels)
    for label, mass in zip(labels, joint.prior.probabilities.tolist(), strict=True):
        masses[label[place]] = masses.get(label[place], 0.0) + mass
    return Prior.from_counts(masses)


def factor(epsilon: float) -> str:
    """e^epsilon, rounded up."""
    return f"{math.ceil(math.exp(min(epsilon, 600.0)) * 100 - 1e-9) / 100:g}"


def _sentences(private: list[Asked], epsilon: float, exact: bool, joint: Joint | None) -> list[str]:
    if not private:
        return ["No question is private: every answer is sent as it is."]
    count = len(private)
    who = "The report" if count == 1 else f"All {count} private reports of one person together"
    verb = "leaks" if count == 1 else "leak"
    most = "at most " if not exact else ""
    told = [
        f"{who} {verb} {most}{epsilon:.4g} nats: no guess about the answers, whatever it is, gets more than "
        f"{factor(epsilon)} times as likely to be right."
    ]
    if joint is not None:
        told.append(f"Computed from the joint prior of {', '.join(joint.questions)}.")
    return told


def _disclosures(question: Asked) -> list[str]:
    """That reports tell the answer itself, or rule some out, where they do."""
    open_to_all = [m for m in question.mechanisms if m.epsilon >= m.prior.epsilon_max]
    if open_to_all:
        top = min(m.prior.epsilon_max for m in open_to_all)
        return [
            f"WARNING: {question.name}: epsilon {open_to_all[0].epsilon:.4g} is not below {top:.4g}, from which on the "
            "report may be the true answer itself. Choose a smaller one."
        ]
    if any((m.mechanism.matrix == 0).any() for m in question.mechanisms):
        return [
            f"{question.name}: some reports rule some answers out; extremal audit on its mechanism file lists which."
        ]
    return []


def _item_warning(name: str) -> str:
    return (
        f"{name}: items are taken to be independent of each other. If they depend on each other, a report can tell "
        "more. Give counts of subsets instead."
    )


def _clear_warning(clear: list[str], private: list[str]) -> list[str]:
    if not clear or not private:
        return []
    what = ", ".join(clear)
    return [
        f"{what}: asked in the clear. Where these answers depend on the private ones ({', '.join(private)}), they tell "
        "something about them that is not counted here. Give a cross table under [joint] to compute it."
    ]


def _dependence_warning(
    private: list[Asked], covered: set[str], channels: dict[str, tuple[Prior, Mechanism]]
) -> list[str]:
    """What holds whatever the dependence between the answers to several questions."""
    names = [q.name for q in private]
    if len(names) < 2 or covered >= set(names):
        return []
    local = {name: ldp_epsilon(channels[name][1]) for name in names}
    worst = {}
    for name in names:
        prior, mechanism = channels[name]
        others = math.fsum(local[other] for other in names if other != name)
        worst[name] = min(epsilon_pml(prior, mechanism) + others, prior.epsilon_max)
    told = ", ".join(f"{name} {level:.3g}" for name, level in worst.items())
    return [
        "Levels are added as if the answers to different questions were independent. If they depend on each other, all "
        f"reports together can tell more about one answer than its own report does, at most (in nats): {told}. Give a "
        "cross table under [joint] for the exact figure."
    ]


def _for_people(private: list[Asked], clear: list[Asked], epsilon: float, covered: set[str]) -> str:
    """One sentence or two for the page."""
    told = []
    if private:
        one = len(private) == 1
        what = (
            "What is sent for the private question"
            if one
            else "Everything that is sent for the private questions"
        )
        conditions = []
        if not one and not covered >= {q.name for q in private}:
            conditions.append("your answers to different questions are independent")
        if any(q.independent and q.name not in covered for q in private):
            conditions.append("what you choose is independent from item to item")
        unless = f", if {' and '.join(conditions)}" if conditions else ""
        told.append(
            f"{what} makes no guess about your {'answer' if one else 'answers'} more than {factor(epsilon)} times as "
            f"likely to be right{unless}."
        )
    if clear:
        told.append("Answers to the questions marked as not private are sent as they are.")
    return " ".join(told)
