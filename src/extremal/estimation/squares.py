"""Maximum likelihood by quadratic models: the short way where there are many reports for each symbol.

Near the maximum, q = theta P is near the shares f of the reports, and minus the log-likelihood is nearly quadratic with

    H = P diag(w) P^T,     w = f / q^2.

So each step minimises 1/2 x H x - b x over x >= 0, with b such that the model has the slope of the likelihood at
theta. H stays as it is while steps converge: they differ by the active set and by b alone, and cost little more
than a product with P. Nothing here is trusted: the caller holds the answer against the gap, which proves it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._common.types import Floats
from .contrasts import MOST_SYMBOLS

MODELS = 8
STEPS = 30  # with one model
EXCHANGES = 40  # of the active set, in one step
ROUNDING = 2e-14  # a gap per report that doubles can still tell from 0

Product = Callable[[Floats], Floats]


def by_squares(P: Floats, f: Floats) -> Floats | None:
    """The shares at the maximum of sum_y f_y log (theta P)_y, if quadratic models lead there; None if not."""
    if not f.all():
        seen = f > 0
        P, f = P[:, seen], f[seen]
    size, outputs = P.shape
    if size > outputs or size > MOST_SYMBOLS:
        return None  # not strictly concave, or too large
    q, theta = f, None
    for _ in range(MODELS):
        model = _Model.of(P, f / (q * q))
        last = np.inf
        for _ in range(STEPS):
            x = None if model is None else model.minimum(P @ (model.w * q + f / q) - 1.0)
            if x is None or not x.sum() > 0:
                return theta
            theta = np.asarray(x / x.sum(), dtype=np.float64)
            q = theta @ P
            if not q.min() > 0:
                return None
            gap = float((P @ (f / q)).max()) - 1.0
            if gap <= ROUNDING:
                return theta
            if not gap < 0.25 * last:
                break
            last = gap
    return theta


class _Model:
    """1/2 x H x - b x over x >= 0 for one H and many b, with H^-1 = A A^T known by its products.

    With y the multipliers of the set B of zeros, x = H^-1 (b + y), so S y_B = -(H^-1 b)_B with S = (H^-1)_BB: a system
    as small as B. Its columns A^T e_i are made when a symbol first enters B, and kept.
    """

    def __init__(self, w: Floats, half: Product, back: Product, size: int) -> None:
        self.w, self.half, self.back = w, half, back  # half is A^T, back is A
        self.place = np.full(size, -1)  # of the row of each symbol in `made`, if it has one
        self.made: Floats = np.empty((0, size))
        self.zeros: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.columns: Floats = self.made.T  # of the set of zeros
        self.factor: Floats = np.empty((0, 0))  # of S

    @classmethod
    def of(cls, P: Floats, w: Floats) -> _Model | None:
        """The model with H = P diag(w) P^T, or None if that is singular."""
        from scipy.linalg import lapack

        size, outputs = P.shape
        root = np.sqrt(w)
        if size == outputs:  # A = P^-T diag(root)^-1: no need to square the condition of P
            lu, pivots, info = lapack.dgetrf(P.T)

            def half(right: Floats) -> Floats:
                solved = lapack.dgetrs(lu, pivots, right, trans=1)[0]
                return np.asarray(solved / (root if solved.ndim == 1 else root[:, None]))

            def back(right: Floats) -> Floats:
                return np.asarray(lapack.dgetrs(lu, pivots, right / root)[0])

        else:
            scaled = P * root
            low, info = lapack.dpotrf(scaled @ scaled.T, lower=1)

            def half(right: Floats) -> Floats:
                return np.asarray(lapack.dtrtrs(low, right, lower=1)[0])

            def back(right: Floats) -> Floats:
                return np.asarray(lapack.dtrtrs(low, right, lower=1, trans=1)[0])

        return cls(w, half, back, size) if info == 0 else None

    def minimum(self, b: Floats) -> Floats | None:
        """argmin over x >= 0, by block principal pivoting from the last set of zeros; None if it does not settle."""
        from scipy.linalg import lapack

        free = self.back(self.half(b))
        if not np.isfinite(free).all():
            return None
        fewest, spare = len(b) + 1, 3
        for _ in range(EXCHANGES):
            x, y = free, free[:0]
            if len(self.zeros):
                y = -lapack.dpotrs(self.factor, free[self.zeros], lower=1)[0]
                x = free + self.back(self.columns @ y)
                x[self.zeros] = 0.0
            wrong = x < 0
            wrong[self.zeros] = y < 0
            count = int(np.count_nonzero(wrong))
            if count == 0:
                return x
            if not len(self.zeros):  # most of those just below 0 rise once the others are held at 0
                wrong = x <= x[wrong].mean()
            # All at once, unless that made no progress three times: then the last alone, which always ends.
            if count < fewest:
                fewest, spare = count, 3
            elif spare > 0:
                spare -= 1
            else:
                wrong[: int(np.flatnonzero(wrong)[-1])] = False
            if not self._exchange(wrong):
                return None
        return None

    def _exchange(self, moved: NDArray[np.bool_]) -> bool:
        """Move symbols into or out of the set of zeros; False if rounding makes its system singular."""
        from scipy.linalg import lapack

        moved[self.zeros] ^= True
        self.zeros = np.flatnonzero(moved)
        new = self.zeros[self.place[self.zeros] < 0]
        if len(new):
            unit = np.zeros((len(moved), len(new)), order="F")
            unit[new, np.arange(len(new))] = 1.0
            known = len(self.made)
            self.made = np.vstack([self.made, self.half(unit).T])
            self.place[new] = known + np.arange(len(new))
        rows = self.made[self.place[self.zeros]]
        self.columns = rows.T
        self.factor, info = lapack.dpotrf(rows @ rows.T, lower=1)
        return bool(info == 0)
