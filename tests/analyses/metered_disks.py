"""Log of a machine with meters, made by hand: every figure of its disks follows by arithmetic."""

import numpy as np
from known_logs import frame, starts

from thinktime.log import Column, Log, LogWriter

HERTZ = 60
DRIVES = [
    {"name": "swap", "mean_access_s": 0.0675, "transfer_s_per_byte": 2.35e-6},
    {"name": "files", "mean_access_s": 0.0675, "transfer_s_per_byte": 2.35e-6},
]
STATES = ("none", "drive0", "drive1", "both")
TICKS = {"user": (60, 30, 60, 30), "system": (30, 15, 30, 15), "idle": (90, 60, 120, 60)}
"""Ticks of an interval of 10 s by CPU and drive state: drive 0 is busy for 210 of 600, drive 1 for 315."""
QUEUE = (210, 150, 120, 60, 30, 30)
"""Ticks of an interval that found 0, 1, ... requests: 840 requests in 600 ticks."""
LENGTH_S = 10.0


def column(name):
    """Column of the samples by its name."""
    unit = next((unit for end, unit in (("_s", "s"), ("bytes", "byte")) if name.endswith(end)), "block")
    kind = "time" if name in ("start", "length_s") else "counter"
    sort = "time" if name == "start" else "f64"
    role = {"user_s": "user_time", "system_s": "system_time", "idle_s": "idle_time"}.get(name)
    return Column(
        name=name,
        type=sort,
        unit="click" if name == "swapped_clicks" else unit,
        kind=kind,
        description="made by hand",
        role=role,
    )


def interval():
    """One interval of 10 s."""
    ticks = {
        f"ticks_{cpu}_{state}": count
        for cpu, counts in TICKS.items()
        for state, count in zip(STATES, counts, strict=True)
    }
    lengths = {f"ticks_queue_{length}": 0 for length in range(16)}
    lengths |= {f"ticks_queue_{length}": count for length, count in enumerate(QUEUE)}
    return {
        "user_s": 3.0,
        "system_s": 1.5,
        "idle_s": 5.5,
        "block_reads": 40,
        "read_aheads": 8,
        "cache_hits": 120,
        "block_writes": 20,
        "swap_ins": 5,
        "swap_outs": 5,
        "swapped_clicks": 1570,
        "terminal_in_characters": 2,
        "terminal_out_characters": 400,
        "ticks": 600,
        **ticks,
        **lengths,
        **_drive(0, 10, 100_480, 5, 0.4, 0.24, 3.5),
        **_drive(1, 68, 34_816, 34, 2.6, 0.0816, 5.25),
    }


def _drive(number, requests, moved, seeks, access, transfer, busy):
    names = ("requests", "bytes", "seeks", "access_s", "transfer_s", "busy_s")
    values = (requests, moved, seeks, access, transfer, busy)
    return {f"drive{number}_{name}": value for name, value in zip(names, values, strict=True)}


def rows(count=40, without=(), **changed):
    """`count` intervals that alternate a little about `interval`: means stay, spreads do not vanish.

    `changed` replaces columns, `without` leaves out those that begin so.
    """
    lengths = np.full(count, LENGTH_S)
    made = {"start": starts(lengths), "length_s": lengths}
    for name, value in interval().items():
        if not name.startswith(tuple(without)):
            made[name] = np.full(count, float(value))
    # As many ticks move from one state to another as move back in the next interval.
    wave = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    for up, down, size in (
        ("ticks_idle_none", "ticks_user_drive0", 6),
        ("ticks_queue_0", "ticks_queue_4", 12),
    ):
        if up in made and down in made:
            made[up] = made[up] + size * wave
            made[down] = made[down] - size * wave
    for name, values in changed.items():
        made[name] = np.full(count, values) if np.isscalar(values) else np.asarray(values, dtype=float)
    return made


def write(path, sessions, drives=DRIVES, mode="create"):
    """Write sessions of rows, each with the facts of its replication or None, one after another in time."""
    for number, (made, replication) in enumerate(sessions):
        _write_session(path, "resume" if number else mode, drives, made, replication)
    return Log.open(path)


def _write_session(path, mode, drives, made, replication):
    first_us = int(made["start"][0].timestamp() * 1e6)
    machine = {"cpus": 1, "drives": drives}
    with LogWriter.open(path, mode, source="unix6", machine=machine, start_us=first_us) as writer:
        schema = tuple(column(name) for name in made)
        writer.write("samples", frame(made, schema), schema)
        if replication is not None:
            writer.set("replication", replication)
        writer.end_us = first_us + round(float(np.sum(made["length_s"])) * 1e6)
