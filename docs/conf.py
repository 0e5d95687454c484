"""Settings of the documentation site. `make docs` builds it strictly and without the network."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.ext.napoleon import Config, NumpyDocstring

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import gallery  # noqa: E402  # beside this file

import extremal  # noqa: E402

project = "extremal"
author = "The extremal developers"
copyright = author
version = release = extremal.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]
highlight_language = "text"  # a block without a language is a transcript of a shell
myst_enable_extensions = ["colon_fence", "substitution"]
# Pictures of the pages, in light and in dark, by name: {{ phone }}.
PICTURES = {
    "phone": ("240px", "A private question on a phone: the answer stays on this device"),
    "results": ("480px", "The results page: shares with intervals, and how many reports are still needed"),
    "audit": ("480px", "The audit page: the best guess before and after a report, and what reports rule out"),
}
myst_substitutions = {
    name: "".join(
        f"```{{image}} _static/{name}-{scheme}.png\n:alt: {alt}\n:width: {width}\n:class: only-{scheme}\n```\n\n"
        for scheme in ("light", "dark")
    )
    for name, (width, alt) in PICTURES.items()
}
myst_heading_anchors = 4

autosummary_generate = True
# Some disks hold Design.html and design.html to be the same file.
autosummary_filename_map = {
    f"extremal.{name}": f"extremal.{name}-class"
    for name in extremal.__all__
    if name != name.lower() and name.lower() in extremal.__all__
}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
autodoc_type_aliases = {
    name: name for name in ("ArrayLike", "Axes", "Labels", "Released", "Progress", "Column", "Generator")
}
autodoc_type_aliases |= {"Floats": "ndarray", "Ints": "ndarray"}
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 100

# Nothing is downloaded, so types of other libraries and of the standard library lead nowhere. Names of this package
# must be found, except aliases and helpers that are no part of the public interface.
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(?!extremal\.).*"),
    (r"py:.*", r"extremal\.\w+\..*"),
]

html_theme = "furo"
html_title = f"extremal {release}"
html_static_path = ["_static"]
html_css_files = ["extremal.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}

# The signature has the types, and an attribute has one place: among the members.
NUMPYDOC = Config(napoleon_use_ivar=True, napoleon_attr_annotations=False)
LITERAL = re.compile(r"(`[^`]+`)")


def as_restructured(line: str) -> str:
    """A line of a docstring, which is plain text with `names` in it, as reStructuredText that reads the same."""
    parts = LITERAL.split(line)
    for k, part in enumerate(parts):
        if k % 2:
            parts[k] = f"`{part}`" + ("\\ " if re.match(r"\w", parts[k + 1]) else "")
        else:
            parts[k] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", re.sub(r"([\\*|])", r"\\\1", part))
    return "".join(parts)


def process_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are written for readers of the source, in numpydoc's form; examples in them stay as they are."""
    example = False
    for k, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            lines[k] = as_restructured(line)
    if what not in ("attribute", "data", "property"):  # "The unit: nats" is no type there
        made = NumpyDocstring(lines, NUMPYDOC, app, what, name, thing, options).lines()
        lines[:] = [line.replace(":ivar ", ":param ", 1) for line in made]  # they stand in the signature


def process_signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Aliases of types by their names: in a union Sphinx shows its own class around them."""
    wrapped = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
    return signature and wrapped.sub(r"\1", signature), returns and wrapped.sub(r"\1", returns)


CALL = re.compile(r"(?:ex\.)?((\w+)(?:\.\w+)?)(?:\(.*\))?")


def link_names(app: Any, doctree: nodes.document) -> None:
    """Exported names in the text of pages lead to the reference. On the page of the command line they are commands."""
    page = app.env.docname
    if page == "cli" or page.startswith(("api/", "generated/")):
        return
    for literal in list(doctree.findall(nodes.literal)):
        name = CALL.fullmatch(literal.astext())
        if (
            name
            and name[2] in extremal.__all__
            and not isinstance(literal.parent, nodes.reference | nodes.title)
        ):
            link = pending_xref(
                refdomain="py", reftype="obj", reftarget=f"extremal.{name[1]}", refexplicit=True
            )
            link["refdoc"], link["refwarn"] = page, True
            literal.replace_self(link)
            link += literal


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", link_names)
    app.connect("autodoc-process-signature", process_signature)
    app.connect("autodoc-process-docstring", process_docstring)
    # Before autosummary looks for pages.
    app.connect(
        "builder-inited", lambda app: gallery.build(HERE.parent / "examples", HERE / "generated"), 100
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
