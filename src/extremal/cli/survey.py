"""extremal survey: ask people who never hand over the truth."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from extremal._common.files import open_file
from extremal._common.words import missing
from extremal.errors import OptionError, SurveyError
from extremal.estimation.promise import SURVEY, goal

from . import serving, show
from .failure import CheckFailed
from .output import Facts, Output, check_folder, check_target, progress, write_bytes, write_text
from .serving import (
    Serving,
    check_apart,
    check_mechanisms,
    left_over,
    other_version,
    place_of,
    public_address,
    published_of,
    store_of,
    warn_of_http,
)

if TYPE_CHECKING:
    from extremal.collection.learning import Outlook
    from extremal.collection.published import Published
    from extremal.collection.questionnaire import Findings
    from extremal.collection.store import Store

MOST_INVITATIONS = 1_000_000
WAITING = "the newest five to nine follow with: extremal survey close"


class _extra(contextlib.ContextDecorator):
    """Says what to install where a package of the extra `survey` is missing."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, _: object) -> None:
        if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("extremal"):
            raise missing(f"surveys need {error.name or error}", "survey") from None


def new(survey: str, *, overwrite: bool = False) -> None:
    """Write a first survey with one private question, for you to edit.

    Parameters
    ----------
    survey : SURVEY
        The file to create: survey.toml.

    Examples
    --------
    extremal survey new first.toml
    """
    from extremal.collection.survey import template

    check_target(survey, overwrite)
    write_text(survey, template(), overwrite)
    if survey != "-":
        print(f"{survey} is an example to edit. Then: extremal survey check {survey}")


@dataclass(frozen=True)
class Checked:
    """What a survey asks, what all reports of one person reveal, and how many people it takes."""

    published: Published
    findings: Findings
    people: Mapping[str, int | None]
    page_digest: str
    outlook: Outlook | None
    short: list[str]  # which questions take more people than will be asked

    def records(self) -> list[Facts]:
        """A row for each question, with levels in nats; none for answers in the clear."""
        levels = {leakage.question: leakage for leakage in self.findings.leakages}
        rows = []
        for question in self.published.questions:
            level = levels.get(question.name)
            row = {"question": question.name, "kind": question.kind, "answers": len(question.answers)}
            row |= {"own_epsilon": None if level is None else level.own}
            row |= {"epsilon_of_all_reports": None if level is None else level.all}
            row |= {"people_needed": self.people[question.name], "intervals": self.published.intervals}
            rows.append(row)
        return rows

    def facts(self) -> Facts:
        """All of it, for programs."""
        published = self.published
        names = {"id": published.id, "digest": published.digest, "page_digest": self.page_digest}
        needed = {"people_needed": dict(self.people), "intervals": published.intervals}
        learn = {} if self.outlook is None else {"learn": self.outlook.to_dict()}
        return {**names, **self.findings.to_dict(), **needed, **learn}

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        published, findings = self.published, self.findings
        out.heading(published.title)
        wanted = "" if published.width is None else f"people for width {published.width:g}"
        head = ("question", "kind", "answers", "reports", "its report leaks", "all reports leak", wanted)
        out.table(head, self._rows(), (0, 1))
        said = [
            "Leakage is in nats: a guess about that answer gets at most e^leakage times as likely to be right."
        ]
        if published.width is not None:
            said.append(f"People are for {goal(published.confidence, published.intervals, SURVEY)}.")
        out.say(*said)
        out.warn(*self.short)
        out.heading("What all reports of one person can reveal")
        out.say(*findings.sentences)
        if self.outlook is not None:
            self._tell_learning(out, self.outlook)
        texts = [text for text in findings.warnings if text not in self.short]
        if texts:
            out.heading("Before you ask")
            out.notes(*texts)
        out.heading("Respondents read")
        out.say(findings.total)
        out.lines("", f"SHA-256 of the page: {self.page_digest}")

    def _tell_learning(self, out: show.Console, outlook: Outlook) -> None:
        out.heading("What learning is worth")
        width = self.published.width
        wanted = (f"width {width:g}: without", "with") if width else ()
        head = ("question", "if answers are", "equal errors without", *wanted)
        rows, names = [], [q.name for q in self.published.learned]
        for case in sorted((*outlook.cases, *outlook.settings), key=lambda case: names.index(case.question)):
            people = [f"{n:,}" if n is not None else "too many" for n in (case.without, case.with_it)]
            times = f"{case.times:.2f} times as many"
            rows.append((case.question, case.shares, times, *(people if width else ())))
        out.table(head, rows, (0, 1))
        out.say(*outlook.sentences(self.findings.epsilon))

    def _rows(self) -> list[tuple[str, ...]]:
        bounds = {leakage.question for leakage in self.findings.leakages if leakage.at_most}
        rows: list[tuple[str, ...]] = []
        for q, row in zip(self.published.questions, self.records(), strict=True):
            own, all_of_them, needed = row["own_epsilon"], row["epsilon_of_all_reports"], row["people_needed"]
            reports = " x ".join(str(len(m.outputs)) for m in q.mechanisms)
            reports = reports if q.windows is None else f"{q.windows.reports:,}"
            levels, takes = ("sent as it is", ""), ""
            if own is not None:
                levels = f"{own:.4g}", f"{'≤ ' if q.name in bounds else ''}{all_of_them:.4g}"
            if own is not None and self.published.width is not None:
                takes = "too many" if needed is None else f"{needed:,}"
            rows.append((q.name, q.kind, str(len(q.answers)), reports, *levels, takes))
        return rows


