"""`thinktime study`: a paper repeated, its published values next to ours; or measured on this machine."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli import completion, destination, messages
from thinktime.cli.parameters import On, Workers, pool_of
from thinktime.cli.progress import counted
from thinktime.errors import InputError, InterruptedWorkError

if TYPE_CHECKING:
    from thinktime.studies.study import Outcome

Paper = Annotated[
    str,
    typer.Argument(
        metavar="[PAPER]",
        help="Name of a study, or this-machine; without it, all are listed.",
        autocompletion=completion.studies,
    ),
]
Table = Annotated[
    str, typer.Option("--table", metavar="T", help="One table only: table05, table05_anova, facts.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="File to write, - for standard output. Its ending chooses the format.",
    ),
]
Form = Annotated[
    destination.Form | None, typer.Option("--format", help="html by default with -o FILE, text without.")
]
Replications = Annotated[
    int | None,
    typer.Option(
        "--replications", metavar="R", min=2, help="Simulated runs of each experiment.", show_default=False
    ),
]
Scale = Annotated[
    float,
    typer.Option(
        "--scale", metavar="X", help="Fraction of the full length of every run; below 1 for a quick look."
    ),
]
Duration = Annotated[
    str | None,
    typer.Option(
        "--duration",
        metavar="TIME",
        help="Of this-machine: duration of the whole study; 20min if it is not given.",
        show_default=False,
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Of this-machine: a trial of about a minute, with wide intervals.")
]
Users = Annotated[
    str | None,
    typer.Option(
        "--users",
        metavar="LIST",
        help="Of this-machine: numbers of users, such as 1,4,8,12 or 1..40..3; chosen by CPUs and measured "
        "demand if they are not given.",
        show_default=False,
    ),
]
Logs = Annotated[
    Path | None,
    typer.Option(
        "--logs",
        metavar="DIR",
        help="Of this-machine: new folder of the logs; this-machine if it is not given. Of swapping-linux: "
        "folder of the logs of `thinktime lab swap`; the runs that come with thinktime if it is not given.",
        show_default=False,
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        metavar="DIR",
        help="Of this-machine: go on with the study whose logs are in DIR; where it is complete, make its "
        "page again.",
        show_default=False,
    ),
]
Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep",
        metavar="DIR",
        help="Of a paper: keep each simulated run in DIR, and take those that are there already.",
        show_default=False,
    ),
]
Accept = Annotated[
    bool,
    typer.Option(
        "--accept-driver-load",
        help="Of this-machine: use response times also where the driver of the play was the load.",
    ),
]


def command(
    paper: Paper = "",
    table: Table = "",
    output: Output = None,
    form: Form = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Seed of all random numbers.")] = 1,
    replications: Replications = None,
    scale: Scale = 1.0,
    duration: Duration = None,
    quick: Quick = False,
    users: Users = None,
    logs: Logs = None,
    resume: Resume = None,
    keep: Keep = None,
    accept_driver_load: Accept = False,
    on: On = None,
    workers: Workers = None,
    force: destination.PageForce = False,
) -> None:
    """Repeat a paper: print its tables and figures next to ours, and judge its claims.

    Distinguishes cells recomputed from printed numbers (arithmetic), cells to which the model was calibrated
    (fitted), and cells to which nothing was tuned (predicted). With --on, the workers of a Dask cluster
    simulate. With --keep, each run is kept as it ends: the same command goes on where it was interrupted.

    this-machine measures the machine on which it runs, as Sekino measured Multics in 1969: users who type the
    twin of its script to real shells, CPU time and page faults per interaction, responses and capacity by
    number of users, and a model fitted to the first half of the numbers that predicts the second. It
    saturates all CPUs for 20 minutes, and leaves nothing but its logs.

    swapping-linux asks how well the swapping model of Brachman 1983 holds for a kernel that pages, from runs
    of `thinktime lab swap`.

    Examples:

      thinktime study

      thinktime study anderson-sargent-1974

      thinktime study anderson-sargent-1974 --table table08

      thinktime study anderson-sargent-1974 -o study.html

      thinktime study anderson-sargent-1974 --on tcp://scheduler:8786

      thinktime study bard-1971 --keep runs -o study.html

      thinktime study anderson-sargent-1974 --format json | jq '.records[] | select(.claim)'

      thinktime study this-machine -o machine.html

      thinktime study this-machine --quick --logs trial

      thinktime study swapping-linux -o swapping.html
    """
    if not paper:
        _list(form)
        return
    given = {
        "--duration": duration is not None,
        "--quick": quick,
        "--users": users is not None,
        "--logs": logs is not None,
        "--resume": resume is not None,
        "--accept-driver-load": accept_driver_load,
    }
    if paper == "this-machine":
        theirs = {"--table": table, "--replications": replications, "--scale": scale != 1.0, "--keep": keep}
        _refuse(theirs | {"--on": on, "--workers": workers}, paper, "papers")
        from thinktime.cli.study.this_machine import Asked, study

        asked = Asked(
            duration=duration,
            quick=quick,
            users=users,
            logs=logs,
            resume=resume,
            seed=seed,
            accept_driver_load=accept_driver_load,
        )
        study(asked, output, form, force)
        return
    if paper == "swapping-linux":
        del given["--logs"]
        _refuse(given, paper, "this-machine")
        of_papers = {
            "--table": table,
            "--replications": replications,
            "--scale": scale != 1.0,
            "--seed": seed != 1,
            "--keep": keep,
        }
        _refuse(of_papers, paper, "papers")
        _swapping(logs, output, form, force)
        return
    _refuse(given, paper, "this-machine")
    if not 0.0 < scale <= 1.0:
        raise InputError(f"--scale {scale:g}: give a fraction above 0 and up to 1")
    with pool_of(on, workers) as pool:
        settings: dict[str, Any] = {"seed": seed, "scale": scale, "pool": pool}
        if replications is not None:
            settings["replications"] = replications
        _paper(paper, table, output, form, force, settings, keep)


def _refuse(given: Mapping[str, object], paper: str, theirs: str) -> None:
    """Refuse options that would be ignored."""
    for option, value in given.items():
        if value:
            raise InputError(f"{option}: is an option of {theirs}; omit it for {paper}")


def _swapping(logs: Path | None, output: Path | None, form: destination.Form | None, force: bool) -> None:
    """Write the page of the runs of `thinktime lab swap`; exit status 1 where nothing follows from them."""
    from thinktime.documents.render import render
    from thinktime.stats.estimate import NotApplicable
    from thinktime.studies.swapping_linux import page
    from thinktime.studies.swapping_linux.analysis import analyse
    from thinktime.studies.swapping_linux.data import Measured

    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    found = analyse(Measured.shipped() if logs is None else Measured.of_logs(logs))
    has_answer = not isinstance(found, NotApplicable)
    document = page.not_applicable(found) if isinstance(found, NotApplicable) else page.document(found)
    destination.write(output, render(document, chosen, destination.width(output)))
    if not has_answer:
        raise SystemExit(1)


def _paper(
    paper: str,
    table: str,
    output: Path | None,
    form: destination.Form | None,
    force: bool,
    settings: Mapping[str, Any],
    keep: Path | None,
) -> None:
    """Run the study of a paper, and write what it found; its own replications unless others are given."""
    from thinktime.studies import load
    from thinktime.studies.laboratory import Settings
    from thinktime.studies.study import run
    from thinktime.tasks.kept import Kept

    study = load(paper)
    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    if keep is not None:
        settings = {**settings, "kept": Kept(keep)}
    with counted("", total=1.0) as show:
        progress = _progress(show)
        all_settings = Settings(**{"replications": study.paper.replications, **settings}, progress=progress)
        try:
            outcome = run(study, all_settings, table)
            progress(1.0, "writing")
            text = _rendered(outcome, chosen, destination.width(output))
        except KeyboardInterrupt:
            if keep is None:
                raise
            raise InterruptedWorkError(
                f"interrupted; {keep} has the runs that are complete; the same command goes on"
            ) from None
    destination.write(output, text)


def _progress(show: Callable[..., None] | None) -> Callable[[float, str], None]:
    """Callback that shows the fraction done and what is being done; without a bar, nothing."""

    def progress(done: float, doing: str) -> None:
        if show is not None:
            show(done, stage=doing)

    return progress


def _list(form: destination.Form | None) -> None:
    from thinktime.studies import MEASURED, STUDIES, load

    if form == "json":
        loaded = [(name, load(name)) for name in STUDIES]
        papers: list[dict[str, object]] = [
            {
                "study": name,
                "title": study.paper.title,
                "citation": study.paper.citation,
                "tables": list(study.tables),
            }
            for name, study in loaded
        ]
        here: list[dict[str, object]] = [
            {"study": name, "title": title, "citation": None, "tables": []}
            for name, (title, _) in MEASURED.items()
        ]
        messages.as_json("studies", [*papers, *here])
        return
    if form in ("html", "csv"):
        raise InputError(f"--format {form}: the list of studies is text or json; name a study for the others")
    width = destination.width()
    for name in STUDIES:
        study = load(name)
        tables = f"{len(study.tables)} published tables: {', '.join(study.tables)}"
        _print(name, (study.paper.title, study.paper.citation, tables), width)
    for name, said in MEASURED.items():
        _print(name, said, width)


def _print(name: str, texts: tuple[str, ...], width: int) -> None:
    messages.line(name)
    for text in texts:
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
