"""design(): every method keeps its promises, they agree wherever two apply, and what is certified is true."""

import itertools
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import extremal as ex
from extremal.certification.check import check_claim
from extremal.errors import EpsilonError, OptionError, PriorError, RegionError, SizeError, UtilityError
from extremal.optimization.run import choose_method
from extremal.optimization.task import make_task
from extremal.theory import closed_form
from extremal.theory.lift_vectors import lift_vertices
from tests.support import oracles
from tests.support.pricing import KINKED, SEPARABLE, families
from tests.support.strategies import designs, high_privacy_designs, mechanisms, priors, uniform_designs

LEVEL = 4e-15  # levels that differ by this are equal up to rounding
METHODS = [
    "binary",
    "high-privacy",
    "uniform",
    "enumeration",
    "vertices",
    "column-generation",
    "gain-program",
    "arc",
]


def listed(prior, epsilon, utility, low=0.0):
    """The optimum by going through all vertices."""
    return ex.design(prior, epsilon, utility, method="enumeration", notion=ex.LIP.above(low))


def width(prior, epsilon, utility, low=0.0):
    """How much the optimum changes between levels that are equal up to rounding.

    At the edge of a region it is steep for a utility that is steep at 0, and for a small epsilon relative to
    itself. Nothing computed from e^epsilon, a double, can be known better than that.
    """
    below, above = (listed(prior, max(epsilon + shift, 0.0), utility, low).value for shift in (-LEVEL, LEVEL))
    return abs(above - below)


def assert_optimal(design, best):
    """The value is that of enumeration to 1e-9, relative to it, and proven to 1e-9."""
    prior, epsilon, utility, low = (
        design.prior,
        design.epsilon,
        design.utility,
        design.notion.lower_lift(design.epsilon),
    )
    # Columns are doubles of the order of 1, so their utilities are known to a few 1e-16.
    allowed = 1e-9 * abs(best.value) + 2e-15
    if max(abs(design.value - best.value), design.upper_bound - design.value) > allowed:
        allowed += width(prior, epsilon, utility, low)
    assert abs(design.value - best.value) <= allowed
    # The dual vector comes from differences between vertices: of order epsilon, and rounded like their utilities.
    drowned = min(4e-16 / max(epsilon, 1e-300), 2 * epsilon) * abs(best.value)
    assert design.upper_bound - design.value <= allowed + drowned


def assert_keeps_its_promises(design, tolerance=1e-6):
    prior, mechanism = design.prior, design.mechanism
    assert np.abs(mechanism.matrix.sum(axis=1) - 1).max() <= 1e-12
    assert ex.epsilon_pml(prior, mechanism) <= design.epsilon + 1e-12
    assert ex.measures.lift(prior, mechanism).min() >= design.notion.lower_lift(design.epsilon) - 1e-12
    assert mechanism.inputs == prior.labels
    if design.method == "arc":
        assert mechanism.shape[1] <= 2 * prior.size
    else:
        assert mechanism.shape[1] <= prior.size
        assert set(mechanism.outputs) <= set(prior.labels)
    assert design.value == pytest.approx(design.utility(prior, mechanism), rel=1e-11, abs=1e-14)
    assert design.value <= design.upper_bound
    assert design.region == prior.region(design.epsilon)
    assert design.proven <= (design.gap <= tolerance)


def assert_checked(design):
    found = check_claim(
        design.prior,
        design.epsilon,
        design.utility,
        design,
        lower_lift=design.notion.lower_lift(design.epsilon),
    )
    assert found.ok, str(found)


# The methods


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
    elif method == "vertices":
        prior, epsilon = draw(designs(max_size=3))
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
@settings(max_examples=60)
def test_methods_agree_with_enumeration_wherever_they_apply(method, data):
    """Theorems 2, 3, 4 and 5, the vertices of Lemma 1, column generation and the gain program; arcs stay below."""
    prior, epsilon, utility = data.draw(within_reach(method))
    design = ex.design(prior, epsilon, utility, method=method, tolerance=1e-10)
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
@settings(max_examples=40)
def test_column_generation_is_optimal_for_every_separable_utility_prior_and_level(utility, design):
    prior, epsilon = design
    made = ex.design(prior, epsilon, utility, method="column-generation", tolerance=1e-10)
    assert_keeps_its_promises(made)
    assert_optimal(made, listed(prior, epsilon, utility))


