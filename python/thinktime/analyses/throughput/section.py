"""Section of the throughput: curves of CPU time and interactions against the load, and their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents import palette
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import capital, few_attributed, range_of, refused, were, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.throughput.analysis import Group, Measure, Throughput
    from thinktime.analyses.throughput.comparison import ThroughputComparison

TITLE = "How much work gets done as users are added?"
METHOD = (
    "Intervals are grouped by load, and means are taken in each group (Bard 1971). Useful work is user time "
    "and completed interactions; system time is overhead. Times are those of the whole machine. User time "
    "per user is that of the users who played, where the log tells it from the rest, otherwise all user time "
    "over the users."
)
TIMES = {
    "user_time": palette.state("user"),
    "system_time": palette.state("system"),
    "idle_time": palette.state("idle"),
}
WORDS: Mapping[str, Callable[..., str]] = {
    "few_attributed": few_attributed,
    "few_observations": lambda few, groups, n_few: (
        f"Groups with fewer than {n_few} observations, whose means are unreliable: {few} of {groups}."
    ),
    "constant_load": lambda: "The load never changed, so nothing can be said about other loads.",
    "played_users": lambda: "Load is the number of synthetic users playing, taken from the interactions.",
    "others_worked": lambda share: (
        f"{shown.quantity(share, 'share')} of the user time was not that of the users who played: other work "
        "is in the user, system and idle time at each load, and in the requests, and may be why they differ."
    ),
    "short_intervals": lambda interval_s: (
        f"A user who thinks throughout an interval ({interval_s:.2g} s) does not count as active in it."
    ),
    "not_randomised": lambda: (
        "Load was not assigned at random: other differences between times of low and of high load (kind of "
        "work, time of day) are in these means too."
    ),
}


def section(result: Throughput | NotApplicable, *, whole: bool = False) -> Section:
    """Section of the throughput analysis.

    Parameters
    ----------
    result : Throughput or NotApplicable
    whole : bool
        Whether means over the whole log are shown too.
    """
    if isinstance(result, NotApplicable):
        return refused("throughput", TITLE, result)
    times = [item for item in result.measures if item.name in TIMES]
    interactions = [item for item in result.measures if item.name == "interactions"]
    figures = (_times(result, times), _interactions(result, interactions))
    return Section(
        name="throughput",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(*_tables(result), *(_whole(result) if whole else ())),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def _sentences(result: Throughput) -> list[str]:
    load = load_name(result)
    sentences = []
    # Where others worked too, most CPU time need not be that of the load.
    if result.peak is not None and not any(item.kind == "others_worked" for item in result.caveats):
        peak = range_of(*result.peak)
        noun = load.removesuffix("s") if peak == "1" else load
        sentences.append(f"User programs got most CPU time with {peak} {noun}.")
    reliable = [
        (group, mean) for group in result.groups if (mean := group.user_time_per_user) and not group.few
    ]
    if len(reliable) > 1:
        (first, alone), (last, crowd) = reliable[0], reliable[-1]
        noun = load.removesuffix("s") if load_range(first) == "1" else load
        sentences.append(
            f"With {load_range(first)} {noun} each got {shown.estimate(alone)} of CPU time, with "
            f"{load_range(last)} each got {shown.estimate(crowd)}."
        )
    sentences.append(f"{were(result.n, 'interval')} compared.")
    return sentences


def load_name(result: Throughput | ThroughputComparison) -> str:
    """Unit of the load in words: `active users`; for the population that was played, `users`."""
    return "users" if result.load == "population" else result.load.replace("_", " ")


def load_range(group: Group) -> str:
    """Range of load of a group: `3 to 4`."""
    return range_of(group.load_low, group.load_high)


def load_label(group: Group) -> str:
    """Range of load, with a star where there are few observations."""
    return load_range(group) + (" *" if group.few else "")


def _tables(result: Throughput) -> tuple[Table, ...]:
    """Work and time by load; requests in a table of their own, for they are many."""
    load = load_name(result)
    work = [item for item in result.measures if item.useful or item.name in TIMES]
    requests = [item for item in result.measures if item not in work]
    few = any(group.few for group in result.groups)
    first = _by_load(
        result,
        work,
        Col("User time per user", lambda group: group.user_time_per_user, unit="s/s"),
        name="throughput-groups",
        caption=f"Work and CPU time by {load}",
        notes=(f"* fewer than {result.n_few} observations: unreliable.",) if few else (),
    )
    if not requests:
        return (first,)
    return (
        first,
        _by_load(result, requests, name="throughput-requests", caption=f"Requests by {load}", folded=True),
    )


def _by_load(
    result: Throughput,
    measures: Sequence[Measure],
    *more: Col[Group],
    name: str,
    caption: str,
    notes: Sequence[str] = (),
    folded: bool = False,
) -> Table:
    """Table of the means of some measures, with a row for each group."""
    return Table.of(
        result.groups,
        Col(load_name(result), load_label),
        Col("n", lambda group: group.n),
        *(Col(capital(item.label), partial(_mean, name=item.name), unit=item.unit) for item in measures),
        *more,
        name=name,
        caption=caption,
        notes=notes,
        folded=folded,
    )


def _mean(group: Group, name: str) -> Cell:
    return group.means.get(name)


def _whole(result: Throughput) -> tuple[Table, ...]:
    """Means whatever the load, with the reason why they are not compared with another log's."""
    if result.whole is None:
        return ()
    means = result.whole.means
    note = (
        f"At a mean load of {shown.number(result.whole.load_mean)} {load_name(result)}. Whole means must not "
        "be compared with another log's: they differ with the load, whatever the machine does (Bard 1971, "
        "Table 7). `thinktime analyse throughput LOG LOG` compares logs at equal load."
    )
    table = Table.of(
        result.measures,
        Col("measure", lambda item: capital(item.label)),
        Col("mean", lambda item: means.get(item.name)),
        name="throughput-whole",
        caption="Means over the whole log: not for comparison",
        notes=(note,),
    )
    return (table,)


