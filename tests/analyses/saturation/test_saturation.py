"""Saturation and capacity against machines whose limits were put in."""

import metered_disks
import numpy as np
import polars as pl
import pytest
from known_logs import starts

from thinktime.analyses import QUESTIONS
from thinktime.analyses.capacity import analysis as capacity
from thinktime.analyses.overhead import analysis as overhead
from thinktime.analyses.saturation import analysis as saturation
from thinktime.analyses.saturation.section import section
from thinktime.stats.estimate import Caveat, NotApplicable

CPUS, FAULT_S, OPERATION_S, DISK_RATE = 2.0, 20e-6, 5e-6, 300.0


def bounded(n=600, seed=1, pressure=1.0):
    """Two CPUs and a disk: user time + 20 us a fault <= 2 s/s, at most 300 operations/s.

    `pressure` scales what is asked for; an interval carries all of it or as much as fits.
    """
    random = np.random.default_rng(seed)
    asked_user = random.gamma(2.0, 0.8, n) * pressure
    asked_faults = random.gamma(2.0, 30_000.0, n) * pressure
    asked_disk = random.gamma(2.0, 100.0, n) * pressure
    fits = np.minimum(1.0, CPUS / (asked_user + FAULT_S * asked_faults))
    user, faults = asked_user * fits, asked_faults * fits
    disk = np.minimum(asked_disk, DISK_RATE)
    length = np.full(n, 2.0)
    system = FAULT_S * faults
    return {
        "start": starts(length),
        "length_s": length,
        "user_s": user * length,
        "nice_s": 0 * length,
        "system_s": system * length,
        "irq_s": 0 * length,
        "softirq_s": 0 * length,
        "steal_s": 0 * length,
        "iowait_s": 0 * length,
        "idle_s": np.maximum(CPUS - user - system, 0.0) * length,
        "page_faults_minor": faults * length,
        "page_faults_major": 0 * length,
        "disk_reads": disk * length,
        "disk_writes": 0 * length,
        "disk_busy_s": disk / DISK_RATE * length,
        "psi_memory_some_s": 0 * length,
    }


def test_work_at_low_priority_does_not_exhaust_the_cpu(log_of):
    """Work at nice 19 fills what the others leave: the machine can do as much of all else as without it."""
    without, filled = bounded(pressure=0.3), bounded(pressure=0.3)
    filled["nice_s"], filled["idle_s"] = without["idle_s"], without["nice_s"]
    share = saturation.analyse(log_of(without, name="without")).saturated_share["cpu"].value
    result = saturation.analyse(log_of(filled, name="filled"))
    assert result.saturated_share["cpu"].value == share < 0.2
    (caveat,) = [item for item in result.caveats if item.kind == "low_priority"]
    assert caveat.values["free"] == sum(point.limit not in {"cpu", "memory"} for point in result.points)
    assert "full only because of work at low priority (nice)" in " ".join(section(result).caveats)
    assert "too favourable near nice 1" in " ".join(section(result).caveats)
    # The recorder saw the nice values: all at 19, or all at 1.
    at_19 = saturation.analyse(log_of(filled | {"low_priority_s": filled["nice_s"]}, name="at-19"))
    assert at_19.saturated_share["cpu"].value == share
    assert "nine tenths" in " ".join(section(at_19).caveats)
    at_1 = saturation.analyse(log_of(filled | {"low_priority_s": without["nice_s"]}, name="at-1"))
    assert at_1.saturated_share["cpu"].value == 1.0
    # The canary: the same time as that of all other users.
    filled["user_s"], filled["nice_s"] = filled["user_s"] + filled["nice_s"], without["nice_s"]
    result = saturation.analyse(log_of(filled, name="used"))
    assert result.saturated_share["cpu"].value == 1.0
    assert "low_priority" not in {item.kind for item in result.caveats}


