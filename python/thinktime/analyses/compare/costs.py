"""What each kind of request costs under both treatments (Bard 1971, Table 11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.contrasts import Asked
from thinktime.analyses.compare.effects import Bench, cost_rows, effect
from thinktime.analyses.compare.result import CostChange, Effect
from thinktime.analyses.compare.treatments import Assigned
from thinktime.analyses.compare.variables import Wanted
from thinktime.analyses.overhead.analysis import BASE, N_LEAST, ROWS_PER_REQUEST
from thinktime.analyses.overhead.design import Design, Target, build
from thinktime.analyses.overhead.regression import FitOptions, fit
from thinktime.log import observations
from thinktime.log.observations import Observations, Quantity
from thinktime.stats.difference import difference
from thinktime.stats.estimate import Estimate, NotApplicable

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
    """Costs of the requests that were compared, the base first; or why there are none.

    Two answers stand side by side: the regression on all observations of each treatment, with outliers left
    out (`regression.fit`), as Bard made it; and regressions on each unit by itself, whose coefficients are
    responses of the units like any others, so that the randomisation test of them is exact.
    """
    names = asked.wanted.work
    target = _target_of(log)
    if target is None or not names:
        return "system time or requests were not measured"
    single = _by_unit(asked)
    sides = _sides(log, asked, target)
    if isinstance(sides, str) and not single:
        return sides
    control, treated = ({}, {}) if isinstance(sides, str) else sides
    found = []
    place = {item.name: item.quantity for item in asked.wanted.columns}
    for at, name in enumerate((BASE.name, *names)):
        label, _ = _words(BASE if at == 0 else place[name])
        before, after = control.get(name), treated.get(name)
        change = None if before is None or after is None else difference(before, after)
        own = single[at] if single else None
        found.append(CostChange(name, label, before, after, change, own))
    return tuple(found)


def _target_of(log: Log) -> Target | None:
    """System time, as what a regression explains; None where the log has none."""
    columns = observations.role_columns(log, "system_time")
    return Target(label="system time", unit="s", columns=columns) if columns else None


def _regressed(design: Design, level: float) -> dict[str, Estimate] | str:
    """Costs by name of request, the base among them, with intervals that hold under autocorrelation."""
    rows = N_LEAST + ROWS_PER_REQUEST * len(design.terms)
    found = fit(design, FitOptions(level=level), select=False, rows_least=rows)
    if isinstance(found, NotApplicable):
        return found.reason
    reach = found.robust_reach()
    estimates = {}
    for at, column in enumerate(found.keep):
        quantity = BASE if column == 0 else design.terms[column - 1]
        _, unit = _words(quantity)
        value, half = float(found.coefficients[at]), float(reach[at])
        estimates[quantity.name] = Estimate(
            value=value,
            unit=unit,
            n=found.trimmed.fit.n,
            method=f"least squares, Newey-West with {found.lags} lags, leverage, fixed-b",
            low=value - half,
            high=value + half,
            level=level,
        )
    return estimates


def _words(quantity: Quantity) -> tuple[str, str]:
    """Label of a cost, and its unit."""
    if quantity.name == BASE.name or quantity.unit == "s":
        return quantity.label, "s/s"
    return quantity.label, f"s/{quantity.unit}" if quantity.unit else "s"


def _by_unit(asked: CostAsked) -> list[Effect]:
    """Effects on the coefficients of each unit by itself; empty where units are too short."""
    place = {item.name: at for at, item in enumerate(asked.wanted.columns)}
    if "system_time" not in place:
        return []
    names = asked.wanted.work
    rows = cost_rows(asked.assigned.cells, place["system_time"], [place[name] for name in names])
    if rows is None:
        return []
    found = []
    for at, name in enumerate((BASE.name, *names)):
        label, unit = _words(BASE if at == 0 else asked.wanted.columns[place[name]].quantity)
        found.append(effect(Asked(f"cost:{name}", label, unit, "cost"), rows[:, at], asked.bench))
    return found


def _sides(
    log: Log, asked: CostAsked, target: Target
) -> tuple[dict[str, Estimate], dict[str, Estimate]] | str:
    """Costs under the control and under the treatment, each from its own observations."""
    assigned = asked.assigned
    design = build(log, asked.wanted.work, target, assigned.needs)
    if isinstance(design, NotApplicable):
        return design.reason
    sides = []
    for treated in (False, True):
        costs = _regressed(replace(design, pieces=_Only(design, assigned, treated)), asked.bench.level)
        if isinstance(costs, str):
            return costs
        sides.append(costs)
    return sides[0], sides[1]


@dataclass(frozen=True, slots=True)
class _Only:
    """Passes over the observations of one treatment."""

    design: Design
    assigned: Assigned
    treated: bool

    def __call__(self, names: Sequence[str]) -> Iterator[Observations]:
        place = self.assigned.placing()
        for piece in self.design.pieces([*names, *self.assigned.needs]):
            units, treatments = place(piece)
            wanted = np.zeros(len(piece), dtype=bool)
            for (unit, treatment), treated in self.assigned.codes.items():
                if treated is self.treated:
                    wanted |= (units == unit) & (treatments == treatment)
            yield _taken(piece, np.flatnonzero(wanted))


def _taken(piece: Observations, rows: NDArray[np.int64]) -> Observations:
    """Return some observations of a piece; what does not follow directly begins a segment."""
    broken = np.diff(rows, prepend=rows[:1]) > 1
    return replace(
        piece,
        start_us=piece.start_us[rows],
        length_s=piece.length_s[rows],
        segments=piece.segments[rows] + np.cumsum(broken),
        columns={name: values[rows] for name, values in piece.columns.items()},
    )
