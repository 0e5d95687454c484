"""Designs of many symbols: certificates, memory, arcs without a matrix."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.errors import SizeError
from extremal.theory import closed_form
from tests.support.examples import at_most
from tests.support.optima import assert_checked, assert_keeps_its_promises, run
from tests.support.pricing import SEPARABLE, families
from tests.support.solving import design_by
from tests.support.strategies import designs


@pytest.mark.parametrize(
    "size", [2, 3, 8, 13, 20, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 28, 36))]
)
def test_designs_up_to_thirty_six_symbols_pass_the_independent_check(size):
    rng = np.random.default_rng(size)
    weights = 1 / np.arange(1, size + 1)
    for prior in (
        ex.Prior(rng.dirichlet(np.ones(size))),
        ex.Prior(weights / weights.sum()),
        ex.Prior.from_counts(rng.integers(1, 100, size)),
    ):
        for epsilon in (0.2, 1.5):
            design = ex.design(prior, epsilon, ex.mutual_information, tolerance=1e-4)
            assert design.gap <= 1e-4
            assert_keeps_its_promises(design, 1e-4)
            assert_checked(design)


@pytest.mark.parametrize("name", ["Dirichlet", "Zipf 1", "counts"])
@pytest.mark.parametrize(("size", "epsilon"), [(100, 0.7), pytest.param(300, 1.5, marks=pytest.mark.slow)])
def test_designs_of_hundreds_of_symbols_pass_it_by_their_chords(name, size, epsilon):
    prior = ex.Prior(families(size)[name])
    design = ex.design(prior, epsilon, ex.mutual_information, tolerance=1e-3)
    assert design.gap <= 1e-3
    assert_keeps_its_promises(design, 1e-3)
    assert_checked(design)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(families(100)))
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_hundred_symbols_are_certified_to_a_millionth_at_moderate_levels(name, epsilon):
    prior = ex.Prior(families(100)[name])
    design = ex.design(prior, epsilon, ex.mutual_information)
    assert design.gap <= 1e-6
    assert_keeps_its_promises(design)
    assert_checked(design)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Dirichlet", "Zipf 1"])
def test_a_thousand_symbols_are_certified_within_two_gigabytes(name):
    script = f"""
        import json
        import numpy as np
        import extremal as ex
        from tests.support.memory import most_memory
        n = 1000
        p = np.random.default_rng(n).dirichlet(np.ones(n)) if {name!r} == "Dirichlet" else 1 / np.arange(1, n + 1)
        prior = ex.Prior(p / p.sum())
        design = ex.design(prior, 1.0, ex.mutual_information)
        print(json.dumps(dict(
            gap=design.gap,
            leakage=ex.epsilon_pml(prior, design.mechanism),
            outputs=design.mechanism.shape[1],
            memory=most_memory(),
        )))
    """
    found = json.loads(run(script))
    assert found["gap"] <= 1e-4
    assert found["leakage"] <= 1 + 1e-12
    assert found["outputs"] <= 1000
    assert found["memory"] <= 2e9


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_a_thousand_symbols_are_certified_at_small_and_large_levels(epsilon):
    prior = ex.Prior(np.random.default_rng(11).dirichlet(np.ones(1000)))
    design = ex.design(prior, epsilon, ex.mutual_information, time_limit=math.inf)
    assert design.gap <= 1e-4
    assert_keeps_its_promises(design, 1e-4)
    assert ex.check_design(design).ok


@pytest.mark.slow
def test_a_thousand_counts_stay_within_two_gigabytes():
    """A dynamic programme over 2 million counts must not remember all its choices."""
    script = """
        import json
        import numpy as np
        import extremal as ex
        from tests.support.memory import most_memory
        counts = np.random.default_rng(0).integers(1, 3800, 1000)
        counts[0] = 1
        design = ex.design(ex.Prior.from_counts(counts), 0.05, ex.mutual_information)
        print(json.dumps(dict(gap=design.gap, memory=most_memory())))
    """
    found = json.loads(run(script))
    assert found["gap"] <= 1e-4
    assert found["memory"] <= 2e9


# The arc mechanism at size


@pytest.mark.slow
def test_a_hundred_thousand_symbols_by_arcs_need_no_matrix():
    weights = 1 / np.arange(1, 100_001)
    prior = ex.Prior(weights / weights.sum())
    design = design_by(prior, 1.0, ex.mutual_information, oracle="arc")
    assert design.made.shape[1] <= 200_000
    assert design.value <= 1 <= design.upper_bound * (1 + 1e-12)
    assert design.gap <= 0.02
    assert "100000 answers" in str(design)
    assert "100000 answers" in design._repr_html_()
    with pytest.raises(SizeError, match="100000 inputs x"):
        _ = design.mechanism
    uniform = design_by(ex.Prior.uniform(100_000), 1.0, ex.mutual_information, oracle="arc")
    assert uniform.gap <= 1e-5


@given(designs(max_size=6), st.sampled_from(SEPARABLE))
@at_most(40)
def test_the_value_of_arcs_without_a_matrix_is_that_of_the_mechanism(design, utility):
    prior, epsilon = design
    arc = design_by(prior, epsilon, utility, oracle="arc")
    assert arc.value == pytest.approx(utility(prior, arc.mechanism), rel=1e-10, abs=1e-12)
    # The order on the circle is chosen: no worse than the caller's.
    assert arc.value >= utility(prior, closed_form.arc(prior, epsilon)) * (1 - 1e-9) - 1e-12
