"""Differences between two logs, before and after a change, at equal load and at equal work."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.design import DAY_S, Clock, Placing, aligned, time_label
from thinktime.analyses.compare.effects import adjusted_means
from thinktime.analyses.compare.pieces import Line, Pieces, spread
from thinktime.analyses.compare.result import BeforeAfter, LogEffect, NotCompared, Side
from thinktime.analyses.compare.unit_means import Cell, autocorrelation, gather
from thinktime.analyses.compare.variables import Question, Variables, questions, variables
from thinktime.analyses.overhead import comparison as overhead_comparison
from thinktime.analyses.overhead.regression import FitOptions
from thinktime.analyses.throughput import comparison as throughput_comparison
from thinktime.analyses.throughput.comparison import ThroughputComparison
from thinktime.errors import InputError
from thinktime.log import facts
from thinktime.questions.checks import all_or_reason, check_level, check_logs
from thinktime.stats import critical_values
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import ALPHA, SignificanceTest, holm
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.analyses.overhead.comparison import ComparedCost
    from thinktime.log import Log
    from thinktime.log.observations import Observations


_Array = NDArray[np.float64]

DAYS_LEAST = 5
"""A log of fewer days is cut into equal stretches."""
PIECES = 12
"""Stretches of a short log: enough for the error of a mean, and each as long as possible."""
PARTS = 20
"""Parts of such a stretch: their correlation decides how far the mean of all of them strays."""
PIECES_LEAST = 4
"""Pieces of a log that are needed to estimate how much they vary."""


def compare(
    before: Log,
    after: Log,
    *,
    quantities: Sequence[str] | None = None,
    load: str | None = None,
    requests: Sequence[str] | None = None,
    level: float = 0.95,
) -> BeforeAfter | NotApplicable:
    """Differences between two logs at equal load, and of their overhead at equal work.

    Means of whole logs are not compared: their loads differ (Bard 1971). Each log is cut into days, or
    into equal stretches if it is short, and a piece counts as one observation: successive observations
    are correlated, days hardly; the correlation of shorter stretches is allowed for (`pieces.Line`). The
    difference by ranges of load, which assumes no curve, is given for comparison
    (`throughput.comparison`). Costs are those of the overhead regression on each log
    (`overhead.comparison`).

    Nothing was assigned here: everything else that changed between the logs is included in the difference.

    Parameters
    ----------
    before, after : Log
    quantities, load, requests
        See `compare.analysis.analyse`.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        The logs overlap in time or are in the wrong order, or a quantity does not exist.
    """
    logs = (before, after)
    check_logs(logs, ("before", "after"))
    check_level(level)
    shared = _common(logs, quantities, load, requests)
    if isinstance(shared, NotApplicable):
        return shared
    common, missing = shared
    both = tuple(_gathered(log, common) for log in logs)
    for log, side in zip(logs, both, strict=True):
        if len(side.cells) < PIECES_LEAST:
            return NotApplicable(
                f"the log {log.path} has {len(side.cells)} pieces with observations: {PIECES_LEAST} are "
                "needed to estimate how much they vary",
                "record longer",
            )
    _check_times(logs, both)
    effects, refused = _at_equal(common, both, level, clocks=not any(map(_simulated, logs)))
    if not effects:
        reasons = "; ".join(f"{item.name}: {item.reason.kind.replace('_', ' ')}" for item in refused)
        return NotApplicable(
            f"nothing can be compared at equal load or work ({reasons}), and means of whole logs depend on "
            "their loads",
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
        costs=() if isinstance(costs, NotApplicable) else costs,
        costs_unknown=costs.reason if isinstance(costs, NotApplicable) else "",
        not_common=missing,
        left_out=refused,
        autocorrelation=autocorrelation(cell for side in both for cell in side.cells),
        between_pieces=_between(effects[0]),
        caveats=(),
    )
    of_users = facts.caveats_of_users(*logs) if common.load else ()
    return replace(result, caveats=(*of_users, *_caveats(result, _hosts(logs))))


def _common(
    logs: Sequence[Log], quantities: Sequence[str] | None, load: str | None, requests: Sequence[str] | None
) -> tuple[Variables, tuple[str, ...]] | NotApplicable:
    """Quantities that both logs have, and names of those that only one has."""
    by_log = all_or_reason(
        [str(log.path) for log in logs], (variables(log, quantities, load, requests) for log in logs)
    )
    if isinstance(by_log, NotApplicable):
        return by_log
    first, second = by_log
    names = {item.name for item in first.columns} & {item.name for item in second.columns}
    every = dict.fromkeys(item.name for one in by_log for item in one.columns if not item.squared)
    missing = tuple(name for name in every if name not in names)
    same = first.load if first.load == second.load else ""
    kept = Variables(
        columns=tuple(item for item in first.columns if item.name in names and (same or not item.squared)),
        compared=tuple(item for item in first.compared if item.name in names),
        load=same,
        work=tuple(name for name in first.work if name in names),
    )
    if not kept.compared:
        return NotApplicable(
            f"the logs have nothing in common that could be compared: {', '.join(missing)} are in only one "
            f"of them",
            "record both with the same source",
        )
    return kept, missing


def _gathered(log: Log, chosen: Variables) -> Pieces:
    """Pieces of a log: days, or equal stretches if it is short."""
    span = _span(log)
    length_s = (span[1] - span[0]) / 1e6
    piece_s = DAY_S if length_s >= DAYS_LEAST * DAY_S else max(length_s / PIECES, 1e-6)
    origin = 0 if piece_s == DAY_S else span[0]
    gathered = gather(log, chosen.columns, _placing(origin, piece_s, aligned(log)))
    numbers = sorted(gathered.cells)
    cells = tuple(gathered.cells[number] for number in numbers)
    middles = np.array([cell.start_us + round(cell.length_s * 5e5) for cell in cells], dtype=np.int64)
    parts: tuple[tuple[Cell, ...], ...] = ()
    if piece_s != DAY_S:
        fine = gather(log, chosen.columns, _placing(origin, piece_s, aligned(log), PARTS)).cells
        by_piece: dict[int, list[Cell]] = {}
        for (part, _), cell in sorted(fine.items()):
            by_piece.setdefault(part // PARTS, []).append(cell)
        parts = tuple(map(tuple, by_piece.values()))
    return Pieces(cells=cells, parts=parts, middles_us=middles, piece_s=piece_s, span_us=span)


def _placing(origin_us: int, piece_s: float, clock: Clock, parts: int = 1) -> Placing:
    """Number of the piece of each observation, or of its part: parts of one piece follow one another."""
    length_us = round(piece_s * 1e6)

    def place(piece: Observations) -> tuple[NDArray[np.int64], _Array]:
        middle = clock(piece.start_us + (piece.length_s * 5e5).astype(np.int64))
        # Days before 1970 have negative numbers; only the order counts.
        numbers, rest = np.divmod(middle - origin_us, length_us)
        numbers = (numbers + 10**9) * parts + rest * parts // length_us
        return numbers.astype(np.int64), np.zeros(len(piece))

    return place


def _span(log: Log) -> tuple[int, int]:
    """Start of the first and end of the last observation."""
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
    """True if the times are those of a simulation, which all begin at one epoch."""
    return any(session.is_replication for session in facts.sessions(log))


def _hosts(logs: Sequence[Log]) -> tuple[str, ...]:
    """Names of the machines, as far as the logs have them."""
    names = [facts.last_machine(log).text("hostname") for log in logs]
    return tuple(dict.fromkeys(name for name in names if name))


def _check_times(logs: Sequence[Log], both: Sequence[Pieces]) -> None:
    """Check that the logs follow one another, on one machine's clock.

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
            f"{logs[0].path} and {logs[1].path} overlap: one continues to "
            f"{time_label(first_end, day=False)}, the other begins at {time_label(second_start, day=False)} "
            "UTC; a change that was switched on and off is compared in one log with --treatment or --design"
        )


