"""The measured runs again: every row of Tables VI and VII on the simulated machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983 import charts
from thinktime.studies.brachman_1983.runs import (
    CASES,
    FACTORIAL,
    MIXED,
    PAPER,
    RESPONSES,
    TWELVE,
    Case,
    DiskTime,
    blocks_per_interaction,
    column_of,
    find,
    mean_of,
    measured,
    of_case,
    simulated,
    spread,
)
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables VI and VII, published and simulated."""
    cells = (*_cells(laboratory), *_facts(laboratory))
    return Chapter(
        cells=cells,
        summary=(
            "Every row is run with one set of parameters; the rows differ only in memory, number and size of "
            "processes, and the compute loop. The machine was calibrated to the rows of 157 clicks with 650 "
            "and 1280 clicks of memory in Table VI; all other rows are predictions.",
            *_worst(laboratory, cells),
            *_deviations(laboratory, cells),
        ),
        charts=tuple(charts.simulated_against_measured(laboratory, quantity) for quantity in charts.TITLES),
        tables=(_controller_time(laboratory),),
        method=(
            "Means over replications with Student's t. Elapsed time agrees within 10 %, utilisation within 4 "
            "points, Qdisk within 0.8, swaps within 20 % where more than 500 are printed, else within 100."
        ),
    )


def _cells(laboratory: Laboratory) -> Iterator[Cell]:
    for case in CASES:
        for quantity in RESPONSES:
            ours = interval(column_of(laboratory, case, quantity))
            yield PAPER.simulated(case.table, case.row, quantity, ours)


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    """Numbers of the text that name a run."""
    for name, pc_ms in (("queue-length-12-ms", 12), ("queue-length-186-ms", 186)):
        case = find(pc_ms=pc_ms, size=157, mm=650, pn=12)
        yield PAPER.fact(name, interval(column_of(laboratory, case, "qdisk")))
    # As NL is meant: how many memory holds, those on their way in or out with them.
    mean_size = sum(MIXED.sizes_clicks) / len(MIXED.sizes_clicks)
    held = interval((MIXED.mm_clicks - of_case(laboratory, MIXED, "memory_free_mean")) / mean_size)
    yield PAPER.fact("mixed-sizes-loaded", held)
    factorial = [case for case in CASES if case.table == FACTORIAL]
    blocks = [of_case(laboratory, case, "file_transfers_per_interaction") for case in factorial]
    yield PAPER.fact("blocks-per-interaction", interval(np.mean(blocks, axis=0)))
    busy = [interval(column_of(laboratory, case, "controller_utilization_percent")) for case in TWELVE]
    yield PAPER.fact("utilisation-at-twelve-processes", min(busy, key=lambda estimate: estimate.value))
    difference = Estimate(
        value=100.0 * max(spread(laboratory, case) for case in CASES),
        unit="%",
        n=laboratory.settings.replications,
        method="largest standard deviation",
    )
    yield PAPER.fact("run-to-run-difference", difference)


def _controller_time(laboratory: Laboratory) -> Table:
    """Disk time of files and swaps, and idle time, of every row: where a difference comes from."""

    def listed(times: DiskTime | None) -> tuple[str | None, ...]:
        if times is None:
            return (None,) * 3
        return tuple(f"{value:.0f}" for value in (times.files_s, times.swaps_s, times.idle_s))

    return Table.of(
        CASES,
        Col("run", lambda case: case.words),
        Cols(
            (f"{name}, {who}, s" for name in ("files", "swaps", "idle") for who in ("published", "ours")),
            lambda case: (
                cell
                for pair in zip(listed(measured(case)), listed(simulated(laboratory, case)), strict=True)
                for cell in pair
            ),
            scaled=False,
        ),
        name="controller-time",
        caption="What the controller does in the elapsed time: file transfers, swaps, nothing",
        notes=("Published: swaps take the measured times of Table IV, files what is left of the busy time.",),
        folded=True,
    )


def _of_runs(cells: Iterable[Cell]) -> Iterator[tuple[Case, Cell]]:
    """Cells of Tables VI and VII with their runs."""
    cases = {(case.table, tuple(case.row.values())): case for case in CASES}
    for cell in cells:
        case = cases.get((cell.table, tuple(cell.row.values())))
        if case is not None:
            yield case, cell


def _worst(laboratory: Laboratory, cells: Iterable[Cell]) -> Iterator[str]:
    """Row that is farthest off in each quantity, with the components of its elapsed time."""
    judged = [
        (case, cell)
        for case, cell in _of_runs(cells)
        if cell.published is not None and cell.tolerance is not None and not cell.doubt
    ]
    for quantity, title in charts.TITLES.items():
        case, cell = max(
            (item for item in judged if item[1].quantity == quantity), key=lambda item: _used(item[1])
        )
        explained = f" {_elapsed(laboratory, case)}" if quantity == "elapsed_s" else ""
        yield (
            f"Worst row of {title.partition(',')[0]}: {case.words}, {_ours_for_printed(cell)} "
            f"({100 * _used(cell):.0f} % of what is allowed).{explained}"
        )


