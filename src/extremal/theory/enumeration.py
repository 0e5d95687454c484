"""The best mechanism by going through all candidates: Algorithm 1 with Theorem 5, and Lemma 1.

Written without the optimization, which lists, prices and refines in its own way: each is a check of the other.
"""

from __future__ import annotations

import math

import numpy as np

from .._common.highs import INFINITE, Program
from .._common.threads import one_thread
from .._common.types import Floats
from ..errors import SizeError, SolverError
from ..model.levels import LDP, PML, MaximalLeakage, Notion, bounded_exp, check_epsilon
from ..model.mechanism import Mechanism, constant
from ..model.prior import Prior, check_prior
from ..model.utility import Utility, check_utility, mutual_information
from .lift_vectors import lift_vertices
from .pairing import pair_outputs
from .polytope import polytope_vertices
from .reduction import reduce_outputs

LARGEST = 14  # symbols whose sets are all listed
SMALLEST = (
    1e-5  # distances from 1 of lifts, whose rounding the program must not take for a row it has to meet
)
NOTHING = 1e-12  # distances from 1 that doubles cannot balance
UNUSED = 1e-12  # lift vectors that occur more rarely are rounding


@one_thread
def enumerated(
    prior: Prior, epsilon: float, utility: Utility = mutual_information, notion: Notion = PML
) -> Mechanism:
    """A mechanism of largest utility, by one linear program over all extremal lift vectors (Algorithm 1, Theorem 5).

    Practical up to about 16 answers; under LDP and MaximalLeakage, whose candidates are sets of answers, up to 14.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.mutual_information(prior, ex.theory.enumerated(prior, 0.6)), 3)
    0.423

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    utility
        What is maximised, under Definition 4.
    notion
        What must not exceed epsilon: PML, LDP, LIP or MaximalLeakage.
    """
    pi, c = check_prior(prior).probabilities, bounded_exp(check_epsilon(epsilon))
    lifts, budget = _candidates(pi, c, epsilon, notion), c if notion == MaximalLeakage else math.inf
    gains = check_utility(utility).columns(prior, np.ascontiguousarray(lifts.T))
    if np.abs(lifts - 1).max() <= NOTHING:
        return constant(prior)
    shares = _best_mixture(pi, lifts, gains, budget)
    used = shares > UNUSED
    lifts, shares = lifts[used], shares[used]
    for _ in range(2):  # every answer's mean lift is 1 to the last digits
        shares = shares + np.linalg.lstsq(lifts.T, 1 - shares @ lifts, rcond=None)[0]
    P = np.maximum(lifts.T * shares, 0.0)
    mechanism = Mechanism(P / P.sum(axis=1, keepdims=True), prior.labels)
    if notion != MaximalLeakage:  # whose sum over reports may grow
        mechanism = reduce_outputs(prior, mechanism, utility)
    return pair_outputs(prior, mechanism)


@one_thread
def vertices(prior: Prior, epsilon: float, utility: Utility = mutual_information) -> Mechanism:
    """The best of all extremal mechanisms (Lemma 1), up to 4 answers: see `polytope_vertices`.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> round(ex.mutual_information(prior, ex.theory.vertices(prior, 0.6)), 3)
    0.423

    Parameters
    ----------
    prior
        How common each answer is.
    epsilon
        The limit on leakage, in nats.
    utility
        What is maximised, under Definition 4.
    """
    every = polytope_vertices(prior, epsilon)
    best = max(every, key=lambda P: math.fsum(check_utility(utility).columns(prior, P)))
    return pair_outputs(prior, Mechanism(best[:, best.max(axis=0) > UNUSED], prior.labels))


def _candidates(pi: Floats, c: float, epsilon: float, notion: Notion) -> Floats:
    """The columns that suffice under a notion, scaled to mean 1, one a row."""
    if notion not in (LDP, MaximalLeakage):
        low, least = notion.lower_lift(epsilon), float(pi.min())
        return lift_vertices(pi, low, min(c, (1 - low * (1 - least)) / least))
    if len(pi) > LARGEST:
        raise SizeError(
            f"under {notion} all sets of answers are listed, up to {LARGEST} answers",
            given=len(pi),
            remedy="merge rare answers",
        )
    columns = (np.arange(1, 2 ** len(pi))[:, None] >> np.arange(len(pi)) & 1).astype(np.float64)
    if notion == LDP:
        columns = 1 + (c - 1) * columns
    return np.asarray(columns / (columns @ pi)[:, None])


def _best_mixture(pi: Floats, lifts: Floats, gains: Floats, budget: float) -> Floats:
    """How often each lift vector occurs: of mean 1, with a mean of the largest lifts within the budget.

    The lift of the likeliest symbol follows from the others: a row for it would contradict them by what rounding does.
    """
    m, n = len(lifts), len(pi) - 1
    spread, scale = max(float(np.abs(lifts - 1).max()), SMALLEST), float(np.abs(gains).max())
    others = np.delete(lifts - 1, int(np.argmax(pi)), axis=1)
    rows = np.column_stack((others / spread, np.ones(m), lifts.max(axis=1)))
    right = np.append(np.zeros(n), (1.0, budget))
    program = Program({"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}, True)
    program.add_rows(np.append(right[:-1], -INFINITE), right, np.zeros((n + 2, 0)))
    program.add_columns(gains / (scale or 1.0), np.zeros(m), np.full(m, INFINITE), rows)
    status = program.run()
    if status != "optimal":
        raise SolverError(f"the program over all lift vectors ended with status {status}")
    return np.maximum(program.solution()[0], 0.0)
