"""Intervals from the text of pidstat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinktime.sources.importers.importer import Given, Opened
from thinktime.sources.importers.interval import Interval, Row
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.reports import (
    BANNER,
    NAME_MAX,
    Amounts,
    Stamp,
    Times,
    day,
    lines,
    machine_of,
    number,
    stamp,
)

USER_HZ = 100
"""Ticks per second in which /proc has the delays of a task."""
TASKS_MAX = 200_000
"""Most tasks of a report that are kept."""
OVER_CPUS = 1.1
"""Share of all CPUs above which a task's CPU time is damage."""
READ = {
    "%usr",
    "%system",
    "%guest",
    "%wait",
    "minflt/s",
    "majflt/s",
    "kB_rd/s",
    "kB_wr/s",
    "iodelay",
}
"""Columns that the log has a place for."""


@dataclass(slots=True, kw_only=True)
class _Report:
    line: int
    at: Stamp
    tasks: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    """Numbers by user and by number of the process with its name."""


def opened(path: Path, given: Given, problems: Problems) -> Opened:
    """Opened text of pidstat; the machine is known when its head line has been read."""
    problems.add("rounded_input", "pidstat prints rates and shares rounded to 0.01")
    text = _Text(path=path, times=Times(path=path, given=given, problems=problems), problems=problems)
    return Opened(intervals=text.intervals(), machine=text.machine, options={"by": "uid", "hz": USER_HZ})


@dataclass(slots=True, kw_only=True)
class _Text:
    path: Path
    times: Times
    problems: Problems
    machine: dict[str, Any] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    """Columns after the time, in the order of the table that is read."""

    def intervals(self) -> Iterator[Interval]:
        """Intervals of all reports whose length is known."""
        report: _Report | None = None
        for line_number, line in lines(self.path, self.problems):
            words = line.split()
            if not words or (words[0].endswith(":") and not words[0][0].isdigit()):
                continue  # Averages at the end.
            if banner := BANNER.match(line):
                yield from self._interval(report)
                report = None
                self.times.restart()
                self.machine.update(machine_of(banner) | self.machine)
                self.times.day = day(banner[3], self.problems) or self.times.day
                continue
            if words[-1] == "Command":
                at = self._head(words)
                if words[0] == "#":
                    yield from self._interval(report)
                    report = None
                # Without -h, the time of a head line is the beginning of the report below it.
                if at is not None and report is None and self.times.last_us is None:
                    self.times.begin(at)
                continue
            task = self._task(words, line_number)
            if task is None:
                continue
            at, key, values = task
            if report is None or at != report.at:
                yield from self._interval(report)
                report = _Report(line=line_number, at=at)
            self._keep(report, key, values, line_number)
        yield from self._interval(report)

    def _head(self, words: list[str]) -> Stamp | None:
        """Time in a head line; None where it is a word."""
        if words[0] == "#":
            self.names = words[2:]
            return None
        at, rest = _timed(words, self.problems)
        self.names = rest
        return at

    def _task(
        self, words: list[str], line_number: int
    ) -> tuple[Stamp, tuple[str, str], dict[str, float]] | None:
        """Time, user and process, and numbers of a line; None where it is damaged, or of a thread."""
        at, rest = _timed(words, self.problems)
        names = self.names
        if at is None or not names or len(rest) < len(names):
            self.problems.add(
                "damaged_record",
                f"line {line_number}: a time and {max(len(names), 1)} columns below a head line are "
                f"needed; left out",
            )
            return None
        row = dict(zip(names, rest, strict=False))
        if row.get("TID", "-") != "-":
            return None
        who, process = row.get("UID", row.get("USER", "")), row.get("PID", row.get("TGID", ""))
        command = " ".join(rest[len(names) - 1 :])[:NAME_MAX]
        if ("UID" in row and not _is_whole(who)) or not who or len(who) > NAME_MAX or not _is_whole(process):
            self.problems.add("damaged_record", f"line {line_number}: names no user and process; left out")
            return None
        values: dict[str, float] = {}
        for name in READ & row.keys():
            value = number(row[name])
            if value is not None:
                values[name] = value
            elif not row[name].startswith("-"):  # What pidstat may not read is -1.
                self.problems.add("damaged_record", f"line {line_number}: {name} is no number; it is null")
        if "%wait" in values:
            # From /proc/PID/schedstat, which has no sum over threads.
            self.problems.once(
                "first_thread_only",
                "pidstat's %wait is that of the first thread of each process: waits for a CPU of programs "
                "with several threads are too short",
            )
        used = values.get("%usr", 0.0) + values.get("%system", 0.0) + values.get("%guest", 0.0)
        if used > OVER_CPUS * 100 * self.machine.get("cpus", 1_000_000) + 100:
            self.problems.add(
                "damaged_record",
                f"line {line_number}: {used:.0f} % of a CPU is more than there are; left out",
            )
            return None
        user = f"uid:{int(who)}" if "UID" in row else f"user:{who}"
        return at, (user, f"{process} {command}"), values

    def _keep(
        self, report: _Report, key: tuple[str, str], values: dict[str, float], line_number: int
    ) -> None:
        if key not in report.tasks and len(report.tasks) >= TASKS_MAX:
            self.problems.add(
                "damaged_record", f"line {line_number}: more than {TASKS_MAX} tasks; the rest is left out"
            )
            return
        known = report.tasks.setdefault(key, {})
        if known.keys() & values.keys():
            self.problems.add(
                "damaged_record", f"line {line_number}: the process has a line before; left out"
            )
            return
        known.update(values)

    def _interval(self, report: _Report | None) -> Iterator[Interval]:
        if report is None:
            return
        timed = self.times.interval(report.at, report.line)
        if timed is None:
            return
        start_us, length_s = timed
        amounts = Amounts(length_s=length_s, problems=self.problems)
        users: dict[str, dict[str, float]] = {}
        commands: dict[tuple[str, str], dict[str, float]] = {}
        for (user, task), values in report.tasks.items():
            _add(users.setdefault(user, {}), values)
            _add(commands.setdefault((user, task.partition(" ")[2]), {}), values)
        of_users = [{**_who(user), **_row(values, amounts)} for user, values in users.items()]
        of_commands = [
            {"user": user, "command": command, "name": _who(user)["name"], **_row(values, amounts)}
            for (user, command), values in commands.items()
        ]
        active = sum((row["user_s"] or 0.0) > 0.0 for row in of_users)
        has_cpu = any("%usr" in values for values in report.tasks.values())
        yield Interval(
            start_us=start_us,
            length_s=length_s,
            samples={"active_users": active if has_cpu else None},
            tables={"users": of_users, "commands": of_commands},
        )


