"""What Figures 1 to 5 show, judged at equal load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from thinktime.reports.compared import Finding
from thinktime.studies.bard_1971.curves import by_load, counted, last_reliable
from thinktime.studies.bard_1971.equal_load import ENOUGH, MEASURES, PAIR, TIMES, at_equal_load
from thinktime.studies.bard_1971.installation import PERIODS, Installation
from thinktime.studies.bard_1971.tables import NAME

if TYPE_CHECKING:
    from thinktime.analyses.throughput_comparison import Contrast

__all__ = ["findings"]

SECOND_BOX, THIRD_BOX, NEW_VERSION = PERIODS
DRASTIC = 0.2
EXPONENTIAL = 0.9
"""Part of the variance of the logarithm of the paging rate that a straight line explains."""
MISLEADS = 1.5
"""A ratio of differences from which on whole means mislead."""


def findings(installation: Installation) -> Iterator[Finding]:
    """Judge the shapes of Figures 1 to 5, and the warning against whole means."""
    yield _third_box(installation)
    yield _version(installation)
    yield _cp_time(installation)
    yield _wait(installation)
    yield _paging(installation)
    yield _exponential(installation)
    yield _ends(installation)
    yield _whole_means(installation)


def _found(finding: str, source: str, holds: bool | None, statistic: str, text: str) -> Finding:
    return Finding(NAME, finding, source, holds, statistic, text)


def _contrast(installation: Installation, measure: str, first: str, second: str) -> Contrast:
    for item in at_equal_load(installation).overall:
        if (item.measure.name, item.first, item.second) == (measure, first, second):
            return item
    raise KeyError(f"{measure} of {first} and {second} was not compared")


def _said(item: Contrast) -> str:
    """Say a difference with its p."""
    name = item.measure.name
    factor, unit = (100.0, " points") if name in TIMES else (1.0, "/s")
    return f"{MEASURES[name]} {factor * item.estimate.value:+.2f}{unit} (p {item.p_adjusted:.2g})"


def _rises(item: Contrast) -> bool:
    return item.significant and item.estimate.value > 0.0


def _falls(item: Contrast) -> bool:
    return item.significant and item.estimate.value < 0.0


def _third_box(installation: Installation) -> Finding:
    both = [_contrast(installation, name, SECOND_BOX, THIRD_BOX) for name in ("user_time", "vsio")]
    return _found(
        "box-raises-throughput",
        "Figures 1 and 4",
        all(map(_rises, both)),
        f"from two to three core boxes at equal load: {'; '.join(map(_said, both))}",
        "problem state time and VSIO rise with the third core box",
    )


def _version(installation: Installation) -> Finding:
    both = [_contrast(installation, name, THIRD_BOX, NEW_VERSION) for name in ("user_time", "vsio")]
    return _found(
        "version-inconclusive",
        "Figures 1 and 4",
        not any(item.significant for item in both),
        f"from version II to III at equal load: {'; '.join(map(_said, both))}",
        "problem state time and VSIO show no conclusive change from version II to III",
    )


def _level(installation: Installation, measure: str, period: str) -> float:
    comparison = at_equal_load(installation)
    at = [item.name for item in comparison.measures].index(measure)
    curve = next(curve for curve in comparison.curves if curve.name == period)
    mean = curve.equal_load[at]
    return 0.0 if mean is None else mean.value


def _cp_time(installation: Installation) -> Finding:
    first = _contrast(installation, "system_time", SECOND_BOX, THIRD_BOX)
    then = _contrast(installation, "system_time", THIRD_BOX, NEW_VERSION)
    before = _level(installation, "system_time", THIRD_BOX)
    part = -then.estimate.value / before if before else 0.0
    return _found(
        "cp-time-order",
        "Figure 2",
        _rises(first) and _falls(then) and part >= DRASTIC,
        f"at equal load, II-2 to II-3: {_said(first)}; II-3 to III-3: {_said(then)}, which is "
        f"{100.0 * part:.0f} % less; {100.0 * DRASTIC:.0f} % is drastic",
        "CP time rises from II-2 to II-3, and falls drastically to III-3",
    )


def _wait(installation: Installation) -> Finding:
    first = _contrast(installation, "idle_time", SECOND_BOX, THIRD_BOX)
    then = _contrast(installation, "idle_time", THIRD_BOX, NEW_VERSION)
    return _found(
        "wait-order",
        "Figure 3",
        _falls(first) and _rises(then),
        f"at equal load, II-2 to II-3: {_said(first)}; II-3 to III-3: {_said(then)}",
        "wait time falls from II-2 to II-3, and rises to III-3",
    )


def _paging(installation: Installation) -> Finding:
    item = _contrast(installation, "page_ios", SECOND_BOX, THIRD_BOX)
    return _found(
        "box-lowers-paging",
        "Figure 5",
        _falls(item),
        f"from two to three core boxes at equal load: {_said(item)}",
        "paging is lower with the third core box",
    )


def _exponential(installation: Installation) -> Finding:
    said, straight = [], True
    for period in PERIODS:
        result = by_load(installation, period)
        at = [item.name for item in result.measures].index("page_ios")
        points = [
            (group.load_mean, mean.value)
            for group in result.groups
            if not group.few
            and group.load_low >= 1
            and (mean := group.means[at]) is not None
            and mean.value > 0
        ]
        if len(points) < 3:
            return _found("paging-exponential", "Figure 5", None, f"{len(points)} groups in {period}", _GROWS)
        load, rate = np.array(points).T
        slope = float(np.polyfit(load, np.log(rate), 1)[0])
        part = float(np.corrcoef(load, np.log(rate))[0, 1] ** 2)
        plain = float(np.corrcoef(load, rate)[0, 1] ** 2)
        straight &= part >= EXPONENTIAL and slope > 0.0
        said.append(
            f"{period} by a factor of {np.exp(2.0 * slope):.2f} for two users more, a line in the logarithm "
            f"explaining {part:.2f} (in the rate itself {plain:.2f})"
        )
    return _found("paging-exponential", "Figure 5", straight, "; ".join(said), _GROWS)


_GROWS = "the paging rate grows exponentially with the number of active users"


def _ends(installation: Installation) -> Finding:
    last = last_reliable([counted(by_load(installation, period)) for period in PERIODS])
    return _found(
        "ends-unreliable",
        "text on Figures 1 to 5",
        abs(last - 22) <= PAIR,
        f"up to {last} active users every group of two has {ENOUGH} observations in all periods",
        "beyond 22 active users averages rest on few observations",
    )


def _whole_means(installation: Installation) -> Finding:
    """Show what comparing whole data sets would have said."""
    said, misled = [], False
    comparison = at_equal_load(installation)
    for name in MEASURES:
        at = [item.name for item in comparison.measures].index(name)
        whole = {curve.name: curve.whole[at] for curve in comparison.curves}
        item = _contrast(installation, name, SECOND_BOX, THIRD_BOX)
        first, second = whole[SECOND_BOX], whole[THIRD_BOX]
        if first is None or second is None:
            continue
        difference = second.value - first.value
        equal = item.estimate.value
        turned = difference * equal < 0.0
        much = abs(difference) > MISLEADS * abs(equal) or abs(equal) > MISLEADS * abs(difference)
        misled |= turned or much
        factor = 100.0 if name in TIMES else 1.0
        said.append(f"{MEASURES[name]} {factor * difference:+.2f} for {factor * equal:+.2f}")
    return _found(
        "whole-means",
        "Table 7",
        misled,
        f"from II-2 to II-3, difference of whole means for that at equal load: {'; '.join(said)}",
        "means over whole periods must not be compared, since their loads differ",
    )
