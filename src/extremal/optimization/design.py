"""design(): the optimal mechanism for a prior, a privacy level and a utility, by the method that fits."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace

from .._common.threads import one_thread
from ..errors import DisclosureWarning, OptionError
from ..model.guaranteed import Guaranteed
from ..model.notion import LDP, PML, Notion
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from ..model.purpose import Purpose, shares
from ..model.regions import check_epsilon
from ..model.utility import Utility
from .envelope import DEFAULT_TOLERANCE, check_limits, run_envelope
from .estimation import run_purpose, run_robust_purpose
from .generate import Progress
from .guaranteed import run_guaranteed
from .notions import run_notion
from .problem import check_options, make_task
from .result import Design
from .run import run_robust, run_task

PACKAGE = __name__.partition(".")[0] + "."


def design(
    prior: Prior | PriorSet,
    epsilon: float,
    utility: Utility | Purpose | Guaranteed = shares,
    *,
    notion: Notion = PML,
    envelope: Mapping[float, float] | None = None,
    method: str = "auto",
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Design:
    """The best mechanism for a purpose within the limit epsilon, with a proven bound on the distance to the optimum.

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
    envelope
        Limits by share of reports. {0.1: 0.5}: no event that happens to one report in ten tells more than 0.5 nats;
        single reports may, up to epsilon. For utilities, one prior and at most 7 answers; the bound is proven to 1e-3
        for 3 answers and to some percent for 4 or 5 (branch and bound over thresholds).
    method
        "auto" follows the rule below. Purposes take "auto" only.
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
    The rule of "auto" for utilities:

    1. epsilon = 0: the constant mechanism; epsilon >= epsilon_max: the identity.
    2. Two answers: Theorem 2 ("binary"). epsilon < epsilon_1: Theorem 3 ("high-privacy"). Uniform prior and symmetric
       utility: Theorem 4 ("uniform"), up to 4096 answers.
    3. Expected gains: one linear program of polynomial size ("gain-program").
    4. f-information: all vertices up to 10 answers ("enumeration"), "column-generation" above. Above 4096 answers the
       result has no matrix: Design.made holds blocks of answers that are treated alike.
    5. Any other utility: all vertices up to 14 answers ("enumeration"), above that "column-generation" with local
       search, which proves nothing: upper_bound = inf.

    "vertices" searches all extremal mechanisms, up to 4 answers. "arc" is the closed form for every prior, with up to
    twice as many reports as answers; for large alphabets it needs no matrix, see Design.made. Closed forms and
    "vertices" are for PML.

    Over a PriorSet, two answers have a closed form ("binary"). Sets and utilities that do not change when answers are
    permuted take the best column and its shifts ("uniform"). Up to 400,000 extremal columns, which is up to 11 answers
    for any set and up to 16 for some, all of them are taken ("enumeration"). Else, and for expected gains,
    "column-generation", which proves nothing for utilities that are neither f-information nor expected gains.
    """
    found = _design(prior, epsilon, utility, notion, envelope, method, tolerance, time_limit, progress)
    if (
        not sys._getframe(1).f_globals.get("__name__", "").startswith(PACKAGE)
    ):  # series of designs do not warn
        _warn(found)
    return found


def _warn(found: Design) -> None:
    if found.doubt is not None and found.doubt.disclosed:
        warnings.warn(
            DisclosureWarning(
                "the reports of this design disclose the true answers",
                str(found.doubt),
                "choose a smaller epsilon",
            ),
            stacklevel=3,
        )


@one_thread
def _design(
    prior: Prior | PriorSet,
    epsilon: float,
    utility: Utility | Purpose | Guaranteed,
    notion: Notion,
    envelope: Mapping[float, float] | None,
    method: str,
    tolerance: float | None,
    time_limit: float | None,
    progress: Progress | None,
) -> Design:
    if not isinstance(notion, Notion):
        raise OptionError(
            "must be PML, LDP, LIP or MaximalLeakage",
            parameter="notion",
            given=repr(notion)[:60],
            remedy="leave it out for PML",
        )
    check_options(tolerance, time_limit, progress)
    if envelope is not None:
        return _limited(
            prior, epsilon, utility, notion, check_limits(envelope), method, tolerance, time_limit, progress
        )
    if isinstance(utility, Purpose):
        if notion != PML or method != "auto":
            raise OptionError(
                f"a design for {utility.name} is for PML, by the method 'auto'",
                given=f"{notion!r} and {method!r}",
                remedy=(
                    "PML for every prior is LDP: `design(PriorSet.at_least(prior, 0), epsilon)`"
                    if notion == LDP and method == "auto"
                    else "leave them out, or give another utility: `utility=ex.mutual_information`"
                ),
            )
        if isinstance(prior, PriorSet):
            return run_robust_purpose(prior, epsilon, utility, tolerance, time_limit, progress)
        return run_purpose(prior, epsilon, utility, tolerance, time_limit, progress)
    tolerance = 1e-6 if tolerance is None else tolerance
    if isinstance(utility, Guaranteed):
        if isinstance(prior, PriorSet) or notion != PML or method != "auto":
            raise OptionError(
                f"a design for {utility.name} is for one prior and PML, by the method 'auto'",
                given=f"{type(prior).__name__}, {notion!r} and {method!r}",
                remedy="leave the others out",
            )
        return run_guaranteed(prior, epsilon, utility, tolerance)
    nominal = prior.nominal if isinstance(prior, PriorSet) else prior
    low = notion.lower_lift(check_epsilon(epsilon))
    task = make_task(nominal, epsilon, utility, tolerance, time_limit, low, progress)
    if isinstance(prior, PriorSet):
        if notion != PML:
            raise OptionError(
                "a design for a set of priors is for PML",
                given=f"{notion!r}",
                remedy="LDP holds for every prior by itself",
            )
        found = run_task(task, method) if prior.is_point else run_robust(task, prior, method)
        return replace(found, prior_set=prior)
    return run_task(task, method) if notion == PML else run_notion(task, notion, method)


def _limited(
    prior: Prior | PriorSet,
    epsilon: float,
    utility: Utility | Purpose | Guaranteed,
    notion: Notion,
    limits: tuple[tuple[float, float], ...],
    method: str,
    tolerance: float | None,
    time_limit: float | None,
    progress: Progress | None,
) -> Design:
    if (
        isinstance(prior, PriorSet)
        or isinstance(utility, Purpose | Guaranteed)
        or notion != PML
        or method != "auto"
    ):
        raise OptionError(
            "a design with limits of the envelope is for one prior, PML, a utility and the method 'auto'",
            given=f"{type(prior).__name__}, {notion!r}, {utility!r} and {method!r}"[:120],
            remedy="leave the others out, and give a utility: `utility=ex.mutual_information`",
        )
    tolerance = DEFAULT_TOLERANCE if tolerance is None else tolerance
    return run_envelope(make_task(prior, epsilon, utility, tolerance, time_limit, 0.0, progress), limits)


def uninterrupted(found: Design) -> Design:
    """The design, if nobody interrupted it: in a series of designs the best so far of one is no result."""
    if found.stats.interrupted:
        raise KeyboardInterrupt
    return found
