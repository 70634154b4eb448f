"""Chapters that every study has: its simulated systems, and the doubtful numbers of its paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from thinktime.documents.document import Col, Table
from thinktime.sources.simulated import System
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter


def configuration(system: str, differences: str) -> Callable[[Laboratory], Chapter]:
    """Chapter on a simulated system: every parameter with its value and its source.

    Parameters
    ----------
    system : str
    differences : str
        A sentence on what differs between the runs of the study.
    """

    def chapter(laboratory: Laboratory) -> Chapter:
        described = laboratory.system(system)
        summary = (f"{described.summary.removesuffix('.')}. {differences}", calibrated(described))
        return Chapter(summary=summary, tables=(parameters(described, laboratory.defaults(system)),))

    return chapter


def calibrated(system: System) -> str:
    """Sentence with the number of parameters that were calibrated."""
    count = len(system.calibrated())
    return f"Of {len(system.parameters)} parameters, {count} were calibrated; the table says against what."


def parameters(system: System, values: Mapping[str, Any]) -> Table:
    """Table of all parameters with value, unit, meaning and source.

    Parameters
    ----------
    system : System
    values : mapping
        Resolved values; the default of a parameter that is not among them is shown as written.
    """
    return Table.of(
        system.parameters,
        Col("parameter", lambda item: item.name),
        Col("value", lambda item: json.dumps(values.get(item.name, item.default))),
        Col("unit", lambda item: item.unit),
        Col("meaning", lambda item: item.description),
        Col("source", lambda item: item.source.value),
        Col("reference", lambda item: item.reference),
        name="parameters",
        caption="Parameters of the simulated system",
        folded=True,
    )


def doubtful(*checks: tuple[str, str, Callable[[], str]]) -> Chapter:
    """Chapter on doubtful numbers.

    Parameters
    ----------
    *checks : (str, str, callable)
        The doubt, the number as printed, and a function that returns what other printed numbers imply.
    """
    table = Table.of(
        checks,
        Col("doubt", lambda check: check[0]),
        Col("as printed", lambda check: check[1]),
        Col("implied by other printed numbers", lambda check: check[2]()),
        name="doubts",
        caption="Doubtful numbers, and what other numbers imply",
    )
    summary = (
        "Published numbers stay as printed; where others contradict one, or it can be read in two ways, the "
        "figures that decide are computed here.",
    )
    return Chapter(summary=summary, tables=(table,))
