"""The two workloads of simulation.h in every program, each checked to compute the same thing."""

from __future__ import annotations

import functools
import itertools
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import build_c, output_and_cpu_seconds
from simulation_simpy import Counts
from simulation_simpy import repairman as simpy_repairman
from simulation_simpy import timesharing as simpy_timesharing

USERS = 35
THINK_S, SERVICE_S = 20.0, 0.5
LENGTH_S = 600.0

HEAP = "C, binary heap"
PACKED = "C, binary heap of whole numbers"
TREE = "C, tournament tree"
SIMPY = "SimPy"
OURS = "ours"

TIMESHARING = (1.51652, 2.8335)
"""Throughput [1/s] and mean response [s] in 600 s from empty: 1.4e6 replications by the C programs, whose
errors are 0.0001 and 0.001."""
TIMESHARING_ERRORS = (0.076, 1.02)
"""Standard deviations of these in one replication."""
THROUGHPUT_ERROR = 1.0
"""Of the repairman: relative standard error times the root of the number of interactions. Measured 0.83 with
35 users; less than 1 with any number, since a closed system is more regular than Poisson arrivals."""
RESPONSE_ERROR = {True: 4.0, False: 17.0}
"""The same of the mean response: measured 4.0 with 35 users; with many, when they are as M/M/1 at a load of
0.875, the root of (2 + 5 r - 4 r^2 + r^3) / r / (1 - r)^2 (Whitt 1989)."""

seeds = itertools.count(1)


@dataclass(frozen=True)
class Measured:
    """One run of a program: what it cost, and what it found."""

    cpu_s: float
    interactions: float
    events: float
    throughput: float
    mean_response_s: float


def service_s(users: int) -> float:
    """Mean service time that gives any number of users the same load."""
    return SERVICE_S * USERS / users


@functools.cache
def repairman_throughput(users: int) -> float:
    """Exact throughput [1/s], by mean value analysis."""
    present = throughput = 0.0
    for n in range(1, users + 1):
        response = service_s(users) * (1 + present)
        throughput = n / (THINK_S + response)
        present = throughput * response
    return throughput


def length_s(users: int, interactions: float) -> float:
    """Simulated time in which the repairman's users have about so many interactions."""
    return interactions / repairman_throughput(users)


def refuse(who: str, what: str, found: float, right: float, error: float) -> None:
    """Refuse a program that computes something else: four standard errors, false alarm 6e-5."""
    if not abs(found - right) <= 4 * error:
        raise ValueError(f"{who}: {what} is {found:.6g}, not {right:.6g} ± {error:.2g}: not the same work")


def checked_repairman(who: str, users: int, run: Measured) -> Measured:
    """Refuse a run whose figures are not those of the theory."""
    throughput = repairman_throughput(users)
    response = users / throughput - THINK_S
    root = math.sqrt(run.interactions)
    refuse(who, "throughput", run.throughput, throughput, throughput * THROUGHPUT_ERROR / root)
    refuse(
        who, "mean response", run.mean_response_s, response, response * RESPONSE_ERROR[users <= USERS] / root
    )
    return run


def checked_timesharing(who: str, replications: int, run: Measured) -> Measured:
    """Refuse a run whose figures are not those of the long runs."""
    found = (run.throughput, run.mean_response_s)
    names = ("throughput", "mean response")
    for name, figure, right, spread in zip(names, found, TIMESHARING, TIMESHARING_ERRORS, strict=True):
        refuse(who, name, figure, right, spread / math.sqrt(replications))
    return run


@functools.cache
def c_programs() -> dict[str, Path]:
    return {
        HEAP: build_c("simulation_heap"),
        PACKED: build_c("simulation_heap", "-DPACKED"),
        TREE: build_c("simulation_tree"),
    }


def in_c(name: str, *arguments: float | str) -> Measured:
    command = [c_programs()[name], *map(str, arguments), str(next(seeds))]
    output, used = output_and_cpu_seconds(command)
    return Measured(used, **json.loads(output))


def in_simpy(simulate: Callable[..., Counts], *arguments: float) -> Measured:
    began = time.process_time()
    found = simulate(*arguments, next(seeds))
    return Measured(time.process_time() - began, found.interactions, math.nan, *found[1:])


def in_ours(parameters: Mapping[str, Any], replications: int = 1, threads: int = 1) -> Measured:
    """Ask for the simulation as any user does; the time is that of all threads."""
    from thinktime.sources.simulated import simulate

    began = time.process_time()
    result = simulate("network", parameters, seed=next(seeds), replications=replications, threads=threads)
    used = time.process_time() - began
    completed = result.responses["completed"]
    interactions = completed.sum()
    response = (completed * result.responses["mean_response_s"]).sum() / interactions
    throughput = interactions / parameters["length"] / replications
    return Measured(used, interactions, result.events, throughput, response)


def repairman_parameters(users: int, interactions: float) -> dict[str, Any]:
    service = f"exponential(mean={service_s(users)!r})"
    return {
        "users": users,
        "think": f"exponential(mean={THINK_S})",
        "stations": [{"name": "server", "discipline": "fcfs", "service": service}],
        "length": length_s(users, interactions),
    }


def timesharing_parameters() -> dict[str, Any]:
    service = "hyperexponential(weights=[0.9,0.1],means=[0.1,5])"
    disk = {"name": "disk", "discipline": "fcfs", "service": 0.1}
    cpu = {"name": "cpu", "discipline": "round_robin", "time_slice": 0.1, "service": service}
    return {
        "users": USERS,
        "think": f"exponential(mean={THINK_S})",
        "stations": [disk, cpu],
        "length": LENGTH_S,
    }


def repairman(who: str, users: int, interactions: float) -> Measured:
    """Users think and ask one server; about so many interactions."""
    arguments = (users, service_s(users), length_s(users, interactions))
    if who == OURS:
        run = in_ours(repairman_parameters(users, interactions))
    elif who == SIMPY:
        run = in_simpy(simpy_repairman, *arguments)
    else:
        run = in_c(who, "repairman", *arguments)
    return checked_repairman(who, users, run)


def timesharing(who: str, replications: int, threads: int = 1, repeats: int = 1) -> Measured:
    """Replications of 600 s, from empty, of users who think, are swapped in, and share the processor."""
    parameters = timesharing_parameters()
    runs = []
    for _ in range(repeats):
        if who == OURS:
            runs.append(in_ours(parameters, replications, threads))
        elif who == SIMPY:
            runs.append(in_simpy(simpy_timesharing, USERS, LENGTH_S, replications))
        else:
            runs.append(in_c(who, "timesharing", USERS, LENGTH_S, replications))
    return checked_timesharing(who, replications * repeats, together(runs))


def together(runs: list[Measured]) -> Measured:
    """Return equally long runs as one."""
    interactions = sum(run.interactions for run in runs)
    responses = sum(run.interactions * run.mean_response_s for run in runs)
    return Measured(
        sum(run.cpu_s for run in runs),
        interactions,
        sum(run.events for run in runs),
        sum(run.throughput for run in runs) / len(runs),
        responses / interactions,
    )
