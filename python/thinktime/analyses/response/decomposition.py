"""Parts of the response times: CPU time, wait for a CPU, wait for I/O, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.log.interactions import Interactions
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means

RUN_DELAY, IO_DELAY = "run_delay_s", "io_delay_s"
"""Columns of interactions with the waits for a CPU and for block I/O."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """Mean response time as the sum of its parts, over the completed interactions that have them."""

    response: Estimate
    """Mean response time [s]; the sum of the parts."""
    service: Estimate
    """Mean CPU time [s]."""
    cpu_wait: Estimate
    """Mean wait for a CPU [s]: ready to run, but others run."""
    io_wait: Estimate | None
    """Mean wait for block I/O [s]; None where the kernel did not measure it, and the rest has it."""
    rest: Estimate
    """Mean of what remains [s]: pauses, the terminal, the driver's delay."""


def decomposed(inputs: Interactions, rows: NDArray[np.int64], level: float) -> Decomposition | None:
    r"""Means of the parts of :math:`R = S + W_{CPU} + W_{I/O} + rest`; None where no interaction has them.

    All means are over the same interactions, those with response time, CPU time and wait for a CPU, so that
    the parts add up. Intervals allow for the correlation of successive interactions
    (`stats.series.long_run`).

    Parameters
    ----------
    inputs : Interactions
        Read with the columns `RUN_DELAY` and `IO_DELAY`.
    rows : array of shape (n,)
        Numbers of the interactions.
    level : float
        Confidence of the intervals.
    """
    response, service = inputs.response[rows], inputs.service[rows]
    cpu_wait, io_wait = (inputs.columns[name][rows] for name in (RUN_DELAY, IO_DELAY))
    measured = ~np.isnan(response + service + cpu_wait)
    if not measured.any():
        return None
    response, service, cpu_wait = response[measured], service[measured], cpu_wait[measured]
    io_wait = io_wait[measured]
    # Some interactions with it and some without would make its mean that of others.
    has_io = not np.isnan(io_wait).any()
    rest = response - service - cpu_wait - (io_wait if has_io else 0.0)

    def mean(times: NDArray[np.float64]) -> Estimate:
        return batch_means.batch_ratio(times, None, level).with_unit("s")

    return Decomposition(
        response=mean(response),
        service=mean(service),
        cpu_wait=mean(cpu_wait),
        io_wait=mean(io_wait) if has_io else None,
        rest=mean(rest),
    )


def has_io(parts: Sequence[Decomposition]) -> bool:
    """True if the wait for I/O was measured in all of them."""
    return all(part.io_wait is not None for part in parts)
