"""The measured runs again: every row of Tables VI and VII on the simulated machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from thinktime.documents import charts, document
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis
from thinktime.documents.document import Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983 import misses
from thinktime.studies.brachman_1983.machine import Machine, fullest, interval
from thinktime.studies.brachman_1983.spent import measured, simulated
from thinktime.studies.brachman_1983.tables import (
    CASES,
    FACTORIAL,
    MEASURED,
    NAME,
    PAPER,
    SUPPLEMENT,
    Case,
    tolerance,
)
from thinktime.studies.cells import Cell, Claim, Tolerance
from thinktime.studies.study import Chapter

__all__ = ["TABLES", "chapter", "find", "runs_agree", "spread"]

TABLES = (FACTORIAL, SUPPLEMENT, "facts")
TITLES = {
    "elapsed_s": "elapsed time, s",
    "controller_utilization_percent": "controller utilisation, %",
    "nswaps": "swap-ins and swap-outs",
    "qdisk": "mean number at the controller",
}
SHADES = {"fitted": "user", "predicted": "system"}
RUNS_AGREE = 0.05
"""Elapsed times of identical runs of the thesis differ by less than this part."""


def chapter(machine: Machine) -> Chapter:
    """Tables VI and VII, published beside simulated."""
    figures = (*_cells(machine), *_facts(machine))
    summary = (
        "Every row is run with one set of parameters; the rows differ only in memory, number and size of "
        "processes, and the compute loop. The machine was calibrated to the rows of 157 clicks with 650 and "
        "1280 clicks of memory in Table VI; all other rows are predictions.",
        *_worst(machine),
        *misses.told(machine, figures),
    )
    method = (
        "Means over replications with Student's t. Elapsed time agrees within 10 %, utilisation within 4 "
        "points, Qdisk within 0.8, swaps within 20 % where more than 500 are printed, else within 100."
    )
    return Chapter(
        cells=figures,
        claims=(),
        summary=summary,
        charts=tuple(_picture(machine, quantity) for quantity in TITLES),
        tables=(_parts(machine),),
        method=method,
    )


def _cells(machine: Machine) -> Iterator[Cell]:
    for case in CASES:
        for quantity in MEASURED:
            ours = interval(machine.measured(case, quantity))
            allowed = tolerance(quantity, case.published(quantity))
            yield PAPER.cell(case.table, case.row, quantity, ours, case.kind, allowed)


def _facts(machine: Machine) -> Iterator[Cell]:
    """Numbers of the text that name a run."""
    queue = Tolerance("absolute", 0.8)
    for name, pc_ms in (("U-F28", 12), ("U-F29", 186)):
        case = find(pc_ms=pc_ms, size=157, mm=650, pn=12)
        yield PAPER.fact(name, interval(machine.measured(case, "qdisk")), case.kind, queue)
    mixed = next(case for case in CASES if len(case.sizes_clicks) > 1)
    # As NL is meant: how many memory holds, those on their way in or out with them.
    mean_size = sum(mixed.sizes_clicks) / len(mixed.sizes_clicks)
    held = interval((mixed.mm_clicks - machine.case(mixed, "memory_free_mean")) / mean_size)
    yield PAPER.fact("U-F32", held, "predicted", Tolerance("absolute", 0.5))
    blocks = np.mean(
        [machine.case(case, "file_transfers_per_interaction") for case in CASES if case.table == FACTORIAL],
        axis=0,
    )
    yield PAPER.fact("U-F18", interval(blocks), "predicted", Tolerance("relative", 0.10))
    least = min(
        (interval(machine.measured(case, "controller_utilization_percent")) for case in fullest()),
        key=lambda estimate: estimate.value,
    )
    yield PAPER.fact("U-F26", least, "predicted", None)
    reach = 100.0 * max(spread(machine, case) for case in CASES)
    runs = machine.settings.replications
    yield PAPER.fact(
        "U-F15",
        Estimate(value=reach, unit="%", n=runs, method="largest standard deviation"),
        "predicted",
        None,
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


def _worst(machine: Machine) -> Iterator[str]:
    """Name the row that is farthest off in each quantity, and what elapsed time goes astray on."""
    for quantity, title in TITLES.items():
        off = []
        for case in CASES:
            printed = case.published(quantity)
            if printed is None or (case.table, tuple(case.row.values()), quantity) in PAPER.doubts:
                continue
            allowed = tolerance(quantity, printed)
            ours = float(machine.measured(case, quantity).mean())
            reach = allowed.amount * (printed if allowed.way == "relative" else 1.0)
            off.append((abs(ours - printed) / reach, case, ours, printed))
        part, case, ours, printed = max(off, key=lambda item: item[0])
        said = (
            f"Worst row of {title.partition(',')[0]}: {case.words}, {shown.number(ours)} for "
            f"{shown.number(printed)} ({100 * part:.0f} % of what is allowed)"
        )
        yield said + (_why(machine, case) if quantity == "elapsed_s" else "") + "."


def _why(machine: Machine, case: Case) -> str:
    """Part a difference of elapsed times into files, swaps and an idle controller."""
    theirs = measured(case)
    if theirs is None:
        return ""
    ours = simulated(machine, case)
    parts = {
        "file transfers": ours.files_s - theirs.files_s,
        "swaps": ours.swaps_s - theirs.swaps_s,
        "an idle controller": ours.idle_s - theirs.idle_s,
    }
    listed = ", ".join(f"{amount:+.0f} s are {name}" for name, amount in parts.items())
    return f"; of the {ours.elapsed_s - theirs.elapsed_s:+.0f} s {listed}"


def _parts(machine: Machine) -> Table:
    """Disk time of files and swaps, and idle time, of every row: where a difference comes from."""
    rows: list[tuple[document.Cell, ...]] = []
    for case in CASES:
        theirs, ours = measured(case), simulated(machine, case)
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


def spread(machine: Machine, case: Case) -> float:
    """Return the standard deviation of elapsed times over replications, as a part of their mean.

    A replication draws other work, which two identical runs of the thesis do not.
    """
    values = machine.case(case, "elapsed_s")
    return float(values.std(ddof=1) / values.mean())


def runs_agree(machine: Machine) -> Claim:
    """Whether the elapsed times of repeated runs differ by about 5 % or less."""
    reach = {case.words: spread(machine, case) for case in CASES}
    worst = max(reach, key=reach.__getitem__)
    pairs = [
        abs(one - two) / ((one + two) / 2.0)
        for case in CASES
        for one, two in combinations(machine.case(case, "elapsed_s").tolist(), 2)
    ]
    near = float(np.mean([pair < RUNS_AGREE for pair in pairs]))
    return Claim(
        study=NAME,
        id="runs-agree",
        source="text on the experiment",
        holds=reach[worst] < RUNS_AGREE,
        statistic=f"standard deviation over runs that each draw their own work: at most "
        f"{100 * reach[worst]:.1f} % of "
        f"the mean, {worst}; {100 * near:.1f} % of all {len(pairs)} pairs differ by less than "
        f"{100 * RUNS_AGREE:.0f} %",
        text="with 200 interactions the elapsed times of a run vary by less than 5 %",
    )


@dataclass(frozen=True, slots=True)
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


def _picture(machine: Machine, quantity: str) -> document.Figure:
    """Draw simulated against measured, row by row."""
    title = TITLES[quantity]
    points = [
        Point(case, printed, interval(machine.measured(case, quantity)))
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
