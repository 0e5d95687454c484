"""Alias tables in plain Python integers, as docs/api/file-format.md has them, and weights to try them on."""

import numpy as np

from extremal.certification.integers import TOTAL


def alias_table(w):
    """(threshold, alias) of each bucket of one row."""
    b = max(1, (len(w) - 1).bit_length())
    size = 2 ** (62 - b)
    w = list(w) + [0] * (2**b - len(w))
    table = [(size, j) for j in range(2**b)]
    heavy = [j for j in range(2**b) if w[j] >= size]
    light = [j for j in range(2**b) if w[j] < size]
    h = heavy.pop(0)
    left = w[h]

    def next_heavy():
        nonlocal h, left
        g = heavy.pop(0)
        table[h] = (left, g)
        left = w[g] - (size - left)
        h = g

    for j in light:
        while left < size:
            next_heavy()
        table[j] = (w[j], h)
        left -= size - w[j]
    while left < size:
        next_heavy()
    return table


def report(table, word):
    """The outcome that a 64-bit word draws."""
    b = len(table).bit_length() - 1
    u = word >> 2
    bucket, rest = u >> (62 - b), u & (2 ** (62 - b) - 1)
    threshold, alias = table[bucket]
    return bucket if rest < threshold else alias


def random_weights(rng, n, m):
    """Rows of all kinds: even, skewed, with zeros, one outcome only, and masses at the edge of a bucket."""
    size = TOTAL >> max(1, (m - 1).bit_length())
    rows = []
    for _ in range(n):
        kind = rng.integers(4)
        if kind == 0:
            w = [int(x * TOTAL) for x in rng.dirichlet(np.full(m, rng.choice([0.05, 1, 50])))]
        elif kind == 1:
            w = [0] * m
        elif kind == 2:
            w = [size + int(rng.integers(-1, 2)) for _ in range(m)]
        else:
            w = [int(rng.integers(0, 3)) for _ in range(m)]
        j = int(rng.integers(m))
        w[j] += TOTAL - sum(w)
        if w[j] < 0:
            w = [0] * m
            w[j] = TOTAL
        rows.append(w)
    return rows
