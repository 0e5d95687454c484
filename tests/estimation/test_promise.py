"""Two kinds of intervals: which is the default, what tables say about theirs, and that plans are about the same."""

import itertools

import numpy as np
import pytest
from scipy.stats import beta, binomtest, multinomial

import extremal as ex
from extremal.estimation.contrasts import Channel
from extremal.estimation.intervals import contrast_intervals, weighed
from extremal.estimation.promise import COMMAND, SURVEY, Promise

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
DESIGN = ex.design(PRIOR, 0.7)
COUNTS = dict(
    zip(DESIGN.mechanism.outputs, (900 * DESIGN.mechanism.output_distribution(PRIOR)).round(), strict=True)
)
REPORTS = [y for y, count in COUNTS.items() for _ in range(int(count))]


@pytest.mark.parametrize(
    ("promise", "option", "said"),
    [
        (
            Promise(0.95, "each", exact=False),
            'intervals="{}"',
            'intervals: about 95% for each row by itself; intervals="all" for all rows together',
        ),
        (
            Promise(0.99, "all", exact=True),
            COMMAND,
            "intervals: at least 99% for all rows together; --intervals each for each row by itself",
        ),
        (
            Promise(0.9, "each", exact=False),
            SURVEY,
            'intervals: about 90% for each row by itself; intervals = "all" in survey.toml for all rows together',
        ),
        (
            Promise(0.95, "each", exact=True, choice=False),
            COMMAND,
            "intervals: at least 95% for each row by itself",
        ),
        (
            Promise(0.95, "all", exact=False, weighted=True, choice=False),
            COMMAND,
            "intervals: about 95% for all rows together (with weights, strata or clusters a large-sample "
            "approximation, not a guarantee for every number of reports)",
        ),
    ],
)
def test_a_note_names_the_kind_and_how_to_get_the_other(promise, option, said):
    assert promise.note(option) == said
    assert said.startswith(str(promise))


