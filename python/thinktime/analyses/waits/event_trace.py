"""The events of a log as interactions, visits and slices."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log.periods import Span

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stretches:
    """Times that begin with one kind of event and end with another of the same user; nan for no end."""

    start: Array
    end: Array
    interaction: Codes
    """Number of the interaction in which each began; -1 before its user's first input."""

    def begun_in(self, span: Span) -> int:
        """Number of stretches that begin in `span`."""
        return int(((self.start >= span.start) & (self.start < span.end)).sum())

    def within(self, spans: Sequence[Span]) -> Array:
        """Lengths of the stretches that begin and end in one of `spans`, in order."""
        inside = np.zeros(len(self.start), dtype=np.bool_)
        for span in spans:
            inside |= (self.start >= span.start) & (self.end <= span.end)
        order = np.argsort(self.start[inside], kind="stable")
        lengths: Array = (self.end - self.start)[inside]
        ordered: Array = lengths[order]
        return ordered

    def censored(self, ends: Array) -> Stretches:
        """Stretches of which those without an end last until `ends`."""
        return dataclasses.replace(self, end=np.where(np.isnan(self.end), ends, self.end))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTrace:
    """Interactions in order of user and arrival, and slices, swaps and waits; seconds since `origin_us`."""

    origin_us: int
    last: float
    """The last event."""
    user: Codes
    arrival: Array
    first_slice: Array
    """Start of the first slice; nan where there was none."""
    first_slice_end: Array
    completion: Array
    completed: Array
    """Completions as they were seen; `completion` has the end of the session where there was none."""
    command: NDArray[np.bool_]
    """True if it loaded a library directory or is of a class of commands."""
    slices: Stretches
    swap_ins: Stretches
    swap_outs: Stretches
    library_loads: Stretches
    output_waits: Stretches
    cpus: int
    overlapping: int = 0
    """Inputs before the completion of the same user's last one; `censored` counts them."""

    @property
    def unfinished(self) -> int:
        """Interactions that were never completed."""
        return len(self.arrival) - len(self.completed)

    def censored(self, spans: Sequence[Span]) -> EventTrace:
        """Trace in which everything without an end lasts until its session ends, or the user's next input."""
        ends = np.array([span.end for span in spans])

        def until(start: Array) -> Array:
            at = np.minimum(np.searchsorted(ends, start, side="left"), len(ends) - 1)
            limit: Array = np.maximum(ends[at], start)
            return limit

        following = np.append(self.arrival[1:], np.inf)
        same = np.append(self.user[1:] == self.user[:-1], False)
        closing = until(self.arrival)
        open_ended = np.isnan(self.completion)
        in_first = ~np.isnan(self.first_slice) & np.isnan(self.first_slice_end)
        # A new input of the same user in the same session ends an interaction that was never completed.
        overtaken = open_ended & same & (following < closing)
        closing = np.where(overtaken, following, closing)
        return dataclasses.replace(
            self,
            overlapping=int(overtaken.sum()),
            first_slice_end=np.where(in_first, closing, self.first_slice_end),
            completion=np.where(open_ended, closing, self.completion),
            slices=self.slices.censored(until(self.slices.start)),
            swap_ins=self.swap_ins.censored(until(self.swap_ins.start)),
            swap_outs=self.swap_outs.censored(until(self.swap_outs.start)),
            library_loads=self.library_loads.censored(until(self.library_loads.start)),
            output_waits=self.output_waits.censored(until(self.output_waits.start)),
        )


def has_inputs(log: Log) -> bool:
    """Whether the trace has inputs: that of a scheduler has none, and millions of other events."""
    import polars as pl

    kind = pl.col("kind").cast(pl.String)
    return not log.events().select(kind).filter(kind == "input").head(1).collect().is_empty()


def read(log: Log) -> EventTrace | None:
    """Events of a log; None where it has none."""
    import polars as pl

    if not log.has("events"):
        return None
    frame = (
        log.events()
        .select(
            pl.col("time").dt.epoch("us").alias("time"),
            pl.col("kind").cast(pl.String).fill_null(""),
            pl.col("user").cast(pl.String).fill_null(""),
            pl.col("cpu"),
        )
        .filter(pl.col("time").is_not_null())
        # Events of one instant stay as they were written, in the order of their happening.
        .sort("time", maintain_order=True)
        .sort("user", maintain_order=True)
        .collect()
    )
    if frame.is_empty():
        return None
    return _made(log, frame)


