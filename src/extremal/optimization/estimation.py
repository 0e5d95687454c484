"""The mechanism that is best for estimating the shares of a population from its reports, under epsilon-PML.

Reports y of a mechanism P have the information matrix J = P diag(P_Y)^-1 P' about the shares pi. The weighted
least-squares estimate J^-1 P diag(P_Y)^-1 (report frequencies) is unbiased, and its covariance around the true shares
of the n people who answered is (J^-1 - diag(pi)) / n. So the expected squared error is (tr J^-1 - 1) / n, and the best
mechanism has the least tr J^-1. Mutual information rewards something else: a mechanism that has most of it may not tell
all shares apart.
"""

from __future__ import annotations

import html
import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._types import Floats
from ..errors import EpsilonError, OptionError, SolverError
from ..model.mechanism import Mechanism, check_match
from ..model.mechanism import identity as identity_mechanism
from ..model.prior import Prior, check_prior
from ..model.regions import check_epsilon, largest_lift
from ..theory.arc import arc_columns
from ..theory.lift_vectors import lift_vertices
from ..theory.pairing import pair_outputs
from .result import within_lifts
from .solver.local_search import fill

SINGULAR = 1e12  # condition of J from which on shares cannot be told apart
ENUMERABLE = 12  # symbols whose extremal lift vectors are all listed
TRIED = 40  # lift vectors for each symbol, beyond
MOST_ROUNDS = 200
UNUSED = 1e-12  # weights up to this are dropped


