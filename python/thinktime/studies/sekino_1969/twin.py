"""The twin script on CTSS: the run report of CPM01, and CTSS beside Multics."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.documents import document
from thinktime.documents.document import Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell, Kind, Tolerance
from thinktime.studies.sekino_1969.configuration import WARM_UP_S, ctss_parameters
from thinktime.studies.sekino_1969.cpu_time import at
from thinktime.studies.sekino_1969.machines import Array, Machines, column, interval
from thinktime.studies.sekino_1969.responses import average, one_run
from thinktime.studies.sekino_1969.tables import CPM01, PAPER, fact, printed
from thinktime.studies.study import Chapter

__all__ = ["REPORT_USERS", "TABLES", "chapter", "report"]

TABLES = (CPM01, "facts")
TABLE_1_USERS, REPORT_USERS = 15, 17
RESPONSE = Tolerance("relative", 0.20)
TIME = Tolerance("relative", 0.10)
PASSES = 2
"""Times through the script in a run, so that one of them is whole."""
QUANTITIES: dict[str, tuple[str, float, Kind, Tolerance]] = {
    "total_real_time": ("real_time_s", 1.0, "predicted", TIME),
    "total_run_time": ("run_per_interaction_s", 66.0, "fitted", TIME),
    "total_swap_time": ("swap_per_interaction_s", 66.0, "predicted", RESPONSE),
    "total_cpu_time": ("cpu_per_interaction_s", 66.0, "predicted", TIME),
    "average_run_time": ("run_per_interaction_s", 1.0, "fitted", TIME),
    "average_swap_time": ("swap_per_interaction_s", 1.0, "predicted", RESPONSE),
    "average_cpu_time": ("cpu_per_interaction_s", 1.0, "predicted", TIME),
    "average_system_response_time": ("response_mean_s", 1.0, "predicted", RESPONSE),
}
"""Response of the simulated system, factor, kind and tolerance by the quantities of the run report.

The script's run time was given to CTSS, whatever it swaps."""


def report(machines: Machines, quantity: str) -> Array:
    """Return a number of the run report, of every run."""
    response, factor, _, _ = QUANTITIES[quantity]
    once = float(ctss_parameters(REPORT_USERS)["length"]) - WARM_UP_S
    run = machines.ctss(REPORT_USERS, length=WARM_UP_S + PASSES * once)
    return factor * column(run, response)


def chapter(machines: Machines) -> Chapter:
    """CPM01, published beside ours, and the comparison of the two systems."""
    figures = (*_run_report(machines), *_facts(machines))
    cpu = _cpu(machines)
    response = [interval(values) for values in _responses(machines)]
    summary = (
        f"With {REPORT_USERS} users an interaction takes {cpu[0].value:.2f} s of CPU time on Multics and "
        f"{cpu[1].value:.2f} s on CTSS; with {TABLE_1_USERS} users the mean response is "
        f"{response[0].value:.1f} s on Multics and {response[1].value:.1f} s on CTSS.",
    )
    method = (
        "The script's run time on CTSS was given; swap time and responses are what its scheduler, its drum "
        "and the other users make of it. CPU time is run and swap time. Totals are those of "
        f"{fact('M-F03').value:.0f} interactions."
    )
    return Chapter(cells=figures, summary=summary, tables=(_beside(machines), _one(machines)), method=method)


def _run_report(machines: Machines) -> Iterator[Cell]:
    users = Estimate(value=float(REPORT_USERS), unit="users", n=1, method="of the simulated run")
    yield PAPER.cell(CPM01, {"quantity": "simultaneous_users"}, "value", users, "fitted", Tolerance("digits"))
    for quantity, (_, _, kind, tolerance) in QUANTITIES.items():
        ours = interval(report(machines, quantity))
        yield PAPER.cell(CPM01, {"quantity": quantity}, "value", ours, kind, tolerance)


