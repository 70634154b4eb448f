"""Logs of scripted users whose CPU time is metered part by part, with known costs of a page fault."""

import numpy as np
import polars as pl
from known_logs import starts
from time_meters import varied

from thinktime.log import Column, Log, LogWriter

RUN_S = 0.310
FIRST_S, ADDED_S = 7.5e-3, 8.0e-3
"""CPU time of a page fault with four users, and of each one added (Sekino 1969)."""
FAULTS = {4: 16.0, 10: 28.0, 17: 47.0, 20: 58.0}
"""Page faults an interaction, by users."""
ENTRY = {
    "of": "scripted users",
    "users": "users",
    "interactions": "script_interactions",
    "event": {"name": "page fault", "count": "script_page_faults"},
    "parts": [
        {"name": "run", "time": "script_run_s"},
        {"name": "page-fault processing", "time": "script_page_fault_s"},
        {"name": "other faults", "time": "script_other_fault_s"},
    ],
}
OTHER_S = 7.2e-3
"""CPU time of other faults that goes with a page fault."""


def processing(faults):
    """Page-fault processing of an interaction [s]: a line through the point of four users."""
    return FIRST_S * FAULTS[4] + ADDED_S * (faults - FAULTS[4])


def intervals(users, seed, n=400, faults=None):
    """Columns of n intervals with so many users."""
    random = np.random.default_rng([69, seed, users])
    faults = FAULTS[users] if faults is None else faults
    count = random.poisson(3.0 * varied(random, n, 0.1)).astype(float)
    missed = count * faults * varied(random, n)
    # What a fault costs varies by itself; the mean of both is what was put in.
    cost = (missed * ADDED_S + count * (processing(faults) - ADDED_S * faults)) * varied(random, n, 0.05)
    return {
        "length_s": np.full(n, 15.0),
        "users": np.full(n, float(users)),
        "script_interactions": count,
        "script_page_faults": missed,
        "script_run_s": count * RUN_S * varied(random, n, 0.1),
        "script_page_fault_s": cost,
        "script_other_fault_s": missed * OTHER_S * varied(random, n, 0.05),
    }


def joined(parts):
    """Intervals one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def write(path, columns, entry=ENTRY):
    """Write the columns as a log whose manifest describes them."""
    schema = [
        Column(name="start", type="time", unit="us", kind="time", description="start"),
        Column(name="length_s", type="f64", unit="s", kind="time", description="length"),
    ]
    for name in columns:
        if name != "length_s":
            kind = "gauge" if name == "users" else "counter"
            schema.append(
                Column(
                    name=name,
                    type="f64",
                    unit="s" if name.endswith("_s") else "",
                    kind=kind,
                    description=name,
                )
            )
    frame = pl.DataFrame({"start": starts(columns["length_s"]), **columns})
    with LogWriter.open(path, source="test", machine={"cpus": 1, "decomposition": entry}) as writer:
        writer.write("samples", frame.select(column.name for column in schema), schema)
    return Log.open(path)
