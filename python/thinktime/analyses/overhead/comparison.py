"""Tests whether requests cost the same in several logs: periods, versions, machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead.analysis import analyse, is_sampled
from thinktime.log.observations import JOIN
from thinktime.questions.checks import all_or_reason, check_logs
from thinktime.results import Result
from thinktime.stats.critical_values import student_t
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import SignificanceTest, adjusted
from thinktime.stats.regression.equality import same_mean

if TYPE_CHECKING:
    from thinktime.analyses.overhead.regression import FitOptions
    from thinktime.analyses.overhead.result import Cost, Overhead
    from thinktime.log import Log

NOT_REQUESTS = ("base", "user_time")
"""Terms that depend on what users do, and not only on the system."""
NOT_COUNTED = Caveat("not_counted")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCost:
    """One cost in each log."""

    request: str
    label: str
    seconds: tuple[Estimate, ...]
    """In the order of the logs, with intervals that hold for correlated errors."""
    differences: tuple[Estimate, ...]
    """Cost of each log but the first less that of the first; each interval by itself at its level."""
    test: SignificanceTest
    """Of equal costs in all logs; p adjusted over all costs (Holm)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompared:
    """A request that is in the regression of some log and cannot be in that of another."""

    request: str
    reasons: tuple[tuple[str, Caveat], ...]
    """Name of each log that cannot have it, and why."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OverheadComparison(Result):
    """The same regression of several logs, cost by cost."""

    MAIN = "costs"

    names: tuple[str, ...]
    results: tuple[Overhead, ...]
    """All with the same requests."""
    costs: tuple[ComparedCost, ...]
    """``base`` first."""
    every: SignificanceTest
    """Of equal costs in all logs, all costs at once."""
    requests: SignificanceTest | None
    """The same for the costs of requests, without base and user time; None without a request."""
    not_compared: tuple[NotCompared, ...]
    caveats: tuple[Caveat, ...]


def compare(
    logs: Sequence[Log],
    names: Sequence[str],
    *,
    requests: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    target: Sequence[str] | None = None,
    scaled: bool = False,
    sampled: bool | None = None,
    fit_options: FitOptions | None = None,
) -> OverheadComparison | NotApplicable:
    """Costs of several logs by the same regression, with tests of their equality.

    Each cost is tested by itself and all are tested together, with long-run covariances and
    their equivalent degrees of freedom (`stats.regression.equality.same_mean`). Logs are taken as
    independent of each other.

    Parameters
    ----------
    logs : sequence of Log
        Two or more.
    names : sequence of str
        A name for each.
    requests : sequence of str, optional
        See `overhead.analysis.analyse`. By default each log's are chosen by stepwise selection, and all of
        those that every log can estimate are fitted to every log.
    drop, target, scaled, fit_options
        See `thinktime.analyses.overhead.analysis.analyse`.
    sampled : bool, optional
        The same; by default True if every log has samples out of step with the tick.

    Raises
    ------
    InputError
        There are fewer than two logs, or two have the same name.
    """
    check_logs(logs, names)
    # Ticks and samples differ by more than logs do: all are fitted to one of the two.
    fit = partial(
        analyse,
        drop=drop,
        target=target,
        scaled=scaled,
        sampled=all(is_sampled(log) for log in logs) if sampled is None else sampled,
        fit_options=fit_options,
    )
    first = all_or_reason(names, (fit(log, requests=requests) for log in logs))
    if isinstance(first, NotApplicable):
        return first
    chosen, refused = _chosen(first, names)
    if refused and not set(chosen) - set(NOT_REQUESTS):
        return NotApplicable(
            "no request is counted in all of the logs", "compare logs of one kind, or analyse each by itself"
        )
    alike = all(set(result.requests) == set(chosen) for result in first)
    results = first if alike else all_or_reason(names, (fit(log, requests=chosen) for log in logs))
    if isinstance(results, NotApplicable):
        return results
    kept = ["base", *(name for name in chosen if all(result.cost(name) for result in results))]
    level = results[0].target_mean.level
    single = [
        _same(results, [name], f"the cost of {_cost(results[0], name).label} is the same") for name in kept
    ]
    of_requests = [name for name in kept if name not in NOT_REQUESTS]
    return OverheadComparison(
        names=tuple(names),
        results=results,
        costs=tuple(
            _compared(results, name, test, level) for name, test in zip(kept, adjusted(single), strict=True)
        ),
        every=_same(results, kept, "all costs are the same"),
        requests=_same(results, of_requests, "the costs of requests are the same") if of_requests else None,
        not_compared=refused,
        caveats=tuple(_caveats(results, names, refused)),
    )


def _chosen(results: Sequence[Overhead], names: Sequence[str]) -> tuple[list[str], tuple[NotCompared, ...]]:
    """Requests that some log needs and every log can estimate; and the others."""
    chosen, refused = [], []
    for request in _disjoint([request for result in results for request in result.requests]):
        parts = request.split(JOIN)
        reasons = [
            (name, item.reason)
            for result, name in zip(results, names, strict=True)
            for item in result.left_out
            if item.request in parts and not item.tested
        ]
        reasons += [
            (name, NOT_COUNTED)
            for result, name in zip(results, names, strict=True)
            if not set(parts) <= _known(result)
        ]
        if reasons:
            refused.append(NotCompared(request=request, reasons=tuple(reasons)))
        else:
            chosen.append(request)
    return chosen, tuple(refused)


def _known(result: Overhead) -> set[str]:
    """Single requests that a log has, in the regression or not."""
    used = {part for request in result.requests for part in request.split(JOIN)}
    return used | {item.request for item in result.left_out}


def _disjoint(requests: Sequence[str]) -> list[str]:
    """Requests without repetition; those with a part in common are counted together.

    What one log cannot separate is compared as one in all of them.
    """
    groups: list[list[str]] = []
    for request in requests:
        parts = request.split(JOIN)
        overlapping = [group for group in groups if set(group) & set(parts)]
        members = list(dict.fromkeys(part for group in (*overlapping, parts) for part in group))
        if overlapping:
            groups[groups.index(overlapping[0])] = members
            groups = [group for group in groups if group not in overlapping[1:]]
        else:
            groups.append(members)
    return [JOIN.join(group) for group in groups]


def _cost(result: Overhead, name: str) -> Cost:
    cost = result.cost(name)
    if cost is None:
        raise ValueError(f"the regression has no cost of {name}")
    return cost


def _covariance(result: Overhead, names: Sequence[str]) -> NDArray[np.float64]:
    order = [cost.request for cost in result.costs]
    chosen = [order.index(name) for name in names]
    selected: NDArray[np.float64] = np.array(result.covariance)[np.ix_(chosen, chosen)]
    return selected


def _degrees(result: Overhead, name: str) -> float:
    return result.degrees[[cost.request for cost in result.costs].index(name)]


def _same(results: Sequence[Overhead], names: Sequence[str], hypothesis: str) -> SignificanceTest:
    return same_mean(
        [np.array([_cost(result, name).seconds.value for name in names]) for result in results],
        [_covariance(result, names) for result in results],
        [min(_degrees(result, name) for name in names) for result in results],
        f"{hypothesis} in all logs",
    )


def _compared(results: Sequence[Overhead], name: str, test: SignificanceTest, level: float) -> ComparedCost:
    return ComparedCost(
        request=name,
        label=_cost(results[0], name).label,
        seconds=tuple(_cost(result, name).seconds for result in results),
        differences=tuple(_difference(results[0], result, name, level) for result in results[1:]),
        test=test,
    )


def _difference(first: Overhead, other: Overhead, name: str, level: float) -> Estimate:
    """Difference of two independent costs, with the degrees of freedom of Welch and Satterthwaite."""
    variances = [float(_covariance(result, [name])[0, 0]) for result in (first, other)]
    total = sum(variances)
    spent = sum(v**2 / _degrees(result, name) for v, result in zip(variances, (first, other), strict=True))
    degrees = total**2 / spent if spent > 0.0 else _degrees(first, name) + _degrees(other, name)
    a, b = _cost(first, name).seconds, _cost(other, name).seconds
    value, reach = b.value - a.value, student_t(level, degrees) * math.sqrt(total)
    caveat = next((item.caveat for item in (a, b) if item.caveat is not None), None)
    if caveat is not None:
        method = "difference of two regressions; no interval, for too few observations determine it"
        return Estimate(value=value, unit=a.unit, n=a.n + b.n, method=method, level=level, caveat=caveat)
    return Estimate(
        value=value,
        unit=a.unit,
        n=a.n + b.n,
        method="difference of two regressions, long-run variances, Welch",
        low=value - reach,
        high=value + reach,
        level=level,
    )


def _caveats(
    results: Sequence[Overhead], names: Sequence[str], refused: tuple[NotCompared, ...]
) -> Iterator[Caveat]:
    if refused:
        yield Caveat("not_compared", items=refused)
    for result, name in zip(results, names, strict=True):
        stability = result.stability
        if stability is not None and stability.robust.rejected():
            yield Caveat("unstable_within", name=name, p=stability.robust.p)
