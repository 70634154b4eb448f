"""A kind of interval: the data it is tried on, one trial, and the coverage that is to be reached.

A module of this folder that calls `kind` is found by `all_kinds`; nothing else has to be told of it.
"""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from thinktime.stats.estimate import Estimate

Hits = Mapping[str, bool | str | None]
"""For each figure of a trial: whether its interval held the truth; None where it has no interval."""
OPEN = "open"
"""Hit of an interval with an open end: half an interval is easier to hold, and is counted apart too."""
Trial = Callable[[int], Hits]
NOT_KINDS = ("registry", "run", "__main__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Interval and data of a number of trials."""

    name: str
    """Unique; words joined by hyphens."""
    interval: str
    """Heading under which the table has it: ``Capacity``."""
    data: str
    """Data in a few words: ``AR(1) 0.9, 200 intervals``."""
    trial: Trial
    """Figures of one seed. It draws nothing from anywhere else."""
    trials: int = 400
    """Trials unless --trials says otherwise."""
    block: int = 50
    """Trials that are kept together; one that is cut off is tried again."""
    least: float = 0.92
    most: float = 0.98
    """Coverage that is to be reached."""
    level: float = 0.95
    """Nominal level."""
    note: str = ""
    """Why the coverage is not reached, and the caveat that the report prints for it."""

    def seed(self, number: int) -> int:
        """Seed of a trial, different for every kind."""
        return (zlib.crc32(self.name.encode()) << 20) + number


KINDS: dict[str, Kind] = {}


def kind(**fields: object) -> Callable[[Trial], Trial]:
    """Decorator that registers a trial as a `Kind` with these fields."""

    def register(trial: Trial) -> Trial:
        made = Kind(trial=trial, **fields)  # type: ignore[arg-type]
        if made.name in KINDS:
            raise ValueError(f"two kinds of intervals are named {made.name!r}")
        KINDS[made.name] = made
        return trial

    return register


def all_kinds() -> dict[str, Kind]:
    """Every kind, by name, in the order of modules and of their lines."""
    folder = Path(__file__).parent
    for module in sorted(item.name for item in pkgutil.iter_modules([str(folder)])):
        if module not in NOT_KINDS:
            importlib.import_module(f"{__package__}.{module}")
    return KINDS


def holds(estimate: object, truth: float) -> bool | str | None:
    """Whether an interval holds the truth: True, False, or `OPEN`; None for no interval."""
    if not isinstance(estimate, Estimate) or (estimate.low is None and estimate.high is None):
        return None
    low, high = estimate.low, estimate.high
    held = (low is None or low <= truth) and (high is None or truth <= high)
    return OPEN if held and None in (low, high) else held
