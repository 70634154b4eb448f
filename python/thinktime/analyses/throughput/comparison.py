"""Throughput of several periods compared: at equal load, where alone it says anything about the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.throughput import analysis as throughput
from thinktime.analyses.throughput import curves as throughput_data
from thinktime.analyses.throughput.analysis import Measure, Throughput
from thinktime.analyses.throughput.curves import SPREAD_MIN, stretches_for
from thinktime.log import interactions, loads
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.hypothesis import ALPHA, holm
from thinktime.stats.series import batch_means, standardised
from thinktime.stats.series.standardised import Mean

if TYPE_CHECKING:
    from thinktime.analyses.throughput.curves import Load, Sums
    from thinktime.log import Log

__all__ = ["Comparison", "Contrast", "Curve", "EqualLoad", "Standard", "compare", "of_sums"]

_Array = NDArray[np.float64]

COVERED = 0.9
"""Part of the time at comparable loads that the ranges compared must hold, or stretches are shortened."""
METHOD = "difference at equal load, Welch's t"
OVERHEAD = Measure("overhead", "system time per second of user time", "s/s", False)


@dataclass(frozen=True, slots=True)
class Standard:
    """One range of load of the distribution at which all logs are compared."""

    low: float
    high: float
    weight: float
    """Its part of the common distribution; the weights add to 1."""
    shares: tuple[float, ...]
    """Part of each log's time at such a load, of its time at all loads."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One log."""

    name: str
    throughput: Throughput
    equal_load: tuple[Estimate | None, ...]
    """Means at the common distribution of loads, one a measure of `Comparison.measures`."""
    whole: tuple[Estimate | None, ...]
    """Means whatever the load: for the record, and not to be compared."""
    blocks: int
    """Stretches of time that the intervals at equal load come from."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """One measure of a later log less that of an earlier one, at the same load."""

    measure: Measure
    first: str
    second: str
    load: tuple[float, float] | None
    """Range of load; None at the common distribution of loads."""
    estimate: Estimate
    p: float
    """Probability of such a difference if there is none."""
    p_adjusted: float
    """The same, adjusted by Holm: for all measures and pairs of logs at the common distribution, or for
    all ranges of load of one measure and pair."""

    @property
    def significant(self) -> bool:
        """Whether there is a difference, at a false-alarm rate of 0.05 for all tests of its kind together."""
        return self.p_adjusted < ALPHA


@dataclass(frozen=True, slots=True)
class EqualLoad:
    """Several logs at equal load."""

    stretches: tuple[int, ...]
    """Stretches of time that each log was cut into."""
    standard: tuple[Standard, ...]
    means: tuple[tuple[Estimate | None, ...], ...]
    """Of each log, each measure at the common distribution of loads."""
    overall: tuple[Contrast, ...]
    by_load: tuple[Contrast, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Curves of several logs, and what differs between them at equal load."""

    load: str
    load_unit: str
    measures: tuple[Measure, ...]
    curves: tuple[Curve, ...]
    standard: tuple[Standard, ...]
    overall: tuple[Contrast, ...]
    by_load: tuple[Contrast, ...]
    caveats: tuple[str, ...]

    def reversed_measures(self) -> tuple[Contrast, ...]:
        """Differences at equal load whose sign is not that of the whole means: Simpson's paradox."""
        return tuple(item for item in self.overall if item.significant and self._turned(item))

    def _turned(self, item: Contrast) -> bool:
        at = [measure.name for measure in self.measures].index(item.measure.name)
        by_name = {curve.name: curve.whole[at] for curve in self.curves}
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
) -> Comparison | NotApplicable:
    r"""Compare the throughput of several logs load by load, and at one common distribution of loads.

    Whole means are not compared: they differ with what users asked for (Bard 1971, Table 7 and Figures 1
    to 5). At the common distribution a log's mean is :math:`\sum_g w_g R_g` over the ranges of load that
    all logs reached often enough; the weight of a range is the mean, over the logs, of its part of the
    time at such loads. Errors are those of `standardised.standardised`: stretches of time left out in
    turn. Differences are tested by Welch's t, and probabilities adjusted by Holm.

    Parameters
    ----------
    logs : sequence of Log
        Two or more, of periods that do not overlap.
    names : sequence of str
        What each is called.
    load, width, n_few, level
        See `throughput.analyse`; the load is that of the first log by default.

    Raises
    ------
    ValueError
        There are fewer than two logs, or the ranges of load are too many.
    """
    if len(logs) < 2:
        raise ValueError("a comparison needs two logs")
    arrivals = [interactions.read(log) for log in logs]
    chosen: list[Load] = []
    for log, name, done in zip(logs, names, arrivals, strict=True):
        found = throughput_data.load_of(log, done, chosen[0].name if chosen else load)
        if found is None:
            why = throughput.no_load(log)
            return replace(why, reason=f"{name}: {why.reason}")
        chosen.append(found)
    step = loads.width_for(max(item.high for item in chosen)) if width is None else width
    sums = [
        throughput_data.gather(log, item, step, done)
        for log, item, done in zip(logs, chosen, arrivals, strict=True)
    ]
    results = [
        throughput.summarised(log, item, each, n_few, level)
        for log, item, each in zip(logs, chosen, sums, strict=True)
    ]
    measures = _measures(results)
    equal = of_sums(names, sums, measures, n_few, level)
    if equal is None:
        return NotApplicable(
            "no range of load was reached often enough in all logs: nothing is at equal load",
            "record longer, or group loads more widely (--width)",
        )
    curves = tuple(
        Curve(
            name,
            result,
            means,
            tuple(throughput.whole_mean(each, item.name, item.unit, level) for item in measures),
            cut,
        )
        for name, result, each, means, cut in zip(
            names, results, sums, equal.means, equal.stretches, strict=True
        )
    )
    return Comparison(
        results[0].load,
        results[0].load_unit,
        measures,
        curves,
        equal.standard,
        equal.overall,
        equal.by_load,
        _caveats(curves, equal.standard, results),
    )


