"""Completion of values in the shell: logs, systems, parameters, scripts, studies, workloads and columns.

Each function returns the values that may follow; Typer keeps those that begin as typed. Where there is none,
the shell completes names of files. Nothing here may fail or print: the user is in the middle of a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

FOLDERS_MAX = 2000
"""Most folders that are searched for logs: the shell waits for the answer."""
DEPTH = 3
"""Levels of folders below the one that is typed."""


def logs(incomplete: str) -> list[str]:
    """Folders that are logs, below the folder that has been typed so far."""
    folder, slash, _ = incomplete.rpartition("/")
    return sorted(_logs(Path(folder + slash or "."), folder + slash))


def _logs(top: Path, typed: str) -> Iterator[str]:
    for searched, (root, folders, files) in enumerate(os.walk(top)):
        below = Path(root).relative_to(top)
        if "manifest.json" in files and below.parts:
            folders.clear()
            yield f"{typed}{below}"
        if searched >= FOLDERS_MAX:
            return
        is_deepest = len(below.parts) >= DEPTH
        folders[:] = [] if is_deepest else sorted(name for name in folders if not name.startswith("."))


def systems() -> list[str]:
    """Names of the simulated systems."""
    from thinktime._native import simulated_systems

    return [system["name"] for system in simulated_systems()]


def parameters() -> list[str]:
    """Parameters of the system that has been typed (of Multics for paging), up to the sign before a value."""
    from thinktime._native import simulated_systems

    by_name = {system["name"]: system["parameters"] for system in simulated_systems()}
    name = next((word for word in _typed() if word in by_name), "multics")
    return [f"{parameter['name']}=" for parameter in by_name[name]]


def parameter_names() -> list[str]:
    """Parameters of the system that has been typed."""
    return [parameter.removesuffix("=") for parameter in parameters()]


def _typed() -> list[str]:
    """Words of the line so far; where an option has no value yet, Click does not read the arguments."""
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()


def schedulers() -> list[str]:
    """Names of the schedulers under which recorded users can be simulated."""
    from thinktime.predictions.replay.answer import SCHEDULERS

    return list(SCHEDULERS)


def scripts() -> list[str]:
    """Names of the built-in scripts."""
    from thinktime.sources.scripts import builtin

    return list(builtin())


def workloads() -> list[str]:
    """Names of the built-in workloads, and of the scripts that can be typed to a shell."""
    from thinktime.sources.plans import WORKLOADS
    from thinktime.sources.scripts import builtin, read

    return [*WORKLOADS, *(name for name in builtin() if read(name).is_for_terminals)]


def studies() -> list[str]:
    """Names of the studies."""
    from thinktime.studies import MEASURED, STUDIES

    return [*STUDIES, *MEASURED]


def columns() -> list[str]:
    """Counters and gauges of the first log that has been typed; of the vocabulary if there is none."""
    from thinktime.log import Log, LogError, vocabulary

    first = next((word for word in _typed() if Path(word, "manifest.json").is_file()), None)
    try:
        schema = vocabulary("samples") if first is None else Log.open(first).schema("samples")
    except LogError:
        schema = vocabulary("samples")
    return [column.name for column in schema if column.kind in ("counter", "gauge")]
