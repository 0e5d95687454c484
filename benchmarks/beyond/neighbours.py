"""Beyond the paper: designs for PML, local information privacy and local differential privacy, at equal PML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import extremal as ex
from extremal._common.plot import BLACK, BLUE, GREEN, ORANGE, VERMILION
from extremal._common.types import Floats
from extremal.studies.data import ORDER, anes96
from extremal.studies.paper.panel import Panel, PaperCheck, fact, within

from .prior import best_under_ldp

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP = 0.05
LDP_LEVELS = np.concatenate((np.arange(1, 200) / 50, np.arange(100, 251) / 25))


def make(seed: int) -> Panel:
    """The largest mutual information under each promise, against the PML of the mechanism that attains it."""
    prior = ex.Prior.from_data(anes96()["party"], labels=ORDER)
    epsilons = np.arange(1, math.floor(prior.epsilon_max / STEP) + 1) * STEP
    own = [ex.design(prior, e, ex.mutual_information) for e in epsilons]
    lip = [ex.theory.enumerated(prior, e, ex.mutual_information, ex.LIP) for e in epsilons]
    response = [ex.theory.randomized_response_for_pml(prior, e) for e in epsilons]
    table = {
        "epsilon": epsilons,
        "pml": np.array([design.value for design in own]),
        "lip": np.array([ex.mutual_information(prior, mechanism) for mechanism in lip]),
        "lip_pml": np.array([ex.epsilon_pml(prior, mechanism) for mechanism in lip]),
        "randomized_response": np.array([ex.mutual_information(prior, m) for m in response]),
        "entropy": np.full(len(epsilons), prior.entropy),
    }
    everything = ex.PriorSet.at_least(prior, 0)
    ldp = [ex.design(everything, float(e), ex.mutual_information) for e in LDP_LEVELS]
    leak = np.array([ex.epsilon_pml(prior, design.mechanism) for design in ldp])
    by_ldp = {
        "ldp_epsilon": LDP_LEVELS,
        "epsilon": leak,
        "ldp": np.array([design.value for design in ldp]),
    }
    settings = {
        "survey": f"party identification, {prior.size} answers, ANES 1996 (in the package)",
        "ε": f"{epsilons[0]:g} to {epsilons[-1]:g} in steps of {STEP:g}; ε_max = {prior.epsilon_max:.3f}",
        "PML": "P(y|x) ≤ e^ε P(y)",
        "LIP": "e^−ε P(y) ≤ P(y|x) ≤ e^ε P(y), the same ε",
        "LDP": "P(y|x) ≤ e^δ P(y|x'), the best design for each δ, drawn at the PML that it has",
    }
    excess = max(abs(ex.epsilon_pml(prior, d.mechanism) - e) for d, e in zip(own, epsilons, strict=True))
    bound = max(ex.measures.lip_epsilon(prior, m) - e for m, e in zip(lip, epsilons, strict=True))
    ratio = max(ex.measures.ldp_epsilon(d.mechanism) - e for d, e in zip(ldp, LDP_LEVELS, strict=True))
    checks = _checks(prior, table, by_ldp, (excess, float(bound), float(ratio)))

    def draw(axes: Axes) -> None:
        front = leak.argsort(kind="stable")
        front = front[by_ldp["ldp"][front] >= np.maximum.accumulate(by_ldp["ldp"][front])]
        axes.plot(epsilons, table["pml"], color=BLUE, marker="o", mfc="none", markevery=6, label="PML opt.")
        axes.plot(epsilons, table["lip"], color=GREEN, marker="D", mfc="none", markevery=6, label="LIP opt.")
        axes.plot(
            leak[front],
            by_ldp["ldp"][front],
            color=VERMILION,
            marker="^",
            mfc="none",
            markevery=20,
            linestyle="-.",
            drawstyle="steps-post",  # between two designs the first is the best one with at most that PML
            label="LDP opt.",
        )
        axes.plot(
            epsilons,
            table["randomized_response"],
            color=ORANGE,
            marker="s",
            mfc="none",
            markevery=6,
            linestyle="--",
            label="rand. resp.",
        )
        axes.axhline(prior.entropy, color=BLACK, linestyle="--", linewidth=2.4, label="$H(X)$")
        axes.set(
            xlim=(0, prior.epsilon_max),
            ylim=(0, 1.1 * prior.entropy),
            xlabel="$\\varepsilon$ in nats (PML of every mechanism)",
            ylabel="$I(X;Y)$ in nats",
            title="Party identification, 7 answers",
        )
        axes.legend(loc="lower right")

    title = "Beyond the paper: designs for PML, LIP and LDP at equal PML"
    remark = (
        "Where the best design for LDP changes its form, its PML jumps; between two such designs the curve stays at "
        "the better one that leaks at most ε."
    )
    tables = {"": table, "-ldp": by_ldp}
    return Panel("beyond-neighbours", title, settings, tables, checks, draw, (6.4, 4.8), (remark,))


def _checks(
    prior: ex.Prior, table: dict[str, Floats], by_ldp: dict[str, Floats], excess: tuple[float, float, float]
) -> tuple[PaperCheck, ...]:
    levels, best = table["epsilon"], table["pml"]
    # The optimum under the PML that an LDP design happens to have.
    above = min(
        ex.design(prior, float(e), ex.mutual_information).value - v
        for e, v in zip(by_ldp["epsilon"][::15], by_ldp["ldp"][::15], strict=True)
    )
    staircase = max(
        abs(best_under_ldp(prior, float(e)) - v)
        for e, v in zip(by_ldp["ldp_epsilon"][::15], by_ldp["ldp"][::15], strict=True)
        if e < 5  # beyond, the program's entries span more digits than its solver's tolerance
    )
    gain = best / table["lip"]
    short = table["lip_pml"] - levels
    return (
        within("PML designs leak exactly ε", float(excess[0]), 1e-9),
        fact(
            "LIP designs leak ε, but for the last levels, where their lower bound leaves no room for it",
            "not in the paper",
            f"least leakage minus ε {short.min():.1e}, 0 up to ε = {levels[short > -1e-9].max():g}",
            short.max() <= 1e-9 and short.min() >= -1e-3,
        ),
        within("LIP designs keep both bounds", max(excess[1], 0.0), 1e-9, "largest excess"),
        within("LDP designs keep their ratio", max(excess[2], 0.0), 1e-9, "largest excess"),
        within("LDP designs are those of the program over staircase columns", float(staircase), 1e-7),
        fact(
            "at equal PML no LIP or LDP design and no randomized response exceeds the PML design",
            "never",
            f"smallest differences {(best - table['lip']).min():.1e}, {above:.1e}, "
            f"{(best - table['randomized_response']).min():.1e}",
            min((best - table["lip"]).min(), above, (best - table["randomized_response"]).min()) >= -1e-9,
        ),
        fact(
            "the lower bound of LIP costs information at every level",
            "not in the paper",
            f"PML gives {gain.min():.2f} times (ε = {levels[gain.argmin()]:.2f}) "
            f"to {gain.max():.1f} times (ε = {levels[gain.argmax()]:.2f}) as much",
            gain.min() > 1,
        ),
    )
