"""Values that the controls of a page take: CPUs, think times, and memories around those of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thinktime.documents import format as shown
from thinktime.documents.explorer import Control, Option
from thinktime.errors import InputError
from thinktime.models.sizing import Machine
from thinktime.predictions.size.answer import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Values of a control."""

    control: Control
    values: tuple[Any, ...]

    @property
    def start(self) -> int:
        """Place of the value that is set when the page opens."""
        return self.control.start

    @classmethod
    def of(
        cls, names: tuple[str, str], values: Sequence[Any], start: Any, option: Callable[[Any], Option]
    ) -> Choice:
        """Choice of a control with a name and a label."""
        control = Control(
            name=names[0],
            label=names[1],
            options=tuple(option(value) for value in values),
            start=list(values).index(start),
        )
        return cls(control=control, values=tuple(values))

    @classmethod
    def none(cls, name: str) -> Choice:
        """The one value None, of a control that is not shown."""
        return cls.of((name, name), [None], None, lambda _: Option(text="", key="", argument=""))


def cpus(plan: Plan, measured: Machine, factors: Sequence[float]) -> Choice:
    """Numbers of CPUs, None for those that were measured, of which background load leaves something."""
    here = plan.cpus or measured.cpus
    values = []
    for number in sorted({here, measured.cpus, *(max(round(here * factor), 1) for factor in factors)}):
        given = None if number == measured.cpus else number
        try:
            replace(plan, cpus=given).machine(measured)
        except InputError:
            continue
        values.append(given)

    def option(given: int | None) -> Option:
        number = given or measured.cpus
        return Option(text=f"{number}", key=f"{number}", argument="" if given is None else f"--cpus {number}")

    return Choice.of(("cpus", "CPUs"), values, None if here == measured.cpus else here, option)


def think(plan: Plan, central: float, factors: Sequence[float], as_it_is: str) -> Choice:
    """Think times, None for that which was measured, whose mean is `central`."""
    around = [float(f"{central * factor:.2g}") for factor in factors] if central > 0.0 else [1.0, 5.0, 20.0]
    exact = sorted({*around, *([plan.think_s] if plan.think_s is not None else [])})
    values: list[float | None] = sorted([None, *exact], key=lambda one: central if one is None else one)

    def option(value: float | None) -> Option:
        if value is None:
            return Option(text=as_it_is, key="as-it-is", argument="")
        return Option(text=shown.quantity(value, "s"), key=f"{value:g}s", argument=f"--think {value:g}s")

    return Choice.of(("think", "Think time"), values, plan.think_s, option)


def memory(plan: Plan, total: float, reach: float) -> Choice:
    """Memories within a ratio `reach` of that which was measured, for which None stands."""
    steps = [2.0**power * 1e9 for power in range(-3, 16)]
    near = [one for one in steps if total / reach <= one <= total * reach]
    exact = sorted({*near, *([plan.memory_bytes] if plan.memory_bytes is not None else [])})
    values: list[float | None] = sorted([None, *exact], key=lambda one: total if one is None else one)

    def option(value: float | None) -> Option:
        if value is None:
            return Option(text=f"{shown.quantity(total, 'byte')}, as it is", key="as-it-is", argument="")
        text = f"{value / 1e9:g}GB" if value % 1e6 == 0.0 else f"{value:.0f}"
        return Option(text=shown.quantity(value, "byte"), key=text, argument=f"--memory {text}")

    return Choice.of(("memory", "Memory"), values, plan.memory_bytes, option)
