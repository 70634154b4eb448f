"""The model's own error on a log: its upper numbers of users, predicted from the lower ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.models.sizing import ENDS, Courses, fit
from thinktime.predictions.size.measured import Measured, Stretch
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
    return tuple(_checked(stretch, courses, scaled) for stretch in measured.stretches[half:])


def held_out(known: Measured, others: Sequence[Stretch]) -> tuple[Checked, ...]:
    """Predictions for other numbers of users than those `known`, of which it knows nothing.

    Parameters
    ----------
    known : Measured
        Some of the logs alone, their background load included.
    others : sequence of Stretch
        What was measured at the numbers of users to predict.
    """
    courses = _courses(known, max(one.users for one in others)) if others else None
    scaled = scalability(known, len(known.stretches))
    return () if courses is None else tuple(_checked(stretch, courses, scaled) for stretch in others)


def course(known: Measured, users: Sequence[int]) -> tuple[tuple[int, Estimate], ...]:
    """Mean response for numbers of users, predicted from all that is known."""
    responses = _courses(known, max(users)).response_s
    return tuple((number, _interval(responses[:, number - 1], "s", known.n)) for number in users)


def from_lower_half(measured: Measured) -> tuple[tuple[int, Estimate], ...]:
    """Mean response for every measured number of users, predicted from the lower half of them alone."""
    if len(measured.stretches) < 2:
        return ()
    responses = _lower_half(measured)[1].response_s
    return tuple(
        (one.users, _interval(responses[:, one.users - 1], "s", one.n)) for one in measured.stretches
    )


def _courses(known: Measured, users: int) -> Courses:
    return fit(known.levels(), known.machine).courses(known.machine, users)


def _lower_half(measured: Measured) -> tuple[int, Courses]:
    """Number of levels in the lower half, and the courses that a fit to them predicts for all."""
    levels = measured.levels()
    half = (len(levels) + 1) // 2
    machine = measured.machine_seen(half)
    return half, fit(levels[:half], machine).courses(machine, levels[-1].users)


def _checked(stretch: Stretch, courses: Courses, scaled: Callable[[int], float] | None) -> Checked:
    at = stretch.users - 1
    return Checked(
        users=stretch.users,
        predicted=_interval(courses.response_s[:, at], "s", stretch.n),
        measured=stretch.response,
        throughput_predicted=_interval(courses.throughput_per_s[:, at], "1/s", stretch.n),
        throughput_measured=stretch.throughput,
        rivals={} if scaled is None else {"Universal Scalability Law": scaled(stretch.users)},
    )


def _interval(values: Array, unit: str, n: int) -> Estimate:
    low, middle, high = np.quantile(values, ENDS)
    return Estimate(value=float(middle), unit=unit, low=float(low), high=float(high), n=n, method="predicted")
