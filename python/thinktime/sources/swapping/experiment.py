"""The runs of a swapping experiment: each a session of the log of its cell, with its responses."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import WorkError
from thinktime.log import Log, LogWriter, interactions
from thinktime.log.facts import MEASURED_RUN
from thinktime.log.runs import Cell, Runs
from thinktime.sources.linux import Recording, RecordOptions, session
from thinktime.sources.swapping import guardian
from thinktime.sources.swapping.design import INTERACTIONS, Design, Run
from thinktime.sources.swapping.ground import PAGE_BYTES, Ground, Traffic
from thinktime.sources.terminals import OnProgress, Progress, Terminals

if TYPE_CHECKING:
    from thinktime._native import _Prepared
    from thinktime.log.interactions import Interactions
    from thinktime.sources.plans import Plan

NICE = guardian.NICE
"""Nice value of the processes and their driver."""
SESSION = Path("/proc/self/autogroup")
"""Nice value of the session of this process."""
INTERVAL_S = 0.5
"""Mean recording interval."""
NO_LIMIT = "the kernel ended {0} of the processes for want of memory"

OnStage = Callable[[str, float, float], AbstractContextManager[OnProgress]]
"""Called with the words of a stage, the time that is over by plan and that of the whole work [s]; returns a
context with the callback of its progress."""


class StoppedError(WorkError):
    """The callback of the progress ended a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Counters at one instant of a run."""

    at_us: int
    """Wall clock, microseconds since 1970 UTC."""
    swap: Traffic
    files: Traffic
    charged_bytes: int
    busy_ticks: int
    """CPU time of this machine in use, in ticks."""
    all_ticks: int


def _fact(name: str, unit: str, description: str, values: Mapping[str, float | None]) -> dict[str, object]:
    """Entry of the manifest for a response."""
    value = values[name]
    known = {} if value is None else {"value": value}
    return {"name": name, **known, "unit": unit, "description": description}


def missing(design: Design, runs: Runs) -> list[Run]:
    """Runs that the logs do not hold, in the order of the design."""
    held = {
        (number, replication.number)
        for number, cell in enumerate(runs.cells)
        for replication in cell.replications()
    }
    return [run for run in design.runs() if (run.cell, run.replication) not in held]


def carry_out(design: Design, runs: Runs, ground: Ground, on_stage: OnStage) -> None:
    """Run all that the logs do not hold yet.

    Parameters
    ----------
    design : Design
    runs : Runs
        Folder of the cells.
    ground : Ground
        Device and control group.
    on_stage : callable
        Called with the name of each run; returns a context with the callback of its progress.

    Raises
    ------
    StoppedError
        The callback ended the work; runs that are complete are kept.
    WorkError
        The processes or the recorder failed; likewise.
    """
    left = missing(design, runs)
    total_s = sum(design.seconds(runs.cells[run.cell].levels) for run in left)
    whole, before_s = len(design.runs()), 0.0
    # Begun before: the processes inherit it.
    with _preferred(), Terminals() as terminals:
        prepared = None
        for number, run in enumerate(left):
            cell = runs.cells[run.cell]
            words = f"run {whole - len(left) + number + 1} of {whole}"
            ground.limit(int(cell.levels["memory_bytes"]))
            plan = design.plan(cell.levels, run.seed, ground.files, ground.group)
            with on_stage(words, before_s, total_s) as progress:
                prepared = prepared or terminals.prepare(plan, progress)
                _run(_Work(design, cell, run, plan, prepared), ground, terminals, progress)
            before_s += design.seconds(cell.levels)


@contextmanager
def _preferred() -> Iterator[None]:
    """Nice value `NICE` for this thread and what it starts: the device is to limit them, not others' work."""
    before, session = os.getpriority(os.PRIO_PROCESS, 0), _session_nice()
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, min(before, NICE))
    # A session is scheduled as a whole on most kernels (autogroups, sched(7)); the processes see to theirs.
    if session is not None:
        SESSION.write_text(str(NICE))
    try:
        yield
    finally:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, before)
        if session is not None:
            SESSION.write_text(str(session))


