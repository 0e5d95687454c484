"""The mechanisms of a survey: designed once, kept in files beside it, so that every respondent draws from the same.

`check` designs what is missing and writes a lock file that says what each mechanism was made for; `load_designs` reads
them and refuses what is missing or does not fit any more.

The id of a survey stands in survey.toml, or in a file beside it that is made once. Phones that answered under it send
that report again and draw no other. Corrections, translations and other mechanisms leave it as it is; another wave or
another survey has its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np

from .._common.files import write_file
from .._common.json import canonical, parse_json
from ..certification.certified import Certified, load
from ..certification.certify import certify
from ..certification.file import write_text
from ..errors import ExtremalError, FileError, SurveyError
from ..lists.windows import load_windows, windows
from ..model.leakage import doubt
from ..model.mechanism import Mechanism
from ..model.prior import Prior
from ..model.purpose import Purpose, shares
from ..model.purposes import groups, mean
from ..optimization.design import designed
from . import questionnaire
from .guard import LARGEST_BODY
from .published import NOT_ASKED, Asked, Published, Wording, item_priors, members, set_leakage
from .survey import ID, TERMS, Question, Survey, new_id
from .tables import is_number, read_text

FORMAT = "extremal-survey-lock"
LOCK = "lock.json"
VERSION = 1
MOST_JOINT = 6  # items up to which a mechanism on their subsets is designed: 64 inputs
LOOSE = 0.3  # the distance to the optimum to be proven where there are many subsets; the search ends sooner
STEPS = 30  # of the bisection for dependent items
ROUNDING = 1e-9  # relative: shares of items are sums, which another machine may round differently

Progress = Callable[[int, int, str], None]


def check(survey: Survey, progress: Progress | None = None) -> tuple[Published, questionnaire.Findings]:
    """The survey with its mechanisms, designed and written where they were missing, and what it leaks in all."""
    before = _read_lock(survey)
    asked: list[Asked] = []
    entries: dict[str, dict[str, Any]] = {}
    for k, question in enumerate(survey.questions):
        if progress is not None:
            progress(k, len(survey.questions), question.name)
        entry = before.get("questions", {}).get(question.name, {})
        found, times = _kept(survey, question, entry), entry.get("times")
        new = found is None and question.mechanism is None
        if found is None:
            found, times = _made(question)
        _check_protected(question, found)
        if new:
            for name, mechanism in found.files.items():
                mechanism.save(survey.beside(f"{name}.mechanism.json"))
        asked.append(found)
        entries[question.name] = {
            "made_for": specification(question),
            "form": found.form,
            "times": times,
            "mechanisms": [m.digest for m in found.drawn_from],
        }
    reasons = [reason(q, entries[q.name]["times"]) for q in asked]
    findings = questionnaire.findings(tuple(asked), survey.joint, [text for text in reasons if text])
    published = _published(survey, asked, findings.together)
    if published.largest_body > LARGEST_BODY:
        raise SurveyError(
            f"the reports of one person must fit into {LARGEST_BODY} bytes, which is what the server accepts",
            given=f"up to {published.largest_body}",
            remedy="shorten the texts of answers, or ask fewer questions",
        )
    lock = {
        "format": FORMAT,
        "version": VERSION,
        "questions": entries,
        "joint": _joint_digest(survey),
    }
    write_text(survey.beside(LOCK), json.dumps(lock, indent=2, ensure_ascii=False) + "\n")
    return published, findings


def load_designs(survey: Survey) -> Published:
    """The survey with the mechanisms that `check` designed for it."""
    lock = _read_lock(survey)
    remedy = f"run: extremal survey check {survey.path}"
    if not lock:
        raise SurveyError(
            "the survey has not been checked yet",
            given=f"no {survey.beside(LOCK).name} beside it",
            remedy=remedy,
        )
    asked = []
    for question in survey.questions:
        found = _kept(survey, question, lock["questions"].get(question.name, {}))
        if found is None:
            raise SurveyError(
                f"{question.place}: the mechanism of question {question.name!r} is missing or does not fit what the "
                "survey says now",
                remedy=remedy,
            )
        _check_protected(question, found)
        asked.append(found)
    if list(lock["questions"]) != [q.name for q in survey.questions] or lock["joint"] != _joint_digest(
        survey
    ):
        raise SurveyError("the survey has changed since it was checked", remedy=remedy)
    return _published(survey, asked, questionnaire.findings(tuple(asked), survey.joint, []).together)


def specification(question: Question) -> str:
    """A digest of what a mechanism depends on."""
    prior = question.prior
    parts: list[Any] = [
        question.kind,
        list(question.answers),
        question.scores,
        question.purpose,
        question.epsilon,
        None if prior is None else [list(prior.labels), prior.probabilities.tolist()],
        question.independent,
        None if question.mechanism is None else load(question.mechanism).digest,
    ]
    if question.between is not None:
        parts.append(["learn", question.between])
    return _digest(parts)


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def _joint_digest(survey: Survey) -> str | None:
    if survey.joint is None:
        return None
    labels = [list(label) for label in survey.joint.prior.labels]  # type: ignore[call-overload]
    parts = [list(survey.joint.questions), labels, survey.joint.prior.probabilities.tolist()]
    return _digest(parts)


def _made(question: Question) -> tuple[Asked, float | None]:
    """The question with mechanisms made for it, and how many times as many people the other form needs."""
    if question.kind == "clear":
        return _asked(question, None, ()), None
    if question.mechanism is not None:
        return _given(question, load(question.mechanism)), None
    assert question.epsilon is not None
    known = question.prior or question.priors
    try:
        if question.kind == "list":
            made_list = windows(
                question.answers if question.prior is None else question.prior, question.epsilon
            )
            return Asked(**question.wording(), windows=made_list), None
        assert known is not None
        if question.kind == "several":
            form, mechanisms, times = choose(question)
            return _asked(question, form, mechanisms), times
        made = designed(known, question.epsilon, purpose_of(question))
        return _asked(question, None, (certify(made, allow_true_answers=True),)), None  # refused later
    except ExtremalError as error:
        if isinstance(error, RuntimeError):  # never the survey's fault
            raise
        raise error.within(f"{question.place}: question {question.name!r}: ", SurveyError) from None


def purpose_of(question: Wording) -> Purpose:
    """What its reports are made for."""
    return mean(question.scores) if question.purpose == "mean" and question.scores else shares


def _check_protected(question: Question, asked: Asked) -> None:
    """Refuse reports that disclose the answers, fully or nearly; of a set of items also those that disclose one."""
    for mechanism in asked.drawn_from:
        found = mechanism.doubt
        if asked.form == "joint" and isinstance(mechanism, Certified):
            items = len(question.answers)
            labels = [("",) * items if x == NOT_ASKED else tuple(str(x)) for x in mechanism.inputs]
            known = Prior(mechanism.prior.probabilities, labels)
            found = doubt(known, Mechanism(mechanism.mechanism.matrix, labels))
        if found.disclosed:
            raise SurveyError(
                f"{question.place}: question {question.name!r} must not disclose the true answers",
                given=f"reports that protect nobody: {found}",
                remedy='choose a smaller epsilon, or write kind = "clear"',
            )


def _given(question: Question, mechanism: Certified) -> Asked:
    """The question with a mechanism from a file, if that is about its answers."""
    expected = question.inputs
    if set(mechanism.inputs) != set(expected):
        raise SurveyError(
            f"{question.place}: the mechanism of question {question.name!r} must have its answers as inputs",
            given=", ".join(map(str, mechanism.inputs[:6])),
            remedy=f"design one for {', '.join(expected[:6])}",
        )
    if mechanism.blocks is not None:
        raise SurveyError(
            f"{question.place}: the mechanism of question {question.name!r} must have a matrix, which phones can read",
            given="one in blocks",
            remedy="certify its .mechanism",
        )
    return _asked(question, "joint" if question.kind == "several" else None, (mechanism,))


def _asked(question: Question, form: str | None, mechanisms: tuple[Certified, ...]) -> Asked:
    subsets = question.prior if form == "each" else None
    return Asked(**question.wording(), form=form, mechanisms=mechanisms, subsets=subsets)


def _kept(survey: Survey, question: Question, entry: dict[str, Any]) -> Asked | None:
    """The question with the mechanisms that lie beside the survey, if they were made for what it says now."""
    if entry.get("made_for") != specification(question):
        return None
    if question.mechanism is not None or question.kind == "clear":
        return _made(question)[0]
    if (entry["form"] is None) == (question.kind == "several"):
        return None
    form = entry["form"]
    names = [f"{question.name}.{k + 1}" for k in range(len(question.answers))]
    paths = [
        survey.beside(f"{name}.mechanism.json") for name in (names if form == "each" else [question.name])
    ]
    try:
        if question.kind == "list":
            found = Asked(**question.wording(), windows=load_windows(paths[0]))
        else:
            found = _asked(question, form, tuple(map(load, paths)))
    except FileError:
        return None
    same = [m.digest for m in found.drawn_from] == entry["mechanisms"]
    return found if same and _keeps(question, found) else None


def _keeps(question: Question, found: Asked) -> bool:
    """Whether mechanisms are for the prior of the question and within its epsilon, whatever the lock file says."""
    level = found.level if found.form == "each" else found.drawn_from[0].epsilon
    if level > (question.epsilon or 0.0) * (1 + ROUNDING):
        return False
    wanted, kept = question.prior, found.windows
    if kept is not None and (kept.prior is None or wanted is None):
        return kept.labels == question.answers and kept.prior is wanted
    if question.priors is not None:
        made_for = found.mechanisms[0].prior_set
        alike = made_for is not None and made_for.bounds.same_as(question.priors.bounds)
        return alike and found.mechanisms[0].inputs == question.priors.labels
    assert wanted is not None
    known = [m.prior for m in found.mechanisms] if kept is None else [kept.prior]
    priors = item_priors(wanted, len(question.answers)) if found.form == "each" else [wanted]
    return all(
        mine is not None
        and mine.labels == prior.labels
        and np.allclose(mine.probabilities, prior.probabilities, rtol=ROUNDING, atol=0)
        for mine, prior in zip(known, priors, strict=True)
    )


def _read_lock(survey: Survey) -> dict[str, Any]:
    """What the lock file says; nothing if there is none."""
    path = survey.beside(LOCK)
    if not path.exists():
        return {}
    try:
        lock = parse_json(read_text(str(path)))
        if lock["format"] != FORMAT or lock["version"] != VERSION or not isinstance(lock["questions"], dict):
            raise ValueError("another format or version")
        _ = lock["joint"]
        for name, entry in lock["questions"].items():
            if not _is_entry(entry):
                raise ValueError(f"the entry of question {name!r} is broken")
    except (ValueError, TypeError, KeyError) as error:
        raise SurveyError(
            f"{path.name} cannot be read",
            given=str(error)[:80],
            remedy="delete it and check the survey again",
        ) from None
    return dict(lock)


def _is_entry(entry: Any) -> bool:
    """Whether this can be what `check` wrote about a question."""
    return (
        isinstance(entry, dict)
        and entry.keys() == {"made_for", "form", "times", "mechanisms"}
        and isinstance(entry["made_for"], str)
        and entry["form"] in (None, "joint", "each")
        and (entry["times"] is None or is_number(entry["times"]))
        and isinstance(entry["mechanisms"], list)
    )


def _published(survey: Survey, asked: list[Asked], together: Any) -> Published:
    terms = {**{name: getattr(survey, name) for name in TERMS}, "id": survey_id(survey)}
    code = None
    if survey.field_code is not None:
        code = hashlib.sha256(f"extremal-field\0{terms['id']}\0{survey.field_code}".encode()).hexdigest()
    return Published(**terms, together=together, questions=tuple(asked), field_code=code)


# The id


def survey_id(survey: Survey) -> str:
    """The id in the survey, or the one beside it, made now if there is none; of two processes one makes it."""
    if survey.id is not None:
        return survey.id
    path = survey.beside("id")
    if not path.exists():
        try:
            write_file(path, f"{new_id()}\n".encode(), overwrite=False, mode=0o644)
        except FileError:
            if not path.exists():
                raise
    found = read_text(str(path)).strip()
    if not re.fullmatch(ID, found):
        raise SurveyError(
            f"{path.name} must hold the id of the survey, 8 to 64 letters, digits, - and _",
            given=found[:80],
            remedy="put it back from a copy; with another id, phones that have answered draw again",
        )
    return found


def same_id(survey: Survey) -> list[str]:
    """A warning for each other survey beside this one that has its id."""
    found = []
    for path in sorted(survey.path.parent.glob("*.toml")):
        if survey.id is None or path.name == survey.path.name:
            continue
        with contextlib.suppress(ExtremalError, tomllib.TOMLDecodeError, RecursionError):
            if tomllib.loads(read_text(str(path))).get("id") == survey.id:
                found.append(
                    f"{path.name} has the same id as this survey: phones that answered one of them send that report to "
                    "the other and draw no new one. That is right for two versions of one survey. For another wave or "
                    "another survey, delete the line that begins with id: it then gets its own."
                )
    return found


# Check all that apply: one draw for the whole set of items, or one for each item, whichever errs less. Both leak
# the same in all, at most epsilon about the set. The error is the sum of the variances of shares, per report.


def choose(question: Question) -> tuple[str, tuple[Certified, ...], float | None]:
    """The form, its mechanisms, and how many times as many people the other form needs, where both are designed."""
    prior, epsilon, items = question.prior, question.epsilon, question.answers
    assert prior is not None
    assert epsilon is not None
    if question.hides:
        made = designed(prior, epsilon, groups({**members(items), NOT_ASKED: [NOT_ASKED]}))  # and of how many
        return "joint", (certify(made, allow_true_answers=True),), None
    each = _each(prior, epsilon, len(items), question.independent)
    if len(items) > MOST_JOINT:
        return "each", each, None
    error_each = math.fsum(_variance(p.prior, p) for p in each)
    purpose = groups(members(items))
    tolerance = None if len(items) < MOST_JOINT else LOOSE
    made = designed(prior, epsilon, purpose, tolerance=tolerance)
    A = purpose.loss(prior)
    direct = float(np.diagonal(A) @ prior.probabilities - prior.probabilities @ A @ prior.probabilities)
    error_joint = direct / made.value if made.value > 0 else math.inf
    smaller, larger = sorted((error_joint, error_each))
    times = larger / smaller if math.isfinite(larger) else None
    return (
        ("joint", (certify(made, allow_true_answers=True),), times)
        if error_joint <= error_each
        else ("each", each, times)
    )


def reason(asked: Asked, times: float | None) -> str | None:
    """Why a set is drawn in this form, in words."""
    if asked.form == "joint":
        if times is None:
            return None
        return (
            f"{asked.name}: one draw for the whole set of items. One draw for each item leaks as much in all and needs "
            f"{times:.2g} times as many people."
        )
    if asked.form != "each":
        return None
    level = f"{asked.mechanisms[0].epsilon:.3g} nats each"
    items = len(asked.mechanisms)
    if items > MOST_JOINT:
        return (
            f"{asked.name}: {items} items are drawn one by one, {level}; one draw for the whole set would err less, "
            f"but is designed for at most {MOST_JOINT} items."
        )
    told = f"{asked.name}: one draw for each item, {level}."
    if times is None:
        return told
    return f"{told} One draw for the whole set leaks as much and needs {times:.2g} times as many people."


def _each(prior: Prior, epsilon: float, items: int, independent: bool) -> tuple[Certified, ...]:
    """Mechanisms for the items that together leak at most epsilon about the set."""
    if independent:  # leakages of independent items add up
        return _items(prior, epsilon / items * (1 - 1e-12), items)
    low, high = epsilon / items / 64, epsilon
    for _ in range(STEPS):
        middle = (low + high) / 2
        if set_leakage(prior, _items(prior, middle, items)) <= epsilon:
            low = middle
        else:
            high = middle
        if high - low < 1e-4 * low:
            break
    return _items(prior, low, items)


def _items(prior: Prior, level: float, items: int) -> tuple[Certified, ...]:
    made = (designed(p, level, mean([0, 1])) for p in item_priors(prior, items))
    return tuple(certify(one, allow_true_answers=True) for one in made)  # `designs` refuses


def _variance(prior: Prior, certified: Certified) -> float:
    """Of the estimated share of "yes", per report."""
    share = float(prior.probabilities[1])
    value = mean([0, 1])(prior, certified.mechanism)
    return share * (1 - share) / value if value > 0 else math.inf
