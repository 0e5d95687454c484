"""Surveys that learn the prior on the way: what they promise holds in simulated ones, for priors nobody chose."""

from pathlib import Path

import pytest

if not (Path(__file__).parents[1] / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not part of the source package", allow_module_level=True)

from benchmarks.stages import Errors, Tally, study


def judged(priors, surveys, looks=0):
    tally, errors = Tally(), []
    for k in priors:
        errors.append(Errors())
        study(k, range(surveys), range(looks), tally, errors[-1])
    return tally, errors


def check(tally, allowed):
    """No figure is missed more often than allowed, up to three standard errors of so many surveys."""
    for what, (missed, cases) in tally.rows.items():
        for start, share in allowed.items():
            if what.startswith(start):
                assert missed <= share * cases + 3 * (share * cases) ** 0.5, what


ALLOWED = {
    "a set misses the shares of the next people": 0.05,
    "a stage leaks more": 0.0,
    "an ordinary interval misses": 0.05,
    "one of the simultaneous intervals misses": 0.05,
    "an interval for every look misses": 0.05,
}


def test_a_few_surveys_keep_what_they_promise():
    tally, _ = judged((1, 4), 8, 1)
    assert len(tally.rows) > 8
    check(tally, ALLOWED)


@pytest.mark.slow
def test_many_surveys_keep_what_they_promise():
    tally, errors = judged(range(10), 140, 4)
    check(tally, ALLOWED)
    missed, cases = tally.rows["an ordinary interval misses"]
    assert 0.03 * cases - 3 * (0.03 * cases) ** 0.5 <= missed
    for each in errors:
        _, _, excess, chance = each.biases()
        assert excess <= 0.1 + 3 * chance * 2**0.5
