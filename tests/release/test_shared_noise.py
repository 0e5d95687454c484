"""No two questions, files, waves or pipelines share noise, unless person, question, occasion and answer are the same.

Judged by the reports, through everything in which answers can come: any two releases are either repetitions or
independent. Where nobody said which question a column is about, nothing is drawn with a key.
"""

import contextlib
import dataclasses
import io
import itertools
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as pa_csv
from scipy import stats

import extremal as ex
from extremal.certification.certify import certify
from extremal.errors import KeyingError
from tests.support.containers import CONTAINERS, Draw
from tests.support.joint import Released, findings
from tests.support.pipelines import PIPELINES, frame_of, passed_through, with_key_file
from tests.support.wording import refused

PRIOR = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
C, D = (certify(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, e), e) for e in (0.7, 0.5))
KEY, OTHER_KEY = bytes(range(150, 182)), bytes(range(151, 183))
N = 2000
PEOPLE = tuple(f"p{i}" for i in range(N))
KEYED = Draw(KEY, PEOPLE, "answer")
# Answers to two questions, and those to the first one after every third was corrected.
FIRST, SECOND = (
    tuple(np.random.default_rng(seed).choice(PRIOR.labels, N, p=PRIOR.probabilities).tolist())
    for seed in (1, 2)
)
CORRECTED = tuple(b if i % 3 == 0 else a for i, (a, b) in enumerate(zip(FIRST, SECOND, strict=True)))

pytestmark = pytest.mark.filterwarnings("ignore::extremal.draw.order.OrderWarning")

HOW = {
    "mechanism": [C, D],
    "answers": [FIRST, SECOND, CORRECTED],
    "column": ["answer", "Answer", "answer 2"],
    "occasion": [None, 2, "2nd"],
    "key": [KEY, KEY, OTHER_KEY],
}


def drawn_by(name, choice):
    draw = dataclasses.replace(KEYED, **{field: choice[field] for field in ("column", "occasion", "key")})
    return passed_through(name, choice["mechanism"], choice["answers"], draw)


def installed(name):
    wanted = {
        "scikit-learn": "sklearn",
        "ColumnTransformer": "sklearn",
        "folds": "sklearn",
        "DuckDB": "duckdb",
    }
    for word, module in wanted.items():
        if name.startswith(word):
            pytest.importorskip(module)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_repeats_a_list_or_is_independent_of_it(name):
    installed(name)
    base = {field: values[0] for field, values in HOW.items()}
    one = drawn_by(name, base)
    assert findings(one, drawn_by("list", base)) == []
    for field, value in [("column", "answer 2"), ("occasion", 2), ("answers", CORRECTED), ("key", OTHER_KEY)]:
        assert findings(one, drawn_by("list", base | {field: value})) == []


def test_any_two_releases_repeat_each_other_or_are_independent():
    """Through random containers and pipelines, about random questions, on random occasions."""
    chance = random.Random(4)
    names = []
    for name in [*CONTAINERS, *PIPELINES]:
        with contextlib.suppress(pytest.skip.Exception):
            installed(name)
            names.append(name)
    repeated = 0
    for _ in range(40):
        one = {field: chance.choice(values) for field, values in HOW.items()}
        kept = chance.sample(list(HOW), chance.randint(2, len(HOW)))
        two = {field: one[field] if field in kept else chance.choice(HOW[field]) for field in HOW}
        first, second = (drawn_by(chance.choice(names), choice) for choice in (one, two))
        assert findings(first, second) == []
        repeated += first.seed == second.seed
    assert 5 < repeated < 35


def test_two_questions_under_one_name_would_be_found():
    """What the library cannot see, the caller's own wrong name, the comparison sees: it is no empty test."""
    pytest.importorskip("sklearn")
    made = []
    for answers in (FIRST, SECOND):
        reports = PIPELINES["scikit-learn on an array"](C, list(answers), KEYED)
        made.append(Released("one name", C, answers, tuple(reports)))
    differ = [
        a != b for a, b, y, z in zip(FIRST, SECOND, *(one.reports for one in made), strict=True) if y != z
    ]
    assert all(differ)  # wherever reports differ, so do the answers
    assert any("dependent" in line for line in findings(*made))


