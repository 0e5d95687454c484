"""The best mechanisms under neighbouring notions of privacy, and a table that sets them beside PML.

- Local differential privacy: columns are patterns in {1, e^epsilon}^N (staircase mechanisms, Kairouz, Oh and
  Viswanath, 2016).
- Local information privacy: lifts within [e^-epsilon, e^epsilon], the program of Theorem 5 with a lower bound.
- Maximal leakage: sum_y max_x P(y|x) <= e^epsilon. Columns scaled to maximum 1 lie in a cube, so its corners suffice:
  an output is a set of symbols, and there is one row more for the budget.

They are compared at equal PML: the level of each is the largest at which its own best mechanism leaks no more than
epsilon in any outcome. That is one mechanism under each notion, not the best of all that keep both: a mechanism
of a higher level that is not the best at that level may leak less and be worth more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from .._types import Floats
from ..errors import SizeError, SolverError
from ..model.leakage import ROUNDING, epsilon_pml, ldp_epsilon, lip_epsilon, maximal_leakage
from ..model.mechanism import Mechanism
from ..model.prior import Prior, html_table
from ..model.prior_set import PriorSet
from ..model.regions import bounded_exp, check_epsilon
from ..model.utility import Utility, mutual_information
from ..theory.randomized_response import randomized_response_for_pml
from .design import design
from .result import Design, measured
from .robust.solve import NOTHING, within
from .solver.column_generation import Stats, listed_program
from .solver.master import Master
from .task import Task, make_task

LARGEST = 14  # symbols: 2^14 patterns
STEPS = 40  # of a bisection for the level
CLOSE = 1e-7  # levels, or leakages, that need not be told apart
HIGHEST = 40.0  # a level that allows everything


def lip_design(
    prior: Prior,
    epsilon: float,
    utility: Utility = mutual_information,
    *,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
) -> Design:
    """A mechanism of largest utility under epsilon-local information privacy: |log lift| <= epsilon everywhere."""
    low = math.exp(-check_epsilon(epsilon))
    return design(prior, epsilon, utility, tolerance=tolerance, time_limit=time_limit, lower_lift=low)


def ldp_design(prior: Prior, epsilon: float, utility: Utility = mutual_information) -> Design:
    """A mechanism of largest utility under epsilon-local differential privacy: P(y|x) <= e^epsilon P(y|x').

    The linear program over all patterns in {1, e^epsilon}^N, up to 14 symbols. Its dual vector proves the bound for
    lift vectors with max <= e^epsilon min.
    """
    begin = time.perf_counter()
    task = _small_task(prior, epsilon, utility, "design(PriorSet.at_least(prior, 0), epsilon)")
    if task.epsilon <= NOTHING:
        return design(prior, 0.0, utility)
    patterns = 1 + (bounded_exp(task.epsilon) - 1) * _sets(prior.size)[:-1]  # the last one is constant, too
    lifts = np.vstack((np.ones(prior.size), patterns / (patterns @ prior.probabilities)[:, None]))
    gains = task.mu(lifts)
    master = Master(prior.probabilities, 0.0, float(lifts.max()), max(float(np.abs(gains).max()), 1e-300))
    solution = listed_program(master, lifts, gains, task.mu)
    mechanism = within(task, PriorSet.at_least(prior, 0.0), solution.mechanism(prior.labels))
    return _design(task, "staircase", mechanism, solution.upper, solution.dual, begin)


def leakage_design(prior: Prior, epsilon: float, utility: Utility = mutual_information) -> Design:
    """A mechanism of largest utility with maximal leakage up to epsilon: sum_y max_x P(y|x) <= e^epsilon.

    The linear program over all sets of symbols, up to 14 symbols. No single outcome is bounded by it: its PML can be
    anything up to epsilon_max.
    """
    from scipy.optimize import linprog  # half a second: not at import

    begin = time.perf_counter()
    task = _small_task(
        prior, epsilon, utility, "design(prior, epsilon), whose maximal leakage is at most epsilon"
    )
    sets, budget = _sets(prior.size), bounded_exp(task.epsilon)
    gains = task.mu(sets)
    scale = max(float(np.abs(gains).max()), 1e-300)
    result: Any = linprog(
        -gains / scale,
        A_ub=np.ones((1, len(sets))),
        b_ub=[min(budget, float(prior.size))],
        A_eq=sets.T,
        b_eq=np.ones(prior.size),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise SolverError(f"the program for maximal leakage ended without an answer: {result.message}")
    y = -np.asarray(result.eqlin.marginals) * scale
    z = max(-float(result.ineqlin.marginals[0]) * scale, 0.0)
    z += max(float(np.max(gains - sets @ y)) - z, 0.0)
    used = result.x > 1e-12
    P = sets[used].T * result.x[used]
    P = P / P.sum(axis=1, keepdims=True)
    total = float(P.max(axis=0).sum())
    if total > budget * (1 + ROUNDING):
        keep = (budget - 1) / (total - 1)
        P = keep * P + (1 - keep) * (prior.probabilities @ P)
    upper = math.fsum(y) + z * min(budget, float(prior.size))
    return _design(task, "sets", Mechanism(P, prior.labels), upper, None, begin)


def _small_task(prior: Prior, epsilon: float, utility: Utility, instead: str) -> Task:
    task = make_task(prior, epsilon, utility, 1e-6, None)
    if prior.size > LARGEST:
        raise SizeError(
            f"this lists all sets of symbols and needs at most {LARGEST} symbols, got {prior.size}; use {instead}"
        )
    return task


def _sets(n: int) -> Floats:
    """All non-empty sets of n symbols as rows of zeros and ones, the whole alphabet last."""
    return (np.arange(1, 2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)


def _design(
    task: Task, method: str, mechanism: Mechanism, upper: float, dual: Floats | None, begin: float
) -> Design:
    made = measured(task, mechanism, upper, dual, Stats(seconds=time.perf_counter() - begin))
    return replace(made, method=method)


@dataclass(frozen=True, eq=False)
class Compared:
    """One row of a comparison: a mechanism, the level of its own notion, its utility and what it leaks."""

    name: str
    level: float
    value: float
    pml: float
    ldp: float
    lip: float
    maximal_leakage: float
    mechanism: Mechanism = field(repr=False)

    @classmethod
    def of(cls, name: str, level: float, prior: Prior, mechanism: Mechanism, utility: Utility) -> Compared:
        """Everything measured."""
        return cls(
            name, level, utility(prior, mechanism), epsilon_pml(prior, mechanism), ldp_epsilon(mechanism),
            lip_epsilon(prior, mechanism), maximal_leakage(mechanism), mechanism,
        )  # fmt: skip


HEAD = ("designed for", "level", "value", "of best", "PML", "LDP", "LIP", "max. leakage")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Mechanisms designed for different notions of privacy, side by side at equal PML; prints as a table."""

    prior: Prior
    epsilon: float
    utility: Utility
    rows: tuple[Compared, ...]
    notes: tuple[str, ...]

    def row(self, name: str) -> Compared:
        """The row of this name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"name must be one of {[row.name for row in self.rows]}, got {name!r}")

    def cells(self) -> list[list[str]]:
        """The table as text, head first."""
        best = max(abs(self.rows[0].value), 1e-300)
        table = [list(HEAD)]
        for row in self.rows:
            numbers = (row.pml, row.ldp, row.lip, row.maximal_leakage)
            table.append(
                [
                    row.name,
                    f"{row.level:.4f}",
                    f"{row.value:.4f}",
                    f"{100 * row.value / best:.1f} %",
                    *(f"{x:.4f}" for x in numbers),
                ]
            )
        return table

    def to_markdown(self) -> str:
        """The table in Markdown, with its notes below."""
        head, *rows = self.cells()
        lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON; an infinite level is None."""

        def finite(x: float) -> float | None:
            return x if math.isfinite(x) else None

        names = ("level", "value", "pml", "ldp", "lip", "maximal_leakage")
        rows = [{"name": row.name} | {k: finite(getattr(row, k)) for k in names} for row in self.rows]
        return {
            "epsilon": self.epsilon, "utility": self.utility.name, "rows": rows, "notes": list(self.notes)
        }  # fmt: skip

    def __str__(self) -> str:
        table = self.cells()
        widths = [max(len(row[k]) for row in table) for k in range(len(HEAD))]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(row[1:], widths[1:], strict=True))]
            )
            for row in table
        ]
        title = f"{self.utility.name}, {self.prior.size} symbols, no outcome leaks more than {self.epsilon:.6g} nats"
        return "\n".join([title, *lines, *self.notes])

    def _repr_html_(self) -> str:
        head, *rows = self.cells()
        made = ["<tr>" + "".join(f"<th>{escape(x)}</th>" for x in head) + "</tr>"]
        made += ["<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows]
        return html_table(f"{self.utility.name} at PML {self.epsilon:.6g}", made)


def compare(
    prior: Prior,
    epsilon: float,
    utility: Utility = mutual_information,
    *,
    time_limit: float | None = None,
) -> Comparison:
    """The best mechanisms under PML, LIP, LDP and maximal leakage, and randomized response, all at PML epsilon.

    Each notion but PML has a level of its own, chosen as large as its best mechanism's PML allows. Where that PML jumps
    past epsilon the row stays below it, and the table shows by how much. LDP and maximal leakage need all sets of
    symbols and are left out above 14 symbols.
    """
    epsilon = check_epsilon(epsilon)
    best = design(prior, epsilon, utility, time_limit=time_limit)
    rows = [Compared.of("PML", epsilon, prior, best.mechanism, utility)]
    notes = []

    def lip(level: float) -> Design:
        return lip_design(prior, level, utility, time_limit=time_limit)

    families: list[tuple[str, Callable[[float], Design]]] = [("LIP", lip)]
    if prior.size <= LARGEST:
        families.append(("LDP", lambda level: ldp_design(prior, level, utility)))
        families.append(("maximal leakage", lambda level: leakage_design(prior, level, utility)))
    else:
        notes.append(
            f"LDP and maximal leakage are left out: their programs list all sets of {prior.size} symbols"
        )
    for name, make in families:
        found = _calibrated(make, prior, epsilon)
        rows.append(Compared.of(name, found.epsilon, prior, found.mechanism, utility))
        if rows[-1].pml < epsilon - 1e-6:
            notes.append(f"{name} stays below: a step up in its own level would leak more than {epsilon:.6g}")
    response = randomized_response_for_pml(prior, epsilon)
    rows.append(Compared.of("randomized response", ldp_epsilon(response), prior, response, utility))
    return Comparison(prior, epsilon, utility, tuple(rows), tuple(notes))


def _calibrated(make: Callable[[float], Design], prior: Prior, epsilon: float) -> Design:
    """The design of the highest level found with PML up to epsilon: secants, and halving where those are slow."""
    made = make(epsilon)
    leaks = epsilon_pml(prior, made.mechanism)
    if leaks > epsilon + ROUNDING:
        best, low, high = make(0.0), (0.0, 0.0), (epsilon, leaks)
    else:
        best, low, high = made, (epsilon, leaks), (epsilon, leaks)
        step = max(epsilon, 0.1)
        while high[1] <= epsilon + ROUNDING and epsilon - low[1] > CLOSE and high[0] < HIGHEST:
            best, low = made, high
            made = make(high[0] + step)
            high = (high[0] + step, epsilon_pml(prior, made.mechanism))
            step *= 2
        if high[1] <= epsilon + ROUNDING:
            return made
    for k in range(STEPS):
        if epsilon - low[1] <= CLOSE or high[0] - low[0] <= CLOSE:
            break
        share = (epsilon - low[1]) / (high[1] - low[1]) if k % 3 < 2 else 0.5
        level = low[0] + min(max(share, 0.02), 0.98) * (high[0] - low[0])
        made = make(level)
        leaks = epsilon_pml(prior, made.mechanism)
        if leaks <= epsilon + ROUNDING:
            best, low = made, (level, leaks)
        else:
            high = (level, leaks)
    return best
