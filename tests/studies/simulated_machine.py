"""The folder of a study of this machine whose plays were simulated: work, and what it costs, are known."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from thinktime.log import Log, LogWriter
from thinktime.sources.simulated import simulate
from thinktime.studies.this_machine.design import Design, Play, Wanted, decided

CPUS = 2
SERVICE_S = 0.05
THINK_S = 0.5
USERS = (1, 5, 9, 13, 17, 21, 25, 30)
"""Two CPUs are saturated by 2 (0.05 + 0.5) / 0.05 = 22 users."""
USER_PART = 0.75
"""Part of the CPU time that is user time."""
FAULTS, FAULT_S = 20, 2e-4
"""Page faults of an interaction, and what one costs."""
SECONDS = 150
MACHINE = {"cpus": CPUS, "cpu_model": "simulated processor", "hostname": "here"}


def design(users: tuple[int, ...] = USERS, seed: int = 1) -> Design:
    """Plays of a study with these numbers of users."""
    cost = {
        "request": "page_faults_minor",
        "seconds": FAULT_S,
        "low": 0.9 * FAULT_S,
        "high": 1.1 * FAULT_S,
        "n": 40,
        "method": "batches of 1000",
        "gross_seconds": FAULT_S,
        "real_seconds": FAULT_S,
        "page_faults_minor": 1.0,
        "context_switches": 0.0,
    }
    response = {"median": 2e-4, "low": 1.8e-4, "high": 2.2e-4, "n": 300}
    floor = {
        "n": 300,
        "users": 4,
        "response_s": response,
        "response_max_s": 1e-3,
        "reaction_s": None,
        "service_s": None,
        "driver_cpu_s": 0.1,
    }
    wanted = Wanted(users=users, seed=seed)
    return decided(wanted, service_s=SERVICE_S, cpus=CPUS, floor=floor, direct_costs=[cost])


def write(
    folder: Path,
    made: Design,
    *,
    service_s: Callable[[Play], float] = lambda _: SERVICE_S,
    problem: Callable[[Play], str | None] = lambda _: None,
) -> None:
    """Write the design and a log for each of its plays, in which work takes `service_s` of CPU time."""
    folder.mkdir()
    made.write(folder)
    for play in made.plays:
        _log(folder / play.name, play, service_s(play), problem(play))


def _log(path: Path, play: Play, service_s: float, problem: str | None) -> None:
    station = {"name": "cpu", "discipline": "processor_sharing", "servers": CPUS}
    parameters = {
        "users": play.users,
        "think": f"exponential(mean={THINK_S})",
        "length": SECONDS,
        "interval": 1.0,
        "stations": [station | {"service": f"exponential(mean={service_s})"}],
    }
    with tempfile.TemporaryDirectory() as scratch:
        simulate("network", parameters, seed=play.seed).record(Path(scratch, "log"), trace=True)
        log = Log.open(Path(scratch, "log"))
        inputs, samples = log.interactions().collect(), log.samples().collect()
    # Evenly over the time: the sums are what is asked for.
    length = samples["length_s"].to_numpy()
    used = float(inputs["service_s"].fill_null(0.0).sum()) * length / length.sum()
    free = CPUS * length - used
    states = {"user_s": USER_PART * used, "system_s": (1.0 - USER_PART) * used, "idle_s": free}
    outcome = {"driver_cpu_s": 0.01 * SECONDS, "elapsed_s": float(SECONDS), "driver_problem": problem}
    with LogWriter.open(path, source="linux", machine=MACHINE, start_us=0) as writer:
        writer.write(
            "samples",
            samples.select("start", "length_s").with_columns(
                *(pl.Series(name, values) for name, values in states.items())
            ),
        )
        writer.write(
            "interactions",
            inputs.with_columns(
                (pl.col("service_s") * USER_PART).alias("user_s"),
                (pl.col("service_s") * (1.0 - USER_PART)).alias("system_s"),
                pl.when(pl.col("service_s").is_not_null()).then(FAULTS).alias("page_faults_minor"),
            ),
        )
        users = f"1..{play.users}" if play.users > 1 else "1"
        writer.set("driver_nice", -10)
        writer.set("terminals", {"users": users, "outcome": outcome})
        writer.end_us = SECONDS * 1_000_000
