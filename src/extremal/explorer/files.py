"""What the page lets a person download: the certified mechanism, the report, the figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import extremal as ex
from extremal._common.plot import BLUE, GREY, VERMILION, bars_size, matrix_size, rendered
from extremal._common.types import Floats
from extremal._common.words import factor
from extremal.auditing import pictures
from extremal.auditing.report import mechanism_report
from extremal.model.leakage import check_protected
from extremal.optimization.curves.tradeoff import Tradeoff

from .compute import Made

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FACTORS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)  # marks of an axis
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
            "telling": "The most telling reports",
            "prior": "Answers beforehand",
            "tradeoff": "What a promise costs",
        }.items()
        for kind in ("svg", "png")
    },
}
NAMES = tuple(name for group in FILES.values() for name in group)
WITH_CURVE = ("report.html", "tradeoff.svg", "tradeoff.png")


def make_file(name: str, made: Made, curve: Tradeoff | None, allow_true_answers: bool = False) -> bytes:
    """The content of a file of NAMES; those of WITH_CURVE show the curve, the report only if it is given."""
    certified = made.certified
    if name == "mechanism.json":
        check_protected(certified.doubt, allow_true_answers)
        return certified.to_json().encode()
    if name == "report.md":
        return made.audit.to_markdown().encode()
    if name == "report.html":
        return mechanism_report(certified.prior_set or certified.prior, certified, curve).encode()
    if name not in NAMES:
        raise ex.errors.OptionError(f"a file must be one of {', '.join(NAMES)}, got {name!r:.60}")
    what, _, kind = name.partition(".")
    n, m = certified.mechanism.shape
    sizes = {"matrix": matrix_size(n, m), "prior": bars_size(n)}
    size = sizes.get(what, (5.4, 4.0))
    return rendered(_drawing(what, made, curve), size, [kind])[0]


def _telling(made: Made, axes: Axes) -> None:
    """The leakage envelope, as factors."""
    shares = np.geomspace(pictures.RAREST, 1.0, 101)
    top = math.exp(made.audit.epsilon)
    raised = [min(math.exp(made.audit.envelope(float(share))), top) for share in shares]
    axes.plot(shares, raised, color=BLUE)
    axes.axhline(
        top,
        color=VERMILION,
        linestyle="--",
        label=f"no report gives more than × {factor(made.audit.epsilon)}",
    )
    axes.set(
        xscale="log",
        xlabel="share of reports, the most telling first",
        ylabel="factor on the chance of an answer",
    )
    axes.set_xticks([0.01, 0.1, 1.0], ["1 %", "10 %", "all"])
    axes.legend()


def _tradeoff(made: Made, curve: Tradeoff, axes: Axes) -> None:
    """What a promise costs: people for shares, else per cent of what the answer itself gives."""
    factors, here = np.exp(curve.epsilons), math.exp(made.design.epsilon)

    def heights(values: Floats) -> list[float]:
        if not pictures.in_people(curve):
            return [100 * v / max(curve.ceiling, 1e-300) for v in values.tolist()]
        return [pictures.people_for(v, curve.prior) for v in values.tolist()]

    for values, color, dashes, name in (
        (curve.optimal, BLUE, "-", "this design"),
        (curve.randomized_response, VERMILION, "--", "randomized response"),
    ):
        shown = np.array(heights(values))
        axes.plot(
            factors[np.isfinite(shown)], shown[np.isfinite(shown)], label=name, color=color, linestyle=dashes
        )
    axes.axvline(here, color=GREY, linestyle=":", label="your choice")
    axes.set(xscale="log", xlabel="largest factor on any guess", ylabel=pictures.curve_title(curve))
    axes.set_yscale("log" if pictures.in_people(curve) else "linear")
    marks = [f for f in FACTORS if f <= factors.max() * 1.001]
    axes.set_xticks(marks, [f"× {f:g}" for f in marks])
    axes.minorticks_off()
    axes.legend()


def _drawing(what: str, made: Made, curve: Tradeoff | None) -> Callable[[Axes], Any]:
    if what == "matrix":
        return made.design.plot
    if what == "telling":
        return lambda axes: _telling(made, axes)
    if what == "prior":
        return made.prior.plot
    if curve is None:
        raise ex.errors.OptionError("the figure of the trade-off must be given its curve")
    return lambda axes: _tradeoff(made, curve, axes)
