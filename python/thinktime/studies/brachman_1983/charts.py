"""Charts of the study, each with its data table from the same points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.models.swapping.disk_bound import LeftOut
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.recomputed import ERROR
from thinktime.studies.brachman_1983.runs import (
    BY_TIME,
    CASES,
    Case,
    by_memory,
    column_of,
    mean_of,
    spread,
)
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory

TITLES = {
    "elapsed_s": "elapsed time, s",
    "controller_utilization_percent": "controller utilisation, %",
    "nswaps": "swap-ins and swap-outs",
    "qdisk": "mean number at the controller",
}
"""Columns of Tables VI and VII in the order of their charts."""
KINDS = tuple(
    Key(kind, colour=colour, shape="circle") for kind, colour in (("fitted", "user"), ("predicted", "system"))
)
BY_MEMORY = {650: "user", 1000: "memory", 1280: "system"}
"""Colours by clicks of memory."""
MEASURED, BY_MEASURED, SIMULATED, BY_SIMULATED = PREDICTIONS = (
    Key("measured", colour="plain", shape="diamond"),
    Key("equation 3.1 on measured runs", colour="system", shape="circle"),
    Key("simulated", colour="user", shape="circle"),
    Key("equation 3.1 on simulated runs", colour="memory", shape="circle"),
)


def simulated_against_measured(laboratory: Laboratory, quantity: str) -> Figure:
    """One column of Tables VI and VII: simulated against measured, row by row."""
    title = TITLES[quantity]
    points, differences, top = [], [], 0.0
    for case in CASES:
        measured = case.published(quantity)
        if measured is not None:
            ours = interval(column_of(laboratory, case, quantity))
            words = f"{case.words}: {shown.number(measured)} measured, {shown.estimate(ours)} here"
            key = next(key for key in KINDS if key.name == case.kind)
            points.append(Point(key=key, label=case.words, x=measured, y=ours, words=words))
            differences.append(ours.value - measured)
            top = max(top, 1.05 * max(measured, ours.value))
    series = Series(points, order=KINDS)
    x, y = (Axis(f"{who} {title}", low=0.0, high=top) for who in ("measured", "simulated"))
    name = f"simulated-{quantity.replace('_', '-')}"
    return Figure(
        name=name,
        title=f"{title.partition(',')[0].capitalize()}, measured and simulated",
        chart=series.scatter(x, y, [(0.0, 0.0), (top, top)]),
        data=Table.of(
            points,
            Col("run", lambda point: point.label),
            Col("kind", lambda point: point.key.name),
            Col("measured", lambda point: f"{point.x:g}", scaled=False),
            Col("simulated", lambda point: point.y, scaled=False),
            name=f"{name}-data",
            caption=f"{title.capitalize()} of the rows that were measured",
        ),
        alt=f"{len(points)} rows; simulated less measured is between {min(differences):+.1f} and "
        f"{max(differences):+.1f}, on the mean {float(np.mean(differences)):+.1f}.",
        keys=KINDS,
        half=True,
    )


def figure_1(laboratory: Laboratory, theirs: Sequence[LeftOut], ours: Sequence[LeftOut]) -> Figure:
    """Runs of twelve processes, measured and simulated, with predicted by equation 3.1 (Figure 1)."""
    points = []
    for case, measured, simulated in zip(BY_TIME, theirs, ours, strict=True):
        for key, value, half in (
            (MEASURED, measured.measured_s, ERROR * measured.measured_s),
            (BY_MEASURED, measured.mean_s, measured.standard_deviation_s),
            (SIMULATED, simulated.measured_s, spread(laboratory, case) * simulated.measured_s),
            (BY_SIMULATED, simulated.mean_s, simulated.standard_deviation_s),
        ):
            time = Estimate(
                value=value,
                unit="s",
                low=value - half,
                high=value + half,
                n=len(measured.predictions_s),
                method="error of the thesis, or standard deviation",
            )
            words = f"{value:.0f} ± {half:.0f} s"
            points.append(Point(key=key, label=case.words, y=time, words=words))
    series = Series(points, order=PREDICTIONS)
    outside = sum(
        abs(out.mean_s - out.measured_s) > ERROR * out.measured_s + out.standard_deviation_s for out in theirs
    )
    return Figure(
        name="figure-1",
        title="Elapsed times, measured and predicted (Figure 1)",
        chart=series.dots(Axis.from_zero("elapsed time, s", series.rows()), named=("run", "which", "time")),
        data=Table.of(
            points,
            Col("run", lambda point: point.label),
            Col("which", lambda point: point.key.name),
            Col("elapsed time", lambda point: point.words, scaled=False),
            name="figure-1-data",
            caption="Elapsed time of the runs of twelve processes",
        ),
        alt="Measured times within 5 %; predictions and simulated times with their standard "
        "deviations. The bars of measured and predicted time do not meet in "
        f"{outside} of {len(theirs)} runs.",
        keys=series.keys,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run of Figure 2."""

    case: Case
    measured: float | None
    simulated: Estimate
    proportional: float
    """Measured run of twelve processes, times PN / 12 [s]."""


