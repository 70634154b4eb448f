"""Rows of the log from a file of perf: the events of the trace, and the totals of its intervals."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from thinktime.errors import InputError
from thinktime.sources.importers.importer import Given, Opened
from thinktime.sources.importers.interval import Interval
from thinktime.sources.importers.perf import scheduler
from thinktime.sources.importers.perf.header import Description, Tracepoint, described
from thinktime.sources.importers.perf.records import (
    CPUS_MAX,
    TASK_MAX,
    Bytes,
    Records,
    Samples,
    Whole,
    numbers,
)
from thinktime.sources.importers.problems import Problems

if TYPE_CHECKING:
    import polars as pl

INTERVAL_S = 1.0
INTERVALS = 100
"""Intervals of a file that is shorter than so many of a second, so that a course over time is seen."""
SHORTEST_S = 0.01
INTERVALS_MAX = 1_000_000
"""Most intervals of a file: eleven days of seconds."""
ROWS_AT_ONCE = 50_000
"""Rows of events that are kept as Python objects."""
AT_ONCE = 1 << 16
"""Events of a round that are Python objects at once."""
COMMANDS_MAX = 100_000
"""Different names of commands; more are damage, or a fork bomb."""
OTHERS = "(other)"
KTHREADD = 2
"""Process that starts all threads of the kernel."""
_SWITCH, _WAKEUP, _WAKING, _NEW, _FORK, _EXEC, _EXIT, _LOST = range(8)
_READ = {
    "sched_switch": _SWITCH,
    "sched_wakeup": _WAKEUP,
    "sched_waking": _WAKING,
    "sched_wakeup_new": _NEW,
    "sched_process_fork": _FORK,
    "sched_process_exec": _EXEC,
    "sched_process_exit": _EXIT,
}
"""Tracepoints that are read, by name."""
_NEEDED = {
    _SWITCH: ("prev_comm", "prev_pid", "prev_state", "next_comm", "next_pid"),
    _WAKEUP: ("comm", "pid"),
    _WAKING: ("comm", "pid"),
    _NEW: ("comm", "pid"),
    _FORK: ("child_comm", "child_pid"),
    _EXEC: ("filename", "pid"),
    _EXIT: ("comm", "pid"),
}
ADVICE = (
    "record with `perf sched record`, or with perf record -a -R -c 1 -e sched:sched_switch,sched:sched_wakeup"
)


def opened(path: Path, given: Given, problems: Problems) -> Opened:
    """Opened file of perf.

    Raises
    ------
    InputError
        Its head cannot be read, or it has no switches.
    """
    with path.open("rb") as file:
        description = described(path, file)
    reading = _Reading(path=path, given=given, problems=problems, description=description)
    return Opened(
        intervals=reading.intervals(),
        machine=description.machine,
        options=reading.options,
    )


@dataclass(slots=True, kw_only=True)
class _Event:
    """Columns of the events of one tracepoint."""

    kind: int
    time: Whole
    place: Whole
    cpu: Whole
    process: Whole
    """Process of the task that was on the CPU."""
    current: Whole
    task: Whole
    command: Whole
    state: Whole
    next_task: Whole
    next_command: Whole


@dataclass(slots=True, kw_only=True)
class _Names:
    """Names of commands, and which task has which."""

    problems: Problems
    texts: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    process_of: dict[int, int] = field(default_factory=dict)
    """Process by task."""
    leader: dict[int, int] = field(default_factory=dict)
    """Command by process: the name of its first thread."""
    of_kernel: set[int] = field(default_factory=lambda: {KTHREADD})

    def number(self, text: bytes) -> int:
        """Number of a name."""
        name = text.partition(b"\0")[0].decode("utf-8", "replace")
        found = self.numbers.get(name)
        if found is None:
            if len(self.texts) >= COMMANDS_MAX:
                self.problems.once(
                    "unread_value", f"there are more than {COMMANDS_MAX} commands; the others are {OTHERS}"
                )
                name = OTHERS
                if OTHERS in self.numbers:
                    return self.numbers[OTHERS]
            found = self.numbers[name] = len(self.texts)
            self.texts.append(name)
        return found

    def of(self, task: int, own: int) -> tuple[int, int]:
        """Process of a task (-1 if unknown), and command: the name of its first thread, or its own."""
        process = self.process_of.get(task, -1)
        command = self.leader.get(process, own)
        if process in self.of_kernel:
            return process, self._cut(command)
        return process, command

    def take(self, records: Records) -> list[tuple[int, int, int]]:
        """Take over what records say of tasks; names with a time are returned, the latest first."""
        for task, process, parent in records.tasks:
            self.process_of[task] = process
            if parent == KTHREADD:
                self.of_kernel.add(process)
            elif task == process:
                self.of_kernel.discard(process)
        records.tasks.clear()
        later = []
        for item in records.names:
            self.process_of[item.task] = item.process
            if item.task == item.process:
                if item.time:
                    later.append((item.time, item.process, self.number(item.name)))
                else:
                    self.leader[item.process] = self.number(item.name)
        records.names.clear()
        later.sort(reverse=True)
        return later

    def _cut(self, command: int) -> int:
        """Name of a thread of the kernel without its number: kworker/0:1 is kworker."""
        text = self.texts[command]
        short = text.replace(":", "/").partition("/")[0]
        return command if short in ("", text) else self.number(short.encode())


@dataclass(slots=True, kw_only=True)
class _Reading:
    """Reading of one file."""

    path: Path
    given: Given
    problems: Problems
    description: Description
    options: dict[str, object] = field(default_factory=dict)

    @property
    def wakes_by(self) -> int:
        """Tracepoint of wake-ups: sched_wakeup where it was recorded."""
        recorded = {event.config for event in self.description.events if event.is_tracepoint}
        found = self._tracepoint(_WAKEUP)
        return _WAKEUP if found is not None and found.number in recorded else _WAKING

    def intervals(self) -> Iterator[Interval]:
        """Intervals with their totals, and the rows of events between them."""
        records = Records(path=self.path, description=self.description, problems=self.problems)
        names = _Names(problems=self.problems)
        follow: _Follow | None = None
        for batch in records.batches():
            later = names.take(records)
            events = self._events(batch, names)
            if not events:
                continue
            if follow is None:
                follow = self._begin(events, names)
            yield from follow.through(events, later)
        if follow is None:
            raise InputError(f"{self.path}: has no readable switch of a task; {ADVICE}")
        yield from follow.finish()
        self._count(records, follow)

    def _begin(self, events: Sequence[_Event], names: _Names) -> _Follow:
        first = min(int(item.time.min()) for item in events)
        last = self.description.span_ns[1] if self.description.span_ns else None
        lasts_s = (last - first) / 1e9 if last is not None and last > first else None
        length = self.given.interval or INTERVAL_S
        if lasts_s is not None and self.given.interval is None:
            length = min(INTERVAL_S, max(SHORTEST_S, lasts_s / INTERVALS))
        if lasts_s is not None and lasts_s / length > INTERVALS_MAX:
            raise InputError(
                f"{self.path}: lasts {lasts_s:.0f} s, which are more than {INTERVALS_MAX} "
                f"intervals of {length:g} s; give longer ones with --interval"
            )
        machine = self.description.machine
        machine["system"] = "Linux"
        self._count_cpus(machine)
        wall = self._wall_clock(first)
        self.options["perf"] = self.description.perf
        self.options["clock"] = self.description.clock or "the scheduler's own"
        self.options["wake_ups"] = "sched_wakeup" if self.wakes_by == _WAKEUP else "sched_waking"
        found = self._tracepoint(_SWITCH)
        return _Follow(
            path=self.path,
            names=names,
            problems=self.problems,
            wall_ns=wall,
            length_ns=max(1, round(length * 1e9)),
            letters=(found.flags if found is not None else {}) or scheduler.LETTERS,
            tasks=scheduler.Scheduler(first),
            cpus=int(machine.get("cpus") or 0),
        )

    def _count_cpus(self, machine: dict[str, object]) -> None:
        """CPUs that were recorded: one number of each event for each of them."""
        found = self._tracepoint(_SWITCH)
        event = next(
            (item for item in self.description.events if found is not None and item.config == found.number),
            None,
        )
        there, traced = machine.get("cpus"), 0 if event is None else len(event.ids)
        if isinstance(there, int) and 0 < traced < there:
            machine["cpus"] = traced
            self.problems.add(
                "partial_cpus",
                f"{traced} of {there} CPUs were recorded: waits of tasks that moved to the others and back "
                "are too long; record all of them (-a, without -C)",
            )

    def _wall_clock(self, first: int) -> int:
        """What has to be added to times of the records for the time of day [ns]."""
        clock = self.description.clock
        if self.given.date is not None:
            date = self.given.date
            if not isinstance(date, datetime.datetime):
                date = datetime.datetime.combine(date, datetime.time())
            if date.tzinfo is None:
                date = date.replace(tzinfo=self.given.timezone or datetime.timezone.utc)
            return round(date.timestamp() * 1e6) * 1000 - first
        if clock == "CLOCK_REALTIME":
            return 0
        if self.description.wall_clock is not None:
            wall, own = self.description.wall_clock
            if abs(wall) < 1 << 62 and abs(own) < 1 << 62:
                return wall - own
        end = round(self.path.stat().st_mtime * 1e6) * 1000
        self.problems.once(
            "time_from_file",
            "perf did not record the time of day: the last event is taken to be at the last change of the "
            "file; --date 2026-11-21T08:00:00 says when the first was, or record with -k CLOCK_MONOTONIC",
        )
        span = self.description.span_ns
        last = span[1] if span is not None and span[0] > 0 else self._last(first)
        return end - max(last, first)

    def _last(self, first: int) -> int:
        """Time of the last sample of a file in which perf has not noted it."""
        # What a file from a pipe says among its records is taken over anew, and apart.
        found = self.description
        apart = dataclasses.replace(
            found,
            events=[] if found.is_pipe else found.events,
            tracepoints=dict(found.tracepoints),
            machine={},
        )
        again = Records(path=self.path, description=apart, problems=Problems())
        return max((int(samples.time.max()) for batch in again.batches() for samples in batch), default=first)

    def _tracepoint(self, kind: int) -> Tracepoint | None:
        return next(
            (
                item
                for item in self.description.tracepoints.values()
                if item.system == "sched" and _READ.get(item.name) == kind
            ),
            None,
        )

    def _count(self, records: Records, follow: _Follow) -> None:
        # Both count the same losses: the first also of records that are no samples, the second by event.
        lost = max(records.lost, records.lost_samples)
        if lost:
            self.problems.add(
                "trace_events_lost",
                "the kernel dropped events because perf did not read them in time: no wait spans such a gap; "
                "record with larger buffers (-m), or fewer events",
                lost,
            )
        if records.late:
            self.problems.add(
                "unordered_events", "events come later in the file than perf's order allows", records.late
            )
        if follow.tasks.unseen:
            self.problems.add(
                "wake_up_unseen",
                "a task was dispatched without a wake-up after it had left the CPU, as when it is woken "
                "while it goes to sleep; the length of that wait for a CPU is null",
                follow.tasks.unseen,
            )

    # Decoding

    def _events(self, batch: Sequence[Samples], names: _Names) -> list[_Event]:
        """Samples of the tracepoints that are read, as columns."""
        events = []
        passed_over = _WAKING if self.wakes_by == _WAKEUP else _WAKEUP
        for samples in batch:
            if samples.number == -1:
                events.append(_loss(samples))
                continue
            tracepoint = self.description.tracepoints.get(samples.number)
            kind = _READ.get(tracepoint.name) if tracepoint is not None else None
            if tracepoint is None or kind in (None, passed_over) or tracepoint.system != "sched":
                continue
            found = self._decoded(samples, tracepoint, kind or _SWITCH, names)
            if found is not None:
                events.append(found)
        has_switches = any(item.kind == _SWITCH for item in events)
        return events if has_switches or any(item.kind == _LOST for item in events) else []

    def _decoded(self, samples: Samples, tracepoint: Tracepoint, kind: int, names: _Names) -> _Event | None:
        decode = _Decoder(samples=samples, tracepoint=tracepoint, order=self.description.order)
        missing = [name for name in _NEEDED[kind] if name not in tracepoint.fields]
        if missing:
            self.problems.once(
                "unread_value", f"{tracepoint.name} has no field {missing[0]}; these events are left out"
            )
            return None
        comm, pid = _NEEDED[kind][:2]
        sound = decode.sound
        task = decode.number(pid)
        sound &= (task >= 0) & (task <= TASK_MAX)
        if kind == _SWITCH:
            state, next_task = decode.number("prev_state"), decode.number("next_pid")
            sound &= (next_task >= 0) & (next_task <= TASK_MAX)
            next_command = decode.command("next_comm", names)
        else:
            state = next_task = next_command = np.zeros_like(task)
        command = decode.command(comm, names)
        cpu = samples.cpu
        if kind in (_WAKEUP, _WAKING, _NEW) and "target_cpu" in tracepoint.fields:
            # The CPU whose queue it joins, and not that of whoever woke it.
            cpu = decode.number("target_cpu")
            sound &= (cpu >= 0) & (cpu < CPUS_MAX)
        if not sound.all():
            for place in samples.place[~sound].tolist():
                self.problems.add(
                    "damaged_record",
                    f"{self.path.name}, byte {place}: a {tracepoint.name} with an impossible task or length; "
                    "left out",
                )
        if not sound.any():
            return None
        columns = (samples.time, samples.place, cpu, samples.process, samples.task, task, command)
        time, place, cpu, process, current, task, command = (column[sound] for column in columns)
        return _Event(
            kind=kind,
            time=time,
            place=place,
            cpu=cpu,
            process=process,
            current=current,
            task=task,
            command=command,
            state=state[sound],
            next_task=next_task[sound],
            next_command=next_command[sound],
        )


class _Decoder:
    """Fields of samples of one tracepoint."""

    def __init__(self, *, samples: Samples, tracepoint: Tracepoint, order: str) -> None:
        self.samples, self.fields, self.order = samples, tracepoint.fields, order
        self.data: Bytes = samples.data
        self.sound = np.ones(len(samples.time), dtype=np.bool_)

    def _place(self, name: str, size: int) -> Whole:
        """Places of a field; those outside of the data are counted as unsound, and lie at 0."""
        offset = self.fields[name].offset
        inside = self.samples.raw_bytes >= offset + size
        self.sound &= inside
        return np.where(inside, self.samples.raw + offset, 0)

    def number(self, name: str) -> Whole:
        """Values of a field with a whole number."""
        item = self.fields[name]
        size = item.size if item.size in (1, 2, 4, 8) else 4
        if len(self.data) < size:
            self.sound[:] = False
            return np.zeros(len(self.sound), dtype=np.int64)
        return numbers(self.data, self._place(name, size), size, signed=item.signed, order=self.order)

    def command(self, name: str, names: _Names) -> Whole:
        """Numbers of the commands that a field names."""
        item = self.fields[name]
        if item.located:
            texts = self._texts(name)
        else:
            size = min(max(item.size, 1), 64)
            if len(self.data) < size:
                self.sound[:] = False
                return np.zeros(len(self.sound), dtype=np.int64)
            cells = np.ascontiguousarray(self.data[self._place(name, size)[:, None] + np.arange(size)])
            # Bytes behind the first zero are what was there before.
            cells = np.where(np.minimum.accumulate(cells != 0, axis=1), cells, 0).astype(np.uint8)
            texts = cells.view(f"S{size}").reshape(-1)
        found, which = np.unique(texts, return_inverse=True)
        known = np.array([names.number(bytes(text)) for text in found], dtype=np.int64)
        return known[which] if len(known) else np.zeros(len(self.sound), dtype=np.int64)

    def _texts(self, name: str) -> np.ndarray:
        """Texts that lie behind the fields, by their offsets; of a path, the last name."""
        if len(self.data) < 4:
            self.sound[:] = False
            return np.zeros(len(self.sound), dtype="S1")
        where = numbers(self.data, self._place(name, 4), 4, signed=False, order=self.order)
        offset, length = where & 0xFFFF, where >> 16
        inside = offset + length <= self.samples.raw_bytes
        self.sound &= inside
        texts = []
        for raw, at, size, is_inside in zip(
            self.samples.raw.tolist(), offset.tolist(), length.tolist(), inside.tolist(), strict=True
        ):
            text = self.data[raw + at : raw + at + size].tobytes() if is_inside else b""
            texts.append(text.partition(b"\0")[0].rpartition(b"/")[2][:15])
        return np.array(texts, dtype="S15") if texts else np.zeros(0, dtype="S15")


def _loss(samples: Samples) -> _Event:
    none = np.zeros_like(samples.time)
    return _Event(
        kind=_LOST,
        time=samples.time,
        place=samples.place,
        cpu=none,
        process=none,
        current=none,
        task=none,
        command=none,
        state=none,
        next_task=none,
        next_command=none,
    )


@dataclass(slots=True, kw_only=True)
class _Follow:
    """Events in order, through the scheduler, into rows."""

    path: Path
    names: _Names
    problems: Problems
    wall_ns: int
    length_ns: int
    letters: Mapping[int, str]
    tasks: scheduler.Scheduler
    cpus: int
    last: int = 0
    _reasons: dict[int, int] = field(default_factory=dict)

    def through(self, events: Sequence[_Event], later: list[tuple[int, int, int]]) -> Iterator[Interval]:
        """Intervals that end with these events."""
        for time, kind, *values in _in_order(events):
            while later and later[-1][0] <= time:
                _, process, command = later.pop()
                self.names.leader[process] = command
            if time < self.last:
                continue  # Late: counted by the records.
            if time - self.tasks.start >= self.length_ns:
                yield from self._close(time)
            self.last = time
            self._take(time, kind, values)
            if len(self.tasks.rows) >= ROWS_AT_ONCE:
                yield Interval(
                    start_us=self._wall_us(time), length_s=0.0, samples=None, frames=self._frames()
                )
        for _, process, command in reversed(later):
            self.names.leader[process] = command

    def finish(self) -> Iterator[Interval]:
        """What is left at the end of the file."""
        if self.last > self.tasks.start:
            yield self._interval(self.tasks.closed(self.last))
        if self.tasks.rows:
            yield Interval(
                start_us=self._wall_us(self.last), length_s=0.0, samples=None, frames=self._frames()
            )

    def _close(self, time: int) -> Iterator[Interval]:
        """Intervals that end before `time`."""
        ended = (time - self.tasks.start) // self.length_ns
        if ended > INTERVALS_MAX:
            raise InputError(
                f"{self.path}: lasts longer than {INTERVALS_MAX} intervals; give longer ones with --interval"
            )
        for _ in range(ended):
            yield self._interval(self.tasks.closed(self.tasks.start + self.length_ns))

    def _take(self, time: int, kind: int, values: Sequence[int]) -> None:
        cpu, process, current, task, own, state, next_task, next_own = values
        names, tasks = self.names, self.tasks
        if current > 0 and process > 0:
            names.process_of[current] = process
        if kind == _LOST:
            tasks.lost()
            return
        if kind == _SWITCH:
            reason = self._reasons.get(state)
            if reason is None:
                reason = self._reasons[state] = scheduler.reason_of(state, self.letters)
            tasks.left(time, cpu, task, *names.of(task, own), reason)
            tasks.dispatched(time, cpu, next_task, *names.of(next_task, next_own))
            return
        found = names.of(task, own)
        if kind in (_WAKEUP, _WAKING):
            tasks.woken(time, cpu, task, *found)
        elif kind == _NEW:
            tasks.started(time, cpu, task, *found)
        elif kind == _FORK:
            tasks.forked(time, cpu, task, *found)
        elif kind == _EXEC:
            names.leader[found[0] if found[0] >= 0 else task] = own
            tasks.executed(time, cpu, task, found[0], own)
        else:
            tasks.ended(time, cpu, task, *found)

    # Rows

    def _wall_us(self, time: int) -> int:
        return (time + self.wall_ns) // 1000

    def _interval(self, totals: scheduler.Interval) -> Interval:
        used = sum(use.cpu_ns for use in totals.uses.values())
        length_s = (totals.end - totals.start) / 1e9
        is_known = totals.is_complete
        samples = {
            "cpu_exact_s": used / 1e9 if is_known else None,
            "context_switches": totals.switches if is_known else None,
            "forks": totals.forks if is_known else None,
        }
        commands = [
            {
                "command": self.names.texts[command],
                "cpu_exact_s": use.cpu_ns / 1e9,
                "run_delay_s": use.delay_ns / 1e9,
            }
            for command, use in totals.uses.items()
        ]
        return Interval(
            start_us=self._wall_us(totals.start),
            length_s=length_s,
            samples=samples,
            tables={"commands": commands} if is_known and commands else {},
        )

    def _frames(self) -> dict[str, pl.DataFrame]:
        """Rows of events since the last time, as columns."""
        import polars as pl

        if not self.tasks.rows:
            return {}
        time, kind, cpu, amount, reason, task, process, command = (
            np.array(column, dtype=np.int64) for column in zip(*self.tasks.rows, strict=True)
        )
        self.tasks.rows = []
        kinds, reasons = pl.Series(scheduler.KINDS), pl.Series(scheduler.REASONS)
        known = amount >= 0
        amounts = pl.Series(amount / 1e9).set(~pl.Series(known), None)
        frame = pl.DataFrame(
            {
                "time": pl.Series((time + self.wall_ns) // 1000).cast(pl.Datetime("us", "UTC")),
                "kind": kinds.gather(kind),
                "cpu": pl.Series(cpu).cast(pl.UInt64),
                "amount": amounts,
                "unit": pl.select(pl.when(pl.Series(known)).then(pl.lit("s"))).to_series(),
                "task": pl.Series(task).cast(pl.UInt64),
                "process": _or_null(process).cast(pl.UInt64),
                "command": pl.Series(self.names.texts).gather(command),
                "reason": reasons.gather(_or_null(reason)),
            }
        )
        return {"events": frame}


def _or_null(values: Whole) -> pl.Series:
    import polars as pl

    return pl.Series(values).set(pl.Series(values < 0), None)


def _in_order(events: Sequence[_Event]) -> Iterator[tuple[int, ...]]:
    """Events by time, those of the same time as they are in the file."""
    lengths = [len(item.time) for item in events]
    kind = np.repeat([item.kind for item in events], lengths)
    time, place, cpu, process, current, task, command, state, next_task, next_command = (
        np.concatenate([getattr(item, name) for item in events])
        for name in (
            "time",
            "place",
            "cpu",
            "process",
            "current",
            "task",
            "command",
            "state",
            "next_task",
            "next_command",
        )
    )
    order = np.lexsort((place, time))
    columns = (time, kind, cpu, process, current, task, command, state, next_task, next_command)
    for first in range(0, len(order), AT_ONCE):
        part = order[first : first + AT_ONCE]
        yield from zip(*(column[part].tolist() for column in columns), strict=True)
