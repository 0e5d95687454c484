"""Design: the one result of all methods, and the steps that every mechanism takes to become one."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._common.types import Floats, Ints
from ..model.blocks import BlockMechanism
from ..model.doubt import Doubt, doubt
from ..model.leakage import lift
from ..model.mechanism import Mechanism
from ..model.notion import PML, Notion
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.proof import Certificate
from ..model.purpose import Purpose
from ..model.regions import rounding
from ..model.utility import FInformation, Generator, Utility
from ..theory.arc import ArcColumns
from ..theory.lift_vectors import subset_sums
from ..theory.pairing import pair_outputs
from .bound import LIFTS, checked_bound
from .generate import NO_SEARCH, Stats, relative_gap
from .problem import Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXCESS = 5e-13  # leakage above epsilon that rounding does not explain
STEEP = (
    1e-6  # of the value, or of 1: an optimum that rounding moves by more is not known, and its bound says so
)
DUAL = 1e-12  # of the elements of a dual vector: what rounding does to their sum
ULPS = 1e-15  # of the values of f: what rounding does to a sum of them
LARGEST = 1 << 24  # entries of a matrix that is made for `doubt`; larger ones are not certified either
LISTED = 18  # symbols up to which all sets are looked at for the one that fills a column best


@dataclass(frozen=True)
class Arcs:
    """An arc mechanism without its matrix, which may be too large: columns over the symbols in `order`."""

    prior: Prior
    columns: ArcColumns
    order: Ints

    @property
    def shape(self) -> tuple[int, int]:
        """Inputs and outputs."""
        return self.prior.size, self.columns.outputs

    def mechanism(self) -> Mechanism:
        """With its matrix; refused if that is too large."""
        Q = self.columns.matrix()
        P = np.empty_like(Q)
        P[self.order] = Q
        return Mechanism(P, self.prior.labels)


@dataclass(frozen=True, eq=False)
class Design:
    """A mechanism with what is proven about it: value <= best possible <= upper_bound.

    For a purpose such as shares the value is an efficiency, how many direct answers one report is worth, and
    `certificate` proves the bound. For a utility `dual` does: dual . lambda >= mu(lambda) for every admissible lift
    vector, and its sum is the bound. An upper_bound of inf means that nothing is proven. `proven`: the gap is within
    the tolerance that was asked for. `stats` says what the search did and what stopped it early, if something did.

    Attributes
    ----------
    prior
        The prior it was designed for; of a set, the nominal one.
    epsilon
        The limit on leakage, in nats.
    utility
        What it was designed for.
    method
        The method that found it.
    made
        The mechanism, or its arcs where a matrix would be too large.
    value
        What it is worth: an efficiency, or the utility.
    upper_bound
        No mechanism within the limit is worth more; inf if nothing is proven.
    dual
        The proof of the bound, for a utility.
    proven
        Whether the gap is within the tolerance.
    stats
        What the search did.
    prior_set
        The set of priors, if it was designed for one.
    notion
        What must not exceed epsilon.
    certificate
        The proof of the bound, for a purpose such as shares.
    """

    prior: Prior
    epsilon: float
    utility: Utility | Purpose
    method: str
    made: Mechanism | BlockMechanism | Arcs = field(repr=False)
    value: float
    upper_bound: float
    dual: Floats | None = field(repr=False)
    proven: bool
    stats: Stats = NO_SEARCH
    prior_set: PriorSet | None = field(default=None, repr=False)
    notion: Notion = PML
    certificate: Certificate | None = field(default=None, repr=False)

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism; outputs carry the input labels they agree with most often."""
        if isinstance(self.made, Mechanism):
            return self.made
        if isinstance(self.made, BlockMechanism):
            return self.made.dense()
        return pair_outputs(self.prior, self.made.mechanism())

    @property
    def region(self) -> int:
        """The privacy region of epsilon, 1..N, or N + 1 where full disclosure is allowed."""
        return self.prior.region(self.epsilon)

    @property
    def gap(self) -> float:
        """How far from optimal the value can be at most, relative to the value."""
        return relative_gap(self.value, self.upper_bound)

    @cached_property
    def doubt(self) -> Doubt | None:
        """How much of the doubt about an answer is left after its report; None if the matrix would be too large."""
        if not isinstance(self.made, Arcs):
            return doubt(self.prior, self.made)
        n, m = self.made.shape
        return doubt(self.prior, self.mechanism) if n * m <= LARGEST else None

    def __str__(self) -> str:
        if math.isinf(self.upper_bound):
            proof = "no upper bound is known for this utility, so nothing is proven"
        else:
            short = "" if self.proven else ", more than the tolerance"
            proof = f"at most {self.upper_bound:.9g} is possible (gap {self.gap:.1e}{short})"
        stats = self.stats
        work = f", {stats.columns} columns in {stats.rounds} rounds" if stats.columns else ""
        return "\n".join(
            (
                *(
                    [f"no protection: {self.doubt}"]
                    if self.doubt is not None and self.doubt.disclosed
                    else []
                ),
                f"{self._worth} at epsilon = {self.epsilon:.6g}; {proof}",
                f"{self.prior.size} answers, {self.made.shape[1]} reports; {self._place}",
                f"method {self.method}, {stats.seconds:.3f} s{work}"
                + ("; interrupted, this is the best so far" if stats.interrupted else "")
                + ("; stopped by the time limit, this is the best so far" if stats.stopped else ""),
                *([] if self.prior_set is None else [self._promise(self.prior_set)]),
            )
        )

    @property
    def _worth(self) -> str:
        if not isinstance(self.utility, Purpose):
            return f"{self.utility.name} {self.value:.9g}"
        times = (
            f": ask {1 / self.value:.3g} times as many people as without privacy" if self.value > 0 else ""
        )
        return f"efficiency {self.value:.4g} for {self.utility.name}{times},"

    @property
    def _place(self) -> str:
        if self.notion != PML:
            return f"under {self.notion}"  # with its own bound on lifts, if it has one
        k, n = self.region, self.prior.size
        if k == 1:
            return "no report can rule an answer out"
        if k <= n:
            return f"a report can rule out up to {k - 1} answer{'s' * (k > 2)}"
        # Another prior of a set may still forbid to tell everything.
        return (
            "the report may be the answer itself"
            if self.prior_set is None
            else "the limit is above epsilon_max"
        )

    def _promise(self, priors: PriorSet) -> str:
        sure = ""
        if priors.delta > 0:  # what a sample says, which no design proves
            sure = f"; (epsilon, delta) = ({self.epsilon:.6g}, {priors.delta:.6g}) "
            sure += f"if the set holds the true prior with confidence {priors.confidence:.6g}"
        return f"holds for every prior of the set: {priors.description}{sure}"

    def _repr_html_(self) -> str:
        table = self.mechanism._repr_html_() if self.prior.size <= 100 else ""
        return f"<pre>{html.escape(str(self))}</pre>{table}"

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with a heat map of the mechanism; the title says what it is worth.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        from .._common.plot import draw_matrix

        title = f"{self.utility.name} {self.value:.4g} at epsilon = {self.epsilon:.4g}"
        return draw_matrix(self.mechanism.matrix, self.mechanism.inputs, self.mechanism.outputs, title, axes)


