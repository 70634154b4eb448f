"""The simulated UNIX as this study runs it: each experiment once, with the same workloads in all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import plain_mean
from thinktime.studies.brachman_1983.tables import CASES, Case
from thinktime.studies.laboratory import Settings

if TYPE_CHECKING:
    from thinktime.sources.simulated import Simulated

__all__ = ["ENOUGH", "INTERACTIONS", "RESPONSES", "SYSTEM", "Machine", "interval", "parameters_of"]

Array = NDArray[np.float64]

SYSTEM = "unix6"
INTERACTIONS = 200
"""Of each process in every run of the thesis."""
ENOUGH = 8
"""Replications of what is compared on the same workloads, and of mechanisms switched one at a time."""
RESPONSES = {
    "qdisk": ("queue_length", 1.0),
    "nswaps": ("swaps", 1.0),
    "controller_utilization_percent": ("controller_utilisation", 100.0),
    "elapsed_s": ("elapsed_s", 1.0),
}
"""Responses of the simulated system by the columns of Tables VI and VII, and what they are multiplied by."""


def interval(values: Array, unit: str = "") -> Estimate:
    """Mean over replications with the interval of Student's t."""
    return plain_mean(values).with_unit(unit)


def parameters_of(case: Case) -> dict[str, Any]:
    """Parameters of the simulated system for a run of Table VI or VII; all others are the defaults."""
    sizes = list(case.sizes_clicks)
    size = sizes[0] if len(sizes) == 1 else sizes
    return {"memory": case.mm_clicks, "processes": case.pn, "size": size, "pc": case.pc_ms}


@dataclass(slots=True)
class Machine:
    """Runs experiments, and remembers them.

    Replication r of every experiment has the same processes doing the same work: common random numbers.
    """

    settings: Settings
    _known: dict[str, Simulated] = field(default_factory=dict)

    def run(self, *, replications: int | None = None, **parameters: object) -> Simulated:
        """Replications of one experiment.

        Parameters
        ----------
        replications : int, optional
            By default as many as the user wants, up to `ENOUGH`.
        parameters
            Of the system, where they differ from the defaults.
        """
        from thinktime.sources.simulated import simulate

        count = min(self.settings.replications, ENOUGH) if replications is None else replications
        key = f"{count} {sorted(parameters.items())!r}"
        if key not in self._known:
            self._known[key] = simulate(SYSTEM, parameters, seed=self.settings.seed, replications=count)
        return self._known[key]

    def values(self, response: str, *, replications: int | None = None, **parameters: object) -> Array:
        """One response of every replication."""
        return column(self.run(replications=replications, **parameters), response)

    def measured(self, case: Case, quantity: str) -> Array:
        """Return a column of Table VI or VII, of every replication of one of its runs."""
        response, factor = RESPONSES[quantity]
        return factor * self.case(case, response)

    def case(self, case: Case, response: str, **changes: object) -> Array:
        """One response of every replication of a run of Table VI or VII.

        Parameters
        ----------
        case : Case
        response : str
        changes
            Of the parameters; with any, fewer replications are enough.
        """
        count = None if changes else self.settings.replications
        return self.values(response, replications=count, **{**parameters_of(case), **changes})

    def mean(self, case: Case, response: str) -> float:
        """Mean of one response over the replications of a run."""
        return float(self.case(case, response).mean())

    @property
    def defaults(self) -> dict[str, Any]:
        """Every parameter of the system where this study says nothing."""
        from thinktime.sources.simulated import resolve

        return resolve(SYSTEM, {})


def column(run: Simulated, response: str) -> Array:
    """One response of every replication of a run."""
    found: Array = run.responses[response].to_numpy()
    return found


def begin(settings: Settings) -> Machine:
    """Machine that has not run anything."""
    return Machine(settings)


def fullest() -> tuple[Case, ...]:
    """Return the six runs of Table VI with twelve processes, which Table VIII predicts from each other."""
    return tuple(case for case in CASES if case.table == "table06_factorial" and case.pn == 12)
