"""Compiled loops (numba): local search for lift vectors, and the list of all of them where there are few."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDING = 4e-15  # what a mass that should be 0 may be


@numba.njit(cache=True)
def climb(pi: Floats, excess: float, W: Floats, y: Floats, X: Floats, sweeps: int) -> Floats:
    """Move each row of X, in place, to a vertex where no exchange of mass between two symbols raises x'Wx - y.x.

    W must be positive semidefinite on the plane pi . x = 0, so that an exchange is best taken to its end. Returns the
    values reached.
    """
    n = len(pi)
    values = np.empty(len(X))
    g = np.empty(n)
    for a in range(len(X)):
        x = X[a]
        for i in range(n):
            total = -0.5 * y[i]
            for j in range(n):
                total += W[i, j] * x[j]
            g[i] = total
        scale = 0.0
        for i in range(n):
            scale += abs(g[i] * x[i])
        for _ in range(sweeps):
            moved = False
            for shift in range(n):
                i = (shift + a) % n
                best = 1e-12 * scale
                who = -1
                up = True
                room = pi[i] * (excess - x[i])
                held = pi[i] * (x[i] + 1)
                slope = g[i] / pi[i]
                own = W[i, i] / (pi[i] * pi[i])
                for k in range(n):
                    if k == i:
                        continue
                    bend = own + (W[k, k] / pi[k] - 2 * W[i, k] / pi[i]) / pi[k]
                    tilt = 2 * (slope - g[k] / pi[k])
                    t = min(room, pi[k] * (x[k] + 1))
                    if t > 0:
                        gain = t * (tilt + t * bend)
                        if gain > best:
                            best = gain
                            who = k
                            up = True
                    t = min(held, pi[k] * (excess - x[k]))
                    if t > 0:
                        gain = t * (t * bend - tilt)
                        if gain > best:
                            best = gain
                            who = k
                            up = False
                if who >= 0:
                    moved = True
                    if up:
                        exchange(pi, excess, W, x, g, i, who)
                    else:
                        exchange(pi, excess, W, x, g, who, i)
            if not moved:
                break
        settle(pi, excess, W, x, g)
        total = 0.0
        for i in range(n):
            row = -y[i]
            for j in range(n):
                row += W[i, j] * x[j]
            total += row * x[i]
        values[a] = total
    return values


@numba.njit(cache=True)
def exchange(pi: Floats, excess: float, W: Floats, x: Floats, g: Floats, i: int, k: int) -> None:
    """Move as much mass as there is room for from symbol k to symbol i; one of them ends at its limit exactly."""
    room, held = pi[i] * (excess - x[i]), pi[k] * (x[k] + 1)
    old_i, old_k = x[i], x[k]
    if room <= held:
        x[i] = excess
        x[k] = -1.0 if room == held else max(x[k] - room / pi[k], -1.0)
    else:
        x[k] = -1.0
        x[i] = min(x[i] + held / pi[i], excess)
    di, dk = x[i] - old_i, x[k] - old_k
    for j in range(len(x)):
        g[j] += W[j, i] * di + W[j, k] * dk


@numba.njit(cache=True)
def settle(pi: Floats, excess: float, W: Floats, x: Floats, g: Floats) -> None:
    """Exchange mass between symbols strictly within their limits until at most one is left; its x then fits."""
    n = len(pi)
    first = -1
    for i in range(n):
        if x[i] <= -1.0 or x[i] >= excess:
            continue
        if first < 0:
            first = i
            continue
        bend = W[i, i] / pi[i] ** 2 + W[first, first] / pi[first] ** 2 - 2 * W[i, first] / pi[i] / pi[first]
        tilt = 2 * (g[i] / pi[i] - g[first] / pi[first])
        t = min(pi[i] * (excess - x[i]), pi[first] * (x[first] + 1))
        s = min(pi[i] * (x[i] + 1), pi[first] * (excess - x[first]))
        if t * (tilt + t * bend) >= s * (s * bend - tilt):
            exchange(pi, excess, W, x, g, i, first)
        else:
            exchange(pi, excess, W, x, g, first, i)
        if -1.0 < x[i] < excess:
            first = i
        elif not -1.0 < x[first] < excess:
            first = -1
    if first >= 0:
        total = 0.0
        for j in range(n):
            if j != first:
                total += pi[j] * x[j]
        x[first] = inside(pi[first], excess, total)


@numba.njit(cache=True)
def inside(mass: float, excess: float, total: float) -> float:
    """The x of a symbol that balances `total`; at a limit if it misses it by rounding only."""
    x = -total / mass
    if mass * (x + 1.0) <= ROUNDING:
        return -1.0
    if mass * (excess - x) <= ROUNDING * (1.0 + excess):
        return excess
    return x


@numba.njit(cache=True)
def fill(pi: Floats, excess: float, orders: NDArray[Any]) -> Floats:
    """For each order the vertex whose symbols are full in this order as far as the mass reaches."""
    n = len(pi)
    X = np.full((len(orders), n), -1.0)
    capacity = 1.0 / (1.0 + excess)
    for a in range(len(orders)):
        room = capacity
        for i in orders[a]:
            if pi[i] <= room:
                X[a, i] = excess
                room -= pi[i]
            else:
                total = 0.0
                for j in range(n):
                    if j != i:
                        total += pi[j] * X[a, j]
                X[a, i] = inside(pi[i], excess, total)
                break
    return X


@numba.njit(cache=True)
def all_vertices(pi: Floats, excess: float, noise: float, most: int) -> tuple[Floats, bool]:
    """All vertices of {-1 <= x <= excess, pi . x = 0}, as rows, and whether there are no more than `most`.

    `pi` must be in decreasing order. Sets of full symbols are listed depth first, the smallest masses first: a symbol
    that does not fit into the room left rules out all before it. What fits up to `noise` counts as fitting exactly.
    """
    n = len(pi)
    X = np.empty((most, n))
    full = np.zeros(n, dtype=np.bool_)
    stack = np.empty(n + 1, dtype=np.int64)
    rooms = np.empty(n + 1)
    rooms[0] = 1.0 / (1.0 + excess)
    noise *= rooms[0]
    count = depth = 0
    i = n
    fresh = True
    while True:
        room = rooms[depth]
        if fresh and room <= noise:
            if count == most:
                return X, False
            write(pi, excess, full, -1, X[count])
            count += 1
        elif fresh:
            for j in range(n):
                if pi[j] <= room + noise:
                    break
                if not full[j]:
                    if count == most:
                        return X, False
                    write(pi, excess, full, j, X[count])
                    count += 1
        i -= 1
        fresh = i >= 0 and room > noise and pi[i] <= room + noise
        if fresh:
            stack[depth] = i
            depth += 1
            rooms[depth] = room - pi[i]
            full[i] = True
        elif depth == 0:
            return X[:count].copy(), True
        else:
            depth -= 1
            i = stack[depth]
            full[i] = False


@numba.njit(cache=True)
def write(pi: Floats, excess: float, full: NDArray[Any], partial: int, x: Floats) -> None:
    """The vertex with these symbols full and one partial, or none if it is -1."""
    total = 0.0
    for i in range(len(pi)):
        x[i] = excess if full[i] else -1.0
        if i != partial:
            total += pi[i] * x[i]
    if partial >= 0:
        x[partial] = inside(pi[partial], excess, total)


@numba.njit(cache=True)
def herd(
    pi: Floats,
    excess: float,
    inverse: Floats,
    W: Floats,
    y: Floats,
    pull: Floats,
    X: Floats,
    weight: float,
    sweeps: int,
) -> None:
    """climb() for the rows of X one after another, each time after what the rows before add to the information.

    `inverse` is C^-1 of what there is already, over all symbols but the first, and W = C^-1 G C^-1 over all, with
    zeros for the first; both change. Every row adds `weight` of itself to C. `pull` draws rows to where the sum of
    the rows before falls short of 0.
    """
    n = len(pi)
    total = np.zeros(n)
    u, v = np.empty(n), np.empty(n)
    price = np.empty(n)
    for a in range(len(X)):
        for i in range(n):
            price[i] = y[i] + pull[i] * total[i]
        climb(pi, excess, W, price, X[a : a + 1], sweeps)
        x = X[a]
        # C <- C + weight x x', by Sherman and Morrison; C^-1 G C^-1 follows with products of two vectors.
        through = gamma = 0.0
        u[0] = v[0] = 0.0
        total[0] += x[0]
        for i in range(1, n):
            total[i] += x[i]
            u[i] = v[i] = 0.0
            for j in range(1, n):
                v[i] += inverse[i - 1, j - 1] * x[j]
                u[i] += W[i, j] * x[j]
            through += v[i] * x[i]
            gamma += u[i] * x[i]
        f = weight / (1.0 + weight * through)
        for i in range(1, n):
            for j in range(1, n):
                inverse[i - 1, j - 1] -= f * v[i] * v[j]
                W[i, j] += f * (f * gamma * v[i] * v[j] - v[i] * u[j] - u[i] * v[j])
