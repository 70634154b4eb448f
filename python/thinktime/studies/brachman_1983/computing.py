"""A load that the CPU limits: one or several processes loaded, and how short a memory quantum may be."""

from __future__ import annotations

from typing import Any

from thinktime.documents import document
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.models.swapping import swap_overhead
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983 import what_if
from thinktime.studies.brachman_1983.runs import PAPER, run_values
from thinktime.studies.brachman_1983.what_if import Comparison, Variant
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

NOTHING = {"kind": "deterministic", "value": 0}
BARE: dict[str, Any] = {
    "size": 400,
    "operations": NOTHING,
    "file_blocks": 10,
    "strings": {"kind": "deterministic", "value": 1},
}
"""Processes without file I/O, with a line for the terminal."""
LOAD: dict[str, Any] = {
    **BARE,
    "processes": 6,
    "compute": {"kind": "uniform", "low": 1.5, "high": 2.5},
    "pause": NOTHING,
    "interactions": 30,
}
"""They only compute, until the swapper drives them out."""
MEMORY = {1: 650, 2: 850, 3: 1250, 6: 2650}
"""Clicks of memory by how many processes of 400 clicks they hold."""
PROCESSES = (3, 6, 12)
EQUAL = 0.05

PAUSING: dict[str, Any] = {**BARE, "processes": 24, "pause": {"kind": "uniform", "low": 0.5, "high": 1.5}}
"""They compute for a quantum and wait to be swapped out; there are enough of them to fill the CPU."""
QUANTA_S = (0.05, 0.1, 0.2, 0.3, 0.4, 0.8, 1.6)
WORK_S = 12.0
"""Of CPU time for each process, in whatever quanta."""
ROOM = {"two loaded": 850, "three loaded": 1250, "all loaded": 10_000}
COLOURS = ("system", "memory", "user")
LITTLE, MUCH = 1.10, 1.5
"""Elapsed time over that without swapping, where nothing is lost and where the machine thrashes."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Claims of the thesis about CPU-bound systems, on the simulated machine."""
    findings = (_one_loaded(laboratory), _several(laboratory), _linear(laboratory), _thrashing(laboratory))
    held = sum(finding.holds is True for finding in findings)
    busy = interval(run_values(laboratory, "cpu_utilisation", **LOAD, memory=MEMORY[6]))
    summary = (
        f"Processes of {BARE['size']} clicks that compute and do no file I/O; without swapping the CPU is "
        f"busy for {100 * busy.value:.1f} % of the time. {held} of the {len(findings)} statements of the "
        "thesis on such loads hold.",
        f"If processes compute for a quantum and then wait, {_knee(laboratory)}",
    )
    return Chapter(
        claims=findings,
        summary=summary,
        charts=(_figure(laboratory),),
        tables=(_loaded(laboratory), _quanta(laboratory)),
    )


def _mean(laboratory: Laboratory, response: str, **changes: object) -> Estimate:
    values = run_values(laboratory, response, **{**LOAD, **changes})
    return interval(values[values == values])


def _one_loaded(laboratory: Laboratory) -> Claim:
    without = _mean(laboratory, "elapsed_s", memory=MEMORY[6])
    swap, count = (_mean(laboratory, name, memory=MEMORY[1]) for name in ("swap_time_s", "swaps"))
    expected = float(swap_overhead.one_loaded(without, swap, count)["elapsed_b_s"])
    ours = _mean(laboratory, "elapsed_s", memory=MEMORY[1])
    off = ours.value / expected - 1.0
    return PAPER.claim(
        "cpu-one-loaded",
        [abs(off)],
        f"{without.value:.0f} s without swapping and {count.value:.0f} swaps of "
        f"{1000 * swap.value:.0f} ms "
        f"give {expected:.0f} s; simulated {ours.value:.0f} s, {100 * off:+.1f} %; within "
        f"{100 * PAPER.amount('cpu-one-loaded'):.0f} % is equal",
    )


def _several(laboratory: Laboratory) -> Claim:
    times = {loaded: _mean(laboratory, "elapsed_s", memory=memory) for loaded, memory in MEMORY.items()}
    several = [item.value for loaded, item in times.items() if loaded > 1]
    reach = max(several) / min(several) - 1.0
    listed = ", ".join(f"{item.value:.0f} s with {loaded}" for loaded, item in times.items())
    return PAPER.claim(
        "cpu-several-loaded",
        [reach],
        f"{listed} loaded; two or more differ by up to {100 * reach:.1f} %; within "
        f"{100 * PAPER.amount('cpu-several-loaded'):.0f} % is "
        "equal",
    )


def _linear(laboratory: Laboratory) -> Claim:
    """Claim that elapsed time is proportional to the number of processes, two of them loaded."""
    times = {
        count: _mean(laboratory, "elapsed_s", memory=MEMORY[2], processes=count).value for count in PROCESSES
    }
    first = PROCESSES[0]
    off = {count: times[count] / (times[first] * count / first) - 1.0 for count in PROCESSES[1:]}
    listed = ", ".join(f"{seconds:.0f} s with {count}" for count, seconds in times.items())
    return PAPER.claim(
        "cpu-linear",
        [max(abs(value) for value in off.values())],
        f"{listed} processes, "
        f"{', '.join(f'{100 * value:+.1f} %' for value in off.values())} off proportion; "
        f"within {100 * PAPER.amount('cpu-linear'):.0f} % is equal",
    )


