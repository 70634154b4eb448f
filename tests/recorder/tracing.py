"""What tests of the trace share: whether the kernel permits one, and a load whose waits are known."""

import functools
import json
import subprocess
from pathlib import Path

import polars as pl

from thinktime.log import Log

STATIC = Path(__file__).parents[2] / "target" / "static" / "thinktime-recorder"
LOAD = "traced-load"
"""Name of the load, by which the kernel knows it."""
WAITS = {"timer", "child", "poll", "futex", "input", "output", "sleep", "io", "page_io", "uninterruptible"}


@functools.cache
def untraceable():
    """Why `record --trace` and the iterator are not permitted here, as the doctor says; empty if they are."""
    command = [STATIC, "doctor", "--format", "json"]
    examined = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    (trace,) = (ability for ability in examined["abilities"] if "--trace" in ability["item"])
    return "" if trace["state"] == "measured" else trace["evidence"]


def run(*arguments, timeout=60, **more):
    return subprocess.run(
        arguments,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
        check=False,
        **more,
    )


def compiled_load(folder):
    """The program of `traced.c`, in this folder."""
    program = folder / LOAD
    source = Path(__file__).with_name("traced.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-pthread", "-o", program, source], check=True)
    return program


def kernel_counts(printed):
    """Lines of the load, as numbers by what it did."""
    names = ("what", "process", "count", "voluntary", "involuntary", "run_ns", "wait_ns")
    lines = [dict(zip(names, line.split(), strict=True)) for line in printed.splitlines()]
    return pl.DataFrame(lines).with_columns(pl.col(names[1:]).cast(pl.Int64))


def facts(log):
    return Log.open(log).manifest["sessions"][-1]["recorder"]["trace"]


def of_load(log):
    """Count and sum [s] of the load's durations, by quantity and reason."""
    rows = Log.open(log).latencies().filter(pl.col("command") == LOAD).collect()
    sums = rows.group_by("quantity", "reason").agg(pl.col("count").sum(), pl.col("total_s").sum())
    return {(quantity, reason): (count, total) for quantity, reason, count, total in sums.iter_rows()}


def check_against_the_kernel(log, lines, *, runs=1):
    """The trace of the load against what the kernel counted of each of its threads.

    A process ends after its line: its last slice ends with `exit` and no line has it. A switch of which the
    kernel does not tell (`beginnings_unseen` counts the gaps) may be one of the load's.
    """
    found, unseen = of_load(log), facts(log)["beginnings_unseen"]
    threads = lines.height
    slices = {reason: count for (quantity, reason), (count, _) in found.items() if quantity == "slice"}
    # The parent and the children of `child` print no line; the parent waits for each of the processes.
    others = 20 * 3 * runs + 2 * lines.height
    voluntary = sum(count for reason, count in slices.items() if reason in WAITS)
    assert lines["voluntary"].sum() - unseen <= voluntary <= lines["voluntary"].sum() + others
    involuntary = slices["preempted"]
    assert involuntary >= lines["involuntary"].sum() - unseen
    seconds = {
        quantity: sum(total for (name, _), (_, total) in found.items() if name == quantity)
        for quantity in ("slice", "run_queue_wait")
    }
    # Of 300 ms that each of three compute, the kernel's clock of tasks leaves out what a hypervisor took.
    steal = Log.open(log).samples().select(pl.col("steal_s").sum()).collect().item()
    run_s = 1e-9 * lines["run_ns"].sum()
    assert run_s * 0.98 - 0.02 * unseen <= seconds["slice"] <= run_s * 1.02 + steal + 0.05 * threads
    wait_s = 1e-9 * lines["wait_ns"].sum()
    longest_s = 0.1
    assert seconds["run_queue_wait"] >= wait_s * 0.98 - longest_s * unseen
