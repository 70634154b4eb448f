"""Logins, logouts and boots from the database of wtmpdb."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from thinktime.errors import InputError
from thinktime.sources.importers.importer import Source
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.wtmp.sessions import STEP_US, TEXT_MAX, Event

COLUMNS = ("Type", "User", "Login", "Logout", "TTY", "RemoteHost", "Service")
NO_LOGINS = frozenset(
    {
        "su",
        "su-l",
        "sudo",
        "sudo-i",
        "runuser",
        "runuser-l",
        "cron",
        "crond",
        "atd",
        "polkit-1",
        "systemd-user",
    }
)
"""Services that open a session for somebody who is there already, or for nobody."""
TIME_US_MAX = 2**62
HEAD_BYTES = 100
"""Head of a database of SQLite."""
LATER_FORMAT = "run a wtmpdb of the version that wrote it, or give a file of wtmp"

_BOOT, _USER = 1, 3


def events(source: Source) -> Iterator[Event]:
    """Logins, logouts and boots of a database, by time.

    Raises
    ------
    InputError
        It has no table of logins, or is damaged.
    """
    path = source.path
    for suffix in ("-wal", "-journal"):
        beside = path.with_name(path.name + suffix)
        if beside.is_file() and beside.stat().st_size:
            source.problems.add(
                "unread_journal",
                f"{beside.name} is beside the database and not read: it may have the newest logins; "
                f"sqlite3 {path.name} '.backup copy.db' makes a copy with them",
            )
    _check_length(path, source.problems)
    # Immutable: no lock for which a login would have to wait, and no file is made beside it.
    uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    try:
        connection = source.stack.enter_context(closing(sqlite3.connect(uri, uri=True)))
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        for setting in ("trusted_schema = OFF", "cell_size_check = ON", "temp_store = FILE"):
            connection.execute(f"PRAGMA {setting}")
        _check_table(connection, path)
        counted = Problems()
        starts = _rows(connection, path, "Login", source.problems)
        ends = _rows(connection, path, "Logout", counted)
    except sqlite3.Error as error:
        raise _damaged(path, error) from None
    return heapq.merge(starts, ends, key=lambda event: event.time_us)


def _damaged(path: Path, error: sqlite3.Error) -> InputError:
    return InputError(f"{path}: the database is damaged or no database ({error}); restore it from a copy")


def _check_length(path: Path, problems: Problems) -> None:
    """Tell if the file is shorter than its head says: SQLite takes the missing pages for empty ones."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES:
        return
    page = int.from_bytes(head[16:18], "big")
    pages, changes, counted_at = (int.from_bytes(head[at : at + 4], "big") for at in (28, 24, 92))
    whole = pages * (65_536 if page == 1 else page)
    # A version of SQLite that does not keep the number of pages leaves the one of another change.
    if changes == counted_at and path.stat().st_size < whole:
        problems.add(
            "truncated", f"byte {path.stat().st_size}: the database ends, and its head says {whole} bytes"
        )


def _check_table(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database without a plain table of logins: a view may never end."""
    kinds = connection.execute("SELECT type FROM sqlite_schema WHERE name = 'wtmp'").fetchall()
    if kinds != [("table",)]:
        raise InputError(
            f"{path}: has no table wtmp; give the database of wtmpdb, as /var/lib/wtmpdb/wtmp.db"
        )
    has = {str(row[1]).lower() for row in connection.execute("PRAGMA table_info(wtmp)")}
    for name in COLUMNS:
        if name.lower() not in has:
            raise InputError(f"{path}: table wtmp has no column {name}; {LATER_FORMAT}")


def _rows(connection: sqlite3.Connection, path: Path, at: str, problems: Problems) -> Iterator[Event]:
    """Logins (`at` is ``Login``) or logouts in the order of their times.

    A session may end before it began, by as much as the clock was set meanwhile: it lasts no time.
    """
    order = "Login" if at == "Login" else "max(Login, Logout)"
    texts = ", ".join(f"substr({name}, 1, {TEXT_MAX})" for name in ("User", "TTY", "RemoteHost", "Service"))
    cursor = connection.cursor()
    try:
        cursor.execute(
            f"SELECT rowid, Type, Login, Logout, {texts} FROM wtmp WHERE {at} IS NOT NULL "
            f"ORDER BY {order}, rowid"
        )
        for row in cursor:
            event = _event(row, is_start=at == "Login", problems=problems)
            if event is not None:
                yield event
    except sqlite3.Error as error:
        raise _damaged(path, error) from None


def _event(row: tuple[object, ...], *, is_start: bool, problems: Problems) -> Event | None:
    number, kind, login, logout, user, terminal, host, service = row
    place = f"entry {number}"
    times = [login, logout] if logout is not None else [login]
    if not all(isinstance(time, int) and 0 < time < TIME_US_MAX for time in times) or (
        isinstance(login, int) and isinstance(logout, int) and login - logout > STEP_US
    ):
        problems.add("damaged_record", f"{place}: has no time of login, or a logout before it; left out")
        return None
    assert isinstance(login, int)
    time_us = login if is_start or not isinstance(logout, int) else max(login, logout)
    if kind == _BOOT:
        return Event(time_us=time_us, kind="boot" if is_start else "down", place=place)
    if kind != _USER or service in NO_LOGINS:
        return None
    if not is_start:
        return Event(time_us=time_us, kind="logout", place=place, session=str(number))
    if not isinstance(user, str) or not user:
        problems.add("damaged_record", f"{place}: names no user; left out")
        return None
    # An sshd that has no terminal yet says ssh.
    terminal = terminal if isinstance(terminal, str) and terminal != "ssh" else ""
    host = host if isinstance(host, str) else ""
    return Event(
        time_us=time_us,
        kind="login",
        place=place,
        session=str(number),
        user=user,
        terminal=terminal,
        host=host,
    )