def _measures(results: Sequence[Throughput]) -> tuple[Measure, ...]:
    """Measures that all logs have, and what useful work costs in overhead."""
    common = [
        item
        for item in results[0].measures
        if all(item.name in {other.name for other in result.measures} for result in results)
    ]
    if {"user_time", "system_time"} <= {item.name for item in common}:
        common.append(OVERHEAD)
    return tuple(common)


def of_sums(
    names: Sequence[str],
    sums: Sequence[Sums],
    measures: tuple[Measure, ...],
    n_few: int,
    level: float,
) -> EqualLoad | None:
    """Compare the sums of several logs at equal load; None where no range of load allows it."""
    cuts, compared = _cut(sums, n_few)
    if not compared.any():
        return None
    standard, weights = _standard(sums, compared)
    means = [
        [_equal(each, item.name, cut, weights) for item in measures]
        for each, cut in zip(sums, cuts, strict=True)
    ]
    shown = tuple(
        tuple(
            None
            if mean is None
            else mean.estimate(item.unit, f"directly standardised, jackknife over {cut} stretches", level)
            for mean, item in zip(row, measures, strict=True)
        )
        for row, cut in zip(means, cuts, strict=True)
    )
    return EqualLoad(
        tuple(cuts),
        standard,
        shown,
        _overall(names, measures, means, level),
        _by_load(names, sums, measures, cuts, compared, level),
    )


def _cut(sums: Sequence[Sums], n_few: int) -> tuple[list[int], NDArray[np.bool_]]:
    """Stretches of time to cut each log into, and the ranges of load that can be compared.

    A log is cut as `throughput_data.stretches_for` says. Where loads came one after another, each within a
    few stretches, they are halved until the ranges are spread over `SPREAD_MIN` of them or more.
    """
    ranges = max(len(each.counts("load")) for each in sums)
    enough = np.ones(ranges, dtype=np.bool_)
    for each in sums:
        enough &= _padded(each.counts("load"), ranges) >= n_few
    cuts, compared = [], enough.copy()
    for each in sums:
        time, _ = each.stretches("time", batch_means.MOST)
        seconds = time.sum(axis=0)
        number = stretches_for(each.n)
        while True:
            spread = standardised.effective(batch_means.joined(time[None], number)[0]) >= SPREAD_MIN
            held = seconds[spread & enough[: len(spread)]].sum()
            if held >= COVERED * seconds[enough[: len(spread)]].sum() or number >= len(time):
                break
            number *= 2
        cuts.append(min(number, len(time)))
        compared &= _padded(spread, ranges)
    return cuts, compared


