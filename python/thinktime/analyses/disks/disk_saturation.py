"""What a log says of a machine whose disk is saturated: the inputs of the models that predict another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thinktime.analyses.disks import analysis as iostat
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.analyses.disks.analysis import Drive, Iostat
    from thinktime.log import Log

__all__ = ["DiskSaturation", "Facts", "analyse"]

BY_HAND = "give it by hand"
UNIX6 = "unix6"
"""The simulated system whose swaps are of whole processes."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the machine and its load without measuring; None where it is not."""

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


@dataclass(frozen=True, slots=True)
class DiskSaturation:
    """Times of a disk's requests, how busy it was, and for whom."""

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
    caveats: tuple[str, ...]


def analyse(log: Log, *, device: str = "", level: float = 0.95) -> DiskSaturation | NotApplicable:
    """Collect what a log has of the inputs of a model of disk saturation (Brachman 1983, section 2).

    Service times are busy time over requests, which is access and transfer without queueing where a drive
    serves one request at a time. Where files and swaps are on drives of their own, as in the thesis, each
    drive gives one of the two times; where they share one, a simulation knows them apart and a real log
    does not.

    Parameters
    ----------
    log : Log
    device : str
        Name of the drive or device with the files; by default the simulated system's, or the busiest.
    level : float
        Confidence of the intervals.
    """
    found = iostat.analyse(log, level=level)
    if isinstance(found, NotApplicable):
        return found
    if isinstance(found.drives, NotApplicable):
        return found.drives
    sessions: list[Mapping[str, Any]] = log.manifest.get("sessions") or []
    parameters = _parameters(sessions)
    if isinstance(parameters, NotApplicable):
        return parameters
    numbered = {column.name for column in log.schema("samples")} >= {"drive0_busy_s", "drive0_requests"}
    files = _chosen(found.drives, device, parameters.get("file_drive") if numbered else None)
    if isinstance(files, NotApplicable):
        return files
    swaps = _numbered(found.drives, parameters.get("swap_drive")) if numbered else None
    apart = None if swaps is None or swaps is files else swaps
    runs = _Runs(sessions, level)
    return DiskSaturation(
        place=files.name,
        block_time=_block_time(files, runs, shared=numbered and apart is None),
        swap_time=_swap_time(found, apart, runs, paged=parameters.get("memory_management") == "paging"),
        utilisation=_utilisation(found, files, numbered),
        queue_length=_queue(found, files, numbered),
        loaded=runs.mean("loaded_mean", "process", "how many processes were in memory"),
        think=runs.mean("think_mean_s", "s", "how long users think"),
        elapsed=runs.mean("elapsed_s", "s", "how long the whole load took"),
        blocks=runs.mean("file_transfers", "request", "how many file requests the load made"),
        facts=_facts(sessions, parameters),
        caveats=(*found.caveats, *_caveats(found, numbered)),
    )


@dataclass(frozen=True, slots=True)
class _Runs:
    """What the replications of a simulation say of themselves."""

    sessions: Sequence[Mapping[str, Any]]
    level: float

    def mean(self, name: str, unit: str, words: str) -> Estimate | NotApplicable:
        """Mean of response `name` over the replications, Student's t; `words` say what it is."""
        values = [
            float(item["value"])
            for session in self.sessions
            for item in (session.get("replication") or {}).get("responses") or []
            if item.get("name") == name and isinstance(item.get("value"), (int, float))
        ]
        if not values:
            return NotApplicable(f"the log does not say {words}", BY_HAND)
        if len(set(values)) == 1:
            return Estimate(value=values[0], unit=unit, n=len(values), method="the same in all replications")
        return batch_means.plain_mean(values, self.level).with_unit(unit)


def _parameters(sessions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | NotApplicable:
    """Parameters of the simulated system, its name added; none for what is no simulation."""
    found: list[dict[str, Any]] = []
    for session in sessions:
        machine = session.get("machine") or {}
        own = machine.get("parameters")
        if not isinstance(own, Mapping):
            found.append({})
            continue
        # With one drive, that is the one of files and of swaps.
        only = {"file_drive": 0, "swap_drive": 0} if own.get("drives") == 1 else {}
        found.append({**own, **only, "system": machine.get("system")})
    if any(one != found[0] for one in found):
        return NotApplicable(
            "the sessions of the log are of different configurations", "use a log of one configuration"
        )
    return found[0] if found else {}


def _numbered(drives: Sequence[Drive], number: object) -> Drive | None:
    return drives[number] if isinstance(number, int) and 0 <= number < len(drives) else None


def _chosen(drives: Sequence[Drive], device: str, number: object) -> Drive | NotApplicable:
    """Drive that is named, else that of the simulated files, else the busiest."""
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
        # Swaps on the same drive are in its mean; the simulation kept the two apart.
        return runs.mean("block_time_s", "s", "how much of the drive's time went to files")
    return files.service or NotApplicable(f"no request of {files.name} ended", "use a longer log")


def _swap_time(found: Iostat, swaps: Drive | None, runs: _Runs, *, paged: bool) -> Estimate | NotApplicable:
    if paged:
        return NotApplicable(
            "the system pages, and swaps no whole process", "use a log of memory_management=swapping"
        )
    if isinstance(found.swapping, NotApplicable):
        return found.swapping
    counters = {amount.name: amount.total for amount in found.swapping.amounts}
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


def _utilisation(found: Iostat, files: Drive, numbered: bool) -> Estimate | NotApplicable:
    both = files.utilisation
    if numbered and not isinstance(found.controller, NotApplicable):
        both = found.controller
    return both.best or NotApplicable(f"the log does not say how busy {files.name} was", BY_HAND)


def _queue(found: Iostat, files: Drive, numbered: bool) -> Estimate | NotApplicable:
    if isinstance(found.queues, NotApplicable):
        return found.queues
    place = "controller" if numbered else files.name
    mean = next((queue.mean.best for queue in found.queues if queue.place == place), None)
    return mean or NotApplicable(f"the log does not count the requests waiting at {place}", BY_HAND)


def _facts(sessions: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> Facts:
    """Return what the configuration says, and what the described system is."""
    if parameters.get("system") != UNIX6:
        return Facts()
    prototypes = parameters.get("workload") == "prototypes"
    processes, each = parameters.get("processes"), parameters.get("interactions")
    # Of text that all share, the number of processes that fit is no quotient.
    alone = not parameters.get("text")
    size = parameters.get("size")
    return Facts(
        memory=parameters.get("memory") if alone else None,
        size=(tuple(map(float, size)) if isinstance(size, list) else size) if alone else None,
        processes=processes,
        burst_s=_burst(sessions, parameters) if prototypes else None,
        interactions=processes * each if prototypes and processes and each else None,
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


def _caveats(found: Iostat, numbered: bool) -> list[str]:
    if numbered or isinstance(found.swapping, NotApplicable):
        return []
    if any(amount.total for amount in found.swapping.amounts):
        return [
            "Requests for files and pages swapped are not told apart on a device: where both go to the same "
            "one, the time of a file request is a mean over both."
        ]
    return []
