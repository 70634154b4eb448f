"""Further work that the thesis proposes: one change of the machine at a time, on the same workloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Column, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.models.swapping.disk_bound import predict
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.stats.estimate import Estimate
from thinktime.studies import charts
from thinktime.studies.brachman_1983.components import block_time_s
from thinktime.studies.brachman_1983.runs import PAPER, run_values
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import interval, scaled
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

COLOURS = ("user", "system", "memory", "disk", "plain")
RESPONSES = {
    "elapsed_s": ("elapsed, s", ""),
    "swaps": ("swaps", ""),
    "swap_time_s": ("swap time", "s"),
    "loaded_mean": ("loaded", ""),
    "controller_utilisation": ("controller busy", "share"),
}
"""Responses that a table shows by default: heading and unit."""
NOTATION = (
    "12 × 157, MM 650: twelve processes of 157 clicks in 650 clicks of memory. Changes are against the first "
    "machine on the same workloads, with 95 % intervals."
)
PROCESSES = 12
SIZES = (157, 314)

Loads = Mapping[str, Mapping[str, Any]]
"""Parameters of each load, by its name for a reader."""


def loads(*keys: tuple[int, int, int]) -> Loads:
    """Loads of equal processes by name, each given by its size, memory and number."""
    return {
        f"{processes} × {size}, MM {memory}": {"memory": memory, "processes": processes, "size": size}
        for size, memory, processes in keys
    }


@dataclass(frozen=True, slots=True)
class Variant:
    """A machine that differs from the first in a few parameters."""

    name: str
    """For a reader."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Several machines under several loads."""

    laboratory: Laboratory
    loads: Loads
    variants: Sequence[Variant]
    """The first is what the others are compared with."""

    def mean(self, load: str, variant: Variant, response: str, unit: str = "") -> Estimate:
        """Mean of a response over the replications that have one; n is 0 where none has."""
        parameters = {**self.loads[load], **variant.changes}
        return interval(run_values(self.laboratory, response, **parameters), unit)

    def changes(self, variant: Variant, response: str = "elapsed_s") -> dict[str, Estimate]:
        r"""Relative change of a response from the first machine to another, by load.

        .. math:: \frac{1}{n} \sum_r \frac{y_r}{x_r} - 1

        with Student's t; both machines are given the same n workloads (common random numbers).
        """
        changes = {}
        for label, load in self.loads.items():
            x, y = (
                run_values(self.laboratory, response, **{**load, **item.changes})
                for item in (self.variants[0], variant)
            )
            changes[label] = interval(y / x - 1.0, "share")
        return changes

    def table(
        self,
        name: str,
        caption: str,
        *more: Col[tuple[str, Variant]],
        responses: Mapping[str, tuple[str, str]] = RESPONSES,
        notes: Sequence[str] = (),
    ) -> Table:
        """Every load on every machine.

        Parameters
        ----------
        name, caption : str
        more : Col of (str, Variant)
            Further columns, of load and machine.
        responses : mapping
            Heading and unit of each response.
        notes : sequence of str
        """
        gains = {variant.name: self.changes(variant) for variant in self.variants[1:]}

        def shown(response: str, unit: str) -> Callable[[tuple[str, Variant]], Cell]:
            def mean(run: tuple[str, Variant]) -> Cell:
                value = self.mean(*run, response, unit)
                return value if value.n else None

            return mean

        return Table.of(
            [(load, variant) for load in self.loads for variant in self.variants],
            Col("load", lambda run: run[0]),
            Col("machine", lambda run: run[1].name),
            Col("change of elapsed", lambda run: gains.get(run[1].name, {}).get(run[0]), unit="share"),
            *(
                Col(heading, shown(response, unit), unit=unit, scaled=bool(unit))
                for response, (heading, unit) in responses.items()
            ),
            *more,
            name=name,
            caption=caption,
            notes=(*notes, NOTATION),
        )

    def chart(
        self, name: str, title: str, *, response: str = "elapsed_s", axis: str = "elapsed time, s"
    ) -> Figure:
        """One response of every load on every machine, with intervals."""
        keys = [
            Key(variant.name, colour=colour, shape="circle")
            for variant, colour in zip(self.variants, COLOURS, strict=False)
        ]
        series = Series(
            [
                Point(key=key, label=label, y=self.mean(label, variant, response))
                for label in self.loads
                for key, variant in zip(keys, self.variants, strict=True)
            ]
        )
        listed = "; ".join(
            f"{variant.name} {between(self.changes(variant, response))}" for variant in self.variants[1:]
        )
        return charts.dots(
            name,
            title,
            series,
            axis=axis,
            headings=("load", "machine", axis),
            alt=f"Against {self.variants[0].name}: {listed}.",
        )


