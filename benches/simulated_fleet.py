"""Machines in software with known costs, known saturated hours and known room: the input of tests of fleets.

Users come and go, and each asks at random for requests of known cost and for time of its own programs. Work
that does not fit into an interval waits for the next one, so that a machine with too many users is busy all
the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from thinktime.log import LogWriter, vocabulary

EPOCH_US = 1_790_035_200_000_000
"""Midnight, UTC."""
COSTS = {"forks": 300e-6, "page_faults_minor": 1.5e-6, "context_switches": 3e-6, "disk_reads": 60e-6}
"""System time of one request on a machine of speed 1 [s]."""
RATES = {"forks": 4.0, "page_faults_minor": 900.0, "context_switches": 250.0, "disk_reads": 12.0}
"""Requests of an active user per second."""
BASE = 0.01
"""System time without requests [s/s]."""
USER_S = 0.04
"""CPU time of an active user's own programs per second, on a machine of speed 1 [s/s]."""
COLUMNS = (
    "start", "length_s", "user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s", "idle_s",
    "iowait_s", *COSTS, "active_users", "memory_total_bytes", "memory_available_bytes",
)  # fmt: skip
MEMORY = 64e9
OF_USER = 0.5e9
"""Memory that an active user takes [byte]."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine and its load."""

    host: str
    model: str
    cpus: int = 8
    speed: float = 1.0
    """Costs are divided by it."""
    forks: float = 1.0
    """Factor of the cost of a fork alone."""
    users: float = 20.0
    """Mean number of active users outside of the saturated hours."""
    saturated: tuple[int, ...] = ()
    """Hours, counted from the first, with twice the users that the CPUs can serve."""
    hours: float = 24.0
    interval_s: float = 5.0
    seed: int = 1

    def of_user(self) -> float:
        """CPU time per second of one more active user [s/s]."""
        requests = sum(
            COSTS[name] * rate * (self.forks if name == "forks" else 1.0) for name, rate in RATES.items()
        )
        return (requests + USER_S) / self.speed


def samples(machine: Machine) -> pl.DataFrame:
    """Intervals of a machine's record."""
    random = np.random.default_rng([1971, machine.seed])
    n, length = round(machine.hours * 3600.0 / machine.interval_s), machine.interval_s
    # Correlated over five minutes: users stay for a while.
    step = np.exp(-length / 300.0)
    drift, noise = np.empty(n), random.standard_normal(n)
    level = noise[0]
    for row in range(n):
        level = step * level + np.sqrt(1.0 - step**2) * noise[row]
        drift[row] = level
    hour = (np.arange(n) * length // 3600.0).astype(int)
    crowd = np.where(np.isin(hour, machine.saturated), 2.0 * machine.cpus / machine.of_user(), machine.users)
    users = np.rint(np.maximum(crowd * (1.0 + 0.2 * drift), 0.0))
    counts = {name: random.poisson(users * rate * length) for name, rate in RATES.items()}
    system = BASE * length * random.gamma(16.0, 1.0 / 16.0, n)
    for name, cost in COSTS.items():
        factor = machine.forks if name == "forks" else 1.0
        system += counts[name] * cost * factor
    system = system / machine.speed
    own = users * USER_S * length / machine.speed * random.gamma(50.0, 1.0 / 50.0, n)
    capacity = machine.cpus * length
    # What does not fit is left undone: the system's part first, as the kernel has it.
    system = np.minimum(system, capacity)
    own = np.minimum(own, capacity - system)
    nothing = np.zeros(n)
    available = np.maximum(MEMORY * 0.9 - users * OF_USER, 1e9)
    start = EPOCH_US + np.round(np.arange(n) * length * 1e6).astype(np.int64)
    return pl.DataFrame(
        {
            "start": pl.Series(start).cast(pl.Datetime("us", "UTC")),
            "length_s": np.full(n, length),
            "user_s": own,
            "nice_s": nothing,
            "system_s": system,
            "irq_s": nothing,
            "softirq_s": nothing,
            "steal_s": nothing,
            "idle_s": capacity - system - own,
            "iowait_s": nothing,
            **{name: values.astype(np.uint64) for name, values in counts.items()},
            "active_users": users.astype(np.uint64),
            "memory_total_bytes": np.full(n, MEMORY).astype(np.uint64),
            "memory_available_bytes": available.astype(np.uint64),
        }
    )


def write(folder: Path, machine: Machine) -> Path:
    """Log of a machine's record, in a folder of its host's name."""
    path = folder / machine.host
    schema = [column for column in vocabulary("samples") if column.name in COLUMNS]
    facts = {
        "hostname": machine.host,
        "cpu_model": machine.model,
        "cpus": machine.cpus,
        "memory_bytes": int(MEMORY),
    }
    with LogWriter.open(path, source="linux", machine=facts, start_us=EPOCH_US) as log:
        log.write("samples", samples(machine), schema)
        log.end_us = EPOCH_US + round(machine.hours * 3600e6)
    return path


def write_all(folder: Path, machines: Sequence[Machine]) -> Path:
    """Logs of all machines below a folder."""
    for machine in machines:
        write(folder, machine)
    return folder
