"""compare(): mechanisms designed for neighbouring notions of privacy, side by side at equal PML.

The level of each notion is the largest at which its own best mechanism leaks no more than epsilon in any outcome.
That is one mechanism under each notion, not the best of all that keep both: a mechanism of a higher level that is not
the best at that level may leak less and be worth more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..._common.frames import html_rows, html_table
from ..._common.threads import one_thread
from ..._common.words import aligned
from ...model.leakage import ROUNDING, epsilon_pml
from ...model.leakage_measures import ldp_epsilon, lip_epsilon, maximal_leakage
from ...model.levels import LDP, LIP, MaximalLeakage, Notion, check_epsilon
from ...model.mechanism import Mechanism
from ...model.prior import Prior
from ...model.purpose import Purpose
from ...model.utility import Utility, mutual_information
from ...theory import frequency_oracles
from ...theory.randomized_response import randomized_response_for_pml
from ..design import designed
from ..finish import Design
from ..utilities import LARGEST_LISTED

STEPS = 40  # of a bisection for the level
CLOSE = 1e-7  # levels, or leakages, that need not be told apart
HIGHEST = 40.0  # a level that allows everything
ORACLES = {
    "subset selection": frequency_oracles.subset_selection,
    "optimised unary encoding": frequency_oracles.optimized_unary_encoding,
    "RAPPOR": frequency_oracles.rappor,
    "Hadamard response": frequency_oracles.hadamard_response,
}


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
    def of(
        cls, name: str, level: float, prior: Prior, mechanism: Mechanism, utility: Utility | Purpose
    ) -> Compared:
        """Everything measured."""
        return cls(
            name, level, utility(prior, mechanism), epsilon_pml(prior, mechanism), ldp_epsilon(mechanism),
            lip_epsilon(prior, mechanism), maximal_leakage(mechanism), mechanism,
        )  # fmt: skip


HEAD = ("designed for", "level", "value", "of best", "PML", "LDP", "LIP", "max. leakage")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Mechanisms designed for different notions of privacy, side by side at equal PML; prints as a table.

    Attributes
    ----------
    prior
        How common each answer is.
    epsilon
        The leakage that no row exceeds, in nats.
    utility
        What the rows are compared by.
    rows
        One row for each mechanism.
    notes
        Where a row stays below epsilon, and why.
    """

    prior: Prior
    epsilon: float
    utility: Utility | Purpose
    rows: tuple[Compared, ...]
    notes: tuple[str, ...]

    def row(self, name: str) -> Compared:
        """The row of this name.

        Parameters
        ----------
        name
            The name in the first column.
        """
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
        title = f"{self.utility.name}, {self.prior.size} symbols, no outcome leaks more than {self.epsilon:.6g} nats"
        return "\n".join([title, *aligned(self.cells(), 1), *self.notes])

    def _repr_html_(self) -> str:
        return html_table(f"{self.utility.name} at PML {self.epsilon:.6g}", html_rows(self.cells()))


@one_thread
def compare(
    prior: Prior,
    epsilon: float,
    utility: Utility | Purpose = mutual_information,
    *,
    time_limit: float | None = None,
) -> Comparison:
    """The best mechanisms under PML, LIP, LDP and maximal leakage, and randomized response, all at PML epsilon.

    Each notion but PML has a level of its own, chosen as large as its best mechanism's PML allows. Where that PML jumps
    past epsilon the row stays below it, and the table shows by how much. LDP and maximal leakage need all sets of
    symbols and are left out above 14 symbols.

    With a purpose such as shares, the best mechanism stands beside the usual clients of local differential privacy:
    randomized response, subset selection, optimised unary encoding, RAPPOR and Hadamard response. Their values are
    efficiencies too, with the best estimator of each.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> [row.name for row in ex.compare(prior, 0.6).rows]
    ['PML', 'LIP', 'LDP', 'maximal leakage', 'randomized response']

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The leakage that no mechanism may exceed, in nats.
    utility
        What the mechanism is for: a purpose such as `shares`, or a utility.
    time_limit
        Seconds for each design; None for no limit.

    Returns
    -------
    Comparison
        A table with a row for each notion or client.
    """
    epsilon = check_epsilon(epsilon)
    best = designed(prior, epsilon, utility, time_limit=time_limit)
    rows = [Compared.of("PML", epsilon, prior, best.mechanism, utility)]
    if isinstance(utility, Purpose):
        return _with_oracles(rows, prior, epsilon, utility)
    notes = []

    notions = [LIP]
    if prior.size <= LARGEST_LISTED:
        notions += [LDP, MaximalLeakage]
    else:
        notes.append(
            f"LDP and maximal leakage are left out: their programs list all sets of {prior.size} symbols"
        )
    for notion in notions:
        found = _calibrated(partial(_level, prior, utility, notion, time_limit), prior, epsilon)
        rows.append(Compared.of(notion.name, found.epsilon, prior, found.mechanism, utility))
        if rows[-1].pml < epsilon - 1e-6:
            notes.append(
                f"{notion.name} stays below: a step up in its own level would leak more than {epsilon:.6g}"
            )
    response = randomized_response_for_pml(prior, epsilon)
    rows.append(Compared.of("randomized response", ldp_epsilon(response), prior, response, utility))
    return Comparison(prior, epsilon, utility, tuple(rows), tuple(notes))


def _with_oracles(rows: list[Compared], prior: Prior, epsilon: float, purpose: Purpose) -> Comparison:
    """The design in `rows` beside the clients of local differential privacy, at equal PML."""
    response = randomized_response_for_pml(prior, epsilon)
    rows.append(Compared.of("randomized response", ldp_epsilon(response), prior, response, purpose))
    notes: tuple[str, ...] = ()
    if prior.size <= frequency_oracles.LARGEST:
        for name, make in ORACLES.items():
            level, mechanism = frequency_oracles.at_pml(make, prior, epsilon)
            rows.append(Compared.of(name, level, prior, mechanism, purpose))
    else:
        notes = (f"other clients are left out: their matrices list all sets of {prior.size} symbols",)
    return Comparison(prior, epsilon, purpose, tuple(rows), notes)


def _level(prior: Prior, utility: Utility, notion: Notion, time_limit: float | None, level: float) -> Design:
    return designed(prior, level, utility, notion=notion, time_limit=time_limit)


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
