"""Brachman 1983, part by part."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.studies import common_sections
from thinktime.studies.brachman_1983 import (
    components,
    computing,
    equation,
    experiment,
    further_work,
    general_model,
    measures,
    recomputed,
    transfers,
)
from thinktime.studies.brachman_1983.runs import PAPER, SYSTEM
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import given
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter, Study

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


def configuration(laboratory: Laboratory) -> Chapter:
    """The simulated system: every parameter with its source."""
    system = laboratory.system(SYSTEM)
    calibrated = system.calibrated()
    chosen = [item.name for item in system.parameters if item.compared_with_calibration]
    return Chapter(
        cells=tuple(_stated(laboratory)),
        summary=(
            f"{system.summary.removesuffix('.')}. One set of parameters serves all runs; memory, number and "
            "size of processes and the compute loop are those of the row.",
            f"Of {len(system.parameters)} parameters, {len(calibrated)} were calibrated"
            + (f": {', '.join(calibrated)}." if calibrated else "."),
            f"{len(chosen)} more were chosen in comparison with the rows that calibrate"
            + (f": {', '.join(chosen)}." if chosen else "."),
            "Since its calibration the machine has been compared with a kernel of Sixth Edition on an "
            "emulated PDP-11, and what that showed to be missing was added, without a parameter to fit: how "
            "processes begin and end, and the random phase of the clock. Nothing was fitted again.",
        ),
        tables=(common_sections.parameters(system, laboratory.defaults(SYSTEM)),),
    )


def _stated(laboratory: Laboratory) -> Iterator[Cell]:
    """Numbers of the text that the machine was given."""
    defaults = laboratory.defaults(SYSTEM)
    for fact, name in STATED.items():
        yield PAPER.fact(fact, given(float(defaults[name])))
    yield PAPER.fact("longest-pause", given(max(float(value) for value in defaults["pause"]["values"])))


STUDY = Study(
    PAPER,
    {
        "claims": measures.chapter,
        "experiment": experiment.chapter,
        "equation": equation.chapter,
        "general": general_model.chapter,
        "transfers": transfers.chapter,
        "devices": components.chapter,
        "paging": further_work.paging,
        "overlap": further_work.overlap,
        "balance": further_work.balance,
        "sharing": further_work.sharing,
        "mixing": further_work.mixing,
        "computing": computing.chapter,
        "configuration": configuration,
        "recomputed": recomputed.chapter,
        "doubts": recomputed.doubts,
    },
)
