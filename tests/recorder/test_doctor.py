"""`thinktime doctor`: every verdict has its evidence, and says what to do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "target" / "static" / "thinktime-recorder"
CLI = [sys.executable, "-c", "from thinktime.cli import main; main()", "doctor"]
ITEMS = {
    "CPU time by state",
    "CPU time in hardware interrupts",
    "exact CPU time of the machine",
    "user and system time apart from the tick",
    "exact CPU time by user",
    "disk I/O by user",
    "taskstats",
    "logged-in sessions",
    "GPU time and memory by user",
    "control groups",
    "processes that come and go between two samples",
    "time that processes wait for disks and swap",
    "slices and waits of tasks by kind (--trace)",
}


@pytest.fixture(scope="module")
def found():
    done = subprocess.run([*CLI, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_everything_is_judged_with_evidence(found):
    items = {ability["item"]: ability for ability in found["abilities"]}
    assert items.keys() >= ITEMS
    for ability in found["abilities"]:
        assert ability["state"] in {"measured", "partly", "zero", "absent"}
        assert ability["evidence"]


def test_what_is_only_in_part_has_a_remedy_or_a_reason(found):
    for ability in found["abilities"]:
        if ability["state"] == "partly":
            assert ability["remedy"], ability


def test_costs_are_measured(found):
    costs = {cost["item"]: cost["cpu_s"] for cost in found["costs"]}
    assert 0 < costs["system-wide counters"] < 0.1
    assert 0 < costs["counters by user, from /proc"] < 1
    assert found["processes"] > 1


def test_the_static_recorder_says_the_same():
    done = subprocess.run([str(STATIC), "doctor"], capture_output=True, text=True, check=True)
    for heading in ("Measured", "CPU time of a sample"):
        assert heading in done.stdout
    assert all(item in done.stdout for item in ITEMS)
