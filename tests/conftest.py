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


_seconds: dict[str, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = report.nodeid.split("::")[0]
    _seconds[name] = _seconds.get(name, 0.0) + report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep how long each file took: `make check` takes those that fit into a minute."""
    cache = getattr(session.config, "cache", None)
    if cache is not None and not hasattr(session.config, "workerinput"):
        cache.set("thinktime/seconds", {**cache.get("thinktime/seconds", {}), **_seconds})
