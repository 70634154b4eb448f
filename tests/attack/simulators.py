"""Attack on the parameters of the simulated systems: thousands of settings at their extremes.

Each setting has a process of its own. It may be refused with a message, or run to figures that are finite
or absent. Everything else is a defect: an abort, a panic, a traceback, a law that does not hold, a run that
outlasts the clock, an infinite figure, a warning on stderr. Run ``python tests/attack/simulators.py``: it
prints the defects and the counts, and ends with status 1 after a defect.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import random
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

from process import outcome

from thinktime.errors import InputError, WorkError
from thinktime.sources import simulated

SECONDS = 12
"""Time that a setting may take [s]."""
MAX_EVENTS = 10_000_000
"""Limit on events with which settings run: a few seconds of one core."""
LENGTH_S = 600
"""Length of a run, where the setting has none [s]."""

NUMBERS: tuple[Any, ...] = (
    0,
    1,
    2,
    3,
    31,
    32,
    63,
    64,
    127,
    1000,
    10_000,
    100_000,
    10**6,
    10**7,
    10**9,
    10**12,
    10**15,
    10**18,
    2**32,
    2**63,
    2**64 - 1,
    2**64,
    -1,
    0.5,
    0.999999999,
    1.5,
    0.1,
    1e-3,
    1e-6,
    1e-9,
    1e-10,
    1e-12,
    1e-300,
    5e-324,
    1e100,
    1e300,
    1.7e308,
    -1e-300,
    -1e300,
)
DISTRIBUTIONS: tuple[Any, ...] = (
    0,
    1e-300,
    1e-9,
    1e-6,
    1,
    1000,
    1e6,
    1e9,
    1e18,
    1e300,
    "exponential(mean=1e-9)",
    "exponential(mean=1e-6)",
    "exponential(mean=1e-3)",
    "exponential(mean=1000)",
    "exponential(mean=1e9)",
    "exponential(mean=1e18)",
    "uniform(low=0,high=1e-9)",
    "uniform(low=0,high=1e18)",
    "lognormal(mean=1,sd=1000)",
    "lognormal(mean=1e-6,sd=1e3)",
    "lognormal(mean=1e9,sd=1e9)",
    "hyperexponential(weights=[0.999,0.001],means=[1e-9,1e9])",
    "discrete(values=[0,1e18],weights=[0.5,0.5])",
    "erlang(stages=1000,mean=1)",
    "pareto(shape=0.5,scale=1)",
    "uniform(low=0,high=10)",
    "discrete(values=[0],weights=[1])",
    "exponential(mean=0)",
)
STATIONS: tuple[Any, ...] = tuple(
    {"name": "server", "discipline": discipline, "service": service, **more}
    for discipline, more in (
        ("fcfs", {}),
        ("fcfs", {"servers": 1000}),
        ("priority", {}),
        ("preemptive_priority", {}),
        ("round_robin", {"time_slice": 0.1}),
        ("round_robin", {"time_slice": 1e-9}),
        ("round_robin", {"time_slice": 1e-300}),
        ("round_robin", {"time_slice": 1e-6, "switching": 1e9}),
        ("feedback", {"time_slices": [1e-9, 1e-9]}),
        ("feedback", {"time_slices": [1, 1e18]}),
        ("least_attained", {}),
        ("processor_sharing", {}),
        ("shortest_remaining", {}),
        ("delay", {}),
    )
    for service in (
        0.5,
        1e-9,
        "exponential(mean=0.5)",
        "exponential(mean=1e-6)",
        1e9,
        "lognormal(mean=1,sd=1000)",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A system with values of its parameters."""

    system: str
    parameters: dict[str, Any]


