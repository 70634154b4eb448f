"""What each kind of request costs the system, by regression (Bard 1971)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.observations import Quantity, role_columns, thinned
from thinktime.analyses.overhead_caveats import overhead_caveats
from thinktime.analyses.regression import Regression, fit
from thinktime.analyses.requests import Design, build, candidates
from thinktime.stats import series
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Cost", "DirectCost", "LeftOut", "Overhead", "Point", "TickCheck", "analyse"]

N_LEAST = 20
ROWS_PER_REQUEST = 3
POINTS_MAX = 1000
BASE = Quantity("base", "base (time not charged to requests)", "s", ())


@dataclass(frozen=True, slots=True)
class DirectCost:
    """Cost of one request, measured by itself on the same machine."""

    seconds: Estimate
    overlaps: bool
    """Whether its interval and that of the regression have a point in common."""
    ratio: float
    """Regression's cost over the direct one."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One term of the regression."""

    request: str
    """Column (``forks``), ``disk_operations`` or another sum of columns, ``user_time``, or ``base``."""
    label: str
    columns: tuple[str, ...]
    """Columns of the samples that were added up; empty for ``base``."""
    seconds: Estimate
    """System CPU time a request [s], or per second of user time [s/s], or per second of real time for
    ``base`` [s/s]. Its interval is the one to rely on."""
    textbook: Estimate
    """The same with the textbook interval (independent errors of one variance)."""
    bootstrap: Estimate | None
    """The same with the moving-block bootstrap interval."""
    share: Estimate
    """Part of the mean system time, 0 to 1: cost x mean rate / mean system time (Bard 1971, Table 8)."""
    rate: Estimate
    """Mean rate over the observations used [request/s]; 1 for ``base``."""
    f_to_enter: float | None
    """F at which forward selection took it; None for ``base``."""
    variance_inflation: float | None
    """1 / (1 - R^2 of this rate on the others); above 10 the costs can hardly be told apart."""
    non_negative: float | None
    """Cost in the fit that allows no negative cost; None where no cost is negative."""
    robust: float
    """Cost by Huber's M-estimate on all observations, outliers included."""
    quarters: tuple[float, ...]
    """Cost fitted on each quarter of the log by itself (Bard's stability test); empty if too short."""
    direct: DirectCost | None
    """Direct measurement beside it, where the manifest has one."""
    concentration: float = 0.0
    """Part of what is known of this cost that comes from the five intervals which tell most, 0 to 1."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate that is not in the regression, and why."""

    request: str
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class Point:
    """One observation: system time per second [s/s]."""

    start_us: int
    observed: float
    fitted: float
    outlier: bool


@dataclass(frozen=True, slots=True)
class TickCheck:
    """The tick-sampled CPU time against the exact one."""

    ticks: Estimate
    """Busy CPU time by ticks [s/s]."""
    exact: Estimate
    """Busy CPU time, exact [s/s]."""
    disagreement: float
    """Ticks over exact, less one."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """System CPU time explained by request rates (Bard 1971, equation 2)."""

    costs: tuple[Cost, ...]
    """``base`` first, then in the order of entry."""
    left_out: tuple[LeftOut, ...]
    system_time: Estimate
    """Mean system time [s/s]: what is explained."""
    explained: tuple[str, ...]
    """Columns whose sum is explained."""
    scaled: bool
    """Whether it is the system's share of ticks times the exact busy time."""
    r_squared: float
    residual_s: float
    """s of equation 6 [s/s]."""
    n: int
    """Observations used, outliers left out."""
    outliers: int
    outliers_positive: int
    f_to_enter: float
    """The least F at which a candidate was taken."""
    autocorrelation: float
    """Correlation of one residual with the next."""
    lags: int
    """Bandwidth of the interval that holds under autocorrelation."""
    condition_number: float
    """Of the columns used, each scaled to length one; above 30 is a caveat."""
    tick_check: TickCheck | None
    recorder: Estimate | None
    """CPU time of the recorder itself [s/s], which is part of what was measured."""
    points: tuple[Point, ...]
    """Observed and fitted, thinned evenly to at most 1000, outliers kept."""
    caveats: tuple[str, ...]


