"""A small swapping system in software that writes events and integrates its queues by itself.

Users think, then ask: their workspace is swapped in by the one disk, they get slices of the one processor in
turn, commands load from the library after their first slice, output-bound ones wait for their output, and the
workspace is swapped out at the end.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np

SLICE_S = 0.1
ACCESS_S = 0.08
OUTPUT_S = 3.0
MEANS = {"compute": (0.05, 3.0), "command": (0.3, 0.3), "output_bound": (0.5, 6.0)}


@dataclass
class Job:
    user: str
    kind: str
    arrival: float
    service: float
    left: float
    first: float = float("nan")
    completion: float = float("nan")
    state: str = "foreground"
    loaded: bool = False


@dataclass
class System:
    """Runs on construction; then `events`, `jobs` and the integrals are there."""

    users: int
    think_s: float
    end: float
    seed: int
    warm_up: float = 0.0
    events: list[tuple[float, str, str, int | None, float | None]] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    area: dict[str, float] = field(default_factory=lambda: dict.fromkeys(NAMES, 0.0))

    def __post_init__(self):
        self.random = np.random.default_rng(self.seed)
        self.now, self.number, self.calendar = 0.0, dict.fromkeys(NAMES, 0), []
        self.disk, self.ready, self.disk_busy, self.cpu_busy = deque(), deque(), False, False
        for user in range(self.users):
            self.after(self.random.exponential(self.think_s), self.input, f"user{user:02}")
        while self.calendar and self.calendar[0][0] < self.end:
            at, _, act, argument = heapq.heappop(self.calendar)
            self.advance(at)
            act(argument)
        self.advance(self.end)

    def advance(self, to):
        inside = max(0.0, to - max(self.now, self.warm_up))
        for name, number in self.number.items():
            self.area[name] += inside * number
        self.now = to

    def after(self, delay, act, argument):
        self.serial = getattr(self, "serial", 0) + 1
        heapq.heappush(self.calendar, (self.now + delay, self.serial, act, argument))

    def note(self, kind, user, cpu=None, amount=None):
        self.events.append((self.now, kind, user, cpu, amount))

    def move(self, job, state):
        self.number[job.state] -= 1
        self.number[state] += 1
        job.state = state

    def input(self, user):
        kind = str(self.random.choice(["compute", "command", "output_bound"], p=[0.8, 0.12, 0.08]))
        service = self.random.exponential(MEANS[kind][int(self.random.random() < 0.15)])
        job = Job(user, kind, self.now, service, service)
        self.jobs.append(job)
        for name in ("system", "foreground", "unserved"):
            self.number[name] += 1
        self.note("input", user)
        self.use_disk(job, "swap_in")

    def use_disk(self, job, what):
        self.disk.append((job, what))
        if not self.disk_busy:
            self.next_access()

    def next_access(self):
        self.disk_busy = bool(self.disk)
        if self.disk:
            job, what = self.disk.popleft()
            self.number["disk"] = 1
            self.note(f"{what}_start", job.user)
            self.after(self.random.uniform(0.5, 1.5) * ACCESS_S, self.access_ends, (job, what))

    def access_ends(self, access):
        job, what = access
        self.number["disk"] = 0
        self.note(f"{what}_end", job.user)
        if what != "swap_out":
            self.be_ready(job)
        self.next_access()

    def be_ready(self, job):
        self.ready.append(job)
        if not self.cpu_busy:
            self.next_slice()

    def next_slice(self):
        self.cpu_busy = bool(self.ready)
        self.number["cpu"] = int(self.cpu_busy)
        if self.ready:
            job = self.ready.popleft()
            if np.isnan(job.first):
                job.first = self.now
                self.number["unserved"] -= 1
            self.note("slice_start", job.user, 0)
            self.after(min(SLICE_S, job.left), self.slice_ends, job)

    def slice_ends(self, job):
        length = min(SLICE_S, job.left)
        job.left -= length
        self.note("slice_end", job.user, 0, length)
        if job.state == "foreground":
            self.move(job, "command" if job.kind == "command" else "background")
        if job.kind == "command" and not job.loaded:
            job.loaded = True
            self.use_disk(job, "library_load")
        elif job.left <= 1e-12:
            self.complete(job)
        elif job.kind == "output_bound" and self.random.random() < 0.3:
            self.move(job, "output_bound")
            self.note("output_wait_start", job.user)
            self.after(self.random.exponential(OUTPUT_S), self.output_ends, job)
        else:
            self.ready.append(job)
        self.next_slice()

    def output_ends(self, job):
        self.move(job, "background")
        self.note("output_wait_end", job.user)
        self.be_ready(job)

    def complete(self, job):
        job.completion = self.now
        self.number[job.state] -= 1
        self.number["system"] -= 1
        self.note("completion", job.user)
        self.use_disk(job, "swap_out")
        self.after(self.random.exponential(self.think_s), self.input, job.user)


NAMES = ("system", "foreground", "background", "output_bound", "command", "unserved", "cpu", "disk")


def tables(system, first_s=0.0):
    """Columns of `events` and `interactions`, times moved by `first_s`."""
    from known_logs import instants

    time, kind, user, cpu, amount = zip(*system.events, strict=True)
    done = [np.isfinite(job.completion) for job in system.jobs]
    events = {
        "time": instants(np.array(time) + first_s),
        "kind": list(kind),
        "user": list(user),
        "cpu": list(cpu),
        "amount": list(amount),
    }
    interactions = {
        "user": [job.user for job in system.jobs],
        "class": [job.kind for job in system.jobs],
        "population": [system.users] * len(system.jobs),
        "due": instants([job.arrival + first_s for job in system.jobs]),
        "first_service": instants([job.first + first_s for job in system.jobs]),
        "completion": instants([job.completion + first_s for job in system.jobs]),
        "service_s": [job.service if ok else float("nan") for job, ok in zip(system.jobs, done, strict=True)],
    }
    return events, interactions


def write(path, systems):
    """Write replications one after another, a session each, as a simulation does."""
    from thinktime.log import Log

    first = 0.0
    for number, system in enumerate(systems):
        write_session(path, number, system, first)
        first += system.end
    return Log.open(path)


def write_session(path, number, system, first):
    from known_logs import EPOCH_US, frame

    from thinktime.log import LogWriter, vocabulary

    start, end = (EPOCH_US + round(at * 1e6) for at in (first, first + system.end))
    with LogWriter.open(path, "resume", source="test", machine={}, start_us=start) as writer:
        for name, columns in zip(("events", "interactions"), tables(system, first), strict=True):
            writer.write(name, frame(columns, vocabulary(name)))
        writer.set("replication", {"number": number, "warm_up_s": system.warm_up})
        writer.end_us = end
