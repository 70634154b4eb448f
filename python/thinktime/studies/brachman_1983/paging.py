"""Swapping against paging on the same small machine, where the disk limits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from thinktime.reports import charts, document
from thinktime.reports import format as shown
from thinktime.reports.charts import Axis
from thinktime.reports.compared import Finding
from thinktime.reports.document import Column, Key, Table
from thinktime.studies.brachman_1983 import asked
from thinktime.studies.brachman_1983.asked import Variant
from thinktime.studies.brachman_1983.machine import Machine
from thinktime.studies.brachman_1983.tables import NAME
from thinktime.studies.study import Chapter

__all__ = ["chapter"]

SIZES = (157, 314)
MEMORY = (650, 1000, 1280, 1900)
PROCESSES = 12
SWAPPING = Variant("swapping")
PAGING = Variant("paging", {"memory_management": "paging"})
VARIANTS = (SWAPPING, PAGING)
COLOURS = {"swapping": "system", "paging": "user"}


def chapter(machine: Machine) -> Chapter:
    """Compare both on the runs of twelve processes, with more and with less memory."""
    gains = {name: asked.change(machine, load, SWAPPING, PAGING) for name, load in _loads().items()}
    shorter = [name for name, gain in gains.items() if gain.high is not None and gain.high < 0.0]
    longer = [name for name, gain in gains.items() if gain.low is not None and gain.low > 0.0]
    summary = (
        f"Paging is faster in {len(shorter)} of {len(gains)} runs, slower in {len(longer)}: elapsed time "
        f"changes by {asked.between(gains)}.",
    )
    finding = Finding(
        NAME,
        "paging",
        "further work",
        len(shorter) == len(gains),
        "; ".join(f"{name} {asked.said(gain)}" for name, gain in gains.items()),
        "paging takes less time than swapping where the disk limits",
    )
    return Chapter(
        findings=(finding,),
        summary=summary,
        pictures=tuple(_pictures(machine)),
        tables=(asked.table(machine, "paging-table", "Swapping and paging", _loads(), VARIANTS),),
    )


def _loads() -> dict[str, dict[str, int]]:
    return {
        f"{PROCESSES} of {size} clicks in {memory}": {
            "memory": memory,
            "processes": PROCESSES,
            "size": size,
        }
        for size in SIZES
        for memory in MEMORY
    }


def _pictures(machine: Machine) -> Iterator[document.Figure]:
    keys = tuple(Key(variant.name, COLOURS[variant.name], "line") for variant in VARIANTS)
    for size in SIZES:
        rows = []
        for memory in MEMORY:
            load = {"memory": memory, "processes": PROCESSES, "size": size}
            for variant in VARIANTS:
                value = asked.mean(machine, load, variant, "elapsed_s")
                ends = {"value": value.value, "low": value.low, "high": value.high}
                rows.append(
                    {"x": memory, "series": variant.name, "shown": f"{shown.estimate(value)} s", **ends}
                )
        name = f"paging-{size}"
        title = f"Elapsed time against memory, twelve processes of {size} clicks"
        columns = (Column("memory, clicks", scaled=False), Column("which"), Column("elapsed time, s"))
        data = tuple((str(row["x"]), str(row["series"]), str(row["shown"])) for row in rows)
        x = Axis("memory, clicks", low=600.0, high=2150.0)
        y = Axis.from_zero("elapsed time, s", rows)
        said = [f"{row['series']} {row['shown']} with {row['x']} clicks" for row in (*rows[:2], *rows[-2:])]
        yield document.Figure(
            name,
            title,
            partial(charts.curves, rows, keys, x, y),
            Table(f"{name}-data", title, columns, data),
            f"{'; '.join(said)}.",
            keys,
            half=True,
        )
