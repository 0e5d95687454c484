"""What a full set of reports can give away about one person, all questions together, by exact composition.

Questions whose answers are independent: a product of mechanisms on a product prior, whose leakage is the sum. With a
joint prior: the mechanism from whole records to all reports, evaluated outcome by outcome.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from .._common.words import factor
from ..auditing.joint import record_mechanism
from ..certification.certified import Certified
from ..errors import SizeError, SurveyError
from ..model.leakage import epsilon_pml
from ..model.leakage_measures import ldp_epsilon
from ..model.mechanism import Mechanism, identity
from ..model.prior import Prior
from ..model.processing import seen_from
from .published import NOT_ASKED, Asked, set_mechanism
from .survey import Joint
from .wordings import fill, meets

LARGEST = 1 << 24  # entries of the joint mechanism
CERTAIN = 20  # a guess that gets so many times as likely to be right may be all but certain
NOT_PRIVATE = "No question is private: every answer is sent as it is."
CLEAR = (
    "{open}: asked in the clear. If these answers depend on the private ones ({private}), they reveal something about "
    "them that is not counted here. Add a cross table under [joint] to compute it."
)
INDEPENDENT = (
    "items are taken to be independent of each other. If they depend on each other, a report can tell more. "
    "Give counts of subsets instead."
)
DIFFERENT = 0.03  # of a share in a cross table and in a question's prior: beyond rounding and samples


@dataclass(frozen=True)
class Leakage:
    """Of one private question: by its own report, and by everything that a person sends."""

    question: str
    own: float
    all: float
    exact: bool  # no assumption but the priors
    at_most: bool  # a bound, where a joint prior has too many combinations


@dataclass(frozen=True)
class Findings:
    """What `survey check` tells: levels in nats, sentences for the researcher, and what the page says of the total."""

    epsilon: float
    exact: bool
    leakages: tuple[Leakage, ...]
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    together: dict[str, Any]

    @property
    def total(self) -> str:
        """What respondents read about all their reports, in English."""
        level = math.exp(self.together["epsilon"])
        if not self.leakages:
            return NOT_PRIVATE
        if level > CERTAIN:
            return fill("total_certain")
        conditions = [fill(f"if_{condition}") for condition in self.together["conditions"]]
        return " ".join([fill("total", factor=factor(self.together["epsilon"])), *conditions])

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "epsilon": self.epsilon,
            "exact": self.exact,
            "factor": math.exp(self.epsilon),
            "questions": [vars(leakage) for leakage in self.leakages],
            "sentences": list(self.sentences),
            "warnings": list(self.warnings),
            "together": self.total,
        }


def findings(asked: tuple[Asked, ...], joint: Joint | None, notes: list[str]) -> Findings:
    """What the reports to these questions leak about one person."""
    private = [q for q in asked if q.private]
    own = {q.name: q.level for q in private}
    joints = [*([joint] if joint is not None else []), *_decided(asked, joint)]
    inside = [q for q in asked if joint is not None and q.name in joint.questions]
    covered = {name for one in joints for name in one.questions}
    added = [q.name for q in private if q.name not in covered] if len(private) > 1 else []
    channels = {q.name: channel(q) for q in asked if q.windows is None} if added or covered else {}
    levels: list[float] = []
    about: dict[str, float] = {}
    loose: set[str] = set()
    for one in joints:
        members = [q for q in asked if q.name in one.questions]
        if not any(q.mechanisms for q in members):
            continue
        level, each, at_most = _together(one, members, channels)
        levels.append(max(level, *(max(own[name], each[name]) for name in each)))
        about |= each
        loose |= set(each) if at_most else set()
    apart = bool(added) or len(levels) > 1
    leakages = [
        Leakage(
            q.name,
            own[q.name],
            max(own[q.name], about.get(q.name, 0.0)),
            not apart and not loose,
            q.name in loose,
        )
        for q in private  # its own prior may be another one than that of a cross table
    ]
    epsilon = math.fsum([*(own[q.name] for q in private if q.name not in covered), *levels])
    unknown = [q.name for q in asked if not q.private and q.name not in covered]
    warnings = [
        *(text for q in private for text in _disclosures(q)),
        *(f"{q.name}: {INDEPENDENT}" for q in private if q.independent),
        *([CLEAR.format(open=", ".join(unknown), private=", ".join(own))] if unknown and private else []),
        *(_dependence_warning(private, channels) if apart else []),
        *(text for q in inside if q.mechanisms for text in _other_shares(q.name, joint, channels[q.name][0])),
    ]
    used = [one for one in joints if set(one.questions) & set(about)]
    sentences = [*_sentences(private, epsilon, bool(loose), used, added), *notes]
    conditions = [
        *(["questions"] if apart else []),
        *(["items"] if any(q.independent and q.name not in covered for q in private) else []),
    ]
    return Findings(
        epsilon,
        not apart and not loose,
        tuple(leakages),
        tuple(sentences),
        tuple(warnings),
        {"epsilon": epsilon, "conditions": conditions},
    )


def _decided(asked: tuple[Asked, ...], joint: Joint | None) -> list[Joint]:
    """The priors of private questions of which one decides whether another is asked, together.

    Within those that are asked, the answer to the second question is taken to follow its prior whatever the first was.
    """
    known = set() if joint is None else set(joint.questions)
    found: dict[str, dict[tuple[Any, ...], float]] = {}  # by the first question
    names: dict[str, list[str]] = {}
    place: dict[str, str] = {}
    for q in asked:
        if not q.mechanisms:
            continue
        prior = channel(q)[0]
        masses = _masses(prior)
        if not q.hides or q.ask_if is None:
            place[q.name], names[q.name] = q.name, [q.name]
            found[q.name] = {(label,): mass for label, mass in masses.items()}
            continue
        parent = next(other for other in asked if other.name == q.ask_if["question"])
        root = place[parent.name]
        _check_decided(q, parent, known)
        at, total = names[root].index(parent.name), 1 - masses.pop(NOT_ASKED)
        if len(found[root]) * len(masses) > LARGEST:
            raise SurveyError(
                f"{q.name} and the questions that decide whether it is asked have too many combinations of answers",
                given=len(found[root]) * len(masses),
                remedy="merge rare answers, or ask it of everybody",
            )
        found[root] = {
            (*record, label): mass * share
            for record, mass in found[root].items()
            for label, share in (
                [(x, p / total) for x, p in masses.items()]
                if meets(parent, record[at], q.ask_if["answers"])
                else [(NOT_ASKED, 1.0)]
            )
        }
        place[q.name] = root
        names[root].append(q.name)
    return [
        Joint(tuple(names[root]), Prior.from_counts(found[root]))
        for root in found
        if len(names[root]) > 1 and not known & set(names[root])
    ]


def _check_decided(question: Asked, parent: Asked, known: set[str]) -> None:
    """Refuse what leaves open how the answers to two such questions go together: then nobody knows the total."""
    names = {question.name, parent.name}
    if names <= known:
        return
    if names & known:
        raise SurveyError(
            f"a cross table with {min(names & known)} must have {min(names - known)}, too",
            given=f"{parent.name} decides whether {question.name} is asked",
            remedy=f"add a column to the table, with {NOT_ASKED!r} where it was not asked",
        )
    if any(m.prior_set is not None for m in (*parent.mechanisms, *question.mechanisms)):
        raise SurveyError(
            f"{parent.name} and {question.name} must have one prior each, as one decides whether the other is asked",
            given="a set of priors",
            remedy=f"give their shares, or ask {question.name} of everybody",
        )


def channel(question: Asked) -> tuple[Prior, Mechanism]:
    """The prior of a question and the mechanism from its answer to all that is sent for it, maybe the answer itself."""
    if question.kind == "clear":
        uniform = Prior.uniform(question.answers)
        return uniform, identity(uniform)
    if question.subsets is not None:
        return question.subsets, set_mechanism(question.subsets, question.mechanisms)
    (certified,) = question.mechanisms
    return certified.prior, certified.mechanism


def _together(
    joint: Joint, inside: list[Asked], channels: dict[str, tuple[Prior, Mechanism]]
) -> tuple[float, dict[str, float], bool]:
    """The leakage about all private answers of a joint prior and about each, and whether these are only bounds."""
    mechanisms: dict[Any, Mechanism] = {q.name: channels[q.name][1] for q in inside}
    names = [q.name for q in inside if q.mechanisms]
    places = [joint.questions.index(name) for name in names]
    try:
        size = reduce(mul, (m.shape[1] for m in mechanisms.values()), joint.prior.size)
        if size > LARGEST:
            raise SizeError("too many combinations")
        record = record_mechanism(joint.prior, mechanisms, joint.questions)
    except SizeError:
        most = {name: _marginal(joint, k).epsilon_max for name, k in zip(names, places, strict=True)}
        return joint.prior.epsilon_max, most, True
    labels: list[Any] = list(joint.prior.labels)
    secret = {x: tuple(x[k] for k in places) for x in labels}
    about = {
        name: epsilon_pml(*seen_from(joint.prior, record, {x: x[k] for x in labels}))
        for name, k in zip(names, places, strict=True)
    }
    return epsilon_pml(*seen_from(joint.prior, record, secret)), about, False


def _marginal(joint: Joint, place: int) -> Prior:
    masses: dict[Any, float] = defaultdict(float)
    for label, mass in _masses(joint.prior).items():
        masses[label[place]] += mass
    return Prior.from_counts(masses)


def _masses(prior: Prior) -> dict[Any, float]:
    return dict(zip(prior.labels, prior.probabilities.tolist(), strict=True))


def _sentences(
    private: list[Asked], epsilon: float, at_most: bool, joints: list[Joint], added: list[str]
) -> list[str]:
    if not private:
        return [NOT_PRIVATE]
    count = len(private)
    who = "The report" if count == 1 else f"All {count} private reports of one person together"
    verb = "leaks" if count == 1 else "leak"
    most = "at most " if at_most else ""
    unless = ", if answers to different questions are independent" if added or len(joints) > 1 else ""
    told = [
        f"{who} {verb} {most}{epsilon:.4g} nats{unless}: no guess about the answers gets more than "
        f"{factor(epsilon)} times as likely to be right."
    ]
    if joints:
        rest = f"; {', '.join(added)} {'is' if len(added) == 1 else 'are'} added as if independent"
        known = " and of ".join(", ".join(joint.questions) for joint in joints)
        told.append(f"Computed from the joint prior of {known}{rest if added else ''}.")
    told += [
        f"{q.name} is asked after some answers to {q.ask_if['question']}: a report is sent in any case, and what both "
        "reports together tell is counted."
        for q in private
        if q.hides and q.ask_if is not None
    ]
    return told


def _disclosures(question: Asked) -> list[str]:
    """That reports tell the answer itself, or rule some out, where they do."""
    if question.windows is not None and question.windows.outside == 0:
        return [
            f"{question.name}: reports rule answers out: each leaves {question.windows.size:,} codes possible."
        ]
    open_to_all = [m for m in question.mechanisms if m.epsilon >= (m.prior_set or m.prior).epsilon_max]
    if open_to_all:
        top = min((m.prior_set or m.prior).epsilon_max for m in open_to_all)
        return [
            f"WARNING: {question.name}: epsilon {open_to_all[0].epsilon:.4g} is not below {top:.4g}, from which on the "
            "report may be the true answer itself. Choose a smaller one."
        ]
    if any((m.mechanism.matrix == 0).any() for m in question.mechanisms):
        return [
            f"{question.name}: some reports rule answers out; extremal audit on its mechanism file lists which.",
            *(text for m in question.mechanisms for text in _certainty(question.name, m)),
        ]
    return []


def _certainty(name: str, certified: Certified) -> list[str]:
    """That a report leaves one answer alone, where one does. It takes a share of at least e^-epsilon."""
    matrix, share = certified.mechanism.matrix, certified.prior.probabilities
    (alone,) = np.nonzero(np.count_nonzero(matrix, axis=0) == 1)
    if not alone.size:
        return []
    rows = np.unique(np.argmax(matrix[:, alone], axis=0))
    answers = ", ".join(f"“{certified.inputs[row]}”" for row in rows[:3]) + (", …" if len(rows) > 3 else "")
    below = math.floor(-10_000 * math.log(share.max())) / 10_000
    return [
        f"WARNING: {name}: {float((share @ matrix[:, alone]).sum()):.0%} of reports make an answer certain: {answers}. "
        f"With an epsilon below {below:g} none can."
    ]


def _other_shares(name: str, joint: Joint | None, prior: Prior) -> list[str]:
    """That a cross table and a question's own prior contradict each other, where they do."""
    assert joint is not None
    found = _marginal(joint, joint.questions.index(name))
    counted, stated = _masses(found), _masses(prior)
    answer = max(stated, key=lambda x: (x not in counted, abs(stated[x] - counted.get(x, 0.0))))
    if answer in counted and abs(stated[answer] - counted[answer]) <= DIFFERENT:
        return []
    return [
        f"{name}: the cross table has a share of {counted.get(answer, 0.0):.1%} for {answer}, the question's prior "
        f"{stated[answer]:.1%}. Use the same shares in both. What one report tells holds for the question's prior, "
        "what all reports tell for the cross table."
    ]


def _dependence_warning(private: list[Asked], channels: dict[str, tuple[Prior, Mechanism]]) -> list[str]:
    """What holds whatever the dependence between the answers to several questions."""
    local = {  # mechanisms that are learned later are unknown now
        q.name: q.windows.ldp_epsilon
        if q.windows
        else ldp_epsilon(channels[q.name][1])
        if q.between is None
        else math.inf
        for q in private
    }
    worst = {}
    for q in private:
        others = math.fsum(local[other.name] for other in private if other is not q)
        known = q.windows.prior if q.windows else q.mechanisms[0].prior_set or channels[q.name][0]
        worst[q.name] = min(q.level + others, math.inf if known is None else known.epsilon_max)
    told = ", ".join(
        f"{name} {level:.3g}" if level < math.inf else f"{name} any level" for name, level in worst.items()
    )
    return [
        "Levels are added as if the answers to different questions were independent. If they depend on each other, all "
        f"reports together can tell more about one answer than its own report does, at most (in nats): {told}. Give a "
        "cross table under [joint] for the exact figure."
    ]
