"""Replications on other machines: what a worker is told, and what it sends back, as logs or as figures.

A worker has none of our files: scripts are sent, and logs come back as contents of files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from thinktime.errors import WorkError
from thinktime.log import Log, LogError, facts
from thinktime.sources import simulated
from thinktime.sources.simulated import LIMITS, Limits, Simulated
from thinktime.tasks import Pool
from thinktime.tasks.files import Files, packed, unpacked
from thinktime.tasks.kept import Kept

if TYPE_CHECKING:
    from thinktime._native import NativeReplications


_Made = TypeVar("_Made")


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

    def named(self, kind: str) -> dict[str, object]:
        """What determines the results of one kind, by which they are kept."""
        return {
            "kind": kind,
            "system": self.system,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "first": self.first,
            "replications": self.replications,
        }


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
        made = _simulated(order, order.simulate)
        made.record(path, trace=order.trace, mode="resume" if order.held else "create", progress=_unwatched)
        return packed(path)


def _simulated(order: Order, simulate: Callable[..., _Made]) -> _Made:
    """Replications of an order, in one thread: a worker does as many tasks at a time as it has threads."""
    return simulate(
        order.system,
        order.parameters,
        seed=order.seed,
        replications=order.replications,
        first_replication=order.first,
        threads=1,
        limits=order.limits,
        progress=None,
    )


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
        begin = 0 if order.held else order.first
        seeds = {session.facts.table("options").whole("seed") for session in sessions}
        is_ours = (
            len(numbers) == len(sessions)
            and sorted(numbers) == list(range(begin, order.first + order.replications))
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


_LOG, _FIGURES = "log", "figures"
"""Kinds of results that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alone:
    """One replication recorded into a log of its own, on a worker."""

    files: Files
    responses: dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered:
    """An order, and its number among several."""

    number: int
    order: Order


def _recorded(numbered: _Numbered) -> _Alone:
    """Log and responses of one replication: what a worker does."""
    order = numbered.order
    with tempfile.TemporaryDirectory(prefix="thinktime-task-") as folder:
        path = Path(folder, "log")
        responses = simulated.record(
            order.system, order.parameters, path, seed=order.seed, replication=order.first
        )
        return _Alone(files=packed(path), responses=responses)


