"""Figures 2 and 3: mutual information and correlation of privatised samples, optimal against randomized response.

n secrets are privatised at every epsilon, 10 times. Both figures look at a sample only through the counts f(x_i, y_j).
Given how often each secret occurs, the reports of those who hold x_i are multinomial with probabilities P(.|x_i),
independently for every i. So the counts are drawn instead of the n reports one by one; their distribution is the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import extremal as ex
from extremal._common.plot import BLACK, BLUE, ORANGE
from extremal._common.types import Axes
from extremal.theory import closed_form

from ..._common.types import Floats
from .panel import Panel, PaperCheck, erratum, fact

BINARY_TITLE = "Binary mechanism, P_X = (0.55, 0.45)"
FIVE_TITLE = "High-privacy mechanism, P_X = (0.3, 0.2, 0.2, 0.2, 0.1)"

Counts = NDArray[np.int64]

BOTH = (-2, -1)  # the axes of a joint distribution
SAMPLES = 1000
RUNS = 10

BINARY = ex.Prior([0.55, 0.45])
FIVE = ex.Prior([0.3, 0.2, 0.2, 0.2, 0.1])


@dataclass(frozen=True)
class Experiment:
    """One prior, the levels, and of the optimal mechanism and randomized response their matrices and counts.

    Matrices have the shape (2, levels, N, N), counts (2, levels, runs, N, N).
    """

    prior: ex.Prior
    epsilons: Floats
    epsilon_r: Floats
    matrices: Floats
    counts: Counts


def binary_experiment(seed: int) -> Experiment:
    """Theorem 2 for (0.55, 0.45), epsilon from 0 to epsilon_max in steps of 0.005."""
    epsilons = grid(BINARY.epsilon_max, 200)
    return experiment(BINARY, epsilons, [closed_form.binary(BINARY, e) for e in epsilons], seed)


def five_experiment(seed: int) -> Experiment:
    """Theorem 3 for (0.3, 0.2, 0.2, 0.2, 0.1), epsilon from 0 to epsilon_1 in steps of 0.0005."""
    epsilons = grid(FIVE.region_edges[1], 2000)
    return experiment(FIVE, epsilons, [closed_form.high_privacy(FIVE, e) for e in epsilons], seed)


def grid(end: float, steps_in_one: int) -> Floats:
    """0, 1 / steps_in_one, 2 / steps_in_one, ... below the end."""
    return np.arange(math.ceil(end * steps_in_one)) / steps_in_one


def experiment(prior: ex.Prior, epsilons: Floats, best: list[ex.Mechanism], seed: int) -> Experiment:
    """The experiment with these optimal mechanisms and randomized response of the same leakage.

    Outputs of the optimal mechanism stand in the order that correlates most with the input. Theorems 2 and 3 leave it
    open (Remark 1), mutual information does not see it, and correlation cannot be computed without one.
    """
    optimal = [most_correlated(prior, mechanism.matrix) for mechanism in best]
    response = [ex.theory.randomized_response_for_pml(prior, e).matrix for e in epsilons]
    matrices = np.array([optimal, response])
    random = np.random.default_rng([seed, prior.size])
    secrets = random.multinomial(SAMPLES, prior.probabilities, size=RUNS)
    return Experiment(
        prior,
        epsilons,
        np.array([ex.theory.randomized_response_parameter(prior, e) for e in epsilons]),
        matrices,
        random.multinomial(secrets, matrices[:, :, None]),
    )


def most_correlated(prior: ex.Prior, P: Floats) -> Floats:
    """The columns in the order with the largest correlation between input and output, numbered 1..N.

    Every order is tried; among equals the first counts, with equality up to rounding.
    """
    orders = [list(order) for order in itertools.permutations(range(P.shape[1]))]
    values = correlation(prior.probabilities[:, None] * np.array([P[:, order] for order in orders]))
    return P[:, orders[int(np.argmax(values >= values.max() - 1e-12))]]


def mutual_information(counts: NDArray[np.int64] | Floats) -> Floats:
    """The empirical mutual information of counts (..., N, M) in nats: the paper's formula with n for its N."""
    f = np.asarray(counts, dtype=np.float64)
    n = f.sum(axis=BOTH)
    both = f.sum(axis=-1)[..., :, None] * f.sum(axis=-2)[..., None, :]
    ratio = np.divide(f * n[..., None, None], both, out=np.ones_like(f), where=f > 0)
    return np.asarray((f * np.log(ratio)).sum(axis=BOTH) / n)


