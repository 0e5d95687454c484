"""Figures 2 and 3: mutual information and correlation of privatised samples, optimal against randomized response."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import extremal as ex
from extremal._common.plot import BLACK, BLUE, ORANGE
from extremal.theory import closed_form

from .panel import Panel, PaperCheck, fact
from .simulation import (
    CORRELATION,
    FIVE,
    INFORMATION,
    RUNS,
    SAMPLES,
    Experiment,
    Measure,
    agreement_checks,
    binary_experiment,
    correlation,
    equal_leakage,
    five_experiment,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINARY_TITLE = "Binary mechanism, P_X = (0.55, 0.45)"
FIVE_TITLE = "High-privacy mechanism, P_X = (0.3, 0.2, 0.2, 0.2, 0.1)"


def figure_2a(seed: int) -> Panel:
    """The binary mechanism of Theorem 2."""
    return _information_panel("2a", BINARY_TITLE, binary_experiment(seed), seed)


def figure_2b(seed: int) -> Panel:
    """The high-privacy mechanism of Theorem 3."""
    return _information_panel("2b", FIVE_TITLE, five_experiment(seed), seed)


def _information_panel(name: str, title: str, experiment: Experiment, seed: int) -> Panel:
    panel = simulated(name, title, experiment, seed, INFORMATION)
    size = experiment.prior.size
    remark = (
        f"The curves do not start at 0: of a sample of {SAMPLES} the empirical mutual information is too large by "
        f"about (N − 1)² / 2n = {(size - 1) ** 2 / (2 * SAMPLES):g} nats. The exact means hold this; they are sums "
        "over the binomial distributions of the counts, not approximations."
    )
    return replace(panel, remarks=(remark,))


def simulated(
    name: str, title: str, e: Experiment, seed: int, measure: Measure, headroom: float = 0.04
) -> Panel:
    """The panel that shows one measure of all runs."""
    p = e.prior.probabilities[:, None]
    best, other = measure.of(e.optimal_counts), measure.of(e.response_counts)
    best_exact, other_exact = measure.mean(p * e.optimal), measure.mean(p * e.response)
    table = {
        "epsilon": e.epsilons,
        "epsilon_r": e.epsilon_r,
        "optimal_mean": best.mean(axis=1),
        "optimal_exact": best_exact,
        "randomized_response_mean": other.mean(axis=1),
        "randomized_response_exact": other_exact,
        **{f"optimal_run_{k + 1}": best[:, k] for k in range(RUNS)},
        **{f"randomized_response_run_{k + 1}": other[:, k] for k in range(RUNS)},
    }
    checks: tuple[PaperCheck, ...] = (
        equal_leakage(e),
        *agreement_checks("optimal", measure, best, p * e.optimal, best_exact),
        *agreement_checks("randomized response", measure, other, p * e.response, other_exact),
        fact(
            "in the mean the optimal mechanism is above randomized response at every ε > 0",
            "a clear increase",
            f"smallest difference {(best_exact - other_exact)[1:].min():.1e}, "
            f"largest {(best_exact - other_exact).max():.3f}",
            (best_exact - other_exact)[1:].min() > 0,
        ),
    )
    settings = {
        "prior": title.partition("= ")[2],
        "ε": f"0 to {e.epsilons[-1]:g} in steps of {e.epsilons[1]:g} ({len(e.epsilons)} levels)",
        "sample": f"n = {SAMPLES} secrets a run, {RUNS} runs, the secrets of a run the same at every ε",
        "seed": str(seed),
    }

    low, high = min(0.0, float(min(best.min(), other.min()))), float(max(best.max(), other.max()))

    def draw(axes: Axes) -> None:
        for runs, color, who in ((best, BLUE, "PML opt."), (other, ORANGE, "rand. resp.")):
            axes.plot(e.epsilons, runs, color=color, linewidth=0.5, alpha=0.55)
            axes.plot([], [], color=color, linewidth=3, label=f"{who}, {RUNS} runs")
        for runs, dash in ((best, "-"), (other, "--")):
            axes.plot(e.epsilons, runs.mean(axis=1), color=BLACK, linewidth=1.6, linestyle=dash)
        axes.plot([], [], color=BLACK, linewidth=1.6, label="mean, PML opt.")
        axes.plot([], [], color=BLACK, linewidth=1.6, linestyle="--", label="mean, rand. resp.")
        axes.set(
            xlabel="$\\varepsilon$ in nats",
            ylabel=measure.label,
            title=title.replace("P_X", "$P_X$"),
            xlim=(0, e.epsilons[-1]),
            ylim=(low, high + headroom * (high - low)),  # room for the legend
        )
        axes.legend(loc="upper left")

    return Panel(name, f"Figure {name}: {title}", settings, {"": table}, checks, draw, (6.4, 4.4))


def figure_3a(seed: int) -> Panel:
    """The binary mechanism of Theorem 2."""
    return _correlation_panel("3a", BINARY_TITLE, binary_experiment(seed), seed)


def figure_3b(seed: int) -> Panel:
    """The high-privacy mechanism of Theorem 3."""
    panel = _correlation_panel("3b", FIVE_TITLE, five_experiment(seed), seed, headroom=0.3)
    epsilon = 0.1
    printed = closed_form.high_privacy(FIVE, epsilon)
    agreeing = ex.theory.pair_outputs(FIVE, printed)
    p = FIVE.probabilities[:, None]
    values = [float(correlation(p * m.matrix)) for m in (printed, agreeing)]
    best = float(np.interp(epsilon, panel.tables[""]["epsilon"], panel.tables[""]["optimal_exact"]))
    note = fact(
        f"correlation depends on the order of columns, which Remark 1 leaves open (ε = {epsilon:g})",
        "one value",
        f"{values[0]:.4f} in the order of Theorem 3, {values[1]:.4f} in the order of most agreement, "
        f"{best:.4f} in the order of most correlation",
        values[0] < values[1] <= best + 1e-12,
        erratum=True,
    )
    return replace(panel, checks=(*panel.checks, note))


def _correlation_panel(
    name: str, title: str, experiment: Experiment, seed: int, headroom: float = 0.04
) -> Panel:
    """Exact values are correlations of the joint distribution; the sample's mean is off by less than 1/n of them."""
    panel = simulated(name, title, experiment, seed, CORRELATION, headroom)
    remark = (
        "Outputs are numbered in the order that correlates most with the input, found by trying every order; the paper "
        "does not say which order it uses. Exact values are those of the joint distribution: the mean of the "
        "sample correlation differs from them by a term of order 1/n, far below the Monte-Carlo error."
    )
    return replace(panel, remarks=(remark,))
