"""Certified mechanisms as files, for the tests of the format."""

import hashlib
import hmac
import json
import re
from pathlib import Path

import extremal as ex
from extremal.certification import file as mechanism_file
from extremal.certification.certify import certify
from extremal.model.mechanism import constant, identity
from tests.support.aes import aes_256

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "api" / "file-format.md", DOCS / "api" / "formats.md")


def small():
    prior = ex.Prior({"yes": 0.25, "no": 0.75})
    return certify(prior, ex.theory.randomized_response_for_pml(prior, 0.7), 0.7)


def sets_of_priors():
    prior = ex.Prior({"yes": 0.25, "no": 0.5, "naïve": 0.25})
    yield ex.PriorSet.l1_ball(prior, 0.1)
    yield ex.PriorSet.from_counts({"yes": 20, "no": 70, "never": 0}, 0.9)
    yield ex.PriorSet.intervals({"a": 0.1, "b": 0.3, 3: 0.2}, {"a": 0.4, "b": 0.6, 3: 0.35})
    yield ex.PriorSet.at_least(prior, 0.125)
    yield ex.PriorSet.at_least(4, 0)


def cases():
    skewed = ex.Prior.from_counts([1, 10, 100, 1000, 10_000])
    yield small()
    yield certify(skewed, ex.theory.closed_form.arc(skewed, 1.0), 1.0)
    yield certify(skewed, ex.theory.randomized_response_for_pml(skewed, 2.0), 2.0)
    yield certify(skewed, constant(skewed), 0.0)
    yield certify(skewed, identity(skewed), 20.0, allow_true_answers=True)
    rare = ex.Prior.from_counts([1e-9, 0.3, 0.7])
    yield certify(rare, ex.theory.closed_form.high_privacy(rare, 1e-10), 1e-10)
    yield certify(rare, identity(rare), rare.epsilon_max, allow_true_answers=True)
    for priors in sets_of_priors():
        yield certify(priors, ex.design(priors, 0.5, ex.mutual_information).mechanism, 0.5)


CASES = list(cases())


def redigest(document):
    """The document with the right digests: damage is then for the other checks to find."""
    document.pop("digest", None)
    document["digest"] = mechanism_file.digest(document)
    document["file_digest"] = mechanism_file.file_digest(document)
    return document


def of_the_pages():
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def code_of_the_page():
    """The functions on the page, as a reader in another language would write them from it."""
    names = {"hmac": hmac, "hashlib": hashlib, "json": json, "re": re, "aes_256": aes_256}
    for block in re.findall(r"```python\n(.*?)```", of_the_pages(), re.S):
        exec(block, names)
    return names
