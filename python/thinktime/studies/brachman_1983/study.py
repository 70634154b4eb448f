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
        Part(
            name="conclusions",
            title="Do the findings of the thesis hold?",
            tables=(),
            work=conclusions.chapter,
        ),
        Part(
            name="experiment",
            title="How long do the measured runs take?",
            tables=experiment.TABLES,
            work=experiment.chapter,
        ),
        Part(
            name="equation",
            title="Does equation 3.1 predict one run from another?",
            tables=equation.TABLES,
            work=equation.chapter,
        ),
        Part(
            name="general",
            title="What does a model say that needs no saturation?",
            tables=(),
            work=general.chapter,
        ),
        Part(name="transfers", title="Where do the file transfers go?", tables=(), work=transfers.chapter),
        Part(
            name="devices",
            title="What do a block and a swap take?",
            tables=devices.TABLES,
            work=devices.chapter,
        ),
        Part(name="paging", title="Does paging do better than swapping?", tables=(), work=paging.chapter),
        Part(name="overlap", title="What would overlapped seeks bring?", tables=(), work=overlap.chapter),
        Part(name="balance", title="Does a balancing swapper swap less?", tables=(), work=balance.chapter),
        Part(name="sharing", title="What would shared text bring?", tables=(), work=sharing.chapter),
        Part(name="mixing", title="Do unequal sizes matter?", tables=(), work=mixing.chapter),
        Part(name="computing", title="What if the CPU limits?", tables=(), work=computing.chapter),
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
    replications=24,
)
