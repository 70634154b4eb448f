"""`thinktime record --trace` against the kernel's own counters of the same tasks in the same run."""

import itertools
import json
import os
import subprocess
import sys
import time

import polars as pl
import pytest
from tracing import (
    LOAD,
    STATIC,
    check_against_the_kernel,
    compiled_load,
    facts,
    kernel_counts,
    of_load,
    run,
    untraceable,
)

from thinktime.log import Log

CLI = [sys.executable, "-c", "from thinktime.cli import main; main()"]
PROGRAMS = {"python": [*CLI, "record"], "static": [str(STATIC), "record"]}
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace: run the tests as root")


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    if why := untraceable():
        pytest.skip(why)
    return compiled_load(tmp_path_factory.mktemp("load"))


def samples(log):
    return Log.open(log).samples().collect().height if (log / "manifest.json").is_file() else 0


def record(folder, load, commands):
    """Record with these commands at once, each to a log of its name, while the load runs; its lines.

    The lines are numbers by what the load did.
    """
    # A disk and not memory: writing to it is what is waited for.
    disk = folder / "disk"
    disk.mkdir()
    recorders = {}

    def wait_for(before, more):
        for name, recorder in recorders.items():
            while samples(folder / name) < before[name] + more:
                assert recorder.poll() is None, recorder.stderr.read()
                time.sleep(0.02)

    try:
        for name, command in commands.items():
            recorders[name] = subprocess.Popen(
                [*command, "-o", str(folder / name), "--interval", "0.5s", "--trace"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        wait_for(dict.fromkeys(recorders, 0), 1)
        done = run(str(load), str(disk))
        # The sample that began before the load ended, and one after it.
        wait_for({name: samples(folder / name) for name in recorders}, 2)
    finally:
        for recorder in recorders.values():
            recorder.terminate()
        errors = [recorder.communicate(timeout=30)[1] for recorder in recorders.values()]
    assert done.returncode == 0, done.stderr
    assert [recorder.returncode for recorder in recorders.values()] == [0] * len(recorders), errors
    return kernel_counts(done.stdout)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, load):
    """Folder of the logs of one load, by each program, and with names hidden; the lines of the load."""
    folder = tmp_path_factory.mktemp("recorded")
    commands = PROGRAMS | {"anonymous": [*PROGRAMS["python"], "--anonymous"]}
    return folder, record(folder, load, commands)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_the_trace_counts_is_what_the_kernel_counted(program, recorded):
    folder, lines = recorded
    log = folder / program
    assert Log.open(log).check() == []
    told = facts(log)
    assert (told["durations_lost"], told["accounts_lost"]) == (0, 0)
    check_against_the_kernel(log, lines)
    found = of_load(log)
    # Each wait a known number of times, and at least as long as was asked for.
    unseen = told["beginnings_unseen"]
    count, total_s = found["wait", "timer"]
    assert 100 + 20 - unseen <= count <= 120
    assert total_s >= (count - 20) * 1e-3
    count, total_s = found["wait", "poll"]
    assert 50 - unseen <= count <= 50
    assert total_s >= count * 2e-3
    assert 20 - unseen <= found["wait", "child"][0] <= 20 + 10
    # A thread or process whose turn has come already does not wait for it.
    assert 0 < found["wait", "futex"][0] <= 4 * 200
    assert 0 < found["wait", "input"][0] <= 2 * 2000
    # Who is woken waits for a CPU once: so does who is new.
    woken = sum(count for (quantity, _), (count, _) in found.items() if quantity == "wait")
    assert abs(found["run_queue_wait", "woken"][0] - woken) <= unseen
    assert found["run_queue_wait", "started"][0] >= 10 + 20 - unseen


ATTEMPTS = 3
"""Others may switch so often meanwhile that their events find no room."""
QUANTITIES = {
    "dispatch": "run_queue_wait",
    "switch_out": "slice",
    "wake_up": "wait",
    "block_completion": "block_io",
}
"""Quantity of `latencies` that an event measures."""


def test_events_add_up_to_what_was_counted_and_tell_of_every_thread(tmp_path, load):
    for number in range(ATTEMPTS):
        log = tmp_path / str(number) / "log"
        log.parent.mkdir()
        record(log.parent, load, {"log": [*PROGRAMS["static"], "--trace-events"]})
        assert Log.open(log).check() == []
        told = facts(log)
        if told["events_lost"] == 0:
            break
    # The load alone has some ten thousand: where they are lost every time, that is a defect.
    assert told["events_lost"] == 0
    events = Log.open(log).events().collect()
    assert events.height == told["events"]
    assert events["time"].is_sorted()
    mine = events.filter(pl.col("command") == LOAD)
    sums = {}
    for kind, reason, amount in mine.select("kind", "reason", "amount").drop_nulls("amount").iter_rows():
        if kind in QUANTITIES:
            count, total_s = sums.get((QUANTITIES[kind], reason), (0, 0.0))
            sums[QUANTITIES[kind], reason] = (count + 1, total_s + amount)
    counted = of_load(log)
    assert sums.keys() == counted.keys()
    for key, (count, total_s) in counted.items():
        assert sums[key][0] == count, key
        assert sums[key][1] == pytest.approx(total_s, abs=1e-9 * count), key
    # One program, whose processes begin and end: ten works, twenty children of one, a thread of another.
    kinds = dict(mine.group_by("kind").len().iter_rows())
    assert kinds["exec"] == 1
    begun = mine.filter(kind="fork")
    assert begun.filter(pl.col("task") == pl.col("process")).height == 10 + 20
    assert begun.filter(pl.col("task") != pl.col("process")).height == 1
    assert kinds["exit"] == 1 + 10 + 20 + 1
    # What each thread did follows from its events: it leaves a CPU that it was given.
    unseen = told["beginnings_unseen"]
    broken = 0
    for (task,), of_task in mine.filter(pl.col("kind").is_in(["dispatch", "switch_out"])).group_by("task"):
        kinds = of_task["kind"].to_list()
        broken += sum(one == other for one, other in itertools.pairwise(kinds))
        assert of_task["process"].n_unique() == 1, task
    assert broken <= unseen
    # Neither arguments nor contents: the folder was both.
    texts = [name for name, kind in events.schema.items() if kind == pl.String]
    assert not any(events[name].str.contains(tmp_path.name, literal=True).any() for name in texts)


ROOM = 2047
"""Users and commands that the tables of the trace have room for at a time."""
NAMES = ROOM + 400


def test_room_of_commands_that_have_ended_is_given_to_others(tmp_path, load):
    for number in range(ATTEMPTS):
        log = tmp_path / str(number)
        recorder = subprocess.Popen([STATIC, "record", "--trace", "--interval", "0.2s", "-o", log])
        try:
            while not (log / "manifest.json").is_file() or Log.open(log).samples().collect().is_empty():
                assert recorder.poll() is None
                time.sleep(0.02)
            subprocess.run([load, "names", str(NAMES)], check=True, timeout=120)
            time.sleep(0.5)
        finally:
            recorder.terminate()
            recorder.wait(timeout=30)
        told = facts(log)
        # A recorder that got no CPU for seconds cannot take back what is not used.
        if told["accounts_lost"] == told["durations_lost"] == 0:
            break
    assert (told["accounts_lost"], told["durations_lost"]) == (0, 0)
    assert told["accounts_recycled"] >= NAMES - ROOM
    # Each counted for itself, whoever had its place before: its first wait for a CPU, its sleep, its end.
    rows = Log.open(log).latencies().filter(pl.col("command").str.starts_with("many-")).collect()
    unseen = told["beginnings_unseen"]
    for quantity, reason in (("wait", "timer"), ("slice", "exit")):
        counts = rows.filter(quantity=quantity, reason=reason).group_by("command").agg(pl.col("count").sum())
        assert counts["count"].max() == 1
        assert NAMES - unseen <= counts.height <= NAMES
    assert Log.open(log).check() == []


def test_durations_are_those_of_their_users_and_have_pseudonyms_where_names_are_hidden(recorded):
    log = recorded[0] / "anonymous"
    rows = Log.open(log).latencies().collect()
    users = set(rows["user"].drop_nulls())
    assert users
    assert not any(user.removeprefix("uid:").isdigit() for user in users)
    assert "root" not in set(rows["name"])
    # The same as in the tables beside it: root's too, who is in all of them.
    assert users & set(Log.open(log).users().collect()["user"])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--by", "cgroup"), "--by cgroup"),
        (("--root", "/tmp"), "--root /tmp"),
        (("--by", "session", "--trace-attach", "tracepoint"), "--trace-attach tracepoint"),
    ],
)
def test_what_cannot_be_traced_is_refused(tmp_path, options, named):
    done = run(*PROGRAMS["python"], "-o", str(tmp_path / "log"), "--trace", *options)
    assert done.returncode == 2
    assert named in done.stderr
    assert not (tmp_path / "log").exists()


def test_without_permission_the_recorder_says_what_is_missing_and_what_there_is_instead(tmp_path):
    tmp_path.chmod(0o777)
    unprivileged = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    tool = tmp_path / "recorder"
    # Root's folders are closed to others.
    tool.write_bytes(STATIC.read_bytes())
    tool.chmod(0o755)
    for folder in tmp_path.parents:
        if folder.owner() == "root" and folder.is_relative_to("/tmp/pytest-of-root"):
            folder.chmod(0o755)
    done = run(*unprivileged, str(tool), "record", "--trace", "-o", str(tmp_path / "log"))
    assert done.returncode == 2, done.stderr
    for words in ("CAP_BPF", "CAP_PERFMON", "run_delay_s", "io_delay_s"):
        assert words in done.stderr
    examined = json.loads(run(*unprivileged, str(tool), "doctor", "--format", "json").stdout)
    (trace,) = (ability for ability in examined["abilities"] if "--trace" in ability["item"])
    assert trace["state"] == "absent"
    assert "CAP_BPF" in trace["evidence"]
    assert "run_delay_s" in trace["remedy"]
