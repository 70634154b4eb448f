"""`thinktime predict ratio`: two machines whose swap disk is saturated."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli.predict import items
from thinktime.cli.predict.items import Figures, Item
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.models.swapping.swap_disk import Configuration

__all__ = ["command"]

ITEMS = {
    item.name: item
    for item in (
        Item("loaded", items.number),
        Item("memory", items.whole),
        Item("size", items.sizes),
        Item("processes", items.whole),
        Item("block_time", items.seconds),
        Item("swap_time", items.seconds),
        Item("burst", items.seconds),
        Item("queue_length", items.number, inherited=False),
        Item("utilisation", items.share, inherited=False),
        Item("think_time", items.seconds),
        Item("service_time", items.seconds),
        Item("elapsed", items.seconds, inherited=False),
        Item("interactions", items.whole, inherited=False),
        Item("blocks", items.number, inherited=False),
        Item("interactive", items.truth),
        Item("equal_demands", items.truth),
        Item("single_controller", items.truth),
        Item("one_swap_at_a_time", items.truth),
    )
}
FIELDS = {
    "block_time": "block_time_s",
    "swap_time": "swap_time_s",
    "burst": "burst_s",
    "think_time": "think_s",
    "service_time": "service_s",
    "elapsed": "elapsed_s",
}
"""Names of the model's own, where they differ."""
NEEDED = {"block_time": "40ms", "swap_time": "70ms"}


def command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[A.toml [B.toml]]", help="Files with the figures of one machine or of both."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--from", metavar="LOG", help="Take the figures of A from a log.")
    ] = None,
    device: Annotated[
        str, typer.Option("--device", help="With --from: the device with the files; else the busiest.")
    ] = "",
    loaded: Annotated[
        str | None, typer.Option("--loaded", "--loaded-a", metavar="N", help="Processes in memory.")
    ] = None,
    loaded_b: Annotated[str | None, typer.Option("--loaded-b", metavar="N")] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="N", help="Memory, in the unit of --size: says how many are loaded."
        ),
    ] = None,
    memory_b: Annotated[str | None, typer.Option("--memory-b", metavar="N")] = None,
    size: Annotated[
        str | None, typer.Option("--size", metavar="N,..", help="Of a process; several are dealt in turn.")
    ] = None,
    size_b: Annotated[str | None, typer.Option("--size-b", metavar="N,..")] = None,
    processes: Annotated[
        str | None, typer.Option("--processes", metavar="N", help="Active, loaded or not.")
    ] = None,
    processes_b: Annotated[str | None, typer.Option("--processes-b", metavar="N")] = None,
    block_time: Annotated[
        str | None,
        typer.Option("--block-time", metavar="T", help="Mean time of a file request, without queueing."),
    ] = None,
    block_time_b: Annotated[str | None, typer.Option("--block-time-b", metavar="T")] = None,
    swap_time: Annotated[
        str | None,
        typer.Option("--swap-time", metavar="T", help="The same of a swap, one way; 0 where nothing swaps."),
    ] = None,
    swap_time_b: Annotated[str | None, typer.Option("--swap-time-b", metavar="T")] = None,
    burst: Annotated[str | None, typer.Option("--burst", metavar="T", help="Mean compute burst.")] = None,
    burst_b: Annotated[str | None, typer.Option("--burst-b", metavar="T")] = None,
    queue_length: Annotated[
        str | None,
        typer.Option("--queue-length", metavar="N", help="Mean requests at the controller, as measured."),
    ] = None,
    queue_length_b: Annotated[str | None, typer.Option("--queue-length-b", metavar="N")] = None,
    utilisation: Annotated[
        str | None, typer.Option("--utilisation", metavar="U", help="Of the controller: 0.95 or 95%.")
    ] = None,
    utilisation_b: Annotated[str | None, typer.Option("--utilisation-b", metavar="U")] = None,
    think_time: Annotated[
        str | None, typer.Option("--think-time", metavar="T", help="Mean, between interactions.")
    ] = None,
    think_time_b: Annotated[str | None, typer.Option("--think-time-b", metavar="T")] = None,
    service_time: Annotated[
        str | None,
        typer.Option(
            "--service-time", metavar="T", help="Of an interaction on a machine of its own: gives R / S."
        ),
    ] = None,
    service_time_b: Annotated[str | None, typer.Option("--service-time-b", metavar="T")] = None,
    elapsed: Annotated[
        str | None, typer.Option("--elapsed", metavar="T", help="Of the whole load on A: gives that on B.")
    ] = None,
    interactions: Annotated[
        str | None,
        typer.Option(
            "--interactions", metavar="N", help="Of all processes on A: gives throughput, response."
        ),
    ] = None,
    blocks: Annotated[
        str | None, typer.Option("--blocks", metavar="N", help="File requests on A: gives the swaps.")
    ] = None,
    form: Annotated[
        Literal["text", "json", "csv"],
        typer.Option("--format", help="How to print the figures; json and csv are unrounded, in SI units."),
    ] = "text",
) -> None:
    """Compare two machines whose swap disk is the bottleneck.

    How much longer or shorter does a load take on machine B than on machine A? Equation 3.1 of Brachman
    (1983) and its extensions, with every assumption checked. An option gives a figure of A, and of B where
    the option that ends in -b does not. Times and numbers may have intervals (40ms+-2ms), which the
    prediction then has too. Files have the options' names as keys, with underscores.

    Examples:

      thinktime predict ratio --loaded 4 --loaded-b 8 --block-time 50ms --swap-time 70ms

      thinktime predict ratio --memory 650 --memory-b 1280 --size 157 --block-time 40+-2ms --swap-time 51ms

      thinktime predict ratio now.toml faster-disk.toml --format json

      thinktime predict ratio --from run --memory-b 1280 --utilisation-b 95%
    """
    from thinktime.documents.render import render_section
    from thinktime.models.swapping import disk_bound
    from thinktime.predictions.disk_bound import section

    of_a = {
        "loaded": loaded,
        "memory": memory,
        "size": size,
        "processes": processes,
        "block_time": block_time,
        "swap_time": swap_time,
        "burst": burst,
        "queue_length": queue_length,
        "utilisation": utilisation,
        "think_time": think_time,
        "service_time": service_time,
        "elapsed": elapsed,
        "interactions": interactions,
        "blocks": blocks,
    }
    of_b = {
        "loaded": loaded_b,
        "memory": memory_b,
        "size": size_b,
        "processes": processes_b,
        "block_time": block_time_b,
        "swap_time": swap_time_b,
        "burst": burst_b,
        "queue_length": queue_length_b,
        "utilisation": utilisation_b,
        "think_time": think_time_b,
        "service_time": service_time_b,
    }
    a, b, caveats = _figures(files or [], log, device, of_a, of_b)
    machines = _configuration(a, "A"), _configuration(b, "B")
    answer = section(disk_bound.predict(*machines), machines, (a.sources, b.sources), caveats)
    sys.stdout.write(render_section(answer, form))


