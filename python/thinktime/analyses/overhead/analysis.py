"""What each kind of request costs the system, by regression (Bard 1971)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.overhead.caveats import overhead_caveats
from thinktime.analyses.overhead.design import Design, Target, build, candidates, check_names
from thinktime.analyses.overhead.regression import Options, Regression, fit
from thinktime.analyses.overhead.residual_pass import Point
from thinktime.analyses.overhead.result import (
    Cost,
    CostSpread,
    DirectCost,
    LeftOut,
    Overhead,
    Part,
    Stability,
    TickCheck,
)
from thinktime.analyses.overhead.stability import stability
from thinktime.analyses.overhead.tick_check import BESIDE, recorder_time, tick_check
from thinktime.errors import InputError
from thinktime.log import observations
from thinktime.log.observations import Quantity, role_columns
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = [
    "Cost",
    "CostSpread",
    "DirectCost",
    "LeftOut",
    "Overhead",
    "Part",
    "Point",
    "Stability",
    "TickCheck",
    "analyse",
]

N_LEAST = 20
ROWS_PER_REQUEST = 3
BASE = Quantity("base", "base (time not charged to requests)", "s", ())


def analyse(
    log: Log,
    *,
    requests: Sequence[str] | None = None,
    without: Sequence[str] = (),
    explained: Sequence[str] | None = None,
    less: Sequence[str] = (),
    f_to_enter: float = 4.0,
    threshold: float = 2.5,
    as_printed: bool = False,
    scaled: bool = False,
    subsets: int = 4,
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
    to rely on is Newey and West's, prewhitened, with residuals scaled by leverage and fixed-b critical
    values (`stats.covariance`, `stats.critical`); the textbook interval and that of the moving-block
    bootstrap stand beside it. None of them knows of what was not measured: activities that go along with
    a request are charged to it.

    The log is read several times, in pieces; memory does not grow with it.

    Parameters
    ----------
    log : Log
    requests : sequence of str, optional
        Names of the requests to fit, without selection: columns, sums of `observations.SUMS`, or
        ``user_time``. By default every candidate is offered to the selection.
    without : sequence of str
        Names of requests that are left out, as if they had not been measured (Table 4).
    explained : sequence of str, optional
        Counters to explain instead of system time: a part of it (Table 6), or what else requests may cause.
    less : sequence of str
        Counters that are taken off what is explained.
    f_to_enter : float
        Least F at which a request is taken; Bard names no level, 4 is the usual one.
    threshold : float
        Outlier rule, multiples of s.
    as_printed : bool
        Divisor n - m of equation 6 as printed, instead of n - m - 1.
    scaled : bool
        Explain the system's share of ticks times the exact busy time, instead of ticks alone: better
        where ticks and exact time disagree.
    subsets : int
        Parts of the log that are also fitted by themselves, at least 2.
    seed : int
        Of the bootstrap.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        The log has no such request or counter.
    """
    if subsets < 2:
        raise InputError(f"subsets: {subsets}, which must be at least 2: one part has no spread")
    names = _names(log, requests, without)
    target = _target(log, explained, less, scaled=scaled)
    beside = (*BESIDE, *role_columns(log, "user_time"))
    design = target if isinstance(target, str) else build(log, names, target, beside)
    if isinstance(design, str):
        return NotApplicable(design, _remedy(design))
    options = Options(
        select=requests is None,
        rows_least=N_LEAST + (ROWS_PER_REQUEST * len(names) if requests is not None else 0),
        f_to_enter=f_to_enter,
        threshold=threshold,
        as_printed=as_printed,
        subsets=subsets,
        seed=seed,
        level=level,
    )
    regression = fit(design, options)
    if isinstance(regression, str):
        return NotApplicable(regression, _remedy(regression))
    return _result(log, design, regression, options)


def _names(log: Log, requests: Sequence[str] | None, without: Sequence[str]) -> tuple[str, ...]:
    """Candidates by name, those `without` left out."""
    check_names(log, (*(requests or ()), *without))
    return tuple(name for name in (candidates(log) if requests is None else requests) if name not in without)


def _target(log: Log, explained: Sequence[str] | None, less: Sequence[str], *, scaled: bool) -> Target | str:
    """Find what is to be explained, or say why that cannot be."""
    counters = {column.name: column for column in log.schema("samples") if column.kind == "counter"}
    for name in (*(explained or ()), *less):
        if name not in counters:
            raise InputError(
                f"{log.path}: samples have no counter {name!r}; the counters are {', '.join(counters)}"
            )
    columns = role_columns(log, "system_time") if explained is None else tuple(explained)
    if not columns:
        return "no column of the samples has the role system_time"
    label = "system time" if explained is None else " and ".join(observations.label(name) for name in columns)
    if less:
        label += f" without {' and '.join(observations.label(name) for name in less)}"
    ticks = (*columns, *role_columns(log, "user_time")) if scaled else ()
    unit = counters[columns[0]].unit if columns[0] in counters else "s"
    return Target(label, unit, columns, tuple(less), ticks)


def _remedy(reason: str) -> str:
    if "too few" in reason:
        return "record longer, or with a shorter interval"
    if "never changed" in reason:
        return "record under a load that varies"
    if "told apart" in reason:
        return "record longer, under mixed load"
    return "record with a source that measures it (`thinktime record`)"