def _paused(laboratory: Laboratory, response: str, quantum_s: float, room: str) -> Estimate:
    values = run_values(
        laboratory,
        response,
        **PAUSING,
        memory=ROOM[room],
        compute={"kind": "deterministic", "value": quantum_s},
        interactions=round(WORK_S / quantum_s),
    )
    return interval(values[values == values])


def _losses(laboratory: Laboratory) -> tuple[float, dict[float, float]]:
    """Twice the swap time, and elapsed time over that without swapping by quantum; two loaded."""
    swap = _paused(laboratory, "swap_time_s", QUANTA_S[0], "two loaded")
    least = float(swap_overhead.several_loaded(1.0, 1, 1, 1.0, swap)["quantum_least_s"])
    lost = {}
    for quantum in QUANTA_S:
        with_swaps, without = (
            _paused(laboratory, "elapsed_s", quantum, room).value for room in ("two loaded", "all loaded")
        )
        lost[quantum] = with_swaps / without
    return least, lost


def _knee(laboratory: Laboratory) -> str:
    least, lost = _losses(laboratory)
    listed = ", ".join(f"{ratio:.2f} at {quantum:g} s" for quantum, ratio in lost.items())
    return (
        f"elapsed time with two loaded is that without swapping times {listed}; twice the swap time is "
        f"{least:.2f} s."
    )


def _thrashing(laboratory: Laboratory) -> Claim:
    least, lost = _losses(laboratory)
    above = [ratio for quantum, ratio in lost.items() if quantum >= least]
    far_below = [ratio for quantum, ratio in lost.items() if quantum <= 0.5 * least]
    return PAPER.claim(
        "cpu-quantum",
        max(above) <= LITTLE and min(far_below) >= MUCH,
        f"2 Tswap is {least:.2f} s; elapsed time over that without swapping is at most "
        f"{max(above):.2f} with "
        f"longer quanta and at least {min(far_below):.2f} with quanta below half of it; {LITTLE:g} is little "
        f"and {MUCH:g} is much",
    )


def _loaded(laboratory: Laboratory) -> Table:
    """Elapsed time by memory."""
    variants = [
        Variant(f"{loaded} loaded", {"memory": memory}) for loaded, memory in reversed(MEMORY.items())
    ]
    compared = Comparison(laboratory=laboratory, loads={"CPU bound": LOAD}, variants=variants)
    responses = {**what_if.RESPONSES, "cpu_utilisation": ("CPU busy", "share")}
    caption = "A load that the CPU limits, by how many processes are loaded"
    return compared.table("cpu-loaded", caption, responses=responses)


def _quanta(laboratory: Laboratory) -> Table:
    """Elapsed time by quantum and room."""
    rows: list[tuple[Cell, ...]] = []
    for quantum in QUANTA_S:
        times = [_paused(laboratory, "elapsed_s", quantum, room) for room in ROOM]
        swaps, busy = (
            _paused(laboratory, name, quantum, "two loaded") for name in ("swaps", "controller_utilisation")
        )
        rows.append((f"{quantum:g}", *times, swaps, 100.0 * busy.value))
    columns = (
        Column("quantum, s", scaled=False),
        *(Column(f"elapsed, {room}, s", scaled=False) for room in ROOM),
        Column("swaps, two loaded", scaled=False),
        Column("controller busy, two loaded, %", scaled=False),
    )
    caption = f"{PAUSING['processes']} processes that compute for a quantum and wait: elapsed time"
    return Table(name="cpu-quanta", caption=caption, columns=columns, rows=tuple(rows))


def _figure(laboratory: Laboratory) -> document.Figure:
    """Elapsed time against the memory quantum, by how many processes are loaded."""
    keys = [Key(room, colour=colour, shape="line") for room, colour in zip(ROOM, COLOURS, strict=True)]
    series = Series(
        [
            Point(key=key, x=quantum, y=_paused(laboratory, "elapsed_s", quantum, key.name).with_unit("s"))
            for quantum in QUANTA_S
            for key in keys
        ]
    )
    title = "Elapsed time against the memory quantum"
    least, _ = _losses(laboratory)
    shortest = ", ".join(
        f"{point.key.name} {shown.cell(point.y, 's')}" for point in series.points[: len(keys)]
    )
    return document.Figure(
        name="cpu-figure",
        title=title,
        chart=series.curves(
            Axis.logarithmic("memory quantum", QUANTA_S, "s"),
            Axis.from_zero("elapsed time, s", series.rows()),
        ),
        data=series.list_table(
            "cpu-figure-data", title, Column("quantum", unit="s"), "machine", "elapsed time"
        ),
        alt=(
            f"Each process computes for {WORK_S:g} s in all. Twice the swap time is {least:.2f} s; with "
            f"quanta of {QUANTA_S[0]:g} s: {shortest}."
        ),
        keys=series.keys,
    )
