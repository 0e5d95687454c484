"""Public functions that do linear algebra, each on input that is large enough for several threads."""

from __future__ import annotations

import functools
import hashlib
import json
import sys

import numpy as np

import extremal as ex

N = 150


@functools.cache
def prior(size: int = N) -> ex.Prior:
    weights = 1 / np.arange(1, size + 1)
    return ex.Prior(weights / weights.sum(), [f"answer {i}" for i in range(size)])


@functools.cache
def response(size: int = N) -> ex.Mechanism:
    return ex.theory.randomized_response_for_pml(prior(size), 1.5)


@functools.cache
def rows(size: int = N) -> ex.Mechanism:
    """Rows without any structure, as many reports as answers and some."""
    matrix = np.random.default_rng(7).exponential(size=(size, size + 30))
    return ex.Mechanism(matrix / matrix.sum(axis=1, keepdims=True), prior(size).labels)


@functools.cache
def certified(size: int = 12) -> ex.Certified:
    return ex.certify(ex.design(prior(size), 1.0))


@functools.cache
def counts(size: int = N) -> dict:
    return {label: 1000 + 37 * (i % 11) for i, label in enumerate(response(size).outputs)}


@functools.cache
def estimate() -> ex.Estimate:
    return ex.estimate(response(), counts())


@functools.cache
def groups() -> ex.estimation.GroupedEstimate:
    answers = np.array(certified().mechanism.outputs * 40)
    return ex.estimate(certified(), answers, by=np.arange(len(answers)) % 2)


@functools.cache
def regression() -> ex.Regression:
    answers = certified(3).mechanism.outputs * 60
    age = np.sin(np.arange(len(answers)))
    return ex.regress(certified(3), "answer ~ age", {"answer": list(answers), "age": age})


CACHED = (certified, estimate, groups, regression)


def tables(*found) -> list:
    return [value for table in found for value in (table.estimates, table.lower, table.upper)]


DOORS = {
    "pml": lambda: ex.pml(prior(), rows()),
    "leakage on average": lambda: ex.measures.leakage_distribution(prior(), rows()).mean,
    "contraction": lambda: ex.measures.chi_squared_contraction(prior(), rows()),
    "envelope": lambda: ex.measures.envelope(prior(), rows()).factor(0.1),
    "output distribution": lambda: rows().output_distribution(prior()),
    "post-processing": lambda: rows().then(ex.Mechanism(np.roll(response(N + 30).matrix, 3, axis=1))).matrix,
    "an attribute": lambda: ex.audit(prior(), rows(), attribute=len).epsilon,
    "an adversary": lambda: ex.theory.adversary.worst_gain(prior()).leakage(prior(), rows(), 3),
    "value for shares": lambda: ex.shares(prior(), rows()),
    "value for groups": lambda: ex.groups({"few": prior().labels[:70]})(prior(), rows()),
    "mutual information": lambda: ex.mutual_information(prior(), rows()),
    "expected gain": lambda: ex.ExpectedGain(np.eye(N))(prior(), rows()),
    "enumeration": lambda: ex.theory.enumerated(prior(10), 1.0).matrix,
    "reduction": lambda: ex.theory.reduce_outputs(prior(30), rows(30), ex.mutual_information).matrix,
    "design": lambda: ex.design(prior(40), 1.0).mechanism.matrix,
    "design over a set": lambda: ex.design(ex.PriorSet.l1_ball(prior(8), 0.1), 1.0).mechanism.matrix,
    "design for information": lambda: ex.design(prior(40), 1.0, ex.mutual_information).mechanism.matrix,
    "check": lambda: ex.check_design(ex.design(prior(40), 1.0)).upper_bound,
    "certify": lambda: ex.certify(prior(), response(), 1.6).mechanism.matrix,
    "certify over a set": lambda: (
        ex.certify(ex.PriorSet.l1_ball(prior(), 0.05), response(), 2.5).mechanism.matrix
    ),
    "trade-off": lambda: ex.tradeoff(prior(10), [0.3, 0.6]).optimal,
    "comparison": lambda: [row.value for row in ex.compare(prior(8), 0.5).rows],
    "estimate": lambda: [*tables(estimate().table), estimate().standard_errors],
    "estimate, all at once": lambda: tables(ex.estimate(response(), counts(), intervals="all").table),
    "mean": lambda: tables(estimate().mean(range(N))),
    "groups": lambda: tables(groups().table, groups().difference(0, 1)),
    "test of groups": lambda: groups().test.p_value,
    "plan": lambda: ex.plan((response(), prior()), people=5000).half_widths,
    "plan for a coefficient": lambda: (
        ex.plan(certified(), coefficient=ex.planning.Effect(0.4, "answer 0")).people
    ),
    "regress": lambda: [
        regression().coefficients,
        regression().standard_errors,
        regression().variance_ratios,
    ],
    "tests of coefficients": lambda: [
        regression().wald().statistic,
        regression().tests().tests[0][2].statistic,
    ],
    "effects": lambda: regression().effects().estimates,
    "composition": lambda: ex.composition.repeat_release(prior(12), rows(12), 2).epsilon,
    "audit of pairs": lambda: ex.audit_pairs(["a", "b"] * 200, ["x", "y", "x"] * 133 + ["y"]).epsilon_lower,
    "compliance": lambda: _compliance(),
    "panel": lambda: ex.panels.leakage([response(12), rows(12)], [prior(12)] * 2).worst_case,
    "large": lambda: _large(),
}


def _large():
    windows = ex.large.windows(300, 1.0)
    return tables(ex.large.estimate(windows, np.arange(windows.prime).repeat(7)))


def _compliance():
    one, other = (ex.theory.randomized_response_for_pml(prior(3), level) for level in (0.3, 0.6))
    reports = {label: 100 + 20 * i for i, label in enumerate(one.outputs)}
    return tables(ex.compliance.rate({"one": (one, reports), "other": (other, reports)}, "answer 0").table)


def digests() -> dict[str, str]:
    """A digest of what comes through each door."""
    found = {}
    for name, door in DOORS.items():
        values = door()
        parts = values if isinstance(values, list) else [values]
        flat = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])
        assert flat.size, name
        found[name] = hashlib.sha256(flat.tobytes()).hexdigest()
    return found


if __name__ == "__main__":
    json.dump(digests(), sys.stdout)
