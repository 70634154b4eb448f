"""A load that the CPU limits, with one and with several processes loaded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from thinktime.models import cpu_bound
from thinktime.reports import charts, document
from thinktime.reports import format as shown
from thinktime.reports.charts import Axis
from thinktime.reports.compared import Finding
from thinktime.reports.document import Cell, Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983 import asked
from thinktime.studies.brachman_1983.asked import Variant
from thinktime.studies.brachman_1983.machine import Machine, interval
from thinktime.studies.brachman_1983.tables import NAME
from thinktime.studies.study import Chapter

__all__ = ["chapter"]

LOAD: dict[str, Any] = {
    "size": 400,
    "processes": 6,
    "compute": {"kind": "deterministic", "value": 2.0},
    "interactions": 30,
}
MEMORY = {1: 650, 2: 850, 3: 1250, 6: 2450}
"""Clicks of memory by how many processes of 400 clicks they hold."""
PROCESSES = (3, 6, 12)
QUANTA_S = (1, 3, 10, 30)
EQUAL = 0.05
UNSWAPPED = MEMORY[6]


def chapter(machine: Machine) -> Chapter:
    """Compare both CPU-bound cases of the thesis with the simulated machine."""
    findings = (_one_loaded(machine), _several(machine), _linear(machine))
    held = sum(finding.holds is True for finding in findings)
    busy = interval(machine.values("cpu_utilisation", **LOAD, memory=UNSWAPPED))
    summary = (
        f"{LOAD['processes']} processes of {LOAD['size']} clicks that compute for "
        f"{LOAD['compute']['value']:g} s in each of {LOAD['interactions']} interactions; without swapping "
        f"the CPU is busy for {100 * busy.value:.1f} % of the time. {held} of the {len(findings)} statements "
        "of the thesis on such loads hold.",
    )
    return Chapter(
        findings=findings,
        summary=summary,
        pictures=(_figure(machine),),
        tables=(_loaded(machine), _quanta(machine)),
    )


def _mean(machine: Machine, response: str, **changes: object) -> Estimate:
    values = machine.values(response, **{**LOAD, **changes})
    return interval(values[values == values])


def _one_loaded(machine: Machine) -> Finding:
    without = _mean(machine, "elapsed_s", memory=UNSWAPPED)
    swap, count = (_mean(machine, name, memory=MEMORY[1]) for name in ("swap_time_s", "swaps"))
    expected = float(cpu_bound.one_loaded(without, swap, count)["elapsed_b_s"])
    ours = _mean(machine, "elapsed_s", memory=MEMORY[1])
    off = ours.value / expected - 1.0
    return Finding(
        NAME,
        "cpu-one-loaded",
        "CPU-bound case, first",
        abs(off) <= EQUAL,
        f"{without.value:.0f} s without swapping and {count.value:.0f} swaps of {1000 * swap.value:.0f} ms "
        f"give {expected:.0f} s; simulated {ours.value:.0f} s, {100 * off:+.1f} %; within "
        f"{100 * EQUAL:.0f} % is equal",
        "where the CPU limits and one process is loaded, swapping adds its own time: T + Tswap Nswaps",
    )


def _several(machine: Machine) -> Finding:
    times = {loaded: _mean(machine, "elapsed_s", memory=memory) for loaded, memory in MEMORY.items()}
    several = {loaded: each.value for loaded, each in times.items() if loaded > 1}
    reach = max(several.values()) / min(several.values()) - 1.0
    listed = ", ".join(f"{each.value:.0f} s with {loaded}" for loaded, each in times.items())
    return Finding(
        NAME,
        "cpu-several-loaded",
        "CPU-bound case, second",
        reach <= EQUAL,
        f"{listed} loaded; two or more differ by up to {100 * reach:.1f} %; within {100 * EQUAL:.0f} % is "
        "equal",
        "where the CPU limits and several are loaded, the elapsed time does not depend on how many",
    )


def _linear(machine: Machine) -> Finding:
    """Whether elapsed time is proportional to the number of processes, two of them loaded."""
    times = {
        count: _mean(machine, "elapsed_s", memory=MEMORY[2], processes=count).value for count in PROCESSES
    }
    first = PROCESSES[0]
    off = {count: times[count] / (times[first] * count / first) - 1.0 for count in PROCESSES[1:]}
    listed = ", ".join(f"{seconds:.0f} s with {count}" for count, seconds in times.items())
    return Finding(
        NAME,
        "cpu-linear",
        "CPU-bound case, second",
        max(abs(value) for value in off.values()) <= EQUAL,
        f"{listed} processes, {', '.join(f'{100 * value:+.1f} %' for value in off.values())} off proportion",
        "where the CPU limits, elapsed time is proportional to the number of processes",
    )


def _loaded(machine: Machine) -> Table:
    """Elapsed time by memory, beside the thesis."""
    loads = {"CPU bound": LOAD}
    variants = [
        Variant(f"{loaded} loaded", {"memory": memory}) for loaded, memory in reversed(MEMORY.items())
    ]
    return asked.table(
        machine, "cpu-loaded", "A load that the CPU limits, by how many processes are loaded", loads, variants
    )


def _quanta(machine: Machine) -> Table:
    """Elapsed time by how long a process may stay, beside two swap times."""
    rows: list[tuple[Cell, ...]] = []
    for quantum in QUANTA_S:
        changes: dict[str, object] = {"memory": MEMORY[2], "minimum_time_in": quantum}
        elapsed, swap, count = (
            _mean(machine, name, **changes) for name in ("elapsed_s", "swap_time_s", "swaps")
        )
        said = cpu_bound.several_loaded(elapsed, 1, 1, quantum, swap)
        rows.append((f"{quantum:g}", elapsed, count, 1000.0 * float(said["quantum_least_s"])))
    columns = (
        Column("minimum residence, s", scaled=False),
        Column("elapsed, s", scaled=False),
        Column("swaps", scaled=False),
        Column("2 Tswap, ms", scaled=False),
    )
    caption = "How long a process must stay: with two loaded, against twice the swap time"
    return Table("cpu-quanta", caption, columns, tuple(rows))


def _figure(machine: Machine) -> document.Figure:
    """Elapsed time by number of processes loaded, simulated and by the thesis."""
    keys = (Key("simulated", "user", "line"), Key("T + Tswap Nswaps", "disk", "line"))
    rows = list(_points(machine))
    columns = (Column("loaded", scaled=False), Column("which"), Column("elapsed time, s"))
    data = tuple((f"{row['x']}", str(row["series"]), str(row["shown"])) for row in rows)
    title = "A load that the CPU limits: elapsed time by processes loaded"
    return document.Figure(
        "cpu-figure",
        title,
        partial(
            charts.curves, rows, keys, Axis("processes loaded", low=0.5, high=7.5), Axis.from_zero("s", rows)
        ),
        Table("cpu-figure-data", title, columns, data),
        "; ".join(f"{row['series']} {row['shown']} with {row['x']}" for row in rows) + ".",
        keys,
        half=True,
    )


def _points(machine: Machine) -> Iterator[dict[str, object]]:
    without = _mean(machine, "elapsed_s", memory=UNSWAPPED)
    for loaded, memory in MEMORY.items():
        ours = _mean(machine, "elapsed_s", memory=memory)
        ends = {"value": ours.value, "low": ours.low, "high": ours.high}
        yield {"x": loaded, "series": "simulated", "shown": f"{shown.estimate(ours)} s", **ends}
        if loaded == max(MEMORY):
            continue
        swap, count = (_mean(machine, name, memory=memory) for name in ("swap_time_s", "swaps"))
        value = float(cpu_bound.one_loaded(without, swap, count)["elapsed_b_s"])
        ends = {"value": value, "low": value, "high": value}
        yield {"x": loaded, "series": "T + Tswap Nswaps", "shown": f"{value:.0f} s", **ends}