def _facts(machines: Machines) -> Iterator[Cell]:
    at_15, at_17 = (average(machines.ctss(users)) for users in (TABLE_1_USERS, REPORT_USERS))
    yield PAPER.fact("M-F18", interval(at_15), "predicted", RESPONSE, end="low")
    yield PAPER.fact("M-F18", interval(at_17), "predicted", RESPONSE, end="high")
    cpu, response = (report(machines, f"average_{name}_time") for name in ("cpu", "system_response"))
    yield PAPER.fact("M-F20", interval(cpu), "predicted", TIME)
    yield PAPER.fact("M-F21", interval(response), "predicted", RESPONSE)


def _cpu(machines: Machines) -> tuple[Estimate, Estimate]:
    """CPU time per interaction at the users of CPM01, Multics and CTSS, s."""
    return at(machines, REPORT_USERS).cpu, interval(report(machines, "average_cpu_time"))


def _responses(machines: Machines) -> tuple[Array, Array]:
    """Mean response at the users of Table 1 on CTSS, Multics and CTSS, s."""
    return average(machines.multics(TABLE_1_USERS)), average(machines.ctss(TABLE_1_USERS))


def _beside(machines: Machines) -> Table:
    """Compare the two systems, published and simulated."""
    printed_15 = printed("table1_summary", {"statistic": "average_all"}, "ctss_15_users_s").value
    stated = {
        f"CPU time per interaction, {REPORT_USERS} users, s": (fact("M-F19").value, fact("M-F20").value),
        f"mean response, {TABLE_1_USERS} users, s": (fact("M-F17").value, printed_15),
        f"mean response, {REPORT_USERS} users, s": (
            printed("table1_summary", {"statistic": "average_all"}, "multics_17_users_s").value,
            fact("M-F21").value,
        ),
    }
    ours = (
        _cpu(machines),
        tuple(map(interval, _responses(machines))),
        tuple(
            interval(average(run)) for run in (machines.multics(REPORT_USERS), machines.ctss(REPORT_USERS))
        ),
    )
    rows: list[tuple[document.Cell, ...]] = []
    for (what, theirs), simulated in zip(stated.items(), ours, strict=True):
        ratios = (f"{theirs[0] / theirs[1]:.2f}", f"{simulated[0].value / simulated[1].value:.2f}")
        rows.append((what, *(f"{value:g}" for value in theirs), *simulated, *ratios))
    columns = (
        Column("quantity"),
        Column("Multics, published", scaled=False),
        Column("CTSS, published", scaled=False),
        Column("Multics, ours", scaled=False),
        Column("CTSS, ours", scaled=False),
        Column("ratio, published", scaled=False),
        Column("ratio, ours", scaled=False),
    )
    return Table(name="multics-ctss", caption="Multics and CTSS", columns=columns, rows=tuple(rows))


def _one(machines: Machines) -> Table:
    """Show the run report as one run would."""
    rows: list[tuple[document.Cell, ...]] = []
    for row in PAPER.tables[CPM01].rows:
        quantity = str(row["quantity"])
        cell = PAPER.tables[CPM01].cell(row, "value")
        theirs = f"{cell.value:.{cell.places}f}" if cell else PAPER.tables[CPM01].remark(row, "value")
        ours: document.Cell = None
        inside = ""
        if quantity in QUANTITIES and cell:
            found = one_run(report(machines, quantity))
            ours = f"{found.low:.4g} to {found.high:.4g}"
            inside = "✓" if found.low <= cell.value <= found.high else "✗"
        rows.append(
            (quantity.replace("_", " "), theirs, PAPER.tables[CPM01].remark(row, "unit"), ours, inside)
        )
    columns = (
        Column("quantity"),
        Column("CPM01", scaled=False),
        Column("unit"),
        Column("ours, one run", scaled=False),
        Column("inside"),
    )
    level = one_run(report(machines, "average_cpu_time")).level
    note = f"CPM01 is one run: a range of ours holds one more run with probability {100 * level:.0f} %."
    return Table(
        name="run-report", caption="The run report of CTSS", columns=columns, rows=tuple(rows), notes=(note,)
    )