def _timed(words: list[str], problems: Problems) -> tuple[Stamp | None, list[str]]:
    """Time at the beginning of a line, and the words after it."""
    taken = 2 if len(words) > 1 and words[1].upper().rstrip(".") in ("AM", "PM") else 1
    return stamp(" ".join(words[:taken]), problems), words[taken:]


def _is_whole(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= 10


def _add(sums: dict[str, float], values: dict[str, float]) -> None:
    for name, value in values.items():
        sums[name] = sums.get(name, 0.0) + value


def _who(user: str) -> Row:
    kind, _, name = user.partition(":")
    if kind == "uid":
        return {"user": user, "name": None, "kind": None}
    return {"user": user, "name": name, "kind": "system" if name == "root" else None}


def _row(values: dict[str, float], amounts: Amounts) -> Row:
    guest, user = values.get("%guest"), values.get("%usr")
    ticks = values.get("iodelay")
    return {
        # Time that a process gives to a guest is user time to the kernel, and apart to pidstat.
        "user_s": None if user is None else amounts.seconds(user + (guest or 0.0)),
        "system_s": amounts.seconds(values.get("%system")),
        "run_delay_s": amounts.seconds(values.get("%wait")),
        "page_faults_minor": amounts.count(values.get("minflt/s")),
        "page_faults_major": amounts.count(values.get("majflt/s")),
        "read_bytes": amounts.count(values.get("kB_rd/s"), 1024),
        "write_bytes": amounts.count(values.get("kB_wr/s"), 1024),
        "io_delay_s": None if ticks is None else ticks / USER_HZ,
    }
