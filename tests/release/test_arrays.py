"""Columns of any kind: the same kind comes back, nothing but reports is in it, nothing unknown passes."""

import io
import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import extremal as ex
from extremal.certification.certify import certify
from extremal.draw.sampler import PIECE, Sampler, SeededWords
from extremal.errors import CertificationError, ValuesError
from extremal.model.mechanism import constant, identity
from tests.support.wording import refused

WORDS = ex.Prior({"a": 0.5, "bb": 0.3, "ccc": 0.2})
C = certify(WORDS, ex.theory.randomized_response(WORDS, 1.0), 1.0)
NUMBERS = ex.Prior([0.5, 0.3, 0.2], [3, -1, 100])
D = certify(NUMBERS, ex.theory.randomized_response(NUMBERS, 1.0), 1.0)


def as_list(column):
    for convert in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, convert):
            return getattr(column, convert)()
    return list(column)


def kind(column):
    return getattr(column, "dtype", getattr(column, "type", None))


TEXT = {
    "list": list,
    "numpy U": np.array,
    "numpy object": lambda v: np.array(v, dtype=object),
    "numpy T": lambda v: np.array(v, dtype=np.dtypes.StringDType()),
    "pandas default": lambda v: pd.Series(v, index=range(10, 10 + len(v)), name="q"),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas string python": lambda v: pd.Series(v, dtype=pd.StringDtype("python")),
    "pandas arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "pandas ordered": lambda v: pd.Series(v, dtype=pd.CategoricalDtype(["ccc", "a", "bb"], ordered=True)),
    "polars String": lambda v: pl.Series("q", v),
    "polars Categorical": lambda v: pl.Series("q", v, dtype=pl.Categorical),
    "polars Enum": lambda v: pl.Series("q", v, dtype=pl.Enum(["bb", "ccc", "a"])),
    "arrow string": lambda v: pa.array(v, pa.string()),
    "arrow large string": lambda v: pa.array(v, pa.large_string()),
    "arrow view": lambda v: pa.array(v, pa.string_view()),
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "arrow int8 dictionary": lambda v: pa.array(v, pa.dictionary(pa.int8(), pa.string())),
    "arrow uint16 dictionary": lambda v: pa.array(v, pa.dictionary(pa.uint16(), pa.large_string())),
    "arrow chunks": lambda v: pa.chunked_array([v[:2], v[2:]], pa.string()),
    "arrow dictionary chunks": lambda v: pa.chunked_array(
        [pa.array(v[:2], pa.string()).dictionary_encode(), pa.array(v[2:], pa.string()).dictionary_encode()]
    ),
    "arrow slice": lambda v: pa.array(["a", *v, "a"]).dictionary_encode()[1:-1],
}

INTEGERS = {
    "list": list,
    **{
        f"numpy {t}": (lambda v, t=t: np.array(v, dtype=t))
        for t in ("i1", "i2", "i4", "i8", ">i4", "f4", "f8")
    },
    "numpy object": lambda v: np.array(v, dtype=object),
    "pandas int64": lambda v: pd.Series(v, index=[f"row {i}" for i in range(len(v))], name="n"),
    "pandas int8": lambda v: pd.Series(v, dtype="int8"),
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas Int8": lambda v: pd.Series(v, dtype="Int8"),
    "pandas float64": lambda v: pd.Series(v, dtype="float64"),
    "pandas arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.int32())),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "polars Int64": lambda v: pl.Series("n", v),
    "polars Int8": lambda v: pl.Series("n", v, dtype=pl.Int8),
    "polars Float64": lambda v: pl.Series("n", v, dtype=pl.Float64),
    "arrow int64": lambda v: pa.array(v, pa.int64()),
    "arrow int8": lambda v: pa.array(v, pa.int8()),
    "arrow double": lambda v: pa.array([float(x) for x in v], pa.float64()),
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "arrow chunks": lambda v: pa.chunked_array([v[:1], v[1:]], pa.int64()),
}

CASES = [(C, build, name) for name, build in TEXT.items()] + [
    (D, build, name) for name, build in INTEGERS.items()
]
IDS = [f"{'text' if c is C else 'integers'}, {name}" for c, _, name in CASES]


