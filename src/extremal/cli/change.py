"""extremal change: how the answers of the same people changed between two waves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import extremal as ex
from extremal.errors import FileError, OptionError, SizeError, ValuesError

from . import options, show
from .inputs import load_mechanism, read_columns
from .output import Facts, Output, progress

MOST_ANSWERS = 30  # whose pairs are estimated; the mechanism of pairs grows with their fourth power


def change(
    first: str,
    second: str,
    *,
    mechanism: list[str],
    id_column: str,
    column: list[str] | None = None,
    intervals: options.Intervals = "each",
    confidence: float = 0.95,
    output: Output,
) -> None:
    """Show how the answers of the same people changed between two waves, from their reports.

    The reports of the two waves must have been drawn independently. If you used a key, each wave needs its own
    --occasion in `extremal privatize`. People who reported in one wave only are left out.

    Parameters
    ----------
    first : FIRST
        CSV or Parquet file with the reports of the first wave.
    second : SECOND
        The same for the second wave, with the same ids.
    mechanism : -m FILE
        The certified mechanism; give two, in the order of the waves, if they differ.
    id_column : NAME
        The column with each person's id, the same in both waves.
    column : NAME
        The column of reports; give two, in the order of the waves, if they differ.

    Examples
    --------
    extremal change wave1.csv wave2.csv --column answer --id-column id --mechanism mechanism.json
    """
    output.check(first, second, *mechanism)
    files, names = (first, second), _both(column, "--column")
    if "-" in files:
        raise FileError("waves must be files", given="-", remedy="a pipe can hold only one wave")
    mechanisms = [load_mechanism(path) for path in _both(mechanism, "--mechanism")]
    size = len(mechanisms[0].inputs)
    if size > MOST_ANSWERS:
        raise SizeError(
            f"changes are estimated for at most {MOST_ANSWERS} answers",
            given=size,
            remedy="merge rare answers",
        )
    waves = [_wave(path, name, id_column) for path, name in zip(files, names, strict=True)]
    people = list(dict.fromkeys([*waves[0], *waves[1]]))
    if not waves[0].keys() & waves[1].keys():
        raise ValuesError(
            "somebody must have reported in both waves", given="no id in both", remedy="is --id-column right?"
        )
    with progress("estimating"):
        before, after = ([wave.get(person) for person in people] for wave in waves)
        found = ex.panels.change(mechanisms, before, after, confidence, intervals=intervals)
        result = ChangeResult(found, ex.panels.leakage(mechanisms, [m.prior for m in mechanisms]))
    output.give(result)


def _both(given: list[str] | None, option: str) -> list[Any]:
    """What was given for each wave; once is for both."""
    if given and len(given) > 2:
        raise OptionError(f"{option} must be given once or twice", given=f"{len(given)} times")
    return [None, None] if not given else [given[0], given[-1]]


def _wave(path: str, column: str | None, ids: str) -> dict[Any, Any]:
    """The report of each person; a person must occur once."""
    _, table = read_columns(path, ids, [column], options.DataOptions(), every=column is None)
    people = table.pop(ids)
    if len(table) != 1:
        raise FileError("the column of reports must be named", given=path, remedy="give --column NAME")
    (reports,) = table.values()
    found = dict(zip(people, reports, strict=True))
    if None in found or len(found) < len(people):
        raise ValuesError("every person must occur once", given=f"an id twice, or none, in {path}")
    return found


@dataclass(frozen=True)
class ChangeResult:
    """How answers changed, and what both reports of a person tell."""

    found: Any
    leaks: Any

    def tables(self) -> dict[str, show.IntervalTable]:
        """Each table by its name for programs."""
        return {"change": self.found.change, "same": self.found.stayed, "from_to": self.found.transitions}

    def records(self) -> list[Facts]:
        """The rows of all tables."""
        return [
            {"table": name, **record} for name, table in self.tables().items() for record in table.records()
        ]

    def facts(self) -> Facts:
        """All of it, for programs."""
        shown = {name: table.to_dict() for name, table in self.tables().items()}
        counts = {"people": self.found.joint.reports, "left_out": self.found.dropped}
        return {**counts, **shown, "leakage_of_both": self.leaks.epsilon}

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        out.tables({table.title: table for table in self.tables().values()})
        both, one = self.found.joint.reports, self.found.dropped
        out.say(f"{both} people reported in both waves, {one} in one only.")
        out.heading("What both reports of a person tell")
        out.say(*map(show.sentence, str(self.leaks).splitlines()))
