"""Costs of each kind of request in system CPU time, by regression (Bard 1971)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead import claims, full, weaknesses
from thinktime.analyses.overhead.design import MEASURED_LEAST, Design, Target, build, candidates, check_names
from thinktime.analyses.overhead.regression import FitOptions, Regression, fit
from thinktime.analyses.overhead.result import (
    INFLATED,
    Cost,
    CostSpread,
    DirectCost,
    LeftOut,
    Overhead,
    Sampling,
    Stability,
    Subset,
    TickCheck,
    Timing,
)
from thinktime.errors import InputError
from thinktime.log import facts, observations
from thinktime.log.observations import Quantity, role_columns
from thinktime.questions.checks import check_level, check_log
from thinktime.stats.critical_values import student_t
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import adjusted
from thinktime.stats.regression.equality import same_coefficient, same_coefficients, same_mean
from thinktime.stats.regression.long_run import DETERMINING_LEAST, estimated
from thinktime.stats.series.batch_means import Batches

if TYPE_CHECKING:
    from thinktime.analyses.overhead.residual_pass import SubsetFit
    from thinktime.log import Log

_Array = NDArray[np.float64]

N_LEAST = 20
"""Intervals that a regression needs, however few its requests."""
ROWS_PER_REQUEST = 3
"""Further intervals for each request: with fewer, a line through them fits whatever the costs are."""
BASE = Quantity(name="base", label="base (time not charged to requests)", unit="s", columns=())
SAMPLED_SYSTEM, SAMPLED_USER = ("system_sampled_s",), ("user_sampled_s",)
"""CPU time by mode, sampled out of step with the tick."""
TICKED = {"user_s", "nice_s", "system_s", "irq_s", "softirq_s"}
"""States that Linux measures by its tick."""
TICKING = {"linux", "sar", "vmstat", "iostat", "prometheus"}
"""Sources that read them from the kernel."""
CHECKED = ("cpu_exact_s", "recorder_cpu_s")
"""Columns that are read in addition to those of the regression."""


def analyse(
    log: Log,
    *,
    requests: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    target: Sequence[str] | None = None,
    subtract: Sequence[str] = (),
    scaled: bool = False,
    sampled: bool = True,
    fit_options: FitOptions | None = None,
) -> Overhead | NotApplicable:
    r"""Cost of each kind of request in system CPU time (Bard 1971, equation 2).

    .. math:: \tau = \theta_0 + \sum_i \theta_i x_i

    with :math:`\tau` system time per second (sampled out of step with the tick where the log has that) and
    :math:`x_i` requests per second (user time: seconds per second), fitted by least squares (equations 3
    and 4). Requests enter by stepwise selection, as long as
    their cost is positive and significant under correlated errors; observations off by more than 2.5 s are
    dropped, and the fit is made once more on the rest; R^2 by equation 5. A request's share of system time
    is :math:`\theta_i \bar x_i / \bar\tau` (Table 8).

    Of several requests whose costs cannot be separated (`stats.regression.separation.choose`) the sum of the
    rates is one term. Its cost is the system time per occurrence of any of them: with :math:`w_i` of kind i
    in one more occurrence of any, as their numbers vary together given the other terms,
    :math:`\sum_i w_i \theta_i`. It says nothing about the single costs.

    Bard gives no intervals since errors are neither independent nor of one size. The interval to rely on is
    the one by long-run variances (`stats.regression.long_run`); the textbook interval and that of the
    moving-block bootstrap are given for comparison. No interval allows for activities that were not
    measured: those that accompany a request are charged to it.

    The log is read several times, in pieces; memory does not grow with it.

    Parameters
    ----------
    log : Log
    requests : sequence of str, optional
        Requests to fit, without selection: columns, sums of `observations.SUMS`, or ``user_time``. By
        default every candidate is offered to the selection.
    drop : sequence of str
        Requests that are left out, as if they had not been measured (Table 4).
    target : sequence of str, optional
        Counters to regress instead of system time, summed: a part of it (Table 6), or anything else that
        requests may cause.
    subtract : sequence of str
        Counters subtracted from the dependent variable.
    scaled : bool
        Regress the system's share of ticks times the exact busy time, instead of ticks alone: better
        where ticks and exact time disagree.
    sampled : bool
        Take system time from the samples out of step with the tick, where at least nine tenths of the
        intervals have them; else, and for parts of it, from ticks.
    fit_options : FitOptions, optional
        F to enter, outlier rule, subsets, seed, level and rows in memory.

    Raises
    ------
    InputError
        The log has no such request or counter, or an option has no meaning.
    """
    check_log(log)
    options = fit_options or FitOptions()
    check_level(options.level)
    if options.subsets < 2:
        raise InputError(f"subsets is {options.subsets}, but must be at least 2: one subset has no spread")
    check_names(log, (*(requests or ()), *drop))
    names = [name for name in (candidates(log) if requests is None else requests) if name not in drop]
    explained = _target(log, target, subtract, scaled=scaled, sampled=sampled)
    if isinstance(explained, NotApplicable):
        return explained
    if requests is not None and "user_time" in names and target is None:
        refusal = full.refusal(log)
        if refusal is not None:
            return refusal
    states = (*role_columns(log, "user_time"), *role_columns(log, "system_time"))
    read = (*CHECKED, *states)
    design = build(log, names, explained, read, options.piece_rows)
    if isinstance(design, NotApplicable):
        return design
    rows_least = N_LEAST + (0 if requests is None else ROWS_PER_REQUEST * len(names))
    regression = fit(design, options, select=requests is None, rows_least=rows_least)
    if isinstance(regression, NotApplicable):
        return regression
    if regression.means[-1].value == 0.0:
        return NotApplicable(
            f"{explained.label} is zero in every interval that is not an outlier",
            "record under a load that causes more of it",
        )
    return _result(log, design, regression, options)


def _target(
    log: Log, columns: Sequence[str] | None, subtract: Sequence[str], *, scaled: bool, sampled: bool
) -> Target | NotApplicable:
    """Dependent variable: system time, or the counters that were named."""
    counters = {column.name: column for column in log.schema("samples") if column.kind == "counter"}
    for name in (*(columns or ()), *subtract):
        if name not in counters:
            raise InputError(
                f"{log.path}: samples have no counter {name!r}; the counters are {', '.join(counters)}"
            )
    used, user = role_columns(log, "system_time"), role_columns(log, "user_time")
    if columns is not None:
        used = tuple(columns)
    elif sampled and not subtract and is_sampled(log):
        used, user = SAMPLED_SYSTEM, SAMPLED_USER
    if not used:
        return NotApplicable(
            "no column of the samples has the role system_time",
            "record with a source that measures it (`thinktime record`)",
        )
    label = "system time" if columns is None else " and ".join(observations.label(name) for name in used)
    if subtract:
        label += f" without {' and '.join(observations.label(name) for name in subtract)}"
    return Target(
        label=label,
        unit=counters[used[0]].unit if used[0] in counters else "s",
        columns=used,
        subtract=tuple(subtract),
        ticks=(*used, *user) if scaled else (),
    )


_BY_DEFAULT: WeakKeyDictionary[Log, dict[float, Overhead | NotApplicable]] = WeakKeyDictionary()


def by_default(log: Log, *, level: float = 0.95) -> Overhead | NotApplicable:
    """Result of `analyse` without options, computed once for each log that is open.

    Parameters
    ----------
    log : Log
    level : float
        Confidence of the intervals.
    """
    # A report asks for the costs twice, and they take most of its time; an open log does not change.
    known = _BY_DEFAULT.setdefault(log, {})
    if level not in known:
        known[level] = analyse(log, fit_options=FitOptions(level=level))
    return known[level]


def is_sampled(log: Log) -> bool:
    """True if system time was sampled out of step with the tick in nearly all intervals."""
    measured = observations.measured_share(log, SAMPLED_SYSTEM[0])
    return measured is not None and measured >= MEASURED_LEAST


def _timing(log: Log, target: Target) -> Timing:
    if target.columns == SAMPLED_SYSTEM:
        return "sampled"
    kernels = any(session.source in TICKING for session in facts.sessions(log))
    return "ticks" if kernels and set(target.columns) & TICKED else "as recorded"


def _result(log: Log, design: Design, regression: Regression, options: FitOptions) -> Overhead:
    trimmed, target = regression.trimmed, design.target
    mean = regression.means[-1].with_unit(f"{target.unit}/s")
    diagnosis = regression.diagnosis()
    timing = _timing(log, target)
    by_role = role_columns(log, "system_time")
    whole = target.columns in (by_role, SAMPLED_SYSTEM) and not target.subtract
    busy = [*(by_role if whole else ()), *role_columns(log, "user_time")]
    design = regression.design
    costs = claims.judged(costs_of(regression, mean, direct_costs(log) if whole else {}), timing)
    result = Overhead(
        target=target.label,
        target_columns=target.columns,
        target_mean=mean,
        scaled=bool(target.ticks),
        timing=timing,
        costs=costs,
        left_out=_left_out(regression),
        r_squared=trimmed.fit.r_squared,
        residual_deviation=trimmed.fit.residual_deviation(as_printed=options.as_printed),
        threshold=options.threshold,
        n=trimmed.fit.n,
        outliers=trimmed.outliers,
        outliers_above=trimmed.positive,
        f_to_enter=options.f_to_enter,
        correlations=tuple(regression.correlations[~np.isnan(regression.correlations)].tolist()),
        cosines=regression.cosines,
        error_correlation=regression.error_correlation,
        swings=regression.swings,
        block=regression.block,
        covariance=tuple(tuple(row) for row in regression.covariance.tolist()),
        degrees=tuple(regression.degrees.tolist()),
        robust_n=regression.huber_rows,
        condition_number=diagnosis.condition_number,
        dependencies=diagnosis.dependencies,
        stability=stability(regression, costs),
        tick_check=_tick_check(design, busy, options.level) if whole else None,
        sampling=_sampling(design, by_role, options.level) if timing == "sampled" else None,
        recorder=_recorder_time(design, options.level) if whole else None,
        points=regression.points,
        caveats=(),
    )
    return dataclasses.replace(result, caveats=weaknesses.of(result))


def costs_of(regression: Regression, mean: Estimate, direct: dict[str, Estimate]) -> tuple[Cost, ...]:
    """Costs of a regression for a mean of its target, the base first, without their doubts.

    Parameters
    ----------
    regression : Regression
    mean : Estimate
    direct : dict
        Directly measured costs by request.
    """
    design = regression.design
    textbook = regression.textbook_reach()
    inflation = regression.diagnosis().variance_inflation
    floor = regression.non_negative()
    costs = []
    for index, column in enumerate(regression.keep):
        term = BASE if column == 0 else design.terms[column - 1]
        value = float(regression.coefficients[index])
        unit = f"{design.target.unit}/{term.unit}" if term.unit else design.target.unit
        plain = Estimate(
            value=value,
            unit=unit,
            n=regression.trimmed.fit.n,
            method="least squares, independent errors",
            level=regression.level,
        )
        seconds = regression.cost(index, unit)
        if column == 0 and _some_left_out(regression):
            method = "least squares; no interval, for it contains the cost of requests that were not selected"
            seconds = dataclasses.replace(seconds, low=None, high=None, method=method)
        rate = regression.means[index]
        costs.append(
            Cost(
                request=term.name,
                label=term.label,
                columns=term.columns,
                seconds=seconds,
                textbook=_with_reach(plain, float(textbook[index])),
                bootstrap=_bootstrap(regression, plain, index),
                share=_share(seconds, rate.value / mean.value),
                rate=rate.with_unit("" if column == 0 else f"{term.unit}/s"),
                f_to_enter=regression.entry_f[index],
                variance_inflation=None if column == 0 else inflation[index],
                among_all=_among_all(regression, column, unit),
                joined=tuple(None if np.isnan(item) else item for item in regression.joined[index].tolist()),
                length=regression.length_tests[index],
                non_negative=float(floor[index]),
                robust=float(regression.huber[index]),
                direct=_direct(seconds, direct.get(term.name)),
                concentration=float(regression.concentration[index]),
                steady=float(regression.modelled_reach[index]),
                rivals=tuple(design.terms[rival - 1].label for rival in regression.rivals[index]),
            )
        )
    return tuple(costs)


def _bootstrap(regression: Regression, plain: Estimate, index: int) -> Estimate | None:
    """Cost with the moving-block bootstrap interval; None where too few intervals would be drawn."""
    if regression.determining[index] < DETERMINING_LEAST:
        return None
    low, high = regression.bootstrap
    return dataclasses.replace(
        plain,
        low=float(low[index]),
        high=float(high[index]),
        method=f"least squares, moving-block bootstrap with blocks of {regression.block}",
    )


def _some_left_out(regression: Regression) -> bool:
    """True if a request without a row may have a cost, which the base then contains."""
    choice = regression.choice
    return choice is not None and not all(item.competes for item in choice.rejected)


def _among_all(regression: Regression, column: int, unit: str) -> Estimate | None:
    """Cost of one column in the regression on all candidates; None where it is not there."""
    every = regression.everything
    if every is None or column not in every.keep:
        return None
    place = every.keep.index(column)
    return estimated(
        float(every.coefficients[place]),
        float(every.reach[place]),
        float(every.determining[place]),
        unit=unit,
        n=every.n,
        method="least squares on all candidates, long-run variance, calibrated",
        level=regression.level,
    )


def _with_reach(estimate: Estimate, reach: float) -> Estimate:
    """Estimate with a symmetric interval."""
    return dataclasses.replace(estimate, low=estimate.value - reach, high=estimate.value + reach)


def _share(seconds: Estimate, factor: float) -> Estimate:
    """Share of the target: the cost's interval at the observed rates."""
    return dataclasses.replace(
        seconds,
        value=seconds.value * factor,
        unit="",
        method="cost x mean rate / mean of the target, given the rates",
        low=None if seconds.low is None else seconds.low * factor,
        high=None if seconds.high is None else seconds.high * factor,
    )


