"""Swapping against paging on the same small machine, where the disk limits."""

from __future__ import annotations

from thinktime.documents import document
from thinktime.documents.charts import Axis
from thinktime.documents.document import Column, Key
from thinktime.documents.series import Point, Series
from thinktime.studies.brachman_1983 import what_if
from thinktime.studies.brachman_1983.runs import PAPER
from thinktime.studies.brachman_1983.what_if import Comparison, Variant
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
RESPONSES = {
    "elapsed_s": ("elapsed, s", ""),
    "swaps": ("swaps", ""),
    "page_faults": ("pages read", ""),
    "page_outs": ("pages written", ""),
    "page_time_s": ("page time", "s"),
    "controller_utilisation": ("controller busy", "share"),
}


def chapter(laboratory: Laboratory) -> Chapter:
    """Both on the runs of twelve processes, with more and with less memory."""
    loads = what_if.runs(*((size, memory, PROCESSES) for size in SIZES for memory in MEMORY))
    compared = Comparison(laboratory=laboratory, loads=loads, variants=VARIANTS)
    gains = {variant.name: compared.changes(variant) for variant in PAGING}
    summary = (
        "With paging, a process keeps only pages in memory that it has touched and the least recently used "
        "page gives way. The gain depends on how much of its image a process touches in an interaction, "
        "which the thesis does not say.",
        *(f"With {name}, elapsed time changes by {what_if.between(gain)}." for name, gain in gains.items()),
    )
    return Chapter(
        claims=tuple(
            PAPER.claim(
                name.replace(", ", "-").replace(" % ", "-percent-"),
                what_if.verdict(gain),
                what_if.listed(gain),
            )
            for name, gain in gains.items()
        ),
        summary=summary,
        charts=tuple(_chart(compared, size) for size in SIZES),
        tables=(compared.table("paging-table", "Swapping and paging", responses=RESPONSES),),
    )


def _chart(compared: Comparison, size: int) -> document.Figure:
    """Elapsed time of processes of one size against memory."""
    keys = [
        Key(variant.name, colour=colour, shape="line")
        for variant, colour in zip(VARIANTS, COLOURS, strict=True)
    ]
    series = Series(
        [
            Point(
                key=key,
                x=memory,
                y=compared.mean(f"{PROCESSES} × {size}, MM {memory}", variant, "elapsed_s", "s"),
            )
            for memory in MEMORY
            for key, variant in zip(keys, VARIANTS, strict=True)
        ]
    )
    name = f"paging-{size}"
    title = f"Elapsed time against memory, twelve processes of {size} clicks"
    x = Axis("memory, clicks", low=600.0, high=2700.0, ticks=tuple(map(float, MEMORY)))
    return document.Figure(
        name=name,
        title=title,
        chart=series.curves(x, Axis.from_zero("elapsed time, s", series.rows())),
        data=series.list_table(
            f"{name}-data", title, Column("memory, clicks", scaled=False), "machine", "elapsed time"
        ),
        alt=f"{'; '.join(f'{key.name} {series.course(key)} clicks' for key in keys)}.",
        keys=series.keys,
        half=True,
    )