def points(groups: Sequence[Group], measure: Measure, key: Key) -> list[Point]:
    """Points of the curve of one measure."""
    return [
        Point(key=key, y=mean, x=group.load_mean, label=load_range(group), few=group.few)
        for group in groups
        if (mean := group.means.get(measure.name))
    ]


def hollow(groups: Sequence[Group]) -> str:
    """Sentence that explains hollow points, if there are any."""
    few = any(group.few for group in groups)
    return " Hollow points: too few intervals to rely on." if few else ""


def _times(result: Throughput, measures: Sequence[Measure]) -> Figure | None:
    """CPU time by use, against the load."""
    if not measures or len(result.groups) < 2:
        return None
    load = load_name(result)
    keys = tuple(TIMES[item.name] for item in measures)
    series = _series(result, measures, keys)
    alt = ". ".join(
        f"{capital(item.label)}: {series.course(key)}" for item, key in zip(measures, keys, strict=True)
    )
    return Figure(
        name="throughput-time",
        title=f"CPU time against {load}",
        chart=series.curves(Axis(load), Axis.from_zero("CPU time per second [s/s]", series.rows())),
        data=_by_load(
            result, measures, name="throughput-time-data", caption=f"CPU time by use, against {load}"
        ),
        alt=f"{alt}.{hollow(result.groups)}",
        half=True,
    )


def _interactions(result: Throughput, measures: Sequence[Measure]) -> Figure | None:
    """Interactions completed per second, against the load."""
    if not measures or len(result.groups) < 2:
        return None
    load, label = load_name(result), measures[0].label
    key = Key(label, colour="users")
    series = _series(result, measures, (key,))
    if len(series.points) < 2:
        return None
    return Figure(
        name="throughput-interactions",
        title=f"Interactions against {load}",
        chart=series.curves(Axis(load), Axis.from_zero("interactions completed [1/s]", series.rows())),
        data=_by_load(
            result, measures, name="throughput-interactions-data", caption=f"Interactions against {load}"
        ),
        alt=f"{capital(label)}: {series.course(key)}.{hollow(result.groups)}",
        half=True,
    )


def _series(result: Throughput, measures: Sequence[Measure], keys: tuple[Key, ...]) -> Series:
    pairs = zip(measures, keys, strict=True)
    return Series(
        [point for item, key in pairs for point in points(result.groups, item, key)],
        order=keys,
    )
