"""Beyond the paper: the optimal value against the number of symbols, up to 1000, beside randomized response."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import extremal as ex
from extremal._common.plot import BLUE, GREEN, GREY, VERMILION
from extremal._common.types import Floats
from extremal.studies.paper.panel import Panel, PaperCheck, fact, within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (2, 3, 4, 5, 7, 10, 20, 50, 100, 200, 500, 1000)
LEVELS = (0.5, 1.0, 2.0)
GAP = 1e-3  # relative, proven


def make(seed: int) -> Panel:
    """Zipf priors, P(x_i) in proportion to 1/i, at three privacy levels."""
    rows = []
    for epsilon in LEVELS:
        for n in SIZES:
            prior = zipf(n)
            design = ex.design(prior, epsilon, ex.mutual_information, tolerance=GAP)
            response = ex.mutual_information(prior, ex.theory.randomized_response_for_pml(prior, epsilon))
            rows.append((epsilon, n, design.value, design.upper_bound, response, prior.entropy))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    names = ("epsilon", "symbols", "optimal", "upper_bound", "randomized_response", "entropy")
    table = dict(zip(names, columns, strict=True))
    settings = {
        "prior": "Zipf: P(x_i) in proportion to 1/i",
        "symbols": ", ".join(map(str, SIZES)),
        "ε": ", ".join(f"{e:g}" for e in LEVELS),
        "designs": f"proven to be within {GAP:g} of the optimum, relative",
    }

    def draw(axes: Axes) -> None:
        for epsilon, color, marker in zip(LEVELS, (BLUE, GREEN, VERMILION), "osD", strict=True):
            chosen = table["epsilon"] == epsilon
            n = table["symbols"][chosen]
            label = f"ε = {epsilon:g}"
            axes.axhline(epsilon, color=GREY, linewidth=0.9, linestyle=":")
            axes.plot(
                n,
                table["optimal"][chosen],
                color=color,
                marker=marker,
                mfc="none",
                label=f"PML opt., {label}",
            )
            axes.plot(
                n,
                table["randomized_response"][chosen],
                color=color,
                marker=marker,
                mfc="none",
                linestyle="--",
                label=f"rand. resp., {label}",
            )
        axes.plot([], [], color=GREY, linewidth=0.9, linestyle=":", label="no mechanism gives more than ε")
        axes.set(
            xscale="log",
            xlim=(2, 1000),
            ylim=(0, 2.1),
            xlabel="number of symbols $N$",
            ylabel="$I(X;Y)$ in nats",
            title="Zipf prior",
        )
        ticks = [2, 5, 10, 20, 50, 100, 200, 1000]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0)

    title = "Beyond the paper: the optimal value against the number of symbols"
    return Panel("beyond-size", title, settings, {"": table}, _checks(table), draw, (7.6, 4.4))


def zipf(n: int) -> ex.Prior:
    """P(x_i) in proportion to 1/i."""
    return ex.Prior.from_counts(1 / np.arange(1, n + 1))


def _checks(table: dict[str, Floats]) -> tuple[PaperCheck, ...]:
    value, bound, epsilon = table["optimal"], table["upper_bound"], table["epsilon"]
    last = table["symbols"] == SIZES[-1]
    small = [
        (e, n, v)
        for e, n, v in zip(epsilon, table["symbols"], value, strict=True)
        if n <= 5 and e < zipf(int(n)).epsilon_max
    ]
    apart = max(
        abs(ex.mutual_information(zipf(int(n)), ex.theory.enumerated(zipf(int(n)), float(e))) - v)
        for e, n, v in small
    )
    ratio = value[last] / table["randomized_response"][last]
    return (
        within(
            "every design is proven near-optimal", float(((bound - value) / bound).max()), GAP, "largest gap"
        ),
        within("Theorem 5 gives the same for up to 5 symbols", float(apart), 1e-9),
        fact(
            "no value exceeds ε, since no outcome has an information density above ε",
            "at most ε",
            f"largest value minus ε {(value - epsilon).max():.1e}",
            (value - epsilon).max() <= 1e-9,
        ),
        fact(
            f"at N = {SIZES[-1]} the optimum is near ε and randomized response near 0",
            "not in the paper",
            ", ".join(f"{r:.0f} times at ε = {e:g}" for r, e in zip(ratio, LEVELS, strict=True)),
            ratio.min() > 10,
        ),
    )
