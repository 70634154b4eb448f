"""Options of commands that simulate: threads, and what a simulation may cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from thinktime.sources.simulated import Limits

Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help="By default, one per core, which is also the most; the results do not depend on it.",
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


def limits_of(max_events: float | None, max_memory: str) -> Limits:
    """Limits that the options give; what is not given is the default."""
    from thinktime.errors import InputError
    from thinktime.quantity import parse_bytes
    from thinktime.sources.simulated import LIMITS

    limits = LIMITS
    if max_events is not None:
        if not max_events < 2**63:
            raise InputError(f"--max-events {max_events:g}: give a number below 9e18")
        limits = replace(limits, max_events=int(max_events))
    return replace(limits, max_memory=parse_bytes(max_memory, "--max-memory")) if max_memory else limits
