"""Compare the costs of requests by regression with those measured directly, over plays of four loads.

    python scripts/validate_costs.py [--quick] [--no-write]

Loads: mixed work; the same by processes with 16 MB in memory; mostly compilations, which fork; files and
terminals. Three plays of each, with more users than the CPUs serve at once. The direct costs are measured
before each. Each play is a log in target/costs; those that are there are not played again, so that a run that
was cut off goes on.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.overhead import analysis as overhead
from thinktime.analyses.overhead.claims import MEASURED_DIRECTLY
from thinktime.analyses.overhead.section import name_of
from thinktime.log import Log
from thinktime.sources.plans import Plan, workload
from thinktime.sources.terminals import Terminals, play_into
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Cost

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "target" / "costs"
PAGE = ROOT / "docs" / "background" / "what-requests-cost.md"
BEGIN, END = "<!-- table: written by scripts/validate_costs.py -->", "<!-- end of table -->"
WEIGHTS: dict[str, dict[str, float]] = {
    "mixed": {},
    "large processes": {},
    "compilations": {"edit": 10, "compute": 10, "compile": 60, "load": 10, "copy": 5, "list": 5},
    "files and terminals": {"edit": 40, "compute": 5, "compile": 5, "load": 10, "copy": 20, "list": 20},
}
"""Weights of the classes of interactions of the load `mixed`, by load; its own where none are given."""
ARRAY_BYTES = {"large processes": 16_000_000}
REPETITIONS = 3
USERS, STEP_S, INTERVAL_S, THINK_S = "8..40..8", 12.0, 0.5, 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One cost by regression that was measured directly too."""

    load: str
    cost: Cost

    @property
    def ratio(self) -> float:
        """Cost by regression over the direct one."""
        return 0.0 if self.cost.direct is None else self.cost.direct.ratio

    @property
    def agrees(self) -> bool:
        """True if they differ by no more than chance."""
        return self.cost.direct is not None and self.cost.direct.agrees

    @property
    def is_sure(self) -> bool:
        """True if it would be stated without the direct one."""
        return {item.kind for item in self.cost.doubts} <= {"direct_cost_differs"}


def played(terminals: Terminals, load: str, repetition: int, step_s: float) -> Log:
    """Log of one play; the one that is there if it was made before."""
    path = RUNS / f"{step_s:g}s" / f"{load.replace(' ', '-')}-{repetition}"
    if path.exists():
        return Log.open(path)
    work = copy.deepcopy(workload("mixed"))
    work["array_bytes"] = ARRAY_BYTES.get(load, work["array_bytes"])
    for one in work["classes"]:
        one["weight"] = WEIGHTS[load].get(one["name"], one["weight"])
    plan = Plan(
        workload=work,
        users=USERS,
        step_s=step_s,
        think={"kind": "exponential", "mean": THINK_S},
        seed=100 + repetition,
        baseline_s=0.0,
    )
    direct = terminals.measure_direct(work["array_bytes"], lambda _: True)
    prepared = terminals.prepare(plan, lambda _: True)
    part = path.with_name(path.name + ".part")
    play_into(
        terminals,
        plan,
        prepared,
        part,
        force=True,
        interval_s=INTERVAL_S,
        on_progress=lambda _: True,
        facts={"direct_costs": direct},
    )
    part.rename(path)
    return Log.open(path)


def pairs(step_s: float) -> Iterator[Pair]:
    """Costs of all plays that have a direct one; a line for each on standard error."""
    with Terminals() as terminals:
        for load in WEIGHTS:
            for repetition in range(REPETITIONS):
                found = overhead.analyse(played(terminals, load, repetition, step_s))
                if isinstance(found, NotApplicable):
                    print(f"{load} {repetition}: no regression", file=sys.stderr)
                    continue
                for cost in found.costs:
                    if cost.direct is None:
                        continue
                    doubts = ", ".join(item.kind for item in cost.doubts) or "a finding"
                    print(
                        f"{load} {repetition} {cost.request}: {1e6 * cost.seconds.value:.2f} "
                        f"({1e6 * (cost.seconds.low or 0):.2f} to {1e6 * (cost.seconds.high or 0):.2f}), "
                        f"directly {1e6 * cost.direct.seconds.value:.2f} us; {found.timing}; {doubts}",
                        file=sys.stderr,
                        flush=True,
                    )
                    yield Pair(load=load, cost=cost)


def text(found: list[Pair], plays: int) -> str:
    """Text of the page between the marks."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    lines = [
        f"{today}, Linux {platform.release()}: {plays} plays.",
        "",
        "| request | plays with a row for it | cost over direct cost: median, range | agree "
        "| no other doubt | of these agree |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for request in MEASURED_DIRECTLY:
        some = [one for one in found if one.cost.request == request]
        if not some:
            lines.append(f"| {request} | 0 | - | - | - | - |")
            continue
        ratios = np.array([one.ratio for one in some])
        sure = [one for one in some if one.is_sure]
        lines.append(
            f"| {name_of(some[0].cost)} | {len(some)} | {np.median(ratios):.2f} ({ratios.min():.2f} to "
            f"{ratios.max():.2f}) | {sum(one.agrees for one in some)} | {len(sure)} "
            f"| {sum(one.agrees for one in sure)} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Status 0 when all plays were made and the table printed."""
    parser = argparse.ArgumentParser(prog="validate_costs", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the time: tries the script")
    parser.add_argument("--no-write", action="store_true", help="print the table only")
    given = parser.parse_args()
    found = list(pairs(STEP_S / 5.0 if given.quick else STEP_S))
    words = text(found, len(WEIGHTS) * REPETITIONS)
    print(words)
    if not (given.no_write or given.quick):
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        page = f"{before}{BEGIN}\n\n{words}\n\n{END}{rest.split(END)[1]}"
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
