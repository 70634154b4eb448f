"""The free-fret experiment: eight days, the new algorithm on four of them (Tables 11 and 12)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead.regression import FitOptions
from thinktime.documents import document
from thinktime.documents.document import Column, Table
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import plain_mean
from thinktime.studies.bard_1971.installation import COLUMNS, Installation, Recorded, applicable, scaled
from thinktime.studies.bard_1971.recomputed import CALLS, OBSERVED, TIMES, fact
from thinktime.studies.bard_1971.regression import AS_PRINTED, adjusted, cp_time, theta
from thinktime.studies.bard_1971.tables import EXPERIMENT, FREE_FRET, PAPER, printed
from thinktime.studies.cells import Cell, Kind, Tolerance
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.compare.analysis import Comparison
    from thinktime.analyses.overhead.result import Overhead

__all__ = [
    "TABLES",
    "calls",
    "chapter",
    "compared",
    "experiments",
    "old_fit",
    "reduction",
    "spread_of",
    "time_in",
]

Array = NDArray[np.float64]

TABLES = (FREE_FRET, EXPERIMENT, "facts")
TREATMENT = "free_fret_new"
COUNTERBALANCED = {"period": "III-3", "schedule": "experiment", "free_fret": "counterbalanced"}
MEASURES = {
    "problem_state_time": ("user_time", "problem_s", 100.0),
    "cp_time": ("system_time", "cp_s", 100.0),
    "vsio": ("vsio", "vsio", 1.0),
    "vmio": ("vmio", "vmio", 1.0),
    "spool_io": ("spool_ios", "spool_ios", 1.0),
    "page_io": ("page_ios", "page_ios", 1.0),
}
"""Rows of Table 12: what `compare` and the log call them, and their factor to the printed unit."""
WAYS = ("old", "new")
FITTED = Tolerance("relative", 0.05)
PREDICTED = Tolerance("relative", 0.15)
REDUCTION = Tolerance("absolute", 0.4)
NOTES = {
    FREE_FRET: (
        "Two regressions differ by chance too: the coefficient of spool I/O by more than free-fret saves.",
    )
}
"""Why cells miss."""


def experiments(installation: Installation) -> list[Recorded]:
    """Run the eight days as often as there are replications; the first run stands for the paper's."""
    count = installation.settings.replications
    runs = [(f"experiment-{number}", COUNTERBALANCED, number) for number in range(count)]
    return installation.once("experiments", lambda: installation.recorded(runs))


def old_fit(installation: Installation) -> Overhead:
    """Regression of CP time of III-3 as it would have been with the old free-fret, all else alike."""
    from thinktime.analyses.overhead import analysis as overhead

    log = _old_run(installation).log
    requests = list(COLUMNS.values())
    return installation.once(
        "III-3, old free-fret",
        lambda: applicable(overhead.analyse(log, requests=requests, fit_options=AS_PRINTED)),
    )


def printed_difference(variable: str) -> float:
    """Difference of a row of Table 12, new less old, in its unit."""
    old, new = (printed(EXPERIMENT, {"variable": variable}, f"{way}_free_fret").value for way in WAYS)
    return new - old


def compared(installation: Installation, number: int = 0) -> Comparison:
    """Return what the analysis of designed changes says of a run of the eight days, by default the first."""
    from thinktime.analyses.compare import analysis as compare

    differences = {
        name: printed_difference(variable) / factor for variable, (name, _, factor) in MEASURES.items()
    }

    def work() -> Comparison:
        log = experiments(installation)[number].log
        return applicable(
            compare.analyse(
                log, treatment=TREATMENT, unit="day", requests=list(COLUMNS.values()), difference=differences
            )
        )

    return installation.once(f"compared {number}", work)


def calls(installation: Installation) -> Overhead:
    """Regression of the number of FREE calls on the requests of III-3."""
    from thinktime.analyses.overhead import analysis as overhead

    log = installation.periods["III-3"].log
    requests = list(COLUMNS.values())
    return installation.once(
        "calls",
        lambda: applicable(
            overhead.analyse(
                log, target=("free_calls",), requests=requests, fit_options=FitOptions(as_printed=True)
            )
        ),
    )


def time_in(installation: Installation, way: str, request: str) -> Estimate:
    """Time in FREE and FRET that comes with a request [ms], by regression of what was measured in them."""
    from thinktime.analyses.overhead import analysis as overhead

    log = installation.periods["III-3"].log if way == "new" else _old_run(installation).log
    fit = installation.once(
        f"time in free-fret, {way}",
        lambda: applicable(
            overhead.analyse(
                log,
                target=("free_s", "fret_s"),
                requests=list(COLUMNS.values()),
                fit_options=FitOptions(as_printed=True),
            )
        ),
    )
    return theta(fit, request)


