"""From a mechanism of doubles to a certified one: the first candidate of integers that passes the proof."""

from __future__ import annotations

import numpy as np

from .._common.threads import one_thread
from ..errors import CertificationError, MechanismError, SizeError
from ..model.blocks import BlockMechanism
from ..model.designed import Designed
from ..model.leakage import RULED_OUT, check_protected, pml
from ..model.levels import MaximalLeakage, check_epsilon
from ..model.mechanism import Mechanism, check_match
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from . import file as mechanism_file
from .certified import Certified, no_mechanism, too_leaky
from .integers import exact_masses, largest_exact_lift
from .proof import is_at_most
from .weights import candidates

# A matrix of doubles exceeds the level it was designed for by rounding: 1e-12 where rows are a little off 1.
# More than this is not rounding and is refused.
ROUNDING = 1e-9


@one_thread
def certify(
    prior: Prior | PriorSet | Designed,
    mechanism: Mechanism | BlockMechanism | None = None,
    epsilon: float | None = None,
    *,
    allow_true_answers: bool = False,
) -> Certified:
    """A mechanism as integers that keep epsilon exactly, with the proof that they do.

    certify(design) takes prior (or set of priors), mechanism and epsilon from the design.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> certified = ex.certify(ex.design(prior, 0.6))
    >>> certified.epsilon, ex.epsilon_pml(prior, certified.mechanism) <= 0.6
    (0.6, True)

    Parameters
    ----------
    prior
        A design alone; or how common each answer is. For a PriorSet epsilon holds for every prior of the set: the
        worst case is computed in exact rationals.
    mechanism
        The matrix to certify. It may leak more than epsilon by rounding (1e-9), no more. Of a mechanism in blocks the
        matrix between blocks is certified, for the exact masses of the blocks.
    epsilon
        The limit to prove, in nats.
    allow_true_answers
        Certify even if reports disclose the answers: if, under the (nominal) prior, at most a tenth of the doubt about
        an answer is left when its report is seen. Otherwise DisclosureError is raised.

    Returns
    -------
    Certified
        The mechanism as integers, with its proof.

    Notes
    -----
    Of the ways to make the integers the first that passes the proof is taken, and `method` says which:

    - Rounding alone moves an entry by a few parts in 1e15.
    - Lowering columns on their own support and scaling them until rows sum to 1 keeps every zero. Scaling may change
      a column by up to a millionth of itself; seen were 1e-11 for designs, 3e-8 for other mechanisms.
    - The nearest mechanism with the same zeros, from a linear program, for what cannot be scaled.
    - Where no entry is zero, mixing in just enough of the constant mechanism, about 1e-14 of it.

    Residue becomes zero first: entries that leave an answer a positive share, but less than a millionth, of its
    probability (P(y|x) / P(y) < 1e-6). Others move by about as much as was removed, at most 1e-4 of themselves. If no
    mechanism near by does without it, CertificationError is raised. Only where epsilon itself forbids a zero, at the
    edge of a privacy region or less than a millionth below it, such entries stay, or arise; an audit counts their
    answers as ruled out.
    """
    if not isinstance(prior, Prior | PriorSet) and isinstance(prior, Designed):
        return _of_design(prior, mechanism, epsilon, allow_true_answers)
    if mechanism is None or epsilon is None or not isinstance(prior, Prior | PriorSet):
        raise MechanismError(
            "certify takes a design, or a prior, a mechanism and an epsilon",
            given=f"{type(prior).__name__}, {type(mechanism).__name__} and {type(epsilon).__name__}",
            remedy="e.g. `certify(design(prior, 0.5))`",
        )
    epsilon = check_epsilon(epsilon)
    if not isinstance(mechanism, Mechanism | BlockMechanism):
        raise no_mechanism(mechanism, "a Mechanism")
    blocks, full = None, prior
    if isinstance(mechanism, BlockMechanism):
        prior = _between_blocks(prior, mechanism)
        blocks, mechanism = mechanism.blocks, mechanism.between
    nominal = prior.nominal if isinstance(prior, PriorSet) else prior
    _check_fits(prior, nominal, mechanism, epsilon)
    if nominal.labels == tuple(range(len(nominal.labels))):
        nominal = Prior(nominal.probabilities, mechanism.inputs)
    priors = prior.with_labels(nominal.labels) if isinstance(prior, PriorSet) else None
    masses = exact_masses(full, blocks)
    for weights, method in candidates(prior, mechanism.matrix, epsilon):
        exact = weights.astype(np.uint64)
        if is_at_most(largest_exact_lift(masses, exact, blocks), epsilon):
            made = Certified(
                full if blocks is not None and isinstance(full, Prior) else nominal,
                mechanism.outputs,
                exact,
                epsilon,
                method,
                prior_set=priors,
                blocks=None if blocks is None else blocks.numbers,
            )
            check_protected(made.doubt, allow_true_answers)
            return made
    raise CertificationError(
        "has entries that leave an answer less than a millionth of its probability, and without "
        f"them no mechanism near it keeps epsilon = {epsilon!r}",
        parameter="mechanism",
        remedy=(
            f"certify it for a level above {epsilon + RULED_OUT!r}, or set them to zero and design again"
        ),
    )


def _of_design(design: Designed, mechanism: object, epsilon: object, allow_true_answers: bool) -> Certified:
    """The mechanism of a design."""
    if mechanism is not None or epsilon is not None:
        raise MechanismError(
            "a design brings its own mechanism and epsilon",
            remedy="give it alone, `certify(design)`, or give a prior, a mechanism and an epsilon",
        )
    if design.notion == MaximalLeakage:
        raise CertificationError(
            "a design for maximal leakage bounds no single report",
            remedy="certify its PML: `certify(prior, mechanism, epsilon)`",
        )
    made = design.made if isinstance(design.made, Mechanism | BlockMechanism) else design.mechanism
    priors = design.prior_set or design.prior
    return certify(priors, made, design.epsilon, allow_true_answers=allow_true_answers)


def _between_blocks(prior: Prior | PriorSet, mechanism: BlockMechanism) -> Prior:
    """The prior of the blocks."""
    blocks = mechanism.blocks
    if isinstance(prior, PriorSet) or prior.labels != blocks.labels:
        raise MechanismError(
            "a mechanism in blocks must come with the prior that its labels are of",
            given=repr(prior)[:60],
            remedy="pass design.prior",
        )
    if blocks.count == 1:
        raise MechanismError(
            "a mechanism with one block treats all labels alike: its reports say nothing",
            remedy="use one with at least 2 blocks",
        )
    return blocks.merged(prior)


def _check_fits(prior: Prior | PriorSet, nominal: Prior, mechanism: Mechanism, epsilon: float) -> None:
    """Refuse a mechanism of other labels, of too many entries, or that leaks more than rounding explains."""
    check_match(nominal, mechanism)
    n, m = mechanism.shape
    if n * m > mechanism_file.LARGEST_TABLE:
        raise SizeError(
            f"a certified mechanism must have at most {mechanism_file.LARGEST_TABLE} weights",
            given=f"{n} inputs x {m} outputs",
            remedy="merge rare labels or reduce the outputs: `theory.reduce_outputs(...)`",
        )
    leakage = pml(prior, mechanism)
    worst = int(np.argmax(leakage))
    if leakage[worst] > epsilon + ROUNDING:
        raise too_leaky(mechanism.outputs[worst], float(leakage[worst]), epsilon)
