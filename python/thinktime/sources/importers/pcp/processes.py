"""Users and commands from the processes in the fetches of an archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thinktime.sources.importers.interval import COUNT_MAX, Row
from thinktime.sources.importers.pcp.archive import Fetch, Value
from thinktime.sources.importers.pcp.rules import FAMILIES, LABELS, OF_PROCESSES
from thinktime.sources.importers.problems import Problems

PROCESSES_MAX = 1_000_000
GAUGE = "memory_bytes"
SLACK_S = 1.0
"""CPU time beyond that of all CPUs that a new process may have by the clock tick."""
_USED = ("user_s", "system_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Process:
    user: str
    name: str | None
    command: str
    amounts: Mapping[str, float]
    """Totals since its start, in the units of the columns."""


@dataclass(slots=True, kw_only=True)
class Processes:
    """Processes at the reading before.

    Parameters
    ----------
    problems : Problems
        Where damage is counted.
    """

    problems: Problems
    before: dict[int, _Process] | None = None
    _family: str | None = field(default=None)

    def forget(self) -> None:
        """Begin again after a gap."""
        self.before = None

    def rows(
        self, reading: Fetch, scales: Mapping[str, float | None], capacity_s: float
    ) -> dict[str, list[Row]] | None:
        """Rows of `users` and `commands` since the reading before; None if either reading has no processes.

        Parameters
        ----------
        reading : Fetch
        scales : mapping of str to float
            Factor to the unit of the column by metric; None for one that is not read.
        capacity_s : float
            CPU time that all CPUs had since then.
        """
        now = self._processes(reading, scales)
        before, self.before = self.before, now
        if now is None or before is None or not capacity_s > 0:
            return None
        users: dict[str, Row] = {}
        commands: dict[tuple[str, str], Row] = {}
        for number, process in now.items():
            grown = self._grown(process, before.get(number), capacity_s)
            name = {"name": process.name}
            _add(users.setdefault(process.user, {"user": process.user, **name}), grown)
            key = process.user, process.command
            _add(
                commands.setdefault(key, {"user": process.user, "command": process.command, **name}),
                grown,
            )
        return {
            "users": [_rounded(row) for row in users.values() if _did_anything(row)],
            "commands": [_rounded(row) for row in commands.values() if _did_anything(row)],
        }

    def _grown(self, process: _Process, before: _Process | None, capacity_s: float) -> dict[str, float]:
        """Amounts since the reading before; those of a new process are all of its own."""
        is_same = before is not None and all(
            before.amounts.get(name, 0.0) <= amount
            for name, amount in process.amounts.items()
            if name in _USED
        )
        known = before.amounts if before is not None and is_same else {}
        grown = {
            name: amount if name == GAUGE else max(amount - known.get(name, 0.0), 0.0)
            for name, amount in process.amounts.items()
        }
        used_s = sum(grown.get(name, 0.0) for name in _USED)
        if used_s > capacity_s + SLACK_S:
            # Not new: one of hotproc that was idle before, or whose number was damaged.
            self.problems.add(
                "unread_value", "a process that was seen first had run before: its amounts are left out"
            )
            return {GAUGE: grown[GAUGE]} if GAUGE in grown else {}
        if not is_same and self._family != FAMILIES[0]:
            return {GAUGE: grown[GAUGE]} if GAUGE in grown else {}
        return grown

    def _processes(self, reading: Fetch, scales: Mapping[str, float | None]) -> dict[int, _Process] | None:
        families = (self._family,) if self._family else FAMILIES
        family = next((name for name in families if f"{name}.psinfo.utime" in reading.values), None)
        if family is None:
            return None
        self._family = family
        labels = {label: reading.values.get(f"{family}.{name}", {}) for name, label in LABELS.items()}
        amounts = {
            column: (reading.values[metric], scale)
            for name, column in OF_PROCESSES.items()
            if (metric := f"{family}.{name}") in reading.values and (scale := scales.get(metric)) is not None
        }
        found: dict[int, _Process] = {}
        for number in reading.values[f"{family}.psinfo.utime"]:
            if len(found) >= PROCESSES_MAX:
                self.problems.once(
                    "unread_series", f"more than {PROCESSES_MAX} processes; the rest is left out"
                )
                break
            uid = labels["uid"].get(number)
            if not isinstance(uid, int):
                continue
            found[number] = _Process(
                user=f"uid:{uid}",
                name=_text(labels["name"].get(number)),
                command=_text(labels["command"].get(number)) or "(unknown)",
                amounts={
                    column: value * scale
                    for column, (values, scale) in amounts.items()
                    if not isinstance(value := values.get(number, ""), str)
                    and 0 <= value * scale <= COUNT_MAX
                },
            )
        return found


def _text(value: Value | None) -> str | None:
    return value if isinstance(value, str) and value else None


def _add(row: Row, amounts: Mapping[str, float]) -> None:
    row["processes"] = row.get("processes", 0) + 1
    for name, amount in amounts.items():
        row[name] = row.get(name, 0.0) + amount


def _did_anything(row: Row) -> bool:
    return any(row.get(name) for name in OF_PROCESSES.values() if name != GAUGE)


def _rounded(row: Row) -> Row:
    for name, value in row.items():
        if isinstance(value, float) and not name.endswith("_s"):
            row[name] = min(round(value), COUNT_MAX)
    return {"user_s": None, **row}
