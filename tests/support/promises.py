"""Every sentence that users read and that may promise something, by the place where it stands.

Places are README, SECURITY, the pages of the documentation, the pages that people see in a browser, the help of the
commands, and the docstrings of what is public. `tests/promises.toml` says which test holds which sentence.
"""

import ast
import html
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import extremal as ex
from extremal import cli
from tests.support.root import ROOT

SOURCE = ROOT / "src" / "extremal"
# The files whose texts people read in a browser; of Python, scripts and HTML only the texts.
PAGES = {
    "page for respondents": [
        *("collection/static/form.html", "collection/static/page.json", "collection/static/extremal.js"),
        "collection/questionnaire.py",
    ],
    "page of results": [
        *("collection/static/results.html", "collection/static/results.js", "collection/results.py"),
    ],
    "page of an audit": [
        *("auditing/text.py", "auditing/report.py", "auditing/pictures.py", "auditing/figures.py"),
    ],
    "page of the explorer": ["explorer/static/*.html", "explorer/static/*.js", "explorer/*.py"],
}
# Words of promises: what never or always happens, bounds, proofs, refusals, and that there is no such thing.
PROMISE = re.compile(
    r"\b(?:never|always|every|cannot|nobody|nothing|no one|none of|neither|at most|(?:no|not) more than|"
    r"guarantee[sd]?|prove[sdn]?|exact(?:ly)?|refuse[sd]?|erased|the same (?:bits|bytes|reports?)|"
    r"no (?:second )?(?:report|guess|answer|other|draw|attribute|prior|mechanism|data|key|copy|file))\b",
    re.IGNORECASE,
)
FEWEST_WORDS = 4  # fewer are a label or a cell of a table
CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
# A sentence ends before the next one begins, a paragraph at an empty line, an item of a list, a row or a heading.
PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |\||#|>))")
SENTENCE = re.compile(r"(?<=[.!?:;])(?:\*\*|[)_”])?\s+(?=[\"“(*_`A-Z0-9\[])|\s*(?=\*\*[A-Z])")


def sounds_like_one(sentence: str) -> bool:
    """Whether a word of promises stands in it, and it is more than a label."""
    return PROMISE.search(sentence) is not None and len(sentence.split()) >= FEWEST_WORDS


@cache
def texts() -> dict[str, str]:
    """The text of each place, in paragraphs."""
    pages = sorted(set((ROOT / "docs").rglob("*.md")) - set((ROOT / "docs" / "generated").rglob("*")))
    files = [ROOT / "README.md", ROOT / "SECURITY.md", *pages]
    found = {
        path.relative_to(ROOT).as_posix(): CODE.sub("\n", path.read_text(encoding="utf-8")) for path in files
    }
    for place, patterns in PAGES.items():
        paths = [path for pattern in patterns for path in sorted(SOURCE.glob(pattern))]
        assert paths, place
        found[place] = "\n\n".join(READ[path.suffix](path.read_text(encoding="utf-8")) for path in paths)
    return found | {"help": "\n\n".join(dict.fromkeys(helps())), "docstrings": "\n\n".join(docstrings())}


def plain(text: str) -> str:
    """With one space wherever there is any."""
    return " ".join(text.split())


def sentences(text: str) -> list[str]:
    found = []
    for paragraph in PARAGRAPH.split(text):
        cells = paragraph.strip().strip("|").split("|") if paragraph.strip().startswith("|") else [paragraph]
        found += [sentence for cell in cells for sentence in SENTENCE.split(plain(cell)) if sentence]
    return found


def of_html(page: str) -> str:
    page = re.sub(r"</?(?:a|b|code|em|i|small|span|strong)\b[^>]*>", "", page)
    return html.unescape(re.sub(r"<[^>]+>", "\n\n", page))


QUOTED = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[`{}]", re.DOTALL)
TEMPLATE = re.compile(r"((?:[^`\\$]|\\.|\$(?!\{))*)(`|\$\{)", re.DOTALL)


def of_script(script: str) -> str:
    """The texts of a script, with … for what is put into them; texts that are added stand together."""
    found: list[str] = []
    _of_code(script, 0, found)
    return "\n\n".join(text for text in found if " " in text)


def _of_code(script: str, at: int, found: list[str]) -> int:
    """Gather the texts up to the brace that closes this code; where that ends."""
    braces, before = 0, at  # and the end of the last text, or of code that a text is not added to
    while token := QUOTED.search(script, at):
        word, at = token.group(), token.end()
        if word.startswith(("//", "/*")):
            continue
        if word in "{}":
            braces += 1 if word == "{" else -1
            if braces < 0:
                return at
            continue
        text = word[1:-1]
        if word == "`":
            text, at = _of_template(script, at, found)
        if found and script[before : token.start()].strip() == "+":
            found[-1] += text
        else:
            found.append(text)
        before = at
    return len(script)


def _of_template(script: str, at: int, found: list[str]) -> tuple[str, int]:
    """Its text, and where it ends; the texts in its code are gathered, too."""
    text = ""
    while token := TEMPLATE.match(script, at):
        text, at = text + token[1], token.end()
        if token[2] == "`":
            return text, at
        text, at = text + "…", _of_code(script, at, found)
    return text, len(script)


def of_python(source: str) -> str:
    """The texts of a module, with … for what is put into them; no docstrings."""
    tree = ast.parse(source)
    apart = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            apart += node.values
    said = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values]
            said.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in apart:
            said.append(node.value)
    return "\n\n".join(text for text in said if " " in text)


def of_catalogue(text: str) -> str:
    """The English sentences."""
    return "\n\n".join(json.loads(text)["en"].values())


READ = {".json": of_catalogue, ".html": of_html, ".js": of_script, ".py": of_python}


def helps() -> Iterator[str]:
    """What the parser of arguments says about commands and options."""
    commands = [cli.parser()]
    while commands:
        command = commands.pop()
        commands += getattr(command, "commands", {}).values()
        yield command.help or ""
        yield from (getattr(option, "help", None) or "" for option in command.params)


def docstrings() -> Iterator[str]:
    """Of every public name, its methods and properties: the sentences, without examples, tables and titles."""
    for thing in public():
        doc = inspect.getdoc(thing) or ""
        doc = re.sub(r"^>>>.*?(?=\n\n|\Z)", "", doc, flags=re.MULTILINE | re.DOTALL)
        doc = re.sub(r"^.*(?:=====|├──|└──).*$|^\w+\n-+$", "", doc, flags=re.MULTILINE)
        yield re.sub(r"^[\w*].*\n(?= {4})", "\n", doc, flags=re.MULTILINE)  # names of parameters


def public() -> list[object]:
    found: list[object] = []
    for thing in (getattr(ex, name) for name in ex.__all__):
        names = getattr(thing, "__all__", vars(thing)) if isinstance(thing, ModuleType) else ()
        inner = [getattr(thing, name) for name in names if not name.startswith("_")]
        own = [x for x in inner if getattr(x, "__module__", "").startswith("extremal")]
        for one in [thing, *own]:
            members = vars(one).items() if inspect.isclass(one) else ()
            functions = (
                getattr(x, "__func__", getattr(x, "fget", x)) for name, x in members if name[0] != "_"
            )
            found += [one, *filter(inspect.isroutine, functions)]
    unique = {id(thing): thing for thing in found if inspect.getdoc(thing)}
    return list(unique.values())
