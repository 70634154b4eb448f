"""Who plays, in which order and for how long: decided once, and kept beside the logs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from thinktime import _native
from thinktime.errors import InputError
from thinktime.sources.plans import Scale, ScriptPlan, checked
from thinktime.sources.scripts import Script, read

if TYPE_CHECKING:
    from thinktime._native import _Baseline, _DirectCost

SCRIPT = "mftn3-linux"
"""Twin of the script of 1969 for a shell of today."""
FILE = "study.json"
FORMAT = 1
"""Version of that file; incremented when a field changes its meaning."""
DURATION_S, QUICK_S = 1200.0, 60.0
LEVELS, LEVELS_QUICK = 8, 6
"""Numbers of users where none are named, of a study of at least `LONG_S`, and of a shorter one."""
LONG_S = 300.0
PAST = 1.5
"""The most users over those with whom the machine is saturated."""
BETWEEN_S = 1.5
"""Time of a play besides the play: logins, the end of the shells, the log."""
COSTS_S = 8.0
"""Time in which the direct costs are measured, about."""
SETTLED_LEAST_S = 1.0
"""Least time at one number of users from which anything is computed."""
RAMP_MOST = 0.3
"""Largest part of a play in which the users log in, one after the other."""
AGAIN = "-again"
"""End of the name of the play that repeats the first one: has the machine changed meanwhile?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the user asks for."""

    seconds: float = DURATION_S
    """Duration of the whole study."""
    users: tuple[int, ...] = ()
    """Numbers of users; empty to choose them by CPUs and measured demand."""
    seed: int = 1
    accept_driver_load: bool = False
    """Use response times also where the driver of the play was the load."""

    @property
    def before_s(self) -> float:
        """Time for the floor, the cost of a page fault and the rehearsal."""
        return self.floor_s + COSTS_S + self.rehearsal_s

    @property
    def floor_s(self) -> float:
        """Duration of the empty commands that show what the terminal itself takes."""
        return 4.0 if self.seconds >= LONG_S else 2.0

    @property
    def rehearsal_s(self) -> float:
        """Duration of the play that measures what an interaction takes."""
        return 8.0 if self.seconds >= LONG_S else 4.0

    @property
    def levels(self) -> int:
        """How many numbers of users are played."""
        return len(self.users) or (LEVELS if self.seconds >= LONG_S else LEVELS_QUICK)

    @property
    def play_s(self) -> float:
        """Duration of each play: the time that is left, in equal parts, one of them for the repetition."""
        return (self.seconds - self.before_s) / (self.levels + 1) - BETWEEN_S

    def check(self) -> None:
        """Refuse what cannot give an answer, before anything starts.

        Raises
        ------
        InputError
            There are fewer than four numbers of users, or too little time for each.
        """
        if self.users and len(self.users) < 4:
            raise InputError(
                f"--users {','.join(map(str, self.users))}: {len(self.users)} numbers of users are too few: "
                "two are needed to fit the model and two to check it; give four or more"
            )
        if self.play_s < 2.0 * SETTLED_LEAST_S:
            least = (2.0 * SETTLED_LEAST_S + BETWEEN_S) * (self.levels + 1) + self.before_s
            raise InputError(
                f"--duration {self.seconds:g}s: is too short for {self.levels} numbers of users; give at "
                f"least {math.ceil(least)}s{', or fewer numbers' if len(self.users) > 4 else ''}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One play: a folder with a log."""

    name: str
    """Name of the folder."""
    users: int
    seed: int

    @property
    def repeats(self) -> bool:
        """True if it repeats the first play."""
        return self.name.endswith(AGAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Plays of a study, in the order in which they are played."""

    script: str
    cpus: int
    seed: int
    seconds: float
    """Duration of the whole study that was asked for."""
    service_s: float
    """CPU time of an interaction, as rehearsed."""
    think_s: float
    """Mean think time before each line."""
    ramp_s: float
    """Time in which the users log in, one after the other."""
    settled_s: float
    """Time in which all of them play."""
    plays: tuple[Play, ...]
    floor: _Baseline | None
    """Times of an empty command at the same prompt."""
    direct_costs: tuple[_DirectCost, ...]
    """Costs of single requests to the kernel, measured directly."""
    accept_driver_load: bool = False

    @property
    def users(self) -> tuple[int, ...]:
        """Numbers of users, ascending."""
        return tuple(sorted({play.users for play in self.plays}))

    @property
    def first_half(self) -> tuple[int, ...]:
        """Numbers of users to which the model is fitted."""
        return self.users[: (len(self.users) + 1) // 2]

    @property
    def seconds_each(self) -> float:
        """Duration of a play with what comes before and after it."""
        return self.ramp_s + self.settled_s + BETWEEN_S

    def plan(self, play: Play) -> ScriptPlan:
        """Plan of a play: users log in evenly over `ramp_s`, so that they do not type the script in step."""
        several = play.users > 1
        return ScriptPlan(
            script=read(self.script),
            users=f"1..{play.users}" if several else "1",
            step_s=self.settled_s if several else self.settled_s + self.ramp_s,
            ramp_s=self.ramp_s if several else None,
            think=exponential(self.think_s),
            seed=play.seed,
            baseline_s=0.0,
        )

    def write(self, folder: Path) -> None:
        """Write the design beside the logs, completely or not at all."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=2)
        part = folder / f".{FILE}.part"
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(folder / FILE)

    @classmethod
    def read(cls, folder: Path) -> Design:
        """Design of a study that was begun in `folder`.

        Raises
        ------
        InputError
            There is none, or it is not one of this version.
        """
        path = folder / FILE
        remedy = "give the folder of a study of this machine, or begin a new one without --resume"
        try:
            given = json.loads(path.read_text(encoding="utf-8"))
            if given.pop("format") != FORMAT:
                raise InputError(f"{path}: is of another version of thinktime; {remedy}")
            return cls._of(given)
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{folder}: holds no {FILE}; {remedy}") from None
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: cannot be read: {reason}; {remedy}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path}: is damaged ({error}); {remedy}") from None

    @classmethod
    def _of(cls, given: Mapping[str, Any]) -> Design:
        """Design of the fields of a file, which anybody may have changed: it starts what it names."""
        plays = tuple(Play(name=one["name"], users=one["users"], seed=one["seed"]) for one in given["plays"])
        numbers = [play.users for play in plays]
        _expect(given["script"] == SCRIPT, f"script is not {SCRIPT}")
        _expect(
            all(Path(play.name).name == play.name and play.name not in ("", ".", "..") for play in plays),
            "a play is not named as a folder beside it",
        )
        _expect(all(_is_whole(play.users, 1) and _is_whole(play.seed, 0) for play in plays), "a play")
        _expect(len(set(numbers)) >= 4, "fewer than four numbers of users")
        for name in ("cpus", "seconds", "service_s", "think_s", "settled_s"):
            _expect(_is_number(given[name]) and given[name] > 0, name)
        for name in ("seed", "ramp_s"):
            _expect(_is_number(given[name]) and given[name] >= 0, name)
        _expect(isinstance(given["accept_driver_load"], bool), "accept_driver_load")
        for cost in given["direct_costs"]:
            _expect(all(_is_number(cost[name]) for name in ("seconds", "low", "high", "n")), "direct_costs")
            _expect(all(isinstance(cost[name], str) for name in ("request", "method")), "direct_costs")
        if given["floor"] is not None:
            response = given["floor"]["response_s"]
            ends = [response[name] for name in ("median", "low", "high")]
            _expect(all(end is None or _is_number(end) for end in ends), "floor")
            _expect(_is_whole(response["n"], 0), "floor")
        return cls(**{**given, "plays": plays, "direct_costs": tuple(given["direct_costs"])})


