"""Facts of the sessions of a log: what the manifest says, each read with the type that it must have.

The manifest is JSON that sources of several authors write, and that anybody may have changed. A fact that is
absent or null is unknown; one of another type is an error that names file, session and key, since a number
computed without it would look like one that was computed with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thinktime.log.log import LogError
from thinktime.stats.estimate import Caveat, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

TEXT_MAX = 100_000
"""Longest text that is believed: names, options and descriptions are far shorter."""
WHOLE_MAX = 2**64
"""Number from which no count is believed: no writer has integers of more than 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A table of facts, with its place in the manifest."""

    file: str
    """Path of the manifest."""
    place: str
    """Session, and key of this table in it: ``session 2: machine``."""
    values: Mapping[str, Any]

    def __contains__(self, key: str) -> bool:
        """True if the fact is known."""
        return self.values.get(key) is not None

    def text(self, key: str) -> str | None:
        """Text; None if it is unknown or empty."""
        value = self.values.get(key)
        if value is None or (isinstance(value, str) and len(value) <= TEXT_MAX):
            return value or None
        raise self._refused(key, f"a text of at most {TEXT_MAX:,} characters")

    def flag(self, key: str) -> bool | None:
        """Truth value; None if it is unknown."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self._refused(key, "true or false")

    def number(self, key: str, *, least: float = -math.inf) -> float | None:
        """Finite number of at least `least`; None if it is unknown. Whole numbers stay integers."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and _is_believable(value, least):
            return value
        raise self._refused(key, "a number" if math.isinf(least) else f"a number of at least {least:g}")

    def whole(self, key: str, *, least: int = 0) -> int | None:
        """Whole number of at least `least`; None if it is unknown."""
        value = self.values.get(key)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and _is_believable(value, least) and value == int(value) and abs(value) < WHOLE_MAX:
            return int(value)
        raise self._refused(key, f"a whole number of at least {least}")

    def numbers(self, key: str, *, least: float = -math.inf) -> float | tuple[float, ...] | None:
        """Finite number of at least `least`, or a list of such numbers; None if it is unknown."""
        value = self.values.get(key)
        if not isinstance(value, list):
            return self.number(key, least=least)
        items = Facts(
            file=self.file,
            place=self.place,
            values={f"{key}[{index}]": item for index, item in enumerate(value)},
        )
        listed = tuple(items.number(name, least=least) for name in items.values)
        known = tuple(float(item) for item in listed if item is not None)
        if not known or len(known) < len(listed):
            raise self._refused(key, "a number or a list of numbers")
        return known

    def table(self, key: str) -> Facts:
        """Table of facts; empty if it is unknown."""
        value = self.values.get(key)
        if not isinstance(value, Mapping | None):
            raise self._refused(key, "a table")
        return Facts(file=self.file, place=self._at(key), values=value or {})

    def tables(self, key: str) -> tuple[Facts, ...]:
        """List of tables of facts; empty if it is unknown."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self._refused(key, "a list of tables")
        return tuple(
            Facts(file=self.file, place=f"{self._at(key)}[{index}]", values=item)
            for index, item in enumerate(value)
        )

    def needed(self, key: str) -> Facts:
        """These facts, if `key` is among them.

        Raises
        ------
        LogError
            It is missing.
        """
        if key not in self:
            raise LogError(f"{self.file}: {self._at(key)} is missing; {REMEDY}")
        return self

    def _at(self, key: str) -> str:
        joint = ": " if self.place.startswith("session ") and ":" not in self.place else "."
        return f"{self.place}{joint}{key}"

    def _refused(self, key: str, needed: str) -> LogError:
        value = self.values[key]
        # The whole of a long text would take longer to quote than it is worth.
        shown = repr(value[: SHOWN_MAX + 1] if isinstance(value, str) else value)
        shown = shown if len(shown) <= SHOWN_MAX else f"{shown[:SHOWN_MAX]}..."
        return LogError(f"{self.file}: {self._at(key)} is {shown}, but must be {needed}; {REMEDY}")


