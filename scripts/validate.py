"""Play users on this machine, predict more users and fewer CPUs, and compare with what was measured.

    python scripts/validate.py [--quick] [--others CPUS] [--no-write]

Loads: computing, mixed, bound by fsync, and the prototype; 5, 10, 20 and 40 users; two CPUs and one; three
repetitions, in random order. Each run is a log in target/validate; those that are there are not played again,
so that a run that was cut off goes on. A run during which anything else used more than 0.15 CPU is repeated;
after five attempts the script ends with status 1 and says who uses them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from thinktime.log import Log
from thinktime.models.sizing import Machine, fit
from thinktime.predictions.size import goals
from thinktime.predictions.size.answer import Plan, Row, size
from thinktime.predictions.size.measured import Measured, Stretch, measured
from thinktime.sources import plans
from thinktime.stats.estimate import NotApplicable

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "target" / "validate"
PAGE = ROOT / "docs" / "background" / "how-good-are-predictions.md"
BEGIN, END = "<!-- table: written by `make validate` -->", "<!-- end of table -->"
PYTHON = [sys.executable, "-c", "from thinktime.cli import main; main()"]
THINK_S = {"cpu": 0.4, "mixed": 0.4, "disk": 0.4, "prototype": 1.0}
"""Mean think time by load."""
ATTEMPTS = 5
BACKGROUND_MOST = 0.9
"""Share of a CPU that background load is taken to use at most, when a busy machine is tried."""
GOALS = {"response": 0.15, "p90": 0.25, "throughput": 0.05}
"""Relative errors that nine of ten predictions should stay within."""
NINE_OF_TEN = 0.9
AWAY = 0.20
"""The same of a mean response after a CPU was taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Runs to make."""

    users: tuple[int, ...] = (5, 10, 20, 40)
    seconds: int = 16
    repetitions: int = 3
    cpus: tuple[int, ...] = (2, 1)

    @property
    def folder(self) -> Path:
        """Folder of the logs."""
        return RUNS / f"{self.seconds}s"


QUICK = Extent(users=(5, 10), seconds=6, repetitions=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One play."""

    load: str
    users: int
    cpus: int
    repetition: int

    @property
    def name(self) -> str:
        """Name of its log."""
        return f"{self.load}-{self.users}-users-{self.cpus}-cpus-{self.repetition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Prediction and measurement at one number of users."""

    kind: str
    """``twice``, ``all``, ``lowest``, ``half`` or ``cpu``: what it was predicted from."""
    load: str
    cpus: int
    sources: str
    row: Row
    truth: Stretch

    def errors(self) -> dict[str, float]:
        """Relative error of each quantity."""
        pairs = {
            "response": (self.row.response, self.truth.response),
            "p90": (self.row.p90, self.truth.p90),
            "throughput": (self.row.throughput, self.truth.throughput),
        }
        return {name: ours.value / theirs.value - 1.0 for name, (ours, theirs) in pairs.items()}

    @property
    def holds(self) -> bool:
        """True if the interval of the mean response holds the measured mean of all repetitions."""
        low, high = self.row.response.low, self.row.response.high
        assert low is not None
        assert high is not None
        return low <= self.truth.response.value <= high


def workload(load: str) -> dict[str, object]:
    """Workload of a load: built in, or one class of the mixed one."""
    if load in ("mixed", "prototype"):
        return dict(plans.workload(load))
    mixed = dict(plans.workload("mixed"))
    (compute,) = (one for one in mixed["classes"] if one["name"] == "compute")  # type: ignore[attr-defined]
    if load == "cpu":
        # 40 ms of CPU time, exponential.
        work: dict[str, object] = {
            "compute_iterations": {"kind": "exponential", "mean": 450.0, "max": 10000.0}
        }
    else:
        work = {
            "compute_iterations": {"kind": "exponential", "mean": 50.0, "max": 1000.0},
            "file_blocks": {"kind": "geometric", "mean": 4.0},
            "write_share": 1.0,
            "sync_share": 1.0,
        }
    return {**mixed, "name": load, "classes": [{**compute, **work, "name": load}]}


