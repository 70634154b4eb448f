"""A load that the CPU limits: one or several processes loaded, and how short a memory quantum may be."""

from __future__ import annotations

from typing import Any

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Cols, Column, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.models.swapping import swap_overhead
from thinktime.stats.estimate import Estimate
from thinktime.studies import charts
from thinktime.studies.brachman_1983 import further_work
from thinktime.studies.brachman_1983.further_work import Comparison, Variant
from thinktime.studies.brachman_1983.runs import PAPER, run_values
from thinktime.studies.cells import Claim, held
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

PAUSING: dict[str, Any] = {**BARE, "processes": 24, "pause": {"kind": "uniform", "low": 0.5, "high": 1.5}}
"""They compute for a quantum and wait to be swapped out; there are enough of them to fill the CPU."""
QUANTA_S = (0.05, 0.1, 0.2, 0.3, 0.4, 0.8, 1.6)
WORK_S = 12.0
"""CPU time of each process, whatever the quantum [s]."""
ROOM = {"two loaded": 850, "three loaded": 1250, "all loaded": 10_000}
COLOURS = ("system", "memory", "user")


def chapter(laboratory: Laboratory) -> Chapter:
    """Claims of the thesis about CPU-bound systems, on the simulated machine."""
    claims = (_one_loaded(laboratory), _several(laboratory), _linear(laboratory), _thrashing(laboratory))
    busy = interval(run_values(laboratory, "cpu_utilisation", **LOAD, memory=MEMORY[6]))
    least_s, slower = _slowdowns(laboratory)
    listed = ", ".join(f"{ratio:.2f} at {quantum_s:g} s" for quantum_s, ratio in slower.items())
    return Chapter(
        claims=claims,
        summary=(
            f"Processes of {BARE['size']} clicks that compute and do no file I/O; without swapping the CPU "
            f"is busy for {100 * busy.value:.1f} % of the time. {held(claims)} of the {len(claims)} claims "
            "of the thesis on such loads hold.",
            "If processes compute for a quantum and then wait, elapsed time with two loaded is that without "
            f"swapping times {listed}; twice the swap time is {least_s:.2f} s.",
        ),
        charts=(_by_quantum(laboratory, least_s),),
        tables=(_loaded(laboratory), _quanta(laboratory)),
    )


def _mean(laboratory: Laboratory, response: str, **changes: object) -> Estimate:
    return interval(run_values(laboratory, response, **{**LOAD, **changes}))


def _one_loaded(laboratory: Laboratory) -> Claim:
    without, ours = (_mean(laboratory, "elapsed_s", memory=MEMORY[loaded]) for loaded in (6, 1))
    swap_s, count = (_mean(laboratory, name, memory=MEMORY[1]) for name in ("swap_time_s", "swaps"))
    expected = float(swap_overhead.one_loaded(without, swap_s, count)["elapsed_b_s"])
    measures = {"without": without, "swaps": count, "swap": swap_s, "expected": expected, "simulated": ours}
    return PAPER.claim("cpu-one-loaded", measures)


def _several(laboratory: Laboratory) -> Claim:
    times = {loaded: _mean(laboratory, "elapsed_s", memory=memory) for loaded, memory in MEMORY.items()}
    several = [time for loaded, time in times.items() if loaded > 1]
    return PAPER.claim("cpu-several-loaded", {"times": times, "several": several})


def _linear(laboratory: Laboratory) -> Claim:
    """Claim that elapsed time is proportional to the number of processes, two of them loaded."""
    times = {count: _mean(laboratory, "elapsed_s", memory=MEMORY[2], processes=count) for count in PROCESSES}
    first = PROCESSES[0]
    excess = [times[count].value / (times[first].value * count / first) - 1.0 for count in PROCESSES[1:]]
    return PAPER.claim("cpu-linear", {"times": times, "excess": excess})


