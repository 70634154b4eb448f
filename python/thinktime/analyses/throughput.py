"""How much useful work the machine does as its load grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses import interactions, observations
from thinktime.analyses.loads import ranges
from thinktime.stats import series
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Group", "Measure", "Throughput", "analyse"]

Array = NDArray[np.float64]

BRIEF_S = 5.0
USEFUL = ("user_time", "interactions")


@dataclass(frozen=True, slots=True)
class Measure:
    """One quantity whose mean is taken at each load."""

    name: str
    """``user_time``, ``system_time``, ``idle_time``, ``interactions``, or a request column."""
    label: str
    unit: str
    useful: bool
    """Whether more of it is good: user time, interactions (Bard 1971; requirements of judgement)."""


@dataclass(frozen=True, slots=True)
class Group:
    """The observations of one range of load."""

    load_low: float
    load_high: float
    load_mean: float
    n: int
    few: bool
    """Fewer observations than `Throughput.n_few`: the means are unreliable."""
    means: tuple[Estimate | None, ...]
    """One a measure, in the order of `Throughput.measures`; None where not measured."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Grouped means by load."""

    load: str
    """The column that measures load: ``active_users`` or another with the role ``load``."""
    load_unit: str
    measures: tuple[Measure, ...]
    groups: tuple[Group, ...]
    """By growing load; groups without an observation are left out."""
    n: int
    """Observations with a load."""
    n_few: int
    per_capita: tuple[Estimate | None, ...]
    """User time per second and active user of each group, in the order of `groups`."""
    peak: tuple[float, float] | None
    """Range of load of the reliable group with most user time."""
    caveats: tuple[str, ...]


def analyse(
    log: Log, *, load: str | None = None, width: int | None = None, n_few: int = 10, level: float = 0.95
) -> Throughput | NotApplicable:
    r"""Means of useful work, overhead and requests, by load (Bard 1971, Figures 1 to 5 and Table 10).

    Observations are grouped by load, and each quantity's mean per second is taken in each group,
    :math:`\sum a_i / \sum l_i`, with a batch-means interval. Work is compared at equal load only: means
    over whole logs differ with their loads and say nothing about the machine (Bard 1971).

    Parameters
    ----------
    log : Log
    load : str, optional
        Column that measures load, or ``population`` for the users who were playing by the interactions.
        By default the population where users played through most of the log: a load that was set says
        more than one that was counted. Else the column with the role ``load``.
    width : int, optional
        Loads in a group, see `loads.ranges`; 2 gives the pairs of Table 10.
    n_few : int
        Groups with fewer observations are flagged: Bard calls the ends of his curves unreliable.
    level : float
        Confidence of the intervals.
    """
    measures = _measures(log)
    columns = [column for item in measures for column in item.columns]
    loads = observations.role_columns(log, "load")
    seen = observations.read(log, [*columns, *loads, *((load,) if load else ())])
    if not len(seen):
        return NotApplicable("the log has no samples", "record with `thinktime record`")
    arrivals = interactions.read(log)
    name, unit, values = _load(log, seen, loads, arrivals, load)
    known = ~np.isnan(values)
    if not known.any():
        return NotApplicable(
            "the load was not measured: no column with the role load has a value",
            "record users (`thinktime record --by uid`), or name a column as the load",
        )
    amounts = {item.name: seen.total(item.columns) for item in measures}
    done = arrivals.completed_in(seen) if arrivals is not None else np.full(len(seen), np.nan)
    measures = tuple(item for item in measures if (amounts[item.name][known] > 0).any())
    if (done > 0).any():
        measures = (observations.Quantity("interactions", "interactions", "interaction", ()), *measures)
        amounts["interactions"] = done
    groups, capita, unknown = [], [], np.full(len(seen), np.nan)
    for part in ranges(values, width):
        rows = part.rows
        means = tuple(
            _mean(amounts[item.name][rows], seen.length_s[rows], item.unit, level) for item in measures
        )
        few = len(rows) < n_few
        groups.append(Group(part.low, part.high, float(values[rows].mean()), len(rows), few, means))
        user_seconds = amounts.get("user_time", unknown)[rows]
        capita.append(_mean(user_seconds, seen.length_s[rows] * values[rows], "s", level))
    return Throughput(
        name,
        unit,
        tuple(Measure(item.name, item.label, f"{item.unit}/s", item.name in USEFUL) for item in measures),
        tuple(groups),
        int(known.sum()),
        n_few,
        tuple(capita),
        _peak(groups, [item.name for item in measures]),
        _caveats(groups, n_few, name, float(np.median(seen.length_s))),
    )


