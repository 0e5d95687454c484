"""At most as many outputs as inputs, at no loss (Theorem 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .mechanism import Mechanism, check_match
from .prior import Prior
from .utility import Utility

Floats = NDArray[np.float64]


def reduce_outputs(prior: Prior, mechanism: Mechanism, utility: Utility) -> Mechanism:
    """A mechanism with at most N outputs, leakage no higher and utility no lower.

    The proof of Theorem 1, run: N + 1 columns are linearly dependent, sum_y phi(y) P_y = 0. Scaling column y by
    1 + gamma phi(y) keeps all row sums and every lift; utility changes by gamma sum_y phi(y) mu(P_y). Walk in the
    direction that does not lose until a column vanishes, and repeat. Outputs that survive keep their labels.
    """
    check_match(prior, mechanism)
    P = mechanism.matrix
    n, m = P.shape
    gains = utility.columns(prior, P)
    alive = [j for j in range(m) if P[:, j].max() > 0]
    scale = np.ones(m)
    active: list[int] = []
    for j in alive:
        active.append(j)
        while len(active) > n:
            gone = _eliminate(P, gains, scale, active)
            active.remove(gone)
            scale[gone] = 0.0
    kept = sorted(active)
    Q = P[:, kept] * scale[kept]
    return Mechanism(Q / Q.sum(axis=1, keepdims=True), mechanism.inputs, [mechanism.outputs[j] for j in kept])


def _eliminate(P: Floats, gains: Floats, scale: Floats, active: list[int]) -> int:
    """Move weight among the active columns along their linear dependence until one has none left; return it."""
    columns = P[:, active] * scale[active]
    columns = columns / columns.max(axis=0)
    _, _, Vt = np.linalg.svd(columns)
    phi = Vt[-1] / (columns * 0 + P[:, active] * scale[active]).max(axis=0)
    direction = float(phi @ (gains[active] * scale[active]))
    if direction < 0 or (direction == 0 and phi.min() >= 0):
        phi = -phi
    k = int(np.argmin(phi))  # the first to reach 1 + gamma phi = 0
    scale[active] *= np.maximum(1 - phi / phi[k], 0.0)
    return active[k]
