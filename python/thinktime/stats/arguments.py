"""Checks of the arguments of public functions: a value that is fit for use, or an error that names it.

Anything that NumPy converts to an array of numbers is accepted: lists, tuples, ranges, arrays, columns of
data frames. A value of a wrong kind raises `TypeError`, one that is out of range `InputError`; the message
states which argument it was, what it was and what would be right.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError

Array = NDArray[np.float64]
Record = TypeVar("Record")
Item = TypeVar("Item")

NUMERIC_KINDS = "biuf"
"""Kinds of NumPy arrays that count as numbers: truth values, integers, floats."""
SHOWN_MOST = 60
"""Characters of a wrong value that a message quotes."""


def shown(value: object) -> str:
    """Short representation of a wrong value for a message."""
    try:
        text = repr(value)
    except Exception:
        text = "a value without a representation"
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_MOST else f"{text[: SHOWN_MOST - 3]}..."


def numeric(values: object, name: str, wanted: str = "an array of numbers") -> Array:
    """Numbers in an array of any shape, finite or not.

    Raises
    ------
    TypeError
        `values` are not numbers.
    """
    try:
        array = np.asarray(values)
    except Exception:
        raise TypeError(f"{name} is {shown(values)}; give {wanted}") from None
    if array.dtype.kind not in NUMERIC_KINDS:
        raise TypeError(f"{name} is {shown(values)} ({type(values).__name__}); give {wanted}")
    return array.astype(np.float64, copy=False)


def sample(values: ArrayLike, name: str = "values", *, least: int = 0) -> Array:
    """Numbers along one axis, all finite.

    Parameters
    ----------
    values : array of shape (n,)
    name : str
        Name of the argument, for messages.
    least : int
        Smallest number of values.

    Raises
    ------
    TypeError
        `values` are not numbers.
    InputError
        They have more than one axis, are fewer than `least`, or one is not finite.
    """
    array = numeric(values, name, "a list or array of numbers")
    if array.ndim != 1:
        raise InputError(f"{name} has the shape {array.shape}; give numbers along one axis")
    if len(array) < least:
        raise InputError(f"{name} has {len(array)} values, which are too few; {least} are needed")
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InputError(f"{name}[{place}] is {array[place]}; leave out values that are not finite")
    return array


def table(values: ArrayLike, name: str, *, columns: int | None = None) -> Array:
    """Finite numbers along two axes; of `columns` columns where that is given.

    Raises
    ------
    TypeError
        `values` are not numbers.
    InputError
        They do not have two axes or `columns` columns, or one is not finite.
    """
    array = numeric(values, name, "a table of numbers")
    if array.ndim != 2 or (columns is not None and array.shape[1] != columns):
        wanted = "two axes" if columns is None else f"two axes and {columns} columns"
        raise InputError(f"{name} has the shape {array.shape}; give a table of {wanted}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds a value that is not finite; leave out rows that were not measured")
    return array


def samples(values: Iterable[ArrayLike], name: str, *, least: int, each: int) -> list[Array]:
    """At least `least` samples of at least `each` finite numbers; of a mapping, its values in their order.

    Raises
    ------
    TypeError
        `values` is no sequence of samples of numbers.
    InputError
        There are too few samples, or one is too short or holds a value that is not finite.
    """
    items = (
        values
        if isinstance(values, Mapping)
        else dict(enumerate(sequence(values, name, "a list of samples")))
    )
    if len(items) < least:
        raise InputError(f"{name} holds {len(items)} samples; give {least} or more")
    return [sample(item, f"{name}[{shown(place)}]", least=each) for place, item in items.items()]


def sequence(values: Iterable[Any], name: str, wanted: str = "a list") -> list[Any]:
    """Items of any iterable but a text.

    Raises
    ------
    TypeError
        `values` cannot be iterated, or is a text.
    """
    if type(values) is list:
        # As mostly: the abstract type takes as long as ten items.
        return values.copy()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {shown(values)} ({type(values).__name__}); give {wanted}")
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{name} is {shown(values)}; give {wanted}") from None


def is_number(value: object) -> bool:
    """True for one real number, finite or not; False for a truth value or an array."""
    # A float first, as most are: the abstract type takes ten times as long.
    return isinstance(value, float) or (
        isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    )


def number(value: float, name: str, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Finite number from `low` to `high`, ends included.

    Raises
    ------
    TypeError
        `value` is no number; an array of one number is none.
    InputError
        It is not finite, or outside.
    """
    if not is_number(value):
        raise TypeError(f"{name} is {shown(value)} ({type(value).__name__}); give one number")
    if not (math.isfinite(value) and low <= value <= high):
        raise InputError(f"{name} is {shown(value)}; give {_range(low, high)}")
    return float(value)


