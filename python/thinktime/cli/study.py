"""`thinktime study`: a paper repeated, with its published values next to ours."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinktime.cli import completion, destination, messages
from thinktime.cli.progress import counted
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.studies.study import Outcome


def command(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="[PAPER]",
            help="Name of a study; without it, all are listed.",
            autocompletion=completion.studies,
        ),
    ] = "",
    table: Annotated[
        str, typer.Option("--table", metavar="T", help="One table only: table05, table05_anova, facts.")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File to write, - for standard output. Its ending chooses the format.",
        ),
    ] = None,
    form: Annotated[
        destination.Form | None, typer.Option("--format", help="html by default with -o FILE, text without.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Seed of all random numbers.")] = 1,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            metavar="R",
            min=2,
            help="Simulated runs of each experiment.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        float,
        typer.Option(
            "--scale", metavar="X", help="Fraction of the full length of every run; below 1 for a quick look."
        ),
    ] = 1.0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Repeat a paper: print its tables and figures next to ours, and judge its claims.

    Distinguishes cells recomputed from printed numbers (arithmetic), cells to which the model was calibrated
    (fitted), and cells to which nothing was tuned (predicted).

    Examples:

      thinktime study

      thinktime study anderson-sargent-1974

      thinktime study anderson-sargent-1974 --table table08

      thinktime study anderson-sargent-1974 -o study.html

      thinktime study anderson-sargent-1974 --format json | jq '.records[] | select(.claim)'
    """
    if not paper:
        _list(form)
        return
    if not 0.0 < scale <= 1.0:
        raise InputError(f"--scale {scale:g}: give a fraction above 0 and up to 1")
    from thinktime.studies import load
    from thinktime.studies.laboratory import Settings
    from thinktime.studies.study import run

    study = load(paper)
    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    with counted("", total=1.0) as show:
        progress = _progress(show)
        settings = Settings(
            seed=seed,
            replications=study.paper.replications if replications is None else replications,
            scale=scale,
            progress=progress,
        )
        outcome = run(study, settings, table)
        progress(1.0, "writing")
        text = _rendered(outcome, chosen, destination.width(output))
    destination.write(output, text)


def _progress(show: Callable[..., None] | None) -> Callable[[float, str], None]:
    """Callback that shows the fraction done and what is being done; without a bar, nothing."""

    def progress(done: float, doing: str) -> None:
        if show is not None:
            show(done, stage=doing)

    return progress


def _list(form: destination.Form | None) -> None:
    from thinktime.studies import STUDIES, load

    if form == "json":
        loaded = [(name, load(name)) for name in STUDIES]
        messages.as_json(
            "studies",
            [
                {
                    "study": name,
                    "title": study.paper.title,
                    "citation": study.paper.citation,
                    "tables": list(study.tables),
                }
                for name, study in loaded
            ],
        )
        return
    if form in ("html", "csv"):
        raise InputError(f"--format {form}: the list of studies is text or json; name a study for the others")
    width = destination.width()
    for name in STUDIES:
        study = load(name)
        tables = f"{len(study.tables)} published tables: {', '.join(study.tables)}"
        messages.line(name)
        for text in (study.paper.title, study.paper.citation, tables):
            messages.lines(textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    "))


def _rendered(outcome: Outcome, form: destination.Form, width: int) -> str:
    from thinktime.documents.render import render
    from thinktime.studies import cells_render
    from thinktime.studies.study_report import report

    if form == "json":
        return cells_render.to_json(outcome.cells, outcome.claims)
    if form == "csv":
        return cells_render.to_csv(outcome.cells)
    return render(report(outcome), form, width)
