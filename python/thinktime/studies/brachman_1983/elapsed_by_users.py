"""Elapsed time against the number of processes, a line for each memory size (Figure 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from thinktime.documents import charts, document
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis, Rows, Spec
from thinktime.documents.document import Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.runs import CASES, FACTORIAL, PAPER, Case, column_of, mean_of
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory

COLOURS = {650: "user", 1000: "memory", 1280: "system"}
"""By clicks of memory."""


def groups() -> dict[tuple[int, int], list[Case]]:
    """Rows of Table VI by size of a process and of memory."""
    result: dict[tuple[int, int], list[Case]] = {}
    for case in CASES:
        if case.table == FACTORIAL:
            result.setdefault((case.sizes_clicks[0], case.mm_clicks), []).append(case)
    return result


def figure_2(laboratory: Laboratory) -> Iterator[document.Figure]:
    """One chart a process size."""
    for size in sorted({size for size, _ in groups()}):
        yield _chart(laboratory, size)


def _chart(laboratory: Laboratory, size: int) -> document.Figure:
    selected = {mm: cases for (clicks, mm), cases in groups().items() if clicks == size}
    keys = tuple(Key(_name(mm), colour=COLOURS[mm], shape="line") for mm in selected)
    over = tuple(Key(f"measured, {mm} clicks", colour=COLOURS[mm], shape="diamond") for mm in selected)
    lines, hollow, diamonds = [], [], []
    for mm, cases in selected.items():
        for case in sorted(cases, key=lambda case: case.pn):
            lines.append(_row(_name(mm), case, interval(column_of(laboratory, case, "elapsed_s"))))
            printed = case.published("elapsed_s")
            if printed is not None:
                index = {"x": case.pn, "y": printed, "shown": f"{printed:.0f} s"}
                diamonds.append({"series": f"measured, {mm} clicks", **index})
            hollow.append(_model(_name(mm), cases, case))
    rows = [*lines, *hollow]
    y = Axis.from_zero("elapsed time, s", rows)
    columns = (
        Column("memory, clicks", scaled=False),
        Column("processes", scaled=False),
        *(Column(name, scaled=False) for name in ("measured, s", "simulated, s", "proportional to PN, s")),
    )
    name = f"figure-2-{size}"
    x = Axis("processes", low=3.5, high=13.5, ticks=(4.0, 6.0, 8.0, 10.0, 12.0))
    return document.Figure(
        name=name,
        title=f"Elapsed time against processes of {size} clicks (Figure 2)",
        chart=partial(_spec, rows, diamonds, keys, over, x, y),
        data=Table(
            name=f"{name}-data",
            caption=f"Elapsed time, processes of {size} clicks",
            columns=columns,
            rows=_data(laboratory, selected),
        ),
        alt=(
            "Lines are simulated, diamonds measured, hollow circles the measured run of twelve processes "
            f"times PN / 12. {_in_words(laboratory, selected)}"
        ),
        keys=(*keys, *over, Key("T(12) PN / 12", colour="plain", shape="circle")),
        half=True,
    )


def _spec(rows: Rows, diamonds: Rows, keys: Sequence[Key], over: Sequence[Key], x: Axis, y: Axis) -> Spec:
    return charts.laid_over(charts.curves(rows, keys, x, y), diamonds, over)


def _name(mm: int) -> str:
    return f"{mm} clicks"


def _row(series: str, case: Case, value: Estimate) -> dict[str, object]:
    ends = {"value": value.value, "low": value.low, "high": value.high}
    return {"series": series, "x": case.pn, "shown": f"{shown.estimate(value)} s", **ends}


def _model(series: str, cases: Sequence[Case], case: Case) -> dict[str, object]:
    """Elapsed time proportional to the number of processes, from the measured run of twelve."""
    value = _proportional(cases, case)
    text = f"{value:.0f} s from twelve processes"
    return {"series": series, "x": case.pn, "value": value, "shown": text, "few": True}


def _proportional(cases: Sequence[Case], case: Case) -> float:
    full = next(item for item in cases if item.pn == 12)
    return (full.published("elapsed_s") or 0.0) * case.pn / full.pn


def _data(laboratory: Laboratory, own: dict[int, list[Case]]) -> tuple[tuple[document.Cell, ...], ...]:
    rows: list[tuple[document.Cell, ...]] = []
    for mm, cases in own.items():
        for case in cases:
            printed = case.published("elapsed_s")
            rows.append(
                (
                    str(mm),
                    str(case.pn),
                    None if printed is None else f"{printed:.0f}",
                    interval(column_of(laboratory, case, "elapsed_s")),
                    f"{_proportional(cases, case):.0f}",
                )
            )
    return tuple(rows)


def _in_words(laboratory: Laboratory, own: dict[int, list[Case]]) -> str:
    parts = []
    for mm, cases in own.items():
        few, many = min(cases, key=lambda case: case.pn), max(cases, key=lambda case: case.pn)
        values = [column_of(laboratory, case, "elapsed_s").mean() for case in (few, many)]
        parts.append(f"{mm} clicks from {values[0]:.0f} s ({few.pn}) to {values[1]:.0f} s ({many.pn})")
    return f"Simulated with {'; '.join(parts)}."


def linear(laboratory: Laboratory) -> Claim:
    """Claim that elapsed time is linear in the number of processes, down to the lowest."""
    listed, least = [], 1.0
    for (size, mm), cases in groups().items():
        ours = _explained(cases, [mean_of(laboratory, case, "elapsed_s") for case in cases])
        present = [case for case in cases if case.published("elapsed_s") is not None]
        theirs = _explained(present, [case.published("elapsed_s") or 0.0 for case in present])
        measured = f", measured {theirs:.3f}" if len(present) > 2 else ""
        listed.append(f"{size}/{mm} {ours:.3f}{measured}")
        least = min(least, ours)
    return PAPER.claim(
        "linear-in-pn",
        [least],
        f"R² of lines of simulated time on PN, by size and memory: {'; '.join(listed)}; above "
        f"{PAPER.amount('linear-in-pn'):g} "
        "counts as straight",
    )


def _explained(cases: Sequence[Case], times_s: Sequence[float]) -> float:
    """R² of the least-squares line of times on numbers of processes; 1 for two points and fewer."""
    if len(cases) < 3:
        return 1.0
    x, y = np.array([case.pn for case in cases], dtype=np.float64), np.array(times_s)
    slope, constant = np.polyfit(x, y, 1)
    rest = y - slope * x - constant
    return 1.0 - float(rest @ rest) / float((y - y.mean()) @ (y - y.mean()))
