"""The simulated APL/360 as this study runs it: each experiment once, with the same workloads in all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import plain_mean
from thinktime.studies.laboratory import Settings

if TYPE_CHECKING:
    from thinktime.sources.simulated import Simulated
    from thinktime.studies.anderson_sargent_1974.experiment import Experiment
    from thinktime.studies.anderson_sargent_1974.monitor import Monitored

__all__ = ["PERIOD_S", "SYSTEM", "Machine", "interval", "ratio", "think", "welch"]

Array = NDArray[np.float64]

SYSTEM = "apl360"
CLASSES = ("compute", "command", "output_bound")
ENOUGH = 256
"""Replications that show ranges of periods and differences on the same workloads."""
PERIOD_S = 600.0
"""The unit of analysis of the paper: ten minutes."""


def think(mean_s: float) -> dict[str, Any]:
    """Exponential insertion times, as the paper's simulation takes them."""
    return {"kind": "exponential", "mean": mean_s}


def interval(values: Array, unit: str = "") -> Estimate:
    """Mean over replications with the interval of Student's t."""
    return plain_mean(values).with_unit(unit)


def ratio(parts: Array, wholes: Array) -> Estimate:
    """Sum of parts over sum of wholes; the interval is that of the mean of what each adds to it."""
    value = float(parts.sum() / wholes.sum())
    n = len(parts)
    influence = (parts - value * wholes) / wholes.mean()
    reach = critical_values.student_t(0.95, float(n - 1)) * float(influence.std(ddof=1)) / n**0.5
    return Estimate(
        value=value,
        unit="",
        n=n,
        method="ratio of sums over replications, Student t",
        low=value - reach,
        high=value + reach,
    )


def welch(one: Array, other: Array) -> Estimate:
    """Difference of two means of independent values of any variances (Welch 1947, Biometrika 34, 28)."""
    parts = [values.var(ddof=1) / len(values) for values in (one, other)]
    spread = float(sum(parts))
    degrees = spread**2 / sum(float(p) ** 2 / (len(v) - 1) for p, v in zip(parts, (one, other), strict=True))
    difference = float(one.mean() - other.mean())
    reach = critical_values.student_t(0.95, degrees) * spread**0.5
    n = len(one) + len(other)
    return Estimate(
        value=difference,
        unit="",
        n=n,
        method="difference of means, Welch",
        low=difference - reach,
        high=difference + reach,
    )


@dataclass(slots=True)
class Machine:
    """Runs experiments, and remembers them.

    Replication r of every experiment has the same users, inputs and service times: common random numbers.
    """

    settings: Settings
    _known: dict[str, Simulated]
    _monitored: Monitored | None = None
    _experiment: Experiment | None = None

    @classmethod
    def begin(cls, settings: Settings) -> Machine:
        """Machine that has not run anything."""
        return cls(settings, {})

    def run(self, *, replications: int | None = None, **parameters: object) -> Simulated:
        """Replications of one experiment.

        Parameters
        ----------
        replications : int, optional
            By default as many as the user wants, up to `ENOUGH`.
        parameters
            Of the system.
        """
        from thinktime.sources.simulated import simulate

        count = min(self.settings.replications, ENOUGH) if replications is None else replications
        key = f"{count} {sorted(parameters.items())!r}"
        if key not in self._known:
            self._known[key] = simulate(SYSTEM, parameters, seed=self.settings.seed, replications=count)
        return self._known[key]

    def values(self, response: str, *, replications: int | None = None, **parameters: object) -> Array:
        """One response of every replication."""
        found: Array = self.run(replications=replications, **parameters).responses[response].to_numpy()
        return found

    @property
    def monitored(self) -> Monitored:
        """The system with its original scheduler, as its monitor saw it."""
        from thinktime.studies.anderson_sargent_1974.monitor import monitor

        if self._monitored is None:
            self._monitored = monitor(self.settings)
        return self._monitored

    @property
    def experiment(self) -> Experiment:
        """The 3x2x2 experiment."""
        from thinktime.studies.anderson_sargent_1974.experiment import Experiment

        if self._experiment is None:
            self._experiment = Experiment(self)
        return self._experiment

    @property
    def shares(self) -> dict[str, float]:
        """Share of each class among the inputs."""
        return {name: float(self._defaults[f"{name}_share"]) for name in CLASSES}

    @property
    def service_times(self) -> dict[str, Any]:
        """Fitted distribution of the service time of each class."""
        return {name: self._defaults[f"{name}_service"] for name in CLASSES}

    @property
    def _defaults(self) -> dict[str, Any]:
        from thinktime.sources.simulated import resolve

        return resolve(SYSTEM, {})