def finished(
    task: Task,
    made: Mechanism | BlockMechanism | Arcs,
    value: float,
    upper: float,
    dual: Floats | None,
    stats: Stats = NO_SEARCH,
) -> Design:
    """The design for a task with a mechanism of this value; whoever runs the method adds its name."""
    noise = blur = 0.0
    if isinstance(task.utility, FInformation):
        noise, blur = rounding_errors(task.prior.probabilities, task.utility.f, task.low, task.high)
    upper = checked_bound(upper, value, _precision(task, dual) + noise + blur)
    if dual is not None and isinstance(task.utility, FInformation):
        if upper - value <= noise:
            upper = value
        if blur > STEEP * max(abs(value), 1.0):
            upper, dual = upper + blur, dual + blur * task.prior.probabilities
    proven = relative_gap(value, upper) <= task.tolerance
    return Design(
        task.prior,
        task.epsilon,
        task.utility,
        "",
        made,
        value,
        upper,
        dual,
        proven,
        stats,
    )


def _precision(task: Task, dual: Floats | None) -> float:
    """How far value and bound may be off because lifts are known to a few ulps, and because sums of the dual cancel."""
    off = 0.0 if dual is None else DUAL * float(np.abs(dual).sum())
    if isinstance(task.utility, FInformation):
        ends = np.array([task.low, task.high])
        moved = np.clip(ends * (1 + np.array([LIFTS, -LIFTS])), task.low, task.high)
        off += float(np.abs(task.utility.f(ends) - task.utility.f(moved)).max())
    return off


def rounding_errors(pi: Floats, f: Generator, low: float, high: float) -> tuple[float, float]:
    """How far off by rounding the value of a column can be, and how far the optimum can.

    The latter is more where f is very steep at `low`: the partial symbol of a column has a lift that is known to
    rounding, and where e^epsilon is next to the edge of a region that lift is next to `low`.
    """
    noise = ULPS * float(np.abs(f(np.array([low, high]))).max())
    unsure = float(rounding(math.log(high))) * (1 - low)  # of what the full symbols leave of the mean
    nearest = 0.0
    if len(pi) <= LISTED:
        left = np.abs((1 - low) - (high - low) * subset_sums(pi))
        nearest = max(float(left.min()) - unsure, 0.0)
    below, above = (f(low + np.minimum(x / pi, high - low)) for x in (nearest, nearest + 2 * unsure))
    return noise, float(np.max(pi * (below - above)))


def measured(
    task: Task,
    mechanism: Mechanism,
    upper: float | None,
    dual: Floats | None,
    stats: Stats = NO_SEARCH,
) -> Design:
    """The design of a mechanism, its value measured; without an upper bound that of the dual vector counts."""
    value = task.utility(task.prior, mechanism)
    if upper is None:
        upper = value if dual is None else math.fsum(dual)
    return finished(task, pair_outputs(task.prior, mechanism), value, upper, dual, stats)


def within_lifts(prior: Prior, mechanism: Mechanism, epsilon: float, low: float = 0.0) -> Mechanism:
    """The mechanism, mixed with its own output distribution if rounding took a lift out of [low, e^epsilon]."""
    lifts = lift(prior, mechanism)
    top, bottom = float(lifts.max()), float(lifts.min())
    share = 0.0
    if math.log(top) > epsilon + EXCESS:
        share = (top - math.exp(epsilon)) / (top - 1)
    if bottom < low - EXCESS:
        share = max(share, (low - bottom) / (1 - bottom))
    if share == 0.0:
        return mechanism
    mean = mechanism.output_distribution(prior)
    return Mechanism((1 - share) * mechanism.matrix + share * mean, mechanism.inputs, mechanism.outputs)
