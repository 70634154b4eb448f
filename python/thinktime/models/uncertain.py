"""Inputs with intervals, and their propagation into predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Annotated

from thinktime.errors import InputError
from thinktime.models.prediction import Quantity
from thinktime.stats import arguments
from thinktime.stats.estimate import Estimate

Known = float | Estimate
"""Number that is taken as exact, or estimate with an interval."""

Share = Annotated[Known, "share"]
"""A fraction of a whole, 0 to 1."""

Choice = Mapping[Estimate, float]
"""Value to use for an estimate; its own where it is not named."""


def point(known: Known, choice: Choice | None = None) -> float:
    """Value of `known`, or the one that `choice` gives instead.

    Raises
    ------
    TypeError
        `known` is neither a number nor an estimate.
    """
    if not isinstance(known, Estimate):
        if not arguments.is_number(known):
            raise TypeError(f"{arguments.shown(known)} is no input; give a number or an Estimate")
        return float(known)
    return known.value if choice is None else choice.get(known, known.value)


def ends(known: Known) -> tuple[float, float]:
    """Ends of the interval; the value itself where there is none."""
    if not isinstance(known, Estimate):
        return point(known), point(known)
    low = known.value if known.low is None else known.low
    return low, known.value if known.high is None else known.high


def above(known: Known | None, limit: Known) -> bool | None:
    """True if `known` is above `limit`, False if not; None if their intervals overlap or it is not known."""
    if known is None:
        return None
    (low, high), (limit_low, limit_high) = ends(known), ends(limit)
    return True if low > limit_high else False if high <= limit_low else None


def scaled(known: Known, factor: float) -> Known:
    """Product of `known` and a factor above 0, with its interval."""
    if not isinstance(known, Estimate):
        return known * factor
    low, high = (None if end is None else end * factor for end in (known.low, known.high))
    return replace(known, value=known.value * factor, low=low, high=high)


def propagated(
    evaluate: Callable[[Choice], Mapping[str, tuple[float, str]]], inputs: Iterable[Known | None]
) -> tuple[Quantity, ...]:
    r"""Quantities with intervals propagated from those of the inputs.

    .. math:: f(\hat x)_{-}^{+} = f(\hat x) \pm
              \sqrt{\sum_i \big(f(\hat x_1, \dots, x_i^{\pm}, \dots, \hat x_n) - f(\hat x)\big)^2}

    Each input is moved to either end of its interval with the others at their values, and the changes of one
    sign add in quadrature: first order in the size of the intervals, for independent errors (JCGM 100:2008,
    5.1.2, with differences for derivatives). An estimate that is used twice is one measurement and moves in
    both places.

    Parameters
    ----------
    evaluate : callable
        Value and unit of each quantity, by name, for a choice of the inputs.
    inputs : iterable of float, Estimate or None
        Arguments of `evaluate`; only estimates with both ends have an influence.

    Raises
    ------
    InputError
        The intervals have different levels of confidence.
    """
    uncertain = [
        item
        for item in dict.fromkeys(item for item in inputs if isinstance(item, Estimate))
        if item.low is not None and item.high is not None
    ]
    levels = sorted({item.level for item in uncertain})
    if len(levels) > 1:
        raise InputError(
            f"the inputs have intervals at levels {' and '.join(map(str, levels))}; give all at one level"
        )
    central = evaluate({})
    moved = [[evaluate({item: item.low or 0.0}), evaluate({item: item.high or 0.0})] for item in uncertain]
    quantities = []
    for name, (value, unit) in central.items():
        low, high = _reach(value, [[end[name][0] for end in pair] for pair in moved])
        quantities.append(Quantity(name, value, unit, low=low, high=high))
    return tuple(quantities)


def _reach(value: float, moved: list[list[float]]) -> tuple[float | None, float | None]:
    """Ends of the interval; None where the value does not change, or changes beyond all bounds."""
    down = math.hypot(*(min(min(pair) - value, 0.0) for pair in moved))
    up = math.hypot(*(max(max(pair) - value, 0.0) for pair in moved))
    if down == up == 0.0 or not math.isfinite(down + up):
        return None, None
    return value - down, value + up
