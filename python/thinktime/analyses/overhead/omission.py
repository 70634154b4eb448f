"""Costs fitted with and without some kinds of request (Bard 1971, Tables 4 and 5)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.overhead.analysis import analyse
from thinktime.analyses.overhead.design import check_names
from thinktime.analyses.overhead.regression import FitOptions
from thinktime.log.observations import JOIN
from thinktime.results import Result
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Cost, Overhead
    from thinktime.log import Log

EVERY_ROW = 1e9
"""Outlier threshold that no row reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OmittedCost:
    """One cost of the same log, fitted with and without the dropped requests."""

    request: str
    label: str
    full: Estimate
    """With the dropped requests in the regression."""
    reduced: Estimate
    ratio: float
    """Full over reduced: factor for a cost that was fitted without them (Table 5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """Dropped requests that accompany one of each request that is left: why their cost goes there."""

    request: str
    label: str
    dropped: str
    number: Estimate
    """Dropped requests per request, the others held equal; per second for ``base``."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Omission(Result):
    """Regression of one log with and without some requests."""

    MAIN = "costs"

    dropped: tuple[str, ...]
    full: Overhead
    reduced: Overhead
    costs: tuple[OmittedCost, ...]
    """``base`` first, then in the order of entry."""
    companions: tuple[Companion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """Cost that was fitted without the dropped requests, and its value with them."""

    request: str
    label: str
    fitted: Estimate
    ratio: float | None
    """None where the omission does not have the request."""
    adjusted: Estimate | None
    """Its interval is that of the fit, given the ratio."""


def omit(
    log: Log,
    drop: Sequence[str],
    *,
    requests: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    scaled: bool = False,
    sampled: bool = True,
    fit_options: FitOptions | None = None,
) -> Omission | NotApplicable:
    r"""Costs with and without the requests `drop`, all others being the same (Table 4).

    A cost that is not measured is charged to the requests that accompany it. On the same rows, with
    :math:`\delta_j` the coefficient of request j in the regression of the dropped request on the others,

    .. math:: \theta_j^{reduced} = \theta_j^{full} + \delta_j\, \theta_{dropped}

    so that `Companion.number` shows where the cost goes. Each of the two fits drops its own outliers, which
    the identity does not allow for.

    Parameters
    ----------
    log : Log
        One in which the requests were measured.
    drop : sequence of str
        Their names.
    requests : sequence of str, optional
        Those of the regression, the dropped ones among them. By default they are selected once, with all.
    target, scaled, sampled, fit_options
        See `thinktime.analyses.overhead.analysis.analyse`.

    Raises
    ------
    InputError
        The log has no such request.
    """
    check_names(log, drop)
    fit = partial(analyse, log, target=target, scaled=scaled, sampled=sampled, fit_options=fit_options)
    full = fit(requests=requests)
    if isinstance(full, NotApplicable):
        return full
    if missing := [name for name in drop if full.cost(name) is None]:
        reasons = {item.request: item.reason.kind.replace("_", " ") for item in full.left_out}
        for request in full.requests:
            reasons |= dict.fromkeys(request.split(JOIN), f"counted together: {request}")
        why = "; ".join(f"{name} ({reasons.get(name, 'not among the requests')})" for name in missing)
        return NotApplicable(
            f"the regression has no cost to drop for {why}", f"drop one of {', '.join(full.requests)}"
        )
    left = [name for name in full.requests if name not in drop]
    reduced = fit(requests=left)
    if isinstance(reduced, NotApplicable):
        return reduced
    pairs = [(cost, full.cost(cost.request)) for cost in reduced.costs]
    return Omission(
        dropped=tuple(drop),
        full=full,
        reduced=reduced,
        costs=tuple(_pair(with_all, cost) for cost, with_all in pairs if with_all is not None),
        companions=tuple(item for name in drop for item in _companions(log, full, name, left, fit_options)),
    )


def _pair(full: Cost, reduced: Cost) -> OmittedCost:
    ratio = full.seconds.value / reduced.seconds.value if reduced.seconds.value else float("nan")
    return OmittedCost(
        request=reduced.request,
        label=reduced.label,
        full=full.seconds,
        reduced=reduced.seconds,
        ratio=ratio,
    )


def _companions(
    log: Log, full: Overhead, name: str, left: Sequence[str], fit_options: FitOptions | None
) -> tuple[Companion, ...]:
    dropped = full.cost(name)
    if dropped is None:
        return ()
    given = fit_options or FitOptions()
    every_row = FitOptions(threshold=EVERY_ROW, seed=given.seed, level=given.level)
    result = analyse(log, target=dropped.columns, requests=left, fit_options=every_row)
    if isinstance(result, NotApplicable):
        return ()
    return tuple(
        Companion(request=cost.request, label=cost.label, dropped=name, number=cost.seconds)
        for cost in result.costs
    )


def adjusted(result: Overhead, omission: Omission) -> tuple[Adjusted, ...]:
    r"""Costs of a log in which requests were not measured, adjusted by a log in which they were.

    .. math:: \theta_j^{adjusted} = \theta_j \cdot \frac{\theta_j^{full}}{\theta_j^{reduced}}

    with the ratio of `omission`; the base is left as it is (Bard 1971, Table 5). Assumes that requests
    accompany each other in both logs as they do in the one of `omission`.
    """
    ratios = {cost.request: cost.ratio for cost in omission.costs}
    ratios["base"] = 1.0
    return tuple(_adjusted(cost, ratios.get(cost.request)) for cost in result.costs)


def _adjusted(cost: Cost, ratio: float | None) -> Adjusted:
    value = None
    if ratio is not None:
        ends = [None if end is None else end * ratio for end in (cost.seconds.low, cost.seconds.high)]
        low, high = ends if ratio >= 0.0 else reversed(ends)
        value = dataclasses.replace(
            cost.seconds,
            value=cost.seconds.value * ratio,
            low=low,
            high=high,
            method=f"{cost.seconds.method}, times {ratio:.3g}",
        )
    return Adjusted(request=cost.request, label=cost.label, fitted=cost.seconds, ratio=ratio, adjusted=value)
