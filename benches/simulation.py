"""Simulation from Python, with all its statistics and self-checks, beside C programs and SimPy.

What is measured is CPU time of all threads, in rounds in which every program has its turn; a figure is the
median over the rounds, a ratio that of two medians, and its range that over the rounds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from simulation_programs import HEAP, OURS, PACKED, SIMPY, TREE, USERS, Measured, repairman, timesharing

INTERACTIONS = 4_000_000
REPLICATIONS = 4000
ROUNDS = 7
SIMPY_PART = 200
"""SimPy gets this much less to do."""
MANY_USERS = (10, 100, 1000, 10_000, 100_000)
MANY_REPLICATIONS = (1, 10, 100, 1000)
SYSTEMS = {"apl360": 150_000.0, "cp67": 120_000.0, "ctss": 200_000.0, "multics": 4_000.0, "unix6": 150_000.0}
"""Simulated seconds of a run of each machine with its default parameters: about half a second of CPU time."""

Row = dict[str, Any]


def row(work: str, unit: str, ours: float, reference: float | None = None, name: str | None = None) -> Row:
    """Return a row whose ratio is above 1 where more is better and ours is more."""
    ratio = None if reference is None else ours / reference
    return {
        "work": work,
        "unit": unit,
        "ours": ours,
        "reference": reference,
        "reference_name": name,
        "ratio": ratio,
    }


def cost_row(work: str, unit: str, ours: float, reference: float | None, name: str | None) -> Row:
    """Return a row whose ratio is above 1 where less is better and ours is less."""
    found = row(work, unit, ours, reference, name)
    return found if reference is None else {**found, "ratio": reference / ours}


def in_turn(rounds: int, programs: dict[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Figures of each program, round by round."""
    figures: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, measure in programs.items():
            figures[name].append(measure())
    return figures


def beside_all(work: str, unit: str, rate: Callable[[str], float]) -> list[Row]:
    """Return a row for each reference program; `rate` measures a program once."""
    names = (OURS, HEAP, PACKED, TREE, SIMPY)
    figures = in_turn(ROUNDS, {name: lambda name=name: rate(name) for name in names})
    rows = []
    for name in names[1:]:
        ratios = [a / b for a, b in zip(figures[OURS], figures[name], strict=True)]
        described = f"{name} ({min(ratios):.2f} to {max(ratios):.2f})"
        rows.append(row(work, unit, median(figures[OURS]), median(figures[name]), described))
    return rows


def workloads() -> list[Row]:
    """Interactions and replications per CPU second, and events."""
    events: dict[str, list[float]] = {}
    share: dict[str, list[float]] = {}

    def rate(who: str, label: str, run: Measured, done: float) -> float:
        events.setdefault(f"{label} {who}", []).append(run.events / run.cpu_s)
        share.setdefault(f"{label} {who}", []).append(run.interactions / run.cpu_s)
        return done / run.cpu_s

    def interactions(who: str) -> float:
        run = repairman(who, USERS, INTERACTIONS / (SIMPY_PART if who == SIMPY else 1))
        return rate(who, "repairman", run, run.interactions)

    def replications(who: str) -> float:
        n = REPLICATIONS // (SIMPY_PART if who == SIMPY else 1)
        return rate(who, "time sharing", timesharing(who, n), n)

    rows = beside_all("repairman, 35 users", "interactions/CPU s", interactions)
    rows += beside_all("time sharing, 35 users, 600 s", "replications/CPU s", replications)
    for label in ("repairman", "time sharing"):
        ours, heap = (median(events[f"{label} {who}"]) for who in (OURS, HEAP))
        rows.append(row(f"{label}, 35 users: events", "events/CPU s", ours, heap, HEAP))
    ours, heap = (median(share[f"time sharing {who}"]) for who in (OURS, HEAP))
    rows.append(row("time sharing, 35 users: interactions", "interactions/CPU s", ours, heap, HEAP))
    return rows


def periods() -> list[Row]:
    """Ten months of a CP-67 installation, sampled every five minutes: its three periods, one run each."""
    from thinktime.sources.simulated import simulate

    seconds = cpu = events = 0.0
    for period in ("II-2", "II-3", "III-3"):
        began = time.process_time()
        run = simulate("cp67", {"period": period}, seed=1, threads=1)
        cpu += time.process_time() - began
        events += run.events
        seconds += 300.0 * run.responses["observations"].sum()
    work = "CP-67, the three periods (19 784 observations)"
    # What an event of a bare closed network takes, with the same statistics and self-checks.
    bare = repairman(OURS, USERS, INTERACTIONS)
    name = "an event of the repairman"
    return [
        row(work, "CPU s", cpu),
        row(f"{work}: simulated time", "s/CPU s", seconds / cpu),
        row(f"{work}: events", "events/CPU s", events / cpu, bare.events / bare.cpu_s, name),
    ]


