"""`thinktime predict swapping`: a machine that swaps whole processes, whatever its bottleneck."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli.predict import items
from thinktime.cli.predict.items import Figures, Item
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.models.swapping.response_time import Swapping
    from thinktime.stats.estimate import Estimate

__all__ = ["command"]


def _several(given: object, item: str) -> Any:
    """Read a time, or one for each size with commas between."""
    listed = given if isinstance(given, list) else str(given).split(",")
    found = tuple(items.seconds(each, item) for each in listed)
    return found[0] if len(found) == 1 else found


def _dispatch(given: object, item: str) -> str:
    """Read how the CPU is given away."""
    from thinktime.models.swapping.response_time import DISPATCHES

    if given not in DISPATCHES:
        raise InputError(f"{item} {given}: give one of {', '.join(DISPATCHES)}")
    return str(given)


def _exact(read: Callable[[object, str], float | Estimate]) -> Callable[[object, str], float]:
    """Read a figure that has no interval."""

    def exact(given: object, item: str) -> float:
        found = read(given, item)
        if not isinstance(found, (int, float)):
            raise InputError(f"{item} {given}: give it without an interval")
        return found

    return exact


def _flag(given: object, item: str) -> bool:
    """Read yes or no, or true or false of a TOML file."""
    known = {"yes": True, "true": True, "no": False, "false": False}
    found = known.get(str(given).lower())
    if found is None:
        raise InputError(f"{item} {given}: give yes or no")
    return found


ITEMS = {
    item.name: item
    for item in (
        Item("processes", items.whole),
        Item("memory", items.whole),
        Item("size", items.sizes),
        Item("text", _exact(items.number)),
        Item("blocks", items.number),
        Item("block_time", items.seconds),
        Item("swap_time", _several),
        Item("compute", items.seconds),
        Item("system", items.seconds),
        Item("think_time", items.seconds),
        Item("interactions", items.whole),
        Item("behind", items.share),
        Item("gap", items.seconds),
        Item("dispatch", _dispatch),
        Item("compute_variation", _exact(items.number)),
        Item("minimum_time_in", _exact(items.seconds)),
        Item("minimum_time_out", _exact(items.seconds)),
        Item("own_controller", _flag),
    )
}
FIELDS = {
    "block_time": "block_time_s",
    "swap_time": "swap_time_s",
    "compute": "compute_s",
    "system": "system_s",
    "think_time": "think_s",
    "gap": "gap_s",
    "minimum_time_in": "minimum_time_in_s",
    "minimum_time_out": "minimum_time_out_s",
}
"""Names of the model's own, where they differ."""
NEEDED = {
    "processes": "12",
    "memory": "650",
    "size": "157",
    "blocks": "5",
    "block_time": "40ms",
    "swap_time": "51ms",
    "compute": "12ms",
    "think_time": "1s",
}
Text = str | None