REMEDY = "restore the manifest from a copy, or remove the key where the fact is not known"
SHOWN_MAX = 60
MEASURED_RUN = "measured_run"
"""Key of the facts of a run of a designed experiment on a machine."""
REPLICATIONS = ("replication", MEASURED_RUN)
"""Keys of the facts of a session that is a replication of a cell: simulated, or run on a machine."""


def _is_believable(value: float, least: float) -> bool:
    return math.isfinite(value) and value >= least


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """Value of a response of a replication, as the simulation wrote it."""

    name: str
    value: float | None
    """None if the replication has none."""
    unit: str
    description: str
    quantile: tuple[int, float] | None
    """Index of the distribution of which it is a quantile, and the share below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of a writer."""

    source: str
    """Writer: ``linux``, ``sar``, a simulated system."""
    start_us: int
    """Start, microseconds since 1970 UTC."""
    end_us: int | None
    """End; None while it runs, and for good if its writer was killed."""
    facts: Facts
    """Facts of the source, by key."""

    @property
    def machine(self) -> Facts:
        """Machine that was recorded or simulated."""
        return self.facts.table("machine")

    @property
    def is_replication(self) -> bool:
        """True if the session is a replication of a simulation, or a run of an experiment on a machine."""
        return any(key in self.facts for key in REPLICATIONS)

    @property
    def _replication(self) -> Facts:
        """Facts of the replication; empty for other sessions."""
        return self.facts.table(next((key for key in REPLICATIONS if key in self.facts), REPLICATIONS[0]))

    @property
    def replication_number(self) -> int:
        """Number of the replication, from 0."""
        return self._replication.needed("number").whole("number") or 0

    @property
    def warm_up_s(self) -> float:
        """Time discarded at the start [s]."""
        return float(self._replication.number("warm_up_s", least=0.0) or 0.0)

    def responses(self) -> dict[str, Response]:
        """Responses of the replication by name; empty for other sessions."""
        return {
            name: Response(
                name=name,
                value=item.number("value"),
                unit=item.text("unit") or "",
                description=item.text("description") or "",
                quantile=_quantile(item),
            )
            for item in self._replication.tables("responses")
            if (name := item.needed("name").text("name")) is not None
        }

    def distributions(self) -> tuple[tuple[tuple[float, int], ...], ...]:
        """Distributions of which responses are quantiles: end of each cell [s], and observations in it."""
        return tuple(
            tuple(zip(_listed(item, "ends_s"), map(int, _listed(item, "counts")), strict=False))
            for item in self._replication.tables("distributions")
        )


def _listed(table: Facts, key: str) -> tuple[float, ...]:
    # A distribution without an observation is an empty list.
    found = table.numbers(key, least=0.0) if table.values.get(key) else ()
    return found if isinstance(found, tuple) else ()


def _quantile(response: Facts) -> tuple[int, float] | None:
    of = response.table("quantile")
    index, share = of.whole("distribution"), of.number("share", least=0.0)
    return None if index is None or share is None else (index, float(share))


def sessions(log: Log) -> tuple[Session, ...]:
    """Sessions of the log in the order of the manifest."""
    entries = log.manifest["sessions"]
    # The manifest itself holds the last session; the others stand in a file of their own.
    ended = log.manifest.get("ended_sessions")
    before = log.path / (f"sessions-{ended['number']:06}.jsonl" if ended else "manifest.json")
    return tuple(
        Session(
            source=entry["source"],
            start_us=entry["start_us"],
            end_us=entry.get("end_us"),
            facts=Facts(
                file=str(before if number < len(entries) else log.path / "manifest.json"),
                place=f"session {number}",
                values=entry,
            ),
        )
        for number, entry in enumerate(entries, start=1)
    )


def last_machine(log: Log) -> Facts:
    """Machine of the last session, which represents a log that continues after a change of hardware."""
    entries = sessions(log)
    return entries[-1].machine if entries else none(log)


