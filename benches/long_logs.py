"""Logs of a million rows and more: what each analysis costs in CPU time and memory, and how that grows.

    python benches/long_logs.py [--rows N ...] [--analyses NAME ...]

Each analysis runs in a process of its own, on a log of five-minute intervals in parts of 10^6 rows, whose
tables of users, disks and interfaces have a row for each interval; or on a log of as many interactions,
or of as many events.
CPU time is that of the analysis, without imports; memory is the greatest resident size of the process,
interpreter and libraries included. 10^8 rows take 8 GB of disk while they run, and an hour.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PART = 1_000_000
ROWS = (PART, 10 * PART)
BY_USERS = "throughput by users"
"""The question about throughput of a log whose load are the users who played."""
OF_INTERVALS = (
    "overhead",
    "throughput",
    "saturation",
    "capacity",
    "rates",
    "timeline",
    "health",
    "users",
    "recording",
    "disks",
    "script-report",
    "compare by treatment",
)
OF_INTERACTIONS = ("response", "service", "arrivals", "cpu-per-interaction", "waits", BY_USERS)
OF_INPUTS, OF_BURSTS = ("waits from events",), ("service from events", "scheduling from events")
"""Questions about events of interactions, and about those of a scheduler."""
ANALYSES = (*OF_INTERVALS, *OF_INTERACTIONS, *OF_INPUTS, *OF_BURSTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a question is asked."""

    question: str
    options: Mapping[str, object] = field(default_factory=dict)


ASKED = {
    BY_USERS: Asked(question="throughput"),
    "waits from events": Asked(question="waits"),
    "service from events": Asked(question="service"),
    "scheduling from events": Asked(question="scheduling"),
    "compare by treatment": Asked(question="compare", options={"treatment": "treatment", "unit": "70d"}),
}
"""Those that are not asked by their names alone."""
USERS = 50
LENGTH_S = 300.0
WEEK_US = 604_800_000_000
REQUESTS = {
    "forks": (0.5, 8e-3),
    "page_faults_minor": (8.0, 1e-3),
    "context_switches": (20.0, 5e-4),
    "disk_reads": (3.0, 1.5e-3),
    "disk_writes": (2.0, 2e-3),
}
"""Requests of a user per second, and what one costs the system [s]."""
OWN = {
    "treatment": ("", "gauge"),
    "script_interactions": ("interaction", "counter"),
    "script_run_s": ("s", "counter"),
    "script_swap_s": ("s", "counter"),
    "script_waits": ("interaction", "counter"),
    "script_response_s": ("s", "counter"),
}
"""Unit and kind of the columns that the vocabulary lacks."""
ALONE = """
import json, sys, time
from thinktime.analyses import analyse
from thinktime.log import Log
from thinktime.stats.estimate import NotApplicable
question, options = json.loads(sys.argv[1])
log = Log.open(sys.argv[2])
began = time.process_time()
result = analyse(question, log, **options)
cpu_s = time.process_time() - began
# Not ru_maxrss: that begins with the size of the process that started this one.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(cpu_s, 1024 * int(peak.split()[1]))
if isinstance(result, NotApplicable):
    sys.exit(result.reason)
"""


def write_intervals(folder: Path, rows: int) -> None:
    """Users who come and go over days; their requests, what these cost, and what the CPU has left."""
    import numpy as np

    from thinktime.log import Column, LogWriter, vocabulary

    own = [
        Column(
            name=name,
            type="f64" if name.endswith("_s") else "u64",
            unit=unit,
            kind=kind,
            description=name.replace("_", " "),
        )
        for name, (unit, kind) in OWN.items()
    ]
    schemas = {"samples": [*vocabulary("samples"), *own]}
    rng = np.random.default_rng(1971)
    with LogWriter.open(folder, source="bench", start_us=0) as writer:
        for first in range(0, rows, PART):
            for table, frame in _intervals(rng, first, min(PART, rows - first)).items():
                schema = schemas.get(table, vocabulary(table))
                names = [column.name for column in schema if column.name in frame.columns]
                writer.write(table, frame.select(names), schema)


