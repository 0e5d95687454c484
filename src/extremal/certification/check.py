"""An independent check of a design, whatever it is for. Shares no code with the solver.

Each kind of design becomes one claim, which `claim` checks, or one about estimates, which `quadratic` does. `PROOFS`
says which proof covers which kind; a design that it does not list is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._common.threads import one_thread
from ..errors import MechanismError, OptionError
from ..model.leakage import epsilon_pml
from ..model.mechanism import Mechanism, check_match
from ..model.notion import LIP, PML, Notion
from ..model.prior import Prior, check_prior
from ..model.prior_set import PriorSet
from ..model.regions import check_epsilon
from ..model.utility import (
    ExpectedGain,
    FInformation,
    Utility,
    check_sub_linear,
    check_utility,
    chi_squared,
    hellinger,
    jensen_shannon,
    mutual_information,
    total_variation,
)
from .claim import EXACT, Check, Claim, check_claim, number
from .quadratic import check_quadratic

NAMED = {u.name: u for u in (mutual_information, total_variation, chi_squared, hellinger, jensen_shannon)}


class CheckedDesign(Claim, Protocol):
    """A claim with everything it is about."""

    @property
    def prior(self) -> Prior: ...
    @property
    def prior_set(self) -> PriorSet | None: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def utility(self) -> Any: ...
    @property
    def notion(self) -> Notion: ...
    @property
    def certificate(self) -> Any: ...


class Kind(NamedTuple):
    """What a design states besides numbers. Which proof it needs follows from this alone."""

    worth: str  # "utility" or "purpose"
    notion: str
    priors: str  # "one" or "set"

    def __str__(self) -> str:
        over = "one prior" if self.priors == "one" else "a set of priors"
        return f"a {self.worth} under {self.notion} for {over}"


@one_thread
def check_design(design: CheckedDesign) -> Check:
    """Whether a design keeps epsilon, has the value it claims, and its upper bound holds: verified without the solver.

    Shares no code with the solver. An infinite upper bound claims nothing: nothing is proved then, but the design is
    not wrong either.

    Parameters
    ----------
    design
        What design() returns: under PML or LIP, for a prior or a set of priors.

    Returns
    -------
    Check
        What was proved, and what was not.

    Notes
    -----
    There is a proof for these designs. All others are refused with an error, and so are designs whose fields
    contradict each other:

    ==========================  =============  ====================
    what it is for              notion         priors
    ==========================  =============  ====================
    a utility                   PML            one, or a set
    a utility                   LIP            one
    a purpose such as shares    PML            one, or a set
    ==========================  =============  ====================

    Not checked is what says how the design was found (`method`, `stats`), and what only a sample can show: how sure it
    is that a set of priors holds the true one.
    """
    wanted = ("prior", "epsilon", "utility", "notion", "mechanism", "value", "upper_bound", "dual")
    if not set(wanted) <= set(dir(design)):  # not hasattr, which would make the matrix of a large mechanism
        raise MechanismError(
            "must be what design() returns",
            parameter="design",
            given=repr(design)[:80],
            remedy="e.g. `check_design(design(prior, 0.5))`",
        )
    kind = _kind(design)
    proof = PROOFS.get(kind)
    if proof is None:
        raise OptionError(
            "check_design has no proof for such a design",
            given=f"{kind}",
            remedy="its documentation lists the proofs; measure what a mechanism keeps with ex.measures",
        )
    found = proof(design)
    problems = (*found.problems, *_contradictions(design))
    return replace(found, ok=not problems, problems=problems)


def _kind(design: CheckedDesign) -> Kind:
    """What a design states; refused where it states what is none of its kinds."""
    prior, priors, utility = check_prior(design.prior), _field(design, "prior_set"), design.utility
    check_epsilon(design.epsilon)
    if priors is not None and not (isinstance(priors, PriorSet) and priors.nominal == prior):
        raise OptionError(
            "the set of priors of a design must have the design's prior as its nominal prior",
            given=f"{getattr(priors, 'nominal', priors)!r} and {prior!r}"[:160],
            remedy="`design(priors, epsilon)` makes such a design",
        )
    if callable(getattr(utility, "loss", None)) and not isinstance(utility, Utility):
        worth = "purpose"
    else:
        worth = "utility"
        if not isinstance(check_utility(utility), FInformation | ExpectedGain):
            check_sub_linear(prior, utility)  # what is largest at vertices bounds nothing else
    return Kind(worth, _notion(design.notion), "one" if priors is None else "set")


def _field(design: CheckedDesign, name: str) -> Any:
    return getattr(design, name, None)


def _notion(notion: Any) -> str:
    """The name of a notion, if it is the one of that name that there is a proof for."""
    if notion == PML:
        return "PML"
    known = isinstance(notion, Notion) and replace(notion, lowest=None) == LIP
    if known and (notion.lowest is None or 0 <= number(notion.lowest) <= 1):
        return "LIP"
    return f"the notion {notion!r}"[:60]


def _contradictions(design: CheckedDesign) -> list[str]:
    """What a design says that is false whatever its proof shows."""
    problems = []
    utility = design.utility
    known = NAMED.get(str(utility.name))
    if known is not None and not (isinstance(utility, FInformation) and utility.f is known.f):
        problems.append(f"the utility called {utility.name!r} is another one")
    if _field(design, "proven") and not number(design.upper_bound) < math.inf:
        problems.append("it is called proven, but claims no bound")
    made = _field(design, "made")
    if isinstance(made, Mechanism) and made is not design.mechanism and made != design.mechanism:
        problems.append("it holds two mechanisms")
    return problems


def _check_utility(design: CheckedDesign) -> Check:
    """A dual vector bounds the utility, over lift vectors of the prior or of the set."""
    low = design.notion.lower_lift(check_epsilon(design.epsilon))
    return check_claim(design.prior, design.epsilon, design.utility, design, lower_lift=low)


def _check_purpose(design: CheckedDesign) -> Check:
    """Shares and whatever else is estimated."""
    prior, mechanism = design.prior, design.mechanism
    value, claim = number(design.value), number(design.upper_bound)
    A = design.utility.loss(prior)
    found = check_quadratic(
        prior.probabilities,
        check_epsilon(design.epsilon),
        A,
        mechanism.matrix,
        value,
        claim,
        design.certificate,
        design.prior_set,
    )
    problems, leakage = found.problems, found.leakage
    try:
        check_match(prior, mechanism)
    except MechanismError as error:
        problems += (str(error),)
    if design.prior_set is not None and not problems:
        leakage = epsilon_pml(design.prior_set, mechanism)
        if not leakage <= design.epsilon + EXACT:
            problems += (f"leakage over the set of priors is {leakage:.15g}, above epsilon",)
    expected = {"shares": 0.0, "relative errors of shares": -2.0}.get(str(design.utility.name))
    if expected is not None and not np.allclose(
        A, np.diag(prior.probabilities**expected), rtol=EXACT, atol=0
    ):
        problems += (f"the purpose called {design.utility.name!r} is another one",)
    gap = max(found.upper_bound - found.value, 0.0) / found.upper_bound if found.upper_bound > 0 else 0.0
    proved = claim < math.inf and not problems
    return Check(
        ok=not problems,
        row_error=found.row_error,
        leakage=leakage,
        leakage_allowed=design.epsilon,
        value=found.value,
        claimed_value=value,
        upper_bound=found.upper_bound,
        claimed_upper_bound=claim,
        gap=gap,
        proved=proved,
        how="the efficiency of direct answers"
        if design.certificate is None
        else "the certificate of the design",
        problems=problems,
    )


PROOFS: dict[Kind, Callable[[Any], Check]] = {
    Kind("utility", "PML", "one"): _check_utility,
    Kind("utility", "PML", "set"): _check_utility,
    Kind("utility", "LIP", "one"): _check_utility,
    Kind("purpose", "PML", "one"): _check_purpose,
    Kind("purpose", "PML", "set"): _check_purpose,
}
