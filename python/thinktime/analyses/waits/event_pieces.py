"""The events of interactions, read in pieces, in the order of time."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log.interaction_pieces import evenly
from thinktime.log.log import LogWarning
from thinktime.log.observations import ROWS

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

SLICE, OUTPUT_WAIT, LIBRARY_LOAD = "slice", "output_wait", "library_load"
PAIRS = (SLICE, "swap_in", "swap_out", LIBRARY_LOAD, OUTPUT_WAIT)
"""What begins with one kind of event and ends with another."""
KINDS = ("input", "completion", *(f"{pair}_{side}" for pair in PAIRS for side in ("start", "end")))
INPUT, COMPLETION = KINDS.index("input"), KINDS.index("completion")


def has_inputs(log: Log) -> bool:
    """Whether the trace has inputs: that of a scheduler has none, and millions of other events."""
    import polars as pl

    kind = pl.col("kind").cast(pl.String)
    return any(
        not part.select(kind).filter(kind == "input").head(1).collect().is_empty()
        for part in log.in_turn("events")
    )


class Events:
    """Events of a log in the order of time, in pieces as often as they are needed.

    A first look finds first and last event, users and processors. Rows that are not in the order of time are
    all held in memory, and a `LogWarning` says so.

    Parameters
    ----------
    log : Log
        A log that has inputs (`has_inputs`).
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        users, cpus, ordered = set[str](), set[int](), True
        first = last = before = None
        self.n = 0
        """Number of events with a time."""
        held: list[pl.DataFrame] = []
        for frame in self._frames():
            time = frame["time"].to_numpy()
            steps = np.diff(time, prepend=time[0] if before is None else before)
            ordered = ordered and not bool((steps < 0).any())
            before = int(time[-1])
            first = int(time.min()) if first is None else min(first, int(time.min()))
            last = int(time.max()) if last is None else max(last, int(time.max()))
            users |= set(frame["user"].unique().to_list())
            cpus |= set(frame["cpu"].drop_nulls().unique().to_list())
            self.n += len(frame)
            held = [frame] if self.n <= ROWS else []
        self.origin_us = 0 if first is None else first
        """First event, microseconds since 1970 UTC."""
        self.last = 0.0 if last is None else (last - self.origin_us) / 1e6
        """Last event, seconds since `origin_us`."""
        self.users = tuple(sorted(users))
        """Names of the users, ascending."""
        self.cpus = max(1, len(cpus))
        """Number of processors."""
        self._held: pl.DataFrame | None = held[0] if held else None
        if self.n > ROWS and not ordered:
            warnings.warn(
                f"{log.path}: its events are not written in the order of time, so that all {self.n} of them "
                "are held in memory; a log that is written again in that order takes less",
                LogWarning,
                stacklevel=4,
            )
            import polars as pl

            self._held = pl.concat(list(self._frames()))
        if self._held is not None:
            # Events of one instant stay as they were written, in the order of their happening.
            self._held = self._held.sort("time", maintain_order=True)

    def _frames(self) -> Iterator[pl.DataFrame]:
        """Rows with an instant, as they were written."""
        import polars as pl

        def collected() -> Iterator[pl.DataFrame]:
            for part in self.log.in_turn("events"):
                rows = part.select(
                    pl.col("time").dt.epoch("us").alias("time"),
                    pl.col("kind").cast(pl.String),
                    pl.col("user").cast(pl.String).fill_null(""),
                    pl.col("cpu"),
                ).filter(pl.col("time").is_not_null())
                yield from rows.collect_batches(chunk_size=ROWS, maintain_order=True)

        return evenly(collected(), ROWS)

    def frames(self, kinds: Sequence[str] = KINDS) -> Iterator[Rows]:
        """Events of some kinds from the start; the events of one instant are all in one piece."""
        import polars as pl

        pieces = _whole_instants(self._frames()) if self._held is None else iter([self._held])
        for frame in pieces:
            times = frame["time"].to_numpy()
            chosen = frame.select(
                "time",
                pl.col("kind").cast(pl.Enum(KINDS), strict=False).to_physical().cast(pl.Int64),
                pl.col("user").cast(pl.Enum(self.users)).to_physical().cast(pl.Int64),
            ).filter(pl.col("kind").is_in([KINDS.index(kind) for kind in kinds]))
            ordered = chosen.sort("user", maintain_order=True)
            yield Rows(
                epoch_us=ordered["time"].to_numpy(),
                time=(ordered["time"].to_numpy() - self.origin_us) / 1e6,
                kind=ordered["kind"].to_numpy(),
                user=ordered["user"].to_numpy(),
                ends=((int(times[0]) - self.origin_us) / 1e6, (int(times[-1]) - self.origin_us) / 1e6),
            )


def _whole_instants(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows, with those of the last instant of a frame in the next one."""
    import polars as pl

    held: pl.DataFrame | None = None
    for frame in frames:
        joined = frame if held is None else pl.concat([held, frame])
        at = int(np.searchsorted(joined["time"].to_numpy(), joined["time"][-1]))
        if at:
            yield joined.head(at)
        held = joined.slice(at)
    if held is not None and len(held):
        yield held


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Events of a piece by user, and by time for each."""

    epoch_us: Codes
    """Microseconds since 1970 UTC."""
    time: Array
    """Seconds since the first event of the log."""
    kind: Codes
    """Place in `KINDS`."""
    user: Codes
    """Place in `Events.users`."""
    ends: tuple[float, float]
    """First and last event of the piece, of any kind."""

    def __len__(self) -> int:
        return len(self.time)
