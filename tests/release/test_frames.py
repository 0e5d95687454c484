"""Frames: the same kind comes back, reports in the named columns, everything else as it was."""

import io
import re
from collections import defaultdict
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import extremal as ex
from extremal.certification.certify import certify
from extremal.draw.columns import from_list
from extremal.draw.sampler import SeededWords
from extremal.errors import KeyingError, OptionError, ValuesError
from extremal.model.mechanism import identity
from extremal.release import privatize as module
from tests.support.falsifier import finds_more_than
from tests.support.wording import refused

WORDS = ex.Prior({"a": 0.5, "bb": 0.3, "ccc": 0.2})
C = certify(WORDS, ex.theory.randomized_response(WORDS, 1.0), 1.0)
NUMBERS = ex.Prior([0.5, 0.3, 0.2], [3, -1, 100])
D = certify(NUMBERS, ex.theory.randomized_response(NUMBERS, 1.0), 1.0)
SAME = certify(WORDS, identity(WORDS), 2.0, allow_true_answers=True)
KEY = bytes(range(32))

VALUES = {
    "id": list(range(100, 160)),
    "answer": ["a", "bb", "ccc"] * 20,
    "number": [3, -1, 100] * 20,
    "other": [None, 1.5, float("inf")] * 20,
}

KINDS = {
    "pandas": lambda d: pd.DataFrame(d, index=np.repeat(np.arange(len(d["id"]) // 2), 2)),
    "pandas categories": lambda d: pd.DataFrame(d).astype({"answer": "category", "number": "category"}),
    "pandas nullable": lambda d: pd.DataFrame(d).convert_dtypes(),
    "polars": pl.DataFrame,
    "polars categories": lambda d: pl.DataFrame(d).with_columns(pl.col("answer").cast(pl.Categorical)),
    "arrow": pa.table,
    "arrow dictionaries": lambda d: pa.table({**d, "answer": pa.array(d["answer"]).dictionary_encode()}),
}


def column(frame, name):
    values = frame[name]
    return values.to_pylist() if isinstance(values, pa.ChunkedArray) else values.to_list()


@pytest.fixture(params=list(KINDS))
def frame(request):
    return KINDS[request.param](VALUES)


def test_the_same_kind_comes_back_with_the_reports_of_its_columns(frame):
    reports = ex.privatize(frame, {"number": D, "answer": C}, source=SeededWords(1))
    assert type(reports) is type(frame)
    source = SeededWords(1)
    assert column(reports, "number") == D.privatize(VALUES["number"], source=source)
    assert column(reports, "answer") == C.privatize(VALUES["answer"], source=source)
    assert column(frame, "answer") == VALUES["answer"]  # what came in is untouched


def test_types_order_index_and_other_columns_are_kept(frame):
    reports = ex.privatize(frame, {"answer": C, "number": D})
    if isinstance(frame, pd.DataFrame):
        assert reports.index.equals(frame.index)
        assert reports.columns.equals(frame.columns)
        assert reports.dtypes.equals(frame.dtypes)
        assert reports[["id", "other"]].equals(frame[["id", "other"]])
    elif isinstance(frame, pl.DataFrame):
        assert reports.schema == frame.schema
        assert reports.select("id", "other").equals(frame.select("id", "other"))
    else:
        assert reports.schema.equals(frame.schema, check_metadata=True)
        assert reports.select(["id", "other"]).equals(frame.select(["id", "other"]))


def test_keyed_reports_are_those_of_the_column(frame):
    reports = ex.privatize(frame, {"answer": C, "number": D}, keyed=ex.Keyed(KEY, "id"))
    assert column(reports, "answer") == C.privatize(
        VALUES["answer"], keyed=ex.Keyed(KEY, VALUES["id"]), column="answer"
    )
    again = ex.privatize(frame, {"number": D, "answer": C}, keyed=ex.Keyed(KEY, VALUES["id"]))
    assert column(again, "number") == column(reports, "number")
    assert column(again, "answer") == column(reports, "answer")


def test_an_empty_frame_stays_empty(frame):
    reports = ex.privatize(frame[:0], {"answer": C, "number": D}, keyed=ex.Keyed(KEY, "id"))
    assert reports.shape == (0, 4)
    assert type(reports) is type(frame)


def test_two_columns_get_independent_words():
    """Error rate: binomial tails at 1e-9 for each of the three ways; less than 1e-8 in all."""
    n = 60_000
    pair = ex.Prior.uniform(["x", "y"])
    coin = certify(pair, ex.Mechanism(np.full((2, 2), 0.5), pair.labels, pair.labels), 0.0)
    frame = pl.DataFrame({"one": ["x"] * n, "two": ["x"] * n})
    for how in ({}, {"source": SeededWords(1)}, {"keyed": ex.Keyed(KEY, range(n))}):
        reports = ex.privatize(frame, {"one": coin, "two": coin}, **how)
        same = int((reports["one"] == reports["two"]).sum())
        assert min(stats.binom.cdf(same, n, 0.5), stats.binom.sf(same - 1, n, 0.5)) > 0.5e-9


def test_the_same_rows_are_dropped_from_all_columns():
    values = {
        "id": [1, 2, 3, 4, 5],
        "answer": ["a", "what", "bb", None, "a"],
        "number": [3, 3, 7, 3, -1],
        "other": [1, 2, 3, 4, 5],
    }
    numbers = certify(NUMBERS, identity(NUMBERS), 2.0, allow_true_answers=True)
    for build in (KINDS["polars"], KINDS["arrow"], lambda d: pd.DataFrame(d, index=list("vwxyz"))):
        frame = build(values)
        reports = ex.privatize(
            frame, {"answer": SAME, "number": numbers}, unknown="drop", allow_true_answers=True
        )
        assert column(reports, "id") == [1, 5]
        assert column(reports, "other") == [1, 5]
        assert column(reports, "answer") == ["a", "a"]
        assert column(reports, "number") == [3, -1]
        if isinstance(frame, pd.DataFrame):
            assert reports.index.tolist() == ["v", "z"]
        keyed = ex.privatize(frame, {"answer": C, "number": D}, unknown="drop", keyed=ex.Keyed(KEY, "id"))
        assert column(keyed, "number") == D.privatize([3, -1], keyed=ex.Keyed(KEY, [1, 5]), column="number")
        some = ex.privatize(
            frame,
            {"answer": SAME, "number": numbers},
            unknown="drop",
            unknown_as={"answer": "ccc"},
            allow_true_answers=True,
        )
        assert column(some, "answer") == ["a", "ccc", "ccc", "a"]
        assert column(some, "number") == [3, 3, 3, -1]


def test_unknown_values_are_counted_and_not_repeated():
    frame = pl.DataFrame({"answer": ["a", "what", None, "a"], "number": [3, 3, 3, 4]})
    with refused(ValuesError, "'answer'", "others in 2 of 4 rows, first in record 2 (1 missing)"):
        ex.privatize(frame, {"answer": C, "number": D})
    with refused(ValuesError, "'number'", "others in 1 of 4 rows, first in record 4"):
        ex.privatize(frame, {"answer": C, "number": D}, unknown_as={"answer": "a"})
    strange = pd.DataFrame({"answer": [f"unknown {i}\n" for i in range(100_000)]})
    with refused(ValuesError, "others in 100000 of 100000 rows, first in record 1") as caught:
        ex.privatize(strange, {"answer": C})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


ONE = pd.DataFrame({"answer": ["a"], "id": [1]})
LAZY = pl.LazyFrame({"answer": ["a"]})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ex.privatize(LAZY, {"answer": C}),
            ValuesError,
            "two draws of one record are two releases",
        ),
        (
            lambda: ex.privatize(LAZY, {"answer": C}, keyed=ex.Keyed(KEY, "id")),
            ValuesError,
            "frame",
        ),
        (lambda: ex.privatize({"answer": ["a"]}, {"answer": C}), ValuesError, "frame"),
        (lambda: ex.privatize(ONE["answer"], {"answer": C}), ValuesError, "Series"),
        (
            lambda: ex.privatize(ONE, {"question": C}),
            ValuesError,
            "'question'",
        ),
        (lambda: ex.privatize(ONE, {}), ValuesError, "mechanisms"),
        (lambda: ex.privatize(ONE, C), ValuesError, "mechanism"),
        (lambda: ex.privatize(ONE, {"answer": C.mechanism}), ValuesError, "Mechanism"),
        (lambda: ex.privatize(ONE, {("answer",): C}), ValuesError, "('answer',)"),
        (lambda: ex.privatize(ONE, {"answer": C}, unknown="keep"), ValuesError, "unknown"),
        (lambda: ex.privatize(ONE, {"answer": C}, unknown_as="a"), ValuesError, "unknown_as"),
        (
            lambda: ex.privatize(ONE, {"answer": C}, unknown_as={"id": 1}),
            ValuesError,
            "'answer'",
        ),
        (
            lambda: ex.privatize(ONE, {"answer": C}, unknown_as={"answer": "z"}),
            ValuesError,
            "unknown_as",
        ),
        (lambda: ex.privatize(ONE, {"answer": C}, unknown_as={"answer": []}), ValuesError, "unknown_as"),
        (lambda: ex.privatize(ONE, {"answer": C}, keyed=KEY), KeyingError, "keyed"),
        (
            lambda: ex.privatize(ONE, {"answer": C}, keyed=ex.Keyed(KEY, "who")),
            ValuesError,
            "'who'",
        ),
        (
            lambda: ex.privatize(ONE, {"answer": C}, keyed=ex.Keyed(KEY, "answer")),
            ValuesError,
            "'answer', which is to be privatised",
        ),
        (
            lambda: ex.privatize(ONE, {"answer": C}, keyed=ex.Keyed(KEY, [1, 2])),
            KeyingError,
            "ids",
        ),
        (
            lambda: ex.privatize(pd.concat([ONE, ONE]), {"answer": C}, keyed=ex.Keyed(KEY, "id")),
            KeyingError,
            "ids",
        ),
        (
            lambda: ex.privatize(ONE, {"answer": C}, keyed=ex.Keyed(KEY, "id"), source=SeededWords(1)),
            KeyingError,
            "draws",
        ),
        (lambda: ex.privatize(ONE, {"answer": C}, ledger="ledger"), KeyingError, "ledger alone"),
        (
            lambda: ex.privatize(pd.DataFrame({"": ["a"]}), {"": C}, keyed=ex.Keyed(KEY, [1])),
            KeyingError,
            "column",
        ),
        (
            lambda: ex.privatize(pd.DataFrame({0: ["a"]}), {0: C}, keyed=ex.Keyed(KEY, [1])),
            KeyingError,
            "column",
        ),
        (
            lambda: ex.privatize(pd.DataFrame([["a", "a"]], columns=["x", "x"]), {"x": C}),
            ValuesError,
            "column names",
        ),
        (
            lambda: ex.privatize(pd.DataFrame({("x", "y"): ["a"]}), {("x", "y"): C}),
            ValuesError,
            "['a', 'bb', 'ccc']",
        ),
        (lambda: ex.privatize(ONE, {"answer": C}, order="keep"), OptionError, "order"),
        (lambda: ex.privatize(ONE, {"answer": C}, target="x.csv"), OptionError, "target"),
        (lambda: ex.privatize(ONE, {"answer": C}, key=KEY), TypeError, "'key'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(call, error, message):
    with refused(error, message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_column_is_released_once():
    pairs = ex.Prior.product(WORDS, WORDS)
    joint = certify(pairs, identity(pairs), 4.0, allow_true_answers=True)
    frame = pd.DataFrame({"x": ["a"], "y": ["a"]})
    for mechanisms in ({"x": C, ("x", "y"): joint}, {("x", "x"): joint}):
        with refused(ValuesError, "two draws of one value are two releases"):
            ex.privatize(frame, mechanisms, allow_true_answers=True)


def test_a_narwhals_frame_and_columns_without_a_name_are_frames_too():
    frame = nw.from_native(pl.DataFrame({"answer": ["a"]}))
    assert isinstance(ex.privatize(frame, {"answer": SAME}, allow_true_answers=True), nw.DataFrame)
    numbered = pd.DataFrame([["a", 1]])
    assert ex.privatize(numbered, {0: SAME}, allow_true_answers=True).equals(numbered)


def test_a_kind_of_column_nobody_knows_is_read_value_by_value(monkeypatch):
    monkeypatch.setattr(module, "as_column", lambda sampler, values: from_list(sampler, list(values)))
    frame = pd.DataFrame({"answer": ["a", "x", "bb"], "n": [1, 2, 3]}, index=[5, 5, 9])
    reports = ex.privatize(frame, {"answer": SAME}, unknown="drop", allow_true_answers=True)
    assert reports.index.tolist() == [5, 9]
    assert reports["answer"].tolist() == ["a", "bb"]


def test_metadata_that_may_describe_the_values_are_left_out():
    frame = pd.DataFrame({"answer": ["a", "bb"], "n": [1, 2]}, index=[3, 4])
    frame.attrs = {"answers": "a bb"}
    assert ex.privatize(frame, {"answer": C}).attrs == {}
    assert frame.attrs == {"answers": "a bb"}
    table = pa.Table.from_pandas(frame.astype({"answer": "category"}))
    table = table.replace_schema_metadata({**table.schema.metadata, b"histogram": b"1 1"})
    fields = [
        table.schema.field(0).with_metadata({"most": "a"}),
        table.schema.field(1).with_metadata({"unit": "m"}),
    ]
    table = table.cast(pa.schema([*fields, table.schema.field(2)], metadata=table.schema.metadata))
    reports = ex.privatize(table, {"answer": C})
    assert set(reports.schema.metadata) == {b"pandas"}
    assert b"attributes" not in reports.schema.metadata[b"pandas"]
    assert reports.schema.field("answer").metadata is None
    assert reports.schema.field("n").metadata is None
    back = reports.to_pandas()
    assert back.index.tolist() == [3, 4]
    assert back["answer"].cat.categories.tolist() == ["a", "bb", "ccc"]
    assert reports.to_pandas()["answer"].dtype == "category"


# --- the falsifier --------------------------------------------------------------------------------

LEAST = 0.4
FEW = certify(WORDS, ex.theory.randomized_response_for_pml(WORDS, LEAST), LEAST)


def ipc(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def serialised(frame):
    """Everything there is to a frame, as bytes."""
    if isinstance(frame, pd.DataFrame):
        return ipc(pa.Table.from_pandas(frame)) + repr((frame.dtypes.to_dict(), frame.attrs)).encode()
    if isinstance(frame, pl.DataFrame):
        file = io.BytesIO()
        frame.write_ipc(file)
        return file.getvalue() + repr([(s.dtype, s.flags) for s in frame]).encode()
    return ipc(frame)


def runs_of(build, release, count):
    """What is released in `count` runs for every value of the first person; the others are fixed."""
    return {label: [release(build([label, "ccc", "a"])) for _ in range(count)] for label in WORDS.labels}


def answers_of(frame):
    return tuple(nw.from_native(frame)["answer"].to_list())


BUILDERS = {
    "pandas": lambda v: pd.DataFrame({"answer": v, "n": [1, 2, 3]}),
    "pandas categories": lambda v: pd.DataFrame({"answer": pd.Categorical(v, pd.unique(np.array(v)))}),
    "polars categories": lambda v: pl.DataFrame(
        {"answer": pl.Series(v, dtype=pl.Categorical), "n": [1, 2, 3]}
    ),
    "polars enum": lambda v: pl.DataFrame({"answer": pl.Series(v, dtype=pl.Enum(["ccc", "bb", "a"]))}),
    "arrow dictionary": lambda v: pa.table({"answer": pa.array(v).dictionary_encode(), "n": [1, 2, 3]}),
}


@pytest.mark.parametrize("kind", list(BUILDERS))
def test_what_is_serialised_leaks_no_more_than_epsilon(kind):
    """Frames with the same reports are the same bytes, whatever the answers were: so they leak what reports leak."""
    runs = runs_of(BUILDERS[kind], lambda f: ex.privatize(f, {"answer": FEW}), 50)
    written = defaultdict(set)
    for label, frame in ((label, frame) for label, made in runs.items() for frame in made):
        written[answers_of(frame)].add((serialised(frame), label))
    assert all(len({content for content, _ in forms}) == 1 for forms in written.values())
    assert sum(len({label for _, label in forms}) > 1 for forms in written.values()) > 6  # of 27


def test_the_falsifier_finds_a_dictionary_in_the_order_of_the_values():
    def careless(frame):
        reports = FEW.privatize(frame["answer"].to_pylist())
        symbols = pa.array([*dict.fromkeys([*frame["answer"].to_pylist(), *FEW.outputs])])
        codes = pa.array([symbols.to_pylist().index(y) for y in reports], pa.int32())
        return ipc(pa.table({"answer": pa.DictionaryArray.from_arrays(codes, symbols)}))

    assert finds_more_than(LEAST, runs_of(BUILDERS["arrow dictionary"], careless, 160), WORDS)


def test_the_falsifier_finds_a_mechanism_that_leaks_more():
    loose = certify(WORDS, ex.theory.randomized_response_for_pml(WORDS, 1.2), 1.2)
    runs = runs_of(list, lambda answers: loose.privatize(answers)[0], 500)
    assert finds_more_than(LEAST, runs, WORDS)
    assert not finds_more_than(1.2, runs, WORDS)


# --- DuckDB ---------------------------------------------------------------------------------------


def test_the_duckdb_recipes_hold():
    pytest.importorskip("duckdb")
    page = (Path(__file__).parents[2] / "docs" / "ecosystem.md").read_text(encoding="utf-8")
    page = page.partition("\n## DuckDB\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 2
    space = {}
    for block in blocks:
        exec(compile(block, "docs/ecosystem.md", "exec"), space)
    space["connection"].close()


def test_the_hazards_of_duckdb_are_those_on_the_page():
    """Without side_effects one draw serves every row of a constant; a view draws again; missing passes through."""
    duckdb = pytest.importorskip("duckdb")
    drawn = []

    def draw(values):
        drawn.append(len(values))
        return C.privatize(values)

    reports, again = {}, {}
    for effects in (False, True):
        with duckdb.connect() as connection:
            connection.create_function(
                "draw", draw, ["VARCHAR"], "VARCHAR", type="arrow", side_effects=effects
            )
            drawn.clear()
            reports[effects] = connection.execute("SELECT draw('a') FROM range(1000)").fetchall()
            assert sum(drawn) == (1000 if effects else 1)
            connection.execute(
                "CREATE TABLE survey AS SELECT i, ['a', 'bb'][i % 2 + 1] AS x FROM range(1000) t(i)"
            )
            connection.execute("CREATE VIEW seen AS SELECT i, draw(x) AS y FROM survey")
            again[effects] = [
                connection.execute("SELECT y FROM seen ORDER BY i").fetchall() for _ in range(2)
            ]
            assert connection.execute("SELECT draw(NULL)").fetchone() == (None,)
    assert len(set(reports[False])) == 1
    assert len(set(reports[True])) == len(C.outputs)
    assert again[True][0] != again[True][1]
    assert again[False][0] != again[False][1]
