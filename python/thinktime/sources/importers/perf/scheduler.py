"""What the scheduler did: events of a trace from switches and wake-ups, each with how long its state lasted.

A task is on a CPU, ready for one, or waits. A switch and a wake-up end one of these states, and the row
says for how long it was: the same rows as `thinktime record --trace-events` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

IDLE = 0
"""Number of the idle tasks, one for each CPU: they are no tasks, and have no rows."""

WAKE_UP, DISPATCH, SWITCH_OUT, FORK, EXEC, EXIT = range(6)
KINDS = ("wake_up", "dispatch", "switch_out", "fork", "exec", "exit")
"""Kinds of rows by number."""
WOKEN, STARTED, PREEMPTED, ENDED, SLEEP, UNINTERRUPTIBLE, STOPPED = range(7)
REASONS = ("woken", "started", "preempted", "exit", "sleep", "uninterruptible", "stopped")
"""Reasons by number; -1 for none."""
NONE = -1

LETTERS = {0x1: "S", 0x2: "D", 0x4: "T", 0x8: "t", 0x10: "X", 0x20: "Z", 0x40: "P", 0x80: "I"}
"""Bits of prev_state since Linux 4.14, for a file that does not describe them."""
_RUNNING, _READY, _WAITING = range(3)

Row = tuple[int, int, int, int, int, int, int, int]
"""Time, kind, CPU, amount [ns], reason, task, process, command; -1 for an unknown amount or process."""


def reason_of(state: int, letters: Mapping[int, str] = LETTERS) -> int:
    """Reason for which a task of state `state` left the CPU (``prev_state`` of sched_switch).

    Parameters
    ----------
    state : int
    letters : mapping of int to str
        Letters of the bits, as the kernel describes them.
    """
    found = {letter for bit, letter in letters.items() if state & bit}
    if not found:
        return PREEMPTED  # Still ready: no bit, or the one above all that are described.
    if found & {"X", "Z", "x"}:
        return ENDED
    if found & {"T", "t", "P"} and not found & {"S", "D"}:
        return STOPPED
    # Kernel threads without work wait uninterruptibly too, but are idle (``I``, earlier ``D|N``): they wait
    # for nobody.
    return UNINTERRUPTIBLE if "D" in found and not found & {"I", "N"} else SLEEP


@dataclass(slots=True)
class _Task:
    """State of a task since an instant."""

    state: int
    since: int
    reason: int


@dataclass(slots=True)
class Use:
    """What the tasks of a command used in an interval."""

    cpu_ns: int = 0
    delay_ns: int = 0


@dataclass(slots=True, kw_only=True)
class Interval:
    """Totals of an interval."""

    start: int
    end: int
    switches: int
    forks: int
    uses: dict[int, Use]
    """By command."""
    is_complete: bool
    """False if events were lost in it."""


@dataclass(slots=True)
class Scheduler:
    """Follows the tasks through the events in the order of their times.

    Parameters
    ----------
    start : int
        Time of the first event [ns].
    """

    start: int
    rows: list[Row] = field(default_factory=list)
    """Rows since the reader last took them away."""
    unseen: int = 0
    """Dispatches of tasks that waited, whose wake-up came before they had left the CPU, or was lost."""
    switches: int = 0
    forks: int = 0
    is_complete: bool = True
    uses: dict[int, Use] = field(default_factory=dict)
    _tasks: dict[int, _Task] = field(default_factory=dict)
    _on: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By CPU, the task on it and its command."""
    _born: dict[int, int] = field(default_factory=dict)

    def woken(self, time: int, cpu: int, task: int, process: int, command: int) -> None:
        """A task was woken."""
        found = self._tasks.get(task)
        if found is None:
            self._tasks[task] = _Task(_READY, time, WOKEN)
            self.rows.append((time, WAKE_UP, cpu, -1, NONE, task, process, command))
        elif found.state == _WAITING:
            self.rows.append((time, WAKE_UP, cpu, time - found.since, found.reason, task, process, command))
            found.state, found.since, found.reason = _READY, time, WOKEN

    def started(self, time: int, cpu: int, task: int, process: int, command: int) -> None:
        """A new task became ready."""
        self._tasks[task] = _Task(_READY, time, STARTED)
        self.rows.append((time, WAKE_UP, cpu, -1, STARTED, task, process, command))

    def left(self, time: int, cpu: int, task: int, process: int, command: int, reason: int) -> None:
        """A task left the CPU, for a reason."""
        self.switches += 1
        if task == IDLE:
            return
        found = self._tasks.get(task)
        on = self._on.pop(cpu, None)
        slice_ns = -1
        if found is not None and found.state == _RUNNING and on is not None and on[0] == task:
            slice_ns = time - found.since
            self._use(command).cpu_ns += time - max(found.since, self.start)
        self.rows.append((time, SWITCH_OUT, cpu, slice_ns, reason, task, process, command))
        if reason == ENDED:
            self._tasks.pop(task, None)
        else:
            state = _READY if reason == PREEMPTED else _WAITING
            if found is None:
                self._tasks[task] = _Task(state, time, reason)
            else:
                found.state, found.since, found.reason = state, time, reason

    def dispatched(self, time: int, cpu: int, task: int, process: int, command: int) -> None:
        """A task got the CPU."""
        if task == IDLE:
            self._on.pop(cpu, None)
            return
        found = self._tasks.get(task)
        waited, reason = -1, NONE
        if found is None:
            found = self._tasks[task] = _Task(_RUNNING, time, NONE)
        elif found.state == _READY:
            waited, reason = time - found.since, found.reason
            self._use(command).delay_ns += waited
        elif found.state == _WAITING:
            self.unseen += 1
            reason = WOKEN
        found.state, found.since = _RUNNING, time
        self._on[cpu] = (task, command)
        self.rows.append((time, DISPATCH, cpu, waited, reason, task, process, command))

    def forked(self, time: int, cpu: int, task: int, process: int, command: int) -> None:
        """A task began."""
        self.forks += 1
        self._born[task] = time
        self.rows.append((time, FORK, cpu, -1, NONE, task, process, command))

    def executed(self, time: int, cpu: int, task: int, process: int, command: int) -> None:
        """A process runs another program."""
        self.rows.append((time, EXEC, cpu, -1, NONE, task, process, command))

    def ended(self, time: int, cpu: int, task: int, process: int, command: int) -> None:
        """A task ends; it leaves the CPU a moment later."""
        born = self._born.pop(task, None)
        age = -1 if born is None else time - born
        self.rows.append((time, EXIT, cpu, age, NONE, task, process, command))

    def lost(self) -> None:
        """Events are missing here: nothing that is known of the tasks is sure from here on."""
        self._tasks.clear()
        self._on.clear()
        self.is_complete = False

    def closed(self, end: int) -> Interval:
        """Totals of the interval that ends here; a slice over its end counts in both, by parts."""
        for task, command in self._on.values():
            found = self._tasks.get(task)
            if found is not None and found.state == _RUNNING:
                self._use(command).cpu_ns += end - max(found.since, self.start)
        done = Interval(
            start=self.start,
            end=end,
            switches=self.switches,
            forks=self.forks,
            uses=self.uses,
            is_complete=self.is_complete,
        )
        self.start, self.switches, self.forks, self.uses, self.is_complete = end, 0, 0, {}, True
        return done

    def _use(self, command: int) -> Use:
        found = self.uses.get(command)
        if found is None:
            found = self.uses[command] = Use()
        return found
