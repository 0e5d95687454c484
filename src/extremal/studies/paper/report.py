"""The report of a reproduction, as Markdown."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import numpy as np

import extremal as ex

from .panel import Check, Panel


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
        *(_row(panel, time) for panel, time in zip(panels, seconds, strict=True)),
        "",
        "`pass`: the number found agrees with the stated one within the tolerance. `erratum`: the paper's text "
        "states what the evidence found contradicts. `FAIL`: neither.",
    ]
    for panel in panels:
        lines += ["", *_section(panel)]
    return "\n".join(lines) + "\n"


def summary(checks: Sequence[Check]) -> str:
    """One sentence on how many checks passed."""
    plain = [check for check in checks if not check.erratum]
    errata = [check for check in checks if check.erratum]
    parts = [f"{sum(check.passed is True for check in plain)} of {len(plain)} checks pass"]
    if errata:
        parts.append(
            f"{sum(check.passed is True for check in errata)} of {len(errata)} errata are confirmed by evidence"
        )
    skipped = sum(check.passed is None for check in checks)
    if skipped:
        parts.append(f"{skipped} could not be run")
    return "; ".join(parts) + "."


def _row(panel: Panel, seconds: float) -> str:
    plain = [check.passed for check in panel.checks if not check.erratum]
    errata = [check.passed for check in panel.checks if check.erratum]
    counted = [
        f"{sum(v is True for v in found)} of {len(found)}" if found else "" for found in (plain, errata)
    ]
    return f"| {panel.title} | {counted[0]} | {counted[1]} | {seconds:.2f} |"


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


def _check(check: Check) -> str:
    if check.passed is None:
        verdict = "not run"
    elif check.passed:
        verdict = "erratum" if check.erratum else "pass"
    else:
        verdict = "**FAIL**"
    cells = (verdict, check.statement, check.stated, check.found, check.tolerance)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
