"""Frontiers of several logs, of machines whose frontiers are known; and the command."""

import json

import numpy as np
import pytest
from test_saturation import bounded

from thinktime import cli
from thinktime.analyses.saturation import comparison as saturation_comparison
from thinktime.analyses.saturation import resources
from thinktime.errors import InputError
from thinktime.stats.estimate import Caveat, NotApplicable


def scaled(made, factor):
    return made | {name: made[name] * factor for name in ("user_s", "page_faults_minor", "disk_reads")}


@pytest.fixture
def three(log_of):
    """A machine, one that does a tenth more of everything, and the first seen for longer."""
    return (
        log_of(bounded(400), name="first"),
        log_of(scaled(bounded(1200, seed=3), 1.1), name="faster"),
        log_of(bounded(1200, seed=4), name="longer"),
    )


def test_a_tenth_more_of_everything_lies_outside_by_a_tenth(three):
    work = ["user_time", "page_faults"]
    found = saturation_comparison.compare(
        three, ("first", "faster", "longer"), dimensions=work, replications=100
    )
    assert found.n == (400, 1200, 1200)
    assert len(found.pairs) == 3
    for item in found.pairs:
        further = item.further
        if (item.before, item.after) == ("first", "faster"):
            assert item.verdict == "outside"
            assert further.low <= 0.1 <= further.high
            assert item.test.direction == 1
            assert item.gap.value > 0
        if (item.before, item.after) == ("faster", "longer"):
            assert item.verdict == "inside"
            assert further.low <= 1 / 1.1 - 1 <= further.high
        if (item.before, item.after) == ("first", "longer"):
            # Three times as long a log reaches further out, by chance alone.
            assert item.verdict == "no difference"
            assert further.low <= 0.0 <= further.high
        assert item.least.value <= further.value <= item.most.value


def test_frontiers_that_cross_are_said_to_cross(log_of):
    one, other = bounded(600), bounded(600, seed=5)
    other["user_s"], other["page_faults_minor"] = other["user_s"] * 0.8, other["page_faults_minor"] * 1.25
    logs = (log_of(one, name="one"), log_of(other, name="other"))
    work = ["user_time", "page_faults"]
    found = saturation_comparison.compare(logs, ("one", "other"), dimensions=work, replications=100)
    assert found.pairs[0].verdict == "crosses"
    assert found.pairs[0].least.high < 0 < found.pairs[0].most.low


def test_logs_without_common_work_or_with_other_intervals(log_of):
    made = bounded()
    log = log_of(made, name="all")
    few = {name: made[name] for name in ("start", "length_s", "user_s", "disk_reads")}
    other = log_of(few | {"user_s": made["user_s"] * 0}, name="few")
    assert isinstance(saturation_comparison.compare((log, other), ("all", "few")), NotApplicable)
    long = made | {name: values * 2 for name, values in made.items() if name != "start"}
    found = saturation_comparison.compare((log, log_of(long, name="long")), ("all", "long"), replications=50)
    assert Caveat("unequal_intervals") in found.caveats


def test_work_that_an_idle_log_hardly_does_is_not_compared(log_of):
    """One interval with disk operations: half of the blocks may have none, and no distance to divide by."""
    idle = bounded(400, seed=2)
    idle |= {name: idle[name] * 0 for name in ("disk_reads", "disk_busy_s")}
    idle["disk_reads"][200] = 5.0
    logs = (log_of(bounded(400), name="busy"), log_of(idle, name="idle"))
    found = saturation_comparison.compare(logs, ("busy", "idle"), replications=50)
    assert Caveat("idle", name="idle", work="disk operations") in found.caveats
    assert found.pairs
    assert all("disk" not in item.x.name + item.y.name for item in found.pairs)
    assert all(np.isfinite([item.further.low, item.further.high, item.test.p]).all() for item in found.pairs)
    alone = saturation_comparison.compare(
        logs, ("busy", "idle"), dimensions=["user_time", "disk_operations"], replications=50
    )
    assert isinstance(alone, NotApplicable)
    assert "idle" in alone.reason
    assert cli.run(["analyse", "saturation", *(str(log.path) for log in logs)]) == 0


