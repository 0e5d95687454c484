"""Loading the compiled part: what is missing, stale or broken is named, with what to do; nothing is compiled."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import extremal as ex
from extremal._native import library as loading
from extremal._native import sources
from extremal.errors import InstallationError

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(4, np.float32),
        np.zeros(5),
        np.zeros((2, 2)),
        np.zeros(8)[::2],
        np.frombuffer(bytes(33), np.uint8)[1:].view(np.float64),
    ],
)
def test_arrays_that_c_would_misread_are_refused(wrong):
    assert loading.address(np.zeros(4), np.float64, 4) > 0
    with pytest.raises(ValueError, match="contiguous array of float64"):
        loading.address(wrong, np.float64, 4)


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