# --- columns that nobody named --------------------------------------------------------------------

FRAME = frame_of(list(FIRST), KEYED)
IDS = list(PEOPLE)
ALONE = {"keyed": ex.Keyed(KEY, IDS)}
ARRAY = FRAME.to_numpy(dtype=object)
TEXT = FRAME.to_csv(index=False, header=False).encode()


def of_privatizer(data, ids, name, **how):
    from extremal.sklearn import Privatizer

    def use(path):
        return Privatizer({name: C}, keyed=ex.Keyed(path, ids), **how).fit_transform(data)

    return with_key_file(KEYED, use)


def imputed(column):
    from sklearn.impute import SimpleImputer

    made = SimpleImputer(strategy="most_frequent").set_output(transform="pandas")
    return of_privatizer(made.fit_transform(ARRAY), "x0", column)


def encoded(column):
    """Of an array each value of a question becomes a column, which is named after its position."""
    from sklearn.preprocessing import OneHotEncoder

    made = OneHotEncoder(sparse_output=False, dtype=int).set_output(transform="pandas")
    table = made.fit_transform(ARRAY[:, 1:]).astype(str).assign(person=IDS)
    binary = certify(*named(ex.Prior({"0": 0.7, "1": 0.3})))
    return ex.privatize(table, {column: binary}, keyed=ex.Keyed(KEY, "person"))


def named(prior):
    return prior, ex.theory.randomized_response_for_pml(prior, 0.3), 0.3


def by_positions():
    from sklearn.compose import ColumnTransformer

    def use(path):
        from extremal.sklearn import Privatizer

        made = Privatizer({1: C}, keyed=ex.Keyed(path, 0))
        return ColumnTransformer([("a", made, [0, 1]), ("b", made, [0, 2])]).fit_transform(ARRAY)

    return with_key_file(KEYED, use)


def frame(data, ids, name):
    return ex.privatize(data, {name: C}, keyed=ex.Keyed(KEY, ids))


def in_duckdb(query):
    import duckdb

    with duckdb.connect() as connection:
        connection.register("people", pa.table({"person": IDS, "answer": FIRST}))
        return connection.sql(query).to_arrow_table()


