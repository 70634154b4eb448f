"""Throughput of several periods, compared at equal load.

Means at different loads differ whatever the machine does, so only means at equal load are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.throughput import load_sums
from thinktime.analyses.throughput.analysis import (
    Measure,
    Throughput,
    no_load,
    no_work,
    summarised,
    whole_means,
)
from thinktime.analyses.throughput.load_sums import SPREAD_MIN, stretches_for
from thinktime.log import facts, loads, playing
from thinktime.questions.checks import check_level, check_logs
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import ALPHA, holm
from thinktime.stats.series import batch_means, standardised
from thinktime.stats.series.standardised import Mean

if TYPE_CHECKING:
    from thinktime.analyses.throughput.load_sums import Load, Sums
    from thinktime.log import Log

_Array = NDArray[np.float64]

COVERED = 0.9
"""Share of the time at comparable loads that the compared ranges must hold, or stretches are halved."""
METHOD = "difference at equal load, Welch's t"
OVERHEAD = Measure(name="overhead", label="system time per second of user time", unit="s/s", useful=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    """A range of load of the common distribution at which all logs are compared."""

    low: float
    high: float
    weight: float
    """Share of the common distribution; the weights add to 1."""
    shares: tuple[float, ...]
    """Share of each log's time that it spent at such a load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Throughput of one log, at each load and at equal load."""

    name: str
    throughput: Throughput
    equal_load: Mapping[str, Estimate]
    """Mean of each measure, by its name, at the common distribution of loads."""
    whole: Mapping[str, Estimate]
    """Mean of each measure over the whole log, whatever the load: not comparable between logs."""
    blocks: int
    """Number of stretches of time behind the intervals at equal load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Difference of one measure at the same load: the later log minus the earlier one."""

    measure: Measure
    first: str
    second: str
    load: tuple[float, float] | None
    """Range of load; None at the common distribution of loads."""
    estimate: Estimate
    p: float
    """Probability of a difference at least this large if there is none."""
    p_adjusted: float
    """`p` adjusted by Holm: for all measures and pairs of logs at the common distribution, or for all
    ranges of load of one measure and pair."""

    @property
    def significant(self) -> bool:
        """True if `p_adjusted` is below 0.05, the false-alarm rate of all tests of its kind together."""
        return self.p_adjusted < ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualLoad:
    """Means and differences of several logs at equal load."""

    stretches: tuple[int, ...]
    """Number of stretches of time that each log was cut into."""
    standard: tuple[Standard, ...]
    means: tuple[Mapping[str, Estimate], ...]
    """Mean of each measure at the common distribution of loads, for each log."""
    overall: tuple[Contrast, ...]
    by_load: tuple[Contrast, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ThroughputComparison(Result):
    """Curves of several logs, and their differences at equal load."""

    MAIN = "overall"

    load: str
    load_unit: str
    measures: tuple[Measure, ...]
    curves: tuple[Curve, ...]
    standard: tuple[Standard, ...]
    overall: tuple[Contrast, ...]
    by_load: tuple[Contrast, ...]
    caveats: tuple[Caveat, ...]

    def reversed_measures(self) -> tuple[Contrast, ...]:
        """Differences at equal load with the opposite sign to that of the whole means: Simpson's paradox."""
        return tuple(item for item in self.overall if item.significant and self._reversed(item))

    def _reversed(self, item: Contrast) -> bool:
        by_name = {curve.name: curve.whole.get(item.measure.name) for curve in self.curves}
        first, second = by_name[item.first], by_name[item.second]
        return bool(first and second and (second.value - first.value) * item.estimate.value < 0.0)


def compare(
    logs: Sequence[Log],
    names: Sequence[str],
    *,
    load: str | None = None,
    width: int | None = None,
    n_few: int = 10,
    level: float = 0.95,
) -> ThroughputComparison | NotApplicable:
    r"""Differences in throughput load by load, and at one common distribution of loads.

    Whole means are not compared: they depend on the users' demand (Bard 1971, Table 7 and Figures 1
    to 5). At the common distribution a log's mean is :math:`\sum_g w_g R_g` over the ranges of load that
    all logs reached often enough; the weight of a range is the mean, over the logs, of its share of the
    time at such loads. Errors are those of `standardised.standardised`, which allows for correlation in
    time. Differences are tested by Welch's t, and probabilities adjusted by Holm.

    Parameters
    ----------
    logs : sequence of Log
        Two or more, of periods that do not overlap.
    names : sequence of str
        Name of each log.
    load, width, n_few, level
        See `throughput.analyse`; the load is that of the first log by default.

    Raises
    ------
    TypeError
        `logs` holds something else than logs.
    InputError
        There are fewer than two logs, or too many ranges of load.
    """
    check_logs(logs, names)
    check_level(level)
    arrivals = [playing.read(log) for log in logs]
    chosen: list[Load] = []
    for log, name, inputs in zip(logs, names, arrivals, strict=True):
        load_of_log = load_sums.load_of(log, inputs, chosen[0].name if chosen else load)
        if load_of_log is None:
            refusal = no_load(log)
            return replace(refusal, reason=f"{name}: {refusal.reason}")
        chosen.append(load_of_log)
    step = loads.width_for(max(item.high for item in chosen)) if width is None else width
    sums = [
        load_sums.gather(log, item, step, inputs)
        for log, item, inputs in zip(logs, chosen, arrivals, strict=True)
    ]
    results = [
        summarised(log, item, sums_of_log, n_few=n_few, level=level)
        for log, item, sums_of_log in zip(logs, chosen, sums, strict=True)
    ]
    measures = _measures(results)
    if not measures:
        return no_work("the logs have in common")
    equal = at_equal_load(names, sums, measures, n_few=n_few, level=level)
    if equal is None:
        return NotApplicable(
            "no range of load was reached often enough in all logs: nothing can be compared at equal load",
            "record longer, or group loads more widely (--width)",
        )
    curves = tuple(
        Curve(
            name=name,
            throughput=result,
            equal_load=means,
            whole=whole_means(sums_of_log, measures, level),
            blocks=stretches,
        )
        for name, result, sums_of_log, means, stretches in zip(
            names, results, sums, equal.means, equal.stretches, strict=True
        )
    )
    return ThroughputComparison(
        load=results[0].load,
        load_unit=results[0].load_unit,
        measures=measures,
        curves=curves,
        standard=equal.standard,
        overall=equal.overall,
        by_load=equal.by_load,
        caveats=(
            *(() if results[0].load == "population" else facts.caveats_of_users(*logs)),
            *_of_machines(logs),
            *_caveats(curves, equal.standard, results),
        ),
    )


def _of_machines(logs: Sequence[Log]) -> tuple[Caveat, ...]:
    machines = facts.different_machines(*logs)
    return (Caveat("different_machines", machines=machines),) if machines else ()


def _measures(results: Sequence[Throughput]) -> tuple[Measure, ...]:
    """Measures that all logs have, and the overhead per second of user time."""
    common = [
        item
        for item in results[0].measures
        if all(item.name in {other.name for other in result.measures} for result in results)
    ]
    if {"user_time", "system_time"} <= {item.name for item in common}:
        common.append(OVERHEAD)
    return tuple(common)


def at_equal_load(
    names: Sequence[str], sums: Sequence[Sums], measures: tuple[Measure, ...], *, n_few: int, level: float
) -> EqualLoad | None:
    """Means and differences at equal load; None if no range of load was reached often enough in all logs."""
    cuts, compared = _cut(sums, n_few)
    if not compared.any():
        return None
    standard, weights = _standard(sums, compared)
    means = [
        {item.name: _equal(sums_of_log, item.name, cut, weights) for item in measures}
        for sums_of_log, cut in zip(sums, cuts, strict=True)
    ]
    estimates = tuple(
        {
            item.name: mean.estimate(item.unit, "directly standardised, long-run variance", level)
            for item in measures
            if (mean := means_of_log[item.name]) is not None
        }
        for means_of_log, cut in zip(means, cuts, strict=True)
    )
    return EqualLoad(
        stretches=tuple(cuts),
        standard=standard,
        means=estimates,
        overall=_overall(names, measures, means, level),
        by_load=_by_load(names, sums, measures, _Ranges(cuts=cuts, compared=compared), level),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranges:
    """Stretches that each log is cut into, and the ranges of load that are compared."""

    cuts: Sequence[int]
    compared: NDArray[np.bool_]


def _cut(sums: Sequence[Sums], n_few: int) -> tuple[list[int], NDArray[np.bool_]]:
    """Stretches of time to cut each log into, and the ranges of load that can be compared.

    A log is cut into `load_sums.stretches_for` stretches. If loads came one after another, each within a
    few stretches, these are halved until the ranges are spread over `SPREAD_MIN` of them or more.
    """
    ranges = max(len(item.counts("load")) for item in sums)
    enough = np.ones(ranges, dtype=np.bool_)
    for item in sums:
        enough &= _padded(item.counts("load"), ranges) >= n_few
    cuts, compared = [], enough.copy()
    for item in sums:
        time, _ = item.stretches("time", batch_means.KEPT_MOST)
        seconds = time.sum(axis=0)
        number = stretches_for(item.n)
        while True:
            spread = standardised.effective(batch_means.join_batches(time[None], number)[0]) >= SPREAD_MIN
            held = seconds[spread & enough[: len(spread)]].sum()
            if held >= COVERED * seconds[enough[: len(spread)]].sum() or number >= len(time):
                break
            number *= 2
        cuts.append(min(number, len(time)))
        compared &= _padded(spread, ranges)
    return cuts, compared


def _padded(values: NDArray[Any], length: int) -> NDArray[Any]:
    """`values` with zeros for the ranges of load that a log never reached."""
    return np.pad(values, (0, length - len(values)))


def _standard(sums: Sequence[Sums], compared: NDArray[np.bool_]) -> tuple[tuple[Standard, ...], _Array]:
    """Common distribution of loads: the mean of the logs' own distributions over the compared ranges."""
    counted = [
        _padded(item.stretches("time", batch_means.KEPT_MOST)[0].sum(axis=0), len(compared)) for item in sums
    ]
    shares = np.array([seconds / seconds.sum() for seconds in counted])
    inside = shares * compared
    weights: _Array = (inside / inside.sum(axis=1, keepdims=True)).mean(axis=0)
    standard = []
    for number in np.flatnonzero(compared).tolist():
        low, high = loads.bounds(number, sums[0].width)
        share = tuple(map(float, shares[:, number]))
        standard.append(Standard(low=low, high=high, weight=float(weights[number]), shares=share))
    return tuple(standard), weights


def _equal(sums: Sums, name: str, cut: int, weights: _Array) -> Mean | None:
    """Mean of a quantity at the common distribution of loads."""
    ranges = sums.ranges
    weights = weights[:ranges]
    n = int(sums.counts(name)[weights > 0.0].sum())
    if name == OVERHEAD.name:
        amounts, lengths = sums.stretches("system_time", batch_means.KEPT_MOST)
        per, _ = sums.stretches("user_time", batch_means.KEPT_MOST)
        return standardised.standardised(amounts, lengths, weights, n, per, stretches=cut)
    amounts, lengths = sums.stretches(name, batch_means.KEPT_MOST)
    return standardised.standardised(amounts, lengths, weights, n, stretches=cut)


def _overall(
    names: Sequence[str], measures: tuple[Measure, ...], means: list[dict[str, Mean | None]], level: float
) -> tuple[Contrast, ...]:
    """Differences at the common distribution of loads, of each measure and pair of logs."""
    differences: list[tuple[Measure, str, str, Mean]] = []
    for first, second in combinations(range(len(names)), 2):
        for item in measures:
            one, two = means[first][item.name], means[second][item.name]
            if one is not None and two is not None:
                differences.append((item, names[first], names[second], standardised.difference(one, two)))
    adjusted = holm([mean.p for *_, mean in differences])
    return tuple(
        Contrast(
            measure=item,
            first=first,
            second=second,
            load=None,
            estimate=mean.estimate(item.unit, METHOD, level),
            p=mean.p,
            p_adjusted=float(p),
        )
        for (item, first, second, mean), p in zip(differences, adjusted, strict=True)
    )


def _by_load(
    names: Sequence[str],
    sums: Sequence[Sums],
    measures: tuple[Measure, ...],
    ranges: _Ranges,
    level: float,
) -> tuple[Contrast, ...]:
    """Differences in every range of load that is compared."""
    contrasts: list[Contrast] = []
    for first, second in combinations(range(len(names)), 2):
        for item in measures:
            means = {}
            for number in np.flatnonzero(ranges.compared).tolist():
                only = (np.arange(len(ranges.compared)) == number) * 1.0
                one, two = (
                    _equal(sums[index], item.name, ranges.cuts[index], only) for index in (first, second)
                )
                if one is not None and two is not None:
                    means[number] = standardised.difference(one, two)
            adjusted = holm([mean.p for mean in means.values()])
            contrasts.extend(
                Contrast(
                    measure=item,
                    first=names[first],
                    second=names[second],
                    load=loads.bounds(number, sums[0].width),
                    estimate=mean.estimate(item.unit, METHOD, level),
                    p=mean.p,
                    p_adjusted=float(p),
                )
                for (number, mean), p in zip(means.items(), adjusted, strict=True)
            )
    return tuple(contrasts)


def _caveats(
    curves: tuple[Curve, ...], standard: tuple[Standard, ...], results: Sequence[Throughput]
) -> tuple[Caveat, ...]:
    caveats = []
    for index, curve in enumerate(curves):
        covered = sum(item.shares[index] for item in standard)
        if covered < COVERED:
            caveats.append(Caveat("little_common_load", name=curve.name, share=covered))
    caveats.append(Caveat("unequal_work"))
    few = sum(group.few for result in results for group in result.groups)
    if few:
        caveats.append(Caveat("few_in_range", ranges=few, n_few=results[0].n_few))
    return tuple(caveats)
