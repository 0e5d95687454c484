"""Which combinations of shares the reports determine, and the weights that estimate them.

A weight w_y for every output gives E[w(Y)] = sum_i theta_i a_i with a = P w. A combination t . theta is
identified if t = P w for some w; then the mean of w over the reports estimates it without bias. If not, or if w
would have to be huge, a smaller w leaves t . theta - a . theta, which on the simplex lies between
min_i (t_i - a_i) and max_i (t_i - a_i) whatever the shares are.

Shares off the boundary: where variances of estimates are taken.

An estimated share of 0 does not say that nobody gives the answer, but that hardly anybody does. At the boundary a
mechanism can make much less noise than beside it, so variances at an estimate of 0 can be far too small. They are taken
where each share is at least as large as its own standard error: of n true answers, none of which is "yes", that is a
share of 1/n. Estimates farther from the boundary stay where they are.

Callers give combinations as labels to sum over, as coefficients or as scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._common import checks
from .._common.threads import one_thread
from .._common.types import Bools, Floats
from .._common.words import shorten
from ..errors import OptionError, SizeError, ValuesError
from ..model import utility
from ..model.labels import Labels, as_list
from ..model.purpose import Purpose, shares
from ..model.purposes import mean
from ..model.utility import Utility
from .counts import label_finder, place_finder

# Singular values of the normalised matrix, the largest of which is 1. Those below are rounding: to learn what
# they carry would take more than 10^18 reports.
RANK_TOLERANCE = 1e-9
MOST_SYMBOLS = 5000  # of which tables by symbol and symbol are made: 200 MB each
RIDGES = np.concatenate(([0.0], np.logspace(-9, 2, 34)))
TWO_VALUES = 1e-9  # of the range: weights that differ by less are made equal
ROUNDS = 2  # of choosing weights: the first may be for other shares, those of the second are nearly the best
STEPS = 8  # with the same weights: halves the distance on a logarithmic scale
MOST = 0.5  # a standard error above says nothing about where a share is


def each_symbol(size: int) -> Floats:
    """The coefficients of every single share, one row each: a square table, so not for any number of symbols."""
    if size > MOST_SYMBOLS:
        raise SizeError(
            f"intervals and standard errors of single answers need at most {MOST_SYMBOLS} answers",
            given=size,
            remedy="ask for sums over groups of answers, or merge rare answers before you collect",
        )
    return np.eye(size)


class Scaled(NamedTuple):
    """Combinations t = low + spread * unit, the coefficients of `unit` between 0 and 1.

    Shares sum to 1, so the constant is known. Whoever computed with it would lose digits where scores are far from 0.
    """

    unit: Floats
    low: Floats
    spread: Floats

    @classmethod
    def of(cls, targets: Floats) -> Scaled:
        low = targets.min(axis=1)
        off = targets - low[:, None]
        spread = off.max(axis=1)
        return cls(off / np.where(spread > 0, spread, 1.0)[:, None], low, spread)

    def values(self, unit: Floats) -> Floats:
        """Values of the targets from those of the unit targets, the last axis over targets."""
        return self.low + self.spread * unit


@dataclass(frozen=True, eq=False)
class Channel:
    """A mechanism and the shares that are expected: all weights are chosen from these, never from the data."""

    P: Floats
    expected: Floats  # > 0

    @cached_property
    def outputs(self) -> Floats:
        """The expected distribution of reports."""
        return self.expected @ self.P

    @cached_property
    def possible(self) -> Bools:
        return np.asarray(self.P.max(axis=0) > 0)

    @cached_property
    @one_thread
    def svd(self) -> tuple[Floats, Floats, Floats]:
        """Of diag(expected)^1/2 P diag(outputs)^-1/2, as far as it is not rounding."""
        A = np.sqrt(self.expected)[:, None] * self.P[:, self.possible] / np.sqrt(self.outputs[self.possible])
        U, S, V = np.linalg.svd(A, full_matrices=False)
        k = int((S > RANK_TOLERANCE).sum())
        return U[:, :k], S[:k], V[:k]

    @property
    def rank(self) -> int:
        """The dimension of what is identified, the total included."""
        return len(self.svd[1])

    def identified(self, targets: Floats) -> Bools:
        """Whether each combination, a row of coefficients, is determined by the distribution of reports."""
        U = self.svd[0]
        scaled = Scaled.of(targets).unit * np.sqrt(self.expected)
        left = np.abs(scaled - (scaled @ U) @ U.T).max(axis=1)
        return np.asarray(left <= 1e-7 * np.abs(scaled).max(axis=1) + 1e-14)

    def components(self) -> list[list[int]]:
        """Groups of symbols that cannot be told apart completely; the sum over each group is identified.

        The directions that reports say nothing about split into groups of symbols that share none. Every
        direction sums to 0, because P 1 = 1, so it does within each group.
        """
        from scipy.sparse.csgraph import connected_components

        U = self.svd[0]
        lost = each_symbol(len(U)) - U @ U.T  # the projector on these directions
        _, names = connected_components(np.abs(lost) > 1e-7, directed=False)
        symbols = np.flatnonzero(np.abs(np.diag(lost)) > 1e-7)
        return [[int(i) for i in symbols if names[i] == name] for name in np.unique(names[symbols])]

    @one_thread
    def inverse(self, report_shares: Floats) -> Floats:
        """Unbiased shares from shares of outputs: the weights of every symbol, applied at once."""
        U, S, V = self.svd
        off = (report_shares - self.outputs)[self.possible] / np.sqrt(self.outputs[self.possible])
        return self.expected + np.sqrt(self.expected) * (U @ (V @ off / S))

    def weights(self, targets: Floats, ridge: float = 0.0) -> Floats:
        """The unbiased weights of least expected variance where there are any, drawn towards 0 by the ridge."""
        U, S, V = self.svd
        U = np.asfortranarray(U)  # the last bits of a product depend on the order in memory
        inner = (targets * np.sqrt(self.expected)) @ U * (S / (S * S + ridge))
        W = np.zeros((len(targets), self.P.shape[1]))
        W[:, self.possible] = inner @ V / np.sqrt(self.outputs[self.possible])
        return W

    @one_thread
    def symbol_weights(self) -> Floats:
        """The weights of every single share, one row each."""
        U, S, V = self.svd
        W = np.zeros(self.P.shape)
        W[:, self.possible] = (np.sqrt(self.expected)[:, None] * U / S) @ V
        W[:, self.possible] /= np.sqrt(self.outputs[self.possible])
        return W

    @one_thread
    def contrasts(self, targets: Floats, n: float, z: float) -> Contrasts:
        """For every target the weights whose interval from n reports is expected to be narrowest."""
        best = np.full(len(targets), np.inf)
        chosen = np.zeros((len(targets), self.P.shape[1]))
        for ridge in RIDGES:
            W = self.weights(targets, float(ridge))
            rest = targets - W @ self.P.T
            bias, spread = np.ptp(rest, axis=1), np.sqrt(variances(W, self.outputs) / n)
            width = 2 * z * spread + z * z * np.ptp(W, axis=1) / (3 * n) + bias
            better = width < best * (1 - 1e-9)
            best[better], chosen[better] = width[better], W[better]
            if ridge == 0.0 and bool((bias <= 1e-9).all()) and bool((width <= 0.2).all()):
                break  # unbiased and narrow: nothing to trade
        return Contrasts(self, targets, _two_valued(chosen))


@dataclass(frozen=True, eq=False)
class SeparateStages(Channel):
    """Several mechanisms beside each other, each with its own unbiased weights.

    So each stage is unbiased given all before it, although its mechanism may depend on their reports.
    """

    stages: tuple[Channel, ...]

    def weights(self, targets: Floats, ridge: float = 0.0) -> Floats:
        return np.concatenate([stage.weights(targets, ridge) for stage in self.stages], axis=1)

    def symbol_weights(self) -> Floats:
        return np.concatenate([stage.symbol_weights() for stage in self.stages], axis=1)

    def inverse(self, report_shares: Floats) -> Floats:
        return self.symbol_weights() @ report_shares


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Targets t, weights w for them, and what is left between the two."""

    channel: Channel
    targets: Floats  # (K, N)
    W: Floats  # (K, M)

    @cached_property
    def means(self) -> Floats:
        """(K, N): the mean of the weight when the input is i."""
        return self.W @ self.channel.P.T

    @cached_property
    def bias(self) -> tuple[Floats, Floats]:
        """The least and the largest that t . theta - E[w] can be."""
        rest = self.targets - self.means
        return rest.min(axis=1), rest.max(axis=1)

    @property
    def biased(self) -> Bools:
        low, high = self.bias
        return high - low > 1e-6


