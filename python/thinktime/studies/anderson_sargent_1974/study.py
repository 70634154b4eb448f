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
        Part(
            name="conclusions", title="Do the paper's conclusions hold?", tables=(), work=conclusions.chapter
        ),
        Part(
            name="experiment",
            title="Which swap algorithm, how many regions, which slice?",
            tables=experiment.TABLES,
            work=experiment.chapter,
        ),
        Part(
            name="service-times",
            title="What do inputs ask for?",
            tables=measurement.SERVICE_TABLES,
            work=measurement.service_times,
        ),
        Part(
            name="measurement",
            title="What does the monitor show?",
            tables=measurement.TABLES,
            work=measurement.chapter,
        ),
        Part(
            name="levels",
            title="Do users and input rate predict the reaction time?",
            tables=levels.TABLES,
            work=levels.chapter,
        ),
        Part(
            name="regression",
            title="What moves the reaction time?",
            tables=("facts",),
            work=regression.chapter,
        ),
        Part(
            name="validation",
            title="Does the model behave as the measured system?",
            tables=(validation.TABLE,),
            work=validation.chapter,
        ),
        Part(
            name="modified",
            title="What does it take to forget nobody?",
            tables=(validation.TABLE,),
            work=modified.chapter,
        ),
        Part(name="configuration", title="What was simulated?", tables=(), work=configuration.chapter),
        Part(name="policy", title="How far is FB-infinity from the best?", tables=(), work=policy.chapter),
        Part(
            name="recomputed",
            title="Do the printed numbers agree with each other?",
            tables=recomputed.TABLES,
            work=recomputed.chapter,
        ),
    ),
    begin=Machine.begin,
    replications=1024,
)
