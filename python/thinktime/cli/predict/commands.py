"""Commands of the models: each reads its inputs and returns the section or document of its prediction."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinktime.cli import completion, messages, parameters
from thinktime.cli.progress import counted
from thinktime.documents.document import Document, Section
from thinktime.errors import InputError
from thinktime.models.swapping.response_time import Swapping
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.predictions.inputs import (
    Given,
    Input,
    check_complete,
    exact,
    inputs_of,
    of_file,
    of_options,
    seconds,
    share,
    whole,
)
from thinktime.predictions.paging import VARIED
from thinktime.predictions.swap_overhead import Load
from thinktime.questions.definition import warned

if TYPE_CHECKING:
    from thinktime.stats.estimate import Caveat

VALUES_MAX = 200
"""Most values of a range: each is a prediction and a row of a table."""


def numbers_of(given: object, item: str) -> list[float]:
    """Values of a text: one, several separated by commas, or a range FROM..TO or FROM..TO..STEP."""
    text = str(given)
    try:
        ends = [float(part) for part in text.split("..")] if ".." in text else []
        listed = [] if ends else [float(part) for part in text.split(",")]
    except ValueError:
        ends, listed = [], []
    why = ""
    if len(ends) in (2, 3) and all(map(math.isfinite, ends)):
        low, high, step = ends if len(ends) == 3 else (*ends, 1.0)
        if low > high:
            why = f"{low:g} is above {high:g}; "
        elif step > 0.0 and (high - low) / step >= VALUES_MAX:
            why = "too many values; "
        elif step > 0.0:
            listed = [low + index * step for index in range(int((high - low) / step + 1e-9) + 1)]
    if not listed or not all(math.isfinite(value) for value in listed):
        raise InputError(
            f"{item} {text}: {why}give a number, several such as 128,256, or a range such as 256..768..64 "
            f"of at most {VALUES_MAX} values"
        )
    return [int(value) if value == int(value) else value for value in listed]


CONFIGURATION = inputs_of(Configuration)
LOAD = inputs_of(Load)
SWAPPING = inputs_of(Swapping)
RANGES = tuple(
    Input(
        field=name,
        key=name,
        help=f"{VARIED[name].capitalize()}: {example}.",
        metavar="N,..",
        example=example.split(",")[0],
        read=numbers_of,
        required=False,
    )
    for name, example in {
        "core": "256, or 256..768..64",
        "users": "40, or 5..60..5",
        "cpus": "1, 2, or 1..2",
        "max_eligible": "4.5, or 1..16",
    }.items()
)
INPUTS = {
    "disk-bound": (CONFIGURATION, True),
    "swap-overhead": (LOAD, False),
    "swapping": (SWAPPING, False),
    "paging": (RANGES, False),
}
"""Inputs from which the options of each model follow, and True if a machine B has the same."""


def disk_bound(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[A.toml [B.toml]]", help="Files with the inputs of one machine or of both."),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="LOG", help="Take the inputs of A from a log.", autocompletion=completion.logs
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option(
            "--device",
            metavar="DISK",
            help="With --from: device that holds the files; by default, the busiest.",
        ),
    ] = "",
    **texts: str | None,
) -> Section:
    """Compare two machines whose swap disk is the bottleneck.

    How much longer or shorter does a load take on machine B than on machine A? Equation 3.1 of Brachman
    (1983) and its extensions, with every assumption checked. An option applies to A, and to B unless the
    same option ending in -b is given. If times and numbers have intervals (40ms+-2ms), so does the
    prediction. Keys of files are the options' names, with underscores.

    Examples:

      thinktime predict disk-bound --loaded 4 --loaded-b 8 --block-time 50ms --swap-time 70ms

      thinktime predict disk-bound machine.toml --memory 650 --memory-b 1280 --block-time 40+-2ms

      thinktime predict disk-bound now.toml faster-disk.toml --format json

      thinktime predict disk-bound --from run --memory-b 1280 --utilisation-b 95%
    """
    from thinktime.models.swapping import disk_bound as model
    from thinktime.predictions import disk_bound as prediction

    a, b = of_options(CONFIGURATION, texts), of_options(CONFIGURATION, texts, "b")
    for path, given in zip(files or (), ("A", "B", ""), strict=False):
        if given == "A":
            a = a.over(of_file(CONFIGURATION, path))
        elif given == "B":
            b = b.over(of_file(CONFIGURATION, path))
        else:
            raise InputError(
                f"{path}: is the file of a third machine; give files for A and B, or for A alone"
            )
    caveats: tuple[Caveat, ...] = ()
    changed: tuple[str, ...] = ()
    if log is not None:
        a, caveats, changed = _measured(a, log, device)
    check_complete(CONFIGURATION, a, of=" of A", remedy="--from LOG")
    b = b.over(Given.of(prediction.inherited(a.values, b.values), "as A"))
    machines = _configuration(a, "A"), _configuration(b, "B")
    sources = a.sources, b.sources
    return warned(prediction.section(model.predict(*machines), machines, sources, caveats), changed)


def _measured(a: Given, path: Path, device: str) -> tuple[Given, tuple[Caveat, ...], tuple[str, ...]]:
    """Inputs of A completed by those of a log, the log's caveats, and where the log was changed."""
    from thinktime.log import Log, border
    from thinktime.predictions import disk_bound
    from thinktime.stats.estimate import NotApplicable

    opened = Log.open(path)
    changed = border.changes([opened])
    for sentence in changed:
        messages.failure(f"thinktime: {sentence}")
    with border.reading(opened):
        log = disk_bound.of_log(opened, device=device)
    if isinstance(log, NotApplicable):
        raise InputError(f"{path}: {log.reason}; {log.remedy}")
    a = a.over(Given.of(log.inputs, str(path)))
    for item in CONFIGURATION:
        why = log.missing.get(item.field)
        follows = item.field == "loaded" and {"memory", "size"} <= set(a.values)
        if why is not None and item.field not in a.values and not follows:
            raise InputError(f"{path}: has no {item.option} of A: {why.reason}; {why.remedy}")
    return a, log.caveats, changed