def figure_2(laboratory: Laboratory, size: int) -> Figure:
    """Elapsed time against the number of processes of a size, a line for each size of memory (Figure 2)."""
    groups = by_memory(size)
    runs = [run for cases in groups.values() for run in _runs(laboratory, cases)]
    series, diamonds = _lines(runs), _diamonds(runs)
    name = f"figure-2-{size}"
    x = Axis("processes", low=3.5, high=13.5, ticks=(4.0, 6.0, 8.0, 10.0, 12.0))
    return Figure(
        name=name,
        title=f"Elapsed time against processes of {size} clicks (Figure 2)",
        chart=series.curves(x, Axis.from_zero("elapsed time, s", series.rows()), over=diamonds),
        data=Table.of(
            runs,
            Col("memory, clicks", lambda run: str(run.case.mm_clicks), scaled=False),
            Col("processes", lambda run: str(run.case.pn), scaled=False),
            Col("measured, s", lambda run: run.measured and f"{run.measured:.0f}", scaled=False),
            Col("simulated, s", lambda run: run.simulated, scaled=False),
            Col("proportional to PN, s", lambda run: f"{run.proportional:.0f}", scaled=False),
            name=f"{name}-data",
            caption=f"Elapsed time, processes of {size} clicks",
        ),
        alt=(
            "Lines are simulated, diamonds measured, hollow circles the measured run of twelve processes "
            f"times PN / 12. Simulated with {'; '.join(_courses(laboratory, groups))}."
        ),
        keys=(*series.keys, *diamonds.keys, Key("T(12) PN / 12", colour="plain", shape="circle")),
        half=True,
    )


def _runs(laboratory: Laboratory, cases: Sequence[Case]) -> Iterator[_Run]:
    full = next(case for case in cases if case.pn == 12)
    for case in cases:
        yield _Run(
            case=case,
            measured=case.published("elapsed_s"),
            simulated=interval(column_of(laboratory, case, "elapsed_s")),
            proportional=(full.published("elapsed_s") or 0.0) * case.pn / full.pn,
        )


def _lines(runs: Sequence[_Run]) -> Series:
    """Simulated times, and hollow circles for what the measured run of twelve processes makes of them."""
    points: tuple[list[Point], list[Point]] = [], []
    for run in sorted(runs, key=lambda run: (run.case.mm_clicks, run.case.pn)):
        memory = run.case.mm_clicks
        key = Key(f"{memory} clicks", colour=BY_MEMORY[memory], shape="line")
        words = f"{shown.estimate(run.simulated)} s", f"{run.proportional:.0f} s from twelve processes"
        points[0].append(Point(key=key, x=run.case.pn, y=run.simulated, words=words[0]))
        points[1].append(Point(key=key, x=run.case.pn, y=run.proportional, words=words[1], few=True))
    return Series([*points[0], *points[1]])


def _diamonds(runs: Sequence[_Run]) -> Series:
    """Measured times."""
    points = []
    for run in sorted(runs, key=lambda run: (run.case.mm_clicks, run.case.pn)):
        memory = run.case.mm_clicks
        key = Key(f"measured, {memory} clicks", colour=BY_MEMORY[memory], shape="diamond")
        words = f"{run.measured:.0f} s" if run.measured is not None else ""
        points.append(Point(key=key, x=run.case.pn, y=run.measured, words=words))
    return Series(points)


def _courses(laboratory: Laboratory, groups: dict[int, list[Case]]) -> Iterator[str]:
    """Simulated elapsed time with the fewest and with the most processes, for each size of memory."""
    for memory, cases in groups.items():
        ends = min(cases, key=lambda case: case.pn), max(cases, key=lambda case: case.pn)
        few, many = (f"{mean_of(laboratory, case, 'elapsed_s'):.0f} s ({case.pn})" for case in ends)
        yield f"{memory} clicks from {few} to {many}"
