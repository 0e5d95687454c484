"""From an assembly to its coefficients: starts, the climb, and whether the data determine what was found.

The maximum of a likelihood that need not be concave: Newton's method with safeguards.

Private predictors may go without a model of them, by scores that are corrected by the inverse of the mechanism.
A table c with Σ_y P(y|x) c[k, y] = 1 if x = k, else 0, makes Σ_k c[k, y] s(k) an unbiased stand-in for the score s(x)
of the true x, whatever the distribution of x and of the outcome (Nakamura, 1990). So corrected coefficients estimate
what a regression on true answers would, also where the outcome's model is wrong. The likelihood does not: it takes
everything that the outcome's model leaves unexplained for a hint at x.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._common.types import Floats
from ...errors import OptionError, RegressionError
from .assembly import Assembly, Prepared, shares_of, typical
from .families import Discrete, Ordinal
from .likelihood import Derivatives, Emissions, Likelihood

MOST_STEPS = 200
LONGEST = 4.0  # of a step, in linear predictors: beyond, a quadratic model tells nothing
DONE = 1e-13  # gain in nats that is still expected: coefficients are known to 3e-7 standard errors
ROUNDING = 1e-13  # of the log-likelihood, relative


@dataclass(frozen=True, eq=False)
class Peak:
    """Where the climb ended; `converged` if no more than a rounding error is left to gain."""

    theta: Floats
    at: Derivatives
    converged: bool
    steps: int


def climb(likelihood: Likelihood, start: Floats) -> Peak:
    """A local maximum of the log-likelihood, uphill all the way from the start.

    Where the Hessian is not negative definite its eigenvalues are replaced by their absolute values, so that steps
    lead uphill and away from saddle points; steps are halved until the likelihood grows as the gradient promises.
    """
    theta, at = start, likelihood.derivatives(start)
    for count in range(MOST_STEPS):
        step, definite = _direction(at)
        promised = float(at.gradient @ step)
        length = float(np.linalg.norm(step))
        if length > LONGEST:
            step, promised = step * (LONGEST / length), promised * LONGEST / length
        if promised < DONE:
            # So short a step changes the derivatives by less than rounding does.
            return Peak(theta + step, at._replace(value=at.value + promised / 2), True, count)
        found = _search(likelihood, theta, at, step, promised)
        if found is None:
            return Peak(theta, at, definite and promised < 1e-6, count)
        theta, at = found
    return Peak(theta, at, False, MOST_STEPS)


def _direction(at: Derivatives) -> tuple[Floats, bool]:
    values, vectors = np.linalg.eigh(-at.hessian)
    top = max(float(np.abs(values).max(initial=0.0)), 1e-300)
    safe = np.maximum(np.abs(values), 1e-14 * top)
    return vectors @ ((vectors.T @ at.gradient) / safe), bool(values.min(initial=0.0) > 0)


def _search(
    likelihood: Likelihood, theta: Floats, at: Derivatives, step: Floats, promised: float
) -> tuple[Floats, Derivatives] | None:
    """The first of the halved steps that keeps a part of its promise."""
    scale = 1.0
    for _ in range(40):
        trial = likelihood.derivatives(theta + scale * step)
        if trial.value >= at.value + 1e-4 * scale * promised - ROUNDING * abs(at.value):
            return theta + scale * step, trial
        scale /= 2
    return None


EXTRA_STARTS = 2
MOST_STARTS = 8  # where no climb converges
LARGEST_SAMPLE = 50_000  # rows of the first climb, if there are many
LARGEST_SEARCH = (
    4_000_000  # rows x linear predictors x columns up to which a fit is repeated from other starts
)
UNDETERMINED = 1e-6  # information about a direction that moves the linear predictors of a row by 1
TOUCHING = 1e-3  # thresholds of an ordinal model that are closer leave an answer no share
FAR = 12.0  # linear predictors beyond: shares of 6e-6


@dataclass(frozen=True, eq=False)
class Fitted:
    """The most likely coefficients, and the coordinates in which they were found."""

    prepared: Prepared
    peak: Peak
    coefficients: Floats

    @property
    def log_likelihood(self) -> float:
        return self.peak.at.value

    @cached_property
    def bread(self) -> Floats:
        """The inverse of the observed information, in these coordinates."""
        return np.asarray(np.linalg.inv(-self.peak.at.hessian), dtype=np.float64)


def fit(assembly: Assembly, rows: int, start: Floats | None = None) -> Fitted:
    """The most likely coefficients; RegressionError if there are none, or more than one.

    Parameters
    ----------
    assembly
        The model and its rows.
    rows
        How many rows there are, equal ones included.
    start
        The only start, in the coordinates of the likelihood; by default three for problems that are small.
    """
    _check_rows(len(assembly.names), rows)
    prepared = assembly.prepared()
    _check_rows(len(prepared.parameters), rows)
    best = _best(assembly, prepared.likelihood, start)
    while not best.converged and isinstance(assembly.family, Ordinal):
        closest = _closest(prepared, best)
        if closest is None:
            break
        assembly = replace(assembly, empty=assembly.empty | {closest})
        whole = prepared.back @ best.theta
        prepared = assembly.prepared()
        best = climb(prepared.likelihood, np.linalg.pinv(prepared.back) @ whole)
    _check(prepared, best)
    return Fitted(prepared, best, prepared.back @ best.theta)


def fit_corrected(assembly: Assembly, rows: int) -> Fitted:
    """The coefficients at which the corrected scores sum to 0."""
    if assembly.corrections is None:
        raise OptionError(
            'predictors="corrected" needs reports of predictors that were drawn apart from the outcome',
            given="a mechanism for both",
            remedy='use `predictors="covariates"`',
        )
    K = len(assembly.designs)
    shares = _report_shares(assembly.channels, assembly.weights, K)
    log_shares = np.log(np.maximum(shares, 1e-12))
    plain = replace(
        assembly, covariates=assembly.covariates[:, :0], covariate_names=(), log_shares=log_shares
    )
    likelihood = plain.prepared().likelihood
    return fit(
        replace(plain, corrected=True), rows, start=_calibrated(likelihood, _constants(plain, likelihood))
    )


def _best(assembly: Assembly, likelihood: Likelihood, start: Floats | None) -> Peak:
    """The highest of the maxima that were climbed to."""
    if start is not None:
        return climb(likelihood, _sampled(likelihood, start))
    work = likelihood.designs[0].size * likelihood.family.predictors * len(likelihood.designs)
    wanted = 1 + EXTRA_STARTS if work <= LARGEST_SEARCH and not _exact(likelihood) else 1
    found: list[Peak] = []
    for begin in _starts(assembly, likelihood):
        found.append(climb(likelihood, _sampled(likelihood, begin)))
        best = max(found, key=lambda peak: (peak.converged, peak.at.value))
        if len(found) >= wanted and (best.converged or len(found) >= MOST_STARTS):
            break
    return best


def _closest(prepared: Prepared, peak: Peak) -> int | None:
    """The answer of an ordinal model whose thresholds have all but met: the reports fit best if nobody gave it."""
    thresholds = [
        b
        for b, p in zip(prepared.back @ peak.theta, prepared.parameters, strict=True)
        if p.part == "threshold"
    ]
    gaps = np.diff(thresholds)
    gaps[[d - 1 for d in prepared.assembly.empty]] = np.inf
    if not gaps.size or not gaps.min() < TOUCHING:
        return None
    return int(np.argmin(gaps)) + 1


def _check_rows(coefficients: int, rows: int) -> None:
    if rows < coefficients:
        raise RegressionError(
            f"a model of {coefficients} coefficients needs at least as many rows",
            given=rows,
            remedy="leave terms out, or merge answers",
        )


def _exact(likelihood: Likelihood) -> bool:
    """Whether every report tells the answer: the likelihood of all models here is concave then."""
    return len(likelihood.designs) == 1 and all(
        bool(((c.table > 0).sum(axis=(0, 1)) <= 1).all()) for c in likelihood.channels
    )


def _starts(assembly: Assembly, likelihood: Likelihood) -> Iterator[Floats]:
    """Constants first; with private predictors, those that take expected values for the truth; then others near by."""
    first = _constants(assembly, likelihood)
    if len(likelihood.designs) > 1 and all(
        c.table.shape[0] == 1 or c.table.shape[1] == 1 for c in likelihood.channels
    ):
        first = _calibrated(likelihood, first)
    yield first
    generator = np.random.default_rng(0)
    while True:
        for scale in (0.5, 0.1, 0.02):
            start = first + scale * generator.standard_normal(len(first))
            if np.isfinite(likelihood.value(start)):
                yield start
                break
        else:
            yield first


def _sampled(likelihood: Likelihood, start: Floats) -> Floats:
    """The maximum for a part of very many rows, from where the climb with all of them is short."""
    n = len(likelihood.weights)
    if n < 4 * LARGEST_SAMPLE:
        return start
    rows = slice(None, None, n // LARGEST_SAMPLE)
    part = replace(
        likelihood,
        designs=tuple(np.ascontiguousarray(X[:, rows]) for X in likelihood.designs),
        channels=tuple(Emissions(c.codes[rows], c.table) for c in likelihood.channels),
        weights=likelihood.weights[rows],
        outcome=None if likelihood.outcome is None else likelihood.outcome[rows],
        covariates=np.ascontiguousarray(likelihood.covariates[:, rows]),
    )
    peak = climb(part, start)
    near = peak.converged and np.linalg.norm(peak.theta - start) < 50
    return peak.theta if near and np.isfinite(likelihood.value(peak.theta)) else start


def _constants(assembly: Assembly, likelihood: Likelihood) -> Floats:
    """Coordinates of the linear predictors that are the same in every row and fit the reports as a whole."""
    eta = likelihood.family.constants(typical(assembly))
    ones = np.mean([X.mean(axis=1) for X in likelihood.designs], axis=0)
    theta = np.asarray(likelihood.contrast.T @ np.outer(eta, ones).ravel())
    if not likelihood.share_size:
        return theta
    log_w = np.log(_first_shares(likelihood))
    ones = likelihood.covariates.mean(axis=1)
    return np.concatenate([theta, np.outer(log_w[1:] - log_w[0], ones).ravel()])


def _first_shares(likelihood: Likelihood) -> Floats:
    """Shares of the combinations of private predictors, from their reports alone."""
    K = len(likelihood.designs)
    if likelihood.log_shares is not None:
        return np.exp(likelihood.log_shares)
    return 0.95 * _report_shares(likelihood.channels, likelihood.weights, K) + 0.05 / K


def _report_shares(channels: Sequence[Emissions], weights: Floats, K: int) -> Floats:
    shares = np.full(K, 1 / K)
    for channel in channels:
        if channel.table.shape[1] > 1:  # each channel tells about its own columns: others are equal there
            shares = shares * shares_of(channel, weights).sum(axis=0)
    return np.asarray(shares / shares.sum())


def _calibrated(likelihood: Likelihood, first: Floats) -> Floats:
    """The fit to the designs that are expected given the reports: consistent up to second order in the slopes."""
    w = _first_shares(likelihood)
    n = len(likelihood.weights)
    r = likelihood.seen(slice(0, n))[1] * w[:, None]
    r /= r.sum(axis=0)
    X = sum((r[k] * X for k, X in enumerate(likelihood.designs)), np.zeros_like(likelihood.designs[0]))
    channels = tuple(c for c in likelihood.channels if c.table.shape[0] > 1)
    none = likelihood.covariates[:0]
    simple = replace(likelihood, designs=(X,), channels=channels, covariates=none, log_shares=None)
    q = likelihood.contrast.shape[1]
    peak = climb(simple, first[:q])
    start = np.concatenate([peak.theta, first[q:]])
    return start if np.isfinite(likelihood.value(start)) and np.linalg.norm(peak.theta) < 20 else first


def _check(prepared: Prepared, peak: Peak) -> None:
    """Refuse coefficients that run off, or that other coefficients could replace."""
    likelihood = prepared.likelihood
    values, vectors = np.linalg.eigh(-peak.at.hessian)
    scale = likelihood.weights.sum() / len(likelihood.weights)
    weak = values < UNDETERMINED * max(scale, 1e-300)
    if peak.converged and not weak.any():
        return
    q = likelihood.contrast.shape[1]
    directions = prepared.back @ vectors[:, weak] if weak.any() else prepared.back
    named = _named(prepared, directions)
    B, _ = likelihood.coefficients(peak.theta)
    far = max(float(np.abs(B @ X).max(initial=0.0)) for X in likelihood.designs)
    if (
        isinstance(likelihood.family, Discrete)
        and far > FAR
        and np.abs(vectors[:q, weak]).max(initial=0.0) > 0.1
    ):
        raise RegressionError(
            f"has no finite solution: {named} run off to infinity. The reports fit best if an answer has share 0 or 1 "
            "among some rows (separation, or an empty cell)",
            parameter="the model",
            remedy="leave the term out, merge rare levels or answers, or collect more reports",
        )
    if weak.any():
        raise RegressionError(
            f"is not identified: other values of {named} explain the reports as well",
            parameter="the model",
            remedy="leave terms out, or use a mechanism that tells these answers apart",
        )
    raise RegressionError(
        f"did not converge in {peak.steps} steps: the likelihood has no clear maximum",
        parameter="the model",
        remedy="leave terms out, or collect more reports",
    )


def _named(prepared: Prepared, directions: Floats) -> str:
    """The coefficients that move the linear predictors most along the directions that the data leave open."""
    parameters, assembly = prepared.parameters, prepared.assembly
    length = np.sqrt(np.mean([(X * X).mean(axis=0) for X in assembly.designs], axis=0))
    lengths = dict(zip(assembly.names, length.tolist(), strict=True))
    scale = [lengths.get(p.column, 1.0) if p.part == "" else 1.0 for p in parameters]
    moved = directions * np.array(scale)[:, None]
    size = np.abs(moved / np.linalg.norm(moved, axis=0)).max(axis=1)
    order = [k for k in np.argsort(-size, kind="stable") if size[k] > 0.1]
    shown = [str(parameters[k]) for k in order[:4]]
    return ", ".join(shown) + (f" and {len(order) - 4} more" if len(order) > 4 else "")