def correlation(counts: NDArray[np.int64] | Floats) -> Floats:
    """The Pearson correlation of input and output, numbered 1..N, of counts or probabilities (..., N, M)."""
    f = np.asarray(counts, dtype=np.float64)
    f = f / f.sum(axis=(-2, -1), keepdims=True)
    x, y = np.arange(1.0, f.shape[-2] + 1), np.arange(1.0, f.shape[-1] + 1)
    fx, fy = f.sum(axis=-1), f.sum(axis=-2)
    dx, dy = x - (fx @ x)[..., None], y - (fy @ y)[..., None]
    covariance = (f * dx[..., :, None] * dy[..., None, :]).sum(axis=BOTH)
    return np.asarray(covariance / np.sqrt((fx * dx**2).sum(axis=-1) * (fy * dy**2).sum(axis=-1)))


def expected_mutual_information(joint: Floats, n: int = SAMPLES) -> Floats:
    """The exact mean of the empirical mutual information of n pairs drawn from joint distributions (..., N, M).

    n I = n log n + sum f(x,y) log f(x,y) - sum f(x) log f(x) - sum f(y) log f(y), and every count is binomial, so
    the mean is a sum of E[B log B] over binomial B. No expansion, no simulation.
    """
    inner = binomial_mean_log(joint, n).sum(axis=BOTH)
    rows = binomial_mean_log(joint.sum(axis=-1), n).sum(axis=-1)
    columns = binomial_mean_log(joint.sum(axis=-2), n).sum(axis=-1)
    return np.asarray(math.log(n) + (inner - rows - columns) / n)


def binomial_mean_log(p: Floats, n: int) -> Floats:
    """E[B log B] for B binomial with n trials and success probabilities p, any shape."""
    from scipy.stats import binom

    values, back = np.unique(p, return_inverse=True)
    k = np.arange(1, n + 1)
    means = binom.pmf(k, n, values[:, None]) @ (k * np.log(k))
    return np.asarray(means[back].reshape(p.shape))


def deviation_of_mutual_information(joint: Floats) -> Floats:
    """The standard deviation of the empirical mutual information, to second order in 1/n.

    Var i(X;Y) / n, plus (N-1)^2 / (2 n^2), which is all there is where X and Y are independent: 2 n I is then
    chi-squared with (N-1)^2 degrees of freedom.
    """
    both = joint.sum(axis=-1)[..., :, None] * joint.sum(axis=-2)[..., None, :]
    density = np.log(np.divide(joint, both, out=np.ones_like(joint), where=joint > 0))
    mean = (joint * density).sum(axis=BOTH)
    first = (joint * density**2).sum(axis=BOTH) - mean**2
    second = (joint.shape[-2] - 1) * (joint.shape[-1] - 1) / (2 * SAMPLES)
    return np.asarray(np.sqrt((np.maximum(first, 0.0) + second) / SAMPLES))


def deviation_of_correlation(joint: Floats) -> Floats:
    """The standard deviation of the sample correlation, to first order in 1/n."""
    x, y = np.arange(1.0, joint.shape[-2] + 1), np.arange(1.0, joint.shape[-1] + 1)
    px, py = joint.sum(axis=-1), joint.sum(axis=-2)
    zx, zy = x - (px @ x)[..., None], y - (py @ y)[..., None]
    zx = zx / np.sqrt((px * zx**2).sum(axis=-1))[..., None]
    zy = zy / np.sqrt((py * zy**2).sum(axis=-1))[..., None]
    zx, zy = zx[..., :, None], zy[..., None, :]
    influence = zx * zy - correlation(joint)[..., None, None] * (zx**2 + zy**2) / 2
    return np.asarray(np.sqrt((joint * influence**2).sum(axis=BOTH) / SAMPLES))


