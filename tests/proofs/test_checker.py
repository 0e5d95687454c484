"""The checker extracted from the proofs, against `ex.load` and extremal.js: the same files are accepted.

extremal.js reads no files with blocks: there the first two must agree, and it must refuse.
"""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import extremal as ex
from extremal.certification import file as mechanism_file
from extremal.certification.integers import exact_masses, largest_exact_lift
from extremal.certification.proof import log_above
from extremal.errors import ExtremalError
from extremal.model.blocks import Blocks
from extremal.model.prior_set import PriorSet
from tests.support.blocks import in_blocks
from tests.support.extracted import by_checker, missing, verdicts
from tests.support.mechanism_files import CASES, redigest
from tests.support.prior_sets import some_sets

AT_ONCE = 500  # files that go to one process


pytestmark = pytest.mark.skipif(bool(missing()), reason=f"needs {missing()}")


def honest(rng, sets=0.5):
    """The document of a certificate: of few or many answers and reports, for a prior or a set of priors (so often)."""
    n, m = int(rng.integers(2, 7)), int(rng.integers(1, 8))
    priors = ex.Prior(rng.dirichlet(np.full(n, rng.choice([0.5, 5]))) * 0.9 + 0.1 / n)
    if rng.random() < sets:
        priors = some_sets(rng, n)[rng.integers(7)]
    labels = priors.labels
    matrix = rng.dirichlet(np.full(m, rng.choice([0.3, 3])), size=n)
    if rng.random() < 0.3:
        matrix = matrix * (rng.random((n, m)) < 0.7) + 1e-3 * (np.arange(m) == 0)
    mechanism = ex.Mechanism(matrix / matrix.sum(axis=1, keepdims=True), labels, range(m))
    leaks = ex.epsilon_pml(priors, mechanism)
    level = leaks + 1e-9 if math.isfinite(leaks) else 3.0
    try:
        certified = ex.certify(priors, mechanism, level, allow_true_answers=True)
    except ExtremalError:  # a report that some prior of the set never gives
        certified = ex.certify(priors, ex.Mechanism(np.full((n, m), 1 / m), labels, range(m)), 0.0)
    document = json.loads(certified.to_json())
    document.pop("evidence", None)  # the checker and extremal.js do not look at it
    return document


def honest_with_blocks(rng):
    """The same of a certificate with blocks, which are not in the order of the answers."""
    n = int(rng.integers(3, 9))
    count, m = int(rng.integers(2, n + 1)), int(rng.integers(1, 6))
    prior = ex.Prior(rng.dirichlet(np.full(n, 2.0)) * 0.9 + 0.1 / n)
    numbers = rng.permutation(np.concatenate((np.arange(count), rng.integers(0, count, size=n - count))))
    made = in_blocks(prior, numbers.tolist(), rng.dirichlet(np.full(m, 2.0), size=count).tolist(), range(m))
    level = ex.epsilon_pml(prior, made.dense()) + 1e-9
    return json.loads(ex.certify(prior, made, level, allow_true_answers=True).to_json())


# What a forger may do, who makes the digests and the leakage fit again. Each changes the table of weights, the
# document or both.


def as_it_is(rng, document, w):
    pass


def exactly_what_leaks(rng, document, w):
    document["epsilon"] = document["realised_epsilon"]


def a_level_just_below(rng, document, w):
    level = float(document["realised_epsilon"])
    for _ in range(int(rng.integers(1, 12))):
        level = max(math.nextafter(level, 0), 0.0)
    document["epsilon"] = repr(level)


def another_level(rng, document, w):
    document["epsilon"] = repr(float(document["epsilon"]) * float(rng.choice([0.0, 0.5, 0.99, 1.01, 2])))


def weight_moved(rng, document, w):
    i = int(rng.integers(len(w)))
    y, z = (int(rng.integers(w.shape[1])) for _ in range(2))
    most = int(w[i, y])
    step = min(most, int(rng.choice([1, 2**40, 2**55, most])))
    w[i, y] -= step
    w[i, z] += step


def rows_swapped(rng, document, w):
    i, j = (int(rng.integers(len(w))) for _ in range(2))
    w[[i, j]] = w[[j, i]]


def a_row_too_long(rng, document, w):
    i, y = (int(rng.integers(size)) for size in w.shape)
    w[i, y] += 1 if w[i, y] == 0 or rng.random() < 0.5 else -1


