"""A swapper that balances loaded processes to swap less."""

from __future__ import annotations

from thinktime.studies.brachman_1983 import asked
from thinktime.studies.brachman_1983.asked import Variant
from thinktime.studies.brachman_1983.machine import Machine
from thinktime.studies.brachman_1983.tables import NAME
from thinktime.studies.cells import Claim
from thinktime.studies.study import Chapter

__all__ = ["chapter"]

LOADS = asked.runs(
    (157, 650, 6),
    (157, 650, 12),
    (157, 1280, 12),
    (314, 650, 6),
    (314, 650, 12),
    (314, 1280, 12),
)
UNIX = Variant("Sixth Edition")
BALANCED = Variant("balanced", {"swapper": "balanced"})
LONGER = Variant("resident 10 s", {"minimum_time_in": 10})
MORE = Variant("balanced, four at work", {"swapper": "balanced", "enough": 4})
VARIANTS = (UNIX, BALANCED, MORE, LONGER)


def chapter(machine: Machine) -> Chapter:
    """Compare the swapper of the Sixth Edition with one that balances, and with longer residence."""
    swaps = {name: asked.change(machine, load, UNIX, BALANCED, "swaps") for name, load in LOADS.items()}
    times = {name: asked.change(machine, load, UNIX, BALANCED) for name, load in LOADS.items()}
    waits = [f"{variant.name} {_longest_wait_s(machine, variant):.0f} s" for variant in VARIANTS]
    summary = (
        f"Balanced against Sixth Edition, swaps change by {asked.between(swaps)}.",
        f"Elapsed time changes by {asked.between(times)}.",
        f"The longest that a ready process waits to be swapped in: {', '.join(waits)} (means over the runs).",
    )
    findings = (
        Claim(
            study=NAME,
            id="balancing-swaps",
            source="further work",
            holds=asked.verdict(swaps),
            statistic="swaps: " + "; ".join(f"{name} {asked.said(gain)}" for name, gain in swaps.items()),
            text="a scheduler that balances loaded processes lowers swapping",
        ),
        Claim(
            study=NAME,
            id="balancing-time",
            source="further work",
            holds=asked.verdict(times),
            statistic="elapsed time: "
            + "; ".join(f"{name} {asked.said(gain)}" for name, gain in times.items()),
            text="a scheduler that balances loaded processes shortens the elapsed time",
        ),
    )
    return Chapter(
        claims=findings,
        summary=summary,
        charts=(
            asked.figure(machine, "balance-swaps", "Swaps by swapper", LOADS, VARIANTS, "swaps", "swaps"),
        ),
        tables=(asked.table(machine, "balance-table", "Swappers", LOADS, VARIANTS),),
    )


def _longest_wait_s(machine: Machine, variant: Variant) -> float:
    """Longest time that a ready process is out, of the loads; a mean over replications."""
    return max(asked.mean(machine, load, variant, "swap_in_wait_max_s").value for load in LOADS.values())
