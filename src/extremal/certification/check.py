"""An independent check of a design, whatever it is for. Shares no code with the solver.

Each kind of design becomes one claim, which `claim` checks, or one about estimates, which `quadratic` does. `PROOFS`
says which proof covers which kind; a design that it does not list is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from .._common.threads import one_thread
from ..errors import MechanismError, OptionError
from ..model.blocks import BlockMechanism
from ..model.designed import Designed
from ..model.levels import LIP, PML, Notion, check_epsilon
from ..model.mechanism import Mechanism, check_match
from ..model.prior import check_prior
from ..model.prior_set import PriorSet
from ..model.purpose import Purpose, shares
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
from .claim import EXACT, Check, check_claim, leakage_over, number
from .quadratic import check_quadratic

NAMED = {u.name: u for u in (mutual_information, total_variation, chi_squared, hellinger, jensen_shannon)}
POWERS = {shares.name: 0.0, shares.relative.name: -2.0}  # of the prior: how a purpose weighs errors


@one_thread
def check_design(design: Designed) -> Check:
    """Whether a design keeps epsilon, has the value it claims, and its upper bound holds: verified without the solver.

    Shares no code with the solver. An infinite upper bound claims nothing: nothing is proved then, but the design is
    not wrong either.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.check_design(ex.design(prior, 0.6)).ok
    True

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
    if not isinstance(design, Designed):
        raise MechanismError(
            "must be what design() returns",
            parameter="design",
            given=repr(design)[:80],
            remedy="e.g. `check_design(design(prior, 0.5))`",
        )
    design = _Read(design)
    worth, notion, over = _kind(design)
    proof = PROOFS.get((worth, notion, over))
    if proof is None:
        raise OptionError(
            "check_design has no proof for such a design",
            given=f"a {worth} under {notion} for {over}",
            remedy="its documentation lists the proofs; measure what a mechanism keeps with ex.measures",
        )
    found = proof(design)
    return replace(found, problems=(*found.problems, *_contradictions(design)))


class _Read(Designed):
    """A design of which everything is read once, epsilon as a double: what is checked is what is told."""

    def __init__(self, design: Designed) -> None:
        self.prior, self.prior_set, self.epsilon = (
            design.prior,
            design.prior_set,
            check_epsilon(design.epsilon),
        )
        self.utility, self.notion, self.made = design.utility, design.notion, design.made
        self.value, self.upper_bound, self.proof = design.value, design.upper_bound, design.proof
        self.proven, self._design = design.proven, design

    @cached_property
    def mechanism(self) -> Mechanism:  # made only where it is asked for: it can be large
        return self._design.mechanism


def _kind(design: Designed) -> tuple[str, str, str]:
    """What a design is for, its notion, and its priors; refused where it states what is none of its kinds."""
    prior, utility = check_prior(design.prior), design.utility
    priors: object = design.prior_set  # whatever somebody put there
    if priors is not None and not (isinstance(priors, PriorSet) and priors.nominal == prior):
        raise OptionError(
            "the set of priors of a design must have the design's prior as its nominal prior",
            given=f"{priors!r} and {prior!r}"[:160],
            remedy="`design(priors, epsilon)` makes such a design",
        )
    worth = "purpose" if isinstance(utility, Purpose) else "utility"
    if not isinstance(utility, Purpose) and not isinstance(
        check_utility(utility), FInformation | ExpectedGain
    ):
        check_sub_linear(prior, utility)  # what is largest at vertices bounds nothing else
    return worth, _notion(design.notion), "one prior" if priors is None else "a set of priors"


def _notion(notion: object) -> str:
    """The name of a notion, if it is the one of that name that there is a proof for."""
    if type(notion) is Notion:  # another type may call itself equal to what it is not
        if notion == PML:
            return "PML"
        if replace(notion, lowest=None) == LIP and (notion.lowest is None or 0 <= number(notion.lowest) <= 1):
            return "LIP"
    return f"the notion {notion!r}"[:60]


def _contradictions(design: Designed) -> list[str]:
    """What a design says that is false whatever its proof shows."""
    problems = []
    utility, name = design.utility, str(design.utility.name)
    known = NAMED.get(name)
    if known is not None and not (isinstance(utility, FInformation) and utility.f is known.f):
        problems.append(f"the utility called {name!r} is another one")
    if isinstance(utility, Purpose) and name in POWERS:
        A, expected = utility.loss(design.prior), np.diag(design.prior.probabilities ** POWERS[name])
        if not np.allclose(A, expected, rtol=EXACT, atol=0):
            problems.append(f"the purpose called {name!r} is another one")
    if design.proven and not number(design.upper_bound) < math.inf:
        problems.append("it is called proven, but claims no bound")
    made = design.made
    if isinstance(made, Mechanism) and made is not design.mechanism and made != design.mechanism:
        problems.append("it holds two mechanisms")
    return problems


def _check_utility(design: Designed) -> Check:
    """A dual vector bounds the utility, over lift vectors of the prior or of the set."""
    utility, made = design.utility, design.made
    assert isinstance(utility, Utility)  # which makes it one of its kind
    return check_claim(
        design.prior,
        design.epsilon,
        utility,
        design,
        lower_lift=design.notion.lower_lift(design.epsilon),
        priors=design.prior_set,
        blocks=made if isinstance(made, BlockMechanism) else None,
    )


def _check_purpose(design: Designed) -> Check:
    """Weights and prices bound the efficiency, for shares and whatever else is estimated."""
    prior, mechanism, purpose = design.prior, design.mechanism, design.utility
    assert isinstance(purpose, Purpose)  # which makes it one of its kind
    found = check_quadratic(
        prior.probabilities,
        design.epsilon,
        purpose.loss(prior),
        mechanism.matrix,
        number(design.value),
        number(design.upper_bound),
        design.proof,
        design.prior_set,
    )
    problems, leakage = list(found.problems), found.leakage
    try:
        check_match(prior, mechanism)
    except MechanismError as error:
        problems.append(str(error))
    if design.prior_set is not None and not problems:
        leakage = leakage_over(design.prior_set, design.epsilon, mechanism, problems)
    proved = found.proved and not problems
    return replace(found, leakage=leakage, proved=proved, problems=tuple(problems))


PROOFS: dict[tuple[str, str, str], Callable[[Designed], Check]] = {
    ("utility", "PML", "one prior"): _check_utility,
    ("utility", "PML", "a set of priors"): _check_utility,
    ("utility", "LIP", "one prior"): _check_utility,
    ("purpose", "PML", "one prior"): _check_purpose,
    ("purpose", "PML", "a set of priors"): _check_purpose,
}
