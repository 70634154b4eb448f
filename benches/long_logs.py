"""Logs of a million rows and more: what each analysis costs in CPU time and memory, and how that grows.

    python benches/long_logs.py [--rows N ...] [--analyses NAME ...]

Each analysis runs in a process of its own, on a log of five-minute intervals in parts of 10^6 rows.
CPU time is that of the analysis, without imports; memory is the greatest resident size of the process,
interpreter and libraries included. 10^8 rows take 4 GB of disk while they run, and ten minutes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PART = 1_000_000
ROWS = (PART, 10 * PART)
ANALYSES = ("overhead", "throughput", "saturation", "capacity", "rates", "timeline")
LENGTH_S = 300.0
REQUESTS = {
    "forks": (0.5, 8e-3),
    "page_faults_minor": (8.0, 1e-3),
    "context_switches": (20.0, 5e-4),
    "disk_reads": (3.0, 1.5e-3),
    "disk_writes": (2.0, 2e-3),
}
"""Requests of a user per second, and what one costs the system [s]."""
ALONE = """
import sys, time
from thinktime.analyses import analyse
from thinktime.log import Log
from thinktime.stats.estimate import NotApplicable
log = Log.open(sys.argv[2])
began = time.process_time()
result = analyse(sys.argv[1], log)
cpu_s = time.process_time() - began
# Not ru_maxrss: that begins with the size of the process that started this one.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(cpu_s, 1024 * int(peak.split()[1]))
if isinstance(result, NotApplicable):
    sys.exit(result.reason)
"""


def write_log(folder: Path, rows: int) -> None:
    """Users who come and go over days; their requests, what these cost, and what the CPU has left."""
    import numpy as np
    import polars as pl
    from scipy.signal import lfilter

    from thinktime.log import LogWriter

    rng = np.random.default_rng(1971)
    with LogWriter.open(folder, source="bench", start_us=0) as writer:
        for first in range(0, rows, PART):
            n = min(PART, rows - first)
            drift = lfilter([1.0], [1.0, -0.95], rng.standard_normal(n)) * np.sqrt(1 - 0.95**2)
            users = np.rint(np.clip(12.0 + 5.0 * drift, 0.0, 30.0))
            made: dict[str, Any] = {
                name: np.rint(users * rate * LENGTH_S * rng.gamma(4.0, 0.25, n))
                for name, (rate, _) in REQUESTS.items()
            }
            system = 5.0 * rng.gamma(9.0, 1.0 / 9.0, n) + sum(
                cost * made[name] for name, (_, cost) in REQUESTS.items()
            )
            user = np.minimum(users * 12.0 * rng.gamma(4.0, 0.25, n), np.maximum(LENGTH_S - system, 0.0))
            start = (first + np.arange(n)) * int(LENGTH_S * 1e6)
            frame = pl.DataFrame(
                {
                    "start": pl.Series(start).cast(pl.Datetime("us", "UTC")),
                    "length_s": np.full(n, LENGTH_S),
                    "user_s": np.round(user, 2),
                    "system_s": np.round(system, 2),
                    "idle_s": np.round(np.maximum(LENGTH_S - system - user, 0.0), 2),
                    "active_users": users.astype(np.uint64),
                    **{name: values.astype(np.uint64) for name, values in made.items()},
                }
            )
            writer.write("samples", frame)


def measure(analysis: str, folder: Path) -> tuple[float, float]:
    """CPU seconds and greatest resident size [MB] of one analysis in a process of its own."""
    command = [sys.executable, "-c", ALONE, analysis, folder]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(told[0]), float(told[1]) / 1e6


def measured(
    sizes: tuple[int, ...], analyses: Sequence[str] = ANALYSES
) -> dict[tuple[str, int], tuple[float, float]]:
    """CPU seconds and memory by analysis and number of rows; each log is removed before the next."""
    found = {}
    for rows in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "log"
            write_log(folder, rows)
            for analysis in analyses:
                found[analysis, rows] = measure(analysis, folder)
    return found


def run() -> list[dict[str, Any]]:
    """CPU time of ten times the rows beside ten times the CPU time, and its memory beside the same."""
    found = measured(ROWS)
    few, many = ROWS
    factor = many / few
    rows = []
    for analysis in ANALYSES:
        (few_s, few_mb), (many_s, many_mb) = found[analysis, few], found[analysis, many]
        for unit, ours, reference, name in (
            ("s CPU", many_s, factor * few_s, f"{factor:.0f} times that of {few:.0e} rows"),
            ("MB resident", many_mb, few_mb, f"that of {few:.0e} rows"),
        ):
            work = f"{analysis} of {many:.0e} intervals"
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
    print(f"{'analysis':<12}{'rows':>12}{'CPU s':>10}{'us a row':>10}{'MB resident':>13}")
    for size in sizes:
        for (analysis, rows), (cpu_s, resident_mb) in measured((size,), options.analyses).items():
            print(
                f"{analysis:<12}{rows:>12.0e}{cpu_s:>10.2f}{1e6 * cpu_s / rows:>10.3f}{resident_mb:>13.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