def command(
    file: Annotated[
        Path | None, typer.Argument(metavar="[MACHINE.toml]", help="File with the figures of the machine.")
    ] = None,
    processes: Annotated[Text, typer.Option("--processes", metavar="N", help="Active ones.")] = None,
    memory: Annotated[
        Text, typer.Option("--memory", metavar="N", help="For users, in the unit of --size.")
    ] = None,
    size: Annotated[
        Text, typer.Option("--size", metavar="N,..", help="Of a process; several are dealt in turn.")
    ] = None,
    text: Annotated[
        Text, typer.Option("--text", metavar="N", help="Part of the size that all share and is not swapped.")
    ] = None,
    blocks: Annotated[
        Text, typer.Option("--blocks", metavar="N", help="File transfers of an interaction at the disk.")
    ] = None,
    block_time: Annotated[
        Text, typer.Option("--block-time", metavar="T", help="Mean of one, without queueing.")
    ] = None,
    swap_time: Annotated[
        Text, typer.Option("--swap-time", metavar="T,..", help="Of one swap, one way; or one for each size.")
    ] = None,
    compute: Annotated[
        Text, typer.Option("--compute", metavar="T", help="CPU time of the program in an interaction.")
    ] = None,
    system: Annotated[
        Text, typer.Option("--system", metavar="T", help="CPU time of the system in an interaction.")
    ] = None,
    think_time: Annotated[
        Text, typer.Option("--think-time", metavar="T", help="Mean pause between interactions.")
    ] = None,
    interactions: Annotated[
        Text, typer.Option("--interactions", metavar="N", help="Of each process: gives elapsed time, swaps.")
    ] = None,
    behind: Annotated[
        Text, typer.Option("--behind", metavar="P", help="Part of the transfers nobody waits for: 45%.")
    ] = None,
    gap: Annotated[
        Text, typer.Option("--gap", metavar="T", help="Between two requests at the controller.")
    ] = None,
    dispatch: Annotated[
        Text, typer.Option("--dispatch", metavar="HOW", help="slices (as Sixth Edition) or sharing.")
    ] = None,
    compute_variation: Annotated[
        Text, typer.Option("--compute-variation", metavar="C", help="Of the compute time: deviation/mean.")
    ] = None,
    minimum_time_in: Annotated[
        Text, typer.Option("--minimum-time-in", metavar="T", help="Before a ready process is swapped out.")
    ] = None,
    minimum_time_out: Annotated[
        Text, typer.Option("--minimum-time-out", metavar="T", help="Before another is swapped out for one.")
    ] = None,
    own_controller: Annotated[
        Text, typer.Option("--own-controller", metavar="YES", help="Whether swaps have a controller.")
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option("--what-if", metavar="NAME=VALUE ..", help="Another machine; may be given repeatedly."),
    ] = None,
    form: Annotated[
        Literal["text", "json", "csv"],
        typer.Option("--format", help="How to print the figures; json and csv are unrounded, in SI units."),
    ] = "text",
) -> None:
    """Predict a machine that swaps, saturated or not.

    A closed network of disk, CPU and pauses in which only processes in memory work, with a swapper as that of
    Sixth Edition UNIX. Needs what an interaction asks for, and finds how often is swapped. Times and numbers
    may have intervals (40ms+-2ms). A file has the options' names as keys, with underscores. Another machine
    differs by one figure or by several with spaces between.

    Examples:

      thinktime predict swapping machine.toml --what-if memory=1280 --what-if "processes=18 memory=1280"

      thinktime predict swapping machine.toml --processes 18 --block-time 30+-2ms

      thinktime predict swapping machine.toml --size 157,314 --swap-time 51ms,101ms --format json
    """
    from thinktime.documents.render import render_section
    from thinktime.models.swapping import response_time
    from thinktime.predictions.swapping import section

    given = {
        "processes": processes,
        "memory": memory,
        "size": size,
        "text": text,
        "blocks": blocks,
        "block_time": block_time,
        "swap_time": swap_time,
        "compute": compute,
        "system": system,
        "think_time": think_time,
        "interactions": interactions,
        "behind": behind,
        "gap": gap,
        "dispatch": dispatch,
        "compute_variation": compute_variation,
        "minimum_time_in": minimum_time_in,
        "minimum_time_out": minimum_time_out,
        "own_controller": own_controller,
    }
    now = items.of_options(ITEMS, given)
    if file is not None:
        now = now.over(items.of_file(ITEMS, file))
    for name, example in NEEDED.items():
        if name not in now.values:
            raise InputError(
                f"{name} is not given; give --{name.replace('_', '-')}, such as {example}, or a file"
            )
    machine = _machine(now)
    others = [(each, response_time.predict(_changed(now, each))) for each in what_if or ()]
    sources = {FIELDS.get(name, name): source for name, source in now.sources.items()}
    answer = section(machine, response_time.predict(machine), sources, others)
    sys.stdout.write(render_section(answer, form))


def _machine(figures: Figures) -> Swapping:
    from thinktime.models.swapping.response_time import Swapping

    return Swapping(**{FIELDS.get(name, name): value for name, value in figures.values.items()})


def _changed(now: Figures, change: str) -> Swapping:
    """Machine that differs by what a what-if says.

    Raises
    ------
    InputError
        It says nothing that can be.
    """
    said: dict[str, str | None] = {}
    for each in change.split():
        name, equals, value = each.partition("=")
        name = name.replace("-", "_")
        if not equals or name not in ITEMS:
            raise InputError(f"--what-if {each}: give NAME=VALUE with NAME one of {', '.join(ITEMS)}")
        said[name] = value
    if not said:
        raise InputError("--what-if: nothing is changed; give NAME=VALUE, such as memory=1280")
    try:
        return _machine(items.of_options(ITEMS, said).over(now))
    except InputError as error:
        raise InputError(f"--what-if {change}: {error}") from None
