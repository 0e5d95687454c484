"""Sets of priors in files: their words are made from their numbers, and a confidence needs evidence."""

import json

import numpy as np
import pytest
from scipy.stats import binom

import extremal as ex
from extremal.certification.certified import Certified
from extremal.errors import FormatError, PriorError
from extremal.model.evidence import CountedAnswers
from tests.support.mechanism_files import redigest
from tests.support.wording import refused

COUNTS = {"a": 50, "b": 30, "c": 0}


def document_of(priors, epsilon=0.3):
    return json.loads(ex.certify(ex.design(priors, epsilon, ex.mutual_information)).to_json())


def read(document):
    return Certified.from_json(json.dumps(redigest(document)))


@pytest.mark.parametrize("kind", ["both", "intervals", "l1"])
def test_a_set_from_counts_brings_its_evidence_and_is_computed_again(kind):
    priors = ex.PriorSet.from_counts(COUNTS, 0.9, kind=kind)
    document = document_of(priors)
    assert document["evidence"] == {"kind": "counts", "method": kind, "counts": ["50", "30", "0"]}
    found = read(document).prior_set
    assert found.evidence == CountedAnswers((50, 30, 0), kind)
    assert found.note == ""
    assert found.description == priors.description
    assert "as its maker claims" not in repr(found)


def test_the_intervals_that_evidence_gives_are_clopper_pearson_s():
    """By the binomial distribution itself: at each end, what was counted is as unlikely as the level allows."""
    bounds = CountedAnswers((50, 30, 20), "intervals").bounds(0.9)
    for count, low, high in zip((50, 30, 20), bounds.lower, bounds.upper, strict=True):
        tail = 0.1 / 6
        assert binom.sf(count - 1, 100, low) == pytest.approx(tail, rel=1e-5)
        assert binom.cdf(count, 100, high) == pytest.approx(tail, rel=1e-5)


def altered():
    def change(**members):
        return lambda d: d["evidence"].update(members)

    yield "another count", change(counts=["51", "30", "0"])
    yield "ten times as many people", change(counts=["500", "300", "0"])
    yield "another method", change(method="l1")
    yield "an unknown method", change(method="guess")
    yield "an unknown kind", change(kind="oracle")
    yield "a count too few", change(counts=["50", "30"])
    yield "a number for a text", change(counts=[50, 30, 0])
    yield "a fraction", change(counts=["50.0", "30", "0"])
    yield "a sign", change(counts=["50", "30", "-0"])
    yield "other digits", change(counts=["50", "30", "٠"])
    yield "too many digits", change(counts=["9" * 400, "30", "0"])
    yield "nobody", change(counts=["0", "0", "0"])
    yield "one member more", change(more=1)
    yield "nothing", lambda d: d.update(evidence=None)
    yield "a list", lambda d: d.update(evidence=[])
    yield "a higher confidence", lambda d: d["prior_set"].update(confidence="0.999999")
    yield "certainty", lambda d: d["prior_set"].update(confidence="1.0")
    yield "a smaller set", lambda d: d["prior_set"].update(radius="0.2")
    yield "a larger set", lambda d: d["prior_set"].update(radius="0.4")
    yield "other bounds", lambda d: d["prior_set"].update(upper=["0.8", "0.8", "0.5"])
    yield "no set", lambda d: d.update(prior_set=None)


@pytest.mark.parametrize(("what", "change"), list(altered()), ids=lambda x: x if isinstance(x, str) else "")
def test_evidence_of_another_set_is_refused(what, change):
    """With digests that fit: whoever alters a file can compute them anew."""
    document = document_of(ex.PriorSet.from_counts(COUNTS, 0.9), 0.1)
    assert read(document).prior_set.evidence is not None
    change(document)
    with pytest.raises(FormatError) as caught:
        read(document)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_rounding_of_another_machine_is_no_other_set():
    document = document_of(ex.PriorSet.from_counts(COUNTS, 0.9), 0.1)
    upper = document["prior_set"]["upper"]
    upper[0] = repr(float(np.nextafter(float(upper[0]), 1)))
    assert read(document).prior_set.evidence is not None


def test_a_claimed_confidence_is_called_a_claim_everywhere():
    """The forgery of a hostile test: one prior, called all priors whatever, with confidence 0.999999."""
    prior = ex.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    document = document_of(ex.PriorSet.l1_ball(prior, 0))
    document["prior_set"] |= {"confidence": "0.999999", "description": "all priors whatever"}
    c = read(document)
    assert c.prior_set.description == "one prior"
    assert "confidence 0.999999 as its maker claims" in repr(c.prior_set)
    assert "all priors whatever" not in f"{c!r} {c.prior_set!r} {ex.audit(c)!s}"
    made = ex.audit(c)
    assert "is claimed, not proven" in str(made)
    page = made.to_markdown()
    assert "in the set (one prior); that it holds the true one with confidence 0.999999 is claimed" in page
    assert "is a claim of its maker: no evidence comes with it" in page
    assert page.count("all priors whatever") == 1
    assert "- A note by the maker of the set, not proven: “all priors whatever”." in page
    assert Certified.from_json(c.to_json()).prior_set.note == "all priors whatever"  # kept when saved again


def test_with_evidence_what_is_left_to_trust_is_said():
    made = ex.audit(ex.certify(ex.design(ex.PriorSet.from_counts(COUNTS), 0.2)))
    page = made.to_markdown()
    assert "which holds the true one with confidence 0.95" in page
    assert "The set was computed again from its evidence." in page
    assert "not proven" not in page


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        (ex.PriorSet.l1_ball(ex.Prior.uniform(3), 0.2), "l1 ball of radius 0.2"),
        (ex.PriorSet.l1_ball(ex.Prior.uniform(3), 2), "all priors"),
        (ex.PriorSet.at_least(3, 0.1), "every mass at least 0.1"),
        (ex.PriorSet.at_least(3, 0), "all priors"),
        (ex.PriorSet.intervals([0.2, 0.1], [0.9, 0.7]), "per-symbol intervals"),
        (ex.PriorSet.intervals([0.5, 0.5], [0.5, 0.5]), "one prior"),
    ],
)
def test_words_are_made_from_numbers(priors, words):
    assert priors.description == words
    document = document_of(priors, 0.1)
    document["prior_set"]["description"] = "as the census says"
    found = read(document).prior_set
    assert (found.description, found.note) == (words, "as the census says")


def test_a_set_cannot_be_built_with_evidence_of_another():
    priors = ex.PriorSet.from_counts(COUNTS, 0.9)
    numbers = (priors.nominal, priors.center, priors.lower, priors.upper, priors.radius)
    with refused(PriorError, "another"):
        ex.PriorSet(*numbers, 0.99, priors.evidence)
    assert ex.PriorSet(*numbers, 0.99).evidence is None
