"""The notebooks run, hold no results, and leave nothing in the folder that they are started in."""

import ast
import contextlib
import io
import json
import re
import shutil
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def sources(notebook, kind):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def run(cells):
    """Each cell as Jupyter runs it, with the value of its last expression; everything that is printed or shown."""
    names, shown = {"__name__": "__main__"}, io.StringIO()
    with contextlib.redirect_stdout(shown):
        for k, source in enumerate(cells):
            tree = ast.parse(source)
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, f"cell {k}", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), f"cell {k}", "eval"), names)
                print("" if value is None else value)
    return names, shown.getvalue()


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Where the notebook is started, with the files that lie beside it, and where it writes."""
    started, written = tmp_path / "examples", tmp_path / "written"
    started.mkdir()
    written.mkdir()
    for path in (ROOT / "examples").glob("*.csv"):
        shutil.copy(path, started)
    monkeypatch.chdir(started)
    monkeypatch.setattr(tempfile, "tempdir", str(written))
    return started, written


def check_folders(folders):
    started, written = folders
    assert {path.name for path in started.iterdir()} == {"survey.csv", "earlier.csv"}
    return {path.name for path in written.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_from_phones_to_a_table(folders):
    pytest.importorskip("starlette")
    pytest.importorskip("starlette")
    names, shown = run(sources(load(ROOT / "examples" / "from_phones_to_a_table.ipynb"), "code"))
    assert "500 reports have arrived" in shown
    assert [stage.people for stage in names["estimate"].stages] == [200, 300]
    assert names["pairs"][1][0].prior_set.evidence is not None
    assert "all stages have the same shares" in shown
    assert check_folders(folders) >= {"survey.toml", "survey.db", "shares.csv"}
    rows = (names["folder"] / "shares.csv").read_text().splitlines()
    assert [row.partition(",")[0] for row in rows[1:]] == ["never", "once or twice", "more often"]


def test_from_a_csv_file_to_a_table(folders):
    pytest.importorskip("pandas")
    names, shown = run(sources(load(ROOT / "examples" / "from_csv_to_a_table.ipynb"), "code"))
    assert "944 reports" in shown
    assert names["certified"].realised_epsilon <= 0.7
    assert check_folders(folders) == {"private.csv", "mechanism.json", "shares.csv"}
    published = (names["folder"] / "private.csv").read_text()
    assert "Democrat" not in published  # reports of this design are numbers
    assert len(published.splitlines()) == 945


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_results_and_says_what_it_is(path):
    notebook = load(path)
    assert notebook["nbformat"] == 4
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["language_info"] == {"name": "python"}  # no version of anybody's machine
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    first = sources(notebook, "markdown")[0]
    assert re.match(r"# From .* table\n", first)
    assert "in the project's folder" in first
