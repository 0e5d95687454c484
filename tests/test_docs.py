"""What the pages show is what the code prints."""

import ast
import contextlib
import doctest
import functools
import importlib
import inspect
import io
import math
import operator
import re
import runpy
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import extremal as ex
from tests.support.cli_cases import shell

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("api/*.md")),
]
SESSIONS = ["tutorial-csv.md"]  # blocks build on those above, in one folder, and commands run too
WORDED = [
    "pml.md",
    "tutorial-csv.md",
    "choosing.md",
]  # every figure in their text is printed on the page
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LONG_EXAMPLES = {"arena", "envelope", "large", "notions", "utility_matters"}  # `make docs` draws them too
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What differs from run to run, or from machine to machine: seconds, and gaps that are nothing but rounding.
VARIES = re.compile(r"\d+\.\d+(?= s\b)|(?<=gap )(0\.0e\+00|\d\.\de-1[3-9])")


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """(kind, code, output) of every block; output is that of the text block that follows."""
    found = [*BLOCK.findall(page.read_text(encoding="utf-8")), ("", "")]
    return [
        (kind, code, output if after == "text" else "") for (kind, code), (after, output) in pairwise(found)
    ]


def examples() -> list[tuple[str, str, str]]:
    found = []
    for page in PAGES:
        if page.name not in SESSIONS:
            found += [
                (f"{name_of(page)}:{k}", code, output)
                for k, (kind, code, output) in enumerate(blocks(page))
                if kind == "python"
            ]
    return found


def check(name: str, code: str, output: str, names: dict[str, object]) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), names)
    shown = [line.rstrip() for line in printed.getvalue().rstrip().splitlines()]
    assert VARIES.sub("…", "\n".join(shown)) == VARIES.sub("…", output.rstrip())


@pytest.mark.parametrize(("name", "code", "output"), examples(), ids=[name for name, *_ in examples()])
def test_every_example_prints_what_the_page_shows(name: str, code: str, output: str) -> None:
    check(name, code, output, {})


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_prints_what_the_page_shows_and_its_commands_succeed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty folder; commands run in this process, because each of their own would load the library again."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for k, (kind, code, output) in enumerate(blocks(DOCS / name)):
        if kind == "python":
            check(f"{name}:{k}", code, output, names)
        elif kind == "sh":
            for line in code.replace("\\\n", " ").splitlines():
                done = shell(line)
                assert done.status == 0, done.err
    written = {path.name for path in Path().iterdir()}
    assert written >= {
        "party.json",
        "party-cli.json",
        "private.csv",
        "private-cli.csv",
        "audit.md",
        "shares.json",
    }
    assert ex.load("party-cli.json").prior == ex.load("party.json").prior


@pytest.mark.parametrize("page", PAGES, ids=[name_of(page) for page in PAGES])
def test_every_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=[name_of(page) for page in PAGES])
def test_every_file_of_the_repository_that_a_page_names_exists(page: Path) -> None:
    for path in re.findall(
        r"`((?:src|tests|docs|examples|benchmarks|tools)/[\w/.-]+)`", page.read_text("utf-8")
    ):
        assert (ROOT / path).exists(), f"{page.name} names {path}"


