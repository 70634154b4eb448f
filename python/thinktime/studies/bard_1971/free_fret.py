"""The free-fret experiment: eight days, the new algorithm on four of them (Tables 11 and 12)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents.document import Col, Cols, Table
from thinktime.log.sums import by_group
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import plain_mean
from thinktime.studies.bard_1971.recomputed import CALLS, OBSERVED, TIMES, fact, measuring_s
from thinktime.studies.bard_1971.records import (
    COLUMNS,
    EXPERIMENT,
    FREE_FRET,
    PAPER,
    SYSTEM,
    observations,
    record_of,
)
from thinktime.studies.bard_1971.regression import adjusted, cp_time, fitted, theta
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import Array, scaled
from thinktime.studies.laboratory import Laboratory, Recorded, applicable, remembered
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.compare.result import Comparison
    from thinktime.analyses.overhead.result import Overhead


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
NOTES = {
    FREE_FRET: (
        "Two regressions differ by chance too: the coefficient of spool I/O by more than free-fret saves.",
    )
}
"""Why cells miss."""


def experiments(laboratory: Laboratory) -> list[Recorded]:
    """Records of the eight days, one per replication; the first stands for the paper's."""
    count = laboratory.settings.replications
    return laboratory.record(SYSTEM, [(COUNTERBALANCED, number) for number in range(count)])


@remembered
def old_fit(laboratory: Laboratory) -> Overhead:
    """Regression of CP time of III-3 as it would have been with the old free-fret, all else alike."""
    return fitted(_old_run(laboratory).log)


def printed_difference(variable: str) -> float:
    """Difference of a row of Table 12, new less old, in its unit."""
    old, new = (PAPER.printed(EXPERIMENT, {"variable": variable}, f"{way}_free_fret").value for way in WAYS)
    return new - old


@remembered
def compared(laboratory: Laboratory, number: int = 0) -> Comparison:
    """Analysis of designed changes of a run of the eight days, by default the first."""
    from thinktime.analyses.compare import analysis as compare
    from thinktime.analyses.compare.design import TreatmentColumn

    return applicable(
        compare.analyse(
            experiments(laboratory)[number].log,
            TreatmentColumn(TREATMENT),
            requests=list(COLUMNS.values()),
            difference={
                name: printed_difference(variable) / factor
                for variable, (name, _, factor) in MEASURES.items()
            },
        )
    )


@remembered
def calls(laboratory: Laboratory) -> Overhead:
    """Regression of the number of FREE calls on the requests of III-3."""
    return fitted(record_of(laboratory, "III-3").log, "free_calls")


def time_in(laboratory: Laboratory, way: str, request: str) -> Estimate:
    """Time in FREE and FRET that comes with a request [ms], by regression of their measured times."""
    return theta(_time_fit(laboratory, way), request)


@remembered
def _time_fit(laboratory: Laboratory, way: str) -> Overhead:
    log = record_of(laboratory, "III-3").log if way == "new" else _old_run(laboratory).log
    return fitted(log, "free_s", "fret_s")


def _old_run(laboratory: Laboratory) -> Recorded:
    """Record of III-3 with the old free-fret."""
    parameters = {**observations(laboratory, {"period": "III-3"}), "free_fret": "old"}
    return laboratory.record(SYSTEM, [(parameters, 0)])[0]


@remembered
def every_total(laboratory: Laboratory) -> list[dict[str, Mapping[str, float]]]:
    """Totals of every run of the eight days."""
    return [totals(run) for run in experiments(laboratory)]


def totals(log: Recorded) -> dict[str, Mapping[str, float]]:
    """Sum of every column over the intervals with the old and with the new algorithm."""
    import polars as pl

    names = ["length_s", "free_calls", "fret_calls", "free_s", "fret_s"]
    names += [column for _, column, _ in MEASURES.values()]
    new = pl.col(TREATMENT).round().cast(pl.Int64).alias("new")
    columns = [pl.col(name).cast(pl.Float64) for name in dict.fromkeys(names)]
    parts = (part.select(new, *columns) for part in log.log.in_turn("samples"))
    sums = by_group(parts, "new", list(dict.fromkeys(names)))
    return {WAYS[row["new"]]: row for row in sums.iter_rows(named=True)}