def _result(log: Log, design: Design, regression: Regression, options: Options) -> Overhead:
    trimmed, level = regression.trimmed, regression.level
    target = design.target
    mean = regression.means[-1].with_unit(f"{target.unit}/s")
    degrees, factor = critical_values.long_run(regression.lags / trimmed.fit.n, trimmed.fit.degrees)
    diagnosis = regression.diagnosis()
    whole = target.columns == role_columns(log, "system_time") and not target.less
    busy = [*target.columns, *role_columns(log, "user_time")]
    costs = _costs(design, regression, mean, _direct_costs(log) if whole else {})
    result = Overhead(
        target=target.label,
        costs=costs,
        left_out=_left_out(design, regression, options.f_to_enter),
        system_time=mean,
        explained=target.columns,
        scaled=bool(target.ticks),
        r_squared=trimmed.fit.r_squared,
        residual_s=trimmed.fit.residual_deviation(as_printed=options.as_printed),
        threshold=options.threshold,
        n=trimmed.fit.n,
        outliers=trimmed.outliers,
        outliers_positive=trimmed.positive,
        f_to_enter=options.f_to_enter,
        correlations=tuple(regression.correlations[~np.isnan(regression.correlations)].tolist()),
        lags=regression.lags,
        block=regression.block,
        covariance=tuple(tuple(row) for row in (regression.covariance * factor).tolist()),
        degrees=degrees,
        robust_n=regression.huber_rows,
        condition_number=diagnosis.condition_number,
        dependencies=diagnosis.dependencies,
        stability=stability(regression, costs),
        tick_check=tick_check(design, busy, level) if whole else None,
        recorder=recorder_time(design, level) if whole else None,
        points=regression.points,
        caveats=(),
    )
    return dataclasses.replace(result, caveats=overhead_caveats(result))


def _costs(
    design: Design, regression: Regression, mean: Estimate, direct: dict[str, Estimate]
) -> tuple[Cost, ...]:
    level, n = regression.level, regression.trimmed.fit.n
    robust, textbook = regression.robust_reach(), regression.textbook_reach()
    low, high = regression.bootstrap
    inflation = regression.diagnosis().variance_inflation
    floor = regression.non_negative()
    costs = []
    for at, column in enumerate(regression.keep):
        term = BASE if column == 0 else design.terms[column - 1]
        value = float(regression.coefficients[at])
        amount = design.target.unit
        unit = f"{amount}/{term.unit}" if term.unit else amount

        def figure(
            ends: tuple[float, float], method: str, value: float = value, unit: str = unit
        ) -> Estimate:
            return Estimate(
                value=value, unit=unit, n=n, method=method, low=ends[0], high=ends[1], level=level
            )

        seconds = figure(
            (value - float(robust[at]), value + float(robust[at])),
            f"least squares, Newey-West with {regression.lags} lags, prewhitened, leverage, fixed-b",
        )
        rate = regression.means[at]
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
                bootstrap=figure(
                    (float(low[at]), float(high[at])),
                    f"least squares, moving-block bootstrap with blocks of {regression.block}",
                ),
                share=_share(seconds, rate.value / mean.value),
                rate=rate.with_unit("" if column == 0 else f"{term.unit}/s"),
                f_to_enter=regression.entry_f[at],
                variance_inflation=None if column == 0 else inflation[at],
                non_negative=float(floor[at]),
                robust=float(regression.huber[at]),
                direct=_beside(seconds, direct.get(term.name)),
                concentration=float(regression.concentration[at]),
            )
        )
    return tuple(costs)


def _share(seconds: Estimate, factor: float) -> Estimate:
    """Part of what is explained: the cost's interval at the rates that were seen."""
    low = None if seconds.low is None else seconds.low * factor
    high = None if seconds.high is None else seconds.high * factor
    method = "cost x mean rate / mean of what is explained, given the rates"
    return Estimate(
        value=seconds.value * factor,
        unit="",
        n=seconds.n,
        method=method,
        low=low,
        high=high,
        level=seconds.level,
    )


def _direct_costs(log: Log) -> dict[str, Estimate]:
    """Directly measured costs by request; of several sessions the last one that measured it."""
    found = {}
    for session in log.manifest.get("sessions", []):
        for item in session.get("direct_costs") or []:
            found[str(item["request"])] = Estimate(
                value=float(item["seconds"]),
                unit="s",
                n=int(item.get("n") or 0),
                method=f"direct: {item.get('method') or 'not said how'}",
                low=None if item.get("low") is None else float(item["low"]),
                high=None if item.get("high") is None else float(item["high"]),
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
                f"goes along with less {design.target.label} (F = {rejected.f:.2g}): it competes for "
                "the CPU, which is no cost"
            )
        else:
            reason = f"explains nothing more (F = {rejected.f:.2g})"
        found.append(LeftOut(item.name, item.label, reason, tested=True))
    if not regression.selection.rejected:
        used = set(regression.keep)
        found += [
            LeftOut(item.name, item.label, "is a combination of the others")
            for column, item in enumerate(design.terms, start=1)
            if column not in used
        ]
    return tuple(found)
