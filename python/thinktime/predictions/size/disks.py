"""Disks: how long an interaction keeps each of them busy, and how busy more users would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Table
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means
from thinktime.stats.series.ratio_regression import GroupSums, RatioRegression, fit_line

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

BUSY_LEAST = 0.01
"""Share of the time, at the most users measured, below which a disk is left out."""
NEAR = 0.85
"""Share of the time from which a disk may be what is short."""
EXPLAINS = 0.5
"""Share of the busy time of what serves one at a time from which a disk may be it."""
SLOPE_LEAST = 1.5
"""Ratio of most to least throughput from which the use of others is told from that of the users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Intervals of the samples at one number of users."""

    users: int
    length_s: Array
    """Length of each interval, of shape (n,)."""
    completed: Array
    """Interactions completed in each."""
    busy_s: Mapping[str, Array]
    """Time in each with a request in progress, by disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """Use of one disk."""

    name: str
    measured: tuple[tuple[int, Estimate], ...]
    """Share of the time for which it was busy, by number of users."""
    each: Estimate
    """Time for which an interaction keeps it busy [s]."""
    background: float
    """Share of the time for which others keep it busy."""
    by_users: tuple[GroupSums, ...] = field(repr=False)
    """Completed interactions (x) and busy time (y) by length (count), one of each number of users."""

    @property
    def with_most(self) -> Estimate:
        """Share measured with the most users."""
        return self.measured[-1][1]

    def busy(self, throughput: Estimate, speed: float = 1.0, factor: float = 1.0) -> Estimate:
        r"""Share of the time for which it would be busy, at most 1.

        .. math:: U = (b + X d f) / v

        by the utilisation law, with the background b, throughput X, busy time d of an interaction, a factor
        f of it, and the relative speed v of the disk. The interval is that of the line through the measured
        numbers of users, at both ends of the throughput.

        Parameters
        ----------
        throughput : Estimate
            Interactions completed [1/s].
        speed : float
            Of the disk, relative to the one measured.
        factor : float
            Of the busy time of an interaction.
        """

        def share(value: float | None) -> float | None:
            return None if value is None else min(max(value / speed, 0.0), 1.0)

        low, middle, high = (
            None if rate is None else self._at(rate * factor)
            for rate in (throughput.low, throughput.value, throughput.high)
        )
        assert middle is not None
        return Estimate(
            value=min(middle.value / speed, 1.0),
            unit="share",
            low=None if low is None else share(low.low),
            high=None if high is None else share(high.high),
            n=round(sum(float(group.x.sum()) for group in self.by_users)),
            method="utilisation law",
        )

    def _at(self, rate: float) -> Estimate:
        """Share of the time for which it is busy with so many interactions a second."""
        if self.background > 0.0:
            moved = [replace(group, x=group.x - rate * group.count) for group in self.by_users]
            line = fit_line(moved)
            if line is not None:
                return line.intercept
        ends = (self.each.low, self.each.high)
        low, high = (None if end is None else rate * end for end in ends)
        return replace(self.each, value=rate * self.each.value, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskThen:
    """A disk with the number of users that fits."""

    disk: Disk
    busy: Estimate
    """Share of the time, predicted."""


def busy_times(log: Log, start_us: NDArray[np.int64], length_s: Array) -> dict[str, Array]:
    """Time for which each disk was busy in the intervals of the samples; zero where its table has no row.

    An interval with more busy time than it is long counts as busy throughout: kernels round.
    """
    import polars as pl

    if not log.has("disks") or not {"device", "busy_s"} <= {column.name for column in log.schema("disks")}:
        return {}
    frame = (
        log.disks()
        .select(pl.col("start").dt.epoch("us"), pl.col("device"), pl.col("busy_s").cast(pl.Float64))
        .drop_nulls()
        .filter(pl.col("busy_s").is_finite() & (pl.col("busy_s") >= 0.0))
        .collect()
    )
    order = np.argsort(start_us, kind="stable")
    starts = start_us[order]
    found = {}
    for (device,), rows in frame.partition_by("device", as_dict=True, maintain_order=True).items():
        begun = rows["start"].to_numpy()
        place = np.minimum(np.searchsorted(starts, begun), max(len(starts) - 1, 0))
        used = starts[place] == begun if len(starts) else np.zeros(len(begun), dtype=bool)
        busy = np.zeros(len(start_us))
        busy[order[place[used]]] = rows["busy_s"].to_numpy()[used]
        found[str(device)] = np.minimum(busy, length_s)
    return found


def disks(watched: Sequence[Watched]) -> tuple[Disk, ...]:
    """Disks that users kept busy, the busiest first.

    Parameters
    ----------
    watched : sequence of Watched
        In ascending order of users; several may have the same number.
    """
    watched = [one for one in watched if len(one.length_s) and one.completed.sum() > 0.0]
    names = sorted({name for one in watched for name in one.busy_s})
    found = [disk for name in names if (disk := _disk(name, watched)) is not None]
    return tuple(sorted(found, key=lambda disk: (-disk.with_most.value, disk.name)))


def _disk(name: str, watched: Sequence[Watched]) -> Disk | None:
    groups, measured = [], []
    for users in sorted({one.users for one in watched}):
        at = [one for one in watched if one.users == users]
        length = np.concatenate([one.length_s for one in at])
        completed = np.concatenate([one.completed for one in at])
        busy = np.concatenate([one.busy_s.get(name, np.zeros(len(one.length_s))) for one in at])
        measured.append((users, batch_means.batch_ratio(busy, length).with_unit("share")))
        groups.append(GroupSums(x=completed, y=busy, count=length))
    if measured[-1][1].value < BUSY_LEAST:
        return None
    line = _line(groups)
    return Disk(
        name=name,
        measured=tuple(measured),
        each=_each(groups) if line is None else line.slope.with_unit("s"),
        background=0.0 if line is None else line.intercept.value,
        by_users=tuple(groups),
    )


def _line(groups: Sequence[GroupSums]) -> RatioRegression | None:
    """Line of the busy time by throughput; None where the users' part is not told from that of others.

    Where the throughput hardly varies, all of it counts as the users': more users then take no less than is
    predicted.
    """
    throughput = [group.point[0] for group in groups]
    if max(throughput) < SLOPE_LEAST * min(throughput):
        return None
    line = fit_line(groups)
    return line if line is not None and line.intercept.value > 0.0 and line.slope.value > 0.0 else None


def _each(groups: Sequence[GroupSums]) -> Estimate:
    """Busy time by interaction [s], if none is of others."""
    busy, completed = (np.concatenate([getattr(group, name) for group in groups]) for name in ("y", "x"))
    return batch_means.batch_ratio(busy, completed).with_unit("s")


def sentence(then: Sequence[DiskThen], users: int, limit: str, rest: Estimate) -> str | None:
    """What the disks say of a limit; None where that is nothing.

    Parameters
    ----------
    then : sequence of DiskThen
        The busiest first; empty where no disk was recorded.
    users : int
        Users who fit.
    limit : str
        What runs short.
    rest : Estimate
        Share of the time for which what serves one at a time is busy with them.
    """
    if not then:
        return None
    most = max(then, key=lambda one: one.busy.value)
    before, seen = most.disk.measured[-1]
    name, share = f"Disk {most.disk.name}", shown.quantity(most.busy.value, "share")
    measured = f"measured: {shown.quantity(seen.value, 'share')} with {shown.count(before, 'user')}"
    if limit == "rest" and most.busy.value >= EXPLAINS * rest.value:
        return f"{name} is busy {share} of the time with {shown.count(users, 'user')} ({measured})."
    if limit == "rest":
        return (
            f"No disk is busy for more than {share} of the time with {shown.count(users, 'user')}: look for "
            "a lock, or a service elsewhere."
        )
    if most.busy.value >= NEAR and users > before:
        return (
            f"{name} would be busy {share} of the time with {shown.count(users, 'user')} ({measured}). One "
            "that serves several requests at once may take more; one that does not runs short first. Record "
            "with more users to see which."
        )
    return None


def table(then: Sequence[DiskThen], users: int) -> Table:
    """Table of the disks, with the number of users that fits."""
    measured = then[0].disk.measured[-1][0]
    return Table.of(
        then,
        Col("disk", lambda one: one.disk.name),
        Col("busy for an interaction", lambda one: one.disk.each),
        Col(f"busy with {measured}, measured", lambda one: one.disk.with_most, unit="share"),
        Col(f"busy with {users}, predicted", lambda one: one.busy, unit="share"),
        name="size-disks",
        caption="Disks, by number of users",
    )
