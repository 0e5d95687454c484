"""Peers on comparable work, in the same run: each call in a process of its own, at most 60 s.

No peer designs mechanisms under pointwise maximal leakage. What can be compared:

- Theorem 5 written down plainly: vertices of the lift polytope by itertools, the linear program by scipy's
  linprog or by cvxpy with the solver it chooses. The same problem, the same optimum.
- An expected gain (the probability of guessing the symbol), which is a linear program of polynomial size: our
  gain-program, and the same program written in cvxpy.
- qif's mechanism.d_privacy.min_loss_given_d with the discrete metric: least expected 0-1 loss under local
  differential privacy. Linear, too, with the same variables, but *another problem*: LDP bounds the ratio of
  any two rows, PML that of a row and the mean. So its program has N^2 (N - 1) constraints instead of N^2, and
  its optimum is lower. Read its seconds, not its value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from families import families
from report import Report, Table, best, design_by, isolated

import extremal as ex

LIMIT = 60.0  # seconds, of each process
EPSILON = math.log(2)
COLUMNS = {"program": "<42", "N": "3d", "seconds": "9.4f", "x ours": "8.1f", "value": "12.9g", "note": "<30"}
Answer = dict[str, Any]


def run(report: Report) -> None:
    theorem_5(report)
    linear(report)


def theorem_5(report: Report) -> None:
    chosen = {"tiny": (6,), "quick": (10, 14), "full": (10, 12, 14, 16, 18)}
    table = report.table(
        "Peers on Theorem 5: mutual information, epsilon = log 2, Dirichlet prior",
        COLUMNS,
        f"the same problem; best of up to 3, each in a process of its own, at most {LIMIT:g} s",
    )
    programs = {
        "extremal.design()": our_design,
        "itertools + scipy.optimize.linprog": plain_scipy,
        "itertools + cvxpy, default solver": plain_cvxpy,
    }
    _compare(report, table, programs, chosen.get(report.level, (10, 12, 14, 16)))


def linear(report: Report) -> None:
    chosen = {"tiny": (5,), "quick": (10, 30), "full": (10, 20, 30, 50, 100, 200)}
    table = report.table(
        "Peers on a linear problem: probability of guessing the symbol, epsilon = log 2, Dirichlet prior",
        COLUMNS,
        "qif solves another problem, LDP for PML, with N times as many constraints: its value is lower",
    )
    programs = {
        "extremal.design(), gain-program": our_gain,
        "the same program in cvxpy, default solver": cvxpy_gain,
        "qif min_loss_given_d under LDP": qif_loss,
    }
    _compare(report, table, programs, chosen.get(report.level, (10, 30, 50, 100)))


def _compare(
    report: Report, table: Table, programs: dict[str, Callable[..., Answer]], sizes: tuple[int, ...]
) -> None:
    """One row a program and size, ours first. A peer that failed or was late is not tried at larger sizes."""
    given_up: set[str] = set()
    for n in sizes:
        ours = None
        for name, function in programs.items():
            if name in given_up:
                table.row(name, n, None, None, None, "not tried, see above")
                continue
            done = isolated("peers", function.__name__, {"n": n, "seed": report.seed}, LIMIT)
            if done.status != "ok":
                table.row(name, n, None, None, None, done.status)
                given_up.add(name)
                if function in (our_design, our_gain) and not done.late:
                    report.broke(f"{name}, N = {n}: {done.status}")
                continue
            seconds, value = done.result["seconds"], done.result["value"]
            if function in (our_design, our_gain):
                ours = seconds
            ratio = seconds / ours if ours else None
            table.row(name, n, seconds, ratio, value, done.result["note"], peak_mb=done.peak_mb)


def _prior(n: int, seed: int) -> ex.Prior:
    return families(n, seed)["Dirichlet"]


# What follows is called by name in processes of its own. Every answer: seconds, value, note.


def our_design(n: int, seed: int) -> Answer:
    prior = _prior(n, seed)
    ex.design(prior, EPSILON, ex.mutual_information)
    seconds, _, design = best(lambda: ex.design(prior, EPSILON, ex.mutual_information), 3, 10.0)
    return {"seconds": seconds, "value": design.value, "note": f"{design.method}, gap {design.gap:.0e}"}


def our_gain(n: int, seed: int) -> Answer:
    prior, utility = _prior(n, seed), ex.ExpectedGain(np.eye(n))
    ex.design(_prior(5, seed), EPSILON, ex.ExpectedGain(np.eye(5)))
    seconds, _, design = best(lambda: design_by(prior, EPSILON, utility, oracle="gain-program"), 3, 10.0)
    return {"seconds": seconds, "value": design.value, "note": f"gap {design.gap:.0e}"}


def plain_vertices(pi: np.ndarray, high: float) -> Iterator[list[float]]:
    """Every vertex of the lift polytope by its definition: a full set, and one symbol that takes the rest."""
    n = len(pi)
    for size in range(n):
        for full in itertools.combinations(range(n), size):
            rest = 1 - high * sum(pi[i] for i in full)
            if rest <= 0:
                continue
            for j in range(n):
                if j not in full and rest / pi[j] <= high:
                    vertex = [0.0] * n
                    for i in full:
                        vertex[i] = high
                    vertex[j] = rest / pi[j]
                    yield vertex


def _information(vertices: np.ndarray, pi: np.ndarray) -> np.ndarray:
    return np.where(vertices > 0, vertices * np.log(np.where(vertices > 0, vertices, 1)), 0) @ pi


def plain_scipy(n: int, seed: int) -> Answer:
    from scipy.optimize import linprog

    pi = _prior(n, seed).probabilities

    def solve() -> tuple[float, int]:
        vertices = np.array(list(plain_vertices(pi, math.exp(EPSILON))))
        result = linprog(-_information(vertices, pi), A_eq=vertices.T, b_eq=np.ones(n))
        return float(-result.fun), len(vertices)

    seconds, _, (value, count) = best(solve, 3, 10.0)
    return {"seconds": seconds, "value": value, "note": f"{count} vertices"}


def plain_cvxpy(n: int, seed: int) -> Answer:
    import cvxpy

    pi = _prior(n, seed).probabilities

    def solve() -> tuple[float, str]:
        vertices = np.array(list(plain_vertices(pi, math.exp(EPSILON))))
        rho = cvxpy.Variable(len(vertices), nonneg=True)
        problem = cvxpy.Problem(cvxpy.Maximize(_information(vertices, pi) @ rho), [vertices.T @ rho == 1])
        problem.solve()
        return float(problem.value), problem.solver_stats.solver_name

    seconds, _, (value, solver) = best(solve, 3, 10.0)
    return {"seconds": seconds, "value": value, "note": solver}


def cvxpy_gain(n: int, seed: int) -> Answer:
    import cvxpy

    pi = _prior(n, seed).probabilities

    def solve() -> tuple[float, str]:
        P = cvxpy.Variable((n, n), nonneg=True)  # inputs x guesses
        mean = cvxpy.reshape(pi @ P, (1, n), order="C")
        bound = math.exp(EPSILON) * (np.ones((n, 1)) @ mean)
        problem = cvxpy.Problem(cvxpy.Maximize(pi @ cvxpy.diag(P)), [cvxpy.sum(P, axis=1) == 1, bound >= P])
        problem.solve()
        return float(problem.value), problem.solver_stats.solver_name

    seconds, _, (value, solver) = best(solve, 3, 10.0)
    return {"seconds": seconds, "value": value, "note": solver}


def qif_loss(n: int, seed: int) -> Answer:
    import qif

    prior = _prior(n, seed)
    pi = np.array(prior.probabilities)

    def solve() -> np.ndarray:
        program = qif.mechanism.d_privacy.min_loss_given_d
        return np.array(program(pi, n, lambda i, j: EPSILON * (i != j), lambda i, j: float(i != j)))

    seconds, _, matrix = best(solve, 3, 10.0)
    mechanism = ex.Mechanism(np.maximum(matrix, 0) / matrix.sum(axis=1, keepdims=True))
    value = ex.ExpectedGain(np.eye(n))(prior, mechanism)
    return {
        "seconds": seconds,
        "value": value,
        "note": f"LDP epsilon {ex.measures.ldp_epsilon(mechanism):.4f}",
    }
