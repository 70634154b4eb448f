"""Claims of Figures 1 to 5, judged at equal load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from thinktime.stats.estimate import NotApplicable
from thinktime.stats.hypothesis import ALPHA
from thinktime.studies.bard_1971.curves import by_load, counted, last_reliable
from thinktime.studies.bard_1971.equal_load import ENOUGH, MEASURES, PAIR, TIMES, at_equal_load
from thinktime.studies.bard_1971.records import PAPER, PERIODS
from thinktime.studies.cells import Claim
from thinktime.studies.laboratory import Laboratory

if TYPE_CHECKING:
    from thinktime.analyses.throughput.comparison import Contrast, ThroughputComparison


SECOND_BOX, THIRD_BOX, NEW_VERSION = PERIODS
DRASTIC = 0.2
EXPONENTIAL = 0.9
"""Part of the variance of the logarithm of the paging rate that a straight line explains."""
MISLEADS = 1.5
"""A ratio of differences from which on whole means mislead."""


def claims(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about the shapes of Figures 1 to 5, and the warning against whole means."""
    comparison = at_equal_load(laboratory)
    for name, judge in AT_EQUAL_LOAD.items():
        if isinstance(comparison, NotApplicable):
            yield PAPER.claim(name, None, f"0 ranges of load in common: {comparison.reason}")
        else:
            yield PAPER.claim(name, *judge(comparison))
    yield _exponential(laboratory)
    yield _ends(laboratory)


def _contrast(comparison: ThroughputComparison, measure: str, first: str, second: str) -> Contrast:
    for item in comparison.overall:
        if (item.measure.name, item.first, item.second) == (measure, first, second):
            return item
    raise KeyError(f"{measure} of {first} and {second} was not compared")


def _in_words(item: Contrast) -> str:
    """Difference with its p, in words."""
    name = item.measure.name
    factor, unit = (100.0, " points") if name in TIMES else (1.0, "/s")
    return f"{MEASURES[name]} {factor * item.estimate.value:+.2f}{unit} (p {item.p:.2g})"


def _rises(item: Contrast) -> bool:
    # Each difference was named by the paper, so that no p is adjusted for having looked at many.
    return item.p < ALPHA and item.estimate.value > 0.0


def _falls(item: Contrast) -> bool:
    return item.p < ALPHA and item.estimate.value < 0.0


def _third_box(comparison: ThroughputComparison) -> tuple[bool, str]:
    both = [_contrast(comparison, name, SECOND_BOX, THIRD_BOX) for name in ("user_time", "vsio")]
    return all(map(_rises, both)), f"from two to three core boxes: {'; '.join(map(_in_words, both))}"


def _version(comparison: ThroughputComparison) -> tuple[bool, str]:
    both = [_contrast(comparison, name, THIRD_BOX, NEW_VERSION) for name in ("user_time", "vsio")]
    changed = any(item.p < ALPHA for item in both)
    return not changed, f"from version II to III: {'; '.join(map(_in_words, both))}"


def _level(comparison: ThroughputComparison, measure: str, period: str) -> float:
    """Mean at the common distribution of loads."""
    curve = next(curve for curve in comparison.curves if curve.name == period)
    mean = curve.equal_load.get(measure)
    return 0.0 if mean is None else mean.value


def _cp_time(comparison: ThroughputComparison) -> tuple[bool, str]:
    first = _contrast(comparison, "system_time", SECOND_BOX, THIRD_BOX)
    then = _contrast(comparison, "system_time", THIRD_BOX, NEW_VERSION)
    before = _level(comparison, "system_time", THIRD_BOX)
    part = -then.estimate.value / before if before else 0.0
    statistic = (
        f"II-2 to II-3: {_in_words(first)}; II-3 to III-3: {_in_words(then)}, which is "
        f"{100.0 * part:.0f} % less; "
        f"{100.0 * DRASTIC:.0f} % is drastic"
    )
    return _rises(first) and _falls(then) and part >= DRASTIC, statistic


def _wait(comparison: ThroughputComparison) -> tuple[bool, str]:
    first = _contrast(comparison, "idle_time", SECOND_BOX, THIRD_BOX)
    then = _contrast(comparison, "idle_time", THIRD_BOX, NEW_VERSION)
    return _falls(first) and _rises(
        then
    ), f"II-2 to II-3: {_in_words(first)}; II-3 to III-3: {_in_words(then)}"


def _paging(comparison: ThroughputComparison) -> tuple[bool, str]:
    item = _contrast(comparison, "page_ios", SECOND_BOX, THIRD_BOX)
    return _falls(item), f"from two to three core boxes: {_in_words(item)}"


def _whole_means(comparison: ThroughputComparison) -> tuple[bool, str]:
    """Result of a comparison of whole data sets."""
    listed, misled = [], False
    for name in MEASURES:
        total = {curve.name: curve.whole.get(name) for curve in comparison.curves}
        first, second = total[SECOND_BOX], total[THIRD_BOX]
        if first is None or second is None:
            continue
        difference = second.value - first.value
        equal = _contrast(comparison, name, SECOND_BOX, THIRD_BOX).estimate.value
        small, large = sorted((abs(difference), abs(equal)))
        misled |= difference * equal < 0.0 or large > MISLEADS * small
        factor = 100.0 if name in TIMES else 1.0
        listed.append(f"{MEASURES[name]} {factor * difference:+.2f} for {factor * equal:+.2f}")
    return misled, f"from II-2 to II-3, difference of whole means for that at equal load: {'; '.join(listed)}"


AT_EQUAL_LOAD: dict[str, Callable[[ThroughputComparison], tuple[bool, str]]] = {
    "box-raises-throughput": _third_box,
    "version-inconclusive": _version,
    "cp-time-order": _cp_time,
    "wait-order": _wait,
    "box-lowers-paging": _paging,
    "whole-means": _whole_means,
}
"""Claims that are judged at equal load."""


def _exponential(laboratory: Laboratory) -> Claim:
    listed, straight = [], True
    for period in PERIODS:
        result = by_load(laboratory, period)
        points = [
            (group.load_mean, mean.value)
            for group in result.groups
            if not group.few
            and group.load_low >= 1
            and (mean := group.means.get("page_ios")) is not None
            and mean.value > 0
        ]
        if len(points) < 3:
            return PAPER.claim("paging-exponential", None, f"{len(points)} groups in {period}")
        load, rate = np.array(points).T
        slope = float(np.polyfit(load, np.log(rate), 1)[0])
        part = float(np.corrcoef(load, np.log(rate))[0, 1] ** 2)
        plain = float(np.corrcoef(load, rate)[0, 1] ** 2)
        straight &= part >= EXPONENTIAL and slope > 0.0
        listed.append(
            f"{period} by a factor of {np.exp(2.0 * slope):.2f} for two users more, a line in the logarithm "
            f"explaining {part:.2f} (in the rate itself {plain:.2f})"
        )
    return PAPER.claim("paging-exponential", straight, "; ".join(listed))


def _ends(laboratory: Laboratory) -> Claim:
    last = last_reliable([counted(by_load(laboratory, period)) for period in PERIODS])
    return PAPER.claim(
        "ends-unreliable",
        abs(last - 22) <= PAIR,
        f"up to {last} active users every group of two has {ENOUGH} observations in all periods",
    )
