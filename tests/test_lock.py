"""The lock: every package with its hashes, and of it exactly what an environment needs."""

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PINNED = r"[\w.-]+(?:\[([\w,.-]+)\])?==[^\n]* \\\n    --hash=sha256:"
LOCK = (ROOT / "constraints.txt").read_text(encoding="utf-8")


def load_tool():
    spec = importlib.util.spec_from_file_location("locked", ROOT / "tools" / "locked.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


locked = load_tool()


def names(text):
    return {locked.normal(name) for name in re.findall(r"^[A-Za-z0-9][\w.-]*", text, re.MULTILINE)}


def run_tool(*arguments):
    command = [sys.executable, str(ROOT / "tools" / "locked.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_package_is_pinned_with_a_hash_and_no_address_is_written_down():
    blocks = re.split(r"\n(?=[A-Za-z0-9])", LOCK)
    packages = [block for block in blocks if not block.startswith("#")]
    assert len(packages) > 50
    assert [block[:60] for block in packages if not re.match(PINNED, block)] == []
    assert "://" not in LOCK
    assert "--index" not in LOCK
    assert "--find-links" not in LOCK


def test_extras_that_installed_packages_ask_for_are_in_the_lock():
    """Else pip takes the newest release for the extra, which the lock has no hash of."""
    requirements = pytest.importorskip("packaging.requirements")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", LOCK)
    pinned = {}
    for block in blocks:
        if found := re.match(PINNED, block):
            name = re.match(r"[\w.-]+", block)[0]
            pinned[locked.normal(name)] = set(filter(None, (found[1] or "").split(",")))
    asked = 0
    for name in pinned:
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for need in map(requirements.Requirement, needs):
            if need.extras and (need.marker is None or need.marker.evaluate({"extra": ""})):
                asked += 1
                assert need.extras <= pinned[locked.normal(need.name)], f"{name} needs {need}"
    assert asked > 0


def installed_needs(name):
    """What an installed package needs by its own metadata, on this machine, and what that needs."""
    requirements = pytest.importorskip("packaging.requirements")
    found, waiting = set(), [(name, frozenset())]
    while waiting:
        current, extras = waiting.pop()
        if (current, extras) in found:
            continue
        found.add((current, extras))
        try:
            needs = importlib.metadata.requires(current) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for text in needs:
            need = requirements.Requirement(text)
            contexts = [{"extra": extra} for extra in extras] or [{"extra": ""}]
            if need.marker is None or any(need.marker.evaluate(context) for context in contexts):
                waiting.append((locked.normal(need.name), frozenset(need.extras)))
    return {package for package, _ in found}


@pytest.mark.parametrize(
    "package", ["scipy", "typer", "cryptography", "pandas", "matplotlib", "starlette", "pytest"]
)
def test_what_is_installed_for_a_package_holds_all_that_its_metadata_asks_for(package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}")
    assert installed_needs(package) <= names(run_tool(package).stdout)


def test_extras_and_groups_are_followed_and_nothing_else_is_installed():
    plain, test = names(run_tool(".").stdout), names(run_tool("-e", ".[test]").stdout)
    assert {"numpy", "scipy", "highspy", "typer"} <= plain < test
    assert {"pytest", "starlette", "matplotlib"} <= test - plain
    assert {"sphinx", "pure-ldp", "uv"}.isdisjoint(test)
    assert names(run_tool("--group", "lock").stdout) == {"uv"}
    assert "hatchling" in names(run_tool("--group", "build").stdout)


def test_a_package_that_the_lock_lacks_is_refused_with_what_to_do():
    done = run_tool("nosuchpackage")
    assert done.returncode == 1
    assert done.stderr == "error: constraints.txt lacks nosuchpackage; run make lock\n"
    assert done.stdout == ""


def test_packages_that_only_the_chosen_ones_need_are_chosen():
    lock = "a==1 \\\n    --hash=sha256:0\n    # via\n    #   b\n    #   c\nb==1 \\\n    --hash=sha256:1\n    # via d\n"
    lock += "c==1 \\\n    --hash=sha256:2\nd==1 ; x == 'y' \\\n    --hash=sha256:3 \\\n    --hash=sha256:4\n"
    assert names(locked.locked(["b"], {"project": {"name": "p"}}, lock)) == {"a", "b"}
    found = locked.locked(["d"], {"project": {"name": "p"}}, lock)
    assert names(found) == {"a", "b", "d"}
    assert found.endswith("d==1 ; x == 'y' \\\n    --hash=sha256:3 \\\n    --hash=sha256:4\n")


def test_pyarrow_comes_with_the_extras_that_need_it_and_not_by_itself():
    assert "pyarrow" not in names(run_tool(".").stdout)
    for extra in ("parquet", "spark", "test"):
        assert "pyarrow" in names(run_tool(f".[{extra}]").stdout)


@pytest.mark.slow
@pytest.mark.parametrize("honest", [True, False])
def test_an_environment_is_made_of_files_with_the_right_hash_only(tmp_path, honest):
    """A project with one package, in a folder whose name has a space, without a network."""
    folder, wheels = tmp_path / "a b", tmp_path / "wheels"
    shutil.copytree(ROOT / "tools", folder / "tools")
    wheels.mkdir()
    wheel = wheels / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr(
            "tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest() if honest else "0" * 64
    (folder / "constraints.txt").write_text(f"tiny==1.0 \\\n    --hash=sha256:{digest}\n")
    (folder / "pyproject.toml").write_text('[project]\nname = "p"\n[dependency-groups]\nx = ["tiny"]\n')
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment |= {"PYTHON": sys.executable, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    command = ["sh", "tools/environment.sh", "create", ".venv", "--group", "x"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert (done.returncode == 0) is honest, done.stderr
    assert (folder / ".venv" / "ready").exists() is honest
    assert bool(list(folder.glob(".venv/lib/*/site-packages/tiny.py"))) is honest