def _used(cell: Cell) -> float:
    """Difference of a judged cell as a fraction of the largest that is allowed."""
    assert cell.published is not None
    assert cell.tolerance is not None
    allowed = cell.tolerance.amount * (cell.published if cell.tolerance.way == "relative" else 1.0)
    return abs(cell.ours - cell.published) / allowed


def _ours_for_printed(cell: Cell) -> str:
    return f"{shown.number(cell.ours)} for {shown.number(cell.published or 0.0)}"


def _deviations(laboratory: Laboratory, cells: Iterable[Cell]) -> Iterator[str]:
    """Sentences on every cell of the runs that misses, doubtful ones included, with its components."""
    explanations = {
        "elapsed_s": ("elapsed time", _elapsed),
        "controller_utilization_percent": ("utilisation", _utilisation),
        "nswaps": ("swaps", _swaps),
        "qdisk": ("queue", _queue),
    }
    for case, cell in _of_runs(cells):
        if cell.verdict in ("misses", "doubtful"):
            name, explain = explanations[cell.quantity]
            verdict = "Misses" if cell.verdict == "misses" else "Doubtful as printed"
            yield (
                f"{verdict}: {name} of {case.words}, {_ours_for_printed(cell)}. "
                f"{explain(laboratory, case)}{_neighbours(case)}"
            )


def _elapsed(laboratory: Laboratory, case: Case) -> str:
    """Components of a difference of elapsed times: files, swaps and an idle controller."""
    theirs, ours = measured(case), simulated(laboratory, case)
    if theirs is None:
        return ""
    return (
        f"Of the {ours.elapsed_s - theirs.elapsed_s:+.0f} s {ours.files_s - theirs.files_s:+.0f} s are file "
        f"transfers, {ours.swaps_s - theirs.swaps_s:+.0f} s swaps, {ours.idle_s - theirs.idle_s:+.0f} s an "
        "idle controller."
    )


def _utilisation(laboratory: Laboratory, case: Case) -> str:
    theirs, ours = measured(case), simulated(laboratory, case)
    if theirs is None:
        return ""
    busy = [times.files_s + times.swaps_s for times in (ours, theirs)]
    return (
        f"The controller is busy for {busy[0]:.0f} s, measured {busy[1]:.0f} s, in an elapsed time of "
        f"{ours.elapsed_s:.0f} s, measured {theirs.elapsed_s:.0f} s; over the measured time ours would be "
        f"{100.0 * busy[0] / theirs.elapsed_s:.1f} %."
    )


def _swaps(laboratory: Laboratory, case: Case) -> str:
    elapsed, count = case.published("elapsed_s"), case.published("nswaps")
    if elapsed is None or not count:
        return ""
    ours = mean_of(laboratory, case, "elapsed_s") / max(1.0, mean_of(laboratory, case, "swaps"))
    return (
        f"There is a swap every {ours:.2f} s, measured every {elapsed / count:.2f} s; all processes take "
        f"{case.pn * sum(case.sizes_clicks) / len(case.sizes_clicks):.0f} of {case.mm_clicks} clicks, and "
        f"{mean_of(laboratory, case, 'memory_free_mean'):.0f} are free on the mean."
    )


def _queue(laboratory: Laboratory, case: Case) -> str:
    busy = mean_of(laboratory, case, "controller_utilisation")
    return (
        f"The controller is busy for {100 * busy:.1f} %, measured "
        f"{shown.number(case.published('controller_utilization_percent') or 0.0)} %, with "
        f"{mean_of(laboratory, case, 'loaded_mean'):.1f} processes loaded."
    )


def _neighbours(case: Case) -> str:
    """Comparison of the transfers that the measured run implies with those of the other runs of its group."""
    implied = blocks_per_interaction(case)
    others = [
        transfers
        for other in CASES
        if other is not case
        and (other.sizes_clicks, other.mm_clicks, other.pc_ms)
        == (case.sizes_clicks, case.mm_clicks, case.pc_ms)
        and (transfers := blocks_per_interaction(other)) is not None
    ]
    if implied is None or len(others) < 2:
        return ""
    where = "within" if min(others) <= implied <= max(others) else "beyond"
    return (
        f" As measured it implies {implied:.2f} file transfers per interaction, {where} the "
        f"{min(others):.2f} to {max(others):.2f} of the other runs of its size and memory."
    )
