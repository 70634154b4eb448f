"""Whether requests cost the same in several logs: periods, versions, machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead.analysis import analyse
from thinktime.stats.critical_values import student_t
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.hypothesis import SignificanceTest, adjusted
from thinktime.stats.regression.equality import same_mean

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Cost, Overhead
    from thinktime.log import Log

__all__ = ["ComparedCost", "Comparison", "compare"]

NOT_REQUESTS = ("base", "user_time")
"""Terms that depend on what users do, and not only on the system."""


@dataclass(frozen=True, slots=True)
class ComparedCost:
    """One cost in each log."""

    request: str
    label: str
    seconds: tuple[Estimate, ...]
    """In the order of the logs, with Newey and West's intervals."""
    differences: tuple[Estimate, ...]
    """Cost of each log but the first less that of the first; each interval by itself at its level."""
    test: SignificanceTest
    """Whether it is the same in all logs; p adjusted over all costs (Holm)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same regression of several logs, cost by cost."""

    names: tuple[str, ...]
    results: tuple[Overhead, ...]
    """All with the same requests."""
    costs: tuple[ComparedCost, ...]
    """``base`` first."""
    every: SignificanceTest
    """Whether all costs are the same in all logs."""
    requests: SignificanceTest | None
    """Whether the costs of requests are, base and user time left out; None without a request."""
    not_compared: tuple[tuple[str, str], ...]
    """Requests that are in the regression of some log and cannot be in that of another, and why."""
    caveats: tuple[str, ...]


def compare(
    logs: Sequence[Log], names: Sequence[str], *, requests: Sequence[str] | None = None, **options: Any
) -> Comparison | NotApplicable:
    """Fit the same regression to each log and test whether its costs are the same.

    Each cost is tested by itself and all are tested together, with the covariances of Newey and West and
    their equivalent degrees of freedom (`stats.equality.same_mean`). Logs are taken as independent of each
    other.

    Parameters
    ----------
    logs : sequence of Log
        Two or more.
    names : sequence of str
        What they are called.
    requests : sequence of str, optional
        See `overhead.analyse`. By default each log's are chosen by forward selection, and all of those
        that every log can tell are fitted to every log.
    **options
        Of `overhead.analyse`.

    Raises
    ------
    ValueError
        There are fewer than two logs.
    """
    if len(logs) < 2:
        raise ValueError("two logs at least are needed to compare them")
    found = _fitted(logs, names, requests, options)
    if isinstance(found, NotApplicable):
        return found
    chosen, refused = _chosen(found, names)
    if refused and not set(chosen) - set(NOT_REQUESTS):
        return NotApplicable(
            "no request is counted in all of the logs", "compare logs of one kind, or ask of each by itself"
        )
    alike = all(set(result.requests) == set(chosen) for result in found)
    results = found if alike else _fitted(logs, names, chosen, options)
    if isinstance(results, NotApplicable):
        return results
    kept = ["base", *(name for name in chosen if all(result.cost(name) for result in results))]
    level = results[0].system_time.level
    single = [
        _same(results, [name], f"the cost of {_cost(results[0], name).label} is the same") for name in kept
    ]
    costs = tuple(
        _compared(results, name, test, level) for name, test in zip(kept, adjusted(single), strict=True)
    )
    of_requests = [name for name in kept if name not in NOT_REQUESTS]
    return Comparison(
        names=tuple(names),
        results=results,
        costs=costs,
        every=_same(results, kept, "all costs are the same"),
        requests=_same(results, of_requests, "the costs of requests are the same") if of_requests else None,
        not_compared=refused,
        caveats=_caveats(results, names, refused),
    )


def _fitted(
    logs: Sequence[Log], names: Sequence[str], requests: Sequence[str] | None, options: dict[str, Any]
) -> tuple[Overhead, ...] | NotApplicable:
    results = []
    for log, name in zip(logs, names, strict=True):
        result = analyse(log, requests=requests, **options)
        if isinstance(result, NotApplicable):
            return NotApplicable(f"{name}: {result.reason}", result.remedy)
        results.append(result)
    return tuple(results)


