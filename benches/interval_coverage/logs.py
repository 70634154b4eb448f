"""Responses and throughput of simulated logs of half an hour."""

from __future__ import annotations

import functools
import math
import tempfile
from functools import partial
from pathlib import Path

from interval_coverage.registry import Hits, holds, kind
from thinktime.analyses.response.analysis import ResponseGroup, analyse
from thinktime.log import Log
from thinktime.models.queueing.networks import Station, mva
from thinktime.sources.simulated import simulate

LENGTH_S, LONG_S = 1800.0, 800_000.0
THINK_S, SERVICE_S = 12.0, 0.4
QUANTILES = {"p50": "median_response_s", "p90": "p90_response_s", "p99": "p99_response_s"}


def machine(users: int, discipline: str) -> dict[str, object]:
    """Users who think for 12 s and want 0.4 s of a processor."""
    return {
        "users": users,
        "think": f"exponential(mean={THINK_S})",
        "stations": [{"name": "cpu", "discipline": discipline, "service": f"exponential(mean={SERVICE_S})"}],
    }


@functools.cache
def truth(users: int, discipline: str) -> dict[str, float]:
    """Quantiles by a simulation of 800 000 s, the mean by mean value analysis."""
    run = simulate(
        "network", machine(users, discipline) | {"length": LONG_S, "warm_up": 1000.0}, seed=7, replications=8
    ).responses
    found = {name: float(run[column].mean()) for name, column in QUANTILES.items()}
    exact = mva([Station("cpu", SERVICE_S)], users, THINK_S)
    return found | {"mean": exact["response_s"], "throughput": exact["throughput_per_s"]}


def responses(users: int, discipline: str, seed: int) -> Hits:
    """Responses of all interactions of one log."""
    true = truth(users, discipline)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        run = simulate(
            "network",
            machine(users, discipline) | {"length": LENGTH_S, "warm_up": 100.0},
            seed=seed,
            threads=1,
        )
        run.record(path, trace=True)
        group: ResponseGroup = analyse(Log.open(path)).overall
    waiting = group.response
    estimates = {name: getattr(waiting, name) for name in ("mean", *QUANTILES)}
    return {name: holds(estimate, true[name]) for name, estimate in estimates.items()}


for users, discipline, load in (
    (10, "processor_sharing", "0.3"),
    (30, "processor_sharing", "0.9"),
    (45, "fcfs", "saturated"),
):
    kind(
        name=f"log-response-{users}",
        interval="Responses in a log",
        data=f"half an hour, {users} users, {load}",
        trials=500,
        block=25,
        least=0.90,
        most=0.98,
    )(partial(responses, users, discipline))


@functools.cache
def single_server(load: float) -> dict[str, object]:
    """M/M/1 with a mean service time of 1 s; length and warm-up are the defaults."""
    return {
        "arrivals": f"exponential(mean={1.0 / load})",
        "stations": [{"name": "cpu", "discipline": "fcfs", "service": "exponential(mean=1)"}],
    }


def simulated(load: float, seed: int) -> Hits:
    """Responses of an M/M/1 queue as `thinktime simulate network` prints them; exponential."""
    found = simulate("network", single_server(load), seed=seed, replications=8, threads=1).estimates()
    mean = 1.0 / (1.0 - load)
    hits = {"mean": holds(found["mean_response_s"], mean)}
    for name, q in (("median", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
        hits[name] = holds(found[f"{name}_response_s"], -math.log(1.0 - q) * mean)
    return hits


def constant_service(seed: int) -> Hits:
    """M/D/1 at 0.8: Pollaczek and Khinchine's mean."""
    network = {
        "arrivals": "exponential(mean=1.25)",
        "stations": [{"name": "cpu", "discipline": "fcfs", "service": 1.0}],
    }
    found = simulate("network", network, seed=seed, replications=8, threads=1)
    return {"mean": holds(found.estimate("mean_response_s"), 1.0 + 0.8 / (2.0 * 0.2))}


for load in (0.3, 0.9):
    kind(
        name=f"simulated-mm1-{load:g}",
        interval="Simulations at default length",
        data=f"M/M/1 at {load:g}",
        trials=600,
        block=25,
        least=0.90,
    )(partial(simulated, load))
kind(
    name="simulated-md1", interval="Simulations at default length", data="M/D/1 at 0.8", trials=600, block=25
)(constant_service)
