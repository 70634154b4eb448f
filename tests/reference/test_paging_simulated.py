"""The paging model against the simulated Multics over core, users, eligible processes and processors.

The model takes means in the place of everything that fluctuates, so that it cannot be within the simulation's
error. It is held to what it is good for instead: shares of capacity within some points, over the whole range.
"""

import math
from functools import lru_cache

import pytest

from thinktime.models.paging.lockout import KINDS
from thinktime.models.paging.throughput import predict
from thinktime.predictions.simulated_multics import of_parameters
from thinktime.sources.simulated import simulate

MACHINE = {
    "version": "14",
    "headway": 5.5,
    "gate_headway": 50,
    "segment_headway": 480,
    "active_segments": 300,
    "disk_share": 0.25,
    "disk_access": 80,
    "modified": 0.16,
    "kept": 0.8,
    "quantum": 1.5,
    "demand": 2,
    "length": 1800,
    "warm_up": 450,
}
"""Stated here, whatever the version's own figures are."""
RANGE = [
    {"core": 256, "users": 40, "max_eligible": 4.5},
    {"core": 256, "users": 40, "max_eligible": 16},
    {"core": 128, "users": 40, "max_eligible": 4},
    {"core": 512, "users": 60, "max_eligible": 2},
    {"core": 384, "users": 5, "max_eligible": 6},
    {"core": 256, "users": 20, "max_eligible": 8},
    {"core": 384, "users": 48, "max_eligible": 5.8, "cpus": 2},
    {"core": 192, "users": 40, "max_eligible": 8, "cpus": 2},
]
SHARE, EVENT = 0.05, 0.035
"""Points by which shares may differ: useful work and idling, and each kind of event."""


@lru_cache
def simulated(at):
    """Responses of one replication of a machine of the range."""
    return simulate("multics", {**MACHINE, **RANGE[at]}, seed=1).responses.row(0, named=True)


def deviations(at, system):
    """How far the prediction is from a simulation, in units of what is allowed; the greatest first."""
    ran, found = simulated(at), predict(system)
    off = {name: abs(found[name] - ran[name]) / SHARE for name in ("useful_share", "idle_share")}
    off |= {f"{kind}_share": abs(found[f"{kind}_share"] - ran[f"{kind}_share"]) / EVENT for kind in KINDS}
    times = found["page_fault_between_s"] / ran["page_fault_between_s"]
    off["page_fault_between_s"] = abs(math.log(times)) / math.log(1.4)
    off["useful_share, relative"] = abs(math.log(found["useful_share"] / ran["useful_share"])) / math.log(1.3)
    return sorted(off.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("at", range(len(RANGE)), ids=lambda at: "-".join(map(str, RANGE[at].values())))
def test_the_model_is_close_to_the_simulation(at):
    off = deviations(at, of_parameters({**MACHINE, **RANGE[at]}).machine)
    assert off[0][1] < 1.0, off[:3]


def test_the_simulation_notices_a_wrong_model():
    """A canary: one with half the core, or without locks, is not within it."""
    at = len(RANGE) - 2
    for wrong in ({"core": 224}, {"locks": "none", "interference": 0, "max_eligible": 8}):
        off = deviations(at, of_parameters({**MACHINE, **RANGE[at], **wrong}).machine)
        assert off[0][1] > 1.0, off[:3]
