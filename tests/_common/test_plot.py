"""Pictures of priors, mechanisms, designs and curves show the numbers they are given, on axes of the caller's."""

import matplotlib
import numpy as np
import pytest

import extremal as ex
from tests.support.lazy import Lazy

matplotlib.use("Agg")
plt = Lazy("matplotlib.pyplot")

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_a_prior_is_drawn_as_one_bar_a_label_in_order():
    axes = PRIOR.plot()
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.3, 0.2]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["never", "once", "often"]


def test_a_long_prior_is_drawn_as_a_line():
    axes = ex.Prior.uniform(100).plot()
    assert not axes.patches
    assert axes.lines[0].get_ydata() == pytest.approx(np.full(100, 0.01))


def test_a_mechanism_is_drawn_as_its_matrix_with_its_numbers():
    mechanism = ex.design(PRIOR, 0.6, ex.mutual_information).mechanism
    axes = mechanism.plot()
    shown = axes.images[0].get_array()
    assert np.array_equal(shown.filled(0), mechanism.matrix)
    assert np.array_equal(shown.mask, mechanism.matrix == 0)  # hatched
    assert axes.patch.get_hatch()
    assert axes.images[0].get_clim() == (0, mechanism.matrix.max())
    assert [text.get_text() for text in axes.texts] == [f"{p:.2f}" for p in mechanism.matrix.ravel() if p > 0]
    assert [text.get_text() for text in axes.get_xticklabels()] == list(mechanism.outputs)


def test_zeros_differ_in_colour_from_all_that_can_happen():
    prior = ex.Prior.uniform(500)
    axes = ex.theory.randomized_response(prior, 1.0).plot()
    axes.figure.canvas.draw()
    palest = axes.images[0].cmap(0.0)
    assert max(palest[:3]) < 1  # the background is white
    assert axes.images[0].get_array().shape == (500, 500)
    assert not axes.patch.get_hatch()


def test_groups_of_a_table_are_apart_below_their_names():
    certified = ex.certify(ex.design(PRIOR, 0.6))
    reports = certified.privatize(["never", "once", "often"] * 40, source=ex.randomness.SeededWords(1))
    axes = ex.estimate(certified, reports, by=["north", "south"] * 60).plot()
    names = {text.get_text(): text.get_position()[1] for text in axes.get_yticklabels()}
    assert list(names) == ["never", "once", "often", "north", "south"]
    places = axes.get_yticks().tolist()
    rows, (north, south) = places[:6], places[6:]
    assert north == rows[0] - 1
    assert south == rows[3] - 1
    assert south - rows[2] == 2


def test_a_large_mechanism_is_drawn_without_numbers_and_names():
    mechanism = ex.theory.randomized_response(60, 1.0)
    axes = mechanism.plot()
    assert axes.images[0].get_array().shape == (60, 60)
    assert not axes.texts


def test_a_design_is_drawn_with_its_value_in_the_title():
    design = ex.design(PRIOR, 0.6, ex.mutual_information)
    axes = design.plot()
    assert f"{design.value:.4g}" in axes.get_title()
    assert np.array_equal(axes.images[0].get_array().filled(0), design.mechanism.matrix)


def test_a_curve_is_drawn_in_order_of_the_level():
    curve = ex.tradeoff(PRIOR, [0.6, 0.1, 0.3], ex.mutual_information)
    axes = curve.plot()
    optimal, response, ceiling = axes.lines
    assert list(optimal.get_xdata()) == [0.1, 0.3, 0.6]
    assert list(optimal.get_ydata()) == sorted(curve.optimal)
    assert list(response.get_ydata()) == sorted(curve.randomized_response)
    assert set(ceiling.get_ydata()) == {curve.ceiling}


@pytest.mark.parametrize(
    "value",
    [
        PRIOR,
        ex.design(PRIOR, 0.6, ex.mutual_information),
        ex.design(PRIOR, 0.6, ex.mutual_information).mechanism,
        ex.tradeoff(PRIOR, [0.1, 0.6], ex.mutual_information),
    ],
    ids=["prior", "design", "mechanism", "tradeoff"],
)
def test_pictures_go_onto_the_axes_given_and_no_other(value):
    _, axes = plt.subplots()
    assert value.plot(axes) is axes
    assert len(plt.get_fignums()) == 1


def test_labels_that_look_like_formulas_or_are_long_are_drawn_as_text():
    axes = ex.Prior({"$x^2$": 0.5, "a" * 300: 0.3, "tab\tand\nline": 0.2}).plot()
    axes.figure.canvas.draw()
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [r"\$x^2\$", "a" * 23 + "…", "tab and line"]
