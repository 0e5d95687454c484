"""design(): the optimal mechanism for a prior, a privacy level and a utility, by the method that fits."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

from .._common.threads import one_thread
from ..errors import DisclosureWarning, SolverError
from ..model.levels import LDP, PML, MaximalLeakage, Notion
from ..model.lift_sets import SetLifts
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.purpose import Purpose, shares
from ..model.utility import Utility
from .effort import Effort, Progress
from .estimates import best_for_estimates
from .finish import Design, Found, finish
from .problem import Problem
from .utilities import (
    best_for_utility,
    best_over_set,
    choose,
    largest_under_ldp,
    largest_under_maximal_leakage,
)


@one_thread
def solve(problem: Problem, effort: Effort | None = None) -> Design:
    """A known optimum, or columns from an oracle, mixed by a master: repaired, paired, measured and proven."""
    begin = time.perf_counter()
    effort = effort or Effort()
    return finish(problem, _found(problem, effort), effort, begin)


def _found(problem: Problem, effort: Effort) -> Found:
    if isinstance(problem.utility, Purpose):
        return best_for_estimates(problem, effort)
    if isinstance(problem.lifts, SetLifts):
        return best_over_set(problem, effort, problem.lifts)
    if problem.notion == LDP:
        return largest_under_ldp(problem, effort)
    if problem.notion == MaximalLeakage:
        return largest_under_maximal_leakage(problem)
    try:
        way = choose(problem) if problem.oracle == "auto" else problem.oracle
        return best_for_utility(problem, effort, way)
    except SolverError:
        if problem.oracle != "auto":
            raise
        # Numbers beyond what the linear programs can tell apart: arcs need none.
        return replace(best_for_utility(problem, effort, "arc"), method="arc")


def design(
    prior: Prior | PriorSet,
    epsilon: float,
    utility: Utility | Purpose = shares,
    *,
    notion: Notion = PML,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Design:
    """The best mechanism for a purpose within the limit epsilon, with a proven bound on the distance to the optimum.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> found = ex.design(prior, 0.6)
    >>> round(found.value, 3), found.proven, round(ex.epsilon_pml(prior, found.mechanism), 3)
    (0.274, True, 0.6)

    Parameters
    ----------
    prior
        How common each answer is. Over a PriorSet the mechanism keeps epsilon for every prior of the set and is best
        for the nominal one.
    epsilon
        The limit on leakage, in nats: no report makes a guess more than e^epsilon times as likely to be right.
    utility
        What the mechanism is for. `shares`, the default, `mean` and `groups` make estimates precise; the value of the
        design is then an efficiency. Or a utility, such as `mutual_information`.
    notion
        What must not exceed epsilon: PML, LDP, LIP or MaximalLeakage. LDP and MaximalLeakage list all sets of answers,
        up to 14 answers.
    tolerance
        How close to the optimum the design must be proven to be, relative to its value. 1e-6 for utilities if None;
        for purposes it depends on the number of answers.
    time_limit
        Seconds after which the search stops. If None, a fixed amount of work ends it, so a busy machine finds the same
        design; math.inf lifts that limit, too. A search that is stopped, also by an interrupt from the keyboard,
        returns the best design so far with what is proven about it.
    progress
        A function that is called with (value, upper bound) after each round.

    Returns
    -------
    Design
        The mechanism with its value, the upper bound, and how it was found.

    Warns
    -----
    DisclosureWarning
        If its reports disclose the answers, fully or nearly. `certify` refuses such a design.

    Notes
    -----
    How the best mechanism for a utility is found, `Design.method`:

    1. epsilon = 0: the constant mechanism; epsilon >= epsilon_max: the identity.
    2. Two answers: Theorem 2 ("binary"). epsilon < epsilon_1: Theorem 3 ("high-privacy"). Uniform prior and symmetric
       utility: Theorem 4 ("uniform"), up to 4096 answers.
    3. Expected gains: one linear program of polynomial size ("gain-program").
    4. f-information: all vertices up to 10 answers ("enumeration"), "column-generation" above. Above 4096 answers the
       result has no matrix: Design.made holds blocks of answers that are treated alike.
    5. Any other utility: all vertices up to 14 answers ("enumeration"), above that "column-generation" with local
       search, which proves nothing: upper_bound = inf.

    Where numbers are too extreme for linear programs, the result is the arc mechanism ("arc"), a closed form for every
    prior. `theory` has the closed forms, the arc mechanism and enumeration as functions of their own.

    Over a PriorSet, two answers have a closed form ("binary"). Sets and utilities that do not change when answers are
    permuted take the best column and its shifts ("uniform"). Up to 400,000 extremal columns, which is up to 11 answers
    for any set and up to 16 for some, all of them are taken ("enumeration"). Else, and for expected gains,
    "column-generation", which proves nothing for utilities that are neither f-information nor expected gains.
    """
    found = solve(Problem(prior, epsilon, utility, notion), Effort(tolerance, time_limit, progress))
    if found.doubt is not None and found.doubt.disclosed:
        warnings.warn(
            DisclosureWarning(
                "the reports of this design disclose the true answers",
                str(found.doubt),
                "choose a smaller epsilon",
            ),
            stacklevel=2,
        )
    return found


def designed(
    prior: Prior | PriorSet,
    epsilon: float,
    utility: Utility | Purpose = shares,
    *,
    notion: Notion = PML,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Design:
    """What `design` returns, for one of a series: no warning, and an interrupt ends all of it, not this one alone."""
    found = solve(Problem(prior, epsilon, utility, notion), Effort(tolerance, time_limit, progress))
    if found.stats.interrupted:  # in a series of designs the best so far of one is no result
        raise KeyboardInterrupt
    return found
