"""The order of the packages, read off the syntax trees of their modules.

A module imports only from its own package and from packages above it, wherever in its text the import stands, and
in no circle. Certification reaches nothing of the optimization. `import extremal` imports no heavy library.
"""

import ast
import functools
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import extremal as ex

PACKAGE = Path(__file__).parents[1] / "src" / "extremal"

# Data flows from top to bottom, and so do imports.
PACKAGES = [
    "_native",  # compiled loops, which know nothing of what they are used for
    "_common",  # files, frames, JSON, threads, pictures and words
    "model",
    "theory",
    "optimization",
    "draw",  # knows no certificate; a certified mechanism draws
    "certification",
    "lists",
    "release",
    "collection.published",
    "collection.database",
    "collection.store",  # reports are estimated from the store of a survey as from a file
    "estimation",
    "auditing",
    "collection",
    "studies",
    "explorer",
    "cli",
]

# Modules of the root that only gather public names from the packages; nothing inside the packages imports them.
PUBLIC = {
    "compliance",
    "composition",
    "datasets",
    "keys",
    "large",
    "measures",
    "noise",
    "numeric",
    "panels",
    "planning",
    "randomness",
    "sklearn",
    "utilities",
}

# These use the package as its users do, so they alone may import the package itself.
USERS = {"studies", "explorer", "cli", "__main__"}

HEAVY = [
    "cryptography",
    "highspy",
    "matplotlib",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "segno",
    "sklearn",
    "psycopg",
    "starlette",
    "uvicorn",
]


class Import(NamedTuple):
    target: str  # "highspy", "extremal.prior"; "extremal" is the package itself
    line: int
    when: str  # "import": with the module; "call": inside a function; "typing": never at run time


def source_files() -> dict[str, Path]:
    """Dotted name of every module of the package, "extremal" included, and its file."""
    files = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


FILES = source_files()


def package(module: str) -> str:
    """The package of a dotted module: "release" for extremal.release.files.csv; the root's own modules have none.

    A module may have a place of its own in the order.
    """
    name = module.partition(".")[2]
    while name not in PACKAGES and "." in name:
        name = name.rpartition(".")[0]
    return name if name in PACKAGES or name == "__main__" else ""


def place(module: str) -> int:
    """Where in the order a module stands: the root's own modules (errors, plots) above everything."""
    name = package(module)
    if name == "__main__" or module.split(".")[1] in PUBLIC:
        return len(PACKAGES)
    return PACKAGES.index(name) if name else -1


def imports_in(source: str, module: str, is_package: bool, modules: set[str]) -> Iterator[Import]:
    package = module if is_package else module.rpartition(".")[0]

    def walk(node: ast.AST, when: str) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, when) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield Import(whole if whole in modules else base, node.lineno, when)
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for child in node.body:
                yield from walk(child, "typing")
            for child in node.orelse:
                yield from walk(child, when)
        else:
            inner = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from walk(child, "call" if inner and when == "import" else when)

    yield from walk(ast.parse(source), "import")


INNER = [module for module in FILES if module != "extremal"]


@functools.cache
def imports(module: str) -> list[Import]:
    path = FILES[module]
    text = path.read_text(encoding="utf-8")
    return list(imports_in(text, module, path.name == "__init__.py", set(FILES)))


def own(module: str) -> list[Import]:
    """Its imports of the package and its modules."""
    found = imports(module) if module in FILES else []
    return [i for i in found if i.target == "extremal" or i.target.startswith("extremal.")]


def test_every_folder_has_its_place_in_the_order():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == {name for name in PACKAGES if "." not in name}


def test_a_module_imports_only_from_packages_above_its_own():
    wrong = []
    for module in INNER:
        for found in own(module):
            where = f"{FILES[module].relative_to(PACKAGE)}:{found.line}"
            if found.target == "extremal":
                if package(module) not in USERS:
                    wrong.append(f"{where}: import the module that is meant, not the whole library")
            elif place(found.target) > place(module):
                wrong.append(f"{where}: imports {found.target}, which stands below it")
    assert wrong == []


