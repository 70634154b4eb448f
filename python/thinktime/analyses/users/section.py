"""Section of the users: tables of users, commands and control groups, and the largest over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from thinktime.analyses.timeline.section import TimeAxis
from thinktime.analyses.users import logins, logins_section
from thinktime.analyses.users.analysis import OTHERS
from thinktime.documents import format as shown
from thinktime.documents.charts import wholes
from thinktime.documents.charts.axis import Axis, Spec
from thinktime.documents.document import Col, Cols, Figure, Key, Section, Table
from thinktime.documents.wording import few_attributed, listed, refused, whole, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.timeline.analysis import Timeline
    from thinktime.analyses.users.logins import Logins
    from thinktime.analyses.users.result import Command, Group, User, Users

TITLE = "Who used it?"
WORDS: Mapping[str, Callable[..., str]] = {"few_attributed": few_attributed}
METHOD = (
    "CPU time is exact if it was measured, otherwise user and system time by the clock tick. The time spent "
    "waiting for a CPU is the time for which the user's tasks were runnable but did not run. Read is what "
    "came from block devices; made dirty is what programs changed in the page cache, which reaches a disk "
    "later, together with further changes, or never. Memory is the most at any reading; pages that "
    "processes share are divided among them where the log has that, and counted in each otherwise."
)
UNREAD = (
    "What a user read and made dirty is not known (–) where the recorder may not read it: the kernel tells "
    "root that of everybody, others that of their own processes."
)
COLOURS = ("user", "queue", "p99", "disk", "interrupt")
"""The five that differ most, also for readers with colour vision deficiencies, with 3:1 on the page."""
OTHERS_COLOUR = "other"


def section(result: Users | Logins | NotApplicable) -> Section:
    """Section of the users by CPU time, or by time logged in where nothing else is known."""
    if isinstance(result, NotApplicable):
        return refused("users", TITLE, result)
    if isinstance(result, logins.Logins):
        return logins_section.section(result)
    few = worded(result.caveats, WORDS)
    tables = [_users(result, of_attributed=bool(few))]
    if result.commands:
        tables.append(_commands(result.commands, of_attributed=bool(few)))
    if result.groups:
        tables.append(_groups(result.groups))
    figures = (_figure(result.over_time, result.cpus),) if _can_be_drawn(result.over_time) else ()
    # The share that was seen comes first: without it, the next sentence reads as one about the machine.
    return Section(
        name="users",
        title=TITLE,
        summary=(*few, *_sentences(result, of_attributed=bool(few))),
        figures=figures,
        tables=tuple(tables),
        method=METHOD,
    )


# Sentences


def _sentences(result: Users, *, of_attributed: bool) -> list[str]:
    first = result.users[0]
    share = shown.cell(first.cpu_share, "share")
    active = [user for user in result.users if user.cpu_s]
    users = shown.count(len(active) or len(result.users), "user")
    if of_attributed:
        sentences = [f"Of the attributed CPU time, {_name(first)} had {share}, of {users} seen."]
    else:
        sentences = [f"{users} used the machine; {_name(first)} had {share} of the CPU time."]
    idle = len(result.users) - len(active) if active else 0
    if idle:
        verb = "was" if idle == 1 else "were"
        sentences.append(f"{shown.count(idle, 'further user')} {verb} present without using the CPU.")
    if len(result.users) > 1 and (most := _most(result.users)):
        sentences.append(f"{listed(most)}.")
    if result.commands:
        command = result.commands[0]
        seen = " seen" if of_attributed else ""
        sentences.append(
            f"Of all commands{seen}, {command.command} of {command.user} took the most CPU time: "
            f"{shown.quantity(command.cpu_s, 's')}, {shown.cell(command.cpu_share, 'share')} of it."
        )
    return sentences


def _most(users: Sequence[User]) -> list[str]:
    """Users with the most of each resource but CPU time, and what they had, in words.

    Nothing is said of data where what a user at work read and wrote is not known: that may have been more.
    """
    kinds: tuple[tuple[Callable[[User], float | None], str, str], ...] = (
        (lambda user: user.run_delay_s, "waited longest for a CPU", "s"),
        (lambda user: user.io_delay_s, "waited longest for disks", "s"),
        (lambda user: user.memory_bytes, "held the most memory", "byte"),
        (_moved, "read or changed the most data", "byte"),
        (lambda user: user.gpu_s, "used the GPU longest", "s"),
    )
    words: dict[str, list[str]] = {}
    for amount, did, unit in kinds:
        if amount is _moved and any(map(_unread, users)):
            continue
        values = [amount(user) or 0.0 for user in users]
        most = max(range(len(users)), key=values.__getitem__)
        if values[most]:
            words.setdefault(_name(users[most]), []).append(f"{did} ({shown.quantity(values[most], unit)})")
    return [f"{name} {listed(did)}" for name, did in words.items()]


def _moved(user: User) -> float | None:
    known = [value for value in (user.read_bytes, user.written_bytes) if value is not None]
    return sum(known) if known else None


def _unread(user: User) -> bool:
    """True if a user was at work, and it is not known what data it read and made dirty."""
    return bool(user.cpu_s) and user.read_bytes is None and user.written_bytes is None


def _name(user: User) -> str:
    return user.name if user.played_as is None else f"{user.name} (played, {user.played_as})"


# Tables


def _measured(records: Sequence[Any], *columns: Col[Any]) -> list[Col[Any]]:
    """Columns that have a value: logs of older recorders lack some."""
    return [item for item in columns if any(item.of(record) is not None for record in records)]


def _users(result: Users, *, of_attributed: bool) -> Table:
    rows = (*result.listed, *((result.others,) if result.others else ()))
    return Table.of(
        rows,
        Col("user", _name),
        Col("CPU time", lambda user: user.cpu_s, unit="s"),
        _of_cpu_time(of_attributed=of_attributed),
        Col("waited for a CPU", lambda user: user.run_delay_s, unit="s"),
        *_measured(
            rows,
            Col("waited for disks", lambda user: user.io_delay_s, unit="s"),
            Col("most memory", lambda user: user.memory_bytes, unit="byte"),
        ),
        Col("page faults", lambda user: user.page_faults),
        Col("read", lambda user: user.read_bytes, unit="byte"),
        Col("made dirty", lambda user: user.written_bytes, unit="byte"),
        *_measured(
            rows,
            Col("GPU time", lambda user: user.gpu_s, unit="s"),
            Col("most GPU memory", lambda user: user.gpu_memory_bytes, unit="byte"),
        ),
        name="users-amounts",
        caption="Users by CPU time",
        notes=(UNREAD,) if any(map(_unread, rows)) and not all(map(_unread, rows)) else (),
    )


def _of_cpu_time(*, of_attributed: bool) -> Col[Any]:
    return Col("of attributed CPU time" if of_attributed else "of CPU time", _share, unit="share")


def _share(item: User | Command) -> float:
    return item.cpu_share


def _commands(commands: Sequence[Command], *, of_attributed: bool) -> Table:
    return Table.of(
        commands,
        Col("command", lambda item: item.command),
        Col("user", lambda item: item.user),
        Col("CPU time", lambda item: item.cpu_s, unit="s"),
        _of_cpu_time(of_attributed=of_attributed),
        *_measured(
            commands,
            Col("waited for a CPU", lambda item: item.run_delay_s, unit="s"),
            Col("waited for disks", lambda item: item.io_delay_s, unit="s"),
            Col("most memory", lambda item: item.memory_bytes, unit="byte"),
            Col("read", lambda item: item.read_bytes, unit="byte"),
            Col("made dirty", lambda item: item.written_bytes, unit="byte"),
            Col("started", lambda item: whole(item.started)),
        ),
        name="users-commands",
        caption="Commands by CPU time, with those of the longest waits, the most memory and the most data",
    )


def _groups(groups: Sequence[Group]) -> Table:
    # The hierarchy that has a group may not be the one that counts CPU time (version 1).
    by = "CPU time" if any(group.cpu_s is not None for group in groups) else "memory"
    return Table.of(
        groups,
        Col("control group", lambda group: group.name),
        Col("kind", lambda group: group.kind),
        *_measured(
            groups,
            Col("CPU time", lambda group: group.cpu_s, unit="s"),
            Col("stopped by its quota", lambda group: group.throttled_s, unit="s"),
            Col("waited for a CPU", lambda group: group.psi_cpu_some_s, unit="s"),
            Col("stalled on memory", lambda group: group.psi_memory_some_s, unit="s"),
            Col("stalled on disks", lambda group: group.psi_io_some_s, unit="s"),
            Col("most memory", lambda group: group.memory_bytes, unit="byte"),
            Col("limit of memory", lambda group: group.memory_limit_bytes, unit="byte"),
            Col("killed", lambda group: whole(group.memory_oom_kills)),
        ),
        name="users-groups",
        caption=f"Control groups by {by}",
        notes=(
            "The amounts of a group include those of the groups below it. Its memory is what it is charged "
            "with, page cache included: more than its processes hold, and most of the cache is given up when "
            "others need memory.",
        ),
    )


# Figure


def _can_be_drawn(timeline: Timeline | None) -> bool:
    return timeline is not None and len(timeline.starts_s) > 1 and bool(timeline.series)


def _figure(timeline: Timeline | None, cpus: int | None) -> Figure:
    """CPUs used by the largest users, stacked over time."""
    assert timeline is not None
    time = TimeAxis.of(timeline)
    named = [name for name in timeline.series if name != OTHERS]
    keys = Key.each(named, COLOURS, "square")
    if OTHERS in timeline.series:
        keys = (*keys, Key(OTHERS, colour=OTHERS_COLOUR))
    who = f"the {len(named)} largest users" if OTHERS in timeline.series else "each user"
    return Figure(
        name="users-time",
        title=f"CPUs used by {who}, over time",
        chart=partial(_chart, time, keys, cpus),
        data=Table.of(
            range(len(timeline.starts_s)),
            Col(time.heading, lambda index: round(time.starts[index], 3)),
            Cols(
                [key.name for key in keys],
                lambda index: [timeline.series[key.name][index] for key in keys],
                unit="CPU",
            ),
            name="users-time-data",
            caption="CPUs used by each user, for each stretch of the record by its start",
        ),
        alt=f"{'; '.join(_peak(time, name) for name in named)}.",
        keys=keys,
    )


def _peak(time: TimeAxis, name: str) -> str:
    """Mean and highest use of a user, and when."""
    timeline = time.timeline
    values = [value or 0.0 for value in timeline.series[name]]
    lengths = [end - start for start, end in zip(timeline.starts_s, timeline.ends_s, strict=True)]
    mean = sum(value * length for value, length in zip(values, lengths, strict=True)) / sum(lengths)
    top = max(range(len(values)), key=values.__getitem__)
    return (
        f"{name}: mean {shown.quantity(mean, 'CPU')}, highest {shown.quantity(values[top], 'CPU')} around "
        f"{shown.number(time.starts[top])} {time.unit}"
    )


def _chart(time: TimeAxis, keys: Sequence[Key], cpus: int | None) -> Spec:
    rows = [
        {**row, "part": key.name, "shown": shown.quantity(row["value"], "CPU")}
        for key in keys
        for row in time.steps(time.timeline.series[key.name])
    ]
    drawn = [time.timeline.series[key.name] for key in keys]
    used = [sum(value or 0.0 for value in values) for values in zip(*drawn, strict=True)]
    top = max(float(cpus or 0), *used)
    return wholes.stack(rows, keys, time.axis, Axis("CPUs used", low=0.0, high=top), ("user", "used"))