@dataclass(frozen=True)
class Measure:
    """A statistic of counts, its mean and standard deviation given the joint distribution, and its axis label.

    `skewed`: never negative, and nearly gamma distributed; otherwise nearly normal. `remark` is for {bias}, how far the
    mean of a sample is off.
    """

    of: Callable[[NDArray[np.int64] | Floats], Floats]
    mean: Callable[[Floats], Floats]
    deviation: Callable[[Floats], Floats]
    label: str
    skewed: bool
    remark: str


INFORMATION = Measure(
    mutual_information,
    expected_mutual_information,
    deviation_of_mutual_information,
    "empirical $I(X^n;Y^n)$ in nats",
    skewed=True,
    remark=f"The curves do not start at 0: of a sample of {SAMPLES} the empirical mutual information is too large by "
    "about (N − 1)² / 2n = {bias:g} nats. The exact means hold this; they are sums over the binomial distributions of "
    "the counts, not approximations.",
)
CORRELATION = Measure(
    correlation,
    correlation,
    deviation_of_correlation,
    "empirical correlation $r(X^n;Y^n)$",
    skewed=False,
    remark="Outputs are numbered in the order that correlates most with the input, found by trying every order; the "
    "paper does not say which order it uses. Exact values are those of the joint distribution: the mean of the sample "
    "correlation differs from them by a term of order 1/n, far below the Monte-Carlo error.",
)


def agreement_checks(
    who: str, measure: Measure, runs: Floats, joint: Floats, exact: Floats
) -> tuple[PaperCheck, PaperCheck]:
    """Whether the runs, shape (levels, 10), scatter around the exact means as chance allows.

    First level by level, with an error rate of 0.001 for all levels together. Then the average over all levels, by
    Student's t over the runs, which are independent; levels are not, they share the secrets.
    """
    from scipy.stats import t

    count = runs.shape[1]
    error = measure.deviation(joint) / math.sqrt(count)
    worst = float((np.abs(runs.mean(axis=1) - exact) / error).max())
    chance = float(tail(runs.mean(axis=1), exact, error, measure.skewed).min())
    limit = 0.001 / len(runs)
    away = (runs - exact[:, None]).mean(axis=0)
    pooled = float(abs(away.mean()) / (away.std(ddof=1) / math.sqrt(count)))
    pooled_limit = float(t.isf(0.001 / 2, count - 1))
    return (
        PaperCheck(
            f"{who}: the mean of 10 runs agrees with the exact mean at each of {len(runs)} levels",
            "the mean",
            f"at most {worst:.1f} standard errors away, probability {chance:.1e}",
            f"{limit:.1e} (0.001 in all)",
            chance >= limit,
        ),
        PaperCheck(
            f"{who}: and so does the mean over all levels",
            "the mean",
            f"{away.mean():+.1e}, {pooled:.2f} standard errors",
            f"{pooled_limit:.2f} (Student, 0.001)",
            pooled <= pooled_limit,
        ),
    )


def tail(value: Floats, mean: Floats, error: Floats, skewed: bool) -> Floats:
    """Twice the probability of a value as far or farther out on its side."""
    from scipy.stats import gamma, norm

    law = gamma((mean / error) ** 2, scale=error**2 / mean) if skewed else norm(mean, error)
    return np.asarray(2 * np.minimum(law.cdf(value), law.sf(value)))


