"""Measures by which the claims of the paper are judged; `study.toml` has the conditions and most words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinktime.stats.estimate import NotApplicable
from thinktime.stats.frontier import ParetoSet, maximal
from thinktime.stats.hypothesis import SignificanceTest, combined
from thinktime.stats.regression.equality import same_mean
from thinktime.studies.bard_1971 import costs, free_fret
from thinktime.studies.bard_1971.curves import (
    ENOUGH,
    MEASURES,
    TIMES,
    at_equal_load,
    by_load,
    counted,
    last_reliable,
)
from thinktime.studies.bard_1971.recomputed import CALLS, fact
from thinktime.studies.bard_1971.records import COLUMNS, PAPER, PERIODS, REQUESTS, record_of
from thinktime.studies.bard_1971.regression import (
    AS_PRINTED,
    adjusted,
    cp_time,
    dispatch,
    four_fits,
    shares,
    theta,
)
from thinktime.studies.bard_1971.saturation import (
    DRUM,
    FIGURE_6,
    PLOTS,
    SECOND,
    THIRD,
    frontier,
    frontiers_compared,
    limited,
    pages,
    pair_of,
    region,
    trade_off,
    within,
)
from thinktime.studies.cells import Claim, held
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory, applicable
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.saturation.frontier_pair import FrontierPair
    from thinktime.analyses.throughput.comparison import Contrast, ThroughputComparison

Measures = dict[str, Any]

SECOND_BOX, THIRD_BOX, NEW_VERSION = PERIODS
AT_EQUAL_LOAD = (
    "box-raises-throughput",
    "version-inconclusive",
    "cp-time-order",
    "wait-order",
    "box-lowers-paging",
    "whole-means",
)
"""Claims that are judged at equal load."""
LEAST_POINTS = 6
"""Points by which the plane of a surface is judged; with fewer it is undecided."""
USEFUL = ("problem_state_time", "vsio", "page_io")
"""Rows of Table 12 that are throughput."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Every claim of the paper, with the statistic by which it is judged."""
    claims = (
        *_regressions(laboratory),
        *_recovered(laboratory),
        *_loads(laboratory),
        *_saturation(laboratory),
        *_free_fret(laboratory),
    )
    summary = (f"Of {len(claims)} claims, {held(claims)} hold on the simulated installation.",)
    return Chapter(claims=claims, summary=summary, tables=(free_fret.significance_table(laboratory),))


def _plain(request: str) -> str:
    return request.replace("_", " ")


# Tables 4 to 9


def _regressions(laboratory: Laboratory) -> Iterator[Claim]:
    yield PAPER.claim("vsio-largest", _largest(laboratory))
    yield from _between(laboratory)
    with_vmio, without = (cp_time(laboratory, "III-3", vmio=vmio) for vmio in (True, False))
    ratios = {
        request: theta(without, request).value / theta(with_vmio, request).value
        for request in REQUESTS
        if request != "vmio"
    }
    yield PAPER.claim("omission-spool", {"ratio": ratios.pop("spool_io")})
    yield PAPER.claim("omission-others", {"ratios": ratios})
    fits = dict(zip((*PERIODS, "III-3 with VMIO"), four_fits(laboratory), strict=True))
    yield PAPER.claim("r-squared", {"r_squared": {name: fit.r_squared for name, fit in fits.items()}})
    rejected = {name: 100.0 * fit.outliers / (fit.n + fit.outliers) for name, fit in fits.items()}
    yield PAPER.claim("outliers", {"rejected": rejected})
    positive = {name: fit.outliers_above / max(fit.outliers, 1) for name, fit in fits.items()}
    yield PAPER.claim("outliers-positive", {"positive": positive})
    yield PAPER.claim("selection", _selection(laboratory))
    yield from _stability(laboratory)
    phi = {
        request: theta(dispatch(laboratory), request) for request in ("vmio", "vsio", "page_io", "spool_io")
    }
    yield PAPER.claim("dispatch-order", {"phi": phi})


def _largest(laboratory: Laboratory) -> Measures:
    """Share of CP time of VSIO, and of the request that comes next, per cent by period."""
    measures: Measures = {"vsio": {}, "next": {}, "second": {}}
    measures |= {"ii": shares(laboratory, "II-2"), "iii": shares(laboratory, "III-3")}
    for period in PERIODS:
        parts = {request: percent.value for request, percent in shares(laboratory, period).items()}
        measures["vsio"][period] = parts.pop("vsio")
        second = max(parts, key=parts.__getitem__)
        measures["next"][period], measures["second"][period] = parts[second], _plain(second)
    return measures


