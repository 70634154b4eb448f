"""Intervals from logins, logouts and boots: who was there, how often, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from thinktime.errors import InputError
from thinktime.log import Column
from thinktime.sources.importers.importer import Opened, Source
from thinktime.sources.importers.interval import Interval, Row
from thinktime.sources.importers.problems import Problems

INTERVAL_S = 600.0
"""Length of intervals unless another one is given: ten minutes, as periods of the analyses."""
TEXT_MAX = 255
"""Longest name of a user, a terminal or a machine that is kept."""
PLACES_MAX = 32
"""Most terminals of a user that are named in an interval."""
SESSIONS_MAX = 16_384
"""Most sessions at once; more are no logins of one machine."""
ROWS_MAX = 20_000_000
"""Most rows that a file may become: years of minutes, with some users in each."""
SILENCE_US = 400 * 86_400 * 1_000_000
"""Time without a record after which the file has a gap: more than a year."""
STEP_US = 1_000_000
"""What records may be out of order by: two programs write at once."""
TIME_UNSET_US = 946_684_800 * 1_000_000
"""The year 2000: a clock that shows less was not set yet."""

OWN = (
    Column(
        name="session_s",
        type="f64",
        unit="s",
        kind="counter",
        description="Time logged in, summed over the sessions",
    ),
    Column(name="logins", type="u64", unit="login", kind="counter", description="Sessions that began"),
)
OF_MACHINE = (
    *OWN,
    Column(name="logouts", type="u64", unit="logout", kind="counter", description="Sessions that ended"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A login, a logout, or a change of the machine."""

    time_us: int
    before_us: int = 0
    """Time before the clock was set; 0 where it was not, or nobody knows."""
    kind: Literal["login", "logout", "boot", "down", "clock"]
    place: str
    """Where it stands in the file."""
    session: str = ""
    """What a logout has in common with its login: the terminal, or the number of the entry."""
    user: str = ""
    terminal: str = ""
    host: str = ""


@dataclass(slots=True, kw_only=True)
class _User:
    """What a user did in the interval that is under way."""

    since_us: int
    """Time up to which `session_us` is known."""
    session_us: int = 0
    logins: int = 0
    open: dict[str, str] = field(default_factory=dict)
    """Terminal and origin of each session that lasts, as in column ``terminals``."""
    places: dict[str, None] = field(default_factory=dict)
    """Terminals in the interval, in the order in which they came."""

    def last(self, until_us: int) -> None:
        """Let the sessions last until a time."""
        self.session_us += len(self.open) * (until_us - self.since_us)
        self.since_us = until_us

    def name(self, where: str) -> None:
        """Name a terminal as one of the interval."""
        if where and len(self.places) < PLACES_MAX:
            self.places[where] = None


def opened(source: Source, events: Iterator[Event]) -> Opened:
    """Opened file of logins with these events."""
    length_s = INTERVAL_S if source.given.interval is None else source.given.interval
    reading = _Reading(source=source, length_us=round(length_s * 1e6))
    return Opened(
        intervals=reading.intervals(_in_time(events, source.problems)),
        options={"interval_s": length_s},
        columns={"samples": OF_MACHINE, "presence": OWN},
    )


def _in_time(events: Iterator[Event], problems: Problems) -> Iterator[Event]:
    """Events without those whose time is far from both neighbours."""
    before: Event | None = None
    waiting: Event | None = None
    for event in events:
        if waiting is not None:
            is_far = before is None or waiting.time_us - before.time_us > SILENCE_US
            if is_far and waiting.time_us - event.time_us > SILENCE_US:
                problems.add(
                    "damaged_record", f"{waiting.place}: its time is years after that of the next; left out"
                )
            else:
                yield waiting
                before = waiting
        waiting = event
    if waiting is not None:
        yield waiting


