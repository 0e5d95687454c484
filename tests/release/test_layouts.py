"""How numbers and texts lie in memory says nothing: any byte order, strides or alignment, views of arrow."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import extremal as ex

KEY = bytes(range(32))
N = 60
PRIOR = ex.Prior({0: 0.5, 1: 0.3, 2: 0.2})
C = ex.certify(PRIOR, ex.theory.randomized_response_for_pml(PRIOR, 0.7), 0.7)
WORDS = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
D = ex.certify(WORDS, ex.theory.randomized_response_for_pml(WORDS, 0.7), 0.7)
ROWS = np.random.default_rng(1).integers(0, 3, N)
TEXTS = np.array(["a", "b", "c"])[ROWS]


def unaligned(a):
    room = np.zeros(len(a) * a.itemsize + 1, dtype=np.uint8)[1:]
    room.view(a.dtype)[:] = a
    return room.view(a.dtype)


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def field(a):
    records = np.zeros(len(a), dtype=[("other", "i1"), ("one", a.dtype)])
    records["one"] = a
    return records["one"]


LAYOUTS = {
    "strided": lambda a: np.repeat(a, 2)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "strided big-endian": lambda a: np.repeat(a.astype(a.dtype.newbyteorder(">")), 2)[::2],
    "column of a matrix": lambda a: np.stack([a, a], axis=1)[:, 0],
    "field of a record": field,
    "unaligned": unaligned,
    "read only": read_only,
}


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u2", "u8", "f4", "f8"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_numbers_in_any_layout_are_the_same_numbers(kind, layout):
    values = ROWS.astype(kind)
    given = layout(values)
    how = {"keyed": ex.Keyed(KEY, range(N)), "column": "q"}
    for made in (np.asarray, pd.Series):
        assert C.privatize(made(given), **how).tolist() == C.privatize(values, **how).tolist()
        assert ex.ReportCounts(C.outputs).add(made(given)).counts.tolist() == np.bincount(ROWS).tolist()
        weighted = ex.estimate(C, made(given), sample=ex.SampleDesign(weights=layout(np.linspace(1, 2, N))))
        assert (
            weighted.shares.tolist()
            == ex.estimate(C, values, sample=ex.SampleDesign(weights=np.linspace(1, 2, N))).shares.tolist()
        )
        grid = ex.numeric.Grid([0, 5])
        assert grid.round(made(given), **how) == grid.round(values.astype(float), **how)
    frame = pd.DataFrame({"q": given, "id": layout(np.arange(N))})
    keyed = ex.privatize(frame, {"q": C}, keyed=ex.Keyed(KEY, "id"))
    assert keyed["q"].tolist() == C.privatize(values, **how).tolist()
    if given.dtype.kind in "iu":
        codes = C.privatize_codes(given, **how)
        assert codes.tolist() == C.privatize_codes(ROWS, **how).tolist()
        assert D.privatize(
            TEXTS, keyed=ex.Keyed(KEY, layout(np.arange(N).astype(kind))), column="q"
        ).tolist() == (D.privatize(TEXTS, **how).tolist())


@pytest.mark.parametrize("layout", ["big-endian", "unaligned"])
def test_a_regression_reads_numbers_in_any_layout(layout):
    pytest.importorskip("formulaic")
    z = np.linspace(0, 1, N)
    data = {"q": ROWS.astype("i4"), "z": z}
    expected = ex.regress(C, "q ~ z", pd.DataFrame(data)).to_frame("pandas")
    other = {name: LAYOUTS[layout](column) for name, column in data.items()}
    for given in (other, pd.DataFrame(other)):
        assert ex.regress(C, "q ~ z", given).to_frame("pandas").equals(expected)


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="views of arrow")
@pytest.mark.parametrize("private", ["string_view", "string"])
def test_columns_of_views_are_privatised_dropped_and_shuffled(tmp_path, private):
    """Arrow can neither take from views nor filter them."""
    answers = [*TEXTS[:-1].tolist(), None]
    table = pa.table(
        {
            "id": pa.array([f"p{i}" for i in range(N)], pa.string_view()),
            "q": pa.array(answers, getattr(pa, private)()),
            "note": pa.array([bytes([i, 255]) for i in range(N)], pa.binary_view()),
        }
    )
    how = {"keyed": ex.Keyed(KEY, "id"), "unknown": "drop"}
    expected = D.privatize(answers[:-1], keyed=ex.Keyed(KEY, [f"p{i}" for i in range(N - 1)]), column="q")
    released = ex.privatize(table, {"q": D}, **how)
    assert released.schema.types == table.schema.types
    assert released["q"].to_pylist() == expected
    assert released["note"].to_pylist() == table["note"].to_pylist()[:-1]
    assert ex.ReportCounts(D.outputs).add(released["q"]).total == N - 1
    pq.write_table(table, tmp_path / "s.parquet")
    for order in ("keep", "shuffle"):
        target = tmp_path / f"{order}.parquet"
        ex.privatize(tmp_path / "s.parquet", {"q": D}, target=target, order=order, **how)
        written = pq.read_table(target)
        by_id = dict(zip(written["id"].to_pylist(), written["q"].to_pylist(), strict=True))
        assert [by_id[f"p{i}"] for i in range(N - 1)] == expected
