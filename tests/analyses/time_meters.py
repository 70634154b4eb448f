"""Logs with meters of events, as `ttm` of Multics gave them, with known mean rates and costs."""

import numpy as np
import polars as pl
from known_logs import starts
from scipy.signal import lfilter

from thinktime.analyses.capacity.state_times import Intervals, StateTimes, of_pieces, wanted
from thinktime.log import Column, Log, LogWriter
from thinktime.log.meters import Meter

PAST = 0.8
"""Correlation of one interval with the next."""

# Sekino 1971, Tables 1 to 3: mean time between events and overhead per event [ms], share [per cent].
SMALL = {
    "page fault": (17.2, 1.95, 11.3),
    "getwork": (9.4, 0.99, 10.5),
    "drum interrupt": (19.6, 1.10, 5.6),
    "interrupt": (56.5, 3.41, 6.0),
    "segment fault": (591.0, 15.37, 2.6),
    "gate fault": (108.0, 3.67, 3.4),
}
LARGE = {
    "page fault": (33.2, 4.31, 13.0),
    "getwork": (14.5, 1.42, 9.8),
    "drum interrupt": (40.0, 2.60, 6.5),
    "interrupt": (82.6, 4.18, 5.1),
    "segment fault": (448.0, 15.62, 3.5),
    "gate fault": (147.0, 3.67, 2.5),
}
IDLE = {"small": 13.7, "large": 17.8}
USEFUL = {"small": 46.7, "large": 41.8}


def names(event):
    """Columns of an event: its count and its time."""
    word = event.replace(" ", "_")
    return f"{word}s", f"{word}_s"


METERS = [{"event": event, "count": names(event)[0], "time": names(event)[1]} for event in SMALL]


def varied(random, n, spread=0.2, past=PAST):
    """Correlated series with mean one."""
    noise = random.normal(size=n + 100) * np.sqrt(1 - past**2)
    return np.exp(spread * lfilter([1.0], [1.0, -past], noise)[100:] - spread**2 / 2)


def intervals(table, cpus, idle, seed, n=1500, length=15.0):
    """Columns of n intervals whose means are the table's; states add to CPUs x length in each."""
    random = np.random.default_rng([53, seed])
    capacity = cpus * length
    columns = {"length_s": np.full(n, length)}
    load = varied(random, n)
    for event, (between, overhead, _) in table.items():
        count, time = names(event)
        columns[count] = capacity / (between / 1e3) * load * varied(random, n, 0.1)
        columns[time] = columns[count] * overhead / 1e3 * varied(random, n, 0.1)
    rest = capacity - sum(columns[names(event)[1]] for event in table)
    part = idle / (100.0 - sum(100 * cost / between for between, cost, _ in table.values()))
    columns["idle_s"] = rest * np.clip(part * varied(random, n, 0.1), 0.0, 1.0)
    columns["useful_s"] = rest - columns["idle_s"]
    columns["lock_wait_s"] = 0.1 * columns["page_fault_s"] * (cpus - 1)
    return columns


def states(columns):
    """The columns as the analysis of capacity reads them."""
    uses = {names(event)[1]: "system" for event in SMALL} | {"idle_s": "idle", "useful_s": "user"}
    found = tuple(Meter(**entry) for entry in METERS)
    piece = Intervals(columns=columns, length_s=columns["length_s"])
    sums = of_pieces(lambda: iter([piece]), wanted(uses, found))
    return StateTimes(uses=uses, ratios=sums, meters=found, absent=(), chosen=None)


def write(path, columns, cpus, **machine):
    """Write the columns as a log of a machine with meters."""
    roles = {"useful_s": "user_time", "idle_s": "idle_time"}
    schema = [
        Column(name="start", type="time", unit="us", kind="time", description="start"),
        Column(name="length_s", type="f64", unit="s", kind="time", description="length"),
    ]
    for name in columns:
        unit = "s" if name.endswith("_s") else "event"
        role = roles.get(name, "system_time" if unit == "s" else "request")
        role = None if name == "lock_wait_s" else role
        if name == "eligible_mean":
            schema.append(Column(name=name, type="f64", unit="process", kind="gauge", description=name))
        elif name != "length_s":
            schema.append(
                Column(name=name, type="f64", unit=unit, kind="counter", description=name, role=role)
            )
    frame = pl.DataFrame({"start": starts(columns["length_s"]), **columns})
    told = {"cpus": cpus, "meters": METERS, **machine}
    with LogWriter.open(path, source="test", machine=told) as writer:
        writer.write("samples", frame.select(column.name for column in schema), schema)
    return Log.open(path)
