"""Machines that were not measured, by the general model: what memory, disk, CPU, users and sizes change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from thinktime.documents.document import Cell, Column, Table
from thinktime.models.prediction import Prediction
from thinktime.models.swapping.response_time import predict
from thinktime.studies.brachman_1983 import calibration
from thinktime.studies.brachman_1983.tables import CASES, Case

__all__ = ["BASES", "changes", "table"]

BASES = (
    ((157,), 12, 12, 650),
    ((314,), 12, 12, 1280),
    ((157,), 12, 6, 1280),
    ((157,), 354, 12, 1280),
)
"""Size, burst in ms, processes and memory of the runs that are changed: much swapping, some, none; CPU
bound."""


def _bases() -> list[Case]:
    return [
        case
        for wanted in BASES
        for case in CASES
        if (case.sizes_clicks, case.pc_ms, case.pn, case.mm_clicks) == wanted
    ]


def changes(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Fields of the model's machine that differ, by what a reader calls the change."""
    (size,) = case.sizes_clicks
    known = calibration.CALIBRATED
    block_s, swap_s = calibration.block_time_s(), calibration.swap_time_s
    yield "memory doubled", {"memory": 2 * case.mm_clicks}
    yield "memory for all", {"memory": case.pn * size}
    yield "disk a third faster", {"block_time_s": 0.75 * block_s, "swap_time_s": 0.75 * swap_s(size)}
    yield "swaps on a controller of their own", {"own_controller": True}
    yield "CPU twice as fast", {"compute_s": 0.5e-3 * case.pc_ms, "system_s": 0.5 * known.system_s}
    yield "half as many users again", {"processes": case.pn * 3 // 2}
    yield "pauses twice as long", {"think_s": 2.0 * known.think_s}
    text = size // 2
    yield f"{text} clicks of shared text", {"text": text, "swap_time_s": swap_s(size - text)}
    unequal = (size // 2, 2 * size - size // 2)
    times = tuple(swap_s(each) for each in unequal)
    yield f"sizes {unequal[0]} and {unequal[1]}", {"size": unequal, "swap_time_s": times}


def table() -> Table:
    """Every change of every base."""
    rows: list[tuple[Cell, ...]] = []
    for case in _bases():
        base = predict(calibration.system(case))
        rows.append((case.words, "as measured", *_answers(base, base)))
        for name, different in changes(case):
            found = predict(calibration.system(case, **different))
            rows.append((case.words, name, *_answers(found, base)))
    columns = (
        Column("run"),
        Column("machine"),
        Column("interactions", unit="1/s", scaled=False),
        Column("change, %", scaled=False),
        Column("response, s", scaled=False),
        Column("swaps an interaction", scaled=False),
        Column("controller, %", scaled=False),
        Column("CPU, %", scaled=False),
        Column("fit", scaled=False),
    )
    part = 100.0 * math.expm1(calibration.interval_part())
    notes = (
        f"A throughput has the interval of a further run, up to {part:.0f} % away; changes are better known, "
        "for what is off is off on both sides.",
        "A controller of their own for swaps bounds what overlapped seeks can bring: with those, transfers "
        "still wait for each other.",
        "A disk a third faster takes three quarters of the time for blocks and for swaps.",
    )
    caption = "What other machines would do, by the general model"
    return Table(name="general-what-if", caption=caption, columns=columns, rows=tuple(rows), notes=notes)


def _answers(found: Prediction, base: Prediction) -> tuple[Cell, ...]:
    value = float(found["throughput_per_s"])
    return (
        calibration.known_to(value, "1/s"),
        f"{100 * (value / float(base['throughput_per_s']) - 1):+.0f}",
        f"{float(found['response_s']):.2f}",
        f"{float(found['swaps_per_interaction']):.2f}",
        f"{100 * float(found['controller_utilisation']):.0f}",
        f"{100 * float(found['cpu_utilisation']):.0f}",
        f"{float(found['fitting']):.1f}",
    )