def check(survey: str, *, output: Output) -> None:
    """Check a survey, design its reports, and say what all reports of one person together can reveal.

    Each private question gets a mechanism: the rule by which answers turn into reports. It is designed once, written to
    a file next to the survey, and kept until you change what the survey asks. A lock file records what it was made for.

    Examples
    --------
    extremal survey check survey.toml
    extremal survey check survey.toml --json
    """
    from extremal.collection.designs import check as check_survey
    from extremal.collection.designs import same_id
    from extremal.collection.learning import outlook
    from extremal.collection.page import page_of
    from extremal.collection.survey import read_survey

    output.check()
    read = read_survey(survey)
    with progress("designing") as bar:
        published, findings = check_survey(read, bar)
    with progress("counting the people needed"):
        from extremal.collection.results import people_needed, too_few

        people = people_needed(published)
    with progress("going through the stages") as bar:
        found = outlook(published, bar)
    doubts: list[str] = []
    if found is not None:
        doubts, people = [*found.warnings(), *found.notes()], people | found.people()
    short = too_few(published, people)
    more = (
        *read.warnings,
        *doubts,
        *other_version(place_of(survey, None), published),
        *same_id(read),
        *left_over(read),
    )
    findings = replace(findings, warnings=(*short, *findings.warnings, *more))
    digest = page_of(published, "reports").digest
    output.give(Checked(published, findings, people, digest, found, short))


def texts(*, output: str, language: str = "en", overwrite: bool = False) -> None:
    """Write the sentences of the respondents' page in a file, to translate or review.

    Name the file in the survey: catalogues = { sw = "sw.json" }. When they are right, write your name as "reviewed".

    Parameters
    ----------
    output : -o FILE
        JSON file to write; "-" for a pipe.
    language : LANGUAGE
        Begin with the sentences in this language, if the package has them: en, de, fr or ar.

    Examples
    --------
    extremal survey texts -o sw.json
    extremal survey texts --language fr -o fr.json
    """
    from extremal.collection.wordings import template

    check_target(output, overwrite)
    write_text(output, template(language), overwrite)


@_extra()
def serve(survey: str, *, database: str | None = None, server: Serving) -> None:
    """Serve the questionnaire, store reports, and show results to whoever has the secret.

    Only this machine can reach it unless --host says otherwise. Ctrl-C ends it. Every report that the server has
    acknowledged is on disk.

    Examples
    --------
    extremal survey serve survey.toml
    extremal survey serve survey.toml --database postgresql://me@localhost/study
    extremal survey serve survey.toml --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
    extremal survey serve survey.toml --url https://survey.example.org/
    """
    server.serve(published_of(survey), place_of(survey, database))


