"""A part of the system time by itself, and the rest by request (Bard 1971, Tables 6 and 9)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.overhead.analysis import analyse
from thinktime.log import observations
from thinktime.results import Result
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series.batch_means import Batches

if TYPE_CHECKING:
    from thinktime.analyses.overhead.regression import FitOptions
    from thinktime.analyses.overhead.result import Cost, Overhead
    from thinktime.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtractedCost:
    """One cost, the part of it that is subtracted, and the rest."""

    request: str
    label: str
    whole: Estimate
    subtracted: Estimate
    rest: float
    """Whole less the part subtracted."""
    share: Estimate
    """Share of the rest in the whole target, from the regression of the rest; 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Subtraction(Result):
    """System time by request, with a part of it subtracted and counted by itself."""

    MAIN = "costs"

    columns: tuple[str, ...]
    """Counters that are subtracted."""
    label: str
    whole: Overhead
    subtracted: Overhead
    rest: Overhead
    costs: tuple[SubtractedCost, ...]
    """``base`` first, then in the order of entry."""
    share: Estimate
    """Share of the target that the subtracted part takes in all; 0 to 1."""


def subtract(
    log: Log,
    columns: Sequence[str],
    *,
    requests: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    scaled: bool = False,
    fit_options: FitOptions | None = None,
) -> Subtraction | NotApplicable:
    r"""Costs of requests without a part of the system time, and that part by itself (Table 9).

    The system time, the part and the rest are each regressed on the same requests. A request's share of
    the system time without the part is

    .. math:: (\theta_i - \phi_i)\, \bar x_i / \bar\tau

    and the part's own share :math:`\bar\tau_{part} / \bar\tau`. Shares and their intervals are those of the
    regression of the rest, whose coefficient is :math:`\theta_i - \phi_i` except for the outliers, which
    each regression drops for itself.

    Parameters
    ----------
    log : Log
    columns : sequence of str
        Counters that are part of the system time: ``dispatch_s``.
    requests : sequence of str, optional
        Those of the regressions. By default they are selected once, for the whole.
    target, scaled, fit_options
        See `thinktime.analyses.overhead.analysis.analyse`.
    """
    # Parts are measured by ticks, so that the whole must be.
    fit = partial(analyse, log, scaled=scaled, sampled=False, fit_options=fit_options)
    whole = fit(requests=requests, target=target)
    if isinstance(whole, NotApplicable):
        return whole
    part = fit(requests=whole.requests, target=columns)
    rest = fit(requests=whole.requests, target=target, subtract=columns)
    if isinstance(part, NotApplicable):
        return part
    if isinstance(rest, NotApplicable):
        return rest
    factor = rest.target_mean.value / whole.target_mean.value
    triples = [(cost, part.cost(cost.request), rest.cost(cost.request)) for cost in whole.costs]
    return Subtraction(
        columns=tuple(columns),
        label=part.target,
        whole=whole,
        subtracted=part,
        rest=rest,
        costs=tuple(
            _subtracted(cost, of_part, of_rest, factor)
            for cost, of_part, of_rest in triples
            if of_part is not None and of_rest is not None
        ),
        share=_share(log, columns, whole.target_columns, whole.target_mean.level),
    )


def _subtracted(whole: Cost, part: Cost, rest: Cost, factor: float) -> SubtractedCost:
    low, high = (None if end is None else end * factor for end in (rest.share.low, rest.share.high))
    return SubtractedCost(
        request=whole.request,
        label=whole.label,
        whole=whole.seconds,
        subtracted=part.seconds,
        rest=whole.seconds.value - part.seconds.value,
        share=dataclasses.replace(
            rest.share,
            value=rest.share.value * factor,
            low=low,
            high=high,
            method="cost of the rest x mean rate / mean system time, given the rates",
        ),
    )


def _share(log: Log, columns: Sequence[str], target: Sequence[str], level: float) -> Estimate:
    """Part over whole, in two passes: the number of rows decides how they are batched."""
    names = [*columns, *target]
    n = 0
    for piece in observations.chunks(log, names):
        n += int(np.count_nonzero(~np.isnan(piece.total(columns)) & ~np.isnan(piece.total(target))))
    sums = Batches(n, 1)
    for piece in observations.chunks(log, names):
        part, whole = piece.total(columns), piece.total(target)
        measured = ~np.isnan(part) & ~np.isnan(whole)
        sums.absorb(part[measured, None], whole[measured])
    return sums.interval(0, level)
