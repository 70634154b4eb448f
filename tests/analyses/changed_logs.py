"""Logs of days under two treatments, with known effects: no effect on anything unless one is asked for."""

import numpy as np
import polars as pl
from known_logs import frame
from scipy.signal import lfilter

from thinktime.log import Column, Log, LogWriter

MONDAY_US = 10_627_200_000_000
"""1970-05-04, a Monday."""
DAY_US = 86_400_000_000
LENGTH_S = 300.0
BARD = (1, 0, 0, 1, 0, 1, 1, 0)
"""New on Monday and Thursday of the first week, Tuesday and Wednesday of the second (Bard 1971)."""
DAYS = (0, 1, 2, 3, 7, 8, 9, 10)
"""Monday to Thursday of two weeks, counted from the first Monday."""
COSTS = {"base": 0.009, "vsio": 0.0097, "page_ios": 0.003, "problem": 0.134}
"""CPU time of the system: per second, per request, per second of problem time."""

SCHEMA = (
    Column(name="start", type="time", unit="us", kind="time", description="begin of the interval"),
    Column(name="length_s", type="f64", unit="s", kind="time", description="length of the interval"),
    Column(
        name="problem_s", type="f64", unit="s", kind="counter", description="problem state", role="user_time"
    ),
    Column(
        name="cp_s", type="f64", unit="s", kind="counter", description="supervisor state", role="system_time"
    ),
    Column(
        name="vsio",
        type="f64",
        unit="request",
        kind="counter",
        description="virtual selector I/O",
        role="request",
    ),
    Column(
        name="page_ios",
        type="f64",
        unit="request",
        kind="counter",
        description="pages in and out",
        role="request",
    ),
    Column(
        name="active_users", type="f64", unit="user", kind="gauge", description="users who ran", role="load"
    ),
    Column(name="new", type="u64", unit="", kind="gauge", description="new algorithm in force"),
)


def days(
    treated=BARD,
    at=DAYS,
    *,
    seed=1,
    per_day=100,
    saved=0.0,
    lift=0.0,
    loaded=0.0,
    day_sd=0.01,
    follows=0.9,
):
    """Columns of the samples of days `at`, one after another.

    Parameters
    ----------
    saved : float
        What a treated VSIO costs less [s].
    lift : float
        What the treatment adds to the problem time of each second [s/s].
    loaded : float
        Users that treated days have more.
    day_sd : float
        Standard deviation of a whole day's problem time [s/s].
    follows : float
        Correlation of an observation's deviation with the next one's.
    """
    random = np.random.default_rng(seed)
    parts = []
    for chosen, day in zip(treated, at, strict=True):
        deviation = _series(random, per_day, follows)
        users = np.maximum(1.0, np.round(12 + loaded * chosen + random.normal(0, 2) + 5 * deviation))
        whole = random.normal(0, day_sd)
        problem = 0.05 + 0.012 * users + lift * chosen + whole + 0.02 * _series(random, per_day, follows)
        problem = np.clip(problem, 0.001, 0.7)
        vsio = np.clip(0.9 * users + 2.0 * _series(random, per_day, follows), 0.1, None)
        pages = np.clip(0.4 * users + 1.5 * _series(random, per_day, follows), 0.1, None)
        cost = COSTS["vsio"] - saved * chosen
        system = COSTS["base"] + cost * vsio + COSTS["page_ios"] * pages + COSTS["problem"] * problem
        system = system + random.gamma(0.5, 0.004, per_day)
        starts = MONDAY_US + day * DAY_US + 8 * 3_600_000_000 + np.arange(per_day) * int(LENGTH_S * 1e6)
        parts.append(
            {
                "start": starts,
                "length_s": np.full(per_day, LENGTH_S),
                "problem_s": problem * LENGTH_S,
                "cp_s": system * LENGTH_S,
                "vsio": vsio * LENGTH_S,
                "page_ios": pages * LENGTH_S,
                "active_users": users,
                "new": np.full(per_day, chosen),
            }
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _series(random, n, follows):
    """Normal deviations of variance one that follow each other."""
    steps = random.standard_normal(n) * np.sqrt(1 - follows**2)
    return lfilter([1.0], [1.0, -follows], steps, zi=[follows * random.standard_normal()])[0]


def write(path, columns, schema=SCHEMA, replication=None, mode="create", **machine):
    """Write columns as a log of a machine; with facts of a replication, of a simulated one."""
    made = dict(columns)
    made["start"] = pl.Series(np.asarray(columns["start"])).cast(pl.Datetime("us", "UTC"))
    used = tuple(column for column in schema if column.name in made)
    with LogWriter.open(
        path, mode, source="test", machine=machine, start_us=int(columns["start"][0])
    ) as writer:
        writer.write("samples", frame({column.name: made[column.name] for column in used}, used), used)
        if replication is not None:
            writer.set("replication", replication)
        writer.end_us = int(columns["start"][-1]) + round(float(columns["length_s"][-1]) * 1e6)
    return Log.open(path)
