"""Response times beside other work that competes with users on equal terms, or gives way: simulated logs."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from interval_coverage.registry import Hits, holds, kind
from thinktime.log import Log, LogWriter
from thinktime.models.sizing import Machine, Work, course, fit
from thinktime.predictions.size.measured import Measured, measured
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Estimate

WORK = Work(think_s=0.5, cpu_s=0.05)
"""Of the users."""
OTHERS_CPU_S = 0.04
"""CPU time of a piece of the other work."""
LEVELS = (4, 8, 12)
"""Users recorded."""
LENGTH_S = 60.0


def recorded(path: Path, users: int, *, others: float, gives_way: bool, cpus: int, seed: int) -> Log:
    """Log of users beside other work that uses `others` CPUs.

    On equal terms, all share the CPUs in equal parts. Work that gives way goes on while users need no CPU: of
    one CPU it is simulated with a lower priority; of several, users are simulated without it, and the
    counters of their machine have it.
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
    given = {"users": 0, "length": LENGTH_S, "interval": 1.0, "stations": [station], "classes": kinds}
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


def measurement(
    seed: int, *, others: float, gives_way: bool, cpus: int = 2, levels: tuple[int, ...] = LEVELS
) -> Measured:
    """What logs at several numbers of users say."""
    with tempfile.TemporaryDirectory() as folder:
        logs = []
        for users in levels:
            place = Path(folder) / str(users)
            place.mkdir()
            made = partial(recorded, place, users, seed=1000 * seed + users)
            logs.append(made(others=others, gives_way=gives_way, cpus=cpus))
        result = measured(logs, [str(users) for users in levels])
    assert isinstance(result, Measured)
    return result


def beside(how: tuple[float, int, tuple[int, ...]], seed: int, *, gives_way: bool) -> Hits:
    """Other work that users wait for, and the mean response with twice the users.

    Where all of the other work is taken to be waited for, that is held if users do wait for all of it.
    """
    others, cpus, levels = how
    found = measurement(seed, others=others, gives_way=gives_way, cpus=cpus, levels=levels)
    users, waited_for = 2 * levels[-1], 0.0 if gives_way else others
    response = fit(found.levels(), found.machine).courses(found.machine, users).response_s[:, -1]
    low, middle, high = np.quantile(response, (0.025, 0.5, 0.975)).tolist()
    estimate = Estimate(value=middle, unit="s", low=low, high=high, n=1, method="predicted")
    truth = course(WORK, Machine(cpus=cpus, background=waited_for), users).response_s[-1]
    part = found.yielding
    return {
        "other work waited for": not gives_way if part is None else holds(part.waited_for, waited_for),
        "response": holds(estimate, float(truth)),
    }


HOW = (
    (0.15, 2, LEVELS),
    (0.3, 1, (2, 4, 6)),
    (0.4, 2, LEVELS),
    (1.0, 2, LEVELS),
    (1.0, 2, (8,)),
    (1.5, 2, (2, 4, 6)),
)
"""CPUs of other work, CPUs, and users recorded."""
NOTE = (
    "other work of less than a tenth of the CPUs that gives way is hardly recognised; the error of how much "
    "it uses is in no interval"
)

for others, cpus, levels in HOW:
    for gives_way in (False, True):
        kind(
            name=f"size-beside-{others:g}-of-{cpus}-{len(levels)}-{'yielding' if gives_way else 'equal'}",
            interval="Users that fit: beside other work",
            data=f"{LENGTH_S:.0f} s each with {', '.join(map(str, levels))} users, {cpus} CPUs, {others:g} "
            f"of other work {'that gives way' if gives_way else 'on equal terms'}",
            trials=60,
            block=10,
            least=0.90,
            most=1.0,
            note=NOTE,
        )(partial(beside, (others, cpus, levels), gives_way=gives_way))
