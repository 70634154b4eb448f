"""Cells of Tables VI and VII that do not come out, each with what its difference is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from thinktime.documents import format as shown
from thinktime.studies.brachman_1983.machine import Machine
from thinktime.studies.brachman_1983.spent import blocks_per_interaction, measured, simulated
from thinktime.studies.brachman_1983.tables import CASES, MEASURED, Case
from thinktime.studies.cells import Cell

__all__ = ["told"]


def told(machine: Machine, figures: Iterable[Cell]) -> Iterator[str]:
    """Say of every cell of the runs that misses, doubtful ones with them, what its difference is made of."""
    known = {(case.table, tuple(case.row.values())): case for case in CASES}
    for figure in figures:
        case = known.get((figure.table, tuple(figure.row.values())))
        if case is not None and figure.verdict in ("misses", "doubtful"):
            yield _said(machine, case, figure)


def _said(machine: Machine, case: Case, figure: Cell) -> str:
    why = {
        "elapsed_s": _elapsed,
        "controller_utilization_percent": _utilisation,
        "nswaps": _swaps,
        "qdisk": _queue,
    }[figure.quantity]
    head = (
        f"{'Misses' if figure.verdict == 'misses' else 'Doubtful as printed'}: {TITLES[figure.quantity]} of "
        f"{case.words}, {shown.number(figure.ours)} for "
        f"{shown.number(figure.published or 0.0)}"
    )
    return f"{head}. {why(machine, case)}{_neighbours(case)}"


TITLES = dict(zip(MEASURED, ("queue", "swaps", "utilisation", "elapsed time"), strict=True))
"""Of the columns, short."""


def _elapsed(machine: Machine, case: Case) -> str:
    theirs, ours = measured(case), simulated(machine, case)
    if theirs is None:
        return ""
    return (
        f"Of the {ours.elapsed_s - theirs.elapsed_s:+.0f} s {ours.files_s - theirs.files_s:+.0f} s are file "
        f"transfers, {ours.swaps_s - theirs.swaps_s:+.0f} s swaps, {ours.idle_s - theirs.idle_s:+.0f} s an "
        "idle controller."
    )


def _utilisation(machine: Machine, case: Case) -> str:
    theirs, ours = measured(case), simulated(machine, case)
    if theirs is None:
        return ""
    busy = [each.files_s + each.swaps_s for each in (ours, theirs)]
    same = 100.0 * busy[0] / theirs.elapsed_s
    return (
        f"The controller is busy for {busy[0]:.0f} s, measured {busy[1]:.0f} s, in an elapsed time of "
        f"{ours.elapsed_s:.0f} s, measured {theirs.elapsed_s:.0f} s; over the measured time ours would be "
        f"{same:.1f} %."
    )


def _swaps(machine: Machine, case: Case) -> str:
    elapsed, count = case.published("elapsed_s"), case.published("nswaps")
    if elapsed is None or not count:
        return ""
    ours = machine.mean(case, "elapsed_s") / max(1.0, machine.mean(case, "swaps"))
    free = machine.mean(case, "memory_free_mean")
    return (
        f"There is a swap every {ours:.2f} s, measured every {elapsed / count:.2f} s; all processes take "
        f"{case.pn * sum(case.sizes_clicks) / len(case.sizes_clicks):.0f} of {case.mm_clicks} clicks, and "
        f"{free:.0f} are free on the mean."
    )


def _queue(machine: Machine, case: Case) -> str:
    busy = machine.mean(case, "controller_utilisation")
    return (
        f"The controller is busy for {100 * busy:.1f} %, measured "
        f"{shown.number(case.published('controller_utilization_percent') or 0.0)} %, with "
        f"{machine.mean(case, 'loaded_mean'):.1f} processes loaded."
    )


def _neighbours(case: Case) -> str:
    """Set the transfers that the measured run implies against those of the other runs of its group."""
    own = blocks_per_interaction(case)
    same = [
        found
        for each in CASES
        if each is not case
        and (each.sizes_clicks, each.mm_clicks, each.pc_ms) == (case.sizes_clicks, case.mm_clicks, case.pc_ms)
        and (found := blocks_per_interaction(each)) is not None
    ]
    if own is None or len(same) < 2:
        return ""
    where = "within" if min(same) <= own <= max(same) else "beyond"
    return (
        f" As measured it implies {own:.2f} file transfers an interaction, {where} the {min(same):.2f} to "
        f"{max(same):.2f} of the other runs of its size and memory."
    )
