"""Response times with other users than were measured, from simulated logs: more of them, and by class."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from interval_coverage.registry import Hits, holds, kind
from thinktime.log import Log
from thinktime.models import Customers, Station, mixed
from thinktime.models.sizing import Machine, Work, course, fit
from thinktime.predictions.size.answer import Plan
from thinktime.predictions.size.by_class.answer import mean_responses
from thinktime.predictions.size.by_class.classes import classes
from thinktime.predictions.size.measured import Measured, measured
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Estimate

THINK_S, SERVICE_S, LENGTH_S, CPUS = 0.4, 0.04, 40.0, 2
SERVICES = {
    "exponential": f"exponential(mean={SERVICE_S})",
    "variation 1.7": "hyperexponential(weights=[0.9,0.1],means=[0.02,0.22])",
}

ALLOWED = (
    "wide: allows for CPU times that change under load (10 %) and for an error of the model (5 %), which a "
    "simulation does not have"
)
CLASSES = {"notebook": (6, 0.05, 0.5), "batch": (2, 0.2, 1.0)}
"""Users, mean CPU time and mean think time [s] of each class."""
CLASS_LENGTH_S = 60.0
MIXES = {"twice as many of each": (12, 4), "as many notebook, three times as many batch": (6, 6)}


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


def of_classes(seed: int, folder: Path) -> Log:
    """Log of users of two classes."""
    station = {"name": "cpu", "discipline": "processor_sharing", "servers": CPUS}
    described = [
        {
            "name": name,
            "users": users,
            "think": f"exponential(mean={think_s})",
            "service": {"cpu": f"exponential(mean={cpu_s})"},
        }
        for name, (users, cpu_s, think_s) in CLASSES.items()
    ]
    given = {
        "users": 0,
        "length": CLASS_LENGTH_S,
        "interval": 1.0,
        "stations": [station],
        "classes": described,
    }
    simulate("network", given, seed=seed, threads=1).record(folder / "log", trace=True)
    return Log.open(folder / "log")


def by_class(numbers: tuple[int, int], seed: int, *, alike: bool = False) -> Hits:
    """Mean response of each class with these numbers of users; `alike` gives all the same CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        log = of_classes(seed, Path(folder))
        found = measured([log], ["log"])
        known = classes([log], {})
    assert isinstance(found, Measured)
    if alike:
        known = tuple(replace(one, cpu=known[0].cpu, services=known[0].services) for one in known)
    asked = dict(zip(CLASSES, numbers, strict=True))
    estimates = mean_responses(found, fit(found.levels(), found.machine), known, Plan(), asked)
    customers = [
        Customers(name, users=asked[name], think_s=think_s) for name, (_, _, think_s) in CLASSES.items()
    ]
    demands = tuple(cpu_s for _, cpu_s, _ in CLASSES.values())
    true = mixed([Station("cpu", demands, servers=CPUS)], customers)["response_s"]
    return {
        f"response, {name}": holds(estimates[name], float(truth))
        for name, truth in zip(CLASSES, true, strict=True)
    }


sized = partial(kind, trials=200, block=10, least=0.90, most=1.0, note=ALLOWED)

for variation, service in SERVICES.items():
    for levels in ((8,), (4, 8, 12)):
        sized(
            name=f"size-{variation.split()[-1]}-{len(levels)}",
            interval="Users that fit: twice the users measured",
            data=f"{LENGTH_S:.0f} s each with {', '.join(map(str, levels))} users, CPU times {variation}",
        )(partial(predicted, service, levels))

for words, asked in MIXES.items():
    sized(
        name=f"size-classes-{len(words.split())}",
        interval="Users that fit: by class, with other numbers of users",
        data=f"{CLASS_LENGTH_S:.0f} s with 6 notebook and 2 batch users, exponential; {words}",
    )(partial(by_class, asked))
