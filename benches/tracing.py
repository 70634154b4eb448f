"""What tracing costs a load of switches of tasks, beside `perf record` of the same events in the same run.

On each CPU two processes pass a byte to and fro, so that the machine does nothing but switch: the most that
tracing can cost. Rounds with and without each tracer alternate, since the speed of a machine drifts; the
figures are medians of the rounds: the share of the switches that is lost, with the work of whoever reads,
and the CPU time that a switch takes more, which others who use the machine hardly change.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from programs import ROOT, build_c

RECORDER = ROOT / "target" / "static" / "thinktime-recorder"
ROUNDS = 5
SECONDS = 2.0
BEGIN_S = 1.5
"""Time that a tracer has to begin."""
PERF_EVENTS = "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new"


def switches(program: Path) -> tuple[float, float]:
    """Switches a second, and CPU time of each [ns]."""
    done = subprocess.run([program, str(SECONDS)], check=True, capture_output=True, text=True)
    rate, cpu_ns = map(float, done.stdout.split())
    return rate, cpu_ns


@contextmanager
def running(command: list[str | Path], messages: Path) -> Iterator[None]:
    """A tracer at work, which writes its messages to a file: nobody reads a pipe meanwhile."""
    with messages.open("w") as file:
        tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file)
    try:
        time.sleep(BEGIN_S)
        if tracer.poll() is not None:
            said = messages.read_text().strip()
            raise RuntimeError(f"{command[0]} ended with status {tracer.returncode}: {said}")
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait()


def tracers(folder: Path) -> dict[str, list[str | Path]]:
    """Command lines by name."""
    record = [RECORDER, "record", "--force", "--interval", "1s", "-o", folder / "log"]
    found: dict[str, list[str | Path]] = {
        "recorded without a trace": record,
        "traced, aggregated": [*record, "--trace"],
        "traced, every event": [*record, "--trace-events"],
        "traced by raw tracepoints": [*record, "--trace", "--trace-attach", "raw_tracepoint"],
        "traced by fields of tracepoints": [*record, "--trace", "--trace-attach", "tracepoint"],
    }
    perf = shutil.which("perf")
    if perf is not None:
        found["perf record"] = [perf, "record", "-q", "-a", "-e", PERF_EVENTS, "-o", folder / "perf.data"]
    return found


def row(name: str, unit: str, ours: float, perf: float | None) -> dict[str, Any]:
    return {
        "work": name,
        "unit": unit,
        "ours": ours,
        "reference": perf,
        "reference_name": None if perf is None else "perf record of switches and wake-ups",
        "ratio": None if perf is None or ours <= 0 else perf / ours,
    }


def run() -> list[dict[str, Any]]:
    """Share of the switches that each tracer costs."""
    if os.geteuid() != 0:
        print("tracing: needs root")
        return []
    subprocess.run(["make", "--silent", "static"], check=True, cwd=ROOT)
    program = build_c("tracing_switches")
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        all_tracers = tracers(Path(folder))
        lost: dict[str, list[float]] = {name: [] for name in all_tracers}
        added: dict[str, list[float]] = {name: [] for name in all_tracers}
        rates = []
        for _ in range(ROUNDS):
            for name, command in all_tracers.items():
                before, before_ns = switches(program)
                with running(command, Path(folder) / "messages"):
                    during, during_ns = switches(program)
                after, after_ns = switches(program)
                rates += [before, after]
                lost[name].append(1.0 - 2.0 * during / (before + after))
                added[name].append(during_ns - (before_ns + after_ns) / 2.0)
    print(f"tracing: {statistics.median(rates):,.0f} switches a second without a tracer")
    rows = []
    for what, unit, scale, rounds in (
        ("switches lost while", "%", 100.0, lost),
        ("CPU time of a switch more while", "ns", 1.0, added),
    ):
        figures = {name: scale * statistics.median(of) for name, of in rounds.items()}
        perf = figures.pop("perf record", None)
        rows += [row(f"{what} {name}", unit, figure, perf) for name, figure in figures.items()]
    return rows
