"""Play users on all CPUs and on one, replay each log on its own machine and on the other, and compare.

    python scripts/validate_replay.py [--seconds 45] [--others CPUS] [--no-write]

Two loads, computing and mixed, with 5, 10 and 20 users on two CPUs, and by `taskset` on one: twelve plays in
random order, eleven minutes. Each log is simulated as recorded and with the other number of CPUs (`thinktime
simulate --from`), which is compared with what was recorded there. Logs stay in target/validate and are not
played again. A play during which anything else used more than 0.15 CPU is repeated; after five attempts the
script ends with status 1 and says who uses them.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from validate import Extent, Run, check_machine, played

from thinktime.errors import InputError
from thinktime.log import Log
from thinktime.predictions.replay.answer import Outcome, ReplayPlan, replay
from thinktime.stats.estimate import Estimate

PAGE = Path(__file__).resolve().parents[1] / "docs" / "background" / "how-good-are-predictions.md"
BEGIN, END = "<!-- replayed: written by scripts/validate_replay.py -->", "<!-- end of replayed -->"
LOADS = ("cpu", "mixed")
USERS = (5, 10, 20)
GOAL = 0.20
"""Relative error of a mean response that is asked for."""
KINDS = {"as recorded": "simulated as recorded", "other": "simulated on the other number of CPUs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A simulated outcome and what was recorded on that machine."""

    load: str
    users: int
    source: int
    """CPUs of the log that was replayed."""
    cpus: int
    """CPUs that were simulated."""
    predicted: Outcome
    measured: Outcome

    @property
    def kind(self) -> str:
        """Key of `KINDS`."""
        return "as recorded" if self.source == self.cpus else "other"

    def error(self, of: str) -> float:
        """Relative error of a quantity."""
        ours, theirs = getattr(self.predicted, of), getattr(self.measured, of)
        return float(ours.value / theirs.value - 1.0)


def compared(extent: Extent) -> Iterator[Compared]:
    """All simulations with what they are compared with."""
    for load in LOADS:
        for users in extent.users:
            runs = {cpus: Run(load=load, users=users, cpus=cpus, repetition=0) for cpus in extent.cpus}
            logs = {cpus: Log.open(extent.folder / run.name) for cpus, run in runs.items()}
            for source, log in logs.items():
                for cpus in extent.cpus:
                    try:
                        found = replay(log, plan=ReplayPlan(confined_to=source, cpus=cpus))
                    except InputError as error:
                        # On a busy machine others may take more than the CPU that is left.
                        print(f"{load}, {users} users, {source} to {cpus} CPUs: not predicted: {error}")
                        continue
                    there = replay(logs[cpus], plan=ReplayPlan(confined_to=cpus))
                    yield Compared(
                        load=load,
                        users=users,
                        source=source,
                        cpus=cpus,
                        predicted=found.outcomes[-1],
                        measured=there.outcomes[0],
                    )


def missed(found: Sequence[Compared]) -> list[str]:
    """How many of each kind are within the goal; those that are not, by name."""
    lines = []
    for kind, words in KINDS.items():
        some = [one for one in found if one.kind == kind]
        off = [one for one in some if abs(one.error("mean")) > GOAL]
        named = "; ".join(
            f"{one.load} with {one.users} users, {one.source} to {one.cpus} CPUs: "
            f"{100 * one.error('mean'):+.0f} %"
            for one in off
        )
        lines.append(
            f"- {'Missed' if off else 'Reached'}, {words}: {len(some) - len(off)} of {len(some)} mean "
            f"responses within {100 * GOAL:.0f} %" + (f"; not {named}." if off else ".")
        )
    return lines


def milliseconds(value: Estimate) -> str:
    """Value with its interval."""
    if value.low is None or value.high is None:
        return f"{1000 * value.value:.0f}"
    return f"{1000 * value.value:.0f} ({1000 * value.low:.0f} to {1000 * value.high:.0f})"


def text(found: Sequence[Compared], extent: Extent, most: float) -> str:
    """Text of the page between the marks."""
    words = next(
        (line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
        "model name: unknown CPU",
    )
    today = datetime.datetime.now(datetime.timezone.utc).date()
    lines = [
        f"{today}, {words.split(':', 1)[1].strip()}, Linux {platform.release()}; plays of "
        f"{extent.seconds} s, one of each; others used at most {most:g} CPU during each.",
        "",
        *missed(found),
        "",
        "| load | users | log of | simulated | measured mean there [ms] | simulated mean [ms] | error "
        "| error of p90 | error of throughput |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in found:
        # Adding zero drops the sign of an error that rounds to it.
        errors = " | ".join(f"{round(100 * one.error(of)) + 0:+d} %" for of in ("mean", "p90", "throughput"))
        lines.append(
            f"| {one.load} | {one.users} | {one.source} CPUs | {one.cpus} CPUs "
            f"| {milliseconds(one.measured.mean)} | {milliseconds(one.predicted.mean)} | {errors} |"
        )
    return "\n".join(lines).replace(" 1 CPUs", " 1 CPU")


def main() -> int:
    """Status 0 when all plays were made and the table written."""
    parser = argparse.ArgumentParser(prog="validate_replay", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=45, help="length of each play")
    parser.add_argument("--others", type=float, default=0.15, help="CPUs that others may use")
    parser.add_argument("--no-write", action="store_true", help="print the table only")
    given = parser.parse_args()
    extent = Extent(users=USERS, seconds=given.seconds, repetitions=1)
    check_machine(extent, given.others)
    runs = [
        Run(load=load, users=users, cpus=cpus, repetition=0)
        for load in LOADS
        for users in extent.users
        for cpus in extent.cpus
    ]
    played(runs, extent, given.others)
    words = text(list(compared(extent)), extent, given.others)
    print(words)
    if not given.no_write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{words}\n\n{END}{rest.split(END)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