def analyse(
    log: Log,
    *,
    requests: Sequence[str] | None = None,
    f_to_enter: float = 4.0,
    threshold: float = 2.5,
    as_printed: bool = False,
    scaled: bool = False,
    seed: int = 1,
    level: float = 0.95,
) -> Overhead | NotApplicable:
    r"""Cost of each kind of request in system CPU time (Bard 1971, equation 2).

    .. math:: \tau = \theta_0 + \sum_i \theta_i x_i

    with :math:`\tau` system time per second, :math:`x_i` requests per second (user time: seconds per
    second), fitted by least squares (equations 3 and 4). Requests enter by forward selection, as long as
    their cost is positive when they enter; observations off by more than 2.5 s are dropped, and the fit
    is made once more on the rest; R^2 by equation 5. A request's share of system time is :math:`\theta_i
    \bar x_i / \bar\tau` (Table 8).

    Bard gives no intervals since errors are neither independent nor of one size. Here the interval
    to rely on is Newey and West's, with residuals scaled by leverage and fixed-b critical values
    (`stats.covariance`, `stats.critical`); the textbook interval and that of the moving-block bootstrap
    stand beside it. None of them knows of what was not measured: activities that go along with a request
    are charged to it.

    Parameters
    ----------
    log : Log
    requests : sequence of str, optional
        Names of the requests to fit, without selection: columns, sums of `observations.SUMS`, or
        ``user_time``. By default every candidate is offered to the selection.
    f_to_enter : float
        Least F at which a request is taken; Bard names no level, 4 is the usual one.
    threshold : float
        Outlier rule, multiples of s.
    as_printed : bool
        Divisor n - m of equation 6 as printed, instead of n - m - 1.
    scaled : bool
        Explain the system's share of ticks times the exact busy time, instead of ticks alone: better
        where ticks and exact time disagree.
    seed : int
        Of the bootstrap.
    level : float
        Confidence of the intervals.
    """
    names = candidates(log) if requests is None else tuple(requests)
    design = build(log, names, scaled=scaled)
    if isinstance(design, str):
        return NotApplicable(design, "record with a source that measures it (`thinktime record`)")
    least = N_LEAST + (ROWS_PER_REQUEST * len(names) if requests is not None else 0)
    if len(design.rows) < least:
        return NotApplicable(
            f"{len(design.rows)} usable intervals are too few for a regression: {least} are needed",
            "record longer, or with a shorter interval",
        )
    if np.ptp(design.target) == 0.0:
        return NotApplicable("system time never changed", "record under a load that varies")
    regression = fit(
        design,
        select=requests is None,
        f_to_enter=f_to_enter,
        threshold=threshold,
        as_printed=as_printed,
        level=level,
    )
    if isinstance(regression, str):
        return NotApplicable(regression, "record longer, under mixed load")
    return _result(
        log, design, regression, scaled=scaled, f_to_enter=f_to_enter, as_printed=as_printed, seed=seed
    )


def _result(
    log: Log,
    design: Design,
    regression: Regression,
    *,
    scaled: bool,
    f_to_enter: float,
    as_printed: bool,
    seed: int,
) -> Overhead:
    trimmed, level = regression.trimmed, regression.level
    system = series.batch_ratio(regression.y, None, level).estimate("s/s")
    check = _tick_check(log, design, level)
    recorder = design.seen.columns["recorder_cpu_s"]
    known = ~np.isnan(recorder)
    own = series.batch_ratio(recorder[known], design.seen.length_s[known], level) if known.any() else None
    result = Overhead(
        costs=_costs(design, regression, system, _direct_costs(log), seed),
        left_out=_left_out(design, regression, f_to_enter),
        system_time=system,
        explained=design.explained,
        scaled=scaled,
        r_squared=trimmed.fit.r_squared,
        residual_s=trimmed.fit.residual_deviation(as_printed=as_printed),
        n=trimmed.fit.n,
        outliers=int(np.count_nonzero(~trimmed.kept)),
        outliers_positive=trimmed.positive,
        f_to_enter=f_to_enter,
        autocorrelation=regression.autocorrelation(),
        lags=regression.lags,
        condition_number=regression.diagnosis().condition_number,
        tick_check=check,
        recorder=own.estimate("s/s") if own else None,
        points=_points(design, regression),
        caveats=(),
    )
    return dataclasses.replace(result, caveats=overhead_caveats(result))