def _test(laboratory: Laboratory, periods: Sequence[str], request: str) -> SignificanceTest:
    """Test that a coefficient, fitted without VMIO as the paper had to, is the same in several periods."""
    estimates, covariances, degrees = [], [], []
    for period in periods:
        fit = cp_time(laboratory, period, vmio=False)
        name = COLUMNS.get(request, request)
        index = next(index for index, item in enumerate(fit.costs) if item.request == name)
        estimates.append(np.array([fit.costs[index].seconds.value]))
        covariances.append(np.array([[fit.covariance[index][index]]]))
        degrees.append(fit.degrees[index])
    return same_mean(estimates, covariances, degrees, f"{request} costs the same in {' and '.join(periods)}")


def _between(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about coefficients of two periods: version II and III, and two core boxes and three."""
    requests = [request for request in REQUESTS if request != "vmio"]
    first, second, third = (
        {request: theta(cp_time(laboratory, period, vmio=False), request).value for request in requests}
        for period in PERIODS
    )
    ratios = {request: third[request] / second[request] for request in requests}
    p = {request: _test(laboratory, ("II-3", "III-3"), request).p for request in requests}
    yield PAPER.claim("iii-below-ii", {"ratio": ratios, "p": p})
    p = {request: _test(laboratory, ("II-2", "II-3"), request).p for request in requests}
    same = {
        "before": {request: first[request] for request in ("vsio", "page_io")},
        "after": {request: second[request] for request in ("vsio", "page_io")},
        "p": {request: p[request] for request in ("vsio", "page_io")},
    }
    yield PAPER.claim("same-version", same)
    environment = {request: p[request] for request in ("base", "problem_state_time")}
    yield PAPER.claim("user-environment", {"p": environment})


def _selection(laboratory: Laboratory) -> Measures:
    """Requests that forward selection chooses among all counters, and their F to enter."""
    from thinktime.analyses.overhead import analysis as overhead

    log = record_of(laboratory, "III-3").log
    fit = applicable(overhead.analyse(log, fit_options=AS_PRINTED))
    entered = {item.request: item.f_to_enter for item in fit.costs[1:] if item.f_to_enter}
    return {"chosen": sorted(fit.requests), "f": entered}


def _stability(laboratory: Laboratory) -> Iterator[Claim]:
    fits = {period: cp_time(laboratory, period).stability for period in PERIODS}
    every = {period: stability for period, stability in fits.items() if stability is not None}
    if len(every) < len(PERIODS):
        return
    independent = {period: stability.independent.p for period, stability in every.items()}
    measures = {
        "subsets": {period: len(stability.subsets) for period, stability in every.items()},
        "ratios": {period: [item.ratio for item in stability.spreads] for period, stability in every.items()},
        "independent": independent,
        "robust": {period: stability.robust.p for period, stability in every.items()},
        "p": combined(list(independent.values())),
    }
    yield PAPER.claim("subsets-vary", measures)


# Costs that only a simulation knows


def _recovered(laboratory: Laboratory) -> Iterator[Claim]:
    every = [item for item in costs.recovered(laboratory) if item.request != "base"]
    farthest = max(every, key=lambda item: abs(item.off))
    yield PAPER.claim(
        "costs-recovered",
        {"off": [item.off for item in every], "farthest": farthest.words, "worst": farthest.off},
    )
    for way in costs.WAYS:
        missed = [item.words for item in every if not item.covered(way)]
        which = f"; missed are {'; '.join(missed)}" if missed else ""
        yield PAPER.claim(f"interval-{way.lower()}", {"n": len(every), "missed": len(missed), "which": which})


# Figures 1 to 5


def _loads(laboratory: Laboratory) -> Iterator[Claim]:
    comparison = at_equal_load(laboratory)
    if isinstance(comparison, NotApplicable):
        reason = f"0 ranges of load in common: {comparison.reason}"
        yield from (PAPER.claim(name, None, reason) for name in AT_EQUAL_LOAD)
    else:
        measures = _at_equal_load(comparison)
        yield from (PAPER.claim(name, measures) for name in AT_EQUAL_LOAD)
    yield _exponential(laboratory)
    last = last_reliable([counted(by_load(laboratory, period)) for period in PERIODS])
    yield PAPER.claim("ends-unreliable", {"last": last, "enough": ENOUGH})


def _at_equal_load(comparison: ThroughputComparison) -> Measures:
    """Changes with the third core box and with version III, and those of whole means with the box.

    Each change was named by the paper, so that no p is adjusted for having looked at many.
    """
    box, version = (
        {
            item.measure.name: _contrast(item)
            for item in comparison.overall
            if (item.first, item.second) == periods
        }
        for periods in ((SECOND_BOX, THIRD_BOX), (THIRD_BOX, NEW_VERSION))
    )
    curves = {curve.name: curve for curve in comparison.curves}
    before = curves[THIRD_BOX].equal_load.get("system_time")
    whole, equal, factor = {}, {}, {}
    for name, words in MEASURES.items():
        first, second = (curves[period].whole.get(name) for period in (SECOND_BOX, THIRD_BOX))
        if first is not None and second is not None:
            whole[words] = second.value - first.value
            equal[words] = box[name]["change"]
            factor[words] = 100.0 if name in TIMES else 1.0
    return {
        "box": box,
        "version": version,
        "less": -version["system_time"]["change"] / before.value if before and before.value else 0.0,
        "whole": whole,
        "equal": equal,
        "factor": factor,
    }


def _contrast(item: Contrast) -> Measures:
    """Difference between two periods at equal load, with its p."""
    name = item.measure.name
    factor, unit = (100.0, " points") if name in TIMES else (1.0, "/s")
    words = f"{MEASURES.get(name, name)} {factor * item.estimate.value:+.2f}{unit} (p {item.p:.2g})"
    return {"change": item.estimate.value, "p": item.p, "words": words}


def _exponential(laboratory: Laboratory) -> Claim:
    """Claim about lines through the logarithm of the paging rate."""
    measures: Measures = {"slope": {}, "growth": {}, "explained": {}, "plain": {}}
    for period in PERIODS:
        points = [
            (group.load_mean, mean.value)
            for group in by_load(laboratory, period).groups
            if not group.few
            and group.load_low >= 1
            and (mean := group.means.get("page_ios")) is not None
            and mean.value > 0
        ]
        if len(points) < 3:
            return PAPER.claim("paging-exponential", None, f"{len(points)} groups in {period}")
        load, rate = np.array(points).T
        slope = float(np.polyfit(load, np.log(rate), 1)[0])
        measures["slope"][period], measures["growth"][period] = slope, np.exp(2.0 * slope)
        for name, values in (("explained", np.log(rate)), ("plain", rate)):
            measures[name][period] = float(np.corrcoef(load, values)[0, 1] ** 2)
    return PAPER.claim("paging-exponential", measures)


# Figures 6 to 9


def _saturation(laboratory: Laboratory) -> Iterator[Claim]:
    yield PAPER.claim("dominance", _dominance())
    yield from _regions(laboratory)
    for name, period, y in (("price-of-page", SECOND, "page_ios"), ("price-of-vsio", THIRD, "vsio")):
        yield PAPER.claim(name, {"price": trade_off(laboratory, period, "user_time", y)})
    compared = {(pair.x.name, pair.y.name): pair for pair in frontiers_compared(laboratory).pairs}
    for number, names in PLOTS.items():
        pair = compared[names]
        measures = {"verdict": pair.verdict, "further": pair.further, "least": pair.least, "p": pair.test.p}
        yield PAPER.claim(f"iii-outside-figure-{number}", measures)
    growths = {period: frontier(laboratory, period).growth for period in PERIODS}
    settled = [growth.settled for growth in growths.values()]
    growing: Measures = {
        "settled": None if None in settled else settled,
        "volume": {period: growth.volume for period, growth in growths.items()},
        "expected": {period: growth.expected_volume for period, growth in growths.items()},
    }
    yield PAPER.claim("fills-in", growing)
    yield _plane(laboratory)


def _dominance() -> Measures:
    """Points that dominate each point of Figure 6, and the maximal ones, found in two ways."""
    points = np.array(FIGURE_6)
    above = [
        [other + 1 for other, place in enumerate(points) if other != index and (place >= point).all()]
        for index, point in enumerate(points)
    ]
    one_by_one = ParetoSet(points.shape[1])
    for point in points:
        one_by_one.absorb(point)
    return {
        "above": above,
        "maximal": (maximal(points) + 1).tolist(),
        "one_by_one": (one_by_one.positions + 1).tolist(),
        "listed": "; ".join(
            f"{index} by {', '.join(map(str, by))}" for index, by in enumerate(above, 1) if by
        ),
    }


UNBOUNDED = (
    "these borders have no intervals, since too few resamples of the same hours have the same three regions"
)


def _region(pair: FrontierPair, name: str) -> Measures:
    """Stretch of problem state [%] in which a resource limits, NaN where it is nowhere, and words for it."""
    ends = region(pair, name)
    if ends is None:
        instead = ", ".join(f"{item.limit} up to {100 * item.high:.0f} %" for item in pair.regions)
        words = f"nowhere; what limits is {instead}"
        nowhere = {"begin": np.nan, "end": np.nan, "first": None, "last": None, "note": ""}
        return {**nowhere, "words": words, "points": _limited_by(name, [])}
    low, high = (
        f"{end.value:.0f} %"
        + ("" if end.low is None or end.high is None else f" ({end.low:.0f} to {end.high:.0f})")
        for end in ends
    )
    first, last = ends
    begin, end = first.value, last.value
    inside = within(pair, begin / 100.0, end / 100.0)
    words = f"from {low} to {high} problem state"
    bounded = first.low is not None and last.low is not None
    note = "" if bounded else f"; {UNBOUNDED}"
    extent = {"begin": begin, "end": end, "first": first, "last": last, "note": note}
    return {**extent, "words": words, "points": _limited_by(name, inside)}


def _limited_by(name: str, points: Sequence[tuple[object, str]]) -> str:
    """Number of points that a resource limits, of all."""
    return f"{sum(limit == name for _, limit in points)} of {len(points)}"


def _regions(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about the limits of versions III and II."""
    pair = pages(laboratory, THIRD)
    drum, slack, cpu = (_region(pair, name) for name in (DRUM, "none", "cpu"))
    low = within(pair, 0.0, drum["end"] / 100.0)
    rates = [y for (_, y), _ in low]
    listed = (
        f", {_limited_by(DRUM, low)} points there, at {min(rates):.1f} to {max(rates):.1f} pages per second"
        if rates
        else ""
    )
    yield PAPER.claim("region-paging", {"drum": drum, "rates": rates, "listed": listed})
    yield PAPER.claim("region-cpu", {"cpu": cpu})
    yield PAPER.claim("region-slack", {"slack": slack})
    second = {period: pages(laboratory, period) for period in ("II-2", SECOND)}
    numbers = {period: len(limited(item, DRUM)) for period, item in second.items()}
    points = {period: len(item.points) for period, item in second.items()}
    yield PAPER.claim("ii-no-paging-limit", {"limited": numbers, "points": points})
    yield PAPER.claim("ii-cpu-limit", {"cpu": _region(second[SECOND], "cpu")})
    paging, vsio = (
        _region(pair_of(frontier(laboratory, THIRD), "user_time", name), "cpu")
        for name in ("page_ios", "vsio")
    )
    nowhere = bool(np.isnan(paging["begin"]) or np.isnan(vsio["begin"]))
    yield PAPER.claim("cpu-sooner-with-vsio", {"paging": paging, "vsio": vsio, "nowhere": nowhere})


def _plane(laboratory: Laboratory) -> Claim:
    """Claim that a plane fits the points of the frontier in three dimensions that the CPU limits."""
    result = frontier(laboratory, THIRD)
    points = np.array([point.values for point in result.points if str(point.limit) == "cpu"])
    if len(points) < LEAST_POINTS:
        return PAPER.claim("surface-planar", None, f"{len(points)} points limited by the CPU")
    problem = points[:, 0]
    x = np.column_stack([np.ones(len(points)), points[:, 1:]])
    coefficients = np.linalg.lstsq(x, problem, rcond=None)[0]
    explained = 1.0 - float(np.var(problem - x @ coefficients) / np.var(problem))
    page, vsio = (-1000.0 * slope for slope in coefficients[1:])
    return PAPER.claim(
        "surface-planar",
        {"points": len(points), "explained": explained, "prices": {"page": page, "vsio": vsio}},
    )


# The free-fret experiment


def _free_fret(laboratory: Laboratory) -> Iterator[Claim]:
    totals = free_fret.totals(free_fret.experiments(laboratory)[0])
    share = {way: 100.0 * (sums["free_s"] + sums["fret_s"]) / sums["cp_s"] for way, sums in totals.items()}
    pair = {
        way: 1e6 * (sums["free_s"] / sums["free_calls"] + sums["fret_s"] / sums["fret_calls"])
        for way, sums in totals.items()
    }
    measured = {way: interval(free_fret.shares_measured(laboratory, way)) for way in totals}
    yield PAPER.claim("free-fret-share", {"share": share, "pair": pair, "measured": measured})
    fit = free_fret.calls(laboratory)
    calls = {request: 1e-3 * theta(fit, request).value for request in CALLS}
    stated = {request: fact(name).value for request, name in CALLS.items()}
    yield PAPER.claim("calls-recovered", {"calls": calls, "stated": stated})
    yield from _reductions(laboratory)
    yield from _gains(laboratory)
    yield PAPER.claim("throughput-significant", _significance(laboratory))
    yield PAPER.claim("overhead-falls", _overhead(laboratory))


def _reductions(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about the falls of the coefficients: as the paper has them, and as measured."""
    saving_ms = fact("pair-saving").value / 1000.0
    expected = {request: fact(name).value * saving_ms for request, name in CALLS.items()}
    fitted = {request: free_fret.reduction(laboratory, request) for request in CALLS}
    yield PAPER.claim("reductions-recovered", {"fall": fitted, "expected": expected})
    old, new = (
        {request: free_fret.time_in(laboratory, way, request).value for request in CALLS}
        for way in ("old", "new")
    )
    measured = {request: old[request] - new[request] for request in CALLS}
    yield PAPER.claim("reductions-measured", {"fall": measured, "expected": expected})


def _gains(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about the coefficients of II-3, adjusted, of III-3 with the old free-fret, and with the new."""
    requests = ("vsio", "spool_io", "page_io")
    second = {request: adjusted(laboratory, "II-3", request).value for request in requests}
    old, new = (
        {request: theta(fit, request).value for request in requests}
        for fit in (free_fret.old_fit(laboratory), cp_time(laboratory, "III-3"))
    )
    fall = {request: second[request] - new[request] for request in ("vsio", "spool_io")}
    gain = {request: old[request] - new[request] for request in fall}
    yield PAPER.claim("gain-is-free-fret", {"fall": fall, "by_free_fret": gain})
    pages_ms = {"second": second["page_io"], "old": old["page_io"], "new": new["page_io"]}
    coding, more = (
        100.0 * (before - after) / pages_ms["second"]
        for before, after in ((pages_ms["second"], pages_ms["old"]), (pages_ms["old"], pages_ms["new"]))
    )
    yield PAPER.claim("page-coding", {**pages_ms, "coding": coding, "more": more})


def _significance(laboratory: Laboratory) -> Measures:
    """Probabilities of the printed differences by chance, which the paper leaves open."""
    comparison = free_fret.compared(laboratory)
    printed = {variable: free_fret.printed_difference(variable) for variable in USEFUL}
    p = {
        variable: free_fret.p_of(difference, laboratory, variable) for variable, difference in printed.items()
    }
    power = comparison.effect("user_time").power
    words = ""
    if power is not None and power.by_t is not None:
        words = f"; chance to find it by Student's test over days {power.by_t:.2f}"
        if power.detectable_by_t is not None:
            least = 100.0 * power.detectable_by_t
            words += f", a difference of {least:.1f} points would be found with a chance of 0.8"
    tight = next(item for item in comparison.allowed if item.chosen)
    exact = ""
    if tight.smallest_p is not None:
        exact = (
            f"; {tight.assignments} assignments keep weeks and weekdays balanced, so that no data give the "
            f"exact test a p below {tight.smallest_p:.2f}"
        )
    return {
        "p": p,
        "runs": laboratory.settings.replications,
        "difference": printed["problem_state_time"],
        "power": words,
        "chance": None if power is None else power.by_t,
        "exact": exact,
    }


def _overhead(laboratory: Laboratory) -> Measures:
    """Change of CP time at equal work in the first run, and the runs in which it is significant."""
    runs = laboratory.settings.replications
    effects = [free_fret.compared(laboratory, number).effect("system_time", "work") for number in range(runs)]
    raw = [free_fret.compared(laboratory, number).effect("system_time") for number in range(runs)]
    significant, plain = (
        sum(item.t_test is not None and item.t_test.rejected() for item in items) for items in (effects, raw)
    )
    test = effects[0].t_test
    return {
        "change": effects[0].difference.value,
        "p": "" if test is None else f", p {test.p:.2g} by Student's test over days",
        "significant": significant,
        "plain": plain,
        "runs": runs,
    }
