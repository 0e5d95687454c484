"""The order of the modules, read off their syntax trees.

A module imports only from modules above it in LAYERS, wherever in its text the import stands. The checkers
import nothing of the solver. A heavy library is imported in one layer, and not by `import extremal`.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "extremal"

LAYERS = [
    "data",
    "errors",
    "plot",  # draws plain numbers, so that every value can have a .plot()
    "regions",
    "prior",
    "prior_set",
    "mechanism",
    "leakage",
    "adversary",
    "utility",
    "majorization",
    "arc",
    "closed_form",
    "randomized_response",
    "polytope",
    "reduce",
    "pairing",
    "lift_vectors",
    "kernels",
    "neighbourhood_kernel",
    "lattice_kernel",
    "pricing",
    "vertex_kernel",
    "vertex_pricing",
    "master",
    "classes",
    "program",
    "local_search",
    "gain_program",
    "coarsen",
    "methods",
    "check_bounds",
    "check",
    "robust_vertices",
    "robust_pricing",
    "robust_bounds",
    "robust_program",
    "robust",
    "design",
    "tradeoff",
    "estimation",
    "proof",
    "integer_weights",
    "paths",
    "mechanism_file",
    "sampling_kernel",
    "sampling",
    "keyed",
    "privatize",
    "certify",  # below privatize: a certified mechanism privatises, but what is drawn needs no certificate
    "report_counts",
    "likelihood",
    "contrasts",
    "frequency_polytope",
    "binomial",
    "intervals",
    "interval_table",
    "estimate",
    "differences",
    "sample_size",
    "processing",
    "disclosure",
    "audit_text",
    "audit_plot",
    "audit",
    "audit_columns",
    "audit_pairs_data",
    "audit_pairs_bounds",
    "audit_pairs",
    "composition",
    "transcript",
    "budget",
    "neighbours",
    "svg",
    "report",
    "demo",
    "explorer",
    "paper",
    "demo_run",
    "demo_report",
    "cli",
    "__main__",
]

# These use the package as its users do, so they alone may import the package itself.
USERS = ["demo", "explorer", "paper", "demo_run", "demo_report", "cli", "__main__"]

CHECKERS = ["check", "check_bounds", "proof", "certify"]
SOLVER = set(LAYERS[LAYERS.index("kernels") : LAYERS.index("proof")]) - set(CHECKERS)

HEAVY = [
    "cdd",
    "cryptography",
    "highspy",
    "matplotlib",
    "narwhals",
    "numba",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "starlette",
    "uvicorn",
]

# Where one module would have to do unrelated things: two linear programs kept warm, the solver's loops and the
# sampler's, streams and keyed words.
SHARED = {
    "highspy": {"frequency_polytope", "master", "robust_pricing"},
    "numba": {"kernels", "lattice_kernel", "neighbourhood_kernel", "sampling_kernel", "vertex_kernel"},
    "cryptography": {"sampling", "keyed"},
}


class Import(NamedTuple):
    target: str  # "numba", "extremal.prior"; "extremal" is the package itself
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


def layer(module: str) -> str:
    """The name in LAYERS that a dotted module falls under: "privatize" for extremal.privatize.files."""
    return module.split(".")[1]


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


IMPORTS = {
    module: list(imports_in(path.read_text(encoding="utf-8"), module, path.name == "__init__.py", set(FILES)))
    for module, path in FILES.items()
}
INNER = [module for module in FILES if module != "extremal"]


def own(module: str) -> list[Import]:
    return [i for i in IMPORTS.get(module, []) if i.target == "extremal" or i.target.startswith("extremal.")]


def test_every_module_has_its_place_in_the_order():
    unlisted = sorted({layer(module) for module in INNER} - set(LAYERS))
    assert not unlisted, f"add {unlisted} to LAYERS in {Path(__file__).name}, below everything they import"


@pytest.mark.parametrize("module", INNER)
def test_a_module_imports_only_from_modules_above_it(module):
    here = layer(module)
    for found in own(module):
        where = f"{FILES[module].relative_to(PACKAGE)}:{found.line}"
        if found.target == "extremal":
            assert here in USERS, (
                f"{where}: {here} imports the package itself; import the module that is meant"
            )
        elif layer(found.target) != here:
            there = layer(found.target)
            above = there in LAYERS and LAYERS.index(there) < LAYERS.index(here)
            assert above, f"{where}: {here} does not stand below {there} in LAYERS and may not import it"


def test_the_package_itself_imports_none_of_its_users():
    assert [i for i in own("extremal") if i.target != "extremal" and layer(i.target) in USERS] == []


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_checker_imports_nothing_of_the_solver(checker):
    """Nor through another module: what it reaches, it depends on."""
    reached, waiting = set(), [m for m in INNER if layer(m) == checker]
    while waiting:
        for found in own(waiting.pop()):
            if found.target != "extremal" and found.target not in reached:
                reached.add(found.target)
                waiting.append(found.target)
    assert {layer(module) for module in reached} & SOLVER == set()


@pytest.mark.parametrize("library", HEAVY)
def test_a_heavy_library_is_imported_in_one_layer_at_most(library):
    """The modules of one folder count as one: every interface of `privatize` speaks arrow."""
    users = set()
    for module, found in IMPORTS.items():
        if any(i.target.split(".")[0] == library for i in found if i.when != "typing"):
            users.add(layer(module))
    allowed = len(users) <= 1 or users <= SHARED.get(library, set())
    assert allowed, f"{library} is imported by {sorted(users)}; let one of them provide it to the others"


def test_import_extremal_reaches_no_heavy_library():
    reached, waiting = {"extremal"}, ["extremal"]
    while waiting:
        module = waiting.pop()
        for found in (i for i in IMPORTS[module] if i.when == "import"):
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
import numba.typed
if TYPE_CHECKING:
    import pandas
try:
    import polars
except ImportError:
    polars = None
class A:
    import cdd
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
        ("numba.typed", "import"),
        ("pandas", "typing"),
        ("polars", "import"),
        ("cdd", "import"),
        ("highspy", "call"),
    }


def test_names_are_imported_when_they_are_used_and_functions_win_over_modules_of_the_same_name():
    program = (
        "import sys, extremal as ex; assert 'numpy' not in sys.modules; import extremal.design, extremal.sample_size; "
        "assert callable(ex.design) and callable(ex.sample_size) and callable(ex.randomized_response); "
        "import types; from extremal import *; assert callable(estimate) and callable(audit); "
        "modules = {n for n in ex.__all__ if isinstance(getattr(ex, n), types.ModuleType)}; "
        "assert modules == ex.MODULES == {'adversary', 'closed_form', 'majorization'}; "
        "assert set(ex.__all__) <= set(dir(ex))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
