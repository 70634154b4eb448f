"""A study that was run."""

from __future__ import annotations

import pytest

from thinktime.documents.document import Document
from thinktime.studies import load
from thinktime.studies.laboratory import Settings
from thinktime.studies.study import Outcome, run
from thinktime.studies.study_report import report


@pytest.fixture(scope="session")
def outcome() -> Outcome:
    """Anderson and Sargent (1974) with 64 replications, and half of the periods and draws."""
    return run(load("anderson-sargent-1974"), Settings(replications=64, scale=0.5))


@pytest.fixture(scope="session")
def document(outcome: Outcome) -> Document:
    """Page of that study."""
    return report(outcome)
