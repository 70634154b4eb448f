"""Inputs of the paging model that describe a simulated Multics, from the parameters of the simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from thinktime.errors import InputError
from thinktime.models.distributions import distribution
from thinktime.models.paging.configuration import Paging
from thinktime.models.paging.lockout import KINDS
from thinktime.models.paging.stays import Program
from thinktime.sources import scripts, simulated

SYSTEM = "multics"
MS = 1e-3
NAMES = {
    "users": ("users", 1.0),
    "core": ("core", 1.0),
    "wired": ("wired", 1.0),
    "headway": ("headway_s", MS),
    "lifetime_exponent": ("exponent", 1.0),
    "segment_headway": ("segment_headway_s", MS),
    "active_segments": ("active_segments", 1.0),
    "gate_headway": ("gate_headway_s", MS),
    "modified": ("modified", 1.0),
    "max_eligible": ("max_eligible", 1.0),
    "quantum": ("quantum_s", 1.0),
    "levels": ("levels", 1.0),
    "examine": ("examine_s", MS),
    "path_cv": ("path_variation", 1.0),
    "cpus": ("cpus", 1.0),
    "interference": ("interference", 1.0),
    "spin_interference": ("spin_interference", 1.0),
    "segment_lock_share": ("segment_lock_share", 1.0),
    "traffic_lock_share": ("traffic_lock_share", 1.0),
    "drum_rotation": ("drum_rotation_s", MS),
    "drum_sectors": ("drum_sectors", 1.0),
    "disk_share": ("disk_share", 1.0),
    "disk_arms": ("disk_arms", 1.0),
    "disk_access": ("disk_access_s", MS),
}
"""Input of the model for each parameter of the simulation, and its unit there."""
EVENLY = 12.0**-0.5
"""Coefficient of variation of an access, uniform between half its mean and one and a half times it."""
WHOLE = {"users", "levels", "cpus", "drum_sectors", "disk_arms"}
SAME = ("locks", "preempt", "hold_through_getwork")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedMultics:
    """Simulated Multics as an input of the paging model."""

    machine: Paging
    parameters: Mapping[str, Any]
    """All parameters of the simulation, with the values in force."""

    @property
    def ignored(self) -> tuple[str, ...]:
        """Parameters whose effect only the simulation has."""
        effects = {
            "housekeeping": self.parameters["housekeeping"] > 0,
            "priority": self.parameters.get("priority") == "first_eligible",
        }
        return tuple(name for name, has_effect in effects.items() if has_effect)


def of_parameters(parameters: Mapping[str, Any]) -> SimulatedMultics:
    """Machine of the paging model that `parameters` of the simulated system describe.

    Users who play the script and those who type random lines of it become one kind of user that does both.

    Parameters
    ----------
    parameters : mapping
        Parameters that differ from the defaults, as for `thinktime.simulate`.

    Raises
    ------
    InputError
        A parameter is not allowed, or needs something that the model does not have.
    """
    resolved = simulated.resolve(SYSTEM, parameters)
    in_force = simulated.machine(SYSTEM, resolved)["in_force"]
    script = resolved.pop("script")
    table = scripts.read(script).table if isinstance(script, str) else script
    known = {**resolved, **in_force, "script": table["name"]}
    return SimulatedMultics(machine=_machine(known, table), parameters=known)


def _machine(values: Mapping[str, Any], script: Mapping[str, Any]) -> Paging:
    if values["eligibility"] != "number":
        raise InputError(
            f"eligibility is {values['eligibility']}, which this model does not have; give number"
        )
    named: dict[str, Any] = {
        field: values[name] * unit for name, (field, unit) in NAMES.items() if name in values
    }
    named |= {field: int(named[field]) for field in WHOLE}
    named |= {name: values[name] for name in SAME if name in values}
    lines = [_Line.of(line) for line in script["interaction"]]
    # Users who take the lines at random change commands as often as normal users do.
    normal = values["normal_users"] / values["users"]
    return Paging(
        think_s=_think_s(lines, values, normal) + _read_s(lines, values["line_time"]),
        programs=_programs(lines, normal, values),
        waited=sum(line.waited for line in lines) / len(lines),
        kept=1.0 - _changes(lines, 1.0 if values["order"] == "random" else normal) * (1.0 - values["kept"]),
        paths_s=tuple(values[f"{kind}_path"] * MS for kind in KINDS),
        disk_variation=EVENLY,
        drum_in_order=values["drum_organisation"] == "first_come",
        **named,
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the script."""

    command: str
    waited: bool
    think: Any
    demands: Mapping[str, Any]

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> _Line:
        """Line from its table in a script."""
        return cls(table["command"], table.get("wait", True) is not False, table["think"], table["multics"])

    def mean(self, name: str) -> float:
        """Mean of the demand `name`."""
        return distribution(self.demands[name], name).mean


def _think_s(lines: Sequence[_Line], known: Mapping[str, Any], normal: float) -> float:
    """Mean think time of all users, in seconds."""
    if known["think"] in ("script", "of_script"):
        scripted = sum(distribution(line.think).mean for line in lines) / len(lines)
    else:
        scripted = distribution(known["think"]).mean
    return (1.0 - normal) * scripted + normal * distribution(known["normal_think"]).mean


def _read_s(lines: Sequence[_Line], line_s: float) -> float:
    """Mean time for which a user reads the reply that is typed before thinking again, in seconds."""
    return float(line_s * sum(line.mean("lines") for line in lines if line.waited) / len(lines))


def _programs(lines: Sequence[_Line], normal: float, values: Mapping[str, Any]) -> tuple[Program, ...]:
    """Programs of the lines: one for each demand, with other processor times for normal users."""
    useful = {repr(line.demands["cpu"]): distribution(line.demands["cpu"], "cpu") for line in lines}
    alike = Counter(
        (repr(line.demands["cpu"]), line.mean("pages"), line.mean("segments"), line.mean("lines"))
        for line in lines
    )
    factor, normal_factor = float(values["demand"]), float(values["normal_demand"])
    kinds = [(1.0, factor)]
    if normal_factor != 1.0:
        kinds = [(1.0 - normal, factor), (normal, factor * normal_factor)]
    return tuple(
        Program(
            share=part * number / len(lines),
            useful=useful[cpu],
            pages=pages,
            segments=segments,
            lines=typed,
            factor=times,
        )
        for part, times in kinds
        if part > 0.0
        for (cpu, pages, segments, typed), number in alike.items()
    )


def _changes(lines: Sequence[_Line], normal: float) -> float:
    """Fraction of the interactions whose command differs from the previous one."""
    commands = [line.command for line in lines]
    played = sum(one != other for one, other in pairwise([*commands, commands[0]])) / len(commands)
    typed = 1.0 - sum((number / len(commands)) ** 2 for number in Counter(commands).values())
    return (1.0 - normal) * played + normal * typed
