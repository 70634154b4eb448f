"""`thinktime predict cpu-bound`: swapping on a machine whose CPU is the bottleneck."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from thinktime.cli.predict import items
from thinktime.errors import InputError

__all__ = ["command"]

LABELS = {
    "elapsed_b_s": "elapsed time then",
    "swapping_s": "time in which nothing but swapping goes on",
    "ratio": "elapsed time then over that now",
    "quantum_least_s": "memory quantum below which the machine thrashes: 2 Tswap",
    "swap_time_most_s": "swap time above which it thrashes: half the quantum",
}


def command(
    elapsed: Annotated[str, typer.Option("--elapsed", metavar="T", help="Of the load now.")],
    swap_time: Annotated[
        str,
        typer.Option("--swap-time", metavar="T", help="Mean time of one swap, one way, without queueing."),
    ],
    swaps: Annotated[
        str | None,
        typer.Option("--swaps", metavar="N", help="One process is loaded: swaps, in and out, to be added."),
    ] = None,
    quantum: Annotated[
        str | None,
        typer.Option("--quantum", metavar="T", help="Several are loaded: CPU time while in memory."),
    ] = None,
    processes: Annotated[str, typer.Option("--processes", metavar="N", help="Active now.")] = "1",
    processes_b: Annotated[
        str | None, typer.Option("--processes-b", metavar="N", help="Active then; as now by default.")
    ] = None,
    form: Annotated[
        Literal["text", "json", "csv"],
        typer.Option("--format", help="How to print the figures; json and csv are unrounded, in SI units."),
    ] = "text",
) -> None:
    """Tell what swapping costs where the CPU is the bottleneck.

    The two CPU-bound cases of Brachman (1983): with one process in memory every swap adds its time (--swaps);
    with several, time grows with the number of processes alone, as long as the memory quantum (--quantum) is
    at least two swap times.

    Examples:

      thinktime predict cpu-bound --elapsed 300s --swap-time 70ms --swaps 1000

      thinktime predict cpu-bound --elapsed 300s --swap-time 70ms --quantum 1s --processes 10 --processes-b 15
    """
    from thinktime.documents import format as shown
    from thinktime.documents.render import render_section
    from thinktime.models.swapping import swap_overhead
    from thinktime.predictions import prediction

    if (swaps is None) == (quantum is None):
        raise InputError("give --swaps where one process is loaded, or --quantum where several are")
    before, swap = items.seconds(elapsed, "--elapsed"), items.seconds(swap_time, "--swap-time")
    if swaps is not None:
        found = swap_overhead.one_loaded(before, swap, items.number(swaps, "--swaps"))
    else:
        number = items.whole(processes, "--processes")
        then = number if processes_b is None else items.whole(processes_b, "--processes-b")
        found = swap_overhead.several_loaded(before, number, then, items.seconds(quantum, "--quantum"), swap)
    after = shown.cell(prediction.estimate(found.quantity("elapsed_b_s")))
    section = prediction.section(
        "cpu-bound", "How long does the load then take?", found, LABELS, summary=[f"The load takes {after}."]
    )
    sys.stdout.write(render_section(section, form))
