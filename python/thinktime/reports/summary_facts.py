"""What the summary of a report argues from: the results of one log, and the few figures drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from thinktime.analyses.overhead.section import requests
from thinktime.analyses.recording.analysis import Recording
from thinktime.documents.wording import few, range_of, users
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.capacity.analysis import Capacity, Event
    from thinktime.analyses.disks.result import Iostat
    from thinktime.analyses.overhead.result import Cost, Overhead
    from thinktime.analyses.rates.analysis import Rates
    from thinktime.analyses.response.analysis import Response, ResponseGroup
    from thinktime.analyses.saturation.analysis import Saturation
    from thinktime.analyses.service.analysis import Service

__all__ = ["SATURATED", "Evidence", "crowd_of"]

LIMITS = {"cpu": "the CPU", "disk": "a disk", "memory": "memory"}
SATURATED = 0.1
"""Part of the intervals in which a resource must be used up to be called the limit of this load."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that is known about one log."""

    recording: Recording
    results: Mapping[str, object]
    """Result of each analysis by its name, `NotApplicable` included."""

    def _result(self, name: str) -> object | None:
        result = self.results.get(name)
        return None if isinstance(result, NotApplicable) else result

    @property
    def capacity(self) -> Capacity | None:
        """Capacity breakdown, where it applies."""
        return cast("Capacity | None", self._result("capacity"))

    @property
    def overhead(self) -> Overhead | None:
        """Overhead regression, where it applies."""
        return cast("Overhead | None", self._result("overhead"))

    @property
    def rates(self) -> Rates | None:
        """Rates, where they apply."""
        return cast("Rates | None", self._result("rates"))

    @property
    def service(self) -> Service | None:
        """Service times, where there are any."""
        return cast("Service | None", self._result("service"))

    @property
    def response(self) -> Response | None:
        """Response times, where they apply."""
        return cast("Response | None", self._result("response"))

    @property
    def saturation(self) -> Saturation | None:
        """Pareto frontier, where it applies."""
        return cast("Saturation | None", self._result("saturation"))

    @property
    def iostat(self) -> Iostat | None:
        """Disks and who waits for them, where the log tells."""
        return cast("Iostat | None", self._result("disks"))

    @property
    def busy(self) -> float:
        """Part of the CPU capacity that was used."""
        return 0.0 if self.capacity is None else self.capacity.user.value + self.capacity.system.value

    def gauge(self, column: str) -> tuple[float, float] | None:
        """Mean and highest value of a gauge."""
        rate = (
            next((rate for rate in self.rates.rates if rate.column == column), None) if self.rates else None
        )
        return None if rate is None else (rate.mean.value, rate.highest)

    @property
    def metered(self) -> list[Event]:
        """Events whose time the source measured and that happened, by falling share of the capacity."""
        events = self.capacity.events if self.capacity is not None and self.capacity.metered else ()
        return sorted((event for event in events if event.overhead), key=lambda event: -event.share.value)

    @property
    def costs(self) -> list[Cost]:
        """Costs of requests that are told from zero, by falling share of the system time.

        None where events are metered: what a meter says needs no regression.
        """
        found = requests(self.overhead) if self.overhead and not self.metered else []
        return [cost for cost in found if (cost.seconds.low or 0.0) > 0]

    @property
    def limit(self) -> tuple[str, Estimate] | None:
        """Resource that was used up most often, and in which part of the intervals."""
        if self.saturation is None:
            return None
        parts = self.saturation.saturated_share.items()
        return max(
            (
                (LIMITS.get(name, f"the {name}"), part)
                for name, part in parts
                if name not in ("none", "unknown")
            ),
            key=lambda item: item[1].value,
            default=None,
        )

    @property
    def populations(self) -> list[ResponseGroup]:
        """Numbers of users with enough completed interactions to speak of, growing."""
        groups = self.response.by_population if self.response else ()
        return [group for group in groups if group.response is not None and not few(group.response.n)]

    @property
    def crowd(self) -> ResponseGroup | None:
        """Largest number of users to speak of, or all interactions together."""
        if self.response is None:
            return None
        group = self.populations[-1] if self.populations else self.response.overall
        return None if group.response is None else group


def crowd_of(group: ResponseGroup) -> str:
    """Write how many users a group of interactions had: 3 to 4 users."""
    low, high = group.population_low, group.population_high
    return users(group.label if low is None or high is None else range_of(low, high))
