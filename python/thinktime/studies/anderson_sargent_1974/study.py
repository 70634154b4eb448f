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
from thinktime.studies.anderson_sargent_1974.machine import Machine
from thinktime.studies.anderson_sargent_1974.tables import FOLDER, NAME, SHAPES
from thinktime.studies.study import Part, Study

STUDY = Study(
    name=NAME,
    title="Which scheduling serves an interactive system best?",
    paper=(
        "H. A. Anderson, Jr. and R. G. Sargent, Investigation into Scheduling for an Interactive Computing "
        "System, IBM Journal of Research and Development 18, 2 (March 1974), 125 ff."
    ),
    question="APL/360 on a System/360 Model 50: measured, simulated, and given better swap schedulers.",
    folder=FOLDER.parent,
    shapes=SHAPES,
    parts=(
        Part("conclusions", "Do the paper's conclusions hold?", (), conclusions.chapter),
        Part(
            "experiment",
            "Which swap algorithm, how many regions, which slice?",
            experiment.TABLES,
            experiment.chapter,
        ),
        Part(
            "service-times",
            "What do inputs ask for?",
            measurement.SERVICE_TABLES,
            measurement.service_times,
        ),
        Part("measurement", "What does the monitor show?", measurement.TABLES, measurement.chapter),
        Part("levels", "Do users and input rate predict the reaction time?", levels.TABLES, levels.chapter),
        Part("regression", "What moves the reaction time?", ("facts",), regression.chapter),
        Part(
            "validation",
            "Does the model behave as the measured system?",
            (validation.TABLE,),
            validation.chapter,
        ),
        Part("modified", "What does it take to forget nobody?", (validation.TABLE,), modified.chapter),
        Part("configuration", "What was simulated?", (), configuration.chapter),
        Part("policy", "How far is FB-infinity from the best?", (), policy.chapter),
        Part(
            "recomputed",
            "Do the printed numbers agree with each other?",
            recomputed.TABLES,
            recomputed.chapter,
        ),
    ),
    begin=Machine.begin,
    replications=1024,
)