def _configuration(given: Given, name: str) -> Configuration:
    try:
        return Configuration(**given.values)
    except InputError as error:
        raise InputError(f"machine {name}: {error}") from None


def swap_overhead(**texts: str | None) -> Section:
    """Predict the cost of swapping where the CPU is the bottleneck.

    The two CPU-bound cases of Brachman (1983): with one process in memory every swap adds its time (--swaps);
    with several, time grows with the number of processes alone, as long as the memory quantum (--quantum) is
    at least two swap times.

    Examples:

      thinktime predict swap-overhead --elapsed 300s --swap-time 70ms --swaps 1000

      thinktime predict swap-overhead --elapsed 300s --swap-time 70ms --quantum 1s --processes-b 15
    """
    from thinktime.predictions.swap_overhead import predict, section

    given = of_options(LOAD, texts)
    check_complete(LOAD, given, remedy="--help shows an example")
    return section(predict(Load(**given.values)))


def swapping(
    file: Annotated[
        Path | None, typer.Argument(metavar="[MACHINE.toml]", help="File with the inputs of the machine.")
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option("--what-if", metavar="NAME=VALUE ..", help="Another machine; repeatable."),
    ] = None,
    **texts: str | None,
) -> Section:
    """Predict response times of a machine that swaps, saturated or not.

    A closed network of disk, CPU and pauses in which only processes in memory work, with a swapper like that
    of Sixth Edition UNIX. Needs the demands of an interaction, and predicts how often processes are swapped.
    Times and numbers may have intervals (40ms+-2ms). Keys of a file are the options' names, with
    underscores. --what-if names the changed inputs of another machine, separated by spaces.

    Examples:

      thinktime predict swapping machine.toml --what-if memory=1280 --what-if "processes=18 memory=1280"

      thinktime predict swapping machine.toml --processes 18 --block-time 30+-2ms

      thinktime predict swapping machine.toml --size 157,314 --swap-time 51ms,101ms --format json
    """
    from thinktime.models.swapping.response_time import predict
    from thinktime.predictions.swapping import section

    now = of_options(SWAPPING, texts)
    if file is not None:
        now = now.over(of_file(SWAPPING, file))
    check_complete(SWAPPING, now)
    machine = Swapping(**now.values)
    changes = [(change, predict(_changed(now, change))) for change in what_if or ()]
    return section(machine, predict(machine), now.sources, changes)


def _changed(now: Given, change: str) -> Swapping:
    """Machine with the inputs that `change` names replaced."""
    by_key = {item.key: item for item in SWAPPING}
    texts: dict[str, str | None] = {}
    for part in change.split():
        name, equals, value = part.partition("=")
        item = by_key.get(name.replace("-", "_"))
        if not equals or item is None:
            raise InputError(f"--what-if {part}: give NAME=VALUE with NAME one of {', '.join(by_key)}")
        texts[item.field] = value
    if not texts:
        raise InputError("--what-if: changes nothing; give NAME=VALUE, such as memory=1280")
    try:
        return Swapping(**of_options(SWAPPING, texts).over(now).values)
    except InputError as error:
        raise InputError(f"--what-if {change}: {error}") from None


