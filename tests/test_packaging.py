"""What a user gets from installing the package: a light import, one version, the embedded survey."""

import csv
import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from pathlib import Path

import pytest

import extremal

ROOT = Path(__file__).parents[1]
HEAVY = [
    "highspy",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "starlette",
    "uvicorn",
]
PARTIES = {
    "Strong Democrat": 200,
    "Weak Democrat": 180,
    "Independent-Democrat": 108,
    "Independent-Independent": 37,
    "Independent-Republican": 94,
    "Weak Republican": 150,
    "Strong Republican": 175,
}


def test_importing_extremal_imports_no_heavy_library():
    program = f"import sys; from extremal import *; print(*sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_installed_version_is_the_version_of_the_source():
    assert importlib.metadata.version("extremal") == extremal.__version__


def test_every_exported_name_exists_and_is_listed_once():
    assert len(extremal.__all__) == len(set(extremal.__all__))
    assert [name for name in extremal.__all__ if not hasattr(extremal, name)] == []


def test_the_survey_is_readable_and_complete():
    text = (
        importlib.resources.files("extremal").joinpath("studies/data/anes96.csv").read_text(encoding="utf-8")
    )
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 944
    assert list(rows[0]) == ["respondent", "party", "vote", "age", "education", "income"]
    assert Counter(row["party"] for row in rows) == PARTIES
    assert {row["vote"] for row in rows} == {"Clinton", "Dole"}
    assert len({row["education"] for row in rows}) == 7
    assert len({row["income"] for row in rows}) == 24
    assert [row["respondent"] for row in rows] == [str(i + 1) for i in range(944)]
    assert all(value for row in rows for value in row.values())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.mark.slow
def test_the_wheel_carries_the_version_of_the_source(wheel):
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    assert f"\nVersion: {extremal.__version__}\n" in wheel.read(metadata).decode()


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel):
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == files
    assert {
        "extremal/studies/data/anes96.csv",
        "extremal/studies/data/party.json",
        "extremal/studies/data/README.md",
        "extremal/py.typed",
    } <= packed


@pytest.mark.slow
def test_the_wheel_is_for_one_platform_and_every_python(wheel):
    name = Path(wheel.filename).stem
    assert name.split("-")[2:4] == ["py3", "none"]
    assert name.split("-")[4] != "any"


def test_the_recipe_for_conda_needs_what_the_package_needs():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "contrib" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    listed = re.findall(r"^    - (\S+) (>=\S+)$", recipe.partition("  run:")[2].partition("tests:")[0], re.M)
    assert sorted(name + limit for name, limit in listed if name != "python") == sorted(
        wanted["dependencies"]
    )
    assert ("python", wanted["requires-python"]) in listed
    assert f'version: "{extremal.__version__}"' in recipe
    assert f"license: {wanted['license']}" in recipe


def test_all_is_every_extra_that_users_need():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]

    def packages(name):
        inner = re.compile(r"extremal\[(.*)\]")
        own = [inner.fullmatch(one) for one in extras[name]]
        return {one for one, found in zip(extras[name], own, strict=True) if not found}.union(
            *(packages(part) for found in own if found for part in found[1].split(","))
        )

    users = set(extras) - {"all", "test", "bench", "docs"}
    assert packages("all") == set().union(*(packages(name) for name in users))
