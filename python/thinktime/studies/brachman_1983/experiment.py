"""The measured runs again: every row of Tables VI and VII on the simulated machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from thinktime.documents import charts, document
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis
from thinktime.documents.document import Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.disk_time import blocks_per_interaction, measured, simulated
from thinktime.studies.brachman_1983.runs import (
    CASES,
    FACTORIAL,
    PAPER,
    RESPONSES,
    Case,
    column_of,
    fullest,
    mean_of,
    of_case,
)
from thinktime.studies.cells import Cell, Claim
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

TITLES = {
    "elapsed_s": "elapsed time, s",
    "controller_utilization_percent": "controller utilisation, %",
    "nswaps": "swap-ins and swap-outs",
    "qdisk": "mean number at the controller",
}
SHADES = {"fitted": "user", "predicted": "system"}
RUNS_AGREE = 0.05
"""Elapsed times of identical runs of the thesis differ by less than this part."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables VI and VII, published and simulated."""
    figures = (*_cells(laboratory), *_facts(laboratory))
    summary = (
        "Every row is run with one set of parameters; the rows differ only in memory, number and size of "
        "processes, and the compute loop. The machine was calibrated to the rows of 157 clicks with 650 and "
        "1280 clicks of memory in Table VI; all other rows are predictions.",
        *_worst(laboratory),
        *deviations(laboratory, figures),
    )
    method = (
        "Means over replications with Student's t. Elapsed time agrees within 10 %, utilisation within 4 "
        "points, Qdisk within 0.8, swaps within 20 % where more than 500 are printed, else within 100."
    )
    return Chapter(
        cells=figures,
        summary=summary,
        charts=tuple(_picture(laboratory, quantity) for quantity in TITLES),
        tables=(_parts(laboratory),),
        method=method,
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
    mixed = next(case for case in CASES if len(case.sizes_clicks) > 1)
    # As NL is meant: how many memory holds, those on their way in or out with them.
    mean_size = sum(mixed.sizes_clicks) / len(mixed.sizes_clicks)
    held = interval((mixed.mm_clicks - of_case(laboratory, mixed, "memory_free_mean")) / mean_size)
    yield PAPER.fact("mixed-sizes-loaded", held)
    blocks = np.mean(
        [
            of_case(laboratory, case, "file_transfers_per_interaction")
            for case in CASES
            if case.table == FACTORIAL
        ],
        axis=0,
    )
    yield PAPER.fact("blocks-per-interaction", interval(blocks))
    least = min(
        (interval(column_of(laboratory, case, "controller_utilization_percent")) for case in fullest()),
        key=lambda estimate: estimate.value,
    )
    yield PAPER.fact("utilisation-at-twelve-processes", least)
    reach = 100.0 * max(spread(laboratory, case) for case in CASES)
    runs = laboratory.settings.replications
    yield PAPER.fact(
        "run-to-run-difference", Estimate(value=reach, unit="%", n=runs, method="largest standard deviation")
    )


def find(*, pc_ms: int, size: int, mm: int, pn: int) -> Case:
    """Row of Table VI or VII with these levels.

    Raises
    ------
    KeyError
        Neither table has it.
    """
    for case in CASES:
        if (case.pc_ms, case.sizes_clicks, case.mm_clicks, case.pn) == (pc_ms, (size,), mm, pn):
            return case
    raise KeyError(f"no run has PC {pc_ms} ms, {size} clicks, {mm} clicks of memory and {pn} processes")


def _worst(laboratory: Laboratory) -> Iterator[str]:
    """Row that is farthest off in each quantity, with the components of its elapsed time."""
    for quantity, title in TITLES.items():
        off = []
        for case in CASES:
            cell = PAPER.simulated(
                case.table, case.row, quantity, interval(column_of(laboratory, case, quantity))
            )
            if cell.published is None or cell.tolerance is None or cell.doubt:
                continue
            reach = cell.tolerance.amount * (cell.published if cell.tolerance.way == "relative" else 1.0)
            off.append((abs(cell.ours - cell.published) / reach, case, cell.ours, cell.published))
        part, case, ours, printed = max(off, key=lambda item: item[0])
        listed = (
            f"Worst row of {title.partition(',')[0]}: {case.words}, {shown.number(ours)} for "
            f"{shown.number(printed)} ({100 * part:.0f} % of what is allowed)"
        )
        yield listed + (_why(laboratory, case) if quantity == "elapsed_s" else "") + "."


def _why(laboratory: Laboratory, case: Case) -> str:
    """Components of a difference of elapsed times: files, swaps and an idle controller."""
    theirs = measured(case)
    if theirs is None:
        return ""
    ours = simulated(laboratory, case)
    parts = {
        "file transfers": ours.files_s - theirs.files_s,
        "swaps": ours.swaps_s - theirs.swaps_s,
        "an idle controller": ours.idle_s - theirs.idle_s,
    }
    listed = ", ".join(f"{amount:+.0f} s are {name}" for name, amount in parts.items())
    return f"; of the {ours.elapsed_s - theirs.elapsed_s:+.0f} s {listed}"


def _parts(laboratory: Laboratory) -> Table:
    """Disk time of files and swaps, and idle time, of every row: where a difference comes from."""
    rows: list[tuple[document.Cell, ...]] = []
    for case in CASES:
        theirs, ours = measured(case), simulated(laboratory, case)
        printed = (None,) * 3 if theirs is None else (theirs.files_s, theirs.swaps_s, theirs.idle_s)
        both = zip(printed, (ours.files_s, ours.swaps_s, ours.idle_s), strict=True)
        cells = [None if value is None else f"{value:.0f}" for pair in both for value in pair]
        rows.append((case.words, *cells))
    columns = (
        Column("run"),
        *(
            Column(f"{name}, {who}, s", scaled=False)
            for name in ("files", "swaps", "idle")
            for who in ("published", "ours")
        ),
    )
    caption = "What the controller does in the elapsed time: file transfers, swaps, nothing"
    note = "Published: swaps take the measured times of Table IV, files what is left of the busy time."
    return Table(
        name="controller-time", caption=caption, columns=columns, rows=tuple(rows), notes=(note,), folded=True
    )


def spread(laboratory: Laboratory, case: Case) -> float:
    """The standard deviation of elapsed times over replications, as a part of their mean.

    A replication draws other work, which two identical runs of the thesis do not.
    """
    values = of_case(laboratory, case, "elapsed_s")
    return float(values.std(ddof=1) / values.mean())


def runs_agree(laboratory: Laboratory) -> Claim:
    """Claim that the elapsed times of repeated runs differ by about 5 % or less."""
    reach = {case.words: spread(laboratory, case) for case in CASES}
    worst = max(reach, key=reach.__getitem__)
    pairs = [
        abs(one - two) / ((one + two) / 2.0)
        for case in CASES
        for one, two in combinations(of_case(laboratory, case, "elapsed_s").tolist(), 2)
    ]
    near = float(np.mean([pair < RUNS_AGREE for pair in pairs]))
    return PAPER.claim(
        "runs-agree",
        [reach[worst]],
        f"standard deviation over runs that each draw their own work: at most "
        f"{100 * reach[worst]:.1f} % of "
        f"the mean, {worst}; {100 * near:.1f} % of all {len(pairs)} pairs differ by less than "
        f"{100 * PAPER.amount('runs-agree'):.0f} %",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One row in one quantity."""

    case: Case
    printed: float
    ours: Estimate

    @property
    def drawn(self) -> dict[str, object]:
        """Row of a chart."""
        words = f"{self.case.words}: {shown.number(self.printed)} measured, {shown.estimate(self.ours)} here"
        return {"x": self.printed, "y": self.ours.value, "series": self.case.kind, "shown": words}


def _picture(laboratory: Laboratory, quantity: str) -> document.Figure:
    """Simulated against measured, row by row."""
    title = TITLES[quantity]
    points = [
        Point(case=case, printed=printed, ours=interval(column_of(laboratory, case, quantity)))
        for case in CASES
        if (printed := case.published(quantity)) is not None
    ]
    off = [point.ours.value - point.printed for point in points]
    top = 1.05 * max(max(point.printed, point.ours.value) for point in points)
    keys = tuple(Key(kind, colour=shade, shape="circle") for kind, shade in SHADES.items())
    line = [{"x": value, "y": value} for value in (0.0, top)]
    axes = (Axis(f"measured {title}", low=0.0, high=top), Axis(f"simulated {title}", low=0.0, high=top))
    words = (
        Column("run"),
        Column("kind"),
        Column("measured", scaled=False),
        Column("simulated", scaled=False),
    )
    cells = tuple((point.case.words, point.case.kind, f"{point.printed:g}", point.ours) for point in points)
    name = f"simulated-{quantity.replace('_', '-')}"
    return document.Figure(
        name=name,
        title=f"{title.partition(',')[0].capitalize()}, measured and simulated",
        chart=partial(charts.scatter, [point.drawn for point in points], line, keys, *axes),
        data=Table(
            name=f"{name}-data",
            caption=f"{title.capitalize()} of the rows that were measured",
            columns=words,
            rows=cells,
        ),
        alt=f"{len(points)} rows; simulated less measured is between {min(off):+.1f} and {max(off):+.1f}, "
        f"on the mean {float(np.mean(off)):+.1f}.",
        keys=keys,
        half=True,
    )


def deviations(laboratory: Laboratory, figures: Iterable[Cell]) -> Iterator[str]:
    """Sentences on every cell of the runs that misses, doubtful ones included, with its components."""
    present = {(case.table, tuple(case.row.values())): case for case in CASES}
    for figure in figures:
        case = present.get((figure.table, tuple(figure.row.values())))
        if case is not None and figure.verdict in ("misses", "doubtful"):
            yield _in_words(laboratory, case, figure)


def _in_words(laboratory: Laboratory, case: Case, figure: Cell) -> str:
    why = {
        "elapsed_s": _elapsed,
        "controller_utilization_percent": _utilisation,
        "nswaps": _swaps,
        "qdisk": _queue,
    }[figure.quantity]
    head = (
        f"{'Misses' if figure.verdict == 'misses' else 'Doubtful as printed'}: {NAMES[figure.quantity]} of "
        f"{case.words}, {shown.number(figure.ours)} for "
        f"{shown.number(figure.published or 0.0)}"
    )
    return f"{head}. {why(laboratory, case)}{_neighbours(case)}"


NAMES = dict(zip(RESPONSES, ("queue", "swaps", "utilisation", "elapsed time"), strict=True))
"""Of the columns, short."""


def _elapsed(laboratory: Laboratory, case: Case) -> str:
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
    busy = [item.files_s + item.swaps_s for item in (ours, theirs)]
    same = 100.0 * busy[0] / theirs.elapsed_s
    return (
        f"The controller is busy for {busy[0]:.0f} s, measured {busy[1]:.0f} s, in an elapsed time of "
        f"{ours.elapsed_s:.0f} s, measured {theirs.elapsed_s:.0f} s; over the measured time ours would be "
        f"{same:.1f} %."
    )


def _swaps(laboratory: Laboratory, case: Case) -> str:
    elapsed, count = case.published("elapsed_s"), case.published("nswaps")
    if elapsed is None or not count:
        return ""
    ours = mean_of(laboratory, case, "elapsed_s") / max(1.0, mean_of(laboratory, case, "swaps"))
    free = mean_of(laboratory, case, "memory_free_mean")
    return (
        f"There is a swap every {ours:.2f} s, measured every {elapsed / count:.2f} s; all processes take "
        f"{case.pn * sum(case.sizes_clicks) / len(case.sizes_clicks):.0f} of {case.mm_clicks} clicks, and "
        f"{free:.0f} are free on the mean."
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
    selected = blocks_per_interaction(case)
    same = [
        result
        for item in CASES
        if item is not case
        and (item.sizes_clicks, item.mm_clicks, item.pc_ms) == (case.sizes_clicks, case.mm_clicks, case.pc_ms)
        and (result := blocks_per_interaction(item)) is not None
    ]
    if selected is None or len(same) < 2:
        return ""
    where = "within" if min(same) <= selected <= max(same) else "beyond"
    return (
        f" As measured it implies {selected:.2f} file transfers an interaction, {where} the "
        f"{min(same):.2f} to "
        f"{max(same):.2f} of the other runs of its size and memory."
    )
