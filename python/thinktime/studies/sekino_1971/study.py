"""Sekino 1971, part by part."""

from __future__ import annotations

from thinktime.studies.common_sections import configuration
from thinktime.studies.sekino_1971 import (
    capacity_planning,
    measures,
    mechanisms,
    recomputed,
    trials,
)
from thinktime.studies.sekino_1971.configurations import PAPER
from thinktime.studies.study import Study

STUDY = Study(
    PAPER,
    {
        "claims": measures.claims,
        "capacity": measures.capacity,
        "more-core": trials.chapter,
        "mechanisms": mechanisms.chapter,
        "capacity-planning": capacity_planning.chapter,
        "meter-check": measures.meter_check,
        "configuration": configuration(
            "multics",
            "One set of parameters serves all configurations; processors, core, users and eligible processes "
            "are those of Table 1.",
        ),
        "recomputed": recomputed.chapter,
        "doubts": recomputed.doubts,
    },
)
