"""When a recording has seen enough for a prediction: the error of a user's CPU time while it is recorded."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from thinktime.documents import format as shown
from thinktime.stats.series import batch_means

GOAL = 0.15
"""Half-width of the interval of the CPU time of an active user that is enough, relative to it."""
SAMPLES_LEAST = 30
"""Samples before an error is stated."""
EVERY = 10
"""Samples from one estimate to the next."""


@dataclass(slots=True, kw_only=True)
class Watch:
    """Samples of a recording so far, and how well they say what an active user uses."""

    cpus: int
    used: list[float] = field(default_factory=list)
    """Busy CPUs, by sample."""
    active: list[float] = field(default_factory=list)
    """Active users, by sample."""
    elapsed_s: float = 0.0
    half: float = math.inf
    """Relative half-width of the 95 % interval of busy CPUs for each active user."""

    def add(self, busy: float | None, active: int | None, elapsed_s: float) -> bool:
        """True if this sample was the one that made it enough."""
        self.elapsed_s = elapsed_s
        if busy is None or active is None:
            return False
        before = self.half
        self.used.append(busy * self.cpus)
        self.active.append(float(active))
        if len(self.used) >= SAMPLES_LEAST and len(self.used) % EVERY == 0 and max(self.active) > 0.0:
            found = batch_means.batch_ratio(self.used, self.active)
            if found.low is not None and found.high is not None and found.value > 0.0:
                self.half = (found.high - found.low) / (2.0 * found.value)
        return before > GOAL >= self.half

    @property
    def left_s(self) -> float | None:
        """Time to record further, if use stays as it was: errors shrink with the root of the time [s]."""
        if not math.isfinite(self.half):
            return None
        return max(self.elapsed_s * ((self.half / GOAL) ** 2 - 1.0), 0.0)

    @property
    def words(self) -> str:
        """State in words."""
        if self.left_s is None:
            return "too few samples with users so far to state an error"
        users = f"{min(self.active):.0f} to {max(self.active):.0f} active users seen"
        known = f"CPU time of an active user known to {100.0 * self.half:.0f} %"
        goal = f"{100.0 * GOAL:.0f} %"
        if self.half <= GOAL:
            return f"{known}: enough; {users}"
        return f"{known}, another {shown.duration(self.left_s)} for {goal}; {users}"
