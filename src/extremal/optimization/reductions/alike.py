"""Symbols that the purpose does not tell apart.

Reports about merged symbols estimate anything linear that treats them alike at least as well as reports about the
symbols themselves: averaging the rows of a mechanism over such a group, by the prior, keeps its leakage within
epsilon, and what is left is the information in the model in which the shares within groups are known.
"""

from __future__ import annotations

import numpy as np

from ..._common.types import Floats, Ints


def merge_alike(A: Floats) -> Ints:
    """The group of each symbol, numbered by first appearance: i and j share one if A (e_i - e_j) is constant."""
    if np.count_nonzero(A - np.diag(np.diagonal(A))) == 0:
        ignored = np.diagonal(A) == 0
        alike = np.eye(len(A), dtype=np.bool_) | np.multiply.outer(ignored, ignored)
    else:
        centred = A - A.mean(axis=0)
        centred = centred - centred.mean(axis=1, keepdims=True)
        own = np.diagonal(centred)
        both = own[:, None] + own
        # The squared length of A^1/2 (e_i - e_j), as far as that sums to 0.
        alike = both - 2 * centred <= 1e-13 * both + 1e-15 * own.max()
    groups = np.full(len(A), -1, dtype=np.int64)
    count = 0
    for i in range(len(A)):
        if groups[i] < 0:
            groups[alike[i] & (groups < 0)] = count
            groups[i] = count
            count += 1
    return groups
