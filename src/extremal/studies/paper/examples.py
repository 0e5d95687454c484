"""Every number in the paper's text outside its figures, and evidence for what the text gets wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

import extremal as ex
from extremal.theory import closed_form
from extremal.theory.majorization import majorizes

from ..._common.types import Floats
from .figures_2_3 import mutual_information
from .panel import Panel, PaperCheck, close, distance, erratum, fact, same

THREE = ex.Prior([0.5, 0.3, 0.2])
EXAMPLE_1 = np.array(
    [
        [0.325, 0.225, 0.225, 0.225],
        [0.45, 0.1, 0.225, 0.225],
        [0.45, 0.225, 0.1, 0.225],
        [0.45, 0.225, 0.225, 0.1],
    ]
)
EXAMPLE_2 = np.array([[0.75, 0.25, 0, 0], [0, 0.75, 0.25, 0], [0, 0, 0.75, 0.25], [0.25, 0, 0, 0.75]])


def make(seed: int) -> Panel:
    """The examples, the numbers in the text, and the errata."""
    first = closed_form.high_privacy(ex.Prior([2 / 5, 1 / 5, 1 / 5, 1 / 5]), math.log(9 / 8)).matrix
    second = _match(closed_form.uniform(4, math.log(3)).matrix, EXAMPLE_2)
    stated, found = np.array([EXAMPLE_1, EXAMPLE_2]), np.array([first, second])
    places = dict(zip(("example", "row", "column"), np.indices(stated.shape).reshape(3, -1) + 1, strict=True))
    table = {**places, "stated": stated.ravel(), "found": found.ravel()}
    checks = (*_examples(first, second), *_text(), *_errata(seed))
    settings = {
        "Example 1": "P_X = (2/5, 1/5, 1/5, 1/5), ε = log 9/8",
        "Example 2": "uniform on 4 symbols, ε = log 3",
        "Example 3": "three symbols in region 2; here P_X = (0.5, 0.3, 0.2), ε = log 1.6",
    }
    return Panel("examples", "Examples and numbers in the text", settings, {"": table}, checks)


def _examples(first: Floats, second: Floats) -> tuple[PaperCheck, ...]:
    prior = ex.Prior([2 / 5, 1 / 5, 1 / 5, 1 / 5])
    four, level = ex.Prior.uniform(4), math.log(3)
    best = ex.mutual_information(four, ex.theory.enumerated(four, level))
    printed = ex.mutual_information(four, ex.Mechanism(EXAMPLE_2))
    listed, vectors = _example_3(), ex.theory.extremal_lift_vectors(THREE, math.log(1.6))
    return (
        same("Example 1: the matrix", EXAMPLE_1, first),
        close(
            "Example 1: its leakage is log 9/8",
            math.log(9 / 8),
            ex.epsilon_pml(prior, ex.Mechanism(EXAMPLE_1)),
        ),
        same("Example 2: the matrix, up to columns", EXAMPLE_2, second),
        close("Example 2: its leakage is log 3", level, ex.epsilon_pml(four, ex.Mechanism(EXAMPLE_2))),
        fact(
            "Example 2: ε is in the third region, [ε_2, ε_3)",
            "3",
            str(four.region(level)),
            four.region(level) == 3 and four.region_edges[2] <= level < four.region_edges[3],
        ),
        close("Example 2: no mechanism does better (Theorem 5 as reference)", best, printed, 1e-9),
        fact(
            "Example 3: the set is of vectors with e^ε, 0 and r_i(j) or with e^ε twice, where these are feasible",
            "(e^ε, 0, r_3(1)), (r_1(2), e^ε, 0), (e^ε, r_2(1), 0), …",
            f"{len(listed)} such vectors; extremal_lift_vectors gives the same",
            len(listed) == len(vectors) and distance(listed, vectors) <= 1e-12,
        ),
    )


def _text() -> tuple[PaperCheck, ...]:
    sizes = (2, 3, 4, 10, 100)
    zero = [closed_form.uniform_mutual_information(n, 0) for n in sizes]
    full = [closed_form.uniform_mutual_information(n, math.log(n)) for n in sizes]
    coin = ex.Prior([0.5, 0.5])
    levels = np.linspace(0, math.log(2), 101)
    identical = all(
        ex.theory.randomized_response_for_pml(coin, e).same_up_to_columns(closed_form.binary(coin, e), 1e-12)
        for e in levels
    )
    certain = ex.theory.randomized_response_pml(ex.Prior([1 - 2e-12, 1e-12, 1e-12]), 1.0)
    below = np.linspace(0, 0.999 * THREE.epsilon_max, 101)
    parameters = [ex.theory.randomized_response_parameter(THREE, e) for e in below]
    back = [ex.theory.randomized_response_epsilon(THREE, r) for r in parameters]
    majorized = majorizes([2 / 3, 1 / 3, 0], [1 / 3] * 3)
    return (
        fact(
            "(2/3, 1/3, 0) majorizes (1/3, 1/3, 1/3)",
            "yes",
            "yes" if majorized else "no",
            majorized,
        ),
        close(
            "all mechanisms satisfy ε_max-PML, the identity with equality",
            THREE.epsilon_max,
            ex.epsilon_pml(THREE, ex.Mechanism(np.eye(3))),
        ),
        same("ε_r(ε) is the inverse of the leakage of randomized response", below, back),
        same(
            "Proposition 1: as P_X(x_j) tends to 1, y_j leaks 0 and the others ε_r (ε_r = 1)",
            [0, 1, 1],
            certain,
            1e-11,
        ),
        same("Corollary 1: at ε = 0 privacy costs log N, I(X;Y) = 0", 0, zero),
        same("Corollary 1: at ε_max, I(X;Y) = log N", [math.log(n) for n in sizes], full),
        fact(
            "for a uniform binary prior randomized response is the optimal mechanism (101 levels)",
            "identical",
            "identical up to columns" if identical else "different",
            identical,
        ),
    )


def _errata(seed: int) -> tuple[PaperCheck, ...]:
    permuted = np.abs(closed_form.uniform(4, math.log(3)).matrix - EXAMPLE_2).max()
    return (
        _last_region(),
        _symmetry(),
        _remark_2(),
        _example_3_infeasible(),
        _duplicates(),
        _misprinted_estimate(seed),
        _output_distribution(),
        erratum(
            "Example 2 prints a column permutation of Theorem 4, not its formula",
            "Theorem 4's matrix",
            f"differs by {permuted:g} entry by entry, equal up to columns",
            permuted > 0.1,
        ),
        _redundant_row(),
    )


def _last_region() -> PaperCheck:
    from scipy.optimize import linprog

    V = ex.theory.extremal_lift_vectors(THREE, math.log(3))
    feasible = [
        linprog(np.zeros(len(W)), A_eq=W.T, b_eq=np.ones(3), method="highs").status == 0
        for W in (V[np.count_nonzero(V, axis=1) > 1], V)
    ]
    said = ["feasible" if found else "infeasible" for found in feasible]
    return erratum(
        "regions k ≤ N − 1 leave out [ε_{N−1}, ε_max): (0.5, 0.3, 0.2) at ε = log 3 "
        "needs vectors with one non-zero element, k = N",
        "optimal for every ε",
        f"program of Theorem 5 {said[0]} for k ≤ 2, {said[1]} with k = 3",
        feasible == [False, True],
    )


def _symmetry() -> PaperCheck:
    """A utility that treats symbols differently: three decisions with unequal gains."""
    utility = ex.ExpectedGain(np.cos(np.arange(9)).reshape(3, 3), "three decisions")
    worst = 0.0
    for epsilon in (0.1, 0.3, math.log(2), math.log(3), math.log(4.5)):
        vertices = ex.theory.polytope_vertices(THREE, epsilon)
        best = max(utility(THREE, ex.Mechanism(P)) for P in vertices)
        worst = max(worst, abs(utility(THREE, ex.theory.enumerated(THREE, epsilon, utility)) - best))
    return erratum(
        "Theorem 5 needs a permutation-symmetric μ (here (0.5, 0.3, 0.2), expected gain, 5 levels in 3 regions)",
        "assumed",
        f"without symmetry it gives the best vertex of M_3(ε) too, to {worst:.0e}",
        worst <= 1e-9,
    )


def _remark_2() -> PaperCheck:
    n, k = 4, 2
    count = len(ex.theory.extremal_lift_vectors(ex.Prior.uniform(n), math.log(n / (n - k + 0.5))))
    bound = sum((n - l + 1) * math.comb(n, l - 1) for l in range(1, k + 1))
    return erratum(
        "Remark 2: the uniform prior attains the bound (here N = 4, k = 2)",
        f"{bound} vectors",
        f"{count} = (N−k+1) C(N, k−1): only the term l = k counts",
        count == (n - k + 1) * math.comb(n, k - 1) < bound,
    )


def _example_3_infeasible() -> PaperCheck:
    edges, p = THREE.region_edges, float(THREE.probabilities[2])
    largest = max((1 - math.exp(e) * (1 - p)) / p for e in np.linspace(edges[1], edges[2], 100)[1:])
    return erratum(
        "Example 3 lists (e^ε, e^ε, r_3(3)) in region 2",
        "a lift vector, ≥ 0",
        f"r_3(3) ≤ {largest:.4f} < 0 inside the region",
        largest < 0,
    )


def _duplicates() -> PaperCheck:
    """Algorithm 1 as printed, at the edge epsilon_1 where the element r is 0 for two choices of J."""
    c, p = 1.25, (0.5, 0.3, 0.2)
    found = []
    for l in (1, 2):
        for J in itertools.combinations(range(3), 3 - l + 1):
            for j in J:
                rest = 1 - c * sum(p[m] for m in J if m != j)
                if c * sum(p[m] for m in J) >= 1 - 1e-12 and rest >= -1e-12:
                    found.append(
                        tuple(c if m in J and m != j else (m == j) * abs(rest) / p[j] for m in range(3))
                    )
    different = len({tuple(round(x, 9) for x in v) for v in found})
    own = len(ex.theory.extremal_lift_vectors(THREE, math.log(c)))
    return erratum(
        "Algorithm 1 lists each vertex once (here (0.5, 0.3, 0.2) at ε = ε_1 = log 1.25)",
        "a set",
        f"{len(found)} vectors, {different} different; extremal_lift_vectors gives {own}",
        len(found) > different == own,
    )


def _misprinted_estimate(seed: int) -> PaperCheck:
    prior = ex.Prior([0.55, 0.45])
    joint = prior.probabilities[:, None] * closed_form.binary(prior, 0.4).matrix
    f = np.random.default_rng([seed, 5]).multinomial(1000, joint.ravel()).reshape(2, 2).astype(float)
    printed = float((f / 2 * np.log(2 * f / np.outer(f.sum(axis=1), f.sum(axis=0)))).sum())
    right = float(mutual_information(f))
    return erratum(
        "the empirical mutual information is printed with N where n belongs (one sample, binary, ε = 0.4)",
        f"between 0 and log 2; as printed {printed:.1f}",
        f"{right:.4f} with n = 1000",
        printed < 0 <= right <= math.log(2),
    )


def _output_distribution() -> PaperCheck:
    mechanism = ex.theory.randomized_response(THREE, 1.0)
    away = np.abs(mechanism.output_distribution(THREE) - THREE.probabilities).max()
    formula = np.abs(ex.theory.randomized_response_pml(THREE, 1.0) - ex.pml(THREE, mechanism)).max()
    return erratum(
        "P_Y = P_X for randomized response (here (0.5, 0.3, 0.2), ε_r = 1)",
        "equal",
        f"differs by {away:.4f}; the formula for its leakage is right, to {formula:.0e}",
        away > 0.01 and formula < 1e-12,
    )


def _redundant_row() -> PaperCheck:
    V = ex.theory.extremal_lift_vectors(THREE, 0.4)
    away = float(np.abs(V @ THREE.probabilities - 1).max())
    return erratum(
        "the row Σ P_Y = 1 of Theorem 5 is needed",
        "a constraint",
        f"the prior-weighted sum of the other rows, to {away:.0e}",
        away < 1e-12,
    )


def _example_3() -> Floats:
    """The vectors of Example 3 that are feasible for (0.5, 0.3, 0.2) at epsilon = log 1.6, from its formulas."""
    c, p = 1.6, THREE.probabilities
    found = []
    for i, j in itertools.permutations(range(3), 2):
        vector = np.zeros(3)
        vector[j], vector[i] = c, (1 - c * p[j]) / p[i]
        if 0 <= vector[i] <= c:
            found.append(vector)
    for i in range(3):
        vector = np.full(3, c)
        vector[i] = (1 - c * (1 - p[i])) / p[i]
        if 0 <= vector[i] <= c:
            found.append(vector)
    return np.array(found)


def _match(P: Floats, printed: Floats) -> Floats:
    """The columns of P in the order nearest to the printed matrix."""
    orders: list[Sequence[int]] = list(itertools.permutations(range(P.shape[1])))
    apart = [np.abs(P[:, order] - printed).max() for order in orders]
    return P[:, orders[int(np.argmin(apart))]]
