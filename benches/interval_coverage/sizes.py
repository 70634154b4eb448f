"""Response times with more users than were measured, from simulated logs at several numbers of users."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from interval_coverage.registry import Hits, holds, kind
from thinktime.log import Log
from thinktime.models.sizing import Machine, Work, course, fit
from thinktime.predictions.size.measured import Measured, measured
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Estimate

THINK_S, SERVICE_S, LENGTH_S, CPUS = 0.4, 0.04, 40.0, 2
SERVICES = {
    "exponential": f"exponential(mean={SERVICE_S})",
    "variation 1.7": "hyperexponential(weights=[0.9,0.1],means=[0.02,0.22])",
}


def measurement(service: str, levels: tuple[int, ...], seed: int, folder: Path) -> Measured:
    """What simulated logs, one at each number of users, say."""
    station = {"name": "cpu", "discipline": "processor_sharing", "servers": CPUS, "service": service}
    logs = []
    for users in levels:
        given = {"users": users, "think": f"exponential(mean={THINK_S})", "length": LENGTH_S, "interval": 1.0}
        run = simulate("network", given | {"stations": [station]}, seed=seed + users, threads=1)
        run.record(folder / str(users), trace=True)
        logs.append(Log.open(folder / str(users)))
    found = measured(logs, [str(users) for users in levels])
    assert isinstance(found, Measured)
    return found


def predicted(service: str, levels: tuple[int, ...], seed: int) -> Hits:
    """Mean response, throughput and utilisation with twice the users, and on twice the CPUs."""
    with tempfile.TemporaryDirectory() as folder:
        found = measurement(service, levels, seed, Path(folder))
    fitted = fit(found.levels(), found.machine)
    users = 2 * levels[-1]
    hits: dict[str, bool | str | None] = {}
    for cpus in (CPUS, 2 * CPUS):
        machine = Machine(cpus=cpus, background=found.machine.background)
        courses = fitted.courses(machine, users)
        true = course(Work(think_s=THINK_S, cpu_s=SERVICE_S), Machine(cpus=cpus), users)
        for name in ("response_s", "throughput_per_s"):
            low, middle, high = np.quantile(getattr(courses, name)[:, -1], (0.025, 0.5, 0.975))
            estimate = Estimate(
                value=float(middle), unit="", low=float(low), high=float(high), n=1, method="predicted"
            )
            words = f"{name.split('_')[0]}, {cpus} CPUs"
            hits[words] = holds(estimate, float(getattr(true, name)[-1]))
    return hits


for variation, service in SERVICES.items():
    for levels in ((8,), (4, 8, 12)):
        kind(
            name=f"size-{variation.split()[-1]}-{len(levels)}",
            interval="Users that fit: twice the users measured",
            data=f"{LENGTH_S:.0f} s each with {', '.join(map(str, levels))} users, CPU times {variation}",
            trials=200,
            block=10,
            least=0.90,
            # The error of the model itself is part of the interval, and a simulation has none.
            most=1.0,
        )(partial(predicted, service, levels))
