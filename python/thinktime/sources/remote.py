"""Replications on other machines: what a worker is told, and what it sends back, as logs or as figures.

A worker has none of our files: scripts are sent, and logs come back as contents of files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from thinktime.errors import WorkError
from thinktime.log import Log, LogError, facts
from thinktime.sources import simulated
from thinktime.sources.simulated import LIMITS, Limits
from thinktime.tasks.files import Files, packed, unpacked


class Replications(Protocol):
    """Interface of the result of a simulation: `simulated.Simulated`."""

    def record(
        self,
        path: str | Path,
        *,
        trace: bool,
        mode: Literal["create", "resume"],
        progress: Callable[[int], object],
    ) -> None:
        """Write the replications into a log."""


class Simulate(Protocol):
    """Interface of a function that makes replications: `simulated.simulate`."""

    def __call__(  # noqa: D102
        self,
        system: str,
        parameters: Mapping[str, Any],
        *,
        seed: int,
        replications: int,
        first_replication: int,
        threads: int | None,
        limits: Limits,
        progress: Callable[[int], object] | None,
    ) -> Replications: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Replications of one configuration."""

    system: str
    parameters: Mapping[str, Any]
    seed: int
    first: int
    """Number of the first replication."""
    replications: int
    limits: Limits = LIMITS
    trace: bool = False
    held: Files = field(default_factory=dict, repr=False)
    """Log with the replications before the first; empty where there are none."""
    simulate: Simulate = simulated.simulate


def sendable(system: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """`parameters` with the script itself in place of the name of its file.

    Raises
    ------
    InputError
        The file cannot be read, or is wrong.
    """
    from thinktime.sources import scripts

    sent = dict(parameters)
    if "script" in sent and any(item.name == system and item.has("script") for item in simulated.systems()):
        sent["script"] = scripts.resolve(sent["script"], system)
    return sent


def logged(order: Order) -> dict[str, bytes]:
    """Files of the log with the replications of `order` after those held: what a worker does.

    Raises
    ------
    InputError
        The replications cannot be simulated.
    WorkError
        A conservation law does not hold, or the log is too large to be sent.
    """
    with tempfile.TemporaryDirectory(prefix="thinktime-task-") as folder:
        path = Path(folder, "log")
        if order.held:
            unpacked(order.held, path)
        made = order.simulate(
            order.system,
            order.parameters,
            seed=order.seed,
            replications=order.replications,
            first_replication=order.first,
            # A worker does as many tasks at one time as it has threads.
            threads=1,
            limits=order.limits,
            progress=None,
        )
        made.record(path, trace=order.trace, mode="resume" if order.held else "create", progress=_unwatched)
        return packed(path)


def _unwatched(_: int) -> None:
    """Progress that nobody sees."""


def received(files: object, folder: Path, order: Order) -> None:
    """Write the log that a worker sent for `order` into the new folder `folder`.

    Raises
    ------
    WorkError
        It is not the log that was ordered.
    """
    unpacked(files, folder)
    try:
        sessions = facts.sessions(Log.open(folder))
        numbers = [session.replication_number for session in sessions if session.is_replication]
        seeds = {session.facts.table("options").whole("seed") for session in sessions}
        is_ours = (
            len(numbers) == len(sessions)
            and sorted(numbers) == list(range(order.first + order.replications))
            and seeds == {order.seed}
            and {session.source for session in sessions} == {order.system}
        )
    except LogError as error:
        raise WorkError(f"a worker sent a log that cannot be read: {error}") from None
    if not is_ours:
        raise WorkError(
            f"a worker sent the log of other replications than those ordered: {order.system}, seed "
            f"{order.seed}, up to number {order.first + order.replications - 1}"
        )
