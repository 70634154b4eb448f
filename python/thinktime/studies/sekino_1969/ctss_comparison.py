"""The twin script on CTSS: the run report of CPM01, and CTSS against Multics."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.documents.document import Col, Cols, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell, Row
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969.cpu_time import decomposed_at
from thinktime.studies.sekino_1969.loads import (
    CPM01,
    PAPER,
    SUMMARY,
    WARM_UP_S,
    column,
    ctss_parameters,
    fact,
    on_ctss,
    on_multics,
)
from thinktime.studies.sekino_1969.responses import average, one_run
from thinktime.studies.study import Chapter

TABLE_1_USERS, REPORT_USERS = 15, 17
PASSES = 2
"""Times through the script in a run, so that one of them is whole."""
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
    summary = (
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
        tables=(_both_systems(laboratory), _one_report(laboratory)),
        method=method,
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
