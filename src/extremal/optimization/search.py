"""The best mixture of vertices: known, or by column generation."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Protocol

import numpy as np

from .._common.types import Floats
from ..errors import SolverError
from ..model.proof import Certificate
from .centred import Problem, efficiency
from .closed_forms import estimates as closed_forms
from .closed_forms.symmetric import alike, arrange, fullest
from .found import Found
from .masters.pruning import SILENT, exactly_balanced, prune
from .masters.quadratic import Mixture, mix
from .oracles.exchange.bounds import ULP, efficiency_bound, most_by_entries, most_by_vertices
from .oracles.exchange.oracle import MANY, find_source
from .oracles.exchange.spread import spread
from .watch import Watch

ENOUGH = 0.7  # of the goal: the rest is for fewer outputs
FEW = 4  # outputs for each symbol, unless it takes more to reach the goal
SPARED = 5e-3  # of the efficiency, at most, for fewer outputs where the goal is missed
RIDGE = 1e-6  # of the errors of all shares, added to a loss that does not need all of them
PAIR_ROUNDS = 60  # of the bound by variances and covariances
MIXED = 18  # symbols: beyond, arrangements of the best vector are not improved upon by other weights


def closed(problem: Problem) -> Found | None:
    """The optimum where it is known without a search."""
    known = closed_forms.simplex(problem)
    if known is not None:
        X, q = known[0], exactly_balanced(*known)
        W = _slope(problem, X, q)
        y = closed_forms.simplex_prices(X, W)
        blur = 4 * problem.size * ULP * float(np.max(np.abs(X) @ problem.pi))
        upper = efficiency_bound(problem, W, most_by_vertices(problem, W, y, X, blur))
        return Found(X, q, upper, Certificate(W, y), {"method": "simplex"})
    blocks = closed_forms.block_design(problem)
    if blocks is not None:
        n = problem.size
        d = np.ones(n)
        upper = efficiency_bound(problem, np.diag(d), most_by_entries(problem, np.diag(d)))
        return Found(blocks, np.full(n, 1 / n), upper, Certificate(d), {"method": "block design"})
    return None


def _slope(problem: Problem, X: Floats, q: Floats) -> Floats:
    """W = C^-1 G C^-1 of a mixture, over all symbols."""
    inverse = np.linalg.inv((X[:, 1:].T * q) @ X[:, 1:])
    W = np.zeros((problem.size, problem.size))
    W[1:, 1:] = inverse @ problem.loss @ inverse
    return W


def search(true: Problem, goal: float, rounds: int, watch: Watch, start: Floats | None) -> Found:
    """Column generation, or beyond MANY symbols vectors of equal weights, whose best weights take too long to find.

    It begins with randomized response, which is also what is left if time is up before the first mixture.
    """
    simple = closed_forms.randomized_response(true)
    watch.value = efficiency(true, *simple)
    if alike(true) and rounds > 0:
        d = np.ones(true.size)
        upper = efficiency_bound(true, np.diag(d), most_by_entries(true, np.diag(d)))
        rows, found = arranged(true, fullest(true), upper, Certificate(d), goal, watch)
        if found is not None:
            return found
        start = rows if start is None else np.concatenate([start, rows])
    problem, many = ridged(true), true.size > MANY
    try:
        watch.tell()
        source = find_source(problem, true, 0 if many else PAIR_ROUNDS, watch, goal, ENOUGH * goal)
    except KeyboardInterrupt:
        watch.interrupted = True
        return Found(*simple, 1.0, Certificate(1 / true.most_variance), {"method": "randomized response"})
    if many and rounds > 0:
        return spread(source, simple, goal, watch)
    return improve(source, simple, goal, rounds, watch, start)


def arranged(
    problem: Problem, x: Floats, upper: float, proof: Certificate, goal: float, watch: Watch
) -> tuple[Floats, Found | None]:
    """Arrangements of the best vector of alike symbols; and the design of equal weights that they are, unless a
    search may find one with fewer outputs: among few symbols that is worth it."""
    rows, lost, curve = arrange(x, 0.98 * goal, watch)
    if problem.size <= MIXED and (lost > goal or len(rows) > FEW * problem.size):
        return rows[: FEW * problem.size], None
    X, q = _distinct(rows, np.full(len(rows), 1 / len(rows)))
    watch.value, watch.upper = efficiency(problem, X, q), upper
    watch.tell()
    stats = {"method": "symmetric", "rounds": len(curve), "columns": len(X), "curve": curve}
    return rows, Found(X, q, upper, proof, stats)


class Columns(Protocol):
    """Where lift vectors less 1 come from, and what is proven about all of them: see columns.Source."""

    @property
    def problem(self) -> Problem: ...
    @property
    def true(self) -> Problem: ...
    @property
    def name(self) -> str: ...
    @property
    def short(self) -> bool: ...
    @property
    def upper(self) -> float: ...
    @property
    def relaxation(self) -> Certificate: ...
    @property
    def exhausted(self) -> bool: ...
    def little(self, value: float, upper: float) -> float: ...
    def first(self) -> tuple[Floats, Floats]: ...
    def more(self, mixture: Mixture, round_: int, listed: bool) -> Floats: ...
    def bound(self, mixture: Mixture, X: Floats, listed: bool) -> tuple[float, Certificate]: ...


def improve(
    source: Columns,
    simple: tuple[Floats, Floats],
    goal: float,
    rounds: int,
    watch: Watch,
    start: Floats | None = None,
) -> Found:
    """Mix the vectors so far and look for better ones, again and again; `simple` is what is left if that fails."""
    problem, true = source.problem, source.true
    watch.upper, certificate = source.upper, source.relaxation
    watch.value = least = efficiency(true, *simple)
    mixture, mixed, tried, round_ = None, simple[0], 0, 0
    try:
        watch.tell()
        X, weights = source.first()
        if start is not None:
            X, weights = np.concatenate([X, start]), np.append(weights, np.zeros(len(start)))
        X, weights = _distinct(X, weights)
        most, before, tried = FEW * true.size, 0.0, len(X)
        while round_ < rounds and not watch.over():
            try:
                following = mix(X[:, 1:], problem.loss, goal / 10, weights, watch)
            except np.linalg.LinAlgError:  # masses too different for doubles: what was found before stands
                break
            value = true.direct / float(np.sum(true.loss * following.inverse))
            if following.error > 1e-6 or (watch.over() and value < watch.value):
                break
            mixture, mixed, watch.value = following, X, value
            round_ += 1
            stalled = value - before < source.little(value, watch.upper)
            listed = source.short or stalled or round_ == rounds
            bound, proof = source.bound(mixture, X, listed)
            if bound < watch.upper:
                watch.upper, certificate = bound, proof
            watch.tell()
            gap, before = watch.upper / value - 1, value
            if gap <= ENOUGH * goal or (source.exhausted and stalled) or watch.over() or round_ == rounds:
                break
            most += true.size if stalled else 0
            new = source.more(mixture, round_, listed)
            tried += len(new)
            X, weights = _join(X, mixture, most, new)
        made = _pruned(source, mixed, mixture, goal, watch)
    except KeyboardInterrupt:
        watch.interrupted = True
        made = _pruned(source, mixed, mixture, goal, watch)
    stats = {"method": source.name, "rounds": round_, "columns": tried}
    if made is None or efficiency(true, *made[:2]) < least:
        return Found(*simple, watch.upper, certificate, stats | {"method": "randomized response"})
    return Found(*made[:2], watch.upper, certificate, stats | {"curve": made[2]})


def _pruned(
    source: Columns, X: Floats, mixture: Mixture | None, goal: float, watch: Watch
) -> tuple[Floats, Floats, list[tuple[int, float]]] | None:
    """Rows of X, their weights and what else was tried; None if there are none whose weights balance them."""
    if mixture is None:
        return None
    gap = watch.upper / watch.value - 1
    # The gap may grow to the goal for fewer outputs, and a little where it is missed.
    room = max(0.98 * goal - gap, 0.2 * (goal - gap))
    with contextlib.suppress(np.linalg.LinAlgError, SolverError):
        return prune(source.problem, X, mixture, room if room > 0 else min(gap / 10, SPARED), watch)
    return None


def _join(X: Floats, mixture: Mixture, most: int, new: Floats) -> tuple[Floats, Floats]:
    """At most so many rows that tell most and the new ones, without duplicates; weights to start from."""
    kept = np.sort(np.argsort(-mixture.told, kind="stable")[:most])
    kept = kept[mixture.told[kept] > SILENT]
    rows = np.concatenate([X[kept], new])
    return _distinct(rows, np.append(mixture.weights[kept], np.zeros(len(new))))


def _distinct(X: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Equal rows merged."""
    rows, place = np.unique(X, axis=0, return_inverse=True)
    return rows, np.bincount(place.ravel(), weights=weights).astype(np.float64)


def ridged(problem: Problem) -> Problem:
    """The same problem with a loss that needs all shares: a little of the errors of all is added where it does not."""
    G = problem.loss
    shares = _shares(problem)
    values = np.linalg.eigvalsh(G)
    if values[0] > RIDGE * values[-1]:
        return problem
    weight = RIDGE * float(np.trace(G)) / float(np.trace(shares))
    return replace(problem, loss=G + weight * shares)


def _shares(problem: Problem) -> Floats:
    """G of the errors of all shares."""
    n = problem.size
    R = np.eye(n)[:, 1:] - problem.pi[:, None]
    return R.T @ R
