"""What differs between two logs, before and after a change, at equal load and at equal work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare import unit_means as compare_units
from thinktime.analyses.compare.design import Clock, Placing, aligned, time_label
from thinktime.analyses.compare.logs_caveats import caveats
from thinktime.analyses.compare.logs_effects import Pieces, at_equal
from thinktime.analyses.compare.logs_result import BeforeAfter, LogCost, LogEffect, Side
from thinktime.analyses.compare.unit_means import Cell
from thinktime.analyses.compare.variables import Wanted, wanted
from thinktime.analyses.overhead import comparison as overhead_comparison
from thinktime.analyses.overhead.regression import FitOptions
from thinktime.analyses.throughput import comparison as throughput_comparison
from thinktime.analyses.throughput.comparison import Comparison
from thinktime.errors import InputError
from thinktime.stats.estimate import NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.observations import Observations

__all__ = ["BeforeAfter", "LogEffect", "analyse"]

_Array = NDArray[np.float64]

DAY_S = 86_400.0
DAYS_LEAST = 5
"""A log of fewer days is cut into equal stretches."""
PIECES = 12
PIECES_LEAST = 4


def analyse(
    before: Log,
    after: Log,
    *,
    quantities: Sequence[str] | None = None,
    load: str | None = None,
    requests: Sequence[str] | None = None,
    level: float = 0.95,
) -> BeforeAfter | NotApplicable:
    """Compare two logs at equal load, and their overhead at equal work.

    Means of whole logs are not compared: their loads differ (Bard 1971). Each log is cut into days, or
    into equal stretches if it is short, and a piece counts as one observation: successive observations
    are alike, pieces hardly (`compare_logs_effects.adjusted_difference`). Beside it stands the difference
    by ranges of load, which takes no curve for granted (`throughput_comparison`). Costs are those of the
    overhead regression on each log (`overhead_comparison`).

    Nothing was assigned here: everything else that changed between the logs is in the difference.

    Parameters
    ----------
    before, after : Log
    quantities, load, requests
        See `compare.analyse`.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        The logs overlap in time or are in the wrong order, or a quantity does not exist.
    """
    logs = (before, after)
    asked = _common(logs, quantities, load, requests)
    if isinstance(asked, NotApplicable):
        return asked
    common, missing = asked
    both = tuple(_gathered(log, common) for log in logs)
    for log, side in zip(logs, both, strict=True):
        if len(side.cells) < PIECES_LEAST:
            return NotApplicable(
                f"{log.path} has {len(side.cells)} pieces with observations: {PIECES_LEAST} are needed to "
                "know how much they differ by themselves",
                "record longer",
            )
    _check_times(logs, both)
    effects, refused = at_equal(common, both, level, clocks=not any(map(_simulated, logs)))
    if not effects:
        reasons = "; ".join(f"{what}: {why}" for what, why in refused)
        return NotApplicable(
            f"nothing can be compared at equal load or work ({reasons}), and means of whole logs say nothing",
            "record users (`thinktime record --by uid`), or name the load with --load",
        )
    curves = _curves(logs, common, level)
    costs = _costs(logs, common, level)
    result = BeforeAfter(
        before=_side(before, both[0], common, level),
        after=_side(after, both[1], common, level),
        piece="day" if all(side.piece_s == DAY_S for side in both) else "piece",
        piece_s=(both[0].piece_s, both[1].piece_s),
        load=common.load,
        load_range=_load_range(common, both),
        effects=tuple(_by_range(item, curves) for item in effects),
        curves=curves,
        costs=() if isinstance(costs, str) else costs,
        costs_unknown=costs if isinstance(costs, str) else "",
        not_common=missing,
        left_out=refused,
        autocorrelation=_follows([cell for side in both for cell in side.cells]),
        between_pieces=_between(effects[0]),
        caveats=(),
    )
    return replace(result, caveats=caveats(result, _hosts(logs)))


def _common(
    logs: Sequence[Log], quantities: Sequence[str] | None, load: str | None, requests: Sequence[str] | None
) -> tuple[Wanted, tuple[str, ...]] | NotApplicable:
    """Find quantities that both logs have, and name those that one has."""
    found = []
    for log in logs:
        asked = wanted(log, quantities, load, requests)
        if isinstance(asked, NotApplicable):
            return NotApplicable(f"{log.path}: {asked.reason}", asked.remedy)
        found.append(asked)
    first, second = found
    names = {item.name for item in first.columns} & {item.name for item in second.columns}
    every = dict.fromkeys(item.name for asked in found for item in asked.columns if not item.squared)
    missing = tuple(name for name in every if name not in names)
    same = first.load if first.load == second.load else ""
    kept = Wanted(
        tuple(item for item in first.columns if item.name in names and (same or not item.squared)),
        tuple(item for item in first.compared if item.name in names),
        same,
        tuple(name for name in first.work if name in names),
        (),
    )
    if not kept.compared:
        return NotApplicable(
            f"the logs have nothing in common that could be compared: {', '.join(missing)} are in one only",
            "record both with the same source",
        )
    return kept, missing


def _gathered(log: Log, asked: Wanted) -> Pieces:
    """Cut a log into days, or into equal stretches if it is short."""
    span = _span(log)
    length_s = (span[1] - span[0]) / 1e6
    piece_s = DAY_S if length_s >= DAYS_LEAST * DAY_S else max(length_s / PIECES, 1e-6)
    origin = 0 if piece_s == DAY_S else span[0]
    gathered = compare_units.gather(log, asked.columns, _placing(origin, piece_s, aligned(log)))
    numbers = sorted(gathered.cells)
    cells = tuple(gathered.cells[number] for number in numbers)
    middles = np.array([cell.start_us + round(cell.length_s * 5e5) for cell in cells], dtype=np.int64)
    return Pieces(cells, middles, piece_s, span)


def _placing(origin_us: int, piece_s: float, clock: Clock) -> Placing:
    def place(piece: Observations) -> tuple[NDArray[np.int64], _Array]:
        middle = clock(piece.start_us + (piece.length_s * 5e5).astype(np.int64))
        # Days before 1970 have negative numbers; only the order counts.
        numbers = np.floor_divide(middle - origin_us, round(piece_s * 1e6)) + 10**9
        return numbers.astype(np.int64), np.zeros(len(piece))

    return place


def _span(log: Log) -> tuple[int, int]:
    """Begin of the first and end of the last observation."""
    import polars as pl

    ends = pl.col("start").dt.epoch("us") + (pl.col("length_s") * 1e6).cast(pl.Int64)
    row = (
        log.samples()
        .select(pl.col("start").dt.epoch("us").min().alias("first"), ends.max().alias("last"))
        .collect(engine="streaming")
        .row(0)
    )
    return (0, 0) if row[0] is None or row[1] is None else (int(row[0]), int(row[1]))


def _simulated(log: Log) -> bool:
    """Whether the times are those of a simulation, which all begin at one epoch."""
    return any("replication" in session for session in log.manifest.get("sessions", []))


def _hosts(logs: Sequence[Log]) -> tuple[str, ...]:
    """Names of the machines, as far as they are known."""
    names = [
        str(session["machine"]["hostname"])
        for log in logs
        for session in log.manifest.get("sessions", [])[-1:]
        if session.get("machine", {}).get("hostname")
    ]
    return tuple(dict.fromkeys(names))


def _check_times(logs: Sequence[Log], both: Sequence[Pieces]) -> None:
    """Refuse logs that do not follow one another, on one machine's clock.

    Raises
    ------
    InputError
        They overlap, or are in the wrong order.
    """
    if any(map(_simulated, logs)) or len(_hosts(logs)) > 1:
        return
    (_, first_end), (second_start, second_end) = both[0].span_us, both[1].span_us
    if second_end <= both[0].span_us[0]:
        raise InputError(f"{logs[0].path} was recorded after {logs[1].path}: give BEFORE first, then AFTER")
    if second_start < first_end:
        raise InputError(
            f"{logs[0].path} and {logs[1].path} overlap: one goes on to "
            f"{time_label(first_end, day=False)}, the other begins at {time_label(second_start, day=False)} "
            "UTC; a change that was switched on and off is compared in one log with --treatment or --design"
        )


def _side(log: Log, side: Pieces, asked: Wanted, level: float) -> Side:
    load = None
    if asked.load:
        at = [item.name for item in asked.columns].index(asked.load)
        values = [float(cell.mean[at]) for cell in side.cells]
        load = batch_means.plain_mean(values, level).with_unit(asked.columns[at].unit)
    count = sum(cell.n for cell in side.cells)
    return Side(str(log.path), *side.span_us, len(side.cells), count, load)


def _load_range(
    asked: Wanted, both: Sequence[Pieces]
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Where most observations of each log lie."""
    if not asked.load:
        return None
    at = [item.name for item in asked.columns].index(asked.load)
    ends = []
    for side in both:
        weights = np.array([cell.length_s for cell in side.cells])
        means = np.array([cell.mean[at] for cell in side.cells])
        mean = float(np.average(means, weights=weights))
        within = sum(float(cell.products[at, at]) for cell in side.cells)
        between = float(weights @ (means - mean) ** 2)
        deviation = math.sqrt((within + between) / float(weights.sum()))
        ends.append((mean - 2.0 * deviation, mean + 2.0 * deviation))
    return ends[0], ends[1]


