"""extremal survey import, test and backup: what is done beside a survey that runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from extremal._common.files import write_file
from extremal.errors import OptionError
from extremal.model.reading import number, split_labels

from . import show
from .output import Output, check_own_files, check_target, write_text
from .progress import progress
from .serving import Serving, place_of, published_of

if TYPE_CHECKING:
    from rich.console import Console

SIMULATED = 500  # people, where the survey does not say how many it asks
MOST_SIMULATED = 100_000


def check_apart(output: str, survey: str, place: str) -> None:
    """Refuse to write over the survey or its store."""
    own = [survey, *(f"{place}{end}" for end in ("", "-journal"))]
    check_own_files(output, own, "the survey or its store")


def import_form(
    form: str,
    *,
    output: str,
    share: list[str] | None = None,
    epsilon: float | None = None,
    overwrite: bool = False,
) -> None:
    """Make a survey from an XLSForm, and list by row what is not taken over.

    Questions of one choice are asked in the clear, unless you say how common their answers are. Garbled questions of
    Safely Report keep their rate g: with a share p of "yes", e^-epsilon = p + (1 - p) g.

    Parameters
    ----------
    form : FORM
        The form: an .xlsx file of ODK, KoboToolbox or SurveyCTO.
    output : -o SURVEY
        The survey to write: survey.toml.
    share : NAME=SHARES
        Make a question private: how common its answers are, in the order of the form, such as visits=50%,30%,20%. For a
        garbled question one number, the share of the answer that others are garbled into. May be repeated.
    epsilon : -e LIMIT
        The limit of questions that --share makes private; garbled ones have their own.

    Examples
    --------
    extremal survey import form.xlsx -o imported.toml --share harassed=10%
    """
    from extremal.collection.survey import parse_survey
    from extremal.collection.xlsform import Wanted, read_xlsform

    check_target(output, overwrite, inputs=[form])
    found = read_xlsform(form, Wanted(dict(_shares(text) for text in share or ()), epsilon))
    parse_survey(found.text, Path(output if output != "-" else "survey.toml"))
    write_text(output, found.text, overwrite)
    out = show.console(to_stderr=output == "-")
    private = f"{found.private} of them private" if found.private else "none of them private"
    show.facts(out, [f"{output} has {found.questions} questions, {private}."])
    if found.left:
        show.heading(out, "Not taken over")
        show.sentences(out, list(found.left))
    if output != "-":
        show.facts(out, [f"Read it, then: extremal survey check {output}"])


def _shares(text: str) -> tuple[str, list[float]]:
    name, equals, values = text.partition("=")
    shares = [number(value) for value in split_labels(values)] if equals else []
    if not shares or None in shares:
        raise OptionError("--share must be like visits=50%,30%,20%", given=f"{text!r:.60}")
    return name, [float(x) for x in shares if x is not None]


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """The results of simulated people."""

    results: Mapping[str, Any]
    people: int

    def facts(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {"test": True, "people": self.people, **self.results}

    def tell(self, out: Console) -> None:
        """What a person wants to read."""
        show.warnings(out, [f"A test with {self.people:,} simulated people. Nobody was asked."])
        for question in self.results["questions"]:
            show.heading(out, f"{question['name']}: {question['text']}")
            rows = [*question["rows"], *([question["mean"]] if question["mean"] else [])]
            figures = [(r["label"], f"{r['share']:.4f}", f"{r['low']:.4f}", f"{r['high']:.4f}") for r in rows]
            out.print(show.table(("", "share", "lower", "upper"), figures, (0,), most=None))
            show.sentences(out, [text for text in (question["promise"], question["note"]) if text])
        show.sentences(
            out,
            [
                "",
                "Answers were drawn as the survey expects them, each question by itself; in the clear, uniformly.",
            ],
        )


def rehearse(
    survey: str,
    *,
    people: Annotated[int | None, typer.Option(min=10, max=MOST_SIMULATED)] = None,
    serve: bool = False,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8601,
    as_json: bool = False,
) -> None:
    """Show the results of simulated people, marked as a test, before you ask anybody.

    It fills a copy of the survey and deletes it at the end. The copy has another id and other texts, so the store of
    the survey takes none of its reports.

    Parameters
    ----------
    people
        How many people to simulate; by default as many as the survey asks, or 500.
    serve
        Also serve the copy with its results page, until Ctrl-C.
    port
        With --serve: the port of the server; 0 takes a free one.

    Examples
    --------
    extremal survey test survey.toml
    """
    import numpy as np

    from extremal.collection.rehearsal import fill, rehearsal
    from extremal.collection.results import results
    from extremal.collection.store import create_store

    copy = rehearsal(published_of(survey))
    count = people or min(copy.people or SIMULATED, MOST_SIMULATED)
    with tempfile.TemporaryDirectory(prefix="extremal-test-") as folder:
        place = os.path.join(folder, "test.db")
        with create_store(place, copy) as store, progress("simulating people"):
            fill(store, count, np.random.default_rng())
            if not serve:
                store.finish()
            found = results(store)
        Output(as_json=as_json).give(Rehearsed(found, count))
        if serve:
            Serving(port=port).serve(copy, place)


def backup(survey: str, *, output: str, database: str | None = None, overwrite: bool = False) -> None:
    """Copy the store of a survey into a file that only you can read, also while servers write to it.

    The copy holds what the store holds at that moment, also the newest reports, which results and exports do not show
    yet. Two copies show together which reports and which used invitations came in between: keep one, as safe as the
    store itself.

    Parameters
    ----------
    output : -o FILE
        The copy to write: an SQLite file, which `estimate` and `--database` take like the store.

    Examples
    --------
    extremal survey backup survey.toml -o copy.db
    """
    from extremal.collection.rehearsal import copied

    place = place_of(survey, database)
    if output == "-":
        raise OptionError("a copy must be written into a file", given="-o -", remedy="give its name")
    check_target(output, overwrite)
    check_apart(output, survey, place)
    content, count = copied(place)
    write_file(output, content, overwrite, 0o600)
    print(f"{count} people's reports in {output}: keep it as safe as the store")
