"""Noise added to numbers, against fine grids, simulation and closed forms."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import laplace, norm

import extremal as ex
from tests.support.wording import refused

PRIOR = ex.Prior({0: 0.35, 1: 0.05, 2: 0.3, 5: 0.2, 9: 0.1})
KINDS = {
    "laplace": ex.noise.laplace(2.0),
    "gaussian": ex.noise.gaussian(3.0),
    "clamped laplace": ex.noise.laplace(1.5, (1, 7)),
    "clamped gaussian": ex.noise.gaussian(2.0, (-1, 9)),
    "resampled laplace": ex.noise.laplace(3.0, (-2, 8), "resample"),
    "resampled gaussian": ex.noise.gaussian(2.0, (0, 10), "resample"),
}


def below(noise, distance):
    """P(noise <= distance)."""
    family = norm if noise.family == "gaussian" else laplace
    return family.cdf(np.asarray(distance), scale=noise.scale)


def on_a_grid(noise, cells=10_000):
    """The mechanism that tells in which small cell the report fell; clamped ends are cells of their own."""
    values = np.array(PRIOR.labels, float)[:, None]
    low, high = noise.bounds or (-15.0, 25.0)
    reached = below(noise, np.linspace(low, high, cells + 1)[None, :] - values)
    inner = np.diff(reached, axis=1)
    if noise.outside == "resample":
        return ex.Mechanism(inner / inner.sum(axis=1, keepdims=True), PRIOR.labels)
    matrix = np.hstack([reached[:, :1], inner, below(noise, values - high)])
    return ex.Mechanism(matrix / matrix.sum(axis=1, keepdims=True), PRIOR.labels)


@pytest.mark.parametrize("kind", KINDS)
def test_worst_case_tail_and_envelope_are_those_of_a_fine_grid(kind):
    audit, grid = ex.noise.audit(PRIOR, KINDS[kind]), on_a_grid(KINDS[kind])
    spread = ex.measures.leakage_distribution(PRIOR, grid)
    envelope = ex.measures.envelope(PRIOR, grid)
    if kind != "gaussian":  # of which the worst case is a limit
        assert audit.epsilon == pytest.approx(ex.epsilon_pml(PRIOR, grid), abs=2e-3)
    for delta in (0.02, 0.1, 0.6):
        assert audit.envelope(delta) == pytest.approx(envelope(delta), abs=1e-4)
    for level in (0.3, 0.6, 0.9):
        assert audit.tail(level * audit.epsilon) == pytest.approx(
            spread.tail(level * audit.epsilon), abs=2e-3
        )
    assert audit.tail(audit.epsilon) == 0
    assert audit.envelope(1) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_leakage_of_a_report_is_the_largest_lift_of_its_density(kind):
    noise, pi = KINDS[kind], PRIOR.probabilities
    values, audit, h = np.array(PRIOR.labels, float), ex.noise.audit(PRIOR, KINDS[kind]), 1e-5
    low, high = noise.bounds or (-math.inf, math.inf)
    inside = below(noise, high - values) - below(noise, low - values) if noise.outside == "resample" else 1.0
    for y in (1.21, 3.14, 4.9, 6.6):
        density = (below(noise, y + h - values) - below(noise, y - h - values)) / inside
        assert audit.leakage(y) == pytest.approx(math.log(max(density) / (pi @ density)), abs=1e-6)
        assert audit.leakage(y) <= audit.epsilon + 1e-12


def test_of_two_values_with_laplace_noise_the_formula_is_known():
    prior, scale = ex.Prior({0: 0.3, 4: 0.7}), 2.5
    audit = ex.noise.audit(prior, ex.noise.laplace(scale))
    assert audit.epsilon == pytest.approx(-math.log(0.3 + 0.7 * math.exp(-4 / scale)), abs=1e-12)
    assert audit.epsilon == pytest.approx(ex.measures.record_leakage(4 / scale, 0.3), abs=1e-12)
    # At least half of all reports about 0 lie at 0 or below and leak the most.
    assert audit.tail(audit.epsilon - 1e-9) == pytest.approx(
        0.3 / 2 + 0.7 * math.exp(-4 / scale) / 2, abs=1e-9
    )


def test_gaussian_noise_without_bounds_can_give_the_rarer_end_away():
    audit = ex.noise.audit(PRIOR, ex.noise.gaussian(100.0))
    assert audit.epsilon == pytest.approx(-math.log(0.1), abs=1e-12)
    assert audit.envelope(0.01) < 0.5


@given(st.floats(0.2, 20), st.integers(0, 1000))
@settings(max_examples=20)
def test_geometric_noise_is_a_finite_mechanism(scale, seed):
    prior = ex.Prior(dict(zip((-2, 0, 1, 4), np.random.default_rng(seed).dirichlet(np.ones(4)), strict=True)))
    mechanism = ex.noise.geometric(prior, scale)
    k = np.arange(-3000, 3000)
    mass = np.exp(-np.abs(k) / scale)
    mass /= mass.sum()
    for row, value in zip(mechanism.matrix, prior.labels, strict=True):
        clamped = np.clip(k + value, -2, 4)
        np.testing.assert_allclose(row, [mass[clamped == y].sum() for y in range(-2, 5)], atol=1e-12)
    ratio = math.exp(-1 / scale)  # beyond the values, every report has the lifts of the end
    far = ratio ** np.abs(4 - np.array(prior.labels))
    assert ex.pml(prior, mechanism)[-1] == pytest.approx(
        math.log(far.max() / (prior.probabilities @ far)), abs=1e-9
    )


def test_the_best_mechanism_for_the_mean_is_better_at_the_same_leakage():
    audit = ex.noise.audit(PRIOR, ex.noise.laplace(4.0))
    best = ex.design(PRIOR, audit.epsilon, ex.mean([float(x) for x in PRIOR.labels]))
    assert best.value > audit.efficiency
    assert "efficiency" in str(audit)


def test_a_record_of_a_database_leaks_at_most_what_randomized_response_about_it_does():
    for alpha in (0.01, 0.2, 0.5):
        for level in (0.1, 1.0, 5.0):
            prior = ex.Prior([alpha, 1 - alpha])
            keep = 1 / (1 + math.exp(-level))
            flip = ex.Mechanism([[keep, 1 - keep], [1 - keep, keep]])
            assert ex.measures.ldp_epsilon(flip) == pytest.approx(level)
            assert ex.epsilon_pml(prior, flip) == pytest.approx(
                ex.measures.record_leakage(level, alpha), abs=1e-12
            )
    generator = np.random.default_rng(3)
    for _ in range(50):
        prior = ex.Prior(generator.dirichlet(np.ones(3)))
        mechanism = ex.Mechanism(generator.dirichlet(np.ones(4), 3))
        bound = ex.measures.record_leakage(ex.measures.ldp_epsilon(mechanism), prior.probabilities.min())
        assert ex.epsilon_pml(prior, mechanism) <= bound + 1e-12


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ex.noise.laplace(0), "scale"),
        (lambda: ex.noise.gaussian(1.0, (3, 1)), "bounds"),
        (lambda: ex.noise.laplace(1.0, (0, 1), "wrap"), "outside"),
        (lambda: ex.noise.audit(ex.Prior({"a": 0.5, "b": 0.5}), ex.noise.laplace(1.0)), "'a'"),
        (lambda: ex.noise.audit(PRIOR, 3), "noise"),
        (lambda: ex.noise.geometric(ex.Prior({0: 0.5, 0.5: 0.5}), 1.0), "0, 0.5"),
        (lambda: ex.noise.audit(PRIOR, KINDS["clamped laplace"]).leakage(8), "report"),
        (lambda: ex.noise.audit(PRIOR, KINDS["laplace"]).envelope(0), "delta"),
        (lambda: ex.measures.record_leakage(-1, 0.1), "dp_epsilon"),
        (lambda: ex.measures.record_leakage(1, 1.1), "least"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with refused(ex.errors.ExtremalError, message):
        make()


@pytest.mark.parametrize("outside", ["clamp", "resample"])
@pytest.mark.parametrize("make", [ex.noise.gaussian, ex.noise.laplace])
@pytest.mark.parametrize("far", [40.0, pytest.param(200.0, marks=pytest.mark.slow), 3e4])
def test_bounds_that_hardly_any_report_passes_are_audited(make, outside, far):
    """The rarer end tells the two values apart by P(noise <= -far) / P(noise <= -far - 1), or nearly for certain."""
    audit = ex.noise.audit(ex.Prior({0: 0.5, 1: 0.5}), make(1.0, (-far, far), outside))
    assert str(audit)
    ratio = math.exp(-1) if make is ex.noise.laplace else math.exp(-far - 0.5)
    assert audit.epsilon == pytest.approx(math.log(2 / (1 + ratio)), abs=1e-9)
    assert audit.tail(audit.epsilon) == 0
    # All but e^-800 of the reports are inside, where they tell what they tell without bounds.
    free = ex.noise.audit(ex.Prior({0: 0.5, 1: 0.5}), make(1.0))
    for delta in (0.01, 0.3):
        assert audit.envelope(delta) == pytest.approx(free.envelope(delta), abs=1e-9)


def figures(audit):
    return audit.epsilon, audit.envelope(0.1), audit.tail(0.3), audit.efficiency


@functools.cache
def in_units(kind):
    """The figures as they are."""
    return figures(ex.noise.audit(PRIOR, KINDS[kind]))


@pytest.mark.parametrize(
    "unit", [1e-300, 1e290, *(pytest.param(x, marks=pytest.mark.slow) for x in (1e-150, 1e-9, 1e9, 1e150))]
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_unit_of_the_numbers_does_not_matter(kind, unit):
    noise = KINDS[kind]
    bounds = noise.bounds and tuple(end * unit for end in noise.bounds)
    scaled = ex.noise.Noise(noise.family, noise.scale * unit, bounds, noise.outside)
    other = ex.noise.audit(ex.Prior(PRIOR.probabilities, [x * unit for x in PRIOR.labels]), scaled)
    assert figures(other) == pytest.approx(in_units(kind), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-120, 1e-300])
def test_noise_that_is_no_noise_is_refused(scale):
    with refused(ex.errors.OptionError, "scale"):
        ex.noise.audit(ex.Prior({0: 0.5, 1: 0.5}), ex.noise.gaussian(scale))