def _figures(
    files: list[Path],
    log: Path | None,
    device: str,
    of_a: dict[str, str | None],
    of_b: dict[str, str | None],
) -> tuple[Figures, Figures, tuple[str, ...]]:
    """Figures of both machines: options win over files, and files over the log; with the log's caveats."""
    if len(files) > 2:
        raise InputError(f"{files[2]}: a third machine; give files for A and B, or for A alone")
    a, b = items.of_options(ITEMS, of_a), items.of_options(ITEMS, of_b, "-b")
    if files:
        a = a.over(items.of_file(ITEMS, files[0]))
    if len(files) == 2:
        b = b.over(items.of_file(ITEMS, files[1]))
    caveats: tuple[str, ...] = ()
    if log is not None:
        found, missing, caveats = _of_log(log, device)
        a = a.over(found)
        for name, why in missing.items():
            follows = name == "loaded" and {"memory", "size"} <= set(a.values)
            if name not in a.values and not follows:
                raise InputError(
                    f"{log}: no {name.replace('_', ' ')} of A: {why} (--{name.replace('_', '-')})"
                )
    for name, example in NEEDED.items():
        if name not in a.values:
            raise InputError(
                f"the {name.replace('_', ' ')} of A is not given; give --{name.replace('_', '-')}, such as "
                f"{example}, or --from LOG"
            )
    return a, items.merged(ITEMS, a, b), caveats


def _of_log(path: Path, device: str) -> tuple[Figures, dict[str, str], tuple[str, ...]]:
    """Figures that a log has, why it lacks those that are needed, and what to beware of."""
    from thinktime.analyses.disks import disk_saturation
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable

    found = disk_saturation.analyse(Log.open(path), device=device)
    if isinstance(found, NotApplicable):
        raise InputError(f"{path}: {found.reason}; {found.remedy}")
    facts = found.facts
    measured: dict[str, Any] = {
        "loaded": found.loaded,
        "block_time": found.block_time,
        "swap_time": found.swap_time,
        "queue_length": found.queue_length,
        "utilisation": found.utilisation,
        "elapsed": found.elapsed,
        "blocks": found.blocks,
        "memory": facts.memory,
        "size": facts.size,
        "processes": facts.processes,
        "burst": facts.burst_s,
        "think_time": found.think,
        "interactions": facts.interactions,
        "interactive": facts.interactive,
        "equal_demands": facts.equal_demands,
        "single_controller": facts.single_controller,
        "one_swap_at_a_time": facts.one_swap_at_a_time,
    }
    if facts.memory and facts.size:
        # The model counts what fits, on both machines alike.
        del measured["loaded"]
    missing = {
        name: f"{value.reason}; {value.remedy}"
        for name, value in measured.items()
        if isinstance(value, NotApplicable) and name in ("loaded", "block_time", "swap_time")
    }
    known = {
        name: value
        for name, value in measured.items()
        if value is not None and not isinstance(value, NotApplicable)
    }
    return Figures(known, dict.fromkeys(known, str(path))), missing, found.caveats


def _configuration(figures: Figures, name: str) -> Configuration:
    from thinktime.models.swapping.swap_disk import Configuration

    named = {FIELDS.get(item, item): value for item, value in figures.values.items()}
    try:
        return Configuration(**named)
    except InputError as error:
        raise InputError(f"machine {name}: {error}") from None
