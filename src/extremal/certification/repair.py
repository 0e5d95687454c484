"""The nearest mechanism with the same zeros whose lifts stay below a bound: a linear program. Not trusted.

Entries are P (1 + u). The least sum of |P u| is sought such that rows sum to 1 and every lift is at most the bound.
u is of the order of rounding errors, or of the residue that was set to zero, so it is measured in units of that
order: the tolerance of the solver is then a billionth of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._common.types import Floats, Ints

LARGEST_PROGRAM = 40_000  # entries; more would take minutes
LARGEST_CHANGE = 1e-4  # of an entry, relative
ROUNDS = 4  # of cuts, where the prior is only known to lie in a set
TOLERANCE = 1e-10  # of the solver: the least it takes


def nearest(P: Floats, cap: float, pi: Floats, worst: Callable[[Floats], Floats]) -> Floats | None:
    """P with entries changed by little so that rows sum to 1 and no lift exceeds `cap`, or None if there is none.

    `worst` gives, for each column, the prior under which its mean is smallest. Each is a bound on the column that
    must hold; those of the changed columns are added until they hold, too.
    """
    rows, columns = np.nonzero(P)
    if len(rows) > LARGEST_PROGRAM:
        return None
    priors = worst(P)
    cuts = [(y, priors[:, y]) for y in range(P.shape[1]) if P[:, y].any()]
    for _ in range(ROUNDS):
        change = _solve(P, cap, rows, columns, cuts)
        if change is None:
            return None
        moved = P.copy()
        moved[rows, columns] *= 1 + change
        priors = worst(moved)
        largest, means = moved.max(axis=0), (priors * moved).sum(axis=0)
        over = np.flatnonzero(largest > cap * means * (1 + 1e-15)).tolist()
        if not over or np.array_equal(priors, worst(P)):
            return moved
        cuts += [(y, priors[:, y]) for y in over]
    return None


def _solve(P: Floats, cap: float, rows: Ints, columns: Ints, cuts: list[tuple[int, Floats]]) -> Floats | None:
    """The relative changes of the positive entries."""
    from scipy import optimize  # half a second: not at import
    from scipy.sparse import coo_array, hstack, vstack

    options: Any = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}

    n, k = len(P), len(rows)
    p = P[rows, columns]
    lacking = 1 - P.sum(axis=1)
    means = np.array([float(prior @ P[:, y]) for y, prior in cuts])
    excess = max(P[:, y].max() / mean - cap for (y, _), mean in zip(cuts, means, strict=True))
    unit = max(float(np.abs(lacking).max()), excess, 1e-13)
    most = LARGEST_CHANGE / unit

    cells = np.arange(k)
    sums: Any = coo_array((p, (rows, cells)), shape=(n, k))
    upper, right = [], []
    for (y, prior), mean in zip(cuts, means, strict=True):
        here = np.flatnonzero(columns == y)
        lifts = p[here] / mean
        near = np.flatnonzero(lifts > cap * (1 - 4 * LARGEST_CHANGE))
        block = np.zeros((len(near), len(here)))
        block -= cap * prior[rows[here]] * lifts
        block[np.arange(len(near)), near] += lifts[near]
        at = np.repeat(np.arange(len(near)), len(here)), np.tile(here, len(near))
        upper.append(coo_array((block.ravel(), at), shape=(len(near), k)))
        right.append((cap - lifts[near]) / unit)
    A: Any = vstack(upper)
    solve: Any = optimize.linprog
    found = solve(
        np.concatenate((p, p)),
        A_ub=hstack([A, -A]),
        b_ub=np.concatenate(right),
        A_eq=hstack([sums, -sums]),
        b_eq=lacking / unit,
        bounds=(0, most),
        method="highs",
        options=options,
    )
    return np.asarray((found.x[:k] - found.x[k:]) * unit) if found.status == 0 else None
