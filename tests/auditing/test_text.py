"""The ways an audit is shown: as text, as a page, as JSON, as a plot."""

import json
import math

import numpy as np
import pytest

import extremal as ex
from tests.support.audited import PRIOR, SKEWED, SOFT


@pytest.mark.parametrize("mechanism", [SKEWED, SOFT, ex.Mechanism(np.ones((3, 1)))])
def test_the_dictionary_survives_json_without_infinities(mechanism):
    audit = ex.audit(PRIOR, mechanism)
    assert json.loads(audit.to_json()) == audit.to_dict()
    json.dumps(audit.to_dict(), allow_nan=False)
    measures = audit.to_dict()["measures"]
    assert (measures["ldp_epsilon"] is None) == math.isinf(audit.ldp_epsilon)
    assert (measures["lip_lower"] is None) == math.isinf(audit.lip_lower)


def test_labels_of_any_kind_survive_json():
    prior = ex.Prior([0.5, 0.3, 0.2], [("a", 1), np.datetime64("2020-01-01"), 2.5])
    mechanism = ex.Mechanism(np.eye(3), prior.labels, [b"x", frozenset([1]), None.__class__])
    figures = json.loads(ex.audit(prior, mechanism).to_json())
    assert [entry["label"] for entry in figures["prior"]] == [["a", 1], "2020-01-01", 2.5]


def test_the_page_says_what_a_data_protection_officer_asks():
    page = ex.audit(PRIOR, SKEWED).to_markdown()
    assert "more than 2.86 times as likely to be right" in page  # 1 / 0.35, rounded up
    assert "is right in 10 % of cases before is right in at most 28.58 % after any report" in page
    assert "The report “high” rules out “never”: the answer is certainly one of" in page
    assert "the answer is certainly one of “once”, “often”, which is true of 50 % of people" in page
    assert "no report can make certain what was true of fewer than 35 % of people," in page
    soft = ex.audit(PRIOR, SOFT).to_markdown()
    assert "every answer is still possible" in soft
    silent = ex.audit(PRIOR, ex.Mechanism(np.ones((3, 1)))).to_markdown()
    assert "It tells nothing about the answer." in silent


@pytest.mark.parametrize(
    "matrix",
    [[[1e-300, 1], [0, 1]], [[1e-310, 1], [0.5, 0.5]], [[1 - 1e-16, 1e-16], [1, 0]], [[1, 0], [1, 0]]],
)
def test_extreme_figures_are_said_and_stored_too(matrix):
    prior = ex.Prior([1e-150, 1.0])
    audit = ex.audit(prior, ex.Mechanism(matrix))
    assert json.loads(audit.to_json()) == audit.to_dict()
    for text in (audit.to_markdown(), str(audit), audit._repr_html_()):
        assert "nan" not in text
        assert " inf " not in text


def test_a_mechanism_that_says_nothing_is_said_to_say_nothing():
    audit = ex.audit(PRIOR, ex.Mechanism(np.ones((3, 1))))
    assert str(audit).splitlines() == [
        "leakage 0: no report says anything about the answer",
        "certainty: no report rules out any answer",
    ]


def test_a_label_cannot_break_a_table_or_inject_markup():
    prior = ex.Prior([0.5, 0.5], ["<b>a|b</b>", "c\nd"])
    audit = ex.audit(prior, ex.Mechanism(np.eye(2), prior.labels, prior.labels))
    assert "<b>" not in audit._repr_html_()
    page = audit.to_markdown()
    assert "<b>" not in page
    assert r"a\|b" in page
    assert "c d" in page


def test_the_short_form_is_short_and_long_audits_are_cut():
    prior = ex.Prior.uniform(60)
    audit = ex.audit(prior, ex.theory.closed_form.uniform(60, 1.0))
    assert len(str(audit).splitlines()) == 3
    assert repr(audit) == "Audit(60 inputs, 60 outputs, epsilon=1)"
    assert "… 40 more" in audit.to_markdown()
    outcome = audit.to_dict()["outcomes"][0]
    assert len(outcome["excluded"]) == 20 < outcome["excluded_count"]
    assert "<table>" in audit._repr_html_()


@pytest.mark.parametrize("n", [3, 60])
def test_the_plot_is_axes_with_the_worst_report_marked(n):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    prior = ex.Prior.uniform(n)
    audit = ex.audit(prior, ex.theory.closed_form.uniform(n, 0.5))
    axes = audit.plot()
    assert "0.5" in axes.get_legend().get_texts()[0].get_text()
    assert audit.plot(axes) is axes
    if n == 3:
        assert [bar.get_height() for bar in axes.patches[:3]] == pytest.approx(audit.leakage.tolist())
    plt.close("all")


def test_a_label_becomes_no_link_and_no_picture_in_markdown():
    labels = ["[here](http://elsewhere.example)", "![](http://elsewhere.example/seen.png)", "[a][b]"]
    prior = ex.Prior([0.5, 0.3, 0.2], labels=labels)
    pages = (
        ex.audit(prior, ex.design(prior, 0.6, ex.mutual_information).mechanism).to_markdown(),
        ex.audit_pairs(labels * 200, labels * 200).to_markdown(),
    )
    for page in pages:
        assert "elsewhere.example" in page
        assert "](" not in page
