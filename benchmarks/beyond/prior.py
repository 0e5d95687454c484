"""Beyond the paper: the price of not knowing the prior, against the size of the sample it is learnt from."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

import extremal as ex
from extremal._common.plot import BLUE, GREY, VERMILION
from extremal._common.types import Floats
from extremal.model.evidence import l1_radius
from extremal.studies.data import ORDER, anes96
from extremal.studies.paper.panel import Panel, PaperCheck, close, fact, within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (0.5, 1.0)
SIZES = np.rint(10 ** np.arange(1, 7.01, 0.25))
CONFIDENCE = 0.95


def make(seed: int) -> Panel:
    """Designs that hold for every prior that a sample of n leaves possible, for n from 10 to 10 million."""
    prior = ex.Prior.from_data(anes96()["party"], labels=ORDER)
    rows = []
    for epsilon in LEVELS:
        known = ex.design(prior, epsilon, ex.mutual_information)
        for n in SIZES:
            radius = l1_radius(prior.size, float(n), CONFIDENCE)
            priors = ex.PriorSet.l1_ball(prior, radius)
            design = ex.design(priors, epsilon, ex.mutual_information)
            response = randomized_response_over(priors, epsilon)
            rows.append(
                (
                    epsilon,
                    n,
                    radius,
                    design.value,
                    ex.mutual_information(prior, response),
                    known.value,
                    ex.epsilon_pml(priors, design.mechanism),
                    ex.epsilon_pml(priors, response),
                    ex.epsilon_pml(priors, known.mechanism),
                )
            )
    names = (
        "epsilon",
        "sample",
        "l1_radius",
        "optimal",
        "randomized_response",
        "known_prior",
        "worst_pml_optimal",
        "worst_pml_randomized_response",
        "worst_pml_known_prior",
    )
    table = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    settings = {
        "survey": f"party identification, {prior.size} answers, ANES 1996 (in the package)",
        "sample": "n people whose answers have the shares of the survey; the true prior lies within an l1 ball around "
        f"them with confidence {CONFIDENCE:g}",
        "ε": ", ".join(f"{e:g}" for e in LEVELS) + ", in the worst case over the ball",
        "utility": "mutual information under the shares of the survey",
    }

    def draw(axes: Axes) -> None:
        for epsilon, color, marker in zip(LEVELS, (BLUE, VERMILION), "os", strict=True):
            chosen = table["epsilon"] == epsilon
            n = table["sample"][chosen]
            for column, dash, mark, text in (
                ("known_prior", ":", "", "prior known"),
                ("optimal", "-", marker, "prior learnt from $n$"),
                ("randomized_response", "--", marker, "rand. resp., learnt from $n$"),
            ):
                axes.plot(
                    n,
                    table[column][chosen],
                    color=color,
                    linestyle=dash,
                    marker=mark,
                    mfc="none",
                    markevery=2,
                    label=f"ε = {epsilon:g}: {text}",
                )
        axes.axvline(944, color=GREY, linewidth=0.9)
        axes.text(944 * 1.15, 1.03, "the survey, $n$ = 944", color=GREY, fontsize=10)
        axes.set(
            xscale="log",
            xlim=(10, 1e7),
            ylim=(0, 1.1),
            xlabel="sample size $n$ from which the prior is learnt",
            ylabel="$I(X;Y)$ in nats",
            title="PML at most ε for every prior that the sample leaves possible",
        )
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0)

    title = "Beyond the paper: the price of not knowing the prior"
    return Panel("beyond-prior", title, settings, {"": table}, _checks(prior, table), draw, (8.6, 4.4))


def randomized_response_over(priors: ex.PriorSet, epsilon: float) -> ex.Mechanism:
    """The randomized response that satisfies epsilon-PML exactly in the worst case over the set.

    Its leakage depends on the least mass alone (Proposition 1), so the least of the set takes the place of p_min.
    """
    least, c = float(priors.mass_range[0].min()), math.exp(epsilon)
    if least * c >= 1:
        return ex.Mechanism(np.eye(priors.size), priors.labels, priors.labels)
    parameter = epsilon + math.log1p(-least) - math.log1p(-least * c)
    return ex.theory.randomized_response(priors.nominal, parameter)


def best_under_ldp(prior: ex.Prior, epsilon: float) -> float:
    """The largest mutual information under local differential privacy, by a program over all staircase columns.

    Every column of an optimal mechanism has two values, one e^epsilon times the other (Kairouz, Oh and Viswanath).
    """
    from scipy.optimize import linprog

    c, n = math.exp(epsilon), prior.size
    S = np.array(list(itertools.product((1.0, c), repeat=n)))[1:]
    gains = ex.mutual_information.columns(prior, S.T)
    found = linprog(-gains, A_eq=S.T, b_eq=np.ones(n), method="highs")
    if found.fun is None:
        raise ex.errors.SolverError(
            f"the program over staircase columns ended without an answer: {found.message}"
        )
    return -float(found.fun)


def _checks(prior: ex.Prior, table: dict[str, Floats]) -> tuple[PaperCheck, ...]:
    epsilon, value = table["epsilon"], table["optimal"]
    at = {e: np.flatnonzero(epsilon == e) for e in LEVELS}
    survey = ex.PriorSet.l1_ball(prior, l1_radius(prior.size, 944, CONFIDENCE))
    everything = ex.PriorSet.at_least(prior, 0)
    checks = [
        within(
            "no design exceeds ε for any prior of its ball",
            float((table["worst_pml_optimal"] - epsilon).max()),
            1e-9,
            "largest excess",
        ),
        within(
            "randomized response leaks exactly ε in the worst case",
            float(np.abs(table["worst_pml_randomized_response"] - epsilon).max()),
            1e-9,
        ),
        fact(
            "a larger sample never hurts, and no sample is worth more than the prior itself",
            "not in the paper",
            f"smallest step {min(float(np.diff(value[rows]).min()) for rows in at.values()):.1e}, "
            f"largest excess {float((value - table['known_prior']).max()):.1e}",
            all(np.diff(value[rows]).min() >= -1e-9 for rows in at.values())
            and (value - table["known_prior"]).max() <= 1e-9,
        ),
    ]
    for e in LEVELS:
        learnt, known = (
            ex.design(survey, e, ex.mutual_information),
            ex.design(prior, e, ex.mutual_information),
        )
        leak = ex.epsilon_pml(survey, known.mechanism)
        checks += [
            close(
                f"with no sample at all the design is the best one under local differential privacy, ε = {e:g}",
                best_under_ldp(prior, e),
                ex.design(everything, e, ex.mutual_information).value,
                1e-9,
            ),
            fact(
                f"a sample of 944 costs part of the information; taking it for the truth breaks the promise, ε = {e:g}",
                "not in the paper",
                f"{learnt.value:.4f} of {known.value:.4f} nats ({learnt.value / known.value:.0%}); "
                f"taken for the truth, reports may leak {leak:.3f}",
                learnt.value < known.value and leak > e,
            ),
        ]
    return tuple(checks)
