"""Anderson and Sargent 1974, part by part."""

from __future__ import annotations

from thinktime.studies.anderson_sargent_1974 import (
    conclusions,
    configuration,
    experiment,
    levels,
    measurement,
    modified,
    policy,
    recomputed,
    regression,
    validation,
)
from thinktime.studies.anderson_sargent_1974.runs import PAPER
from thinktime.studies.study import Study

STUDY = Study.of(
    PAPER,
    {
        "conclusions": conclusions.chapter,
        "experiment": experiment.chapter,
        "service-times": measurement.service_times,
        "measurement": measurement.chapter,
        "levels": levels.chapter,
        "regression": regression.chapter,
        "validation": validation.chapter,
        "modified": modified.chapter,
        "configuration": configuration.chapter,
        "policy": policy.chapter,
        "recomputed": recomputed.chapter,
    },
)