@pytest.mark.parametrize(("c", "build", "name"), CASES, ids=IDS)
def test_the_same_kind_comes_back_with_the_reports_of_the_list(c, build, name):
    values = list(np.random.default_rng(0).permutation(np.array(c.inputs * 30, dtype=object)))
    column = build(values)
    reports = c.privatize(column, source=SeededWords(1))
    assert type(reports) is type(column)
    assert kind(reports) == kind(column)
    assert as_list(reports) == c.privatize(values, source=SeededWords(1))
    assert as_list(column) == values  # what came in is untouched


@pytest.mark.parametrize(("c", "build", "name"), CASES, ids=IDS)
def test_keyed_reports_do_not_depend_on_the_kind_of_column(c, build, name):
    values = list(c.inputs) * 20
    reports = c.privatize(build(values), keyed=ex.Keyed(bytes(range(32)), range(60)), column="q")
    assert as_list(reports) == c.privatize(values, keyed=ex.Keyed(bytes(range(32)), range(60)), column="q")


@pytest.mark.parametrize(("c", "build", "name"), CASES, ids=IDS)
def test_an_empty_column_stays_empty(c, build, name):
    column = build([])
    try:
        reports = c.privatize(column)
    except ValuesError:
        pytest.fail("nothing is unknown in nothing")
    assert type(reports) is type(column)
    assert as_list(reports) == []


def test_index_name_and_chunks_are_kept():
    index = pd.MultiIndex.from_tuples([(1, "x"), (1, "y"), (2, "x")], names=["i", "j"])
    s = pd.Series(["a", "bb", "ccc"], index=index, name="answer")
    r = C.privatize(s)
    assert r.index.equals(index)
    assert r.index.names == ["i", "j"]
    assert r.name == "answer"
    dates = pd.Series(["a", "bb"], index=pd.date_range("2024-01-01", periods=2), dtype="category")
    assert C.privatize(dates).index.equals(dates.index)
    assert C.privatize(pl.Series("answer", ["a"])).name == "answer"
    chunks = pa.chunked_array([["a"], [], ["bb", "ccc"]], pa.string())
    assert [len(chunk) for chunk in C.privatize(chunks).chunks] == [1, 0, 2]
    assert C.privatize(pa.chunked_array([], pa.string())).type == pa.string()


def test_an_order_that_was_declared_is_kept():
    dtype = pd.CategoricalDtype(["ccc", "a", "bb"], ordered=True)
    r = C.privatize(pd.Series(["a", "bb", "ccc"] * 100, dtype=dtype), source=SeededWords(1))
    assert r.dtype == dtype
    assert r.cat.ordered
    assert r.tolist() == C.privatize(["a", "bb", "ccc"] * 100, source=SeededWords(1))


@given(seed=st.integers(0, 2**32))
def test_integer_labels_of_any_size_and_distance_are_found(seed):
    rng = np.random.default_rng(seed)
    spread = int(rng.choice([4, 100, 10**6, 2**40, 2**62]))
    labels = sorted({int(x) for x in rng.integers(-spread, spread, 6)})
    if len(labels) < 2:
        return
    c = certify(ex.Prior.uniform(labels), identity(ex.Prior.uniform(labels)), 2.0, allow_true_answers=True)
    for dtype in ("i1", "u1", "i2", "u4", "i8", "u8"):
        info = np.iinfo(dtype)
        fitting = [x for x in labels if info.min <= x <= info.max]
        if fitting:
            assert c.privatize(np.array(fitting, dtype=dtype), allow_true_answers=True).tolist() == fitting
        # What equals a label only modulo the size of the dtype, and neighbours of labels, are no labels.
        near = {x % (info.max + 1) for x in labels} | {x + 1 for x in labels} | {x - 1 for x in labels}
        strange = [x for x in near | {info.min, info.max} if info.min <= x <= info.max and x not in labels]
        for value in strange:
            with pytest.raises(ValuesError):
                c.privatize(np.array([value], dtype=dtype), allow_true_answers=True)


