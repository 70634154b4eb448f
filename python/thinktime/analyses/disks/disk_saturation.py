"""Inputs that a log has for the models of machines whose disk is saturated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thinktime.analyses.disks import analysis
from thinktime.questions.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.analyses.disks.result import Disks, Drive
    from thinktime.log import Log

BY_HAND = "give it by hand"
UNIX6 = "unix6"
"""The simulated system whose swaps are of whole processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts on the machine and its load that need no measurement; None where unknown."""

    memory: int | None = None
    """For users, in the unit of `size`."""
    size: float | tuple[float, ...] | None = None
    """Of a process, or the sizes dealt to the processes in turn."""
    processes: int | None = None
    burst_s: float | None = None
    """Mean compute burst."""
    interactions: int | None = None
    """Of all processes, in one run."""
    interactive: bool | None = None
    equal_demands: bool | None = None
    single_controller: bool | None = None
    one_swap_at_a_time: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DiskSaturation(Result):
    """Times of a disk's requests, its utilisation, and its load."""

    place: str
    """The drive or device that serves the files."""
    block_time: Estimate | NotApplicable
    """Mean access and transfer time of a file request, without queueing [s]."""
    swap_time: Estimate | NotApplicable
    """The same of a swap of one process, one way [s]."""
    utilisation: Estimate | NotApplicable
    """Part of the time in which the controller (or the device) was busy, 0 to 1."""
    queue_length: Estimate | NotApplicable
    """Mean number of requests there, those in service included."""
    loaded: Estimate | NotApplicable
    """Mean number of processes in memory."""
    think: Estimate | NotApplicable
    """Mean think time [s]."""
    elapsed: Estimate | NotApplicable
    """Time that the whole load took [s]."""
    blocks: Estimate | NotApplicable
    """File requests that reached the disk in that time."""
    facts: Facts
    caveats: tuple[Caveat, ...]