def _session_nice() -> int | None:
    """Nice value of this session; None where sessions are not scheduled as a whole."""
    try:
        return int(SESSION.read_text().split()[-1])
    except (OSError, ValueError, IndexError):
        return None


@dataclass(frozen=True, slots=True)
class _Work:
    design: Design
    cell: Cell
    run: Run
    plan: Plan
    prepared: _Prepared


def _run(work: _Work, ground: Ground, terminals: Terminals, on_progress: OnProgress) -> None:
    """One run, as a further session of the log of its cell."""
    levels, design = work.cell.levels, work.design
    begin_s = design.before_s(levels)
    watch = _Watch(ground, begin_s, on_progress)
    options = RecordOptions(interval_s=INTERVAL_S, by="session")
    facts = session(options)
    killed, start_us = ground.killed(), time.time_ns() // 1000
    work.cell.path.parent.mkdir(parents=True, exist_ok=True)
    with LogWriter.open(
        work.cell.path,
        "resume" if work.cell.exists else "create",
        source=facts["source"],
        machine=facts["machine"],
        boot_id=facts.get("boot_id"),
        options={"lab": {"levels": dict(levels), "seed": work.run.seed}, "record": facts["options"]},
        start_us=start_us,
    ) as writer:
        with Recording(writer, options):
            played = terminals.play(work.plan, work.prepared, writer, watch)
        if played["outcome"]["stopped"]:
            writer.incident("run_stopped", "the run was ended before its time, and has no responses")
            raise StoppedError("the run was ended before its time")
        killed = ground.killed() - killed
        if killed:
            writer.incident("user_killed", NO_LIMIT.format(killed), count=killed)
        values = _values(work, watch, _interactions(work.cell.path, start_us))
        values |= {
            "killed": float(killed),
            "woken": float(ground.woken()),
            "strangers_bytes": float(ground.strangers_bytes()),
        }
        writer.set(
            MEASURED_RUN,
            {
                "number": work.run.replication,
                "warm_up_s": begin_s,
                "responses": [_fact(*described, values) for described in MEASURED],
            },
        )


class _Watch:
    """Callback of a play that reads the counters from the begin of the measurement on."""

    def __init__(self, ground: Ground, begin_s: float, on_progress: OnProgress) -> None:
        self._ground, self._begin_s, self._on_progress = ground, begin_s, on_progress
        self._begin: Snapshot | None = None
        self._end: Snapshot | None = None
        self.charged: list[int] = []

    def __call__(self, progress: Progress) -> bool:
        if progress.elapsed_s >= self._begin_s and progress.end_s > 0.0:
            now = self._snapshot()
            self._begin = self._begin or now
            self._end = now
            self.charged.append(now.charged_bytes)
        return self._on_progress(progress)

    @property
    def begin(self) -> Snapshot:
        """Counters at the begin of the measurement."""
        if self._begin is None:
            raise WorkError("the run ended before its measurement began; run again, with a longer --time")
        return self._begin

    @property
    def end(self) -> Snapshot:
        """Last counters."""
        if self._end is None or self._end.at_us <= self.begin.at_us:
            raise WorkError("the counters were read once only; run again, with a longer --time")
        return self._end

    def _snapshot(self) -> Snapshot:
        ticks = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return Snapshot(
            at_us=time.time_ns() // 1000,
            swap=Traffic.of(self._ground.swap),
            files=Traffic.of(str(self._ground.files)),
            charged_bytes=self._ground.charged_bytes(),
            # Idle and waiting for the disk are the fourth and fifth.
            busy_ticks=sum(ticks) - ticks[3] - ticks[4],
            all_ticks=sum(ticks),
        )