def test_the_frontier_is_maximal_and_its_limits_are_those_put_in(log_of):
    result = saturation.analyse(log_of(bounded()))
    assert [item.name for item in result.dimensions] == ["user_time", "page_faults", "disk_operations"]
    values = np.array([point.values for point in result.points])
    for at, point in enumerate(values):
        others = np.delete(values, at, axis=0)
        assert not (others >= point).all(axis=1).any()
    for point in result.points:
        cpu_full = point.idle < 0.05
        disk_full = point.disk_busy > 0.9
        assert point.limit == ("cpu" if cpu_full else "disk" if disk_full else "none")
        assert point.memory_stall == 0.0
        assert point.swapping is None
    assert sum(result.limits.values()) == len(result.points)
    assert result.limits["cpu"] > 0
    assert result.limits["memory"] == result.limits["unknown"] == 0
    assert result.saturated_share["cpu"].value > 0.2


def test_the_trade_off_is_the_cost_of_a_fault(log_of):
    """On the CPU's frontier a fault costs 20 us of user time, as Bard's page cost 11 ms of problem state."""
    result = saturation.analyse(log_of(bounded()))
    found = next(item for item in result.pairs if (item.x.name, item.y.name) == ("user_time", "page_faults"))
    assert found.overall.rate.unit == "s/fault"
    assert found.overall.rate.value == pytest.approx(FAULT_S, rel=0.05)
    assert found.overall.rate.low <= found.overall.rate.value <= found.overall.rate.high
    # The line user + 20 us x faults = 2 lies on the curve, and the band close below it.
    for x, low, high in found.band[8:-2]:
        truth = (CPUS - x) / FAULT_S
        assert 0.7 * truth <= low <= high <= 1.001 * truth + 1
    assert all(x1 < x2 for (x1, _), (x2, _) in zip(found.points, found.points[1:], strict=False))
    assert len(found.limits) == len(found.points)
    assert len(found.cloud) == 600


def test_a_frontier_of_one_sample_of_a_steady_machine_fills_in(log_of):
    result = saturation.analyse(log_of(bounded()))
    assert result.growth.settled is True
    assert result.growth.outside.value == pytest.approx(result.growth.expected_outside, abs=0.1)
    assert 0.0 <= result.growth.volume < 0.1
    assert result.growth.expected_volume < 0.1


def test_a_load_that_grows_moves_the_frontier_and_that_is_said(log_of):
    early, late = bounded(300, pressure=0.2), bounded(300, seed=2)
    made = {name: np.concatenate([early[name], late[name]]) for name in early if name != "start"}
    made["start"] = starts(made["length_s"])
    result = saturation.analyse(log_of(made))
    assert result.growth.settled is False
    assert result.growth.volume > 1.0
    assert Caveat("still_growing") in result.caveats


def test_an_idle_machine_shows_its_load_not_its_limit(log_of):
    result = saturation.analyse(log_of(bounded(pressure=0.05)))
    assert result.limits["none"] == len(result.points)
    assert "mostly_unlimited" in {caveat.kind for caveat in result.caveats}


def test_a_frontier_of_an_idle_machine_is_said_to_be_that_of_its_load(log_of):
    """The canary: a machine that is asked for more than it can do."""
    texts = []
    for pressure in (0.1, 1.0):
        result = saturation.analyse(log_of(bounded(pressure=pressure), name=f"asked {pressure}"))
        texts.append(" ".join(section(result).summary))
        assert all(pair.robust and pair.unlimited is not None for pair in result.pairs)
    assert texts[0].count("is that of this load and not of the machine") == 3
    assert "frontier of user time and page faults is that of this load" not in texts[1]


def test_memory_comes_before_cpu_and_disk(log_of):
    made = bounded()
    made["psi_memory_some_s"] = 0.5 * made["length_s"]
    assert saturation.analyse(log_of(made, name="psi")).limits["memory"] > 0
    made["psi_memory_some_s"] = made["length_s"] * np.nan
    made["swap_in_pages"], made["swap_out_pages"] = 100 * made["length_s"], 5 * made["length_s"]
    found = saturation.analyse(log_of(made, name="swap"))
    assert {point.limit for point in found.points} == {"memory"}
    assert found.points[0].swapping == 5.0
    made["swap_out_pages"] = 0 * made["length_s"]
    assert saturation.analyse(log_of(made, name="in-only")).limits["memory"] == 0