def direct_costs(log: Log) -> dict[str, Estimate]:
    """Directly measured costs by request; of several sessions the last one that measured it."""
    costs = {}
    for session in facts.sessions(log):
        for item in session.facts.tables("direct_costs"):
            request = item.needed("request").text("request") or ""
            costs[request] = Estimate(
                value=float(item.needed("seconds").number("seconds") or 0.0),
                unit="s",
                n=item.whole("n") or 0,
                method=f"direct: {item.text('method') or 'not said how'}",
                low=_float(item.number("low")),
                high=_float(item.number("high")),
            )
    return costs


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _direct(seconds: Estimate, direct: Estimate | None) -> DirectCost | None:
    if direct is None or direct.value <= 0.0:
        return None
    apart = abs(seconds.value - direct.value)
    return DirectCost(
        seconds=direct.with_unit(seconds.unit),
        # Two measurements of their own: their errors add up as those of a difference do.
        agrees=seconds.low is None or apart <= math.hypot(_reach(seconds), _reach(direct)),
        ratio=seconds.value / direct.value,
    )


def _reach(value: Estimate) -> float:
    """Half width of an interval; 0 without one."""
    return 0.0 if value.low is None or value.high is None else (value.high - value.low) / 2.0


def _left_out(regression: Regression) -> tuple[LeftOut, ...]:
    design = regression.design
    left_out = [
        LeftOut(request=item.name, label=item.label, reason=reason) for item, reason in design.left_out
    ]
    if regression.choice is None:
        used = set(regression.keep)
        return (
            *left_out,
            *(
                LeftOut(request=item.name, label=item.label, reason=Caveat("combination"))
                for column, item in enumerate(design.terms, start=1)
                if column not in used
            ),
        )
    for rejected in regression.choice.rejected:
        item = design.terms[rejected.column - 1]
        unit = f"{design.target.unit}/{item.unit}" if item.unit else design.target.unit
        if rejected.f is None:
            reason = Caveat("combination")
        elif rejected.competes:
            reason = Caveat("competes", target=design.target.label, f=rejected.f)
        elif rejected.tolerance < 1.0 / INFLATED:
            reason = Caveat("moves_together", tolerance=rejected.tolerance)
        elif regression.choice.p_to_enter is None:
            reason = Caveat("explains_too_little", f=rejected.f)
        else:
            reason = Caveat("may_be_chance", p=rejected.p, to_enter=regression.choice.p_to_enter)
        left_out.append(
            LeftOut(
                request=item.name,
                label=item.label,
                reason=reason,
                tested=True,
                among_all=_among_all(regression, rejected.column, unit),
            )
        )
    return tuple(left_out)


