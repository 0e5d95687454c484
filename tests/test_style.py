"""The sizes that CONTRIBUTING sets: modules read in one sitting, functions on one screen, arguments that are named."""

import ast
import functools
import inspect
from collections import Counter
from pathlib import Path

import pytest

import extremal as ex

PACKAGE = Path(__file__).parents[1] / "src" / "extremal"
COMMANDS = PACKAGE / "cli"  # their parameters are the options of the command line

LINES, BODY, PARAMETERS = 450, 60, 8


@functools.cache
def package():
    """Every module: where it stands, its text, the nodes of its syntax tree, the first of which is itself."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    return [(path, text, list(ast.walk(ast.parse(text)))) for path, text in texts.items()]


@pytest.fixture(scope="module", autouse=True)
def forgotten():
    """A million objects, which the garbage collector would go through as long as they are there."""
    yield
    package.cache_clear()


def functions():
    """Every function and method of the package: where it stands, and its syntax tree."""
    for path, _, nodes in package():
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, f"{path.relative_to(PACKAGE)}: {node.name}", node


def length(node):
    """The lines of the body, without its docstring."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return node.end_lineno - body[0].lineno + 1 if body else 0


def parameters(node):
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [one for one in given if one.arg not in ("self", "cls")]


def test_a_module_gives_a_name_once():
    """A constant that a second one of its name replaces further down changes what stands above it."""
    twice = []
    for path, _, nodes in package():
        names = Counter()
        for node in nodes[0].body:
            if isinstance(node, ast.Assign):
                names.update(
                    x.id for target in node.targets for x in ast.walk(target) if isinstance(x, ast.Name)
                )
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not any(
                isinstance(by, ast.Name) and by.id == "overload" for by in node.decorator_list
            ):
                names[node.name] += 1
        twice += [f"{path.relative_to(PACKAGE)}: {name}" for name, n in names.items() if n > 1]
    assert twice == []


def without_docstrings(text, nodes):
    """How many lines a module has besides its docstrings, which are read in the help."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = [x for x in nodes if isinstance(x, documented) and ast.get_docstring(x)]
    return len(text.splitlines()) - sum(x.body[0].end_lineno - x.body[0].lineno + 1 for x in nodes)


def test_a_module_is_read_in_one_sitting():
    sizes = {path.relative_to(PACKAGE): without_docstrings(text, nodes) for path, text, nodes in package()}
    assert {path: size for path, size in sizes.items() if size > LINES} == {}


def test_a_function_is_seen_on_one_screen():
    assert {name: length(node) for _, name, node in functions() if length(node) > BODY} == {}


def test_a_function_has_at_most_eight_parameters():
    """What travels together is a value. Only commands have more: one for each of their options."""
    many = {name: len(parameters(node)) for path, name, node in functions() if COMMANDS not in path.parents}
    assert {name: count for name, count in many.items() if count > PARAMETERS} == {}


def test_what_a_public_function_takes_stands_in_its_signature():
    """Options by keyword are typed one by one; nothing is called **options: Any."""
    public = [getattr(ex, name) for name in ex.__all__]
    public += [getattr(module, name) for module in public if inspect.ismodule(module) for name in dir(module)]
    kinds = [kind for kind in public if inspect.isclass(kind) and kind.__module__.startswith("extremal")]
    public += [method for kind in kinds for name, method in vars(kind).items() if not name.startswith("_")]
    own = [f for f in public if inspect.isfunction(f) and f.__module__.startswith("extremal")]
    assert len(own) > 150
    loose = {
        f"{function.__module__}.{function.__qualname__}"
        for function in own
        for one in inspect.signature(function).parameters.values()
        if one.kind is one.VAR_KEYWORD and not str(one.annotation).startswith("Unpack[")
    }
    assert loose == set()
