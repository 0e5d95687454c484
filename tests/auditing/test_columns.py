"""Leakage about one column through the reports of others, checked by summing over whole records."""

import math

import numpy as np
import pytest

import extremal as ex
from tests.support.wording import refused

JOINT = ex.Prior(
    {("young", "low"): 0.3, ("young", "high"): 0.1, ("old", "low"): 0.2, ("old", "high"): 0.4},
)
NAMES = ["age", "income"]
INCOME = ex.Mechanism([[0.8, 0.2], [0.3, 0.7]], ["low", "high"], ["low", "high"])
AGE = ex.Mechanism([[0.6, 0.4], [0.5, 0.5]], ["young", "old"], ["young", "old"])


def by_summation(joint, tables, about):
    """l(U→y) for every tuple of reports y, from the joint distribution of record and reports, term by term."""
    outputs = [()]
    for _, mechanism in tables:
        outputs = [(*done, y) for done in outputs for y in range(mechanism.shape[1])]
    found = []
    for y in outputs:
        mass: dict = {}
        prior: dict = {}
        for record, p in zip(joint.labels, joint.probabilities.tolist(), strict=True):
            likelihood = 1.0
            for (place, mechanism), j in zip(tables, y, strict=True):
                likelihood *= mechanism.matrix[mechanism.inputs.index(record[place]), j]
            u = record if about is None else record[about]
            mass[u] = mass.get(u, 0.0) + p * likelihood
            prior[u] = prior.get(u, 0.0) + p
        total = sum(mass.values())
        found.append(max(math.log(mass[u] / total / prior[u]) for u in mass))
    return found


@pytest.mark.parametrize("about", [None, 0, 1])
@pytest.mark.parametrize("released", [[1], [0], [0, 1], [1, 0]])
def test_leakage_about_a_column_through_reports_of_others_is_the_sum_over_records(about, released):
    tables = [(k, [AGE, INCOME][k]) for k in released]
    audit = ex.composition.audit_columns(
        JOINT,
        {NAMES[k]: mechanism for k, mechanism in tables},
        about=None if about is None else NAMES[about],
        names=NAMES,
    )
    np.testing.assert_allclose(audit.leakage, by_summation(JOINT, tables, about), atol=1e-12)


def test_positions_name_columns_where_no_names_are_given():
    one = ex.composition.audit_columns(JOINT, {1: INCOME}, about=0)
    other = ex.composition.audit_columns(JOINT, {"income": INCOME}, about="age", names=NAMES)
    assert one.to_dict() == other.to_dict()
    assert one.prior.labels == ("young", "old")


def test_a_column_leaks_about_another_no_more_than_about_itself_and_nothing_when_independent():
    itself = ex.composition.audit_columns(JOINT, {1: INCOME}, about=1)
    other = ex.composition.audit_columns(JOINT, {1: INCOME}, about=0)
    assert itself.epsilon == pytest.approx(ex.epsilon_pml(ex.Prior([0.5, 0.5]), INCOME))
    assert 0 < other.epsilon < itself.epsilon
    independent = ex.Prior([0.5 * 0.4, 0.5 * 0.6, 0.5 * 0.4, 0.5 * 0.6], JOINT.labels)
    assert ex.composition.audit_columns(independent, {1: INCOME}, about=0).epsilon == pytest.approx(
        0, abs=1e-12
    )


def test_columns_drawn_together_take_one_mechanism_on_tuples():
    together = ex.design(JOINT, 0.5, ex.mutual_information).mechanism
    audit = ex.composition.audit_columns(JOINT, {("age", "income"): together}, about="age", names=NAMES)
    assert audit.epsilon <= 0.5 + 1e-9
    whole = ex.composition.audit_columns(JOINT, {("age", "income"): together}, names=NAMES)
    assert whole.epsilon == pytest.approx(ex.epsilon_pml(JOINT, together))


def test_a_frame_is_audited_from_its_joint_prior():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "age": ["young"] * 40 + ["old"] * 60,
            "income": ["low"] * 30 + ["high"] * 10 + ["low"] * 20 + ["high"] * 40,
        }
    )
    joint = ex.Prior.joint(frame, NAMES)
    certified = ex.certify(ex.Prior.from_data(frame["income"], labels=["low", "high"]), INCOME, 0.7)
    audit = ex.composition.audit_columns(joint, {"income": certified}, about="age", names=NAMES)
    assert audit.epsilon == pytest.approx(
        ex.composition.audit_columns(JOINT, {1: INCOME}, about=0).epsilon, abs=1e-12
    )


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: ex.composition.audit_columns(ex.Prior.uniform(3), {0: AGE}),
            ex.errors.PriorError,
            "[0, 1, 2]",
        ),
        (lambda: ex.composition.audit_columns(JOINT, {}), ex.errors.MechanismError, "mechanisms"),
        (lambda: ex.composition.audit_columns(JOINT, INCOME), ex.errors.MechanismError, "mechanisms"),
        (
            lambda: ex.composition.audit_columns(JOINT, {"income": INCOME}),
            ex.errors.PriorError,
            "'income'",
        ),
        (
            lambda: ex.composition.audit_columns(JOINT, {1: INCOME}, about=2),
            ex.errors.PriorError,
            "2",
        ),
        (
            lambda: ex.composition.audit_columns(JOINT, {1: AGE}),
            ex.errors.MechanismError,
            "none for ['low', 'high']",
        ),
        (
            lambda: ex.composition.audit_columns(JOINT, {1: INCOME}, names=["a"]),
            ex.errors.PriorError,
            "names",
        ),
        (
            lambda: ex.composition.audit_columns(
                JOINT, {1: INCOME, (0, 1): ex.Mechanism(np.eye(4), JOINT.labels)}
            ),
            ex.errors.MechanismError,
            "(0, 1) again",
        ),
    ],
)
def test_bad_input_is_refused_in_words(call, kind, words):
    with refused(kind, words):
        call()
