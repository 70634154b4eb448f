"""What becomes of the costs when one kind of request was not measured (Bard 1971, Tables 4 and 5)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thinktime.analyses.overhead.analysis import analyse
from thinktime.analyses.overhead.design import check_names
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Cost, Overhead
    from thinktime.log import Log

__all__ = ["Adjusted", "Along", "Omission", "OmittedCost", "adjusted", "omit"]

EVERY_ROW = 1e9
"""Outlier rule that leaves out no row."""


@dataclass(frozen=True, slots=True)
class OmittedCost:
    """One cost of the same log, fitted with and without the omitted requests."""

    request: str
    label: str
    with_: Estimate
    without: Estimate
    ratio: float
    """With over without: what a cost that was fitted without is multiplied by (Table 5)."""


@dataclass(frozen=True, slots=True)
class Along:
    """How many of an omitted request come with one of each that is left: why its cost goes there."""

    request: str
    label: str
    omitted: str
    number: Estimate
    """Omitted requests a request, the others held equal; a second for ``base``."""


@dataclass(frozen=True, slots=True)
class Omission:
    """The regression of one log with and without some requests."""

    omitted: tuple[str, ...]
    whole: Overhead
    reduced: Overhead
    costs: tuple[OmittedCost, ...]
    """``base`` first, then in the order of entry."""
    along: tuple[Along, ...]


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A cost that was fitted without the omitted requests, and what it would be with them."""

    request: str
    label: str
    fitted: Estimate
    ratio: float | None
    """None where the omission does not know the request."""
    adjusted: Estimate | None
    """Its interval is that of the fit, given the ratio."""


def omit(log: Log, omitted: Sequence[str], **options: Any) -> Omission | NotApplicable:
    r"""Fit a log with and without some requests, all others being the same (Table 4).

    What is not measured is charged to what goes along with it. On the same rows, with :math:`\delta_j` the
    coefficient of request j in the regression of the omitted request on the others,

    .. math:: \theta_j^{without} = \theta_j^{with} + \delta_j\, \theta_{omitted}

    so that `Along.number` tells where the cost goes. Each of the two fits drops its own outliers, which
    the identity does not allow for.

    Parameters
    ----------
    log : Log
        One in which the requests were measured.
    omitted : sequence of str
        Their names.
    **options
        Of `overhead.analyse`; without ``requests`` they are chosen once, with all.

    Raises
    ------
    InputError
        The log has no such request.
    """
    check_names(log, omitted)
    whole = analyse(log, **options)
    if isinstance(whole, NotApplicable):
        return whole
    if missing := [name for name in omitted if whole.cost(name) is None]:
        reasons = {item.request: item.reason for item in whole.left_out}
        why = "; ".join(f"{name} {reasons.get(name, 'is not among the requests')}" for name in missing)
        return NotApplicable(
            f"the regression does not hold what is to be omitted: {why}",
            f"omit one of {', '.join(whole.requests)}",
        )
    left = [name for name in whole.requests if name not in omitted]
    reduced = analyse(log, **{**options, "requests": left})
    if isinstance(reduced, NotApplicable):
        return reduced
    pairs = [(cost, whole.cost(cost.request)) for cost in reduced.costs]
    return Omission(
        omitted=tuple(omitted),
        whole=whole,
        reduced=reduced,
        costs=tuple(_pair(full, cost) for cost, full in pairs if full is not None),
        along=tuple(item for name in omitted for item in _along(log, whole, name, left, options)),
    )


def _pair(full: Cost, cost: Cost) -> OmittedCost:
    ratio = full.seconds.value / cost.seconds.value if cost.seconds.value else float("nan")
    return OmittedCost(cost.request, cost.label, full.seconds, cost.seconds, ratio)


def _along(
    log: Log, whole: Overhead, name: str, left: Sequence[str], options: dict[str, Any]
) -> tuple[Along, ...]:
    omitted = whole.cost(name)
    if omitted is None:
        return ()
    kept = {key: value for key, value in options.items() if key in ("seed", "level")}
    found = analyse(log, explained=omitted.columns, requests=left, threshold=EVERY_ROW, **kept)
    if isinstance(found, NotApplicable):
        return ()
    return tuple(Along(cost.request, cost.label, name, cost.seconds) for cost in found.costs)


def adjusted(result: Overhead, omission: Omission) -> tuple[Adjusted, ...]:
    r"""Adjust the costs of a log in which requests were not measured by another in which they were.

    .. math:: \theta_j^{adjusted} = \theta_j \cdot \frac{\theta_j^{with}}{\theta_j^{without}}

    with the ratio of `omission`; the base is left as it is (Bard 1971, Table 5). It stands on the
    requests going along with each other in both logs as they do in the one of `omission`.
    """
    ratios = {cost.request: cost.ratio for cost in omission.costs}
    ratios["base"] = 1.0
    return tuple(_adjusted(cost, ratios.get(cost.request)) for cost in result.costs)


def _adjusted(cost: Cost, ratio: float | None) -> Adjusted:
    if ratio is None:
        return Adjusted(cost.request, cost.label, cost.seconds, None, None)
    low, high = (None if end is None else end * ratio for end in (cost.seconds.low, cost.seconds.high))
    if low is not None and high is not None and low > high:
        low, high = high, low
    value = dataclasses.replace(
        cost.seconds,
        value=cost.seconds.value * ratio,
        low=low,
        high=high,
        method=f"{cost.seconds.method}, times {ratio:.3g}",
    )
    return Adjusted(cost.request, cost.label, cost.seconds, ratio, value)
