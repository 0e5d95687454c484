"""Many designs in a row: trade-offs, samples of priors, fewer outputs, and comparisons.

`compare` takes for each notion the largest level at which its own best mechanism leaks no more than epsilon in any
outcome. That is one mechanism under each notion, not the best of all that keep both: a mechanism of a higher level that
is not the best at that level may leak less and be worth more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .._common import checks
from .._common.frames import Tabular, html_rows, html_table
from .._common.json import finite_or_none
from .._common.threads import one_thread
from .._common.types import Axes, Floats, Ints
from .._common.words import aligned
from ..errors import OptionError, SolverError
from ..model.leakage import ROUNDING, epsilon_pml
from ..model.leakage_measures import ldp_epsilon, lip_epsilon, maximal_leakage
from ..model.levels import LDP, LIP, MaximalLeakage, bounded_exp, check_epsilon
from ..model.mechanism import Mechanism, identity
from ..model.prior import Prior, check_prior
from ..model.prior_set import PriorSet
from ..model.purpose import Purpose, shares
from ..model.utility import Utility, mutual_information
from ..theory.randomized_response import (
    LARGEST,
    at_pml,
    hadamard_response,
    optimized_unary_encoding,
    randomized_response_for_pml,
    rappor,
    subset_selection,
)
from .design import designed
from .effort import Effort
from .estimates import randomized_response
from .finish import Design, Found, finish
from .masters.quadratic import cut
from .problem import Problem
from .reductions import Symbols, ridged
from .set_levels import SetLevels
from .utilities import LARGEST_LISTED

HEAD = ("epsilon", "best design", "at most possible", "randomized response")


@dataclass(frozen=True, eq=False)
class Tradeoff(Tabular):
    """Curves over epsilon: what is optimal, what is proven impossible to exceed, and what randomized response gives.

    `ceiling` is the value of releasing the answer itself.

    Attributes
    ----------
    prior
        How common each answer is.
    utility
        What the designs are for.
    epsilons
        The limits, in nats.
    optimal
        The value of the best design found at each.
    upper_bound
        The bound on it.
    randomized_response
        The value of randomized response at the same leakage.
    methods
        The method used at each.
    ceiling
        The value of releasing the answer itself.
    """

    prior: Prior
    utility: Utility | Purpose = field(repr=False)
    epsilons: Floats
    optimal: Floats
    upper_bound: Floats
    randomized_response: Floats
    methods: tuple[str, ...]
    ceiling: float

    def __len__(self) -> int:
        return len(self.epsilons)

    def __str__(self) -> str:
        return "\n".join([self._title, *aligned(self._cells(), 0)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._title, html_rows(self._cells()))

    @property
    def _title(self) -> str:
        return f"{self._quantity}, {self.prior.size} answers, {self.ceiling:.4g} if the answer itself is sent"

    @property
    def _quantity(self) -> str:
        return (
            "true answers that a report is worth" if isinstance(self.utility, Purpose) else self.utility.name
        )

    def _cells(self) -> list[tuple[str, ...]]:
        return [HEAD, *(tuple(f"{x:.4g}" for x in [*row.values()][:-1]) for row in self.rows())]

    def plot(self, axes: Axes | None = None) -> Axes:
        """Axes with both curves over epsilon, and the value of releasing the answer itself.

        Parameters
        ----------
        axes
            Matplotlib axes to draw on; new ones if None.
        """
        from .._common.plot import draw_tradeoff

        return draw_tradeoff(
            self.epsilons,
            self.optimal,
            self.randomized_response,
            self.ceiling,
            self._quantity,
            axes=axes,
        )

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each point, for tables and files."""
        columns = (self.epsilons, self.optimal, self.upper_bound, self.randomized_response)
        names = ("epsilon", "optimal", "upper_bound", "randomized_response", "method")
        points = zip(*(column.tolist() for column in columns), self.methods, strict=True)
        return [dict(zip(names, point, strict=True)) for point in points]


