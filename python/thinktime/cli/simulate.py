"""`thinktime simulate`: replications of a simulated system, on all cores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.log.runs import Runs
    from thinktime.sources.simulated import Simulated

__all__ = ["command"]

Form = Literal["text", "json", "csv"]


def command(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="Its name; see `thinktime systems`.")],
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", "--parameter", metavar="NAME=VALUE", help="A parameter; may be given often."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE.toml", help="Parameters in a file; -p wins.")
    ] = None,
    replications: Annotated[int, typer.Option("--replications", min=1, help="Independent runs.")] = 8,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of all random numbers.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="LOG", help="Folder of the log, a session a replication."),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Log every interaction and event, not only samples.")
    ] = False,
    add: Annotated[
        bool, typer.Option("--add", help="Add replications to those that the log holds already.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a log that is there.")] = False,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="By default one a core; figures do not depend on it."),
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", help="How the figures are printed; json and csv are unrounded.")
    ] = "text",
) -> None:
    """Simulate a system, again and again with other random numbers, and print what it did, with intervals.

    With -o the replications become a log, which every analysis reads like that of a real machine. The same
    seed gives the same figures, bit for bit; replication r meets the same users whatever else differs.

    Examples:

      thinktime simulate apl360 -p users=35 -p scheduler=fb_infinity -p time_slice=0.1 --seed 1 -o run

      thinktime simulate apl360 -p users=35 --replications 8 --add -o run

      thinktime simulate apl360 -p length=7200 -p warm_up=mser5 --format json

      thinktime simulate network --config queue.toml --trace -o queue; thinktime report queue
    """
    from thinktime.cli import parameters
    from thinktime.documents.render import render_section

    if trace and output is None:
        raise InputError("--trace: the trace needs a log; name its folder with -o")
    given = parameters.read(config, parameter or [])
    earlier = _earlier(output, add, force, system, given, seed)
    try:
        simulated = _simulate(system, given, seed, replications, threads, earlier)
    except InputError as error:
        raise parameters.located(error, system, config, parameter or []) from None
    if output is not None:
        mode: Literal["create", "resume", "replace"] = "resume" if earlier else "create"
        with _progress("writing the log", replications) as progress:
            simulated.record(
                output, trace=trace, mode="replace" if force and not earlier else mode, progress=progress
            )
    sys.stdout.write(render_section(_section(simulated, output), form))
    if output is not None and form == "text":
        typer.echo(f"{output}")


def _earlier(
    output: Path | None, add: bool, force: bool, system: str, given: dict[str, Any], seed: int
) -> Runs | None:
    """Return the replications that are to be continued; refuse what cannot be written."""
    from thinktime.log.runs import Runs

    if add and output is None:
        raise InputError("--add: name the log to be extended with -o")
    if output is None or not output.exists():
        return None
    if not add:
        if force:
            return None
        raise InputError(
            f"{output}: is there already; --add extends it, --force replaces it, -o chooses another name"
        )
    runs = Runs.open(output)
    if (runs.system, runs.seed) != (system, seed):
        raise InputError(
            f"{output}: holds {runs.system} with seed {runs.seed}; what is added must be the same, "
            f"not {system} with seed {seed}"
        )
    differing = [name for name, value in given.items() if _differs(system, name, value, runs.parameters)]
    if differing:
        raise InputError(
            f"{output}: was made with another {', '.join(differing)}; replications with different parameters "
            "cannot be merged (use `thinktime experiment` to compare)"
        )
    return runs


def _differs(system: str, name: str, value: Any, recorded: dict[str, Any]) -> bool:
    """Whether `value` means something else than what was recorded; short forms are spelt out first."""
    from thinktime.sources.simulated import resolve

    return name not in recorded or bool(resolve(system, recorded | {name: value})[name] != recorded[name])


def _simulate(
    system: str, given: dict[str, Any], seed: int, count: int, threads: int | None, earlier: Runs | None
) -> Simulated:
    from thinktime.sources.simulated import simulate

    first = 0
    if earlier is not None:
        done = earlier.cells[0].replications()
        first = done[-1].number + 1 if done else 0
        given = earlier.parameters | given
        if done and given.get("warm_up") == "mser5":
            # The warm-up that was found before holds for what is added: all are cut alike.
            given["warm_up"] = done[0].warm_up_s
    with _progress("simulating", count) as progress:
        return simulate(
            system,
            given,
            seed=seed,
            replications=count,
            first_replication=first,
            threads=threads,
            progress=progress,
        )


def _section(simulated: Simulated, output: Path | None) -> Section:
    from thinktime.log.runs import Runs, over_replications
    from thinktime.reports import replications

    responses = simulated.responses if output is None else Runs.open(output).responses()
    figures = {name: over_replications(responses, name, unit) for name, unit in simulated.units.items()}
    run = replications.RunSummary(
        system=simulated.system,
        seed=simulated.seed,
        replications=len(responses),
        length_s=simulated.parameters["length"],
        warm_up_s=simulated.warm_up_s,
        warm_up_settled=simulated.warm_up_settled,
        laws=simulated.laws,
    )
    return replications.section(run, figures, simulated.descriptions)


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], object] | None]:
    """Show a bar on a terminal, and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
