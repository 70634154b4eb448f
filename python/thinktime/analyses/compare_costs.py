"""What each kind of request costs under both treatments (Bard 1971, Table 11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.analyses.compare_effects import Asked, Bench, cost_rows, effect
from thinktime.analyses.compare_quantities import Wanted
from thinktime.analyses.compare_result import CostChange
from thinktime.analyses.compare_treatments import Assigned

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["CostAsked", "costs"]


@dataclass(frozen=True, slots=True)
class CostAsked:
    """What costs are asked of."""

    wanted: Wanted
    assigned: Assigned
    bench: Bench


def costs(log: Log, asked: CostAsked) -> tuple[CostChange, ...] | str:
    """Costs of the requests that were compared, the base first; or why there are none."""
    del log
    place = {item.name: at for at, item in enumerate(asked.wanted.columns)}
    if "system_time" not in place or not asked.wanted.work:
        return "system time or requests were not measured"
    rows = cost_rows(asked.assigned.cells, place["system_time"], [place[name] for name in asked.wanted.work])
    if rows is None:
        return "some units are too short, or their requests too much alike, to tell the costs apart"
    found = []
    for at, name in enumerate(("base", *asked.wanted.work)):
        unit = "s/s"
        label = "base (time not charged to requests)"
        if at:
            quantity = asked.wanted.columns[place[name]].quantity
            label, unit = quantity.label, "s/s" if quantity.unit == "s" else f"s/{quantity.unit}"
        question = Asked(f"cost:{name}", label, unit, "cost")
        found.append(CostChange(name, label, None, None, None, effect(question, rows[:, at], asked.bench)))
    return tuple(found)
