"""Further work that the thesis proposes: overlapped seeks, a swapper that balances, and shared text."""

from __future__ import annotations

from thinktime.documents.document import Cell
from thinktime.models.swapping.disk_bound import predict
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983 import what_if
from thinktime.studies.brachman_1983.components import block_time_s
from thinktime.studies.brachman_1983.runs import PAPER
from thinktime.studies.brachman_1983.what_if import Comparison, Variant
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
    compared = Comparison(laboratory=laboratory, loads=SEEK_LOADS, variants=DRIVES)
    gains, costs = compared.changes(OVERLAPPED), compared.changes(TOGETHER)
    summary = (
        "With overlapped seeks the arm of one drive moves while the other is served, so that file requests "
        "and swaps overlap but for their transfers. Elapsed time changes by "
        f"{what_if.between(gains)}.",
        "Swaps do not wait behind file requests any more, so there may be more of them: their number changes "
        f"by {what_if.between(compared.changes(OVERLAPPED, 'swaps'))}.",
        f"With files and swap area on one drive it changes by {what_if.between(costs)}.",
    )
    return Chapter(
        claims=(PAPER.claim("overlapped-seeks", what_if.verdict(gains), what_if.listed(gains)),),
        summary=summary,
        charts=(compared.figure("overlap", "Elapsed time by what the drives do"),),
        tables=(compared.table("overlap-table", "Drives and seeks"),),
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
    compared = Comparison(laboratory=laboratory, loads=SWAPPER_LOADS, variants=SWAPPERS)
    swaps, times = compared.changes(BALANCED, "swaps"), compared.changes(BALANCED)
    # The longest wait of the loads; a mean over replications.
    waits = {
        variant.name: max(compared.mean(load, variant, "swap_in_wait_max_s").value for load in SWAPPER_LOADS)
        for variant in SWAPPERS
    }
    longest = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in waits.items())
    summary = (
        f"Balanced against Sixth Edition, swaps change by {what_if.between(swaps)}.",
        f"Elapsed time changes by {what_if.between(times)}.",
        f"The longest that a ready process waits to be swapped in: {longest} (means over the runs).",
    )
    claims = (
        PAPER.claim("balancing-swaps", what_if.verdict(swaps), f"swaps: {what_if.listed(swaps)}"),
        PAPER.claim("balancing-time", what_if.verdict(times), f"elapsed time: {what_if.listed(times)}"),
    )
    return Chapter(
        claims=claims,
        summary=summary,
        charts=(compared.figure("balance-swaps", "Swaps by swapper", response="swaps", axis="swaps"),),
        tables=(compared.table("balance-table", "Swappers"),),
    )


SHARING_SIZES = ((157, 650), (157, 1280), (314, 650), (314, 1280))
PROCESSES = 12
TEXT_SHARES = (0.0, 0.25, 0.5, 0.75)
HALF = "50 % text"


def sharing(laboratory: Laboratory) -> Chapter:
    """Programs of the same size of which a growing part is pure text."""
    tables, charts, gains = [], [], {}
    for size in sorted({size for size, _ in SHARING_SIZES}):
        compared = _sharing(laboratory, size)
        tables.append(
            compared.table(
                f"sharing-{size}",
                f"Twelve processes of {size} clicks, a part of them pure text that all share",
                more=("equation 3.1: change of elapsed", _by_equation(compared, size)),
                notes=(
                    "Equation 3.1 is given NL = floor((MM − text) / (PS − text)) and the simulated times of "
                    "blocks and swaps.",
                ),
            )
        )
        title = f"Elapsed time with shared text, {size} clicks"
        charts.append(compared.figure(f"sharing-figure-{size}", title))
        changes = {variant.name: compared.changes(variant) for variant in compared.variants[1:]}
        for load in compared.loads:
            gains.update({f"{load}, {name}": by_load[load] for name, by_load in changes.items()})
    half = {name: gain for name, gain in gains.items() if name.endswith(HALF)}
    summary = (
        f"With half of each program pure and shared, elapsed time changes by {what_if.between(half)}.",
    )
    claim = PAPER.claim("shared-text", what_if.verdict(gains), what_if.listed(gains))
    return Chapter(claims=(claim,), summary=summary, charts=tuple(charts), tables=tuple(tables))


def _sharing(laboratory: Laboratory, size: int) -> Comparison:
    """Programs of one size by the share of pure text."""
    return Comparison(
        laboratory=laboratory,
        loads=what_if.runs(*((size, memory, PROCESSES) for item, memory in SHARING_SIZES if item == size)),
        variants=tuple(
            Variant(f"{100 * share:.0f} % text", {"text": round(share * size)} if share else {})
            for share in TEXT_SHARES
        ),
    )


def _by_equation(compared: Comparison, size: int) -> dict[tuple[str, str], Cell]:
    """Change from the first machine to each other by equation 3.1, by load and machine."""
    block_s = float(block_time_s(compared.laboratory).mean())
    changes: dict[tuple[str, str], Cell] = {}
    for label, load in compared.loads.items():
        sides = []
        for variant in compared.variants:
            text = int(variant.changes.get("text", 0))
            swap = compared.mean(label, variant, "swap_time_s")
            loaded = min(PROCESSES, (int(load["memory"]) - text) // (size - text))
            swap_s = swap.value if swap.n and loaded < PROCESSES else 0.0
            sides.append(
                Configuration(block_time_s=block_s, swap_time_s=swap_s, loaded=loaded, processes=PROCESSES)
            )
        for variant, side in zip(compared.variants[1:], sides[1:], strict=True):
            ratio = float(predict(sides[0], side)["ratio"])
            changes[label, variant.name] = Estimate(
                value=ratio - 1.0, unit="share", n=1, method="equation 3.1"
            )
    return changes
