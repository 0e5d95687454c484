"""design(): every method keeps its promises, they agree wherever two apply, and what is certified is true."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import extremal as ex
from extremal.errors import UtilityError
from extremal.theory import closed_form
from extremal.theory.lift_vectors import lift_vertices
from tests.support import oracles
from tests.support.examples import at_most
from tests.support.optima import (
    METHODS,
    TWO,
    assert_checked,
    assert_keeps_its_promises,
    assert_optimal,
    listed,
    width,
)
from tests.support.pricing import KINKED, SEPARABLE, families
from tests.support.solving import design_by
from tests.support.strategies import designs, high_privacy_designs, mechanisms, priors, uniform_designs

# A partial symbol of lift 1e-6, where roundings of 1e-14 matter to utilities that are steep at 0.
NEAR_EDGE = (
    ex.Prior(
        [0.2487562189052858, *[0.24875621890553454] * 2, *[0.0024875621890553456] * 2, 0.24875621890553454]
    ),
    0.004987539511040317,
)


@st.composite
def within_reach(draw, method):
    """A prior, a level and a utility for which a method is made."""
    if method == "binary":
        prior, epsilon = draw(designs(2, 2, highest=lambda prior: prior.epsilon_max))
    elif method == "high-privacy":
        prior, epsilon = draw(high_privacy_designs())
    elif method == "uniform":
        n, epsilon = draw(uniform_designs())
        prior = ex.Prior.uniform(n)
    else:
        prior, epsilon = draw(designs(max_size=7))
    if method == "gain-program":
        return prior, epsilon, draw(st.sampled_from(oracles.asymmetric(prior.size)[2:4]))
    if method == "uniform":
        return prior, epsilon, draw(st.sampled_from([*oracles.SYMMETRIC, KINKED]))
    if method == "column-generation":
        return prior, epsilon, draw(st.sampled_from(SEPARABLE))
    return prior, epsilon, draw(st.sampled_from([*oracles.every_utility(prior.size), KINKED]))


@pytest.mark.parametrize("method", list(METHODS))
@given(st.data())
@at_most(60)
def test_methods_agree_with_enumeration_wherever_they_apply(method, data):
    """Theorems 2, 3, 4 and 5, column generation and the gain program; arcs stay below."""
    prior, epsilon, utility = data.draw(within_reach(method))
    design = design_by(prior, epsilon, utility, oracle=method, tolerance=1e-10)
    best = listed(prior, epsilon, utility)
    assert design.method == method
    assert_keeps_its_promises(design)
    if method != "arc":
        assert_optimal(design, best)
        return
    allowed = 1e-9 * abs(best.value) + 2e-15
    assert design.value <= best.value + max(allowed, width(prior, epsilon, utility))
    assert design.upper_bound >= best.value - max(allowed, width(prior, epsilon, utility))
    if prior.is_uniform and utility.symmetric:
        assert design.value >= best.value - allowed - width(prior, epsilon, utility)


@pytest.mark.parametrize("utility", SEPARABLE, ids=lambda utility: utility.name)
@given(design=designs(min_size=3, max_size=9))
@example(design=NEAR_EDGE)
@at_most(40)
def test_column_generation_is_optimal_for_every_separable_utility_prior_and_level(utility, design):
    prior, epsilon = design
    made = design_by(prior, epsilon, utility, oracle="column-generation", tolerance=1e-10)
    assert_keeps_its_promises(made)
    assert_optimal(made, listed(prior, epsilon, utility))


@pytest.mark.parametrize("utility", SEPARABLE, ids=lambda utility: utility.name)
@pytest.mark.parametrize("size", [10, *(pytest.param(size, marks=pytest.mark.slow) for size in (12, 14, 16))])
def test_column_generation_is_optimal_up_to_sixteen_symbols(size, utility):
    for name, masses in families(size).items():
        prior = ex.Prior(masses)
        inside = [0.1, 0.5, 2.0] if size > 12 else [0.5]
        edge = float(prior.region_edges[size // 2])
        for epsilon in [*inside, edge, edge + 1e-15, edge - 1e-15][: 3 if size == 12 else None]:
            made = design_by(prior, epsilon, utility, oracle="column-generation", tolerance=1e-10)
            best = listed(prior, epsilon, utility)
            assert made.value == pytest.approx(best.value, rel=1e-9), (name, epsilon)
            assert made.gap <= 1e-9, (name, epsilon)
            assert_keeps_its_promises(made)


# What must hold of every optimum


@given(designs(max_size=7), st.floats(0, 1), st.sampled_from(SEPARABLE))
@at_most(60)
def test_the_optimal_value_never_falls_as_epsilon_grows(design, share, utility):
    prior, epsilon = design
    lower = share * epsilon
    for method in ("auto", "column-generation"):
        large, small = (
            design_by(prior, e, utility, oracle=method, tolerance=1e-10).value for e in (epsilon, lower)
        )
        assert large >= small * (1 - 1e-9) - 2e-15


@given(designs(max_size=6), st.data())
@at_most(60)
def test_a_data_processed_mechanism_is_never_better(design, data):
    prior, epsilon = design
    utility = data.draw(st.sampled_from(oracles.every_utility(prior.size)))
    best = ex.design(prior, epsilon, utility)
    coarser = best.mechanism.then(data.draw(mechanisms(best.mechanism.shape[1])))
    assert ex.epsilon_pml(prior, coarser) <= epsilon + 1e-12
    assert utility(prior, coarser) <= best.value + 1e-12 * (1 + abs(best.value))


@given(priors(max_size=6), st.data())
@at_most(60)
def test_no_mechanism_at_its_own_level_beats_the_design(prior, data):
    utility = data.draw(st.sampled_from(oracles.every_utility(prior.size)))
    mechanism = data.draw(mechanisms(prior.size))
    epsilon = ex.epsilon_pml(prior, mechanism)
    best = ex.design(prior, epsilon, utility)
    value = utility(prior, mechanism)
    # epsilon was rounded: the mechanism may need a little more of it.
    assert best.value >= value - 1e-9 * (1 + abs(value)) - width(prior, epsilon, utility)


@given(designs(max_size=6))
def test_the_checker_accepts_the_design_of_every_method(design):
    prior, epsilon = design
    assume(
        epsilon == 0 or epsilon >= 1e-9
    )  # below, doubles cannot tell a bound from a value: see check_design
    for utility in (ex.mutual_information, ex.utilities.total_variation, ex.utilities.hellinger):
        for method in ("auto", "enumeration", "column-generation", "arc"):
            assert_checked(design_by(prior, epsilon, utility, oracle=method))


def test_a_bound_whose_digits_drown_at_a_tiny_level_is_replaced_by_one_that_holds():
    utility = ex.ExpectedGain(np.cos(np.arange(12)).reshape(3, 4), "three decisions")
    for epsilon in (1e-7, 1e-9, 1e-11):
        for masses in ([0.25] * 4, [0.4, 0.3, 0.2, 0.1]):
            made = ex.design(ex.Prior(masses), epsilon, utility)
            assert made.method == "high-privacy"
            assert made.value <= made.upper_bound <= made.value * (1 + 1e-6)


# Ends of the range


@given(priors(), st.sampled_from([0.0, 1e-15, 1e-3, 5.0, 1000.0]))
def test_from_epsilon_max_on_the_identity_is_optimal(prior, more):
    for utility in oracles.every_utility(prior.size):
        design = ex.design(prior, prior.epsilon_max + more, utility)
        assert design.method == "identity"
        assert design.mechanism == ex.Mechanism(np.eye(prior.size), prior.labels, prior.labels)
        assert design.gap <= 1e-9
        assert design.region == prior.size + 1
    assert ex.design(prior, prior.epsilon_max + more, ex.mutual_information).value == pytest.approx(
        prior.entropy
    )


@given(priors(), st.sampled_from(["auto", "enumeration", "column-generation", "arc"]))
def test_at_zero_a_constant_mechanism_is_optimal(prior, method):
    for utility in SEPARABLE:
        design = design_by(prior, 0, utility, oracle=method)
        assert design.mechanism.shape == (prior.size, 1)
        assert abs(design.value) <= 1e-15
        assert design.upper_bound == design.value
        assert design.proven
    likely = prior.labels[int(np.argmax(prior.probabilities))]
    assert ex.design(prior, 0, ex.mutual_information).mechanism.outputs == (likely,)


# Degenerate cases

TIED = ex.Prior.from_counts([3, 3, 3, 2, 2, 2, 1, 1, 1, 1])
DOMINATED = ex.Prior([0.999, *[0.0001] * 10])
TINY = ex.Prior([0.3, 0.3, 0.2, 0.1, 0.1 - 3e-9, 1e-9, 1e-9, 1e-9])


@pytest.mark.parametrize("utility", SEPARABLE, ids=lambda utility: utility.name)
@pytest.mark.parametrize("prior", [TIED, DOMINATED, TINY, TWO], ids=["ties", "0.999", "1e-9", "two"])
def test_ties_a_dominating_symbol_tiny_masses_and_edges_are_no_trouble(prior, utility):
    edges = prior.region_edges[1:]
    levels = {0.01, 0.5, 2.0, 8.0}
    for edge in (edges[0], edges[len(edges) // 2], edges[-2]):
        levels |= {float(edge), float(edge) + 1e-15, max(float(edge) - 1e-15, 0.0)}
    for epsilon in sorted(levels):
        best = listed(prior, epsilon, utility)
        assert_keeps_its_promises(best)  # what "auto" comes to for so few symbols
        design = design_by(prior, epsilon, utility, oracle="column-generation", tolerance=1e-10)
        assert_keeps_its_promises(design)
        assert_optimal(design, best)


@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_the_uniform_prior_on_five_hundred_symbols_is_certified_both_ways(epsilon):
    prior = ex.Prior.uniform(500)
    theorem = ex.design(prior, epsilon, ex.mutual_information)
    assert theorem.method == "uniform"
    assert theorem.value == pytest.approx(closed_form.uniform_mutual_information(500, epsilon), rel=1e-12)
    assert theorem.gap <= 1e-12
    made = design_by(prior, epsilon, ex.mutual_information, oracle="column-generation")
    assert made.proven
    assert made.value == pytest.approx(theorem.value, rel=1e-6)
    for design in (theorem, made):
        assert_keeps_its_promises(design)
        assert_checked(design)


# Local information privacy


@given(designs(min_size=2, max_size=6), st.floats(0, 1), st.sampled_from(SEPARABLE))
@at_most(60)
def test_a_lower_bound_on_lifts_is_kept_and_the_optimum_is_that_over_its_vertices(design, share, utility):
    """Local information privacy keeps lifts above e^-epsilon; any other bound is its asymmetric form."""
    prior, epsilon = design
    low = math.exp(-epsilon) ** (1 / share) if share > 0.1 else 0.0
    best = listed(prior, epsilon, utility, low)
    high = max((1 - low * (1 - prior.probabilities.min())) / prior.probabilities.min(), 1.0)
    V = lift_vertices(prior.probabilities, low, min(math.exp(min(epsilon, 700)), high))
    assert (utility.columns(prior, V.T) - V @ best.proof).max() <= 1e-12 * (
        1 + np.abs(best.proof).sum() * high
    )
    for method in ("auto", "column-generation", "arc"):
        made = design_by(prior, epsilon, utility, oracle=method, tolerance=1e-10, notion=ex.LIP.above(low))
        assert_keeps_its_promises(made)
        if method != "arc":
            assert_optimal(made, best)
        else:
            assert made.value <= best.value + 1e-9 * best.value + 2e-15 + width(prior, epsilon, utility, low)


def test_local_information_privacy_is_symmetric_in_the_logarithm_of_lifts():
    prior = ex.Prior(np.random.default_rng(1).dirichlet(np.ones(12)))
    design = ex.design(prior, 0.5, ex.mutual_information, notion=ex.LIP, tolerance=1e-9)
    assert design.method == "column-generation"
    assert design.proven
    assert ex.measures.lip_epsilon(prior, design.mechanism) <= 0.5 + 1e-12
    assert design.value < ex.design(prior, 0.5, ex.mutual_information).value
    assert_checked(design)


def test_a_lower_bound_of_one_leaves_nothing_to_release():
    design = ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.7, ex.mutual_information, notion=ex.LIP.above(1.0))
    assert design.method == "constant"
    assert design.value == 0


# Utilities that are not separable


@pytest.mark.parametrize(
    ("size", "k"),
    [
        *((9, k) for k in range(6)),
        pytest.param(14, 3, marks=pytest.mark.slow),
        pytest.param(14, 4, marks=pytest.mark.slow),
    ],
)
def test_other_utilities_are_enumerated_up_to_fourteen_symbols(size, k):
    prior = ex.Prior(np.random.default_rng(size).dirichlet(np.ones(size)))
    utility = oracles.asymmetric(size)[k]
    design = ex.design(prior, 0.8, utility)
    expected = "gain-program" if isinstance(utility, ex.ExpectedGain) else "enumeration"
    assert design.method == expected
    assert design.gap <= 1e-9
    assert design.value == pytest.approx(oracles.optimum(prior, math.exp(0.8), utility), rel=1e-9)
    assert_keeps_its_promises(design)
    assert_checked(design)


@pytest.mark.parametrize("k", [0, 1, 4, 5])
def test_above_that_nothing_is_claimed_and_the_design_says_so(k):
    prior = ex.Prior(np.random.default_rng(4).dirichlet(np.ones(16)))
    utility = oracles.asymmetric(16)[k]
    design = ex.design(prior, 0.8, utility)
    assert design.method == "column-generation"
    assert design.upper_bound == math.inf
    assert design.gap == math.inf
    assert design.proof is None
    assert not design.proven
    assert "nothing is proven" in str(design)
    assert_keeps_its_promises(design)
    assert_checked(design)
    assert design.value >= design_by(prior, 0.8, utility, oracle="arc").value * (1 - 1e-12)


@pytest.mark.slow
def test_local_search_comes_close_to_the_optimum_where_that_is_known():
    prior = ex.Prior(np.random.default_rng(4).dirichlet(np.ones(14)))
    for utility in oracles.asymmetric(14):
        best = ex.design(prior, 0.8, utility)
        found = design_by(prior, 0.8, utility, oracle="column-generation")
        assert found.value <= best.upper_bound * (1 + 1e-9)
        assert found.value >= 0.99 * best.value


@pytest.mark.parametrize(
    "mu",
    [
        lambda prior, P: (P**2).sum(axis=0),
        lambda prior, P: np.sqrt(P.sum(axis=0)),
        lambda prior, P: P.min(axis=0),
        lambda prior, P: P.sum(axis=0) + 1,
    ],
    ids=["a square", "a root", "a minimum", "a constant"],
)
def test_a_mu_that_is_not_sub_linear_is_refused(mu):
    """Definition 4: without it neither Theorem 1 nor Theorem 5 holds."""
    with pytest.raises(UtilityError, match=r"homogeneous|sub-additive"):
        ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.7, ex.Utility(mu, "wrong"))