def busy_s() -> float:
    """CPU time of the machine so far that is neither idle nor waiting for a disk [s]."""
    first = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    ticks = [int(word) for word in first]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def largest() -> str:
    """Commands that use most CPU time now."""
    listed = subprocess.run(
        ["ps", "-eo", "pcpu,pid,comm", "--sort=-pcpu", "--no-headers"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "; ".join(" ".join(line.split()) for line in listed.stdout.splitlines()[:3])


def play(run: Run, extent: Extent, seed: int) -> float:
    """CPUs that others used while the users of `run` were played into its log."""
    path = extent.folder / run.name
    draft, description = extent.folder / f"{run.name}.draft", extent.folder / f"{run.load}.json"
    shutil.rmtree(draft, ignore_errors=True)
    description.write_text(json.dumps(workload(run.load)))
    confined = ["taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[: run.cpus]))]
    options = ["--users", str(run.users), "--step", f"{extent.seconds}s", "--seed", str(seed)]
    think = f"exponential(mean={THINK_S[run.load]}s)"
    command = [*confined, *PYTHON, "play", str(description), *options, "--think", think, "--baseline", "0s"]
    before, began = busy_s(), time.monotonic()
    child = subprocess.Popen(
        [*command, "-o", str(draft)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    said = child.stderr.read()
    # With all that it has waited for: its users too.
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{run.name}: thinktime play ended with {child.returncode}: {said.strip()}")
    others = (busy_s() - before - used.ru_utime - used.ru_stime) / (time.monotonic() - began)
    draft.rename(path)
    return others


def played(runs: Sequence[Run], extent: Extent, most: float) -> None:
    """Play all runs that have no log yet, in random order, while the machine is quiet."""
    extent.folder.mkdir(parents=True, exist_ok=True)
    order = list(runs)
    random.Random(1).shuffle(order)
    for number, run in enumerate(order, 1):
        if (extent.folder / run.name).exists():
            continue
        for attempt in range(ATTEMPTS):
            others = play(run, extent, seed=1000 * run.repetition + 10 * run.users + attempt)
            print(f"{number}/{len(order)} {run.name}: others {others:.2f} CPU", flush=True)
            if others <= most:
                break
            shutil.rmtree(extent.folder / run.name)
        else:
            raise SystemExit(
                f"others use {others:.2f} CPU, more than {most:g}: {largest()}. Measured on a busy machine, "
                "predictions are compared with the load of others. End it, and run this again: logs that "
                "are there are kept"
            )


def read(runs: Sequence[Run], extent: Extent) -> Measured:
    """What the logs of these runs say, all of one number of CPUs."""
    logs = [Log.open(extent.folder / run.name) for run in runs]
    found = measured(logs, [run.name for run in runs])
    if isinstance(found, NotApplicable):
        raise SystemExit(f"{runs[0].name}: {found.reason}; {found.remedy}")
    # The log has the CPUs of the machine; the users had those that they were confined to, and on these the
    # same part of what others used.
    machine = _confined(found.machine, runs[0].cpus)
    return replace(found, machine=replace(machine, cpus=runs[0].cpus))


def _confined(machine: Machine, cpus: int) -> Machine:
    """Machine whose background load is what falls on `cpus` of its CPUs."""
    background = min(machine.background * cpus / machine.cpus, BACKGROUND_MOST * cpus)
    return replace(machine, background=background)


def compared(extent: Extent) -> Iterator[Compared]:
    """All predictions with their measurements."""
    wanted = goals.read([])
    for load in THINK_S:
        truth = {
            cpus: {one.users: one for one in read(_runs(extent, load, cpus), extent).stretches}
            for cpus in extent.cpus
        }
        for cpus in extent.cpus:
            for kind, given, asked, on, repetitions in _questions(extent, cpus):
                asked = [users for users in asked if users in truth[on]]
                runs = [
                    Run(load=load, users=users, cpus=cpus, repetition=repetition)
                    for users in given
                    for repetition in repetitions
                ]
                source = read(runs, extent)
                plan = Plan() if on == cpus else Plan(cpus=on)
                fitted = fit(source.levels(), source.machine)
                source = replace(source, machine=_confined(source.machine, on))
                for row in size(source, fitted, plan, wanted, asked).rows if asked else ():
                    yield Compared(
                        kind=kind,
                        load=load,
                        cpus=on,
                        sources=", ".join(map(str, given)) + (" (all)" if kind == "all" else ""),
                        row=row,
                        truth=truth[on][row.users],
                    )


def _runs(extent: Extent, load: str, cpus: int) -> list[Run]:
    return [
        Run(load=load, users=users, cpus=cpus, repetition=repetition)
        for users in extent.users
        for repetition in range(extent.repetitions)
    ]


def _questions(
    extent: Extent, cpus: int
) -> Iterator[tuple[str, tuple[int, ...], list[int], int, tuple[int, ...]]]:
    """Kind, users measured, users predicted, CPUs predicted for, and repetitions measured."""
    users, each = extent.users, tuple(range(extent.repetitions))
    half = len(users) // 2
    for repetition in each:
        for one in users[:-1]:
            yield "twice", (one,), [2 * one], cpus, (repetition,)
        yield "lowest", users[:1], list(users[1:]), cpus, (repetition,)
        yield "half", users[:half], list(users[half:]), cpus, (repetition,)
        for fewer in extent.cpus:
            if fewer < cpus:
                yield "cpu", users[:1], list(users[:half]), fewer, (repetition,)
    # From three times as long a recording.
    for one in users[:-1]:
        yield "all", (one,), [2 * one], cpus, each


NAMES = {
    "twice": "twice the users",
    "all": "twice the users, from all repetitions",
    "lowest": "from the lowest number of users",
    "half": "from the lower half",
    "cpu": "a CPU taken away",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """Predictions of a kind that stay within their goals."""

    name: str
    n: int
    within: dict[str, int]
    """By quantity of `GOALS`."""
    held: int
    """Intervals that hold the measured mean."""
    median: float
    """Median relative error of the mean response."""

    @property
    def counts(self) -> dict[str, int]:
        """Predictions by what is asked of them."""
        named = {"response": "mean responses", "p90": "90th percentiles", "throughput": "throughputs"}
        return {named[quantity]: count for quantity, count in self.within.items()} | {"intervals": self.held}


def within(found: Sequence[Compared]) -> list[Within]:
    """How many predictions of each kind stay within the goals."""
    rows = []
    for kind, name in NAMES.items():
        some = [one for one in found if one.kind == kind]
        if not some:
            continue
        limits = GOALS | ({"response": AWAY} if kind == "cpu" else {})
        rows.append(
            Within(
                name=name,
                n=len(some),
                within={
                    quantity: sum(abs(one.errors()[quantity]) <= limit for one in some)
                    for quantity, limit in limits.items()
                },
                held=sum(one.holds for one in some),
                median=float(np.median([one.errors()["response"] for one in some])),
            )
        )
    return rows


def missed(rows: Sequence[Within]) -> list[str]:
    """Goals that are missed, and then those that are reached, as a list."""
    lines = []
    for word, reaches in (("Missed", False), ("Reached", True)):
        for row in rows:
            parts = [
                f"{count} of {row.n} {what}"
                for what, count in row.counts.items()
                if (count >= NINE_OF_TEN * row.n) == reaches
            ]
            if parts:
                lines.append(f"- {word}, {row.name}: {', '.join(parts)}.")
    return lines


def summary(rows: Sequence[Within]) -> list[str]:
    """Table of the shares within the goals."""
    lines = [
        "| prediction | n | mean response within 15 % (a CPU taken away: 20 %) | p90 within 25 % "
        "| throughput within 5 % | interval holds the mean | median error of the mean |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        shown = " | ".join(map(str, row.within.values()))
        lines.append(f"| {row.name} | {row.n} | {shown} | {row.held} | {100 * row.median:+.0f} % |")
    return lines


def details(found: Sequence[Compared]) -> list[str]:
    """Table of all predictions: the repetitions of one in a row."""
    lines = [
        "| load | CPUs | from users | to users | measured mean [ms] | predicted mean [ms] "
        "| errors of the mean | errors of p90 | errors of throughput |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    groups: dict[tuple[str, bool, int, str, int], list[Compared]] = {}
    for one in found:
        key = (one.load, one.kind == "cpu", one.cpus, one.sources, one.row.users)
        # Twice the lowest number is predicted from the lowest too: once is enough.
        if one.kind == groups.setdefault(key, [one])[0].kind and one is not groups[key][0]:
            groups[key].append(one)
    for (load, fewer, cpus, sources, users), some in groups.items():
        errors = [one.errors() for one in some]
        shown = [" ".join(f"{100 * error[quantity]:+.0f}" for error in errors) + " %" for quantity in GOALS]
        predicted = " ".join(f"{1000 * one.row.response.value:.0f}" for one in some)
        origin = f"{sources} ({cpus + 1} CPUs)" if fewer else sources
        lines.append(
            f"| {load} | {cpus} | {origin} | {users} | {1000 * some[0].truth.response.value:.0f} "
            f"| {predicted} | {' | '.join(shown)} |"
        )
    return lines


def text(found: Sequence[Compared], extent: Extent, most: float) -> str:
    """Text of the page between the marks."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown CPU",
    )
    today = datetime.datetime.now(datetime.timezone.utc).date()
    made = (
        f"{today}, {model}, Linux {platform.release()}; runs of {extent.seconds} s with "
        f"{', '.join(map(str, extent.users))} users, {extent.repetitions} of each, on "
        f"{' and '.join(map(str, extent.cpus))} CPUs; others used at most {most:g} CPU during each."
    )
    rows = within(found)
    return "\n".join([made, "", *missed(rows), "", *summary(rows), "", *details(found)])


def write(words: str) -> None:
    """Put the tables between the marks of the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{words}\n\n{END}{rest.split(END)[1]}")


def check_machine(extent: Extent, others: float) -> None:
    """Exit unless the machine has the CPUs, and leaves them alone but for `others` of one."""
    available = len(os.sched_getaffinity(0))
    if available < max(extent.cpus):
        raise SystemExit(f"this machine has {available} CPU; {max(extent.cpus)} are needed")
    began = busy_s()
    time.sleep(2.0)
    busy = (busy_s() - began) / 2.0
    if busy > others:
        raise SystemExit(
            f"others use {busy:.2f} CPU, more than {others:g}: {largest()}. End it, and run this again"
        )


def main() -> int:
    """Status 0 when all runs were made and the tables written."""
    parser = argparse.ArgumentParser(prog="validate", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="5 and 10 users for 6 s, once: tries the script")
    parser.add_argument("--others", type=float, default=0.15, help="CPUs that others may use")
    parser.add_argument("--no-write", action="store_true", help="print the tables only")
    given = parser.parse_args()
    extent = QUICK if given.quick else Extent()
    check_machine(extent, given.others)
    runs = [run for load in THINK_S for cpus in extent.cpus for run in _runs(extent, load, cpus)]
    played(runs, extent, given.others)
    words = text(list(compared(extent)), extent, given.others)
    print(words)
    if not given.no_write and not given.quick:
        write(words)
    return 0


if __name__ == "__main__":
    sys.exit(main())
