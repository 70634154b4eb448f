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
