"""Figure 1: mutual information against e^epsilon for three symbols: optimal, randomized response, H(X)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import extremal as ex
from extremal._common.plot import BLACK, BLUE, ORANGE
from extremal.optimization.design import designed
from extremal.theory import closed_form

from ..._common.types import Floats
from .panel import Panel, PaperCheck, close, fact, within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNIFORM = ex.Prior.uniform(3)
SKEWED = ex.Prior([0.5, 0.3, 0.2])


def figure_1a(seed: int) -> Panel:
    """The uniform prior on three symbols."""
    table = curves(UNIFORM, 300)
    rate, best = table["exp_epsilon"], table["optimal"]
    corollary = [closed_form.uniform_mutual_information(3, math.log(c)) for c in rate]
    left, right = slopes(rate, best, 1.5)
    checks = (
        *common_checks(UNIFORM, table),
        close("the characteristic point lies at ε = log 1.5", math.log(1.5), UNIFORM.region_edges[1]),
        fact(
            "the slope jumps there, from one privacy region to the next",
            "a characteristic point",
            f"{left:.3f} before, {right:.3f} after",
            right < 0.9 * left or right > 1.1 * left,
        ),
        within(
            "Corollary 1 gives the optimal curve at every grid point",
            float(np.abs(best - corollary).max()),
            1e-12,
        ),
    )
    return panel("1a", "P_X = (1/3, 1/3, 1/3)", table, checks, legend=(0.45, 0.6))


def figure_1b(seed: int) -> Panel:
    """The prior (0.5, 0.3, 0.2)."""
    table = curves(SKEWED, 500)
    return panel("1b", "P_X = (0.5, 0.3, 0.2)", table, common_checks(SKEWED, table), legend=(0.42, 0.65))


def curves(prior: ex.Prior, last: int) -> dict[str, Floats]:
    """The three curves for e^epsilon = 1, 1.01, ..., last / 100."""
    rate = np.arange(100, last + 1) / 100
    optimal = [designed(prior, math.log(c), ex.mutual_information).value for c in rate]
    response = [
        ex.mutual_information(prior, ex.theory.randomized_response_for_pml(prior, math.log(c))) for c in rate
    ]
    return {
        "exp_epsilon": rate,
        "optimal": np.array(optimal),
        "randomized_response": np.array(response),
        "entropy": np.full(len(rate), prior.entropy),
    }


def best_vertices(prior: ex.Prior, rate: Floats) -> Floats:
    """The paper's own way to the optimal curve: all vertices of M_3(epsilon), the best of them."""
    best = []
    for c in rate:
        vertices = ex.theory.polytope_vertices(prior, math.log(c))
        columns = vertices.transpose(1, 0, 2).reshape(prior.size, -1)
        value = ex.mutual_information.columns(prior, columns).reshape(len(vertices), -1).sum(axis=1)
        best.append(float(value.max()))
    return np.array(best)


def common_checks(prior: ex.Prior, table: dict[str, Floats]) -> tuple[PaperCheck, ...]:
    """What the paper says of both panels."""
    rate, best, response = table["exp_epsilon"], table["optimal"], table["randomized_response"]
    enumerated = best_vertices(prior, rate)
    searched = within(
        "vertex enumeration of M_3(ε) finds the same optimum at every grid point",
        float(np.abs(best - enumerated).max()),
        1e-9,
    )
    leak = max(
        abs(ex.epsilon_pml(prior, ex.theory.randomized_response_for_pml(prior, math.log(c))) - math.log(c))
        for c in rate
    )
    return (
        searched,
        within("randomized response with ε_r(ε) leaks exactly ε at every grid point", leak, 1e-12),
        fact(
            "the optimal mechanism is never below randomized response",
            "never",
            f"least difference {(best - response).min():.1e}",
            (best - response).min() >= -1e-12,
        ),
        close("both curves end at H(X): optimal", prior.entropy, float(best[-1])),
        close("both curves end at H(X): randomized response", prior.entropy, float(response[-1])),
        close("the last grid point is ε_max", prior.epsilon_max, math.log(rate[-1])),
    )


def slopes(rate: Floats, value: Floats, at: float) -> tuple[float, float]:
    """The slopes of a curve just before and just after a grid point."""
    k = int(np.argmin(np.abs(rate - at)))
    steps = np.diff(value) / np.diff(rate)
    return float(steps[k - 1]), float(steps[k])


def panel(
    name: str,
    title: str,
    table: dict[str, Floats],
    checks: tuple[PaperCheck, ...],
    legend: tuple[float, float],
) -> Panel:
    """The panel with the paper's axes; it writes the axis limits as 1.1 times the last coordinate it names."""

    def draw(axes: Axes) -> None:
        rate, top = table["exp_epsilon"], 1.1 * float(table["entropy"][0])
        looks = (
            ("optimal", BLUE, "o", (10, 20), "PML opt."),
            ("randomized_response", ORANGE, "s", 20, "rand. resp."),
        )
        for name, color, marker, every, label in looks:
            axes.plot(rate, table[name], color=color, marker=marker, mfc="none", markevery=every, label=label)
        axes.plot(rate, table["entropy"], color=BLACK, linestyle="--", linewidth=2.4, label="$H(X)$")
        axes.set(
            xlabel="$e^{\\varepsilon}$",
            ylabel="$I(X;Y)$ in nats",
            title=title.replace("P_X", "$P_X$"),
            xlim=(1, rate[-1]),
            ylim=(0, top),
            xticks=np.arange(1, rate[-1] + 0.01, 0.5),
            yticks=np.arange(12) / 10,
        )
        axes.legend(loc="lower right", bbox_to_anchor=legend)

    settings = {
        "prior": title.removeprefix("P_X = "),
        "grid": f"e^ε = 1, 1.01, …, {table['exp_epsilon'][-1]:g} ({len(table['exp_epsilon'])} points)",
        "utility": "mutual information in nats",
    }
    return Panel(name, f"Figure {name}: {title}", settings, {"": table}, checks, draw, (5.0, 5.0))