def _old_run(installation: Installation) -> Recorded:
    """III-3 with the old free-fret."""
    run = ("period-III-3-old", {"period": "III-3", "free_fret": "old"}, 0)
    return installation.once("III-3, old free-fret, run", lambda: installation.recorded([run])[0])


def totals(log: Recorded) -> dict[str, Mapping[str, float]]:
    """Sum every column over the intervals with the old and with the new algorithm."""
    import polars as pl

    names = ["length_s", "free_calls", "fret_calls", "free_s", "fret_s"]
    names += [column for _, column, _ in MEASURES.values()]
    sums = (
        log.log.samples()
        .group_by(pl.col(TREATMENT).round().cast(pl.Int64).alias("new"))
        .agg(pl.col(name).cast(pl.Float64).sum() for name in names)
        .collect()
    )
    return {WAYS[row["new"]]: row for row in sums.iter_rows(named=True)}


def means(installation: Installation, variable: str) -> dict[str, Array]:
    """Mean rate of a row of Table 12 with each algorithm, of every run of the experiment."""
    _, column, factor = MEASURES[variable]
    every = installation.once("totals", lambda: [totals(run) for run in experiments(installation)])
    return {
        way: np.array([factor * found[way][column] / found[way]["length_s"] for found in every])
        for way in WAYS
    }


def spread_of(installation: Installation, variable: str) -> Estimate:
    """Mean difference of a row of Table 12, new less old, over the runs of the experiment."""
    found = means(installation, variable)
    return plain_mean(found["new"] - found["old"])


def chapter(installation: Installation) -> Chapter:
    """Tables 11 and 12, published beside ours."""
    figures = (
        *_coefficients(installation),
        *_throughput(installation),
        *_times(installation),
        *_reductions(installation),
    )
    summary = (
        "The eight days are simulated as they were planned, as often as there are replications; the "
        "coefficients under the old algorithm are those of all of III-3 run again with it, the same users "
        "doing the same work.",
    )
    method = (
        "Table 12: means over the runs, with Student's t. Significance by the assignments of the two "
        "algorithms to days that keep weeks and weekdays balanced (`thinktime analyse compare`)."
    )
    return Chapter(
        cells=figures, claims=(), summary=summary, tables=(_days(installation),), notes=NOTES, method=method
    )


def _days(installation: Installation) -> Table:
    """Show what the eight days alone say of coefficients: Table 11 as the paper had to make it."""
    names = {column: request for request, column in COLUMNS.items()}
    rows: list[tuple[document.Cell, ...]] = []
    for item in compared(installation).costs:
        request = names.get(item.request, item.request)
        ours = [
            None if each is None else scaled(each, 1000.0, "ms")
            for each in (item.control, item.treated, item.difference)
        ]
        expected = (
            f"{0.0 - fact(CALLS[request]).value * fact('B-F25').value / 1000.0:.2f}"
            if request in CALLS
            else None
        )
        rows.append((request.replace("_", " "), *ours, expected))
    columns = (
        Column("coefficient"),
        *(
            Column(name, scaled=False)
            for name in ("old, ms", "new, ms", "new less old, ms", "calls x times, ms")
        ),
    )
    note = "Per request; of base and problem state by the second."
    return Table(
        name="eight-days",
        caption="Coefficients of the eight days of the first run",
        columns=columns,
        rows=tuple(rows),
        notes=(note,),
    )


def _coefficients(installation: Installation) -> Iterator[Cell]:
    for row in PAPER.tables[FREE_FRET].rows:
        request = str(row["request_type"])
        columns: tuple[tuple[str, Estimate, Kind], ...] = (
            (
                "cp_ii_old_free_fret",
                adjusted(installation, "II-3", request),
                "fitted" if request == "page_io" else "predicted",
            ),
            ("cp_iii_old_free_fret", theta(old_fit(installation), request), "predicted"),
            ("cp_iii_new_free_fret", theta(cp_time(installation, "III-3"), request), "fitted"),
        )
        for column, ours, kind in columns:
            yield PAPER.cell(FREE_FRET, row, column, ours, kind, PREDICTED)


def _throughput(installation: Installation) -> Iterator[Cell]:
    for row in PAPER.tables[EXPERIMENT].rows:
        found = means(installation, str(row["variable"]))
        for way in WAYS:
            ours = plain_mean(found[way])
            yield PAPER.cell(EXPERIMENT, row, f"{way}_free_fret", ours, "predicted", PREDICTED)


