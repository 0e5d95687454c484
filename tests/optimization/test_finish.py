"""A bound below what was attained stops a design; one that rounding put there does not."""

import re
from dataclasses import replace

import numpy as np
import pytest

import extremal as ex
from extremal.errors import ProofError
from extremal.optimization import estimates, utilities
from extremal.optimization.generate import checked_bound

PRIOR = ex.Prior.from_counts(1 / np.arange(1, 13))


def test_rounding_is_made_up_for_and_more_than_that_is_an_error():
    assert checked_bound(1.5, 1.0) == 1.5
    assert checked_bound(1.0, 1.0 + 1e-12) == 1.0 + 1e-12
    assert checked_bound(0.9, 1.0, rounding=0.2) == 1.0
    assert checked_bound(0.0, 1e-17, rounding=1e-16) == 1e-17
    with pytest.raises(ProofError, match=r"a bound of 0.999999 and a value of 1; .* report it") as caught:
        checked_bound(0.999999, 1.0)
    assert caught.value.remedy


def lowered(call, part=1e-6):
    """A solver whose bound is below its value by this part."""

    def solver(*args, **options):
        found = call(*args, **options)
        return replace(found, upper=found.value * (1 - part))

    return solver


@pytest.mark.parametrize(
    ("module", "solver", "prior", "utility"),
    [
        (utilities, "solve_separable", PRIOR, ex.mutual_information),
        (utilities, "gain_program", PRIOR, ex.ExpectedGain(np.eye(12))),
        (
            utilities,
            "listed_program",
            ex.PriorSet.l1_ball(ex.Prior([0.5, 0.3, 0.2]), 0.1),
            ex.mutual_information,
        ),
        (estimates, "best_mixture", PRIOR, ex.shares),
        (estimates, "over_set", ex.PriorSet.at_least(ex.Prior([0.5, 0.3, 0.2]), 0.05), ex.shares),
    ],
)
def test_a_solver_with_a_wrong_bound_is_found_out(monkeypatch, module, solver, prior, utility):
    monkeypatch.setattr(module, solver, lowered(getattr(module, solver)))
    with pytest.raises(ProofError):
        ex.design(prior, 0.5, utility)


def test_a_printed_value_never_exceeds_the_bound_beside_it():
    prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    for purpose in (ex.shares, ex.mean([0, 1, 5]), ex.mutual_information):
        for epsilon in np.linspace(0.05, 1.6, 32):
            said = str(ex.design(prior, epsilon, purpose))
            value, bound = re.findall(r"(?:efficiency|information|at most) ([\d.e-]+)", said)
            assert float(value) <= float(bound)
