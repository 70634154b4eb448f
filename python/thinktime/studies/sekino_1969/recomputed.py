"""Consistency of the printed numbers: nothing here is simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from thinktime.documents.document import Col, Cols, Table
from thinktime.studies.cells import Cell
from thinktime.studies.common_sections import doubtful
from thinktime.studies.estimates import exact, rounded
from thinktime.studies.sekino_1969.loads import COLUMNS, COMPILED, CPM01, PAPER, RESPONSES, SUMMARY, fact
from thinktime.studies.study import Chapter


def chapter(_: object) -> Chapter:
    """Every printed number that follows from other printed numbers."""
    figures = (*_summaries(), *run_report(), *_facts())
    summary = (
        "A recomputed figure agrees where the printed one lies within what the rounding of its "
        "inputs allows.",
        *_explained(),
    )
    method = (
        "Sums and averages of Table 1 from its cells, without FORTRAN those without interactions "
        f"{' and '.join(map(str, COMPILED))}. CPM01: totals over "
        f"{fact('interactions-script-mftn3').value:.0f} interactions, cut "
        "off after the third decimal. Shares: run time over CPU time."
    )
    return Chapter(cells=figures, summary=summary, tables=(_components(),), method=method)


def _summaries() -> Iterator[Cell]:
    for column in COLUMNS:
        cells = {int(row["interaction"]): cell.value for row, cell in PAPER.tables[RESPONSES].printed(column)}
        if not cells:
            continue
        others = [value for interaction, value in cells.items() if interaction not in COMPILED]
        total = sum(cells.values())
        result = {
            "sum": (total, len(cells)),
            "average_all": (total / len(cells), len(cells)),
            "average_except_fortran": (sum(others) / len(others), len(others)),
        }
        for statistic, (value, n) in result.items():
            row = {"statistic": statistic}
            yield PAPER.recomputed(SUMMARY, row, column, exact(value, "s", n))


def cpm01(quantity: str) -> float:
    """A number of the run report."""
    return PAPER.printed(CPM01, {"quantity": quantity}, "value").value


def truncated(value: float) -> float:
    """`value` without the digits beyond three decimals, as in the run report."""
    # A quotient that is exact in decimals may lie a rounding error below.
    return math.floor(value * 1e3 + 1e-6) / 1e3


def run_report(cut: Callable[[float], float] = truncated) -> Iterator[Cell]:
    """Totals and averages of the run report; `cut` makes three decimals of an average."""
    count = fact("interactions-script-mftn3").value
    run, swap = (cut(cpm01(f"total_{part}_time") / count) for part in ("run", "swap"))
    result = {
        "total_cpu_time": exact(cpm01("total_run_time") + cpm01("total_swap_time"), "s", 2),
        "average_run_time": exact(run, "", 2),
        "average_swap_time": exact(swap, "", 2),
        "average_cpu_time": exact(run + swap, "", 2),
        "average_system_response_time": exact(
            (cpm01("total_real_time") - count * fact("think-time").value) / count, "s", 3
        ),
    }
    for quantity, ours in result.items():
        yield PAPER.recomputed(CPM01, {"quantity": quantity}, "value", ours)


def _facts() -> Iterator[Cell]:
    counts = [
        fact(name)
        for name in ("waiting-interactions", "interactions-without-waiting", "interactions-script-mftn3")
    ]
    waiting, others, interactions = (count.value for count in counts)
    cells = len(PAPER.tables[RESPONSES].rows)
    result = {
        "interactions-script-mftn3": exact(waiting + others, "", 2),
        "waiting-interactions": exact(interactions - others, "", 2),
        "interactions-without-waiting": exact(interactions - waiting, "", 2),
        "waiting-interactions-first-half": exact(float(cells), "", cells),
        "ctss-cpu-time-17-users": exact(cpm01("average_cpu_time"), "", 1),
        "ctss-response-time-17-users": exact(cpm01("average_system_response_time"), "", 1),
        "run-time-share-4-users": rounded(
            lambda run, cpu: 100.0 * run / cpu, (fact("run-time"), fact("cpu-time-4-users"))
        ),
        "run-time": rounded(
            lambda part, cpu: part / 100.0 * cpu, (fact("run-time-share-4-users"), fact("cpu-time-4-users"))
        ),
    }
    for name, ours in result.items():
        yield PAPER.recomputed_fact(name, ours)
    # About 5 to 6 s: both runs of the twin script lie there, rounded to whole seconds.
    ctss = PAPER.printed(SUMMARY, {"statistic": "average_all"}, "ctss_15_users_s").value
    report = cpm01("average_system_response_time")
    yield PAPER.recomputed_fact("response-time-ctss", exact(ctss, "s", 1), end="low")
    yield PAPER.recomputed_fact("response-time-ctss", exact(report, "s", 1), end="high")


def implied_faults(cpu_ms: float) -> float:
    r"""Page faults per interaction that a CPU time implies.

    .. math:: n = n_4 + \frac{C - C_4}{8.0 + o}, \qquad n_4 = \frac{120}{7.5}, \qquad
              o = \frac{C_4 - 310 - 120}{n_4}

    run time being constant, an added page fault taking 8.0 ms, and other faults being in proportion to page
    faults.
    """
    least = fact("page-fault-time").value / fact("time-per-page-fault").value
    others = fact("cpu-time-4-users").value - fact("run-time").value - fact("page-fault-time").value
    return least + (cpu_ms - fact("cpu-time-4-users").value) / (
        fact("time-per-added-page-fault").value + others / least
    )


def _explained() -> Iterator[str]:
    least = implied_faults(fact("cpu-time-4-users").value)
    inside = fact("page-fault-time-feiertag").value / fact("time-per-page-fault").value
    others = fact("cpu-time-4-users").value - fact("run-time").value - fact("page-fault-time").value
    yield (
        f"At 4 users {fact('page-fault-time').value:.0f} ms at {fact('time-per-page-fault').value} ms "
        f"each are {least:.1f} page "
        f"faults an interaction; measured inside the system, "
        f"{fact('page-fault-time-feiertag').value:.0f} ms are {inside:.1f}. "
        f"Run time and page faults leave {others:.0f} ms for other faults."
    )
    cpu = at_twenty_ms()
    yield (
        f"A run share of {fact('run-time-share-20-users').value:.0f} % at 20 users implies a CPU time "
        f"of {cpu / 1000.0:.2f} s, "
        "which is printed nowhere."
    )


def at_twenty_ms() -> float:
    """CPU time per interaction at 20 users that its run share implies, ms."""
    return 100.0 * fact("run-time").value / fact("run-time-share-20-users").value


def _components() -> Table:
    """Components that the text implies at 4, 17 and 20 users."""
    run, least = fact("run-time").value, fact("cpu-time-4-users").value

    def parts(cpu: float) -> Iterator[str]:
        faults = implied_faults(cpu)
        added = (faults - implied_faults(least)) * fact("time-per-added-page-fault").value
        paging = fact("page-fault-time").value + added
        for value in (cpu, run, paging, cpu - run - paging, faults, 100.0 * run / cpu):
            yield f"{value:.0f}"

    return Table.of(
        ((4, least), (17, 1000.0 * fact("multics-cpu-time-17-users").value), (20, at_twenty_ms())),
        Col("users", lambda row: str(row[0]), scaled=False),
        Cols(
            ["CPU time, ms", "run, ms", "page faults, ms", "other faults, ms", "page faults", "run share, %"],
            lambda row: parts(row[1]),
            scaled=False,
        ),
        name="implied-components",
        caption="CPU time per interaction and its components, as the text implies them",
        notes=[
            "Page faults beyond those at 4 users follow from the CPU time if an added one takes "
            f"{fact('time-per-added-page-fault').value} ms and other faults are in proportion to page "
            "faults; at 20 users the CPU time follows from the run share."
        ],
    )


def doubts(_: object) -> Chapter:
    """Every doubtful number as printed, with what the other printed numbers imply."""
    return doubtful(
        (
            "time of an added page fault",
            "an average of 8.0 millisecond page faults are introduced",
            _added,
        ),
        ("commands of Table 1", "a label only before the first interaction of a command", _labels),
        ("averages of CPM01", "0.650, 0.423 and 1.073 s", _truncated),
        ("mean response of CPM01", "6.3 s", _response),
        ("column of 13 users", "not printed", _thirteen),
        ("Figures 1 to 4", "captions only; 1.02 s and about 19 s in the text", _readings),
        ("response of CTSS", "taken at 15 users in Table 1, at 17 in CPM01", _counts),
        ("CPU time at 4 users", "545 ms, measured inside the system 518 ms", _instruments),
    )


def _average(column: str, statistic: str = "average_all") -> float:
    return PAPER.printed(SUMMARY, {"statistic": statistic}, column).value


def _response_of(column: str, interaction: int) -> float:
    return PAPER.printed(RESPONSES, {"interaction": interaction}, column).value


def _added() -> str:
    cpu, added = 1000.0 * fact("multics-cpu-time-17-users").value, fact("time-per-added-page-fault").value
    more = implied_faults(cpu) - implied_faults(fact("cpu-time-4-users").value)
    return (
        f"at {added} ms each, {more:.0f} more page faults an interaction explain {more * added:.0f} of the "
        f"{cpu - fact('cpu-time-4-users').value:.0f} ms that 17 users add to 4, other faults in "
        f"proportion the rest; "
        f"{added} page faults more would leave "
        f"{cpu - fact('cpu-time-4-users').value - added * fact('time-per-page-fault').value:.0f} "
        "ms to others"
    )


def _labels() -> str:
    column = "multics_17_users_s"
    total = PAPER.printed(SUMMARY, {"statistic": "sum"}, column).value
    count = fact("waiting-interactions-first-half").value
    both = (total - sum(_response_of(column, index) for index in COMPILED)) / (count - len(COMPILED))
    first = (total - _response_of(column, COMPILED[0])) / (count - 1)
    stated = _average(column, "average_except_fortran")
    return (
        f"at 17 users the average without FORTRAN is {both:.1f} s if two interactions are FORTRAN, "
        f"{first:.1f} s if one is; {stated} s is printed"
    )


def _truncated() -> str:
    count = fact("interactions-script-mftn3").value
    run, swap, cpu = (cpm01(f"total_{part}_time") / count for part in ("run", "swap", "cpu"))
    return (
        f"the totals over {count:.0f} interactions are {run:.4f}, {swap:.4f} and {cpu:.4f} s; the first two "
        "are printed without their last digits, the third is the sum of these"
    )


def _response() -> str:
    count, waiting = fact("interactions-script-mftn3").value, fact("waiting-interactions").value
    rest = cpm01("total_real_time") - count * fact("think-time").value
    return (
        f"{cpm01('total_real_time'):.0f} s of real time less {count:.0f} think times leave {rest:.0f} s: "
        f"{rest / count:.1f} s for each interaction, {rest / waiting:.1f} s for each that waits"
    )


def _thirteen() -> str:
    ten, seventeen = _average("multics_10_users_s"), _average("multics_17_users_s")
    between = ten + (seventeen - ten) * (13 - 10) / (17 - 10)
    empty = sum(
        PAPER.tables[RESPONSES].cell(row, "multics_13_users_s") is None
        for row in PAPER.tables[RESPONSES].rows
    )
    return f"{empty} cells are empty; a straight line from 10 to 17 users has an average of {between:.1f} s"


def _readings() -> str:
    ten, seventeen = _average("multics_10_users_s"), _average("multics_17_users_s")
    between = ten + (seventeen - ten) * (15 - 10) / (17 - 10)
    return (
        f"Table 1 has {ten} s at 10 and {seventeen} s at 17 users, a straight line {between:.1f} s at 15; "
        f"{fact('response-time-15-users').value:.0f} s is a reading"
    )


def _counts() -> str:
    table, report = _average("ctss_15_users_s"), cpm01("average_system_response_time")
    users = PAPER.printed(CPM01, {"quantity": "simultaneous_users"}, "value").value
    return f"{table} s at 15 users and {report} s at {users:.0f}: within the stated 5 to 6 s when rounded"


def _instruments() -> str:
    cpu = 100.0 * (fact("cpu-time-feiertag").value / fact("cpu-time-4-users").value - 1.0)
    paging = 100.0 * (fact("page-fault-time-feiertag").value / fact("page-fault-time").value - 1.0)
    rest = [
        fact(total).value - fact(part).value
        for total, part in (
            ("cpu-time-4-users", "page-fault-time"),
            ("cpu-time-feiertag", "page-fault-time-feiertag"),
        )
    ]
    return (
        f"inside, CPU time is {cpu:+.1f} % and page-fault processing {paging:+.1f} % off; what is no "
        f"page-fault processing is {rest[0]:.0f} and {rest[1]:.0f} ms, {100 * (rest[1] / rest[0] - 1):+.1f} %"
    )
