"""What every figure is made of: settings, tables of numbers, checks of what the paper states, a drawing; the report."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import extremal as ex
from extremal._common.frames import encode_table
from extremal._common.plot import picture
from extremal._common.types import Axes


@dataclass(frozen=True)
class PaperCheck:
    """One statement, what it says, what was found here, and whether the two agree.

    `erratum`: the statement is of what the paper gets wrong, and passing means that the evidence confirms it.
    """

    statement: str
    stated: str
    found: str
    tolerance: str
    passed: bool
    erratum: bool = False


@dataclass(frozen=True)
class Panel:
    """One picture with its numbers, or, without a drawing, numbers alone. Tables are by file name ending."""

    name: str
    title: str
    settings: Mapping[str, str]
    tables: Mapping[str, Mapping[str, Sequence[Any] | NDArray[Any]]] = field(default_factory=dict)
    checks: tuple[PaperCheck, ...] = ()
    draw: Callable[[Axes], None] | None = None
    size: tuple[float, float] = (5.4, 4.4)
    remarks: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """The name of its files without ending."""
        return f"figure-{self.name}" if self.name[0].isdigit() else self.name

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Its files in that folder: tables as CSV, the picture as PNG and SVG."""
        files = []
        for ending, table in self.tables.items():
            path = folder / f"{self.stem}{ending}.csv"
            write_csv(path, table)
            files.append(path)
        if self.draw is not None:
            files += picture(folder / self.stem, self.draw, self.size)
        return tuple(files)


def close(statement: str, stated: float, found: float, tolerance: float = 1e-12) -> PaperCheck:
    """A check that one number is the stated one."""
    agrees = bool(abs(stated - found) <= tolerance)
    return PaperCheck(statement, number(stated), number(found), f"{tolerance:.0e}", agrees)


def within(statement: str, worst: float, tolerance: float, what: str = "largest difference") -> PaperCheck:
    """A check that a largest difference, over many points, stays within the tolerance."""
    return PaperCheck(statement, "equal", f"{what} {worst:.1e}", f"{tolerance:.0e}", bool(worst <= tolerance))


def same(statement: str, stated: ArrayLike, found: ArrayLike, tolerance: float = 1e-12) -> PaperCheck:
    """A check that numbers, in the same order, are the stated ones."""
    return within(statement, float(np.abs(np.subtract(stated, found)).max()), tolerance)


def distance(one: NDArray[Any], other: NDArray[Any]) -> float:
    """How far a row of either matrix is at most from the nearest row of the other."""
    apart = np.abs(one[:, None] - other[None]).max(axis=2)
    return float(max(apart.min(axis=0).max(), apart.min(axis=1).max()))


def fact(statement: str, stated: str, found: str, passed: bool) -> PaperCheck:
    """A check that something holds, without a tolerance."""
    return PaperCheck(statement, stated, found, "exact", bool(passed))


def erratum(statement: str, stated: str, found: str, confirmed: bool) -> PaperCheck:
    """What the paper gets wrong, and whether the evidence confirms it."""
    return PaperCheck(statement, stated, found, "exact", bool(confirmed), erratum=True)


def number(x: float) -> str:
    """Ten digits, of which the last is not noise."""
    return f"{x:.10g}"


def write_csv(path: Path, table: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
    """Columns of equal length under their names; floats with the fewest digits that read back as the same float."""
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    path.write_bytes(encode_table(rows, "csv"))


def markdown(panels: Sequence[Panel], seconds: Sequence[float], seed: int) -> str:
    """Settings, seed, times and a verdict on every number. The only file of a reproduction that holds times."""
    checks = [check for panel in panels for check in panel.checks]
    lines = [
        "# Extremal Mechanisms for Pointwise Maximal Leakage, reproduced",
        "",
        "L. Grosse, S. Saeidian, T. J. Oechtering. Made by `extremal reproduce`; numbers of definitions, theorems and "
        "examples are those of the paper. All information is in nats.",
        "",
        f"**{summary(checks)}**",
        "",
        f"Seed {seed}, {sum(seconds):.1f} s in all; extremal {ex.__version__}, Python {platform.python_version()}, "
        f"numpy {np.__version__}. Pictures and tables are the same bytes in every run with the same seed and the same "
        "versions; only this report holds times and so differs.",
        "",
        "| part | checks passed | errata confirmed | seconds |",
        "|---|---|---|---|",
        *(
            f"| {panel.title} | {' | '.join(_passed(panel.checks))} | {time:.2f} |"
            for panel, time in zip(panels, seconds, strict=True)
        ),
        "",
        "`pass`: the number found agrees with the stated one within the tolerance. `erratum`: the paper's text "
        "states what the evidence found contradicts. `FAIL`: neither.",
    ]
    for panel in panels:
        lines += ["", *_section(panel)]
    return "\n".join(lines) + "\n"


def summary(checks: Sequence[PaperCheck]) -> str:
    """One sentence on how many checks passed."""
    passed, confirmed = _passed(checks)
    return (
        f"{passed or '0 of 0'} checks pass{confirmed and f'; {confirmed} errata are confirmed by evidence'}."
    )


def _passed(checks: Sequence[PaperCheck]) -> list[str]:
    """How many checks passed, and how many errata, "3 of 3"; nothing where there are none."""
    kinds = ([c.passed for c in checks if c.erratum == errata] for errata in (False, True))
    return [f"{sum(found)} of {len(found)}" if found else "" for found in kinds]


def _section(panel: Panel) -> list[str]:
    lines = [f"## {panel.title}", ""]
    if panel.draw is not None:
        lines += [f"![{panel.title}]({panel.stem}.png)", ""]
    lines += [f"- {name}: {value}" for name, value in panel.settings.items()]
    if panel.tables:
        files = ", ".join(f"[{panel.stem}{end}.csv]({panel.stem}{end}.csv)" for end in panel.tables)
        lines.append(f"- numbers: {files}")
    for remark in panel.remarks:
        lines += ["", remark]
    if panel.checks:
        lines += [
            "",
            "| verdict | statement | stated | found | tolerance |",
            "|---|---|---|---|---|",
            *(_check(check) for check in panel.checks),
        ]
    return lines


def _check(check: PaperCheck) -> str:
    verdict = "**FAIL**" if not check.passed else "erratum" if check.erratum else "pass"
    cells = (verdict, check.statement, check.stated, check.found, check.tolerance)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
