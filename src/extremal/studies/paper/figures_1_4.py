"""Figures 1 and 4: what is optimal, exactly.

Figure 1 shows mutual information against e^epsilon for three symbols: optimal, randomized response, H(X). Figure 4
shows the binary problem in the plane: the mechanisms that satisfy epsilon-PML, contours of I, the optima.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import extremal as ex
from extremal._common.plot import BLACK, BLUE, GREY, ORANGE, SKY, VERMILION
from extremal._common.types import Axes
from extremal.optimization.design import designed
from extremal.theory import closed_form

from ..._common.types import Floats
from .panel import Panel, PaperCheck, close, distance, erratum, fact, same, within

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
        same("Corollary 1 gives the optimal curve at every grid point", corollary, best),
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
    levels = [math.log(c) for c in rate]
    leaks = [ex.epsilon_pml(prior, ex.theory.randomized_response_for_pml(prior, e)) for e in levels]
    return (
        same(
            "vertex enumeration of M_3(ε) finds the same optimum at every grid point",
            best,
            best_vertices(prior, rate),
            1e-9,
        ),
        same("randomized response with ε_r(ε) leaks exactly ε at every grid point", levels, leaks),
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


RATE = 1.5  # e^epsilon
GRID = 201
AREA: dict[str, Any] = {"facecolor": SKY, "alpha": 0.45, "edgecolor": BLACK}
STAR: dict[str, Any] = {"linestyle": "none", "marker": "*", "color": VERMILION, "markeredgecolor": BLACK}


def figure_4a(seed: int) -> Panel:
    """P_X(x_1) = 0.5: no box constraint is active."""
    return _panel("4a", 0.5, [[0.75, 0.25], [0.25, 0.75]])


def figure_4b(seed: int) -> Panel:
    """P_X(x_1) = 0.8: one box constraint is active."""
    return _panel("4b", 0.8, [[5 / 12, 0.0], [7 / 12, 1.0]])


def region(p: float, c: float) -> Floats:
    """The corners (p_11, p_21) of the feasible region, counterclockwise from (0, 0).

    The first column (a, b) of a binary mechanism is feasible if neither column's larger entry exceeds c times its
    mean: four half-planes and the unit square. Corners are the feasible intersections of two of their edges; this is
    Lemma 1 by hand, and uses no theorem on what is optimal.
    """
    q = 1 - p
    # Rows (u, v, w) mean u a + v b <= w.
    planes = np.array(
        [
            [1 - c * p, -c * q, 0],
            [-c * p, 1 - c * q, 0],
            [c * p - 1, c * q, c - 1],
            [c * p, c * q - 1, c - 1],
            [-1, 0, 0],
            [0, -1, 0],
            [1, 0, 1],
            [0, 1, 1],
        ]
    )
    corners: list[Floats] = []
    for i in range(len(planes)):
        for j in range(i):
            A, w = planes[[i, j], :2], planes[[i, j], 2]
            if abs(np.linalg.det(A)) < 1e-12:
                continue
            point = np.linalg.solve(A, w) + 0.0
            inside = (planes[:, :2] @ point <= planes[:, 2] + 1e-12).all()
            if inside and all(np.abs(point - other).max() > 1e-9 for other in corners):
                corners.append(point)
    found = np.array(corners)
    whole = np.round(found)
    found = np.where(np.abs(found - whole) < 1e-12, whole, found) + 0.0  # no 0.9999999999999998, no -0.0
    middle = found.mean(axis=0)
    angle = np.arctan2(found[:, 1] - middle[1], found[:, 0] - middle[0])
    ordered = found[np.argsort(angle)]
    return np.roll(ordered, -int(np.argmin(ordered.sum(axis=1))), axis=0)


def information(p: float, a: Floats, b: Floats) -> Floats:
    """I(X;Y) in nats of the binary mechanism with first column (a, b)."""
    flat = np.stack([np.ravel(a), np.ravel(b)])
    prior = ex.Prior([p, 1 - p])
    both = ex.mutual_information.columns(prior, flat) + ex.mutual_information.columns(prior, 1 - flat)
    return np.asarray(both.reshape(np.shape(a)))


def _panel(name: str, p: float, stated: list[list[float]]) -> Panel:
    prior, epsilon = ex.Prior([p, 1 - p]), math.log(RATE)
    corners = region(p, RATE)
    value = information(p, corners[:, 0], corners[:, 1])
    best = value >= value.max() - 1e-12
    line = np.linspace(0, 1, GRID)
    a, b = np.meshgrid(line, line)
    height = information(p, a, b)
    tables = {
        "": {
            "p_11": corners[:, 0],
            "p_21": corners[:, 1],
            "mutual_information": value,
            "optimal": best.astype(int),
        },
        "-contours": {"p_11": a.ravel(), "p_21": b.ravel(), "mutual_information": height.ravel()},
    }
    settings = {
        "prior": f"P_X(x_1) = {p:g}",
        "ε": f"log {RATE:g}",
        "contours": f"I(X;Y) in nats on a grid of {GRID} × {GRID} points",
    }
    checks = _checks(prior, epsilon, corners, value, best, stated)

    def draw(axes: Axes) -> None:
        axes.grid(visible=False)
        axes.fill(*corners.T, **AREA, linewidth=1.4, zorder=1)
        levels = _levels(float(height.max()))
        lines = axes.contour(
            a, b, height, levels=levels, colors=GREY, linewidths=0.8, linestyles="-", zorder=2
        )
        axes.clabel(lines, levels=levels[:6], fmt="%.2f", fontsize=8)
        axes.plot([0, 1], [0, 1], color=BLACK, linestyle="--", linewidth=1, zorder=2)
        axes.plot(*corners[best].T, markersize=17, clip_on=False, zorder=4, **STAR)
        for x, y, text in ((0.57, 0.45, "$S_1$"), (0.43, 0.55, "$S_2$")):
            axes.text(x, y, text, ha="center", va="center", fontsize=14, zorder=3)
        _legend(axes)
        axes.set(xlabel="$p_{11}$", ylabel="$p_{21}$", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.set_title(title.replace("P_X(x_1)", "$P_X(x_1)$").replace("P_X(x_2)", "$P_X(x_2)$"), y=1.13)

    title = "P_X(x_1) = P_X(x_2)" if p == 0.5 else f"P_X(x_1) = {p:g}"
    return Panel(name, f"Figure {name}: {title}, ε = log 1.5", settings, tables, checks, draw, (5.6, 6.3))


def _levels(highest: float) -> list[float]:
    step = 0.05 if highest > 0.6 else 0.04
    return [k * step for k in range(1, int(highest / step) + 1)]


def _legend(axes: Axes) -> None:
    """Above the picture, which is full."""
    axes.fill([], [], **AREA, label="mechanisms with PML ≤ ε")
    axes.plot([], [], color=GREY, linewidth=0.8, label="$I(X;Y)$ in nats")
    axes.plot([], [], color=BLACK, linestyle="--", linewidth=1, label="$p_{11} = p_{21}$")
    axes.plot([], [], markersize=13, label="optimal", **STAR)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.02), ncols=2)


def _checks(
    prior: ex.Prior,
    epsilon: float,
    corners: Floats,
    value: Floats,
    best: Floats,
    stated: list[list[float]],
) -> tuple[PaperCheck, ...]:
    optimal = closed_form.binary(prior, epsilon).matrix.T  # its two columns are the two optimal points
    found = corners[best]
    active = bool(np.any((found == 0) | (found == 1)))
    says = bool(RATE * prior.probabilities[0] >= 1)
    return (
        within(
            "the best corners of the region are the columns of Theorem 2",
            distance(found, optimal),
            1e-12,
        ),
        within(
            "and the points of its proof, " + " and ".join(f"({x:.4g}, {y:.4g})" for x, y in stated),
            distance(found, np.array(stated)),
            1e-12,
        ),
        fact(
            "the region has four extremal mechanisms, two of them trivial",
            "4 and 2",
            f"{len(corners)} and {int((value < 1e-12).sum())}",
            len(corners) == 4 and (value < 1e-12).sum() == 2,
        ),
        fact(
            "a box constraint is active exactly if e^ε P_X(x_1) ≥ 1",
            "active" if says else "not active",
            "active" if active else "not active",
            active == says,
        ),
        close(
            "both optima have the utility of the design",
            designed(prior, epsilon, ex.mutual_information).value,
            float(value[best].min()),
        ),
        *(_active_errata(prior, epsilon) if says else _inactive_errata(prior)),
    )


def _inactive_errata(prior: ex.Prior) -> tuple[PaperCheck, ...]:
    p, q = prior.probabilities
    return (
        erratum(
            "the proof puts the point (π_2 e^ε, 1 − π_1 e^ε) into S_2; it lies in S_1, where p_11 ≥ p_21",
            "in S_2",
            f"({q * RATE:.4g}, {1 - p * RATE:.4g}) is in S_1",
            q * RATE > 1 - p * RATE,
        ),
    )


def _active_errata(prior: ex.Prior, epsilon: float) -> tuple[PaperCheck, ...]:
    posterior = ex.theory.adversary.posterior(prior, closed_form.binary(prior, epsilon), 1)
    return (
        erratum(
            "the regions k ≤ N − 1 leave this case out: ε lies in region k = N = 2",
            "k = 1 only",
            f"k = {prior.region(epsilon)}",
            prior.region(epsilon) == 2,
        ),
        erratum(
            'after Theorem 2: "the randomization in the channel permits such a deterministic inference" from y_2',
            "X is certain given y_2",
            f"it prevents it: X = x_1 with probability {posterior[0]:.4g}, x_2 with {posterior[1]:.4g}",
            posterior.min() > 0 and posterior.max() < 1,
        ),
    )
