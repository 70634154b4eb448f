"""Queues, disk accesses and utilisations from events, against a system that integrates its queues itself."""

import numpy as np
import polars as pl
import pytest
import traced_system as traced
from known_logs import EPOCH_US, frame, instants

from thinktime.analyses.waits import analysis as waits
from thinktime.analyses.waits.event_pieces import Events
from thinktime.analyses.waits.event_tracing import traces
from thinktime.log import Log, LogWriter, vocabulary
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Caveat, NotApplicable

WARM_UP_S = 50.0


@pytest.fixture(scope="module")
def systems():
    return [traced.System(25, 12.0, 650.0, seed=seed, warm_up=WARM_UP_S) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def result(systems, tmp_path_factory):
    return waits.analyse(traced.write(tmp_path_factory.mktemp("traced") / "log", systems), interval_s=60.0)


def mean_of(systems, name):
    return sum(system.area[name] for system in systems) / sum(one.end - WARM_UP_S for one in systems)


def test_mean_numbers_are_the_integrals_of_the_system_itself(result, systems):
    """Exact but for the microsecond of the log and the last event before each end."""
    assert [queue.name for queue in result.queues] == list(waits.QUEUES)
    for queue in result.queues:
        assert queue.number.value == pytest.approx(mean_of(systems, queue.name), rel=2e-3)
    assert result.processor.value == pytest.approx(mean_of(systems, "cpu"), rel=2e-3)
    assert result.disk.value == pytest.approx(mean_of(systems, "disk"), rel=2e-3)


def test_the_parts_add_up_to_the_whole_in_every_interval(result):
    for item in result.intervals:
        system, *parts, unserved = item.numbers
        assert sum(parts) == pytest.approx(system, abs=1e-9)
        assert unserved <= parts[0] + 1e-9
        assert 0.0 <= item.processor <= 1.0 + 1e-9
        assert 0.0 <= item.disk <= 1.0 + 1e-9


def test_little_holds_between_the_two_tables(result):
    """Integrated numbers and rate times mean time differ only by who is inside at the ends."""
    named = {queue.name: queue for queue in result.queues}
    for queue in (named.pop("system"), named.pop("unserved")):
        assert queue.by_interactions == pytest.approx(queue.number.value, rel=0.05)
        assert queue.time.value * queue.entered.value == pytest.approx(queue.number.value)
    assert all(queue.by_interactions is None for queue in named.values())


def test_counts_are_those_of_the_events(result, systems):
    for kind, rate in (
        ("swap_in_start", result.swap_ins),
        ("swap_out_start", result.swap_outs),
        ("library_load_start", result.library_loads),
    ):
        seen = sum(
            WARM_UP_S <= at < one.end and name == kind for one in systems for at, name, *_ in one.events
        )
        assert rate.value == pytest.approx(seen / (3 * 600.0), rel=2e-3, abs=1.5 / 1800)
    assert result.accesses.value == pytest.approx(
        result.swap_ins.value + result.swap_outs.value + result.library_loads.value
    )
    assert result.slice.value <= traced.SLICE_S
    inputs = sum(job.arrival >= WARM_UP_S for one in systems for job in one.jobs)
    assert abs(sum(item.inputs for item in result.intervals) - inputs) <= len(systems)


def test_reaction_times_of_an_interval_are_those_of_its_inputs(result, systems):
    first = result.intervals[0]
    jobs = [
        job.first - job.arrival
        for job in systems[0].jobs
        if WARM_UP_S <= job.arrival < WARM_UP_S + 60.0 and np.isfinite(job.first)
    ]
    assert first.reaction_mean_s == pytest.approx(np.mean(jobs), abs=1e-5)
    assert first.reaction_max_s == pytest.approx(max(jobs), abs=1e-5)
    assert first.reaction_log == pytest.approx(np.mean(np.log10(np.array(jobs) + 0.5)), abs=1e-4)


def test_intervals_do_not_reach_over_the_ends_of_sessions(result):
    assert len(result.intervals) == 30
    assert all(item.length_s == pytest.approx(60.0, rel=0.01) for item in result.intervals)
    assert "overlapping_inputs" not in {caveat.kind for caveat in result.caveats}


def test_a_simulated_machine_is_read_as_it_measures_itself(tmp_path):
    """APL/360: what the run counted online, derived again from its trace."""
    run = simulate("apl360", {"users": 35, "length": 600.0}, seed=3, replications=2)
    run.record(tmp_path / "log", trace=True)
    found = waits.analyse(Log.open(tmp_path / "log"), interval_s=600.0)
    named = {queue.name: queue.number.value for queue in found.queues}
    for value, response, per in (
        (named["system"], "queued_workspaces", 1.0),
        (named["foreground"], "mean_foreground", 1.0),
        (named["background"], "mean_background", 1.0),
        (named["output_bound"], "mean_output_bound", 1.0),
        (named["command"], "mean_command", 1.0),
        (found.accesses.value, "swap_rate", 600.0),
        (found.processor.value, "processor_utilisation", 1.0),
        (found.disk.value, "disk_utilisation", 1.0),
    ):
        # The trace begins with its first and ends with its last event.
        assert value == pytest.approx(run.responses[response].mean() / per, rel=0.01), response
    reactions = [item.reaction_max_s for item in found.intervals]
    assert max(reactions) == pytest.approx(run.responses["max_reaction_s"].max(), abs=1e-5)


def test_a_lost_table_is_seen(systems, tmp_path):
    """Canary: without a third of the interactions the two ways to the mean number disagree."""
    events, interactions = traced.tables(systems[0])
    kept = {name: column[: len(column) * 2 // 3] for name, column in interactions.items()}
    found = waits.analyse(write(tmp_path / "log", events, kept))
    (caveat,) = (item for item in found.caveats if item.values.get("queue") == "system")
    assert caveat.kind == "not_conserved"
    assert caveat.values["by_interactions"] < 0.8 * caveat.values["by_events"]


def write(path, events, interactions=None):
    with LogWriter.open(path, source="test", machine={}, start_us=EPOCH_US) as writer:
        writer.write("events", frame(events, vocabulary("events")))
        if interactions is not None:
            writer.write("interactions", frame(interactions, vocabulary("interactions")))
    return Log.open(path)


def by_hand(rows):
    time, kind, user = zip(*rows, strict=True)
    return {"time": instants(time), "kind": list(kind), "user": list(user), "cpu": pl.Series([0] * len(rows))}


def test_a_trace_that_can_be_followed_by_hand(tmp_path):
    """Ten seconds: a waits 2 s, computes 3 s, waits 1 s for output; b, from 6 s on, never gets a slice."""
    log = write(
        tmp_path / "log",
        by_hand(
            [
                (0.0, "input", "a"),
                (0.5, "swap_in_start", "a"),
                (1.5, "swap_in_end", "a"),
                (2.0, "slice_start", "a"),
                (4.0, "slice_end", "a"),
                (4.0, "output_wait_start", "a"),
                (5.0, "output_wait_end", "a"),
                (5.0, "slice_start", "a"),
                (6.0, "slice_end", "a"),
                (6.0, "completion", "a"),
                (6.0, "input", "b"),
                (9.0, "swap_in_start", "b"),
                (10.0, "swap_in_end", "b"),
            ]
        ),
    )
    found = waits.analyse(log, interval_s=10.0)
    (item,) = found.intervals
    assert item.numbers == pytest.approx((1.0, 0.8, 0.1, 0.1, 0.0, 0.6))
    assert (item.users, item.inputs, item.completions, item.accesses) == (2, 2, 1, 2)
    assert item.processor == pytest.approx(0.3)
    assert item.disk == pytest.approx(0.2)
    assert item.reaction_mean_s == pytest.approx(2.0)
    assert found.slice.value == pytest.approx(1.5)
    names = ["system", "foreground", "background", "output_bound", "unserved"]
    assert [queue.name for queue in found.queues] == names
    assert Caveat("unfinished", unfinished=1, interactions=2) in found.caveats


def test_a_second_input_ends_the_first(tmp_path):
    rows = [(0.0, "input", "a"), (4.0, "input", "a"), (8.0, "completion", "a"), (10.0, "swap_out_start", "a")]
    found = waits.analyse(write(tmp_path / "log", by_hand(rows)), interval_s=10.0)
    assert found.intervals[0].numbers[0] == pytest.approx(0.8)
    assert Caveat("overlapping_inputs", inputs=1) in found.caveats


def test_events_before_the_first_input_belong_to_no_interaction(tmp_path):
    rows = [(0.0, "slice_start", "b"), (1.0, "slice_end", "b"), (2.0, "input", "b"), (5.0, "completion", "b")]
    log = write(tmp_path / "log", by_hand(rows))
    (read,) = traces(Events(log))
    assert np.isnan(read.first_slice).all()
    assert waits.analyse(log, interval_s=5.0).intervals[0].processor == pytest.approx(0.2)


def test_order_of_writing_does_not_matter_but_at_one_instant(systems, tmp_path):
    events, _ = traced.tables(systems[0])
    columns = pl.DataFrame({name: pl.Series(column) for name, column in events.items()})
    # Whole instants change places; the events of one instant keep their order.
    moved = columns.with_columns(pl.col("time").rank("dense").mod(7).alias("part"))
    moved = moved.sort("part", maintain_order=True).drop("part")
    one = waits.analyse(write(tmp_path / "one", events))
    other = waits.analyse(write(tmp_path / "other", {name: moved[name] for name in events}))
    assert one == other


def test_logs_without_events_or_inputs_do_not_apply(log_of, tmp_path):
    found = waits.analyse(log_of())
    assert isinstance(found, NotApplicable)
    assert "no events" in found.reason
    found = waits.analyse(write(tmp_path / "other", by_hand([(0.0, "boot", "a")])))
    assert isinstance(found, NotApplicable)
    assert "input" in found.reason
