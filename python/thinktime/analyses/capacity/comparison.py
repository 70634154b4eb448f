"""Capacity of several configurations, with differences from the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.analyses.capacity.analysis import analyse
from thinktime.analyses.capacity.result import Capacity
from thinktime.analyses.overhead import comparison as overhead_comparison
from thinktime.analyses.overhead.regression import FitOptions
from thinktime.log import facts
from thinktime.log.meters import meters
from thinktime.questions.checks import all_or_reason, check_logs
from thinktime.results import Result
from thinktime.stats.difference import difference
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Overhead
    from thinktime.log import Log

_Named = tuple[str, "Estimate | None"]
"""Label and value of a quantity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One quantity in each log."""

    name: str
    """Column of the state, or name of the event."""
    label: str
    values: tuple[Estimate | None, ...]
    """In the order of the logs; None where a log has no such state or event."""
    differences: tuple[Estimate | None, ...]
    """Value of each log but the first less that of the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Property of a configuration, or of its load."""

    label: str
    unit: str
    values: tuple[Estimate | float | str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CapacityComparison(Result):
    """Capacity of several configurations."""

    MAIN = "states"

    names: tuple[str, ...]
    results: tuple[Capacity, ...]
    uses: tuple[Line, ...]
    """Share of the capacity of users' programs and of the system, whatever the names of their states."""
    states: tuple[Line, ...]
    """Share of the capacity in each state (Sekino 1971, Table 1)."""
    shares: tuple[Line, ...]
    """Share of the capacity that each event took; for metered events the same as in `states`."""
    between: tuple[Line, ...]
    """Mean time between events per processor [s] (Table 2)."""
    overheads: tuple[Line, ...]
    """Overhead per event [s] (Table 3)."""
    settings: tuple[Setting, ...]
    """Configurations (lower part of Table 1), and every parameter in which they differ."""
    caveats: tuple[Caveat, ...]

    @property
    def metered(self) -> bool:
        """True if all logs have meters of their events."""
        return all(result.metered for result in self.results)


def compare(
    logs: Sequence[Log], names: Sequence[str], *, level: float = 0.95
) -> CapacityComparison | NotApplicable:
    r"""Capacity of each log, with differences from the first (Sekino 1971, Tables 1 to 3).

    Intervals of differences are those of independent estimates (`stats.difference.difference`). Logs without
    meters get costs by one regression with the same requests in all of them
    (`overhead.comparison.compare`).

    Parameters
    ----------
    logs : sequence of Log
        Two or more, independent of each other.
    names : sequence of str
        A name for each.
    level : float
        Confidence of each interval by itself.

    Raises
    ------
    InputError
        There are fewer than two logs, or two have the same name.
    """
    check_logs(logs, names)
    overheads = _overheads(logs, names, level)
    results = all_or_reason(
        names,
        (analyse(log, overhead=overhead, level=level) for log, overhead in zip(logs, overheads, strict=True)),
    )
    if isinstance(results, NotApplicable):
        return results
    uses = [{"user": ("user programs", one.user), "system": ("system", one.system)} for one in results]

    def events(field: str) -> tuple[Line, ...]:
        return _lines(
            [{event.request: (event.label, getattr(event, field)) for event in one.events} for one in results]
        )

    return CapacityComparison(
        names=tuple(names),
        results=results,
        uses=_lines(uses),
        states=_lines(
            [{state.column: (state.label, state.share) for state in one.states} for one in results]
        ),
        shares=events("share"),
        between=events("time_between"),
        overheads=events("overhead"),
        settings=(*_settings(results), *_parameters(logs)),
        caveats=tuple(_caveats(names, results)),
    )


def _overheads(
    logs: Sequence[Log], names: Sequence[str], level: float
) -> Sequence[Overhead | NotApplicable | None]:
    """Regressions of the logs that have no meters: all with the same requests where that is possible."""
    plain = [index for index, log in enumerate(logs) if not meters(log)[0]]
    overheads: list[Overhead | NotApplicable | None] = [None] * len(logs)
    if len(plain) < 2:
        return overheads
    comparison = overhead_comparison.compare(
        [logs[index] for index in plain],
        [names[index] for index in plain],
        fit_options=FitOptions(level=level),
    )
    # Logs of two systems may have no request in common: then each is fitted by itself.
    if not isinstance(comparison, NotApplicable) and comparison.requests is not None:
        for index, result in zip(plain, comparison.results, strict=True):
            overheads[index] = result
    return overheads


def _lines(by_log: Sequence[Mapping[str, _Named]]) -> tuple[Line, ...]:
    """A line for each name that any of the logs has."""
    labels = {name: label for quantities in by_log for name, (label, _) in quantities.items()}
    lines = []
    for name, label in labels.items():
        values = tuple(quantities[name][1] if name in quantities else None for quantities in by_log)
        first = values[0]
        differences = tuple(
            None if first is None or other is None else difference(first, other) for other in values[1:]
        )
        lines.append(Line(name=name, label=label, values=values, differences=differences))
    return tuple(lines)


def _settings(results: Sequence[Capacity]) -> Iterator[Setting]:
    yield Setting(label="CPUs", unit="", values=tuple(_plain(result.cpus) for result in results))
    by_log = [{item.name: item for item in result.conditions} for result in results]
    for name, item in {name: item for conditions in by_log for name, item in conditions.items()}.items():
        values = tuple(conditions[name].value if name in conditions else None for conditions in by_log)
        yield Setting(label=item.label, unit=item.unit, values=values)


def _parameters(logs: Sequence[Log]) -> Iterator[Setting]:
    """Parameters of one simulated system that are not the same in all logs."""
    by_log = [facts.last_machine(log).table("parameters").values for log in logs]
    for name in by_log[0]:
        if not all(name in parameters for parameters in by_log):
            continue
        values = [parameters[name] for parameters in by_log]
        if any(value != values[0] for value in values):
            yield Setting(label=f"parameter {name}", unit="", values=tuple(map(_plain, values)))


def _plain(value: object) -> float | str | None:
    """Number, whole where it is; anything else as text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None if value is None else str(value)
    return int(value) if float(value).is_integer() else value


def _caveats(names: Sequence[str], results: Sequence[Capacity]) -> Iterator[Caveat]:
    """Caveats of the logs, each once with the logs that have it, and that of many intervals."""
    distinct: list[Caveat] = []
    for result in results:
        distinct += [caveat for caveat in result.caveats if caveat not in distinct]
    for caveat in distinct:
        having = [name for name, one in zip(names, results, strict=True) if caveat in one.caveats]
        yield Caveat("of_logs", caveat=caveat, names=[] if len(having) == len(names) else having)
    yield Caveat("many_intervals")
