"""extremal-list.js against Python: the same lists are accepted, the same words give the same reports."""

import json
import os
import random
import shutil

import numpy as np
import pytest

import extremal as ex
from extremal.certification.integers import TOTAL
from extremal.lists.windows import _digest, pack, reports_of
from tests.support.draws import by_node

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("EXTREMAL_REQUIRE_NODE"), reason="needs node"
)

TOWNS = ["Łódź", "مكة", 'O\'Fallon "x" \\', "\u2028\x01", 7, "東京"]


def lists():
    """Of every kind: numbers, labels, a prior; few steps and all of them; the smallest primes; no weight outside."""
    skewed = ex.Prior(np.arange(1, 7) / 21, TOWNS)
    many = ex.Prior.from_counts({f"town {i}": 1000 // i + 1 for i in range(1, 3001)})
    return [
        ex.large.windows(TOWNS, 1.0),
        ex.large.windows(skewed, 0.8),
        ex.large.windows(many, 3.0),
        ex.large.windows(ex.Prior.uniform(50), 0.4),
        ex.large.windows(2, 0.5),
        ex.large.windows(3, 0.5),
        ex.large.windows(500, 0.1),
        ex.large.windows(70_000, 4.0),
    ]


def node(files, draws=()):
    return by_node(files, draws, "loadList", "extremal-list.js")


def test_the_same_words_give_the_same_reports_as_in_python():
    random.seed(3)
    made, draws, expected = lists(), [], []
    edges = [0, 3, 4, 2**64 - 1, 2**63, 2**63 - 1]
    for k, w in enumerate(made):
        bounds = [w.extra * (w.inside + 1), TOTAL - (w.prime - w.size) * w.outside]
        near = [4 * b + c for b in bounds for c in (-1, 0) if 0 <= 4 * b + c < 2**64]
        pairs = [
            [random.choice([random.getrandbits(64), random.choice(edges + near)]) for _ in range(2)]
            for _ in range(100)
        ]
        numbers = [random.randrange(w.answers) for _ in pairs]
        draws += [[k, w.labels[x], *map(str, pair)] for x, pair in zip(numbers, pairs, strict=True)]
        steps, places = np.array(pairs, dtype=np.uint64).T
        expected += reports_of(w, np.array(numbers), steps, places).tolist()
    verdicts, reports = node([w.to_json() for w in made], draws)
    assert [verdict["digest"] for verdict in verdicts] == [w.digest for w in made]
    assert reports == expected


def test_forged_lists_are_refused():
    """With digests made anew where that is what a forger would do."""
    w = ex.large.windows(ex.Prior(np.arange(1, 7) / 21, TOWNS), 0.8)
    document = w._document()
    forged = [
        {"epsilon": "0.1"},
        {"inside": str(w.inside + 1)},
        {"prime": 9},
        {"steps": 5},
        {"steps": 0},
        {"size": 0},
        {"size": w.prime},
        {"answers": 5},
        {"answers": 6.5},
        {"prior": [*document["prior"][:-1], "0.5"]},
        {"prior": None},
        {"labels": [*TOWNS[:-1], TOWNS[0]]},
        {"version": 1},
        {"more": 1},
    ]
    files = []
    for change in forged:
        changed = document | change
        files.append(json.dumps(changed | {"labels": pack(changed["labels"]), "digest": _digest(changed)}))
    damaged = json.loads(w.to_json())
    files += [
        json.dumps(damaged | change) for change in ({"digest": "0" * 64}, {"labels": "x"}, {"labels": []})
    ]
    files += ["{", "[]", "null", ex.certify(ex.design(ex.Prior([0.5, 0.5]), 0.5)).to_json()]
    verdicts, _ = node(files)
    for file, verdict in zip(files, verdicts, strict=True):
        assert isinstance(verdict, str), file
        assert verdict.startswith("ExtremalError: "), verdict