def test_booleans_and_floats_are_labels_too():
    truth = ex.Prior({True: 0.5, False: 0.5})
    c = certify(truth, identity(truth), 1.0, allow_true_answers=True)
    values = [True, False, True]
    for column in (
        np.array(values),
        pd.Series(values),
        pd.Series(values, dtype="boolean"),
        pl.Series(values),
    ):
        assert kind(c.privatize(column, allow_true_answers=True)) == kind(column)
        assert as_list(c.privatize(column, allow_true_answers=True)) == values
    assert c.privatize(pa.array(values), allow_true_answers=True).to_pylist() == values
    floats = ex.Prior({0.5: 0.5, -1.25: 0.25, 3.0: 0.25})
    d = certify(floats, identity(floats), 2.0, allow_true_answers=True)
    for dtype in ("f2", "f4", "f8"):
        assert d.privatize(np.array([0.5, 3.0], dtype=dtype), allow_true_answers=True).tolist() == [0.5, 3.0]
    assert d.privatize(np.array([3, 3]), allow_true_answers=True).tolist() == [3, 3]  # 3 equals 3.0
    with refused(ValuesError, "missing"):
        d.privatize(np.array([0.5, np.nan]), allow_true_answers=True)


def test_tuples_are_labels_too():
    pairs = ex.Prior({("x", 1): 0.5, ("y", 2): 0.5})
    c = certify(pairs, identity(pairs), 1.0, allow_true_answers=True)
    assert c.privatize([("x", 1), ("y", 2)], allow_true_answers=True) == [("x", 1), ("y", 2)]
    s = pd.Series([("x", 1), ("y", 2)])
    assert c.privatize(s, allow_true_answers=True).tolist() == s.tolist()
    joint = ex.theory.randomized_response(2, 1.0).compose(ex.theory.randomized_response(2, 1.0))
    d = certify(ex.Prior.uniform(2), joint, 2.0)
    reports = d.privatize(np.array([0, 1]))
    assert reports.dtype == object
    assert set(reports) <= set(joint.outputs)


def test_outputs_of_another_type_get_a_sensible_one():
    """More outputs than inputs: integers."""
    P = np.full((3, 5), 0.2)
    c = certify(WORDS, ex.Mechanism(P, WORDS.labels), 0.0)
    values = ["a", "bb", "ccc"]
    assert all(type(y) is int for y in c.privatize(values))
    assert c.privatize(np.array(values)).dtype == np.int64
    assert c.privatize(pd.Series(values)).dtype == np.int64
    assert c.privatize(pd.Series(values, dtype="string")).dtype.kind == "i"
    assert c.privatize(pd.Series(values, dtype="category")).cat.categories.tolist() == [0, 1, 2, 3, 4]
    assert c.privatize(pl.Series(values)).dtype == pl.Int64
    assert c.privatize(pl.Series(values, dtype=pl.Enum(values))).dtype == pl.Int64
    assert c.privatize(pa.array(values)).type == pa.int64()
    assert c.privatize(pa.array(values).dictionary_encode()).type.value_type == pa.int64()
    mixed = certify(WORDS, ex.Mechanism(np.full((3, 2), 0.5), WORDS.labels, ["x", 7]), 0.0)
    assert mixed.privatize(np.array(values)).dtype == object
    assert set(mixed.privatize(pl.Series(values * 50)).to_list()) == {"x", 7}
    with pytest.raises(ValuesError, match="one type"):
        mixed.privatize(pa.array(values))


def test_outputs_too_large_for_the_dtype_widen_it():
    prior = ex.Prior.uniform(2)
    c = certify(prior, ex.Mechanism(np.full((2, 2), 0.5), [0, 1], [0, 1000]), 0.0)
    assert c.privatize(np.zeros(100, dtype=np.int8)).dtype == np.int64
    assert set(c.privatize(pd.Series(np.zeros(100), dtype="Int8")).tolist()) == {0, 1000}
    assert set(c.privatize(pa.array([0] * 100, pa.int8())).to_pylist()) == {0, 1000}
    assert set(c.privatize(pl.Series([0] * 100, dtype=pl.Int8)).to_list()) == {0, 1000}


def test_more_outputs_than_an_index_can_number_widen_it():
    c = certify(WORDS, ex.Mechanism(np.full((3, 300), 1 / 300), WORDS.labels), 0.0)
    column = pa.array(["a"] * 3000, pa.dictionary(pa.int8(), pa.string()))
    assert len(set(c.privatize(column).to_pylist())) > 290
    assert len(set(c.privatize(pd.Series(["a"] * 3000, dtype="category")))) > 290


# --- nothing but the reports is in what comes back ------------------------------------------------


