"""`thinktime experiment`: a designed experiment on a simulated system, and its analysis of variance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli import messages
from thinktime.cli.destination import SectionForm
from thinktime.cli.parameters import MaxEvents, MaxMemory, On, Threads, Workers, limits_of, pool_of
from thinktime.cli.progress import counted
from thinktime.errors import InputError, InterruptedWorkError

if TYPE_CHECKING:
    from thinktime.log.runs import Runs
    from thinktime.sources.experiments import Progress


def command(
    design: Annotated[
        Path,
        typer.Argument(metavar="DESIGN.toml", help="The design, or a folder of runs to analyse again."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Also write a page with figures (or .txt, .json, .csv)."
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--runs", metavar="FOLDER", help="Folder of the runs; by default, the design's name."),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option("--replications", min=2, help="Replications of each cell, instead of the design's."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue existing runs: simulate only the missing replications."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace existing runs and page; with --resume, the page alone.")
    ] = False,
    response: Annotated[
        list[str] | None,
        typer.Option("--response", metavar="NAME", help="Analyse this response only; repeatable."),
    ] = None,
    threads: Threads = None,
    on: On = None,
    workers: Workers = None,
    max_events: MaxEvents = None,
    max_memory: MaxMemory = "",
    form: Annotated[
        SectionForm, typer.Option("--format", help="Format of the results; json and csv are unrounded.")
    ] = "text",
) -> None:
    """Run a factorial experiment on a simulated system, and estimate the effect of each factor.

    Every combination of levels is simulated, by default with the same workloads, so that workloads are
    blocks. Each cell is a separate log. An interrupted experiment continues with --resume, which also
    extends a finished one with more --replications. The limits --max-events and --max-memory hold for
    each cell.

    With --on, each cell is a task for the workers of a Dask cluster, which must have the same thinktime;
    its log comes back here. Workers that die and a scheduler that is restarted lose no complete cell.

    The design is a file in TOML: system, seed, replications (8), blocks (true), trace (false), responses
    (all), transformation (such as "log10"), and the tables [parameters], the same in all cells, and
    [factors], lists of levels.

    Examples:

      thinktime experiment scheduling.toml --runs scheduling

      thinktime experiment scheduling.toml --runs scheduling --resume --replications 16

      thinktime experiment scheduling.toml --runs scheduling --on tcp://scheduler:8786

      thinktime experiment scheduling --response mean_response_s --format json | jq '.findings'
    """
    from thinktime.analyses.experiment import ExperimentOptions, ExperimentQuestion
    from thinktime.cli import destination
    from thinktime.documents.render import render

    page = destination.form_of(output)
    runs = _opened(design) if (design / "runs.json").exists() else None
    if output is not None:
        if runs is None and not force and output.is_file():
            # --force alone would replace the runs too, which may have taken hours.
            raise InputError(
                f"{output}: already exists; --resume --force replaces the page and keeps the runs, "
                "-o chooses another name"
            )
        destination.check(output, force, page)
    how: dict[str, Any] = {"threads": threads, "limits": limits_of(max_events, max_memory)}
    if runs is None:
        with pool_of(on, workers, threads) as pool:
            how["pool"] = pool
            runs = _run(design, folder, replications, resume=resume, force=force, how=how)
    elif folder or replications or resume or on or workers:
        raise InputError(f"{design}: is a folder of runs; give the design to simulate")
    document = ExperimentQuestion().answer((runs,), ExperimentOptions(responses=tuple(response or ())))
    messages.rendered(render(document, form, destination.width()))
    if output is not None:
        destination.write(output, render(document, page))


def _opened(folder: Path) -> Runs:
    from thinktime.log.runs import Runs

    return Runs.open(folder)


def _run(
    path: Path,
    folder: Path | None,
    replications: int | None,
    *,
    resume: bool,
    force: bool,
    how: dict[str, Any],
) -> Runs:
    from thinktime.log import design
    from thinktime.log.runs import FILE_NAME, Runs
    from thinktime.sources import experiments

    read = design.read(path)
    if replications is not None:
        read = replace(read, replications=replications)
    experiments.check(read, how["limits"])
    if how["pool"] is not None:
        how["pool"].open()
    folder = folder or path.with_suffix("")
    try:
        # Once the list of cells is written, there is something to resume, whatever comes between.
        runs = experiments.prepare(read, folder, resume=resume, force=force)
        with counted("simulating") as show:
            experiments.run(read, runs, **how, progress=None if show is None else _shown(show))
    except KeyboardInterrupt:
        if not (folder / FILE_NAME).exists():
            raise
        raise InterruptedWorkError(
            "interrupted; cells that were complete are kept; --resume continues"
        ) from None
    return Runs.open(folder)


def _shown(show: Callable[..., None]) -> Callable[[Progress], object]:
    """Callback that shows the number of finished cells, and their replications as a bar."""

    def progress(state: Progress) -> None:
        cells = f"{state.cells_done} of {state.cells} cells"
        show(state.replications_done, total=state.replications, stage=cells)

    return progress
