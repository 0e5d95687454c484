"""How much there is to read for somebody who wants to change how a design is found."""

import pytest
from benchmarks import reading


@pytest.mark.parametrize(
    ("case", "most"),
    [
        ("shares of 3", 16),
        pytest.param("shares of 300", 20, marks=pytest.mark.slow),
        ("shares over a set", 20),
        ("mutual information of 3", 16),
        ("mutual information of 20", 19),
    ],
)
def test_a_design_runs_through_no_more_modules_than_somebody_can_read(case, most):
    found = reading.modules(reading.CASES[case])
    assert "optimization/design.py" in found
    assert len(found) <= most, sorted(found)