@one_thread
def standard_errors(channel: Channel, targets: Floats, n: float) -> Floats:
    """Of the best unbiased estimates of the targets from n reports at the expected shares; else infinite."""
    unit, _, spread = Scaled.of(targets)
    variance = variances(channel.weights(unit), channel.outputs)
    return np.where(channel.identified(targets), spread * np.sqrt(variance / n), np.inf)


def variances(W: Floats, q: Floats) -> Floats:
    """Of the weights of one report, if reports are distributed like q."""
    mean = W @ q
    return np.maximum((W * W) @ q - mean * mean, 0.0)


def _two_valued(W: Floats) -> Floats:
    """The same weights; where they take two values up to rounding, exactly two.

    The distribution of their sum is then binomial. What was changed counts as bias.
    """
    low, high = W.min(axis=1, keepdims=True), W.max(axis=1, keepdims=True)
    snapped = np.where((low + high) / 2 < W, high, low)
    close = np.abs(W - snapped).max(axis=1) <= TWO_VALUES * (high - low)[:, 0]
    return np.where(close[:, None], snapped, W)


def interior(channel: Channel, shares: Floats, n: float, fixed: bool = False) -> Floats:
    """The shares, those smaller than their standard error from n reports replaced by it, scaled to sum to 1.

    Standard errors are those of weights that are chosen for these shares, or of the channel's own if `fixed`.
    """
    start = np.maximum(shares, 0.0)
    start = start / start.sum()
    theta, used = (n * start + channel.expected) / (n + 1), channel
    for _ in range(ROUNDS):
        W = used.symbol_weights()
        for _ in range(STEPS):
            least = np.minimum(np.sqrt(variances(W, theta @ channel.P) / n), MOST)
            theta = np.maximum(start, least)
            theta = theta / theta.sum()
        if bool((start >= least).all()):
            return np.asarray(start)
        if fixed or channel.rank == np.count_nonzero(channel.possible):
            break  # other weights would be the same
        used = Channel(channel.P, theta)
    return np.asarray(theta)


