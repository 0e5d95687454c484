"""extremal regress: models of true answers, from reports."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import extremal as ex
from extremal.errors import OptionError
from extremal.model.reading import split_labels

from . import options, show
from .inputs import check_numbers, file_or_stdin, load_mechanism, named
from .output import Facts, Output, progress

if TYPE_CHECKING:
    from extremal.estimation.regression.tables import FigureTable


@dataclass(frozen=True)
class ModelOptions:
    """The model, and how it is fitted.

    Parameters
    ----------
    model : NAME
        logit, probit, multinomial, ordinal, ordinal-probit, gaussian or poisson; by default logit for two answers and
        multinomial for more.
    answers : A,B,C
        The order of the answers: the reference first; for an ordinal model all answers, the lowest first.
    predictors
        How the model treats private predictors; docs/estimate.md explains the choices.
    errors
        The standard errors; by default cluster with --clusters, robust with --weights, else information.
    confidence
        Confidence level of each interval by itself.
    """

    model: (
        Literal["logit", "probit", "multinomial", "ordinal", "ordinal-probit", "gaussian", "poisson"] | None
    ) = None
    answers: str | None = None
    predictors: Literal["covariates", "shares", "prior", "corrected"] = "covariates"
    weights: str | None = None
    clusters: str | None = None
    errors: Literal["information", "robust", "cluster"] | None = None
    confidence: float = 0.95


def regress(
    source: str,
    formula: str,
    last: str | None = None,
    *,
    mechanism: list[str] | None = None,
    fit: ModelOptions,
    effects: bool = False,
    tests: bool = False,
    output: Output,
    reading: options.DataOptions,
) -> None:
    """Fit a model of how true answers depend on other columns, from reports.

    Exit status 1: the model does not fit, and you must not trust the coefficients of private predictors.

    Parameters
    ----------
    source : FILE
        CSV or Parquet file with reports and covariates; "-" for a pipe. Or give the mechanism here, and the file last.
    formula : FORMULA
        Such as "answer ~ age + C(sex)".
    last : [FILE]
        The file, if the mechanism came first.
    mechanism : -m [COLUMN=]FILE
        The certified mechanism of the outcome; COLUMN=FILE for another private column, A,B=FILE for columns whose
        reports were drawn together; may be repeated.
    effects
        Also print predicted shares and average marginal effects.
    tests
        Also print a test of each term.

    Examples
    --------
    extremal regress private.csv "answer ~ age" --mechanism mechanism.json --model ordinal
    extremal regress private.csv "answer ~ age" -m mechanism.json --model ordinal --effects -o coefficients.csv
    """
    output.check(source, *(mechanism or []))
    if last is not None:
        if mechanism:
            raise OptionError(
                "a file must be given once", given=f"{source} and {last}", remedy="leave one of them out"
            )
        mechanism, source = [source], last
    given = _mechanisms(mechanism or [])
    from extremal.estimation.regression.columns import File

    answers = None if fit.answers is None else split_labels(fit.answers)
    with (
        file_or_stdin(source, reading.format) as (path, kind),
        warnings.catch_warnings(),
        progress("fitting"),
    ):
        warnings.simplefilter("ignore")  # what they say is among the notes
        how: Any = {**options.given(fit, "weights", "clusters", "confidence"), "answers": answers}
        drew = given.values() if isinstance(given, dict) else [given]
        check_numbers(path, kind, reading.delimiter, drew)
        sample = options.SampleOptions(weights=fit.weights, clusters=fit.clusters).sample()
        found = ex.regress(given, formula, File(path, kind, reading.delimiter), sample=sample, **how)
        found = found.with_confidence(fit.confidence)
    with progress("effects and tests"):
        more = {"shares": found.shares(), "effects": found.effects()} if effects else {}
        result = RegressResult(found, more, found.tests() if tests else None)
    output.judge(result)


def _mechanisms(given: list[str]) -> Any:
    """The mechanism of the outcome alone, or column -> mechanism."""
    if not given:
        raise OptionError("the mechanism that made the reports is missing", remedy="give --mechanism FILE")
    if len(given) == 1 and "=" not in given[0]:
        return load_mechanism(given[0])
    found: dict[Any, ex.Certified] = {}
    for text in given:
        several = "with several private columns, every --mechanism must be like COLUMN=FILE"
        names, path = named(text, several, OptionError)
        columns = tuple(split_labels(names))
        found[columns if len(columns) > 1 else columns[0]] = load_mechanism(path)
    return found


@dataclass(frozen=True)
class RegressResult:
    """A fitted model, and what was asked for beside its coefficients."""

    found: ex.Regression
    more: dict[str, FigureTable]
    tests: Any

    def records(self) -> list[Facts]:
        """A row for each coefficient."""
        return self.found.records()

    def warnings(self) -> list[str]:
        """Why the model must not be trusted."""
        return [note for note in self.found.notes() if note.startswith("WARNING")]

    def facts(self) -> Facts:
        """All of it, for programs."""
        facts = {**self.found.to_dict(), **{name: table.rows() for name, table in self.more.items()}}
        return facts if self.tests is None else {**facts, "tests": self.tests.rows()}

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        from extremal.estimation.regression import tables

        found = self.found
        out.heading(f"{tables.title(found)}: {found.formula}")
        out.lines(*tables.facts(found))
        for answer, (head, *rows) in tables.tables(found).items():
            if answer is not None:
                out.heading(f"{found.source.parsed.outcome} = {show.name_of(answer)}")
            out.table(head, rows, most=None)
        out.lines("")
        out.notes(*map(show.sentence, found.notes()))
        for table in self.more.values():
            out.heading(table.title)
            head, *rows = table.cells()
            out.table(head, rows, range(len(table.keys)), most=None)
            out.say(show.sentence(str(table.promise)))
        if self.tests is not None:
            out.heading("tests of each term")
            out.lines(*str(self.tests).splitlines())
