"""A study that was run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from thinktime.studies import load
from thinktime.studies.anderson_sargent_1974 import levels, monitor, variance
from thinktime.studies.laboratory import Settings
from thinktime.studies.study import Outcome, run


@pytest.fixture(scope="session")
def outcome() -> Iterator[Outcome]:
    """Anderson and Sargent (1974) with 64 replications half of the periods, and fewer draws."""
    patch = pytest.MonkeyPatch()
    patch.setattr(monitor, "PERIODS", 2)
    for module in (levels, variance):
        patch.setattr(module, "DRAWS", 100)
    yield run(load("anderson-sargent-1974"), Settings(seed=1, replications=64))
    patch.undo()