@dataclass(slots=True, kw_only=True)
class _Reading:
    source: Source
    length_us: int
    now_us: int = 0
    """Time up to which everything is known; 0 before the first event."""
    begun_us: int = 0
    """Start of the interval that is under way."""
    is_up: bool = True
    rows: int = 0
    logins: int = 0
    logouts: int = 0
    sessions: dict[str, str] = field(default_factory=dict)
    """User of each session that lasts."""
    users: dict[str, _User] = field(default_factory=dict)

    def intervals(self, events: Iterator[Event]) -> Iterator[Interval]:
        """Intervals of the whole file."""
        for event in events:
            yield from self._move(event)
            self._take(event)
        yield from self._cut()
        if self.sessions:
            self.source.problems.add("open_session", "sessions without a logout at the end of the file")

    def _move(self, event: Event) -> Iterator[Interval]:
        """Let time pass until an event; intervals that are complete then."""
        problems, time_us = self.source.problems, event.time_us
        if time_us < TIME_UNSET_US:
            problems.add("clock_step", f"{event.place}: the clock was not set: it showed a time before 2000")
            time_us = self.now_us
        is_first = not self.now_us
        if is_first:
            self.now_us = self.begun_us = time_us
        if self.now_us - time_us > STEP_US and event.kind != "clock":
            problems.add(
                "clock_step",
                f"{event.place}: the time goes back by {(self.now_us - time_us) / 1e6:.0f} s; what follows "
                "counts from the time before",
            )
        time_us = max(time_us, self.now_us)
        if event.kind == "clock" and self.now_us <= event.before_us < time_us:
            yield from self._pass(event.before_us)
            yield from self._restart(time_us)
        elif not self.is_up or event.kind == "boot":
            # Of a machine that stopped by itself nobody knows when.
            lost_s = (time_us - self.now_us) / 1e6
            if self.is_up and not is_first:
                problems.add(
                    "reboot", f"{event.place}: a boot without a shutdown; {lost_s:.0f} s before it dropped"
                )
            yield from self._restart(time_us)
        elif time_us - self.now_us > SILENCE_US:
            days = (time_us - self.now_us) // 86_400_000_000
            problems.add("interval_dropped", f"{event.place}: {days} days without a record before it")
            yield from self._restart(time_us)
        else:
            yield from self._pass(time_us)

    def _restart(self, time_us: int) -> Iterator[Interval]:
        """End the interval that is under way, and begin another one after a gap."""
        yield from self._cut()
        self.now_us = self.begun_us = time_us
        for user in self.users.values():
            user.since_us = time_us

    def _pass(self, time_us: int) -> Iterator[Interval]:
        while True:
            end_us = (self.begun_us // self.length_us + 1) * self.length_us
            self.now_us = min(end_us, time_us)
            if end_us > time_us:
                return
            yield from self._cut()

    def _cut(self) -> Iterator[Interval]:
        """Interval up to now; none if no time has passed in it."""
        if self.now_us <= self.begun_us:
            return
        self.rows += 1 + len(self.users)
        if self.rows > ROWS_MAX:
            raise InputError(
                f"{self.source.path}: would have more than {ROWS_MAX} rows; give longer intervals, as in "
                "--interval 1h"
            )
        start_us, self.begun_us = self.begun_us, self.now_us
        presence = []
        for name, user in list(self.users.items()):
            user.last(self.now_us)
            presence.append(_row(name, user))
            if not user.open:
                del self.users[name]
                continue
            user.session_us = user.logins = 0
            user.places = dict.fromkeys(where for where in islice(user.open.values(), PLACES_MAX) if where)
        samples: Row = {
            "sessions": len(self.sessions),
            "session_s": sum(row["session_s"] for row in presence),
            "logins": self.logins,
            "logouts": self.logouts,
        }
        self.logins = self.logouts = 0
        yield Interval(
            start_us=start_us,
            length_s=(self.now_us - start_us) / 1e6,
            samples=samples,
            tables={"presence": presence},
        )

    def _take(self, event: Event) -> None:
        """What an event changes."""
        problems = self.source.problems
        if event.kind == "boot":
            if self.sessions:
                problems.add(
                    "logout_missing",
                    f"{event.place}: {len(self.sessions)} sessions that a boot without a shutdown ended",
                )
            # The interval that begins now had none of them.
            self.sessions.clear()
            self.users.clear()
        elif event.kind == "down":
            for name in list(self.sessions):
                self._leave(name)
        elif event.kind == "logout":
            self._leave(event.session)
        elif event.kind == "login":
            if event.session in self.sessions:
                problems.add("logout_missing", f"{event.place}: a login where a session had no logout yet")
                self._leave(event.session)
            self._come(event)
        self.is_up = event.kind != "down"

    def _come(self, event: Event) -> None:
        if len(self.sessions) >= SESSIONS_MAX:
            self.source.problems.add(
                "damaged_record", f"{event.place}: more than {SESSIONS_MAX} sessions at once; left out"
            )
            return
        name, host = event.user[:TEXT_MAX], event.host[:TEXT_MAX]
        origin = f"from {host}" if host else ""
        user = self.users.setdefault(name, _User(since_us=self.now_us))
        user.last(self.now_us)
        where = " ".join(part for part in (event.terminal[:TEXT_MAX], origin) if part)
        user.open[event.session] = where
        user.name(where)
        user.logins += 1
        self.logins += 1
        self.sessions[event.session] = name

    def _leave(self, session: str) -> None:
        name = self.sessions.pop(session, None)
        if name is not None:
            self.users[name].last(self.now_us)
            del self.users[name].open[session]
            self.logouts += 1


def _row(name: str, user: _User) -> Row:
    return {
        "user": f"user:{name}",
        "name": name,
        "kind": "person",
        "sessions": len(user.open),
        "terminals": "; ".join(user.places) or None,
        "session_s": user.session_us / 1e6,
        "logins": user.logins,
    }
