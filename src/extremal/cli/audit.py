"""extremal audit: what a mechanism, or somebody's system, leaks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import extremal as ex
from extremal._common.words import apart
from extremal.errors import FileError, PriorError

from . import advice, options, show
from .failure import CheckFailed
from .inputs import parse_prior, read_columns, read_mechanism, renamed
from .output import Facts, Output, check_target, progress, taken_twice, write_text

if TYPE_CHECKING:
    from extremal.auditing.pairs import PairsAudit

MOST_LISTED = 40  # of the answers that reports rule out; longer lists ask for --markdown


@dataclass(frozen=True)
class PageOptions:
    """A page with pictures, beside what is printed.

    Parameters
    ----------
    report_file : FILE
        Also write a page with pictures, as HTML.
    title : TEXT
        With --report-file: its title, such as the question.
    """

    report_file: str | None = None
    title: str = ""


@dataclass(frozen=True)
class PairsOptions:
    """The pairs of true answer and report to test a system by.

    Parameters
    ----------
    pairs : FILE
        Instead of a mechanism, test any system: a CSV file with pairs of true answer and report.
    secret : NAME
        With --pairs: the column of true answers.
    report : NAME
        With --pairs: the column of reports.
    confidence
        With --pairs: confidence level of the bounds.
    """

    pairs: str | None = None
    secret: str | None = None
    report: str | None = None
    confidence: float = 0.95


def audit(
    source: str | None = None,
    *,
    prior: str | None = None,
    epsilon: float | None = None,
    answer: str | None = None,
    markdown: bool = False,
    page: PageOptions,
    output: Output,
    pairs: PairsOptions,
) -> None:
    """Say in plain words what each report of a mechanism can reveal.

    Exit status 1: a report leaks more than --epsilon. With --pairs: the pairs show, at the given confidence,
    that the system leaks more.

    Parameters
    ----------
    source : FILE
        A mechanism file (or matrix, with --prior); "-" for a pipe.
    epsilon : -e LIMIT
        The limit to check: exit status 1 if a report leaks more.
    answer : LABEL
        Of a list: say what a report tells about this answer.
    markdown
        Print the whole audit as a Markdown page.

    Examples
    --------
    extremal audit mechanism.json
    extremal audit mechanism.json --epsilon 0.7 --json
    extremal audit mechanism.json --report-file report.html
    extremal audit towns.json --answer Lyon
    extremal design --prior 0.5,0.3,0.2 -e 0.7 -o - | extremal audit - --markdown
    """
    if epsilon is not None:
        from extremal.model.levels import check_epsilon

        epsilon = check_epsilon(epsilon)  # whatever leaks, nothing is above nan
    _check(source, pairs, page, output, markdown)
    if pairs.pairs is not None:
        tested = _test(pairs, epsilon, prior)
        _give(PairsResult(tested), output, markdown)
        if tested.violation:
            raise CheckFailed("")
        return
    read = read_mechanism(str(source))
    if isinstance(read, ex.large.Windows):
        from .lists import ListResult, alone

        alone("a list", prior=prior, markdown=markdown, report_file=page.report_file, output=output.target)
        output.give(ListResult(read, None, answer))
        leaks, slack = read.realised_epsilon, 0.0
    else:
        options.only_with("the file of a list", answer=answer)
        made = _audit(read, prior)
        if page.report_file is not None:
            write_text(page.report_file, made.page(page.title, str(source)), output.overwrite)
        _give(made, output, markdown)
        if page.report_file is not None and not output.as_json and not markdown:
            show.Console(output.target == "-").lines("", f"Page in {page.report_file}")
        leaks, slack = made.found.epsilon, 0.0 if made.found.exact else 1e-9
    if epsilon is not None and leaks > epsilon + slack:
        limit, found = apart(epsilon, leaks)
        raise CheckFailed(f"leakage must be at most {limit} nats, but it is {found}")


def _check(
    source: str | None, pairs: PairsOptions, page: PageOptions, output: Output, markdown: bool
) -> None:
    """Refuse options that exclude each other, and files that cannot be written."""
    if output.as_json and markdown:
        raise taken_twice("--json and --markdown")
    if (source is None) == (pairs.pairs is None):
        raise FileError("give either a mechanism file, or --pairs with a CSV file")
    if page.title and page.report_file is None:
        raise FileError(
            "--title is for a page", given="no --report-file", remedy="add --report-file page.html"
        )
    if pairs.pairs is None:
        confidence = options.other_than(0.95, pairs.confidence)
        options.only_with("--pairs", secret=pairs.secret, report=pairs.report, confidence=confidence)
    if page.report_file == "-":
        raise FileError("--report-file must be a file", given="-", remedy="e.g. --report-file page.html")
    check_target(page.report_file, output.overwrite, inputs=[source])
    output.check(source, pairs.pairs)
    if output.target == "-" and markdown:
        raise taken_twice("-o - and --markdown")
    if pairs.pairs is not None and (output.target is not None or page.report_file is not None):
        raise FileError(
            "--pairs must not be combined with -o or --report-file",
            remedy="print it with --json or --markdown",
        )


def _give(result: AuditResult | PairsResult, output: Output, markdown: bool) -> None:
    if markdown:
        output.write(result)
        print(show.visible(result.found.to_markdown()), end="")
    else:
        output.give(result)


def _audit(found: ex.Certified | ex.Mechanism, prior: str | None) -> AuditResult:
    """The audit of a mechanism file, or of a matrix under a prior."""
    chosen: ex.Prior | ex.PriorSet
    if prior is not None:
        chosen = renamed(parse_prior(prior), found.inputs)
    elif isinstance(found, ex.Certified):
        chosen = found.prior_set or found.prior
    else:
        raise PriorError(
            "a matrix must come with a prior: what it leaks depends on it",
            remedy="give --prior 0.5,0.3,0.2",
        )
    with progress("auditing"):
        return AuditResult(chosen, found, ex.audit(chosen, found), prior is None)


def _test(pairs: PairsOptions, epsilon: float | None, prior: str | None) -> PairsAudit:
    """The test of a system by pairs of true answer and report."""
    if pairs.secret is None or pairs.report is None:
        raise FileError("--pairs must come with --secret and --report, the names of two columns")
    _, read = read_columns(str(pairs.pairs), pairs.secret, [pairs.report], options.DataOptions())
    x, y = read[pairs.secret], read[pairs.report]
    known = None if prior is None else parse_prior(prior)
    with progress("testing the pairs"):
        return ex.audit_pairs(x, y, confidence=pairs.confidence, epsilon=epsilon, prior=known)


@dataclass(frozen=True)
class PairsResult:
    """What the pairs show."""

    found: PairsAudit

    def facts(self) -> Facts:
        """All of it, for programs."""
        return self.found.to_dict()

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        out.say(*str(self.found).splitlines())


@dataclass(frozen=True)
class AuditResult:
    """What the reports of a mechanism tell."""

    prior: ex.Prior | ex.PriorSet
    mechanism: ex.Certified | ex.Mechanism
    found: ex.Audit
    own_prior: bool  # the one that the mechanism was certified for

    def facts(self) -> Facts:
        """All of it, for programs."""
        return self.found.to_dict()

    def page(self, title: str, source: str) -> str:
        """A page with pictures."""
        from extremal.auditing.report import mechanism_report

        name = "" if source == "-" else Path(source).name
        with progress("auditing"):
            return mechanism_report(self.prior, self.mechanism, title=title, source=name)

    def records(self) -> list[Facts]:
        """A row for each report: how often it occurs, what it tells, and what it rules out."""
        return [
            {
                "report": o.output,
                "probability": o.probability,
                "leakage": o.leakage,
                "factor": math.exp(o.leakage),
                "best_guess": o.guess,
                "best_guess_probability": o.guess_probability,
                "ruled_out": "; ".join(map(str, o.excluded)),
                "ruled_out_probability": o.excluded_probability,
            }
            for o in self.found.outcomes
        ]

    def warnings(self) -> list[str]:
        """What a person must know first."""
        from extremal.auditing.audit import near_disclosure

        if isinstance(self.mechanism, ex.Certified) and self.own_prior:
            return advice.disclosure(self.mechanism)
        return near_disclosure(self.found)

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        from extremal.auditing.text import measures_in_nats

        made = self.found
        out.warn(*self.warnings())
        out.heading("In short")
        out.say(*show.risk(made))
        out.heading("What each report can tell, at most")
        out.leakage_table(made)
        out.heading("How often a report rules out answers")
        out.say(*self._ruled_out())
        out.heading("In nats")
        measures = measures_in_nats(made)[:5]
        rows = [(name, "none (infinite)" if value is None else f"{value:.4f}") for name, value in measures]
        out.table(("measure", ""), rows)

    def _ruled_out(self) -> list[str]:
        from extremal.auditing.text import sentence

        found = self.found.disclosures
        if not found:
            return ["Never: after every report every answer is still possible."]
        lines = [f"- {sentence(d)}" for d in found[:MOST_LISTED]]
        more = len(found) - MOST_LISTED
        return lines if more <= 0 else [*lines, f"- … and {more} more; with --markdown all are listed"]
