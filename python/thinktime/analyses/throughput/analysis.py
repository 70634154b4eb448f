"""Useful work, overhead and requests per second, by load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.throughput import load_sums
from thinktime.log import facts, playing
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.analyses.throughput.load_sums import Load, Sums
    from thinktime.log import Log

BRIEF_S = 5.0
OTHERS = 0.1
"""Share of the user time that others than the users who played may have before it is said."""
USEFUL = ("user_time", "interactions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A quantity whose mean is taken at each load."""

    name: str
    """``user_time``, ``system_time``, ``idle_time``, ``interactions``, or a request column."""
    label: str
    unit: str
    useful: bool
    """True if more of it is good: user time, interactions (Bard 1971; requirements of judgement)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The observations of one range of load."""

    load_low: float
    load_high: float
    load_mean: float
    n: int
    few: bool
    """Fewer observations than `Throughput.n_few`: the means are unreliable."""
    means: Mapping[str, Estimate]
    """Mean of each measure by its name; without those that were not measured."""
    user_time_per_user: Estimate | None
    """User time per second and user of the load [s/s].

    That of the users who played, where the log tells it from the rest. None where it was not measured, or
    users played whose own time the log does not have.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Means over a whole log, whatever its load: they say nothing about the machine (Bard 1971, Table 7)."""

    load_mean: float
    means: Mapping[str, Estimate]
    """Mean of each measure by its name; without those that were not measured."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Throughput(Result):
    """Means of each measure by load."""

    MAIN = "groups"

    load: str
    """The column that measures load: ``active_users`` or another with the role ``load``."""
    load_unit: str
    measures: tuple[Measure, ...]
    groups: tuple[Group, ...]
    """By growing load; groups without an observation are left out."""
    n: int
    """Observations with a load."""
    n_few: int
    peak: tuple[float, float] | None
    """Range of load of the reliable group with most user time."""
    caveats: tuple[Caveat, ...]
    whole: Whole | None = None

    def _records(self) -> list[dict[str, object]]:
        """Groups, with each mean under the name of its measure."""
        return [
            {
                **{item.name: getattr(group, item.name) for item in fields(group) if item.name != "means"},
                **group.means,
            }
            for group in self.groups
        ]


def analyse(
    log: Log, *, load: str | None = None, width: int | None = None, n_few: int = 10, level: float = 0.95
) -> Throughput | NotApplicable:
    r"""Means of useful work, overhead and requests, by load (Bard 1971, Figures 1 to 5 and Table 10).

    Observations are grouped by load, and each quantity's mean per second is taken in each group,
    :math:`\sum a_i / \sum l_i`, with an interval that holds under autocorrelation
    (`stats.series.batch_means.batch_ratio`). Work is compared at equal load only: means over whole logs
    differ with their loads and say nothing about the machine (Bard 1971). The log is read in pieces and may
    have any length.

    Parameters
    ----------
    log : Log
    load : str, optional
        Column that measures load, or ``population`` for the users who were playing by the interactions.
        By default the population where users played through most of the log: a load that was set says
        more than one that was counted. Else the column with the role ``load``.
    width : int, optional
        Loads in a group, see `loads.width_for`; 2 gives the pairs of Table 10.
    n_few : int
        Groups with fewer observations are flagged: Bard calls the ends of his curves unreliable.
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    InputError
        The log has no such load, the width makes too many groups, or `level` is not a confidence.
    """
    check_log(log)
    check_level(level)
    arrivals = playing.read(log)
    chosen = load_sums.load_of(log, arrivals, load)
    if chosen is None:
        return no_load(log)
    sums = load_sums.gather(log, chosen, width, arrivals)
    result = summarised(log, chosen, sums, n_few=n_few, level=level)
    return result if result.measures else no_work("the log has")


def no_work(subject: str) -> NotApplicable:
    """Answer where nothing that was done is known; `subject` as in "the log has"."""
    return NotApplicable(
        f"{subject} no amount of work: neither CPU time of the machine, nor requests, nor interactions",
        "record with `thinktime record`",
    )


def no_load(log: Log) -> NotApplicable:
    """Reason why no load was measured."""
    if not log.has("samples"):
        return NotApplicable("the log has no samples", "record with `thinktime record`")
    return NotApplicable(
        "the load was not measured: no column with the role load has a value",
        "record users (`thinktime record --by uid`), or name a column as the load",
    )


def summarised(log: Log, load: Load, sums: Sums, *, n_few: int, level: float) -> Throughput:
    """Means and intervals from the sums by load and batch."""
    quantities = load_sums.measures_of(log)
    totals = sums.own.totals()[:, :, 0]
    measures = [
        Measure(name=item.name, label=item.label, unit=f"{item.unit}/s", useful=item.name in USEFUL)
        for item in quantities
        if totals[sums.column(item.name)].sum() > 0
    ]
    if totals[sums.column("interactions")].sum() > 0:
        interactions_done = Measure(
            name="interactions", label="interactions", unit="interaction/s", useful=True
        )
        measures.insert(0, interactions_done)
    counts = sums.counts("load")
    load_sum, load_count = totals[sums.column("load")], totals[sums.column("load") + 1]

    def group(number: int) -> Group:
        low, high = sums.bounds(number)
        return Group(
            load_low=low,
            load_high=high,
            load_mean=float(load_sum[number] / load_count[number]),
            n=int(counts[number]),
            few=bool(counts[number] < n_few),
            means=_measured(
                {item.name: _mean(sums, item.name, number, item.unit, level) for item in measures}
            ),
            user_time_per_user=_mean(sums, "per_capita", number, "s/s", level),
        )

    groups = tuple(group(number) for number in np.flatnonzero(counts).tolist())
    return Throughput(
        load=load.name,
        load_unit=load.unit,
        measures=tuple(measures),
        groups=groups,
        n=sums.n,
        n_few=n_few,
        peak=_peak(groups),
        caveats=(
            # Those who played are all there.
            *(() if load.name == "population" else facts.caveats_of_users(log)),
            *_others(sums, load),
            *_caveats(groups, n_few, load.name, sums.time_s / sums.n),
        ),
        whole=Whole(
            load_mean=float(load_sum.sum() / load_count.sum()),
            means=whole_means(sums, measures, level),
        ),
    )


def _measured(means: Mapping[str, Estimate | None]) -> dict[str, Estimate]:
    return {name: mean for name, mean in means.items() if mean is not None}


def _mean(sums: Sums, name: str, number: int, unit: str, level: float) -> Estimate | None:
    """Mean of a quantity at one range of load, from the range's observations in their order."""
    negative = sums.negative[sums.names.index(name)]
    amounts, bases, n = sums.batched(name, number)
    if bases.sum() <= 0.0:
        return None
    return batch_means.of_sums(amounts, bases, n, level, negative=negative).with_unit(unit)


