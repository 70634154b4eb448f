"""Overlapped seeks, and files beside or apart from the swap area."""

from __future__ import annotations

from thinktime.studies.brachman_1983 import asked
from thinktime.studies.brachman_1983.asked import Variant
from thinktime.studies.brachman_1983.machine import Machine
from thinktime.studies.brachman_1983.tables import NAME
from thinktime.studies.cells import Claim
from thinktime.studies.study import Chapter

__all__ = ["chapter"]

LOADS = asked.runs(
    (157, 650, 12),
    (157, 1280, 12),
    (314, 650, 12),
    (314, 1280, 12),
    (314, 1280, 5),
)
APART = Variant("two drives")
OVERLAPPED = Variant("two drives, overlapped seeks", {"overlapped_seeks": True})
TOGETHER = Variant("one drive", {"drives": 1, "swap_drive": 0, "file_drive": 0, "swap_cylinder": 201})
"""The swap area lies behind the files, which end at cylinder 200."""
VARIANTS = (APART, OVERLAPPED, TOGETHER)


def chapter(machine: Machine) -> Chapter:
    """Compare two drives as measured with overlapped seeks, and with one drive for all."""
    gains = {name: asked.change(machine, load, APART, OVERLAPPED) for name, load in LOADS.items()}
    costs = {name: asked.change(machine, load, APART, TOGETHER) for name, load in LOADS.items()}
    more = {name: asked.change(machine, load, APART, OVERLAPPED, "swaps") for name, load in LOADS.items()}
    summary = (
        "With overlapped seeks the arm of one drive moves while the other is served, so that file requests "
        "and swaps go on beside each other but for their transfers. Elapsed time changes by "
        f"{asked.between(gains)}.",
        "Swaps do not wait behind file requests any more, so there may be more of them: their number changes "
        f"by {asked.between(more)}.",
        f"With files and swap area on one drive it changes by {asked.between(costs)}.",
    )
    finding = Claim(
        study=NAME,
        id="overlapped-seeks",
        source="further work",
        holds=asked.verdict(gains),
        statistic="; ".join(f"{name} {asked.said(gain)}" for name, gain in gains.items()),
        text="overlapped seeks shorten the elapsed time",
    )
    return Chapter(
        claims=(finding,),
        summary=summary,
        charts=(asked.figure(machine, "overlap", "Elapsed time by what the drives do", LOADS, VARIANTS),),
        tables=(asked.table(machine, "overlap-table", "Drives and seeks", LOADS, VARIANTS),),
    )
