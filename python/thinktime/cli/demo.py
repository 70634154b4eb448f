"""`thinktime demo`: a report on this machine under a growing load, in about three minutes."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinktime.cli import messages
from thinktime.errors import InputError, InterruptedWorkError, WorkError

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.sources.terminals import Interruption, Terminals

STEPS = 11
"""Largest number of steps in the number of users."""

BEFORE_S = 25.0
"""Duration of the demo apart from the play [s]: direct costs, baseline, rehearsal, report."""


def command(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="LOG", help="Folder of the log; LOG.html is the report.")
    ] = Path("demo"),
    minutes: Annotated[float, typer.Option("--minutes", help="Duration of the whole demo.")] = 3.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing log and report.")] = False,
) -> None:
    """Play a growing number of synthetic users on this machine, record it, and report.

    Measures the cost of a fork, a page fault and a context switch; estimates how many users this machine
    supports; plays up to 50 percent more; and writes the report, which ends with the prediction of the upper
    half of the numbers of users from the lower half, next to what was measured. Needs no privileges, and
    leaves only the log and the report behind.

    Examples:

      thinktime demo

      thinktime demo -o monday --minutes 10 --force
    """
    if not 1.0 <= minutes <= 24 * 60:
        raise InputError(f"--minutes {minutes:g}: the demo takes from 1 minute to a day; 3 is usual")
    page = output.with_name(output.name + ".html")
    for path in (output, page):
        if path.exists() and not force:
            raise InputError(f"{path}: already exists; use --force to overwrite it, or another name with -o")
    from thinktime.sources.terminals import Interruption, Terminals

    with Terminals() as terminals, Interruption() as interruption:
        try:
            _play(terminals, interruption, output, minutes * 60.0 - BEFORE_S, seed, force)
        except WorkError:
            if not interruption.requested:
                raise
            kept = f"{output} holds what was recorded" if output.exists() else "nothing is kept"
            raise InterruptedWorkError(
                f"interrupted; {kept}; the same command begins again", interruption.status
            ) from None
    _report(output, page)
    if interruption.requested:
        raise InterruptedWorkError(
            f"interrupted; {output} and {page} hold the part played; "
            "the same command with --force begins again",
            interruption.status,
        )


def _play(
    terminals: Terminals, interruption: Interruption, output: Path, play_s: float, seed: int, force: bool
) -> None:
    from thinktime.cli.progress import StageProgress
    from thinktime.sources.plans import Plan, Scale, workload
    from thinktime.sources.terminals import play_into

    mixed = workload("mixed")
    rehearsal = Plan(
        workload=mixed,
        users=str(2 * _cpus()),
        step_s=8.0,
        think={"kind": "exponential", "mean": 0.1},
        # Interactions differ from those of the play, so that the play does not repeat them.
        seed=seed + 1_000_000,
    )
    with StageProgress("measuring the cost of a fork, a fault and a switch", interruption) as progress:
        costs = terminals.measure_direct(mixed["array_bytes"], progress)
    with StageProgress("rehearsing", interruption) as progress:
        prepared = terminals.prepare(replace(rehearsal, baseline_s=0.0), progress)
        demand = terminals.rehearse(rehearsal, prepared, progress)
    scale = Scale.of(demand["service_s"], _cpus())
    users, steps = _users(scale.saturation)
    plan = replace(
        rehearsal,
        users=users,
        step_s=play_s / steps,
        think={"kind": "exponential", "mean": scale.think_s},
        seed=seed,
    )
    messages.note(
        f"an interaction takes {1000 * demand['service_s']:.0f} ms of CPU time; with {scale.think_s:.2g} s "
        f"of think time, {_cpus()} CPUs should support about {scale.saturation:.0f} users: "
        f"playing {plan.users}"
    )
    # The baseline is measured at the think time of the play: after a longer pause, a machine is slower.
    with StageProgress("measuring the baseline", interruption) as progress:
        prepared = terminals.prepare(plan, progress)
    facts = {"direct_costs": costs, "demand": demand | {"saturation_users": scale.saturation}}
    with StageProgress("playing", interruption) as progress:
        play_into(
            terminals,
            plan,
            prepared,
            output,
            force=force,
            interval_s=0.5,
            on_progress=progress,
            facts=facts,
        )


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


def _users(saturation: float) -> tuple[str, int]:
    """Numbers of users up to half as many again as saturate the machine, and how many numbers these are."""
    step = max(1, math.ceil(1.5 * saturation / STEPS))
    steps = math.ceil(1.5 * saturation / step)
    return f"{step}..{step * steps}..{step}", steps


def _report(output: Path, page: Path) -> None:
    from thinktime import reports
    from thinktime.documents.document import Finding
    from thinktime.documents.render import render
    from thinktime.log import Log

    log = Log.open(output)
    document = reports.report(log)
    sized = _sized(log)
    if sized is not None:
        news = Finding(sized.summary[0], section=sized.name)
        findings = (news, *document.findings)
        document = replace(document, findings=findings, sections=(*document.sections, sized))
    page.write_text(render(document, "html"), encoding="utf-8")
    messages.lines(f"- {finding.text}" for finding in document.findings[:6])
    if sized is not None:
        messages.note(f"another machine, other users: thinktime size {output} -o size.html")
    messages.line(f"{page}")


def _sized(log: Log) -> Section | None:
    """How many users fit, the upper half of the loads predicted from the lower; None without inputs."""
    from thinktime.models.sizing import fit
    from thinktime.predictions.size import goals, measured, section
    from thinktime.predictions.size.answer import Plan
    from thinktime.stats.estimate import NotApplicable

    found = measured.measured([log], [log.path.name])
    if isinstance(found, NotApplicable):
        return None
    fitted = fit(found.levels(), found.machine)
    return section.section(section.Answers.of(found, fitted, plans=[Plan()], goals=goals.default()))