def _side(log: Log, side: Pieces, chosen: Variables, level: float) -> Side:
    load = None
    if chosen.load:
        column = [item.name for item in chosen.columns].index(chosen.load)
        line, values = Line.of([side], column, []), np.array([cell.mean[column] for cell in side.cells])
        load = line.mean(values, side).estimate(chosen.columns[column].unit, "mean of pieces", level)
    return Side(
        path=str(log.path),
        start_us=side.span_us[0],
        end_us=side.span_us[1],
        pieces=len(side.cells),
        n=sum(cell.n for cell in side.cells),
        load=load,
    )


def _load_range(
    chosen: Variables, both: Sequence[Pieces]
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Range of most observations of each log."""
    if not chosen.load:
        return None
    column = [item.name for item in chosen.columns].index(chosen.load)
    ends = []
    for side in both:
        weights = np.array([cell.length_s for cell in side.cells])
        means = np.array([cell.mean[column] for cell in side.cells])
        mean = float(np.average(means, weights=weights))
        within = sum(float(cell.products[column, column]) for cell in side.cells)
        between = float(weights @ (means - mean) ** 2)
        deviation = math.sqrt((within + between) / float(weights.sum()))
        ends.append((mean - 2.0 * deviation, mean + 2.0 * deviation))
    return ends[0], ends[1]


def _between(item: LogEffect) -> float | None:
    """Correlation of a piece with the next one, of both logs together."""
    correlations = [
        float(batch_means.autocorrelation(values)[0]) for values in item.values if len(values) > 2
    ]
    defined = [value for value in correlations if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else None


def _curves(logs: Sequence[Log], chosen: Variables, level: float) -> ThroughputComparison | None:
    """Throughput of both logs, load by load."""
    if not chosen.load:
        return None
    curves = throughput_comparison.compare(logs, ("before", "after"), load=chosen.load, level=level)
    return None if isinstance(curves, NotApplicable) else curves


def _by_range(item: LogEffect, curves: ThroughputComparison | None) -> LogEffect:
    """Effect with the difference by ranges of load added to that by slopes."""
    if curves is None or item.adjusted != "load":
        return item
    estimates = [one.estimate for one in curves.overall if one.measure.name == item.name]
    return replace(item, by_range=estimates[0]) if estimates else item


def _costs(logs: Sequence[Log], chosen: Variables, level: float) -> tuple[ComparedCost, ...] | NotApplicable:
    """Costs of the same requests in both logs."""
    if not chosen.work:
        return NotApplicable("no request was measured in both logs")
    names = [str(log.path) for log in logs]
    comparison = overhead_comparison.compare(
        logs, names, requests=chosen.work, fit_options=FitOptions(level=level)
    )
    if isinstance(comparison, NotApplicable):
        return comparison
    return comparison.costs


# Effects

DRIFT_LEAST = 4
"""Pieces that a line through them needs to have an error with two degrees of freedom."""


def _at_equal(
    chosen: Variables, both: Sequence[Pieces], level: float, *, clocks: bool
) -> tuple[tuple[LogEffect, ...], tuple[NotCompared, ...]]:
    """Every quantity at equal load, then overhead at equal work; and those that cannot be compared.

    Unadjusted means are left out: they belong to other loads.
    """
    every, refused = questions(chosen, [cell for side in both for cell in side.cells])
    return tuple(_effect(item, both, level, clocks) for item in every if item.adjusted), refused


def _effect(question: Question, both: Sequence[Pieces], level: float, clocks: bool) -> LogEffect:
    unit = question.unit
    y = adjusted_means([cell for side in both for cell in side.cells], question.target, question.covariates)
    cut = len(both[0].cells)
    line = Line.of(both, question.target, question.covariates)
    before, after = (line.mean(values, side) for values, side in zip((y[:cut], y[cut:]), both, strict=True))
    change = line.difference(*both)
    drifts = [
        _drift(values, side, level, unit, widened=mean.error / plain if (plain := spread(values)) else 1.0)
        for values, side, mean in zip((y[:cut], y[cut:]), both, (before, after), strict=True)
    ]
    first, second = (side.middles_us for side in both)
    distance = float(second.mean() - first.mean()) / float(first[-1] - first[0])
    return LogEffect(
        name=question.name,
        label=question.label,
        unit=unit,
        kind=question.kind,
        adjusted=question.adjusted,
        adjusted_for=question.adjusted_for,
        before=before.estimate(unit, f"mean of pieces, {line.method}", level),
        after=after.estimate(unit, f"mean of pieces, {line.method}", level),
        difference=change.estimate(unit, f"difference of means of pieces, {line.method}, Welch t", level),
        relative=change.value / before.value if before.value else None,
        test=SignificanceTest(
            hypothesis=f"{question.label} is the same before and after",
            statistic=change.value / change.error if change.error > 0.0 else math.inf,
            p=change.p,
            n=len(y),
            method=f"Welch's t, {line.method}",
            direction=(change.value > 0) - (change.value < 0),
        ),
        by_range=None,
        values=(tuple(y[:cut].tolist()), tuple(y[cut:].tolist())),
        drift_before=drifts[0],
        drift_after=drifts[1],
        carried=_times(drifts[0], distance) if clocks and drifts[0] is not None else None,
    )


def _drift(values: _Array, side: Pieces, level: float, unit: str, *, widened: float) -> Estimate | None:
    """Change from the first piece to the last by a line through them, with Student's interval.

    It is `widened` as the correlation of pieces widens that of their mean.
    """
    if len(values) < DRIFT_LEAST:
        return None
    time = (side.middles_us - side.middles_us.mean()) / (side.middles_us[-1] - side.middles_us[0])
    rows = LeastSquares(2)
    rows.absorb(np.column_stack([np.ones(len(time)), time]), values)
    fit = rows.solve()
    if fit.aliased or fit.degrees < 1:
        return None
    slope = float(fit.coefficients[1])
    reach = critical_values.student_t(level, fit.degrees) * math.sqrt(max(float(fit.covariance()[1, 1]), 0.0))
    reach *= max(1.0, widened)
    return Estimate(
        value=slope,
        unit=unit,
        n=len(values),
        method="least squares on pieces, over the log",
        low=slope - reach,
        high=slope + reach,
        level=level,
    )


def _times(drift: Estimate, factor: float) -> Estimate:
    """Drift times `factor`: the change in that many lengths of the log."""
    return replace(
        drift,
        value=drift.value * factor,
        method="drift before, carried on",
        low=None if drift.low is None else drift.low * factor,
        high=None if drift.high is None else drift.high * factor,
    )


# Caveats

OVERLAP_LEAST = 0.5
"""Share of the narrower range of load that both logs must have in common."""
CORRELATED_MOST = 0.5
"""Correlation of pieces above which they are too short to be counted as independent."""


def _caveats(result: BeforeAfter, hosts: tuple[str, ...]) -> Iterator[Caveat]:
    """Reservations about the differences, most serious first."""
    yield Caveat("not_assigned")
    if len(hosts) > 1:
        yield Caveat("different_machines", hosts=hosts)
    if result.load_range is not None:
        (low, high), (start, end) = result.load_range
        shared = min(high, end) - max(low, start)
        narrower = min(high - low, end - start)
        if narrower > 0.0 and shared < OVERLAP_LEAST * narrower:
            yield Caveat("loads_hardly_overlap", before=(low, high), after=(start, end))
    if drifting := _drifting(result):
        yield Caveat("trend_within", drifts=drifting)
    if result.between_pieces is not None and result.between_pieces > CORRELATED_MOST:
        yield Caveat("correlated_pieces", correlation=result.between_pieces, piece=result.piece)
    if result.not_common or result.left_out:
        yield Caveat("not_compared", missing=result.not_common, refused=result.left_out)


def _drifting(result: BeforeAfter) -> list[tuple[LogEffect, str, Estimate]]:
    """Significant trends with the log that has them, by Holm over all quantities of both logs."""
    drifts = [
        (item, side, drift)
        for item in result.effects
        for side, drift in (("before", item.drift_before), ("after", item.drift_after))
        if drift is not None
    ]
    significant = holm([_chance(drift) for *_, drift in drifts]) < ALPHA if drifts else ()
    return [one for one, sure in zip(drifts, significant, strict=True) if sure]


def _chance(drift: Estimate) -> float:
    """Probability of a slope as far from zero by chance, from its interval: Student's t, two-sided."""
    degrees = drift.n - 2
    reach = 0.0 if drift.high is None else drift.high - drift.value
    if reach <= 0.0:
        return 0.0 if drift.value else 1.0
    t = drift.value / reach * critical_values.student_t(drift.level, degrees)
    return critical_values.f_tail(t * t, 1.0, degrees)
