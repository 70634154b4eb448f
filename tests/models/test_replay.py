"""Recorded users replayed: against logs of known truth, made by the simulation itself, and as a command."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from thinktime.cli import run
from thinktime.errors import InputError
from thinktime.log import Log, LogWriter, vocabulary
from thinktime.predictions.replay.answer import SCHEDULERS, ReplayPlan, replay
from thinktime.predictions.replay.recorded import recorded
from thinktime.predictions.replay.section import section
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import NotApplicable

USERS, SECONDS, DELAY_S = 10, 300.0, 0.02
START = pl.datetime(2026, 11, 27, time_unit="us", time_zone="UTC")
COLUMNS = (
    "user",
    "class",
    "population",
    "think_s",
    "due",
    "sent",
    "completion",
    "service_s",
    "waited",
    "run_delay_s",
    "io_delay_s",
)


def work(seed):
    """Users with 0.1 s of CPU time between 0.5 s of thinking, exponential, every fifth five times as much."""
    random = np.random.default_rng([11, seed])
    rows = 200

    def user():
        build = random.random(rows) < 0.2
        return {
            "interactions": [
                [think, cpu, DELAY_S, kind]
                for think, cpu, kind in zip(
                    random.exponential(0.5, rows).tolist(),
                    (random.exponential(0.06, rows) * np.where(build, 5.0, 1.0)).tolist(),
                    build.astype(int).tolist(),
                    strict=True,
                )
            ]
        }

    return [user() for _ in range(USERS)]


def truth(path, cpus, **more):
    """Log of interactions as a machine with `cpus` has them, each with a delay of 20 ms."""
    given = {
        "users": work(1),
        "classes": [{"name": "edit"}, {"name": "build", "priority": 1}],
        "cpus": cpus,
        "length": SECONDS,
        **more,
    }
    simulate("timesharing", given, seed=3).record(path / "simulated", trace=True)
    frame = Log.open(path / "simulated").interactions().collect()
    response = (pl.col("completion") - pl.col("due")).dt.total_microseconds() / 1e6
    frame = frame.with_columns(
        run_delay_s=response - pl.col("service_s") - DELAY_S, io_delay_s=pl.lit(DELAY_S / 2)
    )
    return written(path / "log", frame, cpus)


def written(path, frame, cpus, samples=None):
    """Log of a frame of interactions."""
    schema = [
        column for column in vocabulary("interactions") if column.name in set(frame.columns) & set(COLUMNS)
    ]
    with LogWriter.open(path, source="test", machine={"cpus": cpus}) as writer:
        writer.write("interactions", frame.select(column.name for column in schema), schema)
        if samples is not None:
            kinds = [one for one in vocabulary("samples") if one.name in samples.columns]
            writer.write("samples", samples.select(one.name for one in kinds), kinds)
    return Log.open(path)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Logs of the same users on one, two and three CPUs."""
    return {cpus: truth(tmp_path_factory.mktemp(f"cpus{cpus}"), cpus) for cpus in (1, 2, 3)}


def test_a_log_of_the_simulation_is_repeated(logs):
    """Under the scheduler that made the log, all but the rounding of its clock is the same."""
    for log in logs.values():
        found = replay(log)
        real, base = found.outcomes
        assert base.mean.value == pytest.approx(real.mean.value, rel=0.01)
        assert base.wait.value == pytest.approx(real.wait.value, rel=0.02, abs=1e-3)
        assert base.throughput.value == pytest.approx(real.throughput.value, rel=0.01)
        assert found.change is None


@pytest.mark.parametrize(("have", "want"), [(2, 1), (1, 2), (2, 3)])
def test_other_cpus_are_predicted(logs, have, want):
    """Users of one log on other CPUs, against the log of these users there."""
    found = replay(logs[have], plan=ReplayPlan(cpus=want))
    real = replay(logs[want]).outcomes[0].mean.value
    assert found.outcomes[-1].mean.value == pytest.approx(real, rel=0.1)
    assert abs(found.outcomes[0].mean.value / real - 1.0) > 0.1
    low, high = found.change.low, found.change.high
    assert low < found.change.value < high
    assert not low <= 1.0 <= high


def test_another_scheduler_is_predicted(tmp_path, logs):
    """Priorities by class, against the log of a machine that has them."""
    plan = ReplayPlan(scheduler="priority", urgent=("edit",))
    found = replay(logs[1], plan=plan)
    real = replay(truth(tmp_path, 1, scheduler="priority")).outcomes[0]
    for ours, theirs, before in zip(
        found.outcomes[-1].by_class, real.by_class, found.outcomes[1].by_class, strict=True
    ):
        assert ours.value == pytest.approx(theirs.value, rel=0.12)
        assert abs(before.value / theirs.value - 1.0) > 0.12


