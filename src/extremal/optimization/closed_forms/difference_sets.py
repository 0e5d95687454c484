"""Cyclic difference sets: k residues modulo n whose differences meet every other residue equally often.

Their n translates are the fewest subsets of size k in which all pairs of symbols are balanced. For a uniform prior at
e^epsilon = n / k that is a mechanism with n outputs that no other can beat.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..._common.types import Ints

LARGEST = 400  # symbols: the search for a primitive polynomial takes a second there

# Planes over fields whose order is no prime.
PLANES = {
    (21, 5): (3, 6, 7, 12, 14),
    (73, 9): (1, 2, 4, 8, 16, 32, 37, 55, 64),
    (91, 10): (0, 1, 3, 9, 27, 49, 56, 61, 77, 81),
}


def difference_set(n: int, k: int) -> Ints | None:
    """A cyclic difference set of k residues modulo n, or None if no construction here gives one."""
    if not 0 < k < n or n > LARGEST or k * (k - 1) % (n - 1):
        return None
    if k in (1, n - 1):
        return np.arange(k)
    for candidate in (_known(n, k), _complement(_known(n, n - k), n)):
        if candidate is not None and is_difference_set(candidate, n):
            return candidate
    return None


def is_difference_set(residues: Ints, n: int) -> bool:
    """Whether all differences other than 0 occur equally often modulo n."""
    differences = (residues[:, None] - residues[None, :]) % n
    counts = np.bincount(differences.ravel(), minlength=n)[1:]
    return bool((counts == counts[0]).all())


def _complement(residues: Ints | None, n: int) -> Ints | None:
    return None if residues is None else np.setdiff1d(np.arange(n), residues)


def _known(n: int, k: int) -> Ints | None:
    if (n, k) in PLANES:
        return np.array(PLANES[n, k])
    if 2 * k + 1 == n and n % 4 == 3 and _is_prime(n):
        return np.unique(np.arange(1, n) ** 2 % n)  # Paley
    for p in filter(_is_prime, range(2, k + 1)):
        for degree in range(3, 12):
            if (p**degree - 1) // (p - 1) == n and (p ** (degree - 1) - 1) // (p - 1) == k:
                return _singer(p, degree, n)
    return None


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % f for f in range(2, int(n**0.5) + 1))


def _singer(p: int, degree: int, n: int) -> Ints | None:
    """Singer: the powers of a primitive element of GF(p^degree) that lie in a hyperplane."""
    order = p**degree - 1
    for lower in itertools.product(range(p), repeat=degree):
        if lower[0] == 0:
            continue
        state = [0] * degree
        state[0] = (
            1  # the element 1; multiplying by the root shifts, and the polynomial replaces the top power
        )
        found = []
        for i in range(order):
            if i and state == [1] + [0] * (degree - 1):
                break
            if state[-1] == 0 and i < n:
                found.append(i)
            top = state[-1]
            state = [(below - top * a) % p for below, a in zip([0, *state[:-1]], lower, strict=True)]
        else:
            return np.array(found)
    return None