def form(survey: str, *, output: str) -> None:
    """Write the questionnaire as a static folder for any web host.

    The form posts reports to the address `post` in survey.toml. Without one, respondents save their reports as files
    and send them to you.

    Parameters
    ----------
    output : -o DIR
        The folder to create.

    Examples
    --------
    extremal survey form survey.toml -o form
    """
    check_folder(output)
    _write_form(published_of(survey), output)


def _write_form(published: Published, output: str) -> None:
    from extremal.collection.page import page_of, write_form

    written = write_form(published, output)
    print(f"{len(written)} files in {output}; README.txt says what to do with them")
    print(f"SHA-256 of the page: {page_of(published, published.post).digest}")


@_extra()
def invite(
    survey: str,
    *,
    count: Annotated[int, typer.Option(min=1, max=MOST_INVITATIONS)],
    url: str,
    output: str,
    database: str | None = None,
    overwrite: bool = False,
) -> None:
    """Make single-use links for a survey with invitation = true.

    The store keeps a hash of each link until the link is used, and then deletes it. Only the output file holds the
    links themselves. Keep it safe: whoever has it can answer.

    Parameters
    ----------
    count : -n
        How many links.
    url : URL
        The public address of the survey.
    output : -o FILE
        CSV file for the links; "-" for a pipe.

    Examples
    --------
    extremal survey invite survey.toml --count 100 --url https://survey.example.org/ -o links.csv
    """
    published = published_of(survey)
    if not published.invitation:
        raise SurveyError("this survey needs no invitations", remedy="write invitation = true in it")
    check_apart(output, overwrite, survey, database)
    base = public_address(url)
    with store_of(survey, database, published) as store:
        links = "".join(f"{base}#{token}\n" for token in store.invite(count))
        write_text(output, "link\n" + links, overwrite, 0o600)
    if output != "-":
        print(f"{count} links in {output}; whoever has one can answer once")
        warn_of_http(base)


@_extra()
def add(survey: str, files: list[str], *, database: str | None = None) -> None:
    """Add reports that people saved as files, with the same checks as for reports that are posted.

    A file that you add twice counts once. Exit status 1: some reports were refused.

    Parameters
    ----------
    files : FILE...
        Reports that respondents saved.

    Examples
    --------
    extremal survey add survey.toml report-1.json report-2.json
    """
    with store_of(survey, database, published_of(survey)) as store:
        if _add(store, files):
            raise CheckFailed("")


def _add(store: Store, files: list[str]) -> bool:
    """Add reports in files to a store; whether some were refused."""
    from extremal.collection.guard import LARGEST_BODY, Refusal, parse_submission
    from extremal.collection.store import Verdict

    if store.published.early(datetime.now(UTC)):
        raise SurveyError("this survey has not begun", given=f"opens = {store.published.opens}")
    good, refused = [], []
    for name in files:
        try:
            with open_file(name) as file:
                good.append((name, parse_submission(store.surveys, file.read(LARGEST_BODY + 1))))
        except Refusal as refusal:
            refused.append(f"{name}: {refusal.message}")
    before = store.count()
    for (name, _), verdict in zip(good, store.add(s for _, s in good), strict=True):
        if verdict is not Verdict.ACCEPTED:
            refused.append(f"{name}: {verdict.value}")
    added = store.count() - before
    print(f"{added} added, {len(files) - len(refused) - added} already there, {len(refused)} refused")
    for line in refused:
        print(show.visible(line))
    return bool(refused)


