"""What every figure of thinktime is made of: a value with its interval, n and method."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number that was computed from data, with how sure it is.

    Parameters
    ----------
    value : float
        The point estimate, in `unit`.
    unit : str
        SI unit or noun (``s``, ``1/s``, ``byte``, ``user``); empty for a pure number.
    low, high : float or None
        Ends of the interval at confidence `level`; None where the method gives none.
    n : int
        Number of observations behind the estimate.
    method : str
        How value and interval were computed, in a few words: ``"mean, batch means (20 batches)"``.
    level : float
        Nominal confidence of the interval.
    """

    value: float
    unit: str
    n: int
    method: str
    low: float | None = None
    high: float | None = None
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The answer of an analysis whose question makes no sense for this log: why, and what would help.

    A value, not an exception: a report prints it where the figure would have stood.
    """

    reason: str
    remedy: str = ""
