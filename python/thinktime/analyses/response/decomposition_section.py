"""Tables, figure and sentence of the parts of the response times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from thinktime.analyses.response.decomposition import Decomposition, has_io
from thinktime.documents import format as shown
from thinktime.documents import palette
from thinktime.documents.document import Cell, Col, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import few, listed, range_of, users

if TYPE_CHECKING:
    from thinktime.analyses.response.analysis import ResponseGroup
    from thinktime.stats.estimate import Estimate

KEYS = (
    Key("CPU time", colour=palette.STATES["user"]),
    *map(palette.state, ("wait for a CPU", "wait for I/O", "rest")),
)
METHOD = (
    "Parts of a response: CPU time, wait for a CPU and wait for block I/O are the kernel's accounts of the "
    "user's process and of the children that it waited for; the rest is the difference from the response "
    "time: pauses, locks, the terminal, and delays of the program that plays the users."
)


def sentence(group: ResponseGroup, subject: str) -> str | None:
    """Mean response time of `group` as the sum of its parts; None where the log does not have them."""
    parts = group.parts
    if parts is None or few(parts.response.n):
        return None
    total = shown.quantity(parts.response.value, "s")
    named = [
        f"{shown.quantity(parts.service.value, 's')} of CPU time",
        f"{shown.quantity(parts.cpu_wait.value, 's')} of waiting for a CPU",
    ]
    if parts.io_wait is not None:
        named.append(f"{shown.quantity(parts.io_wait.value, 's')} of waiting for I/O")
    # A rest of less than nothing is the reading error of the others.
    rest = shown.quantity(max(parts.rest.value, 0.0), "s")
    named.append(f"{rest} rest" + ("" if parts.io_wait is not None else ", waiting for I/O included"))
    return f"{subject} a response of {total} is {', '.join(named)}."


def figure(groups: Sequence[ResponseGroup]) -> Figure | None:
    """Share of each part in the mean response time, a bar for each number of users."""
    measured = [group for group in groups if group.parts is not None]
    if not measured:
        return None
    points = [
        Point(
            key=key,
            label=_labelled(group),
            y=max(value.value, 0.0) / parts.response.value,
            few=few(parts.response.n),
        )
        for group in measured
        if (parts := group.parts) is not None and parts.response.value > 0.0
        for key, value in _values(parts)
    ]
    keys = tuple(key for key in KEYS if any(point.key is key for point in points))
    series = Series(points, unit="share", order=keys)
    title = "Parts of the mean response time by number of users"
    # The first and the last: nobody reads eleven.
    ends = measured if len(measured) <= 2 else (measured[0], measured[-1])
    divided = [f"{_labelled(group)}: {_listed(group.parts)}" for group in ends if group.parts is not None]
    return Figure(
        name="response-decomposition",
        title=title,
        chart=series.bars("share of the mean response time"),
        data=series.table("response-decomposition-data", title, "users"),
        alt=f"{'; '.join(divided)}.",
        keys=keys,
    )


def table(name: str, caption: str, heading: str, groups: Sequence[ResponseGroup]) -> Table | None:
    """Means of the parts, a row for each group that has them."""
    measured = [group for group in groups if group.parts is not None]
    if not measured:
        return None
    io = has_io([group.parts for group in measured if group.parts is not None])
    without = "Waiting for I/O is in the rest: the kernel did not account it (kernel.task_delayacct)."
    return Table.of(
        measured,
        Col(heading, label),
        Col("n", _of(lambda parts: parts.response.n)),
        Col("mean response", _of(lambda parts: parts.response), unit="s"),
        Col("CPU time", _of(lambda parts: parts.service), unit="s"),
        Col("wait for a CPU", _of(lambda parts: parts.cpu_wait), unit="s"),
        *((Col("wait for I/O", _of(lambda parts: parts.io_wait), unit="s"),) if io else ()),
        Col("rest", _of(lambda parts: parts.rest), unit="s"),
        name=name,
        caption=caption,
        notes=() if io else (without,),
    )


def _of(part: Callable[[Decomposition], Cell]) -> Callable[[ResponseGroup], Cell]:
    return lambda group: None if group.parts is None else part(group.parts)


def _values(parts: Decomposition) -> list[tuple[Key, Estimate]]:
    values = zip(KEYS, (parts.service, parts.cpu_wait, parts.io_wait, parts.rest), strict=True)
    return [(key, value) for key, value in values if value is not None]


def _listed(parts: Decomposition) -> str:
    return listed([f"{key.name} {shown.quantity(value.value, 's')}" for key, value in _values(parts)])


def _labelled(group: ResponseGroup) -> str:
    """Number of users with the mean response time, which the length of the bar does not show."""
    assert group.parts is not None
    return f"{users(label(group))}, {shown.quantity(group.parts.response.value, 's')}"


def crowd(group: ResponseGroup) -> str:
    """Users of a group in words: 3 to 4 users; 100 users asked for (31 typed)."""
    words = users(label(group))
    return f"{words} asked for ({group.typed} typed)" if group.is_short_of_users else words


def label(group: ResponseGroup) -> str:
    """Range of users as the other sections write it; a class by its name."""
    low, high = group.population_low, group.population_high
    return group.label if low is None or high is None else range_of(low, high)
