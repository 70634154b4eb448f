"""Claims that the paper bases on its regressions, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from thinktime.analyses.overhead.regression import FitOptions
from thinktime.stats.hypothesis import ALPHA, SignificanceTest, combined
from thinktime.stats.regression.equality import same_mean
from thinktime.studies.bard_1971.records import COLUMNS, PAPER, PERIODS, REQUESTS, record_of
from thinktime.studies.bard_1971.regression import (
    cp_time,
    dispatch,
    four_fits,
    shares,
    theta,
)
from thinktime.studies.cells import Claim
from thinktime.studies.laboratory import Laboratory, applicable

SHARE_REACH = 5.0
"""Points by which a share may be outside the range of the paper."""
VSIO_SHARE = (46.0, 57.0)
R_SQUARED = (0.86, 0.90)
OUTLIERS = (2.0, 3.5)


def claims(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims: every conclusion from Tables 4 to 9."""
    yield _largest(laboratory)
    yield from _between(laboratory)
    yield from _omission(laboratory)
    yield from _quality(laboratory)
    yield _selection(laboratory)
    yield from _stability(laboratory)
    yield _redispatch(laboratory)


def _largest(laboratory: Laboratory) -> Claim:
    listed, largest, inside = [], True, True
    for period in PERIODS:
        parts = {share.request: share.percent.value for share in shares(laboratory, period)}
        vsio = parts.pop("vsio")
        largest &= vsio > max(parts.values())
        inside &= VSIO_SHARE[0] - SHARE_REACH <= vsio <= VSIO_SHARE[1] + SHARE_REACH
        second = max(parts, key=parts.__getitem__)
        listed.append(f"{period} {vsio:.0f} %, next {second.replace('_', ' ')} {parts[second]:.0f} %")
    return PAPER.claim(
        "vsio-largest",
        largest and inside,
        f"share of CP time: {'; '.join(listed)}; within {SHARE_REACH:g} points of the range is inside it",
    )


def _test(laboratory: Laboratory, periods: Sequence[str], request: str) -> SignificanceTest:
    """Test that a coefficient, fitted without VMIO as the paper had to, is the same in several periods."""
    estimates, covariances, degrees = [], [], []
    for period in periods:
        fit = cp_time(laboratory, period, vmio=False)
        name = COLUMNS.get(request, request)
        index = next(index for index, item in enumerate(fit.costs) if item.request == name)
        estimates.append(np.array([fit.costs[index].seconds.value]))
        covariances.append(np.array([[fit.covariance[index][index]]]))
        degrees.append(fit.degrees)
    return same_mean(estimates, covariances, degrees, f"{request} costs the same in {' and '.join(periods)}")


def _between(laboratory: Laboratory) -> Iterator[Claim]:
    """Periods: version II with III, and two core boxes with three."""
    requests = [request for request in REQUESTS if request != "vmio"]
    second, third = (cp_time(laboratory, name, vmio=False) for name in ("II-3", "III-3"))
    below = {request: theta(third, request).value / theta(second, request).value for request in requests}
    tests = {request: _test(laboratory, ("II-3", "III-3"), request) for request in requests}
    listed = ", ".join(
        f"{request.replace('_', ' ')} {ratio:.2f} (p {tests[request].p:.2g})"
        for request, ratio in below.items()
    )
    yield PAPER.claim(
        "iii-below-ii",
        all(ratio < 1.0 for ratio in below.values()),
        f"coefficients of III-3 over those of II-3, both without VMIO: {listed}",
    )
    same = {request: _test(laboratory, ("II-2", "II-3"), request) for request in ("vsio", "page_io")}
    values = {
        request: [theta(cp_time(laboratory, name, vmio=False), request).value for name in ("II-2", "II-3")]
        for request in same
    }
    yield PAPER.claim(
        "same-version",
        not any(test.rejected() for test in same.values()),
        "; ".join(
            f"{request.replace('_', ' ')} {values[request][0]:.2f} and {values[request][1]:.2f} ms, "
            f"p {test.p:.2g}"
            for request, test in same.items()
        ),
    )
    env = {
        request: _test(laboratory, ("II-2", "II-3"), request) for request in ("base", "problem_state_time")
    }
    yield PAPER.claim(
        "user-environment",
        all(test.rejected() for test in env.values()),
        ", ".join(f"{request.replace('_', ' ')} p {test.p:.2g}" for request, test in env.items())
        + "; both were set period by period, to the mean CP time",
    )


