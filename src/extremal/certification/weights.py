"""Integer weights close to a mechanism, its zeros kept where they can be. Not trusted: `proof` decides.

A row of weights sums to 2^62. Four facts carry the construction:

1. Rounding a column so that entries above K, the largest entry rounded down, become K and all others go up
   never raises its leakage: min(x, K) / K >= x / max x entry by entry, hence so for the mean under any prior.
2. Scaling a column changes none of its leakage. So columns may be lowered on their own support and rescaled
   until every row sums to 1 again: a linear system, solvable for the vertices that designs consist of.
3. Any other mechanism near by with the same zeros is the solution of a linear program. Entries are P (1 + u). The
   least sum of |P u| is sought such that rows sum to 1 and every lift is at most the bound. u is of the order of
   rounding errors, or of the residue that was set to zero, so it is measured in units of that order: the tolerance of
   the solver is then a billionth of it.
4. (1 - delta) P + delta P_Y, a little of the constant mechanism with the same output distribution, lowers every
   lift. That always works, and fills every zero.

Residue is set to zero first: entries that a solver left, whose lift is positive and below one in a million.
They are worth nothing, and look as if a report left an answer possible that it rules out.

What each row lacks after rounding is spread over its largest entries, a few parts in 1e15 of each; `slack` is
what the largest lift must be lowered by in advance to pay for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import numpy as np

from .._common.types import Bools, Floats, Ints
from ..model.leakage import RULED_OUT
from ..model.levels import bounded_exp
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from .integers import BITS, TOTAL

Means = Callable[[Floats], Floats]  # of columns, each under the prior that makes it smallest

# Of the linear program:
LARGEST_PROGRAM = 40_000  # entries; more would take minutes
LARGEST_REPAIR = 1e-4  # of an entry, relative
CUTS = 4  # rounds of cuts, where the prior is only known to lie in a set
TOLERANCE = 1e-10  # of the solver: the least it takes

SHARE = 4e-15  # of an entry, that it may change by to complete its row
LARGEST_CHANGE = 1e-6  # of the scale of a column, relative
LARGEST_LOSS = 5e-10  # of mutual information, relative
DAMPING = 1e-12  # of the mean eigenvalue


def candidates(prior: Prior | PriorSet, P: Floats, epsilon: float) -> Iterator[tuple[Ints, str]]:
    """Integer weights ever further from P, with how they were made.

    The first that the exact check accepts is the one to take: what was rounded alone, then what keeps the
    zeros, then mixtures with the constant mechanism, the last of which leaks nothing. Mixing would bring
    residue back, so where there was any, it is left out. The slack grows only when the check refuses.
    """
    P = P / P.sum(axis=1, keepdims=True)
    pi, smallest, worst = _means(prior)
    c = bounded_exp(epsilon)
    slacks = [4**k * (4 * SHARE + 16 * P.shape[1] / TOTAL) for k in range(8)]
    residue = removable_residue(pi, smallest, P, c)
    kept = np.where(residue, 0.0, P)
    note = f", {np.count_nonzero(residue)} entries of residue set to zero" if residue.any() else ""
    yield integer_rows(kept / kept.sum(axis=1, keepdims=True)), "rounded" + note
    for slack in slacks[:4]:
        lowered = _rescaled(pi, smallest, kept, c * (1 - slack), P)
        if lowered is None:
            break
        filled = np.count_nonzero(lowered[kept == 0])
        how = (
            f"zeros that epsilon forbids filled: {filled}"
            if filled
            else "columns lowered on their own support"
        )
        yield integer_rows(lowered), f"rounded, {how}{note}"
    if np.any(kept.min(axis=0) < kept.max(axis=0)) and not kept.all():
        for slack in slacks[:4]:
            moved = nearest(kept, c * (1 - slack), worst)
            if moved is None:
                break
            yield integer_rows(moved), "rounded, moved to the nearest mechanism with the same zeros" + note
    if residue.any():
        return
    rho = pi @ P
    for slack in slacks:
        delta = _to_mix_in(pi, smallest, P, c * (1 - slack))
        if 0 < delta < 1:
            yield (
                integer_rows((1 - delta) * P + delta * rho),
                f"rounded, {delta:.2g} of the constant mechanism mixed in",
            )
    yield np.repeat(integer_rows((rho / rho.sum())[None, :]), len(pi), axis=0), "the constant mechanism"


def removable_residue(pi: Floats, smallest: Means, P: Floats, cap: float) -> Bools:
    """Entries of positive lift below one in a million, but for columns that `cap` forbids to be zero there.

    A column that is zero outside of S has a lift of at least 1 / P_X(S). Just below the edge of a privacy region
    an optimal column must have such entries.
    """
    nominal = _lifts(lambda columns: pi @ columns, P)
    residue = (nominal > 0) & (nominal < RULED_OUT)
    columns = np.flatnonzero(residue.any(axis=0))
    if len(columns):
        support = ((P > 0) & ~residue)[:, columns].astype(np.float64)
        forbidden = smallest(support) * cap <= 1
        residue[:, columns[forbidden]] = False
    return residue


def integer_rows(P: Floats) -> Ints:
    """Weights within a few parts in 1e15 of 2^62 P, every row of sum 2^62 exactly, zeros kept (fact 1)."""
    x = np.ldexp(P, BITS)
    w = np.minimum(np.ceil(x), np.floor(x.max(axis=0))).astype(np.int64)
    lacking = TOTAL - w.sum(axis=1)  # a row sums to 2^62 within M units and rounding: no overflow

    # Entries of at least half the mean hold at least half of the row. In decreasing order each takes its
    # share.
    order = np.argsort(-w, axis=1, kind="stable")
    sorted_w = np.take_along_axis(w, order, axis=1)
    share = np.maximum(SHARE, 4 * np.abs(lacking) / TOTAL)[:, None]
    room = np.where(sorted_w >= TOTAL // (2 * P.shape[1]), np.ceil(share * sorted_w), 0).astype(np.int64)
    before = np.cumsum(room, axis=1) - room
    taken = np.clip(np.abs(lacking)[:, None] - before, 0, room) * np.sign(lacking)[:, None]
    np.put_along_axis(w, order, sorted_w + taken, axis=1)
    return np.asarray(w)


def _means(prior: Prior | PriorSet) -> tuple[Floats, Means, Means]:
    """The nominal masses; the smallest mean of columns over the set; and under which prior, as columns."""
    if isinstance(prior, PriorSet):
        return prior.nominal.probabilities, prior.smallest_means, prior.worst_priors
    pi = prior.probabilities
    return (
        pi,
        lambda columns: np.asarray(pi @ columns),
        lambda columns: np.repeat(pi[:, None], columns.shape[1], axis=1),
    )


def _scaled(P: Floats) -> Floats:
    """Columns whose largest entry is 1, or which are 0: P_Y may underflow."""
    largest = P.max(axis=0)
    return np.asarray(np.divide(P, largest, out=np.zeros_like(P), where=largest > 0))


def _lifts(smallest: Means, P: Floats) -> Floats:
    """The largest lift that any prior gives every entry, 0 in outputs that never occur."""
    Q = _scaled(P)
    mean = smallest(Q)
    return np.divide(Q, mean, out=np.zeros_like(Q), where=mean > 0)


def _to_mix_in(pi: Floats, smallest: Means, P: Floats, cap: float) -> float:
    """The least delta for which (1 - delta) P + delta P_Y has no lift above `cap`; 1 if there is none.

    With h the smallest mean of a column and rho its mean under the nominal prior, both for a largest entry of 1, the
    lift is at most (1 - delta + delta rho) / ((1 - delta) h + delta rho).
    """
    Q = _scaled(P)
    rho, h = pi @ Q, smallest(Q)
    if cap <= 1:
        return 1.0
    occurs = rho > 0
    odds = float(((1 - cap * h[occurs]) / (rho[occurs] * (cap - 1))).max())
    return odds / (1 + odds) if odds > 0 else 0.0


def _rescaled(pi: Floats, smallest: Means, P: Floats, cap: float, before: Floats) -> Floats | None:
    """A mechanism with the zeros of P and no lift above `cap`, or None where this construction finds none.

    Every column above `cap` moves towards the flat column on its own support; then the columns are scaled so
    that rows sum to 1. A zero that `cap` forbids goes: its column moves towards the constant one. Scales may have
    to change more than entries do. To first order that costs an optimal mechanism nothing, because what its
    columns are worth balances in every row; any other pays, so the mutual information must stay that of `before`,
    which is P with residue.
    """
    support = P > 0
    occurs = np.asarray(support.any(axis=0))
    if support[:, occurs].all():
        return None  # no zero to keep: mixing is simpler
    largest, mean = _lifts(smallest, P).max(axis=0), smallest(P)
    excess = np.maximum(largest - cap, 0.0)
    least = smallest(support.astype(np.float64))  # 0 where some prior of the set has no mass there
    # The lift of the columns that are constant on their support: no column with these zeros has a lower one.
    flat = np.divide(1.0, least, out=np.where(occurs, np.inf, 0.0), where=occurs & (least > 0))
    forbidden = (excess > 0) & (2 * excess > largest - flat)
    support[:, forbidden] = True
    flat, room = np.where(forbidden, 1.0, flat), largest - np.where(forbidden, 1.0, flat)
    if np.any((excess > 0) & (2 * excess > room)):
        return None  # not even the constant column is low enough
    part = np.divide(excess, room, out=np.zeros_like(room), where=excess > 0)
    D = P * (1 - part) + support * (part * np.where(part > 0, flat, 0.0) * mean)
    z = np.zeros(len(occurs))
    z[occurs] = _scales(D[:, occurs], 1 - D.sum(axis=1))
    lowered = D * (1 + z)
    sums = lowered.sum(axis=1, keepdims=True)
    lost = float((before - P).sum(axis=1).max())  # to residue
    if np.abs(z).max() > LARGEST_CHANGE + 16 * lost or np.abs(sums - 1).max() > SHARE:
        return None
    value, left = _information(pi, before), _information(pi, lowered)
    return np.asarray(lowered / sums) if abs(left - value) <= LARGEST_LOSS * value + 32 * lost else None


def _information(pi: Floats, P: Floats) -> float:
    """Mutual information from terms t log t - t + 1 >= 0 of the lifts, which lose no digits near t = 1."""
    t, rho = _lifts(lambda columns: pi @ columns, P), pi @ P
    logs = np.where(t < 0.5, np.log(np.maximum(t, 1e-300)), np.log1p(np.maximum(t, 0.5) - 1))
    terms = t * logs - (t - 1)
    return float(pi @ terms @ rho)


def _scales(D: Floats, lacking: Floats) -> Floats:
    """z with D z = lacking as nearly as can be; numbers that are too large where nothing comes near.

    A square system is solved as it is. Any other, and a singular one, by least squares with a little damping:
    the right side is of the order of rounding errors, so three digits of z are enough.
    """
    n, m = D.shape
    if n == m:
        try:
            z = np.linalg.solve(D, lacking)
        except np.linalg.LinAlgError:
            z = np.full(m, np.inf)
        if np.abs(z).max() <= LARGEST_CHANGE:
            return np.asarray(z)
    G = D @ D.T if n <= m else D.T @ D
    G[np.diag_indices_from(G)] += DAMPING * np.trace(G) / len(G)
    z = D.T @ np.linalg.solve(G, lacking) if n <= m else np.linalg.solve(G, D.T @ lacking)
    return np.asarray(z)


def nearest(P: Floats, cap: float, worst: Means) -> Floats | None:
    """P with entries changed by little so that rows sum to 1 and no lift exceeds `cap`, or None if there is none.

    `worst` gives, for each column, the prior under which its mean is smallest. Each is a bound on the column that
    must hold; those of the changed columns are added until they hold, too.
    """
    rows, columns = np.nonzero(P)
    if len(rows) > LARGEST_PROGRAM:
        return None
    priors = worst(P)
    cuts = [(y, priors[:, y]) for y in range(P.shape[1]) if P[:, y].any()]
    for _ in range(CUTS):
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

    n, k = len(P), len(rows)
    p = P[rows, columns]
    lacking = 1 - P.sum(axis=1)
    means = np.array([float(prior @ P[:, y]) for y, prior in cuts])
    excess = max(P[:, y].max() / mean - cap for (y, _), mean in zip(cuts, means, strict=True))
    unit = max(float(np.abs(lacking).max()), excess, 1e-13)
    most = LARGEST_REPAIR / unit

    cells = np.arange(k)
    sums = coo_array((p, (rows, cells)), shape=(n, k))
    upper, right = [], []
    for (y, prior), mean in zip(cuts, means, strict=True):
        here = np.flatnonzero(columns == y)
        lifts = p[here] / mean
        near = np.flatnonzero(lifts > cap * (1 - 4 * LARGEST_REPAIR))
        block = np.zeros((len(near), len(here)))
        block -= cap * prior[rows[here]] * lifts
        block[np.arange(len(near)), near] += lifts[near]
        at = np.repeat(np.arange(len(near)), len(here)), np.tile(here, len(near))
        upper.append(coo_array((block.ravel(), at), shape=(len(near), k)))
        right.append((cap - lifts[near]) / unit)
    A = vstack(upper)
    found = optimize.linprog(
        np.concatenate((p, p)),
        A_ub=cast(Floats, hstack([A, -A])),  # its stubs know no sparse matrix
        b_ub=np.concatenate(right),
        A_eq=cast(Floats, hstack([sums, -sums])),
        b_eq=lacking / unit,
        bounds=(0, most),
        method="highs",
        options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
    )
    return None if found.status or found.x is None else np.asarray((found.x[:k] - found.x[k:]) * unit)