def _padded(values: NDArray[Any], length: int) -> NDArray[Any]:
    """Add ranges of load that a log never reached."""
    return np.pad(values, (0, length - len(values)))


def _standard(sums: Sequence[Sums], compared: NDArray[np.bool_]) -> tuple[tuple[Standard, ...], _Array]:
    """Make the common distribution of loads: mean of the logs' own, over the ranges compared."""
    counted = [
        _padded(each.stretches("time", batch_means.MOST)[0].sum(axis=0), len(compared)) for each in sums
    ]
    shares = np.array([seconds / seconds.sum() for seconds in counted])
    inside = shares * compared
    weights: _Array = (inside / inside.sum(axis=1, keepdims=True)).mean(axis=0)
    standard = tuple(
        Standard(
            *loads.bounds(number, sums[0].width), float(weights[number]), tuple(map(float, shares[:, number]))
        )
        for number in np.flatnonzero(compared).tolist()
    )
    return standard, weights


def _equal(sums: Sums, name: str, cut: int, weights: _Array) -> Mean | None:
    """Mean of a quantity at the common distribution of loads."""
    ranges = sums.ranges
    weights = weights[:ranges]
    n = int(sums.counts(name)[weights > 0.0].sum())
    if name == OVERHEAD.name:
        amounts, lengths = sums.stretches("system_time", cut)
        per, _ = sums.stretches("user_time", cut)
        return standardised.standardised(amounts, lengths, weights, n, per)
    return standardised.standardised(*sums.stretches(name, cut), weights, n)


def _overall(
    names: Sequence[str], measures: tuple[Measure, ...], means: list[list[Mean | None]], level: float
) -> tuple[Contrast, ...]:
    found: list[tuple[Measure, str, str, Mean]] = []
    for first, second in combinations(range(len(names)), 2):
        for at, item in enumerate(measures):
            one, two = means[first][at], means[second][at]
            if one is not None and two is not None:
                found.append((item, names[first], names[second], standardised.difference(one, two)))
    adjusted = holm([mean.p for *_, mean in found])
    return tuple(
        Contrast(item, first, second, None, mean.estimate(item.unit, METHOD, level), mean.p, float(p))
        for (item, first, second, mean), p in zip(found, adjusted, strict=True)
    )


def _by_load(
    names: Sequence[str],
    sums: Sequence[Sums],
    measures: tuple[Measure, ...],
    cuts: Sequence[int],
    compared: NDArray[np.bool_],
    level: float,
) -> tuple[Contrast, ...]:
    """Differences in every range of load that is compared."""
    found: list[Contrast] = []
    for first, second in combinations(range(len(names)), 2):
        for item in measures:
            means = {}
            for number in np.flatnonzero(compared).tolist():
                only = np.arange(len(compared)) == number
                one, two = (_equal(sums[at], item.name, cuts[at], only * 1.0) for at in (first, second))
                if one is not None and two is not None:
                    means[number] = standardised.difference(one, two)
            adjusted = holm([mean.p for mean in means.values()])
            found.extend(
                Contrast(
                    item,
                    names[first],
                    names[second],
                    loads.bounds(number, sums[0].width),
                    mean.estimate(item.unit, METHOD, level),
                    mean.p,
                    float(p),
                )
                for (number, mean), p in zip(means.items(), adjusted, strict=True)
            )
    return tuple(found)


def _caveats(
    curves: tuple[Curve, ...], standard: tuple[Standard, ...], results: Sequence[Throughput]
) -> tuple[str, ...]:
    held = [sum(item.shares[at] for item in standard) for at in range(len(curves))]
    caveats = []
    for curve, part in zip(curves, held, strict=True):
        if part < COVERED:
            caveats.append(
                f"Only {100 * part:.0f} % of the time of {curve.name} lies at loads that all logs reached "
                "often enough; the rest is not in the comparison."
            )
    caveats.append(
        "Load is equal, work need not be: what users did, and when, may have changed between the logs "
        "together with the machine, and is in the differences."
    )
    few = sum(group.few for result in results for group in result.groups)
    if few:
        caveats.append(
            f"{_ranges(few)} fewer than {results[0].n_few} observations; their means are unreliable and "
            "are not tested."
        )
    return tuple(caveats)


def _ranges(count: int) -> str:
    return "One range of load of a log has" if count == 1 else f"{count} ranges of load of the logs have"
