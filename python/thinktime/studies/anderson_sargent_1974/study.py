"""Anderson and Sargent 1974, part by part."""

from __future__ import annotations

from thinktime.studies.anderson_sargent_1974 import (
    experiment,
    measurement,
    measures,
    policy,
    reaction_time,
    recomputed,
    runs,
    validation,
)
from thinktime.studies.anderson_sargent_1974.runs import PAPER
from thinktime.studies.study import Study

STUDY = Study(
    PAPER,
    {
        "claims": measures.chapter,
        "experiment": experiment.chapter,
        "service-times": measurement.service_times,
        "measurement": measurement.chapter,
        "levels": reaction_time.levels,
        "regression": reaction_time.regression,
        "validation": validation.chapter,
        "modified": validation.modified_chapter,
        "configuration": runs.configuration,
        "policy": policy.chapter,
        "recomputed": recomputed.chapter,
    },
)
