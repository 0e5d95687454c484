"""The paper's figures and numbers: one call writes them into a folder with a report.

One module a figure; FIGURES lists them. Each is a function of a seed that gives a Panel: settings, tables, checks and
a drawing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from extremal._common.files import make_folder
from extremal.errors import OptionError

from ..._common import checks
from . import examples
from .figures_1_4 import figure_1a, figure_1b, figure_4a, figure_4b
from .figures_2_3 import figure_2a, figure_2b, figure_3a, figure_3b
from .panel import Panel, PaperCheck, markdown, summary

__all__ = ["FIGURES", "SEED", "Panel", "PaperCheck", "Reproduction", "draw", "reproduce"]

SEED = 2024

FIGURES: dict[str, Callable[[int], Panel]] = {
    "1a": figure_1a,
    "1b": figure_1b,
    "2a": figure_2a,
    "2b": figure_2b,
    "3a": figure_3a,
    "3b": figure_3b,
    "4a": figure_4a,
    "4b": figure_4b,
    "examples": examples.make,
}

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Reproduction:
    """What was made: the panels, the seconds each took, the files written, and the path of the report."""

    panels: tuple[Panel, ...]
    seconds: tuple[float, ...]
    files: tuple[Path, ...]
    report: Path

    @property
    def checks(self) -> tuple[PaperCheck, ...]:
        """All checks of all panels."""
        return tuple(check for panel in self.panels for check in panel.checks)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        return f"{summary(self.checks)} {len(self.files)} files, {sum(self.seconds):.1f} s; see {self.report}"


def reproduce(
    output: str | os.PathLike[str],
    figures: Iterable[str] | None = None,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Reproduction:
    """Figures as PNG, SVG and CSV and a report.md with a verdict on every number, in the folder `output`.

    figures: names out of FIGURES, or all; "1" stands for 1a and 1b. Files of the same names are replaced.
    progress: called with (figures done, figures, name of the next one), at last with the name "".
    """
    return draw({name: FIGURES[name] for name in choose(figures)}, output, seed, progress)


def draw(
    figures: Mapping[str, Callable[[int], Panel]],
    output: str | os.PathLike[str],
    seed: int = SEED,
    progress: Progress | None = None,
) -> Reproduction:
    """The same for any figures."""
    checks.whole(seed, "seed", remedy=f"leave it out for {SEED}")
    folder = make_folder(output)
    panels: list[Panel] = []
    seconds: list[float] = []
    files: list[Path] = []
    for done, (name, make) in enumerate(figures.items()):
        if progress is not None:
            progress(done, len(figures), name)
        start = time.perf_counter()
        panel = make(seed)
        files += panel.write(folder)
        panels.append(panel)
        seconds.append(time.perf_counter() - start)
    path = folder / "report.md"
    path.write_text(markdown(panels, seconds, seed), encoding="utf-8", newline="\n")
    if progress is not None:
        progress(len(figures), len(figures), "")
    return Reproduction(tuple(panels), tuple(seconds), (*files, path), path)


def choose(figures: Iterable[str] | None) -> list[str]:
    """The names asked for, in the order of FIGURES; a number stands for all panels of that figure."""
    if figures is None:
        return list(FIGURES)
    wanted = [figures] if isinstance(figures, str) else list(figures)
    chosen = set()
    for name in wanted:
        found = {known for known in FIGURES if name in (known, known.rstrip("ab"))}
        if not found:
            raise OptionError(
                f"a figure must be one of {', '.join(FIGURES)}",
                given=f"{name!r}",
                remedy="leave it out for all of them",
            )
        chosen |= found
    if not chosen:
        raise OptionError(
            f"must name at least one of {', '.join(FIGURES)}",
            parameter="figures",
            given="none",
            remedy="None means all",
        )
    return [name for name in FIGURES if name in chosen]