def another_prior(rng, document, w):
    p = np.array([float(x) for x in document["prior"]])
    q = ex.Prior(0.5 * p + 0.5 * rng.dirichlet(np.ones(len(p))))
    document["prior"] = [repr(x) for x in q.probabilities.tolist()]
    if document["prior_set"] is not None:  # it must hold the nominal prior still
        c = np.array([float(x) for x in document["prior_set"]["center"]])
        away = np.abs(q.probabilities - c)
        document["prior_set"]["radius"] = repr(min(2.0, float(away.sum()) + 0.01))
        document["prior_set"]["lower"] = ["0.0"] * len(p)
        document["prior_set"]["upper"] = ["1.0"] * len(p)


def a_prior_that_is_none(rng, document, w):
    k = int(rng.integers(len(document["prior"])))
    document["prior"][k] = str(rng.choice(["0.0", "1.5", "0.00001"]))


def a_larger_set(rng, document, w):
    s = document["prior_set"]
    if s is not None:
        s["radius"] = repr(min(2.0, float(s["radius"]) * float(rng.choice([1, 1.001, 2])) + 1e-6))
        s["lower"] = [repr(float(x) * float(rng.choice([0, 0.9, 1]))) for x in s["lower"]]
        s["upper"] = [repr(min(1.0, float(x) * float(rng.choice([1, 1.1, 9])))) for x in s["upper"]]


def a_smaller_set(rng, document, w):
    s = document["prior_set"]
    if s is not None:
        p = [float(x) for x in document["prior"]]
        s.update(center=list(document["prior"]), radius=repr(float(s["radius"]) * 0.3))
        s["lower"] = [repr(min(x, 0.5 * (x + float(l)))) for x, l in zip(p, s["lower"], strict=True)]
        s["upper"] = [repr(max(x, 0.5 * (x + float(u)))) for x, u in zip(p, s["upper"], strict=True)]


def an_odd_radius(rng, document, w):
    """As large as a radius may be, or larger."""
    if document["prior_set"] is not None:
        document["prior_set"]["radius"] = repr(float(rng.choice([2, math.nextafter(2, 3), 2.5, 1e300])))


def about(rng, number):
    """A number from 0 on that rounding might have made of this one, or next to it."""
    number = max(number, 0.0)
    return repr(float(rng.choice([math.nextafter(number, 0), number, math.nextafter(number, 2)])))


def what_is_missed(rng):
    """What a set may miss its center and the prior by, or less or more."""
    return 2.0**-39 * float(rng.choice([0, 0.5, 1, 1, 1, 1.01, 2, 1e9]))


def an_odd_bound(rng, document, w):
    """Bounds that just hold the center or the prior or do not, that are above 1, or in the wrong order."""
    s = document["prior_set"]
    if s is not None:
        k = int(rng.integers(len(s["center"])))
        near = float(rng.choice([float(s["center"][k]), float(document["prior"][k])]))
        if rng.random() < 0.5:
            s["lower"][k] = about(rng, near + what_is_missed(rng))
        else:
            s["upper"][k] = about(rng, float(rng.choice([near - what_is_missed(rng), 1.0])))


def a_prior_away(rng, document, w):
    """A set whose radius is about as large as the prior is away from its center."""
    s = document["prior_set"]
    if s is not None:
        n = len(s["center"])
        center = 0.9 * np.array([float(x) for x in s["center"]])
        center[int(rng.integers(n))] += 1 - float(center.sum())
        distance = sum(
            abs(Fraction(x) - Fraction(float(y))) for x, y in zip(center, document["prior"], strict=True)
        )
        s.update(center=[repr(x) for x in center.tolist()], lower=["0.0"] * n, upper=["1.0"] * n)
        s["radius"] = about(rng, float(distance) - what_is_missed(rng))


def a_sum_that_is_off(rng, document, w):
    """Probabilities of the prior, or of the center, that sum to 1 up to rounding, or not."""
    s = document["prior_set"]
    holder, name = (document, "prior") if s is None or rng.random() < 0.5 else (s, "center")
    numbers = [float(x) for x in holder[name]]
    k = int(np.argmax(numbers))
    off = float(rng.choice([2.0**-53, 2.0**-51, 2.0**-39, 1e-10, 1e-6]))
    numbers[k] += off * int(rng.choice([-3, -2, -1, 1, 2]))
    holder[name] = [repr(x) for x in numbers]


