"""Sphinx configuration: prose in Markdown, reference generated from the code itself."""

import ast
import sys
from pathlib import Path
from typing import Any

import thinktime

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import notebooks
import pages

STUB = ast.parse((pages.PACKAGE / "_native.pyi").read_text(encoding="utf-8"))
NATIVE = r"(thinktime\._native\.)?({})".format(
    "|".join(node.name for node in STUB.body if isinstance(node, ast.ClassDef))
)

project = "thinktime"
author = "The thinktime developers"
version = release = thinktime.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
html_title = f"thinktime {release}"
exclude_patterns = [
    "_build",
    "_pages",
    "reference/gallery.md",
    "reference/studies.md",
    "reference/trust.md",
    "notebooks/*.ipynb",
    "tutorial/printed",
]
# Pages of the gallery are copied as they are; `docs/gallery.py` makes them.
html_extra_path = ["_pages"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
autodoc_typehints = "signature"
# Names of arguments and members in docstrings.
default_role = "literal"
# Modules may use one name for a thing of their own; links by the short name are then ambiguous.
suppress_warnings = ["ref.python"]
# Every reference leads somewhere, except for those to what these pages do not contain:
nitpicky = True
nitpick_ignore_regex = [
    # Types of other libraries: their pages are on the network, which the documentation does not need.
    ("py:class", r"(collections|contextlib|datetime|os|pathlib|re|struct|types)\..*"),
    ("py:class", r"AbstractContextManager|Path|PathLike"),
    ("py:class", r"(numpy|np)\..*|NDArray|_?Array(Like)?|Complex|Matrix"),
    ("py:class", r"(polars|pl|altair|alt)\..*"),
    # Variables of generic types, which have no page.
    ("py:class", r"P|_Int"),
    ("py:class", r"thinktime\..*\.(Answer|Item|Piece|Read|Record|State|Value|_Contrast|_R|_Result|_T)"),
    # Dictionaries and classes of the compiled module, which its stub describes for type checkers.
    ("py:class", NATIVE),
    # Records that a function hands to another of its package.
    ("py:class", r"thinktime\.log\.interaction_pieces\._Blocks"),
    ("py:class", r"thinktime\.predictions\.size\.by_class\.answer\._Shared"),
    ("py:class", r"thinktime\.sources\.importers\..*\._(Block|Layout|Process|Task)"),
]

pages.write()
(Path(__file__).parent / "_pages").mkdir(exist_ok=True)
(pages.REFERENCE / "gallery.md").write_text(gallery.listed(), encoding="utf-8")
notebooks.write()


def resolved(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """Link of a type by its short name, as annotations have it: the one here, or the only one."""
    name = node["reftarget"]
    if node.get("refdomain") != "py" or "." in name:
        return None
    domain = env.get_domain("py")
    found = [
        place
        for place, item in domain.objects.items()
        if item.objtype in ("class", "exception", "type") and place.rpartition(".")[2] == name
    ]
    here = [place for place in found if place == f"{node.get('py:module')}.{name}"]
    if len(here or found) != 1:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", (here or found)[0], node, shown)


def without_factory(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Signature with ``...`` for a default that is made anew: what dataclasses show there is no Python."""
    del app, what, name, obj, options
    return (None if signature is None else signature.replace("<factory>", "...")), returned


def setup(app: Any) -> None:
    """Let Sphinx ask `resolved` for references that it misses, and `without_factory` for signatures."""
    app.connect("autodoc-process-signature", without_factory)
    app.connect("missing-reference", resolved)
