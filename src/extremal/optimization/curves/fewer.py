"""fewer_reports(): a design for estimates with fewer reports, and what that costs."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ..._common import checks
from ..._common.threads import one_thread
from ..._common.types import Floats, Ints
from ...errors import OptionError, SolverError
from ...model.mechanism import Mechanism
from ...model.purpose import Purpose
from ..effort import Effort
from ..estimates import randomized_response
from ..finish import Design, Found, finish
from ..masters.quadratic import cut
from ..problem import Problem
from ..reductions import QuadraticProblem, Symbols, ridged
from ..set_levels import SetLevels


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
    simple = _made(design, symbols.order, *_simple(design, symbols.order, problem))
    try:
        fewer = cut(ridged(problem), (P / q - 1).T, q, most)
    except (np.linalg.LinAlgError, SolverError):
        fewer = None
    if fewer is None:
        return simple
    found = _made(design, symbols.order, *fewer)
    return found if found.value >= simple.value else simple


def _simple(design: Design, order: Ints, problem: QuadraticProblem) -> tuple[Floats, Floats]:
    """Randomized response: lift vectors less 1, and its output distribution."""
    if design.prior_set is None:
        return randomized_response(problem)
    return SetLevels.of(design.prior_set, design.epsilon, order).simple()


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
