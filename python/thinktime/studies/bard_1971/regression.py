"""Cost of a request: the regressions of Tables 4 to 6, and the shares of Tables 8 and 9."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from thinktime.analyses.overhead.regression import FitOptions
from thinktime.documents.document import Col, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971.records import (
    COLUMNS,
    DATA_PERIODS,
    DISPATCH,
    OMISSION,
    PAPER,
    PERIODS,
    REGRESSION,
    REQUESTS,
    SHARE_COLUMNS,
    SHARES,
    SHARES_APART,
    THETAS,
    record_of,
)
from thinktime.studies.cells import Cell, Row
from thinktime.studies.estimates import scaled
from thinktime.studies.laboratory import Laboratory, applicable, remembered
from thinktime.studies.paper import ENDS
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.overhead.omission import Omission
    from thinktime.analyses.overhead.result import Cost, Overhead
    from thinktime.log import Log


THRESHOLD = 2.5
"""Multiples of s beyond which a residual is an outlier (Bard 1971, outlier rule)."""
AS_PRINTED = FitOptions(threshold=THRESHOLD, as_printed=True)
_SPOOL = "Spool I/O occurs together with printed lines: which of the two takes CP time is the least certain."
NOTES = {
    OMISSION: (_SPOOL,),
    REGRESSION: (
        "The base holds unmeasured work, and what the regression misses of VSIO and problem state.",
        _SPOOL,
    ),
    SHARES: ("II-2 is short: what is charged to the base there is missing elsewhere.",),
}
"""Why cells miss."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables 3 to 6, 8 and 9, published and ours."""
    figures = (
        *_periods(laboratory),
        *_omission(laboratory),
        *_table_5(laboratory),
        *_dispatch(laboratory),
        *_shares(laboratory),
        *_facts(laboratory),
    )
    summary = (
        "The log of each simulated period is fitted as the paper fitted DUSETIMR's records. The machine was "
        "calibrated to the coefficients of III-3 with VMIO and to Table 6. Version II has the old free-fret "
        "and a longer path for a page, by Table 11, and users of its own: base and problem "
        "state, which the paper ascribes to them, were set for each period.",
    )
    method = (
        "CP time per s on requests per s and problem state time per s (equation 2) by least squares; what is "
        "off by more than 2.5 s is dropped, and the rest fitted once more; s with the divisor n - m of "
        "equation 6. Intervals: by long-run variances, which hold for errors that depend on each other and "
        "vary in size. Adjusted coefficients as the paper makes them. A coefficient that is left out is held "
        "at zero. Shares of the mean CP time as in Tables 8 and 9."
    )
    return Chapter(cells=figures, summary=summary, tables=(_along(laboratory),), notes=NOTES, method=method)


def fitted(log: Log, *target: str, without: str = "") -> Overhead:
    """Regression of CP time, or of the sum of other counters, on the requests of equation 2.

    Parameters
    ----------
    log : Log
    *target : str
        Counters in place of CP time.
    without : str
        Request that is left out.
    """
    from thinktime.analyses.overhead import analysis as overhead

    requests = [name for name in COLUMNS.values() if name != without]
    return applicable(overhead.analyse(log, requests=requests, target=target or None, fit_options=AS_PRINTED))


@remembered
def cp_time(laboratory: Laboratory, period: str, *, vmio: bool = True) -> Overhead:
    """Regression of CP time on the requests of a period, with or without VMIO."""
    if period == "III-3":
        return omission(laboratory).full if vmio else omission(laboratory).reduced
    return fitted(record_of(laboratory, period).log, without="" if vmio else "vmio")


@remembered
def omission(laboratory: Laboratory) -> Omission:
    """Regression of CP time of III-3 with and without VMIO, and where its cost goes (Table 4)."""
    from thinktime.analyses.overhead import omission as overhead_omission

    log = record_of(laboratory, "III-3").log
    return applicable(
        overhead_omission.omit(log, ["vmio"], requests=list(COLUMNS.values()), fit_options=AS_PRINTED)
    )


@remembered
def dispatch(laboratory: Laboratory) -> Overhead:
    """Regression of dispatch time on the requests of III-3."""
    return fitted(record_of(laboratory, "III-3").log, "dispatch_s")


def cost(fit: Overhead, request: str) -> Cost | None:
    """One term of a regression by the paper's name of the request; None where it was left out."""
    name = COLUMNS.get(request, request)
    return next((item for item in fit.costs if item.request == name), None)


def theta(fit: Overhead, request: str) -> Estimate:
    """Coefficient [ms]; zero where the request was left out."""
    result = cost(fit, request)
    if result is None:
        return Estimate(value=0.0, unit="ms", n=fit.n, method="left out of the regression")
    return scaled(result.seconds, 1000.0, "ms")


def adjusted(laboratory: Laboratory, period: str, request: str) -> Estimate:
    """Coefficient [ms] fitted without VMIO, times with / without of III-3 (Table 5).

    That of VMIO itself, for which there is no such product, is fitted: the simulated log has VMIO throughout.
    """
    from thinktime.analyses.overhead import omission as overhead_omission

    if request == "vmio":
        return theta(cp_time(laboratory, period), request)
    plain = cp_time(laboratory, period, vmio=False)
    name = COLUMNS.get(request, request)
    for item in overhead_omission.adjusted(plain, omission(laboratory)):
        if item.request == name and item.adjusted is not None:
            return scaled(item.adjusted, 1000.0, "ms")
    raise KeyError(f"{request} is not in the regression of {period}")


