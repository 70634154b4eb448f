"""The twin script on CTSS: the run report of CPM01, and CTSS against Multics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thinktime.documents.document import Col, Cols, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell, Row
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969.cpu_time import decomposed_at
from thinktime.studies.sekino_1969.loads import (
    CPM01,
    CTSS,
    CTSS_USERS,
    INTERACTIONS,
    PAPER,
    RESPONSES,
    SUMMARY,
    WARM_UP_S,
    column,
    ctss_parameters,
    fact,
    named,
    on_ctss,
    on_multics,
)
from thinktime.studies.sekino_1969.responses import average, one_run
from thinktime.studies.study import Chapter

TABLE_1_USERS, REPORT_USERS = 15, 17
PASSES = 2
"""Times through the script in a run, so that one of them is whole."""
EARLIER = {"entry": "swap_time", "quantum": 0.2, "drum_word_time": 7.2e-6, "normal_demand": 1.55}
"""The scheduler as published in 1962, with the drum and other users that then give the printed averages."""
QUANTITIES: dict[str, tuple[str, float]] = {
    "total_real_time": ("real_time_s", 1.0),
    "total_run_time": ("run_per_interaction_s", 66.0),
    "total_swap_time": ("swap_per_interaction_s", 66.0),
    "total_cpu_time": ("cpu_per_interaction_s", 66.0),
    "average_run_time": ("run_per_interaction_s", 1.0),
    "average_swap_time": ("swap_per_interaction_s", 1.0),
    "average_cpu_time": ("cpu_per_interaction_s", 1.0),
    "average_system_response_time": ("response_mean_s", 1.0),
}
"""Response of the simulated system, and factor, by the quantities of the run report."""


def report(laboratory: Laboratory, quantity: str) -> Array:
    """A number of the run report, of every run."""
    response, factor = QUANTITIES[quantity]
    once = float(ctss_parameters(REPORT_USERS)["length"]) - WARM_UP_S
    run = on_ctss(laboratory, REPORT_USERS, length=WARM_UP_S + PASSES * once)
    return factor * column(run, response)


def chapter(laboratory: Laboratory) -> Chapter:
    """CPM01, published and ours, and the comparison of the two systems."""
    figures = (*_run_report(laboratory), *_facts(laboratory))
    cpu = _cpu(laboratory)
    response = [interval(values) for values in _responses(laboratory)]
    kinds = by_command(laboratory)
    compiled, edited = (next(kind for kind in kinds if kind.command == name) for name in ("mad", "edl"))
    summary = (
        f"A compilation takes {compiled.ours:.1f} s and a line to the editor {edited.ours:.1f} s on average, "
        f"printed {compiled.printed:.1f} and {edited.printed:.1f} s: both programs enter the scheduler at "
        "one level, and wait for each other. By the rule of 1962 the editor is served first, in "
        f"{edited.earlier:.1f} s, and the compiler in {compiled.earlier:.1f} s.",
        f"With {REPORT_USERS} users an interaction takes {cpu[0].value:.2f} s of CPU time on Multics and "
        f"{cpu[1].value:.2f} s on CTSS; with {TABLE_1_USERS} users the mean response is "
        f"{response[0].value:.1f} s on Multics and {response[1].value:.1f} s on CTSS.",
    )
    method = (
        "The script's run time on CTSS was given; swap time and responses are what its scheduler, its drum "
        "and the other users make of it. CPU time is run and swap time. Totals are those of "
        f"{fact('interactions-script-mftn3').value:.0f} interactions."
    )
    return Chapter(
        cells=figures,
        summary=summary,
        tables=(_both_systems(laboratory), _commands(kinds), _one_report(laboratory)),
        method=method,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Responses of the interactions of one command in the CTSS column of Table 1."""

    command: str
    cells: int
    printed: float
    """Mean of the printed responses, s."""
    inside: int
    """Printed responses that lie where one run does."""
    ours: float
    """Mean response over runs, s."""
    earlier: float
    """The same by the rule of 1962, s."""
    inside_earlier: int


def by_command(laboratory: Laboratory) -> tuple[Kind, ...]:
    """The CTSS column of Table 1 by command, with the rule by which programs enter and with that of 1962."""
    (name,) = CTSS_USERS
    runs = [on_ctss(laboratory, TABLE_1_USERS, **changes) for changes in ({}, EARLIER)]
    numbers: dict[str, list[int]] = {}
    for interaction in range(1, INTERACTIONS + 1):
        numbers.setdefault(named(interaction, CTSS).partition(" ")[2], []).append(interaction)

    def kind(command: str, chosen: list[int]) -> Kind:
        printed = [PAPER.printed(RESPONSES, {"interaction": at}, name).value for at in chosen]
        cells = [[column(run, f"response_{at:02d}_s") for at in chosen] for run in runs]
        inside = [
            sum(one_run(values).holds(value) for values, value in zip(of_run, printed, strict=True))
            for of_run in cells
        ]
        means = [float(np.nanmean(of_run)) for of_run in cells]
        return Kind(
            command=command,
            cells=len(chosen),
            printed=float(np.mean(printed)),
            inside=inside[0],
            ours=means[0],
            earlier=means[1],
            inside_earlier=inside[1],
        )

    return tuple(kind(command, chosen) for command, chosen in numbers.items())


