"""What commands read: priors in their many forms, mechanism files, columns of data; "-" is standard input."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import extremal as ex
from extremal._common.files import open_file, read_bytes, utf8_text
from extremal.errors import (
    ExtremalError,
    FileError,
    FormatError,
    KeyingError,
    OptionError,
    PriorError,
    ValuesError,
)
from extremal.model.reading import Learned, Numbers, number, read_counts, read_json, read_range, split_labels

from .failure import WORDS
from .options import (
    KeyOptions,
    LearnOptions,
    PriorOptions,
    Reading,
    given,
    only_with,
    other_than,
)
from .output import progress

if TYPE_CHECKING:
    from extremal.draw.keys import Columns

PAIRS = {  # what reports and their mechanisms look like
    "FILE": "stage1.csv stage2.csv --mechanism m1.json --mechanism m2.json",
    "--from-reports": "--from-reports stage1.csv --mechanism m1.json",
}
LARGEST_TEXT = 1 << 26  # bytes of a prior, counts or a matrix


def learn(source: PriorOptions, otherwise: str | None = None) -> Learned:
    """The prior that a command was asked to use; exactly one source must be given, or what else the command has."""
    given = [name for name in ("prior", "data", "counts") if getattr(source, name) is not None]
    if len(given) != 1:
        raise PriorError(
            "a prior must be given in exactly one way: --data FILE --column NAME, --prior "
            "0.5,0.3,0.2 or --counts FILE",
            given=" and ".join("--" + name for name in given) or "none",
            remedy=otherwise,
        )
    if source.data is None and source.columns is not None:
        raise PriorError("--columns must come with --data FILE, from which combinations are counted")
    if source.labels is not None and source.columns is not None:
        raise PriorError(
            "--labels and --columns must not be combined",
            remedy="leave --labels out: the combinations that occur are the answers",
        )
    names = None if source.labels is None else split_labels(source.labels)
    if source.data is None:
        missing = other_than("refuse", source.missing)
        only_with("--data", column=source.column, missing=missing, format=source.format)
    if source.prior is not None:
        added = other_than(0, source.pseudocount)
        only_with("--data or --counts", pseudocount=added, delimiter=source.delimiter)
        numbers = _prior_text(source.prior)
        return Learned(numbers if names is None else Numbers(names, numbers.numbers), False)
    if source.data is not None:
        chosen = chosen_columns(source.column, source.columns)
        counts = _counted(source.data, chosen, source, source.missing)
    else:
        content = read_text(str(source.counts))
        with naming(str(source.counts)):
            counts = read_counts(content, source.delimiter)
    counts = _ordered(counts, names, sort=source.data is not None)
    if not counts:
        raise PriorError(
            "the column must not be empty: there is nothing to learn a prior from",
            remedy="give data",
        )
    return Learned(Numbers(list(counts), list(counts.values())), True, source.pseudocount)


def origin(source: PriorOptions, observations: int | None) -> str:
    """Where a prior comes from, in words."""
    if source.data is None:
        return "as given" if source.counts is None else "learned from counts"
    where = "standard input" if source.data == "-" else os.path.basename(source.data)
    return f"learned from {observations} answers in {where}"


def learn_from_reports(source: PriorOptions, how: LearnOptions, confidence: float) -> ex.PriorSet:
    """The set of priors that reports leave open, of one stage or of several."""
    if wrong := list(given(source, "column", "columns", "missing", "format", "delimiter")):
        raise PriorError(
            f"--from-reports and --{wrong[0]} must not be combined",
            remedy="leave one of them out: reports tell the prior, their mechanism names the answers",
        )
    files, chosen = how.from_reports or [], chosen_columns(source.column, source.columns)
    mechanisms = load_mechanisms(files, how.mechanism or [], "--from-reports")
    pairs = [
        (certified, report_counts(path, chosen, certified, source, source.missing))
        for path, certified in zip(files, mechanisms, strict=True)
    ]
    ranges: dict[Any, tuple[float, float]] = {}
    for text in how.between or []:
        name, ends = named(text, '--between must be like "yes=1% to 40%"', PriorError, last=True)
        label = named_label(pairs[0][0].inputs, name)
        if label in ranges:
            raise PriorError("--between must name every answer once", given=f"{text!r:.60} again")
        ranges[label] = read_range(ends)
    assumed: Any = {"forged": how.forged, "drift": how.drift, "between": ranges or None}
    with progress("learning the prior"):
        return ex.PriorSet.from_reports(pairs, confidence=confidence, **assumed)


def load_mechanisms(files: list[str], mechanisms: list[str], what: str = "FILE") -> list[ex.Certified]:
    """The mechanism of each file of reports."""
    if len(files) != len(mechanisms):
        raise OptionError(
            f"every {what} must come with its --mechanism, in the same order",
            given=f"{len(files)} and {len(mechanisms)}",
            remedy=f"give as many of each, e.g. {PAIRS[what]}",
        )
    there = [_file(path) for path in files]
    if twice := next((path for path, file in zip(files, there, strict=True) if there.count(file) > 1), None):
        raise FileError(
            f"every {what} must be of other people", given=f"{twice} twice", remedy="give it once"
        )
    if files.count("-") + mechanisms.count("-") > 1:
        raise FileError("standard input can be read once", given="- more than once", remedy="name files")
    return [load_mechanism(path) for path in mechanisms]


def _file(path: str) -> Any:
    """What tells a file from others, whatever it is called."""
    try:
        found = os.stat(path)
    except OSError:
        return path
    return found.st_dev, found.st_ino


def _counted(
    path: str,
    column: Columns | None,
    reading: Reading,
    missing: str,
    drew: Sequence[ex.Certified] = (),
) -> dict[Any, Any]:
    """How often each value stands in a column of a file, or each combination in several columns."""
    from extremal.release.files.source import read_counts

    with file_or_stdin(path, reading.format) as (name, format), progress("reading") as bar:
        how: Any = {"format": format, "delimiter": reading.delimiter}
        check_numbers(name, **how, drew=drew)
        return dict(read_counts(name, column, **how, missing=missing, progress=bar))


def read_columns(
    source: str,
    column: str | None,
    others: Sequence[str | None],
    reading: Reading,
    title: str = "reading",
    every: bool = False,
) -> tuple[str, dict[str, list[Any]]]:
    """The name of a column, the only one if none is named, and the values of it and others as texts, or of all."""
    from extremal.release.files.source import only_column, open_data, read_texts

    with file_or_stdin(source, reading.format) as (path, format), progress(title):
        wanted = [name for name in (column, *others) if name is not None]
        data = open_data(path, wanted, format, reading.delimiter)
        name = column or only_column(data)
        return name, {one: read_texts(data, one) for one in (data.columns if every else wanted or [name])}


def chosen_columns(column: str | None, columns: str | None) -> Columns | None:
    """The column, or the columns together, that were asked for."""
    if columns is None:
        return column
    if column is not None:
        raise PriorError("--column and --columns must not be combined", remedy="leave one of them out")
    names = tuple(split_labels(columns))
    if len(names) < 2 or len(set(names)) < len(names) or "" in names:
        raise PriorError("--columns must be at least 2 different names like a,b", given=f"{columns!r:.60}")
    return names


def parse_prior(text: str) -> ex.Prior:
    """A prior from "0.5,0.3,0.2", "a=0.5,b=0.3,c=0.2" or a file with one, or with a mechanism."""
    return _prior_text(text).prior()


def _prior_text(text: str) -> Numbers:
    from extremal.certification.certified import read_numbers

    if text != "-" and not os.path.exists(text) and not text.lower().endswith(".json"):
        return read_numbers(text)
    content = read_text(text)
    with naming(text):
        return read_numbers(content)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """What is wrong with a text is said after the name of its file."""
    try:
        yield
    except ExtremalError as error:
        if error.parameter in WORDS:  # an option that says how to read it
            raise
        raise error.within(f"{'standard input' if path == '-' else path}: ", type(error)) from None


def read_mechanism(path: str) -> ex.Certified | ex.Mechanism | ex.large.Windows:
    """What a file holds or standard input: a certified mechanism or a list, proved anew, or a plain matrix."""
    text = read_text(path)
    with progress("proving the mechanism"), naming(path):
        return _mechanism(text)


def _mechanism(text: str) -> ex.Certified | ex.Mechanism | ex.large.Windows:
    """JSON (a list of rows, or with inputs and outputs) or CSV of numbers."""
    from extremal.lists.windows import FORMAT

    if not text.strip():
        raise FormatError("it is empty", remedy="give a mechanism file")
    if text.lstrip()[:1] not in ("{", "["):
        return _matrix_csv(text)
    document = read_json(text, "a mechanism")
    if isinstance(document, dict) and "format" in document:
        return (ex.large.Windows if document["format"] == FORMAT else ex.Certified).from_json(text)
    if isinstance(document, dict) and isinstance(document.get("mechanism"), dict):
        document = document["mechanism"]  # what `extremal design --json` prints
    if isinstance(document, list):
        document = {"matrix": document}
    if not isinstance(document, dict) or "matrix" not in document:
        raise FormatError(
            'a mechanism must be a mechanism file, or JSON like {"matrix": [[0.9, 0.1], [0.2, 0.8]]}',
        )
    try:
        return ex.Mechanism(document["matrix"], document.get("inputs"), document.get("outputs"))
    except PriorError as error:
        raise error.within("", FormatError) from None


def load_mechanism(path: str) -> ex.Certified:
    """The certified mechanism in a file, proved anew."""
    return the_certified(read_mechanism(path), path)


def the_certified(found: object, path: str) -> ex.Certified:
    """What was read from a file, if it is a certified mechanism."""
    if isinstance(found, ex.large.Windows):
        raise FormatError(
            f"must be a mechanism with a matrix, not the file of a list: {path}",
            remedy="lists are for privatize, estimate, audit and certify",
        )
    if not isinstance(found, ex.Certified):
        raise FormatError(
            f"not a certified mechanism: {path}",
            remedy="make one with: extremal certify",
        )
    return found


def check_columns(chosen: Columns | None, certified: ex.Certified) -> None:
    """Refuse a mechanism for several columns together where one is named, and the other way round."""
    labels = (*certified.inputs, *certified.outputs)
    widths = {len(label) if isinstance(label, tuple) else 1 for label in labels}
    wanted = len(chosen) if isinstance(chosen, tuple) else 1
    if wanted > 1 and widths != {wanted}:
        raise FormatError(
            f"the mechanism for {wanted} columns together must have been designed for them",
            given="one for other labels",
            remedy="design it with --columns, or name each column with --column",
        )
    if wanted == 1 and len(widths) == 1 and widths != {1}:
        raise FormatError(
            f"this mechanism is for {widths.pop()} columns together", remedy="name them with --columns A,B"
        )


def report_counts(
    path: str,
    column: Columns | None,
    certified: ex.Certified,
    reading: Reading,
    missing: str,
) -> dict[Any, int]:
    """How often each report stands in a column of a file, or each combination in several columns."""
    from extremal.release.files.source import match_labels, match_tuples

    check_columns(column, certified)
    match = match_tuples if isinstance(column, tuple) else match_labels
    return match(_counted(path, column, reading, missing, [certified]), certified.outputs)


def check_numbers(path: str, format: str | None, delimiter: str | None, drew: Iterable[ex.Certified]) -> None:
    """Refuse the export of a survey that learns where one mechanism is to have drawn the reports of several."""
    from extremal.collection.store import NUMBER, is_store
    from extremal.release.files.source import count_values, open_data

    if is_store(path) or all(
        certified.prior_set is None for certified in drew
    ):  # a prior that is given stays
        return
    data = open_data(path, [], format, delimiter)
    column = next((name for name in (NUMBER, NUMBER.replace(" ", "_")) if name in data.columns), None)
    numbers = {} if column is None else count_values(data, column)[0]
    if len(numbers) > 1:
        raise FileError(
            "the reports must come from one mechanism",
            given=f"{len(numbers)} different values in the column {column!r}",
            remedy=(
                "estimate from the store of the survey; or write the reports of each number to a file of its own, and "
                "give all files, each with its --mechanism"
            ),
        )


def read_text(path: str) -> str:
    """The text of a file or of standard input, if it is UTF-8 and not too large."""
    if path == "-":
        raw = sys.stdin.buffer.read(LARGEST_TEXT + 1)
        if len(raw) > LARGEST_TEXT:
            raise FileError(f"standard input must have at most {LARGEST_TEXT} bytes", given="more")
    else:
        raw = read_bytes(path, LARGEST_TEXT, "the file", remedy="is it the right one?")
    return utf8_text(raw, path, "the file").removeprefix("\ufeff")


@contextmanager
def file_or_stdin(path: str, format: str | None) -> Iterator[tuple[str, str | None]]:
    """The path and the format, or those of a file with what standard input gives, CSV unless something is said.

    That file is gone afterwards, however this ends.
    """
    if path != "-":
        yield path, format
        return
    with _spool() as name:
        try:
            yield name, format or "csv"
        except ExtremalError as error:  # nobody knows that file by its name
            words = [text and str(text).replace(name, "standard input") for text in error.args]
            problem, parameter, given, remedy = words
            raise type(error)(problem, parameter=parameter, given=given, remedy=remedy) from None


@contextmanager
def _spool() -> Iterator[str]:
    """Standard input in a file that has no name of its own: even a process that is killed leaves nothing.

    Where files cannot be opened again by their number, it has one in a folder of its own.
    """
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        name = f"/proc/self/fd/{file.fileno()}"
        if os.path.exists(name):
            yield name
            return
        file.seek(0)
        with tempfile.TemporaryDirectory(prefix="extremal-") as folder:
            named = os.path.join(folder, "input")
            with open(named, "xb") as copy:
                shutil.copyfileobj(file, copy)
            yield named


def _matrix_csv(text: str) -> ex.Mechanism:
    try:
        rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
        outputs = inputs = None
        if rows and not all(number(cell) is not None for cell in rows[0][1:] or rows[0]):
            outputs, rows = rows[0], rows[1:]
        if rows and any(number(row[0]) is None for row in rows):
            inputs, rows = [row[0] for row in rows], [row[1:] for row in rows]
            outputs = outputs and outputs[-len(rows[0]) :]
        matrix: list[list[Any]] = [[number(cell) for cell in row] for row in rows]
    except csv.Error:
        matrix = []
    if not matrix or len({len(row) for row in matrix}) > 1 or any(None in row for row in matrix):
        raise FormatError(
            "this looks like data, not a mechanism file",
            remedy="give a mechanism file, JSON with a matrix, or CSV with a row of probabilities for each answer",
        )
    return ex.Mechanism(matrix, inputs, outputs)


def _ordered(counts: dict[Any, float], names: list[str] | None, sort: bool) -> dict[Any, float]:
    """Labels in the order asked for; else those of data sorted where they can be, those of counts as they come."""
    if names is None:
        try:
            return dict(sorted(counts.items())) if sort else counts
        except TypeError:
            return counts
    by_text = {str(label): label for label in counts}
    unknown = [label for text, label in by_text.items() if text not in names]
    if unknown:
        raise PriorError(
            "every answer must be one of --labels",
            given=f"{unknown[:5]!r:.200}",
            remedy="add them or drop them",
        )
    return {by_text.get(name, name): counts.get(by_text.get(name, name), 0) for name in names}


def renamed(prior: ex.Prior, inputs: tuple[Any, ...]) -> ex.Prior:
    """The prior on the labels of a mechanism: by their names where they have the same, else by their order."""
    numbered = prior.labels == tuple(range(prior.size))
    by_text = {str(label): p for label, p in zip(prior.labels, prior.probabilities.tolist(), strict=True)}
    if not numbered and set(by_text) == {str(label) for label in inputs}:
        return ex.Prior([by_text[str(label)] for label in inputs], inputs)
    return ex.Prior(prior.probabilities, inputs) if numbered and prior.size == len(inputs) else prior


def named(
    text: str, wanted: str, error: type[ExtremalError] = ValuesError, last: bool = False
) -> tuple[str, str]:
    """What stands before and after the equals sign of a text like NAME=A,B: the first one, or the last."""
    name, equals, value = text.rpartition("=") if last else text.partition("=")
    if not equals or not name or not value:
        raise error(wanted, given=f"{text!r:.60}")
    return name, value


def named_label(labels: tuple[Any, ...], text: str) -> Any:
    """The label that a text stands for: itself, else one that is written like it."""
    return next((label for label in labels if str(label) == text), text)


def _load_key(path: str) -> bytes:
    """The key in a file; whether it is one at all is said first."""
    try:
        with open_file(path) as file:
            content = file.read(200)
        if len(content) != 32 and len(content.strip()) != 64:
            raise KeyingError(
                f"--key-file must be a key of 64 hexadecimal digits or 32 bytes, got something else: {path}; "
                "make one with: extremal key FILE"
            )
    except OSError:
        pass  # keys.read says what is wrong
    return ex.keys.read(path)


def load_keyed(drawing: KeyOptions) -> ex.Keyed | None:
    """What makes draws repeat themselves, if a key was given; ids and an occasion are of no use without one."""
    if drawing.key_file is not None:
        return ex.Keyed(_load_key(drawing.key_file), drawing.id_column, drawing.occasion)
    for option in reversed(given(drawing)):
        raise KeyingError(
            f"--{option.replace('_', '-')} must come with a key",
            given="it alone: without a key every draw is a new one",
            remedy="leave it out, or give --key-file FILE as well",
        )
    return None