def test_more_users_are_drawn(tmp_path, logs):
    """Twice the users, who draw what ten of them did, against a log of twenty."""
    found = replay(logs[3], plan=ReplayPlan(users=2 * USERS))
    names = [one.name for one in found.outcomes]
    assert names == ["recorded", "as recorded", "resampled", "changed"]
    assert found.outcomes[2].mean.value == pytest.approx(found.outcomes[0].mean.value, rel=0.1)
    real = replay(truth(tmp_path, 3, population=2 * USERS)).outcomes[0]
    assert found.outcomes[-1].mean.value == pytest.approx(real.mean.value, rel=0.15)


def test_background_is_what_the_interactions_did_not_use(tmp_path, logs):
    log = truth(tmp_path, 2, background=0.6)
    frame = log.interactions().collect()
    first, last = frame["due"].min(), frame["completion"].max()
    seconds = (last - first).total_seconds()
    busy = float(frame["service_s"].sum()) / seconds + 0.6
    starts = pl.datetime_range(first, last, "10s", eager=True)
    samples = pl.DataFrame({"start": starts}).with_columns(length_s=pl.lit(10.0), user_s=pl.lit(10.0 * busy))
    found = replay(written(tmp_path / "sampled", frame, 2, samples))
    assert found.background == pytest.approx(0.6, abs=0.02)
    assert found.outcomes[1].mean.value == pytest.approx(found.outcomes[0].mean.value, rel=0.1)
    assert any("CPUs on average" in one for one in section(found).caveats)
    assert found.waited_for is None
    # Without it the users would have been served faster: the test would see it.
    assert replay(log).outcomes[1].mean.value < 0.9 * found.outcomes[0].mean.value
    # Without measured waits nothing shows that others gave way.
    bare, samples = frame.drop("run_delay_s"), samples.with_columns(user_s=pl.col("user_s") + 8.0)
    busy = written(tmp_path / "busy", bare, 2, samples)
    with pytest.raises(InputError, match=r"others than its users took .* leaves nothing of 1"):
        replay(busy, plan=ReplayPlan(cpus=1))


def test_background_that_gives_way_is_left_out(tmp_path, logs):
    """Users who did not wait for others, on a machine whose samples have 0.7 CPU of them."""
    frame = logs[2].interactions().collect()
    first, last = frame["due"].min(), frame["completion"].max()
    busy = float(frame["service_s"].sum()) / (last - first).total_seconds() + 0.7
    starts = pl.datetime_range(first, last, "10s", eager=True)
    samples = pl.DataFrame({"start": starts}).with_columns(length_s=pl.lit(10.0), user_s=pl.lit(10.0 * busy))
    found = replay(written(tmp_path / "sampled", frame, 2, samples), plan=ReplayPlan(cpus=1))
    assert found.background == pytest.approx(0.7, abs=0.02)
    assert found.waited_for < 0.1
    assert any("gave way" in one for one in section(found).caveats)
    real = replay(logs[1]).outcomes[0].mean.value
    assert found.outcomes[-1].mean.value == pytest.approx(real, rel=0.12)


def test_the_same_seed_gives_the_same_bits(logs):
    plan = ReplayPlan(cpus=1, users=5)
    one, two = (replay(logs[2], plan=plan, seed=4, replications=3, threads=n).to_dict() for n in (1, 3))
    assert one == two
    assert replay(logs[2], plan=plan, seed=5, replications=3).to_dict() != one


def test_without_waits_of_the_kernel_the_rest_counts_as_one(tmp_path, logs):
    frame = logs[1].interactions().collect()
    bare = written(tmp_path / "bare", frame.drop("run_delay_s", "io_delay_s"), 1)
    found = replay(bare)
    assert not found.waits_counted
    assert found.outcomes[0].wait is None
    assert any("did not count waits" in one for one in section(found).caveats)
    # The 20 ms of each are then not there.
    assert found.outcomes[1].mean.value < found.outcomes[0].mean.value
    some = frame.with_columns(run_delay_s=pl.when(pl.int_range(pl.len()) % 2 == 0).then("run_delay_s"))
    half = replay(written(tmp_path / "half", some, 1))
    assert half.outcomes[1].mean.value == pytest.approx(half.outcomes[0].mean.value, rel=0.05)


