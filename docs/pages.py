"""Pages of the reference, generated from the code so that they cannot differ from it."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import thinktime
from thinktime import toml
from thinktime.analyses import QUESTIONS
from thinktime.cli.program import catalogue, helptext
from thinktime.questions.definition import options_of

REFERENCE = Path(__file__).parent / "reference"
PACKAGE = Path(thinktime.__file__).parent
ROOMS = [room for room in thinktime.ROOMS if room != "studies"]
"""Rooms whose modules are for users of the library; studies are run, not imported."""
HELP_WIDTH = 100
"""Columns of the help of commands."""
COMMON = ("errors", "results")
"""Modules beside the rooms, whose classes all of them use."""


def write(folder: Path = REFERENCE) -> None:
    """Write all pages into `folder`."""
    (folder / "python").mkdir(parents=True, exist_ok=True)
    pages = {
        "columns": columns(),
        "machine": machine(),
        "questions": questions(),
        "commands": commands(),
        "python": index(),
        "studies": studies(),
        "trust": trust(),
    }
    pages |= {f"python/{module}": module_page(module, names) for module, names in public()}
    for old in {*folder.glob("python/*.md")} - {folder / f"{name}.md" for name in pages}:
        old.unlink()
    for name, text in pages.items():
        page = folder / f"{name}.md"
        # Sphinx reads a page again if it was written, so that one which is the same is left.
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def columns() -> str:
    """Columns of every table that are common to all sources."""
    lines = ["# Columns", "", "Every source uses these names; a source may add columns of its own.", ""]
    for table in thinktime.log.tables():
        lines += [
            f"## `{table}`",
            "",
            "| column | unit | kind | role | content |",
            "| --- | --- | --- | --- | --- |",
        ]
        for column in thinktime.vocabulary(table):
            cells = (f"`{column.name}`", column.unit, column.kind, column.role or "", column.description)
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def machine() -> str:
    """Keys of a machine in the manifest, from their schema."""
    schema = thinktime.log.machine_schema()
    lines = ["# Machine", "", schema["description"], "", "| key | type | content |", "| --- | --- | --- |"]
    lines += [f"| `{key}` | {kind} | {content} |" for key, kind, content in _keys(schema, "")]
    return "\n".join([*lines, ""])


def _keys(schema: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, inner in schema.get("properties", {}).items():
        key, items = f"{prefix}{name}", inner.get("items", {})
        kind = f"array of {items['type']}s" if items else inner["type"]
        column = f"; a column of `{inner['columnOf']}`" if "columnOf" in inner else ""
        yield key, kind, inner["description"] + column
        yield from _keys(items or inner, f"{key}[]." if items else f"{key}.")


def questions() -> str:
    """Questions in the order of the registry, with their options."""
    lines = [
        "# Questions",
        "",
        "`thinktime analyse QUESTION LOG` and `thinktime.analyse(QUESTION, log)` answer one of them;",
        "`thinktime report` answers all questions marked as part of the report.",
        "",
    ]
    for question in QUESTIONS:
        folder = question.name.replace("-", "_")
        lines += [f"## {question.name}", "", f"*{type(question).__doc__}*", ""]
        if question.description:
            lines += [question.description, ""]
        lines += [
            f"Accepts {question.accepts}"
            + ("; part of the report." if question.in_report else "; not part of the report."),
            f"Python: {{py:mod}}`thinktime.analyses.{folder}`.",
            "",
        ]
        options = options_of(question.options)
        if options:
            lines += ["| option | argument in Python | meaning |", "| --- | --- | --- |"]
            lines += [f"| `{item.flag}` | `{name}` | {item.help} |" for name, item in options.items()]
            lines.append("")
        if question.examples:
            lines += [f"    thinktime analyse {question.name} {example}" for example in question.examples]
            lines.append("")
    return "\n".join(lines)


def commands() -> str:
    """Help of every command, as the command line prints it."""
    lines = ["# Commands", "", "Every command prints this with `--help`.", ""]
    for one in catalogue.program().walk():
        if one.path:
            text = helptext.page(one, HELP_WIDTH).rstrip("\n")
            lines += [f"{'#' * min(1 + len(one.path), 3)} {one.name}", "", "```text", text, "```", ""]
    return "\n".join(lines)


def studies() -> str:
    """Agreement of every study with its paper, from the verdicts that its folder holds."""
    lines = [
        "# Studies",
        "",
        "| study | arithmetic | fitted | predicted | claims that hold |",
        "| --- | --- | --- | --- | --- |",
    ]
    failed = []
    for path in sorted((PACKAGE / "studies").glob("*/verdict.json")):
        verdict = json.loads(path.read_text(encoding="utf-8"))
        cells = [verdict["cells"][kind] for kind in ("arithmetic", "fitted", "predicted")]
        agreed = " | ".join(f"{item['agree']} of {item['judged']}" for item in cells)
        held = sum(outcome == "holds" for outcome in verdict["claims"].values())
        lines.append(f"| {verdict['study']} | {agreed} | {held} of {len(verdict['claims'])} |")
        stated = {item["id"]: item["text"] for item in toml.read(path.with_name("study.toml"))["claims"]}
        missed = [stated[name] for name, outcome in verdict["claims"].items() if outcome != "holds"]
        failed += ["", f"Of {verdict['study']}, these claims do not hold here, or cannot be decided:", ""]
        failed += [f"- {text}" for text in missed]
    return "\n".join([*lines, *failed, ""])


def trust() -> str:
    """What the simulated machines of all studies were fitted to, predicted and missed."""
    lines = [
        "# What the simulated machines rest on",
        "",
        "| study | machine | fitted to | predicted, and right | predicted, and wrong | in sight |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for path in sorted((PACKAGE / "studies").glob("*/verdict.json")):
        counts = json.loads(path.read_text(encoding="utf-8"))["cells"]
        fitted, predicted = (
            f"{counts[kind]['agree']} of {counts[kind]['judged']} cells" for kind in ("fitted", "predicted")
        )
        described = toml.read(path.with_name("study.toml"))
        given = described["trust"]
        cells = (
            described["short"],
            given["machine"],
            f"{given['fitted']} ({fitted})",
            f"{given['predicted']} ({predicted})",
            given["missed"],
            given["in_sight"],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def public() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Modules of the library, with their public functions, classes and types and the directive of each."""
    paths = [PACKAGE / f"{name}.py" for name in COMMON]
    paths += [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))]
    for path in paths:
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(("thinktime", *parts)).removesuffix(".__init__")
        names = _defined(path)
        if names or path.name != "__init__.py":
            yield module, names


