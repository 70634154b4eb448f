"""Which quantities of a log are compared, and what they are adjusted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.analyses.compare import unit_means as compare_units
from thinktime.analyses.compare.result import Kind
from thinktime.analyses.compare.unit_means import Measured
from thinktime.analyses.overhead import design as requests
from thinktime.errors import InputError
from thinktime.log import observations
from thinktime.log.observations import Quantity
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Compared", "Wanted", "wanted"]

TIMES: dict[str, Kind] = {"user_time": "useful", "system_time": "overhead", "idle_time": "idle"}


@dataclass(frozen=True, slots=True)
class Compared:
    """A quantity that is compared for itself."""

    name: str
    label: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read and what is asked of it.

    Parameters
    ----------
    columns : tuple of Measured
        Everything that is read: what is compared, and what it is adjusted for.
    compared : tuple of Compared
        In the order in which they are shown.
    load : str
        Name of the load; empty where there is none.
    work : tuple of str
        Names of what costs system time.
    left_out : tuple of (str, str)
        Quantities that cannot be compared, and why.
    """

    columns: tuple[Measured, ...]
    compared: tuple[Compared, ...]
    load: str
    work: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def wanted(
    log: Log, names: Sequence[str] | None, load: str | None, work: Sequence[str] | None
) -> Wanted | NotApplicable:
    """Find what the log can say about the quantities `names`, the load, and requests `work`.

    Raises
    ------
    InputError
        A name is no quantity of the log.
    """
    candidates = requests.candidates(log) if work is None else tuple(work)
    loads = observations.role_columns(log, "load") if load is None else (load,)
    default = (*TIMES, *(name for name in candidates if name != "user_time"), *loads)
    compared = default if names is None else tuple(names)
    known = {name: _measured(log, name) for name in dict.fromkeys((*compared, *candidates, *loads))}
    explicit = {*(names or ()), *(work or ()), *((load,) if load else ())}
    if missing := [name for name in known if known[name] is None and name in explicit]:
        names = [column.name for column in log.schema("samples") if column.kind in ("counter", "gauge")]
        raise InputError(
            f"{log.path}: {missing[0]!r} is no quantity of this log; there are {', '.join((*TIMES, *names))}"
        )
    usable, left_out = compare_units.usable(log, [item for item in known.values() if item is not None])
    there = {item.name: item for item in usable}
    found = tuple(
        Compared(name, there[name].quantity.label, _kind(name, loads))
        for name in dict.fromkeys(compared)
        if name in there
    )
    if not found:
        return NotApplicable(
            "none of the quantities to compare was measured", "record with `thinktime record`"
        )
    chosen = _varying(log, [name for name in loads if name in there])
    columns = [there[name] for name in there]
    if chosen:
        columns.append(Measured(there[chosen].quantity, there[chosen].gauge, squared=True))
    # What is shown first comes first: the autocorrelation is that of the first column.
    columns.sort(key=lambda item: item.name != found[0].name)
    used = tuple(name for name in candidates if name in there)
    return Wanted(tuple(columns), found, chosen, used, left_out)


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
        return (
            Measured(Quantity(name=name, label=name.replace("_", " "), unit="s", columns=columns), False)
            if columns
            else None
        )
    found = observations.quantities(log, [name])
    if not found or any(schema[column].kind not in ("counter", "gauge") for column in found[0].columns):
        return None
    return Measured(found[0], schema[found[0].columns[0]].kind == "gauge")
