"""Pictures of a report: what is drawn stands where the axes say, and what does not fit is not drawn."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import extremal as ex
from extremal.auditing import pictures

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
NAME = "{http://www.w3.org/2000/svg}"


def parsed(text):
    return ElementTree.fromstring(text)


def texts(root):
    """Each text of a picture with its place."""
    return {e.text: (float(e.get("x")), float(e.get("y"))) for e in root.iter(f"{NAME}text")}


def lines(root):
    """The points of the first two curves."""
    return [
        np.array([point.split(",") for point in e.get("points").split()], dtype=float)
        for e in root.iter(f"{NAME}polyline")
    ]


def scale(marks, number):
    """A function from a number to its place, through the first and the last mark of an axis."""
    (a, x), (b, y) = ((number(name), place) for name, place in (marks[0], marks[-1]))
    return lambda value: x + (value - a) * (y - x) / (b - a)


def test_points_of_a_curve_stand_where_its_axes_say():
    """Factors below, per cent of what is possible at the left."""
    curve = ex.tradeoff(PRIOR, [0.2, 0.4, 0.9, 1.6], ex.mutual_information)
    root = parsed(pictures.curve(curve, 0.4))
    found = texts(root)
    x = scale(
        [(k, v[0]) for k, v in found.items() if k.startswith("×")],
        lambda t: math.log(float(t.removeprefix("× "))),
    )
    y = scale(
        [(k, v[1] - 4) for k, v in found.items() if k.endswith("%")], lambda t: float(t.rstrip("%")) / 100
    )
    for points, values in zip(lines(root), (curve.optimal, curve.randomized_response), strict=True):
        np.testing.assert_allclose(points[:, 0], x(curve.epsilons), atol=0.2)
        np.testing.assert_allclose(points[:, 1], y(values / PRIOR.entropy), atol=0.2)


def test_a_curve_for_shares_tells_people_and_they_are_enough():
    curve = ex.tradeoff(PRIOR, [0.3, 0.6, 0.9])
    root = parsed(pictures.curve(curve))
    marks = [(k, v[1] - 4) for k, v in texts(root).items() if re.fullmatch(r"[\d,]+", k)]
    y = scale(marks, lambda t: math.log(float(t.replace(",", ""))))
    people = []
    for epsilon in curve.epsilons.tolist():
        error = ex.planning.expected_error(PRIOR, ex.design(PRIOR, epsilon).mechanism, 1).root_mean_square
        people.append((1.96 * error / 0.05) ** 2)
    np.testing.assert_allclose(lines(root)[0][:, 1], y(np.log(people)), atol=0.3)


@pytest.mark.parametrize("top", [1e-9, 0.03, 0.99, 1.0, 7.3, 1e6])
def test_ticks_are_few_round_and_inside(top):
    ticks = pictures.ticks(0.0, top)
    assert 3 <= len(ticks) <= 11
    assert all(0 <= tick <= top * (1 + 1e-9) for tick in ticks)


def test_a_heat_map_has_a_scale_of_shades_from_never_to_the_largest_chance():
    mechanism = ex.theory.randomized_response(PRIOR, 1.0)
    found = texts(parsed(pictures.heat_map(mechanism)))
    assert "never" in found
    assert f"{100 * mechanism.matrix.max():.0f} % of the time" in found


def test_chances_after_reports_are_drawn_for_every_answer_as_large_as_they_are_frequent():
    mechanism = ex.design(PRIOR, 0.6, ex.mutual_information).mechanism
    root = parsed(pictures.after_reports(PRIOR, mechanism))
    tips = [e.findtext(f"{NAME}title") for e in root.iter(f"{NAME}circle") if len(e)]
    joint = PRIOR.probabilities[:, None] * mechanism.matrix
    for label, row in zip(PRIOR.labels, joint, strict=True):
        for after, often in zip(row / joint.sum(axis=0), joint.sum(axis=0), strict=True):
            together = sum(
                q
                for a, q in zip(row / joint.sum(axis=0), joint.sum(axis=0), strict=True)
                if abs(a - after) < 1e-12  # the same, but for rounding
            )
            assert often <= together
            assert f"{label}: {round(after, 3):.1%} after {together:.1%} of reports" in tips


def test_the_envelope_is_drawn_at_the_factors_that_the_library_gives():
    mechanism = ex.theory.randomized_response_for_pml(PRIOR, 0.6)
    found = ex.measures.envelope(PRIOR, mechanism)
    root = parsed(pictures.envelope(found, 0.6))
    marks = [(k, v[1] - 4) for k, v in texts(root).items() if re.fullmatch(r"× [\d.]+", k)]
    y = scale(marks, lambda t: float(t.removeprefix("× ")))
    (points,) = lines(root)
    shares = np.geomspace(0.01, 1.0, len(points))
    np.testing.assert_allclose(points[:, 1], [y(math.exp(found(float(s)))) for s in shares], atol=0.2)


@pytest.mark.parametrize("width", [pictures.WIDTH, pictures.NARROW])
def test_nothing_reaches_beyond_the_picture_and_cut_labels_keep_their_end(width):
    labels = [f"A rather long answer, number {k}" for k in range(1, 13)]
    prior = ex.Prior.uniform(labels)
    mechanism = ex.theory.randomized_response(prior, 1.0)
    curve = ex.tradeoff(ex.Prior.uniform(3), [0.2, 0.5, 1.0])
    drawn = [
        pictures.heat_map(mechanism, width),
        pictures.after_reports(prior, mechanism, width),
        pictures.answer_shares(prior, width),
        pictures.envelope(ex.measures.envelope(prior, mechanism), 1.0, width),
        pictures.curve(curve, 0.5, width),
    ]
    for picture in drawn:
        root = parsed(picture)
        assert float(root.get("width")) == width
        for e in root.iter(f"{NAME}rect"):
            assert float(e.get("x")) >= 0
            assert float(e.get("x")) + float(e.get("width")) <= width + 0.1
        for e in root.iter(f"{NAME}text"):
            long = {"start": (0, 1), "middle": (0.5, 0.5), "end": (1, 0)}[e.get("text-anchor")]
            turned = 0.79 if e.get("transform") else 1.0
            reach = 6.9 * turned * len(e.text)
            assert float(e.get("x")) - long[0] * reach >= -1, e.text
            assert float(e.get("x")) + long[1] * reach <= width + 1, e.text
    names = [t for t in texts(parsed(drawn[2])) if "…" in t]
    assert len(set(names)) == 12
