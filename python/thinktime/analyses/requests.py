"""What the overhead regression stands on: system time, and the rates that may explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses import observations
from thinktime.analyses.observations import SUMS, Observations, Quantity

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Design", "build", "candidates"]

Array = NDArray[np.float64]

MEASURED_LEAST = 0.9
"""A rate that is null in more than a tenth of the intervals would cost too many of them."""
KEPT_APART = ("page_faults",)
"""Sums whose parts cost so differently that they are explained one by one."""


@dataclass(frozen=True, slots=True)
class Design:
    """Observations ready for a regression.

    Parameters
    ----------
    seen : Observations
        All intervals of the log.
    rows : ndarray of int
        Intervals used: those in which everything needed was measured.
    target : ndarray
        System time per second [s/s] of each row.
    explained : tuple of str
        Columns that the target adds up.
    terms : tuple of Quantity
        Candidates, in the order of the columns of `rates`.
    rates : ndarray of shape (rows, terms)
        Requests per second.
    left_out : tuple of (Quantity, str)
        Candidates that cannot be used, and why.
    """

    seen: Observations
    rows: NDArray[np.int64]
    target: Array
    explained: tuple[str, ...]
    terms: tuple[Quantity, ...]
    rates: Array
    left_out: tuple[tuple[Quantity, str], ...]


def candidates(log: Log) -> tuple[str, ...]:
    """Names of everything that may cost system time: requests, reads and writes together, and user time."""
    whole = {column: name for name, parts in SUMS.items() if name not in KEPT_APART for column in parts}
    requests = observations.role_columns(log, "request")
    return (*dict.fromkeys(whole.get(column, column) for column in requests), "user_time")


def build(log: Log, names: Sequence[str], *, scaled: bool) -> Design | str:
    """Read what the regression needs, or say why there is no regression.

    Parameters
    ----------
    log : Log
    names : sequence of str
        Candidates, see `candidates`.
    scaled : bool
        Whether the target is the system's share of the ticks times the exact busy time.
    """
    explained = observations.role_columns(log, "system_time")
    user = observations.role_columns(log, "user_time")
    if not explained:
        return "no column of the samples has the role system_time"
    terms = observations.quantities(log, names)
    columns = [column for item in terms for column in item.columns]
    seen = observations.read(log, [*explained, *user, *columns, "busy_exact_s", "recorder_cpu_s"])
    if not len(seen):
        return "the log has no samples"
    target = seen.rate(explained)
    if scaled:
        target = _scaled(seen, explained, user)
    if np.isnan(target).all():
        return f"system time ({', '.join(explained)}) was not measured" + (" exactly" if scaled else "")
    used, left_out = [], []
    for item in terms:
        if reason := _unusable(seen.rate(item.columns)[~np.isnan(target)]):
            left_out.append((item, reason))
        else:
            used.append(item)
    rates = np.column_stack([seen.rate(item.columns) for item in used]) if used else np.zeros((len(seen), 0))
    rows = np.flatnonzero(~np.isnan(target) & ~np.isnan(rates).any(axis=1))
    return Design(seen, rows, target[rows], explained, tuple(used), rates[rows], tuple(left_out))


def _scaled(seen: Observations, system: Sequence[str], user: Sequence[str]) -> Array:
    ticks = seen.total([*system, *user])
    share = np.divide(seen.total(system), ticks, out=np.zeros(len(seen)), where=ticks > 0)
    result: Array = np.where(np.isnan(ticks), np.nan, share * seen.rate(["busy_exact_s"]))
    return result


def _unusable(rate: Array) -> str:
    """Why a rate cannot be used; empty where it can."""
    measured = rate[~np.isnan(rate)]
    if not len(measured):
        return "not measured in this log"
    if len(measured) < MEASURED_LEAST * len(rate):
        return f"measured in {len(measured)} of {len(rate)} intervals only"
    if not measured.any():
        return "never happened in this log"
    if np.ptp(measured) <= 1e-9 * np.max(np.abs(measured)):
        return "constant in this log, so that its cost cannot be told from the base"
    return ""
