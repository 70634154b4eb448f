"""Number of users with whom memory is full: beyond it, pages are taken from some to serve others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Table
from thinktime.models.sizing import ENDS
from thinktime.predictions.size.memory import Memory
from thinktime.stats.estimate import Estimate

HALF = 0.5
"""Probability at which memory counts as full."""
FIRST = 64
"""Users that are looked at first."""
MORE = 1.25
"""Users for whom the response beyond full memory is told, as a multiple of those with whom it is full."""


def cliff(memory: Memory | None, there_bytes: float | None, most: int, draws: int) -> Estimate | None:
    """Users with whom memory suffices at half of the moments, by draws; None if it is not reached.

    Parameters
    ----------
    memory : Memory or None
    there_bytes : float or None
        Memory that users and everything else may use [byte].
    most : int
        Users looked at.
    draws : int
    """
    if memory is None or there_bytes is None:
        return None
    looked_at = min(FIRST, most)
    while True:
        fails = memory.suffices(there_bytes, np.arange(1.0, looked_at + 1.0), draws) < HALF
        reached = np.where(fails.any(axis=1), fails.argmax(axis=1), looked_at)
        low, middle, high = np.quantile(reached, ENDS, method="inverted_cdf")
        if high < looked_at or looked_at == most:
            break
        looked_at = min(4 * looked_at, most)
    if middle >= most:
        return None
    return Estimate(
        value=float(middle),
        unit="user",
        low=float(low),
        high=None if high >= most else float(high),
        n=max(memory.seen, memory.user.n),
        method="largest number whose memory suffices at half of the moments",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """Bounds of the mean response with more users than memory has room for."""

    users: int
    missing: float
    """Share of the users' memory that has no room."""
    least: Estimate
    """If nobody touches what has no room: the prediction without it."""
    most: Estimate | None
    """If every interaction brings back that share of its user's memory; None where the speed of the swap
    device is not known."""


def beyond(
    memory: Memory | None,
    room: Room,
    rows: Sequence[tuple[int, Estimate]],
    slower: Callable[[int, float], Estimate],
) -> tuple[Beyond, ...]:
    r"""Bounds for the numbers of users of `rows` whose mean memory has no room.

    With N users of mean memory m, a share :math:`f = 1 - M / (N m)` has no room in M bytes. Which of it is
    touched, the log does not say. At least none: pages of users who have gone away. At most, as on a machine
    that swaps whole users, an interaction waits until f m bytes were written out and f m read back, one user
    at a time, at the speed r of the device: a time of :math:`2 f m / r` at a station of its own.

    Parameters
    ----------
    memory : Memory or None
    room : Room
    rows : sequence of (int, Estimate)
        Numbers of users, and their mean responses without swapping [s].
    slower : callable
        Mean response with a number of users whose interactions are served for a further time, one at a time.
    """
    if memory is None or room.bytes is None or not memory.user.value > 0.0:
        return ()
    left = max(room.bytes - memory.base_bytes, 0.0)
    found = []
    for users, response in rows:
        missing = 1.0 - left / (users * memory.user.value)
        if missing > 0.0:
            swapped_s = (
                None if room.swap_speed is None else 2.0 * missing * memory.user.value / room.swap_speed
            )
            most = None if swapped_s is None else slower(users, swapped_s)
            found.append(Beyond(users=users, missing=missing, least=response, most=most))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Memory of a plan."""

    bytes: float | None
    """For users and everything else."""
    swap_speed: float | None
    """Bytes per second that are written to the swap device or read from it; None if not known."""


NOTHING_TOLD = (
    "how much longer responses take cannot be told: it depends on how much of a user's memory an interaction "
    "touches, and on the swap device. With its speed, such as --swap-speed 200MB, the longest is printed"
)
KILLED = "The machine has no swap space: beyond it, the kernel ends processes of users to free memory."


@dataclass(frozen=True, slots=True, kw_only=True)
class Full:
    """Users with whom memory is full, and what comes beyond."""

    users: Estimate
    swap_bytes: float | None
    """Swap space; None where it was not recorded."""
    bounds: Beyond | None
    """With a quarter more users; None where the prediction does not go so far."""


def words(found: Full | None, most: int) -> Iterator[str]:
    """The cliff if it is within `most` users, and what can be said of responses beyond it."""
    if found is None or found.users.low is None or found.users.low > most:
        return
    users, bounds = found.users, found.bounds
    ends = "" if users.high is None or users.low == users.high else f" ({users.low:.0f} to {users.high:.0f})"
    full = f"full with {users.value:.0f}{ends} users. Beyond that"
    full = full if users.value >= 1.0 else "full before anybody comes. With users"
    yield (
        f"Memory is {full}, pages are reclaimed or swapped, and response times are at least those predicted "
        "here."
    )
    if found.swap_bytes == 0.0:
        yield KILLED
        return
    if bounds is None:
        return
    missing = f"{100.0 * bounds.missing:.0f} %"
    more = f"a quarter more, {bounds.users} users" if users.value >= 1.0 else "one"
    share = f"With {more}, {missing} of their memory has no room"
    if bounds.most is None:
        yield f"{share}; {NOTHING_TOLD}."
        return
    yield (
        f"{share}: the mean response is at least {shown.estimate(bounds.least)}, and at most "
        f"{shown.estimate(bounds.most)}, if every interaction waits until that part of its user's memory was "
        "written out and read back, one user at a time."
    )


def table(bounds: Sequence[Beyond]) -> Table:
    """Table of the bounds."""
    return Table.of(
        bounds,
        Col("users", lambda one: one.users),
        Col("memory without room", lambda one: one.missing, unit="share"),
        Col("response at least", lambda one: one.least),
        Col("at most", lambda one: one.most),
        name="size-beyond",
        caption="Beyond full memory",
    )
