"""Variables of a comparison: quantities, their covariates, and the contrasts to be tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thinktime.analyses.compare.result import Adjusted, Kind, NotCompared
from thinktime.analyses.compare.unit_means import Cell, Measured, usable
from thinktime.analyses.overhead import design as requests
from thinktime.errors import InputError
from thinktime.log import observations
from thinktime.log.observations import Quantity
from thinktime.stats.estimate import Caveat, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log


TIMES: dict[str, Kind] = {"user_time": "useful", "system_time": "overhead", "idle_time": "idle"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A quantity that is compared."""

    name: str
    label: str
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """Quantities that are read from a log."""

    columns: tuple[Measured, ...]
    """All columns of the moments: compared quantities and covariates."""
    compared: tuple[Variable, ...]
    """In the order in which they are shown."""
    load: str
    """Name of the load; empty where there is none."""
    work: tuple[str, ...]
    """Names of the requests that cost system time."""
    left_out: tuple[NotCompared, ...] = ()


def variables(
    log: Log, names: Sequence[str] | None, load: str | None, work: Sequence[str] | None
) -> Variables | NotApplicable:
    """Quantities `names`, the load, and the requests `work`, as far as the log has them.

    Raises
    ------
    InputError
        A name is not a quantity of the log.
    """
    candidates = requests.candidates(log) if work is None else tuple(work)
    loads = observations.role_columns(log, "load") if load is None else (load,)
    default = (*TIMES, *(name for name in candidates if name != "user_time"), *loads)
    compared = default if names is None else tuple(names)
    by_name = {name: _measured(log, name) for name in dict.fromkeys((*compared, *candidates, *loads))}
    explicit = {*(names or ()), *(work or ()), *((load,) if load else ())}
    if missing := [name for name in by_name if by_name[name] is None and name in explicit]:
        names = [column.name for column in log.schema("samples") if column.kind in ("counter", "gauge")]
        raise InputError(
            f"{log.path}: {missing[0]!r} is not a quantity of this log; its quantities are "
            f"{', '.join((*TIMES, *names))}"
        )
    kept, left_out = usable(log, [item for item in by_name.values() if item is not None])
    measured = {item.name: item for item in kept}
    selected = tuple(
        Variable(name=name, label=measured[name].quantity.label, kind=_kind(name, loads))
        for name in dict.fromkeys(compared)
        if name in measured
    )
    if not selected:
        return NotApplicable(
            "no quantity to compare was measured: neither CPU time, nor requests, nor a load of the machine",
            "record with `thinktime record`",
        )
    chosen = _varying(log, [name for name in loads if name in measured])
    columns = list(measured.values())
    if chosen:
        columns.append(replace(measured[chosen], squared=True))
    # The autocorrelation that is reported is that of the first column.
    columns.sort(key=lambda item: item.name != selected[0].name)
    return Variables(
        columns=tuple(columns),
        compared=selected,
        load=chosen,
        work=tuple(name for name in candidates if name in measured),
        left_out=left_out,
    )


def _varying(log: Log, loads: Sequence[str]) -> str:
    """First load that varies; empty where none does."""
    ends = observations.extents(log, loads) if loads else {}
    return next((name for name in loads if name in ends and ends[name][0] < ends[name][1]), "")


def _kind(name: str, loads: Sequence[str]) -> Kind:
    return TIMES.get(name, "load" if name in loads else "request")


def _measured(log: Log, name: str) -> Measured | None:
    schema = {column.name: column for column in log.schema("samples")}
    if name in TIMES:
        columns = observations.role_columns(log, name)
        time = Quantity(name=name, label=name.replace("_", " "), unit="s", columns=columns)
        return Measured(quantity=time, gauge=False) if columns else None
    quantities = observations.quantities(log, [name])
    if not quantities:
        return None
    kinds = [schema[column].kind for column in quantities[0].columns]
    if any(kind not in ("counter", "gauge") for kind in kinds):
        return None
    return Measured(quantity=quantities[0], gauge=kinds[0] == "gauge")


ROWS_PER_COEFFICIENT = 5
"""Observations less units that a slope needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A quantity to compare, and the columns it is adjusted for."""

    name: str
    label: str
    unit: str
    kind: Kind
    adjusted: Adjusted = ""
    adjusted_for: tuple[str, ...] = ()
    target: int = 0
    """Column of the moments."""
    covariates: tuple[int, ...] = ()


def questions(
    chosen: Variables, cells: Sequence[Cell]
) -> tuple[tuple[Question, ...], tuple[NotCompared, ...]]:
    """Every quantity as it is and adjusted, and the adjustments that are not possible."""
    place = {item.name: index for index, item in enumerate(chosen.columns)}
    plain = [
        Question(
            name=item.name,
            label=item.label,
            unit=chosen.columns[place[item.name]].unit,
            kind=item.kind,
            target=place[item.name],
        )
        for item in chosen.compared
    ]
    of_load = tuple(place[name] for name in (chosen.load, f"{chosen.load}^2") if name in place)
    of_work = tuple(place[name] for name in chosen.work)
    refused, asked = [], list(plain)
    if reason := _unusable(cells, of_load, Caveat("no_load")):
        refused.append(NotCompared(name="any quantity at equal load", reason=reason))
    else:
        asked += [
            replace(item, adjusted="load", adjusted_for=(chosen.load,), covariates=of_load)
            for item in plain
            if item.name != chosen.load
        ]
    if reason := _unusable(cells, of_work, Caveat("no_requests")):
        refused.append(NotCompared(name="overhead at equal work", reason=reason))
    else:
        asked += [
            replace(item, adjusted="work", adjusted_for=chosen.work, covariates=of_work)
            for item in plain
            if item.kind == "overhead"
        ]
    return tuple(asked), tuple(refused)


def _unusable(cells: Sequence[Cell], covariates: Sequence[int], none: Caveat) -> Caveat | None:
    """Reason why slopes on these covariates cannot be estimated; None where they can."""
    if not covariates:
        return none
    if not any(cell.products[index, index] > 0.0 for cell in cells for index in covariates):
        return Caveat("no_variation")
    rows = sum(cell.n for cell in cells) - len(cells)
    if rows < ROWS_PER_COEFFICIENT * len(covariates):
        return Caveat("few_observations", n=rows + len(cells), slopes=len(covariates))
    return None
