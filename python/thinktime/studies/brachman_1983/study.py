"""Brachman 1983, part by part."""

from __future__ import annotations

from thinktime.studies.brachman_1983 import (
    balance,
    computing,
    conclusions,
    configuration,
    devices,
    doubts,
    equation,
    experiment,
    general,
    mixing,
    overlap,
    paging,
    recomputed,
    sharing,
    transfers,
)
from thinktime.studies.brachman_1983.machine import begin
from thinktime.studies.brachman_1983.tables import FOLDER, NAME, SHAPES
from thinktime.studies.study import Part, Study

STUDY = Study(
    name=NAME,
    title="What limits a time-sharing system whose disk is saturated?",
    paper=(
        "B. J. Brachman, A Model of the UNIX Time-sharing System under Disk Saturation, M.Sc. thesis, "
        "University of British Columbia (September 1983)."
    ),
    question="Sixth Edition UNIX on a PDP-11/34 that swaps: measured, simulated, and predicted by a ratio.",
    folder=FOLDER.parent,
    shapes=SHAPES,
    parts=(
        Part("conclusions", "Do the findings of the thesis hold?", (), conclusions.chapter),
        Part("experiment", "How long do the measured runs take?", experiment.TABLES, experiment.chapter),
        Part(
            "equation", "Does equation 3.1 predict one run from another?", equation.TABLES, equation.chapter
        ),
        Part("general", "What does a model say that needs no saturation?", (), general.chapter),
        Part("transfers", "Where do the file transfers go?", (), transfers.chapter),
        Part("devices", "What do a block and a swap take?", devices.TABLES, devices.chapter),
        Part("paging", "Does paging do better than swapping?", (), paging.chapter),
        Part("overlap", "What would overlapped seeks bring?", (), overlap.chapter),
        Part("balance", "Does a balancing swapper swap less?", (), balance.chapter),
        Part("sharing", "What would shared text bring?", (), sharing.chapter),
        Part("mixing", "Do unequal sizes matter?", (), mixing.chapter),
        Part("computing", "What if the CPU limits?", (), computing.chapter),
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
    replications=24,
)