def a_probability_next_to_none(rng, document, w):
    """The least that the library takes, or less."""
    p = [float(x) for x in document["prior"]]
    k = int(rng.integers(len(p)))
    p[k - 1] += p[k]
    p[k] = float(rng.choice([1e-150, 1e-150, math.nextafter(1e-150, 0), 5e-324]))
    document["prior"] = [repr(x) for x in p]
    if document["prior_set"] is not None:
        document["prior_set"].update(radius="2.0", lower=["0.0"] * len(p), upper=["1.0"] * len(p))


def a_set_without_center(rng, document, w):
    if document["prior_set"] is not None:
        document["prior_set"].update(center=["0.0"] * len(document["prior"]), radius="2.0")


def a_row_named_wrongly(rng, document, w):
    """Rows or weights in a form that the format does not have; the table is written before."""
    group = document["weights"][int(rng.integers(len(document["weights"])))]
    if group:
        pair = group[int(rng.integers(len(group)))]
        n = len(document["inputs"])
        first = pair[1].split("-")[0].split(",")[0]
        forms = [[pair[0], f"0-{n}"], [pair[0], f"{n}"], [pair[0], f"{pair[1]},{first}"]]
        forms += [["0" + pair[0], pair[1]], ["-1", pair[1]], [str(2**64), pair[1]], [pair[0], ""]]
        pair[:] = forms[int(rng.integers(len(forms)))]


def a_column_less(rng, document, w):
    document["weights"].pop()


def an_answer_in_another_block(rng, document, w):
    """One that leaves its block for another, or for none, or is in two, or in none that there is."""
    if "blocks" in document:
        blocks = block_numbers(document)
        i, block = int(rng.integers(len(blocks))), int(rng.integers(len(w)))
        blocks[i] = block
        rows = mechanism_file._encode_blocks(np.array([*blocks, len(w)]))[:-1]
        spoilt = f"{rows[block]},{rng.integers(len(blocks) + 1)}"
        rows[block] = [rows[block], rows[block], spoilt, rows[block][2:]][int(rng.integers(4))]
        if rng.random() < 0.7:  # it is the form that decides
            document["epsilon"] = "800.0"
        document["blocks"] = rows


def blocks_out_of_place(rng, document, w):
    """Blocks in a file of version 2, or beside a set of priors; or version 3 without blocks."""
    kind = int(rng.integers(3))
    if kind == 0:
        document["version"] = 5 - document["version"]
    elif kind == 1:
        document["blocks"] = [str(i) for i in range(len(w))]
    else:
        p = document["prior"]
        some = {"center": p, "lower": p, "upper": p, "radius": "0.0", "confidence": "1.0"}
        document.update(prior_set=some | {"description": ""}, version=3)
        document.setdefault("blocks", [str(i) for i in range(len(p))])


ODD = (an_odd_radius, an_odd_bound, a_prior_away, a_sum_that_is_off, a_probability_next_to_none)
BEFORE = (
    *(as_it_is, exactly_what_leaks, a_level_just_below, another_level, weight_moved, rows_swapped),
    *(a_row_too_long, another_prior, a_prior_that_is_none, a_larger_set, a_smaller_set, a_set_without_center),
    *ODD,
)
AFTER = (a_row_named_wrongly, a_column_less, blocks_out_of_place)
OF_SETS = (a_larger_set, a_smaller_set, a_set_without_center, an_odd_radius, an_odd_bound, a_prior_away)
WITH_BLOCKS = (
    *(as_it_is, exactly_what_leaks, a_level_just_below, another_level, weight_moved, rows_swapped),
    *(a_row_too_long, another_prior, a_prior_that_is_none, a_sum_that_is_off, *AFTER),
    *[an_answer_in_another_block] * 3,
)


def block_numbers(document):
    """The block of each answer."""
    return mechanism_file._decode_blocks(document["blocks"], len(document["inputs"])).tolist()


def table(document):
    """The weights of a document, as Python integers: a forger may write what no unsigned integer holds."""
    rows = len(document.get("blocks", document["inputs"]))
    w = np.zeros((rows, len(document["outputs"])), dtype=object)
    for y, groups in enumerate(document["weights"]):
        column = np.zeros(len(w), dtype=np.uint64)
        mechanism_file._decode_column(groups, column)
        w[:, y] = column.tolist()
    return w


def written(w):
    """The columns as the format has them: one entry for rows that follow each other and have one weight."""
    columns = []
    for column in w.T.tolist():
        groups = [
            [i for i, _ in group] for _, group in itertools.groupby(enumerate(column), lambda item: item[1])
        ]
        runs = [(column[rows[0]], rows[0], rows[-1] + 1) for rows in groups]
        columns.append(mechanism_file._encode_column(runs))
    return columns