@pytest.mark.parametrize("utility", SEPARABLE, ids=lambda utility: utility.name)
@pytest.mark.parametrize(
    "size", [12, pytest.param(14, marks=pytest.mark.slow), pytest.param(16, marks=pytest.mark.slow)]
)
def test_column_generation_is_optimal_up_to_sixteen_symbols(size, utility):
    for name, masses in families(size).items():
        prior = ex.Prior(masses)
        inside = [0.1, 0.5, 2.0] if size > 12 else [0.5]
        edge = float(prior.region_edges[size // 2])
        for epsilon in [*inside, edge, edge + 1e-15, edge - 1e-15][: 3 if size == 12 else None]:
            made = ex.design(prior, epsilon, utility, method="column-generation", tolerance=1e-10)
            best = listed(prior, epsilon, utility)
            assert made.value == pytest.approx(best.value, rel=1e-9), (name, epsilon)
            assert made.gap <= 1e-9, (name, epsilon)
            assert_keeps_its_promises(made)


# What must hold of every optimum


@given(designs(max_size=7), st.floats(0, 1), st.sampled_from(SEPARABLE))
@settings(max_examples=60)
def test_the_optimal_value_never_falls_as_epsilon_grows(design, share, utility):
    prior, epsilon = design
    lower = share * epsilon
    for method in ("auto", "column-generation"):
        large, small = (
            ex.design(prior, e, utility, method=method, tolerance=1e-10).value for e in (epsilon, lower)
        )
        assert large >= small * (1 - 1e-9) - 2e-15


@given(designs(max_size=6), st.data())
@settings(max_examples=60)
def test_a_data_processed_mechanism_is_never_better(design, data):
    prior, epsilon = design
    utility = data.draw(st.sampled_from(oracles.every_utility(prior.size)))
    best = ex.design(prior, epsilon, utility)
    coarser = best.mechanism.then(data.draw(mechanisms(best.mechanism.shape[1])))
    assert ex.epsilon_pml(prior, coarser) <= epsilon + 1e-12
    assert utility(prior, coarser) <= best.value + 1e-12 * (1 + abs(best.value))


@given(priors(max_size=6), st.data())
@settings(max_examples=60)
def test_no_mechanism_at_its_own_level_beats_the_design(prior, data):
    utility = data.draw(st.sampled_from(oracles.every_utility(prior.size)))
    mechanism = data.draw(mechanisms(prior.size))
    epsilon = ex.epsilon_pml(prior, mechanism)
    best = ex.design(prior, epsilon, utility)
    value = utility(prior, mechanism)
    # epsilon was rounded: the mechanism may need a little more of it.
    assert best.value >= value - 1e-9 * (1 + abs(value)) - width(prior, epsilon, utility)


@given(designs(max_size=6))
@settings(max_examples=40)
def test_the_checker_accepts_the_design_of_every_method(design):
    prior, epsilon = design
    assume(
        epsilon == 0 or epsilon >= 1e-9
    )  # below, doubles cannot tell a bound from a value: see check_design
    for utility in (ex.mutual_information, ex.utilities.total_variation, ex.utilities.hellinger):
        for method in ("auto", "enumeration", "column-generation", "arc"):
            assert_checked(ex.design(prior, epsilon, utility, method=method))


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
        design = ex.design(prior, 0, utility, method=method)
        assert design.mechanism.shape == (prior.size, 1)
        assert abs(design.value) <= 1e-15
        assert design.upper_bound == design.value
        assert design.proven
    likely = prior.labels[int(np.argmax(prior.probabilities))]
    assert ex.design(prior, 0, ex.mutual_information).mechanism.outputs == (likely,)


@pytest.mark.parametrize("method", ["constant", "identity"])
def test_the_ends_are_refused_anywhere_else(method):
    """Neither is optimal there, and the identity would leak more than epsilon."""
    with pytest.raises(RegionError, match="use 'auto'"):
        ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.7, ex.mutual_information, method=method)
    assert ex.design(ex.Prior([0.5, 0.3, 0.2]), 0, ex.mutual_information, method="constant").value == 0
    with pytest.raises(RegionError, match="epsilon_max"):
        ex.design(
            ex.Prior([0.5, 0.3, 0.2]), 9, ex.mutual_information, method="identity", notion=ex.LIP.above(0.1)
        )


# Degenerate cases

TIED = ex.Prior.from_counts([3, 3, 3, 2, 2, 2, 1, 1, 1, 1])
DOMINATED = ex.Prior([0.999, *[0.0001] * 10])
TINY = ex.Prior([0.3, 0.3, 0.2, 0.1, 0.1 - 3e-9, 1e-9, 1e-9, 1e-9])
TWO = ex.Prior([0.8, 0.2])


@pytest.mark.parametrize("utility", SEPARABLE, ids=lambda utility: utility.name)
@pytest.mark.parametrize("prior", [TIED, DOMINATED, TINY, TWO], ids=["ties", "0.999", "1e-9", "two"])
def test_ties_a_dominating_symbol_tiny_masses_and_edges_are_no_trouble(prior, utility):
    edges = prior.region_edges[1:]
    levels = {0.01, 0.5, 2.0, 8.0}
    for edge in (edges[0], edges[len(edges) // 2], edges[-2]):
        levels |= {float(edge), float(edge) + 1e-15, max(float(edge) - 1e-15, 0.0)}
    for epsilon in sorted(levels):
        best = listed(prior, epsilon, utility)
        for method in ("auto", "column-generation"):
            design = ex.design(prior, epsilon, utility, method=method, tolerance=1e-10)
            assert_keeps_its_promises(design)
            assert_optimal(design, best)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 4.0])
def test_the_uniform_prior_on_five_hundred_symbols_is_certified_both_ways(epsilon):
    prior = ex.Prior.uniform(500)
    theorem = ex.design(prior, epsilon, ex.mutual_information)
    assert theorem.method == "uniform"
    assert theorem.value == pytest.approx(closed_form.uniform_mutual_information(500, epsilon), rel=1e-12)
    assert theorem.gap <= 1e-12
    made = ex.design(prior, epsilon, ex.mutual_information, method="column-generation")
    assert made.proven
    assert made.value == pytest.approx(theorem.value, rel=1e-6)
    for design in (theorem, made):
        assert_keeps_its_promises(design)
        assert_checked(design)


# Local information privacy


@given(designs(min_size=2, max_size=6), st.floats(0, 1), st.sampled_from(SEPARABLE))
@settings(max_examples=60)
def test_a_lower_bound_on_lifts_is_kept_and_the_optimum_is_that_over_its_vertices(design, share, utility):
    """Local information privacy keeps lifts above e^-epsilon; any other bound is its asymmetric form."""
    prior, epsilon = design
    low = math.exp(-epsilon) ** (1 / share) if share > 0.1 else 0.0
    best = listed(prior, epsilon, utility, low)
    high = max((1 - low * (1 - prior.probabilities.min())) / prior.probabilities.min(), 1.0)
    V = lift_vertices(prior.probabilities, low, min(math.exp(min(epsilon, 700)), high))
    assert (utility.columns(prior, V.T) - V @ best.dual).max() <= 1e-12 * (1 + np.abs(best.dual).sum() * high)
    for method in ("auto", "column-generation", "arc"):
        made = ex.design(prior, epsilon, utility, method=method, tolerance=1e-10, notion=ex.LIP.above(low))
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


@pytest.mark.parametrize("method", ["binary", "high-privacy", "uniform", "vertices"])
def test_closed_forms_know_no_lower_bound_on_lifts(method):
    with pytest.raises(ValueError, match="no lower bound on lifts; use 'auto'"):
        ex.design(ex.Prior.uniform(2), 0.1, ex.mutual_information, method=method, notion=ex.LIP.above(0.5))


# Utilities that are not separable


@pytest.mark.parametrize("k", range(6))
@pytest.mark.parametrize("size", [5, 11, 14])
def test_other_utilities_are_enumerated_up_to_fourteen_symbols(k, size):
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
    assert design.dual is None
    assert not design.proven
    assert "nothing is proven" in str(design)
    assert_keeps_its_promises(design)
    assert_checked(design)
    assert design.value >= ex.design(prior, 0.8, utility, method="arc").value * (1 - 1e-12)


def test_local_search_comes_close_to_the_optimum_where_that_is_known():
    prior = ex.Prior(np.random.default_rng(4).dirichlet(np.ones(14)))
    for utility in oracles.asymmetric(14):
        best = ex.design(prior, 0.8, utility)
        found = ex.design(prior, 0.8, utility, method="column-generation")
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


# Certificates at size


@pytest.mark.parametrize("size", [2, 3, 5, 8, 13, 20, 28, 36])
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
@pytest.mark.parametrize(("size", "epsilon"), [(100, 0.7), (300, 1.5)])
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
    design = ex.design(prior, epsilon, ex.mutual_information, time_limit=60)
    assert design.gap <= 1e-6
    assert_keeps_its_promises(design)
    assert_checked(design)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Dirichlet", "Zipf 1"])
def test_a_thousand_symbols_are_certified_within_two_gigabytes(name):
    script = f"""
        import json, resource
        import numpy as np
        import extremal as ex
        n = 1000
        p = np.random.default_rng(n).dirichlet(np.ones(n)) if {name!r} == "Dirichlet" else 1 / np.arange(1, n + 1)
        prior = ex.Prior(p / p.sum())
        design = ex.design(prior, 1.0, ex.mutual_information, time_limit=120)
        print(json.dumps(dict(
            gap=design.gap,
            leakage=ex.epsilon_pml(prior, design.mechanism),
            outputs=design.mechanism.shape[1],
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        )))
    """
    found = json.loads(run(script))
    assert found["gap"] <= 1e-4
    assert found["leakage"] <= 1 + 1e-12
    assert found["outputs"] <= 1000
    assert found["memory"] <= 2e9


@pytest.mark.slow
def test_a_thousand_counts_stay_within_two_gigabytes():
    """A dynamic programme over 2 million counts must not remember all its choices."""
    script = """
        import json, resource
        import numpy as np
        import extremal as ex
        counts = np.random.default_rng(0).integers(1, 3800, 1000)
        counts[0] = 1
        design = ex.design(ex.Prior.from_counts(counts), 0.05, ex.mutual_information, time_limit=60)
        print(json.dumps(dict(gap=design.gap, memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)))
    """
    found = json.loads(run(script))
    assert found["gap"] <= 1e-4
    assert found["memory"] <= 2e9


def run(script):
    """What a script prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# The arc mechanism at size


def test_a_hundred_thousand_symbols_by_arcs_need_no_matrix():
    weights = 1 / np.arange(1, 100_001)
    prior = ex.Prior(weights / weights.sum())
    design = ex.design(prior, 1.0, ex.mutual_information, method="arc")
    assert design.made.shape[1] <= 200_000
    assert design.value <= 1 <= design.upper_bound * (1 + 1e-12)
    assert design.gap <= 0.02
    assert "100000 inputs" in str(design)
    assert "100000 inputs" in design._repr_html_()
    with pytest.raises(SizeError, match="100000 inputs x"):
        _ = design.mechanism
    uniform = ex.design(ex.Prior.uniform(100_000), 1.0, ex.mutual_information, method="arc")
    assert uniform.gap <= 1e-5


@given(designs(max_size=6), st.sampled_from(SEPARABLE))
@settings(max_examples=40)
def test_the_value_of_arcs_without_a_matrix_is_that_of_the_mechanism(design, utility):
    prior, epsilon = design
    arc = ex.design(prior, epsilon, utility, method="arc")
    assert arc.value == pytest.approx(utility(prior, arc.mechanism), rel=1e-10, abs=1e-12)
    # The order on the circle is chosen: no worse than the caller's.
    assert arc.value >= utility(prior, closed_form.arc(prior, epsilon)) * (1 - 1e-9) - 1e-12


# Interrupts and time limits


@pytest.mark.parametrize("size", [16, 30, 60])
def test_an_interrupt_from_the_callback_leaves_the_best_so_far_with_a_valid_bound(size):
    weights = 1 / np.arange(1, size + 1)
    prior = ex.Prior(weights / weights.sum())
    best = ex.design(prior, 0.7, ex.mutual_information)
    for stop in (1, 3):
        calls = itertools.count(1)

        def interrupt(value, upper, stop=stop, calls=calls):
            if next(calls) == stop:
                raise KeyboardInterrupt

        design = ex.design(prior, 0.7, ex.mutual_information, tolerance=0.0, progress=interrupt)
        assert design.stats.interrupted
        assert "interrupted, this is the best so far" in str(design)
        assert_keeps_its_promises(design)
        assert design.value <= best.upper_bound
        assert design.upper_bound >= best.value
        assert not design.proven
        assert_checked(design)


def test_a_real_interrupt_leaves_the_best_so_far_or_a_clean_exit():
    """SIGINT at several moments of a search without end: before it, and, from the first round on, amid its loops."""
    script = """
        import json, math, os, signal, threading
        import numpy as np
        import extremal as ex
        from extremal.certification.check import check_claim
        weights = 1 + 0.1 * np.random.default_rng(36).random(36)  # hard: nearly equal masses
        prior = ex.Prior(weights / weights.sum())
        for delay, amid in ((0.0, False), (0.003, False), (0.0, True), (0.003, True), (0.1, True)):
            timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
            def begun(value, upper):
                if not timer.ident:
                    timer.start()
            try:
                if not amid:
                    timer.start()
                design = ex.design(
                    prior, 0.7, ex.mutual_information, tolerance=0.0, time_limit=math.inf, progress=begun
                )
            except KeyboardInterrupt:
                assert not amid
                continue
            print(json.dumps(dict(
                interrupted=design.stats.interrupted,
                certified=design.proven,
                value=design.value,
                upper=design.upper_bound,
                leakage=ex.epsilon_pml(prior, design.mechanism),
                checked=check_claim(prior, 0.7, ex.mutual_information, design).ok,
            )))
    """
    left = [json.loads(line) for line in run(script).splitlines()]
    assert len(left) >= 3
    for outcome in left:
        assert outcome["interrupted"]
        assert not outcome["certified"]
        assert outcome["checked"]
        assert outcome["leakage"] <= 0.7 + 1e-12
        assert max(o["value"] for o in left) <= outcome["upper"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_an_interrupt_in_this_process_is_clean_too():
    """Whatever the moment: a design that says it was interrupted, a finished one, or KeyboardInterrupt."""
    prior = ex.Prior(np.random.default_rng(1).dirichlet(np.ones(16)))
    best = ex.design(prior, 0.7, ex.mutual_information)
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        for delay in (0.001, 0.005, 0.02):
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                design = ex.design(prior, 0.7, ex.mutual_information, tolerance=1e-12)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                continue
            assert_keeps_its_promises(design)
            assert design.value <= best.upper_bound
            assert design.upper_bound >= best.value
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("size", [12, 24, 36, 60, 150])
def test_without_any_time_there_still_is_a_design_that_holds(size):
    prior = ex.Prior(np.random.default_rng(size).dirichlet(np.ones(size)))
    design = ex.design(prior, 0.6, ex.mutual_information, time_limit=0)
    assert_keeps_its_promises(design)
    assert design.gap < 0.1
    assert not design.stats.interrupted
    assert_checked(design)


@pytest.mark.timed
def test_time_limits_are_kept():
    weights = 1 + 0.1 * np.random.default_rng(36).random(36)
    prior = ex.Prior(weights / weights.sum())
    ex.design(prior, 0.7, ex.mutual_information, time_limit=0)
    begin = time.process_time()
    ex.design(prior, 0.7, ex.mutual_information, tolerance=0.0, time_limit=0.5)
    assert time.process_time() - begin < 5


def test_a_tolerance_of_zero_ends():
    prior = ex.Prior(np.random.default_rng(2).dirichlet(np.ones(11)))
    design = ex.design(prior, 0.8, ex.mutual_information, tolerance=0.0)
    assert design.method == "column-generation"
    assert design.gap <= 1e-12


# Reading a design


def test_the_rule_of_auto_is_that_of_the_docstring():
    def method(prior, epsilon, utility=ex.mutual_information, low=0.0):
        return choose_method(make_task(prior, epsilon, utility, 1e-6, None, low))

    three, eleven = ex.Prior([0.5, 0.3, 0.2]), ex.Prior.from_counts(range(1, 12))
    norm = ex.Utility(lambda prior, P: np.sqrt((P**2).sum(axis=0)), symmetric=True)
    assert method(three, 0) == "constant"
    assert method(three, 9) == "identity"
    assert method(TWO, 0.5) == "binary"
    assert method(three, 0.1) == "high-privacy"
    assert method(ex.Prior.uniform(30), 1.0) == "uniform"
    assert method(ex.Prior.uniform(30), 1.0, norm) == "uniform"
    assert method(three, 0.7, ex.ExpectedGain(np.eye(3))) == "gain-program"
    assert method(three, 0.7) == "enumeration"
    assert method(eleven, 0.7) == "column-generation"
    assert method(eleven, 0.7, norm) == "enumeration"
    assert method(ex.Prior.from_counts(range(1, 16)), 0.7, norm) == "column-generation"
    assert method(TWO, 0.5, low=0.5) == "enumeration"
    assert method(ex.Prior.uniform(30), 1.0, low=0.5) == "column-generation"


def test_a_design_prints_itself():
    prior = ex.Prior({"yes": 0.5, "no": 0.3, "don't <know>": 0.2})
    design = ex.design(prior, 0.7, ex.mutual_information)
    first, second, third = str(design).splitlines()
    assert first.startswith(
        f"mutual information {design.value:.9g} at epsilon = 0.7; at most {design.upper_bound:.9g}"
    )
    assert "(gap " in first
    assert second == "3 inputs, 3 outputs, privacy region 3 of 3"
    assert third.startswith("method enumeration, ")
    assert "columns in 1 rounds" in third
    page = design._repr_html_()
    assert page.startswith("<pre>mutual information")
    assert "<table>" in page
    assert "don&#x27;t &lt;know&gt;" in page
    assert "<know>" not in page
    loose = ex.design(ex.Prior(families(30)["Zipf 1"]), 0.7, ex.mutual_information, time_limit=0)
    assert "more than the tolerance" in str(loose)
    assert "matrix" not in repr(design)
    for line in [*str(design).splitlines(), *str(loose).splitlines()]:
        assert len(line) <= 120


def test_above_all_regions_a_design_says_whether_everything_is_told():
    prior = ex.Prior([0.5, 0.3, 0.2])
    designs = (
        ex.design(prior, 5.0, ex.mutual_information),
        ex.design(prior, 5.0, ex.mutual_information, notion=ex.LIP.above(0.5)),
        ex.design(ex.PriorSet.at_least(prior, 0), 5.0, ex.mutual_information),
    )
    words = [str(design).splitlines()[1].rpartition(", ")[2] for design in designs]
    assert words == ["full disclosure", "under LIP", "above all regions"]


def test_outputs_carry_the_labels_they_agree_with_most_often():
    prior = ex.Prior({"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1})
    design = ex.design(prior, 1.0, ex.mutual_information)
    assert set(design.mechanism.outputs) <= {"a", "b", "c", "d"}
    shuffled = ex.Mechanism(design.mechanism.matrix, prior.labels)
    assert ex.theory.agreement(prior, design.mechanism) == ex.theory.agreement(
        prior, ex.theory.pair_outputs(prior, shuffled)
    )


def test_the_same_question_has_the_same_answer():
    prior = ex.Prior(families(40)["Zipf 1"])
    one, other = (ex.design(prior, 1.0, ex.mutual_information) for _ in range(2))
    assert one.mechanism == other.mechanism
    assert one.upper_bound == other.upper_bound


def test_the_order_of_symbols_does_not_matter():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(13))
    order = rng.permutation(13)
    one, other = (ex.design(ex.Prior(q), 0.8, ex.mutual_information, tolerance=1e-9) for q in (p, p[order]))
    assert one.value == pytest.approx(other.value, rel=2e-9)


# Errors a person can act on

THREE = ex.Prior([0.5, 0.3, 0.2])


@pytest.mark.parametrize(
    ("change", "error", "parts"),
    [
        ({"prior": [0.5, 0.5]}, PriorError, ["must be a Prior", "[0.5, 0.5]", "build one"]),
        ({"epsilon": -1}, EpsilonError, ["epsilon", ">= 0", "-1"]),
        ({"epsilon": math.nan}, EpsilonError, ["finite", "nan"]),
        ({"epsilon": "0.5"}, EpsilonError, ["number", "'0.5'"]),
        ({"utility": max}, UtilityError, ["must be a Utility", "max", "Utility(mu)"]),
        ({"utility": "mutual information"}, UtilityError, ["must be a Utility", "'mutual information'"]),
        ({"utility": ex.ExpectedGain(np.eye(4))}, UtilityError, ["each of 3 symbols", "got 4"]),
        (
            {"utility": ex.FDivergence(lambda t: (t - 1) ** 2, [1, 0], [0.5, 0.5])},
            UtilityError,
            ["each of 3", "got 2"],
        ),
        ({"method": "simplex"}, ValueError, ["'auto'", "'column-generation'", "got 'simplex'"]),
        ({"tolerance": -1e-9}, ValueError, ["tolerance", ">= 0", "-1e-09"]),
        ({"tolerance": math.nan}, ValueError, ["tolerance", "finite", "nan"]),
        ({"tolerance": math.inf}, ValueError, ["tolerance", "finite", "inf"]),
        ({"time_limit": -1}, ValueError, ["time_limit", ">= 0", "-1", "math.inf"]),
        ({"time_limit": math.nan}, ValueError, ["time_limit", "nan"]),
        ({"method": "binary"}, RegionError, ["2 symbols", "got 3", "design(prior, epsilon)"]),
        ({"method": "high-privacy"}, RegionError, ["epsilon_1", "got 0.7", "design(prior, epsilon)"]),
        ({"method": "uniform"}, RegionError, ["uniform prior", "0.2 to 0.5", "design(prior, epsilon)"]),
        ({"method": "gain-program"}, UtilityError, ["ExpectedGain", "mutual information", "auto"]),
        ({"prior": ex.Prior.uniform(5), "method": "vertices"}, SizeError, ["N <= 4", "got 5"]),
        ({"prior": ex.Prior.uniform(30), "method": "enumeration"}, SizeError, ["at most 22", "got 30"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_questions_that_make_no_sense_are_refused(change, error, parts):
    question = {"prior": THREE, "epsilon": 0.7, "utility": ex.mutual_information, **change}
    with pytest.raises(error) as caught:
        ex.design(**question)
    for part in parts:
        assert part in str(caught.value)


def test_theorem_4_needs_a_promise_of_symmetry():
    norm = ex.Utility(lambda prior, P: np.sqrt((P**2).sum(axis=0)), "norm")
    with pytest.raises(UtilityError, match="symmetric=True"):
        ex.design(ex.Prior.uniform(4), 0.5, norm, method="uniform")


@pytest.mark.parametrize(
    "option",
    [{"method": ["binary"]}, {"method": None}, {"tolerance": "x"}, {"time_limit": "x"}, {"progress": 5}],
)
def test_an_option_of_a_wrong_type_is_an_option_error(option):
    with pytest.raises(ex.errors.OptionError, match=next(iter(option))):
        ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.6, **option)


@pytest.mark.parametrize("lift", [-0.1, 1.1, math.nan, "0.5", None])
def test_a_lower_bound_on_lifts_is_a_number_between_0_and_1(lift):
    with pytest.raises(EpsilonError, match="between 0 and 1"):
        ex.LIP.above(lift)


def test_only_local_information_privacy_has_a_lower_bound_on_lifts():
    with pytest.raises(EpsilonError, match="LIP only"):
        ex.PML.above(0.5)


@pytest.mark.parametrize("notion", ["PML", None, 1])
def test_a_notion_is_one_of_four_values(notion):
    with pytest.raises(OptionError, match="PML, LDP, LIP or MaximalLeakage"):
        ex.design(ex.Prior([0.5, 0.3, 0.2]), 0.5, ex.mutual_information, notion=notion)