def stability(regression: Regression, costs: Sequence[Cost]) -> Stability | None:
    """Tests whether the costs of the subsets are equal, under two sets of assumptions.

    Bard (1971) split a data set and found that coefficients vary much more than the regression model
    says, which is why he printed no intervals. Two tests express that. The first assumes the model
    (independent errors of one variance): a rejection means that textbook intervals do not hold. The second
    allows for correlated errors of any size: a rejection means that the cost itself is not the same in all
    subsets.
    """
    subsets = regression.subsets
    if not subsets:
        return None
    fits = [subset.fit for subset in subsets]
    single = [
        same_mean(
            [subset.fit.coefficients[[index]] for subset in subsets],
            [subset.covariance[index : index + 1, index : index + 1] for subset in subsets],
            [float(subset.degrees[index]) for subset in subsets],
            f"the cost of {cost.label} is the same in all subsets",
        )
        for index, cost in enumerate(costs)
    ]
    spreads = []
    for index, (cost, robust) in enumerate(zip(costs, adjusted(single), strict=True)):
        values = np.array([fit.coefficients[index] for fit in fits])
        variances = [fit.covariance()[index, index] for fit in fits]
        spreads.append(
            CostSpread(
                request=cost.request,
                label=cost.label,
                seconds=tuple(_subset_cost(subset, index, cost, regression.level) for subset in subsets),
                deviation=float(values.std(ddof=1)),
                nominal=math.sqrt(float(np.mean(variances))),
                independent=same_coefficient(fits, index, robust.hypothesis),
                robust=robust,
            )
        )
    every = "all costs are the same in all subsets"
    return Stability(
        subsets=tuple(
            Subset(
                start_us=subset.start_us,
                end_us=subset.end_us,
                n=subset.fit.n,
                r_squared=subset.fit.r_squared,
            )
            for subset in subsets
        ),
        spreads=tuple(spreads),
        independent=same_coefficients(fits, regression.trimmed.fit, every),
        robust=same_mean(
            [subset.fit.coefficients for subset in subsets],
            [subset.covariance for subset in subsets],
            [float(subset.degrees.min()) for subset in subsets],
            every,
        ),
    )


