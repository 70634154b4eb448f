"""Options of every test."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

import pytest

# The defaults of whoever runs the tests must not change what commands do.
os.environ["THINKTIME_CONFIG"] = ""
# Nor may their zone: texts have local times.
os.environ["TZ"] = "UTC"
time.tzset()
# With a worker on every core, further threads for linear algebra would only compete.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# All that is collected stays: to look through it again and again takes a quarter of that time.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Garbage is collected from here on."""
    gc.enable()


APART = frozenset(
    f"tests/{name}.py"
    for name in (
        "recorder/test_people",
        "recorder/test_record",
        "terminals/test_play",
        "terminals/test_shells",
    )
)
"""Long files whose tests share nothing and mostly wait: with `--dist loadfile`, several workers take them."""
TOGETHER = ("tests/browser", "tests/reports")
"""Folders whose files share what a worker makes once, such as a browser and its pages: one takes them all."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A scheduler that keeps together the tests of a file and of `TOGETHER`, but not those of `APART`."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduler(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            if (folder := file.rpartition("/")[0]) in TOGETHER:
                return folder
            return nodeid if file in APART else file

    return Scheduler(config, log)


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
