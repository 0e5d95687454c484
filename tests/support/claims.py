"""Designs made by hand, with the bounds that they claim, for the tests of the checker."""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

import extremal as ex
from extremal.certification.claim import check_claim
from extremal.model.levels import largest_lift
from tests.support import oracles

SEPARABLE = [u for u in oracles.SYMMETRIC if isinstance(u, ex.FInformation)]
PRIOR = ex.Prior([0.35, 0.25, 0.2, 0.12, 0.08])


@dataclass(frozen=True, eq=False)
class Design:
    mechanism: ex.Mechanism
    value: float
    upper_bound: float
    proof: object


def vertices(prior, c, low=0.0):
    """All vertices of {low <= lam <= c, pi.lam = 1}, as rows: those with low = 0, moved and scaled."""
    return low + (1 - low) * oracles.lift_vectors(prior.probabilities, (c - low) / (1 - low))


def brute_force(prior, c, utility, y, low=0.0):
    """The bound that y proves: the largest mu(lam) - y.(lam - 1)."""
    V = vertices(prior, c, low)
    return float(np.max(utility.columns(prior, V.T) - (V - 1) @ y))


def with_bound(prior, epsilon, utility, mechanism, y, low=0.0):
    """The design with the bound that a dual vector proves."""
    c = largest_lift(prior.probabilities, epsilon)
    bound = brute_force(prior, c, utility, y, low) if c > 1 else utility(prior, mechanism)
    return Design(mechanism, utility(prior, mechanism), bound, y)


def programmed(prior, epsilon, utility, low=0.0):
    """An optimal design by the linear program over all vertices, with its marginals as dual vector."""
    V = vertices(prior, largest_lift(prior.probabilities, epsilon), low)
    mu = utility.columns(prior, V.T)
    result = linprog(-mu, A_eq=V.T, b_eq=np.ones(prior.size), method="highs-ds")
    assert result.status == 0, result.message
    used = V[result.x > 1e-9]
    rho = np.linalg.lstsq(used.T, np.ones(prior.size))[0]  # to full precision
    mechanism = ex.Mechanism((used * rho[:, None]).T, inputs=prior.labels)
    return with_bound(prior, epsilon, utility, mechanism, -result.eqlin.marginals, low)


def unchecked(matrix):
    """A mechanism that its constructor would have refused or corrected."""
    mechanism = object.__new__(ex.Mechanism)
    for name, value in {
        "matrix": matrix,
        "inputs": range(len(matrix)),
        "outputs": range(len(matrix)),
    }.items():
        object.__setattr__(mechanism, name, value if name == "matrix" else tuple(value))
    return mechanism


def assert_certified(prior, epsilon, utility, design, **options):
    found = check_claim(prior, epsilon, utility, design, **options)
    assert found.ok, found
    assert found.proved
    assert found.problems == ()
    # Steep utilities lose 1e-7 where rounding decides whether a symbol is empty.
    assert found.upper_bound <= design.upper_bound + 1e-7 * max(abs(design.upper_bound), 0.1)
    assert found.value <= found.upper_bound + 1e-7
    return found


def exact_bound(prior, c, f, y, low):
    """The bound in fractions and the size of its terms; very small if rounding left no lift vector at all."""
    masses = [Fraction(p) for p in prior.probabilities.tolist()]
    pi, c, low = [p / sum(masses) for p in masses], Fraction(c), Fraction(low)
    y, best = [Fraction(v) for v in y.tolist()], (Fraction(-(10**9)), Fraction(0))
    for j in range(prior.size):
        others = [i for i in range(prior.size) if i != j]
        for ends in itertools.product((low, c), repeat=prior.size - 1):
            lam = (1 - sum(pi[i] * t for i, t in zip(others, ends, strict=True))) / pi[j]
            if low <= lam <= c:
                terms = [
                    (pi[i] * f(t), y[i] * (t - 1)) for i, t in [*zip(others, ends, strict=True), (j, lam)]
                ]
                best = max(best, (sum(a - b for a, b in terms), sum(abs(a) + abs(b) for a, b in terms)))
    return best
