"""A part of the system time by itself, and the rest by request (Bard 1971, Tables 6 and 9)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thinktime.analyses.overhead.analysis import analyse
from thinktime.log import observations
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series.batch_means import Batches

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Cost, Overhead
    from thinktime.log import Log

__all__ = ["Parted", "PartedCost", "part"]


@dataclass(frozen=True, slots=True)
class PartedCost:
    """One cost, the part of it, and the rest."""

    request: str
    label: str
    whole: Estimate
    part: Estimate
    rest: float
    """Whole less part."""
    share: Estimate
    """Share of the system time that the rest takes, from the regression of the rest; 0 to 1."""


@dataclass(frozen=True, slots=True)
class Parted:
    """System time by request, with a part of it taken out and counted by itself."""

    columns: tuple[str, ...]
    """What is taken out."""
    label: str
    whole: Overhead
    part: Overhead
    rest: Overhead
    costs: tuple[PartedCost, ...]
    """``base`` first, then in the order of entry."""
    share: Estimate
    """Share of the system time that the part takes in all; 0 to 1."""


def part(log: Log, columns: Sequence[str], **options: Any) -> Parted | NotApplicable:
    r"""Separate a part of the system time from what requests cost (Table 9).

    The system time, the part and the rest are each explained by the same requests. A request's share of
    the system time without the part is

    .. math:: (\theta_i - \phi_i)\, \bar x_i / \bar\tau

    and the part's own share :math:`\bar\tau_{part} / \bar\tau`. Shares and their intervals are those of the
    regression of the rest, whose coefficient is :math:`\theta_i - \phi_i` but for the outliers, which
    each regression drops for itself.

    Parameters
    ----------
    log : Log
    columns : sequence of str
        Counters that are part of the system time: ``dispatch_s``.
    **options
        Of `overhead.analyse`; without ``requests`` they are chosen once, for the whole.
    """
    whole = analyse(log, **options)
    if isinstance(whole, NotApplicable):
        return whole
    same = {**options, "requests": whole.requests}
    alone = analyse(log, **{**same, "explained": columns})
    rest = analyse(log, **{**same, "less": columns})
    if isinstance(alone, NotApplicable):
        return alone
    if isinstance(rest, NotApplicable):
        return rest
    costs = []
    for cost in whole.costs:
        own, other = alone.cost(cost.request), rest.cost(cost.request)
        if own is not None and other is not None:
            costs.append(_parted(cost, own, other, rest.system_time.value / whole.system_time.value))
    share = _share(log, columns, whole.explained, whole.system_time.level)
    return Parted(tuple(columns), alone.target, whole, alone, rest, tuple(costs), share)


def _parted(whole: Cost, own: Cost, rest: Cost, factor: float) -> PartedCost:
    low, high = (None if end is None else end * factor for end in (rest.share.low, rest.share.high))
    share = dataclasses.replace(
        rest.share,
        value=rest.share.value * factor,
        low=low,
        high=high,
        method="cost of the rest x mean rate / mean system time, given the rates",
    )
    difference = whole.seconds.value - own.seconds.value
    return PartedCost(whole.request, whole.label, whole.seconds, own.seconds, difference, share)


def _share(log: Log, columns: Sequence[str], explained: Sequence[str], level: float) -> Estimate:
    """Part over whole, in two passes: how many rows there are decides how they are batched."""
    names = [*columns, *explained]
    n = 0
    for seen in observations.chunks(log, names):
        n += int(np.count_nonzero(~np.isnan(seen.total(columns)) & ~np.isnan(seen.total(explained))))
    sums = Batches(n, 1)
    for seen in observations.chunks(log, names):
        own, whole = seen.total(columns), seen.total(explained)
        known = ~np.isnan(own) & ~np.isnan(whole)
        sums.absorb(own[known, None], whole[known])
    return sums.interval(0, level)