def _paused(laboratory: Laboratory, response: str, quantum_s: float, room: str) -> Estimate:
    values = run_values(
        laboratory,
        response,
        **PAUSING,
        memory=ROOM[room],
        compute={"kind": "deterministic", "value": quantum_s},
        interactions=round(WORK_S / quantum_s),
    )
    return interval(values)


def _slowdowns(laboratory: Laboratory) -> tuple[float, dict[float, float]]:
    """Twice the swap time, and elapsed time over that without swapping by quantum; two loaded."""
    swap = _paused(laboratory, "swap_time_s", QUANTA_S[0], "two loaded")
    least_s = float(swap_overhead.several_loaded(1.0, 1, 1, 1.0, swap)["quantum_least_s"])
    slower = {}
    for quantum_s in QUANTA_S:
        two, every = (
            _paused(laboratory, "elapsed_s", quantum_s, room).value for room in ("two loaded", "all loaded")
        )
        slower[quantum_s] = two / every
    return least_s, slower


def _thrashing(laboratory: Laboratory) -> Claim:
    least_s, slower = _slowdowns(laboratory)
    measures = {
        "least": least_s,
        "longer": [ratio for quantum_s, ratio in slower.items() if quantum_s >= least_s],
        "shorter": [ratio for quantum_s, ratio in slower.items() if quantum_s <= 0.5 * least_s],
    }
    return PAPER.claim("cpu-quantum", measures)


def _loaded(laboratory: Laboratory) -> Table:
    """Elapsed time by memory."""
    variants = [
        Variant(f"{loaded} loaded", {"memory": memory}) for loaded, memory in reversed(MEMORY.items())
    ]
    compared = Comparison(laboratory=laboratory, loads={"CPU bound": LOAD}, variants=variants)
    responses = {**further_work.RESPONSES, "cpu_utilisation": ("CPU busy", "share")}
    caption = "A load that the CPU limits, by how many processes are loaded"
    return compared.table("cpu-loaded", caption, responses=responses)


def _quanta(laboratory: Laboratory) -> Table:
    """Elapsed time by quantum and room."""

    def two(response: str, quantum_s: float) -> Estimate:
        return _paused(laboratory, response, quantum_s, "two loaded")

    return Table.of(
        QUANTA_S,
        Col("quantum, s", lambda quantum_s: f"{quantum_s:g}", scaled=False),
        Cols(
            (f"elapsed, {room}, s" for room in ROOM),
            lambda quantum_s: (_paused(laboratory, "elapsed_s", quantum_s, room) for room in ROOM),
            scaled=False,
        ),
        Col("swaps, two loaded", lambda quantum_s: two("swaps", quantum_s), scaled=False),
        Col(
            "controller busy, two loaded, %",
            lambda quantum_s: 100.0 * two("controller_utilisation", quantum_s).value,
            scaled=False,
        ),
        name="cpu-quanta",
        caption=f"{PAUSING['processes']} processes that compute for a quantum and wait: elapsed time",
    )


def _by_quantum(laboratory: Laboratory, least_s: float) -> Figure:
    """Elapsed time against the memory quantum, by how many processes are loaded."""
    keys = [Key(room, colour=colour, shape="line") for room, colour in zip(ROOM, COLOURS, strict=True)]
    series = Series(
        [
            Point(
                key=key, x=quantum_s, y=_paused(laboratory, "elapsed_s", quantum_s, key.name).with_unit("s")
            )
            for quantum_s in QUANTA_S
            for key in keys
        ]
    )
    shortest = ", ".join(
        f"{point.key.name} {shown.cell(point.y, 's')}" for point in series.points[: len(keys)]
    )
    return charts.curves(
        "cpu-figure",
        "Elapsed time against the memory quantum",
        series,
        x=Axis.logarithmic("memory quantum", QUANTA_S, "s"),
        y="elapsed time, s",
        headings=(Column("quantum", unit="s"), "machine", "elapsed time"),
        alt=(
            f"Each process computes for {WORK_S:g} s in all. Twice the swap time is {least_s:.2f} s; with "
            f"quanta of {QUANTA_S[0]:g} s: {shortest}."
        ),
    )