def _range(low: float, high: float) -> str:
    if low == -math.inf and high == math.inf:
        return "a finite number"
    if high == math.inf:
        return f"a finite number from {low:g} up"
    return f"a number from {low:g} to {high:g}" if low > -math.inf else f"a number up to {high:g}"


def whole(value: int, name: str, *, least: int = 0, most: int | None = None) -> int:
    """Whole number from `least` to `most`.

    Raises
    ------
    TypeError
        `value` is no whole number.
    InputError
        It is outside.
    """
    is_whole = isinstance(value, numbers.Integral) or (
        isinstance(value, (float, np.floating)) and float(value).is_integer()
    )
    if isinstance(value, (bool, np.bool_)) or not is_whole:
        raise TypeError(f"{name} is {shown(value)} ({type(value).__name__}); give a whole number")
    if value < least or (most is not None and value > most):
        wanted = f"from {least} up" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} is {shown(value)}; give a whole number {wanted}")
    return int(value)


def level(value: float, name: str = "level") -> float:
    """Confidence or probability strictly between 0 and 1.

    Raises
    ------
    TypeError
        `value` is no number.
    InputError
        It is not between 0 and 1; a percentage is answered with the fraction that it means.
    """
    checked = number(value, name)
    if not 0.0 < checked < 1.0:
        percent = f", {checked / 100:g} for {checked:g} %" if 1.0 < checked < 100.0 else ""
        raise InputError(f"{name} is {shown(value)}; give a fraction between 0 and 1{percent}")
    return checked


def _article(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


def record(value: object, kind: type[Record], name: str) -> Record:
    """`value` if it is of the class `kind`.

    Raises
    ------
    TypeError
        It is not.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {shown(value)} ({type(value).__name__}); give {_article(kind)}")
    return value


def records(values: Iterable[Record], kind: type[Record], name: str, *, least: int = 0) -> list[Record]:
    """At least `least` values, all of the class `kind`.

    Raises
    ------
    TypeError
        `values` is no list, or an item is of another class.
    InputError
        There are fewer.
    """
    items = sequence(values, name, f"a list of {kind.__name__}")
    if len(items) < least:
        raise InputError(f"{name} holds {len(items)}; give {least} or more")
    return [record(item, kind, f"{name}[{place}]") for place, item in enumerate(items)]


def choice(value: object, allowed: Sequence[Item], name: str) -> Item:
    """`value` if it is one of `allowed`.

    Raises
    ------
    InputError
        It is not.
    """
    if not isinstance(value, type(allowed[0])) or value not in allowed:
        raise InputError(f"{name} is {shown(value)}; give one of {', '.join(map(repr, allowed))}")
    return value


def lifetimes(values: ArrayLike, least: int, purpose: str, *, zeros: bool = False) -> Array:
    """Lifetimes (service times, think times, times to failure) in ascending order.

    Parameters
    ----------
    values : array of shape (n,)
        Lifetimes, not negative.
    least : int
        Smallest number of values, at least one.
    purpose : str
        Method that needs them, for messages: ``"a test of ageing"``.
    zeros : bool
        Accept a sample in which every value is zero.

    Raises
    ------
    TypeError
        `values` are not numbers.
    InputError
        Fewer than `least` values, one that is not finite or negative, or all zero.
    """
    data = numeric(values, "values", "a list or array of numbers")
    if data.ndim != 1:
        raise InputError(f"values has the shape {data.shape}; give numbers along one axis")
    data, n = np.sort(data), len(data)
    if n < least:
        raise InputError(f"{n} values are too few for {purpose}; {least} are needed")
    # NaN is sorted to the end.
    for end in (data[0], data[-1]):
        if not 0.0 <= end < np.inf:
            raise InputError(f"{purpose} needs values that are finite and not negative; one is {end:g}")
    if not zeros and data[-1] == 0.0:
        raise InputError(f"{purpose} needs values that differ from zero; all {n} are zero")
    return data