def _commands(kinds: Sequence[Kind]) -> Table:
    """Table 1 on CTSS by command, under two rules of entry."""
    return Table.of(
        kinds,
        Col("command", lambda kind: kind.command),
        Col("interactions", lambda kind: str(kind.cells), scaled=False),
        Col("printed, s", lambda kind: f"{kind.printed:.1f}", scaled=False),
        Col("ours, s", lambda kind: f"{kind.ours:.1f}", scaled=False),
        Col("as in one run", lambda kind: str(kind.inside), scaled=False),
        Col("rule of 1962, s", lambda kind: f"{kind.earlier:.1f}", scaled=False),
        Col("as in one run of it", lambda kind: str(kind.inside_earlier), scaled=False),
        name="ctss-commands",
        caption=f"Responses of CTSS by command, {TABLE_1_USERS} users",
        notes=(
            "Means over the interactions of a command. As in one run: printed responses that lie where "
            "one run does. The rule of 1962: a program enters at the level at which it runs for more than "
            "half as long as its swap takes, with a quantum of 0.2 s, and other users and drum calibrated to "
            "the same averages. The rule of entry was chosen with this column in sight.",
        ),
    )


def _run_report(laboratory: Laboratory) -> Iterator[Cell]:
    users = Estimate(value=float(REPORT_USERS), unit="users", n=1, method="of the simulated run")
    yield PAPER.simulated(CPM01, {"quantity": "simultaneous_users"}, "value", users)
    for quantity in QUANTITIES:
        ours = interval(report(laboratory, quantity))
        yield PAPER.simulated(CPM01, {"quantity": quantity}, "value", ours)


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    at_15, at_17 = (average(on_ctss(laboratory, users)) for users in (TABLE_1_USERS, REPORT_USERS))
    yield PAPER.fact("response-time-ctss", interval(at_15), end="low")
    yield PAPER.fact("response-time-ctss", interval(at_17), end="high")
    cpu, response = (report(laboratory, f"average_{name}_time") for name in ("cpu", "system_response"))
    yield PAPER.fact("ctss-cpu-time-17-users", interval(cpu))
    yield PAPER.fact("ctss-response-time-17-users", interval(response))


def _cpu(laboratory: Laboratory) -> tuple[Estimate, Estimate]:
    """CPU time per interaction at the users of CPM01, Multics and CTSS, s."""
    return decomposed_at(laboratory, REPORT_USERS).cpu, interval(report(laboratory, "average_cpu_time"))


def _responses(laboratory: Laboratory) -> tuple[Array, Array]:
    """Mean response at the users of Table 1 on CTSS, Multics and CTSS, s."""
    return average(on_multics(laboratory, TABLE_1_USERS)), average(on_ctss(laboratory, TABLE_1_USERS))


def _both_systems(laboratory: Laboratory) -> Table:
    """The two systems, published and simulated."""

    def printed(column: str) -> float:
        return PAPER.printed(SUMMARY, {"statistic": "average_all"}, column).value

    multics_17, ctss_17 = (on(laboratory, REPORT_USERS) for on in (on_multics, on_ctss))
    rows = (
        (
            f"CPU time per interaction, {REPORT_USERS} users, s",
            (fact("multics-cpu-time-17-users").value, fact("ctss-cpu-time-17-users").value),
            _cpu(laboratory),
        ),
        (
            f"mean response, {TABLE_1_USERS} users, s",
            (fact("response-time-15-users").value, printed("ctss_15_users_s")),
            tuple(map(interval, _responses(laboratory))),
        ),
        (
            f"mean response, {REPORT_USERS} users, s",
            (printed("multics_17_users_s"), fact("ctss-response-time-17-users").value),
            (interval(average(multics_17)), interval(average(ctss_17))),
        ),
    )
    return Table.of(
        rows,
        Col("quantity", lambda row: row[0]),
        Cols(
            ["Multics, published", "CTSS, published"],
            lambda row: [f"{value:g}" for value in row[1]],
            scaled=False,
        ),
        Cols(["Multics, ours", "CTSS, ours"], lambda row: row[2], scaled=False),
        Col("ratio, published", lambda row: f"{row[1][0] / row[1][1]:.2f}", scaled=False),
        Col("ratio, ours", lambda row: f"{row[2][0].value / row[2][1].value:.2f}", scaled=False),
        name="multics-ctss",
        caption="Multics and CTSS",
    )


def _one_report(laboratory: Laboratory) -> Table:
    """The run report as one run would show it."""
    table = PAPER.tables[CPM01]

    def published(row: Row) -> str:
        cell = table.cell(row, "value")
        return f"{cell.value:.{cell.places}f}" if cell else table.remark(row, "value")

    def simulated(row: Row) -> tuple[str | None, str]:
        cell, quantity = table.cell(row, "value"), str(row["quantity"])
        if quantity not in QUANTITIES or not cell:
            return None, ""
        result = one_run(report(laboratory, quantity))
        return f"{result.low:.4g} to {result.high:.4g}", "✓" if result.holds(cell.value) else "✗"

    level = one_run(report(laboratory, "average_cpu_time")).level
    return Table.of(
        table.rows,
        Col("quantity", lambda row: str(row["quantity"]).replace("_", " ")),
        Col("CPM01", published, scaled=False),
        Col("unit", lambda row: table.remark(row, "unit")),
        Col("ours, one run", lambda row: simulated(row)[0], scaled=False),
        Col("inside", lambda row: simulated(row)[1]),
        name="run-report",
        caption="The run report of CTSS",
        notes=[f"CPM01 is one run: a range of ours holds one more run with probability {100 * level:.0f} %."],
    )