@dataclass(frozen=True, eq=False)
class EstimationDesign:
    """A mechanism with tr J^-1 = `trace`; none can fall below `lower_bound` (-inf: nothing is proven)."""

    prior: Prior
    epsilon: float
    mechanism: Mechanism = field(repr=False)
    trace: float
    lower_bound: float
    tolerance: float

    def error(self, people: Any) -> float:
        """The root mean squared error of a share among so many people, estimated from their reports.

        For the shares of a population that they were drawn from, chance adds to it: see expected_error().
        """
        if isinstance(people, bool) or not isinstance(people, int | float | np.number) or not people > 0:
            raise OptionError(
                "must be a number > 0",
                parameter="people",
                given=f"{people!r}",
                remedy="e.g. 1000",
            )
        return math.sqrt(max(self.trace - 1, 0.0) / (people * self.prior.size))

    @property
    def gap(self) -> float:
        """How far the squared error can be from the least possible, relative to it."""
        above = self.trace - self.lower_bound
        return above / (self.trace - 1) if above > 1e-12 * self.trace else 0.0

    @property
    def certified(self) -> bool:
        """Whether the gap is proven to be within the tolerance asked for."""
        return self.gap <= self.tolerance

    def __str__(self) -> str:
        if math.isinf(self.lower_bound):
            proof = "how far that is from the least possible is not known"
        else:
            proof = f"proven to be within {self.gap:.1%} of the least possible squared error"
        n, m = self.mechanism.shape
        return (
            f"expected error of a share from 1000 reports {self.error(1000):.4g} at epsilon = {self.epsilon:.6g}, "
            f"{proof}\n{n} inputs, {m} outputs, made for estimation"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>{self.mechanism._repr_html_() if self.prior.size <= 100 else ''}"


def information(prior: Prior, mechanism: Mechanism) -> Floats:
    """J = P diag(P_Y)^-1 P': what one report tells about the shares."""
    check_match(prior, mechanism)
    P = mechanism.matrix
    return np.asarray((P / mechanism.output_distribution(prior)) @ P.T)


def standard_error(prior: Prior, mechanism: Mechanism, people: int) -> float:
    """EstimationDesign.error() of any mechanism: the error among the people who report, averaged over the shares.

    Infinite if the shares cannot be told apart.
    """
    J = information(prior, mechanism)
    if np.linalg.cond(J) > SINGULAR:
        return math.inf
    squared = max(float(np.trace(np.linalg.inv(J))) - 1, 0.0) / people
    return math.sqrt(squared / prior.size)


def estimation_design(
    prior: Prior, epsilon: float, *, tolerance: float = 0.01, time_limit: float = 20.0
) -> EstimationDesign:
    """The mechanism under epsilon-PML with the least expected squared error of estimated shares.

    J is a mixture of lambda lambda' over extremal lift vectors, as in Theorem 5, and tr J^-1 is convex in J. It falls
    fastest towards the mechanism that is best for the utility p' J^-2 p / (pi . p), a linear program over the same
    vectors; what that mechanism would gain bounds the distance to the optimum. Such mechanisms are added one by one,
    and mixed in the best proportions. Up to 12 symbols all lift vectors are used and the result is proven to be within
    `tolerance`, relatively, if `time_limit`, in seconds, allows; above, some of them, and nothing is proven. There may
    be more outputs than inputs.
    """
    deadline = time.perf_counter() + time_limit
    pi, epsilon = check_prior(prior).probabilities, check_epsilon(epsilon)
    if not 0 < tolerance < 1:
        raise OptionError(
            "must be between 0 and 1",
            parameter="tolerance",
            given=tolerance,
            remedy="0.01 proves one percent",
        )
    if epsilon == 0:
        raise OptionError(
            "must be > 0: at 0 reports tell nothing about the shares",
            parameter="epsilon",
        )
    if epsilon >= prior.epsilon_max:
        return EstimationDesign(prior, epsilon, identity_mechanism(prior), 1.0, 1.0, tolerance)
    everything = prior.size <= ENUMERABLE
    V = lift_vertices(pi, 0.0, largest_lift(pi, epsilon)) if everything else _some(pi, math.exp(epsilon))
    units = np.eye(prior.size) if everything else np.eye(prior.size)[:: max(1, prior.size // 12)]
    mixed = [_best_weights(V, np.diag(unit)) for unit in units]
    share = np.full(len(mixed), 1 / len(mixed))
    lower = -math.inf
    for _ in range(MOST_ROUNDS):
        parts = np.array([(V.T * weights) @ V for weights in mixed])
        share, inverse = _mix(parts, share, tolerance / 4)
        slope = inverse @ inverse
        trace = float(np.trace(inverse))
        weights = _best_weights(V, slope)
        lower = max(lower, 2 * trace - float(np.sum(slope * ((V.T * weights) @ V))))
        if trace - lower <= tolerance * (trace - 1) or time.perf_counter() > deadline:
            break
        kept = share > 0
        mixed = [w for w, keep in zip(mixed, kept, strict=True) if keep] + [weights]
        share = np.append(share[kept], 0.0)
    rho = share @ np.array(mixed)
    used = rho > UNUSED
    P = (V[used] * rho[used, None]).T
    mechanism = pair_outputs(
        prior, within_lifts(prior, Mechanism(P / P.sum(axis=1, keepdims=True), prior.labels), epsilon)
    )
    trace = float(np.trace(_inverse(information(prior, mechanism))))
    return EstimationDesign(
        prior, epsilon, mechanism, trace, min(lower, trace) if everything else -math.inf, tolerance
    )


def _inverse(J: Floats) -> Floats:
    """J^-1. Lifts differ from 1 by about epsilon and J from a matrix of rank 1 by its square, which can be rounding."""
    try:
        return np.asarray(np.linalg.inv(J))
    except np.linalg.LinAlgError:
        raise EpsilonError(
            "must be large enough for the reports to tell the shares apart in double precision",
            parameter="epsilon",
            given="less",
            remedy="from 1e-7 on it is",
        ) from None


def _some(pi: Floats, high: float) -> Floats:
    """Extremal lift vectors: those of arcs, and of symbols filled in random orders."""
    rng = np.random.default_rng(0)
    orders = np.argsort(rng.random((TRIED * len(pi), len(pi))), axis=1)
    arcs = []
    for order in orders[:4]:
        lifts = arc_columns(pi[order], 0.0, high).lifts()
        columns = np.empty_like(lifts)
        columns[order] = lifts
        arcs.append(columns.T)
    return np.unique(np.concatenate([*arcs, fill(pi, 0.0, high, orders)]), axis=0)


def _best_weights(V: Floats, W: Floats) -> Floats:
    """The distribution over rows of V with mean 1 that has the largest mean of v' W v."""
    from scipy.optimize import linprog

    gains = np.einsum("ki,ki->k", V @ W, V)
    found = linprog(-gains / np.abs(gains).max(), A_eq=V.T, b_eq=np.ones(V.shape[1]), method="highs")
    if found.status != 0:
        raise SolverError(
            f"the program over lift vectors ended without an answer: {found.message}",
        )
    return np.maximum(np.asarray(found.x, dtype=np.float64), 0.0)


def _mix(parts: Floats, share: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Proportions in which to mix information matrices for the least tr J^-1, and that J^-1.

    Vertex exchange: share moves from the part with the smallest slope to that with the largest, by a step of Newton
    along this line.
    """
    share = share.copy()
    for _ in range(2000):
        inverse = _inverse(np.einsum("k,kij->ij", share, parts))
        slope = np.einsum("ij,kij->k", inverse @ inverse, parts)
        up, down = int(np.argmax(slope)), int(np.argmin(np.where(share > 0, slope, np.inf)))
        trace = float(np.trace(inverse))
        if slope[up] - slope[down] <= tolerance * (trace - 1):
            break
        D = inverse @ (parts[up] - parts[down])
        curvature = 2 * float(np.trace(D @ D @ inverse))
        step = min(float(slope[up] - slope[down]) / max(curvature, 1e-300), float(share[down]))
        share[up] += step
        share[down] -= step
    return share, _inverse(np.einsum("k,kij->ij", share, parts))
