"""Background load counts for as much as users wait for it: on simulated machines of known truth."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from thinktime.log import Log, LogWriter
from thinktime.models.sizing import Machine, Work, course, fit
from thinktime.predictions.size.background import Waits, yielding
from thinktime.predictions.size.measured import Measured, measured
from thinktime.sources.simulated import simulate

WORK = Work(think_s=0.5, cpu_s=0.05)
OTHERS_CPU_S = 0.04
"""CPU time of a piece of the other work."""
LEVELS = (4, 8, 12)


def log(path: Path, users: int, *, others: float, gives_way: bool, cpus: int, seed: int) -> Log:
    """Log of users beside other work that uses `others` CPUs.

    On equal terms, all share the CPUs in equal parts. Work that gives way goes on while users need no CPU: of one
    CPU it is simulated with a lower priority; of several, users are simulated without it, and their machine's
    counters have it.
    """
    beside = not gives_way or cpus == 1
    station = {"name": "cpu", "discipline": "processor_sharing", "servers": cpus}
    if gives_way and beside:
        station = {"name": "cpu", "discipline": "preemptive_priority"}
    kinds = [
        {
            "name": "users",
            "users": users,
            "think": f"exponential(mean={WORK.think_s})",
            "service": {"cpu": f"exponential(mean={WORK.cpu_s})"},
        }
    ]
    if beside:
        kinds.append(
            {
                "name": "others",
                "arrivals": f"exponential(mean={OTHERS_CPU_S / others})",
                "service": {"cpu": f"exponential(mean={OTHERS_CPU_S})"},
                "priority": 1,
            }
        )
    given = {"users": 0, "length": 60.0, "interval": 1.0, "stations": [station], "classes": kinds}
    simulate("network", given, seed=seed, threads=1).record(path / "all", trace=True)
    everything = Log.open(path / "all")
    samples = everything.samples().select("start", "length_s", "cpu_busy_s").collect()
    used = samples["cpu_busy_s"].to_numpy() + (0.0 if beside else others * samples["length_s"].to_numpy())
    inputs = everything.interactions().filter(pl.col("class") == "users").collect()
    response = (inputs["completion"] - inputs["due"]).dt.total_microseconds() / 1e6
    waited = (response - inputs["service_s"]).clip(lower_bound=0.0).alias("run_delay_s")
    with LogWriter.open(path / "log", source="test", machine={"cpus": cpus}, start_us=0) as writer:
        writer.write("samples", samples.select("start", "length_s", pl.Series("cpu_exact_s", used)))
        writer.write("interactions", inputs.with_columns(waited))
    return Log.open(path / "log")


def found(seed: int, *, others: float, gives_way: bool, cpus: int = 2, levels=LEVELS) -> Measured:
    """What logs at several numbers of users say."""
    with tempfile.TemporaryDirectory() as folder:
        logs = []
        for users in levels:
            place = Path(folder) / str(users)
            place.mkdir()
            made = partial(log, place, users, seed=1000 * seed + users)
            logs.append(made(others=others, gives_way=gives_way, cpus=cpus))
        result = measured(logs, [str(users) for users in levels])
    assert isinstance(result, Measured)
    return result
