"""Sub-convex utilities (Definition 4): U(P) = sum over outputs of mu(column), mu sub-linear.

Every utility is an object that can be called with (prior, mechanism) and knows mu(prior, columns). What the
solvers may exploit is stated by the class: an FInformation is separable over symbols, an ExpectedGain is a
maximum of linear functions, a plain Utility is only sub-linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .._common import checks
from .._common.threads import one_thread_of_numpy
from .._common.types import Floats, same
from ..errors import UtilityError
from .mechanism import Mechanism, check_match
from .prior import Prior

Column = Callable[[Prior, Floats], Floats]
Generator = Callable[[Floats], Floats]
LARGE = 1 << 16  # numbers, from which on a function is computed in parts
NEAR = 1e-4  # of 1: nearer, what is left of t log t - (t - 1) is taken from its series, which cancels nothing


class Utility:
    """Any sub-linear function of columns: mu(prior, columns of shape (N, M)) -> (M,).

    `symmetric` promises that mu does not change when the symbols of a uniform prior are permuted (Theorem 4).

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> guess = ex.Utility(
    ...     lambda prior, columns: (prior.probabilities[:, None] * columns).max(axis=0), "guess"
    ... )
    >>> round(ex.design(prior, 0.6, guess).value, 3)
    0.729

    Parameters
    ----------
    mu
        A function of a prior and (N, M) columns that returns M numbers.
    name
        What it is called in tables.
    symmetric
        Whether permuting the answers of a uniform prior changes nothing.
    """

    def __init__(self, mu: Column, name: str = "utility", symmetric: bool = False) -> None:
        self.mu: Column = checks.function(
            mu,
            "mu",
            "(prior, columns)",
            remedy=f"give {name!r} one that returns a number a column",
            error=UtilityError,
        )
        self.name = name
        self.symmetric = symmetric

    def __call__(self, prior: Prior, mechanism: Mechanism) -> float:
        """U(P), the sum of mu over the outputs."""
        check_match(prior, mechanism)
        return math.fsum(self.columns(prior, mechanism.matrix))

    @one_thread_of_numpy
    def columns(self, prior: Prior, columns: Floats) -> Floats:
        """mu of each column, checked to be one finite number a column.

        Parameters
        ----------
        prior
            How common each answer is.
        columns
            An (N, M) array.
        """
        try:
            given = np.asarray(self.mu(prior, columns))
        except TypeError as error:
            raise UtilityError(
                f"mu of utility {self.name!r} must take (prior, columns) with columns of shape (N, M)",
                given=error,
            ) from error
        if given.dtype.kind not in "fiub":
            raise UtilityError(
                f"mu of utility {self.name!r} must return real numbers",
                given=given.dtype,
            )
        values = given.astype(np.float64)
        if values.shape != (columns.shape[1],):
            raise UtilityError(
                f"mu of utility {self.name!r} must return one number for each of {columns.shape[1]} columns",
                given=f"shape {values.shape}",
                remedy="it is called as mu(prior, columns) with columns of shape (N, M)",
            )
        if not np.isfinite(values).all():
            k = int(np.argmax(~np.isfinite(values)))
            raise UtilityError(
                f"mu of utility {self.name!r} must be finite on every column >= 0",
                given=f"{values[k]} for {_shown(columns[:, k])}",
                remedy="define it there, e.g. 0 log 0 = 0",
            )
        return values

    def __eq__(self, other: object) -> bool:  # so that a design equals its pickled self
        return type(self) is type(other) and same(self._definition(), other._definition())

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def _definition(self) -> tuple[object, ...]:
        """Everything that the values depend on; a method of this utility says nothing more than its type."""
        return tuple(value for value in vars(self).values() if getattr(value, "__self__", None) is not self)

    def __repr__(self) -> str:
        return f"<utility {self.name}>"


class FInformation(Utility):
    """D_f(P_XY || P_X P_Y) = sum_y P_Y(y) sum_x P_X(x) f(lift(x, y)).

    f must be convex on [0, inf) with f(1) = 0 and f(0) finite, and work on arrays.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> squares = ex.FInformation(lambda t: (t - 1) ** 2, "squares")
    >>> round(ex.design(prior, 0.6, squares).value, 3)
    0.684

    Parameters
    ----------
    f
        A convex function of arrays with f(1) = 0 and f(0) finite.
    name
        What it is called in tables.
    """

    def __init__(self, f: Generator, name: str = "f-information") -> None:
        check_generator(f, name)
        self.f = f
        super().__init__(self._mu, name, symmetric=True)

    def _mu(self, prior: Prior, columns: Floats) -> Floats:
        scale = columns.max(axis=0)
        Q = np.divide(columns, scale, out=np.ones_like(columns), where=scale > 0)
        pi = prior.probabilities
        rho = pi @ Q
        near = rho > 1 - NEAR
        count = np.count_nonzero(near) if self.f in NEAR_ONE else 0
        worth = pi @ self._in_parts(Q / rho) if count < len(rho) else np.zeros_like(rho)
        if count:  # lifts less 1 from differences: quotients near 1 would lose digits
            apart = Q[:, near] - Q[np.argmax(pi), near]
            worth[near] = pi @ near_one(self.f, (apart - pi @ apart) / rho[near])
        found: Floats = scale * rho * worth
        return found

    def _in_parts(self, t: Floats) -> Floats:
        """f of a matrix; of a large one by rows, so that what is in between fits the cache."""
        if t.size <= LARGE:
            return self.f(t)
        step = max(1, LARGE // t.shape[1])
        for begin in range(0, len(t), step):
            t[begin : begin + step] = self.f(t[begin : begin + step])
        return t


class FDivergence(Utility):
    """D_f(Q_0 || Q_1) between the outputs under two hypotheses about the distribution of X.

    mu(column) = q_1 f(q_0 / q_1) with q_h = p_h . column. Where p1 is 0 and p0 is not, f needs a finite slope
    at infinity: give it as `growth` = lim f(t)/t.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> divergence = ex.FDivergence(lambda t: (t - 1) ** 2, [0.5, 0.3, 0.2], [0.3, 0.4, 0.3])
    >>> round(ex.design(prior, 0.6, divergence).value, 3)
    0.121

    Parameters
    ----------
    f
        A convex function of arrays with f(1) = 0.
    p0
        The distribution of the answer under the first hypothesis.
    p1
        The distribution under the second.
    name
        What it is called in tables.
    growth
        lim f(t)/t, needed where p1 is 0 and p0 is not.
    """

    def __init__(
        self,
        f: Generator,
        p0: ArrayLike,
        p1: ArrayLike,
        name: str = "f-divergence",
        growth: float | None = None,
    ) -> None:
        check_generator(f, name)
        self.f = f
        self.p0 = checks.probabilities(p0, "p0", error=UtilityError)
        self.p1 = checks.probabilities(p1, "p1", error=UtilityError)
        checks.length(self.p1, "p1", len(self.p0), "element of p0", error=UtilityError)
        self.p0.setflags(write=False)
        self.p1.setflags(write=False)
        excluded = (self.p1 == 0) & (self.p0 > 0)
        if growth is None and excluded.any():
            raise UtilityError(
                "p1 must be positive wherever p0 is",
                given=f"0 at position {int(np.argmax(excluded))}",
                remedy="smooth p1, or give growth = lim f(t)/t at infinity if that is finite",
            )
        self.growth = growth and checks.number(
            growth, "growth", remedy="smooth p1 instead", error=UtilityError
        )
        super().__init__(self._mu, name)

    def _mu(self, prior: Prior, columns: Floats) -> Floats:
        if len(self.p0) != prior.size:
            raise UtilityError(
                f"p0 and p1 must have one element for each of {prior.size} symbols",
                given=len(self.p0),
                remedy="give them in the order of the prior",
            )
        q0, q1 = self.p0 @ columns, self.p1 @ columns
        near = q1 > (0.0 if self.growth is None else 1e-150) * q0  # beyond that the ratio may overflow
        ratio = np.divide(q0, q1, out=np.ones_like(q0), where=near)
        return np.where(near, q1 * self.f(ratio), q0 * (self.growth or 0.0))


class ExpectedGain(Utility):
    """Expected gain of the analyst's best decision: mu(column) = max_w sum_x P_X(x) gain[w, x] column[x].

    `gain` has one row a decision and one column a symbol, in the order of the prior. gain = identity is the
    probability of guessing X right.

    Examples
    --------
    >>> import extremal as ex
    >>> import numpy as np
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.design(prior, 0.6, ex.ExpectedGain(np.eye(3), "right guesses")).value, 3)
    0.729

    Parameters
    ----------
    gain
        A row for each decision, a column for each answer.
    name
        What it is called in tables.
    """

    def __init__(self, gain: ArrayLike, name: str = "expected gain") -> None:
        remedy = "give one row a decision, np.eye(N) for guessing the symbol"
        self.gain = checks.matrix(gain, "gain", remedy=remedy, error=UtilityError)
        self.gain.setflags(write=False)
        super().__init__(self._mu, name)

    def _mu(self, prior: Prior, columns: Floats) -> Floats:
        if self.gain.shape[1] != prior.size:
            raise UtilityError(
                f"must have one column for each of {prior.size} symbols",
                parameter="gain",
                given=self.gain.shape[1],
                remedy="rows are decisions, transpose it if columns are",
            )
        return np.asarray(((self.gain * prior.probabilities) @ columns).max(axis=0))


def check_utility(utility: object) -> Utility:
    """The utility, if it is one."""
    remedy = "wrap a function: Utility(mu)"
    if isinstance(utility, str):
        word = utility.strip().replace("-", "_").replace(" ", "_")
        known = (
            f"ex.{word}"
            if word in ("shares", "mutual_information")
            else "ex.shares, ex.mean(scores) or ex.utilities"
        )
        remedy = f"it is a value, not a text: {known}"
    return checks.instance(utility, "utility", Utility, "a Utility", remedy=remedy, error=UtilityError)


def check_sub_linear(prior: Prior, utility: Utility, trials: int = 64, seed: int = 0) -> None:
    """Refuse a mu that is visibly not sub-linear, showing the columns on which it fails.

    Homogeneity mu(s x) = s mu(x) and sub-additivity mu(x + y) <= mu(x) + mu(y) are tried on random columns,
    many with zeros; so is symmetry, where it is promised and the prior is uniform. Passing is evidence, not
    proof.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.utilities.check_sub_linear(prior, ex.mutual_information)

    Parameters
    ----------
    prior
        How common each answer is.
    utility
        The utility to try.
    trials
        How many random columns to try.
    seed
        The seed of these columns.
    """
    rng = np.random.default_rng(seed)
    x, y = _random_columns(rng, prior.size, trials), _random_columns(rng, prior.size, trials)
    s = 3 * rng.exponential(size=trials)
    of_x, of_y, of_sum, of_sx = (utility.columns(prior, z) for z in (x, y, x + y, x * s))
    # Rounding is relative to the terms inside mu, which may cancel: the largest value of all stands for them.
    noise = 1e-9 * (np.abs(of_sx) + s * np.abs(of_x).max() + np.abs(of_y).max() + np.abs(of_sum).max())
    unequal = np.abs(of_sx - s * of_x) > noise
    if unequal.any():
        k = int(np.argmax(unequal))
        raise UtilityError(
            f"mu of utility {utility.name!r} must be homogeneous, mu(s x) = s mu(x)",
            given=(f"mu(x) = {of_x[k]:.6g} but mu({s[k]:.4g} x) = {of_sx[k]:.6g} for x = {_shown(x[:, k])}"),
            remedy="Definition 4 covers no other mu",
        )
    above = of_sum - of_x - of_y > noise
    if above.any():
        k = int(np.argmax(above))
        raise UtilityError(
            f"mu of utility {utility.name!r} must be sub-additive, mu(x + y) <= mu(x) + mu(y)",
            given=(
                f"mu(x + y) = {of_sum[k]:.6g} > {of_x[k]:.6g} + {of_y[k]:.6g} for x = "
                f"{_shown(x[:, k])}, y = {_shown(y[:, k])}"
            ),
            remedy="Definition 4 covers no other mu",
        )
    if not (utility.symmetric and prior.is_uniform):
        return
    of_permuted = utility.columns(prior, rng.permuted(x, axis=0))
    unequal = np.abs(of_permuted - of_x) > noise
    if unequal.any():
        k = int(np.argmax(unequal))
        raise UtilityError(
            f"mu of utility {utility.name!r} must be symmetric as promised",
            given=(
                f"{of_x[k]:.6g} and, after a permutation of symbols, {of_permuted[k]:.6g} "
                f"for x = {_shown(x[:, k])}"
            ),
            remedy="drop symmetric=True",
        )


def check_generator(f: Generator, name: str) -> None:
    """Refuse an f that is not visibly convex with f(1) = 0 and f(0) finite."""
    t = np.concatenate((np.linspace(0, 4, 257), np.geomspace(4, 1e4, 64)[1:]))  # holds 1
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(f(t), dtype=np.float64)
        if values.shape != t.shape:
            raise TypeError(f"it returned shape {values.shape} for shape {t.shape}")
    except (TypeError, ValueError) as error:
        raise UtilityError(
            f"f of {name!r} must work element by element on arrays",
            given=error,
            remedy="write it with numpy functions, e.g. np.abs(t - 1)",
        ) from None
    if not np.isfinite(values).all():
        bad = int(np.argmax(~np.isfinite(values)))
        raise UtilityError(
            f"f of {name!r} must be finite on [0, inf)",
            given=f"{values[bad]} at {t[bad]:g}",
            remedy=(
                "define it there, e.g. 0 log 0 = 0, or choose another f: an infinite f(0) is not covered"
            ),
        )
    at_one = float(values[t == 1][0])
    if abs(at_one) > 1e-12:
        raise UtilityError(
            f"f of {name!r} must vanish at 1",
            given=f"f(1) = {at_one:g}",
            remedy="use f(t) - f(1)",
        )
    w = (t[2:] - t[1:-1]) / (t[2:] - t[:-2])
    chord = w * values[:-2] + (1 - w) * values[2:]
    noise = 1e-9 * np.abs(chord) + 1e-12 * np.abs(values[t <= 4]).max()
    bent = values[1:-1] > chord + noise
    if bent.any():
        raise UtilityError(
            f"f of {name!r} must be convex",
            given=f"one that is not near t = {t[1:-1][bent][0]:.4g}",
            remedy="for a concave f use -f",
        )


def _random_columns(rng: np.random.Generator, n: int, count: int) -> Floats:
    """Non-negative columns, none of them zero, with zeros at all frequencies."""
    x = rng.exponential(size=(n, count)) * (rng.random((n, count)) < rng.random(count))
    x[rng.integers(n, size=count), np.arange(count)] += 0.1
    return x


def _shown(column: Floats) -> str:
    """A column for a message, with enough digits to try it again, cut to the first ones."""
    numbers = ", ".join(f"{value:.6g}" for value in column[:12])
    return f"[{numbers}{', …' if len(column) > 12 else ''}]"


# An f-information does not change when a multiple of t - 1 is added to f. The generators below are written so
# that they vanish to second order at 1 and lose no digits there: lifts close to 1 are what small epsilons are
# made of.


def _mutual_information(t: Floats) -> Floats:
    """t log t - (t - 1)."""
    u = t - 1
    # log1p is precise near 1, but near 0, where u is -1 up to rounding, only log is.
    log = np.where(t > 0.5, np.log1p(np.maximum(u, -0.5)), np.log(np.where(t > 0, t, 1.0)))
    near, direct = np.abs(u) < NEAR, t * log - u
    return np.where(near, _series(u), direct) if near.any() else direct


def _series(u: Floats) -> Floats:
    """(1 + u) log(1 + u) - u = sum over k >= 2 of (-u)^k / (k (k - 1)), for |u| < NEAR; beyond, a number."""
    u = np.minimum(np.maximum(u, -NEAR), NEAR)
    return u * u * (1 / 2 - u * (1 / 6 - u * (1 / 12 - u * (1 / 20 - u / 30))))


def _total_variation(t: Floats) -> Floats:
    """|t - 1| / 2."""
    return np.abs(t - 1) / 2


def _chi_squared(t: Floats) -> Floats:
    """(t - 1)^2."""
    return (t - 1) ** 2


def _hellinger(t: Floats) -> Floats:
    """(sqrt(t) - 1)^2 / 2."""
    return np.asarray(((t - 1) / (np.sqrt(t) + 1)) ** 2 / 2)


def _jensen_shannon(t: Floats) -> Floats:
    """(t log t - (1 + t) log((1 + t)/2)) / 2."""
    u = t - 1
    direct = _mutual_information(t) + u - (2 + u) * np.log1p(u / 2)
    return np.where(np.abs(u) < NEAR, _series(u) - 2 * _series(u / 2), direct) / 2


NEAR_ONE: dict[Generator, Generator] = {
    _mutual_information: _series,
    _total_variation: lambda u: np.abs(u) / 2,
    _chi_squared: lambda u: u**2,
    _hellinger: lambda u: (u / (np.sqrt(1 + u) + 1)) ** 2 / 2,
    _jensen_shannon: lambda u: (_series(u) - 2 * _series(u / 2)) / 2,
}


def near_one(f: Generator, u: Floats) -> Floats:
    """f(1 + u); where f has a name and u is small, without the rounding of 1 + u."""
    near = np.abs(u) < NEAR
    if f not in NEAR_ONE or not near.any():
        return f(np.maximum(1 + u, 0.0))
    if near.all():
        return NEAR_ONE[f](u)
    return np.where(near, NEAR_ONE[f](np.where(near, u, 0.0)), f(np.maximum(1 + u, 0.0)))


mutual_information = FInformation(_mutual_information, "mutual information")
total_variation = FInformation(_total_variation, "total variation")
chi_squared = FInformation(_chi_squared, "chi-squared")
hellinger = FInformation(_hellinger, "squared Hellinger")
jensen_shannon = FInformation(_jensen_shannon, "Jensen-Shannon")
