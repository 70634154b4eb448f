"""`thinktime study`: a paper run again, published beside ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinktime.cli import writing

if TYPE_CHECKING:
    from thinktime.studies.study import Outcome, Progress

__all__ = ["command"]


def command(
    paper: Annotated[
        str, typer.Argument(metavar="[PAPER]", help="Name of a study; without one, they are listed.")
    ] = "",
    table: Annotated[
        str, typer.Option("--table", metavar="T", help="One table only: table05, table05_anova, facts.")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="File to write, - for standard output. Its ending chooses the format."
        ),
    ] = None,
    form: Annotated[
        writing.Form | None, typer.Option("--format", help="html by default with -o FILE, text without.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Of everything that is simulated.")] = 1,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications", metavar="R", help="Simulated runs of each experiment.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over the file if there is one.")] = False,
) -> None:
    """Run a paper again: its tables and figures, published beside ours, and whether its conclusions hold.

    Cells that were recomputed from printed numbers (arithmetic), those that the model was calibrated to
    (fitted) and those that nothing was tuned to (predicted) are told apart.

    Examples:

      thinktime study

      thinktime study anderson-sargent-1974

      thinktime study anderson-sargent-1974 --table table08

      thinktime study anderson-sargent-1974 -o study.html

      thinktime study anderson-sargent-1974 --format json | jq '.[] | select(.finding)'
    """
    if not paper:
        _list()
        return
    from thinktime.studies import load
    from thinktime.studies.study import Settings, run

    study = load(paper)
    chosen = form or writing.form_of(output)
    writing.check(output, force, chosen)
    with _shown() as progress:
        settings = Settings(seed, study.replications if replications is None else replications, progress)
        outcome = run(study, settings, table)
        progress(1.0, "writing")
        text = _rendered(outcome, chosen)
    writing.write(output, text)


def _list() -> None:
    from thinktime.studies import STUDIES, load

    for name in STUDIES:
        study = load(name)
        tables = f"{len(study.tables)} published tables: {', '.join(study.tables)}"
        typer.echo(f"{name}\n  {study.title}\n  {study.paper}\n  {tables}")


def _rendered(outcome: Outcome, form: writing.Form) -> str:
    from thinktime.documents.render import render
    from thinktime.studies import cells_render as render_figures
    from thinktime.studies.study_report import told

    if form == "json":
        return render_figures.to_json(outcome.figures, outcome.findings)
    if form == "csv":
        return render_figures.to_csv(outcome.figures)
    return render(told(outcome), form)


@contextmanager
def _shown() -> Iterator[Progress]:
    """Progress on a terminal, nothing in a pipe."""
    from thinktime.studies.study import silent

    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(20), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda done, doing: bar.update(task, completed=done, description=doing)
