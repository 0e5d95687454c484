"""Designs whose fields contradict each other: a check that says ok is right about everything that the design states.

Genuine designs of every kind get fields of one another, and false ones. Whether what is then stated is true is found
here from definitions, and from the best of all mechanisms at hand.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import extremal as ex
from extremal.errors import ExtremalError
from extremal.model.designed import Designed
from extremal.model.purposes import Quadratic
from tests.support.solving import design_by
from tests.support.wording import refused

LABELS = ["a", "b", "c"]
PRIOR = ex.Prior([0.5, 0.3, 0.2], LABELS)
OTHER = ex.Prior([0.2, 0.5, 0.3], LABELS)
EPSILON = 0.7
MI = ex.mutual_information
GUESS = ex.ExpectedGain(np.eye(3), "right guesses")
NORM = ex.Utility(lambda prior, P: np.sqrt((P**2).sum(axis=0)), "norm")
MEAN = ex.mean({"a": 0, "b": 1, "c": 3})
GROUPS = ex.groups({"a": ["a"], "others": ["b", "c"]})
BALL, WIDER = ex.PriorSet.l1_ball(PRIOR, 0.1), ex.PriorSet.l1_ball(PRIOR, 0.3)
ELSEWHERE = ex.PriorSet.l1_ball(OTHER, 0.1)

GENUINE = {
    "information": ex.design(PRIOR, EPSILON, MI),
    "information, other prior": ex.design(OTHER, EPSILON, MI),
    "information, little": ex.design(PRIOR, 1e-7, MI),
    "variation": ex.design(PRIOR, EPSILON, ex.utilities.total_variation),
    "gain": ex.design(PRIOR, EPSILON, GUESS),
    "norm": ex.design(PRIOR, EPSILON, NORM),
    "arc": design_by(PRIOR, EPSILON, MI, oracle="arc"),
    "everything": ex.design(PRIOR, 3.0, MI),
    "nothing": ex.design(PRIOR, 0.0, MI),
    "lip": ex.design(PRIOR, EPSILON, MI, notion=ex.LIP),
    "set": ex.design(BALL, EPSILON, MI),
    "shares": ex.design(PRIOR, EPSILON),
    "shares, other prior": ex.design(OTHER, EPSILON),
    "shares, little": ex.design(PRIOR, 1e-7),
    "relative shares": ex.design(PRIOR, EPSILON, ex.shares.relative),
    "mean": ex.design(PRIOR, EPSILON, MEAN),
    "groups": ex.design(PRIOR, EPSILON, GROUPS),
    "no shares": ex.design(PRIOR, 0.0),
    "all shares": ex.design(PRIOR, 3.0),
    "shares over a set": ex.design(BALL, EPSILON),
}
REFUSED = {
    "ldp": ex.design(PRIOR, EPSILON, MI, notion=ex.LDP),
    "maximal leakage": ex.design(PRIOR, EPSILON, MI, notion=ex.MaximalLeakage),
}
EVERY = [*GENUINE.values(), *REFUSED.values()]
FEW = [GENUINE[k] for k in ("lip", "set", "shares", "mean", "everything")]
NO_CLAIMS = {"method", "stats"}  # how it was found
PROOFS = {"proof"}

SOME = [
    "information",
    "lip",
    "set",
    "shares",
    "shares over a set",
    "information, little",
]


def corners(priors):
    """The vertices of an l1 ball of radius r: r / 2 is moved from one answer to another."""
    p = priors.center
    moves = [np.eye(3)[i] - np.eye(3)[j] for i, j in itertools.permutations(range(3), 2)]
    assert priors.radius / 2 < p.min()
    return [p + priors.radius / 2 * move for move in moves]


# What is stated, from definitions


def divergence(f):
    def value(prior, P):
        pi = prior.probabilities
        q = pi @ P
        P, q = P[:, q > 0], q[q > 0]
        return float(pi @ f(P / q) @ q)

    return value


def information(t):
    """t log t - t + 1, which has no first-order term: the same sum, with its digits."""
    d = np.asarray(t) - 1
    exact = np.where(d > -1, (1 + d) * np.log1p(np.where(d > -1, d, 0.0)), 0.0) - d
    return np.where(np.abs(d) < 1e-3, d**2 / 2 - d**3 / 6 + d**4 / 12 - d**5 / 20, exact)


def efficiency(loss):
    """tr(A Sigma) of direct answers over that of reports, Sigma by the inverse of the information; 0 without one."""

    def value(prior, P):
        pi = prior.probabilities
        A, q = loss(prior), pi @ P
        P, q = P[:, q > 0], q[q > 0]
        X = P / q - 1
        D = np.eye(3)[:, :2] - np.eye(3)[:, 2:]  # errors sum to 0
        amount, vectors = np.linalg.eigh(D.T @ ((X * q) @ X.T) @ D)
        known, along = amount > 1e-20, D @ vectors
        loss_of = np.einsum("ik,ij,jk->k", along, A, along)
        if (loss_of[~known] > 1e-9 * loss_of.max()).any():
            return 0.0
        direct = np.trace(A @ (np.diag(pi) - np.outer(pi, pi)))
        return float(direct / (loss_of[known] / amount[known]).sum())

    return value


def outer(*scores):
    return sum(np.multiply.outer(s, s) for s in np.array(scores, dtype=float))


VALUES = {
    "mutual information": divergence(information),
    "total variation": divergence(lambda t: np.abs(t - 1) / 2),
    "chi-squared": divergence(lambda t: (t - 1) ** 2),
    "right guesses": lambda prior, P: float((prior.probabilities[:, None] * P).max(axis=0).sum()),
    "norm": lambda prior, P: float(np.sqrt((P**2).sum(axis=0)).sum()),
    "shares": efficiency(lambda prior: np.eye(3)),
    "relative errors of shares": efficiency(lambda prior: np.diag(1 / prior.probabilities**2)),
    "mean of scores": efficiency(lambda prior: outer([{"a": 0.0, "b": 1, "c": 3}[x] for x in prior.labels])),
    "shares of groups": efficiency(lambda prior: outer([x == "a" for x in prior.labels]) * 2.0),
}


def worth(design):
    return VALUES[design.utility.name](design.prior, design.mechanism.matrix)


def keeps(design):
    """Whether the mechanism keeps epsilon as its notion and set of priors say."""
    P, c = design.mechanism.matrix, math.exp(min(design.epsilon, 700.0))
    slack = 1e-6 * (c - 1) + 1e-11
    priors = design.prior_set
    every = [design.prior.probabilities, *([] if priors is None else corners(priors))]
    for pi in every:
        q = pi @ P
        if not (P[:, q > 0] / q[q > 0]).max() <= c + slack:
            return False
    lowest = 1 / c if design.notion.lowest is None else design.notion.lowest
    return not (design.notion.name == "LIP" and (P / (every[0] @ P)).min() < lowest - slack)


BEST = {}


def best(design):
    """The largest value that a mechanism is known to have that keeps the same."""
    priors = design.prior_set
    question = (
        design.prior, None if priors is None else (tuple(priors.center), priors.radius), design.epsilon,
        design.utility.name, design.notion,
    )  # fmt: skip
    if question not in BEST:
        rivals = [d.mechanism for d in EVERY]
        rivals = [replace(design, made=ex.Mechanism(m.matrix, design.prior.labels)) for m in rivals]
        BEST[question] = max((worth(rival) for rival in rivals if keeps(rival)), default=0.0)
    return BEST[question]


def falsehoods(design):
    """What a design says that is not so; no design for a utility of another name gets here."""
    inputs, nominal = design.mechanism.inputs, design.prior_set and design.prior_set.nominal
    if tuple(inputs) != tuple(design.prior.labels) or nominal not in (None, design.prior):
        yield "labels"
        return
    if design.notion.name not in ("PML", "LIP") or (f"{design.notion}" == "LIP" and design.notion != ex.LIP):
        yield "notion"
    if not keeps(design):
        yield "epsilon"
    found = worth(design)
    if not abs(found - design.value) <= 2e-6 * abs(found) + 1e-6 * min(design.epsilon, 1e-12):
        yield f"value, which is {found}"
    if not design.upper_bound >= best(design) * (1 - 2e-6):
        yield f"bound, as {best(design)} is possible"
    if design.proven and design.upper_bound == math.inf:
        yield "proven"


def accepted(design):
    try:
        return ex.check_design(design).ok
    except ExtremalError:
        return False


def renamed(utility, name):
    changed = ex.FInformation(utility.f, name)
    assert changed.name == name
    return changed


def alternatives(design, field, donors):
    """Other contents of a field: those of other designs, and some that fit none."""
    own = getattr(design, field)
    others = [getattr(d, field) for d in donors]
    if field in ("value", "upper_bound", "epsilon"):
        others += [
            *(own * k for k in (0.0, 0.5, 0.999, 1.001, 2.0)),
            own + 1e-9,
            math.inf,
            math.nan,
            10**400,
            "0.4",
        ]
    elif field == "prior":
        others = [
            PRIOR,
            OTHER,
            ex.Prior(PRIOR.probabilities, LABELS[::-1]),
            ex.Prior([0.5, 0.3, 0.1, 0.1]),
            None,
        ]
    elif field == "prior_set":
        others = [None, BALL, WIDER, ELSEWHERE, "all priors"]
    elif field == "utility":
        others += [
            ex.utilities.chi_squared,
            renamed(ex.utilities.chi_squared, "mutual information"),
            "shares",
        ]
    elif field == "notion":
        others = [ex.PML, ex.LIP, ex.LDP, ex.MaximalLeakage, ex.LIP.above(0.9), ex.LIP.above(0.0), None]
        others += [replace(ex.PML, name="LIP"), replace(ex.PML, lowest=0.9), replace(ex.LIP, lowest=7.0)]
    elif field == "made":
        others += [ex.Mechanism(np.ones((3, 1)), LABELS), ex.Mechanism(np.eye(3), LABELS)]
        others += [ex.Mechanism(design.mechanism.matrix, LABELS[::-1]), ex.Mechanism(np.eye(4))]
    elif field == "proven":
        others = [False, True]
    return list({repr(content): content for content in others if content is not own}.values())


def fields(design):
    return [f for f in type(design).__dataclass_fields__ if f not in NO_CLAIMS]


def assert_never_fooled(changed):
    if accepted(changed):
        wrong = list(falsehoods(changed))
        assert not wrong, (wrong, str(changed))
        return 1
    return 0


@pytest.mark.parametrize("name", GENUINE)
def test_genuine_designs_of_every_kind_are_confirmed_and_what_they_say_is_true(name):
    assert ex.check_design(GENUINE[name]).ok, ex.check_design(GENUINE[name])
    assert not list(falsehoods(GENUINE[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_designs_without_a_proof_are_refused_whatever_is_changed(name):
    for field in fields(REFUSED[name]):
        if field != "notion":
            for content in alternatives(REFUSED[name], field, EVERY):
                assert not accepted(replace(REFUSED[name], **{field: content})), (field, content)


@pytest.mark.parametrize("name", SOME)
def test_no_field_can_be_changed_into_something_false(name):
    design = GENUINE[name]
    for field in fields(design):
        for content in alternatives(design, field, EVERY):
            assert_never_fooled(replace(design, **{field: content}))


@pytest.mark.slow
@pytest.mark.parametrize("name", GENUINE)
def test_no_two_fields_can_be_changed_into_something_false(name):
    """With the proof of another design, too, if that is what it takes."""
    design = GENUINE[name]
    for one, other in itertools.combinations([f for f in fields(design) if f not in PROOFS], 2):
        for a, b in itertools.product(*(alternatives(design, field, FEW) for field in (one, other))):
            assert_never_fooled(replace(design, **{one: a, other: b}))


@pytest.mark.slow
@pytest.mark.parametrize("name", GENUINE)
def test_no_design_takes_another_ones_proof_for_more_than_that_proves(name):
    """All fields of another design but one or two, so that whatever is stated has most of a proof."""
    design = GENUINE[name]
    for other in EVERY:
        for kept in itertools.combinations(fields(design), 2):
            assert_never_fooled(replace(other, **{field: getattr(design, field) for field in kept}))


# What an attack found, each with all that it takes


def test_shares_are_not_confirmed_under_another_notion():
    for notion in (ex.LIP, ex.LDP, ex.MaximalLeakage, ex.LIP.above(0.5)):
        assert not accepted(replace(GENUINE["shares"], notion=notion))


def test_sets_that_a_proof_knows_nothing_of_are_refused():
    assert not accepted(replace(GENUINE["lip"], prior_set=WIDER))


def test_a_set_around_another_prior_proves_nothing():
    design = GENUINE["shares over a set"]
    for changed in (replace(design, prior_set=ELSEWHERE), replace(design, prior=OTHER)):
        with refused(ex.errors.OptionError, "prior"):
            ex.check_design(changed)


@pytest.mark.parametrize("name", ["gain", "information", "norm"])
@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-7, 1e-9])
def test_values_are_held_against_themselves_however_small_they_are(name, epsilon):
    design = ex.design(PRIOR, epsilon, GENUINE[name].utility)
    off = max(1e-8, 1e-13 / epsilon)  # lifts are doubles, and differ from 1 by epsilon
    for factor in (0.0, 0.5, 1 - off, 1 + off, 2.0):
        if design.value != 0:
            assert not accepted(replace(design, value=design.value * factor, upper_bound=math.inf))


def test_a_name_belongs_to_what_it_names():
    design = ex.design(PRIOR, EPSILON, ex.utilities.chi_squared)
    assert accepted(design)
    assert not accepted(replace(design, utility=renamed(design.utility, "mutual information")))
    weighted = np.diag([1.0, 2, 3])
    assert accepted(ex.design(PRIOR, EPSILON, Quadratic(weighted, "some errors")))
    assert not accepted(ex.design(PRIOR, EPSILON, Quadratic(weighted, "shares")))


@pytest.mark.parametrize(
    "loss", [np.diag([1.0, 1, -0.8]), np.eye(3) + np.eye(3)[::-1] * 3, np.full((3, 3), math.nan)]
)
def test_what_is_no_squared_error_has_no_efficiency(loss):
    class Loss(type(ex.shares)):
        def loss(self, prior):
            return loss

    found = ex.check_design(replace(GENUINE["shares"], utility=Loss()))
    assert any("matrix" in problem for problem in found.problems)


def test_a_function_that_is_not_sub_linear_is_no_utility():
    for mu in (lambda prior, P: -((P**2).sum(axis=0) ** 0.5), lambda prior, P: (P**2).sum(axis=0)):
        with pytest.raises(ex.errors.UtilityError):
            ex.check_design(replace(GENUINE["norm"], utility=ex.Utility(mu, "norm")))


def test_the_corners_of_a_ball_are_its_worst_priors():
    for column in np.random.default_rng(0).random((20, 3)):
        exact = min(
            sum(Fraction(a) * Fraction(b) for a, b in zip(p, column, strict=True)) for p in corners(WIDER)
        )
        assert float(exact) == pytest.approx(WIDER.smallest_means(column[:, None])[0], rel=1e-12)


@pytest.mark.parametrize("kind", ["information", "lip", "set", "shares"])
def test_what_is_checked_is_read_once(kind):
    """A design that says something else when it is asked again is checked for what it said first."""
    genuine, reads = GENUINE[kind], []

    def told(name):
        def read(self):
            reads.append(name)
            return getattr(genuine, name)

        return property(read)

    names = (*Designed.__annotations__, "mechanism")
    assert ex.check_design(type("Told", (Designed,), {name: told(name) for name in names})()).ok
    assert sorted(reads) == sorted(names)


class AboveEverything(float):
    """A number that no other exceeds, whatever it is."""

    def __ge__(self, other):
        return True

    __gt__ = __ge__

    def __mul__(self, other):
        return self

    __add__ = __mul__


@pytest.mark.parametrize("kind", ["information", "lip", "set", "shares"])
def test_a_level_that_calls_itself_larger_than_it_is_is_compared_as_a_double(kind):
    assert not ex.check_design(replace(GENUINE[kind], epsilon=AboveEverything(0.1))).ok


def test_an_integer_that_no_double_holds_is_no_proof():
    assert not ex.check_design(replace(GENUINE["information"], proof=10**400)).ok
