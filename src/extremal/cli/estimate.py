"""extremal estimate: from reports to shares."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import extremal as ex
from extremal.errors import FileError, OptionError, ValuesError
from extremal.estimation.promise import COMMAND
from extremal.model.reading import split_labels

from . import advice, options, show
from .inputs import (
    check_columns,
    check_numbers,
    chosen_columns,
    file_or_stdin,
    load_mechanisms,
    named,
    named_label,
    read_mechanism,
    report_counts,
    the_certified,
)
from .output import Facts, Output, progress
from .stored import Beside, estimate_store

if TYPE_CHECKING:
    from extremal.draw.keys import Columns

Found = Any  # an Estimate, or a GroupedEstimate with --by


@dataclass(frozen=True)
class ReportOptions:
    """Where the reports stand, and which mechanism drew them.

    Parameters
    ----------
    mechanism : -m FILE
        The certified mechanism that drew the reports; leave it out for the database of a survey. Repeat it for several
        files of different people, in the order of the files.
    column : NAME
        The column that holds the reports.
    missing
        Stop at missing answers, which is the default, or drop them.
    """

    mechanism: list[str] | None = None
    column: str | None = None
    columns: str | None = None
    missing: Literal["refuse", "drop"] | None = None
    format: options.Format = None
    delimiter: str | None = None


@dataclass(frozen=True)
class IntervalOptions:
    """How shares are estimated, and how sure the intervals are.

    Parameters
    ----------
    intervals
        "each": ordinary intervals, each holds by itself; "all": all of a table hold at the same time; "always": they do
        so however often you look while reports come in. By default "each", or what the survey.toml of a survey says.
    method
        How to estimate. "inverse" of several files is the mean of what each tells, weighted by people.
    """

    confidence: float = 0.95
    intervals: Literal["each", "all", "always"] | None = None
    method: Literal["maximum-likelihood", "inverse", "map"] = "maximum-likelihood"

    def given(self) -> Facts:
        """Those that were given."""
        kind = {} if self.intervals is None else {"intervals": self.intervals}
        return {"confidence": self.confidence, "method": self.method, **kind}


@dataclass(frozen=True)
class ExtraOptions:
    """What is estimated beside the shares.

    Parameters
    ----------
    group : NAME=A,B
        Also the share of several answers together, e.g. ever=once,often; may be repeated; put quotes around an answer
        that holds a comma.
    groups : FILE
        Of a list: also the shares of the groups that the column group of the CSV file of the list names.
    mean
        Also the mean of the answers, which must be numbers.
    scores : A=0,B=1
        Also the mean score; give a number for each answer.
    safe : LABEL=SHARE
        Also how far off the shares can be if up to this share of people give this answer untruthfully.
    stages
        Also the shares from each file by itself, or of a survey from the reports of each mechanism.
    """

    group: list[str] | None = None
    groups: str | None = None
    mean: bool = False
    scores: str | None = None
    safe: str | None = None
    stages: bool = False


def estimate(
    sources: list[str],
    *,
    reports: ReportOptions,
    question: str | None = None,
    by: str | None = None,
    top: int | None = None,
    people: options.SampleOptions,
    how: IntervalOptions,
    more: ExtraOptions,
    output: Output,
) -> None:
    """Estimate from reports how common each answer is, with confidence intervals, for everybody or by group.

    Several files must hold different people, and each has a mechanism of its own: all reports together give one
    estimate, with a test of whether shares differ between the files. A later mechanism may have been chosen after
    earlier reports were seen.

    Exit status 1: the reports do not look as if this mechanism had drawn them.

    Parameters
    ----------
    sources : FILE
        CSV, Parquet, SPSS or Stata file with reports, or the database of a survey (survey.db); "-" for a pipe.
    question : NAME
        Which question of a survey; all of them if left out.
    by : NAME
        Also estimate every group in this column; A,B for combinations of columns.
    top : N
        Of a list: only the N most frequent answers, with intervals that hold although the reports chose these answers;
        in a survey 50 if left out.

    Examples
    --------
    extremal estimate private.csv --column answer --mechanism mechanism.json
    extremal estimate private.csv --column answer --mechanism mechanism.json --group ever=once,often --json
    extremal estimate private.csv --column answer --mechanism mechanism.json --intervals all -o estimates.csv
    extremal estimate together.csv --columns smokes,drinks --mechanism joint.json
    extremal estimate stage1.csv stage2.csv --mechanism m1.json --mechanism m2.json
    extremal estimate reports.csv --column town --mechanism towns.json --top 50
    """
    from extremal.collection.store import is_store

    output.check(*sources, *(reports.mechanism or []))
    beside = Beside(None if by is None else split_labels(by), people.sample(), top)
    if more.safe is not None and by is not None:
        raise OptionError("--safe and --by must not be combined", remedy="leave one of them out")
    if stores := [source for source in sources if is_store(source)]:
        if len(sources) > 1:
            raise OptionError(
                "the store of a survey must be estimated by itself",
                given=f"{stores[0]} and {len(sources) - 1} more",
                remedy="write its reports to a file: extremal survey export",
            )
        _check_store_options(reports, more)
        return output.judge(estimate_store(sources[0], question, beside, how.given(), more.stages))
    mechanisms = reports.mechanism or []
    if not mechanisms:
        _check_exists(sources[0])
    if not mechanisms or question is not None:
        raise OptionError(
            "--mechanism must be given for a file, --question for the store of a survey", given=sources[0]
        )
    if more.stages and len(sources) == 1:
        raise OptionError("--stages is for several files", given="one", remedy="leave it out")
    drew = read_mechanism(mechanisms[0]) if len(sources) == len(mechanisms) == 1 else None
    if isinstance(drew, ex.large.Windows):
        from .lists import estimate_list

        _check_list_options(by, people, reports, how, more)
        return estimate_list(sources[0], drew, top, reports, how, more, output)
    options.only_with("the file of a list", top=top, groups=more.groups)
    certified = load_mechanisms(sources, mechanisms) if drew is None else [the_certified(drew, mechanisms[0])]
    chosen = chosen_columns(reports.column, reports.columns)
    if more.group and isinstance(chosen, tuple):
        raise OptionError(
            "--group and --columns must not be combined", remedy="the shares of each column are shown anyway"
        )
    pairs = [
        (one, _reports(source, one, chosen, beside, reports))
        for source, one in zip(sources, certified, strict=True)
    ]
    with progress("estimating"):
        found = _estimate(pairs, chosen, beside, how)
        each = {}
        if more.stages:
            for number, (source, pair) in enumerate(zip(sources, pairs, strict=True), 1):
                title = f"Stage {number}, {source}"
                each[title] = _estimate([pair], chosen, beside, how).table
        also = _also(found, certified[0], chosen, more)
        result = EstimateResult(found, *also, _bounds(found, more.safe), each)
    output.judge(result)


def _check_exists(source: str) -> None:
    """Refuse a file that is missing or empty, if it may be meant as the store of a survey."""
    if source == "-" or source.lower().endswith((".csv", ".parquet", ".sav", ".dta")):
        return
    if not os.path.exists(source):
        raise FileError(
            f"{source} does not exist", remedy="run this in the folder where the survey was served"
        )
    if os.path.isfile(source) and not os.path.getsize(source):
        raise FileError(
            f"{source} is empty, not the store of a survey",
            remedy="name the store that the survey was served with",
        )


def _check_store_options(reports: ReportOptions, more: ExtraOptions) -> None:
    """Refuse options that only a file can have: a store says for itself what it holds."""
    unused = [f"--{name}" for name in (*options.given(reports), *options.given(more, "stages"))]
    if unused:
        raise OptionError(
            f"the store of a survey has its own mechanisms and cannot be combined with {', '.join(unused)}",
            remedy="choose with --question, or write the reports to a file: extremal survey export",
        )


def _reports(
    source: str,
    certified: ex.Certified,
    chosen: Columns | None,
    beside: Beside,
    reports: ReportOptions,
) -> Any:
    """How often each report stands in a file, or the columns that groups and a sample need."""
    missing = reports.missing or "refuse"
    if not beside.names:
        return report_counts(source, chosen, certified, reports, missing)
    from extremal.estimation.named_columns import read_table
    from extremal.release.files.source import only_column, open_data

    check_columns(chosen, certified)
    with file_or_stdin(source, reports.format) as (path, format):
        kind: Any = {"format": format, "delimiter": reports.delimiter}
        check_numbers(path, **kind, drew=[certified])
        column: Any = chosen or only_column(open_data(path, [], **kind))
        return read_table(path, column, beside.names, missing=missing, **kind)


def _check_list_options(
    by: str | None,
    people: options.SampleOptions,
    reports: ReportOptions,
    how: IntervalOptions,
    more: ExtraOptions,
) -> None:
    """Refuse options that a list does not know."""
    from .lists import alone

    method, unused = options.given(how, "confidence", "intervals"), options.given(more, "group", "groups")
    alone("a list", by=by, columns=reports.columns, **method, **unused, **options.given(people))


def _estimate(
    pairs: list[tuple[ex.Certified, Any]],
    chosen: Columns | None,
    beside: Beside,
    how: IntervalOptions,
) -> Found:
    """The estimate, of groups and from a sample where columns say so."""
    given: Any = pairs[0] if len(pairs) == 1 else (pairs,)
    if isinstance(pairs[0][1], dict):
        return ex.estimate(*given, **how.given())
    told: Any = {"column": chosen or pairs[0][1].names[0], **beside.given, **how.given()}
    return ex.estimate(*given, **told)


def _also(
    found: Found, certified: ex.Certified, chosen: Columns | None, more: ExtraOptions
) -> tuple[Facts, Any, Any]:
    """What was asked for beside the shares: the shares of each column alone, those of groups, and the mean."""
    columns = {}
    for k, name in enumerate(chosen if isinstance(chosen, tuple) else ()):
        members: dict[str, list[Any]] = {}
        for label in found.labels:
            members.setdefault(str(label[k]), []).append(label)
        columns[show.name_of(name)] = found.group(members)
    sums = found.group(dict(_group(certified, text) for text in more.group)) if more.group else None
    if not more.mean and more.scores is None:
        return columns, sums, None
    return columns, sums, found.mean(None if more.scores is None else _scores(more.scores))


@dataclass(frozen=True)
class EstimateResult:
    """Shares, and what was asked for beside them."""

    found: Found
    columns: dict[str, show.IntervalTable]
    groups: show.IntervalTable | None
    mean: show.IntervalTable | None
    bounds: ex.compliance.ShareBounds | None
    stages: dict[str, show.IntervalTable]  # of several, what each tells by itself

    def records(self) -> list[Facts]:
        """The rows of the shares."""
        return list(self.found.table.records())

    def notes(self) -> list[str]:
        """What holds of the intervals, and what is wrong with the reports."""
        first = self.found.table.promise.note(COMMAND)
        return [show.sentence(note) for note in (first, *self.found.notes()[1:])]

    def warnings(self) -> list[str]:
        """What is wrong with the reports."""
        return [note for note in self.notes() if "WARNING" in note]

    def facts(self) -> Facts:
        """All of it, for programs."""
        found = self.found
        facts = {**found.to_dict(), "labels": list(found.labels), "shares": found.shares.tolist()}
        facts |= {"lower": found.lower.tolist(), "upper": found.upper.tolist()}
        facts["warnings"] = [*self.warnings(), *advice.estimated(found)]
        if self.columns:
            facts["columns"] = {name: table.to_dict() for name, table in self.columns.items()}
        facts["groups"] = None if self.groups is None else self.groups.to_dict()
        if self.mean is not None:
            facts["mean"] = self.mean.to_dict()
        if self.stages:
            facts["stage_by_stage"] = [table.to_dict() for table in self.stages.values()]
        return facts if self.bounds is None else {**facts, "bounds": self.bounds.rows()}

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        notes, warnings = self.notes(), self.warnings()
        out.warn(*warnings)
        out.heading(self.found.table.title)
        out.interval_rows(self.found.table)
        out.warn(*advice.estimated(self.found))
        out.say(*[note for note in notes if note not in warnings])
        out.tables({f"Column {name} alone": table for name, table in self.columns.items()})
        out.tables({table.title: table for table in (self.groups, self.mean) if table is not None})
        out.tables(self.stages)
        if self.bounds is not None:
            out.heading("People who do not comply")
            out.say(*str(self.bounds).splitlines())


def _group(certified: ex.Certified, text: str) -> tuple[str, list[Any]]:
    name, members = named(text, "a group must be like NAME=A,B with labels of the mechanism")
    return name, [named_label(certified.inputs, member) for member in split_labels(members)]


def _bounds(found: Found, text: str | None) -> ex.compliance.ShareBounds | None:
    if text is None:
        return None
    label, share = _label_number(text, "--safe must be like never=0.1")
    try:
        return ex.compliance.bounds(found, label, share)
    except OptionError as error:
        raise OptionError(f"--safe {error.problem}", given=error.given) from None


def _scores(text: str) -> dict[str, float]:
    return dict(_label_number(part, "--scores must be like A=0,B=1") for part in split_labels(text))


def _label_number(text: str, wanted: str) -> tuple[str, float]:
    """The label and the number of a text like never=0.1."""
    label, value = named(text, wanted, last=True)
    try:
        return label, float(value)
    except ValueError:
        raise ValuesError(wanted, given=f"{text!r:.60}") from None
