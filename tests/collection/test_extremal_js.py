"""extremal.js against Python: the same files are accepted, the same words give the same reports."""

import json
import math
import os
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import extremal as ex
from tests.support.draws import by_node, by_python

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("EXTREMAL_REQUIRE_NODE"), reason="needs node"
)

PAGE = Path(__file__).parents[2] / "docs" / "api" / "file-format.md"


def some_mechanisms():
    """Certified mechanisms of many shapes: more and fewer outputs than inputs, zeros, one output, odd labels."""
    rng = np.random.default_rng(7)
    made = []
    for n, m in [(2, 1), (2, 2), (2, 3), (3, 3), (4, 7), (5, 8), (6, 9), (9, 2), (17, 33)]:
        prior = ex.Prior(rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n)
        matrix = rng.dirichlet(np.full(m, 0.4), size=n) * 0.9 + 0.1 / m
        mechanism = ex.Mechanism(matrix, prior.labels, range(m))
        made.append(ex.certify(prior, mechanism, ex.epsilon_pml(prior, mechanism) + 1e-6))
    prior = ex.Prior({"na\u00efve": 0.5, '"quoted" \\ \u2028': 0.3, "\x01": 0.2})
    made.append(ex.certify(prior, ex.design(prior, 0.6).mechanism, 0.6))
    return made


def some_sets():
    """One set of priors of each kind."""
    prior = ex.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    return {
        "l1 ball": ex.PriorSet.l1_ball(prior, 0.1),
        "intervals": ex.PriorSet.intervals([0.4, 0.2, 0.1], [0.6, 0.4, 0.3], nominal=prior),
        "at least": ex.PriorSet.at_least(prior, 0.05),
        "counts": ex.PriorSet.from_counts({"a": 50, "b": 30, "c": 20}),
    }


# Cases of one kind go to one process: to start it takes longer than all of them.


def test_sets_of_priors_are_verified_exactly():
    """What Python certifies is accepted; a level just below what it leaks in the worst case is not."""
    made, files = {}, []
    for kind, priors in some_sets().items():
        made[kind] = ex.certify(priors, ex.design(priors, 0.5).mechanism, 0.5)
        document = json.loads(made[kind].to_json())
        document["epsilon"] = repr(math.nextafter(made[kind].realised_epsilon, 0) * (1 - 1e-14))
        files += [made[kind].to_json(), json.dumps(document)]
    verdicts, _ = by_node(files)
    for (kind, certified), fits, leaks in zip(made.items(), verdicts[::2], verdicts[1::2], strict=True):
        assert fits["digest"] == certified.digest, kind
        assert "leaks more" in leaks, kind


def test_the_same_words_give_the_same_reports_as_in_python():
    random.seed(5)
    made = some_mechanisms()
    draws, expected = [], []
    for k, certified in enumerate(made):
        edges = [0, 2**64 - 1, 2**63, 2**62, 2**63 - 1]
        words = [random.choice([random.getrandbits(64), random.choice(edges)]) for _ in range(300)]
        answers = random.choices(certified.mechanism.inputs, k=300)
        draws += [[k, answer, str(word)] for answer, word in zip(answers, words, strict=True)]
        expected += by_python(certified, answers, words)
    verdicts, reports = by_node([certified.to_json() for certified in made], draws)
    assert [verdict["digest"] for verdict in verdicts] == [certified.digest for certified in made]
    assert reports == expected


def test_the_vectors_of_the_file_format_page_are_accepted():
    text = re.search(r"<!-- vectors:file -->\n```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[1]
    verdicts, _ = by_node([text])
    assert verdicts[0]["epsilon"] == 0.75


ENOUGH = {
    "0.0": False,
    "1e-300": False,
    "0.6931471805599453": False,  # the double next below log 2
    "0.6931471805599454": True,  # and next above it
    "2.0": True,
    "700.0": True,
}


def test_the_level_is_compared_exactly():
    """Two answers, uniform, the identity: the largest lift is exactly 2."""
    prior = ex.Prior([0.5, 0.5], ["a", "b"])
    told = ex.Mechanism(np.eye(2), ["a", "b"], ["a", "b"])
    document = json.loads(ex.certify(prior, told, 1.0, allow_true_answers=True).to_json())
    verdicts, _ = by_node([json.dumps({**document, "epsilon": epsilon}) for epsilon in ENOUGH])
    for (epsilon, enough), verdict in zip(ENOUGH.items(), verdicts, strict=True):
        # Where the level is enough, what is left to find is that the digest no longer fits.
        assert ("altered" if enough else "leaks more") in verdict, epsilon


ALTERED = {
    "another version": lambda d: d.update(version=1),
    "a member more": lambda d: d.update(extra=1),
    "a member less": lambda d: d.pop("method"),
    "a lower level": lambda d: d.update(epsilon="0.1"),
    "an infinite level": lambda d: d.update(epsilon="1e999"),
    "a prior of sum 1.5": lambda d: d.update(prior=["0.5", "0.5", "0.5"]),
    "a mass of -0": lambda d: d.update(prior=["0.5", "0.5", "-0.0"]),
    "a label twice": lambda d: d.update(inputs=["never", "never", "often"]),
    "another weight": lambda d: d["weights"][0][0].__setitem__(0, "1"),
    "no number": lambda d: d["weights"][0][0].__setitem__(1, "0-7"),
    "a row longer": lambda d: d["weights"][0].append(d["weights"][0][0]),
    "a row less": lambda d: d["weights"].pop(),
    "another digest": lambda d: d.update(digest="0" * 64),
}


def test_altered_files_are_refused():
    prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    text = ex.certify(prior, ex.design(prior, 0.6).mechanism, 0.6).to_json()
    files = []
    for change in ALTERED.values():
        document = json.loads(text)
        change(document)
        files.append(json.dumps(document))
    verdicts, _ = by_node(files)
    for name, verdict in zip(ALTERED, verdicts, strict=True):
        assert str(verdict).startswith("ExtremalError: "), name