def leakage(document, w):
    """What these numbers leak, as the library would write it: a forger knows it, too."""
    p = [float(x) for x in document["prior"]]
    try:
        prior = ex.Prior(p, range(len(p)))
        if document["prior_set"] is not None:
            s = {name: document["prior_set"][name] for name in ("center", "lower", "upper")}
            bounds = [np.array([float(x) for x in values]) for values in s.values()]
            prior = PriorSet(prior, *bounds, float(document["prior_set"]["radius"]), 1.0)
        blocks = Blocks(prior.labels, np.array(block_numbers(document))) if "blocks" in document else None
        return log_above(largest_exact_lift(exact_masses(prior, blocks), w.astype(np.uint64), blocks))
    except (ExtremalError, ArithmeticError, ValueError):
        return 0.0


def forged(rng, document, how):
    """The document after a forgery, in the form of the format, with the digests and the leakage of what it says now."""
    document = json.loads(json.dumps(document))
    w = table(document)
    if how in BEFORE:
        how(rng, document, w)
        document["weights"] = written(w)
        if how in ODD:  # it is the form that decides
            document["epsilon"] = "800.0"
    else:
        how(rng, document, w)
    leaks = leakage(document, w)
    if math.isfinite(leaks):
        document["realised_epsilon"] = repr(leaks)
    return redigest(document)


def files(seed, count):
    """So many files, each kind of forgery in turn; one in five has blocks."""
    rng = np.random.default_rng(seed)
    plain, blocks = itertools.cycle((*BEFORE, *AFTER)), itertools.cycle(WITH_BLOCKS)
    made = []
    for k in range(count):
        how = next(blocks if k % 5 == 4 else plain)
        document = honest_with_blocks(rng) if k % 5 == 4 else honest(rng, 0.9 if how in OF_SETS else 0.5)
        made.append((how.__name__, forged(rng, document, how)))
    return made


def agree(made, folder):
    said = []
    for start in range(0, len(made), AT_ONCE):
        said += verdicts([json.dumps(document) for _, document in made[start : start + AT_ONCE]], folder)
    differ = [
        (name, *words)
        for (name, document), words in zip(made, said, strict=True)
        if words[0] != words[1] or words[2] != (words[0] and document["version"] == 2)
    ]
    assert differ == []
    return said


def test_the_checker_python_and_the_browser_agree_on_files_and_forgeries(tmp_path):
    made = files(11, 250)
    said = agree(made, tmp_path)
    accepted, refused = (
        {name for (name, _), words in zip(made, said, strict=True) if words[0] is verdict}
        for verdict in (True, False)
    )
    blocks = {words[0] for (_, document), words in zip(made, said, strict=True) if "blocks" in document}
    assert blocks == {True, False}
    assert "an_answer_in_another_block" in accepted & refused
    assert {"as_it_is", "exactly_what_leaks", "weight_moved", "a_smaller_set"} <= accepted
    assert {"a_level_just_below", "a_row_too_long", "a_larger_set", "a_set_without_center"} <= refused
    assert {how.__name__ for how in AFTER} <= refused
    assert {how.__name__ for how in ODD} <= accepted & refused


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_they_agree_on_ten_thousand_files(seed, tmp_path):
    said = agree(files(100 + seed, 1000), tmp_path)
    assert 200 < sum(words[0] for words in said) < 800


def test_the_checker_accepts_every_file_of_the_tests_of_the_format(tmp_path):
    paths = [tmp_path / f"{k}.json" for k in range(len(CASES))]
    for path, certified in zip(paths, CASES, strict=True):
        certified.save(path)
    assert set(by_checker(paths)) == {"yes"}


def test_the_checker_decides_by_the_exact_level(tmp_path):
    """Two answers, the identity: the largest lift is exactly 2, and the doubles around log 2 decide."""
    prior = ex.Prior([0.5, 0.5], ["a", "b"])
    told = ex.Mechanism(np.eye(2), ["a", "b"], ["a", "b"])
    document = json.loads(ex.certify(prior, told, 1.0, allow_true_answers=True).to_json())
    levels = {
        "0.6931471805599453": "no",
        "0.6931471805599454": "yes",
        "0.0": "no",
        "1e-300": "no",
        "800.0": "yes",
    }
    paths = [tmp_path / f"{level}.json" for level in levels]
    for path, level in zip(paths, levels, strict=True):
        path.write_text(json.dumps(document | {"epsilon": level}), encoding="utf-8")
    assert by_checker(paths) == list(levels.values())