def test_the_busiest_disk_counts_where_disks_are_told_apart(log_of):
    made = bounded(pressure=0.1)
    length = made["length_s"][0]
    disks = pl.concat(
        [
            pl.DataFrame({"start": made["start"], "device": "a", "busy_s": 0.3 * length}),
            pl.DataFrame({"start": made["start"][100:], "device": "b", "busy_s": 0.95 * length}),
        ]
    )
    result = saturation.analyse(log_of(made, disks={name: disks[name] for name in disks.columns}))
    assert result.saturated_share["disk"].value == pytest.approx(500 / 600)
    assert {round(point.disk_busy, 6) for point in result.points} <= {0.3, 0.95}


@pytest.mark.parametrize(("both", "share"), [(0.0, 0.96), (1.0, 0.5)])
def test_drives_that_take_turns_fill_their_controller(both, share, tmp_path):
    """Two drives, busy for 0.5 and 0.46 of the time: in turns, they leave their controller no rest."""
    made = metered_disks.rows(drive0_busy_s=5.0, drive1_busy_s=4.6)
    for cpu in metered_disks.TICKS:
        made[f"ticks_{cpu}_both"] = np.full(40, both)
    made["block_reads"] = 40.0 + np.arange(40.0)
    log = metered_disks.write(tmp_path / "log", [(made, None)])
    result = saturation.analyse(log, dimensions=["user_s", "block_reads"])
    assert {round(point.disk_busy, 6) for point in result.points} == {share}
    assert {point.limit for point in result.points} == {"none" if both else "disk"}


def test_what_was_not_measured_is_unknown_and_said(log_of):
    made = {
        name: values
        for name, values in bounded().items()
        if name not in ("idle_s", "iowait_s", "disk_busy_s")
    }
    result = saturation.analyse(log_of(made))
    assert {point.limit for point in result.points} == {"unknown"}
    (caveat,) = (caveat for caveat in result.caveats if caveat.kind == "not_measured")
    assert caveat.values["resources"][:2] == ["idle CPU time", "disk busy time"]
    # Nothing that was not measured is called free.
    assert not any("does not saturate" in sentence for sentence in section(result).summary)
    assert any("is not known" in sentence for sentence in section(result).summary)


def test_exact_cpu_time_tells_what_states_would(log_of):
    """A trace of a scheduler has the time that tasks ran, and neither states nor idle time."""
    whole = bounded()
    states = ("user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s", "idle_s", "iowait_s")
    traced = {name: values for name, values in whole.items() if name not in states}
    traced["cpu_exact_s"] = whole["user_s"] + whole["system_s"]
    kinds = ["page_faults_minor", "disk_reads"]
    by_states = saturation.analyse(log_of(whole, name="states"), dimensions=kinds)
    exact = saturation.analyse(log_of(traced, name="exact", machine={"cpus": 2}), dimensions=kinds)
    assert exact.saturated_share["cpu"].value == by_states.saturated_share["cpu"].value > 0.3
    assert [point.limit for point in exact.points] == [point.limit for point in by_states.points]


def test_other_kinds_of_work_can_be_named(log_of):
    result = saturation.analyse(log_of(bounded()), dimensions=["page_faults_minor", "disk_reads"])
    assert [item.name for item in result.dimensions] == ["page_faults_minor", "disk_reads"]
    assert len(result.pairs) == 1


@pytest.mark.parametrize("keep", [["user_s"], [], ["user_s", "page_faults_minor"]])
def test_saturation_needs_two_kinds_of_work_and_some_intervals(log_of, keep):
    made = bounded(600 if len(keep) < 2 else 5)
    result = saturation.analyse(log_of({name: made[name] for name in ("start", "length_s", *keep)}))
    assert isinstance(result, NotApplicable)


