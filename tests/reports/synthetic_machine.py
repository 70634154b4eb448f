"""A small machine in software whose log is the same on every run: the input of the report tests.

Users think, ask for service and wait for one of two processors (first come, first served). Every
request for service has a known cost, so that the report's figures can be compared with the truth.
All randomness comes from `random.Random.random`, whose sequence is fixed for all Python versions.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

EPOCH_US = 1_700_000_000_000_000
INTERVAL_S = 2.0
CPUS = 2
# The truth: CPU time of one request [s].
COSTS = {"forks": 377e-6, "page_faults_minor": 4.1e-6, "context_switches": 3.4e-6}
MACHINE = {
    "hostname": "example",
    "kernel": "6.1.0",
    "architecture": "x86_64",
    "cpus": CPUS,
    "cpu_model": "Example CPU",
    "memory_bytes": 8_000_000_000,
}


@dataclass(frozen=True)
class Interaction:
    """One input of a user, as simulated; times in seconds since the start."""

    user: int
    population: int
    arrival: float
    start: float
    end: float
    user_s: float
    system_s: float
    requests: Mapping[str, int]


@dataclass
class Frames:
    """The tables and the manifest of the synthetic log."""

    samples: pl.DataFrame
    users: pl.DataFrame
    interactions: pl.DataFrame
    session: dict[str, Any] = field(default_factory=dict)


def interactions(users: int, hold_s: float, think_s: float = 3.0, seed: int = 1) -> list[Interaction]:
    """Populations of 1 to `users`, each held for `hold_s` seconds."""
    random = Random(seed)
    done: list[Interaction] = []
    free = [0.0] * CPUS
    end = users * hold_s
    waiting = [(number * hold_s + _exponential(random, think_s), number) for number in range(users)]
    heapq.heapify(waiting)
    while waiting:
        arrival, user = heapq.heappop(waiting)
        if arrival >= end:
            continue
        requests = {
            "forks": int(40 + 80 * random.random()),
            "page_faults_minor": int(_exponential(random, 24_000)),
            "context_switches": int(800 + 6000 * random.random()),
        }
        system_s = sum(COSTS[name] * count for name, count in requests.items()) * (
            0.97 + 0.06 * random.random()
        )
        user_s = 0.12 + _exponential(random, 0.45)
        start = max(arrival, heapq.heappop(free))
        finish = start + user_s + system_s
        heapq.heappush(free, finish)
        population = min(int(arrival // hold_s) + 1, users)
        done.append(Interaction(user, population, arrival, start, finish, user_s, system_s, requests))
        heapq.heappush(waiting, (finish + _exponential(random, think_s), user))
    return done


def _exponential(random: Random, mean: float) -> float:
    return -mean * math.log(1.0 - random.random())


def _time(seconds: float | None) -> int | None:
    return None if seconds is None else EPOCH_US + round(seconds * 1e6)


def make(users: int = 12, hold_s: float = 20.0) -> Frames:
    """The log of `users` x `hold_s` seconds."""
    done = interactions(users, hold_s)
    intervals = int(users * hold_s / INTERVAL_S)
    samples = [_sample(done, number) for number in range(intervals)]
    per_user = [row for number in range(intervals) for row in _user_rows(done, number)]
    end = users * hold_s
    return Frames(
        samples=_typed("samples", samples),
        users=_typed("users", per_user),
        interactions=_typed("interactions", [_interaction_row(item, end) for item in done]),
        session={
            "recorder": {
                "method": "synthetic",
                "cpu_s": 0.9,
                "missed_deadlines": 1,
                "missing_sources": ["taskstats"],
            },
            "terminals": {"workload": "prototype", "seed": 1, "users": f"1..{users}"},
            "direct_costs": [
                {
                    "request": name,
                    "seconds": cost * 1.02,
                    "low": cost * 0.97,
                    "high": cost * 1.07,
                    "n": 50,
                    "method": "loop",
                }
                for name, cost in COSTS.items()
            ],
        },
    )


def _overlap(item: Interaction, low: float, high: float) -> float:
    """Part of the service of `item` that falls between `low` and `high`."""
    inside = min(item.end, high) - max(item.start, low)
    return max(inside, 0.0) / (item.end - item.start)


def _sample(done: list[Interaction], number: int) -> dict[str, Any]:
    low = number * INTERVAL_S
    high = low + INTERVAL_S
    parts = [(item, _overlap(item, low, high)) for item in done if item.start < high and item.end > low]
    user_s = sum(item.user_s * part for item, part in parts)
    system_s = sum(item.system_s * part for item, part in parts)
    rest = max(CPUS * INTERVAL_S - user_s - system_s, 0.0)
    wave = 0.5 + 0.5 * math.sin(number / 7)
    row: dict[str, Any] = {
        "start": _time(low),
        "length_s": INTERVAL_S,
        "user_s": user_s * (1 + 0.02 * math.sin(number)),
        "nice_s": 0.0,
        "system_s": system_s,
        "irq_s": 0.0,
        "softirq_s": 0.004 + 0.01 * wave,
        "steal_s": 0.002 * wave,
        "idle_s": rest * 0.96,
        "iowait_s": rest * 0.04,
        "cpu_exact_s": user_s + system_s,
        "user_sampled_s": user_s,
        "system_sampled_s": system_s,
        "runnable": len([1 for item in done if item.arrival <= high < item.end]),
        "blocked": 0,
        "active_users": len({item.user for item, part in parts if part > 0}),
        "disk_reads": int(10 + 150 * wave),
        "disk_writes": int(30 + 40 * (1 - wave)),
        "disk_read_bytes": int(65_536 * (10 + 150 * wave)),
        "disk_write_bytes": int(16_384 * (30 + 40 * (1 - wave))),
        "disk_busy_s": 0.05 + 0.5 * wave,
        "interrupts": int(2000 + 500 * wave),
        "page_faults_major": int(3 * wave),
        "memory_total_bytes": MACHINE["memory_bytes"],
        "memory_available_bytes": int(6e9 - 2e8 * len(parts)),
        "recorder_cpu_s": 0.006,
        "recorder_written_bytes": 4000,
        "recorder_delay_s": 0.0002,
    }
    for name in COSTS:
        row[name] = round(sum(item.requests[name] * part for item, part in parts))
    return row


def _user_rows(done: list[Interaction], number: int) -> list[dict[str, Any]]:
    low = number * INTERVAL_S
    high = low + INTERVAL_S
    rows: dict[int, dict[str, Any]] = {}
    for item in done:
        part = _overlap(item, low, high) if item.start < high and item.end > low else 0.0
        if part <= 0:
            continue
        row = rows.setdefault(
            item.user,
            {
                "start": _time(low),
                "user": f"uid:{1000 + item.user}",
                "user_s": 0.0,
                "system_s": 0.0,
                "page_faults_minor": 0,
                "processes": 1,
            },
        )
        row["user_s"] += item.user_s * part
        row["system_s"] += item.system_s * part
        row["page_faults_minor"] += round(item.requests["page_faults_minor"] * part)
    return [rows[user] for user in sorted(rows)]


def _interaction_row(item: Interaction, end: float) -> dict[str, Any]:
    finished = item.end <= end
    return {
        "user": f"uid:{1000 + item.user}",
        "class": "prototype",
        "population": item.population,
        "think_s": 3.0,
        "due": _time(item.arrival),
        "sent": _time(item.arrival),
        "first_service": _time(item.start),
        "first_output": _time(item.start + 0.3 * (item.end - item.start)) if finished else None,
        "completion": _time(item.end) if finished else None,
        "service_s": item.user_s + item.system_s if finished else None,
        "user_s": item.user_s if finished else None,
        "system_s": item.system_s if finished else None,
        "page_faults_minor": item.requests["page_faults_minor"],
        "reads": 12,
        "writes": 5,
        "output_bytes": 800,
    }


def _typed(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows as a frame with the types of the vocabulary."""
    from thinktime.log import vocabulary

    types = {
        "u64": pl.UInt64(),
        "i64": pl.Int64(),
        "f64": pl.Float64(),
        "text": pl.String(),
        "time": pl.Datetime("us", "UTC"),
    }
    names = list(rows[0]) if rows else []
    schema = {
        column.name: types[column.type] for column in vocabulary(table) if not rows or column.name in names
    }
    return pl.DataFrame(rows, schema=schema)


def write(path: Path, frames: Frames | None = None) -> Path:
    """Write the synthetic log to `path`."""
    from thinktime.log import LogWriter

    made = frames or make()
    with LogWriter.open(
        path, source="linux", machine=MACHINE, options={"interval_s": INTERVAL_S}, start_us=EPOCH_US
    ) as log:
        log.write("samples", made.samples)
        log.write("users", made.users)
        log.write("interactions", made.interactions)
        for key, value in made.session.items():
            log.set(key, value)
        log.end_us = EPOCH_US + round(made.samples["length_s"].sum() * 1e6)
    return path