@pytest.mark.parametrize("name", WORDED)
def test_every_figure_in_the_text_is_printed_on_the_page_or_set_in_its_code(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    code = " ".join(code for _, code in BLOCK.findall(text))
    prose = re.sub(r"`[^`\n]*`|\]\([^)]*\)|\bof 1996\b", "", BLOCK.sub("", text))
    for figure in re.findall(r"(?<![\w.^])\d+\.\d+%?|(?<![\w.^])\d+%|(?<![\w.^])\d{3,}", prose):
        assert re.search(rf"(?<![\d.]){re.escape(figure)}", code), f"no block of {name} shows {figure}"


# The reference


def public() -> set[str]:
    """What users may call by name: the names of the package, and those of its public modules."""
    modules = {name for name in ex.__all__ if inspect.ismodule(getattr(ex, name))}
    names = {f"{name}.{inner}" for name in modules for inner in members(getattr(ex, name))}
    again = {name for name in names if name.rpartition(".")[2] in ex.__all__}  # at the top level too
    return (set(ex.__all__) | names) - again


def members(module: ModuleType) -> list[str]:
    own = [
        name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__
    ]
    return getattr(module, "__all__", [name for name in own if not name.startswith("_")])


def listed() -> list[str]:
    """Every name that a page of the reference documents."""
    found = []
    for page in DOCS.glob("api/*.md"):
        text = page.read_text(encoding="utf-8")
        for table in re.findall(
            r"\.\. autosummary::\n   :toctree: \.\./generated\n\n((?:   [\w.]+\n)+)", text
        ):
            found += table.split()
        found += re.findall(r"\.\. py:data:: ([\w.]+)", text)
        modules = re.findall(r"\.\. automodule:: extremal\.([\w.]+)", text)
        found += [{"model.adversary": "theory.adversary"}.get(name, name) for name in modules]
    return found


def test_the_reference_lists_every_public_name_and_each_once() -> None:
    names = listed()
    assert public() <= set(names)
    assert len(names) == len(set(names))


def test_every_public_function_is_used_in_an_example_of_the_reference() -> None:
    code = " ".join(
        code for page in DOCS.glob("api/*.md") for kind, code, _ in blocks(page) if kind == "python"
    )
    things = {name: operator.attrgetter(name)(ex) for name in public()}
    functions = [name for name, thing in things.items() if inspect.isroutine(thing)]
    assert [name for name in functions if not re.search(rf"\bex\.{re.escape(name)}\b", code)] == []


def described(doc: str) -> set[str]:
    """The names under Parameters and Attributes of a docstring in numpydoc's form."""
    names: set[str] = set()
    for section in re.findall(
        r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", doc, re.MULTILINE | re.DOTALL
    ):
        for heads in re.findall(r"^(\*{0,2}\w[\w, *]*)", section, re.MULTILINE):
            names |= {name.strip(" *") for name in heads.split(",")}
    return names


def parameters(thing: Callable[..., object]) -> Iterator[str]:
    """The names of its parameters; keywords that a TypedDict names are among them."""
    for name, one in inspect.signature(thing).parameters.items():
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            (kind,) = typing.get_args(typing.get_type_hints(thing)[name])
            yield from kind.__annotations__
        else:
            yield name


def callables() -> dict[str, object]:
    """Every function and class of the reference by its name, with the public methods of the classes."""
    found: dict[str, object] = {}
    for name in listed():
        thing = importlib.import_module("extremal")
        for part in name.split("."):
            if not hasattr(thing, part):
                importlib.import_module(f"{thing.__name__}.{part}")
            thing = getattr(thing, part)
        things = {name: thing}
        if inspect.ismodule(thing):
            things = {f"{name}.{inner}": getattr(thing, inner) for inner in members(thing)}
        for key, value in things.items():
            if inspect.isclass(value):
                for inner, member in vars(value).items():
                    function = getattr(member, "__func__", member)
                    if inspect.isfunction(function) and not inner.startswith("_"):
                        found[f"{key}.{inner}"] = getattr(value, inner)
                if "__init__" not in vars(value) or getattr(value, "_is_protocol", False):
                    continue  # an error of the tree, or nothing to call
            if callable(value):
                found[key] = value
    return found


def test_every_parameter_of_the_reference_is_described_and_nothing_else_is() -> None:
    """In numpydoc's form, which editors show. A class may describe what it is built from as its attributes."""
    missing, unknown = {}, {}
    for name, thing in callables().items():
        if isinstance(thing, ex.Utility | ex.utilities.Purpose):
            continue  # a value that can be called, such as shares
        names = set(parameters(thing)) - {"self"}
        there = described(inspect.getdoc(thing) or "")
        if names - there:
            missing[name] = sorted(names - there)
        if not inspect.isclass(thing) and there - names:
            unknown[name] = sorted(there - names)
    assert (missing, unknown) == ({}, {})


def test_every_function_at_the_top_level_says_what_it_returns() -> None:
    functions = [name for name in ex.__all__ if inspect.isfunction(getattr(ex, name))]
    assert functions
    assert [
        name for name in functions if "\nReturns\n-------\n" not in (inspect.getdoc(getattr(ex, name)) or "")
    ] == []


def test_every_function_at_the_top_level_shows_an_example() -> None:
    functions = [name for name in ex.__all__ if inspect.isfunction(getattr(ex, name))]
    assert [
        name
        for name in functions
        if ">>> import extremal as ex" not in (inspect.getdoc(getattr(ex, name)) or "")
    ] == []


def modules_with_examples() -> list[str]:
    paths = sorted((ROOT / "src").rglob("*.py"))
    inside = [
        p.relative_to(ROOT / "src").with_suffix("").parts for p in paths if ">>>" in p.read_text("utf-8")
    ]
    return [".".join(parts) for parts in inside]


@pytest.mark.parametrize("module", modules_with_examples())
def test_examples_in_docstrings_hold(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_help_of_everything_public_begins_with_an_example() -> None:
    """After its opening words, before what it takes."""
    public = {name: getattr(ex, name) for name in ex.__all__}
    public |= {
        f"{name}.{inner}": value
        for name, module in public.items()
        if inspect.ismodule(module) and name != "errors"
        for inner, value in vars(module).items()
        if not inner.startswith("_") and getattr(value, "__module__", "").startswith("extremal")
    }
    helps = {
        name: inspect.getdoc(value) or "" for name, value in public.items() if not inspect.ismodule(value)
    }
    assert [
        name
        for name, text in helps.items()
        if ">>>" not in re.split(r"\n(?:Parameters|Attributes)\n-", text)[0]
    ] == []


# The gallery


def test_there_are_at_least_six_examples_in_the_gallery() -> None:
    assert len(EXAMPLES) >= 6


@pytest.fixture(scope="module")
def run_example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[str, set[str]]]:
    """What an example prints and the names of the files it leaves; each runs once."""

    @functools.cache
    def run(stem: str) -> tuple[str, set[str]]:
        script, folder = ROOT / "examples" / f"{stem}.py", tmp_path_factory.mktemp(stem)
        printed = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
            patch.setattr(sys, "argv", [str(script), str(folder)])
            runpy.run_path(str(script), run_name="__main__")
        return printed.getvalue(), {path.name for path in folder.iterdir()}

    return run


@pytest.mark.parametrize("script", EXAMPLES, ids=[script.stem for script in EXAMPLES])
def test_an_example_of_the_gallery_is_short_public_and_begins_with_a_title_and_a_text(script: Path) -> None:
    assert not re.search(r"^(from|import) extremal(?! as ex$)", script.read_text("utf-8"), re.MULTILINE)
    source = script.read_text(encoding="utf-8")
    assert len(source.splitlines()) < 60
    title, empty, text = (ast.get_docstring(ast.parse(source)) or "").split("\n", 2)
    assert title
    assert not empty
    assert text


@pytest.mark.parametrize(
    "stem",
    [
        pytest.param(script.stem, marks=[pytest.mark.slow] if script.stem in LONG_EXAMPLES else [])
        for script in EXAMPLES
    ],
)
def test_an_example_of_the_gallery_draws_its_picture(
    stem: str, run_example: Callable[[str], tuple[str, set[str]]]
) -> None:
    printed, files = run_example(stem)
    assert printed.strip()
    assert files == {f"{stem}.png", f"{stem}.svg"}


# The citation


def test_the_citation_names_this_version_and_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {ex.__version__}\n" in text
    assert "title: Extremal Mechanisms for Pointwise Maximal Leakage" in text
    assert re.findall(r"family-names: (\w+)", text) == ["Grosse", "Saeidian", "Oechtering"]


# Other packages


def test_what_the_page_says_of_opendp_is_so() -> None:
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    response = opendp.m.make_randomized_response(["a", "b", "c", "d"], 0.75)
    assert response.map(1) == pytest.approx(math.log(9), abs=1e-12)


# The promise


def test_where_the_promise_is_made_its_limit_stands_beside_it() -> None:
    """An optimal report may rule answers out: nothing may be said that sounds as if it could not."""
    shown = subprocess.run(
        [sys.executable, "-m", "extremal", "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    ).stdout
    texts = {"--help": shown}
    for name in ("README.md", "docs/index.md", "docs/pml.md", "docs/threat-model.md"):
        texts[name] = (ROOT / name).read_text(encoding="utf-8")
    for name, text in texts.items():
        words = " ".join(text.split())
        assert re.search(r"may (still )?rule (answers|some) out|from ruling answers out", words), name
        assert not re.search(r"gives? anybody away|nobody's answer", words), name


def test_the_factor_in_the_readme_is_that_of_its_epsilon() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"extremal design .*--epsilon (\S+)", text)
    assert found
    assert f"here {math.ceil(100 * math.exp(float(found[1]))) / 100} times" in text


def test_the_number_at_the_top_of_the_readme_is_what_its_example_prints(
    run_example: Callable[[str], tuple[str, set[str]]],
) -> None:
    printed, _ = run_example("people")
    found = re.search(r"^factor 2: .*, ([\d.]+) times fewer$", printed, re.MULTILINE)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert found
    assert f"**{found[1]} times fewer people**" in text
    shown = re.findall(r"^factor .*$", text, re.MULTILINE)
    assert found[0] in shown
    assert set(shown) <= set(printed.splitlines())
    assert "docs/_static/people.svg" in text
    assert (ROOT / "docs/_static/people.svg").exists()