def serialised(column):
    """Everything that would be written: values, types, categories and their order, flags, names."""
    if isinstance(column, pd.Series):
        details = [repr(column.dtype), column.name, column.attrs, repr(column.index.tolist())]
        if isinstance(column.dtype, pd.CategoricalDtype):
            details += [
                column.cat.categories.tolist(),
                column.cat.codes.tolist(),
                str(column.cat.codes.dtype),
            ]
        return repr([details, column.tolist()]).encode()
    if isinstance(column, pl.Series):
        file = io.BytesIO()
        column.to_frame("c").write_ipc(file)
        return file.getvalue() + repr([column.dtype, column.flags, column.name]).encode()
    if isinstance(column, pa.ChunkedArray):
        return b"".join(serialised(chunk) for chunk in column.chunks) + str(column.type).encode()
    if isinstance(column, pa.Array):
        dictionary = column.dictionary.to_pylist() if isinstance(column, pa.DictionaryArray) else None
        buffers = [b.to_pybytes() if b else None for b in column.buffers()]
        return repr([str(column.type), dictionary, column.to_pylist(), buffers, column.offset]).encode()
    if isinstance(column, np.ndarray):
        return pickle.dumps((column.dtype.str, column.flags.num, column.tolist()))
    return pickle.dumps([(type(value), value) for value in column])


SPARSE = certify(WORDS, constant(WORDS), 0.0)


@pytest.mark.parametrize("name", [name for name in TEXT if name != "arrow slice"])
@pytest.mark.parametrize("c", [C, SPARSE], ids=["three outputs", "one output"])
def test_what_comes_back_is_a_function_of_the_reports_alone(c, name):
    """Two columns with the same reports are the same bytes, whatever the values were.

    So the leakage of what is serialised is the leakage of the reports, which is certified. Types made from
    the values, in the order of the values, come in: dictionaries, categories, widths of strings.
    """
    written = {}
    seeds = itertools.count()
    for values in itertools.product(WORDS.labels, repeat=3):
        for _ in range(6 if len(c.outputs) > 1 else 1):
            reports = c.privatize(TEXT[name](list(values)), source=SeededWords(next(seeds)))
            written.setdefault(tuple(as_list(reports)), set()).add(serialised(reports))
    assert all(len(forms) == 1 for forms in written.values())
    assert len(written) == len(c.outputs) ** 3


DECLARED = ("polars Enum", "pandas ordered")  # their values are known to their types


@pytest.mark.parametrize("name", [name for name in TEXT if name not in DECLARED])
@pytest.mark.parametrize("policy", [{"unknown": "drop"}, {"unknown_as": "a"}], ids=["drop", "map"])
def test_no_trace_of_an_unknown_value_is_left(name, policy):
    reports = C.privatize(TEXT[name](["secret", "a", "bb", "a much longer secret"]), **policy)
    assert b"secret" not in serialised(reports)


def leakage_at_least(secrets, written, level):
    """A lower bound of the leakage of what was written, right with probability 1 - 2 level a cell.

    log of P(y|x) / P(y), the first at its lower and the second at its upper Clopper-Pearson bound.
    """
    found = 0.0
    cells, people = Counter(zip(secrets, written, strict=True)), Counter(secrets)
    for y, total in Counter(written).items():
        above = stats.beta.isf(level, total + 1, len(written) - total) if total < len(written) else 1.0
        for x, here in people.items():
            both = cells[x, y]
            below = stats.beta.ppf(level, both, here - both + 1) if both else 0.0
            found = max(found, math.log(below / above)) if below else found
    return found


@pytest.mark.parametrize(
    "name",
    [
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("pandas category", "numpy U", "polars Categorical")
        ),
        *("list", "arrow dictionary"),
    ],
)
def test_a_falsifier_finds_no_leakage_above_epsilon_in_what_is_written(name):
    """One record a column, written in full. Error rate: 5 interfaces x 18 bounds at 1e-9, below 1e-7 in all.

    It has power: were the secret written somewhere, it would find that.
    """
    true = ex.epsilon_pml(WORDS, C.mechanism)
    rng = np.random.default_rng(1)
    secrets = rng.choice(np.array(WORDS.labels, dtype=object), 1500, p=WORDS.probabilities).tolist()
    written = [serialised(C.privatize(TEXT[name]([x]))) for x in secrets]
    found = leakage_at_least(secrets, written, 1e-9)
    assert found <= true
    assert leakage_at_least(secrets, [f"{w}{x}" for w, x in zip(written, secrets, strict=True)], 1e-9) > true