def systems() -> list[Row]:
    """Return events of each simulated machine beside those of the heap in C, which does the least for one.

    That program is the same in every state of this repository: what a change did to a machine is the quotient
    of the ratios before and after.
    """
    from thinktime.sources.simulated import simulate

    def rate(name: str) -> float:
        if name == HEAP:
            run = repairman(HEAP, USERS, INTERACTIONS)
            return run.events / run.cpu_s
        began = time.process_time()
        done = simulate(name, {"length": SYSTEMS[name]}, seed=1, threads=1)
        return done.events / (time.process_time() - began)

    figures = in_turn(ROUNDS, {name: lambda name=name: rate(name) for name in (HEAP, *SYSTEMS)})
    heap = median(figures[HEAP])
    name = f"{HEAP}: repairman"
    return [row(f"{one}: events", "events/CPU s", median(figures[one]), heap, name) for one in SYSTEMS]


def by_users() -> list[Row]:
    """CPU time of an interaction, and how it grows with the users."""

    def nanoseconds(who: str, users: int) -> float:
        run = repairman(who, users, INTERACTIONS)
        return 1e9 * run.cpu_s / run.interactions

    cells = [(who, users) for users in MANY_USERS for who in (OURS, HEAP)]
    measures = {f"{who} {n}": lambda who=who, n=n: nanoseconds(who, n) for who, n in cells}
    cost = {name: median(figures) for name, figures in in_turn(3, measures).items()}
    rows = []
    for n in MANY_USERS:
        work = f"repairman, {n} users"
        rows.append(cost_row(work, "ns CPU/interact.", cost[f"{OURS} {n}"], cost[f"{HEAP} {n}"], HEAP))
    for n in MANY_USERS[1:]:
        ours, heap = (cost[f"{who} {n}"] / cost[f"{who} {MANY_USERS[0]}"] for who in (OURS, HEAP))
        rows.append(cost_row(f"growth from 10 to {n} users", "times", ours, heap, HEAP))
    return rows


def by_replications() -> list[Row]:
    """CPU time of a replication, how it falls with their number, and what a second thread gives."""
    rows = []
    for n in MANY_REPLICATIONS:
        repeats = max(1, 200 // n)

        def micros(who: str, n: int = n, repeats: int = repeats) -> float:
            return 1e6 * timesharing(who, n, repeats=repeats).cpu_s / (n * repeats)

        figures = in_turn(3, {who: lambda who=who: micros(who) for who in (OURS, HEAP)})
        ours, heap = (median(figures[who]) for who in (OURS, HEAP))
        rows.append(cost_row(f"time sharing, {n} replications", "us CPU/replic.", ours, heap, HEAP))
    threads = len(os.sched_getaffinity(0))

    def wall(threads: int) -> float:
        began = time.perf_counter()
        timesharing(OURS, REPLICATIONS, threads)
        return time.perf_counter() - began

    figures = in_turn(5, {str(n): lambda n=n: wall(n) for n in (1, threads)})
    # What else runs only adds time, and more where there are no idle cores.
    speed_up = min(figures["1"]) / min(figures[str(threads)])
    rows.append(row(f"time sharing: {threads} threads for 1", "times as fast", speed_up, threads, "ideal"))
    return rows


PEAK = """
import sys
sys.path.insert(0, sys.argv[1])
import simulation_programs as p
exec(sys.argv[2])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak_mb(statement: str) -> float:
    """Largest resident set of a fresh process, as it says itself: wait4 would count its parent's too."""
    command = [sys.executable, "-c", PEAK, str(Path(__file__).parent), statement]
    return int(subprocess.check_output(command)) * 1024 / 1e6


def memory() -> list[Row]:
    """Peak memory of fresh processes."""
    name = "the same by SimPy"
    rows = []
    for users, interactions in ((USERS, 100_000), (100_000, 400_000)):
        ours, simpy = (peak_mb(f"p.repairman({who!r}, {users}, {interactions})") for who in (OURS, SIMPY))
        work = f"repairman, {users} users, {interactions} interactions"
        rows.append(cost_row(work, "MB peak", ours, simpy, name))
    alone = {f"time sharing, {n} replications": f"p.timesharing({OURS!r}, {n})" for n in (100, 4000)}
    alone["the process before it simulates"] = "import polars, thinktime._native"
    return rows + [row(work, "MB peak", peak_mb(statement)) for work, statement in alone.items()]


def run() -> list[Row]:
    """Interactions, replications and events per CPU second; growth; memory."""
    # Modules are loaded and pages touched before anything is measured.
    timesharing(OURS, 10)
    return workloads() + periods() + systems() + by_users() + by_replications() + memory()
