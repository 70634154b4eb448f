"""Inputs with intervals, and their propagation into predictions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.models.prediction import Assumption, Prediction, Quantity, SaturatedError
from thinktime.stats import arguments
from thinktime.stats.estimate import Estimate

Known = float | Estimate
"""Number that is taken as exact, or estimate with an interval."""

Share = Annotated[Known, "share"]
"""A fraction of a whole, 0 to 1."""

P = ParamSpec("P")

ROUNDING = 1e-9
"""Relative change of a result by rounding alone."""

PLAIN = (float, int, str)
"""Types of which most arguments are, and which hold no estimate."""
EXACTLY_PLAIN = frozenset({*PLAIN, bool, type(None)})
"""The same without types derived from them: a set of types is asked in a quarter of the time."""

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
        The intervals have different levels of confidence, or a value or the end of an interval is beyond
        what can be computed with.
    """
    uncertain = _with_both_ends(inputs)
    try:
        central = evaluate({})
    except OverflowError:
        raise InputError("an input is too large to compute with; give all times in seconds") from None
    moved = [[_moved(evaluate, item, item.low), _moved(evaluate, item, item.high)] for item in uncertain]
    quantities = []
    for name, (value, unit) in central.items():
        low, high = _reach(value, [[end[name][0] for end in pair] for pair in moved])
        quantities.append(Quantity(name, value, unit, low=low, high=high))
    return tuple(quantities)


def _with_both_ends(inputs: Iterable[object]) -> list[Estimate]:
    """Estimates among the inputs that have an interval, each once; all of one level."""
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
    return uncertain


def with_intervals(model: Callable[P, Prediction]) -> Callable[P, Prediction]:
    """Model whose arguments may hold estimates: their intervals are propagated as `propagated` does.

    Estimates are looked for in lists, mappings and records among the arguments; `model` is called with their
    values, and for each estimate with either end of its interval. Where an end saturates a station, results
    have an infinite end, and an assumption that is not met names the station and the value from which on it
    is saturated.
    """

    @functools.wraps(model)
    def estimated(*args: P.args, **kwargs: P.kwargs) -> Prediction:
        # As mostly where thousands of networks are solved, each of which takes microseconds.
        if all(map(_is_plain, args)) and all(map(_is_plain, kwargs.values())):
            return model(*args, **kwargs)
        given = (args, kwargs)
        estimates = list(_estimates(given))
        if not estimates:
            return model(*args, **kwargs)
        uncertain = _with_both_ends(estimates)
        central = _called(model, given, {})
        if not uncertain:
            return central
        ends = [(item, end or 0.0) for item in uncertain for end in (item.low, item.high)]
        moved = [_at_end(model, given, item, end) for item, end in ends]
        limits = [one for one in moved if isinstance(one, Assumption)]
        return replace(
            central,
            quantities=tuple(_between(one, moved) for one in central.quantities),
            assumptions=(*central.assumptions, *limits),
        )

    return estimated


def _at_end(
    model: Callable[..., Prediction], given: tuple[Any, Any], item: Estimate, end: float
) -> Prediction | Assumption:
    """Prediction at an end of an input's interval, or the assumption that it does not saturate a station."""
    try:
        return _called(model, given, {item: end})
    except SaturatedError as error:
        return _limit(model, given, item, end, error.loads)


def _limit(
    model: Callable[..., Prediction],
    given: tuple[Any, Any],
    item: Estimate,
    end: float,
    loads: Mapping[str, float],
) -> Assumption:
    """Assumption that no station is saturated up to an end of an input, which one is there; with its limit.

    Loads are linear in an arrival rate or demand: those further outside give the value at which the first
    station is saturated.
    """
    further = end + (end - item.value)
    try:
        _called(model, given, {item: further})
    except SaturatedError as error:
        reached = {
            end + (1.0 - load) * (further - end) / (error.loads[name] - load): name
            for name, load in loads.items()
            if load >= 1.0
        }
    else:
        raise InputError(f"a station is saturated at {end:g} and not at {further:g}")
    first = min(reached, key=lambda value: abs(value - item.value))
    unit = f" {item.unit}" if item.unit else ""
    return Assumption(
        f"no station is saturated within the interval of the input {item.value:g}{unit}",
        False,
        f"{reached[first]} {'above' if end > item.value else 'below'} {first:.4g}{unit}",
    )


def _called(model: Callable[..., Prediction], given: tuple[Any, Any], choice: Choice) -> Prediction:
    try:
        args, kwargs = _chosen(given, choice)
        return model(*args, **kwargs)
    except SaturatedError:
        raise
    except InputError as error:
        if not choice:
            raise
        ((item, end),) = choice.items()
        raise InputError(f"at {end:g}, an end of the interval of {item!r}: {error}") from None