def tables():
    e = ex.estimate(DESIGN.mechanism, REPORTS, method=ex.Method(prior=PRIOR))
    by = ex.estimate(
        DESIGN.mechanism,
        REPORTS,
        method=ex.Method(prior=PRIOR),
        by=["a", "b"] * (len(REPORTS) // 2) + ["a"] * (len(REPORTS) % 2),
    )
    windows = ex.large.windows(ex.Prior.uniform(10), 1.0)
    drawn = windows.privatize([1, 2, 3] * 50)
    change = ex.panels.change((DESIGN.mechanism, DESIGN.mechanism), REPORTS[:60], REPORTS[::-1][:60])
    return {
        "shares": e.table,
        "groups of answers": e.group({"ever": ["once", "often"]}),
        "mean": e.mean({"never": 0, "once": 1, "often": 2}),
        "difference": e.difference(e),
        "groups of people": by.table,
        "difference of groups": by.difference("a", "b"),
        "change": change.change,
        "transitions": change.transitions,
        "windows": ex.large.estimate(windows, drawn),
        "groups of windows": ex.large.estimate_groups(windows, drawn, {"low": [0, 1]}),
        "regression": ex.regress(DESIGN.mechanism, "x ~ 1", {"x": REPORTS}).table,
        "predicted shares": ex.regress(DESIGN.mechanism, "x ~ 1", {"x": REPORTS}).shares(),
    }


def test_every_table_is_by_default_of_intervals_each_by_itself_and_says_so():
    for name, table in tables().items():
        assert table.promise.kind == "each", name
        assert "for each row by itself" in str(table), name
        assert "for each row by itself" in table._repr_html_(), name
        assert table.promise.confidence == 0.95, name


def test_the_default_is_one_kind_everywhere():
    e, plan = (
        ex.estimate(DESIGN.mechanism, COUNTS, method=ex.Method(prior=PRIOR)),
        ex.plan(DESIGN, people=900),
    )
    expected = ex.planning.expected_error(PRIOR, DESIGN.mechanism, 900)
    sizes = ex.planning.compare_sample_sizes(PRIOR, 0.7, 0.1)
    assert {x.intervals for x in (e, plan, expected, sizes)} == {"each"}
    assert plan.to_dict()["intervals"] == expected.to_dict()["intervals"] == "each"
    assert plan.sentence == ex.planning.precision_sentence(PRIOR, DESIGN.mechanism, [900])
    wide = ex.plan(DESIGN, people=900, intervals="all")
    assert (wide.widths > plan.widths).all()
    assert "all together" in wide.sentence
    assert "each by itself;" in plan.sentence


@pytest.mark.parametrize("kind", ["each", "all"])
@pytest.mark.parametrize("mechanism", [DESIGN.mechanism, ex.theory.randomized_response_for_pml(PRIOR, 0.7)])
def test_a_plan_asks_for_as_many_people_as_an_estimate_needs(mechanism, kind):
    """So many times the expected counts that rounding to whole reports does not matter."""
    wanted = 0.01
    n = ex.plan((mechanism, PRIOR), width=wanted, intervals=kind).people
    q = mechanism.output_distribution(PRIOR)
    counts = dict(zip(mechanism.outputs, np.rint(n * q).astype(int).tolist(), strict=True))
    e = ex.estimate(mechanism, counts, method=ex.Method(prior=PRIOR), intervals=kind)
    assert (e.upper - e.lower).max() == pytest.approx(wanted, rel=2e-3)
    fewer = {y: int(0.98 * count) for y, count in counts.items()}
    e = ex.estimate(mechanism, fewer, method=ex.Method(prior=PRIOR), intervals=kind)
    assert (e.upper - e.lower).max() > wanted


def test_a_plan_for_what_is_not_identified_is_about_what_an_estimate_gives():
    twins = ex.Mechanism([[0.8, 0.2], [0.8, 0.2], [0.3, 0.7]], PRIOR.labels)
    counts = dict(
        zip(twins.outputs, [7000, 3000], strict=True)
    )  # as expected: 0.5 * 0.8 + 0.3 * 0.8 + 0.2 * 0.3
    for kind in ("each", "all"):
        expected = ex.planning.expected_error(PRIOR, twins, 10_000, intervals=kind)
        e = ex.estimate(twins, counts, method=ex.Method(prior=PRIOR), intervals=kind)
        assert expected.widths == pytest.approx(e.upper - e.lower, abs=2e-3)


@pytest.mark.slow
def test_in_simulated_surveys_the_people_of_a_plan_give_the_width():
    n = ex.plan(DESIGN, width=0.1).people
    rng = np.random.default_rng(5)
    widths, held = [], []
    for counts in rng.multinomial(n, DESIGN.mechanism.output_distribution(PRIOR), 400):
        e = ex.estimate(
            DESIGN.mechanism,
            dict(zip(DESIGN.mechanism.outputs, counts.tolist(), strict=True)),
            method=ex.Method(prior=PRIOR),
        )
        widths.append((e.upper - e.lower).max())
        held.append((e.lower <= PRIOR.probabilities) & (PRIOR.probabilities <= e.upper))
    assert np.median(widths) == pytest.approx(0.1, rel=0.02)
    assert np.mean(held, axis=0) == pytest.approx(0.95, abs=0.035)


# Two answers: one share determines the other


YES = ex.Prior({"no": 0.7, "yes": 0.3})
HALF = ex.Mechanism([[0.75, 0.25], [0.25, 0.75]], YES.labels, YES.labels)


@pytest.mark.parametrize("seen", [120, 180, 250, 300])
def test_of_two_answers_simultaneous_intervals_are_those_of_one_binomial_share(seen):
    """Clopper and Pearson's at the whole error, by another library, moved through the mechanism."""
    e = ex.estimate(HALF, {"no": 400 - seen, "yes": seen}, method=ex.Method(prior=YES), intervals="all")
    possible = min(max(seen, 100), 300)  # shares of 0 and 1: a count beyond is moved there first
    low, high = binomtest(possible, 400).proportion_ci(0.95, "exact")
    ends = np.clip([(low - 0.25) / 0.5, (high - 0.25) / 0.5], 0.0, 1.0)
    assert (e.lower[1], e.upper[1]) == pytest.approx(ends, abs=1e-9)
    assert (1 - e.upper[0], 1 - e.lower[0]) == pytest.approx(ends, abs=1e-9)
    group = e.group({"one": ["yes"], "other": ["no"], "difference": {"yes": 1, "no": -1}})
    assert group.lower == pytest.approx([ends[0], 1 - ends[1], 2 * ends[0] - 1], abs=1e-9)


@pytest.mark.parametrize("mechanism", [HALF, ex.Mechanism([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]], YES.labels)])
def test_both_intervals_of_two_answers_hold_together(mechanism):
    """By enumeration of all counts of 40 reports."""
    size = mechanism.shape[1]
    counts = np.array([c for c in itertools.product(range(41), repeat=size) if sum(c) == 40])
    contrasts = weighed(Channel(mechanism.matrix, YES.probabilities), 40.0, np.eye(2), 0.1)
    found = contrast_intervals(contrasts, counts, 0.1)
    for truth in np.linspace(0, 1, 41):
        theta = np.array([1 - truth, truth])
        both = ((found.lower <= theta + 1e-12) & (theta - 1e-12 <= found.upper)).all(axis=1)
        assert multinomial.pmf(counts, 40, theta @ mechanism.matrix)[both].sum() >= 0.9


def test_two_answers_take_fewer_people_and_three_as_many_as_before():
    n = ex.plan((HALF, YES), width=0.1, intervals="all").people
    q = float((YES.probabilities @ HALF.matrix)[1])

    def wide(people):
        low, high = beta.ppf(
            [0.025, 0.975], [people * q, people * q + 1], [people * (1 - q) + 1, people * (1 - q)]
        )
        return (high - low) / 0.5

    assert wide(n) <= 0.1 < wide(n - 1)
    three = ex.Mechanism([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]], PRIOR.labels, PRIOR.labels)
    reports = dict(zip(three.outputs, [400, 330, 270], strict=True))
    found = ex.estimate(three, reports, method=ex.Method(prior=PRIOR), intervals="all")
    for k, count in enumerate(reports.values()):
        low, high = binomtest(count, 1000).proportion_ci(1 - 0.05 / 3, "exact")
        assert (found.lower[k], found.upper[k]) == pytest.approx(
            ((low - 0.2) / 0.4, (high - 0.2) / 0.4), abs=1e-6
        )


def test_differences_of_two_answers_are_not_divided_either():
    weights = np.linspace(1, 2, 300)
    for more in ({}, {"sample": ex.SampleDesign(weights)}):
        how = {"method": ex.Method(prior=YES), **more}
        first, second = ["no", "yes"] * 150, ["no", "no", "yes"] * 100
        each, every = (
            ex.estimate(HALF, first, intervals=kind, **how).difference(
                ex.estimate(HALF, second, intervals=kind, **how)
            )
            for kind in ("each", "all")
        )
        if more:  # the same approximation
            assert every.lower == pytest.approx(each.lower)
        assert every.lower == pytest.approx(-every.upper[::-1])
