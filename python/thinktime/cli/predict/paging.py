"""`thinktime predict paging`: a time-sharing system with demand paging, beside its simulation if wanted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli import parameters, writing
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.documents.document import Document
    from thinktime.models.paging.configuration import Paging
    from thinktime.predictions.paging import Point

__all__ = ["command"]

SYSTEM = "multics"
VARIED = {
    "core": "core (Kwords)",
    "users": "number of users",
    "cpus": "number of processors",
    "max_eligible": "eligible processes at most",
}
"""What may have a range of values, and what it is called."""
POINTS_MAX = 200
Text = str | None


def command(
    core: Annotated[Text, typer.Option("--core", metavar="K", help="Kwords: 256, or 256..768..64.")] = None,
    users: Annotated[Text, typer.Option("--users", metavar="N", help="Logged in: 40, or 5..60..5.")] = None,
    cpus: Annotated[Text, typer.Option("--cpus", metavar="N", help="Processors: 1, 2, or 1..2.")] = None,
    max_eligible: Annotated[
        Text,
        typer.Option("--max-eligible", metavar="N", help="Processes admitted at most: 4.5, or 1..16."),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", "--parameter", metavar="NAME=VALUE", help="Any other parameter."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE.toml", help="Parameters in a file; options win.")
    ] = None,
    levels: Annotated[
        int, typer.Option("--levels", min=2, max=256, help="Look for the optimum up to so many eligible.")
    ] = 16,
    simulate: Annotated[
        int,
        typer.Option("--simulate", metavar="R", min=0, help="Also simulate R replications of each machine."),
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of what is simulated.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="File to write. Its ending chooses the format: .html has charts."
        ),
    ] = None,
    form: Annotated[
        writing.Form | None, typer.Option("--format", help="html by default with -o FILE, text without.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over the file if there is one.")] = False,
) -> None:
    """Predict how core, users, processors and the number of eligible processes decide what gets done.

    A closed network with a lifetime function, as a model of the simulated system multics: the same parameters
    (see `thinktime systems multics`), the same figures, in a second. Options with a range (256..768..64) give
    a table and a chart against it. With --simulate R the simulation stands beside.

    Examples:

      thinktime predict paging

      thinktime predict paging --core 384 --cpus 2 --users 48 --max-eligible 5.8 --simulate 4

      thinktime predict paging --max-eligible 1..16 --core 128..512..64 --simulate 2 -o paging.html

      thinktime predict paging -p version=3.1.1 --users 4..20..2 --format csv
    """
    from thinktime.documents.render import render

    chosen = form or writing.form_of(output)
    writing.check(output, force, chosen)
    given = parameters.read(config, parameter or [])
    asked = {"core": core, "users": users, "cpus": cpus, "max_eligible": max_eligible}
    values = {name: _values(text, name) for name, text in asked.items() if text is not None}
    base = given | {name: each[0] for name, each in values.items() if len(each) == 1}
    ranges = {name: each for name, each in values.items() if len(each) > 1}
    document = _document(base, ranges, levels, simulate, seed)
    writing.write(output, render(document, chosen))


def _values(text: str, name: str) -> list[float]:
    """Read a value, several with commas between, or a range: FROM..TO or FROM..TO..STEP."""
    item = f"--{name.replace('_', '-')} {text}"
    try:
        parts = [float(part) for part in text.split("..")] if ".." in text else []
        listed = [] if parts else [float(part) for part in text.split(",")]
    except ValueError:
        parts, listed = [], []
    if len(parts) in (2, 3):
        low, high, step = parts if len(parts) == 3 else (*parts, 1.0)
        if step > 0.0 and low <= high and (high - low) / step < POINTS_MAX:
            listed = [low + at * step for at in range(int((high - low) / step + 1e-9) + 1)]
    if not listed or not all(math.isfinite(value) for value in listed):
        raise InputError(
            f"{item}: give a number, several such as 128,256, or a range such as 256..768..64 of at most "
            f"{POINTS_MAX} values"
        )
    return [int(value) if value == int(value) else value for value in listed]


def _document(
    base: Mapping[str, Any],
    ranges: Mapping[str, list[float]],
    most: int,
    replications: int,
    seed: int,
) -> Document:
    from thinktime.documents.document import Document, Finding
    from thinktime.models.paging import eligible_limit
    from thinktime.predictions import paging as sections

    system, known = _machine(base)
    told = [(name, _written(value)) for name, value in known.items()]
    made = [
        sections.machine(_point(base, math.nan, replications, seed), told, _unknown(known)),
        sections.levels(eligible_limit.levels(system, most)),
    ]
    for name, values in ranges.items():
        points = [_point({**base, name: value}, value, replications, seed) for value in values]
        made.append(sections.sweep(name, VARIED[name], points))
    shown = "predicted, and simulated" if replications else "predicted"
    return Document(
        title="Demand paging: how much gets done",
        subtitle=f"The system {SYSTEM}, {shown}.",
        findings=tuple(Finding(section.summary[0], section=section.name) for section in made),
        sections=tuple(made),
        facts=(("Replications", str(replications)), ("Seed", str(seed))) if replications else (),
        facts_title="How was it simulated?",
        origin="Made by thinktime: the same parameters and seed give the same page.",
    )


def _machine(given: Mapping[str, Any]) -> tuple[Paging, dict[str, Any]]:
    """Return the model's machine, and all parameters with what is in force."""
    from thinktime.cli.predict import paging_machine
    from thinktime.sources import scripts, simulated

    resolved = simulated.resolve(SYSTEM, given)
    in_force = simulated.machine(SYSTEM, given)["in_force"]
    script = resolved.pop("script")
    table = scripts.read(script).table if isinstance(script, str) else script
    known = {**resolved, **in_force, "script": table["name"]}
    return paging_machine.machine(resolved, in_force, table), known


def _unknown(known: Mapping[str, Any]) -> list[str]:
    """Say what of the simulated system the model knows nothing of."""
    parts = {
        "housekeeping": known["housekeeping"] > 0,
        "priority": known.get("priority") == "first_eligible",
    }
    return [
        f"The model knows nothing of {name} = {known[name]}, which the simulation has."
        for name, has in parts.items()
        if has
    ]


def _point(given: Mapping[str, Any], value: float, replications: int, seed: int) -> Point:
    """Predict one machine, and simulate it if wanted."""
    from thinktime.models.paging import throughput
    from thinktime.predictions.paging import Point
    from thinktime.sources.simulated import simulate

    found = throughput.predict(_machine(given)[0])
    if not replications:
        return Point(value, found)
    ran = simulate(SYSTEM, given, seed=seed, replications=replications)
    return Point(value, found, {name: ran.estimate(name) for name in ran.units})


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
