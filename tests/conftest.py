"""Options of every test."""

from __future__ import annotations

import os
import time

import pytest

# The defaults of whoever runs the tests must not change what commands do.
os.environ["THINKTIME_CONFIG"] = ""
# Nor may their zone: texts have local times.
os.environ["TZ"] = "UTC"
time.tzset()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")
