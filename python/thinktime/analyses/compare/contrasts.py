"""What is asked of the units: everything as it is, at equal load, and overhead at equal work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thinktime.analyses.compare.result import Adjusted, Kind
from thinktime.analyses.compare.unit_means import Cell
from thinktime.analyses.compare.variables import Wanted

__all__ = ["ROWS_PER_COEFFICIENT", "Asked", "questions"]

ROWS_PER_COEFFICIENT = 5
"""Observations, units taken off, that a slope needs."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: which quantity, at what, adjusted for which columns."""

    name: str
    label: str
    unit: str
    kind: Kind
    adjusted: Adjusted = ""
    adjusted_for: tuple[str, ...] = ()
    target: int = 0
    """Column of the moments."""
    covariates: tuple[int, ...] = ()


def questions(wanted: Wanted, cells: Sequence[Cell]) -> tuple[tuple[Asked, ...], tuple[tuple[str, str], ...]]:
    """List the questions, and the kinds of question that cannot be asked with the reason."""
    place = {item.name: at for at, item in enumerate(wanted.columns)}
    plain = [
        Asked(
            item.name, item.label, wanted.columns[place[item.name]].unit, item.kind, target=place[item.name]
        )
        for item in wanted.compared
    ]
    of_load = tuple(place[name] for name in (wanted.load, f"{wanted.load}^2") if name in place)
    of_work = tuple(place[name] for name in wanted.work)
    refused, found = [], list(plain)
    if reason := _unusable(cells, of_load, "no load was measured, or it never varied"):
        refused.append(("anything at equal load", reason))
    else:
        found += [
            replace(item, adjusted="load", adjusted_for=(wanted.load,), covariates=of_load)
            for item in plain
            if item.name != wanted.load
        ]
    if reason := _unusable(cells, of_work, "no requests were measured"):
        refused.append(("overhead at equal work", reason))
    else:
        found += [
            replace(item, adjusted="work", adjusted_for=wanted.work, covariates=of_work)
            for item in plain
            if item.kind == "overhead"
        ]
    return tuple(found), tuple(refused)


def _unusable(cells: Sequence[Cell], covariates: Sequence[int], none: str) -> str:
    """Why slopes on these covariates cannot be had; empty where they can."""
    if not covariates:
        return none
    if not any(cell.products[at, at] > 0.0 for cell in cells for at in covariates):
        return "nothing of it varies within a unit"
    rows = sum(cell.n for cell in cells) - len(cells)
    if rows < ROWS_PER_COEFFICIENT * len(covariates):
        return f"{rows + len(cells)} observations are too few for {len(covariates)} slopes"
    return ""
