"""What several workers of a run of the tests need, made by one of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """Folder of this name: one for all workers of a run, each of which takes what another has made."""
    base = factory.getbasetemp()
    path = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    path.mkdir(exist_ok=True)
    return path


def once(path: Path, make: Callable[[], Path]) -> Path:
    """`path`, which the first that asks for it makes, of all processes; the others wait until it is there."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = path.with_name(f"{path.name}.made")
        if not mark.exists():
            assert make() == path
            mark.touch()
    return path