def statements(targets: Floats) -> int:
    """Over how many statements the error of simultaneous intervals is divided.

    Of two answers there is one: shares sum to 1, so every combination is a + b times the share of the first, and its
    interval is right where that share's is.
    """
    return 1 if targets.shape[1] == 2 else len(targets)


def target_of(labels: Labels, coefficients: Any) -> Floats:
    """The coefficient of every label: 1 for those to sum over, or those of a mapping label -> coefficient."""
    target = np.zeros(len(labels))
    if isinstance(coefficients, str | bytes) or not isinstance(coefficients, Iterable):
        raise ValuesError(
            "a group must be a list of labels or a mapping label -> coefficient",
            given=f"{coefficients!r}",
            remedy="one label is a list of one",
        )
    items = coefficients.items() if isinstance(coefficients, Mapping) else ((x, 1.0) for x in coefficients)
    find = label_finder(labels)
    for label, value in items:
        place = find(label)
        if place < 0 or not is_finite(value):
            raise ValuesError(
                f"a group must hold input labels, of {shorten(labels)}, with finite coefficients",
                given=f"{label!r}: {value!r}",
                remedy="correct it",
            )
        target[place] = value
    return target


def score_target(labels: Labels, scores: Any) -> Floats:
    """The score of every label: of a mapping or a list, else the labels themselves, which must be numbers."""
    if scores is None:
        return label_numbers(labels)
    if isinstance(scores, Mapping):
        place_of = place_finder(labels, "scores")
        found = {labels[place_of(label)]: value for label, value in scores.items()}
        checks.cover(found, "scores", labels)
        values: Sequence[Any] = [found[label] for label in labels]
    else:
        values = as_list(scores)
    if len(values) != len(labels) or not all(map(is_finite, values)):
        raise OptionError(
            f"must be a finite number for each of the {len(labels)} labels",
            parameter="scores",
            given=repr(scores)[:60],
            remedy="give a mapping label -> number",
        )
    return np.array(values, dtype=np.float64)


def purpose_named(name: str, labels: Labels) -> Utility | Purpose:
    """What the command line and the explorer call by this name; the mean is that of the labels."""
    if name in ("shares", "relative"):
        return shares if name == "shares" else shares.relative
    if name != "mean":
        found: Utility = getattr(utility, name.replace("-", "_"))
        return found
    try:
        return mean(dict(zip(labels, label_numbers(labels).tolist(), strict=True)))
    except OptionError as error:
        raise OptionError(
            "a mean needs answers that are numbers",
            given=error.given,
            remedy="name the answers 0, 1, 2, or estimate their shares",
        ) from None


def label_numbers(labels: Labels) -> Floats:
    """The labels as numbers, also where they are written as text."""
    numbers = [_number(label) for label in labels]
    if None in numbers:
        raise OptionError(
            "must be given where labels are not numbers",
            parameter="scores",
            given=shorten(labels),
            remedy='e.g. `scores={"no": 0, "yes": 1}`',
        )
    return np.array(numbers, dtype=np.float64)


def _number(label: Any) -> float | None:
    """A label as a number, also one that is written as text."""
    try:
        value = float(label) if not isinstance(label, bool | tuple) else math.nan
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def is_finite(value: Any) -> bool:
    """Whether it is a number, and finite; text and truth values are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond doubles
        return False
