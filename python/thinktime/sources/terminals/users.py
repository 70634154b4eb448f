"""Synthetic interactive users on this machine: real processes on real pseudo-terminals, into a log.

The workload is the prototype process of B. J. Brachman, "A model of the UNIX time-sharing system under
disk saturation" (M.Sc. thesis, University of British Columbia, 1983), chapter 4; what the thesis leaves
open, and what was chosen, stands in ``crates/terminals/src/workload.rs``.

The users' processes are made by a small process of its own, so `Terminals` can be used beside any library
and any number of threads.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from thinktime import _native
from thinktime.errors import InputError, WorkError

if TYPE_CHECKING:
    from thinktime.log import LogWriter

__all__ = [
    "Interruption",
    "OnProgress",
    "Plan",
    "Progress",
    "Terminals",
    "builtin_workload",
    "compute_loop",
    "read_workload",
]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a play is."""

    elapsed_s: float
    end_s: float
    users: int
    """Users playing."""
    started: int
    """Inputs that were due so far."""
    completed: int
    response_s: float | None
    """Mean response time since the number of users last changed."""


OnProgress = Callable[[Progress], bool]
"""Is shown the progress five times a second; False ends the play."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be played.

    Parameters
    ----------
    workload : dict
        Classes of interactions with their distributions, as `builtin_workload` gives them.
    users : str
        ``"12"``, ``"1..12"`` or ``"1..12..3"``.
    hold_s : float
        How long each number of users plays, s.
    think : dict
        Distribution of the think time, s: ``{"kind": "exponential", "mean": 2.0}``.
    seed : int
        Of all random streams: one for each (user, part, interaction).
    open : bool
        Inputs come at intervals of `think` whatever the system does.
    ramp_s : float, optional
        The users come evenly spaced over this time, instead of in steps.
    scratch : Path
        Folder of the scratch files, which have no names and vanish with their processes.
    floor_s : float
        How long empty interactions are played before, s; 0 leaves the floor out.
    """

    workload: dict[str, Any]
    users: str
    hold_s: float
    think: dict[str, Any]
    seed: int
    open: bool = False
    ramp_s: float | None = None
    scratch: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    floor_s: float = 4.0

    def course(self) -> dict[str, Any]:
        """Return when how many users play: ``{"steps": [{"at_s", "users"}], "end_s"}``.

        Raises
        ------
        InputError
            Users, hold or ramp cannot be played.
        """
        course: dict[str, Any] = json.loads(_checked(_native.course, self.users, self.hold_s, self.ramp_s))
        return course

    def _json(self) -> str:
        names = ("workload", "users", "hold_s", "think", "seed", "open", "ramp_s", "floor_s")
        return json.dumps({name: getattr(self, name) for name in names} | {"scratch": str(self.scratch)})


def builtin_workload(name: str) -> dict[str, Any]:
    """Return the built-in workload `name`: ``prototype``, ``mixed`` or ``empty``.

    Raises
    ------
    InputError
        There is none of that name.
    """
    workload: dict[str, Any] = json.loads(_checked(_native.workload, name))
    return workload


def compute_loop(burst_ms: int) -> dict[str, Any]:
    """Return the iterations of the compute loop for a mean CPU burst (Brachman 1983, Table III).

    Raises
    ------
    InputError
        `burst_ms` is none of 12, 30, 60, 186 and 354.
    """
    distribution: dict[str, Any] = json.loads(_checked(_native.compute_loop, burst_ms))
    return distribution


