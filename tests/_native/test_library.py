"""Loading the compiled part: what is missing, stale or broken is named, with what to do; nothing is compiled."""

import ctypes
import gc
import runpy
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import extremal as ex
from extremal._native import library as loading
from extremal._native import sources
from extremal.errors import InstallationError

ROOT = Path(__file__).parents[2]
LONG, POINTER = ctypes.c_int64, ctypes.c_void_p


@pytest.fixture
def fresh():
    """Load anew within a test, and once more after it."""
    loading.library.cache_clear()
    yield
    loading.library.cache_clear()


def test_a_missing_library_is_named_with_the_command_that_builds_it(fresh, monkeypatch, tmp_path):
    monkeypatch.setattr(loading, "LIBRARY", tmp_path / "none.so")
    with pytest.raises(InstallationError, match=r"missing: .*none\.so.*python tools/build_native\.py"):
        loading.library()
    assert (ROOT / "tools" / "build_native.py").exists()


def test_a_file_that_is_no_library_is_refused(fresh, monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    monkeypatch.setattr(loading, "LIBRARY", broken)
    with pytest.raises(InstallationError, match="cannot be loaded"):
        loading.library()


def test_a_library_made_of_other_sources_is_refused(fresh, monkeypatch):
    monkeypatch.setattr(loading, "source_digest", lambda: "0" * 64)
    with pytest.raises(InstallationError, match="built from other sources"):
        loading.library()


def test_every_source_counts_for_the_digest(monkeypatch, tmp_path):
    for path in [*sources.FOLDER.glob("*.c"), *sources.FOLDER.glob("*.h")]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    digest = sources.source_digest()
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    assert sources.source_digest() == digest
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        assert sources.source_digest() != digest
        path.write_bytes(content)


UNALIGNED = np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64)
FROZEN = np.frombuffer(bytes(32))


@pytest.mark.parametrize(
    "wrong", [np.zeros(4, np.float32), np.zeros(5), np.zeros((2, 2)), np.zeros(8)[::2], UNALIGNED, FROZEN]
)
def test_arrays_that_c_would_change_otherwise_than_meant_are_refused(wrong):
    assert loading.writes(np.zeros(4), np.float64, 4).value > 0
    with pytest.raises(ValueError, match="contiguous"):
        loading.writes(wrong, np.float64, 4)


@pytest.mark.parametrize("right", [np.arange(8.0)[::2], UNALIGNED, FROZEN, np.arange(4, dtype=np.int32)])
def test_c_reads_the_numbers_of_arrays_that_lie_otherwise(right):
    where = loading.reads(right, np.float64, 4)
    assert (ctypes.c_double * 4).from_address(where.value)[:] == right.tolist()


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((4, 1)), np.zeros(4, complex), np.zeros(4, object)])
def test_what_c_could_only_misread_is_refused(wrong):
    with pytest.raises(ValueError, match="shape"):
        loading.reads(wrong, np.float64, 4)


@pytest.mark.parametrize("hold", [lambda a: a, lambda a: loading.record("form", n=1000, pi=a)])
@pytest.mark.parametrize("of", [loading.reads, loading.writes])
def test_an_array_lives_as_long_as_what_holds_its_address(of, hold):
    array = np.arange(1000.0)
    alive = weakref.ref(array)
    held = hold(of(array, np.float64, 1000))
    del array
    gc.collect()
    assert alive() is not None
    del held
    gc.collect()
    assert alive() is None


def test_every_exported_function_is_declared_as_in_c():
    """Counted in another way than they are read; and a struct is as large as its fields."""
    names = {
        word.split("(")[0]
        for path in sources.FOLDER.glob("*.[ch]")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("EXPORT int64_t ")
        for word in line.split()[2:3]
    }
    records, functions = loading.declarations()
    assert functions.keys() == names
    assert functions["extremal_fill"] == [LONG, LONG, POINTER, ctypes.c_double, POINTER, POINTER]
    assert records["form"]._fields_ == [
        *[("n", LONG), ("pi", POINTER), ("excess", ctypes.c_double), ("W", POINTER), ("y", POINTER)]
    ]
    assert ctypes.sizeof(records["columns"]) == 48
    with pytest.raises(AttributeError, match="most"):
        loading.record("form", most=1)


WITHOUT_SOLVER = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"highspy", "scipy", "numba", "llvmlite", "ziglang"}:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
import extremal as ex
reports = ex.load(sys.argv[1]).privatize(["a", "b", "a", "c"] * 100)
assert len(reports) == 400 and set(reports) <= {"a", "b", "c"}, reports
"""


def test_drawing_from_a_certified_file_needs_neither_a_solver_nor_a_compiler(tmp_path):
    prior = ex.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
    path = tmp_path / "mechanism.json"
    ex.certify(prior, ex.design(prior, 0.5, ex.mutual_information).mechanism, 0.5).save(path)
    subprocess.run([sys.executable, "-c", WITHOUT_SOLVER, str(path)], check=True)


def test_the_build_neither_reorders_nor_fuses_floating_point_operations():
    """Both would change bits from machine to machine; no option of the compiler may allow either."""
    flags = runpy.run_path(str(ROOT / "tools" / "build_native.py"))["FLAGS"]
    assert "-ffp-contract=off" in flags
    loose = (
        "-ffast-math",
        "-Ofast",
        "-funsafe-math-optimizations",
        "-fassociative-math",
        "-freciprocal-math",
    )
    assert not set(loose) & set(flags)
    code = [path.read_text(encoding="utf-8") for path in sources.FOLDER.glob("*.c")]
    assert code
    assert not any("FP_CONTRACT" in text or "fast-math" in text for text in code)