def record(
    runs: Sequence[tuple[str, Mapping[str, Any], int, Path]],
    *,
    seed: int,
    pool: Pool,
    kept: Kept | None = None,
) -> list[dict[str, float | None]]:
    """Responses of single replications that run straight into new logs, as of `simulated.record`.

    Parameters
    ----------
    runs : sequence of (str, mapping, int, Path)
        System, parameters, number of the replication, and path of the new log.
    seed : int
        Of all random numbers.
    pool : Pool
        Whose workers simulate.
    kept : Kept, optional
        From which results are taken, and in which they are kept as they come.

    Raises
    ------
    InputError, WorkError
        As `simulated.record`; or the pool fails, or a result that is kept is damaged.
    """
    found: dict[int, dict[str, float | None]] = {}

    def orders() -> Iterator[_Numbered]:
        for number, (system, parameters, replication, _) in enumerate(runs):
            sent = sendable(system, parameters)
            order = Order(system=system, parameters=sent, seed=seed, first=replication, replications=1)
            numbered = _Numbered(number=number, order=order)
            if kept is None or not taken(kept, numbered):
                yield numbered

    def taken(kept: Kept, numbered: _Numbered) -> bool:
        """True if the replication was kept, and is in its place now."""
        of = numbered.order.named(_LOG)
        if (responses := kept.value(of)) is None:
            return False
        try:
            take(numbered, _Alone(files=kept.files(of), responses=responses))
        except WorkError:
            raise kept.damaged(of) from None
        return True

    def take(numbered: _Numbered, alone: _Alone) -> None:
        path = runs[numbered.number][-1]
        if not path.exists():
            received(alone.files, path, numbered.order)
        found[numbered.number] = alone.responses

    def keep(numbered: _Numbered, alone: _Alone) -> None:
        take(numbered, alone)
        if kept is not None:
            kept.keep(numbered.order.named(_LOG), alone.responses, alone.files)

    pool.run(_recorded, orders(), kept=keep)
    return [found[number] for number in range(len(runs))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    """Figures of replications in order, as they are sent; and what `NativeReplications` answers from them."""

    first_replication: int
    rows: list[list[float | None]]
    counted: list[list[list[tuple[float, int]]] | None]
    means: list[tuple[list[float], int] | None]
    warm_up_s: float
    settled: bool | None
    checked: dict[str, tuple[str, ...]]
    events: int

    def distributions(self, index: int) -> list[list[tuple[float, int]]] | None:
        """Distributions of replication `index` (from 0)."""
        return self.counted[index]

    def batches(self, index: int) -> tuple[list[float], int] | None:
        """Batch means of the main response in replication `index` (from 0), and observations in a batch."""
        return self.means[index] if 0 <= index < len(self.means) else None

    @classmethod
    def of_json(cls, value: Any) -> _Figures:
        """Figures from what JSON has of their fields, which has no tuples."""
        counted = [
            each and [[(float(at), int(count)) for at, count in one] for one in each]
            for each in value["counted"]
        ]
        means = [each and ([float(mean) for mean in each[0]], int(each[1])) for each in value["means"]]
        checked = {str(name): tuple(places) for name, places in value["checked"].items()}
        return cls(**{**value, "counted": counted, "means": means, "checked": checked})


def _figures(order: Order) -> _Figures:
    """Figures of the replications of an order: what a worker does."""
    made = _simulated(order, simulated.simulate)
    native = made._replications
    columns = [made.responses[name].to_list() for name in made.units]
    return _Figures(
        first_replication=order.first,
        rows=[list(row) for row in zip(*columns, strict=True)],
        counted=[native.distributions(index) for index in range(order.replications)],
        means=[native.batches(index) for index in range(order.replications)],
        warm_up_s=made.warm_up_s,
        settled=made.warm_up_settled,
        checked=made.laws,
        events=made.events,
    )


def simulate(
    system: str,
    parameters: Mapping[str, Any],
    *,
    seed: int,
    replications: int,
    pool: Pool,
    kept: Kept | None = None,
) -> Simulated:
    """Replications of a system, as of `simulated.simulate` and with the same bits, on the workers of `pool`.

    Each replication is a task, unless the warm-up is to be found from all of them. `Simulated.record` is not
    for these: the replications are elsewhere. Results are taken from `kept`, and kept there as they come.

    Raises
    ------
    InputError, WorkError
        As `simulated.simulate`; or the pool fails, or a result that is kept is damaged.
    """
    prepared = simulated._prepare(system, parameters)
    resolved = prepared.parameters()
    simulated.check_cost(system, parameters, replications=replications)
    together = resolved.get("warm_up") == "mser5"
    orders = [
        Order(
            system=system,
            parameters=sendable(system, parameters),
            seed=seed,
            first=first,
            replications=replications if together else 1,
        )
        for first in ([0] if together else range(replications))
    ]
    found = {} if kept is None else {order.first: it for order in orders if (it := _taken(kept, order))}

    def keep(order: Order, figures: _Figures) -> None:
        found[order.first] = figures
        if kept is not None:
            kept.keep(order.named(_FIGURES), asdict(figures))

    pool.run(_figures, [order for order in orders if order.first not in found], kept=keep)
    parts = [found[order.first] for order in orders]
    rows = [row for part in parts for row in part.rows]
    if len(rows) > 1 and all(row == rows[0] for row in rows):
        # Copies of each other are refused, where they are simulated together; with the same words here.
        return simulated.simulate(system, parameters, seed=seed, replications=replications)
    return _joined(system, seed, parts, prepared)


def _taken(kept: Kept, order: Order) -> _Figures | None:
    """Figures of an order that are kept, if they are."""
    value = kept.value(order.named(_FIGURES))
    try:
        return None if value is None else _Figures.of_json(value)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise kept.damaged(order.named(_FIGURES)) from None


def _joined(system: str, seed: int, parts: Sequence[_Figures], prepared: Any) -> Simulated:
    """Replications of several parts as one result."""
    import polars as pl

    described = prepared.responses()
    rows = [row for part in parts for row in part.rows]
    columns: dict[str, Any] = {"replication": range(len(rows))}
    for index, (name, *_) in enumerate(described):
        columns[name] = [row[index] for row in rows]
    schema = {"replication": pl.Int64} | {name: pl.Float64 for name, *_ in described}
    whole = _Figures(
        first_replication=0,
        rows=rows,
        counted=[each for part in parts for each in part.counted],
        means=[each for part in parts for each in part.means],
        warm_up_s=parts[0].warm_up_s,
        settled=parts[0].settled,
        checked=parts[0].checked,
        events=sum(part.events for part in parts),
    )
    return Simulated(
        system=system,
        parameters=prepared.parameters(),
        seed=seed,
        responses=pl.DataFrame(columns, schema=schema),
        units={name: unit for name, unit, *_ in described},
        descriptions={name: text for name, _, text, _ in described},
        quantiles={name: of for name, _, _, of in described if of is not None},
        warm_up_s=whole.warm_up_s,
        warm_up_settled=whole.settled,
        laws=whole.checked,
        events=whole.events,
        _simulation=prepared,
        _replications=cast("NativeReplications", whole),
    )
