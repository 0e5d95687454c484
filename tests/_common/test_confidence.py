"""One rule for every confidence level: the same values are taken and refused everywhere, with one error."""

import math
from fractions import Fraction

import numpy as np
import pytest

import extremal as ex
from tests.support.wording import refused

PRIOR = ex.Prior([0.5, 0.5])
SOFT = ex.Mechanism([[0.8, 0.2], [0.2, 0.8]])
ESTIMATE = ex.estimate(SOFT, {0: 30, 1: 20}, method=ex.Method(prior=PRIOR))

SAMPLES = {  # whoever draws conclusions from a sample can never be certain
    "sets from counts": lambda c: ex.PriorSet.from_counts([3, 4], confidence=c),
    "estimates": lambda c: ex.estimate(SOFT, {0: 30, 1: 20}, c, method=ex.Method(prior=PRIOR)),
    "differences": lambda c: ESTIMATE.difference(ESTIMATE, c),
    "plans": lambda c: ex.planning.expected_error(PRIOR, SOFT, 1000, c),
    "pairs": lambda c: ex.audit_pairs([0, 1] * 10, [0, 1] * 10, confidence=c),
}
BAD = [0, -0.1, 1.5, 95, math.nan, math.inf, "0.95", True, [0.95]]


@pytest.mark.parametrize("call", SAMPLES.values(), ids=SAMPLES)
def test_a_confidence_is_a_number_below_1(call):
    for good in (0.5, 0.95, np.float32(0.9), Fraction(9, 10)):
        call(good)
    for bad in [*BAD, 1]:
        with pytest.raises(ex.errors.OptionError) as caught:
            call(bad)
        assert caught.value.parameter == "confidence"


def test_a_set_may_be_certain():
    assert ex.PriorSet.intervals([0.4, 0.4], [0.6, 0.6], confidence=1).confidence == 1
    for bad in BAD:
        with refused(ex.errors.OptionError, "confidence"):
            ex.PriorSet.intervals([0.4, 0.4], [0.6, 0.6], confidence=bad)
