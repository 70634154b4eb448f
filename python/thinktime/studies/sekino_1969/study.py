"""Sekino 1969, part by part."""

from __future__ import annotations

from thinktime.studies.sekino_1969 import (
    conclusions,
    configuration,
    cpu_time,
    ctss_comparison,
    doubts,
    instruments,
    recomputed,
    responses,
    sensitivity,
    think_time_answer,
)
from thinktime.studies.sekino_1969.loads import PAPER
from thinktime.studies.study import Study

STUDY = Study.of(
    PAPER,
    {
        "conclusions": conclusions.chapter,
        "responses": responses.chapter,
        "sensitivity": sensitivity.chapter,
        "cpu-time": cpu_time.chapter,
        "instruments": instruments.chapter,
        "ctss-comparison": ctss_comparison.chapter,
        "think-time": think_time_answer.chapter,
        "configuration": configuration.chapter,
        "recomputed": recomputed.chapter,
        "doubts": doubts.chapter,
    },
)
