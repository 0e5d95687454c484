"""Design, the one result of every way to solve a problem, and the end of every way.

A mechanism is repaired, measured and held against its bound. `finish` alone makes designs.
"""

from __future__ import annotations

import html
import math
import time
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np

from .._common.types import Axes, same
from .._common.words import counted
from ..model.blocks import BlockMechanism
from ..model.designed import Designed
from ..model.leakage import Doubt, doubt
from ..model.levels import PML, Notion
from ..model.mechanism import Mechanism, pair_outputs
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.purpose import Proof, Purpose, QuadraticProof
from ..model.utility import Utility
from ..theory.lift_vectors import Arcs
from .effort import Effort, Stats, Why
from .generate import NO_SEARCH, checked_bound, relative_gap
from .problem import Problem
from .settled import LIFTS, settled_bound

LARGEST = 1 << 24  # entries of a matrix that is made for `doubt`; larger ones are not certified either


@dataclass(frozen=True, eq=False)
class Found:
    """A mechanism and what is known about it: the method, a bound on the optimum with its proof, what was done.

    Without `upper` the sum of the dual vector bounds the optimum, or the value does if there is none. `value` is what
    it is worth where that is known better than from its matrix.
    """

    method: str
    made: Mechanism | BlockMechanism | Arcs
    upper: float | None = None
    proof: Proof | None = None
    stats: Stats = NO_SEARCH
    value: float | None = None
    beyond_doubles: bool = False  # the bound says that the optimum is lost in rounding: it stays as it is


def finish(problem: Problem, found: Found, effort: Effort, begin: float) -> Design:
    """The design of what was found, measured; `begin` is when the search began."""
    utility, value, made = problem.utility, found.value, found.made
    if isinstance(utility, Purpose) and isinstance(made, Mechanism):
        made = pair_outputs(problem.nominal, made)
    if value is None:
        assert isinstance(made, Mechanism)
        value = utility(problem.nominal, made)
    upper = found.upper
    proof = found.proof
    if upper is None:
        upper = math.fsum(proof) if isinstance(proof, np.ndarray) else value
    if isinstance(utility, Purpose):
        upper = checked_bound(min(upper, 1.0), value, blurred(value, problem.epsilon))
    else:
        if not found.beyond_doubles:
            assert not isinstance(proof, QuadraticProof)
            upper, proof = settled_bound(problem, upper, proof, value)
        if isinstance(made, Mechanism):
            made = pair_outputs(problem.nominal, made)
    proven = relative_gap(value, upper) <= problem.goal(effort) and not found.beyond_doubles
    stats = found.stats
    why = Why.REACHED if proven and stats.why in (Why.EXHAUSTED, Why.WORK) else stats.why
    return Design(
        problem.nominal,
        problem.epsilon,
        utility,
        found.method,
        made,
        value,
        upper,
        proof,
        proven,
        replace(stats, seconds=time.perf_counter() - begin, why=why),
        problem.priors,
        problem.notion,
    )


def blurred(efficiency: float, epsilon: float) -> float:
    """How far off an efficiency may be that was measured from a matrix: lifts differ from 1 by about epsilon only."""
    return efficiency * min(1.0, LIFTS / epsilon) if epsilon > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Design(Designed):
    """A mechanism with what is proven about it: value <= best possible <= upper_bound.

    For a purpose such as shares the value is an efficiency, how many direct answers one report is worth, and
    `proof` holds the weights of a quadratic form. For a utility it is a dual vector: proof . lambda >= mu(lambda) for
    every admissible lift vector, and its sum is the bound. An upper_bound of inf means that nothing is proven.
    `proven`: the gap is within the tolerance that was asked for. `stats` says what the search did and what stopped it
    early, if something did.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> design = ex.design(prior, 0.6)
    >>> round(design.value, 3), round(design.upper_bound, 3), design.proven
    (0.274, 0.274, True)
    >>> ex.check_design(design).ok
    True

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
        The mechanism; in blocks of answers, or as arcs, where a matrix would be too large.
    value
        What it is worth: an efficiency, or the utility.
    upper_bound
        No mechanism within the limit is worth more; inf if nothing is proven.
    proof
        What the bound follows from; None if nothing is proven.
    proven
        Whether the gap is within the tolerance.
    stats
        What the search did.
    prior_set
        The set of priors, if it was designed for one.
    notion
        What must not exceed epsilon.
    """

    prior: Prior
    epsilon: float
    utility: Utility | Purpose
    method: str
    made: Mechanism | BlockMechanism | Arcs = field(repr=False)
    value: float
    upper_bound: float
    proof: Proof | None = field(repr=False)
    proven: bool
    stats: Stats = NO_SEARCH
    prior_set: PriorSet | None = field(default=None, repr=False)
    notion: Notion = PML

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Design):
            return NotImplemented
        return all(same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    def __hash__(self) -> int:
        return hash((self.prior, self.epsilon, self.value))

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
            proof = f"at most {self._number(self.upper_bound)} is possible (gap {self.gap:.1e}{short})"
        stats = self.stats
        work = f", {stats.columns} columns in {counted(stats.rounds, 'round')}" if stats.columns else ""
        return "\n".join(
            (
                *(
                    [f"no protection: {self.doubt}"]
                    if self.doubt is not None and self.doubt.disclosed
                    else []
                ),
                f"{self._worth} at epsilon = {self.epsilon:.6g}; {proof}",
                f"{self.prior.size} answers, {self.made.shape[1]} reports; {self._place}",
                f"method {self.method}, {stats.seconds:.3f} s{work}; {stats.why.value}",
                *([] if self.prior_set is None else [self._promise(self.prior_set)]),
            )
        )

    def _number(self, worth: float) -> str:
        """Value and bound in equally many digits: rounded apart, the bound may seem to be the smaller one."""
        return f"{worth:.6g}" if isinstance(self.utility, Purpose) else f"{worth:.9g}"

    @property
    def _worth(self) -> str:
        if not isinstance(self.utility, Purpose):
            return f"{self.utility.name} {self._number(self.value)}"
        times = (
            f": ask {1 / self.value:.3g} times as many people as without privacy" if self.value > 0 else ""
        )
        return f"efficiency {self._number(self.value)} for {self.utility.name}{times},"

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

        worth = "efficiency" if isinstance(self.utility, Purpose) else self.utility.name
        title = f"Chance of each report at ε = {self.epsilon:.4g}: {worth} {self.value:.4g}"
        return draw_matrix(self.mechanism.matrix, self.mechanism.inputs, self.mechanism.outputs, title, axes)