def _follows(cells: Sequence[Cell]) -> float | None:
    squares = sum(float(cell.squares[0]) for cell in cells)
    return sum(float(cell.follows[0]) for cell in cells) / squares if squares > 0.0 else None


def _between(item: LogEffect) -> float | None:
    """Correlation of a piece with the next one, of both logs together."""
    found = [float(batch_means.autocorrelation(values)[0]) for values in item.values if len(values) > 2]
    known = [value for value in found if not math.isnan(value)]
    return sum(known) / len(known) if known else None


def _curves(logs: Sequence[Log], asked: Wanted, level: float) -> Comparison | None:
    """Both logs load by load."""
    if not asked.load:
        return None
    found = throughput_comparison.compare(logs, ("before", "after"), load=asked.load, level=level)
    return None if isinstance(found, NotApplicable) else found


def _by_range(item: LogEffect, curves: Comparison | None) -> LogEffect:
    """Put the difference by ranges of load beside that by slopes."""
    if curves is None or item.adjusted != "load":
        return item
    found = [one.estimate for one in curves.overall if one.measure.name == item.name]
    return replace(item, by_range=found[0]) if found else item


def _costs(logs: Sequence[Log], asked: Wanted, level: float) -> tuple[LogCost, ...] | str:
    """Costs of the same requests in both logs."""
    if not asked.work:
        return "no request was measured in both logs"
    names = [str(log.path) for log in logs]
    found = overhead_comparison.compare(logs, names, requests=asked.work, fit_options=FitOptions(level=level))
    if isinstance(found, NotApplicable):
        return found.reason
    return tuple(
        LogCost(item.request, item.label, item.seconds[0], item.seconds[1], item.differences[0], item.test)
        for item in found.costs
    )