def paging(
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            "--parameter",
            metavar="NAME=VALUE",
            help="Any other parameter; repeatable.",
            autocompletion=completion.parameters,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE.toml", help="File of parameters; options take precedence."),
    ] = None,
    levels: Annotated[
        int, typer.Option("--levels", min=2, max=256, help="Largest number of eligible processes to search.")
    ] = 16,
    simulate: Annotated[
        int,
        typer.Option("--simulate", metavar="R", min=0, help="Also simulate R replications of each machine."),
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the simulations.")] = 1,
    **texts: str | None,
) -> Document:
    """Predict the effect of core, users, processors and eligible processes on a paging machine.

    A closed network with a lifetime function models the simulated system multics: it has the same parameters
    (see `thinktime systems multics`) and the same results, and takes a second. Options with a range
    (256..768..64) produce a table and a chart. With --simulate R, the simulation is shown for comparison.

    Examples:

      thinktime predict paging

      thinktime predict paging --core 384 --cpus 2 --users 48 --max-eligible 5.8 --simulate 4

      thinktime predict paging --max-eligible 1..16 --core 128..512..64 --simulate 2 -o paging.html

      thinktime predict paging -p version=3.1.1 --users 4..20..2 --format csv
    """
    from thinktime.predictions.paging import Simulation, document

    values = of_options(RANGES, texts).values
    single = {name: listed[0] for name, listed in values.items() if len(listed) == 1}
    ranges = {name: listed for name, listed in values.items() if len(listed) > 1}
    base = parameters.read(config, parameter or []) | single
    simulation = Simulation(replications=simulate, seed=seed) if simulate else None
    machines = 1 + sum(map(len, ranges.values()))
    with counted("predicting", machines) as show:
        return document(base, ranges, levels=levels, simulation=simulation, show=show)


def network(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[NETWORK.toml]",
            help="TOML or JSON file with stations, and think_time, users and route, or classes.",
        ),
    ] = None,
    station: Annotated[
        list[str] | None,
        typer.Option(
            "--station",
            metavar="NAME=TIME[/TIME..][,KEY=VALUE..]",
            help="Service demand of an interaction at a station, over all its visits, or one for each class "
            "in their order. Keys: servers (a number, or delay), discipline (ps, fcfs, dps, priority, "
            "preemptive_priority), variation, visits. Repeatable.",
        ),
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            metavar="NAME,KEY=VALUE..",
            help="Class of customers. Keys: users and think_time, or arrivals (per second); priority (0 is "
            "the most urgent), weight. Repeatable.",
        ),
    ] = None,
    think_time: Annotated[
        str | None, typer.Option("--think-time", metavar="T", help="Mean think time. Default: 0.")
    ] = None,
    users: Annotated[
        str | None, typer.Option("--users", metavar="N", help="Number of users: 40, or 5..60..5.")
    ] = None,
    quantiles: Annotated[
        str | None,
        typer.Option(
            "--quantiles", metavar="P,..", help="Also predict quantiles of response times: 50%,90%,99%."
        ),
    ] = None,
) -> Document:
    """Predict response times, throughput and queues of a network of stations.

    Users who think and then visit stations, by number of users; or several classes, of users or of arrivals
    from outside, with priorities. The service demands of an interaction may have intervals (30+-2ms), and so
    has the prediction. Solutions are exact where the network has a product form; others state their error.

    Examples:

      thinktime predict network --station cpu=30ms --station disk=40ms --think-time 5s --users 10..120..10

      thinktime predict network --station cpu=30+-2ms,servers=2 --think-time 1s --users 40 --quantiles 90%,99%

      thinktime predict network --station cpu=30ms --station disk=40ms --class queries,arrivals=12

      thinktime predict network --class editing,users=20,think_time=10s --class batch,users=2,priority=1
      --station cpu=0.1s/3s,discipline=preemptive_priority --station disk=40ms/1s

      thinktime predict network machine.toml --station disk=20ms --users 1..100 -o network.html
    """
    from thinktime.predictions import classes as several
    from thinktime.predictions import network_input
    from thinktime.predictions.network import Network, document

    table = network_input.read(file)
    table = network_input.with_options(table, station or (), classes or ())
    table |= {
        name: value
        for name, value in (("think_time", think_time), ("users", users), ("quantiles", quantiles))
        if value is not None
    }
    wanted = _several_shares(table.pop("quantiles", None), "--quantiles")
    if table["classes"]:
        return several.document(network_input.several_classes(table, wanted))
    if "users" not in table:
        raise InputError("no number of users is given; give --users, such as 40 or 5..60..5, or --class")
    described = Network(
        stations=network_input.single_class(table),
        users=tuple(whole(value, "--users") for value in numbers_of(table["users"], "--users")),
        think_s=seconds(table.get("think_time", 0), "--think-time"),
        quantiles=wanted,
        route=table["route"] if isinstance(table.get("route"), dict) else None,
    )
    return document(described)


def _several_shares(given: object, item: str) -> tuple[float, ...]:
    """Probabilities between 0 and 1, of a list or of a text with commas; none if not given."""
    if given is None:
        return ()
    texts = given if isinstance(given, list) else str(given).split(",")
    values = tuple(exact(share, text, item) for text in texts)
    for value in values:
        if not 0.0 < value < 1.0:
            raise InputError(f"{item} {value:g}: give a part between 0 and 1, such as 90%")
    return values
