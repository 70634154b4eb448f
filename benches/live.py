"""What a refresh of `thinktime-recorder live` costs with a thousand users and a thousand control groups.

CPU time (user and system) of a refresh is the difference of a longer and a shorter run on a pseudo-terminal,
divided by the refreshes between them: what starting and reading the log cost is in neither. The reference is
`top` with a thousand processes, which measures them too.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import os
import pty
import random
import resource
import shutil
import struct
import subprocess
import tempfile
import termios
from pathlib import Path
from typing import Any

import polars as pl
from programs import ROOT

from recorder import sleepers
from thinktime.log import LogWriter

RECORDER = ROOT / "target" / "static" / "thinktime-recorder"
THINGS = 1000
"""Users, and control groups."""
INTERVALS = 20
SHORT, LONG = 10, 210
"""Refreshes of the shorter and of the longer run."""
SHOWN = b"\x1b[?2026l"
"""End of a screen."""
SIZES = ((80, 24), (200, 50))
TOP_SHORT, TOP_LONG = 2, 12


def make_log(path: Path) -> None:
    """A log in which every user, with two commands, and every group does something in every interval."""
    drawn = random.Random(1)
    begin = dt.datetime(2026, 3, 5, 13, 45, tzinfo=dt.timezone.utc)
    starts = [begin + dt.timedelta(seconds=second) for second in range(INTERVALS)]

    def amounts(*columns: str) -> dict[str, float]:
        return {column: drawn.random() for column in columns}

    samples = [{"start": start, "length_s": 1.0, "active_users": THINGS} for start in starts]
    use = ("cpu_exact_s", "run_delay_s")
    users = [
        {"start": start, "user": f"uid:{number}", "name": f"user{number}", "processes": 3} | amounts(*use)
        for start in starts
        for number in range(1000, 1000 + THINGS)
    ]
    commands = [
        {"start": row["start"], "user": row["user"], "command": command} | amounts(*use)
        for row in users
        for command in ("cc1", "make")
    ]
    groups = [
        {"start": start, "group": f"/system.slice/{number % 30}.slice/{number}.service"}
        | {"memory_bytes": 10**8 if start == begin else None}
        | amounts("cpu_s", "user_s", "system_s", "throttled_s", "psi_cpu_some_s")
        for start in starts
        for number in range(THINGS)
    ]
    tables = {"samples": samples, "users": users, "commands": commands, "groups": groups}
    with LogWriter.open(path, source="linux", start_us=int(begin.timestamp() * 1e6)) as writer:
        for table, rows in tables.items():
            frame = pl.DataFrame(rows, infer_schema_length=None)
            writer.write(table, frame.with_columns(pl.col("start").cast(pl.Datetime("us", "UTC"))))


def viewing_s(log: Path, keys: bytes, size: tuple[int, int], refreshes: int) -> float:
    """CPU time of a view of `size` that is asked for so many refreshes, after `keys`."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    command = [RECORDER, "live", log, "--at", "-1s"]
    environment = os.environ | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    viewer = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)

    def await_screen() -> None:
        seen = b""
        while SHOWN not in seen:
            seen = seen[-len(SHOWN) :] + os.read(master, 1 << 16)

    try:
        await_screen()
        # Back and forth: every refresh shows another interval.
        steps = [bytes([key]) for key in keys] + [b"\x1b[D", b"\x1b[C"] * (refreshes // 2)
        for step in steps:
            os.write(master, step)
            await_screen()
        os.write(master, b"q")
        _, status, usage = os.wait4(viewer.pid, 0)
        viewer.returncode = os.waitstatus_to_exitcode(status)
    finally:
        os.close(master)
        if viewer.returncode is None:
            viewer.kill()
            viewer.wait()
    if viewer.returncode != 0:
        raise RuntimeError(f"the view ended with status {viewer.returncode}")
    return usage.ru_utime + usage.ru_stime


def refresh_ms(log: Path, keys: bytes, size: tuple[int, int]) -> float:
    """CPU time of a refresh, by the difference of two runs."""
    short, long = (viewing_s(log, keys, size, refreshes) for refreshes in (SHORT, LONG))
    return 1000 * (long - short) / (LONG - SHORT)


def top_ms() -> float | None:
    """CPU time of a refresh of `top` with as many processes; None where it is not installed."""
    if shutil.which("top") is None:
        return None

    def run_s(refreshes: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        top = ["top", "-b", "-d", "0.1", "-n", str(refreshes)]
        subprocess.run(top, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    with sleepers(THINGS):
        return 1000 * (run_s(TOP_LONG) - run_s(TOP_SHORT)) / (TOP_LONG - TOP_SHORT)


def run() -> list[dict[str, Any]]:
    """CPU time of a refresh by panel and size of the screen."""
    subprocess.run(["make", "--silent", "static"], check=True, cwd=ROOT)
    reference = top_ms()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        make_log(log)
        for panel, keys in (("users", b"1"), ("groups", b"2")):
            for columns, lines in SIZES:
                ours = refresh_ms(log, keys, (columns, lines))
                rows.append(
                    {
                        "work": f"live: refresh, {THINGS} {panel}, {columns} x {lines}",
                        "unit": "ms CPU/refresh",
                        "ours": ours,
                        "reference": reference,
                        "reference_name": None if reference is None else f"top, {THINGS} processes",
                        "ratio": None if reference is None else reference / ours,
                    }
                )
    return rows
