"""Each configuration predicted from the others, by the models of 1983; and what the kernel does instead.

In the words of the models: Tblock is the time of one page, for a file request is one; Tswap is half the time
that all pages of a process take in one direction, since the device reads and writes at once: an image in and
one out occupy it together for the time of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from thinktime.documents import format as shown
from thinktime.errors import InputError
from thinktime.models.swapping import disk_bound, response_time
from thinktime.models.swapping.assumptions import UTILISATION_LEAST
from thinktime.models.swapping.disk_bound import LeftOut
from thinktime.models.swapping.response_time import Swapping
from thinktime.models.swapping.swap_disk import Configuration as Machine
from thinktime.results import Result
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.studies.swapping_linux.data import LEVEL, Configuration, Measured

LEAST = 4
"""Fewest configurations that swap from which anything is said."""
WITHIN = (0.05, 0.25)
"""Relative errors that are counted: that of the runs of the thesis, and one that would still be of use."""
FACTORS: tuple[tuple[str, str, Callable[[Configuration], int]], ...] = (
    ("memory", "MiB", lambda one: one.memory_bytes),
    ("processes", "", lambda one: one.processes),
    ("size", "MiB", lambda one: one.size_bytes),
    ("compute time", "ms", lambda one: one.burst_ms),
)
"""Name, unit and value of each factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """A configuration that swaps, measured and predicted from the others."""

    measured: Configuration = field(repr=False)
    elapsed: Estimate
    """Measured elapsed time."""
    ratio: LeftOut = field(repr=False)
    """By the ratio model, from each of the others."""
    general_s: float
    """By the general model, with what the others say of file requests and the system's CPU time."""

    @property
    def general_error(self) -> float:
        """Relative error of the general model."""
        return self.general_s / self.elapsed.value - 1.0

    def is_in_interval(self, value_s: float) -> bool | None:
        """True if a prediction lies in the interval of the measured time; None if there is none."""
        low, high = self.elapsed.low, self.elapsed.high
        return None if low is None or high is None else low <= value_s <= high


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What follows from a change of one factor, all others the same: measured, and by the ratio model."""

    factor: str
    low: str
    high: str
    """The two levels in words."""
    measured: Estimate
    """Ratio of the elapsed times, the geometric mean of `pairs`."""
    predicted: float
    general: float
    """The same by the two models."""
    pairs: int

    @property
    def holds(self) -> bool | None:
        """True if the ratio model's prediction is in the interval measured; None if there is none."""
        low, high = self.measured.low, self.measured.high
        return None if low is None or high is None else low <= self.predicted <= high


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SwappingStudy(Result):
    """How well the models of 1983 predict the runs of a kernel that pages."""

    measured: Measured = field(repr=False)
    predicted: tuple[Predicted, ...]
    """Configurations that swap, each from all others that do."""
    table_viii: tuple[LeftOut, ...]
    """Those with the most processes and the shortest bursts, each from the others of them."""
    changes: tuple[Change, ...]
    unsettled: tuple[Configuration, ...] = field(repr=False)
    """Configurations left out: some process was not through its first interaction when the measurement
    began."""

    @property
    def fitting(self) -> tuple[Configuration, ...]:
        """Configurations that memory holds."""
        return tuple(one for one in self.measured.configurations if not one.swaps)

    def within(self, error: float) -> tuple[int, int]:
        """Configurations whose prediction is off by at most `error`, of the ratio and the general model."""
        return (
            sum(abs(one.ratio.error) <= error for one in self.predicted),
            sum(abs(one.general_error) <= error for one in self.predicted),
        )

    def median_error(self) -> tuple[float, float]:
        """Median of the absolute relative errors, of the ratio and of the general model."""
        return (
            float(np.median([abs(one.ratio.error) for one in self.predicted])),
            float(np.median([abs(one.general_error) for one in self.predicted])),
        )


def image_pages(one: Configuration, measured: Measured) -> float:
    """Pages of a process."""
    return one.process_bytes / measured.conditions.page_bytes