@_extra()
def learn(
    survey: str, files: list[str] | None = None, *, output: str | None = None, database: str | None = None
) -> None:
    """Begin the next stage of a survey that learns its priors and has no server: add reports, and write the next form.

    A server begins stages by itself. Without one, give the reports that people saved as files. Once the stage is full,
    the command designs mechanisms for the next one and writes them beside the survey. With -o it also writes the form
    for the next people. Whoever still has the earlier form may send its report later; it counts.

    Exit status 1: some reports were refused, or the stage is not full yet, so that there is no new form.

    Parameters
    ----------
    files : FILE...
        Reports that respondents saved; none if they are in the store already.
    output : -o DIR
        The folder to create for the new form.

    Examples
    --------
    extremal survey learn survey.toml report-*.json -o form-2
    """
    from extremal.collection.learning import go_on, write_mechanisms
    from extremal.collection.page import check_new

    published = published_of(survey)
    if published.learn is None:
        raise SurveyError("this survey learns nothing", remedy='write prior = "learn" for a question')
    if output is not None:
        check_folder(output)
        check_new(Path(output))
    with store_of(survey, database, published) as store:
        refused = bool(files) and _add(store, files or [])
        with progress("designing"):
            begun = go_on(store)
        stage, current = store.stages[-1], store.current
        write_mechanisms(store, Path(survey))
        if begun:
            print(f"stage {stage.number} begins. {stage.said}".rstrip())
        else:
            lacking = store.lacking()
            more = "it is the last one" if lacking is None else f"{lacking} more reports make it full"
            print(f"stage {stage.number} runs: {more}" if not store.closed() else "the survey has ended")
    if output is not None and (begun or not files):
        _write_form(current, output)
    if refused or (files and not begun):
        raise CheckFailed("")


@_extra()
def export(survey: str, *, output: str, database: str | None = None, overwrite: bool = False) -> None:
    """Write the reports as a table: one row per person in random order, and nothing about invitations.

    While the survey runs, exports grow by five reports at a time; `extremal survey close` adds the last ones. Only you
    can read the file.

    The command refuses if the survey's mechanisms have changed since the reports were drawn. Answers to questions of
    the kind `clear` are true answers; the limit does not cover them.

    Parameters
    ----------
    output : -o FILE
        .csv, .parquet, .sav (SPSS) or .dta (Stata); "-" for CSV in a pipe.

    Examples
    --------
    extremal survey export survey.toml -o reports.csv
    extremal survey export survey.toml -o reports.parquet
    """
    from extremal.collection.learning import write_mechanisms
    from extremal.collection.results import csv_text, parquet_bytes, statistics_bytes
    from extremal.release.files.source import KNOWN, format_of

    check_apart(output, overwrite, survey, database)
    kind = "csv" if output == "-" else format_of(output)
    if kind is None:
        raise OptionError(f"-o must name a file of one format: {KNOWN}", given=output)
    with store_of(survey, database) as store:
        check_mechanisms(survey, store)
        reports = store.reports()
        learned = [] if output == "-" else write_mechanisms(store, Path(survey))
    if kind == "csv":
        content = csv_text(reports).encode()
    else:
        content = parquet_bytes(reports) if kind == "parquet" else statistics_bytes(reports, kind)
    write_bytes(output, content, overwrite, 0o600)
    if learned:
        print(f"mechanisms that were learned, by their number: {', '.join(path.name for path in learned)}")
    if output != "-":
        print(
            f"reports of {len(reports.rows)} people in {output}" + ("" if reports.closed else f"; {WAITING}")
        )


@_extra()
def close(survey: str, *, database: str | None = None) -> None:
    """End a survey: no more reports are taken, and results and exports show the last ones.

    While a survey runs, results and exports grow by five reports at a time, or by a multiple of five, and the last five
    to nine wait. If they showed each report at once, two looks would tell what the newest person sent. Fewer than five
    reports are never shown. A closed survey stays closed.

    Examples
    --------
    extremal survey close survey.toml
    """
    with store_of(survey, database) as store:
        count = store.finish()
    print(f"closed, with the reports of {count} people" + ("" if count else ": fewer than 5 are not shown"))


COMMANDS: dict[str, Callable[..., None]] = {
    "new": new,
    "import": _extra()(serving.import_form),
    "check": check,
    "texts": texts,
    "test": _extra()(serving.rehearse),
    "serve": serve,
    "form": form,
    "invite": invite,
    "add": add,
    "learn": learn,
    "export": export,
    "backup": _extra()(serving.backup),
    "close": close,
}
