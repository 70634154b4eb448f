"""Result of every model: predicted quantities, and the assumptions that they rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.notation import plain
from thinktime.notation import quantity as in_print
from thinktime.results import Result
from thinktime.stats import arguments
from thinktime.stats.estimate import Estimate


class SaturatedError(InputError):
    """Arrivals bring more work to a station than it can do: there is no steady state."""

    def __init__(self, message: str, loads: Mapping[str, float]) -> None:
        super().__init__(message)
        self.loads = loads
        """Work that arrivals bring to each station, over what it can do."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """Assumption of a model."""

    text: str
    """The assumption, as a statement."""
    met: bool | None = None
    """True if the inputs meet it; None if they do not decide it."""
    observed: str = ""
    """Values of the inputs that decide it, where there are any: ``A 95 %, B 64 %``."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """Predicted number, or one per class, station or population."""

    name: str
    """Name, with its unit at the end where it has one: ``response_s``."""
    value: float | NDArray[np.float64]
    """In `unit`; an array is read-only."""
    unit: str
    """SI unit or noun; empty for a pure number."""
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    """Ends of its interval where inputs have intervals; the error of the model is not included."""
    ends: NDArray[np.float64] | None = None
    """Of an array whose inputs have intervals, the low ends and the high ends: an array of shape (2, ...)."""

    def __post_init__(self) -> None:
        for array in (self.value, self.ends):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    def __str__(self) -> str:
        """Value and interval with their unit; of an array its number of values and the range."""
        if isinstance(self.value, np.ndarray):
            ends = [in_print(float(end(self.value)), self.unit) for end in (np.min, np.max)]
            return plain(f"{self.value.size} values, {ends[0]} to {ends[1]}")
        return str(Estimate(value=self.value, unit=self.unit, n=0, method="", low=self.low, high=self.high))


_NAME, _VALUE, _UNIT, _LOW, _HIGH, _ENDS = (getattr(Quantity, item.name).__set__ for item in fields(Quantity))


def plain_quantity(name: str, value: float | NDArray[np.float64], unit: str) -> Quantity:
    """Quantity without an interval, whose array is read-only already, in a third of the constructor's time.

    For models of microseconds: five of these, made by the constructor, take as long as most networks.
    """
    made = object.__new__(Quantity)
    _NAME(made, name)
    _VALUE(made, value)
    _UNIT(made, unit)
    _LOW(made, None)
    _HIGH(made, None)
    _ENDS(made, None)
    return made


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Prediction(Result):
    """Prediction of a model, with its method, source and assumptions."""

    MAIN: ClassVar[str] = "quantities"

    method: str
    """Name of the model."""
    source: str
    """Publication of its formula."""
    quantities: tuple[Quantity, ...]
    """Predicted numbers; ``prediction["response_s"]`` is the value of one."""
    assumptions: tuple[Assumption, ...] = ()
    """Conditions under which they hold."""

    def __getitem__(self, name: str) -> float | NDArray[np.float64]:
        """Value of the quantity `name`."""
        return self.quantity(name).value

    def number(self, name: str) -> float:
        """Value of the quantity `name`, which is one number.

        Raises
        ------
        TypeError
            It has a value for each class, station or population.
        """
        value = self[name]
        if isinstance(value, np.ndarray):
            raise TypeError(f"{name} has {value.size} values; take prediction.array({name!r})")
        return value

    def array(self, name: str) -> NDArray[np.float64]:
        """Values of the quantity `name`, one per class, station or population; one number as the only one."""
        return np.atleast_1d(self[name])

    def quantity(self, name: str) -> Quantity:
        """Quantity `name`, with its unit and interval.

        Raises
        ------
        KeyError
            The model does not predict it; the message lists the names.
        """
        for quantity in self.quantities:
            if quantity.name == name:
                return quantity
        names = ", ".join(quantity.name for quantity in self.quantities)
        raise KeyError(f"{self.method} does not predict {name!r}; it predicts {names}")

    def _records(self) -> Sequence[Mapping[str, float | str | None]]:
        """A row for each number: arrays have one for each of their values, counted from 1."""
        rows: list[Mapping[str, float | str | None]] = []
        for item in self.quantities:
            values = np.asarray(item.value)
            for number, index in enumerate(np.ndindex(values.shape), start=1):
                low, high = (
                    (item.low, item.high)
                    if item.ends is None
                    else (float(item.ends[0][index]), float(item.ends[1][index]))
                )
                rows.append(
                    {
                        "quantity": item.name,
                        "number": number if values.shape else None,
                        "value": float(values[index]),
                        "low": low,
                        "high": high,
                        "unit": item.unit,
                    }
                )
        return rows

    def __repr__(self) -> str:
        """Name of the model, and a line for each quantity."""
        lines = (f"  {item.name}: {item}" for item in self.quantities)
        return "\n".join([f"Prediction: {self.method}", *lines])

    @property
    def holds(self) -> bool | None:
        """True if all assumptions are met; False if one is not, None if one is not known."""
        met = {assumption.met for assumption in self.assumptions}
        return False if False in met else None if None in met else True


def _central(name: str, value: float | Estimate) -> float:
    """Number, or the value of an estimate.

    Raises
    ------
    TypeError
        `value` is neither.
    """
    if isinstance(value, Estimate):
        return value.value
    if not arguments.is_number(value):
        raise TypeError(f"{name} is {arguments.shown(value)} ({type(value).__name__}); give one number")
    return value


def positive(name: str, value: float | Estimate) -> float:
    """Finite number above zero, of an estimate its value.

    Raises
    ------
    TypeError
        `value` is no number.
    InputError
        It is not finite, or not above zero.
    """
    if type(value) is float and 0.0 < value < math.inf:
        return value
    value = _central(name, value)
    if not 0.0 < value < math.inf:
        raise InputError(f"{name} is {value}; give a finite number above 0")
    return float(value)


def at_least_zero(name: str, value: float | Estimate) -> float:
    """Finite number from zero up, of an estimate its value.

    Raises
    ------
    TypeError
        `value` is no number.
    InputError
        It is not finite, or negative.
    """
    if type(value) is float and 0.0 <= value < math.inf:
        return value
    value = _central(name, value)
    if not 0.0 <= value < math.inf:
        raise InputError(f"{name} is {value}; give a finite number of at least 0")
    return float(value)


POPULATION_MAX = 2**32 - 1


def count(name: str, value: float, least: int = 1, most: int = POPULATION_MAX) -> int:
    """Whole number from `least` to `most`.

    Raises
    ------
    TypeError
        `value` is no number.
    InputError
        It is not whole, or outside.
    """
    if type(value) is int and least <= value <= most:
        return value
    value = _central(name, value)
    if not (math.isfinite(value) and int(value) == value and least <= value <= most):
        raise InputError(f"{name} is {value}; give a whole number from {least} to {most}")
    return int(value)