WINDOWS = ex.large.windows(PRIOR, 1.0)
NUMBERS = [len(answer) for answer in FIRST]
NAMELESS = {
    "list": lambda: C.privatize(list(FIRST), **ALONE),
    "numpy array": lambda: C.privatize(np.array(FIRST), **ALONE),
    "column of an array": lambda: C.privatize(ARRAY[:, 2], **ALONE),
    "codes": lambda: C.privatize_codes(np.zeros(N, dtype=np.int8), **ALONE),
    "pandas Series": lambda: C.privatize(pd.Series(FIRST), **ALONE),
    "pandas Series of an array": lambda: C.privatize(pd.DataFrame(ARRAY)[2], **ALONE),
    "polars Series": lambda: C.privatize(pl.Series(FIRST), **ALONE),
    "polars Series of an array": lambda: C.privatize(pl.DataFrame([list(FIRST)])["column_0"], **ALONE),
    "arrow array": lambda: C.privatize(pa.array(FIRST), **ALONE),
    "empty name": lambda: C.privatize(list(FIRST), **ALONE, column=""),
    "position": lambda: C.privatize(list(FIRST), **ALONE, column=2),
    "windows": lambda: WINDOWS.privatize(list(FIRST), **ALONE),
    "grid": lambda: ex.numeric.Grid([0, 10]).round(NUMBERS, **ALONE),
    "pandas frame of an array": lambda: frame(pd.DataFrame(ARRAY), IDS, 2),
    "polars frame of columns": lambda: frame(pl.DataFrame([IDS, list(FIRST)]), "column_0", "column_1"),
    "arrow table of a file without a header": lambda: frame(
        pa_csv.read_csv(io.BytesIO(TEXT), pa_csv.ReadOptions(autogenerate_column_names=True)), "f0", "f2"
    ),
    "polars frame of a file without a header": lambda: frame(
        pl.read_csv(TEXT, has_header=False), "column_1", "column_3"
    ),
    "pandas frame of a file with half a header": lambda: frame(
        pd.read_csv(io.BytesIO(b"person,,\n" + TEXT)), "person", "Unnamed: 2"
    ),
    "pandas frame of a file of an array": lambda: frame(
        pd.read_csv(io.StringIO(pd.DataFrame(ARRAY).to_csv(index=False))), "0", "2"
    ),
    "values of DuckDB": lambda: frame(
        in_duckdb("SELECT * FROM (VALUES ('a', 'never'), ('b', 'once'))"), "col0", "col1"
    ),
    "scikit-learn on an array": lambda: of_privatizer(ARRAY, 0, 2),
    "scikit-learn on an array, by a name that it used to make": lambda: of_privatizer(ARRAY, "x0", "x2"),
    "ColumnTransformer by positions": by_positions,
    "scikit-learn after an imputer": lambda: imputed("x2"),
    "scikit-learn after an encoder": lambda: encoded("x1_never"),
    "scikit-learn after an imputer with indicators": lambda: of_privatizer(
        pd.DataFrame({"person": IDS, "missingindicator_x1": FIRST}), "person", "missingindicator_x1"
    ),
    "table of a spreadsheet": lambda: frame(
        pd.DataFrame({"Column1": IDS, "Column2": FIRST}), "Column1", "Column2"
    ),
    "file without a header in R": lambda: frame(
        pl.DataFrame({"...1": IDS, "...2": list(FIRST)}), "...1", "...2"
    ),
    "file without a header in base R": lambda: frame(
        pl.DataFrame({"V1": IDS, "V2": list(FIRST)}), "V1", "V2"
    ),
    "matrix in R": lambda: frame(pl.DataFrame({"X1": IDS, "X2": list(FIRST)}), "X1", "X2"),
    "file without a header in Stata": lambda: frame(pl.DataFrame({"v1": IDS, "v2": list(FIRST)}), "v1", "v2"),
    "scikit-learn after products of columns": lambda: of_privatizer(
        pd.DataFrame({"person": IDS, "x0 x1": FIRST}), "person", "x0 x1"
    ),
    "scikit-learn after several steps": lambda: of_privatizer(
        pd.DataFrame(ARRAY, columns=["some__x0", "some__x1", "some__x2"]), "some__x0", "some__x2"
    ),
}


@pytest.mark.parametrize("name", NAMELESS)
def test_a_column_that_nobody_named_is_not_drawn_with_a_key(name):
    if "scikit" in name or "Transformer" in name:
        pytest.importorskip("sklearn")
    if "DuckDB" in name:
        pytest.importorskip("duckdb")
    with refused(KeyingError, "column"):
        NAMELESS[name]()


@pytest.mark.parametrize("name", ["V241049", "q1", "X-rays", "value 1", "vote2"])
def test_names_of_a_codebook_are_names(name):
    made = pd.DataFrame({"person": IDS, name: FIRST})
    assert len(frame(made, "person", name)) == N