def whole_means(sums: Sums, measures: Sequence[Measure], level: float) -> dict[str, Estimate]:
    """Mean of each measure over a whole log, whatever its load."""
    return _measured({item.name: _whole_mean(sums, item.name, item.unit, level) for item in measures})


def _whole_mean(sums: Sums, name: str, unit: str, level: float) -> Estimate | None:
    n = int(sums.counts(name).sum())
    amounts, bases = (part.sum(axis=1) for part in sums.stretches(name, batch_means.KEPT_MOST))
    if bases.sum() <= 0.0:
        return None
    negative = sums.negative[sums.names.index(name)]
    used = bases > 0.0
    mean = batch_means.of_sums(amounts[used], bases[used], n, level, negative=negative)
    return mean.with_unit(unit)


def _peak(groups: Sequence[Group]) -> tuple[float, float] | None:
    """Range of load of the reliable group with most user time."""
    reliable = [group for group in groups if "user_time" in group.means and not group.few]
    best = max(reliable, key=lambda group: group.means["user_time"].value, default=None)
    return None if best is None else (best.load_low, best.load_high)


def _others(sums: Sums, load: Load) -> tuple[Caveat, ...]:
    """Caveat on user time that is not that of the users who played."""
    totals = sums.own.totals()[:, :, 0]
    if load.name != "population" or "user_time" not in sums.names or not sums.counts("per_capita").sum():
        return ()
    theirs, whole = (float(totals[sums.column(name)].sum()) for name in ("per_capita", "user_time"))
    others = 1.0 - theirs / whole if whole > 0.0 else 0.0
    return (Caveat("others_worked", share=others),) if others > OTHERS else ()


def _caveats(groups: Sequence[Group], n_few: int, load: str, interval_s: float) -> tuple[Caveat, ...]:
    caveats = []
    if few := sum(group.few for group in groups):
        caveats.append(Caveat("few_observations", few=few, groups=len(groups), n_few=n_few))
    if len(groups) == 1:
        caveats.append(Caveat("constant_load"))
    if load == "population":
        return (*caveats, Caveat("played_users"))
    if interval_s < BRIEF_S:
        caveats.append(Caveat("short_intervals", interval_s=interval_s))
    return (*caveats, Caveat("not_randomised"))
