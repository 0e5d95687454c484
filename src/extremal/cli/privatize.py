"""extremal privatize, round and key: from answers to reports, numbers to points before that, and the secret key."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import extremal as ex
from extremal._common.words import counted, factor
from extremal.errors import FileError, OptionError, ValuesError

from . import advice, options, show
from .inputs import (
    check_columns,
    chosen_columns,
    file_or_stdin,
    load_keyed,
    named_label,
    read_columns,
    read_mechanism,
    the_certified,
)
from .output import answer, check_table, check_target, progress, write_table

if TYPE_CHECKING:
    from extremal.draw.keys import Columns
    from extremal.release.files.source import Data
    from extremal.release.job import Terms

    Jobs = dict[Any, Any]  # mechanisms, or a list


@dataclass(frozen=True)
class ReleaseOptions:
    """What is written, and what is accepted on the way.

    Parameters
    ----------
    missing : --missing --unknown
        Stop at missing answers and at answers that the mechanism does not know, or drop them.
    unknown_as : LABEL
        Treat unknown and missing answers as this answer.
    ledger : FILE
        With a key: the file that records releases, so that a second report about the same column of the same people is
        refused. By default next to the key file; "none" turns it off.
    correction
        Release answers that differ from those in the ledger, because they were corrected. Reports that differ then show
        whose answer changed.
    order
        Refuse records whose order reveals answers (check), accept them (keep), or write all records in random order
        (shuffle).
    """

    missing: Literal["refuse", "drop"] = "refuse"
    unknown_as: str | None = None
    ledger: str | None = None
    correction: bool = False
    order: Literal["check", "keep", "shuffle"] = "check"
    allow_true_answers: bool = False
    overwrite: bool = False
    as_json: bool = False

    def terms(self, keyed: ex.Keyed | None, instead: Any, ledger: str | None) -> Terms:
        """On which terms answers are released."""
        from extremal.release.job import Terms

        return Terms(keyed, self.missing, instead, self.allow_true_answers, ledger, self.correction)


def privatize(
    source: str,
    *,
    mechanism: list[str],
    output: str,
    column: list[str] | None = None,
    columns: str | None = None,
    drawing: options.KeyOptions,
    release: ReleaseOptions,
    reading: options.DataOptions,
) -> None:
    """Replace the answers in a file with random reports, drawn with secure randomness.

    Everything else in the file stays as it is. The file may be larger than memory. The output appears under its name
    only when it is complete.

    Parameters
    ----------
    source : FILE
        CSV, Parquet, SPSS (.sav) or Stata (.dta) file; "-" reads from a pipe.
    mechanism : -m FILE
        The certified mechanism of the column, or what `design --list` wrote for it; one for each --column.
    output : -o FILE
        Where to write the reports; "-" for a pipe.
    column : NAME
        The column to replace; may be repeated; needed unless the file has only one column.

    Examples
    --------
    extremal privatize survey.csv -o private.csv --column answer --mechanism mechanism.json
    extremal privatize survey.csv -o repeatable.csv --column answer --mechanism mechanism.json --key-file secret.key
        --id-column id
    extremal privatize - -o - --column answer --mechanism mechanism.json < survey.csv > piped.csv
    extremal privatize habits.csv -o together.csv --columns smokes,drinks --mechanism joint.json
    extremal privatize later.csv -o stage2.csv --column answer --mechanism m2.json
    extremal privatize homes.csv -o reports.csv --column town --mechanism towns.json
    """
    from extremal.release.files.privatize import FileOptions, privatize_file
    from extremal.release.files.source import open_data

    book = _ledger(release.ledger, drawing.key_file)
    check_target(output, True, release.as_json, [*mechanism, drawing.key_file, book])
    found = [read_mechanism(path) for path in mechanism]
    if isinstance(one := found[0], ex.large.Windows):
        from .lists import alone

        shuffled = release.order if release.order == "shuffle" else None
        alone("a list", columns=columns, mechanism=mechanism[1:], column=(column or [])[1:], order=shuffled)
        first = column[0] if column else None
        return _told(_listed(source, one, first, drawing, release, reading, output, book), release.as_json)
    loaded = [the_certified(one, path) for one, path in zip(found, mechanism, strict=True)]
    keyed = load_keyed(drawing)
    together = chosen_columns(column[0] if column else None, columns)
    joint = together if isinstance(together, tuple) else ()
    named = [*(column or []), *joint]
    ids = [] if drawing.id_column is None else [drawing.id_column]
    with file_or_stdin(source, reading.format) as (path, format):
        data = open_data(path, [*named, *ids], format, reading.delimiter)
        jobs = _jobs([joint] if joint else column or [_only_column(data, loaded[0])], loaded)
        terms = release.terms(keyed, _instead(jobs, release.unknown_as), book)
        with progress("privatising") as bar:
            how = FileOptions(release.order, release.overwrite, format, progress=bar)
            sink = sys.stdout.buffer if output == "-" else output
            done = privatize_file(data, sink, jobs, terms, how)
    _told(
        PrivatizeResult(output, jobs, done, named or list(jobs), data.columns, drawing.key_file),
        release.as_json,
    )


def _listed(
    source: str,
    windows: ex.large.Windows,
    column: str | None,
    drawing: options.KeyOptions,
    release: ReleaseOptions,
    reading: options.DataOptions,
    output: str,
    book: str | None,
) -> PrivatizeResult:
    """The same for a column of answers of a list, of a table that is held in memory."""
    from extremal.release.files.listed import privatize_list

    check_table(output)
    keyed = load_keyed(drawing)
    name, table = read_columns(source, column, [drawing.id_column], reading, every=True)
    terms = release.terms(keyed, None if release.unknown_as is None else {name: release.unknown_as}, book)
    write = partial(write_table, target=output, overwrite=release.overwrite)
    with progress("privatising"):
        done = privatize_list(table, name, windows, terms, release.order, write)
    return PrivatizeResult(output, {name: windows}, done, [name], list(table), drawing.key_file)


def _told(result: PrivatizeResult, as_json: bool) -> None:
    # For the person who runs this alone, so never on standard output, which may be passed on.
    show.Console(to_stderr=True).warn(*result.done.notes)
    answer(result, as_json, result.target == "-")


def _ledger(given: str | None, key_file: str | None) -> str | None:
    """The ledger that was named, else the one beside the key; None for none."""
    if given is None:
        return None if key_file is None else f"{key_file}.ledger"
    return None if given == "none" else given


def _jobs(columns: list[Any], loaded: list[ex.Certified]) -> Jobs:
    """The mechanism of each column, or of several together."""
    if len(columns) != len(loaded):
        raise FileError(
            "--column and --mechanism must be given equally often",
            given=f"{len(columns)} columns and {len(loaded)} mechanisms",
            remedy="repeat --mechanism where two columns have the same",
        )
    jobs = dict(zip(columns, loaded, strict=True))
    if len(jobs) < len(columns):
        raise FileError(
            "each column must be named once",
            given="one of them twice",
            remedy="two reports about one answer reveal more than one",
        )
    for name, certified in jobs.items():
        check_columns(name, certified)
    return jobs


def _only_column(data: Data, certified: ex.Certified) -> str:
    """The name of the only column; an answer in its place is the first record of a file without a header."""
    from extremal.draw.columns import Alphabet
    from extremal.release.files.csv import finder
    from extremal.release.files.source import only_column

    name = only_column(data)
    known = dict.fromkeys([*certified.inputs, *certified.outputs])
    if finder(Alphabet(tuple(known), ()))(name.strip()) < len(known):
        raise FileError(
            "the first line must be the name of the column",
            given=f"an answer of the mechanism in {data.path}",
            remedy="add a header line, or confirm with --column that this is the name",
        )
    return name


def _instead(jobs: Jobs, label: str | None) -> dict[Any, Any] | None:
    """The answer as which unknown and missing ones count, for each column."""
    return None if label is None else {name: named_label(c.inputs, label) for name, c in jobs.items()}


def _name(column: Columns) -> str:
    """A column, or several together, in JSON."""
    return column if isinstance(column, str) else ",".join(column)


@dataclass(frozen=True)
class PrivatizeResult:
    """What was written, what was dropped, and what stayed as it was."""

    target: str
    jobs: Jobs
    done: Any
    private: list[Any]
    columns: Any
    key_file: str | None

    def lost(self) -> list[str]:
        """How many records were dropped and why; then a warning where they are many."""
        return advice.dropped(self.done.rows, self.done.dropped, self.done.unknown)

    def warnings(self) -> list[str]:
        """What a person must know first."""
        close = [text for c in self.jobs.values() for text in advice.disclosure(c)]
        return [*close, *self.lost()[1:]]

    def notes(self) -> list[str]:
        """What the limit does not cover."""
        return [*advice.unchanged(self.columns, self.private), *advice.together(list(self.jobs))]

    def facts(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "file": self.target,
            "rows": self.done.rows,
            "dropped": self.done.dropped,
            "dropped_why": {
                _name(name): {"missing": n, "not_in_the_alphabet": other}
                for name, (n, other) in self.done.unknown.items()
            },
            "columns": {
                _name(name): {"epsilon": c.epsilon, "digest": c.digest} for name, c in self.jobs.items()
            },
            "unchanged": [name for name in self.columns if name not in self.private],
            "keyed": self.key_file is not None,
            "warnings": [*self.warnings(), *self.notes()],
        }

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        out.warn(*self.warnings())
        where = "on standard output" if self.target == "-" else f"in {self.target}"
        lost = "".join(f"; {text}" for text in self.lost()[:1])
        out.facts(f"{counted(self.done.rows, 'report')} {where}{lost}")
        for name, c in self.jobs.items():
            if c.doubt.disclosed:
                out.warn(_disclosed(name, c))
                continue
            now = (
                f"columns {show.name_of(name)} now hold one random report for each person"
                if isinstance(name, tuple)
                else f"column {show.name_of(name)} now holds random reports"
            )
            known = "" if c.prior is None else "to somebody who knows only how common the answers are, "
            out.facts(
                f"{now}: {known}no guess gets more than {factor(c.epsilon)} times as likely to be right"
            )
        out.say(*self.notes())


def _disclosed(name: Any, certified: ex.Certified) -> str:
    """What a column holds that protects nobody."""
    column = name if certified.doubt.part is None else name[certified.doubt.part]
    if isinstance(certified, ex.large.Windows):
        return f"column {show.name_of(column)} now tells nearly all true answers: no protection"
    kept = certified.between.matrix.argmax(axis=1).tolist()
    same = certified.inputs == tuple(certified.outputs[j] for j in kept)
    verb = "holds" if same and certified.doubt.part is None else "tells"
    amount = "the true answers" if certified.doubt.fully else "nearly all true answers"
    if certified.doubt.part is None and isinstance(name, tuple):
        return f"columns {show.name_of(name)} now {verb[:-1]} {amount}: no protection"
    return f"column {show.name_of(column)} now {verb} {amount}: no protection"


def round_numbers(
    source: str,
    *,
    column: str,
    points: str,
    output: str,
    clip: bool = False,
    overwrite: bool = False,
    drawing: options.KeyOptions,
    reading: options.DataOptions,
) -> None:
    """Round numbers at random to a few points, so that they can be answers of a mechanism.

    A number between two points becomes one of them, with probabilities that keep its mean: 340 between 0 and 1000
    becomes 1000 with probability 0.34. Rounding alone protects nobody:
    privatize the result next, with a mechanism that was designed with --utility mean. If you privatize it with a key,
    round it with the same key, ids and occasion: otherwise a second run can round differently and draw second reports.

    Parameters
    ----------
    source : FILE
        CSV or Parquet file with numbers; "-" for a pipe.
    column : NAME
        The column of numbers.
    points : A,B,C
        The points, increasing. The first and the last are the limits of the numbers.
    output : -o FILE
        The same table with points, as .csv, .parquet or .json.
    clip
        Move numbers beyond a limit to that limit; without it they are refused.

    Examples
    --------
    extremal round survey.csv -o rounded.csv --column age --points 18,40,60,90
    """
    from extremal.draw.keys import check_given_name

    if output == "-":
        raise FileError("numbers must be rounded into a file", given="-o -", remedy="it holds true answers")
    check_target(output, overwrite, inputs=[drawing.key_file])
    check_table(output)
    grid, keyed, ids = _grid(points), load_keyed(drawing), drawing.id_column
    if keyed is not None:
        check_given_name(column)
    _, table = read_columns(source, column, [ids], reading, "rounding", every=True)
    mode = os.stat(source).st_mode if source != "-" else 0o600
    there = [k for k, value in enumerate(table[column]) if value is not None]
    numbers = [_number(table[column][k], column, k + 1) for k in there]
    if keyed is not None:
        keyed = replace(keyed, ids=[table[keyed.ids][k] for k in there])
    rounded = grid.round(numbers, clip=clip, keyed=keyed, column=None if keyed is None else column)
    for k, point in zip(there, rounded, strict=True):
        table[column][k] = point
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    write_table(records, output, overwrite, mode)  # no more readable than the numbers
    out = show.Console()
    missing = len(records) - len(there)
    said = f"{len(there)} numbers rounded to {len(grid.points)} points in {output}, {missing} missing"
    out.facts(said)
    warnings = [f"{output} holds true answers, rounded: keep it as secret as the numbers."]
    if keyed is None:
        warnings.append(
            "Another run gives other points. If you privatize with a key, round with it, too: --key-file, --id-column."
        )
    out.warn(*warnings)


def _grid(text: str) -> ex.numeric.Grid:
    try:
        return ex.numeric.Grid([float(part) for part in text.split(",")])
    except ValueError:  # an OptionError is one
        raise OptionError(
            "--points must be at least 2 increasing numbers like 0,500,1000", given=f"{text!r:.60}"
        ) from None


def _number(value: Any, column: str, record: int) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValuesError(
            f"every value of {column} must be a number or missing",
            given=f"something else in record {record}",
            remedy="correct it",
        ) from None


def key(
    path: str,
    *,
    as_json: bool = False,
) -> None:
    """Make a secret key for repeatable reports, in a new file that only you can read.

    Parameters
    ----------
    path : FILE
        The key file to create.

    Examples
    --------
    extremal key secret.key
    """
    if path == "-":
        raise OptionError(
            "must be a file: a key on the screen or in a pipe is soon in a log",
            parameter="FILE",
            given="-",
            remedy="extremal key secret.key",
        )
    ex.keys.write(path)
    if as_json:
        show.print_json({"file": path})
        return
    show.Console().facts(f"Secret key in {path}: keep it as safe as the answers themselves")
