"""What is played at real terminals: workloads of synthetic users, and scripts that users type to a shell.

The workload of a `Plan` is the prototype process of B. J. Brachman, "A model of the UNIX time-sharing
system under disk saturation" (M.Sc. thesis, University of British Columbia, 1983), chapter 4. The choices
that the thesis leaves open are documented in ``crates/terminals/src/load/workload.rs``. A script
(`ScriptPlan`) is typed to a shell, on pseudo-terminals of this machine or over ssh.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, cast

from thinktime import _native
from thinktime.errors import InputError, WorkError, offered
from thinktime.sources import room
from thinktime.sources.scripts import Script

if TYPE_CHECKING:
    from thinktime._native import (
        _Distribution,
        _PlannedLine,
        _PlayOptions,
        _Schedule,
        _ScriptOptions,
        _Workload,
    )

Value = TypeVar("Value")

WORKLOADS = ("prototype", "mixed", "empty")
"""Names of the built-in workloads."""

SHELL_BYTES = 1_000_000
"""Least memory of a shell and what it starts: its own data and stack."""


class _Common(TypedDict):
    """Options that every play has, as the native player takes them."""

    users: str
    step_s: float
    ramp_s: float | None
    open_loop: bool
    seed: int
    scratch: str
    baseline_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What the plans of every play have: numbers of users over time, and how they are played.

    Parameters
    ----------
    users : str
        ``"12"``, ``"1..12"`` or ``"1..12..3"``.
    step_s : float
        Duration of each number of users, s.
    seed : int
        Seed of all random streams; each user, purpose and interaction has its own stream.
    open_loop : bool
        Inputs are due at intervals of the think time, whatever the system does.
    ramp_s : float, optional
        Time over which the users are added evenly, instead of in steps, s.
    scratch : Path
        Folder of the users' files, which disappear with their processes.
    baseline_s : float
        Duration of the empty interactions played before, s; 0 omits them.
    """

    users: str
    step_s: float
    seed: int
    open_loop: bool = False
    ramp_s: float | None = None
    scratch: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    baseline_s: float = 4.0

    def schedule(self) -> _Schedule:
        """Numbers of users over time: ``{"steps": [{"at_s", "users"}], "end_s"}``.

        Raises
        ------
        InputError
            `users`, `step_s` or `ramp_s` cannot be played.
        """
        return checked(_native.schedule, self.users, self.step_s, self.ramp_s)

    def _common(self) -> _Common:
        return {
            "users": self.users,
            "step_s": self.step_s,
            "ramp_s": self.ramp_s,
            "open_loop": self.open_loop,
            "seed": self.seed,
            "scratch": str(self.scratch),
            "baseline_s": self.baseline_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Course):
    """Options of a play of synthetic users.

    Parameters
    ----------
    workload : dict
        Classes of interactions with their distributions, as `workload` gives them.
    think : dict or str
        Distribution of the think time, s: ``{"kind": "exponential", "mean": 2.0}`` or
        ``"exponential(mean=2s)"``.
    groups : tuple of Path
        Control groups that the users' processes enter before they take memory.
    users, step_s, seed, open_loop, ramp_s, scratch, baseline_s
        As those of a `Course`; `scratch` may be a block device too, which holds the files side by side.
    """

    workload: _Workload
    think: _Distribution | str
    groups: tuple[Path, ...] = ()

    def playable(self) -> _Schedule:
        """`schedule`, after a look at whether this machine has room for so many users.

        Raises
        ------
        InputError
            As `schedule`, or more users than this machine can start.
        """
        found = self.schedule()
        room.check(max(step["users"] for step in found["steps"]), self.workload["array_bytes"])
        return found

    def options(self) -> _PlayOptions:
        """All fields as the native player takes them."""
        entered: dict[str, list[str]] = {"groups": [str(path) for path in self.groups]} if self.groups else {}
        return cast(
            "_PlayOptions", {"workload": self.workload, "think": self.think, **entered, **self._common()}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptPlan(Course):
    """Options of a play of a script that users type to a shell.

    Parameters
    ----------
    script : Script
        Script with a table ``[terminal]``, as `thinktime.sources.scripts.read` gives it.
    think : dict or str, optional
        Distribution of the think time in place of those of the script, s.
    on : str, optional
        Host on which the users log in, ``"ssh://[user@]host[:port]"``; this machine if it is not given.
        ``{{user}}`` in the user's name stands for the number of the user.
    login_timeout_s : float
        Longest time from the start of a login to its first prompt, s: with the first login that takes
        longer, the play ends.
    users, step_s, seed, open_loop, ramp_s, scratch, baseline_s
        As those of a `Course`.
    """

    script: Script
    think: _Distribution | str | None = None
    on: str | None = None
    login_timeout_s: float = 60.0

    def playable(self) -> _Schedule:
        """`schedule`, after a look at this machine's room for so many users, and at the programs of the host.

        Raises
        ------
        InputError
            As `schedule`, more users than this machine can start, a host that cannot be reached or does not
            answer in `login_timeout_s`, or one without a program that the script needs; the message names all
            of these.
        """
        found = self.schedule()
        room.check(max(step["users"] for step in found["steps"]), SHELL_BYTES)
        missing = checked(_native.missing_programs, self.options())
        if missing:
            raise InputError(
                f"{self.script.name}: {self.on or 'this machine'} lacks what the script needs: "
                f"{', '.join(missing)}; install it there, or change the script"
            )
        return found

    def lines(self, user: int) -> list[_PlannedLine]:
        """What user number `user`, from 1, types in one pass of the script.

        Each line has its ``command``, ``types``, the ``think_s`` from the end of the last reply to its last
        key, and ``until``, what ends the wait for its reply. Nothing is started, and no host is asked.

        Raises
        ------
        InputError
            The plan cannot be played.
        """
        return checked(_native.script_lines, self.options(), user)

    def options(self) -> _ScriptOptions:
        """All fields as the native player takes them."""
        return {
            "script": self.script.table,
            "think": self.think,
            "on": self.on,
            "login_timeout_s": self.login_timeout_s,
            **self._common(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Think time with which few users take a machine from idle to well past saturation."""

    think_s: float
    """Mean time from a reply to the next input whose reply is waited for."""
    saturation: float
    """Users with whom the machine is saturated."""

    @classmethod
    def of(cls, service_s: float, cpus: int) -> Scale:
        """Think time and number of users for the measured demand.

        The saturation point of a closed system with c servers is N* = c (R + Z) / D, with R the response
        time without queueing, Z the think time and D the service demand (Kleinrock 1968). Z is chosen so
        that N* is 11 users per CPU, but at least 8 and at most 200: enough steps to see the bend, few enough
        processes.

        Parameters
        ----------
        service_s : float
            CPU time of an interaction, s.
        cpus : int
        """
        wanted = min(max(11.0 * cpus, 8.0), 200.0)
        # Beyond 200 CPUs, saturation takes at least one user per CPU.
        think_s = max(wanted * service_s / cpus - service_s, 0.1 * service_s)
        return cls(think_s=think_s, saturation=cpus * (service_s + think_s) / service_s)


def workload(name: str) -> _Workload:
    """Built-in workload of a name: ``prototype``, ``mixed`` or ``empty``.

    Raises
    ------
    InputError
        There is no workload of that name.
    """
    if name not in WORKLOADS:
        raise InputError(
            f"{name}: there is no such workload; {offered(name, WORKLOADS)}; or name a script (`thinktime "
            f"scripts` lists them), or a file in JSON or TOML"
        )
    return checked(_native.workload, name)


def compute_loop(burst_ms: int) -> _Distribution:
    """Distribution of the iterations of the compute loop for a mean CPU burst (Brachman 1983, Table III).

    Raises
    ------
    InputError
        `burst_ms` is not 12, 30, 60, 186 or 354.
    """
    return checked(_native.compute_loop, burst_ms)


def read_workload(path: Path) -> _Workload:
    """Workload in a JSON file, checked, with its defaults filled in.

    Raises
    ------
    InputError
        The file cannot be read or is not a workload; the message names file, line and item.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read: {reason}; name a workload in JSON") from None
    try:
        return checked(_native.read_workload, text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def checked(call: Callable[..., Value], *arguments: object) -> Value:
    """Result of a native function; a refused argument becomes an InputError, a failure a WorkError."""
    try:
        return call(*arguments)
    except _native.NativePlayError as error:
        raise WorkError(str(error)) from None
    except _native.NativeLogError as error:
        raise WorkError(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None
