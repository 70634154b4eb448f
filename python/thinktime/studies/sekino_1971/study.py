"""Sekino 1971, part by part."""

from __future__ import annotations

from thinktime.studies.sekino_1971 import (
    buyer,
    capacity,
    conclusions,
    configuration,
    doubts,
    mechanisms,
    metered,
    recomputed,
)
from thinktime.studies.sekino_1971.machine import begin
from thinktime.studies.sekino_1971.tables import FOLDER, NAME, SHAPES
from thinktime.studies.study import Part, Study

STUDY = Study(
    name=NAME,
    title="What do more core and a second processor bring, and what do they cost?",
    paper=(
        "A. Sekino, Overhead Measurements of System 14, MPL-53, Multics Performance Log, Project MAC, "
        "Massachusetts Institute of Technology (4 May 1971)."
    ),
    question=(
        "Multics on one and two processors, metered event by event: measured, simulated, and taken apart "
        "mechanism by mechanism."
    ),
    folder=FOLDER.parent,
    shapes=SHAPES,
    parts=(
        Part("conclusions", "Does what the memorandum says hold?", (), conclusions.chapter),
        Part("capacity", "Where does the capacity go?", capacity.TABLES, capacity.chapter),
        Part("mechanisms", "What does each mechanism contribute?", (), mechanisms.chapter),
        Part("buyer", "What should be bought?", (), buyer.chapter),
        Part("metered", "Do the meters alone tell it?", (), metered.chapter),
        Part("configuration", "What was simulated?", (), configuration.chapter),
        Part(
            "recomputed",
            "Do the printed numbers agree with each other?",
            recomputed.TABLES,
            recomputed.chapter,
        ),
        Part("doubts", "Which printed numbers are doubtful?", (), doubts.chapter),
    ),
    begin=begin,
    replications=8,
)
