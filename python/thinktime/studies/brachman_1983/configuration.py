"""The simulated machine: every parameter with its value, its unit and its source."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.studies.brachman_1983.runs import PAPER, SYSTEM
from thinktime.studies.cells import Cell
from thinktime.studies.common_sections import parameters
from thinktime.studies.estimates import given
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

STATED = {
    "disk-drives": "drives",
    "minimum-residence": "minimum_time_in",
    "disk-block-buffers": "buffers",
    "update-interval": "update_interval",
    "interactions": "interactions",
    "terminal-output-string-length": "string_length",
    "terminal-line-speed": "baud",
}
"""Numbers of the text that are parameters of the machine."""


def chapter(laboratory: Laboratory) -> Chapter:
    """The simulated system: every parameter with its source."""
    system = laboratory.system(SYSTEM)
    calibrated = system.calibrated()
    chosen = [item.name for item in system.parameters if item.compared_with_calibration]
    summary = (
        f"{system.summary.removesuffix('.')}. One set of parameters serves all runs; memory, number and size "
        "of processes and the compute loop are those of the row.",
        f"Of {len(system.parameters)} parameters, {len(calibrated)} were calibrated"
        + (f": {', '.join(calibrated)}." if calibrated else "."),
        f"{len(chosen)} more say what the rows that calibrate have to do with their choice"
        + (f": {', '.join(chosen)}." if chosen else "."),
    )
    return Chapter(
        cells=tuple(_stated(laboratory)),
        summary=summary,
        tables=(parameters(system, laboratory.defaults(SYSTEM)),),
    )


def _stated(laboratory: Laboratory) -> Iterator[Cell]:
    """Numbers of the text that the machine was given."""
    defaults = laboratory.defaults(SYSTEM)
    longest = max(float(value) for value in defaults["pause"]["values"])
    values = {**{fact: float(defaults[name]) for fact, name in STATED.items()}, "longest-pause": longest}
    for fact, value in values.items():
        yield PAPER.fact(fact, given(value))
