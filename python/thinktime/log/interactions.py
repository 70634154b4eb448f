"""The interactions of a log as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.observations import Observations

__all__ = ["Interactions", "read"]

Array = NDArray[np.float64]

INSTANTS = ("due", "sent", "first_service", "first_output", "completion")


@dataclass(frozen=True, slots=True)
class Interactions:
    """Interactions in order of arrival; nan is not seen, or never happened.

    Parameters
    ----------
    origin_us : int
        First arrival, microseconds since 1970 UTC.
    times : dict of str to ndarray
        Instants, seconds since `origin_us`: ``due``, ``sent``, ``first_service``, ``first_output``,
        ``completion``.
    columns : dict of str to ndarray
        Columns that were asked for.
    classes : ndarray of str
        Class of each; empty where the source has none.
    ended : ndarray
        Completions that happened, in their order, seconds since `origin_us`.
    """

    origin_us: int
    times: dict[str, Array]
    columns: dict[str, Array]
    classes: NDArray[np.str_]
    ended: Array

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def response(self) -> Array:
        """Input received to completion [s]."""
        return self.times["completion"] - self.times["due"]

    @property
    def service(self) -> Array:
        """CPU time received [s]; where it is not given as a whole, its user and system parts."""
        whole = self.columns["service_s"]
        return np.where(np.isnan(whole), self.columns["user_s"] + self.columns["system_s"], whole)

    def completed_in(self, seen: Observations) -> Array:
        """Interactions completed in each interval; nan before the first arrival and after the last end."""
        start = (seen.start_us - self.origin_us) / 1e6
        end = start + seen.length_s
        done = self.ended
        counts = (np.searchsorted(done, end) - np.searchsorted(done, start)).astype(np.float64)
        last = max(float(np.nanmax(self.times["due"])), float(done[-1]) if len(done) else 0.0)
        return np.where((end > 0.0) & (start < last), counts, np.nan)

    def population_in(self, seen: Observations) -> Array:
        """Users playing in each interval, by the arrivals in it; nan before the first and after the last."""
        arrival, population = self.times["due"], self.columns["population"]
        known = ~np.isnan(population)
        arrival, population = arrival[known], population[known]
        if not len(arrival):
            return np.full(len(seen), np.nan)
        start = (seen.start_us - self.origin_us) / 1e6
        # The population that stood in the middle of the interval: the one of the last arrival before.
        middle = start + seen.length_s / 2
        before = np.searchsorted(arrival, middle, side="right") - 1
        inside = (before >= 0) & (start < arrival[-1])
        return np.where(inside, population[np.maximum(before, 0)], np.nan)


def read(log: Log, names: Sequence[str] = ()) -> Interactions | None:
    """Read the interactions; None where the log has none.

    Parameters
    ----------
    log : Log
    names : sequence of str
        Columns besides ``population``, ``service_s``, ``user_s`` and ``system_s``.
    """
    import polars as pl

    if not log.has("interactions"):
        return None
    known = {column.name for column in log.schema("interactions")}
    wanted = ["population", "service_s", "user_s", "system_s", *names]
    frame = (
        log.interactions()
        .select(
            *(pl.col(name).dt.epoch("us").alias(f"_{name}") for name in INSTANTS if name in known),
            *(pl.col(name).cast(pl.Float64) for name in wanted if name in known),
            (pl.col("class") if "class" in known else pl.lit(None))
            .cast(pl.String)
            .fill_null("")
            .alias("_class"),
        )
        .filter(pl.col("_due").is_not_null())
        .sort("_due", maintain_order=True)
        .collect()
    )
    if frame.is_empty():
        return None
    origin = int(frame["_due"][0])
    absent = np.full(len(frame), np.nan)
    times = {
        name: ((frame[f"_{name}"] - origin).cast(pl.Float64) / 1e6).to_numpy() if name in known else absent
        for name in INSTANTS
    }
    columns = {name: frame[name].to_numpy() if name in known else absent for name in wanted}
    ended = np.sort(times["completion"][~np.isnan(times["completion"])])
    return Interactions(origin, times, columns, frame["_class"].to_numpy().astype(np.str_), ended)
