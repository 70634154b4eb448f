"""The model's own error on a log: its upper numbers of users, predicted from the lower ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.models.sizing import ENDS, Courses, fit
from thinktime.predictions.size.measured import Measured
from thinktime.predictions.size.rules import scalability
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Prediction for one measured number of users, from smaller ones alone."""

    users: int
    predicted: Estimate
    measured: Estimate
    throughput_predicted: Estimate
    throughput_measured: Estimate
    rivals: Mapping[str, float]
    """Mean response by rules that others use [s]."""

    @property
    def error(self) -> float:
        """Relative error of the mean response."""
        return self.predicted.value / self.measured.value - 1.0

    @property
    def holds(self) -> bool:
        """True if the intervals of prediction and measurement overlap."""
        low, high = self.measured.low, self.measured.high
        assert self.predicted.low is not None
        assert self.predicted.high is not None
        return (high is None or self.predicted.low <= high) and (low is None or self.predicted.high >= low)


def own_error(measured: Measured) -> tuple[Checked, ...]:
    """Predictions for the upper half of the numbers of users, from the lower half alone."""
    if len(measured.stretches) < 2:
        return ()
    half, courses = _lower_half(measured)
    scaled = scalability(measured, half)
    checked = []
    for stretch in measured.stretches[half:]:
        at = stretch.users - 1
        checked.append(
            Checked(
                users=stretch.users,
                predicted=_interval(courses.response_s[:, at], "s", stretch.n),
                measured=stretch.response,
                throughput_predicted=_interval(courses.throughput_per_s[:, at], "1/s", stretch.n),
                throughput_measured=stretch.throughput,
                rivals={} if scaled is None else {"Universal Scalability Law": scaled(stretch.users)},
            )
        )
    return tuple(checked)


def from_lower_half(measured: Measured) -> tuple[tuple[int, Estimate], ...]:
    """Mean response for every measured number of users, predicted from the lower half of them alone."""
    if len(measured.stretches) < 2:
        return ()
    responses = _lower_half(measured)[1].response_s
    return tuple(
        (one.users, _interval(responses[:, one.users - 1], "s", one.n)) for one in measured.stretches
    )


def _lower_half(measured: Measured) -> tuple[int, Courses]:
    """Number of levels in the lower half, and the courses that a fit to them predicts for all."""
    levels = measured.levels()
    half = (len(levels) + 1) // 2
    machine = measured.machine_seen(half)
    return half, fit(levels[:half], machine).courses(machine, levels[-1].users)


def _interval(values: Array, unit: str, n: int) -> Estimate:
    low, middle, high = np.quantile(values, ENDS)
    return Estimate(value=float(middle), unit=unit, low=float(low), high=float(high), n=n, method="predicted")
