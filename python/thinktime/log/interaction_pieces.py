"""The interactions of a log in pieces, in the order in which they were due."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import interactions
from thinktime.log.interactions import Inputs, Interactions
from thinktime.log.log import LogWarning
from thinktime.log.observations import ROWS

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

Array = NDArray[np.float64]

SAMPLED_FROM, SAMPLE = 2_000_000, 1 << 20
"""Interactions above which a question that needs the values of all at once gets a sample, and its size."""
NOTHING = (int(np.iinfo(np.int64).max), int(np.iinfo(np.int64).min))
"""First and last instant of no rows."""
BLOCKS_MOST = 8
"""Blocks of `ROWS` rows among which a row may have to be looked for: 2 million rows, some 300 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece(Inputs):
    """A piece of the interactions."""

    class_of: NDArray[np.int64]
    """Class of each interaction: its place in `Stream.classes`."""
    user_of: NDArray[np.int64]
    """User of each: its place in `Stream.users`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Interactions of a log, in pieces as often as they are needed."""

    origin_us: int
    """First arrival, microseconds since 1970 UTC."""
    n: int
    """Number of interactions."""
    last: float
    """Time at which the last one arrived or was completed, seconds since `origin_us`."""
    last_due: float
    """Last arrival, seconds since `origin_us`."""
    last_counted: float
    """Last arrival at which the users playing were counted; before all time if they never were."""
    classes: tuple[str, ...]
    """Names of the classes, ascending; an empty string where the source has none."""
    users: tuple[str, ...]
    """Names of the users, likewise."""
    _blocks: _Blocks | None
    _whole: tuple[Piece, ...] = ()

    @classmethod
    def of(cls, table: Interactions) -> Stream:
        """Interactions that are in memory, as one piece."""
        classes, class_of = np.unique(table.classes, return_inverse=True)
        users, user_of = np.unique(table.users, return_inverse=True)
        piece = Piece(
            origin_us=table.origin_us,
            times=table.times,
            columns=table.columns,
            class_of=class_of.astype(np.int64),
            user_of=user_of.astype(np.int64),
        )
        ends = np.concatenate([table.times["due"], table.times["completion"]])
        counted = table.times["due"][~np.isnan(table.columns["population"])]
        return cls(
            origin_us=table.origin_us,
            n=len(table),
            last=float(np.nanmax(ends)),
            last_due=float(table.times["due"][-1]),
            last_counted=float(np.max(counted, initial=-np.inf)),
            classes=tuple(map(str, classes.tolist())),
            users=tuple(map(str, users.tolist())),
            _blocks=None,
            _whole=(piece,),
        )

    def pieces(self) -> Iterator[Piece]:
        """The interactions from the start, at most `ROWS` in a piece."""
        if self._blocks is None:
            yield from self._whole
            return
        for frame in evenly(self._blocks.ordered("_due"), ROWS):
            times, columns = interactions.arrays(frame, self._blocks.names, self.origin_us)
            yield Piece(
                origin_us=self.origin_us,
                times=times,
                columns=columns,
                class_of=frame["_class"].to_physical().to_numpy().astype(np.int64),
                user_of=frame["_user"].to_physical().to_numpy().astype(np.int64),
            )

    def arrivals(self) -> Iterator[tuple[Array, Array]]:
        """Times of the arrivals, seconds since `origin_us`, and the users playing at each; in pieces.

        Nan where the users were not counted. No other column is read for them.
        """
        if self._blocks is None:
            for piece in self._whole:
                yield piece.times["due"], piece.columns["population"]
            return
        columns = ("population",) if self._blocks.has_population else ()
        for frame in evenly(self._blocks.ordered("_due", columns), ROWS):
            counted = frame["population"].to_numpy() if columns else np.full(len(frame), np.nan)
            yield interactions.seconds(frame["_due"], self.origin_us), counted

    def ended(self) -> Iterator[Array]:
        """Times of the completions, ascending, seconds since `origin_us`; in pieces."""
        if self._blocks is None or not self._blocks.has_completions:
            for piece in self._whole:
                times = piece.times["completion"]
                yield np.sort(times[~np.isnan(times)])
            return
        yield np.zeros(0)
        for frame in evenly(self._blocks.ordered("_completion", ()), ROWS):
            yield interactions.seconds(frame["_completion"], self.origin_us)


