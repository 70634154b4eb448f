"""Further work that the thesis proposes: overlapped seeks, a swapper that balances, and shared text."""

from __future__ import annotations

from thinktime.documents.document import Cell
from thinktime.models.swapping.disk_bound import predict
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983 import what_if
from thinktime.studies.brachman_1983.components import block_time_s
from thinktime.studies.brachman_1983.runs import PAPER
from thinktime.studies.brachman_1983.what_if import Variant
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

SEEK_LOADS = what_if.runs(
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
DRIVES = (APART, OVERLAPPED, TOGETHER)


def overlap(laboratory: Laboratory) -> Chapter:
    """Two drives as measured with overlapped seeks, and with one drive for all."""
    gains = {name: what_if.change(laboratory, load, APART, OVERLAPPED) for name, load in SEEK_LOADS.items()}
    costs = {name: what_if.change(laboratory, load, APART, TOGETHER) for name, load in SEEK_LOADS.items()}
    more = {
        name: what_if.change(laboratory, load, base=APART, other=OVERLAPPED, response="swaps")
        for name, load in SEEK_LOADS.items()
    }
    summary = (
        "With overlapped seeks the arm of one drive moves while the other is served, so that file requests "
        "and swaps overlap but for their transfers. Elapsed time changes by "
        f"{what_if.between(gains)}.",
        "Swaps do not wait behind file requests any more, so there may be more of them: their number changes "
        f"by {what_if.between(more)}.",
        f"With files and swap area on one drive it changes by {what_if.between(costs)}.",
    )
    finding = PAPER.claim(
        "overlapped-seeks",
        what_if.verdict(gains),
        "; ".join(f"{name} {what_if.in_words(gain)}" for name, gain in gains.items()),
    )
    return Chapter(
        claims=(finding,),
        summary=summary,
        charts=(
            what_if.figure(
                laboratory,
                "overlap",
                title="Elapsed time by what the drives do",
                loads=SEEK_LOADS,
                variants=DRIVES,
            ),
        ),
        tables=(
            what_if.table(
                laboratory, "overlap-table", caption="Drives and seeks", loads=SEEK_LOADS, variants=DRIVES
            ),
        ),
    )


SWAPPER_LOADS = what_if.runs(
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
MORE = Variant("balanced, four at work", {"swapper": "balanced", "target_ready": 4})
SWAPPERS = (UNIX, BALANCED, MORE, LONGER)


def balance(laboratory: Laboratory) -> Chapter:
    """The swapper of the Sixth Edition with one that balances, and with longer residence."""
    swaps = {
        name: what_if.change(laboratory, load, base=UNIX, other=BALANCED, response="swaps")
        for name, load in SWAPPER_LOADS.items()
    }
    times = {name: what_if.change(laboratory, load, UNIX, BALANCED) for name, load in SWAPPER_LOADS.items()}
    waits = [f"{variant.name} {_longest_wait_s(laboratory, variant):.0f} s" for variant in SWAPPERS]
    summary = (
        f"Balanced against Sixth Edition, swaps change by {what_if.between(swaps)}.",
        f"Elapsed time changes by {what_if.between(times)}.",
        f"The longest that a ready process waits to be swapped in: {', '.join(waits)} (means over the runs).",
    )
    findings = (
        PAPER.claim(
            "balancing-swaps",
            what_if.verdict(swaps),
            "swaps: " + "; ".join(f"{name} {what_if.in_words(gain)}" for name, gain in swaps.items()),
        ),
        PAPER.claim(
            "balancing-time",
            what_if.verdict(times),
            "elapsed time: " + "; ".join(f"{name} {what_if.in_words(gain)}" for name, gain in times.items()),
        ),
    )
    return Chapter(
        claims=findings,
        summary=summary,
        charts=(
            what_if.figure(
                laboratory,
                "balance-swaps",
                title="Swaps by swapper",
                loads=SWAPPER_LOADS,
                variants=SWAPPERS,
                response="swaps",
                axis="swaps",
            ),
        ),
        tables=(
            what_if.table(
                laboratory, "balance-table", caption="Swappers", loads=SWAPPER_LOADS, variants=SWAPPERS
            ),
        ),
    )


def _longest_wait_s(laboratory: Laboratory, variant: Variant) -> float:
    """Longest time that a ready process is out, of the loads; a mean over replications."""
    return max(
        what_if.mean(laboratory, load, variant, "swap_in_wait_max_s").value for load in SWAPPER_LOADS.values()
    )


SHARING_SIZES = ((157, 650), (157, 1280), (314, 650), (314, 1280))
PROCESSES = 12
TEXT_SHARES = (0.0, 0.25, 0.5, 0.75)
HALF = "50 % text"


def sharing(laboratory: Laboratory) -> Chapter:
    """Programs of the same size of which a growing part is pure text."""
    result = {size: _shared(size) for size in sorted({size for size, _ in SHARING_SIZES})}
    tables, pictures, gains = [], [], {}
    for size, variants in result.items():
        loads = _sharing_loads(size)
        beside = _by_equation(laboratory, size, loads, variants)
        caption = f"Twelve processes of {size} clicks, a part of them pure text that all share"
        heading = "equation 3.1: change of elapsed"
        tables.append(
            what_if.table(
                laboratory,
                f"sharing-{size}",
                caption=caption,
                loads=loads,
                variants=variants,
                notes=_sharing_notes(),
                beside=(heading, beside),
            )
        )
        title = f"Elapsed time with shared text, {size} clicks"
        pictures.append(
            what_if.figure(laboratory, f"sharing-figure-{size}", title=title, loads=loads, variants=variants)
        )
        for label, load in loads.items():
            for variant in variants[1:]:
                gains[f"{label}, {variant.name}"] = what_if.change(laboratory, load, variants[0], variant)
    half = {name: gain for name, gain in gains.items() if name.endswith(HALF)}
    summary = (
        f"With half of each program pure and shared, elapsed time changes by {what_if.between(half)}.",
    )
    finding = PAPER.claim(
        "shared-text",
        what_if.verdict(gains),
        "; ".join(f"{name} {what_if.in_words(gain)}" for name, gain in gains.items()),
    )
    return Chapter(claims=(finding,), summary=summary, charts=tuple(pictures), tables=tuple(tables))


def _shared(size: int) -> tuple[Variant, ...]:
    return tuple(
        Variant(f"{100 * part:.0f} % text", {"text": round(part * size)} if part else {})
        for part in TEXT_SHARES
    )


def _sharing_loads(size: int) -> what_if.Loads:
    return what_if.runs(
        *((selected, memory, PROCESSES) for selected, memory in SHARING_SIZES if selected == size)
    )


def _sharing_notes() -> tuple[str, ...]:
    return (
        "Equation 3.1 is given NL = floor((MM − text) / (PS − text)) and the simulated times of blocks and "
        "swaps.",
    )


def _by_equation(
    laboratory: Laboratory, size: int, loads: what_if.Loads, variants: tuple[Variant, ...]
) -> dict[tuple[str, str], Cell]:
    """Predict the change from the first variant to each other by equation 3.1."""
    block_s = float(block_time_s(laboratory).mean())
    result: dict[tuple[str, str], Cell] = {}
    for label, load in loads.items():
        sides = []
        for variant in variants:
            text = int(variant.changes.get("text", 0))
            swap = what_if.mean(laboratory, load, variant, "swap_time_s")
            loaded = min(PROCESSES, (int(load["memory"]) - text) // (size - text))
            swap_s = swap.value if swap.n and loaded < PROCESSES else 0.0
            sides.append(
                Configuration(block_time_s=block_s, swap_time_s=swap_s, loaded=loaded, processes=PROCESSES)
            )
        for variant, side in zip(variants[1:], sides[1:], strict=True):
            ratio = float(predict(sides[0], side)["ratio"])
            result[label, variant.name] = Estimate(
                value=ratio - 1.0, unit="share", n=1, method="equation 3.1"
            )
    return result