def _intervals(rng: Any, first: int, n: int) -> dict[str, Any]:
    """Rows of each table in `n` intervals from number `first` on."""
    import numpy as np
    import polars as pl
    from scipy.signal import lfilter

    drift = lfilter([1.0], [1.0, -0.95], rng.standard_normal(n)) * np.sqrt(1 - 0.95**2)
    users = np.rint(np.clip(12.0 + 5.0 * drift, 0.0, 30.0))
    made: dict[str, Any] = {
        name: np.rint(users * rate * LENGTH_S * rng.gamma(4.0, 0.25, n))
        for name, (rate, _) in REQUESTS.items()
    }
    requested = sum(cost * made[name] for name, (_, cost) in REQUESTS.items())
    system = 5.0 * rng.gamma(9.0, 1.0 / 9.0, n) + requested
    user = np.minimum(users * 12.0 * rng.gamma(4.0, 0.25, n), np.maximum(LENGTH_S - system, 0.0))
    who = pl.Series(rng.integers(1000, 1000 + USERS, n)).cast(pl.String)
    moved = (1e6 * users * rng.gamma(4.0, 0.25, n)).astype(np.uint64)
    busy = np.minimum(np.round(4e-3 * (made["disk_reads"] + made["disk_writes"]), 3), LENGTH_S)
    instants = (first + np.arange(n)) * int(LENGTH_S * 1e6)
    counts = {name: values.astype(np.uint64) for name, values in made.items()}
    times = {"user_s": np.round(user, 2), "system_s": np.round(system, 2)}
    tables = {
        "samples": {
            "length_s": np.full(n, LENGTH_S),
            **times,
            "idle_s": np.round(np.maximum(LENGTH_S - system - user, 0.0), 2),
            "active_users": users.astype(np.uint64),
            "memory_available_bytes": (8e9 - 1e8 * users).astype(np.uint64),
            "memory_total_bytes": np.full(n, 8_000_000_000, dtype=np.uint64),
            **counts,
            # The two treatments change places every ten weeks.
            "treatment": (instants // (10 * WEEK_US) % 2).astype(np.uint64),
            **_scripted(users, system),
        },
        "users": {"user": "uid:" + who, **times, "run_delay_s": np.round(0.1 * user, 3)},
        "disks": {
            "device": np.full(n, "sda"),
            "reads": counts["disk_reads"],
            "writes": counts["disk_writes"],
            "busy_s": busy,
        },
        "interfaces": {"interface": np.full(n, "eth0"), "bytes_in": moved, "bytes_out": moved // 2},
    }
    start = pl.Series(instants).cast(pl.Datetime("us", "UTC"))
    return {table: pl.DataFrame({"start": start, **columns}) for table, columns in tables.items()}


def _scripted(users: Any, system_s: Any) -> dict[str, Any]:
    """What the users of a script did: an input each in half a minute."""
    import numpy as np

    inputs = np.rint(10.0 * users)
    return {
        "script_interactions": inputs.astype(np.uint64),
        "script_run_s": 0.5 * inputs,
        "script_swap_s": np.round(0.1 * system_s, 2),
        "script_waits": np.rint(0.9 * inputs).astype(np.uint64),
        "script_response_s": np.round(inputs * (1.0 + 0.01 * system_s), 2),
    }


def write_interactions(folder: Path, rows: int) -> None:
    """Inputs of users who type at random, of four classes with hyperexponential service."""
    import numpy as np
    import polars as pl

    from thinktime.log import LogWriter

    rng = np.random.default_rng(1974)
    with LogWriter.open(folder, source="bench", start_us=0) as writer:
        begun_us = 0
        for first in range(0, rows, PART):
            n = min(PART, rows - first)
            due = begun_us + np.cumsum(np.maximum(np.rint(rng.exponential(1e6, n)), 1.0)).astype(np.int64)
            begun_us = int(due[-1])
            kind = rng.integers(0, 4, n)
            service = rng.exponential(0.02, n) * np.where(rng.random(n) < 0.1, 10.0, 1.0) * (1 + kind)
            took = service * (1.0 + rng.exponential(0.5, n))
            # As a source writes them: in the order in which they end.
            order = np.argsort(due + took * 1e6, kind="stable")
            instants = {"due": due, "completion": due + np.rint(took * 1e6).astype(np.int64)}
            frame = pl.DataFrame(
                {
                    **{name: pl.Series(at).cast(pl.Datetime("us", "UTC")) for name, at in instants.items()},
                    "service_s": service,
                    "user_s": np.round(0.8 * service, 6),
                    "system_s": np.round(0.2 * service, 6),
                    "run_delay_s": 0.6 * (took - service),
                    "io_delay_s": 0.3 * (took - service),
                    # Users come and go once a week.
                    "population": 12 + (due // WEEK_US % 4).astype(np.uint64),
                    "user": "user " + pl.Series(rng.integers(1, 13, n)).cast(pl.String),
                    "class": "class " + pl.Series(kind).cast(pl.String),
                }
            )
            writer.write("interactions", frame[order])
            writer.write("samples", _beside(rng, begun_us - int(due[-1] - due[0]), begun_us))


INPUT_EVENTS = (
    "input",
    "swap_in_start",
    "swap_in_end",
    "slice_start",
    "slice_end",
    "slice_start",
    "slice_end",
    "output_wait_start",
    "output_wait_end",
    "slice_start",
    "slice_end",
    "completion",
)
BURST_EVENTS = ("wake_up", "dispatch", "switch_out", "dispatch", "switch_out")


def write_inputs(folder: Path, rows: int) -> None:
    """Events of interactions of fifty users, each with three slices."""
    import numpy as np

    rng = np.random.default_rng(1974)
    steps = rng.exponential(1.0, len(INPUT_EVENTS))
    _write_events(folder, rows, rng, INPUT_EVENTS, steps, lambda who: {"user": "user " + who})


def write_bursts(folder: Path, rows: int) -> None:
    """Events of a scheduler with fifty tasks, whose bursts are two slices."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1975)
    reasons = pl.Series([None, None, "preempted", None, "io"])

    def tasks(who: Any) -> dict[str, Any]:
        return {
            "user": "uid:" + who,
            "task": who.cast(pl.UInt64),
            "command": "command " + who,
            "reason": reasons[np.tile(np.arange(len(BURST_EVENTS)), len(who) // len(BURST_EVENTS))],
            "unit": pl.repeat("s", len(who), eager=True),
        }

    _write_events(folder, rows, rng, BURST_EVENTS, np.full(len(BURST_EVENTS), 1e-3), tasks)


def _write_events(folder: Path, rows: int, rng: Any, kinds: Sequence[str], steps: Any, more: Any) -> None:
    """Sequences of events, one after another for each of the users, in the order of time.

    Parameters
    ----------
    steps : array
        Mean time before each kind [s].
    more : callable
        Gives further columns from the users, as texts.
    """
    import numpy as np
    import polars as pl

    from thinktime.log import LogWriter

    cycle_us = int(20e6 * steps.sum())
    with LogWriter.open(folder, source="bench", start_us=0) as writer:
        first_cycle = 0
        for first in range(0, rows, PART):
            count = min(PART, rows - first) // (len(kinds) * USERS)
            number = np.arange(count * USERS)
            # Nobody begins before the one before is complete.
            after = rng.gamma(2.0, 0.5 * steps, (len(number), len(kinds)))
            after *= np.minimum(1.0, 0.9 * cycle_us / 1e6 / after.sum(axis=1))[:, None]
            begun = (first_cycle + number // USERS) * cycle_us
            time = begun[:, None] + np.rint(1e6 * np.cumsum(after, axis=1)).astype(np.int64)
            who = pl.Series(np.repeat(1000 + number % USERS, len(kinds))).cast(pl.String)
            columns = {
                "time": pl.Series(time.ravel()).cast(pl.Datetime("us", "UTC")),
                "kind": list(kinds) * len(number),
                "cpu": pl.Series([0] * len(who), dtype=pl.UInt64),
                "amount": after.ravel(),
                **more(who),
            }
            writer.write("events", pl.DataFrame(columns)[np.argsort(time.ravel(), kind="stable")])
            first_cycle += count


def _beside(rng: Any, first_us: int, last_us: int) -> Any:
    """Intervals of five minutes beside interactions."""
    import numpy as np
    import polars as pl

    length_us = int(LENGTH_S * 1e6)
    start = np.arange(-(-first_us // length_us), -(-last_us // length_us)) * length_us
    user, system = (
        np.round(LENGTH_S * share * rng.gamma(9.0, 1.0 / 9.0, len(start)), 2) for share in (0.1, 0.03)
    )
    return pl.DataFrame(
        {
            "start": pl.Series(start).cast(pl.Datetime("us", "UTC")),
            "length_s": np.full(len(start), LENGTH_S),
            "user_s": user,
            "system_s": system,
            "idle_s": np.maximum(LENGTH_S - user - system, 0.0),
        }
    )


def measure(analysis: str, folder: Path) -> tuple[float, float]:
    """CPU seconds and greatest resident size [MB] of one analysis in a process of its own."""
    asked = ASKED.get(analysis, Asked(question=analysis))
    told = json.dumps([asked.question, asked.options])
    command = [sys.executable, "-c", ALONE, told, folder]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return float(found[0]), float(found[1]) / 1e6


def measured(rows: int, analyses: Sequence[str] = ANALYSES) -> Iterator[tuple[str, tuple[float, float]]]:
    """Name, CPU seconds and memory of each analysis; a log is removed before the next is made."""
    for write, asked in (
        (write_intervals, OF_INTERVALS),
        (write_interactions, OF_INTERACTIONS),
        (write_inputs, OF_INPUTS),
        (write_bursts, OF_BURSTS),
    ):
        chosen = [name for name in analyses if name in asked]
        if not chosen:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "log"
            write(folder, rows)
            for analysis in chosen:
                yield analysis, measure(analysis, folder)


def run() -> list[dict[str, Any]]:
    """CPU time of ten times the rows beside ten times the CPU time, and its memory beside the same."""
    found = {(name, rows): cost for rows in ROWS for name, cost in measured(rows)}
    few, many = ROWS
    factor = many / few
    rows = []
    for analysis in ANALYSES:
        (few_s, few_mb), (many_s, many_mb) = found[analysis, few], found[analysis, many]
        for unit, ours, reference, name in (
            ("s CPU", many_s, factor * few_s, f"{factor:.0f} times that of {few:.0e} rows"),
            ("MB resident", many_mb, few_mb, f"that of {few:.0e} rows"),
        ):
            work = f"{analysis} of {many:.0e} rows"
            rows.append(
                {
                    "work": work,
                    "unit": unit,
                    "ours": ours,
                    "reference": reference,
                    "reference_name": name,
                    "ratio": reference / ours,
                }
            )
    return rows


def main() -> None:
    """Print a table over the sizes that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=float, nargs="+", default=list(ROWS), metavar="N")
    parser.add_argument("--analyses", nargs="+", default=list(ANALYSES), metavar="NAME")
    options = parser.parse_args()
    sizes = tuple(int(rows) for rows in options.rows)
    print(f"{'analysis':<26}{'rows':>12}{'CPU s':>10}{'us a row':>10}{'MB resident':>13}")
    for size in sizes:
        for analysis, (cpu_s, resident_mb) in measured(size, options.analyses):
            print(
                f"{analysis:<26}{size:>12.0e}{cpu_s:>10.2f}{1e6 * cpu_s / size:>10.3f}{resident_mb:>13.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
