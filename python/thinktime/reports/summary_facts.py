"""Facts behind the summary of a report: the results of one log, and numbers derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from thinktime.analyses.overhead.section import requests
from thinktime.analyses.recording.analysis import Recording
from thinktime.analyses.users.logins import Logins
from thinktime.documents.wording import few
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.capacity.result import Capacity, Event
    from thinktime.analyses.disks.result import Disks
    from thinktime.analyses.health.result import Health
    from thinktime.analyses.overhead.result import Cost, Overhead
    from thinktime.analyses.rates.analysis import Rates
    from thinktime.analyses.response.analysis import Response, ResponseGroup
    from thinktime.analyses.saturation.analysis import Saturation
    from thinktime.analyses.scheduling.result import Scheduling
    from thinktime.analyses.service.analysis import Service
    from thinktime.analyses.users.result import Users

LIMITS = {"cpu": "the CPU", "disk": "a disk", "memory": "memory"}
SATURATED = 0.1
"""Share of the intervals in which a resource must be exhausted to be called the limit of this load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """Results of one log that the summary uses; None where a question does not apply."""

    recording: Recording
    capacity: Capacity | None
    overhead: Overhead | None
    rates: Rates | None
    service: Service | None
    response: Response | None
    users: Users | None
    saturation: Saturation | None
    disks: Disks | None
    health: Health | None
    scheduling: Scheduling | None
    logins: Logins | None = None
    """Of a log that knows who was logged in and not what they used; `users` is None then."""

    @classmethod
    def of(cls, results: Mapping[str, Any]) -> LogFacts | None:
        """Facts from the results of all questions, by name; None where not even the recording is known."""
        if isinstance(results["recording"], NotApplicable):
            return None
        applicable: dict[str, Any] = {
            item.name: None if isinstance(results[item.name], NotApplicable) else results[item.name]
            for item in fields(cls)
            if item.name != "logins"
        }
        if isinstance(applicable["users"], Logins):
            applicable["logins"], applicable["users"] = applicable["users"], None
        return cls(**applicable)

    @property
    def simulated(self) -> bool:
        """True if no machine was recorded."""
        return self.recording.host.is_simulated

    @property
    def busy(self) -> float:
        """Share of the CPU capacity that was used."""
        return 0.0 if self.capacity is None else self.capacity.user.value + self.capacity.system.value

    @property
    def users_partial(self) -> float | None:
        """Attributed share of the CPU time, where it is so small that users do not stand for all."""
        caveats = self.users.caveats if self.users is not None else ()
        return next((item.values["share"] for item in caveats if item.kind == "few_attributed"), None)

    def gauge(self, column: str) -> tuple[float, float] | None:
        """Mean and highest value of a gauge."""
        rate = (
            next((rate for rate in self.rates.rates if rate.column == column), None) if self.rates else None
        )
        return None if rate is None else (rate.mean.value, rate.highest)

    @property
    def metered(self) -> list[Event]:
        """Metered events that happened, by decreasing share of the capacity."""
        events = self.capacity.events if self.capacity is not None and self.capacity.metered else ()
        return sorted((event for event in events if event.overhead), key=lambda event: -event.share.value)

    @property
    def costs(self) -> list[Cost]:
        """Costs that no known error of the regression explains, by decreasing share of the system time.

        Empty where events are metered: a meter needs no regression.
        """
        costs = requests(self.overhead) if self.overhead and not self.metered else []
        return [cost for cost in costs if cost.claimed]

    @property
    def limit(self) -> tuple[str, Estimate] | None:
        """Resource that was exhausted most often, and its share of the intervals.

        None where nothing was, and whether the CPU was is not known.
        """
        if self.saturation is None:
            return None
        parts = self.saturation.saturated_share.items()
        most = max(
            (
                (LIMITS.get(name, f"the {name}"), part)
                for name, part in parts
                if name not in ("none", "unknown")
            ),
            key=lambda item: item[1].value,
            default=None,
        )
        if most is not None and most[1].value < SATURATED and not self.saturation.is_cpu_measured:
            return None
        return most

    @property
    def filled_by_low_priority(self) -> tuple[float, float] | None:
        """Share of the intervals with full CPUs, and that without work at low priority, if it filled them.

        None where the CPUs are not the limit, or would be even without that work.
        """
        check = self.health.of("low_priority") if self.health is not None else None
        if check is None or self.limit is None or self.limit[0] != LIMITS["cpu"]:
            return None
        full, without = check.values["full"], check.values["full_without"]
        if isinstance(full, float) and isinstance(without, float) and without < SATURATED:
            return full, without
        return None

    @property
    def populations(self) -> list[ResponseGroup]:
        """Groups by number of users with enough completed interactions, in increasing order."""
        groups = self.response.by_population if self.response else ()
        return [group for group in groups if group.response is not None and not few(group.response.n)]

    @property
    def crowd(self) -> ResponseGroup | None:
        """Group with the most users and enough interactions, or all interactions together."""
        if self.response is None:
            return None
        group = self.populations[-1] if self.populations else self.response.overall
        return None if group.response is None else group
