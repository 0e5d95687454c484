"""What is expected before a collection is what collections then give."""

import numpy as np
import pytest

import extremal as ex
from tests.support.wording import refused

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
RESPONSE = ex.theory.randomized_response_for_pml(PRIOR, 0.6)


def test_expected_standard_errors_are_those_of_randomized_response_in_closed_form():
    """theta_i = (q_i - b) / (a - b), so its variance is q_i (1 - q_i) / n / (a - b)^2."""
    a, b = RESPONSE.matrix[0, 0], RESPONSE.matrix[0, 1]
    q = PRIOR.probabilities * (a - b) + b
    found = ex.planning.expected_error(PRIOR, RESPONSE, 5000)
    assert found.standard_errors == pytest.approx(np.sqrt(q * (1 - q) / 5000) / (a - b), rel=1e-9)
    assert found.root_mean_square == pytest.approx(np.sqrt(np.mean(found.standard_errors**2)))


def test_errors_and_widths_shrink_with_the_root_of_the_number_of_reports():
    few, many = (ex.planning.expected_error(PRIOR, RESPONSE, n) for n in (10**5, 4 * 10**5))
    assert few.standard_errors == pytest.approx(2 * many.standard_errors)
    assert few.widths == pytest.approx(2 * many.widths, rel=0.01)


@pytest.mark.parametrize(
    "mechanism",
    [RESPONSE, ex.design(PRIOR, 0.6, ex.mutual_information).mechanism],
    ids=["response", "design"],
)
def test_that_many_reports_give_intervals_of_the_wanted_width(mechanism):
    n = ex.planning.sample_size(PRIOR, mechanism, 0.1)
    assert ex.planning.expected_error(PRIOR, mechanism, n).width <= 0.1
    assert ex.planning.expected_error(PRIOR, mechanism, int(0.995 * n)).width > 0.1
    rng = np.random.default_rng(0)
    q = PRIOR.probabilities @ mechanism.matrix
    widths = []
    for _ in range(20):
        e = ex.estimate(
            mechanism,
            dict(zip(mechanism.outputs, rng.multinomial(n, q).tolist(), strict=True)),
            method=ex.Method(prior=PRIOR),
        )
        widths.append((e.upper - e.lower).max())
    assert np.mean(widths) == pytest.approx(0.1, rel=0.03)


def test_more_confidence_and_less_width_take_more_reports():
    sizes = [ex.planning.sample_size(PRIOR, RESPONSE, w, c) for w, c in ((0.2, 0.9), (0.1, 0.9), (0.1, 0.99))]
    assert sizes == sorted(set(sizes))


def test_a_width_that_cannot_be_reached_is_refused_with_what_can_be():
    twins = ex.Mechanism([[0.9, 0.1], [0.9, 0.1], [0.0, 1.0]], inputs=PRIOR.labels)
    with pytest.raises(
        ex.errors.MechanismError, match=r"\['never', 'once'\] intervals stay up to 0\.[78]\d* wide"
    ):
        ex.planning.sample_size(PRIOR, twins, 0.1)
    assert not np.isfinite(ex.planning.expected_error(PRIOR, twins, 100).standard_errors[:2]).any()
    with pytest.raises(ex.errors.MechanismError, match="too noisy"):
        ex.planning.sample_size(PRIOR, ex.theory.randomized_response(PRIOR, 1e-5), 0.01)


def test_optimal_and_randomized_response_are_compared_at_equal_leakage():
    """The design for shares needs several times fewer reports; one for another utility may not tell answers apart."""
    found = ex.planning.compare_sample_sizes(PRIOR, 0.15, 0.05)
    assert found.optimal == ex.planning.sample_size(PRIOR, ex.design(PRIOR, 0.15).mechanism, 0.05)
    response = ex.theory.randomized_response_for_pml(PRIOR, 0.15)
    assert found.randomized_response == ex.planning.sample_size(PRIOR, response, 0.05)
    assert found.saving > 2
    assert "optimal mechanism:" in str(found)
    dominant = ex.Prior([0.9, 0.05, 0.05])
    assert ex.planning.compare_sample_sizes(dominant, 0.5, 0.05).saving > 1
    other = ex.planning.compare_sample_sizes(dominant, 0.5, 0.05, utility=ex.mutual_information)
    assert other.optimal is None


@pytest.mark.parametrize("n", [0, -3, 2.5, True, "9"])
def test_a_number_of_reports_must_be_whole_and_positive(n):
    with refused(ex.errors.OptionError, "n"):
        ex.planning.expected_error(PRIOR, RESPONSE, n)


@pytest.mark.parametrize("width", [0, 1, -0.1, float("nan"), "wide"])
def test_a_width_must_lie_between_0_and_1(width):
    with refused(ex.errors.OptionError, "width"):
        ex.planning.sample_size(PRIOR, RESPONSE, width)


def test_more_reports_than_can_be_counted_are_refused():
    prior = ex.Prior([0.5, 0.5])
    with refused(ex.errors.OptionError, "n"):
        ex.planning.expected_error(prior, ex.theory.randomized_response_for_pml(prior, 0.3), 10**400)
