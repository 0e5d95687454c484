"""Output for people: tables, a heat map, bars, sentences. Plain text without colours where it is no terminal."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import extremal as ex
from extremal._common.json import finite, json_text
from extremal._common.words import factor, in_nats, without_middle
from extremal._common.words import visible as visible
from extremal.estimation.promise import COMMAND

if TYPE_CHECKING:
    from extremal.estimation.interval_table import IntervalTable as IntervalTable

MOST_ROWS = 30  # of a table
MOST_SINGLE = 12  # reports up to which each has a line of its own
LONGEST_LABEL = 28  # characters of a label in a table
KEPT_NAME = 14  # characters of a name that are kept however narrow the terminal
PIPE_WIDTH = 100
SHADES = " ·░▒▓█"
EIGHTHS = " ▏▎▍▌▋▊▉█"
# From light to dark blue, colours that terminals with 256 of them have: others would be replaced by near ones of
# another hue.
BLUES = (189, 153, 111, 69, 26, 18)


def print_json(document: Any) -> None:
    """The document on standard output, and nothing else; numbers that JSON does not know are null."""
    print(json_text(finite(document), indent=2))


class Console:
    """Text for people, on standard output or beside it; as wide as the terminal, PIPE_WIDTH in a pipe."""

    def __init__(self, to_stderr: bool = False) -> None:
        from rich.console import Console as Rich

        stream = sys.stderr if to_stderr else sys.stdout
        width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
        self.rich = Rich(
            stderr=to_stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False
        )
        self.room = max(
            6, min(30, self.rich.width - 60)
        )  # how wide bars may be beside the figures of a table

    def heading(self, text: str) -> None:
        """A line that stands out."""
        self.say("")
        self._print([text], wrapped=True, style="bold")

    def say(self, *texts: str) -> None:
        """Lines of prose, wrapped to the terminal."""
        self._print(texts, wrapped=True)

    def lines(self, *texts: str) -> None:
        """Lines as they are, such as those of a table of text."""
        self._print(texts, wrapped=False)

    def facts(self, *texts: str) -> None:
        """What was done, one line each in a pipe, where programs may look for it; wrapped on a terminal."""
        self._print(texts, self.rich.is_terminal)

    def warn(self, *texts: str) -> None:
        """What nobody should overlook."""
        self._print(texts, self.rich.is_terminal, "bold red")

    def notes(self, *texts: str) -> None:
        """What nobody should overlook, then the rest."""
        self.warn(*(text for text in texts if text.startswith("WARNING")))
        self.say(*(text for text in texts if not text.startswith("WARNING")))

    def _print(self, texts: Sequence[str], wrapped: bool, style: str = "") -> None:
        from rich.text import Text

        for text in texts:
            self.rich.print(Text(visible(text), style=style), soft_wrap=not wrapped)

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        left: Sequence[int] = (0,),
        most: int | None = MOST_ROWS,
    ) -> None:
        """A table without lines; the columns in `left` are aligned to the left, numbers to the right.

        At most `most` rows are shown, all of them if it is None. Where it is too wide, the words of the head go below
        each other; numbers and the beginnings of names stay.
        """
        from rich.table import Table
        from rich.text import Text

        made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for k, name in enumerate(head):
            widest = max((len(row[k]) for row in rows[:most]), default=0)
            made.add_column(
                Text(visible(name)),
                justify="left" if k in left else "right",
                min_width=min(widest, KEPT_NAME) if k in left else widest,
                overflow="ellipsis",
            )
        for row in rows[:most]:
            made.add_row(*(Text(visible(cell)) for cell in row))
        if most is not None and len(rows) > most:
            made.add_row(Text(f"… {len(rows) - most} more"), *[""] * (len(head) - 1))
        self.rich.print(made)

    def heat_map(self, mechanism: ex.Mechanism) -> None:
        """The matrix in per cent, the likelier the darker; only shades if numbers do not fit; nothing if too large."""
        from rich.text import Text

        n, m = mechanism.shape
        names = [name_of(label) for label in mechanism.inputs]
        wide = max(map(len, names), default=0)
        if n > MOST_ROWS or wide + 2 + m > self.rich.width:
            self.say(f"({n} x {m} probabilities: too many to show here)")
            return
        each, figures = (self.rich.width - wide - 2) // m, wide + 2 + 5 * m <= self.rich.width
        top = 1.0 if figures else float(mechanism.matrix.max())
        if figures:
            each = min(12, each)
            heads = (f"{without_middle(name_of(label), each - 1):>{each}}" for label in mechanism.outputs)
            self.rich.print(Text(" " * (wide + 2)).append("".join(heads), style="dim"))
        for name, row in zip(names, (mechanism.matrix / top).tolist(), strict=True):
            line = Text(f"{name:<{wide}}  ")
            for p in row:
                shade = SHADES[math.ceil((len(SHADES) - 1) * p)] * min(3, each)
                line.append(f"{percent(p):>{each}}" if figures else shade, style=_style(p))
            self.rich.print(line)
        if not figures:
            self.rich.print(
                Text(f"{n} answers (rows), {m} reports (columns); darkest: {percent(top)}%", style="dim")
            )

    def leakage_table(self, audit: ex.Audit) -> None:
        """Each report with how often it occurs, what it leaks and a bar as long as that, in the mechanism's order.

        Of many reports those that leak the same share a line, the most frequent first.
        """
        full = max(audit.prior.epsilon_max, audit.epsilon, 1e-300)
        many = len(audit.outcomes) > MOST_SINGLE
        groups: dict[Any, list[Any]] = {}
        for k, o in enumerate(audit.outcomes):
            groups.setdefault(f"{o.leakage:.4f}" if many else k, []).append(o)
        lines = [(sum(o.probability for o in group), group) for group in groups.values()]
        if many:
            lines.sort(key=lambda line: -line[0])
        rows = [
            (
                name_of(group[0].output) if len(group) == 1 else f"{len(group)} reports",
                share(occurs),
                f"{group[0].leakage:.4f}",
                factor(group[0].leakage),
                self.bar(group[0].leakage / full),
            )
            for occurs, group in lines
        ]
        head = ("report", "occurs", "leaks (nats)", "factor", f"up to {nats(full, '.3g')}")
        self.table(head, rows, (0, 4))

    def bar(self, share: float) -> str:
        """A bar for a share of the room."""
        eighths = round(8 * self.room * min(max(share, 0.0), 1.0))
        return "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")

    def tables(self, tables: dict[str, IntervalTable]) -> None:
        """Tables under their titles, each with a note of its own: they do not hold together."""
        for title, table in tables.items():
            self.heading(title)
            self.interval_table(table)

    def interval_table(self, table: IntervalTable, most: int | None = None) -> None:
        """All rows of a table, or so many, and its note."""
        self.interval_rows(table, most)
        self.say(sentence(table.promise.note(COMMAND)))

    def interval_rows(self, found: IntervalTable, most: int | None = None) -> None:
        """All rows of a table, or so many; with a picture of the intervals where it fits."""
        low, top = min(float(found.lower.min()), 0.0), max(float(found.upper.max()), 1e-9)
        rows = [
            (
                *(name_of(row[name]) for name in found.by),
                name_of(row["label"]),
                _figure(row["estimate"], top),
                _figure(row["lower"], top),
                _figure(row["upper"], top),
                _error(row["standard_error"], top),
                interval(row["lower"] - low, row["estimate"] - low, row["upper"] - low, top - low, self.room),
            )
            for row in found.rows()
        ]
        head = (
            *found.by,
            "",
            "share" if top <= 1 else "estimate",
            "lower",
            "upper",
            "std error",
            f"{low:.3g} … {top:.3g}",
        )
        self.table(head, rows, (*range(len(found.by) + 1), len(head) - 1), most=most)


def sentence(note: str) -> str:
    """A note as a sentence."""
    return f"{note[:1].upper()}{note[1:]}{'' if note.endswith('?') else '.'}"


def _style(p: float) -> str:
    if p <= 0:
        return ""
    k = min(len(BLUES), math.ceil(len(BLUES) * p)) - 1
    return f"{'black' if k < 3 else 'bright_white'} on color({BLUES[k]})"


def share(p: float) -> str:
    """A probability in per cent; what is rounded to 0 but is more than that says so."""
    return "<0.1%" if 0 < p < 0.0005 else f"{p:.1%}"


def nats(level: float, form: str = "g") -> str:
    """A level with its unit."""
    return in_nats(f"{level:{form}}")


def risk(audit: ex.Audit) -> list[str]:
    """What a person should know about the risk, in sentences."""
    lines = str(audit).splitlines()
    if audit.epsilon > 1e-12:
        after = min(1.0, 0.1 * math.exp(audit.epsilon))
        lines.append(
            "any guess about a person that is right in 10 % of cases before a report is right in at most "
            f"{math.ceil(after * 1000 - 1e-9) / 10:g} % after it"
        )
    return [*map(sentence, lines)]


def interval(lower: float, value: float, upper: float, top: float, width: int) -> str:
    """A line from the lower to the upper end with a mark at the value, on a scale from 0 to `top`."""
    at = [min(width - 1, max(0, int(width * x / top))) for x in (lower, value, upper)]
    line = [" "] * width
    line[at[0] : at[2] + 1] = "─" * (at[2] - at[0] + 1)
    line[at[1]] = "●"
    return "".join(line)


def _figure(value: float, top: float) -> str:
    return f"{value:.4f}" if top <= 10 else f"{value:.6g}"


def _error(value: float | None, top: float) -> str:
    """A standard error; of a share one above 1 tells nothing."""
    return "not identified" if value is None else "–" if value > max(top, 1) else _figure(value, top)


def name_of(label: Any) -> str:
    """A label as text that fits a table and holds no control characters."""
    text = ", ".join(map(name_of, label)) if isinstance(label, tuple) else str(label)
    text = visible(text).replace("\n", "·")
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def percent(p: float) -> str:
    """A probability in per cent with three digits at most; a dot for 0."""
    if p == 0:
        return "·"
    return "100" if p > 0.9995 else "<.1" if p < 0.0005 else f"{100 * p:.1f}"


def prior_dict(prior: ex.Prior) -> list[dict[str, Any]]:
    """The prior for JSON: what --prior reads again."""
    from extremal.auditing.figures import plain

    return [
        {"label": plain(label), "probability": p}
        for label, p in zip(prior.labels, prior.probabilities.tolist(), strict=True)
    ]


def mechanism_dict(mechanism: ex.Mechanism) -> dict[str, Any]:
    """The matrix for JSON: what `extremal certify` and `extremal audit` read again."""
    from extremal.auditing.figures import plain

    return {
        "inputs": [plain(label) for label in mechanism.inputs],
        "outputs": [plain(label) for label in mechanism.outputs],
        "matrix": mechanism.matrix.tolist(),
    }