def test_equal_values_of_different_types_leave_no_trace():
    one = ex.Prior({1: 0.5, 2: 0.5})
    c = certify(one, identity(one), 1.0, allow_true_answers=True)
    assert [
        type(y) for y in c.privatize([1, 1.0, True, np.int64(1), np.float32(1)], allow_true_answers=True)
    ] == [int] * 5


def test_types_that_numpy_lacks_are_columns_too():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int16()), pa.array(["a", "bb"]))
    keyed = {"keyed": ex.Keyed(bytes(range(32)), range(3)), "column": "q"}
    reports = C.privatize(runs, **keyed)
    assert reports.type == runs.type
    assert reports.to_pylist() == C.privatize(["a", "a", "bb"], **keyed)
    wide = pl.Series("", [3, -1, 100], dtype=pl.Int128)
    reports = D.privatize(wide, **keyed)
    assert reports.dtype == pl.Int128
    assert reports.to_list() == D.privatize([3, -1, 100], **keyed)
    by_wide, by_list = (ex.Keyed(bytes(range(32)), ids) for ids in (wide, [3, -1, 100]))
    assert D.privatize([3, -1, 100], keyed=by_wide, column="q") == D.privatize(
        [3, -1, 100], keyed=by_list, column="q"
    )


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (pa.RunEndEncodedArray.from_arrays([2], ["z"]), "others in 2 of 2 rows"),
        (pa.array(["z"], pa.string_view()), "others in 1 of 1 rows"),
        (pl.Series([5, None], dtype=pl.Int128), "others in 2 of 2 rows, first in record 1 (1 missing)"),
        (np.array([0.25], dtype=np.longdouble), "others in 1 of 1 rows"),
        (pd.Series(pd.period_range("2020", periods=1, freq="D")), "others in 1 of 1 rows"),
    ],
)
def test_values_of_rare_types_are_counted(values, named):
    for c in (C, D):
        with refused(ValuesError, named):
            c.privatize(values)


@pytest.mark.parametrize("dtype", [pl.Enum(["bb", "z", "ccc", "a"]), pl.Categorical, pl.String])
def test_a_long_column_of_polars_has_the_reports_of_the_list(dtype):
    """Longer than what one thread gathers."""
    values = (["a", "bb", "ccc", "a", "a"] * (PIECE // 4))[: PIECE + 7]
    series = pl.Series("q", values, dtype=dtype)
    keyed = {"keyed": ex.Keyed(bytes(range(32)), range(len(values))), "column": "q"}
    reports = C.privatize(series, **keyed)
    assert (reports.dtype, reports.name, reports.n_chunks()) == (series.dtype, "q", 1)
    assert reports.to_list() == C.privatize(values, **keyed)


# --- unknown and missing values -------------------------------------------------------------------

MISSING = {
    "list": lambda v: v,
    "list with nan": lambda v: [float("nan") if x is None else x for x in v],
    "list with NA": lambda v: [pd.NA if x is None else x for x in v],
    "numpy object": lambda v: np.array(v, dtype=object),
    "pandas default": pd.Series,
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "polars String": pl.Series,
    "polars Categorical": lambda v: pl.Series(v, dtype=pl.Categorical),
    "polars Enum": lambda v: pl.Series(v, dtype=pl.Enum(["x", "a", "bb", "ccc"])),
    "arrow string": pa.array,
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "arrow uint8 dictionary": lambda v: pa.array(v, pa.dictionary(pa.uint8(), pa.string())),
    "arrow null in dictionary": lambda v: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, 0]), pa.array(["a", "x", None])
    ),
    "arrow chunks": lambda v: pa.chunked_array([v[:2], v[2:]]),
}


@pytest.mark.parametrize("name", list(MISSING))
def test_unknown_and_missing_values_are_counted_and_not_repeated(name):
    with pytest.raises(ValuesError) as caught:
        C.privatize(MISSING[name](["a", "x", None, "a"]))
    message = str(caught.value)
    assert "\n" not in message
    for part in ("in 2 of 4 rows, first in record 2", "(1 missing)", "'a', 'bb', 'ccc'"):
        assert part in message
    assert "'x'" not in message