def equal_leakage(e: Experiment) -> PaperCheck:
    """Both mechanisms leak exactly epsilon at every level."""
    leaks = [[ex.epsilon_pml(e.prior, ex.Mechanism(P)) for P in matrices] for matrices in e.matrices]
    worst = float(np.abs(leaks - e.epsilons).max())
    return fact(
        "both mechanisms leak exactly ε at every level",
        "the same PML",
        f"largest difference {worst:.1e}",
        worst <= 1e-12,
    )


# --- the pictures ------------------------------------------------------------------------------------


def figure_2a(seed: int) -> Panel:
    """The binary mechanism of Theorem 2."""
    return simulated("2a", BINARY_TITLE, binary_experiment(seed), seed, INFORMATION)


def figure_2b(seed: int) -> Panel:
    """The high-privacy mechanism of Theorem 3."""
    return simulated("2b", FIVE_TITLE, five_experiment(seed), seed, INFORMATION)


def simulated(
    name: str, title: str, e: Experiment, seed: int, measure: Measure, headroom: float = 0.04
) -> Panel:
    """The panel that shows one measure of all runs."""
    joints = e.prior.probabilities[:, None] * e.matrices
    values, exact = measure.of(e.counts), [measure.mean(joint) for joint in joints]
    (best, other), gain = values, exact[0] - exact[1]
    names = ("optimal", "randomized_response")
    table = {"epsilon": e.epsilons, "epsilon_r": e.epsilon_r}
    for who, runs, mean in zip(names, values, exact, strict=True):
        table |= {f"{who}_mean": runs.mean(axis=1), f"{who}_exact": mean}
    for who, runs in zip(names, values, strict=True):
        table |= {f"{who}_run_{k + 1}": runs[:, k] for k in range(RUNS)}
    checks: tuple[PaperCheck, ...] = (
        equal_leakage(e),
        *agreement_checks("optimal", measure, best, joints[0], exact[0]),
        *agreement_checks("randomized response", measure, other, joints[1], exact[1]),
        fact(
            "in the mean the optimal mechanism is above randomized response at every ε > 0",
            "a clear increase",
            f"smallest difference {gain[1:].min():.1e}, largest {gain.max():.3f}",
            gain[1:].min() > 0,
        ),
    )
    settings = {
        "prior": title.partition("= ")[2],
        "ε": f"0 to {e.epsilons[-1]:g} in steps of {e.epsilons[1]:g} ({len(e.epsilons)} levels)",
        "sample": f"n = {SAMPLES} secrets a run, {RUNS} runs, the secrets of a run the same at every ε",
        "seed": str(seed),
    }

    low, high = min(0.0, float(values.min())), float(values.max())

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

    remark = measure.remark.format(bias=(e.prior.size - 1) ** 2 / (2 * SAMPLES))
    return Panel(name, f"Figure {name}: {title}", settings, {"": table}, checks, draw, (6.4, 4.4), (remark,))


def figure_3a(seed: int) -> Panel:
    """The binary mechanism of Theorem 2."""
    return simulated("3a", BINARY_TITLE, binary_experiment(seed), seed, CORRELATION)


def figure_3b(seed: int) -> Panel:
    """The high-privacy mechanism of Theorem 3."""
    panel = simulated("3b", FIVE_TITLE, five_experiment(seed), seed, CORRELATION, headroom=0.3)
    epsilon = 0.1
    printed = closed_form.high_privacy(FIVE, epsilon)
    agreeing = ex.theory.pair_outputs(FIVE, printed)
    p = FIVE.probabilities[:, None]
    values = [float(correlation(p * m.matrix)) for m in (printed, agreeing)]
    best = float(np.interp(epsilon, panel.tables[""]["epsilon"], panel.tables[""]["optimal_exact"]))
    note = erratum(
        f"correlation depends on the order of columns, which Remark 1 leaves open (ε = {epsilon:g})",
        "one value",
        f"{values[0]:.4f} in the order of Theorem 3, {values[1]:.4f} in the order of most agreement, "
        f"{best:.4f} in the order of most correlation",
        values[0] < values[1] <= best + 1e-12,
    )
    return replace(panel, checks=(*panel.checks, note))