def _periods(laboratory: Laboratory) -> Iterator[Cell]:
    """Numbers of observations given to the simulation (Table 3)."""
    for name in PERIODS:
        run = record_of(laboratory, name)
        row: Row = {"data_set": name}
        # The system takes the number of boxes from the name of the period.
        boxes = float(name.partition("-")[2])
        given = Estimate(value=boxes, unit="boxes", n=1, method="parameter of the simulated system")
        yield PAPER.simulated(DATA_PERIODS, row, "core_boxes", given)
        observed = run.response("observations")
        counted = Estimate(value=observed, unit="observations", n=int(observed), method="counted")
        yield PAPER.simulated(DATA_PERIODS, row, "n_points", counted)


def _omission(laboratory: Laboratory) -> Iterator[Cell]:
    for row in PAPER.tables[OMISSION].rows:
        for column, vmio in (("without_vmio", False), ("with_vmio", True)):
            ours = theta(cp_time(laboratory, "III-3", vmio=vmio), str(row["request_type"]))
            yield PAPER.simulated(OMISSION, row, column, ours)


def _along(laboratory: Laboratory) -> Table:
    """Number of VMIO that come with each other request, to which their cost goes if they are left out."""
    result = omission(laboratory)
    vmio = next(item for item in result.full.costs if item.request == "vmio").seconds.value
    return Table.of(
        result.companions,
        Col("request", lambda item: item.label),
        Col("VMIO that come with one", lambda item: item.number, scaled=False),
        Col("cost of these, ms", lambda item: f"{1000.0 * vmio * item.number.value:.2f}", scaled=False),
        name="vmio-along",
        caption="Where the cost of VMIO goes when it is left out, III-3",
        notes=("Of the regression of VMIO on the others; of base and problem state time by the second.",),
    )


def _table_5(laboratory: Laboratory) -> Iterator[Cell]:
    for row in PAPER.tables[REGRESSION].rows:
        period, variant = str(row["data_set"]), str(row["variant"])
        fit = cp_time(laboratory, period, vmio=variant == "vmio_included")
        total = fit.n + fit.outliers
        for column, value in (
            ("n_rejected_outliers", float(fit.outliers)),
            ("n_remaining_points", float(fit.n)),
            ("r2", fit.r_squared),
        ):
            ours = Estimate(value=value, n=total, method="least squares after the outlier rule")
            yield PAPER.simulated(REGRESSION, row, column, ours, total=total)
        for column, request in THETAS.items():
            if variant == "adjusted_for_vmio":
                ours = adjusted(laboratory, period, request)
            else:
                ours = theta(fit, request)
            yield PAPER.simulated(REGRESSION, row, column, ours)


def _dispatch(laboratory: Laboratory) -> Iterator[Cell]:
    fit = dispatch(laboratory)
    for row in PAPER.tables[DISPATCH].rows:
        ours = theta(fit, str(row["request_type"]))
        yield PAPER.simulated(DISPATCH, row, "value", ours)


def shares(laboratory: Laboratory, period: str) -> dict[str, Estimate]:
    """Per cent of the CP time of a period that goes to each request, by coefficients as in Table 8."""
    fit = cp_time(laboratory, period)
    result = {}
    for request in REQUESTS[1:]:
        ours = theta(fit, request) if period == "III-3" else adjusted(laboratory, period, request)
        result[request] = scaled(ours, _weight(fit, request), "% of CP time")
    return result


def _weight(fit: Overhead, request: str) -> float:
    """Per cent of CP time for each ms of a coefficient: 0.1 x mean rate / mean CP time."""
    result = cost(fit, request)
    if result is None:
        return math.nan
    return 0.1 * result.rate.value / fit.target_mean.value


def _shares(laboratory: Laboratory) -> Iterator[Cell]:
    columns = {request: column for column, request in SHARE_COLUMNS.items()}
    for period in PERIODS:
        row: Row = {"data_set": period}
        for request, percent in shares(laboratory, period).items():
            yield PAPER.simulated(SHARES, row, columns[request], percent)
    yield from _apart(laboratory, columns)


def _apart(laboratory: Laboratory, columns: dict[str, str]) -> Iterator[Cell]:
    """Table 9: the same with what dispatch takes out of each coefficient, and dispatch by itself."""
    fit, taken = cp_time(laboratory, "III-3"), dispatch(laboratory)
    row: Row = {"data_set": "III-3"}
    for request in REQUESTS[1:]:
        total, part = theta(fit, request), theta(taken, request)
        less = Estimate(
            value=total.value - part.value,
            unit="ms",
            n=total.n,
            method=total.method,
            low=None if total.low is None else total.low - part.value,
            high=None if total.high is None else total.high - part.value,
        )
        ours = scaled(less, _weight(fit, request), "% of CP time")
        yield PAPER.simulated(SHARES_APART, row, columns[request], ours)
    ours = scaled(taken.target_mean, 100.0 / fit.target_mean.value, "% of CP time")
    yield PAPER.simulated(SHARES_APART, row, "dispatch_percent", ours)


def four_fits(laboratory: Laboratory) -> Sequence[Overhead]:
    """The four fits of Table 5."""
    return (
        *(cp_time(laboratory, period, vmio=False) for period in PERIODS),
        cp_time(laboratory, "III-3"),
    )


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    rule = Estimate(value=THRESHOLD, unit="multiples of s", n=1, method="parameter of the regression")
    yield PAPER.fact("outlier-rule", rule)
    r2 = [fit.r_squared for fit in four_fits(laboratory)]
    for end, value in zip(ENDS, (min(r2), max(r2)), strict=True):
        ours = Estimate(value=value, n=len(r2), method=f"{end}est of four fits")
        yield PAPER.fact("r-squared", ours, end=end)
