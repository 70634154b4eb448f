"""Processes of unequal sizes with one mean size."""

from __future__ import annotations

from thinktime.models.swapping.disk_bound import predict
from thinktime.studies.brachman_1983 import asked
from thinktime.studies.brachman_1983.asked import Variant
from thinktime.studies.brachman_1983.devices import block_time_s, swap_time_s
from thinktime.studies.brachman_1983.equation import configuration, in_order
from thinktime.studies.brachman_1983.machine import Machine, interval
from thinktime.studies.brachman_1983.tables import CASES, NAME
from thinktime.studies.cells import Claim
from thinktime.studies.study import Chapter

__all__ = ["chapter", "mixed_run"]

MEAN = 236
VARIANTS = (
    Variant("all 236", {"size": MEAN}),
    Variant("197 and 275", {"size": [197, 275]}),
    Variant("157 and 315", {"size": [157, 315]}),
    Variant("100 and 372", {"size": [100, 372]}),
    Variant("10 × 157, 2 × 631", {"size": [157, 157, 157, 157, 157, 631]}),
)
LOADS: asked.Loads = {f"12, MM {memory}": {"memory": memory, "processes": 12} for memory in (650, 1000, 1280)}
NEAR = 0.10


def chapter(machine: Machine) -> Chapter:
    """Compare mixtures of sizes, and hold the mixed run of Table VII against equation 3.1."""
    gains = {
        (label, variant.name): asked.change(machine, load, VARIANTS[0], variant)
        for label, load in LOADS.items()
        for variant in VARIANTS[1:]
    }
    widest = max(gains, key=lambda key: abs(gains[key].value))
    summary = (
        f"Processes of {MEAN} clicks each, and mixtures with that mean. Elapsed time changes most with "
        f"{widest[1]} ({widest[0]}): {asked.said(gains[widest])}.",
    )
    return Chapter(
        summary=summary,
        charts=(asked.figure(machine, "mixing", "Elapsed time of unequal sizes", LOADS, VARIANTS),),
        tables=(asked.table(machine, "mixing-table", "Sizes with one mean", LOADS, VARIANTS),),
    )


def mixed_run(machine: Machine) -> Claim:
    """Whether the simulated mixed run is near what equation 3.1 makes of the other simulated runs."""
    mixed = next(case for case in CASES if len(case.sizes_clicks) > 1)
    block_s = float(block_time_s(machine).mean())
    swap_s = float(sum(swap_time_s(machine, size).mean() for size in mixed.sizes_clicks) / 2.0)
    ours = interval(machine.measured(mixed, "elapsed_s"))
    asked_for = configuration(mixed, block_s, swap_s, ours.value)
    found = []
    for case in in_order():
        own = float(swap_time_s(machine, case.sizes_clicks[0]).mean())
        known = configuration(case, block_s, own, machine.mean(case, "elapsed_s"))
        found.append(float(predict(known, asked_for)["elapsed_b_s"]))
    expected = sum(found) / len(found)
    off = ours.value / expected - 1.0
    return Claim(
        study=NAME,
        id="mixed-sizes",
        source="Table VII, last row",
        holds=abs(off) <= NEAR,
        statistic=f"simulated {ours.value:.0f} s, from the six runs of twelve equal processes "
        f"{expected:.0f} s "
        f"({min(found):.0f} to {max(found):.0f}): {100 * off:+.1f} %; within {100 * NEAR:.0f} % is close",
        text="the run of six small and six large processes comes close to what equation 3.1 predicts of it",
    )
