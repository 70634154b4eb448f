"""Studies: one per paper, its published tables with our values.

A study is a folder: ``study.toml`` with the answer, parts, tables, tolerances, and claims with conditions;
``published/*.csv`` with the paper's tables as printed; ``measures.py`` with the measures that the claims are
judged by, ``charts.py``, and modules that compute cells; ``study.py`` as the table of contents;
``verdict.json`` with the result at full length; and a README. `this_machine` and `swapping_linux` measure
machines of
today instead, and have none of these.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from thinktime.errors import InputError, offered

if TYPE_CHECKING:
    from thinktime.studies.study import Study

__all__ = ["MEASURED", "STUDIES", "load"]

STUDIES: dict[str, str] = {
    "anderson-sargent-1974": "thinktime.studies.anderson_sargent_1974.study",
    "bard-1971": "thinktime.studies.bard_1971.study",
    "brachman-1983": "thinktime.studies.brachman_1983.study",
    "sekino-1969": "thinktime.studies.sekino_1969.study",
    "sekino-1971": "thinktime.studies.sekino_1971.study",
}
"""Name of each study of a paper, and the module whose ``STUDY`` it is."""

MEASURED: dict[str, tuple[str, str]] = {
    "this-machine": (
        "How many users does this machine hold, and what does one more cost?",
        "The figures of Sekino 1969, measured here: the twin of its script, typed to real shells.",
    ),
    "swapping-linux": (
        "How well does a swapping model of 1983 hold for a kernel that pages?",
        "The experiment of Brachman 1983 on Linux (`thinktime lab swap`): each configuration predicted from "
        "the others.",
    ),
}
"""Name of each study of machines of today: its question, and what it does. It has no published tables, and
so neither
verdict nor agreement."""


def load(name: str) -> Study:
    """Study of that name.

    Raises
    ------
    InputError
        There is no such study.
    """
    if name not in STUDIES:
        raise InputError(f"{name}: there is no such study; {offered(name, [*STUDIES, *MEASURED])}")
    study: Study = importlib.import_module(STUDIES[name]).STUDY
    return study
