"""Where the printed numbers contradict each other, or can be read in two ways."""

from __future__ import annotations

from collections.abc import Callable

from thinktime.studies.common_sections import doubtful
from thinktime.studies.sekino_1969.loads import COMPILED, CPM01, PAPER, RESPONSES, SUMMARY, fact
from thinktime.studies.sekino_1969.recomputed import cpm01, implied_faults
from thinktime.studies.study import Chapter


def chapter(_: object) -> Chapter:
    """Every doubtful number as printed, with what the other printed numbers imply."""
    checks: tuple[tuple[str, str, Callable[[], str]], ...] = (
        ("time of an added page fault", "an average of 8.0 millisecond page faults are introduced", _added),
        ("commands of Table 1", "a label only before the first interaction of a command", _labels),
        ("averages of CPM01", "0.650, 0.423 and 1.073 s", _truncated),
        ("mean response of CPM01", "6.3 s", _response),
        ("column of 13 users", "not printed", _thirteen),
        ("Figures 1 to 4", "captions only; 1.02 s and about 19 s in the text", _readings),
        ("response of CTSS", "taken at 15 users in Table 1, at 17 in CPM01", _counts),
        ("CPU time at 4 users", "545 ms, measured inside the system 518 ms", _instruments),
    )
    return doubtful(checks)


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
