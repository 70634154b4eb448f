"""Swapping against paging on the same small machine, where the disk limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from thinktime.documents import charts, document
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis
from thinktime.documents.document import Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983 import what_if
from thinktime.studies.brachman_1983.runs import PAPER
from thinktime.studies.brachman_1983.what_if import Variant
from thinktime.studies.cells import Claim
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

SIZES = (157, 314)
MEMORY = (650, 1000, 1280, 1900)
PROCESSES = 12
SHARES = (0.1, 0.3, 0.6)
"""Parts of its image that a process touches in an interaction."""
SWAPPING = Variant("swapping")
PAGING = tuple(
    Variant(f"paging, {100 * share:.0f} % touched", {"memory_management": "paging", "page_share": share})
    for share in SHARES
)
VARIANTS = (SWAPPING, *PAGING)
COLOURS = ("system", "user", "memory", "disk")
FIGURES = {
    "elapsed_s": ("elapsed, s", ""),
    "swaps": ("swaps", ""),
    "page_faults": ("pages read", ""),
    "page_outs": ("pages written", ""),
    "page_time_s": ("page time", "s"),
    "controller_utilisation": ("controller busy", "share"),
}


def chapter(laboratory: Laboratory) -> Chapter:
    """Both on the runs of twelve processes, with more and with less memory."""
    loads = _loads()
    gains = {
        variant.name: {
            name: what_if.change(laboratory, load, SWAPPING, variant) for name, load in loads.items()
        }
        for variant in PAGING
    }
    summary = (
        "With paging, a process keeps only pages in memory that it has touched and the least recently used "
        "page gives way. What that is worth depends on how much of its image a process touches in an "
        "interaction, which the thesis does not say.",
        *(
            f"With {name}, elapsed time changes by {what_if.between(selected)}."
            for name, selected in gains.items()
        ),
    )
    return Chapter(
        claims=tuple(_finding(name, selected) for name, selected in gains.items()),
        summary=summary,
        charts=tuple(_pictures(laboratory)),
        tables=(
            what_if.table(
                laboratory,
                "paging-table",
                caption="Swapping and paging",
                loads=loads,
                variants=VARIANTS,
                figures=FIGURES,
            ),
        ),
    )


def _finding(name: str, gains: Mapping[str, Estimate]) -> Claim:
    return PAPER.claim(
        f"{name.replace(', ', '-').replace(' % ', '-percent-')}",
        what_if.verdict(gains),
        "; ".join(f"{load} {what_if.in_words(gain)}" for load, gain in gains.items()),
    )


def _loads() -> what_if.Loads:
    return what_if.runs(*((size, memory, PROCESSES) for size in SIZES for memory in MEMORY))


def _pictures(laboratory: Laboratory) -> Iterator[document.Figure]:
    keys = tuple(
        Key(variant.name, colour=selected, shape="line")
        for variant, selected in zip(VARIANTS, COLOURS, strict=True)
    )
    for size in SIZES:
        rows = []
        for memory in MEMORY:
            load = {"memory": memory, "processes": PROCESSES, "size": size}
            for variant in VARIANTS:
                value = what_if.mean(laboratory, load, variant, "elapsed_s")
                ends = {"value": value.value, "low": value.low, "high": value.high}
                rows.append(
                    {"x": memory, "series": variant.name, "shown": f"{shown.estimate(value)} s", **ends}
                )
        name = f"paging-{size}"
        title = f"Elapsed time against memory, twelve processes of {size} clicks"
        columns = (Column("memory, clicks", scaled=False), Column("which"), Column("elapsed time, s"))
        data = tuple((str(row["x"]), str(row["series"]), str(row["shown"])) for row in rows)
        x = Axis("memory, clicks", low=600.0, high=2700.0, ticks=tuple(map(float, MEMORY)))
        y = Axis.from_zero("elapsed time, s", rows)
        listed = [f"{row['series']} {row['shown']} with {row['x']} clicks" for row in (*rows[:4], *rows[-4:])]
        yield document.Figure(
            name=name,
            title=title,
            chart=partial(charts.curves, rows, keys, x, y),
            data=Table(name=f"{name}-data", caption=title, columns=columns, rows=data),
            alt=f"{'; '.join(listed)}.",
            keys=keys,
            half=True,
        )