def _omission(laboratory: Laboratory) -> Iterator[Claim]:
    fits = [cp_time(laboratory, "III-3", vmio=vmio) for vmio in (True, False)]
    ratio = {
        request: theta(fits[1], request).value / theta(fits[0], request).value
        for request in REQUESTS
        if request != "vmio"
    }
    spool = ratio.pop("spool_io")
    worst = max(ratio, key=lambda request: abs(ratio[request] - 1.0))
    yield PAPER.claim(
        "omission-spool",
        [spool],
        f"coefficient of spool I/O without VMIO over that with it: {spool:.2f}",
    )
    yield PAPER.claim(
        "omission-others",
        [abs(ratio[worst] - 1.0)],
        ", ".join(f"{request.replace('_', ' ')} {value:.2f}" for request, value in ratio.items())
        + f"; within {100 * PAPER.amount('omission-others'):.0f} % is slight",
    )


def _quality(laboratory: Laboratory) -> Iterator[Claim]:
    names = ("II-2", "II-3", "III-3", "III-3 with VMIO")
    fits = dict(zip(names, four_fits(laboratory), strict=True))
    r2 = {name: fit.r_squared for name, fit in fits.items()}
    low, high = R_SQUARED
    yield PAPER.claim(
        "r-squared",
        all(low - 0.005 <= value < high + 0.005 for value in r2.values()),
        ", ".join(f"{name} {value:.3f}" for name, value in r2.items()),
    )
    part = {name: 100.0 * fit.outliers / (fit.n + fit.outliers) for name, fit in fits.items()}
    yield PAPER.claim(
        "outliers",
        all(OUTLIERS[0] <= value <= OUTLIERS[1] for value in part.values()),
        ", ".join(f"{name} {value:.1f} %" for name, value in part.items()),
    )
    positive = {name: fit.outliers_above / max(fit.outliers, 1) for name, fit in fits.items()}
    yield PAPER.claim(
        "outliers-positive",
        [min(positive.values())],
        ", ".join(f"{name} {100 * value:.0f} %" for name, value in positive.items())
        + f" of the outliers are positive; {100 * PAPER.amount('outliers-positive'):.0f} % are almost all",
    )


def _selection(laboratory: Laboratory) -> Claim:
    """Claim about the requests that forward selection chooses among all counters."""
    from thinktime.analyses.overhead import analysis as overhead

    log = record_of(laboratory, "III-3").log
    fit = applicable(overhead.analyse(log, fit_options=FitOptions(as_printed=True)))
    wanted = set(COLUMNS.values())
    steps = ", ".join(
        f"{item.request} (F {item.f_to_enter:.0f})" for item in fit.costs[1:] if item.f_to_enter
    )
    return PAPER.claim("selection", set(fit.requests) == wanted, f"in the order of entry: {steps}")


def _stability(laboratory: Laboratory) -> Iterator[Claim]:
    listed: list[str] = []
    p: list[float] = []
    ratios: list[float] = []
    for period in PERIODS:
        stability = cp_time(laboratory, period).stability
        if stability is None:
            return
        selected = [spread.ratio for spread in stability.spreads]
        ratios += selected
        p.append(stability.independent.p)
        listed.append(
            f"{period}: spread between {len(stability.subsets)} subsets {min(selected):.1f} to "
            f"{max(selected):.1f} times the nominal error, p {stability.independent.p:.1g}; with "
            f"correlated errors of any "
            f"size, p {stability.robust.p:.2g}"
        )
    yield PAPER.claim(
        "subsets-vary",
        combined(p) < ALPHA and float(np.median(ratios)) > 1.0,
        f"{'; '.join(listed)}; all periods together p {combined(p):.1g}",
    )


def _redispatch(laboratory: Laboratory) -> Claim:
    """Claim about the order of the dispatch coefficients."""
    fit = dispatch(laboratory)
    phi = {request: theta(fit, request).value for request in ("vmio", "vsio", "page_io", "spool_io")}
    rising = all(one < other for one, other in pairwise(phi.values()))
    return PAPER.claim(
        "dispatch-order",
        rising,
        ", ".join(f"{request.replace('_', ' ')} {value:.2f} ms" for request, value in phi.items()),
    )
