"""What is computed before and after a release never raises the leakage."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from tests.support.compositions import PRIOR
from tests.support.strategies import mechanisms, pairs, priors


@given(pairs(), st.data())
def test_post_processing_never_raises_the_leakage(pair, data):
    """l(X→z) <= max of l(X→y) over the y that z is made from."""
    prior, mechanism = pair
    step = data.draw(mechanisms(mechanism.shape[1]))
    after = ex.pml(prior, ex.theory.postprocess(mechanism, step))
    before = ex.pml(prior, mechanism)
    for k, leakage in enumerate(after):
        sources = before[step.matrix[:, k] > 0]
        assert leakage <= (sources.max() if len(sources) else 0) + 1e-11


@given(pairs(), st.data())
def test_merging_reports_never_raises_the_leakage(pair, data):
    prior, mechanism = pair
    merged = data.draw(st.lists(st.integers(0, 2), min_size=mechanism.shape[1], max_size=mechanism.shape[1]))
    after = ex.theory.postprocess(mechanism, dict(enumerate(merged)))
    assert after.outputs == tuple(dict.fromkeys(merged))
    assert ex.epsilon_pml(prior, after) <= ex.epsilon_pml(prior, mechanism) + 1e-11


@given(priors(max_size=5), st.data())
def test_pre_processing_leaks_no_more_about_x_than_about_what_is_made_of_it(prior, data):
    channel = data.draw(mechanisms(prior.size, min_outputs=2, max_outputs=4))
    mechanism = data.draw(mechanisms(channel.shape[1], max_outputs=4))
    if np.count_nonzero(channel.matrix.max(axis=0)) < 2:
        return
    made, whole = ex.theory.preprocess(prior, channel, mechanism)
    about_x = ex.pml(prior, whole)
    about_z = ex.pml(made, ex.theory.restrict(mechanism, made.labels))
    assert np.all(about_x <= about_z + 1e-11)


def test_a_coarser_answer_is_designed_for_and_keeps_its_level():
    def coarse(x):
        return "ever" if x != "never" else "never"

    made = ex.theory.induced_prior(PRIOR, coarse)
    assert dict(zip(made.labels, made.probabilities.tolist(), strict=True)) == {"never": 0.5, "ever": 0.5}
    mechanism = ex.design(made, 0.4, ex.mutual_information).mechanism
    same, whole = ex.theory.preprocess(PRIOR, coarse, mechanism)
    assert same == made
    assert whole.inputs == PRIOR.labels
    assert ex.epsilon_pml(PRIOR, whole) <= 0.4 + 1e-12
    # The order in which values happen to appear does not matter.
    swapped = ex.Prior({"ever": 0.5, "never": 0.5})
    _, other = ex.theory.preprocess(PRIOR, coarse, ex.design(swapped, 0.4, ex.mutual_information).mechanism)
    np.testing.assert_allclose(other.matrix.sum(axis=1), 1)
    assert ex.epsilon_pml(PRIOR, other) <= 0.4 + 1e-12


def test_post_processing_by_function_merges_equal_values():
    mechanism = ex.theory.randomized_response(PRIOR, 1.0)
    merged = ex.theory.postprocess(mechanism, lambda y: y == "never")
    assert merged.outputs == (True, False)
    assert merged.inputs == PRIOR.labels