def none(log: Log) -> Facts:
    """Facts of a log without sessions."""
    return Facts(file=str(log.path / "manifest.json"), place="session 1", values={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """CPU time that the recorder could attribute to users, and that of the whole machine."""

    attributed_s: float
    total_s: float

    @property
    def share(self) -> float:
        """Attributed share of the machine's CPU time, at most 1."""
        return min(self.attributed_s / self.total_s, 1.0) if self.total_s > 0.0 else 1.0

    @property
    def is_partial(self) -> bool:
        """True if so much is missing that the users seen do not stand for all."""
        return self.share < ATTRIBUTED_LEAST


ATTRIBUTED_LEAST = 0.9
"""Attributed share of the CPU time below which no statement about users holds for the machine."""
TICK_S = 0.01
SUMMED_OVER_PROCESSES = "processes"
"""Name of the source of exact CPU time that sees only the processes that the recorder sees."""


def attribution(log: Log) -> Attribution | None:
    """Attributed CPU time over all sessions; None where no recorder accounted for it.

    A recorder that may not see all processes (``hidepid``, a PID namespace) attributes little. Where the
    machine's exact CPU time is itself a sum over the processes seen, the tick-sampled time replaces it.
    """
    attributed_s, total_s, counted = 0.0, 0.0, 0
    for session in sessions(log):
        recorder = session.facts.table("recorder")
        users = recorder.table("users")
        part, whole = users.number("attributed_s", least=0.0), users.number("exact_s", least=0.0)
        if part is not None and recorder.text("exact_time") == SUMMED_OVER_PROCESSES:
            sampled = recorder.table("busy").number("sampled_s", least=0.0) or 0.0
            # Ticks may differ by chance alone: four standard deviations of a tick-sampled time.
            whole = sampled if sampled - part > 4.0 * math.sqrt(TICK_S * sampled) else part
        if part is not None and whole is not None:
            attributed_s, total_s, counted = attributed_s + part, total_s + whole, counted + 1
    return Attribution(attributed_s=attributed_s, total_s=total_s) if counted else None


def chosen_loads(log: Log) -> str | None:
    """Numbers of users through which a play stepped (``4..33..3``); None where none changed them by plan.

    The intervals of such a play are no sample of anything: how many of them have which load was chosen, so
    that a mean over all of them describes the play, and has no interval.
    """
    for session in sessions(log):
        users = session.facts.table("terminals").values.get("users")
        if isinstance(users, str) and ".." in users and not (log.is_part and _has_one_load(log)):
            return users
    return None


def _has_one_load(log: Log) -> bool:
    """True if all inputs of a log were due with one number of users."""
    import polars as pl

    return bool(log.interactions().select(pl.col("population").n_unique() == 1).collect().item())


def driver_problem(log: Log) -> str | None:
    """Why the response times of a play are those of its driver too (``it took 61 % of a CPU``); else None."""
    for session in sessions(log):
        problem = session.facts.table("terminals").table("outcome").text("driver_problem")
        if problem is not None:
            return problem
    return None


def driver_was_load(log: Log) -> NotApplicable | None:
    """Reason why nothing about response times follows from the log.

    None if its driver was not the load, or whoever played accepted it beforehand (`--accept-driver-load`).
    """
    problem = driver_problem(log)
    if problem is None or any(session.facts.flag("driver_load_accepted") for session in sessions(log)):
        return None
    return NotApplicable(
        f"the driver of this play was the load: {problem}; its response times are not those of the system",
        "play again with fewer users or longer think times, or from another machine (--on ssh://HOST); "
        "--accept-driver-load shows the figures all the same",
    )


def caveats_of_users(*logs: Log) -> tuple[Caveat, ...]:
    """Caveat ``few_attributed`` with the share, where the users of a log do not stand for all of its load."""
    known = [item for item in map(attribution, logs) if item is not None]
    shares = [item.share for item in known if item.is_partial]
    return (Caveat("few_attributed", share=min(shares)),) if shares else ()


def different_machines(*logs: Log) -> tuple[str, ...]:
    """Names of the machines or simulated systems, each with its CPUs, if logs are of several; else none."""
    known = [last_machine(log) for log in logs]
    names = [machine.text("hostname") or machine.text("system") for machine in known]
    if len(set(filter(None, names))) < 2:
        return ()
    cpus = [machine.whole("cpus", least=1) for machine in known]
    words = [
        f"{name} with {'one CPU' if count == 1 else f'{count} CPUs'}" if count else name
        for name, count in zip(names, cpus, strict=True)
        if name
    ]
    return tuple(dict.fromkeys(words))
