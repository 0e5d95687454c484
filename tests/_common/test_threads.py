"""Linear algebra on one thread: what it leaves behind, who shares it, and that the number of threads changes no bit."""

import ast
import ctypes.util
import functools
import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.linalg
import threadpoolctl

import extremal as ex
from extremal._common.threads import _OneThread, one_thread
from tests.support.doors import CACHED, DOORS
from tests.support.root import ROOT

DECOMPOSITIONS = [
    *["cho_factor", "cho_solve", "cholesky", "det", "eig", "eigh", "eigvalsh", "inv", "lstsq", "lu_factor"],
    *["matrix_rank", "norm", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd"],
]


def threads():
    """How many threads each library of linear algebra would use."""
    found = threadpoolctl.threadpool_info()
    return {library["filepath"]: library["num_threads"] for library in found if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if set(threads().values()) != {2}:
            pytest.skip("this machine's linear algebra has no threads to choose")
        yield


def test_a_design_uses_one_thread_and_leaves_as_many_as_there_were():
    seen = []
    weights = 1 / np.arange(1, 20)
    ex.design(ex.Prior(weights / weights.sum()), 1.0, progress=lambda *_: seen.append(threads()))
    assert seen
    assert {count for found in seen for count in found.values()} == {1}
    assert set(threads().values()) == {2}


def test_a_call_that_fails_restores_them_too():
    @one_thread
    def stop():
        assert set(threads().values()) == {1}
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stop()
    assert set(threads().values()) == {2}


def test_calls_that_overlap_restore_when_the_last_one_leaves():
    """Eight threads come and go, some by exceptions; one stays until all others have left."""
    first_is_in, others_left, failures = threading.Event(), threading.Event(), []

    def stay():
        with one_thread:
            first_is_in.set()
            others_left.wait(60)
            if set(threads().values()) != {1}:
                failures.append("restored while somebody was inside")

    def visit(number):
        for _ in range(50):
            try:
                with one_thread, one_thread:
                    if number % 2:
                        raise ValueError
            except ValueError:
                pass

    staying = threading.Thread(target=stay)
    staying.start()
    assert first_is_in.wait(60)
    visitors = [threading.Thread(target=visit, args=(number,)) for number in range(8)]
    for thread in visitors:
        thread.start()
    for thread in visitors:
        thread.join()
    others_left.set()
    staying.join()
    assert failures == []
    assert set(threads().values()) == {2}


def test_the_last_one_restores_them_also_if_another_came_first():
    """threadpoolctl listens to one thread at a time: here it must listen to whoever is last."""
    inside, leave, seen = threading.Event(), threading.Event(), []

    def come_first():
        with one_thread:
            inside.set()
            leave.wait(60)

    first = threading.Thread(target=come_first)
    first.start()
    assert inside.wait(60)
    with one_thread:
        leave.set()
        first.join()
        seen.append(set(threads().values()))
    assert seen == [{1}]
    assert set(threads().values()) == {2}


def _tell(connection):
    with one_thread:
        inside = set(threads().values())
    connection.send((inside, set(threads().values())))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("who", ["this thread", "another thread"])
def test_a_child_that_is_forked_meanwhile_gets_its_threads_back(who):
    """A child has only the thread that forked: nobody else will leave in it."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_tell, args=(there,))
    if who == "this thread":
        with one_thread:
            child.start()
            inside, after = here.recv()
        assert (inside, after) == ({1}, {1})  # it forked inside, and is still inside
    else:
        is_in, leave = threading.Event(), threading.Event()

        def stay():
            with one_thread:
                is_in.set()
                leave.wait(60)

        thread = threading.Thread(target=stay)
        thread.start()
        assert is_in.wait(60)
        child.start()
        inside, after = here.recv()
        leave.set()
        thread.join()
        assert (inside, after) == ({1}, {2})
    child.join()
    assert set(threads().values()) == {2}


def test_nothing_breaks_where_no_library_can_be_controlled(monkeypatch):
    nothing = threadpoolctl.ThreadpoolController().select(filepath="none of them")
    monkeypatch.setattr("extremal._common.threads._find", lambda: (nothing, nothing))
    with _OneThread():
        assert set(threads().values()) == {2}
    assert set(threads().values()) == {2}


def test_a_library_that_is_loaded_later_is_found():
    fresh, seen = _OneThread(), []
    with fresh:
        assert set(threads().values()) == {1}
        none = fresh._libraries[0].select(filepath="none of them")
        fresh._libraries = none, none  # as if none had been loaded then
    sys.modules["a_library_that_is_loaded_later"] = sys
    try:
        with fresh:
            seen.append(set(threads().values()))
    finally:
        del sys.modules["a_library_that_is_loaded_later"]
    assert seen == [{1}]
    assert set(threads().values()) == {2}


def test_the_threads_of_mkl_are_limited_for_each_caller_and_restored():
    try:
        ctypes.CDLL(ctypes.util.find_library("mkl_rt") or "libmkl_rt.so.3")
    except OSError:
        pytest.skip("needs MKL")
    before, seen = threads(), {}

    def visit(number):
        with one_thread:
            seen[number] = set(threads().values())
        seen[number] |= {("after", *threads().values())}

    assert any("mkl" in path for path in before)
    with one_thread:
        visitors = [threading.Thread(target=visit, args=(number,)) for number in range(8)]
        for thread in visitors:
            thread.start()
        for thread in visitors:
            thread.join()
        seen["here"] = set(threads().values())
    assert all(1 in found and not {2, 3, 4} & found for found in seen.values())
    assert threads() == before


@pytest.mark.slow
def test_the_number_of_threads_changes_no_bit():
    found = []
    for number in ("1", "4", None):
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
        environment |= {} if number is None else {"OPENBLAS_NUM_THREADS": number}
        command = [sys.executable, "-m", "tests.support.doors"]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    assert set(found[0]) == set(DOORS)
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_every_function_for_users_does_its_linear_algebra_on_one_thread(monkeypatch):
    """Decompositions and systems of equations, where several threads cost most; products are seen by their bits."""
    outside = []

    def watched(name, function):
        def call(*arguments, **options):
            if not one_thread._inside:
                outside.append(name)
            return function(*arguments, **options)

        return call

    for module, name in itertools.product((np.linalg, scipy.linalg), DECOMPOSITIONS):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, watched(f"{module.__name__}.{name}", getattr(module, name)))
    wrong = {}
    for door, call in DOORS.items():
        for cached in CACHED:
            cached.cache_clear()
        outside.clear()
        call()
        if outside:
            wrong[door] = set(outside)
    assert wrong == {}


@functools.cache
def products():
    """Where the package multiplies matrices: line numbers of `@`, by file."""
    found = {}
    for path in (ROOT / "src" / "extremal").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        lines = {node.lineno for node in nodes if isinstance(getattr(node, "op", None), ast.MatMult)}
        if lines:
            found[str(path)] = lines
    return found


@pytest.mark.parametrize("door", DOORS)
def test_every_function_for_users_multiplies_matrices_on_one_thread(door):
    lines, outside = products(), set()

    @functools.cache
    def multiplies(code):
        return not lines.get(code.co_filename, set()).isdisjoint(number for *_, number in code.co_lines())

    def called(frame, event, argument):
        return line if multiplies(frame.f_code) else None

    def line(frame, event, argument):
        if frame.f_lineno in lines[frame.f_code.co_filename] and not one_thread._inside:
            outside.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    for cached in CACHED:
        cached.cache_clear()
    before = sys.gettrace()
    sys.settrace(called)
    try:
        DOORS[door]()
    finally:
        sys.settrace(before)
    assert outside == set()


def test_what_needs_numpy_alone_does_not_load_scipy():
    program = (
        "import sys, extremal as ex; p = ex.Prior([0.5, 0.5]); ex.pml(p, ex.Mechanism([[1, 0], [0, 1]]))"
    )
    program += "; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