@pytest.mark.parametrize("name", ["_1", "_c0", "col1", ""])
def test_a_column_of_spark_that_nobody_named_is_not_drawn_with_a_key(name):
    pytest.importorskip("pyspark")
    from extremal.release.job import Terms
    from extremal.release.spark import privatize_spark

    class Frame:  # refused before anything of Spark is asked
        mapInArrow = None

    with refused(KeyingError, "name"):
        privatize_spark(Frame(), {name: C}, Terms(keyed=ex.Keyed(KEY, "id")))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_of_a_file_that_nobody_named_is_not_drawn_with_a_key(tmp_path, kind):
    table = pl.DataFrame([IDS, list(FIRST)])
    source, target = tmp_path / f"s.{kind}", tmp_path / f"t.{kind}"
    table.write_csv(source) if kind == "csv" else table.write_parquet(source)
    with refused(KeyingError, "the column"):
        ex.privatize(source, {"column_1": C}, target=target, keyed=ex.Keyed(KEY, "column_0"))
    assert not target.exists()
    ex.privatize(source, {"column_1": C}, target=target)  # without a key no noise is shared


# --- files under one ledger -----------------------------------------------------------------------

SMALL = st.dictionaries(st.integers(0, 5), st.sampled_from(PRIOR.labels), min_size=1, max_size=6)
STEPS = st.lists(
    st.tuples(SMALL, st.sampled_from(["answer", "other"]), st.sampled_from([None, None, "w"]), st.booleans()),
    min_size=2,
    max_size=6,
)


@given(steps=STEPS)
def test_a_ledger_lets_nobody_give_two_reports_of_a_question_unless_it_is_a_correction(
    tmp_path_factory, steps
):
    """Against a model that knows every answer in the clear."""
    ledger = tmp_path_factory.mktemp("book") / "key.ledger"
    given_before: dict = {}  # (column, person) -> occasions with their answers
    for answers, column, occasion, correction in steps:
        frame = pd.DataFrame({"id": list(answers), column: list(answers.values())})
        before = [given_before.get((column, person), {}) for person in answers]
        second = any(set(known) - {occasion} for known in before)
        changed = any(
            occasion in known and answer not in known[occasion]
            for known, answer in zip(before, answers.values(), strict=True)
        )
        allowed = not second and (correction or not changed)
        how = {"keyed": ex.Keyed(KEY, "id", occasion), "ledger": ledger, "correction": correction}
        warned = (
            pytest.warns(UserWarning, match="answer changed")
            if allowed and changed
            else contextlib.nullcontext()
        )
        with warned if allowed else pytest.raises(KeyingError):
            ex.privatize(frame, {column: C}, **how)
        if allowed:
            for person, answer in answers.items():
                given_before.setdefault((column, person), {}).setdefault(occasion, set()).add(answer)


# --- windows --------------------------------------------------------------------------------------


def inside(reports, answers):
    """Whether the set of each report holds the answer: the noise of windows that tells something."""
    p, size = WINDOWS.prime, WINDOWS.size
    found = []
    for report, answer in zip(reports.tolist(), answers, strict=True):
        step, start = divmod(report, p)
        number = (PRIOR.labels.index(answer) - start) % p
        found.append(bool(WINDOWS.layout.places(step, np.array(number)) < size))
    return np.array(found)


def test_windows_of_two_questions_waves_or_keys_share_no_noise():
    def draw(answers=FIRST, column="q", **how):
        return WINDOWS.privatize(
            list(answers), keyed=dataclasses.replace(ex.Keyed(KEY, IDS), **how), column=column
        )

    first = draw()
    assert np.array_equal(first, draw())
    ones = inside(first, FIRST)
    for other, answers in [
        (draw(column="r"), FIRST),
        (draw(occasion=2), FIRST),
        (draw(key=OTHER_KEY), FIRST),
        (draw(SECOND, column="r"), SECOND),
        (draw(SECOND), SECOND),
    ]:
        there = inside(other, answers)
        changed = np.array([a != b for a, b in zip(FIRST, answers, strict=True)])
        chosen = changed if changed.any() else ~changed
        pairs = list(zip(ones[chosen].tolist(), there[chosen].tolist(), strict=True))
        table = [[pairs.count((a, b)) for b in (False, True)] for a in (False, True)]
        assert stats.fisher_exact(table).pvalue > 1e-9
        assert min(itertools.chain(*table)) > 0
