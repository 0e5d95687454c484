"""What the page lets a person download: the certified mechanism, the report, the figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import extremal as ex
from extremal._plot import MOST_NAMED, VERMILION, bars_size, draw_bars, draw_tradeoff, matrix_size, rendered
from extremal.auditing.report import mechanism_report
from extremal.optimization.tradeoff import Tradeoff

from .compute import Made

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEDIA = {
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
# The menu: what each file is for, in the words of the page.
FILES = {
    "To use": {"mechanism.json": "Mechanism file, for extremal privatize"},
    "To read": {"report.html": "Report, a page to pass on", "report.md": "Audit, as Markdown"},
    "Pictures": {
        f"{name}.{kind}": f"{title}, {kind.upper()}"
        for name, title in {
            "matrix": "Mechanism",
            "leakage": "Leakage of reports",
            "prior": "Answers beforehand",
            "tradeoff": "Privacy against precision",
        }.items()
        for kind in ("svg", "png")
    },
}
NAMES = tuple(name for group in FILES.values() for name in group)
WITH_CURVE = ("report.html", "tradeoff.svg", "tradeoff.png")


def make_file(name: str, made: Made, curve: Tradeoff | None) -> bytes:
    """The content of a file of NAMES; those of WITH_CURVE show the curve, the report only if it is given."""
    certified = made.certified
    if name == "mechanism.json":
        return certified.to_json().encode()
    if name == "report.md":
        return made.audit.to_markdown().encode()
    if name == "report.html":
        return mechanism_report(certified.prior_set or certified.prior, certified, curve).encode()
    if name not in NAMES:
        raise ex.errors.OptionError(f"a file must be one of {', '.join(NAMES)}, got {name!r:.60}")
    what, _, kind = name.partition(".")
    n, m = certified.mechanism.shape
    sizes = {"matrix": matrix_size(n, m), "prior": bars_size(n), "leakage": bars_size(m)}
    size = sizes.get(what, (5.4, 4.0))
    return rendered(_drawing(what, made, curve), size, [kind])[0]


def _leakage(made: Made, axes: Axes) -> None:
    quantity = "leakage of the report in nats"
    draw_bars(
        made.audit.leakage.tolist(), made.certified.outputs, "Pointwise maximal leakage", quantity, axes
    )
    mark = axes.axvline if len(made.certified.outputs) <= MOST_NAMED else axes.axhline
    mark(made.design.epsilon, color=VERMILION, linestyle="--", label=f"ε = {made.design.epsilon:.4g}")
    axes.legend(loc="lower right")


def _drawing(what: str, made: Made, curve: Tradeoff | None) -> Callable[[Axes], Any]:
    if what == "matrix":
        return made.design.plot
    if what == "leakage":
        return lambda axes: _leakage(made, axes)
    if what == "prior":
        return made.certified.prior.plot
    if curve is None:
        raise ex.errors.OptionError("the figure of the trade-off must be given its curve")
    point = (made.design.epsilon, made.design.value)
    return lambda axes: draw_tradeoff(
        curve.epsilons,
        curve.optimal,
        curve.randomized_response,
        curve.ceiling,
        curve.utility.name,
        point,
        axes,
    )
