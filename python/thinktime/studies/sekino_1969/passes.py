"""The printed responses as single passes of the script: how likely they are, and what would explain them.

A response typed by hand is one draw, and a column of Table 1 is one pass. Each replication is one pass of
the script; a printed number is placed among them: cell by cell, mean by mean, column by column, and in its
rise from one load to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinktime.documents.document import Col, Cols, Table
from thinktime.stats.estimate import Estimate
from thinktime.stats.samples import proportion
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory, remembered
from thinktime.studies.sekino_1969.loads import (
    COMPILED,
    INTERACTIONS,
    NORMAL_THINK,
    PAPER,
    RESPONSES,
    SUMMARY,
    column,
    named,
    on_multics,
)
from thinktime.studies.study import Chapter

Flags = NDArray[np.bool_]

PASSES = 3
"""Passes at each load for a replication of the study: 117 at full length."""
LOADS = (6, 10, 17)
"""Users of the printed columns."""
SLOW_AT = 10
"""Users of the column that is slower than ours."""
ALL, WITHOUT = "all", "without FORTRAN"
LEAVING_OUT: Mapping[str, tuple[int, ...]] = {ALL: (), WITHOUT: COMPILED}
STATISTICS = {ALL: "average_all", WITHOUT: "average_except_fortran"}
VARIED = 20
"""Passes at each load with another mechanism, and with busier users."""
AS_HERE = "as in this study"
MECHANISMS: Mapping[str, Mapping[str, Any]] = {
    AS_HERE: {},
    "at most two eligible": {"max_eligible": 2},
    "at most six eligible": {"max_eligible": 6},
    "eligible if working sets fit": {"eligibility": "working_sets"},
    "one queue": {"levels": 1},
    "a third of the quantum": {"quantum": 0.5},
    "no page kept from command to command": {"kept": 0.0},
    "two pages of five from the disk": {"disk_share": 0.4},
    "normal users with thrice the work, a third as often": {
        "normal_demand": 3.0,
        "normal_think": {**NORMAL_THINK, "mean": 3.0 * NORMAL_THINK["mean"]},
    },
}
"""Mechanisms that could make responses rise sooner, as changes of parameters; nothing else is fitted anew."""
BUSIER = (1.0, 1.25, 1.5, 2.0, 2.5)
"""Commands of a normal user beside the script, as multiples of those of the study."""
HIGH = 0.95
"""Proportion of passes above which a response counts as slow."""
MIDDLE = 0.95
"""Proportion of passes in the middle of which a mean counts as theirs."""


@remembered
def passes(laboratory: Laboratory, users: int) -> Array:
    """Responses of every complete pass, by pass and interaction, s."""
    return _responses(laboratory, users, PASSES * laboratory.settings.replications, {})


def _responses(laboratory: Laboratory, users: int, count: int, changes: Mapping[str, Any]) -> Array:
    run = on_multics(laboratory, users, replications=count, **changes)
    names = [f"response_{index:02d}_s" for index in range(1, INTERACTIONS + 1)]
    values: Array = np.stack([column(run, name) for name in names], axis=1)
    # One that the end of the run cuts short has no mean.
    return values[~np.isnan(values).any(axis=1)]


def printed(users: int) -> Array:
    """Column of Table 1, s."""
    cells = [
        PAPER.printed(RESPONSES, {"interaction": index}, f"multics_{users}_users_s").value
        for index in range(1, INTERACTIONS + 1)
    ]
    return np.array(cells)


def stated(users: int, which: str) -> float:
    """Printed mean, of all or without FORTRAN, s."""
    return PAPER.printed(SUMMARY, {"statistic": STATISTICS[which]}, f"multics_{users}_users_s").value


def mean(values: Array, which: str) -> Array:
    """Mean response of each pass, s."""
    kept = [index for index in range(INTERACTIONS) if index + 1 not in LEAVING_OUT[which]]
    result: Array = values[:, kept].mean(axis=1)
    return result


def percentile(values: Array, value: float) -> Estimate:
    """Proportion of passes below `value`, with Wilson's interval; of those at it, by a coarse clock, half."""
    below, equal = int((values < value).sum()), int((values == value).sum())
    return proportion(below + (equal + 1) // 2, len(values))


def strangeness(drawn: Array, other: Array) -> float:
    r"""Probability that a pass is as far from the middle of its cells as `other`, or farther.

    .. math::

        d_j = \sum_i \Bigl|\frac{r_{ij}}{n + 2} - \frac12\Bigr|, \quad
        p = \frac{\#\{j: d_j \ge d\}}{n + 1}

    with r the mean rank of a cell among all n passes and the other one. If that is a pass as all others, each
    of the n + 1 is as likely to be the strangest, whatever the cells have to do with each other: a test by
    permutation, exact but for ties, which make p larger.
    """
    off = np.abs(_places(drawn, other) - 0.5).sum(axis=1)
    # Sums of ranks differ in the last place with their order.
    return float((off >= off[-1] - 1e-9).mean())


def _places(drawn: Array, other: Array) -> Array:
    """Place of every cell among those of all passes and the other one, from 0 to 1; the other one last."""
    together = np.vstack([drawn, other])
    # Mean ranks, since readings by a clock of half seconds are often equal.
    below = (together[:, None, :] < together[None, :, :]).sum(axis=0)
    equal = (together[:, None, :] == together[None, :, :]).sum(axis=0)
    places: Array = (below + 0.5 * (equal + 1)) / (len(together) + 1)
    return places


def stretch(drawn: Array, other: Array) -> tuple[int, int, float]:
    """First interaction and length of the longest stretch of slow responses of `other`, and its probability.

    Slow is what is above `HIGH` of the passes in the same cell. The probability is that of a stretch as long,
    among all n passes and the other one.
    """
    runs = [_longest(row >= HIGH) for row in _places(drawn, other)]
    first, length = runs[-1]
    return first + 1, length, float(np.mean([each >= length for _, each in runs]))


def _longest(slow: Flags) -> tuple[int, int]:
    """First index and length of the longest stretch of true values."""
    best, start = (0, 0), 0
    for index, value in enumerate([*slow.tolist(), False]):
        if not value:
            best = max(best, (start, index - start), key=lambda each: each[1])
            start = index + 1
    return best


def slower_than_with_more(few: Array, many: Array) -> Array:
    """Number of responses that took longer with fewer users than with more, by pair of passes.

    Pass j at the one load with pass j + 1 at the other, which has other random numbers.
    """
    count = min(len(few), len(many))
    result: Array = (few[:count] > np.roll(many[:count], -1, axis=0)).sum(axis=1)
    return result


def shape(few: Array, middle: Array, many: Array) -> tuple[Flags, Flags]:
    """Whether means rise as steeply to the second load as printed, and as little to the third, by triple.

    Means of all commands and without FORTRAN alike. Pass j at the second load follows pass j - 1 at the first
    and precedes pass j + 1 at the third: passes of one number have random numbers in common, and those of
    1969 were days apart.
    """
    count = min(len(few), len(middle), len(many))
    steep, flat = np.ones(count, bool), np.ones(count, bool)
    for which in LEAVING_OUT:
        at = [
            np.roll(mean(values[:count], which), shift)
            for values, shift in zip((few, middle, many), (1, 0, -1), strict=True)
        ]
        low, centre, high = (stated(users, which) for users in LOADS)
        steep &= at[1] / at[0] >= centre / low
        flat &= at[2] / at[1] <= high / centre
    return steep, flat


def chapter(laboratory: Laboratory) -> Chapter:
    """Where the printed columns lie among simulated passes, and what brings them nearer."""
    few, middle, many = (passes(laboratory, users) for users in LOADS)
    steep, flat = shape(few, middle, many)
    slow = np.all([mean(middle, which) >= stated(SLOW_AT, which) for which in LEAVING_OUT], axis=0)
    strange = {users: strangeness(passes(laboratory, users), printed(users)) for users in LOADS}
    listed = ", ".join(f"{100.0 * p:.1f} % with {users} users" for users, p in strange.items())
    return Chapter(
        summary=(
            f"A printed column is one pass of the script. Of {len(slow)} simulated passes with {SLOW_AT} "
            f"users, {_share(_part(slow))} are as slow as that one, in the mean of all commands and without "
            "FORTRAN.",
            f"Of {len(steep)} triples of passes, one at each load, the means rise as steeply as printed from "
            f"6 to 10 users in {_share(_part(steep))}, and as little as printed from 10 to 17 in "
            f"{_share(_part(flat))}; both in {_share(_part(steep & flat))}.",
            "Of a column with all its cells, the part of the passes that are as far from the middle as what "
            f"is printed, or farther: {listed}; {100.0 / (len(slow) + 1):.1f} % is the least that "
            f"{len(slow)} passes can show.",
            *_not_of_the_load(laboratory),
            *_by_chance(laboratory),
            *_nearer(laboratory),
        ),
        tables=(_cells(laboratory), _means(laboratory), _mechanisms(laboratory), _busier(laboratory)),
        method=(
            "Percentiles are proportions of passes below the printed value and of half of those equal to it. "
            "A column is placed by the sum of the distances of its cells' ranks from the middle, among the "
            "passes and itself (a permutation test). Intervals of proportions are Wilson's, of 95 %."
        ),
    )


def _part(which: Flags) -> Estimate:
    return proportion(int(which.sum()), len(which))


def _share(estimate: Estimate) -> str:
    """Proportion with its interval, in per cent."""
    low, high = (0.0 if end is None else 100.0 * end for end in (estimate.low, estimate.high))
    return f"{100.0 * estimate.value:.1f} % ({low:.1f} to {high:.1f} %)"


def _percent(estimate: Estimate) -> str:
    low, high = (0.0 if end is None else 100.0 * end for end in (estimate.low, estimate.high))
    return f"{100.0 * estimate.value:.0f} ({low:.0f} to {high:.0f})"


def _cells(laboratory: Laboratory) -> Table:
    """Every cell of the printed columns with its percentile."""

    def row(index: int) -> Iterator[str]:
        for users in LOADS:
            value = float(printed(users)[index - 1])
            yield f"{value:.1f}"
            yield _percent(percentile(passes(laboratory, users)[:, index - 1], value))

    counts = ", ".join(f"{len(passes(laboratory, users))} with {users} users" for users in LOADS)
    return Table.of(
        range(1, INTERACTIONS + 1),
        Col("interaction", lambda index: named(index)),
        Cols(
            [f"{users} users, {part}" for users in LOADS for part in ("printed, s", "percentile")],
            row,
            scaled=False,
        ),
        name="percentiles",
        caption="Table 1 among single passes of the simulated script",
        notes=[f"Percentiles of the printed responses among passes, with 95 % intervals: {counts}."],
    )


def _means(laboratory: Laboratory) -> Table:
    """Means of the printed columns with their percentiles."""
    rows = [(users, which) for users in LOADS for which in LEAVING_OUT]

    def of(row: tuple[int, str]) -> Array:
        return mean(passes(laboratory, row[0]), row[1])

    return Table.of(
        rows,
        Col("users", lambda row: str(row[0]), scaled=False),
        Col("mean of", lambda row: row[1]),
        Col("printed, s", lambda row: f"{stated(*row):.1f}", scaled=False),
        Col("mean of passes, s", lambda row: interval(of(row)), scaled=False),
        Col("slowest pass, s", lambda row: f"{of(row).max():.1f}", scaled=False),
        Col("percentile", lambda row: _percent(percentile(of(row), stated(*row))), scaled=False),
        name="mean-percentiles",
        caption="Means of the printed columns among those of single passes",
    )


@remembered
def _varied(laboratory: Laboratory, name: str) -> tuple[Array, Array, Array]:
    if not MECHANISMS[name]:
        few, middle, many = (passes(laboratory, users) for users in LOADS)
    else:
        count = laboratory.count(VARIED)
        few, middle, many = (_responses(laboratory, users, count, MECHANISMS[name]) for users in LOADS)
    return few, middle, many


def _compared(laboratory: Laboratory) -> tuple[str, ...]:
    return laboratory.levels(tuple(MECHANISMS), tuple(MECHANISMS)[:2])


def _rises(values: Sequence[Array], which: str) -> tuple[float, float]:
    few, middle, many = (float(mean(each, which).mean()) for each in values)
    return middle / few, many / middle


def _stated_rises(which: str) -> tuple[float, float]:
    few, middle, many = (stated(users, which) for users in LOADS)
    return middle / few, many / middle


def _nearer(laboratory: Laboratory) -> Iterator[str]:
    """Sentence on the mechanism with the steepest rise to the slow column."""
    names = [name for name in _compared(laboratory) if MECHANISMS[name]]
    rises = {name: _rises(_varied(laboratory, name), WITHOUT) for name in names}
    best = max(rises, key=lambda name: rises[name][0])
    first, second = rises[best]
    stated_first, stated_second = _stated_rises(WITHOUT)
    here = _rises(_varied(laboratory, AS_HERE), WITHOUT)
    yield (
        f"Of {len(names)} other mechanisms, {best!r} has the steepest rise: without FORTRAN from 6 to 10 "
        f"users to {first:.2f} times and from 10 to 17 to {second:.2f} times, here {here[0]:.2f} and "
        f"{here[1]:.2f}, printed {stated_first:.2f} and {stated_second:.2f}."
    )


def _mechanisms(laboratory: Laboratory) -> Table:
    """Rises of the means with other mechanisms."""
    heads = [f"{part}, {which}" for which in LEAVING_OUT for part in ("10 over 6", "17 over 10")]

    def rises(name: str) -> list[str]:
        return [f"{rise:.2f}" for which in LEAVING_OUT for rise in _rises(_varied(laboratory, name), which)]

    def steep(name: str) -> str:
        first, second = shape(*_varied(laboratory, name))
        return _share(_part(first & second))

    published = [f"{rise:.2f}" for which in LEAVING_OUT for rise in _stated_rises(which)]
    rows: list[tuple[str, list[str], str | None]] = [("published", published, None)]
    rows += [(name, rises(name), steep(name)) for name in _compared(laboratory)]
    return Table.of(
        rows,
        Col("mechanism", lambda row: row[0]),
        Cols(heads, lambda row: row[1], scaled=False),
        Col("triples with the printed shape", lambda row: row[2], scaled=False),
        name="sharper-rises",
        caption="Does a mechanism make responses rise sooner?",
        notes=["Mean response with a number of users over that with another, of all and without FORTRAN."],
    )


@remembered
def _with_busier(laboratory: Laboratory, factor: float) -> Array:
    if factor == 1.0:
        return passes(laboratory, SLOW_AT)
    think = {**NORMAL_THINK, "mean": NORMAL_THINK["mean"] / factor}
    return _responses(laboratory, SLOW_AT, laboratory.count(VARIED), {"normal_think": think})


def _factors(laboratory: Laboratory) -> tuple[float, ...]:
    return laboratory.levels(BUSIER, (BUSIER[0], BUSIER[-1]))


def _not_of_the_load(laboratory: Laboratory) -> Iterator[str]:
    """Sentences on what no load would do: fewer users who wait longer, and a stretch of it."""
    middle, many = (passes(laboratory, users) for users in (SLOW_AT, LOADS[-1]))
    longer = int((printed(SLOW_AT) > printed(LOADS[-1])).sum())
    as_many = slower_than_with_more(middle, many) >= longer
    yield (
        f"{longer} of the {INTERACTIONS} printed responses are longer with {SLOW_AT} users than with "
        f"{LOADS[-1]}. Of {len(as_many)} pairs of passes {_share(_part(as_many))} have as many: a mechanism "
        "that makes more users wait longer does not explain that."
    )
    first, length, p = stretch(middle, printed(SLOW_AT))
    if length > 1:
        yield (
            f"Slower than {100.0 * HIGH:.0f} % of the passes are, one after the other, the responses {first} "
            f"to {first + length - 1} with {SLOW_AT} users; {100.0 * p:.1f} % of the passes have so long a "
            "stretch. Something that lasted for some minutes of that day would look so."
        )


def _by_chance(laboratory: Laboratory) -> Iterator[str]:
    """Sentence on the load beside the script with which the slow column's means would be as others."""

    def is_theirs(factor: float, which: str) -> bool:
        values = mean(_with_busier(laboratory, factor), which)
        place = percentile(values, stated(SLOW_AT, which)).value
        return abs(place - 0.5) <= 0.5 * MIDDLE

    within = [
        factor for factor in _factors(laboratory) if all(is_theirs(factor, which) for which in LEAVING_OUT)
    ]
    those = f"with {_list(within)} times as many commands" if within else "at none of these loads"
    yield (
        f"With normal users up to {BUSIER[-1]:g} times as busy as here, both means with {SLOW_AT} users lie "
        f"in the middle {100.0 * MIDDLE:.0f} % of passes {those}. Of the other users' work on that day "
        "nothing is known."
    )


def _list(factors: Sequence[float]) -> str:
    words = [f"{factor:g}" for factor in factors]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _busier(laboratory: Laboratory) -> Table:
    """The slow column among passes with busier users beside the script."""

    def means(factor: float) -> Iterator[Estimate | str]:
        values = _with_busier(laboratory, factor)
        for which in LEAVING_OUT:
            yield interval(mean(values, which))
            yield _percent(percentile(mean(values, which), stated(SLOW_AT, which)))

    stated_words = " and ".join(f"{stated(SLOW_AT, which):.1f} s {which}" for which in LEAVING_OUT)
    return Table.of(
        _factors(laboratory),
        Col("commands of the others", lambda factor: f"{factor:g} times", scaled=False),
        Cols(
            [f"{part} {which}" for which in LEAVING_OUT for part in ("mean of", "percentile of")],
            means,
            scaled=False,
        ),
        name="busier-users",
        caption=f"The column of {SLOW_AT} users among passes with busier users beside the script",
        notes=[f"Means in seconds; printed are {stated_words}."],
    )