@pytest.mark.parametrize("name", list(MISSING))
def test_unknown_and_missing_values_are_dropped_or_mapped_where_asked(name):
    column = MISSING[name](["a", "x", None, "a"])
    reports = C.privatize(column, unknown="drop")
    assert len(reports) == 2
    assert set(as_list(reports)) <= set(C.outputs)
    if isinstance(column, pd.Series):
        assert reports.index.tolist() == [0, 3]
    same = certify(WORDS, identity(WORDS), 2.0, allow_true_answers=True)
    assert as_list(same.privatize(column, unknown_as="ccc", allow_true_answers=True)) == [
        "a",
        "ccc",
        "ccc",
        "a",
    ]
    assert as_list(same.privatize(column, unknown="drop", allow_true_answers=True)) == ["a", "a"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([3, None, -1], dtype="Int64"),
        pd.Series([3, None, -1]),
        pl.Series([3, None, -1]),
        pa.array([3, None, -1]),
        np.array([3, np.nan, -1]),
        np.ma.array([3, 100, -1], mask=[False, True, False]),
        [3, None, -1],
    ],
    ids=lambda column: type(column).__name__ + str(kind(column)),
)
def test_a_missing_number_never_passes_through(column):
    with refused(ValuesError, "(1 missing)"):
        D.privatize(column)
    assert set(as_list(D.privatize(column, unknown_as=3))) <= {3, -1, 100}
    assert len(D.privatize(column, unknown="drop")) == 2


def test_only_missing_values_are_refused_too():
    for column in ([None], pd.Series([None]), pl.Series([None]), pa.array([None]), np.array([None])):
        with refused(ValuesError, "(1 missing)"):
            C.privatize(column)


def test_twenty_thousand_unknown_values_are_one_line():
    values = [f"unknown {i}\n" for i in range(20_000)]
    for column in (values, np.array(values), pd.Series(values), pl.Series(values), pa.array(values)):
        with pytest.raises(ValuesError) as caught:
            C.privatize(column)
        message = str(caught.value)
        assert "\n" not in message
        assert len(message) < 600
        assert "20000 of 20000 rows" in message
        assert "unknown 0" not in message


def test_values_that_cannot_be_labels_are_unknown():
    with refused(ValuesError, "1 of 2 rows"):
        C.privatize([["a"], "a"])
    with refused(ValuesError, "1 of 1 rows"):
        C.privatize(pa.array([["a"]]))
    with refused(ValuesError, "2 of 2 rows"):
        C.privatize(np.array([1, 2]))
    with refused(ValuesError, "1 of 1 rows"):
        C.privatize(np.array([b"a"]))
    with refused(ValuesError, "1 of 2 rows"):
        D.privatize(["1", 3])
    with refused(ValuesError, "1 of 1 rows"):
        C.privatize(np.array(["2024-01-01"], dtype="M8[D]"))


def test_unused_entries_of_a_dictionary_do_no_harm():
    column = pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array(["unknown", "a", None]))
    assert len(C.privatize(column)) == 2
    assert len(C.privatize(pd.Series(["a"], dtype=pd.CategoricalDtype(["unknown", "a"])))) == 1


@pytest.mark.parametrize(
    "values",
    ["a", b"a", 3, None, {"a": 1}, np.array([["a"]]), np.array("a"), pd.DataFrame({"q": ["a"]}), object()],
    ids=lambda v: type(v).__name__,
)
def test_what_is_no_column_is_refused(values):
    with refused(ValuesError, "values"):
        C.privatize(values)


def test_values_of_numpy_are_never_repeated():
    for values in ([np.int64(5), np.str_("z")], np.array([np.int64(5), np.str_("z")], dtype=object)):
        with refused(ValuesError, "others in 2 of 2 rows, first in record 1"):
            C.privatize(values)
    with refused(ValuesError, "unknown_as"):
        C.privatize(["a"], unknown_as=np.int64(3))


@pytest.mark.parametrize("source", [5, "os", np.random.default_rng(0), SeededWords])
def test_a_source_gives_words(source):
    with refused(ValuesError, "SecureWords()"):
        C.privatize(["a"], source=source)


def test_the_policy_must_make_sense():
    with refused(ValuesError, "unknown"):
        C.privatize(["a"], unknown="ignore")
    with refused(ValuesError, "unknown"):
        C.privatize(["a"], unknown="drop", unknown_as="a")
    for label in ("other", ["a"], 5):
        with refused(ValuesError, "unknown_as"):
            C.privatize(["a"], unknown_as=label)


def test_iterables_become_lists():
    assert isinstance(C.privatize(("a", "bb")), list)
    assert len(C.privatize(x for x in ["a", "bb"])) == 2
    assert D.privatize(range(3, 4))[0] in D.outputs


