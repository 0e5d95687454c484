"""Every number in the paper's text, and what the reading notes say is wrong in it.

"Note n" is the n-th point under "Where the text is wrong" in the notes.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import extremal as ex
from extremal.model.levels import region_edges
from extremal.theory import closed_form
from extremal.theory.majorization import majorizes
from tests.support import oracles

NOTES_PRIOR = ex.Prior([0.5, 0.3, 0.2])  # also that of Fig. 1b
THREE = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]


# Numbers


def test_example_1():
    prior = ex.Prior([2 / 5, 1 / 5, 1 / 5, 1 / 5])
    epsilon = math.log(9 / 8)
    expected = [
        [0.325, 0.225, 0.225, 0.225],
        [0.45, 0.1, 0.225, 0.225],
        [0.45, 0.225, 0.1, 0.225],
        [0.45, 0.225, 0.225, 0.1],
    ]
    mechanism = closed_form.high_privacy(prior, epsilon)
    assert prior.region(epsilon) == 1
    np.testing.assert_allclose(mechanism.matrix, expected, rtol=0, atol=1e-12)
    assert mechanism.same_up_to_columns(ex.Mechanism(expected), 1e-12)
    assert ex.epsilon_pml(prior, mechanism) == pytest.approx(epsilon, abs=1e-12)


def test_example_2():
    prior = ex.Prior.uniform(4)
    epsilon = math.log(3)
    expected = [[0.75, 0.25, 0, 0], [0, 0.75, 0.25, 0], [0, 0, 0.75, 0.25], [0.25, 0, 0, 0.75]]
    mechanism = closed_form.uniform(4, epsilon)
    assert prior.region(epsilon) == 3
    assert prior.region_edges[2] <= epsilon < prior.region_edges[3]
    assert mechanism.same_up_to_columns(ex.Mechanism(expected), 1e-12)
    assert ex.epsilon_pml(prior, mechanism) == pytest.approx(epsilon, abs=1e-12)


def test_example_3_its_vectors_where_they_are_feasible():
    """Region 2 of three symbols: r_i(j) = (1 - e^epsilon P(x_j)) / P(x_i) beside one e^epsilon and one 0."""
    epsilon = math.log(1.6)
    assert NOTES_PRIOR.region(epsilon) == 2
    c, p = math.exp(epsilon), NOTES_PRIOR.probabilities
    V = ex.theory.extremal_lift_vectors(NOTES_PRIOR, epsilon)
    expected = []
    for i, j in itertools.permutations(range(3), 2):  # e^epsilon at j, r_i(j) at i
        vector = np.zeros(3)
        vector[j], vector[i] = c, (1 - c * p[j]) / p[i]
        if 0 <= vector[i] <= c:
            expected.append(vector)
    for left in range(3):  # e^epsilon twice, the rest at `left`
        vector = np.full(3, c)
        vector[left] = (1 - c * (1 - p[left])) / p[left]
        if 0 <= vector[left] <= c:
            expected.append(vector)
    assert len(V) == len(expected)
    apart = np.abs(V[:, None] - np.array(expected)[None]).max(axis=2)
    assert apart.min(axis=1).max() <= 1e-12
    assert apart.min(axis=0).max() <= 1e-12


def test_the_transition_of_figure_1a_is_at_log_three_halves():
    edges = ex.Prior.uniform(3).region_edges
    assert edges[1] == pytest.approx(math.log(1.5), abs=1e-12)
    assert ex.Prior.uniform(3).region(math.log(1.5)) == 2


def test_the_ends_of_figure_1():
    assert ex.Prior.uniform(3).epsilon_max == pytest.approx(math.log(3), abs=1e-12)
    assert NOTES_PRIOR.epsilon_max == pytest.approx(math.log(5), abs=1e-12)
    assert ex.Prior.uniform(3).entropy == pytest.approx(math.log(3), abs=1e-12)
    assert NOTES_PRIOR.entropy == pytest.approx(1.0296530140645737, abs=1e-12)


def test_the_settings_of_figures_2_and_3():
    assert ex.Prior([0.55, 0.45]).epsilon_max == pytest.approx(-math.log(0.45), abs=1e-12)
    assert ex.Prior([0.3, 0.2, 0.2, 0.2, 0.1]).region_edges[1] == pytest.approx(-math.log(0.9), abs=1e-12)


@pytest.mark.parametrize(
    ("p", "columns"),
    [
        (0.5, [[0.75, 0.25], [0.25, 0.75]]),
        (0.8, [[5 / 12, 0], [7 / 12, 1]]),
    ],
)
def test_the_optimal_points_of_figure_4(p, columns):
    """epsilon = log 1.5: no box constraint is active at 0.5, one is at 0.8."""
    mechanism = closed_form.binary(ex.Prior([p, 1 - p]), math.log(1.5))
    assert mechanism.same_up_to_columns(ex.Mechanism(np.array(columns).T), 1e-12)
    assert (p * 1.5 >= 1) == (mechanism.matrix.min() == 0)


def test_the_example_of_majorization():
    assert majorizes([2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("n", [2, 3, 4, 10])
def test_the_cost_of_privacy_is_log_n_at_zero_and_nothing_at_epsilon_max(n):
    """After Corollary 1."""
    assert closed_form.uniform_mutual_information(n, 0) == pytest.approx(0, abs=1e-12)
    assert closed_form.uniform_mutual_information(n, math.log(n)) == pytest.approx(math.log(n), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0, 0.1, 0.5, math.log(2)])
def test_for_a_uniform_binary_prior_randomized_response_is_optimal(epsilon):
    """The footnote to the numerical results."""
    prior = ex.Prior([0.5, 0.5])
    optimal = closed_form.binary(prior, epsilon)
    assert ex.theory.randomized_response_for_pml(prior, epsilon).same_up_to_columns(optimal, 1e-12)


def test_randomized_response_leaks_nothing_of_a_near_certain_symbol_and_epsilon_r_of_the_others():
    prior = ex.Prior([1 - 2e-9, 1e-9, 1e-9])
    np.testing.assert_allclose(ex.theory.randomized_response_pml(prior, 1.0), [0, 1, 1], atol=1e-8)


def test_every_mechanism_satisfies_epsilon_max():
    assert ex.epsilon_pml(NOTES_PRIOR, ex.Mechanism(np.eye(3))) == pytest.approx(math.log(5), abs=1e-12)


# What is wrong, incomplete or easy to trip over


def program_is_feasible(pi, c, k):
    V = np.array([[float(x) for x in v] for v in oracles.algorithm_1(pi, c, k)]).reshape(-1, len(pi))
    if len(V) == 0:
        return False
    return linprog(np.zeros(len(V)), A_eq=V.T, b_eq=np.ones(len(pi)), method="highs").status == 0


def test_note_1_the_last_region_is_missing_and_with_k_equal_n_the_program_is_feasible_there():
    c = Fraction(3)
    assert NOTES_PRIOR.region(math.log(3)) == 3
    assert not program_is_feasible(THREE, c, 2)
    assert program_is_feasible(THREE, c, 3)
    V = ex.theory.extremal_lift_vectors(NOTES_PRIOR, math.log(3))
    assert (np.count_nonzero(V, axis=1) == 1).any()
    assert linprog(np.zeros(len(V)), A_eq=V.T, b_eq=np.ones(3), method="highs").status == 0


def test_note_1_for_two_symbols_the_second_case_of_theorem_2_is_that_region():
    prior = ex.Prior([0.8, 0.2])
    edge = -math.log(0.8)
    assert prior.region(edge + 1e-9) == prior.region(edge) == 2 == prior.size
    assert closed_form.binary(prior, edge + 1e-9).matrix.min() == 0
    assert closed_form.binary(prior, edge - 1e-9).matrix.min() > 0


@pytest.mark.parametrize("epsilon", [0.1, 0.3, math.log(2), math.log(3), math.log(4.5)])
def test_note_2_theorem_5_needs_no_symmetry(epsilon):
    vertices = ex.theory.polytope_vertices(NOTES_PRIOR, epsilon)
    for utility in oracles.asymmetric(3):
        best = oracles.polytope_optimum(NOTES_PRIOR, vertices, utility)
        assert oracles.is_optimal(NOTES_PRIOR, epsilon, utility, best), utility


def test_note_2_theorem_4_does_need_it():
    prior, epsilon = ex.Prior.uniform(3), math.log(2)
    lopsided = ex.ExpectedGain([[3, 0, 0], [0, 1, 1]])
    best = oracles.optimum(prior, 2.0, lopsided)
    assert lopsided(prior, closed_form.uniform(3, epsilon)) < best - 0.01


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_note_3_the_count_of_remark_2_is_not_attained_for_the_uniform_prior_beyond_the_first_region(n):
    for k in range(1, n):
        epsilon = math.log(n / (n - k + 0.5))
        assert ex.Prior.uniform(n).region(epsilon) == k
        count = len(ex.theory.extremal_lift_vectors(ex.Prior.uniform(n), epsilon))
        bound = sum((n - l + 1) * math.comb(n, l - 1) for l in range(1, k + 1))
        assert count == (n - k + 1) * math.comb(n, k - 1)
        assert (count == bound) == (k == 1)


def test_note_3_the_vector_with_two_extremal_elements_and_r_3_3_of_example_3_is_infeasible_in_region_2():
    p = NOTES_PRIOR.probabilities
    edges = NOTES_PRIOR.region_edges
    for epsilon in np.linspace(edges[1], edges[2], 50)[1:]:
        assert (1 - math.exp(epsilon) * (1 - p[2])) / p[2] < 0
    assert (1 - math.exp(edges[1]) * (1 - p[2])) / p[2] == pytest.approx(0, abs=1e-12)


def test_note_4_algorithm_1_repeats_vertices_at_an_edge_and_the_library_does_not():
    c = Fraction(5, 4)  # e^epsilon_1 of the prior
    paper = oracles.algorithm_1(THREE, c, 2)
    assert len(paper) > len(set(paper))
    assert len(ex.theory.extremal_lift_vectors(NOTES_PRIOR, math.log(5 / 4))) == len(set(paper))


def test_note_4_also_where_subsets_of_the_prior_have_equal_sums():
    pi = [Fraction(4, 10), Fraction(3, 10), Fraction(2, 10), Fraction(1, 10)]
    c = Fraction(2)  # 0.4 + 0.1 and 0.3 + 0.2 both fill 1/2
    paper = oracles.algorithm_1(pi, c, 4)
    assert len(paper) > len(set(paper))
    assert len(ex.theory.extremal_lift_vectors(ex.Prior([0.4, 0.3, 0.2, 0.1]), math.log(2))) == len(
        set(paper)
    )


def test_note_6_the_output_of_randomized_response_follows_the_prior_only_if_it_is_uniform():
    uniform = ex.Prior.uniform(3)
    for prior, same in ((uniform, True), (NOTES_PRIOR, False)):
        mechanism = ex.theory.randomized_response(prior, 1.0)
        assert np.allclose(mechanism.output_distribution(prior), prior.probabilities) == same
        np.testing.assert_allclose(
            ex.theory.randomized_response_pml(prior, 1.0), ex.pml(prior, mechanism), atol=1e-12
        )


def test_note_7_symbols_keep_the_users_order_and_labels():
    shuffled = ex.Prior({"c": 0.2, "a": 0.5, "b": 0.3})
    epsilon = 0.2
    mechanism = closed_form.high_privacy(shuffled, epsilon)
    sorted_one = closed_form.high_privacy(NOTES_PRIOR, epsilon)
    assert mechanism.inputs == ("c", "a", "b")
    np.testing.assert_allclose(mechanism.matrix, sorted_one.matrix[np.ix_([2, 0, 1], [2, 0, 1])], atol=1e-12)
    np.testing.assert_array_equal(region_edges([0.2, 0.5, 0.3]), NOTES_PRIOR.region_edges)


def test_note_8_the_matrix_of_example_2_is_a_column_permutation_of_theorem_4():
    printed = ex.Mechanism([[0.75, 0.25, 0, 0], [0, 0.75, 0.25, 0], [0, 0, 0.75, 0.25], [0.25, 0, 0, 0.75]])
    formula = closed_form.uniform(4, math.log(3))
    assert np.abs(formula.matrix - printed.matrix).max() > 0.1
    assert formula.same_up_to_columns(printed, 1e-12)
    paired = ex.theory.pair_outputs(ex.Prior.uniform(4), formula)
    np.testing.assert_allclose(np.diag(paired.matrix), 0.75, atol=1e-12)


def test_note_9_correlation_depends_on_the_order_of_columns_and_pairing_chooses_one():
    prior = ex.Prior([0.55, 0.45])
    mechanism = closed_form.binary(prior, 0.3)

    def correlation(m):
        joint = prior.probabilities[:, None] * m.matrix
        x, y = np.meshgrid(np.arange(2), np.arange(2), indexing="ij")
        mean = lambda z: (joint * z).sum()  # noqa: E731
        return (mean(x * y) - mean(x) * mean(y)) / math.sqrt(
            (mean(x * x) - mean(x) ** 2) * (mean(y * y) - mean(y) ** 2)
        )

    paired = ex.theory.pair_outputs(prior, mechanism)
    flipped = ex.Mechanism(paired.matrix[:, ::-1])
    assert correlation(paired) == pytest.approx(-correlation(flipped), abs=1e-12)
    assert correlation(paired) > 0
    assert ex.mutual_information(prior, paired) == pytest.approx(
        ex.mutual_information(prior, flipped), abs=1e-12
    )


def test_note_10_leakages_of_two_releases_do_not_add():
    prior = ex.Prior.uniform(4)
    one = ex.Mechanism([[1, 0], [1, 0], [1, 0], [0, 1]], outputs=["123", "4"])
    other = ex.Mechanism([[0, 1], [0, 1], [1, 0], [1, 0]], outputs=["34", "12"])
    apart = ex.pml(prior, one)[0] + ex.pml(prior, other)[0]
    joint = one.compose(other)
    together = ex.pml(prior, joint)[joint.outputs.index(("123", "34"))]
    assert ex.pml(prior, one)[0] == pytest.approx(0.288, abs=5e-4)
    assert ex.pml(prior, other)[0] == pytest.approx(0.693, abs=5e-4)
    assert apart == pytest.approx(0.981, abs=5e-4)
    assert together == pytest.approx(1.386, abs=5e-4)
    assert together > apart


def test_note_10_they_do_when_the_second_uses_the_posterior_after_the_first():
    prior = ex.Prior.uniform(4)
    first = ex.Mechanism([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9]])
    second = ex.Mechanism([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1], [0.8, 0.2]])
    joint = first.compose(second)
    for y, z in joint.outputs:
        posterior = ex.Prior(ex.theory.adversary.posterior(prior, first, y))
        bound = ex.pml(prior, first)[y] + ex.pml(posterior, second)[z]
        assert ex.pml(prior, joint)[joint.outputs.index((y, z))] <= bound + 1e-12


def test_note_11_the_row_that_sums_the_output_distribution_is_redundant():
    V = ex.theory.extremal_lift_vectors(NOTES_PRIOR, 0.4)
    np.testing.assert_allclose(NOTES_PRIOR.probabilities @ V.T, np.ones(len(V)), atol=1e-14)


def test_note_12_the_point_that_the_proof_of_theorem_2_puts_into_s_2_lies_in_s_1():
    prior, c = ex.Prior([0.55, 0.45]), 1.5
    p11, p21 = 0.45 * c, 1 - 0.55 * c
    assert p11 >= p21
    optimal = ex.Mechanism([[p11, 1 - p11], [p21, 1 - p21]])
    assert optimal.same_up_to_columns(closed_form.binary(prior, math.log(c)))


def test_note_13_randomization_prevents_certainty_from_the_second_outcome_of_theorem_2():
    prior, epsilon = ex.Prior([0.8, 0.2]), math.log(1.5)
    first, second = (
        ex.measures.lift(prior, closed_form.binary(prior, epsilon)).T * prior.probabilities
    )  # posteriors
    assert sorted(first) == pytest.approx([0, 1], abs=1e-15)
    assert 0 < second.min() <= second.max() < 1


def test_note_14_the_formula_that_the_caption_of_figure_2_cites_is_not_the_high_privacy_mechanism():
    prior, epsilon = ex.Prior([0.3, 0.2, 0.2, 0.2, 0.1]), 0.05
    np.testing.assert_allclose(ex.pml(prior, closed_form.high_privacy(prior, epsilon)), epsilon, atol=1e-14)
    cited = ex.theory.randomized_response_pml(prior, ex.theory.randomized_response_parameter(prior, epsilon))
    assert cited.min() < 0.9 * epsilon


def test_note_15_the_proof_of_theorem_1_lacks_a_factor_gamma_and_a_logarithm():
    prior, gamma = ex.Prior([0.6, 0.4]), 0.5
    P = np.array([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]])
    phi = np.cross(P[0], P[1])
    phi /= 2 * np.abs(phi).max()  # mean 0 given each x
    perturbed = prior.probabilities[:, None] * P * (1 + gamma * phi)
    np.testing.assert_allclose(perturbed / (prior.probabilities[:, None] * (1 + gamma * phi)), P, atol=1e-15)
    assert np.abs(perturbed / (prior.probabilities[:, None] * (1 + phi)) - P).max() > 0.01
    ratio = (perturbed / prior.probabilities[:, None]).max(axis=0) / perturbed.sum(axis=0)
    np.testing.assert_allclose(np.log(ratio), ex.pml(prior, ex.Mechanism(P)), atol=1e-15)
