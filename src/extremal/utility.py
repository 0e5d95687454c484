"""Sub-convex utilities (Definition 4): U(P) = sum over outputs of mu(column), mu sub-linear.

Every utility is an object that can be called with (prior, mechanism) and knows mu(prior, columns). What the
solvers may exploit is stated by the class: an FInformation is separable over symbols, an ExpectedGain is a
maximum of linear functions, a plain Utility is only sub-linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import UtilityError
from .mechanism import Mechanism, check_match
from .prior import Prior

Floats = NDArray[np.float64]
Column = Callable[[Prior, Floats], Floats]
Generator = Callable[[Floats], Floats]


class Utility:
    """Any sub-linear function of columns: mu(prior, columns of shape (N, M)) -> (M,).

    `symmetric` promises that mu does not change when the symbols of a uniform prior are permuted (Theorem 4).
    """

    def __init__(self, mu: Column, name: str = "utility", symmetric: bool = False) -> None:
        self.mu = mu
        self.name = name
        self.symmetric = symmetric

    def __call__(self, prior: Prior, mechanism: Mechanism) -> float:
        """U(P), the sum of mu over the outputs."""
        check_match(prior, mechanism)
        return math.fsum(self.columns(prior, mechanism.matrix))

    def columns(self, prior: Prior, columns: Floats) -> Floats:
        """mu of each column, checked to be one finite number a column."""
        values = np.asarray(self.mu(prior, columns), dtype=np.float64)
        if values.shape != (columns.shape[1],):
            raise UtilityError(
                f"mu of utility {self.name!r} must return one number for each of {columns.shape[1]} columns, "
                f"got shape {values.shape}; it is called as mu(prior, columns) with columns of shape (N, M)"
            )
        if not np.isfinite(values).all():
            raise UtilityError(f"mu of utility {self.name!r} must be finite on every column, got {values.tolist()[:5]}")
        return values

    def __repr__(self) -> str:
        return f"<utility {self.name}>"


class FInformation(Utility):
    """D_f(P_XY || P_X P_Y) = sum_y P_Y(y) sum_x P_X(x) f(lift(x, y)), f convex on [0, inf), f(1) = 0, f(0) finite."""

    def __init__(self, f: Generator, name: str = "f-information") -> None:
        _check_generator(f, name)
        self.f = f
        super().__init__(self._mu, name, symmetric=True)

    def _mu(self, prior: Prior, columns: Floats) -> Floats:
        scale = columns.max(axis=0)
        Q = np.divide(columns, scale, out=np.ones_like(columns), where=scale > 0)
        rho = prior.probabilities @ Q
        return np.asarray(scale * rho * (prior.probabilities @ self.f(Q / rho)))


class FDivergence(Utility):
    """D_f(Q_0 || Q_1) between the outputs under two hypotheses about the distribution of X.

    mu(column) = q_1 f(q_0 / q_1) with q_h = p_h . column. Where p1 is 0 and p0 is not, f needs a finite slope at
    infinity: give it as `growth` = lim f(t)/t.
    """

    def __init__(
        self, f: Generator, p0: ArrayLike, p1: ArrayLike, name: str = "f-divergence", growth: float | None = None
    ) -> None:
        _check_generator(f, name)
        self.f, self.p0, self.p1 = f, _hypothesis(p0, "p0"), _hypothesis(p1, "p1")
        if self.p0.shape != self.p1.shape:
            raise UtilityError(f"p0 and p1 must have the same length, got {len(self.p0)} and {len(self.p1)}")
        if growth is None and np.any((self.p1 == 0) & (self.p0 > 0)):
            raise UtilityError("p1 must be positive wherever p0 is, or growth = lim f(t)/t at infinity must be given")
        self.growth = 0.0 if growth is None else growth
        super().__init__(self._mu, name)

    def _mu(self, prior: Prior, columns: Floats) -> Floats:
        if len(self.p0) != prior.size:
            raise UtilityError(f"hypotheses of length {len(self.p0)} do not fit a prior of {prior.size} symbols")
        q0, q1 = self.p0 @ columns, self.p1 @ columns
        ratio = np.divide(q0, q1, out=np.ones_like(q0), where=q1 > 0)
        return np.where(q1 > 0, q1 * self.f(ratio), q0 * self.growth)


class ExpectedGain(Utility):
    """Expected gain of the analyst's best decision: mu(column) = max_w sum_x P_X(x) gain[w, x] column[x].

    `gain` has one row a decision and one column a symbol, in the order of the prior. gain = identity is the
    probability of guessing X right.
    """

    def __init__(self, gain: ArrayLike, name: str = "expected gain") -> None:
        try:
            g = np.array(gain, dtype=np.float64)
        except (TypeError, ValueError):
            raise UtilityError("gain must be a matrix of numbers (decisions, symbols)") from None
        if g.ndim != 2 or g.size == 0 or not np.isfinite(g).all():
            raise UtilityError(f"gain must be a finite matrix (decisions, symbols), got shape {g.shape}")
        g.setflags(write=False)
        self.gain = g
        super().__init__(self._mu, name)

    def _mu(self, prior: Prior, columns: Floats) -> Floats:
        if self.gain.shape[1] != prior.size:
            raise UtilityError(f"gain has {self.gain.shape[1]} symbols, the prior {prior.size}")
        return np.asarray(((self.gain * prior.probabilities) @ columns).max(axis=0))


def check_sub_linear(prior: Prior, utility: Utility, trials: int = 64, seed: int = 0) -> None:
    """Refuse a mu that is visibly not sub-linear, showing the columns on which it fails.

    Homogeneity mu(s x) = s mu(x) and sub-additivity mu(x + y) <= mu(x) + mu(y) are tried on random columns, some
    with zeros and some proportional to each other. Passing is evidence, not proof.
    """
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=(prior.size, trials)) * (rng.random((prior.size, trials)) < rng.random(trials))
    y = rng.exponential(size=(prior.size, trials)) * (rng.random((prior.size, trials)) < rng.random(trials))
    x[rng.integers(prior.size, size=trials), np.arange(trials)] += 0.1
    y[rng.integers(prior.size, size=trials), np.arange(trials)] += 0.1
    s = rng.exponential(size=trials) * 3
    of_x, of_y, of_sum, of_sx = (utility.columns(prior, z) for z in (x, y, x + y, x * s))
    scale = 1 + np.abs(of_x) + np.abs(of_y) + np.abs(of_sum) + np.abs(of_sx)
    unequal = np.abs(of_sx - s * of_x) > 1e-9 * scale
    if unequal.any():
        k = int(np.argmax(unequal))
        raise UtilityError(
            f"mu of utility {utility.name!r} must be homogeneous, mu(s x) = s mu(x), got mu(x) = {of_x[k]:.6g} but "
            f"mu({s[k]:.4g} x) = {of_sx[k]:.6g} for x = {np.round(x[:, k], 4).tolist()}"
        )
    above = of_sum - of_x - of_y > 1e-9 * scale
    if above.any():
        k = int(np.argmax(above))
        raise UtilityError(
            f"mu of utility {utility.name!r} must be sub-additive, mu(x + y) <= mu(x) + mu(y), got mu(x + y) = "
            f"{of_sum[k]:.6g} > {of_x[k]:.6g} + {of_y[k]:.6g} for x = {np.round(x[:, k], 4).tolist()}, "
            f"y = {np.round(y[:, k], 4).tolist()}"
        )


def _check_generator(f: Generator, name: str) -> None:
    """Refuse an f that is not visibly convex with f(1) = 0 and f(0) finite."""
    t = np.concatenate((np.linspace(0, 4, 257), np.geomspace(4, 1e4, 64)[1:]))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(f(t), dtype=np.float64)
    if values.shape != t.shape:
        raise UtilityError(f"f of {name!r} must work element by element on arrays, got shape {values.shape} for {t.shape}")
    if not np.isfinite(values).all():
        bad = t[~np.isfinite(values)][0]
        raise UtilityError(f"f of {name!r} must be finite on [0, inf), got {values[~np.isfinite(values)][0]} at {bad:g}")
    at_one = float(np.asarray(f(np.ones(1)))[0])
    if abs(at_one) > 1e-12:
        raise UtilityError(f"f of {name!r} must vanish at 1, got f(1) = {at_one:g}; use f(t) - f(1)")
    w = (t[2:] - t[1:-1]) / (t[2:] - t[:-2])
    chord = w * values[:-2] + (1 - w) * values[2:]
    bent = values[1:-1] > chord + 1e-9 * (1 + np.abs(chord))
    if bent.any():
        raise UtilityError(f"f of {name!r} must be convex, it is not near t = {t[1:-1][bent][0]:.4g}")


def _hypothesis(p: ArrayLike, which: str) -> Floats:
    q = np.array(p, dtype=np.float64)
    if q.ndim != 1 or not np.isfinite(q).all() or np.any(q < 0) or abs(math.fsum(q) - 1) > 1e-9:
        raise UtilityError(f"{which} must be a probability distribution over the symbols, got {np.round(q, 6).tolist()!r:.80}")
    q.setflags(write=False)
    return q


def _mutual_information(t: Floats) -> Floats:
    return t * np.log(np.where(t > 0, t, 1.0))


def _total_variation(t: Floats) -> Floats:
    return np.abs(t - 1) / 2


def _chi_squared(t: Floats) -> Floats:
    return (t - 1) ** 2


def _hellinger(t: Floats) -> Floats:
    return (np.sqrt(t) - 1) ** 2 / 2


def _jensen_shannon(t: Floats) -> Floats:
    return (_mutual_information(t) - (1 + t) * np.log((1 + t) / 2)) / 2


mutual_information = FInformation(_mutual_information, "mutual information")
total_variation = FInformation(_total_variation, "total variation")
chi_squared = FInformation(_chi_squared, "chi-squared")
hellinger = FInformation(_hellinger, "squared Hellinger")
jensen_shannon = FInformation(_jensen_shannon, "Jensen-Shannon")
