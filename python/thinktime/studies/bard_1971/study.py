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
        Part("conclusions", "Do the findings of the paper hold?", (), conclusions.chapter),
        Part("regression", "What does a request cost?", regression.TABLES, regression.chapter),
        Part("costs", "Does the regression find the true costs?", (), costs.chapter),
        Part("curves", "How much is done as users are added?", curves.TABLES, curves.chapter),
        Part("saturation", "What is the most that can be done?", saturation.TABLES, saturation.chapter),
        Part("free-fret", "What did the new free-fret bring?", free_fret.TABLES, free_fret.chapter),
        Part("repeated", "What would other months have shown?", (), repeated.chapter),
        Part("configuration", "What was simulated?", configuration.TABLES, configuration.chapter),
        Part(
            "recomputed",
            "Do the printed numbers agree with each other?",
            recomputed.TABLES,
            recomputed.chapter,
        ),
        Part("doubts", "Which printed numbers are doubtful?", (), doubts.chapter),
    ),
    begin=begin,
    replications=16,
)
