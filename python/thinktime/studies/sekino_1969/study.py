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
        Part(
            name="conclusions",
            title="Do the conclusions of the paper hold?",
            tables=(),
            work=conclusions.chapter,
        ),
        Part(
            name="responses", title="How long do users wait?", tables=responses.TABLES, work=responses.chapter
        ),
        Part(name="in-sight", title="What do the responses hang on?", tables=(), work=in_sight.chapter),
        Part(
            name="cpu-time",
            title="What does an interaction cost?",
            tables=cpu_time.TABLES,
            work=cpu_time.chapter,
        ),
        Part(
            name="instruments",
            title="Do two instruments agree?",
            tables=instruments.TABLES,
            work=instruments.chapter,
        ),
        Part(name="twin", title="How does Multics compare with CTSS?", tables=twin.TABLES, work=twin.chapter),
        Part(
            name="think-time",
            title="Does the think time matter?",
            tables=think_time_answer.TABLES,
            work=think_time_answer.chapter,
        ),
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
    replications=39,
)