def test_ceilings_of_the_manifest_and_given_ones(log_of):
    drum = {"resource": "drum", "column": "disk_reads", "per_s": 300.0, "description": "its revolutions"}
    log = log_of(bounded(), machine={"ceilings": [drum, {"column": "no_such", "per_s": 3.0}]})
    assert resources.ceilings(log) == (
        resources.Ceiling(
            resource="drum", columns=("disk_reads",), per_s=300.0, description="its revolutions"
        ),
    )
    assert resources.ceilings(log, {"disk_reads": 200.0})[0].per_s == 200.0
    both = resources.ceilings(log, {"page_faults": 1e5})
    assert [item.resource for item in both] == ["drum", "page faults"]
    assert both[1].columns == ("page_faults_minor", "page_faults_major")
    with pytest.raises(InputError, match="no such column; there are: user_s"):
        resources.ceilings(log, {"nothing": 1.0})
    with pytest.raises(InputError, match="is not a rate"):
        resources.ceilings(log, {"disk_reads": -1.0})


def test_the_command_takes_ceilings_work_and_several_logs(three, capsys):
    first, faster, _ = (str(log.path) for log in three)
    asked = ["analyse", "saturation", first]
    work = ["--work", "user_time", "--work", "disk_reads"]
    ceiling = ["--ceiling", "disk_reads=300", "--ceiling-share", "0.8"]
    assert cli.run([*asked, *work, *ceiling, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    tables = {table["name"]: table for table in told["tables"]}
    assert tables["saturation-ceilings"]["rows"][0][0] == "disk reads"
    assert cli.run([*asked, faster, *work]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "the frontier of faster lies outside that of first" in text
    for wrong in ("disk_reads", "=3", "disk_reads=x"):
        assert cli.run([*asked, "--ceiling", wrong]) == 2
        assert "give COLUMN=RATE" in capsys.readouterr().err
    assert cli.run([*asked, "--work", "user_time", "--work", "nothing"]) == 2
    assert "has no such kind of work" in capsys.readouterr().err
    assert cli.run([*asked, first]) == 2
    assert "given twice" in capsys.readouterr().err


def test_limits_come_in_the_stated_order():
    """Memory, the CPU, a ceiling, a disk; nothing; not measured."""
    nan = np.nan
    state = resources.Resources(
        idle=np.array([0.0, 0.0, 0.5, 0.5, 0.5, nan, nan]),
        low_priority=np.array([1.0, nan, 0.0, 0.5, 0.5, nan, nan]),
        disk_busy=np.array([1.0, 1.0, 1.0, 1.0, 0.1, nan, nan]),
        memory_stall=np.array([0.5, 0.0, 0.0, 0.0, 0.0, nan, nan]),
        memory_free=np.full(7, nan),
        swapping=np.full(7, nan),
        ceilings=np.array([[1.0], [1.0], [0.95], [0.5], [0.5], [0.95], [nan]]),
    )
    names = (*resources.LIMITS, "drum")
    found = [names[place] for place in state.limits(resources.Thresholds())]
    assert found == ["memory", "cpu", "drum", "disk", "none", "drum", "unknown"]


def test_stalls_beside_much_free_memory_are_those_of_a_control_group_and_no_limit_of_the_machine():
    nan = np.nan
    state = resources.Resources(
        idle=np.array([0.5, 0.5, 0.0, 0.5]),
        low_priority=np.zeros(4),
        disk_busy=np.zeros(4),
        memory_stall=np.array([0.5, 0.5, 0.5, nan]),
        memory_free=np.array([0.1, 0.8, 0.8, 0.1]),
        swapping=np.array([nan, nan, nan, 50.0]),
        ceilings=np.zeros((4, 0)),
    )
    found = [resources.LIMITS[place] for place in state.limits(resources.Thresholds())]
    assert found == ["memory", "none", "cpu", "memory"]