def _expect(holds: bool, item: str) -> None:
    if not holds:
        raise ValueError(item)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def exponential(mean_s: float) -> _native._Distribution:
    """Distribution of a think time: constant ones would keep users in step."""
    return cast("_native._Distribution", {"kind": "exponential", "mean": mean_s})


def listed(text: str) -> tuple[int, ...]:
    """Numbers of users of a list: ``1,4,8`` or ``1..12..3``, or both.

    Raises
    ------
    InputError
        A part is neither a number nor a range.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        schedule = checked(_native.schedule, part.strip(), 1.0, None)
        numbers.update(step["users"] for step in schedule["steps"])
    return tuple(sorted(numbers))


def numbers(saturation: float, count: int) -> tuple[int, ...]:
    """One user, and further numbers evenly up to half as many again as saturate the machine."""
    top = max(math.ceil(PAST * saturation), count)
    further = np.rint(np.linspace(top / (count - 1), top, count - 1)).astype(int).tolist()
    return tuple(sorted({1, *further}))


def decided(
    wanted: Wanted,
    *,
    service_s: float,
    cpus: int,
    floor: _Baseline | None,
    direct_costs: Sequence[_DirectCost],
) -> Design:
    """Design for a machine whose demand was measured.

    The think time is such that few users saturate the machine (`Scale`); where numbers of users are named,
    such that two thirds of the most do. The order of the plays is random, so that a machine that changes
    meanwhile does not look like one under another load; the first play is repeated at the end, which shows
    such a change.

    Parameters
    ----------
    wanted : Wanted
    service_s : float
        CPU time of an interaction whose reply is waited for, s.
    cpus : int
    floor, direct_costs
        As `Terminals.floor` and `Terminals.measure_direct` give them.
    """
    script = read(SCRIPT)
    scale = Scale.of(service_s, cpus)
    users, cycle_s = wanted.users, scale.think_s
    if users:
        cycle_s = max(service_s * (max(users) / (PAST * cpus) - 1.0), 0.1 * service_s)
    else:
        users = numbers(scale.saturation, wanted.levels)
    ramp_s = min(pass_s(script, cycle_s, service_s, max(users) / cpus), RAMP_MOST * wanted.play_s)
    order = np.random.default_rng(wanted.seed).permutation(users).tolist()
    width = len(str(max(users)))
    plays = [
        Play(name=f"users-{number:0{width}d}", users=number, seed=wanted.seed + place)
        for place, number in enumerate(order)
    ]
    again = Play(name=plays[0].name + AGAIN, users=plays[0].users, seed=wanted.seed + len(plays))
    return Design(
        script=SCRIPT,
        cpus=cpus,
        seed=wanted.seed,
        seconds=wanted.seconds,
        service_s=service_s,
        think_s=cycle_s * waiting_share(script),
        ramp_s=ramp_s,
        settled_s=wanted.play_s - ramp_s,
        plays=(*plays, again),
        floor=floor,
        direct_costs=tuple(direct_costs),
        accept_driver_load=wanted.accept_driver_load,
    )


def waiting_share(script: Script) -> float:
    """Share of the lines whose reply is waited for: as many think times lie between two replies."""
    return len(script.waiting) / len(script.interactions)


def pass_s(script: Script, cycle_s: float, service_s: float, users_per_cpu: float) -> float:
    """Time to type a script once, by the asymptotic bounds of a closed system."""
    return len(script.waiting) * max(cycle_s + service_s, users_per_cpu * service_s)