def read_workload(path: Path) -> dict[str, Any]:
    """Return the workload in the JSON file `path`, checked, with its defaults filled in.

    Raises
    ------
    InputError
        The file cannot be read or is no workload; the message names file, line and item.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}; name a workload in JSON") from None
    try:
        workload: dict[str, Any] = json.loads(_checked(_native.check_workload, text))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return workload


def _checked(call: Callable[..., str], *arguments: object) -> str:
    """Call the native module; what it refuses is an InputError, what it fails at a WorkError."""
    try:
        return call(*arguments)
    except _native.NativePlayError as error:
        raise WorkError(str(error)) from None
    except _native.NativeLogError as error:
        raise WorkError(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None


class Terminals:
    """The users' processes, from their first to their last breath.

    A context manager. When it is left, or when this process ends in whatever way, no process and no file
    of the users is left.
    """

    def __init__(self) -> None:
        code = "import sys; sys.path.insert(0, sys.argv[1]); import thinktime._native as n; n.serve_nursery()"
        # Without the user's site and environment: the users' processes are copies of this one, and what
        # each of their forks costs grows with its size.
        package = str(Path(_native.__file__).parents[1])
        try:
            self._nursery = _native.NativeNursery([sys.executable, "-I", "-S", "-c", code, package])
        except _native.NativePlayError as error:
            raise WorkError(str(error)) from None

    def __enter__(self) -> Terminals:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._nursery.close()

    def prepare(self, plan: Plan, on_progress: OnProgress) -> dict[str, Any]:
        """Calibrate the compute loop and measure the floor: an interaction that asks for nothing.

        Returns
        -------
        dict
            ``calibration`` (speed of the compute loop with a 95 % interval) and ``floor`` (response,
            reaction and service time of empty interactions at the think time of the plan).

        Raises
        ------
        InputError
            The plan cannot be played.
        WorkError
            `on_progress` said False, or a user's process could not do its work.
        """
        text = _checked(self._nursery.prepare, plan._json(), _decoded(on_progress))
        prepared: dict[str, Any] = json.loads(text)
        return prepared

    def rehearse(self, plan: Plan, prepared: dict[str, Any], on_progress: OnProgress) -> dict[str, Any]:
        """Play `plan` without a log, to learn what an interaction demands of this machine.

        Returns
        -------
        dict
            ``service_s``, the mean CPU time of an interaction with a 95 % interval ``low_s``, ``high_s``
            over ``n`` interactions (the compute loop, which varies most, enters with its expected value:
            a control variate), and their mean ``response_s``.

        Raises
        ------
        InputError, WorkError
            As `prepare`.
        """
        arguments = (plan._json(), json.dumps(prepared), _decoded(on_progress))
        demand: dict[str, Any] = json.loads(_checked(self._nursery.rehearse, *arguments))
        return demand

    def play(
        self, plan: Plan, prepared: dict[str, Any], writer: LogWriter, on_progress: OnProgress
    ) -> dict[str, Any]:
        """Play `plan` into the log of `writer`: a row of ``interactions`` for each input.

        Returns
        -------
        dict
            ``outcome`` (counts, the driver's own CPU time, whether it was stopped) and ``steps`` (for
            each number of users n, response and service time).

        Raises
        ------
        InputError, WorkError
            As `prepare`.
        """
        arguments = (plan._json(), json.dumps(prepared), writer.native, _decoded(on_progress))
        played: dict[str, Any] = json.loads(_checked(self._nursery.play, *arguments))
        return played

    def measure_direct(self, array_bytes: int, on_progress: OnProgress) -> list[dict[str, Any]]:
        """Measure what one fork, minor page fault and context switch cost here, with an exact CPU clock.

        Returns
        -------
        list of dict
            ``request`` (the column of ``samples`` that counts it), ``seconds`` of system CPU time for one
            request with a 95 % interval ``low``, ``high`` over ``n`` batches, and ``method``. Page faults
            and switches that a fork brings are taken out of its ``seconds``, not of its
            ``gross_seconds``.
        """
        text = _checked(self._nursery.measure_direct, array_bytes, _decoded(on_progress))
        costs: list[dict[str, Any]] = json.loads(text)
        return costs


def _decoded(on_progress: OnProgress) -> Callable[[str], bool]:
    return lambda text: on_progress(Progress(**json.loads(text)))


class Interruption:
    """Notes SIGINT and SIGTERM, so that the work can end in good order; a second one ends it at once.

    A context manager; `requested` tells whether a signal has come.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.requested = True
        signal.signal(number, signal.SIG_DFL)
