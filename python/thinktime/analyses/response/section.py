"""Section of the response times: by number of users, by class, and by part of the wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from thinktime.analyses.response import decomposition_section
from thinktime.analyses.response.decomposition_section import label
from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Cols, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import few, refused, users, worded
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.response.analysis import Response, ResponseGroup, Waiting

TITLE = "How long do users wait?"
METHOD = (
    "Response time is the time from the sending of the input to its completion; stretch factor is mean "
    "response over mean service (CPU time received). Quantiles are of the completed interactions."
)
QUANTITIES = ("mean", "p50", "p90", "p99")
KEYS = (Key("p50", colour="p50"), Key("p90", colour="p90"), Key("p99", colour="p99"))
STRETCH = Key("stretch", colour="users")
WORDS: Mapping[str, Callable[..., str]] = {
    "waited_for": lambda waited, interactions: (
        f"Response times cover the {waited} of {interactions} interactions that users waited for."
    ),
    "unfinished": lambda unfinished, interactions: (
        f"{unfinished} of {interactions} interactions ({unfinished / interactions:.1%}) never completed and "
        "are left out: the longest waits are among them, so means and high quantiles are too low."
    ),
    "few_completed": lambda least, users: (
        f"Fewer than {least} interactions completed with {', '.join(users)} users: unreliable there."
    ),
    "driver_was_load": lambda problem: (
        f"The driver of this play was the load: {problem}. These response times are not those of the system."
    ),
    "played_elsewhere": lambda hosts: (
        f"The users logged in on {', '.join(hosts)}: this log cannot tell what their inputs took there, so "
        "that response times are not divided into CPU time, waits and the rest; `thinktime record` on that "
        "host shows what the users took together."
    ),
    "service_by_ticks": lambda: (
        "CPU times of interactions come in steps of a clock tick, 10 ms on most machines: they are right on "
        "average, not one by one. The play had no right to make control groups."
    ),
    "waits_unknown": lambda: (
        "Waits are not known: the kernel tells those of programs that have ended only with CAP_NET_ADMIN."
    ),
    "sent_late": lambda delay_s: (
        f"Inputs were sent {delay_s:.3g} s late on average; the delay counts as response time."
    ),
    "correlated": lambda correlation: (
        f"Successive response times at one load are correlated ({correlation:.2f}): all intervals allow "
        "for it and are wider than those of as many independent ones."
    ),
}


def section(result: Response | NotApplicable) -> Section:
    """Section of the response analysis."""
    if isinstance(result, NotApplicable):
        return refused("response", TITLE, result)
    figures = (_quantiles(result), decomposition_section.figure(result.by_population), _stretch(result))
    groups = (*result.by_population, result.overall)
    tables: list[Table | None] = [
        _waits("response-population", "Response time by number of users", "users", groups),
        _work("response-population-work", "Service and throughput by number of users", "users", groups),
        decomposition_section.table(
            "response-population-decomposition",
            "Parts of the mean response time by number of users",
            "users",
            groups,
        ),
    ]
    if result.by_class:
        rest = () if result.without is None else (result.without,)
        classes = (*result.by_class, *rest, result.overall)
        tables.append(_waits("response-class", "Response time by class", "class", classes))
        tables.append(_work("response-class-work", "Service by class", "class", classes))
        caption = "Parts of the mean response time by class"
        tables.append(decomposition_section.table("response-class-decomposition", caption, "class", classes))
    tables.append(_parts(result.overall))
    return Section(
        name="response",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table is not None),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=worded(result.caveats, WORDS),
        method=METHOD if result.overall.parts is None else f"{METHOD} {decomposition_section.METHOD}",
    )


def _sentences(result: Response) -> list[str]:
    overall = result.overall
    sentences = []
    if overall.response is not None:
        answered, half = overall.response.n, shown.quantity(overall.response.p50.value, "s")
        sentences.append(
            f"{shown.count(answered, 'input')} answered: too few to tell how long users wait."
            if few(answered)
            else f"Half of the inputs were answered within {half}, one in ten took longer than "
            f"{shown.quantity(overall.response.p90.value, 's')}."
        )
    reliable = [group for group in result.by_population if group.response and not few(group.response.n)]
    if len(reliable) > 1:
        first, last = reliable[0], reliable[-1]
        if first.response is not None and last.response is not None:
            sentences.append(
                f"With {decomposition_section.crowd(first)} the median was "
                f"{shown.estimate(first.response.p50)}, with {decomposition_section.crowd(last)} "
                f"{shown.estimate(last.response.p50)}."
            )
    if result.without is not None and result.without.response is not None and overall.response is not None:
        sentences.append(
            f"The mean is {shown.estimate(overall.response.mean)} for all interactions, "
            f"{shown.estimate(result.without.response.mean)} for {result.without.label}."
        )
    if reliable:
        crowd = f"With {decomposition_section.crowd(reliable[-1])}"
        sentences.extend(filter(None, [decomposition_section.sentence(reliable[-1], crowd)]))
    if result.growth is not None:
        sentences.append(_trend(result.growth))
    if overall.stretch is not None:
        sentences.append(
            f"An input took {shown.number(overall.stretch.value)} times as long as the service it received."
        )
    if overall.unfinished:
        sentences.append(
            f"{overall.unfinished} of {shown.count(overall.arrived, 'interaction')} were not finished "
            "when the record ended."
        )
    return sentences


def _trend(growth: Estimate) -> str:
    """Sentence on the median at the most users over that at the fewest."""
    if growth.low is not None and growth.low > 1.0:
        return f"From end to end the median grows {shown.estimate(growth)} times."
    if growth.high is not None and growth.high < 1.0:
        return f"From end to end the median falls to {shown.estimate(growth)} of what it was."
    return f"It is not shown to change: the last median is {shown.estimate(growth)} times the first."


def _quantiles(result: Response) -> Figure | None:
    measured = [group for group in result.by_population if group.response is not None]
    series = Series([point for key in KEYS for group in measured if (point := _wait(group, key))], order=KEYS)
    if len({point.x for point in series.points}) < 2:
        return None
    names = [key.name for key in KEYS]
    table = Table.of(
        measured,
        Col("users", label),
        Col("n", lambda group: group.response.n if group.response else None),
        Cols(names, lambda group: _quantities(group.response, names), unit="s"),
        name="response-users-data",
        caption="Response time by number of users",
    )
    first, last = measured[0], measured[-1]
    alt = (
        f"From {label(first)} to {users(label(last))}: {_change(first.response, last.response)}. "
        "p50 is the median; one in ten waits longer than p90, one in a hundred longer than p99."
    )
    y = Axis.logarithmic("response time", series.values("value", "low", "high"), "s")
    return Figure(
        name="response-users",
        title="Response time against users",
        chart=series.curves(Axis("users"), y),
        data=table,
        alt=alt,
    )


def _wait(group: ResponseGroup, key: Key) -> Point | None:
    """Point of one quantile; None where the number of users was not counted."""
    x = _middle(group)
    if group.response is None or x is None:
        return None
    value: Estimate = getattr(group.response, key.name)
    return Point(key=key, y=value, x=x, label=label(group), few=few(group.response.n))


def _middle(group: ResponseGroup) -> float | None:
    if group.population_low is None or group.population_high is None:
        return None
    return (group.population_low + group.population_high) / 2


def _change(first: Waiting | None, last: Waiting | None) -> str:
    if first is None or last is None:
        return "not measured"
    pairs = ((key.name, getattr(first, key.name), getattr(last, key.name)) for key in KEYS)
    return ", ".join(
        f"{name} {shown.quantity(low.value, 's')} to {shown.quantity(high.value, 's')}"
        for name, low, high in pairs
    )


def _stretch(result: Response) -> Figure | None:
    groups = [group for group in result.by_population if group.stretch is not None]
    points = [
        Point(
            key=STRETCH,
            y=group.stretch,
            x=_middle(group),
            label=label(group),
            few=group.response is None or few(group.response.n),
        )
        for group in groups
        if _middle(group) is not None
    ]
    if len(points) < 2:
        return None
    series = Series(points)
    table = Table.of(
        groups,
        Col("users", label),
        Col("stretch factor", lambda group: group.stretch),
        name="response-stretch-data",
        caption="Stretch factor by number of users",
    )
    (first, low), (last, high) = ((users(label(group)), group.stretch) for group in (groups[0], groups[-1]))
    assert low is not None
    assert high is not None
    alt = (
        f"An input takes {shown.estimate(low)} times its service with {first}, {shown.estimate(high)} times "
        f"with {last}; 1 means no waiting."
    )
    y = Axis.from_zero("response over service, both means", series.rows())
    return Figure(
        name="response-stretch",
        title="Stretch factor against users",
        chart=series.curves(Axis("users"), y),
        data=table,
        alt=alt,
    )


def _waits(name: str, caption: str, heading: str, groups: Sequence[ResponseGroup]) -> Table:
    """Response times, and the mean to the first output if it comes before the end."""
    output = Col("mean to first output", _first_output, unit="s")
    typed = Col("of whom typed", _typed)
    return Table.of(
        groups,
        Col(heading, label),
        *((typed,) if any(group.is_short_of_users for group in groups) else ()),
        Col("arrived", lambda group: group.arrived),
        Col("unfinished", lambda group: group.unfinished),
        Cols(QUANTITIES, lambda group: _quantities(group.response, QUANTITIES), unit="s"),
        *((output,) if any(map(_output_first, groups)) else ()),
        name=name,
        caption=caption,
    )


def _quantities(wait: Waiting | None, names: Sequence[str]) -> list[Cell]:
    return [None if wait is None else getattr(wait, name) for name in names]


def _typed(group: ResponseGroup) -> Cell:
    return group.typed


def _first_output(group: ResponseGroup) -> Cell:
    return None if group.first_output is None else group.first_output.mean


def _output_first(group: ResponseGroup) -> bool:
    first, complete = group.first_output, group.response
    return first is not None and complete is not None and first.mean.value < complete.mean.value


def _work(name: str, caption: str, heading: str, groups: Sequence[ResponseGroup]) -> Table:
    completed = Col("completed", _completed, unit="interaction/s")
    return Table.of(
        groups,
        Col(heading, label),
        Col("service", lambda group: group.service, unit="s"),
        Col("stretch factor", lambda group: group.stretch),
        # A class is no stretch of time: it has no completions per second.
        *((completed,) if any(group.throughput is not None for group in groups) else ()),
        name=name,
        caption=caption,
    )


def _completed(group: ResponseGroup) -> Cell:
    return group.throughput


def _parts(group: ResponseGroup) -> Table | None:
    """Parts of a response, if the source records them."""
    kinds = (
        ("to the first slice of service", group.reaction),
        ("to the first output", group.first_output),
        ("to completion", group.response),
    )
    waits = [(name, wait) for name, wait in kinds if wait is not None]
    if len(waits) < 2:
        return None
    return Table.of(
        waits,
        Col("from the input", lambda item: item[0]),
        Col("n", lambda item: item[1].n),
        Cols(QUANTITIES, lambda item: _quantities(item[1], QUANTITIES), unit="s"),
        name="response-parts",
        caption="Parts of the wait, all interactions",
    )
