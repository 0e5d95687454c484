"""The draw extracted from the proofs, against C and JavaScript: the same tables, the same words, the same reports."""

import subprocess

import numpy as np
import pytest

from extremal.draw.sampler import Sampler
from tests.support.alias_tables import random_weights
from tests.support.draws import by_node, by_python
from tests.support.extracted import missing, program
from tests.support.mechanism_files import CASES

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"needs {missing()}")


def bits(outcomes):
    """How many bits of a word choose the bucket."""
    return max(1, (outcomes - 1).bit_length())


def by_program(rows):
    """The table as it is stored, and the reports, for each (weights, words), from the extracted program."""
    lines = [
        f"{bits(len(weights))}\t{' '.join(map(str, weights))}\t{' '.join(map(str, words))}"
        for weights, words in rows
    ]
    done = subprocess.run(
        [program("draw")], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    answers = []
    for line in done.stdout.splitlines():
        table, reports, again = line.split("\t")
        assert again == reports  # from the stored table, too
        entries = [tuple(int(part) for part in entry.split(":")) for entry in table.split(" ")]
        answers.append((entries, [int(k) for k in reports.split()]))
    return answers


def by_c(weights):
    """The tables of a matrix of weights, entry by entry: (threshold, alias)."""
    n, m = np.shape(weights)
    sampler = Sampler(np.array(weights, dtype=np.uint64), tuple(range(n)), tuple(range(m)), bytes(32))
    b = sampler.b
    assert b == bits(m)
    tables = []
    for i in range(n):
        entries = sampler.entries[i << b : (i + 1) << b].tolist()
        tables.append([(entry >> b, entry & ((1 << b) - 1)) for entry in entries])
    return tables


def telling_words(rng, table):
    """Words at both sides of every threshold and at both ends of every bucket, with any last bits, and others."""
    size = 2**62 // len(table)
    ends = [
        j * size + u
        for j, (t, _) in enumerate(table)
        for u in (0, t - 1, t, t + 1, size - 1)
        if 0 <= u < size
    ]
    words = [4 * u + int(rng.integers(4)) for u in ends]
    return words + [int(word) for word in rng.integers(0, 2**64, size=20, dtype=np.uint64)]


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 13, 33])
def test_the_tables_of_c_are_those_of_the_extracted_program(m):
    weights = random_weights(np.random.default_rng(m), 12, m)
    assert [table for table, _ in by_program([(row, [0]) for row in weights])] == by_c(weights)


def test_the_extracted_program_c_and_the_browser_draw_the_same_reports_from_the_same_words():
    rng = np.random.default_rng(4)
    made = [certified for certified in CASES if len(certified.outputs) > 1]
    rows, draws, c = [], [], []
    for k, certified in enumerate(made):
        labels = certified.mechanism.outputs
        for answer, weights, table in zip(
            certified.inputs, certified.weights.tolist(), by_c(certified.weights), strict=True
        ):
            words = telling_words(rng, table)
            rows.append((weights, words))
            draws += [[k, answer, str(word)] for word in words]
            c += [labels.index(report) for report in by_python(certified, [answer] * len(words), words)]
    extracted = [report for _, reports in by_program(rows) for report in reports]
    assert extracted == c
    _, reports = by_node([certified.to_json() for certified in made], draws)
    javascript = [made[k].outputs.index(report) for (k, _, _), report in zip(draws, reports, strict=True)]
    assert javascript == extracted
    assert len(extracted) > 1000