def test_modules_import_one_another_in_no_circle():
    """Imports inside functions count too."""
    graph = {
        module: {i.target for i in own(module) if i.target in FILES and i.when != "typing"}
        - {module, "extremal"}
        for module in INNER
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_folders_inside_a_package_import_one_another_in_no_circle():
    """`optimization/oracles` builds on `optimization/masters`, say, and not the other way round as well."""
    graph: dict[str, set[str]] = {}
    for module in (m for m in INNER if m.count(".") > 2):
        folder = module.rsplit(".", 1)[0]
        targets = {i.target.rsplit(".", 1)[0] for i in own(module) if i.target.count(".") > 2}
        graph.setdefault(folder, set()).update(targets - {folder})
    assert graph
    TopologicalSorter(graph).prepare()


def test_the_library_itself_imports_none_of_its_users():
    assert [i for i in own("extremal") if i.target != "extremal" and package(i.target) in USERS] == []


def test_certification_reaches_nothing_of_optimization():
    """Nor through another module: what it reaches, it depends on."""
    reached, waiting = set(), [m for m in INNER if package(m) == "certification"]
    while waiting:
        for found in own(waiting.pop()):
            if found.target != "extremal" and found.target not in reached:
                reached.add(found.target)
                waiting.append(found.target)
    assert {module for module in reached if package(module) == "optimization"} == set()


def test_certifying_and_checking_run_nothing_of_optimization():
    """Nor through attributes: of a design they read fields, and its one mechanism."""
    prior = ex.Prior([0.5, 0.3, 0.2])
    designs = [
        ex.design(prior, 0.7, ex.mutual_information),
        ex.design(prior, 0.7, ex.mutual_information, notion=ex.LIP),
        ex.design(prior, 0.7),
        ex.design(prior, 0.7, ex.mean([0, 1, 3])),
        ex.design(ex.PriorSet.l1_ball(prior, 0.1), 0.7),
        ex.design(ex.Prior.uniform(300), 1.0),
    ]
    for design, call in itertools.product(designs, (ex.certify, ex.check_design)):
        ran = set()

        def see(frame, event, argument, ran=ran):
            if event == "call" and frame.f_globals.get("__name__", "").startswith("extremal.optimization"):
                ran.add(frame.f_code.co_name)

        sys.setprofile(see)
        try:
            call(design)
        finally:
            sys.setprofile(None)
        assert ran <= {"mechanism"}


def test_certification_knows_what_it_looks_at():
    """By types: no field is asked for by its name, and nothing is of any type but what somebody privatises."""
    asked = re.compile(r"\b(getattr|hasattr|noqa)\b|type: ignore")
    files = {
        module: FILES[module].read_text("utf-8") for module in INNER if package(module) == "certification"
    }
    assert [module for module, text in files.items() if asked.search(text)] == []
    untyped = {
        (module.rsplit(".", 1)[1], function.name)
        for module, text in files.items()
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        if any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(function))
    }
    assert untyped == {("certified", "privatize"), ("certified", "privatize_codes")}


def test_what_is_given_to_compiled_code_has_a_type():
    """Wherever the compiled library is called: an array of one kind, a struct, a number."""
    callers = [
        module for module in INNER if any(i.target == "extremal._native.library" for i in imports(module))
    ]
    assert len(callers) > 8
    loose = {
        module
        for module in ["extremal._native.library", *callers]
        for node in ast.walk(ast.parse(FILES[module].read_text("utf-8")))
        if isinstance(node, ast.Name) and node.id == "Any"
    }
    assert loose == set()


def test_import_extremal_reaches_no_heavy_library():
    reached, waiting = {"extremal"}, ["extremal"]
    while waiting:
        module = waiting.pop()
        for found in (i for i in imports(module) if i.when == "import"):
            where = f"{FILES[module].relative_to(PACKAGE)}:{found.line}"
            assert found.target.split(".")[0] not in HEAVY, f"{where}: import {found.target} where it is used"
            parts = found.target.split(".")
            for name in (".".join(parts[: k + 1]) for k in range(len(parts))):
                if name in FILES and name not in reached:
                    reached.add(name)
                    waiting.append(name)


EXAMPLE = """
from __future__ import annotations
from typing import TYPE_CHECKING
from . import prior, Prior
from .errors import PriorError
from ..design import design
import extremal.leakage
import pyarrow.csv
if TYPE_CHECKING:
    import pandas
try:
    import polars
except ImportError:
    polars = None
class A:
    import duckdb
    def f(self):
        from highspy import Highs
"""


def test_imports_are_found_wherever_they_stand():
    modules = {"extremal.privatize.prior", "extremal.design", "extremal.leakage"}
    found = {(i.target, i.when) for i in imports_in(EXAMPLE, "extremal.privatize.frames", False, modules)}
    assert found == {
        ("__future__", "import"),
        ("typing", "import"),
        ("extremal.privatize.prior", "import"),
        ("extremal.privatize", "import"),
        ("extremal.privatize.errors", "import"),
        ("extremal.design", "import"),
        ("extremal.leakage", "import"),
        ("pyarrow.csv", "import"),
        ("pandas", "typing"),
        ("polars", "import"),
        ("duckdb", "import"),
        ("highspy", "call"),
    }


def test_names_are_imported_when_they_are_used():
    program = (
        "import sys, extremal as ex; assert 'numpy' not in sys.modules; "
        "from extremal import *; assert callable(design) and callable(estimate) and callable(audit); "
        "assert set(ex.__all__) <= set(dir(ex))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_test_file_imports_another():
    """What tests share lies in tests/support: otherwise a change of one test file breaks another."""
    tests = Path(__file__).parent
    from_a_test = re.compile(r"^(?:from|import) tests\b.*\btest_.*$", re.MULTILINE)
    wrong = {path.name: from_a_test.findall(path.read_text(encoding="utf-8")) for path in tests.rglob("*.py")}
    assert {name: found for name, found in wrong.items() if found} == {}
