"""Result of the question about what needs attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thinktime.results import Result
from thinktime.stats.estimate import Caveat


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was examined: its measured value, its limit, and where both come from."""

    kind: str
    """``cpu_wait``, ``held_up``, ``throttled``, ...: the section has the words for it."""
    value: float | None
    """Measured value that is compared with the limit; None if the log does not have it."""
    unit: str
    """Unit of `value` and `limit`; ``share`` for a fraction of one."""
    limit: float
    """Value from which it needs attention; below which, where `below` is true."""
    found: bool
    """True if it is beyond the limit, and all other conditions of the check hold."""
    evidence: tuple[str, ...]
    """Columns that were read: ``users.run_delay_s``."""
    section: str
    """Question whose section of a report has the details."""
    rank: int
    """0 for work that was lost, 1 for time lost to waiting, 2 for a risk, 3 for what a reader must know."""
    lost: float = 0.0
    """Time lost to waiting per second of the record [s/s]: the larger, the earlier within a rank."""
    below: bool = False
    """True if values below the limit need attention."""
    instead: str = ""
    """Words in place of a value where nothing of the kind happened."""
    worst_us: int | None = None
    """Start of the interval in which it was worst, microseconds since 1970 UTC."""
    values: Mapping[str, object]
    """Further numbers and names for the words of a finding; empty if it was not found."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Health(Result):
    """Everything that was examined, and what of it needs attention."""

    MAIN = "checks"

    checks: tuple[Check, ...]
    """In a fixed order."""
    intervals: int
    time_s: float
    """Measured time, without gaps."""
    caveats: tuple[Caveat, ...] = ()

    @property
    def found(self) -> tuple[Check, ...]:
        """Checks beyond their limit: lost work, then waits by the time lost, then risks, then the rest."""
        return tuple(
            sorted((item for item in self.checks if item.found), key=lambda item: (item.rank, -item.lost))
        )

    def of(self, kind: str) -> Check | None:
        """Check of this kind, if it was found."""
        return next((item for item in self.checks if item.kind == kind and item.found), None)

    @property
    def unmeasured(self) -> tuple[Check, ...]:
        """Checks for which the log has no value."""
        return tuple(item for item in self.checks if item.value is None)
