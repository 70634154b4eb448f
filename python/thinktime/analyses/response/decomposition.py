"""Parts of the response times: CPU time, wait for a CPU, wait for I/O, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.log.interaction_pieces import Piece
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import looks as looks_at
from thinktime.stats.series.looks import Looks

_Array = NDArray[np.float64]

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


def can_divide(piece: Piece) -> NDArray[np.bool_]:
    """True for the interactions that have a response time, CPU time and a wait for a CPU."""
    measured: NDArray[np.bool_] = ~np.isnan(piece.response + piece.service + piece.columns[RUN_DELAY])
    return measured


def divided(piece: Piece, rows: NDArray[np.int64]) -> tuple[_Array, _Array, _Array, _Array]:
    """Response time, CPU time, and waits for a CPU and for I/O, of interactions that `can_divide` found.

    Parameters
    ----------
    piece : Piece
        Interactions with the columns `RUN_DELAY` and `IO_DELAY`.
    rows : array
        Places of those.
    """
    cpu_wait, io_wait = (piece.columns[name][rows] for name in (RUN_DELAY, IO_DELAY))
    return piece.response[rows], piece.service[rows], cpu_wait, io_wait


def decomposed(
    looks: Looks[Piece],
    parts: Callable[[Piece], tuple[_Array, _Array, _Array, _Array]],
    level: float,
    *,
    has_io: bool,
) -> Callable[[], Decomposition]:
    r"""Means of the parts of :math:`R = S + W_{CPU} + W_{I/O} + rest`.

    All means are over the same interactions, those with response time, CPU time and wait for a CPU, so that
    the parts add up. Intervals allow for the correlation of successive interactions
    (`stats.series.long_run`).

    Parameters
    ----------
    looks : Looks
        Interactions, of which at least one can be divided.
    parts : callable
        `divided` of a piece.
    level : float
        Confidence of the intervals.
    has_io : bool
        True if all of them have the wait for I/O: of some interactions with it and some without, its mean
        would be that of others.
    """

    def rest(piece: Piece) -> _Array:
        response, service, cpu_wait, io_wait = parts(piece)
        return response - service - cpu_wait - (io_wait if has_io else 0.0)

    def mean(values: Callable[[Piece], _Array]) -> Callable[[], Estimate]:
        return in_seconds(looks.ask(looks_at.mean(values, level)))

    response = mean(lambda piece: parts(piece)[0])
    service = mean(lambda piece: parts(piece)[1])
    cpu_wait = mean(lambda piece: parts(piece)[2])
    io_wait = mean(lambda piece: parts(piece)[3]) if has_io else None
    remains = mean(rest)
    return lambda: Decomposition(
        response=response(),
        service=service(),
        cpu_wait=cpu_wait(),
        io_wait=None if io_wait is None else io_wait(),
        rest=remains(),
    )


def in_seconds(asked: Callable[[], Estimate | None]) -> Callable[[], Estimate]:
    """Estimate of a time of which there are observations."""

    def found() -> Estimate:
        estimate = asked()
        assert estimate is not None, "there are observations"
        return estimate.with_unit("s")

    return found


def has_io(parts: Sequence[Decomposition]) -> bool:
    """True if the wait for I/O was measured in all of them."""
    return all(part.io_wait is not None for part in parts)
