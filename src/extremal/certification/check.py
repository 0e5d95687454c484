"""An independent check of a design, whatever it is for. Shares no code with the solver.

Each kind of design becomes one claim, which `claim` checks, or one about estimates, which `quadratic` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from .._threads import one_thread
from .._types import Floats
from ..errors import MechanismError, OptionError
from ..model.guaranteed import Guaranteed
from ..model.leakage import epsilon_pml
from ..model.mechanism import Mechanism
from ..model.notion import Notion
from ..model.prior import Prior, check_prior
from ..model.prior_set import PriorSet
from ..model.regions import check_epsilon
from .claim import EXACT, RELATIVE, Check, Claim, check_claim, number
from .envelope import exceeded, limited_bound
from .quadratic import check_quadratic


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


@one_thread
def check_design(design: CheckedDesign) -> Check:
    """Whether a design keeps epsilon, has the value it claims, and its upper bound holds: verified without the solver.

    Shares no code with the solver. An infinite upper bound claims nothing: nothing is proved then, but the design is
    not wrong either. At levels below 1e-9 utilities are of the order of rounding errors, and a right design may be
    reported as not proved.

    Parameters
    ----------
    design
        What design() returns: under PML or LIP, for a prior or a set of priors.

    Returns
    -------
    Check
        What was proved, and what was not.
    """
    wanted = ("prior", "epsilon", "utility", "notion", "mechanism", "value", "upper_bound", "dual")
    if not set(wanted) <= set(dir(design)):  # not hasattr, which would make the matrix of a large mechanism
        raise MechanismError(
            "must be what design() returns",
            parameter="design",
            given=repr(design)[:80],
            remedy="e.g. `check_design(design(prior, 0.5))`",
        )
    if design.notion.name not in ("PML", "LIP"):
        raise OptionError(
            "check_design checks designs under PML and LIP",
            given=repr(design.notion),
            remedy="measure what they keep with ex.measures",
        )
    if hasattr(design.utility, "loss"):
        return _check_purpose(design)
    if isinstance(design.utility, Guaranteed):
        return _check_guaranteed(design, design.utility)
    if getattr(design, "envelope", ()):
        return _check_limited(design, getattr(design, "envelope"))  # noqa: B009
    low = design.notion.lower_lift(check_epsilon(design.epsilon))
    return check_claim(design.prior, design.epsilon, design.utility, design, lower_lift=low)


def _check_guaranteed(design: CheckedDesign, utility: Guaranteed) -> Check:
    """The same for a guaranteed utility, which a mean with any weights of the answers bounds."""
    theta = np.asarray(getattr(design, "weights", None), dtype=np.float64)
    if theta.shape != (design.prior.size,) or not theta.min() >= 0 or abs(math.fsum(theta) - 1) > EXACT:
        raise MechanismError(
            "a guaranteed utility is proved by weights of the answers that are >= 0 and sum to 1",
            given=repr(theta.tolist())[:80],
            remedy="design() gives them",
        )
    mean = utility.weighted(design.prior, theta)
    value, claimed = utility(design.prior, design.mechanism), number(design.value)
    weighted = mean(design.prior, design.mechanism)
    claim = _Claim(design.mechanism, weighted, design.upper_bound, design.dual)
    found = check_claim(design.prior, design.epsilon, mean, claim)
    problems = found.problems
    if not abs(value - claimed) <= RELATIVE * max(abs(value), 1e-3):
        problems += (f"value is {value:.12g}, not {claimed:.12g}",)
    gap = max(found.upper_bound - value, 0.0) / abs(found.upper_bound) if found.upper_bound else 0.0
    return replace(found, ok=not problems, value=value, claimed_value=claimed, gap=gap, problems=problems)


@dataclass(frozen=True)
class _Claim:
    mechanism: Mechanism
    value: float
    upper_bound: float
    dual: Floats | None


def _check_limited(design: CheckedDesign, limits: tuple[tuple[float, float], ...]) -> Check:
    """The same for a design with limits of the envelope, which may prove more than a dual vector alone."""
    proved = None
    if design.certificate is not None:
        proved = limited_bound(design.prior, design.epsilon, design.utility, limits, design.certificate)
    found = check_claim(design.prior, design.epsilon, design.utility, design, bound=proved)
    problems = (*found.problems, *exceeded(design.prior, design.mechanism, limits))
    return replace(found, ok=not problems, problems=problems)


def _check_purpose(design: CheckedDesign) -> Check:
    """The same for shares and whatever else is estimated."""
    prior, mechanism = check_prior(design.prior), design.mechanism
    value, claim = number(design.value), number(design.upper_bound)
    if design.certificate is None:  # nothing is told
        leakage = epsilon_pml(prior, mechanism)
        good = value == leakage == 0 and (claim == 0 if design.epsilon == 0 else claim >= 1)
        wrong = [] if good else ["without a certificate nothing is proved"]
        return Check(
            good, 0.0, leakage, design.epsilon, 0.0, value, 0.0, claim, 0.0, good, "nothing", tuple(wrong)
        )
    A = design.utility.loss(prior)
    found = check_quadratic(
        prior.probabilities,
        design.epsilon,
        A,
        mechanism.matrix,
        value,
        claim,
        design.certificate,
        design.prior_set,
    )
    problems, leakage = found.problems, found.leakage
    if design.prior_set is not None:
        leakage = epsilon_pml(design.prior_set, mechanism)
        if not leakage <= design.epsilon + EXACT:
            problems += (f"leakage over the set of priors is {leakage:.15g}, above epsilon",)
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
        how="the certificate of the design",
        problems=problems,
    )
