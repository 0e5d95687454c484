"""The methods of design() agree wherever two of them apply, and every result keeps its promises."""

import math

import numpy as np
import pytest

import extremal as ex

UTILITIES = [
    ex.mutual_information,
    ex.utilities.total_variation,
    ex.utilities.chi_squared,
    ex.utilities.hellinger,
    ex.utilities.jensen_shannon,
]


def priors() -> list[ex.Prior]:
    """Random, tied, dominated, heavy-headed and tiny-mass priors of 2 to 12 symbols."""
    rng = np.random.default_rng(7)
    tied = np.array([2, 2, 2, 1, 1, 1, 1]) / 10
    dominated = np.array([0.999, *[0.00025] * 4])
    tiny = np.array([0.5, 0.3, 0.2 - 1e-9, 1e-9])
    zipf = 1 / np.arange(1, 13)
    return [
        ex.Prior([0.7, 0.3]),
        *(ex.Prior(rng.dirichlet(np.ones(n))) for n in (3, 6, 9, 12)),
        ex.Prior(tied),
        ex.Prior(dominated),
        ex.Prior(tiny),
        ex.Prior(zipf / zipf.sum()),
    ]


def levels(prior: ex.Prior) -> list[float]:
    """Inside regions, on edges and beside them."""
    edges = prior.region_edges
    # Beyond e^8 chi-squared leaves a check in doubles fewer than nine digits.
    inner = [float(edges[1]) / 2, 0.3, min(float(edges[-1]) * 0.9, 8.0)]
    return [e for e in [*inner, float(edges[1]), float(edges[2]), float(edges[2]) + 1e-15] if e < edges[-1]]


def keeps_its_promises(design: ex.Design) -> None:
    mechanism = design.mechanism
    assert np.abs(mechanism.matrix.sum(axis=1) - 1).max() <= 1e-12
    assert ex.epsilon_pml(design.prior, mechanism) <= design.epsilon + 1e-12
    assert design.value <= design.upper_bound
    assert ex.check_design(design).ok
    if design.method != "arc":
        assert mechanism.shape[1] <= design.prior.size


@pytest.mark.parametrize("prior", priors(), ids=lambda prior: f"of-{prior.size}")
@pytest.mark.parametrize("utility", UTILITIES, ids=lambda utility: utility.name)
def test_column_generation_enumeration_and_closed_forms_agree(prior: ex.Prior, utility: ex.Utility) -> None:
    for epsilon in levels(prior):
        auto = ex.design(prior, epsilon, utility, tolerance=1e-10)
        listed = ex.design(prior, epsilon, utility, method="enumeration")
        made = ex.design(prior, epsilon, utility, method="column-generation", tolerance=1e-10)
        for design in (auto, made):
            assert design.value == pytest.approx(listed.value, rel=1e-9, abs=1e-15)
            assert design.upper_bound - design.value <= 1e-8 * design.value + 1e-15  # rounding, below that
            keeps_its_promises(design)
        arc = ex.design(prior, epsilon, utility, method="arc")
        assert arc.value <= listed.upper_bound * (1 + 1e-9) + 1e-15
        assert arc.upper_bound >= listed.value * (1 - 1e-9) - 1e-15