def _times(installation: Installation) -> Iterator[Cell]:
    """Show times of a call, and shares of CP time."""
    found = totals(experiments(installation)[0])
    for way in WAYS:
        sums = found[way]
        for name, part in zip(TIMES[way], ("free", "fret"), strict=True):
            each = 1e6 * sums[f"{part}_s"] / sums[f"{part}_calls"]
            ours = Estimate(
                value=each, unit="microseconds", n=int(sums[f"{part}_calls"]), method="time over calls"
            )
            yield PAPER.fact(name, ours, "fitted", FITTED)
    for way, name, bare in (("old", "B-F21", "B-F23"), ("new", "B-F22", "B-F24")):
        shares = _shares(installation, way)
        yield PAPER.fact(name, plain_mean(shares[0]).with_unit("percent"), "predicted", PREDICTED)
        kind: Kind = "fitted" if way == "new" else "predicted"
        yield PAPER.fact(bare, plain_mean(shares[1]).with_unit("percent"), kind, PREDICTED)


def _shares(installation: Installation, way: str) -> tuple[Array, Array]:
    """Per cent of CP time in FREE and FRET over the runs: as measured, and without the measuring."""
    every = installation.once("totals", lambda: [totals(run) for run in experiments(installation)])
    measured, bare = [], []
    for found in every:
        sums = found[way]
        both, cp = sums["free_s"] + sums["fret_s"], sums["cp_s"]
        measuring = measuring_s() * sums["free_calls"]
        measured.append(100.0 * both / cp)
        bare.append(100.0 * (both - measuring) / (cp - measuring))
    return np.array(measured), np.array(bare)


def measuring_s() -> float:
    r"""Time that measuring a pair takes, by the printed shares with the new algorithm [s].

    With share S measured and B bare, measuring is :math:`(S - B)/(1 - B)` of CP time, which is spread over
    the calls of Table 12.
    """
    measured, bare = (fact(name).value / 100.0 for name in ("B-F22", "B-F24"))
    cp = printed(EXPERIMENT, {"variable": "cp_time"}, "new_free_fret").value / 100.0
    pairs = sum(
        fact(name).value * printed(EXPERIMENT, {"variable": request}, "new_free_fret").value
        for request, name in CALLS.items()
    )
    return (measured - bare) / (1.0 - bare) * cp / pairs


def reduction(installation: Installation, request: str) -> Estimate:
    """Coefficient [ms] with the old algorithm less that with the new one, in III-3."""
    old, new = theta(old_fit(installation), request), theta(cp_time(installation, "III-3"), request)
    method = "difference of two regressions on the same work; interval as if they were independent"
    reach = math.hypot(_reach(old), _reach(new))
    value = old.value - new.value
    return Estimate(value=value, unit="ms", n=old.n, method=method, low=value - reach, high=value + reach)


def _reach(estimate: Estimate) -> float:
    if estimate.low is None or estimate.high is None:
        return 0.0
    return (estimate.high - estimate.low) / 2.0


def _reductions(installation: Installation) -> Iterator[Cell]:
    for request, name in OBSERVED.items():
        yield PAPER.fact(name, reduction(installation, request), "predicted", REDUCTION)
    fit = calls(installation)
    for request, name in CALLS.items():
        # Coefficients of `theta` are in thousandths: these are calls.
        ours = scaled(theta(fit, request), 1e-3, "calls")
        yield PAPER.fact(name, ours, "fitted", Tolerance("absolute", 0.25))
    second = adjusted(installation, "II-3", "page_io")
    old = theta(old_fit(installation), "page_io")
    more = reduction(installation, "page_io")
    points = Tolerance("absolute", 10.0)
    coding = Estimate(value=second.value - old.value, unit="ms", n=old.n, method="difference of coefficients")
    yield PAPER.fact("B-F38", scaled(coding, 100.0 / second.value, "percent"), "fitted", points)
    yield PAPER.fact("B-F39", scaled(more, 100.0 / second.value, "percent"), "predicted", points)
    days = Estimate(value=float(len(compared(installation).units)), unit="days", n=1, method="counted")
    yield PAPER.fact("B-F40", days, "fitted", Tolerance("digits"))


def p_of(difference: float, installation: Installation, variable: str) -> float:
    """Two-sided p of a difference, if runs of the experiment differ by chance as the simulated ones do."""
    found = means(installation, variable)
    differences = found["new"] - found["old"]
    degrees = len(differences) - 1
    return critical_values.f_tail((difference / float(differences.std(ddof=1))) ** 2, 1.0, float(degrees))
