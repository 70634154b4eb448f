"""What the paper concludes from its regressions, and whether it holds here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from thinktime.analyses.overhead.regression import FitOptions
from thinktime.stats.hypothesis import ALPHA, SignificanceTest, combined
from thinktime.stats.regression.equality import same_mean
from thinktime.studies.bard_1971.installation import COLUMNS, PERIODS, Installation, applicable
from thinktime.studies.bard_1971.regression import (
    cp_time,
    dispatch,
    four_fits,
    shares,
    theta,
)
from thinktime.studies.bard_1971.tables import NAME, REQUESTS
from thinktime.studies.cells import Claim

__all__ = ["findings"]

SHARE_REACH = 5.0
"""Points by which a share may be outside the range of the paper."""
VSIO_SHARE = (46.0, 57.0)
R_SQUARED = (0.86, 0.90)
OUTLIERS = (2.0, 3.5)
POSITIVE_LEAST = 0.9
"""Part of the outliers that is almost all."""
INFLATED = 3.0
ALIKE = 0.15


def findings(installation: Installation) -> Iterator[Claim]:
    """Judge every conclusion from Tables 4 to 9."""
    yield _largest(installation)
    yield from _between(installation)
    yield from _omission(installation)
    yield from _quality(installation)
    yield _selection(installation)
    yield from _stability(installation)
    yield _redispatch(installation)


def _found(finding: str, source: str, holds: bool | None, statistic: str, text: str) -> Claim:
    return Claim(study=NAME, id=finding, source=source, holds=holds, statistic=statistic, text=text)


def _largest(installation: Installation) -> Claim:
    said, largest, inside = [], True, True
    for period in PERIODS:
        parts = {share.request: share.percent.value for share in shares(installation, period)}
        vsio = parts.pop("vsio")
        largest &= vsio > max(parts.values())
        inside &= VSIO_SHARE[0] - SHARE_REACH <= vsio <= VSIO_SHARE[1] + SHARE_REACH
        second = max(parts, key=parts.__getitem__)
        said.append(f"{period} {vsio:.0f} %, next {second.replace('_', ' ')} {parts[second]:.0f} %")
    return _found(
        "vsio-largest",
        "Table 8",
        largest and inside,
        f"share of CP time: {'; '.join(said)}; within {SHARE_REACH:g} points of the range is inside it",
        "VSIO is the largest consumer of CP time, 46 to 57 %",
    )


def _test(installation: Installation, periods: Sequence[str], request: str) -> SignificanceTest:
    """Whether a coefficient, fitted without VMIO as the paper had to, is the same in several periods."""
    estimates, covariances, degrees = [], [], []
    for period in periods:
        fit = cp_time(installation, period, vmio=False)
        name = COLUMNS.get(request, request)
        at = next(at for at, item in enumerate(fit.costs) if item.request == name)
        estimates.append(np.array([fit.costs[at].seconds.value]))
        covariances.append(np.array([[fit.covariance[at][at]]]))
        degrees.append(fit.degrees)
    return same_mean(estimates, covariances, degrees, f"{request} costs the same in {' and '.join(periods)}")


def _between(installation: Installation) -> Iterator[Claim]:
    """Compare periods: version II with III, and two core boxes with three."""
    requests = [request for request in REQUESTS if request != "vmio"]
    second, third = (cp_time(installation, name, vmio=False) for name in ("II-3", "III-3"))
    below = {request: theta(third, request).value / theta(second, request).value for request in requests}
    tests = {request: _test(installation, ("II-3", "III-3"), request) for request in requests}
    listed = ", ".join(
        f"{request.replace('_', ' ')} {ratio:.2f} (p {tests[request].p:.2g})"
        for request, ratio in below.items()
    )
    yield _found(
        "iii-below-ii",
        "Table 5",
        all(ratio < 1.0 for ratio in below.values()),
        f"coefficients of III-3 over those of II-3, both without VMIO: {listed}",
        "all coefficients of III-3 are below those of II-3",
    )
    same = {request: _test(installation, ("II-2", "II-3"), request) for request in ("vsio", "page_io")}
    values = {
        request: [theta(cp_time(installation, name, vmio=False), request).value for name in ("II-2", "II-3")]
        for request in same
    }
    yield _found(
        "same-version",
        "Table 5",
        not any(test.rejected() for test in same.values()),
        "; ".join(
            f"{request.replace('_', ' ')} {values[request][0]:.2f} and {values[request][1]:.2f} ms, "
            f"p {test.p:.2g}"
            for request, test in same.items()
        ),
        "a VSIO and a page I/O cost the same in II-2 and II-3, which differ in main storage only",
    )
    env = {
        request: _test(installation, ("II-2", "II-3"), request) for request in ("base", "problem_state_time")
    }
    yield _found(
        "user-environment",
        "text on Table 5",
        all(test.rejected() for test in env.values()),
        ", ".join(f"{request.replace('_', ' ')} p {test.p:.2g}" for request, test in env.items())
        + "; both were set period by period, to the mean CP time",
        "base and problem state coefficients change with the user environment, from II-2 to II-3",
    )


def _omission(installation: Installation) -> Iterator[Claim]:
    fits = [cp_time(installation, "III-3", vmio=vmio) for vmio in (True, False)]
    ratio = {
        request: theta(fits[1], request).value / theta(fits[0], request).value
        for request in REQUESTS
        if request != "vmio"
    }
    spool = ratio.pop("spool_io")
    worst = max(ratio, key=lambda request: abs(ratio[request] - 1.0))
    yield _found(
        "omission-spool",
        "Table 4",
        spool > INFLATED,
        f"coefficient of spool I/O without VMIO over that with it: {spool:.2f}",
        "leaving VMIO out inflates the coefficient of spool I/O more than threefold",
    )
    yield _found(
        "omission-others",
        "Table 4",
        abs(ratio[worst] - 1.0) <= ALIKE,
        ", ".join(f"{request.replace('_', ' ')} {value:.2f}" for request, value in ratio.items())
        + f"; within {100 * ALIKE:.0f} % is slight",
        "it changes the other coefficients slightly",
    )


def _quality(installation: Installation) -> Iterator[Claim]:
    names = ("II-2", "II-3", "III-3", "III-3 with VMIO")
    fits = dict(zip(names, four_fits(installation), strict=True))
    r2 = {name: fit.r_squared for name, fit in fits.items()}
    low, high = R_SQUARED
    yield _found(
        "r-squared",
        "Table 5",
        all(low - 0.005 <= value < high + 0.005 for value in r2.values()),
        ", ".join(f"{name} {value:.3f}" for name, value in r2.items()),
        f"the fits explain {low:.2f} to {high:.2f} of the variance of CP time",
    )
    part = {name: 100.0 * fit.outliers / (fit.n + fit.outliers) for name, fit in fits.items()}
    yield _found(
        "outliers",
        "Table 5",
        all(OUTLIERS[0] <= value <= OUTLIERS[1] for value in part.values()),
        ", ".join(f"{name} {value:.1f} %" for name, value in part.items()),
        f"the outlier rule rejects {OUTLIERS[0]:g} to {OUTLIERS[1]:g} % of the observations",
    )
    positive = {name: fit.outliers_above / max(fit.outliers, 1) for name, fit in fits.items()}
    yield _found(
        "outliers-positive",
        "text on Table 5",
        min(positive.values()) >= POSITIVE_LEAST,
        ", ".join(f"{name} {100 * value:.0f} %" for name, value in positive.items())
        + f" of the outliers are positive; {100 * POSITIVE_LEAST:.0f} % are almost all",
        "outliers are almost all positive: CP activity that nobody measured",
    )


def _selection(installation: Installation) -> Claim:
    """Let forward selection choose among all that the log counts as requests."""
    from thinktime.analyses.overhead import analysis as overhead

    log = installation.periods["III-3"].log
    fit = applicable(overhead.analyse(log, fit_options=FitOptions(as_printed=True)))
    wanted = set(COLUMNS.values())
    steps = ", ".join(
        f"{item.request} (F {item.f_to_enter:.0f})" for item in fit.costs[1:] if item.f_to_enter
    )
    return _found(
        "selection",
        "text on the regression",
        set(fit.requests) == wanted,
        f"in the order of entry: {steps}",
        "forward selection takes VSIO, VMIO, page I/O, spool I/O and problem state time, and nothing else",
    )


def _stability(installation: Installation) -> Iterator[Claim]:
    said: list[str] = []
    p: list[float] = []
    ratios: list[float] = []
    for period in PERIODS:
        stability = cp_time(installation, period).stability
        if stability is None:
            return
        own = [spread.ratio for spread in stability.spreads]
        ratios += own
        p.append(stability.independent.p)
        said.append(
            f"{period}: spread between {len(stability.subsets)} subsets {min(own):.1f} to {max(own):.1f} "
            f"times the nominal error, p {stability.independent.p:.1g}; with correlated errors of any "
            f"size, p {stability.robust.p:.2g}"
        )
    yield _found(
        "subsets-vary",
        "text on the regression",
        combined(p) < ALPHA and float(np.median(ratios)) > 1.0,
        f"{'; '.join(said)}; all periods together p {combined(p):.1g}",
        "coefficients of subsets vary more than the regression model says",
    )


def _redispatch(installation: Installation) -> Claim:
    """Order the dispatch coefficients as Table 6 has them."""
    fit = dispatch(installation)
    phi = {request: theta(fit, request).value for request in ("vmio", "vsio", "page_io", "spool_io")}
    rising = all(one < other for one, other in pairwise(phi.values()))
    return _found(
        "dispatch-order",
        "Table 6",
        rising,
        ", ".join(f"{request.replace('_', ' ')} {value:.2f} ms" for request, value in phi.items()),
        "dispatch takes least for VMIO, then VSIO, page I/O and spool I/O, by passes and redispatches",
    )
