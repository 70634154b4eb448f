r"""Course of a stay under the clock algorithm, step by step, and decay of the places left behind.

The hand comes to a place one revolution after it was given away or spared. The model does not follow which
places a process has used: all are equally likely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from thinktime.models.paging.stays import Lifetime, Stays

Array = NDArray[np.float64]

STEPS = 16
"""Smallest number of steps of a revolution."""
REVOLUTIONS = 7
"""Revolutions after which the number of places of a process that goes on running is steady."""
STEPS_MIN = 80
"""Smallest number of steps of the longest stay."""
NEWTON = 3
"""Steps of Newton's method from the smaller of two bounds; each step doubles the digits."""
SHARES = 17
"""Number of fractions of used places for which the decay is tabulated."""
PER_REVOLUTION = 16
"""Rows of the table of decay in a revolution of the hand."""
TINY = 1e-300
"""Divisor in place of zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Real time that an eligible process needs per second of useful time without misses, and per miss."""

    useful: float
    miss_s: float


@dataclass(slots=True, kw_only=True)
class Course:
    """Sums over the stays of an interaction."""

    misses: float
    real_s: float
    """Time as an eligible process."""
    held_s: float
    """Integral of the places held over that time."""
    ends: Array
    """For ends of interactions and for stays that are cut: number, places held, places used, and places held
    times the revolutions until the hand first passes."""


def march(lifetime: Lifetime, stays: Stays, revolution_s: float, pace: Pace, begin: Array) -> Course:
    """Course of a stay of each column of `stays`, in steps of real time.

    `begin` has the places held and used at the beginning.
    """
    power = lifetime.exponent + 1.0
    most = min(float(stays.limits.max()), (power * lifetime.growth * stays.longest_s) ** (1.0 / power))
    span_s = stays.longest_s * pace.useful + 1.5 * most * pace.miss_s
    slots = math.ceil(max(STEPS, STEPS_MIN * revolution_s / span_s))
    step_s = revolution_s / slots
    steps = math.ceil(min(span_s, REVOLUTIONS * revolution_s) / step_s)
    ran, states, more = _states(lifetime, stays, (slots, steps), step_s, pace, begin)
    running = stays.at(stays.running, ran)
    held, chance = states[:, 0], 0.5 * (running[1:] + running[:-1])
    course = Course(
        misses=float((more * chance).sum()),
        real_s=float(chance.sum()) * step_s,
        held_s=0.0,
        ends=np.zeros((2, 4)),
    )
    course.held_s = float((0.5 * (held[1:] + held[:-1]) * chance).sum()) * step_s
    # A process that runs on after the last step continues as in the last revolution.
    rest, turn = stays.at(stays.rest, ran[-1:])[0], min(slots, steps)
    per_s = rest / np.maximum(ran[-1] - ran[-1 - turn], TINY)
    course.misses += float(more[-turn:].sum(axis=0) @ per_s)
    course.real_s += float(turn * step_s * per_s.sum())
    course.held_s += float(held[-turn:].sum(axis=0) @ per_s) * step_s
    ended, stopped = (-np.diff(table, axis=0) for table in (running, stays.at(stays.cut, ran)))
    ended[-1] += running[-1]
    stopped[-1] += stays.at(stays.cut, ran[-1:])[0]
    for row, weight in zip(course.ends, (ended - stopped, stopped), strict=True):
        row[0] = weight.sum()
        row[1:] = np.einsum("sc,skc->k", weight, states[1:])
    return course


def _states(
    lifetime: Lifetime, stays: Stays, size: tuple[int, int], step_s: float, pace: Pace, begin: Array
) -> tuple[Array, Array, Array]:
    """Course of a stay at all steps: its useful time so far, its state, and the places obtained since.

    The state is places held, used, and held times revolutions until the hand first passes. `size` has the
    number of steps of a revolution and in total.
    """
    columns = [
        _follow(lifetime, limit, size, step_s, pace, (float(begin[0]), float(begin[1])))
        for limit in stays.limits.tolist()
    ]
    rows = np.array(columns).transpose(2, 1, 0)
    return rows[:, 0], rows[:, 1:4], rows[1:, 4]