def _defined(path: Path) -> dict[str, list[str]]:
    """Public names of a module, in order of definition, with the directive that documents each."""
    found = {}
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for node, below in pairwise([*body, ast.Pass()]):
        if isinstance(node, ast.FunctionDef):
            found[node.name] = [".. autofunction:: {name}"]
        elif isinstance(node, ast.ClassDef):
            found[node.name] = [".. autoclass:: {name}", "   :members:", "   :member-order: bysource"]
        elif (alias := _alias(node)) and (text := _text_of(below)):
            name, value = alias
            found[name] = [
                ".. py:type:: {name}",
                f"   :canonical: {value}",
                "",
                *(f"   {line}" for line in text.splitlines()),
            ]
    return {name: lines for name, lines in found.items() if not name.startswith("_")}


def _alias(node: ast.stmt) -> tuple[str, str] | None:
    """Name of a type and what it stands for, if a statement defines one: ``Route: TypeAlias = ...``."""
    target = node.target if isinstance(node, ast.AnnAssign) else None
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
        target = node.targets[0]
    if not isinstance(target, ast.Name) or not isinstance(node, ast.Assign | ast.AnnAssign):
        return None
    declared = isinstance(node, ast.Assign) or ast.unparse(node.annotation) == "TypeAlias"
    # A type is a word, a constant is not.
    if node.value is None or not declared or target.id.isupper() or not target.id[0].isupper():
        return None
    is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return target.id, node.value.value if is_text else ast.unparse(node.value)


def _text_of(node: ast.stmt) -> str:
    """The text that stands below a definition, and describes it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return inspect.cleandoc(str(node.value.value))
    return ""


def index() -> str:
    """Contents of the library: the package itself, then every module by room."""
    lines = ["# Python", "", "```{eval-rst}", ".. automodule:: thinktime", "```", ""]
    modules = [module for module, _ in public()]
    of_rooms = {room: [module for module in modules if module.split(".")[1] == room] for room in ROOMS}
    beside = [f"thinktime.{name}" for name in COMMON]
    for title, members in {"errors and results": beside, **of_rooms}.items():
        lines += [
            f"## {title}",
            "",
            "```{toctree}",
            ":maxdepth: 1",
            *(f"python/{item}" for item in members),
            "```",
            "",
        ]
    return "\n".join(lines)


def module_page(module: str, names: dict[str, list[str]]) -> str:
    """Everything public in a module, with its docstrings."""
    lines = [f"# {module.removeprefix('thinktime.')}", "", "```{eval-rst}", f".. automodule:: {module}", ""]
    for name, (first, *more) in names.items():
        lines += [first.format(name=f"{module}.{name}"), *more, ""]
    return "\n".join([*lines, "```", ""])