def analyse(log: Log, *, device: str = "", level: float = 0.95) -> DiskSaturation | NotApplicable:
    """Inputs of a model of disk saturation as far as a log has them (Brachman 1983, section 2).

    Service times are busy time over requests, which is access and transfer without queueing where a drive
    serves one request at a time. Where files and swaps are on drives of their own, as in the thesis, each
    drive gives one of the two times; where they share one, a simulation distinguishes them and a real log
    does not.

    Parameters
    ----------
    log : Log
    device : str
        Name of the drive or device with the files; by default the simulated system's, or the busiest.
    level : float
        Confidence of the intervals.
    """
    disks = analysis.analyse(log, level=level)
    if isinstance(disks, NotApplicable):
        return disks
    if isinstance(disks.drives, NotApplicable):
        return disks.drives
    sessions: list[Mapping[str, Any]] = log.manifest.get("sessions") or []
    parameters = _parameters(sessions)
    if isinstance(parameters, NotApplicable):
        return parameters
    numbered = {column.name for column in log.schema("samples")} >= {"drive0_busy_s", "drive0_requests"}
    files = _chosen(disks.drives, device, parameters.get("file_drive") if numbered else None)
    if isinstance(files, NotApplicable):
        return files
    swaps = _numbered(disks.drives, parameters.get("swap_drive")) if numbered else None
    apart = None if swaps is None or swaps is files else swaps
    runs = _Runs(sessions=sessions, level=level)
    return DiskSaturation(
        place=files.name,
        block_time=_block_time(files, runs, shared=numbered and apart is None),
        swap_time=_swap_time(disks, apart, runs, paged=parameters.get("memory_management") == "paging"),
        utilisation=_utilisation(disks, files, numbered),
        queue_length=_queue(disks, files, numbered),
        loaded=runs.mean("loaded_mean", "process", "how many processes were in memory"),
        think=runs.mean("think_mean_s", "s", "how long users think"),
        elapsed=runs.mean("elapsed_s", "s", "how long the whole load took"),
        blocks=runs.mean("file_transfers", "request", "how many file requests the load made"),
        facts=_facts(sessions, parameters),
        caveats=(*disks.caveats, *_caveats(disks, numbered)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """Responses that the replications of a simulation recorded."""

    sessions: Sequence[Mapping[str, Any]]
    level: float

    def mean(self, name: str, unit: str, words: str) -> Estimate | NotApplicable:
        """Mean of response `name` over the replications, Student's t; `words` describe it."""
        values = [
            float(item["value"])
            for session in self.sessions
            for item in (session.get("replication") or {}).get("responses") or []
            if item.get("name") == name and isinstance(item.get("value"), (int, float))
        ]
        if not values:
            return NotApplicable(f"the log does not record {words}", BY_HAND)
        if len(set(values)) == 1:
            return Estimate(value=values[0], unit=unit, n=len(values), method="the same in all replications")
        return batch_means.plain_mean(values, self.level).with_unit(unit)


def _parameters(sessions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | NotApplicable:
    """Parameters of the simulated system, with its name; empty for a recorded machine."""
    by_session: list[dict[str, Any]] = []
    for session in sessions:
        machine = session.get("machine") or {}
        parameters = machine.get("parameters")
        if not isinstance(parameters, Mapping):
            by_session.append({})
            continue
        # A single drive serves files and swaps.
        only = {"file_drive": 0, "swap_drive": 0} if parameters.get("drives") == 1 else {}
        by_session.append({**parameters, **only, "system": machine.get("system")})
    if any(parameters != by_session[0] for parameters in by_session):
        return NotApplicable(
            "the sessions of the log are of different configurations", "use a log of one configuration"
        )
    return by_session[0] if by_session else {}


def _numbered(drives: Sequence[Drive], number: object) -> Drive | None:
    return drives[number] if isinstance(number, int) and 0 <= number < len(drives) else None


def _chosen(drives: Sequence[Drive], device: str, number: object) -> Drive | NotApplicable:
    """Drive with this name, else that of the simulated files, else the busiest."""
    for drive in drives:
        if drive.name == device:
            return drive
    if device:
        names = ", ".join(drive.name for drive in drives)
        return NotApplicable(f"the log has no device {device!r}", f"choose one of {names}")
    busiest = max(drives, key=lambda drive: best.value if (best := drive.utilisation.best) else 0.0)
    return _numbered(drives, number) or busiest


def _block_time(files: Drive, runs: _Runs, *, shared: bool) -> Estimate | NotApplicable:
    if shared:
        # The mean of the drive includes swaps; the simulation kept the two apart.
        return runs.mean("block_time_s", "s", "how much of the drive's time went to files")
    return files.service or NotApplicable(f"no request of {files.name} ended", "use a longer log")


def _swap_time(disks: Disks, swaps: Drive | None, runs: _Runs, *, paged: bool) -> Estimate | NotApplicable:
    if paged:
        return NotApplicable(
            "the system pages, and swaps no whole process", "use a log of memory_management=swapping"
        )
    if isinstance(disks.swapping, NotApplicable):
        return disks.swapping
    counters = {amount.name: amount.total for amount in disks.swapping.amounts}
    if not {"swap_ins", "swap_outs"} & set(counters):
        return NotApplicable(
            "the log counts pages swapped, and not how long a whole process takes to swap",
            "measure or calculate that time and give it by hand",
        )
    if not any(counters.values()):
        return NotApplicable("nothing was swapped", f"{BY_HAND}: 0 for a machine that does not swap")
    if swaps is None:
        return runs.mean("swap_time_s", "s", "how much of the drive's time went to swaps")
    return swaps.service or NotApplicable(f"no request of {swaps.name} ended", "use a longer log")


def _utilisation(disks: Disks, files: Drive, numbered: bool) -> Estimate | NotApplicable:
    both = files.utilisation
    if numbered and not isinstance(disks.controller, NotApplicable):
        both = disks.controller
    return both.best or NotApplicable(f"the log does not record how busy {files.name} was", BY_HAND)


def _queue(disks: Disks, files: Drive, numbered: bool) -> Estimate | NotApplicable:
    if isinstance(disks.queues, NotApplicable):
        return disks.queues
    place = "controller" if numbered else files.name
    mean = next((queue.mean.best for queue in disks.queues if queue.place == place), None)
    return mean or NotApplicable(f"the log does not count the requests waiting at {place}", BY_HAND)


def _facts(sessions: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> Facts:
    """Facts of the configuration, and of the simulated system itself."""
    if parameters.get("system") != UNIX6:
        return Facts()
    prototypes = parameters.get("workload") == "prototypes"
    processes, interactions = parameters.get("processes"), parameters.get("interactions")
    # With text that all processes share, the number that fit is not the quotient of the sizes.
    alone = not parameters.get("text")
    size = parameters.get("size")
    return Facts(
        memory=parameters.get("memory") if alone else None,
        size=(tuple(map(float, size)) if isinstance(size, list) else size) if alone else None,
        processes=processes,
        burst_s=_burst(sessions, parameters) if prototypes else None,
        interactions=processes * interactions if prototypes and processes and interactions else None,
        interactive=True if prototypes else None,
        equal_demands=True,
        single_controller=True,
        one_swap_at_a_time=True,
    )


def _burst(sessions: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> float | None:
    """Mean compute burst [s], where it is that of a table."""
    pc, speed = parameters.get("pc"), parameters.get("cpu_speed", 1.0)
    if parameters.get("compute", "table") != "table" or not isinstance(pc, (int, float)):
        return None
    units = (sessions[0].get("machine") or {}).get("units") or {}
    return float(pc) * (1e-3 if units.get("pc") == "ms" else 1.0) / float(speed)


def _caveats(disks: Disks, numbered: bool) -> list[Caveat]:
    if numbered or isinstance(disks.swapping, NotApplicable):
        return []
    swapped = any(amount.total for amount in disks.swapping.amounts)
    return [Caveat("mixed_requests")] if swapped else []
