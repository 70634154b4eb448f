"""One change of the machine at a time, on the same workloads: how further questions are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thinktime.documents import document
from thinktime.documents.charts import Axis
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.runs import run_values
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory

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

Loads = Mapping[str, Mapping[str, Any]]
"""Parameters of each load, by its name for a reader."""


def runs(*keys: tuple[int, int, int]) -> Loads:
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
        *,
        responses: Mapping[str, tuple[str, str]] = RESPONSES,
        more: tuple[str, Mapping[tuple[str, str], Cell]] | None = None,
        notes: Sequence[str] = (),
    ) -> Table:
        """Every load on every machine.

        Parameters
        ----------
        name, caption : str
        responses : mapping
            Heading and unit of each response.
        more : (str, mapping), optional
            Heading of one more column, and its cells by load and machine.
        notes : sequence of str
        """
        gains = {variant.name: self.changes(variant) for variant in self.variants[1:]}
        heading, cells = more or ("", {})
        rows: list[tuple[Cell, ...]] = []
        for label in self.loads:
            for variant in self.variants:
                means = [
                    self.mean(label, variant, response, unit) for response, (_, unit) in responses.items()
                ]
                row = [label, variant.name, gains.get(variant.name, {}).get(label)]
                row += [value if value.n else None for value in means]
                rows.append((*row, cells.get((label, variant.name))) if heading else tuple(row))
        columns = (
            Column("load"),
            Column("machine"),
            Column("change of elapsed", unit="share"),
            *(Column(title, unit=unit, scaled=bool(unit)) for title, unit in responses.values()),
            *([Column(heading)] if heading else []),
        )
        return Table(name=name, caption=caption, columns=columns, rows=tuple(rows), notes=(*notes, NOTATION))

    def figure(
        self, name: str, title: str, *, response: str = "elapsed_s", axis: str = "elapsed time, s"
    ) -> document.Figure:
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
        return document.Figure(
            name=name,
            title=title,
            chart=series.dots(Axis(axis), named=("load", "machine", axis)),
            data=series.list_table(f"{name}-data", title, "load", "machine", Column(axis, scaled=False)),
            alt=f"Against {self.variants[0].name}: {listed}.",
            keys=series.keys,
        )


def in_words(value: Estimate) -> str:
    """Relative change with its interval, for a sentence."""
    ends = (value.value if end is None else end for end in (value.value, value.low, value.high))
    # Minus nought is nought.
    middle, low, high = (f"{round(100.0 * end, 1) + 0.0:+.1f}" for end in ends)
    return f"{middle} % ({low} to {high})"


def listed(changes: Mapping[str, Estimate]) -> str:
    """Relative changes with their names, for a statistic."""
    return "; ".join(f"{name} {in_words(change)}" for name, change in changes.items())


def verdict(changes: Mapping[str, Estimate]) -> bool | None:
    """Verdict on whether a change lowers a response.

    True where it does with some loads and raises it with none; False where it lowers it with none; None where
    it depends on the load. An interval that holds zero counts for neither.
    """
    lower = any(change.high is not None and change.high < 0.0 for change in changes.values())
    higher = any(change.low is not None and change.low > 0.0 for change in changes.values())
    return None if lower and higher else lower


def between(changes: Mapping[str, Estimate]) -> str:
    """Smallest and largest of several relative changes, with the names of their loads."""
    low, high = (pick(changes, key=lambda name: changes[name].value) for pick in (min, max))
    return f"{in_words(changes[low])} with {low} to {in_words(changes[high])} with {high}"
