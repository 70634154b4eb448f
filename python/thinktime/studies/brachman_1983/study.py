"""Brachman 1983, part by part."""

from __future__ import annotations

from thinktime.studies.brachman_1983 import (
    components,
    computing,
    conclusions,
    configuration,
    doubts,
    equation,
    experiment,
    further_work,
    general_model,
    mixed_sizes,
    paging,
    recomputed,
    transfers,
)
from thinktime.studies.brachman_1983.runs import PAPER
from thinktime.studies.study import Study

STUDY = Study.of(
    PAPER,
    {
        "conclusions": conclusions.chapter,
        "experiment": experiment.chapter,
        "equation": equation.chapter,
        "general": general_model.chapter,
        "transfers": transfers.chapter,
        "devices": components.chapter,
        "paging": paging.chapter,
        "overlap": further_work.overlap,
        "balance": further_work.balance,
        "sharing": further_work.sharing,
        "mixing": mixed_sizes.chapter,
        "computing": computing.chapter,
        "configuration": configuration.chapter,
        "recomputed": recomputed.chapter,
        "doubts": doubts.chapter,
    },
)