def test_a_schedule_is_replayed_at_its_times(tmp_path):
    """Inputs every second, with 0.4 s of CPU time each, one of them 3 s: those after it wait."""
    cpu = [0.4] * 30
    cpu[5] = 3.0
    due, free = [float(n) for n in range(30)], 0.0
    ends = [free := max(at, free) + need for at, need in zip(due, cpu, strict=True)]
    sent = [max(at, end) for at, end in zip(due, [0.0, *ends[:-1]], strict=True)]
    frame = pl.DataFrame({"user": ["a"] * 30, "due": due, "sent": sent, "completion": ends, "service_s": cpu})
    times = [
        (START + pl.duration(microseconds=(pl.col(name) * 1e6).round())).alias(name)
        for name in ("due", "sent", "completion")
    ]
    log = written(tmp_path / "log", frame.with_columns(times), 1)
    found = recorded(log, "log")
    assert [one.scheduled for one in found.users] == [True]
    result = replay(log)
    assert result.outcomes[1].mean.value == pytest.approx(result.outcomes[0].mean.value, rel=1e-3)
    # Nobody who waits for replies: at twice the speed, inputs come when they came.
    requests = frame.with_columns(sent="due").with_columns(times)
    overlapping = recorded(written(tmp_path / "requests", requests, 1), "log")
    assert overlapping.by_time
    assert len(overlapping.users) == 30
    with pytest.raises(InputError, match="requests that overlap"):
        replay(Log.open(tmp_path / "requests"), plan=ReplayPlan(users=3))


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ReplayPlan(scheduler="fair"), r"fair: there is no such scheduler"),
        (
            ReplayPlan(scheduler="fcfs", quantum_s=0.1),
            r"fcfs has no time slice; give round-robin or feedback",
        ),
        (ReplayPlan(scheduler="priority"), r"has the classes build, edit"),
        (ReplayPlan(scheduler="priority", urgent=("edits",)), r"no class edits; did you mean edit\?"),
        (ReplayPlan(confined_to=3), r"has 2 CPUs, not the 3"),
    ],
)
def test_plans_that_do_not_fit(logs, plan, message):
    with pytest.raises(InputError, match=message):
        replay(logs[2], plan=plan)


def test_logs_that_cannot_be_replayed(tmp_path, logs):
    frame = logs[2].interactions().collect()
    few = written(tmp_path / "few", frame.head(5), 2)
    without = written(tmp_path / "without", frame.drop("service_s"), 2)
    idle = written(tmp_path / "idle", frame.with_columns(service_s=0.0), 2)
    for log, reason in (
        (few, "5 completed interactions"),
        (without, "CPU time of its interactions"),
        (idle, "no CPU time"),
    ):
        found = recorded(log, "log")
        assert isinstance(found, NotApplicable)
        assert reason in found.reason
        assert found.remedy


def said(capsys, *arguments):
    status = run(list(map(str, arguments)))
    out, err = capsys.readouterr()
    return status, out, err


def test_the_command(capsys, logs):
    path = logs[2].path
    status, out, err = said(
        capsys, "simulate", "--from", path, "--scheduler", "feedback", "--quantum", "10ms"
    )
    assert (status, err) == (0, "")
    out = " ".join(out.split())
    assert "Under feedback with slices of 10.0 ms on 2 CPUs, the mean response would have been" in out
    assert "Checked on this log" in out
    assert "What this cannot tell" in out
    status, out, _ = said(capsys, "simulate", "--from", path, "--cpus", 1, "--format", "json")
    answer = json.loads(out)
    assert [one["name"] for one in answer["result"]["outcomes"]] == ["recorded", "as recorded", "changed"]
    assert answer["result"]["change"]["value"] > 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate",), "SYSTEM: is missing; give a simulated system"),
        (("simulate", "ctss", "--cpus", "2"), "--cpus: changes recorded users; name their log with --from"),
        (("simulate", "ctss", "--from", "LOG"), "SYSTEM: belongs to a simulated system"),
        (("simulate", "--from", "LOG", "--quantum", "10"), "--quantum"),
        (("simulate", "--from", "LOG", "--scheduler", "rr"), "there is no such scheduler"),
    ],
)
def test_options_that_do_not_fit(capsys, logs, arguments, message):
    given = [logs[2].path if word == "LOG" else word for word in arguments]
    status, out, err = said(capsys, *given)
    assert (status, out) == (2, "")
    assert message in err


def test_a_recorded_machine_without_interactions_is_refused_with_a_remedy(capsys, tmp_path):
    with LogWriter.open(tmp_path / "log", source="test", machine={"cpus": 2}) as writer:
        schema = [one for one in vocabulary("samples") if one.name in ("start", "length_s", "user_s")]
        frame = pl.DataFrame({"length_s": [1.0], "user_s": [0.5]}).with_columns(start=START)
        writer.write("samples", frame.select(one.name for one in schema), schema)
    status, _, err = said(capsys, "simulate", "--from", tmp_path / "log")
    assert status == 2
    assert "has no interactions" in err
    assert "thinktime play" in err


def test_every_scheduler_is_one_of_the_system(logs):
    for name in SCHEDULERS:
        plan = ReplayPlan(scheduler=name, cpus=1, urgent=("edit",) if name == "priority" else ())
        assert replay(logs[2], plan=plan).outcomes[-1].mean.value > 0.0