def _subset_cost(subset: SubsetFit, index: int, cost: Cost, level: float) -> Estimate:
    variance = max(float(subset.covariance[index, index]), 0.0)
    return estimated(
        float(subset.fit.coefficients[index]),
        student_t(level, float(subset.degrees[index])) * math.sqrt(variance),
        float(subset.determining[index]),
        unit=cost.seconds.unit,
        n=subset.fit.n,
        method=f"least squares, long-run variance by {subset.cosines} cosines, calibrated",
        level=level,
    )


def _tick_check(design: Design, columns: Sequence[str], level: float) -> TickCheck | None:
    """Busy time by ticks, the sum of `columns`, against exact busy time; None where not measured."""
    both = _by_two_clocks(design, columns, ("cpu_exact_s",), level)
    if both is None:
        return None
    ticks, exact = both
    return TickCheck(ticks=ticks, exact=exact, disagreement=ticks.value / exact.value - 1.0)


def _sampling(design: Design, ticked: Sequence[str], level: float) -> Sampling | None:
    """System time by ticks and by samples; None where the ticks were not read or are zero."""
    both = _by_two_clocks(design, ticked, SAMPLED_SYSTEM, level)
    if both is None:
        return None
    ticks, sampled = both
    return Sampling(ticks=ticks, sampled=sampled, disagreement=ticks.value / sampled.value - 1.0)