def test_shares_of_the_capacity_add_to_one(log_of):
    made = bounded()
    result = capacity.analyse(log_of(made, machine={"cpus": 2}))
    assert sum(part.share.value for part in result.states) == pytest.approx(1.0, abs=1e-12)
    by_name = {part.name: part.share for part in result.states}
    assert list(by_name) == ["user", "nice", "system", "irq", "softirq", "steal", "idle", "iowait"]
    assert by_name["user"].value == pytest.approx(made["user_s"].sum() / (2 * made["length_s"].sum()))
    assert by_name["user"].low < by_name["user"].value < by_name["user"].high
    assert result.cpus == 2
    assert result.recorder is None


def test_an_events_share_is_its_overhead_over_the_time_between(log_of):
    """Sekino 1971, Tables 1 to 3, for every event."""
    result = capacity.analyse(log_of(bounded(), machine={"cpus": 2}))
    fault = next(event for event in result.events if event.request == "page_faults_minor")
    assert fault.overhead.value == pytest.approx(FAULT_S, rel=1e-3)
    for event in result.events:
        assert event.share.value == pytest.approx(event.overhead.value / event.time_between.value)
        assert event.time_between.low < event.time_between.value < event.time_between.high
    total = sum(event.share.value for event in result.events) + result.unattributed.value
    assert total == pytest.approx(result.system.value)


def test_a_result_of_overhead_is_used_as_it_is(log_of):
    log = log_of(bounded(), machine={"cpus": 2})
    given = overhead.analyse(log)
    assert capacity.analyse(log, overhead=given) == capacity.analyse(log)
    without = capacity.analyse(log, overhead=NotApplicable("it was not asked for"))
    assert without.events == ()
    assert without.unattributed is None
    assert Caveat("not_divided", reason="it was not asked for") in without.caveats


def test_time_that_is_missing_is_said(log_of):
    made = bounded()
    made["idle_s"] = 0.2 * made["idle_s"]
    result = capacity.analyse(log_of(made, machine={"cpus": 2}))
    (caveat,) = [item for item in result.caveats if item.kind == "states_incomplete"]
    assert caveat.values["cpus"] == 2
    assert sum(part.share.value for part in result.states) == pytest.approx(1.0, abs=1e-12)


def test_states_that_were_not_measured_are_named(log_of):
    made = {name: values for name, values in bounded().items() if name != "steal_s"}
    result = capacity.analyse(log_of(made))
    assert Caveat("not_measured", columns=("steal_s",)) in result.caveats
    assert Caveat("cpus_derived", cpus=2.0) in result.caveats
    assert result.cpus == 2


def test_capacity_without_states_does_not_apply(log_of):
    length = np.full(30, 1.0)
    result = capacity.analyse(log_of({"start": starts(length), "length_s": length, "forks": length}))
    assert isinstance(result, NotApplicable)


def test_every_analysis_of_the_registry_answers_an_empty_log(log_of):
    log = log_of()
    for question in QUESTIONS:
        if question.in_report and question.name not in ("recording", "timeline"):
            result = question.analyse(log, question.options())
            assert isinstance(result, NotApplicable), question.name
            assert result.reason
            assert result.remedy


def test_results_do_not_depend_on_the_run(log_of):
    log = log_of(bounded())
    for question in QUESTIONS:
        if question.in_report:
            options = question.options()
            assert question.analyse(log, options) == question.analyse(log, options), question.name


def test_shares_of_a_play_that_steps_through_loads_are_described(log_of):
    plain = saturation.analyse(log_of(bounded()))
    chosen = saturation.analyse(log_of(bounded(), name="chosen", terminals={"users": "1..9..2"}))
    assert plain.saturated_share["cpu"].low is not None
    assert chosen.saturated_share["cpu"].low is None
    assert chosen.saturated_share["cpu"].value == plain.saturated_share["cpu"].value
    assert "stepped through 1..9..2 users" in " ".join(section(chosen).caveats)
