"""Logs for the report tests."""

from __future__ import annotations

import pytest
import synthetic_machine

from thinktime.log import Log


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Log of the synthetic machine, 12 users."""
    return Log.open(synthetic_machine.write(tmp_path_factory.mktemp("synthetic") / "log"))
