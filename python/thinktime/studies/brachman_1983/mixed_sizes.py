"""Processes of unequal sizes with one mean size."""

from __future__ import annotations

from thinktime.models.swapping.disk_bound import predict
from thinktime.studies.brachman_1983 import what_if
from thinktime.studies.brachman_1983.components import block_time_s, swap_time_s
from thinktime.studies.brachman_1983.equation import configuration, in_order
from thinktime.studies.brachman_1983.runs import CASES, PAPER, column_of, mean_of
from thinktime.studies.brachman_1983.what_if import Comparison, Variant
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

MEAN = 236
VARIANTS = (
    Variant("all 236", {"size": MEAN}),
    Variant("197 and 275", {"size": [197, 275]}),
    Variant("157 and 315", {"size": [157, 315]}),
    Variant("100 and 372", {"size": [100, 372]}),
    Variant("10 × 157, 2 × 631", {"size": [157, 157, 157, 157, 157, 631]}),
)
LOADS: what_if.Loads = {
    f"12, MM {memory}": {"memory": memory, "processes": 12} for memory in (650, 1000, 1280)
}


def chapter(laboratory: Laboratory) -> Chapter:
    """Mixtures of sizes with one mean."""
    compared = Comparison(laboratory=laboratory, loads=LOADS, variants=VARIANTS)
    gains = {
        (label, variant.name): gain
        for variant in VARIANTS[1:]
        for label, gain in compared.changes(variant).items()
    }
    load, sizes = max(gains, key=lambda key: abs(gains[key].value))
    summary = (
        f"Processes of {MEAN} clicks each, and mixtures with that mean. Elapsed time changes most with "
        f"{sizes} ({load}): {what_if.in_words(gains[load, sizes])}.",
    )
    return Chapter(
        summary=summary,
        charts=(compared.figure("mixing", "Elapsed time of unequal sizes"),),
        tables=(compared.table("mixing-table", "Sizes with one mean"),),
    )


def mixed_run(laboratory: Laboratory) -> Claim:
    """Claim that the simulated mixed run is near what equation 3.1 makes of the other simulated runs."""
    mixed = next(case for case in CASES if len(case.sizes_clicks) > 1)
    block_s = float(block_time_s(laboratory).mean())
    swap_s = float(sum(swap_time_s(laboratory, size).mean() for size in mixed.sizes_clicks) / 2.0)
    ours = interval(column_of(laboratory, mixed, "elapsed_s"))
    asked_for = configuration(mixed, block_s, swap_s, ours.value)
    result = []
    for case in in_order():
        selected = float(swap_time_s(laboratory, case.sizes_clicks[0]).mean())
        present = configuration(case, block_s, selected, mean_of(laboratory, case, "elapsed_s"))
        result.append(float(predict(present, asked_for)["elapsed_b_s"]))
    expected = sum(result) / len(result)
    off = ours.value / expected - 1.0
    return PAPER.claim(
        "mixed-sizes",
        [abs(off)],
        f"simulated {ours.value:.0f} s, from the six runs of twelve equal processes "
        f"{expected:.0f} s "
        f"({min(result):.0f} to {max(result):.0f}): {100 * off:+.1f} %; within "
        f"{100 * PAPER.amount('mixed-sizes'):.0f} % is close",
    )
