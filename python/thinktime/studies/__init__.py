"""Studies: one per paper, its published tables with our values.

A study is a folder: ``study.toml`` with parts, tables, tolerances, and claims with their conditions;
``published/*.csv`` with the paper's tables as printed; ``measures.py`` with the measures that the claims are
judged by, ``charts.py``, and modules that compute cells; ``study.py`` as the table of contents;
``verdict.json`` with the result at full length; and a README.
"""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING

from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.studies.study import Study

__all__ = ["STUDIES", "load"]

STUDIES: dict[str, str] = {
    "anderson-sargent-1974": "thinktime.studies.anderson_sargent_1974.study",
    "bard-1971": "thinktime.studies.bard_1971.study",
    "brachman-1983": "thinktime.studies.brachman_1983.study",
    "sekino-1969": "thinktime.studies.sekino_1969.study",
    "sekino-1971": "thinktime.studies.sekino_1971.study",
}
"""Name of each study, and the module whose ``STUDY`` it is."""


def load(name: str) -> Study:
    """Study of that name.

    Raises
    ------
    InputError
        There is no such study.
    """
    if name not in STUDIES:
        near = difflib.get_close_matches(name.lower().replace("_", "-"), STUDIES, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"there is no study {name!r}; the studies are {', '.join(STUDIES)}{hint}")
    study: Study = importlib.import_module(STUDIES[name]).STUDY
    return study