def _costs(
    design: Design,
    regression: Regression,
    system: Estimate,
    direct: dict[str, Estimate],
    seed: int,
) -> tuple[Cost, ...]:
    level, n = regression.level, regression.trimmed.fit.n
    robust, textbook = regression.robust_reach(), regression.textbook_reach()
    low, high = regression.bootstrap_ends(seed)
    inflation = regression.diagnosis().variance_inflation
    concentration = regression.concentration()
    floor, huber, quarters = regression.non_negative(), regression.huber(), regression.quarters()
    costs = []
    for at, column in enumerate(regression.keep):
        term = BASE if column == 0 else design.terms[column - 1]
        value = float(regression.coefficients[at])
        unit = "s/s" if term.unit == "s" else f"s/{term.unit}" if term.unit else "s"

        def figure(
            ends: tuple[float, float], method: str, value: float = value, unit: str = unit
        ) -> Estimate:
            return Estimate(value, unit, n, method, ends[0], ends[1], level)

        seconds = figure(
            (value - float(robust[at]), value + float(robust[at])),
            f"least squares, Newey-West with {regression.lags} lags, leverage, fixed-b",
        )
        rate = series.batch_ratio(regression.x[:, at], None, level)
        costs.append(
            Cost(
                request=term.name,
                label=term.label,
                columns=term.columns,
                seconds=seconds,
                textbook=figure(
                    (value - float(textbook[at]), value + float(textbook[at])),
                    "least squares, independent errors",
                ),
                bootstrap=figure((float(low[at]), float(high[at])), "least squares, moving-block bootstrap"),
                share=_share(seconds, rate.value / system.value),
                rate=rate.estimate("" if column == 0 else f"{term.unit}/s"),
                f_to_enter=regression.entry_f[at],
                variance_inflation=None if column == 0 else inflation[at],
                non_negative=None if floor is None else float(floor[at]),
                robust=float(huber[at]),
                quarters=tuple(quarters[:, at].tolist()),
                direct=_beside(seconds, direct.get(term.name)),
                concentration=float(concentration[at]),
            )
        )
    return tuple(costs)


def _share(seconds: Estimate, factor: float) -> Estimate:
    """Part of system time: the cost's interval at the rates that were seen."""
    low = None if seconds.low is None else seconds.low * factor
    high = None if seconds.high is None else seconds.high * factor
    method = "cost x mean rate / mean system time, given the rates"
    return Estimate(seconds.value * factor, "", seconds.n, method, low, high, seconds.level)


def _direct_costs(log: Log) -> dict[str, Estimate]:
    """Directly measured costs by request; of several sessions the last one that measured it."""
    found = {}
    for session in log.manifest.get("sessions", []):
        for item in session.get("direct_costs") or []:
            found[str(item["request"])] = Estimate(
                float(item["seconds"]),
                "s",
                int(item.get("n") or 0),
                f"direct: {item.get('method') or 'not said how'}",
                None if item.get("low") is None else float(item["low"]),
                None if item.get("high") is None else float(item["high"]),
            )
    return found


def _beside(seconds: Estimate, direct: Estimate | None) -> DirectCost | None:
    if direct is None or direct.value <= 0.0:
        return None
    low, high = (direct.value if end is None else end for end in (direct.low, direct.high))
    inside = (seconds.low is None or seconds.low <= high) and (seconds.high is None or seconds.high >= low)
    return DirectCost(dataclasses.replace(direct, unit=seconds.unit), inside, seconds.value / direct.value)


def _left_out(design: Design, regression: Regression, f_to_enter: float) -> tuple[LeftOut, ...]:
    found = [LeftOut(item.name, item.label, reason) for item, reason in design.left_out]
    for rejected in regression.selection.rejected:
        item = design.terms[rejected.column - 1]
        if rejected.f is None:
            reason = (
                f"moves together with what is in: only {rejected.tolerance:.0%} of its variation is its own"
            )
        elif rejected.negative and rejected.f >= f_to_enter:
            reason = (
                f"goes along with less system time (F = {rejected.f:.2g}): it competes for the CPU, "
                "which is no cost"
            )
        else:
            reason = f"explains nothing more (F = {rejected.f:.2g})"
        found.append(LeftOut(item.name, item.label, reason))
    if not regression.selection.rejected:
        used = set(regression.keep)
        found += [
            LeftOut(item.name, item.label, "is a combination of the others")
            for column, item in enumerate(design.terms, start=1)
            if column not in used
        ]
    return tuple(found)


def _tick_check(log: Log, design: Design, level: float) -> TickCheck | None:
    seen = design.seen
    ticks = seen.total([*design.explained, *role_columns(log, "user_time")])
    exact = seen.columns["busy_exact_s"]
    known = ~np.isnan(ticks) & ~np.isnan(exact)
    if not known.any() or not exact[known].any():
        return None
    by_ticks = series.batch_ratio(ticks[known], seen.length_s[known], level).estimate("s/s")
    exactly = series.batch_ratio(exact[known], seen.length_s[known], level).estimate("s/s")
    return TickCheck(by_ticks, exactly, by_ticks.value / exactly.value - 1.0)


def _points(design: Design, regression: Regression) -> tuple[Point, ...]:
    kept, residuals = regression.trimmed.kept, regression.trimmed.residuals
    shown = set(thinned(len(kept), POINTS_MAX).tolist())
    shown |= set(np.flatnonzero(~kept)[:POINTS_MAX].tolist())
    starts = design.seen.start_us[design.rows]
    return tuple(
        Point(
            int(starts[at]), float(design.target[at]), float(design.target[at] - residuals[at]), not kept[at]
        )
        for at in sorted(shown)
    )