def _chosen(
    results: Sequence[Overhead], names: Sequence[str]
) -> tuple[list[str], tuple[tuple[str, str], ...]]:
    """Choose the requests that some log needs and every log can tell; name the others, and why not."""
    wanted = dict.fromkeys(request for result in results for request in result.requests)
    chosen, refused = [], []
    for request in wanted:
        reasons = [
            f"{item.reason} in {name}"
            if "in this log" not in item.reason
            else item.reason.replace("this log", name)
            for result, name in zip(results, names, strict=True)
            for item in result.left_out
            if item.request == request and not item.tested
        ]
        reasons += [
            f"not counted in {name}"
            for result, name in zip(results, names, strict=True)
            if request not in (*result.requests, *(item.request for item in result.left_out))
        ]
        if reasons:
            refused.append((request, "; ".join(reasons)))
        else:
            chosen.append(request)
    return chosen, tuple(refused)


def _cost(result: Overhead, name: str) -> Cost:
    found = result.cost(name)
    if found is None:
        raise ValueError(f"the regression has no cost of {name}")
    return found


def _covariance(result: Overhead, names: Sequence[str]) -> NDArray[np.float64]:
    order = [cost.request for cost in result.costs]
    at = [order.index(name) for name in names]
    whole = np.array(result.covariance)
    part: NDArray[np.float64] = whole[np.ix_(at, at)]
    return part


def _same(results: Sequence[Overhead], names: Sequence[str], hypothesis: str) -> SignificanceTest:
    return same_mean(
        [np.array([_cost(result, name).seconds.value for name in names]) for result in results],
        [_covariance(result, names) for result in results],
        [result.degrees for result in results],
        f"{hypothesis} in all logs",
    )


def _compared(results: Sequence[Overhead], name: str, test: SignificanceTest, level: float) -> ComparedCost:
    first = _cost(results[0], name)
    return ComparedCost(
        request=name,
        label=first.label,
        seconds=tuple(_cost(result, name).seconds for result in results),
        differences=tuple(_difference(results[0], result, name, level) for result in results[1:]),
        test=test,
    )


def _difference(first: Overhead, other: Overhead, name: str, level: float) -> Estimate:
    """Difference of two independent costs, with the degrees of freedom of Welch and Satterthwaite."""
    variances = [float(_covariance(result, [name])[0, 0]) for result in (first, other)]
    total = sum(variances)
    spent = sum(v**2 / result.degrees for v, result in zip(variances, (first, other), strict=True))
    degrees = total**2 / spent if spent > 0.0 else first.degrees + other.degrees
    a, b = _cost(first, name).seconds, _cost(other, name).seconds
    value, reach = b.value - a.value, student_t(level, degrees) * math.sqrt(total)
    method = "difference of two regressions, Newey-West, Welch"
    return Estimate(
        value=value,
        unit=a.unit,
        n=a.n + b.n,
        method=method,
        low=value - reach,
        high=value + reach,
        level=level,
    )


def _caveats(
    results: Sequence[Overhead], names: Sequence[str], refused: Sequence[tuple[str, str]]
) -> tuple[str, ...]:
    caveats = []
    if refused:
        caveats.append(
            f"Not compared: {'; '.join(f'{request} ({reason})' for request, reason in refused)}. In the logs "
            "that have such requests, their cost is charged to what goes along with them."
        )
    for result, name in zip(results, names, strict=True):
        stability = result.stability
        if stability is not None and stability.robust.rejected():
            caveats.append(
                f"Costs differ already between parts of {name} (p = {stability.robust.p:.2g}): a difference "
                "between logs of that size need not come from what was changed."
            )
    return tuple(caveats)