def _by_two_clocks(
    design: Design, first: Sequence[str], second: Sequence[str], level: float
) -> tuple[Estimate, Estimate] | None:
    """Time per second by two sums of columns, where both were measured; None if the second is zero."""

    def rows() -> Iterable[tuple[_Array, _Array]]:
        for piece in design.pieces([*first, *second]):
            both = np.column_stack([piece.total(first), piece.total(second)])
            measured = ~np.isnan(both).any(axis=1)
            yield both[measured], piece.length_s[measured]

    batches = _batches(rows, 2)
    if batches is None:
        return None
    one, other = (batches.interval(column, level).with_unit("s/s") for column in (0, 1))
    return None if other.value <= 0.0 else (one, other)


def _recorder_time(design: Design, level: float) -> Estimate | None:
    """CPU time of the recorder per second; None where not measured."""

    def rows() -> Iterable[tuple[_Array, _Array]]:
        for piece in design.pieces(["recorder_cpu_s"]):
            measured = ~np.isnan(piece.columns["recorder_cpu_s"])
            yield piece.columns["recorder_cpu_s"][measured, None], piece.length_s[measured]

    batches = _batches(rows, 1)
    return None if batches is None else batches.interval(0, level).with_unit("s/s")


def _batches(rows: Callable[[], Iterable[tuple[_Array, _Array]]], columns: int) -> Batches | None:
    """Batches of the rows in two passes: their number decides how they are batched."""
    n = sum(len(lengths) for _, lengths in rows())
    if not n:
        return None
    batches = Batches(n, columns)
    for amounts, lengths in rows():
        batches.absorb(amounts, lengths)
    return batches
