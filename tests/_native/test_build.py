"""Building the compiled part: which compiler, with which options; and what it does under the sanitizers."""

import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPILERS = ["gcc", "clang", f"{sys.executable} -m ziglang cc"]


@pytest.fixture
def tool(monkeypatch):
    for variable in ("CC", "EXTREMAL_CC", "EXTREMAL_PLATFORM", "EXTREMAL_WERROR"):
        monkeypatch.delenv(variable, raising=False)
    return runpy.run_path(str(ROOT / "tools" / "build_native.py"))


def without_zig(monkeypatch, found):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: found)


def test_a_named_compiler_comes_before_those_of_the_environment_and_these_before_zig(tool, monkeypatch):
    compiler = tool["compiler"]
    monkeypatch.setenv("CC", "ccache gcc")
    assert compiler()[:2] == ["ccache", "gcc"]
    monkeypatch.setenv("EXTREMAL_CC", "clang")
    assert compiler()[0] == "clang"
    assert compiler("other -m64")[:2] == ["other", "-m64"]


def test_zig_is_the_default_and_without_it_the_compiler_of_the_system(tool, monkeypatch):
    assert "ziglang" in tool["compiler"]()
    without_zig(monkeypatch, "/usr/bin/cc")
    assert tool["compiler"]()[0] == "/usr/bin/cc"
    without_zig(monkeypatch, None)
    with pytest.raises(SystemExit, match="EXTREMAL_CC"):
        tool["compiler"]()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="manylinux is of Linux")
def test_only_what_zig_makes_is_said_to_run_with_older_libraries(tool, monkeypatch):
    assert tool["platform_tag"]().startswith("manylinux")
    monkeypatch.setenv("CC", "gcc")
    assert tool["platform_tag"]() == sysconfig.get_platform().replace("-", "_")


def test_a_library_is_made_for_the_platform_that_is_named_or_none(tool, monkeypatch):
    monkeypatch.setenv("CC", "gcc")
    for tag, triple in tool["WHEELS"].items():
        monkeypatch.setenv("EXTREMAL_PLATFORM", tag)
        assert tool["compiler"]()[-2:] == ["-target", triple]
        assert tool["platform_tag"]() == tag
    assert tool["library_for"]("win_amd64").name == "extremal.dll"
    assert tool["library_for"]("macosx_11_0_arm64").name == "extremal.dylib"
    monkeypatch.setenv("EXTREMAL_PLATFORM", "win32")
    with pytest.raises(SystemExit, match="win_amd64"):
        tool["compiler"]()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the check knows the runners of Linux")
def test_wheels_for_all_platforms_give_the_same_answers_wherever_they_run(tool, tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path), "--target"]
    subprocess.run([*build, "sdist"], cwd=ROOT, check=True)
    (source,) = tmp_path.glob("*.tar.gz")
    shutil.unpack_archive(source, tmp_path)
    for tag in tool["WHEELS"]:
        tree = shutil.copytree(tmp_path / source.name.removesuffix(".tar.gz"), tmp_path / tag)
        subprocess.run([*build, "wheel"], cwd=tree, env=os.environ | {"EXTREMAL_PLATFORM": tag}, check=True)
    check = [sys.executable, str(ROOT / "tools" / "wheels.py"), str(tmp_path)]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{tool['wanted']()}: ran, known answers" in done.stdout
    assert len(done.stdout.splitlines()) == len(tool["WHEELS"]) == 6
    next(tmp_path.glob("*-win_amd64.whl")).unlink()
    assert "one wheel for win_amd64" in subprocess.run(check, capture_output=True, text=True).stderr


@pytest.mark.parametrize(
    ("named", "target", "needed"), [("", "wheel", 1), ("gcc", "wheel", 0), ("", "sdist", 0)]
)
def test_installing_asks_for_zig_only_where_no_other_compiler_is_named(monkeypatch, named, target, needed):
    monkeypatch.setenv("EXTREMAL_CC", named)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["NativeHook"]
    assert len(hook(str(ROOT), {}, None, None, "", target).dependencies()) == needed


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands for the compiler")
def test_the_compiler_of_the_environment_is_called_and_warnings_are_errors_only_on_demand(
    tool, monkeypatch, tmp_path
):
    script = tmp_path / "compiler"
    script.write_text('#!/bin/sh\nfor made; do :; done\necho "$@" >"$made"\n')
    script.chmod(0o755)
    monkeypatch.setenv("EXTREMAL_CC", str(script))
    made = tool["build"](tool["compiler"](), library=tmp_path / "made.so")
    assert "-ffp-contract=off" in made.read_text().split()
    assert "-Werror" not in made.read_text()
    monkeypatch.setenv("EXTREMAL_WERROR", "1")
    made = tool["build"](tool["compiler"](), library=tmp_path / "made.so")
    assert "-Werror" in made.read_text().split()


def fuzz(library, rounds, seed, **variables):
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.native_fuzz", str(library), str(rounds)]
    done = subprocess.run(
        [*command, str(seed)], cwd=ROOT, env=os.environ | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_wrapper_of_compiled_code_takes_what_it_should_and_refuses_the_rest(tool):
    said = fuzz(tool["LIBRARY"], 12, 1)
    assert said.count("done") == 15


@pytest.mark.slow
def test_every_compiler_builds_without_warnings_and_gives_the_same_bits(tool, monkeypatch, tmp_path):
    monkeypatch.setenv("EXTREMAL_WERROR", "1")
    found = [one for one in COMPILERS if shutil.which(one.split()[0])]
    results = set()
    for k, one in enumerate(found):
        library = tool["build"](tool["compiler"](one), library=tmp_path / f"{k}.so")
        results.add(fuzz(library, 60, 1))
    assert len(results) == 1


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not shutil.which("gcc"), reason="gcc's sanitizers are preloaded"
)
def test_no_call_touches_what_is_not_in_its_arrays(tool, tmp_path):
    library = tool["build"](["gcc"], tool["SANITIZE"], tmp_path / "sanitized.so")
    runtime = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    options = "detect_leaks=0:allocator_may_return_null=1"
    said = fuzz(library, 600, 1, LD_PRELOAD=" ".join(runtime), ASAN_OPTIONS=options)
    assert said.count("done") == said.count("refused") == 15