def read(log: Log, names: Sequence[str] = (), *, unanswered: bool = False) -> Stream | None:
    """Interactions of the log; None if it has none.

    Sources write an interaction when it ends. A first look at all rows finds out how far each block of them
    reaches back in time; then the rows are sorted among as many blocks as that takes. Where it takes more
    than `BLOCKS_MOST`, all rows are held in memory, and a `LogWarning` says so.

    Parameters
    ----------
    log : Log
    names : sequence of str
        Columns besides those that `interactions.read` has in any case; not ``think_s``, which it adds up over
        the inputs of a user.
    unanswered : bool
        With the inputs that are none by `interactions.answered`.
    """
    import polars as pl

    if not log.has("interactions"):
        return None
    blocks = _Blocks(log, names, unanswered=unanswered)
    first: int | None = None
    n, last, classes, users = 0, NOTHING[1], set[str](), set[str]()
    for block in blocks.unordered():
        n += len(block)
        begins, ends = blocks.note(block)
        first, last = begins if first is None else min(first, begins), max(last, ends)
        classes |= set(block["_class"].unique().to_list())
        users |= set(block["_user"].unique().to_list())
    if first is None:
        return None
    blocks.labels = {"_class": sorted(classes), "_user": sorted(users)}
    due = max(end for _, end in blocks.extents["_due"])
    counted = first if blocks.last_counted is None else blocks.last_counted
    # As the times of the pieces: another way to divide differs in the last bit.
    ends = interactions.seconds(pl.Series([last, due, counted]), first).tolist()
    stream = Stream(
        origin_us=first,
        n=n,
        last=ends[0],
        last_due=ends[1],
        last_counted=-np.inf if blocks.last_counted is None else ends[2],
        classes=tuple(sorted(classes)),
        users=tuple(sorted(users)),
        _blocks=blocks,
    )
    if n > ROWS and max(map(blocks.reach, blocks.extents)) <= BLOCKS_MOST:
        return stream
    if n > ROWS:
        warnings.warn(
            f"{log.path}: its interactions are not written in the order of time, so that all {n} of them are "
            "held in memory; a log that is written again in that order takes less",
            LogWarning,
            stacklevel=3,
        )
        blocks.held = blocks.together()
        return stream
    return replace(stream, _blocks=None, _whole=tuple(stream.pieces()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Interactions for a question that needs the values of all of them at once."""

    table: Interactions
    """All of them, or a uniform sample, in the order in which they were due."""
    n: int
    """Number of interactions of the log."""
    unfinished: int
    """Those of the log that were not completed."""

    @property
    def is_sample(self) -> bool:
        """True if the table does not have all of them."""
        return len(self.table) < self.n


def sampled(log: Log, seed: int) -> Sampled | None:
    """Interactions of the log, or a uniform sample without replacement of those of a long one.

    Up to `SAMPLED_FROM` interactions are all used: their memory is bounded. Of more, `SAMPLE` are drawn, each
    set of as many with the same probability (in each piece a hypergeometric number).

    Parameters
    ----------
    log : Log
    seed : int
        Of the sample: the same log and seed give the same one.
    """
    if (stream := read(log)) is None:
        return None
    if stream.n <= SAMPLED_FROM:
        table = interactions.read(log)
        assert table is not None, "there are interactions"
        return Sampled(table=table, n=len(table), unfinished=int(np.isnan(table.times["completion"]).sum()))
    random = np.random.default_rng(seed)
    left, wanted, unfinished = stream.n, SAMPLE, 0
    drawn: list[Piece] = []
    for piece in stream.pieces():
        left -= len(piece)
        count = int(random.hypergeometric(len(piece), left, wanted)) if wanted else 0
        wanted -= count
        unfinished += int(np.isnan(piece.times["completion"]).sum())
        drawn.append(_chosen(piece, np.sort(random.choice(len(piece), count, replace=False, shuffle=False))))
    return Sampled(table=_table(stream, drawn), n=stream.n, unfinished=unfinished)


def _chosen(piece: Piece, rows: NDArray[np.int64]) -> Piece:
    return Piece(
        origin_us=piece.origin_us,
        times={name: values[rows] for name, values in piece.times.items()},
        columns={name: values[rows] for name, values in piece.columns.items()},
        class_of=piece.class_of[rows],
        user_of=piece.user_of[rows],
    )


def _table(stream: Stream, pieces: Sequence[Piece]) -> Interactions:
    def joined(arrays: Sequence[Array]) -> Array:
        return np.concatenate(arrays)

    times = {name: joined([piece.times[name] for piece in pieces]) for name in pieces[0].times}
    completion = times["completion"]
    return Interactions(
        origin_us=stream.origin_us,
        times=times,
        columns={name: joined([piece.columns[name] for piece in pieces]) for name in pieces[0].columns},
        classes=np.array(stream.classes)[np.concatenate([piece.class_of for piece in pieces])],
        users=np.array(stream.users)[np.concatenate([piece.user_of for piece in pieces])],
        ended=np.sort(completion[~np.isnan(completion)]),
    )


class _Blocks:
    """Rows of the interactions in blocks, as they were written."""

    def __init__(self, log: Log, names: Sequence[str], *, unanswered: bool) -> None:
        self._log, self.names, self._unanswered = log, tuple(names), unanswered
        schema = {column.name for column in log.schema("interactions")}
        self.has_completions = "completion" in schema
        self.has_population = "population" in schema
        keys = ("_due", "_completion") if self.has_completions else ("_due",)
        self.extents: dict[str, list[tuple[int, int]]] = {key: [] for key in keys}
        """First and last of these instants in each block."""
        self.last_counted: int | None = None
        self.labels: dict[str, list[str]] = {}
        """Names of classes and users, ascending."""
        self.held: pl.DataFrame | None = None
        """All rows, where no few blocks have them in order."""

    def note(self, block: pl.DataFrame) -> tuple[int, int]:
        """Note how far a block reaches; its first arrival and its last instant."""
        for key, extents in self.extents.items():
            least, most = block[key].min(), block[key].max()
            extents.append(NOTHING if least is None else (int(least), int(most)))  # type: ignore[arg-type]
        if "population" in block.columns:
            counted = block.filter(block["population"].is_not_null())["_due"].max()
            if counted is not None:
                self.last_counted = max(self.last_counted or int(counted), int(counted))  # type: ignore[arg-type]
        return self.extents["_due"][-1][0], max(extents[-1][1] for extents in self.extents.values())

    def unordered(self, *columns: str) -> Iterator[pl.DataFrame]:
        """Blocks of `ROWS` rows, always the same; of all columns if none are named."""
        log = self._log

        def frames() -> Iterator[pl.DataFrame]:
            for part in log.in_turn("interactions"):
                rows = interactions.selected(log, part, self.names)
                chosen = rows if self._unanswered else rows.filter(interactions.answered(log))
                chosen = chosen.select(columns) if columns else chosen
                yield from chosen.collect_batches(chunk_size=ROWS, maintain_order=True)

        return evenly(frames(), ROWS)

    def reach(self, key: str) -> int:
        """Most blocks from which rows have to be held until they are in the order of these instants."""
        later = self._later(key)
        ends = np.array([end for _, end in self.extents[key]])
        waiting = [np.flatnonzero(ends[: at + 1] > limit) for at, limit in enumerate(later.tolist())]
        return max((at + 1 - int(held[0]) for at, held in enumerate(waiting) if len(held)), default=0)

    def _later(self, key: str) -> NDArray[np.int64]:
        """First of these instants in all blocks after each."""
        begins = np.array([*(begin for begin, _ in self.extents[key][1:]), NOTHING[0]])
        return np.minimum.accumulate(begins[::-1])[::-1]

    def ordered(self, key: str, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Rows that have such an instant, in order; those of one instant in the order in which they stand.

        Parameters
        ----------
        key : str
            Column of the instants.
        columns : sequence of str, optional
            What is read besides; by default all.
        """
        import polars as pl

        wanted = () if columns is None else (key, *columns)
        if self.held is not None:
            rows = self.held.select(wanted) if wanted else self.held
            yield rows.filter(pl.col(key).is_not_null()).sort(key, maintain_order=True)
            return
        waiting: list[pl.DataFrame] = []
        for block, limit in zip(self.unordered(*wanted), self._later(key).tolist(), strict=True):
            # All have an arrival.
            known = block if key == "_due" else block.filter(pl.col(key).is_not_null())
            rows = pl.concat([*waiting, self._labelled(known)]).sort(key, maintain_order=True)
            ready = int(rows[key].search_sorted(limit, side="right"))
            yield rows.head(ready)
            waiting = [rows.slice(ready)]

    def together(self) -> pl.DataFrame:
        """All rows, in the order in which they stand."""
        import polars as pl

        return pl.concat([self._labelled(block) for block in self.unordered()])

    def _labelled(self, block: pl.DataFrame) -> pl.DataFrame:
        """Rows with classes and users as numbers, by their order."""
        import polars as pl

        return block.with_columns(
            pl.col(name).cast(pl.Enum(labels))
            for name, labels in self.labels.items()
            if name in block.columns
        )


def evenly(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """The same rows in frames of `rows` rows, the last of which may have fewer."""
    import polars as pl

    held: list[pl.DataFrame] = []
    count = 0
    for frame in frames:
        held.append(frame)
        count += len(frame)
        if count < rows:
            continue
        together = pl.concat(held)
        for first in range(0, count - rows + 1, rows):
            yield together.slice(first, rows)
        left = count % rows
        held, count = [together.tail(left)] if left else [], left
    if count:
        yield pl.concat(held)