def values(parameter: simulated.SystemParameter) -> tuple[Any, ...]:
    """Extreme values of one parameter."""
    if parameter.name == "stations":
        return tuple([station] for station in STATIONS)
    if parameter.name == "classes":
        return tuple(
            [{"name": "one", **source}]
            for source in (
                {"users": 10**7, "think": 1e-9},
                {"users": 1, "think": 0},
                {"arrivals": 1e-9},
                {"arrivals": 1e-3},
                {"arrivals": "exponential(mean=1e-6)"},
                {"users": 10**6, "think": "exponential(mean=20)"},
            )
        )
    if parameter.name == "route":
        return (
            "all",
            ["server"] * 10_000,
            {"start": "server", "server": {"server": 0.9999999, "leave": 1e-7}},
        )
    if parameter.name.startswith("mix_"):
        return ([1e308] * 4, [0, 0, 0, 1], [1e-300] * 4, [0, 0, 0, 0])
    if "one of:" in parameter.allowed:
        return tuple(parameter.allowed.split("one of:")[1].replace(" ", "").split(","))
    if parameter.allowed == "give true or false":
        return (True, False)
    if "distribution" in parameter.allowed:
        return DISTRIBUTIONS
    return NUMBERS


def settings(count: int, seed: int) -> list[Setting]:
    """Every value of every parameter alone, then random pairs to fours, `count` in all."""
    draw = random.Random(seed)
    made: list[Setting] = []
    described = simulated.systems()
    for system in described:
        for parameter in system.parameters:
            made += [
                Setting(system=system.name, parameters={parameter.name: value}) for value in values(parameter)
            ]
    draw.shuffle(made)
    alone = made[: count * 3 // 4]
    while len(alone) < count:
        system = draw.choice(described)
        chosen = draw.sample(system.parameters, draw.randint(2, 4))
        alone.append(
            Setting(system=system.name, parameters={item.name: draw.choice(values(item)) for item in chosen})
        )
    return alone


def completed(setting: Setting) -> dict[str, Any]:
    """Parameters of `setting` with what the system needs in addition, and a length that ends soon."""
    parameters = dict(setting.parameters)
    parameters.setdefault("length", LENGTH_S)
    if setting.system == "network":
        parameters.setdefault("stations", [{"name": "server", "discipline": "fcfs", "service": 0.5}])
        if not {"users", "arrivals", "classes"} & parameters.keys():
            parameters |= {"users": 10, "think": "exponential(mean=5)"}
    return parameters


def judged(setting: Setting) -> str:
    """Outcome of a setting, in this process."""
    # A version without limits is attacked without them.
    limits: dict[str, Any] = {}
    if hasattr(simulated, "Limits"):
        limits["limits"] = simulated.Limits(max_events=MAX_EVENTS)
    try:
        result = simulated.simulate(
            setting.system, completed(setting), seed=1, replications=2, threads=2, **limits
        )
        infinite = [
            name for name in result.units if any(_infinite(value) for value in result.responses[name])
        ]
        for name in result.units:
            json.dumps(str(result.estimate(name)))
            if "inf" in str(getattr(result.estimate(name), "value", "")):
                infinite.append(name)
    except InputError as error:
        return f"refused: {error}"
    except WorkError as error:
        text = str(error)
        return f"{'panic' if 'panic' in text else 'false defect' if 'defect' in text else 'failed'}: {text}"
    except BaseException as error:
        return f"traceback: {type(error).__name__}: {error}"
    return f"infinite: {', '.join(sorted(set(infinite)))}" if infinite else "ran"


def _infinite(value: float | None) -> bool:
    return value is not None and not math.isfinite(value)


def main() -> int:
    """Attack, print a table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=5000, help="settings to try")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of settings")
    parser.add_argument("--show", action="append", default=[], help="also show outcomes of this kind")
    options = parser.parse_args()
    importlib.import_module("polars")  # Once, before the forks.
    simulated.systems()
    kinds: Counter[str] = Counter()
    for setting in settings(options.count, options.seed):
        kind, text, took = outcome(partial(judged, setting), seconds=SECONDS)
        kinds[kind] += 1
        if kind not in ("ran", "refused") or kind in options.show:
            print(f"{kind}: {setting.system} {setting.parameters} ({took:.1f} s): {text[:300]}", flush=True)
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    return int(set(kinds) - {"ran", "refused"} != set())


if __name__ == "__main__":
    sys.exit(main())
