"""What must hold of every design, with optima found by listing all vertices."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import extremal as ex
from extremal.certification.claim import check_claim
from tests.support.root import ROOT
from tests.support.solving import design_by

LEVEL = 4e-15  # levels that differ by this are equal up to rounding
METHODS = [
    "binary",
    "high-privacy",
    "uniform",
    "enumeration",
    "column-generation",
    "gain-program",
    "arc",
]


def listed(prior, epsilon, utility, low=0.0):
    """The optimum by going through all vertices."""
    return design_by(prior, epsilon, utility, oracle="enumeration", notion=ex.LIP.above(low))


def width(prior, epsilon, utility, low=0.0):
    """How much the optimum changes between levels that are equal up to rounding.

    At the edge of a region it is steep for a utility that is steep at 0, and for a small epsilon relative to
    itself. Nothing computed from e^epsilon, a double, can be known better than that.
    """
    below, above = (listed(prior, max(epsilon + shift, 0.0), utility, low).value for shift in (-LEVEL, LEVEL))
    return abs(above - below)


def assert_optimal(design, best):
    """The value is that of enumeration to 1e-9, relative to it, and proven to 1e-9."""
    prior, epsilon, utility, low = (
        design.prior,
        design.epsilon,
        design.utility,
        design.notion.lower_lift(design.epsilon),
    )
    # Columns are doubles of the order of 1, so their utilities are known to a few 1e-16.
    allowed = 1e-9 * abs(best.value) + 2e-15
    if max(abs(design.value - best.value), design.upper_bound - design.value) > allowed:
        allowed += width(prior, epsilon, utility, low)
    assert abs(design.value - best.value) <= allowed
    # The dual vector comes from differences between vertices: of order epsilon, and rounded like their utilities.
    drowned = min(4e-16 / max(epsilon, 1e-300), 2 * epsilon) * abs(best.value)
    assert design.upper_bound - design.value <= allowed + drowned


def assert_keeps_its_promises(design, tolerance=1e-6):
    prior, mechanism = design.prior, design.mechanism
    assert np.abs(mechanism.matrix.sum(axis=1) - 1).max() <= 1e-12
    assert ex.epsilon_pml(prior, mechanism) <= design.epsilon + 1e-12
    assert ex.measures.lift(prior, mechanism).min() >= design.notion.lower_lift(design.epsilon) - 1e-12
    assert mechanism.inputs == prior.labels
    if design.method == "arc":
        assert mechanism.shape[1] <= 2 * prior.size
    else:
        assert mechanism.shape[1] <= prior.size
        assert set(mechanism.outputs) <= set(prior.labels)
    assert design.value == pytest.approx(design.utility(prior, mechanism), rel=1e-11, abs=1e-14)
    assert design.value <= design.upper_bound
    assert design.region == prior.region(design.epsilon)
    assert design.proven <= (design.gap <= tolerance)


def assert_checked(design):
    found = check_claim(
        design.prior,
        design.epsilon,
        design.utility,
        design,
        lower_lift=design.notion.lower_lift(design.epsilon),
        priors=design.prior_set,
    )
    assert found.ok, str(found)


TWO = ex.Prior([0.8, 0.2])


def run(script):
    """What a script prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
