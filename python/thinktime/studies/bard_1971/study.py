"""Bard 1971, part by part."""

from __future__ import annotations

from thinktime.studies.bard_1971 import (
    configuration,
    costs,
    curves,
    free_fret,
    measures,
    recomputed,
    regression,
    repeated,
    saturation,
)
from thinktime.studies.bard_1971.records import PAPER
from thinktime.studies.study import Study

STUDY = Study(
    PAPER,
    {
        "claims": measures.chapter,
        "regression": regression.chapter,
        "costs": costs.chapter,
        "curves": curves.chapter,
        "saturation": saturation.chapter,
        "free-fret": free_fret.chapter,
        "repeated": repeated.chapter,
        "configuration": configuration.chapter,
        "recomputed": recomputed.chapter,
        "doubts": recomputed.doubts,
    },
)
