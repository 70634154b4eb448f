"""How several configurations use the capacity of their processors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.analyses.capacity.analysis import analyse
from thinktime.analyses.capacity.result import Capacity
from thinktime.analyses.overhead import comparison as overhead_comparison
from thinktime.analyses.overhead.regression import FitOptions
from thinktime.log.meters import meters
from thinktime.stats.difference import difference
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Overhead
    from thinktime.log import Log

__all__ = ["Comparison", "Line", "Setting", "compare"]

_Named = tuple[str, "Estimate | None"]
"""Label of something, and its value."""


@dataclass(frozen=True, slots=True)
class Line:
    """One quantity in each log."""

    name: str
    """Column of the state, or name of the event."""
    label: str
    values: tuple[Estimate | None, ...]
    """In the order of the logs; None where a log has no such state or event."""
    differences: tuple[Estimate | None, ...]
    """Value of each log but the first less that of the first."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a configuration was, or had to do."""

    label: str
    unit: str
    values: tuple[Estimate | float | str | None, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Capacity of several configurations, side by side."""

    names: tuple[str, ...]
    results: tuple[Capacity, ...]
    uses: tuple[Line, ...]
    """Share of the capacity of users' programs and of the system, whatever their states are called."""
    states: tuple[Line, ...]
    """Share of the capacity in each state (Sekino 1971, Table 1)."""
    shares: tuple[Line, ...]
    """Share of the capacity that each event took; of metered events the same as in `states`."""
    between: tuple[Line, ...]
    """Mean time between events per processor [s] (Table 2)."""
    overheads: tuple[Line, ...]
    """Overhead per event [s] (Table 3)."""
    settings: tuple[Setting, ...]
    """Configurations (lower part of Table 1), and every parameter in which they differ."""
    caveats: tuple[str, ...]

    @property
    def metered(self) -> bool:
        """Whether all logs have meters of their events."""
        return all(result.metered for result in self.results)


def compare(logs: Sequence[Log], names: Sequence[str], *, level: float = 0.95) -> Comparison | NotApplicable:
    r"""Break the capacity of each log down and set the figures side by side (Sekino 1971, Tables 1 to 3).

    Differences are to the first log; their intervals are those of independent estimates
    (`stats.independent.difference`). Logs without meters are given costs by one regression with the same
    requests in all of them (`overhead_comparison.compare`).

    Parameters
    ----------
    logs : sequence of Log
        Two or more, independent of each other.
    names : sequence of str
        What they are called.
    level : float
        Confidence of each interval by itself.

    Raises
    ------
    ValueError
        There are fewer than two logs.
    """
    if len(logs) < 2:
        raise ValueError("two logs at least are needed to compare them")
    results = []
    for log, name, overhead in zip(logs, names, _overheads(logs, names, level), strict=True):
        result = analyse(log, overhead=overhead, level=level)
        if isinstance(result, NotApplicable):
            return NotApplicable(f"{name}: {result.reason}", result.remedy)
        results.append(result)
    return Comparison(
        names=tuple(names),
        results=tuple(results),
        uses=_lines(
            [
                {"user": ("user programs", result.user), "system": ("system", result.system)}
                for result in results
            ]
        ),
        states=_lines(
            [{part.column: (part.label, part.share) for part in result.parts} for result in results]
        ),
        shares=_lines(
            [{event.request: (event.label, event.share) for event in result.events} for result in results]
        ),
        between=_lines(
            [
                {event.request: (event.label, event.time_between) for event in result.events}
                for result in results
            ]
        ),
        overheads=_lines(
            [{event.request: (event.label, event.overhead) for event in result.events} for result in results]
        ),
        settings=(*_settings(results), *_parameters(logs)),
        caveats=_caveats(names, results),
    )


def _overheads(
    logs: Sequence[Log], names: Sequence[str], level: float
) -> Sequence[Overhead | NotApplicable | None]:
    """Regressions of the logs that have no meters: all with the same requests where that is possible."""
    plain = [at for at, log in enumerate(logs) if not meters(log)[0]]
    found: list[Overhead | NotApplicable | None] = [None] * len(logs)
    if len(plain) < 2:
        return found
    both = overhead_comparison.compare(
        [logs[at] for at in plain],
        [names[at] for at in plain],
        fit_options=FitOptions(level=level),
    )
    # Logs of two systems may have no request in common: then each is fitted by itself.
    if not isinstance(both, NotApplicable) and both.requests is not None:
        for at, result in zip(plain, both.results, strict=True):
            found[at] = result
    return found


def _lines(own: Sequence[dict[str, _Named]]) -> tuple[Line, ...]:
    """Make a line for each name that any of the logs has."""
    labels = {name: label for found in own for name, (label, _) in found.items()}
    lines = []
    for name, label in labels.items():
        values = tuple(found[name][1] if name in found else None for found in own)
        first = values[0]
        differences = tuple(
            None if first is None or other is None else difference(first, other) for other in values[1:]
        )
        lines.append(Line(name, label, values, differences))
    return tuple(lines)


def _settings(results: Sequence[Capacity]) -> list[Setting]:
    found = [Setting("CPUs", "", tuple(_shown(result.cpus) for result in results))]
    own = [{item.name: item for item in result.conditions} for result in results]
    for name, item in {name: item for conditions in own for name, item in conditions.items()}.items():
        values = tuple(conditions[name].value if name in conditions else None for conditions in own)
        found.append(Setting(item.label, item.unit, values))
    return found


def _parameters(logs: Sequence[Log]) -> list[Setting]:
    """Parameters of one simulated system that are not the same in all logs."""
    own = []
    for log in logs:
        machine = (log.manifest.get("sessions") or [{}])[-1].get("machine") or {}
        parameters = machine.get("parameters")
        own.append(parameters if isinstance(parameters, dict) else {})
    found = []
    for name in own[0]:
        if not all(name in parameters for parameters in own):
            continue
        values = [parameters[name] for parameters in own]
        if any(value != values[0] for value in values):
            found.append(Setting(f"parameter {name}", "", tuple(map(_shown, values))))
    return found


def _shown(value: object) -> float | str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None if value is None else str(value)
    return int(value) if float(value).is_integer() else value


def _caveats(names: Sequence[str], results: Sequence[Capacity]) -> tuple[str, ...]:
    said: dict[str, list[str]] = {}
    for name, result in zip(names, results, strict=True):
        for caveat in result.caveats:
            said.setdefault(caveat, []).append(name)
    return (
        *(text if len(of) == len(names) else f"{', '.join(of)}: {text}" for text, of in said.items()),
        "Each interval holds by itself; of many differences some lie outside theirs by chance.",
    )
