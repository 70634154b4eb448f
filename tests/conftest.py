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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file, and all that make accounts on this machine, run one after the other."""
    for item in items:
        file = item.nodeid.partition("::")[0]
        makes_accounts = hasattr(getattr(item, "module", None), "account")
        item.add_marker(pytest.mark.xdist_group("accounts" if makes_accounts else file))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")
