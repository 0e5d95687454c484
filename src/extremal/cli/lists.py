"""Lists of thousands of answers on the command line: what design, privatize, estimate and audit do with their files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import extremal as ex
from extremal._common.words import factor
from extremal.errors import OptionError, ValuesError
from extremal.lists.answers import like, number_of, numbers_of, read_answers
from extremal.lists.windows import Windows
from extremal.model.leakage import check_protected
from extremal.model.reading import split_labels

from . import advice, options, show
from .inputs import named, naming, read_columns, read_text
from .output import Facts, MechanismOutput, Output, progress

if TYPE_CHECKING:
    pass

GUESSES = (0.01, 0.1)  # chances of a right guess before a report, as examples


def alone(what: str, **given: object) -> None:
    """Refuse options that a list does not know."""
    for name, value in given.items():
        if value not in (None, False, []):
            option = f"--{name.replace('_', '-')}"
            raise OptionError(f"{option} must not be combined with {what}", remedy=f"leave {option} out")


def design_list(
    path: str, epsilon: float, source: options.PriorOptions, allowed: bool, output: MechanismOutput
) -> None:
    """The reports for the answers in a CSV file, proved and written."""
    text = read_text(path)
    with naming(path):
        read = read_answers(text, source.delimiter)
        if read.counts is None and source.pseudocount:
            raise OptionError("--pseudocount must come with counts", given=f"none in {path}")
        prior = read.prior(source.pseudocount)
    with progress("designing"):
        made = ex.large.windows(read.labels if prior is None else prior, epsilon)
    check_protected(made.doubt, allowed or output.target is None)
    output.give(ListResult(made, output.target))
    if output.target is None and not output.as_json:
        show.Console().facts("", "Nothing was written; keep the list with -o list.json")


@dataclass(frozen=True)
class ListResult:
    """What reports on a list are, and what they tell about one answer."""

    certified: Windows
    target: str | None = None
    answer: Any = None  # the most common one, if None

    def __post_init__(self) -> None:
        if self.answer is not None and self.answer not in (names := {str(x) for x in self.certified.labels}):
            raise OptionError(
                "--answer must be one of the list", given=self.answer, remedy=like(self.answer, names)
            )

    def facts(self) -> Facts:
        """All of it, for programs."""
        w, (own, other) = self.certified, self.certified.supports
        return {
            "answers": w.answers,
            "epsilon": w.epsilon,
            "realised_epsilon": w.realised_epsilon,
            "ldp_epsilon": w.ldp_epsilon,
            "all_priors": w.prior is None,
            "prime": w.prime,
            "steps": w.layout.steps,
            "size": w.size,
            "own_answer_in_set": own,
            "other_answer_in_set": other,
            "standard_error_of_1000": math.sqrt(w.squared_error / 1000),
            "digest": w.digest,
            "warnings": self.warnings(),
            "file": self.target,
        } | (
            {}
            if w.prior is None
            else {"answer": str(self.one[0]), "before": self.one[1], "after": self.after()}
        )

    def warnings(self) -> list[str]:
        """What a person must know first."""
        return advice.disclosure(self.certified)

    @property
    def one(self) -> tuple[Any, float]:
        """An answer and its share: the one that was asked for, or the most common one."""
        assert self.certified.prior is not None
        shares = self.certified.prior.probabilities
        names = [str(x) for x in self.certified.labels]
        k = int(shares.argmax()) if self.answer is None else names.index(self.answer)
        return self.certified.labels[k], float(shares[k])

    def after(self) -> list[float]:
        """The least and the largest share of that answer after a report, over all reports; bounds."""
        w, share = self.certified, self.one[1]
        assert w.prior is not None
        heavy = math.fsum(np.sort(w.prior.probabilities)[::-1][: w.size])
        least = share * w.outside / (w.outside + (w.inside + 1 - w.outside) * heavy)
        return [least, min(1.0, share * math.exp(w.realised_epsilon))]

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        w, (own, other) = self.certified, self.certified.supports
        out.warn(*self.warnings())
        out.heading(f"A list of {w.answers:,} answers")
        whom = "for someone who knows only how common each answer is"
        if w.prior is None:
            whom = "whatever they know of how common the answers are"
        error = math.sqrt(w.squared_error / 1000)
        said = [
            f"No report makes a guess more than {factor(w.realised_epsilon)} times as likely to be right, {whom} "
            f"({show.nats(w.epsilon)}, proved in integers).",
            f"A report is a whole number that stands for {w.size:,} of {w.prime:,} codes. The person's own answer is "
            f"among them in {own:.1%} of reports, any other answer in {other:.1%}.",
            f"With 1,000 reports the standard error of a rare answer's share is {error:.3g}; with four times as many, "
            "half of that.",
        ]
        out.say(*said)
        out.heading("What a report says about one answer")
        out.say(*self.words())

    def words(self) -> list[str]:
        """What a report says about one answer."""
        w = self.certified
        if w.prior is None:
            odds = math.exp(w.ldp_epsilon) if w.ldp_epsilon < 700 else math.inf
            after = [p * odds / (1 - p + p * odds) if math.isfinite(odds) else 1.0 for p in GUESSES]
            name = "an answer" if self.answer is None else show.name_of(self.answer)
            return [
                f"Somebody who holds {name} for {p:.0%} likely before a report holds it for at most {_up(q)} likely "
                "after it."
                for p, q in zip(GUESSES, after, strict=True)
            ]
        (name, share), (least, most) = self.one, self.after()
        shown = show.name_of(name)
        never = (
            f"It can rule {shown} out." if least == 0 else f"It leaves {shown} at least {least:.2g} likely."
        )
        return [
            f"{shown} is the answer of {share:.3%}. A report makes it at most {_up(most)} likely. {never}"
        ]


def _up(p: float) -> str:
    """A probability in per cent, rounded up."""
    digits = 1 if p >= 0.01 else 3
    return f"{math.ceil(p * 100 * 10**digits - 1e-9) / 10**digits:g}%"


@dataclass(frozen=True)
class ListEstimated:
    """Shares of answers of a list, and of groups."""

    tables: list[show.IntervalTable]
    chosen: bool  # by their estimates

    def records(self) -> list[Facts]:
        """All tables as one."""
        return [record for table in self.tables for record in table.records()]

    def facts(self) -> Facts:
        """All of it, for programs."""
        return {"tables": [table.to_dict() for table in self.tables], "warnings": self.warnings()}

    def warnings(self) -> list[str]:
        """What is wrong with the reports."""
        return [show.sentence(table.warning) for table in self.tables if table.warning]

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        out.warn(*self.warnings())
        for table in self.tables:
            out.heading(table.title)
            out.interval_table(table, None if self.chosen else show.MOST_ROWS)
        if not self.chosen and len(self.tables[0]) > show.MOST_ROWS:
            out.say("The most frequent answers: --top 50. All of them in a file: -o shares.csv.")


def estimate_list(
    source: str,
    windows: Windows,
    top: int | None,
    reports: Any,
    how: Any,
    more: Any,
    output: Output,
) -> None:
    """The shares of all answers, or of the most frequent ones, and of groups of answers."""
    if top is not None and how.intervals == "each":
        raise OptionError(
            "--top must come with intervals that hold for all answers together",
            given='"each": rows that were chosen by their estimates would miss more often',
            remedy="leave --intervals out",
        )
    if top is not None and top < 1:
        raise OptionError("--top must be a whole number from 1", given=top)
    kind, level = how.intervals or ("each" if top is None else "all"), how.confidence
    if kind == "always":
        raise OptionError("--intervals must be each or all for a list", given=kind)
    groups, values = _groups(windows, more), _reports(source, reports)
    with progress("estimating"):
        found = ex.large.estimate(windows, values, confidence=level, intervals=kind)
        tables = [found if top is None else found.most(top)]
        if groups:
            tables.append(ex.large.estimate_groups(windows, values, groups, level))
    made = ListEstimated(tables, top is not None)
    output.judge(made)


def _groups(windows: Windows, more: Any) -> dict[str, list[Any]]:
    """The answers of each group that was asked for."""
    wanted: dict[str, list[str]] = {}
    if more.groups is not None:
        text = read_text(more.groups)
        with naming(more.groups):
            wanted = read_answers(text).groups
        if not wanted:
            raise OptionError("--groups must name a file with a column group", given=more.groups)
    for text in more.group or ():
        name, members = named(text, "a group must be like NAME=A,B with answers of the list")
        wanted[name] = split_labels(members)
    if not wanted:
        return {}
    numbers = numbers_of(windows.labels)
    option = "--groups" if more.groups is not None else "--group"
    return {
        name: [windows.labels[number_of(numbers, label, option)] for label in members]
        for name, members in wanted.items()
    }


def _reports(source: str, reports: Any) -> list[int]:
    """The reports in a column of a file."""
    name, table = read_columns(source, reports.column, [], reports)
    values = table[name]
    kept = [value for value in values if value is not None]
    if len(kept) < len(values) and reports.missing != "drop":
        raise ValuesError(
            "every record must have a report",
            given=f"none in {len(values) - len(kept)} of {len(values)} records",
            remedy="--missing drop leaves these records out",
        )
    try:
        return [int(value) for value in kept]
    except (TypeError, ValueError):
        raise ValuesError(
            f"the reports on a list must be whole numbers, but column {name} has others"
        ) from None
