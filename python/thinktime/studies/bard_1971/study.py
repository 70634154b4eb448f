"""Bard 1971, part by part."""

from __future__ import annotations

from thinktime.studies.bard_1971 import (
    conclusions,
    configuration,
    costs,
    curves,
    doubts,
    free_fret,
    recomputed,
    regression,
    repeated,
    saturation,
)
from thinktime.studies.bard_1971.installation import begin
from thinktime.studies.bard_1971.tables import FOLDER, NAME, SHAPES
from thinktime.studies.study import Part, Study

STUDY = Study(
    name=NAME,
    title="Where does the time of a time-sharing system go, and what limits it?",
    paper=(
        "Y. Bard, Performance criteria and measurement for a time-sharing system, "
        "IBM Systems Journal 10, 3 (1971), 193-216."
    ),
    question=(
        "Ten months of CP-67 on a System/360 Model 67, sampled every five minutes: measured, simulated, and "
        "judged by regression, by throughput at equal load, and by what the machine did at most."
    ),
    folder=FOLDER.parent,
    shapes=SHAPES,
    parts=(
        Part(
            name="conclusions",
            title="Do the findings of the paper hold?",
            tables=(),
            work=conclusions.chapter,
        ),
        Part(
            name="regression",
            title="What does a request cost?",
            tables=regression.TABLES,
            work=regression.chapter,
        ),
        Part(name="costs", title="Does the regression find the true costs?", tables=(), work=costs.chapter),
        Part(
            name="curves",
            title="How much is done as users are added?",
            tables=curves.TABLES,
            work=curves.chapter,
        ),
        Part(
            name="saturation",
            title="What is the most that can be done?",
            tables=saturation.TABLES,
            work=saturation.chapter,
        ),
        Part(
            name="free-fret",
            title="What did the new free-fret bring?",
            tables=free_fret.TABLES,
            work=free_fret.chapter,
        ),
        Part(name="repeated", title="What would other months have shown?", tables=(), work=repeated.chapter),
        Part(
            name="configuration",
            title="What was simulated?",
            tables=configuration.TABLES,
            work=configuration.chapter,
        ),
        Part(
            name="recomputed",
            title="Do the printed numbers agree with each other?",
            tables=recomputed.TABLES,
            work=recomputed.chapter,
        ),
        Part(name="doubts", title="Which printed numbers are doubtful?", tables=(), work=doubts.chapter),
    ),
    begin=begin,
    replications=16,
)
