"""Parameters of a simulated system as options and in a file, limits on its cost, and where it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime import toml
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.sources.simulated import Limits
    from thinktime.tasks import Pool

_TIME = re.compile(r"[\d.]+ ?(?:ns|us|ms|s|min|h|d)")
"""Length of time with its unit."""

Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help="By default, one per core, which is also the most; the results do not depend on it.",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="ADDRESS",
        help="Run on a Dask cluster: address of its scheduler, as in tcp://host:8786, or its scheduler file.",
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="Run on a Dask cluster of N processes, which is started on this machine for it.",
        show_default=False,
    ),
]
MaxEvents = Annotated[
    float | None,
    typer.Option(
        "--max-events", metavar="N", min=1, help="Limit on the events of all replications; by default, 1e10."
    ),
]
MaxMemory = Annotated[
    str,
    typer.Option("--max-memory", metavar="SIZE", help="Limit on memory, as in 16GiB; by default, 4GiB."),
]


def value(text: str) -> Any:
    """Value of `text`: a number, true or false, a list or table in JSON or TOML, or else a word.

    Raises
    ------
    InputError
        A list or table is neither JSON nor TOML.
    """
    try:
        parsed = json.loads(text)
    except ValueError:
        return toml.value(text) if text.startswith(("[", "{")) else text
    # A bare nan or Infinity is no JSON, and no length of time.
    return text if isinstance(parsed, float) and not abs(parsed) < float("inf") else parsed


def in_seconds(system: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters whose times may have a unit, as options have: ``time_slice=100ms``."""
    from thinktime.quantity import parse_seconds
    from thinktime.sources.simulated import systems

    times = {
        item.name for one in systems() if one.name == system for item in one.parameters if item.unit == "s"
    }
    return {
        name: parse_seconds(text, f"-p {name}")
        if name in times and isinstance(text, str) and _TIME.fullmatch(text)
        else text
        for name, text in given.items()
    }


def read(config: Path | None, given: Sequence[str]) -> dict[str, Any]:
    """Parameters of a TOML file, and those given one by one, which take precedence.

    Raises
    ------
    InputError
        The file cannot be read, or one of `given` is not NAME=VALUE.
    """
    parameters = {} if config is None else toml.read(config)
    names: set[str] = set()
    for item in given:
        name, equals, text = item.partition("=")
        if not equals or not name:
            raise InputError(f"-p {item}: give NAME=VALUE, such as -p users=35")
        if name.strip() in names:
            raise InputError(f"-p {name.strip()}: is given twice; give each parameter once")
        names.add(name.strip())
        try:
            parameters[name.strip()] = value(text.strip())
        except InputError as error:
            raise InputError(f"-p {name.strip()}: {error}") from None
        except RecursionError:
            raise InputError(
                f"-p {name.strip()}: its lists and tables are nested too deeply; give fewer levels"
            ) from None
    return parameters


def located(error: InputError, system: str, config: Path | None, given: Sequence[str]) -> InputError:
    """`error`, preceded by file and line if the file contains the parameter that it names."""
    named = re.match(rf'{re.escape(system)}: "?(\w+)', str(error))
    if config is None or named is None:
        return error
    name = named[1]
    if name in (item.partition("=")[0].strip() for item in given):
        return error
    here = re.compile(rf'\s*\[*"?{name}"?\s*[=\].]')
    lines = config.read_text(encoding="utf-8").splitlines()
    number = next((number for number, line in enumerate(lines, 1) if here.match(line)), None)
    return error if number is None else InputError(f"{config}, line {number}: {error}")


@contextmanager
def pool_of(on: str | None, workers: int | None, threads: int | None = None) -> Iterator[Pool | None]:
    """Cluster that the options ask for, closed at the end; None without them.

    Raises
    ------
    InputError
        They contradict each other, or there is no such cluster.
    """
    if on is not None and workers is not None:
        raise InputError("--on --workers: name a cluster that there is, or have one started here; give one")
    if on is None and workers is None:
        yield None
        return
    if threads is not None:
        raise InputError("--threads: is the number on this machine; omit it with --on and --workers")
    from thinktime.cli import messages
    from thinktime.tasks.cluster import Cluster

    with Cluster(on or "", workers=workers or 0, said=messages.note) as pool:
        yield pool


def limits_of(max_events: float | None, max_memory: str) -> Limits:
    """Limits that the options give; what is not given is the default."""
    from thinktime.quantity import parse_bytes
    from thinktime.sources.simulated import LIMITS

    limits = LIMITS
    if max_events is not None:
        if not max_events < 2**63:
            raise InputError(f"--max-events {max_events:g}: give a number below 9e18")
        limits = replace(limits, max_events=int(max_events))
    return replace(limits, max_memory=parse_bytes(max_memory, "--max-memory")) if max_memory else limits
