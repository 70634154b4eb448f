"""The interactions of a log as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

INSTANTS = ("due", "sent", "first_service", "first_output", "completion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Interactions in the order in which they were due; nan for times not recorded or not reached."""

    origin_us: int
    """First arrival, microseconds since 1970 UTC."""
    times: dict[str, Array]
    """Instants, seconds since `origin_us`: ``due``, ``sent``, ``first_service``, ``first_output``,
    ``completion``."""
    columns: dict[str, Array]
    """Other columns by name."""
    _derived: dict[str, Array] = field(default_factory=dict, repr=False)
    """What follows from the columns, computed once."""

    def __len__(self) -> int:
        return len(self.times["due"])

    @property
    def response(self) -> Array:
        """Time from the input to completion [s]."""
        if "response" not in self._derived:
            self._derived["response"] = self.times["completion"] - self.times["due"]
        return self._derived["response"]

    @property
    def service(self) -> Array:
        """CPU time received [s]; the sum of user and system time where the log has no total."""
        if "service" not in self._derived:
            total, parts = self.columns["service_s"], self.columns["user_s"] + self.columns["system_s"]
            self._derived["service"] = np.where(np.isnan(total), parts, total)
        return self._derived["service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions(Inputs):
    """All interactions of a log."""

    classes: NDArray[np.str_]
    """Class of each interaction; empty strings if the source has none."""
    users: NDArray[np.str_]
    """User of each interaction; empty strings if the source has none."""
    ended: Array
    """Times of the completions, ascending, seconds since `origin_us`."""

    def completed_in(self, observed: Observations) -> Array:
        """Interactions completed in each interval; nan before the first arrival and after the last end."""
        start = (observed.start_us - self.origin_us) / 1e6
        end = start + observed.length_s
        ended = self.ended
        counts = (np.searchsorted(ended, end) - np.searchsorted(ended, start)).astype(np.float64)
        last = max(float(np.nanmax(self.times["due"])), float(ended[-1]) if len(ended) else 0.0)
        return np.where((end > 0.0) & (start < last), counts, np.nan)

    def population_in(self, observed: Observations) -> Array:
        """Users playing in each interval, by the arrivals; nan before the first and after the last."""
        arrival, population = self.times["due"], self.columns["population"]
        counted = ~np.isnan(population)
        arrival, population = arrival[counted], population[counted]
        if not len(arrival):
            return np.full(len(observed), np.nan)
        start = (observed.start_us - self.origin_us) / 1e6
        # The population in the middle of the interval is that of the last arrival before it.
        middle = start + observed.length_s / 2
        before = np.searchsorted(arrival, middle, side="right") - 1
        inside = (before >= 0) & (start < arrival[-1])
        return np.where(inside, population[np.maximum(before, 0)], np.nan)


def read(log: Log, names: Sequence[str] = ()) -> Interactions | None:
    """Interactions of the log; None if it has none.

    Parameters
    ----------
    log : Log
    names : sequence of str
        Columns besides ``population``, ``service_s``, ``user_s`` and ``system_s``. The think time ``think_s``
        of an input is that since the last reply that its user waited for: what was typed in between, without
        waiting, is a part of it.
    """
    if not log.has("interactions"):
        return None
    schema = {column.name for column in log.schema("interactions")}
    thinks = "think_s" in names and {"think_s", "waited", "completion"} <= schema
    frame = (
        selected(log, log.interactions(), names)
        .sort("_due", maintain_order=True)
        .with_columns(*((_thought(),) if thinks else ()))
        .filter(answered(log))
        .collect()
    )
    if frame.is_empty():
        return None
    origin = int(frame["_due"][0])
    times, columns = arrays(frame, names, origin)
    ended = np.sort(times["completion"][~np.isnan(times["completion"])])
    return Interactions(
        origin_us=origin,
        times=times,
        columns=columns,
        classes=frame["_class"].to_numpy().astype(np.str_),
        users=frame["_user"].to_numpy().astype(np.str_),
        ended=ended,
    )


def _wanted(names: Sequence[str]) -> list[str]:
    return ["population", "service_s", "user_s", "system_s", *names]


def selected(log: Log, part: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Columns of interactions that are needed; instants, class and user with an underscore before them."""
    import polars as pl

    schema = {column.name for column in log.schema("interactions")}
    unseen = {"waited", "completion"} <= schema
    return part.select(
        *(pl.col(name).dt.epoch("us").alias(f"_{name}") for name in INSTANTS if name in schema),
        *(pl.col(name).cast(pl.Float64) for name in _wanted(names) if name in schema),
        (pl.col("class") if "class" in schema else pl.lit(None))
        .cast(pl.String)
        .fill_null("")
        .alias("_class"),
        (pl.col("user") if "user" in schema else pl.lit(None)).cast(pl.String).fill_null("").alias("_user"),
        *((pl.col("waited").fill_null(True).alias("_waited"),) if unseen else ()),
    ).filter(pl.col("_due").is_not_null())


def answered(log: Log) -> pl.Expr:
    """Condition on `selected` rows that they are interactions.

    An input whose reply nobody waited for, and whose end nobody saw, is not an unfinished one.
    """
    import polars as pl

    schema = {column.name for column in log.schema("interactions")}
    return _is_answered() if {"waited", "completion"} <= schema else pl.lit(True)


def arrays(
    frame: pl.DataFrame, names: Sequence[str], origin: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Instants, seconds since `origin`, and other columns of `selected` rows."""
    absent = np.full(len(frame), np.nan)
    times = {
        name: seconds(frame[f"_{name}"], origin) if f"_{name}" in frame.columns else absent
        for name in INSTANTS
    }
    columns = {name: frame[name].to_numpy() if name in frame.columns else absent for name in _wanted(names)}
    return times, columns


def seconds(instants: pl.Series, origin: int) -> Array:
    """Instants in microseconds as seconds since `origin`; nan for null."""
    import polars as pl

    result: Array = ((instants - origin).cast(pl.Float64) / 1e6).to_numpy()
    return result


def _is_answered() -> pl.Expr:
    """Condition that the reply was waited for, or its end seen."""
    import polars as pl

    return pl.col("_completion").is_not_null() | pl.col("_waited")


def _thought() -> pl.Expr:
    """Think time with that of the inputs before it that nobody waited for; rows are in their order."""
    import polars as pl

    cycle = _is_answered().shift(1, fill_value=False).cum_sum().over("_user")
    whole = pl.col("think_s").sum().over("_user", cycle)
    return pl.when(pl.col("think_s").is_not_null()).then(whole).alias("think_s")