def read_again(one: Configuration, measured: Measured) -> float:
    """Pages that an interaction swaps in, relative to those of the process: 1 is a whole image."""
    return one.mean("pages_in") / image_pages(one, measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Times of the device, as the models take them."""

    block_s: float
    """Tblock: of a file request."""
    swap_s: Callable[[Configuration], float]
    """Tswap: of one swap, one way, of a configuration."""

    @classmethod
    def of_device(cls, measured: Measured) -> Times:
        """Times of a device that moves pages at a known speed, and in both directions at once."""
        page_s = measured.conditions.page_s
        return cls(block_s=page_s, swap_s=lambda one: 0.5 * image_pages(one, measured) * page_s)


def machine(one: Configuration, measured: Measured, times: Times) -> Machine:
    """A configuration as the ratio model takes it."""
    return Machine(
        block_time_s=times.block_s,
        swap_time_s=times.swap_s(one),
        memory=one.memory_bytes,
        size=min(one.process_bytes, float(one.memory_bytes)),
        processes=one.processes,
        elapsed_s=measured.elapsed(one).value,
        interactions=one.processes * measured.conditions.interactions,
        interactive=True,
        equal_demands=True,
    )


def general(one: Configuration, others: Sequence[Configuration], measured: Measured, times: Times) -> float:
    """Elapsed time by the general model; file requests and system time are the means of the others."""
    conditions = measured.conditions
    blocks = float(np.mean([other.mean("file_requests") for other in others]))
    beyond = [other.mean("cpu_s") - 1e-3 * other.burst_ms for other in others]
    prediction = response_time.predict(
        Swapping(
            processes=one.processes,
            memory=one.memory_bytes,
            size=min(one.process_bytes, float(one.memory_bytes)),
            blocks=blocks,
            block_time_s=times.block_s,
            swap_time_s=times.swap_s(one),
            compute_s=1e-3 * one.burst_ms,
            system_s=max(float(np.nanmean(beyond)), 0.0),
            think_s=conditions.think_s,
            interactions=conditions.interactions,
        )
    )
    return float(prediction["elapsed_s"])


def analyse(measured: Measured, times: Times | None = None) -> SwappingStudy | NotApplicable:
    """Each configuration that swaps, predicted from all others that do.

    Parameters
    ----------
    measured : Measured
    times : Times, optional
        Times of the device; those of a device of known speed by default.
    """
    times = times or Times.of_device(measured)
    settled = [one for one in measured.configurations if one.settled]
    unsettled = tuple(one for one in measured.configurations if not one.settled)
    swapping = [one for one in settled if one.swaps]
    if len(swapping) < LEAST:
        return NotApplicable(
            f"{shown.count(len(swapping), 'configuration')} swapped and could be measured, and at least "
            f"{LEAST} are needed",
            "run more of them with `thinktime lab swap`, with less memory, more processes, or for a longer "
            "time",
        )
    try:
        outs = disk_bound.leave_one_out([machine(one, measured, times) for one in swapping])
        generals = [
            general(one, [other for other in swapping if other is not one], measured, times)
            for one in swapping
        ]
    except InputError as error:
        return NotApplicable(f"the models cannot take what was measured: {error}", "run it again, for longer")
    predicted = tuple(
        Predicted(measured=one, elapsed=measured.elapsed(one), ratio=out, general_s=general_s)
        for one, out, general_s in zip(swapping, outs, generals, strict=True)
    )
    most = max(one.processes for one in swapping)
    least = min(one.burst_ms for one in swapping)
    like_viii = [one for one in swapping if one.processes == most and one.burst_ms == least]
    return SwappingStudy(
        measured=measured,
        predicted=predicted,
        table_viii=(
            disk_bound.leave_one_out([machine(one, measured, times) for one in like_viii])
            if len(like_viii) > 1
            else ()
        ),
        changes=tuple(_changes(predicted, measured, times)),
        unsettled=unsettled,
    )


def _changes(predicted: Sequence[Predicted], measured: Measured, times: Times) -> Iterator[Change]:
    """Each factor from its least to its greatest level, over the pairs that differ in nothing else."""
    for name, unit, of in FACTORS:
        rest = [other for _, _, other in FACTORS if other is not of]
        levels = sorted({of(one.measured) for one in predicted})
        if len(levels) < 2:
            continue
        low, high = levels[0], levels[-1]
        by_rest: dict[tuple[int, ...], dict[int, Predicted]] = {}
        for one in predicted:
            key = tuple(other(one.measured) for other in rest)
            by_rest.setdefault(key, {})[of(one.measured)] = one
        pairs = [(found[low], found[high]) for found in by_rest.values() if {low, high} <= set(found)]
        if pairs:
            words = [f"{_shown(level, unit)}" for level in (low, high)]
            yield _change(name, words, pairs, lambda one: machine(one.measured, measured, times))


def _shown(level: int, unit: str) -> str:
    return f"{level / (1 << 20):g} MiB" if unit == "MiB" else f"{level} {unit}".strip()


def _change(
    name: str,
    words: Sequence[str],
    pairs: Sequence[tuple[Predicted, Predicted]],
    of: Callable[[Predicted], Machine],
) -> Change:
    logarithms = [math.log(b.elapsed.value / a.elapsed.value) for a, b in pairs]
    models = [math.log(_ratio(of(a), of(b))) for a, b in pairs]
    generals = [math.log(b.general_s / a.general_s) for a, b in pairs]
    value = float(np.mean(logarithms))
    # The mean of the pairs varies by its runs, and by what differs from pair to pair.
    half = math.nan
    if len(pairs) > 1:
        from scipy.stats import t

        error = float(np.std(logarithms, ddof=1)) / math.sqrt(len(pairs))
        half = float(t.ppf(0.5 + 0.5 * LEVEL, len(pairs) - 1)) * error
    known = not math.isnan(half)
    return Change(
        factor=name,
        low=words[0],
        high=words[1],
        measured=Estimate(
            value=math.exp(value),
            unit="",
            low=math.exp(value - half) if known else None,
            high=math.exp(value + half) if known else None,
            level=LEVEL,
            n=len(pairs),
            method="geometric mean of pairs, Student's t",
        ),
        predicted=math.exp(float(np.mean(models))),
        general=math.exp(float(np.mean(generals))),
        pairs=len(pairs),
    )


def _ratio(a: Machine, b: Machine) -> float:
    """Ratio of elapsed times by equation 3.1 with its extensions."""
    return float(disk_bound.predict(a, b)["ratio"])


def saturated(one: Configuration) -> bool:
    """True if a direction of the device is used by more than the model asks for."""
    return max(one.mean("read_utilisation"), one.mean("write_utilisation")) > UTILISATION_LEAST
