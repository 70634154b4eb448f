"""Sekino 1969, part by part."""

from __future__ import annotations

from thinktime.studies.sekino_1969 import (
    cpu_time,
    ctss_comparison,
    instruments,
    loads,
    measures,
    passes,
    recomputed,
    responses,
    think_time,
)
from thinktime.studies.sekino_1969.loads import PAPER
from thinktime.studies.study import Study

STUDY = Study(
    PAPER,
    {
        "claims": measures.chapter,
        "responses": responses.chapter,
        "single-passes": passes.chapter,
        "sensitivity": responses.sensitivity,
        "cpu-time": cpu_time.chapter,
        "instruments": instruments.chapter,
        "ctss-comparison": ctss_comparison.chapter,
        "think-time": think_time.chapter,
        "configuration": loads.configuration,
        "recomputed": recomputed.chapter,
        "doubts": recomputed.doubts,
    },
)
