"""`thinktime experiment`: a designed experiment on a simulated system, and its analysis of variance."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.log.runs import Runs
    from thinktime.sources.experiments import Progress

Form = Literal["text", "json", "csv"]


def command(
    design: Annotated[
        Path,
        typer.Argument(metavar="DESIGN.toml", help="The design; or a folder of runs, to analyse it again."),
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
        typer.Option("--replications", min=2, help="Of each cell, in place of the design's."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with runs that are there: only what is missing is simulated."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace runs that are there.")] = False,
    response: Annotated[
        list[str] | None,
        typer.Option("--response", metavar="NAME", help="Analyse this one; may be given often."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="By default one a core; figures do not depend on it."),
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", help="How the figures are printed; json and csv are unrounded.")
    ] = "text",
) -> None:
    """Run a factorial experiment on a simulated system, and print what each factor does to each response.

    Every combination of levels is simulated, by default with the same workloads, so that workloads are
    blocks. Each cell is a log of its own. A run that was interrupted, at whatever moment, goes on with
    --resume; with more --replications a finished one is extended.

    The design is a file in TOML: system, seed, replications (8), blocks (true), trace (false), responses
    (all), transformation ("log10", say), and the tables [parameters], the same in all cells, and [factors],
    lists of levels.

    Examples:

      thinktime experiment scheduling.toml --runs scheduling

      thinktime experiment scheduling.toml --runs scheduling --resume --replications 16

      thinktime experiment scheduling --response mean_response_s --format json | jq '.findings'
    """
    from thinktime.analyses.experiment.page import analysed
    from thinktime.cli import writing
    from thinktime.documents.render import render

    if output is not None:
        writing.check(output, force, "text")
    runs = _opened(design) if (design / "runs.json").exists() else None
    if runs is None:
        runs = _run(design, folder, replications, resume=resume, force=force, threads=threads)
    elif folder or replications or resume:
        raise InputError(f"{design}: is a folder of runs and is analysed; give the design to simulate")
    document = analysed(runs, response or ())
    sys.stdout.write(render(document, form))
    if output is not None:
        writing.write(output, render(document, writing.form_of(output)))


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
    threads: int | None,
) -> Runs:
    from thinktime.log import design
    from thinktime.log.runs import Runs
    from thinktime.sources import experiments

    read = design.read(path)
    if replications is not None:
        read = replace(read, replications=replications)
    experiments.check(read)
    folder = folder or path.with_suffix("")
    runs = experiments.prepare(read, folder, resume=resume, force=force)
    with _bar() as progress:
        experiments.run(read, runs, threads=threads, progress=progress)
    return Runs.open(folder)


@contextmanager
def _bar() -> Iterator[Callable[[Progress], object] | None]:
    """Show how many cells are done, on a terminal, and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(30), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=None)

        def show(progress: Progress) -> None:
            cells = f"{progress.cells_done} of {progress.cells} cells"
            bar.update(
                task, description=cells, total=progress.replications, completed=progress.replications_done
            )

        yield show