def _made(log: Log, frame: pl.DataFrame) -> EventTrace:
    import polars as pl

    epoch = frame["time"].to_numpy()
    origin = int(epoch.min())
    time = (epoch - origin) / 1e6
    kind = frame["kind"].to_numpy().astype(np.str_)
    user = frame["user"].rank("dense").cast(pl.Int64).to_numpy() - 1
    inputs = kind == "input"
    # Number of the interaction that an event belongs to; -1 before its user's first input.
    number = np.cumsum(inputs) - 1
    count = int(inputs.sum())
    owner = user[inputs]
    number = (
        np.where((number >= 0) & (owner[np.maximum(number, 0)] == user), number, -1) if count else -1 - inputs
    )
    completion = _first(time, number, kind == "completion", count)
    loads = np.zeros(count, dtype=np.bool_)
    loading = number[(kind == "library_load_start") & (number >= 0)]
    loads[loading] = True
    ended = ~np.isnan(completion)

    def stretches(name: str) -> Stretches:
        return _stretches(time, user, number, kind, name)

    slices = stretches("slice")
    which, at = np.unique(slices.interaction, return_index=True)
    first_slice, first_slice_end = np.full(count, np.nan), np.full(count, np.nan)
    first_slice[which[which >= 0]] = slices.start[at[which >= 0]]
    first_slice_end[which[which >= 0]] = slices.end[at[which >= 0]]

    return EventTrace(
        origin_us=origin,
        last=float(time.max()),
        user=owner,
        arrival=time[inputs],
        first_slice=first_slice,
        first_slice_end=first_slice_end,
        completion=completion,
        completed=completion[ended],
        command=loads | _commands(log, frame["user"].to_numpy()[inputs], epoch[inputs]),
        slices=slices,
        swap_ins=stretches("swap_in"),
        swap_outs=stretches("swap_out"),
        library_loads=stretches("library_load"),
        output_waits=stretches("output_wait"),
        cpus=max(1, frame["cpu"].drop_nulls().n_unique()),
    )


def _first(time: Array, number: Codes, chosen: NDArray[np.bool_], count: int) -> Array:
    """Time of the first chosen event of each interaction; nan where there is none."""
    result = np.full(count, np.nan)
    rows = np.flatnonzero(chosen & (number >= 0))
    which, at = np.unique(number[rows], return_index=True)
    result[which] = time[rows[at]]
    return result


def _stretches(time: Array, user: Codes, number: Codes, kind: NDArray[np.str_], name: str) -> Stretches:
    """Stretches of each start and the next event of its user, where that is the end."""
    rows = np.flatnonzero((kind == f"{name}_start") | (kind == f"{name}_end"))
    begins = kind[rows] == f"{name}_start"
    following = np.append(rows[1:], -1)
    paired = np.append(~begins[1:] & (user[rows[1:]] == user[rows[:-1]]), False)[: len(rows)]
    end = np.where(paired, time[following], np.nan)
    return Stretches(time[rows[begins]], end[begins], number[rows[begins]])


def _commands(log: Log, users: NDArray[np.object_], epoch: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True if the interaction that began with an input is of a class of commands."""
    import polars as pl

    inputs = pl.DataFrame({"user": users.astype(np.str_), "time": epoch})
    if not log.has("interactions"):
        return np.zeros(len(inputs), dtype=np.bool_)
    commands = (
        log.interactions()
        .filter(pl.col("class").cast(pl.String).str.to_lowercase().str.contains("command"))
        .select(
            pl.col("user").cast(pl.String),
            pl.col("due").dt.epoch("us").alias("time"),
            pl.lit(True).alias("command"),
        )
        .unique(["user", "time"])
        .collect()
    )
    joined = inputs.join(commands, on=["user", "time"], how="left", maintain_order="left")
    commands_of: NDArray[np.bool_] = joined["command"].fill_null(False).to_numpy()
    return commands_of
