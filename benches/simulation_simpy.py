"""The workloads of simulation.h in SimPy, written as its documentation does."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any, NamedTuple

THINK_S = 20.0
SHORT_S, LONG_S, SHORT_PART = 0.1, 5.0, 0.9
SLICE_S = 0.1
SWAP_S = 0.1


class Counts(NamedTuple):
    interactions: int
    throughput: float
    mean_response_s: float


def repairman(users: int, service_s: float, length_s: float, seed: int) -> Counts:
    """Users think and ask one server, first come first served."""
    import simpy

    rng = random.Random(seed)
    responses: list[float] = []

    def user() -> Generator[Any, Any, None]:
        while True:
            yield machine.timeout(rng.expovariate(1 / THINK_S))
            asked = machine.now
            with server.request() as request:
                yield request
                yield machine.timeout(rng.expovariate(1 / service_s))
            responses.append(machine.now - asked)

    machine = simpy.Environment()
    server = simpy.Resource(machine)
    for _ in range(users):
        machine.process(user())
    machine.run(until=length_s)
    return Counts(len(responses), len(responses) / length_s, sum(responses) / len(responses))


def timesharing(users: int, length_s: float, replications: int, seed: int) -> Counts:
    """Users think, are swapped in, and get the processor round robin; replications from empty."""
    import simpy

    rng = random.Random(seed)
    responses: list[float] = []

    def user() -> Generator[Any, Any, None]:
        while True:
            yield machine.timeout(rng.expovariate(1 / THINK_S))
            asked = machine.now
            with disk.request() as request:
                yield request
                yield machine.timeout(SWAP_S)
            remaining = rng.expovariate(1 / (SHORT_S if rng.random() < SHORT_PART else LONG_S))
            while remaining > 0:
                with processor.request() as request:
                    yield request
                    yield machine.timeout(min(remaining, SLICE_S))
                remaining -= SLICE_S
            responses.append(machine.now - asked)

    for _ in range(replications):
        machine = simpy.Environment()
        disk, processor = simpy.Resource(machine), simpy.Resource(machine)
        for _ in range(users):
            machine.process(user())
        machine.run(until=length_s)
    throughput = len(responses) / (length_s * replications)
    return Counts(len(responses), throughput, sum(responses) / len(responses))
