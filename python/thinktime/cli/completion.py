"""Completion of values in the shell: logs, systems, parameters, scripts, studies, workloads and columns.

Each function returns the values that begin with what has been typed of a word. Where there is none, the shell
completes names of files. Nothing here may fail or print: the user is in the middle of a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

FOLDERS_MAX = 2000
"""Most folders that are searched for logs: the shell waits for the answer."""
DEPTH = 3
"""Levels of folders below the one that is typed."""


def logs(incomplete: str) -> list[str]:
    """Folders that are logs, below the folder that has been typed so far."""
    folder, slash, _ = incomplete.rpartition("/")
    return _begun(incomplete, sorted(_logs(folder + slash)))


def _begun(incomplete: str, values: Iterable[str]) -> list[str]:
    """Values that begin as typed."""
    return [value for value in values if value.startswith(incomplete)]


def _logs(typed: str) -> Iterator[str]:
    top = typed or "."
    for searched, (root, folders, files) in enumerate(os.walk(top)):
        below = os.path.relpath(root, top)
        if "manifest.json" in files and below != ".":
            folders.clear()
            yield f"{typed}{below}"
        if searched >= FOLDERS_MAX:
            return
        is_deepest = below != "." and below.count("/") + 1 >= DEPTH
        folders[:] = [] if is_deepest else sorted(name for name in folders if not name.startswith("."))


def systems(incomplete: str) -> list[str]:
    """Names of the simulated systems."""
    from thinktime._native import simulated_systems

    return _begun(incomplete, (system["name"] for system in simulated_systems()))


def parameters(incomplete: str) -> list[str]:
    """Parameters of the system that has been typed, up to the sign before a value."""
    return _begun(incomplete, (f"{name}=" for name in _parameters()))


def parameter_names(incomplete: str) -> list[str]:
    """Parameters of the system that has been typed."""
    return _begun(incomplete, _parameters())


def _parameters() -> list[str]:
    """Parameters of the system that has been typed; of Multics if there is none, as for its paging."""
    from thinktime._native import simulated_systems

    by_name = {system["name"]: system["parameters"] for system in simulated_systems()}
    name = next((word for word in _typed() if word in by_name), "multics")
    return [parameter["name"] for parameter in by_name[name]]


def _typed() -> list[str]:
    """Words of the line so far."""
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()


def schedulers(incomplete: str) -> list[str]:
    """Names of the schedulers under which recorded users can be simulated."""
    from thinktime.predictions.replay.answer import SCHEDULERS

    return _begun(incomplete, SCHEDULERS)


def scripts(incomplete: str) -> list[str]:
    """Names of the built-in scripts."""
    from thinktime.sources.scripts import builtin

    return _begun(incomplete, builtin())


def workloads(incomplete: str) -> list[str]:
    """Names of the built-in workloads, and of the scripts that can be typed to a shell."""
    from thinktime.sources.plans import WORKLOADS
    from thinktime.sources.scripts import builtin, read

    typed = (name for name in builtin() if read(name).is_for_terminals)
    return _begun(incomplete, (*WORKLOADS, *typed))


def studies(incomplete: str) -> list[str]:
    """Names of the studies."""
    from thinktime.studies import MEASURED, STUDIES

    return _begun(incomplete, (*STUDIES, *MEASURED))


def columns(incomplete: str) -> list[str]:
    """Counters and gauges of the first log that has been typed; of the vocabulary if there is none."""
    from thinktime.log import Log, LogError, vocabulary

    first = next((word for word in _typed() if os.path.isfile(os.path.join(word, "manifest.json"))), None)
    try:
        schema = vocabulary("samples") if first is None else Log.open(first).schema("samples")
    except LogError:
        schema = vocabulary("samples")
    return _begun(incomplete, (one.name for one in schema if one.kind in ("counter", "gauge")))