def _interactions(path: Path, start_us: int) -> Interactions | None:
    """Interactions of the session that began then, those before the measurement included."""
    return interactions.read(Log.open(path).between(start_us, time.time_ns() // 1000))


MEASURED: tuple[tuple[str, str, str], ...] = (
    (
        "elapsed_s",
        "s",
        f"Time of as many interactions as {INTERACTIONS} of each process, at the throughput of the run.",
    ),
    ("throughput_per_s", "1/s", "Interactions completed per second."),
    ("response_s", "s", "Mean time from the due input to the end of its reply."),
    ("completed", "", "Interactions completed and measured."),
    ("begun", "process", "Processes that had completed an interaction before the measurement began."),
    ("pages_in", "page", "Pages read from the swap area per interaction."),
    ("pages_out", "page", "Pages written to the swap area per interaction."),
    ("file_requests", "request", "File requests per interaction that reached the device."),
    (
        "read_utilisation",
        "share",
        "Bytes read from the device, relative to what it can read in the time.",
    ),
    (
        "write_utilisation",
        "share",
        "Bytes written to the device, relative to what it can write in the time.",
    ),
    ("swap_busy", "share", "Time with a request of the swap area under way, by the kernel's counter."),
    (
        "queue",
        "request",
        "Mean number of requests at the device, for pages and files, those in service included.",
    ),
    ("swap_wait_s", "s", "Mean time of a request for pages, in queue and in service."),
    ("file_wait_s", "s", "Mean time of a file request, in queue and in service."),
    ("cpu_s", "s", "Mean CPU time of an interaction, faults included."),
    ("process_bytes", "byte", "Memory and swap of the group for each process: the size of a process."),
    ("cpu_busy", "share", "Share of the CPU time of this machine in use, by others too, at the tick."),
    ("killed", "process", "Processes that the kernel ended for want of memory."),
    ("woken", "", "Times that processes had to be woken which the kernel let sleep for want of memory."),
    ("strangers_bytes", "byte", "Swap space at the end of the run that is not the group's: of others."),
)
"""Name, unit and description of each response."""


def _values(work: _Work, watch: _Watch, found: Interactions | None) -> dict[str, float | None]:
    """What a run measured between its first and its last counters."""
    begin, end = watch.begin, watch.end
    length_s = (end.at_us - begin.at_us) / 1e6
    number = int(work.cell.levels["processes"])
    ended = _completed(found, begin.at_us, end.at_us)
    count = len(ended.response_s)
    swap, files = end.swap.since(begin.swap), end.files.since(begin.files)
    speed = work.design.bytes_per_s * length_s
    return {
        "elapsed_s": number * INTERACTIONS * length_s / count if count else None,
        "throughput_per_s": count / length_s,
        "response_s": _mean(ended.response_s),
        "completed": float(count),
        "begun": float(ended.begun),
        "pages_in": _part(swap.read_bytes / PAGE_BYTES, count),
        "pages_out": _part(swap.written_bytes / PAGE_BYTES, count),
        "file_requests": _part(files.requests, count),
        "read_utilisation": (swap.read_bytes + files.read_bytes) / speed,
        "write_utilisation": (swap.written_bytes + files.written_bytes) / speed,
        "swap_busy": min(swap.busy_s / length_s, 1.0),
        "queue": (swap.waits_s + files.waits_s) / length_s,
        "swap_wait_s": _part(swap.waits_s, swap.requests),
        "file_wait_s": _part(files.waits_s, files.requests),
        "cpu_s": _mean(ended.cpu_s),
        "process_bytes": float(np.mean(watch.charged)) / number,
        "cpu_busy": _part(end.busy_ticks - begin.busy_ticks, end.all_ticks - begin.all_ticks),
    }


def _part(amount: float, whole: float) -> float | None:
    return amount / whole if whole else None


def _mean(values: NDArray[np.float64]) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Completed:
    """Interactions that ended in the time that is measured."""

    response_s: NDArray[np.float64]
    cpu_s: NDArray[np.float64]
    begun: int
    """Users who had completed one before."""


def _completed(found: Interactions | None, begin_us: int, end_us: int) -> _Completed:
    if found is None:
        return _Completed(response_s=np.array([]), cpu_s=np.array([]), begun=0)
    low, high = ((at - found.origin_us) / 1e6 for at in (begin_us, end_us))
    ended = found.times["completion"]
    inside = (ended >= low) & (ended < high)
    return _Completed(
        response_s=found.response[inside],
        cpu_s=found.service[inside],
        begun=len(set(found.users[ended < low].tolist())),
    )
