"""Sub-convex utilities (Definition 4): values, sub-linearity, and the check that refuses others."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.errors import UtilityError
from tests.support import oracles
from tests.support.strategies import pairs, priors, stochastic

INFORMATIONS = [
    ex.mutual_information,
    ex.utilities.total_variation,
    ex.utilities.chi_squared,
    ex.utilities.hellinger,
    ex.utilities.jensen_shannon,
]


def joint_and_product(prior, mechanism):
    joint = prior.probabilities[:, None] * mechanism.matrix
    return joint, prior.probabilities[:, None] * joint.sum(axis=0)


@given(pairs())
def test_f_informations_are_divergences_of_the_joint_from_the_product(pair):
    prior, mechanism = pair
    p, q = joint_and_product(prior, mechanism)
    middle = (p + q) / 2

    def kl(a, b):
        return sum(x * math.log(x / y) for x, y in zip(a.flat, b.flat, strict=True) if x > 0)

    expected = {
        ex.mutual_information: kl(p, q),
        ex.utilities.total_variation: np.abs(p - q).sum() / 2,
        ex.utilities.chi_squared: ((p - q)[q > 0] ** 2 / q[q > 0]).sum(),
        ex.utilities.hellinger: 1 - np.sqrt(p * q).sum(),
        ex.utilities.jensen_shannon: (kl(p, middle) + kl(q, middle)) / 2,
    }
    for utility, value in expected.items():
        assert utility(prior, mechanism) == pytest.approx(value, rel=1e-12, abs=1e-13), utility


@pytest.mark.parametrize("utility", INFORMATIONS)
@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6])
def test_a_large_matrix_is_evaluated_in_parts_to_the_same_bits(utility, spread, monkeypatch):
    """Near 1, near 0, and both sides of where a formula gives way to a series."""
    rng = np.random.default_rng(7)
    prior = ex.Prior(rng.dirichlet(np.ones(60)))
    columns = 1 - spread * rng.random((60, 90))
    columns[rng.random((60, 90)) < 0.1 * spread] = 0.0
    whole = utility.columns(prior, columns)
    for size in (1, 91, 1000):
        monkeypatch.setattr("extremal.model.utility.LARGE", size)
        assert utility.columns(prior, columns).tobytes() == whole.tobytes()


@given(pairs())
def test_a_divergence_between_hypotheses_is_that_of_their_output_distributions(pair):
    prior, mechanism = pair
    n = prior.size
    p0, p1 = np.arange(1, n + 1) / (n * (n + 1) / 2), np.full(n, 1 / n)
    q0, q1 = p0 @ mechanism.matrix, p1 @ mechanism.matrix
    kl = ex.FDivergence(lambda t: t * np.log(np.where(t > 0, t, 1)), p0, p1)
    expected = sum(a * math.log(a / b) for a, b in zip(q0, q1, strict=True) if a > 0)
    assert kl(prior, mechanism) == pytest.approx(expected, abs=1e-13)
    tv = ex.FDivergence(lambda t: np.abs(t - 1) / 2, p0, p1)
    assert tv(prior, mechanism) == pytest.approx(np.abs(q0 - q1).sum() / 2, abs=1e-14)


def test_a_divergence_between_points_uses_the_growth_of_f():
    tv = ex.FDivergence(lambda t: np.abs(t - 1) / 2, [1, 0], [0, 1], growth=0.5)
    prior = ex.Prior([0.5, 0.5])
    assert tv(prior, ex.Mechanism(np.eye(2))) == 1
    assert tv(prior, ex.Mechanism([[0.75, 0.25], [0.25, 0.75]])) == 0.5
    assert tv(prior, ex.Mechanism([[0, 1, 0], [0, 0, 1]])) == 1


@given(pairs())
def test_the_expected_gain_is_that_of_the_best_decision_for_each_output(pair):
    prior, mechanism = pair
    gain = np.cos(np.arange(4 * prior.size)).reshape(4, prior.size)
    best = sum(
        max(
            sum(prior.probabilities[x] * mechanism.matrix[x, y] * gain[w, x] for x in range(prior.size))
            for w in range(4)
        )
        for y in range(mechanism.shape[1])
    )
    assert ex.ExpectedGain(gain)(prior, mechanism) == pytest.approx(best, abs=1e-14)


@given(priors(), st.data(), st.floats(1e-6, 1e6))
def test_every_utility_is_homogeneous_and_sub_additive(prior, data, s):
    x, y = (data.draw(stochastic(prior.size, 1)) + 1 for _ in range(2))
    x, y = (np.vstack((z[:-1], data.draw(st.floats(0, 9)) * z[-1:])) for z in (x, y))  # down to 1e-308
    for utility in oracles.every_utility(prior.size):
        of_x, of_y, of_sum, of_sx = (utility.columns(prior, z)[0] for z in (x, y, x + y, s * x))
        assert of_sx == pytest.approx(s * of_x, rel=1e-9, abs=1e-12 * s), utility
        assert of_sum <= of_x + of_y + 1e-12 * (1 + abs(of_x) + abs(of_y)), utility


@given(pairs())
def test_utilities_of_nothing_are_zero_and_of_everything_largest(pair):
    prior, mechanism = pair
    nothing, everything = ex.Mechanism(np.ones((prior.size, 1))), ex.Mechanism(np.eye(prior.size))
    for utility in INFORMATIONS:
        assert utility(prior, nothing) == pytest.approx(0, abs=1e-15)
        assert utility(prior, mechanism) <= utility(prior, everything) + 1e-12
        assert utility(prior, mechanism) >= -1e-15
    assert ex.mutual_information(prior, everything) == pytest.approx(prior.entropy, abs=1e-14)


@given(pairs(), st.data())
def test_post_processing_gains_nothing(pair, data):
    prior, mechanism = pair
    after = mechanism.then(ex.Mechanism(data.draw(stochastic(mechanism.shape[1], 3))))
    for utility in oracles.every_utility(prior.size):
        assert utility(prior, after) <= utility(prior, mechanism) + 1e-12, utility


@pytest.mark.parametrize("n", [2, 3, 6, 50])
def test_the_check_accepts_every_sub_linear_utility(n):
    for prior in (ex.Prior.uniform(n), ex.Prior.from_counts(np.arange(1, n + 1) ** 3)):
        for utility in oracles.every_utility(n):
            ex.utilities.check_sub_linear(prior, utility)


@pytest.mark.parametrize("size", [1e-200, 1e-12, 1.0, 1e12, 1e200])
@pytest.mark.parametrize(
    ("mu", "broken"),
    [
        (lambda prior, P: (P**2).sum(axis=0), "but mu("),
        (lambda prior, P: np.sqrt(P.sum(axis=0)), "but mu("),
        (lambda prior, P: P.sum(axis=0) + 1, "but mu("),
        (lambda prior, P: np.ones(P.shape[1]), "but mu("),
        (lambda prior, P: P.min(axis=0), "mu(x + y) = "),
        (lambda prior, P: -P.max(axis=0), "mu(x + y) = "),
        (lambda prior, P: np.sqrt(P).sum(axis=0) ** 2, "mu(x + y) = "),
        (lambda prior, P: np.sqrt(P[0] * P[1]), "mu(x + y) = "),
    ],
)
def test_the_check_refuses_what_is_not_sub_linear_whatever_its_scale(mu, broken, size):
    utility = ex.Utility(lambda prior, P: size * mu(prior, P), "mine")
    with pytest.raises(UtilityError) as caught:
        ex.utilities.check_sub_linear(ex.Prior([0.5, 0.3, 0.2]), utility)
    assert broken in caught.value.given


def test_the_columns_in_the_message_show_the_failure():
    prior = ex.Prior([0.5, 0.3, 0.2])
    utility = ex.Utility(lambda prior, P: P.min(axis=0), "smallest")
    with pytest.raises(UtilityError) as caught:
        ex.utilities.check_sub_linear(prior, utility)
    message = str(caught.value)
    x = np.array([float(v) for v in message.split("x = [")[1].split("]")[0].split(",")])
    y = np.array([float(v) for v in message.split("y = [")[1].split("]")[0].split(",")])
    assert min(x + y) > min(x) + min(y)


def test_the_check_refuses_a_promise_of_symmetry_that_is_broken():
    utility = ex.Utility(lambda prior, P: P[0], "first", symmetric=True)
    with pytest.raises(UtilityError, match="symmetric"):
        ex.utilities.check_sub_linear(ex.Prior.uniform(3), utility)
    ex.utilities.check_sub_linear(ex.Prior([0.5, 0.3, 0.2]), utility)  # promised for uniform priors only


@pytest.mark.parametrize(
    "f",
    [
        lambda t: np.maximum(t - 1, 0),
        lambda t: np.maximum(t - 2, 0),
        lambda t: 1e-12 * (t - 1) ** 2,
        lambda t: 1e12 * (t**3 - t),
        lambda t: 1 - np.sqrt(t),
        lambda t: t - 1,
        lambda t: np.zeros_like(t),
    ],
)
def test_every_convex_f_is_accepted(f):
    assert ex.FInformation(f, name="mine").name == "mine"


def test_utilities_show_their_names():
    assert repr(ex.mutual_information) == "<utility mutual information>"
    assert ex.Utility(lambda prior, P: P[0], name="first").name == "first"