def in_words(value: Estimate) -> str:
    """Relative change with its interval, for a sentence."""
    ends = (value.value if end is None else end for end in (value.value, value.low, value.high))
    # Minus nought is nought.
    middle, low, high = (f"{round(100.0 * end, 1) + 0.0:+.1f}" for end in ends)
    return f"{middle} % ({low} to {high})"


def between(changes: Mapping[str, Estimate]) -> str:
    """Smallest and largest of several relative changes, with the names of their loads."""
    low, high = (pick(changes, key=lambda name: changes[name].value) for pick in (min, max))
    return f"{in_words(changes[low])} with {low} to {in_words(changes[high])} with {high}"


def lowers(claim: str, changes: Mapping[str, Estimate], response: str = "") -> Claim:
    """Claim that a change lowers a response, by its relative changes with each load."""
    listed = "; ".join(f"{name} {in_words(change)}" for name, change in changes.items())
    smallest, largest = (
        scaled(pick(changes.values(), key=lambda change: change.value), 100.0) for pick in (min, max)
    )
    measures = {"changes": changes, "smallest": smallest, "largest": largest}
    return PAPER.claim(claim, measures, f"{response}: {listed}" if response else listed)


# Swapping against paging on the same small machine, where the disk limits.

MEMORY = (650, 1000, 1280, 1900)
SWAPPING = Variant("swapping")
PAGING = {
    percent: Variant(
        f"paging, {percent} % touched", {"memory_management": "paging", "page_share": percent / 100.0}
    )
    for percent in (10, 30, 60)
}
"""By the share of its image that a process touches in an interaction, in per cent."""
PAGING_RESPONSES = {
    "elapsed_s": ("elapsed, s", ""),
    "swaps": ("swaps", ""),
    "page_faults": ("pages read", ""),
    "page_outs": ("pages written", ""),
    "page_time_s": ("page time", "s"),
    "controller_utilisation": ("controller busy", "share"),
}


def paging(laboratory: Laboratory) -> Chapter:
    """Swapping and paging on the runs of twelve processes, with more and with less memory."""
    compared = Comparison(
        laboratory=laboratory,
        loads=loads(*((size, memory, PROCESSES) for size in SIZES for memory in MEMORY)),
        variants=(SWAPPING, *PAGING.values()),
    )
    gains = {percent: compared.changes(variant) for percent, variant in PAGING.items()}
    return Chapter(
        claims=tuple(lowers(f"paging-{percent}-percent-touched", gain) for percent, gain in gains.items()),
        summary=(
            "With paging, a process keeps only pages in memory that it has touched and the least recently "
            "used page gives way. The gain depends on how much of its image a process touches in an "
            "interaction, which the thesis does not say.",
            *(
                f"With {PAGING[percent].name}, elapsed time changes by {between(gain)}."
                for percent, gain in gains.items()
            ),
        ),
        charts=tuple(_by_memory(compared, size) for size in SIZES),
        tables=(compared.table("paging-table", "Swapping and paging", responses=PAGING_RESPONSES),),
    )