def _is_plain(given: Any) -> bool:
    """True for a plain value or a list of such, which hold no estimate; other values may hold none either."""
    kind = type(given)
    return kind in EXACTLY_PLAIN or (kind in (list, tuple) and EXACTLY_PLAIN.issuperset(map(type, given)))


def _estimates(given: object) -> Iterator[Estimate]:
    """All estimates in lists, mappings and records."""
    if isinstance(given, PLAIN):
        return
    if isinstance(given, Estimate):
        yield given
    elif isinstance(given, (list, tuple)):
        for inner in given:
            if not isinstance(inner, PLAIN):
                yield from _estimates(inner)
    elif isinstance(given, Mapping):
        for inner in given.values():
            yield from _estimates(inner)
    elif is_dataclass(given) and not isinstance(given, type):
        for field in fields(given):
            yield from _estimates(getattr(given, field.name))


def _chosen(given: Any, choice: Choice) -> Any:
    """`given` with a number in place of each estimate."""
    if not any(True for _ in _estimates(given)):
        return given
    if isinstance(given, Estimate):
        return point(given, choice)
    if isinstance(given, Mapping):
        return {name: _chosen(inner, choice) for name, inner in given.items()}
    if isinstance(given, (list, tuple)):
        return type(given)(_chosen(inner, choice) for inner in given)
    held = {field.name: _chosen(getattr(given, field.name), choice) for field in fields(given) if field.init}
    return replace(given, **held)


def _between(quantity: Quantity, moved: Sequence[Prediction | Assumption]) -> Quantity:
    """Quantity with the interval that the moved inputs give it.

    Each pair of predictions is one input; an assumption in place of one says that it saturates a station.
    There is no steady state then: what changes with the input grows without bound or falls to 0, opposite to
    its change at the other end.
    """
    central = np.asarray(quantity.value)
    pairs = []
    for pair in zip(moved[::2], moved[1::2], strict=True):
        changes = [
            None if isinstance(one, Assumption) else np.asarray(one[quantity.name]) - central for one in pair
        ]
        known = next(change for change in changes if change is not None)
        pairs.append([_unbounded(known, central) if change is None else change for change in changes])
    both = np.array(pairs)
    with np.errstate(invalid="ignore"):
        down = np.sqrt((np.minimum(both.min(axis=1), 0.0) ** 2).sum(axis=0))
        up = np.sqrt((np.maximum(both.max(axis=1), 0.0) ** 2).sum(axis=0))
    saturated = any(isinstance(one, Assumption) for one in moved)
    usable = not np.isnan(down + up).any() if saturated else np.isfinite(down + up).all()
    if not usable or not (down + up).any():
        return quantity
    low, high = central - down, central + up
    if saturated:
        low = np.maximum(low, 0.0)
        if quantity.name == "utilisation":
            high = np.minimum(high, np.maximum(central, 1.0))
    if not central.ndim:
        return replace(quantity, low=float(low), high=float(high))
    return replace(quantity, ends=np.stack([low, high]))


def _unbounded(other: NDArray[np.float64], central: NDArray[np.float64]) -> NDArray[np.float64]:
    """Change without bound, against that at the other end; none where that is rounding."""
    away = np.where(other > 0.0, -np.inf, np.inf)
    result: NDArray[np.float64] = np.where(np.abs(other) > ROUNDING * np.abs(central), away, 0.0)
    return result


def _moved(
    evaluate: Callable[[Choice], Mapping[str, tuple[float, str]]], item: Estimate, end: float | None
) -> Mapping[str, tuple[float, str]]:
    """Quantities with `item` at one end of its interval, which may be where no quantity exists."""
    try:
        return evaluate({item: end or 0.0})
    except ArithmeticError:
        unit = f" {item.unit}" if item.unit else ""
        raise InputError(
            f"nothing can be predicted at {end or 0.0:g}{unit}, an end of the interval of the input "
            f"{item.value:g}{unit}; give a narrower interval"
        ) from None


def _reach(value: float, moved: list[list[float]]) -> tuple[float | None, float | None]:
    """Ends of the interval; None where the value does not change, or changes beyond all bounds."""
    down = math.hypot(*(min(min(pair) - value, 0.0) for pair in moved))
    up = math.hypot(*(max(max(pair) - value, 0.0) for pair in moved))
    if down == up == 0.0 or not math.isfinite(down + up):
        return None, None
    return value - down, value + up