@pytest.mark.parametrize("size", [20, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_larger_alphabets_are_certified_and_checked(size: int, epsilon: float) -> None:
    counts = np.random.default_rng(size).integers(1, 300, size)
    weights = 1 / np.arange(1, size + 1)
    for prior in (ex.Prior.from_counts(counts), ex.Prior(weights / weights.sum())):
        design = ex.design(prior, epsilon, ex.mutual_information)
        assert design.proven
        keeps_its_promises(design)


@pytest.mark.parametrize("prior", priors()[:6], ids=lambda prior: f"of-{prior.size}")
def test_the_gain_program_agrees_with_enumeration(prior: ex.Prior) -> None:
    rng = np.random.default_rng(3)
    for gain in (np.eye(prior.size), rng.normal(size=(4, prior.size))):
        for epsilon in levels(prior):
            design = ex.design(prior, epsilon, ex.ExpectedGain(gain), method="gain-program")
            listed = ex.design(prior, epsilon, ex.ExpectedGain(gain), method="enumeration")
            assert design.value == pytest.approx(listed.value, rel=1e-9, abs=1e-12)
            keeps_its_promises(design)


def test_other_utilities_are_enumerated_or_honestly_not_proven() -> None:
    rng = np.random.default_rng(5)
    for size, certified in ((8, True), (20, False)):
        prior = ex.Prior(rng.dirichlet(np.ones(size)))
        p0, p1 = rng.dirichlet(np.ones(size), 2)
        design = ex.design(prior, 0.5, ex.FDivergence(lambda t: (t - 1) ** 2, p0, p1))
        assert design.proven is certified
        assert math.isinf(design.upper_bound) is not certified
        assert certified or "nothing is proven" in str(design)
        assert ex.epsilon_pml(prior, design.mechanism) <= 0.5 + 1e-12


def test_local_information_privacy_comes_out_of_the_same_code() -> None:
    prior = ex.Prior(np.random.default_rng(9).dirichlet(np.ones(9)))
    low = math.exp(-0.4)
    listed = ex.design(prior, 0.4, ex.mutual_information, notion=ex.LIP.above(low), method="enumeration")
    made = ex.design(
        prior,
        0.4,
        ex.mutual_information,
        notion=ex.LIP.above(low),
        method="column-generation",
        tolerance=1e-9,
    )
    assert made.value == pytest.approx(listed.value, rel=1e-8)
    assert ex.measures.lip_epsilon(prior, made.mechanism) <= 0.4 + 1e-11


def test_the_tradeoff_never_falls_and_beats_randomized_response() -> None:
    prior = ex.Prior([0.3, 0.25, 0.2, 0.15, 0.1])
    curve = ex.tradeoff(prior, np.linspace(0, 2.4, 13), ex.mutual_information)
    assert np.all(np.diff(curve.optimal) >= 0)
    assert np.all(curve.optimal <= curve.upper_bound)
    assert np.all(curve.optimal >= curve.randomized_response - 1e-12)
    assert curve.optimal[-1] == pytest.approx(curve.ceiling)


def test_an_interrupt_leaves_the_best_so_far_with_a_valid_bound() -> None:
    prior = ex.Prior(np.random.default_rng(1).dirichlet(np.ones(16)))

    def stop(value: float, upper: float) -> None:
        raise KeyboardInterrupt

    design = ex.design(prior, 0.7, ex.mutual_information, progress=stop)
    best = ex.design(prior, 0.7, ex.mutual_information, method="enumeration")
    assert design.stats.interrupted
    assert "interrupted" in str(design)
    assert design.value <= best.upper_bound * (1 + 1e-12)
    assert design.upper_bound >= best.value * (1 - 1e-12)
    assert not design.proven


def test_the_uniform_prior_at_500_symbols() -> None:
    prior = ex.Prior.uniform(500)
    closed = ex.design(prior, 0.7, ex.mutual_information)
    made = ex.design(prior, 0.7, ex.mutual_information, method="column-generation")
    assert closed.method == "uniform"
    assert made.value == pytest.approx(closed.value, rel=1e-6)
    assert made.proven


def test_the_arc_at_100_000_symbols_needs_no_matrix() -> None:
    weights = 1 / np.arange(1, 100_001)
    design = ex.design(ex.Prior(weights / weights.sum()), 1.0, ex.mutual_information, method="arc")
    assert 0.97 < design.value <= design.upper_bound <= 1 + 1e-9
    with pytest.raises(ex.errors.SizeError, match="matrix"):
        _ = design.mechanism


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_1000_symbols_are_certified(epsilon: float) -> None:
    rng = np.random.default_rng(11)
    prior = ex.Prior(rng.dirichlet(np.ones(1000)))
    design = ex.design(prior, epsilon, ex.mutual_information, time_limit=math.inf)
    assert design.gap <= 1e-4
    keeps_its_promises(design)