def _by_memory(compared: Comparison, size: int) -> Figure:
    """Elapsed time of processes of one size against memory."""
    keys = [
        Key(variant.name, colour=colour, shape="line")
        for variant, colour in zip(compared.variants, ("system", "user", "memory", "disk"), strict=True)
    ]
    series = Series(
        [
            Point(
                key=key,
                x=memory,
                y=compared.mean(f"{PROCESSES} × {size}, MM {memory}", variant, "elapsed_s", "s"),
            )
            for memory in MEMORY
            for key, variant in zip(keys, compared.variants, strict=True)
        ]
    )
    return charts.curves(
        f"paging-{size}",
        f"Elapsed time against memory, twelve processes of {size} clicks",
        series,
        x=Axis("memory, clicks", low=600.0, high=2700.0, ticks=tuple(map(float, MEMORY))),
        y="elapsed time, s",
        headings=(Column("memory, clicks", scaled=False), "machine", "elapsed time"),
        alt="; ".join(f"{key.name} {series.course(key, 'clicks')}" for key in keys) + ".",
        half=True,
    )


# Overlapped seeks.

SEEK_LOADS = loads((157, 650, 12), (157, 1280, 12), (314, 650, 12), (314, 1280, 12), (314, 1280, 5))
OVERLAPPED = Variant("two drives, overlapped seeks", {"overlapped_seeks": True})
TOGETHER = Variant("one drive", {"drives": 1, "swap_drive": 0, "file_drive": 0, "swap_cylinder": 201})
"""The swap area lies behind the files, which end at cylinder 200."""


def overlap(laboratory: Laboratory) -> Chapter:
    """Two drives as measured with overlapped seeks, and with one drive for all."""
    compared = Comparison(
        laboratory=laboratory, loads=SEEK_LOADS, variants=(Variant("two drives"), OVERLAPPED, TOGETHER)
    )
    gains = compared.changes(OVERLAPPED)
    return Chapter(
        claims=(lowers("overlapped-seeks", gains),),
        summary=(
            "With overlapped seeks the arm of one drive moves while the other is served, so that file "
            f"requests and swaps overlap but for their transfers. Elapsed time changes by {between(gains)}.",
            "Swaps do not wait behind file requests any more, so there may be more of them: their number "
            f"changes by {between(compared.changes(OVERLAPPED, 'swaps'))}.",
            f"With files and swap area on one drive it changes by {between(compared.changes(TOGETHER))}.",
        ),
        charts=(compared.chart("overlap", "Elapsed time by what the drives do"),),
        tables=(compared.table("overlap-table", "Drives and seeks"),),
    )


# A swapper that balances.

SWAPPER_LOADS = loads(
    (157, 650, 6),
    (157, 650, 12),
    (157, 1280, 12),
    (314, 650, 6),
    (314, 650, 12),
    (314, 1280, 12),
)
BALANCED = Variant("balanced", {"swapper": "balanced"})
SWAPPERS = (
    Variant("Sixth Edition"),
    BALANCED,
    Variant("balanced, four at work", {"swapper": "balanced", "target_ready": 4}),
    Variant("resident 10 s", {"minimum_time_in": 10}),
)


def balance(laboratory: Laboratory) -> Chapter:
    """The swapper of the Sixth Edition with one that balances, and with longer residence."""
    compared = Comparison(laboratory=laboratory, loads=SWAPPER_LOADS, variants=SWAPPERS)
    swaps, times = compared.changes(BALANCED, "swaps"), compared.changes(BALANCED)
    # The longest wait of the loads; a mean over replications.
    waits_s = {
        variant.name: max(compared.mean(load, variant, "swap_in_wait_max_s").value for load in SWAPPER_LOADS)
        for variant in SWAPPERS
    }
    longest = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in waits_s.items())
    return Chapter(
        claims=(lowers("balancing-swaps", swaps, "swaps"), lowers("balancing-time", times, "elapsed time")),
        summary=(
            f"Balanced against Sixth Edition, swaps change by {between(swaps)}.",
            f"Elapsed time changes by {between(times)}.",
            f"The longest that a ready process waits to be swapped in: {longest} (means over the runs).",
        ),
        charts=(compared.chart("balance-swaps", "Swaps by swapper", response="swaps", axis="swaps"),),
        tables=(compared.table("balance-table", "Swappers"),),
    )


