"""Figure 3: empirical Pearson correlation of the samples of Figure 2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import extremal as ex
from extremal.theory import closed_form

from .figure_2 import BINARY_TITLE, FIVE_TITLE, simulated
from .panel import Panel, fact
from .simulation import CORRELATION, FIVE, Experiment, binary_experiment, correlation, five_experiment


def figure_3a(seed: int) -> Panel:
    """The binary mechanism of Theorem 2."""
    return _panel("3a", BINARY_TITLE, binary_experiment(seed), seed)


def figure_3b(seed: int) -> Panel:
    """The high-privacy mechanism of Theorem 3."""
    panel = _panel("3b", FIVE_TITLE, five_experiment(seed), seed, headroom=0.3)
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


def _panel(name: str, title: str, experiment: Experiment, seed: int, headroom: float = 0.04) -> Panel:
    """Exact values are correlations of the joint distribution; the sample's mean is off by less than 1/n of them."""
    panel = simulated(name, title, experiment, seed, CORRELATION, headroom)
    remark = (
        "Outputs are numbered in the order that correlates most with the input, found by trying every order; the paper "
        "does not say which order it uses. Exact values are those of the joint distribution: the mean of the "
        "sample correlation differs from them by a term of order 1/n, far below the Monte-Carlo error."
    )
    return replace(panel, remarks=(remark,))
