"""Maximum likelihood on the simplex, with a proof of how far from the maximum the answer can be.

With theta the shares of the inputs and f the shares of the outputs among the reports, maximise

    L(theta) = sum_y f_y log (theta P)_y + sum_i t_i log theta_i     over the simplex,

t = 0 for maximum likelihood, t_i = strength * prior_i / n for maximum a posteriori. With
g_i = sum_y P_iy f_y / (theta P)_y + t_i / theta_i, concavity gives for every theta' of the simplex

    L(theta') - L(theta) <= sum_i (theta'_i - theta_i) g_i <= max_i g_i - 1 - sum t,

so the right side, which needs no solver, certifies convergence. EM (iterative Bayesian update) multiplies theta
by g and gets there slowly; an interior-point method on the same conditions takes some twenty Newton steps. Shorter ways
are tried first, and believed if their gap is as small.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._common.threads import one_thread
from .._common.types import Floats, Ints
from ..errors import SizeError, SolverError
from .contrasts import MOST_SYMBOLS, RANK_TOLERANCE, Channel

WANTED = 1e-9  # nats over all reports: far below what any collection can tell
ROUNDING = 2e-14  # a gap per report that doubles can still tell from 0
STEPS = 200
MODELS = 30  # minima of quadratic ones
EXCHANGES = 60  # of shares held at 0, for each
KEEP = 0.1  # a model stays as long as each minimum makes the gap so much smaller
ACCEPTED = 1e-10  # a gap per report that is still an answer; the gap is reported


class Likeliest(NamedTuple):
    """Shares, the gap to the maximum of the log-likelihood per report, Newton steps taken."""

    theta: Floats
    gap: float
    steps: int  # of the interior method; 0 where a shorter way led there


@one_thread
def maximize(P: Floats, counts: NDArray[Any], expected: Floats, strength: float = 0.0) -> Likeliest:
    """The shares that maximise the likelihood, or with a strength the posterior density, of the counts.

    The density of the shares before any report is proportional to prod_i theta_i^(strength expected_i): its
    mode is `expected`. Where several shares explain the reports equally well, those at which
    sum_i expected_i log theta_i is largest are approached, the limit of the posterior mode as strength falls to 0.
    Every output with a count must be possible.
    """
    n = float(counts.sum())
    seen = counts > 0
    f = counts / n
    t = expected * (strength / n)
    wanted = max(WANTED / n, ROUNDING)
    if strength == 0:
        for candidate in (_separable, _by_squares, _saturated):
            theta = candidate(P, f)
            if theta is not None:
                gap = _gap(P, f, t, theta) if seen.all() else _gap(P[:, seen], f[seen], t, theta)
                if gap <= wanted:
                    return Likeliest(theta, gap, 0)
    if len(P) > MOST_SYMBOLS:
        raise SizeError(
            f"maximum likelihood needs at most {MOST_SYMBOLS} answers for this mechanism",
            given=len(P),
            remedy='use `method="inverse"`, or merge rare answers before you collect',
        )
    best = _newton(np.ascontiguousarray(P[:, seen]), f[seen], t, expected, wanted)
    if best.gap > max(ACCEPTED, wanted):
        raise SolverError(
            f"maximum likelihood ended {best.gap:.3g} nats per report below what could be possible",
            remedy='try `method="inverse"`',
        )
    return best


def _by_squares(P: Floats, f: Floats) -> Floats | None:
    """The maximum by quadratic models, if they lead there: the short way where there are many reports for each symbol.

    From theta to theta + d the log-likelihood less the sum of shares grows by nearly slope d - d H d / 2, with
    H = P diag(f / q^2) P', slope = P (f / q) - 1 and q = theta P. The first model has q = f instead.
    """
    from scipy.linalg import lapack

    seen = f > 0
    P, f = P[:, seen], f[seen]
    if len(P) > P.shape[1] or len(P) > MOST_SYMBOLS:
        return None  # not strictly concave, or too large
    theta, slope, q = np.zeros(len(P)), 2 * P.sum(axis=1) - 1, f
    held, gap, inverse = np.zeros(len(P), dtype=bool), np.inf, None
    for _ in range(MODELS):
        if inverse is None:
            root = np.linalg.qr((P * (np.sqrt(f) / q)).T, mode="r")
            pivots = np.abs(np.diagonal(root))
            if not pivots.min() > RANK_TOLERANCE * pivots.max():
                return None  # other shares are as likely: those nearest what is expected are wanted
            half = lapack.dtrtri(root)[0]
            inverse = np.asarray(half @ half.T, dtype=np.float64)
        theta = _minimum(inverse, theta, slope, held)
        if not theta.sum() > 0:
            return None
        theta /= theta.sum()
        q = theta @ P
        if not q.min() > 0:
            return None
        slope = P @ (f / q) - 1
        last, gap = gap, float(slope.max())
        if gap <= ROUNDING:
            break
        if not gap < KEEP * last:
            inverse = None
    return theta


def _minimum(inverse: Floats, theta: Floats, slope: Floats, held: NDArray[np.bool_]) -> Floats:
    """The x = theta + d >= 0 of largest slope d - d H d / 2, from the inverse of H; `held` becomes where x is 0.

    Shares below 0 are held there, and those that would rise are let go: all at once while they become fewer, else the
    last alone, which always ends.
    """
    from scipy.linalg import lapack

    fewest = len(theta) + 1
    for _ in range(EXCHANGES):
        x = theta + inverse @ np.where(held, 0, slope)
        kept = held.nonzero()[0]
        if len(kept):
            rows = inverse[kept]
            _, pull, failed = lapack.dposv(rows[:, kept], x[kept])
            if failed:
                return np.zeros_like(x)
            x -= pull @ rows
            x[kept] = 0
        wrong = x < 0
        if len(kept):
            wrong[kept] = slope[kept] + pull > ROUNDING
        count = int(np.count_nonzero(wrong))
        if count == 0:
            break
        if not len(kept):  # most of those just below 0 rise once the others are held
            wrong = x <= x[wrong].mean()
        elif count >= fewest:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        fewest = min(count, fewest)
        held ^= wrong
    return np.maximum(x, 0)


def _saturated(P: Floats, f: Floats) -> Floats | None:
    """theta = f P^-1 if that is a distribution: no shares can fit the reports better."""
    if P.shape[0] != P.shape[1]:
        return None
    try:
        theta: Floats = np.asarray(np.linalg.solve(P.T, f), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    if not (theta.min() >= 0 and np.isfinite(theta).all()):
        return None
    return np.asarray(theta / theta.sum())


def _separable(P: Floats, f: Floats) -> Floats | None:
    """The maximum in closed form if every input has one output of its own: P_iy = v_y + d_i [y is that of i].

    Randomized response and the optimum at high privacy (Theorem 3) are like this. Then q_y = v_y + d_i theta_i is a
    matter of one input, and theta_i is max(0, f / level - r) for d > 0 or max(0, r - f / level) for d < 0, with
    r = v / |d|, at the level where they sum to 1. None if the form is another; what is returned is held against
    the gap, so that rounding in the comparison does no harm.
    """
    size = len(P)
    if size < 3 or P.shape[1] < size:
        return None
    v = np.sort(P[:3], axis=0)[1]  # of three rows at least two have the common value
    if np.count_nonzero(np.abs(P[0] - v) > 1e-15) != 1:
        return None
    row, own = np.nonzero(np.abs(P - v) > 1e-15)
    if len(row) != size or (np.diff(row) != 1).any() or len(np.unique(own)) < size:
        return None
    d, share = P[row, own] - v[own], f[own]
    rising = bool(d[0] > 0)
    if ((d > 0) != rising).any():
        return None
    r = v[own] / np.abs(d)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-share / r if rising else share / r, kind="stable")  # who is positive first
        room = 1 + np.cumsum(r[order]) if rising else np.cumsum(r[order]) - 1
        levels = np.cumsum(share[order]) / room
        # The level that makes the first k sum to 1 is the right one if the next would not be positive.
        ratio = (share / r)[order]
        positive = ratio > levels if rising else (ratio < levels) | (room <= 0)
    last = int(np.flatnonzero(positive)[-1]) if positive.any() else -1
    if last < 0 or not levels[last] > 0:
        return None
    part = share / levels[last]
    theta = np.maximum(part - r if rising else r - part, 0.0)
    return np.asarray(theta / theta.sum()) if np.isfinite(theta).all() and theta.sum() > 0 else None


def _gap(P: Floats, f: Floats, t: Floats, theta: Floats) -> float:
    """max_i g_i - 1 - sum t: no other shares can be better by more."""
    q = theta @ P
    if q.min() <= 0 or (t > 0)[theta <= 0].any():
        return np.inf
    g = P @ (f / q)
    barrier = np.divide(t, theta, out=np.zeros_like(t), where=t > 0)
    return max(float((g + barrier).max() - 1 - t.sum()), 0.0)


def _newton(P: Floats, f: Floats, t: Floats, expected: Floats, wanted: float) -> Likeliest:
    """Primal-dual interior point: s = 1 + sum t - P f/q with theta * s = t + mu expected, and mu falls to 0.

    The multiplier of sum theta = 1 is known, 1 + sum t, so the constraint need not be kept: a maximum of
    L - (1 + sum t) sum theta over theta >= 0 sums to 1.
    """
    size = len(P)
    top = 1 + t.sum()
    theta, s = expected.copy(), np.ones(size)  # on the central path as far as theta * s goes, with mu = 1
    best = Likeliest(theta, _gap(P, f, t, theta), 0)
    for step in range(1, STEPS + 1):
        mu = 0.1 * float(np.maximum(theta * s - t, 0.0).sum()) if step > 1 else 0.5
        tau = t + mu * expected
        q = theta @ P
        root = P * (np.sqrt(f) / q)
        g = P @ (f / q)
        K = root @ root.T
        K[np.diag_indices(size)] += s / theta
        move = _solve(K, g - top + tau / theta)
        ds = (tau - theta * s - s * move) / theta
        length = _descend(P, f, tau, top, theta, q, move)
        theta = theta + length * move
        s = s + min(_room(s, ds), 1.0) * ds
        whole = theta / theta.sum()
        gap = _gap(P, f, t, whole)
        if gap < best.gap:
            best = Likeliest(whole, gap, step)
        if best.gap <= wanted or (mu < 1e-17 and step > best.steps + 5):
            break
    return _sharpened(P, f, t, best)


def _sharpened(P: Floats, f: Floats, t: Floats, fit: Likeliest) -> Likeliest:
    """The same with zeros where the interior method left 1e-12 or less, if that does not enlarge the gap."""
    if t.any():
        return fit
    theta = np.where(fit.theta < 1e-12, 0.0, fit.theta)
    theta /= theta.sum()
    gap = _gap(P, f, t, theta)
    return Likeliest(theta, gap, fit.steps) if gap <= fit.gap + ROUNDING else fit


def _solve(K: Floats, right: Floats) -> Floats:
    scale = 1 / np.sqrt(np.diag(K))  # the diagonal spans many orders of magnitude near the boundary
    scaled = K * scale[:, None] * scale
    try:
        return np.asarray(scale * np.linalg.solve(scaled, scale * right))
    except np.linalg.LinAlgError:
        return np.asarray(scale * np.linalg.lstsq(scaled, scale * right, rcond=None)[0])


def _room(value: Floats, move: Floats) -> float:
    """How far a positive vector can go along `move` and keep a two-hundredth of every element."""
    falling = move < 0
    return float(0.995 * (-value[falling] / move[falling]).min()) if falling.any() else np.inf


def _descend(P: Floats, f: Floats, tau: Floats, top: float, theta: Floats, q: Floats, move: Floats) -> float:
    """A step along the Newton direction that lowers the convex barrier function."""
    length = min(_room(theta, move), 1.0)
    dq, slope = move @ P, float((top - P @ (f / q) - tau / theta) @ move)
    for _ in range(40):
        change = (
            -f @ np.log1p(length * dq / q) - tau @ np.log1p(length * move / theta) + top * length * move.sum()
        )
        if change <= 1e-4 * length * slope + 1e-15:
            break
        length /= 2
    return length


MISFIT = 1e-3  # reports less likely than this under every input distribution are pointed out


def unexplained(probability: float, whose: str = "these reports") -> str:
    """The warning that reports do not fit, if that is hardly chance; else nothing."""
    if probability >= MISFIT:
        return ""
    return (
        f"WARNING: no shares explain {whose} (probability {probability:.1e} or less); were they made by this "
        "mechanism?"
    )


def misfit(matrix: Floats, counts: Ints, channel: Channel, best: Floats | None = None) -> float:
    """A bound on the probability of reports that fit as badly as these, whatever the true shares are.

    P[KL(shares, probabilities) >= x] <= e^(-nx) (e n x / (k - 1))^(k - 1) for k outputs (Agrawal, 2020). Near 0,
    these reports were not made by this mechanism. Weights play no part: each report is a draw of the mechanism,
    whatever the weight of the person. `best` are the shares of largest likelihood, if they are known.
    """
    theta = maximize(matrix, counts, channel.expected, 0.0).theta if best is None else best
    k = int(channel.possible.sum())
    seen = counts > 0
    q = (theta @ matrix)[seen]
    c = counts[seen].astype(np.float64)
    x = float(c @ np.log(c / counts.sum() / q))
    if k < 2 or x <= k - 1:
        return 1.0
    return math.exp(min(0.0, -x + (k - 1) * (1 + math.log(x / (k - 1)))))