def _measures(log: Log) -> tuple[observations.Quantity, ...]:
    """User, system and idle time, then every kind of request."""
    times = tuple(
        observations.Quantity(role, role.replace("_", " "), "s", columns)
        for role in ("user_time", "system_time", "idle_time")
        if (columns := observations.role_columns(log, role))
    )
    requests = observations.role_columns(log, "request")
    whole = {
        column: name for name, parts in observations.SUMS.items() for column in parts if name != "page_faults"
    }
    names = dict.fromkeys(whole.get(column, column) for column in requests)
    return times + observations.quantities(log, list(names))


def _load(
    log: Log,
    seen: observations.Observations,
    loads: tuple[str, ...],
    arrivals: interactions.Interactions | None,
    asked: str | None,
) -> tuple[str, str, Array]:
    """Name, unit and values of the load."""
    population = None if arrivals is None else arrivals.population_in(seen)
    played = population is not None and _varies(population) and np.isnan(population).mean() < 0.5
    if population is not None and (asked == "population" or (asked is None and played)):
        return "population", "user", population
    schema = {column.name: column for column in log.schema("samples")}
    candidates = [asked] if asked else list(loads)
    for name in candidates:
        values = seen.columns[name]
        if asked or _varies(values):
            return name, schema[name].unit if name in schema else "", values
    if population is not None and _varies(population):
        return "population", "user", population
    for name in candidates:
        return name, schema[name].unit, seen.columns[name]
    return "", "", np.full(len(seen), np.nan)


def _varies(load: Array) -> bool:
    return len(np.unique(load[~np.isnan(load)])) > 1


def _mean(amounts: Array, lengths: Array, unit: str, level: float) -> Estimate | None:
    measured = ~np.isnan(amounts) & (lengths > 0)
    if not measured.any():
        return None
    return series.batch_ratio(amounts[measured], lengths[measured], level).estimate(f"{unit}/s")


def _peak(groups: list[Group], names: list[str]) -> tuple[float, float] | None:
    if "user_time" not in names:
        return None
    at = names.index("user_time")
    reliable = [(group.means[at], group) for group in groups if not group.few]
    best = max(
        ((mean.value, group) for mean, group in reliable if mean), key=lambda pair: pair[0], default=None
    )
    return (best[1].load_low, best[1].load_high) if best else None


def _caveats(groups: list[Group], n_few: int, load: str, interval_s: float) -> tuple[str, ...]:
    caveats = []
    if few := [group for group in groups if group.few]:
        caveats.append(
            f"{len(few)} of {len(groups)} groups have fewer than {n_few} observations; "
            "their means are unreliable."
        )
    if len(groups) == 1:
        caveats.append("The load never changed, so nothing can be said about other loads.")
    if load == "population":
        caveats.append("Load is the number of synthetic users playing, taken from the interactions.")
        return tuple(caveats)
    if interval_s < BRIEF_S:
        caveats.append(
            f"Active users are those of {interval_s:.2g} s: who thinks all through one is not counted in it."
        )
    caveats.append(
        "Load was not assigned at random: what else differed between times of low and of high load "
        "(kind of work, time of day) is in these means too."
    )
    return tuple(caveats)
