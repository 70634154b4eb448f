"""Sekino 1969, part by part."""

from __future__ import annotations

from thinktime.studies.sekino_1969 import (
    conclusions,
    configuration,
    cpu_time,
    doubts,
    in_sight,
    instruments,
    recomputed,
    responses,
    think_time_answer,
    twin,
)
from thinktime.studies.sekino_1969.machines import begin
from thinktime.studies.sekino_1969.tables import FOLDER, NAME, SHAPES
from thinktime.studies.study import Part, Study

STUDY = Study(
    name=NAME,
    title="How much does one more user cost, on Multics and on CTSS?",
    paper=(
        'A. Sekino, "Summary of the 3.1.1 system performance", memorandum to the Multics Performance '
        "Log, 11 August 1969."
    ),
    question=(
        "A standard script of 66 interactions, played every day beside other users: CPU time, page faults "
        "and response, measured and simulated."
    ),
    folder=FOLDER.parent,
    shapes=SHAPES,
    parts=(
        Part("conclusions", "Do the conclusions of the paper hold?", (), conclusions.chapter),
        Part("responses", "How long do users wait?", responses.TABLES, responses.chapter),
        Part("in-sight", "What do the responses hang on?", (), in_sight.chapter),
        Part("cpu-time", "What does an interaction cost?", cpu_time.TABLES, cpu_time.chapter),
        Part("instruments", "Do two instruments agree?", instruments.TABLES, instruments.chapter),
        Part("twin", "How does Multics compare with CTSS?", twin.TABLES, twin.chapter),
        Part(
            "think-time", "Does the think time matter?", think_time_answer.TABLES, think_time_answer.chapter
        ),
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
    replications=39,
)
