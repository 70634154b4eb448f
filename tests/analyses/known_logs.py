"""Columns of logs with known truth."""

import numpy as np
import polars as pl

EPOCH_US = 1_700_000_000_000_000


def starts(lengths, first_s=0.0):
    """Start of each interval, one after another."""
    ends = first_s + np.cumsum(lengths)
    microseconds = EPOCH_US + np.round((ends - lengths) * 1e6).astype(np.int64)
    return pl.Series(microseconds).cast(pl.Datetime("us", "UTC"))


def instants(seconds):
    """Instants from seconds since the first interval; nan becomes null."""
    microseconds = pl.Series(np.asarray(seconds, dtype=float)).fill_nan(None) * 1e6 + EPOCH_US
    return microseconds.round().cast(pl.Int64).cast(pl.Datetime("us", "UTC"))


def frame(columns, schema):
    kinds = {column.name: column.type for column in schema}
    series = []
    for name, values in columns.items():
        one = values if isinstance(values, pl.Series) else pl.Series(values)
        one = one.alias(name)
        if one.dtype.is_float():
            one = one.fill_nan(None)
        if kinds[name] == "u64":
            one = one.round().cast(pl.UInt64) if one.dtype.is_float() else one.cast(pl.UInt64)
        series.append(one)
    return pl.DataFrame(series)


def closed_system(populations=(1, 2, 4, 8), hold_s=400.0, think_s=4.0, service_s=1.0, seed=3):
    """Users who think and wait for one server, first come first served; think and service exponential."""
    random = np.random.default_rng(seed)
    rows = []
    for step, population in enumerate(populations):
        begin, free = step * hold_s, step * hold_s
        waiting = sorted((begin + random.exponential(think_s), user) for user in range(population))
        while waiting:
            arrival, user = waiting.pop(0)
            if arrival >= begin + hold_s:
                continue
            served = random.exponential(service_s)
            first = max(arrival, free)
            free = first + served
            done = free if free < begin + hold_s else np.nan
            rows.append((user, population, arrival, first, done, served))
            waiting = sorted([*waiting, (free + random.exponential(think_s), user)])
    rows.sort(key=lambda row: row[2])
    user, population, arrival, first, done, served = map(np.array, zip(*rows, strict=True))
    return {
        "user": [f"user:{number}" for number in user],
        "class": np.where(served < service_s, "short", "long").tolist(),
        "population": population,
        "due": instants(arrival),
        "sent": instants(arrival),
        "first_service": instants(first),
        "first_output": instants(first),
        "completion": instants(done),
        "service_s": served,
    }


def steady(n=200, seed=1):
    """Samples of a machine under a load that does not change."""
    random = np.random.default_rng(seed)
    length = 1.0 + random.random(n)
    return {
        "start": starts(length),
        "length_s": length,
        "user_s": 0.5 * length,
        "forks": random.poisson(100 * length),
        "net_packets_in": np.zeros(n),
        "runnable": random.integers(0, 4, n),
        "processes": np.full(n, 150),
    }