@one_thread
def tradeoff(
    prior: Prior,
    epsilons: Iterable[float],
    utility: Utility | Purpose = shares,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tradeoff:
    """The best value at each epsilon, in the order given, beside randomized response.

    A mechanism that is good at a lower epsilon stays admissible, so the curve never falls: where a search ends early,
    the best value at a lower epsilon is taken over.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.tradeoff(prior, [0.3, 0.6, 0.9]).optimal.round(3).tolist()
    [0.103, 0.274, 0.47]

    Parameters
    ----------
    prior
        How common each answer is.
    epsilons
        The limits on leakage, in nats.
    utility
        What the mechanism is for: a purpose such as `shares`, or a utility.
    tolerance
        How close to the optimum each design must be proven to be, relative to its value.
    time_limit
        Seconds for each design, as for design().
    progress
        A function that is called with (points done, points).

    Returns
    -------
    Tradeoff
        The curves, to print, plot or tabulate.
    """
    given: Any = epsilons
    if (
        isinstance(given, str | bytes)
        or not isinstance(given, Iterable)
        or getattr(given, "shape", None) == ()
    ):
        raise OptionError(
            "must be several levels",
            parameter="epsilons",
            given=repr(epsilons)[:60],
            remedy="one level is a list of one: [0.5]",
        )
    levels = np.array([check_epsilon(e) for e in epsilons])
    count = len(levels)
    optimal, upper, response = np.zeros(count), np.zeros(count), np.zeros(count)
    methods = [""] * count
    best = -np.inf
    for done, k in enumerate(np.argsort(levels, kind="stable"), start=1):
        design = designed(prior, levels[k], utility, tolerance=tolerance, time_limit=time_limit)
        methods[k] = design.method
        best = max(best, design.value)
        optimal[k], upper[k] = best, max(design.upper_bound, best)
        response[k] = utility(prior, randomized_response_for_pml(prior, levels[k]))
        if progress is not None:
            progress(done, count)
    ceiling = utility(prior, identity(prior))
    return Tradeoff(prior, utility, levels, optimal, upper, response, tuple(methods), ceiling)


@dataclass(frozen=True, eq=False)
class SampleTradeoff(Tabular):
    """The best value for every prior that a sample leaves open, by the size of the sample.

    `known` is the value if the prior were known. Values are those under `prior`.

    Attributes
    ----------
    prior
        How common each answer is.
    utility
        What the designs are for.
    epsilon
        The limit on leakage, in nats.
    confidence
        The probability that a set holds the true prior.
    observations
        The sizes of the samples.
    optimal
        The value of the best design found, by size.
    upper_bound
        The bound on it, by size.
    known
        The value if the prior were known.
    """

    prior: Prior
    utility: Utility | Purpose = field(repr=False)
    epsilon: float
    confidence: float
    observations: Floats
    optimal: Floats
    upper_bound: Floats
    known: float

    def __len__(self) -> int:
        return len(self.observations)

    def rows(self) -> list[dict[str, Any]]:
        """One mapping for each size, for tables and files."""
        return [
            {
                "observations": float(n),
                "optimal": float(v),
                "upper_bound": float(u),
                "of_known": float(v) / self.known if self.known else 1.0,
            }
            for n, v, u in zip(self.observations, self.optimal, self.upper_bound, strict=True)
        ]


@one_thread
def sample_tradeoff(
    prior: Prior,
    epsilon: float,
    observations: Iterable[float],
    utility: Utility | Purpose = shares,
    *,
    confidence: float = 0.95,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SampleTradeoff:
    """The value of designs that keep epsilon for every prior that a sample of a given size leaves open.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.sample_tradeoff(prior, 0.6, [100, 1000]).optimal.round(3).tolist()
    [0.168, 0.229]

    Parameters
    ----------
    prior
        What the frequencies in the sample are taken to be; values are measured under it.
    epsilon
        The limit on leakage, in nats.
    observations
        Sizes of the sample.
    utility
        What the designs are for.
    confidence
        With which the set of a sample holds the true prior.
    tolerance, time_limit
        As for design(), each time.
    progress
        Called with (sizes done, sizes).

    Returns
    -------
    SampleTradeoff
        The curve, to print or tabulate.
    """
    check_prior(prior)
    given: Any = observations
    try:
        sizes = np.array([] if isinstance(given, str | bytes) else list(given), dtype=np.float64)
    except (TypeError, ValueError):
        sizes = np.zeros(0)
    if sizes.ndim != 1 or len(sizes) == 0 or not (np.isfinite(sizes).all() and sizes.min() >= 1):
        raise OptionError(
            "must be sizes of samples, from 1 on",
            parameter="observations",
            given=repr(observations)[:60],
            remedy="e.g. [100, 1000]",
        )
    level = check_epsilon(epsilon)

    def best(given: Prior | PriorSet) -> Design:
        return designed(given, level, utility, tolerance=tolerance, time_limit=time_limit)

    known = best(prior)
    optimal, upper = np.zeros(len(sizes)), np.zeros(len(sizes))
    for k, n in enumerate(sizes):
        found = best(PriorSet.from_sample_size(prior, float(n), confidence))
        optimal[k], upper[k] = found.value, found.upper_bound
        if progress is not None:
            progress(k + 1, len(sizes))
    return SampleTradeoff(prior, utility, level, float(confidence), sizes, optimal, upper, known.value)


@one_thread
def fewer_reports(design: Design, most: int) -> Design:
    """The same design with at most so many different reports: those that tell most, with their best probabilities.

    The bound stays what it is, so `gap` says how much the smaller number costs at most. As many reports as answers are
    always enough: randomized response has no more.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.fewer_reports(ex.design(prior, 0.6), 3).mechanism.shape
    (3, 3)

    Parameters
    ----------
    design
        A design for a purpose, such as shares.
    most
        The largest number of reports, at least the number of answers.

    Returns
    -------
    Design
        The design itself if it has no more reports than that.
    """
    checks.instance(design, "design", Design, "a design", remedy="design() makes one")
    n, purpose = design.prior.size, design.utility
    if not isinstance(purpose, Purpose):
        raise OptionError(
            "must be a design for estimates",
            parameter="design",
            given=f"one for {purpose.name}",
            remedy="designs for a utility have at most as many reports as answers already",
        )
    most = checks.whole(most, "most", least=n, remedy=f"{4 * n} are enough for most designs")
    if design.mechanism.shape[1] <= most:
        return design
    pi, A = design.prior.probabilities, purpose.loss(design.prior)
    symbols = Symbols.sorted(pi, A)
    problem = symbols.apply(pi, design.epsilon, A)
    P = design.mechanism.matrix[:, design.mechanism.matrix.max(axis=0) > 0][symbols.order]
    q = problem.pi @ P
    if design.prior_set is None:
        response = randomized_response(problem)
    else:
        response = SetLevels.of(design.prior_set, bounded_exp(design.epsilon), symbols.order).simple()
    simple = _made(design, symbols.order, *response)
    try:
        fewer = cut(ridged(problem), (P / q - 1).T, q, most)
    except (np.linalg.LinAlgError, SolverError):
        fewer = None
    if fewer is None:
        return simple
    found = _made(design, symbols.order, *fewer)
    return found if found.value >= simple.value else simple


def _made(design: Design, order: Ints, X: Floats, q: Floats) -> Design:
    """The design of these lift vectors less 1, over sorted symbols; as proven as the one that it is made from."""
    problem = Problem(design.prior_set or design.prior, design.epsilon, design.utility)
    P = np.empty((len(order), len(q)))
    P[order] = ((1 + X) * q[:, None]).T
    mechanism = Mechanism(P / P.sum(axis=1, keepdims=True), design.prior.labels)
    mechanism = problem.lifts.repaired(mechanism)
    found = Found(design.method, mechanism, design.upper_bound, design.proof, design.stats)
    made = finish(problem, found, Effort(design.gap if design.proven else 0.0), time.perf_counter())
    return replace(made, proven=design.proven and made.gap <= design.gap, stats=design.stats)


STEPS = 40  # of a bisection for the level
CLOSE = 1e-7  # levels, or leakages, that need not be told apart
HIGHEST = 40.0  # a level that allows everything
ORACLES = {
    "subset selection": subset_selection,
    "optimised unary encoding": optimized_unary_encoding,
    "RAPPOR": rappor,
    "Hadamard response": hadamard_response,
}


@dataclass(frozen=True, eq=False)
class Compared:
    """One row of a comparison: a mechanism, the level of its own notion, its utility and what it leaks."""

    name: str
    level: float
    value: float
    pml: float
    ldp: float
    lip: float
    maximal_leakage: float
    mechanism: Mechanism = field(repr=False)

    @classmethod
    def of(
        cls, name: str, level: float, prior: Prior, mechanism: Mechanism, utility: Utility | Purpose
    ) -> Compared:
        """Everything measured."""
        return cls(
            name, level, utility(prior, mechanism), epsilon_pml(prior, mechanism), ldp_epsilon(mechanism),
            lip_epsilon(prior, mechanism), maximal_leakage(mechanism), mechanism,
        )  # fmt: skip


COMPARED = ("designed for", "level", "value", "of best", "PML", "LDP", "LIP", "max. leakage")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Mechanisms designed for different notions of privacy, side by side at equal PML; prints as a table.

    Attributes
    ----------
    prior
        How common each answer is.
    epsilon
        The leakage that no row exceeds, in nats.
    utility
        What the rows are compared by.
    rows
        One row for each mechanism.
    notes
        Where a row stays below epsilon, and why.
    """

    prior: Prior
    epsilon: float
    utility: Utility | Purpose
    rows: tuple[Compared, ...]
    notes: tuple[str, ...]

    def row(self, name: str) -> Compared:
        """The row of this name.

        Parameters
        ----------
        name
            The name in the first column.
        """
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"name must be one of {[row.name for row in self.rows]}, got {name!r}")

    def cells(self) -> list[list[str]]:
        """The table as text, head first."""
        best = max(abs(self.rows[0].value), 1e-300)
        table = [list(COMPARED)]
        for row in self.rows:
            numbers = (row.pml, row.ldp, row.lip, row.maximal_leakage)
            table.append(
                [
                    row.name,
                    f"{row.level:.4f}",
                    f"{row.value:.4f}",
                    f"{100 * row.value / best:.1f} %",
                    *(f"{x:.4f}" for x in numbers),
                ]
            )
        return table

    def to_markdown(self) -> str:
        """The table in Markdown, with its notes below."""
        head, *rows = self.cells()
        lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON; an infinite level is None."""
        names = ("level", "value", "pml", "ldp", "lip", "maximal_leakage")
        rows = [{"name": row.name} | {k: finite_or_none(getattr(row, k)) for k in names} for row in self.rows]
        return {
            "epsilon": self.epsilon, "utility": self.utility.name, "rows": rows, "notes": list(self.notes)
        }  # fmt: skip

    def __str__(self) -> str:
        title = f"{self.utility.name}, {self.prior.size} symbols, no outcome leaks more than {self.epsilon:.6g} nats"
        return "\n".join([title, *aligned(self.cells(), 1), *self.notes])

    def _repr_html_(self) -> str:
        return html_table(f"{self.utility.name} at PML {self.epsilon:.6g}", html_rows(self.cells()))


@one_thread
def compare(
    prior: Prior,
    epsilon: float,
    utility: Utility | Purpose = mutual_information,
    *,
    time_limit: float | None = None,
) -> Comparison:
    """The best mechanisms under PML, LIP, LDP and maximal leakage, and randomized response, all at PML epsilon.

    Each notion but PML has a level of its own, chosen as large as its best mechanism's PML allows. Where that PML jumps
    past epsilon the row stays below it, and the table shows by how much. LDP and maximal leakage need all sets of
    symbols and are left out above 14 symbols.

    With a purpose such as shares, the best mechanism stands beside the usual clients of local differential privacy:
    randomized response, subset selection, optimised unary encoding, RAPPOR and Hadamard response. Their values are
    efficiencies too, with the best estimator of each.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> [row.name for row in ex.compare(prior, 0.6).rows]
    ['PML', 'LIP', 'LDP', 'maximal leakage', 'randomized response']

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The leakage that no mechanism may exceed, in nats.
    utility
        What the mechanism is for: a purpose such as `shares`, or a utility.
    time_limit
        Seconds for each design, as for design().

    Returns
    -------
    Comparison
        A table with a row for each notion or client.
    """
    epsilon = check_epsilon(epsilon)
    best = designed(prior, epsilon, utility, time_limit=time_limit)
    rows = [Compared.of("PML", epsilon, prior, best.mechanism, utility)]
    if isinstance(utility, Purpose):
        return _with_oracles(rows, prior, epsilon, utility)
    notes = []

    notions = [LIP]
    if prior.size <= LARGEST_LISTED:
        notions += [LDP, MaximalLeakage]
    else:
        notes.append(
            f"LDP and maximal leakage are left out: their programs list all sets of {prior.size} symbols"
        )
    for notion in notions:
        make = partial(designed, prior, utility=utility, notion=notion, time_limit=time_limit)
        found = _calibrated(make, prior, epsilon)
        rows.append(Compared.of(notion.name, found.epsilon, prior, found.mechanism, utility))
        if rows[-1].pml < epsilon - 1e-6:
            notes.append(
                f"{notion.name} stays below: a step up in its own level would leak more than {epsilon:.6g}"
            )
    response = randomized_response_for_pml(prior, epsilon)
    rows.append(Compared.of("randomized response", ldp_epsilon(response), prior, response, utility))
    return Comparison(prior, epsilon, utility, tuple(rows), tuple(notes))


def _with_oracles(rows: list[Compared], prior: Prior, epsilon: float, purpose: Purpose) -> Comparison:
    """The design in `rows` beside the clients of local differential privacy, at equal PML."""
    response = randomized_response_for_pml(prior, epsilon)
    rows.append(Compared.of("randomized response", ldp_epsilon(response), prior, response, purpose))
    notes: tuple[str, ...] = ()
    if prior.size <= LARGEST:
        for name, make in ORACLES.items():
            level, mechanism = at_pml(make, prior, epsilon)
            rows.append(Compared.of(name, level, prior, mechanism, purpose))
    else:
        notes = (f"other clients are left out: their matrices list all sets of {prior.size} symbols",)
    return Comparison(prior, epsilon, purpose, tuple(rows), notes)


def _calibrated(make: Callable[[float], Design], prior: Prior, epsilon: float) -> Design:
    """The design of the highest level found with PML up to epsilon: secants, and halving where those are slow."""
    made = make(epsilon)
    leaks = epsilon_pml(prior, made.mechanism)
    if leaks > epsilon + ROUNDING:
        best, low, high = make(0.0), (0.0, 0.0), (epsilon, leaks)
    else:
        best, low, high = made, (epsilon, leaks), (epsilon, leaks)
        step = max(epsilon, 0.1)
        while high[1] <= epsilon + ROUNDING and epsilon - low[1] > CLOSE and high[0] < HIGHEST:
            best, low = made, high
            made = make(high[0] + step)
            high = (high[0] + step, epsilon_pml(prior, made.mechanism))
            step *= 2
        if high[1] <= epsilon + ROUNDING:
            return made
    for k in range(STEPS):
        if epsilon - low[1] <= CLOSE or high[0] - low[0] <= CLOSE:
            break
        share = (epsilon - low[1]) / (high[1] - low[1]) if k % 3 < 2 else 0.5
        level = low[0] + min(max(share, 0.02), 0.98) * (high[0] - low[0])
        made = make(level)
        leaks = epsilon_pml(prior, made.mechanism)
        if leaks <= epsilon + ROUNDING:
            best, low = made, (level, leaks)
        else:
            high = (level, leaks)
    return best