# Shared text.

SHARING_MEMORY = (650, 1280)
TEXT_PERCENTS = (0, 25, 50, 75)


def sharing(laboratory: Laboratory) -> Chapter:
    """Programs of the same size of which a growing part is pure text."""
    compared = {size: _sharing(laboratory, size) for size in SIZES}
    gains = {
        f"{load}, {variant.name}": item.changes(variant)[load]
        for item in compared.values()
        for load in item.loads
        for variant in item.variants[1:]
    }
    half = {name: gain for name, gain in gains.items() if name.endswith("50 % text")}
    return Chapter(
        claims=(lowers("shared-text", gains),),
        summary=(f"With half of each program pure and shared, elapsed time changes by {between(half)}.",),
        charts=tuple(
            item.chart(f"sharing-figure-{size}", f"Elapsed time with shared text, {size} clicks")
            for size, item in compared.items()
        ),
        tables=tuple(_with_equation(item, size) for size, item in compared.items()),
    )


def _sharing(laboratory: Laboratory, size: int) -> Comparison:
    """Programs of one size by the share of pure text."""
    return Comparison(
        laboratory=laboratory,
        loads=loads(*((size, memory, PROCESSES) for memory in SHARING_MEMORY)),
        variants=tuple(
            Variant(f"{percent} % text", {"text": round(percent / 100.0 * size)} if percent else {})
            for percent in TEXT_PERCENTS
        ),
    )


def _with_equation(compared: Comparison, size: int) -> Table:
    """Elapsed time by the share of pure text, with the change that equation 3.1 predicts."""
    by_equation = _by_equation(compared, size)
    return compared.table(
        f"sharing-{size}",
        f"Twelve processes of {size} clicks, a part of them pure text that all share",
        Col("equation 3.1: change of elapsed", lambda run: by_equation.get((run[0], run[1].name))),
        notes=(
            "Equation 3.1 is given NL = floor((MM − text) / (PS − text)) and the simulated times of blocks "
            "and swaps.",
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


# Processes of unequal sizes with one mean size.

MEAN_SIZE = 236
MIXTURES = (
    Variant("all 236", {"size": MEAN_SIZE}),
    Variant("197 and 275", {"size": [197, 275]}),
    Variant("157 and 315", {"size": [157, 315]}),
    Variant("100 and 372", {"size": [100, 372]}),
    Variant("10 × 157, 2 × 631", {"size": [157, 157, 157, 157, 157, 631]}),
)


def mixing(laboratory: Laboratory) -> Chapter:
    """Mixtures of sizes with one mean."""
    compared = Comparison(
        laboratory=laboratory,
        loads={f"12, MM {memory}": {"memory": memory, "processes": 12} for memory in (650, 1000, 1280)},
        variants=MIXTURES,
    )
    gains = {
        (label, variant.name): gain
        for variant in MIXTURES[1:]
        for label, gain in compared.changes(variant).items()
    }
    load, sizes = max(gains, key=lambda key: abs(gains[key].value))
    return Chapter(
        summary=(
            f"Processes of {MEAN_SIZE} clicks each, and mixtures with that mean. Elapsed time changes most "
            f"with {sizes} ({load}): {in_words(gains[load, sizes])}.",
        ),
        charts=(compared.chart("mixing", "Elapsed time of unequal sizes"),),
        tables=(compared.table("mixing-table", "Sizes with one mean"),),
    )
