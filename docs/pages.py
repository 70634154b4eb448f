"""Pages of the reference, generated from the code so that they cannot differ from it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

import thinktime
from thinktime import cli, toml
from thinktime.analyses import QUESTIONS
from thinktime.questions.definition import options_of

REFERENCE = Path(__file__).parent / "reference"
PACKAGE = Path(thinktime.__file__).parent
ROOMS = [room for room in thinktime.ROOMS if room != "studies"]
"""Rooms whose modules are for users of the library; studies are run, not imported."""


def write(folder: Path = REFERENCE) -> None:
    """Write all pages into `folder`."""
    (folder / "python").mkdir(parents=True, exist_ok=True)
    for old in (folder / "python").glob("*.md"):
        old.unlink()
    pages = {
        "columns": columns(),
        "machine": machine(),
        "questions": questions(),
        "commands": commands(),
        "python": index(),
        "studies": studies(),
    }
    pages |= {f"python/{module}": module_page(module, names) for module, names in public()}
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


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
    application = typer.main.get_command(cli.application())
    lines = ["# Commands", "", "Every command prints this with `--help`.", ""]
    for path, command in _walk(application, ("thinktime",)):
        context = command.make_context(" ".join(path), [], resilient_parsing=True, terminal_width=100)
        lines += [
            f"{'#' * min(len(path), 3)} {' '.join(path)}",
            "",
            "```text",
            command.get_help(context),
            "```",
            "",
        ]
    return "\n".join(lines)


def _walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if len(path) > 1:
        yield path, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from _walk(command.get_command(None, name), (*path, name))


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


def public() -> Iterator[tuple[str, dict[str, str]]]:
    """Modules of the library, with their public functions and classes and the directive of each."""
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            module = ".".join(("thinktime", *parts)).removesuffix(".__init__")
            names = _defined(path)
            if names or path.name != "__init__.py":
                yield module, names


def _defined(path: Path) -> dict[str, str]:
    """Public names of a module, in order of definition, with the directive that documents each."""
    directives = {
        ast.FunctionDef: "autofunction",
        ast.AsyncFunctionDef: "autofunction",
        ast.ClassDef: "autoclass",
    }
    return {
        node.name: directives[type(node)]
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if type(node) in directives and not node.name.startswith("_")
    }


def index() -> str:
    """Contents of the library: the package itself, then every module by room."""
    lines = ["# Python", "", "```{eval-rst}", ".. automodule:: thinktime", "```", ""]
    for room in ROOMS:
        modules = [module for module, _ in public() if module.split(".")[1] == room]
        lines += [
            f"## {room}",
            "",
            "```{toctree}",
            ":maxdepth: 1",
            *(f"python/{item}" for item in modules),
            "```",
            "",
        ]
    return "\n".join(lines)


def module_page(module: str, names: dict[str, str]) -> str:
    """Everything public in a module, with its docstrings."""
    lines = [f"# {module.removeprefix('thinktime.')}", "", "```{eval-rst}", f".. automodule:: {module}", ""]
    for name, directive in names.items():
        members = ["   :members:", "   :member-order: bysource"] if directive == "autoclass" else []
        lines += [f".. {directive}:: {module}.{name}", *members, ""]
    return "\n".join([*lines, "```", ""])
