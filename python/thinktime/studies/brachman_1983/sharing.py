"""Pure text that all processes share and that is never swapped out."""

from __future__ import annotations

from thinktime.documents.document import Cell
from thinktime.models.swapping.disk_bound import predict
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983 import asked
from thinktime.studies.brachman_1983.asked import Variant
from thinktime.studies.brachman_1983.devices import block_time_s
from thinktime.studies.brachman_1983.machine import Machine
from thinktime.studies.brachman_1983.tables import NAME
from thinktime.studies.cells import Claim
from thinktime.studies.study import Chapter

__all__ = ["chapter"]

SIZES = ((157, 650), (157, 1280), (314, 650), (314, 1280))
PROCESSES = 12
PARTS = (0.0, 0.25, 0.5, 0.75)
HALF = "50 % text"


def chapter(machine: Machine) -> Chapter:
    """Compare programs of the same size of which a growing part is pure text."""
    found = {size: _variants(size) for size in sorted({size for size, _ in SIZES})}
    tables, pictures, gains = [], [], {}
    for size, variants in found.items():
        loads = _loads(size)
        beside = _predicted(machine, size, loads, variants)
        caption = f"Twelve processes of {size} clicks, a part of them pure text that all share"
        heading = "equation 3.1: change of elapsed"
        tables.append(
            asked.table(machine, f"sharing-{size}", caption, loads, variants, _notes(), (heading, beside))
        )
        title = f"Elapsed time with shared text, {size} clicks"
        pictures.append(asked.figure(machine, f"sharing-figure-{size}", title, loads, variants))
        for label, load in loads.items():
            for variant in variants[1:]:
                gains[f"{label}, {variant.name}"] = asked.change(machine, load, variants[0], variant)
    half = {name: gain for name, gain in gains.items() if name.endswith(HALF)}
    summary = (f"With half of each program pure and shared, elapsed time changes by {asked.between(half)}.",)
    finding = Claim(
        study=NAME,
        id="shared-text",
        source="further work",
        holds=asked.verdict(gains),
        statistic="; ".join(f"{name} {asked.said(gain)}" for name, gain in gains.items()),
        text="pure text that is shared shortens the elapsed time",
    )
    return Chapter(claims=(finding,), summary=summary, charts=tuple(pictures), tables=tuple(tables))


def _variants(size: int) -> tuple[Variant, ...]:
    return tuple(
        Variant(f"{100 * part:.0f} % text", {"text": round(part * size)} if part else {}) for part in PARTS
    )


def _loads(size: int) -> asked.Loads:
    return asked.runs(*((own, memory, PROCESSES) for own, memory in SIZES if own == size))


def _notes() -> tuple[str, ...]:
    return (
        "Equation 3.1 is given NL = floor((MM − text) / (PS − text)) and the simulated times of blocks and "
        "swaps.",
    )


def _predicted(
    machine: Machine, size: int, loads: asked.Loads, variants: tuple[Variant, ...]
) -> dict[tuple[str, str], Cell]:
    """Predict the change from the first variant to each other by equation 3.1."""
    block_s = float(block_time_s(machine).mean())
    found: dict[tuple[str, str], Cell] = {}
    for label, load in loads.items():
        sides = []
        for variant in variants:
            text = int(variant.changes.get("text", 0))
            swap = asked.mean(machine, load, variant, "swap_time_s")
            loaded = min(PROCESSES, (int(load["memory"]) - text) // (size - text))
            swap_s = swap.value if swap.n and loaded < PROCESSES else 0.0
            sides.append(
                Configuration(block_time_s=block_s, swap_time_s=swap_s, loaded=loaded, processes=PROCESSES)
            )
        for variant, side in zip(variants[1:], sides[1:], strict=True):
            ratio = float(predict(sides[0], side)["ratio"])
            found[label, variant.name] = Estimate(value=ratio - 1.0, unit="share", n=1, method="equation 3.1")
    return found