def _follow(
    lifetime: Lifetime,
    limit: float,
    size: tuple[int, int],
    step_s: float,
    pace: Pace,
    begin: tuple[float, float],
) -> tuple[list[float], ...]:
    """Course of one stay: useful time, places held, used, held times revolutions, and obtained, by step.

    Computed with plain numbers, which are faster than arrays of few programs.
    """
    slots, steps = size
    power = lifetime.exponent + 1.0
    grows, root = power * lifetime.growth, 1.0 / power
    held, used = begin
    first, ran, got = 0.5 * held, 0.0, 0.0
    ring = [held / slots] * min(slots, steps)
    course: tuple[list[float], ...] = ([0.0], [held], [used], [first], [0.0])
    for step in range(steps):
        got, useful_s = _run(held, limit, step_s, pace, power, grows)
        together = held + got
        used = min((used**power + grows * useful_s) ** root + got, together)
        slot = step % len(ring)
        passed = ring[slot]
        spared = passed * used / together if together > 0.0 else 0.0
        ring[slot] = got + spared
        first += got + spared - held / slots
        held = max(together - passed + spared, 0.0)
        used = min(max(used - spared, 0.0), held)
        ran += useful_s
        for values, value in zip(course, (ran, held, used, first, got), strict=True):
            values.append(value)
    return course


def _run(
    held: float, limit: float, step_s: float, pace: Pace, power: float, grows: float
) -> tuple[float, float]:
    r"""Places obtained and useful time in a step of real time.

    .. math:: \alpha\,\Delta t + \beta\,\Delta m = \Delta T, \quad
              (m + \Delta m)^{k+1} = m^{k+1} + (k+1)\, A\,\Delta t

    solved by Newton's method from above, from where it converges monotonically.
    """
    if held >= limit:
        return 0.0, step_s / pace.useful
    per = pace.useful / grows
    before = held**power
    after = min(held + step_s / pace.miss_s, (before + step_s / per) ** (1.0 / power))
    for _ in range(NEWTON):
        high = after ** (power - 1.0)
        over = per * (high * after - before) + pace.miss_s * (after - held) - step_s
        after -= over / (per * power * high + pace.miss_s)
    got = min(max(after, held), limit) - held
    return got, max(step_s - pace.miss_s * got, 0.0) / pace.useful


def left(ends: Array, away: tuple[float, float], kept: float) -> tuple[Array, float]:
    """Places that processes hold when they return, and places times revolutions left behind meanwhile.

    Parameters
    ----------
    ends : array
        As in `Course`, of all stays.
    away : tuple of float
        Revolutions until the next interaction, and until the next stay of the same.
    kept : float
        Fraction of the places that the next interaction uses too; the others remain until the hand comes.
    """
    begin, left_behind = np.zeros((2, 2)), 0.0
    still_held, still_used, behind = _decay()
    for which, (end, absent, part) in enumerate(zip(ends, away, (kept, 1.0), strict=True)):
        number, held, used, first = end
        if held <= 0.0:
            continue
        share = min(used / held, 1.0) * (SHARES - 1)
        after = min(absent, REVOLUTIONS) * PER_REVOLUTION
        remaining = [_between(still_held, share, after), _between(still_used, share, after)]
        begin[which] = part * held / number * np.array(remaining)
        # The table has places evenly before the hand; the additional time passes in its first revolution.
        longer = first - 0.5 * held
        ever = held * _between(behind, share, math.inf) + longer
        meanwhile = held * _between(behind, share, after) + longer * min(absent, 1.0) ** 2
        left_behind += part * meanwhile + (1.0 - part) * ever
    return begin, left_behind


@lru_cache(maxsize=1)
def _decay() -> tuple[Array, Array, Array]:
    """Decay of places left behind: fractions held and used, and revolutions, by fraction used and time."""
    fine = 8
    step = 1.0 / (PER_REVOLUTION * fine)
    held, used = np.ones(SHARES), np.linspace(0.0, 1.0, SHARES)
    behind = np.zeros(SHARES)
    rows = [(held, used, behind)]
    for _ in range(REVOLUTIONS):
        passed = held * step
        for _ in range(PER_REVOLUTION):
            for _ in range(fine):
                spared = passed * used / np.maximum(held, TINY)
                behind = behind + held * step
                held = np.maximum(held - passed + spared, 0.0)
                used = np.minimum(np.maximum(used - spared, 0.0), held)
            rows.append((held, used, behind))
    return tuple(np.stack(columns, axis=1) for columns in zip(*rows, strict=True))  # type: ignore[return-value]


def _between(table: Array, share: float, after: float) -> float:
    """Interpolated value of a table by fraction used and time, in its steps."""
    row, column = min(int(share), table.shape[0] - 2), int(min(after, table.shape[1] - 1))
    column = min(column, table.shape[1] - 2)
    down, right = share - row, min(after, table.shape[1] - 1) - column
    near = table[row, column] * (1.0 - right) + table[row, column + 1] * right
    far = table[row + 1, column] * (1.0 - right) + table[row + 1, column + 1] * right
    return float(near * (1.0 - down) + far * down)