def means(laboratory: Laboratory, variable: str) -> dict[str, Array]:
    """Mean rate of a row of Table 12 with each algorithm, of every run of the experiment."""
    _, column, factor = MEASURES[variable]
    every = every_total(laboratory)
    return {
        way: np.array([factor * run[way][column] / run[way]["length_s"] for run in every]) for way in WAYS
    }


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables 11 and 12, published and ours."""
    figures = (
        *_coefficients(laboratory),
        *_throughput(laboratory),
        *_times(laboratory),
        *_reductions(laboratory),
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
    return Chapter(cells=figures, summary=summary, tables=(_days(laboratory),), notes=NOTES, method=method)


def _days(laboratory: Laboratory) -> Table:
    """Coefficients of the eight days alone: Table 11 as the paper had to make it."""
    names = {column: request for request, column in COLUMNS.items()}

    def expected(request: str) -> str | None:
        if request not in CALLS:
            return None
        return f"{0.0 - fact(CALLS[request]).value * fact('pair-saving').value / 1000.0:.2f}"

    return Table.of(
        [(names.get(item.request, item.request), item) for item in compared(laboratory).costs],
        Col("coefficient", lambda row: row[0].replace("_", " ")),
        Cols(
            ("old, ms", "new, ms", "new less old, ms"),
            lambda row: [
                None if entry is None else scaled(entry, 1000.0, "ms")
                for entry in (row[1].control, row[1].treated, row[1].difference)
            ],
            scaled=False,
        ),
        Col("calls x times, ms", lambda row: expected(row[0]), scaled=False),
        name="eight-days",
        caption="Coefficients of the eight days of the first run",
        notes=("Per request; of base and problem state by the second.",),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A rate of Table 12 that changes with the algorithm: as printed, as simulated, and by chance."""

    variable: str
    printed: float
    differences: Array
    """New less old, of each run of the experiment."""
    p: float
    """Of the printed difference, by chance."""
    power: str | None
    detectable: str | None
    p_at_load: str | None


def _changes(laboratory: Laboratory) -> Iterator[Change]:
    for variable, (name, _, factor) in MEASURES.items():
        result, power = means(laboratory, variable), compared(laboratory).effect(name).power
        by_t, least = (None, None) if power is None else (power.by_t, power.detectable_by_t)
        test = compared(laboratory).effect(name, "load").t_test
        printed = printed_difference(variable)
        yield Change(
            variable=variable.replace("_", " "),
            printed=printed,
            differences=result["new"] - result["old"],
            p=p_of(printed, laboratory, variable),
            power=None if by_t is None else f"{by_t:.2f}",
            detectable=None if least is None else f"{factor * least:.1f}",
            p_at_load=None if test is None else f"{test.p:.2f}",
        )


def significance_table(laboratory: Laboratory) -> Table:
    """The differences of Table 12 against what chance does in eight such days."""
    return Table.of(
        _changes(laboratory),
        Col("rate of Table 12", lambda item: item.variable),
        Col("printed difference", lambda item: f"{item.printed:+.1f}", scaled=False),
        Col("simulated, mean over runs", lambda item: plain_mean(item.differences), scaled=False),
        Col("deviation between runs", lambda item: f"{item.differences.std(ddof=1):.2f}", scaled=False),
        Col("p of the printed one", lambda item: f"{item.p:.3f}", scaled=False),
        Col("power", lambda item: item.power, scaled=False),
        Col("found with 0.8", lambda item: item.detectable, scaled=False),
        Col("p at equal load, first run", lambda item: item.p_at_load, scaled=False),
        name="significance",
        caption="Is the difference of Table 12 more than chance?",
        notes=(
            "Times in per cent of real time, rates per second; new less old algorithm.",
            "Power: chance that Student's test on the eight days, weeks and weekdays taken out, finds the "
            "printed difference, with days that differ as those of the first run do.",
        ),
    )


def _coefficients(laboratory: Laboratory) -> Iterator[Cell]:
    for row in PAPER.tables[FREE_FRET].rows:
        request = str(row["request_type"])
        columns = {
            "cp_ii_old_free_fret": adjusted(laboratory, "II-3", request),
            "cp_iii_old_free_fret": theta(old_fit(laboratory), request),
            "cp_iii_new_free_fret": theta(cp_time(laboratory, "III-3"), request),
        }
        for column, ours in columns.items():
            yield PAPER.simulated(FREE_FRET, row, column, ours)


