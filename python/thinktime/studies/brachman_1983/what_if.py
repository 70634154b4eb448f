"""One change of the machine at a time, on the same workloads: how further questions are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from thinktime.documents import charts, document
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.runs import run_values
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory

COLOURS = ("user", "system", "memory", "disk", "plain")
FIGURES = {
    "elapsed_s": ("elapsed, s", ""),
    "swaps": ("swaps", ""),
    "swap_time_s": ("swap time", "s"),
    "loaded_mean": ("loaded", ""),
    "controller_utilisation": ("controller busy", "share"),
}
"""Responses that a table shows where it does not say: heading and unit."""

NOTATION = (
    "12 × 157, MM 650: twelve processes of 157 clicks in 650 clicks of memory. Changes are against the first "
    "machine on the same workloads, with 95 % intervals."
)

Loads = Mapping[str, Mapping[str, Any]]
"""Parameters of each load, by what a reader calls it."""


def runs(*keys: tuple[int, int, int]) -> Loads:
    """Loads of equal processes by name, each given by its size, memory and number."""
    return {
        f"{processes} × {size}, MM {memory}": {"memory": memory, "processes": processes, "size": size}
        for size, memory, processes in keys
    }


@dataclass(frozen=True, slots=True)
class Variant:
    """A machine that differs from the first in a few parameters.

    Parameters
    ----------
    name : str
        As a reader calls it.
    changes : mapping
        Parameters that differ.
    """

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)


def mean(
    laboratory: Laboratory, load: Mapping[str, Any], variant: Variant, response: str, unit: str = ""
) -> Estimate:
    """Mean of a response over the replications that have one; n is 0 where none has."""
    values = run_values(laboratory, response, **{**load, **variant.changes})
    present = values[values == values]
    return (
        interval(present, unit)
        if len(present)
        else Estimate(value=float("nan"), unit=unit, n=0, method="none")
    )


def change(
    laboratory: Laboratory,
    load: Mapping[str, Any],
    base: Variant,
    other: Variant,
    response: str = "elapsed_s",
) -> Estimate:
    r"""Change of a response from one machine to another as a part, workload by workload.

    .. math:: \frac{1}{n} \sum_r \frac{y_r}{x_r} - 1

    with Student's t; both machines are given the same n workloads (common random numbers).
    """
    x, y = (run_values(laboratory, response, **{**load, **item.changes}) for item in (base, other))
    return interval(y / x - 1.0, "share")


def in_words(value: Estimate) -> str:
    """Relative change with its interval, for a sentence."""
    ends = (value.value if end is None else end for end in (value.value, value.low, value.high))
    # Minus nought is nought.
    middle, low, high = (f"{round(100.0 * end, 1) + 0.0:+.1f}" for end in ends)
    return f"{middle} % ({low} to {high})"


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


def table(
    laboratory: Laboratory,
    name: str,
    caption: str,
    loads: Loads,
    variants: Sequence[Variant],
    notes: Sequence[str] = (),
    beside: tuple[str, Mapping[tuple[str, str], Cell]] = ("", {}),
    figures: Mapping[str, tuple[str, str]] = FIGURES,
) -> Table:
    """Every load on every variant.

    Parameters
    ----------
    machine : Machine
    name, caption : str
    loads : mapping
    variants : sequence of Variant
        The first is what the others are compared with.
    notes : sequence of str
    beside : (str, mapping)
        Heading of one more column, and its cells by load and variant.
    figures : mapping
        Heading and unit of each response that is shown.
    """
    rows: list[tuple[Cell, ...]] = []
    for label, load in loads.items():
        for variant in variants:
            gain = None if variant is variants[0] else change(laboratory, load, variants[0], variant)
            selected = [
                _cell(mean(laboratory, load, variant=variant, response=response, unit=unit))
                for response, (_, unit) in figures.items()
            ]
            more = (beside[1].get((label, variant.name)),) if beside[0] else ()
            rows.append((label, variant.name, gain, *selected, *more))
    columns = (
        Column("load"),
        Column("machine"),
        Column("change of elapsed", unit="share"),
        *(Column(heading, unit=unit, scaled=bool(unit)) for heading, unit in figures.values()),
        *((Column(beside[0]),) if beside[0] else ()),
    )
    return Table(name=name, caption=caption, columns=columns, rows=tuple(rows), notes=(*notes, NOTATION))


def _cell(value: Estimate) -> Cell:
    return value if value.n else None


def figure(
    laboratory: Laboratory,
    name: str,
    title: str,
    loads: Loads,
    variants: Sequence[Variant],
    response: str = "elapsed_s",
    axis: str = "elapsed time, s",
) -> document.Figure:
    """One response of every load on every variant, with intervals."""
    rows: list[dict[str, object]] = []
    for label, load in loads.items():
        for variant in variants:
            value = mean(laboratory, load, variant, response)
            ends = {"value": value.value, "low": value.low, "high": value.high}
            rows.append({"label": label, "series": variant.name, "shown": shown.estimate(value), **ends})
    keys = tuple(
        Key(variant.name, colour=colour, shape="circle")
        for variant, colour in zip(variants, COLOURS, strict=False)
    )
    columns = (Column("load"), Column("machine"), Column(axis, scaled=False))
    data = tuple((str(row["label"]), str(row["series"]), str(row["shown"])) for row in rows)
    gains = {
        variant.name: {
            label: change(laboratory, load, base=variants[0], other=variant, response=response)
            for label, load in loads.items()
        }
        for variant in variants[1:]
    }
    listed = "; ".join(f"{name} {between(selected)}" for name, selected in gains.items())
    return document.Figure(
        name=name,
        title=title,
        chart=partial(charts.dots, rows, keys, Axis(axis), ("load", "machine", axis)),
        data=Table(name=f"{name}-data", caption=title, columns=columns, rows=data),
        alt=f"Against {variants[0].name}: {listed}.",
        keys=keys,
    )
