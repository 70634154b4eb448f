"""Units of an experiment in a log: their treatments and their observations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.compare.design import (
    DAY_S,
    Placing,
    Plan,
    TreatmentColumn,
    aligned,
    by_column,
    by_plan,
    length_of,
    slots,
    start_of,
    time_label,
)
from thinktime.analyses.compare.result import Unit
from thinktime.analyses.compare.unit_means import Cell, Gathered, Measured, gather
from thinktime.errors import InputError
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

PURE_LEAST = 0.9
"""Share of a unit's observations that must have had one treatment; the others are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """Units in order of time, with their observations."""

    units: tuple[Unit, ...]
    """Blocks are not filled in yet."""
    cells: tuple[Cell, ...]
    control: str
    treated: str
    noun: str
    """Name of a unit."""
    short: bool
    """True if units are shorter than a day."""
    blocks: tuple[str, ...] | None
    """Blocking factors to use; None for those that the time of the units offers."""
    own: Mapping[str, tuple[str, ...]]
    """Blocking factors of the plan: the block of each unit."""
    placing: Callable[[], Placing]
    """Makes a new placing for another pass over the log: a placing remembers where it is."""
    needs: tuple[str, ...]
    """Columns that the placing reads."""
    codes: Mapping[tuple[int, float], bool]
    """True for unit and treatment number of treated observations; observations not in it are left out."""
    dropped: int
    incomplete: int


def by_treatment(
    log: Log, columns: Sequence[Measured], design: Plan | TreatmentColumn
) -> Assigned | NotApplicable:
    """Units of a design with their observations.

    Raises
    ------
    InputError
        The column does not exist, or a unit of the plan has no observation.
    """
    if isinstance(design, Plan):
        return _by_plan(log, columns, design)
    column = design.name
    kinds = {item.name: item for item in log.schema("samples")}
    if column not in kinds or kinds[column].type in ("text", "time"):
        gauges = [name for name, item in kinds.items() if item.kind == "gauge" and item.type != "text"]
        raise InputError(
            f"{log.path}: has no numeric column {column!r} that could name a treatment; "
            f"its gauges are {', '.join(gauges) or 'none'}"
        )
    return _by_column(log, columns, design)


def _by_plan(log: Log, columns: Sequence[Measured], plan: Plan) -> Assigned:
    planned = slots(plan)
    gathered = gather(log, columns, by_plan(planned))
    base, treated = _sides(sorted(set(plan.treatments.values())), plan.control, plan.name)
    cells = {unit: cell for (unit, _), cell in gathered.cells.items()}
    units = []
    for index, name in enumerate(planned.labels):
        if index not in cells:
            raise InputError(_not_in_log(log, plan, name, gathered))
        units.append(_unit(name, int(planned.start_us[index]), plan.treatments[name], cells[index]))
    days = bool((planned.end_us - planned.start_us >= DAY_S * 1e6).all())
    return Assigned(
        units=tuple(units),
        cells=tuple(cells[index] for index in range(len(units))),
        control=base,
        treated=treated,
        noun="day" if days else "period",
        short=not days,
        blocks=plan.blocks,
        own={factor: tuple(given[name] for name in planned.labels) for factor, given in plan.own.items()},
        placing=partial(by_plan, planned),
        needs=(),
        codes={(index, 0.0): unit.treatment == treated for index, unit in enumerate(units)},
        dropped=gathered.outside,
        incomplete=gathered.incomplete,
    )


def _not_in_log(log: Log, plan: Plan, name: str, gathered: Gathered) -> str:
    first, last = (time_label(moment, day=False) for moment in gathered.span_us)
    return (
        f"{plan.name}: {name} has no usable observation in {log.path}, which goes from {first} to {last} UTC"
    )


def _by_column(log: Log, columns: Sequence[Measured], design: TreatmentColumn) -> Assigned | NotApplicable:
    column, unit = design.name, design.unit
    length_s = length_of(unit)
    placing = partial(by_column, column, length_s, aligned(log))
    gathered = gather(log, columns, placing(), [column])
    values = sorted({value for _, value in gathered.cells})
    if len(values) != 2:
        listed = ", ".join(f"{value:g}" for value in values[:6]) or "no value"
        return NotApplicable(
            f"{column} has {len(values)} values in this log ({listed}); two treatments are compared",
            "name a column that has two values, or give a design with --design",
        )
    base, treated = _sides([f"{value:g}" for value in values], design.control, column)
    names = dict(zip(values, (f"{value:g}" for value in values), strict=True))
    kept: dict[int, tuple[float, Cell]] = {}
    for number in dict.fromkeys(number for number, _ in gathered.cells):
        cells = {
            value: cell for (unit_number, value), cell in gathered.cells.items() if unit_number == number
        }
        most = max(cells, key=lambda value: cells[value].n)
        total = sum(cell.n for cell in cells.values())
        if cells[most].n < PURE_LEAST * total:
            when = time_label(min(cell.start_us for cell in cells.values()), day=unit == "day")
            return NotApplicable(
                f"{column} changed within the unit {when} ({cells[most].n} of {total} observations had "
                f"{names[most]})",
                "use shorter units (--unit 6h), or cut at each change (--unit run)",
            )
        kept[number] = (most, cells[most])
    order = sorted(kept, key=lambda number: kept[number][1].start_us)
    mixed = sum(cell.n for cell in gathered.cells.values()) - sum(cell.n for _, cell in kept.values())
    units = []
    for number in order:
        value, cell = kept[number]
        start = cell.start_us if length_s is None else start_of(number, length_s)
        units.append(_unit(time_label(start, day=unit == "day"), start, names[value], cell))
    return Assigned(
        units=tuple(units),
        cells=tuple(kept[number][1] for number in order),
        control=base,
        treated=treated,
        noun={"day": "day", "run": "run"}.get(unit, "period"),
        short=length_s is None or length_s < DAY_S,
        blocks=() if design.blocks is None and length_s is None else design.blocks,
        own={},
        placing=placing,
        needs=(column,),
        codes={(number, kept[number][0]): names[kept[number][0]] == treated for number in order},
        dropped=gathered.outside + mixed,
        incomplete=gathered.incomplete,
    )


def _sides(levels: list[str], control: str | None, name: str) -> tuple[str, str]:
    """Control and treated, of two treatments."""
    base = levels[0] if control is None else control
    if base not in levels:
        raise InputError(
            f"{name}: control {base!r} is not a treatment; the treatments are {', '.join(levels)}"
        )
    return base, next(level for level in levels if level != base)


def _unit(name: str, start_us: int, treatment: str, cell: Cell) -> Unit:
    return Unit(
        label=name, start_us=start_us, treatment=treatment, blocks=(), n=cell.n, length_s=cell.length_s
    )