def _throughput(laboratory: Laboratory) -> Iterator[Cell]:
    for row in PAPER.tables[EXPERIMENT].rows:
        result = means(laboratory, str(row["variable"]))
        for way in WAYS:
            ours = plain_mean(result[way])
            yield PAPER.simulated(EXPERIMENT, row, f"{way}_free_fret", ours)


def _times(laboratory: Laboratory) -> Iterator[Cell]:
    """Times of a call, and shares of CP time."""
    result = totals(experiments(laboratory)[0])
    for way in WAYS:
        sums = result[way]
        for name, part in zip(TIMES[way], ("free", "fret"), strict=True):
            item = 1e6 * sums[f"{part}_s"] / sums[f"{part}_calls"]
            ours = Estimate(
                value=item, unit="microseconds", n=int(sums[f"{part}_calls"]), method="time over calls"
            )
            yield PAPER.fact(name, ours)
    for way in WAYS:
        for kind, shares in zip(("measured", "bare"), _shares(laboratory, way), strict=True):
            yield PAPER.fact(f"share-{kind}-{way}", plain_mean(shares).with_unit("percent"))


def _shares(laboratory: Laboratory, way: str) -> tuple[Array, Array]:
    """Per cent of CP time in FREE and FRET over the runs: as measured, and without the measuring."""
    every = every_total(laboratory)
    measured, bare = [], []
    for run in every:
        sums = run[way]
        both, cp = sums["free_s"] + sums["fret_s"], sums["cp_s"]
        measuring = measuring_s("new") * sums["free_calls"]
        measured.append(100.0 * both / cp)
        bare.append(100.0 * (both - measuring) / (cp - measuring))
    return np.array(measured), np.array(bare)


def shares_measured(laboratory: Laboratory, way: str) -> Array:
    """Per cent of CP time in FREE and FRET in each run, as measured."""
    return _shares(laboratory, way)[0]


def reduction(laboratory: Laboratory, request: str) -> Estimate:
    """Coefficient [ms] with the old algorithm less that with the new one, in III-3."""
    old, new = theta(old_fit(laboratory), request), theta(cp_time(laboratory, "III-3"), request)
    method = "difference of two regressions on the same work; interval as if they were independent"
    reach = math.hypot(_reach(old), _reach(new))
    value = old.value - new.value
    return Estimate(value=value, unit="ms", n=old.n, method=method, low=value - reach, high=value + reach)


def _reach(estimate: Estimate) -> float:
    if estimate.low is None or estimate.high is None:
        return 0.0
    return (estimate.high - estimate.low) / 2.0


def _reductions(laboratory: Laboratory) -> Iterator[Cell]:
    for request, name in OBSERVED.items():
        yield PAPER.fact(name, reduction(laboratory, request))
    fit = calls(laboratory)
    for request, name in CALLS.items():
        # Coefficients of `theta` are in thousandths: these are calls.
        ours = scaled(theta(fit, request), 1e-3, "calls")
        yield PAPER.fact(name, ours)
    second = adjusted(laboratory, "II-3", "page_io")
    old = theta(old_fit(laboratory), "page_io")
    more = reduction(laboratory, "page_io")
    coding = Estimate(value=second.value - old.value, unit="ms", n=old.n, method="difference of coefficients")
    yield PAPER.fact("page-gain-by-coding", scaled(coding, 100.0 / second.value, "percent"))
    yield PAPER.fact("page-gain-by-free-fret", scaled(more, 100.0 / second.value, "percent"))
    days = Estimate(value=float(len(compared(laboratory).units)), unit="days", n=1, method="counted")
    yield PAPER.fact("experiment-length", days)


def p_of(difference: float, laboratory: Laboratory, variable: str) -> float:
    """Two-sided p of a difference, if runs of the experiment differ by chance as the simulated ones do."""
    result = means(laboratory, variable)
    differences = result["new"] - result["old"]
    degrees = len(differences) - 1
    return critical_values.f_tail((difference / float(differences.std(ddof=1))) ** 2, 1.0, float(degrees))
