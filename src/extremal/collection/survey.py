"""survey.toml: what a researcher asks, read strictly.

Every error names the file, the line and what to write instead. `docs/api/survey-toml.md` lists the keys.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

from .._common.files import file_name
from ..errors import ExtremalError, SurveyError
from ..estimation import promise
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from .lists import listed
from .published import NOT_ASKED, Kind, SurveyTerms, Wording, subsets_of
from .tables import (
    LineNumbers,
    Section,
    is_number,
    read_between,
    read_joint,
    read_learn,
    read_prior,
    read_text,
)
from .wordings import (
    PREFER_NOT,
    Tongues,
    bracket_names,
    check_open,
    condition,
    front,
    left_out,
    sections,
    share_asked,
    times,
    warnings,
    with_not_asked,
)

KINDS = get_args(Kind)
PURPOSES = ("shares", "mean")
MOST_QUESTIONS = 100
MOST_ANSWERS = 1000
MOST_ITEMS = 12  # of a question with several answers: their subsets are listed
MOST_HIDDEN = 6  # where a private answer decides who is asked: one draw for the whole set
LONGEST_LABEL = 200  # characters
MOST_LEARNED = 30  # answers of a question whose prior is learned, so that the next mechanism takes seconds
ID = "[A-Za-z0-9_-]{8,64}"
DECIMAL_COMMA = re.compile(r"""^[^#"']*=\s*(-?\d+,\d+)""")  # a number as many countries write it
NAME = "[A-Za-z][A-Za-z0-9_-]{0,39}"
ADDRESS = r"https://\S+|http://(localhost|127\.0\.0\.1)(:\d+)?/\S*"
OWN_ID = "leave it out: extremal survey check then makes one and keeps it beside the survey"
INTERVALS = f'"each" {promise.ROWS["each"]} (if left out), "all" {promise.ROWS["all"]}'
PRIOR_EXAMPLE = (
    'write prior = [0.5, 0.3, 0.2], prior = ["50%", "30%", "20%"], prior = {yes = 0.1, no = 0.9}, '
    'prior = "uniform", counts = "census.csv", or prior = "learn"'
)


@dataclass(frozen=True, eq=False)
class Question(Wording):
    """A question as the file says. Private ones have an epsilon and a prior, or a mechanism file.

    `prior` is that of the answers; with several answers that of their subsets, as texts of 0 and 1 in the order of the
    items. If it is learned, `priors` are all those that are possible before.
    """

    epsilon: float | None = None
    prior: Prior | None = None
    priors: PriorSet | None = None
    mechanism: Path | None = None
    place: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs of a mechanism for this question: its answers, or the subsets of its items."""
        labels = subsets_of(len(self.answers)) if self.kind == "several" else self.answers
        return (*labels, NOT_ASKED) if self.hides else labels


@dataclass(frozen=True, eq=False)
class Joint:
    """How frequent combinations of answers to several questions are."""

    questions: tuple[str, ...]
    prior: Prior


TERMS = tuple(field.name for field in fields(SurveyTerms))
# The keys of a file, and below those of a question.
TOP = [
    *("id", "title", "introduction", "collector", "contact", "respondents", "languages", "catalogues"),
    *("invitation", "post", "width", "people", "most_people", "confidence", "intervals", "opens", "closes"),
    *("hold", "pages", "field_code", "learn", "section", "question", "joint"),
]
OF_PRIVATE = ("epsilon", "prior", "counts", "mechanism", "purpose", "between")
KEYS = [
    *("name", "text", "help", "before", "section", "ask_if", "kind", "answers", "answer_texts", "brackets"),
    *("answers_file", "required", "epsilon", "prior", "counts", "pseudocount", "mechanism", "purpose"),
    "between",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class Survey(SurveyTerms):
    """A survey as its file says; mechanisms are designed by `designs`."""

    path: Path
    questions: tuple[Question, ...]
    joint: Joint | None
    field_code: str | None = None
    warnings: tuple[str, ...] = ()  # that need no mechanism

    def beside(self, ending: str) -> Path:
        """A file that belongs to the survey and lies beside it."""
        return self.path.with_name(f"{self.path.stem}.{ending}")


def read_survey(path: str | os.PathLike[str]) -> Survey:
    """The survey in a file."""
    name = file_name(path, "survey", SurveyError)
    return parse_survey(read_text(name), Path(name))


def parse_survey(text: str, path: Path) -> Survey:
    """The survey in a text; other files that it names lie beside `path`."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        said = str(error) or type(error).__name__
        where = re.search(r"line (\d+)", said)
        at = f"{path.name}, line {where[1]}" if where else path.name
        comma = DECIMAL_COMMA.search(text.splitlines()[int(where[1]) - 1]) if where else None
        raise SurveyError(
            f"{at}: this is not TOML: {re.sub(r' ?.at .*?line.*', '', said)}",
            given=comma and comma[1],
            remedy=f"write {comma[1].replace(',', '.')}: decimals follow a point, not a comma"
            if comma
            else 'a key and its value stand on one line, like title = "Visits"; a key stands once',
        ) from None
    table = Section(document, LineNumbers.of(path.name, text), folder=path.parent)
    table.only(TOP)
    tongues = Tongues.of(table)
    read, inside = _questions(table, tongues)
    pages = sections(table, tongues, read, inside)
    questions = tuple(left_out(pages, read).values())
    invitation, code = table.flag("invitation"), table.text("field_code")
    if invitation and code:
        raise table.wrong("field_code", "must not be given with invitations", remedy="leave out one of them")
    return Survey(
        path=path,
        id=table.matching("id", ID, "8 to 64 letters, digits, - and _", remedy=OWN_ID),
        **front(table, tongues),
        respondents=table.matching("respondents", ADDRESS, "an address that begins with https://"),
        languages=tongues.names,
        texts=tongues.own,
        pages=table.choice("pages", ("section", "question"), "section"),
        sections=pages,
        **times(table),
        most_people=table.whole("most_people"),
        field_code=code,
        warnings=warnings(table, tongues, questions),
        invitation=invitation,
        post=table.matching("post", ADDRESS, "an address that begins with https://"),
        width=table.share("width"),
        people=table.whole("people"),
        confidence=table.share("confidence") or 0.95,
        intervals=table.choice("intervals", promise.KINDS, "each", INTERVALS),
        learn=read_learn(table, any(q.between is not None for q in questions)),
        questions=questions,
        joint=_joint(table, questions),
    )


def _questions(table: Section, tongues: Tongues) -> tuple[dict[str, Question], list[str | None]]:
    """The questions by name, and the section that each names."""
    given = table.each("question")
    if not 1 <= len(given) <= MOST_QUESTIONS:
        problem, remedy = f"must be given 1 to {MOST_QUESTIONS} times", "begin each with a line [[question]]"
        raise table.wrong("question", problem, len(given), remedy)
    found: dict[str, Question] = {}
    inside = []
    names = [part.values.get("name") for part in given]
    for part in given:
        question = _question(part, tongues, found, names)
        inside.append(part.text("section"))
        if question.name.lower() in (name.lower() for name in found):
            raise part.wrong("name", "must differ from those of the other questions", question.name)
        found[question.name] = question
    return found, inside


def _question(table: Section, tongues: Tongues, earlier: dict[str, Question], names: list[Any]) -> Question:
    table.only(KEYS)
    wanted = "a letter, then letters, digits, - and _, at most 40"
    name = table.matching("name", NAME, wanted, required=True) or ""
    words: dict[str, dict[str, Any]] = {}
    text = tongues.text(table, "text", words, required=True) or ""
    help, before = (tongues.text(table, key, words) for key in ("help", "before"))
    usual = "scale" if isinstance(table.values.get("answers"), dict) else "single"
    kind: Any = table.choice("kind", KINDS, usual)
    rule = condition(table, earlier, names)
    said: Any = {"help": help, "before": before, "words": words, "place": table.at(), "ask_if": rule}
    if kind == "list":
        return listed(table, Question(name, text, kind, (), **said), earlier)
    answers, scores, brackets = _answers(table, kind)
    if "answer_texts" in table.values or set(answers[len(brackets) + 1 if brackets else 0 :]) - {PREFER_NOT}:
        tongues.answers(table, answers, words)
    draft = Question(name, text, kind, answers, scores, brackets=brackets, **said)
    if kind == "clear":
        return _clear(table, draft, earlier)
    remedy = 'all are required, because skipping tells something; add an answer such as "I prefer not to say"'
    table.without(["required"], "a private question", remedy)
    hides = rule is not None and earlier[rule["question"]].private
    usual = "mean" if kind == "scale" and not hides else "shares"
    purpose = table.values.get("purpose", usual)
    if purpose not in PURPOSES or (purpose == "mean" and usual != "mean"):
        raise table.wrong("purpose", 'must be "shares", or "mean" for a scale', purpose)
    if hides and kind == "several" and len(answers) > MOST_HIDDEN:
        problem = f"must be at most {MOST_HIDDEN} items where a private answer decides who is asked"
        raise table.wrong("answers", problem, len(answers))
    return _privacy(table, replace(draft, purpose=purpose, hides=hides), earlier)


def _clear(table: Section, question: Question, earlier: dict[str, Question]) -> Question:
    """A question whose answer is sent as it is."""
    table.without(OF_PRIVATE, "a question in the clear", 'or leave out kind = "clear"')
    check_open(table, earlier, question.ask_if, "a question in the clear")
    return replace(question, required=table.flag("required"))


def _answers(
    table: Section, kind: str
) -> tuple[tuple[str, ...], tuple[float, ...] | None, tuple[float, ...]]:
    """The names of the answers, their scores, and the edges between them if they are brackets of numbers."""
    given = table.values.get("answers")
    labels: list[Any]
    scores: tuple[float, ...] | None = None
    edges: tuple[float, ...] = ()
    if "brackets" in table.values:
        if kind not in ("single", "clear"):
            raise table.wrong("brackets", 'must be of a question of the kind "single" or "clear"', kind)
        labels, edges = bracket_names(table)
        labels += given if isinstance(given, list) else []  # such as "I prefer not to say"
    elif kind == "scale":
        numbers = list(given.values()) if isinstance(given, dict) else []
        if len(numbers) < 2 or not all(is_number(x) for x in numbers) or len(set(numbers)) < 2:
            raise table.wrong(
                "answers",
                "of a scale must be labels with scores that are not all equal",
                given,
                'e.g. answers = {"not at all" = 0, "a little" = 1, "a lot" = 2}',
            )
        labels, scores = list(given), tuple(float(x) for x in numbers)  # type: ignore[arg-type]
    else:
        labels = given if isinstance(given, list) else []
    most = MOST_ITEMS if kind == "several" else MOST_ANSWERS
    good = all(isinstance(x, str) and x.strip() and len(x) <= LONGEST_LABEL for x in labels)
    if not 2 <= len(labels) <= most or not good:
        raise table.wrong(
            "answers",
            f"must be a list of 2 to {most} texts",
            given,
            'e.g. answers = ["never", "once", "often"]',
        )
    labels = [" ".join(label.split()) for label in labels]
    for k, label in enumerate(labels):
        if label.casefold() in (other.casefold() for other in labels[:k]):
            raise table.wrong("answers", "must all be different", label, "remove one of them")
    if NOT_ASKED in labels:
        raise table.wrong("answers", "must have other names", NOT_ASKED)
    return tuple(labels), scores, edges


def _privacy(table: Section, question: Question, earlier: dict[str, Question]) -> Question:
    """The question with its privacy: an epsilon and a prior, or a mechanism file."""
    given = [key for key in ("prior", "counts", "mechanism") if key in table.values]
    if len(given) != 1 or (given == ["mechanism"]) == ("epsilon" in table.values):
        raise table.wrong(
            given[1] if len(given) > 1 else given[0] if given else "",
            'needs epsilon with either prior or counts, or else mechanism = "file.json"',
            " and ".join(k for k in ("epsilon", *given) if k in table.values) or "none of them",
            f'for a question that is not sensitive write kind = "clear"; {PRIOR_EXAMPLE}'
            if not given
            else None,
        )
    learns = table.values.get("prior") == "learn"
    if "between" in table.values and not learns:
        raise table.wrong("between", 'must come with prior = "learn"', remedy="leave it out")
    if given == ["mechanism"]:
        return replace(question, mechanism=table.file("mechanism"))
    epsilon = table.epsilon()
    if learns:
        return _learned(table, question, epsilon)
    try:
        prior, independent = read_prior(table, question.answers, question.kind == "several", given[0])
        if question.hides and question.ask_if is not None:
            asked = share_asked(table, earlier[question.ask_if["question"]], question.ask_if)
            prior = with_not_asked(table, prior, asked)
    except SurveyError:
        raise
    except ExtremalError as error:
        problem = f"{given[0]} {error.problem}" if error.problem.startswith("must") else error.problem
        remedy = error.remedy if error.remedy and "`" not in error.remedy else PRIOR_EXAMPLE
        remedy = "give pseudocount = 1" if given[0] == "counts" and "positive" in problem else remedy
        raise SurveyError(f"{table.at(given[0])}: {problem}", given=error.given, remedy=remedy) from None
    _check_below(table, epsilon, prior.epsilon_max)
    return replace(question, epsilon=epsilon, prior=prior, independent=independent)


def _check_below(table: Section, epsilon: float, most: float) -> None:
    if epsilon >= most:
        raise table.wrong(
            "epsilon",
            f"must be below {most:.4g}, from which on a report may be the true answer",
            epsilon,
            'choose a smaller one, or write kind = "clear"',
        )


def _learned(table: Section, question: Question, epsilon: float) -> Question:
    """A question whose prior is learned from reports, with the set of all priors that are possible before."""
    if question.kind not in ("single", "scale"):
        raise table.wrong(
            "prior",
            'must not be "learn" for a question of this kind',
            question.kind,
            "only questions of the kinds single and scale can learn; give shares or counts",
        )
    if len(question.answers) > MOST_LEARNED:
        raise table.wrong(
            "prior",
            f'can be "learn" for at most {MOST_LEARNED} answers',
            len(question.answers),
            "merge rare answers",
        )
    if question.hides:
        raise table.wrong("prior", 'must not be "learn" where a private answer decides who is asked')
    between = read_between(table, question.answers)
    lower, upper = ([between.get(label, (0.0, 1.0))[k] for label in question.answers] for k in (0, 1))
    try:
        priors = PriorSet.intervals(lower, upper, question.answers)
    except ExtremalError as error:
        raise table.wrong(
            "between",
            "must leave shares above 0 that sum to 1",
            f"smallest shares that sum to {math.fsum(lower):.4g}, largest that sum to {math.fsum(upper):.4g}",
            "widen the ranges",
        ) from error
    _check_below(table, epsilon, priors.epsilon_max)
    return replace(question, epsilon=epsilon, priors=priors, between=between)


def _joint(table: Section, questions: tuple[Question, ...]) -> Joint | None:
    if "joint" not in table.values:
        return None
    part = table.inside("joint", 'write [joint] and below it counts = "cross-table.csv"')
    joint = Joint(*read_joint(part, {q.name: q.inputs for q in questions if q.kind != "list"}))
    for q in questions:
        if q.name in joint.questions and q.between is not None:
            raise part.wrong(
                "counts",
                "must not name a question whose prior is learned: the table has its shares",
                q.name,
                "give its shares as prior",
            )
    return joint


# A first survey


def new_id() -> str:
    """An id that no other survey has."""
    return secrets.token_hex(8)


def template() -> str:
    """The text of a first survey to edit, with an id of its own; the tutorial explains it line by line."""
    text = (Path(__file__).parent / "static" / "first.toml").read_text(encoding="utf-8")
    return text.replace("{id}", new_id())
