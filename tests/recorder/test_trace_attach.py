"""The three ways to attach a trace: they count the same, and the one that needs least says what it lacks."""

import json
import os
import subprocess
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
    run,
    untraceable,
)

from thinktime.log import Log

ATTACHED = ("tp_btf", "raw_tracepoint", "tracepoint")
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
MOUNT_TRACEFS = "{ mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing; }"
WITH_TRACEFS = ("unshare", "--mount", "sh", "-c", f'{MOUNT_TRACEFS} && exec "$@"', "sh")
"""Before a command: it sees the tracepoints, also where nobody has mounted them yet."""
HIDE_TYPES = "mount -t tmpfs none /sys/kernel/btf"
WITHOUT_TYPES = ("unshare", "--mount", "sh", "-c", f'{MOUNT_TRACEFS} && {HIDE_TYPES} && exec "$@"', "sh")
"""The same, and the kernel seems to have no debugging information."""
LACKS = {"block_io", "wait by system call", "effective user", "age of a task", "page_fault"}
"""What fields of tracepoints do not tell."""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace: run the tests as root")


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    if why := untraceable():
        pytest.skip(why)
    mounted = run(*WITH_TRACEFS, "true")
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount tracefs: {mounted.stderr}")
    return compiled_load(tmp_path_factory.mktemp("load"))


def samples(log):
    if not (log / "manifest.json").is_file():
        return 0
    return Log.open(log).samples().collect().height


def wait_for(recorder, log, count):
    while samples(log) < count:
        assert recorder.poll() is None, recorder.stderr.read()
        time.sleep(0.02)


def record_at_once(folder, load):
    """A load, run by root and by nobody, traced in all ways at the same time: the logs, and its lines."""
    logs = {way: folder / way for way in ATTACHED}
    command = [STATIC, "record", "--interval", "0.5s"]
    recorders = {}
    lines = []
    try:
        for way, log in logs.items():
            # The way with the fewest means also writes each event.
            trace = "--trace-events" if way == "tracepoint" else "--trace"
            recorders[way] = subprocess.Popen(
                [*WITH_TRACEFS, *command, trace, "--trace-attach", way, "-o", log],
                stderr=subprocess.PIPE,
                text=True,
            )
        for way, recorder in recorders.items():
            wait_for(recorder, logs[way], 1)
        for number, user in enumerate(((), AS_NOBODY)):
            written = folder / f"written-{number}"
            written.mkdir()
            written.chmod(0o777)
            done = run(*user, load, written)
            assert done.returncode == 0, done.stderr
            lines.append(kernel_counts(done.stdout))
        for way, recorder in recorders.items():
            wait_for(recorder, logs[way], samples(logs[way]) + 2)
    finally:
        for recorder in recorders.values():
            recorder.terminate()
        for recorder in recorders.values():
            recorder.communicate(timeout=60)
    assert all(recorder.returncode == 0 for recorder in recorders.values())
    return logs, pl.concat(lines)


def sums(log):
    """Count and sum [s] of the load's durations by user and by what they are, without the kinds of waits.

    Requests of disks are left out, of which one way knows nothing.
    """
    of_load = (pl.col("command") == LOAD) & (pl.col("quantity") != "block_io")
    rows = Log.open(log).latencies().filter(of_load).collect()
    kind = pl.col("reason").is_in(["preempted", "exit", "started", "woken"])
    rows = rows.with_columns(kind=pl.when(kind).then("reason").otherwise(pl.lit("waits")))
    totals = rows.group_by("user", "quantity", "kind").agg(pl.col("count").sum(), pl.col("total_s").sum())
    return {tuple(key): (count, total) for *key, count, total in totals.iter_rows()}


CLOCK_S = 5e-6
"""Most by which a duration differs on average that one program after the other measures."""


def agree(one, other, most_s):
    """One way's durations against another's of the same run, which may differ by this in each sum [s].

    A switch of which the kernel does not tell one of them may be one of the load's.
    """
    unseen = facts(one)["beginnings_unseen"] + facts(other)["beginnings_unseen"]
    first, second = sums(one), sums(other)
    assert first.keys() == second.keys()
    for key, (count, total_s) in first.items():
        assert abs(count - second[key][0]) <= unseen, key
        if key[1] == "slice":
            off_s = abs(total_s - second[key][1])
            assert off_s <= 0.01 * total_s + CLOCK_S * count + most_s + 0.1 * unseen, key
    # One takes the scheduler's time of a wake-up, the other its own: together they are one absence.
    for user in {user for user, *_ in first}:
        mine = [key for key in first if key[0] == user and key[1] != "slice"]
        away_s, other_s = (sum(ways[key][1] for key in mine) for ways in (first, second))
        counted = sum(first[key][0] for key in mine)
        assert abs(away_s - other_s) <= 0.01 * away_s + CLOCK_S * counted + most_s + 0.5 * unseen, user


def test_all_ways_count_the_same_switches_waits_and_times(tmp_path, load):
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.is_relative_to("/tmp/pytest-of-root"):
            folder.chmod(0o755)
    load.parent.chmod(0o755)
    logs, lines = record_at_once(tmp_path, load)
    for way, log in logs.items():
        told = facts(log)
        assert told["attached"] == way
        assert (told["durations_lost"], told["accounts_lost"]) == (0, 0)
        assert Log.open(log).check() == []
        check_against_the_kernel(log, lines, runs=2)
    assert {user for user, *_ in sums(logs["tp_btf"])} == {"uid:0", f"uid:{NOBODY}"}
    # A hypervisor may take the CPU between the program of one and that of another.
    steal_s = Log.open(logs["tp_btf"]).samples().select(pl.col("steal_s").sum()).collect().item()
    for way in ATTACHED[1:]:
        agree(logs["tp_btf"], logs[way], steal_s)


def test_without_the_kernels_types_fields_are_what_is_left_and_the_doctor_says_what_they_lack(tmp_path, load):
    hidden = run(*WITHOUT_TYPES, "true")
    if hidden.returncode != 0:
        pytest.skip(f"cannot hide the types of the kernel: {hidden.stderr}")
    log = tmp_path / "log"
    done = run(*WITHOUT_TYPES, STATIC, "record", "--trace", "-i", "0.5s", "-d", "1s", "-o", log)
    assert done.returncode == 0, done.stderr
    told = facts(log)
    assert told["attached"] == "tracepoint"
    assert set(told["refused"]) == {"tp_btf", "raw_tracepoint"}
    assert all("/sys/kernel/btf/vmlinux" in why for why in told["refused"].values())
    assert set(told["missing"]) == LACKS
    assert Log.open(log).latencies().select(pl.col("count").sum()).collect().item() > 0
    examined = json.loads(run(*WITHOUT_TYPES, STATIC, "doctor", "--format", "json").stdout)
    (trace,) = (ability for ability in examined["abilities"] if "--trace" in ability["item"])
    assert trace["state"] == "partly"
    assert all(f"{what} not: " in trace["evidence"] for what in LACKS)
    assert "CONFIG_DEBUG_INFO_BTF" in trace["remedy"]
    for way in ("tp_btf", "raw_tracepoint"):
        done = run(*WITHOUT_TYPES, STATIC, "record", "--trace", "--trace-attach", way, "-o", tmp_path / way)
        assert done.returncode == 2
        assert "CONFIG_DEBUG_INFO_BTF" in done.stderr
    done = run(STATIC, "record", "--trace-attach", "raw_tracepoint", "-o", tmp_path / "none")
    assert done.returncode == 2
    assert "--trace-attach raw_tracepoint" in done.stderr