def test_two_releases_of_the_same_column_differ():
    values = np.array(["a", "bb"] * 500)
    assert not np.array_equal(C.privatize(values), C.privatize(values))


@pytest.mark.parametrize("name", ["list", "numpy U", "pandas category", "polars Enum", "arrow dictionary"])
def test_reports_follow_the_certified_distribution_through_every_interface(name):
    """Error rate: 3 x 3 binomial tails at 1e-9 for each of five interfaces; less than 1e-7 in all."""
    n = 60_000
    for i, label in enumerate(WORDS.labels):
        reports = as_list(C.privatize(TEXT[name]([label] * n)))
        for j, y in enumerate(C.outputs):
            p = float(C.weights[i, j]) / 2**62
            count = reports.count(y)
            assert min(stats.binom.cdf(count, n, p), stats.binom.sf(count - 1, n, p)) > 0.5e-9


def test_a_set_of_values_is_refused_as_it_has_no_order():
    prior = ex.Prior([0.5, 0.5], labels=["a", "b"])
    certified = ex.certify(prior, ex.design(prior, 0.5, ex.mutual_information).mechanism, 0.5)
    for values in ({"a"}, frozenset("ab"), {"a": 1}.keys()):
        with refused(ex.errors.ValuesError, "values"):
            certified.privatize(values)


# --- codes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 128, 129, 256, 300])
def test_codes_that_are_no_rows_are_refused_in_every_dtype(n):
    """-1 as a signed byte has the bits of 255, which is a row of a mechanism with 256 inputs."""
    prior = ex.Prior.uniform(n)
    c = certify(prior, identity(prior), prior.epsilon_max, allow_true_answers=True)
    for dtype in ("i1", "u1", "i2", ">i2", "u2", "i4", "i8", "u8"):
        info = np.iinfo(dtype)
        for code in (code for code in (-1, info.min, n, 255, info.max) if info.min <= code <= info.max):
            codes = np.array([0, code, 1], dtype=dtype)
            if 0 <= code < n:
                assert c.privatize_codes(codes, allow_true_answers=True).tolist() == [0, code, 1], dtype
            else:
                with pytest.raises(ValuesError, match=r"others in 1 of 3 rows, first in record 2"):
                    c.privatize_codes(codes, allow_true_answers=True)


@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize("unknown", ["refuse", "drop"])
def test_labels_may_be_all_that_a_dtype_holds(dtype, unknown):
    info = np.iinfo(dtype)
    prior = ex.Prior.uniform(list(range(info.min, info.max + 1)))
    c = certify(prior, identity(prior), prior.epsilon_max, allow_true_answers=True)
    values = np.arange(info.min, info.max + 1).astype(dtype)
    assert c.privatize(values, unknown=unknown, allow_true_answers=True).tolist() == values.tolist()
    keyed = c.privatize(
        values,
        unknown=unknown,
        keyed=ex.Keyed(bytes(range(32)), range(256)),
        column="q",
        allow_true_answers=True,
    )
    assert keyed.tolist() == values.tolist()


# --- what may draw --------------------------------------------------------------------------------


class LookAlike:
    """Has everything that a certified mechanism has, except the proof."""

    def __init__(self, certified):
        self.prior, self.epsilon, self.digest = certified.prior, certified.epsilon, certified.digest
        self.weights, self.mechanism = certified.weights, certified.mechanism
        self.sampler = certified.sampler


def test_only_what_was_certified_draws():
    for fake in (LookAlike(C), C.sampler, C.mechanism, None):
        with pytest.raises(ValuesError, match="must be a certified one"):
            ex.privatize(pd.DataFrame({"q": ["a"]}), {"q": fake})
    with pytest.raises(TypeError, match="only certified mechanisms draw"):
        type("Fake", (type(C),), {})


def test_the_tables_of_another_mechanism_are_refused():
    c = certify(C.prior, C.mechanism, C.epsilon)
    vars(c)["sampler"] = Sampler(
        identity(C.prior).matrix.astype(np.uint64) << np.uint64(62), C.inputs, C.inputs, b""
    )
    for draw in (
        lambda: c.privatize(["a"]),
        lambda: c.privatize_codes(np.array([0])),
        lambda: ex.privatize(pd.DataFrame({"q": ["a"]}), {"q": c}),
    ):
        with refused(CertificationError, "mechanism"):
            draw()
