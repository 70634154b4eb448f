"""What every model returns: figures, and what must hold for them to be true."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a model takes for granted.

    Parameters
    ----------
    text : str
        The assumption, as a statement.
    met : bool or None
        Whether the inputs meet it; None when they cannot tell.
    found : str
        The figures of the inputs that say so, where there are any: ``A 95 %, B 64 %``.
    """

    text: str
    met: bool | None = None
    found: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A predicted figure, or one a class, station or population.

    Parameters
    ----------
    name : str
        What it is, with its unit at the end where it has one: ``response_s``.
    value : float or array
        In `unit`; an array is read-only.
    unit : str
        SI unit or noun; empty for a pure number.
    low, high : float or None
        Ends of its interval where inputs came with intervals; the model's own error is not in it.
    """

    name: str
    value: float | NDArray[np.float64]
    unit: str
    _: KW_ONLY
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.value, np.ndarray):
            self.value.setflags(write=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prediction:
    """What a model says, how, and under which assumptions.

    Parameters
    ----------
    method : str
        The model in a few words.
    source : str
        Where its formula is published.
    quantities : tuple of Quantity
        The figures; ``prediction["response_s"]`` is the value of one.
    assumptions : tuple of Assumption
        What must hold.
    """

    method: str
    source: str
    quantities: tuple[Quantity, ...]
    assumptions: tuple[Assumption, ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Value of the quantity `name`."""
        return self.quantity(name).value

    def quantity(self, name: str) -> Quantity:
        """Return the quantity `name`, with its unit and interval."""
        for quantity in self.quantities:
            if quantity.name == name:
                return quantity
        known = ", ".join(quantity.name for quantity in self.quantities)
        raise KeyError(f"{self.method} does not predict {name!r}; it predicts {known}")

    @property
    def holds(self) -> bool | None:
        """Whether all assumptions are met: False when one is not, None when one is not known."""
        met = {assumption.met for assumption in self.assumptions}
        return False if False in met else None if None in met else True


def positive(name: str, value: float) -> float:
    """`value` if it is a finite number above zero; an InputError that names it if not."""
    if not 0.0 < value < float("inf"):
        raise InputError(f"{name} is {value}; give a finite number above 0")
    return float(value)


def at_least_zero(name: str, value: float) -> float:
    """`value` if it is a finite number from zero up; an InputError that names it if not."""
    if not 0.0 <= value < float("inf"):
        raise InputError(f"{name} is {value}; give a finite number from 0 up")
    return float(value)


POPULATION_MAX = 2**32 - 1


def count(name: str, value: int, least: int = 1) -> int:
    """`value` if it is a whole number from `least` up; an InputError that names it if not."""
    if int(value) != value or not least <= value <= POPULATION_MAX:
        raise InputError(f"{name} is {value}; give a whole number from {least} to {POPULATION_MAX}")
    return int(value)
